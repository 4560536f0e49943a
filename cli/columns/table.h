/* The rows of a table that --by takes: those that meet the condition, with their keys and values.
 */
#ifndef BITFOLD_CLI_COLUMNS_TABLE_H
#define BITFOLD_CLI_COLUMNS_TABLE_H

#include "columns/asked.h"
#include "expression/formula.h"
#include "input/rows.h"
#include "memory/buffer.h"
#include "memory/packed.h"
#include "work/units.h"
#include "work/work.h"

/* A column of the table. */
typedef struct table_column {
    char *name;
    rows *of;           /* a file that is read in step; NULL: the present one */
    int at;             /* its number in the present file */
    bool repeats;       /* it is the numbers of the column before, which are keys there */
    rows_kind kind;     /* what it can be in all texts so far */
    units_form text;    /* what it is in all texts so far */
    units_form array;   /* what holds it in all arrays so far */
    units_form settled; /* what holds it in both */
    units_form form;    /* what it is; BF_NONE: strings */
    bf_time_kind meets; /* what expressions take them for */
    bool hidden;        /* the condition alone has it */
    rows_view view;     /* shows the chunk, or what is left of it */
    column_memory memory;
    formula formula; /* a key that is an expression has one */
} table_column;

/* The values of a V. */
typedef struct table_value {
    int column; /* -1: an expression's */
    formula formula;
    char option[16]; /* the name of the option that asks for it */
    bf_array array;
    units_form form;       /* what it is; both of a pair are the same */
    units_form own;        /* what it is before that */
    bf_strings strings;    /* in place of an array of BF_NONE */
    const uint8_t *valid;  /* a byte for each row, 0 where it is NULL; NULL: no row is */
    buffer numbers, bytes; /* numbers, or offsets: where the array is elsewhere no longer */
    buffer text;           /* the bytes of strings, likewise */
} table_value;

typedef struct table {
    const asked *asked;
    bf_context *context;
    spool_limit limit;
    rows *inputs, *input;         /* each file; the present one */
    rows *steps;                  /* without --by: files of values, read in step with the keys' */
    char *also;                   /* columns of values beside them; NULL: none */
    int files, step_count, count; /* how many there are, and columns */
    bool typed;                   /* strings of its columns are those of text/typed.h */
    bool settled;                 /* all was read once: no dtype becomes another */
    table_column *columns;        /* the first file's, and those of keys that are expressions */
    int derived;                  /* how many these are */
    table_value values[ASKED_VALUES];
    int key_columns[BF_KEY_COLUMNS_MAX];
    int *taken;             /* the columns that are taken as they are */
    int64_t n;              /* rows that were taken */
    int64_t most;           /* so many at once; 0: no limit */
    int64_t wanted;         /* so many together, without --by; 0: as many as are at hand */
    int64_t behind;         /* rows that are at hand and come next */
    const text_row *stands; /* where the rows of the chunk stand, if they are wanted whole */
} table;

/* How a key is called. */
static inline const char *table_key_name(const table *t, int i) {
    const char *const name = t->asked->key[i].name;
    return name ? name : t->columns[t->key_columns[i]].name;
}

/* Functions that return an exit code have reported the failure. Close the table in either case. */
int table_make(table *t, const options *o);

/* Opens the first file of the options. The others follow it: all are one table. */
int table_open(table *t, asked *a, bf_context *context);
void table_close(table *t);

/* Makes a table of rows that are open in t->input; one column is a key. */
int table_take(table *t, asked *a, bf_context *context);

/* How its files are read. */
rows_options table_reading(const table *t);

/* Parses the expressions for the columns' present dtypes, before the first rows. */
int table_begin(table *t);

/* Takes the next rows; *end: there are no more. ROWS_RESETTLED: as of rows_next. */
int table_next(table *t, bool *end);

/* Hands out the rows at hand, which are t->n, not more than t->most at once: then table_more gives
 * the next of them, or is false. */
void table_hand_out(table *t);
bool table_more(table *t);

/* Whether a sample of an array in a file has hardly a key twice: its rows are best absorbed at
 * once. */
bool table_keys_are_new(const table *t);

/* Where row i of those at hand stands, of a table whose rows are wanted whole. */
static inline text_row table_row(const table *t, int64_t i) {
    return t->stands[t->input->picked ? t->input->picked[i] : i];
}

/* The bytes of all files; -1: they are not known. */
int64_t table_bytes(const table *t);

/* Whether a column may still turn out to be another; then an expression needs all rows to be read
 * once, so that it does not any more: ROWS_RESETTLED. */
bool table_may_resettle(const table *t);
int table_settle_first(table *t);

/* Begins again at the first row, with what is known of the columns. */
int table_again(table *t);

/* All was read: takes columns for what they can be on all ranks. *changed: some were taken for
 * something else. Returns an exit code that all agree on. */
int table_settle_ranks(table *t, bool *changed);

/* Writes where the next row is; goes there, before the first row. False: there is no such place. */
void table_put_place(checkpoint_writer *to, const table *t);
bool table_take_place(checkpoint_reader *from, table *t);

/* Shows a column of packed rows that are at hand, in memory that it takes: its numbers, or strings,
 * or both. False: there is no memory. */
bool table_unpack(const packed_rows *r, int column, bf_dtype dtype, bool strings,
                  column_memory *memory, rows_view *view);

#endif
