/* The loops of accumulators. By the number of its slot a value is added to a sum of several words,
 * or to a sum of squares, or compared. Compiled for the baseline, and by isa/avx2_accumulate.c for
 * AVX2. */
#include "cpu/reduce/front.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

#include "cpu/reduce/lanes.h"

#ifndef LOOPS
#define LOOPS bf_accumulate_loops_generic
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum {
    FETCH_WARM = 1 << 22, /* records that take more bytes are fetched one by one */
    FETCH_COLD = 1 << 19, /* cold ones, too, if they take more than so many */
    WARM_DEPOSITS = 4     /* records are cold while slots had fewer rows */
};

static void count_rows(const bf_accumulators *a, const uint32_t *slots, int64_t n) {
    int64_t *records = a->records;
    const size_t stride = a->stride;
    for (int64_t i = 0; i < n; i++) records[slots[i] * stride]++;
}

/* Fetches the records of slots that are about to be written, if the nearest caches do not hold them
 * all. */
static void fetch_records(const bf_accumulators *a, const uint32_t *slots, int64_t n) {
    const size_t bytes = a->stride * sizeof *a->records;
    const char *records = (const char *)a->records;
    const bool warm = (size_t)a->deposits > WARM_DEPOSITS * a->room;
    if (a->room * bytes <= (warm ? FETCH_WARM : FETCH_COLD)) return;
    for (int64_t i = 0; i < n; i++) __builtin_prefetch(records + slots[i] * bytes, 1);
    if (BF_CPU_LINE % bytes == 0) return;
    for (int64_t i = 0; i < n; i++) __builtin_prefetch(records + slots[i] * bytes + bytes - 1, 1);
}

/* Compiled with each dtype as a constant. */
static ALWAYS_INLINE bool list_as(const char *places, bf_dtype dtype, uint64_t most, int64_t n,
                                  uint32_t first, uint32_t *restrict slots) {
    const int bytes = bf_dtype_bytes(dtype);
    uint64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t place = bf_load_bits(places + i * bytes, bytes);
        if (dtype == BF_I32) place = (uint64_t)(int64_t)(int32_t)place;
        wrong |= place >= most ? 1 : 0;
        slots[i] = first + (uint32_t)place;
    }
    return wrong == 0;
}

static bool list_slots(const char *places, bf_dtype dtype, uint64_t most, int64_t n, uint32_t first,
                       uint32_t *slots) {
    switch (dtype) {
    case BF_I32: return list_as(places, BF_I32, most, n, first, slots);
    case BF_U32: return list_as(places, BF_U32, most, n, first, slots);
    default: return list_as(places, BF_I64, most, n, first, slots);
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
    if (x == bf_format_sign(f)) return BF_SPECIAL_LAST;
    if (!bf_is_inf(f, x)) return -1;
    return x & bf_format_sign(f) ? BF_SPECIAL_NEG_INF : BF_SPECIAL_POS_INF;
}

/* Counts a special. false: there is no memory for it. */
static ALWAYS_INLINE bool count_special(const bf_accumulator_column *c, size_t slot, int special) {
    if (special < 0) return true;
    if (c->specials == NULL) return false;
    c->specials[slot * BF_SPECIALS + (size_t)special]++;
    return true;
}

/* ---- extremes -------------------------------------------------------------------------------- */

/* bf_order_rank, without a branch, which random signs would make slow. */
static ALWAYS_INLINE int64_t key_of(bf_dtype dtype, uint64_t x) {
    const int bits = 8 * bf_dtype_bytes(dtype);
    if (!bf_dtype_is_float(dtype)) return bf_order_rank(dtype, x);
    const int64_t rank = bf_sign_extend(x, bits);
    return rank ^ (int64_t)((uint64_t)(rank >> 63) >> (65 - bits));
}

/* Compares values [i, end). Returns where it stopped. */
static ALWAYS_INLINE int64_t compare_some(const bf_accumulators *a, const bf_accumulator_column *c,
                                          bf_dtype dtype, bool greatest, unsigned counts,
                                          const bf_rows_batch *b, int64_t i, int64_t end) {
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    const int at = greatest ? c->greatest_at : c->least_at;
    const int64_t flip = greatest ? -1 : 0;
    const size_t stride = a->stride;
    int64_t *records = a->records;
    for (; i < end; i++) {
        const uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(dtype) && __builtin_expect(bf_is_nan(f, x), 0)) {
            const int special = counts & BF_COUNT_SPECIALS ? BF_SPECIAL_NAN : -1;
            if (!count_special(c, b->slots[i], special)) return i;
            if (counts & BF_COUNT_ROWS) records[b->slots[i] * stride]++;
            continue;
        }
        int64_t key = key_of(dtype, x) ^ flip;
        int64_t *record = &records[b->slots[i] * stride];
        if (counts & BF_COUNT_ROWS) record[0]++;
        record[at] = key < record[at] ? key : record[at];
    }
    return i;
}

