/* Tables in a GPU's memory: the backend's functions. Arrays that kernels do not reach are copied as
 * a whole. */
#include "cuda/runtime/pipeline.cuh"
#include "cuda/table/table.cuh"

#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/prefix.cuh"
#include "cuda/runtime/sort/sort.cuh"

#include <stdlib.h>

/* --- notes --- */

bf_status bf_cuda_table_clear_notes(bf_context *context) {
    return bf_cuda_check(context, bf_cuda_clear_notes(context), "a table");
}

bf_cuda_table_notes *bf_cuda_table_notes_of(const bf_context *context) {
    return (bf_cuda_table_notes *)bf_cuda_notes(context);
}

bf_status bf_cuda_table_fetch_notes(bf_context *context, cudaError_t error,
                                    bf_cuda_table_notes *to) {
    uint64_t notes[BF_CUDA_NOTES];
    bf_status status = bf_cuda_fetch_notes(context, error, notes, "a table");
    if (status == BF_OK) memcpy(to, notes, sizeof *to);
    return status;
}

/* --- create and destroy --- */

static const bf_cuda_table_launchers *launchers_of(int key_bytes, int value_bytes) {
    int bytes = key_bytes > value_bytes ? key_bytes : value_bytes;
    return bytes == 4   ? &bf_cuda_table_launchers_4
           : bytes == 8 ? &bf_cuda_table_launchers_8
                        : &bf_cuda_table_launchers_16;
}

static bf_cuda_format format_of(const bf_table_kind *kind) {
    bf_cuda_format f = {kind->key, kind->value, bf_key_bytes(kind->key), bf_key_bytes(kind->value),
                        BF_CUDA_VALUES_PLAIN};
    if (kind->duplicates == BF_DUPLICATES_LEAST) f.values = BF_CUDA_VALUES_LEAST;
    if (kind->duplicates == BF_DUPLICATES_GREATEST) f.values = BF_CUDA_VALUES_GREATEST;
    return f;
}

static void free_table(bf_context *context, bf_cuda_table *t) {
    bf_cuda_multimap_destroy(context, t);
    bf_cuda_buckets_destroy(context, &t->buckets);
    bf_cuda_release_pool(context->cuda);
    free(t);
}

static bf_status fill_table(bf_context *context, const bf_table_kind *kind, bf_cuda_table *t) {
    t->kind = *kind;
    t->format = format_of(kind);
    t->launchers = launchers_of(t->format.key_bytes, t->format.value_bytes);
    if (kind->duplicates == BF_DUPLICATES_KEEP) return bf_cuda_multimap_create(context, t);
    return bf_cuda_buckets_create(context, t->launchers, bf_cuda_regions_for(t->launchers, 0),
                                  bf_hash_seed_of(kind->seed), &t->buckets);
}

static bf_status create_table(bf_context *context, const bf_table_kind *kind, void **table) {
    bf_cuda_table *t = (bf_cuda_table *)calloc(1, sizeof *t);
    if (t == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    int previous = bf_cuda_enter(context);
    bf_cuda_hold_pool(context->cuda);
    bf_status status = fill_table(context, kind, t);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "a table");
    if (status == BF_OK)
        *table = t;
    else
        free_table(context, t);
    bf_cuda_leave(previous);
    return status;
}

static void destroy_table(bf_context *context, void *table) {
    bf_cuda_visit visit = bf_cuda_enter_idle(context);
    free_table(context, (bf_cuda_table *)table);
    bf_cuda_leave_idle(context, visit);
}

static void clear_table(bf_context *context, void *table) {
    bf_cuda_table *t = (bf_cuda_table *)table;
    (void)context;
    t->keys = 0;
    if (t->multimap != NULL) bf_cuda_multimap_clear(t);
}

static bf_status reserve_entries(bf_context *context, void *table, int64_t entries) {
    bf_cuda_table *t = (bf_cuda_table *)table;
    int previous = bf_cuda_enter(context);
    bf_status status = t->multimap != NULL ? bf_cuda_multimap_reserve(context, t, entries)
                                           : bf_cuda_table_reserve(context, t, entries);
    bf_cuda_leave(previous);
    return status;
}

