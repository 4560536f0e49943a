/* What the peers share: the conversation with 'bitfold bench --peer', the data and the clock.
 *
 * A question is a line WORK DTYPE DATA COUNT THREADS PASSES; the answer is NAME SECONDS, the mean
 * time of a pass after one untimed pass if PASSES is over 1, or NAME - for work not on offer. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Does the work once over count elements (b: the second vector of dot and add; the third, which add
 * writes, is as far behind b as b is behind a). */
typedef double peer_fn(const void *a, const void *b, size_t count);

typedef struct {
    const char *work, *dtype;
    peer_fn *fn;
} peer_work;

/* Answers questions until standard input ends. works ends with an empty entry; set_threads is
 * called before each piece of work. Returns an exit code. */
int peer_serve(const char *name, const peer_work *works, void (*set_threads)(int));

#ifdef __cplusplus
}
#endif
#endif
