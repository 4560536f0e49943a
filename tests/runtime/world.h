/* For tests of calls on one world (calls.h), which is made before the first test of a program. */
#ifndef BITFOLD_TESTS_RUNTIME_WORLD_H
#define BITFOLD_TESTS_RUNTIME_WORLD_H

#include "tests/support/oracle.h"

#include "tests/runtime/calls.h"
#include "tests/support/unit.h"

static world *w; /* it has two threads */

static inline int make_world(void **unused) {
    (void)unused;
    w = world_make(NULL, 2);
    return w == NULL ? -1 : 0;
}

static inline int destroy_world(void **unused) {
    (void)unused;
    world_destroy(w);
    return 0;
}

#endif
