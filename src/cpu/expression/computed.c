/* Expressions that the loops of sums can compute: a few operations of f32 and f64. */
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

enum { OPERATIONS_MAX = 16 };
_Static_assert(BF_COMPUTED_STEPS >= 2 * OPERATIONS_MAX,
               "an operation is a step, maybe after a load");

/* The operations of a program, as they are there: out = op(in[0], ...). */
typedef struct operation {
    bf_computed_op op;
    bool wide;
    int arity;
    uint8_t in[3], out;
} operation;

typedef struct operation_list {
    int count;
    operation at[OPERATIONS_MAX];
} operation_list;

/* Adds an operation that makes doubles of the floats in a slot, and sets *slot to where they are:
 * in the k-th register behind those of the program. */
static bool widen(const bf_expression_program *p, int k, operation_list *to, uint8_t *slot) {
    const int out = BF_COMPUTED_REGISTER + 1 + p->registers + k;
    if (to->count == OPERATIONS_MAX || out >= BF_COMPUTED_SLOTS) return false;
    to->at[to->count++] = (operation){
        .op = BF_COMPUTED_WIDEN, .wide = true, .arity = 1, .in = {*slot}, .out = (uint8_t)out};
    *slot = (uint8_t)out;
    return true;
}

static bool take_step(const bf_expression_program *p, const bf_expression_step *s,
                      operation_list *to) {
    if (s->op >= BF_MAP_CAST || !operations[s->op].known || !is_float(s->work) || s->to != s->work)
        return false;
    operation o = {.op = operations[s->op].op, .wide = s->work == BF_F64, .arity = s->arity};
    for (int k = 0; k < s->arity; k++) {
        if (!is_float(s->from[k]) || !slot_of(s->in[k], &o.in[k])) return false;
        if (s->from[k] != s->work && (!o.wide || !widen(p, k, to, &o.in[k]))) return false;
    }
    if (to->count == OPERATIONS_MAX || !slot_of(s->out, &o.out)) return false;
    to->at[to->count++] = o;
    return true;
}

static void add_step(bf_computed *to, bf_computed_op op, bool wide, uint8_t y, uint8_t z,
                     uint8_t out) {
    to->step[to->steps++] =
        (bf_computed_step){.op = (uint8_t)op, .wide = wide, .in = {y, z}, .out = out};
}

/* Writes an operation as a step of the block, whose terms are those of slot `held`, or no slot's.
 * The operand that is the block is the first or the second. */
static void write_operation(const operation *o, uint8_t held, bf_computed *to) {
    const int block = o->arity > 1 && o->in[0] != held && o->in[1] == held;
    const uint8_t none = BF_COMPUTED_NOWHERE, other = o->arity > 1 ? o->in[!block] : none;
    bf_computed_op op = o->op;
    if (o->in[block] != held)
        add_step(to, BF_COMPUTED_LOAD, o->wide && op != BF_COMPUTED_WIDEN, o->in[block], none,
                 none);
    if (op == BF_COMPUTED_MUL && o->in[0] == o->in[1])
        add_step(to, BF_COMPUTED_SQUARE, o->wide, none, none, o->out);
    else {
        if (block && op == BF_COMPUTED_SUB) op = BF_COMPUTED_SUB_FROM;
        if (block && op == BF_COMPUTED_DIV) op = BF_COMPUTED_DIV_INTO;
        add_step(to, op, o->wide, other, o->arity > 2 ? o->in[2] : none, o->out);
    }
}

/* Does a step after the i-th read what that one stores? */
static bool is_read(const bf_computed *terms, int i) {
    const uint8_t slot = terms->step[i].out;
    for (int k = i + 1; k < terms->steps; k++) {
        const bf_computed_step *s = &terms->step[k];
        if (s->in[0] == slot || s->in[1] == slot) return true;
        if (s->out == slot) return false;
    }
    return false;
}

static void write_operations(const operation_list *list, bf_computed *to) {
    uint8_t held = BF_COMPUTED_NOWHERE;
    for (int i = 0; i < list->count; i++) {
        write_operation(&list->at[i], held, to);
        held = list->at[i].out;
    }
    for (int i = 0; i < to->steps; i++)
        if (!is_read(to, i)) to->step[i].out = BF_COMPUTED_NOWHERE;
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
    operation_list list = {0};
    for (int i = 0; fits && i < p->steps; i++) fits = take_step(p, &p->step[i], &list);
    if (fits) write_operations(&list, terms);
    return fits;
}
