/* States that absorb a feed. */
#include "api/reduce/state.h"

#include "api/runtime/enter.h"
#include "api/runtime/feed.h"

static bf_status absorb_arrays(void *into, const bf_array arrays[2]) {
    bf_state *state = into;
    return bf_takes_pairs(state->op) ? bf_state_absorb_arrays(state, &arrays[0], &arrays[1])
                                     : bf_state_absorb_array(state, &arrays[0]);
}

static bf_status absorb_feed(bf_state *state, const bf_feed *given) {
    bf_feed feed;
    int64_t *kept;
    const bf_dtype dtype[2] = {state->dtype, state->dtype};
    bf_status status =
        bf_feed_check(state->context, given, bf_takes_pairs(state->op) ? 2 : 1, dtype, &feed);
    if (status == BF_OK) status = bf_state_keep(state, &kept);
    if (status != BF_OK) return status;
    status = bf_feed_run(state->context, &feed, absorb_arrays, state);
    bf_state_settle(state, kept, status);
    return status;
}

bf_status bf_state_absorb_feed(bf_state *state, const bf_feed *feed) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, absorb_feed(state, feed));
}
