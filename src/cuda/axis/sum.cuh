/* Exact sums as accumulators of a thread.
 *
 * template <class A>: an accumulator has
 *   Class, Value   how elements are loaded (value.cuh)
 *   pair           it takes elements of two arrays
 *   words          int64 of a part: what a thread has of a piece. merge(into, from) commutes
 *   total          int64 of a whole: widen() makes it of a part, and merge_total() adds wholes
 *   open()         opens the windows, and reset() makes it empty
 *   columns        results of a thread, at most
 *   take<n>()      takes n values at indices j, j + step, ...; of those only the first `some`, and
 *                  the others are 0
 *   keep(n)        is called after at most BF_CUDA_AXIS_KEPT such values, of which there were n
 *   try_values()   takes values at indices j, j + 1, ..., as long as all are finite and fit;
 *   try_columns()  the same for a value each in several accumulators
 *   fits()         whether they did, since the last fold(): at most `most` of them
 *   is_lost()      whether a finite value did not fit: then the result is marked, whatever comes
 *   drop()         forgets them
 *   fold()         keeps them
 *   close()        writes the part
 *   finish()       the result of a whole
 *   has_origin     start(x) sets what is taken off all elements of a result: the first one
 *   Direct         what may prove a result of few elements (direct.cuh) */
#ifndef BF_CUDA_AXIS_SUM_CUH
#define BF_CUDA_AXIS_SUM_CUH

#include "cuda/axis/doubles/direct.cuh"
#include "cuda/axis/value.cuh"
#include "cuda/axis/words/whole.cuh"
#include "cuda/reduce/sum_result.cuh"
#include "cuda/reduce/sum_terms.cuh"

#include "rules/reduce/result.h"

enum { BF_CUDA_AXIS_KEPT = 16 };

/* Flags of a sum, beside BF_CUDA_POSITIVE. */
enum {
    BF_CUDA_AXIS_POS_INF = 2,
    BF_CUDA_AXIS_NEG_INF = 4,
    BF_CUDA_AXIS_INVALID = 8,
    BF_CUDA_AXIS_MISFIT = 16
};

/* What all sums have: `Sums` int64 sums, and a word of flags (upper half) and NaNs. In a total each
 * sum is a pair. */
template <int Sums> struct bf_cuda_axis_sums {
    static constexpr int words = Sums + 1, total = 2 * Sums + 2;

    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
#pragma unroll
        for (int i = 0; i < Sums; i++) into[i] += from[i];
        uint64_t x = (uint64_t)into[Sums], y = (uint64_t)from[Sums];
        unsigned nans = (unsigned)x + (unsigned)y;
        into[Sums] = (int64_t)((x | y) >> 32 << 32 | nans);
    }
    static __device__ __forceinline__ void widen(const int64_t (&part)[words],
                                                 int64_t (&whole)[total]) {
#pragma unroll
        for (int i = 0; i < Sums; i++) {
            whole[2 * i] = (int64_t)((uint64_t)part[i] & 0xffffffffu);
            whole[2 * i + 1] = part[i] >> 32;
        }
        whole[2 * Sums] = (int64_t)((uint64_t)part[Sums] & 0xffffffffu);
        whole[2 * Sums + 1] = (int64_t)((uint64_t)part[Sums] >> 32);
    }
    static __device__ __forceinline__ void merge_total(int64_t (&into)[total],
                                                       const int64_t (&from)[total]) {
#pragma unroll
        for (int i = 0; i < total - 1; i++) into[i] += from[i];
        into[total - 1] |= from[total - 1];
    }
    static __device__ __forceinline__ void pairs_of(const int64_t (&whole)[total],
                                                    bf_cuda_pair (&pairs)[Sums]) {
#pragma unroll
        for (int i = 0; i < Sums; i++) pairs[i] = {whole[2 * i], whole[2 * i + 1]};
    }
};

/* --- results --- */

/* The dtype of a result that is rounded. */
static __device__ __forceinline__ bf_format bf_cuda_axis_format(const bf_cuda_axis_params &p) {
    return bf_format_of(p.to);
}

/* A variance or its root. False: it needs more than registers. */
template <int Sums>
static __device__ __noinline__ bool
bf_cuda_axis_finish_moments(const bf_cuda_axis_params &p, int64_t r, int64_t count,
                            const bf_cuda_series &s, const bf_cuda_pair (&pairs)[Sums]) {
    uint64_t bits;
    bool root = p.op == BF_STD;
    if (!bf_cuda_quick_moments(count, p.ddof, root, s, pairs, bf_cuda_axis_format(p), &bits))
        return false;
    bf_cuda_axis_store(p, r, bits);
    return true;
}

