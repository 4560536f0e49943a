/* The loops of scans for vectors of 16 bytes. */
#include "cpu/isa/vector16.h"

INLINE vf64 add_fused(vf64 a, vf64 b) { return a + b; }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return a - b; }

INLINE vf64 moved_up(vf64 x, int lanes) {
    (void)lanes;
    return __builtin_shufflevector((vf64){0}, x, 0, 2);
}
INLINE vf64 last_lane(vf64 x) { return __builtin_shufflevector(x, x, 1, 1); }

#define LOOPS bf_scan_loops_vector
#include "cpu/scan/sum_loops.h"
