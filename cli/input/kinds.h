/* What the columns of a reader can be, where the reader has them: for the files that make up
 * rows.h. */
#ifndef BITFOLD_CLI_INPUT_KINDS_H
#define BITFOLD_CLI_INPUT_KINDS_H

#include "input/rows.h"

/* Where the reader has a column. */
static inline int rows_at(const rows *r, int column) { return r->place[column]; }

/* Sets the forms that chunks shall hold: all that a column can have, or that of its dtype. */
void rows_set_forms(rows *r);

#endif
