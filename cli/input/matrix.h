/* An input as an array that is read by slabs: some indices of its first axis, in C order.
 *
 * A table of text is a matrix of its rows and columns, whose numbers have one dtype; one column is
 * an array of one dimension, as raw data are. Functions that return an exit code have reported the
 * failure. */
#ifndef BITFOLD_CLI_INPUT_MATRIX_H
#define BITFOLD_CLI_INPUT_MATRIX_H

#include "input/rows.h"

typedef struct matrix {
    rows rows;
    int ndim;
    int64_t shape[BF_MAX_DIMS]; /* the first is -1 if it shows at the end */
    int64_t unit;               /* elements that an index of the first axis selects */
    int64_t first, end;         /* indices that this rank reads; end -1: as shape[0] */
    int64_t at;                 /* the next index to be handed out */
    char *table;                /* a slab of several columns of text */
    int64_t room;               /* with room for so many rows */
} matrix;

/* The elements of an array; and makes one contiguous, in C order. */
int64_t matrix_count(const bf_array *a);
void matrix_make_contiguous(bf_array *a);

int matrix_open(matrix *m, const char *name, const input *in, const rows_options *how);
void matrix_close(matrix *m);

/* Settles the one dtype and scale of n matrices, before they are read, as step_match does. */
enum { MATRICES_MOST = 2 };
int matrix_settle(matrix *const of[], int n);
bf_dtype matrix_dtype(const matrix *m);
int matrix_scale(const matrix *m);

/* The next `most` indices, fewer only at the end (0: as many as are at hand, where that is
 * quicker). ROWS_RESETTLED: the dtype or scale became another; matrix_again and matrix_settle begin
 * anew. */
int matrix_next(matrix *m, int64_t most, bf_array *slab);
void matrix_again(matrix *m);

/* All of it at once, in the file's own order; if it takes more than `limit` bytes (0: no limit),
 * it is refused. */
int matrix_all(matrix *m, int64_t limit, bf_array *whole);

/* Settles n matrices, and takes all of each likewise. */
int matrix_load(matrix *const of[], int n, int64_t limit, bf_array whole[]);

/* Makes an array of one dimension, whose first index selects an element. */
void matrix_flatten(matrix *m);

/* Leaves this rank's indices of an array, which are then read in C order. They begin at a multiple
 * of `step`. */
void matrix_share(matrix *m, int64_t step);

/* Goes on where the rows are, which an earlier run may have left behind. */
void matrix_follow(matrix *m);

/* Whether it stayed whole while it was read. */
int matrix_check(matrix *m);

/* Whether all of it lies in place, in a file that is mapped. */
bool matrix_in_place(const matrix *m);

#endif
