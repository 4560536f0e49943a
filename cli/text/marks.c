#include "text/marks.h"

#include <string.h>

/* ---- quotes ---------------------------------------------------------------------------------- */

typedef struct quoting {
    const char *begin; /* where the text begins */
    char delimiter;
    int state;
} quoting;

static quoting quoting_of(const char *begin, char delimiter, text_state before) {
    return (quoting){begin, delimiter, (int)before};
}

/* Whether there are but blanks between the start of a field and p. */
static bool begins_field(const quoting *q, const char *p) {
    while (p > q->begin && text_is_blank(p[-1], q->delimiter)) p--;
    return p == q->begin || p[-1] == '\n' || p[-1] == q->delimiter;
}

/* The bytes outside of quotes, one by one. */
static uint64_t outside_slowly(quoting *q, const char *p, unsigned n) {
    uint64_t outside = 0;
    int state = q->state;
    if (state == TEXT_FIELD && p > q->begin && begins_field(q, p)) state = TEXT_ROW;
    for (unsigned i = 0; i < n; i++) {
        state = text_step(state, p[i], q->delimiter);
        outside |= (uint64_t)(state != TEXT_QUOTED) << i;
    }
    q->state = state;
    return outside;
}

/* ---- plain vectors --------------------------------------------------------------------------- */

/* Words whose bit i says whether byte i of 64 is it. */
typedef struct masks {
    uint64_t newline, delimiter, quote;
} masks;

#if defined(__SSE2__)

#include <emmintrin.h>

static inline uint64_t equals_of(const char *p, __m128i c) {
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(p + 16 * i));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, c)) << 16 * i;
    }
    return mask;
}

static inline masks masks_of_plain(const char *p, char delimiter) {
    return (masks){equals_of(p, _mm_set1_epi8('\n')), equals_of(p, _mm_set1_epi8(delimiter)),
                   equals_of(p, _mm_set1_epi8('"'))};
}

/* Surveys n vectors of 16 bytes, n <= 255. */
static inline void survey_vectors_plain(const char *p, int64_t n, text_survey *s) {
    const __m128i newline = _mm_set1_epi8('\n'), quote = _mm_set1_epi8('"');
    const __m128i zero = _mm_setzero_si128();
    __m128i counts = zero, least = quote, quotes = zero;
    for (int64_t i = 0; i < n; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(p + 16 * i));
        counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(bytes, newline));
        least = _mm_min_epu8(least, bytes);
        quotes = _mm_or_si128(quotes, _mm_cmpeq_epi8(bytes, quote));
    }
    const __m128i sums = _mm_sad_epu8(counts, zero);
    s->lines += _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_srli_si128(sums, 8));
    s->nul = s->nul || _mm_movemask_epi8(_mm_cmpeq_epi8(least, zero));
    s->quotes = s->quotes || _mm_movemask_epi8(quotes);
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

#define EACH_BYTE ((uint64_t)0x0101010101010101)

/* 0x80 in each byte that is 0; no byte's carry reaches another. */
static inline uint64_t zero_bytes(uint64_t x) {
    const uint64_t low = EACH_BYTE * 0x7f;
    return ~(((x & low) + low) | x | low);
}

/* Eight bytes, the first the lowest. */
static inline uint64_t eight_at(const char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(x) : x;
}

/* The top bits of eight bytes, the first byte's lowest. */
static inline uint64_t top_bits(uint64_t x) {
    return (x >> 7) * (uint64_t)0x0102040810204080 >> 56;
}

static inline masks masks_of_plain(const char *p, char delimiter) {
    const uint64_t newlines = EACH_BYTE * '\n', quotes = EACH_BYTE * '"';
    const uint64_t delimiters = EACH_BYTE * (unsigned char)delimiter;
    masks m = {0, 0, 0};
    for (int i = 0; i < 8; i++) {
        const uint64_t x = eight_at(p + 8 * i);
        m.newline |= top_bits(zero_bytes(x ^ newlines)) << 8 * i;
        m.delimiter |= top_bits(zero_bytes(x ^ delimiters)) << 8 * i;
        m.quote |= top_bits(zero_bytes(x ^ quotes)) << 8 * i;
    }
    return m;
}

static inline void survey_vectors_plain(const char *p, int64_t n, text_survey *s) {
    for (int64_t i = 0; i < 16 * n; i++) {
        s->lines += p[i] == '\n';
        s->nul = s->nul || p[i] == '\0';
        s->quotes = s->quotes || p[i] == '"';
    }
}

static inline int64_t count_vectors(const char *p, int64_t n) {
    int64_t lines = 0;
    for (int64_t i = 0; i < 16 * n; i++) lines += p[i] == '\n';
    return lines;
}

