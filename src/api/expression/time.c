/* Times in expressions: integers with a scale, of which operations know that they are times. */
#include "api/expression/build.h"

#include "rules/map/map.h"

static bool is_time(const bf_expression_value *x) { return bf_expression_is_time(x); }

static bool is_any(const bf_expression_value *x) { return x->time == BF_TIME_ANY; }

static bool is_string(const bf_expression_value *x) { return x->at.kind == BF_EXPRESSION_STRING; }

bf_status bf_expression_refuse_time(bf_expression_builder *b) {
    return bf_expression_refuse(b, BF_E_DTYPE, b->position,
                                "times are compared, chosen, subtracted and taken apart, and "
                                "seconds are added to them; there is nothing else");
}

/* The condition of a choice is none of the values. */
static int first_value(int op) { return op == BF_EXPRESSION_SELECT ? 1 : 0; }

static bool takes_apart(int op) {
    return op == BF_EXPRESSION_TRUNC || bf_expression_takes_time(op);
}

static bool has_time(int op, const bf_expression_value *in, int count) {
    bool some = false;
    for (int i = first_value(op); i < count; i++) some = some || is_time(&in[i]);
    return some;
}

static bool keeps_time(int op) {
    return op == BF_MAP_MIN || op == BF_MAP_MAX || op == BF_EXPRESSION_SELECT;
}

/* Whether a result may be a time. */
static bool gives_any(int op) { return keeps_time(op) || op == BF_MAP_ADD || op == BF_MAP_SUB; }

/* What may be a time has to do with them where it meets a string, or where its result may be one.
 */
bool bf_expression_are_times(int op, const bf_expression_value *in, int count) {
    bool any = false, apt = gives_any(op);
    for (int i = first_value(op); i < count; i++) {
        any = any || is_any(&in[i]);
        apt = apt || is_string(&in[i]);
    }
    return takes_apart(op) || has_time(op, in, count) || (any && apt);
}

/* Makes a time of a string in quotes. */
static bf_status read_time(bf_expression_builder *b, bf_expression_value *x) {
    int64_t size;
    bf_time time;
    if (!is_string(x)) return BF_OK;
    const char *bytes = bf_expression_string_of(b, x, &size);
    if (!bf_time_parse(bytes, (size_t)size, &time))
        return bf_expression_refuse(b, BF_E_DTYPE, x->position,
                                    "this string is no time, such as \"2026-11-28\"");
    *x = bf_expression_units(time.units, time.scale);
    x->time = time.kind;
    return BF_OK;
}

/* ---- what is left of times ------------------------------------------------------------------- */

static const struct {
    const char *name;
    int op;
} units[] = {
    {"year", BF_EXPRESSION_TO_YEAR},     {"quarter", BF_EXPRESSION_TO_QUARTER},
    {"month", BF_EXPRESSION_TO_MONTH},   {"week", BF_EXPRESSION_TO_WEEK},
    {"day", BF_EXPRESSION_TO_DAY},       {"hour", BF_EXPRESSION_TO_HOUR},
    {"minute", BF_EXPRESSION_TO_MINUTE}, {"second", BF_EXPRESSION_TO_SECOND},
};

/* Finds the operation that a string names. */
static bf_status find_unit(bf_expression_builder *b, const bf_expression_value *x, int *op) {
    int64_t size = 0;
    const char *bytes = is_string(x) ? bf_expression_string_of(b, x, &size) : "";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == (size_t)size &&
            memcmp(units[i].name, bytes, (size_t)size) == 0)
            *op = units[i].op;
    if (*op != BF_EXPRESSION_TRUNC) return BF_OK;
    return bf_expression_refuse(b, BF_E_ARGUMENT, is_string(x) ? x->position : b->position,
                                "a time is cut to \"year\", \"quarter\", \"month\", \"week\", "
                                "\"day\", \"hour\", \"minute\" or \"second\"");
}

static bf_time_kind kind_of_part(int op, bf_time_kind time) {
    if (op < BF_EXPRESSION_TO_YEAR) return BF_TIME_NONE;
    return op <= BF_EXPRESSION_TO_DAY ? BF_TIME_DATE : time;
}

