/* Sums of long rows and long segments that lie one behind another, in a few doubles
 * (approximate.cuh): each warp takes as many neighbouring elements as any other, whatever segments
 * they belong to, and always has copies to shared memory under way. What warps have of a segment
 * that several share, the last of them merges. */
#ifndef BF_CUDA_AXIS_DOUBLES_SPANS_CUH
#define BF_CUDA_AXIS_DOUBLES_SPANS_CUH

#include "cuda/axis/doubles/approximate.cuh"

/* Writes a result, or leaves it to by_exponent.cu. */
template <class Sum>
static __device__ __noinline__ void bf_cuda_axis_finish_span(const bf_cuda_axis_params &p,
                                                             int64_t r, int64_t count,
                                                             const int64_t (&part)[Sum::words]) {
    Sum sum;
    uint64_t bits;
    Sum::open_part(part, &sum);
    if (sum.prove(p, count, &bits)) {
        bf_cuda_axis_store(p, r, bits);
        return;
    }
    bf_cuda_axis_mark(p, r);
    if (p.at.offsets != nullptr && count > p.giant) bf_cuda_axis_push(p, r, count);
}

template <class C> struct bf_cuda_axis_span {
    static constexpr int S = 8; /* vectors of a lane that are copied together: a strip */
    static constexpr int G = 2; /* strips in shared memory */
    static constexpr int bytes = 16 * S * G * BF_CUDA_AXIS_WARP_THREADS;
    using Sum = bf_cuda_axis_approximate_sum<C, S>;
    static constexpr int N = C::N, E = (int)sizeof(typename C::Raw);
    static constexpr int row = BF_CUDA_WARP * N, strip = S * row; /* elements */
    static constexpr int words = Sum::words + 1; /* what a result has: the words of a sum, and a
                                                    segment */

    const bf_cuda_axis_params &p;
    int lane;
    int64_t warp;
    uint4 *ring;                 /* this warp's strips, in shared memory: this lane's vectors */
    int64_t (*kept)[words];      /* results that are finished together */
    int count;                   /* how many such results there are */
    int64_t from, to;            /* elements of this warp */
    int64_t segment, begin, end; /* the next of them, and all elements of that */
    int64_t window, ends;        /* see look() */
    Sum sum;

    /* --- where segments are --- */

    static __device__ __forceinline__ int64_t bound(const bf_cuda_axis_params &p, int64_t s) {
        return p.at.offsets != nullptr ? bf_cuda_axis_offset_at(p.at, s) : s * p.at.length;
    }
    /* The bound as if no offset were wrong: the check may still run. */
    __device__ __forceinline__ int64_t bound(int64_t s) const {
        const int64_t x = bound(p, s);
        return p.at.offsets == nullptr ? x : x < 0 ? 0 : x < p.at.rows ? x : p.at.rows;
    }
    /* Where a warp begins, and the segment there, or the one that ends there. */
    struct Start {
        int64_t key, low, high; /* the segment is one of [low, high) */
    };
    __device__ __forceinline__ void narrow(Start &x, int64_t first) const {
        const int64_t step = (x.high - x.low + BF_CUDA_WARP - 1) / BF_CUDA_WARP;
        const int64_t s = x.low + lane * step;
        const bool before = s < x.high && bound(s) - first + s * BF_CUDA_AXIS_SPAN_END <= x.key;
        const int n = __popc(__ballot_sync(0xffffffffu, before));
        if (n > 1) x.low += (n - 1) * step;
        x.high = x.low + step < x.high ? x.low + step : x.high;
    }
    /* Finds where this warp begins and ends: the last segment that begins at or before a number of
     * elements, if the end of each segment takes as long as some elements. */
    __device__ __forceinline__ void find() {
        const int64_t first = bound(0), last = bound(p.at.results), n = p.at.results;
        const int64_t all = max(last - first, (int64_t)0) + n * BF_CUDA_AXIS_SPAN_END;
        const int64_t each = all / p.spans, rest = all % p.spans;
        Start x = {each * warp + rest * warp / p.spans, 0, n};
        Start y = {each * (warp + 1) + rest * (warp + 1) / p.spans, 0, n};
        BF_ROLLED
        while (x.high - x.low > 1 || y.high - y.low > 1) {
            narrow(x, first);
            narrow(y, first);
        }
        segment = x.low;
        from = min(first + x.key - x.low * BF_CUDA_AXIS_SPAN_END, bound(x.low + 1));
        to = min(first + y.key - y.low * BF_CUDA_AXIS_SPAN_END, bound(y.low + 1));
        if (warp + 1 >= p.spans) to = last;
    }
    /* Where the warp starts in rows. */
    __device__ __forceinline__ int64_t start_of(int64_t w) const {
        const int64_t all = p.at.results * p.at.length;
        return w < p.spans ? (all / p.spans * w + all % p.spans * w / p.spans) & -32 : all;
    }
    __device__ __forceinline__ void find_rows() {
        int64_t rest;
        from = start_of(warp);
        to = start_of(warp + 1);
        segment = bf_cuda_axis_divide(from, p.at.length, &rest);
    }
    /* Lets lanes hold where 32 segments end, from this one on. */
    __device__ __forceinline__ void look(int64_t s) {
        const int64_t i = s + lane;
        window = s;
        ends = i < p.at.results ? bound(i + 1) : INT64_MAX;
    }
    /* Goes on to the next segment that has elements. */
    __device__ __forceinline__ void advance() {
        begin = end;
        segment++;
        for (;; segment = window + BF_CUDA_WARP) {
            if (segment >= window + BF_CUDA_WARP) look(segment);
            const bool good = window + lane >= segment && ends > begin;
            const unsigned votes = __ballot_sync(0xffffffffu, good);
            if (votes == 0) continue;
            const int i = __ffs((int)votes) - 1;
            segment = window + i;
            end = __shfl_sync(0xffffffffu, ends, i);
            return;
        }
    }

    /* --- elements --- */

    __device__ __forceinline__ uint4 *vectors_of(int slot) const {
        return ring + slot * (S * BF_CUDA_WARP);
    }
    /* Begins to copy the elements of a strip that this warp has. */
    __device__ __forceinline__ void begin_strip(int64_t at, int slot) const {
        const char *here = (const char *)p.a + (at + lane * N) * E;
        uint4 *into = vectors_of(slot);
        if (at + strip <= to) {
#pragma unroll
            for (int k = 0; k < S; k++)
                bf_cuda_begin_stream(into + k * BF_CUDA_WARP, here + k * row * E);
        } else {
#pragma unroll
            for (int k = 0; k < S; k++) {
                const int64_t left = to - at - k * row - lane * N;
                if (left > 0)
                    bf_cuda_begin_some(into + k * BF_CUDA_WARP, here + k * row * E,
                                       left < N ? (int)left * E : 16);
            }
        }
        bf_cuda_end_group();
    }
    /* Takes a strip. */
    __device__ __forceinline__ void take(const uint4 *x) {
#pragma unroll
        for (int k = 0; k < S; k++) {
            typename C::Value u[N];
            C::unpack(p, x[k * BF_CUDA_WARP], u);
            sum.take(u, u, 0, 0, N);
        }
    }
    /* Takes elements [low, high) of a strip: others become -0. */
    __device__ __forceinline__ void take_some(const uint4 *x, int low, int high) {
        const int first = low / row, last = (high - 1) / row;
        BF_ROLLED
        for (int k = first; k <= last; k++) {
            const int at = k * row + lane * N - low;
            typename C::Value u[N];
            C::unpack(p, x[k * BF_CUDA_WARP], u);
#pragma unroll
            for (int n = 0; n < N; n++)
                if ((unsigned)(at + n) >= (unsigned)(high - low)) u[n] = (typename C::Value) - 0.0;
            sum.take(u, u, 0, 0, N);
        }
    }

    /* --- results --- */

    static __device__ __forceinline__ int64_t *part_of(const bf_cuda_axis_params &p, int64_t warp,
                                                       int which) {
        return p.slots + (2 * warp + which) * Sum::words;
    }
    /* The last warp that begins at or before an element, which a segment has. */
    __device__ __forceinline__ int64_t warp_of(int64_t s, int64_t at) const {
        int64_t all = p.at.results * p.at.length, x = at | 31;
        if (p.at.offsets != nullptr) {
            const int64_t first = bound(0);
            all = bound(p.at.results) - first + p.at.results * BF_CUDA_AXIS_SPAN_END;
            x = at - first + s * BF_CUDA_AXIS_SPAN_END;
        }
        return min(((x + 1) * p.spans - 1) / all, p.spans - 1);
    }
    /* Merges what warps have of a segment. */
    __device__ __forceinline__ void merge(int64_t first, int64_t last,
                                          int64_t (&part)[Sum::words]) const {
        Sum none;
        none.reset();
        none.close(part);
        __threadfence();
#pragma unroll 4
        for (int64_t w = first + lane; w <= last; w += BF_CUDA_WARP) {
            const int64_t *at = part_of(p, w, w == first ? 1 : 0);
            int64_t other[Sum::words];
#pragma unroll
            for (int i = 0; i < Sum::words; i++) other[i] = __ldcg(at + i);
            Sum::merge(part, other);
        }
        bf_cuda_axis_merge_warp<Sum>(part, BF_CUDA_WARP);
    }
    /* Leaves what this warp has of a segment; the last of those that do merges it. */
    __device__ __forceinline__ void leave(int64_t segment, int64_t begin, int64_t end,
                                          int64_t (&part)[Sum::words]) const {
        const int64_t first = warp_of(segment, begin), last = warp_of(segment, end - 1);
        bool is_last = false;
        if (lane == 0) {
            int64_t *at = part_of(p, warp, warp == first ? 1 : 0);
#pragma unroll
            for (int i = 0; i < Sum::words; i++) at[i] = part[i];
            __threadfence();
            is_last = atomicAdd(&p.tickets[first], 1u) == (unsigned)(last - first);
            if (is_last) p.tickets[first] = 0;
        }
        if (!__any_sync(0xffffffffu, is_last)) return;
        merge(first, last, part);
        if (lane == 0) bf_cuda_axis_finish_span<Sum>(p, segment, end - begin, part);
    }
    /* Writes the results that are kept: a lane each. */
    __device__ __forceinline__ void finish_kept() {
        __syncwarp();
        if (lane < count) {
            int64_t part[Sum::words];
#pragma unroll
            for (int i = 0; i < Sum::words; i++) part[i] = kept[lane][i];
            const int64_t s = kept[lane][Sum::words];
            bf_cuda_axis_finish_span<Sum>(p, s, bound(s + 1) - bound(s), part);
        }
        count = 0;
        __syncwarp();
    }
    /* Keeps the result of a segment; or leaves what this warp has of it, if others have some, too.
     */
    __device__ __forceinline__ void finish(int64_t segment, int64_t begin, int64_t end) {
        int64_t part[Sum::words];
        sum.close(part);
        sum.reset();
        bf_cuda_axis_merge_warp<Sum>(part, BF_CUDA_WARP);
        if (begin < from || end > to) {
            leave(segment, begin, end, part);
            return;
        }
        if (lane == 0) {
#pragma unroll
            for (int i = 0; i < Sum::words; i++) kept[count][i] = part[i];
            kept[count][Sum::words] = segment;
        }
        if (++count == BF_CUDA_WARP) finish_kept();
    }
    /* A strip in which a segment begins or ends, or the warp's elements do. */
    __device__ __forceinline__ void take_borders(const uint4 *x, int64_t at) {
        const int64_t stop = min(at + strip, to);
        BF_ROLLED
        while (begin < stop) {
            take_some(x, (int)(max(max(begin, from), at) - at), (int)(min(end, stop) - at));
            if (end > stop) break;
            finish(segment, begin, end);
            advance();
        }
    }
    /* Finds this warp's elements, and begins to copy the first ones. Returns where. */
    __device__ __forceinline__ int64_t open() {
        if (p.at.offsets != nullptr)
            find();
        else
            find_rows();
        /* Vectors begin at multiples of their bytes. */
        const int skew = (int)((uintptr_t)p.a % 16) / E;
        const int64_t line = from - (int64_t)(((uintptr_t)p.a + (uintptr_t)from * E) % 128) / E;
        const int64_t at = max(line, (int64_t)-skew);
#pragma unroll
        for (int i = 0; i < G - 1; i++) begin_strip(at + i * strip, i);
        begin = bound(segment);
        end = bound(segment + 1);
        look(segment);
        if (end <= from) advance();
        return at;
    }
    __device__ __forceinline__ void run(int64_t at) {
        sum.reset();
        count = 0;
        int slot = 0;
        BF_ROLLED
        for (; at < to; at += strip) {
            const int64_t stop = at + strip;
            begin_strip(at + (G - 1) * strip, (slot + G - 1) % G);
            bf_cuda_wait_for_groups<G - 1>();
            const uint4 *x = vectors_of(slot);
            if (max(begin, from) <= at && stop < end && stop <= to)
                take(x);
            else
                take_borders(x, at);
            slot = (slot + 1) % G;
        }
        if (begin < to && end > to) finish(segment, begin, end);
        finish_kept();
    }
};

