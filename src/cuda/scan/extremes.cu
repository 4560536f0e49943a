/* Minima and maxima, of ranks (rules/key/order.h). */
#include "cuda/scan/kernels.cuh"

namespace {

using namespace bf_cuda_scan;

template <class Bits> struct extreme {
    typedef Bits Element;
    typedef Bits Result;
    int64_t rank; /* the least one; of maxima all are complemented */
    uint32_t is_there, has_nan;
    static __device__ __forceinline__ extreme none() { return {INT64_MAX, 0, 0}; }
    static __device__ __forceinline__ extreme of_words(const bf_cuda_scan_params &,
                                                       const int64_t *words) {
        return {words[BF_EXTREME_RANK], words[BF_EXTREME_INDEX] >= 0, words[BF_EXTREME_NAN] > 0};
    }
    __device__ __forceinline__ void take(const bf_cuda_scan_params &p, Element bits) {
        const bf_dtype dtype = p.prefix.dtype;
        if (bf_dtype_is_float(dtype) && bf_is_nan(bf_format_of(dtype), bits)) {
            has_nan = 1;
            return;
        }
        const int64_t own = bf_order_rank(dtype, bits);
        join({bf_is_greatest(p.prefix.op) ? ~own : own, 1, 0});
    }
    __device__ __forceinline__ void settle() {}
    __device__ __forceinline__ void join(const extreme &other) {
        rank = other.rank < rank ? other.rank : rank;
        is_there |= other.is_there;
        has_nan |= other.has_nan;
    }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &p, bool,
                                               int *wrong) const {
        const bf_dtype dtype = p.prefix.dtype;
        if (has_nan && p.prefix.options.nan != BF_NAN_SKIP)
            return bf_format_nan(bf_format_of(dtype));
        if (!is_there && !p.has_empty) *wrong |= REFUSED;
        if (!is_there) return p.empty;
        return bf_order_bits(dtype, bf_is_greatest(p.prefix.op) ? ~rank : rank);
    }
};

} // namespace

bf_cuda_scan_kernels bf_cuda_scan_extremes(const bf_cuda_scan_params &p) {
    switch (p.bytes) {
    case 1: return kernels_of<extreme<uint8_t>>();
    case 2: return kernels_of<extreme<uint16_t>>();
    case 4: return kernels_of<extreme<uint32_t>>();
    default: return kernels_of<extreme<uint64_t>>();
    }
}