static ALWAYS_INLINE int64_t compare_keys(const bf_accumulators *a, const bf_accumulator_column *c,
                                          bf_dtype dtype, bool greatest, unsigned counts,
                                          const bf_rows_batch *b, int64_t i) {
    const bf_stream values = {b->values, bf_dtype_bytes(dtype)};
    while (i < b->n) {
        const int64_t end = b->n - i < BF_STREAM_ROWS ? b->n : i + BF_STREAM_ROWS;
        bf_stream_fetch(values, i);
        bf_stream_fetch(b->other, i);
        i = compare_some(a, c, dtype, greatest, counts, b, i, end);
        if (i < end) return i;
    }
    return i;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Rows of a band: which values fit it, and where it is. */
typedef struct place {
    int64_t *sums;  /* where those of slot 0 are */
    size_t stride;  /* words from slot to slot */
    int words;      /* how many a sum has */
    bool counted;   /* rows are counted here */
    int rows;       /* so many words from a sum on */
    uint64_t first; /* the position of an element whose last bit is the band's first */
    uint64_t end;   /* the first position above that which does not fit */
} place;

/* Bits of a term: of x, or of x^2. */
static ALWAYS_INLINE int term_bits(bf_dtype dtype, int factors) {
    const bool is_float = bf_dtype_is_float(dtype);
    return factors * (is_float ? bf_format_of(dtype).fraction + 1 : 8 * bf_number_bytes(dtype));
}

static ALWAYS_INLINE place place_of(const bf_accumulators *a, const bf_accumulator_column *c,
                                    int number, int factors, unsigned counts) {
    const bf_band *band = &c->bands[number];
    const bf_format f = bf_format_of(c->dtype);
    const int fits = band->top - term_bits(c->dtype, factors) + 1;
    place p = {.sums = a->records + band->at, .stride = a->stride, .words = band->words};
    p.counted = (counts & BF_COUNT_ROWS) != 0;
    p.rows = -band->at;
    if (bf_dtype_is_float(c->dtype))
        p.first = (uint64_t)(32 * band->first - bf_sum_position(f, band->layout, 0, factors));
    if (band->words > 0 && fits > 0) p.end = (uint64_t)fits;
    return p;
}

/* Adds a number in two's complement to a sum of so many words, from word `skip` on: three low
 * words, and what is above. */
static ALWAYS_INLINE void add_number(int64_t *sum, int words, unsigned skip, const uint64_t low[3],
                                     uint64_t above) {
    bf_u128 carry = 0;
    for (unsigned k = skip; k < (unsigned)words; k++) {
        carry += (bf_u128)(uint64_t)sum[k] + (k - skip < 3 ? low[k - skip] : above);
        sum[k] = (int64_t)(uint64_t)carry;
        carry >>= 64;
    }
}

/* m * 2^position for a number of one word, whose sign is `above`. */
static ALWAYS_INLINE void add_shifted(const place *p, size_t slot, uint64_t m, uint64_t above,
                                      uint64_t position) {
    const unsigned shift = position % 64;
    const uint64_t low[3] = {m << shift, m >> 1 >> (63 - shift) | above << shift, above};
    add_number(p->sums + slot * p->stride, p->words, (unsigned)(position / 64), low, above);
}

/* x * y * 2^position, without a sign. */
static ALWAYS_INLINE void add_product(const place *p, size_t slot, uint64_t a, uint64_t b,
                                      uint64_t position) {
    const unsigned shift = position % 64;
    const bf_u128 x = (bf_u128)a * b;
    const uint64_t x0 = (uint64_t)x, x1 = (uint64_t)(x >> 64);
    const uint64_t low[3] = {x0 << shift, x1 << shift | x0 >> 1 >> (63 - shift),
                             x1 >> 1 >> (63 - shift)};
    add_number(p->sums + slot * p->stride, p->words, (unsigned)(position / 64), low, 0);
}

static ALWAYS_INLINE void count_row(const place *p, size_t slot) {
    int64_t *sum = p->sums + slot * p->stride;
    sum[p->rows]++;
}

/* Adds values [i, end) one by one: x, or (factors 2) x^2. */
static ALWAYS_INLINE int64_t add_terms(const place *p, const bf_accumulator_column *c,
                                       bf_dtype dtype, int factors, unsigned counts,
                                       const bf_rows_batch *b, int64_t i, int64_t end) {
    const bool is_float = bf_dtype_is_float(dtype);
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    if (!is_float && p->end == 0) return i;
    for (; i < end; i++) {
        const uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        uint64_t position = 0;
        if (is_float && is_apart(f, x)) {
            const int special = counts & BF_COUNT_SPECIALS ? special_of(f, x) : -1;
            if (!count_special(c, b->slots[i], special)) return i;
            if (counts & BF_COUNT_ROWS) count_row(p, b->slots[i]);
            continue;
        }
        const bf_finite d = is_float ? bf_decode(f, x) : bf_decode_integer(dtype, x);
        if (is_float) position = (uint64_t)(factors * d.position) - p->first;
        if (is_float && position >= p->end) return i;
        if (counts & BF_COUNT_ROWS) count_row(p, b->slots[i]);
        const uint64_t sign = d.negative ? ~(uint64_t)0 : 0;
        if (factors == 1)
            add_shifted(p, b->slots[i], (d.magnitude ^ sign) - sign, sign, position);
        else
            add_product(p, b->slots[i], d.magnitude, d.magnitude, position);
    }
    return i;
}

/* ---- integers of 128 bits -------------------------------------------------------------------- */

static void add_wide_square(const place *p, size_t slot, bf_i128 x) {
    const bf_u128 m = x < 0 ? 0 - (bf_u128)x : (bf_u128)x;
    const uint64_t low = (uint64_t)m, high = (uint64_t)(m >> 64);
    add_product(p, slot, low, low, 0);
    add_product(p, slot, high, low, 65); /* twice */
    add_product(p, slot, high, high, 128);
}

/* Adds values from i on: x, or (factors 2) x^2. */
static int64_t add_wide(const bf_accumulators *a, const bf_accumulator_column *c, int factors,
                        unsigned counts, const bf_rows_batch *b, int64_t i) {
    const place p = place_of(a, c, factors == 1 ? BF_BAND_SUM : BF_BAND_PRODUCTS, factors, counts);
    if (p.end == 0) return i;
    for (; i < b->n; i++) {
        const bf_i128 x = bf_load_i128(b->values + i * 16);
        const uint64_t sign = x < 0 ? ~(uint64_t)0 : 0;
        const uint64_t low[3] = {(uint64_t)x, (uint64_t)(x >> 64), sign};
        if (p.counted) count_row(&p, b->slots[i]);
        if (factors == 1)
            add_number(p.sums + b->slots[i] * p.stride, p.words, 0, low, sign);
        else
            add_wide_square(&p, b->slots[i], x);
    }
    return i;
}

static int64_t compare_wide(const bf_accumulators *a, const bf_accumulator_column *c, bool greatest,
                            unsigned counts, const bf_rows_batch *b, int64_t i) {
    const int at = greatest ? c->greatest_at : c->least_at;
    const bf_i128 flip = greatest ? -1 : 0;
    for (; i < b->n; i++) {
        int64_t *record = bf_record(a, b->slots[i]);
        if (counts & BF_COUNT_ROWS) record[0]++;
        bf_take_least_wide(record + at, bf_load_i128(b->values + i * 16) ^ flip);
    }
    return i;
}

static int64_t absorb_wide(const bf_accumulators *a, const bf_accumulator_column *c, unsigned part,
                           unsigned counts, const bf_rows_batch *b, int64_t i) {
    if (part == BF_PART_PRODUCTS) return add_wide(a, c, 2, counts, b, i);
    if (part != BF_PART_SUM) return compare_wide(a, c, part == BF_PART_GREATEST, counts, b, i);
    const int64_t stop = add_wide(a, c, 1, counts, b, i);
    const bf_rows_batch done = {.slots = b->slots, .values = b->values, .n = stop};
    if (c->parts & BF_PART_LEAST) compare_wide(a, c, false, 0, &done, i);
    if (c->parts & BF_PART_GREATEST) compare_wide(a, c, true, 0, &done, i);
    return stop;
}

/* ---- sums of few words: vectors of terms are made, and then added ---------------------------- */

enum { STAGE = 128, STAGED_WORDS = 4 };

typedef struct stage {
    uint64_t words[STAGED_WORDS][STAGE]; /* the terms, in two's complement */
    int64_t keys[STAGE];                 /* the values, for extremes */
} __attribute__((aligned(64))) stage;

static ALWAYS_INLINE uint64_t mask_of(bool x) { return 0 - (uint64_t)x; }

/* The sizes of floats that fit a band, from the least one but 0 to the greatest. */
typedef struct sizes {
    uint64_t least, most;
} sizes;

/* The size from which on a float is at a position of the band. */
static ALWAYS_INLINE uint64_t size_at(bf_format f, int64_t position) {
    const int64_t field = position + 1, inf = (int64_t)(bf_format_inf(f) >> f.fraction);
    if (position <= 0) return 1;
    return (uint64_t)(field < inf ? field : inf) << f.fraction;
}

static ALWAYS_INLINE sizes sizes_of(const place *p, bf_format f) {
    const int64_t first = (int64_t)p->first;
    return (sizes){size_at(f, first), size_at(f, first + (int64_t)p->end) - 1};
}

/* Sets the words of a vector of floats, from term i on. Lanes of `bad` become negative where one
 * does not fit or is special. */
static ALWAYS_INLINE void make_float_words(const place *p, bf_format f, sizes fit, int words,
                                           lanes x, lanes *bad, int64_t i, stage *s) {
    const uint64_t hidden = (uint64_t)1 << f.fraction;
    const lanes size = x & (bf_format_sign(f) - 1);
    const lanes normal = lesser_lanes(all_lanes(hidden - 1), size);
    const lanes sign = lesser_lanes(x << (64 - bf_format_bits(f)), (lanes){0});
    const lanes m = (size & (hidden - 1)) | (normal & hidden);
    const lanes at = (size >> f.fraction) + normal - p->first;
    *bad |= ~zero_lanes(x) & ((size - fit.least) | (fit.most - size));
    lanes carry = sign;
    for (int k = 0; k < words; k++) {
        lanes word = shift_left(m, at - 64 * (uint64_t)k);
        if (k > 0) word |= shift_right(m, 64 * (uint64_t)k - at);
        const lanes negated = (word ^ sign) - carry;
        carry &= zero_lanes(word);
        memcpy(&s->words[k][i], &negated, sizeof negated);
    }
}

static ALWAYS_INLINE bool make_words_of_floats(const place *p, bf_dtype dtype, int words,
                                               const char *values, int64_t n, stage *s) {
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    const sizes fit = sizes_of(p, f);
    lanes bad = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        make_float_words(p, f, fit, words, load_lanes(values + i * bytes, bytes), &bad, i, s);
    if (i < n) {
        char rest[sizeof(lanes)] = {0};
        memcpy(rest, values + i * bytes, (size_t)((n - i) * bytes));
        make_float_words(p, f, fit, words, load_lanes(rest, bytes), &bad, i, s);
    }
    return !any_negative(bad);
}

static ALWAYS_INLINE void make_words_of_integers(bf_dtype dtype, int words,
                                                 const char *restrict values, int64_t n,
                                                 stage *restrict s) {
    const int bytes = bf_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        const bf_finite d = bf_decode_integer(dtype, bf_load_bits(values + i * bytes, bytes));
        const uint64_t sign = mask_of(d.negative);
        s->words[0][i] = (d.magnitude ^ sign) - sign;
        for (int k = 1; k < words; k++) s->words[k][i] = sign;
    }
}

