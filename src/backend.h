/* The seam between the API and the machines that do the work.
 *
 * A backend takes contiguous elements into the words of a state (src/rules/state.h). It differs
 * from the others in speed, never in result. src/placement.h chooses one for each call. Rules
 * common to all functions:
 * - the API layer has checked every argument: dtypes are known, counts are positive, memory is
 *   contiguous (but maybe misaligned), and the total count stays within BF_COUNT_MAX;
 * - words are carried on entry and on return;
 * - on failure words are as they were, and the context has a message;
 * - a context is used by one thread at a time. */
#ifndef BF_BACKEND_H
#define BF_BACKEND_H

#include "../include/bitfold/array.h"
#include "../include/bitfold/context.h"
#include "../include/bitfold/reduce.h"
#include "rules/state.h"

/* Elements to take into a state. */
typedef struct bf_job {
    bf_reduction op;
    bf_kind kind; /* of op */
    bf_dtype dtype;
    const void *a;
    const void *b; /* BF_KIND_PRODUCTS: the other factor; else NULL */
    int64_t count;
    int64_t index; /* of a[0]; BF_KIND_EXTREME */
} bf_job;

/* Elements to compute from elements: out[i] = op(in[0][i], ...). */
typedef struct bf_map_job {
    bf_map_op op;
    bf_overflow_policy overflow;
    int arity;
    bool refuse_zero; /* BF_MAP_DIV: of integers, where a divisor of 0 is an error */
    bf_dtype work;    /* inputs are cast to this (rounded once), and op computes in it */
    bf_dtype to;      /* of out: work, but BF_BOOL for comparisons */
    bf_dtype from[3];
    const void *in[3];
    bool single[3]; /* one element, which stands for every one */
    void *out;      /* may be an input whose elements are as wide; overlaps none otherwise */
    int64_t count;
    int64_t index; /* of out[0], for messages */
} bf_map_job;

/* Memory of any strides, for what is not contiguous. */
typedef struct bf_strided {
    char *data;
    int bytes; /* of an element */
    int ndim;  /* at least 1 */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAX_DIMS]; /* in elements */
} bf_strided;

/* Functions that may be NULL say so; the API then has an answer of its own. */
typedef struct bf_backend {
    const char *name;
    /* Sets up the context's member for this backend from checked options; errors BF_E_DEVICE,
     * BF_E_MEMORY, with a message. */
    bf_status (*open)(bf_context *context, const bf_options *options);
    /* Frees it; does nothing where it was never opened. */
    void (*close)(bf_context *context);
    /* Takes the job's elements into words. Errors: BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*reduce)(bf_context *context, const bf_job *job, int64_t *words);
    /* Enqueues the whole reduction: *value, in memory that the device can write, becomes what the
     * rules make of the job and the options (all checked; job->count may be 0 here). NULL: there is
     * no queue. */
    bf_status (*reduce_async)(bf_context *context, const bf_job *job,
                              const bf_reduce_options *options, bf_value *value);
    /* Computes job->count elements. Errors: BF_E_OVERFLOW, BF_E_ARGUMENT (division by zero), both
     * with the first index in the message; out may then have been written to. */
    bf_status (*map)(bf_context *context, const bf_map_job *job);
    /* Enqueues it; errors of the data are left to synchronize. NULL: there is no queue. */
    bf_status (*map_async)(bf_context *context, const bf_map_job *job);
    /* Copies elements [first, first + count) of `from`, in C order, to contiguous memory, and back.
     */
    bf_status (*gather)(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                        void *to);
    bf_status (*scatter)(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                         const void *from);
    /* The context's scratch of scratch_bytes, for copies; NULL: no memory, with a message. */
    void *(*scratch)(bf_context *context);
    size_t scratch_bytes;
    /* memory.h; bytes > 0. NULL: no memory, with a message. */
    void *(*allocate)(bf_context *context, size_t bytes);
    void (*release)(bf_context *context, void *memory);
    bf_status (*copy)(bf_context *context, void *to, const void *from, size_t bytes);
    /* context.h. NULL: there is no queue. */
    bf_status (*set_stream)(bf_context *context, void *stream);
    bf_status (*synchronize)(bf_context *context);
} bf_backend;

extern const bf_backend bf_backend_cpu;
#ifdef BITFOLD_CUDA
extern const bf_backend bf_backend_cuda;
#endif

struct bf_context {
    const bf_backend *fixed; /* the device that was asked for by name; NULL: call by call */
    const bf_backend *used;  /* by the last call */
    const char *reason;      /* for that choice; "" if it is fixed */
    struct bf_cpu *cpu;      /* always open: the host's memory is its to walk */
    struct bf_cuda *cuda;    /* NULL: not open */
    char gpu[16];            /* "cuda:0", once it is open */
    bool gpu_failed;         /* to open: it is not tried again */
    char message[160];
};

/* The backend of GPUs; NULL: this build has none. */
const bf_backend *bf_backend_gpu(void);

/* Opens GPU number `device` for the context, if it has none open. Errors: BF_E_DEVICE, BF_E_MEMORY,
 * with a message. */
bf_status bf_backend_open_gpu(bf_context *context, int device);

/* Sets the context's message and returns status, for `return bf_fail(...)`. */
bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
