/* Exact sums of doubles in windows, a thread's part (src/rules/window.h says what a window is). */
#ifndef BF_CUDA_WINDOW_CUH
#define BF_CUDA_WINDOW_CUH

#include "reduce.cuh"

#include "../rules/window.h"

static __device__ __forceinline__ unsigned bf_cuda_high(double x) {
    return (unsigned)__double2hiint(x);
}

/* What went wrong since the last fold. */
struct bf_cuda_misfit {
    bool left;      /* bits were left below the last level */
    unsigned moved; /* signs and exponents of the top level that are not its start's */
    __device__ bool any() const { return left || (moved & 0xfff00000u) != 0; }
};

/* K levels. What they hold goes to integers by fold(), after at most BF_WINDOW_ROWS values, if
 * there was no misfit. */
template <int K> struct bf_cuda_window {
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
        asm volatile("" : "+r"(start)); /* or all starts stay in registers */
#pragma unroll
        for (int l = 0; l < K; l++) level[l] = __hiloint2double((int)start_of(l), 0);
    }
    /* Each level rounds x to its last bit and passes on what is left (Dekker's fast two-sum): of
     * the top level that is exact as long as its exponent stays what it is; what it passes on fits
     * the next. The last one must leave nothing, and does of no NaN. */
    template <int First> __device__ __forceinline__ void take(double x, bf_cuda_misfit &misfit) {
#pragma unroll
        for (int l = First; l < K; l++) {
            double t = level[l] + x, rounded = t - level[l];
            if (l == 0) misfit.moved |= bf_cuda_high(t) ^ start;
            if (l == K - 1) misfit.left = misfit.left || rounded != x;
            level[l] = t;
            x = x - rounded;
        }
    }
    /* Adds what the levels of the warp hold, and starts again. */
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

/* --- choosing one --- */

/* Of a value, or of a product's factors; zeros, infinities and NaNs have none (top < least). */
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

/* Both factors' extents make the product's. */
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

/* Over the warp. */
static __device__ bf_extent bf_cuda_extent_warp(bf_extent e) {
#if __CUDA_ARCH__ >= 800
    e.top = __reduce_max_sync(0xffffffffu, e.top);
    e.least = __reduce_min_sync(0xffffffffu, e.least);
#else
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2) {
        e.top = max(e.top, __shfl_xor_sync(0xffffffffu, e.top, d));
        e.least = min(e.least, __shfl_xor_sync(0xffffffffu, e.least, d));
    }
#endif
    return e;
}

/* The first of three numbers of levels whose window holds what was sampled, and what may be `below`
 * it, or if none does, what was sampled; -1: none holds that. The lanes of a warp try them all. */
static __device__ int bf_cuda_window_choose(bf_extent e, int below, int least, bf_layout layout,
                                            int levels_0, int levels_1, int levels_2, int *bottom) {
    int lane = (int)threadIdx.x % BF_CUDA_WARP, v = lane % 3, place = 0;
    int levels = v == 0 ? levels_0 : v == 1 ? levels_1 : levels_2;
    if (e.top < e.least) e.top = e.least = layout.exponent > 0 ? layout.exponent : 0;
    if (lane < 3) e.least -= below;
    if (e.least < least) e.least = least;
    bool holds = bf_window_span(levels) >= e.top - e.least &&
                 bf_window_place(e, levels, layout, &place) && lane < 6;
    unsigned which = __ballot_sync(0xffffffffu, holds);
    int first = which ? __ffs((int)which) - 1 : 5;
    *bottom = __shfl_sync(0xffffffffu, place, first);
    return which ? first % 3 : -1;
}

#endif
