/* The rules of src/rules, each against MPFR: decoding and encoding, limbs, wide integers, order. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "rules/reduce/band.h"
#include "rules/reduce/finish.h"
#include "rules/reduce/sum.h"
#include "rules/reduce/sum_window.h"

static const bf_dtype floats[] = {BF_F16, BF_BF16, BF_F32, BF_F64};

static uint64_t random_finite(bf_dtype dtype, uint64_t *rng) {
    return random_float(dtype, KIND_FULL, rng) | (next_random(rng) & sign_bit(dtype));
}

TEST(encode_inverts_decode) {
    uint64_t rng = 1;
    for (int i = 0; i < 4 * 70000; i++) {
        bf_dtype dtype = floats[i % 4];
        bf_format f = bf_format_of(dtype);
        uint64_t bits = dtype <= BF_BF16 ? (uint64_t)(i / 4) & 0xffff : random_finite(dtype, &rng);
        if (bf_is_nan(f, bits) || bf_is_inf(f, bits)) continue;
        bf_finite x = bf_decode(f, bits);
        double value = ldexp((double)x.magnitude, x.position + bf_format_least(f));
        assert_same_float(x.negative ? -value : value, wide_float(dtype, bits));
        if (x.magnitude == 0) continue;
        int up = 64 - bf_bit_length(x.magnitude);
        int exponent = x.position + bf_format_least(f) - up;
        assert_int_equal(bf_encode(f, x.negative, x.magnitude << up, exponent, false), bits);
    }
}

/* m * 2^exponent, and a little more if sticky, rounded by MPFR with the format's exponent range. */
static double rounded_by_mpfr(bf_dtype dtype, uint64_t m, int exponent, bool sticky) {
    mpfr_t x;
    int precision = fraction_bits(dtype) + 1, bias = (1 << (exponent_bits(dtype) - 1)) - 1;
    mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_init2(x, 70);
    mpfr_set_uj_2exp(x, m, exponent, MPFR_RNDN);
    if (sticky) mpfr_nextabove(x);
    mpfr_set_emin(1 - bias - precision + 2);
    mpfr_set_emax(bias + 1);
    int inexact = mpfr_prec_round(x, precision, MPFR_RNDN);
    inexact = mpfr_check_range(x, inexact, MPFR_RNDN);
    mpfr_subnormalize(x, inexact, MPFR_RNDN);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    double result = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    return result;
}

TEST(encode_rounds_to_nearest_even) {
    uint64_t rng = 2;
    for (int i = 0; i < 200000; i++) {
        bf_dtype dtype = floats[i % 4];
        bf_format f = bf_format_of(dtype);
        uint64_t r = next_random(&rng), m = next_random(&rng) | 1ull << 63;
        int keep = fraction_bits(dtype) + 1 + (int)(r % 3);
        if (r & 64) m = m >> (64 - keep) << (64 - keep); /* on a tie, or next to one */
        bool sticky = r & 128, negative = r & 256;
        int bias = bf_format_bias(f), span = 2 * bias + fraction_bits(dtype) + 6;
        int exponent = (int)(r >> 16 & 0xffffff) % span - bias - fraction_bits(dtype) - 66;
        double found = wide_float(dtype, bf_encode(f, negative, m, exponent, sticky));
        double expected = rounded_by_mpfr(dtype, m, exponent, sticky);
        assert_same_float(found, negative ? -expected : expected);
    }
}

static void limbs_to_mpfr(mpfr_t out, const int64_t *limbs, int count) {
    mpfr_t limb;
    mpfr_init2(limb, 64);
    mpfr_set_zero(out, 1);
    for (int i = 0; i < count; i++) {
        mpfr_set_sj_2exp(limb, limbs[i], 32 * i, MPFR_RNDN);
        mpfr_add(out, out, limb, MPFR_RNDN);
    }
    mpfr_clear(limb);
}

