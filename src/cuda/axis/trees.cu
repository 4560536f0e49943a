/* Products of floats (rules/reduce/product_tree.h): a warp computes one, leaf by leaf. Lane i holds
 * fold i of the leaf at hand, and the node of level i that waits for its sibling. */
#include "cuda/axis/layout.cuh"
#include "cuda/axis/store.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/reduce/product_tree.h"

namespace {

enum { THREADS = 128 };

__device__ uint64_t double_bits(bf_dtype dtype, const void *from, int64_t at) {
    double x;
    switch (dtype) {
    case BF_F64: x = ((const double *)from)[at]; break;
    case BF_F32: x = (double)((const float *)from)[at]; break;
    case BF_F16: x = bf_cuda_float<BF_F16>::value(((const uint16_t *)from)[at]); break;
    default: x = bf_cuda_float<BF_BF16>::value(((const uint16_t *)from)[at]);
    }
    return (uint64_t)__double_as_longlong(x);
}

__device__ bf_node node_of(const bf_node &x, int lane) {
    bf_node y;
    y.hi = __shfl_sync(0xffffffffu, x.hi, lane);
    y.lo = __shfl_sync(0xffffffffu, x.lo, lane);
    y.exponent = __shfl_sync(0xffffffffu, x.exponent, lane);
    return y;
}

/* Joins the folds pairwise; all lanes below BF_FOLDS have the node. */
__device__ bf_node join_folds(bf_node fold) {
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    for (int d = 1; d < BF_FOLDS; d *= 2) {
        const bf_node other = node_of(fold, lane ^ d);
        fold = lane & d ? bf_node_join(other, fold) : bf_node_join(fold, other);
    }
    return fold;
}

__device__ int64_t sum_lanes(int64_t x) {
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

__device__ bf_node compute_root(const bf_cuda_axis_params &p, const bf_cuda_axis_line &line,
                                int64_t *counts) {
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    bf_node waiting = bf_node_one();
    int64_t leaves = 0;
    for (int64_t from = 0; from < line.length; from += BF_LEAF, leaves++) {
        const int64_t to = line.length - from < BF_LEAF ? line.length : from + BF_LEAF;
        bf_node fold = bf_node_one();
        for (int64_t j = from + lane; lane < BF_FOLDS && j < to; j += BF_FOLDS) {
            const uint64_t x = double_bits(p.dtype, p.a, line.a + bf_cuda_axis_element(p.at, 0, j));
            bf_product_tree_count(counts, x);
            bf_node_take(&fold, x);
        }
        __syncwarp();
        bf_node node = node_of(join_folds(fold), 0);
        int level = 0;
        for (; leaves >> level & 1; level++) node = bf_node_join(node_of(waiting, level), node);
        if (lane == level) waiting = node;
    }
    int level = 0;
    if (leaves == 0) return bf_node_one();
    while ((leaves >> level & 1) == 0) level++;
    bf_node root = node_of(waiting, level);
    for (level++; leaves >> level != 0; level++)
        if (leaves >> level & 1) root = bf_node_join(node_of(waiting, level), root);
    return root;
}

__global__ void __launch_bounds__(THREADS)
    compute_trees(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int64_t warps = (int64_t)gridDim.x * (THREADS / BF_CUDA_WARP);
    int64_t r = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / BF_CUDA_WARP;
    for (; r < p.at.results; r += warps) {
        int64_t counts[BF_PRODUCT_TREE_BEGIN] = {};
        const bf_node root = compute_root(p, bf_cuda_axis_line_of(p.at, r), counts);
#pragma unroll
        for (int i = 0; i < BF_PRODUCT_TREE_BEGIN; i++) counts[i] = sum_lanes(counts[i]);
        counts[BF_PRODUCT_TREE_NEGATIVE] &= 1;
        if (threadIdx.x % BF_CUDA_WARP != 0) continue;
        if (counts[BF_PRODUCT_TREE_NAN] > 0 && p.nan == BF_NAN_ERROR)
            bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        const uint64_t bits =
            bf_product_tree_finish(counts, p.nan == BF_NAN_SKIP, bf_format_of(p.to), root);
        bf_cuda_axis_store_fit(p, r, bits, true);
    }
}

} // namespace

cudaError_t bf_cuda_axis_launch_trees(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    const int64_t warps = THREADS / BF_CUDA_WARP, needed = (p.at.results + warps - 1) / warps;
    const int64_t most = 16 * cuda->multiprocessors;
    const bf_cuda_shape shape = {needed < most ? needed : most, THREADS, 0, true, false};
    return bf_cuda_launch(cuda, compute_trees, shape, p);
}
