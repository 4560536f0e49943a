/* The loops of scans for AVX-512. */
#include "cpu/runtime/vector.h"

#include <immintrin.h>

enum { LANES = 8 };
typedef __m512d vf64;
typedef int64_t vi64 __attribute__((vector_size(64)));
typedef uint64_t vu64 __attribute__((vector_size(64)));

INLINE vf64 load_f32(const char *p) { return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)p)); }
INLINE vf64 one(void) {
    vf64 x = _mm512_set1_pd(1.0);
    __asm__("" : "+v"(x)); /* a one that the compiler does not know */
    return x;
}
INLINE vf64 add_fused(vf64 a, vf64 b) { return _mm512_fmadd_pd(b, one(), a); }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return _mm512_fnmadd_pd(b, one(), a); }
INLINE vf64 max_f64(vf64 a, vf64 b) { return _mm512_max_pd(a, b); }

INLINE __m512i up(vf64 x, int lanes) {
    const __m512i bits = _mm512_castpd_si512(x), zero = _mm512_setzero_si512();
    return lanes == 1   ? _mm512_alignr_epi64(bits, zero, 7)
           : lanes == 2 ? _mm512_alignr_epi64(bits, zero, 6)
                        : _mm512_alignr_epi64(bits, zero, 4);
}
INLINE vf64 moved_up(vf64 x, int lanes) { return _mm512_castsi512_pd(up(x, lanes)); }
INLINE vf64 last_lane(vf64 x) { return _mm512_permutexvar_pd(_mm512_set1_epi64(7), x); }

/* The odd one of the two doubles next to a sum; if it is exact, both are the sum. */
#define ADD_ODD
INLINE vf64 add_odd(vf64 a, vf64 b) {
    const vf64 below = _mm512_add_round_pd(a, b, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const vf64 above = _mm512_add_round_pd(a, b, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    const __mmask8 odd = _mm512_test_epi64_mask(_mm512_castpd_si512(below), _mm512_set1_epi64(1));
    return _mm512_mask_mov_pd(above, odd, below);
}

#define LOOPS bf_scan_loops_avx512
#include "cpu/scan/sum_loops.h"
