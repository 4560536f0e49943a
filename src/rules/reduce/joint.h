/* Results of joint kinds: covariances, correlations, lines, means with weights, skewness, kurtosis.
 * Each is a rational number, or the root of one, made of the exact sums, and is rounded once. */
#ifndef BF_RULES_REDUCE_JOINT_H
#define BF_RULES_REDUCE_JOINT_H

#include "rules/number/scale.h"
#include "rules/reduce/finish.h"
#include <bitfold/reduce.h>

/* An exact number; zero is not negative. These are large: where a function makes some, its last
 * argument is room for them, and for those of the functions that it calls. */
typedef struct bf_signed {
    bool negative;
    bf_wide size;
} bf_signed;

enum { BF_JOINT_ROOM = 9 /* numbers that a result needs */ };

/* Copies no more digits than there are: there is room for many. */
BF_RULE void bf_signed_copy(bf_signed *to, const bf_signed *from) {
    to->negative = from->negative;
    to->size.length = from->size.length;
    to->size.exponent = from->size.exponent;
    for (int i = 0; i < from->size.length; i++) to->size.digit[i] = from->size.digit[i];
}

BF_RULE void bf_signed_multiply(bf_signed *out, const bf_signed *x, const bf_signed *y) {
    bf_wide_product(&out->size, &x->size, &y->size);
    out->negative = x->negative != y->negative && out->size.length > 0;
}

/* x += y, with the sign given apart; their exponents differ by a multiple of 32. */
BF_RULE void bf_signed_add_as(bf_signed *x, const bf_signed *y, bool negative, bf_signed *room) {
    if (x->negative == negative || x->size.length == 0) {
        x->negative = y->size.length > 0 ? negative : x->negative;
        bf_wide_add(&x->size, &y->size);
    } else if (bf_wide_less(&x->size, &y->size)) {
        bf_signed *rest = room;
        bf_signed_copy(rest, y);
        bf_wide_subtract(&rest->size, &x->size);
        rest->negative = negative;
        bf_signed_copy(x, rest);
    } else {
        bf_wide_subtract(&x->size, &y->size);
        if (x->size.length == 0) x->negative = false;
    }
}

BF_RULE void bf_signed_subtract(bf_signed *x, const bf_signed *y, bf_signed *room) {
    bf_signed_add_as(x, y, !y->negative, room);
}

/* x -= n * y. Spoils y. */
BF_RULE void bf_signed_subtract_times(bf_signed *x, uint64_t n, bf_signed *y, bf_signed *room) {
    bf_wide_multiply(&y->size, n);
    bf_signed_subtract(x, y, room);
}

/* Carried limbs: those that determine the number, or their complement. */
BF_RULE void bf_signed_from_limbs(bf_signed *x, const int64_t *limbs, bf_layout layout) {
    int first, end;
    bf_limbs_span(limbs, layout.limbs, &first, &end);
    x->negative = limbs[layout.limbs - 1] < 0;
    x->size.length = end - first;
    x->size.exponent = layout.exponent + 32 * first;
    for (int i = first; i < end; i++) {
        const uint32_t digit = (uint32_t)limbs[i];
        x->size.digit[i - first] = !x->negative ? digit : i == first ? 0 - digit : ~digit;
    }
    bf_wide_trim(&x->size);
}

/* Exact sums of a joint kind: the parts tell which of the words are the limbs of each. */
typedef struct bf_joint_sums {
    bf_dtype dtype;
    const bf_parts *parts;
    const int64_t *words;
} bf_joint_sums;

/* The sum of a^i * b^j, which the kind keeps. */
BF_RULE void bf_signed_of(bf_signed *x, const bf_joint_sums *sums, int i, int j) {
    const bf_part *part = sums->parts->part;
    while (part->a != i || part->b != j) part++;
    bf_signed_from_limbs(x, sums->words + part->at, part->layout);
}

