/* Histograms of arrays in shards: one after another, or on all GPUs of the context at once. */
#include "api/histogram/histogram.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"

#include <stdlib.h>

/* Checks all shards. *count: the elements of all; *flat: all are contiguous. */
static bf_status check_shards(const bf_histogram *h, const bf_array arrays[],
                              const bf_array weights[], int n, int64_t *count, bool *flat) {
    bf_status status = BF_OK;
    *count = 0;
    *flat = true;
    if (n < 0 || (n > 0 && arrays == NULL))
        return bf_fail(h->context, BF_E_ARGUMENT, "%d shards, or no array of them", n);
    for (int i = 0; i < n && status == BF_OK; i++) {
        const bf_array *w = weights != NULL ? &weights[i] : NULL;
        int64_t elements = 0;
        status = bf_histogram_check(h, &arrays[i], w, &elements);
        if (status != BF_OK || elements == 0) continue;
        if (elements > BF_COUNT_MAX - h->total - *count)
            return bf_fail(h->context, BF_E_OVERFLOW, "more than 2^62 elements");
        *count += elements;
        *flat &= bf_array_is_contiguous(&arrays[i]) && (w == NULL || bf_array_is_contiguous(w));
    }
    return status;
}

static bf_status count_in_turn(bf_histogram *h, const bf_array arrays[], const bf_array weights[],
                               int n) {
    bf_status status = BF_OK;
    for (int i = 0; i < n && status == BF_OK; i++)
        status = bf_histogram_count(h, &arrays[i], weights != NULL ? &weights[i] : NULL);
    return status;
}

static bool takes_shards(const bf_context *context) {
    return context->fixed != NULL && context->fixed->histogram->count_shards != NULL;
}

static bf_status count_at_once(bf_histogram *h, const bf_array arrays[], const bf_array weights[],
                               int n, int64_t count) {
    bf_bin_job *jobs = malloc((size_t)n * sizeof *jobs);
    if (jobs == NULL) return bf_fail(h->context, BF_E_MEMORY, "no memory for shards");
    int made = 0;
    for (int i = 0; i < n; i++) {
        bf_bin_job job = {.bins = &h->bins, .dtype = h->dtype, .data = arrays[i].data};
        job.weights_dtype = h->weights;
        job.weights = weights != NULL ? weights[i].data : NULL;
        job.count = bf_array_count(&arrays[i]);
        if (job.count > 0) jobs[made++] = job;
    }
    size_t element = bf_dtype_size(h->dtype) + bf_dtype_size(h->weights);
    bf_status status = bf_place(h->context, &(bf_demand){.share = BF_HISTOGRAM_SHARE});
    if (status == BF_OK)
        status =
            h->context->used->histogram->count_shards(h->context, jobs, made, h->counts, h->sums);
    if (status == BF_OK) status = bf_watch_tick(h->context, bf_bytes_of(count, (int64_t)element));
    if (status == BF_OK) h->total += count;
    free(jobs);
    return status;
}

static bf_status absorb_shards(bf_histogram *h, const bf_array arrays[], const bf_array weights[],
                               int n) {
    int64_t count;
    bool flat;
    bf_histogram apart;
    bf_status status = check_shards(h, arrays, weights, n, &count, &flat);
    if (status != BF_OK || count == 0) return status;
    status = bf_histogram_open_apart(h, &apart);
    if (status != BF_OK) return status;
    status = flat && takes_shards(h->context) ? count_at_once(&apart, arrays, weights, n, count)
                                              : count_in_turn(&apart, arrays, weights, n);
    bf_histogram_close_apart(h, &apart, status);
    return status;
}

bf_status bf_histogram_absorb_shards(bf_histogram *histogram, const bf_array arrays[],
                                     const bf_array weights[], int n) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, absorb_shards(histogram, arrays, weights, n));
}
