/* The inside of a histogram. */
#ifndef BF_API_HISTOGRAM_HISTOGRAM_H
#define BF_API_HISTOGRAM_HISTOGRAM_H

#include "seam/backend.h"
#include "seam/histogram.h"
#include <bitfold/histogram.h>

struct bf_histogram {
    bf_context *context;
    bf_dtype dtype, weights;
    bf_dtype edges_dtype; /* the dtype in which the edges were computed; BF_F64 if given, or BF_I64
                             or BF_U64 if they are integers that doubles do not hold */
    bf_bins bins;
    int64_t total;      /* number of elements */
    int sum_words;      /* words of a bin's sum; 0: no weights */
    double *edges;      /* the edges of `bins`; for integers the nearest */
    uint64_t *integers; /* the edges, as bits of edges_dtype, where they are integers; else NULL */
    int64_t *steps, step_count; /* the steps of `bins`; NULL: none */
    int64_t *counts;            /* the bins' counts, then BF_BIN_OTHERS */
    int64_t *sums;              /* sum_words for each bin; NULL: no weights */
};

/* Allocates a histogram. The caller writes its edges, then calls bf_histogram_set_bins. Errors:
 * BF_E_MEMORY. */
bf_status bf_histogram_allocate(bf_context *context, bf_dtype dtype, bf_dtype weights, int64_t bins,
                                bf_histogram **histogram);
void bf_histogram_set_bins(bf_histogram *histogram);

/* ---- integers.c -------------------------------------------------------------------- */

/* Checks integers of the options. Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_integers_check(bf_context *context, const bf_histogram_options *options);

/* Sets the ends of a range as doubles. This and the next two are called in the floating-point
 * environment (base/environment.h). */
void bf_integers_range(const bf_histogram_options *options, double *lo, double *hi);

/* Sets the edges to integers of dtype. Errors: BF_E_ARGUMENT, BF_E_MEMORY. */
bf_status bf_histogram_set_integers(bf_histogram *histogram, bf_dtype dtype, const uint64_t *edges);

/* Sets even edges, which are doubles, to integers if the ends of their range are. */
bf_status bf_histogram_set_ends(bf_histogram *histogram, const bf_histogram_options *options);

/* ---- histogram.c ------------------------------------------------------------------- */

/* The share (api/runtime/place.h) of counting, with and without weights. */
enum { BF_HISTOGRAM_SHARE = 10 };

/* Checks that the arrays are as the histogram's (weights may be NULL), and sets *count to the
 * number of elements. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE. */
bf_status bf_histogram_check(const bf_histogram *histogram, const bf_array *array,
                             const bf_array *weights, int64_t *count);

/* As bf_histogram_absorb, for callers that have entered the context (enter.h). */
bf_status bf_histogram_absorb_arrays(bf_histogram *histogram, const bf_array *array,
                                     const bf_array *weights);

/* Does the same, but after a failure the histogram may hold some of the elements. */
bf_status bf_histogram_count(bf_histogram *histogram, const bf_array *array,
                             const bf_array *weights);

/* Makes `apart`, a histogram with the same bins and zero counts, so that a failure leaves no trace
 * in `histogram`. Closing adds its counts if the status is BF_OK. Errors: BF_E_MEMORY; then there
 * is nothing to close. */
bf_status bf_histogram_open_apart(const bf_histogram *histogram, bf_histogram *apart);
void bf_histogram_close_apart(bf_histogram *histogram, bf_histogram *apart, bf_status status);

/* Do both have the same dtypes and bins? Errors: BF_E_ARGUMENT (from is NULL), BF_E_STATE. */
bf_status bf_histogram_match(const bf_histogram *into, const bf_histogram *from);

/* The histogram as int64 words that add, and a number that tells its dtypes and bins. The other
 * sets it to the sum of the words of `parts` histograms that have the same bins. Errors:
 * BF_E_OVERFLOW. */
int64_t bf_histogram_word_count(const bf_histogram *histogram);
uint64_t bf_histogram_key(const bf_histogram *histogram);
void bf_histogram_get_words(const bf_histogram *histogram, int64_t *words);
bf_status bf_histogram_set_words(bf_histogram *histogram, int64_t *words);

/* ---- range.c ----------------------------------------------------------------------- */

/* The least and the greatest finite element, as doubles, and the number of elements but NaNs. */
typedef struct bf_extent {
    double lo, hi;
    bool empty; /* no element is finite; lo and hi are 0 */
    int64_t numbers;
} bf_extent;

/* Finds the extent of a well-formed array. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_array_extent(bf_context *context, const bf_array *array, bf_extent *extent);

#endif
