/* Kernels of element-wise operations on integers and bools. */
#include "cuda/map/vector.cuh"

const void *bf_cuda_map_integer_kernel(bf_map_op op, bf_dtype work) {
    switch (work) {
    case BF_BOOL: return bf_cuda_map::kernel_of<BF_BOOL>(op);
    case BF_I8: return bf_cuda_map::kernel_of<BF_I8>(op);
    case BF_I16: return bf_cuda_map::kernel_of<BF_I16>(op);
    case BF_I32: return bf_cuda_map::kernel_of<BF_I32>(op);
    case BF_I64: return bf_cuda_map::kernel_of<BF_I64>(op);
    case BF_U8: return bf_cuda_map::kernel_of<BF_U8>(op);
    case BF_U16: return bf_cuda_map::kernel_of<BF_U16>(op);
    case BF_U32: return bf_cuda_map::kernel_of<BF_U32>(op);
    case BF_U64: return bf_cuda_map::kernel_of<BF_U64>(op);
    default: return nullptr;
    }
}
