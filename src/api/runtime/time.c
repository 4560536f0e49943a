/* Times in text. */
#include "rules/number/time.h"
#include "rules/number/scale.h"

#include <bitfold/time.h>
#include <stdio.h>

/* What is left of a text. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, const char *any) {
    if (c->at == c->end || *c->at == '\0' || strchr(any, *c->at) == NULL) return false;
    c->at++;
    return true;
}

/* Takes a number of `digits` digits, from `least` to `most`. */
static bool take_number(cursor *c, int digits, int least, int most, int *number) {
    *number = 0;
    if (c->end - c->at < digits) return false;
    for (; digits > 0; digits--, c->at++) {
        if (*c->at < '0' || *c->at > '9') return false;
        *number = *number * 10 + (*c->at - '0');
    }
    return *number >= least && *number <= most;
}

static bool take_date(cursor *c, int64_t *days) {
    int year, month, day;
    if (!take_number(c, 4, 1, 9999, &year) || !take(c, "-")) return false;
    if (!take_number(c, 2, 1, 12, &month) || !take(c, "-")) return false;
    if (!take_number(c, 2, 1, bf_days_of_month(year, month), &day)) return false;
    *days = bf_days_of_civil((bf_civil){year, month, day});
    return true;
}

/* Takes the digits of a fraction. Zeros at its end do not count. */
static bool take_fraction(cursor *c, int64_t *fraction, int *scale) {
    const char *const begin = c->at;
    *fraction = *scale = 0;
    int digit;
    while (c->at - begin < BF_TIME_SCALE_MOST && take_number(c, 1, 0, 9, &digit))
        *fraction = *fraction * 10 + digit;
    *scale = (int)(c->at - begin);
    for (; *scale > 0 && *fraction % 10 == 0; --*scale) *fraction /= 10;
    return c->at > begin;
}

/* Takes hh:mm[:ss[.f]]. */
static bool take_clock(cursor *c, bf_time *time, int64_t *seconds, int64_t *fraction) {
    int hour, minute, second = 0;
    if (!take_number(c, 2, 0, 23, &hour) || !take(c, ":")) return false;
    if (!take_number(c, 2, 0, 59, &minute)) return false;
    const bool has_seconds = take(c, ":");
    if (has_seconds && !take_number(c, 2, 0, 59, &second)) return false;
    *seconds += hour * 3600 + minute * 60 + second;
    return !has_seconds || !take(c, ".") || take_fraction(c, fraction, &time->scale);
}

/* Takes a zone, if there is one: Z, +hh, +hhmm or +hh:mm. */
static bool take_zone(cursor *c, bf_time *time, int64_t *seconds) {
    int hours, minutes = 0;
    time->kind = BF_TIME_UTC;
    if (take(c, "Zz")) return true;
    const bool west = c->at < c->end && *c->at == '-';
    if (!take(c, "+-")) {
        time->kind = BF_TIME_LOCAL;
        return true;
    }
    if (!take_number(c, 2, 0, 23, &hours)) return false;
    if ((take(c, ":") || c->at < c->end) && !take_number(c, 2, 0, 59, &minutes)) return false;
    const int64_t offset = hours * 3600 + minutes * 60;
    *seconds += west ? offset : -offset;
    return true;
}

int bf_time_parse(const char *text, size_t n, bf_time *time) {
    if (!text || !time) return 0;
    cursor c = {text, text + n};
    int64_t days, fraction = 0;
    *time = (bf_time){.kind = BF_TIME_DATE};
    if (!take_date(&c, &days)) return 0;
    int64_t seconds = days * BF_DAY_SECONDS;
    if (c.at < c.end) {
        if (!take(&c, "Tt ") || !take_clock(&c, time, &seconds, &fraction)) return 0;
        if (!take_zone(&c, time, &seconds)) return 0;
    }
    const bf_i128 units = seconds * bf_power_of_ten(time->scale) + fraction;
    time->units = (int64_t)units;
    return c.at == c.end && time->units == units;
}

int bf_time_format(const bf_time *time, char text[BF_TIME_TEXT]) {
    if (!text) return 0;
    if (!time || time->scale < 0 || time->scale > BF_TIME_SCALE_MOST)
        return snprintf(text, BF_TIME_TEXT, "?");
    const int64_t unit = (int64_t)bf_power_of_ten(time->scale);
    const int64_t seconds = bf_floor_divide(time->units, unit);
    int64_t fraction = time->units - seconds * unit;
    const int64_t days = bf_floor_divide(seconds, BF_DAY_SECONDS);
    const int clock = (int)(seconds - days * BF_DAY_SECONDS);
    const bf_civil c = bf_civil_of_days(days);
    int n = snprintf(text, BF_TIME_TEXT, "%s%04lld-%02d-%02d", c.year < 0 ? "-" : "",
                     (long long)(c.year < 0 ? -c.year : c.year), c.month, c.day);
    if (time->kind == BF_TIME_DATE) return n;
    n += snprintf(text + n, BF_TIME_TEXT - (size_t)n, "T%02d:%02d:%02d", clock / 3600,
                  clock / 60 % 60, clock % 60);
    int digits = time->scale;
    for (; digits > 0 && fraction % 10 == 0; digits--) fraction /= 10;
    if (digits > 0)
        n += snprintf(text + n, BF_TIME_TEXT - (size_t)n, ".%0*lld", digits, (long long)fraction);
    if (time->kind == BF_TIME_UTC) n += snprintf(text + n, BF_TIME_TEXT - (size_t)n, "Z");
    return n;
}
