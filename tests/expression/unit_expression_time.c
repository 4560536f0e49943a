/* Expressions of times: parts against the C library's calendar, differences and moves as text, what
 * is refused.
 * Builds: release, asan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <time.h>

/* d is a date, t a local time of milliseconds, z one in UTC of seconds, n an integer. */
static const char *const names[] = {"d", "t", "z", "n", "s", "f"};
static const bf_dtype dtypes[] = {BF_I64, BF_I64, BF_I64, BF_I64, BF_NONE, BF_F64};
static const int scales[] = {0, 3, 0, 0, 0, 0};
static const unsigned char times[] = {BF_TIME_DATE, BF_TIME_LOCAL, BF_TIME_UTC, 0, 0, 0};
enum { COLUMNS = sizeof dtypes / sizeof *dtypes, MANY = 4099 };

static const int64_t d_units[] = {1795824000};    /* 2026-11-28 */
static const int64_t t_units[] = {1772358296789}; /* 2026-03-01T09:44:56.789 */
static const int64_t z_units[] = {-1};            /* 1969-12-31T23:59:59Z */
static const int64_t n_whole[] = {4};

static bf_status try_parse(bf_context *context, const char *text, int wide, bf_expression **e) {
    const bf_expression_options options =
        BF_EXPRESSION_OPTIONS(.scales = scales, .times = times, .wide = wide);
    return bf_expression_parse(context, text, names, dtypes, COLUMNS, &options, NULL, e);
}

