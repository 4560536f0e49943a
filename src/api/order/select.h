/* Selections: what the calls on order statistics share. */
#ifndef BF_API_ORDER_SELECT_H
#define BF_API_ORDER_SELECT_H

#include "api/order/order.h"

typedef struct bf_selecting {
    bf_order_call call;
    bf_selection selection;
    bool queued; /* a call on a stream */
    bf_value empty;
    const bf_array *results;
    bf_order_lines lines;
} bf_selecting;

static inline bf_selection bf_select_quantiles(const double q[], int m) {
    return (bf_selection){.statistic = BF_STATISTIC_QUANTILE, .count = m, .q = q};
}

static const bf_selection bf_select_median = {.statistic = BF_STATISTIC_MEDIAN, .count = 1};

/* Opens a call for s->selection, whose count and quantiles or positions are set. Errors:
 * BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_select_open(bf_selecting *s, bf_context *context, const bf_array *array,
                         const bf_order_options *options);

/* Checks where the results go, whose dtype says what they are, and what stands for nothing. */
bf_status bf_select_into(bf_selecting *s, const bf_array *results);

/* Refuses integers as results of s->lines if one lies between two elements: BF_E_DTYPE. */
bf_status bf_select_check_whole(const bf_selecting *s);

/* Has the backend select from s->lines, which have so many elements, and writes s->results. */
bf_status bf_select_run(bf_selecting *s, int64_t elements);
/* Selects from segments of contiguous values; their offsets are in host memory. */
bf_status bf_select_offsets(bf_selecting *s, const char *values, const int64_t *offsets,
                            int64_t segments, int64_t longest);

#endif
