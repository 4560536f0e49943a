/* Bulk insertion and erasure: entries are sorted by partition, a stretch of regions, so that each
 * partition is in the cache while one thread works on it. The sort is stable: entries of one key
 * keep their order. For an empty table they are sorted into its own buckets, because fresh memory
 * is slow. */
#include "cpu/table/table.h"

enum {
    PARTITION_BYTES = 1 << 19, /* a partition has so many bytes of buckets: a core's cache holds
                                  them beside the entries */
    PARTITIONS_MOST = 512,     /* each has a line in the nearest cache while entries are sorted */
    PIECE_MOST = 1 << 22,      /* entries of a piece, if the watch is asked after each */
    CACHE_BYTES = 1 << 22      /* a smaller table stays in a core's cache: order does not matter */
};

bool bf_table_wants_partitions(const bf_context *context, const bf_cpu_table *table, int64_t n) {
    const bf_buckets *s = &table->buckets;
    if (n < BF_TABLE_MANY) return false;
    return bf_buckets_bytes(s, table->loops) > CACHE_BYTES ||
           (bf_workers(context, n, BF_ENTRIES_LEAST) > 1 && bf_buckets_regions(s) > 1);
}

/* Entries cut into pieces, which workers count and sort one by one. */
typedef struct pieces {
    const bf_entries *entries;
    int64_t n, count;
} pieces;

static pieces pieces_of(const bf_context *context, const bf_entries *e, int64_t n) {
    pieces s = {.entries = e, .n = n, .count = bf_workers(context, n, BF_ENTRIES_LEAST)};
    if (s.count > 1) s.count *= 2;
    int64_t most = bf_is_watched(context) ? PIECE_MOST : INT32_MAX; /* counts have 32 bits */
    while (n / s.count >= most) s.count *= 2;
    return s;
}

static int workers_of(const bf_context *context, const pieces *s) {
    return bf_workers(context, s->n, BF_ENTRIES_LEAST);
}

static int64_t piece_begin(const pieces *s, int64_t i) {
    return s->n / s->count * i + s->n % s->count * i / s->count;
}

/* ---- counting -------------------------------------------------------------------------------- */

typedef struct count_job {
    const bf_cpu_table *table;
    pieces pieces;
    bool fresh; /* only entries whose keys the table does not have */
    int shift;
    int64_t groups;
    uint32_t *counts; /* the entries of each group of buckets, in each piece */
} count_job;

static bf_status count_piece(void *arg, int worker, int64_t i, int64_t n) {
    count_job *job = arg;
    (void)worker, (void)n;
    int64_t first = piece_begin(&job->pieces, i), end = piece_begin(&job->pieces, i + 1);
    const bf_table_loops *loops = job->table->loops;
    (job->fresh ? loops->count_new : loops->count)(job->table, job->pieces.entries, first,
                                                   end - first, job->shift,
                                                   job->counts + i * job->groups);
    return BF_OK;
}

/* Counts the entries of each group of 2^shift buckets, and tells the watch so many bytes. The
 * caller has set job->table and its pieces, and frees job->counts, also after a failure. */
