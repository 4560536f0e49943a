/* Output streams that keep the errno of a failed write: stdio may write long before anybody asks,
 * and then knows only that something failed. */
#ifndef BITFOLD_CLI_RUNTIME_STREAM_H
#define BITFOLD_CLI_RUNTIME_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/* Opens a stream that writes to fd and closes it in the end. NULL: there is no memory, errno is
 * set, and fd stays open. */
FILE *stream_open(int fd);

/* Makes standard output such a stream. Unless signals of closed pipes were ignored from the start,
 * to write what nobody reads any more ends the process by that signal, in silence. */
void stream_take_stdout(void);

/* Whether results are shown at a terminal. Those of ranks are not, though launchers may give each
 * rank a terminal of its own. */
bool stream_at_terminal(void);
void stream_leave_terminal(void);

/* Returns the errno of the last write (or close) that failed, EIO if there was none. */
int stream_error(void);

/* Flushes. Returns 0, or the errno of the first write that failed since the stream was opened. */
int stream_flush(FILE *stream);

/* Flushes and closes. Returns the same. */
int stream_close(FILE *stream);

#endif
