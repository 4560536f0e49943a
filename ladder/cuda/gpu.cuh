/* What the GPU's rungs share. */
#ifndef BITFOLD_LADDER_CUDA_GPU_CUH
#define BITFOLD_LADDER_CUDA_GPU_CUH

#include "ladder/ladder.h"
#include "ladder/ours.h"

#include <cuda_runtime.h>

extern const ladder_rung ladder_gpu_limit[], ladder_gpu_julia[], ladder_gpu_numbers[],
    ladder_gpu_reduce[], ladder_gpu_scan[], ladder_gpu_add[], ladder_gpu_dot[],
    ladder_gpu_constant[], ladder_gpu_atomics[], ladder_gpu_histogram[], ladder_gpu_build[],
    ladder_gpu_find[];

static inline const char *why(cudaError_t error) {
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

/* Reports a launch that failed, for lack of memory or by a wrong grid. */
static inline const char *launched() { return why(cudaGetLastError()); }

static inline cudaStream_t stream_of(const ladder_task *t) {
    return static_cast<cudaStream_t>(t->stream);
}

/* The number of blocks of `threads` that gives each of n elements a thread; at least one. */
static inline unsigned blocks_for(int64_t n, int threads) {
    return n > 0 ? static_cast<unsigned>((n + threads - 1) / threads) : 1;
}

/* The number of blocks for so many on each multiprocessor; no more than there is room for partial
 * results. */
static inline int resident_blocks(const ladder_task *t, int each) {
    const int blocks = t->processors * each;
    return blocks < LADDER_PARTIALS ? blocks : LADDER_PARTIALS;
}

/* The first element of a thread, and its step, when the whole grid strides over an array with more
 * elements than threads. */
static __device__ __forceinline__ int64_t grid_thread() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ int64_t grid_threads() {
    return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

/* Publishes a block's value, which its thread 0 has, and tells all its threads whether the block is
 * the last of the grid to do so: then all values are there. The fence makes the value visible
 * before the ticket is drawn; atomicInc turns the ticket of the last block back to 0, so that the
 * next launch finds it ready. */
template <typename T> static __device__ bool is_last_block(T value, T *partial, unsigned *ticket) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = value;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

#endif
