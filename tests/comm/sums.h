/* Arrays that ranks add, and what the sums must be: for ranks of any carrier. */
#ifndef BITFOLD_TESTS_COMM_SUMS_H
#define BITFOLD_TESTS_COMM_SUMS_H

#include "tests/comm/ranks.h"
#include "tests/support/terms.h"

enum { TERMS_MOST = 16 };

/* Arrays to add: term t of all ranks is at data + t * n elements. The first ranks have more. */
typedef struct sum_problem {
    bf_dtype dtype;
    int64_t n;
    int terms;
    char *data, *expected;
    bool overflows, in_place;
} sum_problem;

static inline uint64_t bits_at(const sum_problem *p, int t, int64_t i) {
    size_t bytes = bf_dtype_size(p->dtype);
    return load_bits(p->data + ((size_t)t * (size_t)p->n + (size_t)i) * bytes, bytes);
}

/* The sum of integers; *fits: as an element. */
static inline uint64_t integer_sum(const sum_problem *p, int64_t i, bool *fits) {
    __extension__ typedef __int128 wide;
    wide sum = 0, one = 1;
    int bits = 8 * (int)bf_dtype_size(p->dtype);
    for (int t = 0; t < p->terms; t++) {
        uint64_t x = bits_at(p, t, i);
        sum += is_signed(p->dtype) ? (wide)((int64_t)(x << (64 - bits)) >> (64 - bits)) : (wide)x;
    }
    wide least = is_signed(p->dtype) ? -(one << (bits - 1)) : 0;
    wide most = (one << (bits - (is_signed(p->dtype) ? 1 : 0))) - 1;
    *fits = *fits && sum >= least && sum <= most;
    return (uint64_t)sum;
}

static inline void expect_sums(sum_problem *p) {
    size_t bytes = bf_dtype_size(p->dtype);
    bool fits = true;
    for (int64_t i = 0; i < p->n; i++) {
        uint64_t term[TERMS_MOST], sum;
        for (int t = 0; t < p->terms; t++) term[t] = bits_at(p, t, i);
        sum =
            is_float(p->dtype) ? expected_bits(p->dtype, term, p->terms) : integer_sum(p, i, &fits);
        store_bits(p->expected + (size_t)i * bytes, bytes, sum);
    }
    p->overflows = !fits;
}

static inline void make_sum_problem(sum_problem *p, bf_dtype dtype, data_kind kind, int64_t n,
                                    int terms) {
    size_t bytes = bf_dtype_size(dtype);
    *p = (sum_problem){.dtype = dtype, .n = n, .terms = terms};
    p->data = calloc((size_t)n * (size_t)terms + 1, bytes);
    p->expected = calloc((size_t)n + 1, bytes);
    uint64_t rng = (uint64_t)n;
    for (int64_t i = 0; i < n; i++)
        for (int t = 0; t < terms; t++) {
            uint64_t before = t > 0 ? bits_at(p, t - 1, i) : 0, at = (uint64_t)(t * n + i);
            uint64_t x = random_element(dtype, kind, t, before, &rng);
            if (is_float(dtype) && i % 17 == 3) x = sign_bit(dtype);
            if (is_float(dtype) && i % 23 == 5 && t == i % terms)
                x = infinity_bits(dtype) | (uint64_t)(i & 1);
            store_bits(p->data + at * bytes, bytes, x);
        }
    expect_sums(p);
}

static inline void free_sum_problem(sum_problem *p) {
    free(p->data);
    free(p->expected);
}

/* ---- what a rank does ------------------------------------------------------------------------ */

/* An array of k terms; of one, without that dimension. */
static inline bf_array terms_of(const sum_problem *p, char *data, int64_t k) {
    bf_array a = bf_array_of(p->dtype, data, p->n);
    if (k == 1) return a;
    a.ndim = 2;
    a.shape[0] = k, a.shape[1] = p->n;
    a.strides[0] = p->n, a.strides[1] = 1;
    return a;
}

