/* Prefix sums, and packing of values by them. */
#ifndef BF_CUDA_RUNTIME_PREFIX_CUH
#define BF_CUDA_RUNTIME_PREFIX_CUH

#include "cuda/runtime/context.cuh"

/* Turns n > 0 counts into the sums of those before; sets counts[n] and *all to the sum of all.
 * Waits. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_sum_before(bf_context *context, uint64_t *counts, int64_t n, int64_t *all);

/* Copies values of `bytes` bytes (a multiple of 4) to packed memory: value i to index before[i], if
 * before[i + 1] is greater. */
cudaError_t bf_cuda_pack(const bf_cuda *cuda, const void *values, int bytes, const uint64_t *before,
                         int64_t n, void *to);

#endif
