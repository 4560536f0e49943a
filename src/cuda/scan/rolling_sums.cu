/* Windows of sums and of squares. The list's are summed up to each element, and exactly: so a
 * window's are a difference. Sums are two doubles, where these hold them: multiples of a high unit,
 * and rests. Others, and squares, are integers of some words of 64 bits, in units that all elements
 * of the tile are multiples of. Tiles whose elements span too many binades are marked. */
#include "cuda/scan/rolling_tile.cuh"
#include "cuda/scan/states.cuh"

namespace rolling_sums {

using namespace bf_cuda_rolling;
using bf_cuda_scan::before_thread;
using bf_cuda_scan::join_threads;

enum { THREADS = BF_CUDA_SCAN_THREADS /* blocks that make records have so many */ };

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
    /* Returns that of all threads of the block; the caller synchronizes before the next one. */
    template <int threads> __device__ __forceinline__ range of_block() const {
        __shared__ range of_warps[threads / BF_CUDA_WARP];
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

/* The exponent of the unit, and that of a power of two above all elements. */
__device__ __forceinline__ int unit_of(const bf_cuda_rolling_params &p, const range &r) {
    return p.is_float ? r.bottom() - 1 + bf_format_least(p.format) : 0;
}
__device__ __forceinline__ int top_of(const bf_cuda_rolling_params &p, const range &r) {
    return p.is_float ? r.most + p.format.fraction + bf_format_least(p.format) : 8 * p.bytes;
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
    /* How elements become sums. */
    struct way {
        int bottom;
        __device__ __forceinline__ way(const bf_cuda_rolling_params &, const range &r, int64_t)
            : bottom(r.bottom()) {}
    };
    static __device__ __forceinline__ sums of(const bf_cuda_rolling_params &p, const way &by,
                                              uint64_t bits) {
        sums x = none();
        if (p.is_float) {
            const bf_finite d = bf_decode(p.format, bits);
            const bool is_finite = d.position < (1 << p.format.exponent) - 2;
            if (is_finite && d.magnitude != 0)
                x.set(d.magnitude, d.negative, d.position + 1 - by.bottom);
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
        const int bits = top_of(p, r) - unit_of(p, r);
        const int more = bf_bit_length((uint64_t)n);
        if (r.odd & 2) return false;
        if (bits + more > 64 * S - 1) return false;
        if (Q > 0) return w.options.scale == 0 && more < 32 && 2 * bits + more <= 64 * Q - 1;
        uint64_t divisor = w.op == BF_MEAN ? (uint64_t)n : 1;
        return w.options.scale == 0 || bf_band_unscale(&divisor, w.options.scale);
    }
};

/* --- sums of two doubles --- */

/* Let elements be less than 2^top, multiples of 2^unit, and fewer than 2^more. The high unit is
 * 2^(top + more - 53): sums of multiples of it are less than 2^53 of them, and sums of rests less
 * than 2^53 of the unit. */
struct pairs {
    static constexpr int words = 2;
    double high, low;

    static __device__ __forceinline__ pairs none() { return {0, 0}; }
    __device__ __forceinline__ void join(const pairs &other) {
        high += other.high;
        low += other.low;
    }
    __device__ __forceinline__ void leave(const pairs &other) {
        high -= other.high;
        low -= other.low;
    }
    static __device__ __forceinline__ bool fits(const bf_cuda_rolling_params &p, const range &r,
                                                int64_t n) {
        const bf_window &w = p.job.window;
        const int more = bf_bit_length((uint64_t)n), top = top_of(p, r), unit = unit_of(p, r);
        return w.kind == BF_KIND_SUM && w.to == BF_F64 && w.options.scale == 0 && r.odd < 2 &&
               (p.is_float || p.bytes < 8) && top - unit <= 107 - 2 * more && top > -800 &&
               top + more < 1000;
    }
    struct way {
        double start; /* 1.5 * 2^52 high units */
        __device__ __forceinline__ way(const bf_cuda_rolling_params &p, const range &r, int64_t n)
            : start(bf_cuda_element::of_bits(
                  (uint64_t)(2 * (top_of(p, r) + bf_bit_length((uint64_t)n) + 1022) + 1) << 51)) {}
    };
    static __device__ __forceinline__ double value_of(const bf_cuda_rolling_params &p,
                                                      uint64_t bits) {
        using namespace bf_cuda_element;
        const bf_dtype dtype = p.job.window.dtype;
        if (!p.is_float) return (double)(int64_t)bf_integer_decode(dtype, bits);
        if (p.bytes == 2) {
            const bf_finite d = bf_decode(p.format, bits);
            const int exponent = d.position + bf_format_least(p.format);
            const double unit = of_bits((uint64_t)(exponent + 1023) << 52);
            const double size = bf_sum_special(p.format, bits) ? 0 : (double)d.magnitude * unit;
            return d.negative ? -size : size;
        }
        const double x = dtype == BF_F32 ? (double)of_bits((uint32_t)bits) : of_bits(bits);
        return x - x == 0 ? x : 0;
    }
    static __device__ __forceinline__ pairs of(const bf_cuda_rolling_params &p, const way &by,
                                               uint64_t bits) {
        return of_value(by, value_of(p, bits));
    }
    static __device__ __forceinline__ pairs of_value(const way &by, double x) {
        const double high = (x + by.start) - by.start;
        return {high, x - high};
    }
    /* The pair of an integer in other units, below 2^(top + more - 2): of its four digits. */
    static __device__ __forceinline__ pairs of_integer(const way &by, const sums<2, 0> &x,
                                                       int unit) {
        const bool negative = (int64_t)x.word[1] < 0;
        sums<2, 0> size = x;
        if (negative) {
            size = sums<2, 0>::none();
            size.leave(x);
        }
        pairs all = none();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const double digit = (uint32_t)(size.word[i / 2] >> 32 * (i % 2));
            const double weight = bf_cuda_element::of_bits((uint64_t)(unit + 32 * i + 1023) << 52);
            if (digit != 0) all.join(of_value(by, negative ? -digit * weight : digit * weight));
        }
        return all;
    }
};

/* --- a core --- */

template <class T> struct core_sums {
    T sums;
    specials odd;
    static __device__ __forceinline__ core_sums none() { return {T::none(), {}}; }
    __device__ __forceinline__ void join(const core_sums &other) {
        sums.join(other.sums);
#pragma unroll
        for (int k = 0; k < 4; k++) odd.count[k] += other.odd.count[k];
    }
    __device__ __forceinline__ void take(const bf_cuda_rolling_params &p, const typename T::way &by,
                                         bool odd_ones, uint64_t bits) {
        sums.join(T::of(p, by, bits));
        if (!odd_ones) return;
        const int k = special_of(p, bits);
#pragma unroll
        for (int i = 0; i < 4; i++) odd.count[i] += i == k;
    }
};

/* What a record holds. */
template <class T> struct record {
    range seen;
    core_sums<T> of;
    /* Brings the sums to the unit of another range. */
    __device__ __forceinline__ void scale(const bf_cuda_rolling_params &p, const range &r) {
        if (p.is_float && seen.least <= seen.most) of.sums.scale(seen.least - r.bottom());
    }
};

template <class T> constexpr int record_words = (int)((sizeof(record<T>) + 7) / 8);

template <class T>
__device__ __forceinline__ record<T> *record_of(const bf_cuda_rolling_params &p, int64_t i) {
    return (record<T> *)(p.records + i * record_words<T>);
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    roll_chunks(const __grid_constant__ bf_cuda_rolling_params p) {
    const tile t = tile_of_chunk(p, blockIdx.x);
    record<T> made = {range::none(), core_sums<T>::none()};
    visit_elements<THREADS>(p, t, t.begin, t.second,
                            [&](uint64_t bits) { made.seen.see(p, bits); });
    made.seen = made.seen.template of_block<THREADS>();
    if (!T::fits(p, made.seen, BF_CUDA_ROLLING_CHUNK)) made.seen.odd |= 2;
    const typename T::way by(p, made.seen, BF_CUDA_ROLLING_CHUNK);
    visit_elements<THREADS>(p, t, t.begin, t.second,
                            [&](uint64_t bits) { made.of.take(p, by, made.seen.odd, bits); });
    made.of = join_threads(made.of);
    if (threadIdx.x == 0) *record_of<T>(p, blockIdx.x) = made;
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    roll_groups(const __grid_constant__ bf_cuda_rolling_params p) {
    record<T> made = {range::none(), core_sums<T>::none()};
    if (threadIdx.x < BF_CUDA_ROLLING_GROUP)
        made = *record_of<T>(p, (int64_t)blockIdx.x * BF_CUDA_ROLLING_GROUP + threadIdx.x);
    const range all = made.seen.template of_block<THREADS>();
    made.scale(p, all);
    made.seen = all;
    if (!T::fits(p, all, BF_CUDA_ROLLING_CHUNK * BF_CUDA_ROLLING_GROUP)) made.seen.odd |= 2;
    made.of = join_threads(made.of);
    if (threadIdx.x == 0) *record_of<T>(p, p.chunks + blockIdx.x) = made;
}

/* What a record tells of a core. */
template <class T>
__device__ __forceinline__ core_sums<T> core_of(const bf_cuda_rolling_params &p, const range &r,
                                                const typename T::way &, record<T> known) {
    known.scale(p, r);
    return known.of;
}
__device__ __forceinline__ core_sums<pairs> core_of(const bf_cuda_rolling_params &p, const range &,
                                                    const pairs::way &by,
                                                    const record<sums<2, 0>> &known) {
    return {pairs::of_integer(by, known.of.sums, unit_of(p, known.seen)), known.of.odd};
}

/* The core's sums T, by records of R; thread 0 gets them. */
template <int threads, class T, class R>
__device__ __forceinline__ core_sums<T> sum_core(const bf_cuda_rolling_params &p, const tile &t,
                                                 const chunks &c, const range &r,
                                                 const typename T::way &by) {
    core_sums<T> s = core_sums<T>::none();
    visit_core<threads>(p, t, c, [&](uint64_t bits) { s.take(p, by, r.odd, bits); });
    visit_records<threads>(p, c,
                           [&](int64_t i) { s.join(core_of(p, r, by, *record_of<R>(p, i))); });
    return join_threads<threads / BF_CUDA_WARP>(s);
}

/* --- results --- */

/* Divides high + low, or a number that is 2^-104 of it larger at most, by a double, and takes the
 * root. Returns whether the result is certain: its error is less than 2^-50 of what the rest adds
 * to it, and 2^-100 of the result. Nothing may be subnormal. */
__device__ __forceinline__ bool divide_surely(double high, double low, double divisor, bool root,
                                              double *result) {
    double x = high / divisor, rest = (fma(-x, divisor, high) + low) / divisor;
    double margin = fabs(rest) * 0x1p-50 + fabs(x) * 0x1p-100;
    if (root) {
        const double square = x;
        x = sqrt(square);
        rest = (fma(-x, x, square) + rest) / (x + x);
        margin = margin / x + fabs(rest) * 0x1p-50 + x * 0x1p-100;
    }
    *result = x + (rest - margin);
    return *result == x + (rest + margin);
}

/* As above, of leading bits, and with the bits of the result as an f64. */
__device__ __forceinline__ bool divide_leading(const bf_leading &x, uint64_t divisor, bool root,
                                               uint64_t *bits) {
    const int exponent = x.exponent + 75, even = root ? exponent & ~1 : exponent;
    const double up = exponent == even ? 1 : 2, below = (double)(((uint64_t)1 << 53) - 1);
    const double high = (double)(uint64_t)(x.bits >> 75) * up;
    const double low = (double)((uint64_t)(x.bits >> 22) & (uint64_t)below) * 0x1p-53 * up;
    double result;
    if (divisor >> 53 != 0 || exponent < -800 || exponent > 800 ||
        !divide_surely(high, low, (double)divisor, root, &result))
        return false;
    *bits = bf_cuda_element::bits_of(result) + ((uint64_t)(int64_t)(root ? even / 2 : even) << 52);
    return true;
}

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
    uint64_t bits;
    if (q.bits == 0) return 0;
    if (w.to == BF_F64 && divide_leading(q, divisor, w.op == BF_STD, &bits)) return bits;
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
        if (w.op == BF_MEAN && w.to == BF_F64 && w.options.scale == 0) {
            bool negative;
            const bf_leading sum = bf_leading_from_words(words, S, unit, &negative);
            const int64_t n = bf_finish_count(counts);
            if (n > 0 && sum.bits != 0 && counts[BF_SUM_POS_INF] + counts[BF_SUM_NEG_INF] == 0 &&
                divide_leading(sum, (uint64_t)n, false, &bits))
                return negative ? bits | bf_format_sign(bf_format_f64()) : bits;
        }
        g.sum = g.products = words;
        g.sum_layout = g.products_layout = bf_layout_make(S, unit);
        g.words = true;
        return bf_window_sum(&w, &g, nullptr);
    }
}

/* The mean of so many numbers, if it is certain. */
__device__ __forceinline__ bool mean_surely(const pairs &x, int64_t n, double *mean) {
    const double sum = x.high + x.low, other = sum - x.high;
    const double rest = (x.high - (sum - other)) + (x.low - other);
    return divide_surely(sum, rest, (double)n, false, mean) && fabs(*mean) > 0x1p-900;
}

/* The result by integers. */
__device__ __noinline__ uint64_t round_pairs(const bf_window &w, int64_t rows, const specials &odd,
                                             pairs x, int unit) {
    const int64_t counts[BF_SUM_LIMBS] = {rows, odd.count[0], odd.count[1], odd.count[2],
                                          0,    odd.count[3]};
    const bf_format f = bf_format_f64();
    sums<2, 0> all = sums<2, 0>::none();
    for (const double part : {x.high, x.low}) {
        const bf_finite d = bf_decode(f, bf_cuda_element::bits_of(part));
        sums<2, 0> one = sums<2, 0>::none();
        one.set(d.magnitude, d.negative, d.position + bf_format_least(f) - unit);
        all.join(one);
    }
    return result_of(w, counts, all, unit);
}

/* The result of so many rows. odd: some of them may be special. */
template <class T>
__device__ __forceinline__ uint64_t make_result(const bf_window &w, int unit, int64_t rows,
                                                bool odd, const specials &of, const T &x) {
    const int64_t counts[BF_SUM_LIMBS] = {rows,        of.count[0], of.count[1],
                                          of.count[2], 0,           of.count[3]};
    return result_of(w, counts, x, unit);
}

template <>
__device__ __forceinline__ uint64_t make_result<pairs>(const bf_window &w, int unit, int64_t rows,
                                                       bool odd, const specials &of,
                                                       const pairs &x) {
    const int64_t n = rows - of.count[0];
    double mean = x.high + x.low;
    const bool plain = n >= w.least && n > 0 && (!odd || w.options.nan == BF_NAN_SKIP) &&
                       of.count[1] + of.count[2] == 0 && (!odd || mean != 0);
    if (plain && (w.op == BF_SUM || mean_surely(x, n, &mean)))
        return bf_cuda_element::bits_of(mean);
    return round_pairs(w, rows, of, x, unit);
}

/* --- tiles --- */

/* Shared memory: for each element of the list, and behind the last one, the specials before it, and
 * the words of the sums before it. Those of a thread follow each other, and neighbouring threads
 * begin at different banks. */
template <int most, int threads, int each_has> struct lists {
    static constexpr int each = each_has; /* elements of a thread */
    static constexpr int room = each * threads, slots = (each + 1) * threads + 1;
    static constexpr size_t bytes = (1 + most) * slots * sizeof(uint64_t);
    uint64_t *specials, *words;
    static __device__ __forceinline__ int slot(int i) { return i + i / each; }
    template <class T> __device__ __forceinline__ T sums_at(int i) const {
        uint64_t held[T::words];
        T x;
#pragma unroll
        for (int w = 0; w < T::words; w++) held[w] = words[w * slots + slot(i)];
        memcpy(&x, held, sizeof x);
        return x;
    }
    template <class T> __device__ __forceinline__ void put(int i, const T &x) const {
        uint64_t held[T::words];
        memcpy(held, &x, sizeof x);
#pragma unroll
        for (int w = 0; w < T::words; w++) words[w * slots + slot(i)] = held[w];
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

/* Counts the specials before each element, which take the elements' place. */
template <int threads, class L>
__device__ __forceinline__ void count_specials(const bf_cuda_rolling_params &p, const L &l) {
    const int own = (int)threadIdx.x * L::each;
    packed_specials mine = packed_specials::none(), all;
#pragma unroll
    for (int k = 0; k < L::each; k++) mine.take(special_of(p, l.specials[l.slot(own + k)]));
    mine = before_thread<threads / BF_CUDA_WARP>(mine, &all);
#pragma unroll
    for (int k = 0; k < L::each; k++) {
        const int special = special_of(p, l.specials[l.slot(own + k)]);
        l.specials[l.slot(own + k)] = mine.all;
        mine.take(special);
    }
    if (threadIdx.x == threads - 1) l.specials[l.slot(L::room)] = all.all;
}

/* Sums up what is before each element. The list's elements are where its specials will be. */
template <class T, int threads, class L>
__device__ __forceinline__ void sum_up(const bf_cuda_rolling_params &p, const typename T::way &by,
                                       const L &l) {
    const int own = (int)threadIdx.x * L::each;
    T before[L::each], mine = T::none(), all;
#pragma unroll
    for (int k = 0; k < L::each; k++) {
        before[k] = mine;
        mine.join(T::of(p, by, l.specials[l.slot(own + k)]));
    }
    const T up_to = before_thread<threads / BF_CUDA_WARP>(mine, &all);
#pragma unroll
    for (int k = 0; k < L::each; k++) {
        before[k].join(up_to);
        l.put(own + k, before[k]);
    }
    if (threadIdx.x == threads - 1) l.put(L::room, all);
}

/* Makes and stores the results of a tile by sums T, and by records of R. */
template <class T, class R, int threads, class L>
__device__ __forceinline__ void make_tile(const bf_cuda_rolling_params &p, const tile &t,
                                          const chunks &c, const range &r, int64_t n, const L &l) {
    __shared__ core_sums<T> core;
    const typename T::way by(p, r, n);
    const int unit = unit_of(p, r);
    core_sums<T> s = core_sums<T>::none();
    if (t.core() < t.second) s = sum_core<threads, T, R>(p, t, c, r, by);
    if (threadIdx.x == 0) core = s;
    sum_up<T, threads>(p, by, l);
    if (r.odd) count_specials<threads>(p, l);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < t.n; i += threads) {
        const window w = window_of(p, t, i);
        T x = core.sums;
        x.join(l.template sums_at<T>(w.end));
        x.leave(l.template sums_at<T>(w.first));
        specials odd = {};
        if (r.odd) {
            const uint64_t listed = l.specials[l.slot(w.end)] - l.specials[l.slot(w.first)];
#pragma unroll
            for (int k = 0; k < 4; k++)
                odd.count[k] = core.odd.count[k] + (uint16_t)(listed >> 16 * k);
            look_for_refused(p, odd.count[0]);
        }
        const uint64_t bits = make_result<T>(p.job.window, unit, w.rows, r.odd != 0, odd, x);
        store_bits(p.job.values, p.to_bytes, w.to, bits);
    }
}

template <class T, class L, int threads, int blocks>
__global__ void __launch_bounds__(threads, bf_cuda_blocks_held(threads, blocks))
    roll_tiles(const __grid_constant__ bf_cuda_rolling_params p) {
    extern __shared__ uint64_t memory[];
    __shared__ tile t;
    const L l = {memory, memory + L::slots};
    if (threadIdx.x == 0) t = find_tile(p, blockIdx.x);
    __syncthreads();
    const chunks c = core_chunks(p, t);
    const int64_t n = t.count + (t.second - t.core());
    range r = range::none();
    load_list<threads, L::each>(p, t, [&](int i, uint64_t bits) {
        l.specials[l.slot(i)] = bits;
        r.see(p, bits);
    });
    if (t.core() < t.second) {
        visit_core<threads>(p, t, c, [&](uint64_t bits) { r.see(p, bits); });
        visit_records<threads>(p, c, [&](int64_t i) { r.join(record_of<T>(p, i)->seen); });
    }
    r = r.of_block<threads>();
    const int64_t spare = c.some() ? 4 * n : n; /* for what records have together */
    if constexpr (T::words == 2)
        if (pairs::fits(p, r, spare)) return make_tile<pairs, T, threads>(p, t, c, r, spare, l);
    if (T::fits(p, r, n))
        make_tile<T, T, threads>(p, t, c, r, n, l);
    else if (threadIdx.x == 0)
        p.marked[atomicAdd(&p.board->marked, 1ull)] = blockIdx.x;
}

template <class T, int threads, int each, int blocks> bf_cuda_rolling_kernels kernels_of() {
    typedef lists<T::words, threads, each> L;
    return {(const void *)roll_tiles<T, L, threads, blocks>,
            threads,
            L::room,
            L::bytes,
            (const void *)roll_chunks<T>,
            (const void *)roll_groups<T>,
            record_words<T>};
}

/* Where a multiprocessor has room for so many of them, blocks have long lists: neighbouring windows
 * share most of their elements. */
template <class T, int threads, int blocks> bf_cuda_rolling_kernels kernels_within(int shared) {
    if (shared >= blocks * (int)lists<T::words, threads, 8>::bytes)
        return kernels_of<T, threads, 8, blocks>();
    constexpr int each = T::words > 2 ? 4 : 8;
    return kernels_of<T, 256, each, 3>();
}

} // namespace rolling_sums

/* Integers of up to 32 bits, and f16, have narrow squares. */
bf_cuda_rolling_kernels bf_cuda_rolling_sums(const bf_cuda_rolling_params &p, int shared) {
    const bool narrow = p.is_float ? p.job.window.dtype == BF_F16 : p.bytes < 8;
    if (p.job.window.kind != BF_KIND_MOMENTS)
        return rolling_sums::kernels_within<rolling_sums::sums<2, 0>, 512, 2>(shared);
    return narrow ? rolling_sums::kernels_within<rolling_sums::sums<1, 2>, 256, 3>(shared)
                  : rolling_sums::kernels_within<rolling_sums::sums<2, 3>, 256, 2>(shared);
}
