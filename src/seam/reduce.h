/* Reductions: absorb contiguous elements into the words of a state. */
#ifndef BF_SEAM_REDUCE_H
#define BF_SEAM_REDUCE_H

#include "rules/reduce/state.h"
#include "seam/memory.h"
#include <bitfold/context.h>
#include <bitfold/reduce.h>

/* Elements to absorb. */
typedef struct bf_job {
    bf_reduction op;
    bf_kind kind; /* the kind of op */
    bf_dtype dtype;
    const void *a;
    const void *b; /* the others of pairs; else NULL */
    int64_t count;
    int64_t index;   /* where a[0] is; BF_KIND_EXTREME */
    bool every_zero; /* for a state that lasts, BF_SUM_NEG_ZERO is exact; else, for a result of op
                        alone, a backend may count fewer unless all finite terms are -0, and leave
                        out sums of a joint kind that op does not need */
    const void *c;   /* BF_KIND_TRIPLE: the third array. Then all is finite, and has no 16 bits */
} bf_job;

enum { BF_AT_ONCE_MOST = 1 << 14 };

/* n > 0 columns of one dtype, each of `count` > 0 elements. */
typedef struct bf_variables {
    bf_dtype dtype;
    int n;
    int64_t count;
    const bf_strided *column; /* contiguous ones have one dimension */
    bool weighted;            /* behind them stands one more, the weights */
} bf_variables;

/* Takes the words of the co-moments of columns i <= j: a state of BF_KIND_COMOMENTS, or with
 * weights one of BF_KIND_WEIGHTED of i, one of j, and one of BF_KIND_TRIPLE of both. The first
 * state counts the pairs that are not finite. */
typedef bf_status bf_take_comoments(void *arg, int i, int j, const int64_t *const words[]);

typedef struct bf_reduce_backend {
    /* Absorbs the job's elements into words (rules/reduce/state.h). Errors: BF_E_MEMORY,
     * BF_E_DEVICE. */
    bf_status (*absorb)(bf_context *context, const bf_job *job, int64_t *words);
    /* Reduces a job of at most BF_AT_ONCE_MOST elements, and at least one, to the value that its
     * words would make by the options (checked); any op but BF_DESCRIBE. False: with nothing done,
     * for words and bf_result to tell. NULL: all is for words. */
    bool (*at_once)(bf_context *context, const bf_job *job, const bf_reduce_options *options,
                    bf_value *value);
    /* Absorbs n > 0 jobs of one op and dtype, each at the index where the one before ends, at the
     * same time. NULL: they are absorbed in turn. */
    bf_status (*absorb_shards)(bf_context *context, const bf_job jobs[], int n, int64_t *words);
    /* Enqueues the whole reduction: *value, in memory that the device can write, becomes the result
     * by the rules and the options (all checked; job->count may be 0 here). NULL: there is no
     * queue. */
    bf_status (*enqueue)(bf_context *context, const bf_job *job, const bf_reduce_options *options,
                         bf_value *value);
    /* Adds up the co-moments of each two columns, and then has take(arg) take them, until it fails.
     * The CPU alone has it; NULL elsewhere. Errors: BF_E_MEMORY, BF_E_CANCELLED, those of take. */
    bf_status (*comoments)(bf_context *context, const bf_variables *columns,
                           bf_take_comoments *take, void *arg);
} bf_reduce_backend;

#endif
