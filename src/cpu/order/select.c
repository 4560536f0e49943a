/* Order statistics of lines. */
#include "cpu/order/select.h"

#include <stdatomic.h>

enum { COUNT_BYTES = 512 }; /* elements of one byte from which on all values are counted */

typedef struct selecting {
    const bf_order_lines *lines;
    const bf_selection *selection;
    char *results;
    bf_plan *plans;          /* of each worker */
    _Atomic int64_t refused; /* 16 * line + status of the first without results, or INT64_MAX */
} selecting;

static void find_in_few(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                        bf_plan *plan) {
    const int bytes = bf_place_bytes(dtype);
    const char *sorted = bf_sort_places(finder, dtype, x, n, finder->few);
    bf_plan_make(plan, n, bf_count_nans(dtype, sorted, n));
    for (int i = 0; i < plan->ranks; i++)
        plan->place[i] = bf_place_at(sorted, bytes, plan->rank[i]);
}

bf_status bf_find_in_line(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                          bf_plan *plan) {
    const int bytes = bf_dtype_bytes(dtype);
    if (n > (bytes == 1 ? COUNT_BYTES : BF_FIND_FEW))
        return bytes < 4 ? bf_find_small(finder, dtype, x, n, plan)
                         : bf_find(finder, dtype, x, n, plan);
    if (n > 0)
        find_in_few(finder, dtype, x, n, plan);
    else
        bf_plan_make(plan, 0, 0);
    return BF_OK;
}

static void note_refused(selecting *s, int64_t line, bf_status status) {
    const int64_t refused = 16 * line + (int64_t)status;
    int64_t seen = s->refused;
    while (refused < seen)
        if (atomic_compare_exchange_weak(&s->refused, &seen, refused)) return;
}

static bf_status select_line(void *arg, const bf_finder *finder, int worker, int64_t l) {
    selecting *s = arg;
    const bf_order_lines *lines = s->lines;
    bf_plan *plan = &s->plans[worker];
    const char *x =
        (const char *)lines->values + bf_line_begin(lines, l) * bf_dtype_bytes(lines->dtype);
    bf_status status = bf_find_in_line(finder, lines->dtype, x, bf_line_length(lines, l), plan);
    if (status != BF_OK) return status;
    char *results = s->results + l * bf_dtype_bytes(s->selection->to);
    status = bf_plan_finish(plan, x, results, lines->count);
    if (status != BF_OK) note_refused(s, l, status);
    return BF_OK;
}

static bf_status refuse_line(bf_context *context, const selecting *s) {
    const bf_status status = (bf_status)(s->refused % 16);
    if (s->refused == INT64_MAX) return BF_OK;
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    return bf_fail(context, status, "no value: the %s of no elements (result %lld)",
                   s->selection->statistic == BF_STATISTIC_MEDIAN ? "median" : "quantile",
                   (long long)(s->refused / 16));
}

static bf_status select_with_plans(const bf_finder *finder, selecting *s, const int64_t *by) {
    const bf_order_lines *lines = s->lines;
    const int workers = bf_line_workers(finder->context, lines);
    s->plans = bf_calloc((size_t)workers, sizeof *s->plans);
    bool made = s->plans != NULL;
    for (int w = 0; made && w < workers; w++)
        made = bf_plan_create(&s->plans[w], s->selection, lines->dtype, lines->order, by);
    bf_status status = made ? bf_each_line(finder, lines, workers, select_line, s) : BF_E_MEMORY;
    for (int w = 0; s->plans != NULL && w < workers; w++) bf_plan_destroy(&s->plans[w]);
    bf_free(s->plans);
    if (status == BF_E_MEMORY) bf_fail(finder->context, status, "no memory to select elements");
    return status == BF_OK ? refuse_line(finder->context, s) : status;
}

bf_status bf_cpu_select(bf_context *context, const bf_order_lines *lines,
                        const bf_selection *selection, void *results) {
    selecting s = {
        .lines = lines, .selection = selection, .results = results, .refused = INT64_MAX};
    bf_finder finder;
    int64_t *by = bf_plan_order(context, selection, lines->order);
    if (by == NULL) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    bf_status status = BF_E_MEMORY;
    if (bf_finder_open(&finder, context)) status = select_with_plans(&finder, &s, by);
    bf_environment_leave(environment);
    bf_free(by);
    return status;
}
