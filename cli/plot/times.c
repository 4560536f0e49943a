#include "plot/times.h"

#include "text/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 86400, MONDAY = 4 * DAY, WEEK = 7 * DAY, YEAR_LAST = 9999 };

/* The characters of a time that labels have: up to its year, month, day, minute, second, or all. */
enum { TO_YEAR = 4, TO_MONTH = 7, TO_DAY = 10, TO_MINUTE = 16, TO_SECOND = 19 };

/* A step is so many seconds, or months. */
typedef struct time_step {
    int seconds, months, shown;
} time_step;

/* Where three ticks of a step are, there is one of the next. */
static const time_step steps[] = {
    {1, 0, TO_SECOND},       {2, 0, TO_SECOND},        {5, 0, TO_SECOND},
    {10, 0, TO_SECOND},      {15, 0, TO_SECOND},       {30, 0, TO_SECOND},
    {60, 0, TO_MINUTE},      {120, 0, TO_MINUTE},      {300, 0, TO_MINUTE},
    {600, 0, TO_MINUTE},     {900, 0, TO_MINUTE},      {1800, 0, TO_MINUTE},
    {3600, 0, TO_MINUTE},    {2 * 3600, 0, TO_MINUTE}, {3 * 3600, 0, TO_MINUTE},
    {DAY / 4, 0, TO_MINUTE}, {DAY / 2, 0, TO_MINUTE},  {DAY, 0, TO_DAY},
    {2 * DAY, 0, TO_DAY},    {4 * DAY, 0, TO_DAY},     {WEEK, 0, TO_DAY},
    {2 * WEEK, 0, TO_DAY},   {4 * WEEK, 0, TO_DAY},    {0, 1, TO_MONTH},
    {0, 2, TO_MONTH},        {0, 3, TO_MONTH},         {0, 6, TO_MONTH},
    {0, 12, TO_YEAR},        {0, 12 * 2, TO_YEAR},     {0, 12 * 5, TO_YEAR},
    {0, 12 * 10, TO_YEAR},   {0, 12 * 20, TO_YEAR},    {0, 12 * 50, TO_YEAR},
    {0, 12 * 100, TO_YEAR},  {0, 12 * 200, TO_YEAR},   {0, 12 * 500, TO_YEAR},
    {0, 12 * 1000, TO_YEAR}, {0, 12 * 2000, TO_YEAR},  {0, 12 * 5000, TO_YEAR}};

/* The text of a time without its zone. */
static void write_time(const time_axis *x, int64_t units, bf_time_kind kind,
                       char text[BF_TIME_TEXT]) {
    bf_time_format(&(bf_time){units, x->scale, kind}, text);
    text[strcspn(text, "Z")] = '\0';
}

/* ---- the ticks of one step ------------------------------------------------------------------- */

/* Adds a tick, unless there are too many; n then says so. */
static void add_tick(time_ticks *t, int64_t units, int most) {
    if (t->n < most) t->at[t->n] = units;
    t->n++;
}

/* Multiples of a step, from an origin on. */
static void step_units(const time_axis *x, int64_t step, int64_t origin, int most, time_ticks *t) {
    const int64_t lo = (int64_t)ceil(x->lo),
                  hi = x->hi < 0x1p63 ? (int64_t)floor(x->hi) : INT64_MAX;
    const int64_t past = (lo % step - origin % step) % step;
    int64_t at = lo;
    bool more = past == 0 || !__builtin_add_overflow(at, past > 0 ? step - past : -past, &at);
    for (t->n = 0; more && at <= hi && t->n <= most; more = !__builtin_add_overflow(at, step, &at))
        add_tick(t, at, most);
}

/* The first instant of a month, counted from that of year 0. False: there is none. */
static bool begin_month(const time_axis *x, int64_t month, int64_t *units) {
    char text[32];
    bf_time t;
    const int n =
        snprintf(text, sizeof text, "%04d-%02d-01", (int)(month / 12), (int)(month % 12) + 1);
    const int64_t second = (int64_t)text_power_of_ten(x->scale);
    return month / 12 <= YEAR_LAST && bf_time_parse(text, (size_t)n, &t) &&
           !__builtin_mul_overflow(t.units, second, units);
}

/* Months that are multiples of a step, from January of year 0 on. */
static void step_months(const time_axis *x, int step, int most, time_ticks *t) {
    char text[BF_TIME_TEXT];
    int64_t at;
    write_time(x, (int64_t)ceil(x->lo), BF_TIME_DATE, text);
    int64_t month = 12 * (int64_t)atoi(text) + atoi(text + TO_YEAR + 1) - 1;
    month -= month % step;
    if (month == 0) month = step; /* there is no year 0 */
    for (t->n = 0; t->n <= most && begin_month(x, month, &at) && (double)at <= x->hi; month += step)
        if ((double)at >= x->lo) add_tick(t, at, most);
}

/* Steps of less than a second: 1, 2 and 5 times a power of ten. Returns whether one fits. */
static bool fit_fraction(const time_axis *x, int most, time_ticks *t) {
    static const int digits[] = {1, 2, 5};
    t->n = most + 1;
    for (int power = 0; power < x->scale && t->n > most; power++)
        for (int i = 0; i < 3 && t->n > most; i++)
            step_units(x, digits[i] * (int64_t)text_power_of_ten(power), 0, most, t);
    return t->n <= most;
}

/* The first step that fits; dates have no hours. */
static const time_step *fit_step(const time_axis *x, int most, time_ticks *t) {
    const int64_t second = (int64_t)text_power_of_ten(x->scale);
    const time_step *s = steps, *const last = steps + sizeof steps / sizeof *steps - 1;
    while (x->kind == BF_TIME_DATE && s->shown > TO_DAY) s++;
    for (;; s++) {
        const int64_t origin = s->seconds >= WEEK ? MONDAY * second : 0;
        if (s->months)
            step_months(x, s->months, most, t);
        else
            step_units(x, s->seconds * second, origin, most, t);
        if (t->n <= most || s == last) return s;
    }
}

/* ---- labels ---------------------------------------------------------------------------------- */

static bool have_one_day(const time_ticks *t) {
    bool one = t->n > 0;
    for (int i = 1; i < t->n; i++) one = one && memcmp(t->label[i], t->label[0], TO_DAY) == 0;
    return one;
}

/* Leaves the clock of each label, and the day of all. */
static void part_day(time_ticks *t) {
    memcpy(t->common, t->label[0], TO_DAY);
    for (int i = 0; i < t->n; i++)
        memmove(t->label[i], t->label[i] + TO_DAY + 1, strlen(t->label[i]) - TO_DAY);
}

time_ticks time_ticks_of(const time_axis *x, int most) {
    time_ticks t = {.n = 0};
    const bool fraction = x->kind != BF_TIME_DATE && fit_fraction(x, most, &t);
    const int shown = fraction ? BF_TIME_TEXT - 1 : fit_step(x, most, &t)->shown;
    if (t.n > most) t.n = most;
    for (int i = 0; i < t.n; i++) {
        write_time(x, t.at[i], shown > TO_DAY ? BF_TIME_LOCAL : BF_TIME_DATE, t.label[i]);
        t.label[i][shown] = '\0';
    }
    if (shown > TO_DAY && have_one_day(&t)) part_day(&t);
    if (x->kind == BF_TIME_UTC) strcat(t.common, *t.common ? " UTC" : "UTC");
    return t;
}
