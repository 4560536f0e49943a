/* Integers and bools, of words that were extended by their sign. */
#ifndef BF_CUDA_AXIS_WORDS_WHOLE_CUH
#define BF_CUDA_AXIS_WORDS_WHOLE_CUH

#include "cuda/axis/axis.cuh"

/* Any: words of 1 and 2 bytes were extended by their sign even if their dtype has none. */
template <class C, bool Any> struct bf_cuda_axis_whole {
    using Value = typename C::Value;
    static constexpr bool is_narrow = Any && C::N > 4;
    bool is_signed;
    int32_t mask, most; /* the bits of a narrow word; its greatest value */

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        is_signed = bf_dtype_is_signed(p.dtype);
        mask = is_signed || !is_narrow ? -1 : (1 << 8 * p.element) - 1;
        most = p.dtype == BF_BOOL ? 1 : INT32_MAX;
    }
    __device__ __forceinline__ void join_warp() {}
    __device__ __forceinline__ int64_t operator()(Value x) const {
        if constexpr (is_narrow) return min((int32_t)x & mask, most);
        return C::is_wide || is_signed ? (int64_t)x : (int64_t)(uint32_t)x;
    }
};

#endif
