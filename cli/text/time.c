/* Times into the columns of rows. */
#include "text/store.h"

#include <stdio.h>
#include <string.h>

/* ---- parsing --------------------------------------------------------------------------------- */

/* A month: the eight bytes that begin each of its dates, as "2026-11-". */
typedef struct month {
    uint64_t bytes;
    int32_t first, length; /* days before it since 1970, and its own */
} month;

/* A thread has those that it met last. No two months of neighbouring centuries share a place. */
enum { MONTHS = 4096, DAY = 86400 };
static _Thread_local month months[MONTHS];

/* One product adds 200 and 20 times the year's last two digits, 16 and 1 times the month's; odd
 * centuries are 2048 places behind. */
static inline uint64_t place_of(uint64_t bytes) {
    const uint64_t weights = UINT64_C(200) << 37 | UINT64_C(20) << 29 | 16 << 13 | 1 << 5;
    return (bytes & 0x000f0f000f0f0000) * weights >> 53 | (bytes << 3 & 2048);
}

/* Parses the date of this month's day of two digits. */
static bool parse_day(const char *begin, int day, bf_time *t) {
    char text[] = "2026-11-01";
    memcpy(text, begin, 8);
    text[8] = (char)('0' + day / 10);
    text[9] = (char)('0' + day % 10);
    return bf_time_parse(text, 10, t);
}

static bool find_month(const char *begin, uint64_t bytes, month *m) {
    bf_time t;
    int length = 31;
    if (!parse_day(begin, 1, &t)) return false;
    const int64_t first = t.units / DAY;
    while (!parse_day(begin, length, &t)) length--;
    *m = (month){bytes, (int32_t)first, length};
    return true;
}

/* The days since 1970 of the date of this month that ten bytes are. False: they are none. */
static inline bool take_day(const month *m, const char *p, int64_t *days) {
    const unsigned ten = (unsigned char)p[8] - (unsigned)'0',
                   one = (unsigned char)p[9] - (unsigned)'0', day = ten * 10 + one - 1;
    *days = (int64_t)m->first + day;
    return one <= 9 && day < (unsigned)m->length;
}

static inline bool take_date(const char *p, int64_t *days) {
    const uint64_t bytes = text_eight_bytes(p);
    month *const m = &months[place_of(bytes)];
    return (m->bytes == bytes || find_month(p, bytes, m)) && take_day(m, p, days);
}

/* The seconds of the hh:mm:ss that the eight bytes at p are. False: they are none. */
static inline bool take_clock(const char *p, int64_t *seconds) {
    const uint64_t colons = (uint64_t)':' << 16 | (uint64_t)':' << 40,
                   zeros = (uint64_t)'0' << 16 | (uint64_t)'0' << 40;
    const uint64_t bytes = text_eight_bytes(p), digits = bytes ^ colons ^ zeros;
    const uint64_t n = text_eight(digits ^ 0x3030303030303030u); /* hh0mm0ss */
    const uint64_t hour = n / 1000000, minute = n / 1000 % 1000, second = n % 1000;
    *seconds = (int64_t)(hour * 3600 + minute * 60 + second);
    return text_not_digits(digits) == 0 && hour < 24 && minute < 60 && second < 60;
}

/* The most usual forms: a date; with T or a blank and hh:mm:ss; and Z behind it, or nothing. */
static inline bool parse_usual(const char *at, const char *end, bf_time *t) {
    const int64_t length = end - at;
    int64_t days, seconds = 0;
    if ((length != 10 && length != 19 && length != 20) || !take_date(at, &days)) return false;
    *t = (bf_time){days * DAY, 0, BF_TIME_DATE};
    if (length == 10) return true;
    const bool parts = at[10] == 'T' || at[10] == ' ';
    if (!parts || !take_clock(at + 11, &seconds) || (length == 20 && at[19] != 'Z')) return false;
    *t = (bf_time){days * DAY + seconds, 0, length == 20 ? BF_TIME_UTC : BF_TIME_LOCAL};
    return true;
}

static inline bool parse(const char *at, const char *end, bf_time *t) {
    return parse_usual(at, end, t) || bf_time_parse(at, (size_t)(end - at), t);
}

bf_time_kind text_time_kind(const char *at, const char *end) {
    bf_time t;
    return bf_time_parse(at, (size_t)(end - at), &t) ? t.kind : BF_TIME_NONE;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Whether a time of this kind may stand in a column: none is in a zone, or all are. */
static bool suits(const text_column *c, bf_time_kind kind) {
    return (kind == BF_TIME_UTC) == (c->time == BF_TIME_UTC);
}

bool text_store_time(text_column *c, int64_t i, const char *at, const char *end) {
    bf_time t;
    int64_t units;
    if (!parse(at, end, &t) || !suits(c, t.kind)) return false;
    if (t.kind > c->seen) c->seen = t.kind;
    if (c->integers && t.scale <= c->scale && c->scale <= BF_TIME_SCALE_MOST &&
        !__builtin_mul_overflow(t.units, (int64_t)text_tens[c->scale - t.scale], &units)) {
        ((int64_t *)c->integers)[i] = units;
        return true;
    }
    const text_number n = {.digits = t.units < 0 ? 0 - (uint64_t)t.units : (uint64_t)t.units,
                           .exponent = -t.scale,
                           .negative = t.units < 0};
    if (c->integers) text_store_decimal(c, i, &n);
    if (c->wide) text_store_wide(c, i, &n);
    return true;
}

/* Asks once for the thread's table: it takes a call, which a loop should not hold. */
static __attribute__((noinline)) const month *own_months(void) { return months; }

/* A date of a month that the thread has not met is not stored either. */
int64_t text_store_dates(const text_layout *l, text_column *c, int64_t row,
                         const text_fields *fields, int64_t n) {
    const text_fields own = *fields, *const f = &own; /* in registers */
    const month *const met = own_months();
    int64_t i = 0, days;
    if (!c->integers || c->scale > 0 || c->strings.offsets || !suits(c, BF_TIME_DATE)) return 0;
    for (int64_t *const to = (int64_t *)c->integers + row; i < n; i++) {
        const char *const p = text_field_begin(f, i), *const end = text_field_end(f, i);
        const bool is_long = end - p == 11 && *end == '\n' && end[-1] == '\r';
        const uint64_t bytes = text_eight_bytes(p);
        const month *const m = &met[place_of(bytes)];
        if ((end - p != 10 && !is_long) || l->nulls.begins[(unsigned char)*p] ||
            m->bytes != bytes || !take_day(m, p, &days))
            break;
        to[i] = days * DAY;
    }
    if (i > 0 && c->seen < BF_TIME_DATE) c->seen = BF_TIME_DATE;
    return i;
}

void text_refuse_time(const text_layout *l, int k, const text_column *c, text_field f,
                      text_error *e) {
    char shown[64], which[80];
    if (c->time == BF_TIME_NONE || f.broken || (f.at == f.end && l->single)) return;
    const bool is = text_time_kind(f.at, f.end) != BF_TIME_NONE;
    text_quote(shown, f.at, f.end);
    text_which(which, l, k);
    snprintf(e->what, sizeof e->what, f.at == f.end ? "%s%s" : "%s%s: '%s'", which,
             f.at == f.end            ? "an empty field, not a time"
             : !is                    ? "no time"
             : c->time == BF_TIME_UTC ? "a time without a zone, where the first has one"
                                      : "a time in a zone, where the first is in none",
             shown);
    snprintf(e->hint, sizeof e->hint, "%s",
             text_is_null(&l->nulls, f.at, f.end)
                 ? "--null-policy skip leaves such fields out of a value"
                 : "");
}
