/* Groups on a GPU by key: lists, and words for the host and from it. */
#include "cuda/group/group.cuh"
#include "cuda/runtime/pipeline.cuh"

#include "cuda/runtime/entry.cuh"
#include "cuda/runtime/sort/radix.cuh"
#include "cuda/runtime/sort/sort.cuh"
#include "rules/reduce/state.h"

extern "C" {
#include "base/where.h"
}

namespace {

bf_status copy_and_wait(bf_context *context, void *to, const void *from, size_t bytes) {
    bf_status status = bf_cuda_copy(context, to, from, bytes);
    if (status != BF_OK) return status;
    return bf_cuda_group_check(context, cudaStreamSynchronize(context->cuda->stream));
}

/* --- order --- */

typedef bf_cuda_entry<bf_cuda_wide> pair_entry;

__device__ __forceinline__ bf_cuda_wide load_rank(const char *ranks, int bytes, int64_t i) {
    if (bytes == 4) return bf_cuda_wide{0, ((const uint32_t *)ranks)[i]};
    if (bytes == 8) return bf_cuda_wide{0, ((const uint64_t *)ranks)[i]};
    return bf_cuda_wide{((const uint64_t *)ranks)[2 * i], ((const uint64_t *)ranks)[2 * i + 1]};
}

/* Makes entries of ranks, as pairs, and numbers, to be sorted. */
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    make_entries(const char *ranks, int bytes, int64_t n, pair_entry *entries) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_GROUP_THREADS>(n)) {
        pair_entry e;
        e.key = load_rank(ranks, bytes, i);
        e.value = bf_cuda_wide{0, (uint64_t)i};
        entries[i] = e;
    }
}

__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    copy_numbers(const pair_entry *entries, int64_t n, unsigned *order) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_GROUP_THREADS>(n))
        order[i] = (unsigned)entries[i].value.lo;
}

__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    copy_counts(const int64_t *counts, const unsigned *order, int64_t n, int64_t *to) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_GROUP_THREADS>(n)) to[i] = counts[order[i]];
}

bf_status sort_pairs(bf_context *context, bf_cuda_groups *g) {
    int64_t n = g->set.size;
    unsigned blocks = bf_cuda_blocks(context->cuda, n, BF_CUDA_GROUP_THREADS);
    cudaStream_t stream = context->cuda->stream;
    pair_entry *entries = (pair_entry *)bf_cuda_group_scratch_of(
        context, g, BF_CUDA_SCRATCH_BATCHES, 2 * (size_t)n * sizeof *entries);
    if (entries == NULL) return BF_E_MEMORY;
    make_entries<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>((const char *)g->set.ranks.memory,
                                                               g->rank_bytes, n, entries);
    void *sorted = NULL;
    bf_status status = bf_cuda_sort(context, sizeof(bf_cuda_wide), entries, entries + n,
                                    (uint32_t)n, sizeof(bf_cuda_wide), &sorted);
    if (status != BF_OK) return status;
    copy_numbers<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>((const pair_entry *)sorted, n,
                                                               (unsigned *)g->order.memory);
    return bf_cuda_group_check(context, cudaGetLastError());
}

/* Ranks are less than 2^this. */
int bits_of_ranks(const bf_cuda_groups *g) {
    const int bits = bf_bit_length(g->set.rank_bits);
    return bits < 8 * g->rank_bytes ? bits : 8 * g->rank_bytes;
}

bf_status sort_words(bf_context *context, bf_cuda_groups *g) {
    bf_cuda_radix r = {};
    r.n = g->set.size;
    r.key_bytes = g->rank_bytes;
    r.bits = bits_of_ranks(g);
    r.keys = g->set.ranks.memory;
    r.value_bytes = sizeof(unsigned);
    r.moved = g->order.memory;
    return r.n > 0 ? bf_cuda_radix_sort(context, &r, NULL) : BF_OK;
}

} // namespace

bf_status bf_cuda_groups_sort(bf_context *context, bf_cuda_groups *g) {
    if (g->ordered) return BF_OK;
    bf_status status =
        bf_cuda_buffer_grow(context, &g->order, (size_t)g->set.size * sizeof(unsigned), 0);
    if (status != BF_OK) return status;
    const bool words = g->rank_bytes <= 8 && context->cuda->shared >= BF_CUDA_RADIX_SHARED;
    status = words ? sort_words(context, g) : sort_pairs(context, g);
    g->ordered = status == BF_OK;
    return status;
}

