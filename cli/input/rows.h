/* Rows: the numbers of the wanted columns of one input, in chunks, in the order of the file. An
 * array is one column.
 *
 * Threads read and parse the chunks to come while the caller uses one. An array in a file is not
 * copied: its chunks lie where the file is mapped, unless they must not change or their bytes must
 * be put in order. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_INPUT_ROWS_H
#define BITFOLD_CLI_INPUT_ROWS_H

#include "input/source.h"

typedef struct rows_options {
    int threads;       /* how many read and parse, the caller's among them */
    bool settled;      /* each column has one dtype from the first chunk on */
    int digits;        /* digits of integers with a scale (rows_scale) that a column of text may be:
                          0: none, BF_SCALE_MOST: i64, BF_SCALE_MOST_I128: i128, too */
    bool ordered;      /* elements of arrays come in C order, not in the file's */
    bool unchanging;   /* no other process can change a chunk */
    spool_limit *keep; /* memory for a stream that is to be read again; NULL: it is not */
    int64_t memory;    /* bytes of the file that may be resident; 0: no limit */
    int64_t slab;      /* bytes of an array that are handed out at a time; 0: the usual */
    bool nulls;        /* numbers that are NULL may be skipped: the caller looks at `valid` */
    bool times;        /* a column may be one of times: the caller looks at rows_time */
} rows_options;

/* The fields of one column in a chunk: numbers, strings or both. */
typedef struct rows_column {
    const void *as[TEXT_CANDIDATES]; /* as rows_candidate says; NULL: not held in that form */
    unsigned can;                    /* bit i: all numbers so far are candidate i's */
    bf_strings strings;              /* its offsets are NULL if it holds none */
    const uint8_t *valid;            /* as in bf_column, from bit `first` on: 0 where a row is */
    int64_t first;                   /* NULL, its number 0 and string empty; NULL: no row is */
} rows_column;

typedef struct rows_chunk {
    int64_t n; /* 0: the end */
    const rows_column *columns;
    const text_row
        *stands; /* where rows stand, if text_options ask for them whole and `most` is 0 */
} rows_chunk;

struct rows;

/* A condition on the rows of a text (columns/condition.h), and what leaves out of one input those
 * that do not meet it. `keep_rows` changes a chunk, which has the columns of the condition behind
 * the wanted ones; it may set the rows' `picked`. */
struct rows_condition {
    text_condition columns; /* the ones that it names */
    spool_limit *keep;      /* memory for a stream: rows_options.keep, unless that is given */
    struct rows_filter *(*open)(const struct rows_condition *c);
    int (*keep_rows)(struct rows_filter *f, struct rows *r, rows_chunk *chunk);
    void (*close)(struct rows_filter *f);
};

/* A place in an input, between two rows. */
typedef struct rows_place {
    int64_t at;       /* rows before it, from the first that is wanted on */
    int64_t left_out; /* how many of them do not meet the condition */
    /* Text that is a file has these. */
    int64_t part, used;       /* the part that it is in, and rows of that before it */
    text_selection selection; /* what was left of the selection before that part */
} rows_place;

/* What a column can be. */
typedef struct rows_kind {
    unsigned can;        /* candidates left */
    unsigned char scale; /* the integers are in units of 10^-scale */
    unsigned char time;  /* what times they are, as in text_unit */
} rows_kind;

/* Leaves of a kind what columns of both are. */
void rows_join_kind(rows_kind *into, rows_kind other);

