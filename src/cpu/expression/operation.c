/* The operations that map lacks: inputs cast to one dtype, the loop, the result cast back; each
 * step only where it is needed. */
#include "cpu/expression/expression.h"

#include "rules/map/map.h"

static bf_map_loop find_loop(const bf_isa *isa, const bf_expression_step *step, bf_dtype compute) {
    const bf_expression_loops *loops = isa->expression;
    if (loops == NULL) return NULL;
    switch (step->op) {
    case BF_EXPRESSION_FLOOR: return loops->floor[compute];
    case BF_EXPRESSION_CEIL: return loops->ceil[compute];
    case BF_EXPRESSION_MOD: return loops->mod[compute];
    case BF_EXPRESSION_UNSCALE: return loops->unscale;
    default: return loops->select[bf_dtype_bytes(compute)];
    }
}

static void compute_by_rules(const bf_expression_step *step, bf_dtype compute,
                             const void *const in[3], void *out, int64_t n) {
    int bytes = bf_dtype_bytes(compute);
    const char *a = in[0], *b = in[1], *c = in[2];
    for (int64_t i = 0; i < n; i++) {
        uint64_t y = b != NULL ? bf_load_bits(b + i * bytes, bytes) : 0, r;
        if (step->op == BF_EXPRESSION_SELECT)
            r = a[i] != 0 ? y : bf_load_bits(c + i * bytes, bytes);
        else
            r = bf_expression_element(step->op, compute, bf_load_bits(a + i * bytes, bytes), y);
        bf_store_bits((char *)out + i * bytes, bytes, r);
    }
}

/* Returns the place of the first element that is 0, or -1. */
static int64_t find_zero(bf_dtype dtype, const void *x, int64_t n) {
    int bytes = bf_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++)
        if (bf_load_bits((const char *)x + i * bytes, bytes) == 0) return i;
    return -1;
}

int64_t bf_expression_operate(const bf_isa *isa, const bf_expression_step *step,
                              const void *const in[3], void *out, int64_t n,
                              bf_expression_room *room) {
    bool select = step->op == BF_EXPRESSION_SELECT;
    bool half = bf_dtype_is_half(step->work);
    /* Whole numbers and exact remainders stay in the half format, and one addition of its numbers
     * may be rounded to 24 bits first (Figueroa). */
    bf_dtype compute = half && !select ? BF_F32 : step->work;
    bf_map_loop loop = find_loop(isa, step, compute);
    if (loop == NULL) compute = step->work;
    const void *x[3] = {in[0], in[1], in[2]};
    for (int k = select ? 1 : 0; k < step->arity; k++) {
        /* A bool may be any byte. */
        if (step->from[k] == compute && compute != BF_BOOL) continue;
        bf_cast_block(isa, step->from[k], compute, in[k], room->in[k], n);
        x[k] = room->in[k];
    }
    if (step->refuse_zero) {
        int64_t place = find_zero(compute, x[1], n);
        if (place >= 0) return place;
    }
    /* A loop that asks for the rules must leave the inputs, which may be the output. */
    bf_dtype made = step->op == BF_EXPRESSION_UNSCALE ? BF_F64 : compute;
    bool aside = made != step->to || made != compute ||
                 (step->op == BF_EXPRESSION_MOD && bf_dtype_is_float(compute));
    void *to = aside ? (void *)room->out : out;
    if (loop == NULL || loop(x[0], x[1], x[2], to, (size_t)n))
        compute_by_rules(step, compute, x, to, n);
    if (made != step->to)
        bf_cast_block(isa, made, step->to, to, out, n);
    else if (aside)
        memcpy(out, to, (size_t)(n * bf_dtype_bytes(made)));
    return -1;
}
