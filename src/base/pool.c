/* The pool: threads that wait for work, owned by one context.
 *
 * Workers sleep on a condition between jobs, in the floating-point environment of environment.h.
 * After fork() the child has none of them: the pool notices and starts anew. */
#define _GNU_SOURCE
#include "base/pool.h"

#include "base/environment.h"
#include "base/thread.h"

#include <stdlib.h>
#include <unistd.h>

struct bf_pool {
    int threads;       /* wanted, the caller's among them */
    int started;       /* workers running */
    bf_budget *budget; /* NULL: none */
    pid_t owner;       /* the process that they run in */
    pthread_t *workers;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    void (*work)(void *arg, int worker);
    void *arg;
    int waiting; /* workers of the present job that have not begun it */
    int running; /* workers that have not finished it */
    bool quit;
};

bf_pool *bf_pool_create(int threads, bf_budget *budget) {
    bf_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) return NULL;
    pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (pool->workers == NULL) {
        free(pool);
        return NULL;
    }
    pool->threads = threads;
    pool->budget = budget;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    return pool;
}

int bf_pool_threads(const bf_pool *pool) { return pool->threads; }

static void *worker_main(void *arg) {
    bf_pool *pool = arg;
    (void)bf_environment_enter(); /* for as long as the thread lives */
    bf_budget_work_for(pool->budget);
    pthread_mutex_lock(&pool->lock);
    while (!pool->quit) {
        if (pool->waiting == 0) {
            pthread_cond_wait(&pool->wake, &pool->lock);
            continue;
        }
        int worker = pool->waiting--;
        pthread_mutex_unlock(&pool->lock);
        pool->work(pool->arg, worker);
        pthread_mutex_lock(&pool->lock);
        if (--pool->running == 0) pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* In a forked child, forgets the workers, which are its parent's, and the locks that they held. */
static void notice_fork(bf_pool *pool) {
    if (pool->owner == getpid()) return;
    pool->owner = getpid();
    pool->started = pool->waiting = pool->running = 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
}

/* Starts workers until there are `workers`, or the system refuses. */
static void start_workers(bf_pool *pool, int workers) {
    while (pool->started < workers) {
        if (!bf_thread_start(&pool->workers[pool->started], worker_main, pool)) break;
        pool->started++;
    }
}

void bf_pool_run(bf_pool *pool, int threads, void (*work)(void *arg, int worker), void *arg) {
    int workers = (threads < pool->threads ? threads : pool->threads) - 1;
    if (workers > 0) {
        notice_fork(pool);
        start_workers(pool, workers);
        if (workers > pool->started) workers = pool->started;
    }
    if (workers <= 0) {
        work(arg, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->arg = arg;
    pool->waiting = pool->running = workers;
    if (workers == 1)
        pthread_cond_signal(&pool->wake);
    else
        pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work(arg, 0);
    pthread_mutex_lock(&pool->lock);
    pool->running -= pool->waiting; /* the work is done: those still asleep are not needed */
    pool->waiting = 0;
    while (pool->running > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void bf_pool_destroy(bf_pool *pool) {
    if (pool == NULL) return;
    if (pool->started > 0 && pool->owner == getpid()) {
        pthread_mutex_lock(&pool->lock);
        pool->quit = true;
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i], NULL);
    }
    free(pool->workers);
    free(pool);
}
