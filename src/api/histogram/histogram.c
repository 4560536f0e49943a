/* Histograms: make, count, merge. */
#include "api/histogram/histogram.h"

#include "api/histogram/bins.h"
#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "api/runtime/sized.h"
#include "base/environment.h"
#include "base/memory.h"

#include <math.h>
#include <unistd.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* Do so many bins need more memory than the machine has? If the system overcommits, the allocation
 * would succeed and the process would be killed later. */
static bool is_too_much(int64_t bins, int sum_words) {
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return bins > machine / 8 / (2 + sum_words); /* words of an edge, a count and a sum */
}

static bf_status out_of_memory(bf_context *context, int64_t bins) {
    return bf_fail(context, BF_E_MEMORY, "no memory for %lld bins", (long long)bins);
}

static int sum_words(bf_dtype weights) {
    return weights == BF_NONE ? 0 : bf_sum_shape_of(BF_KIND_SUM, weights).words;
}

/* Allocates zeroed counts and sums for the histogram's bins. */
static bf_status allocate_counts(const bf_histogram *h, int64_t **counts, int64_t **sums) {
    int64_t n = h->bins.count;
    *counts = bf_calloc((size_t)n + BF_BIN_OTHERS, sizeof **counts);
    *sums = h->sum_words > 0 ? bf_calloc((size_t)n * (size_t)h->sum_words, sizeof **sums) : NULL;
    if (*counts != NULL && (*sums != NULL || h->sum_words == 0)) return BF_OK;
    bf_free(*counts);
    return out_of_memory(h->context, n);
}

bf_status bf_histogram_allocate(bf_context *context, bf_dtype dtype, bf_dtype weights, int64_t bins,
                                bf_histogram **histogram) {
    if (is_too_much(bins, sum_words(weights))) return out_of_memory(context, bins);
    bf_histogram *h = bf_calloc(1, sizeof *h);
    if (h == NULL) return out_of_memory(context, bins);
    h->context = context;
    h->dtype = dtype;
    h->weights = weights;
    h->edges_dtype = BF_F64;
    h->sum_words = sum_words(weights);
    h->bins.count = bins;
    h->edges = bf_alloc(((size_t)bins + 1) * sizeof *h->edges);
    if (h->edges == NULL || allocate_counts(h, &h->counts, &h->sums) != BF_OK) {
        bf_free(h->edges);
        bf_free(h);
        return out_of_memory(context, bins);
    }
    *histogram = h;
    return BF_OK;
}

void bf_histogram_set_bins(bf_histogram *histogram) {
    bf_environment environment = bf_environment_enter();
    histogram->bins = bf_bins_make(histogram->dtype, histogram->edges, histogram->bins.count,
                                   histogram->steps, histogram->step_count);
    bf_environment_leave(environment);
}

void bf_histogram_destroy(bf_histogram *histogram) {
    if (histogram == NULL) return;
    bf_free(histogram->edges);
    bf_free(histogram->integers);
    bf_free(histogram->steps);
    bf_free(histogram->counts);
    bf_free(histogram->sums);
    bf_free(histogram);
}

bf_status bf_histogram_clear(bf_histogram *histogram) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    size_t bins = (size_t)histogram->bins.count, words = bins * (size_t)histogram->sum_words;
    histogram->total = 0;
    memset(histogram->counts, 0, (bins + BF_BIN_OTHERS) * sizeof *histogram->counts);
    if (words > 0) memset(histogram->sums, 0, words * sizeof *histogram->sums);
    return bf_leave(histogram->context, BF_OK);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool has_edges(const bf_histogram_options *o) {
    return o->edges != NULL || (o->integers != NULL && o->range == 0);
}

static bf_status check_range(bf_context *context, const bf_histogram_options *o) {
    if (o->range != 0 && o->range != 1)
        return bf_fail(context, BF_E_ARGUMENT, "range is %d, not 0 or 1", o->range);
    if (o->range == 1 && !(isfinite(o->lo) && isfinite(o->hi) && o->lo <= o->hi))
        return bf_fail(context, BF_E_ARGUMENT,
                       "the range is not from a finite number to one that "
                       "is no less");
    if ((o->edges != NULL && o->range == 1) || (has_edges(o) && o->bins == BF_BINS_AUTO))
        return bf_fail(context, BF_E_ARGUMENT, "edges leave no choice of a range or of bins");
    return BF_OK;
}

