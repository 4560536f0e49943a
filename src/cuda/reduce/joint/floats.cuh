/* Sums of pairs of floats, for a thread: x, y, x^2, xy, y^2.
 *
 * A product of two floats is a double. The sums of elements are doubles that begin at 1.5 * 2^52
 * units, as those of windows do (rules/reduce/sum_window.h); those of products have two levels.
 * Where the exponents of all elements lie within some 20 of each other, as integers tell, nothing
 * is lost and no double leaves its binade, so that the additions need no tests. */
#ifndef BF_CUDA_REDUCE_JOINT_FLOATS_CUH
#define BF_CUDA_REDUCE_JOINT_FLOATS_CUH

#include "cuda/reduce/joint/pieces.cuh"

namespace bf_cuda_joint {

struct pairs_of_floats {
    typedef float Number;
    /* Elements are so many units at most, of so many bits. */
    enum { STEP = 45, LAST_OF_ALL = 128 - STEP };
    enum { ABOVE = STEP }; /* bits of the first level of products above those of both elements */
    static constexpr bool pairs = true, checks_far = false;
    static constexpr int levels = 2 + 3 * 2;
    /* Elements between folds, which leave a double of 2^52 units in its binade; and folds until
     * their sums are left. */
    static constexpr int ROWS_MOST = 1 << 5, FOLDS = 1 << 4;

    /* The greatest sizes since the chunk began, and the least ones: less 1, so that 0 is none. */
    struct Misfit {
        unsigned most_a, most_b, least_a = ~0u, least_b = ~0u;
    };

    double level[levels];
    int64_t start[levels]; /* their bits at first */
    unsigned limit_a, limit_b, least_a, least_b;

    __device__ __forceinline__ void open(const int *bottom) {
        limit_a = (unsigned)(bottom[0] + STEP + 127) << 23;
        limit_b = (unsigned)(bottom[1] + STEP + 127) << 23;
        least_a = least_of(bottom[0]);
        least_b = least_of(bottom[1]);
#pragma unroll
        for (int l = 0; l < levels; l++)
            start[l] = bf_window_start(l < 2 ? bottom[l] : bottom[l / 2 + 1] - l % 2 * STEP);
        reset();
    }
    /* The least size, less 1, of a number without bits below this one. */
    static __device__ __forceinline__ unsigned least_of(int last) {
        return last <= -149 ? 0 : ((unsigned)(last + 150) << 23) - 1;
    }
    /* Where the sums of both elements are. Returns whether they fit, with `below` bits more. */
    static __device__ bool place(bf_extent a, bf_extent b, int below, int least, int *at) {
        bool fits = true;
        for (int i = 0; i < 2; i++) {
            fits &= place_bits(i == 0 ? a : b, STEP, below, least, &at[i]);
            at[i] = min(at[i], (int)LAST_OF_ALL);
        }
        return fits;
    }
    __device__ __forceinline__ void reset() {
#pragma unroll
        for (int l = 0; l < levels; l++) level[l] = __longlong_as_double(start[l]);
    }
    template <int Threads> __device__ __forceinline__ void fold(int64_t (*sums)[Threads]) {
#pragma unroll
        for (int l = 0; l < levels; l++)
            sums[l][threadIdx.x] += __double_as_longlong(level[l]) - start[l];
        reset();
    }
    template <int Pairs>
    static __device__ __forceinline__ void measure(const float (&a)[Pairs], const float (&b)[Pairs],
                                                   Misfit &misfit) {
#pragma unroll
        for (int k = 0; k < Pairs; k++) {
            const unsigned size_a = __float_as_uint(a[k]) & 0x7fffffffu;
            const unsigned size_b = __float_as_uint(b[k]) & 0x7fffffffu;
            misfit.most_a = max(misfit.most_a, size_a);
            misfit.most_b = max(misfit.most_b, size_b);
            misfit.least_a = min(misfit.least_a, size_a - 1);
            misfit.least_b = min(misfit.least_b, size_b - 1);
        }
    }
    __device__ __forceinline__ bool fits(const Misfit &misfit) const {
        return misfit.most_a < limit_a && misfit.most_b < limit_b && misfit.least_a >= least_a &&
               misfit.least_b >= least_b;
    }
    __device__ __forceinline__ void add_product(double x, double y, int l) {
        const double sum = fma(x, y, level[l]), rounded = sum - level[l];
        level[l] = sum;
        level[l + 1] = level[l + 1] + fma(x, y, -rounded);
    }
    template <int Pairs>
    __device__ __forceinline__ void add(const float (&a)[Pairs], const float (&b)[Pairs]) {
#pragma unroll
        for (int k = 0; k < Pairs; k++) {
            const double x = a[k], y = b[k];
            level[0] = level[0] + x;
            level[1] = level[1] + y;
            add_product(x, x, 2);
            add_product(x, y, 4);
            add_product(y, y, 6);
        }
    }
    /* Takes some pairs. */
    template <bool, int Pairs>
    __device__ __forceinline__ void take(const float (&a)[Pairs], const float (&b)[Pairs],
                                         Misfit &misfit) {
        measure(a, b, misfit);
        add(a, b);
    }
    /* Takes them if those of all lanes fit. Returns whether they do. */
    template <int Pairs>
    __device__ __forceinline__ bool take_if_all_fit(const float (&a)[Pairs],
                                                    const float (&b)[Pairs]) {
        Misfit misfit = {};
        measure(a, b, misfit);
        if (!__all_sync(~0u, fits(misfit))) return false;
        add(a, b);
        return true;
    }
};

} // namespace bf_cuda_joint

#endif
