/* A set made of groups that are given as the words of states: the inverse of
 * bf_group_aggregate_words. */
#include "cpu/group/group.h"

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

/* ---- aggregates ------------------------------------------------------------------------------ */

typedef struct word_rows {
    const int64_t *words;
    size_t n, each; /* groups; words of each */
} word_rows;

/* Copies the groups' limbs, which begin at word `at`, into a band that has none. */
static bool insert_band(bf_band *band, size_t room, const word_rows *rows, int at) {
    int first = band->layout.limbs, end = 0, begins, ends;
    for (size_t i = 0; i < rows->n; i++) {
        bf_limbs_span(rows->words + i * rows->each + at, band->layout.limbs, &begins, &ends);
        if (ends > begins && begins < first) first = begins;
        if (ends > end) end = ends;
    }
    if (end == 0) return true;
    if (!bf_band_widen(band, room, first, end - first)) return false;
    for (size_t i = 0; i < rows->n; i++) {
        int64_t *to = band->words + i * (size_t)band->limbs;
        const int64_t *from = rows->words + i * rows->each + at + first;
        memcpy(to, from, (size_t)band->limbs * sizeof *to);
        to[band->limbs - 1] = (int32_t)to[band->limbs - 1];
    }
    band->deposits = 1;
    return true;
}

/* Sets the specials of a group. */
static void specials_of(const bf_group_aggregate *a, const int64_t *words,
                        int64_t specials[BF_GROUP_SPECIALS]) {
    memset(specials, 0, BF_GROUP_SPECIALS * sizeof *specials);
    if (a->kind == BF_KIND_EXTREME) {
        specials[BF_GROUP_NAN] = words[BF_EXTREME_NAN];
        return;
    }
    specials[BF_GROUP_NAN] = words[BF_SUM_NAN];
    specials[BF_GROUP_POS_INF] = words[BF_SUM_POS_INF];
    specials[BF_GROUP_NEG_INF] = words[BF_SUM_NEG_INF];
    specials[BF_GROUP_NEG_ZERO] = words[BF_SUM_NEG_ZERO];
}

static bool insert_specials(bf_group_aggregate *a, size_t room, const word_rows *rows) {
    static const int64_t none[BF_GROUP_SPECIALS];
    int64_t specials[BF_GROUP_SPECIALS];
    for (size_t i = 0; i < rows->n; i++) {
        specials_of(a, rows->words + i * rows->each, specials);
        if (memcmp(specials, none, sizeof none) == 0) continue;
        if (!bf_group_aggregate_hold_specials(a, room)) return false;
        memcpy(a->specials + i * BF_GROUP_SPECIALS, specials, sizeof specials);
    }
    return true;
}

static bool insert_aggregate(bf_group_aggregate *a, size_t room, const int64_t *words, size_t n) {
    word_rows rows = {words, n, BF_EXTREME_WORDS};
    if (a->kind == BF_KIND_EXTREME) {
        for (size_t i = 0; i < n; i++) a->keys[i] = words[i * rows.each + BF_EXTREME_RANK];
        return insert_specials(a, room, &rows);
    }
    bf_sum_shape shape = bf_sum_shape_of(a->kind, a->dtype);
    rows.each = (size_t)shape.words;
    if (shape.sum.limbs > 0 && !insert_band(&a->sum, room, &rows, shape.sum_at)) return false;
    if (shape.products.limbs > 0 && !insert_band(&a->products, room, &rows, shape.products_at))
        return false;
    return insert_specials(a, room, &rows);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void insert_keys(const bf_cpu_groups *g, bf_group_partition *s, const char *keys,
                        int64_t n) {
    _Alignas(16) char ranks[BATCH * 16];
    uint32_t numbers[BATCH];
    for (int64_t at = 0; at < n; at += BATCH) {
        int64_t some = n - at < BATCH ? n - at : BATCH;
        g->loops->rank(g->key, keys + at * bf_key_bytes(g->key), some, ranks);
        g->loops->number(s, ranks, some, numbers); /* at, at + 1, ...: they are new */
    }
}

bool bf_group_set_of(const bf_cpu_groups *groups, const char *keys, const int64_t *counts,
                     const int64_t *const words[], int64_t n, bf_group_set *set) {
    if (!bf_group_set_create(groups, 0, set)) return false;
    bf_group_partition *s = set->partitions;
    bool made = bf_partition_reserve(groups, s, n);
    if (made) {
        insert_keys(groups, s, keys, n);
        memcpy(s->counts, counts, (size_t)n * sizeof *counts);
        bf_partition_heal(groups, s);
    }
    for (int c = 0; c < groups->count && made; c++)
        made = insert_aggregate(&s->aggregates[c], s->room, words[c], (size_t)n);
    if (!made) bf_group_set_destroy(groups, set);
    return made;
}
