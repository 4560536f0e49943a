/* Histograms whose bins are even. */
#include "cuda/histogram/rows.cuh"

const void *bf_cuda_count_guessed(bf_cuda_finding finding, bf_dtype dtype, bool cached) {
    using namespace bf_count;
    if (finding == BF_CUDA_GUESS_F32) return kernel_of_single<guess_rule<float>>(dtype, cached);
    return bf_bin_is_single(dtype) ? kernel_of_single<guess_rule<double>>(dtype, cached)
                                   : kernel_of_double<guess_rule<double>>(dtype, cached);
}
