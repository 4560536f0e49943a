/* Multimaps on a GPU. All entries are in one array; new ones are appended. The next call that looks
 * something up sorts the array by key, stably, so that the entries of a key are a run, and makes an
 * index: a table of the numbers of runs by key. */
#include "cuda/table/table.cuh"

#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/prefix.cuh"
#include "cuda/runtime/sort/sort.cuh"

#include <stdlib.h>

struct bf_cuda_multimap {
    void *entries; /* with ranks for keys */
    int64_t count, room;
    bool sorted;         /* starts and index are those of the entries */
    uint64_t *starts;    /* where each run starts; and the end of the last */
    bf_cuda_table index; /* from a key to the number of its run */
};

static size_t entry_bytes(const bf_cuda_table *t) { return 2 * (size_t)t->launchers->word; }

static bf_status create_index(bf_context *context, const bf_cuda_table *t, uint64_t runs,
                              bf_cuda_table *index) {
    *index = *t;
    index->kind.duplicates = BF_DUPLICATES_FIRST;
    index->multimap = NULL;
    index->keys = 0;
    index->reseed_at = 0;
    return bf_cuda_buckets_create(context, t->launchers,
                                  bf_cuda_regions_for(t->launchers, runs / 5 * 8 + 1),
                                  bf_hash_seed_of(t->kind.seed), &index->buckets);
}

bf_status bf_cuda_multimap_create(bf_context *context, bf_cuda_table *t) {
    t->multimap = (bf_cuda_multimap *)calloc(1, sizeof *t->multimap);
    if (t->multimap == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    return create_index(context, t, 0, &t->multimap->index);
}

void bf_cuda_multimap_destroy(bf_context *context, bf_cuda_table *t) {
    bf_cuda_multimap *m = t->multimap;
    if (m == NULL) return;
    bf_cuda_free(context, m->entries);
    bf_cuda_free(context, m->starts);
    bf_cuda_buckets_destroy(context, &m->index.buckets);
    free(m);
}

void bf_cuda_multimap_clear(bf_cuda_table *t) {
    t->multimap->count = t->multimap->index.keys = 0;
    t->multimap->sorted = false;
}

int64_t bf_cuda_multimap_size(const bf_cuda_table *t) { return t->multimap->count; }

/* --- inserting --- */

bf_status bf_cuda_multimap_reserve(bf_context *context, bf_cuda_table *t, int64_t entries) {
    bf_cuda_multimap *m = t->multimap;
    size_t bytes;
    if (entries <= m->room) return BF_OK;
    if (entries > (int64_t)BF_CUDA_ROWS_MOST)
        return bf_fail(context, BF_E_MEMORY, "no memory for %lld values", (long long)entries);
    bytes = (size_t)entries * entry_bytes(t);
    void *made = bf_cuda_alloc(context, bytes);
    if (made == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaSuccess;
    if (m->count > 0)
        error = cudaMemcpyAsync(made, m->entries, (size_t)m->count * entry_bytes(t),
                                cudaMemcpyDeviceToDevice, context->cuda->stream);
    if (error != cudaSuccess) {
        bf_cuda_free(context, made);
        return bf_cuda_fail(context, error, "a table's entries");
    }
    bf_cuda_free(context, m->entries);
    m->entries = made;
    m->room = entries;
    return BF_OK;
}

bf_status bf_cuda_multimap_insert(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows) {
    bf_cuda_multimap *m = t->multimap;
    int64_t wanted = m->count + rows->n, room = m->room + m->room / 2;
    if (room > (int64_t)BF_CUDA_ROWS_MOST) room = wanted;
    bf_status status = BF_OK;
    if (wanted > m->room)
        status = bf_cuda_multimap_reserve(context, t, wanted > room ? wanted : room);
    if (status != BF_OK) return status;
    cudaError_t error =
        t->launchers->make_entries(context->cuda, &t->format, rows->keys, rows->values, rows->n,
                                   (char *)m->entries + (size_t)m->count * entry_bytes(t));
    status = bf_cuda_wait(context, error, "a table");
    if (status != BF_OK) return status;
    m->count = wanted;
    m->sorted = false;
    return BF_OK;
}

/* --- sorting --- */

/* Lists the runs of sorted entries: their starts, and entries of keys and numbers. The caller frees
 * both, also after a failure. */
static bf_status list_runs(bf_context *context, const bf_cuda_table *t, const void *entries,
                           uint64_t *before, int64_t *runs, uint64_t **starts, void **keys) {
    const bf_cuda_run_launchers *l = t->launchers->runs;
    uint32_t n = (uint32_t)t->multimap->count;
    cudaError_t error = l->mark_heads(context->cuda, entries, n, before);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "runs");
    bf_status status = bf_cuda_sum_before(context, before, n, runs);
    if (status != BF_OK) return status;
    *starts = (uint64_t *)bf_cuda_alloc(context, (size_t)(*runs + 1) * sizeof **starts);
    *keys = bf_cuda_alloc(context, (size_t)*runs * entry_bytes(t));
    if (*starts == NULL || *keys == NULL) return BF_E_MEMORY;
    error = l->list_runs(context->cuda, entries, n, before, *starts, *keys);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "runs");
}

