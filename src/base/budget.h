/* The memory budget of a context: how much large memory its objects and calls may have. It is asked
 * by the allocations of base/memory.h; a GPU's memory has a limit of its own. An allocation beyond
 * the budget fails as one for which the system has no memory. */
#ifndef BF_BASE_BUDGET_H
#define BF_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bf_budget {
    int64_t limit;  /* bytes; 0: none */
    int64_t used;   /* atomic */
    int64_t wanted; /* atomic: bytes that were refused last; 0: none since the call began */
    int64_t held;   /* atomic: bytes in use then */
    struct bf_budget *outer;
} bf_budget;

/* The budget of the calling thread's allocations: that of the call it works for. NULL: none. */
bf_budget *bf_budget_current(void);

/* A thread of a pool works for one budget as long as it lives. */
void bf_budget_work_for(bf_budget *budget);

/* The calling thread begins a call, or ends it. */
void bf_budget_enter(bf_budget *budget);
void bf_budget_leave(bf_budget *budget);

/* Takes bytes from a budget (NULL: nothing happens). Returns false if it does not have them. */
bool bf_budget_take(bf_budget *budget, int64_t bytes);
void bf_budget_give(bf_budget *budget, int64_t bytes);

/* The bytes that a budget has left (NULL: as many as there are). */
int64_t bf_budget_left(const bf_budget *budget);

#endif
