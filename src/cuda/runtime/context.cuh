/* The CUDA backend's parts. One file per primitive, as in src/cpu; each reads: device helpers,
 * kernel, launcher, entry. */
#ifndef BF_CUDA_RUNTIME_CONTEXT_CUH
#define BF_CUDA_RUNTIME_CONTEXT_CUH

#include <cuda_runtime.h>

extern "C" {
#include "seam/backend.h"
#include "seam/group.h"
#include "seam/histogram.h"
#include "seam/julia.h"
#include "seam/map.h"
#include "seam/memory.h"
#include "seam/reduce.h"
#include "seam/table.h"
}

/* Reductions that were enqueued one after another, and nothing between. All else on the GPU had
 * ended before the second of them began, so that from then on elements may be read while the
 * reduction before is still at work; unless they lie among the chain's own values. */
typedef struct bf_cuda_chain {
    bool is_last;          /* nothing was enqueued since */
    uintptr_t values, end; /* where its values lie; none: both 0 */
} bf_cuda_chain;

typedef struct bf_cuda_workspace bf_cuda_workspace; /* of workspace.cuh */

/* A context's part of the backend. */
struct bf_cuda {
    int device, multiprocessors;
    int major, minor;         /* compute capability */
    int shared;               /* most bytes of shared memory of a block that asks for it */
    cudaStream_t own, stream; /* the context's stream, and the one in use */
    /* The number of the stream in use, for handles are used again; 0: not known yet. */
    unsigned long long stream_id;
    unsigned long long capture;    /* of the call at hand: the capture it is part of; 0: none */
    bf_cuda_workspace *workspaces; /* all of them; of workspace.cu */
    bf_cuda_workspace *order;      /* that of the calls that are not captured */
    struct bf_cuda_mail *mail;     /* mapped pinned memory: kernels write, the host reads */
    uint32_t sent;                 /* the number of the last mail that was asked for */
    bf_cuda_chain chain;
    struct bf_cuda_ring *ring;                   /* of pipeline.cu; NULL until needed */
    void *scratch;                               /* bf_cuda_copy_scratch; NULL until needed */
    unsigned long long *failed;                  /* of map.cu */
    int64_t *counts;                             /* of histogram.cu; NULL until one is asked for */
    cudaMemPool_t pool;                          /* of tables; NULL until one needs memory */
    int tables;                                  /* that there are, and groups */
    unsigned long long *group_mail, *group_read; /* of mailbox.cu; NULL until needed */
};

enum { BF_CUDA_COPY_SCRATCH = 1 << 26 };

/* --- cuda.cu: the context, and where memory is --- */

/* Reports a CUDA error as a status with a message: BF_E_MEMORY or BF_E_DEVICE. Clears the error. */
bf_status bf_cuda_fail(bf_context *context, cudaError_t error, const char *what);

/* Can kernels of this context read (and write) p, in place? Elements of `align` bytes must be
 * aligned. Pageable host memory and misaligned elements go through the pipeline (pipeline.cuh). */
bool bf_cuda_in_place(const bf_context *context, const void *p, int align);

/* Device memory of BF_CUDA_COPY_SCRATCH, kept for later calls: for copies of what is not
 * contiguous. NULL: no memory, with a message. */
void *bf_cuda_copy_scratch(bf_context *context);

/* The device of the context is the thread's current one between these, as far as the runtime's
 * calls go; leaving restores the caller's. Entering prepares a call for the stream in use: it ends
 * a chain of reductions, finds out whether the stream is being captured, and if it is not, lets it
 * wait for the context's earlier calls. */
int bf_cuda_enter(const bf_context *context);
void bf_cuda_leave(int previous);

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

/* --- reduce.cu, sum_*.cu, extreme.cu, cuda/reduce/product.cu, cuda/reduce/product_tree.cu --- */

bf_status bf_cuda_reduce(bf_context *context, const bf_job *job, int64_t *words);
bf_status bf_cuda_reduce_async(bf_context *context, const bf_job *job,
                               const bf_reduce_options *options, bf_value *value);

/* --- map.cu --- */

bf_status bf_cuda_map(bf_context *context, const bf_map_job *job);
bf_status bf_cuda_map_async(bf_context *context, const bf_map_job *job);
/* The failure that map_async left, if any; called when the stream has been waited for. */
bf_status bf_cuda_map_failure(bf_context *context);

/* --- histogram.cu --- */

bf_status bf_cuda_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts,
                            int64_t *sums);
bf_status bf_cuda_histogram_async(bf_context *context, const bf_bin_job *job, int64_t *counts);

/* --- julia.cu --- */

bf_status bf_cuda_julia(bf_context *context, const bf_julia_job *job);
bf_status bf_cuda_julia_async(bf_context *context, const bf_julia_job *job);

/* --- table.cu, memory.cu --- */

extern const bf_table_backend bf_cuda_tables_backend;
/* Gives unused memory of the pool back. */
void bf_cuda_pool_trim(bf_cuda *cuda);
void bf_cuda_pool_close(bf_cuda *cuda);

/* --- mailbox.cu --- */

void bf_cuda_group_close(bf_cuda *cuda);

/* --- strided.cu --- */

bf_status bf_cuda_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                         void *to);
bf_status bf_cuda_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                          const void *from);

#endif
