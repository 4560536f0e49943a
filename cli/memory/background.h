/* Work in the background: on a thread of its own, while the caller goes on. */
#ifndef BITFOLD_CLI_MEMORY_BACKGROUND_H
#define BITFOLD_CLI_MEMORY_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

typedef struct background {
    int (*work)(void *arg);
    void *arg;
    pthread_t thread;
    bool running; /* on the thread */
    int code;     /* what work returned */
} background;

/* Starts work, which returns an exit code, when the work before it has been ended. */
void background_start(background *b, int (*work)(void *arg), void *arg);

/* Waits for the work, and returns its code once: 0 if there is none. */
int background_end(background *b);

#endif
