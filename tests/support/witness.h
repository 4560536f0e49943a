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

/* Returns the tick to cancel at after k: the first, the second, one between, the last. */
static inline int next_cancel(int k, int ticks) {
    int middle = ticks / 2;
    return k < 2 ? k + 1 : k < middle ? middle : k < ticks ? ticks : k + 1;
}

#endif