static int64_t table_size(const void *table) {
    const bf_cuda_table *t = (const bf_cuda_table *)table;
    return t->multimap != NULL ? bf_cuda_multimap_size(t) : t->keys;
}

/* --- arrays of a call --- */

/* An array where kernels reach it: in place, or as a copy. */
typedef struct call_array {
    void *data, *copy, *original;
    size_t bytes;
} call_array;

enum { ARRAYS = 3 };
typedef struct table_call {
    call_array arrays[ARRAYS];
    int n;
} table_call;

/* Adds n elements at p, and sets *data to where kernels reach them; load: a copy is filled. NULL
 * stays NULL. finish_call() frees the copy. */
static bf_status add_array(bf_context *context, table_call *c, const void *p, int64_t n,
                           int element, bool load, void **data) {
    void *original = (void *)(uintptr_t)p;
    call_array *a = &c->arrays[c->n++];
    *a = {original, NULL, original, (size_t)n * (size_t)element};
    *data = a->data;
    if (p == NULL || bf_cuda_in_place(context, p, element < 8 ? element : 8)) return BF_OK;
    *data = a->data = a->copy = bf_cuda_alloc(context, a->bytes);
    if (a->copy == NULL) return BF_E_MEMORY;
    return load ? bf_cuda_copy(context, a->copy, p, a->bytes) : BF_OK;
}

/* Copies an array that was written back to the caller's memory. */
static bf_status return_array(bf_context *context, const call_array *a) {
    return a->copy != NULL ? bf_cuda_copy(context, a->original, a->copy, a->bytes) : BF_OK;
}

/* Copies the arrays from `first` on back, waits, also after a failure, and frees all copies. */
static bf_status finish_call(bf_context *context, table_call *c, int first, bf_status status) {
    for (int i = first; i < c->n && status == BF_OK; i++)
        status = return_array(context, &c->arrays[i]);
    if (status == BF_OK)
        status = bf_cuda_wait(context, cudaSuccess, "a table");
    else
        cudaStreamSynchronize(context->cuda->stream);
    for (int i = 0; i < c->n; i++) bf_cuda_free(context, c->arrays[i].copy);
    return status;
}

static bf_status check_rows(bf_context *context, int64_t n) {
    if (n <= (int64_t)BF_CUDA_ROWS_MOST) return BF_OK;
    return bf_fail(context, BF_E_MEMORY, "more than 2^32 - 4096 keys at once");
}

/* --- calls --- */

static bf_status insert_rows(bf_context *context, bf_cuda_table *t, const void *keys,
                             const void *values, int64_t n) {
    table_call c = {};
    void *k, *v = NULL;
    bf_status status = check_rows(context, n);
    if (status == BF_OK) status = add_array(context, &c, keys, n, t->format.key_bytes, true, &k);
    if (status == BF_OK)
        status = add_array(context, &c, values, n, t->format.value_bytes, true, &v);
    if (status == BF_OK) {
        bf_cuda_rows rows = {k, v, NULL, (uint32_t)n};
        status = t->multimap != NULL ? bf_cuda_multimap_insert(context, t, &rows)
                                     : bf_cuda_table_insert(context, t, &rows);
    }
    return finish_call(context, &c, c.n, status);
}

static bf_status look_up_keys(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                              const bf_cuda_answers *answers, int64_t *total) {
    bf_cuda_table_notes notes = {};
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error = cudaSuccess;
    if (t->keys == 0) {
        if (answers->found != NULL) error = cudaMemsetAsync(answers->found, 0, (size_t)n, stream);
        if (error == cudaSuccess && answers->counts != NULL)
            error = cudaMemsetAsync(answers->counts, 0, (size_t)n * 8, stream);
        if (total != NULL) *total = 0;
        return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "a table");
    }
    if (total == NULL) {
        error = t->launchers->find(context->cuda, t, keys, n, answers, NULL);
        return bf_cuda_check(context, error, "a table");
    }
    bf_status status = bf_cuda_table_clear_notes(context);
    if (status != BF_OK) return status;
    error = t->launchers->find(context->cuda, t, keys, n, answers, bf_cuda_table_notes_of(context));
    status = bf_cuda_table_fetch_notes(context, error, &notes);
    *total = (int64_t)notes.total;
    return status;
}

