/* Carriers that have few functions, that fail, and memory that runs out on any rank: all ranks get
 * the same status, and none waits for ever.
 * Builds: release (full), asan (full). */
#include "tests/support/failing_malloc.h"
#include "tests/support/unit.h"

#include "tests/comm/merges.h"
#include "tests/comm/sums.h"

/* ---- a carrier of threads -------------------------------------------------------------------- */

typedef struct crowd {
    pthread_barrier_t barrier;
    int ranks, functions; /* functions: how many the carrier has */
    long calls, most; /* calls of its functions; those after `most` fail, on all ranks; -1: none */
    const char *to[RANKS_MOST];
    const int64_t *sizes[RANKS_MOST];
    int destroyed[RANKS_MOST];
} crowd;

typedef struct member {
    crowd *all;
    int rank;
} member;

static int exchange_bytes(void *arg, const void *to, const int64_t to_bytes[], void *from,
                          const int64_t from_bytes[]) {
    const member *m = arg;
    crowd *c = m->all;
    char *at = from;
    c->to[m->rank] = to;
    c->sizes[m->rank] = to_bytes;
    if (pthread_barrier_wait(&c->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) c->calls++;
    for (int r = 0; r < c->ranks; at += from_bytes[r], r++) {
        const char *begin = c->to[r];
        for (int i = 0; i < m->rank; i++) begin += c->sizes[r][i];
        if (c->sizes[r][m->rank] != from_bytes[r]) abort();
        if (from_bytes[r] > 0) memcpy(at, begin, (size_t)from_bytes[r]);
    }
    pthread_barrier_wait(&c->barrier);
    return c->most >= 0 && c->calls > c->most ? 7 : 0;
}

static int gather_bytes(void *arg, const void *mine, void *all, int64_t bytes) {
    const member *m = arg;
    int64_t sizes[RANKS_MOST];
    char *copies = malloc((size_t)(m->all->ranks * bytes) + 1);
    for (int r = 0; r < m->all->ranks; r++) {
        memcpy(copies + r * bytes, mine, (size_t)bytes);
        sizes[r] = bytes;
    }
    int failed = exchange_bytes(arg, copies, sizes, all, sizes);
    free(copies);
    return failed;
}

static int add_words(void *arg, int64_t *words, int64_t count) {
    const member *m = arg;
    int64_t *all = malloc((size_t)(m->all->ranks * count) * 8 + 1);
    int failed = gather_bytes(arg, words, all, count * 8);
    for (int64_t i = 0; i < count; i++) {
        words[i] = all[i];
        for (int r = 1; r < m->all->ranks; r++)
            words[i] = (int64_t)((uint64_t)words[i] + (uint64_t)all[r * count + i]);
    }
    free(all);
    return failed;
}

static int merge_message(void *arg, int64_t *message, int64_t bytes) {
    const member *m = arg;
    int64_t *all = malloc((size_t)(m->all->ranks * bytes) + 1);
    int failed = gather_bytes(arg, message, all, bytes);
    memcpy(message, all, (size_t)bytes);
    for (int r = 1; r < m->all->ranks; r++) bf_comm_merge_message(message, all + r * (bytes / 8));
    free(all);
    return failed;
}

static void leave_crowd(void *arg) {
    const member *m = arg;
    m->all->destroyed[m->rank]++;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct crowd_work {
    crowd *all;
    rank_work *work;
    void *arg;
} crowd_work;

/* Runs work on a communicator over the crowd's carrier. `comm` only tells the rank. */
static bool run_in_crowd(bf_comm *comm, bf_context *context, void *arg) {
    crowd_work *w = arg;
    member m = {w->all, bf_comm_rank(comm)};
    bf_carrier carrier = BF_CARRIER(.rank = m.rank, .ranks = w->all->ranks, .arg = &m,
                                    .exchange = exchange_bytes, .destroy = leave_crowd);
    if (w->all->functions > 1) carrier.gather = gather_bytes;
    if (w->all->functions > 2) carrier.add = add_words;
    if (w->all->functions > 3) carrier.merge = merge_message;
    bf_comm *over = NULL;
    bf_status status = bf_comm_create(context, &carrier, &over);
    if (status != BF_OK) {
        CHECK(status == BF_E_COMM && w->all->most >= 0 && over == NULL);
        CHECK(w->all->destroyed[m.rank] == 0);
        return true;
    }
    bool right = w->work(over, context, w->arg);
    bf_comm_destroy(over);
    CHECK(w->all->destroyed[m.rank] == 1);
    return right;
}

static long run_crowd(int ranks, int functions, long most, rank_work *work, void *arg) {
    crowd all = {.ranks = ranks, .functions = functions, .most = most};
    crowd_work w = {&all, work, arg};
    pthread_barrier_init(&all.barrier, NULL, (unsigned)ranks);
    on_ranks(ranks, run_in_crowd, &w);
    pthread_barrier_destroy(&all.barrier);
    return all.calls;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(exchange_is_enough) {
    for (int functions = 1; functions <= 4; functions++) {
        problem *p = make_problem(BF_F64, KIND_NARROW);
        sum_problem s;
        make_sum_problem(&s, BF_F32, KIND_FULL, 2520, 7);
        for (int n = 2; n <= 5; n += 3) {
            run_crowd(n, functions, -1, merge_all_ops, p);
            run_crowd(n, functions, -1, merge_counts, p);
            run_crowd(n, functions, -1, merge_many_states, p);
            run_crowd(n, functions, -1, merge_quantiles, p);
            run_crowd(n, functions, -1, share_groups, p);
            run_crowd(n, functions, -1, add_arrays, &s);
        }
        run_crowd(3, functions, -1, refuse_states, p);
        run_crowd(3, functions, -1, refuse_arrays, NULL);
        free_sum_problem(&s);
        free(p);
    }
}

enum { CALLS = 7 };

/* The statuses that each rank got. */
typedef struct outcome {
    const problem *p;
    pthread_barrier_t barrier;
    long until; /* allocations that succeed; -1: all */
    bf_status status[RANKS_MOST][CALLS];
} outcome;

/* One call of each kind. */
static bool try_calls(bf_comm *comm, bf_context *context, void *arg) {
    enum { LARGE = 4000 };
    outcome *o = arg;
    int rank = bf_comm_rank(comm);
    double *data = calloc(LARGE, sizeof *data);
    bf_array a = bf_array_of(BF_F64, data, LARGE), few = bf_array_of(BF_F64, data, 3);
    const bf_histogram_options bins =
        BF_HISTOGRAM_OPTIONS(.bins = 400, .range = 1, .lo = 0, .hi = 1, .weights = BF_F64);
    const bf_aggregate aggregates[] = {{BF_SUM, o->p->dtype}, {BF_MAX, o->p->dtype}};
    const bf_groups_options kind =
        BF_GROUPS_OPTIONS(.key = BF_I32, .count = 2, .aggregates = aggregates);
    bf_state *states[] = {state_of(context, o->p, BF_VAR, 0, 9),
                          state_of(context, o->p, BF_MIN, 0, 9)};
    bf_states *many = many_of(context, o->p, BF_SUM, 5, 0, 9);
    bf_quantiles *q = NULL;
    bf_histogram *h = NULL;
    bf_groups *g = NULL;
    CHECK(bf_quantiles_create(context, BF_F64, NULL, 0, NULL, &q) == BF_OK);
    CHECK(data && states[0] && states[1] && many && bf_groups_create(context, &kind, &g) == BF_OK);
    CHECK(bf_histogram_create(context, BF_F64, &bins, &h) == BF_OK && absorb_rows(g, o->p, 0, 99));
    pthread_barrier_wait(&o->barrier);
    if (rank == 0) atomic_store(&until_failure, o->until);
    pthread_barrier_wait(&o->barrier);
    o->status[rank][0] = bf_comm_merge_states(comm, states, 2);
    o->status[rank][1] = bf_comm_merge_histogram(comm, h);
    o->status[rank][2] = bf_comm_allreduce(comm, &a, &a);
    o->status[rank][3] = bf_comm_exchange_groups(comm, g);
    o->status[rank][4] = bf_comm_allreduce(comm, &few, &few);
    o->status[rank][5] = bf_comm_merge_many(comm, many);
    o->status[rank][6] = bf_comm_merge_quantiles(comm, q);
    pthread_barrier_wait(&o->barrier);
    if (rank == 0) atomic_store(&until_failure, -1);
    pthread_barrier_wait(&o->barrier);
    bf_histogram_destroy(h);
    bf_quantiles_destroy(q);
    bf_groups_destroy(g);
    bf_states_destroy(many);
    bf_state_destroy(states[0]);
    bf_state_destroy(states[1]);
    free(data);
    return true;
}

/* Do all ranks have the statuses of rank 0, and is each BF_OK or `failure`? Sets *failed. */
static void check_outcome(const outcome *o, int ranks, bf_status failure, bool *failed) {
    *failed = false;
    for (int i = 0; i < CALLS; i++)
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(o->status[r][i], o->status[0][i]);
            if (o->status[r][i] != BF_OK) assert_int_equal(o->status[r][i], failure);
            *failed |= o->status[r][i] != BF_OK;
        }
}

TEST(a_carrier_may_fail_at_any_call) {
    problem *p = make_problem(BF_F64, KIND_NARROW);
    for (int functions = 1; functions <= 4; functions++) {
        const int step = DATA_SHARE > 1 ? 2 : 1;
        bool failed = true;
        for (long most = functions % step; failed; most += step) {
            outcome o = {.p = p, .until = -1};
            pthread_barrier_init(&o.barrier, NULL, 3);
            long calls = run_crowd(3, functions, most, try_calls, &o);
            pthread_barrier_destroy(&o.barrier);
            check_outcome(&o, 3, BF_E_COMM, &failed);
            failed = failed || calls > most;
        }
    }
    free(p);
}

TEST(memory_may_run_out_on_any_rank) {
#ifdef SANITIZED
    (void)live, (void)failures;
    leave_out("a sanitizer has its own malloc");
#else
    problem *p = make_problem(BF_F64, KIND_NARROW);
    bool failed = true;
    long until = 0;
    for (; failed; until++) {
        outcome o = {.p = p, .until = until};
        pthread_barrier_init(&o.barrier, NULL, 3);
        on_ranks(3, try_calls, &o);
        pthread_barrier_destroy(&o.barrier);
        check_outcome(&o, 3, BF_E_MEMORY, &failed);
    }
    assert_true(until > 20);
    free(p);
#endif
}

/* Waits for a rank that never comes. */
static bool wait_alone(bf_comm *comm, bf_context *context, void *arg) {
    (void)arg;
    double x = 1;
    bf_array a = bf_array_of(BF_F64, &x, 1);
    CHECK(bf_comm_allreduce(comm, &a, &a) == BF_E_COMM);
    CHECK(strstr(bf_context_message(context), "carrier failed") != NULL);
    CHECK(bf_comm_allreduce(comm, &a, &a) == BF_E_COMM);
    return true;
}

TEST(a_thread_that_leaves_is_not_waited_for) {
    for (int first = 0; first < 2; first++) { /* before or after the other one waits */
        bf_context *contexts[2];
        bf_comm *comms[2];
        pthread_t thread;
        for (int i = 0; i < 2; i++)
            assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu"), &contexts[i]), BF_OK);
        assert_int_equal(bf_comm_create_local(contexts, 2, comms), BF_OK);
        rank_thread r = {comms[0], contexts[0], wait_alone, NULL, false};
        if (first == 0) bf_comm_destroy(comms[1]);
        assert_int_equal(pthread_create(&thread, NULL, run_rank, &r), 0);
        if (first == 1) bf_comm_destroy(comms[1]);
        pthread_join(thread, NULL);
        assert_true(r.right);
        bf_comm_destroy(comms[0]);
        for (int i = 0; i < 2; i++) bf_context_destroy(contexts[i]);
    }
}

UNIT_TESTS(comm_failing, NULL, NULL)
