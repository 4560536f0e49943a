/* Parts of dates, from days that are counted from 1 March of a year 0 far before ours; 32 bits hold
 * all, of which compilers make vectors. Included by loops.h. */

/* A date by years that begin in March (as in C. Neri and L. Schneider, "Euclidean affine functions
 * and their application to calendar algorithms"). */
typedef struct date {
    uint32_t year, month, day, of_year; /* days from 0; the latter from March on */
} date;

INLINE date date_of(uint32_t days) {
    const uint32_t of_centuries = 4 * days + 3, century = of_centuries / 146097;
    const uint32_t of_years = of_centuries % 146097 | 3, year = of_years / 1461;
    const uint32_t of_year = of_years % 1461 / 4, months = 2141 * of_year + 197913;
    const uint32_t late = of_year >= 306; /* January or February of the next year */
    return (date){100 * century + year + late, (months >> 16) - (late ? 12 : 0),
                  (months & 0xffff) / 2141, of_year};
}

/* The day of 1 January. */
INLINE uint32_t begin_of(uint32_t year) {
    const uint32_t before = year - 1;
    return 365 * before + before / 4 - before / 100 + before / 400 + 306;
}

/* The first day of the quarter. In March alone it is in the year before, as years are here. */
INLINE uint32_t quarter_of(date d, uint32_t day) {
    const uint32_t late = d.of_year < 306 ? 214 : 306, early = d.of_year < 122 ? 31 : 122;
    const uint32_t begin = day - d.of_year + (d.of_year < 214 ? early : late);
    return d.of_year < 31 ? begin_of(d.year) : begin;
}

INLINE int64_t seconds_of(uint32_t day) { return ((int64_t)day - BF_DATE_DAYS) * BF_DAY_SECONDS; }

static void expression_dates(int op, const uint32_t *days, void *to, int64_t n) {
    i64_element *out = to;
    switch (op) {
#define PART(name, part)                                                                           \
    case BF_EXPRESSION_##name:                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const date d = date_of(days[i]);                                                       \
            out[i] = part;                                                                         \
        }                                                                                          \
        break;
        PART(YEAR, (int64_t)d.year - BF_DATE_YEARS)
        PART(MONTH, d.month)
        PART(DAY, d.day + 1)
        PART(TO_YEAR, seconds_of(begin_of(d.year)))
        PART(TO_QUARTER, seconds_of(quarter_of(d, days[i])))
        PART(TO_MONTH, seconds_of(days[i] - d.day))
#undef PART
    default: break;
    }
}
