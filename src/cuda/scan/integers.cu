/* Sums and products of integers. */
#include "cuda/scan/kernels.cuh"

namespace {

using namespace bf_cuda_scan;

template <int bytes> struct bits_of;
template <> struct bits_of<1> { typedef uint8_t type; };
template <> struct bits_of<2> { typedef uint16_t type; };
template <> struct bits_of<4> { typedef uint32_t type; };
template <> struct bits_of<8> { typedef uint64_t type; };

/* The value of an element. A bool is 1, whatever its bits are. */
template <int bytes, bool is_signed>
__device__ __forceinline__ int64_t value_of(const bf_cuda_scan_params &p, uint64_t bits) {
    if (is_signed) return bf_sign_extend(bits, 8 * bytes);
    return bytes == 1 && p.prefix.dtype == BF_BOOL ? bits != 0 : (int64_t)bits;
}

/* 64 bits of the sum that carried words hold, in limbs of 32 bits each. */
__device__ __forceinline__ uint64_t sum_of_words(const int64_t *words, int limb) {
    const int64_t *limbs = words + BF_SUM_LIMBS + limb;
    return (uint64_t)limbs[0] | (uint64_t)limbs[1] << 32;
}

/* Sums modulo 2^64. The way in which tiles are scanned tells where one does not fit. */
template <int bytes, bool is_signed> struct sum {
    typedef typename bits_of<bytes>::type Element;
    typedef uint64_t Result;
    uint64_t total;
    static __device__ __forceinline__ sum none() { return {0}; }
    __device__ __forceinline__ void take(const bf_cuda_scan_params &p, Element bits) {
        total += (uint64_t)value_of<bytes, is_signed>(p, bits);
    }
    __device__ __forceinline__ void settle() {}
    __device__ __forceinline__ void join(const sum &other) { total += other.total; }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &, bool, int *) const {
        return total;
    }
};

/* Sums that may go on from some that do not fit: 128 bits hold those of as many integers as there
 * can be. */
template <int bytes, bool is_signed> struct wide_sum {
    typedef typename bits_of<bytes>::type Element;
    typedef uint64_t Result;
    uint64_t low;
    int64_t high;
    static __device__ __forceinline__ wide_sum none() { return {0, 0}; }
    static __device__ __forceinline__ wide_sum of_words(const bf_cuda_scan_params &,
                                                        const int64_t *words) {
        return {sum_of_words(words, 0), (int64_t)sum_of_words(words, 2)};
    }
    __device__ __forceinline__ void take(const bf_cuda_scan_params &p, Element bits) {
        const int64_t x = value_of<bytes, is_signed>(p, bits);
        join({(uint64_t)x, is_signed ? x >> 63 : 0});
    }
    __device__ __forceinline__ void settle() {}
    __device__ __forceinline__ void join(const wide_sum &other) {
        bf_cuda_add_wide(&low, &high, other.low, other.high);
    }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &p, bool,
                                               int *wrong) const {
        const bool fits = high == (is_signed ? (int64_t)low >> 63 : 0);
        if (!fits && p.prefix.options.overflow != BF_OVERFLOW_WRAP) *wrong |= REFUSED;
        return low;
    }
};

/* The way of sums modulo 2^64. The first sum of a line that does not fit is told by the signs of
 * the sum before, which fits, and of the element. */
template <int bytes, bool is_signed> struct by_steps : by_states<sum<bytes, is_signed>> {
    typedef by_states<sum<bytes, is_signed>> All;
    uint32_t misfit; /* the sign says whether a sum has not fit */
    static __device__ __forceinline__ by_steps of(const bf_cuda_scan_params &p) {
        return {{p, sum<bytes, is_signed>::none()}, 0};
    }
    __device__ __forceinline__ void add(typename bits_of<bytes>::type bits) {
        const uint32_t before = (uint32_t)(All::s.total >> 32);
        const uint32_t x = (uint32_t)((uint64_t)value_of<bytes, is_signed>(All::p, bits) >> 32);
        All::add(bits);
        const uint32_t all = (uint32_t)(All::s.total >> 32);
        misfit |= is_signed ? (before ^ all) & (x ^ all) : (before & x) | ((before | x) & ~all);
    }
    __device__ __forceinline__ bool end() const {
        return All::p.prefix.options.overflow == BF_OVERFLOW_WRAP || (int32_t)misfit >= 0;
    }
};

