/* The CUDA backend's table: contexts, streams, memory. */
#include "grid.cuh"
#include "group.cuh"
#include "tree.cuh"

extern "C" {
#include "../where.h"
}

#include <stdlib.h>

bf_status bf_cuda_fail(bf_context *context, cudaError_t error, const char *what) {
    cudaGetLastError(); /* errors of a launch or an allocation do not last */
    bf_status status = error == cudaErrorMemoryAllocation ? BF_E_MEMORY : BF_E_DEVICE;
    return bf_fail(context, status, "%s: %s", what, cudaGetErrorString(error));
}

/* -1: it was the current one already. */
int bf_cuda_enter(const bf_context *context) {
    int previous = 0;
    context->cuda->chain.is_last = false;
    cudaGetDevice(&previous);
    if (previous == context->cuda->device) return -1;
    cudaSetDevice(context->cuda->device);
    return previous;
}

void bf_cuda_leave(int previous) {
    if (previous >= 0) cudaSetDevice(previous);
}

/* --- memory --- */

bool bf_cuda_in_place(const bf_context *context, const void *p, int align) {
    int device = context->cuda->device;
    bf_where where = bf_where_is(p, &device);
    bool elsewhere = where == BF_WHERE_DEVICE && device != context->cuda->device;
    return (uintptr_t)p % (unsigned)align == 0 && where != BF_WHERE_HOST && !elsewhere;
}

cudaError_t bf_cuda_make(void **memory, size_t bytes) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaStream_t clearing = NULL;
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaError_t error = cudaMalloc(memory, bytes);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&clearing, cudaStreamNonBlocking);
    if (error == cudaSuccess) error = cudaMemsetAsync(*memory, 0, bytes, clearing);
    if (error == cudaSuccess) error = cudaStreamSynchronize(clearing);
    if (clearing != NULL) cudaStreamDestroy(clearing);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return error;
}

/* As bf_cuda_make, but not cleared and outside of captures; NULL, with a message, if there is none.
 */
static char *buffer(bf_context *context, char **kept, size_t bytes, const char *what) {
    if (*kept != NULL) return *kept;
    cudaError_t error = cudaMalloc((void **)kept, bytes);
    if (error == cudaSuccess) return *kept;
    *kept = NULL;
    bf_cuda_fail(context, error, what);
    return NULL;
}

char *bf_cuda_staging(bf_context *context, int part) {
    return buffer(context, &context->cuda->staging[part], BF_CUDA_STAGING, "staging memory");
}

static void *scratch(bf_context *context) {
    int previous = bf_cuda_enter(context);
    void *memory = buffer(context, &context->cuda->gathered, BF_CUDA_GATHERED, "scratch memory");
    bf_cuda_leave(previous);
    return memory;
}

static void *allocate(bf_context *context, size_t bytes) {
    void *memory = NULL;
    int previous = bf_cuda_enter(context);
    cudaError_t error = cudaMalloc(&memory, bytes);
    if (error != cudaSuccess) bf_cuda_fail(context, error, "allocating device memory");
    bf_cuda_leave(previous);
    return error == cudaSuccess ? memory : NULL;
}

static void release(bf_context *context, void *memory) {
    int previous = bf_cuda_enter(context);
    cudaFree(memory);
    bf_cuda_leave(previous);
}

static bf_status copy(bf_context *context, void *to, const void *from, size_t bytes) {
    cudaStream_t stream = context->cuda->stream;
    int previous = bf_cuda_enter(context);
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    bf_status status = error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "a copy");
    bf_cuda_leave(previous);
    return status;
}

/* --- workspaces --- */

static cudaError_t make_workspace(bf_cuda_workspace **made, unsigned long long capture) {
    bf_cuda_workspace *w = (bf_cuda_workspace *)calloc(1, sizeof *w);
    if (w == NULL) return cudaErrorMemoryAllocation;
    w->capture = capture;
    cudaError_t error = bf_cuda_make((void **)&w->scratch, sizeof *w->scratch);
    if (error == cudaSuccess)
        *made = w;
    else
        free(w);
    return error;
}

bf_cuda_workspace *bf_cuda_workspace_of(bf_context *context) {
    bf_cuda *cuda = context->cuda;
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaError_t error = cudaSuccess;
    if (cuda->stream != cuda->own) /* which nobody can capture */
        error = cudaStreamGetCaptureInfo(cuda->stream, &capturing, &id);
    if (capturing != cudaStreamCaptureStatusActive) id = 0;
    bf_cuda_workspace *w = cuda->workspaces;
    while (w != NULL && w->capture != id) w = w->next;
    if (error == cudaSuccess && w == NULL) {
        error = make_workspace(&w, id);
        if (error == cudaSuccess) {
            w->next = cuda->workspaces->next;
            cuda->workspaces->next = w;
        }
    }
    if (error == cudaSuccess) return w;
    bf_cuda_fail(context, error, "scratch memory");
    return NULL;
}

