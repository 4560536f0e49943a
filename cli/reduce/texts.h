/* What describe tells of a column of strings: how many there are and how many different ones, the
 * least, the greatest and the most frequent. Memory is that of the different ones. */
#ifndef BITFOLD_CLI_REDUCE_TEXTS_H
#define BITFOLD_CLI_REDUCE_TEXTS_H

#include "input/rows.h"
#include "memory/buffer.h"

typedef struct texts {
    bf_dictionary *dictionary;
    buffer numbers, counts; /* counts: how often each key of the dictionary occurs */
    buffer least, greatest; /* strings, with a '\0' behind each */
    size_t least_bytes, greatest_bytes;
    int64_t n, different; /* strings, and different ones */
} texts;

/* NULL: there is no memory. texts_close takes NULL, too. */
texts *texts_open(bf_context *context);
void texts_close(texts *t);

/* Absorbs the strings of a column of a chunk, but for those that are NULL. */
bf_status texts_absorb(texts *t, const rows_view *column, int64_t n);

/* Finds the most frequent string, of equals the least, and how often it occurs. *mode is to be
 * freed, and NULL if there is no string. */
bf_status texts_mode(const texts *t, char **mode, size_t *bytes, int64_t *times);

#endif
