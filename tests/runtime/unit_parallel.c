/* The parallel loop: every piece is done once and handed out in order, a failure stops it, and each
 * worker is one thread at a time, and a watch is told and asked; and the memory that workers have.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"
#include "tests/support/witness.h"

#include "cpu/runtime/context.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 5000, WORKERS = 8 };

/* What a loop's calls were. */
typedef struct record {
    int64_t n, piece;
    int workers;
    pthread_t caller;
    atomic_int done[ITEMS]; /* calls for each item */
    atomic_int busy[WORKERS];
    _Atomic int64_t last[WORKERS]; /* first item of the worker's last piece; -1: none */
    atomic_int wrong;
} record;

static bf_status take_note(void *arg, int worker, int64_t first, int64_t n) {
    record *r = arg;
    bool known = worker >= 0 && worker < r->workers;
    int64_t end = first + r->piece < r->n ? first + r->piece : r->n;
    if (!known || first % r->piece != 0 || first + n != end) {
        atomic_fetch_add(&r->wrong, 1);
        return BF_OK;
    }
    if (atomic_exchange(&r->busy[worker], 1) != 0) atomic_fetch_add(&r->wrong, 1);
    if (first <= atomic_exchange(&r->last[worker], first)) atomic_fetch_add(&r->wrong, 1);
    if ((worker == 0) != (pthread_equal(pthread_self(), r->caller) != 0))
        atomic_fetch_add(&r->wrong, 1);
    for (int64_t i = first; i < first + n; i++) atomic_fetch_add(&r->done[i], 1);
    atomic_store(&r->busy[worker], 0);
    return BF_OK;
}

static void check_loop(bf_context *c, int workers, int64_t n, int64_t piece) {
    static record r;
    memset(&r, 0, sizeof r);
    r.n = n;
    r.piece = piece;
    r.workers = workers;
    r.caller = pthread_self();
    for (int w = 0; w < WORKERS; w++) r.last[w] = -1;
    assert_int_equal(bf_parallel(c, workers, n, piece, take_note, &r), BF_OK);
    assert_int_equal(atomic_load(&r.wrong), 0);
    for (int64_t i = 0; i < n; i++) assert_int_equal(atomic_load(&r.done[i]), 1);
}

TEST(every_item_is_done_once_and_pieces_come_in_order) {
    static const int64_t sizes[] = {0, 1, 2, 6, 7, 8, 13, 14, 15, ITEMS - 1, ITEMS};
    static const int64_t pieces[] = {1, 7, 1000, 2 * ITEMS};
    for (int threads = 1; threads <= WORKERS; threads++) {
        OWN(bf_context) *c = make_context(NULL, threads);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
                for (int workers = 1; workers <= threads; workers++)
                    check_loop(c, workers, sizes[s], pieces[p]);
    }
}

/* Workers beyond the pool's threads are not asked for work. */
TEST(more_workers_than_threads_or_pieces_are_fine) {
    OWN(bf_context) *c = make_context(NULL, 2);
    check_loop(c, WORKERS, ITEMS, 3);
    check_loop(c, WORKERS, 2, 1);
}

/* ---- failures -------------------------------------------------------------------------------- */

typedef struct failing {
    atomic_int done[ITEMS];
    int64_t fails; /* this item and every tenth from it on */
} failing;

static bf_status fail_sometimes(void *arg, int worker, int64_t first, int64_t n) {
    failing *f = arg;
    (void)worker, (void)n;
    atomic_fetch_add(&f->done[first], 1);
    if (first == f->fails) return BF_E_STATE;
    return first > f->fails && (first - f->fails) % 10 == 0 ? BF_E_MEMORY : BF_OK;
}

TEST(the_first_failure_is_returned_and_all_before_it_is_done) {
    static const int64_t at[] = {0, 1, 5, 499, ITEMS - 1};
    static failing f;
    for (int threads = 1; threads <= WORKERS; threads++) {
        OWN(bf_context) *c = make_context(NULL, threads);
        for (size_t k = 0; k < 100 * sizeof at / sizeof *at; k += CASE_STEP) {
            memset(&f, 0, sizeof f);
            f.fails = at[k % (sizeof at / sizeof *at)];
            assert_int_equal(bf_parallel(c, threads, ITEMS, 1, fail_sometimes, &f), BF_E_STATE);
            for (int64_t i = 0; i <= f.fails; i++) assert_int_equal(atomic_load(&f.done[i]), 1);
            for (int64_t i = f.fails + 1; i < ITEMS; i++)
                assert_in_range(atomic_load(&f.done[i]), 0, threads > 1);
        }
    }
}

