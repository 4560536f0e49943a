#include "scan/span.h"

#include "options/operand.h"

#include <ctype.h>
#include <string.h>

/* ---- the span -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t seconds;
} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}};
enum { UNITS = sizeof units / sizeof *units, SPAN_TEXT = 64, DIGITS = 18 };

static int refuse_span(const running *x, const char *expected) {
    operand_bad("window", x->own.window_text, expected);
    return EXIT_USAGE;
}

/* The number before the unit, and this; false: there is none. */
static bool take_number(const char *text, text_number *number, const char **unit) {
    char padded[SPAN_TEXT + TEXT_SLACK] = "";
    size_t n = strlen(text);
    while (n > 0 && isalpha((unsigned char)text[n - 1])) n--;
    *unit = text + n;
    if (n >= SPAN_TEXT || n == 0) return false;
    memcpy(padded, text, n);
    return text_parse_token(padded, n, number);
}

/* A window of keys in whole units has what is less than a span of so many away: the span is rounded
 * up. In the middle of a window, a key has less than half of it in front, rounded up, and at most
 * half of it behind, rounded down: so an odd number is left as it is. False: the span is not above
 * 0, or too large. */
static bool count_units(const text_number *number, int scale, int64_t seconds, bool center,
                        uint64_t *span) {
    text_i128 finer = 0, power = 1;
    int digits = 0;
    while (digits <= DIGITS && !text_wide(number, scale + digits, &finer)) {
        power *= 10;
        digits++;
    }
    const text_i128 most = ((text_i128)UINT64_MAX) * power / seconds;
    if (digits > DIGITS || finer <= 0 || finer > most) return false;
    const text_i128 whole = finer * seconds / power;
    const bool more = whole * power < finer * seconds;
    *span = (uint64_t)whole + (more && !(center && whole % 2 == 1));
    return true;
}

static int settle_integers(running *x, const table_value *on) {
    text_number number;
    const char *unit;
    int i = 0;
    if (!take_number(x->own.window_text, &number, &unit))
        return refuse_span(x, on->form.time ? "a time, as 7d or 90s" : "a number");
    while (i < UNITS && strcmp(units[i].name, unit) != 0) i++;
    if (i == UNITS) return refuse_span(x, "a number of w, d, h, m or s");
    if (*unit && !on->form.time) return refuse_span(x, "a number, as --on is");
    if (!count_units(&number, on->form.scale, units[i].seconds, x->own.center, &x->span.as.u64))
        return refuse_span(x, "above 0, and below 2^64 units of --on");
    x->span.dtype = BF_U64;
    return EXIT_DONE;
}

static int settle_floats(running *x) {
    text_number number;
    const char *unit;
    const bool good = take_number(x->own.window_text, &number, &unit) && *unit == '\0';
    const uint64_t bits = good ? text_round(&number, BF_F64) : 0;
    x->span = (bf_value){.dtype = BF_F64};
    memcpy(&x->span.as.f64, &bits, sizeof bits);
    const double span = x->span.as.f64;
    return span > 0 && span - span == 0 ? EXIT_DONE : refuse_span(x, "a number above 0");
}

int span_settle(running *x, const table_value *on, const char *file) {
    x->on = on->form.dtype;
    if (bf_dtype_kind(x->on) == 'f' && x->on != BF_F64)
        return fail(EXIT_USAGE, file, "--on is of %s: give no --dtype, or f64",
                    bf_dtype_name(x->on));
    return x->on == BF_F64 ? settle_floats(x) : settle_integers(x, on);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static double float_at(const void *keys, int64_t i) { return ((const double *)keys)[i]; }

static text_i128 integer_at(bf_dtype dtype, const void *keys, int64_t i) {
    return units_at(dtype, keys, i);
}

static bool is_next(bf_dtype dtype, const void *before, int64_t i, const void *keys, int64_t k) {
    if (dtype != BF_F64) return integer_at(dtype, before, i) <= integer_at(dtype, keys, k);
    const double x = float_at(keys, k);
    return float_at(before, i) <= x && x - x == 0;
}

int64_t span_find_bad(bf_dtype dtype, const void *keys, int64_t n, const void *before) {
    if (n > 0 && !is_next(dtype, before ? before : keys, 0, keys, 0)) return 0;
    int64_t i = 1;
    while (i < n && is_next(dtype, keys, i - 1, keys, i)) i++;
    return i < n ? i : n;
}

bool span_is_same(bf_dtype dtype, const void *keys, int64_t i, int64_t k) {
    return dtype == BF_F64 ? float_at(keys, i) == float_at(keys, k)
                           : integer_at(dtype, keys, i) == integer_at(dtype, keys, k);
}

/* A difference of doubles that is rounded is below the span where the exact one is, or it is the
 * span. */
bool span_may_reach(const running *x, const void *keys, int64_t i, const void *others, int64_t k) {
    if (x->on == BF_F64) return float_at(others, k) - float_at(keys, i) <= x->span.as.f64;
    __extension__ typedef unsigned __int128 u128;
    return (u128)integer_at(x->on, others, k) - (u128)integer_at(x->on, keys, i) <= x->span.as.u64;
}
