/* Element-wise operations: their kernels, and the parameters of these. */
#ifndef BF_CUDA_MAP_MAP_CUH
#define BF_CUDA_MAP_MAP_CUH

#include "rules/map/dtype.h"

extern "C" {
#include "seam/map.h"
}

extern const bf_map_backend bf_cuda_map_backend;

/* Returns the failure of an earlier enqueued operation, if there is one. The stream has been waited
 * for. */
bf_status bf_cuda_map_failure(bf_context *context);

enum {
    BF_CUDA_MAP_THREADS = 256,
    BF_CUDA_MAP_ELEMENTS = 4 /* elements of a thread, in the kernels that take single elements */
};

struct bf_cuda_map_params {
    const void *in[3];
    uint64_t value[3]; /* the bits, as `work`, of a single input whose pointer is NULL */
    bool single[3];
    bf_dtype from[3];
    void *out;
    bf_dtype to;
    bf_map_op op; /* BF_MAP_EQ stands for all comparisons */
    int arity;
    bool saturate, refuse_zero;
    unsigned relations; /* a comparison's: see operation.cuh */
    int64_t count;
    int64_t head;    /* elements before the first whole vector */
    int64_t vectors; /* whole vectors */
    int per_thread;  /* vectors that a thread takes */
    /* The least failing index, shifted up by 8, with `code` below; NULL: nothing can fail. */
    unsigned long long *failed;
    int64_t index; /* the index of out[0] */
    unsigned code;
};

/* Return the kernel for inputs of dtype `work` whose vectors are all 16-byte aligned after the same
 * number of elements. A thread takes per_thread vectors: 1, or bf_cuda_map_vectors(). NULL: there
 * is no such operation. */
const void *bf_cuda_map_vector_kernel(bf_map_op op, bf_dtype work);

/* Return the kernel for inputs of any dtypes, cast to `work`; and for casts of one input. */
const void *bf_cuda_map_mixed_kernel(bf_dtype work);
const void *bf_cuda_map_cast_kernel(bf_dtype from);

/* Returns the vectors that a thread takes of a large array: one if only memory limits the
 * operation, several if a thread has more to compute. */
constexpr int bf_cuda_map_vectors(bf_map_op op, bool floats, int bytes) {
    bool light = floats && (op <= BF_MAP_MUL || op == BF_MAP_NEG || op == BF_MAP_ABS);
    return light ? 1 : bytes >= 2 ? 4 : 2;
}

#endif
