/* Where text comes from: a file or a stream, in pieces of whole rows.
 *
 * Pieces are copies, so that nothing in them changes while they are read, whatever other processes
 * do to the file. */
#ifndef BITFOLD_CLI_INPUT_TEXT_H
#define BITFOLD_CLI_INPUT_TEXT_H

#include "input/tape.h"
#include "text/text.h"

/* Why what follows is no text, and where; NULL: nothing is wrong. */
typedef struct text_fault {
    const char *what, *at;
} text_fault;

/* Whole rows in memory, fit for text.h. */
typedef struct text_piece {
    const char *at, *end; /* what is left of it */
    const char *begin;
    int64_t offset;     /* where `begin` is, from the start of the text */
    int64_t next;       /* the offset of the row behind it; -1: unknown, and there is none in it */
    int64_t lines;      /* before begin; -1: not counted */
    text_survey survey; /* tells what is in it */
    text_fault fault;   /* in the row behind `end` */
    bool put_off;       /* it has none of its rows, for one needs more memory than its share */
    char *buffer;       /* it has `room` bytes and a few more; the pointers above point into it */
    size_t room;
} text_piece;

typedef struct text_input {
    text_layout layout;
    char delimiter;   /* as in the layout, which it is found for */
    text_style style; /* the options' style */
    bool table;       /* the options ask for a table */
    bool object;      /* its first row is an object of JSON, which it is not read as */
    int64_t begin;    /* where in the text its rows begin, behind the header */
    char *header;     /* the header with a NUL, if rows are wanted whole; NULL: there is none */
    size_t piece;     /* bytes of a piece, but for longer rows */
    /* A file has these, in bytes. */
    int fd;
    bool file;
    int64_t origin; /* where in the file the text starts */
    int64_t size;
    int64_t second; /* where the rows behind the first piece begin */
    /* A stream has these. */
    tape *tape;
    char *rest; /* bytes that were read and not yet given out: less than a row */
    size_t rest_size;
    int64_t offset, lines; /* given out so far */
    int64_t header_lines;  /* before its rows */
    size_t longest, share; /* bytes of a row; of one that is held beside those of others */
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

/* Takes the rows of a file that begin in one part, from 0 on; there may be none. row: the offset of
 * the first row that begins in it or behind it, as the piece before tells; -1: it is guessed, so
 * that threads need not wait for each other. A guess is wrong only if the part begins within
 * quotes: the piece must be taken again, then, unless text_follows. The time is proportional to the
 * bytes of a piece and of the last row, however long rows are. Several threads may take parts. */
text_status text_take_part(text_input *t, text_piece *p, int64_t part, int64_t row);

/* Reads a part, unless a row of it is too long to be held beside other pieces: then the piece is
 * put off until nobody else has such a row, and does not follow any. */
text_status text_try_part(text_input *t, text_piece *p, int64_t part, int64_t row);

/* Whether a piece has a row that is too long to be held beside others; gives back what such a row
 * took, with the piece. */
bool text_is_long(const text_input *t, const text_piece *p);
void text_release(const text_input *t, text_piece *p);

/* Whether a piece, taken in any way, begins with this row. */
bool text_follows(const text_piece *p, int64_t row);

/* Where the first row begins that is not before a part: found by reading all before it, if quotes
 * may hold newlines; otherwise *row is -1, and no guess is wrong. */
text_status text_find_part(text_input *t, int64_t part, int64_t *row);

/* Takes the next rows of a stream; none at its end. One thread at a time. */
text_status text_take_next(text_input *t, text_piece *p);

/* Whether rows of a piece may have quoted fields that hold newlines or delimiters. */
bool text_is_quoted(const text_input *t, const text_piece *p);

/* A stream begins anew; its tape keeps what it gave. */
void text_rewind(text_input *t);

/* The rows of a whole text that are wanted. */
typedef struct text_selection {
    int64_t skip; /* rows to pass over without a look at their fields */
    int64_t left; /* rows to take; -1: all */
} text_selection;

/* Reads the rows of a piece that are selected, and takes them off the selection (NULL: all rows are
 * wanted). Room is made for them. What is refused is at error->at, in the piece. */
text_status text_read_piece(const text_input *t, text_piece *p, text_selection *selection,
                            text_rows *rows, text_error *error);

/* The lines of the file before an offset, less the newlines before it: 0, but where the text has
 * been decoded. */
int64_t text_lines_more(const text_input *t, int64_t offset);

/* Sets the line and the byte of a refusal, whose error.at lies in the piece. Of a file, the time is
 * proportional to the bytes before it, so that this is for refusals that are reported. */
void text_place_refusal(const text_input *t, const text_piece *p, text_refusal *refusal);

#endif
