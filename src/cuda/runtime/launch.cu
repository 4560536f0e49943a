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
    uint64_t call;               /* the call that launched last */
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

/* Whether what stands on the stream before this launch is this context's. Behind a stranger's
 * kernel, and a wait for another stream, an early start is not safe: while the host made a stream,
 * that kernel was never said to have ended, and the ones that had begun early waited for ever. */
static bool follows_own(const bf_cuda *cuda) {
    return cuda->stream == cuda->own || cuda->kernels->call == cuda->calls;
}

cudaError_t bf_cuda_launch(const bf_cuda *cuda, const void *kernel, bf_cuda_shape shape,
                           void **arguments) {
    const bool may_overlap = shape.overlaps && follows_own(cuda) && cuda->major >= 9;
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks > 0 ? (unsigned)shape.blocks : 1);
    config.blockDim = dim3((unsigned)shape.threads);
    config.dynamicSmemBytes = shape.shared;
    config.stream = cuda->stream;
    config.attrs = &overlap;
    config.numAttrs = may_overlap ? 1 : 0;
    cuda->kernels->call = cuda->calls;
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
