/* Exact sums of floats of any exponent, for terms that fit no window.
 *
 * A number is an integer magnitude at a position in the limbs (rules/reduce/sum.h). A table has an
 * int64 for every 44 bits of them, and a column for each lane, so that no two lanes meet and no
 * access needs to be atomic. A magnitude is shifted to its position and cut into three digits of up
 * to 44 bits, which are added to three neighbouring bins. Tables are shared: a warp takes one for a
 * group of tiles, then adds its columns to the block's limbs. One bin for each range of exponents
 * is the idea of Neal's superaccumulators (2015). */
#ifndef BF_CUDA_REDUCE_SUM_BINS_CUH
#define BF_CUDA_REDUCE_SUM_BINS_CUH

#include "cuda/reduce/kernel.cuh"

#include "rules/reduce/sum.h"

enum { BF_CUDA_BIN = 44, BF_CUDA_DIGITS_OF_64 = 3 /* enough for 64 bits shifted by up to 43 */ };

/* Returns the number of bins for magnitudes at positions up to `most`. */
static __host__ __device__ constexpr int bf_cuda_bins_for(int most) {
    return most / BF_CUDA_BIN + BF_CUDA_DIGITS_OF_64;
}

/* A number cut into digits: those of bins `bin` and the next two. */
struct bf_cuda_placed {
    int64_t digit[3];
    int bin;
};

/* Cuts (negative ? -1 : 1) * magnitude * 2^position into digits. */
static __device__ __forceinline__ bf_cuda_placed bf_cuda_bins_place(uint64_t magnitude,
                                                                    int position, bool negative) {
    const uint64_t mask = ((uint64_t)1 << BF_CUDA_BIN) - 1;
    bf_cuda_placed p;
    int shift = position % BF_CUDA_BIN;
    int64_t sign = negative ? -1 : 0; /* (x ^ sign) - sign negates x */
    uint64_t low = magnitude << shift, high = magnitude >> 1 >> (63 - shift);
    p.bin = position / BF_CUDA_BIN;
    p.digit[0] = (int64_t)(low & mask);
    p.digit[1] = (int64_t)((low >> BF_CUDA_BIN | high << (64 - BF_CUDA_BIN)) & mask);
    p.digit[2] = (int64_t)(high >> (2 * BF_CUDA_BIN - 64));
#pragma unroll
    for (int i = 0; i < 3; i++) p.digit[i] = (p.digit[i] ^ sign) - sign;
    return p;
}

/* Adds the digits to the lane's column. */
static __device__ __forceinline__ void bf_cuda_bins_add(int64_t *table, const bf_cuda_placed &p) {
    int64_t *at = table + p.bin * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP;
    int64_t bins[3] = {at[0], at[BF_CUDA_WARP], at[2 * BF_CUDA_WARP]};
#pragma unroll
    for (int i = 0; i < 3; i++) at[i * BF_CUDA_WARP] = bins[i] + p.digit[i];
}

static __device__ void bf_cuda_bins_clear(int64_t *table, int bins) {
    for (int i = 0; i < bins; i++) table[i * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP] = 0;
    __syncwarp();
}

static __device__ void bf_cuda_limb_add(int64_t *limb, int64_t x) {
    if (x) atomicAdd((unsigned long long *)limb, (unsigned long long)x);
}

/* Adds x * 2^position to limbs, which several threads change at once. */
static __device__ void bf_cuda_limbs_add(int64_t *limbs, int position, int64_t x) {
    int64_t part[3] = {0, 0, 0};
    bf_limbs_add_signed(part, position % 32, x);
    for (int i = 0; i < 3; i++) bf_cuda_limb_add(limbs + position / 32 + i, part[i]);
}

/* Adds a table to the limbs and clears it. A lane sums a bin; neighbours begin in different
 * columns. */
static __device__ void bf_cuda_bins_fold(int64_t *table, int bins, int64_t *limbs) {
    int lane = (int)threadIdx.x % BF_CUDA_WARP;
    __syncwarp();
    for (int bin = lane; bin < bins; bin += BF_CUDA_WARP) {
        int64_t sum = 0;
        for (int k = 0; k < BF_CUDA_WARP; k++) {
            int64_t *at = table + bin * BF_CUDA_WARP + (k + lane) % BF_CUDA_WARP;
            sum += *at;
            *at = 0;
        }
        if (sum) bf_cuda_limbs_add(limbs, BF_CUDA_BIN * bin, sum);
    }
    __syncwarp();
}

#endif
