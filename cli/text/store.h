/* Numbers into the columns of rows: what the readers of all texts share. */
#ifndef BITFOLD_CLI_TEXT_STORE_H
#define BITFOLD_CLI_TEXT_STORE_H

#include "text/field.h"
#include "text/marks.h"
#include "text/text.h"

/* Whether column k holds numbers at all. */
static inline bool text_has_numbers(const text_rows *r, const text_layout *l, int k) {
    const bool may = l->kinds[k] & (TEXT_NUMBERS | TEXT_KEYS);
    return may && (l->kinds[k] == TEXT_NUMBERS || (r->forms[k] & (TEXT_INTEGERS | TEXT_FLOATS)));
}

/* Whether numbers of column k may be NULL; and whether it tells which fields are. */
static inline bool text_takes_nulls(const text_layout *l, int k) {
    return l->skip_nulls || !(l->kinds[k] & TEXT_NUMBERS);
}
static inline bool text_tells_nulls(const text_layout *l, int k) {
    return l->skip_nulls || l->kinds[k] != TEXT_NUMBERS;
}

/* Keeps a number as dtype. False: it is none of these. */
bool text_store_as(bf_dtype dtype, void *numbers, int64_t i, const text_number *n);

/* Whether a dtype holds a number as it is read where none is asked for. */
bool text_is_exact(bf_dtype dtype, const text_number *n);

/* A fraction of more digits is a double's own print: its greatest without its point. */
#define TEXT_FRACTION_MOST 999999999999999u

/* Keeps a number as an integer in units of 10^-scale, of 64 bits; and of 128 bits. */
void text_store_decimal(text_column *c, int64_t i, const text_number *n);
void text_store_wide(text_column *c, int64_t i, const text_number *n);

/* What kind of time a field is; and keeps one in the form of its column. False: it is none, or of a
 * kind that the column has not. */
bf_time_kind text_time_kind(const char *at, const char *end);
bool text_store_time(text_column *c, int64_t i, const char *at, const char *end);

/* Stores n fields of column c, which is of times, from row `row` on. Returns how many: all, or up
 * to one that is not a plain date. */
int64_t text_store_dates(const text_layout *l, text_column *c, int64_t row, const text_fields *f,
                         int64_t n);

/* Rules out what does not hold the number of a key exactly. */
void text_judge_key(text_column *c, const text_number *n);

/* Keeps a number in the forms of its column. False if it is not of the dtype asked for. */
static inline bool text_store_number(const text_layout *l, text_column *c, int64_t i,
                                     const text_number *n) {
    const bf_dtype dtype = l->dtype;
    if (c->exact && !text_is_exact(dtype, n)) return false;
    if (dtype != BF_NONE && dtype != BF_F64) return text_store_as(dtype, c->floats, i, n);
    if (c->codes && text_is_code(n->text)) {
        if (c->strict) return false;
        c->words = true;
    }
    if (c->key && (!n->integer || n->digits > TEXT_FRACTION_MOST)) text_judge_key(c, n);
    if (c->floats) ((double *)c->floats)[i] = text_double(n);
    if (!c->integers) {
        if (c->wide) text_store_wide(c, i, n);
        return true;
    }
    if (l->digits && (c->scale > 0 || !n->integer)) {
        if (c->scale > 0 && c->scale == -n->exponent && n->digits <= TEXT_FRACTION_MOST &&
            !n->longer && !n->other)
            ((uint64_t *)c->integers)[i] = n->negative ? 0 - n->digits : n->digits;
        else
            text_store_decimal(c, i, n);
        return true;
    }
    const uint64_t most = (uint64_t)INT64_MAX + n->negative;
    ((uint64_t *)c->integers)[i] = n->negative ? 0 - n->digits : n->digits;
    if (!n->integer || n->digits > most || n->negative)
        c->can &= !n->integer ? CAN_F64
                              : CAN_F64 | CAN_I128 | (n->digits <= most ? CAN_I64 : 0) |
                                    (n->negative && n->digits > 0 ? 0 : CAN_U64);
    return true;
}

/* digits / 10^decimals of a short number, rounded once, without a division. high has 26 bits, so
 * that the first product is exact; with low it is 10^-decimals but for 2^-79 of it. So the sum
 * before it is rounded is off by less than 2^-25 of an ulp; and no quotient that is no double
 * itself is nearer to the middle of two than 1 / (2 * 10^7) of an ulp. */
static inline double text_short_double(const text_short *n) {
    static const double high[] = {0x1p+0,         0x1.9999998p-4,  0x1.47ae148p-7,
                                  0x1.0624ddp-10, 0x1.a36e2e8p-14, 0x1.4f8b588p-17,
                                  0x1.0c6f7ap-20, 0x1.ad7f298p-24};
    static const double low[] = {0,
                                 0x1.999999999999ap-32,
                                 -0x1.47ae147ae147bp-37,
                                 0x1.78d4fdf3b645ap-37,
                                 0x1.8e219652bd3c3p-41,
                                 0x1.c6d1e108c3f3ep-46,
                                 0x1.6bdb1a6d698fep-49,
                                 0x1.5e57a42bc3d33p-51};
    const double digits = (double)(int64_t)n->digits;
    return digits * high[n->decimals] + digits * low[n->decimals];
}

