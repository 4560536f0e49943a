/* Sorting of entries. */
#ifndef BF_CUDA_RUNTIME_SORT_SORT_CUH
#define BF_CUDA_RUNTIME_SORT_SORT_CUH

#include "cuda/runtime/context.cuh"

/* Enqueues a stable radix sort of n entries with words of `word` bytes (entry.cuh), by the low
 * `bytes` bytes of their keys. other: memory of the same size; *sorted: one of the two. Errors:
 * BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_sort(bf_context *context, int word, void *entries, void *other, uint32_t n,
                       int bytes, void **sorted);

#endif
