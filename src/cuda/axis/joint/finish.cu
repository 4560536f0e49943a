/* Results from the sums of windows. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/runtime/launch.cuh"

namespace {

enum {
    PROVING_THREADS = 256,
    THREADS_OF_BLOCK = BF_CUDA_JOINT_FINISHERS,
    LEVELS_OF_PART = bf_cuda_joint::window_levels_of(BF_FACTORS_MOST, bf_cuda_joint::VARIANTS - 1),
    /* Words of all parts: the windows', and some of each for the count and the sign. */
    WORDS =
        BF_SUM_LIMBS + bf_cuda_joint::LEVELS_MOST * (BF_WINDOW_BITS + 1) / 32 + BF_PARTS_MOST * 8
};

__device__ bf_i128 sum_at(const bf_cuda_joint_params &q, int64_t i, int level) {
    return bf_cuda_joint::value_of(*bf_cuda_joint_sum_of(q, i, level));
}

/* ---- in doubles ------------------------------------------------------------------------------ */

/* The sum of a part, whose levels are those from `first` on. */
__device__ bf_cuda_estimate estimate(const bf_cuda_joint_params &q, int64_t i, int first,
                                     int levels, int bottom, int step) {
    bf_i128 level[LEVELS_OF_PART];
    for (int l = 0; l < levels; l++) level[l] = sum_at(q, i, first + l);
    return bf_cuda_estimates::of_levels(level, levels, bottom, step);
}

template <bf_kind Kind>
__device__ bool prove(const bf_cuda_joint_params &q, int64_t i, int64_t length) {
    const bf_cuda_axis_params &p = q.axis;
    const bf_cuda_joint::windows &chosen = q.board->chosen;
    bf_cuda_estimate sum[BF_PARTS_MOST];
    const int step = bf_cuda_joint::step_of(Kind, chosen.variant);
    int first = 0;
#pragma unroll
    for (int k = 0; k < BF_PARTS_MOST; k++) {
        const int powers = bf_kind_part(Kind, k);
        if (powers == 0) break;
        const int levels =
            bf_cuda_joint::levels_of(Kind, (powers >> 4) + (powers & 15), chosen.variant);
        sum[k] = estimate(q, i, first, levels, chosen.bottom[k], step);
        first += levels;
    }
    return bf_cuda_joint_prove<Kind>(p, q.first + i, length, sum);
}

template <bf_kind Kind>
__global__ void __launch_bounds__(PROVING_THREADS)
    prove_results(const __grid_constant__ bf_cuda_joint_params q) {
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    for (const int64_t i : bf_cuda_indices<PROVING_THREADS>(q.end - q.first)) {
        const int64_t length = bf_cuda_axis_line_of(q.axis.at, q.first + i).length;
        const bool made = q.axis.at.offsets != nullptr && length <= BF_CUDA_JOINT_OWN;
        if (!made && !bf_cuda_joint_has(q.marks, i) && !prove<Kind>(q, i, length))
            bf_cuda_joint_set(q.left, i);
    }
}

/* ---- by the rules ---------------------------------------------------------------------------- */

/* Makes the limbs of a part of the sums of its levels: no more of them than these need. */
__device__ void take_levels(const bf_cuda_joint_params &q, int64_t i, bf_part *part, int at,
                            int first, int levels, int bottom, int step, int64_t *words) {
    const int least = bottom - (levels - 1) * step - part->layout.exponent;
    const int top = bottom - part->layout.exponent, skipped = least > 0 ? least / 32 : 0;
    const int limbs = (top - 32 * skipped + 128) / 32 + 2;
    for (int k = 0; k < limbs; k++) words[at + k] = 0;
    for (int l = 0; l < levels; l++)
        bf_limbs_add_wide(words + at, bottom - l * step - part->layout.exponent - 32 * skipped,
                          sum_at(q, i, first + l));
    bf_limbs_carry(words + at, limbs);
    part->at = at;
    part->layout.limbs = limbs;
    part->layout.exponent += 32 * skipped;
}

__device__ void finish(const bf_cuda_joint_params &q, int64_t i, bf_signed *numbers) {
    const bf_cuda_axis_params &p = q.axis;
    const bf_cuda_joint::windows &chosen = q.board->chosen;
    bf_parts parts = bf_parts_of(p.kind, p.dtype);
    int64_t words[WORDS];
    int at = BF_SUM_LIMBS, first = 0;
    for (int k = 0; k < BF_SUM_LIMBS; k++) words[k] = 0;
    words[BF_SUM_COUNT] = bf_cuda_axis_line_of(p.at, q.first + i).length;
    for (int k = 0; k < parts.count; k++) {
        bf_part *part = &parts.part[k];
        const int levels = bf_cuda_joint::levels_of(p.kind, part->a + part->b, chosen.variant);
        take_levels(q, i, part, at, first, levels, chosen.bottom[k],
                    bf_cuda_joint::step_of(p.kind, chosen.variant), words);
        first += levels;
        at += part->layout.limbs;
    }
    bf_cuda_joint_write(p, q.first + i, {p.dtype, &parts, words}, numbers);
}

__global__ void __launch_bounds__(THREADS_OF_BLOCK)
    finish_results(const __grid_constant__ bf_cuda_joint_params q) {
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    const int64_t thread = (int64_t)blockIdx.x * THREADS_OF_BLOCK + threadIdx.x;
    for (const int64_t i : bf_cuda_indices<THREADS_OF_BLOCK>(q.end - q.first))
        if (bf_cuda_joint_has(q.left, i)) finish(q, i, q.numbers + thread * BF_JOINT_ROOM);
}

cudaError_t launch_proof(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, q.end - q.first, PROVING_THREADS),
                                 PROVING_THREADS, 0, false, false};
    switch (q.axis.kind) {
    case BF_KIND_POWERS: return bf_cuda_launch(cuda, prove_results<BF_KIND_POWERS>, shape, q);
    case BF_KIND_COMOMENTS: return bf_cuda_launch(cuda, prove_results<BF_KIND_COMOMENTS>, shape, q);
    default: return bf_cuda_launch(cuda, prove_results<BF_KIND_WEIGHTED>, shape, q);
    }
}

} // namespace

cudaError_t bf_cuda_joint_launch_finish(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, q.end - q.first, THREADS_OF_BLOCK, 1),
                                 THREADS_OF_BLOCK, 0, false, false};
    const cudaError_t error = launch_proof(cuda, q);
    return error == cudaSuccess ? bf_cuda_launch(cuda, finish_results, shape, q) : error;
}
