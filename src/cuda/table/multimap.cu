/* Multimaps on a GPU: all entries in one array. What is entered comes to its end; the next call
 * that looks for something sorts the array by key, stably, so that a key's entries are a run, and
 * enters the keys in a table of the runs' numbers. */
#include "cuda/table/table.cuh"

#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/prefix.cuh"
#include "cuda/runtime/sort.cuh"

#include <stdlib.h>

struct bf_cuda_multimap {
    void *entries; /* with ranks for keys */
    int64_t count, room;
    bool sorted;         /* and what follows fits the entries: */
    uint64_t *starts;    /* of each run, and the end of the last */
    bf_cuda_table index; /* runs' numbers by key */
};
typedef struct bf_cuda_multimap many;

static size_t entry_bytes(const bf_cuda_table *t) { return 2 * (size_t)t->loops->word; }

static bf_status create_index(bf_context *context, const bf_cuda_table *t, uint64_t runs,
                              bf_cuda_table *index) {
    *index = *t;
    index->kind.duplicates = BF_DUPLICATES_FIRST;
    index->many = NULL;
    index->keys = 0;
    index->reseed_at = 0;
    return bf_cuda_slots_create(context, t->loops, bf_cuda_regions_for(t->loops, runs / 5 * 8 + 1),
                                bf_hash_seed_of(t->kind.seed), &index->slots);
}

bf_status bf_cuda_many_create(bf_context *context, bf_cuda_table *t) {
    t->many = (many *)calloc(1, sizeof *t->many);
    if (t->many == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    return create_index(context, t, 0, &t->many->index);
}

void bf_cuda_many_destroy(bf_context *context, bf_cuda_table *t) {
    many *m = t->many;
    if (m == NULL) return;
    bf_cuda_free(context, m->entries);
    bf_cuda_free(context, m->starts);
    bf_cuda_slots_destroy(context, &m->index.slots);
    free(m);
}

void bf_cuda_many_clear(bf_cuda_table *t) {
    t->many->count = t->many->index.keys = 0;
    t->many->sorted = false;
}

int64_t bf_cuda_many_size(const bf_cuda_table *t) { return t->many->count; }

/* --- entering --- */

bf_status bf_cuda_many_reserve(bf_context *context, bf_cuda_table *t, int64_t entries) {
    many *m = t->many;
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

bf_status bf_cuda_many_insert(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows) {
    many *m = t->many;
    int64_t wanted = m->count + rows->n, room = m->room + m->room / 2;
    if (room > (int64_t)BF_CUDA_ROWS_MOST) room = wanted;
    bf_status status = BF_OK;
    if (wanted > m->room) status = bf_cuda_many_reserve(context, t, wanted > room ? wanted : room);
    if (status != BF_OK) return status;
    cudaError_t error =
        t->loops->enter(context->cuda, &t->format, rows->keys, rows->values, rows->n,
                        (char *)m->entries + (size_t)m->count * entry_bytes(t));
    status = bf_cuda_wait(context, error, "a table");
    if (status != BF_OK) return status;
    m->count = wanted;
    m->sorted = false;
    return BF_OK;
}

/* --- sorting --- */

/* The runs of sorted entries, as entries of keys and numbers; memory that the caller gives back. */
static bf_status list_runs(bf_context *context, const bf_cuda_table *t, const void *entries,
                           uint64_t *before, int64_t *runs, uint64_t **starts, void **keys) {
    const bf_cuda_run_loops *l = t->loops->runs;
    uint32_t n = (uint32_t)t->many->count;
    cudaError_t error = l->mark(context->cuda, entries, n, before);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "runs");
    bf_status status = bf_cuda_sum_before(context, before, n, runs);
    if (status != BF_OK) return status;
    *starts = (uint64_t *)bf_cuda_alloc(context, (size_t)(*runs + 1) * sizeof **starts);
    *keys = bf_cuda_alloc(context, (size_t)*runs * entry_bytes(t));
    if (*starts == NULL || *keys == NULL) return BF_E_MEMORY;
    error = l->list(context->cuda, entries, n, before, *starts, *keys);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "runs");
}

