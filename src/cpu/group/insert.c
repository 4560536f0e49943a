/* Groups that are given as the words of states become a set: what bf_column_words gave comes back.
 */
#include "cpu/group/group.h"

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

/* ---- columns ----------------------------------------------------------------------------------
 */

typedef struct word_rows {
    const int64_t *words;
    size_t n, each; /* groups; words of each */
} word_rows;

/* The groups' limbs from word `at` on, into a band of none. */
static bool enter_band(bf_band *band, size_t room, const word_rows *rows, int at) {
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

/* What a column counts apart of a group. */
static void others_of(const bf_column *c, const int64_t *words, int64_t others[BF_OTHERS]) {
    memset(others, 0, BF_OTHERS * sizeof *others);
    if (c->kind == BF_KIND_EXTREME) {
        others[BF_OTHER_NAN] = words[BF_EXTREME_NAN];
        return;
    }
    others[BF_OTHER_NAN] = words[BF_EXACT_NAN];
    others[BF_OTHER_POS_INF] = words[BF_EXACT_POS_INF];
    others[BF_OTHER_NEG_INF] = words[BF_EXACT_NEG_INF];
    others[BF_OTHER_NEG_ZERO] = words[BF_EXACT_NEG_ZERO];
}

static bool enter_others(bf_column *c, size_t room, const word_rows *rows) {
    static const int64_t none[BF_OTHERS];
    int64_t others[BF_OTHERS];
    for (size_t i = 0; i < rows->n; i++) {
        others_of(c, rows->words + i * rows->each, others);
        if (memcmp(others, none, sizeof none) == 0) continue;
        if (!bf_column_count_apart(c, room)) return false;
        memcpy(c->others + i * BF_OTHERS, others, sizeof others);
    }
    return true;
}

static bool enter_column(bf_column *c, size_t room, const int64_t *words, size_t n) {
    word_rows rows = {words, n, BF_EXTREME_WORDS};
    if (c->kind == BF_KIND_EXTREME) {
        for (size_t i = 0; i < n; i++) c->keys[i] = words[i * rows.each + BF_EXTREME_KEY];
        return enter_others(c, room, &rows);
    }
    bf_exact_shape shape = bf_exact_shape_of(c->kind, c->dtype);
    rows.each = (size_t)shape.words;
    if (shape.sum.limbs > 0 && !enter_band(&c->sum, room, &rows, shape.sum_at)) return false;
    if (shape.products.limbs > 0 && !enter_band(&c->products, room, &rows, shape.products_at))
        return false;
    return enter_others(c, room, &rows);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void enter_keys(const bf_cpu_groups *g, bf_group_shard *s, const char *keys, int64_t n) {
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
    bf_group_shard *s = set->shards;
    bool made = bf_shard_reserve(groups, s, n);
    if (made) {
        enter_keys(groups, s, keys, n);
        memcpy(s->counts, counts, (size_t)n * sizeof *counts);
        bf_shard_heal(groups, s);
    }
    for (int c = 0; c < groups->columns && made; c++)
        made = enter_column(&s->columns[c], s->room, words[c], (size_t)n);
    if (!made) bf_group_set_destroy(groups, set);
    return made;
}
