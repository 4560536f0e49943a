/* Loops on the host's threads, for every floor: the CPU's loops, the API's loops over results and a
 * GPU's copies run on the pool of the context.
 *
 * A context is used by one thread at a time, so its loops do not nest: `work` must not call
 * bf_parallel with the same context. */
#ifndef BF_BASE_PARALLEL_H
#define BF_BASE_PARALLEL_H

#include <bitfold/context.h>

#include <stddef.h>
#include <stdint.h>

/* Threads that the context may use, the caller's among them. */
int bf_host_threads(const bf_context *context);

/* Returns how many of the context's threads n items are worth, with at least `least` items for
 * each; at least 1. */
int bf_workers(const bf_context *context, int64_t n, int64_t least);

/* Counts threads that have scratch memory each: no more of so many workers than have `bytes` each
 * in half of what the budget of the present call has left; at least 1. So a call of many threads
 * needs no more memory than one of few, and what a thread takes has this one limit. */
int bf_workers_within(int workers, size_t bytes);

/* Does items [first, first + n). Workers are numbered from 0, which is the calling thread. */
typedef bf_status bf_host_work(void *arg, int worker, int64_t first, int64_t n);

/* Calls work(arg, worker, ...) for pieces of `piece` items (the last may be smaller) until all of
 * [0, n) are done, on up to `workers` threads at once. Pieces are handed out in the order of their
 * first item, and none after a failure: so every piece before a failed one is done, and the status
 * returned is that of the first piece that fails.
 *
 * The pool's threads are in the floating-point environment of environment.h; a caller whose work
 * needs it enters it too. A loop of one piece costs no more than a call. */
bf_status bf_parallel(bf_context *context, int workers, int64_t n, int64_t piece,
                      bf_host_work *work, void *arg);

/* Does work that may stay half done: the loop asks the context's watch after each piece of worker 0
 * and at its end, and may end with BF_E_CANCELLED, whatever else has failed. It tells the watch
 * `bytes` in all. A loop of one piece does not ask. */
bf_status bf_parallel_watched(bf_context *context, int workers, int64_t n, int64_t piece,
                              int64_t bytes, bf_host_work *work, void *arg);

/* A loop that the calling thread leads. It opens items while it does something else, such as
 * enqueue work on a GPU, and other workers do them. */
typedef struct bf_lead bf_lead;
typedef bf_status bf_lead_run(void *arg, bf_lead *lead);
typedef void bf_lead_item(void *arg, int64_t item);

/* Calls run(arg, lead) on the calling thread, and work(arg, item) once for each item that it opens,
 * on up to `workers` threads, that one among them. Items are handed out in order, and none when run
 * has returned: run sees to it that its items are done. Returns its status, when no thread does an
 * item any more. Workers that wait for items sleep, but for the first moments. */
bf_status bf_parallel_led(bf_context *context, int workers, bf_lead_run *run, bf_lead_item *work,
                          void *arg);

/* Within run, on its thread: opens so many more items. */
void bf_lead_open(bf_lead *lead, int64_t items);
/* Does an open item, too. If there is none, another thread may run instead of this one. */
void bf_lead_help(bf_lead *lead);

#endif