typedef struct rows {
    source source;
    int columns; /* the wanted ones, which are the first */
    int held;    /* with the ones that the condition alone has */
    int *place;  /* where the reader has each of these: the fields below are in its order */
    rows_options options;
    bool ready;           /* to be read */
    unsigned *can;        /* for each column: candidates that all fields so far are */
    unsigned char *forms; /* for each column of text: what the chunks hold */
    text_unit *units;     /* for each column of text: what its integers are in */
    rows_column *chunk;   /* for each column: what was handed out last */
    rows_column *shown;   /* what was handed out, in the order of the columns */
    const struct rows_condition *condition; /* NULL: all rows are wanted */
    struct rows_filter *filter;
    const int64_t *picked; /* the rows handed out, of the chunk; NULL: all of them */
    int64_t left_out;      /* rows so far that do not meet the condition */
    rows_place origin;     /* where the wanted rows begin */
    int64_t end;           /* if text is a file: its parts before this one are wanted */
    rows_place start;      /* where reading began: at the origin or further on */
    int64_t at;            /* rows handed out, and those before the start */
    int64_t taken;         /* chunks */
    struct crew *crew;     /* who makes chunks; NULL: nobody yet, or the array lies in place */
    struct chunk *current; /* NULL: none */
    bool fresh;            /* it is not settled yet */
    int64_t used;          /* rows of the current chunk, or in place, that were handed out last */
    text_selection selection;  /* for text: what is still to be passed over, and to be taken */
    struct gathered *gathered; /* for each column: room for rows of several chunks */
    int64_t room;              /* how many rows */
    char *present;             /* for rows_present: numbers */
    int64_t *present_rows;     /* where they stand */
    int64_t present_room;      /* how many numbers */
    bool skips;                /* elements may be NULL */
    uint8_t *valid;            /* bits: 0 where one that was handed out is */
} rows;

/* rows_next: numbers have shown that a settled column has another dtype or scale than it seemed to
 * have.
 * What was made of the rows so far does not count; rows_again begins anew. */
enum { ROWS_RESETTLED = -1 };

/* What a command returns, once the rows begin again, that takes numbers and finds a column of
 * strings: keys of JSON lines that are not all numbers (text_options.mixed). */
enum { ROWS_STRINGS = -3 };

int rows_open(rows *r, const char *name, const input *in, const rows_options *options);

/* Opens an input of one column. */
int rows_open_column(rows *r, const char *name, const input *in, const rows_options *options);

/* The field of a column of text; whether it is that of the column before it. */
int rows_field(const rows *r, int column);
bool rows_repeats(const rows *r, int column);

/* Before the first chunk: of the columns of a text, which all were asked for, n are wanted, by
 * their fields, ascending; `kinds` says what each holds. */
int rows_keep(rows *r, const int fields[], const unsigned char kinds[], int n);

void rows_close(rows *r);

/* Before the first chunk: the columns of a text are in the order of the options' list, not in that
 * of the file. One that is listed twice is refused. */
int rows_order_as_listed(rows *r, const char *list);

/* The candidates that a column has left, as bits; and rules some out. */
unsigned rows_can(const rows *r, int column);
void rows_rule_out(rows *r, int column, unsigned candidates);

/* The candidates that a column may have as its dtype; and its dtype, the most exact that is left
 * (BF_NONE: strings). */
bf_dtype rows_candidate(const rows *r, int i);
int rows_candidates(const rows *r);
bf_dtype rows_dtype(const rows *r, int column);

/* The scale of a column, if its dtype is i64 or i128 and decimals were asked for: its numbers are
 * in units of 10^-scale. It rises as rows are read. */
int rows_scale(const rows *r, int column);

/* What times its numbers are; BF_TIME_NONE: they are none. A date may turn to a local time as rows
 * are read. */
bf_time_kind rows_time(const rows *r, int column);

/* What an expression takes it for: BF_TIME_ANY of a column of numbers of which all rows so far are
 * NULL. */
bf_time_kind rows_meets(const rows *r, int column);

/* Refuses a column of times: "times have no sum", say. Returns an exit code. */
int rows_refuse_times(const char *name, const char *what);

/* Whether its integers are i128: those of a column that is not settled become so. */
bool rows_is_wide(const rows *r, int column);

/* Before the first chunk: raises the scale of a column of integers. */
void rows_raise_scale(rows *r, int column, int scale);

/* Takes a column of integers as doubles. The rows must be read again: rows_again. */
void rows_take_doubles(rows *r, int column);

/* Reports that 128 bits do not hold the numbers of several files with one scale. Returns an exit
 * code. */
int rows_refuse_scale(const char *name);

/* Before the first chunk: text that was asked for in no dtype is read as this one; a number that is
 * none of it is refused. */
void rows_demand(rows *r, bf_dtype dtype);

/* Whether a column is asked for as strings, or as numbers and found to have some field that is
 * none. */
bool rows_has_strings(const rows *r, int column);

