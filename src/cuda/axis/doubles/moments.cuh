/* Sums of f64 and of their squares, in two doubles each. */
#ifndef BF_CUDA_AXIS_DOUBLES_MOMENTS_CUH
#define BF_CUDA_AXIS_DOUBLES_MOMENTS_CUH

#include "cuda/axis/quick.cuh"

/* Each addition lacks 2^-53 of a sum, and so do those of what is lacking. So of n elements, of
 * which r additions follow each other, n * (sum of squares) less the square of the sum lacks
 * 3 * r^2 * 2^-106 of its first term, and some parts in 2^-99. */
struct bf_cuda_axis_moments_f64 {
    static __device__ __forceinline__ double lost(double roundings) {
        return 0x1p-97 + roundings * roundings * 0x1p-104;
    }
    /* Two f32 that differ do so by at least 2^-24 of the greater one. So if not all of n elements
     * are equal, n * (sum of squares) less the square of the sum is at least 2^-49 / n of its first
     * term, and n is at most some 2^12. */
    static __device__ __forceinline__ double nothing(const bf_cuda_axis_params &p) {
        return p.element < 8 ? 0x1p-80 : -1;
    }
    double sum, error, squares, more;

    __device__ __forceinline__ void reset() { sum = error = squares = more = 0; }
    __device__ __forceinline__ void add(double x) {
        double rest;
        const double square = x * x;
        sum = bf_two_sum(sum, x, &rest);
        error += rest;
        squares = bf_two_sum(squares, square, &rest);
        more += rest + fma(x, x, -square);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_moments_f64 &other) {
        double rest;
        sum = bf_two_sum(sum, other.sum, &rest);
        error += rest + other.error;
        squares = bf_two_sum(squares, other.squares, &rest);
        more += rest + other.more;
    }
    /* Becomes what another lane of the mask has. */
    __device__ __forceinline__ void set_other(const bf_cuda_axis_moments_f64 &x, unsigned mask,
                                              int distance) {
        sum = __shfl_xor_sync(mask, x.sum, distance);
        error = __shfl_xor_sync(mask, x.error, distance);
        squares = __shfl_xor_sync(mask, x.squares, distance);
        more = __shfl_xor_sync(mask, x.more, distance);
    }
    /* The result of so many elements, of which so many additions follow each other; false: it is
     * not proven. */
    __device__ __forceinline__ bool find(const bf_cuda_axis_params &p, int64_t count,
                                         double roundings, uint64_t *bits) const {
        bf_cuda_axis_exactly x, y;
        x.high = bf_two_sum(sum, error, &x.low);
        y.high = bf_two_sum(squares, more, &y.low);
        if (p.kind == BF_KIND_SQUARES) return find_squares(p, y, lost(roundings), bits);
        if (bf_cuda_axis_quick_variance(p.to, p.op == BF_STD, x, y, count, p.ddof, bits,
                                        lost(roundings), nothing(p)))
            return true;
        *bits = 0;
        return count == 1 && fabs(sum) <= 1.7976931348623157e308;
    }
    /* A sum of squares or its root. */
    static __device__ __forceinline__ bool find_squares(const bf_cuda_axis_params &p,
                                                        bf_cuda_axis_exactly x, double lost,
                                                        uint64_t *bits) {
        *bits = 0;
        if (x.high == 0) return true;
        if (!(x.high > 1e-200 && x.high < 1e200)) return false;
        if (p.op == BF_NORM) {
            const double root = sqrt(x.high);
            x.low = (fma(-root, root, x.high) + x.low) / (2 * root);
            x.high = root;
        }
        return bf_cuda_axis_round_near(p.to, x.high, x.low, 2 * lost * x.high, bits);
    }
};

#endif
