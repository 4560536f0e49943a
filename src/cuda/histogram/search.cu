/* Histograms of bins with edges of any spacing. */
#include "cuda/histogram/rows.cuh"

const void *bf_cuda_count_searched(bf_dtype dtype, bool cached) {
    using namespace bf_cuda_counting;
    return bf_bin_is_single(dtype) ? kernel_of_single<search_rule<float>>(dtype, cached)
                                   : kernel_of_double<search_rule<double>>(dtype, cached);
}

const void *bf_cuda_count_by_steps(bf_dtype dtype, bool cached) {
    using namespace bf_cuda_counting;
    return dtype == BF_U64 ? kernel_of<BF_U64, step_rule>(cached)
                           : kernel_of<BF_I64, step_rule>(cached);
}
