/* Decimals: integers of 64 or 128 bits in units of a power of ten. What is exact of integers is
 * exact of decimals of one scale; other operations take each rounded once to f64. */
#include "api/expression/build.h"

#include "rules/expression/wide.h"
#include "rules/map/map.h"

#include <bitfold/value.h>

static bool is_constant(const bf_expression_value *x) {
    return x->at.kind == BF_EXPRESSION_CONSTANT;
}

static bool is_comparison(int op) {
    return op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op);
}

/* The condition of a choice is none of the values that it chooses from. */
static int first_value(int op) { return op == BF_EXPRESSION_SELECT ? 1 : 0; }

bool bf_expression_are_decimals(int op, const bf_expression_value *in, int count) {
    bool some = false;
    for (int i = first_value(op); i < count; i++) some = some || in[i].scale > 0 || in[i].decimal;
    return some;
}

/* Is op exact, of decimals? */
static bool is_exact(int op) {
    switch (op) {
    case BF_MAP_ADD:
    case BF_MAP_SUB:
    case BF_MAP_MUL:
    case BF_MAP_MIN:
    case BF_MAP_MAX:
    case BF_MAP_FMA:
    case BF_MAP_NEG:
    case BF_MAP_ABS:
    case BF_EXPRESSION_MOD:
    case BF_EXPRESSION_SELECT: return true;
    default: return is_comparison(op);
    }
}

static bool has_units(const bf_expression_value *x) {
    return x->decimal || !bf_dtype_is_float(x->dtype);
}

static bool have_units(int op, const bf_expression_value *in, int count) {
    bool all = true;
    for (int i = first_value(op); i < count; i++) all = all && has_units(&in[i]);
    return all;
}

/* Do 64 bits hold this; wide: 38 digits? */
static bool fits(bool wide, bf_i128 x) {
    return wide ? bf_expression_wide_fits(x) : x >= INT64_MIN && x <= INT64_MAX;
}

bf_expression_value bf_expression_units(bf_i128 units, int scale) {
    return (bf_expression_value){.at = {BF_EXPRESSION_CONSTANT, -1},
                                 .dtype = fits(false, units) ? BF_I64 : BF_I128,
                                 .bits = (uint64_t)units,
                                 .units = units,
                                 .scale = scale};
}

void bf_expression_to_units(bf_expression_value *x) {
    *x = bf_expression_units(x->decimal ? x->units : bf_expression_whole_value(x), x->scale);
}

bf_status bf_expression_unscale_value(bf_expression_builder *b, bf_expression_value *x) {
    const bf_expression_value in[2] = {*x, bf_expression_units(x->scale, 0)};
    const bf_dtype work = x->dtype == BF_I128 ? BF_I128 : BF_I64;
    return bf_expression_add_step(b, BF_EXPRESSION_UNSCALE, work, BF_F64, in, 2, true, x);
}

/* ---- scales ---------------------------------------------------------------------------------- */

static bf_status check_scale(bf_expression_builder *b, bool wide, int scale) {
    const int most = wide ? BF_SCALE_MOST_I128 : BF_SCALE_MOST;
    if (scale <= most) return BF_OK;
    return bf_expression_refuse(b, BF_E_OVERFLOW, b->position,
                                "the result has %d digits behind the point, more than %d", scale,
                                most);
}

bf_status bf_expression_find_scale(bf_expression_builder *b, int op, bf_dtype work,
                                   const bf_expression_value *in, int *scale) {
    *scale = in[first_value(op)].scale;
    if (is_comparison(op)) *scale = 0;
    if (op == BF_MAP_MUL || op == BF_MAP_FMA) *scale += in[1].scale;
    return check_scale(b, work == BF_I128, *scale);
}

/* False: 38 digits do not hold units * 10^digits. */
static bool scale_up(bf_i128 units, int digits, bf_i128 *scaled) {
    const bf_expression_wide_result r =
        bf_expression_wide(BF_MAP_MUL, units, bf_power_of_ten(digits));
    *scaled = r.value;
    return r.beyond == 0;
}

/* Gives x a scale that is not below its own, to be compared: what 38 digits do not hold then is
 * beyond all that it is compared with, and no error. */
