/* Saved groups: a header, keys in ascending order, counts, columns, a checksum; all little-endian.
 *
 *   0  "bfgroup" and a newline     16  seed (u64)
 *   8  version (u32), 1 or 2       24  groups (u64)
 *  12  dtype of the keys (u16)     32  aggregates, of 16 bytes each
 *  14  number of aggregates (u16)      the keys; their rows (i64 each); columns
 *                                      CRC-64/XZ of all before (u64)
 *
 * api/reduce/packed.h has the aggregates' layouts and the columns.
 *
 * Version 1 has a flag in place of the count of -0 (rules/reduce/sum.h), which is 1 for most
 * groups. Groups that merged a part of version 1, whose -0 were not counted, are saved in
 * version 1. */
#include "api/runtime/saved.h"
#include "api/group/group.h"
#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"

#include "base/memory.h"
#include "rules/key/rank.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys are saved as they are");

enum {
    HEADER_BYTES = 32,
    AGGREGATE_BYTES = BF_PACKED_HEADER_BYTES,
    VERSION = 2,
    BATCH_BYTES = 1 << 22 /* of the words that are in memory at a time */
};
static const char magic[8] = {'b', 'f', 'g', 'r', 'o', 'u', 'p', '\n'};

/* ---- saving -----------------------------------------------------------------------------------
 */

/* Groups [first, first + n), by key, that are saved together, with their keys and counts (NULL:
 * they are all, and are listed where they are saved). */
typedef struct selection {
    bf_groups *groups;
    int64_t first, n;
    const char *keys;
    const int64_t *counts;
} selection;

static selection select_all(bf_groups *g) {
    return (selection){.groups = g, .n = bf_groups_size(g)};
}

/* The words of groups [at, at + n) of a selection, of one aggregate. */
typedef struct word_batch {
    int64_t at, n;
    int64_t *words;
} word_batch;

static int version_of(const bf_groups *g) { return g->uncounted ? 1 : VERSION; }

/* Allocates memory for the words of a batch of any aggregate. Returns NULL on failure, with a
 * message. */
static int64_t *make_batch(const selection *x) {
    const bf_groups *g = x->groups;
    size_t bytes = 0, n = (size_t)x->n;
    for (int i = 0; i < g->count; i++) {
        size_t group = 8 * (size_t)bf_packed_of(g->aggregates[i], VERSION).words;
        size_t all = n < BATCH_BYTES / group ? n * group : BATCH_BYTES;
        if (all > bytes) bytes = all;
    }
    int64_t *words = bf_alloc(bytes + 1);
    if (words == NULL) bf_fail(g->context, BF_E_MEMORY, "no memory to save");
    return words;
}

/* Replaces counts of -0 by flags if the version is 1. */
static void put_flags(const bf_packed *packed, const word_batch *b) {
    for (int64_t i = 0; i < b->n && bf_kind_is_sum(packed->kind); i++) {
        int64_t *words = b->words + i * packed->words;
        if (packed->version == 1) words[BF_SUM_NEG_ZERO] = bf_sum_flag(words);
    }
}

/* Calls take(packed, n, b, column) with batches of all n groups of an aggregate. */
static bf_status
each_batch(const selection *x, int which, bf_packed *packed, int64_t *words, uint8_t *column,
           void (*take)(bf_packed *packed, size_t n, const word_batch *b, uint8_t *column)) {
    bf_groups *g = x->groups;
    int64_t most = BATCH_BYTES / (8 * packed->words);
    bf_status status = BF_OK;
    word_batch b = {0, 0, words};
    for (; b.at < x->n && status == BF_OK; b.at += b.n) {
        b.n = most < x->n - b.at ? most : x->n - b.at;
        status = g->by->words(g->context, g->inside, which, x->first + b.at, b.n, words);
        if (status != BF_OK) break;
        put_flags(packed, &b);
        take(packed, (size_t)x->n, &b, column);
    }
    return status;
}

static void cover_batch(bf_packed *packed, size_t n, const word_batch *b, uint8_t *column) {
    (void)n, (void)column;
    for (int64_t i = 0; i < b->n; i++) bf_packed_cover(packed, b->words + i * packed->words);
}

