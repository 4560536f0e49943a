/* Workspaces: which one a call gets, and how long it lasts. */
#include "cuda/runtime/workspace.cuh"

#include <stdlib.h>

/* --- memory --- */

cudaStreamCaptureMode bf_cuda_relax(void) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void bf_cuda_restore(cudaStreamCaptureMode mode) { cudaThreadExchangeStreamCaptureMode(&mode); }

cudaError_t bf_cuda_alloc_cleared(void **memory, size_t bytes) {
    cudaStream_t clearing = NULL;
    cudaStreamCaptureMode mode = bf_cuda_relax();
    cudaError_t error = cudaMalloc(memory, bytes);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&clearing, cudaStreamNonBlocking);
    if (error == cudaSuccess) error = cudaMemsetAsync(*memory, 0, bytes, clearing);
    if (error == cudaSuccess) error = cudaStreamSynchronize(clearing);
    if (clearing != NULL) cudaStreamDestroy(clearing);
    bf_cuda_restore(mode);
    return error;
}

/* Frees device memory; waits for all that the GPU does. */
static void free_memory(void *memory) {
    cudaStreamCaptureMode mode = bf_cuda_relax();
    cudaFree(memory);
    bf_cuda_restore(mode);
}

/* --- parts --- */

static void free_part(bf_cuda_part *part) {
    if (part->kind->bytes == 0) {
        free_memory(part->memory);
    } else {
        if (part->kind->free != NULL) part->kind->free(part->memory);
        free(part->memory);
    }
    free(part);
}

/* Retires a part that is too small. A graph may run again with it: then it stays as long as the
 * graph. */
static void retire_part(bf_cuda_workspace *w, bf_cuda_part *old) {
    old->outgrown = true;
    if (w->capture != 0) return;
    bf_cuda_part **at = &w->parts;
    while (*at != old) at = &(*at)->next;
    *at = old->next;
    free_part(old);
}

static bf_cuda_part *find_part(const bf_cuda_workspace *w, const bf_cuda_part_kind *kind) {
    bf_cuda_part *part = w->parts;
    while (part != NULL && (part->kind != kind || part->outgrown)) part = part->next;
    return part;
}

static cudaError_t add_part(bf_cuda_workspace *w, const bf_cuda_part_kind *kind, size_t bytes) {
    bf_cuda_part *part = (bf_cuda_part *)calloc(1, sizeof *part);
    if (part == NULL) return cudaErrorMemoryAllocation;
    cudaError_t error = cudaSuccess;
    if (kind->bytes == 0)
        error = bf_cuda_alloc_cleared(&part->memory, bytes);
    else if ((part->memory = calloc(1, kind->bytes)) == NULL)
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess) {
        free(part);
        return error;
    }
    part->kind = kind;
    part->bytes = bytes;
    part->next = w->parts;
    w->parts = part;
    return cudaSuccess;
}

void *bf_cuda_workspace_part(bf_context *context, bf_cuda_workspace *w,
                             const bf_cuda_part_kind *kind, size_t bytes) {
    bf_cuda_part *part = find_part(w, kind);
    if (part != NULL && (kind->bytes > 0 || part->bytes >= bytes)) return part->memory;
    if (part != NULL) retire_part(w, part); /* there may not be room for both */
    cudaError_t error = add_part(w, kind, bytes);
    if (error == cudaSuccess) return w->parts->memory;
    bf_cuda_fail(context, error, "scratch memory");
    return NULL;
}

/* --- lifetimes --- */

/* Drops an owner; the last one frees what the host has. The driver calls it, too, when a graph is
 * destroyed and has run; it may not call CUDA. */
static void CUDART_CB release_workspace(void *workspace) {
    bf_cuda_workspace *w = (bf_cuda_workspace *)workspace;
    if (__atomic_sub_fetch(&w->owners, 1, __ATOMIC_ACQ_REL) > 0) return;
    while (w->parts != NULL) {
        bf_cuda_part *part = w->parts;
        w->parts = part->next;
        if (part->kind->bytes > 0) free(part->memory);
        free(part);
    }
    free(w);
}

/* Returns whether the workspace's graph is destroyed. */
static bool has_ended(const bf_cuda_workspace *w) {
    return w->capture != 0 && __atomic_load_n(&w->owners, __ATOMIC_ACQUIRE) == 1;
}

/* Frees the parts: all, or those that another graph cannot use. */
static void free_parts(bf_cuda_workspace *w, bool all) {
    for (bf_cuda_part **at = &w->parts, *part; (part = *at) != NULL;) {
        if (all || part->outgrown || part->kind->bytes > 0) {
            *at = part->next;
            free_part(part);
        } else {
            at = &part->next;
        }
    }
}

static void free_workspace(bf_cuda_workspace *w) {
    free_parts(w, true);
    if (w->tail != NULL) cudaEventDestroy(w->tail);
    release_workspace(w);
}

static bf_cuda_workspace *add_workspace(bf_cuda *cuda) {
    bf_cuda_workspace *w = (bf_cuda_workspace *)calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->owners = 1;
    w->next = cuda->workspaces;
    cuda->workspaces = w;
    return w;
}

void bf_cuda_workspaces_sweep(bf_cuda *cuda) {
    bool spare = false;
    for (bf_cuda_workspace **at = &cuda->workspaces, *w; (w = *at) != NULL;) {
        bool goes = has_ended(w) && spare;
        spare = spare || has_ended(w);
        if (goes) {
            *at = w->next;
            free_workspace(w);
        } else {
            at = &w->next;
        }
    }
}

/* Graphs that are left keep theirs: they may run again, and when they are destroyed the driver lets
 * nobody free memory of a GPU. */