TEST(limbs_add_exactly) {
    enum { COUNT = 12, POSITIONS = 32 * (COUNT - 3) };
    uint64_t rng = 3;
    mpfr_t expected, term, found;
    mpfr_inits2(1024, expected, term, found, (mpfr_ptr)NULL);
    for (int round = 0; round < 50; round++) {
        int64_t limbs[COUNT] = {0};
        mpfr_set_zero(expected, 1);
        for (int i = 0; i < 400; i++) {
            int position = (int)(next_random(&rng) % (POSITIONS - 64));
            uint64_t a = next_random(&rng), b = next_random(&rng) >> next_random(&rng) % 64;
            bool negative = next_random(&rng) & 1;
            mpfr_set_uj_2exp(term, a, position, MPFR_RNDN);
            if (i % 2) mpfr_mul_d(term, term, (double)(b >> 32), MPFR_RNDN);
            if (i % 2)
                bf_limbs_add_product(limbs, position, a, b >> 32, negative);
            else
                bf_limbs_add(limbs, position, a, negative);
            (negative ? mpfr_sub : mpfr_add)(expected, expected, term, MPFR_RNDN);
        }
        limbs_to_mpfr(found, limbs, COUNT);
        assert_true(mpfr_equal_p(found, expected));
        bf_limbs_carry(limbs, COUNT);
        limbs_to_mpfr(found, limbs, COUNT);
        assert_true(mpfr_equal_p(found, expected));
        assert_true(bf_limbs_valid(limbs, COUNT));
    }
    mpfr_clears(expected, term, found, (mpfr_ptr)NULL);
}

TEST(carried_limbs_have_one_form) {
    int64_t a[4] = {0}, b[4] = {0};
    bf_limbs_add(a, 0, 5, true);
    bf_limbs_add(b, 0, UINT64_MAX, true);
    bf_limbs_add(b, 1, 1ull << 63, false);
    bf_limbs_add(b, 0, 6, true);
    bf_limbs_carry(a, 4);
    bf_limbs_carry(b, 4);
    a[0] -= 0; /* -5 against -(2^64 - 1) + 2^64 - 6 */
    assert_memory_equal(a, b, sizeof a);
    int64_t bad[4] = {-1, 0, 0, 0};
    assert_false(bf_limbs_valid(bad, 4));
    bad[0] = 1ll << 32;
    assert_false(bf_limbs_valid(bad, 4));
}

/* Words of a state of one kind, filled by the rules alone, and the same by MPFR. */
typedef struct filled {
    int64_t words[BF_STATE_WORDS_MAX];
    exact_sums exact;
} filled;

static void take_all(filled *s, bf_dtype dtype, bf_kind k, const char *x, const char *y,
                     int64_t n) {
    bf_sum_shape shape = bf_sum_shape_of(k, dtype);
    size_t bytes = bf_dtype_size(dtype);
    bf_state_init(k, dtype, s->words);
    for (int64_t i = 0; i < n; i++) {
        size_t at = (size_t)i * bytes;
        uint64_t a = bf_load_bits(x + at, (int)bytes), b = bf_load_bits(y + at, (int)bytes);
        if (k == BF_KIND_DOT)
            bf_sum_take_pair(dtype, &shape, s->words, a, b);
        else if (k == BF_KIND_SQUARES)
            bf_sum_take_pair(dtype, &shape, s->words, a, a);
        else
            bf_sum_take(dtype, &shape, s->words, a);
    }
    bf_sum_carry(k, dtype, s->words);
    assert_true(bf_sum_valid(k, dtype, s->words));
    exact_init(&s->exact);
    exact_add(&s->exact, dtype, x, y, n);
}

static double finish(bf_dtype dtype, bf_reduction op, const int64_t *words, int ddof,
                     bf_dtype out) {
    bf_format f = bf_format_of(out);
    bf_work work;
    const bf_reduce_options options = BF_REDUCE_OPTIONS(.ddof = ddof);
    return wide_float(out,
                      bf_result_bits(bf_kind_of(op, dtype), op, dtype, words, &options, f, &work));
}

