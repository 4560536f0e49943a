/* States: retract. */
#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/enter.h"

bf_status bf_explain_retraction(bf_context *context, bf_retraction retraction) {
    switch (retraction) {
    case BF_RETRACTED: return BF_OK;
    case BF_RETRACT_TOO_MUCH:
        return bf_fail(context, BF_E_STATE, "it holds more than there is to take out of");
    default:
        return bf_fail(context, BF_E_STATE,
                       "what remains may be 0 or -0: version 1, which saved a part of it, did not "
                       "count -0");
    }
}

static bf_status retract_aligned(bf_state *into, const bf_state *from) {
    if (!bf_kind_is_sum(into->kind))
        return bf_fail(into->context, BF_E_ARGUMENT, "nothing can be taken out of a state of %s",
                       bf_reduction_name(into->op));
    bool counted = !into->uncounted && !from->uncounted;
    bf_retraction r = bf_sum_retract(into->kind, into->dtype, counted, into->words, from->words);
    if (r == BF_RETRACTED) into->uncounted = !counted && bf_sum_flag(into->words) != 0;
    return bf_explain_retraction(into->context, r);
}

bf_status bf_state_retract(bf_state *into, const bf_state *from) {
    if (into == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, bf_state_align(into, from, retract_aligned));
}
