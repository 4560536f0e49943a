/* The results of many sums that share a band of limbs: the bits that rules/reduce/result.h would
 * make of a state's words, from the limbs in use alone. */
#ifndef BF_RULES_REDUCE_BAND_H
#define BF_RULES_REDUCE_BAND_H

#include "rules/number/scale.h"
#include "rules/reduce/result.h"

/* One exact sum, or two: limbs, which need not be carried, or words of 64 bits of a number in two's
 * complement. */
typedef struct bf_band_sums {
    int64_t counts[BF_SUM_LIMBS]; /* as in the words of a state */
    const int64_t *sum, *products;
    bf_layout sum_layout, products_layout; /* the limbs in use, and the weight of the first */
    bool words;
} bf_band_sums;

BF_RULE_INLINE bf_leading bf_band_leading(const bf_band_sums *g, const int64_t *limbs,
                                          bf_layout layout, bool *negative) {
    return g->words ? bf_leading_from_words(limbs, layout.limbs, layout.exponent, negative)
                    : bf_leading_from_band(limbs, layout.limbs, layout.exponent, negative);
}

BF_RULE_INLINE bool bf_band_wide(const bf_band_sums *g, const int64_t *limbs, bf_layout layout,
                                 bf_wide *x) {
    return g->words ? bf_wide_from_words(x, limbs, layout.limbs, layout.exponent)
                    : bf_wide_from_band(x, limbs, layout.limbs, layout.exponent);
}

/* The dtype of the results of an aggregate: BF_I192 of integer sums, which always fit it. */
BF_RULE bf_dtype bf_result_dtype(bf_reduction op, bf_dtype dtype, bf_dtype out_dtype) {
    if (bf_class_of(op) == BF_RESULT_ELEMENT) return dtype;
    if (bf_result_is_integer(op, dtype, out_dtype)) return BF_I192;
    return out_dtype == BF_F32 ? BF_F32 : BF_F64;
}

/* Limbs / divisor, or the square root of limbs that are not negative, rounded once. */
BF_RULE_INLINE uint64_t bf_band_round(const bf_band_sums *g, const int64_t *limbs, bf_layout layout,
                                      uint64_t divisor, bool root, bf_format f) {
    bool negative;
    bf_leading x = bf_band_leading(g, limbs, layout, &negative);
    if (x.bits == 0) return bf_finish_zero_is_negative(g->counts) ? bf_format_sign(f) : 0;
    if (divisor != 1) x = bf_leading_divide(x, divisor);
    return bf_leading_round(f, negative, root ? bf_leading_root(x) : x);
}

/* The variance or its square root: NaN unless more than ddof values are finite, and all are. */
BF_RULE uint64_t bf_band_variance(bf_reduction op, const bf_band_sums *g,
                                  const bf_reduce_options *options, bool special, bf_format f,
                                  bf_work *work) {
    int64_t n = bf_finish_count(g->counts);
    if (special || n <= options->ddof) return bf_format_nan(f);
    bf_band_wide(g, g->sum, g->sum_layout, &work->sum);
    bf_wide_square(&work->square, &work->sum);
    bf_band_wide(g, g->products, g->products_layout, &work->x);
    return bf_finish_spread(n, options->ddof, bf_is_root(op), options->scale, f, work);
}

/* bf_band_round of limbs / 10^scale. */
BF_RULE uint64_t bf_band_scaled(const bf_band_sums *g, const int64_t *limbs, bf_layout layout,
                                uint64_t divisor, bool root, int scale, bf_format f,
                                bf_work *work) {
    bool negative = bf_band_wide(g, limbs, layout, &work->x);
    if (work->x.length == 0) return 0;
    bf_leading x = bf_finish_divide(&work->x, divisor, scale);
    return bf_leading_round(f, negative, root ? bf_leading_root(x) : x);
}

