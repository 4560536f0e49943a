/* Copies to shared memory that go on while a thread does something else. Those that a thread has
 * begun since the last end_group() are a group. */
#ifndef BF_CUDA_AXIS_COPIES_CUH
#define BF_CUDA_AXIS_COPIES_CUH

#include "cuda/axis/axis.cuh"

struct bf_cuda_axis_copies {
    /* Begins to copy 4, 8 or 16 bytes, from and to multiples of them. */
    template <int bytes> static __device__ __forceinline__ void begin(void *to, const char *from) {
#if __CUDA_ARCH__ >= 800
        const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
        if constexpr (bytes == 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from)
                         : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from),
                         "n"(bytes)
                         : "memory");
#else
        memcpy(__builtin_assume_aligned(to, bytes), __builtin_assume_aligned(from, bytes), bytes);
#endif
    }
    static __device__ __forceinline__ void end_group() {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;" ::: "memory");
#endif
    }
    /* No more than n groups are under way. */
    template <int n> static __device__ __forceinline__ void wait_for_groups() {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
    }
};

#endif
