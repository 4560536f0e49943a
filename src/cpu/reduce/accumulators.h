/* Accumulators: the exact states of many slots at once, for groups, indices and many states.
 *
 * A slot has a record of 64-bit words: how many rows it has, and what the columns keep. A column is
 * an array of values that is absorbed; it keeps any of a sum, a sum of squares, the least and the
 * greatest value. So the sum, the mean, the variance and the maximum of one array are one column,
 * and a row touches one or two lines of memory. Or a column is one array or two, and keeps all sums
 * of a joint kind.
 *
 * A sum is a number in two's complement, of as many words as the terms of all slots have needed (a
 * band): usually two. NaNs, infinities and -0 are counted apart, in memory that exists only where
 * there are some. Where a function says "false", there was no memory; the accumulators have the
 * values that they had. */
#ifndef BF_CPU_REDUCE_ACCUMULATORS_H
#define BF_CPU_REDUCE_ACCUMULATORS_H

#include "cpu/runtime/context.h"
#include "cpu/runtime/stream.h"
#include "rules/reduce/band.h"
#include "rules/reduce/state.h"

enum { BF_ACCUMULATE_BATCH = 1024 }; /* rows that are absorbed at a time */

/* The words of each slot's sum: from bit 32 * first of the layout on. The sum of its `deposits`
 * numbers below 2^top (from that bit on) always fits. */
typedef struct bf_band {
    bf_layout layout; /* the whole sum's */
    int first, words; /* words 0: no term so far */
    int top;
    int at; /* in a record */
} bf_band;

/* What a column keeps. */
enum {
    BF_PART_SUM = 1,
    BF_PART_PRODUCTS = 2,
    BF_PART_LEAST = 4,    /* as order keys: rules/key/order.h; of BF_I128 as two words, the high
                             one first */
    BF_PART_GREATEST = 8, /* complemented */
    BF_PART_JOINT = 16    /* then for each joint kind a bit, with which there is no other part */
};

/* The values that are counted apart; integers have none. The last one is -0, or of a joint kind an
 * invalid pair. */
enum { BF_SPECIAL_NAN, BF_SPECIAL_POS_INF, BF_SPECIAL_NEG_INF, BF_SPECIAL_LAST, BF_SPECIALS };

/* The bands of a column that is not joint: of the sum and of the products. */
enum { BF_BAND_SUM, BF_BAND_PRODUCTS };

typedef struct bf_front bf_front; /* cpu/reduce/front.h */

typedef struct bf_accumulator_column {
    bf_dtype dtype;
    unsigned parts;
    unsigned kept; /* a bit for each band that is */
    bf_band bands[BF_PARTS_MOST];
    int least_at, greatest_at; /* in a record */
    int64_t *specials;         /* BF_SPECIALS of each slot; NULL: none yet */
    bf_front *front;           /* while it is open, which has a part of the sums; else NULL */
} bf_accumulator_column;

typedef struct bf_accumulators {
    int count; /* how many columns there are */
    bf_accumulator_column *columns;
    size_t room;      /* slots */
    size_t stride;    /* how many words a record has, the first of which counts rows */
    bool uncounted;   /* rows are not counted: then there are no specials either */
    int64_t deposits; /* numbers that have been added to any one sum, at most */
    int64_t *records; /* from a line of memory on: those of 2^k words lie in one */
    void *memory;     /* in which they are */
} bf_accumulators;

/* The part that an aggregate needs. */
static inline unsigned bf_part_of(bf_reduction op) {
    const bf_kind kind = bf_kind_of(op, BF_NONE);
    if (bf_kind_is_joint(kind)) return (unsigned)BF_PART_JOINT << (kind - BF_KIND_POWERS);
    switch (kind) {
    case BF_KIND_SUM: return BF_PART_SUM;
    case BF_KIND_SQUARES: return BF_PART_PRODUCTS;
    case BF_KIND_MOMENTS: return BF_PART_SUM | BF_PART_PRODUCTS;
    default: return bf_is_greatest(op) ? BF_PART_GREATEST : BF_PART_LEAST;
    }
}

static inline bool bf_part_is_joint(unsigned parts) { return parts >= BF_PART_JOINT; }

/* The kind whose sums a column has in its bands: of one that is not joint, the moments. */
static inline bf_kind bf_bands_kind(unsigned parts) {
    for (unsigned k = BF_KIND_POWERS; k <= BF_KIND_WEIGHTED; k++)
        if (parts & (unsigned)BF_PART_JOINT << (k - BF_KIND_POWERS)) return (bf_kind)k;
    return BF_KIND_MOMENTS;
}

