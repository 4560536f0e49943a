/* Every instruction set of this machine gives the states and results of the generic one. Needs
 * nothing but the library, so it also runs where cmocka and MPFR are missing: under an emulator.
 * Builds: release, asan (full). */
#include "tests/support/data.h"
#include "tests/support/sanitizer.h"

#include <stdio.h>
#include <stdlib.h>

/* The most elements that each state takes: those of many sums are slow by the rules, and
 * tests/reduce tries them with more. */
enum { MOST = 70000, FEW = 5000 };
enum {
    MOST_SUM = MOST,
    MOST_SQUARES = MOST,
    MOST_MOMENTS = MOST,
    MOST_DOT = MOST,
    MOST_EXTREME = MOST,
    MOST_PRODUCT = MOST,
    MOST_DESCRIPTION = MOST,
    MOST_POWERS = FEW,
    MOST_COMOMENTS = FEW,
    MOST_WEIGHTED = FEW
};

static const struct {
    bf_reduction op;
    int64_t most;
} all_reductions[] = {
#define BF_X(id, number, name, state, result, text) {BF_##id, MOST_##state},
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
};
enum { REDUCTION_COUNT = sizeof all_reductions / sizeof *all_reductions };

enum { SAVED_MOST = 40000 }; /* bytes; the largest state is that of a product of floats */

typedef struct outcome {
    unsigned char saved[SAVED_MOST];
    bf_value value;
    bf_status status;
} outcome;

static void require(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "isa_check: %s\n", what);
    exit(1);
}

static void reduce(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                   outcome *out) {
    bf_state *s = NULL;
    memset(out, 0, sizeof *out);
    require(bf_state_create(context, op, a->dtype, &s) == BF_OK, "no state");
    bf_status status =
        bf_reduction_arrays(op) == 2 ? bf_state_absorb_pair(s, a, b) : bf_state_absorb(s, a);
    require(status == BF_OK, "absorb failed");
    require(bf_state_save_size(s) <= SAVED_MOST, "SAVED_MOST is too small");
    bf_state_save(s, out->saved);
    out->status = bf_state_result(s, NULL, &out->value);
    bf_state_destroy(s);
}

/* The contexts of the other instruction sets. */
enum { OTHERS_MOST = 8 };
static bf_context *others[OTHERS_MOST];
static int other_count;

static int compare(bf_context *generic, const bf_array *a, const bf_array *b) {
    static outcome x, y;
    int wrong = 0;
    for (int i = 0; i < REDUCTION_COUNT; i++) {
        const bf_reduction op = all_reductions[i].op;
        if (a->shape[0] > all_reductions[i].most) continue;
        reduce(generic, op, a, b, &x);
        for (int k = 0; k < other_count; k++) {
            reduce(others[k], op, a, b, &y);
            if (memcmp(&x, &y, sizeof x) == 0) continue;
            wrong++;
            printf("%s of %lld %s: %s with %d threads differs from generic\n",
                   bf_reduction_name(op), (long long)a->shape[0], bf_dtype_name(a->dtype),
                   bf_context_isa(others[k]), bf_context_threads(others[k]));
        }
    }
    return wrong;
}

/* Puts a NaN or an infinity somewhere. */
static void spoil(bf_dtype dtype, void *data, int64_t n, uint64_t *rng) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t at = next_random(rng) % (uint64_t)n;
    uint64_t bits = infinity_bits(dtype) | (next_random(rng) & (sign_bit(dtype) | 1));
    if (is_float(dtype)) store_bits((char *)data + at * bytes, bytes, bits);
}

static int check(bf_context *generic) {
    static const int64_t sizes[] = {1, 3, 16, 31, 33, 64, 65, 255, 1000, 4097, 33001, MOST};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    static double x[MOST + 1], y[MOST + 1];
    uint64_t rng = 1;
    int wrong = 0;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int k = 0; k < KIND_COUNT; k++) {
            for (int i = 0; i < SIZES; i++) {
                if (DATA_SHARE > 1 && i == SIZES - 1 - (d + k) % 2) continue; /* one large size */
                bf_dtype dtype = all_dtypes[d];
                char *odd = (char *)x + (i & 1), *other_odd = (char *)y + (i & 2);
                fill(dtype, odd, sizes[i], (data_kind)k, next_random(&rng));
                fill(dtype, other_odd, sizes[i], (data_kind)k, next_random(&rng));
                if (i % 4 == 3) spoil(dtype, odd, sizes[i], &rng);
                bf_array a = bf_array_of(dtype, odd, sizes[i]);
                bf_array b = bf_array_of(dtype, other_odd, sizes[i]);
                wrong += compare(generic, &a, &b);
            }
        }
    }
    return wrong;
}

int main(void) {
    bf_context *generic = NULL;
    require(bf_context_create(&BF_OPTIONS(.isa = "generic", .threads = 1), &generic) == BF_OK,
            "no generic context");
    for (int i = 1; bf_isa_name(i); i++) {
        if (!bf_isa_available(i)) continue;
        const bf_options options = BF_OPTIONS(.isa = bf_isa_name(i), .threads = 2);
        require(other_count < OTHERS_MOST, "OTHERS_MOST is too small");
        require(bf_context_create(&options, &others[other_count++]) == BF_OK, "no context");
        printf("%s: compared with generic\n", bf_isa_name(i));
    }
    const int wrong = check(generic);
    for (int i = 0; i < other_count; i++) bf_context_destroy(others[i]);
    bf_context_destroy(generic);
    if (other_count > 0) return wrong > 0;
    printf("skipped: this machine runs the generic instruction set alone\n");
    return 77;
}