/* Products. Beyond 64 bits one is too large, unless it is 0. */
template <int bytes, bool is_signed> struct product {
    typedef typename bits_of<bytes>::type Element;
    typedef uint64_t Result;
    uint64_t wrapped;   /* modulo 2^64 */
    uint64_t magnitude; /* if it is not too large */
    uint32_t is_negative, is_large;
    static __device__ __forceinline__ product none() { return {1, 1, 0, 0}; }
    static __device__ __forceinline__ product of_words(const bf_cuda_scan_params &,
                                                       const int64_t *words) {
        if (words[BF_PRODUCT_ZERO]) return {0, 0, 0, 0};
        const bool large = words[BF_PRODUCT_LARGE] || words[BF_PRODUCT_HIGH];
        return {(uint64_t)words[BF_PRODUCT_WRAPPED], large ? 1 : (uint64_t)words[BF_PRODUCT_LOW],
                (uint32_t)words[BF_PRODUCT_NEGATIVE], large};
    }
    __device__ __forceinline__ void take(const bf_cuda_scan_params &p, Element bits) {
        const int64_t x = value_of<bytes, is_signed>(p, bits);
        const bool negative = is_signed && x < 0;
        join({(uint64_t)x, negative ? 0 - (uint64_t)x : (uint64_t)x, negative, 0});
    }
    __device__ __forceinline__ void settle() {}
    __device__ __forceinline__ void join(const product &other) {
        const bool is_zero =
            (magnitude == 0 && !is_large) || (other.magnitude == 0 && !other.is_large);
        is_large =
            !is_zero && (is_large || other.is_large || __umul64hi(magnitude, other.magnitude) != 0);
        magnitude = is_zero ? 0 : is_large ? 1 : magnitude * other.magnitude;
        is_negative = !is_zero && is_negative != other.is_negative;
        wrapped *= other.wrapped;
    }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &p, bool,
                                               int *wrong) const {
        const uint64_t most = is_signed ? ((uint64_t)1 << 63) - 1 + is_negative : ~(uint64_t)0;
        const bool fits = !is_large && magnitude <= most;
        if (!fits && p.prefix.options.overflow != BF_OVERFLOW_WRAP) *wrong |= REFUSED;
        return wrapped;
    }
};

template <int bytes, bool is_signed>
bf_cuda_scan_kernels kernels_of_bytes(const bf_cuda_scan_params &p, bool goes_on) {
    typedef sum<bytes, is_signed> Narrow;
    typedef wide_sum<bytes, is_signed> Wide;
    if (p.prefix.kind != BF_KIND_SUM) return kernels_of<product<bytes, is_signed>>();
    return goes_on ? kernels_of<Wide>() : kernels_of<Narrow, Wide>();
}

template <bool is_signed>
bf_cuda_scan_kernels kernels_for(const bf_cuda_scan_params &p, bool goes_on) {
    switch (p.bytes) {
    case 1: return kernels_of_bytes<1, is_signed>(p, goes_on);
    case 2: return kernels_of_bytes<2, is_signed>(p, goes_on);
    case 4: return kernels_of_bytes<4, is_signed>(p, goes_on);
    default: return kernels_of_bytes<8, is_signed>(p, goes_on);
    }
}

} // namespace

template <int bytes, bool is_signed> struct bf_cuda_scan::ways<sum<bytes, is_signed>> {
    typedef sum<bytes, is_signed> S;
    typedef nothing_seen Range;
    static constexpr int blocks = 4;
    static __device__ __forceinline__ bool is_usual(const bf_cuda_scan_params &) { return true; }
    /* Tells which bits their magnitudes have, where results go nowhere yet. */
    template <class Elements>
    static __device__ __forceinline__ void look(const bf_cuda_scan_params &p, const Elements &x) {
        if (p.values != NULL) return;
        uint32_t large = 0;
#pragma unroll
        for (int k = 0; k < tile_of<S>::each; k++) {
            const int64_t value = value_of<bytes, is_signed>(p, x[k]);
            large |= (uint32_t)((uint64_t)(is_signed ? value ^ value >> 63 : value) >> 32);
        }
        large = bf_cuda_warp_or(large);
        const bool is_news = (large & ~*(volatile uint32_t *)&p.board->large) != 0;
        if (is_news && threadIdx.x % BF_CUDA_WARP == 0) atomicOr(&p.board->large, large);
    }
    template <class Run>
    static __device__ __forceinline__ void reduce(const bf_cuda_scan_params &p, const Range &,
                                                  const Run &run) {
        run(by_steps<bytes, is_signed>::of(p), often());
    }
    template <class Run>
    static __device__ __forceinline__ void scan(const bf_cuda_scan_params &p, const Range &,
                                                const S &, const Run &run) {
        if (!run(by_steps<bytes, is_signed>::of(p), often()) && threadIdx.x == 0)
            tell_wrong(p, REFUSED, 0, 0);
    }
};

bf_cuda_scan_kernels bf_cuda_scan_integers(const bf_cuda_scan_params &p, bool goes_on) {
    return bf_dtype_is_signed(p.prefix.dtype) ? kernels_for<true>(p, goes_on)
                                              : kernels_for<false>(p, goes_on);
}
