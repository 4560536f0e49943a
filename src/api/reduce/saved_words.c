/* Sections of the words of groups and states. */
#include "api/reduce/saved_words.h"

#include "base/memory.h"

enum { SPECIALS_MOST = 4, BATCH_BYTES = 1 << 22 /* the words that are in memory at a time */ };

/* ---- the layout ------------------------------------------------------------------------------ */

/* The sections of the sums of a^i * b^j, by i and j. */
static const char *const sum_names[BF_FACTORS_MOST + 1][3] = {{"", "sum b", "squares b"},
                                                              {"sum", "products", ""},
                                                              {"squares", "a a b", ""},
                                                              {"cubes", "", ""},
                                                              {"fourths", "", ""}};

static const char *band_name(const bf_saved_words *p, int i) {
    const int powers = bf_kind_part(p->kind, i);
    if (!bf_kind_is_joint(p->kind)) return sum_names[1 + i][0];
    return sum_names[powers >> 4][powers & 15];
}

/* The bands of a kind; those that are not joint have a sum and squares, maybe without limbs. */
static void set_bands(bf_saved_words *p) {
    const bf_parts parts = bf_parts_of(p->kind, p->aggregate.dtype);
    p->count = bf_kind_is_joint(p->kind) ? parts.count : 2;
    for (int i = 0; i < parts.count; i++) {
        const bf_part *part = &parts.part[i];
        const int limbs = part->layout.limbs;
        const int band = bf_kind_is_joint(p->kind) ? i : part->a - 1;
        p->bands[band] = (bf_saved_band){.at = part->at, .limbs = limbs, .first = limbs};
    }
}

bf_saved_words bf_saved_words_of(bf_aggregate a, int words, bool kept) {
    bf_saved_words p = {.aggregate = a,
                        .kind = bf_kind_of(a.op, a.dtype),
                        .words = words,
                        .kept = kept,
                        .count = 2};
    if (kept) return p;
    p.specials_most = p.kind == BF_KIND_EXTREME ? 1 : SPECIALS_MOST;
    if (p.kind != BF_KIND_EXTREME) set_bands(&p);
    return p;
}

static int saved_limbs(const bf_saved_band *b) { return b->end > b->first ? b->end - b->first : 0; }

/* The dtype of a rank that is saved, or BF_NONE. */
static bf_dtype rank_dtype(const bf_saved_words *p) {
    if (p->kept || p->kind != BF_KIND_EXTREME) return BF_NONE;
    return p->aggregate.dtype == BF_I128 ? BF_I128 : BF_I64;
}

/* The specials are NaN, +inf, -inf, and -0 or, with weights, invalid pairs. Returns the word that
 * counts number i. */
static int special_word(const bf_saved_words *p, int i) {
    if (i < SPECIALS_MOST - 1) return BF_SUM_NAN + i;
    return p->kind == BF_KIND_WEIGHTED ? BF_SUM_INVALID : BF_SUM_NEG_ZERO;
}

/* The words of a kept state that are saved, with its count. */
static int used_words(const bf_saved_words *p, const int64_t *words) {
    return p->kind == BF_KIND_PRODUCT_TREE ? bf_product_tree_used(words) : p->words;
}

/* Widens the layout for the words of one group. */
static void cover(bf_saved_words *p, const int64_t *words) {
    if (p->kept) p->used += used_words(p, words) - 1;
    for (int i = 0; i < p->specials_most; i++)
        if (words[special_word(p, i)] != 0) p->specials = p->specials_most;
    for (int i = 0; i < p->count; i++) {
        bf_saved_band *b = &p->bands[i];
        int first, end;
        if (b->limbs == 0) continue;
        bf_limbs_span(words + b->at, b->limbs, &first, &end);
        if (end > first && first < b->first) b->first = first;
        if (end > b->end) b->end = end;
    }
}

