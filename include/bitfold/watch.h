/* A watch on a context: how far its calls are, and whether they are to stop.
 *
 * A long call asks the watch between the pieces of its work: reductions, states, feeds, histograms
 * and bf_map at least every 128 MiB on the CPU and every 8 GiB on a GPU, bf_julia on the CPU after
 * each tile of the picture. Calls on tables and groups, joins and enqueued calls do not ask. */
#ifndef BITFOLD_WATCH_H
#define BITFOLD_WATCH_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_watch {
    size_t size;      /* sizeof(bf_watch): see bitfold.h */
    int64_t every_ns; /* the least time between two ticks; 0: a tick after every piece */
    /* Runs on the thread that made the call. bytes: what the context's calls have worked through
     * since the watch was set, of the arrays that they read, or of the output of bf_map and
     * bf_julia. Returns 0 to go on; any other number cancels the call. The context is in use: calls
     * on it return BF_E_ARGUMENT. */
    int (*tick)(void *arg, int64_t bytes);
    void *arg;
} bf_watch;

/* BF_WATCH(.every_ns = 100000000, .tick = show) (C only). */
#define BF_WATCH(...) ((bf_watch){.size = sizeof(bf_watch), __VA_ARGS__})

/* Sets the context's watch, which is copied, in place of the one before; NULL: none. A call that is
 * cancelled returns BF_E_CANCELLED, and leaves states and histograms as they were. The output
 * arrays of bf_map and bf_julia may have been written to. A watched call of a histogram counts into
 * memory of its own first, as much again as the counts take. Errors: BF_E_ARGUMENT (no tick,
 * every_ns below 0). */
BF_API bf_status bf_context_watch(bf_context *context, const bf_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