/* x = n, in units that a sum with this exponent can be added to. */
BF_RULE void bf_signed_whole(bf_signed *x, uint64_t n, int exponent) {
    const int shift = (exponent % 32 + 32) % 32;
    x->negative = false;
    x->size.length = 2;
    x->size.exponent = 0;
    x->size.digit[0] = (uint32_t)n;
    x->size.digit[1] = (uint32_t)(n >> 32);
    bf_wide_trim(&x->size);
    if (shift == 0) return;
    bf_wide_multiply(&x->size, (uint64_t)1 << (32 - shift));
    x->size.exponent += shift - 32;
}

/* n * (sum of x y) - (sum of x) (sum of y): n^2 times a covariance, or a variance. */
BF_RULE void bf_signed_spread(bf_signed *spread, int64_t n, const bf_signed *x, const bf_signed *y,
                              const bf_signed *xy, bf_signed *room) {
    bf_signed *product = room;
    bf_signed_copy(spread, xy);
    bf_wide_multiply(&spread->size, (uint64_t)n);
    bf_signed_multiply(product, x, y);
    bf_signed_subtract(spread, product, room + 1);
}

/* x / (y * 10^scale), or its root with the sign of x, rounded once; NaN if y is 0, or for the root
 * of a negative number if the sign is not to be kept. Spoils x. */
BF_RULE uint64_t bf_signed_ratio(bf_signed *x, const bf_signed *y, int scale, bool root,
                                 bf_format f, bf_signed *room) {
    bf_signed *divisor = room;
    const bool negative = x->negative != y->negative;
    if (y->size.length == 0) return bf_format_nan(f);
    if (x->size.length == 0) return 0;
    bf_signed_copy(divisor, y);
    for (; scale > 0; scale -= 18)
        bf_wide_multiply(&divisor->size, (uint64_t)bf_power_of_ten(scale < 18 ? scale : 18));
    bf_leading q = bf_wide_ratio(&x->size, &divisor->size, &room[1].size);
    return bf_leading_round(f, negative, root ? bf_leading_root(q) : q);
}

/* --- pairs --- */

/* Five sums of pairs, and what they say of n of them. */
typedef struct bf_pairs {
    int64_t n;
    bf_signed *x, *y;        /* sums */
    bf_signed *xx, *xy, *yy; /* n^2 times the variances, and the covariance */
} bf_pairs;

enum { BF_PAIRS_ROOM = 5 };

BF_RULE_APART bf_pairs bf_pairs_of(const bf_joint_sums *sums, bf_signed *room) {
    const bf_pairs p = {bf_finish_count(sums->words), room, room + 1, room + 2, room + 3, room + 4};
    bf_signed *sum = room + BF_PAIRS_ROOM;
    bf_signed_of(p.x, sums, 1, 0);
    bf_signed_of(p.y, sums, 0, 1);
    bf_signed_of(sum, sums, 2, 0);
    bf_signed_spread(p.xx, p.n, p.x, p.x, sum, sum + 1);
    bf_signed_of(sum, sums, 1, 1);
    bf_signed_spread(p.xy, p.n, p.x, p.y, sum, sum + 1);
    bf_signed_of(sum, sums, 0, 2);
    bf_signed_spread(p.yy, p.n, p.y, p.y, sum, sum + 1);
    return p;
}

/* xy / (n * (n - ddof)) */
BF_RULE uint64_t bf_pairs_covariance(const bf_pairs *p, int ddof, int scale, bf_format f,
                                     bf_signed *room) {
    bf_signed *divisor = room;
    if (p->n <= ddof) return bf_format_nan(f);
    bf_signed_whole(divisor, (uint64_t)p->n, 0);
    bf_wide_multiply(&divisor->size, (uint64_t)(p->n - ddof));
    return bf_signed_ratio(p->xy, divisor, 2 * scale, false, f, room + 1);
}

