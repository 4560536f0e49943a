/* The element-wise loops, and their table, for the instruction set that includes this after it has
 * defined stream_line and stream_fence. */
#include "cpu/map/map.h"
#include "cpu/runtime/vector.h"

/* The parameters of one operation on the elements x, y, z of type C. */
#define UNUSED __attribute__((unused))
#define OPERANDS C x UNUSED, C y UNUSED, C z UNUSED, U *misfit UNUSED

#define TEMPLATE "cpu/map/integer_loops.h"
#include "cpu/runtime/each_integer.h"

#define NAME f32
#define C float
#define U uint32_t
#define T f32_element
#define SQRT __builtin_sqrtf
#define FMA __builtin_fmaf
#include "cpu/map/float_loops.h"

#define NAME f64
#define C double
#define U uint64_t
#define T f64_element
#define SQRT __builtin_sqrt
#define FMA __builtin_fma
#include "cpu/map/float_loops.h"

/* x * y is exact; the sum's rounding error is exact too (Knuth's TwoSum), and turns it to odd. */
static bool map_fma_half(const void *a, const void *b, const void *c, void *out, size_t n) {
    const f64_element *x = a, *y = b, *z = c;
    f64_element *to = out;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        double p = x[i] * y[i], s = p + z[i], q = s - p;
        double error = (p - (s - q)) + (z[i] - q); /* NaN if s is not finite */
        uint64_t bits = bits_f64(s), odd = bits & 1;
        uint64_t other = (error > 0) == (s > 0) ? bits + 1 : bits - 1;
        bool inexact = error > 0 || error < 0;
        to[i] = canonical_f64(of_bits_f64(inexact && !odd ? other : bits));
    }
    return false;
}

static void map_stream(void *to, const void *from, size_t bytes, const char *const ahead[3]) {
    char *out = to;
    const char *in = from;
    size_t at = (0 - (uintptr_t)out) % LINE_BYTES;
    if (at > bytes) at = bytes;
    memcpy(out, in, at);
    for (; at + LINE_BYTES <= bytes; at += LINE_BYTES) {
        for (int k = 0; k < 3; k++) __builtin_prefetch(ahead[k] + at);
        stream_line(out + at, in + at);
    }
    memcpy(out + at, in + at, bytes - at);
    stream_fence();
}

/* bools are bytes 0 and 1: their sum is or, the greater; their product and, the less. */
#define NUMBER_ENTRIES(loop) INTEGER_ENTRIES(loop), FLOAT_ENTRIES(loop)
#define BYTE_AND_NUMBER_ENTRIES(loop) [BF_BOOL] = loop##u8, NUMBER_ENTRIES(loop)

static const bf_map_loops map_loops = {
    .op =
        {
            [BF_MAP_ADD] = {[BF_BOOL] = map_max_u8, NUMBER_ENTRIES(map_add_)},
            [BF_MAP_SUB] = {NUMBER_ENTRIES(map_sub_)},
            [BF_MAP_MUL] = {[BF_BOOL] = map_min_u8, NUMBER_ENTRIES(map_mul_)},
            [BF_MAP_DIV] = {FLOAT_ENTRIES(map_div_)},
            [BF_MAP_MIN] = {BYTE_AND_NUMBER_ENTRIES(map_min_)},
            [BF_MAP_MAX] = {BYTE_AND_NUMBER_ENTRIES(map_max_)},
            [BF_MAP_FMA] = {SMALL_INTEGER_ENTRIES(map_fma_), FLOAT_ENTRIES(map_fma_)},
            [BF_MAP_NEG] = {NUMBER_ENTRIES(map_neg_)},
            [BF_MAP_ABS] = {BYTE_AND_NUMBER_ENTRIES(map_abs_)},
            [BF_MAP_SQRT] = {FLOAT_ENTRIES(map_sqrt_)},
            [BF_MAP_EQ] = {BYTE_AND_NUMBER_ENTRIES(map_eq_)},
            [BF_MAP_NE] = {BYTE_AND_NUMBER_ENTRIES(map_ne_)},
            [BF_MAP_LT] = {BYTE_AND_NUMBER_ENTRIES(map_lt_)},
            [BF_MAP_LE] = {BYTE_AND_NUMBER_ENTRIES(map_le_)},
            [BF_MAP_GT] = {BYTE_AND_NUMBER_ENTRIES(map_gt_)},
            [BF_MAP_GE] = {BYTE_AND_NUMBER_ENTRIES(map_ge_)},
        },
    .streamed =
        {
            [BF_MAP_ADD] = {FLOAT_ENTRIES(map_add_streamed_)},
            [BF_MAP_SUB] = {FLOAT_ENTRIES(map_sub_streamed_)},
            [BF_MAP_MUL] = {FLOAT_ENTRIES(map_mul_streamed_)},
            [BF_MAP_DIV] = {FLOAT_ENTRIES(map_div_streamed_)},
            [BF_MAP_MIN] = {FLOAT_ENTRIES(map_min_streamed_)},
            [BF_MAP_MAX] = {FLOAT_ENTRIES(map_max_streamed_)},
            [BF_MAP_FMA] = {FLOAT_ENTRIES(map_fma_streamed_)},
            [BF_MAP_NEG] = {FLOAT_ENTRIES(map_neg_streamed_)},
            [BF_MAP_ABS] = {FLOAT_ENTRIES(map_abs_streamed_)},
            [BF_MAP_SQRT] = {FLOAT_ENTRIES(map_sqrt_streamed_)},
        },
    .fma_half = map_fma_half,
    .stream = map_stream,
};
