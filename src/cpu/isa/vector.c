/* Vectors of 16 bytes, by the compiler: SSE2, NEON, VSX and whatever else a machine has. */
#include "cpu/isa/vector16.h"

#include <string.h>

INLINE vf64 load_f64(const char *p) {
    vf64 x;
    memcpy(&x, p, sizeof x);
    return x;
}
INLINE vf64 add_quiet(vf64 a, vf64 b) { return a + b; }
INLINE vf64 add_fused(vf64 a, vf64 b) { return a + b; }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return a - b; }
INLINE vf64 mul_quiet(vf64 a, vf64 b) { return a * b; }

#define TERM_OPERATIONS(name, V)                                                                   \
    INLINE V one_add_##name(V a, V b) { return a + b; }                                            \
    INLINE V one_sub_##name(V a, V b) { return a - b; }                                            \
    INLINE V one_mul_##name(V a, V b) { return a * b; }                                            \
    INLINE V one_div_##name(V a, V b) { return a / b; }
TERM_OPERATIONS(f32, vf32)
TERM_OPERATIONS(f64, vf64)
#undef TERM_OPERATIONS
#define mul_add one_fma_f64

#ifdef __FP_FAST_FMA
INLINE vf64 mul_sub(vf64 a, vf64 b, vf64 c) { return one_fma_f64(a, b, -c); }
#define TWICE_PLUS(name) one_fma_##name
#else
/* The upper 26 bits of a number, rounded: the rest has 26 bits too, and a sign. */
INLINE vf64 upper_half(vf64 x) {
    return (vf64)(((vu64)x + ((uint64_t)1 << 26)) & -((uint64_t)1 << 27));
}
/* Exact for c = a * b, rounded, if nothing overflows or underflows (Dekker). */
INLINE vf64 mul_sub(vf64 a, vf64 b, vf64 c) {
    const vf64 x = upper_half(a), y = upper_half(b), u = a - x, v = b - y;
    return ((x * y - c) + x * v + u * y) + u * v;
}
INLINE vf32 twice_plus_f32(vf32 two, vf32 b, vf32 c) { return two * b + c; }
INLINE vf64 twice_plus_f64(vf64 two, vf64 b, vf64 c) { return two * b + c; }
#define TWICE_PLUS(name) twice_plus_##name
#endif

#if defined(__aarch64__) || defined(__VSX__) /* at least 32 registers; others have 16, or pairs */
#define COLUMNS(levels) ((levels) <= 2 ? 8 : 4)
#elif defined(__x86_64__)
#define COLUMNS(levels) ((levels) == 1 ? 4 : (levels) <= 3 ? 2 : 1)
#define CERTIFICATE_X86
#else
#define COLUMNS(levels) ((levels) <= 3 ? 2 : 1)
#endif
#include "cpu/reduce/sum_loops.h"

#define sqrt_f64 one_sqrt_f64
#include "cpu/axis/loops.h"

#include "cpu/reduce/product_loops.h"

/* Compilers may compare what they took for masks, which SSE2 cannot in lanes of 64 bits. */
typedef vi32 nan_lanes;
INLINE bool any_nan(nan_lanes lanes) { return (((vi64)lanes)[0] | ((vi64)lanes)[1]) != 0; }

#define NAME f64
#define T double
#define T_BITS int64_t
#define VECTOR vf64
#define MIN min_f64
#define MAX max_f64
#define NOTE_NANS(lanes, x, y) ((lanes) |= (nan_lanes)((x) != (x)) | (nan_lanes)((y) != (y)))
#include "cpu/reduce/extreme_loops.h"

#define NAME f32
#define T float
#define T_BITS int32_t
#define VECTOR vf32
#define MIN min_f32
#define MAX max_f32
#define NOTE_NANS(lanes, x, y) ((lanes) |= (nan_lanes)((x) != (x)) | (nan_lanes)((y) != (y)))
#include "cpu/reduce/extreme_loops.h"

#include "cpu/reduce/loops.h"

