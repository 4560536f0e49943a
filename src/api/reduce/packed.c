/* Columns of saved groups and states: writes words as bytes, and reads them. */
#include "api/reduce/packed.h"

#include "api/runtime/saved.h"

enum { SPECIALS_MOST = 4 };

bf_packed bf_packed_of(bf_aggregate a, int version) {
    bf_packed c = {.aggregate = a, .kind = bf_kind_of(a.op, a.dtype), .specials_most = 1};
    c.version = version;
    c.words = bf_state_words(c.kind, a.dtype, NULL);
    if (c.kind == BF_KIND_EXTREME) return c;
    bf_sum_shape s = bf_sum_shape_of(c.kind, a.dtype);
    c.specials_most = SPECIALS_MOST;
    c.bands[0] = (bf_packed_band){s.sum_at, s.sum.limbs, s.sum.limbs, 0};
    c.bands[1] = (bf_packed_band){s.products_at, s.products.limbs, s.products.limbs, 0};
    return c;
}

void bf_packed_put_header(const bf_packed *c, uint8_t *out) {
    uint64_t fields[] = {(uint64_t)c->aggregate.op,   (uint64_t)c->aggregate.dtype,
                         (uint64_t)c->bands[0].first, (uint64_t)bf_packed_limbs(&c->bands[0]),
                         (uint64_t)c->bands[1].first, (uint64_t)bf_packed_limbs(&c->bands[1]),
                         (uint64_t)c->specials,       0};
    for (int i = 0; i < 8; i++) bf_saved_put(out + 2 * i, fields[i], 2);
}

bf_aggregate bf_packed_aggregate(const uint8_t *in) {
    return (bf_aggregate){(bf_reduction)bf_saved_get(in, 2), (bf_dtype)bf_saved_get(in + 2, 2)};
}

static bool get_span(bf_packed_band *b, const uint8_t *in) {
    b->first = (int)bf_saved_get(in, 2);
    b->end = b->first + (int)bf_saved_get(in + 2, 2);
    return b->end <= b->limbs;
}

bool bf_packed_get_header(bf_packed *c, const uint8_t *in) {
    c->specials = (int)bf_saved_get(in + 12, 2);
    if (c->specials != 0 && c->specials != c->specials_most) return false;
    if (!get_span(&c->bands[0], in + 4) || !get_span(&c->bands[1], in + 8)) return false;
    return bf_saved_get(in + 14, 2) == 0;
}

bool bf_packed_same(const bf_packed *a, const bf_packed *b) {
    for (int i = 0; i < 2; i++)
        if (a->bands[i].first != b->bands[i].first || a->bands[i].end != b->bands[i].end)
            return false;
    return a->specials == b->specials;
}

/* The specials are NaN, +inf, -inf and -0. special_word returns the word that counts number i;
 * special_default returns the count that is not saved if all groups have it. */
static int special_word(int i) { return i == SPECIALS_MOST - 1 ? BF_SUM_NEG_ZERO : BF_SUM_NAN + i; }
static int64_t special_default(const bf_packed *c, int i) {
    return c->version == 1 && i == SPECIALS_MOST - 1;
}

/* The words of a rank that is saved. */
static int rank_words(const bf_packed *c) {
    if (c->kind != BF_KIND_EXTREME) return 0;
    return c->aggregate.dtype == BF_I128 ? 2 : 1;
}

size_t bf_packed_bytes(const bf_packed *c) {
    int limbs = bf_packed_limbs(&c->bands[0]) + bf_packed_limbs(&c->bands[1]);
    return 8 * (size_t)(c->specials + rank_words(c)) + 4 * (size_t)limbs;
}

void bf_packed_cover(bf_packed *c, const int64_t *words) {
    for (int i = 0; i < c->specials_most; i++)
        if (words[special_word(i)] != special_default(c, i)) c->specials = c->specials_most;
    for (int i = 0; i < 2; i++) {
        bf_packed_band *b = &c->bands[i];
        int first, end;
        if (b->limbs == 0) continue;
        bf_limbs_span(words + b->at, b->limbs, &first, &end);
        if (end > first && first < b->first) b->first = first;
        if (end > b->end) b->end = end;
    }
}

void bf_packed_settle(bf_packed *c) {
    for (int i = 0; i < 2; i++)
        if (c->bands[i].end == 0) c->bands[i].first = 0;
}

/* The offsets of the parts of group i in a column of n groups. */
typedef struct places {
    size_t specials, rank, bands[2];
} places;

static places places_of(const bf_packed *c, size_t n, size_t i) {
    size_t specials = 8 * (size_t)c->specials, sum = 4 * (size_t)bf_packed_limbs(&c->bands[0]);
    size_t squares = 4 * (size_t)bf_packed_limbs(&c->bands[1]), begin = n * specials;
    return (places){i * specials,
                    begin + 8 * (size_t)rank_words(c) * i,
                    {begin + i * sum, begin + n * sum + i * squares}};
}

void bf_packed_put(const bf_packed *c, size_t n, size_t i, const int64_t *words, uint8_t *column) {
    places at = places_of(c, n, i);
    for (int k = 0; k < c->specials; k++)
        bf_saved_put(column + at.specials + 8 * k, (uint64_t)words[special_word(k)], 8);
    if (rank_words(c) > 0) bf_saved_put(column + at.rank, (uint64_t)words[BF_EXTREME_RANK], 8);
    if (rank_words(c) > 1) bf_saved_put(column + at.rank + 8, (uint64_t)words[BF_EXTREME_LOW], 8);
    for (int b = 0; b < 2; b++) {
        const int64_t *from = words + c->bands[b].at + c->bands[b].first;
        for (int k = 0; k < bf_packed_limbs(&c->bands[b]); k++)
            bf_saved_put(column + at.bands[b] + 4 * k, (uint64_t)from[k], 4);
    }
}

/* Reads the limbs of a sum. Limbs above those that are saved are 0, or all ones if the sum is
 * negative. */
static void get_band(const bf_packed_band *b, const uint8_t *in, int64_t *words) {
    int limbs = bf_packed_limbs(b);
    int64_t *to = words + b->at;
    for (int k = 0; k < limbs; k++) to[b->first + k] = (int64_t)bf_saved_get(in + 4 * k, 4);
    if (limbs == 0 || (int32_t)to[b->end - 1] >= 0) return;
    for (int k = b->end; k < b->limbs; k++) to[k] = 0xffffffff;
    to[b->limbs - 1] = (int32_t)to[b->limbs - 1];
}

void bf_packed_get(const bf_packed *c, size_t n, size_t i, int64_t rows, const uint8_t *column,
                   int64_t *words) {
    places at = places_of(c, n, i);
    bf_state_init(c->kind, c->aggregate.dtype, words);
    words[0] = rows;
    for (int k = 0; k < c->specials_most; k++) words[special_word(k)] = special_default(c, k);
    for (int k = 0; k < c->specials; k++)
        words[special_word(k)] = (int64_t)bf_saved_get(column + at.specials + 8 * k, 8);
    for (int b = 0; b < 2; b++) get_band(&c->bands[b], column + at.bands[b], words);
    if (rank_words(c) == 0) return;
    words[BF_EXTREME_RANK] = (int64_t)bf_saved_get(column + at.rank, 8);
    if (rank_words(c) > 1) words[BF_EXTREME_LOW] = (int64_t)bf_saved_get(column + at.rank + 8, 8);
    words[BF_EXTREME_INDEX] = rows > words[BF_EXTREME_NAN] ? 0 : -1;
    words[BF_EXTREME_NAN_INDEX] = words[BF_EXTREME_NAN] > 0 ? 0 : -1;
}
