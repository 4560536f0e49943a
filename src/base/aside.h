/* A thread that works while the caller goes on: readers of feeds, and
 * the threads that drive several GPUs. It belongs to one thread at a time, and blocks signals as
 * the pool's threads do. */
#ifndef BF_BASE_ASIDE_H
#define BF_BASE_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bf_aside bf_aside;

/* awake_ns: the nanoseconds that both threads keep asking for the other before they sleep. Waking a
 * thread takes some tens of microseconds, which short work does not bear. NULL: no memory. */
bf_aside *bf_aside_open(int64_t awake_ns);

/* Waits for the work, and ends the thread. NULL is ignored. */
void bf_aside_close(bf_aside *aside);

/* Has the thread call work(arg) once; nothing else is running on it. Where the system gives no
 * thread, the caller does it. */
void bf_aside_start(bf_aside *aside, void (*work)(void *arg), void *arg);

/* Waits for the work, at most so many nanoseconds (less than 2^62). False: it is still running. */
bool bf_aside_wait(bf_aside *aside, int64_t ns);

#endif
