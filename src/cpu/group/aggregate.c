/* Aggregates of a shard's groups: values enter by the numbers of their groups. What a value adds is
 * src/rules' to say; here it enters limbs that all groups have, or is counted apart. */
#include "cpu/group/group.h"

#include <stdlib.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Limbs that a term touches from that of its position on (limbs.h). */
enum { TOUCHED = 3, TOUCHED_WIDE = 5 };

void bf_column_init(bf_column *column, bf_aggregate aggregate) {
    bf_kind kind = bf_kind_of(aggregate.op, aggregate.dtype);
    *column = (bf_column){.kind = kind, .dtype = aggregate.dtype};
    column->sum.layout = bf_layout_sum(aggregate.dtype);
    column->products.layout = bf_layout_products(aggregate.dtype);
    column->greatest = bf_is_greatest(aggregate.op);
}

void bf_column_destroy(bf_column *column) {
    free(column->sum.words);
    free(column->products.words);
    free(column->keys);
    free(column->others);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static bool grow_keys(bf_column *c, size_t before, size_t room) {
    int64_t *keys = realloc(c->keys, room * sizeof *keys);
    if (keys == NULL) return false;
    for (size_t i = before; i < room; i++) keys[i] = INT64_MAX;
    c->keys = keys;
    return true;
}

static bool grow_others(bf_column *c, size_t before, size_t room) {
    int64_t *others = realloc(c->others, room * BF_OTHERS * sizeof *others);
    if (others == NULL) return false;
    memset(others + before * BF_OTHERS, 0, (room - before) * BF_OTHERS * sizeof *others);
    c->others = others;
    return true;
}

bool bf_column_grow(bf_column *c, size_t before, size_t room) {
    if (c->kind == BF_KIND_EXTREME && !grow_keys(c, before, room)) return false;
    if (c->others != NULL && !grow_others(c, before, room)) return false;
    return bf_band_grow(&c->sum, before, room) && bf_band_grow(&c->products, before, room);
}

bool bf_column_count_apart(bf_column *c, size_t room) {
    return c->others != NULL || grow_others(c, 0, room);
}

/* ---- one value --------------------------------------------------------------------------------
 */

/* What a float is counted as apart, in a column of this kind; -1: nothing. */
static ALWAYS_INLINE int other_of(bf_kind kind, bf_format f, uint64_t x) {
    if (bf_is_nan(f, x)) return BF_OTHER_NAN;
    if (kind == BF_KIND_EXTREME) return -1;
    if (kind == BF_KIND_SQUARES) return bf_is_inf(f, x) ? BF_OTHER_POS_INF : -1;
    if (x == bf_format_sign(f)) return BF_OTHER_NEG_ZERO;
    if (!bf_is_inf(f, x)) return -1;
    return x & bf_format_sign(f) ? BF_OTHER_NEG_INF : BF_OTHER_POS_INF;
}

/* Is this zero, an infinity or a NaN: nothing for limbs? */
static ALWAYS_INLINE bool is_apart(bf_format f, uint64_t x) {
    uint64_t magnitude = x & ~bf_format_sign(f);
    return magnitude - 1 >= bf_format_inf(f) - 1;
}

/* What a value adds to a sum (factors 1) or a sum of squares (2). */
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
    int position = is_float ? bf_exact_position(f, layout, factors * d.position, factors) : 0;
    return (term){d.magnitude, position, d.negative};
}

static ALWAYS_INLINE int touched_by(bf_dtype dtype, int factors) {
    return factors == 2 && bf_dtype_bytes(dtype) == 8 ? TOUCHED_WIDE : TOUCHED;
}

/* ---- a batch ----------------------------------------------------------------------------------
 */

typedef struct batch {
    const uint32_t *numbers;
    const char *values;
    int64_t n;
} batch;

/* Adds values [i, n) to a band: the index of the first that it has no limbs for, or that needs
 * `others` where there are none; n if all entered. counts: others are counted here. */
