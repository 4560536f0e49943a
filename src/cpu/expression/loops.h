/* The loops of expressions, and their table, for the instruction set that includes this. */
#include "cpu/expression/expression.h"
#include "cpu/runtime/vector.h"
#include "rules/expression/time.h"

#define TEMPLATE "cpu/expression/integer_loops.h"
#include "cpu/runtime/each_integer.h"

#define NAME f32
#define C float
#define U uint32_t
#define T f32_element
#define FMA __builtin_fmaf
#define WHOLE 0x1p23f
#include "cpu/expression/float_loops.h"

#define NAME f64
#define C double
#define U uint64_t
#define T f64_element
#define FMA __builtin_fma
#define WHOLE 0x1p52
#include "cpu/expression/float_loops.h"

/* The quotient of two numbers that f64 holds is rounded once. */
static bool expression_unscale(const void *a, const void *b, const void *c, void *out, size_t n) {
    const i64_element *x = a;
    const double power = (double)bf_power_of_ten((int)*(const i64_element *)b);
    const int64_t most = (int64_t)1 << 53;
    uint64_t beyond = 0;
    f64_element *to = out;
    (void)c;
    for (size_t i = 0; i < n; i++) {
        beyond |= (uint64_t)x[i] + (uint64_t)most > 2 * (uint64_t)most;
        to[i] = (double)x[i] / power;
    }
    return beyond != 0;
}

#include "cpu/expression/date_loops.h"

#define SELECT_LOOP(bits)                                                                          \
    static bool expression_select_##bits(const void *a, const void *b, const void *c, void *out,   \
                                         size_t n) {                                               \
        const u8_element *chosen = a;                                                              \
        const u##bits##_element *x = b, *y = c;                                                    \
        u##bits##_element *to = out;                                                               \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint##bits##_t of_x = x[i], of_y = y[i];                                               \
            to[i] = chosen[i] != 0 ? of_x : of_y;                                                  \
        }                                                                                          \
        return false;                                                                              \
    }
SELECT_LOOP(8)
SELECT_LOOP(16)
SELECT_LOOP(32)
SELECT_LOOP(64)
#undef SELECT_LOOP

/* Writes n results, whole blocks, to lines of memory. */
INLINE void write_terms(const bf_computed *terms, bool wide, size_t n, char *to, bool stream) {
    const int vectors = wide ? 4 : 8;
    const size_t bytes = 4 * sizeof(vf64);
    term_blocks blocks;
    begin_terms(&blocks, terms);
    for (size_t i = 0; i < n; i += (size_t)(vectors * LANES), to += bytes) {
        vf64 block[8] = {0}, lines[4];
        next_terms(&blocks, block, vectors);
        if (wide)
            term_canonical_f64(block, vectors, to, to);
        else
            term_canonical_f32(block, vectors, to, to);
        UNROLL
        for (int k = 0; k < 4; k++) lines[k] = block[k];
        for (size_t at = 0; stream && at < bytes; at += LINE_BYTES)
            stream_line(to + at, (const char *)lines + at);
        if (!stream) memcpy(to, lines, bytes);
    }
    if (stream) stream_fence();
}

static void computed_f64(const bf_computed *terms, size_t n, char *to, bool stream) {
    write_terms(terms, true, n, to, stream);
}

static void computed_f32(const bf_computed *terms, size_t n, char *to, bool stream) {
    write_terms(terms, false, n, to, stream);
}

static const bf_expression_loops expression_loops = {
    .computed_f64 = computed_f64,
    .computed_f32 = computed_f32,
    .floor = {FLOAT_ENTRIES(expression_floor_)},
    .ceil = {FLOAT_ENTRIES(expression_ceil_)},
    .mod = {INTEGER_ENTRIES(expression_mod_), FLOAT_ENTRIES(expression_mod_)},
    .unscale = expression_unscale,
    .dates = expression_dates,
    .select = {[1] = expression_select_8,
               [2] = expression_select_16,
               [4] = expression_select_32,
               [8] = expression_select_64},
};