static bf_status count_groups(bf_context *context, count_job *job, int shift, int64_t bytes) {
    job->shift = shift;
    job->groups = (int64_t)((job->table->buckets.count - 1) >> shift) + 1;
    job->counts = bf_calloc((size_t)(job->groups * job->pieces.count), sizeof *job->counts);
    if (job->counts == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to insert");
    return bf_parallel_watched(context, workers_of(context, &job->pieces), job->pieces.count, 1,
                               bytes, count_piece, job);
}

bf_status bf_table_has_room(bf_context *context, const bf_cpu_table *table,
                            const bf_entries *entries, int64_t n, bool fresh, bool *room,
                            int64_t *count) {
    count_job job = {.table = table, .pieces = pieces_of(context, entries, n), .fresh = fresh};
    bf_status status = count_groups(context, &job, table->buckets.shift, 0);
    *room = status == BF_OK;
    *count = 0;
    for (int64_t r = 0; r < job.groups && status == BF_OK; r++) {
        int64_t more = 0;
        for (int64_t i = 0; i < job.pieces.count; i++) more += job.counts[i * job.groups + r];
        if (table->buckets.regions[r].used + more > table->buckets.limit) *room = false;
        *count += more;
    }
    bf_free(job.counts);
    return status;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Entries as rows of a key and a value, sorted by partition. */
typedef struct partitions {
    bf_cpu_table *table;
    pieces pieces;
    bf_entries rows;
    int shift; /* a partition is 2^shift buckets */
    int64_t count;
    int64_t *at;          /* where each piece's rows of each partition go */
    int64_t *begin, *end; /* where each partition's rows are */
    int64_t *done;        /* rows that have been inserted */
    char *memory;         /* where the rows are */
    bool in_place;        /* the rows of a partition lie in its own buckets */
    bool asks;            /* the watch, while rows are inserted */
    atomic_bool full;     /* a region has no room for all of its rows */
    _Atomic int64_t erased;
} partitions;

static int partition_shift(const bf_cpu_table *t) {
    int shift = t->buckets.shift;
    while ((uint64_t)t->loops->bucket_bytes << (shift + 1) <= PARTITION_BYTES) shift++;
    while (t->buckets.count >> shift >= PARTITIONS_MOST) shift++;
    return shift;
}

static bf_status scatter_piece(void *arg, int worker, int64_t i, int64_t n) {
    partitions *p = arg;
    (void)worker, (void)n;
    int64_t first = piece_begin(&p->pieces, i), end = piece_begin(&p->pieces, i + 1);
    p->table->loops->scatter(p->table, p->pieces.entries, first, end - first, p->shift,
                             p->at + i * p->count, p->memory);
    return BF_OK;
}

/* The rows at memory: a key and a value each. */
static bf_entries rows_at(const bf_cpu_table *t, const char *memory) {
    size_t row = bf_table_row_bytes(t);
    return (bf_entries){
        .keys = memory, .key_step = row, .values = memory + t->key_bytes, .value_step = row};
}

/* Returns the bytes of all entries, which the watch is told. */
static int64_t work_bytes(const partitions *p) {
    return p->pieces.n * (int64_t)bf_table_row_bytes(p->table);
}

static bool allocate_partitions(partitions *p) {
    p->at = bf_calloc((size_t)(p->count * p->pieces.count), sizeof *p->at);
    p->begin = bf_calloc((size_t)p->count, sizeof *p->begin);
    p->end = bf_calloc((size_t)p->count, sizeof *p->end);
    p->done = bf_calloc((size_t)p->count, sizeof *p->done);
    if (p->in_place)
        p->memory = p->table->buckets.first;
    else
        p->memory = bf_zeros((size_t)p->pieces.n * bf_table_row_bytes(p->table));
    if (p->memory == NULL) return false;
    p->rows = rows_at(p->table, p->memory);
    return p->at != NULL && p->begin != NULL && p->end != NULL && p->done != NULL;
}

static void free_partitions(partitions *p) {
    bf_free(p->at);
    bf_free(p->begin);
    bf_free(p->end);
    bf_free(p->done);
    if (!p->in_place) bf_free(p->memory);
}

/* Returns where a partition's buckets begin, in bytes. */
static size_t partition_begin(const partitions *p, int64_t g) {
    const bf_buckets *s = &p->table->buckets;
    uint64_t bucket = (uint64_t)g << p->shift;
    return (bucket < s->count ? bucket : s->count) * (size_t)p->table->loops->bucket_bytes;
}

/* Places the pieces' rows: within a partition piece after piece, which keeps their order. false:
 * they have no room in place. */
static bool place_pieces(partitions *p, const uint32_t *counts) {
    size_t row = bf_table_row_bytes(p->table);
    int64_t at = 0;
    for (int64_t g = 0; g < p->count; g++) {
        if (p->in_place) at = (int64_t)((partition_begin(p, g) + row - 1) / row);
        p->begin[g] = at;
        for (int64_t i = 0; i < p->pieces.count; i++) {
            p->at[i * p->count + g] = at;
            at += counts[i * p->count + g];
        }
        p->end[g] = at;
        if (p->in_place && (size_t)at * row > partition_begin(p, g + 1)) return false;
    }
    return true;
}

/* Sorts the entries of p, whose table, pieces and in_place are set; the caller frees it. *room
 * false: nothing was sorted, for the rows have no room in place. Errors: BF_E_MEMORY;
 * BF_E_CANCELLED, and then some rows may lie in place. */
static bf_status sort_into_partitions(bf_context *context, partitions *p, bool *room) {
    count_job job = {.table = p->table, .pieces = p->pieces};
    int64_t bytes = work_bytes(p);
    p->shift = partition_shift(p->table);
    bf_status status = count_groups(context, &job, p->shift, bytes / 8);
    p->count = job.groups;
    if (status == BF_OK && !allocate_partitions(p))
        status = bf_fail(context, BF_E_MEMORY, "no memory to insert");
    *room = status == BF_OK && place_pieces(p, job.counts);
    if (*room)
        status = bf_parallel_watched(context, workers_of(context, &p->pieces), p->pieces.count, 1,
                                     bytes / 4, scatter_piece, p);
    bf_free(job.counts);
    return status;
}

/* ---- inserting ------------------------------------------------------------------------------- */

/* Returns true if a region is full, and rows of the partition are left. */
static bool insert_partition(partitions *p, int64_t g) {
    int64_t first = p->begin[g] + p->done[g], n = p->end[g] - first;
    if (n > 0) p->done[g] += p->table->loops->insert(p->table, &p->rows, first, n);
    return p->begin[g] + p->done[g] < p->end[g];
}

/* A full partition does not stop the others. */
static bf_status insert_each(void *arg, int worker, int64_t first, int64_t n) {
    partitions *p = arg;
    (void)worker;
    for (int64_t g = first; g < first + n; g++)
        if (insert_partition(p, g)) atomic_store_explicit(&p->full, true, memory_order_relaxed);
    return BF_OK;
}

static bf_status share_partitions(bf_context *context, partitions *p, bf_host_work *work) {
    int workers = workers_of(context, &p->pieces);
    if (!p->asks) return bf_parallel(context, workers, p->count, 1, work, p);
    return bf_parallel_watched(context, workers, p->count, 1, work_bytes(p) / 2, work, p);
}

/* Inserts what is left one partition after another: its rows may now belong to any buckets. Only an
 * insertion that may ask comes here, for no region becomes full where there is room for all. */
static bf_status insert_rest(bf_context *context, partitions *p) {
    bf_status status = BF_OK;
    for (int64_t g = 0; g < p->count && status == BF_OK; g++) {
        while (insert_partition(p, g) && status == BF_OK) status = bf_table_grow(context, p->table);
        if (status == BF_OK) status = bf_watch_tick(context, 0);
    }
    return status;
}

static bf_status insert_partitions(bf_context *context, partitions *p) {
    bf_cpu_table *t = p->table;
    for (;;) {
        bf_buckets before = t->buckets;
        atomic_store(&p->full, false);
        bf_status status = share_partitions(context, p, insert_each);
        if (status != BF_OK || !atomic_load(&p->full)) return status;
        status = bf_table_grow(context, t);
        if (status != BF_OK) return status;
        if (t->buckets.count != 2 * before.count || t->buckets.seed.first != before.seed.first)
            return insert_rest(context, p);
        p->shift++;
    }
}

static bf_status insert_sorted(bf_context *context, bf_cpu_table *table, const bf_entries *entries,
                               int64_t n, bool asks) {
    partitions p = {.table = table, .pieces = pieces_of(context, entries, n), .asks = asks};
    bool room;
    bf_status status = sort_into_partitions(context, &p, &room);
    if (status == BF_OK) status = insert_partitions(context, &p);
    free_partitions(&p);
    return status;
}

/* ---- building: entries into an empty table --------------------------------------------------- */

typedef struct building {
    const partitions *partitions;
    char *buffers; /* one for each worker, for the rows of a partition */
    size_t bytes;
} building;

/* BF_E_MEMORY: a region is full. */
static bf_status build_partition(void *arg, int worker, int64_t g, int64_t n) {
    const building *b = arg;
    const partitions *p = b->partitions;
    char *buffer = b->buffers + (size_t)worker * b->bytes;
    size_t row = bf_table_row_bytes(p->table), bytes = (size_t)(p->end[g] - p->begin[g]) * row;
    char *from = p->memory + (size_t)p->begin[g] * row;
    bf_entries rows = rows_at(p->table, buffer);
    n = p->end[g] - p->begin[g]; /* partitions come one by one */
    if (n == 0) return BF_OK;
    memcpy(buffer, from, bytes);
    memset(from, 0, bytes);
    return p->table->loops->insert(p->table, &rows, 0, n) == n ? BF_OK : BF_E_MEMORY;
}

/* Inserts rows that lie in the table's buckets. *built: no region became full. */
static bf_status build_table(bf_context *context, const partitions *p, bool *built) {
    int workers = workers_of(context, &p->pieces);
    building b = {.partitions = p};
    for (int64_t g = 0; g < p->count; g++) {
        size_t bytes = (size_t)(p->end[g] - p->begin[g]) * bf_table_row_bytes(p->table);
        if (bytes > b.bytes) b.bytes = bytes;
    }
    workers = bf_workers_within(workers, b.bytes);
    b.buffers = bf_zeros((size_t)workers * b.bytes);
    if (b.buffers == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to insert");
    bf_status status =
        bf_parallel_watched(context, workers, p->count, 1, work_bytes(p) / 2, build_partition, &b);
    bf_free(b.buffers);
    *built = status == BF_OK;
    return status == BF_E_MEMORY ? BF_OK : status;
}

/* *built false: a region became full, or the call fails, and the table is as empty as before. */
static bf_status insert_in_place(bf_context *context, bf_cpu_table *table,
                                 const bf_entries *entries, int64_t n, bool *built) {
    partitions p = {.table = table, .pieces = pieces_of(context, entries, n), .in_place = true};
    bool sorted;
    *built = false;
    bf_status status = sort_into_partitions(context, &p, &sorted);
    if (status == BF_OK && sorted) status = build_table(context, &p, built);
    if (sorted && !*built) bf_table_wipe(context, table);
    free_partitions(&p);
    return status;
}

/* A multimap's nodes are linked when they are inserted, so there is no second try. */
static bool builds_in_place(const bf_cpu_table *t, int64_t n) {
    return t->keys == 0 && t->multimap == NULL &&
           (size_t)n * bf_table_row_bytes(t) <= bf_buckets_bytes(&t->buckets, t->loops);
}

bf_status bf_table_insert_partitions(bf_context *context, bf_cpu_table *table,
                                     const bf_entries *entries, int64_t n, bool asks) {
    bool built = false;
    bf_status status = BF_OK;
    if (builds_in_place(table, n)) status = insert_in_place(context, table, entries, n, &built);
    if (status == BF_OK && !built) status = insert_sorted(context, table, entries, n, asks);
    bf_table_see_fullest(table);
    return status;
}

/* ---- erasing --------------------------------------------------------------------------------- */

static bf_status erase_partitions(void *arg, int worker, int64_t first, int64_t n) {
    partitions *p = arg;
    (void)worker;
    for (int64_t g = first; g < first + n; g++) {
        int64_t begin = p->begin[g], rows = p->end[g] - begin;
        if (rows == 0) continue;
        atomic_fetch_add(&p->erased, p->table->loops->erase(p->table, &p->rows, begin, rows));
    }
    return BF_OK;
}

bf_status bf_table_erase_partitions(bf_context *context, bf_cpu_table *table,
                                    const bf_entries *keys, int64_t n, int64_t *erased) {
    partitions p = {.table = table, .pieces = pieces_of(context, keys, n)};
    bool room;
    bf_status status = sort_into_partitions(context, &p, &room);
    if (status == BF_OK)
        (void)bf_parallel(context, workers_of(context, &p.pieces), p.count, 1, erase_partitions,
                          &p);
    *erased = atomic_load(&p.erased);
    free_partitions(&p);
    return status;
}
