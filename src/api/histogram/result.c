/* Results of a histogram: edges, counts, sums of weights, density. */
#include "api/histogram/histogram.h"

#include "api/histogram/bins.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"
#include "base/environment.h"
#include "rules/reduce/finish.h"

#include <math.h>

bf_status bf_histogram_describe(const bf_histogram *histogram, bf_histogram_info *info) {
    if (histogram == NULL || info == NULL) return BF_E_ARGUMENT;
    const int64_t *others = histogram->counts + histogram->bins.count;
    bf_histogram_info found = {.dtype = histogram->dtype,
                               .weights = histogram->weights,
                               .edges = histogram->edges_dtype,
                               .bins = histogram->bins.count,
                               .count = histogram->total,
                               .below = others[BF_BIN_BELOW],
                               .above = others[BF_BIN_ABOVE],
                               .nan = others[BF_BIN_NAN]};
    return BF_WRITE(info, &found, nan) ? BF_OK : BF_E_ARGUMENT;
}

const double *bf_histogram_edges(const bf_histogram *histogram) {
    return histogram == NULL ? NULL : histogram->edges;
}

const void *bf_histogram_integers(const bf_histogram *histogram) {
    return histogram == NULL ? NULL : histogram->integers;
}

const int64_t *bf_histogram_counts(const bf_histogram *histogram) {
    return histogram == NULL ? NULL : histogram->counts;
}

/* Returns a sum of weights, rounded once. */
static double sum_of(const bf_histogram *h, const int64_t *words) {
    bf_work work;
    uint64_t bits = bf_finish_sum(h->weights, words, false, bf_format_f64(), &work);
    return bf_bin_value(BF_F64, bits);
}

static bf_status write_weights(const bf_histogram *h, double *sums) {
    if (h->weights == BF_NONE) return bf_fail(h->context, BF_E_ARGUMENT, "there are no weights");
    if (sums == NULL) return bf_fail(h->context, BF_E_ARGUMENT, "no place for the sums");
    for (int64_t i = 0; i < h->bins.count; i++) sums[i] = sum_of(h, h->sums + i * h->sum_words);
    return BF_OK;
}

bf_status bf_histogram_weights(const bf_histogram *histogram, double *sums) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, write_weights(histogram, sums));
}

/* Returns the total of all bins: elements, or the sum of their weights. */
static double total_of(const bf_histogram *h) {
    int64_t words[BF_SUM_WORDS_MAX] = {0}, count = 0;
    for (int64_t i = 0; i < h->bins.count; i++) {
        count += h->counts[i];
        if (h->sum_words > 0)
            bf_sum_merge(BF_KIND_SUM, h->weights, words, h->sums + i * h->sum_words);
    }
    return h->sum_words > 0 ? sum_of(h, words) : (double)count;
}

/* Returns the width of a bin, rounded once. */
static double width_of(const bf_histogram *h, int64_t i) {
    if (h->integers != NULL) return (double)(h->integers[i + 1] - h->integers[i]);
    return bf_edges_width(h->edges_dtype, h->edges[i], h->edges[i + 1]);
}

static void divide_counts(const bf_histogram *h, double *density) {
    double total = total_of(h);
    for (int64_t i = 0; i < h->bins.count; i++) {
        double value = h->sum_words > 0 ? density[i] : (double)h->counts[i];
        density[i] = value / width_of(h, i) / total;
        if (isnan(density[i])) density[i] = (double)NAN;
    }
}

static bf_status write_density(const bf_histogram *h, double *density) {
    if (density == NULL) return bf_fail(h->context, BF_E_ARGUMENT, "no place for the density");
    if (h->sum_words > 0) write_weights(h, density);
    bf_environment environment = bf_environment_enter();
    divide_counts(h, density);
    bf_environment_leave(environment);
    return BF_OK;
}

bf_status bf_histogram_density(const bf_histogram *histogram, double *density) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, write_density(histogram, density));
}
