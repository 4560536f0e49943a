/* The loops of accumulators. By the number of its slot a value is added to a sum of several words,
 * or to a sum of squares, or compared. Compiled for the baseline, and by isa/avx2_accumulate.c for
 * AVX2. */
#include "cpu/reduce/accumulators.h"

#ifndef LOOPS
#define LOOPS bf_accumulate_loops_generic
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { AHEAD = 24, ANY_WORDS = 5 };

static void count_rows(const bf_accumulators *a, const uint32_t *slots, int64_t n) {
    int64_t *records = a->records;
    const size_t stride = a->stride;
    for (int64_t i = 0; i < n; i++) {
        const int64_t ahead = i + AHEAD < n ? i + AHEAD : i;
        __builtin_prefetch(&records[slots[ahead] * stride], 1);
        records[slots[i] * stride]++;
    }
}

/* ---- specials -------------------------------------------------------------------------------- */

/* Returns whether x is zero, infinite or NaN: it adds nothing to sums. */
static ALWAYS_INLINE bool is_apart(bf_format f, uint64_t x) {
    uint64_t magnitude = x & ~bf_format_sign(f);
    return magnitude - 1 >= bf_format_inf(f) - 1;
}

/* Returns the special that a float is, or -1. */
static ALWAYS_INLINE int special_of(bf_format f, uint64_t x) {
    if (bf_is_nan(f, x)) return BF_SPECIAL_NAN;
    if (x == bf_format_sign(f)) return BF_SPECIAL_NEG_ZERO;
    if (!bf_is_inf(f, x)) return -1;
    return x & bf_format_sign(f) ? BF_SPECIAL_NEG_INF : BF_SPECIAL_POS_INF;
}

