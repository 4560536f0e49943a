/* Order: sorting, selecting and searching. The order is that of rules/key/order.h. */
#ifndef BF_SEAM_ORDER_H
#define BF_SEAM_ORDER_H

#include "rules/key/order.h"
#include "rules/order/quantile.h"
#include "rules/order/ranges.h"
#include "seam/backend.h"
#include <bitfold/order.h>

/* Lines of elements, each of which is ordered on its own. */
typedef struct bf_order_lines {
    bf_dtype dtype;
    const void *values; /* contiguous */
    int64_t count;      /* lines, > 0 */
    int64_t length;     /* elements of each, > 0; with offsets: of the longest, maybe 0 */
    /* count + 1, in host memory, checked: line l has elements [offsets[l], offsets[l + 1]). NULL:
     * it has [l * length, (l + 1) * length). */
    const int64_t *offsets;
    bf_order order; /* quantiles have BF_ASCENDING */
    int64_t first;  /* the number of the first line in messages */
    bool queued;    /* to sort, to select: the call may return when the work is enqueued */
} bf_order_lines;

/* A statistic says which elements of each line are selected, and what is made of them
 * (rules/order/quantile.h). */
typedef enum bf_statistic {
    BF_STATISTIC_QUANTILE,
    BF_STATISTIC_MEDIAN,
    BF_STATISTIC_NTH
} bf_statistic;
typedef struct bf_selection {
    bf_statistic statistic;
    int count;                /* results of each line, > 0; a median is one */
    const double *q;          /* for quantiles: 0 to 1 */
    const int64_t *positions; /* for nth elements */
    bf_quantile_method method;
    bf_nan_policy nan;
    const bf_value *empty; /* its dtype is `to`; or NULL */
    bf_dtype to;           /* the results' */
    int scale;             /* for elements that are integers */
    bool tagged;           /* they are pairs, and those that are elements have their own dtype */
} bf_selection;

static inline int bf_selection_bytes(const bf_selection *s) {
    return bf_quantile_bytes(s->to, s->tagged);
}

/* Writes a result. */
static inline void bf_selection_store(const bf_selection *s, void *to, bf_quantile_value value) {
    bf_quantile_store(to, s->to, s->scale, s->tagged, value);
}

/* What selection->empty stands for. */
static inline bf_quantile_value bf_selection_empty(const bf_selection *s) {
    return bf_quantile_value_make(s->to, bf_load_bits(&s->empty->as, bf_dtype_bytes(s->to)));
}

/* Errors of all: BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED. Memory is such as the backend reaches,
 * of any alignment, unless a comment says more. After a failure outputs hold anything. */
typedef struct bf_order_backend {
    /* Writes the elements of each line in order to `sorted` (maybe lines->values; NULL: none), and
     * the positions in the line that they came from to `index` (i64; NULL: none), as lines->values
     * lies. Elements of no line are left alone. The dtype may be BF_PAIR. */
    bf_status (*sort)(bf_context *context, const bf_order_lines *lines, void *sorted, void *index);
    /* Sorts one line, keys->values, in place, and with it the elements of payloads: of 1, 2, 4, 8
     * or 16 bytes each. */
    bf_status (*sort_rows)(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[]);
    /* Writes the rank of each element in its line, from 1, as lines->values lies: f64 if they are
     * averaged, else i64. Lines have no offsets, and no pairs. NULL: the CPU does it. */
    bf_status (*rank)(bf_context *context, const bf_order_lines *lines, bf_rank_method method,
                      void *ranks);
    /* Writes the first k > 0 elements of each line in order, and their positions (i64): line l's
     * are elements l * k and on. Either may be NULL. Lines have at least k elements, and no
     * offsets. */
    bf_status (*top)(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                     void *index);
    /* Writes results as bf_selection_store does: result i of line l is element i * lines->count +
     * l. Errors: BF_E_NAN, BF_E_EMPTY, with messages; if lines are queued, the selection has
     * neither.
     */
    bf_status (*select)(bf_context *context, const bf_order_lines *lines,
                        const bf_selection *selection, void *results);
    /* Adds n > 0 elements to a tally, in host memory. Errors also: BF_E_STATE, with a message
     * (there are more to collect than the pass before has counted). NULL: the CPU does it. */
    bf_status (*tally)(bf_context *context, const bf_ranges *ranges, const void *values, int64_t n,
                       bf_tally *tally);
    /* Writes for each of m wanted elements its place (i64) in n sorted ones. */
    bf_status (*search)(bf_context *context, bf_dtype dtype, bf_order order, const void *sorted,
                        int64_t n, const void *wanted, int64_t m, bool right, void *places);
    /* Sets *sorted to whether n > 0 elements are in order. */
    bf_status (*is_sorted)(bf_context *context, bf_dtype dtype, bf_order order, const void *values,
                           int64_t n, bool *sorted);
    /* Sets *different to the number of different keys (bf_group_key, rules/key/rank.h) among n > 0
     * elements, and writes the first `room` of them in order, and how often each occurs (i64).
     * Either may be NULL. On the CPU, keys may be values. */
    bf_status (*unique)(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                        void *keys, void *counts, int64_t room, int64_t *different);
    /* Copies element index[i] (i64) of `bytes` each to place i, for i < n: indices are valid. */
    bf_status (*take)(bf_context *context, int bytes, const void *from, const void *index,
                      int64_t n, void *to);
} bf_order_backend;

#endif
