/* bf_column: a column of a table, of numbers or strings, of which some may be NULL. Plain data that
 * the caller owns; copy it freely. */
#ifndef BITFOLD_COLUMN_H
#define BITFOLD_COLUMN_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strings as Arrow lays them out: string i has the bytes from offsets[i] to offsets[i + 1] of
 * `bytes`. */
typedef struct bf_strings {
    size_t size;         /* sizeof(bf_strings): see bitfold.h */
    int64_t count;       /* how many strings there are */
    bf_dtype offset;     /* BF_I32 or BF_I64 */
    const void *offsets; /* count + 1 of them, none less than the one before or than 0 */
    const char *bytes;
} bf_strings;

/* A column of rows: strings or an array of one dimension, the other being NULL. */
typedef struct bf_column {
    size_t size; /* sizeof(bf_column): see bitfold.h */
    const bf_strings *strings;
    const bf_array *numbers;
    const uint8_t *valid; /* bit first + i, the lowest of a byte being its first, is 0 where row i
                             is NULL, as in Arrow; NULL: no row is */
    int64_t first;
} bf_column;

#ifdef __cplusplus
}
#endif
#endif
