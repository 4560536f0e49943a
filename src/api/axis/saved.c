/* Many saved states: a header, counts, the words of all, a checksum; all little-endian.
 *
 *   0  "bfmany" and a newline, 0    16  states (u64)
 *   8  version (u32), 1             24  the layout of the column (api/reduce/packed.h)
 *  12  0 (u32)                      40  the elements that each state has absorbed (i64)
 *                                       the column
 *                                       CRC-64/XZ of all before (u64)
 *
 * In place of the column, states that keep words have these (i64 each), one state after the other,
 * without the first, which is the count. Of a product of floats they are those in use. */
#include "api/axis/states.h"

#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"
#include "api/runtime/saved.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    HEADER_BYTES = 24,
    COUNTS_AT = HEADER_BYTES + BF_PACKED_HEADER_BYTES,
    VERSION = 1,
    COLUMN_VERSION = 2 /* of saved groups, which have such columns too */
};
static const char magic[8] = {'b', 'f', 'm', 'a', 'n', 'y', '\n', 0};

/* A batch of words: those of states [at, at + n) of `all`. */
typedef struct batch {
    int64_t at, n, most, all;
    int64_t *words;
} batch;

/* What a file has behind its counts: a column, or so many bytes of words. */
typedef struct layout {
    bf_packed packed;
    bool keeps;
    int most;     /* words of a state */
    size_t bytes; /* of words */
} layout;

static layout layout_of(bf_aggregate a) {
    const bool keeps = bf_states_keep_words(a.op);
    layout x = {.keeps = keeps, .most = bf_states_words(a.op, a.dtype)};
    x.packed = keeps ? (bf_packed){.aggregate = a} : bf_packed_of(a, COLUMN_VERSION);
    return x;
}

/* The words of a state that are saved, with its count. */
static int used_words(const layout *x, const int64_t *words) {
    const bf_aggregate a = x->packed.aggregate;
    return bf_kind_of(a.op, a.dtype) == BF_KIND_PRODUCT_TREE ? bf_product_tree_used(words)
                                                             : x->most;
}

static bf_status make_batch(const bf_states *s, const layout *x, int64_t all, batch *b) {
    *b = (batch){.most = bf_states_batch(s), .all = all};
    b->words = bf_alloc((size_t)(b->most * x->most) * sizeof *b->words + 1);
    return b->words != NULL ? BF_OK : bf_fail(s->context, BF_E_MEMORY, "no memory for words");
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- saving ---------------------------------------------------------------------------------- */

/* Calls take(x, b, out) with batches of the words of n states; out: where words go, and then where
 * the next ones do. */
static bf_status each_batch(bf_states *s, int64_t first, int64_t n, batch *b, layout *x,
                            uint8_t *out,
                            uint8_t *(*take)(layout *x, const batch *b, uint8_t *out)) {
    bf_status status = BF_OK;
    for (b->at = 0; b->at < n && status == BF_OK; b->at += b->n) {
        b->n = least(b->most, n - b->at);
        status = s->on->axis->words(s->context, s->inside, first + b->at, b->n, b->words);
        if (status == BF_OK) out = take(x, b, out);
    }
    return status;
}

static uint8_t *cover_batch(layout *x, const batch *b, uint8_t *out) {
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t *words = b->words + i * x->most;
        if (x->keeps)
            x->bytes += 8 * (size_t)(used_words(x, words) - 1);
        else
            bf_packed_cover(&x->packed, words);
    }
    return out;
}

static uint8_t *put_counts(layout *x, const batch *b, uint8_t *out) {
    for (int64_t i = 0; i < b->n; i++, out += 8)
        bf_saved_put(out, (uint64_t)b->words[i * x->most], 8);
    return out;
}

static uint8_t *put_words(layout *x, const batch *b, uint8_t *out) {
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t *words = b->words + i * x->most;
        if (!x->keeps) {
            bf_packed_put(&x->packed, (size_t)b->all, (size_t)(b->at + i), words, out);
            continue;
        }
        for (int k = 1, n = used_words(x, words); k < n; k++, out += 8)
            bf_saved_put(out, (uint64_t)words[k], 8);
    }
    return out;
}

static bf_status plan_column(bf_states *s, int64_t first, int64_t n, layout *x) {
    batch b;
    *x = layout_of((bf_aggregate){s->op, s->dtype});
    bf_status status = make_batch(s, x, n, &b);
    if (status == BF_OK) status = each_batch(s, first, n, &b, x, NULL, cover_batch);
    bf_free(b.words);
    if (!x->keeps) bf_packed_settle(&x->packed);
    return status;
}

