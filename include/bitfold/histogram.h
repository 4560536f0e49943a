/* Histograms: how many elements each bin holds.
 *
 * n bins have n + 1 edges, which increase. The bin of x is the i with edges[i] <= x < edges[i + 1];
 * the last bin holds x == edges[n] as well. The edges alone decide, as in NumPy, whose edges these
 * are (its linspace, docs/numerics.md), whatever the backend. Integers compare with integer edges
 * as integers, at any size, and with other edges as the doubles nearest to them; floats as they
 * are. NaN, and what lies below edges[0] or above edges[n], is counted apart, never dropped in
 * silence. Counts are 64-bit.
 *
 * With weights a bin also holds the sum of its elements' weights: exact, rounded once, like every
 * sum (reduce.h), so that no order shows in it.
 *
 * A bf_histogram is a state as those of state.h are: it absorbs, merges and can be saved. */
#ifndef BITFOLD_HISTOGRAM_H
#define BITFOLD_HISTOGRAM_H

#include "array.h"
#include "context.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BF_BINS_MAX ((int64_t)1 << 31)

typedef struct bf_histogram bf_histogram;

typedef struct bf_histogram_options {
    size_t size;         /* sizeof(bf_histogram_options): see bitfold.h */
    int64_t bins;        /* 1 to BF_BINS_MAX; 0: 10; BF_BINS_AUTO: as many as Sturges' rule says */
    int range;           /* 0: from the least to the greatest finite element */
    double lo, hi;       /* 1: from lo to hi, both finite, lo <= hi */
    const double *edges; /* NULL, or bins + 1 edges of any spacing, finite, increasing; they are
                            copied. range is then 0 */
    bf_dtype weights;    /* the dtype of the weights; BF_NONE: there are none */
    int64_t numbers; /* BF_BINS_AUTO: of an array that stands for a larger one (its least and its
                        greatest number), the numbers in that; 0: those in the array itself */
    const void *integers;    /* NULL, or what stands in the place of edges or, if range is 1, of lo
                                and hi: as many integers */
    bf_dtype integers_dtype; /* BF_I64 or BF_U64 */
} bf_histogram_options;

/* ceil(log2(elements that are no NaNs)) + 1, from 1 to 64; fewer where two edges would be equal. */
#define BF_BINS_AUTO (-1)

/* BF_HISTOGRAM_OPTIONS(.bins = 100, .range = 1, .lo = 0, .hi = 1). */
#define BF_HISTOGRAM_OPTIONS(...) BF_OPTIONS_OF(bf_histogram_options, __VA_ARGS__)

/* Counts array, whose size and range may decide the bins; weights (of options->weights and the
 * array's shape) or NULL. options may be NULL. lo == hi, and one value alone, make a range of 1
 * around it; no finite value, the range from 0 to 1. Reads the array once, and once more if the
 * range is to be found (and again if it holds infinities). O(n) where bins are even, else O(n log
 * bins). Errors: BF_E_ARGUMENT (also: bins so narrow that two edges are equal, a range so wide that
 * its width overflows), BF_E_DTYPE, BF_E_SHAPE, BF_E_MEMORY. */
BF_API bf_status bf_histogram_of(bf_context *context, const bf_array *array,
                                 const bf_array *weights, const bf_histogram_options *options,
                                 bf_histogram **histogram);

/* An empty histogram of elements of dtype, whose bins are known: by a range or by edges. The
 * context must outlive it; both belong to one thread at a time. Errors: as above. */
BF_API bf_status bf_histogram_create(bf_context *context, bf_dtype dtype,
                                     const bf_histogram_options *options, bf_histogram **histogram);
BF_API void bf_histogram_destroy(bf_histogram *histogram);

/* Makes all counts zero. Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_histogram_clear(bf_histogram *histogram);

/* Counts an array of the histogram's dtype; weights is NULL where it has none. On failure the
 * histogram is as it was. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_OVERFLOW (more than
 * 2^62 elements in all), BF_E_MEMORY. */
BF_API bf_status bf_histogram_absorb(bf_histogram *histogram, const bf_array *array,
                                     const bf_array *weights);

/* Counts n arrays, the shards of one, as bf_state_absorb_shards (state.h) takes them. weights: as
 * many arrays, or NULL. On failure the histogram is as it was. Errors: as bf_histogram_absorb. */
