/* Powers of ten, and integers of 128 bits in units of them. */
#ifndef BITFOLD_CLI_TEXT_TENS_H
#define BITFOLD_CLI_TEXT_TENS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
