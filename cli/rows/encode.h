/* Keys as bytes, whose order is that of the rows: of no row are they the beginning of another's. */
#ifndef BITFOLD_CLI_ROWS_ENCODE_H
#define BITFOLD_CLI_ROWS_ENCODE_H

#include "columns/table.h"

/* Encodes the keys of row i of those at hand, each ascending or descending as was asked; NULL is
 * the last in either direction. Returns the bytes, which stay in `to`, and how many they are; NULL:
 * there is no memory. */
const char *encode_keys(const table *t, int64_t i, buffer *to, size_t *bytes);

/* Writes a number, the highest byte first. */
static inline void encode_word(char *to, uint64_t word) {
    word = __builtin_bswap64(word);
    memcpy(to, &word, sizeof word);
}

#endif
