/* One thread that does a piece of work aside, while its owner goes on. */
#include "seam/aside.h"

#include "cpu/runtime/thread.h"

#include <stdlib.h>
#include <time.h>

struct bf_aside {
    pthread_t thread;
    bool started, quit;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *arg); /* NULL: there is none, or it is done */
    void *arg;
};

static void *aside_main(void *arg) {
    bf_aside *aside = arg;
    pthread_mutex_lock(&aside->lock);
    while (!aside->quit) {
        if (aside->work == NULL) {
            pthread_cond_wait(&aside->changed, &aside->lock);
            continue;
        }
        pthread_mutex_unlock(&aside->lock);
        aside->work(aside->arg);
        pthread_mutex_lock(&aside->lock);
        aside->work = NULL;
        pthread_cond_signal(&aside->changed);
    }
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

bf_aside *bf_aside_open(void) {
    bf_aside *aside = calloc(1, sizeof *aside);
    if (aside == NULL) return NULL;
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
        aside->quit = true;
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
    pthread_mutex_lock(&aside->lock);
    aside->work = work;
    aside->arg = arg;
    pthread_cond_signal(&aside->changed);
    pthread_mutex_unlock(&aside->lock);
}

static struct timespec after(int64_t ns) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

bool bf_aside_wait(bf_aside *aside, int64_t ns) {
    const struct timespec until = after(ns);
    int result = 0;
    pthread_mutex_lock(&aside->lock);
    while (aside->work != NULL && result == 0)
        result = pthread_cond_timedwait(&aside->changed, &aside->lock, &until);
    bool done = aside->work == NULL;
    pthread_mutex_unlock(&aside->lock);
    return done;
}
