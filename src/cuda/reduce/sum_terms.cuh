/* What a thread does with terms of exact sums of floats, as long as they fit a window. */
#ifndef BF_CUDA_REDUCE_SUM_TERMS_CUH
#define BF_CUDA_REDUCE_SUM_TERMS_CUH

#include "cuda/reduce/sum_window.cuh"
#include "cuda/runtime/float.cuh"

/* The depths of a loop's three variants. Where squares are added arithmetic is the limit: few
 * levels are hot, and what they leave goes deeper. Elsewhere memory is, and a branch costs more
 * than levels do. All of f16 fits so few levels that none are below. */
template <bf_dtype D, bf_kind Kind> struct bf_cuda_levels {
    static constexpr bool has_sum = Kind != BF_KIND_SQUARES && Kind != BF_KIND_DOT;
    static constexpr bool has_product = Kind != BF_KIND_SUM;
    static constexpr bool is_deep = has_product && Kind != BF_KIND_DOT && D != BF_F16;
    static constexpr int fewer = D == BF_F16 || D == BF_BF16;

    static __host__ __device__ constexpr int sum_hot(int v) {
        return sum(v) - (has_sum && is_deep);
    }
    static __host__ __device__ constexpr int sum(int v) {
        return !has_sum                 ? 0
               : v == 2                 ? (has_product ? 3 : 6)
               : D == BF_F64 && is_deep ? 3
                                        : 2 + v - (is_deep ? 0 : fewer);
    }
    static __host__ __device__ constexpr int product_hot(int v) {
        return product(v) - (is_deep && (v < 2 || has_sum));
    }
    static __host__ __device__ constexpr int product(int v) {
        return !has_product ? 0
               : v == 2     ? (Kind == BF_KIND_DOT      ? 6
                               : D == BF_F32 && has_sum ? 4
                                                        : 5)
                            : 3 + v - fewer + (D == BF_F64 && is_deep);
    }
    static __device__ bf_cuda_depth of_sum(int v) { return {sum_hot(v), sum(v)}; }
    static __device__ bf_cuda_depth of_product(int v) { return {product_hot(v), product(v)}; }
};

