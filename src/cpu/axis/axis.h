/* Reductions of many at once on the CPU: lines of elements, each of which becomes one result. */
#ifndef BF_CPU_AXIS_AXIS_H
#define BF_CPU_AXIS_AXIS_H

#include "cpu/reduce/reduce.h"
#include "seam/axis.h"

#include <stdatomic.h>

/* ---- lines.c: how one thread takes lines ----------------------------------------------------- */

enum {
    BF_LINES_MOST = 32,                     /* lines that are taken together */
    BF_LINE_WORDS = BF_PRODUCT_TREE_HEAD_AT /* the most words of a line */
};
_Static_assert((int)BF_LINE_WORDS >= (int)BF_STATE_WORDS_SMALL, "every kind has room");

/* Neighbouring lines of one length. Element e of line l is at the place of e, and l line strides
 * further. The elements of a line have dimensions, in C order; or row[e] is the place of element e
 * in the only one. */
typedef struct bf_lines {
    const char *data[2]; /* of the first element, in a and b */
    int lines;           /* at most BF_LINES_MOST */
    int64_t length;      /* elements of each */
    int64_t line_stride[2];
    int ndim; /* at least 1 */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[2][BF_MAX_DIMS];
    const int64_t *row; /* NULL: none */
} bf_lines;

/* What all workers of a call share. */
typedef struct bf_axis_job {
    bf_context *context;
    const bf_operands *operands;
    const bf_results *results;
    int words;               /* of a line */
    _Atomic int64_t refused; /* the first result that is refused, 16 times its number plus the
                                status; INT64_MAX: none */
} bf_axis_job;

/* What a worker keeps in its room. */
typedef struct bf_taker {
    uint64_t used;
    const bf_lines *began; /* by bf_reduce_long: the lines that it has taken pieces of */
    bf_reducer reducer;
    bool mixed[BF_LINES_MOST]; /* reducer.mixed of each line */
    char *tile[2];             /* room for copies */
    double *leaf;              /* for products of floats */
    int64_t *words;            /* of each line */
} bf_taker;

/* Sets up a job; opens rooms for workers. Errors: BF_E_MEMORY. */
bf_status bf_axis_job_open(bf_axis_job *job, int workers, bf_context *context,
                           const bf_operands *operands, const bf_results *results);
/* The room of a worker. */
bf_taker *bf_taker_of(const bf_axis_job *job, int worker);
/* Has the taker begin lines; they have taken nothing. */
void bf_taker_begin(const bf_axis_job *job, bf_taker *taker, int lines);
/* Takes elements [first, first + n) of each of these lines. Products of floats are taken in order.
 */
void bf_taker_take(const bf_axis_job *job, bf_taker *taker, const bf_lines *lines, int64_t first,
                   int64_t n);
/* The words of a line, which are carried. */
int64_t *bf_taker_words(const bf_axis_job *job, bf_taker *taker, int line);
/* Writes the result of words, carried, and notes one that is refused. */
void bf_axis_write(bf_axis_job *job, const int64_t *words, int64_t number);
/* Returns the status of a job whose loops ended with one: the first refusal, with a message. */
bf_status bf_axis_job_close(bf_axis_job *job, bf_status status);

/* ---- long.c: few long lines, shared out among workers ---------------------------------------- */

/* Are lines of so many elements in all worth several workers, when there is no other work? */
bool bf_lines_are_long(const bf_axis_job *job, const bf_lines *lines);
/* Reduces lines by pieces of them. Line l becomes result number + l * step. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED. */
bf_status bf_reduce_long(bf_axis_job *job, int workers, const bf_lines *lines, int64_t number,
                         int64_t step);

/* ---- the backend's functions ----------------------------------------------------------------- */

extern const bf_axis_backend bf_cpu_axis_backend;

bf_status bf_cpu_reduce_fibres(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results);
bf_status bf_cpu_reduce_segments(bf_context *context, const bf_operands *operands,
                                 const bf_rows *rows, const bf_results *results);
/* Rows by index of any op, by sorting them. */
bf_status bf_cpu_reduce_sorted(bf_context *context, const bf_operands *operands,
                               const bf_rows *rows, const bf_results *results);
bf_status bf_cpu_find_runs(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                           int64_t *first, int64_t room, int64_t *runs);

#endif