static bf_expression *parse(bf_context *context, const char *text, int wide) {
    bf_expression *e = NULL;
    if (try_parse(context, text, wide, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

static void format_result(const bf_expression *e, const int64_t room[2], char *text) {
    const bf_time time = {room[0], bf_expression_scale(e), bf_expression_time(e)};
    bf_value value = {.dtype = bf_expression_dtype(e), .scale = bf_expression_scale(e)};
    if (time.kind != BF_TIME_NONE) {
        bf_time_format(&time, text);
        return;
    }
    if (value.dtype == BF_I128) value.dtype = BF_I64;
    memcpy(&value.as, room, 8);
    bf_value_format(&value, text);
}

static void check(bf_context *context, const char *text, int wide, const char *expected) {
    const void *const data[] = {d_units, t_units, z_units, n_whole};
    bf_array arrays[COLUMNS];
    const bf_array *columns[COLUMNS] = {NULL};
    int64_t room[2] = {0};
    char found[BF_VALUE_TEXT];
    for (int i = 0; i < 4; i++) {
        arrays[i] = bf_array_of(dtypes[i], data[i], 1);
        columns[i] = &arrays[i];
    }
    OWN(bf_expression) *e = parse(context, text, wide);
    const bf_array out = bf_array_of(bf_expression_dtype(e), room, 1);
    if (bf_expression_eval(e, columns, &out) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    format_result(e, room, found);
    if (strcmp(found, expected) != 0) fail_msg("%s: %s, not %s", text, found, expected);
}

static const char *const results[][2] = {
    {"d", "2026-11-28"},
    {"d == \"2026-11-28\"", "1"},
    {"'2026-11-28T00:00:00.001' <= d", "0"},
    {"d < '2026-11-28T00:00:00.001'", "1"},
    {"t >= \"2026-03-01T09:44:56.789\"", "1"},
    {"t != \"2026-03-01T09:44:56.7890001\"", "1"},
    {"z < \"1970-01-01\"", "1"},
    {"z == \"1970-01-01T00:59:59+01:00\"", "1"},
    {"t < d", "1"},
    {"d - t", "23465703.211"},
    {"d - \"2026-11-27\"", "86400"},
    {"\"2026-11-29T01:00\" - d", "90000"},
    {"(d - t) / 2", "11732851.6055"},
    {"d + 86400", "2026-11-29T00:00:00"},
    {"n + d", "2026-11-28T00:00:04"},
    {"d - 0.5", "2026-11-27T23:59:59.5"},
    {"z + 1.5", "1970-01-01T00:00:00.5Z"},
    {"t - 56.789", "2026-03-01T09:44:00"},
    {"min(d, t)", "2026-03-01T09:44:56.789"},
    {"max(d, t)", "2026-11-28T00:00:00"},
    {"max(d, \"2027-01-01\")", "2027-01-01"},
    {"n > 3 ? d : \"2000-01-01\"", "2026-11-28"},
    {"n < 3 ? d : \"2000-01-01\"", "2000-01-01"},
    {"isnull(d)", "0"},
    {"year(d) * 100 + month(d)", "202611"},
    {"day(t)", "1"},
    {"hour(t) * 3600 + minute(t) * 60 + second(t)", "35096"},
    {"hour(d)", "0"},
    {"hour(z)", "23"},
    {"weekday(d)", "6"},
    {"weekday(z)", "3"},
    {"year(\"2024-02-29\")", "2024"},
    {"date(t)", "2026-03-01"},
    {"date(z)", "1969-12-31"},
    {"trunc(t, \"year\")", "2026-01-01"},
    {"trunc(d, 'quarter')", "2026-10-01"},
    {"trunc(t, 'month')", "2026-03-01"},
    {"trunc(t, 'week')", "2026-02-23"},
    {"trunc(t, 'day')", "2026-03-01"},
    {"trunc(t, 'hour')", "2026-03-01T09:00:00"},
    {"trunc(z, 'minute')", "1969-12-31T23:59:00Z"},
    {"trunc(t, 'second')", "2026-03-01T09:44:56"},
    {"trunc(d, 'hour')", "2026-11-28"},
    {"n > 9 && month(d) == 11", "0"},
};

TEST_ON_EVERY_CONTEXT(times_are_exact) {
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        for (int wide = 0; wide < 2; wide++) check(context, results[i][0], wide, results[i][1]);
}

static const struct {
    const char *text;
    bf_status status;
    const char *why;
} refused[] = {
    {"d == 5", BF_E_DTYPE, "character 3: times are compared, chosen, subtracted and taken apart"},
    {"d + t", BF_E_DTYPE, "character 3: times are"},
    {"d * 2", BF_E_DTYPE, "character 3: times are"},
    {"-d", BF_E_DTYPE, "character 1: times are"},
    {"n - d", BF_E_DTYPE, "character 3: times are"},
    {"d + f", BF_E_DTYPE, "character 3: times are"},
    {"d**2", BF_E_DTYPE, "character 2: times are"},
    {"d ? 1 : 2", BF_E_DTYPE, "character 3: times are"},
    {"!d", BF_E_DTYPE, "character 1: times are"},
    {"n && d", BF_E_DTYPE, "character 3: times are"},
    {"abs(d)", BF_E_DTYPE, "character 1: times are"},
    {"isnan(d)", BF_E_DTYPE, "character 1: times are"},
    {"d == s", BF_E_DTYPE, "character 3: times are"},
    {"n ? d : 5", BF_E_DTYPE, "character 3: times are"},
    {"t < z", BF_E_DTYPE, "character 3: a local time meets one in UTC"},
    {"z >= \"2026-01-01T00:00\"", BF_E_DTYPE, "character 3: a local time meets one in UTC"},
    {"d >= \"2026-02-30\"", BF_E_DTYPE, "character 6: this string is no time"},
    {"year(n)", BF_E_DTYPE, "character 1: this takes a time"},
    {"year(\"soon\")", BF_E_DTYPE, "character 6: this string is no time"},
    {"year(s)", BF_E_DTYPE, "character 1: this takes a time"},
    {"trunc(d, \"decade\")", BF_E_ARGUMENT, "character 10: a time is cut to"},
    {"trunc(d, s)", BF_E_ARGUMENT, "character 1: a time is cut to"},
    {"trunc(d)", BF_E_ARGUMENT, "character 8: the function takes 2 arguments"},
};

TEST(what_times_do_not_have_is_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        bf_expression *e = NULL;
        const bf_status status = try_parse(context, refused[i].text, 0, &e);
        const char *message = bf_context_message(context);
        if (status != refused[i].status ||
            strncmp(message, refused[i].why, strlen(refused[i].why)) != 0)
            fail_msg("%s: %s", refused[i].text, message);
    }
    const unsigned char wrong[][2] = {{0, BF_TIME_ANY + 1}, {BF_TIME_ANY, 0}, {BF_TIME_DATE, 0}};
    const bf_dtype of[] = {BF_F64, BF_I64};
    for (int i = 0; i < 3; i++) {
        bf_expression *e = NULL;
        const bf_expression_options options = BF_EXPRESSION_OPTIONS(.times = wrong[i]);
        assert_int_equal(bf_expression_parse(context, "d", names, of, 2, &options, NULL, &e),
                         BF_E_ARGUMENT);
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Dates of our days, of all years that gmtime has, and times that are far away. */
static int64_t some_seconds(uint64_t *seed, int i) {
    const uint64_t x = next_random(seed), y = next_random(seed);
    const int64_t sizes[] = {INT64_C(1) << 31, INT64_C(1) << 38, INT64_C(1) << 55};
    const int64_t seconds = (int64_t)(y % (uint64_t)sizes[i % 64 == 0 ? 2 : x / 2 % 2]);
    return (x % 2 ? -seconds : seconds) / (i % 3 == 0 ? 86400 : 1) * (i % 3 == 0 ? 86400 : 1);
}

static int64_t seconds_of(int64_t year, int month, int day) {
    struct tm at = {.tm_year = (int)(year - 1900), .tm_mon = month, .tm_mday = day};
    return timegm(&at);
}

enum { PARTS = 15 };
static const char *const parts[PARTS] = {
    "year(x)",          "month(x)",          "day(x)",
    "hour(x)",          "minute(x)",         "second(x)",
    "weekday(x)",       "trunc(x,'year')",   "trunc(x,'quarter')",
    "trunc(x,'month')", "trunc(x,'week')",   "date(x)",
    "trunc(x,'hour')",  "trunc(x,'minute')", "trunc(x,'second')"};

/* What the C library says. */
static int64_t part_of(int part, int64_t seconds) {
    struct tm at;
    const time_t clock = seconds;
    assert_non_null(gmtime_r(&clock, &at));
    const int64_t year = (int64_t)at.tm_year + 1900;
    const int since_monday = (at.tm_wday + 6) % 7;
    const int64_t results_of[PARTS] = {year,
                                       at.tm_mon + 1,
                                       at.tm_mday,
                                       at.tm_hour,
                                       at.tm_min,
                                       at.tm_sec,
                                       since_monday + 1,
                                       seconds_of(year, 0, 1),
                                       seconds_of(year, at.tm_mon / 3 * 3, 1),
                                       seconds_of(year, at.tm_mon, 1),
                                       seconds_of(year, at.tm_mon, at.tm_mday - since_monday),
                                       seconds_of(year, at.tm_mon, at.tm_mday),
                                       seconds - at.tm_min * 60 - at.tm_sec,
                                       seconds - at.tm_sec,
                                       seconds};
    return results_of[part];
}

static int64_t floor_of(int64_t x, int64_t by) { return x / by - (x % by < 0); }

/* Times of a scale, as i64 or i128. */
static void look_at_parts(bf_context *context, int scale, bool wide) {
    static int64_t units[2 * MANY], found[MANY];
    const char *const x = "x";
    const bf_dtype dtype = wide ? BF_I128 : BF_I64;
    const unsigned char kind = BF_TIME_LOCAL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.scales = &scale, .times = &kind);
    const int words = wide ? 2 : 1;
    int64_t unit = 1;
    uint64_t seed = (uint64_t)scale + 5;
    for (int i = 0; i < scale; i++) unit *= 10;
    for (int i = 0; i < MANY; i++) {
        units[words * i] = some_seconds(&seed, i) / unit * (i % 2 ? unit : 1);
        if (wide) units[words * i + 1] = units[words * i] >> 63;
    }
    const bf_array a = bf_array_of(dtype, units, MANY), out = bf_array_of(BF_I64, found, MANY);
    const bf_array *const columns[] = {&a};
    for (int part = 0; part < PARTS; part++) {
        OWN(bf_expression) *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, parts[part], &x, &dtype, 1, &options, NULL, &e), BF_OK);
        assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
        for (int i = 0; i < MANY; i++) {
            const int64_t seconds = floor_of(units[words * i], unit);
            if (found[i] != part_of(part, seconds))
                fail_msg("%s of second %lld, scale %d: %lld, not %lld", parts[part],
                         (long long)seconds, scale, (long long)found[i],
                         (long long)part_of(part, seconds));
        }
    }
}

/* Where data are few, a number of threads has one width for even scales, the other for odd ones. */
TEST_ON_EVERY_CONTEXT(parts_are_those_of_the_calendar) {
    const int step = DATA_SHARE > 1 ? 2 : 1, threads = bf_context_threads(context);
    for (int scale = 0; scale <= BF_TIME_SCALE_MOST; scale++)
        for (int wide = (scale + threads) % step; wide < 2; wide += step)
            look_at_parts(context, scale, wide);
}

/* What the C library says of the same time of the first 400 years from 1970 on: all have the same
 * calendar. */
static int64_t far_part_of(int part, int64_t seconds) {
    const int64_t era = INT64_C(146097) * 86400, eras = floor_of(seconds, era);
    const int64_t near = part_of(part, seconds - eras * era);
    return part == 0 ? near + 400 * eras : part < 7 ? near : near + era * eras;
}

/* Seconds where loops end that have fewer bits, and where years, times and the calendar's own years
 * do. */
#define BEFORE_1970 INT64_C(719468)
static const int64_t borders[] = {
    0,
    -BEFORE_1970 * 86400,
    -(BEFORE_1970 + 366) * 86400,
    -(BEFORE_1970 + 10 * 146097) * 86400,
    -(BEFORE_1970 + 10 * 146097) * 86400 + (INT64_C(1) << 39),
    -(BEFORE_1970 + 1835 * 146097 - 366) * 86400,
    ((INT64_C(1) << 29) - BEFORE_1970 - 1835 * 146097 + 366) * 86400,
    INT64_C(253402300800), /* 10000-01-01 */
    INT64_C(951782400),    /* 2000-02-29 */
    INT64_C(4107542400),   /* 2100-03-01 */
    (INT64_C(1) << 62) - 400000,
    400000 - (INT64_C(1) << 62),
};

/* The times of a border are a tile of their own. */
TEST_ON_EVERY_CONTEXT(parts_are_exact_where_loops_end) {
    enum { NEAR = 99 };
    int64_t seconds[NEAR], found[NEAR];
    const char *const x = "x";
    const bf_dtype dtype = BF_I64;
    const unsigned char kind = BF_TIME_LOCAL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.times = &kind);
    const bf_array a = bf_array_of(BF_I64, seconds, NEAR), out = bf_array_of(BF_I64, found, NEAR);
    const bf_array *const columns[] = {&a};
    for (int part = 0; part < PARTS; part++) {
        OWN(bf_expression) *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, parts[part], &x, &dtype, 1, &options, NULL, &e), BF_OK);
        for (size_t b = 0; b < sizeof borders / sizeof *borders; b++) {
            for (int side = -1; side < 2; side++) {
                for (int i = 0; i < NEAR; i++)
                    seconds[i] = borders[b] + (side * NEAR + i - NEAR / 2) * (i % 2 ? 1 : 900);
                assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
                for (int i = 0; i < NEAR; i++)
                    if (found[i] != far_part_of(part, seconds[i]))
                        fail_msg("%s of second %lld: %lld, not %lld", parts[part],
                                 (long long)seconds[i], (long long)found[i],
                                 (long long)far_part_of(part, seconds[i]));
            }
        }
    }
}

