/* Expressions whose terms the loops of sums can compute: a few operations of f32 and f64. */
#include "cpu/expression/expression.h"

static const struct {
    bool known;
    bf_computed_op op;
} operations[BF_MAP_CAST] = {
    [BF_MAP_ADD] = {true, BF_COMPUTED_ADD}, [BF_MAP_SUB] = {true, BF_COMPUTED_SUB},
    [BF_MAP_MUL] = {true, BF_COMPUTED_MUL}, [BF_MAP_DIV] = {true, BF_COMPUTED_DIV},
    [BF_MAP_MIN] = {true, BF_COMPUTED_MIN}, [BF_MAP_MAX] = {true, BF_COMPUTED_MAX},
    [BF_MAP_FMA] = {true, BF_COMPUTED_FMA}, [BF_MAP_SQRT] = {true, BF_COMPUTED_SQRT},
    [BF_MAP_NEG] = {true, BF_COMPUTED_NEG}, [BF_MAP_ABS] = {true, BF_COMPUTED_ABS},
};

static bool is_float(bf_dtype dtype) { return dtype == BF_F32 || dtype == BF_F64; }

static bool slot_of(bf_expression_operand x, uint8_t *slot) {
    switch (x.kind) {
    case BF_EXPRESSION_COLUMN: *slot = (uint8_t)x.number; return true;
    case BF_EXPRESSION_CONSTANT: *slot = (uint8_t)(BF_COMPUTED_CONSTANT + x.number); return true;
    case BF_EXPRESSION_REGISTER:
        *slot = (uint8_t)(BF_COMPUTED_REGISTER + 1 + x.number);
        return true;
    case BF_EXPRESSION_RESULT: *slot = BF_COMPUTED_REGISTER; return true;
    default: return false;
    }
}

/* Adds a step that makes doubles of the floats in a slot, and sets *slot to where they are: in the
 * k-th register behind those of the program. */
static bool widen(const bf_expression_program *p, int k, bf_computed *to, uint8_t *slot) {
    const int out = BF_COMPUTED_REGISTER + 1 + p->registers + k;
    if (to->steps == BF_COMPUTED_STEPS || out >= BF_COMPUTED_SLOTS) return false;
    to->step[to->steps++] = (bf_computed_step){
        .op = BF_COMPUTED_WIDEN, .wide = true, .in = {*slot, *slot, *slot}, .out = (uint8_t)out};
    *slot = (uint8_t)out;
    return true;
}

static bool take_step(const bf_expression_program *p, const bf_expression_step *s,
                      bf_computed *to) {
    if (s->op >= BF_MAP_CAST || !operations[s->op].known || !is_float(s->work) || s->to != s->work)
        return false;
    bf_computed_step step = {.op = (uint8_t)operations[s->op].op, .wide = s->work == BF_F64};
    for (int k = 0; k < s->arity; k++) {
        if (!is_float(s->from[k]) || !slot_of(s->in[k], &step.in[k])) return false;
        if (s->from[k] != s->work && (!step.wide || !widen(p, k, to, &step.in[k]))) return false;
    }
    for (int k = s->arity; k < 3; k++) step.in[k] = step.in[0];
    if (to->steps == BF_COMPUTED_STEPS || !slot_of(s->out, &step.out)) return false;
    to->step[to->steps++] = step;
    return true;
}

static bool take_column(const bf_expression_column *x, bf_dtype dtype, uint8_t *bytes) {
    *bytes = (uint8_t)x->numbers.bytes;
    return is_float(dtype) && x->numbers.ndim == 1 && x->numbers.strides[0] == 1 &&
           x->valid == NULL;
}

bool bf_expression_computed(const bf_expression_job *job, bf_computed *terms) {
    const bf_expression_program *p = job->program;
    *terms =
        (bf_computed){.columns = p->columns, .constants = p->constants, .wide = p->dtype == BF_F64};
    bool fits = p->columns > 0 && p->columns <= BF_COMPUTED_COLUMNS &&
                p->constants <= BF_COMPUTED_CONSTANTS && p->registers < BF_COMPUTED_REGISTERS &&
                p->steps > 0;
    for (int c = 0; fits && c < p->columns; c++)
        fits = take_column(&job->columns[c], p->column[c], &terms->bytes[c]);
    for (int i = 0; fits && i < p->constants; i++) {
        terms->constant[i].bits = p->constant[i].bits;
        terms->constant[i].wide = p->constant[i].dtype == BF_F64;
    }
    for (int i = 0; fits && i < p->steps; i++) fits = take_step(p, &p->step[i], terms);
    return fits;
}