#endif

/* Bits that are set. Not all machines that this is built for have an instruction. */
static inline unsigned count_bits_plain(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return (unsigned)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* Bit i: the xor of bits 0 to i. */
static inline uint64_t prefix_xor_plain(uint64_t x) {
    for (int i = 1; i < 64; i *= 2) x ^= x << i;
    return x;
}

/* Offsets that are written at a time, whether there are so many or not: how many there are in 64
 * bytes, no processor can guess. */
enum { AT_ONCE = 6 };
_Static_assert(AT_ONCE <= (int)TEXT_MARKS_SLACK, "there is room behind the last");

#define TARGET
#define NAME(f) f##_plain
#define VECTOR 16
#include "text/marks_loops.h"
#undef TARGET
#undef NAME
#undef VECTOR

/* ---- AVX2 ------------------------------------------------------------------------------------ */

#if defined(__SSE2__) && defined(__x86_64__)
#define HAS_WIDE

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi,popcnt,pclmul")))
#define NAME(f) f##_wide
#define VECTOR 32

TARGET static inline uint64_t equals_of_wide(__m256i low, __m256i high, __m256i c) {
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, c)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, c)) << 32;
}

TARGET static inline masks masks_of_wide(const char *p, char delimiter) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)p),
                  high = _mm256_loadu_si256((const __m256i *)(p + 32));
    return (masks){equals_of_wide(low, high, _mm256_set1_epi8('\n')),
                   equals_of_wide(low, high, _mm256_set1_epi8(delimiter)),
                   equals_of_wide(low, high, _mm256_set1_epi8('"'))};
}

TARGET static inline void survey_vectors_wide(const char *p, int64_t n, text_survey *s) {
    const __m256i newline = _mm256_set1_epi8('\n'), quote = _mm256_set1_epi8('"');
    const __m256i zero = _mm256_setzero_si256();
    __m256i counts = zero, least = quote, quotes = zero;
    for (int64_t i = 0; i < n; i++) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(p + 32 * i));
        counts = _mm256_sub_epi8(counts, _mm256_cmpeq_epi8(bytes, newline));
        least = _mm256_min_epu8(least, bytes);
        quotes = _mm256_or_si256(quotes, _mm256_cmpeq_epi8(bytes, quote));
    }
    const __m256i sums = _mm256_sad_epu8(counts, zero);
    s->lines += _mm256_extract_epi64(sums, 0) + _mm256_extract_epi64(sums, 1) +
                _mm256_extract_epi64(sums, 2) + _mm256_extract_epi64(sums, 3);
    s->nul = s->nul || _mm256_movemask_epi8(_mm256_cmpeq_epi8(least, zero));
    s->quotes = s->quotes || _mm256_movemask_epi8(quotes);
}

TARGET static inline unsigned count_bits_wide(uint64_t x) {
    return (unsigned)__builtin_popcountll(x);
}

TARGET static inline uint64_t prefix_xor_wide(uint64_t x) {
    const __m128i ones = _mm_set1_epi8((char)0xff);
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)x), ones, 0));
}

#include "text/marks_loops.h"

static bool has_wide(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
}

#endif

/* ---- a text ---------------------------------------------------------------------------------- */

void text_marks_find(const char *text, uint32_t n, char delimiter, text_marks *marks) {
#ifdef HAS_WIDE
    if (has_wide()) {
        find_wide(text, n, delimiter, marks);
        return;
    }
#endif
    find_plain(text, n, delimiter, marks);
}

void text_marks_outside(const char *text, uint32_t n, char delimiter, text_marks *marks) {
#ifdef HAS_WIDE
    if (has_wide()) {
        outside_wide(text, n, delimiter, marks);
        return;
    }
#endif
    outside_plain(text, n, delimiter, marks);
}

text_survey text_survey_of(const char *at, const char *end) {
#ifdef HAS_WIDE
    if (has_wide()) return survey_wide(at, end);
#endif
    return survey_plain(at, end);
}

text_bounds text_rows_find(const char *at, const char *end, char delimiter, text_state before,
                           const char *from) {
#ifdef HAS_WIDE
    if (has_wide()) return rows_wide(at, end, delimiter, before, from);
#endif
    return rows_plain(at, end, delimiter, before, from);
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

const char *text_open_quote(const char *at, const char *end, char delimiter) {
    const char *open = at;
    int state = TEXT_ROW;
    for (const char *p = at; p < end; p++) {
        const int before = state;
        state = text_step(before, *p, delimiter);
        if (before == TEXT_ROW && state == TEXT_QUOTED) open = p;
    }
    return open;
}
