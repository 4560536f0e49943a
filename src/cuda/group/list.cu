/* Groups on a GPU by key: lists, and words for the host and from it. */
#include "cuda/group/group.cuh"
#include "cuda/runtime/pipeline.cuh"

#include "cuda/runtime/entry.cuh"
#include "cuda/runtime/sort.cuh"
#include "rules/reduce/state.h"

#include <stdlib.h>

namespace {

enum { THREADS = BF_CUDA_GROUP_THREADS };

bf_status copy_and_wait(bf_context *context, void *to, const void *from, size_t bytes) {
    bf_status status = bf_cuda_copy(context, to, from, bytes);
    if (status != BF_OK) return status;
    return bf_cuda_group_check(context, cudaStreamSynchronize(context->cuda->stream));
}

/* --- order --- */

typedef bf_cuda_wide pair;

__device__ __forceinline__ void load_rank(const uint32_t *ranks, int64_t i, uint32_t *rank) {
    *rank = ranks[i];
}
__device__ __forceinline__ void load_rank(const uint64_t *ranks, int64_t i, uint64_t *rank) {
    *rank = ranks[i];
}
__device__ __forceinline__ void load_rank(const uint64_t *ranks, int64_t i, pair *rank) {
    *rank = pair{ranks[2 * i], ranks[2 * i + 1]};
}
__device__ __forceinline__ uint32_t number_of(uint32_t word) { return word; }
__device__ __forceinline__ uint32_t number_of(uint64_t word) { return (uint32_t)word; }
__device__ __forceinline__ uint32_t number_of(pair word) { return (uint32_t)word.lo; }
__device__ __forceinline__ void set_number(uint32_t *word, uint32_t i) { *word = i; }
__device__ __forceinline__ void set_number(uint64_t *word, uint32_t i) { *word = i; }
__device__ __forceinline__ void set_number(pair *word, uint32_t i) { *word = pair{0, i}; }

/* Makes entries of ranks and numbers, to be sorted. */
template <class W, class R>
__global__ void __launch_bounds__(THREADS)
    make_entries(const R *ranks, int64_t n, bf_cuda_entry<W> *entries) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS) {
        bf_cuda_entry<W> e;
        load_rank(ranks, i, &e.key);
        set_number(&e.value, (uint32_t)i);
        entries[i] = e;
    }
}

template <class W>
__global__ void __launch_bounds__(THREADS)
    copy_numbers(const bf_cuda_entry<W> *entries, int64_t n, unsigned *order) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        order[i] = number_of(entries[i].value);
}

__global__ void __launch_bounds__(THREADS)
    copy_counts(const int64_t *counts, const unsigned *order, int64_t n, int64_t *to) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        to[i] = counts[order[i]];
}

template <class W, class R> bf_status sort_groups(bf_context *context, bf_cuda_groups *g) {
    int64_t n = g->set.size;
    unsigned blocks = bf_cuda_group_blocks(context, n, THREADS);
    cudaStream_t stream = context->cuda->stream;
    bf_cuda_entry<W> *entries = (bf_cuda_entry<W> *)bf_cuda_group_scratch_of(
        context, g, BF_CUDA_SCRATCH_BATCHES, 2 * (size_t)n * sizeof *entries);
    if (entries == NULL) return BF_E_MEMORY;
    make_entries<W, R><<<blocks, THREADS, 0, stream>>>((const R *)g->set.ranks.memory, n, entries);
    void *sorted = NULL;
    bf_status status =
        bf_cuda_sort(context, sizeof(W), entries, entries + n, (uint32_t)n, sizeof(W), &sorted);
    if (status != BF_OK) return status;
    copy_numbers<W><<<blocks, THREADS, 0, stream>>>((const bf_cuda_entry<W> *)sorted, n,
                                                    (unsigned *)g->order.memory);
    return bf_cuda_group_check(context, cudaGetLastError());
}

} // namespace

bf_status bf_cuda_groups_sort(bf_context *context, bf_cuda_groups *g) {
    if (g->ordered) return BF_OK;
    bf_status status =
        bf_cuda_buffer_grow(context, &g->order, (size_t)g->set.size * sizeof(unsigned), 0);
    if (status != BF_OK) return status;
    switch (g->rank_bytes) {
    case 4: status = sort_groups<uint32_t, uint32_t>(context, g); break;
    case 8: status = sort_groups<uint64_t, uint64_t>(context, g); break;
    default: status = sort_groups<pair, uint64_t>(context, g); break;
    }
    g->ordered = status == BF_OK;
    return status;
}

