/* Sums of integers and bools, of few elements each (doubles.cuh): in 64 bits, or 128 of those that
 * have 64 themselves. */
#ifndef BF_CUDA_AXIS_WORDS_TOTAL_CUH
#define BF_CUDA_AXIS_WORDS_TOTAL_CUH

#include "cuda/axis/doubles/doubles.cuh"

template <class C> struct bf_cuda_axis_total : bf_cuda_axis_sum_proof<false> {
    using Value = typename C::Value;
    struct Joint {
        int64_t mask; /* bits of a u32; or all, but of u64 those of the sign: none */
        __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
            const bool extends = bf_dtype_is_signed(p.dtype) || C::N > 4;
            mask = extends ? -1ll : C::is_wide ? 0ll : 0xffffffffll;
        }
        __device__ __forceinline__ void join_warp() {}
    };
    static constexpr bool has_origin = false, stays = false;
    static constexpr int columns = C::N < 8 ? C::N : 8;
    uint64_t low;
    int64_t high; /* the words above, if elements have 64 bits */

    __device__ __forceinline__ void reset() {
        low = 0;
        high = 0;
    }
    __device__ __forceinline__ void start(Value, const Joint &) {}
    __device__ __forceinline__ void add(uint64_t x, int64_t above) {
        low += x;
        if (C::is_wide) high += above + (low < x);
    }
    __device__ __forceinline__ void take(Value x, const Joint &joint, int) {
        if (C::is_wide)
            add((uint64_t)x, (int64_t)x >> 63 & joint.mask);
        else
            add((uint64_t)((int64_t)x & joint.mask), 0);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_total &other, Joint &) {
        add(other.low, other.high);
    }
    __device__ __forceinline__ bf_cuda_axis_total shuffle(int distance) const {
        bf_cuda_axis_total x;
        x.low = __shfl_xor_sync(0xffffffffu, low, distance);
        x.high = C::is_wide ? __shfl_xor_sync(0xffffffffu, high, distance) : 0;
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p,
                                          const bf_cuda_axis_proven &t, const Joint &,
                                          uint64_t *bits) const {
        const int64_t sum = (int64_t)low;
        const bool is_small = !C::is_wide || high == sum >> 63;
        *bits = low;
        if (!bf_dtype_is_float(p.to))
            return p.wraps || (p.to == BF_U64 && C::is_wide ? high == 0 : is_small);
        if (!is_small || sum > INT64_MAX / 2 || sum < INT64_MIN / 2) return false;
        const double x = (double)sum;
        if (p.op == BF_MEAN)
            return bf_cuda_axis_prove_mean(p, t.count, t.inverse, {x, (double)(sum - (int64_t)x)},
                                           bits);
        *bits = p.to == BF_F64 ? (uint64_t)__double_as_longlong(x)
                               : __float_as_uint(__ll2float_rn(sum));
        return true;
    }
};

#endif
