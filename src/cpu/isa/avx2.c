/* AVX2 with FMA, F16C and BMI2. */
#include "cpu/runtime/vector.h"
#include "cpu/runtime/x86.h"

#include <immintrin.h>
#include <string.h>

enum { LANES = 4 };
typedef __m256d vf64;
typedef int64_t vi64 __attribute__((vector_size(32)));
typedef uint64_t vu64 __attribute__((vector_size(32))); /* sums that mean nothing may wrap */

INLINE vf64 load_f64(const char *p) { return _mm256_loadu_pd((const double *)p); }
INLINE vf64 load_f32(const char *p) { return _mm256_cvtps_pd(_mm_loadu_ps((const float *)p)); }
#define LOAD_PARTS
INLINE vf64 load_part_f64(const char *p, size_t n) {
    const vi64 lanes = (int64_t)n > (vi64){0, 1, 2, 3};
    return _mm256_maskload_pd((const double *)p, (__m256i)lanes);
}
INLINE vf64 load_part_f32(const char *p, size_t n) {
    const __m128i lanes = _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3));
    return _mm256_cvtps_pd(_mm_maskload_ps((const float *)p, lanes));
}
INLINE vf64 one(void) {
    vf64 x = _mm256_set1_pd(1.0);
    __asm__("" : "+x"(x)); /* a one that the compiler does not know */
    return x;
}
INLINE vf64 add_quiet(vf64 a, vf64 b) { return a + b; }
INLINE vf64 add_fused(vf64 a, vf64 b) { return _mm256_fmadd_pd(b, one(), a); }
INLINE vf64 sub_fused(vf64 a, vf64 b) { return _mm256_fnmadd_pd(b, one(), a); }
#define ROUND_QUIET
INLINE vf64 round_quiet(vf64 x) {
    return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vf64 mul_quiet(vf64 a, vf64 b) { return a * b; }
INLINE vf64 mul_add(vf64 a, vf64 b, vf64 c) { return _mm256_fmadd_pd(a, b, c); }
INLINE vf64 mul_sub(vf64 a, vf64 b, vf64 c) { return _mm256_fmsub_pd(a, b, c); }
INLINE vi64 least_halves(vi64 a, vi64 b) { return (vi64)_mm256_min_epi32((__m256i)a, (__m256i)b); }
INLINE vf64 max_f64(vf64 x, vf64 m) { return _mm256_max_pd(x, m); }
INLINE vf64 min_f64(vf64 x, vf64 m) { return _mm256_min_pd(x, m); }

typedef __m256 vf32;
#define TERM_OPERATIONS(name, V, p)                                                                \
    INLINE V one_add_##name(V a, V b) { return a + b; }                                            \
    INLINE V one_sub_##name(V a, V b) { return a - b; }                                            \
    INLINE V one_mul_##name(V a, V b) { return a * b; }                                            \
    INLINE V one_div_##name(V a, V b) { return a / b; }                                            \
    INLINE V one_fma_##name(V a, V b, V c) { return _mm256_fmadd_##p(a, b, c); }                   \
    INLINE V one_sqrt_##name(V a) { return _mm256_sqrt_##p(a); }                                   \
    INLINE V lesser_##name(V a, V b) { return _mm256_min_##p(a, b); }                              \
    INLINE V greater_##name(V a, V b) { return _mm256_max_##p(a, b); }
TERM_OPERATIONS(f32, vf32, ps)
TERM_OPERATIONS(f64, vf64, pd)
#undef TERM_OPERATIONS

/* Few enough that sums, certificate and constants stay in 16 registers. */
#define COLUMNS(levels) ((levels) == 1 ? 4 : (levels) <= 3 ? 2 : 1)
#define ROW(levels) ((levels) == 2 || (levels) == 3 ? 2 : 4)
#define FUSES(level) 1
#define CERTIFICATE_X86
#include "cpu/reduce/sum_loops.h"

#define LANES_4
INLINE vf64 sqrt_f64(vf64 x) { return _mm256_sqrt_pd(x); }
#include "cpu/axis/loops.h"

#include "cpu/reduce/product_loops.h"

typedef __m256i nan_lanes;
INLINE bool any_nan(nan_lanes lanes) { return !_mm256_testz_si256(lanes, lanes); }

#define NAME f64
#define T double
#define T_BITS int64_t
#define VECTOR __m256d
#define MIN _mm256_min_pd
#define MAX _mm256_max_pd
#define NOTE_NANS(lanes, x, y) ((lanes) |= (__m256i)_mm256_cmp_pd(x, y, _CMP_UNORD_Q))
#include "cpu/reduce/extreme_loops.h"

#define NAME f32
#define T float
#define T_BITS int32_t
#define VECTOR __m256
#define MIN _mm256_min_ps
#define MAX _mm256_max_ps
#define NOTE_NANS(lanes, x, y) ((lanes) |= (__m256i)_mm256_cmp_ps(x, y, _CMP_UNORD_Q))
#include "cpu/reduce/extreme_loops.h"

#include "cpu/reduce/loops.h"

static void widen_f16(const char *from, float *to, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + 2 * i))));
    for (; i < n; i++) to[i] = _cvtsh_ss(((const u16_element *)from)[i]);
}

