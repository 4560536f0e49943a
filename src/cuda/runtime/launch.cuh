/* How kernels are launched. */
#ifndef BF_CUDA_RUNTIME_LAUNCH_CUH
#define BF_CUDA_RUNTIME_LAUNCH_CUH

#include "cuda/runtime/context.cuh"

/* --- a launch that overlaps the end of the one before (compute capability 9.0) --- */

static __device__ __forceinline__ void bf_cuda_wait_for_end() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
static __device__ __forceinline__ void bf_cuda_let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
static __device__ __forceinline__ void bf_cuda_wait_for_previous() {
    bf_cuda_wait_for_end();
    bf_cuda_let_next_begin();
}

#endif
