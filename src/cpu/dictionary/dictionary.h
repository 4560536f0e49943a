/* Dictionaries: a hash table in which each slot is the number of a key, and the keys by number.
 *
 *     slots    | 0 | tag, 3 | 0 | 0 | tag, 1 | tag, 2 | ...     open addressing, at most half full
 *     keys     | 1: length, bytes | 2: length, head, where | ...
 *     bytes    | of the keys that are longer than 28 | ...
 *
 * A slot holds 24 bits of the hash, so that other keys are seldom looked at. A key of up to 28
 * bytes lies in its record, as in Umbra (Neumann and Freitag 2020). */
#ifndef BF_CPU_DICTIONARY_DICTIONARY_H
#define BF_CPU_DICTIONARY_DICTIONARY_H

#include "cpu/dictionary/packed.h"
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
        int64_t at; /* where a long key is, in the dictionary's bytes */
    } as;
} bf_key_record;

struct bf_cpu_dictionary {
    int columns;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    bf_hash_seed seed; /* secret, against keys that are chosen to collide */
    uint64_t *slots;
    int64_t slot_count;     /* a power of two, or 0 */
    bf_key_record *records; /* they lie in whole lines of memory */
    void *record_memory;    /* in which they are */
    uint64_t *hashes;
    int64_t count, room; /* keys */
    char *bytes;
    int64_t used, bytes_room;
    int64_t null; /* the number of NULL in a lone column of strings; -1: it is not there */
    bf_packed_keys packed;
};

/* A key that is looked for. bytes NULL: a NULL. */
typedef struct bf_key {
    const char *bytes;
    int64_t n;
    uint64_t hash;
} bf_key;

/* The bytes of a key, which are `n`. Of NULL in a lone column of strings there are none. */
const char *bf_key_bytes_of(const bf_cpu_dictionary *d, int64_t number, int64_t *n);

/* A key of one column of strings is that string. */
static inline bool bf_key_is_plain(const bf_cpu_dictionary *d) {
    return d->columns == 1 && d->dtypes[0] == BF_NONE;
}

/* Where string number i begins. */
static inline int64_t bf_key_offset(const bf_key_data *c, int64_t i) {
    if (c->wide) return (int64_t)bf_load_bits((const char *)c->offsets + 8 * i, 8);
    return (int64_t)bf_load_bits((const char *)c->offsets + 4 * i, 4);
}

static inline bool bf_key_is_null(const bf_key_data *c, int64_t row) {
    const int64_t bit = c->first + row;
    return c->valid != NULL && !(c->valid[bit >> 3] >> (bit & 7) & 1);
}

/* --- dictionary.c --- */

/* Writes the numbers of n keys; -1: it is not there. Sets their hashes. */
void bf_key_find(const bf_cpu_dictionary *d, bf_key keys[], int64_t n, int64_t *numbers);

/* Finds the number of a key with its hash, which is added if it is new. Errors: BF_E_OVERFLOW (it
 * is too long), BF_E_MEMORY; without messages. */
bf_status bf_key_add(bf_cpu_dictionary *d, const bf_key *key, int64_t *number);

/* Removes the keys from number `count` on, whose bytes begin at `used`. */
void bf_key_remove(bf_cpu_dictionary *d, int64_t count, int64_t used);

/* Gives BF_E_MEMORY its message. */
bf_status bf_key_explain(bf_context *context, const bf_cpu_dictionary *d, bf_status status);

/* Errors: BF_E_OVERFLOW, if there are more keys than `most`. */
bf_status bf_key_check_count(bf_context *context, const bf_cpu_dictionary *d, int64_t most);

/* --- of seam/dictionary.h --- */

bf_cpu_dictionary *bf_cpu_dictionary_create(int count, const bf_dtype columns[]);
void bf_cpu_dictionary_destroy(bf_cpu_dictionary *dictionary);
int64_t bf_cpu_dictionary_size(const bf_cpu_dictionary *dictionary);
bf_status bf_cpu_dictionary_number(bf_context *context, bf_cpu_dictionary *dictionary, int64_t most,
                                   const bf_key_data columns[], int64_t rows, int64_t *numbers);
bf_status bf_cpu_dictionary_merge(bf_context *context, bf_cpu_dictionary *into,
                                  const bf_cpu_dictionary *from, int64_t most, int64_t *numbers);
bf_status bf_cpu_dictionary_rank(bf_context *context, bf_cpu_dictionary *dictionary,
                                 int64_t *ranks);
bool bf_cpu_dictionary_value(const bf_cpu_dictionary *dictionary, int64_t number, int column,
                             void *element);
bool bf_cpu_dictionary_string(const bf_cpu_dictionary *dictionary, int64_t number, int column,
                              char *to, int64_t *n);

extern const bf_dictionary_backend bf_cpu_dictionaries;

#endif
