/* The loop that the calling thread leads: every item is done once, none before it is opened, and
 * other threads do items while that thread is busy.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { ITEMS = 2000, WORKERS = 8 };

typedef struct record {
    pthread_t caller;
    int64_t opens;    /* items at a time */
    bool helps;       /* the calling thread does items, too; else it waits for others */
    bf_status status; /* what run returns */
    _Atomic int64_t opened;
    atomic_int done[ITEMS];
    _Atomic int64_t all;       /* items done */
    _Atomic int64_t by_caller; /* items done by that thread */
    atomic_int wrong;
} record;

static void note_item(void *arg, int64_t item) {
    record *r = arg;
    if (item < 0 || item >= atomic_load(&r->opened) || atomic_fetch_add(&r->done[item], 1) != 0)
        atomic_fetch_add(&r->wrong, 1);
    if (pthread_equal(pthread_self(), r->caller)) atomic_fetch_add(&r->by_caller, 1);
    atomic_fetch_add(&r->all, 1);
}

static void pause_thread(void) {
    const struct timespec pause = {.tv_nsec = 100000};
    nanosleep(&pause, NULL);
}

/* Opens items when those before are done; sometimes late, so that workers sleep. */
static bf_status open_items(void *arg, bf_lead *lead) {
    record *r = arg;
    for (int64_t at = 0; at < ITEMS; at += r->opens) {
        const int64_t n = ITEMS - at < r->opens ? ITEMS - at : r->opens;
        if (atomic_load(&r->all) != at) atomic_fetch_add(&r->wrong, 1);
        for (int i = 0; i < 30 && at % (ITEMS / 4) == 0; i++) pause_thread();
        atomic_fetch_add(&r->opened, n);
        bf_lead_open(lead, n);
        while (atomic_load(&r->all) < at + n) {
            if (r->helps)
                bf_lead_help(lead);
            else
                pause_thread();
        }
    }
    return r->status;
}

static void check_items(bf_context *c, int workers, int64_t opens, bool helps) {
    static record r;
    memset(&r, 0, sizeof r);
    r.caller = pthread_self();
    r.opens = opens;
    r.helps = helps;
    r.status = opens == 1 ? BF_E_DEVICE : BF_OK;
    assert_int_equal(bf_parallel_led(c, workers, open_items, note_item, &r), r.status);
    assert_int_equal(atomic_load(&r.wrong), 0);
    assert_int_equal(atomic_load(&r.all), ITEMS);
    for (int64_t i = 0; i < ITEMS; i++) assert_int_equal(atomic_load(&r.done[i]), 1);
    if (!helps) assert_int_equal(atomic_load(&r.by_caller), 0);
    if (workers == 1) assert_int_equal(atomic_load(&r.by_caller), ITEMS);
}

TEST(every_item_is_done_once) {
    static const int64_t opens[] = {1, 7, ITEMS / 4, ITEMS};
    for (int threads = 1; threads <= WORKERS; threads *= 2) {
        OWN(bf_context) *c = make_context(NULL, threads);
        for (int workers = 1; workers <= threads; workers += 3)
            for (size_t i = 0; i < sizeof opens / sizeof *opens; i++)
                check_items(c, workers, opens[i], true);
    }
}

TEST(other_threads_do_items_while_the_caller_is_busy) {
    OWN(bf_context) *c = make_context(NULL, 4);
    check_items(c, 2, 100, false);
    check_items(c, 4, ITEMS, false);
}

/* More than are ever done: the loop ends with what its threads have begun. */
static bf_status open_and_leave(void *arg, bf_lead *lead) {
    record *r = arg;
    atomic_fetch_add(&r->opened, ITEMS);
    bf_lead_open(lead, ITEMS);
    for (int i = 0; i < 10; i++) bf_lead_help(lead);
    return BF_E_CANCELLED;
}

TEST(nothing_is_begun_when_the_caller_has_left) {
    for (int threads = 1; threads <= 4; threads++) {
        static record r;
        OWN(bf_context) *c = make_context(NULL, threads);
        memset(&r, 0, sizeof r);
        r.caller = pthread_self();
        assert_int_equal(bf_parallel_led(c, threads, open_and_leave, note_item, &r),
                         BF_E_CANCELLED);
        const int64_t all = atomic_load(&r.all);
        for (int i = 0; i < 5; i++) pause_thread();
        assert_int_equal(atomic_load(&r.all), all);
        assert_int_equal(atomic_load(&r.wrong), 0);
        if (threads == 1) assert_int_equal(all, 10);
    }
}

UNIT_TESTS(lead, NULL, NULL)
