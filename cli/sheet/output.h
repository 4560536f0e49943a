/* Results: on standard output or in a file, as lines of text, TSV or JSON. */
#ifndef BITFOLD_CLI_SHEET_OUTPUT_H
#define BITFOLD_CLI_SHEET_OUTPUT_H

#include "options/options.h"
#include "runtime/outfile.h"
#include "runtime/value.h"
#include "sheet/sheet.h"

typedef struct result {
    const char *file;           /* "-" for standard input, "total" for all files together */
    const char *other;          /* the second file of pairs, or NULL */
    const char *column;         /* one of several, or NULL */
    const char *expression;     /* what is computed of the files, or NULL */
    const char *const *columns; /* their pairs are reduced: so many names, or NULL */
    int column_count;
    bf_state_info info;
    bf_value value;
    bf_time_kind time; /* it is of times */
    const char *device;
    double seconds;
    int64_t nulls; /* rows that were left out, for they have no value */
} result;

/* A result that waits for others, with which it makes aligned columns. */
typedef struct waiting_result {
    bf_value value;
    char *column;
    const char *file, *other;
} waiting_result;

typedef struct output {
    FILE *stream;
    outfile file; /* with -o, but for -o - */
    bool to_file;
    enum layout layout;
    bool hex;
    bool names; /* the file's name stands beside the value */
    const options *options;
    sheet_writer sheet; /* writes results as --csv, --markdown and terminals show them */
    waiting_result *waiting;
    int waits;
    bool tells_nulls;
} output;

/* names: several results are to come. Returns an exit code, as the others do. */
int output_open(output *out, const options *o, bool names);
int output_result(output *out, const result *r);

/* Whether several results are aligned columns: at a terminal. */
bool output_aligns(const output *out);

/* Whether results are rows of a sheet: --csv, --markdown or --jsonl. */
bool output_has_sheet(const output *out);

/* Writes a part of the output's one sheet in this form. */
int output_sheet(output *out, enum sheet_form form, const sheet *part, const char *file);

/* The name of a file that stands beside results, as the last column of a sheet. */
sheet_column output_file_column(const char *file);

/* Adds the columns of pairs to a JSON object, if there are some. */
void output_put_columns(FILE *f, const result *r);

/* The value as text, as a result shows it: with hex, floats as %a prints them; integers have every
 * decimal digit. */
void output_format(const bf_value *value, bool hex, char text[BF_VALUE_TEXT]);

/* Writes a name in a line of text: '?' for control characters, which would break the line. */
void output_put_name(FILE *stream, const char *name);

/* Copies a name to a line in the same way; returns where the line goes on. */
char *output_copy_name(char *line, const char *name);

/* Ends the line of a value: with the names of its files, if the output has names. other: NULL, or
 * the second file. */
void output_end_line(const output *out, const char *file, const char *other);

/* The name of a dtype, "decimal" with a scale. */
const char *output_dtype(bf_dtype dtype, int scale);

/* Returns the same, but "time" if the integers are times. */
const char *output_type(units_form form);

/* Element i of an array in memory, as a value; BF_PAIR and BF_I192 are tagged results
 * (work/tagged.h). Integers are in units of 10^-scale. */
bf_value output_element(bf_dtype dtype, int scale, const void *array, int64_t i);

/* Whether -o writes an array. */
bool output_is_array(const output *out);

/* Completes the output; output_abandon drops its file instead. */
int output_close(output *out);
void output_abandon(output *out);

/* Ends a line of results written to `stream`: a disk that is full or a pipe that nobody reads any
 * more shows here. */
int output_flush(FILE *stream, const char *name);

/* Flushes what was written with this exit code, which is returned unless the flush alone fails. */
int output_end(const output *out, int code);

#endif
