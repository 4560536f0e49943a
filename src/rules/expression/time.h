/* Parts of times in expressions. */
#ifndef BF_RULES_EXPRESSION_TIME_H
#define BF_RULES_EXPRESSION_TIME_H

#include "rules/expression/operation.h"
#include "rules/number/time.h"

/* A time that is so many seconds from 1970 or more has no parts: then its year might begin where 64
 * bits end. */
#define BF_EXPRESSION_TIME_END ((int64_t)1 << 62)

BF_RULE int64_t bf_expression_day_part(int op, int64_t days) {
    bf_civil c = bf_civil_of_days(days);
    switch (op) {
    case BF_EXPRESSION_YEAR: return c.year;
    case BF_EXPRESSION_MONTH: return c.month;
    case BF_EXPRESSION_DAY: return c.day;
    case BF_EXPRESSION_TO_YEAR: c.month = 1; break;
    case BF_EXPRESSION_TO_QUARTER: c.month -= (c.month - 1) % 3; break;
    default: break;
    }
    c.day = 1;
    return bf_days_of_civil(c);
}

/* The part of a time in seconds that an operation takes. */
BF_RULE int64_t bf_expression_time_part(int op, int64_t seconds) {
    const int64_t days = bf_floor_divide(seconds, BF_DAY_SECONDS);
    const int64_t of_day = seconds - days * BF_DAY_SECONDS;
    const int64_t of_week =
        days + 3 - 7 * bf_floor_divide(days + 3, 7); /* 1970 began on a Thursday */
    switch (op) {
    case BF_EXPRESSION_HOUR: return of_day / 3600;
    case BF_EXPRESSION_MINUTE: return of_day / 60 % 60;
    case BF_EXPRESSION_SECOND: return of_day % 60;
    case BF_EXPRESSION_WEEKDAY: return of_week + 1;
    case BF_EXPRESSION_TO_WEEK: return (days - of_week) * BF_DAY_SECONDS;
    case BF_EXPRESSION_TO_DAY: return days * BF_DAY_SECONDS;
    case BF_EXPRESSION_TO_HOUR: return seconds - of_day % 3600;
    case BF_EXPRESSION_TO_MINUTE: return seconds - of_day % 60;
    case BF_EXPRESSION_TO_SECOND: return seconds;
    default: break;
    }
    const int64_t part = bf_expression_day_part(op, days);
    return op >= BF_EXPRESSION_TO_YEAR ? part * BF_DAY_SECONDS : part;
}

#endif
