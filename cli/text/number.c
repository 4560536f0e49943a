#include "text/number.h"

#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

__extension__ typedef unsigned __int128 u128;

/* ---- tokens of every form -------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_hex(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

static bool is_word(const char *p, size_t length, const char *word) {
    return length == strlen(word) && strncasecmp(p, word, length) == 0;
}

/* An exponent of any length, up to `end`; it is held to where everything is 0 or infinite. */
static bool take_exponent(const char *p, const char *end, int64_t *exponent) {
    const bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (p == end) return false;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        value = value < 1000000000 ? value * 10 + (*p - '0') : value;
    *exponent += negative ? -value : value;
    return p == end;
}

/* Hexadecimal: digits with or without a point, and p with an exponent or nothing. */
static bool is_hexadecimal(const char *p, const char *end) {
    int digits = 0, points = 0;
    int64_t exponent = 0;
    for (; p < end && (is_hex(*p) || *p == '.'); p++) {
        digits += *p != '.';
        points += *p == '.';
    }
    if (digits == 0 || points > 1) return false;
    return p == end || ((*p | 0x20) == 'p' && take_exponent(p + 1, end, &exponent));
}

/* A decimal, as digits * 10^exponent without leading zeros. No tie between two doubles has more
 * than 767 digits: what follows MOST of them is one bit of news, and stands there as a 1. */
enum { MOST = 800 };
typedef struct decimal {
    char digits[MOST + 1];
    int count;
    int64_t exponent;
    bool whole; /* a sign and digits alone */
} decimal;

static bool take_decimal(const char *p, const char *end, decimal *d) {
    const char *const first = p;
    bool point = false, more = false;
    d->count = 0;
    d->exponent = 0;
    for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        const bool kept = d->count < MOST;
        if (*p == '.') {
            point = true;
            continue;
        }
        if (kept && (d->count > 0 || *p != '0')) d->digits[d->count++] = *p;
        more = more || (!kept && *p != '0');
        d->exponent += kept ? -point : !point;
    }
    if (more) {
        d->digits[d->count++] = '1';
        d->exponent--;
    }
    d->whole = p == end && !point;
    if (p - first == (point ? 1 : 0)) return false;
    return p == end || ((*p | 0x20) == 'e' && take_exponent(p + 1, end, &d->exponent));
}

static int clamp(int64_t x) { return x > 100000 ? 100000 : x < -100000 ? -100000 : (int)x; }

/* The decimal of a token. */
static decimal decimal_of(const text_number *n) {
    decimal d;
    take_decimal(n->text + (*n->text == '-' || *n->text == '+'), n->text + n->length, &d);
    return d;
}

/* As many digits as 64 bits hold. */
static bool parse_decimal(const char *p, const char *end, text_number *n) {
    decimal d;
    if (!take_decimal(p, end, &d)) return false;
    int held = 0;
    for (uint64_t next = 0; held < d.count; held++, n->digits = next)
        if (__builtin_mul_overflow(n->digits, (uint64_t)10, &next) ||
            __builtin_add_overflow(next, (uint64_t)(d.digits[held] - '0'), &next))
            break;
    for (int i = held; i < d.count; i++) n->longer = n->longer || d.digits[i] != '0';
    n->exponent = clamp(d.exponent + d.count - held);
    n->integer = d.whole && held == d.count;
    return true;
}

bool text_parse_token(const char *text, size_t length, text_number *n) {
    const char *p = text, *const end = text + length;
    *n = (text_number){.text = text, .length = length, .negative = length > 0 && *p == '-'};
    p += length > 0 && (*p == '-' || *p == '+');
    const size_t left = (size_t)(end - p);
    n->other = is_word(p, left, "inf") || is_word(p, left, "infinity") || is_word(p, left, "nan");
    if (n->other) return true;
    if (left < 3 || p[0] != '0' || (p[1] | 0x20) != 'x') return parse_decimal(p, end, n);
    n->other = length <= MOST && is_hexadecimal(p + 2, end);
    return n->other;
}

/* ---- powers of five -------------------------------------------------------------------------- */

/* 5^q = (high, low) * 2^exponent: the leading 128 bits, cut off; exact for q from 0 to 55. Below
 * the least q, 19 digits make 0; above the greatest, infinity. */
enum { LEAST = -342, GREATEST = 308, EXACT = 55, WORDS = 17 };

typedef struct power {
    uint64_t high, low;
    int exponent;
} power;

static power powers[GREATEST - LEAST + 1];