/* xy / sqrt(xx * yy), or the square of that */
BF_RULE_APART uint64_t bf_pairs_correlation(const bf_pairs *p, bool square, bf_format f,
                                            bf_signed *room) {
    bf_signed *above = room, *below = room + 1;
    bf_signed_multiply(above, p->xy, p->xy);
    bf_signed_multiply(below, p->xx, p->yy);
    const uint64_t bits = bf_signed_ratio(above, below, 0, !square, f, room + 2);
    return !square && p->xy->negative && bits != bf_format_nan(f) ? bits | bf_format_sign(f) : bits;
}

/* (y * xx - xy * x) / (n * xx) */
BF_RULE_APART uint64_t bf_pairs_intercept(const bf_pairs *p, int scale, bf_format f,
                                          bf_signed *room) {
    bf_signed *above = room, *product = room + 1;
    bf_signed_multiply(above, p->y, p->xx);
    bf_signed_multiply(product, p->xy, p->x);
    bf_signed_subtract(above, product, room + 2);
    bf_wide_multiply(&p->xx->size, (uint64_t)p->n);
    return bf_signed_ratio(above, p->xx, scale, false, f, room + 1);
}

BF_RULE_APART uint64_t bf_joint_pairs(bf_reduction op, const bf_joint_sums *sums,
                                      const bf_reduce_options *options, bf_format f,
                                      bf_signed *room) {
    const bf_pairs p = bf_pairs_of(sums, room);
    room += BF_PAIRS_ROOM;
    if (p.n == 0) return bf_format_nan(f);
    switch (op) {
    case BF_COV: return bf_pairs_covariance(&p, options->ddof, options->scale, f, room);
    case BF_SLOPE: return bf_signed_ratio(p.xy, p.xx, 0, false, f, room);
    case BF_INTERCEPT: return bf_pairs_intercept(&p, options->scale, f, room);
    default: return bf_pairs_correlation(&p, op == BF_R2, f, room);
    }
}

/* --- weights --- */

/* The mean: infinite elements make it infinite. */
BF_RULE_APART uint64_t bf_joint_weighted_mean(const bf_joint_sums *sums,
                                              const bf_reduce_options *options, bf_format f,
                                              bf_signed *room) {
    bf_signed *sum = room, *weights = room + 1;
    uint64_t bits;
    bf_signed_of(sum, sums, 1, 1);
    bf_signed_of(weights, sums, 0, 1);
    if (weights->size.length == 0) return bf_format_nan(f);
    if (bf_finish_special(sums->words, true, f, &bits))
        return bits == bf_format_nan(f) || !weights->negative ? bits : bits ^ bf_format_sign(f);
    return bf_signed_ratio(sum, weights, options->scale, false, f, room + 2);
}

/* W * (sum of w x y) - (sum of w x) (sum of w y): W^2 times a covariance, or a variance. */
BF_RULE void bf_weighted_spread(bf_signed *spread, const bf_signed *w, const bf_signed *x,
                                const bf_signed *y, const bf_signed *xy, bf_signed *room) {
    bf_signed_multiply(spread, w, xy);
    bf_signed_multiply(room, x, y);
    bf_signed_subtract(spread, room, room + 1);
}

/* W * (W - ddof * c), for W = sum of w: c is 1 for weights that count, and (sum of w^2) / W for
 * weights of reliability. */
BF_RULE void bf_weighted_divisor(bf_signed *divisor, const bf_signed *w, const bf_joint_sums *sums,
                                 const bf_reduce_options *options, bf_signed *room) {
    bf_signed *other = room, *one = room + 1;
    bf_signed_multiply(divisor, w, w);
    if (options->ddof > 0 && options->weights == BF_WEIGHTS_RELIABILITY) {
        bf_signed_of(other, sums, 0, 2);
        bf_signed_subtract_times(divisor, (uint64_t)options->ddof, other, room + 1);
    } else if (options->ddof > 0) {
        bf_signed_whole(one, (uint64_t)options->ddof, bf_layout_sum(sums->dtype).exponent);
        for (int i = 0; i < options->scale; i++) bf_wide_multiply(&one->size, 10);
        bf_signed_multiply(other, w, one);
        bf_signed_subtract(divisor, other, room + 1);
    }
}

