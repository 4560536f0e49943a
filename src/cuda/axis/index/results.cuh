/* Rounded results of sums, in registers. */
#ifndef BF_CUDA_AXIS_INDEX_RESULTS_CUH
#define BF_CUDA_AXIS_INDEX_RESULTS_CUH

#include "cuda/axis/index/index.cuh"
#include "cuda/axis/quick.cuh"

/* The magnitude of x in two doubles, but for less than 2^-105 of it. False: out of their range. */
static __device__ __forceinline__ bool bf_cuda_index_doubles(bf_leading x,
                                                             bf_cuda_axis_exactly *d) {
    const int low = x.exponent + 22, high = low + 53; /* the exponents of the last bits */
    *d = {0, 0};
    if (x.bits == 0) return true;
    if (low < -1000 || high > 900) return false;
    d->high =
        (double)(uint64_t)(x.bits >> 75) * __longlong_as_double((long long)(high + 1023) << 52);
    d->low = (double)((uint64_t)(x.bits >> 22) & (((uint64_t)1 << 53) - 1)) *
             __longlong_as_double((long long)(low + 1023) << 52);
    return true;
}

/* The result of sums, whose counters have the order of a state's words. limbs(products, &negative)
 * returns the leading bits of a sum. False: it takes more than registers; then each sum that there
 * is has been asked for. */
template <class Limbs>
static __device__ __forceinline__ bool bf_cuda_index_round(const bf_cuda_index_params &p,
                                                           const int64_t *counts,
                                                           const Limbs &limbs, uint64_t *bits) {
    const bf_format f = bf_format_of(p.to);
    const int64_t n = bf_finish_count(counts);
    const bool moments = p.kind == BF_KIND_MOMENTS, products = p.kind != BF_KIND_SUM;
    const bool special = bf_finish_special(counts, p.options.nan == BF_NAN_SKIP, f, bits);
    bool negative;
    if (special && !moments) return true;
    *bits = bf_format_nan(f);
    if (special || (moments && n <= p.options.ddof) || (p.op == BF_MEAN && n == 0)) return true;
    bf_leading x = limbs(products, &negative);
    if (moments) {
        bf_cuda_axis_exactly squares, sum;
        const bf_leading y = limbs(false, &negative);
        return bf_cuda_index_doubles(x, &squares) && bf_cuda_index_doubles(y, &sum) &&
               bf_cuda_axis_quick_variance(p.to, p.op == BF_STD, sum, squares, n, p.options.ddof,
                                           bits);
    }
    *bits = bf_finish_zero_is_negative(counts) ? bf_format_sign(f) : 0;
    if (x.bits == 0) return true;
    if (p.op == BF_MEAN) x = bf_leading_divide(x, (uint64_t)n);
    if (p.op == BF_NORM) x = bf_leading_root(x);
    *bits = bf_leading_round(f, negative, x);
    return true;
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
        bf_cuda_index_fail(p, r, BF_CUDA_INDEX_NAN);
        return;
    }
    const auto leading = [&](bool products, bool *negative) {
        const bf_layout layout = products ? shape.products : shape.sum;
        return bf_leading_from_band(words + (products ? shape.products_at : shape.sum_at),
                                    layout.limbs, layout.exponent, negative);
    };
    if (!bf_dtype_is_float(p.to) || !bf_cuda_index_round(p, words, leading, &bits)) {
        bf_sum_carry(p.kind, p.dtype, words);
        (void)bf_element_of_words(p.kind, p.op, p.dtype, words, &p.options, p.to, &bits, &fits,
                                  work);
    }
    bf_cuda_index_write(p, r, bits, fits);
}

#endif
