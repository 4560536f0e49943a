/* Minima and maxima, and their indices: as what proves results of few elements (doubles.cuh), and
 * as an accumulator of a thread (sum.cuh).
 *
 * Elements compete as signed keys; those of a maximum are complemented, so that the least wins. A
 * NaN has the least key of all, or, if NaNs are skipped, the key of no element. */
#ifndef BF_CUDA_AXIS_WORDS_EXTREME_CUH
#define BF_CUDA_AXIS_WORDS_EXTREME_CUH

#include "cuda/axis/doubles/doubles.cuh"
#include "cuda/axis/taking.cuh"

/* How elements become keys. */
template <class C> struct bf_cuda_axis_order {
    using Value = typename C::Value;
    static constexpr Value none = C::is_wide ? (Value)INT64_MAX : (Value)INT32_MAX;
    static constexpr Value nan = -none - 1; /* no number has one of these keys; integers may */
    static constexpr bool is_byte = C::N == 16;

    Value flip, inf; /* the bits of a float's magnitude, and the greatest; else 0 */
    Value change;    /* bits that change in all */
    Value nan_key;
    bool is_bool;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        const bool is_float = bf_dtype_is_float(p.dtype);
        const bool greatest = p.op == BF_MAX || p.op == BF_ARGMAX;
        flip = is_float ? (Value)(((uint64_t)1 << (8 * bf_dtype_bytes(p.dtype) - 1)) - 1) : 0;
        inf = is_float ? (Value)bf_format_inf(bf_format_of(p.dtype)) : 0;
        change = !is_float && !bf_dtype_is_signed(p.dtype) ? nan : 0;
        if (greatest) change = ~change;
        nan_key = p.nan == BF_NAN_SKIP ? none : nan;
        is_bool = p.dtype == BF_BOOL;
    }
    __device__ __forceinline__ Value key(Value x) const {
        if (is_byte) return (is_bool && x != 0 ? 1 : x) ^ change;
        const Value k = x ^ (x < 0 ? flip : 0) ^ change;
        return (x & flip) > inf ? nan_key : k;
    }
    /* The result of a key; false: there is none, or it is refused. */
    __device__ __forceinline__ bool result(const bf_cuda_axis_params &p, Value key,
                                           uint64_t *bits) const {
        const Value x = key ^ change;
        *bits = (uint64_t)(x ^ (x < 0 ? flip : 0));
        if (flip == 0) return true;
        if (key == nan) *bits = bf_format_nan(bf_format_of(p.dtype));
        return key != none && (key != nan || p.nan == BF_NAN_PROPAGATE);
    }
};

/* At: the index is wanted. */
template <class C, bool At> struct bf_cuda_axis_extreme {
    using Value = typename C::Value;
    using Order = bf_cuda_axis_order<C>;
    struct Joint {
        Order order;
        __device__ __forceinline__ void open(const bf_cuda_axis_params &p) { order.open(p); }
        __device__ __forceinline__ void join_warp() {}
    };
    static constexpr bool has_origin = false, stays = false, settles = false;
    static constexpr int columns = C::N < 8 ? C::N : 8;
    static constexpr int words = At ? 2 : 1;
    Value best;
    int64_t at;

    __device__ __forceinline__ void reset() {
        best = Order::none;
        at = INT64_MAX;
    }
    __device__ __forceinline__ void start(Value, const Joint &) {}
    __device__ __forceinline__ void take(Value x, const Joint &joint, int64_t index) {
        const Value key = joint.order.key(x);
        if (At && (key < best || (key == best && index < at))) at = index;
        best = min(best, key);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_extreme &other) {
        if (At && (other.best < best || (other.best == best && other.at < at))) at = other.at;
        best = min(best, other.best);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_extreme &other, Joint &) {
        merge(other);
    }
    __device__ __forceinline__ bf_cuda_axis_extreme shuffle(int distance) const {
        bf_cuda_axis_extreme x;
        x.best = __shfl_xor_sync(0xffffffffu, best, distance);
        x.at = At ? __shfl_xor_sync(0xffffffffu, at, distance) : 0;
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p, const bf_cuda_axis_proven &,
                                          const Joint &joint, uint64_t *bits) const {
        const bool good = joint.order.result(p, best, bits);
        if (At) *bits = (uint64_t)at;
        return good;
    }
    static __device__ __forceinline__ bool none(const bf_cuda_axis_params &p, uint64_t *bits) {
        *bits = p.empty;
        return p.has_empty;
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) const {
        part[0] = best;
        part[words - 1] = At ? at : best;
    }
    __device__ __forceinline__ void open_part(const int64_t (&part)[words]) {
        best = (Value)part[0];
        at = At ? part[words - 1] : 0;
    }
};

/* As an accumulator. */
template <class C, bool At>
struct bf_cuda_axis_extremes : bf_cuda_axis_takes_all<bf_cuda_axis_extremes<C, At>>,
                               bf_cuda_axis_same_total<bf_cuda_axis_extremes<C, At>> {
    using Class = C;
    using Value = typename C::Value;
    using Extreme = bf_cuda_axis_extreme<C, At>;
    static constexpr bool pair = false;
    static constexpr int words = Extreme::words, total = words, blocks = 3;
    static constexpr int columns = Extreme::columns;

    Extreme least;
    typename Extreme::Joint joint;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        joint.open(p);
        reset();
    }
    __device__ __forceinline__ void reset() { least.reset(); }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t j, int64_t step,
                                         int some) {
#pragma unroll
        for (int k = 0; k < n; k++)
            if (k < some) least.take(x[k], joint, j + k * step);
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) const { least.close(part); }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
        Extreme x, y;
        x.open_part(into);
        y.open_part(from);
        x.merge(y);
        x.close(into);
    }
    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r,
                                                  int64_t count, const int64_t (&whole)[total]) {
        bf_cuda_axis_order<C> order;
        Extreme x;
        uint64_t bits;
        order.open(p);
        x.open_part(whole);
        const bool good = order.result(p, x.best, &bits) && count > 0;
        if (!good && x.best == order.nan && count > 0)
            bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        else if (!good)
            bf_cuda_axis_store_empty(p, r);
        else
            bf_cuda_axis_store_fit(p, r, At ? (uint64_t)x.at : bits, true);
    }
};

#endif