/* Checks options (NULL: the defaults) and copies them. Fills in the number of bins. */
static bf_status check_options(bf_context *context, const bf_histogram_options *options,
                               bf_histogram_options *checked) {
    *checked = BF_HISTOGRAM_OPTIONS(.bins = 0);
    if (options != NULL && !BF_READ(checked, options, numbers))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_histogram_options: size is not set, or from a newer version");
    if (checked->bins < BF_BINS_AUTO || checked->bins > BF_BINS_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "%lld bins: 1 to 2^31 are possible",
                       (long long)checked->bins);
    if (checked->numbers < 0)
        return bf_fail(context, BF_E_ARGUMENT, "%lld numbers", (long long)checked->numbers);
    if (checked->bins == 0) checked->bins = 10;
    if (checked->weights != BF_NONE && bf_dtype_bytes(checked->weights) == 0)
        return bf_fail(context, BF_E_DTYPE, "no weights have dtype number %d",
                       (int)checked->weights);
    bf_status status = bf_integers_check(context, checked);
    return status == BF_OK ? check_range(context, checked) : status;
}

static bf_status check_dtype(bf_context *context, bf_dtype dtype) {
    if (bf_dtype_bytes(dtype) > 0) return BF_OK;
    return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)dtype);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bf_status write_even_edges(bf_histogram *h, const bf_histogram_options *o,
                                  bf_dtype computed) {
    h->edges_dtype = bf_edges_dtype(h->dtype);
    double lo, hi;
    bf_integers_range(o, &lo, &hi);
    const char *why = bf_even_edges(lo, hi, h->bins.count, computed, h->edges_dtype, h->edges);
    if (why != NULL) return bf_fail(h->context, BF_E_ARGUMENT, "%s", why);
    return o->integers != NULL ? bf_histogram_set_ends(h, o) : BF_OK;
}

/* Writes the edges. computed: the dtype in which even edges are computed. */
static bf_status write_edges(bf_histogram *h, const bf_histogram_options *o, bf_dtype computed) {
    int64_t bins = h->bins.count;
    bf_status status = BF_OK;
    if (!has_edges(o)) return write_even_edges(h, o, computed);
    if (o->integers != NULL)
        status = bf_histogram_set_integers(h, o->integers_dtype, o->integers);
    else
        memcpy(h->edges, o->edges, ((size_t)bins + 1) * sizeof *h->edges);
    if (status != BF_OK || h->integers != NULL || bf_edges_increase(h->edges, bins)) return status;
    return bf_fail(h->context, BF_E_ARGUMENT,
                   o->integers != NULL ? "two edges are equal as doubles, with which floats compare"
                                       : "the edges do not increase, or are not finite");
}

static bf_status make_histogram(bf_context *context, bf_dtype dtype, const bf_histogram_options *o,
                                bf_dtype computed, bf_histogram **histogram) {
    bf_histogram *h;
    bf_status status = bf_histogram_allocate(context, dtype, o->weights, o->bins, &h);
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter();
    status = write_edges(h, o, computed);
    bf_environment_leave(environment);
    if (status != BF_OK) {
        bf_histogram_destroy(h);
        return status;
    }
    bf_histogram_set_bins(h);
    *histogram = h;
    return BF_OK;
}

static bf_status create_histogram(bf_context *context, bf_dtype dtype,
                                  const bf_histogram_options *options, bf_histogram **histogram) {
    bf_histogram_options o;
    if (histogram == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the histogram");
    bf_status status = check_dtype(context, dtype);
    if (status == BF_OK) status = check_options(context, options, &o);
    if (status != BF_OK) return status;
    if (o.bins == BF_BINS_AUTO || (o.range == 0 && !has_edges(&o)))
        return bf_fail(context, BF_E_ARGUMENT, "without data, the bins and their range are needed");
    return make_histogram(context, dtype, &o, BF_F64, histogram);
}

bf_status bf_histogram_create(bf_context *context, bf_dtype dtype,
                              const bf_histogram_options *options, bf_histogram **histogram) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, create_histogram(context, dtype, options, histogram));
}

