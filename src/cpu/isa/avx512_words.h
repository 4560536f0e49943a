/* Vectors of words to sort, by AVX-512; for cpu/order/leaf_loops.h. */
#ifndef BF_CPU_ISA_AVX512_WORDS_H
#define BF_CPU_ISA_AVX512_WORDS_H

#include "cpu/runtime/vector.h"

#include <immintrin.h>

typedef __m512i vec;
INLINE vec vec_load(const void *from) { return _mm512_loadu_si512(from); }
INLINE void vec_store(void *to, vec x) { _mm512_storeu_si512(to, x); }

/* ---- words of 4 bytes ------------------------------------------------------------------------ */

#define LANES_4 16
#define ROWS_4 4
#define BIAS_4 0
typedef __mmask16 marks_4;

INLINE marks_4 vec_first_4(int64_t n) {
    return (marks_4)(n >= 16 ? 0xffff : n > 0 ? (1u << n) - 1 : 0);
}
INLINE vec vec_load_first_4(vec others, int64_t n, const void *from) {
    return _mm512_mask_loadu_epi32(others, vec_first_4(n), from);
}
INLINE void vec_store_first_4(void *to, int64_t n, vec x) {
    _mm512_mask_storeu_epi32(to, vec_first_4(n), x);
}
INLINE vec vec_all_4(uint32_t x) { return _mm512_set1_epi32((int)x); }
INLINE vec vec_min_4(vec a, vec b) { return _mm512_min_epu32(a, b); }
INLINE vec vec_max_4(vec a, vec b) { return _mm512_max_epu32(a, b); }
INLINE vec vec_signs_4(vec x) { return _mm512_srai_epi32(x, 31); }
INLINE vec vec_twice_4(vec x) { return _mm512_slli_epi32(x, 1); }
INLINE marks_4 vec_below_4(vec a, vec b) { return _mm512_cmplt_epu32_mask(a, b); }
INLINE marks_4 vec_differ_4(vec a, vec b) { return _mm512_cmpneq_epu32_mask(a, b); }
INLINE vec vec_pack_4(marks_4 lanes, vec x) { return _mm512_maskz_compress_epi32(lanes, x); }
INLINE vec vec_part_4(marks_4 lanes, vec x, int count) {
    vec others = vec_pack_4((marks_4)~lanes, x);
    return _mm512_mask_expand_epi32(vec_pack_4(lanes, x), (marks_4)(0xffffu << count), others);
}
INLINE vec vec_exchange_4(vec x, vec partner, marks_4 up) {
    return _mm512_mask_max_epu32(vec_min_4(x, partner), up, x, partner);
}
INLINE vec vec_swap_1_4(vec x) { return _mm512_shuffle_epi32(x, _MM_PERM_CDAB); }
INLINE vec vec_swap_2_4(vec x) { return _mm512_shuffle_epi32(x, _MM_PERM_BADC); }
INLINE vec vec_swap_4_4(vec x) { return _mm512_shuffle_i64x2(x, x, 0xb1); }
INLINE vec vec_swap_8_4(vec x) { return _mm512_shuffle_i64x2(x, x, 0x4e); }
INLINE vec vec_flip_4_4(vec x) { return _mm512_shuffle_epi32(x, _MM_PERM_ABCD); }
INLINE vec vec_flip_8_4(vec x) {
    const vec from = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    return _mm512_permutexvar_epi32(from, x);
}
INLINE vec vec_reverse_4(vec x) {
    const vec from = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(from, x);
}
INLINE void vec_transpose_rows_4(vec *v) {
    vec a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
    vec c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(a, c);
    v[1] = _mm512_unpackhi_epi64(a, c);
    v[2] = _mm512_unpacklo_epi64(b, d);
    v[3] = _mm512_unpackhi_epi64(b, d);
}
INLINE void vec_transpose_4(vec *v) {
    UNROLL
    for (int i = 0; i < 16; i += 4) vec_transpose_rows_4(v + i);
    UNROLL
    for (int k = 0; k < 4; k++) { /* the blocks of 4 by 4 lanes */
        vec p = _mm512_shuffle_i32x4(v[k], v[k + 4], 0x44);
        vec q = _mm512_shuffle_i32x4(v[k], v[k + 4], 0xee);
        vec r = _mm512_shuffle_i32x4(v[k + 8], v[k + 12], 0x44);
        vec s = _mm512_shuffle_i32x4(v[k + 8], v[k + 12], 0xee);
        v[k] = _mm512_shuffle_i32x4(p, r, 0x88);
        v[k + 4] = _mm512_shuffle_i32x4(p, r, 0xdd);
        v[k + 8] = _mm512_shuffle_i32x4(q, s, 0x88);
        v[k + 12] = _mm512_shuffle_i32x4(q, s, 0xdd);
    }
}