static void put_batch(bf_packed *packed, size_t n, const word_batch *b, uint8_t *column) {
    for (int64_t i = 0; i < b->n; i++)
        bf_packed_put(packed, n, (size_t)(b->at + i), b->words + i * packed->words, column);
}

/* Finds the layout of all columns, and sets *size to the bytes of the saved form. */
static bf_status plan_columns(const selection *x, bf_packed columns[], int64_t *words,
                              size_t *size) {
    const bf_groups *g = x->groups;
    size_t n = (size_t)x->n, each = (size_t)bf_key_bytes(g->key) + 8;
    bf_status status = BF_OK;
    for (int i = 0; i < g->count && status == BF_OK; i++) {
        columns[i] = bf_packed_of(g->aggregates[i], version_of(g));
        status = each_batch(x, i, &columns[i], words, NULL, cover_batch);
        bf_packed_settle(&columns[i]);
        each += bf_packed_bytes(&columns[i]);
    }
    if (status == BF_OK)
        *size = HEADER_BYTES + (size_t)g->count * AGGREGATE_BYTES + n * each + BF_SAVED_CRC_BYTES;
    return status;
}

bf_status bf_groups_find_size(bf_groups *groups, size_t *size) {
    bf_packed columns[BF_AGGREGATES_MAX];
    if (size == NULL) return bf_fail(groups->context, BF_E_ARGUMENT, "no place for the size");
    bf_status status = bf_groups_settle(groups);
    if (status != BF_OK) return status;
    const selection x = select_all(groups);
    int64_t *words = make_batch(&x);
    status = words == NULL ? BF_E_MEMORY : plan_columns(&x, columns, words, size);
    bf_free(words);
    return status;
}

bf_status bf_groups_save_size(bf_groups *groups, size_t *size) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, bf_groups_find_size(groups, size));
}

static void put_header(const selection *x, const bf_packed columns[], uint8_t *out) {
    const bf_groups *g = x->groups;
    bf_saved_begin(out, magic, version_of(g));
    bf_saved_put(out + 12, (uint64_t)g->key, 2);
    bf_saved_put(out + 14, (uint64_t)g->count, 2);
    bf_saved_put(out + 16, g->seed, 8);
    bf_saved_put(out + 24, (uint64_t)x->n, 8);
    out += HEADER_BYTES;
    for (int i = 0; i < g->count; i++, out += AGGREGATE_BYTES)
        bf_packed_put_header(&columns[i], out);
}

/* Writes keys and counts. */
static bf_status put_list(const selection *x, uint8_t *keys, uint8_t *counts) {
    const bf_groups *g = x->groups;
    if (x->keys == NULL) return g->by->list(g->context, g->inside, keys, counts);
    memcpy(keys, x->keys, (size_t)(counts - keys));
    memcpy(counts, x->counts, 8 * (size_t)x->n);
    return BF_OK;
}

static bf_status put_contents(const selection *x, bf_packed columns[], int64_t *words,
                              uint8_t *out) {
    const bf_groups *g = x->groups;
    size_t n = (size_t)x->n;
    if (n == 0) return BF_OK;
    uint8_t *counts = out + n * (size_t)bf_key_bytes(g->key);
    bf_status status = put_list(x, out, counts);
    out = counts + 8 * n;
    for (int i = 0; i < g->count && status == BF_OK; i++) {
        status = each_batch(x, i, &columns[i], words, out, put_batch);
        out += n * bf_packed_bytes(&columns[i]);
    }
    return status;
}

/* Writes the saved form of so many bytes, whose layout is known. */
static bf_status put_saved(const selection *x, bf_packed columns[], int64_t *words, uint8_t *out,
                           size_t size) {
    uint8_t *contents = out + HEADER_BYTES + x->groups->count * AGGREGATE_BYTES;
    bf_status status = put_contents(x, columns, words, contents);
    if (status != BF_OK) return status;
    put_header(x, columns, out);
    bf_saved_end(out, size);
    return BF_OK;
}

