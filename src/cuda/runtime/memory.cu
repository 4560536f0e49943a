/* Memory of tables: taken from a pool in the order of the stream, so that a call which needs much
 * of it for a while costs no synchronization; reports. */
#include "cuda/table/table.cuh"

/* A pool of the context's own, which keeps what it has until it is trimmed. */
static cudaError_t make_pool(bf_cuda *cuda) {
    cudaMemPoolProps props = {};
    uint64_t all = ~(uint64_t)0;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = cuda->device;
    cudaError_t error = cudaMemPoolCreate(&cuda->pool, &props);
    if (error != cudaSuccess) return error;
    return cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &all);
}

/* NULL: there is no memory. */
static void *take(bf_cuda *cuda, size_t bytes, cudaError_t *error) {
    void *memory = NULL;
    *error = cuda->pool == NULL ? make_pool(cuda) : cudaSuccess;
    if (*error == cudaErrorNotSupported) *error = cudaMalloc(&memory, bytes);
    if (cuda->pool != NULL && *error == cudaSuccess)
        *error = cudaMallocFromPoolAsync(&memory, bytes, cuda->pool, cuda->stream);
    return *error == cudaSuccess ? memory : NULL;
}

void *bf_cuda_take(bf_context *context, size_t bytes) {
    bf_cuda *cuda = context->cuda;
    cudaError_t error;
    if (bytes == 0) bytes = 1;
    void *memory = take(cuda, bytes, &error);
    if (error == cudaErrorMemoryAllocation && cuda->pool != NULL) { /* it may lie in pieces */
        cudaGetLastError();
        cudaStreamSynchronize(cuda->stream);
        cudaMemPoolTrimTo(cuda->pool, 0);
        memory = take(cuda, bytes, &error);
    }
    if (memory == NULL) bf_cuda_fail(context, error, "memory of a table");
    return memory;
}

void bf_cuda_give(bf_context *context, void *memory) {
    if (memory == NULL) return;
    if (context->cuda->pool == NULL)
        cudaFree(memory);
    else
        cudaFreeAsync(memory, context->cuda->stream);
}

void bf_cuda_pool_trim(bf_cuda *cuda) {
    if (cuda->pool == NULL) return;
    cudaStreamSynchronize(cuda->stream);
    cudaMemPoolTrimTo(cuda->pool, 0);
}

void bf_cuda_pool_close(bf_cuda *cuda) {
    if (cuda->pool != NULL) cudaMemPoolDestroy(cuda->pool);
}

/* --- waiting --- */

bf_status bf_cuda_wait(bf_context *context, cudaError_t error, const char *what) {
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaStreamSynchronize(context->cuda->stream);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, what);
}

bf_status bf_cuda_fetch(bf_context *context, cudaError_t error, bf_cuda_report *report,
                        bf_cuda_report *to) {
    cudaStream_t stream = context->cuda->stream;
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(to, report, sizeof *to, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaMemsetAsync(report, 0, sizeof *report, stream);
    return bf_cuda_wait(context, error, "a table");
}
