/* States that threads and blocks hand to each other:
 *
 *   S::none()                 the state of no elements
 *   s.join(other)             the elements of another state come; both are settled, and so is s
 *
 * All threads of a block, or of a warp, call what joins theirs. */
#ifndef BF_CUDA_SCAN_STATES_CUH
#define BF_CUDA_SCAN_STATES_CUH

#include "cuda/runtime/warp.cuh"
#include "cuda/scan/scan.cuh"

namespace bf_cuda_scan {

enum { THREADS = BF_CUDA_SCAN_THREADS, WARPS = THREADS / BF_CUDA_WARP };

/* --- states between threads --- */

template <class S, class Move> __device__ __forceinline__ S moved(const S &s, const Move &move) {
    typedef std::conditional_t<alignof(S) == 8, unsigned long long, uint32_t> Word;
    static_assert(sizeof(S) % sizeof(Word) == 0, "no whole words");
    Word words[sizeof(S) / sizeof(Word)];
    memcpy(words, &s, sizeof s);
#pragma unroll
    for (Word &word : words) word = move(word);
    S other;
    memcpy(&other, words, sizeof s);
    return other;
}

/* The state of the elements of all lanes up to this one, if it is one of the first `lanes`. */
template <int lanes = BF_CUDA_WARP, class S> __device__ __forceinline__ S join_up_to(S s) {
    const unsigned lane = threadIdx.x % BF_CUDA_WARP;
#pragma unroll
    for (int d = 1; d < lanes; d *= 2) {
        S before = moved(s, [d](auto x) { return __shfl_up_sync(~0u, x, d); });
        if (lane >= (unsigned)d) {
            before.join(s);
            s = before;
        }
    }
    return s;
}

/* The state of the lanes before this one; up_to is what join_up_to gave. */
template <class S> __device__ __forceinline__ S before_lane(const S &up_to) {
    const S s = moved(up_to, [](auto x) { return __shfl_up_sync(~0u, x, 1); });
    return threadIdx.x % BF_CUDA_WARP == 0 ? S::none() : s;
}

template <class S> __device__ __forceinline__ S of_lane(const S &s, int lane) {
    return moved(s, [lane](auto x) { return __shfl_sync(~0u, x, lane); });
}

/* The state of all threads of the block, of so many warps; thread 0 gets it. */
template <int warps = WARPS, class S> __device__ __forceinline__ S join_threads(S s) {
    __shared__ S totals[warps];
    const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
#pragma unroll
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2)
        s.join(moved(s, [d](auto x) { return __shfl_down_sync(~0u, x, d); }));
    if (lane == 0) totals[warp] = s;
    __syncthreads();
    s = totals[lane % warps];
#pragma unroll
    for (int d = warps / 2; d > 0; d /= 2)
        s.join(moved(s, [d](auto x) { return __shfl_down_sync(~0u, x, d); }));
    return s;
}

/* The state of all threads of the block before this one, and of all. */
template <int warps = WARPS, class S>
__device__ __forceinline__ S before_thread(const S &mine, S *all) {
    __shared__ S totals[warps];
    const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
    const S up_to = join_up_to(mine);
    if (lane == BF_CUDA_WARP - 1) totals[warp] = up_to;
    __syncthreads();
    const S up_to_warp = join_up_to<warps>(totals[lane % warps]);
    S before = of_lane(up_to_warp, warp > 0 ? warp - 1 : 0);
    if (warp == 0) before = S::none();
    *all = of_lane(up_to_warp, warps - 1);
    before.join(before_lane(up_to));
    return before;
}
/* --- states between blocks --- */

enum { PAUSE = 50 /* ns */ };

/* A slot has the words of a state, each beside a 1: the two are written and read whole, so nobody
 * waits for the order of writes (NCCL's LL protocol). Two of each are moved at once. Beside the
 * first word is also whether a line, or a segment, begins in the tile. */
template <class S> constexpr int packets_of = (int)(sizeof(S) / 4 + 1) / 2; /* nothing has none */

constexpr uint64_t TOLD = (uint64_t)1 << 32, BEGINS = TOLD << 1;

template <class S>
__device__ __forceinline__ void tell(bf_cuda_packet *slots, int64_t tile, const S &s,
                                     bool begins = false) {
    uint32_t words[2 * packets_of<S>] = {};
    memcpy(words, &s, sizeof s);
#pragma unroll
    for (int k = 0; k < packets_of<S>; k++)
        bf_cuda_store_packet(slots + tile * packets_of<S> + k,
                             TOLD | (k == 0 && begins ? BEGINS : 0) | words[2 * k],
                             TOLD | words[2 * k + 1]);
}

/* What a slot holds. */
template <class S> struct told {
    bf_cuda_packet packets[packets_of<S>];
    __device__ __forceinline__ bool is_whole() const {
        uint64_t all = TOLD;
#pragma unroll
        for (const bf_cuda_packet &packet : packets) all &= packet.x & packet.y;
        return all != 0;
    }
    __device__ __forceinline__ bool begins() const { return (packets[0].x & BEGINS) != 0; }
    __device__ __forceinline__ S state() const {
        uint32_t words[2 * packets_of<S>];
        S s;
#pragma unroll
        for (int k = 0; k < packets_of<S>; k++) {
            words[2 * k] = (uint32_t)packets[k].x;
            words[2 * k + 1] = (uint32_t)packets[k].y;
        }
        memcpy(&s, words, sizeof s);
        return s;
    }
};

template <class S>
__device__ __forceinline__ told<S> look(const bf_cuda_packet *slots, int64_t tile) {
    told<S> found;
#pragma unroll
    for (int k = 0; k < packets_of<S>; k++)
        found.packets[k] = bf_cuda_load_packet(slots + tile * packets_of<S> + k);
    return found;
}

template <class S> __device__ __forceinline__ S ask(const bf_cuda_packet *slots, int64_t tile) {
    told<S> found = look<S>(slots, tile);
    while (!found.is_whole()) {
        __nanosleep(PAUSE); /* who asks all the time delays those who tell */
        found = look<S>(slots, tile);
    }
    return found.state();
}

/* A state, or that of the part of it that is in the line, or segment, of the last element. */
template <class S> struct in_line {
    S s;
    uint32_t begins; /* one begins among these elements */
    static __device__ __forceinline__ in_line none() { return {S::none(), 0}; }
    __device__ __forceinline__ void join(const in_line &next) {
        if (next.begins) s = S::none();
        s.join(next.s);
        begins |= next.begins;
    }
};

} // namespace bf_cuda_scan

#endif
