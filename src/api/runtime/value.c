/* Values as text and as C types. Only integers are used, so that no rounding mode, FTZ or locale
 * matters. */
#include <bitfold/value.h>

#include "api/runtime/shortest.h"
#include "base/double.h"
#include "rules/number/dtype.h"
#include "rules/number/scale.h"

#include <math.h>
#include <stdlib.h>

/* Returns a float's bits, in its own format. */
static uint64_t float_bits(const bf_value *v) {
    return bf_load_bits(&v->as, bf_dtype_bytes(v->dtype));
}

/* Returns the bits of the f64 that equals the value; NaN is the canonical one. */
static uint64_t f64_bits(const bf_value *v) {
    const bf_format f = bf_format_of(v->dtype), f64 = bf_format_f64();
    const uint64_t bits = float_bits(v);
    if (bf_is_nan(f, bits)) return bf_format_nan(f64);
    const bf_finite x = bf_decode(f, bits);
    if (bf_is_inf(f, bits)) return bf_format_inf(f64) | (x.negative ? bf_format_sign(f64) : 0);
    const int shift = 64 - bf_bit_length(x.magnitude);
    const uint64_t leading = x.magnitude ? x.magnitude << shift : 0;
    return bf_encode(f64, x.negative, leading, x.position + bf_format_least(f) - shift, false);
}

static bool is_integer(bf_dtype dtype) {
    return dtype == BF_I192 || (dtype != BF_NONE && !bf_dtype_is_float(dtype));
}

/* Splits an integer value into sign and magnitude. */
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

