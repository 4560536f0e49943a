/* Results of joint kinds from the limbs of aggregates: in doubles where these prove them
 * (estimate.cuh), else by the rules. */
#define BF_WIDE_JOINT 1 /* before rules/number/wide.h */

#include "cuda/reduce/joint/finish.cuh"

#include "cuda/reduce/joint/estimate.cuh"
#include "cuda/runtime/grid.cuh"

#include "rules/reduce/joint.h"

static_assert(BF_WIDE_DIGITS > 3 * 134, "another file has included wide.h before");

namespace {

enum {
    PROVING_THREADS = 256,
    FINISHING_THREADS = 64 /* threads of a block, one on a multiprocessor: each has much memory */
};

/* What the threads that follow the rules work with. */
struct finishing_room {
    bf_signed numbers[BF_JOINT_ROOM];
    int64_t words[BF_PARTS_WORDS_MAX];
};

__device__ __forceinline__ int64_t number_of(const bf_cuda_joint_results &r, int64_t i) {
    return r.order != nullptr ? r.order[i] : i;
}

__device__ __forceinline__ void store(const bf_cuda_joint_results &r, int64_t i, uint64_t bits) {
    if (r.to == BF_F32)
        ((uint32_t *)r.values)[i] = (uint32_t)bits;
    else
        ((uint64_t *)r.values)[i] = bits;
}

/* ---- in doubles ------------------------------------------------------------------------------ */

__device__ bool has_specials(const bf_cuda_aggregate_params &p, int64_t number) {
    int64_t all = 0;
    for (int k = 0; k < BF_CUDA_SPECIALS && p.specials != nullptr; k++)
        all |= p.specials[number * BF_CUDA_SPECIALS + k];
    return all != 0;
}

template <bf_kind Kind>
__device__ bool prove(const bf_cuda_joint_results &r, int64_t i, int64_t number) {
    const bf_cuda_aggregate_params &p = r.aggregate;
    bf_cuda_estimate sum[BF_PARTS_MOST] = {};
    uint64_t bits;
    if (r.options.scale > 0 || has_specials(p, number)) return false;
#pragma unroll
    for (int k = 0; k < BF_PARTS_MOST; k++) {
        const int powers = bf_kind_part(Kind, k);
        if (powers == 0) break;
        if (!bf_result_needs(r.op, powers >> 4, powers & 15)) continue;
        const bf_layout layout = bf_cuda_band_layout(p.band[k]);
        bool negative;
        const bf_leading x = bf_leading_from_band(p.band[k].words + number * layout.limbs,
                                                  layout.limbs, layout.exponent, &negative);
        sum[k] = bf_cuda_estimates::of_leading(x, negative);
    }
    const bf_cuda_estimate n = bf_cuda_estimates::exactly((double)r.counts[number]);
    if (!bf_cuda_estimates::is_proven(bf_cuda_estimates::of_kind(Kind, r.op, n, &r.options, sum),
                                      r.to, &bits))
        return false;
    store(r, i, bits);
    return true;
}

/* left: a bit for each group that doubles do not prove. */
template <bf_kind Kind>
__global__ void __launch_bounds__(PROVING_THREADS)
    prove_groups(const __grid_constant__ bf_cuda_joint_results r, unsigned *left) {
    for (const int64_t i : bf_cuda_indices<PROVING_THREADS>(r.aggregate.n))
        if (!prove<Kind>(r, i, number_of(r, i))) atomicOr(left + i / 32, 1u << (i % 32));
}

/* ---- by the rules ---------------------------------------------------------------------------- */

__device__ void finish(const bf_cuda_joint_results &r, int64_t i, finishing_room *room) {
    const bf_cuda_aggregate_params &p = r.aggregate;
    const int64_t number = number_of(r, i);
    bf_parts parts = bf_parts_of(p.kind, p.dtype);
    int at = BF_SUM_LIMBS;
    bf_cuda_group_counts(p, number, r.counts[number], room->words);
    for (int k = 0; k < p.bands; k++) {
        const bf_layout layout = bf_cuda_band_layout(p.band[k]);
        const int64_t *limbs = p.band[k].words + number * layout.limbs;
        int64_t *words = room->words + at;
        for (int w = 0; w < layout.limbs; w++) words[w] = limbs[w];
        bf_part *part = &parts.part[k];
        const bool all = p.band[k].first + layout.limbs == part->layout.limbs;
        part->at = at;
        part->layout = layout;
        if (!all) words[part->layout.limbs++] = 0; /* the last limb is one of 32 bits then */
        bf_limbs_carry(words, part->layout.limbs);
        at += part->layout.limbs;
    }
    if (r.options.nan == BF_NAN_ERROR && room->words[BF_SUM_NAN] > 0)
        atomicMax(r.failed, (unsigned long long)(p.n - i));
    const bf_joint_sums sums = {p.dtype, &parts, room->words};
    store(r, i, bf_joint_bits(p.kind, r.op, &sums, &r.options, bf_format_of(r.to), room->numbers));
}

__global__ void __launch_bounds__(FINISHING_THREADS)
    finish_groups(const __grid_constant__ bf_cuda_joint_results r, const unsigned *left,
                  finishing_room *rooms) {
    const int64_t thread = (int64_t)blockIdx.x * FINISHING_THREADS + threadIdx.x;
    for (const int64_t i : bf_cuda_indices<FINISHING_THREADS>(r.aggregate.n))
        if ((left[i / 32] >> (i % 32) & 1) != 0) finish(r, i, rooms + thread);
}

/* ---- both ------------------------------------------------------------------------------------ */

unsigned blocks_of(const bf_cuda *cuda, int64_t n) {
    return bf_cuda_blocks(cuda, n, FINISHING_THREADS, 1);
}

size_t left_bytes(int64_t n) { return bf_cuda_part_bytes((size_t)(n / 32 + 1) * sizeof(unsigned)); }

cudaError_t launch_proof(const bf_cuda *cuda, const bf_cuda_joint_results &r, unsigned *left) {
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, r.aggregate.n, PROVING_THREADS),
                                 PROVING_THREADS, 0, false, false};
    switch (r.aggregate.kind) {
    case BF_KIND_POWERS: return bf_cuda_launch(cuda, prove_groups<BF_KIND_POWERS>, shape, r, left);
    case BF_KIND_COMOMENTS:
        return bf_cuda_launch(cuda, prove_groups<BF_KIND_COMOMENTS>, shape, r, left);
    default: return bf_cuda_launch(cuda, prove_groups<BF_KIND_WEIGHTED>, shape, r, left);
    }
}

} // namespace

size_t bf_cuda_joint_finish_bytes(const bf_cuda *cuda, const bf_cuda_aggregate_params &aggregate) {
    return left_bytes(aggregate.n) +
           (size_t)blocks_of(cuda, aggregate.n) * FINISHING_THREADS * sizeof(finishing_room);
}

cudaError_t bf_cuda_joint_finish(const bf_cuda *cuda, const bf_cuda_joint_results &r) {
    const int64_t n = r.aggregate.n;
    unsigned *left = (unsigned *)r.work;
    finishing_room *rooms = (finishing_room *)(r.work + left_bytes(n));
    cudaError_t error = cudaMemsetAsync(left, 0, left_bytes(n), cuda->stream);
    if (error == cudaSuccess) error = launch_proof(cuda, r, left);
    const bf_cuda_shape shape = {blocks_of(cuda, n), FINISHING_THREADS, 0, false, false};
    return error == cudaSuccess
               ? bf_cuda_launch(cuda, finish_groups, shape, r, (const unsigned *)left, rooms)
               : error;
}