/* Fills in the number of bins and the range that the options leave to the data. *computed: the
 * dtype in which even edges are computed: the array's for its own range, f64 if the range is given.
 */
static bf_status look_at_data(bf_context *context, const bf_array *array, bf_histogram_options *o,
                              bf_dtype *computed) {
    bf_extent extent;
    bool wants_range = o->range == 0 && !has_edges(o);
    *computed = BF_F64;
    if (!wants_range && o->bins != BF_BINS_AUTO) return BF_OK;
    bf_status status = bf_array_extent(context, array, &extent);
    if (status != BF_OK) return status;
    if (o->bins == BF_BINS_AUTO) o->bins = bf_sturges(o->numbers > 0 ? o->numbers : extent.numbers);
    if (!wants_range) return BF_OK;
    o->lo = extent.lo;
    o->hi = extent.empty ? 1 : extent.hi;
    if (!extent.empty) *computed = bf_edges_dtype(array->dtype);
    return BF_OK;
}

static bf_status make_from_data(bf_context *context, const bf_array *array, const bf_array *weights,
                                const bf_histogram_options *options, bf_histogram **histogram) {
    bf_histogram_options o;
    bf_dtype computed;
    bf_histogram *h;
    int64_t count;
    bool automatic = options != NULL && options->bins == BF_BINS_AUTO;
    if (histogram == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the histogram");
    if (array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    bf_status status = check_dtype(context, array->dtype);
    if (status == BF_OK) status = check_options(context, options, &o);
    if (status == BF_OK) status = bf_check_array(context, array->dtype, array, &count);
    if (status == BF_OK) status = look_at_data(context, array, &o, &computed);
    if (status != BF_OK) return status;
    status = make_histogram(context, array->dtype, &o, computed, &h);
    while (status == BF_E_ARGUMENT && automatic && --o.bins > 0)
        status = make_histogram(context, array->dtype, &o, computed, &h);
    if (status != BF_OK) return status;
    status = bf_histogram_absorb_arrays(h, array, weights);
    if (status == BF_OK)
        *histogram = h;
    else
        bf_histogram_destroy(h);
    return status;
}

bf_status bf_histogram_of(bf_context *context, const bf_array *array, const bf_array *weights,
                          const bf_histogram_options *options, bf_histogram **histogram) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, make_from_data(context, array, weights, options, histogram));
}

/* ---- counting -------------------------------------------------------------------------------- */

bf_status bf_histogram_check(const bf_histogram *h, const bf_array *array, const bf_array *weights,
                             int64_t *count) {
    bf_status status = bf_check_array(h->context, h->dtype, array, count);
    if (status != BF_OK) return status;
    if ((weights != NULL) != (h->weights != BF_NONE))
        return bf_fail(h->context, BF_E_ARGUMENT,
                       weights ? "weights, and a histogram without" : "no weights");
    if (weights == NULL) return BF_OK;
    int64_t weight_count;
    status = bf_check_array(h->context, h->weights, weights, &weight_count);
    if (status != BF_OK) return status;
    return bf_check_same_shape(h->context, array, weights);
}

typedef struct counting {
    bf_bin_job job;
    int64_t *counts, *sums;
} counting;

static bf_status count_piece(bf_context *context, void *arg, const void *const data[2],
                             int64_t count) {
    counting *c = arg;
    c->job.data = data[0];
    c->job.weights = data[1];
    c->job.count = count;
    return context->used->histogram->count(context, &c->job, c->counts, c->sums);
}

static bf_status place_memory(const bf_histogram *h, const bf_memory *memory, int n) {
    const bf_demand demand = {.share = BF_HISTOGRAM_SHARE, .n = n, .memory = memory};
    return bf_place(h->context, &demand);
}

