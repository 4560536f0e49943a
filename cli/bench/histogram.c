/* The histograms of bench: all 256 values of u8, or 100 even bins from 0 to 1 of floats. */
#include "bench/bench.h"

#include <string.h>

bool bench_is_histogram(const char *work) { return strcmp(work, "histogram") == 0; }

bf_status bench_histogram_open(const bench_point *point, bf_histogram **histogram) {
    const bf_dtype dtype = bf_dtype_from_name(point->dtype);
    const bool bytes = dtype == BF_U8;
    const bf_histogram_options options =
        BF_HISTOGRAM_OPTIONS(.bins = bytes ? 256 : 100, .range = 1, .hi = bytes ? 256 : 1);
    return bf_histogram_create(point->context, dtype, &options, histogram);
}

bf_status bench_histogram_pass(const bench_point *point, bf_histogram *histogram,
                               const bf_array *array) {
    if (point->stream) return bf_histogram_async(histogram, array, point->gpu->result);
    bf_histogram_clear(histogram);
    return bf_histogram_absorb(histogram, array, NULL);
}
