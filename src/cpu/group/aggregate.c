/* Aggregates of a partition's groups. By the number of its group a value is added to limbs, as
 * src/rules say, or is counted among the group's specials. */
#include "cpu/group/group.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Limbs that a term touches, from that of its position on (rules/number/limbs.h). */
enum { TOUCHED = 3, TOUCHED_WIDE = 5 };

void bf_group_aggregate_init(bf_group_aggregate *a, bf_aggregate kind) {
    *a = (bf_group_aggregate){.kind = bf_kind_of(kind.op, kind.dtype), .dtype = kind.dtype};
    a->sum.layout = bf_layout_sum(kind.dtype);
    a->products.layout = bf_layout_products(kind.dtype);
    a->greatest = bf_is_greatest(kind.op);
}

void bf_group_aggregate_destroy(bf_group_aggregate *a) {
    bf_free(a->sum.words);
    bf_free(a->products.words);
    bf_free(a->keys);
    bf_free(a->specials);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool grow_keys(bf_group_aggregate *a, size_t before, size_t room) {
    int64_t *keys = bf_resize(a->keys, room * sizeof *keys);
    if (keys == NULL) return false;
    for (size_t i = before; i < room; i++) keys[i] = INT64_MAX;
    a->keys = keys;
    return true;
}

static bool grow_specials(bf_group_aggregate *a, size_t before, size_t room) {
    int64_t *specials = bf_resize(a->specials, room * BF_GROUP_SPECIALS * sizeof *specials);
    if (specials == NULL) return false;
    memset(specials + before * BF_GROUP_SPECIALS, 0,
           (room - before) * BF_GROUP_SPECIALS * sizeof *specials);
    a->specials = specials;
    return true;
}

bool bf_group_aggregate_grow(bf_group_aggregate *a, size_t before, size_t room) {
    if (a->kind == BF_KIND_EXTREME && !grow_keys(a, before, room)) return false;
    if (a->specials != NULL && !grow_specials(a, before, room)) return false;
    return bf_band_grow(&a->sum, before, room) && bf_band_grow(&a->products, before, room);
}

bool bf_group_aggregate_hold_specials(bf_group_aggregate *a, size_t room) {
    return a->specials != NULL || grow_specials(a, 0, room);
}

/* ---- one value ------------------------------------------------------------------------------- */

/* Returns the special that a float is to an aggregate of this kind, or -1. */
static ALWAYS_INLINE int special_of(bf_kind kind, bf_format f, uint64_t x) {
    if (bf_is_nan(f, x)) return BF_GROUP_NAN;
    if (kind == BF_KIND_EXTREME) return -1;
    if (kind == BF_KIND_SQUARES) return bf_is_inf(f, x) ? BF_GROUP_POS_INF : -1;
    if (x == bf_format_sign(f)) return BF_GROUP_NEG_ZERO;
    if (!bf_is_inf(f, x)) return -1;
    return x & bf_format_sign(f) ? BF_GROUP_NEG_INF : BF_GROUP_POS_INF;
}

/* Returns whether x is zero, infinite or NaN: it adds nothing to limbs. */
static ALWAYS_INLINE bool is_apart(bf_format f, uint64_t x) {
    uint64_t magnitude = x & ~bf_format_sign(f);
    return magnitude - 1 >= bf_format_inf(f) - 1;
}

/* A term of a sum (factors 1) or of a sum of squares (2). */
typedef struct term {
    uint64_t magnitude;
    int position; /* in the layout */
    bool negative;
} term;

static ALWAYS_INLINE term term_of(bf_dtype dtype, int factors, uint64_t x) {
    bool is_float = bf_dtype_is_float(dtype);
    bf_layout layout = factors == 1 ? bf_layout_sum(dtype) : bf_layout_products(dtype);
    bf_format f = bf_format_of(dtype);
    bf_finite d = is_float ? bf_decode(f, x) : bf_decode_integer(dtype, x);
    int position = is_float ? bf_sum_position(f, layout, factors * d.position, factors) : 0;
    return (term){d.magnitude, position, d.negative};
}

static ALWAYS_INLINE int touched_by(bf_dtype dtype, int factors) {
    return factors == 2 && bf_dtype_bytes(dtype) == 8 ? TOUCHED_WIDE : TOUCHED;
}

/* ---- a batch --------------------------------------------------------------------------------- */

typedef struct batch {
    const uint32_t *numbers;
    const char *values;
    int64_t n;
} batch;

/* Adds values from i on to a band. Returns the index of the first value that needs other limbs, or
 * specials where there is no memory for them; else n. counts: specials are counted too. */
static ALWAYS_INLINE int64_t add_terms(bf_group_aggregate *a, const bf_band *band, bf_dtype dtype,
                                       int factors, bool counts, const batch *b, int64_t i) {
    const int bytes = bf_dtype_bytes(dtype), first = 32 * band->first;
    const int last = first + 32 * (band->limbs - touched_by(dtype, factors)) + 31;
    const size_t limbs = (size_t)band->limbs;
    const bf_format f = bf_format_of(dtype);
    for (; i < b->n; i++) {
        uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(dtype) && __builtin_expect(is_apart(f, x), 0)) {
            int other = counts ? special_of(a->kind, f, x) : -1;
            if (other >= 0 && a->specials == NULL) return i;
            if (other >= 0)
                a->specials[(size_t)b->numbers[i] * BF_GROUP_SPECIALS + (size_t)other]++;
            continue;
        }
        term t = term_of(dtype, factors, x);
        if (t.position < first || t.position > last) return i;
        int64_t *at = band->words + b->numbers[i] * limbs;
        if (factors == 1)
            bf_limbs_add(at, t.position - first, t.magnitude, t.negative);
        else
            bf_limbs_add_product(at, t.position - first, t.magnitude, t.magnitude, false);
    }
    return i;
}

