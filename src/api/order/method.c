/* Methods of quantiles: their names, and what they return. */
#include "base/environment.h"
#include "rules/order/quantile.h"

static const char *const names[] = {
    [BF_QUANTILE_LINEAR] = "linear",
    [BF_QUANTILE_LOWER] = "lower",
    [BF_QUANTILE_HIGHER] = "higher",
    [BF_QUANTILE_MIDPOINT] = "midpoint",
    [BF_QUANTILE_NEAREST] = "nearest",
    [BF_QUANTILE_INVERTED_CDF] = "inverted_cdf",
    [BF_QUANTILE_AVERAGED_INVERTED_CDF] = "averaged_inverted_cdf",
    [BF_QUANTILE_CLOSEST_OBSERVATION] = "closest_observation",
    [BF_QUANTILE_INTERPOLATED_INVERTED_CDF] = "interpolated_inverted_cdf",
    [BF_QUANTILE_HAZEN] = "hazen",
    [BF_QUANTILE_WEIBULL] = "weibull",
    [BF_QUANTILE_MEDIAN_UNBIASED] = "median_unbiased",
    [BF_QUANTILE_NORMAL_UNBIASED] = "normal_unbiased",
};
enum { METHODS = sizeof names / sizeof *names };

const char *bf_quantile_method_name(bf_quantile_method method) {
    return (unsigned)method < METHODS ? names[method] : "?";
}

int bf_quantile_method_from_name(const char *name) {
    for (int i = 0; i < METHODS; i++)
        if (name != NULL && strcmp(name, names[i]) == 0) return i;
    return -1;
}

bf_dtype bf_quantile_dtype(bf_dtype dtype, bf_quantile_method method) {
    return bf_quantile_to(dtype, method);
}

bf_dtype bf_median_dtype(bf_dtype dtype) { return bf_median_to(dtype); }

int bf_quantile_is_whole(bf_quantile_method method, int64_t n, const double q[], int m) {
    if (m < 0 || (m > 0 && q == NULL) || (unsigned)method >= METHODS) return 0;
    for (int i = 0; i < m; i++)
        if (!(q[i] >= 0 && q[i] <= 1)) return 0;
    bf_environment environment = bf_environment_enter();
    const bool whole = bf_quantile_whole(method, n, q, m);
    bf_environment_leave(environment);
    return whole;
}
