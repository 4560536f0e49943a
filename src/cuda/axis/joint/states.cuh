/* Many states of joint kinds on a GPU: groups of their elements by the number of the state. A state
 * that has no element has no group. */
#ifndef BF_CUDA_AXIS_JOINT_STATES_CUH
#define BF_CUDA_AXIS_JOINT_STATES_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/axis.h"
}

struct bf_cuda_joint_states {
    bf_reduction op;
    bf_dtype dtype;
    int64_t count;
    void *groups;
    uint32_t
        *keys; /* the groups' numbers, ascending, for calls that want words; NULL: not listed */
};

/* As the functions of bf_axis_backend say. */
bf_status bf_cuda_joint_states_open(bf_context *context, bf_cuda_joint_states *states);
void bf_cuda_joint_states_close(bf_context *context, bf_cuda_joint_states *states);
void bf_cuda_joint_states_clear(bf_context *context, bf_cuda_joint_states *states);
bf_status bf_cuda_joint_states_absorb(bf_context *context, bf_cuda_joint_states *states,
                                      int64_t first, const void *a, const void *b,
                                      const bf_rows *rows);
bf_status bf_cuda_joint_states_merge(bf_context *context, bf_cuda_joint_states *into,
                                     const bf_cuda_joint_states *from);
bf_status bf_cuda_joint_states_result(bf_context *context, const bf_cuda_joint_states *states,
                                      bf_reduction op, const bf_results *results);
bf_status bf_cuda_joint_states_counts(bf_context *context, const bf_cuda_joint_states *states,
                                      void *counts);
bf_status bf_cuda_joint_states_words(bf_context *context, bf_cuda_joint_states *states,
                                     int64_t first, int64_t n, int64_t *words);
bf_status bf_cuda_joint_states_add_words(bf_context *context, bf_cuda_joint_states *states,
                                         int64_t first, int64_t n, const int64_t *words);

#endif
