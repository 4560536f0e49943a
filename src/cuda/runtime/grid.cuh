/* How the blocks of one launch combine their results into one.
 *
 * Every block draws a ticket as it starts. All but the one with the last ticket publish their
 * results in a slot each, as packets: 16 bytes {x, y} with a bit that says "valid", written at once
 * (as CUB writes its tile states), so that no fence is needed. The block that started last polls
 * the slots, because all others then run or are done. It clears them for the next launch, and has
 * the total. Tickets wrap around by themselves. So a call needs no memset, no second launch and no
 * synchronization, and a launch in a CUDA graph can be replayed. */
#ifndef BF_CUDA_RUNTIME_GRID_CUH
#define BF_CUDA_RUNTIME_GRID_CUH

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/warp.cuh"

enum { BF_CUDA_FLAG_BITS = 4 /* a packet has so many besides its numbers */ };

/* --- packets --- */

/* Publishes 64 bits, 58 more with a sign, and flags. */
static __device__ __forceinline__ void bf_cuda_publish(bf_cuda_packet *at, int64_t x, int64_t y,
                                                       unsigned flags) {
    uint64_t valid = ((uint64_t)y << BF_CUDA_FLAG_BITS | flags) << 1 | 1;
    bf_cuda_store_packet(at, (uint64_t)x, valid);
}

/* Waits for a packet, of which p has been read, and clears it. */
static __device__ __forceinline__ void bf_cuda_collect(bf_cuda_packet *at, bf_cuda_packet p,
                                                       int64_t *x, int64_t *y, unsigned *flags) {
    while (!(p.y & 1)) p = bf_cuda_load_packet(at);
    bf_cuda_store_packet(at, 0, 0);
    *x = (int64_t)p.x;
    *y = (int64_t)p.y >> (1 + BF_CUDA_FLAG_BITS);
    *flags = (unsigned)(p.y >> 1) & ((1u << BF_CUDA_FLAG_BITS) - 1);
}

/* --- exact sums over warps and blocks --- */

/* The number lo + hi * 2^32. */
struct bf_cuda_pair {
    int64_t lo, hi;
};

/* Returns the sum over the warp, from three parts that 32-bit reductions add without overflow. */
static __device__ __forceinline__ bf_cuda_pair bf_cuda_warp_sum(int64_t v) {
    const unsigned mask = (1u << 26) - 1;
    const uint64_t p0 = bf_cuda_warp_total((unsigned)v & mask);
    const uint64_t p1 = bf_cuda_warp_total((unsigned)(v >> 26) & mask);
    const int64_t p2 = bf_cuda_warp_total((int)(v >> 52));
    uint64_t low = p0 + (p1 << 26);
    bf_cuda_pair sum;
    sum.lo = (int64_t)(low & 0xffffffffu);
    sum.hi = (int64_t)(low >> 32) + p2 * (1 << 20);
    return sum;
}

static __device__ __forceinline__ bf_cuda_pair bf_cuda_pair_add(bf_cuda_pair a, bf_cuda_pair b) {
    a.lo += b.lo;
    a.hi += b.hi;
    return a;
}

/* Returns the sum of a warp's pairs, with lo < 2^57. */
static __device__ __forceinline__ bf_cuda_pair bf_cuda_warp_sum_pair(bf_cuda_pair v) {
    bf_cuda_pair lo = bf_cuda_warp_sum(v.lo), hi = bf_cuda_warp_sum(v.hi), sum;
    sum.lo = lo.lo;
    sum.hi = lo.hi + hi.lo + (hi.hi << 32);
    return sum;
}

#endif
