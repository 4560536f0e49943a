/* The operations that expressions have besides those of rules/map: one element of the result, from
 * the bits of its inputs. */
#ifndef BF_RULES_EXPRESSION_OPERATION_H
#define BF_RULES_EXPRESSION_OPERATION_H

#include "rules/number/float.h"
#include "rules/number/integer.h"
#include "rules/number/scale.h"

/* Operations of a step: those of bf_map_op, and these. */
typedef enum bf_expression_op {
    BF_EXPRESSION_FLOOR = 64, /* takes floats */
    BF_EXPRESSION_CEIL,
    BF_EXPRESSION_MOD,     /* takes integers or floats: the sign is the divisor's */
    BF_EXPRESSION_UNSCALE, /* i64 or i128 to f64: in[0] / 10^in[1], rounded once */
    BF_EXPRESSION_RAISE,   /* takes i128: in[0] * in[1], or what 128 bits hold nearest to it; to be
                              compared with a number of 38 digits */
    BF_EXPRESSION_SELECT,  /* in[0] ? in[1] : in[2], the bits as they are, but bools 0 or 1; a NULL
                              chooses in[2] */
    /* These take bools, and where values may be NULL, three truth values (Kleene). */
    BF_EXPRESSION_AND,
    BF_EXPRESSION_OR,
    /* These are never NULL. */
    BF_EXPRESSION_MET,    /* true */
    BF_EXPRESSION_UNMET,  /* false or NULL */
    BF_EXPRESSION_MAYBE,  /* true or NULL */
    BF_EXPRESSION_ISNULL, /* takes any dtype */
    /* The CPU alone has those from here on. These take times, i64 or i128. */
    BF_EXPRESSION_OWN = 96,
    BF_EXPRESSION_YEAR = BF_EXPRESSION_OWN,
    BF_EXPRESSION_MONTH,
    BF_EXPRESSION_DAY,
    BF_EXPRESSION_HOUR,
    BF_EXPRESSION_MINUTE,
    BF_EXPRESSION_SECOND,
    BF_EXPRESSION_WEEKDAY, /* 1: Monday */
    BF_EXPRESSION_TO_YEAR, /* the second at which the year began, and so on */
    BF_EXPRESSION_TO_QUARTER,
    BF_EXPRESSION_TO_MONTH,
    BF_EXPRESSION_TO_WEEK,
    BF_EXPRESSION_TO_DAY,
    BF_EXPRESSION_TO_HOUR,
    BF_EXPRESSION_TO_MINUTE,
    BF_EXPRESSION_TO_SECOND,
    BF_EXPRESSION_ROUND, /* integers, with a scale or not, or floats, to a number of digits */
    /* These take floats, of which the C library's functions take each as a double. */
    BF_EXPRESSION_LOG,
    BF_EXPRESSION_LOG2,
    BF_EXPRESSION_LOG10,
    BF_EXPRESSION_EXP,
    BF_EXPRESSION_POW,
    /* These take strings. */
    BF_EXPRESSION_LENGTH, /* characters */
    BF_EXPRESSION_CONTAINS,
    BF_EXPRESSION_STARTS,
    BF_EXPRESSION_ENDS,
    BF_EXPRESSION_MATCH,  /* in[1] is a pattern of the text */
    BF_EXPRESSION_SUBSTR, /* in[1] and in[2] are i64 or i128 */
    BF_EXPRESSION_TRIM,
    BF_EXPRESSION_LOWER,
    BF_EXPRESSION_UPPER,
    BF_EXPRESSION_CONCAT
} bf_expression_op;

/* Decides op about NULLs and truth? */
BF_RULE bool bf_expression_is_logic(int op) {
    return op >= BF_EXPRESSION_AND && op <= BF_EXPRESSION_ISNULL;
}

BF_RULE bool bf_expression_takes_time(int op) {
    return op >= BF_EXPRESSION_YEAR && op <= BF_EXPRESSION_TO_SECOND;
}

BF_RULE bool bf_expression_is_library(int op) {
    return op >= BF_EXPRESSION_LOG && op <= BF_EXPRESSION_POW;
}

