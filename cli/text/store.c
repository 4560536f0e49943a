#define _GNU_SOURCE /* memmem */
#include "text/store.h"

#include <stdio.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

bool text_store_as(bf_dtype dtype, void *numbers, int64_t i, const text_number *n) {
    const bool is_float = dtype >= BF_F16;
    uint64_t bits = 0;
    if (!is_float && !text_integer(n, dtype, &bits)) return false;
    if (is_float) bits = text_round(n, dtype);
    switch (bf_dtype_size(dtype)) {
    case 1: ((uint8_t *)numbers)[i] = (uint8_t)bits; return true;
    case 2: ((uint16_t *)numbers)[i] = (uint16_t)bits; return true;
    case 4: ((uint32_t *)numbers)[i] = (uint32_t)bits; return true;
    default: ((uint64_t *)numbers)[i] = bits; return true;
    }
}

/* The digits behind the point of a number without zeros at its end. */
static int scale_of(const text_number *x) {
    return x->longer ? text_decimals(x) : x->exponent < 0 ? -x->exponent : 0;
}

/* Why a number, without zeros at its end, is one of doubles; NULL: it may be an integer with this
 * scale. So many digits of a fraction say that it was a double, but a key is what is written. */
static const char *why_double(const text_column *c, const text_number *x, int scale) {
    if (x->other) return "no decimal number";
    if (scale > c->digits) return "too many digits behind the point";
    if (scale > 0 && !c->key && !c->time && (x->longer || x->digits > TEXT_FRACTION_MOST))
        return "a fraction of more than 15 digits";
    return NULL;
}

void text_store_decimal(text_column *c, int64_t i, const text_number *n) {
    const text_number x = text_shortened(n);
    const int scale = scale_of(&x);
    uint64_t units = x.digits;
    const char *const why = why_double(c, &x, scale);
    text_i128 wide;
    const bool holds =
        !why && !x.longer && (scale > c->scale || text_multiply(&units, c->scale + x.exponent));
    if (!holds || units > (uint64_t)INT64_MAX + x.negative) {
        c->can &= ~(unsigned)CAN_I64;
        c->why = why ? why : "too many digits";
    }
    if (!holds || scale > 0 || c->scale > 0 || (x.negative && units > 0))
        c->can &= ~(unsigned)CAN_U64;
    if (!holds && (why || (scale <= c->scale && !text_wide(&x, c->scale, &wide))))
        c->can &= ~(unsigned)CAN_I128;
    if (!why && scale > c->deepest) c->deepest = scale;
    ((uint64_t *)c->integers)[i] = x.negative ? 0 - units : units;
}

void text_store_wide(text_column *c, int64_t i, const text_number *n) {
    const text_number x = text_shortened(n);
    const int scale = scale_of(&x);
    const char *const why = why_double(c, &x, scale);
    text_i128 units = 0;
    if (why || (scale <= c->scale && !text_wide(&x, c->scale, &units))) {
        c->can &= ~(unsigned)CAN_I128;
        c->why = why ? why : "too many digits";
    }
    if (!why && scale > c->deepest) c->deepest = scale;
    ((text_i128 *)c->wide)[i] = units;
}

/* The digits of an integer, or of a fraction without its point and the zeros at its end. */
static int count_digits(const text_number *n) {
    int count = n->exponent > 0 ? n->exponent : 0;
    for (uint64_t left = n->digits; left > 0; left /= 10) count++;
    if (!n->longer) return count;
    const char *p = n->text + (*n->text == '-' || *n->text == '+');
    const char *const end = n->text + n->length;
    int written = 0, kept = 0;
    bool point = false;
    for (; p < end && (*p | 0x20) != 'e'; p++) {
        point = point || *p == '.';
        written += *p != '.' && (written > 0 || *p != '0');
        if (!point || *p != '0') kept = written;
    }
    return kept > count ? kept : count;
}

/* Whether a double is the number, or the nearest to a fraction. */
static bool is_double(const text_number *n) {
    __extension__ typedef unsigned __int128 u128;
    const double value = text_double(n), size = value < 0 ? -value : value;
    if (n->exponent < 0) return size > 0;
    if (n->longer || n->exponent > TEXT_DIGITS_MOST) return false;
    const u128 whole = n->digits * (u128)text_power_of_ten(n->exponent);
    return size < 0x1p127 && (u128)size == whole;
}

/* Whether a number is neither too great nor too small for a double. */
static bool is_finite(const text_number *n) {
    const double value = text_double(n), size = value < 0 ? -value : value;
    return size <= 0x1.fffffffffffffp1023 && (size > 0 || n->digits == 0);
}

/* One column alone cannot turn to text: there an exponent says that a double was written. */
void text_judge_key(text_column *c, const text_number *n) {
    const text_number x = text_shortened(n);
    if (x.other || (x.digits <= TEXT_FRACTION_MOST && x.exponent <= 0 && x.exponent > -300)) return;
    const bool print =
        c->strict && (memchr(x.text, 'e', x.length) || memchr(x.text, 'E', x.length));
    if (c->codes && !c->strict && count_digits(&x) > TEXT_DIGITS_MOST) c->words = true;
    if (!(print ? is_finite(&x) : is_double(&x))) c->can &= ~(unsigned)CAN_F64;
}

