/* Element-wise operations where all inputs have one dtype and lie alike: 16 bytes at a time. */
#include "cuda/map/vector.cuh"

const void *bf_cuda_map_vector_kernel(bf_map_op op, bf_dtype work) {
    switch (work) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return bf_cuda_map::kernel_of<BF_##id>(op);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}
