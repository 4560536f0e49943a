/* Text that is kept in a temporary file until it can be shown. Functions that return an exit code
 * have reported the failure. */
#ifndef BITFOLD_CLI_MEMORY_KEPT_H
#define BITFOLD_CLI_MEMORY_KEPT_H

#include <stdio.h>

typedef struct kept {
    FILE *stream; /* to write to; NULL: not open */
    int fd;
} kept;

int kept_open(kept *x);
void kept_close(kept *x);

/* Whether all that was written could be. */
int kept_check(const kept *x);

/* Copies the text to a stream. */
int kept_copy(FILE *to, const kept *x);

#endif
