/* Step 1 of bracket.cu: a sample tells between which places the wanted ranks almost surely lie.
 *
 * Some random places, the splitters, are the ends that brackets may have. A larger sample is
 * counted between them, and a search in the sums finds the ends of all brackets. Of a few of the
 * first elements the end is a least place of a block's part of the sample instead. */
#include "cuda/order/bracket_steps.cuh"
#include "cuda/runtime/launch.cuh"

#include "rules/key/hash.h"

using namespace bf_cuda_bracket;

namespace {

enum {
    SAMPLERS = 128,  /* threads of a block that draws splitters */
    SAMPLE_AHEAD = 2 /* elements of a sample that a thread draws at once */
};

/* Where the elements of a result should be among m sampled ones, and how far they may be off: by
 * four and a half standard deviations. */
__device__ void guess_range(const bracket_params &p, int bracket, double m, double *from,
                            double *to) {
    const double n = (double)p.count;
    double part = 0.5;
    if (p.first > 0)
        part = (double)p.first / n;
    else if (p.statistic == BF_STATISTIC_NTH)
        part = (double)p.position[bracket] / n;
    else if (p.statistic == BF_STATISTIC_QUANTILE)
        part = p.q[bracket];
    const double margin = 4.5 * sqrt(m * part * (1 - part)) + (p.first > 0 ? 4 : 8);
    *from = part * m - margin;
    *to = part * m + margin;
}

/* Returns the place of a random element of stretch i, of 2^bits. */
template <bf_dtype D>
__device__ __forceinline__ bf_cuda_place_type<D> draw(const bracket_params &p, uint64_t i, int bits,
                                                      uint64_t seed) {
    const uint64_t n = (uint64_t)p.count, begin = n * i >> bits, end = n * (i + 1) >> bits;
    const uint64_t at = begin + bf_hash_place(bf_hash_mix(seed + i), end - begin);
    return bf_cuda_place_of<D>(p.coding, ((const bf_cuda_bits_type<D> *)p.a)[at]);
}

/* Draws the splitters, and clears the board. Many blocks reach all of the memory sooner than one.
 */
template <bf_dtype D>
__global__ void __launch_bounds__(SAMPLERS) draw_splitters(const bracket_params p) {
    const unsigned i = blockIdx.x * SAMPLERS + threadIdx.x;
    bf_cuda_let_next_begin();
    for (unsigned k = i; k < sizeof(board) / 8; k += SPLITTERS) ((unsigned long long *)p.at)[k] = 0;
    ((bf_cuda_place_type<D> *)p.splitters)[i] = draw<D>(p, i, SPLITTER_BITS, ~p.seed);
}

/* Keeps the one that belongs here, of an element and that of the lane `stride` away. */
template <class K> __device__ __forceinline__ void exchange(K &x, unsigned stride, bool ascends) {
    const K y = (K)__shfl_xor_sync(~0u, (unsigned long long)x, stride);
    const bool is_first = (threadIdx.x & stride) == 0;
    x = (y < x) == (is_first == ascends) ? y : x;
}

/* The steps of a bitonic sort within the 64 elements of a warp, from this stride on. A lane has one
 * of the first 32, at `at`, and one of the others. */
template <class K>
__device__ __forceinline__ void sort_in_warp(K (&x)[2], unsigned at, unsigned size,
                                             unsigned stride) {
    const bool ascends[2] = {(at & size) == 0, ((at + WARP) & size) == 0};
    if (stride == WARP && (x[1] < x[0]) == ascends[0]) {
        const K first = x[0];
        x[0] = x[1];
        x[1] = first;
    }
    for (unsigned d = stride < WARP ? stride : WARP / 2; d > 0; d /= 2) {
        exchange(x[0], d, ascends[0]);
        exchange(x[1], d, ascends[1]);
    }
}

/* Sorts the splitters (Batcher's bitonic sort), by a block of half as many threads. */
template <class K> __device__ __forceinline__ void sort_splitters(K *s) {
    static_assert(SPLITTERS == 2 * SELECTORS, "a thread has two");
    const unsigned t = threadIdx.x, at = t / WARP * (2 * WARP) + t % WARP;
    K x[2] = {s[at], s[at + WARP]};
    for (unsigned size = 2; size <= 2 * WARP; size *= 2) sort_in_warp(x, at, size, size / 2);
    for (unsigned size = 4 * WARP; size <= SPLITTERS; size *= 2) {
        s[at] = x[0];
        s[at + WARP] = x[1];
        __syncthreads();
        for (unsigned stride = size / 2; stride > WARP; stride /= 2) {
            const unsigned i = 2 * t - (t & (stride - 1)), j = i + stride;
            const K first = s[i], second = s[j];
            if ((second < first) == ((i & size) == 0)) {
                s[i] = second;
                s[j] = first;
            }
            __syncthreads();
        }
        x[0] = s[at];
        x[1] = s[at + WARP];
        sort_in_warp(x, at, size, WARP);
    }
    s[at] = x[0];
    s[at + WARP] = x[1];
    __syncthreads();
}

template <class K> struct sample_memory {
    K splitter[SPLITTERS];
    unsigned count[SLOTS];                   /* later, sums */
    unsigned long long least[COUNTERS_MOST]; /* the warps'; later, the blocks' */
    unsigned nans;
    bool last; /* this is the last of the blocks */
};

/* Waits for the splitters, sorts them, and clears the counts. */
template <class K>
__device__ __forceinline__ void prepare_counts(sample_memory<K> &s, const bracket_params &p) {
    for (unsigned k = threadIdx.x; k < SLOTS; k += SELECTORS) s.count[k] = 0;
    if (threadIdx.x == 0) s.nans = 0;
    bf_cuda_wait_for_previous();
    for (unsigned k = threadIdx.x; k < SPLITTERS; k += SELECTORS)
        s.splitter[k] = ((const K *)p.splitters)[k];
    __syncthreads();
    sort_splitters(s.splitter);
}

/* Returns the slot of a place. Slot 2 i + 1 is for what equals splitter i (the last, of equal
 * ones); slots 2 i and 2 i + 2 are for what is between it and its neighbours. */
template <class K> __device__ __forceinline__ unsigned slot_of(const sample_memory<K> &s, K x) {
    unsigned at = 0; /* how many splitters are at most x */
#pragma unroll
    for (unsigned step = SPLITTERS / 2; step > 0; step /= 2)
        at += s.splitter[at + step - 1] <= x ? step : 0;
    at += s.splitter[at] <= x ? 1 : 0;
    return 2 * at - (at > 0 && s.splitter[at - 1] == x ? 1 : 0);
}

/* Turns the counts of all blocks into sums up to each slot. The last slot has no use. */
template <class K> __device__ void sum_counts(sample_memory<K> &s, const bracket_params &p) {
    enum { EACH = (SLOTS - 1) / SELECTORS };
    const unsigned t = threadIdx.x;
    const volatile unsigned *counts = p.at->sampled + EACH * t;
    unsigned count[EACH], sum = 0, all;
#pragma unroll
    for (int k = 0; k < EACH; k++) sum += count[k] = counts[k];
    sum = bf_cuda_block_sum_before<SELECTORS / WARP>(sum, &all);
#pragma unroll
    for (int k = 0; k < EACH; k++) s.count[EACH * t + k] = sum += count[k];
    __syncthreads();
}

/* Returns how many splitters have at most so many elements before them; or (with) before them and
 * equal to them. */
template <class K>
__device__ unsigned count_splitters(const sample_memory<K> &s, double most, bool with) {
    const unsigned *sums = s.count + (with ? 1 : 0);
    unsigned at = 0;
    for (unsigned step = SPLITTERS / 2; step > 0; step /= 2)
        at += (double)sums[2 * (at + step - 1)] <= most ? step : 0;
    return at + ((double)sums[2 * at] <= most ? 1 : 0);
}

/* Sets the ends of all brackets: thread 2 b the low end of bracket b, and 2 b + 1 the high one. */
template <class K> __device__ void place_ends(sample_memory<K> &s, const bracket_params &p) {
    const int bracket = (int)threadIdx.x / 2;
    const bool is_low = threadIdx.x % 2 == 0;
    const K last = (K) ~(K)0;
    sum_counts(s, p);
    if (bracket >= p.brackets) return;
    const unsigned nans = p.skips ? *(volatile unsigned *)&p.at->sampled_nans : 0;
    double from, to;
    guess_range(p, bracket, (double)(p.sampled - nans), &from, &to);
    const unsigned i = count_splitters(s, is_low ? from : to, !is_low);
    if (is_low) {
        const K end = i > 0 ? s.splitter[i - 1] : 0;
        p.at->low[bracket] = i > 0 && end < last ? end + 1 : end;
    } else {
        p.at->high[bracket] = i < SPLITTERS ? s.splitter[i] : last;
    }
}

/* Tells the least place of the block's sample. */
template <class K>
__device__ void tell_least(sample_memory<K> &s, const bracket_params &p, unsigned long long least) {
    least = bf_cuda_warp_least(least);
    if (threadIdx.x % WARP == 0) s.least[threadIdx.x / WARP] = least;
    __syncthreads();
    least = bf_cuda_warp_least(s.least[threadIdx.x % WARP]);
    if (threadIdx.x == 0) p.at->sampled_least[blockIdx.x] = least;
}

/* Sets the end of the places that the first k have: of few, by the blocks' least places. */
template <class K> __device__ void place_last(sample_memory<K> &s, const bracket_params &p) {
    const unsigned t = threadIdx.x, blocks = gridDim.x;
    double from, to;
    unsigned before = 0;
    guess_range(p, 0, (double)p.sampled, &from, &to);
    const unsigned wanted = (unsigned)to;
    if (wanted > blocks / 4) {
        sum_counts(s, p);
        const unsigned i = count_splitters(s, to, true);
        if (t == 0) p.at->high[0] = i < SPLITTERS ? s.splitter[i] : (K) ~(K)0;
        return;
    }
    if (t < blocks) s.least[t] = ((volatile unsigned long long *)p.at->sampled_least)[t];
    __syncthreads();
    if (t >= blocks) return;
    const unsigned long long mine = s.least[t];
    for (unsigned i = 0; i < blocks; i++)
        before += s.least[i] < mine || (s.least[i] == mine && i < t);
    if (before == wanted) p.at->high[0] = mine;
}

/* Counts some of the sample between the splitters. */
template <class K>
__device__ __forceinline__ void count_some(sample_memory<K> &s, const bracket_params &p,
                                           const K (&x)[SAMPLE_AHEAD], unsigned n,
                                           unsigned long long *least) {
    const bool has_nans = p.coding.kind == BF_CUDA_FLOATS;
#pragma unroll
    for (int k = 0; k < SAMPLE_AHEAD; k++) {
        if ((unsigned)k >= n) break;
        if (has_nans && x[k] == (K)p.coding.nan_place) atomicAdd(&s.nans, 1u);
        if (x[k] < *least) *least = x[k];
        atomicAdd(&s.count[slot_of(s, x[k])], 1u);
    }
}

/* Draws the sample while the splitters are drawn, and counts it. The last block to do so sets the
 * ends. Blocks take turns in the line, which may be in order. */
template <bf_dtype D>
__global__ void __launch_bounds__(SELECTORS, 1) count_sample(const bracket_params p) {
    typedef bf_cuda_place_type<D> K;
    __shared__ sample_memory<K> s;
    const unsigned step = gridDim.x * SELECTORS, first = threadIdx.x * gridDim.x + blockIdx.x;
    unsigned long long least = ~0ull;
    for (unsigned i = first; i < p.sampled; i += SAMPLE_AHEAD * step) {
        const unsigned left = (p.sampled - i - 1) / step + 1,
                       n = left < SAMPLE_AHEAD ? left : SAMPLE_AHEAD;
        K x[SAMPLE_AHEAD];
#pragma unroll
        for (int k = 0; k < SAMPLE_AHEAD; k++)
            if ((unsigned)k < n) x[k] = draw<D>(p, i + k * step, p.sampled_bits, p.seed);
        if (i == first) prepare_counts(s, p);
        count_some(s, p, x, n, &least);
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < SLOTS; k += SELECTORS)
        atomicAdd(&p.at->sampled[k], s.count[k]);
    if (threadIdx.x == 0 && s.nans > 0) atomicAdd(&p.at->sampled_nans, (unsigned long long)s.nans);
    if (p.first > 0) tell_least(s, p, least);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) s.last = atomicAdd(&p.at->counters, 1u) == gridDim.x - 1;
    __syncthreads();
    if (s.last && p.first > 0) place_last(s, p);
    if (s.last && p.first == 0) place_ends(s, p);
}

template <bf_dtype D> cudaError_t enqueue_sample(const bf_cuda *cuda, const bracket_params &p) {
    bf_cuda_shape shape = {};
    draw_splitters<D><<<SPLITTERS / SAMPLERS, SAMPLERS, 0, cuda->stream>>>(p);
    shape.blocks =
        p.sampled / (SAMPLE_AHEAD * SELECTORS); /* at least one: all of its threads have some */
    if (shape.blocks > cuda->multiprocessors) shape.blocks = cuda->multiprocessors;
    if (shape.blocks > COUNTERS_MOST) shape.blocks = COUNTERS_MOST;
    shape.threads = SELECTORS;
    shape.overlaps = true;
    return bf_cuda_launch(cuda, count_sample<D>, shape, p);
}

} // namespace

cudaError_t bf_cuda_bracket::sample(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p) {
    return bf_cuda_by_dtype(dtype,
                            [&](auto d) { return enqueue_sample<decltype(d)::value>(cuda, p); });
}
