/* Temporary files, for what memory cannot hold. They have no name, so that nothing is left behind
 * whatever happens. */
#ifndef BITFOLD_CLI_MEMORY_TEMPORARY_H
#define BITFOLD_CLI_MEMORY_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

/* Where they are: in `spill` if it is given, else beside the output (NULL: standard output), in
 * TMPDIR or in /var/tmp; but in memory (a tmpfs) only if spill is. Strings that stay. */
void temporary_place(const char *spill, const char *output);

/* The directory; NULL: it would be in memory. */
const char *temporary_directory(void);

/* Opens one. -1 with errno set if that fails. */
int temporary_open(void);

/* Appends bytes. False with errno set if that fails. */
bool temporary_write(int fd, const void *bytes, size_t size);

/* Reports the errno of a failure. Returns an exit code. */
int temporary_failed(int error);

/* Says what helps against a failure. */
void temporary_hint(void);

#endif