#include "cpu/runtime/cast_loops.h"

/* A line of memory, past the caches; the fence makes such stores visible to other threads. */
INLINE void stream_line(void *to, const void *line) {
    __m256i half[2];
    memcpy(half, line, sizeof half);
    _mm256_stream_si256(to, half[0]);
    _mm256_stream_si256((__m256i *)to + 1, half[1]);
}
INLINE void stream_fence(void) { _mm_sfence(); }

#include "cpu/map/loops.h"

#include "cpu/expression/loops.h"

/* The lanes of 32 bits that are set, first to last, then others. */
INLINE __m256i pack_order(uint64_t bytes) {
    const uint64_t lanes = _pext_u64(0x0706050403020100, bytes);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes));
}
INLINE __m256 pack_f32(unsigned bits, __m256 v) {
    const uint64_t bytes = _pdep_u64(bits, 0x0101010101010101) * 0xff;
    return _mm256_permutevar8x32_ps(v, pack_order(bytes));
}
INLINE __m256d pack_f64(unsigned bits, __m256d v) {
    const uint64_t bytes = _pdep_u64(bits, 0x0001000100010001) * 0xffff;
    return (__m256d)_mm256_permutevar8x32_ps((__m256)v, pack_order(bytes));
}

#define NAME f32
#define T float
#define ID uint32_t
#define VECTOR __m256
#define FMA _mm256_fmadd_ps
#define MAX _mm256_max_ps
#define AT_MOST(v, e) ((unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, e, _CMP_LE_OQ)))
#define PACK pack_f32
#define GROUP 4
#include "cpu/julia/loops.h"

#define NAME f64
#define T double
#define ID uint64_t
#define VECTOR __m256d
#define FMA _mm256_fmadd_pd
#define MAX _mm256_max_pd
#define AT_MOST(v, e) ((unsigned)_mm256_movemask_pd(_mm256_cmp_pd(v, e, _CMP_LE_OQ)))
#define PACK pack_f64
#define GROUP 4
#include "cpu/julia/loops.h"

#include "cpu/histogram/loops.h"

#include "cpu/comm/loops.h"

static const bf_julia_loops julia_loops = {julia_f32, julia_f64};

static bool available(void) {
    return has_features(bit_FMA | bit_F16C, bit_AVX2 | bit_BMI2, BF_SAVES_YMM) && flags_work();
}

const bf_isa bf_isa_avx2 = {
    .name = "avx2",
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
    .order = &bf_order_loops_avx2,
    .rolling = &bf_rolling_loops_avx2,
    .scan = &bf_scan_loops_avx2,
    .select = &bf_select_loops_avx2,
    .sort_loops = bf_sort_loops_avx2,
    .table_loops = bf_table_loops_avx2,
    .group_loops = bf_group_loops_avx2,
    .accumulate = &bf_accumulate_loops_avx2,
};