/* The limbs in use of a carried number, carried no more: some lend 2^32 k to the one below. */
static bf_layout loosen(bf_layout layout, const int64_t *limbs, int64_t *band, uint64_t *rng) {
    int first, end;
    bf_limbs_span(limbs, layout.limbs, &first, &end);
    for (int i = first; i < end; i++) band[i - first] = limbs[i];
    if (end > first) band[end - first - 1] = (int32_t)limbs[end - 1];
    for (int i = 1; i < end - first; i++) {
        int64_t lent = (int64_t)(next_random(rng) % (1 << 30)) - (1 << 29);
        band[i] -= lent;
        band[i - 1] += lent * ((int64_t)1 << 32);
    }
    return bf_layout_make(end - first, layout.exponent + 32 * first);
}

/* Finishes from the limbs in use alone. */
static double finish_group(bf_dtype dtype, bf_reduction op, const int64_t *words, int ddof,
                           bf_dtype out, uint64_t *rng) {
    bf_sum_shape shape = bf_sum_shape_of(bf_kind_of(op, dtype), dtype);
    int64_t sum[BF_SUM_WORDS_MAX], products[BF_SUM_WORDS_MAX];
    bf_band_sums g = {.sum = sum, .products = products};
    bf_reduce_options options = BF_REDUCE_OPTIONS(.ddof = ddof);
    bf_work work;
    for (int i = 0; i < BF_SUM_LIMBS; i++) g.counts[i] = words[i];
    if (shape.sum.limbs > 0) g.sum_layout = loosen(shape.sum, words + shape.sum_at, sum, rng);
    if (shape.products.limbs > 0)
        g.products_layout = loosen(shape.products, words + shape.products_at, products, rng);
    uint64_t bits = bf_band_bits(op, &g, &options, bf_format_of(out), &work);
    uint64_t integer[3], expected[3];
    if (!is_float(dtype) && (op == BF_SUM || op == BF_SUMSQ)) {
        bf_layout layout = op == BF_SUM ? shape.sum : shape.products;
        bf_finish_integer(words + BF_SUM_LIMBS, layout.limbs, expected);
        bf_band_integer(op, &g, integer);
        assert_memory_equal(integer, expected, sizeof expected);
    }
    return wide_float(out, bits);
}

static void check_finish(bf_dtype dtype, data_kind k, int64_t n, uint64_t seed) {
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_SUMSQ, BF_NORM, BF_DOT};
    char x[8 * 64], y[8 * 64];
    fill(dtype, x, n, k, seed);
    fill(dtype, y, n, k, seed + 1);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        filled s;
        take_all(&s, dtype, bf_kind_of(ops[i], dtype), x, y, n);
        for (int round = 0; round < 4; round++) {
            bf_dtype out = round & 1 ? BF_F32 : BF_F64;
            double expected = exact_float(&s.exact, ops[i], round >> 1, out);
            double found = finish(dtype, ops[i], s.words, round >> 1, out);
            if (ops[i] != BF_DOT) {
                double other = finish_group(dtype, ops[i], s.words, round >> 1, out, &seed);
                assert_memory_equal(&other, &found, sizeof found);
            }
            if (expected == 0 && found == 0) continue; /* unit_reduce.c tests zeros' signs */
            if (isnan(expected))
                assert_true(isnan(found));
            else
                assert_same_float(found, expected);
        }
        exact_clear(&s.exact);
    }
}

TEST(results_are_the_exact_value_rounded_once) {
    uint64_t seed = 4;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KIND_COUNT; k++)
            for (int64_t n = 1; n <= 64; n += 1 + n / 2)
                check_finish(all_dtypes[d], (data_kind)k, n, next_random(&seed));
}