void bf_cuda_workspaces_close(bf_cuda *cuda) {
    for (bf_cuda_workspace *w; (w = cuda->workspaces) != NULL;) {
        cuda->workspaces = w->next;
        if (w->capture != 0 && !has_ended(w))
            release_workspace(w);
        else
            free_workspace(w);
    }
}

/* --- the order of a context's calls --- */

static cudaError_t add_order(bf_cuda *cuda, bf_cuda_workspace **order) {
    cudaEvent_t tail;
    cudaError_t error = cudaEventCreateWithFlags(&tail, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
    bf_cuda_workspace *w = add_workspace(cuda);
    if (w == NULL) {
        cudaEventDestroy(tail);
        return cudaErrorMemoryAllocation;
    }
    w->tail = tail;
    w->stream = cuda->stream_id;
    *order = w;
    return cudaSuccess;
}

cudaError_t bf_cuda_workspaces_open(bf_cuda *cuda) { return add_order(cuda, &cuda->order); }

/* Returns the capture of the stream in use; 0: none. */
static unsigned long long capture_of(const bf_cuda *cuda) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    if (cuda->stream == cuda->own) return 0; /* nobody can capture it */
    if (cudaStreamGetCaptureInfo(cuda->stream, &status, &id) != cudaSuccess) {
        cudaGetLastError(); /* the legacy stream beside a capture: the launch reports it */
        return 0;
    }
    return status == cudaStreamCaptureStatusActive ? id : 0;
}

/* Finds the stream's number, unless the stream is being captured: then it has none. */
static cudaError_t identify_stream(bf_cuda *cuda) {
    if (cuda->capture != 0 || cuda->stream_id != 0) return cudaSuccess;
    return cudaStreamGetId(cuda->stream, &cuda->stream_id);
}

void bf_cuda_order_leave(bf_cuda *cuda) {
    if (!cuda->order->busy) return;
    cuda->capture = capture_of(cuda);
    if (cuda->capture != 0 || identify_stream(cuda) != cudaSuccess) return;
    for (bf_cuda_workspace *w = cuda->workspaces; w != NULL; w = w->next)
        if (w->capture == 0 && w->busy && w->stream == cuda->stream_id)
            w->busy = cudaEventRecord(w->tail, cuda->stream) != cudaSuccess;
}

/* Returns an order that is not busy on another stream; NULL: none. An order stays busy if its
 * stream was left during a capture, because no event could be recorded there. */
static bf_cuda_workspace *find_order(const bf_cuda *cuda) {
    bf_cuda_workspace *w = cuda->order;
    if (!w->busy) return w;
    for (w = cuda->workspaces; w != NULL; w = w->next)
        if (w->capture == 0 && (!w->busy || w->stream == cuda->stream_id)) return w;
    return NULL;
}

static cudaError_t join_order(bf_cuda *cuda) {
    bf_cuda_workspace *w = find_order(cuda);
    cudaError_t error = w == NULL ? add_order(cuda, &w) : cudaSuccess;
    if (error == cudaSuccess && w->stream != cuda->stream_id)
        error = cudaStreamWaitEvent(cuda->stream, w->tail, 0);
    if (error != cudaSuccess) return error;
    w->stream = cuda->stream_id;
    cuda->order = w;
    return cudaSuccess;
}

cudaError_t bf_cuda_order_follow(bf_cuda *cuda) {
    cuda->capture = capture_of(cuda);
    cudaError_t error = identify_stream(cuda);
    if (error != cudaSuccess || cuda->capture != 0) return error;
    return cuda->order->stream != cuda->stream_id ? join_order(cuda) : cudaSuccess;
}

/* --- the workspace of a call --- */

/* Makes the graph an owner of the workspace. */
static cudaError_t hand_to_graph(const bf_cuda *cuda, bf_cuda_workspace *w) {
    cudaStreamCaptureStatus status;
    unsigned long long id;
    cudaGraph_t graph = NULL;
    cudaUserObject_t object;
    cudaError_t error = cudaStreamGetCaptureInfo(cuda->stream, &status, &id, &graph);
    if (error == cudaSuccess)
        error =
            cudaUserObjectCreate(&object, w, release_workspace, 1, cudaUserObjectNoDestructorSync);
    if (error != cudaSuccess) return error;
    w->owners = 2;
    error = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
    if (error != cudaSuccess) cudaUserObjectRelease(object, 1);
    return error;
}

static bf_cuda_workspace *find_captured(const bf_cuda *cuda) {
    bf_cuda_workspace *w = cuda->workspaces;
    while (w != NULL &&
           !(w->capture == cuda->capture && w->captured == cuda->stream && !has_ended(w)))
        w = w->next;
    return w;
}

/* Gets a workspace for a capture: a spare, or a new one. */
static cudaError_t add_captured(bf_cuda *cuda, bf_cuda_workspace **made) {
    bf_cuda_workspaces_sweep(cuda);
    bf_cuda_workspace *w = cuda->workspaces;
    while (w != NULL && !has_ended(w)) w = w->next;
    if (w == NULL) w = add_workspace(cuda);
    if (w == NULL) return cudaErrorMemoryAllocation;
    free_parts(w, false);
    w->captured = cuda->stream;
    w->capture = cuda->capture;
    *made = w;
    return hand_to_graph(cuda, w);
}

bf_cuda_workspace *bf_cuda_workspace_of(bf_context *context) {
    bf_cuda *cuda = context->cuda;
    bf_cuda_workspace *w = cuda->capture != 0 ? find_captured(cuda) : cuda->order;
    cudaError_t error = cudaSuccess;
    if (w == NULL)
        error = add_captured(cuda, &w);
    else if (cuda->capture == 0 && w->stream != cuda->stream_id) /* the order could not join it */
        error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess) return w;
    bf_cuda_fail(context, error, "scratch memory");
    return NULL;
}
