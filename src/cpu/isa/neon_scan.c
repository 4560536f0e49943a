/* The loops of scans for NEON. */
#include "cpu/runtime/vector.h"

#include <arm_neon.h>

enum { LANES = 2 };
typedef float64x2_t vf64;
typedef int64_t vi64 __attribute__((vector_size(16)));
typedef uint64_t vu64 __attribute__((vector_size(16)));

INLINE vf64 load_f32(const char *p) {
    float32x2_t x;
    memcpy(&x, p, sizeof x);
    return vcvt_f64_f32(x);
}
INLINE vf64 add_fused(vf64 a, vf64 b) { return a + b; }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return a - b; }
INLINE vf64 max_f64(vf64 a, vf64 b) { return vmaxnmq_f64(a, b); }

INLINE vf64 moved_up(vf64 x, int lanes) {
    (void)lanes;
    return vextq_f64(vdupq_n_f64(0), x, 1);
}
INLINE vf64 last_lane(vf64 x) { return vdupq_laneq_f64(x, 1); }

#define LOOPS bf_scan_loops_neon
#include "cpu/scan/sum_loops.h"
