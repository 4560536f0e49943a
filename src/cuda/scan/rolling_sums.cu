/* Windows of sums and of squares: integers of some words of 64 bits, in units that all elements of
 * a tile are multiples of. The list's are summed up to each element; so a window's are a
 * difference, and exact. Tiles whose elements span too many binades are marked. */
#include "cuda/scan/kernels.cuh"
#include "cuda/scan/rolling_tile.cuh"

namespace {

using namespace bf_cuda_rolling;
using bf_cuda_scan::before_thread;
using bf_cuda_scan::join_threads;
using bf_cuda_scan::THREADS;

/* --- integers of n words in two's complement --- */

template <int n> __device__ __forceinline__ void add(uint64_t *x, const uint64_t *y) {
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const bf_u128 sum = (bf_u128)x[i] + y[i] + carry;
        x[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
}

template <int n> __device__ __forceinline__ void subtract(uint64_t *x, const uint64_t *y) {
    uint64_t borrow = 0;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const bf_u128 rest = (bf_u128)x[i] - y[i] - borrow;
        x[i] = (uint64_t)rest;
        borrow = (uint64_t)(rest >> 64) & 1;
    }
}

/* x *= 2^by; what is lost repeats the sign. */
template <int n> __device__ __forceinline__ void shift_up(uint64_t *x, int by) {
    const int words = by / 64, bits = by % 64;
#pragma unroll
    for (int i = n - 1; i >= 0; i--) {
        uint64_t high = 0, low = 0;
#pragma unroll
        for (int k = 0; k <= i; k++) {
            if (k == i - words) high = x[k];
            if (k == i - words - 1) low = x[k];
        }
        x[i] = high << bits | low >> 1 >> (63 - bits);
    }
}

/* Word i of x * 2^shift. */
__device__ __forceinline__ uint64_t word_of(int64_t x, int shift, int i) {
    const int up = shift - 64 * i;
    return up >= 0 ? bf_cuda_shift_left((uint64_t)x, up) : (uint64_t)(x >> min(-up, 63));
}

/* --- elements --- */

/* The exponent fields of elements, 0 as 1: the least and the greatest of those other than 0. */
struct range {
    int least, most;
    uint32_t odd; /* 1: some element is -0, infinite or NaN; 2: some chunk's sums are not known */

