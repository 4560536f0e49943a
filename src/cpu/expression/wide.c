/* Steps on integers of 128 bits: the inputs become such integers, and one loop computes. */
#include "cpu/expression/expression.h"

#include "rules/expression/wide.h"
#include "rules/map/map.h"

/* Columns need not be aligned. */
typedef bf_i128 wide __attribute__((aligned(1), may_alias));

/* ---- inputs ---------------------------------------------------------------------------------- */

static const void *widen(bf_dtype from, const void *in, void *room, int64_t n) {
    wide *to = room;
    switch (from) {
    case BF_BOOL:
        for (int64_t i = 0; i < n; i++) to[i] = ((const uint8_t *)in)[i] != 0;
        return to;
#define WIDEN(id, type)                                                                            \
    case BF_##id:                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type x;                                                                                \
            memcpy(&x, (const type *)in + i, sizeof x);                                            \
            to[i] = x;                                                                             \
        }                                                                                          \
        return to;
        WIDEN(I8, int8_t)
        WIDEN(I16, int16_t)
        WIDEN(I32, int32_t)
        WIDEN(I64, int64_t)
        WIDEN(U8, uint8_t)
        WIDEN(U16, uint16_t)
        WIDEN(U32, uint32_t)
        WIDEN(U64, uint64_t)
#undef WIDEN
    default: return in;
    }
}

/* Returns the place of the first divisor that is 0, or -1. */
static int64_t find_zero(const wide *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (x[i] == 0) return i;
    return -1;
}

/* ---- operations ------------------------------------------------------------------------------ */

static wide settle(bf_expression_wide_result r, bool saturate) {
    if (r.beyond == 0 || !saturate) return r.value;
    return r.beyond < 0 ? 1 - BF_EXPRESSION_WIDE_END : BF_EXPRESSION_WIDE_END - 1;
}

/* Inlined with op a constant. Returns whether a result is beyond what fits. */
BF_RULE_INLINE bool run(int op, bool saturate, const wide *x, const wide *y, wide *out, int64_t n) {
    int beyond = 0;
    for (int64_t i = 0; i < n; i++) {
        const bf_expression_wide_result r = bf_expression_wide(op, x[i], y[i]);
        beyond |= r.beyond;
        out[i] = settle(r, saturate);
    }
    return beyond != 0;
}

static bool compute(int op, bool saturate, const wide *x, const wide *y, wide *out, int64_t n) {
    switch (op) {
    case BF_MAP_ADD: return run(BF_MAP_ADD, saturate, x, y, out, n);
    case BF_MAP_SUB: return run(BF_MAP_SUB, saturate, x, y, out, n);
    case BF_MAP_MUL: return run(BF_MAP_MUL, saturate, x, y, out, n);
    case BF_MAP_NEG: return run(BF_MAP_NEG, saturate, x, x, out, n);
    case BF_MAP_ABS: return run(BF_MAP_ABS, saturate, x, x, out, n);
    case BF_MAP_MIN: return run(BF_MAP_MIN, saturate, x, y, out, n);
    case BF_MAP_MAX: return run(BF_MAP_MAX, saturate, x, y, out, n);
    case BF_EXPRESSION_MOD: return run(BF_EXPRESSION_MOD, saturate, x, y, out, n);
    default: return run(BF_MAP_CAST, saturate, x, x, out, n);
    }
}

/* Computes n results beside the output, which may be an input. Returns the place of the first that
 * is an error, or -1. */
static int64_t compute_integers(const bf_expression_step *s, bf_overflow_policy overflow,
                                const wide *x, const wide *y, void *out, int64_t n, wide *aside) {
    const bool some = compute(s->op, overflow == BF_OVERFLOW_SATURATE, x, y, aside, n);
    for (int64_t i = 0; some && overflow == BF_OVERFLOW_ERROR && i < n; i++)
        if (bf_expression_wide(s->op, x[i], s->arity > 1 ? y[i] : x[i]).beyond != 0) return i;
    memcpy(out, aside, (size_t)n * sizeof *aside);
    return -1;
}

static void compare(int op, const wide *x, const wide *y, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = bf_map_compare_integers(op, x[i], y[i]);
}

static void choose(const uint8_t *chosen, const wide *x, const wide *y, wide *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = chosen[i] != 0 ? x[i] : y[i];
}

static void raise(const wide *x, const wide *y, wide *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = bf_expression_raise(x[i], y[i]);
}

/* The quotient of two numbers that f64 holds is rounded once. */
static void unscale(const wide *x, int scale, double *out, int64_t n) {
    const double power = (double)bf_power_of_ten(scale);
    const int64_t most = (int64_t)1 << 53;
    for (int64_t i = 0; i < n; i++) {
        const bool exact = scale <= 22 && x[i] >= -most && x[i] <= most;
        const uint64_t bits = exact ? 0 : bf_expression_unscale(x[i], scale);
        memcpy(&out[i], &bits, sizeof bits);
        if (exact) out[i] = (double)(int64_t)x[i] / power;
    }
}

int64_t bf_expression_operate_wide(const bf_expression_step *s, bf_overflow_policy overflow,
                                   const void *const in[3], void *out, int64_t n,
                                   bf_expression_room *room) {
    const bool select = s->op == BF_EXPRESSION_SELECT;
    const void *x[3] = {in[0], in[1], in[2]};
    for (int k = select ? 1 : 0; k < s->arity; k++) x[k] = widen(s->from[k], in[k], room->in[k], n);
    if (s->refuse_zero) {
        const int64_t place = find_zero(x[1], n);
        if (place >= 0) return place;
    }
    if (select)
        choose(x[0], x[1], x[2], out, n);
    else if (s->op == BF_EXPRESSION_UNSCALE)
        unscale(x[0], (int)*(const wide *)x[1], out, n);
    else if (s->op == BF_EXPRESSION_RAISE)
        raise(x[0], x[1], out, n);
    else if (s->to == BF_BOOL)
        compare(s->op, x[0], x[1], out, n);
    else
        return compute_integers(s, overflow, x[0], x[1], out, n, (wide *)room->out);
    return -1;
}
