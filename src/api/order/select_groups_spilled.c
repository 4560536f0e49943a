/* Order statistics by group beyond memory: pieces of the rows are sorted by their keys, and a
 * merger brings them together. From there the values of each group go to a file, one group after
 * another, and so do the keys of groups, and where their values begin. Batches of groups are
 * selected from; a file keeps their results until nothing can be refused any more. */
#include "api/order/select_groups.h"

#include "api/runtime/array.h"
#include "base/spill/merger.h"
#include "base/spill/spool.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

enum {
    RECORD = 4,      /* words of a record, at most */
    BATCH = 1 << 9,  /* records that are made at a time */
    SORT_BYTES = 96, /* most bytes that a row of a piece takes, with copies of its key and value */
    PAIR_BYTES = 64, /* most bytes that selecting from pairs takes for each */
    LEAST = 1 << 8,  /* rows of a piece, at least */
    ASKED = 1 << 14  /* records between two questions to the watch */
};

/* What is merged: records of the rank of a key and the bits of a value. */
typedef struct spilled {
    bf_grouping *grouping;
    bf_selecting *selecting;
    bf_context *context;
    int key, value, bytes; /* words of them, and bytes of a value */
    bf_merger merger;
    bf_spool keys, offsets, values, results;
    int64_t groups, rows; /* a batch has no more */
    int64_t *begins;      /* where its groups' values begin */
    char *batch;          /* its results */
} spilled;

