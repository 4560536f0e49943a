/* Products of floats (rules/reduce/product_tree.h). A block takes some leaves at a time, those of
 * neighbouring results where these lie next to each other: a thread multiplies a fold, and the
 * folds of all leaves are joined in shared memory. The leaves of a longer result wait in device
 * memory, until a block of the second kernel joins them. */
#include "cuda/axis/layout.cuh"
#include "cuda/axis/store.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/reduce/product_tree.h"

namespace {

enum {
    TREE_THREADS = 256,
    FOLD_BITS = 4,
    SHORT = 256,   /* elements of results of which a block takes more */
    MANY_BITS = 6, /* so many leaves, as a power of 2 */
    FEW_BITS = 4,
    AHEAD = 4, /* elements that a thread reads before it multiplies them */
    JOIN_THREADS = 128,
    HAS_NAN = 1,
    HAS_INF = 2,
    HAS_ZERO = 4,
    IS_NEGATIVE = 8 /* an odd number of elements is */
};
static_assert(1 << FOLD_BITS == BF_FOLDS, "folds");

/* A node, and what its elements have. */
struct part {
    bf_node node;
    int64_t flags;
};
static_assert(sizeof(part) == 8 * BF_CUDA_AXIS_LEAF_WORDS / 2, "schedule.cu makes room for two");

/* Elements [from, to) of a result; its part goes to `node`, or is the result (-1). */
struct leaf {
    int64_t r, a, from, to, node;
};

__device__ part join(const part &x, const part &y) {
    const int64_t any = x.flags | y.flags, odd = x.flags ^ y.flags;
    return {bf_node_join(x.node, y.node), (any & ~IS_NEGATIVE) | (odd & IS_NEGATIVE)};
}

/* --- leaves --- */

/* All leaves, in an order in which neighbours are read together. Of segments each has a first one;
 * any other leaf begins in a window of BF_LEAF rows of its own. */
struct leaves {
    bool along;
    int64_t results, each; /* leaves of a fibre */
    int64_t windows;       /* segments span so many; 0: results are fibres */
};

/* The segment of a row; -1: there is none. */
__device__ int64_t find_segment(const bf_cuda_axis_layout &at, int64_t row) {
    int64_t first = -1, last = at.results / at.width;
    if (bf_cuda_axis_offset_at(at, last) <= row) return -1;
    while (last - first > 1) {
        const int64_t middle = first + (last - first) / 2;
        if (bf_cuda_axis_offset_at(at, middle) <= row)
            first = middle;
        else
            last = middle;
    }
    return first;
}

/* Where leaf k of a segment that begins at a row waits. No two segments with several leaves begin
 * in one window. */
__device__ int64_t node_of(const bf_cuda_axis_layout &at, int64_t row, int64_t column, int64_t k) {
    const int64_t window = row / BF_LEAF;
    return (k == 0 ? 2 * window + 1 : 2 * (window + k)) * at.width + column;
}

__device__ leaf leaf_of(const bf_cuda_axis_params &p, int64_t r, int64_t k) {
    const bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, r);
    const int64_t from = k * BF_LEAF, left = line.length - from;
    return {r, line.a, from, left < BF_LEAF ? line.length : from + BF_LEAF, -1};
}

__device__ leaf first_leaf(const bf_cuda_axis_params &p, int64_t r) {
    int64_t column;
    const int64_t slot = bf_cuda_axis_divide(r, p.at.width, &column);
    const int64_t row = bf_cuda_axis_offset_at(p.at, slot);
    leaf x = leaf_of(p, r, 0);
    if (bf_cuda_axis_offset_at(p.at, slot + 1) - row > BF_LEAF)
        x.node = node_of(p.at, row, column, 0);
    return x;
}

__device__ leaf later_leaf(const bf_cuda_axis_params &p, int64_t number) {
    int64_t column;
    const int64_t window = bf_cuda_axis_divide(number, p.at.width, &column);
    const int64_t slot = find_segment(p.at, window * BF_LEAF);
    const leaf none = {-1, 0, 0, 0, -1};
    if (slot < 0) return none;
    const int64_t row = bf_cuda_axis_offset_at(p.at, slot);
    const int64_t k = (window * BF_LEAF - row + BF_LEAF - 1) / BF_LEAF;
    leaf x = leaf_of(p, slot * p.at.width + column, k);
    x.node = node_of(p.at, row, column, k);
    return k > 0 && x.from < x.to ? x : none;
}

__device__ leaf fibre_leaf(const bf_cuda_axis_params &p, const leaves &all, int64_t number) {
    int64_t rest;
    const int64_t whole = bf_cuda_axis_divide(number, all.along ? all.each : all.results, &rest);
    const int64_t r = all.along ? whole : rest, k = all.along ? rest : whole;
    leaf x = leaf_of(p, r, k);
    if (all.each > 1) x.node = r * all.each + k;
    return x;
}

