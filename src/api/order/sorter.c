#include "api/order/sorter.h"

#include "base/memory.h"
#include "base/spill/file.h"
#include "rules/key/rank.h"
#include "rules/number/format.h"

enum { PIECE_LEAST = 1 << 10 /* elements that are sorted at once, at least */ };

static int64_t value_bytes(const bf_sorter *s) { return bf_key_bytes(s->plan.dtype); }

void bf_sorter_open(bf_sorter *s, const bf_order_plan *plan, bf_nan_policy nan, int64_t memory) {
    *s = (bf_sorter){.plan = *plan, .dtype = plan->dtype, .nan = nan, .memory = memory};
    bf_order_runs_open(&s->runs, plan);
}

static void release_held(bf_sorter *s) {
    bf_free(s->held.values);
    bf_free(s->held.beside);
    s->held = (bf_order_part){.n = 0};
    s->room = 0;
}

void bf_sorter_close(bf_sorter *s) {
    release_held(s);
    bf_order_runs_close(&s->runs);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The bytes that the sorter may take. */
static int64_t share_of(const bf_sorter *s) {
    return s->memory > 0 ? s->memory : bf_budget_left(&s->plan.context->budget) / 2;
}

/* The elements that are sorted at once, at most. */
static int64_t most_of(const bf_sorter *s) {
    if (!bf_may_spill(s->plan.context)) return INT64_MAX / 64;
    const int64_t each = bf_order_row_bytes(&s->plan) + bf_order_work_bytes(&s->plan);
    const int64_t most = share_of(s) / each;
    return most > PIECE_LEAST ? most : PIECE_LEAST;
}

static bf_status reserve(bf_sorter *s, int64_t room) {
    char *values = bf_resize(s->held.values, (size_t)(room * value_bytes(s)));
    if (values != NULL) s->held.values = values;
    int64_t *beside = s->plan.beside ? bf_resize(s->held.beside, (size_t)room * 8) : NULL;
    if (beside != NULL) s->held.beside = beside;
    if (values == NULL || (s->plan.beside && beside == NULL))
        return bf_fail(s->plan.context, BF_E_MEMORY, "no memory to sort");
    s->room = room;
    return BF_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static bf_order_lines line_of(const bf_sorter *s) {
    return (bf_order_lines){.dtype = s->plan.dtype,
                            .values = s->held.values,
                            .count = 1,
                            .length = s->held.n,
                            .order = s->plan.order};
}

/* Writes what is beside held elements that came without. */
static void number_elements(bf_sorter *s, int64_t first, int64_t n) {
    const int64_t position = s->added - s->held.n + first;
    for (int64_t i = 0; i < n; i++)
        s->held.beside[first + i] = s->plan.different ? 1 : position + i;
}

/* Turns elements into the keys that they are as different ones. */
static void make_keys(bf_sorter *s) {
    const int bytes = (int)value_bytes(s);
    if (s->plan.dtype == BF_PAIR) return;
    for (char *at = s->held.values, *end = at + s->held.n * bytes; at < end; at += bytes)
        bf_store_bits(at, bytes, bf_group_key(s->plan.dtype, bf_load_bits(at, bytes)));
}

/* Sorts elements by themselves: their positions in the piece become those of all. */
static bf_status sort_alone(bf_sorter *s) {
    const bf_order_lines line = line_of(s);
    const int64_t before = s->added - s->held.n;
    const bf_status status =
        bf_backend_cpu.order->sort(s->plan.context, &line, s->held.values, s->held.beside);
    for (int64_t i = 0; s->plan.beside && i < s->held.n; i++) s->held.beside[i] += before;
    return status;
}

static bf_status find_different(bf_sorter *s) {
    bf_order_part *p = &s->held;
    return bf_backend_cpu.order->unique(s->plan.context, s->plan.dtype, p->values, p->n, p->values,
                                        p->beside, p->n, &p->n);
}

/* Leaves NaNs out, which are last. */
static bf_status leave_nans(bf_sorter *s) {
    const bf_order_plan *plan = &s->plan;
    if (s->nan != BF_NAN_SKIP || !bf_dtype_is_float(plan->dtype)) return BF_OK;
    const uint64_t nan = bf_format_nan(bf_format_of(plan->dtype));
    return bf_backend_cpu.order->search(plan->context, plan->dtype, plan->order, s->held.values,
                                        s->held.n, &nan, 1, false, &s->held.n);
}

static bf_status sort_piece(bf_sorter *s) {
    bf_status status;
    if (s->held.n == 0) return BF_OK;
    if (s->numbered && (s->plan.different || s->plan.dtype == BF_BOOL)) make_keys(s);
    if (s->numbered)
        status = bf_order_sort_part(&s->plan, &s->held);
    else
        status = s->plan.different ? find_different(s) : sort_alone(s);
    return status == BF_OK ? leave_nans(s) : status;
}

/* Writes the held elements as a run. */
static bf_status write_piece(bf_sorter *s) {
    bf_status status = sort_piece(s);
    if (status == BF_OK) status = bf_order_runs_begin(&s->runs);
    if (status == BF_OK) status = bf_order_runs_append(&s->runs, &s->held);
    s->held.n = 0;
    s->numbered = false;
    s->failed |= status != BF_OK;
    return status;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Makes room for some of n elements. Where others can be spilled, all memory is taken at once, so
 * that other sorters know what is left. */
static bf_status make_room(bf_sorter *s, int64_t n) {
    if (s->held.n < s->room) return BF_OK;
    if (s->room == 0) s->most = most_of(s);
    if (s->room == s->most) return write_piece(s);
    const int64_t wanted = n > s->room ? s->room + n : 2 * s->room;
    return reserve(s, bf_may_spill(s->plan.context) || wanted > s->most ? s->most : wanted);
}

static void append(bf_sorter *s, const char *values, const char *beside, int64_t n) {
    bf_order_part *p = &s->held;
    if (beside != NULL && !s->numbered) {
        number_elements(s, 0, p->n);
        s->numbered = true;
    }
    memcpy(p->values + p->n * value_bytes(s), values, (size_t)(n * value_bytes(s)));
    p->n += n;
    s->added += n;
    if (beside != NULL)
        memcpy(p->beside + p->n - n, beside, (size_t)n * 8);
    else if (s->numbered)
        number_elements(s, p->n - n, n);
}

bf_status bf_sorter_take(bf_sorter *s, const void *values, const void *beside, int64_t n) {
    bf_status status = BF_OK;
    for (int64_t at = 0, some; at < n && status == BF_OK; at += some) {
        status = make_room(s, n - at);
        some = n - at < s->room - s->held.n ? n - at : s->room - s->held.n;
        if (status == BF_OK)
            append(s, (const char *)values + at * value_bytes(s),
                   beside == NULL ? NULL : (const char *)beside + 8 * at, some);
    }
    return status;
}

/* ---- giving ---------------------------------------------------------------------------------- */

bf_status bf_sorter_finish(bf_sorter *s) {
    bf_status status = s->runs.n == 0 ? sort_piece(s) : write_piece(s);
    s->ended = true;
    s->part = s->held;
    s->count = s->held.n;
    if (status != BF_OK || s->runs.n == 0) return status;
    release_held(s);
    status = bf_order_runs_start(&s->runs, share_of(s));
    s->part = (bf_order_part){.n = 0};
    s->count = s->runs.count;
    return status;
}

/* Writes the first n elements of the part. */
static void give_some(bf_sorter *s, char *values, char *beside, int64_t n) {
    bf_order_part *p = &s->part;
    const int64_t bytes = value_bytes(s);
    if (values != NULL) memcpy(values, p->values, (size_t)(n * bytes));
    if (beside != NULL) memcpy(beside, p->beside, (size_t)n * 8);
    p->values += n * bytes;
    if (s->plan.beside) p->beside += n;
    p->n -= n;
}

bf_status bf_sorter_give(bf_sorter *s, char *values, char *beside, int64_t most, int64_t *n) {
    for (*n = 0; *n < most;) {
        const bf_status status =
            s->part.n == 0 && s->runs.n > 0 ? bf_order_runs_next(&s->runs, &s->part) : BF_OK;
        if (status != BF_OK || s->part.n == 0) return status;
        const int64_t some = most - *n < s->part.n ? most - *n : s->part.n;
        give_some(s, values == NULL ? NULL : values + *n * value_bytes(s),
                  beside == NULL ? NULL : beside + *n * 8, some);
        *n += some;
    }
    return BF_OK;
}