TEST(order_keys_order_as_values_do) {
    uint64_t rng = 5;
    for (int i = 0; i < 100000; i++) {
        bf_dtype dtype = all_dtypes[i % DTYPE_COUNT];
        size_t bytes = bf_dtype_size(dtype);
        uint64_t e[2] = {random_element(dtype, (data_kind)(i / 64 % KIND_COUNT), 0, 0, &rng),
                         random_element(dtype, (data_kind)(i / 8 % KIND_COUNT), 0, 0, &rng)};
        mpfr_t v[2];
        for (int j = 0; j < 2; j++) {
            mpfr_init2(v[j], 64);
            if (dtype == BF_BOOL) e[j] = e[j] != 0;
            get_element(v[j], dtype, &e[j], 0);
            assert_int_equal(bf_order_bits(dtype, bf_order_rank(dtype, e[j])),
                             load_bits(&e[j], bytes));
            assert_true(bf_order_valid(dtype, bf_order_rank(dtype, e[j])));
        }
        int64_t a = bf_order_rank(dtype, e[0]), b = bf_order_rank(dtype, e[1]);
        if (mpfr_cmp(v[0], v[1]))
            assert_int_equal(a < b, mpfr_less_p(v[0], v[1]));
        else if (is_float(dtype))
            assert_int_equal(a<b, e[0]> e[1]); /* -0 before +0 */
        else
            assert_int_equal(a, b);
        mpfr_clears(v[0], v[1], (mpfr_ptr)NULL);
    }
}

TEST(keys_of_nan_are_not_valid) {
    for (int i = 0; i < 4; i++) {
        bf_dtype dtype = floats[i];
        uint64_t nan = infinity_bits(dtype) + 1;
        assert_true(bf_order_valid(dtype, bf_order_rank(dtype, infinity_bits(dtype))));
        assert_false(bf_order_valid(dtype, bf_order_rank(dtype, nan)));
        assert_false(bf_order_valid(dtype, bf_order_rank(dtype, nan | sign_bit(dtype))));
    }
    assert_false(bf_order_valid(BF_I8, 128));
    assert_false(bf_order_valid(BF_U8, -1));
    assert_false(bf_order_valid(BF_BOOL, 2));
}

/* Deviations of n integers of this sum and sum of squares, worked out with whole numbers, where the
 * quotient's first 66 bits do not suffice. */
TEST(deviations_of_many_integers_are_rounded_once) {
    static const struct {
        uint64_t n, sum, squares;
        double deviation;
    } cases[] = {
        {2146792828, 406275785105, 84861521958269, 0x1.e796801f913e0p+5},
        {2146909334, 1532186231244, 1134596021206683, 0x1.14c9d10d1ebdcp+7},
        {2147004375, 1409637407343, 1074181671082208, 0x1.072521ae4579ap+8},
    };
    for (int i = 0; i < 3; i++) {
        const bf_u128 n = cases[i].n, sum = cases[i].sum;
        const bf_u128 x = n * cases[i].squares - sum * sum;
        const int shift = 128 - bf_bit_length128(x);
        const bf_leading all = {x << shift, -shift, false};
        const bf_leading root = bf_leading_root(bf_leading_divide_long(all, (uint64_t)(n * n)));
        const uint64_t bits = bf_leading_round(bf_format_f64(), false, root);
        assert_memory_equal(&bits, &cases[i].deviation, sizeof bits);
    }
}

static void check_root(bf_u128 x) {
    bf_u128 root = bf_root128(x);
    assert_true(root * root <= x);
    assert_true(x - root * root <= 2 * root);
}

TEST(roots_are_whole_parts) {
    const bf_u128 least = (bf_u128)1 << 126, most = ~(bf_u128)0;
    uint64_t bits = 1;
    for (unsigned i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        bf_u128 root = bits | (uint64_t)1 << 63, square = root * root;
        check_root(square);
        check_root(square - 1);
        check_root(square + root);
        check_root(square + (square < most - 2 * root ? 2 * root : 0));
        check_root(least + i);
        check_root(most - i);
    }
}