/* Absorbs values from i on into the least keys, as add_terms does. */
static ALWAYS_INLINE int64_t absorb_keys(bf_group_aggregate *a, bf_dtype dtype, const batch *b,
                                         int64_t i) {
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    const int64_t complement = a->greatest ? -1 : 0;
    for (; i < b->n; i++) {
        uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(dtype) && __builtin_expect(bf_is_nan(f, x), 0)) {
            if (a->specials == NULL) return i;
            a->specials[(size_t)b->numbers[i] * BF_GROUP_SPECIALS + BF_GROUP_NAN]++;
            continue;
        }
        int64_t key = bf_order_rank(dtype, x) ^ complement, *least = &a->keys[b->numbers[i]];
        if (key < *least) *least = key;
    }
    return i;
}

/* The part of an aggregate that a pass over a batch updates. */
typedef enum pass { PASS_SUM, PASS_PRODUCTS, PASS_PRODUCTS_ALONE, PASS_KEYS } pass;

/* Compiled with every dtype as a constant. */
static ALWAYS_INLINE int64_t run_pass_as(bf_group_aggregate *a, bf_dtype dtype, pass what,
                                         const batch *b, int64_t i) {
    switch (what) {
    case PASS_SUM: return add_terms(a, &a->sum, dtype, 1, true, b, i);
    case PASS_PRODUCTS: return add_terms(a, &a->products, dtype, 2, false, b, i);
    case PASS_PRODUCTS_ALONE: return add_terms(a, &a->products, dtype, 2, true, b, i);
    default: return absorb_keys(a, dtype, b, i);
    }
}

static int64_t run_pass(bf_group_aggregate *a, pass what, const batch *b, int64_t i) {
    switch (a->dtype) {
#define BF_X(id, number, name, bytes, type)                                                        \
    case BF_##id: return run_pass_as(a, BF_##id, what, b, i);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return b->n;
    }
}

/* ---- memory for a batch ---------------------------------------------------------------------- */

/* Widens a band for values [i, n) of a batch. */
static bool widen_for(bf_group_aggregate *a, bf_band *band, int factors, size_t room,
                      const batch *b, int64_t i) {
    int bytes = bf_dtype_bytes(a->dtype), least = INT32_MAX, most = 0;
    bf_format f = bf_format_of(a->dtype);
    for (; i < b->n; i++) {
        uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(a->dtype) && is_apart(f, x)) continue;
        int position = term_of(a->dtype, factors, x).position;
        if (position < least) least = position;
        if (position > most) most = position;
    }
    if (least > most) return true; /* none needs any: the caller changed values meanwhile */
    return bf_band_widen(band, room, least / 32,
                         most / 32 - least / 32 + touched_by(a->dtype, factors));
}

/* Makes the memory that value i needs, at which a pass has stopped. */
static bool make_room(bf_group_aggregate *a, pass what, size_t room, const batch *b, int64_t i) {
    int bytes = bf_dtype_bytes(a->dtype);
    uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
    bool apart = bf_dtype_is_float(a->dtype) && is_apart(bf_format_of(a->dtype), x);
    if (apart || what == PASS_KEYS) return bf_group_aggregate_hold_specials(a, room);
    bool sum = what == PASS_SUM;
    return widen_for(a, sum ? &a->sum : &a->products, sum ? 1 : 2, room, b, i);
}

