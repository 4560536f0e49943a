#include "api/expression/build.h"

#include "api/map/map.h"
#include "rules/expression/wide.h"
#include "rules/map/map.h"
#include "rules/reduce/result.h"
#include <bitfold/value.h>

#include <stdio.h>

bf_status bf_expression_refuse(bf_expression_builder *b, bf_status status, int position,
                               const char *format, ...) {
    char text[BF_MESSAGE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    b->position = position;
    return bf_fail(b->context, status, "character %d: %s", position + 1, text);
}

bool bf_expression_holds(const bf_expression_builder *b, bf_i128 x) {
    return b->digits ? bf_expression_wide_fits(x) : x >= INT64_MIN && x <= UINT64_MAX;
}

bf_status bf_expression_refuse_long(bf_expression_builder *b, bf_status status, int position) {
    return bf_expression_refuse(b, status, position, "the number is beyond %s",
                                b->digits ? "38 digits" : "64 bits");
}

bf_expression_value bf_expression_number(bf_dtype dtype, uint64_t bits) {
    return (bf_expression_value){
        .at = {BF_EXPRESSION_CONSTANT, -1}, .dtype = dtype, .weak = dtype != BF_BOOL, .bits = bits};
}

bf_expression_value bf_expression_integer(bf_i128 x) {
    const bool narrow = x >= INT64_MIN && x <= UINT64_MAX;
    const bf_dtype dtype = !narrow ? BF_I128 : x > INT64_MAX ? BF_U64 : BF_I64;
    bf_expression_value number = bf_expression_number(dtype, (uint64_t)x);
    number.units = x;
    return number;
}

bf_expression_value bf_expression_null(void) {
    return (bf_expression_value){.at = {BF_EXPRESSION_NULL, 0}, .dtype = BF_BOOL};
}

bf_i128 bf_expression_whole_value(const bf_expression_value *x) {
    return x->dtype == BF_I128 ? x->units : bf_integer_decode(x->dtype, x->bits);
}

static bool is_constant(const bf_expression_value *x) {
    return x->at.kind == BF_EXPRESSION_CONSTANT;
}

static bool is_register(const bf_expression_value *x) {
    return x->at.kind == BF_EXPRESSION_REGISTER;
}

static bool is_null(const bf_expression_value *x) { return x->at.kind == BF_EXPRESSION_NULL; }

/* NULL that nothing is said about. */
static bool is_untyped(const bf_expression_value *x) { return is_null(x) && x->at.number == 0; }

static bool is_weak_integer(const bf_expression_value *x) {
    return is_constant(x) && x->weak && (bf_dtype_is_integer(x->dtype) || x->dtype == BF_I128);
}

/* Numbers of the text, or what becomes of them alone. */
static bool are_numbers(const bf_expression_value *in, int count) {
    bool numbers = true;
    for (int i = 0; i < count; i++)
        numbers = numbers && (in[i].weak || (is_constant(&in[i]) && in[i].dtype == BF_BOOL));
    return numbers;
}

static bool is_whole(bf_dtype dtype) { return !bf_dtype_is_float(dtype); }

/* Integers are divided: may a divisor be 0? */
static bool may_divide_by_zero(int op, const bf_expression_value *in) {
    bool divides = op == BF_MAP_DIV || op == BF_EXPRESSION_MOD;
    if (!divides || !is_whole(in[0].dtype) || !is_whole(in[1].dtype)) return false;
    return !is_constant(&in[1]) || bf_expression_whole_value(&in[1]) == 0;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

/* An operation of map that takes the inputs of this one to the same dtype. */
static bf_map_op like_map(int op) {
    if (op == BF_EXPRESSION_POW) return BF_MAP_DIV;
    if (bf_expression_is_library(op)) return BF_MAP_SQRT;
    return op > BF_MAP_CAST ? BF_MAP_MIN : (bf_map_op)op;
}

/* i64 meets u64 among decimals, which are what is written. */
bool bf_expression_is_wide(const bf_expression_builder *b, const bf_expression_value *in,
                           int count) {
    bool whole = true, wide = b->wide, plain = false, sign = false;
    for (int i = 0; i < count; i++) {
        const bf_dtype dtype = in[i].dtype;
        whole = whole && (in[i].decimal || is_whole(dtype));
        wide = wide || (!is_constant(&in[i]) && dtype == BF_I128);
        plain = plain || (!in[i].weak && dtype == BF_U64);
        sign = sign || in[i].decimal ||
               (!in[i].weak && (bf_dtype_is_signed(dtype) || dtype == BF_I128));
    }
    return whole && (wide || (b->decimals && plain && sign));
}

/* The dtype that promotes as this one does. */
static bf_dtype like_dtype(bf_dtype dtype, bool wide) {
    return dtype == BF_I128 || (wide && dtype == BF_U64) ? BF_I64 : dtype;
}

/* Finds the dtype that op computes in. SELECT's condition is not among the values. */
static bf_status find_work(bf_expression_builder *b, int op, const bf_expression_value *in,
                           int count, bf_dtype *work) {
    bf_dtype dtypes[3];
    unsigned weak = 0;
    const char *why;
    const bool wide = bf_expression_is_wide(b, in, count);
    for (int i = 0; i < count; i++) {
        dtypes[i] = like_dtype(in[i].dtype, wide);
        weak |= (in[i].weak ? 1u : 0) << i;
    }
    bf_status status = bf_map_find_work(like_map(op), dtypes, count, weak, work, &why);
    if (status == BF_OK && op == BF_EXPRESSION_MOD && *work == BF_BOOL) {
        status = BF_E_DTYPE;
        why = "bools have no such operation: cast them first";
    }
    if (status != BF_OK) return bf_expression_refuse(b, status, b->position, "%s", why);
    if (wide && bf_dtype_is_integer(*work)) *work = BF_I128;
    return BF_OK;
}

static bf_dtype result_of(int op, bf_dtype work) {
    return op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op) ? BF_BOOL : work;
}

static bf_status refuse_misfit(bf_expression_builder *b, const bf_expression_value *x,
                               bf_dtype to) {
    char text[BF_VALUE_TEXT];
    const bool whole = is_whole(x->dtype);
    const bf_value value = whole ? bf_value_from_i128(bf_expression_whole_value(x))
                                 : (bf_value){.dtype = x->dtype, .as.u64 = x->bits};
    bf_value_format(&value, text);
    return bf_expression_refuse(b, BF_E_OVERFLOW, b->position, "the number %s does not fit %s",
                                text, bf_dtype_name(to));
}

/* The bits of x in a dtype of at most 64 bits. */
static uint64_t cast_wide(bf_i128 x, bf_dtype to, bool *misfit) {
    const bf_u128 size = x < 0 ? -(bf_u128)x : (bf_u128)x;
    if (bf_dtype_is_float(to))
        return bf_exact_round(bf_format_of(to), bf_exact_make(x < 0, size, 0));
    return bf_integer_encode(to, bf_integer_make(x), false, misfit);
}

bf_status bf_expression_convert_constant(bf_expression_builder *b, bf_expression_value *x,
                                         bf_dtype to) {
    bool misfit = false;
    uint64_t bits = 0;
    if (to == BF_I128)
        x->units = bf_expression_whole_value(x);
    else if (x->dtype == BF_I128)
        bits = cast_wide(x->units, to, &misfit);
    else
        bits = bf_cast(x->dtype, to, x->bits, false, &misfit);
    if (misfit) return refuse_misfit(b, x, to);
    x->bits = bits;
    x->dtype = to;
    return BF_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void release_value(bf_expression_builder *b, const bf_expression_value *x) {
    if (is_register(x)) b->busy[x->at.number] = false;
}

static bf_status take_register(bf_expression_builder *b, bf_expression_operand *at) {
    int i = 0;
    while (i < BF_EXPRESSION_REGISTERS && b->busy[i]) i++;
    if (i == BF_EXPRESSION_REGISTERS)
        return bf_expression_refuse(b, BF_E_ARGUMENT, b->position,
                                    "the expression is nested too deeply");
    b->busy[i] = true;
    if (i >= b->program->registers) b->program->registers = i + 1;
    *at = (bf_expression_operand){BF_EXPRESSION_REGISTER, i};
    return BF_OK;
}

static bool is_same_constant(const bf_expression_constant *a, const bf_expression_constant *b) {
    return a->dtype == b->dtype && a->bits == b->bits && a->high == b->high;
}

/* Gives a constant its number. */
static bf_status place_constant(bf_expression_builder *b, bf_expression_value *x) {
    bf_expression_program *p = b->program;
    bf_expression_constant c = {x->dtype, x->bits, 0};
    if (x->dtype == BF_I128)
        c = (bf_expression_constant){BF_I128, (uint64_t)x->units, (uint64_t)(x->units >> 64)};
    int i = 0;
    while (i < p->constants && !is_same_constant(&p->constant[i], &c)) i++;
    if (i == BF_EXPRESSION_CONSTANTS)
        return bf_expression_refuse(b, BF_E_ARGUMENT, b->position,
                                    "the expression has more than %d different numbers",
                                    BF_EXPRESSION_CONSTANTS);
    p->constant[i] = c;
    if (i == p->constants) p->constants++;
    x->at.number = i;
    return BF_OK;
}

static void copy_inputs(bf_expression_value to[3], const bf_expression_value *in, int count) {
    for (int i = 0; i < count; i++) to[i] = in[i];
}

/* What the CPU alone does. */
static const char *own_name(int op) {
    if (bf_expression_takes_strings(op)) return "takes strings";
    if (op == BF_EXPRESSION_ROUND) return "rounds to digits";
    return bf_expression_takes_time(op) ? "takes times apart" : "computes powers and logarithms";
}

bf_status bf_expression_add_step(bf_expression_builder *b, int op, bf_dtype work, bf_dtype to,
                                 const bf_expression_value *in, int count, bool used,
                                 bf_expression_value *out) {
    bf_expression_program *p = b->program;
    bf_expression_value x[3];
    bf_status status = BF_OK;
    if (p->steps == BF_EXPRESSION_STEPS)
        return bf_expression_refuse(b, BF_E_ARGUMENT, b->position,
                                    "the expression has more than %d operations",
                                    BF_EXPRESSION_STEPS);
    bf_expression_step s = {.op = op, .arity = count, .work = work, .to = to};
    s.position = b->position;
    copy_inputs(x, in, count);
    for (int i = 0; i < count && status == BF_OK; i++) {
        bool condition = op == BF_EXPRESSION_SELECT && i == 0;
        if (is_constant(&x[i]) && !condition && work != BF_NONE)
            status = bf_expression_convert_constant(b, &x[i], work);
        if (is_constant(&x[i]) && status == BF_OK) status = place_constant(b, &x[i]);
        s.from[i] = x[i].dtype;
        s.in[i] = x[i].at;
        p->nulls = p->nulls || is_null(&x[i]);
        bool as_wide = bf_number_bytes(x[i].dtype) == bf_number_bytes(to);
        if (used && as_wide) release_value(b, &x[i]);
    }
    if (status == BF_OK) status = take_register(b, &s.out);
    if (status != BF_OK) return status;
    for (int i = 0; i < count; i++)
        if (used && bf_number_bytes(x[i].dtype) != bf_number_bytes(to)) release_value(b, &x[i]);
    p->step[p->steps++] = s;
    p->wide = p->wide || work == BF_I128;
    p->spans = p->spans || to == BF_NONE;
    if (p->nulls) p->own = "makes NULLs";
    if (op >= BF_EXPRESSION_OWN) p->own = own_name(op);
    if (work == BF_I128) p->own = "computes with i128";
    *out = (bf_expression_value){.at = s.out, .dtype = to};
    return BF_OK;
}

static bf_status build_condition(bf_expression_builder *b, bf_expression_value *x) {
    if (x->dtype == BF_NONE) return bf_expression_refuse_string(b);
    if (bf_expression_is_time(x)) return bf_expression_refuse_time(b);
    if (x->dtype == BF_BOOL) return BF_OK;
    if (!is_constant(x) && x->dtype == BF_I128) {
        const bf_expression_value in[2] = {*x, bf_expression_number(BF_I64, 0)};
        return bf_expression_add_step(b, BF_MAP_NE, BF_I128, BF_BOOL, in, 2, true, x);
    }
    if (!is_constant(x))
        return bf_expression_add_step(b, BF_MAP_CAST, BF_BOOL, BF_BOOL, x, 1, true, x);
    bf_status status = bf_expression_convert_constant(b, x, BF_BOOL);
    x->weak = false;
    return status;
}

/* ---- guards ---------------------------------------------------------------------------------- */

void bf_expression_guard_begin(bf_expression_builder *b, bf_expression_value condition, int op) {
    b->guards[b->guard_count++] = (bf_expression_guard){.condition = condition, .op = op};
}

void bf_expression_guard_end(bf_expression_builder *b) {
    const bf_expression_guard *g = &b->guards[--b->guard_count];
    if (g->ready) b->busy[g->mask.number] = false;
}

/* Computes the mask of guard i, with those around it. */
static bf_status compute_mask(bf_expression_builder *b, int i) {
    bf_expression_guard *g = &b->guards[i];
    bf_expression_value x = g->condition, mask;
    bf_status status = BF_OK;
    if (is_constant(&x)) status = place_constant(b, &x);
    if (status == BF_OK)
        status = bf_expression_add_step(b, g->op, BF_BOOL, BF_BOOL, &x, 1, false, &mask);
    if (i > 0 && status == BF_OK) {
        const bf_expression_value in[2] = {mask, {.at = b->guards[i - 1].mask, .dtype = BF_BOOL}};
        release_value(b, &mask);
        status =
            bf_expression_add_step(b, BF_EXPRESSION_AND, BF_BOOL, BF_BOOL, in, 2, false, &mask);
    }
    if (status != BF_OK) return status;
    g->mask = mask.at;
    g->ready = true;
    return BF_OK;
}

bf_status bf_expression_find_guard(bf_expression_builder *b, bf_expression_operand *guard) {
    bf_status status = BF_OK;
    *guard = (bf_expression_operand){BF_EXPRESSION_NOTHING, 0};
    if (b->guard_count == 0) return BF_OK;
    for (int i = 0; i < b->guard_count && status == BF_OK; i++)
        if (!b->guards[i].ready) status = compute_mask(b, i);
    *guard = b->guards[b->guard_count - 1].mask;
    return status;
}

/* ---- steps of operations --------------------------------------------------------------------- */

static bool can_overflow(const bf_expression_builder *b, int op, bf_dtype work) {
    bool arithmetic = op <= BF_MAP_ABS && op != BF_MAP_MIN && op != BF_MAP_MAX && op != BF_MAP_DIV;
    return arithmetic && (bf_dtype_is_integer(work) || work == BF_I128) &&
           b->program->overflow == BF_OVERFLOW_ERROR;
}

/* Rounds the inputs from `first` on that are integers of 128 bits to f64. */
static bf_status round_wide(bf_expression_builder *b, int first, bf_expression_value *x,
                            int count) {
    bf_status status = BF_OK;
    for (int i = first; i < count && status == BF_OK; i++)
        if (!is_constant(&x[i]) && x[i].dtype == BF_I128)
            status = bf_expression_unscale_value(b, &x[i]);
    return status;
}

bf_status bf_expression_build_step(bf_expression_builder *b, int op, const bf_expression_value *in,
                                   int count, bool used, bf_expression_value *out) {
    int first = op == BF_EXPRESSION_SELECT ? 1 : 0;
    int scale = 0;
    bf_expression_operand guard = {BF_EXPRESSION_NOTHING, 0};
    bf_expression_value x[3];
    bf_dtype work;
    copy_inputs(x, in, count);
    bf_status status = find_work(b, op, in + first, count - first, &work);
    if (status == BF_OK && (work == BF_I64 || work == BF_I128))
        status = bf_expression_find_scale(b, op, work, in, &scale);
    if (status == BF_OK && bf_dtype_is_float(work)) status = round_wide(b, first, x, count);
    if (status != BF_OK) return status;
    bool zero = may_divide_by_zero(op, in);
    if (zero || can_overflow(b, op, work)) status = bf_expression_find_guard(b, &guard);
    if (status == BF_OK)
        status = bf_expression_add_step(b, op, work, result_of(op, work), x, count, used, out);
    if (status != BF_OK) return status;
    out->scale = scale;
    b->program->step[b->program->steps - 1].guard = guard;
    b->program->step[b->program->steps - 1].refuse_zero = zero;
    out->weak = are_numbers(in, count) && out->dtype != BF_BOOL;
    return BF_OK;
}

/* ---- operations of numbers alone ------------------------------------------------------------- */

/* There is no such number. It may not be needed: then a step fails where it is. */
static bf_status refuse_number(bf_expression_builder *b, bool beyond, bf_expression_value *out) {
    const bf_expression_value zero = bf_expression_number(BF_I64, 0), in[2] = {zero, zero};
    if (b->guard_count == 0)
        return beyond ? bf_expression_refuse_long(b, BF_E_OVERFLOW, b->position)
                      : bf_expression_refuse(b, BF_E_ARGUMENT, b->position,
                                             "integer division by zero");
    bf_status status = bf_expression_build_step(b, BF_EXPRESSION_MOD, in, 2, true, out);
    if (status == BF_OK) b->program->step[b->program->steps - 1].beyond = beyond;
    return status;
}

/* Integers of the text are exact, as long as they may be. */
static bf_status fold_integers(bf_expression_builder *b, int op, const bf_expression_value *in,
                               int count, bf_expression_value *out) {
    bf_i128 x[3] = {0, 0, 0};
    if (op == BF_EXPRESSION_SELECT) {
        *out = bf_expression_integer(bf_expression_whole_value(&in[in[0].bits != 0 ? 1 : 2]));
        return BF_OK;
    }
    for (int i = 0; i < count; i++) x[i] = bf_expression_whole_value(&in[i]);
    if (op <= BF_MAP_CAST && bf_map_is_comparison((bf_map_op)op)) {
        *out = bf_expression_number(BF_BOOL, bf_map_compare_integers(op, x[0], x[1]));
        return BF_OK;
    }
    const bool fused = op == BF_MAP_FMA;
    bf_expression_wide_result r = bf_expression_wide(fused ? BF_MAP_MUL : op, x[0], x[1]);
    if (fused && r.beyond == 0) r = bf_expression_wide(BF_MAP_ADD, r.value, x[2]);
    if (r.beyond != 0 || !bf_expression_holds(b, r.value)) return refuse_number(b, true, out);
    *out = bf_expression_integer(r.value);
    return BF_OK;
}

/* The result of numbers is a number. */
static bf_status fold_plain(bf_expression_builder *b, int op, const bf_expression_value *in,
                            int count, bf_expression_value *out) {
    bf_expression_value x[3] = {{.bits = 0}};
    bool misfit = false, whole = true;
    bf_dtype work = BF_NONE;
    int first = op == BF_EXPRESSION_SELECT ? 1 : 0;
    if (may_divide_by_zero(op, in)) return refuse_number(b, false, out);
    for (int i = first; i < count; i++) whole = whole && is_weak_integer(&in[i]);
    const bool exact = whole && op != BF_MAP_DIV && op != BF_MAP_SQRT;
    bf_status status = exact ? BF_OK : find_work(b, op, in + first, count - first, &work);
    if (status != BF_OK) return status;
    if (exact || work == BF_I128) return fold_integers(b, op, in, count, out);
    for (int i = 0; i < count && status == BF_OK; i++) {
        x[i] = in[i];
        if (i >= first) status = bf_expression_convert_constant(b, &x[i], work);
    }
    if (status != BF_OK) return status;
    uint64_t bits;
    if (op == BF_EXPRESSION_SELECT)
        bits = x[0].bits != 0 ? x[1].bits : x[2].bits;
    else if (op > BF_MAP_CAST)
        bits = bf_expression_element(op, work, x[0].bits, x[1].bits);
    else
        bits = bf_map_element((bf_map_op)op, work, x[0].bits, x[1].bits, x[2].bits, false, &misfit);
    if (misfit) return refuse_number(b, true, out);
    *out = bf_expression_number(result_of(op, work), bits);
    out->weak = are_numbers(in + first, count - first) && out->dtype != BF_BOOL;
    return BF_OK;
}

static bf_status fold_numbers(bf_expression_builder *b, int op, const bf_expression_value *in,
                              int count, bf_expression_value *out) {
    bf_status status = fold_plain(b, op, in, count, out);
    if (status == BF_OK && is_constant(out)) bf_expression_fold_decimals(op, in, count, out);
    return status;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* x * y + z of integers of 128 bits, which may be decimals: the product is one, too. */
static bf_status build_wide_sum(bf_expression_builder *b, const bf_expression_value *in,
                                bf_expression_value *out) {
    bf_expression_value x[2] = {{.bits = 0}, in[2]};
    bf_status status = bf_expression_build_arithmetic(b, BF_MAP_MUL, in, 2, &x[0]);
    return status == BF_OK ? bf_expression_build_arithmetic(b, BF_MAP_ADD, x, 2, out) : status;
}

bf_status bf_expression_build_arithmetic(bf_expression_builder *b, int op,
                                         const bf_expression_value *in, int count,
                                         bf_expression_value *out) {
    bool numbers = true;
    for (int i = 0; i < count; i++) numbers = numbers && is_constant(&in[i]);
    if (numbers) return fold_numbers(b, op, in, count, out);
    if (op == BF_MAP_FMA && bf_expression_is_wide(b, in, count)) return build_wide_sum(b, in, out);
    if (bf_expression_are_decimals(op, in, count))
        return bf_expression_build_decimals(b, op, in, count, out);
    return bf_expression_build_step(b, op, in, count, true, out);
}

/* NaN alone is not itself. Of a NULL it is NULL, in a column of integers too. */
static bf_status build_isnan(bf_expression_builder *b, const bf_expression_value *in,
                             bf_expression_value *out) {
    const bf_expression_value twice[2] = {*in, *in};
    return bf_expression_build_arithmetic(b, BF_MAP_NE, twice, 2, out);
}

/* Builds AND, OR and NOT, which take bools. */
static bf_status build_logic(bf_expression_builder *b, int op, const bf_expression_value *in,
                             int count, bf_expression_value *out) {
    bf_expression_value x[3] = {{.bits = 0}};
    bf_status status = BF_OK;
    copy_inputs(x, in, count);
    for (int i = 0; i < count && status == BF_OK; i++) status = build_condition(b, &x[i]);
    if (status != BF_OK) return status;
    if (op == BF_EXPRESSION_NOT) x[1] = bf_expression_number(BF_BOOL, 0);
    if (op == BF_EXPRESSION_NOT) return bf_expression_build_arithmetic(b, BF_MAP_EQ, x, 2, out);
    if (is_constant(&x[0]) && is_constant(&x[1]))
        return fold_numbers(b, op == BF_EXPRESSION_AND ? BF_MAP_MUL : BF_MAP_ADD, x, 2, out);
    return bf_expression_add_step(b, op, BF_BOOL, BF_BOOL, x, 2, true, out);
}

static bf_status build_isnull(bf_expression_builder *b, int op, const bf_expression_value *in,
                              bf_expression_value *out) {
    if (in->at.kind == BF_EXPRESSION_COLUMN || is_register(in))
        return bf_expression_add_step(b, BF_EXPRESSION_ISNULL, in->dtype, BF_BOOL, in, 1,
                                      op == BF_EXPRESSION_ISNULL, out);
    *out = bf_expression_number(BF_BOOL, is_null(in));
    return BF_OK;
}

/* ---- NULL ------------------------------------------------------------------------------------ */

static bf_status build_operation(bf_expression_builder *b, int op, const bf_expression_value *in,
                                 int count, bf_expression_value *out);

/* What is chosen beside a NULL says what the NULL would be. */
static bf_status choose_null(bf_expression_builder *b, const bf_expression_value *in,
                             bf_expression_value *out) {
    bf_expression_value x[3] = {in[0], in[1], in[2]};
    const int null = is_null(&x[1]) ? 1 : 2, other = 3 - null;
    if (is_null(&x[0]) || (is_null(&x[1]) && is_null(&x[2]))) {
        *out = x[2];
        release_value(b, &x[0]);
        release_value(b, &x[1]);
        return BF_OK;
    }
    if (is_constant(&x[other]) && x[other].decimal) bf_expression_to_units(&x[other]);
    x[null] = x[other];
    x[null].at = (bf_expression_operand){BF_EXPRESSION_NULL, 1};
    if (!is_constant(&x[0]) || !is_constant(&x[other]))
        return build_operation(b, BF_EXPRESSION_SELECT, x, 3, out);
    *out = in[x[0].bits != 0 ? 1 : 2];
    return BF_OK;
}

/* Some of the values are NULL, of no dtype. */
static bf_status build_null(bf_expression_builder *b, int op, const bf_expression_value *in,
                            int count, bf_expression_value *out) {
    bf_expression_value x[2] = {in[0], in[count > 1 ? 1 : 0]};
    bf_status status = BF_OK;
    if (op == BF_EXPRESSION_SELECT) return choose_null(b, in, out);
    if (op == BF_EXPRESSION_AND || op == BF_EXPRESSION_OR) {
        for (int i = 0; i < 2 && status == BF_OK; i++) status = build_condition(b, &x[i]);
        return status == BF_OK ? bf_expression_add_step(b, op, BF_BOOL, BF_BOOL, x, 2, true, out)
                               : status;
    }
    for (int i = 0; i < count; i++) release_value(b, &in[i]);
    *out = bf_expression_null();
    return BF_OK;
}

/* ---- all operations -----------------------------------------------------------------------------
 */

static bf_status build_operation(bf_expression_builder *b, int op, const bf_expression_value *in,
                                 int count, bf_expression_value *out) {
    bool null = false;
    for (int i = 0; i < count; i++) null = null || is_untyped(&in[i]);
    if (op == BF_EXPRESSION_ISNULL || op == BF_EXPRESSION_MISSING)
        return build_isnull(b, op, in, out);
    if (null) return build_null(b, op, in, count, out);
    if (bf_expression_are_times(op, in, count))
        return bf_expression_build_times(b, op, in, count, out);
    if (bf_expression_are_strings(op, in, count))
        return bf_expression_build_strings(b, op, in, count, out);
    switch (op) {
    case BF_EXPRESSION_ISNAN: return build_isnan(b, in, out);
    case BF_EXPRESSION_AND:
    case BF_EXPRESSION_OR:
    case BF_EXPRESSION_NOT: return build_logic(b, op, in, count, out);
    case BF_EXPRESSION_FLOOR:
    case BF_EXPRESSION_CEIL:
        *out = *in;
        if (is_whole(in->dtype) && in->scale == 0) return BF_OK;
        break;
    case BF_EXPRESSION_ROUND: return bf_expression_build_round(b, in, out);
    default: break;
    }
    return bf_expression_is_library(op) ? bf_expression_build_library(b, op, in, count, out)
                                        : bf_expression_build_arithmetic(b, op, in, count, out);
}

/* x, times x so often; x has a dtype that has products. */
static bf_status multiply(bf_expression_builder *b, const bf_expression_value *x, int times,
                          bf_expression_value *out) {
    bf_expression_value product = *x;
    for (int i = 0; i < times; i++) {
        const bf_expression_value in[2] = {product, *x};
        bf_status status = is_constant(x) && is_constant(&product)
                               ? fold_numbers(b, BF_MAP_MUL, in, 2, out)
                               : bf_expression_build_step(b, BF_MAP_MUL, in, 2, false, out);
        if (status != BF_OK) return status;
        if (i > 0) release_value(b, &product);
        product = *out;
    }
    release_value(b, x);
    return BF_OK;
}

/* x**0: 1 of all but NULL. */
static bf_status choose_one(bf_expression_builder *b, bf_expression_value x,
                            bf_expression_value *out) {
    bool misfit = false;
    bf_dtype dtype = x.dtype == BF_BOOL || x.dtype == BF_I128 ? BF_I64 : x.dtype;
    x.scale = 0;
    bf_expression_value in[3] = {x, x, bf_expression_number(BF_I64, 1)};
    if (is_constant(&x)) {
        *out = bf_expression_number(dtype, bf_cast(BF_I64, dtype, 1, false, &misfit));
        out->weak = x.weak;
        out->decimal = x.decimal;
        out->units = 1;
        return BF_OK;
    }
    bf_status status =
        bf_expression_add_step(b, BF_EXPRESSION_ISNULL, x.dtype, BF_BOOL, &x, 1, false, &in[0]);
    return status == BF_OK ? bf_expression_build_step(b, BF_EXPRESSION_SELECT, in, 3, true, out)
                           : status;
}

static bf_status build_power(bf_expression_builder *b, bf_expression_value x, int exponent,
                             bf_expression_value *out) {
    bf_status status = BF_OK;
    bool truth = x.dtype == BF_BOOL;
    if (x.dtype == BF_NONE) return bf_expression_refuse_string(b);
    if (bf_expression_is_time(&x)) return bf_expression_refuse_time(b);
    *out = x;
    if (is_untyped(&x)) return BF_OK;
    if (exponent == 0) return choose_one(b, x, out);
    if (truth && is_constant(&x))
        x.dtype = BF_I64;
    else if (truth)
        status = bf_expression_add_step(b, BF_MAP_CAST, BF_I64, BF_I64, &x, 1, true, &x);
    *out = x;
    if (status != BF_OK || exponent == 1) return status;
    return multiply(b, &x, exponent - 1, out);
}

static bf_status build_result(bf_expression_builder *b, bf_expression_value x) {
    bf_expression_program *p = b->program;
    if (is_null(&x))
        return bf_expression_refuse(b, BF_E_DTYPE, 0, "the result is nothing but NULL");
    if (x.decimal) bf_expression_to_units(&x);
    if (is_constant(&x) && !b->wide && x.dtype == BF_I128)
        return bf_expression_refuse(b, BF_E_OVERFLOW, b->position, "the result is beyond 64 bits");
    if (b->rounded && !bf_expression_is_time(&x) && (x.scale > 0 || x.dtype == BF_I128)) {
        bf_status status = bf_expression_unscale_value(b, &x);
        if (status != BF_OK) return status;
    }
    if (is_constant(&x) && b->wide && x.scale > BF_SCALE_MOST) {
        bf_status status = bf_expression_convert_constant(b, &x, BF_I128);
        if (status != BF_OK) return status;
    }
    p->scale = x.scale;
    p->time = bf_expression_is_time(&x) ? x.time : BF_TIME_NONE;
    bool last = p->steps > 0 && is_register(&x) && p->step[p->steps - 1].out.number == x.at.number;
    if (!last) {
        bf_status status =
            bf_expression_add_step(b, BF_MAP_CAST, x.dtype, x.dtype, &x, 1, true, &x);
        if (status != BF_OK) return status;
    }
    p->dtype = x.dtype;
    p->step[p->steps - 1].out = (bf_expression_operand){BF_EXPRESSION_RESULT, 0};
    return BF_OK;
}

const bf_expression_maker bf_expression_steps = {build_operation, build_power, build_condition,
                                                 build_result};
