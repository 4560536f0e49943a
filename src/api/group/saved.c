/* Saved groups: "groups" (dtype of the keys), "seed" (u64), "columns" (i32: the numbers of each
 * aggregate's layout), "keys" in ascending order, "counts" of their rows (i64), and the sections of
 * each aggregate (api/reduce/saved_words.h). */
#include "api/runtime/saved.h"
#include "api/group/group.h"
#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"
#include "base/memory.h"
#include "rules/key/rank.h"

enum {
    BATCH_BYTES = 1 << 22, /* the words that are in memory at a time */
    NUMBERS_MOST = BF_AGGREGATES_MAX * BF_SAVED_WORDS_NUMBERS_MOST
};

static bf_saved_words layout_of(bf_aggregate a) {
    return bf_saved_words_of(a, bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL), false);
}

/* ---- saving ---------------------------------------------------------------------------------- */

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

static bf_status read_words(const bf_words_source *s, int64_t at, int64_t n, int64_t *words) {
    const selection *x = s->of;
    const bf_groups *g = x->groups;
    return g->by->words(g->context, g->inside, s->which, x->first + at, n, words);
}

static bf_words_source source_of(const selection *x, int which) {
    return (bf_words_source){.n = x->n, .of = x, .which = which, .words = read_words};
}

static bf_status plan_columns(const selection *x, bf_saved_words columns[]) {
    const bf_groups *g = x->groups;
    bf_status status = BF_OK;
    for (int i = 0; i < g->count && status == BF_OK; i++) {
        const bf_words_source source = source_of(x, i);
        columns[i] = layout_of(g->aggregates[i]);
        status = bf_saved_words_plan(g->context, &source, &columns[i]);
    }
    return status;
}

/* The offsets of the keys and counts. */
typedef struct offsets {
    size_t keys, counts;
} offsets;

/* Lays out the form, whose columns are planned. */
static bf_saving lay_out(const selection *x, bf_saved_words columns[], uint8_t *out, offsets *at) {
    const bf_groups *g = x->groups;
    const int key = (int)g->key;
    int numbers[NUMBERS_MOST], count = 0;
    for (int i = 0; i < g->count; i++) {
        bf_saved_words_tell(&columns[i], numbers + count);
        count += bf_saved_words_numbers(&columns[i]);
    }
    bf_saving s = bf_saving_begin(out, "groups", &key, 1);
    bf_saving_put(&s, "seed", BF_U64, &g->seed, 1);
    bf_saving_put(&s, "columns", BF_I32, numbers, count);
    at->keys = bf_saving_section(&s, "keys", g->key, x->n);
    at->counts = bf_saving_section(&s, "counts", BF_I64, x->n);
    for (int i = 0; i < g->count; i++) bf_saved_words_add(&columns[i], &s, x->n);
    return s;
}

static size_t size_of(const selection *x, bf_saved_words columns[]) {
    offsets at;
    bf_saving s = lay_out(x, columns, NULL, &at);
    return bf_saving_end(&s);
}

/* Writes keys and counts. */
static bf_status put_list(const selection *x, uint8_t *keys, uint8_t *counts) {
    const bf_groups *g = x->groups;
    if (x->n == 0) return BF_OK;
    if (x->keys == NULL) return g->by->list(g->context, g->inside, keys, counts);
    memcpy(keys, x->keys, (size_t)(x->n * bf_key_bytes(g->key)));
    memcpy(counts, x->counts, 8 * (size_t)x->n);
    return BF_OK;
}

/* Writes the form. batch: memory for the words of any column. */
static bf_status fill_form(const selection *x, bf_saved_words columns[], int64_t *batch,
                           uint8_t *out) {
    offsets at;
    bf_saving s = lay_out(x, columns, out, &at);
    bf_status status = put_list(x, out + at.keys, out + at.counts);
    for (int i = 0; i < x->groups->count && status == BF_OK; i++) {
        bf_words_source source = source_of(x, i);
        source.batch = batch;
        status = bf_saved_words_put(x->groups->context, &source, &columns[i], out, NULL);
    }
    if (status == BF_OK) bf_saving_end(&s);
    return status;
}

/* Writes the form, whose columns are planned; without memory it writes nothing. */
static bf_status put_saved(const selection *x, bf_saved_words columns[], uint8_t *out) {
    size_t most = 1;
    for (int i = 0; i < x->groups->count; i++) {
        const size_t bytes = bf_saved_words_batch(&columns[i], x->n);
        if (bytes > most) most = bytes;
    }
    int64_t *batch = bf_alloc(most);
    if (batch == NULL) return bf_fail(x->groups->context, BF_E_MEMORY, "no memory to save");
    const bf_status status = fill_form(x, columns, batch, out);
    bf_free(batch);
    return status;
}

