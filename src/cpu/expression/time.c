/* Parts of times: first the seconds of a tile, then the part. Dates of the years that people write
 * are computed with 32 bits, which compilers make vectors of. */
#include "cpu/expression/expression.h"

#include "rules/expression/time.h"

typedef int64_t word __attribute__((aligned(1), may_alias));
typedef bf_i128 wide_word __attribute__((aligned(1), may_alias));

/* ---- seconds --------------------------------------------------------------------------------- */

/* Returns the place of the first time that has no parts, or -1. */
static int64_t find_far(const int64_t *seconds, int64_t n) {
    const uint64_t end = BF_EXPRESSION_TIME_END;
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)seconds[i] + end >= 2 * end) return i;
    return -1;
}

BF_RULE_INLINE void divide(const word *x, int64_t unit, int64_t *seconds, int64_t n) {
    for (int64_t i = 0; i < n; i++) seconds[i] = bf_floor_divide(x[i], unit);
}

/* A divisor that the compiler knows takes a product. */
static void find_seconds(const word *x, int scale, int64_t *seconds, int64_t n) {
    switch (scale) {
#define UNIT(digits, unit)                                                                         \
    case digits: divide(x, unit, seconds, n); break;
        UNIT(1, 10)
        UNIT(2, 100)
        UNIT(3, 1000)
        UNIT(4, 10000)
        UNIT(5, 100000)
        UNIT(6, 1000000)
        UNIT(7, 10000000)
        UNIT(8, 100000000)
        UNIT(9, 1000000000)
#undef UNIT
    default: memcpy(seconds, x, (size_t)n * sizeof *seconds);
    }
}

static void find_wide_seconds(const wide_word *x, int scale, int64_t *seconds, int64_t n) {
    const bf_i128 unit = bf_power_of_ten(scale);
    for (int64_t i = 0; i < n; i++) {
        const bf_i128 s = x[i] / unit - (x[i] % unit < 0);
        seconds[i] = s < INT64_MIN ? INT64_MIN : s > INT64_MAX ? INT64_MAX : (int64_t)s;
    }
}

/* ---- dates in 32 bits ------------------------------------------------------------------------ */

/* Days and years from so many eras of 400 years before 1970's on. */
enum { ERAS = 1835, YEARS = 400 * ERAS };
#define DAYS_AHEAD (BF_DAYS_TO_1970 + (int64_t)146097 * ERAS)

/* False: a day is too far away. */
static bool find_days(const int64_t *seconds, uint32_t *days, int64_t n) {
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t day = bf_floor_divide(seconds[i], BF_DAY_SECONDS) + DAYS_AHEAD;
        beyond |= (uint64_t)(day - 366) >> 29;
        days[i] = (uint32_t)day;
    }
    return beyond == 0;
}

/* A date by years that begin in March (as in C. Neri and L. Schneider, "Euclidean affine functions
 * and their application to calendar algorithms"). */
typedef struct date {
    uint32_t year, month, day; /* the day from 0 */
} date;

static inline date date_of(uint32_t days) {
    const uint32_t of_centuries = 4 * days + 3, century = of_centuries / 146097;
    const uint32_t of_years = of_centuries % 146097 | 3, year = of_years / 1461;
    const uint32_t of_year = of_years % 1461 / 4, months = 2141 * of_year + 197913;
    const uint32_t late = of_year >= 306; /* January or February of the next year */
    return (date){100 * century + year + late, (months >> 16) - (late ? 12 : 0),
                  (months & 0xffff) / 2141};
}

/* The day of 1 January. */
static inline uint32_t begin_of(uint32_t year) {
    const uint32_t before = year - 1;
    return 365 * before + before / 4 - before / 100 + before / 400 + 306;
}

static inline uint32_t quarter_of(date d) {
    static const uint32_t days[2][4] = {{0, 90, 181, 273}, {0, 91, 182, 274}};
    return begin_of(d.year) + days[bf_is_leap_year(d.year)][(d.month - 1) / 3];
}

static inline int64_t seconds_of(uint32_t day) {
    return ((int64_t)day - DAYS_AHEAD) * BF_DAY_SECONDS;
}

static void find_dates(int op, const uint32_t *days, word *out, int64_t n) {
    switch (op) {
#define PART(name, part)                                                                           \
    case BF_EXPRESSION_##name:                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const date d = date_of(days[i]);                                                       \
            out[i] = part;                                                                         \
        }                                                                                          \
        break;
        PART(YEAR, (int64_t)d.year - YEARS)
        PART(MONTH, d.month)
        PART(DAY, d.day + 1)
        PART(TO_YEAR, seconds_of(begin_of(d.year)))
        PART(TO_QUARTER, seconds_of(quarter_of(d)))
        PART(TO_MONTH, seconds_of(days[i] - d.day))
#undef PART
    default: break;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool takes_date(int op) {
    return op <= BF_EXPRESSION_DAY || (op >= BF_EXPRESSION_TO_YEAR && op <= BF_EXPRESSION_TO_MONTH);
}

static void find_parts(int op, const int64_t *seconds, word *out, int64_t n) {
    switch (op) {
#define PART(name)                                                                                 \
    case BF_EXPRESSION_##name:                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = bf_expression_time_part(BF_EXPRESSION_##name, seconds[i]);                    \
        break;
        PART(HOUR)
        PART(MINUTE)
        PART(SECOND)
        PART(WEEKDAY)
        PART(TO_WEEK)
        PART(TO_DAY)
        PART(TO_HOUR)
        PART(TO_MINUTE)
#undef PART
    default:
        for (int64_t i = 0; i < n; i++) out[i] = bf_expression_time_part(op, seconds[i]);
    }
}

int64_t bf_expression_take_time(const bf_expression_step *s, const void *const in[3], void *out,
                                int64_t n, bf_expression_room *room) {
    int64_t *seconds = (int64_t *)room->in[0];
    uint32_t *days = (uint32_t *)room->in[1];
    if (s->work == BF_I128)
        find_wide_seconds(in[0], s->scale, seconds, n);
    else
        find_seconds(in[0], s->scale, seconds, n);
    const int64_t far = find_far(seconds, n);
    if (far >= 0) return far;
    if (takes_date(s->op) && find_days(seconds, days, n))
        find_dates(s->op, days, out, n);
    else
        find_parts(s->op, seconds, out, n);
    return -1;
}
