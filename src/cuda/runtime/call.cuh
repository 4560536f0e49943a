/* Calls whose memory is where kernels reach it until they end, and which wait. */
#ifndef BF_CUDA_RUNTIME_CALL_CUH
#define BF_CUDA_RUNTIME_CALL_CUH

#include "cuda/runtime/context.cuh"

enum { BF_CUDA_CALL_MEMORIES = 160, BF_CUDA_CALL_RESULTS = 66 };

/* A call: the memory that it has taken, and results that are to be copied when it ends. */
struct bf_cuda_call {
    bf_context *context;
    int previous, memories, results;
    bool queued; /* the end waits for results that it copies alone */
    void *memory[BF_CUDA_CALL_MEMORIES];
    struct {
        void *to;
        const void *from;
        size_t bytes;
    } result[BF_CUDA_CALL_RESULTS];
};

/* Every call begins and ends with these; one that the host never waits for is queued, and may be
 * captured. The end copies results if status is BF_OK, waits for the
 * stream, frees the call's memory, and returns the status. */
bf_status bf_cuda_call_begin(bf_cuda_call *call, bf_context *context, bool queued = false);
bf_status bf_cuda_call_end(bf_cuda_call *call, bf_status status);

/* Returns memory that lasts until the call ends. NULL: none, with a message. */
void *bf_cuda_call_alloc(bf_cuda_call *call, size_t bytes);

/* Frees all memory of the call but what it had when it had so many. */
void bf_cuda_call_free(bf_cuda_call *call, int memories);

/* Sets *at to where kernels reach these bytes, whose elements have this alignment: to where they
 * are, or to a copy. */
bf_status bf_cuda_call_read(bf_cuda_call *call, const void *from, size_t bytes, int align,
                            const void **at);
/* Sets *at to where kernels write a result: `to`, or memory that is copied there when the call
 * ends. NULL for NULL. */
bf_status bf_cuda_call_write(bf_cuda_call *call, void *to, size_t bytes, int align, void **at);

/* Finds memory that the call changes, where kernels reach it. */
bf_status bf_cuda_call_update(bf_cuda_call *call, void *memory, size_t bytes, int align, void **at);

#endif
