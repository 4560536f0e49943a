/* For the tests of histograms: what the counts are, by a search in the edges; and contexts. */
#ifndef BITFOLD_TESTS_HISTOGRAM_BINNING_H
#define BITFOLD_TESTS_HISTOGRAM_BINNING_H

#include "tests/support/forms.h"
#include "tests/support/oracle.h"

enum { OTHERS = 3 }; /* behind the bins: below, above, NaN */

/* Elements, and the edges that they are counted between. */
typedef struct problem {
    bf_dtype dtype;
    const void *data;
    int64_t n;
    int64_t bins;
    const double *edges;
} problem;

/* Element i as the double nearest to it. */
static inline double element(bf_dtype dtype, const void *data, int64_t i) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t bits = load_bits((const char *)data + (size_t)i * bytes, bytes);
    if (is_float(dtype)) return wide_float(dtype, bits);
    if (dtype == BF_BOOL) return bits != 0;
    int unused = 64 - 8 * (int)bytes;
    return is_signed(dtype) ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

/* The place of x in the counts: how many edges are not above it tells the bin. */
static inline int64_t place_of(double x, const double *edges, int64_t bins) {
    int64_t below = 0,
            above = bins + 1; /* edges before `below` are <= x, those from `above` on > x */
    if (isnan(x)) return bins + 2;
    while (below < above) {
        int64_t middle = (below + above) / 2;
        if (edges[middle] <= x)
            below = middle + 1;
        else
            above = middle;
    }
    if (below == 0) return bins;
    if (below <= bins) return below - 1;
    return x == edges[bins] ? bins - 1 : bins + 1;
}

/* bins + OTHERS counts, the caller's to free. */
static inline int64_t *expected_counts(const problem *p) {
    int64_t *counts = calloc((size_t)(p->bins + OTHERS), sizeof *counts);
    assert_non_null(counts);
    for (int64_t i = 0; i < p->n; i++)
        counts[place_of(element(p->dtype, p->data, i), p->edges, p->bins)]++;
    return counts;
}

static inline void assert_counts(const bf_histogram *h, const int64_t *expected, int64_t bins,
                                 int64_t n) {
    bf_histogram_info info = {.size = sizeof info};
    const int64_t *counts = bf_histogram_counts(h);
    bf_histogram_describe(h, &info);
    assert_int_equal(info.bins, bins);
    for (int64_t i = 0; i < bins; i++)
        if (counts[i] != expected[i])
            fail_msg("bin %lld of %lld of %s: %lld, not %lld", (long long)i, (long long)bins,
                     bf_dtype_name(info.dtype), (long long)counts[i], (long long)expected[i]);
    assert_int_equal(info.below, expected[bins]);
    assert_int_equal(info.above, expected[bins + 1]);
    assert_int_equal(info.nan, expected[bins + 2]);
    assert_int_equal(info.count, n);
}

static inline bf_histogram *histogram_of(bf_context *c, const bf_array *a, const bf_array *weights,
                                         bf_histogram_options options) {
    bf_histogram *h = NULL;
    bf_status status = bf_histogram_of(c, a, weights, &options, &h);
    if (status != BF_OK) fail_msg("%s", bf_context_message(c));
    return h;
}

/* An empty one. */
static inline bf_histogram *make_histogram(bf_context *c, bf_dtype dtype,
                                           bf_histogram_options options) {
    bf_histogram *h = NULL;
    try_context(c);
    bf_status status = bf_histogram_create(c, dtype, &options, &h);
    if (status != BF_OK) fail_msg("%s", bf_context_message(c));
    return h;
}

/* Every instruction set of this machine with 1, 2, 3 and 8 threads. The sanitizers make all slow:
 * AddressSanitizer gets 1 and 3 threads, and ThreadSanitizer, which sees threads alone, one
 * instruction set with 1 and 8. */
static bf_context *contexts[32];
static int context_count;

static inline int make_contexts(void **unused) {
    (void)unused;
#ifdef THREAD_SANITIZER
    for (int threads = 1; threads <= 8; threads += 7)
        contexts[context_count++] = make_context(NULL, threads);
#else
#ifdef ADDRESS_SANITIZER
    static const int threads[] = {1, 3};
#else
    static const int threads[] = {1, 2, 3, 8};
#endif
    for (int i = 0; bf_isa_name(i); i++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads && bf_isa_available(i); t++)
            contexts[context_count++] = make_context(bf_isa_name(i), threads[t]);
#endif
    return 0;
}

static inline int destroy_contexts(void **unused) {
    (void)unused;
    while (context_count > 0) bf_context_destroy(contexts[--context_count]);
    return 0;
}

#endif
