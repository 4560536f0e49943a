/* A context on a GPU: the state that all files of this backend share. Each primitive declares its
 * own in P/P.cuh, and keeps its state between calls in parts of workspaces (workspace.cuh). */
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
    /* The number of the stream in use, because handles are used again; 0: not known yet. */
    unsigned long long stream_id;
    unsigned long long capture; /* the capture that the call at hand is part of; 0: none */
    uint64_t calls;             /* calls so far; a change of the stream counts as one */
    struct bf_cuda_workspace *workspaces, *order; /* workspace.cu has them: all, and the order's */
    struct bf_cuda_mailbox *mailbox;              /* mailbox.cu has it */
    struct bf_cuda_kernels *kernels;              /* launch.cu has it */
    struct bf_cuda_ring *ring;                    /* pipeline.cu has it; NULL until needed */
    void *scratch;         /* memory.cu has it: bf_cuda_copy_scratch; NULL until needed */
    cudaMemPool_t pool;    /* memory.cu has it; NULL until one needs memory */
    int holders;           /* objects that hold the pool */
    struct bf_link *links; /* comm.cu has them: to other ranks */
};

/* Sets the message of a CUDA error and clears the error. Returns BF_E_MEMORY or BF_E_DEVICE. */
bf_status bf_cuda_fail(bf_context *context, cudaError_t error, const char *what);
/* Reports an error, and returns BF_OK if there is none. */
bf_status bf_cuda_check(bf_context *context, cudaError_t error, const char *what);

/* Waits for the stream in use, unless `error` is set already. */
bf_status bf_cuda_wait(bf_context *context, cudaError_t error, const char *what);

/* Returns whether kernels of this context can read and write p in place. Elements of `align` bytes
 * must be aligned. Pageable host memory and misaligned elements go through the pipeline
 * (pipeline.cuh). */
bool bf_cuda_in_place(const bf_context *context, const void *p, int align);

/* Tells so of `bytes` that are read once, but false if copying them is faster: the driver copies
 * much pinned memory at a higher rate than kernels read it. */
bool bf_cuda_best_in_place(const bf_context *context, const void *p, int align, int64_t bytes);

/* Begins a call that may enqueue work on the stream in use: makes the context's device the thread's
 * current one, and lets the stream wait for earlier calls, unless it is being captured. Returns the
 * device to restore, or -1 if it was current. */
int bf_cuda_enter(const bf_context *context);
void bf_cuda_leave(int previous);

/* Only makes the device current, for work on memory that no enqueued call uses. */
int bf_cuda_use_device(const bf_cuda *cuda);

/* Returns BF_E_ARGUMENT, with a message, if the stream is being captured: a call that waits for the
 * GPU would wait for work that does not run. Between enter and leave. */
bf_status bf_cuda_refuse_captured(bf_context *context);

/* As enter and leave, for work on memory that no enqueued call uses. It runs on the context's own
 * stream, because the stream in use may be gone. */
typedef struct bf_cuda_visit {
    int previous;
    cudaStream_t stream;
} bf_cuda_visit;
bf_cuda_visit bf_cuda_enter_idle(const bf_context *context);
void bf_cuda_leave_idle(const bf_context *context, bf_cuda_visit visit);

#endif