    static __device__ __forceinline__ range none() { return {INT32_MAX, 1, 0}; }
    __device__ __forceinline__ void see(const bf_cuda_rolling_params &p, uint64_t bits) {
        if (!p.is_float) return;
        const bf_format f = p.format;
        const uint64_t magnitude = bits & ~bf_format_sign(f);
        const int field = (int)(magnitude >> f.fraction);
        if (magnitude == 0 || field == (1 << f.exponent) - 1) {
            odd |= bits != 0;
            return;
        }
        least = min(least, max(field, 1));
        most = max(most, field);
    }
    __device__ __forceinline__ void join(const range &other) {
        least = min(least, other.least);
        most = max(most, other.most);
        odd |= other.odd;
    }
    /* That of all threads of the block; the caller synchronizes before the next one. */
    __device__ __forceinline__ range of_block() const {
        __shared__ range of_warps[bf_cuda_scan::WARPS];
        const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
        range all = {bf_cuda_warp_least(least), bf_cuda_warp_most(most), bf_cuda_warp_or(odd)};
        if (lane == 0) of_warps[warp] = all;
        __syncthreads();
#pragma unroll
        for (const range &r : of_warps) all.join(r);
        return all;
    }
    /* The field of the unit, also where all elements are 0. */
    __device__ __forceinline__ int bottom() const { return min(least, most); }
};

/* The exponent of the unit. */
__device__ __forceinline__ int unit_of(const bf_cuda_rolling_params &p, const range &r) {
    return p.is_float ? r.bottom() - 1 + bf_format_least(p.format) : 0;
}

/* Elements that are not finite, or are -0, as the words of a state count them. */
struct specials {
    int64_t count[4]; /* NaNs, infinities, minus infinities, -0 */
};

__device__ __forceinline__ int special_of(const bf_cuda_rolling_params &p, uint64_t bits) {
    if (!p.is_float) return -1;
    const int word = bf_sum_special(p.format, bits);
    if (word) return word - BF_SUM_NAN;
    return bf_sum_neg_zero(p.format, bits) ? 3 : -1;
}

/* --- sums of S words, and of Q words of squares --- */

template <int S, int Q> struct sums {
    static constexpr int words = S + Q;
    uint64_t word[words];

    static __device__ __forceinline__ sums none() { return {}; }
    __device__ __forceinline__ void join(const sums &other) {
        add<S>(word, other.word);
        if constexpr (Q > 0) add<Q>(word + S, other.word + S);
    }
    __device__ __forceinline__ void leave(const sums &other) {
        subtract<S>(word, other.word);
        if constexpr (Q > 0) subtract<Q>(word + S, other.word + S);
    }
    __device__ __forceinline__ void scale(int by) {
        shift_up<S>(word, by);
        if constexpr (Q > 0) shift_up<Q>(word + S, 2 * by);
    }
    __device__ __forceinline__ void set(uint64_t magnitude, bool negative, int shift) {
        const int64_t x = (int64_t)(negative ? 0 - magnitude : magnitude);
        if (shift == 0) {
            word[0] = (uint64_t)x;
#pragma unroll
            for (int i = 1; i < S; i++) word[i] = negative ? ~(uint64_t)0 : 0;
        } else {
#pragma unroll
            for (int i = 0; i < S; i++) word[i] = word_of(x, shift, i);
        }
        if constexpr (Q > 0) {
            word[S] = magnitude * magnitude;
            word[S + 1] = __umul64hi(magnitude, magnitude);
            if constexpr (Q > 2) word[S + 2] = 0;
            shift_up<Q>(word + S, 2 * shift);
        }
    }
    static __device__ __forceinline__ sums of(const bf_cuda_rolling_params &p, const range &r,
                                              uint64_t bits) {
        sums x = none();
        if (p.is_float) {
            const bf_finite d = bf_decode(p.format, bits);
            const bool is_finite = d.position < (1 << p.format.exponent) - 2;
            if (is_finite && d.magnitude != 0)
                x.set(d.magnitude, d.negative, d.position + 1 - r.bottom());
        } else {
            const bf_finite d = bf_decode_integer(p.job.window.dtype, bits);
            x.set(d.magnitude, d.negative && d.magnitude != 0, 0);
        }
        return x;
    }
    /* Do these words hold the sums of so many elements, and results that need no others? */
    static __device__ __forceinline__ bool fits(const bf_cuda_rolling_params &p, const range &r,
                                                int64_t n) {
        const bf_window &w = p.job.window;
        const int bits = p.is_float ? p.format.fraction + 1 + r.most - r.bottom() : 8 * p.bytes;
        const int more = bf_bit_length((uint64_t)n);
        if (r.odd & 2) return false;
        if (bits + more > 64 * S - 1) return false;
        if (Q > 0) return w.options.scale == 0 && more < 32 && 2 * bits + more <= 64 * Q - 1;
        uint64_t divisor = w.op == BF_MEAN ? (uint64_t)n : 1;
        return w.options.scale == 0 || bf_band_unscale(&divisor, w.options.scale);
    }
};

/* --- a core --- */

template <class T> struct core_sums {
    T sums;
    specials odd;
    static __device__ __forceinline__ core_sums none() { return {}; }
    __device__ __forceinline__ void join(const core_sums &other) {
        sums.join(other.sums);
#pragma unroll
        for (int k = 0; k < 4; k++) odd.count[k] += other.odd.count[k];
    }
    __device__ __forceinline__ void take(const bf_cuda_rolling_params &p, const range &r,
                                         uint64_t bits) {
        sums.join(T::of(p, r, bits));
        if (!r.odd) return;
        const int k = special_of(p, bits);
#pragma unroll
        for (int i = 0; i < 4; i++) odd.count[i] += i == k;
    }
};

/* What a chunk's record holds. */
template <class T> struct record {
    range seen;
    core_sums<T> of;
};

template <class T> constexpr int record_words = (int)((sizeof(record<T>) + 7) / 8);

template <class T>
__device__ __forceinline__ record<T> *record_of(const bf_cuda_rolling_params &p, int64_t chunk) {
    return (record<T> *)(p.records + chunk * record_words<T>);
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    roll_chunks(const __grid_constant__ bf_cuda_rolling_params p) {
    const int64_t chunk = blockIdx.x;
    const tile t = tile_of_chunk(p, chunk);
    record<T> made = {range::none(), core_sums<T>::none()};
    visit_elements<THREADS>(p, t, t.begin, t.second,
                            [&](uint64_t bits) { made.seen.see(p, bits); });
    made.seen = made.seen.of_block();
    if (!T::fits(p, made.seen, BF_CUDA_ROLLING_CHUNK)) made.seen.odd |= 2;
    visit_elements<THREADS>(p, t, t.begin, t.second,
                            [&](uint64_t bits) { made.of.take(p, made.seen, bits); });
    made.of = join_threads(made.of);
    if (threadIdx.x == 0) *record_of<T>(p, chunk) = made;
}

/* The core's sums; thread 0 gets them. */
template <class T>
__device__ __forceinline__ core_sums<T> sum_core(const bf_cuda_rolling_params &p, const tile &t,
                                                 const chunks &c, const range &r) {
    core_sums<T> s = core_sums<T>::none();
    visit_core<THREADS>(p, t, c, [&](uint64_t bits) { s.take(p, r, bits); });
    for (int64_t i = c.first + threadIdx.x; i < c.end; i += THREADS) {
        record<T> known = *record_of<T>(p, i);
        if (p.is_float && known.seen.least <= known.seen.most)
            known.of.sums.scale(known.seen.bottom() - r.bottom());
        s.join(known.of);
    }
    return join_threads(s);
}

/* --- results --- */

/* The variance, or its root, of n numbers; more than ddof. */
template <int S, int Q>
__device__ __forceinline__ uint64_t spread_of(const bf_window &w, const sums<S, Q> &x, int unit,
                                              int64_t n) {
    uint64_t product[4] = {}, square[4] = {}, size[2] = {x.word[0], S > 1 ? x.word[1] : 0};
    const bool negative = (int64_t)x.word[S - 1] < 0;
    if (negative) {
        size[0] = 0 - size[0];
        size[1] = S > 1 ? ~size[1] + (size[0] == 0) : 0;
    }
#pragma unroll
    for (int i = 0; i < S; i++) {
        bf_u128 carry = 0;
#pragma unroll
        for (int k = 0; k < S; k++) {
            carry += (bf_u128)size[i] * size[k] + square[i + k];
            square[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
        square[i + S] = (uint64_t)carry;
    }
    bf_u128 carry = 0;
#pragma unroll
    for (int i = 0; i < Q; i++) {
        carry += (bf_u128)(uint64_t)n * x.word[S + i];
        product[i] = (uint64_t)carry;
        carry >>= 64;
    }
    product[Q] = (uint64_t)carry;
    subtract<4>(product, square);
    bool sign;
    const int64_t words[4] = {(int64_t)product[0], (int64_t)product[1], (int64_t)product[2],
                              (int64_t)product[3]};
    const bf_leading q = bf_leading_from_words(words, 4, 2 * unit, &sign);
    const uint64_t divisor = (uint64_t)n * (uint64_t)(n - w.options.ddof);
    if (q.bits == 0) return 0;
    if (w.op == BF_VAR)
        return bf_leading_round(bf_format_of(w.to), false, bf_leading_divide(q, divisor));
    return bf_leading_round(bf_format_of(w.to), false,
                            bf_leading_root(bf_leading_divide_long(q, divisor)));
}

template <int S, int Q>
__device__ __forceinline__ uint64_t result_of(const bf_window &w, const int64_t *counts,
                                              const sums<S, Q> &x, int unit) {
    uint64_t bits;
    if (bf_window_told(&w, counts, &bits)) return bits;
    if constexpr (Q > 0) {
        const int64_t n = bf_finish_count(counts);
        if (bf_finish_special(counts, w.options.nan == BF_NAN_SKIP, bf_format_of(w.to), &bits) ||
            n <= w.options.ddof)
            return bf_format_nan(bf_format_of(w.to));
        return spread_of(w, x, unit, n);
    } else {
        bf_band_sums g;
        int64_t words[S];
#pragma unroll
        for (int i = 0; i < S; i++) words[i] = (int64_t)x.word[i];
#pragma unroll
        for (int i = 0; i < BF_SUM_LIMBS; i++) g.counts[i] = counts[i];
        g.sum = g.products = words;
        g.sum_layout = g.products_layout = bf_layout_make(S, unit);
        g.words = true;
        return bf_window_sum(&w, &g, nullptr);
    }
}

/* --- tiles --- */

/* Shared memory: for each element of the list, and behind the last one, the specials before it, and
 * the words of the sums before it. Those of a thread follow each other, and neighbouring threads
 * begin at different banks. */
template <class T> struct lists {
    static constexpr int each = T::words > 3 ? 4 : 8; /* elements of a thread */
    static constexpr int room = each * THREADS, slots = (each + 1) * THREADS + 1;
    uint64_t *specials, *words;
    static __device__ __forceinline__ int slot(int i) { return i + i / each; }
    __device__ __forceinline__ T sums_at(int i) const {
        T x;
#pragma unroll
        for (int w = 0; w < T::words; w++) x.word[w] = words[w * slots + slot(i)];
        return x;
    }
    __device__ __forceinline__ void put(int i, const T &x) const {
#pragma unroll
        for (int w = 0; w < T::words; w++) words[w * slots + slot(i)] = x.word[w];
    }
};

/* Specials of a list: 16 bits for each kind. */
struct packed_specials {
    uint64_t all;
    static __device__ __forceinline__ packed_specials none() { return {0}; }
    __device__ __forceinline__ void join(const packed_specials &other) { all += other.all; }
    __device__ __forceinline__ void take(int special) {
        if (special >= 0) all += (uint64_t)1 << 16 * special;
    }
};

/* Sums up what is before each element. The list's elements are where its specials will be. */
template <class T>
__device__ __forceinline__ void sum_up(const bf_cuda_rolling_params &p, const range &r,
                                       const lists<T> &l) {
    constexpr int each = lists<T>::each;
    const int own = (int)threadIdx.x * each;
    T before[each], mine = T::none(), all;
    packed_specials odd = packed_specials::none(), all_odd;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint64_t bits = l.specials[l.slot(own + k)];
        before[k] = mine;
        mine.join(T::of(p, r, bits));
        if (r.odd) odd.take(special_of(p, bits));
    }
    const T up_to = before_thread(mine, &all);
#pragma unroll
    for (int k = 0; k < each; k++) {
        before[k].join(up_to);
        l.put(own + k, before[k]);
    }
    if (threadIdx.x == THREADS - 1) l.put(lists<T>::room, all);
    if (!r.odd) return;
    odd = before_thread(odd, &all_odd);
#pragma unroll
    for (int k = 0; k < each; k++) {
        const uint64_t bits = l.specials[l.slot(own + k)];
        l.specials[l.slot(own + k)] = odd.all;
        odd.take(special_of(p, bits));
    }
    if (threadIdx.x == THREADS - 1) l.specials[l.slot(lists<T>::room)] = all_odd.all;
}

/* Stores the results of a tile. */
template <class T>
__device__ __forceinline__ void store_results(const bf_cuda_rolling_params &p, const tile &t,
                                              const range &r, const lists<T> &l,
                                              const core_sums<T> &core) {
    const int unit = unit_of(p, r);
    for (int i = (int)threadIdx.x; i < t.n; i += THREADS) {
        const window w = window_of(p, t, i);
        T x = core.sums;
        x.join(l.sums_at(w.end));
        x.leave(l.sums_at(w.first));
        int64_t counts[BF_SUM_LIMBS] = {w.rows};
        if (r.odd) {
            const uint64_t in_list = l.specials[l.slot(w.end)] - l.specials[l.slot(w.first)];
            const int words[4] = {BF_SUM_NAN, BF_SUM_POS_INF, BF_SUM_NEG_INF, BF_SUM_NEG_ZERO};
#pragma unroll
            for (int k = 0; k < 4; k++)
                counts[words[k]] = core.odd.count[k] + (uint16_t)(in_list >> 16 * k);
            look_for_refused(p, counts);
        }
        store_bits(p.job.values, p.to_bytes, w.to, result_of(p.job.window, counts, x, unit));
    }
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    roll_tiles(const __grid_constant__ bf_cuda_rolling_params p) {
    extern __shared__ uint64_t memory[];
    __shared__ tile t;
    __shared__ core_sums<T> core;
    const lists<T> l = {memory, memory + lists<T>::slots};
    if (threadIdx.x == 0) t = find_tile(p, blockIdx.x);
    __syncthreads();
    const chunks c = core_chunks(p, t);
    range r = range::none();
#pragma unroll
    for (int k = 0; k < lists<T>::each; k++) {
        const int i = k * THREADS + (int)threadIdx.x;
        const uint64_t bits = i < t.count ? listed(p, t, i) : 0;
        l.specials[l.slot(i)] = bits;
        r.see(p, bits);
    }
    if (t.core() < t.second) {
        visit_core<THREADS>(p, t, c, [&](uint64_t bits) { r.see(p, bits); });
        for (int64_t i = c.first + threadIdx.x; i < c.end; i += THREADS)
            r.join(record_of<T>(p, i)->seen);
    }
    r = r.of_block();
    if (!T::fits(p, r, t.count + (t.second - t.core()))) {
        if (threadIdx.x == 0) p.marked[atomicAdd(&p.board->marked, 1ull)] = blockIdx.x;
        return;
    }
    core_sums<T> of_core = core_sums<T>::none();
    if (t.core() < t.second) of_core = sum_core<T>(p, t, c, r);
    if (threadIdx.x == 0) core = of_core;
    sum_up(p, r, l);
    __syncthreads();
    store_results(p, t, r, l, core);
}

template <int S, int Q> bf_cuda_rolling_kernels kernels_of() {
    typedef sums<S, Q> T;
    const size_t shared = (1 + T::words) * lists<T>::slots * sizeof(uint64_t);
    return {(const void *)roll_tiles<T>, (const void *)roll_chunks<T>, lists<T>::room, shared,
            record_words<T>};
}

} // namespace

/* Integers of up to 32 bits, and f16, are narrow. */
bf_cuda_rolling_kernels bf_cuda_rolling_sums(const bf_cuda_rolling_params &p) {
    const bool narrow = p.is_float ? p.job.window.dtype == BF_F16 : p.bytes < 8;
    if (p.job.window.kind == BF_KIND_MOMENTS)
        return narrow ? kernels_of<1, 2>() : kernels_of<2, 3>();
    return narrow ? kernels_of<1, 0>() : kernels_of<2, 0>();
}