static bf_status place_arrays(const bf_histogram *h, const bf_array *const arrays[],
                              int64_t count) {
    int64_t bytes = bf_bytes_of(count, bf_dtype_bytes(h->dtype));
    bf_memory memory[] = {{arrays[0]->data, bytes}, {NULL, 0}};
    if (arrays[1] != NULL) {
        memory[1].data = arrays[1]->data;
        memory[1].bytes = bf_bytes_of(count, bf_dtype_bytes(h->weights));
    }
    return place_memory(h, memory, arrays[1] != NULL ? 2 : 1);
}

/* Adds elements to the histogram. After a failure it may hold some of them. */
static bf_status count_pieces(bf_histogram *h, const bf_array *const arrays[], int64_t count) {
    counting c = {.counts = h->counts, .sums = h->sums};
    c.job = (bf_bin_job){.bins = &h->bins, .dtype = h->dtype, .weights_dtype = h->weights};
    if (count > BF_COUNT_MAX - h->total)
        return bf_fail(h->context, BF_E_OVERFLOW, "more than 2^62 elements");
    if (count == 0) return BF_OK;
    bf_status status = place_arrays(h, arrays, count);
    if (status == BF_OK)
        status = bf_array_walk(h->context, arrays, arrays[1] != NULL ? 2 : 1, count, true,
                               count_piece, &c);
    if (status == BF_OK) h->total += count;
    return status;
}

static void add_counts(bf_histogram *into, const bf_histogram *from) {
    int64_t bins = into->bins.count, words = into->sum_words;
    for (int64_t i = 0; words > 0 && i < bins; i++)
        if (from->counts[i] > 0)
            bf_sum_merge(BF_KIND_SUM, into->weights, into->sums + i * words,
                         from->sums + i * words);
    for (int64_t i = 0; i < bins + BF_BIN_OTHERS; i++) into->counts[i] += from->counts[i];
}

bf_status bf_histogram_open_apart(const bf_histogram *h, bf_histogram *apart) {
    *apart = *h;
    return allocate_counts(h, &apart->counts, &apart->sums);
}

void bf_histogram_close_apart(bf_histogram *h, bf_histogram *apart, bf_status status) {
    if (status == BF_OK) {
        add_counts(h, apart);
        h->total = apart->total;
    }
    bf_free(apart->counts);
    bf_free(apart->sums);
}

bf_status bf_histogram_count(bf_histogram *h, const bf_array *array, const bf_array *weights) {
    const bf_array *const arrays[2] = {array, weights};
    int64_t count = 0;
    bf_status status = bf_histogram_check(h, array, weights, &count);
    return status == BF_OK ? count_pieces(h, arrays, count) : status;
}

/* Are there several pieces, so that a failure may follow when some are counted? */
static bool has_pieces(const bf_histogram *h, const bf_array *array, const bf_array *weights) {
    return bf_is_watched(h->context) || !bf_array_is_contiguous(array) ||
           (weights != NULL && !bf_array_is_contiguous(weights));
}

bf_status bf_histogram_absorb_arrays(bf_histogram *h, const bf_array *array,
                                     const bf_array *weights) {
    const bf_array *const arrays[2] = {array, weights};
    int64_t count = 0;
    bf_histogram apart;
    bf_status status = bf_histogram_check(h, array, weights, &count);
    if (status != BF_OK) return status;
    if (count == 0 || !has_pieces(h, array, weights)) return count_pieces(h, arrays, count);
    status = bf_histogram_open_apart(h, &apart);
    if (status != BF_OK) return status;
    status = count_pieces(&apart, arrays, count);
    bf_histogram_close_apart(h, &apart, status);
    return status;
}

bf_status bf_histogram_absorb(bf_histogram *histogram, const bf_array *array,
                              const bf_array *weights) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, bf_histogram_absorb_arrays(histogram, array, weights));
}

/* ---- enqueued -------------------------------------------------------------------------------- */

static bf_status check_async(const bf_histogram *h, const bf_array *array, const int64_t *counts,
                             int64_t *count) {
    if (h->weights != BF_NONE)
        return bf_fail(h->context, BF_E_ARGUMENT, "a histogram with weights is not enqueued");
    bf_status status = bf_check_array(h->context, h->dtype, array, count);
    if (status != BF_OK) return status;
    if (counts == NULL || (uintptr_t)counts % 8 != 0)
        return bf_fail(h->context, BF_E_ARGUMENT, "no place, aligned to 8 bytes, for the counts");
    return *count == 0 || bf_array_is_contiguous(array)
               ? BF_OK
               : bf_fail(h->context, BF_E_ARGUMENT, "the memory is not contiguous");
}

