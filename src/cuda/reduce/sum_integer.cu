/* Exact sums of integers and bools. */
#include "cuda/reduce/sum.cuh"

template <bf_dtype D> static const bf_cuda_reduction *bf_cuda_sum_if_integer(bf_kind kind) {
    if constexpr (bf_cuda_element::is_float(D))
        return nullptr;
    else
        return bf_cuda_sum<D>(kind, false);
}

const bf_cuda_reduction *bf_cuda_sum_integer(bf_kind kind, bf_dtype dtype) {
    switch (dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return bf_cuda_sum_if_integer<BF_##id>(kind);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}
