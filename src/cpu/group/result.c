/* Results of an aggregate: workers finish the groups partition after partition, as they lie in
 * memory, and then put the results in the order of the keys. The watch is asked until then: a call
 * that is cancelled writes nothing. */
#include "cpu/group/group.h"

#include "rules/reduce/band.h"

enum {
    PIECE = 1 << 12, /* groups that a worker takes at a time */
    WORTH = 1 << 11, /* groups that are worth a worker */
    AHEAD = 32       /* results that are fetched ahead */
};

typedef struct result_job {
    const bf_cpu_groups *groups;
    int which; /* of the aggregates held */
    bf_aggregate aggregate;
    const bf_reduce_options *options;
    bf_dtype result, to;                 /* by the rules; of the elements */
    int bytes;                           /* of an element */
    int64_t n, begin[BF_PARTITIONS + 1]; /* groups; the first of each partition */
    char *found;                         /* results, partition after partition */
    uint8_t *found_fits;                 /* whether each fits; NULL: all do */
    char *values;                        /* the same by key */
    uint8_t *fits;
} result_job;

/* ---- partition after partition --------------------------------------------------------------- */

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Groups [first, end) of a partition, whose first is number `begin` of all. */
typedef struct stretch {
    const bf_group_partition *partition;
    const bf_group_aggregate *states;
    int64_t begin, first, end;
} stretch;

static bf_layout band_layout(const bf_band *band) {
    return bf_layout_make(band->limbs, band->layout.exponent + 32 * band->first);
}

static ALWAYS_INLINE bf_band_sums sums_of(const stretch *p, int64_t i) {
    const bf_band *sum = &p->states->sum, *products = &p->states->products;
    bf_band_sums g = {.sum_layout = band_layout(sum), .products_layout = band_layout(products)};
    if (sum->limbs > 0) g.sum = sum->words + i * sum->limbs;
    if (products->limbs > 0) g.products = products->words + i * products->limbs;
    bf_group_aggregate_counts(p->states, (size_t)i, p->partition->counts[i], g.counts);
    return g;
}

static ALWAYS_INLINE void finish_floats(result_job *job, const stretch *p, bf_reduction op,
                                        bf_dtype to) {
    const int bytes = bf_dtype_bytes(to);
    bf_work work;
    for (int64_t i = p->first; i < p->end; i++) {
        bf_band_sums g = sums_of(p, i);
        uint64_t bits = bf_band_bits(op, &g, job->options, bf_format_of(to), &work);
        bf_store_bits(job->found + (p->begin + i) * bytes, bytes, bits);
    }
}

static void finish_integers(result_job *job, const stretch *p) {
    uint64_t integer[3];
    for (int64_t i = p->first; i < p->end; i++) {
        bf_band_sums g = sums_of(p, i);
        bf_band_integer(job->aggregate.op, &g, integer);
        memcpy(job->found + (p->begin + i) * job->bytes, integer, (size_t)job->bytes);
        if (job->found_fits != NULL)
            job->found_fits[p->begin + i] = bf_integer_fits(job->to, integer);
    }
}

static int64_t nans_of(const bf_group_aggregate *c, int64_t i) {
    return c->specials == NULL ? 0 : c->specials[i * BF_GROUP_SPECIALS + BF_GROUP_NAN];
}

static void finish_extremes(result_job *job, const stretch *p) {
    const bool skip = job->options->nan == BF_NAN_SKIP;
    for (int64_t i = p->first; i < p->end; i++) {
        uint64_t bits = bf_extreme_bits(job->aggregate.op, job->to, p->partition->counts[i],
                                        nans_of(p->states, i), p->states->keys[i], skip);
        bf_store_bits(job->found + (p->begin + i) * job->bytes, job->bytes, bits);
    }
}

static bool any_nan(const stretch *p) {
    for (int64_t i = p->first; i < p->end && p->states->specials != NULL; i++)
        if (nans_of(p->states, i) > 0) return true;
    return false;
}

static bf_status finish_part(result_job *job, const stretch *p) {
    if (job->options->nan == BF_NAN_ERROR && any_nan(p)) return BF_E_NAN;
    if (p->states->kind == BF_KIND_EXTREME)
        finish_extremes(job, p);
    else if (job->result == BF_I192)
        finish_integers(job, p);
    else if (job->aggregate.op == BF_SUM && job->to == BF_F64) /* by constants: the usual ones */
        finish_floats(job, p, BF_SUM, BF_F64);
    else
        finish_floats(job, p, job->aggregate.op, job->to);
    return BF_OK;
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
        stretch part = {partition, &partition->aggregates[job->which], begin, first - begin,
                        stop - begin};
        status = finish_part(job, &part);
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

static inline __attribute__((always_inline)) void order_elements(const result_job *job,
                                                                 const char *found, char *to,
                                                                 size_t bytes, int64_t first,
                                                                 int64_t n) {
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
    bool allowed = job->fits != NULL || job->options->overflow == BF_OVERFLOW_WRAP;
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
    bool may_overflow = job->result == BF_I192 && job->to != BF_I192;
    job->n = bf_group_set_number(&job->groups->set, job->begin);
    job->found = bf_zeros((size_t)job->n * (size_t)(job->bytes + may_overflow));
    if (job->found != NULL && may_overflow)
        job->found_fits = (uint8_t *)job->found + job->n * job->bytes;
    return job->found != NULL;
}

bf_status bf_cpu_groups_aggregate(bf_context *context, void *groups, int which,
                                  const bf_reduce_options *options, bf_dtype to, void *values,
                                  uint8_t *fits) {
    bf_cpu_groups *g = groups;
    bf_aggregate a = g->wanted[which];
    result_job job = {.groups = g,
                      .which = g->of[which],
                      .aggregate = a,
                      .options = options,
                      .result = bf_result_dtype(a.op, a.dtype, options->out_dtype),
                      .to = to,
                      .bytes = to == BF_I192 ? 24 : bf_dtype_bytes(to),
                      .values = values,
                      .fits = fits};
    bf_status status = bf_cpu_groups_sort(context, g);
    if (status == BF_OK && !prepare_job(&job))
        status = bf_fail(context, BF_E_MEMORY, "no memory for results");
    if (status == BF_OK) status = make_results(context, &job);
    bf_free(job.found);
    return status;
}
