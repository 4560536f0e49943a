/* Arrays of more elements than 31 or 32 bits count, in a GPU's memory. A block of elements repeats,
 * so that the exact answers are a matter of multiplication, and marks differ from it, of which some
 * lie beyond 2^31 or 2^32. The period divides no power of two: an index that wraps around finds
 * other elements. */
#include "tests/support/both.h"

#include <cuda_runtime_api.h>

enum { PERIOD = (1 << 23) - 15, MARKS = 3, BYTES = 256 }; /* a prime */

#define PAST_31_BITS (((int64_t)1 << 31) + 12345)
#define PAST_32_BITS (((int64_t)1 << 32) + 12345)

/* Element i of the block, as a whole number that the dtype has exactly. */
typedef int64_t number_rule(bf_dtype dtype, int64_t i);

typedef struct large {
    bf_dtype dtype;
    int64_t n;
    char *data;
    number_rule *rule;
    int64_t at[MARKS], mark[MARKS];
} large;

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Leaves out what takes more of the GPU's memory than is free. */
static void need_memory(int gib) {
    size_t free_bytes = 0, total;
    static char why[80];
    assert_int_equal(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    if (free_bytes >> 30 >= (size_t)gib) return;
    snprintf(why, sizeof why, "takes %d GiB of the GPU's memory, of which %d are free", gib,
             (int)(free_bytes >> 30));
    leave_out(why);
}

static void *allocate(int64_t bytes) {
    void *memory;
    assert_int_equal(bf_memory_allocate(gpu, (size_t)bytes, &memory), BF_OK);
    return memory;
}

static void copy(void *to, const void *from, int64_t bytes) {
    assert_int_equal(bf_memory_copy(gpu, to, from, (size_t)bytes), BF_OK);
}

static int64_t size_of(bf_dtype dtype) { return (int64_t)bf_dtype_size(dtype); }

static void put_number(bf_dtype dtype, char *at, int64_t number) {
    const double x = (double)number;
    const float single = (float)number;
    if (dtype == BF_F64)
        memcpy(at, &x, 8);
    else if (dtype == BF_F32)
        memcpy(at, &single, 4);
    else
        store_bits(at, bf_dtype_size(dtype), (uint64_t)number);
}

static void set_mark(large *l, int m, int64_t at, int64_t number) {
    char element[8];
    l->at[m] = at;
    l->mark[m] = number;
    put_number(l->dtype, element, number);
    copy(l->data + at * size_of(l->dtype), element, size_of(l->dtype));
}

/* The marks: one beyond the first index that 31 bits (or, where there is such, 32 bits) do not
 * count, one next to it, and the last element. */
static large large_of(bf_dtype dtype, int64_t n, number_rule *rule, int64_t first, int64_t second,
                      int64_t last) {
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

static void large_free(large *l) { bf_memory_free(gpu, l->data); }

static bf_array array_of(const large *l) { return bf_array_of(l->dtype, l->data, l->n); }

static int64_t number_at(const large *l, int64_t i) {
    for (int m = 0; m < MARKS; m++)
        if (l->at[m] == i) return l->mark[m];
    return l->rule(l->dtype, i % PERIOD);
}

/* How often element i of the block is in the array, if marks are not looked at. */
static int64_t times_of(const large *l, int64_t i) { return l->n / PERIOD + (i < l->n % PERIOD); }

static uint64_t scramble(int64_t i) {
    uint64_t seed = (uint64_t)i;
    return next_random(&seed);
}

/* ---- what is to be expected ------------------------------------------------------------------ */

typedef struct sums {
    __int128 x, xx;
} sums;

static sums add_numbers(const large *l) {
    sums s = {0, 0};
    for (int64_t i = 0; i < PERIOD; i++) {
        const __int128 x = l->rule(l->dtype, i), times = times_of(l, i);
        s.x += times * x;
        s.xx += times * x * x;
    }
    for (int m = 0; m < MARKS; m++) {
        const __int128 x = l->mark[m], old = l->rule(l->dtype, l->at[m] % PERIOD);
        s.x += x - old;
        s.xx += x * x - old * old;
    }
    return s;
}

/* a / b, rounded once; a > 0, and both are small enough to be doubled until they are alike. */
static double quotient(unsigned __int128 a, unsigned __int128 b) {
    int exponent = 0;
    uint64_t bits = 0;
    for (; a < b; a <<= 1) exponent--;
    for (; b <= a >> 1; b <<= 1) exponent++;
    for (int i = 0; i < 54; i++) { /* 53 bits, and one that decides */
        bits = bits << 1 | (a >= b);
        if (a >= b) a -= b;
        a <<= 1;
    }
    bits = (bits >> 1) + (bits & 1 && (a != 0 || bits & 2));
    return ldexp((double)bits, exponent - 52);
}

static double expected_variance(const large *l) {
    const sums s = add_numbers(l);
    const unsigned __int128 n = (unsigned __int128)l->n;
    return quotient(n * (unsigned __int128)s.xx - (unsigned __int128)(s.x * s.x), n * n);
}

/* The value of one call, which an _async call gives as well. */
static bf_value value_of(bf_reduction op, const bf_array *a, const bf_reduce_options *options) {
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

static int64_t integer_of(bf_reduction op, const bf_array *a) {
    bf_value value = value_of(op, a, NULL);
    int64_t found;
    assert_int_equal(bf_value_i64(&value, &found), BF_OK);
    return found;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static int64_t some_byte(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return 1 + (int64_t)(scramble(i) % 254);
}

static void check_bytes(int64_t n) {
    large l = large_of(BF_U8, n, some_byte, 0, 0, 255);
    const bf_array a = array_of(&l);
    const sums s = add_numbers(&l);
    bf_description d = {.size = sizeof d};
    assert_int_equal(integer_of(BF_SUM, &a), (int64_t)s.x);
    assert_int_equal(integer_of(BF_DOT, &a), (int64_t)s.xx);
    assert_int_equal(integer_of(BF_MIN, &a), 0);
    assert_int_equal(integer_of(BF_MAX, &a), 255);
    assert_int_equal(integer_of(BF_ARGMIN, &a), l.at[0]);
    assert_int_equal(integer_of(BF_ARGMAX, &a), l.at[2]);
    assert_true(value_of(BF_VAR, &a, NULL).as.f64 == expected_variance(&l));
    assert_int_equal(bf_describe(gpu, &a, NULL, &d), BF_OK);
    assert_int_equal(d.n, n);
    assert_int_equal(d.argmin, l.at[0]);
    assert_int_equal(d.argmax, l.at[2]);
    assert_true(d.mean.as.f64 == quotient((unsigned __int128)s.x, (unsigned __int128)n));
    large_free(&l);
}

static void bytes_past_31_bits(void **unused) {
    (void)unused;
    need_memory(3);
    check_bytes(PAST_31_BITS);
}

static void bytes_past_32_bits(void **unused) {
    (void)unused;
    need_memory(5);
    check_bytes(PAST_32_BITS);
}

static void forty_billion_bytes(void **unused) {
    (void)unused;
    need_memory(39);
    check_bytes(40000000000);
}

/* Sums of these fit 63 bits and those of squares 127. */
static int64_t some_float(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % 2000001) - 1000000;
}

static void check_floats(bf_dtype dtype, int64_t n) {
    large l = large_of(dtype, n, some_float, -3000000, 2500000, 3000000);
    const bf_array a = array_of(&l);
    const sums s = add_numbers(&l);
    assert_true(value_of(BF_SUM, &a, NULL).as.f64 == (double)s.x);
    assert_true(value_of(BF_DOT, &a, NULL).as.f64 == (double)s.xx);
    assert_true(value_of(BF_SUMSQ, &a, NULL).as.f64 == (double)s.xx);
    assert_true(value_of(BF_VAR, &a, NULL).as.f64 == expected_variance(&l));
    assert_int_equal(integer_of(BF_ARGMIN, &a), l.at[0]);
    assert_int_equal(integer_of(BF_ARGMAX, &a), l.at[2]);
    large_free(&l);
}

static void floats_past_31_bits(void **unused) {
    (void)unused;
    need_memory(18);
    check_floats(BF_F32, PAST_31_BITS);
    check_floats(BF_F64, PAST_31_BITS);
}

/* ---- products -------------------------------------------------------------------------------- */

static int64_t odd_number(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return 1 + 2 * (int64_t)(scramble(i) % 60);
}

static uint64_t power(uint64_t x, int64_t exponent) {
    uint64_t y = 1;
    for (; exponent > 0; exponent >>= 1, x *= x)
        if (exponent & 1) y *= x;
    return y;
}

/* 1 / x modulo 2^64: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t x) {
    uint64_t y = x;
    for (int i = 0; i < 6; i++) y *= 2 - x * y;
    return y;
}

static uint64_t product_modulo(const large *l) {
    uint64_t block = 1, rest = 1;
    for (int64_t i = 0; i < PERIOD; i++) {
        block *= (uint64_t)l->rule(l->dtype, i);
        if (i < l->n % PERIOD) rest *= (uint64_t)l->rule(l->dtype, i);
    }
    uint64_t product = power(block, l->n / PERIOD) * rest;
    for (int m = 0; m < MARKS; m++)
        product *= (uint64_t)l->mark[m] * inverse((uint64_t)l->rule(l->dtype, l->at[m] % PERIOD));
    return product;
}

static void products(void **unused) {
    (void)unused;
    need_memory(9);
    static const bf_dtype dtypes[] = {BF_U8, BF_U32};
    const bf_reduce_options wrap = BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    for (int d = 0; d < 2; d++) {
        large l = large_of(dtypes[d], PAST_31_BITS, odd_number, 97, 101, 103);
        const bf_array a = array_of(&l);
        assert_true(value_of(BF_PROD, &a, &wrap).as.u64 == product_modulo(&l));
        large_free(&l);
    }
}

/* Signs, and a two in each block. */
static int64_t sign_or_two(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return i == 7 ? 2 : scramble(i) % 2 ? -1 : 1;
}

static void products_of_floats(void **unused) {
    (void)unused;
    need_memory(18);
    static const bf_dtype dtypes[] = {BF_F32, BF_F64};
    for (int d = 0; d < 2; d++) {
        large l = large_of(dtypes[d], PAST_31_BITS, sign_or_two, 3, 5, -7);
        const bf_array a = array_of(&l);
        int64_t negative = 0;
        double product = 3 * 5 * -7;
        for (int64_t i = 0; i < PERIOD; i++)
            if (sign_or_two(l.dtype, i) < 0) negative += times_of(&l, i);
        for (int m = 0; m < MARKS; m++) product /= (double)sign_or_two(l.dtype, l.at[m] % PERIOD);
        product = ldexp(product, (int)times_of(&l, 7)); /* some 2^257 */
        assert_true(value_of(BF_PROD, &a, NULL).as.f64 == (negative % 2 ? -product : product));
        large_free(&l);
    }
}

/* ---- element-wise operations ----------------------------------------------------------------- */

typedef uint64_t output_rule(const large *inputs, int64_t i);

/* All n elements of an output in the GPU's memory. */
static void check_output(const large *inputs, bf_dtype dtype, const char *data, output_rule *rule) {
    const int64_t size = size_of(dtype);
    char *expected = malloc((size_t)(PERIOD * size));
    assert_non_null(expected);
    for (int64_t i = 0; i < PERIOD; i++)
        store_bits(expected + i * size, (size_t)size, rule(inputs, i));
    for (int64_t first = 0; first < inputs->n; first += PERIOD) {
        const int64_t n = inputs->n - first < PERIOD ? inputs->n - first : PERIOD;
        copy(on_host, data + first * size, n * size);
        for (int m = 0; m < MARKS; m++) { /* looked at, and made like the others */
            const int64_t i = inputs->at[m] - first;
            if (i < 0 || i >= n) continue;
            assert_true(load_bits(on_host + i * size, (size_t)size) == rule(inputs, inputs->at[m]));
            memcpy(on_host + i * size, expected + i * size, (size_t)size);
        }
        if (memcmp(on_host, expected, (size_t)(n * size)))
            fail_msg("wrong after %lld", (long long)first);
    }
    free(expected);
}

static uint64_t doubled_byte(const large *in, int64_t i) {
    return (uint64_t)(2 * number_at(in, i)) & 255;
}

static uint64_t square_of_float(const large *in, int64_t i) {
    const float x = (float)number_at(in, i), square = x * x;
    uint32_t bits;
    memcpy(&bits, &square, 4);
    return bits;
}

static void maps(void **unused) {
    (void)unused;
    need_memory(18);
    large l = large_of(BF_U8, PAST_32_BITS, some_byte, 0, 0, 255);
    bf_array a = array_of(&l), out = bf_array_of(BF_U8, allocate(l.n), l.n);
    const bf_array *inputs[] = {&a, &a};
    const bf_map_options wrap = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    assert_int_equal(bf_map(gpu, BF_MAP_ADD, inputs, 2, &wrap, &out), BF_OK);
    check_output(&l, BF_U8, out.data, doubled_byte);
    assert_int_equal(bf_map_async(gpu, BF_MAP_ADD, inputs, 2, &wrap, &a), BF_OK); /* in place */
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    check_output(&l, BF_U8, l.data, doubled_byte);
    bf_memory_free(gpu, out.data);
    large_free(&l);
    l = large_of(BF_F32, PAST_31_BITS, some_float, -3000000, 2500000, 3000000);
    a = array_of(&l);
    out = bf_array_of(BF_F32, allocate(4 * l.n), l.n);
    assert_int_equal(bf_map(gpu, BF_MAP_MUL, inputs, 2, NULL, &out), BF_OK);
    check_output(&l, BF_F32, out.data, square_of_float);
    bf_memory_free(gpu, out.data);
    large_free(&l);
}

static int64_t small_number(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % 255) - 127;
}

static void failures_are_found(void **unused) {
    (void)unused;
    need_memory(9);
    large l = large_of(BF_I8, PAST_32_BITS, small_number, INT8_MIN, 0, INT8_MIN);
    const bf_array a = array_of(&l), *inputs[] = {&a};
    char index[40];
    snprintf(index, sizeof index, "index %lld ", (long long)l.at[0]);
    bf_array out = bf_array_of(BF_I8, allocate(l.n), l.n);
    assert_int_equal(bf_map(gpu, BF_MAP_NEG, inputs, 1, NULL, &out), BF_E_OVERFLOW);
    assert_non_null(strstr(bf_context_message(gpu), index));
    assert_int_equal(bf_map_async(gpu, BF_MAP_NEG, inputs, 1, NULL, &out), BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_E_OVERFLOW);
    bf_memory_free(gpu, out.data);
    large_free(&l);
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* Of 256 elements 255 are sevens. */
static int64_t mostly_sevens(bf_dtype dtype, int64_t i) {
    const uint64_t r = scramble(i);
    (void)dtype;
    return r % 256 ? 7 : (int64_t)(r >> 32) % BYTES;
}

/* Element i counts as `weight(i)`, or one. */
static void count_numbers(const large *l, const large *weights, __int128 counts[BYTES]) {
    memset(counts, 0, BYTES * sizeof *counts);
    for (int64_t i = 0; i < PERIOD; i++)
        counts[l->rule(l->dtype, i)] +=
            (__int128)times_of(l, i) * (weights ? weights->rule(weights->dtype, i) : 1);
    for (int m = 0; m < MARKS; m++) { /* at the same places in both */
        const int64_t at = l->at[m];
        counts[l->rule(l->dtype, at % PERIOD)] -=
            weights ? weights->rule(weights->dtype, at % PERIOD) : 1;
        counts[l->mark[m]] += weights ? weights->mark[m] : 1;
    }
}

static const bf_histogram_options a_bin_for_each = {
    .size = sizeof(bf_histogram_options), .bins = BYTES, .range = 1, .lo = 0, .hi = BYTES};

static void check_bins(int64_t n) {
    large l = large_of(BF_U8, n, mostly_sevens, 255, 0, 254);
    const bf_array a = array_of(&l);
    __int128 expected[BYTES];
    int64_t found[BYTES + 3], others, *queued = allocate(sizeof found);
    bf_histogram *h;
    count_numbers(&l, NULL, expected);
    assert_int_equal(bf_bincount(gpu, &a, found, BYTES, &others), BF_OK);
    assert_int_equal(others, 0);
    for (int i = 0; i < BYTES; i++) assert_int_equal(found[i], (int64_t)expected[i]);
    assert_int_equal(bf_histogram_of(gpu, &a, NULL, &a_bin_for_each, &h), BF_OK);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(bf_histogram_counts(h)[i], (int64_t)expected[i]);
    assert_int_equal(bf_histogram_async(h, &a, queued), BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    copy(found, queued, sizeof found);
    for (int i = 0; i < BYTES + 3; i++)
        assert_int_equal(found[i], i < BYTES ? (int64_t)expected[i] : 0);
    bf_histogram_destroy(h);
    bf_memory_free(gpu, queued);
    large_free(&l);
}

static void a_bin_past_32_bits(void **unused) {
    (void)unused;
    need_memory(6);
    check_bins(((int64_t)17 << 28) + 12345);
}

static void forty_billion_bytes_in_bins(void **unused) {
    (void)unused;
    need_memory(39);
    check_bins(40000000000);
}

static void floats_and_weights(void **unused) {
    (void)unused;
    need_memory(28);
    large l = large_of(BF_F32, PAST_31_BITS, mostly_sevens, 255, 0, 254);
    large w = large_of(BF_F64, l.n, some_float, -3000000, 2500000, 3000000);
    const bf_array a = array_of(&l), weights = array_of(&w);
    __int128 counts[BYTES], expected[BYTES];
    double found[BYTES];
    bf_histogram *h;
    bf_histogram_options o = a_bin_for_each;
    o.weights = BF_F64;
    count_numbers(&l, NULL, counts);
    count_numbers(&l, &w, expected);
    assert_int_equal(bf_histogram_of(gpu, &a, &weights, &o, &h), BF_OK);
    assert_int_equal(bf_histogram_weights(h, found), BF_OK);
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(bf_histogram_counts(h)[i], (int64_t)counts[i]);
        assert_true(found[i] == (double)expected[i]);
    }
    bf_histogram_destroy(h);
    large_free(&l);
    large_free(&w);
}

/* ---- groups and tables ----------------------------------------------------------------------- */

enum { FEW = 250, MANY = 300000 };

static int64_t few_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % FEW);
}

static int64_t many_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % MANY);
}

