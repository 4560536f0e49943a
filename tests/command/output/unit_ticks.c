/* Ticks: few, round, within the range, and with labels that read back as where they stand. */
#include "cli/plot/ticks.h"
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

static void ranges_of_any_width_and_place_have_ticks(void **unused) {
    (void)unused;
    uint64_t rng = 11;
    for (int i = 0; i < 100000; i++) {
        const double size = pow(10, below(&rng, 600) - 300.0);
        const double place = size * (unit(&rng) - 0.5) * pow(10, below(&rng, 12));
        const double lo = place, hi = place + size * (0.5 + unit(&rng));
        if (isfinite(hi) && hi > lo) check(lo, hi, 3 + below(&rng, 8));
    }
}

static void ranges_at_the_ends_of_doubles_have_ticks(void **unused) {
    (void)unused;
    check(-1e308, 7e307, 7);
    check(-1.7e308, 1.7e308, 7);
    check(5e-324, 5e-323, 7);
    check(0, 1, 2);
    check(0.1, 0.3, 3);
}

static void neighbouring_doubles_are_no_trouble(void **unused) {
    (void)unused;
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

static void labels_are_those_of_a_paper(void **unused) {
    (void)unused;
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

UNIT_TESTS(ticks) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_any_width_and_place_have_ticks),
        cmocka_unit_test(ranges_at_the_ends_of_doubles_have_ticks),
        cmocka_unit_test(neighbouring_doubles_are_no_trouble),
        cmocka_unit_test(labels_are_those_of_a_paper),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
