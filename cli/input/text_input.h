/* Where text comes from: a file or a stream, piece by piece, and its rows in turn.
 *
 * Pieces are copies, so that nothing in them changes while they are read, whatever other processes
 * do to the file. */
#ifndef BITFOLD_CLI_INPUT_TEXT_INPUT_H
#define BITFOLD_CLI_INPUT_TEXT_INPUT_H

#include "input/text.h"

#include <pthread.h>

/* Whole lines in memory, fit for text.h. */
typedef struct text_piece {
    const char *at, *end; /* what is left of it */
    const char *begin;
    int64_t offset;  /* of begin, from the start of the text */
    int64_t lines;   /* before begin; -1: not counted */
    const char *nul; /* the line behind `end` holds a NUL byte; NULL: it does not */
    char *buffer;    /* of `room` bytes and a few more; all of the above point into it */
    size_t room;
} text_piece;

typedef struct text_input {
    int fd;
    text_layout layout;
    /* Of a file, in bytes: */
    bool file;
    int64_t origin; /* where in the file the text starts */
    int64_t begin;  /* where in the text its rows begin, behind the header */
    int64_t size;
    /* Of a stream: */
    pthread_mutex_t lock;
    char *rest; /* bytes that were read and not yet given out: less than a line */
    size_t rest_size;
    int64_t offset, lines; /* given out so far */
    text_piece first;      /* the piece with the first row, until it is taken */
    bool ended;
} text_input;

/* Why there are no more rows. A function that returns TEXT_FAILED has set errno; TEXT_SHORTER means
 * that the file ends before the size that was given. */
typedef enum text_status {
    TEXT_OK,
    TEXT_REFUSED,
    TEXT_FAILED,
    TEXT_SHORTER,
    TEXT_NO_MEMORY
} text_status;

/* A refusal, with its place: the line, from 1 on, and the byte. error.at is NULL if it is the
 * options that do not fit. */
typedef struct text_refusal {
    text_error error;
    int64_t line, offset;
} text_refusal;

/* Of a file: `size` bytes from `origin` on. Of a stream: the bytes that were read already. Finds
 * the layout. Close it in either case. */
text_status text_open_file(text_input *t, const text_options *options, int fd, int64_t origin,
                           int64_t size, text_refusal *refusal);
text_status text_open_stream(text_input *t, const text_options *options, int fd, const char *prefix,
                             size_t length, text_refusal *refusal);
void text_close(text_input *t);

/* Takes the lines of a file that begin in [from, to), or of a stream whatever nobody else takes.
 * Several threads may read one input, each with a reader of its own. */
typedef struct text_reader {
    text_input *input;
    int64_t from, to; /* of a file: what is left */
    bool within;      /* `from` may be within a line, which is another reader's */
    int64_t skip;     /* rows to pass over */
    int64_t left;     /* rows to take; -1: all */
    int64_t taken;    /* bytes */
    text_piece piece;
    text_rows rows;
    text_status status; /* of the last text_reader_next */
    int error;          /* errno then */
    text_refusal refusal;
} text_reader;

/* False: no memory. Close it in either case. */
bool text_reader_open(text_reader *r, text_input *t, int64_t from, int64_t to);
void text_reader_close(text_reader *r);

/* Another part of the file, once the reader is at the end of its own. The time to find where its
 * first line begins is proportional to to - from at most, however long lines are. */
void text_reader_assign(text_reader *r, int64_t from, int64_t to);

/* Takes the next rows to r->rows; none at the end. */
text_status text_reader_next(text_reader *r);

/* Counts the rows that are left, without a look at them. */
text_status text_reader_count(text_reader *r, int64_t *n);

/* All numbers of a column in memory, as each candidate; u64 has the bits of i64, and
 * shares its memory. */
typedef struct text_numbers {
    void *as[TEXT_CANDIDATES];
    int64_t n, room;
    unsigned can; /* bit i: all numbers are candidate i's */
} text_numbers;

/* Loads the one column; r->skip and r->left select. Free it in either case. */
text_status text_load(text_reader *r, text_numbers *x);
void text_numbers_free(text_numbers *x);

#endif
