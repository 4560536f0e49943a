/* Ticks: few, round, within the range, and with labels that read back as where they stand. */
#include "cli/plot/ticks.h"
#include "cli/plot/times.h"
#include "tests/support/data.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number in a label, whose minus sign is a real one. */
static long double read_back(const char *label) {
    static const char minus[] = "\u2212";
    const bool negative = strncmp(label, minus, sizeof minus - 1) == 0;
    char *end;
    const long double x = strtold(negative ? label + sizeof minus - 1 : label, &end);
    assert_int_equal(*end, '\0');
    return negative ? -x : x;
}

static bool is_round(int64_t step) { return step == 1 || step == 2 || step == 5; }

static void check(double lo, double hi, int most) {
    const ticks t = ticks_of(lo, hi, most);
    char label[TICK_TEXT], before[TICK_TEXT] = "";
    const long double span = (long double)hi - lo;
    assert_in_range(t.n, 1, most);
    assert_true(is_round(t.step));
    for (int i = 0; i < t.n; i++) {
        const long double at = (long double)(t.first + i * t.step) * powl(10, t.exponent);
        assert_true(at >= lo - 1e-5L * span && at <= hi + 1e-5L * span);
        ticks_label(&t, i, label);
        assert_string_not_equal(label, before);
        assert_true(strlen(label) < 12);
        const long double shown = read_back(label) * powl(10, t.scale - t.exponent);
        assert_int_equal(llroundl(shown) + t.offset, t.first + i * t.step);
        strcpy(before, label);
    }
}

/* From 0 to 1; from 0 to n - 1. */
static double unit(uint64_t *rng) { return (double)(next_random(rng) >> 11) * 0x1p-53; }
static int below(uint64_t *rng, unsigned n) { return (int)(next_random(rng) % n); }

TEST(ranges_of_any_width_and_place_have_ticks) {
    uint64_t rng = 11;
    for (int i = 0; i < 100000; i++) {
        const double size = pow(10, below(&rng, 600) - 300.0);
        const double place = size * (unit(&rng) - 0.5) * pow(10, below(&rng, 12));
        const double lo = place, hi = place + size * (0.5 + unit(&rng));
        if (isfinite(hi) && hi > lo) check(lo, hi, 3 + below(&rng, 8));
    }
}

TEST(ranges_at_the_ends_of_doubles_have_ticks) {
    check(-1e308, 7e307, 7);
    check(-1.7e308, 1.7e308, 7);
    check(5e-324, 5e-323, 7);
    check(0, 1, 2);
    check(0.1, 0.3, 3);
}

TEST(neighbouring_doubles_are_no_trouble) {
    static const double places[] = {1, 1e9, -1e300, 12345.678};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        check(places[i], nextafter(places[i], INFINITY), 9);
}

static void expect(double lo, double hi, const char *labels, const char *common) {
    char all[1024] = "", text[TICK_TEXT];
    const ticks t = ticks_of(lo, hi, 8);
    for (int i = 0; i < t.n; i++) {
        ticks_label(&t, i, text);
        strcat(strcat(all, i ? " " : ""), text);
    }
    assert_string_equal(all, labels);
    ticks_common(&t, text);
    assert_string_equal(text, common);
}

TEST(labels_are_those_of_a_paper) {
    expect(0, 190.2, "0 50 100 150", "");
    expect(-4.8, 5.1, "−4 −2 0 2 4", "");
    expect(0.1, 0.5, "0.1 0.2 0.3 0.4 0.5", "");
    expect(1700, 2008, "1700 1750 1800 1850 1900 1950 2000", "");
    expect(0, 3e-5, "0 0.5 1.0 1.5 2.0 2.5 3.0", "×10^−5");
    expect(0, 123456789, "0 0.2 0.4 0.6 0.8 1.0 1.2", "×10^8");
    expect(1e9, 1e9 + 3, "0 0.5 1.0 1.5 2.0 2.5 3.0", "+ 1000000000");
    expect(1e9, 1e9 + 1e-6, "0 2 4 6 8", "×10^−7 + 1000000000");
    expect(1e16, 1e16 + 64, "0 10 20 30 40 50 60", "+ 1×10^16");
}

/* ---- times ----------------------------------------------------------------------------------- */

