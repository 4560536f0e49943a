/* Sheets from rows that come one by one, each as the fields of its columns one behind another. */
#ifndef BITFOLD_CLI_SHEET_PART_H
#define BITFOLD_CLI_SHEET_PART_H

#include "memory/records.h"
#include "sheet/sheet.h"

/* Bytes that grow. */
typedef struct part_text {
    char *at;
    size_t n, room;
    bool lost; /* there was no memory */
} part_text;

/* Room for n bytes behind those that are there; NULL: there is no memory. */
char *part_take(part_text *t, size_t n);

void part_put(part_text *t, const void *bytes, size_t n);

/* Write a field of a row. */
void part_put_null(part_text *t);
void part_put_string(part_text *t, const char *at, size_t n);
void part_put_value(part_text *t, const bf_value *value); /* BF_NONE is NULL */

/* Some rows of a sheet. */
typedef struct part {
    sheet sheet;
    sheet_column *columns;
    struct part_column {
        bf_value *values; /* the values, if they are no strings */
        int64_t *offsets;
        uint8_t *valid;
        part_text bytes;
        bf_strings strings;
    } * of;
    int64_t room, bytes; /* rows; bytes of strings */
    int64_t most;        /* bytes of strings, after which it ends */
    sheet_writer writer;
    int (*take)(void *arg, const sheet *rows); /* has the rows in place of the writer; NULL: none */
    void *arg;
} part;

/* Functions that return an exit code have reported the failure. */

/* Begins a sheet of columns with these names. strings: which of them hold strings. most: bytes of
 * strings that are gathered before they are written. */
int part_open(part *p, const char *const names[], const bool strings[], int count, int64_t most);
void part_close(part *p);

/* Adds the rows of all records, or the first `most` (0: all), and ends. total (NULL: there is none)
 * is the last row. */
int part_put_records(part *p, FILE *f, records *rows, int64_t most, const char *total,
                     const char *file, const options *o);

#endif