static size_t saved_bytes(const layout *x, int64_t count) {
    const size_t column = x->keeps ? x->bytes : (size_t)count * bf_packed_bytes(&x->packed);
    return COUNTS_AT + 8 * (size_t)count + column + BF_SAVED_CRC_BYTES;
}

/* Writes states [first, first + n), whose column is planned. */
static bf_status write_states(bf_states *s, int64_t first, int64_t n, layout *x, uint8_t *out) {
    uint8_t *counts = out + COUNTS_AT;
    batch b;
    bf_status status = make_batch(s, x, n, &b);
    if (status == BF_OK) status = each_batch(s, first, n, &b, x, counts, put_counts);
    if (status == BF_OK) status = each_batch(s, first, n, &b, x, counts + 8 * n, put_words);
    bf_free(b.words);
    if (status != BF_OK) return status;
    bf_saved_begin(out, magic, VERSION);
    bf_saved_put(out + 12, 0, 4);
    bf_saved_put(out + 16, (uint64_t)n, 8);
    bf_packed_put_header(&x->packed, out + HEADER_BYTES);
    bf_saved_end(out, saved_bytes(x, n));
    return BF_OK;
}

bf_status bf_states_append_saved(bf_states *s, int64_t first, int64_t n, char **bytes,
                                 size_t *size) {
    layout x;
    bf_status status = plan_column(s, first, n, &x);
    if (status != BF_OK) return status;
    const size_t more = saved_bytes(&x, n);
    char *grown = realloc(*bytes, *size + more);
    if (grown == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for saved states");
    *bytes = grown;
    status = write_states(s, first, n, &x, (uint8_t *)grown + *size);
    *size += more;
    return status;
}

static bf_status find_size(bf_states *s, size_t *size) {
    layout x;
    if (size == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no place for the size");
    bf_status status = plan_column(s, 0, s->count, &x);
    if (status == BF_OK) *size = saved_bytes(&x, s->count);
    return status;
}

static bf_status save_states(bf_states *s, void *buffer) {
    layout x;
    if (buffer == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no buffer");
    bf_status status = plan_column(s, 0, s->count, &x);
    return status == BF_OK ? write_states(s, 0, s->count, &x, buffer) : status;
}

bf_status bf_states_save_size(bf_states *states, size_t *size) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, find_size(states, size));
}

bf_status bf_states_save(bf_states *states, void *buffer) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, save_states(states, buffer));
}

/* ---- loading --------------------------------------------------------------------------------- */

static bf_status refuse_contents(bf_context *context) {
    return bf_saved_refuse(context, "impossible contents");
}

/* Saved states that are read. */
typedef struct reading {
    layout x;
    bf_packed seen;
    const uint8_t *counts;     /* of all, and behind them the column, or */
    const uint8_t *next, *end; /* the words to come */
} reading;

/* Reads the words that are kept of a state. Of a tree, those in use are known by the first ones. */
static bool get_words(reading *r, int64_t *words) {
    const bf_aggregate a = r->x.packed.aggregate;
    const bool tree = bf_kind_of(a.op, a.dtype) == BF_KIND_PRODUCT_TREE;
    int got = 1, n = tree ? BF_PRODUCT_TREE_NODES_AT : r->x.most;
    memset(words + 1, 0, (size_t)(r->x.most - 1) * sizeof *words);
    for (int turn = 0; turn < 2; turn++) {
        if (r->end - r->next < 8 * (n - got)) return false;
        for (; got < n; got++, r->next += 8) words[got] = (int64_t)bf_saved_get(r->next, 8);
        const int64_t nodes = tree ? words[BF_PRODUCT_TREE_NODES] : 0;
        if (nodes < 0 || nodes > 2 * BF_PRODUCT_TREE_LEVELS) return false;
        if (tree) n = bf_product_tree_used(words);
    }
    return !tree ||
           (words[BF_PRODUCT_TREE_BEGIN] >= 0 && words[BF_PRODUCT_TREE_BEGIN] % BF_LEAF == 0);
}

/* Reads a batch of words, and adds their elements. */
static bf_status get_batch(bf_states *s, reading *r, const batch *b) {
    for (int64_t i = 0; i < b->n; i++) {
        int64_t *words = b->words + i * r->x.most;
        const int64_t count = (int64_t)bf_saved_get(r->counts + 8 * (b->at + i), 8);
        if (count < 0 || count > BF_COUNT_MAX) return refuse_contents(s->context);
        if (count > BF_COUNT_MAX - s->elements)
            return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
        words[0] = count;
        if (r->x.keeps) {
            if (!get_words(r, words)) return refuse_contents(s->context);
        } else {
            bf_packed_get(&r->x.packed, (size_t)b->all, (size_t)(b->at + i), count,
                          r->counts + 8 * b->all, words);
            bf_packed_cover(&r->seen, words);
        }
        if (!bf_state_valid(s->op, s->dtype, words)) return refuse_contents(s->context);
        s->elements += count;
    }
    return BF_OK;
}

