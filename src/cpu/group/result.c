/* Results of an aggregate: workers finish the groups partition after partition, as they lie in
 * memory, and then put the results in the order of the keys. The watch is asked until then: a call
 * that is cancelled writes nothing. */
#include "cpu/group/group.h"

enum {
    PIECE = 1 << 12, /* groups that a worker takes at a time */
    WORTH = 1 << 11, /* groups that are worth a worker */
    AHEAD = 32       /* results that are fetched ahead */
};

typedef struct result_job {
    const bf_cpu_groups *groups;
    int column;
    bf_aggregate aggregate;
    const bf_reduce_options *options;
    bf_dtype result, to;                 /* by the rules; of the elements */
    int bytes;                           /* the size of an element */
    int64_t n, begin[BF_PARTITIONS + 1]; /* groups; the first of each partition */
    char *found;                         /* results, partition after partition */
    uint8_t *found_fits;                 /* whether each fits; NULL: all do */
    char *values;                        /* the values in the order of the keys */
    uint8_t *fits;
} result_job;

/* ---- partition after partition --------------------------------------------------------------- */

/* Finishes groups [first, end) of a partition, whose first is number `begin` of all. */
static bf_status finish_part(result_job *job, const bf_group_partition *partition, int64_t begin,
                             int64_t first, int64_t end) {
    const int64_t at = begin + first;
    const bf_slot_results results = {.from = &partition->accumulators,
                                     .column = job->column,
                                     .op = job->aggregate.op,
                                     .options = job->options,
                                     .result = job->result,
                                     .to = job->to,
                                     .values = job->found + at * job->bytes,
                                     .fits = job->found_fits == NULL ? NULL : job->found_fits + at};
    return bf_accumulators_finish(&results, (size_t)first, (size_t)(end - first)) ? BF_OK
                                                                                  : BF_E_NAN;
}

static bf_status finish_piece(void *arg, int worker, int64_t first, int64_t n) {
    result_job *job = arg;
    int s = 0;
    bf_status status = BF_OK;
    (void)worker;
    while (job->begin[s + 1] <= first) s++;
    for (int64_t end = first + n; first < end && status == BF_OK; s++) {
        const bf_group_partition *partition = &job->groups->set.partitions[s];
        int64_t begin = job->begin[s], stop = job->begin[s + 1] < end ? job->begin[s + 1] : end;
        status = finish_part(job, partition, begin, first - begin, stop - begin);
        first = stop;
    }
    return status;
}

/* ---- by key ---------------------------------------------------------------------------------- */

/* The number, partition after partition, of group i by key. */
static int64_t number_of(const result_job *job, int64_t i) {
    int64_t at = job->groups->order[i];
    return job->begin[at >> 32] + (uint32_t)at;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void order_elements(const result_job *job, const char *found, char *to,
                                         size_t bytes, int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; i++) {
        if (i + AHEAD < first + n)
            __builtin_prefetch(found + (size_t)number_of(job, i + AHEAD) * bytes);
        memcpy(to + (size_t)i * bytes, found + (size_t)number_of(job, i) * bytes, bytes);
    }
}

static bf_status order_piece(void *arg, int worker, int64_t first, int64_t n) {
    const result_job *job = arg;
    (void)worker;
    switch (job->bytes) {
    case 1: order_elements(job, job->found, job->values, 1, first, n); break;
    case 2: order_elements(job, job->found, job->values, 2, first, n); break;
    case 4: order_elements(job, job->found, job->values, 4, first, n); break;
    case 8: order_elements(job, job->found, job->values, 8, first, n); break;
    case 16: order_elements(job, job->found, job->values, 16, first, n); break;
    default: order_elements(job, job->found, job->values, 24, first, n); break;
    }
    const char *fits = (const char *)job->found_fits;
    if (job->fits != NULL && fits == NULL)
        memset(job->fits + first, 1, (size_t)n);
    else if (job->fits != NULL)
        order_elements(job, fits, (char *)job->fits, 1, first, n);
    return BF_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Fails with the first group whose result does not fit, if one does not and that is an error. */
static bf_status check_fits(bf_context *context, const result_job *job) {
    bool allowed =
        job->to != BF_I192 && (job->fits != NULL || job->options->overflow == BF_OVERFLOW_WRAP);
    int64_t i = 0;
    if (job->found_fits == NULL || allowed) return BF_OK;
    if (memchr(job->found_fits, 0, (size_t)job->n) == NULL) return BF_OK;
    while (job->found_fits[number_of(job, i)]) i++;
    return bf_group_misfit(context, job->aggregate.op, job->to, i);
}

static bf_status make_results(bf_context *context, result_job *job) {
    int workers = bf_workers(context, job->n, WORTH);
    bf_status status = bf_parallel_watched(context, workers, job->n, PIECE, job->n * job->bytes,
                                           finish_piece, job);
    if (status == BF_E_NAN) return bf_group_refuse_nan(context);
    if (status == BF_OK) status = check_fits(context, job);
    return status == BF_OK ? bf_parallel(context, workers, job->n, PIECE, order_piece, job)
                           : status;
}

/* Numbers the groups partition after partition, and makes room for their results. false: no memory.
 */
static bool prepare_job(result_job *job) {
    const bf_aggregate a = job->aggregate;
    bool may_overflow = job->result == BF_I192 &&
                        (job->to != BF_I192 ||
                         (a.dtype == BF_I128 && bf_kind_of(a.op, a.dtype) == BF_KIND_SQUARES));
    job->n = bf_group_set_number(&job->groups->set, job->begin);
    job->found = bf_zeros((size_t)job->n * (size_t)(job->bytes + may_overflow));
    if (job->found != NULL && may_overflow)
        job->found_fits = (uint8_t *)job->found + job->n * job->bytes;
    return job->found != NULL;
}

bf_status bf_cpu_groups_aggregate(bf_context *context, void *groups, int which, bf_reduction op,
                                  const bf_reduce_options *options, bf_dtype to, void *values,
                                  uint8_t *fits) {
    bf_cpu_groups *g = groups;
    bf_aggregate a = {op, g->wanted[which].dtype};
    result_job job = {.groups = g,
                      .column = g->of[which],
                      .aggregate = a,
                      .options = options,
                      .result = bf_result_dtype(a.op, a.dtype, options->out_dtype),
                      .to = to,
                      .bytes = to == BF_I192 ? 24 : bf_number_bytes(to),
                      .values = values,
                      .fits = fits};
    bf_status status = bf_cpu_groups_sort(context, g);
    if (status == BF_OK && !prepare_job(&job))
        status = bf_fail(context, BF_E_MEMORY, "no memory for results");
    if (status == BF_OK) status = make_results(context, &job);
    bf_free(job.found);
    return status;
}
