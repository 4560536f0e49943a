/* A sheet: rows of named columns, as commands on tables show them. */
#ifndef BITFOLD_CLI_SHEET_SHEET_H
#define BITFOLD_CLI_SHEET_SHEET_H

#include "options/options.h"
#include "runtime/value.h"

#include <stdio.h>

/* A column has one of: an array, values one by one (numbers of more than 64 bits; those of dtype
 * BF_NONE are NULL), strings, texts that end with '\0' (those that are NULL are), a title (such as
 * the name of a file), which is that of every row. */
typedef struct sheet_column {
    const char *name;
    units_form form; /* the array's; the integers of `values` may be times, too */
    const void *array;
    const bf_value *values;
    const bf_strings *strings;
    bool typed; /* the strings are those of text/typed.h */
    const char *const *texts;
    const char *title;
    bool decimal;         /* --hex does not concern it */
    const uint8_t *valid; /* a byte for each row, 0 where it is NULL; NULL: no row is */
} sheet_column;

/* The number in a row of its array or values, as times are shown. */
bf_value sheet_value(const sheet_column *c, int64_t row);

typedef struct sheet {
    const sheet_column *columns;
    int count;            /* how many columns there are */
    int64_t rows;         /* to show */
    const int64_t *order; /* order[i] is the row that is shown as number i; NULL: i itself is */
    bool total;           /* the last row that is shown is that of all rows */
} sheet;

/* Writes the sheet in the form that the options ask for; file: what it is of, for messages. Returns
 * an exit code, having reported the failure. */
int sheet_put(FILE *f, const sheet *s, const char *file, const options *o);

/* ---- sheets in parts ------------------------------------------------------------------------- */

/* How a sheet is written. */
enum sheet_form {
    SHEET_ALIGNED,
    SHEET_PLAIN, /* TSV without a word about the form: names of files are made safe to look at */
    SHEET_TSV,
    SHEET_CSV,
    SHEET_JSON, /* an object for each row, by the names of columns */
    SHEET_MARKDOWN,
    SHEET_LONE /* TSV of one column */
};

/* What the options ask for. */
enum sheet_form sheet_form_of(const options *o);

/* A sheet that is being written. */
typedef struct sheet_writer {
    FILE *stream;
    enum sheet_form form;
    bool hex;
    int threads;
    bool *right;  /* aligned: whether columns stand to the right */
    int *widths;  /* aligned: of each column */
    char **names; /* JSON: what stands before each value, and before the mark of the total */
    size_t *name_bytes;
    int count;
} sheet_writer;

/* Begins with a first part, whose rows (the first thousands) say how wide aligned columns are; the
 * header is written. Every part has the same columns. sheet_end frees the writer, also after a
 * failure; what was written stays. */
int sheet_begin(sheet_writer *w, FILE *f, enum sheet_form form, const sheet *first,
                const char *file, const options *o);
int sheet_rows(const sheet_writer *w, const sheet *part);
void sheet_end(sheet_writer *w);

#endif
