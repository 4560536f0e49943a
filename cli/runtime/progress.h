/* Progress on standard error: how much is done, how fast, how long still.
 *
 * One piece of work at a time. progress_add may be called by any thread, the rest by the main one.
 */
#ifndef BITFOLD_CLI_RUNTIME_PROGRESS_H
#define BITFOLD_CLI_RUNTIME_PROGRESS_H

#include <stdint.h>
#include <time.h>

enum progress_mode { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF };

/* Sets the mode, and lets SIGUSR1 ask for a line. */
void progress_setup(enum progress_mode mode);

/* From now on, SIGUSR1 asks for a line of progress. */
void progress_answer_signal(void);

/* total: the bytes to be done, -1 if unknown. */
void progress_start(const char *name, int64_t total);
void progress_add(int64_t bytes);
void progress_tick(void); /* cheap: shows a line when one is due */
void progress_stop(void);

/* Wipes a line that stands unfinished on the terminal, so that another can be written. */
void progress_clear(void);

/* When to call progress_tick again, by CLOCK_REALTIME: for waits with a time limit. */
struct timespec progress_next_tick(void);

/* Seconds on a clock that only goes forward. */
double progress_clock(void);

#endif