BF_RULE bool bf_expression_takes_strings(int op) { return op >= BF_EXPRESSION_LENGTH; }

/* The greatest whole number that is not above x (up: the least that is not below it). A zero keeps
 * the sign of x. */
BF_RULE uint64_t bf_expression_whole(bf_format f, uint64_t x, bool up) {
    uint64_t sign = x & bf_format_sign(f);
    int exponent = (int)(x >> f.fraction & (((uint64_t)1 << f.exponent) - 1)) - bf_format_bias(f);
    bool outward = (sign != 0) != up; /* away from zero */
    if (bf_is_nan(f, x)) return bf_format_nan(f);
    if (exponent >= f.fraction || (x ^ sign) == 0) return x;
    if (exponent < 0) return outward ? sign | (uint64_t)bf_format_bias(f) << f.fraction : sign;
    uint64_t part = ((uint64_t)1 << (f.fraction - exponent)) - 1;
    return (outward ? x + part : x) & ~part;
}

/* m * 2^shift modulo d; shift is not negative, d at most 2^53. */
BF_RULE uint64_t bf_expression_remain(uint64_t m, int shift, uint64_t d) {
    m %= d;
    for (; shift > 0 && m != 0; shift -= 11) m = (m << (shift < 11 ? shift : 11)) % d;
    return m;
}

/* The exact remainder of finite numbers, b not 0, with the sign of a. */
BF_RULE uint64_t bf_expression_remainder(bf_format f, uint64_t a, uint64_t b) {
    bf_finite x = bf_decode(f, a), y = bf_decode(f, b);
    int shift = x.position - y.position, low = shift < 0 ? x.position : y.position;
    uint64_t m = x.magnitude;
    if (shift >= 0)
        m = bf_expression_remain(m, shift, y.magnitude);
    else if (shift > -64)
        m = (uint64_t)((bf_u128)m % ((bf_u128)y.magnitude << -shift));
    return bf_exact_round(f, bf_exact_make(x.negative, m, low + bf_format_least(f)));
}

/* a - floor(a / b) * b, rounded once. NaN if b is 0 or a infinite. A zero has the sign of b. */
BF_RULE uint64_t bf_expression_float_mod(bf_format f, uint64_t a, uint64_t b) {
    uint64_t sign = bf_format_sign(f);
    bool infinite = bf_is_inf(f, b);
    if (bf_is_nan(f, a) || bf_is_nan(f, b) || bf_is_inf(f, a) || bf_float_is_zero(f, b))
        return bf_format_nan(f);
    uint64_t r = infinite ? a : bf_expression_remainder(f, a, b);
    if (bf_float_is_zero(f, r)) return b & sign;
    return (r & sign) == (b & sign) ? r : bf_float_add(f, r, b);
}

/* The modulus of integers; b is not 0. */
BF_RULE bf_i128 bf_expression_integer_mod(bf_i128 a, bf_i128 b) {
    bf_i128 r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* x / 10^scale, rounded once to f64 */
BF_RULE uint64_t bf_expression_unscale(bf_i128 x, int scale) {
    const bf_u128 size = x < 0 ? -(bf_u128)x : (bf_u128)x;
    return bf_exact_unscale(bf_format_f64(), bf_exact_make(x < 0, size, 0), scale);
}

/* FLOOR, CEIL or MOD of elements of dtype, or UNSCALE. */
BF_RULE uint64_t bf_expression_element(int op, bf_dtype dtype, uint64_t a, uint64_t b) {
    bf_format f = bf_format_of(dtype);
    bool misfit = false;
    if (op == BF_EXPRESSION_UNSCALE) return bf_expression_unscale((int64_t)a, (int)b);
    if (op != BF_EXPRESSION_MOD) return bf_expression_whole(f, a, op == BF_EXPRESSION_CEIL);
    if (bf_dtype_is_float(dtype)) return bf_expression_float_mod(f, a, b);
    return bf_integer_encode(dtype,
                             bf_integer_make(bf_expression_integer_mod(
                                 bf_integer_decode(dtype, a), bf_integer_decode(dtype, b))),
                             false, &misfit);
}

#endif