/* Sets the words of n terms. Returns whether all of them fit, and none is special. */
static ALWAYS_INLINE bool make_words(const place *p, bf_dtype dtype, int words, const char *values,
                                     int64_t n, stage *s) {
    if (bf_dtype_is_float(dtype)) return make_words_of_floats(p, dtype, words, values, n, s);
    make_words_of_integers(dtype, words, values, n, s);
    return true;
}

/* Adds the terms to the sums of so many words, and compares the keys. Not inlined: every dtype has
 * such terms. */
#define ADD_STAGED(words)                                                                          \
    static __attribute__((noinline)) void add_staged_##words(                                      \
        const place *p, const bf_accumulator_column *c, const bf_rows_batch *b, const stage *s) {  \
        add_staged(p, c, words, b, s);                                                             \
    }

static ALWAYS_INLINE void take_least(int64_t *least, int64_t key) {
    *least = key < *least ? key : *least;
}

/* Adds term i of a stage, two words at a time: compilers make one addition with carry of them. */
static ALWAYS_INLINE void add_term(int64_t *sum, int words, const stage *s, int64_t i) {
    bf_u128 carry = 0, pair;
    int k = 0;
    for (; k + 2 <= words; k += 2) {
        const bf_u128 x = (bf_u128)s->words[k + 1][i] << 64 | s->words[k][i];
        memcpy(&pair, sum + k, sizeof pair);
        pair += x;
        const bool over = pair < x;
        pair += carry;
        memcpy(sum + k, &pair, sizeof pair);
        carry = over || pair < carry;
    }
    if (k < words) sum[k] = (int64_t)((uint64_t)sum[k] + s->words[k][i] + (uint64_t)carry);
}