static bf_status raise(bf_expression_builder *b, bf_expression_value *x, int scale) {
    const bf_expression_value in[2] = {*x,
                                       bf_expression_units(bf_power_of_ten(scale - x->scale), 0)};
    if (scale == x->scale) return BF_OK;
    const bf_status status =
        bf_expression_add_step(b, BF_EXPRESSION_RAISE, BF_I128, BF_I128, in, 2, true, x);
    x->scale = scale;
    return status;
}

/* Gives x a scale that is not below its own, for an operation that is wide or not. */
static bf_status rescale(bf_expression_builder *b, bool wide, bf_expression_value *x, int scale) {
    const int digits = scale - x->scale;
    if (digits == 0) return BF_OK;
    bf_status status = check_scale(b, wide, scale);
    if (status != BF_OK) return status;
    if (is_constant(x)) {
        bf_i128 units;
        if (!scale_up(x->units, digits, &units) || !fits(wide, units))
            return bf_expression_refuse(b, BF_E_OVERFLOW, b->position,
                                        "a number does not fit %s with %d digits behind the point",
                                        wide ? "38 digits" : "i64", scale);
        *x = bf_expression_units(units, scale);
        return BF_OK;
    }
    if (wide && !b->wide && x->dtype != BF_I128)
        status = bf_expression_add_step(b, BF_MAP_CAST, BF_I128, BF_I128, x, 1, true, x);
    const bf_expression_value in[2] = {*x, bf_expression_units(bf_power_of_ten(digits), 0)};
    if (status == BF_OK) status = bf_expression_build_step(b, BF_MAP_MUL, in, 2, true, x);
    x->scale = scale;
    return status;
}

/* What ?: does not choose cannot fail. */
static bf_status rescale_choice(bf_expression_builder *b, bool wide, bf_expression_value *x, int i,
                                int scale) {
    bf_expression_guard_begin(b, x[0], i == 1 ? BF_EXPRESSION_MET : BF_EXPRESSION_UNMET);
    bf_status status = rescale(b, wide, &x[i], scale);
    bf_expression_guard_end(b);
    return status;
}

/* Gives the product of the first two and the third one scale. */
static bf_status align_product(bf_expression_builder *b, bf_expression_value *x) {
    const int product = x[0].scale + x[1].scale;
    return product > x[2].scale ? rescale(b, false, &x[2], product)
                                : rescale(b, false, &x[0], x[2].scale - x[1].scale);
}

static bf_status align(bf_expression_builder *b, int op, bf_expression_value *x, int count) {
    const int first = first_value(op);
    const bool wide = bf_expression_is_wide(b, x + first, count - first);
    int most = 0;
    bf_status status = BF_OK;
    for (int i = first; i < count; i++) most = x[i].scale > most ? x[i].scale : most;
    if (op == BF_MAP_MUL) return BF_OK;
    if (op == BF_MAP_FMA) return align_product(b, x);
    const bool raised = is_comparison(op) && (wide || b->program->overflow != BF_OVERFLOW_ERROR);
    for (int i = first; i < count && status == BF_OK; i++)
        status = op == BF_EXPRESSION_SELECT ? rescale_choice(b, wide, x, i, most)
                 : raised                   ? raise(b, &x[i], most)
                                            : rescale(b, wide, &x[i], most);
    return status;
}

/* ---- comparisons with numbers ---------------------------------------------------------------- */

static int mirrored(int op) {
    switch (op) {
    case BF_MAP_LT: return BF_MAP_GT;
    case BF_MAP_LE: return BF_MAP_GE;
    case BF_MAP_GT: return BF_MAP_LT;
    case BF_MAP_GE: return BF_MAP_LE;
    default: return op;
    }
}

static bf_i128 floor_of(bf_i128 x, bf_i128 divisor) {
    return (x - bf_expression_integer_mod(x, divisor)) / divisor;
}

/* Compares x with a number that is rounded down to the scale of x, so that nothing can overflow. If
 * that number is none of those that x may be, x is on one side of it. */
