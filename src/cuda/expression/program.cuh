/* A program as the kernel takes it, and the kernel. */
#ifndef BF_CUDA_EXPRESSION_PROGRAM_CUH
#define BF_CUDA_EXPRESSION_PROGRAM_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/expression.h"
}

enum {
    BF_CUDA_EXPRESSION_THREADS = 256,
    BF_CUDA_EXPRESSION_FEW = 16,    /* registers that a thread keeps itself */
    BF_CUDA_EXPRESSION_COLUMNS = 8, /* so many are among the parameters */
    BF_CUDA_EXPRESSION_STEP_BITS = 13
};

/* An input or output of a step. */
struct bf_cuda_place {
    uint8_t kind;    /* bf_expression_kind */
    uint16_t number; /* up to BF_EXPRESSION_REGISTERS: the result */
};

/* A step. The result is register number `registers`. */
struct bf_cuda_step {
    uint8_t op, arity;
    uint8_t relations; /* a comparison's: see cuda/map/operation.cuh */
    bool refuse_zero;
    uint8_t work, from[3]; /* bf_dtype */
    bf_cuda_place in[3], out, guard;
};

struct bf_cuda_column {
    const void *data;     /* contiguous, aligned elements */
    const uint8_t *valid; /* as of bf_expression_column */
    int64_t first;
    int bytes; /* the size of an element */
};

/* Elements to compute. All memory is the GPU's. */
struct bf_cuda_expression_params {
    const bf_cuda_step *steps;
    const bf_cuda_column *columns; /* NULL: they are these */
    bf_cuda_column column[BF_CUDA_EXPRESSION_COLUMNS];
    const uint64_t *constants;
    int step_count, registers;
    bool refuses;   /* an integer that does not fit fails */
    bool saturates; /* it is the nearest; else it wraps */
    int64_t count;
    void *out;
    int out_bytes;
    uint8_t *valid; /* one for each result; NULL: there must be no NULL */
    /* The least failing element, shifted up by BF_CUDA_EXPRESSION_STEP_BITS, and its step, or
     * BF_EXPRESSION_STEPS: its result is NULL. */
    unsigned long long *failed;
    /* Registers of all threads, if each has more than a few: [register][thread]. */
    uint64_t *bits;
    uint8_t *filled;
};

/* Returns the kernel for programs with so many registers. It takes any number of blocks. */
const void *bf_cuda_expression_kernel(bool few);

#endif