bf_status bf_groups_save_to(bf_groups *groups, void *buffer) {
    bf_packed columns[BF_AGGREGATES_MAX];
    size_t size;
    if (buffer == NULL) return bf_fail(groups->context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_groups_settle(groups);
    if (status != BF_OK) return status;
    const selection x = select_all(groups);
    int64_t *words = make_batch(&x);
    status = words == NULL ? BF_E_MEMORY : plan_columns(&x, columns, words, &size);
    if (status == BF_OK) status = put_saved(&x, columns, words, buffer, size);
    bf_free(words);
    return status;
}

bf_status bf_groups_save(bf_groups *groups, void *buffer) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, bf_groups_save_to(groups, buffer));
}

/* ---- saving in pieces ------------------------------------------------------------------------ */

typedef int piece_writer(void *arg, const void *bytes, size_t size, const void *key);

static bf_status write_piece(const selection *x, int64_t *words, piece_writer *write, void *arg) {
    bf_packed columns[BF_AGGREGATES_MAX];
    bf_context *context = x->groups->context;
    size_t size;
    bf_status status = plan_columns(x, columns, words, &size);
    if (status != BF_OK) return status;
    uint8_t *bytes = bf_alloc(size);
    if (bytes == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to save");
    status = put_saved(x, columns, words, bytes, size);
    if (status == BF_OK && write(arg, bytes, size, x->keys) != 0)
        status = bf_fail(context, BF_E_CANCELLED, "a piece could not be written");
    bf_free(bytes);
    return status;
}

static bf_status save_pieces(bf_groups *g, int64_t first, int64_t end, int64_t piece,
                             piece_writer *write, void *arg) {
    int64_t n = bf_groups_size(g), bytes = bf_key_bytes(g->key);
    selection x = {.groups = g, .first = first, .n = end - first < piece ? end - first : piece};
    char *keys = bf_alloc((size_t)(n * bytes));
    int64_t *counts = bf_alloc((size_t)n * sizeof *counts), *words = make_batch(&x);
    bf_status status = keys && counts && words
                           ? g->by->list(g->context, g->inside, keys, counts)
                           : bf_fail(g->context, BF_E_MEMORY, "no memory to save");
    for (; x.first < end && status == BF_OK; x.first += x.n) {
        if (x.n > end - x.first) x.n = end - x.first;
        x.keys = keys + x.first * bytes;
        x.counts = counts + x.first;
        status = write_piece(&x, words, write, arg);
    }
    bf_free(keys);
    bf_free(counts);
    bf_free(words);
    return status;
}

static bf_status check_pieces(bf_groups *g, int64_t first, int64_t count, int64_t piece,
                              piece_writer *write, void *arg) {
    bf_status status = bf_groups_settle(g);
    if (status != BF_OK) return status;
    int64_t n = bf_groups_size(g);
    if (first < 0 || count < 0 || first > n || count > n - first || piece < 1 || write == NULL)
        return bf_fail(g->context, BF_E_ARGUMENT, "%lld groups from %lld on, of %lld, %lld a piece",
                       (long long)count, (long long)first, (long long)n, (long long)piece);
    return count == 0 ? BF_OK : save_pieces(g, first, first + count, piece, write, arg);
}

bf_status bf_groups_save_pieces(bf_groups *groups, int64_t first, int64_t count, int64_t piece,
                                int (*write)(void *arg, const void *bytes, size_t size,
                                             const void *key),
                                void *arg) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, check_pieces(groups, first, count, piece, write, arg));
}

/* ---- loading ----------------------------------------------------------------------------------
 */

/* Saved bytes. Their checksum is right; seen: the layouts that the groups need. */
typedef struct saved {
    const uint8_t *bytes;
    size_t size, groups;
    bf_dtype key;
    int count;
    bool uncounted;
    bf_packed columns[BF_AGGREGATES_MAX], seen[BF_AGGREGATES_MAX];
    const uint8_t *keys, *rows, *at[BF_AGGREGATES_MAX]; /* where these and each column begin */
    int64_t *words[BF_AGGREGATES_MAX];                  /* of a batch */
} saved;

/* Reads op and dtype of the aggregates, which bf_groups_make checks. */
static void read_aggregates(const saved *s, bf_aggregate aggregates[]) {
    for (int i = 0; i < s->count; i++) {
        const uint8_t *in = s->bytes + HEADER_BYTES + i * AGGREGATE_BYTES;
        aggregates[i] = bf_packed_aggregate(in);
    }
}