bf_status bf_groups_find_size(bf_groups *groups, size_t *size) {
    bf_saved_words columns[BF_AGGREGATES_MAX];
    if (size == NULL) return bf_fail(groups->context, BF_E_ARGUMENT, "no place for the size");
    bf_status status = bf_groups_settle(groups);
    if (status != BF_OK) return status;
    const selection x = select_all(groups);
    status = plan_columns(&x, columns);
    if (status == BF_OK) *size = size_of(&x, columns);
    return status;
}

bf_status bf_groups_save_size(bf_groups *groups, size_t *size) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, bf_groups_find_size(groups, size));
}

bf_status bf_groups_save_to(bf_groups *groups, void *buffer) {
    bf_saved_words columns[BF_AGGREGATES_MAX];
    if (buffer == NULL) return bf_fail(groups->context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_groups_settle(groups);
    if (status != BF_OK) return status;
    const selection x = select_all(groups);
    status = plan_columns(&x, columns);
    return status == BF_OK ? put_saved(&x, columns, buffer) : status;
}

bf_status bf_groups_save(bf_groups *groups, void *buffer) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, bf_groups_save_to(groups, buffer));
}

/* ---- saving in pieces ------------------------------------------------------------------------ */

typedef int piece_writer(void *arg, const void *bytes, size_t size, const void *key);