/* The leading 128 bits of words * 2^scale. */
static power leading(const uint64_t words[WORDS], int scale) {
    int top = WORDS - 1;
    while (words[top] == 0) top--;
    const int shift = __builtin_clzll(words[top]);
    uint64_t part[3];
    for (int i = 0; i < 3; i++) part[i] = top >= i ? words[top - i] : 0;
    for (int i = 0; i < 2 && shift > 0; i++)
        part[i] = part[i] << shift | part[i + 1] >> (64 - shift);
    return (power){part[0], part[1], 64 * (top - 1) - shift + scale};
}

static void multiply_by_5(uint64_t words[WORDS]) {
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        const u128 product = (u128)words[i] * 5 + carry;
        words[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
}

static void divide_by_5(uint64_t words[WORDS]) {
    uint64_t rest = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        const u128 part = (u128)rest << 64 | words[i];
        words[i] = (uint64_t)(part / 5);
        rest = (uint64_t)(part % 5);
    }
}

/* Upwards, 5^q as it is. Downwards, 2^1024 divided again and again: what is cut off each time never
 * shows, since floor(floor(x / 5) / 5) = floor(x / 25). */
static void make_powers(void) {
    uint64_t up[WORDS] = {1}, down[WORDS] = {0};
    down[WORDS - 1] = 1;
    for (int q = 0; q <= GREATEST; q++, multiply_by_5(up)) powers[q - LEAST] = leading(up, 0);
    for (int q = -1; q >= LEAST; q--) {
        divide_by_5(down);
        powers[q - LEAST] = leading(down, -64 * (WORDS - 1));
    }
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* A binary format: significant bits, and the exponent of the least normal number. */
typedef struct format {
    int bits, least;
} format;

static format format_of(bf_dtype dtype) {
    switch (dtype) {
    case BF_F16: return (format){11, -14};
    case BF_BF16: return (format){8, -126};
    case BF_F32: return (format){24, -126};
    default: return (format){53, -1022};
    }
}

static uint64_t infinity_of(format f) { return (uint64_t)(2 - 2 * f.least + 1) << (f.bits - 1); }

static uint64_t with_sign(uint64_t bits, bool negative, bf_dtype dtype) {
    return bits | (uint64_t)negative << (8 * bf_dtype_size(dtype) - 1);
}

/* The bits of a number whose first bit, that of weight 2^exponent, is the highest of `high`; `rest`
 * says whether anything follows the 64 bits. */
static uint64_t round_bits(uint64_t high, bool rest, int exponent, format f) {
    const int below = f.least - exponent, kept = below > 0 ? f.bits - below : f.bits;
    if (exponent > 1 - f.least) return infinity_of(f);
    if (kept < 0) return 0;
    const uint64_t half = (uint64_t)1 << (63 - kept), after = high & (2 * half - 1);
    uint64_t value = kept > 0 ? high >> (64 - kept) : 0;
    value += after > half || (after == half && (rest || (value & 1)));
    /* Rounding up to a power of two carries into the exponent, as it should. */
    return below > 0 ? value : value + ((uint64_t)(exponent - f.least) << (f.bits - 1));
}

/* The nearest to digits * 10^q, by a product of 64 and 128 bits (after Eisel and Lemire, 2021). The
 * power is cut off, so the true product lies between P and P + digits: if both ends round alike,
 * that is the answer. False if they do not. */
static bool round_decimal(uint64_t digits, int q, format f, uint64_t *bits) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *bits = 0;
    if (digits == 0 || q < LEAST) return true;
    *bits = infinity_of(f);
    if (q > GREATEST) return true;
    pthread_once(&once, make_powers);
    const power *p = &powers[q - LEAST];
    const bool exact = q >= 0 && q <= EXACT;
    const int shift = __builtin_clzll(digits);
    digits <<= shift;
    const u128 low = (u128)digits * p->low;
    const u128 from = (u128)digits * p->high + (uint64_t)(low >> 64);
    const uint64_t tail = (uint64_t)low, more = exact ? 0 : digits - 1;
    const u128 to = from + (tail + more < tail);
    const int lead = (int)(~(uint64_t)(from >> 127) & 1);
    const int exponent = 191 - lead + p->exponent + q - shift;
    const bool rest = !exact || tail != 0 || (uint64_t)(from << lead) != 0;
    *bits = round_bits((uint64_t)(from << lead >> 64), rest, exponent, f);
    return (uint64_t)(to >> 127) == (uint64_t)(from >> 127) &&
           round_bits((uint64_t)(to << lead >> 64), rest, exponent, f) == *bits;
}

