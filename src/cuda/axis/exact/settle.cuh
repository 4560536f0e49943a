/* The choice between settling marked results in registers (settle.cu) and in limbs
 * (by_exponent.cu). */
#ifndef BF_CUDA_AXIS_EXACT_SETTLE_CUH
#define BF_CUDA_AXIS_EXACT_SETTLE_CUH

#include "cuda/axis/layout.cuh"

static __host__ __device__ __forceinline__ bool bf_cuda_axis_is_linear(bf_kind kind) {
    return kind == BF_KIND_SUM || kind == BF_KIND_DOT;
}

/* The most elements of a result that is settled. */
static __host__ __device__ __forceinline__ int64_t bf_cuda_axis_settled(bf_kind kind) {
    return bf_cuda_axis_is_linear(kind) ? 1 << 9 : 1 << 12;
}

/* Settles marked results of floats, of that many elements at most. Marks of longer ones stay, and
 * those of variances and sums of squares that are not proven. Dot products are settled if NaNs make
 * a result NaN: a product may be one though its factors are none. */
cudaError_t bf_cuda_axis_launch_settle(const bf_cuda *cuda, const bf_cuda_axis_params &p);

static inline bool bf_cuda_axis_has_settled(const bf_cuda_axis_params *p) {
    const bool is_plain = p->at.offsets != nullptr || p->at.reduced == 1;
    const bool is_rounded = p->to == BF_F64 || p->to == BF_F32;
    const bool settles = p->kind == BF_KIND_SUM   ? bf_dtype_is_float(p->to)
                         : p->kind == BF_KIND_DOT ? is_rounded && p->nan == BF_NAN_PROPAGATE
                                                  : is_rounded;
    return settles && bf_dtype_is_float(p->dtype) && is_plain && p->spans == 0 &&
           bf_cuda_axis_mean(p->at) <= bf_cuda_axis_settled(p->kind);
}

/* Sums and means of few floats that one kernel settles, instead of three. Such calls are enqueued:
 * others ask the board whether they failed, and the first of the three sets it. */
static inline bool bf_cuda_axis_settles_all(const bf_cuda_axis_params *p) {
    const int64_t longest = 1 << 10, most = 1 << 17;
    return p->unread && p->kind == BF_KIND_SUM && bf_dtype_is_float(p->dtype) &&
           (p->to == BF_F64 || p->to == BF_F32) && p->at.offsets == nullptr && p->at.reduced == 1 &&
           p->at.length <= longest && p->at.results <= most / p->at.length;
}
/* Settles all results, whether or not they are marked. */
cudaError_t bf_cuda_axis_launch_settle_all(const bf_cuda *cuda, const bf_cuda_axis_params &p);

/* May some results stay marked? */
static inline bool bf_cuda_axis_may_stay_marked(const bf_cuda_axis_params *p) {
    return !bf_cuda_axis_has_settled(p) || !bf_cuda_axis_is_linear(p->kind) ||
           (p->at.offsets != nullptr && p->at.rows > bf_cuda_axis_settled(p->kind));
}

#endif
