/* Counts each integer of a range: a histogram with a bin around each of them. */
#include "api/histogram/histogram.h"
#include "api/runtime/enter.h"

#include "rules/number/dtype.h"

static bf_status count_integers(const bf_array *array, bf_histogram *h, int64_t *counts,
                                int64_t *others) {
    int64_t n = h->bins.count;
    for (int64_t i = 0; i <= n; i++) h->edges[i] = (double)i - 0.5;
    bf_histogram_set_bins(h);
    bf_status status = bf_histogram_absorb_arrays(h, array, NULL);
    if (status != BF_OK) return status;
    memcpy(counts, h->counts, (size_t)n * sizeof *counts);
    *others = h->counts[n + BF_BIN_BELOW] + h->counts[n + BF_BIN_ABOVE];
    return BF_OK;
}

static bf_status make_counts(bf_context *context, const bf_array *array, int64_t *counts, int64_t n,
                             int64_t *others) {
    bf_histogram *h;
    if (array == NULL || counts == NULL || others == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no array, or no place for the counts");
    if (n < 1 || n > BF_BINS_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "%lld counts: 1 to 2^31 are possible", (long long)n);
    if (bf_dtype_bytes(array->dtype) == 0 || bf_dtype_is_float(array->dtype))
        return bf_fail(context, BF_E_DTYPE, "%s data are not integers",
                       bf_dtype_name(array->dtype));
    bf_status status = bf_histogram_allocate(context, array->dtype, BF_NONE, n, &h);
    if (status != BF_OK) return status;
    status = count_integers(array, h, counts, others);
    bf_histogram_destroy(h);
    return status;
}

bf_status bf_bincount(bf_context *context, const bf_array *array, int64_t *counts, int64_t n,
                      int64_t *others) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, make_counts(context, array, counts, n, others));
}
