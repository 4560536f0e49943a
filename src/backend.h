/* The seam between the API and the machines that do the work.
 *
 * A backend takes contiguous elements into the words of a state (src/rules/state.h). It differs
 * from the others in speed, never in result. Rules common to all functions:
 * - the API layer has checked every argument: dtypes are known, counts are positive, memory is
 *   contiguous (but maybe misaligned), and the total count stays within BF_COUNT_MAX;
 * - words are carried on entry and on return;
 * - on failure words are as they were, and the context has a message;
 * - a context is used by one thread at a time. */
#ifndef BF_BACKEND_H
#define BF_BACKEND_H

#include "../include/bitfold/context.h"
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

typedef struct bf_backend {
    const char *name;
    /* Sets up context->backend_data from checked options; errors BF_E_DEVICE, BF_E_MEMORY. */
    bf_status (*open)(bf_context *context, const bf_options *options);
    void (*close)(bf_context *context);
    /* Takes the job's elements into words. Errors: BF_E_MEMORY. */
    bf_status (*reduce)(bf_context *context, const bf_job *job, int64_t *words);
    /* Computes job->count elements. Errors: BF_E_OVERFLOW, BF_E_ARGUMENT (division by zero), both
     * with the first index in the message; out may then have been written to. */
    bf_status (*map)(bf_context *context, const bf_map_job *job);
    const char *(*isa)(const bf_context *context);
    int (*threads)(const bf_context *context);
} bf_backend;

/* The backend of that name ("auto" or NULL: the best choice here); NULL if there is none. */
const bf_backend *bf_backend_find(const char *name);

extern const bf_backend bf_backend_cpu;

struct bf_context {
    const bf_backend *backend;
    void *backend_data;
    void *scratch; /* for arrays that are not contiguous; BF_SCRATCH_BYTES, made when needed */
    char message[160];
};

/* Sets the context's message and returns status, for `return bf_fail(...)`. */
bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