/* Runs and index of entries that are sorted. */
static bf_status make_index(bf_context *context, bf_cuda_table *t, const void *entries) {
    many *m = t->many;
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
        status = bf_cuda_table_absorb(context, &index, &rows);
    }
    bf_cuda_free(context, keys);
    if (status != BF_OK) {
        bf_cuda_free(context, starts);
        if (made) bf_cuda_slots_destroy(context, &index.slots);
        return status;
    }
    bf_cuda_free(context, m->starts);
    bf_cuda_slots_destroy(context, &m->index.slots);
    m->starts = starts;
    m->index = index;
    return BF_OK;
}

/* Sorts what has been entered. On failure all is as it was. */
static bf_status prepare(bf_context *context, bf_cuda_table *t) {
    many *m = t->many;
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
        status = bf_cuda_sort(context, t->loops->word, memory, memory + bytes, (uint32_t)m->count,
                              t->format.key_bytes, &sorted);
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

/* The number of each key's run, ~0 where it has none; *total: how many have one. */
static bf_status look_up(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                         uint32_t **numbers, int64_t *total) {
    bf_cuda_report report = {};
    *total = 0;
    bf_status status = prepare(context, t);
    if (status == BF_OK) status = bf_cuda_report_open(context);
    if (status != BF_OK) return status;
    *numbers = (uint32_t *)bf_cuda_alloc(context, (size_t)n * sizeof **numbers);
    if (*numbers == NULL) return BF_E_MEMORY;
    cudaError_t error;
    bf_cuda_answers answers = {.numbers = *numbers};
    if (t->many->index.keys == 0)
        error =
            cudaMemsetAsync(*numbers, 0xff, (size_t)n * sizeof **numbers, context->cuda->stream);
    else
        error = t->loops->find(context->cuda, &t->many->index, keys, n, &answers,
                               bf_cuda_report_of(context));
    status = bf_cuda_report_fetch(context, error, &report);
    *total = (int64_t)report.total;
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

__global__ void gone_kernel(const uint32_t *numbers, int64_t n, uint8_t *gone) {
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n && numbers[i] != ~(uint32_t)0) gone[numbers[i]] = 1;
}

} // namespace

static unsigned blocks_of(int64_t n) { return (unsigned)((n - 1) / 256 + 1); }

bf_status bf_cuda_many_find(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                            void *values, uint8_t *found) {
    many *m = t->many;
    uint32_t *numbers = NULL;
    int64_t total;
    bf_status status = look_up(context, t, keys, n, &numbers, &total);
    if (status != BF_OK) return status;
    cudaError_t error = cudaSuccess;
    if (values != NULL && total > 0)
        error = t->loops->runs->first(context->cuda, &t->format, m->entries, m->starts, numbers, n,
                                      values);
    if (found != NULL)
        found_kernel<<<blocks_of(n), 256, 0, context->cuda->stream>>>(numbers, n, found);
    bf_cuda_free(context, numbers);
    return bf_cuda_wait(context, error, "a table");
}

/* Counts as numbers of 64 bits, with room for one more. */
static bf_status count_all(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                           uint32_t **numbers, uint64_t **counts) {
    int64_t total;
    bf_status status = look_up(context, t, keys, n, numbers, &total);
    if (status != BF_OK) return status;
    *counts = (uint64_t *)bf_cuda_alloc(context, (size_t)(n + 1) * sizeof **counts);
    if (*counts == NULL) {
        bf_cuda_free(context, *numbers);
        return BF_E_MEMORY;
    }
    counts_kernel<<<blocks_of(n), 256, 0, context->cuda->stream>>>(*numbers, n, t->many->starts,
                                                                   *counts);
    return BF_OK;
}

