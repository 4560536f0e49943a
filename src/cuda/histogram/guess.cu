/* Histograms of even bins. */
#include "cuda/histogram/rows.cuh"

const void *bf_cuda_count_guessed(bf_cuda_count_method method, bf_dtype dtype, bool cached) {
    using namespace bf_cuda_counting;
    if (method == BF_CUDA_GUESS_F32) return kernel_of_single<guess_rule<float>>(dtype, cached);
    return bf_bin_is_single(dtype) ? kernel_of_single<guess_rule<double>>(dtype, cached)
                                   : kernel_of_double<guess_rule<double>>(dtype, cached);
}