/* Makes the runs and the index of sorted entries. On failure the multimap is as it was. */
static bf_status make_index(bf_context *context, bf_cuda_table *t, const void *entries) {
    bf_cuda_multimap *m = t->multimap;
    uint64_t *starts = NULL;
    void *keys = NULL;
    int64_t runs = 0;
    bf_cuda_table index = m->index;
    bool made = false;
    uint64_t *before = (uint64_t *)bf_cuda_alloc(context, (size_t)(m->count + 1) * sizeof *before);
    bf_status status = before == NULL ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK) status = list_runs(context, t, entries, before, &runs, &starts, &keys);
    bf_cuda_free(context, before);
    if (status == BF_OK) status = create_index(context, t, (uint64_t)runs, &index);
    if (status == BF_OK) {
        bf_cuda_rows rows = {NULL, NULL, keys, (uint32_t)runs};
        made = true;
        status = bf_cuda_table_insert(context, &index, &rows);
    }
    bf_cuda_free(context, keys);
    if (status != BF_OK) {
        bf_cuda_free(context, starts);
        if (made) bf_cuda_buckets_destroy(context, &index.buckets);
        return status;
    }
    bf_cuda_free(context, m->starts);
    bf_cuda_buckets_destroy(context, &m->index.buckets);
    m->starts = starts;
    m->index = index;
    return BF_OK;
}

/* Sorts the entries, if new ones were appended. On failure the multimap is as it was. */
static bf_status sort_entries(bf_context *context, bf_cuda_table *t) {
    bf_cuda_multimap *m = t->multimap;
    void *sorted = NULL;
    if (m->sorted || m->count == 0) return BF_OK;
    size_t bytes = (size_t)m->count * entry_bytes(t);
    char *memory = (char *)bf_cuda_alloc(context, 2 * bytes);
    if (memory == NULL) return BF_E_MEMORY;
    cudaError_t error =
        cudaMemcpyAsync(memory, m->entries, bytes, cudaMemcpyDeviceToDevice, context->cuda->stream);
    bf_status status =
        error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "a table's entries");
    if (status == BF_OK)
        status = bf_cuda_sort(context, t->launchers->word, memory, memory + bytes,
                              (uint32_t)m->count, t->format.key_bytes, &sorted);
    if (status == BF_OK) status = make_index(context, t, sorted);
    if (status == BF_OK) {
        error = cudaMemcpyAsync(m->entries, sorted, bytes, cudaMemcpyDeviceToDevice,
                                context->cuda->stream);
        status = bf_cuda_wait(context, error, "a table's entries");
        m->sorted = status == BF_OK;
    }
    bf_cuda_free(context, memory);
    return status;
}

/* --- looking up --- */

/* Finds the number of each key's run, ~0 if it has none; *total: how many have one. The caller
 * frees *numbers. */
