/* For the tests of watches: one that counts its ticks, cancels at one of them, and sees that bytes
 * never fall and that the context refuses calls. */
#ifndef BITFOLD_TESTS_SUPPORT_WITNESS_H
#define BITFOLD_TESTS_SUPPORT_WITNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bitfold.h>
#include <cmocka.h>
#include <stdbool.h>

#include "tests/support/sanitizer.h"

typedef struct witness {
    bf_context *context;
    int ticks, cancel_at; /* 0: never */
    int64_t bytes;
    bool wrong;
} witness;

static inline int watch_tick(void *arg, int64_t bytes) {
    witness *w = arg;
    w->wrong |= bytes < w->bytes || bf_context_synchronize(w->context) != BF_E_ARGUMENT;
    w->bytes = bytes;
    return ++w->ticks == w->cancel_at;
}

static inline void begin_watch(witness *w, bf_context *context, int64_t every_ns, int cancel_at) {
    *w = (witness){.context = context, .cancel_at = cancel_at};
    const bf_watch watch = BF_WATCH(.every_ns = every_ns, .tick = watch_tick, .arg = w);
    assert_int_equal(bf_context_watch(context, &watch), BF_OK);
}

static inline void end_watch(const witness *w) {
    assert_false(w->wrong);
    assert_int_equal(bf_context_watch(w->context, NULL), BF_OK);
}

/* Return the number of threads to try after `threads` (0: the first), and the tick to cancel at
 * after k: the first, the second, one between, the last of all. 0: none is left. The sanitizers
 * make all slow: they get one number of threads, and ThreadSanitizer, which sees threads alone, one
 * tick.
 */
static inline int next_threads(int threads) {
#if defined(THREAD_SANITIZER) || defined(ADDRESS_SANITIZER)
    return threads == 0 ? 5 : 0;
#else
    return threads == 0 ? 1 : threads == 1 ? 5 : 0;
#endif
}

/* Whether a call that is not cancelled comes first, to count its ticks. ThreadSanitizer has seen
 * such a call when a cancelled one was made again. */
#ifdef THREAD_SANITIZER
#define COUNTS_TICKS false
#else
#define COUNTS_TICKS true
#endif

static inline int next_cancel(int k, int ticks) {
    int middle = (ticks + 1) / 2;
#ifdef THREAD_SANITIZER
    return k == 0 ? middle : 0;
#else
    if (k == ticks) return 0;
    return k < 2 ? k + 1 : k < middle ? middle : ticks;
#endif
}

#endif
