/* A context's watch: asked between the pieces of a call, on the thread that made it. */
#ifndef BF_BASE_WATCH_H
#define BF_BASE_WATCH_H

#include <bitfold/watch.h>
#include <stdbool.h>

typedef struct bf_watched {
    bf_watch watch; /* tick NULL: none is set */
    int64_t due_ns; /* when the next tick is due, on the monotonic clock */
    int64_t bytes;  /* worked through since the watch was set */
    int64_t end;    /* what they will be when the present call is done */
} bf_watched;

/* Adds bytes to those worked through, and asks the watch if a tick is due. Only on the thread that
 * made the call. BF_E_CANCELLED, with a message: the call ends with this status, and leaves its
 * objects as they were. */
bf_status bf_watch_tick(bf_context *context, int64_t bytes);

/* A call that tells its progress while its loops run begins with the bytes that it works through,
 * and asks the watch. Its loops tell a part of them. The call ends with its status, which
 * bf_watch_end returns; on success all of its bytes have been told. */
bf_status bf_watch_begin(bf_context *context, int64_t bytes);
bf_status bf_watch_end(bf_context *context, bf_status status);

/* Raises the bytes worked through since the watch was set to `bytes`, but not beyond those of the
 * present call. Does not ask the watch. */
void bf_watch_tell(bf_context *context, int64_t bytes);

/* The nanoseconds that a call that waits for something waits before it asks the watch again. */
int64_t bf_watch_wait(const bf_context *context);

#endif
