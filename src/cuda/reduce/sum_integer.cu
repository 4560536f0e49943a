/* Exact sums of integers and bools. */
#include "cuda/reduce/extreme.cuh"
#include "cuda/reduce/sum_integer.cuh"

template <bf_dtype D> static const bf_cuda_reduction *of_kind(bf_kind kind) {
    switch (kind) {
    case BF_KIND_SUM:
        return bf_cuda_reduction_of<bf_cuda_integer_loop<D, BF_KIND_SUM, bf_cuda_none>>();
    case BF_KIND_SQUARES:
        return bf_cuda_reduction_of<bf_cuda_integer_loop<D, BF_KIND_SQUARES, bf_cuda_none>>();
    case BF_KIND_MOMENTS:
        return bf_cuda_reduction_of<bf_cuda_integer_loop<D, BF_KIND_MOMENTS, bf_cuda_none>>();
    case BF_KIND_PRODUCTS:
        return bf_cuda_reduction_of<bf_cuda_integer_loop<D, BF_KIND_PRODUCTS, bf_cuda_none>>();
    case BF_KIND_DESCRIPTION:
        return bf_cuda_reduction_of<
            bf_cuda_integer_loop<D, BF_KIND_DESCRIPTION, bf_cuda_extremes<D>>>();
    default: return nullptr;
    }
}

const bf_cuda_reduction *bf_cuda_reduction_integer(bf_kind kind, bf_dtype dtype) {
    switch (dtype) {
    case BF_BOOL: return of_kind<BF_BOOL>(kind);
    case BF_I8: return of_kind<BF_I8>(kind);
    case BF_I16: return of_kind<BF_I16>(kind);
    case BF_I32: return of_kind<BF_I32>(kind);
    case BF_I64: return of_kind<BF_I64>(kind);
    case BF_U8: return of_kind<BF_U8>(kind);
    case BF_U16: return of_kind<BF_U16>(kind);
    case BF_U32: return of_kind<BF_U32>(kind);
    case BF_U64: return of_kind<BF_U64>(kind);
    default: return nullptr;
    }
}
