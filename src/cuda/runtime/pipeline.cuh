/* The pipeline: how host memory reaches the GPU, and how results come back.
 *
 * Arrays that kernels reach are used where they are. All others pass through a ring of slots, piece
 * by piece: threads of the host copy pageable memory into a slot's pinned memory, the GPU copies
 * that into the slot's device memory, and kernels work there; results go the other way. The steps
 * of neighbouring pieces overlap. Pinned memory takes milliseconds to make, so that a context has
 * some only when it has copied enough; until then the driver copies. */
#ifndef BF_CUDA_RUNTIME_PIPELINE_CUH
#define BF_CUDA_RUNTIME_PIPELINE_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/memory.h"
}

/* An array of a call. It is read (in) or written (out); the other is NULL. */
typedef struct bf_cuda_operand {
    const void *in;
    void *out;
    int64_t bytes; /* the size of an element */
    int align;     /* the alignment of an element, for kernels; divides bytes */
    void
        *device; /* NULL, or memory of the GPU for all elements: pieces go there, or come from it */
    /* NULL, or how the elements lie in the host's memory, beginning with number `first` of it. */
    const bf_strided *strided;
    int64_t first;
} bf_cuda_operand;

enum { BF_CUDA_OPERANDS = 4 /* at most, of a call */ };

/* Works on elements [first, first + n), on the stream in use: kernels find those of operand i at
 * at[i]. It may wait for the stream, but must use neither the host's threads nor the pipeline. */
typedef bf_status bf_cuda_take_piece(bf_context *context, void *arg, void *const at[],
                                     int64_t first, int64_t n);

/* Has take() take `count` elements of each operand in order, at most `most` at a time, until one
 * call fails. What it enqueues on the stream is complete when the stream has been waited for; after
 * a failure no copy is under way. Not while the stream is captured. Errors: those of take,
 * BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_pipeline(bf_context *context, const bf_cuda_operand *operands, int operand_count,
                           int64_t count, int64_t most, bf_cuda_take_piece *take, void *arg);

/* Copies between memory of any kind; complete when the stream in use has been waited for. Not while
 * that is captured. */
bf_status bf_cuda_copy(bf_context *context, void *to, const void *from, size_t bytes);

/* Gathers elements [first, first + count), of any strides in the host's memory, into contiguous
 * memory of the GPU, or scatters them. Complete on return. */
bf_status bf_cuda_gather_host(bf_context *context, const bf_strided *from, int64_t first,
                              int64_t count, void *to);
bf_status bf_cuda_scatter_host(bf_context *context, const bf_strided *to, int64_t first,
                               int64_t count, const void *from);

/* Frees what the context keeps for it. */
void bf_cuda_pipeline_close(bf_cuda *cuda);

#endif
