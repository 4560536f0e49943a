/* Exact sums of doubles in windows, for a thread (rules/reduce/sum_window.h defines a window). */
#ifndef BF_CUDA_REDUCE_SUM_WINDOW_CUH
#define BF_CUDA_REDUCE_SUM_WINDOW_CUH

#include "cuda/reduce/kernel.cuh"

#include "rules/reduce/sum_window.h"

enum { BF_CUDA_SPARE = 6 /* bits of a window below those of the samples */ };

static __device__ __forceinline__ unsigned bf_cuda_high(double x) {
    return (unsigned)__double2hiint(x);
}

/* The misfits since the last fold. */
struct bf_cuda_misfit {
    bool left;      /* bits were left below the last level */
    unsigned moved; /* changes of the top level's sign and exponent */
    __device__ bool any() const { return left || (moved & 0xfff00000u) != 0; }
};

/* K levels. The first Hot hold nearly all values whole, the others the rest of a few. fold() adds
 * their content to integers, after at most BF_WINDOW_ROWS values, if there was no misfit. */
template <int Hot, int K> struct bf_cuda_window {
    static constexpr bool is_deep = K > Hot;
    double level[K];
    unsigned start; /* the upper half of the top level's start; the lower half of each is 0 */

    __device__ unsigned start_of(int l) const {
        return start - ((unsigned)l * (BF_WINDOW_BITS + 1) << 20);
    }
    __device__ void open(int bottom) {
        start = (unsigned)((uint64_t)bf_window_start(bottom) >> 32);
        reset();
    }
    __device__ __forceinline__ void reset() {
        start = bf_cuda_forget(start); /* otherwise all starts stay in registers */
#pragma unroll
        for (int l = 0; l < K; l++) level[l] = __hiloint2double((int)start_of(l), 0);
    }
    /* Adds x, rounded to the last bit of level l (Dekker's fast two-sum). Returns the rounded x. */
    __device__ __forceinline__ double round(int l, double x) {
        double t = level[l] + x, rounded = t - level[l];
        level[l] = t;
        return rounded;
    }
    /* Absorbs x in the hot levels from First on; each passes its rest on. In the top level the sum
     * is exact as long as the exponent stays, and its rest fits the next level. Returns the rest
     * for the levels below. */
    template <int First> __device__ __forceinline__ double take(double x, bf_cuda_misfit &misfit) {
        double rounded = round(First, x);
        if (First == 0) misfit.moved |= bf_cuda_high(level[0]) ^ start;
#pragma unroll
        for (int l = First + 1; l < Hot; l++) {
            x = x - rounded;
            rounded = round(l, x);
        }
        if (!is_deep) misfit.left = misfit.left || rounded != x;
        return is_deep ? x - rounded : 0;
    }
    /* Absorbs a rest in the levels below. The last one must leave nothing; of a NaN it does leave
     * something. */
    __device__ __forceinline__ void take_rest(double x, bf_cuda_misfit &misfit) {
        double rounded = 0;
#pragma unroll
        for (int l = Hot; l < K; l++) {
            x = x - rounded;
            rounded = round(l, x);
        }
        if (is_deep) misfit.left = misfit.left || rounded != x;
    }
    /* Adds the levels of the warp to sums, and resets them. */
    __device__ __forceinline__ void fold(bf_cuda_pair *sums) {
        int lane = (int)threadIdx.x % BF_CUDA_WARP;
        bf_cuda_pair mine = {0, 0};
#pragma unroll
        for (int l = 0; l < K; l++) {
            int64_t from = (int64_t)((uint64_t)start_of(l) << 32);
            bf_cuda_pair sum = bf_cuda_warp_sum(__double_as_longlong(level[l]) - from);
            if (lane == l) mine = sum;
        }
        if (lane < K) sums[lane] = bf_cuda_pair_add(sums[lane], mine);
        reset();
    }
};

/* --- the choice of a window --- */

