/* Decimals: integers of 64 bits in units of a power of ten. What is exact of integers is exact of
 * decimals of one scale; other operations take each rounded once to f64. */
#include "api/expression/build.h"

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

/* Does i64, with a scale, hold all that this may be? */
static bool has_units(const bf_expression_value *x) {
    return x->decimal || (!bf_dtype_is_float(x->dtype) && x->dtype != BF_U64);
}

static bool have_units(int op, const bf_expression_value *in, int count) {
    bool all = true;
    for (int i = first_value(op); i < count; i++) all = all && has_units(&in[i]);
    return all;
}

static bf_expression_value units_of(int64_t units, int scale) {
    return (bf_expression_value){.at = {BF_EXPRESSION_CONSTANT, -1},
                                 .dtype = BF_I64,
                                 .bits = (uint64_t)units,
                                 .scale = scale};
}

void bf_expression_to_units(bf_expression_value *x) {
    *x = units_of(x->decimal ? x->units : (int64_t)x->bits, x->scale);
}

bf_status bf_expression_unscale_value(bf_expression_builder *b, bf_expression_value *x) {
    const bf_expression_value in[2] = {*x, units_of(x->scale, 0)};
    return bf_expression_add_step(b, BF_EXPRESSION_UNSCALE, BF_I64, BF_F64, in, 2, true, x);
}

/* ---- scales ---------------------------------------------------------------------------------- */

static bf_status refuse_scale(bf_expression_builder *b, int scale) {
    return bf_expression_refuse(b, BF_E_OVERFLOW, b->position,
                                "the result has %d digits behind the point, more than %d", scale,
                                BF_SCALE_MOST);
}

bf_status bf_expression_find_scale(bf_expression_builder *b, int op, const bf_expression_value *in,
                                   int *scale) {
    *scale = in[first_value(op)].scale;
    if (is_comparison(op)) *scale = 0;
    if (op == BF_MAP_MUL || op == BF_MAP_FMA) *scale += in[1].scale;
    return *scale > BF_SCALE_MOST ? refuse_scale(b, *scale) : BF_OK;
}

static bool fits(bf_i128 x) { return x >= INT64_MIN && x <= INT64_MAX; }

static bf_i128 scaled(int64_t units, int digits) {
    return (bf_i128)units * (bf_i128)bf_power_of_ten(digits);
}

/* Gives x a scale that is not below its own. */
static bf_status rescale(bf_expression_builder *b, bf_expression_value *x, int scale) {
    const int digits = scale - x->scale;
    if (digits == 0) return BF_OK;
    if (scale > BF_SCALE_MOST) return refuse_scale(b, scale);
    if (!is_constant(x)) {
        const bf_expression_value in[2] = {*x, units_of((int64_t)bf_power_of_ten(digits), 0)};
        bf_status status = bf_expression_build_step(b, BF_MAP_MUL, in, 2, true, x);
        x->scale = scale;
        return status;
    }
    const bf_i128 units = scaled((int64_t)x->bits, digits);
    if (!fits(units))
        return bf_expression_refuse(b, BF_E_OVERFLOW, b->position,
                                    "a number does not fit i64 with %d digits behind the point",
                                    scale);
    *x = units_of((int64_t)units, scale);
    return BF_OK;
}

/* What ?: does not choose cannot fail. */
static bf_status rescale_choice(bf_expression_builder *b, bf_expression_value *x, int i,
                                int scale) {
    bf_expression_guard_begin(b, x[0], i == 1 ? BF_EXPRESSION_MET : BF_EXPRESSION_UNMET);
    bf_status status = rescale(b, &x[i], scale);
    bf_expression_guard_end(b);
    return status;
}

/* Gives the product of the first two and the third one scale. */
static bf_status align_product(bf_expression_builder *b, bf_expression_value *x) {
    const int product = x[0].scale + x[1].scale;
    return product > x[2].scale ? rescale(b, &x[2], product)
                                : rescale(b, &x[0], x[2].scale - x[1].scale);
}

static bf_status align(bf_expression_builder *b, int op, bf_expression_value *x, int count) {
    int most = 0;
    bf_status status = BF_OK;
    for (int i = first_value(op); i < count; i++) most = x[i].scale > most ? x[i].scale : most;
    if (op == BF_MAP_MUL) return BF_OK;
    if (op == BF_MAP_FMA) return align_product(b, x);
    for (int i = first_value(op); i < count && status == BF_OK; i++)
        status =
            op == BF_EXPRESSION_SELECT ? rescale_choice(b, x, i, most) : rescale(b, &x[i], most);
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
    const bf_i128 power = (bf_i128)bf_power_of_ten(finer > 0 ? finer : 0);
    const bf_i128 at = scaled((int64_t)number.bits, finer < 0 ? -finer : 0);
    const bf_i128 down = floor_of(at, power);
    const bool rest = down * power != at;
    bf_expression_value in[2] = {x, x};
    if (!fits(down))
        op = bf_map_holds(op, down < 0 ? 1 : -1) ? BF_MAP_EQ : BF_MAP_NE;
    else if (rest && (op == BF_MAP_EQ || op == BF_MAP_NE))
        op = op == BF_MAP_EQ ? BF_MAP_NE : BF_MAP_EQ;
    else
        in[1] = units_of((int64_t)down, x.scale);
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
    switch (op) {
    case BF_EXPRESSION_SELECT: *units = in[0].bits != 0 ? x[1] : x[2]; return true;
    case BF_EXPRESSION_MOD:
        if (x[1] != 0) *units = bf_expression_integer_mod(x[0], x[1]);
        return x[1] != 0;
    case BF_MAP_MIN:
    case BF_MAP_MAX: *units = (x[0] < x[1]) == (op == BF_MAP_MIN) ? x[0] : x[1]; return true;
    case BF_MAP_FMA: return false;
    default: *units = bf_map_integer((bf_map_op)op, x[0], x[1], x[2]).value; return true;
    }
}

static void keep_decimal(bf_i128 units, int scale, bf_expression_value *out) {
    for (; scale > 0 && units % 10 == 0; scale--) units /= 10;
    if (scale > BF_SCALE_MOST || !fits(units)) return;
    out->decimal = true;
    out->units = (int64_t)units;
    out->scale = scale;
}

void bf_expression_fold_decimals(int op, const bf_expression_value *in, int count,
                                 bf_expression_value *out) {
    bf_i128 x[3] = {0, 0, 0}, units;
    int scale = 0;
    if (!bf_expression_are_decimals(op, in, count) || !is_exact(op) || !have_units(op, in, count))
        return;
    for (int i = first_value(op); i < count; i++) scale = in[i].scale > scale ? in[i].scale : scale;
    for (int i = first_value(op); i < count; i++) {
        bf_expression_value at = in[i];
        bf_expression_to_units(&at);
        x[i] = scaled((int64_t)at.bits, op == BF_MAP_MUL ? 0 : scale - at.scale);
    }
    if (is_comparison(op))
        out->bits = bf_map_compare_integers(op, x[0], x[1]);
    else if (fold_units(op, x, in, &units))
        keep_decimal(units, op == BF_MAP_MUL ? in[0].scale + in[1].scale : scale, out);
}
