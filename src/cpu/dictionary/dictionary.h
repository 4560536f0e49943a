/* Dictionaries: a hash table in which each slot is the number of a key, and the keys by number.
 *
 *     slots    | 0 | tag, 3 | 0 | 0 | tag, 1 | tag, 2 | ...     open addressing, at most half full
 *     keys     | 1: length, bytes | 2: length, head, where | ...
 *     bytes    | of the keys that are longer than 12 | ...
 *
 * A slot holds 24 bits of the hash, so that other keys are seldom looked at. A key of up to 12
 * bytes lies in its record, as in Umbra (Neumann and Freitag 2020). */
#ifndef BF_CPU_DICTIONARY_DICTIONARY_H
#define BF_CPU_DICTIONARY_DICTIONARY_H

#include "cpu/runtime/context.h"
#include "rules/key/string.h"
#include "seam/dictionary.h"

enum {
    BF_KEY_HEAD = 4,   /* bytes of a long key that its record repeats */
    BF_KEY_SHORT = 28, /* bytes of the longest key that lies in its record */
    BF_KEY_TAG = 24    /* bits of the hash in a slot; the others are the number, from 1 */
};

/* A key's record. */
typedef struct bf_key_record {
    uint32_t length;
    char head[BF_KEY_HEAD];
    union {
        char rest[BF_KEY_SHORT - BF_KEY_HEAD];
        int64_t at; /* of a long key, in the dictionary's bytes */
    } as;
} bf_key_record;

struct bf_cpu_dictionary {
    int columns;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    bf_hash_seed seed; /* secret, against keys that are chosen to collide */
    uint64_t *slots;
    int64_t slot_count; /* a power of two, or 0 */
    bf_key_record *records;
    uint64_t *hashes;
    int64_t count, room; /* keys */
    char *bytes;
    int64_t used, bytes_room;
    int64_t null; /* the number of NULL in a lone column of strings; -1: it is not there */
};

/* The bytes of a key, which are `n`. Of NULL in a lone column of strings there are none. */
const char *bf_key_bytes_of(const bf_cpu_dictionary *d, int64_t number, int64_t *n);

/* A key of one column of strings is that string. */
static inline bool bf_key_is_plain(const bf_cpu_dictionary *d) {
    return d->columns == 1 && d->dtypes[0] == BF_NONE;
}

#endif
