/* Results of few elements from plain doubles, where these are proven exact: a few operations an
 * element, and few for a result. A sum that they cannot prove is marked, and settled from its
 * elements (exact/settle.cu); others the accumulator of sum.cuh computes.
 *
 * Elements of f32, f16 and bf16 are multiples of the last bit of the least one's binade. If the
 * sum of all magnitudes, in these units, is at most 2^53, then no addition of doubles rounds.
 * Squares are added by a chain of two-sums, whose errors then add up without rounding.
 *
 * Elements of f64 are added by a chain of two-sums (rules/reduce/terms.h): sums and means alone. */
#ifndef BF_CUDA_AXIS_DOUBLES_DIRECT_CUH
#define BF_CUDA_AXIS_DOUBLES_DIRECT_CUH

#include "cuda/axis/quick.cuh"
#include "cuda/axis/taking.cuh"

/* Moves a sum and its error to the form that functions of quick.cuh take. */
static __device__ __forceinline__ bf_cuda_axis_exactly bf_cuda_axis_pair_of(double sum,
                                                                            double error) {
    bf_cuda_axis_exactly x = {sum, 0};
    if (error != 0)
        x.high = bf_two_sum(sum, error, &x.low); /* without the test -0 would become 0 */
    return x;
}

/* A sum, a mean, or a sum of squares. */
template <bool settles>
static __device__ __forceinline__ bool bf_cuda_axis_direct_sum(const bf_cuda_axis_params &p,
                                                               int64_t r, int64_t n,
                                                               bf_cuda_axis_exactly x) {
    const bf_format f = bf_format_of(p.to);
    uint64_t bits = 0;
    bool good = true;
    if (x.high == 0)
        bits = bf_cuda_high(x.high) != 0 ? bf_format_sign(f) : 0;
    else if (p.op != BF_MEAN)
        bits = bf_cuda_axis_round(p.to, x.high, x.low, &good);
    else
        good = bf_cuda_axis_quick_mean(p.to, x, n, 1 / (double)n, &bits);
    if (good) bf_cuda_axis_store(p, r, bits);
    return good || bf_cuda_axis_leave<settles>(p, r);
}

template <bf_kind Kind> struct bf_cuda_axis_direct_float {
    static constexpr bool some = true;
    static constexpr bool squares = Kind != BF_KIND_SUM;
    double sum, square, error;
    unsigned most, least; /* magnitudes; of the least one, without zeros: less 1 */

    __device__ __forceinline__ void reset() {
        sum = -0.0;
        square = error = 0;
        most = 0;
        least = ~0u;
    }
    __device__ __forceinline__ void take(float x) {
        const unsigned magnitude = __float_as_uint(x) & 0x7fffffffu;
        most = max(most, magnitude);
        least = min(least, magnitude - 1);
        const double d = x;
        if (Kind != BF_KIND_SQUARES) sum += d;
        if (squares) add_square(d * d);
    }
    __device__ __forceinline__ void add_square(double x) {
        double rest;
        square = bf_two_sum(square, x, &rest);
        error += rest;
    }
    __device__ __forceinline__ void merge(int distance) {
        const unsigned all = 0xffffffffu;
        most = max(most, __shfl_xor_sync(all, most, distance));
        least = min(least, __shfl_xor_sync(all, least, distance));
        if (Kind != BF_KIND_SQUARES) sum += __shfl_xor_sync(all, sum, distance);
        if (squares) {
            error += __shfl_xor_sync(all, error, distance);
            add_square(__shfl_xor_sync(all, square, distance));
        }
    }
    /* Tells whether the sum of n elements is exact. */
    __device__ __forceinline__ bool is_exact(int64_t n) const {
        if (most >= 0x7f800000u || n >= 1 << 20) return false;
        const int top = (int)(most >> 23), last = (int)(least + 1 >> 23);
        return top - max(last, 1) + 24 + (32 - __clz((int)n - 1)) <= 53 || least == ~0u;
    }
    __device__ __forceinline__ bool finish(const bf_cuda_axis_params &p, int64_t r,
                                           int64_t n) const {
        if (!is_exact(n) || n == 0) return bf_cuda_axis_leave<!squares>(p, r);
        if (p.fits != nullptr) p.fits[r] = 1;
        if (!squares) return bf_cuda_axis_direct_sum<true>(p, r, n, {sum, 0});
        const bf_cuda_axis_exactly x = bf_cuda_axis_pair_of(square, error);
        if (Kind == BF_KIND_SQUARES) return bf_cuda_axis_direct_sum<false>(p, r, n, x);
        uint64_t bits;
        if (n <= p.ddof ||
            !bf_cuda_axis_quick_variance(p.to, p.op == BF_STD, {sum, 0}, x, n, p.ddof, &bits))
            return false;
        bf_cuda_axis_store(p, r, bits);
        return true;
    }
};

struct bf_cuda_axis_direct_double {
    static constexpr bool some = true;
    double sum, error;
    bool exact;

    __device__ __forceinline__ void reset() {
        sum = error = -0.0;
        exact = true;
    }
    __device__ __forceinline__ void take(double x) {
        exact = bf_terms_add(&sum, &error, x) && exact;
    }
    __device__ __forceinline__ void merge(int distance) {
        const unsigned all = 0xffffffffu;
        const double s = __shfl_xor_sync(all, sum, distance);
        const double e = __shfl_xor_sync(all, error, distance);
        const bool other = __shfl_xor_sync(all, (int)exact, distance) != 0;
        take(s);
        exact = bf_add_exactly(&error, e) && exact && other;
    }
    __device__ __forceinline__ bool finish(const bf_cuda_axis_params &p, int64_t r,
                                           int64_t n) const {
        if (!exact || n == 0 || !(fabs(sum) <= 1.7976931348623157e308))
            return bf_cuda_axis_leave<true>(p, r);
        if (p.fits != nullptr) p.fits[r] = 1;
        return bf_cuda_axis_direct_sum<true>(p, r, n, bf_cuda_axis_pair_of(sum, error));
    }
};

/* The type for a kind; for some there is none. */
template <bool is_double, bf_kind Kind> struct bf_cuda_axis_direct_of {
    using Type = bf_cuda_axis_direct_float<Kind>;
};
template <bf_kind Kind> struct bf_cuda_axis_direct_of<true, Kind> {
    using Type = bf_cuda_axis_no_direct;
};
template <> struct bf_cuda_axis_direct_of<true, BF_KIND_SUM> {
    using Type = bf_cuda_axis_direct_double;
};
template <> struct bf_cuda_axis_direct_of<false, BF_KIND_DOT> {
    using Type = bf_cuda_axis_no_direct;
};

#endif
