/* Values as text and as C types. */
#include "../../include/bitfold/value.h"

#include "../rules/dtype.h"

#include <ctype.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A float of any format as the double that it equals. */
static double widen(bf_format f, uint64_t bits) {
    if (bf_is_nan(f, bits)) return (double)NAN;
    bf_finite d = bf_decode(f, bits);
    double x = bf_is_inf(f, bits) ? (double)INFINITY
                                  : ldexp((double)d.magnitude, d.position + bf_format_least(f));
    return d.negative ? -x : x;
}

static bool is_integer(bf_dtype dtype) {
    return dtype == BF_I192 || (dtype != BF_NONE && !bf_dtype_is_float(dtype));
}

/* An integer value as sign and magnitude. */
static bool integer_parts(const bf_value *v, uint64_t magnitude[3]) {
    bool negative;
    if (v->dtype == BF_I192) {
        memcpy(magnitude, v->as.i192, 3 * sizeof *magnitude);
        negative = (int64_t)magnitude[2] < 0;
    } else {
        magnitude[0] = v->as.u64;
        negative = bf_dtype_is_signed(v->dtype) && v->as.i64 < 0;
        magnitude[1] = magnitude[2] = negative ? ~(uint64_t)0 : 0;
    }
    bf_u128 carry = 1;
    for (int i = 0; negative && i < 3; i++) {
        carry += ~magnitude[i];
        magnitude[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return negative;
}

/* The f64 nearest to a 192-bit magnitude. */
static double integer_f64(bool negative, const uint64_t magnitude[3]) {
    int top = 2;
    while (top > 0 && magnitude[top] == 0) top--;
    int shift = 64 - bf_bit_length(magnitude[top]);
    uint64_t next = top > 0 ? magnitude[top - 1] : 0;
    uint64_t m = shift == 64 ? 0 : magnitude[top] << shift;
    if (shift > 0 && shift < 64) m |= next >> (64 - shift);
    bool sticky = (shift < 64 && next << shift != 0) || (top == 2 && magnitude[0] != 0);
    uint64_t bits = bf_encode(bf_format_f64(), negative && m != 0, m, 64 * top - shift, sticky);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double bf_value_f64(const bf_value *value) {
    if (value == NULL) return (double)NAN;
    uint64_t magnitude[3];
    switch (value->dtype) {
    case BF_F64: return value->as.f64;
    case BF_F32: return (double)value->as.f32;
    case BF_F16:
    case BF_BF16: return widen(bf_format_of(value->dtype), value->as.bits);
    default: break;
    }
    bool negative = integer_parts(value, magnitude);
    return integer_f64(negative, magnitude);
}

/* The value as sign and magnitude, if it is an integer below 2^64 in magnitude. */
static bool small_integer(const bf_value *v, bool *negative, uint64_t *magnitude) {
    if (is_integer(v->dtype)) {
        uint64_t parts[3];
        *negative = integer_parts(v, parts);
        *magnitude = parts[0];
        return parts[1] == 0 && parts[2] == 0;
    }
    double x = bf_value_f64(v);
    *negative = x < 0;
    if (!(fabs(x) < 0x1p64) || x != trunc(x)) return false;
    *magnitude = (uint64_t)fabs(x);
    return true;
}

bf_status bf_value_i64(const bf_value *value, int64_t *out) {
    if (value == NULL || out == NULL) return BF_E_ARGUMENT;
    bool negative;
    uint64_t magnitude, limit = (uint64_t)1 << 63;
    if (!small_integer(value, &negative, &magnitude)) return BF_E_OVERFLOW;
    if (magnitude > (negative ? limit : limit - 1)) return BF_E_OVERFLOW;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return BF_OK;
}

bf_status bf_value_u64(const bf_value *value, uint64_t *out) {
    if (value == NULL || out == NULL) return BF_E_ARGUMENT;
    bool negative;
    uint64_t magnitude;
    if (!small_integer(value, &negative, &magnitude)) return BF_E_OVERFLOW;
    if (negative && magnitude > 0) return BF_E_OVERFLOW;
    *out = magnitude;
    return BF_OK;
}

/* Writes the magnitude's digits in base 10 or 16; returns their number. */
static int digits_of(uint64_t magnitude[3], uint64_t base, char *out) {
    char reversed[BF_VALUE_TEXT];
    int n = 0;
    do {
        bf_u128 rest = 0;
        for (int i = 2; i >= 0; i--) {
            rest = rest << 64 | magnitude[i];
            magnitude[i] = (uint64_t)(rest / base);
            rest %= base;
        }
        reversed[n++] = "0123456789abcdef"[(int)rest];
    } while (magnitude[0] || magnitude[1] || magnitude[2]);
    for (int i = 0; i < n; i++) out[i] = reversed[n - 1 - i];
    return n;
}

static void format_integer(const bf_value *v, uint64_t base, char *text) {
    uint64_t magnitude[3];
    if (integer_parts(v, magnitude)) *text++ = '-';
    if (base == 16) {
        memcpy(text, "0x", 2);
        text += 2;
    }
    text[digits_of(magnitude, base, text)] = '\0';
}

/* Does digits * 10^exponent read back as the value x of format f? */
static bool reads_back(bf_format f, const char *digits, int exponent, double x) {
    char text[BF_VALUE_TEXT];
    snprintf(text, sizeof text, "%se%d", digits, exponent);
    if (f.fraction == 52) return strtod(text, NULL) == x;
    if (f.fraction == 23) return strtof(text, NULL) == (float)x;
    double y = strtod(text, NULL);
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(y, &e), 64);
    return widen(f, bf_encode(f, false, m, e - 64, false)) == x;
}

/* Adds one to the last of the decimal digits; on 99...9 becomes 10...0 and returns true. */
static bool next_decimal(char *digits) {
    int i = (int)strlen(digits) - 1;
    while (i >= 0 && digits[i] == '9') digits[i--] = '0';
    if (i < 0)
        digits[0] = '1';
    else
        digits[i]++;
    return i < 0;
}

/* The shortest decimal digits d and exponent e with d * 10^e nearest to x > 0 among those that read
 * back as x: the n-digit decimal nearest to x, for the least n that does; where x is a power of
 * two, its upper neighbours lie further off than the lower ones, and the next decimal may do. */
static int shortest(bf_format f, double x, char digits[32]) {
    for (int n = 1; n <= 17; n++) {
        char text[48], *from = text;
        snprintf(text, sizeof text, "%.*e", n - 1, x);
        int length = 0;
        for (; *from != 'e'; from++) /* the radix character is the locale's, of any length */
            if (isdigit((unsigned char)*from)) digits[length++] = *from;
        digits[length] = '\0';
        int exponent = atoi(from + 1) - (n - 1);
        if (reads_back(f, digits, exponent, x)) return exponent;
        exponent += next_decimal(digits) ? 1 : 0;
        if (reads_back(f, digits, exponent, x)) return exponent;
    }
    return 0; /* not reached: 17 digits always read back */
}

/* Lays digits out as Python's repr does: plain from 1e-4 up to 1e16, else with an exponent. */
static void lay_out(char *digits, int exponent, char *text) {
    int n = (int)strlen(digits);
    while (n > 1 && digits[n - 1] == '0') n--, exponent++;
    digits[n] = '\0';
    int point = n + exponent; /* digits before the decimal point */
    if (point > 16 || point < -3) {
        bool many = n > 1;
        sprintf(text, "%c%s%se%c%02d", digits[0], many ? "." : "", digits + 1,
                point > 0 ? '+' : '-', abs(point - 1));
    } else if (point <= 0) {
        sprintf(text, "0.%.*s%s", -point, "0000", digits);
    } else if (point >= n) {
        sprintf(text, "%s%.*s", digits, point - n, "0000000000000000");
    } else {
        sprintf(text, "%.*s.%s", point, digits, digits + point);
    }
}

static void format_float(bf_format f, double x, char *text) {
    char digits[32];
    if (isnan(x)) {
        strcpy(text, "nan");
        return;
    }
    if (signbit(x)) *text++ = '-';
    if (isinf(x)) {
        strcpy(text, "inf");
    } else if (x == 0) {
        strcpy(text, "0");
    } else {
        int exponent = shortest(f, fabs(x), digits);
        lay_out(digits, exponent, text);
    }
}

/* No value, no text: true where there is nothing to format. */
static bool is_absent(const bf_value *value, char *text) {
    if (value == NULL && text != NULL) memcpy(text, "?", 2);
    return value == NULL || text == NULL;
}

void bf_value_format(const bf_value *value, char text[BF_VALUE_TEXT]) {
    if (is_absent(value, text)) return;
    fenv_t environment;
    if (is_integer(value->dtype)) {
        format_integer(value, 10, text);
        return;
    }
    fegetenv(&environment); /* printf and strtod round as it says */
    fesetenv(FE_DFL_ENV);
    format_float(bf_format_of(value->dtype), bf_value_f64(value), text);
    fesetenv(&environment);
}

/* As C's %a, but in any locale: 0x1.8p+0, subnormals 0x0.8p-1022. */
static void format_float_hex(double x, char *text) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int field = (int)(bits >> 52 & 0x7ff), digits = 13;
    int exponent = x == 0 ? 0 : field == 0 ? -1022 : field - 1023;
    for (; digits > 0 && (fraction & 15) == 0; fraction >>= 4) digits--;
    text += sprintf(text, "%s0x%d", bits >> 63 ? "-" : "", field != 0);
    if (digits > 0) text += sprintf(text, ".%0*llx", digits, (unsigned long long)fraction);
    sprintf(text, "p%+d", exponent);
}

void bf_value_format_hex(const bf_value *value, char text[BF_VALUE_TEXT]) {
    if (is_absent(value, text)) return;
    if (is_integer(value->dtype))
        format_integer(value, 16, text);
    else if (!isfinite(bf_value_f64(value)))
        bf_value_format(value, text);
    else
        format_float_hex(bf_value_f64(value), text);
}
