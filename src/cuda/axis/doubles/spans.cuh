/* Sums of long rows and long segments that lie one behind another, in a few doubles (rough.cuh):
 * each warp takes as many neighbouring elements as any other, whatever segments they belong to, and
 * always has loads under way. What warps have of a segment that several share, a second kernel
 * merges. */
#ifndef BF_CUDA_AXIS_DOUBLES_SPANS_CUH
#define BF_CUDA_AXIS_DOUBLES_SPANS_CUH

#include "cuda/axis/doubles/rough.cuh"

/* Writes a result, or leaves it to by_exponent.cu. */
template <class Sum>
static __device__ __noinline__ void bf_cuda_axis_finish_span(const bf_cuda_axis_params &p,
                                                             int64_t r, int64_t count,
                                                             const int64_t (&part)[Sum::words]) {
    Sum sum;
    uint64_t bits;
    Sum::open_part(part, &sum);
    if (sum.tell(p, count, &bits)) {
        bf_cuda_axis_store(p, r, bits);
        return;
    }
    bf_cuda_axis_mark(p, r);
    if (p.at.offsets != nullptr && count > p.giant) bf_cuda_axis_push(p, r, count);
}

template <class C> struct bf_cuda_axis_span {
    static constexpr int U = 8; /* vectors under way */
    using Sum = bf_cuda_axis_rough_sum<C, U>;
    static constexpr int N = C::N, E = (int)sizeof(typename C::Raw);
    static constexpr int row = BF_CUDA_WARP * N, strip = U * row; /* elements */
    static constexpr int words = Sum::words + 1; /* of a part: those of a sum, a segment */

    const bf_cuda_axis_params &p;
    int lane;
    int64_t warp;
    int64_t from, to;            /* elements of this warp */
    int64_t segment, begin, end; /* the next of them, and all elements of that */
    int64_t window, ends;        /* see look() */
    uint4 x[U];
    Sum sum;

    /* --- where segments are --- */

    static __device__ __forceinline__ int64_t bound(const bf_cuda_axis_params &p, int64_t s) {
        return p.at.offsets != nullptr ? bf_cuda_axis_offset_at(p.at, s) : s * p.at.length;
    }
    /* The same as if no offset were wrong: the check may still run. */
    __device__ __forceinline__ int64_t bound(int64_t s) const {
        const int64_t x = bound(p, s);
        return p.at.offsets == nullptr ? x : x < 0 ? 0 : x < p.at.rows ? x : p.at.rows;
    }
    /* The last segment that begins at or before a number of elements, if the end of each segment
     * takes as long as some elements. By all lanes. */
    __device__ __forceinline__ int64_t find(int64_t first, int64_t key) const {
        int64_t low = 0, high = p.at.results; /* it is one of [low, high) */
        while (high - low > 1) {
            const int64_t step = (high - low + BF_CUDA_WARP - 1) / BF_CUDA_WARP;
            const int64_t s = low + lane * step;
            const bool before = s < high && bound(s) - first + s * BF_CUDA_AXIS_SPAN_END <= key;
            const int n = __popc(__ballot_sync(0xffffffffu, before));
            if (n > 1) low += (n - 1) * step;
            high = low + step < high ? low + step : high;
        }
        return low;
    }
    /* Where warp number w begins; *s becomes the segment there, or the one that ends there. */
    __device__ __forceinline__ int64_t start_of(int64_t w, int64_t *s) const {
        const int64_t first = bound(0), last = bound(p.at.results), warps = p.spans;
        int64_t at;
        *s = 0;
        if (w >= warps) return last;
        if (p.at.offsets == nullptr) {
            at = (last / warps * w + last % warps * w / warps) & -32;
            *s = bf_cuda_axis_divide(at, p.at.length, &at);
            return *s * p.at.length + at;
        }
        const int64_t all = max(last - first, (int64_t)0) + p.at.results * BF_CUDA_AXIS_SPAN_END;
        const int64_t key = all / warps * w + all % warps * w / warps;
        *s = find(first, key);
        return min(first + key - *s * BF_CUDA_AXIS_SPAN_END, bound(*s + 1));
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

    /* Those of the array. */
    __device__ __forceinline__ int64_t all() const {
        return p.at.offsets != nullptr ? p.at.rows : p.at.results * p.at.length;
    }

    /* How far before the last whole vector of the array this lane's first one of a strip is. */
    __device__ __forceinline__ int room_of(int64_t at) const {
        if (at >= to) return -1;
        const int64_t room = all() - at - (lane + 1) * N;
        return room < strip ? (int)room : strip;
    }
    __device__ __forceinline__ const char *vector_of(int64_t at) const {
        return (const char *)p.a + (at + lane * N) * E;
    }
    __device__ __forceinline__ void load(int k, const char *from_here, int room) {
        if (k * row <= room) x[k] = C::fetch(p, from_here + k * row * E);
    }
    __device__ __forceinline__ void load_strip(int64_t at) {
        const char *here = vector_of(at);
        const int room = room_of(at);
#pragma unroll
        for (int k = 0; k < U; k++) load(k, here, room);
    }
    /* Takes a strip, and loads the next one. */
    __device__ __forceinline__ void take(int64_t at) {
        const char *next = vector_of(at + strip);
        const int room = room_of(at + strip);
#pragma unroll
        for (int k = 0; k < U; k++) {
            typename C::Value u[N];
            C::unpack(p, x[k], u);
            load(k, next, room);
            sum.take(u, u, 0, 0, N);
        }
    }
    /* The last elements of the array, which are no whole vector. */
    __device__ __forceinline__ void load_rest(int64_t at) {
#pragma unroll
        for (int k = 0; k < U; k++) {
            const int64_t first = at + (k * BF_CUDA_WARP + lane) * N;
            if (first >= all() || first + N <= all()) continue;
            typename C::Raw e[N];
#pragma unroll
            for (int n = 0; n < N; n++)
                e[n] = ((const typename C::Raw *)p.a)[first + n < all() ? first + n : first];
            memcpy(&x[k], e, sizeof e);
        }
    }
    /* Elements [low, high) of a vector whose first one is number `first`; others become -0. */
    static __device__ __forceinline__ void choose(const typename C::Value (&u)[N], int first,
                                                  int low, int high, typename C::Value (&to)[N]) {
#pragma unroll
        for (int n = 0; n < N; n++)
            to[n] = (unsigned)(first + n - low) < (unsigned)(high - low) ? u[n] : -0.0f;
    }
    /* Takes elements [low, high) of a strip. */
    __device__ __forceinline__ void take_some(int low, int high) {
#pragma unroll
        for (int k = 0; k < U; k++) {
            typename C::Value u[N], v[N];
            C::unpack(p, x[k], u);
            choose(u, (k * BF_CUDA_WARP + lane) * N, low, high, v);
            sum.take(v, v, 0, 0, N);
        }
    }
    /* Takes elements [low, high) of a strip, and [high, stop) apart; and loads the next one. */
    __device__ __forceinline__ void take_both(int64_t at, int low, int high, int stop, Sum &other) {
        const char *next = vector_of(at + strip);
        const int room = room_of(at + strip);
#pragma unroll
        for (int k = 0; k < U; k++) {
            const int first = (k * BF_CUDA_WARP + lane) * N;
            typename C::Value u[N], v[N], w[N];
            C::unpack(p, x[k], u);
            load(k, next, room);
            choose(u, first, low, high, v);
            choose(u, first, high, stop, w);
            sum.take(v, v, 0, 0, N);
            other.take(w, w, 0, 0, N);
        }
    }

    /* --- results --- */

    static __device__ __forceinline__ int64_t *part_of(const bf_cuda_axis_params &p, int64_t warp,
                                                       int which) {
        return p.slots + (2 * warp + which) * words;
    }
    /* There is no part. */
    __device__ __forceinline__ void leave_none(int which) const {
        if (lane == 0) part_of(p, warp, which)[Sum::words] = -1;
    }
    /* Writes the result of a segment; or leaves what this warp has of it, as part 0 if others
     * before it have some of it, too. */
    __device__ __forceinline__ void finish(int64_t segment, int64_t begin, int64_t end) {
        int64_t part[Sum::words];
        sum.close(part);
        sum.reset();
        bf_cuda_axis_merge_warp<Sum>(part, BF_CUDA_WARP);
        bf_cuda_wait_for_end();
        if (lane == 0 && begin >= from && end <= to) {
            if (!bf_cuda_axis_is_wrong(p))
                bf_cuda_axis_finish_span<Sum>(p, segment, end - begin, part);
        } else if (lane == 0) {
            int64_t *at = part_of(p, warp, begin < from ? 0 : 1);
#pragma unroll
            for (int i = 0; i < Sum::words; i++) at[i] = part[i];
            at[Sum::words] = segment;
        }
    }
    /* A strip in which a segment begins or ends, or the warp's elements do. */
    __device__ __forceinline__ void take_borders(int64_t at) {
        const int64_t stop = at + strip < to ? at + strip : to;
        if (at + strip > all()) load_rest(at);
        BF_ROLLED
        while (begin < stop) {
            const int low = (int)(max(max(begin, from), at) - at);
            if (end > stop) {
                take_some(low, (int)(stop - at));
                break;
            }
            const int64_t ended = segment, first = begin, last = end;
            advance();
            if (end > stop) { /* the rest of the strip is of one segment, or of none */
                Sum other;
                other.reset();
                take_both(at, low, (int)(last - at), (int)(stop - at), other);
                finish(ended, first, last);
                sum = other;
                return;
            }
            take_some(low, (int)(last - at));
            finish(ended, first, last);
        }
        load_strip(at + strip);
    }
    __device__ __forceinline__ void run() {
        int64_t next;
        from = start_of(warp, &segment);
        to = start_of(warp + 1, &next);
        begin = bound(segment);
        end = bound(segment + 1);
        look(segment);
        if (end <= from) advance();
        /* Vectors begin at multiples of their bytes. */
        const int skew = (int)((uintptr_t)p.a % 16) / E;
        const int64_t line = from - (int64_t)(((uintptr_t)p.a + (uintptr_t)from * E) % 128) / E;
        int64_t at = max(line, (int64_t)-skew);
        load_strip(at);
        sum.reset();
        const bool has_first = begin < from && from < to;
        BF_ROLLED
        for (; at < to; at += strip) {
            const int64_t stop = at + strip;
            if (max(begin, from) <= at && stop < end && stop <= to)
                take(at);
            else
                take_borders(at);
        }
        const bool has_last = begin < to && end > to;
        if (has_last) finish(segment, begin, end);
        bf_cuda_wait_for_end();
        if (!has_first) leave_none(0);
        if (!has_last || begin < from) leave_none(1);
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
    bf_cuda_axis_span<C> span = {p, (int)threadIdx.x % BF_CUDA_WARP, bf_cuda_axis_warp()};
    bf_cuda_let_next_begin();
    span.run();
    if (p.at.offsets != nullptr && !bf_cuda_axis_is_wrong(p)) bf_cuda_axis_finish_empty<C>(p);
}

/* Merges the parts of each segment that several warps have: by the warp of the first of them. */
template <class C>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS)
    bf_cuda_axis_span_ends(const __grid_constant__ bf_cuda_axis_params p) {
    using Span = bf_cuda_axis_span<C>;
    using Sum = typename Span::Sum;
    const int64_t warp = bf_cuda_axis_warp();
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p) || warp >= p.spans) return;
    const int64_t *first = Span::part_of(p, warp, 1);
    const int64_t segment = first[Sum::words];
    if (segment < 0) return;
    int64_t part[Sum::words], other[Sum::words];
    Sum sum;
    sum.reset();
    sum.close(part);
    if (lane == 0) {
#pragma unroll
        for (int i = 0; i < Sum::words; i++) part[i] = first[i];
    }
    bool more = true;
    BF_ROLLED
    for (int64_t w = warp + 1 + lane; more; w += BF_CUDA_WARP) {
        const int64_t *from = Span::part_of(p, w < p.spans ? w : warp, 0);
        const bool good = w < p.spans && from[Sum::words] == segment;
        if (good) {
#pragma unroll
            for (int i = 0; i < Sum::words; i++) other[i] = from[i];
            Sum::merge(part, other);
        }
        more = __all_sync(0xffffffffu, good);
    }
    bf_cuda_axis_merge_warp<Sum>(part, BF_CUDA_WARP);
    if (lane == 0)
        bf_cuda_axis_finish_span<Sum>(p, segment,
                                      Span::bound(p, segment + 1) - Span::bound(p, segment), part);
}

#endif