/* The variance (W * sum of w x^2 - (sum of w x)^2) / (W * (W - ddof * c)). */
BF_RULE_APART uint64_t bf_joint_weighted_variance(const bf_joint_sums *sums,
                                                  const bf_reduce_options *options, bool root,
                                                  bf_format f, bf_signed *room) {
    bf_signed *w = room, *wx = room + 1, *wxx = room + 2;
    bf_signed *above = room + 3, *below = room + 4;
    room += 5;
    bf_signed_of(w, sums, 0, 1);
    bf_signed_of(wx, sums, 1, 1);
    bf_signed_of(wxx, sums, 2, 1);
    bf_weighted_spread(above, w, wx, wx, wxx, room);
    bf_weighted_divisor(below, w, sums, options, room);
    if (below->negative || (root && above->negative)) return bf_format_nan(f);
    return bf_signed_ratio(above, below, 2 * options->scale, root, f, room);
}

/* --- powers --- */

/* n^3 times the third central moment: n^2 S3 - 3 n S1 S2 + 2 S1^3. */
BF_RULE_APART void bf_joint_third(bf_signed *third, int64_t n, const bf_signed *s,
                                  bf_signed *room) {
    bf_signed *term = room, *cube = room + 1;
    room += 2;
    bf_signed_copy(third, &s[3]);
    for (int i = 0; i < 2; i++) bf_wide_multiply(&third->size, (uint64_t)n);
    bf_signed_multiply(term, &s[1], &s[2]);
    bf_wide_multiply(&term->size, (uint64_t)n);
    bf_signed_subtract_times(third, 3, term, room);
    bf_signed_multiply(term, &s[1], &s[1]);
    bf_signed_multiply(cube, term, &s[1]);
    cube->negative = !cube->negative;
    bf_signed_subtract_times(third, 2, cube, room);
}

/* n^4 times the fourth: n^3 S4 - 4 n^2 S1 S3 + 6 n S1^2 S2 - 3 S1^4. */
BF_RULE_APART void bf_joint_fourth(bf_signed *fourth, int64_t n, const bf_signed *s,
                                   bf_signed *room) {
    bf_signed *square = room, *term = room + 1;
    room += 2;
    bf_signed_copy(fourth, &s[4]);
    for (int i = 0; i < 3; i++) bf_wide_multiply(&fourth->size, (uint64_t)n);
    bf_signed_multiply(term, &s[1], &s[3]);
    for (int i = 0; i < 2; i++) bf_wide_multiply(&term->size, (uint64_t)n);
    bf_signed_subtract_times(fourth, 4, term, room);
    bf_signed_multiply(square, &s[1], &s[1]);
    bf_signed_multiply(term, square, &s[2]);
    bf_wide_multiply(&term->size, (uint64_t)n);
    term->negative = !term->negative;
    bf_signed_subtract_times(fourth, 6, term, room);
    bf_signed_multiply(term, square, square);
    bf_signed_subtract_times(fourth, 3, term, room);
}

/* M3 / M2^(3/2), of ddof 1 times sqrt(n (n - 1)) / (n - 2): the root of its square, with its sign.
 */
BF_RULE_APART uint64_t bf_joint_skewness(int64_t n, const bf_signed *s, const bf_signed *second,
                                         int ddof, bf_format f, bf_signed *room) {
    bf_signed *above = room, *below = room + 1, *square = room + 2, *third = room + 3;
    if (ddof > 0 && n < 3) return bf_format_nan(f);
    bf_joint_third(third, n, s, room);
    bf_signed_multiply(above, third, third);
    bf_signed_multiply(square, second, second);
    bf_signed_multiply(below, square, second);
    if (ddof > 0) {
        bf_wide_multiply(&above->size, (uint64_t)n);
        bf_wide_multiply(&above->size, (uint64_t)(n - 1));
        for (int i = 0; i < 2; i++) bf_wide_multiply(&below->size, (uint64_t)(n - 2));
    }
    const bool negative = third->negative;
    const uint64_t bits = bf_signed_ratio(above, below, 0, true, f, room + 2);
    return negative && bits != bf_format_nan(f) ? bits | bf_format_sign(f) : bits;
}

