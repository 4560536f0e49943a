/* The results of groups: the backend gives words, and the host's threads finish them. */
#include "api/group/group.h"

#include "rules/reduce/result.h"
#include "seam/host.h"

#include <stdlib.h>

enum {
    BATCH_BYTES = 1 << 22, /* of words that are held at a time */
    PART = 1 << 8,         /* groups of which a thread gives the results at a time */
    WORTH = 1 << 11        /* that are worth a thread */
};

/* Groups [0, n), of a batch. */
typedef struct result_job {
    bf_aggregate aggregate;
    const bf_reduce_options *options;
    int64_t n;
    int each;
    const int64_t *words;
    bf_value *values; /* NULL: NaNs are looked for, which are refused */
} result_job;

static bf_status finish_part(void *arg, int worker, int64_t first, int64_t n) {
    result_job *job = arg;
    bf_aggregate a = job->aggregate;
    bf_work work;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        const int64_t *words = job->words + i * job->each;
        if (job->values != NULL)
            bf_result_of_group(a.op, a.dtype, words, job->options, &job->values[i], &work);
        else if (bf_result_nans(bf_kind_of(a.op, a.dtype), words) > 0)
            return BF_E_NAN;
    }
    return BF_OK;
}

/* Batch by batch; values: as in the job. */
static bf_status finish_batches(bf_groups *g, int which, int64_t most, int64_t *words,
                                result_job *job, bf_value *values) {
    bf_status status = BF_OK;
    int64_t size = bf_groups_size(g);
    for (int64_t at = 0; at < size && status == BF_OK; at += most) {
        job->n = size - at < most ? size - at : most;
        job->values = values != NULL ? values + at : NULL;
        status = g->by->words(g->context, g->inside, which, at, job->n, words);
        if (status == BF_OK)
            status = bf_parallel(g->context, bf_workers(g->context, job->n, WORTH), job->n, PART,
                                 finish_part, job);
        if (status == BF_E_NAN) bf_fail(g->context, status, "NaN in the values");
    }
    return status;
}

bf_status bf_groups_finish(bf_groups *g, int which, const bf_reduce_options *options,
                           bf_value *values) {
    bf_aggregate a = g->aggregates[which];
    int each = bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL);
    int64_t size = bf_groups_size(g), most = BATCH_BYTES / (each * (int64_t)sizeof(int64_t));
    int64_t *words = malloc((size_t)(most < size ? most : size) * (size_t)each * sizeof *words);
    if (words == NULL) return bf_fail(g->context, BF_E_MEMORY, "no memory for results");
    result_job job = {.aggregate = a, .options = options, .each = each, .words = words};
    bf_status status = BF_OK;
    if (options->nan == BF_NAN_ERROR) /* before the first value is written */
        status = finish_batches(g, which, most, words, &job, NULL);
    if (status == BF_OK) status = finish_batches(g, which, most, words, &job, values);
    free(words);
    return status;
}
