/* Quantiles of a rolling window: those of its elements alone, as floats, because NaN stands for
 * windows with too few elements. The caller has set the usual environment of floats. */
#ifndef BF_RULES_SCAN_QUANTILE_H
#define BF_RULES_SCAN_QUANTILE_H

#include "rules/order/quantile.h"
#include "rules/scan/window.h"

typedef struct bf_window_quantiles {
    const double *q; /* NULL: the median */
    int count;       /* results of each window; of the median 1 */
    bf_quantile_method method;
} bf_window_quantiles;

BF_RULE bf_dtype bf_window_quantile_to(const bf_window_quantiles *s, bf_dtype dtype) {
    if (bf_number_bytes(dtype) == 0) return BF_NONE;
    if (!bf_dtype_is_float(dtype)) return BF_F64;
    return s->q == NULL ? bf_median_to(dtype) : bf_quantile_to(dtype, s->method);
}

/* Where quantile number i of n > 0 elements lies. */
BF_RULE bf_between bf_window_between(const bf_window_quantiles *s, int i, int64_t n) {
    return s->q == NULL ? bf_median_between(n) : bf_quantile_between(s->method, n, s->q[i]);
}

/* Sets *bits to the middle of two doubles: either their sum is rounded, or its half, but never
 * both, for a sum that is not exact is far above the least normal number. False: the sum is
 * infinite. */
BF_RULE bool bf_window_middle(const void *a, const void *b, uint64_t *bits) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    const double middle = (x + y) / 2;
    memcpy(bits, &middle, sizeof middle);
    return middle - middle == 0;
}

/* The result between elements with these bits, which are no NaNs, not of BF_I128. */
BF_RULE uint64_t bf_window_between_bits(const bf_window *w, uint64_t a, uint64_t b, double weight) {
    uint64_t bits;
    if (w->dtype == BF_F64 && weight == 0.5 && bf_window_middle(&a, &b, &bits)) return bits;
    return bf_quantile_bits(w->to, w->options.scale,
                            bf_quantile_make(w->dtype, w->to, w->options.scale, a, b, weight));
}

/* The result between the elements at a and b, which are no NaNs. */
BF_RULE uint64_t bf_window_quantile(const bf_window *w, const void *a, const void *b,
                                    double weight) {
    const int bytes = bf_dtype_bytes(w->dtype);
    if (w->dtype != BF_I128)
        return bf_window_between_bits(w, bf_load_bits(a, bytes), bf_load_bits(b, bytes), weight);
    return bf_quantile_mix_i128(bf_format_of(w->to), bf_load_i128(a), bf_load_i128(b), weight,
                                w->options.scale);
}

#endif
