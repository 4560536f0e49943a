/* Reductions of more elements than 31 or 32 bits count, on a GPU. */
#include "tests/support/large.h"

/* ---- expected results ------------------------------------------------------------------------ */

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

/* Returns a / b, rounded once; a > 0, and both can be doubled until they are about equal. */
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

/* ---- reductions ------------------------------------------------------------------------------ */

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

/* Returns 1 / x modulo 2^64: each step doubles the bits that are right. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_past_31_bits),  cmocka_unit_test(bytes_past_32_bits),
        cmocka_unit_test(floats_past_31_bits), cmocka_unit_test(products),
        cmocka_unit_test(products_of_floats),  cmocka_unit_test(forty_billion_bytes),
    };
    return RUN_ON_GPU(tests);
}
