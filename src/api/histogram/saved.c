/* Saved histograms: "histogram" (dtypes of elements, weights, edges), "edges" (i64 or u64, if that
 * is their dtype, else f64), "counts" of the bins, below, above and NaN (i64), and "sums": the
 * words of each bin's sum of weights (i64; none without weights). */
#include "api/runtime/saved.h"
#include "api/histogram/bins.h"
#include "api/histogram/histogram.h"
#include "api/runtime/enter.h"
#include "base/environment.h"
#include "base/memory.h"
#include "rules/histogram/step.h"
#include "rules/reduce/state.h"

enum { NUMBERS = 3 };

static size_t write_histogram(const bf_histogram *h, void *out) {
    const int numbers[NUMBERS] = {(int)h->dtype, (int)h->weights, (int)h->edges_dtype};
    const int64_t bins = h->bins.count;
    bf_saving s = bf_saving_begin(out, "histogram", numbers, NUMBERS);
    if (h->integers != NULL)
        bf_saving_put(&s, "edges", h->edges_dtype, h->integers, bins + 1);
    else
        bf_saving_put(&s, "edges", BF_F64, h->edges, bins + 1);
    bf_saving_put(&s, "counts", BF_I64, h->counts, bins + BF_BIN_OTHERS);
    bf_saving_put(&s, "sums", BF_I64, h->sums, bins * h->sum_words);
    return bf_saving_end(&s);
}

size_t bf_histogram_save_size(const bf_histogram *histogram) {
    return histogram != NULL ? write_histogram(histogram, NULL) : 0;
}