namespace {

/* --- list --- */

bf_status list_groups(bf_context *context, bf_cuda_groups *g, void *keys, void *counts) {
    int64_t n = g->set.size;
    size_t key_bytes = (size_t)n * (size_t)bf_key_bytes(g->key), count_bytes = (size_t)n * 8;
    cudaStream_t stream = context->cuda->stream;
    bf_status status = bf_cuda_groups_sort(context, g);
    if (status != BF_OK) return status;
    char *out =
        (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_OUT, count_bytes + key_bytes);
    if (out == NULL) return BF_E_MEMORY;
    const unsigned *order = (const unsigned *)g->order.memory;
    copy_counts<<<bf_cuda_group_blocks(context, n, THREADS), THREADS, 0, stream>>>(
        (const int64_t *)g->set.counts.memory, order, n, (int64_t *)out);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = bf_cuda_group_unrank(context, g, order, n, out + count_bytes);
    status = bf_cuda_group_check(context, error);
    if (status == BF_OK && counts != NULL) status = bf_cuda_copy(context, counts, out, count_bytes);
    if (status == BF_OK && keys != NULL)
        status = bf_cuda_copy(context, keys, out + count_bytes, key_bytes);
    return status == BF_OK ? bf_cuda_group_check(context, cudaStreamSynchronize(stream)) : status;
}

/* --- words --- */

int words_of(bf_aggregate a) { return bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL); }

bf_status copy_words(bf_context *context, bf_cuda_groups *g, int which, int64_t first, int64_t n,
                     int64_t *words) {
    size_t bytes = (size_t)n * (size_t)words_of(g->aggregates[which]) * sizeof *words;
    bf_status status = bf_cuda_groups_sort(context, g);
    if (status != BF_OK) return status;
    int64_t *out = (int64_t *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_OUT, bytes);
    if (out == NULL) return BF_E_MEMORY;
    cudaError_t error = bf_cuda_aggregate_words(context, &g->set.aggregates[which],
                                                (const unsigned *)g->order.memory + first,
                                                (const int64_t *)g->set.counts.memory, n, out);
    status = bf_cuda_group_check(context, error);
    return status == BF_OK ? copy_and_wait(context, words, out, bytes) : status;
}

/* --- from words --- */

/* The words of groups, on the host. */
struct word_rows {
    const int64_t *words;
    int64_t n;
    int each;
};

/* Inserts the groups' limbs from word `at` on. The limb above the last that is not a sign extension
 * takes the carries of later merges. */
