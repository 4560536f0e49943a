/* The kernels of scans, of any states S:
 *
 *   S::Element, S::Result     unsigned integers of the size of elements, and of most results
 *   S::none()                 the state of no elements
 *   s.take(p, bits)           an element comes behind those of s
 *   s.settle()                after some elements, before there are too many
 *   s.join(other)             the elements of another state come; both are settled, and so is s
 *   s.result(p, first, &wrong)  the bits of the result of s; first: it is that of no elements
 *   S::of_words(p, words)     the state of what carried words have absorbed
 *
 * ways<S> are the ways in which a tile of them is scanned. */
#ifndef BF_CUDA_SCAN_KERNELS_CUH
#define BF_CUDA_SCAN_KERNELS_CUH

#include "cuda/runtime/element.cuh"
#include "cuda/scan/states.cuh"

namespace bf_cuda_scan {

using bf_cuda_element::store_bits;

/* --- what comes before a line, or a segment --- */

template <class S> struct start {
    S s;
    uint32_t is_empty; /* nothing came before */
};

/* What comes before the segment of element i of a line. */
template <class S>
__device__ __forceinline__ start<S> start_of(const bf_cuda_scan_params &p, int64_t line,
                                             int64_t i) {
    if (p.starts == NULL) return {S::none(), 1};
    const start<S> &found = ((const start<S> *)p.starts)[bf_cuda_scan_number(p, line, i)];
    return {found.s, found.is_empty}; /* not what lies behind them, which nobody has written */
}

template <class S>
__global__ void __launch_bounds__(THREADS)
    make_starts(const __grid_constant__ bf_cuda_scan_params p) {
    const int count = bf_state_words(p.prefix.kind, p.prefix.dtype, p.words);
    for (int64_t i : bf_cuda_indices<THREADS>(bf_cuda_scan_lines(p))) {
        const int64_t *words = p.words + i * count;
        ((start<S> *)p.starts)[i] = {S::of_words(p, words), words[BF_SUM_COUNT] == 0};
    }
}

/* --- results --- */

/* What is wrong with a result. */
enum {
    REFUSED = 1, /* there is none, or it does not fit */
    UNSURE = 2   /* the state does not hold it: exact.cu scans the line */
};

/* Makes the element the next one of s, and returns its result. first: none came before. */
template <class S>
__device__ __forceinline__ uint64_t take_next(const bf_cuda_scan_params &p, S *s,
                                              typename S::Element bits, bool first, int *wrong) {
    if (!p.exclusive) s->take(p, bits);
    const uint64_t result = s->result(p, p.exclusive && first, wrong);
    if (p.exclusive) s->take(p, bits);
    return result;
}

__device__ __forceinline__ void mark(const bf_cuda_scan_params &p, int64_t number) {
    uint32_t *word = &p.marks[number / 32];
    const uint32_t bit = 1u << number % 32;
    if ((*(volatile uint32_t *)word & bit) == 0) atomicOr(word, bit);
    p.board->marked = 1;
}

/* Tells what is wrong with results of the segment of element i of a line. */
__device__ __forceinline__ void tell_wrong(const bf_cuda_scan_params &p, int wrong, int64_t line,
                                           int64_t i) {
    if (wrong & REFUSED) atomicCAS(&p.board->failed, 0ull, (unsigned long long)p.refusal);
    if (wrong & UNSURE) mark(p, bf_cuda_scan_number(p, line, i));
}

/* --- tiles --- */

enum { GROUP = 4 /* elements of a thread at once */ };

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
        in_line<S> state = {mine.state(), mine.begins()}, all;
        if (t >= count) state = in_line<S>::none();
        in_line<S> before = carried;
        before.join(before_thread(state, &all));
        if (t < count) tell(p.befores, own, before.s);
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
    static constexpr int vector = 16 / sizeof(Element), vectors = each / vector; /* a thread's */
};

/* Moves so many bytes, from or to a multiple of them, at once. */
template <int bytes> __device__ __forceinline__ void load_vector(void *to, const void *from) {
    memcpy(to, __builtin_assume_aligned(from, bytes), bytes);
}
template <int bytes> __device__ __forceinline__ void store_vector(void *to, const void *from) {
    memcpy(__builtin_assume_aligned(to, bytes), from, bytes);
}

