/* Work on several threads of the command. */
#ifndef BITFOLD_CLI_RUNTIME_THREADS_H
#define BITFOLD_CLI_RUNTIME_THREADS_H

/* Calls work(arg, i) for 0 <= i < n, on so many threads, the calling one among them; on fewer, if
 * the system refuses some. */
void threads_share(int threads, int n, void (*work)(void *arg, int i), void *arg);

#endif
