/* Threads for the CPU's rungs. */
#ifndef BITFOLD_LADDER_TEAM_H
#define BITFOLD_LADDER_TEAM_H

#include <stdint.h>

/* The share of a thread: elements [from, to), and its rank. */
typedef void ladder_share(void *work, int64_t from, int64_t to, int rank);

enum { LADDER_THREADS = 256 };

/* Divides n elements among threads (at most LADDER_THREADS), which it starts and waits for. */
void ladder_team(int threads, int64_t n, ladder_share *share, void *work);

#endif
