/* Many lines of text, which threads make and one writes, in their order. */
#ifndef BITFOLD_CLI_TEXT_LINES_H
#define BITFOLD_CLI_TEXT_LINES_H

#include <stdint.h>
#include <stdio.h>

/* How line i is made: `make` writes it to `line`, which has room for `most` bytes, or for as many
 * as `room` says (NULL: for `most`), and returns its end. Several threads call both at once. */
typedef struct lines {
    char *(*make)(const void *arg, int64_t i, char *line);
    const void *arg;
    size_t most;
    size_t (*room)(const void *arg, int64_t i);
} lines;

/* Makes lines [0, n) on so many threads and writes them. Returns an exit code, having reported the
 * failure; that of a write shows when the stream is flushed. */
int lines_put(FILE *stream, const lines *l, int64_t n, int threads);

#endif
