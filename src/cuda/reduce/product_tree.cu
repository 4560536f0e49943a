/* Products of floats. Blocks make the nodes of pieces (product_tree_piece.cuh), and one block joins
 * these to the words of a state. */
#include "cuda/reduce/product_tree_piece.cuh"

#include "rules/reduce/result.h"

extern "C" {
#include "base/environment.h"
}

const size_t bf_cuda_product_tree_bytes = sizeof(bf_cuda_product_tree);

/* The result of the last round's words, if value is not NULL. */
struct bf_cuda_product_tree_result {
    bf_reduce_options options;
    bf_value *value;
};

/* --- a round: one block --- */

/* Nodes without a sibling, by their level above that of pieces; bit l of a mask is set if there is
 * one on level l. Those on the left precede those on the right. */
struct bf_cuda_product_tree_rest {
    bf_node left[BF_PRODUCT_TREE_LEVELS], right[BF_PRODUCT_TREE_LEVELS];
    uint64_t lefts, rights;
};

/* Joins siblings, level by level, until none are left. All threads of the block call it. */
static __device__ void bf_cuda_join_levels(const bf_cuda_product_tree_round &r,
                                           bf_cuda_product_tree *tree,
                                           bf_cuda_product_tree_rest *rest) {
    int64_t s = r.first_piece() + !r.is_whole(r.first_piece());
    int64_t e = r.last_piece() + r.is_whole(r.last_piece());
    const bf_node *from = tree->nodes[0] + (s - r.first_piece());
    uint64_t lefts = 0, rights = 0;
    bool first = threadIdx.x == 0;
    for (int level = 0; s < e; level++, s /= 2, e /= 2) {
        if (s % 2) {
            if (first) rest->left[level] = from[0];
            lefts |= (uint64_t)1 << level;
            s++;
            from++;
        }
        if (s < e && e % 2) {
            e--;
            if (first) rest->right[level] = from[e - s];
            rights |= (uint64_t)1 << level;
        }
        bf_node *to = tree->nodes[level % 2 == 0];
        for (int64_t k = threadIdx.x; k < (e - s) / 2; k += JOIN_THREADS)
            to[k] = bf_node_join(from[2 * k], from[2 * k + 1]);
        __syncthreads();
        from = to;
    }
    if (!first) return;
    rest->lefts = lefts;
    rest->rights = rights;
}

/* Appends leaves [leaf, end), all of one piece that is not whole, to the words. */
static __device__ void bf_cuda_push_leaves(int64_t *words, const bf_node *edge, int64_t leaf,
                                           int64_t end) {
    for (; leaf < end; leaf++) bf_product_tree_push(words, 0, edge[leaf % PIECE_LEAVES]);
}

/* Appends the nodes of the round to the words, in order. */
static __device__ void bf_cuda_push_round(const bf_cuda_product_tree_round &r,
                                          const bf_cuda_product_tree *tree,
                                          const bf_cuda_product_tree_rest *rest, int64_t *words) {
    int64_t first = r.first_piece(), last = r.last_piece(), end = r.end / BF_LEAF;
    int64_t first_end = (first + 1) * PIECE_LEAVES;
    if (!r.is_whole(first))
        bf_cuda_push_leaves(words, tree->edges[0], r.first / BF_LEAF,
                            end < first_end ? end : first_end);
    for (int l = 0; l < BF_PRODUCT_TREE_LEVELS; l++)
        if (rest->lefts >> l & 1) bf_product_tree_push(words, PIECE_LEVEL + l, rest->left[l]);
    for (int l = BF_PRODUCT_TREE_LEVELS - 1; l >= 0; l--)
        if (rest->rights >> l & 1) bf_product_tree_push(words, PIECE_LEVEL + l, rest->right[l]);
    if (last > first && !r.is_whole(last))
        bf_cuda_push_leaves(words, tree->edges[1], last * PIECE_LEAVES, end);
    if (r.end % BF_LEAF == 0) return;
    words[BF_PRODUCT_TREE_END] = r.end;
    for (int i = 0; i < BF_FOLDS; i++)
        bf_product_tree_store(words + BF_PRODUCT_TREE_FOLDS_AT + i * BF_NODE_WORDS, tree->folds[i]);
}

