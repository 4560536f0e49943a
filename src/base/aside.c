/* One thread that does a piece of work aside, while its owner goes on. */
#include "base/aside.h"

#include "base/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct bf_aside {
    pthread_t thread;
    bool started;
    int64_t awake_ns;
    atomic_bool busy, quit; /* there is work that is not done; changed under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *arg);
    void *arg;
};

static struct timespec after(int64_t ns) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

static bool is_before(struct timespec until) {
    const struct timespec now = after(0);
    return now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec);
}

/* Asks for a change until `ns` have passed, at most as long as the threads stay awake. */
static void ask_for(bf_aside *aside, bool busy, int64_t ns) {
    if (aside->awake_ns == 0) return;
    const struct timespec until = after(ns < aside->awake_ns ? ns : aside->awake_ns);
    while (atomic_load(&aside->busy) != busy && !atomic_load(&aside->quit) && is_before(until))
        sched_yield();
}

static void *aside_main(void *arg) {
    bf_aside *aside = arg;
    for (;;) {
        ask_for(aside, true, aside->awake_ns);
        pthread_mutex_lock(&aside->lock);
        while (!atomic_load(&aside->busy) && !atomic_load(&aside->quit))
            pthread_cond_wait(&aside->changed, &aside->lock);
        pthread_mutex_unlock(&aside->lock);
        if (!atomic_load(&aside->busy)) return NULL;
        aside->work(aside->arg);
        pthread_mutex_lock(&aside->lock);
        atomic_store(&aside->busy, false);
        pthread_cond_signal(&aside->changed);
        pthread_mutex_unlock(&aside->lock);
    }
}

bf_aside *bf_aside_open(int64_t awake_ns) {
    bf_aside *aside = calloc(1, sizeof *aside);
    if (aside == NULL) return NULL;
    aside->awake_ns = awake_ns;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&aside->lock, NULL);
    pthread_cond_init(&aside->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    aside->started = bf_thread_start(&aside->thread, aside_main, aside);
    return aside;
}

void bf_aside_close(bf_aside *aside) {
    if (aside == NULL) return;
    if (aside->started) {
        pthread_mutex_lock(&aside->lock);
        atomic_store(&aside->quit, true);
        pthread_cond_signal(&aside->changed);
        pthread_mutex_unlock(&aside->lock);
        pthread_join(aside->thread, NULL);
    }
    pthread_cond_destroy(&aside->changed);
    pthread_mutex_destroy(&aside->lock);
    free(aside);
}

void bf_aside_start(bf_aside *aside, void (*work)(void *arg), void *arg) {
    if (!aside->started) {
        work(arg);
        return;
    }
    aside->work = work;
    aside->arg = arg;
    pthread_mutex_lock(&aside->lock);
    atomic_store(&aside->busy, true);
    pthread_cond_signal(&aside->changed);
    pthread_mutex_unlock(&aside->lock);
}

bool bf_aside_wait(bf_aside *aside, int64_t ns) {
    const struct timespec until = after(ns);
    int result = 0;
    ask_for(aside, false, ns);
    pthread_mutex_lock(&aside->lock);
    while (atomic_load(&aside->busy) && result == 0)
        result = pthread_cond_timedwait(&aside->changed, &aside->lock, &until);
    bool done = !atomic_load(&aside->busy);
    pthread_mutex_unlock(&aside->lock);
    return done;
}
