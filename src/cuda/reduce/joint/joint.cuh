/* Joint kinds on a GPU: sums of powers, of pairs, with weights (rules/reduce/parts.h). */
#ifndef BF_CUDA_REDUCE_JOINT_JOINT_CUH
#define BF_CUDA_REDUCE_JOINT_JOINT_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/reduce.h"
}

/* Absorbs a job of a joint kind, whose elements are in place, into words. Errors: BF_E_MEMORY,
 * BF_E_DEVICE. */
bf_status bf_cuda_joint_absorb(bf_context *context, const bf_job *job, int64_t *words);

#endif
