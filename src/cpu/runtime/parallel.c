/* The parallel loop: workers take pieces from one counter. */
#include "cpu/runtime/context.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct loop {
    bf_host_work *work;
    void *arg;
    bf_context *watched; /* NULL: the watch is not asked */
    int64_t n, piece;
    _Atomic int64_t next; /* first item that no worker has taken */
    pthread_mutex_t lock; /* of what follows */
    int64_t failed;       /* first item of the first piece that failed so far */
    bf_status status;     /* its failure, or BF_OK */
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

static void take_pieces(void *arg, int worker) {
    loop *l = arg;
    for (;;) {
        int64_t first = atomic_fetch_add(&l->next, l->piece), left = l->n - first;
        if (left <= 0) return;
        bf_status status = l->work(l->arg, worker, first, left < l->piece ? left : l->piece);
        if (status == BF_OK && worker == 0 && l->watched != NULL)
            status = bf_watch_tick(l->watched, 0);
        if (status != BF_OK) note_failure(l, first, status);
    }
}

static bf_status run_loop(bf_context *context, int workers, loop *l) {
    int64_t pieces = (l->n - 1) / l->piece + 1;
    pthread_mutex_init(&l->lock, NULL);
    bf_pool_run(context->cpu->pool, workers < pieces ? workers : (int)pieces, take_pieces, l);
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
                              bf_host_work *work, void *arg) {
    if (n == 0) return BF_OK;
    loop l = {.work = work, .arg = arg, .watched = context, .n = n, .piece = piece};
    return run_loop(context, workers, &l);
}

int bf_workers(const bf_context *context, int64_t n, int64_t least) {
    if (n / 2 < least) return 1; /* most calls: a division by a variable takes longer than them */
    int threads = bf_pool_threads(context->cpu->pool);
    int64_t worth = n / least;
    return worth < threads ? (int)worth : threads;
}

int bf_host_threads(const bf_context *context) { return bf_pool_threads(context->cpu->pool); }