/* Have all bytes been read, and are they those that these states save? */
static bool is_all(reading *r) {
    if (r->x.keeps) return r->next == r->end;
    bf_packed_settle(&r->seen);
    return bf_packed_same(&r->x.packed, &r->seen);
}

/* Merges `count` saved states into those from number `first` on. */
static bf_status merge_words(bf_states *s, int64_t first, int64_t count, reading *r) {
    batch b;
    bf_status status = make_batch(s, &r->x, count, &b);
    for (; b.at < count && status == BF_OK; b.at += b.n) {
        b.n = least(b.most, count - b.at);
        status = get_batch(s, r, &b);
        if (status == BF_OK)
            status = s->on->axis->add_words(s->context, s->inside, first + b.at, b.n, b.words);
    }
    bf_free(b.words);
    return status == BF_OK && !is_all(r) ? refuse_contents(s->context) : status;
}

/* The bytes that n states that keep words have at least, beside their counts: so few bytes never
 * ask for much memory. */
static size_t least_bytes(const layout *x, size_t n) {
    static const int64_t none[BF_PRODUCT_TREE_NODES_AT];
    return 8 * n * (size_t)(used_words(x, none) - 1);
}

/* Reads the layout and the number of saved states, and checks that their size is right. */
static bf_status read_header(bf_context *context, const uint8_t *in, size_t size, reading *r,
                             int64_t *count) {
    bf_status status = bf_saved_check(context, in, &size, COUNTS_AT, magic, VERSION);
    if (status != BF_OK) return status;
    const bf_aggregate a = bf_packed_aggregate(in + HEADER_BYTES);
    const uint64_t n = bf_saved_get(in + 16, 8);
    if (!bf_states_have(a.op) || bf_dtype_bytes(a.dtype) == 0)
        return bf_saved_refuse(context, "states that this version does not know");
    *r = (reading){.x = layout_of(a), .counts = in + COUNTS_AT};
    r->seen = r->x.packed;
    const bool known = bf_packed_get_header(&r->x.packed, in + HEADER_BYTES) &&
                       bf_saved_get(in + 12, 4) == 0 && n <= (uint64_t)BF_SLOTS_MAX;
    const size_t others = COUNTS_AT + 8 * (size_t)n + BF_SAVED_CRC_BYTES;
    if (known && r->x.keeps && size >= others) r->x.bytes = size - others;
    const bool enough = !known || !r->x.keeps || r->x.bytes >= least_bytes(&r->x, (size_t)n);
    if (!known || !enough || size != saved_bytes(&r->x, (int64_t)n))
        return bf_saved_refuse(context, "not the size that its header says");
    r->next = r->counts + 8 * n;
    r->end = r->next + r->x.bytes;
    *count = (int64_t)n;
    return BF_OK;
}

bf_status bf_states_merge_saved(bf_states *s, int64_t first, const void *buffer, size_t size) {
    reading r;
    int64_t count;
    bf_status status = read_header(s->context, buffer, size, &r, &count);
    if (status != BF_OK) return status;
    const bf_aggregate a = r.x.packed.aggregate;
    if (a.op != s->op || a.dtype != s->dtype || count > s->count - first)
        return bf_fail(s->context, BF_E_STATE, "states of another op, dtype or number");
    return merge_words(s, first, count, &r);
}

bf_status bf_states_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_states **states) {
    reading r;
    bf_states *made = NULL;
    int64_t count;
    if (buffer == NULL || states == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = read_header(context, buffer, size, &r, &count);
    if (status != BF_OK) return status;
    const bf_aggregate a = r.x.packed.aggregate;
    status = bf_states_make(context, a.op, a.dtype, count, &made);
    if (status == BF_OK) status = merge_words(made, 0, count, &r);
    if (status == BF_E_OVERFLOW) status = refuse_contents(context);
    if (status == BF_OK)
        *states = made;
    else
        bf_states_destroy(made);
    return status;
}

bf_status bf_states_load(bf_context *context, const void *buffer, size_t size, bf_states **states) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_states_load_from(context, buffer, size, states));
}