/* text_store_decimal for a short number. */
static inline void text_store_short_decimal(text_column *c, int64_t i, const text_short *n,
                                            bool negative) {
    const int digits = c->scale - n->decimals;
    if (c->scale <= 10 && digits >= 0) {
        const uint64_t units = n->digits * text_tens[digits];
        ((uint64_t *)c->integers)[i] = negative ? 0 - units : units;
        if (negative && units > 0) c->can &= ~(unsigned)CAN_U64;
        return;
    }
    const text_number long_way = {
        .digits = n->digits, .exponent = -n->decimals, .negative = negative};
    text_store_decimal(c, i, &long_way);
}

static inline void text_store_short_wide(text_column *c, int64_t i, const text_short *n,
                                         bool negative) {
    const text_number whole = {.digits = n->digits, .exponent = -n->decimals, .negative = negative};
    text_store_wide(c, i, &whole);
}

/* text_store_number for a short number. */
static inline bool text_store_short(const text_layout *l, text_column *c, int64_t i,
                                    const text_short *n, bool negative) {
    if (l->dtype != BF_NONE && l->dtype != BF_F64) return false;
    if (c->floats) {
        const double value = text_short_double(n);
        ((double *)c->floats)[i] = negative ? -value : value;
    }
    if (!c->integers) {
        if (c->wide) text_store_short_wide(c, i, n, negative);
        return true;
    }
    if (l->digits) {
        text_store_short_decimal(c, i, n, negative);
        return true;
    }
    ((uint64_t *)c->integers)[i] = negative ? 0 - n->digits : n->digits;
    if (n->point || negative)
        c->can &= n->point ? CAN_F64 : CAN_F64 | CAN_I64 | (n->digits > 0 ? 0 : CAN_U64);
    return true;
}

/* Reads the number of `length` bytes at p as column k. False: it is none, or no short one. */
static inline bool text_read_short(text_rows *r, const text_layout *l, int k, const char *p,
                                   int64_t length) {
    text_short n;
    const bool negative = *p == '-';
    if (r->columns[k].codes && length > 1 + negative && text_is_code(p)) return false;
    length -= negative;
    return length >= 1 && length <= 8 && text_scan_short(p + negative, (int)length, &n) &&
           text_store_short(l, &r->columns[k], r->n, &n, negative);
}

/* Column k has no number in this row, or one that does not count. */
void text_store_none(text_rows *rows, const text_layout *l, int k);

/* The number of a whole field, which may refer to `plain`. False: it is none. */
bool text_read_number(const text_layout *l, const char *at, const char *end, text_number *n,
                      text_styled plain);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Text whose marks are found at a time: they stay in the second-level cache. */
enum { TEXT_STRETCH = 32 * 1024 };

/* Notes where the next row stands. */
static inline void text_note_row(text_rows *r, const char *at, const char *end) {
    if (r->stands) r->stands[r->n] = (text_row){at, end};
}

static inline const char *text_line_end(const char *p, const char *end) {
    return (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
}

/* Keeps the field at p, which is behind the blanks that begin it at `raw`, in the forms of column
 * k. False: it is refused, or there is no memory. */
bool text_put_field(text_rows *rows, const text_layout *l, int k, const char *raw, const char *p,
                    text_field f);

/* Reads the field at p, in a row that begins at `row`, as column k, the long way. Returns where it
 * ends. */
const char *text_read_field(text_rows *rows, const text_layout *l, int k, const char *row,
                            const char *p, text_error *e);

/* Reads a row the long way, or passes over a line of blanks. Returns where the next begins. */
const char *text_read_line(text_rows *rows, const text_layout *l, const char *at, const char *end,
                           text_error *e);

/* Reads whole rows of the next stretch of the text by their marks. Returns where the next begins;
 * `at` if the first row is too long for a stretch, or fields are parted by blanks, which have no
 * marks. */
const char *text_read_stretch(text_rows *rows, const text_layout *l, const char *at,
                              const char *end, text_error *e);

/* ---- errors: of each, NULL is returned ------------------------------------------------------- */

/* The fields of a row where one was expected: their names, if that is what they are. */
const char *text_refuse_fields(const text_layout *l, const char *at, text_error *e);

/* Refuses a field as a number of column k. Returns NULL. */
const char *text_refuse_number(const text_layout *l, int k, text_field f, text_error *e);

/* Says of a field, refused as a number, what it is not, if column k is one of times. */
void text_refuse_time(const text_layout *l, int k, const text_column *c, text_field f,
                      text_error *e);

#endif