static bf_status find_values(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                             void *values, uint8_t *found) {
    table_call c = {};
    void *k, *v, *f;
    bf_status status = add_array(context, &c, keys, n, t->format.key_bytes, true, &k);
    if (status == BF_OK)
        status = add_array(context, &c, values, n, t->format.value_bytes, true, &v);
    if (status == BF_OK) status = add_array(context, &c, found, n, 1, false, &f);
    bf_cuda_answers answers = {};
    if (status == BF_OK) {
        answers.values = v;
        answers.found = (uint8_t *)f;
        status = t->multimap != NULL ? bf_cuda_multimap_find(context, t, k, n, v, (uint8_t *)f)
                                     : look_up_keys(context, t, k, n, &answers, NULL);
    }
    return finish_call(context, &c, 1, status);
}

static bf_status count_entries(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                               int64_t *counts, int64_t *total) {
    table_call c = {};
    void *k, *to;
    bf_status status = add_array(context, &c, keys, n, t->format.key_bytes, true, &k);
    if (status == BF_OK) status = add_array(context, &c, counts, n, 8, false, &to);
    bf_cuda_answers answers = {};
    if (status == BF_OK) {
        answers.counts = (int64_t *)to;
        status = t->multimap != NULL
                     ? bf_cuda_multimap_count(context, t, k, n, (int64_t *)to, total)
                     : look_up_keys(context, t, k, n, &answers, total);
    }
    return finish_call(context, &c, 1, status);
}

/* Copies the values of the keys that are present, one after another. It is not a multimap. */
static bf_status copy_packed_values(bf_context *context, bf_cuda_table *t, const void *keys,
                                    int64_t n, void *values) {
    int bytes = t->format.value_bytes;
    int64_t total;
    uint64_t *before = (uint64_t *)bf_cuda_alloc(context, (size_t)(n + 1) * sizeof *before);
    void *each = before != NULL ? bf_cuda_alloc(context, (size_t)n * (size_t)bytes) : NULL;
    bf_cuda_answers answers = {each, NULL, (int64_t *)before, NULL};
    bf_status status =
        each != NULL ? look_up_keys(context, t, keys, n, &answers, NULL) : BF_E_MEMORY;
    if (status == BF_OK) status = bf_cuda_sum_before(context, before, n, &total);
    if (status == BF_OK) {
        cudaError_t error = bf_cuda_pack(context->cuda, each, bytes, before, n, values);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "a table");
    }
    bf_cuda_free(context, before);
    bf_cuda_free(context, each);
    return status;
}

static bf_status copy_all_values(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                                 void *values) {
    table_call c = {};
    bf_cuda_answers nothing = {};
    void *k, *v;
    int64_t total = 0;
    bf_status status = add_array(context, &c, keys, n, t->format.key_bytes, true, &k);
    if (status == BF_OK)
        status = t->multimap != NULL ? bf_cuda_multimap_count(context, t, k, n, NULL, &total)
                                     : look_up_keys(context, t, k, n, &nothing, &total);
    if (status == BF_OK && total > 0) {
        status = add_array(context, &c, values, total, t->format.value_bytes, false, &v);
        if (status == BF_OK)
            status = t->multimap != NULL ? bf_cuda_multimap_find_all(context, t, k, n, v)
                                         : copy_packed_values(context, t, k, n, v);
    }
    return finish_call(context, &c, 1, status);
}

static bf_status erase_rows(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                            int64_t *erased) {
    bf_cuda_partitions partitions;
    bf_cuda_table_notes notes = {};
    if (t->keys == 0) return BF_OK;
    bf_status status = bf_cuda_table_clear_notes(context);
    if (status == BF_OK)
        status = t->launchers->partition(context, t, &t->buckets, rows, BF_CUDA_HOT_IGNORE,
                                         BF_CUDA_FIRST, &partitions);
    if (status != BF_OK) return status;
    cudaError_t error = t->launchers->erase(context->cuda, &t->buckets, &partitions,
                                            bf_cuda_table_notes_of(context));
    status = bf_cuda_table_fetch_notes(context, error, &notes);
    bf_cuda_free(context, partitions.memory);
    *erased = (int64_t)notes.keys;
    t->keys -= *erased;
    return status;
}