/* Merges the counts into the words, and clears them for the next round. */
static __device__ void bf_cuda_merge_counts(const bf_cuda_product_tree_round &r,
                                            bf_cuda_product_tree *tree, int64_t *words) {
    int64_t counts[BF_PRODUCT_TREE_NEGATIVE + 1];
    for (int i = 0; i <= BF_PRODUCT_TREE_NEGATIVE; i++) {
        counts[i] = (int64_t)tree->counts[i];
        tree->counts[i] = 0;
    }
    counts[BF_PRODUCT_TREE_COUNT] = r.end - r.first;
    bf_product_tree_merge_counts(words, counts);
}

/* --- the result --- */

static __device__ void bf_cuda_product_tree_finish(const bf_cuda_product_tree_result &result,
                                                   const int64_t *words, bf_node *folds) {
    bf_value value = bf_value_from_bits(BF_U64, 0);
    bf_node root = bf_product_tree_root_from_start(words, folds);
    bf_status status = bf_result_product_tree(words, root, &result.options, &value);
    if (status != BF_OK) value.dtype = BF_NONE;
    *result.value = value;
}

__global__ void __launch_bounds__(JOIN_THREADS)
    bf_cuda_product_tree_join(const bf_cuda_product_tree_round r, bf_cuda_product_tree *tree,
                              bool start, const bf_cuda_product_tree_result result) {
    __shared__ int64_t words[BF_PRODUCT_TREE_HEAD_AT];
    __shared__ bf_cuda_product_tree_rest rest;
    __shared__ bf_node folds[BF_FOLDS];
    if (!start)
        for (int i = (int)threadIdx.x; i < BF_PRODUCT_TREE_HEAD_AT; i += JOIN_THREADS)
            words[i] = tree->words[i];
    bf_cuda_join_levels(r, tree, &rest);
    __syncthreads();
    if (threadIdx.x == 0) {
        if (start) {
            bf_product_tree_init(words);
            words[BF_PRODUCT_TREE_BEGIN] = words[BF_PRODUCT_TREE_END] = r.first;
        }
        bf_cuda_push_round(r, tree, &rest, words);
        bf_cuda_merge_counts(r, tree, words);
        if (result.value) bf_cuda_product_tree_finish(result, words, folds);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < BF_PRODUCT_TREE_HEAD_AT; i += JOIN_THREADS)
        tree->words[i] = words[i];
}

/* --- launching --- */

static void bf_cuda_launch_pieces(bf_dtype dtype, const bf_cuda_product_tree_round &r,
                                  bf_cuda_product_tree *tree, cudaStream_t stream) {
    unsigned blocks = (unsigned)(r.last_piece() - r.first_piece() + 1);
    switch (dtype) {
    case BF_F16:
        bf_cuda_product_tree_pieces<BF_F16><<<blocks, PIECE_THREADS, 0, stream>>>(r, tree);
        break;
    case BF_BF16:
        bf_cuda_product_tree_pieces<BF_BF16><<<blocks, PIECE_THREADS, 0, stream>>>(r, tree);
        break;
    case BF_F32:
        bf_cuda_product_tree_pieces<BF_F32><<<blocks, PIECE_THREADS, 0, stream>>>(r, tree);
        break;
    default:
        bf_cuda_product_tree_pieces<BF_F64><<<blocks, PIECE_THREADS, 0, stream>>>(r, tree);
        break;
    }
}

/* Enqueues the job, whose first element has index `begin`, round by round. Its state goes to
 * tree->words, its result to result.value, if that is not NULL. */
