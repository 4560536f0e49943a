/* Workspaces: memory that kernels leave ready for the kernels after them.
 *
 * Two kernels that may run at the same time must not share one: each would draw the other's tickets
 * and wait for ever. So a workspace belongs to an order:
 *
 * - The context's calls are one order. Its workspace goes with it from stream to stream, and the
 * new stream waits for the old one.
 *
 * - A CUDA graph runs whenever it is launched. All that a capture enqueues on one stream is an
 * order of its own, until the graph and all its executables are destroyed. */
#ifndef BF_CUDA_RUNTIME_WORKSPACE_CUH
#define BF_CUDA_RUNTIME_WORKSPACE_CUH

#include "cuda/runtime/context.cuh"

/* A kind of part: memory that a file keeps in each workspace, known by its address. A part without
 * a size is device memory, all zero when it is new. Others are host memory of that size, zero at
 * first. */
typedef struct bf_cuda_part_kind {
    size_t bytes;
    void (*free)(void *part); /* frees what the part owns; NULL: nothing */
} bf_cuda_part_kind;

typedef struct bf_cuda_part {
    const bf_cuda_part_kind *kind;
    void *memory;
    size_t bytes;
    bool outgrown; /* a larger one replaced it, but a graph still uses it */
    struct bf_cuda_part *next;
} bf_cuda_part;

typedef struct bf_cuda_workspace {
    bf_cuda_part *parts;
    unsigned long long stream;  /* an order's: the number of its stream */
    cudaStream_t captured;      /* a graph's: the stream that was captured */
    unsigned long long capture; /* the number of the capture; 0: not a graph's */
    cudaEvent_t tail;           /* an order's: its end when it left a stream */
    bool busy;                  /* calls were enqueued since then */
    int owners; /* the context, and a graph until it is destroyed; the last one frees this */
    struct bf_cuda_workspace *next;
} bf_cuda_workspace;

/* Returns the workspace of the call at hand, for the stream in use. NULL: no memory, with a
 * message. */
bf_cuda_workspace *bf_cuda_workspace_of(bf_context *context);

/* Returns its part of a kind; device memory has at least so many bytes. NULL: no memory, with a
 * message. */
void *bf_cuda_workspace_part(bf_context *context, bf_cuda_workspace *w,
                             const bf_cuda_part_kind *kind, size_t bytes);

/* Makes the first workspace. */
cudaError_t bf_cuda_workspaces_open(bf_cuda *cuda);
void bf_cuda_workspaces_close(bf_cuda *cuda);

/* Frees the workspaces of destroyed graphs, except one spare. */
void bf_cuda_workspaces_sweep(bf_cuda *cuda);

/* Finds out whether the stream in use is being captured. If it is not, the order joins it, and the
 * stream waits for the order's old one. */
cudaError_t bf_cuda_order_follow(bf_cuda *cuda);

/* Lets the order leave the stream in use, so that another can wait for it; not if that is being
 * captured. */
void bf_cuda_order_leave(bf_cuda *cuda);

/* Between these a thread may make calls that a capture of a stream forbids otherwise. */
cudaStreamCaptureMode bf_cuda_relax(void);
void bf_cuda_restore(cudaStreamCaptureMode mode);

/* Allocates device memory, all zero; also while a stream is captured. */
cudaError_t bf_cuda_alloc_cleared(void **memory, size_t bytes);

#endif
