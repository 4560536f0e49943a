#include "api/expression/function.h"

#include "api/expression/build.h"
#include "rules/map/map.h"

const bf_expression_function bf_expression_functions[] = {
    {"abs", BF_MAP_ABS, "n", false},
    {"sqrt", BF_MAP_SQRT, "n", false},
    {"floor", BF_EXPRESSION_FLOOR, "n", false},
    {"ceil", BF_EXPRESSION_CEIL, "n", false},
    {"round", BF_EXPRESSION_ROUND, "nn", false},
    {"log", BF_EXPRESSION_LOG, "n", false},
    {"log2", BF_EXPRESSION_LOG2, "n", false},
    {"log10", BF_EXPRESSION_LOG10, "n", false},
    {"exp", BF_EXPRESSION_EXP, "n", false},
    {"pow", BF_EXPRESSION_POW, "nn", false},
    {"min", BF_MAP_MIN, "nn+", false},
    {"max", BF_MAP_MAX, "nn+", false},
    {"fma", BF_MAP_FMA, "nnn", false},
    {"isnan", BF_EXPRESSION_ISNAN, "n", false},
    {"isnull", BF_EXPRESSION_ISNULL, "a", false},
    {"is_null", BF_EXPRESSION_ISNULL, "a", false},
    {"if", BF_EXPRESSION_IF, "nll", false},
    {"coalesce", BF_EXPRESSION_COALESCE, "ll+", false},
    {"year", BF_EXPRESSION_YEAR, "n", false},
    {"month", BF_EXPRESSION_MONTH, "n", false},
    {"day", BF_EXPRESSION_DAY, "n", false},
    {"hour", BF_EXPRESSION_HOUR, "n", false},
    {"minute", BF_EXPRESSION_MINUTE, "n", false},
    {"second", BF_EXPRESSION_SECOND, "n", false},
    {"weekday", BF_EXPRESSION_WEEKDAY, "n", false},
    {"date", BF_EXPRESSION_TO_DAY, "n", false},
    {"trunc", BF_EXPRESSION_TRUNC, "ns", false},
    {"length", BF_EXPRESSION_LENGTH, "s", false},
    {"contains", BF_EXPRESSION_CONTAINS, "ss", false},
    {"starts", BF_EXPRESSION_STARTS, "ss", false},
    {"ends", BF_EXPRESSION_ENDS, "ss", false},
    {"substr", BF_EXPRESSION_SUBSTR, "snn", true},
    {"trim", BF_EXPRESSION_TRIM, "s", true},
    {"lower", BF_EXPRESSION_LOWER, "s", true},
    {"upper", BF_EXPRESSION_UPPER, "s", true},
    {"concat", BF_EXPRESSION_CONCAT, "ss+", true},
    {0},
};

const char *bf_expression_takes(int op) {
    for (const bf_expression_function *f = bf_expression_functions; f->name != NULL; f++)
        if (f->op == op) return f->takes;
    if (op == BF_EXPRESSION_SELECT) return "nll";
    if (op == BF_EXPRESSION_MISSING) return "a";
    if (op == BF_EXPRESSION_MATCH) return "ss";
    return op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op) ? "ll" : "nn";
}

bool bf_expression_gives_text(int op) {
    for (const bf_expression_function *f = bf_expression_functions; f->name != NULL; f++)
        if (f->op == op) return f->text;
    return false;
}

/* ---- round ----------------------------------------------------------------------------------- */

/* Finds the digits that an argument asks for, which is a number of the text. */
static bf_status read_digits(bf_expression_builder *b, const bf_expression_value *x, int *digits) {
    const bool whole = x->at.kind == BF_EXPRESSION_CONSTANT && !bf_dtype_is_float(x->dtype);
    const bf_i128 n = whole ? bf_expression_whole_value(x) : BF_SCALE_MOST + 1;
    if (!whole || n < -BF_SCALE_MOST || n > BF_SCALE_MOST)
        return bf_expression_refuse(b, BF_E_ARGUMENT, b->position,
                                    "the digits are a whole number from %d to %d", -BF_SCALE_MOST,
                                    BF_SCALE_MOST);
    *digits = (int)n;
    return BF_OK;
}

/* Rounding to tens may give what does not fit. */
bf_status bf_expression_build_round(bf_expression_builder *b, const bf_expression_value *in,
                                    bf_expression_value *out) {
    bf_expression_value x = in[0];
    bf_expression_operand guard = {BF_EXPRESSION_NOTHING, 0};
    int digits = 0;
    bf_status status = read_digits(b, &in[1], &digits);
    if (x.decimal) bf_expression_to_units(&x);
    const bool exact = !bf_dtype_is_float(x.dtype);
    *out = in[0];
    if (exact && digits >= x.scale) return status;
    if (status == BF_OK && exact) status = bf_expression_find_guard(b, &guard);
    if (status == BF_OK && x.dtype == BF_BOOL)
        status = bf_expression_add_step(b, BF_MAP_CAST, BF_I64, BF_I64, &x, 1, true, &x);
    if (status == BF_OK)
        status = bf_expression_add_step(b, BF_EXPRESSION_ROUND, x.dtype, x.dtype, &x, 1, true, out);
    if (status != BF_OK) return status;
    bf_expression_last_step(b)->guard = guard;
    bf_expression_last_step(b)->scale = x.scale;
    bf_expression_last_step(b)->digits = digits;
    out->scale = exact && digits > 0 ? digits : 0;
    out->weak = x.weak;
    return BF_OK;
}

/* ---- functions of the C library -------------------------------------------------------------- */

bf_status bf_expression_build_library(bf_expression_builder *b, int op,
                                      const bf_expression_value *in, int count,
                                      bf_expression_value *out) {
    if (bf_expression_are_decimals(op, in, count))
        return bf_expression_build_decimals(b, op, in, count, out);
    return bf_expression_build_step(b, op, in, count, true, out);
}
