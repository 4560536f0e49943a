/* How count and group take rows. */
#ifndef BITFOLD_CLI_GROUP_ROWS_H
#define BITFOLD_CLI_GROUP_ROWS_H

#include "input/rows.h"
#include "runtime/options.h"

/* inputs: read in step. keep: memory for pipes of text, whose dtype shows only at their end. */
rows_options group_rows(const options *o, int inputs, spool_limit *keep);

/* How they read the keys. Those of JSON lines may be no numbers (group/by/by.h), where one process
 * sees all of them. */
input group_input(const options *o);

/* The dtype of the keys. */
bf_dtype group_key(const bf_groups *groups);

/* The name of the keys' column, to be freed; NULL: it has none. */
char *group_key_name(const rows *r, int column);

/* Whether a sample of an array in a file has hardly a key twice: its rows are best absorbed at
 * once.
 */
bool group_keys_are_new(bf_context *context, rows *r);

/* A settled column of a chunk. */
bf_array group_array(const rows *r, const rows_chunk *chunk, int column);

#endif