bf_status bf_cuda_many_count(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                             int64_t *counts, int64_t *total) {
    uint32_t *numbers = NULL;
    uint64_t *found = NULL;
    bf_status status = count_all(context, t, keys, n, &numbers, &found);
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

bf_status bf_cuda_many_find_all(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                                void *values) {
    uint32_t *numbers = NULL;
    uint64_t *before = NULL;
    int64_t total = 0;
    bf_status status = count_all(context, t, keys, n, &numbers, &before);
    if (status != BF_OK) return status;
    status = bf_cuda_sum_before(context, before, n, &total);
    cudaError_t error = cudaSuccess;
    if (status == BF_OK && total > 0)
        error = t->loops->runs->all(context->cuda, &t->format, t->many->entries, t->many->starts,
                                    numbers, before, n, total, values);
    bf_cuda_free(context, numbers);
    bf_cuda_free(context, before);
    return status == BF_OK ? bf_cuda_wait(context, error, "a table") : status;
}

/* --- taking out, listing --- */

/* Moves the entries of the runs that stay together, and makes their index. */
static bf_status keep_rest(bf_context *context, bf_cuda_table *t, const uint8_t *gone,
                           uint64_t *stays, void *kept, int64_t *erased) {
    many *m = t->many;
    bf_cuda *cuda = context->cuda;
    int64_t rest = 0, before = m->count;
    uint32_t n = (uint32_t)m->count;
    cudaError_t error =
        t->loops->runs->stay(cuda, m->starts, (uint32_t)m->index.keys, gone, n, stays);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "a table");
    bf_status status = bf_cuda_sum_before(context, stays, n, &rest);
    if (status != BF_OK || rest == before) return status;
    error = t->loops->runs->keep(cuda, m->entries, n, stays, kept);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "a table");
    m->count = rest;
    status = rest > 0 ? make_index(context, t, kept) : BF_OK;
    if (status == BF_OK) {
        error = cudaMemcpyAsync(m->entries, kept, (size_t)rest * entry_bytes(t),
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

bf_status bf_cuda_many_erase(bf_context *context, bf_cuda_table *t, const void *keys, int64_t n,
                             int64_t *erased) {
    many *m = t->many;
    uint32_t *numbers = NULL;
    int64_t total;
    *erased = 0;
    bf_status status = look_up(context, t, keys, n, &numbers, &total);
    if (status != BF_OK || total == 0) {
        if (status == BF_OK) bf_cuda_free(context, numbers);
        return status;
    }
    size_t runs = (size_t)m->index.keys, count = (size_t)m->count;
    uint8_t *gone = (uint8_t *)bf_cuda_alloc(context, runs);
    uint64_t *stays = (uint64_t *)bf_cuda_alloc(context, (count + 1) * sizeof *stays);
    void *kept = bf_cuda_alloc(context, count * entry_bytes(t));
    if (gone == NULL || stays == NULL || kept == NULL) status = BF_E_MEMORY;
    if (status == BF_OK) {
        cudaMemsetAsync(gone, 0, runs, context->cuda->stream);
        gone_kernel<<<blocks_of(n), 256, 0, context->cuda->stream>>>(numbers, n, gone);
        status = keep_rest(context, t, gone, stays, kept, erased);
    }
    bf_cuda_free(context, gone);
    bf_cuda_free(context, stays);
    bf_cuda_free(context, kept);
    bf_cuda_free(context, numbers);
    return status;
}

bf_status bf_cuda_many_list(bf_context *context, bf_cuda_table *t, void *keys, void *values) {
    bf_status status = prepare(context, t);
    if (status != BF_OK) return status;
    cudaError_t error = t->loops->show(context->cuda, &t->format, t->many->entries,
                                       (uint32_t)t->many->count, keys, values);
    return bf_cuda_wait(context, error, "a table");
}
