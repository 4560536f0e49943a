/* AVX-512 (F, BW, DQ, VL). */
#include "cpu/runtime/vector.h"
#include "cpu/runtime/x86.h"

#include <immintrin.h>
#include <string.h>

enum { LANES = 8 };
typedef __m512d vf64;
typedef int64_t vi64 __attribute__((vector_size(64)));
typedef uint64_t vu64 __attribute__((vector_size(64))); /* sums that mean nothing may wrap */

INLINE vf64 load_f64(const char *p) { return _mm512_loadu_pd(p); }
INLINE vf64 load_f32(const char *p) { return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)p)); }
#define LOAD_PARTS
INLINE __mmask8 first_lanes(size_t n) { return (__mmask8)((1u << n) - 1); }
INLINE vf64 load_part_f64(const char *p, size_t n) {
    return _mm512_maskz_loadu_pd(first_lanes(n), p);
}
INLINE vf64 load_part_f32(const char *p, size_t n) {
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(first_lanes(n), p));
}

/* Embedded rounding suppresses exceptions: the flags stay as they are. */
#define QUIET (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
INLINE vf64 one(void) {
    vf64 x = _mm512_set1_pd(1.0);
    __asm__("" : "+v"(x)); /* a one that the compiler does not know */
    return x;
}
INLINE vf64 add_quiet(vf64 a, vf64 b) { return _mm512_fmadd_round_pd(b, one(), a, QUIET); }
INLINE vf64 add_fused(vf64 a, vf64 b) { return _mm512_fmadd_pd(b, one(), a); }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return _mm512_fnmadd_pd(b, one(), a); }
INLINE vf64 mul_quiet(vf64 a, vf64 b) { return _mm512_mul_round_pd(a, b, QUIET); }
INLINE vf64 mul_add(vf64 a, vf64 b, vf64 c) { return _mm512_fmadd_pd(a, b, c); }
INLINE vf64 mul_sub(vf64 a, vf64 b, vf64 c) { return _mm512_fmsub_pd(a, b, c); }
INLINE vi64 least_halves(vi64 a, vi64 b) { return (vi64)_mm512_min_epi32((__m512i)a, (__m512i)b); }
INLINE vf64 max_f64(vf64 x, vf64 m) { return _mm512_max_pd(x, m); }
INLINE vf64 min_f64(vf64 x, vf64 m) { return _mm512_min_pd(x, m); }

typedef __m512 vf32;
#define TERM_OPERATIONS(name, V, p)                                                                \
    INLINE V one_add_##name(V a, V b) { return _mm512_add_round_##p(a, b, QUIET); }                \
    INLINE V one_sub_##name(V a, V b) { return _mm512_sub_round_##p(a, b, QUIET); }                \
    INLINE V one_mul_##name(V a, V b) { return _mm512_mul_round_##p(a, b, QUIET); }                \
    INLINE V one_div_##name(V a, V b) { return _mm512_div_round_##p(a, b, QUIET); }                \
    INLINE V one_fma_##name(V a, V b, V c) { return _mm512_fmadd_round_##p(a, b, c, QUIET); }      \
    INLINE V one_sqrt_##name(V a) { return _mm512_sqrt_round_##p(a, QUIET); }                      \
    INLINE V lesser_##name(V a, V b) { return _mm512_min_##p(a, b); }                              \
    INLINE V greater_##name(V a, V b) { return _mm512_max_##p(a, b); }
TERM_OPERATIONS(f32, vf32, ps)
TERM_OPERATIONS(f64, vf64, pd)
#undef TERM_OPERATIONS

/* Additions take 4 cycles and 2 start in each; deeper windows overlap on their own. */
#define COLUMNS(levels) ((levels) == 1 ? 8 : (levels) == 2 ? 4 : 2)
#define ROW(levels) ((levels) == 1 ? 8 : (levels) == 3 ? 2 : 4)
#define CERTIFICATE_FLAGS
#include "cpu/reduce/sum_loops.h"

#define LANES_8
INLINE vf64 sqrt_f64(vf64 x) { return _mm512_sqrt_pd(x); }
#include "cpu/axis/loops.h"

#include "cpu/reduce/product_loops.h"

typedef __mmask16 nan_lanes;
INLINE bool any_nan(nan_lanes lanes) { return lanes != 0; }

#define NAME f64
#define T double
#define T_BITS int64_t
#define VECTOR __m512d
#define MIN _mm512_min_pd
#define MAX _mm512_max_pd
#define NOTE_NANS(lanes, x, y) ((lanes) |= _mm512_cmp_pd_mask(x, y, _CMP_UNORD_Q))
#include "cpu/reduce/extreme_loops.h"

#define NAME f32
#define T float
#define T_BITS int32_t
#define VECTOR __m512
#define MIN _mm512_min_ps
#define MAX _mm512_max_ps
#define NOTE_NANS(lanes, x, y) ((lanes) |= _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q))
#include "cpu/reduce/extreme_loops.h"

#include "cpu/reduce/loops.h"

static void widen_f16(const char *from, float *to, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + 2 * i))));
    for (; i < n; i++) to[i] = _cvtsh_ss(((const u16_element *)from)[i]);
}

#include "cpu/runtime/cast_loops.h"

/* A line of memory, past the caches; the fence makes such stores visible to other threads. */
INLINE void stream_line(void *to, const void *line) {
    _mm512_stream_si512(to, _mm512_loadu_si512(line));
}
INLINE void stream_fence(void) { _mm_sfence(); }

#include "cpu/map/loops.h"

#include "cpu/expression/loops.h"

#include "cpu/histogram/loops.h"

#include "cpu/comm/loops.h"

#define NAME f32
#define T float
#define ID uint32_t
#define VECTOR __m512
#define FMA _mm512_fmadd_ps
#define MAX _mm512_max_ps
#define AT_MOST(v, e) ((unsigned)_mm512_cmp_ps_mask(v, e, _CMP_LE_OQ))
#define PACK(bits, v) _mm512_maskz_compress_ps((__mmask16)(bits), v)
#define GROUP 4
#include "cpu/julia/loops.h"

#define NAME f64
#define T double
#define ID uint64_t
#define VECTOR __m512d
#define FMA _mm512_fmadd_pd
#define MAX _mm512_max_pd
#define AT_MOST(v, e) ((unsigned)_mm512_cmp_pd_mask(v, e, _CMP_LE_OQ))
#define PACK(bits, v) _mm512_maskz_compress_pd((__mmask8)(bits), v)
#define GROUP 4
#include "cpu/julia/loops.h"

static const bf_julia_loops julia_loops = {julia_f32, julia_f64};

static bool available(void) {
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    return has_features(bit_FMA | bit_F16C, avx512 | bit_BMI2, BF_SAVES_ZMM) && flags_work();
}

const bf_isa bf_isa_avx512 = {
    .name = "avx512",
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
    .order = &bf_order_loops_avx512,
    .rolling = &bf_rolling_loops_avx512,
    .scan = &bf_scan_loops_avx512,
    .select = &bf_select_loops_avx512,
    .sort_loops = bf_sort_loops_avx2,
    .table_loops = bf_table_loops_avx2,
    .group_loops = bf_group_loops_avx512,
    .accumulate = &bf_accumulate_loops_avx512,
};