/* --- streams --- */

static bf_status set_stream(bf_context *context, void *stream) {
    bf_cuda *cuda = context->cuda;
    cudaStream_t next = stream != NULL ? (cudaStream_t)stream : cuda->own;
    if (next == cuda->stream) return BF_OK;
    int previous = bf_cuda_enter(context);
    cudaStreamCaptureStatus from = cudaStreamCaptureStatusNone, to = from;
    cudaError_t error = cudaStreamIsCapturing(cuda->stream, &from);
    if (error == cudaSuccess) error = cudaStreamIsCapturing(next, &to);
    /* A graph has a workspace of its own, and waits for what its owner makes it wait for. */
    bool wait = from == cudaStreamCaptureStatusNone && to == cudaStreamCaptureStatusNone;
    if (error == cudaSuccess && wait) error = cudaEventRecord(cuda->moved, cuda->stream);
    if (error == cudaSuccess && wait) error = cudaStreamWaitEvent(next, cuda->moved, 0);
    if (error == cudaSuccess) cuda->stream = next;
    bf_status status = error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "set_stream");
    bf_cuda_leave(previous);
    return status;
}

static bf_status synchronize(bf_context *context) {
    int previous = bf_cuda_enter(context);
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    bf_status status = error == cudaSuccess ? bf_cuda_map_failure(context)
                                            : bf_cuda_fail(context, error, "synchronize");
    bf_cuda_leave(previous);
    return status;
}

/* --- opening and closing --- */

static void free_workspaces(bf_cuda *cuda) {
    for (bf_cuda_workspace *w = cuda->workspaces, *next; w != NULL; w = next) {
        next = w->next;
        cudaFree(w->scratch);
        cudaFree(w->tree);
        free(w);
    }
}

static void close_cuda(bf_context *context) {
    bf_cuda *cuda = context->cuda;
    if (cuda == NULL) return;
    int previous = bf_cuda_enter(context);
    if (cuda->stream != cuda->own) cudaStreamSynchronize(cuda->stream);
    if (cuda->own != NULL) cudaStreamSynchronize(cuda->own);
    for (int i = 0; i < 4; i++) cudaFree(cuda->staging[i]);
    cudaFree(cuda->gathered);
    cudaFreeHost(cuda->mail);
    cudaFreeHost(cuda->failed);
    bf_cuda_histogram_close(cuda);
    bf_cuda_group_close(cuda);
    bf_cuda_pool_close(cuda);
    free_workspaces(cuda);
    if (cuda->moved != NULL) cudaEventDestroy(cuda->moved);
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

static cudaError_t set_up(bf_cuda *cuda) {
    cudaError_t error = ask(cuda);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&cuda->own, cudaStreamNonBlocking);
    cuda->stream = cuda->own;
    if (error == cudaSuccess)
        error = cudaEventCreateWithFlags(&cuda->moved, cudaEventDisableTiming);
    if (error == cudaSuccess)
        error = cudaHostAlloc((void **)&cuda->mail, sizeof *cuda->mail,
                              cudaHostAllocMapped | cudaHostAllocPortable);
    if (error == cudaSuccess) memset((void *)cuda->mail, 0, sizeof *cuda->mail);
    if (error == cudaSuccess) error = make_workspace(&cuda->workspaces, 0);
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
    if (error == cudaSuccess) error = set_up(cuda);
    bf_cuda_leave(previous);
    if (error == cudaSuccess) return BF_OK;
    bf_status status = bf_cuda_fail(context, error, options->device);
    close_cuda(context);
    return status;
}

extern "C" const bf_backend bf_backend_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .reduce = bf_cuda_reduce,
    .reduce_async = bf_cuda_reduce_async,
    .map = bf_cuda_map,
    .map_async = bf_cuda_map_async,
    .histogram = bf_cuda_histogram,
    .histogram_async = bf_cuda_histogram_async,
    .gather = bf_cuda_gather,
    .scatter = bf_cuda_scatter,
    .scratch = scratch,
    .scratch_bytes = BF_CUDA_GATHERED,
    .allocate = allocate,
    .release = release,
    .copy = copy,
    .julia = bf_cuda_julia,
    .julia_async = bf_cuda_julia_async,
    .set_stream = set_stream,
    .synchronize = synchronize,
    .tables = &bf_cuda_tables_backend,
    .groups = &bf_cuda_groups_backend,
};