/* The time that a label and what is common to all of them say. */
static bf_time read_label(const time_ticks *t, int i) {
    char text[2 * BF_TIME_TEXT];
    bf_time time;
    const char *const label = t->label[i];
    const bool clock = label[2] == ':';
    snprintf(text, sizeof text, "%.*s%s%s%s", clock ? 10 : 0, t->common, clock ? "T" : "", label,
             strlen(label) == 4   ? "-01-01"
             : strlen(label) == 7 ? "-01"
                                  : "");
    if (!bf_time_parse(text, strlen(text), &time)) fail_msg("no time: '%s'", text);
    return time;
}

/* Ticks are within the range, ascend, and stand where their labels say. */
static void check_times(const time_axis *x, int most) {
    const time_ticks t = time_ticks_of(x, most);
    assert_in_range(t.n, 0, most);
    for (int i = 0; i < t.n; i++) {
        const bf_time time = read_label(&t, i);
        int64_t units = time.units;
        for (int k = time.scale; k < x->scale; k++) units *= 10;
        assert_int_equal(units, t.at[i]);
        assert_true((double)t.at[i] >= x->lo && (double)t.at[i] <= x->hi);
        assert_true(i == 0 || t.at[i] > t.at[i - 1]);
    }
    if (x->hi - x->lo >= 2 * 86400 * pow(10, x->scale)) assert_in_range(t.n, 1, most);
}

TEST(times_of_any_range_have_ticks) {
    uint64_t rng = 12;
    for (int i = 0; i < 50000; i++) {
        const int scale = below(&rng, 10);
        const double second = pow(10, scale), most = scale > 7 ? 6e9 : 6e10;
        const double lo = (unit(&rng) - 0.5) * most * second;
        const double hi = lo + pow(10, unit(&rng) * (scale > 7 ? 9.5 : 11)) * second;
        const time_axis x = {lo, hi, below(&rng, 2) ? BF_TIME_LOCAL : BF_TIME_DATE, scale};
        check_times(&x, 2 + below(&rng, 8));
        check_times(&(time_axis){lo, lo + 1 + below(&rng, 99), BF_TIME_LOCAL, scale}, 5);
    }
}

static void expect_times(const char *lo, const char *hi, const char *labels, const char *common) {
    char all[1024] = "";
    bf_time a, b;
    assert_true(bf_time_parse(lo, strlen(lo), &a) && bf_time_parse(hi, strlen(hi), &b));
    const double scale = pow(10, 3 - a.scale), other = pow(10, 3 - b.scale);
    const time_axis x = {(double)a.units * scale, (double)b.units * other, a.kind, 3};
    const time_ticks t = time_ticks_of(&x, 6);
    for (int i = 0; i < t.n; i++) strcat(strcat(all, i ? " " : ""), t.label[i]);
    assert_string_equal(all, labels);
    assert_string_equal(t.common, common);
}

TEST(labels_of_times_say_what_their_step_needs) {
    expect_times("2019-03-05", "2021-06-07", "2019-07 2020-01 2020-07 2021-01", "");
    expect_times("1999-12-31", "2026-01-01", "2000 2005 2010 2015 2020 2025", "");
    expect_times("2020-02-27", "2020-03-02",
                 "2020-02-27 2020-02-28 2020-02-29 2020-03-01 2020-03-02", "");
    expect_times("2020-02-20", "2020-03-20", "2020-02-24 2020-03-02 2020-03-09 2020-03-16", "");
    expect_times("2020-02-27", "2020-02-28", "2020-02-27 2020-02-28", "");
    expect_times("2020-01-01T22:30", "2020-01-02T03:00",
                 "2020-01-01T23:00 2020-01-02T00:00 "
                 "2020-01-02T01:00 2020-01-02T02:00 2020-01-02T03:00",
                 "");
    expect_times("2020-01-01T08:00Z", "2020-01-01T09:01Z", "08:00 08:15 08:30 08:45 09:00",
                 "2020-01-01 UTC");
    expect_times("2020-01-01T08:00:00.5", "2020-01-01T08:00:01",
                 "08:00:00.5 08:00:00.6 08:00:00.7 "
                 "08:00:00.8 08:00:00.9 08:00:01",
                 "2020-01-01");
    expect_times("2020-01-01T08:00:00.5", "2020-01-01T08:00:00.501", "08:00:00.5 08:00:00.501",
                 "2020-01-01");
    expect_times("0001-01-01", "9999-12-31", "2000 4000 6000 8000", "");
}

UNIT_TESTS(ticks, NULL, NULL)
