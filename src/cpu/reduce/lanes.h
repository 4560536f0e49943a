/* Vectors of words, as wide as the instruction set has them, for loops that are compiled for each;
 * for the baseline one word. Comparisons give masks. Shifts by 64 bits or more give 0. */
#ifndef BF_CPU_REDUCE_LANES_H
#define BF_CPU_REDUCE_LANES_H

#include "cpu/runtime/vector.h"

#if defined(__AVX512F__)
#include <immintrin.h>
typedef uint64_t lanes __attribute__((vector_size(64)));
INLINE lanes shift_left(lanes x, lanes by) {
    return (lanes)_mm512_sllv_epi64((__m512i)x, (__m512i)by);
}
INLINE lanes shift_right(lanes x, lanes by) {
    return (lanes)_mm512_srlv_epi64((__m512i)x, (__m512i)by);
}
INLINE lanes load_lanes(const char *from, int bytes) {
    if (bytes == 2) return (lanes)_mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)from));
    if (bytes == 4) return (lanes)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)from));
    return (lanes)_mm512_loadu_si512(from);
}
INLINE lanes zero_lanes(lanes x) { return (lanes)(x == 0); }
INLINE lanes lesser_lanes(lanes x, lanes y) { return (lanes)((__m512i)x < (__m512i)y); }
#elif defined(__AVX2__)
#include <immintrin.h>
typedef uint64_t lanes __attribute__((vector_size(32)));
INLINE lanes shift_left(lanes x, lanes by) {
    return (lanes)_mm256_sllv_epi64((__m256i)x, (__m256i)by);
}
INLINE lanes shift_right(lanes x, lanes by) {
    return (lanes)_mm256_srlv_epi64((__m256i)x, (__m256i)by);
}
INLINE lanes load_lanes(const char *from, int bytes) {
    if (bytes == 2) return (lanes)_mm256_cvtepu16_epi64(_mm_loadl_epi64((const void *)from));
    if (bytes == 4) return (lanes)_mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)from));
    return (lanes)_mm256_loadu_si256((const void *)from);
}
INLINE lanes zero_lanes(lanes x) { return (lanes)(x == 0); }
INLINE lanes lesser_lanes(lanes x, lanes y) { return (lanes)((__m256i)x < (__m256i)y); }
#else
typedef uint64_t lanes;
INLINE lanes shift_left(lanes x, lanes by) { return by < 64 ? x << by : 0; }
INLINE lanes shift_right(lanes x, lanes by) { return by < 64 ? x >> by : 0; }
INLINE lanes load_lanes(const char *from, int bytes) { return bf_load_bits(from, bytes); }
INLINE lanes zero_lanes(lanes x) { return 0 - (lanes)(x == 0); }
INLINE lanes lesser_lanes(lanes x, lanes y) { return 0 - (lanes)((int64_t)x < (int64_t)y); }
#endif

enum { LANES = sizeof(lanes) / sizeof(uint64_t) };

INLINE bool any_negative(lanes x) {
    uint64_t words[LANES], all = 0;
    memcpy(words, &x, sizeof words);
    for (int i = 0; i < LANES; i++) all |= words[i];
    return all >> 63 != 0;
}

INLINE lanes all_lanes(uint64_t x) { return (lanes){0} + x; }

#endif
