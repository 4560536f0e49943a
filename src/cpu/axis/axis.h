/* Reductions of many at once on the CPU: lines of elements, each of which becomes one result. */
#ifndef BF_CPU_AXIS_AXIS_H
#define BF_CPU_AXIS_AXIS_H

#include "cpu/reduce/reduce.h"
#include "rules/reduce/totals.h"
#include "seam/axis.h"
#include "seam/reduce.h"

#include <stdatomic.h>

/* ---- the loops of an instruction set --------------------------------------------------------- */

/* A pass of the loops over columns adds up so many rows before totals gain their sums. So few may
 * be 2^BF_PASS_BITS times as large as a window's levels hold otherwise, and a total gains at most
 * 2^51 in a pass. */
enum { BF_PASS_ROWS = 4, BF_PASS_BITS = 3 };

/* A matrix whose columns are reduced. The elements of a row are contiguous. */
typedef struct bf_columns {
    const char *a, *b;      /* b: the other factors; of squares a; of sums anything */
    int64_t a_step, b_step; /* bytes from a row to the next */
    int64_t rows, columns;
    const char *next; /* what is read after the last row of a: prefetched */
} bf_columns;

/* Some contiguous stretches of elements, each of which is reduced. */
enum { BF_STRETCHES = 64 };
typedef struct bf_stretches {
    int n;
    const char *a[BF_STRETCHES], *b[BF_STRETCHES];
    int64_t length[BF_STRETCHES];
} bf_stretches;

/* Add the exact sums of columns, or of stretches, to totals, or set them: in a window whose top is
 * at its bottom (rules/reduce/sum_window.h), at level l in units of its u. False: the data did not
 * fit the window, or hold a NaN or infinity; totals mean nothing. Moments have two windows and
 * totals: of the elements and of their squares. */
typedef bool (*bf_columns_loop)(const bf_columns *x, const bf_window_memory *windows,
                                int64_t *const totals[], size_t pitch /* between levels */);
typedef bool (*bf_stretches_loop)(const bf_stretches *x, const bf_window_memory *windows,
                                  int64_t totals[][BF_LEVELS_MAX][BF_STRETCHES]);

typedef enum bf_sum_input {
    BF_SUM_F64,
    BF_SUM_F32,
    BF_SUM_F64_PAIRS,
    BF_SUM_F32_PAIRS,
    BF_SUM_F32_MOMENTS, /* sums of elements and of their squares */
    BF_SUM_INPUTS
} bf_sum_input;
enum { BF_MOMENTS_LEVELS = 2, BF_MOMENTS_SQUARES = 3 };

/* Add the sums of columns of integers of fewer than 2^31 rows to low; of 64 bits those of their
 * halves, low + high * 2^32. */
typedef void (*bf_column_sums_loop)(const bf_columns *x, int64_t *low, int64_t *high);
/* Sets the least and the greatest element of each column, of the dtype; of floats, their ranks
 * (rules/key/order.h), as integers of that width: beyond those of the infinities for a NaN. */
typedef void (*bf_column_extremes_loop)(const bf_columns *x, void *least, void *greatest);

/* Arrays that the loops below read are filled up to a multiple of BF_FILL, which is whole vectors
 * of any instruction set. */
enum { BF_ROUND_EXPONENT = 400, BF_FILL = 8 };

/* The sums of pairs: of a, a b, a a, b, b b. */
enum { BF_PAIR_A, BF_PAIR_AB, BF_PAIR_AA, BF_PAIR_B, BF_PAIR_BB, BF_PAIR_SUMS };

typedef struct bf_axis_loops {
    bf_column_sums_loop sums[BF_DTYPES];
    bf_column_extremes_loop extremes[BF_DTYPES];
    bf_columns_loop columns[BF_SUM_INPUTS];
    bf_stretches_loop fibres[BF_SUM_INPUTS];
    /* Sets to[i] to the total of line i / divisors[i] (NULL: 1, and no root), or to its root,
     * rounded once; to a NaN where that takes more care, as of 0. Totals are those of the first
     * line, of one level or two, within 2^+-BF_ROUND_EXPONENT; others follow. */
    void (*round)(const bf_totals *totals, const double *divisors, int n, bool root, double *to);
    /* Finishes variances of lengths[i] terms. */
    void (*spread)(const bf_totals *sum, const bf_totals *squares, const double *lengths, int ddof,
                   int n, bool root, double *to);
    /* Finishes covariances, correlations, their squares, or slopes of lengths[i] pairs; sums: those
     * of BF_KIND_COMOMENTS. */
    void (*pairs)(bf_reduction op, const bf_totals sums[BF_PAIR_SUMS], const double *lengths,
                  int ddof, int n, double *to);
} bf_axis_loops;

/* ---- lines.c: how one thread takes lines ----------------------------------------------------- */

enum {
    BF_LINES_MOST = 32,                  /* lines that are taken together */
    BF_LINE_WORDS = BF_STATE_WORDS_SMALL /* the most words of a line */
};
_Static_assert((int)BF_LINE_WORDS >= (int)BF_PRODUCT_TREE_HEAD_AT, "every kind has room");

