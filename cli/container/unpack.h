/* Compressed inputs: gzip, Zstandard and xz, by the libraries of these names, which are loaded when
 * such an input is read; and members of zip archives. */
#ifndef BITFOLD_CLI_CONTAINER_UNPACK_H
#define BITFOLD_CLI_CONTAINER_UNPACK_H

#include "container/feed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct unpack unpack;

/* Whether data begin as one of these formats does. */
bool unpack_knows(const void *prefix, size_t length);

/* Why there is no more: a message, and what may help, or NULL. */
typedef struct unpack_error {
    const char *what, *hint;
} unpack_error;

/* Reads from fd, from which the first bytes have been read already. limit: bytes of memory that the
 * data may ask for; 0: as many as is usual. NULL: the library is missing, or memory. */
unpack *unpack_open(int fd, const void *prefix, size_t length, int64_t limit, unpack_error *error);

/* Reads a deflated member of a zip archive, whose `packed` bytes come next from fd: `size` bytes,
 * with this CRC. */
unpack *unpack_open_member(int fd, int64_t packed, int64_t size, uint32_t crc, unpack_error *error);
void unpack_close(unpack *u);

/* Reads until size bytes are there or the data end. The bytes read, or -1 with errno set: EBADMSG
 * if the data are at fault. */
int64_t unpack_read(unpack *u, void *buffer, size_t size);

/* Why the data are at fault; NULL: they are not. */
const char *unpack_fault(const unpack *u);

/* Makes the feed of a tape. */
feed unpack_feed(unpack *u);

#endif
