/* Comparing a key with the keys at the head of a bucket: bit i of the result is set if key i equals
 * it. A bucket is aligned and longer than its keys, so a vector may read past them. */
#ifndef BF_CPU_RUNTIME_MATCH_H
#define BF_CPU_RUNTIME_MATCH_H

#include "rules/number/rule.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>

static inline uint32_t bf_match_4(const char *bucket, uint32_t key, int places) {
    __m256i wanted = _mm256_set1_epi32((int)key);
    uint32_t found = 0;
    for (int i = 0; i < places; i += 8) {
        __m256i keys = _mm256_load_si256((const __m256i *)(const void *)(bucket + 4 * i));
        found |= (uint32_t)_mm256_cmpeq_epi32_mask(keys, wanted) << i;
    }
    return found & ((1u << places) - 1);
}

static inline uint32_t bf_match_8(const char *bucket, uint64_t key, int places) {
    __m512i wanted = _mm512_set1_epi64((long long)key);
    uint32_t found = 0;
    for (int i = 0; i < places; i += 8) {
        __m512i keys = _mm512_load_si512(bucket + 8 * i);
        found |= (uint32_t)_mm512_cmpeq_epi64_mask(keys, wanted) << i;
    }
    return found & ((1u << places) - 1);
}

#elif defined(__AVX2__)
#include <immintrin.h>

static inline uint32_t bf_match_4(const char *bucket, uint32_t key, int places) {
    __m256i wanted = _mm256_set1_epi32((int)key);
    uint32_t found = 0;
    for (int i = 0; i < places; i += 8) {
        __m256i keys = _mm256_load_si256((const __m256i *)(const void *)(bucket + 4 * i));
        __m256i equal = _mm256_cmpeq_epi32(keys, wanted);
        found |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal)) << i;
    }
    return found & ((1u << places) - 1);
}

static inline uint32_t bf_match_8(const char *bucket, uint64_t key, int places) {
    __m256i wanted = _mm256_set1_epi64x((long long)key);
    uint32_t found = 0;
    for (int i = 0; i < places; i += 4) {
        __m256i keys = _mm256_load_si256((const __m256i *)(const void *)(bucket + 8 * i));
        __m256i equal = _mm256_cmpeq_epi64(keys, wanted);
        found |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(equal)) << i;
    }
    return found & ((1u << places) - 1);
}

#elif defined(__SSE2__)
#include <emmintrin.h>

static inline uint32_t bf_match_4(const char *bucket, uint32_t key, int places) {
    __m128i wanted = _mm_set1_epi32((int)key);
    uint32_t found = 0;
    for (int i = 0; i < places; i += 4) {
        __m128i keys = _mm_load_si128((const __m128i *)(const void *)(bucket + 4 * i));
        __m128i equal = _mm_cmpeq_epi32(keys, wanted);
        found |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(equal)) << i;
    }
    return found & ((1u << places) - 1);
}

static inline uint32_t bf_match_8(const char *bucket, uint64_t key, int places) {
    __m128i wanted = _mm_set1_epi64x((long long)key);
    uint32_t found = 0;
    for (int i = 0; i < places; i += 2) {
        __m128i keys = _mm_load_si128((const __m128i *)(const void *)(bucket + 8 * i));
        __m128i half = _mm_cmpeq_epi32(keys, wanted);
        __m128i equal = _mm_and_si128(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1)));
        found |= (uint32_t)_mm_movemask_pd(_mm_castsi128_pd(equal)) << i;
    }
    return found & ((1u << places) - 1);
}

#else

static inline uint32_t bf_match_4(const char *bucket, uint32_t key, int places) {
    uint32_t found = 0, other;
    for (int i = 0; i < places; i++) {
        memcpy(&other, bucket + 4 * i, 4);
        found |= (uint32_t)(other == key) << i;
    }
    return found;
}

static inline uint32_t bf_match_8(const char *bucket, uint64_t key, int places) {
    uint64_t other;
    uint32_t found = 0;
    for (int i = 0; i < places; i++) {
        memcpy(&other, bucket + 8 * i, 8);
        found |= (uint32_t)(other == key) << i;
    }
    return found;
}

#endif

static inline uint32_t bf_match_16(const char *bucket, bf_u128 key, int places) {
    bf_u128 other;
    uint32_t found = 0;
    for (int i = 0; i < places; i++) {
        memcpy(&other, bucket + 16 * i, 16);
        found |= (uint32_t)(other == key) << i;
    }
    return found;
}

#endif
