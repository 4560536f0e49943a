#include "text/marks.h"

#include "text/field.h"

#include <string.h>

/* ---- 64 bytes -------------------------------------------------------------------------------- */

/* Words whose bit i says whether byte i of 64 is it. */
typedef struct masks {
    uint64_t newline, delimiter, quote;
} masks;

/* mask_of returns a word whose bit i says whether byte i of 64 is one of three; masks_of returns
 * one word for each. */
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

static inline uint64_t equals_of(const char *p, __m128i c) {
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(p + 16 * i));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, c)) << 16 * i;
    }
    return mask;
}

static inline masks masks_of(const char *p, const wanted *w) {
    return (masks){equals_of(p, w->newline), equals_of(p, w->delimiter), equals_of(p, w->quote)};
}

/* Surveys n vectors of 16 bytes, n <= 255. */
static inline void survey_vectors(const char *p, int64_t n, text_survey *s) {
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

static inline uint64_t mask_of_8(const char *p, const wanted *w) {
    const uint64_t x = eight_at(p);
    return top_bits(zero_bytes(x ^ w->newline) | zero_bytes(x ^ w->delimiter) |
                    zero_bytes(x ^ w->quote));
}

static inline uint64_t mask_of(const char *p, const wanted *w) {
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++) mask |= mask_of_8(p + 8 * i, w) << 8 * i;
    return mask;
}

static inline masks masks_of(const char *p, const wanted *w) {
    masks m = {0, 0, 0};
    for (int i = 0; i < 8; i++) {
        const uint64_t x = eight_at(p + 8 * i);
        m.newline |= top_bits(zero_bytes(x ^ w->newline)) << 8 * i;
        m.delimiter |= top_bits(zero_bytes(x ^ w->delimiter)) << 8 * i;
        m.quote |= top_bits(zero_bytes(x ^ w->quote)) << 8 * i;
    }
    return m;
}

static inline void survey_vectors(const char *p, int64_t n, text_survey *s) {
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

text_survey text_survey_of(const char *at, const char *end) {
    text_survey s = {.lines = 0};
    while (end - at >= 16) {
        const int64_t left = (end - at) / 16, n = left < 255 ? left : 255;
        survey_vectors(at, n, &s);
        at += 16 * n;
    }
    for (; at < end; at++) {
        s.lines += *at == '\n';
        s.nul = s.nul || *at == '\0';
        s.quotes = s.quotes || *at == '"';
    }
    return s;
}

/* ---- quotes ---------------------------------------------------------------------------------- */

/* What stands before a byte: as text_state, or a quote that ends a quoted field unless another
 * follows. */
enum { CLOSED = TEXT_QUOTED + 1 };

typedef struct quoting {
    const char *begin; /* of the text */
    wanted wanted;
    char delimiter;
    int state;
} quoting;

static quoting quoting_of(const char *begin, char delimiter, text_state before) {
    return (quoting){begin, wanted_of(delimiter), delimiter, (int)before};
}

static inline int step(int state, char c, char delimiter) {
    if (state == TEXT_QUOTED) return c == '"' ? CLOSED : TEXT_QUOTED;
    if (c == '"' && state != TEXT_FIELD) return TEXT_QUOTED;
    if (c == '\n' || c == delimiter) return TEXT_ROW;
    return state == TEXT_ROW && text_is_blank(c, delimiter) ? TEXT_ROW : TEXT_FIELD;
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
        state = step(state, p[i], q->delimiter);
        outside |= (uint64_t)(state != TEXT_QUOTED) << i;
    }
    q->state = state;
    return outside;
}

/* Bit i: the xor of bits 0 to i. */
static inline uint64_t prefix_xor(uint64_t x) {
    for (int i = 1; i < 64; i *= 2) x ^= x << i;
    return x;
}

/* The bytes outside of quotes among the n at p, 1 to 64, whose marks are m. Each quote changes
 * sides (two of them, twice) if every one that opens a field stands where fields begin. That is so
 * in most texts; where not, bytes are looked at one by one. */
static inline uint64_t outside_of(quoting *q, const char *p, unsigned n, const masks *m) {
    const uint64_t top = (uint64_t)1 << (n - 1);
    const uint64_t inside = prefix_xor(m->quote) ^ (q->state == TEXT_QUOTED ? ~(uint64_t)0 : 0);
    const uint64_t edges = (m->newline | m->delimiter) & ~inside, closes = m->quote & ~inside;
    const uint64_t may_open = (edges | closes) << 1 | (q->state == TEXT_ROW || q->state == CLOSED);
    if (m->quote & inside & ~may_open) return outside_slowly(q, p, n);
    q->state = inside & top   ? TEXT_QUOTED
               : closes & top ? CLOSED
               : edges & top  ? TEXT_ROW
                              : TEXT_FIELD;
    return ~inside;
}

/* The marks of the bytes at p, up to 64, before `end`. */
static inline masks masks_before(const char *p, const char *end, const wanted *w, unsigned *n) {
    masks m = masks_of(p, w);
    *n = 64;
    if (end - p < 64) {
        *n = (unsigned)(end - p);
        const uint64_t there = ((uint64_t)1 << *n) - 1;
        m = (masks){m.newline & there, m.delimiter & there, m.quote & there};
    }
    return m;
}

size_t text_marks_outside(const char *text, uint32_t n, char delimiter, uint32_t *at) {
    quoting q = quoting_of(text, delimiter, TEXT_ROW);
    uint32_t *next = at;
    for (uint32_t i = 0; i < n; i += 64) {
        unsigned some;
        const masks m = masks_before(text + i, text + n, &q.wanted, &some);
        uint64_t mask = (m.newline | m.delimiter) & outside_of(&q, text + i, some, &m);
        for (; mask != 0; mask &= mask - 1) *next++ = i + (uint32_t)__builtin_ctzll(mask);
    }
    return (size_t)(next - at);
}

text_bounds text_rows_find(const char *at, const char *end, char delimiter, text_state before,
                           const char *from) {
    quoting q = quoting_of(at, delimiter, before);
    text_bounds b = {.last = at};
    for (const char *p = at; p < end; p += 64) {
        unsigned n;
        const masks m = masks_before(p, end, &q.wanted, &n);
        uint64_t rows = m.newline & outside_of(&q, p, n, &m);
        if (rows && p + 64 < from) {
            b.last = p + 64 - __builtin_clzll(rows);
            rows = 0;
        }
        for (; rows; rows &= rows - 1) {
            const char *const row = p + __builtin_ctzll(rows) + 1;
            if (row >= from) {
                b.first = row;
                return b;
            }
            b.last = row;
        }
    }
    b.inside = q.state == TEXT_QUOTED;
    return b;
}

const char *text_open_quote(const char *at, const char *end, char delimiter) {
    const char *open = at;
    int state = TEXT_ROW;
    for (const char *p = at; p < end; p++) {
        const int before = state;
        state = step(before, *p, delimiter);
        if (before == TEXT_ROW && state == TEXT_QUOTED) open = p;
    }
    return open;
}
