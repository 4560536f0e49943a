/* The CUDA backend's table: contexts, streams, memory. */
#include "cuda/group/group.cuh"
#include "cuda/runtime/grid.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "seam/where.h"
}

#include <stdlib.h>

bf_status bf_cuda_fail(bf_context *context, cudaError_t error, const char *what) {
    cudaGetLastError(); /* errors of a launch or an allocation do not last */
    bf_status status = error == cudaErrorMemoryAllocation ? BF_E_MEMORY : BF_E_DEVICE;
    return bf_fail(context, status, "%s: %s", what, cudaGetErrorString(error));
}

/* Makes the context's device the thread's current one. Returns the one to restore; -1: none. */
static int use_device(const bf_cuda *cuda) {
    int previous = 0;
    cudaGetDevice(&previous);
    if (previous == cuda->device) return -1;
    cudaSetDevice(cuda->device);
    return previous;
}

int bf_cuda_enter(const bf_context *context) {
    bf_cuda *cuda = context->cuda;
    int previous = use_device(cuda);
    cuda->chain.is_last = false;
    bf_cuda_order_follow(cuda); /* what cannot join the stream cannot be launched there either */
    if (cuda->capture == 0) cuda->order->busy = true;
    return previous;
}

void bf_cuda_leave(int previous) {
    if (previous >= 0) cudaSetDevice(previous);
}

bf_status bf_cuda_refuse_captured(bf_context *context) {
    if (context->cuda->capture == 0) return BF_OK;
    return bf_fail(context, BF_E_ARGUMENT,
                   "the stream is being captured, which only calls that end in _async can be");
}

bf_cuda_visit bf_cuda_enter_idle(const bf_context *context) {
    bf_cuda *cuda = context->cuda;
    bf_cuda_visit visit = {use_device(cuda), cuda->stream};
    cuda->stream = cuda->own;
    return visit;
}

void bf_cuda_leave_idle(const bf_context *context, bf_cuda_visit visit) {
    context->cuda->stream = visit.stream;
    bf_cuda_leave(visit.previous);
}

/* --- memory --- */

bool bf_cuda_in_place(const bf_context *context, const void *p, int align) {
    int device = context->cuda->device;
    bf_where where = bf_where_is(p, &device);
    bool elsewhere = where == BF_WHERE_DEVICE && device != context->cuda->device;
    return (uintptr_t)p % (unsigned)align == 0 && where != BF_WHERE_HOST && !elsewhere;
}

void *bf_cuda_copy_scratch(bf_context *context) {
    void **scratch = &context->cuda->scratch;
    if (*scratch != NULL) return *scratch;
    int previous = use_device(context->cuda);
    cudaError_t error = cudaMalloc(scratch, BF_CUDA_COPY_SCRATCH);
    if (error != cudaSuccess) {
        *scratch = NULL;
        bf_cuda_fail(context, error, "scratch memory");
    }
    bf_cuda_leave(previous);
    return *scratch;
}

static void *allocate(bf_context *context, size_t bytes) {
    void *memory = NULL;
    int previous = use_device(context->cuda);
    cudaError_t error = cudaMalloc(&memory, bytes);
    if (error != cudaSuccess) bf_cuda_fail(context, error, "allocating device memory");
    bf_cuda_leave(previous);
    return error == cudaSuccess ? memory : NULL;
}

static void release(bf_context *context, void *memory) {
    int previous = use_device(context->cuda);
    cudaFree(memory);
    bf_cuda_leave(previous);
}

static bf_status copy_and_wait(bf_context *context, void *to, const void *from, size_t bytes) {
    bf_status status = bf_cuda_copy(context, to, from, bytes);
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    if (status != BF_OK || error == cudaSuccess) return status;
    return bf_cuda_fail(context, error, "a copy");
}

static bf_status copy(bf_context *context, void *to, const void *from, size_t bytes) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = copy_and_wait(context, to, from, bytes);
    bf_cuda_leave(previous);
    return status;
}

/* --- streams --- */

/* The new stream waits for the old one, unless either is being captured: a graph waits for what its
 * owner makes it wait for. The new one may have the handle of an old one that is gone. */
static bf_status set_stream(bf_context *context, void *stream) {
    bf_cuda *cuda = context->cuda;
    cudaStream_t before = cuda->stream, next = stream != NULL ? (cudaStream_t)stream : cuda->own;
    int previous = use_device(cuda);
    if (next != before) bf_cuda_order_leave(cuda);
    cuda->chain.is_last = false;
    cuda->stream = next;
    cuda->stream_id = 0;
    cudaError_t error = bf_cuda_order_follow(cuda);
    bf_cuda_workspaces_sweep(cuda);
    bf_status status = error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "set_stream");
    if (error != cudaSuccess) {
        cuda->stream = before;
        cuda->stream_id = 0;
    }
    bf_cuda_leave(previous);
    return status;
}

