/* Shared by the peers: the conversation with 'bitfold bench --peer', the data and the clock.
 *
 * A question is a line WORK DTYPE DATA COUNT THREADS PASSES. The answer is NAME SECONDS, the mean
 * time of a pass after one untimed pass if PASSES is over 1, or NAME - for work that is not
 * offered. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char work[32], dtype[32], data[32];
    size_t count;
    int threads, passes;
} peer_question;

/* The seconds of a pass, on data of its own; 0 for work that is not offered. */
typedef double peer_time(void *context, const peer_question *question);

/* Answers questions until standard input ends. Returns an exit code. */
int peer_answer(const char *name, peer_time *time, void *context);

double peer_now(void);

/* Does the work once over count elements. b is the second vector of dot and add. The third, which
 * add writes, is as far behind b as b is behind a. */
typedef double peer_fn(const void *a, const void *b, size_t count);

typedef struct {
    const char *work, *dtype;
    peer_fn *fn;
} peer_work;

/* Serves works with data of cli/works/measured.h, which are made here. works ends with an empty
 * entry; set_threads is called before each piece of work. Returns an exit code. */
int peer_serve(const char *name, const peer_work *works, void (*set_threads)(int));

#ifdef __cplusplus
}
#endif
#endif
