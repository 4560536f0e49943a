/* Expressions whose terms the loops of sums can compute: a few sums, differences and products of
 * f64. */
#include "cpu/expression/expression.h"

static bool slot_of(bf_expression_operand x, bool last, uint8_t *slot) {
    switch (x.kind) {
    case BF_EXPRESSION_COLUMN: *slot = (uint8_t)x.number; return x.number < BF_COMPUTED_COLUMNS;
    case BF_EXPRESSION_CONSTANT:
        *slot = (uint8_t)(BF_COMPUTED_CONSTANT + x.number);
        return x.number < BF_COMPUTED_CONSTANTS;
    case BF_EXPRESSION_REGISTER:
        *slot = (uint8_t)(BF_COMPUTED_REGISTER + 1 + x.number);
        return x.number < BF_COMPUTED_REGISTERS - 1;
    default: *slot = BF_COMPUTED_REGISTER; return last; /* the result */
    }
}

static bool take_step(const bf_expression_step *s, bf_computed_step *to) {
    switch (s->op) {
    case BF_MAP_ADD: to->op = BF_COMPUTED_ADD; break;
    case BF_MAP_SUB: to->op = BF_COMPUTED_SUB; break;
    case BF_MAP_MUL: to->op = BF_COMPUTED_MUL; break;
    default: return false;
    }
    return s->work == BF_F64 && s->from[0] == BF_F64 && s->from[1] == BF_F64 &&
           slot_of(s->in[0], false, &to->a) && slot_of(s->in[1], false, &to->b) &&
           slot_of(s->out, true, &to->out);
}

bool bf_expression_computed(const bf_expression_job *job, bf_computed *terms) {
    const bf_expression_program *p = job->program;
    *terms = (bf_computed){.columns = p->columns, .constants = p->constants, .steps = p->steps};
    bool fits = p->columns > 0 && p->columns <= BF_COMPUTED_COLUMNS &&
                p->constants <= BF_COMPUTED_CONSTANTS && p->steps <= BF_COMPUTED_STEPS;
    for (int i = 0; fits && i < p->steps; i++) fits = take_step(&p->step[i], &terms->step[i]);
    for (int c = 0; fits && c < p->columns; c++) {
        const bf_strided *x = &job->columns[c].numbers;
        fits = x->ndim == 1 && x->strides[0] == 1 && job->columns[c].valid == NULL;
    }
    for (int i = 0; fits && i < p->constants; i++)
        memcpy(&terms->constant[i], &p->constant[i].bits, sizeof(double));
    return fits;
}