/* The wanted column that an item of the options means; -1: none. */
int rows_column_of(const rows *r, const char *item);

/* Whether all numbers so far are of this dtype; and, before the first chunk, takes them as it. */
bool rows_can_be(const rows *r, bf_dtype dtype);
void rows_take_as(rows *r, bf_dtype dtype);

/* Before the first chunk: takes a column of keys as strings, whatever its fields are. */
void rows_take_strings(rows *r, int column);

/* Whether a settled column may still turn out to have another dtype or scale. */
bool rows_may_resettle(const rows *r);

/* The next `most` rows, fewer only at the end, or where some do not meet the condition, or where a
 * column that is not settled gets another scale or becomes i128; 0: as many as there are at hand.
 * The numbers of a column as i128 are not held while it may be i64 or u64, and the other way
 * around. Valid until the next call, which may drop them from memory. */
int rows_next(rows *r, int64_t most, rows_chunk *chunk);

/* Reads the rest, so that each settled column is what it will be; the rows must be read again. */
int rows_read_all(rows *r);

/* Begins again at the first row. What is a stream must have been kept. */
void rows_again(rows *r);

/* A stream need not be kept any longer. */
void rows_forget(rows *r);

/* Where the next row is. Of an input that is a file, reading may start there, if it has not begun;
 * kinds: what each column can be. False: there is no such place in it. */
rows_place rows_tell(const rows *r);
bool rows_seek(rows *r, const rows_place *place, const rows_kind kinds[]);

/* What a column can be; before the first chunk: what it is taken for. */
rows_kind rows_kind_of(const rows *r, int column);
void rows_set_kind(rows *r, int column, rows_kind kind);

/* Makes ready to read; the first rows_next does it too. Until then options.ordered may be set. */
int rows_prepare(rows *r);

/* Once ready: whether chunks lie where the file is mapped. */
bool rows_in_place(const rows *r);

/* The rows that are best taken at once of inputs that are read in step: of arrays in place, as many
 * as rows_next gives; otherwise `few`, for they are copied. */
int64_t rows_in_step(const rows *r, int64_t few);

/* The name of a column of text, or its number; NULL of an array, or if there is no memory. The
 * caller's to free. */
char *rows_column_name(const rows *r, int column);

/* Returns it too, and an empty name where a header has that. */
char *rows_header_name(const rows *r, int column);

/* The bytes of all rows, -1 if unknown; and the threads that read them. */
int64_t rows_bytes(const rows *r);
int rows_threads(const rows *r);

/* The rows handed out so far, and those before the start, that meet the condition. */
int64_t rows_seen(const rows *r);

/* The numbers of a column that are not NULL, one behind another. */
typedef struct rows_numbers {
    bf_array numbers;
    const int64_t *at; /* for each number, its row in the chunk; NULL: all rows have one */
} rows_numbers;

/* Leaves out of column k of a chunk, as candidate i, the rows that are NULL in it or beside it (in
 * a column that is read in step; NULL: none is). The numbers are valid until the next call. False:
 * there is no memory. */
bool rows_present(rows *r, const rows_chunk *of, int k, int i, const rows_column *beside,
                  rows_numbers *out);

/* A settled column of a chunk as the library takes it: numbers, or strings if it has no dtype. */
typedef struct rows_view {
    bf_array numbers;
    bf_strings strings;
    bf_column column; /* shows one of these */
} rows_view;

void rows_look(const rows *r, const rows_chunk *of, int column, rows_view *view);

/* Refuses a row of the chunk of text that was taken last, with most 0, and names its line. */
int rows_refuse(const rows *r, int64_t row, const char *what, const char *advice);

/* Reports why the library has no results of an expression's text for the chunk, in which it names a
 * row by its number; or that the file has changed meanwhile. */
int rows_refuse_result(const rows *r, const char *text, bf_status status,
                       const bf_context *context);

/* Refuses the text of an option's expression: the context says why integers of 64 bits do not hold
 * its numbers or results. */
int rows_refuse_digits(const char *name, const char *option, const bf_context *context);

/* What to do about such numbers. */
extern const char rows_as_doubles[];

/* All rows of a settled column at once, as rows_next gives them. */
int rows_load(rows *r, bf_array *all);

#endif
