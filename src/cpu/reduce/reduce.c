/* A reduction on the CPU: threads take pieces of the array until none is left, each into words of
 * its own, and merge them when they are done. Merging is exact, so nothing depends on who took
 * what. */
#include "cpu/runtime/context.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    PIECE = 1 << 17,           /* elements that a thread takes at a time */
    BYTES_PER_THREAD = 1 << 20 /* below this a thread costs more than it gains */
};

typedef struct shared_job {
    const bf_job *job;
    const bf_isa *isa;
    _Atomic int64_t next; /* first element that no thread has taken */
    int64_t piece;
    pthread_mutex_t lock; /* of words */
    int64_t *words;
} shared_job;

/* A description's parts, span by span, so that all but the first find it in cache. */
static void absorb_description(bf_worker *worker, const bf_job *job, int64_t first, int64_t n,
                               int64_t *words) {
    int at = bf_extreme_at(job->kind, job->dtype);
    bf_job moments = *job, least = *job, greatest = *job;
    moments.kind = BF_KIND_MOMENTS;
    least.kind = greatest.kind = BF_KIND_EXTREME;
    least.op = BF_ARGMIN;
    greatest.op = BF_ARGMAX;
    for (int64_t end = first + n; first < end; first += n) {
        n = end - first < BF_SPAN ? end - first : BF_SPAN;
        bf_exact_absorb(worker, &moments, first, n, words);
        bf_extreme_absorb(worker, &least, first, n, words + at);
        bf_extreme_absorb(worker, &greatest, first, n, words + at + BF_EXTREME_WORDS);
    }
}

static void absorb(bf_worker *worker, const bf_job *job, int64_t first, int64_t n, int64_t *words) {
    switch (job->kind) {
    case BF_KIND_EXTREME: bf_extreme_absorb(worker, job, first, n, words); break;
    case BF_KIND_FACTORS: bf_factors_absorb(job, first, n, words); break;
    case BF_KIND_DESCRIPTION: absorb_description(worker, job, first, n, words); break;
    default: bf_exact_absorb(worker, job, first, n, words); break;
    }
}

static void take_pieces(void *arg, int number) {
    shared_job *shared = arg;
    (void)number;
    const bf_job *job = shared->job;
    bf_worker worker = {.isa = shared->isa};
    int64_t words[BF_STATE_WORDS_SMALL];
    const bf_kind kind = job->kind;
    if (kind == BF_KIND_TREE) __builtin_unreachable(); /* its words are many: bf_tree_absorb */
    bf_state_init(kind, job->dtype, words);
    bf_environment environment = bf_environment_enter();
    for (;;) {
        int64_t first = atomic_fetch_add(&shared->next, shared->piece);
        if (first >= job->count) break;
        int64_t left = job->count - first;
        absorb(&worker, job, first, left < shared->piece ? left : shared->piece, words);
    }
    bf_environment_leave(environment);
    pthread_mutex_lock(&shared->lock);
    bf_state_merge_words(kind, job->dtype, shared->words, words);
    pthread_mutex_unlock(&shared->lock);
}

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

bf_status bf_cpu_reduce(bf_context *context, const bf_job *job, int64_t *words) {
    bf_cpu *cpu = context->cpu;
    int64_t bytes = job->count * bf_dtype_bytes(job->dtype);
    int64_t worth = bytes / BYTES_PER_THREAD;
    int threads = worth < bf_pool_threads(cpu->pool) ? (int)worth : bf_pool_threads(cpu->pool);
    if (job->kind == BF_KIND_TREE) return bf_tree_absorb(context, threads, job, words);
    if (threads <= 1) {
        bf_worker worker = {.isa = cpu->isa};
        bf_environment environment = bf_environment_enter();
        absorb(&worker, job, 0, job->count, words);
        bf_environment_leave(environment);
        return BF_OK;
    }
    shared_job shared = {.job = job, .isa = cpu->isa, .words = words};
    int64_t share = round_up((job->count + threads - 1) / threads, BF_SPAN);
    shared.piece = share < PIECE ? share : PIECE;
    pthread_mutex_init(&shared.lock, NULL);
    bf_pool_run(cpu->pool, threads, take_pieces, &shared);
    pthread_mutex_destroy(&shared.lock);
    return BF_OK;
}
