#include "base/watch.h"

#include "base/context.h"

#include <time.h>

/* Nanoseconds. */
#define LEAST_WAIT ((int64_t)10000000)
#define MOST_WAIT ((int64_t)3600 * 1000000000)

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Asks the watch if a tick is due. */
static bf_status ask_watch(bf_context *context) {
    bf_watched *w = &context->watched;
    int64_t now = now_ns();
    if (now < w->due_ns) return BF_OK;
    w->due_ns = now > INT64_MAX - w->watch.every_ns ? INT64_MAX : now + w->watch.every_ns;
    int answer = w->watch.tick(w->watch.arg, w->bytes);
    return answer == 0 ? BF_OK : bf_fail(context, BF_E_CANCELLED, "the watch returned %d", answer);
}

bf_status bf_watch_tick(bf_context *context, int64_t bytes) {
    if (!bf_is_watched(context)) return BF_OK;
    context->watched.bytes += bytes;
    return ask_watch(context);
}

bf_status bf_watch_begin(bf_context *context, int64_t bytes) {
    if (!bf_is_watched(context)) return BF_OK;
    context->watched.end = context->watched.bytes + bytes;
    return ask_watch(context);
}

void bf_watch_tell(bf_context *context, int64_t bytes) {
    bf_watched *w = &context->watched;
    if (bytes > w->end) bytes = w->end;
    if (bytes > w->bytes) w->bytes = bytes;
}

bf_status bf_watch_end(bf_context *context, bf_status status) {
    bf_watched *w = &context->watched;
    if (status == BF_OK) bf_watch_tell(context, w->end);
    w->end = w->bytes;
    return status;
}

int64_t bf_watch_wait(const bf_context *context) {
    int64_t left = bf_is_watched(context) ? context->watched.due_ns - now_ns() : MOST_WAIT;
    return left < LEAST_WAIT ? LEAST_WAIT : left < MOST_WAIT ? left : MOST_WAIT;
}
