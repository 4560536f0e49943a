/* States: retract. */
#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/enter.h"

bf_status bf_explain_retraction(bf_context *context, bool retracted) {
    if (retracted) return BF_OK;
    return bf_fail(context, BF_E_STATE, "it holds more than there is to take out of");
}

static bf_status retract_aligned(bf_state *into, const bf_state *from) {
    if (!bf_kind_is_sum(into->kind))
        return bf_fail(into->context, BF_E_ARGUMENT, "nothing can be taken out of a state of %s",
                       bf_reduction_name(into->op));
    return bf_explain_retraction(into->context,
                                 bf_sum_retract(into->kind, into->dtype, into->words, from->words));
}

bf_status bf_state_retract(bf_state *into, const bf_state *from) {
    if (into == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, bf_state_align(into, from, retract_aligned));
}
