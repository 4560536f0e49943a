/* Edges, and ends of a range, that are given as integers. Doubles take their place where these hold
 * them and compare alike, so that equal bins are equal whatever they were given as. */
#include "api/histogram/histogram.h"

#include "base/memory.h"
#include "rules/histogram/step.h"

bf_status bf_integers_check(bf_context *context, const bf_histogram_options *o) {
    if (o->integers == NULL) return BF_OK;
    if (o->integers_dtype != BF_I64 && o->integers_dtype != BF_U64)
        return bf_fail(context, BF_E_DTYPE, "integers of edges are i64 or u64");
    if (o->edges != NULL)
        return bf_fail(context, BF_E_ARGUMENT, "edges are given twice, as doubles and as integers");
    if (o->range != 1) return BF_OK;
    const uint64_t *ends = o->integers;
    if (bf_edge_integer(o->integers_dtype, ends[0]) > bf_edge_integer(o->integers_dtype, ends[1]))
        return bf_fail(context, BF_E_ARGUMENT, "the range ends before it begins");
    return BF_OK;
}

void bf_integers_range(const bf_histogram_options *o, double *lo, double *hi) {
    const uint64_t *ends = o->integers;
    *lo = ends != NULL ? (double)bf_edge_integer(o->integers_dtype, ends[0]) : o->lo;
    *hi = ends != NULL ? (double)bf_edge_integer(o->integers_dtype, ends[1]) : o->hi;
}

/* Do doubles do for these n edges of elements of dtype? */
static bool are_doubles(bf_dtype dtype, bf_dtype integers, const uint64_t *edges, int64_t n) {
    bool small = true;
    for (int64_t i = 0; i < n; i++) small &= bf_edge_is_small(bf_edge_integer(integers, edges[i]));
    return small || bf_dtype_is_float(dtype);
}

/* Every edge that i64 holds is one, whatever the dtype that it was given in. */
static bf_dtype least_dtype(bf_dtype dtype, const uint64_t *edges, int64_t n) {
    bool fit = true;
    for (int64_t i = 0; i < n; i++) fit &= edges[i] <= INT64_MAX;
    return fit ? BF_I64 : dtype;
}

/* Sets the steps of 64-bit integers. */
static bf_status make_steps(bf_histogram *h) {
    int64_t bins = h->bins.count, n = 0;
    if (bf_dtype_is_float(h->dtype) || bf_dtype_bytes(h->dtype) < 8) return BF_OK;
    h->steps = bf_alloc(((size_t)bins + 1) * sizeof *h->steps);
    if (h->steps == NULL) return bf_fail(h->context, BF_E_MEMORY, "no memory for edges");
    while (n <= bins && bf_edge_step(h->dtype, bf_edge_integer(h->edges_dtype, h->integers[n]),
                                     n == bins, &h->steps[n]))
        n++;
    h->step_count = n;
    return BF_OK;
}

bf_status bf_histogram_set_integers(bf_histogram *h, bf_dtype dtype, const uint64_t *edges) {
    const int64_t n = h->bins.count + 1;
    if (!bf_integers_increase(dtype, edges, n - 1))
        return bf_fail(h->context, BF_E_ARGUMENT, "the edges do not increase");
    for (int64_t i = 0; i < n; i++) h->edges[i] = (double)bf_edge_integer(dtype, edges[i]);
    if (are_doubles(h->dtype, dtype, edges, n)) return BF_OK;
    h->integers = bf_alloc((size_t)n * sizeof *h->integers);
    if (h->integers == NULL) return bf_fail(h->context, BF_E_MEMORY, "no memory for edges");
    memcpy(h->integers, edges, (size_t)n * sizeof *h->integers);
    h->edges_dtype = least_dtype(dtype, edges, n);
    return make_steps(h);
}

/* The edges between the ends are the least integers that compare with the even edges, which are
 * doubles, as these do. */
bf_status bf_histogram_set_ends(bf_histogram *h, const bf_histogram_options *o) {
    const int64_t bins = h->bins.count;
    const uint64_t *ends = o->integers;
    if (are_doubles(h->dtype, o->integers_dtype, ends, 2) || bf_dtype_bytes(h->dtype) < 8)
        return BF_OK;
    uint64_t *edges = bf_alloc(((size_t)bins + 1) * sizeof *edges);
    if (edges == NULL) return bf_fail(h->context, BF_E_MEMORY, "no memory for edges");
    edges[0] = ends[0];
    for (int64_t i = 1; i < bins; i++) edges[i] = (uint64_t)bf_edge_from(h->edges[i]);
    edges[bins] = ends[1];
    bf_status status = bf_histogram_set_integers(h, o->integers_dtype, edges);
    bf_free(edges);
    return status;
}
