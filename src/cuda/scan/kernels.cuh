/* The kernels of scans, of any states S:
 *
 *   S::Element, S::Result     unsigned integers of the size of elements, and of most results
 *   S::none()                 the state of no elements
 *   s.take(p, bits)           an element comes behind those of s
 *   s.settle()                after some elements, before there are too many
 *   s.join(other)             the elements of another state come; both are settled, and so is s
 *   s.result(p, first, &ok)   the bits of the result of s; first: it is that of no elements
 *   s.is_exact(p)             whether s, of a whole line, held all sums of its elements */
#ifndef BF_CUDA_SCAN_KERNELS_CUH
#define BF_CUDA_SCAN_KERNELS_CUH

#include "cuda/runtime/element.cuh"
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/scan.cuh"

namespace bf_cuda_scan {

using bf_cuda_element::store_bits;

enum { THREADS = BF_CUDA_SCAN_THREADS, WARPS = THREADS / BF_CUDA_WARP };

/* --- states between threads --- */

template <class S, class Move> __device__ __forceinline__ S moved(const S &s, const Move &move) {
    static_assert(sizeof(S) % 4 == 0, "no whole words");
    uint32_t words[sizeof(S) / 4];
    memcpy(words, &s, sizeof s);
#pragma unroll
    for (uint32_t &word : words) word = move(word);
    S other;
    memcpy(&other, words, sizeof s);
    return other;
}

/* The state of the elements of all lanes up to this one. */
template <class S> __device__ __forceinline__ S join_up_to(S s) {
    const unsigned lane = threadIdx.x % BF_CUDA_WARP;
#pragma unroll
    for (int d = 1; d < BF_CUDA_WARP; d *= 2) {
        S before = moved(s, [d](uint32_t x) { return __shfl_up_sync(~0u, x, d); });
        if (lane >= (unsigned)d) {
            before.join(s);
            s = before;
        }
    }
    return s;
}

/* The state of the lanes before this one; up_to is what join_up_to gave. */
template <class S> __device__ __forceinline__ S before_lane(const S &up_to) {
    const S s = moved(up_to, [](uint32_t x) { return __shfl_up_sync(~0u, x, 1); });
    return threadIdx.x % BF_CUDA_WARP == 0 ? S::none() : s;
}

template <class S> __device__ __forceinline__ S of_lane(const S &s, int lane) {
    return moved(s, [lane](uint32_t x) { return __shfl_sync(~0u, x, lane); });
}

template <class S> __device__ __forceinline__ S join_lanes(S s) {
#pragma unroll
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2)
        s.join(moved(s, [d](uint32_t x) { return __shfl_xor_sync(~0u, x, d); }));
    return s;
}

/* The state of all threads of the block before this one, and of all. */
template <class S> __device__ __forceinline__ S before_thread(const S &mine, S *all) {
    __shared__ S totals[WARPS];
    const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
    const S up_to = join_up_to(mine);
    if (lane == BF_CUDA_WARP - 1) totals[warp] = up_to;
    __syncthreads();
    S before = S::none();
    *all = before;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        if (w == warp) before = *all;
        all->join(totals[w]);
    }
    before.join(before_lane(up_to));
    return before;
}

/* --- results --- */

template <class S>
__device__ __forceinline__ uint64_t result_of(const bf_cuda_scan_params &p, const S &s,
                                              bool first) {
    bool ok = true;
    const uint64_t bits = s.result(p, first, &ok);
    if (!ok) p.board->failed = 1;
    return bits;
}

/* Makes the element the next one of s, and returns its result. */
template <class S>
__device__ __forceinline__ uint64_t take_next(const bf_cuda_scan_params &p, S *s,
                                              typename S::Element bits, int64_t i) {
    if (!p.exclusive) s->take(p, bits);
    const uint64_t result = result_of(p, *s, p.exclusive && i == 0);
    if (p.exclusive) s->take(p, bits);
    return result;
}

template <class S>
__device__ __forceinline__ void end_line(const bf_cuda_scan_params &p, const S &all, int64_t line) {
    if (all.is_exact(p)) return;
    const unsigned long long i = atomicAdd(&p.board->marked, 1ull);
    if (i < BF_CUDA_SCAN_MARKS) p.marked[i] = line;
}

/* --- tiles --- */

enum {
    NOTHING,
    OWN,
    UP_TO
}; /* what is known of a tile: its own state, or that of the line up to it */

