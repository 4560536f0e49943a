/* What describe tells of a column of strings: how many there are and how many different ones, the
 * least, the greatest and the most frequent. Memory is that of the different ones. */
#ifndef BITFOLD_CLI_REDUCE_TEXTS_H
#define BITFOLD_CLI_REDUCE_TEXTS_H

#include "input/rows.h"
#include "memory/buffer.h"
#include "work/statefile.h"
#include "work/work.h"

typedef struct texts {
    bf_dictionary *dictionary;
    buffer numbers, counts; /* counts: how often each key of the dictionary occurs */
    buffer least, greatest; /* strings, with a '\0' behind each */
    size_t least_bytes, greatest_bytes;
    int64_t rows, n, different; /* rows, those with strings, and different strings */
} texts;

/* NULL: there is no memory. texts_close takes NULL, too. */
texts *texts_open(bf_context *context);
void texts_close(texts *t);

/* Absorbs the strings of a column of a chunk, but for those that are NULL. */
bf_status texts_absorb(texts *t, const rows_view *column, int64_t n);

/* Finds the most frequent string, of equals the least, and how often it occurs. *mode is to be
 * freed, and NULL if there is no string. */
bf_status texts_mode(const texts *t, char **mode, size_t *bytes, int64_t *times);

/* How a walk saves and loads what a `texts *` points to. NULL is saved as nothing. */
extern const work_form texts_form;

/* Makes the saved form of a file, and the texts of it: NULL if it is none, damaged, or there is no
 * memory. */
bf_status texts_save(const texts *t, statefile *to);
texts *texts_load(bf_context *context, const statefile *from);

/* Absorbs all that others have absorbed. */
bf_status texts_merge(texts *into, const texts *from);

/* Rank 0 absorbs what all ranks have. Every rank calls it, and has a status of its own. */
bf_status texts_merge_ranks(texts *t);

#endif