static bf_status no_memory(const spilled *s) {
    return bf_fail(s->context, BF_E_MEMORY, "no memory for groups");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A piece of the rows. */
typedef struct piece {
    bf_array key_array, value_array;
    bf_flat keys, values;
    int64_t *order;
} piece;

/* Describes elements [first, first + n) along the last dimension of an array. */
static void slice(const bf_array *array, int64_t first, int64_t n, bf_array *part) {
    const int64_t step = array->strides[array->ndim - 1] * bf_key_bytes(array->dtype);
    (void)bf_order_cut(array, n, part);
    part->data = (char *)array->data + first * step;
}

static bf_status sort_piece(const spilled *s, int64_t first, int64_t n, piece *p) {
    bf_context *context = s->context;
    slice(s->grouping->keys, first, n, &p->key_array);
    slice(s->selecting->call.inputs[0], first, n, &p->value_array);
    bf_status status = bf_flat_take_ordered(context, context->used, &p->key_array, &p->keys);
    if (status == BF_OK)
        status = bf_flat_take_ordered(context, context->used, &p->value_array, &p->values);
    if (status != BF_OK) return status;
    const bf_order_lines line = {.dtype = bf_flat_dtype(s->grouping->keys->dtype),
                                 .values = p->keys.data,
                                 .count = 1,
                                 .length = n};
    return context->used->order->sort(context, &line, NULL, p->order);
}

static void set_record(const spilled *s, const piece *p, int64_t i, uint64_t *record) {
    const bf_dtype dtype = s->grouping->keys->dtype;
    const int bytes = bf_key_bytes(dtype);
    const char *key = p->keys.data + i * bytes;
    if (s->key == 2)
        memcpy(record, key, 16);
    else
        record[0] = bf_group_rank(dtype, bf_load_bits(key, bytes));
    record[s->key] = 0;
    memcpy(record + s->key, p->values.data + i * s->bytes, (size_t)s->bytes);
}

/* Writes the rows of a piece as a run. */
static bf_status write_piece(spilled *s, const piece *p) {
    uint64_t records[BATCH * RECORD];
    const int words = s->key + s->value;
    bf_status status = BF_OK;
    for (int64_t at = 0, some; at < p->keys.count && status == BF_OK; at += some) {
        some = p->keys.count - at < BATCH ? p->keys.count - at : BATCH;
        for (int64_t i = 0; i < some; i++) set_record(s, p, p->order[at + i], records + i * words);
        status = bf_merger_add(&s->merger, records, some * words);
    }
    return status == BF_OK ? bf_merger_cut(&s->merger) : status;
}

static bf_status write_pieces(spilled *s) {
    const int64_t rows = s->grouping->rows, most = bf_merger_share(2) / SORT_BYTES;
    const int64_t room = most > LEAST ? most : LEAST;
    int64_t *order = bf_alloc((size_t)room * sizeof *order);
    bf_status status = order != NULL ? BF_OK : no_memory(s);
    for (int64_t at = 0, n; at < rows && status == BF_OK; at += n) {
        piece p = {.order = order};
        n = rows - at < room ? rows - at : room;
        status = sort_piece(s, at, n, &p);
        if (status == BF_OK) status = write_piece(s, &p);
        bf_flat_release(&p.values);
        bf_flat_release(&p.keys);
    }
    bf_free(order);
    return status;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Writes the key of a rank. */
static bf_status write_key(spilled *s, const uint64_t *rank) {
    const bf_dtype dtype = s->grouping->keys->dtype;
    char key[16];
    if (s->key == 1) {
        bf_store_bits(key, bf_key_bytes(dtype), bf_group_of_rank(dtype, rank[0]));
    } else if (dtype == BF_I128) {
        const bf_i128 x = bf_i128_of_pair(rank);
        memcpy(key, &x, sizeof x);
    } else {
        memcpy(key, rank, sizeof key);
    }
    return bf_spool_add(&s->keys, key, bf_key_bytes(dtype));
}

static bf_status write_offset(spilled *s, int64_t row) {
    return bf_spool_add(&s->offsets, &row, sizeof row);
}

static bf_status write_row(spilled *s, const uint64_t *record, int64_t row, uint64_t *last) {
    bf_grouping *g = s->grouping;
    bf_status status = BF_OK;
    if (g->groups == 0 || memcmp(last, record, (size_t)s->key * 8) != 0) {
        memcpy(last, record, (size_t)s->key * 8);
        g->groups++;
        status = write_key(s, record);
        if (status == BF_OK) status = write_offset(s, row);
    }
    return status == BF_OK ? bf_spool_add(&s->values, record + s->key, s->bytes) : status;
}

/* Merges the pieces to files of keys, offsets and values. */
static bf_status write_groups(spilled *s) {
    uint64_t last[BF_MERGER_KEY];
    const uint64_t *record;
    bf_status status = bf_merger_start(&s->merger, bf_merger_share(2));
    s->grouping->groups = 0;
    for (int64_t row = 0; status == BF_OK; row++) {
        status = bf_merger_next(&s->merger, &record);
        if (status != BF_OK) break;
        if (record == NULL) return write_offset(s, row);
        status = write_row(s, record, row, last);
        if (status == BF_OK && row % ASKED == 0) status = bf_watch_tick(s->context, 0);
    }
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static const int64_t *offsets_of(const spilled *s) { return (const int64_t *)s->offsets.map; }

static int64_t result_bytes(const spilled *s) {
    return s->selecting->selection.count * bf_key_bytes(s->grouping->results->dtype);
}

/* Returns how many groups are selected from at once, from this one on. */
static int64_t batch_from(const spilled *s, int64_t first) {
    const int64_t *at = offsets_of(s) + first, left = s->grouping->groups - first;
    int64_t n = 1;
    while (n < left && n < s->groups && at[n + 1] - at[0] <= s->rows) n++;
    return n;
}

/* Selects from groups [first, first + n), and writes their results to the file. */
static bf_status select_batch(spilled *s, int64_t first, int64_t n) {
    const int64_t *at = offsets_of(s) + first;
    bf_array results;
    int64_t longest = 0;
    for (int64_t i = 0; i <= n; i++) {
        s->begins[i] = at[i] - at[0];
        if (i > 0 && at[i] - at[i - 1] > longest) longest = at[i] - at[i - 1];
    }
    (void)bf_order_cut(s->grouping->results, n, &results);
    results.data = s->batch;
    results.strides[results.ndim - 1] = 1;
    if (results.ndim == 2) results.strides[0] = n;
    s->selecting->results = &results;
    s->selecting->lines.first = first;
    const bf_status status =
        bf_select_offsets(s->selecting, s->values.map + at[0] * s->bytes, s->begins, n, longest);
    bf_spool_pass(&s->values, at[n] * s->bytes);
    return status == BF_OK ? bf_spool_add(&s->results, s->batch, n * result_bytes(s)) : status;
}

/* Refuses what lies between two integers before any group is selected from, as one selection of all
 * groups does. */
static bf_status check_whole(const spilled *s) {
    bf_selecting all = *s->selecting;
    all.lines.offsets = offsets_of(s);
    all.lines.count = s->grouping->groups;
    return bf_select_check_whole(&all);
}

static bf_status select_batches(spilled *s) {
    const int64_t share = bf_merger_share(4), groups = share / (8 + 2 * result_bytes(s));
    s->groups = groups > 0 ? groups : 1;
    s->rows = share / (s->value == 2 ? PAIR_BYTES : s->bytes);
    s->begins = bf_alloc((size_t)(s->groups + 1) * sizeof *s->begins);
    s->batch = bf_alloc((size_t)(s->groups * result_bytes(s)));
    bf_status status = s->begins == NULL || s->batch == NULL ? no_memory(s) : check_whole(s);
    for (int64_t at = 0, n; at < s->grouping->groups && status == BF_OK; at += n) {
        n = batch_from(s, at);
        status = select_batch(s, at, n);
    }
    return status == BF_OK ? bf_spool_map(&s->results) : status;
}

/* Writes elements of a file to [first, first + n) along the last dimension of an array. */
static bf_status return_slice(const spilled *s, const bf_array *array, int64_t first, int64_t n,
                              int64_t rows, const char *from) {
    bf_array part;
    slice(array, first, n, &part);
    char *data = (char *)(uintptr_t)from;
    const bf_flat flat = {s->context, &part, n * rows, data, data, s->context->used};
    return bf_flat_return(s->context, &flat);
}

static bf_status return_results(const spilled *s) {
    const bf_grouping *g = s->grouping;
    const char *from = s->results.map;
    bf_status status = BF_OK;
    for (int64_t at = 0, n; from != NULL && at < g->groups && status == BF_OK; at += n) {
        n = batch_from(s, at);
        status = return_slice(s, g->results, at, n, s->selecting->selection.count, from);
        from += n * result_bytes(s);
    }
    if (status == BF_OK && g->listed != NULL)
        status = return_slice(s, g->listed, 0, g->groups, 1, s->keys.map);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bf_status open_files(spilled *s) {
    bf_spool *const spools[] = {&s->keys, &s->offsets, &s->values, &s->results};
    bf_status status = BF_OK;
    for (int i = 0; i < 4 && status == BF_OK; i++) status = bf_spool_open(spools[i], s->context);
    if (status != BF_OK) return status;
    const int words = s->key + s->value;
    return bf_merger_open(&s->merger, s->context, s->key, words, words);
}

static bf_status map_groups(spilled *s) {
    bf_status status = bf_grouping_check_room(s->grouping);
    if (status == BF_OK) status = bf_spool_map(&s->keys);
    if (status == BF_OK) status = bf_spool_map(&s->offsets);
    return status == BF_OK ? bf_spool_map(&s->values) : status;
}

static void close_files(spilled *s) {
    bf_merger_close(&s->merger);
    bf_spool_close(&s->keys);
    bf_spool_close(&s->offsets);
    bf_spool_close(&s->values);
    bf_spool_close(&s->results);
}

bf_status bf_select_groups_spilled(bf_grouping *g) {
    const int bytes = bf_key_bytes(g->selecting->lines.dtype);
    spilled s = {.grouping = g,
                 .selecting = g->selecting,
                 .context = g->selecting->call.context,
                 .key = bf_key_bytes(g->keys->dtype) > 8 ? 2 : 1,
                 .value = bytes > 8 ? 2 : 1,
                 .bytes = bytes,
                 .keys = {.fd = -1},
                 .offsets = {.fd = -1},
                 .values = {.fd = -1},
                 .results = {.fd = -1},
                 .merger = {.fd = -1}};
    bf_status status = open_files(&s);
    if (status == BF_OK) status = write_pieces(&s);
    if (status == BF_OK) status = write_groups(&s);
    if (status == BF_OK) status = map_groups(&s);
    bf_merger_close(&s.merger);
    if (status == BF_OK && s.selecting->selection.count > 0) status = select_batches(&s);
    if (status == BF_OK) status = return_results(&s);
    bf_free(s.begins);
    bf_free(s.batch);
    close_files(&s);
    return status;
}
