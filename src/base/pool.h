/* The pool: threads that wait for work, owned by one context. */
#ifndef BF_BASE_POOL_H
#define BF_BASE_POOL_H

#include "base/budget.h"

typedef struct bf_pool bf_pool;

/* A pool of so many threads, the caller's among them, that work for a budget (NULL: none). It
 * starts none yet. NULL: no memory. */
bf_pool *bf_pool_create(int threads, bf_budget *budget);
void bf_pool_destroy(bf_pool *pool);
int bf_pool_threads(const bf_pool *pool);

/* Calls work(arg, worker) on up to `threads` threads at once, the caller's (worker 0) among them.
 * It must take pieces until none is left. Returns when every call has returned; the system may
 * start fewer threads than asked. */
void bf_pool_run(bf_pool *pool, int threads, void (*work)(void *arg, int worker), void *arg);

#endif
