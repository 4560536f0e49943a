/* For the tests of more elements than 31 or 32 bits count, in a GPU's memory. A block of elements
 * repeats, so the exact answers are a matter of multiplication. A few elements differ: the marks,
 * some of which lie beyond 2^31 or 2^32. The period divides no power of two: an index that wraps
 * around finds other elements. */
#ifndef BITFOLD_TESTS_SUPPORT_LARGE_H
#define BITFOLD_TESTS_SUPPORT_LARGE_H

#include "tests/support/both.h"

#include <cuda_runtime_api.h>

enum { PERIOD = (1 << 23) - 15, MARKS = 3 }; /* a prime */

#define PAST_31_BITS (((int64_t)1 << 31) + 12345)
#define PAST_32_BITS (((int64_t)1 << 32) + 12345)

/* Returns element i of the block, a whole number that the dtype has exactly. */
typedef int64_t number_rule(bf_dtype dtype, int64_t i);

typedef struct large {
    bf_dtype dtype;
    int64_t n;
    char *data;
    number_rule *rule;
    int64_t at[MARKS], mark[MARKS];
} large;

/* Leaves the test out if it takes more of the GPU's memory than is free. */
static inline void need_memory(int gib) {
    size_t free_bytes = 0, total;
    static char why[80];
    assert_int_equal(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    if (free_bytes >> 30 >= (size_t)gib) return;
    snprintf(why, sizeof why, "takes %d GiB of the GPU's memory, of which %d are free", gib,
             (int)(free_bytes >> 30));
    leave_out(why);
}

static inline void *allocate(int64_t bytes) {
    void *memory;
    assert_int_equal(bf_memory_allocate(gpu, (size_t)bytes, &memory), BF_OK);
    return memory;
}

static inline void copy(void *to, const void *from, int64_t bytes) {
    assert_int_equal(bf_memory_copy(gpu, to, from, (size_t)bytes), BF_OK);
}

static inline int64_t size_of(bf_dtype dtype) { return (int64_t)bf_dtype_size(dtype); }

static inline void put_number(bf_dtype dtype, char *at, int64_t number) {
    const double x = (double)number;
    const float single = (float)number;
    if (dtype == BF_F64)
        memcpy(at, &x, 8);
    else if (dtype == BF_F32)
        memcpy(at, &single, 4);
    else
        store_bits(at, bf_dtype_size(dtype), (uint64_t)number);
}

static inline void set_mark(large *l, int m, int64_t at, int64_t number) {
    char element[8];
    l->at[m] = at;
    l->mark[m] = number;
    put_number(l->dtype, element, number);
    copy(l->data + at * size_of(l->dtype), element, size_of(l->dtype));
}

/* Makes an array. Its marks are: one beyond the first index that 31 bits (or 32 bits, if there is
 * one) do not count, one next to it, and the last element. */
static inline large large_of(bf_dtype dtype, int64_t n, number_rule *rule, int64_t first,
                             int64_t second, int64_t last) {
    const int64_t size = size_of(dtype), bytes = n * size;
    const int64_t far = (int64_t)1 << (n > (int64_t)1 << 32 ? 32 : 31);
    large l = {.dtype = dtype, .n = n, .data = allocate(bytes), .rule = rule};
    for (int64_t i = 0; i < PERIOD; i++) put_number(dtype, on_host + i * size, rule(dtype, i));
    copy(l.data, on_host, PERIOD * size);
    for (int64_t done = PERIOD * size; done < bytes; done *= 2)
        copy(l.data + done, l.data, bytes - done < done ? bytes - done : done);
    set_mark(&l, 0, far + 5, first);
    set_mark(&l, 1, far + 6, second);
    set_mark(&l, 2, n - 1, last);
    return l;
}

static inline void large_free(large *l) { bf_memory_free(gpu, l->data); }

static inline bf_array array_of(const large *l) { return bf_array_of(l->dtype, l->data, l->n); }

static inline int64_t number_at(const large *l, int64_t i) {
    for (int m = 0; m < MARKS; m++)
        if (l->at[m] == i) return l->mark[m];
    return l->rule(l->dtype, i % PERIOD);
}

/* Returns how often the array has element i of the block, marks aside. */
static inline int64_t times_of(const large *l, int64_t i) {
    return l->n / PERIOD + (i < l->n % PERIOD);
}

static inline uint64_t scramble(int64_t i) {
    uint64_t seed = (uint64_t)i;
    return next_random(&seed);
}

/* Returns the value of one call. The _async call gives the same. */
static inline bf_value value_of(bf_reduction op, const bf_array *a,
                                const bf_reduce_options *options) {
    bf_value value = {.dtype = BF_NONE}, queued;
    if (op == BF_DOT) {
        assert_int_equal(bf_dot(gpu, a, a, options, &value), BF_OK);
        assert_int_equal(bf_dot_async(gpu, a, a, options, values_on_device), BF_OK);
    } else {
        assert_int_equal(bf_reduce(gpu, op, a, options, &value), BF_OK);
        assert_int_equal(bf_reduce_async(gpu, op, a, options, values_on_device), BF_OK);
    }
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    copy(&queued, values_on_device, sizeof queued);
    assert_int_equal(queued.dtype, value.dtype);
    assert_memory_equal(queued.as.i192, value.as.i192, sizeof value.as.i192);
    return value;
}

static inline int64_t integer_of(bf_reduction op, const bf_array *a) {
    bf_value value = value_of(op, a, NULL);
    int64_t found;
    assert_int_equal(bf_value_i64(&value, &found), BF_OK);
    return found;
}

/* --- elements --- */

static inline int64_t some_byte(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return 1 + (int64_t)(scramble(i) % 254);
}

/* Sums of these fit 63 bits, and sums of their squares 127. */
static inline int64_t some_float(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % 2000001) - 1000000;
}

#endif
