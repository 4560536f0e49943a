/* The pieces of the tree of rules/reduce/product_tree.h. A half-warp multiplies the folds of a
 * leaf, and a block makes the node of a piece. */
#ifndef BF_CUDA_REDUCE_PRODUCT_TREE_PIECE_CUH
#define BF_CUDA_REDUCE_PRODUCT_TREE_PIECE_CUH

#include "cuda/reduce/product_tree.cuh"

#include "cuda/reduce/sum_float.cuh"

enum {
    PIECE_LEVEL = 3, /* a piece is one node of this level */
    PIECE_LEAVES = 1 << PIECE_LEVEL,
    PIECE = BF_LEAF * PIECE_LEAVES,
    PIECE_THREADS = PIECE_LEAVES * BF_FOLDS,
    PIECE_WARPS = PIECE_THREADS / BF_CUDA_WARP,
    ROUND = 1 << 14, /* pieces whose nodes are joined at a time */
    ROWS = BF_LEAF / BF_FOLDS,
    AHEAD = 8, /* rows that a thread reads before it multiplies */
    JOIN_THREADS = 512
};

struct bf_cuda_product_tree {
    bf_node nodes[2][ROUND];        /* [0]: of pieces that are whole; [1]: joined */
    bf_node edges[2][PIECE_LEAVES]; /* leaves of the first piece and of the last */
    bf_node folds[BF_FOLDS];        /* the folds of the last leaf, if it is not whole */
    uint64_t counts[BF_PRODUCT_TREE_NEGATIVE + 1]; /* as in the words; zero between rounds */
    int64_t words[BF_PRODUCT_TREE_HEAD_AT];
};

/* Elements [first, end), from `a` on; first is a multiple of BF_LEAF. */
struct bf_cuda_product_tree_round {
    const void *a;
    int64_t first, end;

    __host__ __device__ int64_t first_piece() const { return first / PIECE; }
    __host__ __device__ int64_t last_piece() const { return (end - 1) / PIECE; }
    __host__ __device__ bool is_whole(int64_t piece) const {
        return piece * PIECE >= first && (piece + 1) * PIECE <= end;
    }
};

/* --- a fold: one thread --- */

struct bf_cuda_product_tree_fold {
    bf_node node;
    int64_t counts[BF_PRODUCT_TREE_NEGATIVE + 1]; /* by the rules */
    unsigned signs; /* normal numbers': the top bit is that of their product */

    __device__ __forceinline__ void start() {
        node = bf_node_one();
        signs = 0;
#pragma unroll
        for (int i = 0; i <= BF_PRODUCT_TREE_NEGATIVE; i++) counts[i] = 0;
    }

    __device__ __forceinline__ void absorb(uint64_t bits) {
        bf_product_tree_count(counts, bits);
        bf_node_take(&node, bits);
    }

    /* Returns whether a number is normal: no zero, subnormal, infinity or NaN. */
    static __device__ __forceinline__ bool is_normal(uint64_t bits) {
        return (unsigned)((bits >> 52 & 0x7ff) - 1) < 0x7feu;
    }

    /* Absorbs a normal number. */
    __device__ __forceinline__ void absorb_normal(uint64_t bits) {
        const uint64_t fraction = ((uint64_t)1 << 52) - 1, one = (uint64_t)1023 << 52;
        double mantissa = __longlong_as_double((long long)((bits & fraction) | one));
        signs ^= (unsigned)(bits >> 32);
        bf_node_fold(&node, mantissa, (int)(bits >> 52 & 0x7ff) - 1023);
    }

    __device__ __forceinline__ void absorb_rows(const uint64_t (&bits)[AHEAD]) {
        bool all_normal = true;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) all_normal = all_normal && is_normal(bits[k]);
        if (all_normal) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) absorb_normal(bits[k]);
        } else {
#pragma unroll 1
            for (int k = 0; k < AHEAD; k++) absorb(pick(bits, k));
        }
    }

    /* Returns bits[k], without an array in memory. */
    static __device__ __forceinline__ uint64_t pick(const uint64_t (&bits)[AHEAD], int k) {
        uint64_t x = bits[0];
#pragma unroll
        for (int i = 1; i < AHEAD; i++)
            if (i == k) x = bits[i];
        return x;
    }
};

template <bf_dtype D>
static __device__ __forceinline__ uint64_t
bf_cuda_double_bits(typename bf_cuda_float<D>::Element x) {
    return (uint64_t)__double_as_longlong(bf_cuda_float<D>::value(x));
}

