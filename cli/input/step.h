/* Inputs whose rows are taken in step: an element of each has the same index.
 *
 * Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_INPUT_STEP_H
#define BITFOLD_CLI_INPUT_STEP_H

#include "input/rows.h"

/* Refuses inputs whose shapes are known and differ. flat: text goes with arrays of one axis alone.
 */
int step_check_shapes(rows *const inputs[], int n, bool flat);

/* Before the first rows, and whenever they begin again: columns of text have the dtype of an array
 * among the inputs, or else the most exact one that each of them can be, and the greatest scale.
 * What nothing can change is no longer kept to be read again. */
int step_match(rows *const inputs[], int n);

/* Once rows are shared out: makes ready to read. Different orders become one. */
int step_prepare(rows *const inputs[], int n);

/* The rows that are best taken at once, at most `most`; 0: as many as are at hand, of one text. */
int64_t step_rows(rows *const inputs[], int n, int64_t most);

/* Takes the next rows of each, as many as of the first; otherwise as rows_next. */
int step_next(rows *const inputs[], int n, int64_t most, rows_chunk chunks[]);

/* Bytes in all, -1 if unknown; where only some of several arrays have a known length, the others
 * are as long. */
int64_t step_bytes(rows *const inputs[], int n);

/* As those of one input. */
bool step_may_resettle(rows *const inputs[], int n);
void step_again(rows *const inputs[], int n);

#endif
