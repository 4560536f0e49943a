/* Looking keys up: threads take pieces of the queries. */
#include "table.h"

enum { PIECE = 1 << 14, BLOCK = 256 };

static bf_entries queries_of(const bf_cpu_table *t, const void *keys) {
    bool is_float = bf_dtype_is_float(t->kind.key);
    return (bf_entries){.keys = keys, .key_step = (size_t)t->key_bytes, .is_raw = is_float};
}

/* One call, shared out by pieces. */
typedef struct find_job {
    const bf_cpu_table *table;
    bf_entries queries;
    int64_t n;
    int bytes; /* of a value, for the caller */
    char *values;
    uint8_t *found;
    int64_t *counts;
    _Atomic int64_t total;
} find_job;

static int64_t piece_size(const find_job *job, int64_t i) {
    return job->n - i * PIECE < PIECE ? job->n - i * PIECE : PIECE;
}

static void share(bf_context *context, find_job *job, void (*work)(void *arg, int64_t i)) {
    bf_table_share(context, bf_table_threads(context, job->n), (job->n - 1) / PIECE + 1, work, job);
}

static void find_piece(void *arg, int64_t i) {
    find_job *job = arg;
    char *values = job->values == NULL ? NULL : job->values + i * PIECE * job->bytes;
    uint8_t *found = job->found == NULL ? NULL : job->found + i * PIECE;
    job->table->loops->find(job->table, &job->queries, i * PIECE, piece_size(job, i), values,
                            found);
}

/* ---- multimaps ------------------------------------------------------------------------------- */

/* A block of queries, each with its chain; of none where its key is not there. */
typedef struct block {
    int64_t first;
    int n;
    bf_chain chains[BLOCK];
    uint8_t found[BLOCK];
} block;

static void look_up(const find_job *job, int64_t first, int64_t n, block *b) {
    b->first = first;
    b->n = (int)(n < BLOCK ? n : BLOCK);
    memset(b->chains, 0, sizeof b->chains);
    job->table->loops->find(job->table, &job->queries, first, b->n, (char *)b->chains, b->found);
}

static void first_values_of_piece(void *arg, int64_t i) {
    find_job *job = arg;
    block b;
    for (int64_t at = 0, n = piece_size(job, i); at < n; at += BLOCK) {
        look_up(job, i * PIECE + at, n - at, &b);
        for (int k = 0; k < b.n; k++)
            if (b.found[k] && job->values != NULL)
                bf_nodes_values(job->table->nodes, b.chains[k], 1, job->bytes,
                                job->values + (b.first + k) * job->bytes);
        if (job->found != NULL) memcpy(job->found + b.first, b.found, (size_t)b.n);
    }
}

bf_status bf_cpu_table_find(bf_context *context, void *table, const void *keys, int64_t n,
                            void *values, uint8_t *found) {
    const bf_cpu_table *t = table;
    bool keeps = t->kind.duplicates == BF_DUPLICATES_KEEP;
    find_job job = {.table = t,
                    .queries = queries_of(t, keys),
                    .n = n,
                    .values = values,
                    .found = found,
                    .bytes = bf_table_bytes(t->kind.value)};
    share(context, &job, keeps ? first_values_of_piece : find_piece);
    return BF_OK;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void count_piece(void *arg, int64_t i) {
    find_job *job = arg;
    bool keeps = job->table->kind.duplicates == BF_DUPLICATES_KEEP;
    int64_t total = 0;
    block b;
    for (int64_t at = 0, n = piece_size(job, i); at < n; at += BLOCK) {
        if (keeps)
            look_up(job, i * PIECE + at, n - at, &b);
        else {
            b.first = i * PIECE + at;
            b.n = (int)(n - at < BLOCK ? n - at : BLOCK);
            job->table->loops->find(job->table, &job->queries, b.first, b.n, NULL, b.found);
        }
        for (int k = 0; k < b.n; k++) {
            int64_t count = keeps ? b.chains[k].count : b.found[k];
            if (job->counts != NULL) job->counts[b.first + k] = count;
            total += count;
        }
    }
    atomic_fetch_add(&job->total, total);
}

bf_status bf_cpu_table_count(bf_context *context, void *table, const void *keys, int64_t n,
                             int64_t *counts, int64_t *total) {
    find_job job = {.table = table, .queries = queries_of(table, keys), .n = n, .counts = counts};
    share(context, &job, count_piece);
    *total = atomic_load(&job.total);
    return BF_OK;
}

bf_status bf_cpu_table_find_all(bf_context *context, void *table, const void *keys, int64_t n,
                                void *values) {
    const bf_cpu_table *t = table;
    int bytes = bf_table_bytes(t->kind.value);
    char *to = values;
    find_job job = {.table = t, .queries = queries_of(t, keys)};
    block b;
    (void)context;
    if (t->kind.duplicates != BF_DUPLICATES_KEEP) {
        for (int64_t i = 0; i < n; i++)
            to += bytes * t->loops->find(t, &job.queries, i, 1, to, NULL);
        return BF_OK;
    }
    for (int64_t first = 0; first < n; first += BLOCK) {
        look_up(&job, first, n - first, &b);
        for (int k = 0; k < b.n; k++) {
            bf_nodes_values(t->nodes, b.chains[k], b.chains[k].count, bytes, to);
            to += b.chains[k].count * bytes;
        }
    }
    return BF_OK;
}