/* Completes the layout when all groups are covered. */
static void settle(bf_saved_words *p) {
    for (int i = 0; i < p->count; i++)
        if (p->bands[i].end == 0) p->bands[i].first = 0;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static int64_t batch_of(const bf_saved_words *p, int64_t n) {
    const int64_t most = BATCH_BYTES / (8 * p->words);
    return n < most ? n : most;
}

size_t bf_saved_words_batch(const bf_saved_words *p, int64_t n) {
    return (size_t)(batch_of(p, n) * p->words) * sizeof(int64_t) + 1;
}

/* Calls take(p, i, words, out, counts) with the words of each group. */
static bf_status each_group(bf_context *context, const bf_words_source *s, bf_saved_words *p,
                            uint8_t *out, uint8_t *counts,
                            void (*take)(bf_saved_words *p, int64_t i, const int64_t *words,
                                         uint8_t *out, uint8_t *counts)) {
    const int64_t batch = batch_of(p, s->n);
    int64_t *words = s->batch != NULL ? s->batch : bf_alloc(bf_saved_words_batch(p, s->n));
    bf_status status =
        words != NULL ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for saved words");
    for (int64_t at = 0, n; at < s->n && status == BF_OK; at += n) {
        n = batch < s->n - at ? batch : s->n - at;
        status = s->words(s, at, n, words);
        for (int64_t i = 0; i < n && status == BF_OK; i++)
            take(p, at + i, words + i * p->words, out, counts);
    }
    if (words != s->batch) bf_free(words);
    return status;
}

static void take_cover(bf_saved_words *p, int64_t i, const int64_t *words, uint8_t *out,
                       uint8_t *counts) {
    (void)i, (void)out, (void)counts;
    cover(p, words);
}

bf_status bf_saved_words_plan(bf_context *context, const bf_words_source *source,
                              bf_saved_words *packed) {
    bf_status status = each_group(context, source, packed, NULL, NULL, take_cover);
    settle(packed);
    return status;
}

void bf_saved_words_tell(const bf_saved_words *p, int numbers[]) {
    numbers[0] = (int)p->aggregate.op;
    numbers[1] = (int)p->aggregate.dtype;
    for (int i = 0; i < p->count; i++) numbers[2 + i] = p->bands[i].first;
}

void bf_saved_words_add(bf_saved_words *p, bf_saving *s, int64_t n) {
    if (p->kept) {
        p->used_offset = bf_saving_section(s, "words", BF_I64, p->used);
        return;
    }
    p->specials_offset = bf_saving_section(s, "specials", BF_I64, n * p->specials);
    if (rank_dtype(p) != BF_NONE) p->rank_offset = bf_saving_section(s, "rank", rank_dtype(p), n);
    for (int i = 0; i < p->count; i++) {
        bf_saved_band *b = &p->bands[i];
        if (b->limbs > 0)
            b->offset = bf_saving_section(s, band_name(p, i), BF_U32, n * saved_limbs(b));
    }
}

/* The next offset of kept words moves on. */
static void put_kept(bf_saved_words *p, const int64_t *words, uint8_t *out) {
    const size_t bytes = 8 * (size_t)(used_words(p, words) - 1);
    memcpy(out + p->used_offset, words + 1, bytes);
    p->used_offset += bytes;
}

static void take_put(bf_saved_words *p, int64_t i, const int64_t *words, uint8_t *out,
                     uint8_t *counts) {
    if (counts != NULL) memcpy(counts + 8 * i, words, 8);
    if (p->kept) {
        put_kept(p, words, out);
        return;
    }
    for (int k = 0; k < p->specials; k++)
        memcpy(out + p->specials_offset + 8 * (i * p->specials + k), &words[special_word(p, k)], 8);
    const int rank = bf_number_bytes(rank_dtype(p));
    if (rank > 0) memcpy(out + p->rank_offset + i * rank, words + BF_EXTREME_RANK, 8);
    if (rank > 8) memcpy(out + p->rank_offset + i * rank + 8, words + BF_EXTREME_LOW, 8);
    for (int b = 0; b < p->count; b++) {
        const int limbs = saved_limbs(&p->bands[b]);
        const int64_t *from = words + p->bands[b].at + p->bands[b].first;
        uint8_t *to = out + p->bands[b].offset + 4 * i * limbs;
        for (int k = 0; k < limbs; k++, to += 4) memcpy(to, from + k, 4); /* the low half */
    }
}

bf_status bf_saved_words_put(bf_context *context, const bf_words_source *source,
                             const bf_saved_words *packed, uint8_t *out, uint8_t *counts) {
    bf_saved_words p = *packed;
    return each_group(context, source, &p, out, counts, take_put);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Finds the limbs of n sums: as many of each as their number tells. */
static void find_band(bf_saved_band *b, int first, const char *name, bf_loading *l, int64_t n) {
    int64_t count = 0;
    if (b->limbs > 0) b->offset = bf_loading_section(l, name, BF_U32, &count);
    const int64_t limbs = n > 0 ? count / n : 0;
    l->bad = l->bad || first < 0 || limbs * n != count || limbs > b->limbs - first;
    b->first = l->bad ? 0 : first;
    b->end = l->bad ? 0 : first + (int)limbs;
}

void bf_loaded_words_find(bf_loaded_words *column, bf_saved_words of, const int numbers[],
                          bf_loading *l, int64_t n) {
    int64_t count = 0;
    bf_saved_words *p = &column->layout;
    *column = (bf_loaded_words){.layout = of, .least = of, .in = l->in};
    if (p->kept) {
        const int least = p->kind == BF_KIND_PRODUCT_TREE ? BF_PRODUCT_TREE_NODES_AT : p->words;
        p->used_offset = bf_loading_section(l, "words", BF_I64, &p->used);
        l->bad = l->bad || numbers[2] != 0 || numbers[3] != 0 || p->used < n * (least - 1);
        return;
    }
    p->specials_offset = bf_loading_section(l, "specials", BF_I64, &count);
    p->specials = count > 0 ? p->specials_most : 0;
    l->bad = l->bad || count != n * p->specials;
    if (rank_dtype(p) != BF_NONE) {
        p->rank_offset = bf_loading_section(l, "rank", rank_dtype(p), &count);
        l->bad = l->bad || count != n;
    }
    for (int i = 0; i < p->count; i++)
        find_band(&p->bands[i], numbers[2 + i], band_name(p, i), l, n);
}

/* Reads the limbs of a sum. Limbs above those that are saved are 0, or all ones if the sum is
 * negative. */
static void get_band(const bf_saved_band *b, const uint8_t *in, int64_t i, int64_t *words) {
    const int limbs = saved_limbs(b);
    int64_t *to = words + b->at;
    in += b->offset + 4 * (size_t)(i * limbs);
    for (int k = 0; k < limbs; k++) to[b->first + k] = (int64_t)bf_load_bits(in + 4 * k, 4);
    if (limbs == 0 || (int32_t)to[b->end - 1] >= 0) return;
    for (int k = b->end; k < b->limbs; k++) to[k] = 0xffffffff;
    to[b->limbs - 1] = (int32_t)to[b->limbs - 1];
}

static void get_rank(const bf_saved_words *p, const uint8_t *in, int64_t i, int64_t *words) {
    const int bytes = bf_number_bytes(rank_dtype(p));
    if (bytes == 0) return;
    memcpy(words + BF_EXTREME_RANK, in + p->rank_offset + i * bytes, 8);
    if (bytes > 8) memcpy(words + BF_EXTREME_LOW, in + p->rank_offset + i * bytes + 8, 8);
    words[BF_EXTREME_INDEX] = words[0] > words[BF_EXTREME_NAN] ? 0 : -1;
    words[BF_EXTREME_NAN_INDEX] = words[BF_EXTREME_NAN] > 0 ? 0 : -1;
}

/* Reads the next n words. Returns false if there are not so many. */
static bool get_next(bf_loaded_words *c, int64_t *words, int64_t n) {
    if (c->layout.used - c->next < n) return false;
    memcpy(words, c->in + c->layout.used_offset + 8 * c->next, 8 * (size_t)n);
    c->next += n;
    return true;
}

/* Reads the words that are kept of a state. Of a tree, those in use are known by the first ones. */
static bool get_kept(bf_loaded_words *c, int64_t *words) {
    const int all = c->layout.words;
    memset(words + 1, 0, (size_t)(all - 1) * sizeof *words);
    if (c->layout.kind != BF_KIND_PRODUCT_TREE) return get_next(c, words + 1, all - 1);
    if (!get_next(c, words + 1, BF_PRODUCT_TREE_NODES_AT - 1)) return false;
    const int64_t nodes = words[BF_PRODUCT_TREE_NODES], begin = words[BF_PRODUCT_TREE_BEGIN];
    if (nodes < 0 || nodes > 2 * BF_PRODUCT_TREE_LEVELS || begin < 0 || begin % BF_LEAF != 0)
        return false;
    return get_next(c, words + BF_PRODUCT_TREE_NODES_AT,
                    bf_product_tree_used(words) - BF_PRODUCT_TREE_NODES_AT);
}

static void get_packed(const bf_saved_words *p, const uint8_t *in, int64_t i, int64_t *words) {
    const int64_t rows = words[0];
    bf_state_init(p->kind, p->aggregate.dtype, words);
    words[0] = rows;
    for (int k = 0; k < p->specials; k++)
        memcpy(&words[special_word(p, k)], in + p->specials_offset + 8 * (i * p->specials + k), 8);
    for (int b = 0; b < p->count; b++) get_band(&p->bands[b], in, i, words);
    get_rank(p, in, i, words);
}

bool bf_loaded_words_get(bf_loaded_words *c, int64_t i, int64_t rows, int64_t *words) {
    words[0] = rows;
    if (!c->layout.kept)
        get_packed(&c->layout, c->in, i, words);
    else if (!get_kept(c, words))
        return false;
    cover(&c->least, words);
    return bf_state_valid(c->layout.aggregate.op, c->layout.aggregate.dtype, words);
}

bool bf_loaded_words_is_least(bf_loaded_words *c) {
    const bf_saved_words *p = &c->layout, *least = &c->least;
    settle(&c->least);
    for (int i = 0; i < p->count; i++)
        if (p->bands[i].first != least->bands[i].first || p->bands[i].end != least->bands[i].end)
            return false;
    return p->specials == least->specials && c->next == p->used;
}