/* A sum, mean, norm or dot product that is rounded: of count elements that are finite. */
template <int W>
static __device__ __forceinline__ void
bf_cuda_axis_finish_one(const bf_cuda_axis_params &p, int64_t r, int64_t count,
                        const bf_cuda_series &s, const bf_cuda_pair *pairs, bool minus) {
    bf_format f = bf_cuda_axis_format(p);
    bool negative;
    bf_leading l = bf_cuda_leading<W>(s, pairs, &negative);
    uint64_t bits = minus && count > 0 ? bf_format_sign(f) : 0;
    if (l.bits != 0) {
        if (p.op == BF_MEAN) l = bf_leading_divide(l, (uint64_t)count);
        if (p.op == BF_NORM) l = bf_leading_root(l);
        bits = bf_leading_round(f, negative, l);
    }
    bf_cuda_axis_store(p, r, bits);
}

/* --- floats --- */

template <class C, bf_kind Kind>
struct bf_cuda_axis_float
    : bf_cuda_axis_sums<bf_cuda_levels<C::dtype, Kind>::sum(C::dtype == BF_F64) +
                        bf_cuda_levels<C::dtype, Kind>::product(C::dtype == BF_F64)> {
    using Class = C;
    using Value = typename C::Value;
    static constexpr bool pair = Kind == BF_KIND_DOT;
    static constexpr bf_cuda_zeros zeros =
        Kind == BF_KIND_SUM || pair ? BF_CUDA_ZEROS_ALL : BF_CUDA_ZEROS_NONE;
    static constexpr bool is_double = C::is_double, has_origin = false;
    using Terms = bf_cuda_terms<C::dtype, Kind, zeros, is_double>;
    static constexpr int KA = Terms::KA, KB = Terms::KB, K = KA + KB;
    using Sums = bf_cuda_axis_sums<K>;
    using Direct = typename bf_cuda_axis_direct_of<is_double, Kind>::Type;
    /* Elements of a thread between folds. */
    static constexpr int most = is_double && KB > 0 ? BF_WINDOW_ROWS / 2 : BF_WINDOW_ROWS;
    static constexpr int blocks = K > 3 ? 2 : 3;
    static constexpr int columns = is_double ? (K > 4 ? 1 : 2) : K > 2 ? 2 : 4;

    Terms terms;
    int64_t sums[K];
    unsigned flags, nans;
    int taken;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        terms.open(p.board->sum_bottom, p.board->product_bottom);
#pragma unroll
        for (int i = 0; i < K; i++) sums[i] = 0;
        flags = nans = 0;
        taken = 0;
    }
    /* The sums become empty; the window stays. */
    __device__ __forceinline__ void reset() {
#pragma unroll
        for (int i = 0; i < K; i++) sums[i] = 0;
        flags = nans = 0;
    }

    static __device__ __forceinline__ bool is_finite(Value x) {
        if (is_double) return (bf_cuda_high((double)x) & 0x7fffffffu) < 0x7ff00000u;
        return fabsf((float)x) <= 3.402823466e38f;
    }
    static __device__ __forceinline__ bool is_nan(Value x) { return x != x; }

    /* Counts a term that is not finite, and makes it one that changes no sum: -0. */
    __device__ __forceinline__ void count(Value &x, Value &y) {
        if (is_finite(x) && (!pair || is_finite(y))) return;
        bool minus = x < 0;
        if (is_nan(x) || (pair && is_nan(y)))
            nans++;
        else if (pair && (x == 0 || y == 0))
            flags |= BF_CUDA_AXIS_INVALID;
        else if (pair ? minus != (y < 0) : minus && Kind != BF_KIND_SQUARES)
            flags |= BF_CUDA_AXIS_NEG_INF;
        else
            flags |= BF_CUDA_AXIS_POS_INF;
        x = (Value)-0.0;
        y = 0;
    }
    template <int n>
    static __device__ __forceinline__ bool are_finite(const Value (&x)[n], const Value (&y)[n]) {
        bool finite = true;
#pragma unroll
        for (int k = 0; k < n; k++)
            finite = finite && is_finite(x[k]) && (!pair || is_finite(y[k]));
        return finite;
    }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&y)[n], int64_t, int64_t, int some) {
        if (some < n) {
#pragma unroll
            for (int k = 0; k < n; k++) {
                x[k] = k < some ? x[k] : (Value)-0.0;
                y[k] = k < some ? y[k] : 0;
            }
        }
        if (!are_finite(x, y)) {
#pragma unroll
            for (int k = 0; k < n; k++) count(x[k], y[k]);
        }
        try_values(x, y, 0);
    }
    template <int n>
    __device__ __forceinline__ void try_values(Value (&x)[n], Value (&y)[n], int64_t) {
        constexpr int few = Terms::few < n ? Terms::few : n;
#pragma unroll
        for (int k = 0; k < n; k += few) terms.template take<few>(x + k, pair ? y + k : x + k);
    }
    template <int n>
    static __device__ __forceinline__ void try_columns(bf_cuda_axis_float (&sums)[n], Value (&x)[n],
                                                       Value (&y)[n], int64_t) {
        typename Terms::Left left[n];
        unsigned rest = 0;
#pragma unroll
        for (int k = 0; k < n; k++) {
            sums[k].terms.rest = 0;
            sums[k].terms.take((double)x[k], (double)(pair ? y[k] : x[k]), left[k]);
            rest |= sums[k].terms.rest;
        }
        if (rest == 0) return;
#pragma unroll
        for (int k = 0; k < n; k++)
            sums[k].terms.take_left((double)x[k], (double)(pair ? y[k] : x[k]), left[k]);
    }
    __device__ __forceinline__ bool fits() const { return !terms.misfit.any(); }
    __device__ __forceinline__ bool is_lost() const { return (flags & BF_CUDA_AXIS_MISFIT) != 0; }
    __device__ __forceinline__ void drop() {
        if (KA > 0) terms.sum.reset();
        if (KB > 0) terms.product.reset();
        terms.misfit = {false, 0};
        terms.minus = ~0u;
        taken = 0;
    }
    __device__ __forceinline__ void keep(int n) {
        taken += n;
        if (taken > most - BF_CUDA_AXIS_KEPT) fold();
    }
    __device__ __forceinline__ int64_t content(double level, unsigned start) const {
        return __double_as_longlong(level) - (int64_t)((uint64_t)start << 32);
    }
    __device__ __forceinline__ void fold() {
        if (KA > 0) {
#pragma unroll
            for (int l = 0; l < KA; l++)
                sums[l] += content(terms.sum.level[l], terms.sum.start_of(l));
        }
        if (KB > 0) {
#pragma unroll
            for (int l = 0; l < KB; l++)
                sums[KA + l] += content(terms.product.level[l], terms.product.start_of(l));
        }
        if (!fits()) flags |= BF_CUDA_AXIS_MISFIT;
        if (zeros == BF_CUDA_ZEROS_ALL && terms.minus >> 31 == 0) flags |= BF_CUDA_POSITIVE;
        drop();
    }
    __device__ __forceinline__ void close(int64_t (&part)[Sums::words]) {
        fold();
#pragma unroll
        for (int i = 0; i < K; i++) part[i] = sums[i];
        part[K] = (int64_t)((uint64_t)flags << 32 | nans);
    }

    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r,
                                                  int64_t count,
                                                  const int64_t (&whole)[Sums::total]) {
        const bf_format f = bf_cuda_axis_format(p);
        const unsigned flags = (unsigned)whole[2 * K + 1];
        const int64_t nans = whole[2 * K];
        if (flags & BF_CUDA_AXIS_MISFIT) {
            bf_cuda_axis_mark(p, r);
            return;
        }
        if (p.fits != nullptr) p.fits[r] = 1;
        if (nans > 0 && p.nan == BF_NAN_ERROR) bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        const bool is_nan = (nans > 0 && p.nan != BF_NAN_SKIP) || (flags & BF_CUDA_AXIS_INVALID);
        const bool pos = (flags & BF_CUDA_AXIS_POS_INF) != 0;
        const bool neg = (flags & BF_CUDA_AXIS_NEG_INF) != 0;
        count -= nans;
        if (is_nan || (pos && neg) || (p.op == BF_MEAN && count == 0) ||
            (Kind == BF_KIND_MOMENTS && (pos || neg || count <= p.ddof))) {
            bf_cuda_axis_store(p, r, bf_format_nan(f));
            return;
        }
        if (pos || neg) {
            bf_cuda_axis_store(p, r, bf_format_inf(f) | (neg ? bf_format_sign(f) : 0));
            return;
        }
        const bool minus = zeros == BF_CUDA_ZEROS_ALL && (flags & BF_CUDA_POSITIVE) == 0;
        if (!finish_quickly(p, r, count, whole, minus)) finish_slowly(p, r, count, whole, minus);
    }
    /* In doubles, which can prove it nearly always. */
    static __device__ __forceinline__ bool finish_quickly(const bf_cuda_axis_params &p, int64_t r,
                                                          int64_t count,
                                                          const int64_t (&whole)[Sums::total],
                                                          bool minus) {
        int64_t content[K];
        bool small = true;
#pragma unroll
        for (int i = 0; i < K; i++) {
            small = small && (uint64_t)(whole[2 * i + 1] + (1 << 20)) >> 21 == 0;
            content[i] = (int64_t)((uint64_t)whole[2 * i + 1] << 32) + whole[2 * i];
        }
        bf_cuda_axis_exactly sum = {0, 0}, products = {0, 0};
        double lost = 0, more = 0;
        uint64_t bits = 0;
        bool good = small;
        if (KA > 0)
            good = small &&
                   bf_cuda_axis_levels<bf_cuda_some(KA)>(p.board->sum_bottom, content, &sum, &lost);
        if (KB > 0)
            good = bf_cuda_axis_levels<bf_cuda_some(KB)>(p.board->product_bottom, content + KA,
                                                         &products, &more) &&
                   good;
        if (!good || lost != 0) return false;
        if (Kind == BF_KIND_MOMENTS) {
            if (more > products.high * 0x1p-100) return false;
            if (!bf_cuda_axis_quick_variance(p.to, p.op == BF_STD, sum, products, count, p.ddof,
                                             &bits))
                return false;
        } else {
            const bf_cuda_axis_exactly x = KA > 0 ? sum : products;
            if (more != 0 || p.op == BF_NORM) return false;
            if (x.high == 0 && x.low == 0)
                bits = minus && count > 0 ? bf_format_sign(bf_cuda_axis_format(p)) : 0;
            else if (p.op == BF_MEAN)
                good = bf_cuda_axis_quick_mean(p.to, x, count, 1 / (double)count, &bits);
            else
                bits = bf_cuda_axis_round(p.to, x.high, x.low, &good);
            if (!good) return false;
        }
        bf_cuda_axis_store(p, r, bits);
        return true;
    }
    static __device__ __noinline__ void finish_slowly(const bf_cuda_axis_params &p, int64_t r,
                                                      int64_t count,
                                                      const int64_t (&whole)[Sums::total],
                                                      bool minus) {
        bf_cuda_pair pairs[K];
        Sums::pairs_of(whole, pairs);
        const bf_cuda_series s = {KA, KB, p.board->sum_bottom, p.board->product_bottom,
                                  BF_WINDOW_BITS + 1};
        if (Kind == BF_KIND_MOMENTS) {
            if (!bf_cuda_axis_finish_moments<K>(p, r, count, s, pairs)) bf_cuda_axis_mark(p, r);
        } else {
            bf_cuda_axis_finish_one<(K > 3 ? 6 : 3)>(p, r, count, s, pairs, minus);
        }
    }
};