/* Reads the layouts of the columns. Returns false if one is impossible. */
static bool read_columns(saved *s, const bf_aggregate aggregates[]) {
    for (int i = 0; i < s->count; i++) {
        const uint8_t *in = s->bytes + HEADER_BYTES + i * AGGREGATE_BYTES;
        bf_packed *c = &s->columns[i];
        s->seen[i] = *c = bf_packed_of(aggregates[i], bf_saved_version(s->bytes));
        if (!bf_packed_get_header(c, in)) return false;
    }
    return true;
}

/* Finds keys, rows and columns. Returns false if they do not fill the bytes exactly. */
static bool find_places(saved *s) {
    size_t begin = HEADER_BYTES + (size_t)s->count * AGGREGATE_BYTES;
    size_t bytes = s->size - begin - BF_SAVED_CRC_BYTES;
    size_t each = (size_t)bf_key_bytes(s->key) + 8;
    for (int i = 0; i < s->count; i++) each += bf_packed_bytes(&s->columns[i]);
    s->groups = bytes / each;
    if (bytes % each != 0 || bf_saved_get(s->bytes + 24, 8) != s->groups) return false;
    s->keys = s->bytes + begin;
    s->rows = s->keys + s->groups * (size_t)bf_key_bytes(s->key);
    const uint8_t *at = s->rows + 8 * s->groups;
    for (int i = 0; i < s->count; i++) {
        s->at[i] = at;
        at += s->groups * bf_packed_bytes(&s->columns[i]);
    }
    return true;
}

/* Sets *rank to the rank of a key. Returns false if the key is not canonical. */
static bool rank_of(bf_dtype dtype, const uint8_t *key, bf_u128 *rank) {
    int bytes = bf_key_bytes(dtype);
    uint64_t bits = bf_saved_get(key, bytes == 16 ? 8 : bytes);
    if (dtype == BF_PAIR) {
        *rank = (bf_u128)bits << 64 | bf_saved_get(key + 8, 8);
        return true;
    }
    if (dtype == BF_I128) {
        *rank = bf_place_of_i128((bf_i128)((bf_u128)bf_saved_get(key + 8, 8) << 64 | bits));
        return true;
    }
    *rank = bf_group_rank(dtype, bits);
    return bf_group_key(dtype, bits) == bits;
}

/* Do the keys increase, and does each have rows? Sets *rows to the rows of all. */
static bool keys_are_sound(const saved *s, int64_t *rows) {
    bf_u128 before = 0, rank = 0;
    *rows = 0;
    for (size_t i = 0; i < s->groups; i++, before = rank) {
        if (!rank_of(s->key, s->keys + i * (size_t)bf_key_bytes(s->key), &rank)) return false;
        int64_t count = (int64_t)bf_saved_get(s->rows + 8 * i, 8);
        if ((i > 0 && rank <= before) || count < 1 || count > BF_COUNT_MAX - *rows) return false;
        *rows += count;
    }
    return true;
}

/* Reads the words of groups [first, first + n) of a column. Returns false if no state has such
 * words.
 */
static bool get_words(saved *s, int which, size_t first, size_t n) {
    const bf_packed *c = &s->columns[which];
    bf_aggregate a = c->aggregate;
    for (size_t i = 0; i < n; i++) {
        int64_t *words = s->words[which] + i * (size_t)c->words;
        int64_t count = (int64_t)bf_saved_get(s->rows + 8 * (first + i), 8);
        bf_packed_get(c, s->groups, first + i, count, s->at[which], words);
        bf_packed_cover(&s->seen[which], words);
        bool counted = true;
        if (c->version == 1 && !bf_state_read_flag(c->kind, a.dtype, words, &counted)) return false;
        if (!bf_state_valid(a.op, a.dtype, words)) return false;
        s->uncounted |= !counted;
    }
    return true;
}

static bf_status insert_batch(bf_groups *g, saved *s, size_t first, size_t n) {
    const int64_t *words[BF_AGGREGATES_MAX];
    int64_t *counts = bf_alloc(n * sizeof *counts);
    if (counts == NULL) return bf_fail(g->context, BF_E_MEMORY, "no memory to load");
    memcpy(counts, s->rows + 8 * first, 8 * n);
    for (int i = 0; i < s->count; i++) words[i] = s->words[i];
    bf_status status =
        g->by->insert(g->context, g->inside, s->keys + first * (size_t)bf_key_bytes(s->key), counts,
                      words, (int64_t)n);
    bf_free(counts);
    return status;
}

