/* Vectors of words to sort, by AVX2; for cpu/order/leaf_loops.h. */
#ifndef BF_CPU_ISA_AVX2_WORDS_H
#define BF_CPU_ISA_AVX2_WORDS_H

#include "cpu/runtime/vector.h"

#include <immintrin.h>

typedef __m256i vec;
INLINE vec vec_load(const void *from) { return _mm256_loadu_si256(from); }
INLINE void vec_store(void *to, vec x) { _mm256_storeu_si256(to, x); }

/* The lanes that are set, first to last, then the others: for each mask of 4 and 8 lanes a row of
 * which each byte is a lane of 4 bytes. */
#define BEFORE(m, i) __builtin_popcount((m) & ((1u << (i)) - 1))
#define PLACE(m, i, all) ((m) >> (i)&1 ? BEFORE(m, i) : (all) + (i)-BEFORE(m, i))
#define LANE(m, i, all) ((uint64_t)(i) << 8 * PLACE(m, i, all))
#define PAIR(m, i, all) ((uint64_t)(2 * (i) + 256 * (2 * (i) + 1)) << 16 * PLACE(m, i, all))
#define FOUR(TO, m, i, all)                                                                        \
    TO(m, i, all) | TO(m, i + 1, all) | TO(m, i + 2, all) | TO(m, i + 3, all)
#define ROW_4(m) FOUR(PAIR, m##u, 0, __builtin_popcount(m##u))
#define ROW_8(m)                                                                                   \
    FOUR(LANE, m##u, 0, __builtin_popcount(m##u)) | FOUR(LANE, m##u, 4, __builtin_popcount(m##u))
#define ROWS_OF_16(ROW, h)                                                                         \
    ROW(h##0), ROW(h##1), ROW(h##2), ROW(h##3), ROW(h##4), ROW(h##5), ROW(h##6), ROW(h##7),        \
        ROW(h##8), ROW(h##9), ROW(h##a), ROW(h##b), ROW(h##c), ROW(h##d), ROW(h##e), ROW(h##f)
static const uint64_t order_of_4[16] = {ROWS_OF_16(ROW_4, 0x0)};
static const uint64_t order_of_8[256] = {
    ROWS_OF_16(ROW_8, 0x0), ROWS_OF_16(ROW_8, 0x1), ROWS_OF_16(ROW_8, 0x2), ROWS_OF_16(ROW_8, 0x3),
    ROWS_OF_16(ROW_8, 0x4), ROWS_OF_16(ROW_8, 0x5), ROWS_OF_16(ROW_8, 0x6), ROWS_OF_16(ROW_8, 0x7),
    ROWS_OF_16(ROW_8, 0x8), ROWS_OF_16(ROW_8, 0x9), ROWS_OF_16(ROW_8, 0xa), ROWS_OF_16(ROW_8, 0xb),
    ROWS_OF_16(ROW_8, 0xc), ROWS_OF_16(ROW_8, 0xd), ROWS_OF_16(ROW_8, 0xe), ROWS_OF_16(ROW_8, 0xf)};

INLINE vec in_order(const uint64_t *row, vec x) {
    return _mm256_permutevar8x32_epi32(x, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)row)));
}

/* How many of a vector's lanes n words fill. */
INLINE int64_t lanes_within(int64_t n, int64_t all) { return n < 0 ? 0 : n > all ? all : n; }

/* ---- words of 4 bytes ------------------------------------------------------------------------ */

#define LANES_4 8
#define ROWS_4 4
#define BIAS_4 0
typedef unsigned marks_4;