bf_status bf_histogram_save(const bf_histogram *histogram, void *buffer) {
    if (histogram == NULL || buffer == NULL) return BF_E_ARGUMENT;
    write_histogram(histogram, buffer);
    return BF_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What a form says, and where it has the rest. */
typedef struct saved_histogram {
    bf_dtype dtype, weights, edges_dtype;
    int64_t bins;
    int sum_words;
    const uint8_t *edges, *counts, *sums;
} saved_histogram;

static bool has_integers(bf_dtype edges) { return edges == BF_I64 || edges == BF_U64; }

/* Reads edges that are integers. Sets *valid to whether a histogram has such. */
static bf_status read_integers(bf_histogram *h, const uint8_t *in, bool *valid) {
    const bf_dtype dtype = h->edges_dtype;
    const size_t bytes = 8 * ((size_t)h->bins.count + 1);
    uint64_t *edges = bf_alloc(bytes);
    if (edges == NULL) return bf_fail(h->context, BF_E_MEMORY, "no memory for edges");
    memcpy(edges, in, bytes);
    *valid = bf_integers_increase(dtype, edges, h->bins.count);
    bf_status status = *valid ? bf_histogram_set_integers(h, dtype, edges) : BF_OK;
    bf_free(edges);
    *valid = *valid && h->integers != NULL && h->edges_dtype == dtype;
    return status;
}

static bool edges_valid(const bf_histogram *h) {
    bool given = h->edges_dtype == BF_F64;
    if (!given && h->edges_dtype != bf_edges_dtype(h->dtype)) return false;
    for (int64_t i = 0; !given && i <= h->bins.count; i++)
        if (h->edges[i] != bf_round_to(h->edges_dtype, h->edges[i])) return false;
    return bf_edges_increase(h->edges, h->bins.count);
}

/* Adds the counts to h->total. Returns false if no histogram has such counts. */
static bool counts_valid(bf_histogram *h) {
    int64_t n = h->bins.count;
    for (int64_t i = 0; i < n + BF_BIN_OTHERS; i++) {
        if (h->counts[i] < 0 || h->counts[i] > BF_COUNT_MAX - h->total) return false;
        h->total += h->counts[i];
    }
    return bf_dtype_is_float(h->dtype) || h->counts[n + BF_BIN_NAN] == 0;
}

static bool sums_valid(const bf_histogram *h) {
    for (int64_t i = 0; h->sum_words > 0 && i < h->bins.count; i++) {
        const int64_t *words = h->sums + i * h->sum_words;
        if (words[BF_SUM_COUNT] != h->counts[i]) return false;
        if (!bf_sum_valid(BF_KIND_SUM, h->weights, words)) return false;
    }
    return true;
}

static bf_status read_edges(bf_histogram *h, const uint8_t *in, bool *valid) {
    if (has_integers(h->edges_dtype)) return read_integers(h, in, valid);
    memcpy(h->edges, in, 8 * ((size_t)h->bins.count + 1));
    *valid = edges_valid(h);
    return BF_OK;
}

static bf_status read_contents(bf_histogram *h, const saved_histogram *x) {
    const size_t bins = (size_t)x->bins, words = bins * (size_t)x->sum_words;
    bool valid = false;
    bf_environment environment = bf_environment_enter();
    bf_status status = read_edges(h, x->edges, &valid);
    memcpy(h->counts, x->counts, 8 * (bins + BF_BIN_OTHERS));
    if (words > 0) memcpy(h->sums, x->sums, 8 * words);
    valid = valid && counts_valid(h) && sums_valid(h);
    bf_environment_leave(environment);
    if (status != BF_OK || valid) return status;
    return bf_saved_refuse_contents(h->context);
}

/* Finds what a form has. */
static bf_status find_contents(bf_context *context, bf_loading *l, saved_histogram *x) {
    int64_t edges, counts, sums;
    const bool known = bf_dtype_bytes(x->dtype) > 0 && x->edges_dtype <= BF_F64 &&
                       (x->weights == BF_NONE || bf_dtype_bytes(x->weights) > 0);
    if (!known) return bf_saved_refuse(context, "a dtype that this version does not know");
    if (x->weights != BF_NONE) x->sum_words = bf_sum_shape_of(BF_KIND_SUM, x->weights).words;
    const bf_dtype dtype = has_integers(x->edges_dtype) ? x->edges_dtype : BF_F64;
    x->edges = l->in + bf_loading_section(l, "edges", dtype, &edges);
    x->counts = l->in + bf_loading_section(l, "counts", BF_I64, &counts);
    x->sums = l->in + bf_loading_section(l, "sums", BF_I64, &sums);
    x->bins = edges - 1;
    if (!bf_loading_end(l) || counts != x->bins + BF_BIN_OTHERS || sums != x->bins * x->sum_words)
        return bf_saved_refuse(context, "not the size that its header says");
    return x->bins >= 1 && x->bins <= BF_BINS_MAX ? BF_OK : bf_saved_refuse_contents(context);
}

static bf_status make_histogram(bf_context *context, const saved_histogram *x,
                                bf_histogram **histogram) {
    bf_histogram *h;
    bf_status status = bf_histogram_allocate(context, x->dtype, x->weights, x->bins, &h);
    if (status != BF_OK) return status;
    h->edges_dtype = x->edges_dtype;
    status = read_contents(h, x);
    if (status != BF_OK) {
        bf_histogram_destroy(h);
        return status;
    }
    bf_histogram_set_bins(h);
    *histogram = h;
    return BF_OK;
}

static bf_status load_histogram(bf_context *context, const void *buffer, size_t size,
                                bf_histogram **histogram) {
    int numbers[NUMBERS];
    bf_loading l;
    if (histogram == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the histogram");
    bf_status status = bf_loading_begin(&l, context, buffer, size, "histogram", numbers, NUMBERS);
    if (status != BF_OK) return status;
    saved_histogram x = {.dtype = (bf_dtype)numbers[0],
                         .weights = (bf_dtype)numbers[1],
                         .edges_dtype = (bf_dtype)numbers[2]};
    status = find_contents(context, &l, &x);
    return status == BF_OK ? make_histogram(context, &x, histogram) : status;
}

bf_status bf_histogram_load(bf_context *context, const void *buffer, size_t size,
                            bf_histogram **histogram) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, load_histogram(context, buffer, size, histogram));
}