/* Band number b is that of the sum of these terms: the exponents of a and b, as of a part. */
static inline bf_part bf_band_part(unsigned parts, int b) {
    const int powers = bf_kind_part(bf_bands_kind(parts), b);
    return (bf_part){.a = powers >> 4, .b = powers & 15};
}

/* The words of an order key; and that of BF_I128, from its first word on. */
static inline int bf_key_words(bf_dtype dtype) { return dtype == BF_I128 ? 2 : 1; }

static inline bf_i128 bf_wide_key(const int64_t *key) {
    return (bf_i128)((bf_u128)(uint64_t)key[0] << 64 | (uint64_t)key[1]);
}

/* Takes a key of BF_I128 if it is less. */
static inline void bf_take_least_wide(int64_t *key, bf_i128 other) {
    if (other >= bf_wide_key(key)) return;
    key[0] = (int64_t)(other >> 64);
    key[1] = (int64_t)other;
}

static inline int64_t *bf_record(const bf_accumulators *a, size_t slot) {
    return a->records + slot * a->stride;
}

/* The rows of a slot; 1 if they are not counted. */
static inline int64_t bf_rows_of(const bf_accumulators *a, size_t slot) {
    return a->uncounted ? 1 : *bf_record(a, slot);
}

/* --- the loops of an instruction set --- */

/* Rows of a batch: their slots, and the values of a column. */
typedef struct bf_rows_batch {
    const uint32_t *slots;
    const char *values, *second; /* second: the others of pairs */
    int64_t n;
    bf_stream other; /* what else these rows need, to be fetched as the values are; or none */
} bf_rows_batch;

enum { BF_COUNT_ROWS = 1, BF_COUNT_SPECIALS = 2 };

typedef struct bf_accumulate_loops {
    /* Sets slots to an index of n places, counted from `first`. false: one is not below `most`. */
    bool (*list)(const char *places, bf_dtype dtype, uint64_t most, int64_t n, uint32_t first,
                 uint32_t *slots);
    /* Fetches the records of slots, where that helps. */
    void (*fetch)(const bf_accumulators *a, const uint32_t *slots, int64_t n);
    /* Counts rows. */
    void (*count)(const bf_accumulators *a, const uint32_t *slots, int64_t n);
    /* Absorbs values from i on into one part of a column. Returns the index of the first that does
     * not fit the band, or is special where there is no memory for specials; else n. counts: what
     * it counts as well. With the sum go the extremes of a column; a joint kind is one part. */
    int64_t (*absorb)(const bf_accumulators *a, const bf_accumulator_column *column, unsigned part,
                      unsigned counts, const bf_rows_batch *batch, int64_t i);
    /* Adds rows from i on to the front of a column. Returns the first that it leaves, with the
     * BF_FRONT_STAGE from there on, or n. NULL: there are no fronts. */
    int64_t (*front)(const bf_accumulators *a, const bf_accumulator_column *column,
                     const bf_rows_batch *batch, int64_t i);
} bf_accumulate_loops;

extern const bf_accumulate_loops bf_accumulate_loops_generic, bf_accumulate_loops_avx2,
    bf_accumulate_loops_avx512;

/* --- accumulators.c --- */

/* Makes accumulators of no slots; the dtypes and parts of the columns, which the caller keeps, are
 * set. */
void bf_accumulators_init(bf_accumulators *a, bf_accumulator_column *columns, int count);
/* Has accumulators of no slots leave out the counts of rows: for sums, sums of squares and norms.
 * They cannot absorb specials: "false". */
void bf_accumulators_uncount(bf_accumulators *a);
/* Frees what the slots have: they are as made. */
void bf_accumulators_clear(bf_accumulators *a);
/* Makes all slots empty. */
void bf_accumulators_reset(bf_accumulators *a);

/* Makes room for `room` slots, if there is less. */
bool bf_accumulators_grow(bf_accumulators *a, size_t room);

/* Opens a batch of n <= BF_ACCUMULATE_BATCH rows. */
bool bf_accumulators_open(bf_accumulators *a, const bf_accumulate_loops *loops,
                          const uint32_t *slots, int64_t n);
/* Absorbs the values of a column in a batch that is open; the first column counts its rows. */
bool bf_accumulators_absorb(bf_accumulators *a, const bf_accumulate_loops *loops, int column,
                            const bf_rows_batch *batch);

/* Chooses the bands of a column by a sample of n values, or pairs, that will come. Best before
 * there are slots, for bands that change later move all records. */
bool bf_accumulators_expect(bf_accumulators *a, int column, const char *values, const char *second,
                            int64_t n);
