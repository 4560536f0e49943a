/* Order statistics of lines: which elements the results of a line need (its plan), and what is
 * made of them. */
#include "cpu/order/select/select.h"
#include "cpu/order/sorting.h"

#include <stdatomic.h>

enum { COUNT_BYTES = 512 }; /* elements of one byte from which on all values are counted */

/* ---- plans ----------------------------------------------------------------------------------- */

static uint64_t result_rank(const bf_selection *s, int i) {
    uint64_t bits;
    if (s->statistic == BF_STATISTIC_NTH) return (uint64_t)s->positions[i];
    memcpy(&bits, &s->q[i], sizeof bits);
    return bf_order_place(BF_F64, BF_ASCENDING, bits);
}

int64_t *bf_plan_order(bf_context *context, const bf_selection *selection, bf_order order) {
    const size_t bytes = (size_t)selection->count * 8;
    uint64_t *ranks = bf_alloc(bytes);
    int64_t *by = bf_alloc(bytes);
    bf_status status = ranks == NULL || by == NULL ? BF_E_MEMORY : BF_OK;
    for (int i = 0; status == BF_OK && i < selection->count; i++) {
        if (selection->count > 1) ranks[i] = result_rank(selection, i);
        if (order != BF_ASCENDING) ranks[i] = ~ranks[i];
        by[i] = i;
    }
    if (status == BF_OK && selection->count > 1)
        status = bf_sort_ranks(context, 8, 8, selection->count, (char *)ranks, (char *)by);
    else if (status != BF_OK)
        bf_fail(context, status, "no memory for %d quantiles", selection->count);
    bf_free(ranks);
    if (status == BF_OK) return by;
    bf_free(by);
    return NULL;
}

bool bf_plan_create(bf_plan *plan, const bf_selection *selection, bf_dtype dtype, bf_order order,
                    const int64_t *by) {
    const size_t count = (size_t)selection->count;
    *plan = (bf_plan){.selection = selection, .dtype = dtype, .order = order, .by = by, .n = -1};
    plan->between = bf_alloc(count * sizeof *plan->between);
    plan->at = bf_alloc(count * sizeof *plan->at);
    plan->rank = bf_alloc(2 * count * sizeof *plan->rank);
    plan->place = bf_alloc(2 * count * sizeof *plan->place);
    return plan->between != NULL && plan->at != NULL && plan->rank != NULL && plan->place != NULL;
}

void bf_plan_destroy(bf_plan *plan) {
    bf_free(plan->between);
    bf_free(plan->at);
    bf_free(plan->rank);
    bf_free(plan->place);
}

/* Element `position` of a line in the plan's order. */
static bf_between nth_between(const bf_plan *p, int64_t position) {
    const int64_t numbers = p->n - p->nans;
    if (p->order == BF_DESCENDING) position -= p->nans; /* NaNs are first */
    if (position < 0) return (bf_between){-1 - (position + p->nans), 0, 0};
    if (position >= numbers) return (bf_between){-1 - (position - numbers), 0, 0};
    return bf_between_make(p->order == BF_ASCENDING ? position : numbers - 1 - position, 0);
}

static bf_between result_between(const bf_plan *p, int64_t i) {
    const bf_selection *s = p->selection;
    if (s->statistic == BF_STATISTIC_NTH) return nth_between(p, s->positions[i]);
    if (s->statistic == BF_STATISTIC_MEDIAN) return bf_median_between(p->n - p->nans);
    return bf_quantile_between(s->method, p->n - p->nans, s->q[i]);
}

/* Results come by rank, so a rank is the last one so far, the one before it, or new. */
static int add_rank(bf_plan *p, int64_t rank) {
    if (p->ranks > 0 && p->rank[p->ranks - 1] == rank) return p->ranks - 1;
    if (p->ranks > 1 && p->rank[p->ranks - 2] == rank) return p->ranks - 2;
    p->rank[p->ranks] = rank;
    return p->ranks++;
}

static bool is_nth(const bf_plan *p) { return p->selection->statistic == BF_STATISTIC_NTH; }

/* What NaNs make of the results. */
static bf_status judge_line(const bf_plan *p) {
    if (p->nans > 0 && p->selection->nan == BF_NAN_ERROR) return BF_E_NAN;
    const bool skipped = p->selection->nan == BF_NAN_SKIP && !is_nth(p);
    return p->n == (skipped ? p->nans : 0) ? BF_E_EMPTY : BF_OK;
}

