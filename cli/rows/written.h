/* Whole rows as they are written: as they stand in their file, or some or all of their columns as a
 * sheet. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_ROWS_WRITTEN_H
#define BITFOLD_CLI_ROWS_WRITTEN_H

#include "input/source.h"
#include "memory/buffer.h"
#include "sheet/output.h"

typedef struct written {
    output *output;
    const options *options;
    const char *file;
    enum sheet_form form;
    bool raw; /* rows stay as they stand */
    char *text;
    size_t used, room;
    int64_t n; /* rows that are gathered in the text */
    /* A sheet has these. */
    text_layout layout; /* has the columns that are shown, as strings */
    text_rows rows;
    unsigned char *forms;
    sheet_column *columns; /* in the order in which they are shown */
    bf_strings *strings;
    int *of; /* for each, its column in the layout */
    int count;
    buffer valid, values; /* values: of the column that is added */
} written;

/* Whether rows of JSON lines, or with this delimiter, stay as they stand in their file. */
bool written_stays(const options *o, bool json, char delimiter);

/* Begins with the header, to which the options may add a column (--append). s: an input whose first
 * rows were not taken yet. Close it in either case. */
int written_open(written *w, output *out, const options *o, const source *s);
void written_close(written *w);

/* Writes a row, which is given without its newline. */
int written_add(written *w, const char *row, size_t bytes);

/* Writes a row and its value in the column that is added; of BF_NONE, it is NULL. */
int written_add_value(written *w, const char *row, size_t bytes, const bf_value *value);

int written_end(written *w);

/* Refuses an input whose columns are not those of the first one. */
int written_match(const source *s, const source *first);

#endif
