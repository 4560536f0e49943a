/* Products of floats on a GPU: the functions of product_tree.cu. */
#ifndef BF_CUDA_REDUCE_PRODUCT_TREE_CUH
#define BF_CUDA_REDUCE_PRODUCT_TREE_CUH

#include "cuda/reduce/reduce.cuh"

/* The device memory of the kernels of one stream or one CUDA graph: so many bytes, all zero before
 * the first use. */
typedef struct bf_cuda_product_tree bf_cuda_product_tree;
extern const size_t bf_cuda_product_tree_bytes;

/* Absorbs the job's elements, which the GPU can read and which are aligned, into words. The
 * context's device is the current one, here and below. */
bf_status bf_cuda_product_tree_reduce(bf_context *context, const bf_job *job,
                                      bf_cuda_product_tree *tree, int64_t *words);

/* Enqueues the whole reduction. *value becomes the result; its dtype is BF_NONE for an error. */
bf_status bf_cuda_product_tree_reduce_async(bf_context *context, const bf_job *job,
                                            bf_cuda_product_tree *tree,
                                            const bf_reduce_options *options, bf_value *value);

#endif
