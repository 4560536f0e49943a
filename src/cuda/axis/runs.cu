/* Runs of equal neighbouring keys: blocks count those that begin in their tiles, and then list
 * them. */
#include "cuda/axis/index/index.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/prefix.cuh"
#include "cuda/runtime/warp.cuh"

#include "rules/key/rank.h"

namespace {

enum { RUN_THREADS = 256, ROUNDS = 16, RUN_TILE = RUN_THREADS * ROUNDS };

/* Two words of a key; of a key of up to 8 bytes the second is 0. */
struct run_key {
    uint64_t hi, lo;
};

template <int bytes>
__device__ __forceinline__ run_key load_key(bf_dtype dtype, const void *keys, int64_t i) {
    switch (bytes) {
    case 1: return {bf_group_key(dtype, ((const uint8_t *)keys)[i]), 0};
    case 2: return {bf_group_key(dtype, ((const uint16_t *)keys)[i]), 0};
    case 4: return {bf_group_key(dtype, ((const uint32_t *)keys)[i]), 0};
    case 8: return {bf_group_key(dtype, ((const uint64_t *)keys)[i]), 0};
    default: return {((const uint64_t *)keys)[2 * i], ((const uint64_t *)keys)[2 * i + 1]};
    }
}

template <int bytes>
__device__ __forceinline__ bool begins_run(bf_dtype dtype, const void *keys, int64_t n, int64_t i) {
    if (i >= n) return false;
    if (i == 0) return true;
    run_key a = load_key<bytes>(dtype, keys, i), b = load_key<bytes>(dtype, keys, i - 1);
    return a.hi != b.hi || a.lo != b.lo;
}

template <int bytes>
__global__ void __launch_bounds__(RUN_THREADS)
    count_runs(bf_dtype dtype, const void *keys, int64_t n, uint64_t *counts) {
    const int64_t first = blockIdx.x * (int64_t)RUN_TILE + threadIdx.x;
    int runs = 0;
#pragma unroll 4
    for (int k = 0; k < ROUNDS; k++)
        runs += __syncthreads_count(begins_run<bytes>(dtype, keys, n, first + k * RUN_THREADS));
    if (threadIdx.x == 0) counts[blockIdx.x] = (uint64_t)runs;
}

template <int bytes>
__global__ void __launch_bounds__(RUN_THREADS)
    list_runs(bf_dtype dtype, const void *keys, int64_t n, const uint64_t *before, int64_t room,
              int64_t *list) {
    const int64_t first = blockIdx.x * (int64_t)RUN_TILE + threadIdx.x;
    int64_t base = (int64_t)before[blockIdx.x];
    for (int k = 0; k < ROUNDS; k++) {
        uint32_t all;
        int64_t i = first + k * RUN_THREADS;
        bool begins = begins_run<bytes>(dtype, keys, n, i);
        int64_t at = base + bf_cuda_block_sum_before<RUN_THREADS / 32>((uint32_t)begins, &all);
        if (begins && at < room) list[at] = i;
        base += all;
        __syncthreads();
    }
}

template <int bytes>
bf_status find(bf_context *context, bf_dtype key, const void *keys, int64_t n, uint64_t *counts,
               int64_t *list, int64_t room, int64_t *runs) {
    cudaStream_t stream = context->cuda->stream;
    int64_t tiles = (n - 1) / RUN_TILE + 1;
    count_runs<bytes><<<(unsigned)tiles, RUN_THREADS, 0, stream>>>(key, keys, n, counts);
    bf_status status = bf_cuda_sum_before(context, counts, tiles, runs);
    if (status != BF_OK || list == NULL) return status;
    list_runs<bytes><<<(unsigned)tiles, RUN_THREADS, 0, stream>>>(key, keys, n, counts, room, list);
    return bf_cuda_wait(context, cudaGetLastError(), "finding runs");
}

bf_status find_by_width(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                        uint64_t *counts, int64_t *list, int64_t room, int64_t *runs) {
    switch (bf_key_bytes(key)) {
    case 1: return find<1>(context, key, keys, n, counts, list, room, runs);
    case 2: return find<2>(context, key, keys, n, counts, list, room, runs);
    case 4: return find<4>(context, key, keys, n, counts, list, room, runs);
    case 8: return find<8>(context, key, keys, n, counts, list, room, runs);
    default: return find<16>(context, key, keys, n, counts, list, room, runs);
    }
}

/* Finds runs of keys that kernels reach. A list that they do not reach is copied. */
bf_status find_in_place(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                        int64_t *first, int64_t room, int64_t *runs) {
    if (room > n) room = n;
    size_t bytes = (size_t)room * sizeof *first;
    bool copied = first != NULL && !bf_cuda_in_place(context, first, sizeof *first);
    void *copy = copied ? bf_cuda_alloc(context, bytes) : NULL;
    uint64_t *counts =
        (uint64_t *)bf_cuda_alloc(context, ((size_t)(n - 1) / RUN_TILE + 2) * sizeof *counts);
    bf_status status = counts == NULL || (copied && copy == NULL) ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK)
        status = find_by_width(context, key, keys, n, counts, copied ? (int64_t *)copy : first,
                               room, runs);
    if (status == BF_OK && copied) {
        size_t found = (size_t)(*runs < room ? *runs : room) * sizeof *first;
        status = bf_cuda_copy(context, first, copy, found);
        if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "finding runs");
    }
    bf_cuda_free(context, counts);
    bf_cuda_free(context, copy);
    return status;
}

} // namespace

bf_status bf_cuda_find_runs(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                            int64_t *first, int64_t room, int64_t *runs) {
    void *copy = NULL;
    int bytes = bf_key_bytes(key), previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK)
        status = bf_cuda_axis_reach(context, keys, n * (bytes == 16 ? 2 : 1), bytes > 8 ? 8 : bytes,
                                    &copy, &keys);
    if (status == BF_OK) status = find_in_place(context, key, keys, n, first, room, runs);
    bf_cuda_free(context, copy);
    bf_cuda_leave(previous);
    return status;
}
