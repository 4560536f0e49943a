/* Tables in host memory: the backend's functions. */
#include "cpu/table/table.h"

#include "cpu/runtime/sort.h"

static bf_status create_table(bf_context *context, const bf_table_kind *kind, void **table) {
    bf_cpu_table *t = bf_calloc(1, sizeof *t);
    if (t == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    bool keeps = kind->duplicates == BF_DUPLICATES_KEEP;
    bf_hash_seed seed = bf_hash_seed_of(kind->seed);
    t->kind = *kind;
    t->key_bytes = bf_key_bytes(kind->key);
    t->value_bytes = keeps ? (int)sizeof(bf_run) : bf_key_bytes(kind->value);
    t->loops = context->cpu->isa->table_loops(t->key_bytes, t->value_bytes);
    t->pattern[0] = bf_hash_mix(seed.first);
    t->pattern[1] = bf_hash_mix(seed.second);
    bf_status status = bf_buckets_create(context, t->loops, 1, seed, &t->buckets);
    if (status == BF_OK && keeps) {
        t->multimap = bf_calloc(1, sizeof *t->multimap);
        if (t->multimap == NULL) status = bf_fail(context, BF_E_MEMORY, "no memory for a table");
    }
    if (status != BF_OK) {
        bf_buckets_destroy(&t->buckets);
        bf_free(t);
        return status;
    }
    *table = t;
    return BF_OK;
}

static void destroy_table(bf_context *context, void *table) {
    bf_cpu_table *t = table;
    (void)context;
    bf_buckets_destroy(&t->buckets);
    bf_multimap_destroy(t->multimap);
    bf_free(t);
}

static void clear_table(bf_context *context, void *table) {
    bf_cpu_table *t = table;
    bf_table_wipe(context, t);
    if (t->multimap != NULL) t->multimap->count = t->multimap->dead = 0;
}

static bf_status reserve_entries(bf_context *context, void *table, int64_t entries) {
    return bf_table_make_room(context, table, entries);
}

static int64_t table_size(const void *table) {
    const bf_cpu_table *t = table;
    return t->multimap != NULL ? t->multimap->count - t->multimap->dead : t->keys;
}

static bf_entries entries_of(const bf_cpu_table *t, const void *keys, const void *values) {
    return (bf_entries){.keys = keys,
                        .key_step = (size_t)t->key_bytes,
                        .values = values,
                        .value_step = (size_t)t->value_bytes,
                        .is_raw = bf_dtype_is_float(t->kind.key)};
}

static bf_status insert_entries(bf_context *context, void *table, const void *keys,
                                const void *values, int64_t n) {
    bf_cpu_table *t = table;
    bf_entries entries = entries_of(t, keys, values);
    if (t->multimap == NULL) return bf_table_insert_entries(context, t, &entries, n);
    bf_status status = bf_multimap_prepare(context, t, values, n);
    if (status != BF_OK) return status;
    entries.values = NULL;
    entries.node = t->multimap->count;
    status = bf_table_insert_entries(context, t, &entries, n);
    if (status == BF_OK) t->multimap->count += n;
    return status;
}

/* Sorting keys by partition pays only if threads share the partitions. */
static bool erases_by_partitions(const bf_context *context, const bf_cpu_table *t, int64_t n) {
    return bf_workers(context, n, BF_ENTRIES_LEAST) > 1 && bf_table_wants_partitions(context, t, n);
}

/* Erases one by one where there is no memory to sort. What is erased cannot be put back, so the
 * watch is not asked then. */
static bf_status erase_keys(bf_context *context, void *table, const void *keys, int64_t n,
                            int64_t *erased) {
    bf_cpu_table *t = table;
    bf_entries queries = entries_of(t, keys, NULL);
    bf_status status = BF_E_MEMORY;
    if (erases_by_partitions(context, t, n))
        status = bf_table_erase_partitions(context, t, &queries, n, erased);
    if (status == BF_E_CANCELLED) return status;
    if (status != BF_OK) *erased = t->loops->erase(t, &queries, 0, n);
    if (t->multimap != NULL) t->multimap->dead += *erased;
    return BF_OK;
}

/* ---- all entries, by key --------------------------------------------------------------------- */

/* Copies all keys by key, with the values as buckets hold them (NULL: keys alone). */
static bf_status collect_sorted(bf_context *context, const bf_cpu_table *t, char *keys,
                                char *values) {
    int value_bytes = values != NULL ? t->value_bytes : 0;
    bf_sorting *sorting = bf_sorting_create(context, t->kind.key, value_bytes, t->keys);
    if (sorting == NULL) return BF_E_MEMORY;
    bf_status status = bf_table_collect(context, t, keys, values);
    if (status == BF_OK) status = bf_sorting_run(context, sorting, keys, values);
    bf_sorting_destroy(sorting);
    return status;
}

/* Writes each key once for every value of its run, and the values. */
static void unroll_runs(const bf_cpu_table *t, const char *keys, const bf_run *runs, char *to_keys,
                        char *to_values) {
    int bytes = bf_key_bytes(t->kind.value);
    size_t key_bytes = (size_t)t->key_bytes;
    for (int64_t i = 0; i < t->keys; i++) {
        for (int64_t k = 0; k < runs[i].count; k++, to_keys += key_bytes)
            memcpy(to_keys, keys + (size_t)i * key_bytes, key_bytes);
        if (to_values == NULL) continue;
        bf_multimap_values(t->multimap, runs[i], runs[i].count, bytes, to_values);
        to_values += runs[i].count * bytes;
    }
}

static bf_status list_runs(bf_context *context, const bf_cpu_table *t, char *keys, char *values) {
    size_t n = (size_t)t->keys;
    bf_run *runs = bf_alloc(n * (sizeof *runs + (size_t)t->key_bytes));
    if (runs == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    char *each = (char *)(runs + n);
    bf_status status = collect_sorted(context, t, each, (char *)runs);
    if (status == BF_OK) unroll_runs(t, each, runs, keys, values);
    bf_free(runs);
    return status;
}

static bf_status list_entries(bf_context *context, void *table, void *keys, void *values) {
    const bf_cpu_table *t = table;
    return t->multimap != NULL
               ? list_runs(context, t, keys, values)
               : collect_sorted(context, t, keys, t->value_bytes > 0 ? values : NULL);
}

const bf_table_backend bf_cpu_tables = {
    .create = create_table,
    .destroy = destroy_table,
    .clear = clear_table,
    .reserve = reserve_entries,
    .size = table_size,
    .insert = insert_entries,
    .find = bf_cpu_table_find,
    .count = bf_cpu_table_count,
    .find_all = bf_cpu_table_find_all,
    .erase = erase_keys,
    .list = list_entries,
};
