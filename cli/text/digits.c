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
        out->digits[i] = x.digits;
        out->point[i] = (uint8_t)(x.point ? TEXT_POINT + x.decimals : 0);
        out->negative[i] = negative;
        out->code[i] = text_is_code(p);
    }
    return n;
}

#if defined(__x86_64__)
#define HAS_WIDE_DIGITS

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi")))

/* ---- one number of 16 bytes ------------------------------------------------------------------ */

/* 16 digits, the first the highest: as pairs, fours, eights, all. */
TARGET static inline uint64_t value_of(__m128i digits) {
    const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
    const __m128i eights =
        _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & UINT32_MAX) * 100000000 + (both >> 32);
}

/* Reads the `length` bytes at p, 1 to 16, as number i. One shuffle moves the digits to the end of
 * the vector, those before a point by one byte more; bytes from places below 0 are 0. */
TARGET static inline bool read_long(const char *p, unsigned length, text_plain *out, int64_t i) {
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
    out->digits[i] = value_of(digits);
    out->point[i] = (uint8_t)(found ? TEXT_POINT + behind : 0);
    return _mm_movemask_epi8(good) == 0xffff && length > (found != 0);
}

TARGET static bool read_one(const text_fields *f, int64_t from, int64_t i, text_plain *out) {
    const char *const p = text_field_begin(f, from + i);
    const bool negative = *p == '-';
    const size_t length = (size_t)(text_field_end(f, from + i) - p) - negative;
    out->negative[i] = negative;
    out->code[i] = text_is_code(p);
    return length - 1 < 16 && read_long(p + negative, (unsigned)length, out, i);
}

/* ---- four numbers of 8 bytes ----------------------------------------------------------------- */

/* Four bools, one for each of four bits. */
static inline uint32_t bools_of(int bits) { return (uint32_t)bits * 0x00204081u & 0x01010101u; }

/* The point of a number of eight bytes, by the bits of those that are one. */
static inline uint8_t point_of(unsigned bits) {
    return (uint8_t)(bits ? TEXT_POINT + 7 - __builtin_ctz(bits) : 0);
}

/* The bits of four words that are all ones or zeros. */
TARGET static inline int bits_of(__m256i x) { return _mm256_movemask_pd(_mm256_castsi256_pd(x)); }

/* Whether a zero is before another digit, for each of four numbers behind their signs. */
TARGET static inline __m256i are_codes(__m256i digits) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i first = _mm256_and_si256(digits, _mm256_set1_epi64x(0xff)),
                  two = _mm256_and_si256(digits, _mm256_set1_epi64x(0xffff));
    return _mm256_and_si256(_mm256_cmpeq_epi64(first, zero),
                            _mm256_cmpgt_epi64(_mm256_set1_epi64x(0x0901), two));
}

/* Moves the digits below a point, the lowest byte of all ones, over it. */
TARGET static inline __m256i without_points(__m256i x, __m256i points) {
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi64x(1);
    const __m256i lowest = _mm256_and_si256(points, _mm256_sub_epi64(zero, points));
    const __m256i below = _mm256_and_si256(x, _mm256_sub_epi64(lowest, one));
    const __m256i above =
        _mm256_andnot_si256(_mm256_sub_epi64(_mm256_slli_epi64(lowest, 8), one), x);
    const __m256i joined = _mm256_or_si256(above, _mm256_slli_epi64(below, 8));
    return _mm256_blendv_epi8(joined, x, _mm256_cmpeq_epi64(points, zero));
}

TARGET static inline __m256i values_of(__m256i digits) {
    const __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
    return _mm256_add_epi64(_mm256_mul_epu32(fours, _mm256_set1_epi64x(10000)),
                            _mm256_srli_epi64(fours, 32));
}

/* Four fields: the first eight bytes of each, and how many bytes it has. */
typedef struct four {
    __m256i bytes, lengths;
} four;

/* Loads are faster than a gather on many processors. */
TARGET static inline four take_four(const text_fields *f, int64_t at) {
    const uint32_t *const m = f->mark + (size_t)at * f->step;
    const size_t s = f->step;
    const uint32_t a = at > 0 ? m[-1] + 1 : f->first, b = m[s - 1] + 1, c = m[2 * s - 1] + 1,
                   d = m[3 * s - 1] + 1;
    return (four){_mm256_setr_epi64x((long long)text_eight_bytes(f->text + a),
                                     (long long)text_eight_bytes(f->text + b),
                                     (long long)text_eight_bytes(f->text + c),
                                     (long long)text_eight_bytes(f->text + d)),
                  _mm256_setr_epi64x(m[0] - a, m[s] - b, m[2 * s] - c, m[3 * s] - d)};
}

/* Whether they have as many bytes as can be, and digits among them. */
TARGET static inline __m256i have_digits(__m256i lengths, __m256i negative, __m256i points) {
    const __m256i pointless = _mm256_cmpeq_epi64(points, _mm256_setzero_si256());
    const __m256i above = _mm256_add_epi64(_mm256_sub_epi64(lengths, pointless), negative);
    return _mm256_and_si256(_mm256_cmpgt_epi64(above, _mm256_set1_epi64x(1)),
                            _mm256_cmpgt_epi64(_mm256_set1_epi64x(9), lengths));
}

/* Reads four fields as numbers i to i + 3. False: some are none, or longer than eight bytes. A sign
 * becomes a leading zero. */
TARGET static bool read_four(const text_fields *f, int64_t from, int64_t i, text_plain *out) {
    const four fields = take_four(f, from + i);
    const __m256i shift =
        _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_slli_epi64(fields.lengths, 3));
    const __m256i bytes = _mm256_xor_si256(fields.bytes, _mm256_set1_epi8('0'));
    const __m256i sign = _mm256_and_si256(bytes, _mm256_set1_epi64x(0xff));
    const __m256i negative = _mm256_cmpeq_epi64(sign, _mm256_set1_epi64x('-' ^ '0'));
    const __m256i whole = _mm256_andnot_si256(_mm256_and_si256(negative, sign), bytes);
    const __m256i x = _mm256_sllv_epi64(whole, shift);
    const __m256i points = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('.' ^ '0'));
    const __m256i digits = without_points(x, points);
    const __m256i good = _mm256_cmpeq_epi8(_mm256_min_epu8(digits, _mm256_set1_epi8(9)), digits);
    const __m256i fits = have_digits(fields.lengths, negative, points);
    if (_mm256_movemask_epi8(_mm256_and_si256(good, fits)) != -1) return false;
    const __m256i eight = _mm256_and_si256(negative, _mm256_set1_epi64x(8));
    const uint32_t dots = (uint32_t)_mm256_movemask_epi8(points);
    const uint32_t negatives = bools_of(bits_of(negative));
    const uint32_t codes = bools_of(bits_of(are_codes(_mm256_srlv_epi64(bytes, eight))));
    _mm256_storeu_si256((__m256i *)(void *)(out->digits + i), values_of(digits));
    memcpy(out->negative + i, &negatives, 4);
    memcpy(out->code + i, &codes, 4);
    for (int k = 0; k < 4; k++) out->point[i + k] = point_of(dots >> 8 * k & 0xff);
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

TARGET static int64_t read_wide(const text_fields *f, int64_t from, int64_t n, text_plain *out) {
    for (int64_t i = 0; i < n;) {
        if (i + 4 <= n && read_four(f, from, i, out)) {
            i += 4;
            continue;
        }
        for (const int64_t end = i + 4 < n ? i + 4 : n; i < end; i++)
            if (!read_one(f, from, i, out)) return i;
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