static bf_status write_piece(const selection *x, piece_writer *write, void *arg) {
    bf_saved_words columns[BF_AGGREGATES_MAX];
    bf_context *context = x->groups->context;
    bf_status status = plan_columns(x, columns);
    if (status != BF_OK) return status;
    const size_t size = size_of(x, columns);
    uint8_t *bytes = bf_alloc(size);
    if (bytes == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to save");
    status = put_saved(x, columns, bytes);
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
    int64_t *counts = bf_alloc((size_t)n * sizeof *counts);
    bf_status status = keys && counts ? g->by->list(g->context, g->inside, keys, counts)
                                      : bf_fail(g->context, BF_E_MEMORY, "no memory to save");
    for (; x.first < end && status == BF_OK; x.first += x.n) {
        if (x.n > end - x.first) x.n = end - x.first;
        x.keys = keys + x.first * bytes;
        x.counts = counts + x.first;
        status = write_piece(&x, write, arg);
    }
    bf_free(keys);
    bf_free(counts);
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

/* ---- loading --------------------------------------------------------------------------------- */

/* A form that is read: keys, rows, columns; and the words of a batch. */
typedef struct saved {
    bf_loading loading;
    int64_t groups, most; /* in a batch */
    int count;
    int numbers[NUMBERS_MOST];
    int begin[BF_AGGREGATES_MAX]; /* where each aggregate's numbers begin */
    const uint8_t *keys, *rows;
    bf_loaded_words columns[BF_AGGREGATES_MAX];
    int64_t *words[BF_AGGREGATES_MAX];
} saved;

/* Reads the numbers of all columns, and finds the aggregates that they tell. */
static bool find_aggregates(saved *s, bf_aggregate aggregates[]) {
    const int64_t numbers =
        bf_loading_take(&s->loading, "columns", BF_I32, s->numbers, NUMBERS_MOST);
    int64_t at = 0;
    while (s->count < BF_AGGREGATES_MAX && at + BF_SAVED_WORDS_NUMBERS <= numbers) {
        const bf_aggregate a = {(bf_reduction)s->numbers[at], (bf_dtype)s->numbers[at + 1]};
        const bool known = bf_is_group_aggregate(a.op) && bf_number_bytes(a.dtype) > 0;
        s->begin[s->count] = (int)at;
        aggregates[s->count++] = a;
        const bf_saved_words layout = known ? layout_of(a) : (bf_saved_words){.count = 2};
        at += bf_saved_words_numbers(&layout);
    }
    return !s->loading.bad && at == numbers;
}

/* Makes empty groups as the form has them. */
static bf_status make_groups(bf_context *context, saved *s, int key, bf_groups **groups) {
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    bf_groups_options options = BF_GROUPS_OPTIONS(.key = (bf_dtype)key, .aggregates = aggregates);
    bf_loading_get(&s->loading, "seed", BF_U64, &options.seed, 1);
    if (!find_aggregates(s, aggregates))
        return bf_saved_refuse(context, "not the size that its header says");
    options.count = s->count;
    bf_status status = bf_groups_make(context, &options, groups);
    if (status == BF_E_ARGUMENT || status == BF_E_DTYPE)
        return bf_saved_refuse(context, "groups that this version does not know");
    return status;
}

/* Finds keys, rows and columns. Returns false if one has another size. */
static bool find_sections(saved *s, const bf_groups *g) {
    bf_loading *l = &s->loading;
    int64_t counts;
    s->keys = l->in + bf_loading_section(l, "keys", g->key, &s->groups);
    s->rows = l->in + bf_loading_section(l, "counts", BF_I64, &counts);
    for (int i = 0; i < s->count; i++)
        bf_loaded_words_find(&s->columns[i], layout_of(g->aggregates[i]), s->numbers + s->begin[i],
                             l, s->groups);
    return bf_loading_end(l) && counts == s->groups;
}

static int64_t rows_at(const saved *s, int64_t i) {
    return (int64_t)bf_load_bits(s->rows + 8 * i, 8);
}

/* Does each key have rows? Sets *rows to those of all. */
static bool rows_are_sound(const saved *s, int64_t *rows) {
    *rows = 0;
    for (int64_t i = 0; i < s->groups; i++) {
        const int64_t count = rows_at(s, i);
        if (count < 1 || count > BF_COUNT_MAX - *rows) return false;
        *rows += count;
    }
    return true;
}

/* Reads the words of groups [at, at + n). Returns false if no state has such words. */
static bool get_words(saved *s, int64_t at, int64_t n) {
    for (int k = 0; k < s->count; k++) {
        const int64_t each = s->columns[k].layout.words;
        for (int64_t i = 0; i < n; i++)
            if (!bf_loaded_words_get(&s->columns[k], at + i, rows_at(s, at + i),
                                     s->words[k] + i * each))
                return false;
    }
    return true;
}

static bf_status insert_batch(bf_groups *g, const saved *s, int64_t at, int64_t n) {
    const int64_t *words[BF_AGGREGATES_MAX];
    int64_t *counts = bf_alloc((size_t)n * sizeof *counts);
    if (counts == NULL) return bf_fail(g->context, BF_E_MEMORY, "no memory to load");
    memcpy(counts, s->rows + 8 * at, 8 * (size_t)n);
    for (int i = 0; i < s->count; i++) words[i] = s->words[i];
    bf_status status =
        g->by->insert(g->context, g->inside, s->keys + at * bf_key_bytes(g->key), counts, words, n);
    bf_free(counts);
    return status;
}

/* Allocates the words of a batch. */
static bf_status make_words(bf_groups *g, saved *s) {
    int64_t each = 8;
    for (int i = 0; i < s->count; i++) each += 8 * s->columns[i].layout.words;
    s->most = BATCH_BYTES / each < s->groups ? BATCH_BYTES / each : s->groups;
    for (int i = 0; i < s->count; i++) {
        s->words[i] = bf_alloc((size_t)(s->most * s->columns[i].layout.words) * sizeof(int64_t));
        if (s->words[i] == NULL) return bf_fail(g->context, BF_E_MEMORY, "no memory to load");
    }
    return BF_OK;
}

static bf_status insert_all(bf_groups *g, saved *s) {
    bf_status status = s->groups > 0 ? make_words(g, s) : BF_OK;
    for (int64_t at = 0, n; at < s->groups && status == BF_OK; at += n) {
        n = s->groups - at < s->most ? s->groups - at : s->most;
        status =
            get_words(s, at, n) ? insert_batch(g, s, at, n) : bf_saved_refuse_contents(g->context);
    }
    for (int i = 0; i < s->count && status == BF_OK; i++)
        if (!bf_loaded_words_is_least(&s->columns[i]))
            status = bf_saved_refuse_contents(g->context);
    return status;
}

static bf_status load_saved(bf_context *context, saved *s, int key, bf_groups **groups) {
    bf_status status = make_groups(context, s, key, groups);
    if (status != BF_OK) return status;
    if (!find_sections(s, *groups))
        return bf_saved_refuse(context, "not the size that its header says");
    if (!bf_saved_keys_ascend((*groups)->key, s->keys, s->groups, false) ||
        !rows_are_sound(s, &(*groups)->rows))
        return bf_saved_refuse_contents(context);
    return insert_all(*groups, s);
}

bf_status bf_groups_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_groups **groups) {
    bf_groups *made = NULL;
    int key;
    if (groups == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the groups");
    saved *s = bf_calloc(1, sizeof *s);
    if (s == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to load");
    bf_status status = bf_loading_begin(&s->loading, context, buffer, size, "groups", &key, 1);
    if (status == BF_OK) status = load_saved(context, s, key, &made);
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
