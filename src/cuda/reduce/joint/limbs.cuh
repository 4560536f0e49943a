/* Joint kinds in limbs: for elements that fit no window, and integers of 64 bits.
 *
 * A term (terms.cuh) is added to the limbs of its part in shared memory
 * (cuda/reduce/sum_limbs.cuh). Each lane has a column of them, so no two lanes of a warp meet, nor
 * do their banks. At the end, a block adds its columns to words. */
#ifndef BF_CUDA_REDUCE_JOINT_LIMBS_CUH
#define BF_CUDA_REDUCE_JOINT_LIMBS_CUH

#include "cuda/reduce/joint/terms.cuh"
#include "cuda/reduce/sum_limbs.cuh"
#include "cuda/runtime/grid.cuh"

template <int n>
static __device__ __forceinline__ void bf_cuda_joint_add(const bf_cuda_limbs &to,
                                                         const bf_cuda_joint_term<n> &x) {
    const unsigned shift = (unsigned)x.position % 32;
    unsigned part[2 * n + 1];
    uint64_t below = 0;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const uint64_t word = x.word[i] << shift | below;
        part[2 * i] = (unsigned)word;
        part[2 * i + 1] = (unsigned)(word >> 32);
        below = x.word[i] >> 1 >> (63 - shift);
    }
    part[2 * n] = (unsigned)below;
    bf_cuda_limbs_add(to, (unsigned)x.position / 32, part, x.negative ? ~0u : 0);
}

/* A lane's column of the limbs of all parts, and what it has met that is not finite. */
struct bf_cuda_joint_limbs {
    bf_cuda_limbs part[BF_PARTS_MOST];
    unsigned nans, pos_infs, neg_infs, invalid;

    __device__ __forceinline__ void open(const bf_parts &parts, const unsigned *memory) {
        unsigned at = bf_cuda_shared_address(memory + threadIdx.x % BF_CUDA_WARP);
        nans = pos_infs = neg_infs = invalid = 0;
#pragma unroll
        for (int i = 0; i < BF_PARTS_MOST; i++) {
            part[i] = {at, BF_CUDA_WARP * sizeof(unsigned)};
            if (i < parts.count)
                at += (unsigned)bf_cuda_limbs_of(parts.part[i].layout.limbs) * part[i].step;
        }
    }
    __device__ __forceinline__ void count(int special) {
        nans += special == BF_SUM_NAN;
        pos_infs += special == BF_SUM_POS_INF;
        neg_infs += special == BF_SUM_NEG_INF;
        invalid += special == BF_SUM_INVALID;
    }
    /* Takes an element or a pair, as bf_sum_take_joint does. */
    template <bf_kind Kind>
    __device__ __forceinline__ void take(bf_dtype dtype, uint64_t a, uint64_t b) {
        if (bf_dtype_is_float(dtype)) {
            const int special = bf_sum_special_joint(Kind, bf_format_of(dtype), a, b);
            if (special != 0) {
                count(special);
                if (!bf_sum_keeps_weight(Kind, special)) return;
                a = 0;
            }
        }
        bf_cuda_joint_terms<Kind>(
            bf_cuda_joint_term_of(dtype, a), bf_cuda_joint_term_of(dtype, b),
            [&](int i, const auto &term) { bf_cuda_joint_add(part[i], term); });
    }
    __device__ __forceinline__ void add_counters(int64_t *words) const {
        bf_cuda_add_word(&words[BF_SUM_NAN], nans);
        bf_cuda_add_word(&words[BF_SUM_POS_INF], pos_infs);
        bf_cuda_add_word(&words[BF_SUM_NEG_INF], neg_infs);
        bf_cuda_add_word(&words[BF_SUM_INVALID], invalid);
    }
};

/* All limbs of a column, and the bytes of a block's. */
static __host__ __device__ __forceinline__ int bf_cuda_joint_limbs_count(const bf_parts &parts) {
    int limbs = 0;
    for (int i = 0; i < parts.count; i++) limbs += bf_cuda_limbs_of(parts.part[i].layout.limbs);
    return limbs;
}
static inline size_t bf_cuda_joint_limbs_bytes(const bf_parts &parts) {
    return (size_t)bf_cuda_joint_limbs_count(parts) * BF_CUDA_WARP * sizeof(unsigned);
}

/* Calls visit(number of a limb in its column, its word of a state) for limbs `next`, next + step
 * and so on. */
template <class Visit>
static __device__ __forceinline__ void bf_cuda_joint_limbs_each(const bf_parts &parts, int next,
                                                                int step, const Visit &visit) {
    for (int i = 0, first = 0; i < parts.count; i++) {
        const int end = first + bf_cuda_limbs_of(parts.part[i].layout.limbs);
        for (; next < end; next += step) visit(next, parts.part[i].at + next - first);
        first = end;
    }
}

/* By all threads of a block, each between two barriers: clears the columns; adds them to words. */
static __device__ __forceinline__ void bf_cuda_joint_limbs_clear(const bf_parts &parts,
                                                                 unsigned *memory) {
    const int all = bf_cuda_joint_limbs_count(parts) * BF_CUDA_WARP;
    for (int i = (int)threadIdx.x; i < all; i += (int)blockDim.x) memory[i] = BF_CUDA_LIMB_MIDDLE;
}
static __device__ __forceinline__ void
bf_cuda_joint_limbs_fold(const bf_parts &parts, const unsigned *memory, int64_t *words) {
    const int lane = (int)threadIdx.x % BF_CUDA_WARP, warp = (int)threadIdx.x / BF_CUDA_WARP;
    bf_cuda_joint_limbs_each(
        parts, warp, (int)blockDim.x / BF_CUDA_WARP, [&](int number, int word) {
            const unsigned x = memory[number * BF_CUDA_WARP + lane];
            const bf_cuda_pair sum = bf_cuda_warp_sum((int64_t)x - BF_CUDA_LIMB_MIDDLE);
            if (lane == 0) bf_cuda_add_word(&words[word], sum.lo + sum.hi * (1ll << 32));
        });
}

#endif
