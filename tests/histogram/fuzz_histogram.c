/* A saved histogram is untrusted input: whatever the bytes, bf_histogram_load refuses them or gives
 * a histogram that works, and that saves to the same bytes. */
#include "tests/support/saved.h"

FUZZ_SAVED(bf_histogram)

static int64_t counted_in(const bf_histogram *h, const bf_histogram_info *info) {
    int64_t n = info->below + info->above + info->nan;
    for (int64_t i = 0; i < info->bins; i++) n += bf_histogram_counts(h)[i];
    return n;
}

static void take_results(const bf_histogram *h, const bf_histogram_info *info) {
    const double *edges = bf_histogram_edges(h);
    double *out = malloc((size_t)info->bins * sizeof *out);
    require(out != NULL && counted_in(h, info) == info->count);
    const bool doubles = bf_histogram_integers(h) == NULL; /* integer edges may be equal */
    for (int64_t i = 0; i < info->bins && doubles; i++) require(edges[i] < edges[i + 1]);
    require((bf_histogram_weights(h, out) == BF_OK) == (info->weights != BF_NONE));
    require(bf_histogram_density(h, out) == BF_OK);
    free(out);
}

/* Counts elements that lie on edges, as far as the dtype has them, and any bits. */
static void absorb(bf_histogram *h, const bf_histogram_info *info) {
    double elements[4] = {bf_histogram_edges(h)[0], bf_histogram_edges(h)[info->bins], 0.5, -1e300};
    bf_array a = bf_array_of(info->dtype, elements, 4), w = bf_array_of(info->weights, elements, 4);
    bf_status status = bf_histogram_absorb(h, &a, info->weights != BF_NONE ? &w : NULL);
    require(status == BF_OK || status == BF_E_OVERFLOW);
}

static void use(bf_context *context, bf_histogram *h, const uint8_t *data, size_t size) {
    (void)data, (void)size;
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram_describe(h, &info);
    take_results(h, &info);
    absorb(h, &info);
    require(bf_histogram_retract(h, h) == BF_OK);
    absorb(h, &info);
    bf_status status = bf_histogram_merge(h, h);
    require(status == BF_OK || status == BF_E_OVERFLOW);
    bf_histogram_describe(h, &info);
    take_results(h, &info);
    save_and_load(context, h);
}
