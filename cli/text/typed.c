#include "text/typed.h"

#include "runtime/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows the mark. */
enum { MARK = 0xff, IS_STRING = 's', IS_FALSE = 'v', IS_TRUE = 'w', IS_NUMBER = 'x' };

/* A number goes on with the double that it is nearest to, in 8 bytes that order it. Numbers of the
 * same double follow each other: a whole one has 16 bytes of its integer. One of more than 38
 * digits has a byte that is greater than the first of these, 8 bytes of its exponent and its
 * digits; bytes of a negative one are turned around, and one more ends them. */
enum { HEAD = TYPED_MARK, WORD = 8, WHOLE = 16, MANY = 0xff };
_Static_assert(HEAD + WORD + WHOLE <= (int)TYPED_MOST, "room for a number");

static char *put_mark(char *to, int kind) {
    to[0] = (char)MARK;
    to[1] = (char)kind;
    return to + HEAD;
}

size_t typed_put_bool(char *to, bool truth) {
    return (size_t)(put_mark(to, truth ? IS_TRUE : IS_FALSE) - to);
}

bool typed_wants_mark(const char *at, const char *end) {
    return at < end && (unsigned char)*at == MARK;
}

void typed_put_string(char *to, const char *at, const char *end) {
    memcpy(put_mark(to, IS_STRING), at, (size_t)(end - at));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const uint64_t sign_bit = UINT64_C(1) << 63;

/* Exponents beyond it are taken as one. */
#define EXPONENT_MOST ((int64_t)1 << 60)

static uint64_t take_word(const char *at) {
    uint64_t word = 0;
    for (int i = 0; i < WORD; i++) word = word << 8 | (unsigned char)at[i];
    return word;
}

/* In the order of doubles, of which NaN is the last; both zeros are one. */
static uint64_t order_of(double x) {
    uint64_t bits;
    x += 0.0; /* no -0 */
    memcpy(&bits, &x, sizeof bits);
    return x != x ? UINT64_MAX : bits & sign_bit ? ~bits : bits | sign_bit;
}

static double double_of(uint64_t order) {
    const uint64_t bits = order & sign_bit ? order ^ sign_bit : ~order;
    double x;
    memcpy(&x, &bits, sizeof x);
    return order == UINT64_MAX ? __builtin_nan("") : x;
}

/* Whether the number, or the double that is nearest to a fraction, is an integer below 10^38. */
static bool is_whole(const text_number *n, double x, text_i128 *whole) {
    const text_number shorter = text_shortened(n);
    if (n->other) return false;
    if (text_wide(&shorter, 0, whole)) return true;
    const bool integer = n->exponent < 0 && x > -0x1p126 && x < 0x1p126 && (x != 0 || !n->digits);
    *whole = integer ? (text_i128)x : 0;
    return integer && (double)*whole == x;
}

/* The digits of a number, which is 0.digits * 10^*exponent. They are at most those of the token. */
static size_t put_digits(char *to, const text_number *n, int64_t *exponent) {
    const char *p = n->text + n->negative, *const end = n->text + n->length;
    size_t size = 0;
    bool point = false;
    *exponent = 0;
    for (; p < end && (*p | 0x20) != 'e'; p++) {
        const bool digit = *p != '.', leads = size == 0 && *p == '0';
        point = point || !digit;
        *exponent += digit && (leads ? -point : !point);
        if (digit && !leads) to[size++] = *p;
    }
    while (size > 0 && to[size - 1] == '0') size--;
    const long long written = p < end ? strtoll(p + 1, NULL, 10) : 0;
    *exponent += written > EXPONENT_MOST    ? EXPONENT_MOST
                 : written < -EXPONENT_MOST ? -EXPONENT_MOST
                                            : written;
    return size;
}

static char *put_many(char *to, const text_number *n) {
    int64_t exponent;
    char *const digits = to + 1 + WORD;
    *to = (char)MANY;
    char *const end = digits + put_digits(digits, n, &exponent);
    bytes_put_word(to + 1, (uint64_t)exponent ^ sign_bit);
    if (!n->negative) return end;
    for (char *p = to; p < end; p++) *p = (char)~*p;
    *end = (char)0xff;
    return end + 1;
}

size_t typed_put_number(char *to, const text_number *n) {
    const double x = text_double(n);
    text_i128 whole;
    char *at = bytes_put_word(put_mark(to, IS_NUMBER), order_of(x));
    if (is_whole(n, x, &whole))
        at =
            bytes_put_word(bytes_put_word(at, (uint64_t)(whole >> 64) ^ sign_bit), (uint64_t)whole);
    else if (!n->other && (n->exponent >= 0 || x == 0))
        at = put_many(at, n);
    return (size_t)(at - to);
}

static bf_value whole_of(const char *at) {
    const uint64_t high = take_word(at) ^ sign_bit, low = take_word(at + WORD);
    if (high == 0) return (bf_value){.dtype = low & sign_bit ? BF_U64 : BF_I64, .as.u64 = low};
    if (high == UINT64_MAX && low & sign_bit) return (bf_value){.dtype = BF_I64, .as.u64 = low};
    return (bf_value){.dtype = BF_I192, .as.i192 = {low, high, high & sign_bit ? UINT64_MAX : 0}};
}

/* Digit i of a number that has many. */
static char digit_of(const typed_value *v, size_t i) {
    return v->negative ? (char)~v->at[i] : v->at[i];
}

/* Whether these are the digits of the double's own text. */
static bool is_text_of(const typed_value *v, const bf_value *real) {
    char text[BF_VALUE_TEXT], digits[BF_VALUE_TEXT];
    int64_t exponent;
    bf_value_format(real, text);
    const text_number n = {.text = text, .length = strlen(text), .negative = *text == '-'};
    bool same = put_digits(digits, &n, &exponent) == v->length && exponent == v->exponent;
    for (size_t i = 0; i < v->length && same; i++) same = digits[i] == digit_of(v, i);
    return same;
}

static void take_many(typed_value *v, const char *at, size_t length) {
    const bf_value real = v->number;
    v->negative = (unsigned char)*at != MANY;
    v->exponent = (int64_t)((v->negative ? ~take_word(at + 1) : take_word(at + 1)) ^ sign_bit);
    v->at = at + 1 + WORD;
    v->length = length - 1 - WORD - v->negative;
    if (!is_text_of(v, &real)) v->number.dtype = BF_NONE;
}

static typed_value take_number(const char *at, size_t length) {
    typed_value v = {.kind = TYPED_NUMBER};
    v.number = (bf_value){.dtype = BF_F64, .as.f64 = double_of(take_word(at))};
    at += WORD;
    length -= WORD;
    const bool more = length > 0;
    if (more && ((unsigned char)*at == MANY || *at == 0))
        take_many(&v, at, length);
    else if (more)
        v.number = whole_of(at);
    return v;
}

char *typed_write_digits(char *text, const typed_value *v) {
    if (v->negative) *text++ = '-';
    for (size_t i = 0; i < v->length; i++) {
        if (i == 1) *text++ = '.';
        *text++ = digit_of(v, i);
    }
    return text + sprintf(text, "e%+" PRId64, v->exponent - 1);
}

typed_value typed_take(const char *at, size_t length) {
    if (length < HEAD || (unsigned char)*at != MARK)
        return (typed_value){.kind = TYPED_STRING, .at = at, .length = length};
    at += HEAD;
    length -= HEAD;
    if (at[-1] == IS_STRING) return (typed_value){.kind = TYPED_STRING, .at = at, .length = length};
    if (at[-1] == IS_NUMBER) return take_number(at, length);
    return (typed_value){.kind = TYPED_BOOL, .truth = at[-1] == IS_TRUE};
}