/* Absorbs this fold's elements of a whole leaf, of which the first is at `at`. */
template <bf_dtype D>
static __device__ __forceinline__ void
bf_cuda_absorb_leaf(bf_cuda_product_tree_fold *fold, const typename bf_cuda_float<D>::Element *at) {
    typename bf_cuda_float<D>::Element next[AHEAD];
    uint64_t bits[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) next[k] = at[k * BF_FOLDS];
#pragma unroll 1
    for (int row = AHEAD; row <= ROWS; row += AHEAD) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) bits[k] = bf_cuda_double_bits<D>(next[k]);
        if (row < ROWS) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) next[k] = at[(row + k) * BF_FOLDS];
        }
        fold->absorb_rows(bits);
    }
}

/* Absorbs this fold's elements of the first n of a leaf. */
template <bf_dtype D>
static __device__ void bf_cuda_absorb_rest(bf_cuda_product_tree_fold *fold,
                                           const typename bf_cuda_float<D>::Element *leaf, int n) {
#pragma unroll 1
    for (int i = (int)threadIdx.x % BF_FOLDS; i < n; i += BF_FOLDS)
        fold->absorb(bf_cuda_double_bits<D>(leaf[i]));
}

/* --- a piece: one block --- */

/* Joins this thread's node and that of the thread whose number differs in bit d. */
static __device__ __forceinline__ bf_node bf_cuda_join_lanes(bf_node x, int d) {
    bf_node y;
    y.hi = __shfl_xor_sync(0xffffffffu, x.hi, d);
    y.lo = __shfl_xor_sync(0xffffffffu, x.lo, d);
    y.exponent = __shfl_xor_sync(0xffffffffu, x.exponent, d);
    bool second = (threadIdx.x & (unsigned)d) != 0;
    return bf_node_join(second ? y : x, second ? x : y);
}

/* Adds the counts of the warp. */
static __device__ void bf_cuda_add_counts(bf_cuda_product_tree *tree,
                                          const bf_cuda_product_tree_fold &fold) {
    bool first = threadIdx.x % BF_CUDA_WARP == 0, odd = (fold.signs >> 31) != 0;
    if (fold.counts[BF_PRODUCT_TREE_NEGATIVE]) odd = !odd;
    unsigned odds = __ballot_sync(0xffffffffu, odd);
    if (first && __popc(odds) % 2)
        atomicXor((unsigned long long *)&tree->counts[BF_PRODUCT_TREE_NEGATIVE], 1ull);
#pragma unroll
    for (int i = BF_PRODUCT_TREE_NAN; i <= BF_PRODUCT_TREE_ZERO; i++) {
        int n = (int)fold.counts[i];
        if (__any_sync(0xffffffffu, n > 0))
            bf_cuda_warp_add(n, (unsigned long long *)&tree->counts[i]);
    }
}

/* Joins the leaves of a whole piece to its node. */
static __device__ void bf_cuda_join_piece(bf_node leaf, bf_node *to) {
    __shared__ bf_node pairs[PIECE_WARPS];
    bf_node pair = bf_cuda_join_lanes(leaf, BF_FOLDS);
    if (threadIdx.x % BF_CUDA_WARP == 0) pairs[threadIdx.x / BF_CUDA_WARP] = pair;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int n = PIECE_WARPS; n > 1; n /= 2)
        for (int i = 0; i < n / 2; i++) pairs[i] = bf_node_join(pairs[2 * i], pairs[2 * i + 1]);
    *to = pairs[0];
}

template <bf_dtype D>
__global__ void __launch_bounds__(PIECE_THREADS, 8)
    bf_cuda_product_tree_pieces(const bf_cuda_product_tree_round r, bf_cuda_product_tree *tree) {
    int64_t piece = r.first_piece() + blockIdx.x;
    int leaf = (int)threadIdx.x / BF_FOLDS;
    int64_t start = piece * PIECE + (int64_t)leaf * BF_LEAF, left = r.end - start;
    const typename bf_cuda_float<D>::Element *at =
        (const typename bf_cuda_float<D>::Element *)r.a + (start - r.first);
    bool inside = start >= r.first && left > 0, complete = inside && left >= BF_LEAF;
    bf_cuda_product_tree_fold fold;
    fold.start();
    if (complete)
        bf_cuda_absorb_leaf<D>(&fold, at + threadIdx.x % BF_FOLDS);
    else if (inside)
        bf_cuda_absorb_rest<D>(&fold, at, (int)left);
    __syncwarp();
    if (inside && !complete) tree->folds[threadIdx.x % BF_FOLDS] = fold.node;
    bf_cuda_add_counts(tree, fold);
    bf_node node = fold.node;
    for (int d = 1; d < BF_FOLDS; d *= 2) node = bf_cuda_join_lanes(node, d);
    if (r.is_whole(piece))
        bf_cuda_join_piece(node, &tree->nodes[0][blockIdx.x]);
    else if (complete && threadIdx.x % BF_FOLDS == 0)
        tree->edges[blockIdx.x > 0][leaf] = node;
}

#endif