/* A condition that is not met needs no part. */
TEST(times_that_are_too_far_have_no_parts) {
    static const int64_t z[] = {0, INT64_MIN, INT64_MAX};
    const bf_array at = bf_array_of(BF_I64, z, 3);
    const bf_array *const columns[COLUMNS] = {NULL, NULL, &at};
    int64_t room[3];
    OWN(bf_context) *context = make_context(NULL, 1);
    const bf_array out = bf_array_of(BF_I64, room, 3);
    bf_expression *e = parse(context, "year(z)", 0);
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_E_OVERFLOW);
    assert_string_equal(bf_context_message(context),
                        "character 1: the result at index 1 does not fit i64");
    bf_expression_destroy(e);
    e = parse(context, "z == \"1970-01-01\" ? year(z) : 0", 0);
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
    assert_true(room[0] == 1970 && room[1] == 0 && room[2] == 0);
    bf_expression_destroy(e);
}

/* ---- columns without a value ----------------------------------------------------------------- */

/* What an expression is of x, which is NULL in all rows, and a date d: the dtype of the results,
 * what times they are, and whether they are NULL. */
static const struct {
    const char *text;
    bf_dtype dtype;
    bf_time_kind time;
    bool null;
} of_any[] = {
    {"x", BF_I64, BF_TIME_NONE, true},
    {"x >= \"2026-01-01\"", BF_BOOL, BF_TIME_NONE, true},
    {"\"2026-01-01T00:00Z\" < x", BF_BOOL, BF_TIME_NONE, true},
    {"x < d", BF_BOOL, BF_TIME_NONE, true},
    {"x < 5", BF_BOOL, BF_TIME_NONE, true},
    {"x == x", BF_BOOL, BF_TIME_NONE, true},
    {"year(x)", BF_I64, BF_TIME_NONE, true},
    {"date(x)", BF_I64, BF_TIME_DATE, true},
    {"trunc(x, 'hour') < d", BF_BOOL, BF_TIME_NONE, true},
    {"x + 86400 < d", BF_BOOL, BF_TIME_NONE, true},
    {"x + 86400 < 5", BF_BOOL, BF_TIME_NONE, true},
    {"d - x", BF_I64, BF_TIME_NONE, true},
    {"d - x > 5", BF_BOOL, BF_TIME_NONE, true},
    {"d - x > d", BF_BOOL, BF_TIME_NONE, true},
    {"x - d > 5", BF_BOOL, BF_TIME_NONE, true},
    {"d + x", BF_I64, BF_TIME_LOCAL, true},
    {"max(x, d)", BF_I64, BF_TIME_DATE, true},
    {"month(max(x, x))", BF_I64, BF_TIME_NONE, true},
    {"x * 2 + x", BF_I64, BF_TIME_NONE, true},
    {"x / 2", BF_F64, BF_TIME_NONE, true},
    {"x ? 1 : 2", BF_I64, BF_TIME_NONE, false},
    {"x && d == d", BF_BOOL, BF_TIME_NONE, true},
    {"coalesce(x, d)", BF_I64, BF_TIME_DATE, false},
    {"coalesce(x, \"2026-11-28\")", BF_I64, BF_TIME_DATE, false},
    {"coalesce(x, 5)", BF_I64, BF_TIME_NONE, false},
    {"d == d ? x : null", BF_I64, BF_TIME_NONE, true},
    {"length(\"ab\") + x", BF_I64, BF_TIME_NONE, true},
    {"isnull(x)", BF_BOOL, BF_TIME_NONE, false},
};

