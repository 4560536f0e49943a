/* Windows of a span of a key: rolling --window 7d --on COL. */
#ifndef BITFOLD_CLI_SCAN_SPAN_H
#define BITFOLD_CLI_SCAN_SPAN_H

#include "columns/table.h"
#include "scan/running.h"

/* Takes the column of --on, and --window as a span of it. Returns an exit code, having reported the
 * failure. */
int span_settle(running *x, const table_value *on, const char *file);

/* Finds the first of n keys that is not finite, or less than the one before it; `before` of the
 * first, NULL: there is none. Returns n: there is no such one. */
int64_t span_find_bad(bf_dtype dtype, const void *keys, int64_t n, const void *before);

/* Whether keys i and k are equal. */
bool span_is_same(bf_dtype dtype, const void *keys, int64_t i, int64_t k);

/* Whether key i may be in a window that ends at key k of others, or behind it. */
bool span_may_reach(const running *x, const void *keys, int64_t i, const void *others, int64_t k);

#endif