static bf_status enqueue_counts(const bf_histogram *h, const bf_array *array, int64_t *counts) {
    int64_t count = 0;
    bf_status status = check_async(h, array, counts, &count);
    if (status != BF_OK) return status;
    size_t counts_bytes = (size_t)(h->bins.count + BF_BIN_OTHERS) * sizeof *counts;
    const bf_memory memory[] = {{array->data, bf_bytes_of(count, bf_dtype_bytes(h->dtype))},
                                {counts, (int64_t)counts_bytes}};
    status = place_memory(h, memory, 2);
    if (status != BF_OK) return status;
    bf_bin_job job = {.bins = &h->bins, .dtype = h->dtype, .data = array->data, .count = count};
    const bf_backend *used = h->context->used;
    if (used->histogram->enqueue != NULL) return used->histogram->enqueue(h->context, &job, counts);
    int64_t *now = bf_calloc(1, counts_bytes);
    if (now == NULL) return out_of_memory(h->context, h->bins.count);
    status = count > 0 ? used->histogram->count(h->context, &job, now, NULL) : BF_OK;
    if (status == BF_OK) memcpy(counts, now, counts_bytes);
    bf_free(now);
    return status;
}

bf_status bf_histogram_async(bf_histogram *histogram, const bf_array *array, int64_t *counts) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, enqueue_counts(histogram, array, counts));
}

static bf_status enqueue_edges(const bf_histogram *h, double *edges) {
    if (edges == NULL || (uintptr_t)edges % 8 != 0)
        return bf_fail(h->context, BF_E_ARGUMENT, "no place, aligned to 8 bytes, for the edges");
    const size_t bytes = (size_t)(h->bins.count + 1) * sizeof *edges;
    const bf_memory memory = {edges, (int64_t)bytes};
    bf_status status = place_memory(h, &memory, 1);
    if (status != BF_OK) return status;
    const bf_backend *used = h->context->used;
    if (used->histogram->enqueue_edges != NULL)
        return used->histogram->enqueue_edges(h->context, &h->bins, edges);
    memcpy(edges, h->edges, bytes);
    return BF_OK;
}

bf_status bf_histogram_edges_async(bf_histogram *histogram, double *edges) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, enqueue_edges(histogram, edges));
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool same_bins(const bf_histogram *a, const bf_histogram *b) {
    if (a->bins.count != b->bins.count) return false;
    for (int64_t i = 0; i <= a->bins.count; i++)
        if (a->edges[i] != b->edges[i]) return false;
    if (a->integers == NULL || b->integers == NULL) return a->integers == b->integers;
    return a->edges_dtype == b->edges_dtype &&
           memcmp(a->integers, b->integers, ((size_t)a->bins.count + 1) * sizeof *a->integers) == 0;
}

bf_status bf_histogram_match(const bf_histogram *into, const bf_histogram *from) {
    if (from == NULL) return bf_fail(into->context, BF_E_ARGUMENT, "no histogram to merge");
    if (into->dtype != from->dtype || into->weights != from->weights)
        return bf_fail(into->context, BF_E_STATE, "the dtypes of elements or weights differ");
    return same_bins(into, from) ? BF_OK : bf_fail(into->context, BF_E_STATE, "the bins differ");
}

static bf_status merge_histograms(bf_histogram *into, const bf_histogram *from) {
    bf_status status = bf_histogram_match(into, from);
    if (status != BF_OK) return status;
    if (from->total > BF_COUNT_MAX - into->total)
        return bf_fail(into->context, BF_E_OVERFLOW, "more than 2^62 elements");
    add_counts(into, from);
    into->total += from->total;
    return BF_OK;
}

bf_status bf_histogram_merge(bf_histogram *into, const bf_histogram *from) {
    if (into == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, merge_histograms(into, from));
}