static bf_status fail_at_once(void *arg, int worker, int64_t first, int64_t n) {
    atomic_int *calls = arg;
    (void)worker, (void)first, (void)n;
    atomic_fetch_add(calls, 1);
    return BF_E_STATE;
}

/* A worker's own failure is the last piece that it takes. */
TEST(a_failure_stops_the_loop) {
    for (int threads = 1; threads <= WORKERS; threads++) {
        OWN(bf_context) *c = make_context(NULL, threads);
        atomic_int calls = 0;
        assert_int_equal(bf_parallel(c, threads, ITEMS, 1, fail_at_once, &calls), BF_E_STATE);
        assert_in_range(atomic_load(&calls), 1, threads);
    }
}

static bool wait_for(atomic_bool *flag) {
    const struct timespec pause = {.tv_nsec = 100000};
    for (int i = 0; i < 100000 && !atomic_load(flag); i++) nanosleep(&pause, NULL);
    return atomic_load(flag);
}

typedef struct late_failure {
    atomic_bool second_failed, first_waited;
} late_failure;

/* Piece 0 fails, but only once piece 1 has. */
static bf_status fail_late(void *arg, int worker, int64_t first, int64_t n) {
    late_failure *f = arg;
    (void)worker, (void)n;
    if (first > 0) {
        atomic_store(&f->second_failed, true);
        return BF_E_MEMORY;
    }
    atomic_store(&f->first_waited, wait_for(&f->second_failed));
    return BF_E_STATE;
}

/* Takes two threads. */
static bool first_failure_counts(bf_context *c) {
    late_failure f = {.second_failed = false};
    return bf_parallel(c, 2, 2, 1, fail_late, &f) == BF_E_STATE && atomic_load(&f.first_waited);
}

TEST(the_first_failure_counts_even_if_it_comes_late) {
    OWN(bf_context) *c = make_context(NULL, 2);
    assert_true(first_failure_counts(c));
}

/* ---- threads --------------------------------------------------------------------------------- */

static bf_status count_items(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker, (void)first;
    atomic_fetch_add((_Atomic int64_t *)arg, n);
    return BF_OK;
}

static bool counts_all(bf_context *c) {
    _Atomic int64_t items = 0;
    return bf_parallel(c, WORKERS, ITEMS, 1, count_items, &items) == BF_OK &&
           atomic_load(&items) == ITEMS;
}

