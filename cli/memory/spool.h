/* Bytes that are written once and then read as often as wanted: in memory up to a limit, and beyond
 * it in a temporary file that has no name, so that nothing is left behind whatever happens. */
#ifndef BITFOLD_CLI_MEMORY_SPOOL_H
#define BITFOLD_CLI_MEMORY_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory that the spools of a command may still take together. */
typedef struct spool_limit {
    atomic_int_fast64_t left;
} spool_limit;

typedef struct spool {
    spool_limit *limit;
    unsigned char *memory; /* the first bytes */
    int64_t room, held;    /* it has so much address space, and has written so much */
    int fd;                /* the rest; -1: none yet */
    int64_t size;          /* in all */
} spool;

/* bytes 0: a quarter of the memory of this machine or cgroup. */
void spool_limit_set(spool_limit *limit, int64_t bytes);

void spool_open(spool *s, spool_limit *limit);
void spool_close(spool *s);

/* Appends. False, with errno set, if it failed. */
bool spool_write(spool *s, const void *bytes, size_t size);

/* After the last write: gives back the memory that was not needed. */
void spool_end(spool *s);

/* Bytes [at, at + size) as one piece: where they lie, or in buffer. NULL, with errno set, if it
 * failed. */
const void *spool_read(const spool *s, int64_t at, void *buffer, size_t size);

#endif