TEST(window_levels_meet) {
    for (int bottom = BF_WINDOW_LEAST; bottom <= BF_WINDOW_TOP; bottom++)
        assert_same_float(wide_float(BF_F64, (uint64_t)bf_window_start(bottom)),
                          ldexp(1.5, bottom + 52));
    for (int l = 1; l < BF_LEVELS_MAX; l++)
        assert_int_equal(bf_window_bottom(0, l - 1) - bf_window_bottom(0, l), BF_WINDOW_BITS + 1);
    assert_int_equal(bf_window_span(1), BF_WINDOW_BITS);
    assert_int_equal(bf_window_span(3) - bf_window_span(2), BF_WINDOW_BITS + 1);
    for (int number = 1; number <= BF_SPLITS; number++) {
        const bf_window_split split = bf_window_split_of(number);
        const bf_extent reach = bf_window_reach(true, number);
        assert_true(split.levels <= BF_LEVELS_MAX);
        assert_true(reach.least >= bf_window_bottom(0, split.levels - 1));
        assert_true(-split.step * (split.products - 1) >= bf_window_bottom(0, split.levels - 1));
        assert_true(number == 1 || reach.least <= bf_window_reach(true, number - 1).least);
    }
    for (int levels = 1; levels <= BF_LEVELS_MAX; levels++)
        assert_int_equal(bf_window_span(levels),
                         bf_window_reach(false, levels).top - bf_window_reach(false, levels).least);
}

/* ---- ratios ---------------------------------------------------------------------------------- */

/* Digits that are random, or such that a guess of a quotient's digit is too large. */
static void random_wide(bf_wide *x, int most, uint64_t *rng) {
    do {
        x->length = 1 + (int)(next_random(rng) % (uint64_t)most);
        x->exponent = (int)(next_random(rng) % 200) - 100;
        for (int i = 0; i < x->length; i++) {
            const uint32_t digit = (uint32_t)next_random(rng);
            const uint32_t kinds[] = {digit, digit, 0, UINT32_MAX, (uint32_t)1 << 31, digit >> 20};
            x->digit[i] = kinds[next_random(rng) % 6];
        }
        bf_wide_trim(x);
    } while (x->length == 0);
}

static void import_wide(mpz_t out, const bf_wide *x) {
    mpz_import(out, (size_t)x->length, -1, sizeof x->digit[0], 0, 0, x->digit);
}

/* The leading 128 bits of x / y, by GMP. */
static void check_ratio(const bf_wide *x, const bf_wide *y) {
    mpz_t a, b, q, rest;
    bf_wide spoiled = *x, room;
    const bf_leading found = bf_wide_ratio(&spoiled, y, &room);
    mpz_inits(a, b, q, rest, NULL);
    import_wide(a, x);
    import_wide(b, y);
    mpz_mul_2exp(a, a, 32 * (size_t)y->length + 192);
    mpz_fdiv_qr(q, rest, a, b);
    const size_t above = mpz_sizeinbase(q, 2) - 128;
    const bool sticky = mpz_sgn(rest) != 0 || mpz_scan1(q, 0) < above;
    mpz_fdiv_q_2exp(q, q, above);
    assert_true(mpz_getlimbn(q, 1) == (uint64_t)(found.bits >> 64));
    assert_true(mpz_getlimbn(q, 0) == (uint64_t)found.bits);
    assert_int_equal(found.exponent, x->exponent - y->exponent - 32 * y->length - 192 + (int)above);
    assert_int_equal(found.sticky, sticky);
    mpz_clears(a, b, q, rest, NULL);
}

TEST(ratios_have_their_leading_bits) {
    uint64_t rng = 11;
    bf_wide x, y, factor;
    for (int i = 0; i < 60000; i++) {
        const int most = i % 1000 == 0 ? BF_WIDE_DIGITS - 6 : i % 3 == 0 ? 40 : 5;
        random_wide(&x, most, &rng);
        random_wide(&y, most, &rng);
        if (i % 8 == 0 && y.length < 100) { /* without a rest */
            random_wide(&factor, 6, &rng);
            bf_wide_product(&x, &y, &factor);
        }
        check_ratio(&x, &y);
    }
}

UNIT_TESTS(rules, NULL, NULL)
