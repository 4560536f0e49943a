/* Launches. */
#include "cuda/runtime/launch.cuh"

#include <stdlib.h>

/* A hash table of the addresses of kernels that may use all shared memory. */
enum { KERNELS_BITS = 9, KERNELS = 1 << KERNELS_BITS, PROBES = 8 };

cudaError_t bf_cuda_launch_open(bf_cuda *cuda) {
    cuda->kernels = (const void **)calloc(KERNELS, sizeof *cuda->kernels);
    return cuda->kernels != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

void bf_cuda_launch_close(bf_cuda *cuda) { free(cuda->kernels); }

/* Requests all shared memory for a kernel. All contexts of a device request the same, because the
 * limit belongs to the kernel. */
static cudaError_t request_shared(const bf_cuda *cuda, const void *kernel, bool spares_cache) {
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     cuda->shared - (int)attributes.sharedSizeBytes);
    if (error == cudaSuccess && spares_cache)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared);
    return error;
}

static cudaError_t allow_shared(const bf_cuda *cuda, const void *kernel,
                                const bf_cuda_shape *shape) {
    if (shape->shared == 0) return cudaSuccess;
    unsigned home = (unsigned)((uintptr_t)kernel * 0x9e3779b97f4a7c15u >> (64 - KERNELS_BITS));
    const void **at = NULL;
    for (unsigned i = 0; i < PROBES && at == NULL; i++) {
        const void **slot = &cuda->kernels[(home + i) % KERNELS];
        if (*slot == kernel) return cudaSuccess;
        if (*slot == NULL) at = slot;
    }
    cudaError_t error = request_shared(cuda, kernel, shape->spares_cache);
    if (error == cudaSuccess && at != NULL) *at = kernel;
    return error;
}

cudaError_t bf_cuda_launch(const bf_cuda *cuda, const void *kernel, bf_cuda_shape shape,
                           void **arguments) {
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks > 0 ? (unsigned)shape.blocks : 1);
    config.blockDim = dim3((unsigned)shape.threads);
    config.dynamicSmemBytes = shape.shared;
    config.stream = cuda->stream;
    config.attrs = &overlap;
    config.numAttrs = shape.overlaps && cuda->major >= 9 ? 1 : 0;
    cudaError_t error = allow_shared(cuda, kernel, &shape);
    return error == cudaSuccess ? cudaLaunchKernelExC(&config, kernel, arguments) : error;
}

cudaError_t bf_cuda_occupancy(const bf_cuda *cuda, const void *kernel, bf_cuda_shape shape,
                              int *blocks) {
    cudaError_t error = allow_shared(cuda, kernel, &shape);
    if (error != cudaSuccess) return error;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, shape.threads,
                                                         shape.shared);
}
