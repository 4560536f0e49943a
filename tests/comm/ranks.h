/* Ranks that are threads of this process. */
#ifndef BITFOLD_TESTS_COMM_RANKS_H
#define BITFOLD_TESTS_COMM_RANKS_H

#include "tests/support/data.h"
#include "tests/support/leave_out.h"

#include <pthread.h>
#include <stdio.h>

enum { RANKS_MOST = 8 };

/* What each rank runs. It may not use cmocka's asserts, which belong to one thread: it returns
 * whether all was right. */
typedef bool rank_work(bf_comm *comm, bf_context *context, void *arg);

typedef struct rank_thread {
    bf_comm *comm;
    bf_context *context;
    rank_work *work;
    void *arg;
    bool right;
} rank_thread;

static inline void *run_rank(void *arg) {
    rank_thread *r = arg;
    r->right = r->work(r->comm, r->context, r->arg);
    return NULL;
}

/* Notes where a rank was wrong. */
#define CHECK(right)                                                                               \
    do {                                                                                           \
        if (!(right)) {                                                                            \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, bf_comm_rank(comm),  \
                    bf_comm_ranks(comm), #right);                                                  \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static inline void each_rank(rank_thread *r, int n) {
    pthread_t threads[RANKS_MOST];
    for (int i = 1; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &r[i]), 0);
    run_rank(&r[0]);
    for (int i = 1; i < n; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++) assert_true(r[i].right);
}

/* Runs work on n ranks at once. */
static inline void on_ranks(int n, rank_work *work, void *arg) {
    rank_thread r[RANKS_MOST];
    bf_context *contexts[RANKS_MOST] = {NULL};
    bf_comm *comms[RANKS_MOST];
    const bf_options options = BF_OPTIONS(.device = "cpu", .threads = 1 + n % 2);
    for (int i = 0; i < n; i++) assert_int_equal(bf_context_create(&options, &contexts[i]), BF_OK);
    assert_int_equal(bf_comm_create_local(contexts, n, comms), BF_OK);
    for (int i = 0; i < n; i++) r[i] = (rank_thread){comms[i], contexts[i], work, arg, false};
    each_rank(r, n);
    for (int i = 0; i < n; i++) {
        bf_comm_destroy(comms[i]);
        bf_context_destroy(contexts[i]);
    }
}

/* The part of n elements that a rank has: uneven, and of some ranks nothing. */
static inline int64_t part_begin(int64_t n, int rank, int ranks) {
    if (rank <= 0) return 0;
    if (rank >= ranks) return n;
    int64_t begin = n * rank * rank / ((int64_t)ranks * ranks);
    return rank % 3 == 2 ? n * (rank - 1) * (rank - 1) / ((int64_t)ranks * ranks) : begin;
}

#endif
