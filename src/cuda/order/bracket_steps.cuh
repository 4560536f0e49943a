/* What the three steps of bracket.cu share: their parameters, what they tell each other, and how
 * one block selects. */
#ifndef BF_CUDA_ORDER_BRACKET_STEPS_CUH
#define BF_CUDA_ORDER_BRACKET_STEPS_CUH

#include "cuda/order/bracket.cuh"
#include "cuda/order/places.cuh"
#include "cuda/runtime/warp.cuh"

namespace bf_cuda_bracket {

enum {
    MOST = BF_CUDA_BRACKETS,
    RANKS = 2 * MOST,
    WARP = 32,
    SELECTORS = 1024, /* threads of a block that selects by itself */
    BUCKET_BITS = 11, /* the bits of a digit, when a block selects */
    BUCKETS = 1 << BUCKET_BITS,
    SPLITTER_BITS = 11,
    SPLITTERS = 1 << SPLITTER_BITS, /* random places, of which ends of brackets are chosen */
    SLOTS = 2 * SPLITTERS + 1,
    COUNTERS_MOST = 256, /* blocks that count the sample */
    PART_BITS = 9,       /* the bits of the number of parts of a bracket, in which what is kept is
                            counted */
    PARTS = 1 << PART_BITS,
    LISTED = 1 << 15,    /* bytes of elements that a block that selects has in shared memory */
    SMALL = 1 << 18,     /* elements of the parts of a rank: more are sorted */
    FIRST_MOST = 1 << 10 /* the greatest k of the first k: more are sorted */
};

/* Where a rank is: found; before or behind its bracket; in brackets that kept too much, or in a
 * part that has too much. */
enum where_found { FOUND, BEFORE, BEHIND, OVERFLOWN, CROWDED };

/* What the kernels of a try tell each other, and the host: the first BOARD_WORDS words. */
struct board {
    unsigned long long nans;
    unsigned long long pooled;                  /* elements kept, in any bracket */
    unsigned long long low[MOST], high[MOST];   /* places from low on are kept, before high */
    unsigned long long below[MOST], kept[MOST]; /* elements before low, and those kept */
    unsigned long long place[RANKS], where[RANKS];
    unsigned long long sampled_nans;
    unsigned long long sampled_least[COUNTERS_MOST]; /* the least of each block's sample, for the
                                                        first k */
    unsigned long long part_low[MOST];          /* where the range of the ranks' parts begins */
    int part_bits[MOST];                        /* the range is less than 2^this */
    bool exact[MOST];                           /* a part is one place: ranks have theirs already */
    unsigned long long before[MOST];            /* how many of those kept are before the parts */
    unsigned long long least[MOST], most[MOST]; /* elements of parts for which SMALL is too few, and
                                                   of one; least is complemented */
    unsigned taken[MOST];                       /* elements of the parts */
    unsigned counters;                          /* blocks that have counted their sample */
    alignas(16) unsigned sampled[SLOTS];        /* elements of the sample by splitters */
    alignas(16) unsigned counts[MOST][PARTS];
};
enum { BOARD_WORDS = 2 + 4 * MOST + 2 * RANKS };

struct bracket_params {
    const void *a, *b; /* the elements, as bf_cuda_operands has them: b is not used */
    int64_t count;
    bf_order order;
    int brackets;
    /* These say what results are made. */
    bf_statistic statistic;
    bf_quantile_method method;
    bool skips; /* NaNs */
    double q[MOST];
    int64_t position[MOST];
    /* These are for the first k, instead. */
    int64_t first;
    void *values; /* may be NULL, as index may be */
    int64_t *index;
    void *splitters;  /* SPLITTERS places, in no order */
    unsigned sampled; /* elements of the sample: 2^sampled_bits */
    int sampled_bits;
    uint64_t seed;
    bf_cuda_coding coding;
    void *kept;        /* `room` places */
    uint32_t *numbers; /* the positions of the first k */
    int64_t room;
    void *small; /* SMALL places for each bracket */
    board *at;
    unsigned one; /* 1, which compilers do not know */
};

/* The steps: each enqueues its kernels. */
cudaError_t sample(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p);
cudaError_t keep(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p);
cudaError_t finish(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p);

/* Makes *most x if x is more. That is rare, so it looks first. */
static __device__ __forceinline__ void raise(unsigned long long *most, unsigned long long x) {
    if (*(volatile unsigned long long *)most < x) atomicMax(most, x);
}

/* A range of places: [low, low + width). The distances from low, shifted, are parts. */
template <class K> struct place_range {
    K low, width;
    int shift; /* how far distances are shifted */

    __device__ __forceinline__ place_range() {}
    __device__ __forceinline__ place_range(const board &at, int bracket) {
        const K high = (K)at.high[bracket];
        low = (K)at.low[bracket];
        width = high > low ? high - low : 0;
        const int bits = width > 1 ? bf_bit_length((uint64_t)(width - 1)) : 0;
        shift = bits > PART_BITS ? bits - PART_BITS : 0;
    }
    __device__ __forceinline__ bool holds(K x) const { return (K)(x - low) < width; }
    __device__ __forceinline__ unsigned part(K x) const {
        return (unsigned)((K)(x - low) >> shift);
    }
};

/* --- selecting by one block --- */

/* Calls f for elements first, first + step and so on of n, several of which it loads at a time. */
template <class K, class F>
__device__ __forceinline__ void for_each(const K *from, uint64_t n, uint64_t first, uint64_t step,
                                         F f) {
    enum { AHEAD = 64 / sizeof(K) };
    for (; first < n; first += step * AHEAD) {
        K x[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (first + k * step < n) x[k] = from[first + k * step];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (first + k * step < n) f(x[k], first + k * step);
    }
}

/* The memory of a block that selects. */
template <class K> struct select_memory {
    K list[LISTED / sizeof(K)];
    unsigned counts[BUCKETS];
    unsigned bucket, before, listed;
    K only;
};

/* Finds the bucket of a rank by its counts, and the elements before it. */
template <class K> __device__ void find_bucket(select_memory<K> &s, unsigned rank) {
    enum { EACH = BUCKETS / SELECTORS };
    unsigned count[EACH], mine = 0, all;
    for (int k = 0; k < EACH; k++) mine += count[k] = s.counts[threadIdx.x * EACH + k];
    unsigned sum = bf_cuda_block_sum_before<SELECTORS / WARP>(mine, &all);
    for (int k = 0; k < EACH; k++) {
        if (rank >= sum && rank - sum < count[k]) {
            s.bucket = threadIdx.x * EACH + k;
            s.before = sum;
        }
        sum += count[k];
    }
    __syncthreads();
}

/* Finds the element of a rank among n, which are less than 2^bits from `base` on: digit after
 * digit, until one is left. As soon as few are, it has them in shared memory. */
template <class K>
__device__ K select_in_block(select_memory<K> &s, const K *from, unsigned n, unsigned rank, K base,
                             int bits) {
    K prefix = 0, mask = 0;
    bool listed = false;
    for (int shift = bits; shift > 0;) {
        const int digit = shift < BUCKET_BITS ? shift : (int)BUCKET_BITS;
        shift -= digit;
        for (int i = (int)threadIdx.x; i < BUCKETS; i += SELECTORS) s.counts[i] = 0;
        if (threadIdx.x == 0) s.listed = 0;
        __syncthreads();
        for_each(from, n, threadIdx.x, SELECTORS, [&](K x, uint64_t) {
            x -= base;
            if ((x & mask) == prefix)
                atomicAdd(&s.counts[(unsigned)(x >> shift) & ((1u << digit) - 1)], 1u);
        });
        __syncthreads();
        find_bucket(s, rank);
        const unsigned count = s.counts[s.bucket];
        prefix |= (K)s.bucket << shift;
        mask |= (K)((1u << digit) - 1) << shift;
        rank -= s.before;
        __syncthreads();
        if (shift == 0) break;
        if (count == 1) {
            for_each(from, n, threadIdx.x, SELECTORS, [&](K x, uint64_t) {
                if (((K)(x - base) & mask) == prefix) s.only = x;
            });
            __syncthreads();
            const K only = s.only;
            __syncthreads();
            return only;
        }
        if (listed || count > LISTED / sizeof(K)) continue;
        for_each(from, n, threadIdx.x, SELECTORS, [&](K x, uint64_t) {
            if (((K)(x - base) & mask) == prefix) s.list[atomicAdd(&s.listed, 1u)] = x;
        });
        from = s.list;
        n = count;
        listed = true;
        __syncthreads();
    }
    __syncthreads();
    return base + prefix;
}

} // namespace bf_cuda_bracket

#endif
