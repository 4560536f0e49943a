/* Puts records in memory in the order of the bytes of their keys. */
#ifndef BITFOLD_CLI_MEMORY_ARRANGE_H
#define BITFOLD_CLI_MEMORY_ARRANGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A record is a head, the key, and the rest. */
typedef struct record_head {
    uint32_t key, rest; /* bytes */
} record_head;

/* A record in memory. */
typedef struct record_place {
    uint64_t prefix; /* the first eight bytes of its key, as a number */
    const char *at;
} record_place;

static inline record_head record_head_of(const char *at) {
    record_head h;
    memcpy(&h, at, sizeof h);
    return h;
}

/* Eight bytes of a key from its byte number `from` on, with zeros behind its end. */
static inline uint64_t record_prefix(const char *key, size_t bytes, size_t from) {
    uint64_t prefix = 0;
    const size_t left = from < bytes ? bytes - from : 0;
    memcpy(&prefix, key + (left > 0 ? from : 0), left < sizeof prefix ? left : sizeof prefix);
    return __builtin_bswap64(prefix);
}

/* Less than 0, 0, or more: as the keys of two records are in order. */
int record_compare(const char *a, const char *b);

/* Sorts n places. Equal keys stay as they are, and no key is the beginning of another. scratch: has
 * room for as many. The prefixes do not count any more then. */
void arrange_places(record_place *places, record_place *scratch, int64_t n);

#endif