/* Neighbouring lines of one length. Element e of line l is at the place of e, and l line strides
 * further. The elements of a line have dimensions, in C order; or row[e] is the place of element e
 * in the only one. */
typedef struct bf_lines {
    const char *data[2]; /* where the first element is, in a and b */
    int lines;           /* at most BF_LINES_MOST, for a taker */
    int64_t length;      /* elements of each */
    int64_t line_stride[2];
    int ndim; /* at least 1 */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[2][BF_MAX_DIMS];
    const int64_t *row; /* NULL: none */
} bf_lines;

/* The columns from `first` on, at most BF_LINES_MOST, of no elements, from row `row` on. */
bf_lines bf_lines_of_rows(const bf_operands *operands, int64_t width, int64_t row, int64_t first);

/* What all workers of a call share. */
typedef struct bf_axis_job bf_axis_job;
struct bf_axis_job {
    bf_context *context;
    const bf_operands *operands;
    const bf_results *results;
    int words; /* how many a line has */
    /* NULL: lines become results; else their words are kept, and count every -0. Nothing fails then
     * once there are rooms. */
    void (*keep)(bf_axis_job *job, int64_t *words, int64_t number);
    size_t more;             /* bytes of room that a fast path needs */
    _Atomic int64_t refused; /* the first result that is refused, 16 times its number plus the
                                status; INT64_MAX: none */
};

/* What a worker keeps in its room. */
typedef struct bf_taker {
    _Alignas(64) uint64_t used; /* the room behind it begins a cache line */
    const bf_lines *began;      /* by bf_reduce_long: the lines that it has taken pieces of */
    bf_reducer reducer;
    bool mixed[BF_LINES_MOST]; /* reducer.mixed of each line */
    char *tile[2];             /* room for copies */
    double *leaf;              /* for products of floats */
    int64_t *words;            /* one line after another */
    void *more;                /* room of job->more bytes */
} bf_taker;

/* Sets up a job. */
void bf_axis_job_open(bf_axis_job *job, bf_context *context, const bf_operands *operands,
                      const bf_results *results);
/* Opens rooms for its workers. Errors: BF_E_MEMORY. */
bf_status bf_axis_rooms_open(const bf_axis_job *job, int workers);
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
/* Writes bits, of dtype results->to, as a result; fits: of an integer, whether it does. */
void bf_axis_write_bits(bf_axis_job *job, uint64_t bits, bool fits, int64_t number);
/* Returns the status of a job whose loops ended with one: the first refusal, with a message. */
bf_status bf_axis_job_close(bf_axis_job *job, bf_status status);

/* ---- long.c: few long lines, shared out among workers ---------------------------------------- */

/* Are lines of so many elements in all worth several workers, when there is no other work? */
bool bf_lines_are_long(const bf_axis_job *job, const bf_lines *lines);
/* Reduces lines by pieces of them. Line l becomes result number + l * step. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED. */
bf_status bf_reduce_long(bf_axis_job *job, int workers, const bf_lines *lines, int64_t number,
                         int64_t step);

/* ---- short.c ------------------------------------------------------------------------------------
 */

/* bf_reduce_backend's at_once. */
bool bf_cpu_reduce_short(bf_context *context, const bf_job *job, const bf_reduce_options *options,
                         bf_value *value);

/* ---- the backend's functions ----------------------------------------------------------------- */

extern const bf_axis_backend bf_cpu_axis_backend;

bf_status bf_cpu_reduce_fibres(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results);
bf_status bf_cpu_reduce_segments(bf_context *context, const bf_operands *operands,
                                 const bf_rows *rows, const bf_results *results);
/* Rows by index: by accumulators, or of any op by sorting them. */
bf_status bf_cpu_reduce_index(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                              const bf_results *results);
bf_status bf_cpu_reduce_sorted(bf_context *context, const bf_operands *operands,
                               const bf_rows *rows, const bf_results *results);
bf_status bf_cpu_find_runs(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                           int64_t *first, int64_t room, int64_t *runs);

/* ---- states.c -------------------------------------------------------------------------------- */

bf_status bf_cpu_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                               void **states);
void bf_cpu_states_destroy(bf_context *context, void *states);
void bf_cpu_states_clear(bf_context *context, void *states);
bf_status bf_cpu_states_absorb(bf_context *context, void *states, int64_t first, const void *a,
                               const void *b, const bf_rows *rows);
bf_status bf_cpu_states_append(bf_context *context, void *into, const void *from);
bf_status bf_cpu_states_seek(bf_context *context, void *states, const int64_t *next);
bf_status bf_cpu_states_part(bf_context *context, void *states, bf_reduction op,
                             const bf_results *results);
bf_status bf_cpu_states_merge(bf_context *context, void *into, const void *from);
bf_status bf_cpu_states_result(bf_context *context, void *states, bf_reduction op,
                               const bf_results *results);
bf_status bf_cpu_states_counts(bf_context *context, void *states, void *counts);
bf_status bf_cpu_states_words(bf_context *context, void *states, int64_t first, int64_t n,
                              int64_t *words);
bf_status bf_cpu_states_add_words(bf_context *context, void *states, int64_t first, int64_t n,
                                  const int64_t *words);

#endif
