/* Starting threads of the library. */
#ifndef BF_BASE_THREAD_H
#define BF_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that blocks every signal but those of its own faults, so that the host's handlers
 * run on the host's own threads. False: the system refuses. */
bool bf_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
