/* An allocator that fails on request: it stands in for the C library's in every program of unit
 * tests. Not under sanitizers (SANITIZED), whose runtimes have one of their own. */
#ifndef BITFOLD_TESTS_SUPPORT_FAILING_MALLOC_H
#define BITFOLD_TESTS_SUPPORT_FAILING_MALLOC_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/support/leave_out.h"

extern atomic_long until_failure;  /* allocations that still succeed; negative: all */
extern atomic_long failures, live; /* how many failed; how many are not freed */

/* Ends a case in which allocations fail, under a sanitizer. */
static inline void needs_failing_malloc(void) {
#ifdef SANITIZED
    leave_out("a sanitizer has its own malloc");
#endif
}

/* Calls with the first allocation failing, with the second, and so on, until the call succeeds:
 * else it must return BF_E_MEMORY, and then the statement behind is run. */
#define FAIL_EACH_ALLOCATION(call)                                                                 \
    for (long allowed_ = 0; (atomic_store(&until_failure, allowed_), has_failed(call));            \
         assert_true(++allowed_ < 10000))

static inline bool has_failed(bf_status status) {
    atomic_store(&until_failure, -1);
    if (status != BF_OK) assert_int_equal(status, BF_E_MEMORY);
    return status != BF_OK;
}

#endif
