/* Keys of groups as ranks, and back; counts of rows. */
#include "cuda/group/group.cuh"
#include "cuda/runtime/element.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

/* R: the type of ranks. */
template <class R>
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    make_ranks(bf_dtype dtype, int bytes, const char *keys, int64_t n, R *ranks) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_GROUP_THREADS>(n))
        ranks[i] = (R)bf_group_rank(dtype, bf_cuda_element::load_bits(keys, bytes, i));
}

template <class R>
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    make_keys(bf_dtype dtype, int bytes, const R *ranks, const unsigned *order, int64_t n,
              char *keys) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_GROUP_THREADS>(n))
        bf_store_bits(keys + i * bytes, bytes,
                      bf_group_of_rank(dtype, ranks[order == NULL ? i : order[i]]));
}

__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    make_pairs(const uint64_t *ranks, const unsigned *order, int64_t n, uint64_t *keys) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_GROUP_THREADS>(2 * n))
        keys[i] = ranks[2 * (int64_t)order[i / 2] + i % 2];
}

/* Counts rows. Lanes of one group add up first, so that a frequent group is no bottleneck. */
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    count_rows(const unsigned *numbers, int64_t n, int64_t *counts) {
    int64_t stride = (int64_t)gridDim.x * BF_CUDA_GROUP_THREADS, rounds = (n + stride - 1) / stride;
    int64_t i = blockIdx.x * (int64_t)BF_CUDA_GROUP_THREADS + threadIdx.x;
    for (int64_t r = 0; r < rounds; r++, i += stride) {
        unsigned taking = __ballot_sync(0xffffffffu, i < n);
        if (i >= n) continue;
        unsigned number = numbers[i], alike = __match_any_sync(taking, number);
        if ((int)threadIdx.x % BF_CUDA_WARP == __ffs((int)alike) - 1)
            atomicAdd((unsigned long long *)counts + number, (unsigned long long)__popc(alike));
    }
}

} // namespace

bool bf_cuda_group_are_ranks(bf_dtype key) {
    return key == BF_U32 || key == BF_U64 || key == BF_PAIR;
}

const void *bf_cuda_group_ranks(bf_context *context, bf_cuda_groups *g, const void *keys,
                                int64_t n) {
    int bytes = bf_key_bytes(g->key);
    unsigned blocks = bf_cuda_blocks(context->cuda, n, BF_CUDA_GROUP_THREADS);
    cudaStream_t stream = context->cuda->stream;
    if (bf_cuda_group_are_ranks(g->key)) return keys;
    void *ranks = bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_RANKS,
                                           (size_t)n * (size_t)g->rank_bytes);
    if (ranks == NULL) return NULL;
    if (g->rank_bytes == 4)
        make_ranks<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(g->key, bytes, (const char *)keys,
                                                                 n, (uint32_t *)ranks);
    else
        make_ranks<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(g->key, bytes, (const char *)keys,
                                                                 n, (uint64_t *)ranks);
    return bf_cuda_group_check(context, cudaGetLastError()) == BF_OK ? ranks : NULL;
}

cudaError_t bf_cuda_group_unrank(bf_context *context, const bf_cuda_groups *g, const void *ranks,
                                 const unsigned *order, int64_t n, void *keys) {
    int bytes = bf_key_bytes(g->key);
    unsigned blocks = bf_cuda_blocks(context->cuda, n, BF_CUDA_GROUP_THREADS);
    cudaStream_t stream = context->cuda->stream;
    switch (g->rank_bytes) {
    case 4:
        make_keys<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(
            g->key, bytes, (const uint32_t *)ranks, order, n, (char *)keys);
        break;
    case 8:
        make_keys<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>(
            g->key, bytes, (const uint64_t *)ranks, order, n, (char *)keys);
        break;
    default:
        make_pairs<<<blocks, BF_CUDA_GROUP_THREADS, 0, stream>>>((const uint64_t *)ranks, order, n,
                                                                 (uint64_t *)keys);
    }
    return cudaGetLastError();
}

cudaError_t bf_cuda_group_count(bf_context *context, const unsigned *numbers, int64_t n,
                                int64_t *counts) {
    count_rows<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_GROUP_THREADS), BF_CUDA_GROUP_THREADS, 0,
                 context->cuda->stream>>>(numbers, n, counts);
    return cudaGetLastError();
}
