/* Element-wise operations: what their kernels are given, and where to find them. */
#ifndef BF_CUDA_MAP_MAP_CUH
#define BF_CUDA_MAP_MAP_CUH

#include "rules/map/dtype.h"

extern "C" {
#include "seam/map.h"
}

extern const bf_map_backend bf_cuda_map_backend;

/* Returns the failure that an enqueued operation left, if any; called when the stream has been
 * waited for. */
bf_status bf_cuda_map_failure(bf_context *context);

enum {
    BF_CUDA_MAP_THREADS = 256,
    BF_CUDA_MAP_ELEMENTS = 4 /* of a thread, in the kernels that take single elements */
};

struct bf_cuda_map_params {
    const void *in[3];
    uint64_t value[3]; /* of a single input whose pointer is NULL: its element's bits, as `work` */
    bool single[3];
    bf_dtype from[3];
    void *out;
    bf_dtype to;
    bf_map_op op; /* BF_MAP_EQ stands for all comparisons */
    int arity;
    bool saturate, refuse_zero;
    unsigned relations; /* of a comparison: see operation.cuh */
    int64_t count;
    int64_t head;    /* elements before the first whole vector, */
    int64_t vectors; /* how many of those there are, */
    int per_thread;  /* and how many a thread takes */
    /* Where the least failing index goes, shifted up by 8, with `code` below; NULL: none matters.
     */
    unsigned long long *failed;
    int64_t index; /* of out[0], there */
    unsigned code;
};

/* Kernels for inputs of dtype `work` that lie as vectors do: all are 16-byte aligned after the same
 * number of elements. NULL: there is no such operation. A block takes per_thread (1 or what
 * bf_cuda_map_vectors says) vectors a thread. */
const void *bf_cuda_map_vector_kernel(bf_map_op op, bf_dtype work);

/* For inputs of any dtypes, cast to `work`; and for casts of one. */
const void *bf_cuda_map_mixed_kernel(bf_dtype work);
const void *bf_cuda_map_cast_kernel(bf_dtype from);

/* Vectors that a thread takes of a large array: one where memory alone sets the pace, several where
 * a thread has more to do. */
constexpr int bf_cuda_map_vectors(bf_map_op op, bool floats, int bytes) {
    bool light = floats && (op <= BF_MAP_MUL || op == BF_MAP_NEG || op == BF_MAP_ABS);
    return light ? 1 : bytes >= 2 ? 4 : 2;
}

#endif
