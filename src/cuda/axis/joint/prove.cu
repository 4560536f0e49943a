/* Results from the sums of windows, in doubles: what these do not prove is marked. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/runtime/launch.cuh"

namespace {

enum {
    PROVING_THREADS = 256,
    LEVELS_OF_PART = bf_cuda_joint::window_levels_of(BF_FACTORS_MOST, bf_cuda_joint::VARIANTS - 1)
};

/* The sum of a part, whose levels are those from `first` on. */
__device__ bf_cuda_estimate estimate(const bf_cuda_joint_params &q, int64_t i, int first,
                                     int levels, int bottom, int step) {
    bf_i128 level[LEVELS_OF_PART];
    for (int l = 0; l < levels; l++)
        level[l] = bf_cuda_joint::value_of(*bf_cuda_joint_sum_of(q, i, first + l));
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
            bf_cuda_joint_set(q.marks, i);
    }
}

} // namespace

cudaError_t bf_cuda_joint_launch_proof(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, q.end - q.first, PROVING_THREADS),
                                 PROVING_THREADS, 0, false, false};
    switch (q.axis.kind) {
    case BF_KIND_POWERS: return bf_cuda_launch(cuda, prove_results<BF_KIND_POWERS>, shape, q);
    case BF_KIND_COMOMENTS: return bf_cuda_launch(cuda, prove_results<BF_KIND_COMOMENTS>, shape, q);
    default: return bf_cuda_launch(cuda, prove_results<BF_KIND_WEIGHTED>, shape, q);
    }
}
