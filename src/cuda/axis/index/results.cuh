/* Results of sums: in registers, or from the words of a state. */
#ifndef BF_CUDA_AXIS_INDEX_RESULTS_CUH
#define BF_CUDA_AXIS_INDEX_RESULTS_CUH

#include "cuda/axis/exact/rounding.cuh"
#include "cuda/axis/index/index.cuh"

static __device__ __forceinline__ bf_cuda_axis_asked
bf_cuda_index_asked(const bf_cuda_index_params &p) {
    return {p.kind, p.op, p.to, p.options.nan, p.options.ddof};
}

/* Returns a thread's words, and room for their arithmetic. */
static __device__ __forceinline__ int64_t *bf_cuda_index_thread_words(const bf_cuda_index_params &p,
                                                                      bf_work **work) {
    size_t each = (size_t)p.words + (sizeof(bf_work) + 7) / 8;
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t *words = p.thread_words + thread * each;
    *work = (bf_work *)(words + p.words);
    return words;
}

/* Writes the result of a state's words, which it may carry. */
static __device__ __noinline__ void bf_cuda_index_finish(const bf_cuda_index_params &p, int64_t r,
                                                         int64_t *words, bf_work *work) {
    const bf_sum_shape shape = bf_sum_shape_of(p.kind, p.dtype);
    uint64_t bits;
    bool fits = true;
    if (p.options.nan == BF_NAN_ERROR && words[BF_SUM_NAN] > 0) {
        bf_cuda_index_fail(p, r, BF_CUDA_AXIS_NAN);
        return;
    }
    const auto leading = [&](bool products, bool *negative) {
        const bf_layout layout = products ? shape.products : shape.sum;
        return bf_leading_from_band(words + (products ? shape.products_at : shape.sum_at),
                                    layout.limbs, layout.exponent, negative);
    };
    if (!bf_dtype_is_float(p.to) ||
        !bf_cuda_axis_round_sums(bf_cuda_index_asked(p), words, leading, &bits)) {
        bf_sum_carry(p.kind, p.dtype, words);
        (void)bf_element_of_words(p.kind, p.op, p.dtype, words, &p.options, p.to, &bits, &fits,
                                  work);
    }
    bf_cuda_index_write(p, r, bits, fits);
}

#endif
