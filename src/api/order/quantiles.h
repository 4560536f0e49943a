/* The inside of bf_quantiles. */
#ifndef BF_API_ORDER_QUANTILES_H
#define BF_API_ORDER_QUANTILES_H

#include "rules/order/quantile.h"
#include "seam/order.h"

struct bf_quantiles {
    bf_context *context;
    bf_dtype dtype, to;
    bf_quantile_method method;
    bf_nan_policy nan;
    int scale; /* for elements that are integers */
    bool has_empty;
    bf_value empty;
    int m; /* 0: the median */
    double q[BF_QUANTILES_MAX];

    int pass; /* from 1 */
    bool done;
    int64_t all, nans; /* when the first pass has ended; else 0 */
    bf_ranges ranges;
    bf_tally tally;
    bf_wants wants;
};

static inline int bf_quantiles_results(const bf_quantiles *q) { return q->m > 0 ? q->m : 1; }

/* The dtype of results between elements. */
static inline bf_dtype bf_quantiles_to(const bf_quantiles *q, bool whole) {
    if (whole) return q->dtype;
    return q->m > 0 ? bf_quantile_to(q->dtype, q->method) : bf_median_to(q->dtype);
}

/* Allocates what has no elements yet. `like` gives what is looked for. Errors: BF_E_MEMORY, with a
 * message. */
bf_status bf_quantiles_allocate(bf_context *context, const bf_quantiles *like,
                                bf_quantiles **quantiles);

/* The status of the results, as the NaN policy has it; and whether all of them are NaN. */
bf_status bf_quantiles_status(const bf_quantiles *quantiles);
bool bf_quantiles_are_nan(const bf_quantiles *quantiles);

/* Where result i lies, among the elements of the first pass. There are some. */
bf_between bf_quantiles_between(const bf_quantiles *quantiles, int i);

/* Sets the different ranks that results need, ascending, and returns how many. */
int bf_quantiles_ranks(const bf_quantiles *quantiles, int64_t rank[BF_RANGES_MOST]);

/* Puts collected places in order. */
void bf_quantiles_order(const bf_quantiles *quantiles);

#endif