/* *divisor *= 10^scale, if that is below 2^63: as it mostly is, so that one division does it. */
BF_RULE_INLINE bool bf_band_unscale(uint64_t *divisor, int scale) {
    if (scale > 18) return false;
    uint64_t unit = (uint64_t)bf_power_of_ten(scale);
    if (*divisor > UINT64_MAX / unit / 2) return false;
    *divisor *= unit;
    return true;
}

/* The bits of a result that is rounded. work is for BF_VAR, BF_STD and scales. */
BF_RULE_INLINE uint64_t bf_band_bits(bf_reduction op, const bf_band_sums *g,
                                     const bf_reduce_options *options, bf_format f, bf_work *work) {
    uint64_t bits = 0;
    int64_t n = bf_finish_count(g->counts);
    bool special = bf_finish_special(g->counts, options->nan == BF_NAN_SKIP, f, &bits);
    bf_kind kind = bf_kind_of(op, BF_NONE);
    bool mean = bf_is_mean(op), sum = kind == BF_KIND_SUM;
    if (kind == BF_KIND_MOMENTS) return bf_band_variance(op, g, options, special, f, work);
    if (special) return bits;
    if (mean && n == 0) return bf_format_nan(f);
    const int64_t *limbs = sum ? g->sum : g->products;
    bf_layout layout = sum ? g->sum_layout : g->products_layout;
    uint64_t divisor = mean ? (uint64_t)n : 1;
    int scale = sum ? options->scale : 2 * options->scale;
    if (scale > 0 && !(sum && bf_band_unscale(&divisor, scale)))
        return bf_band_scaled(g, limbs, layout, divisor, bf_is_root(op), scale, f, work);
    return bf_band_round(g, limbs, layout, divisor, bf_is_root(op), f);
}

/* The bits of a minimum or maximum: NaN too where all values are NaN and skipped. key is the least
 * order key of the others (of BF_MAX: complemented). */
BF_RULE uint64_t bf_extreme_bits(bf_reduction op, bf_dtype dtype, int64_t count, int64_t nan,
                                 int64_t key, bool skip) {
    if (nan == count || (nan > 0 && !skip)) return bf_format_nan(bf_format_of(dtype));
    return bf_order_bits(dtype, bf_is_greatest(op) ? ~key : key);
}

/* Limb k of a band: 0 below it, and its sign above. */
BF_RULE int64_t bf_band_limb(const int64_t *limbs, int count, bool words, int k) {
    if (k < 0 || count == 0) return 0;
    if (!words) return k < count ? limbs[k] : 0;
    if (k >= 2 * count) return limbs[count - 1] < 0 ? 0xffffffff : 0;
    return (uint32_t)((uint64_t)limbs[k / 2] >> 32 * (k % 2));
}

/* The sum of integers, or of their squares, as 192 bits of two's complement. */
BF_RULE void bf_band_integer(bf_reduction op, const bf_band_sums *g, uint64_t out[3]) {
    const int64_t *limbs = op == BF_SUM ? g->sum : g->products;
    bf_layout layout = op == BF_SUM ? g->sum_layout : g->products_layout;
    int64_t carry = 0;
    for (int i = 0; i < 6; i++) {
        carry += bf_band_limb(limbs, layout.limbs, g->words, i - layout.exponent / 32);
        out[i / 2] = (i % 2 ? out[i / 2] : 0) | (uint64_t)(uint32_t)carry << 32 * (i % 2);
        carry >>= 32;
    }
}

/* Do 192 bits hold it? Words of BF_I128 may have more. */
BF_RULE bool bf_band_integer_fits(bf_reduction op, const bf_band_sums *g, const uint64_t out[3]) {
    const int64_t *limbs = op == BF_SUM ? g->sum : g->products;
    bf_layout layout = op == BF_SUM ? g->sum_layout : g->products_layout;
    const int first = layout.exponent / 32;
    const int64_t sign = (int64_t)out[2] < 0 ? 0xffffffff : 0;
    for (int i = 6; g->words && i < first + 2 * layout.limbs; i++)
        if (bf_band_limb(limbs, layout.limbs, true, i - first) != sign) return false;
    return true;
}

#endif