/* What a tile has of each element, in shared memory: by vectors of 16 bytes. Those of a thread
 * follow each other, in an order of its own: so the vectors that neighbouring threads access at
 * once lie in different banks. */
template <class T, int each> struct in_room {
    static constexpr unsigned vector = 16 / sizeof(T), vectors = each / vector;
    T *x;
    /* Item i is in the vector that lies where this one would. */
    static __device__ __forceinline__ unsigned turned(unsigned v) { return v ^ v / 8 % vectors; }
    __device__ __forceinline__ T *at(unsigned i) const {
        return x + turned(i / vector) * vector + i % vector;
    }
    /* The place of item k of thread t. */
    __device__ __forceinline__ T *at(unsigned t, unsigned k) const {
        return x + (turned(t * vectors) ^ k / vector) * vector + k % vector;
    }
    /* Items of a thread from k on, a multiple of their count. */
    template <int count>
    __device__ __forceinline__ void get(unsigned t, unsigned k, T (&to)[count]) const {
        constexpr int some = count < (int)vector ? count : (int)vector;
#pragma unroll
        for (int i = 0; i < count; i += some) load_vector<some * sizeof(T)>(to + i, at(t, k + i));
    }
    template <int count>
    __device__ __forceinline__ void put(unsigned t, unsigned k, const T (&from)[count]) const {
        constexpr int some = count < (int)vector ? count : (int)vector;
#pragma unroll
        for (int i = 0; i < count; i += some)
            store_vector<some * sizeof(T)>(at(t, k + i), from + i);
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

/* Elements of a thread that follow each other. */
template <class S, int count> struct group { typename S::Element x[count]; };

/* How prefixes that exclude their own element begin: the first one of a group is not taken. */
enum skips {
    SKIPS_NONE,
    SKIPS_FIRST, /* its result is that of no elements */
    SKIPS_NEXT   /* its result is that of what came before */
};

/* The way that fits all states: a tile's sums are states, too. Other ways have their own sums, and
 * the same functions. */
template <class S> struct by_states {
    typedef S Sum;
    static constexpr bool is_usual = false; /* takes usual results alone */
    static constexpr int at_once = 1;       /* groups that a loop's turn makes */
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
    __device__ __forceinline__ void add(typename S::Element bits) { s.take(p, bits); }
    /* The result behind what was added. Usual: ways<S>::is_usual. */
    template <class Usual>
    __device__ __forceinline__ uint64_t result(Usual, bool first, int *wrong) {
        return s.result(p, first, wrong);
    }
    /* Returns whether the thread's results are those of S, or else wrong. */
    __device__ __forceinline__ bool end() { return true; }
};

/* Other states have more ways, and what a tile's elements tell beforehand (Range) decides. A tile
 * is scanned in one way after the other, until all results are right. A way that few tiles need is
 * rare: its code is apart, so that it takes no registers from others. */
typedef std::false_type often;
typedef std::true_type rarely;
template <class S> struct ways {
    typedef nothing_seen Range;
    static constexpr int blocks = 4; /* a multiprocessor holds so many at least */
    /* Are results what S::Result is for? Usual ones replace elements in shared memory. */
    static __device__ __forceinline__ bool is_usual(const bf_cuda_scan_params &) { return true; }
    /* Looks at the elements of a thread that reduces a tile. */
    template <class Elements>
    static __device__ __forceinline__ void look(const bf_cuda_scan_params &, const Elements &) {}
    template <class Run>
    static __device__ __forceinline__ void reduce(const bf_cuda_scan_params &p, const Range &,
                                                  const Run &run) {
        run(by_states<S>{p, S::none()}, often());
    }
    template <class Run>
    static __device__ __forceinline__ void scan(const bf_cuda_scan_params &p, const Range &,
                                                const S &, const Run &run) {
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
    const int64_t line = p.tiles == p.line_tiles ? 0 : tile / p.line_tiles;
    const int64_t first = (tile - line * p.line_tiles) * most;
    return {tile,
            line,
            first,
            (int)(p.length - first < most ? p.length - first : most),
            bf_cuda_scan_at(p, line, first),
            p.reverse ? -p.inner : p.inner};
}

/* Where the elements of a tile are read. Prefixes that exclude their own element include the one
 * before it; what is before the first one is skipped. */
template <class S>
__device__ __forceinline__ const typename S::Element *source_of(const bf_cuda_scan_params &p,
                                                                const tile_place &at) {
    return (const typename S::Element *)p.elements + at.begin - (p.exclusive ? at.step : 0);
}

/* Are its elements neighbours in memory, and as many as it can have? */
template <class S>
__device__ __forceinline__ bool is_full(const bf_cuda_scan_params &p, const tile_place &at) {
    return at.step == 1 && at.n == tile_of<S>::elements && (at.first > 0 || !p.exclusive);
}

/* Element i of a tile; behind the line are zeros. */
template <class S>
__device__ __forceinline__ typename S::Element element_of(const bf_cuda_scan_params &p,
                                                          const tile_place &at, int i) {
    const bool is_there = i < at.n && (at.first + i > 0 || !p.exclusive);
    return is_there ? source_of<S>(p, at)[i * at.step] : 0;
}

/* Element k of a thread that reduces a tile: its vectors lie as far apart as all threads have one,
 * or its elements do. */
template <class S> __device__ __forceinline__ int strewn(bool by_vectors, int k) {
    constexpr int vector = tile_of<S>::vector;
    const int t = (int)threadIdx.x;
    return by_vectors ? (k / vector * THREADS + t) * vector + k % vector : k * THREADS + t;
}

/* Loads those. Returns whether they are vectors. */
template <class S>
__device__ __forceinline__ bool load(const bf_cuda_scan_params &p, const tile_place &at,
                                     typename S::Element (&x)[tile_of<S>::each]) {
    typedef tile_of<S> T;
    const typename S::Element *from = source_of<S>(p, at);
    const bool full = is_full<S>(p, at), by_vectors = full && (uintptr_t)from % 16 == 0;
    if (by_vectors) {
#pragma unroll
        for (int k = 0; k < T::each; k += T::vector)
            load_vector<16>(x + k, from + strewn<S>(true, k));
    } else if (full) {
#pragma unroll
        for (int k = 0; k < T::each; k++) x[k] = from[strewn<S>(false, k)];
    } else {
#pragma unroll
        for (int k = 0; k < T::each; k++) x[k] = element_of<S>(p, at, strewn<S>(false, k));
    }
    return by_vectors;
}

/* Begins to copy a tile to shared memory. It is not read again. */
template <class S>
__device__ __forceinline__ void fetch_tile(const bf_cuda_scan_params &p, const tile_place &at,
                                           typename S::Element *room) {
    typedef tile_of<S> T;
    const in_room<typename S::Element, T::each> to = {room};
    constexpr int at_once = 16;
    const typename S::Element *from = source_of<S>(p, at);
    const bool full = is_full<S>(p, at);
    if (full && (uintptr_t)from % 16 == 0) {
#pragma unroll
        for (int k = 0; k < T::each; k += T::vector)
            if (T::vectors == 1) /* ptxas 13.0 would make an illegal instruction */
                *(uint4 *)to.at(strewn<S>(true, k)) = bf_cuda_stream(from + strewn<S>(true, k));
            else
                bf_cuda_begin_stream(to.at(strewn<S>(true, k)), from + strewn<S>(true, k));
        return;
    }
#pragma unroll
    for (int first = 0; first < T::each; first += at_once) {
        typename S::Element x[at_once];
        if (full) {
#pragma unroll
            for (int k = 0; k < at_once; k++) x[k] = __ldcs(from + strewn<S>(false, first + k));
        } else {
#pragma unroll
            for (int k = 0; k < at_once; k++)
                x[k] = element_of<S>(p, at, strewn<S>(false, first + k));
        }
#pragma unroll
        for (int k = 0; k < at_once; k++) *to.at(strewn<S>(false, first + k)) = x[k];
    }
}

template <class S>
__device__ __noinline__ void fetch_again(const bf_cuda_scan_params &p, tile_place at,
                                         typename S::Element *room) {
    fetch_tile<S>(p, at, room);
    bf_cuda_end_copies();
    __syncthreads();
}

/* A bit for each element of a thread, in scan_tile: a line, or a segment, begins there. */
template <class S, bool cut>
__device__ __forceinline__ uint32_t heads_of(const bf_cuda_scan_params &p, const tile_place &at) {
    constexpr int each = tile_of<S>::each;
    if (!cut) return at.first == 0 && threadIdx.x == 0 ? 1 : 0;
    const int64_t number = at.first / each + threadIdx.x;
    if (p.row == 0) return each == 32 ? p.heads[number] : ((const uint16_t *)p.heads)[number];
    const uint32_t row = (uint32_t)p.row, own = threadIdx.x * each;
    const uint32_t behind = ((uint32_t)(at.first % p.row) + own) % row; /* the begin of a row */
    uint32_t heads = 0;
    for (uint32_t k = behind > 0 ? row - behind : 0; k < each && own + k < (uint32_t)at.n; k += row)
        heads |= 1u << k;
    return heads;
}

/* The number of the last element of a tile where one begins; -1: none does. The caller synchronizes
 * before the next one. */
template <class S, bool cut>
__device__ __forceinline__ int last_head(const bf_cuda_scan_params &p, const tile_place &at) {
    if (!cut) return at.first == 0 ? 0 : -1;
    __shared__ int of_warps[WARPS];
    const int t = (int)threadIdx.x;
    const uint32_t heads = heads_of<S, cut>(p, at);
    const int own = heads != 0 ? t * tile_of<S>::each + 31 - __clz((int)heads) : -1;
    int last = bf_cuda_warp_most(own);
    if (t % BF_CUDA_WARP == 0) of_warps[t / BF_CUDA_WARP] = last;
    __syncthreads();
#pragma unroll
    for (const int other : of_warps) last = max(last, other);
    return last;
}

/* Tells the state of a tile of which these are elements of this thread: that of the elements from
 * the last begin of a line, or a segment, on. */
template <class S, bool cut, class Way>
__device__ __forceinline__ void tell_tile(const bf_cuda_scan_params &p, const tile_place &at,
                                          int last, const Way &way, bool by_vectors,
                                          const typename S::Element (&x)[tile_of<S>::each]) {
    typedef typename Way::Sum Sum;
    const int from = last + (last >= 0 && p.exclusive ? 1 : 0);
    Sum sum = Sum::none();
#pragma unroll
    for (int k = 0; k < tile_of<S>::each; k++) {
        const bool is_before = (cut || k == 0) && strewn<S>(by_vectors, k) < from;
        if (!is_before) way.take(&sum, x[k]);
    }
    way.settle(&sum);
    const Sum all = join_threads(sum);
    if (threadIdx.x > 0) return;
    S s = from < tile_of<S>::elements ? way.state(all) : S::none();
    if (last >= 0 && p.starts != NULL) {
        const S own = s;
        s = start_of<S>(p, at.line, at.first + last).s;
        s.join(own);
    }
    tell(p.totals, at.tile, s, last >= 0);
}

template <class S, bool cut, class Way>
__device__ __noinline__ void tell_tile_apart(const bf_cuda_scan_params &p, tile_place at, int last,
                                             Way way) {
    typename S::Element x[tile_of<S>::each];
    const bool by_vectors = load<S>(p, at, x);
    tell_tile<S, cut>(p, at, last, way, by_vectors, x);
}

template <class S, bool cut>
__device__ __forceinline__ void reduce_tile(const bf_cuda_scan_params &p, const tile_place &at) {
    typedef typename ways<S>::Range Range;
    typename S::Element x[tile_of<S>::each];
    Range range = Range::none();
    const bool by_vectors = load<S>(p, at, x);
#pragma unroll
    for (const typename S::Element &one : x) range.see(one);
    ways<S>::look(p, x);
    const int last = last_head<S, cut>(p, at);
    range = range.of_block();
    if constexpr (packets_of < Range >> 0)
        if (threadIdx.x == 0) tell(p.ranges, at.tile, range);
    ways<S>::reduce(p, range, [&](auto way, auto is_rare) {
        if constexpr (is_rare())
            tell_tile_apart<S, cut>(p, at, last, way);
        else
            tell_tile<S, cut>(p, at, last, way, by_vectors, x);
    });
}

/* The sum of elements, or that of those in the last one's segment. */
template <class Sum, bool cut> struct part_of {
    Sum s;
    static __device__ __forceinline__ part_of none() { return {Sum::none()}; }
    __device__ __forceinline__ void join(const part_of &next) { s.join(next.s); }
    __device__ __forceinline__ bool begins_anew() const { return false; }
    __device__ __forceinline__ void begin() { s = Sum::none(); }
};
template <class Sum> struct part_of<Sum, true> : in_line<Sum> {
    static __device__ __forceinline__ part_of none() { return {in_line<Sum>::none()}; }
    __device__ __forceinline__ bool begins_anew() const { return this->begins; }
    __device__ __forceinline__ void begin() { *this = {{Sum::none(), 1}}; }
};

/* Stores neighbours' results, from number i of a tile on: as vectors, if they are a group. */
template <int count>
__device__ __forceinline__ void store_results(const bf_cuda_scan_params &p, const tile_place &at,
                                              int i, const uint64_t (&bits)[count]) {
    char *to = (char *)p.values + (at.begin + i * at.step) * p.to_bytes;
    const bool is_whole = at.step == 1 && i + count <= at.n && (uintptr_t)to % 16 == 0;
    if constexpr (count == GROUP)
        if (is_whole && p.to_bytes == 8) {
            ((ulonglong2 *)to)[0] = {bits[0], bits[1]};
            ((ulonglong2 *)to)[1] = {bits[2], bits[3]};
            return;
        } else if (is_whole && p.to_bytes == 4) {
            *(uint4 *)to = {(uint32_t)bits[0], (uint32_t)bits[1], (uint32_t)bits[2],
                            (uint32_t)bits[3]};
            return;
        }
#pragma unroll
    for (int k = 0; k < count; k++)
        if (i + k < at.n) store_bits(to, p.to_bytes, k * at.step, bits[k]);
}

/* Makes the results of a tile, which replace its elements where they are usual, and tells what is
 * wrong with them. Returns what Way::end does. */
template <class S, bool cut, class Way>
__device__ __forceinline__ bool scan_elements(const bf_cuda_scan_params &p, const tile_place &at,
                                              Way way, typename S::Element *elements,
                                              const start<S> &carried) {
    typedef typename S::Element Element;
    typedef typename S::Result Result;
    typedef part_of<typename Way::Sum, cut> Sum;
    typedef tile_of<S> T;
    constexpr int each = T::each;
    const int t = (int)threadIdx.x;
    const int mine = at.n - t * each; /* elements of this thread, if over 0 */
    const uint32_t heads = heads_of<S, cut>(p, at);
    const in_room<Element, each> room = {elements};
    const in_room<Result, each> results = {(Result *)elements};
    int wrong = 0;
    uint32_t unsure = 0; /* elements whose segments are to be marked */
    own_elements<S> own;
    if constexpr (!T::is_even) room.get(t, 0, own.x);
    const auto get = [&](auto elements_at_once, int from) {
        group<S, elements_at_once()> g;
        if constexpr (T::is_even) {
            room.get(t, from, g.x);
        } else {
#pragma unroll
            for (int k = 0; k < elements_at_once(); k++) g.x[k] = own.x[from + k];
        }
        return g;
    };
    Sum sum = Sum::none(), all;
    if (mine > 0) {
#pragma unroll(T::is_even ? 2 : each / GROUP)
        for (int from = 0; from < each; from += GROUP) {
            const group<S, GROUP> g = get(std::integral_constant<int, GROUP>(), from);
#pragma unroll
            for (int k = 0; k < GROUP; k++) {
                const bool begins = (cut || (k == 0 && from == 0)) && (heads >> (from + k) & 1);
                if (cut && begins) sum.begin();
                if (!(begins && p.exclusive)) way.take(&sum.s, g.x[k]);
            }
        }
    }
    way.settle(&sum.s);
    const Sum before = before_thread(sum, &all);
    if (cut && mine > 0 && before.begins_anew())
        way.begin(start_of<S>(p, at.line, at.first + t * each - 1).s, before.s);
    else
        way.begin(carried.s, before.s);
    const auto skipped_by = [&](const start<S> &by) {
        return !p.exclusive ? SKIPS_NONE : by.is_empty ? SKIPS_FIRST : SKIPS_NEXT;
    };
    skips skipped = !cut && heads != 0 ? skipped_by(carried) : SKIPS_NONE;
    const auto next = [&](auto is_usual, auto elements_at_once, int from) {
        constexpr int count = elements_at_once();
        const group<S, count> g = get(elements_at_once, from);
        std::conditional_t<is_usual(), Result, uint64_t> bits[count];
        int own_wrong = 0;
#pragma unroll
        for (int k = 0; k < count; k++) {
            if (k > 0 || !skipped) way.add(g.x[k]);
            bits[k] = way.result(is_usual, k == 0 && skipped == SKIPS_FIRST, &own_wrong);
        }
        if constexpr (is_usual())
            results.put(t, from, bits);
        else
            store_results(p, at, t * each + from, bits);
        skipped = SKIPS_NONE;
        if (own_wrong != 0) {
            wrong |= own_wrong;
            if (own_wrong & UNSURE) unsure |= 1u << from;
        }
    };
    const auto write = [&](auto is_usual) {
        constexpr int turns = !T::is_even ? each / GROUP : is_usual() && !cut ? Way::at_once : 1;
#pragma unroll(turns)
        for (int from = 0; from < each && from < mine; from += GROUP) {
            const uint32_t begun = cut ? heads >> from & ((1u << GROUP) - 1) : 0;
            if constexpr (cut) {
#pragma unroll(T::is_even ? 1 : GROUP)
                for (int k = 0; begun != 0 && k < GROUP && from + k < mine; k++) {
                    if (begun >> k & 1) {
                        const int64_t i = at.first + t * each + from + k;
                        const start<S> anew = start_of<S>(p, at.line, i);
                        way.begin(anew.s, Way::Sum::none());
                        skipped = skipped_by(anew);
                    }
                    next(is_usual, std::integral_constant<int, 1>(), from + k);
                }
            }
            if (begun == 0) next(is_usual, std::integral_constant<int, GROUP>(), from);
        }
    };
    if (Way::is_usual || ways<S>::is_usual(p))
        write(std::true_type());
    else if constexpr (!Way::is_usual)
        write(std::false_type());
    tell_wrong(p, wrong & REFUSED, at.line, at.first);
    for (; unsure != 0; unsure &= unsure - 1)
        tell_wrong(p, UNSURE, at.line, at.first + t * each + __ffs((int)unsure) - 1);
    return way.end();
}

template <class S, bool cut, class Way>
__device__ __noinline__ bool scan_elements_apart(const bf_cuda_scan_params &p, tile_place at,
                                                 Way way, typename S::Element *elements,
                                                 const start<S> &carried) {
    return scan_elements<S, cut>(p, at, way, elements, carried);
}

/* What the elements of a tile tell: it has been told, where the tile was reduced. */
template <class S>
__device__ __forceinline__ typename ways<S>::Range range_of(const bf_cuda_scan_params &p,
                                                            const typename ways<S>::Range &told,
                                                            const typename S::Element *elements) {
    typedef typename ways<S>::Range Range;
    constexpr int each = tile_of<S>::each;
    if (packets_of<Range> == 0 || p.line_tiles > 1) return told;
    const in_room<typename S::Element, each> room = {(typename S::Element *)elements};
    Range range = Range::none();
#pragma unroll 1
    for (int from = 0; from < each; from += GROUP) {
        typename S::Element x[GROUP];
        room.get(threadIdx.x, from, x);
#pragma unroll
        for (const typename S::Element &one : x) range.see(one);
    }
    return range.of_block();
}

/* Writes results that lie in shared memory. */
template <class S>
__device__ __forceinline__ void write_tile(const bf_cuda_scan_params &p, const tile_place &at,
                                           typename S::Result *results) {
    typedef typename S::Result Result;
    constexpr int each = tile_of<S>::each, vector = 16 / sizeof(Result);
    const in_room<Result, each> room = {results};
    Result *const values = (Result *)p.values + at.begin;
    const int t = (int)threadIdx.x;
    if (at.step == 1 && at.n == tile_of<S>::elements && (uintptr_t)values % 16 == 0) {
#pragma unroll
        for (int k = 0; k < each * THREADS; k += THREADS * vector)
            __stcs((uint4 *)(values + k + t * vector), *(const uint4 *)room.at(k + t * vector));
        return;
    }
#pragma unroll 8
    for (int k = 0; k < each; k++) {
        const int i = k * THREADS + t;
        if (i < at.n) values[i * at.step] = *room.at(i);
    }
}

/* Writes the results of a tile whose elements are on the way. */
template <class S, bool cut>
__device__ __forceinline__ void scan_tile(const bf_cuda_scan_params &p, const tile_place &at,
                                          typename S::Element *elements) {
    typedef typename ways<S>::Range Range;
    __shared__ start<S> carried;
    __shared__ Range told;
    if (threadIdx.x == THREADS - 1) {
        if (at.first > 0)
            carried = {ask<S>(p.befores, at.tile), 0};
        else
            carried = start_of<S>(p, at.line, 0);
    }
    if constexpr (packets_of < Range >> 0)
        if (threadIdx.x == 0 && p.line_tiles > 1) told = ask<Range>(p.ranges, at.tile);
    bf_cuda_end_copies();
    __syncthreads();
    bool again = false;
    const auto scan_by = [&](auto way, auto is_rare) {
        bool is_right;
        if (again) fetch_again<S>(p, at, elements);
        again = true;
        if constexpr (is_rare())
            is_right = scan_elements_apart<S, cut>(p, at, way, elements, carried);
        else
            is_right = scan_elements<S, cut>(p, at, way, elements, carried);
        return __syncthreads_and(is_right) != 0;
    };
    ways<S>::scan(p, range_of<S>(p, told, elements), carried.s, scan_by);
    if (ways<S>::is_usual(p) && p.values != NULL)
        write_tile<S>(p, at, (typename S::Result *)elements);
}

/* Blocks take tasks in order. One chains all tiles. Each of the others reduces a tile, and scans
 * one that was reduced so many tiles before that its elements are still in the cache, and what is
 * before it is known. Lines of one tile are scanned alone, and so are tiles of which it is known
 * already. */
template <class S, bool cut>
__global__ void __launch_bounds__(THREADS, ways<S>::blocks)
    scan_tiles(const __grid_constant__ bf_cuda_scan_params p) {
    __shared__ uint32_t ticket;
    __shared__ uint4 room[tile_of<S>::elements * tile_of<S>::widest / sizeof(uint4)];
    typename S::Element *const elements = (typename S::Element *)room;
    const bool is_chained = p.lag > 0;
    int64_t tile = blockIdx.x;
    if (cut && p.board->wrong != 0) return;
    if (is_chained) {
        if (threadIdx.x == 0) ticket = atomicAdd(&p.board->tickets, 1u);
        __syncthreads();
        tile = (int64_t)ticket - 1;
        if (tile < 0) {
            chain_tiles<S>(p);
            return;
        }
    }
    const int64_t scanned = tile - p.lag;
    if (scanned >= 0) fetch_tile<S>(p, place_of<S>(p, scanned), elements);
    if (is_chained && tile < p.tiles) reduce_tile<S, cut>(p, place_of<S>(p, tile));
    if (scanned >= 0) scan_tile<S, cut>(p, place_of<S>(p, scanned), elements);
}

/* --- a thread a line --- */

template <class S>
__global__ void __launch_bounds__(THREADS)
    scan_columns(const __grid_constant__ bf_cuda_scan_params p) {
    typedef typename S::Element Element;
    if (p.board->wrong != 0) return;
    for (int64_t line : bf_cuda_indices<THREADS>(p.outer * p.inner)) {
        start<S> begun = start_of<S>(p, line, 0);
        S s = begun.s;
        int wrong = 0;
        int64_t at = bf_cuda_scan_at(p, line, 0);
        const int64_t step = p.reverse ? -p.inner : p.inner;
#pragma unroll 4
        for (int64_t i = 0; i < p.length; i++, at += step) {
            const Element x = ((const Element *)p.elements)[at];
            const bool begins = i == 0 || (p.heads != NULL && p.heads[i / 32] >> i % 32 & 1);
            if (begins && i > 0) {
                tell_wrong(p, wrong, line, i - 1);
                begun = start_of<S>(p, line, i);
                s = begun.s;
                wrong = 0;
            }
            const bool is_first = begins && begun.is_empty;
            const uint64_t result = take_next(p, &s, x, is_first, &wrong);
            if (p.values != NULL) store_bits(p.values, p.to_bytes, at, result);
            s.settle();
        }
        tell_wrong(p, wrong, line, p.length - 1);
    }
}

/* Columns, and what lines go on from, may have other states. */
template <class S, class Column = S> bf_cuda_scan_kernels kernels_of() {
    return {(const void *)scan_tiles<S, false>,
            (const void *)scan_tiles<S, true>,
            (const void *)scan_columns<Column>,
            (const void *)make_starts<Column>,
            tile_of<S>::elements,
            packets_of<S>,
            packets_of<typename ways<S>::Range>,
            (int)sizeof(start<Column>)};
}

} // namespace bf_cuda_scan

#endif