/* Keys are 0, 1, 2, ..., and the marks have three of their own. Sums of x are the aggregate, if it
 * is not NULL. */
static void check_groups(const large *keys, const large *x, int64_t groups) {
    const bf_aggregate sum = {BF_SUM, x ? x->dtype : BF_NONE};
    const bf_array k = array_of(keys), v = x ? array_of(x) : k, *columns[] = {&v};
    int64_t *counts = calloc((size_t)groups, sizeof *counts),
            *totals = calloc((size_t)groups, sizeof *totals);
    uint64_t *found = malloc((size_t)groups * sizeof *found);
    int64_t *rows = malloc((size_t)groups * sizeof *rows);
    bf_value *sums_found = malloc((size_t)groups * sizeof *sums_found);
    bf_groups *g;
    for (int64_t i = 0; i < PERIOD; i++) {
        const int64_t key = keys->rule(keys->dtype, i);
        counts[key] += times_of(keys, i);
        if (x) totals[key] += times_of(keys, i) * x->rule(x->dtype, i);
    }
    for (int m = 0; m < MARKS; m++) {
        const int64_t at = keys->at[m] % PERIOD, key = keys->rule(keys->dtype, at);
        counts[key]--;
        counts[keys->mark[m]]++;
        if (x) totals[key] -= x->rule(x->dtype, at);
        if (x) totals[keys->mark[m]] += x->mark[m];
    }
    assert_int_equal(bf_groups_create(gpu,
                                      &BF_GROUPS_OPTIONS(.key = keys->dtype, .count = x != NULL,
                                                         .aggregates = &sum),
                                      &g),
                     BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, x ? columns : NULL), BF_OK);
    assert_int_equal(bf_groups_rows(g), keys->n);
    assert_int_equal(bf_groups_size(g), groups);
    const bf_array key_array = bf_array_of(keys->dtype, found, groups),
                   row_array = bf_array_of(BF_I64, rows, groups);
    assert_int_equal(bf_groups_list(g, &key_array, &row_array), BF_OK);
    if (x) assert_int_equal(bf_groups_result(g, 0, NULL, sums_found), BF_OK);
    for (int64_t i = 0; i < groups; i++) {
        const size_t size = bf_dtype_size(keys->dtype);
        assert_int_equal(load_bits((char *)found + (size_t)i * size, size), i);
        assert_int_equal(rows[i], counts[i]);
        if (x) assert_true(sums_found[i].as.f64 == (double)totals[i]);
    }
    bf_groups_destroy(g);
    free(counts);
    free(totals);
    free(found);
    free(rows);
    free(sums_found);
}

