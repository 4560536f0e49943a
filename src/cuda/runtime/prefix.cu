/* Prefix sums, and packing of values by them. */
#include "cuda/runtime/prefix.cuh"

#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

enum {
    PREFIX_THREADS = 256,
    WARPS = PREFIX_THREADS / BF_CUDA_WARP,
    EACH = 8,
    TILE = PREFIX_THREADS * EACH
};

/* Turns counts into sums within their tiles; tiles[b]: the sum of tile b. */
__global__ void __launch_bounds__(PREFIX_THREADS)
    sum_within_tiles_kernel(uint64_t *counts, int64_t n, uint64_t *tiles) {
    int64_t first = (int64_t)blockIdx.x * TILE + threadIdx.x * EACH;
    uint64_t count[EACH], mine = 0, all;
    for (int k = 0; k < EACH; k++) mine += count[k] = first + k < n ? counts[first + k] : 0;
    uint64_t before = bf_cuda_block_sum_before<WARPS>(mine, &all);
    for (int k = 0; k < EACH; k++) {
        if (first + k < n) counts[first + k] = before;
        before += count[k];
    }
    if (threadIdx.x == 0) tiles[blockIdx.x] = all;
}

__global__ void __launch_bounds__(PREFIX_THREADS) sum_tiles_kernel(uint64_t *tiles, int64_t n) {
    const uint64_t sum = bf_cuda_block_sums<WARPS>(
        n, (uint64_t)0, [&](int64_t k) { return tiles[k]; },
        [&](int64_t k, uint64_t before, uint64_t) { tiles[k] = before; });
    if (threadIdx.x == 0) tiles[n] = sum;
}

__global__ void __launch_bounds__(PREFIX_THREADS)
    add_tiles_kernel(uint64_t *counts, int64_t n, const uint64_t *tiles) {
    int64_t i = (int64_t)blockIdx.x * PREFIX_THREADS + threadIdx.x;
    if (i < n) counts[i] += tiles[i / TILE];
    if (i == 0) counts[n] = tiles[(n - 1) / TILE + 1];
}

__global__ void pack_kernel(const uint32_t *values, int words, const uint64_t *before, int64_t n,
                            uint32_t *to) {
    int64_t i = (int64_t)blockIdx.x * PREFIX_THREADS + threadIdx.x;
    if (i >= n || before[i] == before[i + 1]) return;
    for (int k = 0; k < words; k++) to[before[i] * words + k] = values[i * words + k];
}

unsigned blocks_of(int64_t n) { return (unsigned)((n - 1) / PREFIX_THREADS + 1); }

} // namespace

bf_status bf_cuda_sum_before(bf_context *context, uint64_t *counts, int64_t n, int64_t *all) {
    cudaStream_t stream = context->cuda->stream;
    int64_t tiles = (n - 1) / TILE + 1;
    uint64_t *sums = (uint64_t *)bf_cuda_alloc(context, (size_t)(tiles + 1) * sizeof *sums);
    if (sums == NULL) return BF_E_MEMORY;
    sum_within_tiles_kernel<<<(unsigned)tiles, PREFIX_THREADS, 0, stream>>>(counts, n, sums);
    sum_tiles_kernel<<<1, PREFIX_THREADS, 0, stream>>>(sums, tiles);
    add_tiles_kernel<<<blocks_of(n), PREFIX_THREADS, 0, stream>>>(counts, n, sums);
    bf_status status = bf_cuda_fetch_words(context, cudaSuccess, sums + tiles, 1, all, "sums");
    bf_cuda_free(context, sums);
    return status;
}

cudaError_t bf_cuda_pack(const bf_cuda *cuda, const void *values, int bytes, const uint64_t *before,
                         int64_t n, void *to) {
    pack_kernel<<<blocks_of(n), PREFIX_THREADS, 0, cuda->stream>>>(
        (const uint32_t *)values, bytes / 4, before, n, (uint32_t *)to);
    return cudaGetLastError();
}