static bf_status erase_array(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                             int64_t *erased) {
    table_call c = {};
    void *k;
    *erased = 0;
    bf_status status = check_rows(context, n);
    if (status == BF_OK) status = add_array(context, &c, keys, n, t->format.key_bytes, true, &k);
    if (status == BF_OK) {
        bf_cuda_rows rows = {k, NULL, NULL, (uint32_t)n};
        status = t->multimap != NULL ? bf_cuda_multimap_erase(context, t, k, n, erased)
                                     : erase_rows(context, t, &rows, erased);
    }
    return finish_call(context, &c, c.n, status);
}

static bf_status list_sorted(bf_context *context, const bf_cuda_table *t, void *keys,
                             void *values) {
    void *entries = NULL, *sorted = NULL;
    bf_status status = bf_cuda_table_collect(context, t, &entries);
    if (status != BF_OK) return status;
    char *other = (char *)entries + (size_t)t->keys * 2 * (size_t)t->launchers->word;
    status = bf_cuda_sort(context, t->launchers->word, entries, other, (uint32_t)t->keys,
                          t->format.key_bytes, &sorted);
    if (status == BF_OK) {
        cudaError_t error = t->launchers->write_arrays(context->cuda, &t->format, sorted,
                                                       (uint32_t)t->keys, keys, values);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "a table's entries");
    }
    bf_cuda_free(context, entries);
    return status;
}

static bf_status list_arrays(bf_context *context, bf_cuda_table *t, void *keys, void *values) {
    table_call c = {};
    void *k, *v;
    int64_t n = table_size(t);
    bf_status status = add_array(context, &c, keys, n, t->format.key_bytes, false, &k);
    if (status == BF_OK)
        status = add_array(context, &c, values, n, t->format.value_bytes, false, &v);
    if (status == BF_OK)
        status = t->multimap != NULL ? bf_cuda_multimap_list(context, t, k, v)
                                     : list_sorted(context, t, k, v);
    return finish_call(context, &c, 0, status);
}

/* --- the backend's table: on the context's device --- */

static bf_status insert_entries(bf_context *context, void *table, const void *keys,
                                const void *values, int64_t n) {
    int previous = bf_cuda_enter(context);
    bf_status status = insert_rows(context, (bf_cuda_table *)table, keys, values, n);
    bf_cuda_leave(previous);
    return status;
}

static bf_status find_keys(bf_context *context, void *table, const void *keys, int64_t n,
                           void *values, uint8_t *found) {
    int previous = bf_cuda_enter(context);
    bf_status status = find_values(context, (bf_cuda_table *)table, keys, n, values, found);
    bf_cuda_leave(previous);
    return status;
}

static bf_status count_keys(bf_context *context, void *table, const void *keys, int64_t n,
                            int64_t *counts, int64_t *total) {
    int previous = bf_cuda_enter(context);
    bf_status status = count_entries(context, (bf_cuda_table *)table, keys, n, counts, total);
    bf_cuda_leave(previous);
    return status;
}

static bf_status find_all_values(bf_context *context, void *table, const void *keys, int64_t n,
                                 void *values) {
    int previous = bf_cuda_enter(context);
    bf_status status = copy_all_values(context, (bf_cuda_table *)table, keys, n, values);
    bf_cuda_leave(previous);
    return status;
}

static bf_status erase_keys(bf_context *context, void *table, const void *keys, int64_t n,
                            int64_t *erased) {
    int previous = bf_cuda_enter(context);
    bf_status status = erase_array(context, (bf_cuda_table *)table, keys, n, erased);
    bf_cuda_leave(previous);
    return status;
}

static bf_status list_entries(bf_context *context, void *table, void *keys, void *values) {
    int previous = bf_cuda_enter(context);
    bf_status status = list_arrays(context, (bf_cuda_table *)table, keys, values);
    bf_cuda_leave(previous);
    return status;
}

extern const bf_table_backend bf_cuda_table_backend = {
    .create = create_table,
    .destroy = destroy_table,
    .clear = clear_table,
    .reserve = reserve_entries,
    .size = table_size,
    .insert = insert_entries,
    .find = find_keys,
    .count = count_keys,
    .find_all = find_all_values,
    .erase = erase_keys,
    .list = list_entries,
};
