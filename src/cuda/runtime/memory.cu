/* Device memory: of the pool, and of the public calls. */
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"

/* --- the pool --- */

/* Makes the pool, which keeps its memory until it is trimmed. */
static cudaError_t create_pool(bf_cuda *cuda) {
    cudaMemPoolProps props = {};
    uint64_t all = ~(uint64_t)0;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = cuda->device;
    const cudaStreamCaptureMode mode = bf_cuda_relax(); /* the first call may be captured */
    cudaError_t error = cudaMemPoolCreate(&cuda->pool, &props);
    bf_cuda_restore(mode);
    if (error != cudaSuccess) return error;
    return cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &all);
}

/* In a capture the memory is the graph's, from one of its nodes to another. */
static void *alloc_from_pool(bf_cuda *cuda, size_t bytes, cudaError_t *error) {
    void *memory = NULL;
    *error = cuda->pool == NULL ? create_pool(cuda) : cudaSuccess;
    if (*error == cudaErrorNotSupported && cuda->capture == 0) *error = cudaMalloc(&memory, bytes);
    if (cuda->pool != NULL && *error == cudaSuccess)
        *error = cudaMallocFromPoolAsync(&memory, bytes, cuda->pool, cuda->stream);
    return *error == cudaSuccess ? memory : NULL;
}

static void trim_pool(bf_cuda *cuda) {
    if (cuda->pool == NULL || cuda->capture != 0) return;
    cudaStreamSynchronize(cuda->stream);
    cudaMemPoolTrimTo(cuda->pool, 0);
}

void *bf_cuda_alloc(bf_context *context, size_t bytes) {
    bf_cuda *cuda = context->cuda;
    cudaError_t error;
    if (bytes == 0) bytes = 1;
    void *memory = alloc_from_pool(cuda, bytes, &error);
    if (error == cudaErrorMemoryAllocation &&
        cuda->pool != NULL) { /* the pool's memory may be fragmented */
        cudaGetLastError();
        trim_pool(cuda);
        memory = alloc_from_pool(cuda, bytes, &error);
    }
    if (memory == NULL) bf_cuda_fail(context, error, "memory of the GPU");
    return memory;
}

void bf_cuda_free(bf_context *context, void *memory) {
    if (memory == NULL) return;
    if (context->cuda->pool == NULL)
        cudaFree(memory);
    else
        cudaFreeAsync(memory, context->cuda->stream);
}

void bf_cuda_hold_pool(bf_cuda *cuda) { cuda->holders++; }

void bf_cuda_release_pool(bf_cuda *cuda) {
    if (--cuda->holders == 0) trim_pool(cuda);
}

/* --- buffers --- */

bf_status bf_cuda_buffer_grow(bf_context *context, bf_cuda_buffer *buffer, size_t bytes,
                              size_t kept) {
    if (bytes <= buffer->bytes) return BF_OK;
    if (kept == 0) bf_cuda_buffer_free(context, buffer); /* there may not be room for both */
    void *memory = bf_cuda_alloc(context, bytes);
    if (memory == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaSuccess;
    if (kept > 0)
        error = cudaMemcpyAsync(memory, buffer->memory, kept, cudaMemcpyDeviceToDevice,
                                context->cuda->stream);
    if (error != cudaSuccess) {
        bf_cuda_free(context, memory);
        return bf_cuda_fail(context, error, "memory of the GPU");
    }
    bf_cuda_buffer_free(context, buffer);
    buffer->memory = memory;
    buffer->bytes = bytes;
    return BF_OK;
}

void bf_cuda_buffer_free(bf_context *context, bf_cuda_buffer *buffer) {
    bf_cuda_free(context, buffer->memory);
    buffer->memory = NULL;
    buffer->bytes = 0;
}

void bf_cuda_memory_close(bf_cuda *cuda) {
    cudaFree(cuda->scratch);
    if (cuda->pool != NULL) cudaMemPoolDestroy(cuda->pool);
}

/* --- the public calls --- */

void *bf_cuda_copy_scratch(bf_context *context, const void *near) {
    (void)near;
    void **scratch = &context->cuda->scratch;
    if (*scratch != NULL) return *scratch;
    int previous = bf_cuda_use_device(context->cuda);
    cudaError_t error = cudaMalloc(scratch, BF_CUDA_COPY_SCRATCH);
    if (error != cudaSuccess) {
        *scratch = NULL;
        bf_cuda_fail(context, error, "scratch memory");
    }
    bf_cuda_leave(previous);
    return *scratch;
}

static void *allocate_memory(bf_context *context, size_t bytes) {
    void *memory = NULL;
    int previous = bf_cuda_use_device(context->cuda);
    cudaError_t error = cudaMalloc(&memory, bytes);
    if (error != cudaSuccess) bf_cuda_fail(context, error, "allocating device memory");
    bf_cuda_leave(previous);
    return error == cudaSuccess ? memory : NULL;
}

static void release_memory(bf_context *context, void *memory) {
    int previous = bf_cuda_use_device(context->cuda);
    cudaFree(memory);
    bf_cuda_leave(previous);
}

static bf_status copy_memory(bf_context *context, void *to, const void *from, size_t bytes) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = bf_cuda_copy(context, to, from, bytes);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "a copy");
    bf_cuda_leave(previous);
    return status;
}

extern const bf_memory_backend bf_cuda_memory_backend = {
    .gather = bf_cuda_gather,
    .scatter = bf_cuda_scatter,
    .scratch = bf_cuda_copy_scratch,
    .scratch_bytes = BF_CUDA_COPY_SCRATCH,
    .allocate = allocate_memory,
    .release = release_memory,
    .copy = copy_memory,
};