/* The token as a double cut off towards zero, its last bit set if anything was cut off: that rounds
 * to any narrower format as the token itself does (Boldo and Melquiond, 2008). */
static double odd_double(const char *text) {
    const int mode = fegetround();
    fesetround(FE_TOWARDZERO);
    double value = strtod(text, NULL);
    fesetround(FE_UPWARD);
    const double above = strtod(text, NULL);
    fesetround(FE_DOWNWARD);
    const double below = strtod(text, NULL);
    fesetround(mode);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits |= above != below && above == above; /* not for NaN */
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t narrow(double value, bf_dtype dtype) {
    const format f = format_of(dtype);
    uint64_t bits, out;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    const int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent == 0x7ff)
        out = infinity_of(f) | (mantissa ? (uint64_t)1 << (f.bits - 2) : 0);
    else if (exponent > 0) /* what is less than a normal double is far less than f */
        out = round_bits(((uint64_t)1 << 52 | mantissa) << 11, false, exponent - 1023, f);
    else
        out = 0;
    return with_sign(out, bits >> 63, dtype);
}

/* A short token that the C library reads as it reads this one. */
static void spell(const text_number *n, char out[MOST + 32]) {
    if (n->length <= MOST) {
        memcpy(out, n->text, n->length);
        out[n->length] = '\0';
        return;
    }
    const decimal d = decimal_of(n);
    snprintf(out, MOST + 32, "%s0%.*se%d", n->negative ? "-" : "", d.count, d.digits,
             clamp(d.exponent));
}

/* By the C library: slow, and right for every token. */
static uint64_t round_token(const text_number *n, bf_dtype dtype) {
    char text[MOST + 32];
    uint64_t bits;
    spell(n, text);
    if (dtype != BF_F64) return narrow(odd_double(text), dtype);
    const double value = strtod(text, NULL);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t text_round(const text_number *n, bf_dtype dtype) {
    const format f = format_of(dtype);
    uint64_t bits, above;
    if (n->other || !round_decimal(n->digits, n->exponent, f, &bits)) return round_token(n, dtype);
    if (n->longer && (n->digits == UINT64_MAX ||
                      !round_decimal(n->digits + 1, n->exponent, f, &above) || above != bits))
        return round_token(n, dtype);
    return with_sign(bits, n->negative, dtype);
}

/* ---- integers -------------------------------------------------------------------------------- */

bool text_units(const text_number *n, int scale, uint64_t *bits) {
    text_number x = *n;
    x.exponent = x.digits > 0 ? x.exponent + scale : 0;
    for (; x.exponent < 0 && x.digits % 10 == 0; x.exponent++) x.digits /= 10;
    if (!text_multiply(&x.digits, x.exponent)) return false;
    x.integer = x.exponent >= 0 && !x.other && !x.longer;
    return text_integer(&x, BF_I64, bits);
}

bool text_integer(const text_number *n, bf_dtype dtype, uint64_t *bits) {
    const bool is_signed = dtype >= BF_I8 && dtype <= BF_I64;
    const int width = dtype == BF_BOOL ? 1 : 8 * (int)bf_dtype_size(dtype) - is_signed;
    const uint64_t most = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    *bits = n->negative ? 0 - n->digits : n->digits;
    if (!n->integer) return false;
    return n->negative ? n->digits <= (is_signed ? most + 1 : 0) : n->digits <= most;
}

/* The digits of a decimal of at most 38, besides zeros at its end. */
static bool take_digits(decimal d, u128 *x, int64_t *exponent) {
    for (; d.count > 0 && d.digits[d.count - 1] == '0'; d.count--) d.exponent++;
    *x = 0;
    for (int i = 0; i < d.count && i < 38; i++) *x = 10 * *x + (unsigned)(d.digits[i] - '0');
    *exponent = d.exponent;
    return d.count <= 38;
}

int text_decimals(const text_number *n) {
    u128 x;
    int64_t exponent;
    take_digits(decimal_of(n), &x, &exponent);
    return exponent < 0 ? -clamp(exponent) : 0;
}

bool text_wide(const text_number *n, int scale, text_i128 *units) {
    u128 x = n->digits;
    int64_t exponent = n->exponent;
    if (n->longer && !take_digits(decimal_of(n), &x, &exponent)) return false;
    text_i128 whole = n->negative ? -(text_i128)x : (text_i128)x;
    if (exponent < -scale || !text_scale_up(&whole, exponent + scale)) return false;
    *units = whole;
    return true;
}