/* Adds the problem's arrays in three ways. */
static inline bool add_arrays(bf_comm *comm, bf_context *context, void *arg) {
    const sum_problem *p = arg;
    size_t bytes = bf_dtype_size(p->dtype), whole = (size_t)p->n * bytes;
    int rank = bf_comm_rank(comm), count = bf_comm_ranks(comm), root = count / 2;
    int first = rank * p->terms / count, terms = (rank + 1) * p->terms / count - first;
    bf_status expected = p->overflows ? BF_E_OVERFLOW : BF_OK;
    char *in = malloc(whole * (size_t)terms + 1), *out = malloc(whole + 1);
    CHECK(in != NULL && out != NULL);
    memcpy(in + 1, p->data + (size_t)first * whole, whole * (size_t)terms); /* misaligned */
    bf_array from = terms_of(p, in + 1, terms), to = terms_of(p, out, 1);
    CHECK(bf_comm_allreduce(comm, &from, &to) == expected);
    CHECK(expected != BF_OK || memcmp(out, p->expected, whole) == 0);
    memset(out, 0, whole);
    CHECK(bf_comm_reduce(comm, &from, rank == root ? &to : NULL, root) == expected);
    CHECK(expected != BF_OK || rank != root || memcmp(out, p->expected, whole) == 0);
    if (p->n % count == 0) {
        size_t part = whole / (size_t)count;
        bf_array own = bf_array_of(p->dtype, out, p->n / count);
        CHECK(bf_comm_reduce_scatter(comm, &from, &own) == expected);
        CHECK(expected != BF_OK || memcmp(out, p->expected + (size_t)rank * part, part) == 0);
    }
    bf_array place = terms_of(p, in + 1, 1);
    CHECK(bf_comm_allreduce(comm, &from, &place) == expected);
    CHECK(expected != BF_OK || memcmp(in + 1, p->expected, whole) == 0);
    CHECK(expected == BF_OK || strstr(bf_context_message(context), "fit") != NULL);
    free(in);
    free(out);
    return true;
}

static inline bool refuse_arrays(bf_comm *comm, bf_context *context, void *arg) {
    (void)arg;
    double data[24] = {0}, out[24];
    bool one = bf_comm_rank(comm) == 1;
    bf_array a = bf_array_of(BF_F64, data, 12), b = bf_array_of(BF_F64, out, 12);
    bf_array shorter = bf_array_of(BF_F64, data, 11), third = bf_array_of(BF_F64, out, 4);
    bf_array halves = bf_array_of(BF_F64, out, 6), floats = bf_array_of(BF_F32, out, 12);
    bf_array bools = bf_array_of(BF_BOOL, data, 12), strided = a,
             none = bf_array_of(BF_F64, out, 0);
    bf_array flat = bf_array_of(BF_F32, data, 12), flat_out = floats;
    strided.strides[0] = 2;
    CHECK(bf_comm_allreduce(comm, one ? NULL : &a, &b) == BF_E_ARGUMENT);
    CHECK(strstr(bf_context_message(context), one ? "missing" : "1 of 3 ranks failed") != NULL);
    CHECK(bf_comm_allreduce(comm, &a, one ? NULL : &b) == BF_E_ARGUMENT);
    CHECK(bf_comm_allreduce(comm, one ? &strided : &a, &b) == BF_E_ARGUMENT);
    CHECK(bf_comm_allreduce(comm, one ? &bools : &a, &b) == BF_E_DTYPE);
    CHECK(bf_comm_allreduce(comm, &a, one ? &floats : &b) == BF_E_DTYPE);
    CHECK(bf_comm_allreduce(comm, one ? &shorter : &a, &b) == BF_E_SHAPE);
    CHECK(bf_comm_allreduce(comm, one ? &flat : &a, one ? &flat_out : &b) == BF_E_COMM);
    CHECK(bf_comm_allreduce(comm, one ? &none : &a, one ? &none : &b) == BF_E_COMM);
    CHECK(bf_comm_allreduce(comm, &none, &none) == BF_OK);
    CHECK(bf_comm_reduce_scatter(comm, &a, &third) == BF_OK);
    CHECK(bf_comm_reduce_scatter(comm, &a, one ? &halves : &third) == BF_E_SHAPE);
    CHECK(bf_comm_reduce(comm, &a, one ? &b : NULL, one ? 1 : 2) == BF_E_ARGUMENT);
    CHECK(bf_comm_reduce(comm, &a, &b, one ? 1 : 2) == BF_E_COMM);
    CHECK(bf_comm_reduce(comm, &a, &b, 3) == BF_E_ARGUMENT);
    CHECK(bf_comm_reduce(comm, one ? &shorter : &a, bf_comm_rank(comm) == 0 ? &b : NULL, 0) ==
          BF_E_COMM);
    CHECK((one ? bf_comm_reduce_scatter(comm, &a, &third) : bf_comm_allreduce(comm, &a, &b)) ==
          BF_E_COMM);
    CHECK(bf_comm_allreduce_async(comm, &a, &b) == BF_E_DEVICE);
    CHECK(strstr(bf_context_message(context), "GPU") != NULL);
    CHECK(bf_comm_allreduce(comm, &a, &b) == BF_OK);
    return true;
}

#endif