/* Returns the number of groups whose words are in memory at a time. */
static size_t batch_of(const saved *s) {
    size_t each = 8;
    for (int i = 0; i < s->count; i++) each += 8 * (size_t)s->columns[i].words;
    size_t n = each < BATCH_BYTES ? BATCH_BYTES / each : 1;
    return n < s->groups ? n : s->groups;
}

static bf_status make_words(bf_groups *g, saved *s, size_t batch) {
    for (int i = 0; i < s->count; i++) {
        s->words[i] = bf_alloc(batch * (size_t)s->columns[i].words * sizeof(int64_t));
        if (s->words[i] == NULL) return bf_fail(g->context, BF_E_MEMORY, "no memory to load");
    }
    return BF_OK;
}

/* Are the limbs and specials that are saved just those that the groups need? So equal groups have
 * equal saved forms. */
static bool is_least(saved *s) {
    for (int i = 0; i < s->count; i++) {
        bf_packed_settle(&s->seen[i]);
        if (!bf_packed_same(&s->columns[i], &s->seen[i])) return false;
    }
    return true;
}

static bf_status insert_all(bf_groups *g, saved *s) {
    bf_status status = BF_OK;
    size_t batch = batch_of(s);
    if (s->groups > 0) status = make_words(g, s, batch);
    for (size_t at = 0; at < s->groups && status == BF_OK; at += batch) {
        size_t n = s->groups - at < batch ? s->groups - at : batch;
        for (int i = 0; i < s->count; i++)
            if (!get_words(s, i, at, n)) return bf_saved_refuse(g->context, "impossible contents");
        status = insert_batch(g, s, at, n);
    }
    g->uncounted = s->uncounted;
    if (status == BF_OK && !is_least(s))
        status = bf_saved_refuse(g->context, "impossible contents");
    return status;
}

static bf_status load_saved(bf_context *context, saved *s, bf_groups **groups) {
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    s->key = (bf_dtype)bf_saved_get(s->bytes + 12, 2);
    s->count = (int)bf_saved_get(s->bytes + 14, 2);
    if (s->count > BF_AGGREGATES_MAX ||
        s->size < HEADER_BYTES + (size_t)s->count * AGGREGATE_BYTES + BF_SAVED_CRC_BYTES)
        return bf_saved_refuse(context, "not the size that its header says");
    read_aggregates(s, aggregates);
    bf_groups_options options =
        BF_GROUPS_OPTIONS(.key = s->key, .count = s->count, .aggregates = aggregates,
                          .seed = bf_saved_get(s->bytes + 16, 8));
    bf_status status = bf_groups_make(context, &options, groups);
    if (status == BF_E_ARGUMENT || status == BF_E_DTYPE)
        return bf_saved_refuse(context, "groups that this version does not know");
    if (status != BF_OK) return status;
    if (!read_columns(s, aggregates) || !find_places(s))
        return bf_saved_refuse(context, "not the size that its header says");
    if (!keys_are_sound(s, &(*groups)->rows))
        return bf_saved_refuse(context, "impossible contents");
    return insert_all(*groups, s);
}

bf_status bf_groups_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_groups **groups) {
    bf_groups *made = NULL;
    if (buffer == NULL || groups == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_saved_check(context, buffer, &size, HEADER_BYTES, magic, VERSION);
    if (status != BF_OK) return status;
    saved *s = bf_calloc(1, sizeof *s);
    if (s == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to load");
    s->bytes = buffer;
    s->size = size;
    status = load_saved(context, s, &made);
    for (int i = 0; i < BF_AGGREGATES_MAX; i++) bf_free(s->words[i]);
    bf_free(s);
    if (status == BF_OK)
        *groups = made;
    else
        bf_groups_destroy(made);
    return status;
}

bf_status bf_groups_load(bf_context *context, const void *buffer, size_t size, bf_groups **groups) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_groups_load_from(context, buffer, size, groups));
}