static bool run_whole_pass(bf_group_aggregate *a, pass what, size_t room, const batch *b) {
    int64_t i = 0;
    while ((i = run_pass(a, what, b, i)) < b->n)
        if (!make_room(a, what, room, b, i)) return false;
    return true;
}

/* Deposits that a term makes to a limb, at most. */
enum { SUM_DEPOSITS = 1, PRODUCT_DEPOSITS = 2 };

static bool add_products(bf_group_aggregate *a, pass what, size_t room, const batch *b) {
    if (!bf_band_prepare(&a->products, room, PRODUCT_DEPOSITS * b->n)) return false;
    a->products.deposits += PRODUCT_DEPOSITS * b->n;
    return run_whole_pass(a, what, room, b);
}

static bool add_sums(bf_group_aggregate *a, size_t room, const batch *b) {
    if (!bf_band_prepare(&a->sum, room, SUM_DEPOSITS * b->n)) return false;
    a->sum.deposits += SUM_DEPOSITS * b->n;
    return run_whole_pass(a, PASS_SUM, room, b);
}

bool bf_group_aggregate_absorb(bf_group_aggregate *a, size_t room, const uint32_t *numbers,
                               const char *values, int64_t n) {
    batch b = {numbers, values, n};
    switch (a->kind) {
    case BF_KIND_SUM: return add_sums(a, room, &b);
    case BF_KIND_SQUARES: return add_products(a, PASS_PRODUCTS_ALONE, room, &b);
    case BF_KIND_MOMENTS: return add_sums(a, room, &b) && add_products(a, PASS_PRODUCTS, room, &b);
    default: return run_whole_pass(a, PASS_KEYS, room, &b);
    }
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool widen_band(bf_band *into, size_t room, const bf_band *from) {
    if (from->limbs == 0) return true;
    return bf_band_prepare(into, room, from->deposits) &&
           bf_band_widen(into, room, from->first, from->limbs);
}

bool bf_group_aggregate_widen(bf_group_aggregate *into, size_t room,
                              const bf_group_aggregate *from) {
    if (from->specials != NULL && !bf_group_aggregate_hold_specials(into, room)) return false;
    return widen_band(&into->sum, room, &from->sum) &&
           widen_band(&into->products, room, &from->products);
}

static void add_band(bf_band *into, size_t i, const bf_band *from, size_t f) {
    if (from->limbs == 0) return;
    int64_t *to = into->words + i * (size_t)into->limbs + (from->first - into->first);
    const int64_t *words = from->words + f * (size_t)from->limbs;
    for (int k = 0; k < from->limbs; k++) to[k] += words[k];
}

void bf_group_aggregate_merge(bf_group_aggregate *into, size_t i, const bf_group_aggregate *from,
                              size_t f) {
    if (into->kind == BF_KIND_EXTREME && from->keys[f] < into->keys[i])
        into->keys[i] = from->keys[f];
    add_band(&into->sum, i, &from->sum, f);
    add_band(&into->products, i, &from->products, f);
    for (size_t k = 0; k < BF_GROUP_SPECIALS && from->specials != NULL; k++)
        into->specials[i * BF_GROUP_SPECIALS + k] += from->specials[f * BF_GROUP_SPECIALS + k];
}

void bf_group_aggregate_merged(bf_group_aggregate *into, const bf_group_aggregate *from) {
    into->sum.deposits += from->sum.deposits;
    into->products.deposits += from->products.deposits;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void extreme_words(const bf_group_aggregate *a, size_t i, int64_t count, int64_t nan,
                          int64_t *words) {
    bf_extreme_init(words);
    if (nan > 0) bf_extreme_take_nan(words, nan, 0);
    if (count > nan) bf_extreme_take(words, a->keys[i], 0);
    words[BF_EXTREME_COUNT] = count;
}

void bf_group_aggregate_words(const bf_group_aggregate *a, size_t i, int64_t count,
                              int64_t *words) {
    if (a->kind == BF_KIND_EXTREME) {
        int64_t nan = a->specials != NULL ? a->specials[i * BF_GROUP_SPECIALS + BF_GROUP_NAN] : 0;
        extreme_words(a, i, count, nan, words);
        return;
    }
    bf_sum_shape shape = bf_sum_shape_of(a->kind, a->dtype);
    bf_group_aggregate_counts(a, i, count, words);
    if (shape.sum.limbs > 0) bf_band_limbs(&a->sum, i, words + shape.sum_at);
    if (shape.products.limbs > 0) bf_band_limbs(&a->products, i, words + shape.products_at);
}