/* Terms of a kind, in windows of one depth. */
template <bf_dtype D, bf_kind Kind, bf_cuda_zeros Zeros, int Variant> struct bf_cuda_terms {
    using Dtype = bf_cuda_float<D>;
    using E = typename Dtype::Element;
    using Levels = bf_cuda_levels<D, Kind>;
    static constexpr bool pair = Kind == BF_KIND_DOT;
    static constexpr int KA = Levels::sum(Variant), KB = Levels::product(Variant);
    static constexpr int N = 16 / (int)sizeof(E), most = N < 4 ? N : 4;
    /* Terms between two looks at what the hot levels left: as many as registers allow. */
    static constexpr int few = !Levels::is_deep ? N : Variant > 0 ? 1 : most;

    /* What the hot levels leave of a term. */
    struct Left {
        double sum, product, error;
    };

    bf_cuda_window<bf_cuda_some(Levels::sum_hot(Variant)), bf_cuda_some(KA)> sum;
    bf_cuda_window<bf_cuda_some(Levels::product_hot(Variant)), bf_cuda_some(KB)> product;
    bf_cuda_misfit misfit;
    unsigned minus; /* BF_CUDA_ZEROS_ALL: its top bit is set if no term has a plus sign */
    unsigned zeros; /* BF_CUDA_ZEROS_EVERY: terms that are -0 */
    int least;      /* upper half of the terms at hand: that of -0 is the least of all */
    unsigned rest;  /* what the terms at hand need besides: 0 if the hot levels are all */

    __device__ __forceinline__ void open(int sum_bottom, int product_bottom) {
        if (KA > 0) sum.open(sum_bottom);
        if (KB > 0) product.open(product_bottom);
        misfit = {false, 0};
        minus = ~0u;
        zeros = 0;
    }
    /* None of a zero, but of -0. In integers, for additions are what there is much of. */
    static __device__ __forceinline__ unsigned bits(double x) {
        return bf_cuda_high(x) | (unsigned)__double2loint(x);
    }
    static __device__ __forceinline__ bool is_nonzero(double x) {
        return (bf_cuda_high(x) << 1 | (unsigned)__double2loint(x)) != 0;
    }
    /* Only f64 has doubles whose lower half has to be looked at. */
    static __device__ __forceinline__ bool is_neg_zero(double x) {
        unsigned low = D == BF_F64 ? (unsigned)__double2loint(x) : 0;
        return ((bf_cuda_high(x) ^ 0x80000000u) | low) == 0;
    }
    /* The rounding error of a product that is too small may be no double. */
    static __device__ __forceinline__ bool is_small(double product) {
        return (bf_cuda_high(product) & 0x7fffffffu) < (unsigned)(1023 - 900) << 20;
    }
    __device__ __forceinline__ void look(double term) {
        if (Zeros == BF_CUDA_ZEROS_ALL) minus &= bf_cuda_high(term);
        if (Zeros == BF_CUDA_ZEROS_EVERY) least = min(least, (int)bf_cuda_high(term));
    }
    /* A term: x, of products times y. */
    __device__ __forceinline__ void take(double x, double y, Left &left) {
        if (KA > 0) {
            left.sum = sum.template take<0>(x, misfit);
            if (sum.is_deep) rest |= bits(left.sum);
            look(x);
        }
        if (KB == 0) return;
        double p = x * y;
        if (KA == 0) look(p);
        left.product = product.template take<0>(p, misfit);
        if (product.is_deep) rest |= bits(left.product);
        if (D == BF_F64) take_error(x, y, p, left);
    }
    /* It is less than what the top level passes on. */
    __device__ __forceinline__ void take_error(double x, double y, double p, Left &left) {
        left.error = product.template take<1>(fma(x, y, -p), misfit);
        if (product.is_deep)
            rest |= bits(left.error) | (unsigned)is_small(p);
        else if (is_small(p) && is_nonzero(x) && is_nonzero(y))
            misfit.left = true;
    }
    /* Takes what the hot levels leave. */
    __device__ __forceinline__ void take_left(double x, double y, const Left &left) {
        if (KA > 0) sum.take_rest(left.sum, misfit);
        if (KB == 0) return;
        product.take_rest(left.product, misfit);
        if (D != BF_F64) return;
        product.take_rest(left.error, misfit);
        if (is_small(x * y) && is_nonzero(x) && is_nonzero(y)) misfit.left = true;
    }
    template <int n>
    __device__ __forceinline__ void count_zeros(const double (&x)[n], const double (&y)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) zeros += is_neg_zero(KA > 0 ? x[k] : x[k] * y[k]);
    }
    template <int n> __device__ __forceinline__ void take(const E *a, const E *b) {
        double x[n], y[n];
        Left left[n];
        rest = 0;
        least = 0;
#pragma unroll
        for (int k = 0; k < n; k++) {
            x[k] = Dtype::value(a[k]);
            y[k] = pair ? Dtype::value(b[k]) : x[k];
            take(x[k], y[k], left[k]);
        }
        if (Zeros == BF_CUDA_ZEROS_EVERY && least == INT_MIN) count_zeros<n>(x, y);
        if (rest == 0) return;
#pragma unroll
        for (int k = 0; k < n; k++) take_left(x[k], y[k], left[k]);
    }
    /* Ends a group: true if all of it fitted. The number of -0 is one more sum. */
    __device__ __forceinline__ bool close(bf_cuda_pair *sums) {
        if (__any_sync(0xffffffffu, misfit.any())) return false;
        if (KA > 0) sum.fold(sums);
        if (KB > 0) product.fold(sums + KA);
        if (Zeros == BF_CUDA_ZEROS_EVERY && __any_sync(0xffffffffu, zeros != 0))
            fold_zeros(&sums[KA + KB]);
        return true;
    }
    __device__ __forceinline__ void fold_zeros(bf_cuda_pair *sum) {
        bf_cuda_pair met = bf_cuda_warp_sum(zeros);
        if (threadIdx.x % BF_CUDA_WARP == 0) *sum = bf_cuda_pair_add(*sum, met);
        zeros = 0;
    }
};

#endif