#if defined(__aarch64__)
typedef __fp16 f16_element UNALIGNED;
INLINE float float_of_f16(const f16_element *x) { return (float)*x; }
#else
/* As a float, a number of 16 bits is 2^-112 of its value, and what is infinite or NaN has an
 * exponent that is too small. */
typedef uint16_t f16_element UNALIGNED;
INLINE float float_of_f16(const f16_element *x) {
    const uint32_t size = *x & 0x7fff, sign = (uint32_t)(*x & 0x8000) << 16;
    const uint32_t bits = bits_f32(of_bits_f32(size << 13) * 0x1p112f);
    return of_bits_f32(bits | (size >= 0x7c00 ? 0x7f800000 : 0) | sign);
}
#endif

static void widen_f16(const char *from, float *to, size_t n) {
    const f16_element *x = (const void *)from;
    for (size_t i = 0; i < n; i++) to[i] = float_of_f16(x + i);
}

#include "cpu/runtime/cast_loops.h"

#if defined(__SSE2__)
/* A line of memory, past the caches; the fence makes such stores visible to other threads. */
INLINE void stream_line(void *to, const void *line) {
    __m128i part[LINE_BYTES / sizeof(__m128i)];
    memcpy(part, line, sizeof part);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        _mm_stream_si128((__m128i *)to + i, part[i]);
}
INLINE void stream_fence(void) { _mm_sfence(); }
#else
/* There is no store past the caches that pays here. */
INLINE void stream_line(void *to, const void *line) { memcpy(to, line, LINE_BYTES); }
INLINE void stream_fence(void) {}
#endif

#include "cpu/map/loops.h"

#include "cpu/expression/loops.h"

INLINE unsigned at_most_f32(vf32 v, vf32 e) {
    const vi32 bits = (v <= e) & (vi32){1, 2, 4, 8};
    return (unsigned)(bits[0] | bits[1] | bits[2] | bits[3]);
}
INLINE unsigned at_most_f64(vf64 v, vf64 e) {
    const vi64 bits = (v <= e) & (vi64){1, 2};
    return (unsigned)(bits[0] | bits[1]);
}
INLINE vf32 pack_f32(unsigned bits, vf32 v) {
    float lanes[5] = {0};
    for (int k = 0, n = 0; k < 4; n += (int)(bits >> k++ & 1)) lanes[n] = v[k];
    memcpy(&v, lanes, sizeof v);
    return v;
}
INLINE vf64 pack_f64(unsigned bits, vf64 v) {
    return bits == 2 ? __builtin_shufflevector(v, v, 1, 1) : v;
}

#define NAME f32
#define T float
#define ID uint32_t
#define VECTOR vf32
#define FMA TWICE_PLUS(f32)
#define MAX max_f32
#define AT_MOST at_most_f32
#define PACK pack_f32
#define GROUP 4
#include "cpu/julia/loops.h"

#define NAME f64
#define T double
#define ID uint64_t
#define VECTOR vf64
#define FMA TWICE_PLUS(f64)
#define MAX max_f64
#define AT_MOST at_most_f64
#define PACK pack_f64
#define GROUP 4
#include "cpu/julia/loops.h"

#include "cpu/histogram/loops.h"

#include "cpu/comm/loops.h"

static const bf_julia_loops julia_loops = {julia_f32, julia_f64};

static bool available(void) { return true; }

const bf_isa bf_isa_vector = {
    .name = "vector",
    .available = available,
    .widen_f16 = widen_f16,
    .cast = &cast_loops,
    .reduce = &reduce_loops,
    .map = &map_loops,
    .expression = &expression_loops,
    .histogram = &histogram_loops,
    .julia = &julia_loops,
    .comm = &comm_loops,
    .axis = &axis_loops,
    .order = &bf_order_loops_generic,
    .rolling = &bf_rolling_loops_generic,
    .scan = &bf_scan_loops_vector,
    .select = &bf_select_loops_generic,
    .sort_loops = bf_sort_loops_generic,
    .table_loops = bf_table_loops_generic,
    .group_loops = bf_group_loops_generic,
    .accumulate = &bf_accumulate_loops_generic,
};
