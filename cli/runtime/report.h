/* Errors, hints and notes: everything the command says on standard error. */
#ifndef BITFOLD_CLI_RUNTIME_REPORT_H
#define BITFOLD_CLI_RUNTIME_REPORT_H

#include <bitfold.h>
#include <stdbool.h>

/* Exit codes of the process. A function that returns one has already reported the failure. */
enum {
    EXIT_DONE = 0,
    EXIT_IO = 1,     /* could not read or write, or no memory */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_DATA = 3,   /* the data were refused */
    EXIT_DEVICE = 4, /* the device or instruction set asked for cannot be used */
    EXIT_CHECK = 5   /* a check failed */
};

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* The command that the messages name, "" before it is known; and how it is said: colour is one of
 * color_mode, quiet drops everything but errors, verbose adds notes. */
enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
void report_command(const char *name);
void report_style(enum color_mode color, int quiet, int verbose);
const char *report_command_name(void);

/* "bitfold COMMAND: FILE: what is wrong: detail"; file may be NULL. Returns code. */
int fail(int code, const char *file, const char *format, ...) PRINTF_LIKE(3, 4);

/* Reports a failed call of the library: its message, and the exit code that goes with it. */
int fail_status(bf_status status, const bf_context *context, const char *file);
int fail_memory(const char *file); /* there is none */

/* Reports a fault in the text of an option, `position` bytes from its begin, and shows the place.
 * position < 0: the text is not at fault. */
int fail_text(bf_status status, const bf_context *context, const char *file, const char *option,
              const char *text, int position);

/* Where a message of the library says " at index N": the number, and what is behind it. NULL: it
 * does not. */
const char *find_index(const char *message, int64_t *index, const char **behind);

/* Reports a GPU that was asked for and cannot be used: why, and what would help. */
int fail_device(const char *device);

/* "hint: ..."; at most one, after fail(). */
void hint(const char *format, ...) PRINTF_LIKE(1, 2);

/* From now on, keeps errors and hints back; report_release shows them, or drops them, and
 * report_take gives them to the caller, who frees them (NULL: there are none). */
void report_hold(bool hold);
void report_release(bool show);
char *report_take(void);

/* A line like an error's, shown unless -q was given; note() only with -v. */
void inform(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);
void note(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);

/* Notes the device of the context's last call, and the reason for it. */
void note_device(const bf_context *context, const char *file);

/* Whether to colour what goes to this file descriptor: --color, NO_COLOR, a terminal. */
int color_wanted(int fd);

/* The characters of a line of the terminal behind a file descriptor, as COLUMNS says if it is set.
 */
int terminal_width(int fd);

#endif
