#include "work/threads.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MOST = 64 };

typedef struct shared {
    bool (*work)(void *arg, int i);
    void *arg;
    int n;
    atomic_int next; /* the next that nobody has begun */
    atomic_bool failed;
} shared;

static void *take_shares(void *arg) {
    shared *s = arg;
    for (int i; (i = atomic_fetch_add(&s->next, 1)) < s->n && !atomic_load(&s->failed);)
        if (!s->work(s->arg, i)) atomic_store(&s->failed, true);
    return NULL;
}

bool threads_share(int threads, int n, bool (*work)(void *arg, int i), void *arg) {
    shared s = {.work = work, .arg = arg, .n = n};
    pthread_t others[THREADS_MOST];
    const int most = threads < n ? threads : n;
    int started = 0;
    while (started + 1 < most && started < THREADS_MOST &&
           pthread_create(&others[started], NULL, take_shares, &s) == 0)
        started++;
    take_shares(&s);
    for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
    return !atomic_load(&s.failed);
}