bf_status insert_band(bf_context *context, bf_cuda_band *band, const word_rows &rows, int64_t room,
                      int at) {
    int count = band->layout.limbs, first = count, end = 0;
    if (count == 0) return BF_OK;
    for (int64_t i = 0; i < rows.n; i++) {
        const int64_t *limbs = rows.words + i * rows.each + at;
        int begins = 0, ends = count;
        int64_t above = limbs[count - 1] < 0 ? 0xffffffff : 0;
        if ((int32_t)above == limbs[count - 1])
            for (ends = count - 1; ends > 0 && limbs[ends - 1] == above;) ends--;
        while (begins < count && limbs[begins] == 0) begins++;
        if (begins < first) first = begins;
        if (begins < count && ends + 1 > end) end = ends + 1;
    }
    if (end == 0) return BF_OK;
    if (end > count) end = count;
    if (end <= first) end = first + 1;
    bf_status status = bf_cuda_band_widen(context, band, 0, room, first, end);
    if (status != BF_OK) return status;
    int64_t *band_words = (int64_t *)malloc((size_t)rows.n * (size_t)band->limbs * 8);
    if (band_words == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    for (int64_t i = 0; i < rows.n; i++) {
        int64_t *to = band_words + i * band->limbs;
        memcpy(to, rows.words + i * rows.each + at + band->first, (size_t)band->limbs * 8);
        to[band->limbs - 1] = (int32_t)to[band->limbs - 1];
    }
    band->deposits = 1;
    status = copy_and_wait(context, band->words.memory, band_words,
                           (size_t)rows.n * (size_t)band->limbs * 8);
    free(band_words);
    return status;
}

/* Sets the specials of a group from its words. */
void specials_of(bf_kind kind, const int64_t *words, int64_t *specials) {
    if (kind == BF_KIND_EXTREME) {
        specials[BF_CUDA_SPECIAL_NAN] = words[BF_EXTREME_NAN];
        return;
    }
    specials[BF_CUDA_SPECIAL_NAN] = words[BF_SUM_NAN];
    specials[BF_CUDA_SPECIAL_POS_INF] = words[BF_SUM_POS_INF];
    specials[BF_CUDA_SPECIAL_NEG_INF] = words[BF_SUM_NEG_INF];
    specials[BF_CUDA_SPECIAL_NEG_ZERO] = words[BF_SUM_NEG_ZERO];
}

/* Inserts an aggregate of all groups. scratch: BF_CUDA_SPECIALS for each group. */
bf_status insert_aggregate(bf_context *context, bf_cuda_aggregate *c, const word_rows &rows,
                           int64_t room, int64_t *scratch) {
    bool any = false;
    bf_sum_shape shape = bf_sum_shape_of(c->kind, c->dtype);
    memset(scratch, 0, (size_t)rows.n * BF_CUDA_SPECIALS * sizeof *scratch);
    for (int64_t i = 0; i < rows.n; i++)
        specials_of(c->kind, rows.words + i * rows.each, scratch + i * BF_CUDA_SPECIALS);
    for (int64_t i = 0; i < rows.n * BF_CUDA_SPECIALS; i++) any = any || scratch[i] != 0;
    bf_status status = any ? bf_cuda_aggregate_hold_specials(context, c, 0, room) : BF_OK;
    if (status == BF_OK && any)
        status = copy_and_wait(context, c->specials.memory, scratch,
                               (size_t)rows.n * BF_CUDA_SPECIALS * sizeof *scratch);
    if (status != BF_OK) return status;
    if (c->kind == BF_KIND_EXTREME) {
        for (int64_t i = 0; i < rows.n; i++)
            scratch[i] = rows.words[i * rows.each + BF_EXTREME_RANK];
        return copy_and_wait(context, c->keys.memory, scratch, (size_t)rows.n * sizeof *scratch);
    }
    status = insert_band(context, &c->sum, rows, room, shape.sum_at);
    return status == BF_OK ? insert_band(context, &c->products, rows, room, shape.products_at)
                           : status;
}

/* Inserts the groups into g->fresh, which is empty. */
bf_status make_set(bf_context *context, bf_cuda_groups *g, const void *keys, const int64_t *counts,
                   const int64_t *const words[], int64_t n, int64_t *scratch) {
    bf_cuda_group_set *set = &g->fresh;
    size_t bytes = (size_t)n * (size_t)bf_key_bytes(g->key);
    bf_status status = bf_cuda_set_reserve(context, g, set, n);
    void *copies = bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_COPIES, bytes);
    if (status != BF_OK || copies == NULL) return BF_E_MEMORY;
    status = copy_and_wait(context, copies, keys, bytes);
    const void *ranks = status == BF_OK ? bf_cuda_group_ranks(context, g, copies, n) : NULL;
    if (ranks == NULL) return status != BF_OK ? status : BF_E_MEMORY;
    status = copy_and_wait(context, set->ranks.memory, ranks, (size_t)n * (size_t)g->rank_bytes);
    if (status == BF_OK) status = copy_and_wait(context, set->counts.memory, counts, (size_t)n * 8);
    for (int c = 0; c < g->count && status == BF_OK; c++) {
        word_rows rows = {words[c], n, words_of(g->aggregates[c])};
        status = insert_aggregate(context, &set->aggregates[c], rows, set->room, scratch);
    }
    if (status == BF_OK) set->size = n;
    return status;
}

} // namespace

bf_status bf_cuda_groups_list(bf_context *context, void *groups, void *keys, void *counts) {
    int previous = bf_cuda_enter(context);
    bf_status status = list_groups(context, (bf_cuda_groups *)groups, keys, counts);
    bf_cuda_leave(previous);
    return status;
}

bf_status bf_cuda_groups_words(bf_context *context, void *groups, int which, int64_t first,
                               int64_t n, int64_t *words) {
    int previous = bf_cuda_enter(context);
    bf_status status = copy_words(context, (bf_cuda_groups *)groups, which, first, n, words);
    bf_cuda_leave(previous);
    return status;
}

bf_status bf_cuda_groups_insert(bf_context *context, void *groups, const void *keys,
                                const int64_t *counts, const int64_t *const words[], int64_t n) {
    bf_cuda_groups *g = (bf_cuda_groups *)groups;
    int64_t *scratch = (int64_t *)malloc((size_t)n * BF_CUDA_SPECIALS * sizeof *scratch);
    if (scratch == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    int previous = bf_cuda_enter(context);
    bf_cuda_set_empty(g, &g->fresh);
    bf_status status = make_set(context, g, keys, counts, words, n, scratch);
    if (status == BF_OK) {
        g->ordered = false;
        status = bf_cuda_set_merge(context, g, &g->set, &g->fresh);
    }
    if (status == BF_OK)
        status = bf_cuda_group_check(context, cudaStreamSynchronize(context->cuda->stream));
    bf_cuda_set_empty(g, &g->fresh);
    bf_cuda_leave(previous);
    free(scratch);
    return status;
}
