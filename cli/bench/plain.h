/* Plain loops, with which bench compares: well written, but not reproducible. They sum with several
 * vector accumulators, in the fastest order. */
#ifndef BITFOLD_CLI_BENCH_PLAIN_H
#define BITFOLD_CLI_BENCH_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Reduces `bytes` bytes of a (b: the second vector of a dot product); or stores a + b in a third
 * vector, which is as far behind b as b is behind a. ahead: the distance of the software prefetch
 * in bytes, 0 for none. */
typedef double plain_fn(const void *a, const void *b, size_t bytes, size_t ahead);

/* Returns the loop with the widest vectors of this machine for "sum", "dot" or "add" of "f32" or
 * "f64", or for "read" of any dtype, which only loads every byte. NULL for other work. */
plain_fn *plain_find(const char *work, const char *dtype);

/* Sets *seconds to the time of `passes` passes of fn by `threads` threads, each over its share. The
 * threads spin between passes, so that they start at once. Returns false if a thread could not be
 * started. */
bool plain_time(plain_fn *fn, const void *a, const void *b, size_t bytes, size_t ahead, int threads,
                int passes, double *seconds);

#endif
