/* A temporary file that is written from its beginning to its end, and is then read as memory. Its
 * pages are the system's to keep or to read again: no budget counts them. */
#ifndef BF_BASE_SPILL_SPOOL_H
#define BF_BASE_SPILL_SPOOL_H

#include "base/spill/file.h"

typedef struct bf_spool {
    bf_context *context;
    int fd;
    char *buffer;      /* what is not written yet */
    int64_t held, end; /* bytes there, and in all */
    const char *map;   /* NULL: it is no memory yet, or empty */
} bf_spool;

/* Begins with no bytes. The caller closes the spool, also after a failure; one of {.fd = -1} may be
 * closed, too. Errors of all: BF_E_MEMORY, BF_E_IO, with a message. */
bf_status bf_spool_open(bf_spool *s, bf_context *context);
void bf_spool_close(bf_spool *s);

bf_status bf_spool_add(bf_spool *s, const void *from, int64_t bytes);

/* Ends the file, and sets s->map to its bytes. The other keeps them when the spool is closed: who
 * called it ends them by bf_spool_forget. */
bf_status bf_spool_map(bf_spool *s);
const char *bf_spool_keep(bf_spool *s);
void bf_spool_forget(const void *map, int64_t bytes);

/* Says that nobody reads the bytes before `end` soon. */
void bf_spool_pass(const bf_spool *s, int64_t end);

#endif
