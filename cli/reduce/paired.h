/* The output of results of pairs that are several numbers: of a line, and of each two of several
 * columns. Functions return exit codes, having reported the failure. */
#ifndef BITFOLD_CLI_REDUCE_PAIRED_H
#define BITFOLD_CLI_REDUCE_PAIRED_H

#include "sheet/output.h"

/* What is told of the line that fits pairs: results of one state. */
enum { PAIRED_LINE = 3 };
extern const bf_reduction paired_line[PAIRED_LINE];

/* Takes them of a state. */
bf_status paired_take_line(const bf_state *state, const bf_reduce_options *rules,
                           bf_value line[PAIRED_LINE]);

/* Writes lines of a name and a value, a row of a sheet, or a JSON object. */
int paired_put_line(output *out, const result *r, const bf_value line[PAIRED_LINE]);

/* The results of each two columns, in C order, and how many pairs each is of; both are symmetric.
 */
typedef struct paired_matrix {
    int count; /* columns */
    const bf_value *values;
    const int64_t *pairs;
} paired_matrix;

/* Writes a sheet with a row for each column, a JSON object or an array. r: what all are of, with
 * the names of the columns. */
int paired_put_matrix(output *out, const result *r, const paired_matrix *m);

#endif
