/* Where text comes from: a file in memory or a stream, piece by piece, and its rows in turn. */
#ifndef BITFOLD_CLI_IO_TEXT_INPUT_H
#define BITFOLD_CLI_IO_TEXT_INPUT_H

#include "text.h"

#include <pthread.h>

/* Whole lines in memory, fit for text.h. */
typedef struct text_piece {
    const char *at, *end; /* what is left of it */
    const char *begin;
    int64_t offset;  /* of begin, from the start of the text */
    int64_t lines;   /* before begin; -1: not counted */
    const char *nul; /* the line behind `end` holds a NUL byte; NULL: it does not */
    char *buffer;    /* of `room` bytes, for pieces that must be copied */
    size_t room;
} text_piece;

typedef struct text_input {
    int fd; /* of a stream */
    text_layout layout;
    const char *data; /* a file; NULL of a stream */
    int64_t begin;    /* where its rows begin, behind the header */
    int64_t size;
    /* Of a stream: */
    pthread_mutex_t lock;
    char *rest; /* bytes that were read and not yet given out: less than a line */
    size_t rest_size;
    int64_t offset, lines; /* given out so far */
    text_piece first;      /* the piece with the first row, until it is taken */
    bool ended;
} text_input;

/* Why there are no more rows. A function that returns TEXT_FAILED has set errno. */
typedef enum text_status { TEXT_OK, TEXT_REFUSED, TEXT_FAILED, TEXT_NO_MEMORY } text_status;

/* A refusal, with its place: the line, from 1 on, and the byte. error.at is NULL if it is the
 * options that do not fit. */
typedef struct text_refusal {
    text_error error;
    int64_t line, offset;
} text_refusal;

/* Of a file: all of its bytes. Of a stream: the bytes that were read already. Finds the layout.
 * Close it in either case. */
text_status text_open_file(text_input *t, const text_options *options, const char *data,
                           int64_t size, text_refusal *refusal);
text_status text_open_stream(text_input *t, const text_options *options, int fd, const char *prefix,
                             size_t length, text_refusal *refusal);
void text_close(text_input *t);

/* Takes a part of a file: [from, to), both of them beginnings of lines; or of a stream, whatever
 * nobody else takes. Several threads may read one input, each with a reader of its own. */
typedef struct text_reader {
    text_input *input;
    int64_t from, to; /* of a file: what is left */
    int64_t skip;     /* rows to pass over */
    int64_t left;     /* rows to take; -1: all */
    int64_t taken;    /* bytes */
    text_piece piece;
    text_rows rows;
    text_refusal refusal;
} text_reader;

/* False: no memory. Close it in either case. */
bool text_reader_open(text_reader *r, text_input *t, int64_t from, int64_t to);
void text_reader_close(text_reader *r);

/* The first beginning of a line from `offset` on. */
int64_t text_line_from(const text_input *t, int64_t offset);

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
