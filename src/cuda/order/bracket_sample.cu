/* Step 1 of bracket.cu: a sample tells between which places the wanted ranks almost surely lie. */
#include "cuda/order/bracket_steps.cuh"

#include "rules/key/hash.h"

using namespace bf_cuda_bracket;

namespace {

enum { SAMPLERS = 256 /* threads of a block that takes a sample */ };

/* Returns the greatest over a block of SAMPLERS; to its first thread. */
__device__ unsigned long long greatest_of_block(unsigned long long x) {
    __shared__ unsigned long long warps[SAMPLERS / WARP];
    for (int i = 0; i < 2; i++) {
        for (int d = WARP / 2; d > 0; d /= 2) {
            const unsigned long long other = __shfl_xor_sync(~0u, x, d);
            x = x > other ? x : other;
        }
        if (i == 1) break;
        __syncthreads();
        if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = x;
        __syncthreads();
        x = warps[threadIdx.x % (SAMPLERS / WARP)];
    }
    return x;
}

template <bf_dtype D>
__global__ void __launch_bounds__(SAMPLERS) take_sample(const bracket_params p) {
    const unsigned i = blockIdx.x * SAMPLERS + threadIdx.x;
    unsigned long long least = 0, most = 0;
    if (i < p.sampled) {
        const uint64_t n = (uint64_t)p.count, begin = n * i / p.sampled,
                       end = n * (i + 1) / p.sampled;
        const uint64_t random = bf_hash_mix(p.seed + i);
        const uint64_t at = begin + bf_hash_place(random, end - begin);
        const bf_cuda_bits_type<D> element = ((const bf_cuda_bits_type<D> *)p.a)[at];
        const bf_cuda_place_type<D> place = bf_cuda_place_of<D>(p.order, element);
        ((bf_cuda_place_type<D> *)p.sample)[i] = place;
        if (bf_cuda_is_nan<D>(element)) atomicAdd(&p.at->sampled_nans, 1ull);
        least = ~(unsigned long long)place;
        most = place;
    }
    least = greatest_of_block(least);
    most = greatest_of_block(most);
    if (threadIdx.x != 0) return;
    raise(&p.at->sampled_least, least);
    raise(&p.at->sampled_most, most);
}

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

/* Block 2 b sets the low end of bracket b, and block 2 b + 1 the high one. */
template <class K>
__global__ void __launch_bounds__(SELECTORS, 1) place_ends(const bracket_params p) {
    __shared__ select_memory<K> shared;
    const int bracket = blockIdx.x / 2;
    const bool is_low = blockIdx.x % 2 == 0;
    const unsigned m = p.sampled - (p.skips ? (unsigned)p.at->sampled_nans : 0);
    double from, to;
    guess_range(p, bracket, (double)m, &from, &to);
    const double wanted = is_low ? from : to;
    unsigned long long *end = is_low ? &p.at->low[bracket] : &p.at->high[bracket];
    unsigned long long value = is_low ? 0 : (K) ~(K)0;
    const bool inside = wanted >= 0 && wanted < (double)m && !(is_low && p.first > 0);
    const K least = (K)~p.at->sampled_least, most = (K)p.at->sampled_most;
    if (inside)
        value = (unsigned long long)select_in_block(shared, (const K *)p.sample, p.sampled,
                                                    (unsigned)wanted, least,
                                                    bf_bit_length((uint64_t)(most - least))) +
                (is_low ? 1 : 0);
    if (value > (K) ~(K)0) value--; /* there is no place behind the last */
    if (threadIdx.x == 0) *end = value;
}

template <bf_dtype D> cudaError_t enqueue(const bf_cuda *cuda, const bracket_params &p) {
    typedef bf_cuda_place_type<D> K;
    take_sample<D><<<(p.sampled - 1) / SAMPLERS + 1, SAMPLERS, 0, cuda->stream>>>(p);
    place_ends<K><<<2 * (unsigned)p.brackets, SELECTORS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}

} // namespace

cudaError_t bf_cuda_bracket::sample(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p) {
    return bf_cuda_by_dtype(dtype, [&](auto d) { return enqueue<decltype(d)::value>(cuda, p); });
}
