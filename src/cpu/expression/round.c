/* Rounding to a number of digits. */
#include "cpu/expression/expression.h"

#include "base/double.h"
#include "rules/expression/round.h"
#include "rules/expression/wide.h"

/* ---- floats ---------------------------------------------------------------------------------- */

/* Where the product is a tie, its error tells what the exact one is. The quotient of two numbers
 * that f64 holds is rounded once. */
static void round_f64(const char *x, int digits, char *out, int64_t n) {
    const double power = (double)bf_power_of_ten(digits), whole = 0x1p52;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = bf_load_bits(x + 8 * i, 8);
        const double value = bf_double_of_bits(bits), size = __builtin_fabs(value),
                     product = size * power;
        if (!(product < whole / 2)) {
            bf_store_bits(out + 8 * i, 8, bf_expression_round_float(bf_format_f64(), bits, digits));
            continue;
        }
        double q = (product + whole) - whole;
        const double apart = product - q, error = __builtin_fma(size, power, -product);
        if (apart == 0.5 && error > 0) q += 1;
        if (apart == -0.5 && error < 0) q -= 1;
        bf_store_bits(out + 8 * i, 8, bf_bits_of_double(__builtin_copysign(q / power, value)));
    }
}

static void round_floats(const bf_expression_step *s, const char *x, char *out, int64_t n) {
    const int bytes = bf_dtype_bytes(s->work);
    const bf_format f = bf_format_of(s->work);
    for (int64_t i = 0; i < n; i++)
        bf_store_bits(out + i * bytes, bytes,
                      bf_expression_round_float(f, bf_load_bits(x + i * bytes, bytes), s->digits));
}

/* ---- integers -------------------------------------------------------------------------------- */

/* False: 64 bits do not hold the power. */
static bool drop_few(const bf_expression_step *s, const char *x, char *out, int64_t n) {
    const int dropped = s->scale - s->digits;
    if (s->work != BF_I64 || s->digits < 0 || dropped > BF_SCALE_MOST) return false;
    const int64_t power = (int64_t)bf_power_of_ten(dropped);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)bf_load_bits(x + 8 * i, 8), q = at / power, rest = at % power;
        const int64_t size = rest < 0 ? -rest : rest, other = power - size;
        const int64_t up = size > other || (size == other && q % 2 != 0);
        bf_store_bits(out + 8 * i, 8, (uint64_t)(at < 0 ? q - up : q + up));
    }
    return true;
}

static bf_expression_wide_result round_integer(const bf_expression_step *s, bf_i128 x) {
    const bf_i128 q = bf_expression_drop_digits(x, s->scale - s->digits);
    return bf_expression_wide(BF_MAP_MUL, q, bf_power_of_ten(s->digits < 0 ? -s->digits : 0));
}

/* Stores one that is in i128. False: it does not fit. */
static bool store_wide(bf_expression_wide_result r, bool saturate, char *to) {
    const bf_i128 most = BF_EXPRESSION_WIDE_END - 1;
    bf_store_i128(to, !saturate || r.beyond == 0 ? r.value : r.beyond < 0 ? -most : most);
    return r.beyond == 0;
}

/* What is made of 64 bits is far from the ends of 128. */
static bool store_integer(const bf_expression_step *s, bf_expression_wide_result r, bool saturate,
                          char *to) {
    bool misfit = false;
    const bf_exact_integer x = bf_integer_make(r.value);
    bf_store_bits(to, bf_dtype_bytes(s->to), bf_integer_encode(s->to, x, saturate, &misfit));
    return !misfit;
}

static int64_t round_integers(const bf_expression_step *s, bf_overflow_policy overflow,
                              const char *x, char *out, int64_t n) {
    const int bytes = bf_number_bytes(s->work);
    const bool wide = s->work == BF_I128, saturate = overflow == BF_OVERFLOW_SATURATE;
    for (int64_t i = 0; i < n; i++) {
        const char *at = x + i * bytes;
        const bf_i128 value =
            wide ? bf_load_i128(at) : bf_integer_decode(s->work, bf_load_bits(at, bytes));
        const bf_expression_wide_result r = round_integer(s, value);
        char *to = out + i * bytes;
        const bool fits = wide ? store_wide(r, saturate, to) : store_integer(s, r, saturate, to);
        if (!fits && overflow == BF_OVERFLOW_ERROR) return i;
    }
    return -1;
}

/* The output may be the input, which must stay if an element fails. */
int64_t bf_expression_round(const bf_expression_step *s, bf_overflow_policy overflow,
                            const void *const in[3], void *out, int64_t n,
                            bf_expression_room *room) {
    char *const to = (char *)room->out;
    int64_t place = -1;
    if (s->work == BF_F64 && s->digits >= 0)
        round_f64(in[0], s->digits, to, n);
    else if (bf_dtype_is_float(s->work))
        round_floats(s, in[0], to, n);
    else if (!drop_few(s, in[0], to, n))
        place = round_integers(s, overflow, in[0], to, n);
    if (place < 0) memcpy(out, to, (size_t)(n * bf_number_bytes(s->to)));
    return place;
}
