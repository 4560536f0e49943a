/* Times: seconds since the beginning of 1970 (UTC) on the proleptic Gregorian calendar, where every
 * day has 86400 of them. They are integers in units of 10^-scale seconds, as decimals are. */
#ifndef BF_RULES_NUMBER_TIME_H
#define BF_RULES_NUMBER_TIME_H

#include "rules/number/rule.h"

#define BF_DAY_SECONDS INT64_C(86400)

typedef struct bf_civil {
    int64_t year;
    int month, day; /* from 1 */
} bf_civil;

BF_RULE int64_t bf_floor_divide(int64_t x, int64_t by) { return x / by - (x % by < 0); }

BF_RULE bool bf_is_leap_year(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

BF_RULE int bf_days_of_month(int64_t year, int month) {
    if (month == 2) return bf_is_leap_year(year) ? 29 : 28;
    return 30 + ((month + (month > 7)) & 1);
}

/* The days before 1 March of year 0 that 1970 began after. */
#define BF_DAYS_TO_1970 719468

/* Days since 1 January 1970. Years begin in March here, so that a leap day is a year's last (as in
 * Howard Hinnant, "chrono-compatible low-level date algorithms"). */
BF_RULE int64_t bf_days_of_civil(bf_civil c) {
    const int64_t year = c.year - (c.month <= 2);
    const int64_t month = (c.month + 9) % 12; /* from March, 0 */
    const int64_t leaps =
        bf_floor_divide(year, 4) - bf_floor_divide(year, 100) + bf_floor_divide(year, 400);
    return 365 * year + leaps + (153 * month + 2) / 5 + c.day - 1 - BF_DAYS_TO_1970;
}

/* The date of a day that is counted from 1 January 1970. */
BF_RULE bf_civil bf_civil_of_days(int64_t days) {
    days += BF_DAYS_TO_1970;
    const int64_t era = bf_floor_divide(days, 146097); /* 400 years */
    const int64_t of_era = days - era * 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * of_year + 2) / 153; /* from March, 0 */
    bf_civil c;
    c.day = (int)(of_year - (153 * month + 2) / 5) + 1;
    c.month = (int)(month < 10 ? month + 3 : month - 9);
    c.year = 400 * era + year + (c.month <= 2);
    return c;
}

#endif
