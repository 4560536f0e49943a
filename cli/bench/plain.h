/* Plain loops: what a good programmer writes who does not ask for the same bits twice. They sum
 * with several vector accumulators, in whatever order is fastest. bench compares with them. */
#ifndef BITFOLD_CLI_BENCH_PLAIN_H
#define BITFOLD_CLI_BENCH_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Reduces bytes of a (b: the second vector of a dot product), or adds a and b to a third vector, as
 * far behind b as b is behind a. `ahead` is the distance of the software prefetch in bytes, 0 for
 * none. */
typedef double plain_fn(const void *a, const void *b, size_t bytes, size_t ahead);

/* The loop for work "sum", "dot", "add" or "read" (the memory's limit: every byte loaded, nothing
 * else done) over dtype "f32" or "f64" ("read" takes any); NULL if there is none. It is the widest
 * that this machine can run. */
plain_fn *plain_find(const char *work, const char *dtype);

/* Seconds of `passes` passes of fn by `threads` threads, each over its share. The threads spin
 * between passes: the fastest hand-over there is. False if a thread could not be started. */
bool plain_time(plain_fn *fn, const void *a, const void *b, size_t bytes, size_t ahead, int threads,
                int passes, double *seconds);

#endif
