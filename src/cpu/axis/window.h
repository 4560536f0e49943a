/* Exact sums of many lines at once by the loops of an instruction set: which sums an operation
 * needs, in which window each is taken, and the results of their totals. */
#ifndef BF_CPU_AXIS_WINDOW_H
#define BF_CPU_AXIS_WINDOW_H

#include "cpu/axis/axis.h"
#include "rules/reduce/totals.h"

/* One sum that an operation needs: of elements, or of products, of these operands: 0 or 1. */
typedef struct bf_axis_sum {
    bool needed;
    bool pairs;
    int of[2];
    bf_sum_input input;
    bf_window_memory window; /* the totals' window; levels 0: there are none */
} bf_axis_sum;

/* BF_KIND_COMOMENTS has the sums of pairs (axis.h), and other kinds at most these two. */
enum { BF_AXIS_ELEMENTS, BF_AXIS_PRODUCTS, BF_AXIS_TWO, BF_AXIS_SUMS = BF_PAIR_SUMS };

/* The dtype that the loops take elements as: 16-bit floats as f32. */
static inline bf_dtype bf_axis_dtype(const bf_axis_job *job) {
    return job->operands->dtype == BF_F64 ? BF_F64 : BF_F32;
}
static inline bool bf_axis_widens(const bf_axis_job *job) {
    return bf_dtype_is_half(job->operands->dtype);
}

/* Sets sums to what op needs; false: there are no loops for it, or its dtype. */
bool bf_axis_sums_of(const bf_isa *isa, const bf_operands *operands,
                     bf_axis_sum sums[BF_AXIS_SUMS]);

/* Are the sums those of floats and of their squares, which BF_SUM_F32_MOMENTS adds in one pass? */
bool bf_axis_are_moments(const bf_axis_sum sums[BF_AXIS_SUMS]);
/* Does it in these windows? levels 0: the window is not known yet. */
bool bf_axis_can_join(const bf_window_memory windows[BF_AXIS_TWO]);

/* The columns, or stretches, whose sum, or dot product, this sum is. */
bf_columns bf_axis_columns_of(const bf_axis_sum *sum, const bf_columns *x);
bf_stretches bf_axis_stretches_of(const bf_axis_sum *sum, const bf_stretches *x);

/* What the taker remembers for a sum. */
bf_window_memory *bf_axis_memory(bf_taker *taker, int sum);

/* Totals of n finite terms, n > 0. */
typedef struct bf_line_totals {
    bf_totals of[BF_AXIS_SUMS];
    int64_t n;
} bf_line_totals;

/* The totals of many lines: those of line i at totals[s][i], `pitch` apart between levels, of
 * length[i * step] terms. */
typedef struct bf_many_totals {
    const bf_axis_sum *sums;
    const int64_t *totals[BF_AXIS_SUMS]; /* NULL: not needed */
    int64_t pitch;
    const int64_t *length;
    int64_t step; /* 1, or 0: of one length */
} bf_many_totals;

/* Sets the totals of a line, of what is needed. Others are left as they are, because clearing all
 * takes longer than the rest. */
void bf_totals_of_line(const bf_many_totals *x, int64_t line, bf_line_totals *to);
/* Writes the results of n <= BF_STRETCHES lines from line `first` on, to number, number + step,
 * ..., if these are doubles whose rounding is beyond doubt. Returns a bit for each line that is
 * left. */
uint64_t bf_write_lines(const bf_axis_job *job, const bf_axis_loops *loops, const bf_many_totals *x,
                        int64_t first, int n, int64_t number, int64_t step);

/* Returns whether bf_line_bits knows the result of such totals. */
bool bf_line_is_simple(const bf_axis_job *job, const bf_line_totals *totals);
/* The bits of the result of an element of dtype results->to. *zero: a sum of zero, whose sign
 * depends on the terms: the bits are those of +0. */
uint64_t bf_line_bits(const bf_axis_job *job, const bf_line_totals *totals, bool *zero);
/* Is every term of a line of n contiguous elements at a (and b) -0? */
bool bf_line_is_negative_zero(const bf_axis_job *job, const char *a, const char *b, int64_t n);
/* Adds totals to the words of a state; every_negative: all terms are -0. */
void bf_line_add(const bf_axis_job *job, const bf_line_totals *totals, bool every_negative,
                 int64_t *words);

#endif