static void groups_past_32_bits(void **unused) {
    (void)unused;
    need_memory(12);
    large keys = large_of(BF_U8, PAST_32_BITS, few_keys, FEW, FEW + 1, FEW + 2);
    check_groups(&keys, NULL, FEW + 3);
    large_free(&keys);
}

static void groups_with_sums(void **unused) {
    (void)unused;
    need_memory(48);
    large x = large_of(BF_F32, PAST_31_BITS, some_float, -3000000, 2500000, 3000000);
    large keys = large_of(BF_U8, x.n, few_keys, FEW, FEW + 1, FEW + 2);
    check_groups(&keys, &x, FEW + 3);
    large_free(&keys);
    keys = large_of(BF_U32, x.n, many_keys, MANY, MANY + 1, MANY + 2);
    check_groups(&keys, &x, MANY + 3);
    large_free(&keys);
    large_free(&x);
}

/* Rows of few keys: the first row's value stays, then they are found, counted and erased. */
static void tables(void **unused) {
    (void)unused;
    need_memory(58);
    large keys = large_of(BF_U32, PAST_31_BITS, many_keys, MANY, MANY, MANY + 1);
    large values = large_of(BF_I32, keys.n, some_float, -3000000, 2500000, 3000000);
    bf_array k = array_of(&keys), v = array_of(&values);
    int64_t *first = malloc((MANY + 2) * sizeof *first), erased;
    uint32_t *found = malloc((MANY + 2) * sizeof *found);
    int32_t *kept = malloc((MANY + 2) * sizeof *kept);
    bf_table *t;
    assert_int_equal(bf_table_create(gpu, &BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_I32), &t),
                     BF_OK);
    assert_int_equal(bf_table_insert(t, &k, &v), BF_OK);
    large_free(&values);
    assert_int_equal(bf_table_size(t), MANY + 2);
    for (int64_t i = PERIOD - 1; i >= 0; i--) first[many_keys(BF_U32, i)] = some_float(BF_I32, i);
    first[MANY] = -3000000;
    first[MANY + 1] = 3000000;
    bf_array key_array = bf_array_of(BF_U32, found, MANY + 2),
             value_array = bf_array_of(BF_I32, kept, MANY + 2);
    assert_int_equal(bf_table_export(t, &key_array, &value_array), BF_OK);
    for (int i = 0; i < MANY + 2; i++) {
        assert_int_equal(found[i], i);
        assert_int_equal(kept[i], first[i]);
    }
    const bf_array seen = bf_array_of(BF_BOOL, allocate(keys.n), keys.n);
    assert_int_equal(bf_table_erase_one(t, &(uint32_t){MANY + 1}, NULL), BF_OK);
    assert_int_equal(bf_table_find(t, &k, NULL, &seen), BF_OK);
    assert_int_equal(integer_of(BF_SUM, &seen), keys.n - 1);
    assert_int_equal(integer_of(BF_ARGMIN, &seen), keys.n - 1);
    bf_memory_free(gpu, seen.data);
    assert_int_equal(bf_table_erase(t, &k, &erased), BF_OK);
    assert_int_equal(erased, MANY + 1);
    bf_table_destroy(t);
    large_free(&keys);
    free(first);
    free(found);
    free(kept);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Some rows of a picture of more than 2^31 pixels, against the CPU's. */
