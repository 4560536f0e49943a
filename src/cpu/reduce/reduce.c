/* A reduction on the CPU: each worker absorbs pieces into words of its own, which are merged at the
 * end. Merging is exact, so nothing depends on who took which piece. */
#include "cpu/reduce/reduce.h"

enum {
    PIECE_BYTES = 1 << 20, /* a worker takes so many bytes at a time */
    ALONE_BYTES = 1 << 22, /* the only worker takes so many */
    BYTES_LEAST = 1 << 20  /* so many are worth a thread */
};

typedef struct reduce_job {
    bf_context *context;
    const bf_job *job;
} reduce_job;

/* A worker's room. */
typedef struct partial {
    int64_t pieces; /* absorbed so far */
    bf_reducer reducer;
    int64_t words[BF_STATE_WORDS_SMALL];
} partial;

/* Absorbs a description's parts span by span: the second and third find the span in the cache. */
static void absorb_description(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                               int64_t *words) {
    int at = bf_extreme_at(job->kind, job->dtype);
    bf_job moments = *job, least = *job, greatest = *job;
    moments.kind = BF_KIND_MOMENTS;
    least.kind = greatest.kind = BF_KIND_EXTREME;
    least.op = BF_ARGMIN;
    greatest.op = BF_ARGMAX;
    for (int64_t end = first + n; first < end; first += n) {
        n = end - first < BF_SPAN ? end - first : BF_SPAN;
        bf_sum_absorb(reducer, &moments, first, n, words);
        bf_extreme_absorb(reducer, &least, first, n, words + at);
        bf_extreme_absorb(reducer, &greatest, first, n, words + at + bf_extreme_words(job->dtype));
    }
}

void bf_reduce_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                      int64_t *words) {
    switch (job->kind) {
    case BF_KIND_EXTREME: bf_extreme_absorb(reducer, job, first, n, words); break;
    case BF_KIND_PRODUCT: bf_product_absorb(job, first, n, words); break;
    case BF_KIND_POWERS:
    case BF_KIND_COMOMENTS:
    case BF_KIND_TRIPLE:
    case BF_KIND_WEIGHTED: bf_joint_absorb(reducer, job, first, n, words); break;
    case BF_KIND_DESCRIPTION: absorb_description(reducer, job, first, n, words); break;
    default: bf_sum_absorb(reducer, job, first, n, words); break;
    }
}

static bf_status absorb_piece(void *arg, int worker, int64_t first, int64_t n) {
    const reduce_job *r = arg;
    partial *p = bf_room(r->context, worker);
    if (p->pieces++ == 0) {
        p->reducer = (bf_reducer){.isa = r->context->cpu->isa};
        bf_state_init(r->job->kind, r->job->dtype, p->words);
    }
    bf_reduce_absorb(&p->reducer, r->job, first, n, p->words);
    return BF_OK;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Elements of a piece, a multiple of BF_SPAN. */
static int64_t piece_of(const bf_job *job, int workers) {
    int64_t spans = (job->count / workers + BF_SPAN - 1) / BF_SPAN;
    int64_t most = (workers > 1 ? PIECE_BYTES : ALONE_BYTES) / bf_number_bytes(job->dtype);
    return least(spans * BF_SPAN, most);
}

/* The job's words change only when all is done. */
static bf_status absorb_in_pieces(bf_context *context, int workers, const bf_job *job,
                                  int64_t *words) {
    reduce_job r = {context, job};
    if (!bf_rooms_open(context, workers, sizeof(partial))) return BF_E_MEMORY;
    bf_status status =
        bf_parallel(context, workers, job->count, piece_of(job, workers), absorb_piece, &r);
    for (int w = 0; w < workers && status == BF_OK; w++) {
        const partial *p = bf_room(context, w);
        if (p->pieces > 0) bf_state_merge_words(job->kind, job->dtype, words, p->words);
    }
    return status;
}

bf_status bf_cpu_reduce(bf_context *context, const bf_job *job, int64_t *words) {
    int64_t bytes = job->count * bf_number_bytes(job->dtype);
    int workers = bf_workers(context, bytes, BYTES_LEAST);
    bf_reducer reducer = {.isa = context->cpu->isa};
    bf_status status = BF_OK;
    bf_environment environment = bf_environment_enter();
    if (job->kind == BF_KIND_PRODUCT_TREE)
        status = bf_product_tree_absorb(context, workers, job, words);
    else if (workers > 1 || bytes > ALONE_BYTES)
        status = absorb_in_pieces(context, workers, job, words);
    else
        bf_reduce_absorb(&reducer, job, 0, job->count, words);
    bf_environment_leave(environment);
    return status;
}
