/* Copies from memory to shared memory that go on while threads do something else
 * (cp.async, from compute capability 8.0 on). */
#ifndef BF_CUDA_AXIS_COPY_CUH
#define BF_CUDA_AXIS_COPY_CUH

#include "cuda/axis/axis.cuh"

/* Begins to copy 4, 8 or 16 bytes, from and to multiples of them. */
template <int bytes = 16>
static __device__ __forceinline__ void bf_cuda_axis_begin_copy(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes)
                     : "memory");
#else
    memcpy(__builtin_assume_aligned(to, bytes), __builtin_assume_aligned(from, bytes), bytes);
#endif
}

/* Begins to copy 16 bytes that are read once: the cache need not keep them. */
static __device__ __forceinline__ void bf_cuda_axis_begin_stream(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "l"(policy)
                 : "memory");
#else
    *(uint4 *)to = __ldcs((const uint4 *)from);
#endif
}

/* Begins to copy the first bytes of a vector. */
static __device__ __forceinline__ void bf_cuda_axis_begin_some(void *to, const void *from,
                                                               int bytes) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
#else
    for (int i = 0; i < bytes; i++) ((char *)to)[i] = ((const char *)from)[i];
#endif
}

/* The copies that this thread has begun since the last call are a group. */
static __device__ __forceinline__ void bf_cuda_axis_end_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* No more than n groups of this thread are under way. */
template <int n> static __device__ __forceinline__ void bf_cuda_axis_wait_for_groups() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

/* The copies of this thread have ended. */
static __device__ __forceinline__ void bf_cuda_axis_end_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif
