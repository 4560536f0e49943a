/* Reductions: GPUs absorb parts of the jobs into words of their own, which merge in the order of
 * the parts. */
#include "gpus/reduce/reduce.h"

#include "base/environment.h"
#include "gpus/runtime/context.h"
#include "rules/number/dtype.h"

#include <stdlib.h>

/* A round has so many parts for each GPU at most. Words of a product take 36 KiB. */
enum { PARTS_EACH = 8 };

/* Elements of a job for one GPU. */
typedef struct part {
    int gpu;
    bf_job job;
} part;

/* Parts that the GPUs take at the same time. */
typedef struct absorption {
    bf_context *context;
    int count, most;
    int gpus;       /* the GPUs from 0 that have parts */
    int64_t each;   /* words of a part */
    int64_t *words; /* the words of all parts, then the state's */
    part parts[];
} absorption;

/* ---- one GPU --------------------------------------------------------------------------------- */

static int64_t bytes_of(const bf_job *job) {
    int64_t bytes = bf_dtype_bytes(job->dtype) * (job->b != NULL ? 2 : 1);
    return job->count < BF_COUNT_MAX / bytes ? job->count * bytes : BF_COUNT_MAX;
}

static int find_gpu(const bf_context *context, const bf_job *job) {
    const void *memory[] = {job->a, job->b};
    return bf_gpus_find(context, memory, 2);
}

static bf_status absorb_on(bf_context *context, int gpu, const bf_job *job, int64_t *words) {
    const void *memory[] = {job->a, job->b};
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    return bf_gpus_leave(context, gpu, one->used->reduce->absorb(one, job, words));
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bf_job cut_job(const bf_job *job, int64_t first, int64_t end) {
    bf_job cut = *job;
    int64_t bytes = bf_dtype_bytes(job->dtype);
    cut.a = (const char *)job->a + first * bytes;
    if (job->b != NULL) cut.b = (const char *)job->b + first * bytes;
    cut.count = end - first;
    cut.index = job->index + first;
    return cut;
}

static void add_part(absorption *r, int gpu, bf_job job) {
    r->parts[r->count++] = (part){gpu, job};
    if (gpu >= r->gpus) r->gpus = gpu + 1;
}

/* Adds the parts of a job: one, or one for each GPU. Small jobs in host memory go to the GPUs in
 * turn. */
static void add_job(absorption *r, const bf_job *job, int turn) {
    int gpu = find_gpu(r->context, job);
    int parts = gpu < 0 ? bf_gpus_worth(r->context, bytes_of(job)) : 1;
    if (parts == 1) {
        add_part(r, gpu < 0 ? turn % r->context->gpus->count : gpu, *job);
        return;
    }
    for (int i = 0; i < parts; i++) {
        int64_t first = bf_gpus_cut(job->count, parts, i, job->index);
        int64_t end = bf_gpus_cut(job->count, parts, i + 1, job->index);
        if (end > first) add_part(r, i, cut_job(job, first, end));
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void clear_words(const bf_job *job, int64_t *words) {
    bf_state_init(job->kind, job->dtype, words);
    if (job->kind != BF_KIND_PRODUCT_TREE) return;
    words[BF_PRODUCT_TREE_BEGIN] = words[BF_PRODUCT_TREE_END] = job->index;
}

/* A GPU absorbs its parts. */
static bf_status absorb_parts(void *arg, bf_context *context, int gpu) {
    const absorption *r = arg;
    bf_status status = BF_OK;
    for (int i = 0; i < r->count && status == BF_OK; i++) {
        if (r->parts[i].gpu != gpu) continue;
        int64_t *words = r->words + i * r->each;
        clear_words(&r->parts[i].job, words);
        status = context->used->reduce->absorb(context, &r->parts[i].job, words);
    }
    return status;
}

/* Runs the round, merges its words into the state's, and empties it. */
static bf_status end_round(absorption *r) {
    int64_t *into = r->words + r->most * r->each;
    bf_status status = bf_gpus_run(r->context, r->gpus, absorb_parts, r);
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter(); /* trees multiply floats */
    for (int i = 0; i < r->count; i++)
        bf_state_merge_words(r->parts[i].job.kind, r->parts[i].job.dtype, into,
                             r->words + i * r->each);
    bf_environment_leave(environment);
    r->count = r->gpus = 0;
    return BF_OK;
}

static bf_status absorb_rounds(absorption *r, const bf_job *jobs, int n) {
    bf_status status = BF_OK;
    for (int i = 0; i < n && status == BF_OK; i++) {
        add_job(r, &jobs[i], i);
        if (i == n - 1 || r->count + r->context->gpus->count > r->most) status = end_round(r);
    }
    return status;
}

/* Returns NULL if there is no memory. */
static absorption *make_round(bf_context *context, const bf_job *jobs, int n) {
    int gpus = context->gpus->count, most = n < PARTS_EACH ? gpus * n : gpus * PARTS_EACH;
    int64_t each = jobs[0].kind == BF_KIND_PRODUCT_TREE ? BF_STATE_WORDS_MAX : BF_STATE_WORDS_SMALL;
    size_t bytes = sizeof(absorption) + (size_t)most * sizeof(part);
    absorption *r = malloc(bytes + (size_t)((most + 1) * each) * sizeof *r->words);
    if (r == NULL) return NULL;
    *r = (absorption){.context = context, .most = most, .each = each};
    r->words = (int64_t *)(void *)((char *)r + bytes);
    return r;
}

/* On failure words are as they were: they are a copy until all is done. */
static bf_status absorb_shards(bf_context *context, const bf_job *jobs, int n, int64_t *words) {
    bf_kind kind = jobs[0].kind;
    absorption *r = make_round(context, jobs, n);
    if (r == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for states");
    int64_t *into = r->words + r->most * r->each;
    memcpy(into, words, (size_t)bf_state_words(kind, jobs[0].dtype, words) * sizeof *words);
    bf_status status = absorb_rounds(r, jobs, n);
    if (status == BF_OK)
        memcpy(words, into, (size_t)bf_state_words(kind, jobs[0].dtype, into) * sizeof *words);
    free(r);
    return status;
}

static bf_status absorb_job(bf_context *context, const bf_job *job, int64_t *words) {
    int gpu = find_gpu(context, job);
    if (gpu >= 0) return absorb_on(context, gpu, job, words);
    if (bf_gpus_worth(context, bytes_of(job)) == 1) return absorb_on(context, 0, job, words);
    return absorb_shards(context, job, 1, words);
}

/* ---- enqueued -------------------------------------------------------------------------------- */

/* On the GPU of the data; if they are the host's, on that of the value. */
static bf_status enqueue_job(bf_context *context, const bf_job *job,
                             const bf_reduce_options *options, bf_value *value) {
    const void *memory[] = {job->a, job->b, value};
    int gpu = bf_gpus_find(context, memory, 3);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 3);
    context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->reduce->enqueue(one, job, options, value));
}

const bf_reduce_backend bf_gpus_reduce_backend = {
    .absorb = absorb_job, .absorb_shards = absorb_shards, .enqueue = enqueue_job};
