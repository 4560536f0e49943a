/* Parts of times: first the seconds of a tile, then the part. Of dates of the years that people
 * write the days, with 32 bits (date_loops.h). */
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
#define UNITS                                                                                      \
    UNIT(1, 10)                                                                                    \
    UNIT(2, 100)                                                                                   \
    UNIT(3, 1000)                                                                                  \
    UNIT(4, 10000)                                                                                 \
    UNIT(5, 100000)                                                                                \
    UNIT(6, 1000000)                                                                               \
    UNIT(7, 10000000)                                                                              \
    UNIT(8, 100000000)                                                                             \
    UNIT(9, 1000000000)

static void find_seconds(const word *x, int scale, int64_t *seconds, int64_t n) {
    switch (scale) {
#define UNIT(digits, unit)                                                                         \
    case digits: divide(x, unit, seconds, n); break;
        UNITS
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

/* ---- days ------------------------------------------------------------------------------------ */

/* False: a day is too far away. */
BF_RULE_INLINE bool divide_days(const word *x, int64_t unit, uint32_t *days, int64_t n) {
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t day = bf_floor_divide(x[i], unit * BF_DAY_SECONDS) + BF_DATE_DAYS;
        beyond |= (uint64_t)(day - 366) >> 29;
        days[i] = (uint32_t)day;
    }
    return beyond == 0;
}

/* divide_days for whole seconds from the year -4000 to 13400, by a division of 32 bits, which
 * becomes a vector: a day has 675 times 2^7 seconds. */
static bool divide_near_days(const word *x, uint32_t *days, int64_t n) {
    enum { BEFORE = BF_DAYS_TO_1970 + 10 * 146097 };
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t s = (uint64_t)x[i] + BEFORE * BF_DAY_SECONDS;
        beyond |= s >> 39;
        days[i] = (uint32_t)(s >> 7) / 675 + (uint32_t)(BF_DATE_DAYS - BEFORE);
    }
    return beyond == 0;
}

static bool find_days(const word *x, int scale, uint32_t *days, int64_t n) {
    if (scale == 0 && divide_near_days(x, days, n)) return true;
    switch (scale) {
#define UNIT(digits, unit)                                                                         \
    case digits: return divide_days(x, unit, days, n);
        UNITS
#undef UNIT
    default: return divide_days(x, 1, days, n);
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

int64_t bf_expression_take_time(const bf_isa *isa, const bf_expression_step *s,
                                const void *const in[3], void *out, int64_t n,
                                bf_expression_room *room) {
    int64_t *seconds = (int64_t *)room->in[0];
    uint32_t *days = (uint32_t *)room->in[1];
    const bool wide = s->work == BF_I128, loops = isa->expression != NULL && !wide;
    if (loops && takes_date(s->op) && find_days(in[0], s->scale, days, n)) {
        isa->expression->dates(s->op, days, out, n);
        return -1;
    }
    if (wide)
        find_wide_seconds(in[0], s->scale, seconds, n);
    else
        find_seconds(in[0], s->scale, seconds, n);
    const int64_t far = find_far(seconds, n);
    if (far < 0) find_parts(s->op, seconds, out, n);
    return far;
}
