/* From the words of a state to the result: one rounding, of the exact value. */
#ifndef BF_RULES_REDUCE_FINISH_H
#define BF_RULES_REDUCE_FINISH_H

#include "rules/number/wide.h"
#include "rules/reduce/state.h"

/* Room for the arithmetic of a result, which a GPU's threads do not have on their stacks. */
typedef struct bf_work {
    bf_wide x, sum, square;
} bf_work;

/* The infinity or NaN that the counters of an exact state make the result; false if it is finite.
 * nan_is_absent: NaNs are skipped. */
BF_RULE bool bf_finish_special(const int64_t *words, bool nan_is_absent, bf_format f,
                               uint64_t *bits) {
    bool pos = words[BF_SUM_POS_INF] > 0, neg = words[BF_SUM_NEG_INF] > 0;
    bool nan = (words[BF_SUM_NAN] > 0 && !nan_is_absent) || words[BF_SUM_INVALID] > 0;
    if (!nan && !pos && !neg) return false;
    if (nan || (pos && neg))
        *bits = bf_format_nan(f);
    else
        *bits = bf_format_inf(f) | (neg ? bf_format_sign(f) : 0);
    return true;
}

/* Terms that count: all but the NaNs. */
BF_RULE int64_t bf_finish_count(const int64_t *words) {
    return words[BF_SUM_COUNT] - words[BF_SUM_NAN];
}

/* An exact zero is +0, but -0 where there was nothing but -0. */
BF_RULE bool bf_finish_zero_is_negative(const int64_t *words) {
    return bf_finish_count(words) > 0 && words[BF_SUM_NEG_ZERO] == bf_finish_count(words);
}

/* x / (divisor * 10^scale), for x > 0 */
BF_RULE bf_leading bf_finish_divide(bf_wide *x, bf_u128 divisor, int scale) {
    bool rest = bf_wide_unscale(x, scale);
    bf_leading q = divisor == 1 ? bf_wide_leading(x) : bf_wide_divide(x, divisor);
    q.sticky |= rest;
    return q;
}

/* What is made of an exact sum / 10^scale: itself, the mean, of nothing NaN, or the square root of
 * either, rounded once. */
BF_RULE uint64_t bf_finish_total(const int64_t *words, bf_layout layout, bool mean, bool root,
                                 bool skip, int scale, bf_format f, bf_work *work) {
    uint64_t bits;
    bf_wide *x = &work->x;
    int64_t n = bf_finish_count(words);
    if (bf_finish_special(words, skip, f, &bits)) return bits;
    if (mean && n == 0) return bf_format_nan(f);
    bool negative = bf_wide_from_limbs(x, words + BF_SUM_LIMBS, layout.limbs, layout.exponent);
    if (x->length == 0) return bf_finish_zero_is_negative(words) ? bf_format_sign(f) : 0;
    bf_leading total = bf_finish_divide(x, mean ? (uint64_t)n : 1, scale);
    return bf_leading_round(f, negative, root ? bf_leading_root(total) : total);
}

/* The sum alone. */
BF_RULE uint64_t bf_finish_sum(bf_dtype dtype, const int64_t *words, bool skip, bf_format f,
                               bf_work *work) {
    return bf_finish_total(words, bf_layout_sum(dtype), false, false, skip, 0, f, work);
}

/* A sum for a quotient: infinite, a zero, or what x has. NaN must be looked for before. */
typedef struct bf_finish_part {
    bool infinite, zero, negative;
} bf_finish_part;

BF_RULE bf_finish_part bf_finish_part_of(bf_dtype dtype, const int64_t *words, bool skip,
                                         bf_wide *x) {
    bf_layout layout = bf_layout_sum(dtype);
    bf_finish_part p = {false, false, false};
    uint64_t bits;
    p.infinite = bf_finish_special(words, skip, bf_format_of(BF_F64), &bits);
    p.negative = bf_wide_from_limbs(x, words + BF_SUM_LIMBS, layout.limbs, layout.exponent);
    p.zero = !p.infinite && x->length == 0;
    if (p.infinite) p.negative = words[BF_SUM_NEG_INF] > 0;
    if (p.zero) p.negative = bf_finish_zero_is_negative(words);
    return p;
}

