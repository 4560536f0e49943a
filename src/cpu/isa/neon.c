/* NEON, which every AArch64 has. */
#include "cpu/runtime/vector.h"

#include <arm_neon.h>
#include <string.h>

enum { LANES = 2 };
typedef float64x2_t vf64;
typedef int64_t vi64 __attribute__((vector_size(16)));
typedef uint64_t vu64 __attribute__((vector_size(16))); /* sums that mean nothing may wrap */

INLINE vf64 load_f64(const char *p) {
    vf64 x;
    memcpy(&x, p, sizeof x);
    return x;
}
INLINE vf64 load_f32(const char *p) {
    float32x2_t x;
    memcpy(&x, p, sizeof x);
    return vcvt_f64_f32(x);
}
INLINE vf64 add_quiet(vf64 a, vf64 b) { return a + b; }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return a - b; }
INLINE vf64 mul_quiet(vf64 a, vf64 b) { return a * b; }
INLINE vf64 mul_add(vf64 a, vf64 b, vf64 c) { return vfmaq_f64(c, a, b); }
INLINE vf64 mul_sub(vf64 a, vf64 b, vf64 c) { return vfmaq_f64(-c, a, b); }
INLINE vi64 least_halves(vi64 a, vi64 b) { return (vi64)vminq_s32((int32x4_t)a, (int32x4_t)b); }
INLINE vf64 max_f64(vf64 x, vf64 m) { return vmaxnmq_f64(x, m); }
INLINE vf64 min_f64(vf64 x, vf64 m) { return vminnmq_f64(x, m); }

typedef float32x4_t vf32;
#define TERM_OPERATIONS(name, V)                                                                   \
    INLINE V one_add_##name(V a, V b) { return a + b; }                                            \
    INLINE V one_sub_##name(V a, V b) { return a - b; }                                            \
    INLINE V one_mul_##name(V a, V b) { return a * b; }                                            \
    INLINE V one_div_##name(V a, V b) { return a / b; }                                            \
    INLINE V one_fma_##name(V a, V b, V c) { return vfmaq_##name(c, a, b); }                       \
    INLINE V one_sqrt_##name(V a) { return vsqrtq_##name(a); }                                     \
    INLINE V lesser_##name(V a, V b) { return vminq_##name(a, b); }                                \
    INLINE V greater_##name(V a, V b) { return vmaxq_##name(a, b); }
TERM_OPERATIONS(f32, vf32)
TERM_OPERATIONS(f64, vf64)
#undef TERM_OPERATIONS

#define COLUMNS(levels) ((levels) <= 2 ? 8 : 4)
#include "cpu/reduce/sum_loops.h"

INLINE vf64 sqrt_f64(vf64 x) { return vsqrtq_f64(x); }
#include "cpu/axis/loops.h"

#include "cpu/reduce/product_loops.h"

typedef uint64x2_t nan_lanes;
INLINE bool any_nan(nan_lanes lanes) { return (lanes[0] | lanes[1]) != 0; }

#define NAME f64
#define T double
#define T_BITS int64_t
#define VECTOR float64x2_t
#define MIN vminnmq_f64
#define MAX vmaxnmq_f64
#define NOTE_NANS(lanes, x, y) ((lanes) |= (nan_lanes)((x) != (x)) | (nan_lanes)((y) != (y)))
#include "cpu/reduce/extreme_loops.h"

#define NAME f32
#define T float
#define T_BITS int32_t
#define VECTOR float32x4_t
#define MIN vminnmq_f32
#define MAX vmaxnmq_f32
#define NOTE_NANS(lanes, x, y) ((lanes) |= (nan_lanes)((x) != (x)) | (nan_lanes)((y) != (y)))
#include "cpu/reduce/extreme_loops.h"

#include "cpu/reduce/loops.h"

static void widen_f16(const char *from, float *to, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint16x4_t x;
        memcpy(&x, from + 2 * i, sizeof x);
        vst1q_f32(to + i, vcvt_f32_f16(vreinterpret_f16_u16(x)));
    }
    for (; i < n; i++) {
        __fp16 x;
        memcpy(&x, from + 2 * i, sizeof x);
        to[i] = (float)x;
    }
}

#include "cpu/runtime/cast_loops.h"

/* There is no store past the caches that pays here. */
INLINE void stream_line(void *to, const void *line) { memcpy(to, line, LINE_BYTES); }
INLINE void stream_fence(void) {}

#include "cpu/map/loops.h"

#include "cpu/expression/loops.h"

INLINE unsigned at_most_f32(float32x4_t v, float32x4_t e) {
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vcleq_f32(v, e), bits));
}
INLINE unsigned at_most_f64(float64x2_t v, float64x2_t e) {
    const uint64x2_t bits = {1, 2};
    return (unsigned)vaddvq_u64(vandq_u64(vcleq_f64(v, e), bits));
}
INLINE float32x4_t pack_f32(unsigned bits, float32x4_t v) {
    float lanes[5] = {0};
    for (int k = 0, n = 0; k < 4; n += (int)(bits >> k++ & 1)) lanes[n] = v[k];
    return vld1q_f32(lanes);
}
INLINE float64x2_t pack_f64(unsigned bits, float64x2_t v) {
    return bits == 2 ? vdupq_laneq_f64(v, 1) : v;
}

#define NAME f32
#define T float
#define ID uint32_t
#define VECTOR float32x4_t
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define MAX vmaxnmq_f32
#define AT_MOST at_most_f32
#define PACK pack_f32
#define GROUP 4
#include "cpu/julia/loops.h"

#define NAME f64
#define T double
#define ID uint64_t
#define VECTOR float64x2_t
#define FMA(a, b, c) vfmaq_f64(c, a, b)
#define MAX vmaxnmq_f64
#define AT_MOST at_most_f64
#define PACK pack_f64
#define GROUP 4
#include "cpu/julia/loops.h"

#include "cpu/histogram/loops.h"

#include "cpu/comm/loops.h"

static const bf_julia_loops julia_loops = {julia_f32, julia_f64};

static bool available(void) { return true; }

const bf_isa bf_isa_neon = {
    .name = "neon",
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
    .scan = &bf_scan_loops_neon,
    .select = &bf_select_loops_generic,
    .sort_loops = bf_sort_loops_generic,
    .table_loops = bf_table_loops_generic,
    .group_loops = bf_group_loops_generic,
    .accumulate = &bf_accumulate_loops_generic,
};
