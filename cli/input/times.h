/* Finds which columns of a text hold times. */
#ifndef BITFOLD_CLI_INPUT_TIMES_H
#define BITFOLD_CLI_INPUT_TIMES_H

#include "input/text.h"

/* Notes for each column that may hold numbers what its first field is that is not NULL, among the
 * first `most` rows: a kind of time, or none. wanted: the columns that the command wants count, and
 * not those of its condition alone. False: there is no memory. */
bool times_find(const text_input *t, bool wanted, int64_t most, text_unit units[]);

#endif
