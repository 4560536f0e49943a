/* Histograms that absorb a feed. */
#include "api/runtime/feed.h"
#include "api/histogram/histogram.h"
#include "api/runtime/enter.h"

static bf_status count_arrays(void *into, const bf_array arrays[2]) {
    bf_histogram *h = into;
    return bf_histogram_count(h, &arrays[0], h->weights != BF_NONE ? &arrays[1] : NULL);
}

static bf_status absorb_feed(bf_histogram *h, const bf_feed *given) {
    bf_feed feed;
    bf_histogram apart;
    const bf_dtype dtype[2] = {h->dtype, h->weights};
    bf_status status =
        bf_feed_check(h->context, given, h->weights != BF_NONE ? 2 : 1, dtype, &feed);
    if (status == BF_OK) status = bf_histogram_open_apart(h, &apart);
    if (status != BF_OK) return status;
    status = bf_feed_run(h->context, &feed, count_arrays, &apart);
    bf_histogram_close_apart(h, &apart, status);
    return status;
}

bf_status bf_histogram_absorb_feed(bf_histogram *histogram, const bf_feed *feed) {
    if (histogram == NULL || !bf_enter(histogram->context)) return BF_E_ARGUMENT;
    return bf_leave(histogram->context, absorb_feed(histogram, feed));
}