BF_RULE bool bf_finish_is_nan(const int64_t *words, bool skip) {
    uint64_t bits;
    return bf_finish_special(words, skip, bf_format_of(BF_F64), &bits) &&
           bits == bf_format_nan(bf_format_of(BF_F64));
}

/* A sum divided by another, of values of one dtype and scale: 0 / 0 and inf / inf are NaN. */
BF_RULE uint64_t bf_finish_share(bf_dtype dtype, const int64_t *words, const int64_t *of, bool skip,
                                 bf_format f, bf_work *work) {
    if (bf_finish_is_nan(words, skip) || bf_finish_is_nan(of, skip)) return bf_format_nan(f);
    bf_finish_part a = bf_finish_part_of(dtype, words, skip, &work->x);
    bf_finish_part b = bf_finish_part_of(dtype, of, skip, &work->sum);
    bool negative = a.negative != b.negative;
    if ((a.infinite && b.infinite) || (a.zero && b.zero)) return bf_format_nan(f);
    if (a.infinite || b.zero) return bf_format_inf(f) | (negative ? bf_format_sign(f) : 0);
    if (a.zero || b.infinite) return negative ? bf_format_sign(f) : 0;
    return bf_leading_round(f, negative, bf_wide_ratio(&work->x, &work->sum, &work->square));
}

/* The variance (n * sum x^2 - (sum x)^2) / (n * (n - ddof) * 10^(2 * scale)), or its square root,
 * of n > ddof finite terms: work->x is the sum of squares, and work->square the square of the sum.
 */
BF_RULE uint64_t bf_finish_spread(int64_t n, int ddof, bool root, int scale, bf_format f,
                                  bf_work *work) {
    bf_wide *x = &work->x;
    bf_wide_multiply(x, (uint64_t)n);
    bf_wide_subtract(x, &work->square);
    if (x->length == 0) return 0;
    bf_leading q = bf_finish_divide(x, (bf_u128)(uint64_t)n * (uint64_t)(n - ddof), 2 * scale);
    return bf_leading_round(f, false, root ? bf_leading_root(q) : q);
}

/* Finishes the moments from the limbs of both sums. */
BF_RULE uint64_t bf_finish_moments(int64_t n, int ddof, const int64_t *sum_limbs, bf_layout sums,
                                   const int64_t *square_limbs, bf_layout squares, bool root,
                                   int scale, bf_format f, bf_work *work) {
    bf_wide_from_limbs(&work->sum, sum_limbs, sums.limbs, sums.exponent);
    bf_wide_square(&work->square, &work->sum);
    bf_wide_from_limbs(&work->x, square_limbs, squares.limbs, squares.exponent);
    return bf_finish_spread(n, ddof, root, scale, f, work);
}

/* Finishes them from the words of a state: NaN if n <= ddof or if there is an infinity. */
BF_RULE uint64_t bf_finish_variance(bf_dtype dtype, const int64_t *words, bool root, int ddof,
                                    bool skip, int scale, bf_format f, bf_work *work) {
    bf_sum_shape s = bf_sum_shape_of(BF_KIND_MOMENTS, dtype);
    uint64_t bits;
    int64_t n = bf_finish_count(words);
    if (bf_finish_special(words, skip, f, &bits) || n <= ddof) return bf_format_nan(f);
    return bf_finish_moments(n, ddof, words + s.sum_at, s.sum, words + s.products_at, s.products,
                             root, scale, f, work);
}

/* Do 192 bits hold carried limbs of an integer? */
BF_RULE bool bf_finish_fits(const int64_t *limbs, int count) {
    int64_t above = count > 6 && (limbs[5] & 0x80000000) != 0 ? 0xffffffff : 0;
    for (int i = 6; i < count; i++)
        if ((limbs[i] & 0xffffffff) != above) return false;
    return count <= 6 || (limbs[count - 1] < 0) == (above != 0);
}

/* An integer sum or dot product as 192 bits of two's complement, which hold it. */
BF_RULE void bf_finish_integer(const int64_t *limbs, int count, uint64_t out[3]) {
    uint64_t sign = limbs[count - 1] < 0 ? ~(uint64_t)0 : 0;
    for (int i = 0; i < 3; i++) {
        if (2 * i >= count)
            out[i] = sign;
        else
            out[i] = (uint64_t)limbs[2 * i] | (uint64_t)limbs[2 * i + 1] << 32;
    }
}

#endif
