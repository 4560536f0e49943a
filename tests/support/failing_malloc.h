/* An allocator that fails on request: it stands in for the C library's in every program of unit
 * tests. Not under sanitizers (SANITIZED), whose runtimes have one of their own. */
#ifndef BITFOLD_TESTS_SUPPORT_FAILING_MALLOC_H
#define BITFOLD_TESTS_SUPPORT_FAILING_MALLOC_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/support/sanitizer.h"

extern atomic_long until_failure;  /* allocations that still succeed; negative: all */
extern atomic_long failures, live; /* how many failed; how many are not freed */

#endif
