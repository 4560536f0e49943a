/* One thread at a time: every public call that uses a context enters it, and leaves it with its
 * status. Public functions are therefore wrappers around static ones:
 *
 *     if (!bf_enter(context)) return BF_E_ARGUMENT;
 *     return bf_leave(context, work(context, ...));
 *
 * Inside, only functions that do not enter are called. A call that cannot enter leaves the context
 * alone, its message too: another thread is using it. */
#ifndef BF_API_RUNTIME_ENTER_H
#define BF_API_RUNTIME_ENTER_H

#include "seam/backend.h"

/* Returns false if there is no context, or another call is using it. */
static inline bool bf_enter(bf_context *context) {
    if (context == NULL || __atomic_exchange_n(&context->in_use, 1, __ATOMIC_ACQUIRE)) return false;
    if (context->budget.limit > 0 || bf_budget_current() != NULL) bf_budget_enter(&context->budget);
    return true;
}

/* Ends a call that has a budget; tells what was refused, if it failed for that. */
bf_status bf_leave_budget(bf_context *context, bf_status status);

static inline bf_status bf_leave(bf_context *context, bf_status status) {
    if (bf_budget_current() == &context->budget) status = bf_leave_budget(context, status);
    __atomic_store_n(&context->in_use, 0, __ATOMIC_RELEASE);
    return status;
}

/* Enter and leave the contexts of two objects. Both may have the same context. Memory is taken from
 * the budget of a, which is entered last. */
static inline bool bf_enter_both(bf_context *a, bf_context *b) {
    if (a != b && !bf_enter(b)) return false;
    if (bf_enter(a)) return true;
    if (a != b) bf_leave(b, BF_OK);
    return false;
}

static inline bf_status bf_leave_both(bf_context *a, bf_context *b, bf_status status) {
    status = bf_leave(a, status);
    if (a != b) bf_leave(b, BF_OK);
    return status;
}

#endif
