/* Dictionaries: names as keys. A bf_dictionary numbers rows of strings and numbers, so that what
 * takes numbers as keys (group.h, table.h, joins, order.h) takes names, too.
 *
 *     bf_dictionary_encode(cities, columns, numbers);     each row's number, i32 or i64
 *     bf_groups_absorb(groups, numbers, values);          groups of cities
 *     bf_groups_list(groups, numbers_of_groups, counts);
 *     bf_dictionary_strings(cities, 0, numbers_of_groups, ...);     their names
 *
 * A key has one column or several, each of strings or of a dtype. Equal keys have equal numbers:
 * 0, 1, 2, ... in the order in which they first appear, whatever the chunks and the number of
 * threads. A string is any bytes, and equal only to the same bytes. Of floats, -0 and +0 are one
 * value (shown as +0), and all NaNs are one (the default NaN). A NULL is a value of its own.
 *
 * The order of keys is that of their columns, the first counting most: strings by their bytes, each
 * less than what it begins, numbers by value (-inf to inf, NaN), NULLs last.
 *
 * Dictionaries are in host memory, and so are all arrays of these calls. Method: a hash table over
 * keys that are written so that their bytes are in the keys' order (docs/design/dictionary.md). */
#ifndef BITFOLD_DICTIONARY_H
#define BITFOLD_DICTIONARY_H

#include "column.h"
#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_dictionary bf_dictionary;

/* Makes an empty dictionary of keys of `count` columns, 1 to BF_KEY_COLUMNS_MAX. Each has a dtype
 * (BF_I128 too), or holds strings: BF_NONE. The context must outlive the dictionary, and belongs to
 * one thread at a time together with it. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. */
#define BF_KEY_COLUMNS_MAX 64
BF_API bf_status bf_dictionary_create(bf_context *context, int count, const bf_dtype columns[],
                                      bf_dictionary **dictionary);
BF_API void bf_dictionary_destroy(bf_dictionary *dictionary);

/* Returns the number of different keys. */
BF_API int64_t bf_dictionary_size(const bf_dictionary *dictionary);

/* Writes the number of each row's key to `numbers` (one dimension, BF_I32 or BF_I64). A key that is
 * new gets the next number. On failure the dictionary is as it was. Errors: BF_E_ARGUMENT (also
 * offsets that decrease), BF_E_DTYPE, BF_E_SHAPE (columns of different lengths), BF_E_OVERFLOW (a
 * number exceeds the dtype, or a key 4 GiB), BF_E_DEVICE, BF_E_MEMORY, BF_E_CANCELLED. */
BF_API bf_status bf_dictionary_encode(bf_dictionary *dictionary, const bf_column *const columns[],
                                      const bf_array *numbers);

/* Looks keys up: one that is new gets -1, and the dictionary stays as it is. */
BF_API bf_status bf_dictionary_find(bf_dictionary *dictionary, const bf_column *const columns[],
                                    const bf_array *numbers);

/* Adds the keys of `from` that are new, in the order of their numbers there, and writes to
 * `numbers` (NULL: nowhere; else bf_dictionary_size(from) elements) which number each has in
 * `into`. Both have the same columns, else BF_E_STATE. Errors also: as of bf_dictionary_encode. */
BF_API bf_status bf_dictionary_merge(bf_dictionary *into, const bf_dictionary *from,
                                     const bf_array *numbers);

/* Writes the place of each key, by its number, in the order of all keys: 0 for the first. `ranks`
 * has bf_dictionary_size elements of BF_I64. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE,
 * BF_E_DEVICE, BF_E_MEMORY, BF_E_CANCELLED. */
BF_API bf_status bf_dictionary_ranks(bf_dictionary *dictionary, const bf_array *ranks);

/* Write column number `column` of the keys that have these numbers (one dimension, BF_I32 or
 * BF_I64; NULL: 0, 1, 2, ... all).
 *
 * bf_dictionary_values: to `values` (as many elements, of the column's dtype; a NULL is 0).
 * bf_dictionary_strings: their bytes one behind another to `bytes`, which has room for `room` of
 * them, and their offsets, one more than strings, to `offsets` (BF_I64). bytes NULL: the offsets
 * alone, of which the last says how much room is needed. A NULL is an empty string.
 *
 * valid (NULL: not wanted) has as many elements of BF_BOOL, which are 0 for NULLs. Errors:
 * BF_E_ARGUMENT (also a number that no key has), BF_E_DTYPE (the column is of the other kind),
 * BF_E_SHAPE (too little room), BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_dictionary_values(const bf_dictionary *dictionary, int column,
                                      const bf_array *numbers, const bf_array *values,
                                      const bf_array *valid);
BF_API bf_status bf_dictionary_strings(const bf_dictionary *dictionary, int column,
                                       const bf_array *numbers, const bf_array *offsets,
                                       char *bytes, int64_t room, const bf_array *valid);

#ifdef __cplusplus
}
#endif
#endif
