/* The memory of an aggregate, and additions to it, for all kernels of aggregates. */
#ifndef BF_CUDA_REDUCE_AGGREGATE_VALUE_CUH
#define BF_CUDA_REDUCE_AGGREGATE_VALUE_CUH

#include "cuda/reduce/aggregate.cuh"
#include "cuda/reduce/sum_limbs.cuh"
#include "cuda/runtime/element.cuh"

/* The limbs of a part: [first, first + limbs) of each group's. */
struct bf_cuda_band_params {
    bf_part part;
    int first, limbs;
    int64_t *words;
};

/* The limbs of a band, and the weight of the first. */
static __host__ __device__ __forceinline__ bf_layout
bf_cuda_band_layout(const bf_cuda_band_params &band) {
    return bf_layout_make(band.limbs, band.part.layout.exponent + 32 * band.first);
}

/* The memory of an aggregate, and values for it. */
struct bf_cuda_aggregate_params {
    bf_dtype dtype;
    bf_kind kind;
    int bytes;
    bool greatest;
    int bands;
    bf_cuda_band_params band[BF_PARTS_MOST];
    int64_t *keys, *specials;
    const char *values, *second;
    const unsigned *numbers;
    int64_t n;
};

bf_cuda_aggregate_params bf_cuda_aggregate_params_of(const bf_cuda_aggregate *aggregate, int64_t n);

/* Sets the first BF_SUM_LIMBS words of a state to the counts of a group with `count` rows. */
static __device__ __forceinline__ void bf_cuda_group_counts(const bf_cuda_aggregate_params &p,
                                                            int64_t number, int64_t count,
                                                            int64_t *words) {
    words[BF_SUM_COUNT] = count;
    for (int k = 0; k < BF_CUDA_SPECIALS; k++)
        words[BF_SUM_NAN + k] =
            p.specials != nullptr ? p.specials[number * BF_CUDA_SPECIALS + k] : 0;
}

/* Returns whether this is zero, an infinity or a NaN, which have no limbs. */
static __device__ __forceinline__ bool bf_cuda_is_special(bf_format f, uint64_t bits) {
    uint64_t magnitude = bits & ~bf_format_sign(f);
    return magnitude - 1 >= bf_format_inf(f) - 1;
}

/* The counter of a float, or of a pair of them, or 0. */
static __device__ __forceinline__ int bf_cuda_special_of(bf_kind kind, bf_format f, uint64_t a,
                                                         uint64_t b) {
    if (bf_kind_is_joint(kind)) return bf_sum_special_joint(kind, f, a, b);
    if (kind == BF_KIND_SUM && bf_sum_neg_zero(f, a)) return BF_SUM_NEG_ZERO;
    const int special = bf_sum_special(f, a);
    return kind == BF_KIND_SQUARES && special == BF_SUM_NEG_INF ? (int)BF_SUM_POS_INF : special;
}

/* Adds to a counter of a group. */
static __device__ __forceinline__ void
bf_cuda_count_special(const bf_cuda_aggregate_params &p, int64_t number, int counter, int64_t x) {
    bf_cuda_add_word(p.specials + number * BF_CUDA_SPECIALS + counter - BF_SUM_NAN, x);
}

#endif
