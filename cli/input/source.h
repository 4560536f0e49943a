/* An input: the numbers of a file, a pipe or standard input, by index.
 *
 * Open it, prepare it, read it. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_INPUT_SOURCE_H
#define BITFOLD_CLI_INPUT_SOURCE_H

#include "container/member.h"
#include "container/npy.h"
#include "input/mapping.h"
#include "input/tape.h"
#include "input/text.h"

#include <stdbool.h>

/* A time that is none, in any unit. */
#define SOURCE_NAT INT64_MIN

enum format { FORMAT_AUTO, FORMAT_NPY, FORMAT_RAW, FORMAT_TEXT, FORMAT_JSONL };

/* The options that hold for every input of a command. */
typedef struct input {
    enum format format;
    bf_dtype dtype;    /* the dtype of raw data and, if given, of text */
    int64_t first;     /* --offset, in elements */
    int64_t count;     /* --count; -1: to the end */
    text_options text; /* but for its dtype */
    int64_t unpack;    /* bytes of memory for decompressing; 0: no limit but the usual */
    bool implied;      /* standard input is read because nothing is named */
    const struct rows_condition *condition; /* on rows (input/rows.h); NULL: all are wanted */
} input;

typedef struct source {
    const char *name; /* as the user gave it; "-" is standard input */
    int fd;
    bool owned; /* fd is ours to close */
    bool file;  /* it has a known size */
    bool raw;
    enum member_kind kind; /* what a file of several arrays is */
    member member;         /* the one that is read */
    text_input *text;      /* text: no dtype, and count -1 unless --count was given */
    bool stream;           /* read in order: a pipe, a terminal, a device */
    spool_limit *keep;     /* memory for a stream that is to be read again; NULL: it is not */
    int64_t memory;        /* bytes of the file that may be resident; 0: no limit */
    tape tape;             /* a stream's */
    npy_header layout;     /* raw data have one dimension */
    int64_t start;         /* where in the file element 0 stands */
    int64_t size;          /* how many bytes of data a file has */
    int64_t first;         /* the selected elements: [first, first + count) */
    int64_t count;         /* -1: until the stream ends */
    bool part;             /* the options select not all of an array */
    /* source_prepare sets these. */
    bool reorder;              /* C order must be made from Fortran order */
    const unsigned char *data; /* element 0, in memory; NULL of a stream, or of text */
    mapping map;               /* the file where data are, if one is mapped */
    void *whole;               /* a stream that was read to its end */
    int64_t tape_start;        /* where on a stream's tape the selection begins */
} source;

/* Opens name and reads its header. keep: memory for a stream that is to be read again; NULL: it is
 * not. */
int source_open(source *s, const char *name, const input *in, spool_limit *keep);

/* Whether a file can only be read from its start on: it is compressed, or text that is decoded. */
bool source_reads_on(const char *name, const input *in);

/* Makes ready to read. ordered: elements are wanted in C order, not in the file's. */
int source_prepare(source *s, bool ordered);

/* Passes over elements of a stream that is ready. */
int source_skip(source *s, int64_t n);

/* Whether standard input was read because nothing is named, and held nothing. */
bool source_found_nothing(void);
void source_close(source *s);

/* Goes back to the start of a stream that was kept, or does nothing. */
void source_rewind(source *s);

/* Elements [index, index + n) of the selection of an array, in this machine's byte order: in the
 * file's own memory, or in buffer, which has room for n. Of a stream, index must be the next one,
 * and *got says how many there were: fewer than n if it ended, -1 with errno set if it failed.
 * Several threads may view one source that is not a stream. */
const void *source_view(source *s, int64_t index, int64_t n, void *buffer, int64_t *got);

/* Copies elements [index, index + n) of the selection of a file that is mapped, in the file's
 * order, into memory of the caller's, without mapped pages. */
int source_copy(const source *s, int64_t index, int64_t n, void *to);

/* If memory is limited, takes elements [index, index + n) of a mapped file, which have been used,
 * out of the resident set. */
void source_drop(const source *s, int64_t index, int64_t n);

/* Reports that source_view got so many (and errno, if -1) where more was promised. */
int source_failed(const source *s, int64_t got, int error);

/* To be called when all is read, or what was read is refused: whether the file stayed whole
 * meanwhile. */
int source_check(const source *s);

size_t source_element(const source *s);

/* Reports rows of text that were selected and are not there, n of them being read. */
int source_check_rows(const source *s, const text_selection *left, int64_t n);

/* Reports why the rows of text ended before their time (not for TEXT_OK). */
int source_text_failed(const source *s, text_status st, const text_refusal *refusal);

#endif
