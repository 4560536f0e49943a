/* Exact sums of doubles of any exponent: what fits no window.
 *
 * A table has a level for every exponent, 44 bits apart, and a column for every lane, so that no
 * two lanes meet and no access needs to be atomic. A level is a window's (src/rules/window.h) in
 * units of its own last bit: a value is deposited at the level that its exponent names, and what
 * is left of it at the next two. Tables are shared: a warp takes one for BF_WINDOW_ROWS values a
 * lane, then adds its levels to the block's limbs. The idea of one bin an exponent is that of
 * Neal's large superaccumulator (2015). */
#ifndef BF_CUDA_BINS_CUH
#define BF_CUDA_BINS_CUH

#include "reduce.cuh"

#include "../rules/window.h"

/* A table's place among the exponents: level l has the unit 2^(first + 44 l). */
struct bf_cuda_bins {
    int first, levels;
    int deposits; /* levels that a value can touch: 2, if it has at most 42 bits */

    /* For values m * 2^e with |m| < 2 and e in [least, most]. */
    static __host__ __device__ bf_cuda_bins make(int least, int most, int deposits) {
        bf_cuda_bins b;
        b.deposits = deposits;
        b.first = least + 1 - (BF_WINDOW_BITS + 1) * (deposits - 1);
        b.levels = (most + 1 - b.first) / (BF_WINDOW_BITS + 1) + 1;
        return b;
    }
    __host__ __device__ int bytes() const { return levels * BF_CUDA_WARP * (int)sizeof(double); }
};

static __device__ __forceinline__ double bf_cuda_power(int e) {
    return __hiloint2double((1023 + e) << 20, 0);
}

static __device__ __forceinline__ double bf_cuda_bin_start() {
    return __hiloint2double((1023 + 52) << 20 | 1 << 19, 0);
}

/* The mantissa, with its magnitude in [1, 2), and the exponent of a finite x other than zero. */
static __device__ __forceinline__ double bf_cuda_mantissa(double x, int *exponent) {
    int scale = 0;
    if (fabs(x) < 0x1p-1022) {
        x *= 0x1p54;
        scale = 54;
    }
    int high = __double2hiint(x);
    *exponent = (high >> 20 & 0x7ff) - 1023 - scale;
    return __hiloint2double((high & (int)0x800fffff) | 1023 << 20, __double2loint(x));
}

/* Lane's column of the table takes m * 2^e. */
static __device__ __forceinline__ void bf_cuda_bins_take(double *table, bf_cuda_bins bins, double m,
                                                         int e) {
    const int step = BF_WINDOW_BITS + 1;
    int above = e + 1 - bins.first, level = above / step;
    double x = m * bf_cuda_power(above - step * level - 1);
    double *at = table + level * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP;
    for (int i = 0; i < bins.deposits; i++, at -= BF_CUDA_WARP) {
        double s = *at, t = s + x;
        x = (x - (t - s)) * bf_cuda_power(step);
        *at = t;
    }
}

static __device__ void bf_cuda_bins_clear(double *table, bf_cuda_bins bins) {
    for (int l = 0; l < bins.levels; l++)
        table[l * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP] = bf_cuda_bin_start();
    __syncwarp();
}

static __device__ void bf_cuda_limb_add(int64_t *limb, int64_t x) {
    if (x) atomicAdd((unsigned long long *)limb, (unsigned long long)x);
}

/* limbs += x * 2^position, x not 0, by several threads at once. */
static __device__ void bf_cuda_limbs_add(int64_t *limbs, int position, int64_t x) {
    int64_t part[3] = {0, 0, 0};
    if (position < 0) { /* below the layout there are no bits: -position < 64 */
        x >>= -position;
        position = 0;
    }
    bf_limbs_add_signed(part, position % 32, x);
    for (int i = 0; i < 3; i++) bf_cuda_limb_add(limbs + position / 32 + i, part[i]);
}

/* Adds a table to the limbs, whose last bit weighs 2^exponent, and clears it: a lane sums a level,
 * from another column than its neighbours at each step. */
static __device__ void bf_cuda_bins_fold(double *table, bf_cuda_bins bins, int64_t *limbs,
                                         int exponent) {
    int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t start = __double_as_longlong(bf_cuda_bin_start());
    __syncwarp();
    for (int l = lane; l < bins.levels; l += BF_CUDA_WARP) {
        int64_t sum = 0;
        for (int k = 0; k < BF_CUDA_WARP; k++) {
            double *at = table + l * BF_CUDA_WARP + (k + lane) % BF_CUDA_WARP;
            sum += __double_as_longlong(*at) - start;
            *at = bf_cuda_bin_start();
        }
        if (sum)
            bf_cuda_limbs_add(limbs, bins.first + (BF_WINDOW_BITS + 1) * l - exponent, sum);
    }
    __syncwarp();
}

#endif
