/* Short keys as words: a table beside a dictionary's, of the keys that were met first.
 *
 * A key is packed if all its strings have at most 15 bytes and no column of it is NULL: a number
 * takes one word, one of 128 bits two, a string two, its length in the highest byte. To pack a key
 * and to compare words is faster than to write it as bytes, to hash these and to look at a record.
 * A key that is not found here may be in the dictionary all the same. */
#ifndef BF_CPU_DICTIONARY_PACKED_H
#define BF_CPU_DICTIONARY_PACKED_H

#include "rules/key/string.h"
#include "seam/dictionary.h"

enum {
    BF_PACKED_STRING = 15,   /* bytes of the longest string that is packed */
    BF_PACKED_WORDS = 7,     /* a key has so many at most */
    BF_PACKED_ROWS = 32,     /* so many are looked up together */
    BF_PACKED_KEYS = 1 << 15 /* so many fit a cache; with more keys, the table is given up */
};

typedef struct bf_packed_keys {
    int words; /* how many a key has; 0: there is no table */
    int columns;
    bf_hash_seed seed;
    uint64_t *slots; /* each: a key's words, and its number from 1 on, or 0 */
    int64_t slot_count, count;
} bf_packed_keys;

/* Rows that are looked up. */
typedef struct bf_packed_rows {
    const bf_key_data *columns;
    int64_t first, n; /* n <= BF_PACKED_ROWS */
    int64_t end;      /* the number of rows that the columns have */
} bf_packed_rows;

/* Makes an empty table; none, if keys of these columns take too many words. false: no memory. */
bool bf_packed_open(bf_packed_keys *keys, int columns, const bf_dtype dtypes[], bf_hash_seed seed);
void bf_packed_close(bf_packed_keys *keys);

/* Writes the numbers of rows; -1: the key is not in the table. */
void bf_packed_find(const bf_packed_keys *keys, const bf_packed_rows *rows, int64_t *numbers);

/* Adds the key of the first of the rows if it is not there. False: it cannot be packed. The table
 * is given up if there is no room or memory for the key. */
bool bf_packed_add(bf_packed_keys *keys, const bf_packed_rows *rows, int64_t number);

#endif