/* A slot has the words of a state, each with what it is of in its upper half: a word is written and
 * read whole, so nobody waits for the order of writes (NCCL's LL protocol). */
template <class S> constexpr int words_of = (int)(sizeof(S) / 4);

template <class S>
__device__ __forceinline__ void tell(const bf_cuda_scan_params &p, int64_t tile, uint32_t known,
                                     const S &s) {
    volatile uint64_t *slot = p.slots + tile * words_of<S>;
    uint32_t words[words_of<S>];
    memcpy(words, &s, sizeof s);
#pragma unroll
    for (int k = 0; k < words_of<S>; k++) slot[k] = (uint64_t)known << 32 | words[k];
}

/* Waits for a tile's state; returns what it is. */
template <class S>
__device__ __forceinline__ uint32_t ask(const bf_cuda_scan_params &p, int64_t tile, S *s) {
    const volatile uint64_t *slot = p.slots + tile * words_of<S>;
    uint64_t halves[words_of<S>];
    for (bool whole = false; !whole;) {
#pragma unroll
        for (int k = 0; k < words_of<S>; k++) halves[k] = slot[k];
        whole = halves[0] >> 32 != NOTHING;
#pragma unroll
        for (int k = 1; k < words_of<S>; k++) whole = whole && halves[k] >> 32 == halves[0] >> 32;
    }
    uint32_t words[words_of<S>];
#pragma unroll
    for (int k = 0; k < words_of<S>; k++) words[k] = (uint32_t)halves[k];
    memcpy(s, words, sizeof *s);
    return (uint32_t)(halves[0] >> 32);
}

/* The state of the line's tiles before this one, of which there are some. One warp calls. */
template <class S>
__device__ __forceinline__ S look_back(const bf_cuda_scan_params &p, int64_t tile) {
    const int lane = threadIdx.x % BF_CUDA_WARP;
    const int64_t first = tile / p.line_tiles * p.line_tiles;
    S before = S::none();
    for (int64_t last = tile - 1;; last -= BF_CUDA_WARP) {
        S s = S::none();
        const uint32_t known = last - lane >= first ? ask(p, last - lane, &s) : UP_TO;
        const unsigned ends = __ballot_sync(~0u, known == UP_TO);
        if (ends != 0 && lane >= __ffs((int)ends)) s = S::none();
        s = join_lanes(s);
        s.join(before);
        before = s;
        if (ends != 0) return before;
    }
}

/* Where element i of a tile lies in shared memory: those of a thread follow each other, and
 * neighbouring threads begin at different banks. */
constexpr __host__ __device__ __forceinline__ int spread(int i) { return i + i / 32; }

template <class S> struct tile_of {
    typedef typename S::Element Element;
    typedef typename S::Result Result;
    static constexpr bool is_even =
        sizeof(Element) == sizeof(Result); /* results replace elements */
    static constexpr int widest = sizeof(Element) > sizeof(Result) ? sizeof(Element)
                                                                   : sizeof(Result);
    static constexpr int each = widest == 8 ? 8 : 16, elements = each * THREADS;
    static constexpr int blocks = sizeof(S) > 16 ? 3 : 4; /* a multiprocessor holds so many */
};

/* Elements of a thread: registers have them, where results do not lie as they do. */
template <class S> struct own_elements {
    typename S::Element x[tile_of<S>::is_even ? 1 : tile_of<S>::each];
};

