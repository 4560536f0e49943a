/* The loops of scans for AVX2. */
#include "cpu/runtime/vector.h"

#include <immintrin.h>

enum { LANES = 4 };
typedef __m256d vf64;
typedef int64_t vi64 __attribute__((vector_size(32)));
typedef uint64_t vu64 __attribute__((vector_size(32)));

INLINE vf64 load_f32(const char *p) { return _mm256_cvtps_pd(_mm_loadu_ps((const float *)p)); }
INLINE vf64 one(void) {
    vf64 x = _mm256_set1_pd(1.0);
    __asm__("" : "+x"(x)); /* a one that the compiler does not know */
    return x;
}
INLINE vf64 add_fused(vf64 a, vf64 b) { return _mm256_fmadd_pd(b, one(), a); }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return _mm256_fnmadd_pd(b, one(), a); }
INLINE vf64 max_f64(vf64 a, vf64 b) { return _mm256_max_pd(a, b); }

INLINE vf64 moved_up(vf64 x, int lanes) {
    const vf64 half = _mm256_permute2f128_pd(x, x, 0x08); /* zeros, then the lower half */
    return lanes == 1 ? _mm256_shuffle_pd(half, x, 0x4) : half;
}
INLINE vf64 last_lane(vf64 x) { return _mm256_permute4x64_pd(x, 0xff); }

#define LOOPS bf_scan_loops_avx2
#include "cpu/scan/sum_loops.h"
