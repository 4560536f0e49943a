/* Where text comes from: a file or a stream, in pieces of whole lines.
 *
 * Pieces are copies, so that nothing in them changes while they are read, whatever other processes
 * do to the file. */
#ifndef BITFOLD_CLI_TEXT_INPUT_H
#define BITFOLD_CLI_TEXT_INPUT_H

#include "input/tape.h"
#include "text/text.h"

/* Whole lines in memory, fit for text.h. */
typedef struct text_piece {
    const char *at, *end; /* what is left of it */
    const char *begin;
    int64_t offset;    /* of begin, from the start of the text */
    int64_t lines;     /* before begin; -1: not counted */
    const char *fault; /* why the line behind `end` is no text; NULL: nothing is wrong with it */
    char *buffer;      /* of `room` bytes and a few more; the pointers above point into it */
    size_t room;
} text_piece;

typedef struct text_input {
    text_layout layout;
    int64_t begin; /* where in the text its rows begin, behind the header */
    size_t piece;  /* bytes of a piece, but for longer lines */
    /* Of a file, in bytes: */
    int fd;
    bool file;
    int64_t origin; /* where in the file the text starts */
    int64_t size;
    /* Of a stream: */
    tape *tape;
    char *rest; /* bytes that were read and not yet given out: less than a line */
    size_t rest_size;
    int64_t offset, lines; /* given out so far */
    int64_t header_lines;  /* before its rows */
    size_t longest;        /* bytes of a line */
    bool ended;
    text_piece first; /* the piece with the first row, until it is taken */
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

/* Opens a file, `size` bytes of it from `origin` on; or a stream, of which the first bytes were
 * read. piece: bytes of a piece, but for longer lines. Finds the layout. Close it in either case.
 */
text_status text_open_file(text_input *t, const text_options *options, int fd, int64_t origin,
                           int64_t size, size_t piece, text_refusal *refusal);
text_status text_open_stream(text_input *t, const text_options *options, tape *from,
                             const char *prefix, size_t length, size_t piece,
                             text_refusal *refusal);
void text_close(text_input *t);

/* The parts of a file. */
int64_t text_parts(const text_input *t);

/* Takes the lines of a file that begin in one part, from 0 on; there may be none. Several threads
 * may take parts. The time is proportional to the bytes of a piece and of the last line, however
 * long lines are. */
text_status text_take_part(text_input *t, text_piece *p, int64_t part);

/* Takes the next lines of a stream; none at its end. One thread at a time. */
text_status text_take_next(text_input *t, text_piece *p);

/* A stream begins anew; its tape keeps what it gave. */
void text_rewind(text_input *t);

/* The rows of a whole text that are wanted. */
typedef struct text_selection {
    int64_t skip; /* rows to pass over without a look at their fields */
    int64_t left; /* rows to take; -1: all */
} text_selection;

/* Reads the rows of a piece that are selected, and takes them off the selection (NULL: all rows are
 * wanted). Room is made for them. */
text_status text_read_piece(const text_input *t, text_piece *p, text_selection *selection,
                            text_rows *rows, text_refusal *refusal);

#endif
