/* What the lanes of a warp, or the warps of a block, find together. All of them call. */
#ifndef BF_CUDA_RUNTIME_WARP_CUH
#define BF_CUDA_RUNTIME_WARP_CUH

#include "cuda/runtime/ptx.cuh"

enum { BF_CUDA_WARP = 32 };

/* Returns what join(x, y), which commutes, makes of all lanes' x. GPUs have instructions for some
 * joins of 32 bits. */
template <class T, class Join>
static __device__ __forceinline__ T bf_cuda_warp_join(T x, const Join &join) {
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2) x = join(x, __shfl_xor_sync(~0u, x, d));
    return x;
}
template <class T> static __device__ __forceinline__ T bf_cuda_warp_total(T x) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_add_sync(~0u, x);
    else
#endif
        return bf_cuda_warp_join(x, [](T a, T b) { return a + b; });
}
template <class T> static __device__ __forceinline__ T bf_cuda_warp_least(T x) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_min_sync(~0u, x);
    else
#endif
        return bf_cuda_warp_join(x, [](T a, T b) { return b < a ? b : a; });
}
template <class T> static __device__ __forceinline__ T bf_cuda_warp_most(T x) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_max_sync(~0u, x);
    else
#endif
        return bf_cuda_warp_join(x, [](T a, T b) { return b > a ? b : a; });
}
/* Returns the bits that are set in any lane. */
template <class T> static __device__ __forceinline__ T bf_cuda_warp_or(T x) {
#if __CUDA_ARCH__ >= 800
    if constexpr (sizeof(T) == 4)
        return __reduce_or_sync(~0u, x);
    else
#endif
        return bf_cuda_warp_join(x, [](T a, T b) { return a | b; });
}

/* Adds the sum over the lanes to *to. */
template <class T, class To> static __device__ __forceinline__ void bf_cuda_warp_add(T x, To *to) {
    x = bf_cuda_warp_total(x);
    if (threadIdx.x % BF_CUDA_WARP == 0 && x > 0) atomicAdd(to, (To)x);
}

/* Returns the sum over the lanes up to this one. */
template <class T> static __device__ __forceinline__ T bf_cuda_warp_sum_up_to(T x) {
#pragma unroll
    for (int d = 1; d < BF_CUDA_WARP; d *= 2) {
        const T other = __shfl_up_sync(~0u, x, d);
        if (threadIdx.x % BF_CUDA_WARP >= (unsigned)d) x += other;
    }
    return x;
}

/* Returns the sum over the threads of a block before this one; *all: over all threads, of so many
 * warps. The caller synchronizes between two calls. */
template <int warps, class T>
static __device__ __forceinline__ T bf_cuda_block_sum_before(T mine, T *all) {
    __shared__ T sums[warps];
    const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
    const T sum = bf_cuda_warp_sum_up_to(mine);
    if (lane == BF_CUDA_WARP - 1) sums[warp] = sum;
    __syncthreads();
    T before = 0, total = 0;
    if constexpr (warps == BF_CUDA_WARP) {
        const T up_to = bf_cuda_warp_sum_up_to(sums[lane]);
        total = __shfl_sync(~0u, up_to, BF_CUDA_WARP - 1);
        before = __shfl_sync(~0u, up_to - sums[lane], warp);
    } else {
#pragma unroll 4
        for (int w = 0; w < warps; w++) {
            if (w == warp) before = total;
            total += sums[w];
        }
    }
    *all = total;
    return before + sum - mine;
}

/* Calls put(k, the sum before k, number k) for all numbers get(k) of a block's threads, of so many
 * warps; the sum before the first is `sum`. Returns the sum of all. */
template <int warps, class I, class T, class Get, class Put>
static __device__ __forceinline__ T bf_cuda_block_sums(I n, T sum, const Get &get, const Put &put) {
    for (I first = 0; first < n; first += warps * BF_CUDA_WARP) {
        const I k = first + (I)threadIdx.x;
        const T mine = k < n ? get(k) : 0;
        T all;
        const T before = sum + bf_cuda_block_sum_before<warps>(mine, &all);
        if (k < n) put(k, before, mine);
        sum += all;
        __syncthreads();
    }
    return sum;
}

/* Returns the sum of the copies of a counter, each of which started at `start`. Their number is a
 * power of two; threads begin with different ones, which lie in different banks. */
static __device__ __forceinline__ int64_t bf_cuda_sum_of_copies(const unsigned *counter,
                                                                unsigned copies, unsigned start) {
    int64_t sum = 0;
    for (unsigned c = 0; c < copies; c++)
        sum += (int64_t)counter[(c + threadIdx.x) & (copies - 1)] - start;
    return sum;
}

/* Returns the lanes with the same digit, of so many bits. */
static __device__ __forceinline__ uint32_t bf_cuda_same_digit(uint32_t digit, int bits) {
    uint32_t same = ~0u;
#pragma unroll
    for (int b = 0; b < 8; b += 2) same = bf_cuda_same_bits(same, digit, 1u << b, 2u << b);
#pragma unroll 1
    for (int b = 8; b < bits; b += 2) same = bf_cuda_same_bits(same, digit, 1u << b, 2u << b);
    return same;
}

#endif
