/* The choice between settling marked results in registers (settle.cu) and in limbs
 * (by_exponent.cu). */
#ifndef BF_CUDA_AXIS_EXACT_SETTLE_CUH
#define BF_CUDA_AXIS_EXACT_SETTLE_CUH

#include "cuda/axis/layout.cuh"

enum {
    BF_CUDA_AXIS_SETTLED = 1 << 9 /* the most elements of a sum that is settled */
};

/* Settles marked sums of floats, of that many elements at most. Marks of longer ones stay. */
cudaError_t bf_cuda_axis_launch_settle(const bf_cuda *cuda, const bf_cuda_axis_params &p);

static inline bool bf_cuda_axis_has_settled(const bf_cuda_axis_params *p) {
    const bool is_plain = p->at.offsets != nullptr || p->at.reduced == 1;
    return p->kind == BF_KIND_SUM && bf_dtype_is_float(p->dtype) && bf_dtype_is_float(p->to) &&
           is_plain && p->spans == 0 && bf_cuda_axis_mean(p->at) <= BF_CUDA_AXIS_SETTLED;
}
/* Are some results longer? */
static inline bool bf_cuda_axis_has_longer(const bf_cuda_axis_params *p) {
    return !bf_cuda_axis_has_settled(p) ||
           (p->at.offsets != nullptr && p->at.rows > BF_CUDA_AXIS_SETTLED);
}

#endif