/* --- folds --- */

template <bf_dtype D>
__device__ uint64_t double_bits(bf_dtype dtype, const void *from, int64_t at) {
    double x;
    if (D == BF_F64)
        x = ((const double *)from)[at];
    else if (D == BF_F32)
        x = (double)((const float *)from)[at];
    else if (dtype == BF_F16)
        x = bf_cuda_float<BF_F16>::value(((const uint16_t *)from)[at]);
    else
        x = bf_cuda_float<BF_BF16>::value(((const uint16_t *)from)[at]);
    return (uint64_t)__double_as_longlong(x);
}

__device__ __forceinline__ void multiply(part *x, uint64_t bits) {
    const uint64_t magnitude = bits << 1 >> 1, inf = (uint64_t)0x7ff << 52;
    if (magnitude - ((uint64_t)1 << 52) < inf - ((uint64_t)1 << 52)) { /* a normal number */
        const uint64_t mantissa = (magnitude << 12 >> 12) | (uint64_t)1023 << 52;
        bf_node_fold(&x->node, __longlong_as_double((long long)mantissa),
                     (int64_t)(magnitude >> 52) - 1023);
    } else {
        x->flags |= magnitude > inf ? HAS_NAN : magnitude == inf ? HAS_INF : 0;
        x->flags |= magnitude == 0 ? HAS_ZERO : 0;
        bf_node_take(&x->node, bits);
    }
    if (magnitude <= inf) x->flags ^= bits >> 63 != 0 ? IS_NEGATIVE : 0;
}

template <bf_dtype D>
__device__ part multiply_fold(const bf_cuda_axis_params &p, const leaf &of, int fold) {
    part x = {bf_node_one(), 0};
    const bool plain = p.at.offsets != nullptr || p.at.reduced == 1;
    const int64_t step = bf_cuda_axis_step(p.at, 0);
    for (int64_t j = of.from + fold; j < of.to; j += AHEAD * BF_FOLDS) {
        uint64_t bits[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int64_t i = j + k * BF_FOLDS;
            if (i < of.to)
                bits[k] = double_bits<D>(
                    p.dtype, p.a, of.a + (plain ? i * step : bf_cuda_axis_element(p.at, 0, i)));
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (j + k * BF_FOLDS < of.to) multiply(&x, bits[k]);
    }
    return x;
}

/* --- blocks --- */

__device__ void finish(const bf_cuda_axis_params &p, int64_t r, const part &x) {
    int64_t counts[BF_PRODUCT_TREE_BEGIN] = {};
    counts[BF_PRODUCT_TREE_NAN] = (x.flags & HAS_NAN) != 0;
    counts[BF_PRODUCT_TREE_INF] = (x.flags & HAS_INF) != 0;
    counts[BF_PRODUCT_TREE_ZERO] = (x.flags & HAS_ZERO) != 0;
    counts[BF_PRODUCT_TREE_NEGATIVE] = (x.flags & IS_NEGATIVE) != 0;
    if (counts[BF_PRODUCT_TREE_NAN] > 0 && p.nan == BF_NAN_ERROR)
        bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
    const uint64_t bits =
        bf_product_tree_finish(counts, p.nan == BF_NAN_SKIP, bf_format_of(p.to), x.node);
    bf_cuda_axis_store_fit(p, r, bits, true);
}

/* Folds of 2^bits leaves: neighbouring threads take those of one, or one of each. */
struct folds {
    int bits;
    bool along;

    __device__ int leaf_of(int i, int fold_bits) const {
        return along ? i >> fold_bits : i & ((1 << bits) - 1);
    }
    __device__ int fold_of(int i, int fold_bits) const {
        return along ? i & ((1 << fold_bits) - 1) : i >> bits;
    }
    __device__ int at(int leaf, int fold) const {
        return along ? leaf << FOLD_BITS | fold : fold << bits | leaf;
    }
};

/* Joins the folds of each leaf to its first. */
__device__ void join_folds(const folds &f, part *parts) {
    for (int level = FOLD_BITS - 1; level >= 0; level--) {
        const int step = BF_FOLDS >> 1 >> level;
        __syncthreads();
        for (int i = (int)threadIdx.x; i < 1 << (f.bits + level); i += TREE_THREADS) {
            const int of = f.leaf_of(i, level), fold = 2 * step * f.fold_of(i, level);
            part *x = &parts[f.at(of, fold)];
            *x = join(*x, parts[f.at(of, fold + step)]);
        }
    }
    __syncthreads();
}

/* The leaves of a block: `find` says where the thread's own is. */
template <bf_dtype D>
__device__ void take_leaves(const bf_cuda_axis_params &p, const folds &f, const leaf &mine) {
    __shared__ part parts[BF_FOLDS << MANY_BITS];
    __shared__ leaf found[1 << MANY_BITS];
    const bool is_first = threadIdx.x < 1u << f.bits;
    if (is_first) found[threadIdx.x] = mine;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < BF_FOLDS << f.bits; i += TREE_THREADS)
        parts[i] = multiply_fold<D>(p, found[f.leaf_of(i, FOLD_BITS)], f.fold_of(i, FOLD_BITS));
    join_folds(f, parts);
    if (!is_first || mine.r < 0) return;
    const part &x = parts[f.at((int)threadIdx.x, 0)];
    if (mine.node < 0)
        finish(p, mine.r, x);
    else
        ((part *)p.slots)[mine.node] = x;
}