static bf_status look_up_runs(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                              uint32_t **numbers, int64_t *total) {
    bf_cuda_table_notes notes = {};
    *total = 0;
    bf_status status = sort_entries(context, t);
    if (status == BF_OK) status = bf_cuda_table_clear_notes(context);
    if (status != BF_OK) return status;
    *numbers = (uint32_t *)bf_cuda_alloc(context, (size_t)n * sizeof **numbers);
    if (*numbers == NULL) return BF_E_MEMORY;
    cudaError_t error;
    bf_cuda_answers answers = {.numbers = *numbers};
    if (t->multimap->index.keys == 0)
        error =
            cudaMemsetAsync(*numbers, 0xff, (size_t)n * sizeof **numbers, context->cuda->stream);
    else
        error = t->launchers->find(context->cuda, &t->multimap->index, keys, n, &answers,
                                   bf_cuda_table_notes_of(context));
    status = bf_cuda_table_fetch_notes(context, error, &notes);
    *total = (int64_t)notes.total;
    if (status != BF_OK) bf_cuda_free(context, *numbers);
    return status;
}

namespace {

__global__ void found_kernel(const uint32_t *numbers, int64_t n, uint8_t *found) {
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) found[i] = numbers[i] != ~(uint32_t)0;
}

__global__ void counts_kernel(const uint32_t *numbers, int64_t n, const uint64_t *starts,
                              uint64_t *counts) {
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    uint32_t k = numbers[i];
    counts[i] = k == ~(uint32_t)0 ? 0 : starts[k + 1] - starts[k];
}

__global__ void mark_erased_kernel(const uint32_t *numbers, int64_t n, uint8_t *gone) {
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n && numbers[i] != ~(uint32_t)0) gone[numbers[i]] = 1;
}

} // namespace

static unsigned blocks_of(int64_t n) { return (unsigned)((n - 1) / 256 + 1); }

bf_status bf_cuda_multimap_find(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                                void *values, uint8_t *found) {
    bf_cuda_multimap *m = t->multimap;
    uint32_t *numbers = NULL;
    int64_t total;
    bf_status status = look_up_runs(context, t, keys, n, &numbers, &total);
    if (status != BF_OK) return status;
    cudaError_t error = cudaSuccess;
    if (values != NULL && total > 0)
        error = t->launchers->runs->copy_first(context->cuda, &t->format, m->entries, m->starts,
                                               numbers, n, values);
    if (found != NULL)
        found_kernel<<<blocks_of(n), 256, 0, context->cuda->stream>>>(numbers, n, found);
    bf_cuda_free(context, numbers);
    return bf_cuda_wait(context, error, "a table");
}

/* Counts the entries of each key, in memory for n + 1 counts. The caller frees *numbers and
 * *counts. */
static bf_status count_entries(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                               uint32_t **numbers, uint64_t **counts) {
    int64_t total;
    bf_status status = look_up_runs(context, t, keys, n, numbers, &total);
    if (status != BF_OK) return status;
    *counts = (uint64_t *)bf_cuda_alloc(context, (size_t)(n + 1) * sizeof **counts);
    if (*counts == NULL) {
        bf_cuda_free(context, *numbers);
        return BF_E_MEMORY;
    }
    counts_kernel<<<blocks_of(n), 256, 0, context->cuda->stream>>>(*numbers, n, t->multimap->starts,
                                                                   *counts);
    return BF_OK;
}

bf_status bf_cuda_multimap_count(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                                 int64_t *counts, int64_t *total) {
    uint32_t *numbers = NULL;
    uint64_t *found = NULL;
    bf_status status = count_entries(context, t, keys, n, &numbers, &found);
    if (status != BF_OK) return status;
    cudaError_t error = cudaSuccess;
    if (counts != NULL)
        error = cudaMemcpyAsync(counts, found, (size_t)n * sizeof *counts, cudaMemcpyDeviceToDevice,
                                context->cuda->stream);
    status = error == cudaSuccess ? bf_cuda_sum_before(context, found, n, total)
                                  : bf_cuda_fail(context, error, "counts");
    bf_cuda_free(context, numbers);
    bf_cuda_free(context, found);
    return status;
}

