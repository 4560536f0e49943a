/* Launching a reduction: its shape, its shared memory, and the list of them all. */
#ifndef BF_CUDA_REDUCE_LAUNCH_CUH
#define BF_CUDA_REDUCE_LAUNCH_CUH

#include "cuda/reduce/finish.cuh"

/* What reduce.cu needs to know of a kernel. */
struct bf_cuda_reduction {
    cudaError_t (*launch)(const bf_context *context, bf_cuda_params params, int64_t bytes);
    void (*receive)(const bf_job *job, const int64_t *chunks, const int64_t *plain, int64_t *words);
};

/* What a block may ask for beside its static shared memory, which is less than this. */
enum { BF_CUDA_STATIC_SHARED = 12 * 1024 };

/* A block of a launch. */
struct bf_cuda_reduction_block {
    int threads, tables;
    int before, shared; /* bytes: of the loop's own, and with those of extras behind them */
};

/* Blocks for small arrays are so small that there is one for each multiprocessor, and no warp waits
 * for a table; tables and then threads are fewer where shared memory is. */
template <class Loop>
static bf_cuda_reduction_block
bf_cuda_block_for(const bf_cuda *cuda, int most_blocks, int64_t bytes,
                  const typename bf_cuda_extras<Loop>::Params &params) {
    bf_cuda_reduction_block s = {Loop::threads, 0, 0, 0};
    const auto measure = [&]() {
        s.before = Loop::shared_bytes(s.threads, s.tables);
        s.shared = s.before + bf_cuda_extras<Loop>::shared_bytes(params, s.threads);
        return s.shared;
    };
    int room = cuda->shared - BF_CUDA_STATIC_SHARED;
    int64_t warps = bytes / ((int64_t)most_blocks * BF_CUDA_WARP * 16 * Loop::tile) + 1;
    int least = Loop::tables(4) > 0 ? Loop::tables(4) : 4;
    if (warps < s.threads / BF_CUDA_WARP)
        s.threads = (warps > least ? (int)warps : least) * BF_CUDA_WARP;
    s.tables = Loop::tables(s.threads / BF_CUDA_WARP);
    while (measure() > room && s.tables > 1) s.tables--;
    while (measure() > room && s.threads > BF_CUDA_WARP) s.threads -= BF_CUDA_WARP;
    return s;
}

template <class Loop>
static cudaError_t bf_cuda_launch_reduction(const bf_context *context, bf_cuda_params given,
                                            int64_t bytes) {
    typename bf_cuda_extras<Loop>::Params params(given);
    const bf_cuda *cuda = context->cuda;
    int most = cuda->multiprocessors * Loop::blocks;
    if (most > BF_CUDA_BLOCKS) most = BF_CUDA_BLOCKS;
    bf_cuda_reduction_block block = bf_cuda_block_for<Loop>(cuda, most, bytes, params);
    int64_t tile = (int64_t)block.threads * 16 * Loop::tile, tiles = (bytes + 15 + tile - 1) / tile;
    params.tables = block.tables;
    params.shared_before = block.before;
    params.bytes = bytes;
    bf_cuda_shape shape = {tiles < most ? tiles : most, block.threads, (size_t)block.shared, true};
    return bf_cuda_launch(cuda, bf_cuda_reduce_kernel<Loop>, shape, params);
}

template <class Loop> static const bf_cuda_reduction *bf_cuda_reduction_of() {
    static constexpr bf_cuda_reduction reduction = {bf_cuda_launch_reduction<Loop>,
                                                    bf_cuda_receive<typename Loop::Side>};
    return &reduction;
}

/* Exact sums of a float dtype (sum.cu.in), of integers, extremes, products of integers. NULL: there
 * is no such reduction. */
const bf_cuda_reduction *bf_cuda_sum_f16(bf_kind kind, bool every_zero);
const bf_cuda_reduction *bf_cuda_sum_bf16(bf_kind kind, bool every_zero);
const bf_cuda_reduction *bf_cuda_sum_f32(bf_kind kind, bool every_zero);
const bf_cuda_reduction *bf_cuda_sum_f64(bf_kind kind, bool every_zero);
const bf_cuda_reduction *bf_cuda_sum_integer(bf_kind kind, bf_dtype dtype);
/* The sums of elements of f32 and f64 that a program computes (sum_computed.cu.in). */
const bf_cuda_reduction *bf_cuda_sum_computed_f32(int columns);
const bf_cuda_reduction *bf_cuda_sum_computed_f64(int columns);
const bf_cuda_reduction *bf_cuda_reduction_extreme(bf_reduction op, bf_dtype dtype);
const bf_cuda_reduction *bf_cuda_reduction_product(bf_dtype dtype);

#endif
