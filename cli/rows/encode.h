/* Keys of rows as bytes (sheet/encode.h), whose order is that of the rows. */
#ifndef BITFOLD_CLI_ROWS_ENCODE_H
#define BITFOLD_CLI_ROWS_ENCODE_H

#include "columns/table.h"
#include "sheet/encode.h"

/* Encodes the keys of row i of those at hand, each ascending or descending as was asked; NULL is
 * the last in either direction. Returns the bytes, which stay in `to`, and how many they are; NULL:
 * there is no memory. */
const char *encode_keys(const table *t, int64_t i, buffer *to, size_t *bytes);

#endif