/* The bits that a float has, its least exponent, and its greatest. */
typedef struct float_range {
    int bits, least, most;
} float_range;

static bool holds(float_range r, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int exponent = (int)(bits >> 52 & 2047) - 1023;
    if (exponent == 1024 || (exponent == -1023 && fraction == 0)) return true;
    const int zeros = __builtin_ctzll(fraction | (uint64_t)1 << 52);
    return 53 - zeros <= r.bits && exponent - 52 + zeros >= r.least && exponent <= r.most;
}

bool text_is_exact(bf_dtype dtype, const text_number *n) {
    static const float_range f16 = {11, -24, 15}, bf16 = {8, -133, 127}, f32 = {24, -149, 127};
    uint64_t bits;
    if (dtype < BF_F16) return text_integer(n, dtype, &bits);
    const double value = text_double(n), size = value < 0 ? -value : value;
    if (!n->other && (size > 0x1.fffffffffffffp1023 || (size == 0 && n->digits > 0))) return false;
    if (n->integer && (size >= 0x1p64 || (uint64_t)size != n->digits)) return false;
    return dtype == BF_F64 || holds(dtype == BF_F16 ? f16 : dtype == BF_BF16 ? bf16 : f32, value);
}

void text_store_none(text_rows *rows, const text_layout *l, int k) {
    static const text_number zero = {.text = "0", .length = 1, .integer = true};
    text_column *c = &rows->columns[k];
    if (text_has_numbers(rows, l, k)) text_store_number(l, c, rows->n, &zero);
}

bool text_read_number(const text_layout *l, const char *at, const char *end, text_number *n,
                      text_styled plain) {
    if (!text_style_is_plain(&l->style)) return text_parse_styled(&l->style, at, end, plain, n);
    return text_parse_token(at, (size_t)(end - at), n);
}

/* ---- errors ---------------------------------------------------------------------------------- */

void text_quote(char out[64], const char *at, const char *end) {
    const size_t length = (size_t)(end - at), shown = length < 40 ? length : 40;
    for (size_t i = 0; i < shown; i++)
        out[i] = (unsigned char)at[i] < 0x20 || at[i] == 0x7f ? '?' : at[i];
    snprintf(out + shown, 64 - shown, "%s", length > shown ? "..." : "");
}

void text_which(char out[80], const text_layout *l, int k) {
    *out = '\0';
    if (l->names && *l->names[k] && (l->columns > 1 || l->option))
        snprintf(out, 80, "column %d (%.40s): ", l->fields[k] + 1, l->names[k]);
    else if (l->columns > 1 || (l->names && l->option))
        snprintf(out, 80, "column %d: ", l->fields[k] + 1);
}

const char *text_refuse_number(const text_layout *l, int k, text_field f, text_error *e) {
    char shown[64], which[80];
    text_quote(shown, f.at, f.end);
    e->at = f.at;
    text_which(which, l, k);
    text_number n;
    text_styled plain;
    if (f.broken)
        snprintf(e->what, sizeof e->what, "%sa quoted field that does not end as it should", which);
    else if (f.at == f.end && l->single && *f.end != '"')
        snprintf(e->what, sizeof e->what,
                 "%san empty line: in a table of one column, a row without a value", which);
    else if (f.at == f.end)
        snprintf(e->what, sizeof e->what, "%san empty field, not a number", which);
    else if (l->dtype != BF_NONE && text_read_number(l, f.at, f.end, &n, plain))
        snprintf(e->what, sizeof e->what, "%snot of dtype %s: '%s'", which, bf_dtype_name(l->dtype),
                 shown);
    else
        snprintf(e->what, sizeof e->what, "%snot a number: '%s'", which, shown);
    if (l->words && !f.broken && f.at < f.end)
        snprintf(e->hint, sizeof e->hint, "--by COLUMN takes words, too");
    const char *const mark = l->style.thousands;
    if (!f.broken && mark && memmem(f.at, (size_t)(f.end - f.at), mark, strlen(mark)))
        snprintf(e->hint, sizeof e->hint,
                 "between two '%s' stand three digits, and no zero is the first, as in 1%s234%s567",
                 mark, mark, mark);
    if (!f.broken && k + 1 == l->counted && text_is_code(f.at)) {
        snprintf(e->what, sizeof e->what, "%sa key with a zero before another digit is text: '%s'",
                 which, shown);
        snprintf(e->hint, sizeof e->hint,
                 "--by COLUMN takes it as text, --number COLUMN as a number");
    }
    if (l->dtype != BF_NONE && (l->kinds[k] & TEXT_KEYS))
        snprintf(e->hint, sizeof e->hint,
                 "--dtype is that of keys, too, which it must hold exactly");
    if (!l->names && !f.broken && text_looks_like_name(f.at, f.end))
        snprintf(e->hint, sizeof e->hint, "--header, if the first line holds names");
    if (!f.broken && !l->keys && text_is_null(&l->nulls, f.at, f.end))
        snprintf(e->hint, sizeof e->hint, "--null-policy skip leaves such fields out of a value");
    return NULL;
}
