/* Finding and counting keys: workers take pieces of the queries. */
#include "cpu/table/table.h"

enum { PIECE = 1 << 14, BLOCK = 256 };

static bf_entries queries_of(const bf_cpu_table *t, const void *keys) {
    bool is_float = bf_dtype_is_float(t->kind.key);
    return (bf_entries){.keys = keys, .key_step = (size_t)t->key_bytes, .is_raw = is_float};
}

typedef struct find_job {
    const bf_cpu_table *table;
    bf_entries queries;
    int64_t n;
    int bytes; /* the size of a value, for the caller */
    char *values;
    uint8_t *found;
    int64_t *counts;
    _Atomic int64_t total;
    int64_t *begin; /* where each piece begins, among all values */
} find_job;

static int64_t query_bytes(const find_job *job) { return job->n * job->table->key_bytes; }

static bf_status share_queries(bf_context *context, find_job *job, int64_t bytes,
                               bf_host_work *work) {
    int workers = bf_workers(context, job->n, BF_ENTRIES_LEAST);
    return bf_parallel_watched(context, workers, job->n, PIECE, bytes, work, job);
}

static bf_status find_piece(void *arg, int worker, int64_t first, int64_t n) {
    find_job *job = arg;
    char *values = job->values == NULL ? NULL : job->values + first * job->bytes;
    uint8_t *found = job->found == NULL ? NULL : job->found + first;
    (void)worker;
    job->table->loops->find(job->table, &job->queries, first, n, values, found);
    return BF_OK;
}

/* ---- blocks of queries ----------------------------------------------------------------------- */

/* The answers to a block of queries: values as buckets hold them, which of a multimap are runs. */
typedef struct block {
    int64_t first;
    int n;
    char values[BLOCK * sizeof(bf_run)];
    uint8_t found[BLOCK];
} block;

static bool keeps_duplicates(const find_job *job) {
    return job->table->kind.duplicates == BF_DUPLICATES_KEEP;
}

/* Looks queries [first, first + n) up, or as many of them as a block holds. */
static void look_up_block(const find_job *job, int64_t first, int64_t n, bool values, block *b) {
    b->first = first;
    b->n = (int)(n < BLOCK ? n : BLOCK);
    job->table->loops->find(job->table, &job->queries, first, b->n, values ? b->values : NULL,
                            b->found);
}

static bf_run run_of(const block *b, int k) {
    bf_run run = {0, 0};
    if (b->found[k]) memcpy(&run, b->values + (size_t)k * sizeof run, sizeof run);
    return run;
}

/* Returns how many entries a query has; of a multimap, the block must have its values. */
static int64_t count_of(const find_job *job, const block *b, int k) {
    return keeps_duplicates(job) ? run_of(b, k).count : b->found[k];
}

/* Copies the first `most` values of a query. Returns how many bytes. */
static int64_t copy_values(const find_job *job, const block *b, int k, int64_t most, char *to) {
    int64_t count = count_of(job, b, k);
    if (count > most) count = most;
    if (keeps_duplicates(job))
        bf_multimap_values(job->table->multimap, run_of(b, k), count, job->bytes, to);
    else
        memcpy(to, b->values + k * job->bytes, (size_t)(count * job->bytes));
    return count * job->bytes;
}

static bf_status find_first_values(void *arg, int worker, int64_t first, int64_t n) {
    find_job *job = arg;
    block b;
    (void)worker;
    for (int64_t at = 0; at < n; at += BLOCK) {
        look_up_block(job, first + at, n - at, true, &b);
        for (int k = 0; k < b.n && job->values != NULL; k++)
            copy_values(job, &b, k, 1, job->values + (b.first + k) * job->bytes);
        if (job->found != NULL) memcpy(job->found + b.first, b.found, (size_t)b.n);
    }
    return BF_OK;
}

