/* A context's GPU: what every file of this backend may know of it. Each primitive declares its own
 * in P/P.cuh, and keeps what it needs between calls in parts of workspaces (workspace.cuh). */
#ifndef BF_CUDA_RUNTIME_CONTEXT_CUH
#define BF_CUDA_RUNTIME_CONTEXT_CUH

#include <cuda_runtime.h>

extern "C" {
#include "seam/backend.h"
}

struct bf_cuda {
    int device, multiprocessors;
    int major, minor;         /* compute capability */
    int shared;               /* most bytes of shared memory of a block that asks for it */
    cudaStream_t own, stream; /* the context's stream, and the one in use */
    /* The number of the stream in use, for handles are used again; 0: not known yet. */
    unsigned long long stream_id;
    unsigned long long capture; /* of the call at hand: the capture it is part of; 0: none */
    uint64_t calls;             /* entered so far; a change of the stream counts as one */
    struct bf_cuda_workspace *workspaces, *order; /* of workspace.cu: all, and the calls' own */
    struct bf_cuda_mailbox *mailbox;              /* of mailbox.cu */
    const void **kernels;                         /* of launch.cu */
    struct bf_cuda_ring *ring;                    /* of pipeline.cu; NULL until needed */
    void *scratch;      /* of memory.cu: bf_cuda_copy_scratch; NULL until needed */
    cudaMemPool_t pool; /* of memory.cu; NULL until one needs memory */
    int holders;        /* objects that keep memory of the pool */
};

/* Sets the message of a CUDA error and clears the error. Returns BF_E_MEMORY or BF_E_DEVICE. */
bf_status bf_cuda_fail(bf_context *context, cudaError_t error, const char *what);
/* The same for an error that may be none: BF_OK then. */
bf_status bf_cuda_check(bf_context *context, cudaError_t error, const char *what);

/* Waits for the stream in use, unless `error` is one already. */
bf_status bf_cuda_wait(bf_context *context, cudaError_t error, const char *what);

/* Can kernels of this context read (and write) p, in place? Elements of `align` bytes must be
 * aligned. Pageable host memory and misaligned elements go through the pipeline (pipeline.cuh). */
bool bf_cuda_in_place(const bf_context *context, const void *p, int align);

/* Makes the context's device the thread's current one for a call, which may enqueue work on the
 * stream in use; finds out whether that is being captured and, if it is not, lets it wait for the
 * context's earlier calls. Returns the device to restore, or -1 if it was current. */
int bf_cuda_enter(const bf_context *context);
void bf_cuda_leave(int previous);

/* The device alone, for work on memory that no enqueued call uses. */
int bf_cuda_use_device(const bf_cuda *cuda);

/* Refuses a call that must wait for the GPU (BF_E_ARGUMENT, with a message) on a stream that is
 * being captured: what is captured does not run. For calls between enter and leave. */
bf_status bf_cuda_refuse_captured(bf_context *context);

/* As enter and leave, for work on memory that no enqueued call uses. The stream in use may be gone
 * by then: the context's own takes its place. */
typedef struct bf_cuda_visit {
    int previous;
    cudaStream_t stream;
} bf_cuda_visit;
bf_cuda_visit bf_cuda_enter_idle(const bf_context *context);
void bf_cuda_leave_idle(const bf_context *context, bf_cuda_visit visit);

#endif
