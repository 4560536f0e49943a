#include "plot/ticks.h"

#include "text/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Labels with more digits leave out a common offset or scale. */
enum { DIGITS = 6 };

/* Intermediate values are long double, because they may exceed the digits or exponents of double.
 */
static int64_t count_up(long double x) { return (int64_t)ceill(x - 1e-6L); }
static int64_t count_down(long double x) { return (int64_t)floorl(x + 1e-6L); }

/* Returns the number of decimal digits of |x|, at least 1. */
static int digits_of(int64_t x) {
    int n = 1;
    while (x /= 10) n++;
    return n;
}

/* ---- offset and scale ------------------------------------------------------------------------ */

static int64_t last_of(const ticks *t) { return t->first + (t->n - 1) * t->step; }

static int64_t greatest_digits(const ticks *t) {
    const int64_t a = llabs(t->first - t->offset), b = llabs(last_of(t) - t->offset);
    return a > b ? a : b;
}

/* Returns the leading digits that all labels share, followed by zeros; 0 if labels are short. */
static int64_t offset_of(const ticks *t) {
    const int64_t unit = (int64_t)text_power_of_ten(digits_of((t->n - 1) * t->step) + 1);
    if (greatest_digits(t) < text_power_of_ten(DIGITS) || greatest_digits(t) / unit == 0) return 0;
    return t->first / unit * unit;
}

/* Returns the scale's exponent: 0 unless numbers are long or far below 1. */
static int scale_of(const ticks *t) {
    const int digits = digits_of(greatest_digits(t)), power = digits + t->exponent;
    if (power > DIGITS || power < -2 || (power <= 0 && -t->exponent > DIGITS)) return power - 1;
    return 0;
}

ticks ticks_of(double lo, double hi, int most) {
    static const int steps[] = {1, 2, 5};
    const long double span = (long double)hi - lo;
    ticks t = {.exponent = (int)floorl(log10l(span / most)) - 1};
    for (int i = 0; t.n == 0 || t.n > most; i = (i + 1) % 3) {
        if (i == 0) t.exponent++;
        const long double unit = steps[i] * powl(10, t.exponent);
        const int64_t first = count_up(lo / unit), last = count_down(hi / unit);
        t.step = steps[i];
        t.first = first * steps[i];
        t.n = last - first < most ? (int)(last - first + 1) : most + 1;
        if (last < first) break;
    }
    if (t.n < 1) return (ticks){.n = 0};
    t.offset = offset_of(&t);
    t.scale = scale_of(&t);
    return t;
}

double ticks_at(const ticks *t, int i) {
    return (double)((long double)(t->first + i * t->step) * powl(10, t->exponent));
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Writes digits * 10^exponent without an exponent. */
static void put_decimal(char text[TICK_TEXT], int64_t digits, int exponent) {
    char all[TICK_TEXT];
    const int decimals = exponent < 0 ? -exponent : 0;
    int n = snprintf(all, sizeof all, "%0*" PRId64, decimals + 1, digits < 0 ? -digits : digits);
    for (; exponent > 0 && n < TICK_TEXT - 8; exponent--) all[n++] = '0';
    all[n] = '\0';
    snprintf(text, TICK_TEXT, "%s%.*s%s%s", digits < 0 ? "\u2212" : "", n - decimals, all,
             decimals ? "." : "", all + n - decimals);
}

/* Writes "×10^n" with a true minus sign. */
static void put_power(char text[24], int n) {
    snprintf(text, 24, "×10^%s%d", n < 0 ? "\u2212" : "", abs(n));
}

/* Writes digits * 10^exponent, with or without an exponent, whichever is shorter. */
static void put_offset(char text[TICK_TEXT], int64_t digits, int exponent) {
    char power[24], mantissa[TICK_TEXT];
    for (; digits % 10 == 0; exponent++) digits /= 10;
    const int decimals = digits_of(digits) - 1;
    if (exponent >= -15 && decimals + exponent < 15) {
        put_decimal(text, digits, exponent);
        return;
    }
    put_power(power, exponent + decimals);
    put_decimal(mantissa, digits, -decimals);
    snprintf(text, TICK_TEXT, "%.*s%s", TICK_TEXT - 24, mantissa, power);
}

void ticks_label(const ticks *t, int i, char text[TICK_TEXT]) {
    const int64_t digits = t->first + i * t->step - t->offset;
    if (digits == 0)
        strcpy(text, "0");
    else
        put_decimal(text, digits, t->exponent - t->scale);
}

void ticks_common(const ticks *t, char text[TICK_TEXT]) {
    char scale[24] = "", offset[TICK_TEXT] = "";
    if (t->scale) put_power(scale, t->scale);
    if (t->offset) put_offset(offset, llabs(t->offset), t->exponent);
    const char *sign = t->offset == 0 ? "" : t->offset < 0 ? "\u2212 " : "+ ";
    snprintf(text, TICK_TEXT, "%s%s%s%.*s", scale, *scale && t->offset ? " " : "", sign,
             TICK_TEXT - 32, offset);
}
