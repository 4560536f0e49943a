/* Expressions of floats and bools as programs of cuda/runtime/computed.cuh. */
#ifndef BF_CUDA_EXPRESSION_COMPUTED_CUH
#define BF_CUDA_EXPRESSION_COMPUTED_CUH

#include "cuda/expression/program.cuh"
#include "cuda/runtime/computed.cuh"

/* A program, of floats if dtype is BF_F32, of doubles if it is BF_F64. */
struct bf_cuda_computed_program {
    bf_cuda_computed steps;
    bf_dtype dtype;
    uint8_t column[BF_CUDA_COMPUTED_COLUMNS]; /* the job's, of each that a step reads */
};

/* Elements to compute, into memory of the GPU's. */
struct bf_cuda_computed_job {
    bf_cuda_computed program;
    int64_t count;
    void *out;
    int out_bytes; /* the size of an element: the program's, or 1, a bool */
    bool aligned;  /* the vectors of `out` behind the head are */
};

/* Translates a job's program. False: it has other dtypes, may have NULLs, or more than fits. */
bool bf_cuda_expression_translate(const bf_expression_job *job, bf_cuda_computed_program *to);

/* Sets where the job's columns are, which are contiguous. */
void bf_cuda_expression_place(bf_cuda_computed_program *program, const bf_cuda_column *columns);

/* Returns the kernel that takes a bf_cuda_computed_job; any number of blocks. Each wants kept_bytes
 * of shared memory. */
const void *bf_cuda_expression_computing(bf_dtype dtype);
int bf_cuda_expression_kept_bytes(const bf_cuda_computed_program *program);

#endif