/* A time that is too far from 1970 for its parts is an error. */
static bf_status take_apart(bf_expression_builder *b, int op, const bf_expression_value *in,
                            bf_expression_value *out) {
    bf_expression_operand guard;
    if (!is_time(in) && !is_any(in))
        return bf_expression_refuse(b, BF_E_DTYPE, b->position, "this takes a time");
    bf_status status = bf_expression_find_guard(b, &guard);
    if (status == BF_OK)
        status = bf_expression_add_step(b, op, in->dtype, BF_I64, in, 1, true, out);
    if (status != BF_OK) return status;
    bf_expression_last_step(b)->guard = guard;
    bf_expression_last_step(b)->scale = in->scale;
    out->time = kind_of_part(op, in->time);
    return BF_OK;
}

/* ---- operations on times --------------------------------------------------------------------- */

/* Finds how the results of op show: a date that meets times is one of them. */
static bf_status join_kinds(bf_expression_builder *b, int op, const bf_expression_value *in,
                            int count, bf_time_kind *kind) {
    *kind = BF_TIME_NONE;
    for (int i = first_value(op); i < count; i++) {
        if (is_any(&in[i])) continue;
        const bf_time_kind low = *kind < in[i].time ? *kind : in[i].time;
        if (!is_time(&in[i])) return bf_expression_refuse_time(b);
        *kind = *kind > in[i].time ? *kind : in[i].time;
        if (*kind == BF_TIME_UTC && low == BF_TIME_LOCAL)
            return bf_expression_refuse(b, BF_E_DTYPE, b->position,
                                        "a local time meets one in UTC, which Z stands behind");
    }
    return BF_OK;
}

/* Seconds are integers or decimals. */
static bool is_seconds(const bf_expression_value *x) {
    const bool integer = bf_dtype_is_integer(x->dtype) || x->dtype == BF_I128;
    return !is_time(x) && (x->decimal || integer);
}

/* A time less what may be one may be seconds. A date and some seconds are a local time. */
static bf_status move_time(bf_expression_builder *b, int op, const bf_expression_value *in,
                           bf_expression_value *out) {
    const bf_expression_value *time = is_time(&in[0]) ? &in[0] : &in[1];
    const bf_time_kind kind = time->time == BF_TIME_DATE ? BF_TIME_LOCAL : time->time;
    if (!is_seconds(time == in ? &in[1] : &in[0])) return bf_expression_refuse_time(b);
    const bf_status status = bf_expression_build_arithmetic(b, op, in, 2, out);
    out->time = op == BF_MAP_SUB && is_any(&in[1]) ? BF_TIME_ANY : kind;
    return status;
}

static bf_status join_times(bf_expression_builder *b, int op, const bf_expression_value *in,
                            int count, bf_expression_value *out) {
    bf_time_kind kind;
    const bool comparison = op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op);
    if (!comparison && op != BF_MAP_SUB && !keeps_time(op)) return bf_expression_refuse_time(b);
    bf_status status = join_kinds(b, op, in, count, &kind);
    if (status == BF_OK) status = bf_expression_build_arithmetic(b, op, in, count, out);
    if (keeps_time(op)) out->time = kind;
    return status;
}

/* No time is among them. What is chosen beside a number is one. */
static bf_status build_any(bf_expression_builder *b, int op, const bf_expression_value *in,
                           int count, bf_expression_value *out) {
    const bool number = op == BF_EXPRESSION_SELECT && !(is_any(&in[1]) && is_any(&in[2]));
    const bf_status status = bf_expression_build_arithmetic(b, op, in, count, out);
    out->time = number ? BF_TIME_NONE : BF_TIME_ANY;
    return status;
}

bf_status bf_expression_build_times(bf_expression_builder *b, int op, const bf_expression_value *in,
                                    int count, bf_expression_value *out) {
    bf_expression_value x[3];
    bf_status status = op == BF_EXPRESSION_TRUNC ? find_unit(b, &in[1], &op) : BF_OK;
    for (int i = 0; i < count; i++) x[i] = in[i];
    for (int i = 0; i < (takes_apart(op) ? 1 : count) && status == BF_OK; i++)
        status = read_time(b, &x[i]);
    if (status != BF_OK) return status;
    if (takes_apart(op)) return take_apart(b, op, x, out);
    if (!has_time(op, x, count)) return build_any(b, op, x, count, out);
    const bool moved = op == BF_MAP_ADD || (op == BF_MAP_SUB && !is_time(&x[1]));
    return moved ? move_time(b, op, x, out) : join_times(b, op, x, count, out);
}
