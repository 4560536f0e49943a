/* Files: a contiguous range of elements a thread. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "runtime/engine_parts.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Fewer bytes than this are not worth another thread. */
#define THREAD_BYTES ((int64_t)1024 * 1024)

typedef struct job {
    const engine *engine;
    const pair *in;
    int64_t start;
    atomic_bool stop; /* a worker has failed: the others need not go on */
} job;

/* One thread's range, and how it ended. */
typedef struct worker {
    job *job;
    int64_t first, last;
    bf_context *context;
    bf_state *state;
    bf_status status;
    bool main; /* runs on the main thread, which shows the progress */
    bool started;
    pthread_t thread;
} worker;

/* Files are in memory: viewing them cannot fail. */
static void absorb_range(worker *w, block *x) {
    const pair *in = w->job->in;
    for (int64_t at = w->first; at < w->last && !atomic_load(&w->job->stop); at += x->n) {
        block_view(x, in, at, w->last);
        w->status = block_absorb(x, in, w->state);
        if (w->status != BF_OK) return;
        progress_add(x->n * pair_bytes(in));
        if (w->main) progress_tick();
    }
}

static void *run_worker(void *argument) {
    worker *w = argument;
    block x;
    if (block_alloc(&x, w->job->engine, w->job->in, w->last - w->first))
        absorb_range(w, &x);
    else
        w->status = BF_E_MEMORY;
    block_free(&x);
    if (w->status != BF_OK) atomic_store(&w->job->stop, true);
    return NULL;
}

/* Waits for a thread, showing the progress meanwhile. */
static void join(pthread_t thread) {
    for (;;) {
        const struct timespec until = progress_next_tick();
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT) return;
        progress_tick();
    }
}

static bf_status create_state(worker *w, bf_reduction op) {
    bf_status st = bf_state_create(w->context, op, w->job->in->a->layout.dtype, &w->state);
    if (st == BF_OK && engine_is_ordered(op))
        st = bf_state_seek(w->state, w->job->start + w->first);
    return st;
}

/* Ranges begin at multiples of 4096 elements: whole pages, whatever the dtype. */
static int64_t range_begin(int64_t count, int i, int n) {
    if (i == n) return count;
    return count / n * i & ~(int64_t)4095;
}

static int setup_workers(engine *e, bf_reduction op, job *j, worker *workers, int n) {
    int code = engine_need_contexts(e, n);
    for (int i = 0; i < n && code == EXIT_DONE; i++) {
        worker *w = &workers[i];
        *w = (worker){.job = j, .context = e->contexts[i], .main = i == 0};
        w->first = range_begin(j->in->a->count, i, n);
        w->last = range_begin(j->in->a->count, i + 1, n);
        const bf_status st = create_state(w, op);
        if (st != BF_OK) code = fail_status(st, w->context, j->in->a->name);
    }
    return code;
}

/* Worker 0 is this thread; so is any that no thread could be started for. */
static void run_workers(worker *workers, int n) {
    for (int i = 1; i < n; i++)
        workers[i].started = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0;
    run_worker(&workers[0]);
    for (int i = 1; i < n; i++) {
        if (workers[i].started)
            join(workers[i].thread);
        else
            run_worker(&workers[i]);
    }
}

/* Elements that change while they are read may make states that do not merge. */
static int failed(const worker *w, bf_status st) {
    const source *s = w->job->in->a;
    const int code = source_check(s);
    return code == EXIT_DONE ? fail_status(st, w->context, s->name) : code;
}

static int merge_workers(worker *workers, int n) {
    for (int i = 0; i < n; i++)
        if (workers[i].status != BF_OK) return failed(&workers[i], workers[i].status);
    for (int i = 1; i < n; i++) {
        const bf_status st = bf_state_merge(workers[0].state, workers[i].state);
        if (st != BF_OK) return failed(&workers[0], st);
    }
    return EXIT_DONE;
}

static int thread_count(const engine *e, int64_t bytes) {
    const int64_t useful = bytes / THREAD_BYTES;
    return useful >= e->threads ? e->threads : useful > 1 ? (int)useful : 1;
}

int reduce_files(engine *e, bf_reduction op, const pair *in, int64_t start, bf_state **state) {
    e->bytes = in->a->count * pair_bytes(in);
    e->used = thread_count(e, e->bytes);
    job j = {.engine = e, .in = in, .start = start};
    worker *workers = calloc((size_t)e->used, sizeof *workers);
    if (!workers) return fail_status(BF_E_MEMORY, NULL, in->a->name);
    int code = setup_workers(e, op, &j, workers, e->used);
    if (code == EXIT_DONE) {
        run_workers(workers, e->used);
        code = merge_workers(workers, e->used);
    }
    if (code == EXIT_DONE) {
        *state = workers[0].state;
        workers[0].state = NULL;
    }
    for (int i = 0; i < e->used; i++) bf_state_destroy(workers[i].state);
    free(workers);
    return code;
}
