/* The radix sort of unsigned keys on a GPU. */
#ifndef BF_CUDA_RUNTIME_SORT_RADIX_CUH
#define BF_CUDA_RUNTIME_SORT_RADIX_CUH

#include "cuda/runtime/context.cuh"
#include "cuda/runtime/sort/coding.cuh"

/* The bits of the NaNs among elements, or-ed, and their complements; both 0: there is none. */
struct bf_cuda_nans {
    unsigned long long bits, others;
};

/* What is sorted, stably. Arrays of the GPU; of each pair of arrays both may be the same. */
typedef struct bf_cuda_radix {
    int64_t n;
    int key_bytes; /* 4 or 8 */
    int bits;      /* all keys are below 2^bits */
    const void *keys;
    bf_cuda_coding coding; /* for keys that are elements: they are sorted by their places */
    void *sorted;          /* NULL: the sorted keys are not wanted */
    int value_bytes;       /* 4 or 8; 0: none go with the keys */
    const void *values;    /* NULL: the numbers from 0 on */
    void *moved;
} bf_cuda_radix;

/* Bytes of shared memory that a block needs, whatever is sorted: GPUs before sm_80 have fewer. */
enum { BF_CUDA_RADIX_SHARED = 76 * 1024 };

/* Enqueues the sort. Of floats whose sorted keys are wanted, it first waits to learn about NaNs: if
 * they have several bit patterns, *mixed (else it may be NULL) becomes true, and nothing is sorted.
 * Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_radix_sort(bf_context *context, const bf_cuda_radix *radix, bool *mixed);

#endif