static ALWAYS_INLINE void add_rows(const place *p, const bf_accumulator_column *c, int words,
                                   bool counted, unsigned extremes, const bf_rows_batch *b,
                                   const stage *s) {
    int64_t *const sums = p->sums;
    const uint32_t *const slots = b->slots;
    const size_t stride = p->stride;
    const int64_t n = b->n;
    const bf_stream values = {b->values, bf_dtype_bytes(c->dtype)}, other = b->other;
    const int rows = p->rows, at = c->bands[BF_BAND_SUM].at;
    const int least = c->least_at - at, greatest = c->greatest_at - at;
    for (int64_t first = 0, i = 0; first < n; first += BF_STREAM_ROWS) {
        const int64_t end = n - first < BF_STREAM_ROWS ? n : first + BF_STREAM_ROWS;
        bf_stream_fetch(values, first);
        bf_stream_fetch(other, first);
        for (; i < end; i++) {
            int64_t *sum = sums + slots[i] * stride;
            if (counted) sum[rows]++;
            add_term(sum, words, s, i);
            if (extremes & BF_PART_LEAST) take_least(&sum[least], s->keys[i]);
            if (extremes & BF_PART_GREATEST) take_least(&sum[greatest], ~s->keys[i]);
        }
    }
}

static ALWAYS_INLINE void add_staged(const place *p, const bf_accumulator_column *c, int words,
                                     const bf_rows_batch *b, const stage *s) {
    const bool counted = p->counted;
    switch (c->parts & (BF_PART_LEAST | BF_PART_GREATEST)) {
    case BF_PART_LEAST: add_rows(p, c, words, counted, BF_PART_LEAST, b, s); break;
    case BF_PART_GREATEST: add_rows(p, c, words, counted, BF_PART_GREATEST, b, s); break;
    case 0:
        if (counted)
            add_rows(p, c, words, true, 0, b, s);
        else
            add_rows(p, c, words, false, 0, b, s);
        break;
    default: add_rows(p, c, words, counted, BF_PART_LEAST | BF_PART_GREATEST, b, s); break;
    }
}