static bf_status wait_for_order(bf_context *context) {
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "synchronize");
    context->cuda->order->busy = false;
    bf_cuda_workspaces_sweep(context->cuda);
    return bf_cuda_map_failure(context);
}

static bf_status synchronize(bf_context *context) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = wait_for_order(context);
    bf_cuda_leave(previous);
    return status;
}

/* --- opening and closing --- */

static void close_cuda(bf_context *context) {
    bf_cuda *cuda = context->cuda;
    if (cuda == NULL) return;
    int previous = use_device(cuda);
    bf_cuda_workspaces_close(cuda); /* waits for all that the GPU does; the stream may be gone */
    bf_cuda_pipeline_close(cuda);
    cudaFree(cuda->scratch);
    cudaFreeHost(cuda->mail);
    cudaFreeHost(cuda->failed);
    cudaFreeHost(cuda->counts);
    bf_cuda_group_close(cuda);
    bf_cuda_pool_close(cuda);
    if (cuda->own != NULL) cudaStreamDestroy(cuda->own);
    cudaGetLastError();
    bf_cuda_leave(previous);
    free(cuda);
    context->cuda = NULL;
}

static cudaError_t ask(bf_cuda *cuda) {
    cudaError_t error = cudaDeviceGetAttribute(&cuda->multiprocessors,
                                               cudaDevAttrMultiProcessorCount, cuda->device);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&cuda->major, cudaDevAttrComputeCapabilityMajor, cuda->device);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&cuda->minor, cudaDevAttrComputeCapabilityMinor, cuda->device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&cuda->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                       cuda->device);
    return error;
}

/* By default streams are ordered with the legacy default stream, both ways: so is the context's
 * own. */
static cudaError_t set_up(bf_cuda *cuda, void *stream) {
    cudaError_t error = ask(cuda);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&cuda->own, cudaStreamDefault);
    cuda->stream = stream != NULL ? (cudaStream_t)stream : cuda->own;
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&cuda->mail, sizeof *cuda->mail,
                              cudaHostAllocMapped | cudaHostAllocPortable);
    if (error == cudaSuccess) memset((void *)cuda->mail, 0, sizeof *cuda->mail);
    if (error == cudaSuccess) error = bf_cuda_workspaces_open(cuda);
    return error;
}

/* The options' device is "cuda:N". */
static bf_status open_cuda(bf_context *context, const bf_options *options) {
    int device = atoi(options->device + strlen("cuda:")), count = 0, previous = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "no GPU can be used");
    if (device >= count)
        return bf_fail(context, BF_E_DEVICE, "there is no cuda:%d: GPUs that can be used: %d",
                       device, count);
    bf_cuda *cuda = (bf_cuda *)calloc(1, sizeof *cuda);
    if (cuda == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a context");
    cuda->device = device;
    context->cuda = cuda;
    cudaGetDevice(&previous);
    error = cudaSetDevice(device);
    cudaStreamCaptureMode mode = bf_cuda_relax(); /* the first call may be captured */
    if (error == cudaSuccess) error = set_up(cuda, options->stream);
    bf_cuda_restore(mode);
    bf_cuda_leave(previous);
    if (error == cudaSuccess) return BF_OK;
    bf_status status = bf_cuda_fail(context, error, options->device);
    close_cuda(context);
    return status;
}

static const bf_memory_backend memory_backend = {
    .gather = bf_cuda_gather,
    .scatter = bf_cuda_scatter,
    .scratch = bf_cuda_copy_scratch,
    .scratch_bytes = BF_CUDA_COPY_SCRATCH,
    .allocate = allocate,
    .release = release,
    .copy = copy,
};
static const bf_reduce_backend reduce_backend = {.absorb = bf_cuda_reduce,
                                                 .enqueue = bf_cuda_reduce_async};
static const bf_map_backend map_backend = {.run = bf_cuda_map, .enqueue = bf_cuda_map_async};
static const bf_histogram_backend histogram_backend = {.count = bf_cuda_histogram,
                                                       .enqueue = bf_cuda_histogram_async};
static const bf_julia_backend julia_backend = {.count = bf_cuda_julia,
                                               .enqueue = bf_cuda_julia_async};

extern "C" const bf_backend bf_backend_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .set_stream = set_stream,
    .synchronize = synchronize,
    .memory = &memory_backend,
    .reduce = &reduce_backend,
    .map = &map_backend,
    .histogram = &histogram_backend,
    .table = &bf_cuda_tables_backend,
    .group = &bf_cuda_groups_backend,
    .julia = &julia_backend,
};
