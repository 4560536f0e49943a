/* Instructions that C++ has no words for. */
#ifndef BF_CUDA_RUNTIME_PTX_CUH
#define BF_CUDA_RUNTIME_PTX_CUH

#include <stdint.h>

/* Shifts of which all counts have a meaning, as unsigned numbers: from 64 on nothing is left. */
static __device__ __forceinline__ uint64_t bf_cuda_shift_left(uint64_t x, int by) {
    uint64_t shifted;
    asm("shl.b64 %0, %1, %2;" : "=l"(shifted) : "l"(x), "r"(by));
    return shifted;
}
static __device__ __forceinline__ uint64_t bf_cuda_shift_right(uint64_t x, int by) {
    uint64_t shifted;
    asm("shr.u64 %0, %1, %2;" : "=l"(shifted) : "l"(x), "r"(by));
    return shifted;
}

#endif