ADD_STAGED(1)
ADD_STAGED(2)
ADD_STAGED(3)
ADD_STAGED(4)

static ALWAYS_INLINE void add_by_words(const place *p, const bf_accumulator_column *c, int words,
                                       const bf_rows_batch *b, const stage *s) {
    switch (words) {
    case 1: add_staged_1(p, c, b, s); break;
    case 2: add_staged_2(p, c, b, s); break;
    case 3: add_staged_3(p, c, b, s); break;
    default: add_staged_4(p, c, b, s); break;
    }
}

/* Words of a sum whose terms are made in vectors, at most: integers and halves need no more. */
static inline int staged_words(bf_dtype dtype) {
    return bf_dtype_is_float(dtype) && dtype != BF_F16 ? STAGED_WORDS : 2;
}

static ALWAYS_INLINE bool make_terms(const place *p, bf_dtype dtype, const char *values, int64_t n,
                                     stage *s) {
    if (p->words == 1) return make_words(p, dtype, 1, values, n, s);
    if (p->words == 2 || staged_words(dtype) == 2) return make_words(p, dtype, 2, values, n, s);
    if (p->words == 3) return make_words(p, dtype, 3, values, n, s);
    return make_words(p, dtype, 4, values, n, s);
}

static ALWAYS_INLINE void make_keys(bf_dtype dtype, const char *restrict values, int64_t n,
                                    stage *restrict s) {
    const int bytes = bf_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++)
        s->keys[i] = key_of(dtype, bf_load_bits(values + i * bytes, bytes));
}

