/* The results of aggregates of joint kinds (cuda/reduce/aggregate.cuh). */
#ifndef BF_CUDA_REDUCE_JOINT_FINISH_CUH
#define BF_CUDA_REDUCE_JOINT_FINISH_CUH

#include "cuda/reduce/aggregate_value.cuh"

/* The results of groups order[0, aggregate.n), where kernels write them. */
struct bf_cuda_joint_results {
    bf_cuda_aggregate_params aggregate;
    bf_reduction op;
    bf_dtype to; /* BF_F32 or BF_F64 */
    bf_reduce_options options;
    const unsigned *order; /* NULL: all groups by number */
    const int64_t *counts; /* by number */
    char *values;
    unsigned long long *failed; /* becomes at least n - i if group i has a NaN that is refused */
    char *work;                 /* so many bytes as bf_cuda_joint_finish_bytes says */
};

size_t bf_cuda_joint_finish_bytes(const bf_cuda *cuda, const bf_cuda_aggregate_params &aggregate);
cudaError_t bf_cuda_joint_finish(const bf_cuda *cuda, const bf_cuda_joint_results &results);

#endif