/* --- integers, as sums of 32-bit parts --- */

/* Kind: BF_KIND_SUM, BF_KIND_MOMENTS of squares alone too, or BF_KIND_DOT. The squares of words of
 * 1 and 2 bytes are one part. */
template <class C, bf_kind Kind> struct bf_cuda_axis_integer_parts {
    static constexpr bool whole = Kind == BF_KIND_MOMENTS && C::N > 4;
    static constexpr int sums = Kind == BF_KIND_DOT ? 0 : C::is_wide ? 2 : 1;
    static constexpr int squares = Kind == BF_KIND_SUM ? 0 : C::is_wide ? 4 : whole ? 1 : 2;
};

template <class C, bf_kind Kind>
struct bf_cuda_axis_integer : bf_cuda_axis_sums<bf_cuda_axis_integer_parts<C, Kind>::sums +
                                                bf_cuda_axis_integer_parts<C, Kind>::squares>,
                              bf_cuda_axis_takes_all<bf_cuda_axis_integer<C, Kind>> {
    using Class = C;
    using Value = typename C::Value;
    using Parts = bf_cuda_axis_integer_parts<C, Kind>;
    static constexpr bool pair = Kind == BF_KIND_DOT;
    static constexpr int KA = Parts::sums, KB = Parts::squares, K = KA + KB, blocks = 3;
    static constexpr int columns = K > 4 || (pair && K > 2) ? 1 : pair ? 2 : C::N < 8 ? C::N : 8;
    using Sums = bf_cuda_axis_sums<K>;

    int64_t sums[K];
    bf_cuda_axis_whole<C, Kind == BF_KIND_MOMENTS> whole;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        whole.open(p);
        reset();
    }
    __device__ __forceinline__ void reset() {
#pragma unroll
        for (int i = 0; i < K; i++) sums[i] = 0;
    }
    __device__ __forceinline__ int64_t upper(int64_t x) const {
        return whole.is_signed ? x >> 32 : (int64_t)((uint64_t)x >> 32);
    }
    __device__ __forceinline__ void take_small(int64_t x, int64_t y) {
        if (KA > 0) sums[0] += x;
        if (KB == 0) return;
        const int64_t product = x * y;
        sums[KA] += Parts::whole ? product : (int64_t)((uint64_t)product & 0xffffffffu);
        if (!Parts::whole) sums[KA + KB - 1] += upper(product);
    }
    __device__ __forceinline__ void take_wide(int64_t x, int64_t y) {
        if (KA > 0) {
            sums[0] += (int64_t)((uint64_t)x & 0xffffffffu);
            sums[C::is_wide] += upper(x);
        }
        if (KB == 0) return;
        uint64_t low = (uint64_t)x * (uint64_t)y;
        uint64_t high =
            whole.is_signed ? (uint64_t)__mul64hi(x, y) : __umul64hi((uint64_t)x, (uint64_t)y);
        constexpr int at = KB > 2 ? KA : 0, step = KB > 2;
        sums[at] += (int64_t)(low & 0xffffffffu);
        sums[at + step] += (int64_t)(low >> 32);
        sums[at + 2 * step] += (int64_t)(high & 0xffffffffu);
        sums[at + 3 * step] += upper((int64_t)high);
    }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&y)[n], int64_t, int64_t, int some) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const int64_t u = whole(x[k]), v = pair ? whole(y[k]) : u; /* 0 from `some` on */
            if (C::is_wide)
                take_wide(u, v);
            else
                take_small(u, v);
        }
    }
    __device__ __forceinline__ void close(int64_t (&part)[Sums::words]) {
#pragma unroll
        for (int i = 0; i < K; i++) part[i] = sums[i];
        part[K] = 0;
    }

    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r,
                                                  int64_t count,
                                                  const int64_t (&whole)[Sums::total]) {
        bf_cuda_pair pairs[K];
        Sums::pairs_of(whole, pairs);
        if (Kind == BF_KIND_MOMENTS && p.kind == BF_KIND_MOMENTS)
            finish_moments(p, r, count, pairs);
        else
            finish_sum(p, r, count, pairs + (Kind == BF_KIND_MOMENTS ? KA : 0));
    }
    static __device__ __forceinline__ void finish_moments(const bf_cuda_axis_params &p, int64_t r,
                                                          int64_t count,
                                                          const bf_cuda_pair (&pairs)[K]) {
        if (p.fits != nullptr) p.fits[r] = 1;
        if (count <= p.ddof)
            bf_cuda_axis_store(p, r, bf_format_nan(bf_cuda_axis_format(p)));
        else if (!bf_cuda_axis_finish_moments<K>(p, r, count, {KA, KB, 0, 0, -32}, pairs))
            bf_cuda_axis_mark(p, r);
    }
    /* A sum of elements, of their squares, or of products, or what is made of it. */
    static __device__ __forceinline__ void finish_sum(const bf_cuda_axis_params &p, int64_t r,
                                                      int64_t count, const bf_cuda_pair *pairs) {
        constexpr int W = (Kind == BF_KIND_MOMENTS ? KB : K) > 3 ? 6 : 3;
        const bf_cuda_series s = {Kind == BF_KIND_MOMENTS ? 0 : KA, KB, 0, 0, -32};
        if (!bf_dtype_is_float(p.to)) {
            bf_cuda_long<3> x = bf_cuda_total<3>(s, pairs);
            uint64_t above = p.to == BF_I64 ? (uint64_t)((int64_t)x.w[0] >> 63) : 0;
            bf_cuda_axis_store_fit(p, r, x.w[0], x.w[1] == above && x.w[2] == above);
            return;
        }
        if (p.fits != nullptr) p.fits[r] = 1;
        if (p.op == BF_MEAN && count == 0)
            bf_cuda_axis_store(p, r, bf_format_nan(bf_cuda_axis_format(p)));
        else
            bf_cuda_axis_finish_one<W>(p, r, count, s, pairs, false);
    }
};

#endif
