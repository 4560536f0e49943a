/* A context's watch: asked between the pieces of a call, on the thread that made it. */
#ifndef BF_SEAM_WATCH_H
#define BF_SEAM_WATCH_H

#include <bitfold/watch.h>
#include <stdbool.h>

typedef struct bf_watched {
    bf_watch watch; /* tick NULL: none is set */
    int64_t due_ns; /* when the next tick is due, on the monotonic clock */
    int64_t bytes;  /* worked through since the watch was set */
} bf_watched;

/* Adds bytes to those worked through, and asks the watch if a tick is due. Only on the thread that
 * made the call. BF_E_CANCELLED, with a message: the call ends with this status, and leaves its
 * objects as they were. */
bf_status bf_watch_tick(bf_context *context, int64_t bytes);

/* The nanoseconds that a call that waits for something waits before it asks the watch again. */
int64_t bf_watch_wait(const bf_context *context);

#endif