/* Segments of no elements. */
template <class C>
static __device__ __forceinline__ void bf_cuda_axis_finish_empty(const bf_cuda_axis_params &p) {
    using Span = bf_cuda_axis_span<C>;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;
    for (int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; s < p.at.results;
         s += threads) {
        const int64_t none[Span::Sum::words] = {};
        if (Span::bound(p, s) == Span::bound(p, s + 1))
            bf_cuda_axis_finish_span<typename Span::Sum>(p, s, 0, none);
    }
}

template <class C>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, 2)
    bf_cuda_axis_spans(const __grid_constant__ bf_cuda_axis_params p) {
    using Span = bf_cuda_axis_span<C>;
    extern __shared__ __align__(16) uint4 rings[];
    __shared__ int64_t kept[BF_CUDA_AXIS_WARP_THREADS / BF_CUDA_WARP][BF_CUDA_WARP][Span::words];
    const int lane = (int)threadIdx.x % BF_CUDA_WARP, number = (int)threadIdx.x / BF_CUDA_WARP;
    Span span = {p, lane, bf_cuda_axis_warp(),
                 rings + number * (Span::G * Span::S * BF_CUDA_WARP) + lane, kept[number]};
    bf_cuda_let_next_begin();
    const int64_t at = span.open();
    bf_cuda_wait_for_end();
    if (bf_cuda_axis_is_wrong(p)) {
        bf_cuda_end_copies();
        return;
    }
    if (p.at.offsets != nullptr) bf_cuda_axis_finish_empty<C>(p);
    span.run(at);
}

#endif
