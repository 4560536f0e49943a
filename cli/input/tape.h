/* A stream of bytes that can be read again: as it is read, a tape keeps what it will have to give
 * once more, in a spool. */
#ifndef BITFOLD_CLI_INPUT_TAPE_H
#define BITFOLD_CLI_INPUT_TAPE_H

#include "container/feed.h"
#include "decode/decode.h"
#include "memory/spool.h"

#include <stdbool.h>

typedef struct tape {
    int fd;
    feed feed;       /* what is read instead of fd, if there is one */
    decode *decode;  /* it is text to be decoded; NULL: it is not */
    bool ended;      /* it gave less than was asked for; a terminal could go on after its end */
    bool keeps;      /* what is read goes to the spool */
    spool spool;     /* the first bytes of the stream */
    int64_t at;      /* the next byte to give */
    int spool_error; /* errno of the spool's failure; 0: none */
    bool *empty;     /* becomes true if the stream holds nothing; NULL: nobody asks */
} tape;

/* limit: of the memory that the spool may take; NULL: the stream is read once. */
void tape_open(tape *t, int fd, spool_limit *limit);
void tape_close(tape *t);

/* The tape begins anew, with what the feed gives, which it closes in the end. */
void tape_feed(tape *t, const feed *from, spool_limit *limit);

/* What comes is text that must be decoded, of which the first bytes have been read, or all (ended):
 * the tape begins anew, with what they say. It may not be moved then. False: there is no memory. */
bool tape_decode(tape *t, const text_options *options, const void *prefix, size_t length,
                 bool ended, spool_limit *limit);

/* What to add to a count of the newlines before an offset: 0, but of a text that is decoded. */
int64_t tape_lines_more(const tape *t, int64_t offset);

/* Reads until size bytes are there or the stream ends. Returns the bytes read, or -1 with errno
 * set. */
int64_t tape_read(tape *t, void *buffer, size_t size);

/* Goes back to a byte; only of a tape that keeps. */
void tape_rewind(tape *t, int64_t at);

/* The stream need not be read again from its start: what has been given is forgotten. */
void tape_forget(tape *t);

#endif
