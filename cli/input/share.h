/* How the rows of an input are shared out among ranks.
 *
 * An array is cut by elements. A text is cut by its parts: a rank reads the lines that begin in
 * its own. Where the number of a row counts, all ranks first count the rows of their parts, which
 * takes far less time than to read them. */
#ifndef BITFOLD_CLI_INPUT_SHARE_H
#define BITFOLD_CLI_INPUT_SHARE_H

#include "input/rows.h"

/* Leaves to each of n inputs, which are open, files and read in step, the rows of this rank; the
 * last rank has what one input holds beyond another. *first (may be NULL) becomes the index in the
 * first input of the rank's first row. Every rank calls it; returns an exit code that all agree on.
 */
int share_rows(rows *const inputs[], int n, int64_t *first);

/* Leaves to an array that is open this rank's part of n pieces of `piece` elements: [*first, *end).
 * Parts begin at multiples of `step` pieces. */
void share_pieces(rows *r, int64_t n, int64_t piece, int64_t step, int64_t *first, int64_t *end);

#endif
