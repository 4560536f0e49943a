/* Plans: which elements the results of a line need, and what is made of them. */
#include "cpu/order/select.h"

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

static uint64_t result_bits(const bf_plan *p, int64_t i, const char *line) {
    const bf_selection *s = p->selection;
    const bf_between b = p->between[i];
    if (b.below < 0 && is_nth(p)) return find_nan(p, line, -1 - b.below);
    if (b.below < 0) return bf_format_nan(bf_format_of(s->to));
    const uint64_t *place = p->place + p->at[i];
    const uint64_t below = bf_order_element(p->dtype, BF_ASCENDING, place[0]);
    if (s->statistic == BF_STATISTIC_NTH) return below;
    const uint64_t above =
        b.above > b.below ? bf_order_element(p->dtype, BF_ASCENDING, place[1]) : below;
    if (s->statistic == BF_STATISTIC_MEDIAN) return bf_median_bits(p->dtype, below, above);
    return bf_quantile_bits(p->dtype, s->method, below, above, b.weight);
}

bf_status bf_plan_finish(const bf_plan *plan, const char *line, char *results, int64_t step) {
    const bf_selection *s = plan->selection;
    const int bytes = bf_dtype_bytes(s->to);
    const bool is_empty = plan->status == BF_E_EMPTY && s->empty != NULL;
    if (plan->status != BF_OK && !is_empty) return plan->status;
    for (int i = 0; i < s->count; i++, results += step * bytes) {
        if (is_empty)
            memcpy(results, &s->empty->as, (size_t)bytes);
        else
            bf_store_bits(results, bytes, result_bits(plan, i, line));
    }
    return BF_OK;
}
