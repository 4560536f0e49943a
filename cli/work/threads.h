/* Work on several threads of the command. */
#ifndef BITFOLD_CLI_WORK_THREADS_H
#define BITFOLD_CLI_WORK_THREADS_H

#include <stdbool.h>

/* Calls work(arg, i) for 0 <= i < n, on so many threads, the calling one among them; on fewer, if
 * the system refuses some. False: a call returned false; then others may be left out. */
bool threads_share(int threads, int n, bool (*work)(void *arg, int i), void *arg);

#endif