/* Counts a special. false: there is no memory for it. */
static ALWAYS_INLINE bool count_special(const bf_column *c, size_t slot, int special) {
    if (special < 0) return true;
    if (c->specials == NULL) return false;
    c->specials[slot * BF_SPECIALS + (size_t)special]++;
    return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* A number in two's complement: low words, from bit 64 * skip of a sum on, and what is above. */
typedef struct term {
    unsigned skip;
    uint64_t low[3], above;
} term;

static ALWAYS_INLINE uint64_t term_word(const term *t, unsigned k) {
    if (k < t->skip) return 0;
    return k == t->skip       ? t->low[0]
           : k == t->skip + 1 ? t->low[1]
           : k == t->skip + 2 ? t->low[2]
                              : t->above;
}

/* Adds a term to a sum of so many words. */
static ALWAYS_INLINE void add_term(int64_t *sum, int words, const term *t) {
    if (words == 1) {
        sum[0] += (int64_t)t->low[0];
    } else if (words == 2) {
        bf_u128 x;
        memcpy(&x, sum, sizeof x);
        x += (bf_u128)(t->skip ? t->low[0] : t->low[1]) << 64 | (t->skip ? 0 : t->low[0]);
        memcpy(sum, &x, sizeof x);
    } else {
        unsigned k = words < ANY_WORDS ? 0 : t->skip;
        for (bf_u128 carry = 0; k < (unsigned)words; k++) {
            carry += (bf_u128)(uint64_t)sum[k] + term_word(t, k);
            sum[k] = (int64_t)(uint64_t)carry;
            carry >>= 64;
        }
    }
}

/* m (what is above repeats the bits of `above`) at this bit of a sum. */
static ALWAYS_INLINE term make_term(uint64_t m, uint64_t above, unsigned position) {
    const unsigned shift = position % 64;
    term t = {position / 64, {m << shift, m >> 1 >> (63 - shift), above}, above};
    t.low[1] |= above << shift;
    return t;
}

static ALWAYS_INLINE term make_square(uint64_t m, unsigned position) {
    const unsigned shift = position % 64;
    const bf_u128 x = (bf_u128)m * m;
    const uint64_t low = (uint64_t)x, high = (uint64_t)(x >> 64);
    return (term){
        position / 64,
        {low << shift, high << shift | low >> 1 >> (63 - shift), high >> 1 >> (63 - shift)},
        0};
}

/* Bits of a term. */
static ALWAYS_INLINE int term_bits(bf_dtype dtype, int factors) {
    const int bits =
        bf_dtype_is_float(dtype) ? bf_format_of(dtype).fraction + 1 : 8 * bf_dtype_bytes(dtype);
    return factors * bits;
}

/* factors 1: adds x; 2: x^2. words: of the band, or ANY_WORDS. */
static ALWAYS_INLINE int64_t add_terms(const bf_accumulators *a, const bf_column *c, bf_dtype dtype,
                                       int factors, int words, bool counts, const bf_rows_batch *b,
                                       int64_t i) {
    const bool is_float = bf_dtype_is_float(dtype);
    const bf_band *band = factors == 1 ? &c->sum : &c->products;
    const int bytes = bf_dtype_bytes(dtype), many = words < ANY_WORDS ? words : band->words;
    const bf_format f = bf_format_of(dtype);
    const int first = 32 * band->first - bf_sum_position(f, band->layout, 0, factors);
    const int fits = band->top - term_bits(dtype, factors) + 1;
    const unsigned end = band->words > 0 && fits > 0 ? (unsigned)fits : 0;
    int64_t *sums = a->records + band->at;
    const size_t stride = a->stride;
    if (!is_float && end == 0) return i;
    for (; i < b->n; i++) {
        const uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        unsigned position = 0;
        if (is_float && __builtin_expect(is_apart(f, x), 0)) {
            if (counts && !count_special(c, b->slots[i], special_of(f, x))) return i;
            continue;
        }
        const bf_finite d = is_float ? bf_decode(f, x) : bf_decode_integer(dtype, x);
        if (is_float) position = (unsigned)(factors * d.position - first);
        if (is_float && position >= end) return i;
        const uint64_t sign = d.negative ? ~(uint64_t)0 : 0;
        const term t = factors == 1 ? make_term((d.magnitude ^ sign) - sign, sign, position)
                                    : make_square(d.magnitude, position);
        add_term(sums + b->slots[i] * stride, many, &t);
    }
    return i;
}

static ALWAYS_INLINE int64_t add_by_words(const bf_accumulators *a, const bf_column *c,
                                          bf_dtype dtype, int factors, bool counts,
                                          const bf_rows_batch *b, int64_t i) {
    switch (factors == 1 ? c->sum.words : c->products.words) {
    case 1: return add_terms(a, c, dtype, factors, 1, counts, b, i);
    case 2: return add_terms(a, c, dtype, factors, 2, counts, b, i);
    case 3: return add_terms(a, c, dtype, factors, 3, counts, b, i);
    case 4: return add_terms(a, c, dtype, factors, 4, counts, b, i);
    default: return add_terms(a, c, dtype, factors, ANY_WORDS, counts, b, i);
    }
}

/* ---- extremes -------------------------------------------------------------------------------- */

static ALWAYS_INLINE int64_t compare_keys(const bf_accumulators *a, const bf_column *c,
                                          bf_dtype dtype, bool greatest, bool counts,
                                          const bf_rows_batch *b, int64_t i) {
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    int64_t *keys = a->records + (greatest ? c->greatest_at : c->least_at);
    const size_t stride = a->stride;
    for (; i < b->n; i++) {
        const uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(dtype) && __builtin_expect(bf_is_nan(f, x), 0)) {
            if (counts && !count_special(c, b->slots[i], BF_SPECIAL_NAN)) return i;
            continue;
        }
        int64_t key = bf_order_rank(dtype, x) ^ (greatest ? -1 : 0);
        int64_t *least = &keys[b->slots[i] * stride];
        *least = key < *least ? key : *least;
    }
    return i;
}

/* ---- by dtype -------------------------------------------------------------------------------- */

/* Compiled with every dtype as a constant. */
static ALWAYS_INLINE int64_t absorb_as(const bf_accumulators *a, const bf_column *c, bf_dtype dtype,
                                       unsigned part, bool counts, const bf_rows_batch *b,
                                       int64_t i) {
    switch (part) {
    case BF_PART_SUM: return add_by_words(a, c, dtype, 1, counts, b, i);
    case BF_PART_PRODUCTS: return add_by_words(a, c, dtype, 2, counts, b, i);
    case BF_PART_LEAST: return compare_keys(a, c, dtype, false, counts, b, i);
    default: return compare_keys(a, c, dtype, true, counts, b, i);
    }
}

static int64_t absorb_part(const bf_accumulators *a, const bf_column *c, unsigned part, bool counts,
                           const bf_rows_batch *b, int64_t i) {
    switch (c->dtype) {
#define BF_X(id, number, name, bytes, type)                                                        \
    case BF_##id: return absorb_as(a, c, BF_##id, part, counts, b, i);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return b->n;
    }
}

const bf_accumulate_loops LOOPS = {.count = count_rows, .absorb = absorb_part};
