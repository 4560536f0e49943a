/* Minima and maxima: a kernel for every dtype, with and without the index. */
#include "cuda/reduce/extreme.cuh"

#include "cuda/reduce/fold.cuh"

template <bf_dtype D, class E> static const bf_cuda_reduction *bf_cuda_extreme_of(bf_reduction op) {
    switch (op) {
    case BF_MIN:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<E, bf_cuda_extreme<D, false, false>>>();
    case BF_MAX:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<E, bf_cuda_extreme<D, true, false>>>();
    case BF_ARGMIN:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<E, bf_cuda_extreme<D, false, true>>>();
    default: return bf_cuda_reduction_of<bf_cuda_fold_loop<E, bf_cuda_extreme<D, true, true>>>();
    }
}

const bf_cuda_reduction *bf_cuda_reduction_extreme(bf_reduction op, bf_dtype dtype) {
    switch (dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return bf_cuda_extreme_of<BF_##id, type>(op);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}