/* Returns the extent of a value. Zeros, infinities and NaNs have none (top < least). */
static __device__ bf_extent bf_cuda_extent(double x) {
    bf_extent e = {-(1 << 20), 1 << 20};
    uint64_t bits = (uint64_t)__double_as_longlong(x), one = (uint64_t)1 << 52;
    int field = (int)(bits >> 52) & 0x7ff;
    if (field == 0x7ff || bits << 1 == 0) return e;
    uint64_t m = (bits & (one - 1)) | (field > 0 ? one : 0);
    int position = (field > 0 ? field : 1) - 1075;
    e.top = position + 64 - __clzll((long long)m);
    e.least = position + __ffsll((long long)m) - 1;
    return e;
}

/* Returns the extent of a product from those of its factors. */
static __device__ bf_extent bf_cuda_extent_product(bf_extent a, bf_extent b) {
    bf_extent e = {-(1 << 20), 1 << 20};
    if (a.top < a.least || b.top < b.least) return e;
    e.top = a.top + b.top;
    e.least = a.least + b.least;
    return e;
}

static __device__ __forceinline__ void bf_cuda_extent_join(bf_extent *a, bf_extent b) {
    if (b.top > a->top) a->top = b.top;
    if (b.least < a->least) a->least = b.least;
}

/* Returns the joint extent of the warp. */
static __device__ bf_extent bf_cuda_extent_warp(bf_extent e) {
    e.top = bf_cuda_warp_most(e.top);
    e.least = bf_cuda_warp_least(e.least);
    return e;
}

/* The levels of a window: those that absorb every value, and all. */
struct bf_cuda_depth {
    int hot, all;
};

/* Places a window of this depth so that its hot levels hold e, and all its levels `below` more
 * bits. Returns whether it holds them. */
static __device__ __forceinline__ bool bf_cuda_window_place(bf_extent e, int below, int least,
                                                            bf_cuda_depth d, bf_layout layout,
                                                            int *bottom) {
    int last = e.least - below > least ? e.least - below : least;
    int hot = bf_window_span(d.hot) - (e.top - e.least);
    int all = bf_window_span(d.all) - (e.top - last), spare = hot < all ? hot : all;
    *bottom = bf_window_clamp(e.top - BF_WINDOW_BITS + (spare < 16 ? spare / 4 : 4), d.all, layout);
    return spare >= 0 && e.top <= *bottom + BF_WINDOW_BITS &&
           e.least >= bf_window_bottom(*bottom, d.hot - 1) &&
           last >= bf_window_bottom(*bottom, d.all - 1);
}

/* Returns the first of three depths whose window holds the samples with BF_CUDA_SPARE more bits,
 * and `below` more bits; if there is none, the first that holds the samples; -1: none. The lanes of
 * a warp try them all. */
static __device__ int bf_cuda_window_choose(bf_extent e, int below, int least, bf_layout layout,
                                            bf_cuda_depth depth_0, bf_cuda_depth depth_1,
                                            bf_cuda_depth depth_2, int *bottom) {
    int lane = (int)threadIdx.x % BF_CUDA_WARP, v = lane % 3, place = 0;
    bf_cuda_depth depth = v == 0 ? depth_0 : v == 1 ? depth_1 : depth_2;
    if (e.top < e.least) e.top = e.least = layout.exponent > 0 ? layout.exponent : 0;
    if (lane < 3)
        e.least -= BF_CUDA_SPARE;
    else
        depth.hot = depth.all;
    if (e.least < least) e.least = least;
    bool holds =
        bf_cuda_window_place(e, lane < 3 ? below : 0, least, depth, layout, &place) && lane < 6;
    unsigned which = __ballot_sync(0xffffffffu, holds);
    int first = which ? __ffs((int)which) - 1 : 5;
    *bottom = __shfl_sync(0xffffffffu, place, first);
    return which ? first % 3 : -1;
}

#endif
