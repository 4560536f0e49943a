#include "text/marks.h"

#include <string.h>

/* ---- 64 bytes -------------------------------------------------------------------------------- */

/* mask_of returns a word whose bit i says whether byte i of 64 is one of three. */
#if defined(__SSE2__)

#include <emmintrin.h>

typedef struct wanted {
    __m128i newline, delimiter, quote;
} wanted;

static wanted wanted_of(char delimiter) {
    return (wanted){_mm_set1_epi8('\n'), _mm_set1_epi8(delimiter), _mm_set1_epi8('"')};
}

static inline uint64_t mask_of_16(const char *p, const wanted *w) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    const __m128i found = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, w->newline), _mm_cmpeq_epi8(bytes, w->quote)),
        _mm_cmpeq_epi8(bytes, w->delimiter));
    return (uint64_t)(uint32_t)_mm_movemask_epi8(found);
}

static inline uint64_t mask_of(const char *p, const wanted *w) {
    return mask_of_16(p, w) | mask_of_16(p + 16, w) << 16 | mask_of_16(p + 32, w) << 32 |
           mask_of_16(p + 48, w) << 48;
}

/* The newlines in n vectors of 16 bytes, n <= 255. */
static inline int64_t count_vectors(const char *p, int64_t n) {
    const __m128i newline = _mm_set1_epi8('\n'), zero = _mm_setzero_si128();
    __m128i counts = zero;
    for (int64_t i = 0; i < n; i++)
        counts = _mm_sub_epi8(
            counts, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), newline));
    const __m128i sums = _mm_sad_epu8(counts, zero);
    return _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_srli_si128(sums, 8));
}

#else

typedef struct wanted {
    uint64_t newline, delimiter, quote; /* in each of eight bytes */
} wanted;

#define EACH_BYTE ((uint64_t)0x0101010101010101)

static wanted wanted_of(char delimiter) {
    return (wanted){EACH_BYTE * '\n', EACH_BYTE * (unsigned char)delimiter, EACH_BYTE * '"'};
}

/* 0x80 in each byte that is 0; no byte's carry reaches another. */
static inline uint64_t zero_bytes(uint64_t x) {
    const uint64_t low = EACH_BYTE * 0x7f;
    return ~(((x & low) + low) | x | low);
}

/* The top bits of eight bytes, the first byte's lowest. */
static inline uint64_t mask_of_8(const char *p, const wanted *w) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) x = __builtin_bswap64(x);
    const uint64_t found =
        zero_bytes(x ^ w->newline) | zero_bytes(x ^ w->delimiter) | zero_bytes(x ^ w->quote);
    return (found >> 7) * (uint64_t)0x0102040810204080 >> 56;
}

static inline uint64_t mask_of(const char *p, const wanted *w) {
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++) mask |= mask_of_8(p + 8 * i, w) << 8 * i;
    return mask;
}

static inline int64_t count_vectors(const char *p, int64_t n) {
    int64_t lines = 0;
    for (int64_t i = 0; i < 16 * n; i++) lines += p[i] == '\n';
    return lines;
}

#endif

/* ---- a text ---------------------------------------------------------------------------------- */

size_t text_marks_find(const char *text, uint32_t n, char delimiter, uint32_t *at) {
    const wanted w = wanted_of(delimiter);
    uint32_t *next = at;
    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t mask = mask_of(text + i, &w);
        if (n - i < 64) mask &= ((uint64_t)1 << (n - i)) - 1;
        for (; mask != 0; mask &= mask - 1) *next++ = i + (uint32_t)__builtin_ctzll(mask);
    }
    return (size_t)(next - at);
}

int64_t text_count_lines(const char *at, const char *end) {
    int64_t lines = 0;
    while (end - at >= 16) {
        const int64_t left = (end - at) / 16, n = left < 255 ? left : 255;
        lines += count_vectors(at, n);
        at += 16 * n;
    }
    for (; at < end; at++) lines += *at == '\n';
    return lines;
}
