/* Results from the sums of windows. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/runtime/launch.cuh"

namespace {

enum {
    THREADS_OF_BLOCK = BF_CUDA_JOINT_FINISHERS,
    /* Words of all parts: the windows', and some of each for the count and the sign. */
    WORDS =
        BF_SUM_LIMBS + bf_cuda_joint::LEVELS_MOST * (BF_WINDOW_BITS + 1) / 32 + BF_PARTS_MOST * 8
};

/* Limbs += sum * 2^position, which may be negative: the window of an integer may reach below 1. */
__device__ void add_sum(int64_t *limbs, int position, bf_i128 sum) {
    const bool negative = sum < 0;
    bf_u128 size = negative ? 0 - (bf_u128)sum : (bf_u128)sum;
    if (position < 0) {
        size >>= -position;
        position = 0;
    }
    bf_limbs_add(limbs, position, (uint64_t)size, negative);
    bf_limbs_add(limbs, position + 64, (uint64_t)(size >> 64), negative);
}

/* Makes the limbs of a part of the sums of its levels: no more of them than these need. */
__device__ void take_levels(bf_part *part, int at, const bf_cuda_joint_sum *sums, int levels,
                            int bottom, int64_t *words) {
    const int least = bf_window_bottom(bottom, levels - 1) - part->layout.exponent;
    const int top = bottom - part->layout.exponent, skipped = least > 0 ? least / 32 : 0;
    const int limbs = (top - 32 * skipped + 128) / 32 + 2;
    for (int i = 0; i < limbs; i++) words[at + i] = 0;
    for (int l = 0; l < levels; l++)
        add_sum(words + at, bf_window_bottom(bottom, l) - part->layout.exponent - 32 * skipped,
                (bf_i128)(int64_t)sums[l].lo + (bf_i128)(int64_t)sums[l].hi * ((bf_i128)1 << 32));
    bf_limbs_carry(words + at, limbs);
    part->at = at;
    part->layout.limbs = limbs;
    part->layout.exponent += 32 * skipped;
}

__device__ void finish(const bf_cuda_joint_params &q, int64_t r, bf_signed *numbers) {
    const bf_cuda_axis_params &p = q.axis;
    const bf_cuda_joint::windows &chosen = q.board->chosen;
    const bf_cuda_joint_sum *sums = q.sums + (r - q.first) * q.levels;
    bf_parts parts = bf_parts_of(p.kind, p.dtype);
    int64_t words[WORDS];
    int at = BF_SUM_LIMBS;
    for (int i = 0; i < BF_SUM_LIMBS; i++) words[i] = 0;
    words[BF_SUM_COUNT] = bf_cuda_axis_line_of(p.at, r).length;
    for (int i = 0; i < parts.count; i++) {
        bf_part *part = &parts.part[i];
        const int levels = bf_cuda_joint::levels_of(part->a + part->b, chosen.variant);
        take_levels(part, at, sums, levels, chosen.bottom[i], words);
        sums += levels;
        at += part->layout.limbs;
    }
    bf_cuda_joint_write(p, r, {p.dtype, &parts, words}, numbers);
}

__global__ void __launch_bounds__(THREADS_OF_BLOCK)
    finish_results(const __grid_constant__ bf_cuda_joint_params q) {
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    const int64_t thread = (int64_t)blockIdx.x * THREADS_OF_BLOCK + threadIdx.x;
    for (const int64_t i : bf_cuda_indices<THREADS_OF_BLOCK>(q.end - q.first))
        if (!bf_cuda_joint_is_marked(q, q.first + i))
            finish(q, q.first + i, q.numbers + thread * BF_JOINT_ROOM);
}

} // namespace

cudaError_t bf_cuda_joint_launch_finish(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {cuda->multiprocessors, THREADS_OF_BLOCK, 0, false, false};
    return bf_cuda_launch(cuda, finish_results, shape, q);
}