/* Divides a magnitude in place. Returns the remainder. */
static uint64_t divide_magnitude(uint64_t magnitude[3], uint64_t divisor) {
    bf_u128 rest = 0;
    for (int i = 2; i >= 0; i--) {
        rest = rest << 64 | magnitude[i];
        magnitude[i] = (uint64_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint64_t)rest;
}

/* Returns the f64 nearest to a 192-bit magnitude / 10^scale. */
static double integer_f64(bool negative, const uint64_t magnitude[3], int scale) {
    bf_wide x;
    if (magnitude[1] == 0 && magnitude[2] == 0 && scale <= BF_SCALE_MOST)
        return bf_double_of_bits(
            bf_exact_unscale(bf_format_f64(), bf_exact_make(negative, magnitude[0], 0), scale));
    bf_wide_from_words(
        &x,
        (const int64_t[]){(int64_t)magnitude[0], (int64_t)magnitude[1], (int64_t)magnitude[2], 0},
        4, 0);
    if (x.length == 0) return 0;
    const bool rest = bf_wide_unscale(&x, scale);
    bf_leading leading = bf_wide_leading(&x);
    leading.sticky |= rest;
    return bf_double_of_bits(bf_leading_round(bf_format_f64(), negative, leading));
}

double bf_value_f64(const bf_value *value) {
    if (value == NULL) return (double)NAN;
    uint64_t magnitude[3];
    if (value->dtype == BF_F64) return value->as.f64;
    if (is_integer(value->dtype)) {
        bool negative = integer_parts(value, magnitude);
        return integer_f64(negative, magnitude, value->scale);
    }
    return bf_double_of_bits(f64_bits(value));
}

/* Splits a finite float into sign and magnitude, if it is an integer below 2^64 in magnitude. */
static bool small_whole(const bf_value *v, bool *negative, uint64_t *magnitude) {
    const bf_format f64 = bf_format_f64();
    const bf_finite x = bf_decode(f64, f64_bits(v));
    const int exponent = x.position + bf_format_least(f64);
    *negative = x.negative && x.magnitude > 0;
    *magnitude = 0;
    if (x.magnitude == 0) return true;
    if (exponent < -f64.fraction || exponent > 63 - f64.fraction) return false;
    *magnitude = exponent < 0 ? x.magnitude >> -exponent : x.magnitude << exponent;
    return exponent >= 0 || *magnitude << -exponent == x.magnitude;
}

/* Splits a value into sign and magnitude, if it is an integer below 2^64 in magnitude. */
static bool small_integer(const bf_value *v, bool *negative, uint64_t *magnitude) {
    if (is_integer(v->dtype)) {
        uint64_t parts[3], rest = 0;
        *negative = integer_parts(v, parts);
        for (int i = 0; i < v->scale && rest == 0; i++) rest = divide_magnitude(parts, 10);
        *magnitude = parts[0];
        return rest == 0 && parts[1] == 0 && parts[2] == 0;
    }
    return small_whole(v, negative, magnitude);
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

/* ---- text ------------------------------------------------------------------------------------ */

/* These write a number with at least `least` digits. All functions that put text return its end. */
static char *put_decimal(uint64_t x, int least, char *text) {
    char digits[20];
    int first = 20;
    for (; x > 9; x /= 100) {
        digits[--first] = (char)('0' + x % 10);
        digits[--first] = (char)('0' + x / 10 % 10);
    }
    if (x > 0) digits[--first] = (char)('0' + x);
    while (20 - first < least) digits[--first] = '0';
    return (char *)memcpy(text, digits + first, (size_t)(20 - first)) + (20 - first);
}

static char *put_hex(uint64_t x, int least, char *text) {
    char reversed[16];
    int n = 0;
    for (; x > 0 || n < least; x >>= 4) reversed[n++] = "0123456789abcdef"[x & 15];
    while (n > 0) *text++ = reversed[--n];
    return text;
}

static char *put_bytes(const char *bytes, int n, char *text) {
    memcpy(text, bytes, (size_t)n);
    return text + n;
}

static char *put_magnitude(uint64_t magnitude[3], char *text) {
    const uint64_t ten_to_19 = 10000000000000000000u;
    if (magnitude[0] < ten_to_19 && !magnitude[1] && !magnitude[2])
        return put_decimal(magnitude[0], 1, text);
    const uint64_t last = divide_magnitude(magnitude, ten_to_19);
    return put_decimal(last, 19, put_magnitude(magnitude, text));
}

static char *put_magnitude_hex(const uint64_t magnitude[3], char *text) {
    int top = 2;
    while (top > 0 && magnitude[top] == 0) top--;
    text = put_hex(magnitude[top], 1, put_bytes("0x", 2, text));
    while (top > 0) text = put_hex(magnitude[--top], 16, text);
    return text;
}

/* Writes magnitude / 10^scale, without zeros at the end of its fraction. */
static char *put_scaled(uint64_t magnitude[3], int scale, char *text) {
    char digits[BF_VALUE_TEXT];
    const int n = (int)(put_magnitude(magnitude, digits) - digits), whole = n - scale;
    int end = n;
    while (end > 0 && end > whole && digits[end - 1] == '0') end--;
    text = whole > 0 ? put_bytes(digits, whole, text) : put_bytes("0", 1, text);
    if (end <= 0 || end <= whole) return text;
    *text++ = '.';
    for (int i = whole; i < 0; i++) *text++ = '0';
    const int first = whole > 0 ? whole : 0;
    return put_bytes(digits + first, end - first, text);
}

static char *format_integer(const bf_value *v, bool hex, char *text) {
    uint64_t magnitude[3];
    if (integer_parts(v, magnitude)) *text++ = '-';
    if (hex) return put_magnitude_hex(magnitude, text);
    return v->scale > 0 ? put_scaled(magnitude, v->scale, text) : put_magnitude(magnitude, text);
}

static char *put_exponent(char letter, int exponent, int least, char *text) {
    *text++ = letter;
    *text++ = exponent < 0 ? '-' : '+';
    return put_decimal((uint64_t)abs(exponent), least, text);
}

/* The usual number, of 0 < point < n digits before the decimal point: n <= 17. Copies of a fixed
 * length need no loop; what they copy too much is written over, or lies behind the end. */
static char *put_pointed(const char digits[40], int n, int point, char *text) {
    memcpy(text, digits, 16);
    text[point] = '.';
    memcpy(text + point + 1, digits + point, 16);
    return text + n + 1;
}

/* Lays the decimal out as Python's repr does: plain from 1e-4 up to 1e16, else with an exponent. */
static char *put_float(bf_decimal x, char *text) {
    char digits[40] = {0};
    const int n = (int)(put_decimal(x.digits, 1, digits) - digits);
    const int point = n + x.exponent; /* digits before the decimal point */
    const bool plain = point > -4 && point <= 16;
    if (point > 0 && point < n && plain) return put_pointed(digits, n, point, text);
    const int whole = !plain ? 1 : point <= 0 ? 0 : point < n ? point : n;
    text = put_bytes(digits, whole, text);
    if (plain && point > n) text = put_bytes("000000000000000", point - n, text);
    if (plain && point <= 0) text = put_bytes("0.000", 2 - point, text);
    if (whole > 0 && whole < n) *text++ = '.';
    text = put_bytes(digits + whole, n - whole, text);
    return plain ? text : put_exponent('e', point - 1, 2, text);
}

/* Writes a float as C's %a does: 0x1.8p+0, subnormals 0x0.8p-1022. */
static char *put_float_hex(uint64_t bits, char *text) {
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int field = (int)(bits >> 52 & 0x7ff);
    const int exponent = field > 0 ? field - 1023 : fraction > 0 ? -1022 : 0;
    int digits = 13;
    for (; digits > 0 && (fraction & 15) == 0; fraction >>= 4) digits--;
    text = put_bytes(field > 0 ? "0x1." : "0x0.", digits > 0 ? 4 : 3, text);
    return put_exponent('p', exponent, 1, put_hex(fraction, digits, text));
}

static char *format_float(const bf_value *v, bool hex, char *text) {
    const bf_format f = bf_format_of(v->dtype);
    const uint64_t bits = float_bits(v);
    if (bf_is_nan(f, bits)) return put_bytes("nan", 3, text);
    if (bits & bf_format_sign(f)) *text++ = '-';
    if (bf_is_inf(f, bits)) return put_bytes("inf", 3, text);
    if (hex) return put_float_hex(f64_bits(v), text);
    if ((bits & ~bf_format_sign(f)) == 0) return put_bytes("0", 1, text);
    return put_float(bf_shortest(f, bits), text);
}

static void format_value(const bf_value *v, bool hex, char *text) {
    char *end = is_integer(v->dtype) ? format_integer(v, hex, text) : format_float(v, hex, text);
    *end = '\0';
}

/* Is the value or the text NULL? The text of a NULL value is "?". */
static bool is_absent(const bf_value *value, char *text) {
    if (value == NULL && text != NULL) memcpy(text, "?", 2);
    return value == NULL || text == NULL;
}

void bf_value_format(const bf_value *value, char text[BF_VALUE_TEXT]) {
    if (!is_absent(value, text)) format_value(value, false, text);
}

void bf_value_format_hex(const bf_value *value, char text[BF_VALUE_TEXT]) {
    if (!is_absent(value, text)) format_value(value, true, text);
}