static bf_status compare_number(bf_expression_builder *b, int op, bf_expression_value x,
                                bf_expression_value number, bf_expression_value *out) {
    const int finer = number.scale - x.scale;
    const bf_i128 power = bf_power_of_ten(finer > 0 ? finer : 0);
    const bool wide = b->wide || x.dtype == BF_I128 || x.dtype == BF_U64;
    bf_i128 at;
    const bool held = scale_up(number.units, finer < 0 ? -finer : 0, &at);
    const bf_i128 down = held ? floor_of(at, power) : 0;
    const bool rest = held && down * power != at;
    bf_expression_value in[2] = {x, x};
    if (!held || !fits(wide, down))
        op = bf_map_holds(op, number.units < 0 ? 1 : -1) ? BF_MAP_EQ : BF_MAP_NE;
    else if (rest && (op == BF_MAP_EQ || op == BF_MAP_NE))
        op = op == BF_MAP_EQ ? BF_MAP_NE : BF_MAP_EQ;
    else
        in[1] = bf_expression_units(down, x.scale);
    if (rest && op == BF_MAP_LT) op = BF_MAP_LE;
    if (rest && op == BF_MAP_GE) op = BF_MAP_GT;
    return bf_expression_build_step(b, op, in, 2, true, out);
}

/* ---- operations ------------------------------------------------------------------------------ */

static bf_status build_exact(bf_expression_builder *b, int op, bf_expression_value *x, int count,
                             bf_expression_value *out) {
    for (int i = first_value(op); i < count; i++)
        if (is_constant(&x[i])) bf_expression_to_units(&x[i]);
    if (is_comparison(op) && is_constant(&x[1])) return compare_number(b, op, x[0], x[1], out);
    if (is_comparison(op) && is_constant(&x[0]))
        return compare_number(b, mirrored(op), x[1], x[0], out);
    bf_status status = align(b, op, x, count);
    return status == BF_OK ? bf_expression_build_step(b, op, x, count, true, out) : status;
}

bf_status bf_expression_build_decimals(bf_expression_builder *b, int op,
                                       const bf_expression_value *in, int count,
                                       bf_expression_value *out) {
    bf_expression_value x[3];
    bf_status status = BF_OK;
    for (int i = 0; i < count; i++) x[i] = in[i];
    if (is_exact(op) && have_units(op, x, count)) return build_exact(b, op, x, count, out);
    for (int i = first_value(op); i < count && status == BF_OK; i++)
        if (x[i].scale > 0 && !x[i].decimal) status = bf_expression_unscale_value(b, &x[i]);
    return status == BF_OK ? bf_expression_build_step(b, op, x, count, true, out) : status;
}

/* ---- numbers alone --------------------------------------------------------------------------- */

/* Computes op of integers of one scale, or of a product; false: it has no such result. */
static bool fold_units(int op, const bf_i128 x[3], const bf_expression_value *in, bf_i128 *units) {
    if (op == BF_MAP_FMA || (op == BF_EXPRESSION_MOD && x[1] == 0)) return false;
    if (op == BF_EXPRESSION_SELECT) {
        *units = in[0].bits != 0 ? x[1] : x[2];
        return true;
    }
    const bf_expression_wide_result r = bf_expression_wide(op, x[0], x[1]);
    *units = r.value;
    return r.beyond == 0;
}

static void keep_decimal(bf_i128 units, int scale, bf_expression_value *out) {
    for (; scale > 0 && units % 10 == 0; scale--) units /= 10;
    if (scale > BF_SCALE_MOST_I128) return;
    out->decimal = true;
    out->units = units;
    out->scale = scale;
}

void bf_expression_fold_decimals(int op, const bf_expression_value *in, int count,
                                 bf_expression_value *out) {
    const int first = first_value(op);
    bf_i128 x[3] = {0, 0, 0}, units;
    int scale = 0;
    bool held = true;
    if (!bf_expression_are_decimals(op, in, count) || !is_exact(op) || !have_units(op, in, count))
        return;
    for (int i = first; i < count; i++) scale = in[i].scale > scale ? in[i].scale : scale;
    for (int i = first; i < count; i++) {
        bf_expression_value at = in[i];
        bf_expression_to_units(&at);
        const bf_i128 power = bf_power_of_ten(op == BF_MAP_MUL ? 0 : scale - at.scale);
        x[i] = bf_expression_raise(at.units, power);
        held = held && x[i] / power == at.units;
    }
    if (is_comparison(op))
        out->bits = bf_map_compare_integers(op, x[0], x[1]);
    else if (held && fold_units(op, x, in, &units))
        keep_decimal(units, op == BF_MAP_MUL ? in[0].scale + in[1].scale : scale, out);
}
