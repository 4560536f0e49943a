/* Numbers in text: a token, its digits, and the nearest number of a format.
 *
 * Pure functions over bytes. Wherever they are given a pointer into a text, TEXT_SLACK bytes behind
 * the end of the text may be read (but not what they hold be believed), and the text's last byte is
 * no part of a number: a newline, say. */
#ifndef BITFOLD_CLI_TEXT_NUMBER_H
#define BITFOLD_CLI_TEXT_NUMBER_H

#include <bitfold.h>

#include <stdbool.h>
#include <stdint.h>

enum { TEXT_SLACK = 64 };

/* ---- powers of ten, and integers of 128 bits in units of them -----------------------------------
 */

__extension__ typedef __int128 text_i128;

enum { TEXT_TENS = 20, TEXT_TENS_WIDE = 38, TEXT_TENS_EXACT = 22 };

/* The powers that 64 bits hold, and the powers that are doubles. */
#define TEXT_FIVE(unit) unit, unit * 10, unit * 100, unit * 1000, unit * 10000
static const uint64_t text_tens[TEXT_TENS] = {TEXT_FIVE((uint64_t)1), TEXT_FIVE((uint64_t)100000),
                                              TEXT_FIVE((uint64_t)10000000000),
                                              TEXT_FIVE((uint64_t)1000000000000000)};
#undef TEXT_FIVE
static const double text_exact_tens[TEXT_TENS_EXACT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* 10^n, for n from 0 to 38; 1 for a negative n. */
static inline text_i128 text_power_of_ten(int n) {
    if (n < TEXT_TENS) return n > 0 ? text_tens[n] : 1;
    return (text_i128)text_tens[TEXT_TENS - 1] * text_tens[n - TEXT_TENS + 1];
}

/* *x *= 10^tens, if tens > 0. False, and nothing is done, if it were 10^38 then, or more. */
static inline bool text_scale_up(text_i128 *x, int64_t tens) {
    if (tens <= 0 || *x == 0) return true;
    const text_i128 end = tens > TEXT_TENS_WIDE ? 0 : text_power_of_ten(TEXT_TENS_WIDE - (int)tens);
    if (*x >= end || *x <= -end) return false;
    *x *= text_power_of_ten((int)tens);
    return true;
}

/* *x *= 10^tens, if tens > 0. False, and nothing is done, if 64 bits do not hold it. */
static inline bool text_multiply(uint64_t *x, int tens) {
    uint64_t product;
    if (tens <= 0 || *x == 0) return true;
    if (tens >= TEXT_TENS || __builtin_mul_overflow(*x, text_tens[tens], &product)) return false;
    *x = product;
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

/* [+-] digits * 10^exponent, as its token says it. */
typedef struct text_number {
    const char *text; /* the token */
    size_t length;
    uint64_t digits;
    int exponent;
    bool negative;
    bool integer; /* a sign and digits alone, that fit in 64 bits */
    bool longer;  /* nonzero digits follow those that are held */
    bool other;   /* inf, nan or hexadecimal: the token says it all */
} text_number;

/* Reads the decimal number at text, if it is of at most 19 digits: returns its end, or NULL. What
 * follows the number is for the caller to judge. */
static inline const char *text_scan(const char *text, text_number *n);

/* Reads a token of `length` bytes, in any of the forms there are: decimals of any length,
 * hexadecimal floats, inf, infinity, nan. False if it is no number. */
bool text_parse_token(const char *text, size_t length, text_number *n);

/* Whether a zero stands before another digit in a number that begins at p. */
static inline bool text_is_code(const char *p) {
    p += *p == '-' || *p == '+';
    return p[0] == '0' && p[1] >= '0' && p[1] <= '9';
}

/* The nearest number (ties to even) of f16, bf16, f32 or f64, as its bits. */
uint64_t text_round(const text_number *n, bf_dtype dtype);

/* The integer in the two's complement of 64 bits, if dtype (an integer one, or bool) holds it. */
bool text_integer(const text_number *n, bf_dtype dtype, uint64_t *bits);

/* Gives the number in units of 10^-scale, as i64. */
bool text_units(const text_number *n, int scale, uint64_t *bits);

/* The number in units of 10^-scale, if it is a whole number of them, below 10^38 in magnitude. */
bool text_wide(const text_number *n, int scale, text_i128 *units);

/* Returns the number without zeros at the end of a fraction. */
static inline text_number text_shortened(const text_number *n) {
    text_number x = *n;
    for (; x.exponent < 0 && x.digits % 10 == 0 && x.digits > 0; x.digits /= 10) x.exponent++;
    if (x.digits == 0) x.exponent = 0;
    return x;
}

/* The digits behind the point of a number that is longer, without zeros at the end. */
int text_decimals(const text_number *n);

/* Does as text_round to f64 does, at once where one multiplication or division of two exact doubles
 * gives the answer (Clinger, 1990). */
static inline double text_double(const text_number *n);

#include "text/scan.h"

#endif
