/* The loops of expressions, and their table, for the instruction set that includes this. */
#include "cpu/expression/expression.h"
#include "cpu/runtime/vector.h"

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

static const bf_expression_loops expression_loops = {
    .floor = {FLOAT_ENTRIES(expression_floor_)},
    .ceil = {FLOAT_ENTRIES(expression_ceil_)},
    .mod = {INTEGER_ENTRIES(expression_mod_), FLOAT_ENTRIES(expression_mod_)},
    .select = {[1] = expression_select_8,
               [2] = expression_select_16,
               [4] = expression_select_32,
               [8] = expression_select_64},
};