/* Makes the bands of a column hold what its front may have. */
bool bf_accumulators_hold_front(bf_accumulators *a, bf_accumulator_column *column,
                                const bf_front *front);
/* Adds x * 2^position, from the layout's last bit on, to a record. */
void bf_band_add(const bf_band *band, int64_t *record, int position, int64_t x);
/* Are there values in a sample of n that the column counts apart? */
bool bf_accumulator_column_expects_specials(const bf_accumulator_column *column, const char *values,
                                            int64_t n);
/* Makes all memory that n values of a column need. */
bool bf_accumulators_ready(bf_accumulators *a, int column, const char *values, int64_t n);

/* Prepares a merge: makes all memory that it needs. Column map[c] of `from` goes to column c (NULL:
 * c), and has all its parts. Afterwards slots are merged one by one. */
bool bf_accumulators_prepare(bf_accumulators *into, const bf_accumulators *from, const int map[]);
void bf_accumulators_merge(const bf_accumulators *into, size_t i, const bf_accumulators *from,
                           size_t f, const int map[]);

/* Adds the words of n states of an aggregate to a column of slots from `first` on. The caller adds
 * the counts of rows, which all columns share. */
bool bf_accumulators_add_words(bf_accumulators *a, int column, bf_reduction op, size_t first,
                               const int64_t *words, size_t n);

/* Sets the words of a state of an aggregate to those of a slot. */
void bf_accumulators_words(const bf_accumulators *a, int column, bf_reduction op, size_t slot,
                           int64_t *words);

/* Sets n limbs to those of a record's sum from limb `first` of the band on. The last has its sign.
 */
void bf_band_limbs(const bf_band *band, const int64_t *record, int first, int n, int64_t *limbs);

/* Makes memory for the specials of a column, if there is none yet. */
bool bf_accumulator_column_hold_specials(bf_accumulator_column *column, size_t room);

/* The word of a state of this kind that counts a special. */
static inline int bf_special_word(bf_kind kind, int special) {
    if (special < BF_SPECIAL_LAST) return BF_SUM_NAN + special;
    return kind == BF_KIND_WEIGHTED ? BF_SUM_INVALID : BF_SUM_NEG_ZERO;
}

/* Sets the first BF_SUM_LIMBS words of a state of this kind to the counts of a slot with so many
 * rows. */
static inline void bf_accumulator_column_counts(const bf_accumulator_column *c, size_t slot,
                                                bf_kind kind, int64_t rows, int64_t *words) {
    for (int i = 0; i < BF_SUM_LIMBS; i++) words[i] = 0;
    words[BF_SUM_COUNT] = rows;
    if (c->specials == NULL) return;
    const int64_t *specials = c->specials + slot * BF_SPECIALS;
    for (int k = 0; k < BF_SPECIAL_LAST; k++) words[BF_SUM_NAN + k] = specials[k];
    if (kind == BF_KIND_SQUARES) { /* no infinity is negative */
        words[BF_SUM_POS_INF] += words[BF_SUM_NEG_INF];
        words[BF_SUM_NEG_INF] = 0;
    }
    if (kind == BF_KIND_WEIGHTED || bf_sum_counts_zeros(kind, c->dtype))
        words[bf_special_word(kind, BF_SPECIAL_LAST)] = specials[BF_SPECIAL_LAST];
}

/* --- front.c: sums in doubles before the records, of pairs and of moments --- */

enum { BF_FRONT_SLOTS = 1 << 12 }; /* the slots that it has */

/* Opens the front of a column, if it has only sums of pairs or only moments, the loops have one and
 * there is memory: for n rows of which a sample is looked at. second: NULL but of pairs. */
void bf_front_open(bf_accumulators *a, const bf_accumulate_loops *loops, int column,
                   const char *values, const char *second, int64_t n);
/* Adds what all fronts have to the records, and ends them: before these are looked at. */
void bf_fronts_close(bf_accumulators *a);

/* --- results.c --- */

/* Slots [first, first + n) of a column, and where their results go. */
typedef struct bf_slot_results {
    const bf_accumulators *from;
    int column;
    bf_reduction op;
    const bf_reduce_options *options;
    bf_dtype result, to; /* by the rules (bf_result_dtype); of the elements */
    char *values;        /* where slot `first` goes, at any alignment */
    uint8_t *fits;       /* NULL: not asked for */
} bf_slot_results;

/* Writes the results of n slots. Returns whether BF_NAN_ERROR refuses none of them. */
bool bf_accumulators_finish(const bf_slot_results *results, size_t first, size_t n);

#endif
