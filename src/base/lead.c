/* Loops that the calling thread leads: it opens their items, and workers take them. */
#include "base/context.h"
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* A worker that finds no item asks again so often, some hundred microseconds long, before it
 * sleeps: waking it takes nearly as long as an item does. */
enum { TRIES = 1000 };

struct bf_lead {
    bf_lead_run *run;
    bf_lead_item *work;
    void *arg;
    bf_status status;          /* the status of run */
    _Atomic int64_t next, end; /* items [next, end) are open, and taken by nobody */
    atomic_bool over;
    pthread_mutex_t lock; /* guards the sleep of workers */
    pthread_cond_t wake;
    int asleep;
};

static bool take_item(bf_lead *l, int64_t *item) {
    *item = atomic_load(&l->next);
    while (*item < atomic_load(&l->end))
        if (atomic_compare_exchange_weak(&l->next, item, *item + 1)) return true;
    return false;
}

static void sleep_until_opened(bf_lead *l) {
    pthread_mutex_lock(&l->lock);
    l->asleep++;
    while (!atomic_load(&l->over) && atomic_load(&l->next) >= atomic_load(&l->end))
        pthread_cond_wait(&l->wake, &l->lock);
    l->asleep--;
    pthread_mutex_unlock(&l->lock);
}

/* False: the loop is over. */
static bool await_item(bf_lead *l, int64_t *item) {
    for (int tries = 0; !atomic_load(&l->over); tries++) {
        if (take_item(l, item)) return true;
        if (tries < TRIES)
            sched_yield();
        else
            sleep_until_opened(l);
    }
    return false;
}

static void wake_workers(bf_lead *l, int64_t items, bool over) {
    pthread_mutex_lock(&l->lock);
    atomic_fetch_add(&l->end, items);
    atomic_store(&l->over, over);
    if (l->asleep > 0) pthread_cond_broadcast(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

static void take_part(void *arg, int worker) {
    bf_lead *l = arg;
    int64_t item;
    if (worker > 0) {
        while (await_item(l, &item)) l->work(l->arg, item);
        return;
    }
    l->status = l->run(l->arg, l);
    wake_workers(l, 0, true);
}

bf_status bf_parallel_led(bf_context *context, int workers, bf_lead_run *run, bf_lead_item *work,
                          void *arg) {
    bf_lead l = {.run = run, .work = work, .arg = arg};
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.wake, NULL);
    bf_pool_run(context->pool, workers, take_part, &l);
    pthread_cond_destroy(&l.wake);
    pthread_mutex_destroy(&l.lock);
    return l.status;
}

void bf_lead_open(bf_lead *lead, int64_t items) { wake_workers(lead, items, false); }

void bf_lead_help(bf_lead *lead) {
    int64_t item;
    if (take_item(lead, &item))
        lead->work(lead->arg, item);
    else
        sched_yield();
}