template <class S>
__global__ void __launch_bounds__(THREADS, tile_of<S>::blocks)
    scan_tiles(const __grid_constant__ bf_cuda_scan_params p) {
    typedef typename S::Element Element;
    typedef typename S::Result Result;
    constexpr int each = tile_of<S>::each, most = tile_of<S>::elements;
    constexpr bool is_even = tile_of<S>::is_even;
    __shared__ uint64_t room[(spread(most - 1) + 1) * tile_of<S>::widest / 8 + 1];
    __shared__ int64_t ticket;
    __shared__ S carried;
    Element *const elements = (Element *)room;
    Result *const results = (Result *)room;
    const int t = (int)threadIdx.x;
    if (t == 0) ticket = (int64_t)atomicAdd(&p.board->tickets, 1ull);
    __syncthreads();
    const int64_t tile = ticket, line = tile / p.line_tiles;
    const int64_t first = tile % p.line_tiles * most;
    const int n = (int)(p.length - first < most ? p.length - first : most);
    const int64_t begin = bf_cuda_scan_at(p, line, first);
    const int64_t step = p.reverse ? -p.inner : p.inner;
    {
        Element x[each];
#pragma unroll
        for (int k = 0; k < each; k++) {
            const int i = k * THREADS + t;
            if (i < n) x[k] = ((const Element *)p.elements)[begin + i * step];
        }
#pragma unroll
        for (int k = 0; k < each; k++) elements[spread(k * THREADS + t)] = x[k];
    }
    __syncthreads();
    own_elements<S> own;
    S mine = S::none(), all;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const Element x = elements[spread(t * each + k)];
        if (!is_even) own.x[is_even ? 0 : k] = x;
        if (t * each + k < n) mine.take(p, x);
    }
    mine.settle();
    const S before = before_thread(mine, &all);
    if (t < BF_CUDA_WARP) {
        if (t == 0) tell(p, tile, first == 0 ? UP_TO : OWN, all);
        S up_to = S::none();
        if (first > 0) {
            up_to = look_back<S>(p, tile);
            if (t == 0) carried = up_to;
            up_to.join(all);
            if (t == 0) tell(p, tile, UP_TO, up_to);
        } else if (t == 0) {
            carried = up_to;
        }
    }
    __syncthreads();
    S s = carried;
    s.join(before);
    const bool usual = p.to_bytes == (int)sizeof(Result);
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = t * each + k;
        if (i >= n) break;
        const Element x = is_even ? elements[spread(i)] : own.x[is_even ? 0 : k];
        const uint64_t bits = take_next(p, &s, x, first + i);
        if (usual)
            results[spread(i)] = (Result)bits;
        else
            store_bits(p.values, p.to_bytes, begin + i * step, bits);
    }
    if (first + n == p.length && t == (n - 1) / each) end_line(p, s, line);
    if (!usual) return;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = k * THREADS + t;
        if (i < n) ((Result *)p.values)[begin + i * step] = results[spread(i)];
    }
}

/* --- a warp a line --- */

template <class S>
__global__ void __launch_bounds__(THREADS)
    scan_by_warps(const __grid_constant__ bf_cuda_scan_params p) {
    typedef typename S::Element Element;
    const int lane = threadIdx.x % BF_CUDA_WARP;
    const int64_t lines = p.outer * p.inner;
    int64_t line = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / BF_CUDA_WARP;
    for (; line < lines; line += (int64_t)gridDim.x * WARPS) {
        S carried = S::none();
        for (int64_t first = 0; first < p.length; first += BF_CUDA_WARP) {
            const int64_t i = first + lane;
            const bool is_there = i < p.length;
            const int64_t at = is_there ? bf_cuda_scan_at(p, line, i) : 0;
            const Element x = is_there ? ((const Element *)p.elements)[at] : 0;
            S mine = S::none();
            if (is_there) mine.take(p, x);
            mine.settle();
            const S up_to = join_up_to(mine);
            S s = carried;
            s.join(before_lane(up_to));
            if (is_there) store_bits(p.values, p.to_bytes, at, take_next(p, &s, x, i));
            carried.join(of_lane(up_to, BF_CUDA_WARP - 1));
        }
        if (lane == 0) end_line(p, carried, line);
    }
}

/* --- a thread a line --- */

template <class S>
__global__ void __launch_bounds__(THREADS)
    scan_columns(const __grid_constant__ bf_cuda_scan_params p) {
    typedef typename S::Element Element;
    for (int64_t line : bf_cuda_indices<THREADS>(p.outer * p.inner)) {
        S s = S::none();
        int64_t at = bf_cuda_scan_at(p, line, 0);
        const int64_t step = p.reverse ? -p.inner : p.inner;
#pragma unroll 4
        for (int64_t i = 0; i < p.length; i++, at += step) {
            const Element x = ((const Element *)p.elements)[at];
            store_bits(p.values, p.to_bytes, at, take_next(p, &s, x, i));
            s.settle();
        }
        end_line(p, s, line);
    }
}

template <class S> bf_cuda_scan_kernels kernels_of() {
    return {(const void *)scan_tiles<S>, (const void *)scan_by_warps<S>,
            (const void *)scan_columns<S>, tile_of<S>::elements, (int)sizeof(S)};
}

} // namespace bf_cuda_scan

#endif
