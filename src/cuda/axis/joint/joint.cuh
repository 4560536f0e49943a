/* Joint kinds of many at once: sums of powers, of pairs, with weights, and what is made of them.
 *
 * A result has many sums, so that results are taken in batches. Of a batch
 *
 *   windows.cu  adds elements in windows (reduce/joint/windows.cuh), the same of the whole call. A
 *               result of which some element does not fit is marked. A lane that has all elements
 *               of a short one makes it at once; what it does not prove is marked.
 *   prove.cu    makes the other results of the sums, in doubles where these prove it
 *               (estimate.cuh), else marks them.
 *   limbs.cu    takes the results that are marked in limbs (reduce/joint/limbs.cuh), and makes
 *               them by the rules, if doubles still do not prove them.
 *
 * Which way a result went does not show in it. */
#ifndef BF_CUDA_AXIS_JOINT_JOINT_CUH
#define BF_CUDA_AXIS_JOINT_JOINT_CUH

#define BF_WIDE_JOINT 1 /* before rules/number/wide.h */

#include "cuda/axis/layout.cuh"
#include "cuda/axis/store.cuh"
#include "cuda/reduce/joint/estimate.cuh"
#include "cuda/reduce/joint/windows.cuh"

#include "rules/reduce/joint.h"

/* What the kernels share. The counters are 0 where a batch begins. */
struct bf_cuda_joint_board {
    bf_cuda_joint::windows chosen;
    unsigned long long units;              /* all units of longer marked results */
    unsigned long long shorts;             /* short ones */
    unsigned slots;                        /* long ones */
    unsigned long long taken, taken_short; /* tasks of windows.cu */
};

/* Elements [from, to) of a marked result. Several units of one add to words that they share: those
 * of a slot; -1: it has one unit. */
struct bf_cuda_joint_unit {
    int64_t r, from, to;
    int slot, units;
};

struct bf_cuda_joint_params {
    bf_cuda_axis_params axis;
    int64_t first, end;    /* the results of the batch: whole slots */
    bool direct;           /* a lane has all elements of each fibre: there are no sums of levels */
    int levels;            /* each result's, if windows have the most */
    int64_t piece, pieces; /* each fibre's: a warp takes so many elements at a time */
    bf_cuda_joint_board *board;
    bf_cuda_joint::level_sum
        *sums;       /* each level's of all results of the batch, one after another */
    unsigned *marks; /* a bit for each result of the batch */
    bf_cuda_joint_unit *units;
    int64_t *shorts;    /* marked results of few elements */
    int64_t blocks;     /* blocks of limbs.cu */
    int64_t *words;     /* the slots', and then those of these blocks; 0 before and after a call */
    bf_signed *numbers; /* BF_JOINT_ROOM for each thread that makes results */
};

enum {
    BF_CUDA_JOINT_GIANT = 1 << 16, /* elements of a unit */
    BF_CUDA_JOINT_SLOTS = 1024,
    BF_CUDA_JOINT_SHORT = 512,     /* elements of a result that has a lane's column of limbs */
    BF_CUDA_JOINT_OWN = 64,        /* elements of a segment that a lane takes alone */
    BF_CUDA_JOINT_PENDING = 32,    /* results that a block of limbs.cu makes at a time */
    BF_CUDA_JOINT_LIMBS_BLOCKS = 2 /* so many share a multiprocessor */
};

/* Words of a state, and a ticket. */
static inline __host__ __device__ int bf_cuda_joint_words(const bf_parts &parts) {
    return parts.words + 1;
}

/* Result i of the batch: is its bit set? Sets it. */
static __device__ __forceinline__ bool bf_cuda_joint_has(const unsigned *bits, int64_t i) {
    return (bits[i / 32] >> (i % 32) & 1) != 0;
}
static __device__ __forceinline__ void bf_cuda_joint_set(unsigned *bits, int64_t i) {
    atomicOr(&bits[i / 32], 1u << (i % 32));
}

/* The sum of a level of result i of the batch. */
static __device__ __forceinline__ bf_cuda_joint::level_sum *
bf_cuda_joint_sum_of(const bf_cuda_joint_params &q, int64_t i, int level) {
    return &q.sums[level * (q.end - q.first) + i];
}

static __device__ bf_reduce_options bf_cuda_joint_options(const bf_cuda_axis_params &p) {
    bf_reduce_options o;
    memset(&o, 0, sizeof o);
    o.nan = p.nan;
    o.ddof = p.ddof;
    o.weights = p.weights;
    return o;
}

/* Writes the result of n elements, or pairs, none of them infinite, if doubles prove it. */
template <bf_kind Kind>
static __device__ __forceinline__ bool bf_cuda_joint_prove(const bf_cuda_axis_params &p, int64_t r,
                                                           int64_t n,
                                                           const bf_cuda_estimate (&sum)[5]) {
    const bf_reduce_options o = bf_cuda_joint_options(p);
    const bf_cuda_estimate x =
        bf_cuda_estimates::of_kind(Kind, p.op, bf_cuda_estimates::exactly((double)n), &o, sum);
    uint64_t bits;
    if (!bf_cuda_estimates::is_proven(x, p.to, &bits)) return false;
    bf_cuda_axis_store_fit(p, r, bits, true);
    return true;
}

/* Writes a result of exact sums by the rules; numbers is room. */
static __device__ void bf_cuda_joint_write(const bf_cuda_axis_params &p, int64_t r,
                                           const bf_joint_sums &sums, bf_signed *numbers) {
    const bf_reduce_options o = bf_cuda_joint_options(p);
    if (p.nan == BF_NAN_ERROR && sums.words[BF_SUM_NAN] > 0)
        bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
    const uint64_t bits = bf_joint_bits(p.kind, p.op, &sums, &o, bf_format_of(p.to), numbers);
    bf_cuda_axis_store_fit(p, r, bits, true);
}

/* The kernels, each of a batch; the first one is of the call. */
cudaError_t bf_cuda_joint_launch_choice(const bf_cuda *cuda, const bf_cuda_joint_params &q);
cudaError_t bf_cuda_joint_launch_windows(const bf_cuda *cuda, const bf_cuda_joint_params &q);
cudaError_t bf_cuda_joint_launch_proof(const bf_cuda *cuda, const bf_cuda_joint_params &q);
cudaError_t bf_cuda_joint_launch_limbs(const bf_cuda *cuda, const bf_cuda_joint_params &q);

#endif