static ALWAYS_INLINE int64_t add_terms(bf_column *c, const bf_band *band, bf_dtype dtype,
                                       int factors, bool counts, const batch *b, int64_t i) {
    const int bytes = bf_dtype_bytes(dtype), first = 32 * band->first;
    const int last = first + 32 * (band->limbs - touched_by(dtype, factors)) + 31;
    const size_t limbs = (size_t)band->limbs;
    const bf_format f = bf_format_of(dtype);
    for (; i < b->n; i++) {
        uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(dtype) && __builtin_expect(is_apart(f, x), 0)) {
            int other = counts ? other_of(c->kind, f, x) : -1;
            if (other >= 0 && c->others == NULL) return i;
            if (other >= 0) c->others[(size_t)b->numbers[i] * BF_OTHERS + (size_t)other]++;
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

/* The same of the least keys. */
static ALWAYS_INLINE int64_t take_keys(bf_column *c, bf_dtype dtype, const batch *b, int64_t i) {
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    const int64_t complement = c->greatest ? -1 : 0;
    for (; i < b->n; i++) {
        uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(dtype) && __builtin_expect(bf_is_nan(f, x), 0)) {
            if (c->others == NULL) return i;
            c->others[(size_t)b->numbers[i] * BF_OTHERS + BF_OTHER_NAN]++;
            continue;
        }
        int64_t key = bf_order_key(dtype, x) ^ complement, *least = &c->keys[b->numbers[i]];
        if (key < *least) *least = key;
    }
    return i;
}

/* What of a column a pass over a batch is for. */
typedef enum pass { PASS_SUM, PASS_PRODUCTS, PASS_PRODUCTS_ALONE, PASS_KEYS } pass;

/* Every dtype by a constant. */
static ALWAYS_INLINE int64_t run_as(bf_column *c, bf_dtype dtype, pass what, const batch *b,
                                    int64_t i) {
    switch (what) {
    case PASS_SUM: return add_terms(c, &c->sum, dtype, 1, true, b, i);
    case PASS_PRODUCTS: return add_terms(c, &c->products, dtype, 2, false, b, i);
    case PASS_PRODUCTS_ALONE: return add_terms(c, &c->products, dtype, 2, true, b, i);
    default: return take_keys(c, dtype, b, i);
    }
}

static int64_t run(bf_column *c, pass what, const batch *b, int64_t i) {
    switch (c->dtype) {
#define BF_X(id, number, name, bytes, type)                                                        \
    case BF_##id: return run_as(c, BF_##id, what, b, i);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return b->n;
    }
}

/* ---- what a batch needs -----------------------------------------------------------------------
 */

/* Makes limbs for values [i, n) of a batch. */
static bool widen_for(bf_column *c, bf_band *band, int factors, size_t room, const batch *b,
                      int64_t i) {
    int bytes = bf_dtype_bytes(c->dtype), least = INT32_MAX, most = 0;
    bf_format f = bf_format_of(c->dtype);
    for (; i < b->n; i++) {
        uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
        if (bf_dtype_is_float(c->dtype) && is_apart(f, x)) continue;
        int position = term_of(c->dtype, factors, x).position;
        if (position < least) least = position;
        if (position > most) most = position;
    }
    if (least > most) return true; /* none needs any: the values have changed meanwhile */
    return bf_band_widen(band, room, least / 32,
                         most / 32 - least / 32 + touched_by(c->dtype, factors));
}

/* What value i, at which a pass has stopped, needs. */
static bool make_room(bf_column *c, pass what, size_t room, const batch *b, int64_t i) {
    int bytes = bf_dtype_bytes(c->dtype);
    uint64_t x = bf_load_bits(b->values + i * bytes, bytes);
    bool apart = bf_dtype_is_float(c->dtype) && is_apart(bf_format_of(c->dtype), x);
    if (apart || what == PASS_KEYS) return bf_column_count_apart(c, room);
    bool sum = what == PASS_SUM;
    return widen_for(c, sum ? &c->sum : &c->products, sum ? 1 : 2, room, b, i);
}

static bool run_all(bf_column *c, pass what, size_t room, const batch *b) {
    int64_t i = 0;
    while ((i = run(c, what, b, i)) < b->n)
        if (!make_room(c, what, room, b, i)) return false;
    return true;
}

/* A term adds to a limb at most so often. */
enum { SUM_DEPOSITS = 1, PRODUCT_DEPOSITS = 2 };

static bool add_products(bf_column *c, pass what, size_t room, const batch *b) {
    if (!bf_band_prepare(&c->products, room, PRODUCT_DEPOSITS * b->n)) return false;
    c->products.deposits += PRODUCT_DEPOSITS * b->n;
    return run_all(c, what, room, b);
}

static bool add_sums(bf_column *c, size_t room, const batch *b) {
    if (!bf_band_prepare(&c->sum, room, SUM_DEPOSITS * b->n)) return false;
    c->sum.deposits += SUM_DEPOSITS * b->n;
    return run_all(c, PASS_SUM, room, b);
}

bool bf_column_take(bf_column *c, size_t room, const uint32_t *numbers, const char *values,
                    int64_t n) {
    batch b = {numbers, values, n};
    switch (c->kind) {
    case BF_KIND_SUM: return add_sums(c, room, &b);
    case BF_KIND_SQUARES: return add_products(c, PASS_PRODUCTS_ALONE, room, &b);
    case BF_KIND_MOMENTS: return add_sums(c, room, &b) && add_products(c, PASS_PRODUCTS, room, &b);
    default: return run_all(c, PASS_KEYS, room, &b);
    }
}

/* ---- merging ----------------------------------------------------------------------------------
 */

static bool widen_band(bf_band *into, size_t room, const bf_band *from) {
    if (from->limbs == 0) return true;
    return bf_band_prepare(into, room, from->deposits) &&
           bf_band_widen(into, room, from->first, from->limbs);
}

bool bf_column_widen(bf_column *into, size_t room, const bf_column *from) {
    if (from->others != NULL && !bf_column_count_apart(into, room)) return false;
    return widen_band(&into->sum, room, &from->sum) &&
           widen_band(&into->products, room, &from->products);
}

static void add_band(bf_band *into, size_t i, const bf_band *from, size_t f) {
    if (from->limbs == 0) return;
    int64_t *to = into->words + i * (size_t)into->limbs + (from->first - into->first);
    const int64_t *words = from->words + f * (size_t)from->limbs;
    for (int k = 0; k < from->limbs; k++) to[k] += words[k];
}

void bf_column_merge(bf_column *into, size_t i, const bf_column *from, size_t f) {
    if (into->kind == BF_KIND_EXTREME && from->keys[f] < into->keys[i])
        into->keys[i] = from->keys[f];
    add_band(&into->sum, i, &from->sum, f);
    add_band(&into->products, i, &from->products, f);
    for (size_t k = 0; k < BF_OTHERS && from->others != NULL; k++)
        into->others[i * BF_OTHERS + k] += from->others[f * BF_OTHERS + k];
}

void bf_column_merged(bf_column *into, const bf_column *from) {
    into->sum.deposits += from->sum.deposits;
    into->products.deposits += from->products.deposits;
}

/* ---- words ------------------------------------------------------------------------------------
 */

static void extreme_words(const bf_column *c, size_t i, int64_t count, int64_t nan,
                          int64_t *words) {
    bf_extreme_init(words);
    if (nan > 0) bf_extreme_take_nan(words, nan, 0);
    if (count > nan) bf_extreme_take(words, c->keys[i], 0);
    words[BF_EXTREME_COUNT] = count;
}

void bf_column_words(const bf_column *c, size_t i, int64_t count, int64_t *words) {
    if (c->kind == BF_KIND_EXTREME) {
        int64_t nan = c->others != NULL ? c->others[i * BF_OTHERS + BF_OTHER_NAN] : 0;
        extreme_words(c, i, count, nan, words);
        return;
    }
    bf_exact_shape shape = bf_exact_shape_of(c->kind, c->dtype);
    bf_column_counts(c, i, count, words);
    if (shape.sum.limbs > 0) bf_band_limbs(&c->sum, i, words + shape.sum_at);
    if (shape.products.limbs > 0) bf_band_limbs(&c->products, i, words + shape.products_at);
}