/* ---- joint kinds ----------------------------------------------------------------------------- */

#include "cpu/reduce/joint_loops.h"

#ifdef __FMA__
#include "cpu/reduce/front_loops.h"
#endif

/* ---- by dtype -------------------------------------------------------------------------------- */

/* The loops above, compiled with a dtype as a constant: each once, because they are long. */
typedef struct dtype_loops {
    bool (*make_terms)(const place *p, const char *values, int64_t n, stage *s);
    void (*make_keys)(const char *values, int64_t n, stage *s);
    int64_t (*add_terms)(const place *p, const bf_accumulator_column *c, unsigned counts,
                         const bf_rows_batch *b, int64_t i, int64_t end);
    int64_t (*add_squares)(const place *p, const bf_accumulator_column *c, unsigned counts,
                           const bf_rows_batch *b, int64_t i, int64_t end);
    int64_t (*compare)(const bf_accumulators *a, const bf_accumulator_column *c, bool greatest,
                       unsigned counts, const bf_rows_batch *b, int64_t i);
    void (*make_factors)(const char *values, int64_t n, factors *x);
} dtype_loops;

#define BF_X(id, number, name, bytes, type, ...)                                                   \
    static bool make_terms_##name(const place *p, const char *values, int64_t n, stage *s) {       \
        return make_terms(p, BF_##id, values, n, s);                                               \
    }                                                                                              \
    static void make_keys_##name(const char *values, int64_t n, stage *s) {                        \
        make_keys(BF_##id, values, n, s);                                                          \
    }                                                                                              \
    static int64_t add_terms_##name(const place *p, const bf_accumulator_column *c,                \
                                    unsigned counts, const bf_rows_batch *b, int64_t i,            \
                                    int64_t end) {                                                 \
        return add_terms(p, c, BF_##id, 1, counts, b, i, end);                                     \
    }                                                                                              \
    static int64_t add_squares_##name(const place *p, const bf_accumulator_column *c,              \
                                      unsigned counts, const bf_rows_batch *b, int64_t i,          \
                                      int64_t end) {                                               \
        return add_terms(p, c, BF_##id, 2, counts, b, i, end);                                     \
    }                                                                                              \
    static int64_t compare_##name(const bf_accumulators *a, const bf_accumulator_column *c,        \
                                  bool greatest, unsigned counts, const bf_rows_batch *b,          \
                                  int64_t i) {                                                     \
        return compare_keys(a, c, BF_##id, greatest, counts, b, i);                                \
    }                                                                                              \
    static void make_factors_##name(const char *values, int64_t n, factors *x) {                   \
        make_factors(BF_##id, values, n, x);                                                       \
    }
BF_DTYPE_LIST(BF_X)
#undef BF_X

static const dtype_loops all_loops[] = {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    [BF_##id] = {make_terms_##name,  make_keys_##name, add_terms_##name,                           \
                 add_squares_##name, compare_##name,   make_factors_##name},
    BF_DTYPE_LIST(BF_X)
#undef BF_X
};

/* Adds values [i, end) to the sums one by one, and compares them. Returns where it stopped. */
static int64_t take_terms(const place *p, const bf_accumulators *a, const bf_accumulator_column *c,
                          const dtype_loops *loops, unsigned counts, const bf_rows_batch *b,
                          int64_t i, int64_t end) {
    const int64_t stop = loops->add_terms(p, c, counts, b, i, end);
    const bf_rows_batch done = {.slots = b->slots, .values = b->values, .n = stop};
    if (c->parts & BF_PART_LEAST) loops->compare(a, c, false, 0, &done, i);
    if (c->parts & BF_PART_GREATEST) loops->compare(a, c, true, 0, &done, i);
    return stop;
}

static int64_t add_stages(const place *p, const bf_accumulators *a, const bf_accumulator_column *c,
                          const dtype_loops *loops, unsigned counts, const bf_rows_batch *b,
                          int64_t i) {
    const int bytes = bf_dtype_bytes(c->dtype);
    const bool extremes = c->parts > (BF_PART_SUM | BF_PART_PRODUCTS);
    stage s;
    if (!bf_dtype_is_float(c->dtype) && p->end == 0) return i;
    while (i < b->n) {
        const int64_t n = b->n - i < STAGE ? b->n - i : STAGE;
        const bf_rows_batch some = {.slots = b->slots + i,
                                    .values = b->values + i * bytes,
                                    .n = n,
                                    .other = bf_stream_from(b->other, i)};
        if (loops->make_terms(p, some.values, n, &s)) {
            if (extremes) loops->make_keys(some.values, n, &s);
            add_by_words(p, c, p->words, &some, &s);
            i += n;
        } else {
            const int64_t stop = take_terms(p, a, c, loops, counts, b, i, i + n);
            if (stop < i + n) return stop;
            i = stop;
        }
    }
    return i;
}

/* Adds the values to sums, and compares them if the column has extremes too. */
static int64_t add_sums(const bf_accumulators *a, const bf_accumulator_column *c,
                        const dtype_loops *loops, unsigned counts, const bf_rows_batch *b,
                        int64_t i) {
    const place p = place_of(a, c, BF_BAND_SUM, 1, counts);
    if (p.words > 0 && p.words <= staged_words(c->dtype))
        return add_stages(&p, a, c, loops, counts, b, i);
    return take_terms(&p, a, c, loops, counts, b, i, b->n);
}

static int64_t add_squares(const bf_accumulators *a, const bf_accumulator_column *c,
                           const dtype_loops *loops, unsigned counts, const bf_rows_batch *b,
                           int64_t i) {
    const place p = place_of(a, c, BF_BAND_PRODUCTS, 2, counts);
    return loops->add_squares(&p, c, counts, b, i, b->n);
}

/* Sets the factors of rows. Returns whether they have 64 bits each. */
static bool make_all_factors(const joint_rows *r, bf_dtype dtype, factors *x, factors *y) {
    if (dtype == BF_I128)
        return make_factors_narrow(r->values, r->n, x) &&
               (r->second == NULL || make_factors_narrow(r->second, r->n, y));
    all_loops[dtype].make_factors(r->values, r->n, x);
    if (r->second != NULL) all_loops[dtype].make_factors(r->second, r->n, y);
    return true;
}

/* Adds rows from i on, of a joint kind. */
static int64_t absorb_joint(const bf_accumulators *a, const bf_accumulator_column *c, bf_kind kind,
                            unsigned counts, const bf_rows_batch *b, int64_t i) {
    const int bytes = bf_number_bytes(c->dtype);
    const bf_parts parts = bf_parts_of(kind, c->dtype);
    joint_rows r = {.column = c, .counts = counts};
    factors x, y;
    for (int k = 0; k < parts.count; k++) {
        r.places[k] = place_of(a, c, k, parts.part[k].a + parts.part[k].b, counts);
        if (!bf_dtype_is_float(c->dtype) && r.places[k].end == 0) return i;
    }
    for (int64_t done = 0; i < b->n; i += done) {
        r.slots = b->slots + i;
        r.values = b->values + i * bytes;
        r.second = b->second != NULL ? b->second + i * bytes : NULL;
        r.n = b->n - i < FACTORS ? b->n - i : FACTORS;
        if (!make_all_factors(&r, c->dtype, &x, &y)) {
            add_joint_wide(&r, kind);
            done = r.n;
            continue;
        }
        done = add_joint_rows(&r, kind, &x, &y, r.n);
        if (done < r.n) return i + done;
    }
    return i;
}

static int64_t absorb_part(const bf_accumulators *a, const bf_accumulator_column *c, unsigned part,
                           unsigned counts, const bf_rows_batch *b, int64_t i) {
    if (bf_part_is_joint(part)) return absorb_joint(a, c, bf_bands_kind(part), counts, b, i);
    if (c->dtype == BF_I128) return absorb_wide(a, c, part, counts, b, i);
    const dtype_loops *loops = &all_loops[c->dtype];
    switch (part) {
    case BF_PART_SUM: return add_sums(a, c, loops, counts, b, i);
    case BF_PART_PRODUCTS: return add_squares(a, c, loops, counts, b, i);
    default: return loops->compare(a, c, part == BF_PART_GREATEST, counts, b, i);
    }
}

const bf_accumulate_loops LOOPS = {
    .list = list_slots,
    .fetch = fetch_records,
    .count = count_rows,
    .absorb = absorb_part,
#ifdef __FMA__
    .front = absorb_front,
#endif
};