namespace {

/* --- list --- */

/* Are there only counts, which can move with their ranks in one sort? */
bool moves_counts(const bf_context *context, const bf_cuda_groups *g) {
    return g->count == 0 && !g->ordered && g->set.size > 0 && g->rank_bytes <= 8 &&
           context->cuda->shared >= BF_CUDA_RADIX_SHARED;
}

/* Returns where a kernel writes a result: there, or in scratch if that is not the GPU's memory. */
void *result_at(const bf_context *context, void *to, int align, void *scratch) {
    const bool there = to != NULL && bf_where_is(to, NULL) == BF_WHERE_DEVICE &&
                       bf_cuda_in_place(context, to, align);
    return there ? to : scratch;
}

bf_status copy_result(bf_context *context, void *to, const void *from, size_t bytes) {
    return to == NULL || to == from ? BF_OK : bf_cuda_copy(context, to, from, bytes);
}

/* Lists groups that have no aggregates. */
bf_status list_counts(bf_context *context, bf_cuda_groups *g, void *keys, void *counts) {
    const int64_t n = g->set.size;
    const int key_bytes = bf_key_bytes(g->key);
    const size_t count_bytes = (size_t)n * 8, bytes = (size_t)n * (size_t)key_bytes;
    const bool are_ranks = bf_cuda_group_are_ranks(g->key);
    char *out =
        (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_OUT, 2 * count_bytes + bytes);
    if (out == NULL) return BF_E_MEMORY;
    void *all_counts = result_at(context, counts, 8, out);
    void *all_keys = result_at(context, keys, key_bytes, out + 2 * count_bytes);
    bf_cuda_radix r = {};
    r.n = n;
    r.key_bytes = g->rank_bytes;
    r.bits = bits_of_ranks(g);
    r.keys = g->set.ranks.memory;
    r.sorted = are_ranks ? all_keys : out + count_bytes;
    r.value_bytes = counts != NULL ? 8 : 0;
    r.values = g->set.counts.memory;
    r.moved = all_counts;
    bf_status status = bf_cuda_radix_sort(context, &r, NULL);
    if (status == BF_OK && keys != NULL && !are_ranks)
        status = bf_cuda_group_check(context,
                                     bf_cuda_group_unrank(context, g, r.sorted, NULL, n, all_keys));
    if (status == BF_OK) status = copy_result(context, counts, all_counts, count_bytes);
    if (status == BF_OK) status = copy_result(context, keys, all_keys, bytes);
    return status == BF_OK
               ? bf_cuda_group_check(context, cudaStreamSynchronize(context->cuda->stream))
               : status;
}

bf_status list_groups(bf_context *context, bf_cuda_groups *g, void *keys, void *counts) {
    int64_t n = g->set.size;
    if (moves_counts(context, g)) return list_counts(context, g, keys, counts);
    size_t key_bytes = (size_t)n * (size_t)bf_key_bytes(g->key), count_bytes = (size_t)n * 8;
    cudaStream_t stream = context->cuda->stream;
    bf_status status = bf_cuda_groups_sort(context, g);
    if (status != BF_OK) return status;
    char *out =
        (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_OUT, count_bytes + key_bytes);
    if (out == NULL) return BF_E_MEMORY;
    const unsigned *order = (const unsigned *)g->order.memory;
    copy_counts<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_GROUP_THREADS), BF_CUDA_GROUP_THREADS, 0,
                  stream>>>((const int64_t *)g->set.counts.memory, order, n, (int64_t *)out);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = bf_cuda_group_unrank(context, g, g->set.ranks.memory, order, n, out + count_bytes);
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
    size_t bytes = (size_t)n * (size_t)words_of(g->wanted[which]) * sizeof *words;
    bf_status status = bf_cuda_groups_sort(context, g);
    if (status != BF_OK) return status;
    int64_t *out = (int64_t *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_OUT, bytes);
    if (out == NULL) return BF_E_MEMORY;
    cudaError_t error = bf_cuda_aggregate_words(context, &g->set.aggregates[g->of[which]],
                                                (const unsigned *)g->order.memory + first, 0,
                                                (const int64_t *)g->set.counts.memory, n, out);
    status = bf_cuda_group_check(context, error);
    return status == BF_OK ? copy_and_wait(context, words, out, bytes) : status;
}

/* --- from words --- */

/* Inserts the groups into g->fresh, which is empty. */
bf_status make_set(bf_context *context, bf_cuda_groups *g, const void *keys, const int64_t *counts,
                   const int64_t *const words[], int64_t n) {
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
    for (int c = 0; c < g->count && status == BF_OK; c++)
        status = bf_cuda_aggregate_insert(context, &set->aggregates[c], words[c], n, set->room);
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
    int of[BF_AGGREGATES_MAX], previous = bf_cuda_enter(context);
    for (int i = 0; i < g->asked; i++) of[i] = i;
    bf_status status = bf_cuda_groups_share(context, g, of);
    bf_cuda_set_empty(g, &g->fresh);
    if (status == BF_OK) status = make_set(context, g, keys, counts, words, n);
    if (status == BF_OK) {
        g->ordered = false;
        status = bf_cuda_set_merge(context, g, &g->set, &g->fresh, NULL);
    }
    if (status == BF_OK)
        status = bf_cuda_group_check(context, cudaStreamSynchronize(context->cuda->stream));
    bf_cuda_set_empty(g, &g->fresh);
    bf_cuda_leave(previous);
    return status;
}
