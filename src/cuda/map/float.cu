/* Kernels of element-wise operations on floats. */
#include "cuda/map/vector.cuh"

const void *bf_cuda_map_float_kernel(bf_map_op op, bf_dtype work) {
    switch (work) {
    case BF_F16: return bf_cuda_map::kernel_of<BF_F16>(op);
    case BF_BF16: return bf_cuda_map::kernel_of<BF_BF16>(op);
    case BF_F32: return bf_cuda_map::kernel_of<BF_F32>(op);
    case BF_F64: return bf_cuda_map::kernel_of<BF_F64>(op);
    default: return nullptr;
    }
}