/* ---- words of 8 bytes ------------------------------------------------------------------------ */

#define LANES_8 8
#define ROWS_8 8
#define BIAS_8 0
typedef __mmask8 marks_8;

INLINE marks_8 vec_first_8(int64_t n) {
    return (marks_8)(n >= 8 ? 0xff : n > 0 ? (1u << n) - 1 : 0);
}
INLINE vec vec_load_first_8(vec others, int64_t n, const void *from) {
    return _mm512_mask_loadu_epi64(others, vec_first_8(n), from);
}
INLINE void vec_store_first_8(void *to, int64_t n, vec x) {
    _mm512_mask_storeu_epi64(to, vec_first_8(n), x);
}
INLINE vec vec_all_8(uint64_t x) { return _mm512_set1_epi64((long long)x); }
INLINE vec vec_min_8(vec a, vec b) { return _mm512_min_epu64(a, b); }
INLINE vec vec_max_8(vec a, vec b) { return _mm512_max_epu64(a, b); }
INLINE vec vec_signs_8(vec x) { return _mm512_srai_epi64(x, 63); }
INLINE vec vec_twice_8(vec x) { return _mm512_slli_epi64(x, 1); }
INLINE marks_8 vec_below_8(vec a, vec b) { return _mm512_cmplt_epu64_mask(a, b); }
INLINE marks_8 vec_differ_8(vec a, vec b) { return _mm512_cmpneq_epu64_mask(a, b); }
INLINE vec vec_pack_8(marks_8 lanes, vec x) { return _mm512_maskz_compress_epi64(lanes, x); }
INLINE vec vec_part_8(marks_8 lanes, vec x, int count) {
    vec others = vec_pack_8((marks_8)~lanes, x);
    return _mm512_mask_expand_epi64(vec_pack_8(lanes, x), (marks_8)(0xffu << count), others);
}
INLINE vec vec_exchange_8(vec x, vec partner, marks_8 up) {
    return _mm512_mask_max_epu64(vec_min_8(x, partner), up, x, partner);
}
INLINE vec vec_swap_1_8(vec x) { return _mm512_permutex_epi64(x, 0xb1); }
INLINE vec vec_swap_2_8(vec x) { return _mm512_permutex_epi64(x, 0x4e); }
INLINE vec vec_swap_4_8(vec x) { return _mm512_shuffle_i64x2(x, x, 0x4e); }
INLINE vec vec_flip_4_8(vec x) { return _mm512_permutex_epi64(x, 0x1b); }
INLINE vec vec_reverse_8(vec x) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x);
}
#define vec_flip_8_8 vec_reverse_8
INLINE void vec_transpose_8(vec *v) {
    vec a[8];
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
        vec p = _mm512_shuffle_i64x2(a[i], a[i + 2], 0x44);
        vec q = _mm512_shuffle_i64x2(a[i], a[i + 2], 0xee);
        vec r = _mm512_shuffle_i64x2(a[i + 4], a[i + 6], 0x44);
        vec s = _mm512_shuffle_i64x2(a[i + 4], a[i + 6], 0xee);
        v[i] = _mm512_shuffle_i64x2(p, r, 0x88);
        v[i + 2] = _mm512_shuffle_i64x2(p, r, 0xdd);
        v[i + 4] = _mm512_shuffle_i64x2(q, s, 0x88);
        v[i + 6] = _mm512_shuffle_i64x2(q, s, 0xdd);
    }
}
#define vec_transpose_rows_8 vec_transpose_8

#endif
