#include "histogram/automatic.h"

#include "memory/pick.h"
#include "runtime/info.h"

#include <math.h>
#include <string.h>

/* ---- elements within a range ----------------------------------------------------------------- */

/* The elements as doubles. NULL: *st says why not. */
static const double *as_doubles(selection *s, bf_context *context, const bf_array *elements,
                                bf_status *st) {
    const int64_t n = elements->shape[0];
    *st = BF_OK;
    if (elements->dtype == BF_F64) return elements->data;
    double *to = buffer_take(&s->doubles, (size_t)n * sizeof *to);
    const bf_array made = bf_array_of(BF_F64, to, n);
    *st = to ? bf_map(context, BF_MAP_CAST, &elements, 1, NULL, &made) : BF_E_MEMORY;
    return *st == BF_OK ? to : NULL;
}

bf_status selection_take(selection *s, bf_context *context, bf_array *elements) {
    const int64_t all = elements->shape[0];
    const size_t bytes = bf_dtype_size(elements->dtype);
    bf_status st;
    const double *x = as_doubles(s, context, elements, &st);
    if (!x) return st;
    int64_t n = 0, *places = buffer_take(&s->places, (size_t)all * sizeof *places);
    for (int64_t i = 0; places && i < all; i++) {
        places[n] = i;
        n += x[i] >= s->lo && x[i] <= s->hi;
    }
    if (places && n == all) return BF_OK;
    char *left = places ? buffer_take(&s->left, (size_t)n * bytes) : NULL;
    if (!left) return BF_E_MEMORY;
    pick_elements(left, elements->data, bytes, places, n);
    *elements = bf_array_of(elements->dtype, left, n);
    return BF_OK;
}

void selection_close(selection *s) {
    buffer_free(&s->doubles);
    buffer_free(&s->places);
    buffer_free(&s->left);
}

/* ---- quartiles ------------------------------------------------------------------------------- */

static bf_status open_side(bf_context *context, bf_dtype dtype, bf_quantile_method method,
                           bf_quantiles **side) {
    static const double quartiles[] = {0.25, 0.75};
    const bf_order_options rules = {.size = sizeof rules, .nan = BF_NAN_SKIP, .method = method};
    return bf_quantiles_create(context, dtype, quartiles, 2, &rules, side);
}

bf_status automatic_open(automatic *a, bf_context *context, bf_dtype dtype) {
    const bf_status st = open_side(context, dtype, BF_QUANTILE_LOWER, &a->below);
    return st == BF_OK ? open_side(context, dtype, BF_QUANTILE_HIGHER, &a->above) : st;
}

void automatic_close(automatic *a) {
    bf_quantiles_destroy(a->below);
    bf_quantiles_destroy(a->above);
    *a = (automatic){NULL, NULL};
}

bf_status automatic_absorb(automatic *a, const bf_array *elements) {
    bf_status st = BF_OK;
    if (!quantiles_info(a->below).done) st = bf_quantiles_absorb(a->below, elements);
    if (st == BF_OK && !quantiles_info(a->above).done) st = bf_quantiles_absorb(a->above, elements);
    return st;
}

bf_status automatic_next(automatic *a, int *done) {
    int below = 1, above = 1;
    bf_status st = BF_OK;
    if (!quantiles_info(a->below).done) st = bf_quantiles_next(a->below, &below);
    if (st == BF_OK && !quantiles_info(a->above).done) st = bf_quantiles_next(a->above, &above);
    *done = below && above;
    return st;
}

/* ---- the rule -------------------------------------------------------------------------------- */

/* The quartile as NumPy's percentile has it: between two elements, rounded at each step. */
static double quartile_of(double below, double above, double q, int64_t n) {
    const double at = (double)(n - 1) * q, t = at - floor(at), step = above - below;
    return t >= 0.5 ? above - step * (1 - t) : below + step * t;
}

/* The width of a bin: that of Sturges' rule, or less by the rule of Freedman and Diaconis, which is
 * not followed far. */
static double width_of(double span, double between, double n) {
    const double sturges = span / (log2(n) + 1);
    const double diaconis = 2 * between * pow(n, -1.0 / 3), root = span / sqrt(n);
    return fmin(fmax(diaconis, root / 2), sturges);
}

bf_status automatic_bins(const automatic *a, const automatic_range *r, int64_t *bins) {
    bf_value below[2], above[2];
    const bf_quantiles_info info = quantiles_info(a->below);
    const int64_t n = info.all - info.nan;
    *bins = 1;
    if (n == 0) return BF_OK;
    bf_status st = bf_quantiles_result(a->below, below);
    if (st == BF_OK) st = bf_quantiles_result(a->above, above);
    if (st != BF_OK) return st;
    double quartiles[2];
    for (int i = 0; i < 2; i++)
        quartiles[i] =
            quartile_of(bf_value_f64(&below[i]), bf_value_f64(&above[i]), i == 0 ? 0.25 : 0.75, n);
    double width = width_of(r->most - r->least, quartiles[1] - quartiles[0], (double)n);
    if (r->integers && width < 1 && width > 0) width = 1;
    const double wanted = width > 0 ? ceil((r->hi - r->lo) / width) : 1;
    *bins = wanted < 1 ? 1 : wanted < (double)BF_BINS_MAX ? (int64_t)wanted : BF_BINS_MAX;
    return BF_OK;
}
