/* Spans of a key: what lies within one. The caller has set the usual environment of floats. */
#ifndef BF_RULES_SCAN_SPAN_H
#define BF_RULES_SCAN_SPAN_H

#include "rules/number/rule.h"

/* A window of key k has the keys from k up that are at most `after` apart, and those from k down
 * that are less than `before` apart. */
typedef struct bf_integer_span {
    uint64_t before, after;
} bf_integer_span;

typedef struct bf_float_span {
    double before, after;
} bf_float_span;

/* In the middle of a window, k has half a span on both sides. A half that no number of the keys'
 * kind is makes no difference to which of them are in. */
BF_RULE bf_integer_span bf_integer_span_make(uint64_t span, bool center) {
    bf_integer_span s;
    s.after = center ? span / 2 : 0;
    s.before = span - s.after;
    return s;
}
BF_RULE bf_float_span bf_float_span_make(double span, bool center) {
    const double half = span / 2; /* rounded, if it is below the least normal number */
    bf_float_span s;
    s.after = !center ? 0 : half <= span - half ? half : span - half;
    s.before = span - s.after;
    return s;
}

/* Returns the sign of (high - low) - span for finite high >= low and span: exactly. */
BF_RULE int bf_float_span_compare(double high, double low, double span) {
    const double apart =
        high - low; /* rounded: what it is not equal to, it is on the right side of */
    const double large = high >= -low ? high : -low, small = high >= -low ? -low : high;
    if (apart != span) return apart < span ? -1 : 1;
    const double rest = small - (apart - large); /* exact: Dekker's sum */
    return rest < 0 ? -1 : rest > 0;
}

/* As above, for integers of dtype: 64 bits hold how far apart those of up to 64 bits are. */
BF_RULE int bf_integer_span_compare(bf_dtype dtype, bf_i128 high, bf_i128 low, uint64_t span) {
    const bf_u128 apart =
        dtype == BF_I128 ? (bf_u128)high - (bf_u128)low : (uint64_t)high - (uint64_t)low;
    return apart < span ? -1 : apart > span;
}

#endif