TEST_ON_EVERY_CONTEXT(a_column_without_a_value_is_what_it_meets) {
    static const char *const two[] = {"x", "d"};
    static const bf_dtype both[] = {BF_I64, BF_I64};
    static const unsigned char kinds[] = {BF_TIME_ANY, BF_TIME_DATE};
    static const int64_t none[] = {0};
    static const uint8_t no_bits[] = {0};
    const bf_array x = bf_array_of(BF_I64, none, 1), d = bf_array_of(BF_I64, d_units, 1);
    const bf_column columns[] = {{.size = sizeof *columns, .numbers = &x, .valid = no_bits},
                                 {.size = sizeof *columns, .numbers = &d}};
    const bf_column *const list[] = {&columns[0], &columns[1]};
    const bf_expression_options how = BF_EXPRESSION_OPTIONS(.times = kinds);
    for (size_t i = 0; i < sizeof of_any / sizeof *of_any; i++) {
        OWN(bf_expression) *e = NULL;
        uint8_t valid = 2;
        int64_t room;
        if (bf_expression_parse(context, of_any[i].text, two, both, 2, &how, NULL, &e) != BF_OK)
            fail_msg("%s: %s", of_any[i].text, bf_context_message(context));
        const bf_array out = bf_array_of(bf_expression_dtype(e), &room, 1);
        assert_int_equal(bf_expression_eval_columns(e, list, &out, &valid), BF_OK);
        if (bf_expression_dtype(e) != of_any[i].dtype || valid == of_any[i].null ||
            bf_expression_time(e) != of_any[i].time)
            fail_msg("%s: dtype %d, time %d, valid %d", of_any[i].text, bf_expression_dtype(e),
                     bf_expression_time(e), valid);
    }
}

TEST(names_that_meet_times) {
    static const struct {
        const char *text;
        int kind;
    } texts[] = {
        {"x >= \"2026-01-01\"", BF_NAME_EITHER},
        {"x >= \"2026-01-01 \"", BF_NAME_STRING},
        {"\"2026-01-01T00:00Z\" < x", BF_NAME_EITHER},
        {"x == \"\" || x > \"2026-01-01\"", BF_NAME_STRING},
        {"year(x)", BF_NAME_NUMBER},
        {"trunc(x, \"month\")", BF_NAME_NUMBER},
        {"x - \"2026-01-01\"", BF_NAME_NUMBER},
        {"isnull(x)", BF_NAME_EITHER},
        {"(1 ? x : 'a') == 'b'", BF_NAME_STRING},
        {"(1 ? x : 1) == 2", BF_NAME_NUMBER},
    };
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char found[40];
        unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
        int count;
        assert_int_equal(bf_expression_names(context, texts[i].text, found, kinds, &count, NULL),
                         BF_OK);
        if (count != 1 || kinds[0] != texts[i].kind) fail_msg("%s: %d", texts[i].text, kinds[0]);
    }
}

UNIT_TESTS(expression_time, NULL, NULL)