BF_API bf_status bf_histogram_absorb_shards(bf_histogram *histogram, const bf_array arrays[],
                                            const bf_array weights[], int n);

/* Adds what `from` holds to `into`; `from` may belong to another context, as in bf_state_merge.
 * Both have the same dtype, edges and dtype of weights, else BF_E_STATE. BF_E_OVERFLOW past 2^62
 * elements. */
BF_API bf_status bf_histogram_merge(bf_histogram *into, const bf_histogram *from);

/* Takes out of `into` what it has counted or merged and `from` holds: afterwards `into` is the
 * histogram of what remains, and is saved to the same bytes. Errors: BF_E_STATE as in
 * bf_histogram_merge and bf_state_retract, BF_E_MEMORY; then `into` is as it was. */
BF_API bf_status bf_histogram_retract(bf_histogram *into, const bf_histogram *from);

/* Enqueues the counting of a contiguous array on the context's stream (context.h): counts, in
 * memory that the device can write, becomes bins + 3 counts: those of the bins, then below, above
 * and NaN. The histogram's own counts stay as they are, and it may go when the call returns. No
 * weights (BF_E_ARGUMENT). On the CPU the counts are there when the call returns. */
BF_API bf_status bf_histogram_async(bf_histogram *histogram, const bf_array *array,
                                    int64_t *counts);

/* Enqueues a copy of the edges, bins + 1 doubles, to memory that the device can write. Errors:
 * BF_E_ARGUMENT, BF_E_MEMORY, BF_E_DEVICE. */
BF_API bf_status bf_histogram_edges_async(bf_histogram *histogram, double *edges);

typedef struct bf_histogram_info {
    size_t size; /* sizeof(bf_histogram_info): set before the call, see bitfold.h */
    bf_dtype dtype, weights;
    bf_dtype edges; /* BF_F16, BF_F32 or BF_F64: what the edges were rounded to. BF_I64 or BF_U64:
                       they are integers, of which some are 2^53 or beyond */
    int64_t bins;
    int64_t count; /* elements in all: in bins, below, above and NaN */
    int64_t below, above, nan;
} bf_histogram_info;

/* Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_histogram_describe(const bf_histogram *histogram, bf_histogram_info *info);

/* bins + 1 edges, of integers the doubles nearest to them; valid as long as the histogram. */
BF_API const double *bf_histogram_edges(const bf_histogram *histogram);
/* The edges as int64_t or uint64_t, where the info says that the edges are BF_I64 or BF_U64; else
 * NULL. */
BF_API const void *bf_histogram_integers(const bf_histogram *histogram);
/* bins counts; valid until the histogram changes. */
BF_API const int64_t *bf_histogram_counts(const bf_histogram *histogram);
/* The sums of the bins' weights, bins of them. BF_E_ARGUMENT: there are no weights. */
BF_API bf_status bf_histogram_weights(const bf_histogram *histogram, double *sums);
/* What integrates to 1 over the bins, as NumPy computes it: (value / width) / total, where the
 * values are the counts or the sums of weights, their total is that in all bins (of weights exact,
 * and rounded once), and a width is rounded to the dtype of the edges, unless it overflows there.
 * bins of them; NaN where 0 is divided by a total of 0. */
BF_API bf_status bf_histogram_density(const bf_histogram *histogram, double *density);

/* Saved form, as bf_state_save's: portable, versioned, checksummed, trusted in nothing. */
BF_API size_t bf_histogram_save_size(const bf_histogram *histogram);
BF_API bf_status bf_histogram_save(const bf_histogram *histogram, void *buffer);
BF_API bf_status bf_histogram_load(bf_context *context, const void *buffer, size_t size,
                                   bf_histogram **histogram);

/* counts[v] becomes the number of elements equal to v, for v from 0 to n - 1, of an array of
 * integers or bools; *others, that of all others. O(array + n). Errors: BF_E_ARGUMENT (n outside 1
 * to BF_BINS_MAX), BF_E_DTYPE, BF_E_MEMORY. */
BF_API bf_status bf_bincount(bf_context *context, const bf_array *array, int64_t *counts, int64_t n,
                             int64_t *others);

#ifdef __cplusplus
}
#endif
#endif