INLINE vec first_mask_4(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes_within(n, 8)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE marks_4 vec_first_4(int64_t n) { return (marks_4)((1u << lanes_within(n, 8)) - 1); }
INLINE vec vec_load_first_4(vec others, int64_t n, const void *from) {
    const vec mask = first_mask_4(n);
    return _mm256_blendv_epi8(others, _mm256_maskload_epi32(from, mask), mask);
}
INLINE void vec_store_first_4(void *to, int64_t n, vec x) {
    if (n >= 8)
        vec_store(to, x);
    else if (n > 0)
        _mm256_maskstore_epi32(to, first_mask_4(n), x);
}
INLINE vec vec_all_4(uint32_t x) { return _mm256_set1_epi32((int)x); }
INLINE vec vec_min_4(vec a, vec b) { return _mm256_min_epu32(a, b); }
INLINE vec vec_max_4(vec a, vec b) { return _mm256_max_epu32(a, b); }
INLINE vec vec_signs_4(vec x) { return _mm256_srai_epi32(x, 31); }
INLINE vec vec_twice_4(vec x) { return _mm256_slli_epi32(x, 1); }
INLINE marks_4 equal_4(vec a, vec b) {
    return (marks_4)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
}
INLINE marks_4 vec_below_4(vec a, vec b) { return equal_4(vec_max_4(a, b), a) ^ 0xff; }
INLINE marks_4 vec_differ_4(vec a, vec b) { return equal_4(a, b) ^ 0xff; }
INLINE vec vec_pack_4(marks_4 lanes, vec x) { return in_order(order_of_8 + lanes, x); }
INLINE vec vec_part_4(marks_4 lanes, vec x, int count) {
    (void)count;
    return vec_pack_4(lanes, x);
}
#define vec_exchange_4(x, partner, up)                                                             \
    _mm256_blend_epi32(vec_min_4(x, partner), vec_max_4(x, partner), (up)&0xff)
INLINE vec vec_swap_1_4(vec x) { return _mm256_shuffle_epi32(x, 0xb1); }
INLINE vec vec_swap_2_4(vec x) { return _mm256_shuffle_epi32(x, 0x4e); }
INLINE vec vec_swap_4_4(vec x) { return _mm256_permute4x64_epi64(x, 0x4e); }
INLINE vec vec_flip_4_4(vec x) { return _mm256_shuffle_epi32(x, 0x1b); }
INLINE vec vec_reverse_4(vec x) {
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
#define vec_flip_8_4 vec_reverse_4
INLINE void vec_transpose_rows_4(vec *v) {
    vec a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
    vec c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm256_unpacklo_epi64(a, c);
    v[1] = _mm256_unpackhi_epi64(a, c);
    v[2] = _mm256_unpacklo_epi64(b, d);
    v[3] = _mm256_unpackhi_epi64(b, d);
}
INLINE void vec_transpose_4(vec *v) {
    vec_transpose_rows_4(v);
    vec_transpose_rows_4(v + 4);
    UNROLL
    for (int k = 0; k < 4; k++) { /* the blocks of 4 by 4 lanes */
        vec a = v[k], b = v[k + 4];
        v[k] = _mm256_permute2x128_si256(a, b, 0x20);
        v[k + 4] = _mm256_permute2x128_si256(a, b, 0x31);
    }
}

/* ---- words of 8 bytes, which are compared as signed ones ------------------------------------- */

#define LANES_8 4
#define ROWS_8 4
#define BIAS_8 ((uint64_t)1 << 63)
typedef unsigned marks_8;

INLINE vec first_mask_8(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE marks_8 vec_first_8(int64_t n) { return (marks_8)((1u << lanes_within(n, 4)) - 1); }
INLINE vec vec_load_first_8(vec others, int64_t n, const void *from) {
    const vec mask = first_mask_8(n);
    return _mm256_blendv_epi8(others, _mm256_maskload_epi64(from, mask), mask);
}
INLINE void vec_store_first_8(void *to, int64_t n, vec x) {
    if (n >= 4)
        vec_store(to, x);
    else if (n > 0)
        _mm256_maskstore_epi64(to, first_mask_8(n), x);
}
INLINE vec vec_all_8(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
INLINE vec chosen_8(vec a, vec b, vec where) {
    return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(a), _mm256_castsi256_pd(b),
                                                _mm256_castsi256_pd(where)));
}
INLINE vec vec_min_8(vec a, vec b) { return chosen_8(a, b, _mm256_cmpgt_epi64(a, b)); }
INLINE vec vec_max_8(vec a, vec b) { return chosen_8(b, a, _mm256_cmpgt_epi64(a, b)); }
INLINE vec vec_signs_8(vec x) { return _mm256_cmpgt_epi64(_mm256_setzero_si256(), x); }
INLINE vec vec_twice_8(vec x) { return _mm256_slli_epi64(x, 1); }
INLINE marks_8 marks_of_8(vec x) { return (marks_8)_mm256_movemask_pd(_mm256_castsi256_pd(x)); }
INLINE marks_8 vec_below_8(vec a, vec b) {
    const vec bias = vec_all_8(BIAS_8);
    return marks_of_8(_mm256_cmpgt_epi64(b ^ bias, a ^ bias));
}
INLINE marks_8 vec_differ_8(vec a, vec b) { return marks_of_8(_mm256_cmpeq_epi64(a, b)) ^ 0xf; }
INLINE vec vec_pack_8(marks_8 lanes, vec x) { return in_order(order_of_4 + lanes, x); }
INLINE vec vec_part_8(marks_8 lanes, vec x, int count) {
    (void)count;
    return vec_pack_8(lanes, x);
}
/* The partner is chosen where it is less, and in lanes `up` where it is not. */
INLINE vec vec_exchange_8(vec x, vec partner, marks_8 up) {
    const vec bits = _mm256_setr_epi64x(1, 2, 4, 8);
    const vec ups = _mm256_cmpeq_epi64(vec_all_8(up) & bits, bits);
    return chosen_8(x, partner, _mm256_cmpgt_epi64(x, partner) ^ ups);
}
INLINE vec vec_swap_1_8(vec x) { return _mm256_shuffle_epi32(x, 0x4e); }
INLINE vec vec_swap_2_8(vec x) { return _mm256_permute4x64_epi64(x, 0x4e); }
INLINE vec vec_reverse_8(vec x) { return _mm256_permute4x64_epi64(x, 0x1b); }
#define vec_flip_4_8 vec_reverse_8
INLINE void vec_transpose_8(vec *v) {
    vec a = _mm256_unpacklo_epi64(v[0], v[1]), b = _mm256_unpackhi_epi64(v[0], v[1]);
    vec c = _mm256_unpacklo_epi64(v[2], v[3]), d = _mm256_unpackhi_epi64(v[2], v[3]);
    v[0] = _mm256_permute2x128_si256(a, c, 0x20);
    v[1] = _mm256_permute2x128_si256(b, d, 0x20);
    v[2] = _mm256_permute2x128_si256(a, c, 0x31);
    v[3] = _mm256_permute2x128_si256(b, d, 0x31);
}
#define vec_transpose_rows_8 vec_transpose_8

#endif