static cudaError_t bf_cuda_enqueue_product_tree(bf_context *context, const bf_job *job,
                                                int64_t begin, bf_cuda_product_tree *tree,
                                                bf_cuda_product_tree_result result) {
    cudaStream_t stream = context->cuda->stream;
    int64_t end = begin + job->count, next;
    bf_value *value = result.value;
    for (int64_t first = begin; first < end; first = next) {
        next = (first / PIECE + ROUND) * PIECE;
        if (next > end) next = end;
        const char *a = (const char *)job->a + (first - begin) * bf_dtype_bytes(job->dtype);
        bf_cuda_product_tree_round r = {a, first, next};
        result.value = next == end ? value : NULL;
        bf_cuda_launch_pieces(job->dtype, r, tree, stream);
        cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) return error;
        bf_cuda_product_tree_join<<<1, JOIN_THREADS, 0, stream>>>(r, tree, first == begin, result);
        error = cudaGetLastError();
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

/* --- entry points --- */

bf_status bf_cuda_product_tree_reduce_async(bf_context *context, const bf_job *job,
                                            bf_cuda_product_tree *tree,
                                            const bf_reduce_options *options, bf_value *value) {
    bf_cuda_product_tree_result result = {*options, value};
    cudaError_t error = bf_cuda_enqueue_product_tree(context, job, 0, tree, result);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "prod");
}

/* Returns the bits of the double that equals the element at p. */
static uint64_t bf_cuda_host_double(bf_dtype dtype, const char *p) {
    uint64_t bits = bf_load_bits(p, bf_dtype_bytes(dtype));
    uint32_t low = dtype == BF_F16    ? bf_f16_to_f32((uint16_t)bits)
                   : dtype == BF_BF16 ? (uint32_t)bits << 16
                                      : (uint32_t)bits;
    float x;
    if (dtype == BF_F64) return bits;
    memcpy(&x, &low, sizeof x);
    double wide = (double)x;
    memcpy(&bits, &wide, sizeof bits);
    return bits;
}

/* Absorbs the elements that complete the last leaf of the words. */
static void bf_cuda_absorb_head(const bf_job *job, const char *head, int64_t n, int64_t *words) {
    int bytes = bf_dtype_bytes(job->dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bf_cuda_host_double(job->dtype, head + i * bytes);
        bf_product_tree_count(words, bits);
        bf_product_tree_place(words, bits);
    }
}

/* Copies the first n elements to head, and computes the state of the rest. */
static cudaError_t bf_cuda_reduce_rest(bf_context *context, const bf_job *job, int64_t begin,
                                       int64_t n, bf_cuda_product_tree *tree, char *head,
                                       int64_t *rest) {
    cudaStream_t stream = context->cuda->stream;
    size_t bytes = (size_t)n * (size_t)bf_dtype_bytes(job->dtype);
    cudaError_t error = cudaSuccess;
    if (n > 0) error = cudaMemcpyAsync(head, job->a, bytes, cudaMemcpyDefault, stream);
    if (error == cudaSuccess && n < job->count) {
        bf_job behind = *job;
        bf_cuda_product_tree_result none = {};
        behind.a = (const char *)job->a + bytes;
        behind.count -= n;
        error = bf_cuda_enqueue_product_tree(context, &behind, begin + n, tree, none);
        if (error == cudaSuccess)
            error = cudaMemcpyAsync(rest, tree->words, sizeof tree->words, cudaMemcpyDeviceToHost,
                                    stream);
    }
    cudaError_t waited = cudaStreamSynchronize(stream);
    return error == cudaSuccess ? waited : error;
}

bf_status bf_cuda_product_tree_reduce(bf_context *context, const bf_job *job,
                                      bf_cuda_product_tree *tree, int64_t *words) {
    char head[BF_LEAF * sizeof(double)];
    int64_t rest[BF_PRODUCT_TREE_WORDS_MAX]; /* it has no head, but the append reads one */
    int64_t n = (BF_LEAF - words[BF_PRODUCT_TREE_END] % BF_LEAF) % BF_LEAF;
    if (n > job->count) n = job->count;
    cudaError_t error =
        bf_cuda_reduce_rest(context, job, words[BF_PRODUCT_TREE_END], n, tree, head, rest);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "prod");
    bf_environment environment = bf_environment_enter();
    bf_cuda_absorb_head(job, head, n, words);
    if (n < job->count) bf_product_tree_append(words, rest);
    bf_environment_leave(environment);
    return BF_OK;
}
