/* The loops of selection for AVX2 and BMI2. Integers are compared as signed ones: a key is a place
 * less half of the range. */
#include "cpu/order/select/select.h"
#include "cpu/runtime/vector.h"

#include <immintrin.h>

enum { EDGE_IS_BELOW = 1, KEEP_AHEAD = 1024 };

#define MARKS __m256i
#define NO_MARKS _mm256_setzero_si256()
#define VECTOR __m256i
#define LOAD(p) _mm256_loadu_si256((const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((void *)(p), v)
#define SET_ZERO _mm256_setzero_si256()

/* The lanes of 32 bits that are set, first to last, then others. */
INLINE __m256i pack_order(uint64_t bytes) {
    const uint64_t lanes = _pext_u64(0x0706050403020100, bytes);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
}

/* ---- words of 4 bytes ------------------------------------------------------------------------ */

INLINE __m256i half_32(void) { return _mm256_set1_epi32(INT32_MIN); }
INLINE __m256i key_u32(__m256i x, __m256i *nan) {
    *nan = SET_ZERO;
    return _mm256_xor_si256(x, half_32());
}
INLINE __m256i key_i32(__m256i x, __m256i *nan) {
    *nan = SET_ZERO;
    return x;
}
/* The reverse of negative numbers; a NaN becomes the last. */
INLINE __m256i key_f32(__m256i x, __m256i *nan) {
    const __m256 number = _mm256_castsi256_ps(x);
    const __m256i flip = _mm256_srli_epi32(_mm256_srai_epi32(x, 31), 1);
    *nan = _mm256_castps_si256(_mm256_cmp_ps(number, number, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(_mm256_xor_si256(x, flip), _mm256_set1_epi32(INT32_MAX), *nan);
}
INLINE __m256i pack_32(unsigned bits, __m256i v) {
    const uint64_t bytes = _pdep_u64(bits, 0x0101010101010101) * 0xff;
    return _mm256_permutevar8x32_epi32(v, pack_order(bytes));
}

#define WORD uint32_t
#define LANES 8
#define SET(place) _mm256_xor_si256(_mm256_set1_epi32((int)(uint32_t)(place)), half_32())
#define TO_PLACES(v) _mm256_xor_si256(v, half_32())
#define EDGE(v, lo) _mm256_cmpgt_epi32(lo, v)
#define WITHIN(edge, v, hi)                                                                        \
    _mm256_andnot_si256(_mm256_or_si256(edge, _mm256_cmpgt_epi32(v, hi)), _mm256_set1_epi32(-1))
#define TALLY(counts, marks) _mm256_sub_epi32(counts, marks)
#define BITS(marks) ((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(marks)))
#define PACK pack_32

#define NAME(loop) JOIN(loop, _u32)
#define DTYPE BF_U32
#define KEY key_u32
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _i32)
#define DTYPE BF_I32
#define KEY key_i32
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _f32)
#define DTYPE BF_F32
#define KEY key_f32
#include "cpu/order/select/vectors.h"

#undef WORD
#undef LANES
#undef SET
#undef TO_PLACES
#undef EDGE
#undef WITHIN
#undef TALLY
#undef BITS
#undef PACK

/* ---- words of 8 bytes ------------------------------------------------------------------------ */

INLINE __m256i half_64(void) { return _mm256_set1_epi64x(INT64_MIN); }
INLINE __m256i key_u64(__m256i x, __m256i *nan) {
    *nan = SET_ZERO;
    return _mm256_xor_si256(x, half_64());
}
INLINE __m256i key_i64(__m256i x, __m256i *nan) {
    *nan = SET_ZERO;
    return x;
}
INLINE __m256i key_f64(__m256i x, __m256i *nan) {
    const __m256d number = _mm256_castsi256_pd(x);
    const __m256i flip = _mm256_srli_epi64(_mm256_cmpgt_epi64(SET_ZERO, x), 1);
    *nan = _mm256_castpd_si256(_mm256_cmp_pd(number, number, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(_mm256_xor_si256(x, flip), _mm256_set1_epi64x(INT64_MAX), *nan);
}
INLINE __m256i pack_64(unsigned bits, __m256i v) {
    const uint64_t bytes = _pdep_u64(bits, 0x0001000100010001) * 0xffff;
    return _mm256_permutevar8x32_epi32(v, pack_order(bytes));
}

#define WORD uint64_t
#define LANES 4
#define SET(place) _mm256_xor_si256(_mm256_set1_epi64x((long long)(place)), half_64())
#define TO_PLACES(v) _mm256_xor_si256(v, half_64())
#define EDGE(v, lo) _mm256_cmpgt_epi64(lo, v)
#define WITHIN(edge, v, hi)                                                                        \
    _mm256_andnot_si256(_mm256_or_si256(edge, _mm256_cmpgt_epi64(v, hi)), _mm256_set1_epi32(-1))
#define TALLY(counts, marks) _mm256_sub_epi64(counts, marks)
#define BITS(marks) ((unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(marks)))
#define PACK pack_64

#define NAME(loop) JOIN(loop, _u64)
#define DTYPE BF_U64
#define KEY key_u64
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _i64)
#define DTYPE BF_I64
#define KEY key_i64
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _f64)
#define DTYPE BF_F64
#define KEY key_f64
#include "cpu/order/select/vectors.h"

#define SELECT_LOOPS bf_select_loops_avx2
#include "cpu/order/select/table.h"
