/* The memory of an aggregate, and additions to it, for all kernels of aggregates. */
#ifndef BF_CUDA_REDUCE_AGGREGATE_VALUE_CUH
#define BF_CUDA_REDUCE_AGGREGATE_VALUE_CUH

#include "cuda/reduce/aggregate.cuh"
#include "cuda/reduce/sum_limbs.cuh"
#include "cuda/runtime/element.cuh"

/* The memory of an aggregate, and values for it. */
struct bf_cuda_aggregate_params {
    bf_dtype dtype;
    bf_kind kind;
    int bytes;
    bool greatest;
    bf_layout sum, products; /* 0 limbs: the kind has none */
    int sum_first, sum_limbs, products_first, products_limbs;
    int64_t *sums, *squares, *keys, *specials;
    const char *values;
    const unsigned *numbers;
    int64_t n;
};

bf_cuda_aggregate_params bf_cuda_aggregate_params_of(const bf_cuda_aggregate *aggregate, int64_t n);

/* Sets the first BF_SUM_LIMBS words of a state to the counts of a group with `count` rows. */
static __device__ __forceinline__ void bf_cuda_group_counts(const bf_cuda_aggregate_params &p,
                                                            int64_t number, int64_t count,
                                                            int64_t *words) {
    int64_t specials[BF_CUDA_SPECIALS];
    for (int k = 0; k < BF_CUDA_SPECIALS; k++)
        specials[k] = p.specials != nullptr ? p.specials[number * BF_CUDA_SPECIALS + k] : 0;
    words[BF_SUM_COUNT] = count;
    words[BF_SUM_NAN] = specials[BF_CUDA_SPECIAL_NAN];
    words[BF_SUM_POS_INF] = specials[BF_CUDA_SPECIAL_POS_INF];
    words[BF_SUM_NEG_INF] = specials[BF_CUDA_SPECIAL_NEG_INF];
    words[BF_SUM_INVALID] = 0;
    words[BF_SUM_NEG_ZERO] =
        bf_sum_counts_zeros(p.kind, p.dtype) ? specials[BF_CUDA_SPECIAL_NEG_ZERO] : 0;
}

/* Returns whether this is zero, an infinity or a NaN, which have no limbs. */
static __device__ __forceinline__ bool bf_cuda_is_special(bf_format f, uint64_t bits) {
    uint64_t magnitude = bits & ~bf_format_sign(f);
    return magnitude - 1 >= bf_format_inf(f) - 1;
}

/* Counts such a value, unless nothing depends on it. */
static __device__ __forceinline__ void bf_cuda_count_special(const bf_cuda_aggregate_params &p,
                                                             bf_format f, uint64_t bits,
                                                             int64_t number) {
    uint64_t magnitude = bits & ~bf_format_sign(f);
    bool negative = bits != magnitude && p.kind != BF_KIND_SQUARES;
    int special = negative ? BF_CUDA_SPECIAL_NEG_INF : BF_CUDA_SPECIAL_POS_INF;
    if (magnitude > bf_format_inf(f)) special = BF_CUDA_SPECIAL_NAN;
    if (magnitude == 0) special = BF_CUDA_SPECIAL_NEG_ZERO;
    if (magnitude > 0 || negative)
        bf_cuda_add_word(p.specials + number * BF_CUDA_SPECIALS + special, 1);
}

#endif
