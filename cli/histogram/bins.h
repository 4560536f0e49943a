/* The bins that the options ask for, and the facts about the data that they depend on. */
#ifndef BITFOLD_CLI_HISTOGRAM_BINS_H
#define BITFOLD_CLI_HISTOGRAM_BINS_H

#include "histogram/automatic.h"
#include "options/options.h"
#include "text/number.h"
#include "work/units.h"

typedef struct hist_bins {
    bf_histogram_options wanted; /* bins may be BF_BINS_AUTO */
    int64_t most;                /* bins, where the data ask for them */
    double *list;                /* wanted.edges; NULL: none */
    uint64_t *integers;          /* wanted.integers, of edges or of the range; NULL: none */
    bf_time *times;              /* these, where they are times; NULL: they are numbers */
    int time_count;
} hist_bins;

/* Reads --bins, --range and --edges. Return exit codes, having reported the failure. */
int hist_bins_read(hist_bins *b, bf_context *context, const options *o);
void hist_bins_free(hist_bins *b);

/* The digits of a second that times of the options have; and takes them as integers of the form of
 * a file's elements, which are times if those are. Returns an exit code, having reported. */
int hist_bins_scale(const hist_bins *b);
int hist_bins_take_form(hist_bins *b, units_form form, const char *file);

/* Whether some edge or end of the range is an integer that doubles may not hold: text is then read
 * as the integers that it is. */
bool hist_bins_are_wide(const hist_bins *b);

/* The integer that lies between the same edges, all of them integers, as a number in units of
 * 10^-scale. */
text_i128 hist_bins_whole(const hist_bins *b, text_i128 units, int scale);

/* Whether the data must be looked at before they can be counted. */
bool hist_bins_need_data(const hist_bins *b);

/* The least and greatest finite element of one dtype, and all elements counted. */
typedef struct extremes {
    bf_dtype dtype;
    bf_state *least, *most, *all;       /* the extremes of all blocks; `all` with infinities */
    bf_state *block_least, *block_most; /* the extremes of the last block */
    void *finite, *zeros;               /* room for a block without infinities */
    int64_t room;                       /* elements */
} extremes;

bf_status extremes_open(extremes *x, bf_context *context, bf_dtype dtype);
void extremes_close(extremes *x);
bf_status extremes_absorb(extremes *x, bf_context *context, const void *elements, int64_t n);

/* What the number of bins depends on beside the data's quartiles, where it is BF_BINS_AUTO. */
automatic_range hist_bins_range(const hist_bins *b, const extremes *x);

/* Reports why there are no bins: those that the data ask for are not the command line's fault. */
int hist_bins_fail(const options *o, const bf_context *context, bf_status st, const char *file);

/* Makes the empty histogram. x: NULL if data are not needed. asked: how many bins the data ask for;
 * there are fewer where two edges would be equal. */
bf_status hist_bins_make(const hist_bins *b, bf_context *context, const extremes *x, int64_t asked,
                         units_form form, bf_dtype weights, bf_histogram **histogram);

#endif