static void a_picture_past_31_bits(void **unused) {
    (void)unused;
    enum { WIDTH = 46341, HEIGHT = 46343 };
    static uint16_t row[WIDTH];
    need_memory(5);
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.width = WIDTH;
    p.height = HEIGHT;
    uint16_t *counts = allocate((int64_t)2 * WIDTH * HEIGHT);
    const bf_array out = {counts, BF_U16, 2, {HEIGHT, WIDTH}, {WIDTH, 1}},
                   expected = {row, BF_U16, 2, {1, WIDTH}, {WIDTH, 1}};
    assert_int_equal(bf_julia(gpu, &p, 0, 0, &out), BF_OK);
    for (int y = 0; y < HEIGHT; y += y < HEIGHT - 5 ? 2001 : 1) {
        assert_int_equal(bf_julia(cpu, &p, 0, y, &expected), BF_OK);
        copy(on_host, counts + (int64_t)y * WIDTH, 2 * WIDTH);
        assert_memory_equal(on_host, row, 2 * WIDTH);
    }
    bf_memory_free(gpu, counts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_past_31_bits),
        cmocka_unit_test(bytes_past_32_bits),
        cmocka_unit_test(floats_past_31_bits),
        cmocka_unit_test(products),
        cmocka_unit_test(products_of_floats),
        cmocka_unit_test(maps),
        cmocka_unit_test(failures_are_found),
        cmocka_unit_test(a_bin_past_32_bits),
        cmocka_unit_test(floats_and_weights),
        cmocka_unit_test(groups_past_32_bits),
        cmocka_unit_test(groups_with_sums),
        cmocka_unit_test(tables),
        cmocka_unit_test(a_picture_past_31_bits),
        cmocka_unit_test(forty_billion_bytes),
        cmocka_unit_test(forty_billion_bytes_in_bins),
    };
    return RUN_ON_GPU(tests);
}
