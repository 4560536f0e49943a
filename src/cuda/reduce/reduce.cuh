/* Reductions on a GPU: the parameters of kernels. kernel.cuh has the kernel; sum_*.cuh, extreme.cuh
 * and product.cuh have its loops; product_tree.cuh has products of floats. */
#ifndef BF_CUDA_REDUCE_REDUCE_CUH
#define BF_CUDA_REDUCE_REDUCE_CUH

#include "cuda/runtime/grid.cuh"
#include "cuda/runtime/mailbox.cuh"

extern "C" {
#include "seam/reduce.h"
}

extern const bf_reduce_backend bf_cuda_reduce_backend;

enum {
    BF_CUDA_THREADS = 512, /* most of a block */
    BF_CUDA_BLOCKS = 1024, /* most of a grid */
    BF_CUDA_PACKETS = 40   /* most of a block */
};

/* The scratch in which blocks of a launch publish their results; zero between launches. */
struct bf_cuda_scratch {
    unsigned ticket;
    unsigned unused[31];
    /* Words of a sum, to which blocks add terms that fit no window. */
    int64_t words[BF_SUM_WORDS_MAX];
    bf_cuda_packet slots[BF_CUDA_PACKETS][BF_CUDA_BLOCKS];
};

static_assert((int)BF_CUDA_LETTER_WORDS >= 2 * (int)BF_CUDA_PACKETS + 1,
              "a letter has room for all packets");
static_assert((int)BF_CUDA_LETTER_PLAIN >= (int)BF_SUM_WORDS_MAX,
              "a letter has room for all words");

struct bf_cuda_computed; /* cuda/runtime/computed.cuh */

/* The result that is wanted: see rules/reduce/result.h. */
struct bf_cuda_request {
    bf_reduction op;
    bf_dtype dtype;
    bf_nan_policy nan;
    bf_dtype out_dtype;
    int ddof;
    bf_overflow_policy overflow;
};

struct bf_cuda_params {
    const void *a, *b;
    const bf_cuda_computed *program; /* the host's, for elements that are computed; else NULL */
    int64_t count;
    int64_t bytes; /* the size of a, and of b */
    int64_t index; /* where a[0] is */
    int tables;    /* how many of cuda/reduce/sum_by_exponent.cuh are in a block's shared memory */
    int shared_before; /* bytes of it before those of extras */
    bool early;        /* elements exist before the launch before this one has ended */
    bf_cuda_scratch *scratch;
    bf_cuda_letter *letter; /* where the state's parts go */
    uint32_t number;        /* the letter's */
    bf_value *value;        /* where the result goes, if this is not NULL */
    bf_cuda_request request;
};

#endif