void bf_plan_make(bf_plan *plan, int64_t n, int64_t nans) {
    if (plan->n == n && plan->nans == nans) return;
    plan->n = n;
    plan->nans = nans;
    plan->ranks = 0;
    plan->status = judge_line(plan);
    const bool is_nan = nans > 0 && plan->selection->nan == BF_NAN_PROPAGATE && !is_nth(plan);
    for (int k = 0; plan->status == BF_OK && k < plan->selection->count; k++) {
        const int64_t i = plan->by[k];
        const bf_between b = is_nan ? (bf_between){-1, -1, 0} : result_between(plan, i);
        plan->between[i] = b;
        if (b.below < 0) continue;
        plan->at[i] = add_rank(plan, b.below);
        if (b.above > b.below) (void)add_rank(plan, b.above);
    }
}

/* The bits of NaN number `number` of a line. */
static uint64_t find_nan(const bf_plan *p, const char *line, int64_t number) {
    const int bytes = bf_dtype_bytes(p->dtype);
    const bf_format f = bf_format_of(p->dtype);
    for (;; line += bytes) {
        uint64_t element = bf_load_bits(line, bytes);
        if (bf_is_nan(f, element) && number-- == 0) return element;
    }
}

static bf_quantile_value make_result(const bf_plan *p, int64_t i, const char *line) {
    const bf_dtype to = p->selection->to;
    const bf_between b = p->between[i];
    if (b.below < 0 && is_nth(p))
        return bf_quantile_value_make(to, find_nan(p, line, -1 - b.below));
    if (b.below < 0) return bf_quantile_value_make(to, bf_format_nan(bf_format_of(to)));
    const uint64_t *place = p->place + p->at[i];
    const uint64_t below = bf_order_element(p->dtype, BF_ASCENDING, place[0]);
    const uint64_t above =
        b.above > b.below ? bf_order_element(p->dtype, BF_ASCENDING, place[1]) : below;
    return bf_quantile_make(p->dtype, to, p->selection->scale, below, above, b.weight);
}

bf_status bf_plan_finish(const bf_plan *plan, const char *line, char *results, int64_t step) {
    const bf_selection *s = plan->selection;
    const bool is_empty = plan->status == BF_E_EMPTY && s->empty != NULL;
    if (plan->status != BF_OK && !is_empty) return plan->status;
    for (int i = 0; i < s->count; i++, results += step * bf_selection_bytes(s))
        bf_selection_store(s, results,
                           is_empty ? bf_selection_empty(s) : make_result(plan, i, line));
    return BF_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct selecting {
    const bf_order_lines *lines;
    const bf_selection *selection;
    char *results;
    bf_plan *plans;          /* one for each worker */
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
    if (n > (bytes == 1 ? COUNT_BYTES : BF_FIND_FEW)) {
        bf_status status = BF_E_MEMORY;
        if (bytes < 4) status = bf_find_small(finder, dtype, x, n, plan);
        return status == BF_E_MEMORY ? bf_find(finder, dtype, x, n, plan) : status;
    }
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
    char *results = s->results + l * bf_selection_bytes(s->selection);
    status = bf_plan_finish(plan, x, results, lines->count);
    if (status != BF_OK) note_refused(s, l, status);
    return BF_OK;
}

bf_status bf_select_refuse_empty(bf_context *context, const bf_selection *selection, int64_t line) {
    return bf_fail(context, BF_E_EMPTY, "no value: the %s of no elements (result %lld)",
                   selection->statistic == BF_STATISTIC_MEDIAN ? "median" : "quantile",
                   (long long)line);
}

static bf_status refuse_line(bf_context *context, const selecting *s) {
    const bf_status status = (bf_status)(s->refused % 16);
    if (s->refused == INT64_MAX) return BF_OK;
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    return bf_select_refuse_empty(context, s->selection, s->lines->first + s->refused / 16);
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
    if (lines->dtype == BF_PAIR) return bf_order_select_pairs(context, lines, selection, results);
    int64_t *by = bf_plan_order(context, selection, lines->order);
    if (by == NULL) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    bf_status status = BF_E_MEMORY;
    if (bf_finder_open(&finder, context)) status = select_with_plans(&finder, &s, by);
    bf_environment_leave(environment);
    bf_free(by);
    return status;
}
