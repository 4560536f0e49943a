/* A team of threads, started for each piece of work: the plain way, with its cost. */
#include "ladder/team.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct member {
    ladder_share *share;
    void *work;
    int64_t from, to;
    int rank;
    bool started;
    pthread_t id;
} member;

static void *run(void *argument) {
    member *m = argument;
    m->share(m->work, m->from, m->to, m->rank);
    return NULL;
}

/* The caller is member 0. It also does the work of threads that could not be started. */
void ladder_team(int threads, int64_t n, ladder_share *share, void *work) {
    member members[LADDER_THREADS];
    if (threads > LADDER_THREADS) threads = LADDER_THREADS;
    for (int i = 0; i < threads; i++) {
        members[i] = (member){.share = share, .work = work, .rank = i};
        members[i].from = n / threads * i;
        members[i].to = i == threads - 1 ? n : n / threads * (i + 1);
    }
    for (int i = 1; i < threads; i++)
        members[i].started = pthread_create(&members[i].id, NULL, run, &members[i]) == 0;
    run(&members[0]);
    for (int i = 1; i < threads; i++) {
        if (members[i].started)
            pthread_join(members[i].id, NULL);
        else
            run(&members[i]);
    }
}
