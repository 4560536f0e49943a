/* What is handed out of the rows of an input: those of the present chunk where they lie, or those
 * of several chunks, copied one behind another. rows.c alone uses this. */
#ifndef BITFOLD_CLI_INPUT_GATHER_H
#define BITFOLD_CLI_INPUT_GATHER_H

#include "input/rows.h"

/* Forms of numbers: integers, or all of an array; floats; wide integers. */
enum { INTEGERS, FLOATS, WIDE, FORMS };

/* Rows of one column, of several chunks. */
struct gathered {
    char *numbers[FORMS];
    text_strings strings;
    uint8_t *valid;
};

/* Hands out the next n rows of the present chunk, where they lie. */
void gather_lone(rows *r, int64_t n, rows_chunk *out);

/* Copies the next n rows of the present chunk behind those gathered. False: there is no memory. */
bool gather_more(rows *r, int64_t gathered, int64_t n);

/* Hands out the n rows that are gathered. */
void gather_out(rows *r, int64_t n, rows_chunk *out);

/* Makes room for n elements of an array instead. NULL: there is no memory. */
void *gather_room(rows *r, int64_t n);

/* Drops what is gathered, and the room for it. */
void gather_drop(rows *r);

#endif
