/* Strings in expressions: columns and texts in quotes, and what functions make of them. */
#include "api/expression/build.h"
#include "api/expression/function.h"

#include "base/pattern.h"
#include "rules/expression/string.h"
#include "rules/map/map.h"

const char *bf_expression_string_of(const bf_expression_builder *b, const bf_expression_value *x,
                                    int64_t *size) {
    const bf_expression_string *s = &b->program->string[x->at.number];
    *size = s->size;
    return b->program->bytes + s->begin;
}

bf_status bf_expression_refuse_string(bf_expression_builder *b) {
    return bf_expression_refuse(b, BF_E_DTYPE, b->position,
                                "strings are compared with strings, chosen, and taken by functions "
                                "of strings; there is nothing else");
}

static bool is_string(const bf_expression_value *x) { return x->dtype == BF_NONE; }

static bool is_text(const bf_expression_value *x) { return x->at.kind == BF_EXPRESSION_STRING; }

bool bf_expression_are_strings(int op, const bf_expression_value *in, int count) {
    bool some = bf_expression_takes_strings(op);
    for (int i = 0; i < count; i++) some = some || is_string(&in[i]);
    return some;
}

/* ---- comparisons and choices ----------------------------------------------------------------- */

static bf_status compare(bf_expression_builder *b, int op, const bf_expression_value *in,
                         bf_expression_value *out) {
    if (!is_string(&in[0]) || !is_string(&in[1])) return bf_expression_refuse_string(b);
    if (!is_text(&in[0]) || !is_text(&in[1]))
        return bf_expression_add_step(b, op, BF_NONE, BF_BOOL, in, 2, true, out);
    int64_t m, n;
    const char *x = bf_expression_string_of(b, &in[0], &m);
    const char *y = bf_expression_string_of(b, &in[1], &n);
    *out = bf_expression_number(BF_BOOL, bf_map_holds(op, bf_expression_string_order(x, m, y, n)));
    return BF_OK;
}

static bf_status choose(bf_expression_builder *b, const bf_expression_value *in,
                        bf_expression_value *out) {
    if (!is_string(&in[1]) || !is_string(&in[2])) return bf_expression_refuse_string(b);
    return bf_expression_add_step(b, BF_EXPRESSION_SELECT, BF_NONE, BF_NONE, in, 3, true, out);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Makes a whole number one of 64 or 128 bits. */
static bf_status take_whole(bf_expression_builder *b, bf_expression_value *x) {
    const bool number = bf_dtype_is_integer(x->dtype) || x->dtype == BF_I128;
    const bf_dtype to = x->dtype == BF_U64 ? BF_I128 : BF_I64;
    if (!number || x->scale > 0 || bf_expression_is_time(x))
        return bf_expression_refuse(b, BF_E_DTYPE, b->position,
                                    "the numbers of characters are integers");
    if (x->at.kind == BF_EXPRESSION_CONSTANT) return bf_expression_convert_constant(b, x, BF_I64);
    if (x->dtype == BF_I64 || x->dtype == BF_I128) return BF_OK;
    return bf_expression_add_step(b, BF_MAP_CAST, to, to, x, 1, true, x);
}

static bf_status take_arguments(bf_expression_builder *b, int op, bf_expression_value *x,
                                int count) {
    const char *takes = bf_expression_takes(op);
    bf_status status = BF_OK;
    for (int i = 0; i < count && status == BF_OK; i++)
        if (takes[i] != 's')
            status = take_whole(b, &x[i]);
        else if (!is_string(&x[i]))
            status = bf_expression_refuse(b, BF_E_DTYPE, b->position,
                                          "this takes strings, and numbers are none");
    return status;
}

/* A pattern is compiled where it is used. */
static bf_status check_pattern(bf_expression_builder *b, const bf_expression_value *x) {
    char why[BF_PATTERN_WHY];
    regex_t pattern;
    int64_t size;
    if (!is_text(x))
        return bf_expression_refuse(b, BF_E_DTYPE, b->position, "a pattern is a string in quotes");
    if (!bf_pattern_compile(&pattern, bf_expression_string_of(b, x, &size), why))
        return bf_expression_refuse(b, BF_E_ARGUMENT, x->position, "this is no pattern: %s", why);
    regfree(&pattern);
    return BF_OK;
}

static bf_dtype dtype_of(int op) {
    if (op >= BF_EXPRESSION_SUBSTR) return BF_NONE;
    return op == BF_EXPRESSION_LENGTH ? BF_I64 : BF_BOOL;
}

bf_status bf_expression_build_strings(bf_expression_builder *b, int op,
                                      const bf_expression_value *in, int count,
                                      bf_expression_value *out) {
    bf_expression_value x[3];
    if (op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op)) return compare(b, op, in, out);
    if (op == BF_EXPRESSION_SELECT) return choose(b, in, out);
    if (!bf_expression_takes_strings(op)) return bf_expression_refuse_string(b);
    for (int i = 0; i < count; i++) x[i] = in[i];
    bf_status status = take_arguments(b, op, x, count);
    if (status == BF_OK && op == BF_EXPRESSION_MATCH) status = check_pattern(b, &x[1]);
    if (status == BF_OK)
        status = bf_expression_add_step(b, op, BF_NONE, dtype_of(op), x, count, true, out);
    if (status == BF_OK && op == BF_EXPRESSION_MATCH)
        bf_expression_last_step(b)->digits = b->program->patterns++;
    return status;
}
