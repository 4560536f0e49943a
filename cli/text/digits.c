/* The digits of many short fields at once. */
#include "text/marks.h"
#include "text/number.h"

static int64_t read_plain(const text_fields *f, int64_t from, int64_t n, text_plain *out) {
    for (int64_t i = 0; i < n; i++) {
        const char *const p = text_field_begin(f, from + i);
        const bool negative = *p == '-';
        const int64_t length = text_field_end(f, from + i) - p - negative;
        text_short x;
        if (length < 1 || length > 8 || !text_scan_short(p + negative, (int)length, &x)) return i;
        out[i] = (text_plain){x.digits, (uint8_t)x.decimals, x.point, negative, text_is_code(p)};
    }
    return n;
}

#if defined(__x86_64__)
#define HAS_WIDE_DIGITS

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi")))

/* 16 digits, the first the highest: as pairs, fours, eights, all. */
TARGET static inline uint64_t value_of(__m128i digits) {
    const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
    const __m128i eights =
        _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & UINT32_MAX) * 100000000 + (both >> 32);
}

/* Reads the `length` bytes at p, 1 to 16, as text_scan_short does. One shuffle moves the digits to
 * the end of the vector, those before a point by one byte more; bytes from places below 0 are 0. */
TARGET static inline bool scan_wide(const char *p, unsigned length, text_plain *out) {
    const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i bytes = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8('0'));
    const __m128i points = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('.' - '0'));
    const unsigned found = (unsigned)_mm_movemask_epi8(points) & ((1u << length) - 1);
    const unsigned behind = found ? length - 1 - (unsigned)__builtin_ctz(found) : 0;
    const __m128i before = _mm_set1_epi8((char)(found ? 16 - behind : 0));
    const __m128i from = _mm_sub_epi8(places, _mm_set1_epi8((char)(16 - length)));
    const __m128i digits =
        _mm_shuffle_epi8(bytes, _mm_add_epi8(from, _mm_cmpgt_epi8(before, places)));
    const __m128i good = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
    const unsigned two = (unsigned)_mm_cvtsi128_si32(bytes);
    out->digits = value_of(digits);
    out->decimals = (uint8_t)behind;
    out->point = found != 0;
    out->code = (two & 0xff) == 0 && (two >> 8 & 0xff) <= 9;
    return _mm_movemask_epi8(good) == 0xffff && length > out->point;
}

TARGET static int64_t read_wide(const text_fields *f, int64_t from, int64_t n, text_plain *out) {
    for (int64_t i = 0; i < n; i++) {
        const char *p = text_field_begin(f, from + i);
        const bool negative = *p == '-';
        p += negative;
        const size_t length = (size_t)(text_field_end(f, from + i) - p);
        out[i].negative = negative;
        if (length - 1 > 15 || !scan_wide(p, (unsigned)length, &out[i])) return i;
    }
    return n;
}

#undef TARGET

static bool has_wide_digits(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

#endif

int64_t text_digits_read(const text_fields *fields, int64_t from, int64_t n, text_plain *out) {
#ifdef HAS_WIDE_DIGITS
    if (has_wide_digits()) return read_wide(fields, from, n, out);
#endif
    return read_plain(fields, from, n, out);
}
