/* The watch of a context: checked and set. Backends ask it (base/watch.h). */
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"

static bf_status set_watch(bf_context *context, const bf_watch *given) {
    bf_watched watched = {.watch = {.size = sizeof watched.watch}};
    if (given != NULL && !BF_READ(&watched.watch, given, arg))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_watch: size is not set, or from a newer version");
    if (given != NULL && watched.watch.tick == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "a watch needs a tick");
    if (watched.watch.every_ns < 0)
        return bf_fail(context, BF_E_ARGUMENT, "a tick every %lld ns",
                       (long long)watched.watch.every_ns);
    context->watched = watched;
    return BF_OK;
}

bf_status bf_context_watch(bf_context *context, const bf_watch *watch) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, set_watch(context, watch));
}