template <bf_dtype D>
__global__ void __launch_bounds__(TREE_THREADS)
    multiply_leaves(const __grid_constant__ bf_cuda_axis_params p, const leaves all, int bits) {
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int64_t firsts = all.results * all.each, laters = all.windows * p.at.width;
    const int64_t groups = ((firsts - 1) >> bits) + 1;
    const int64_t all_groups = groups + ((laters + (1 << FEW_BITS) - 1) >> FEW_BITS);
    for (int64_t g = blockIdx.x; g < all_groups; g += gridDim.x) {
        const folds f = {g < groups ? bits : FEW_BITS, all.along};
        const int64_t number = ((g < groups ? g : g - groups) << f.bits) + threadIdx.x;
        leaf mine = {-1, 0, 0, 0, -1};
        if (threadIdx.x < 1u << f.bits && number < (g < groups ? firsts : laters))
            mine = g >= groups       ? later_leaf(p, number)
                   : all.windows > 0 ? first_leaf(p, number)
                                     : fibre_leaf(p, all, number);
        take_leaves<D>(p, f, mine);
    }
}

/* Joins n leaves; node(k) says where leaf k is. */
template <class Node>
__device__ void join_leaves(const bf_cuda_axis_params &p, int64_t r, int64_t n, const Node &node) {
    part *parts = (part *)p.slots;
    for (int64_t step = 1; step < n; step *= 2) {
        for (int64_t k = 2 * step * threadIdx.x; k + step < n; k += 2 * step * JOIN_THREADS)
            parts[node(k)] = join(parts[node(k)], parts[node(k + step)]);
        __syncthreads();
    }
    if (threadIdx.x == 0) finish(p, r, parts[node(0)]);
}

/* A block joins the leaves of a fibre, or of a column of the segment that begins in a window. */
__global__ void __launch_bounds__(JOIN_THREADS)
    join_longer(const __grid_constant__ bf_cuda_axis_params p, const leaves all) {
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    if (all.windows == 0) {
        for (int64_t r = blockIdx.x; r < all.results; r += gridDim.x)
            join_leaves(p, r, all.each, [&](int64_t k) { return r * all.each + k; });
        return;
    }
    for (int64_t i = blockIdx.x; i < all.windows * p.at.width; i += gridDim.x) {
        const int64_t window = i / p.at.width, column = i % p.at.width;
        const int64_t slot = find_segment(p.at, (window + 1) * BF_LEAF - 1);
        if (slot < 0) continue;
        const int64_t row = bf_cuda_axis_offset_at(p.at, slot);
        const int64_t length = bf_cuda_axis_offset_at(p.at, slot + 1) - row;
        if (row >= window * BF_LEAF && length > BF_LEAF)
            join_leaves(p, slot * p.at.width + column, (length + BF_LEAF - 1) / BF_LEAF,
                        [&](int64_t k) { return node_of(p.at, row, column, k); });
    }
}

const void *kernel_of(bf_dtype dtype) {
    if (dtype == BF_F64) return (const void *)multiply_leaves<BF_F64>;
    return dtype == BF_F32 ? (const void *)multiply_leaves<BF_F32>
                           : (const void *)multiply_leaves<BF_NONE>;
}

} // namespace

cudaError_t bf_cuda_axis_launch_trees(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    const bool rows = p.at.offsets != nullptr;
    leaves all = {bf_cuda_axis_is_along(p.at), p.at.results, p.pieces,
                  rows ? p.at.rows / BF_LEAF + 1 : 0};
    int bits = bf_cuda_axis_mean(p.at) <= SHORT ? MANY_BITS : FEW_BITS;
    bf_cuda_axis_params q = p;
    void *arguments[] = {&q, &all, &bits};
    const int64_t most = 8 * (int64_t)cuda->multiprocessors;
    bf_cuda_shape shape = {most, TREE_THREADS, 0, true, true};
    cudaError_t error = bf_cuda_launch(cuda, kernel_of(p.dtype), shape, arguments);
    if (error != cudaSuccess || (rows ? p.at.rows <= BF_LEAF : all.each == 1)) return error;
    shape = {2 * most, JOIN_THREADS, 0, true, false};
    return bf_cuda_launch(cuda, join_longer, shape, q, all);
}
