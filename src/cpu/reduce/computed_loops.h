/* Groups of terms, by the vectors of an instruction set: included by sum_loops.h. The file that
 * includes that defines, of vectors vf32 and vf64,
 *   one_add_f32(a, b), sub, mul, div, fma, sqrt   rounded to nearest
 *   lesser_f32(a, b), greater_f32(a, b)           b where a is NaN, NaN where b is; either zero
 * and the same of f64. With CERTIFICATE_FLAGS none of these leaves a flag, but of NaNs. */
#include "cpu/reduce/computed.h"
#include "cpu/runtime/vector.h"
#include "rules/number/rule.h"

#define NAME f32
#define V vf32
#define BYTES sizeof(float)
#include "cpu/reduce/term_loops.h"

#define NAME f64
#define V vf64
#define BYTES sizeof(double)
#include "cpu/reduce/term_loops.h"

INLINE void widen_terms(const char *a, const char *b, const char *c, char *out) {
    (void)b, (void)c;
    for (int i = 0; i < BF_COMPUTED_GROUP; i += LANES) {
        const vf64 x = load_f32(a + i * (int)sizeof(float));
        memcpy(out + i * (int)sizeof(double), &x, sizeof x);
    }
}

/* Computes a step's group; out may be an input. */
INLINE void compute_step(const bf_computed_step *step, const char *a, const char *b, const char *c,
                         char *out) {
#define BOTH(id, name)                                                                             \
    case id: term_##name##_f32(a, b, c, out); break;                                               \
    case id + BF_COMPUTED_OPS: term_##name##_f64(a, b, c, out); break;
    switch (step->op + (step->wide ? BF_COMPUTED_OPS : 0)) {
        BOTH(BF_COMPUTED_ADD, add)
        BOTH(BF_COMPUTED_SUB, sub)
        BOTH(BF_COMPUTED_MUL, mul)
        BOTH(BF_COMPUTED_DIV, div)
        BOTH(BF_COMPUTED_MIN, min)
        BOTH(BF_COMPUTED_MAX, max)
        BOTH(BF_COMPUTED_FMA, fma)
        BOTH(BF_COMPUTED_SQRT, sqrt)
        BOTH(BF_COMPUTED_NEG, neg)
        BOTH(BF_COMPUTED_ABS, abs)
    default: widen_terms(a, b, c, out);
    }
#undef BOTH
}

/* Where the next group of each number is. Constants and registers are here. */
typedef struct term_groups {
    const bf_computed *terms;
    char *at[BF_COMPUTED_SLOTS];
    const char *fetched[BF_COMPUTED_COLUMNS];
    _Alignas(LINE_BYTES) double room[BF_COMPUTED_SLOTS - BF_COMPUTED_COLUMNS][BF_COMPUTED_GROUP];
} term_groups;

static void begin_terms(term_groups *g, const bf_computed *terms) {
    g->terms = terms;
    for (int i = 0; i < BF_COMPUTED_SLOTS - BF_COMPUTED_COLUMNS; i++)
        g->at[BF_COMPUTED_COLUMNS + i] = (char *)g->room[i];
    for (int c = 0; c < terms->columns; c++) g->at[c] = (char *)(uintptr_t)terms->column[c];
    for (int i = 0; i < terms->constants; i++) {
        const int bytes = terms->constant[i].wide ? 8 : 4;
        for (int k = 0; k < BF_COMPUTED_GROUP; k++)
            bf_store_bits((char *)g->room[i] + k * bytes, bytes, terms->constant[i].bits);
    }
}

/* Returns the next group of terms. Not inlined: the sums, which are in registers, are stored once.
 */
static __attribute__((noinline)) const char *next_terms(term_groups *g) {
    const bf_computed *terms = g->terms;
    char *out = NULL;
    for (int s = 0; s < terms->steps; s++) {
        const bf_computed_step *step = &terms->step[s];
        out = g->at[step->out];
        compute_step(step, g->at[step->in[0]], g->at[step->in[1]], g->at[step->in[2]], out);
    }
    for (int c = 0; c < terms->columns; c++) {
        g->fetched[c] = g->at[c];
        g->at[c] += BF_COMPUTED_GROUP * terms->bytes[c];
    }
    return out;
}

/* Fetches the columns that a later group needs, as many elements as a row has. */
INLINE void fetch_terms(term_groups *g, size_t row) {
    for (int c = 0; c < g->terms->columns; c++) {
        const char *at = g->fetched[c], *end = at + row * g->terms->bytes[c];
        g->fetched[c] = end;
        for (; at < end; at += LINE_BYTES) __builtin_prefetch(at + PREFETCH_BYTES);
    }
}
