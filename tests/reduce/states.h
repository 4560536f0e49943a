/* For tests of states: a context, parts of arrays as states, their saved bytes, and data with -0,
 * NaN, infinities and subnormals among them. */
#ifndef BITFOLD_TESTS_REDUCE_STATES_H
#define BITFOLD_TESTS_REDUCE_STATES_H

#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/saved.h"

static bf_context *context; /* it has two threads */

static inline int set_up(void **unused) {
    (void)unused;
    context = make_context(NULL, 2);
    return 0;
}

static inline int tear_down(void **unused) {
    (void)unused;
    bf_context_destroy(context);
    return 0;
}

/* ---- saved bytes ----------------------------------------------------------------------------- */

/* The saved form of any state but a product of floats. The last byte is never used. */
typedef struct saved_state {
    size_t size;
    unsigned char bytes[1800 + 100 + 1];
} saved_state;

static inline saved_state save(const bf_state *s) {
    saved_state out = {.size = bf_state_save_size(s)};
    assert_true(out.size < sizeof out.bytes);
    assert_int_equal(bf_state_save(s, out.bytes), BF_OK);
    return out;
}

/* Makes the checksum fit again. */
static inline void sign(saved_state *s) { sign_saved(s->bytes, s->size); }

static inline void assert_saves_as(const bf_state *s, const saved_state *expected) {
    saved_state found = save(s);
    assert_int_equal(found.size, expected->size);
    assert_memory_equal(found.bytes, expected->bytes, expected->size);
}

/* ---- states ---------------------------------------------------------------------------------- */

static inline bf_state *make_state(bf_context *with, bf_reduction op, bf_dtype dtype) {
    bf_state *s = NULL;
    assert_int_equal(bf_state_create(with, op, dtype, &s), BF_OK);
    return s;
}

static inline bf_status absorb(bf_state *s, bf_reduction op, const bf_array *a, const bf_array *b) {
    return op == BF_DOT ? bf_state_absorb_pair(s, a, b) : bf_state_absorb(s, a);
}

/* Is it a sum, which can be taken out? */
static inline bool is_sum(bf_reduction op) { return op >= BF_SUM && op <= BF_DOT; }

static inline bool is_ordered(bf_reduction op, bf_dtype dtype) {
    return op == BF_ARGMIN || op == BF_ARGMAX || op == BF_DESCRIBE ||
           (op == BF_PROD && is_float(dtype));
}

/* A state of elements [begin, end) of a (and b). */
static inline bf_state *part(bf_context *with, bf_reduction op, const bf_array *a,
                             const bf_array *b, int64_t begin, int64_t end) {
    bf_state *s = make_state(with, op, a->dtype);
    size_t bytes = bf_dtype_size(a->dtype), at = (size_t)begin * bytes;
    bf_array x = bf_array_of(a->dtype, (char *)a->data + at, end - begin);
    bf_array y = bf_array_of(a->dtype, (char *)b->data + at, end - begin);
    if (is_ordered(op, a->dtype)) assert_int_equal(bf_state_seek(s, begin), BF_OK);
    assert_int_equal(absorb(s, op, &x, &y), BF_OK);
    return s;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Calls fill(). Then one float in `every` becomes -0, and with `specials` some become +0, NaN or
 * infinite. */
static inline void fill_with_zeros(bf_dtype dtype, void *data, int64_t n, data_kind kind, int every,
                                   bool specials, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    fill(dtype, data, n, kind, seed);
    for (int64_t i = 0; i < n && is_float(dtype); i++) {
        uint64_t r = next_random(&seed), bits = sign_bit(dtype);
        if (every == 0 || r % (unsigned)every != 0) {
            if (!specials || r % 89 > 3) continue;
            bits = r % 89 == 0 ? 0 : infinity_bits(dtype) | (r % 89 == 1) | (r & sign_bit(dtype));
        }
        store_bits((char *)data + (size_t)i * bytes, bytes, bits);
    }
}

#endif