bf_status bf_cpu_table_find(bf_context *context, void *table, const void *keys, int64_t n,
                            void *values, uint8_t *found) {
    const bf_cpu_table *t = table;
    find_job job = {.table = t,
                    .queries = queries_of(t, keys),
                    .n = n,
                    .values = values,
                    .found = found,
                    .bytes = bf_key_bytes(t->kind.value)};
    return share_queries(context, &job, query_bytes(&job),
                         keeps_duplicates(&job) ? find_first_values : find_piece);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static int64_t count_entries(const find_job *job, int64_t first, int64_t n) {
    int64_t total = 0;
    block b;
    for (int64_t at = 0; at < n; at += BLOCK) {
        look_up_block(job, first + at, n - at, keeps_duplicates(job), &b);
        for (int k = 0; k < b.n; k++) {
            int64_t count = count_of(job, &b, k);
            if (job->counts != NULL) job->counts[b.first + k] = count;
            total += count;
        }
    }
    return total;
}

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    find_job *job = arg;
    (void)worker;
    atomic_fetch_add(&job->total, count_entries(job, first, n));
    return BF_OK;
}

bf_status bf_cpu_table_count(bf_context *context, void *table, const void *keys, int64_t n,
                             int64_t *counts, int64_t *total) {
    find_job job = {.table = table, .queries = queries_of(table, keys), .n = n, .counts = counts};
    bf_status status = share_queries(context, &job, query_bytes(&job), count_piece);
    *total = atomic_load(&job.total);
    return status;
}

/* ---- all values ------------------------------------------------------------------------------ */

static bf_status measure_piece(void *arg, int worker, int64_t first, int64_t n) {
    find_job *job = arg;
    (void)worker;
    job->begin[first / PIECE] = count_entries(job, first, n);
    return BF_OK;
}

/* Copies all values of queries [first, first + n). Returns how many bytes. */
static int64_t copy_all_values(const find_job *job, int64_t first, int64_t n, char *values) {
    char *to = values;
    block b;
    for (int64_t at = 0; at < n; at += BLOCK) {
        look_up_block(job, first + at, n - at, true, &b);
        for (int k = 0; k < b.n; k++) to += copy_values(job, &b, k, INT64_MAX, to);
    }
    return to - values;
}

static bf_status copy_piece(void *arg, int worker, int64_t first, int64_t n) {
    const find_job *job = arg;
    (void)worker;
    copy_all_values(job, first, n, job->values + job->begin[first / PIECE] * job->bytes);
    return BF_OK;
}

/* Copies the values of a piece for the only worker, which takes the pieces in their order. */
static bf_status copy_next_piece(void *arg, int worker, int64_t first, int64_t n) {
    find_job *job = arg;
    (void)worker;
    job->values += copy_all_values(job, first, n, job->values);
    return BF_OK;
}

static int64_t pieces_of(const find_job *job) { return (job->n - 1) / PIECE + 1; }

/* Turns the pieces' totals into where their values begin. */
static void place_pieces(find_job *job) {
    int64_t at = 0;
    for (int64_t i = 0; i < pieces_of(job); i++) {
        int64_t count = job->begin[i];
        job->begin[i] = at;
        at += count;
    }
}

bf_status bf_cpu_table_find_all(bf_context *context, void *table, const void *keys, int64_t n,
                                void *values) {
    const bf_cpu_table *t = table;
    find_job job = {.table = t,
                    .queries = queries_of(t, keys),
                    .n = n,
                    .values = values,
                    .bytes = bf_key_bytes(t->kind.value)};
    if (bf_workers(context, n, BF_ENTRIES_LEAST) == 1)
        return share_queries(context, &job, query_bytes(&job), copy_next_piece);
    job.begin = bf_alloc((size_t)pieces_of(&job) * sizeof *job.begin);
    if (job.begin == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to find values");
    bf_status status = share_queries(context, &job, query_bytes(&job) / 4, measure_piece);
    if (status == BF_OK) {
        place_pieces(&job);
        status = share_queries(context, &job, query_bytes(&job), copy_piece);
    }
    bf_free(job.begin);
    return status;
}
