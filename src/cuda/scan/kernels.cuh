/* The kernels of scans, of any states S:
 *
 *   S::Element, S::Result     unsigned integers of the size of elements, and of most results
 *   S::none()                 the state of no elements
 *   s.take(p, bits)           an element comes behind those of s
 *   s.settle()                after some elements, before there are too many
 *   s.join(other)             the elements of another state come; both are settled, and so is s
 *   s.result(p, first, &wrong)  the bits of the result of s; first: it is that of no elements
 *
 * ways<S> are the ways in which a tile of them is scanned. */
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

/* The state of the elements of all lanes up to this one, if it is one of the first `lanes`. */
template <int lanes = BF_CUDA_WARP, class S> __device__ __forceinline__ S join_up_to(S s) {
    const unsigned lane = threadIdx.x % BF_CUDA_WARP;
#pragma unroll
    for (int d = 1; d < lanes; d *= 2) {
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

/* The state of all threads of the block, of so many warps; thread 0 gets it. */
template <int warps = WARPS, class S> __device__ __forceinline__ S join_threads(S s) {
    __shared__ S totals[warps];
    const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
#pragma unroll
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2)
        s.join(moved(s, [d](uint32_t x) { return __shfl_down_sync(~0u, x, d); }));
    if (lane == 0) totals[warp] = s;
    __syncthreads();
    s = totals[lane % warps];
#pragma unroll
    for (int d = warps / 2; d > 0; d /= 2)
        s.join(moved(s, [d](uint32_t x) { return __shfl_down_sync(~0u, x, d); }));
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

/* --- results --- */

/* What is wrong with a result. */
enum {
    REFUSED = 1, /* there is none, or it does not fit */
    UNSURE = 2   /* the state does not hold it: exact.cu scans the line */
};

/* Makes the element the next one of s, and returns its result. */
template <class S>
__device__ __forceinline__ uint64_t take_next(const bf_cuda_scan_params &p, S *s,
                                              typename S::Element bits, int64_t i, int *wrong) {
    if (!p.exclusive) s->take(p, bits);
    const uint64_t result = s->result(p, p.exclusive && i == 0, wrong);
    if (p.exclusive) s->take(p, bits);
    return result;
}

__device__ __forceinline__ void mark(const bf_cuda_scan_params &p, int64_t line) {
    const unsigned long long i = atomicAdd(&p.board->marked, 1ull);
    if (i < BF_CUDA_SCAN_MARKS) p.marked[i] = line;
}

/* Tells what is wrong with results of a line; once for each line. */
__device__ __forceinline__ void tell_wrong(const bf_cuda_scan_params &p, int wrong, int64_t line) {
    if (wrong & REFUSED) atomicCAS(&p.board->failed, 0ull, (unsigned long long)p.refusal);
    if (wrong & UNSURE) mark(p, line);
}

/* --- tiles --- */

enum { PAUSE = 50 /* ns */, GROUP = 4 /* elements of a thread at once */ };

/* A slot has the words of a state, each beside a 1: the two are written and read whole, so nobody
 * waits for the order of writes (NCCL's LL protocol). Two of each are moved at once. */
template <class S> constexpr int packets_of = (int)(sizeof(S) / 4 + 1) / 2;

constexpr uint64_t TOLD = (uint64_t)1 << 32;

template <class S>
__device__ __forceinline__ void tell(bf_cuda_packet *slots, int64_t tile, const S &s) {
    uint32_t words[2 * packets_of<S>] = {};
    memcpy(words, &s, sizeof s);
#pragma unroll
    for (int k = 0; k < packets_of<S>; k++)
        bf_cuda_store_packet(slots + tile * packets_of<S> + k, TOLD | words[2 * k],
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

/* A state, or that of the part of it that is in the line of the last tile. */
template <class S> struct in_line {
    S s;
    uint32_t begins; /* a line begins in these tiles */
    static __device__ __forceinline__ in_line none() { return {S::none(), 0}; }
    __device__ __forceinline__ void join(const in_line &next) {
        if (next.begins) s = S::none();
        s.join(next.s);
        begins |= next.begins;
    }
};

/* One block tells what is before each tile. It takes as many tiles as have been told, and asks for
 * the next ones meanwhile. */
template <class S> __device__ __forceinline__ void chain_tiles(const bf_cuda_scan_params &p) {
    __shared__ int known;
    in_line<S> carried = in_line<S>::none();
    const int t = (int)threadIdx.x;
    int64_t tile = t;
    told<S> next = look<S>(p.totals, tile < p.tiles ? tile : 0);
    if (t == 0) known = THREADS;
    __syncthreads();
    for (int64_t first = 0; first < p.tiles;) {
        const told<S> mine = next;
        if (tile >= p.tiles || !mine.is_whole()) atomicMin(&known, t);
        __syncthreads();
        const int count = known;
        __syncthreads();
        if (t == 0) known = THREADS;
        first += count;
        const int64_t own = tile;
        tile = first + t;
        next = look<S>(p.totals, tile < p.tiles ? tile : 0);
        __syncthreads();
        if (count == 0) continue;
        in_line<S> state = {mine.state(), t < count && own % p.line_tiles == 0}, all;
        if (t >= count) state = in_line<S>::none();
        in_line<S> before = carried;
        before.join(before_thread(state, &all));
        if (t < count) tell(p.befores, own, state.begins ? S::none() : before.s);
        carried.join(all);
    }
}

template <class S> struct tile_of {
    typedef typename S::Element Element;
    typedef typename S::Result Result;
    static constexpr bool is_even =
        sizeof(Element) == sizeof(Result); /* results replace elements */
    static constexpr int widest = sizeof(Element) > sizeof(Result) ? sizeof(Element)
                                                                   : sizeof(Result);
    static constexpr int each = widest == 8 ? 16 : 32, elements = each * THREADS;
    /* Where element k * THREADS + t lies in shared memory: those of a thread follow each other, and
     * neighbouring threads begin at different banks. */
    static __device__ __forceinline__ int spread(int k, unsigned t) {
        return k * (THREADS + THREADS / each) + (int)(t + t / each);
    }
};

/* The elements of a thread: registers have them, where results do not lie as they do. */
template <class S> struct own_elements {
    typename S::Element x[tile_of<S>::is_even ? 1 : tile_of<S>::each];
};

/* A range that tells nothing. */
struct nothing_seen {
    static __device__ __forceinline__ nothing_seen none() { return {}; }
    template <class Element> __device__ __forceinline__ void see(Element) {}
    __device__ __forceinline__ nothing_seen of_block() const { return {}; }
};

/* Elements of a thread that follow each other, and their results. */
template <class S> struct group { typename S::Element x[GROUP]; };
struct group_results {
    uint64_t bits[GROUP];
    int wrong; /* what is, with any of them */
};

/* The way that fits all states: a tile's sums are states, too. Other ways have their own sums, and
 * the same functions. */
template <class S> struct by_states {
    typedef S Sum;
    const bf_cuda_scan_params &p;
    S s;
    __device__ __forceinline__ void take(Sum *to, typename S::Element bits) const {
        to->take(p, bits);
    }
    __device__ __forceinline__ void settle(Sum *to) const { to->settle(); }
    __device__ __forceinline__ S state(const Sum &all) const { return all; }
    /* What comes next has these elements before it: those of the tiles before, and of the tile. */
    __device__ __forceinline__ void begin(const S &carried, const Sum &before) {
        s = carried;
        s.join(before);
    }
    /* Makes elements the next ones, the first one if it is not skipped. Returns the results behind
     * each. Usual: ways<S>::is_usual. */
    template <class Usual>
    __device__ __forceinline__ group_results next(Usual, const group<S> &g, bool skips) {
        group_results r;
        const S before = s;
        r.wrong = 0;
#pragma unroll
        for (int k = 0; k < GROUP; k++) {
            s.take(p, g.x[k]);
            if (k == 0 && skips) s = before;
            r.bits[k] = s.result(p, k == 0 && skips, &r.wrong);
        }
        return r;
    }
};

/* Other states have more ways, and what a tile's elements tell beforehand (Range) decides. A way
 * that few tiles need is rare: its code is apart, so that it takes no registers from others. */
typedef std::false_type often;
typedef std::true_type rarely;
template <class S> struct ways {
    typedef nothing_seen Range;
    static constexpr int blocks = 4; /* a multiprocessor holds so many at least */
    /* Are results what S::Result is for? Usual ones replace elements in shared memory. */
    static __device__ __forceinline__ bool is_usual(const bf_cuda_scan_params &) { return true; }
    template <class Run>
    static __device__ __forceinline__ void scan(const bf_cuda_scan_params &p, const Range &,
                                                const Run &run) {
        run(by_states<S>{p, S::none()}, often());
    }
};

/* A tile: `n` elements of the line, from number `first` on. */
struct tile_place {
    int64_t tile, line, first;
    int n;
    int64_t begin, step; /* where its elements lie */
};

template <class S>
__device__ __forceinline__ tile_place place_of(const bf_cuda_scan_params &p, int64_t tile) {
    constexpr int most = tile_of<S>::elements;
    const int64_t line = tile / p.line_tiles, first = tile % p.line_tiles * most;
    return {tile,
            line,
            first,
            (int)(p.length - first < most ? p.length - first : most),
            bf_cuda_scan_at(p, line, first),
            p.reverse ? -p.inner : p.inner};
}

/* Elements of a tile, as they lie; behind the line are zeros. Prefixes that exclude their own
 * element include the one before it; what is before the first one is skipped. */
template <class S, bool last, int count>
__device__ __forceinline__ void load(const bf_cuda_scan_params &p, const tile_place &at, int from,
                                     typename S::Element (&x)[count]) {
    typedef typename S::Element Element;
    const int t = (int)threadIdx.x + from * THREADS, before = p.exclusive ? 1 : 0;
    const Element *elements = (const Element *)p.elements + at.begin - before * at.step;
    if (at.step == 1 && at.n == tile_of<S>::elements && at.first >= before) {
#pragma unroll
        for (int k = 0; k < count; k++)
            x[k] = last ? __ldcs(elements + t + k * THREADS) : elements[t + k * THREADS];
        return;
    }
#pragma unroll
    for (int k = 0; k < count; k++) {
        const int i = k * THREADS + t;
        x[k] = 0;
        if (i < at.n && at.first + i >= before) x[k] = elements[i * at.step];
    }
}

template <class S>
__device__ __forceinline__ bool skips_first(const bf_cuda_scan_params &p, const tile_place &at) {
    return p.exclusive && at.first == 0 && threadIdx.x == 0;
}

/* Tells the state of a tile of which these are elements of this thread. */
template <class S, class Way>
__device__ __forceinline__ void tell_tile(const bf_cuda_scan_params &p, const tile_place &at,
                                          const Way &way,
                                          const typename S::Element (&x)[tile_of<S>::each]) {
    typedef typename Way::Sum Sum;
    Sum sum = Sum::none();
#pragma unroll
    for (int k = 0; k < tile_of<S>::each; k++) {
        way.take(&sum, x[k]);
        if (k == 0 && skips_first<S>(p, at)) sum = Sum::none();
    }
    way.settle(&sum);
    const Sum all = join_threads(sum);
    if (threadIdx.x == 0) tell(p.totals, at.tile, way.state(all));
}

template <class S, class Way>
__device__ __noinline__ void tell_tile_apart(const bf_cuda_scan_params &p, tile_place at, Way way) {
    typename S::Element x[tile_of<S>::each];
    load<S, false>(p, at, 0, x);
    tell_tile<S>(p, at, way, x);
}

template <class S>
__device__ __forceinline__ void reduce_tile(const bf_cuda_scan_params &p, const tile_place &at) {
    typename S::Element x[tile_of<S>::each];
    typename ways<S>::Range range = ways<S>::Range::none();
    load<S, false>(p, at, 0, x);
#pragma unroll
    for (const typename S::Element &one : x) range.see(one);
    ways<S>::scan(p, range.of_block(), [&](auto way, auto is_rare) {
        if constexpr (is_rare())
            tell_tile_apart<S>(p, at, way);
        else
            tell_tile<S>(p, at, way, x);
    });
}

/* Makes the results of a tile, which replace its elements where they are usual. Returns what is
 * wrong with them. */
template <class S, class Way>
__device__ __forceinline__ int scan_elements(const bf_cuda_scan_params &p, const tile_place &at,
                                             Way way, typename S::Element *elements,
                                             const S &carried) {
    typedef typename S::Element Element;
    typedef typename S::Result Result;
    typedef typename Way::Sum Sum;
    typedef tile_of<S> T;
    constexpr int each = T::each;
    const int t = (int)threadIdx.x, own_first = t * (each + 1);
    const int mine = at.n - t * each; /* elements of this thread, if over 0 */
    Result *const results = (Result *)elements;
    int wrong = 0;
    own_elements<S> own;
    if constexpr (!T::is_even) {
#pragma unroll
        for (int k = 0; k < each; k++) own.x[k] = elements[own_first + k];
    }
    const auto get = [&](int k) -> Element {
        if constexpr (T::is_even)
            return elements[own_first + k];
        else
            return own.x[k];
    };
    Sum sum = Sum::none(), all;
    bool skips = skips_first<S>(p, at);
    if (mine > 0) {
#pragma unroll GROUP
        for (int k = 0; k < each; k++) {
            way.take(&sum, get(k));
            if (k == 0 && skips) sum = Sum::none();
        }
    }
    way.settle(&sum);
    const Sum before = before_thread(sum, &all);
    way.begin(carried, before);
    const auto write = [&](auto is_usual) {
#pragma unroll(T::is_even ? 1 : each / GROUP)
        for (int from = 0; from < each && from < mine; from += GROUP) {
            group<S> g;
#pragma unroll
            for (int k = 0; k < GROUP; k++) g.x[k] = get(from + k);
            const group_results r = way.next(is_usual, g, skips);
            skips = false;
            wrong |= r.wrong;
#pragma unroll
            for (int k = 0; k < GROUP; k++) {
                const int i = t * each + from + k;
                if (is_usual())
                    results[own_first + from + k] = (Result)r.bits[k];
                else if (i < at.n)
                    store_bits(p.values, p.to_bytes, at.begin + i * at.step, r.bits[k]);
            }
        }
    };
    if (ways<S>::is_usual(p))
        write(std::true_type());
    else
        write(std::false_type());
    return wrong;
}

template <class S, class Way>
__device__ __noinline__ int scan_elements_apart(const bf_cuda_scan_params &p, tile_place at,
                                                Way way, typename S::Element *elements,
                                                const S &carried) {
    return scan_elements<S>(p, at, way, elements, carried);
}

/* Writes the results of a tile. */
template <class S>
__device__ __forceinline__ void scan_tile(const bf_cuda_scan_params &p, const tile_place &at) {
    typedef typename S::Element Element;
    typedef typename S::Result Result;
    typedef tile_of<S> T;
    constexpr int each = T::each, at_once = 16;
    __shared__ uint64_t room[(each + 1) * THREADS * T::widest / 8];
    __shared__ S carried;
    Element *const elements = (Element *)room;
    const int t = (int)threadIdx.x;
    typename ways<S>::Range range = ways<S>::Range::none();
#pragma unroll
    for (int from = 0; from < each; from += at_once) {
        Element x[at_once];
        load<S, true>(p, at, from, x);
#pragma unroll
        for (int k = 0; k < at_once; k++) {
            range.see(x[k]);
            elements[T::spread(from + k, threadIdx.x)] = x[k];
        }
    }
    range = range.of_block();
    if (t == THREADS - 1) carried = at.first > 0 ? ask<S>(p.befores, at.tile) : S::none();
    __syncthreads();
    int wrong = 0;
    ways<S>::scan(p, range, [&](auto way, auto is_rare) {
        if constexpr (is_rare())
            wrong = scan_elements_apart<S>(p, at, way, elements, carried);
        else
            wrong = scan_elements<S>(p, at, way, elements, carried);
    });
    if ((wrong & UNSURE) && atomicExch(&p.unsure[at.line], 1u) != 0) wrong &= ~UNSURE;
    tell_wrong(p, wrong, at.line);
    if (!ways<S>::is_usual(p)) return;
    __syncthreads();
    const Result *const results = (const Result *)room;
    Result *const values = (Result *)p.values + at.begin;
    if (at.n == T::elements && at.step == 1) {
#pragma unroll
        for (int k = 0; k < each; k++)
            __stcs(values + k * THREADS + t, results[T::spread(k, threadIdx.x)]);
        return;
    }
#pragma unroll
    for (int k = 0; k < each; k++) {
        const int i = k * THREADS + t;
        if (i < at.n) values[i * at.step] = results[T::spread(k, threadIdx.x)];
    }
}

/* Blocks take tasks in order: one chains all tiles; then a tile is reduced, and one scanned that
 * was reduced so many tiles before that its elements are still in the cache, and what is before it
 * is known. Lines of one tile are scanned alone. */
template <class S>
__global__ void __launch_bounds__(THREADS, ways<S>::blocks)
    scan_tiles(const __grid_constant__ bf_cuda_scan_params p) {
    __shared__ int64_t ticket;
    int64_t tile = blockIdx.x;
    bool reduces = false;
    if (p.line_tiles > 1) {
        if (threadIdx.x == 0) ticket = (int64_t)atomicAdd(&p.board->tickets, 1ull) - 1;
        __syncthreads();
        if (ticket < 0) {
            chain_tiles<S>(p);
            return;
        }
        reduces = ticket % 2 == 0;
        tile = ticket / 2 - (reduces ? 0 : p.lag);
    }
    if (tile < 0 || tile >= p.tiles) return;
    if (reduces)
        reduce_tile<S>(p, place_of<S>(p, tile));
    else
        scan_tile<S>(p, place_of<S>(p, tile));
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
        int wrong = 0;
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
            if (is_there) store_bits(p.values, p.to_bytes, at, take_next(p, &s, x, i, &wrong));
            carried.join(of_lane(up_to, BF_CUDA_WARP - 1));
        }
        wrong = (int)bf_cuda_warp_or((uint32_t)wrong);
        if (lane == 0) tell_wrong(p, wrong, line);
    }
}

/* --- a thread a line --- */

template <class S>
__global__ void __launch_bounds__(THREADS)
    scan_columns(const __grid_constant__ bf_cuda_scan_params p) {
    typedef typename S::Element Element;
    for (int64_t line : bf_cuda_indices<THREADS>(p.outer * p.inner)) {
        S s = S::none();
        int wrong = 0;
        int64_t at = bf_cuda_scan_at(p, line, 0);
        const int64_t step = p.reverse ? -p.inner : p.inner;
#pragma unroll 4
        for (int64_t i = 0; i < p.length; i++, at += step) {
            const Element x = ((const Element *)p.elements)[at];
            store_bits(p.values, p.to_bytes, at, take_next(p, &s, x, i, &wrong));
            s.settle();
        }
        tell_wrong(p, wrong, line);
    }
}

template <class S> bf_cuda_scan_kernels kernels_of() {
    return {(const void *)scan_tiles<S>, (const void *)scan_by_warps<S>,
            (const void *)scan_columns<S>, tile_of<S>::elements, packets_of<S>};
}

} // namespace bf_cuda_scan

#endif
