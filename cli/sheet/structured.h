/* Rows of a sheet as a structured array of NumPy, in a .npy file: a column is a field. */
#ifndef BITFOLD_CLI_SHEET_STRUCTURED_H
#define BITFOLD_CLI_SHEET_STRUCTURED_H

#include "sheet/sheet.h"

typedef struct structured_field {
    const char *name;
    units_form form; /* BF_NONE: strings, of at most so many bytes */
    int64_t width;
    bool nan; /* what is NULL is NaN; otherwise it is refused */
} structured_field;

/* The dtype of the field of a column: decimals are f64, and integers have 64 bits at most. */
bf_dtype structured_dtype(bf_dtype dtype, int scale);

/* The form with the same dtype, but i64 if the integers are times. */
units_form structured_form(units_form form);

/* Functions that return an exit code have reported the failure. */

/* Begins an array of so many rows. */
int structured_begin(FILE *f, const structured_field fields[], int count, int64_t rows);

/* Writes the next rows. */
int structured_put(FILE *f, const structured_field fields[], const sheet *s);

#endif
