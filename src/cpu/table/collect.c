/* All entries of a table, copied out region by region. */
#include "cpu/table/table.h"

typedef struct collect_job {
    const bf_cpu_table *table;
    char *keys, *values;
    const int64_t *begin; /* where each region's entries begin */
} collect_job;

static void collect_region(const collect_job *job, int64_t region, int64_t at) {
    const bf_cpu_table *t = job->table;
    char *values = job->values == NULL ? NULL : job->values + at * t->value_bytes;
    t->loops->collect(t, (uint64_t)region, job->keys + at * t->key_bytes, values);
}

static bf_status collect_regions(void *arg, int worker, int64_t first, int64_t n) {
    const collect_job *job = arg;
    (void)worker;
    for (int64_t r = first; r < first + n; r++) collect_region(job, r, job->begin[r]);
    return BF_OK;
}

bf_status bf_table_collect(bf_context *context, const bf_cpu_table *table, char *keys,
                           char *values) {
    bf_status status = BF_OK;
    int64_t at = 0, regions = (int64_t)bf_buckets_regions(&table->buckets);
    int64_t *begin = bf_alloc((size_t)regions * sizeof *begin);
    collect_job job = {.table = table, .keys = keys, .values = values, .begin = begin};
    for (int64_t r = 0; r < regions; r++) {
        if (begin != NULL)
            begin[r] = at;
        else
            collect_region(&job, r, at); /* workers would need to know where */
        at += table->buckets.regions[r].used;
    }
    if (begin != NULL)
        status = bf_parallel_watched(context, bf_workers(context, at, BF_ENTRIES_LEAST), regions, 1,
                                     0, collect_regions, &job);
    bf_free(begin);
    if (!table->has_aside) return status;
    memcpy(keys + at * table->key_bytes, table->pattern, (size_t)table->key_bytes);
    if (values != NULL)
        memcpy(values + at * table->value_bytes, table->aside, (size_t)table->value_bytes);
    return status;
}
