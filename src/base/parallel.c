/* The parallel loop: workers take pieces from one counter. */
#include "base/parallel.h"

#include "base/context.h"
#include "rules/number/rule.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct loop {
    bf_host_work *work;
    void *arg;
    int64_t n, piece;
    _Atomic int64_t next; /* first item that no worker has taken */
    pthread_mutex_t lock; /* This guards the fields below. */
    int64_t failed;       /* first item of the first piece that failed so far */
    bf_status status;     /* its failure, or BF_OK */
    /* What follows belongs to a loop that is watched. */
    bf_context *watched;  /* NULL: the watch is not asked */
    int64_t from, bytes;  /* told before the loop, and what it tells */
    _Atomic int64_t done; /* items */
    bf_status answer;     /* BF_OK, or BF_E_CANCELLED; worker 0 has it to itself */
} loop;

static void note_failure(loop *l, int64_t first, bf_status status) {
    atomic_store(&l->next, l->n);
    pthread_mutex_lock(&l->lock);
    if (l->status == BF_OK || first < l->failed) {
        l->failed = first;
        l->status = status;
    }
    pthread_mutex_unlock(&l->lock);
}

static bf_status ask_watch(const loop *l, int64_t done) {
    int64_t bytes = (int64_t)((bf_u128)l->bytes * (uint64_t)done / (uint64_t)l->n);
    bf_watch_tell(l->watched, l->from + bytes);
    return bf_watch_tick(l->watched, 0);
}

/* Notes that n more items are done. The end of all is left to the caller. */
static void tell_watch(loop *l, int worker, int64_t n) {
    int64_t done = atomic_fetch_add(&l->done, n) + n;
    if (worker > 0 || done == l->n) return;
    l->answer = ask_watch(l, done);
    if (l->answer != BF_OK) atomic_store(&l->next, l->n);
}

static void take_pieces(void *arg, int worker) {
    loop *l = arg;
    for (;;) {
        int64_t first = atomic_fetch_add(&l->next, l->piece), left = l->n - first;
        if (left <= 0) return;
        int64_t n = left < l->piece ? left : l->piece;
        bf_status status = l->work(l->arg, worker, first, n);
        if (status != BF_OK)
            note_failure(l, first, status);
        else if (l->watched != NULL)
            tell_watch(l, worker, n);
    }
}

static bf_status run_loop(bf_context *context, int workers, loop *l) {
    int64_t pieces = (l->n - 1) / l->piece + 1;
    pthread_mutex_init(&l->lock, NULL);
    bf_pool_run(context->pool, workers < pieces ? workers : (int)pieces, take_pieces, l);
    pthread_mutex_destroy(&l->lock);
    return l->status;
}

bf_status bf_parallel(bf_context *context, int workers, int64_t n, int64_t piece,
                      bf_host_work *work, void *arg) {
    if (n <= piece) return n > 0 ? work(arg, 0, 0, n) : BF_OK;
    loop l = {.work = work, .arg = arg, .n = n, .piece = piece};
    return run_loop(context, workers, &l);
}

bf_status bf_parallel_watched(bf_context *context, int workers, int64_t n, int64_t piece,
                              int64_t bytes, bf_host_work *work, void *arg) {
    if (!bf_is_watched(context)) return bf_parallel(context, workers, n, piece, work, arg);
    loop l = {.work = work, .arg = arg, .n = n, .piece = piece, .watched = context};
    l.from = context->watched.bytes;
    l.bytes = bytes;
    if (n <= piece) {
        bf_watch_tell(context, l.from + bytes);
        return n > 0 ? work(arg, 0, 0, n) : BF_OK;
    }
    bf_status status = run_loop(context, workers, &l);
    if (l.answer != BF_OK) return l.answer;
    return status == BF_OK ? ask_watch(&l, n) : status;
}

int bf_workers(const bf_context *context, int64_t n, int64_t least) {
    if (n / 2 < least) return 1; /* most calls: a division by a variable takes longer than them */
    int threads = bf_pool_threads(context->pool);
    int64_t worth = n / least;
    return worth < threads ? (int)worth : threads;
}

int bf_workers_within(int workers, size_t bytes) {
    const uint64_t each = bytes > 0 ? bytes : 1;
    const uint64_t within = (uint64_t)bf_budget_left(bf_budget_current()) / 2 / each;
    return within >= (uint64_t)workers ? workers : within > 1 ? (int)within : 1;
}

int bf_host_threads(const bf_context *context) { return bf_pool_threads(context->pool); }
