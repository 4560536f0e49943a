/* Exact sums of floats that are computed as they are summed (cuda/runtime/computed.cuh). */
#ifndef BF_CUDA_REDUCE_SUM_COMPUTED_CUH
#define BF_CUDA_REDUCE_SUM_COMPUTED_CUH

#include "cuda/runtime/computed.cuh"

extern "C" {
#include "seam/reduce.h"
}

/* Absorbs job->count elements of f32 or f64, those of 1 TiB at most, into the words of a sum. The
 * columns are in memory that the GPU reaches; `program` is in the host's. */
bf_status bf_cuda_reduce_computed(bf_context *context, const bf_job *job,
                                  const bf_cuda_computed *program, int64_t *words);

#endif
