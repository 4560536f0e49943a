/* Bytes that something makes in order, where a tape would else read a descriptor. */
#ifndef BITFOLD_CLI_CONTAINER_FEED_H
#define BITFOLD_CLI_CONTAINER_FEED_H

#include <stddef.h>
#include <stdint.h>

typedef struct feed {
    void *of; /* NULL: there is none */
    /* Reads until size bytes are there or the data end. The bytes read, or -1 with errno set:
     * EBADMSG if the data are at fault. */
    int64_t (*read)(void *of, void *buffer, size_t size);
    /* Why the data are at fault; NULL: they are not. */
    const char *(*fault)(const void *of);
    void (*close)(void *of);
} feed;

#endif
