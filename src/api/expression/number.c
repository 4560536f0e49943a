/* Floats of the text, by exact integers: rounded once, whatever the caller's locale and rounding
 * mode. */
#include "api/expression/text.h"

#include "rules/expression/wide.h"

enum {
    LIMBS = 256,
    DIGITS = 800,    /* so many are read; of others it matters only whether they are 0 */
    MOST = 400,      /* a number of 10^MOST is infinite, and its inverse is 0 */
    HEX_MOST = 5000, /* the limit of numbers of 2^HEX_MOST */
    AT_ONCE = 9,     /* powers of ten in a limb */
    SPARE = 128      /* bits of a quotient */
};

/* A whole number, the least limb first. */
typedef struct large {
    int n;
    uint32_t limb[LIMBS];
} large;

static void multiply_add(large *x, uint32_t factor, uint32_t term) {
    uint64_t carry = term;
    for (int i = 0; i < x->n; i++, carry >>= 32) {
        carry += (uint64_t)x->limb[i] * factor;
        x->limb[i] = (uint32_t)carry;
    }
    if (carry != 0) x->limb[x->n++] = (uint32_t)carry;
}

/* Divides x, and returns the remainder. */
static uint32_t divide(large *x, uint32_t divisor) {
    uint64_t rest = 0;
    for (int i = x->n - 1; i >= 0; i--) {
        rest = rest << 32 | x->limb[i];
        x->limb[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    while (x->n > 0 && x->limb[x->n - 1] == 0) x->n--;
    return (uint32_t)rest;
}

/* Rounds x * 2^exponent once; sticky: it is a little more. */
static uint64_t round_large(const large *x, int exponent, bool sticky) {
    bf_u128 top = 0;
    for (int i = x->n - 1, k = 0; k < 4; i--, k++) top = top << 32 | (i >= 0 ? x->limb[i] : 0);
    for (int i = x->n - 5; i >= 0; i--) sticky = sticky || x->limb[i] != 0;
    bf_exact_float exact = bf_exact_make(false, top, exponent + 32 * (x->n - 4));
    exact.sticky = sticky;
    return bf_exact_round(bf_format_f64(), exact);
}

/* 10^n, but at most 10^AT_ONCE */
static uint32_t power_of_ten(int n) { return (uint32_t)bf_power_of_ten(n < AT_ONCE ? n : AT_ONCE); }

/* Rounds x * 10^scale once. */
static uint64_t round_decimal(large *x, int scale, bool sticky) {
    int divisions = scale < 0 ? -scale : 0, shift = 0;
    for (; scale > 0; scale -= AT_ONCE) multiply_add(x, power_of_ten(scale), 0);
    for (; divisions > 0 && shift < SPARE + 4 * divisions; shift += 16)
        multiply_add(x, 1u << 16, 0);
    for (; divisions > 0; divisions -= AT_ONCE) sticky |= divide(x, power_of_ten(divisions)) != 0;
    return round_large(x, -shift, sticky);
}

static int digit_of(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

/* A number: x * base^power, and a little more if sticky; x has `digits` digits. */
typedef struct digits {
    large x;
    int digits;
    int64_t power;
    bool sticky;
} digits;

static void read_digits(const char *at, const char *end, uint32_t base, digits *d) {
    bool point = false;
    for (; at < end; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        bool read = d->digits < DIGITS;
        if (read)
            multiply_add(&d->x, base, (uint32_t)digit_of(*at));
        else
            d->sticky |= *at != '0';
        if (read && d->x.n > 0) d->digits++;
        d->power += (read ? 0 : 1) - (point ? 1 : 0);
    }
}

/* Reads an exponent with its sign. One that is too large to matter stays so. */
static int64_t read_exponent(const char *at, const char *end) {
    bool negative = *at == '-';
    int64_t x = 0;
    for (at += *at == '-' || *at == '+' ? 1 : 0; at < end; at++)
        x = x < INT32_MAX ? 10 * x + digit_of(*at) : x;
    return negative ? -x : x;
}

uint64_t bf_token_float(const char *at, const char *end) {
    bool hex = at[0] == '0' && (at[1] | 32) == 'x';
    const char *exponent = at;
    digits d = {.digits = 0};
    while (exponent < end && (*exponent | 32) != (hex ? 'p' : 'e')) exponent++;
    read_digits(at + (hex ? 2 : 0), exponent, hex ? 16 : 10, &d);
    int64_t given = exponent < end ? read_exponent(exponent + 1, end) : 0;
    int64_t power = hex ? 4 * d.power + given : d.power + given;
    int64_t size = power + (hex ? 4 * d.digits : d.digits), most = hex ? HEX_MOST : MOST;
    if (d.x.n == 0 || size < -most) return 0;
    if (size > most) return bf_format_inf(bf_format_f64());
    return hex ? round_large(&d.x, (int)power, d.sticky)
               : round_decimal(&d.x, (int)power, d.sticky);
}

/* Digits of a decimal, without zeros before and behind them: units * 10^power. */
static bool read_units(const char *at, const char *end, uint64_t *units, int64_t *power) {
    enum { DECIMAL_DIGITS = 15 };
    int count = 0, zeros = 0;
    bool point = false;
    for (*units = 0, *power = 0; at < end; at++) {
        *power -= point && *at != '.';
        point |= *at == '.';
        zeros = *at == '0' ? zeros + 1 : zeros;
        if (*at == '0' || *at == '.') continue;
        count += count > 0 ? zeros + 1 : 1;
        if (count > DECIMAL_DIGITS) return false;
        *units = *units * (uint64_t)bf_power_of_ten(*units > 0 ? zeros + 1 : 1) +
                 (uint64_t)digit_of(*at);
        zeros = 0;
    }
    *power += count > 0 ? zeros : 0;
    return true;
}

bool bf_token_decimal(const char *at, const char *end, bf_i128 *units, int *scale) {
    const char *exponent = at;
    uint64_t x;
    int64_t power;
    if (at[0] == '0' && (at[1] | 32) == 'x') return false;
    while (exponent < end && (*exponent | 32) != 'e') exponent++;
    if (!read_units(at, exponent, &x, &power)) return false;
    power = x == 0 ? 0 : power + (exponent < end ? read_exponent(exponent + 1, end) : 0);
    if (power > BF_SCALE_MOST_I128 || power < -BF_SCALE_MOST_I128) return false;
    const bf_expression_wide_result r =
        bf_expression_wide(BF_MAP_MUL, (bf_i128)x, bf_power_of_ten(power > 0 ? (int)power : 0));
    *units = r.value;
    *scale = power < 0 ? (int)-power : 0;
    return r.beyond == 0;
}
