/* Numbers in two doubles with a bound of their error, and results of joint kinds made of them: the
 * textbook's formulas. A result whose two ends round alike is proven (Ziv); the rules make others.
 * The error is 0 where no operation rounded: so ties are proven too, zeros, and that there is no
 * result. */
#ifndef BF_CUDA_REDUCE_JOINT_ESTIMATE_CUH
#define BF_CUDA_REDUCE_JOINT_ESTIMATE_CUH

#include "rules/number/wide.h"
#include "rules/reduce/kind.h"
#include "rules/reduce/sum_window.h"
#include "rules/reduce/terms.h"
#include <bitfold/reduce.h>

#include <math.h>

/* high + low, which lacks at most `error`, but for what rounding makes of that. */
struct bf_cuda_estimate {
    double high, low, error;
};

namespace bf_cuda_estimates {

using number = bf_cuda_estimate;

BF_RULE number exactly(double x) { return {x, 0, 0}; }
BF_RULE number unknown() { return {0, 0, (double)INFINITY}; }
BF_RULE number nothing() { return {(double)NAN, 0, 0}; } /* the result is NaN */

BF_RULE bool is_zero(number x) { return x.high == 0 && x.low == 0 && x.error == 0; }
BF_RULE bool is_nothing(number x) { return x.high != x.high && x.error == 0; }
BF_RULE bool is_sure(number x) { return x.error < fabs(x.high) * 0x1p-20; }

/* Is p = x * y? Smaller products may lack a rest that no double holds. */
BF_RULE bool is_product(double p, double x, double y) {
    return p == 0 ? x == 0 || y == 0 : fabs(p) >= 0x1p-900 && fma(x, y, -p) == 0;
}

BF_RULE number normal(double high, double low, double error) {
    number x = {0, 0, error};
    x.high = bf_two_sum(high, low, &x.low);
    return x;
}

BF_RULE number operator-(number x) { return {-x.high, -x.low, x.error}; }

/* The bound of an error, which vanishes only where nothing was lost. */
BF_RULE double bound(bool exact, double error) { return exact ? 0 : error + 0x1p-1000; }
BF_RULE bool are_exact(number x, number y) { return x.error == 0 && y.error == 0; }

BF_RULE number operator+(number x, number y) {
    double rest, lost, lost_too;
    const double high = bf_two_sum(x.high, y.high, &rest);
    const double low = bf_two_sum(rest, bf_two_sum(x.low, y.low, &lost), &lost_too);
    const bool exact = lost == 0 && lost_too == 0;
    const double lack = exact ? 0 : (fabs(x.high) + fabs(y.high)) * 0x1p-103;
    return normal(high, low, bound(exact && are_exact(x, y), x.error + y.error + lack));
}

BF_RULE number operator-(number x, number y) { return x + -y; }

/* Where the product is so small that its rest is no double, nothing is known of it. */
BF_RULE number operator*(number x, number y) {
    const double high = x.high * y.high, size = fabs(high);
    const double xy = x.high * y.low, yx = x.low * y.high;
    double lost, lost_too;
    const double low = bf_two_sum(fma(x.high, y.high, -high), bf_two_sum(xy, yx, &lost), &lost_too);
    const bool exact = lost == 0 && lost_too == 0 && (x.low == 0 || y.low == 0) &&
                       is_product(xy, x.high, y.low) && is_product(yx, x.low, y.high);
    const double error =
        fabs(x.high) * y.error + fabs(y.high) * x.error + x.error * y.error + size * 0x1p-100;
    if (size < 0x1p-900 && x.high != 0 && y.high != 0) return unknown();
    return normal(high, low, bound(exact && are_exact(x, y), error));
}

BF_RULE number operator/(number x, number y) {
    const double high = x.high / y.high, size = fabs(high);
    double lost;
    const double rest = bf_two_sum(x.low, -fma(high, y.high, -x.high), &lost);
    const double low = (rest - high * y.low) / y.high;
    const bool exact = lost == 0 && y.low == 0 && is_product(rest, low, y.high);
    const double error = 1.5 * (x.error + size * y.error) / fabs(y.high) + size * 0x1p-99;
    if (!is_sure(y)) return unknown();
    if (is_zero(x)) return x;
    if (!(fabs(x.high) > 0x1p-900 && size > 0x1p-900)) return unknown();
    return normal(high, low, bound(exact && are_exact(x, y), error));
}

BF_RULE number root(number x) {
    const double high = sqrt(x.high), rest = x.low - fma(high, high, -x.high);
    if (is_zero(x)) return x;
    if (!is_sure(x)) return unknown();
    if (x.high < 0) return nothing();
    if (!(x.high > 0x1p-900)) return unknown();
    return normal(high, rest / (high + high),
                  bound(rest == 0 && x.error == 0, x.error / high + high * 0x1p-99));
}

/* n * (sum of x y) - (sum of x) (sum of y) */
BF_RULE number spread(number n, number x, number y, number xy) { return n * xy - x * y; }

/* 2^exponent, from -900 to 900. */
BF_RULE double power(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

BF_RULE number of_leading(bf_leading x, bool negative) {
    const int last = x.exponent + 22, first = last + 53; /* the last bits of both */
    const uint64_t mask = ((uint64_t)1 << 53) - 1;
    if (x.bits == 0) return exactly(0);
    if (last < -900 || first > 900) return unknown();
    const double high = (double)(uint64_t)(x.bits >> 75) * power(first);
    const double low = (double)((uint64_t)(x.bits >> 22) & mask) * power(last);
    const bool all = !x.sticky && ((uint64_t)x.bits & (((uint64_t)1 << 22) - 1)) == 0;
    const number size = {high, low, all ? 0 : high * 0x1p-103};
    return negative ? -size : size;
}

/* The sum of n levels, from the top one on, whose last bit is 2^bottom; that of each other is
 * `step` bits below the last. Spoils them: each becomes at most half of a unit of the one above, so
 * that nothing cancels. */
BF_RULE number of_levels(bf_i128 *level, int n, int bottom, int step) {
    const int64_t half = (int64_t)1 << (step - 1);
    if (bottom > 800 || bottom - (n - 1) * step < -900) return unknown();
    for (int l = n - 1; l > 0; l--) {
        const bf_i128 carry = (level[l] + half) >> step;
        level[l] -= carry << step;
        level[l - 1] += carry;
    }
    const int64_t top = (int64_t)(level[0] >> 32);
    if (top != level[0] >> 32) return unknown();
    number sum = exactly((double)top * power(bottom + 32));
    sum = sum + exactly((double)(top - (int64_t)(double)top) * power(bottom + 32));
    sum = sum + exactly((double)(uint32_t)level[0] * power(bottom));
    for (int l = 1; l < n; l++)
        sum = sum + exactly((double)(int64_t)level[l] * power(bottom - l * step));
    return sum;
}

/* --- results, of sums in the order of bf_kind_part; where the rules say NaN, nothing() --- */

BF_RULE number of_pairs(bf_reduction op, number n, int ddof, const number (&sum)[5]) {
    const number x = sum[0], y = sum[1], xy = spread(n, x, y, sum[3]);
    if (op == BF_COV) return n.high > ddof ? xy / (n * (n - exactly(ddof))) : nothing();
    const number xx = spread(n, x, x, sum[2]);
    if (is_zero(xx)) return nothing();
    if (op == BF_SLOPE) return xy / xx;
    if (op == BF_INTERCEPT) return (y * xx - xy * x) / (n * xx);
    const number yy = spread(n, y, y, sum[4]), both = xx * yy;
    if (is_zero(yy)) return nothing();
    return op == BF_R2 ? xy * xy / both : xy / root(both);
}

BF_RULE number of_weights(bf_reduction op, number n, int ddof, bool reliability,
                          const number (&sum)[5]) {
    const number w = sum[0], ww = sum[1], wx = sum[2], wxx = sum[3];
    if (op == BF_WMEAN) return is_zero(w) ? nothing() : wx / w;
    const number below = w * w - exactly(ddof) * (reliability ? ww : w);
    if (is_zero(below) || (is_sure(below) && below.high < 0)) return nothing();
    const number variance = (n.high == 1 ? exactly(0) : spread(w, wx, wx, wxx)) / below;
    return op == BF_WSTD ? root(variance) : variance;
}

BF_RULE number of_powers(bf_reduction op, number n, int ddof, const number (&sum)[5]) {
    const number one = exactly(1), two = exactly(2), three = exactly(3), six = exactly(6);
    const number x = sum[0], xx = sum[1], second = spread(n, x, x, xx);
    if (is_zero(second) || (ddof > 0 && n.high < (op == BF_SKEW ? 3 : 4))) return nothing();
    if (op == BF_SKEW && n.high == 2 && is_sure(second)) return exactly(0);
    if (op == BF_SKEW) {
        const number third = n * n * sum[2] - three * n * x * xx + two * x * x * x;
        const number skew = third / (second * root(second));
        return ddof > 0 ? skew * root(n * (n - one)) / (n - two) : skew;
    }
    const number fourth = n * n * n * sum[3] - exactly(4) * n * n * x * sum[2] +
                          six * n * x * x * xx - three * x * x * x * x;
    const number below = second * second, above = fourth - three * below;
    if (ddof == 0) return above / below;
    return (n - one) * ((n + one) * above + six * below) / ((n - two) * (n - three) * below);
}

BF_RULE number of_kind(bf_kind kind, bf_reduction op, number n, const bf_reduce_options *options,
                       const number (&sum)[5]) {
    switch (kind) {
    case BF_KIND_POWERS: return of_powers(op, n, options->ddof, sum);
    case BF_KIND_COMOMENTS: return of_pairs(op, n, options->ddof, sum);
    default:
        return of_weights(op, n, options->ddof, options->weights == BF_WEIGHTS_RELIABILITY, sum);
    }
}

/* Returns whether the result is proven. The ends of one that is small for an f32 may be zeros of
 * two signs. */
BF_RULE bool is_proven(number x, bf_dtype to, uint64_t *bits) {
    const double error = 2 * x.error;
    if (is_zero(x) || is_nothing(x)) {
        *bits = is_zero(x) ? 0 : bf_format_nan(bf_format_of(to));
        return true;
    }
    if (!(fabs(x.high) > 1e-250 && fabs(x.high) < 1e250)) return false;
    if (to == BF_F64) {
        const double found = x.high + (x.low + error);
        memcpy(bits, &found, sizeof found);
        return found == x.high + (x.low - error);
    }
    double rest, sum = bf_two_sum(x.high, x.low + error, &rest);
    const float above = (float)bf_round_odd(sum, rest);
    sum = bf_two_sum(x.high, x.low - error, &rest);
    const float below = (float)bf_round_odd(sum, rest);
    uint64_t other = *bits = 0;
    memcpy(bits, &above, sizeof above); /* low bytes come first */
    memcpy(&other, &below, sizeof below);
    return *bits == other && fabsf(above) <= 3.4028234663852886e38f;
}

} // namespace bf_cuda_estimates

#endif
