/* The loops of selection for AVX-512. */
#include "cpu/order/select/select.h"
#include "cpu/runtime/vector.h"

#include <immintrin.h>

enum { EDGE_IS_BELOW = 0, KEEP_AHEAD = 1024 };

typedef unsigned marks;
#define MARKS marks
#define NO_MARKS 0
#define VECTOR __m512i
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SET_ZERO _mm512_setzero_si512()
#define BITS(marks) (marks)
#define TO_PLACES(v) (v)

/* ---- words of 4 bytes ------------------------------------------------------------------------ */

INLINE __m512i place_u32(__m512i x, marks *nan) {
    *nan = 0;
    return x;
}
INLINE __m512i place_i32(__m512i x, marks *nan) {
    *nan = 0;
    return _mm512_xor_si512(x, _mm512_set1_epi32(INT32_MIN));
}
/* x ^ (sign everywhere | sign bit); a NaN becomes the last. */
INLINE __m512i place_f32(__m512i x, marks *nan) {
    const __m512 number = _mm512_castsi512_ps(x);
    *nan = _mm512_cmp_ps_mask(number, number, _CMP_UNORD_Q);
    const __m512i place =
        _mm512_ternarylogic_epi32(x, _mm512_srai_epi32(x, 31), _mm512_set1_epi32(INT32_MIN), 0x1e);
    return _mm512_mask_mov_epi32(place, (__mmask16)*nan, _mm512_set1_epi32(-1));
}

#define WORD uint32_t
#define LANES 16
#define SET(place) _mm512_set1_epi32((int)(uint32_t)(place))
#define EDGE(v, lo) ((marks)_mm512_cmpge_epu32_mask(v, lo))
#define WITHIN(edge, v, hi) ((marks)_mm512_mask_cmple_epu32_mask((__mmask16)(edge), v, hi))
#define TALLY(counts, marks)                                                                       \
    _mm512_mask_sub_epi32(counts, (__mmask16)(marks), counts, _mm512_set1_epi32(-1))
#define PACK(bits, v) _mm512_maskz_compress_epi32((__mmask16)(bits), v)

#define NAME(loop) JOIN(loop, _u32)
#define DTYPE BF_U32
#define KEY place_u32
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _i32)
#define DTYPE BF_I32
#define KEY place_i32
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _f32)
#define DTYPE BF_F32
#define KEY place_f32
#include "cpu/order/select/vectors.h"

#undef WORD
#undef LANES
#undef SET
#undef EDGE
#undef WITHIN
#undef TALLY
#undef PACK

/* ---- words of 8 bytes ------------------------------------------------------------------------ */

INLINE __m512i place_u64(__m512i x, marks *nan) {
    *nan = 0;
    return x;
}
INLINE __m512i place_i64(__m512i x, marks *nan) {
    *nan = 0;
    return _mm512_xor_si512(x, _mm512_set1_epi64(INT64_MIN));
}
INLINE __m512i place_f64(__m512i x, marks *nan) {
    const __m512d number = _mm512_castsi512_pd(x);
    *nan = _mm512_cmp_pd_mask(number, number, _CMP_UNORD_Q);
    const __m512i place =
        _mm512_ternarylogic_epi64(x, _mm512_srai_epi64(x, 63), _mm512_set1_epi64(INT64_MIN), 0x1e);
    return _mm512_mask_mov_epi64(place, (__mmask8)*nan, _mm512_set1_epi64(-1));
}

#define WORD uint64_t
#define LANES 8
#define SET(place) _mm512_set1_epi64((long long)(place))
#define EDGE(v, lo) ((marks)_mm512_cmpge_epu64_mask(v, lo))
#define WITHIN(edge, v, hi) ((marks)_mm512_mask_cmple_epu64_mask((__mmask8)(edge), v, hi))
#define TALLY(counts, marks)                                                                       \
    _mm512_mask_sub_epi64(counts, (__mmask8)(marks), counts, _mm512_set1_epi64(-1))
#define PACK(bits, v) _mm512_maskz_compress_epi64((__mmask8)(bits), v)

#define NAME(loop) JOIN(loop, _u64)
#define DTYPE BF_U64
#define KEY place_u64
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _i64)
#define DTYPE BF_I64
#define KEY place_i64
#include "cpu/order/select/vectors.h"
#define NAME(loop) JOIN(loop, _f64)
#define DTYPE BF_F64
#define KEY place_f64
#include "cpu/order/select/vectors.h"

#define SELECT_LOOPS bf_select_loops_avx512
#include "cpu/order/select/table.h"
