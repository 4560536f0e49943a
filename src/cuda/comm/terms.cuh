/* Adds arrays that lie in this GPU's memory, or in any that it reaches. */
#ifndef BF_CUDA_COMM_TERMS_CUH
#define BF_CUDA_COMM_TERMS_CUH

#include "cuda/comm/link.cuh"

struct bf_cuda_terms {
    bf_dtype dtype;
    int n; /* at least 2 */
    const void *in[BF_LINK_RANKS];
    void *out;        /* may be a term */
    int64_t count;    /* how many elements there are: at most 2^28 */
    uint32_t *misfit; /* becomes 1 if an integer does not fit */
};

/* Loads the kernels, on this GPU: loading one later may wait for the GPU. */
cudaError_t bf_cuda_load_terms(void);

/* Enqueues the sums, each rounded once. */
cudaError_t bf_cuda_add_terms(const bf_cuda *cuda, cudaStream_t stream, const bf_cuda_terms *terms);

#endif
