/* Blocks of terms, by the vectors of an instruction set: included by sum_loops.h. The file that
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
#define QUIET_NAN 0x7fc00000
#include "cpu/reduce/term_loops.h"

#define NAME f64
#define V vf64
#define BYTES sizeof(double)
#define QUIET_NAN 0x7ff8000000000000
#include "cpu/reduce/term_loops.h"

INLINE void widen_terms(vf64 *block, int vectors) {
    char floats[BF_COMPUTED_GROUP * sizeof(float)];
    UNROLL
    for (int k = 0; k < vectors / 2; k++)
        memcpy(floats + (size_t)k * sizeof *block, &block[k], sizeof *block);
    UNROLL
    for (int k = 0; k < vectors; k++)
        block[k] = load_f32(floats + (size_t)(k * LANES) * sizeof(float));
}

/* A block has so many terms: vectors * LANES. Those of floats are in its first vectors. */
INLINE void compute_step(const bf_computed_step *step, vf64 *block, int vectors, const char *a,
                         const char *b) {
#define BOTH(id, name)                                                                             \
    case id: term_##name##_f32(block, vectors, a, b); break;                                       \
    case id + BF_COMPUTED_OPS: term_##name##_f64(block, vectors, a, b); break;
    switch (step->op + (step->wide ? BF_COMPUTED_OPS : 0)) {
        BOTH(BF_COMPUTED_LOAD, load)
        BOTH(BF_COMPUTED_ADD, add)
        BOTH(BF_COMPUTED_SUB, sub)
        BOTH(BF_COMPUTED_SUB_FROM, sub_from)
        BOTH(BF_COMPUTED_MUL, mul)
        BOTH(BF_COMPUTED_SQUARE, square)
        BOTH(BF_COMPUTED_DIV, div)
        BOTH(BF_COMPUTED_DIV_INTO, div_into)
        BOTH(BF_COMPUTED_MIN, min)
        BOTH(BF_COMPUTED_MAX, max)
        BOTH(BF_COMPUTED_FMA, fma)
        BOTH(BF_COMPUTED_SQRT, sqrt)
        BOTH(BF_COMPUTED_NEG, neg)
        BOTH(BF_COMPUTED_ABS, abs)
    case BF_COMPUTED_WIDEN + BF_COMPUTED_OPS: widen_terms(block, vectors); break;
    default: __builtin_unreachable();
    }
#undef BOTH
}

/* How far ahead columns are fetched: two to eight blocks. From farther, several columns at once
 * come more slowly than if none are fetched: two take 1.3 of the time from 4096 bytes on (AMD Zen
 * 4). */
enum { TERM_PREFETCH_BYTES = 512 };

/* Where the next block of each number is. Constants and registers are here. */
typedef struct term_blocks {
    const bf_computed *terms;
    char *at[BF_COMPUTED_SLOTS + 1];
    _Alignas(LINE_BYTES) double room[BF_COMPUTED_SLOTS - BF_COMPUTED_COLUMNS][BF_COMPUTED_GROUP];
} term_blocks;

static void begin_terms(term_blocks *g, const bf_computed *terms) {
    g->terms = terms;
    for (int i = 0; i < BF_COMPUTED_SLOTS - BF_COMPUTED_COLUMNS; i++)
        g->at[BF_COMPUTED_COLUMNS + i] = (char *)g->room[i];
    g->at[BF_COMPUTED_NOWHERE] = (char *)g->room; /* read in vain where there is no y or z */
    for (int c = 0; c < terms->columns; c++) g->at[c] = (char *)(uintptr_t)terms->column[c];
    for (int i = 0; i < terms->constants; i++) {
        const int bytes = terms->constant[i].wide ? 8 : 4;
        for (int k = 0; k < BF_COMPUTED_GROUP; k++)
            bf_store_bits((char *)g->room[i] + k * bytes, bytes, terms->constant[i].bits);
    }
}

/* Computes the next block of terms, and fetches the columns that a later one needs. */
INLINE void next_terms(term_blocks *g, vf64 *block, int vectors) {
    const bf_computed *terms = g->terms;
    for (int s = 0; s < terms->steps; s++) {
        const bf_computed_step *step = &terms->step[s];
        compute_step(step, block, vectors, g->at[step->in[0]], g->at[step->in[1]]);
        if (step->out == BF_COMPUTED_NOWHERE) continue;
        UNROLL
        for (int k = 0; k < vectors; k++)
            memcpy(g->at[step->out] + (size_t)k * sizeof *block, &block[k], sizeof *block);
    }
    for (int c = 0; c < terms->columns; c++) {
        const char *at = g->at[c], *end = at + (size_t)(vectors * LANES) * terms->bytes[c];
        for (; at < end; at += LINE_BYTES) __builtin_prefetch(at + TERM_PREFETCH_BYTES);
        g->at[c] = (char *)(uintptr_t)end;
    }
}
