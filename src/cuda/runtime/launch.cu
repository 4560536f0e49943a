/* Launches. */
#include "cuda/runtime/launch.cuh"

#include <stdlib.h>

enum { KERNELS_BITS = 9, KERNELS = 1 << KERNELS_BITS, PROBES = 8 };

/* How many blocks of a shape a multiprocessor holds. */
typedef struct held {
    const void *kernel;
    size_t shared;
    int threads, blocks;
} held;

/* Hash tables of what the driver was asked of kernels. */
struct bf_cuda_kernels {
    const void *shared[KERNELS]; /* These may use all shared memory. */
    held held[KERNELS];          /* A new one takes an old one's place. */
};

cudaError_t bf_cuda_launch_open(bf_cuda *cuda) {
    cuda->kernels = (bf_cuda_kernels *)calloc(1, sizeof *cuda->kernels);
    return cuda->kernels != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

void bf_cuda_launch_close(bf_cuda *cuda) { free(cuda->kernels); }

static unsigned place_of(const void *kernel, size_t more) {
    return (unsigned)(((uintptr_t)kernel + more) * 0x9e3779b97f4a7c15u >> (64 - KERNELS_BITS));
}

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
    const unsigned home = place_of(kernel, 0);
    const void **at = NULL;
    for (unsigned i = 0; i < PROBES && at == NULL; i++) {
        const void **slot = &cuda->kernels->shared[(home + i) % KERNELS];
        if (*slot == kernel) return cudaSuccess;
        if (*slot == NULL) at = slot;
    }
    cudaError_t error = request_shared(cuda, kernel, shape->spares_cache);
    if (error == cudaSuccess && at != NULL) *at = kernel;
    return error;
}

/* May launches begin early? Not on a caller's stream: where streams come and go, the driver may
 * never let a kernel that began early know that the one before it has ended
 * (docs/design/runtime.md). */
static bool may_overlap(const bf_cuda *cuda) {
    return cuda->stream == cuda->own && cuda->major >= 9;
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
    config.numAttrs = shape.overlaps && may_overlap(cuda) ? 1 : 0;
    cudaError_t error = allow_shared(cuda, kernel, &shape);
    return error == cudaSuccess ? cudaLaunchKernelExC(&config, kernel, arguments) : error;
}

cudaError_t bf_cuda_occupancy(const bf_cuda *cuda, const void *kernel, bf_cuda_shape shape,
                              int *blocks) {
    const size_t more = shape.shared * 1024 + (size_t)shape.threads;
    held *known = &cuda->kernels->held[place_of(kernel, more)];
    *blocks = known->blocks;
    if (known->kernel == kernel && known->threads == shape.threads && known->shared == shape.shared)
        return cudaSuccess;
    cudaError_t error = allow_shared(cuda, kernel, &shape);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, shape.threads,
                                                              shape.shared);
    if (error == cudaSuccess) *known = {kernel, shape.shared, shape.threads, *blocks};
    return error;
}
