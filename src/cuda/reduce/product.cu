/* Products of integers: a kernel for every dtype. */
#include "cuda/reduce/product.cuh"

#include "cuda/reduce/fold.cuh"
#include "cuda/runtime/element.cuh"

template <bf_dtype D, class E> static const bf_cuda_reduction *bf_cuda_product_of() {
    if constexpr (bf_cuda_element::is_float(D))
        return nullptr;
    else
        return bf_cuda_reduction_of<bf_cuda_fold_loop<E, bf_cuda_product<D>>>();
}

const bf_cuda_reduction *bf_cuda_reduction_product(bf_dtype dtype) {
    switch (dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return bf_cuda_product_of<BF_##id, type>();
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}