TEST(a_forked_child_has_workers_of_its_own) {
#ifdef THREAD_SANITIZER
    leave_out("ThreadSanitizer allows no threads after fork");
#endif
    bf_context *c = make_context(NULL, 3);
    assert_true(counts_all(c));
    pid_t child = fork();
    if (child == 0) {
        alarm(30); /* a hang is a failure */
        bool right = counts_all(c) && first_failure_counts(c) && counts_all(c);
        bf_context_destroy(c);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(counts_all(c));
    bf_context_destroy(c);
}

typedef struct roundings {
    atomic_bool came[2], up[2]; /* the caller's thread, and the pool's */
} roundings;

static bf_status look_at_rounding(void *arg, int worker, int64_t first, int64_t n) {
    roundings *r = arg;
    volatile double one = 1, little = 0x1p-60;
    (void)first, (void)n;
    atomic_store(&r->up[worker], one + little > 1);
    atomic_store(&r->came[worker], true);
    return wait_for(&r->came[1 - worker]) ? BF_OK : BF_E_STATE;
}

TEST(the_pools_threads_round_to_nearest) {
    OWN(bf_context) *c = make_context(NULL, 2);
    roundings r = {.came = {false, false}};
    fesetround(FE_UPWARD);
    bf_status status = bf_parallel(c, 2, 2, 1, look_at_rounding, &r);
    fesetround(FE_TONEAREST);
    assert_int_equal(status, BF_OK);
    assert_true(atomic_load(&r.up[0]));
    assert_false(atomic_load(&r.up[1]));
}

TEST(items_are_worth_as_many_threads_as_there_are) {
    OWN(bf_context) *c = make_context(NULL, 4);
    assert_int_equal(bf_host_threads(c), 4);
    static const struct {
        int64_t n, least;
        int workers;
    } cases[] = {{0, 1, 1},     {1, 1, 1},     {2, 1, 2},     {4, 1, 4},        {5, 1, 4},
                 {199, 100, 1}, {200, 100, 2}, {399, 100, 3}, {INT64_MAX, 1, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(bf_workers(c, cases[i].n, cases[i].least), cases[i].workers);
}

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(rooms_are_apart_and_look_new_to_each_loop) {
    static const size_t sizes[] = {8, 1000, 100, 1 << 20};
    OWN(bf_context) *c = make_context(NULL, 3);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        assert_true(bf_rooms_open(c, 3, sizes[s]));
        for (int w = 0; w < 3; w++) {
            uint64_t first;
            memcpy(&first, bf_room(c, w), sizeof first);
            assert_int_equal(first, 0);
            assert_int_equal((uintptr_t)bf_room(c, w) % BF_CPU_APART, 0);
            memset(bf_room(c, w), w + 1, sizes[s]);
        }
        for (int w = 0; w < 3; w++)
            for (size_t i = 0; i < sizes[s]; i++)
                assert_int_equal(((const char *)bf_room(c, w))[i], w + 1);
    }
}

TEST(large_memory_is_zeros_before_and_after_a_touch) {
    static const size_t sizes[] = {1, 4095, 4096, 4097, (5 << 20) + 3};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        char *memory = bf_zeros(sizes[s]);
        assert_non_null(memory);
        bf_touch(memory, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++)
            if (memory[i] != 0) fail_msg("byte %zu of %zu is not 0", i, sizes[s]);
        bf_free(memory);
    }
}

/* ---- watched loops --------------------------------------------------------------------------- */

static bf_status add_items(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker, (void)first;
    atomic_fetch_add((_Atomic int64_t *)arg, n);
    return BF_OK;
}

TEST(a_watched_loop_tells_its_bytes) {
    static const int64_t sizes[] = {1, 7, 8, ITEMS};
    for (int threads = 1; threads <= WORKERS; threads++) {
        OWN(bf_context) *c = make_context(NULL, threads);
        witness w;
        begin_watch(&w, c, 0, 0);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            _Atomic int64_t done = 0;
            const int64_t bytes = INT64_MAX / 16 + (int64_t)s, before = c->watched.bytes;
            c->in_use = true; /* as in a call */
            assert_int_equal(bf_watch_begin(c, 2 * bytes), BF_OK);
            assert_int_equal(bf_parallel_watched(c, threads, sizes[s], 7, bytes, add_items, &done),
                             BF_OK);
            assert_int_equal(c->watched.bytes, before + bytes);
            assert_int_equal(bf_watch_end(c, BF_OK), BF_OK);
            assert_int_equal(c->watched.bytes, before + 2 * bytes);
            assert_int_equal(atomic_load(&done), sizes[s]);
            c->in_use = false;
        }
        end_watch(&w);
    }
}

TEST(a_cancelled_loop_takes_no_more_pieces) {
    OWN(bf_context) *c = make_context(NULL, 1);
    for (int k = 1; k <= 10; k++) {
        witness w;
        _Atomic int64_t done = 0;
        begin_watch(&w, c, 0, k);
        c->in_use = true;
        assert_int_equal(bf_parallel_watched(c, 1, 100, 10, 0, add_items, &done), BF_E_CANCELLED);
        assert_int_equal(atomic_load(&done), 10 * k);
        c->in_use = false;
        end_watch(&w);
    }
}

/* Worker 1 fails when the watch has been asked. */
typedef struct race {
    atomic_bool taken, asked;
} race;

static int cancel_race(void *arg, int64_t bytes) {
    (void)bytes;
    atomic_store(&((race *)arg)->asked, true);
    return 1;
}

static bf_status race_watch(void *arg, int worker, int64_t first, int64_t n) {
    race *r = arg;
    (void)first, (void)n;
    if (worker == 0) return wait_for(&r->taken) ? BF_OK : BF_E_STATE;
    atomic_store(&r->taken, true);
    wait_for(&r->asked);
    return BF_E_MEMORY;
}

TEST(a_cancel_counts_before_any_failure) {
    OWN(bf_context) *c = make_context(NULL, 2);
    for (int i = 0; i < 20; i++) {
        race r = {false, false};
        const bf_watch watch = BF_WATCH(.tick = cancel_race, .arg = &r);
        assert_int_equal(bf_context_watch(c, &watch), BF_OK);
        assert_int_equal(bf_parallel_watched(c, 2, 100, 1, 0, race_watch, &r), BF_E_CANCELLED);
    }
}

UNIT_TESTS(parallel, NULL, NULL)
