#include "base/budget.h"

#include <stddef.h>

static _Thread_local bf_budget *current;

bf_budget *bf_budget_current(void) { return current; }

void bf_budget_work_for(bf_budget *budget) { current = budget; }

void bf_budget_enter(bf_budget *budget) {
    budget->outer = current;
    current = budget;
    __atomic_store_n(&budget->wanted, 0, __ATOMIC_RELAXED);
}

void bf_budget_leave(bf_budget *budget) { current = budget->outer; }

bool bf_budget_take(bf_budget *budget, int64_t bytes) {
    if (budget == NULL || bytes == 0) return true;
    int64_t used = __atomic_add_fetch(&budget->used, bytes, __ATOMIC_RELAXED);
    if (used <= budget->limit || budget->limit == 0) return true;
    bf_budget_give(budget, bytes);
    __atomic_store_n(&budget->held, used - bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&budget->wanted, bytes, __ATOMIC_RELAXED);
    return false;
}

int64_t bf_budget_left(const bf_budget *budget) {
    if (budget == NULL || budget->limit == 0) return INT64_MAX;
    const int64_t used = __atomic_load_n(&budget->used, __ATOMIC_RELAXED);
    return used < budget->limit ? budget->limit - used : 0;
}

void bf_budget_give(bf_budget *budget, int64_t bytes) {
    if (budget != NULL) __atomic_sub_fetch(&budget->used, bytes, __ATOMIC_RELAXED);
}
