/* A chunk: some rows of an input, read and parsed by one thread. */
#ifndef BITFOLD_CLI_INPUT_CHUNK_H
#define BITFOLD_CLI_INPUT_CHUNK_H

#include "input/source.h"

typedef struct chunk {
    int64_t n;     /* rows */
    int64_t bytes; /* where it begins in the input */
    bool end;      /* there are no chunks behind it */
    bool failed;   /* it could not be made */
    int error;     /* errno, if it failed */
    /* A chunk of text has these. */
    text_piece piece;
    text_rows rows;
    text_status status;
    text_error refused;
    text_selection before; /* what was selected before its rows were read */
    /* A chunk of an array has these. */
    void *elements;
    int64_t got; /* source_view's answer */
} chunk;

/* How the chunks of an input are made. */
typedef struct chunk_plan {
    source *source;
    const unsigned char *forms; /* the form of each column of text */
    const text_unit *units;     /* what its integers are held in, which may change meanwhile */
    text_selection *selection;  /* the text's; NULL: all rows are wanted */
    bool stream;
    int64_t first;    /* the first part of a text, or element of an array, that is wanted */
    int64_t row;      /* if text is a file: where its first wanted row begins; -1: as guessed */
    int64_t elements; /* how many a chunk of an array has */
    int64_t total;    /* chunks; INT64_MAX of a stream */
} chunk_plan;

/* Plans chunks: if a text is a file, the parts in [first, end), whose rows begin at `row`; else all
 * from `first` on. */
chunk_plan chunk_plan_of(source *s, const unsigned char *forms, const text_unit *units,
                         text_selection *selection, int64_t first, int64_t end, int64_t row);

/* Elements of an array that one holds. */
int64_t chunk_elements(const source *s);

/* False if there is no memory; close it in either case. */
bool chunk_open(chunk *c, const chunk_plan *plan);
void chunk_close(chunk *c);

/* Takes the next bytes of a stream; by one thread at a time, in the order of the chunks. */
void chunk_fetch(chunk *c, const chunk_plan *plan, int64_t number);

/* Makes the rows of a chunk; of a stream, from the bytes it has. row: where those of a part of a
 * file begin; -1: it is guessed. next: it is the next one to be used, so that a row of it may be as
 * long as memory allows; if one of another chunk is, that chunk is put off, and does not follow.
 * Several threads may make chunks, but only one if there is a selection. */
void chunk_make(chunk *c, const chunk_plan *plan, int64_t number, int64_t row, bool next);

/* Whether a chunk has such a row; gives back what that took, after the chunk's use. */
bool chunk_is_long(const chunk *c, const chunk_plan *plan);
void chunk_release(chunk *c, const chunk_plan *plan);

/* Makes the rows of a chunk of text again, with the units of the plan. */
void chunk_make_again(chunk *c, const source *s, const text_unit *units);

/* Whether a chunk was made of a guess; and whether that is right, if its rows begin at `row`. */
bool chunk_is_guess(const chunk_plan *plan, int64_t row);
bool chunk_follows(const chunk *c, const chunk_plan *plan, int64_t row);

/* Reports why a chunk could not be made. Returns an exit code, EXIT_DONE if it could. */
int chunk_check(const chunk *c, const source *s);

#endif
