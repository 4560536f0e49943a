/* Records of any length, in the order of the bytes of their keys: in memory, and beyond it as
 * sorted runs in a temporary file, which are merged. Equal keys stay in the order in which they are
 * added, and no key is the beginning of another. Functions that return an exit code have reported
 * the failure. */
#ifndef BITFOLD_CLI_MEMORY_RECORDS_H
#define BITFOLD_CLI_MEMORY_RECORDS_H

#include "memory/arrange.h"
#include "memory/background.h"

#include <stdbool.h>

/* Records in memory. */
typedef struct record_lot {
    char *buffer;
    size_t room, used;
    record_place *places;
    int64_t n;
    bool unordered; /* they are not in the order of their keys */
} record_lot;

typedef struct record_run {
    int64_t next, end; /* what was not read yet, in the file */
    char *buffer;      /* what was read */
    size_t room, held, at;
    uint64_t prefix; /* the prefix of its next record, if there is one */
} record_run;

typedef struct records {
    int64_t memory, most;      /* most: of records that are wanted; 0: all are */
    int fd;                    /* -1: all are in memory */
    int64_t end;               /* where the file ends */
    record_lot added, written; /* what is added to; what is written meanwhile */
    record_place *scratch;     /* to sort them */
    bool shared;               /* another thread writes */
    background writer;
    int64_t at; /* the next one, if there are no runs */
    char *last; /* a record behind which none is wanted any more; NULL: there is none */
    record_run *runs;
    int count, runs_room;
    int *heap, live; /* runs that have records, that with the least first */
} records;

/* memory: bytes that are taken in all, if no record takes more. threads: of two, one writes what
 * memory does not hold. */
void records_open(records *r, int64_t memory, int64_t most, int threads);
void records_close(records *r);

/* Whether a record of this key may still be wanted. */
bool records_want(const records *r, const char *key, size_t bytes);

/* Adds a record: a key, and what belongs to it. */
int records_add(records *r, const char *key, size_t key_bytes, const char *rest, size_t rest_bytes);

/* Ends adding. */
int records_end(records *r);

/* Gives what belongs to the next key, valid until the next call. *rest is NULL at the end. */
int records_next(records *r, const char **rest, size_t *bytes);

#endif
