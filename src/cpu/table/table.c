/* Tables in host memory: the backend's functions. */
#include "cpu/table/table.h"

#include "cpu/runtime/sort.h"

#include <stdlib.h>

static bf_status create_table(bf_context *context, const bf_table_kind *kind, void **table) {
    bf_cpu_table *t = calloc(1, sizeof *t);
    if (t == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    bool keeps = kind->duplicates == BF_DUPLICATES_KEEP;
    bf_hash_seed seed = bf_hash_seed_of(kind->seed);
    t->kind = *kind;
    t->key_bytes = bf_key_bytes(kind->key);
    t->value_bytes = keeps ? (int)sizeof(bf_chain) : bf_key_bytes(kind->value);
    t->loops = context->cpu->isa->table_loops(t->key_bytes, t->value_bytes);
    t->pattern[0] = bf_hash_mix(seed.first);
    t->pattern[1] = bf_hash_mix(seed.second);
    bf_status status = bf_slots_create(context, t->loops, 1, seed, &t->slots);
    if (status == BF_OK && keeps) {
        t->nodes = calloc(1, sizeof *t->nodes);
        if (t->nodes == NULL) status = bf_fail(context, BF_E_MEMORY, "no memory for a table");
    }
    if (status != BF_OK) {
        bf_slots_destroy(&t->slots);
        free(t);
        return status;
    }
    *table = t;
    return BF_OK;
}

static void destroy_table(bf_context *context, void *table) {
    bf_cpu_table *t = table;
    (void)context;
    bf_slots_destroy(&t->slots);
    bf_nodes_destroy(t->nodes);
    free(t);
}

static void clear_table(bf_context *context, void *table) {
    bf_cpu_table *t = table;
    bf_table_wipe(context, t);
    if (t->nodes != NULL) t->nodes->count = t->nodes->dead = 0;
}

static bf_status reserve_entries(bf_context *context, void *table, int64_t entries) {
    return bf_table_make_room(context, table, entries);
}

static int64_t table_size(const void *table) {
    const bf_cpu_table *t = table;
    return t->nodes != NULL ? t->nodes->count - t->nodes->dead : t->keys;
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
    if (t->nodes == NULL) return bf_table_insert_entries(context, t, &entries, n);
    bf_status status = bf_nodes_prepare(context, t, values, n);
    if (status != BF_OK) return status;
    entries.values = NULL;
    entries.node = t->nodes->count;
    status = bf_table_insert_entries(context, t, &entries, n);
    if (status == BF_OK) t->nodes->count += n;
    return status;
}

/* Is it worth the while to sort keys, so that threads share the regions? One thread alone is faster
 * without. */
static bool erases_by_parts(const bf_context *context, const bf_cpu_table *t, int64_t n) {
    return bf_workers(context, n, BF_ENTRIES_LEAST) > 1 && bf_table_wants_parts(context, t, n);
}

/* Without memory to sort it is done one by one. */
static bf_status erase_keys(bf_context *context, void *table, const void *keys, int64_t n,
                            int64_t *erased) {
    bf_cpu_table *t = table;
    bf_entries queries = entries_of(t, keys, NULL);
    if (!erases_by_parts(context, t, n) ||
        bf_table_erase_parts(context, t, &queries, n, erased) != BF_OK)
        *erased = t->loops->erase(t, &queries, 0, n);
    if (t->nodes != NULL) t->nodes->dead += *erased;
    return BF_OK;
}

/* ---- all entries, by key --------------------------------------------------------------------- */

/* Keys and their chains, key by key: from `chains` to one element for each value. */
static void unroll_chains(const bf_cpu_table *t, const char *keys, const bf_chain *chains,
                          char *to_keys, char *to_values) {
    int bytes = bf_key_bytes(t->kind.value);
    size_t key_bytes = (size_t)t->key_bytes;
    for (int64_t i = 0; i < t->keys; i++) {
        for (int64_t k = 0; k < chains[i].count; k++, to_keys += key_bytes)
            memcpy(to_keys, keys + (size_t)i * key_bytes, key_bytes);
        if (to_values == NULL) continue;
        bf_nodes_values(t->nodes, chains[i], chains[i].count, bytes, to_values);
        to_values += chains[i].count * bytes;
    }
}

static bf_status list_chains(bf_context *context, const bf_cpu_table *t, char *keys, char *values) {
    size_t n = (size_t)t->keys;
    bf_chain *chains = malloc(n * (sizeof *chains + (size_t)t->key_bytes));
    if (chains == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    char *each = (char *)(chains + n);
    bf_sorting *sorting = bf_sorting_create(context, t->kind.key, t->value_bytes, t->keys);
    if (sorting != NULL) {
        bf_table_collect(context, t, each, (char *)chains);
        bf_sorting_run(context, sorting, each, (char *)chains);
        unroll_chains(t, each, chains, keys, values);
    }
    free(chains);
    return sorting != NULL ? BF_OK : BF_E_MEMORY;
}

static bf_status list_entries(bf_context *context, void *table, void *keys, void *values) {
    const bf_cpu_table *t = table;
    if (t->nodes != NULL) return list_chains(context, t, keys, values);
    int value_bytes = values != NULL ? t->value_bytes : 0;
    bf_sorting *sorting = bf_sorting_create(context, t->kind.key, value_bytes, t->keys);
    if (sorting == NULL) return BF_E_MEMORY;
    bf_table_collect(context, t, keys, values);
    bf_sorting_run(context, sorting, keys, value_bytes > 0 ? values : NULL);
    return BF_OK;
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
