/* Minima and maxima, with their indices, as accumulators of a thread (sum.cuh says what one has).
 *
 * Elements compete as signed keys; those of a maximum are complemented, so that the least wins. */
#ifndef BF_CUDA_AXIS_EXTREME_CUH
#define BF_CUDA_AXIS_EXTREME_CUH

#include "cuda/axis/taking.cuh"
#include "cuda/axis/value.cuh"

template <class C> struct bf_cuda_axis_extreme : bf_cuda_axis_takes_all<bf_cuda_axis_extreme<C>> {
    using Class = C;
    using Value = typename C::Value;
    static constexpr bool pair = false;
    static constexpr int words = 4, total = 4, blocks = 3;
    static constexpr int columns = 2;
    enum { KEY, AT, NANS, NAN_AT };
    static constexpr Value none = C::is_wide ? (Value)INT64_MAX : (Value)INT32_MAX;

    /* How elements become keys: bits to change in all, in those whose sign is set, and from which
     * magnitude on a float is a NaN. */
    struct Order {
        Value change, flip, inf;
        bool is_float, greatest;
        Order() = default;
        __device__ __forceinline__ explicit Order(const bf_cuda_axis_params &p) {
            const int bits = 8 * bf_dtype_bytes(p.dtype);
            const Value sign = (Value)((uint64_t)1 << (C::is_wide ? 63 : 31));
            is_float = bf_dtype_is_float(p.dtype);
            greatest = p.op == BF_MAX || p.op == BF_ARGMAX;
            change = p.dtype == BF_U64 || p.dtype == BF_U32 ? sign : 0;
            flip = is_float ? (Value)(((uint64_t)1 << (bits - 1)) - 1) : 0;
            inf = is_float ? (Value)bf_format_inf(bf_format_of(p.dtype)) : 0;
        }
        __device__ __forceinline__ bool is_nan(Value x) const {
            return is_float && (x & flip) > inf;
        }
        __device__ __forceinline__ Value key(Value x) const {
            x ^= change;
            x ^= x < 0 ? flip : 0;
            return greatest ? ~x : x;
        }
        __device__ __forceinline__ uint64_t bits(Value key) const {
            key = greatest ? ~key : key;
            key ^= key < 0 ? flip : 0;
            return (uint64_t)(key ^ change);
        }
    };

    Value best;
    int64_t at, nans, nan_at;
    Order order;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        order = Order(p);
        reset();
    }
    __device__ __forceinline__ void reset() {
        best = none;
        at = nan_at = INT64_MAX;
        nans = 0;
    }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t j, int64_t step,
                                         int some) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const bool is_nan = order.is_nan(x[k]), there = k < some;
            const Value key = order.key(x[k]);
            const int64_t index = j + k * step;
            if (there && is_nan) {
                nans++;
                if (index < nan_at) nan_at = index;
            } else if (there && (key < best || (key == best && index < at))) {
                best = key;
                at = index;
            }
        }
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) const {
        part[KEY] = best;
        part[AT] = at;
        part[NANS] = nans;
        part[NAN_AT] = nan_at;
    }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
        const bool less = from[KEY] < into[KEY] || (from[KEY] == into[KEY] && from[AT] < into[AT]);
        into[KEY] = less ? from[KEY] : into[KEY];
        into[AT] = less ? from[AT] : into[AT];
        into[NANS] += from[NANS];
        into[NAN_AT] = from[NAN_AT] < into[NAN_AT] ? from[NAN_AT] : into[NAN_AT];
    }
    static __device__ __forceinline__ void widen(const int64_t (&part)[words],
                                                 int64_t (&whole)[total]) {
#pragma unroll
        for (int i = 0; i < total; i++) whole[i] = part[i];
    }
    static __device__ __forceinline__ void merge_total(int64_t (&into)[total],
                                                       const int64_t (&from)[total]) {
        merge(into, from);
    }

    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r, int64_t,
                                                  const int64_t (&whole)[total]) {
        const bool indexed = p.op == BF_ARGMIN || p.op == BF_ARGMAX;
        const bool nan = whole[NANS] > 0 && p.nan != BF_NAN_SKIP;
        if (whole[NANS] > 0 && p.nan == BF_NAN_ERROR) bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        if (!nan && whole[AT] == INT64_MAX) {
            bf_cuda_axis_store_empty(p, r);
            return;
        }
        uint64_t bits;
        if (indexed)
            bits = (uint64_t)whole[nan ? NAN_AT : AT];
        else if (nan)
            bits = bf_format_nan(bf_format_of(p.dtype));
        else
            bits = Order(p).bits((Value)whole[KEY]);
        bf_cuda_axis_store_fit(p, r, bits, true);
    }
};

#endif