bf_status bf_cuda_multimap_find_all(bf_context *context, bf_cuda_table *t, const void *keys,
                                    int64_t n, void *values) {
    uint32_t *numbers = NULL;
    uint64_t *before = NULL;
    int64_t total = 0;
    bf_status status = count_entries(context, t, keys, n, &numbers, &before);
    if (status != BF_OK) return status;
    status = bf_cuda_sum_before(context, before, n, &total);
    cudaError_t error = cudaSuccess;
    if (status == BF_OK && total > 0)
        error =
            t->launchers->runs->copy_all(context->cuda, &t->format, t->multimap->entries,
                                         t->multimap->starts, numbers, before, n, total, values);
    bf_cuda_free(context, numbers);
    bf_cuda_free(context, before);
    return status == BF_OK ? bf_cuda_wait(context, error, "a table") : status;
}

/* --- erasing and listing --- */

/* Moves the entries of the remaining runs together, and makes their index. to: scratch for them. */
static bf_status keep_rest(bf_context *context, bf_cuda_table *t, const uint8_t *gone,
                           uint64_t *kept, void *to, int64_t *erased) {
    bf_cuda_multimap *m = t->multimap;
    bf_cuda *cuda = context->cuda;
    int64_t rest = 0, before = m->count;
    uint32_t n = (uint32_t)m->count;
    cudaError_t error =
        t->launchers->runs->mark_kept(cuda, m->starts, (uint32_t)m->index.keys, gone, n, kept);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "a table");
    bf_status status = bf_cuda_sum_before(context, kept, n, &rest);
    if (status != BF_OK || rest == before) return status;
    error = t->launchers->runs->copy_kept(cuda, m->entries, n, kept, to);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "a table");
    m->count = rest;
    status = rest > 0 ? make_index(context, t, to) : BF_OK;
    if (status == BF_OK) {
        error = cudaMemcpyAsync(m->entries, to, (size_t)rest * entry_bytes(t),
                                cudaMemcpyDeviceToDevice, cuda->stream);
        status = bf_cuda_wait(context, error, "a table's entries");
    }
    if (status != BF_OK) {
        m->count = before;
        return status;
    }
    if (rest == 0) m->index.keys = 0;
    *erased = before - rest;
    return BF_OK;
}

bf_status bf_cuda_multimap_erase(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                                 int64_t *erased) {
    bf_cuda_multimap *m = t->multimap;
    uint32_t *numbers = NULL;
    int64_t total;
    *erased = 0;
    bf_status status = look_up_runs(context, t, keys, n, &numbers, &total);
    if (status != BF_OK || total == 0) {
        if (status == BF_OK) bf_cuda_free(context, numbers);
        return status;
    }
    size_t runs = (size_t)m->index.keys, count = (size_t)m->count;
    uint8_t *gone = (uint8_t *)bf_cuda_alloc(context, runs);
    uint64_t *kept = (uint64_t *)bf_cuda_alloc(context, (count + 1) * sizeof *kept);
    void *copies = bf_cuda_alloc(context, count * entry_bytes(t));
    if (gone == NULL || kept == NULL || copies == NULL) status = BF_E_MEMORY;
    if (status == BF_OK) {
        cudaMemsetAsync(gone, 0, runs, context->cuda->stream);
        mark_erased_kernel<<<blocks_of(n), 256, 0, context->cuda->stream>>>(numbers, n, gone);
        status = keep_rest(context, t, gone, kept, copies, erased);
    }
    bf_cuda_free(context, gone);
    bf_cuda_free(context, kept);
    bf_cuda_free(context, copies);
    bf_cuda_free(context, numbers);
    return status;
}

bf_status bf_cuda_multimap_list(bf_context *context, bf_cuda_table *t, void *keys, void *values) {
    bf_status status = sort_entries(context, t);
    if (status != BF_OK) return status;
    cudaError_t error = t->launchers->write_arrays(context->cuda, &t->format, t->multimap->entries,
                                                   (uint32_t)t->multimap->count, keys, values);
    return bf_cuda_wait(context, error, "a table");
}