/* (M4 - 3 M2^2) / M2^2; of ddof 1 (n - 1) ((n + 1) (M4 - 3 M2^2) + 6 M2^2) / ((n - 2) (n - 3)
 * M2^2).
 */
BF_RULE_APART uint64_t bf_joint_kurtosis(int64_t n, const bf_signed *s, const bf_signed *second,
                                         int ddof, bf_format f, bf_signed *room) {
    bf_signed *above = room, *below = room + 1, *six = room + 2;
    if (ddof > 0 && n < 4) return bf_format_nan(f);
    bf_joint_fourth(above, n, s, room + 1);
    bf_signed_multiply(below, second, second);
    bf_signed_copy(six, below);
    bf_signed_subtract_times(above, 3, six, room + 3);
    if (ddof > 0) {
        bf_signed_copy(six, below);
        six->negative = !six->negative;
        bf_wide_multiply(&above->size, (uint64_t)n + 1);
        bf_signed_subtract_times(above, 6, six, room + 3);
        bf_wide_multiply(&above->size, (uint64_t)n - 1);
        bf_wide_multiply(&below->size, (uint64_t)n - 2);
        bf_wide_multiply(&below->size, (uint64_t)n - 3);
    }
    return bf_signed_ratio(above, below, 0, false, f, room + 2);
}

BF_RULE_APART uint64_t bf_joint_powers(bf_reduction op, const bf_joint_sums *sums, int ddof,
                                       bf_format f, bf_signed *room) {
    const int64_t n = bf_finish_count(sums->words);
    bf_signed *second = room, *s = room; /* s[i] is the sum of powers i, from 1 on */
    if (n == 0) return bf_format_nan(f);
    for (int i = 1; i < 5; i++) bf_signed_of(&s[i], sums, i, 0);
    bf_signed_spread(second, n, &s[1], &s[1], &s[2], room + 5);
    return op == BF_SKEW ? bf_joint_skewness(n, s, second, ddof, f, room + 5)
                         : bf_joint_kurtosis(n, s, second, ddof, f, room + 5);
}

/* The bits of a result of a joint kind. room: BF_JOINT_ROOM numbers. */
BF_RULE uint64_t bf_joint_bits(bf_kind kind, bf_reduction op, const bf_joint_sums *sums,
                               const bf_reduce_options *options, bf_format f, bf_signed *room) {
    const bool skip = options->nan == BF_NAN_SKIP;
    uint64_t bits;
    if (sums->words[BF_SUM_NAN] > 0 && !skip) return bf_format_nan(f);
    if (op == BF_WMEAN) return bf_joint_weighted_mean(sums, options, f, room);
    if (bf_finish_special(sums->words, true, f, &bits)) return bf_format_nan(f);
    switch (kind) {
    case BF_KIND_POWERS: return bf_joint_powers(op, sums, options->ddof, f, room);
    case BF_KIND_COMOMENTS: return bf_joint_pairs(op, sums, options, f, room);
    default: return bf_joint_weighted_variance(sums, options, op == BF_WSTD, f, room);
    }
}

BF_RULE_APART uint64_t bf_joint_finish(bf_kind kind, bf_reduction op, const bf_joint_sums *sums,
                                       const bf_reduce_options *options, bf_format f) {
    bf_signed room[BF_JOINT_ROOM];
    return bf_joint_bits(kind, op, sums, options, f, room);
}

/* Makes the bits of the words of a state. */
BF_RULE_APART uint64_t bf_joint_result(bf_kind kind, bf_reduction op, bf_dtype dtype,
                                       const int64_t *words, const bf_reduce_options *options,
                                       bf_format f) {
    const bf_parts parts = bf_parts_of(kind, dtype);
    const bf_joint_sums sums = {dtype, &parts, words};
    return bf_joint_finish(kind, op, &sums, options, f);
}

#endif
