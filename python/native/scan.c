/* Scans and rolling windows. */
#include "python/native/call.h"

#include <limits.h>
#include <string.h>

/* Without an axis the elements are one line; those of several dimensions are Python's. */
static bool read_along(native_call *c) {
    const int ndim = c->arrays[0].view.ndim;
    int64_t axis = 0;
    if (is_given(c, ALONG) ? !native_read_whole(c->given[ALONG], -ndim, ndim - 1, &axis)
                           : ndim != 1)
        return false;
    c->axes[0] = (int)(axis < 0 ? axis + ndim : axis);
    c->n_axes = 1;
    return true;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static bool is_true(const native_call *c, native_role r) { return c->given[r] == Py_True; }

static bool is_flag(const native_call *c, native_role r) {
    return c->given[r] == NULL || PyBool_Check(c->given[r]);
}

static bool read_scan(native_call *c) {
    const bf_reduction op = (bf_reduction)c->function->choice;
    if (!is_flag(c, EXCLUSIVE) || !is_flag(c, REVERSE)) return false;
    if ((c->given[OUT_DTYPE] != NULL && op != BF_SUM) ||
        (c->given[NAN_POLICY] != NULL && op == BF_PROD))
        return false;
    c->scan = BF_SCAN_OPTIONS(.fresh = 1);
    c->scan.exclusive = is_true(c, EXCLUSIVE);
    c->scan.reverse = is_true(c, REVERSE);
    if (!c->has_options) return true;
    c->scan.nan = c->reduce.nan;
    c->scan.out_dtype = c->reduce.out_dtype;
    return true;
}

static bool plan_scan(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    if (!read_along(c) || !read_scan(c)) return false;
    const bf_dtype dtype =
        c->module->library.bf_scan_dtype((bf_reduction)c->function->choice, x->dtype, &c->scan);
    if (dtype == BF_NONE) return false;
    bf_array *target = native_add_result(c, dtype);
    for (int d = 0; d < x->ndim; d++) native_add_extent(target, x->shape[d]);
    return true;
}

static bool scan_may_fail(const native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    if (c->scan.nan == BF_NAN_ERROR) return true;
    switch ((bf_reduction)c->function->choice) {
    case BF_SUM:
        return is_whole(c->target[0].dtype) &&
               !has_room_for_sums(c, x->dtype, x->shape[c->axes[0]]);
    case BF_PROD: return true;
    default: return c->scan.exclusive || c->scan.nan == BF_NAN_SKIP; /* there may be none */
    }
}

/* What Python converts first is left to it, and so are lines on a GPU that lie apart. */
static bool plan_scan_operator(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    if (is_float(c, x->dtype) ? (bf_reduction)c->function->choice == BF_PROD
                              : x->dtype != BF_I64 || c->given[OUT_DTYPE] != NULL)
        return false;
    if (c->given[OUT_DTYPE] != NULL && !is_float(c, c->reduce.out_dtype)) return false;
    return x->ndim > 0 && plan_scan(c) && (!is_on_gpu(c) || is_contiguous(x)) &&
           native_check_operator(c, scan_may_fail(c));
}

/* Lines that lie apart are copied, and waited for. */
static bf_status run_scan(native_call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view, *to = &c->target[0];
    const bool fails = scan_may_fail(c);
    if (!is_contiguous(x) || !is_enqueued(c, fails))
        return l->bf_scan(c->lock->context, op, x, c->axes[0], &c->scan, to);
    c->scan.later = fails;
    return l->bf_scan_async(c->lock->context, op, x, c->axes[0], &c->scan, to);
}

/* ---- windows --------------------------------------------------------------------------------- */

enum { COUNTS = -1 }; /* where windows have no reduction */

static bool plan_rolling(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    int64_t op, rules;
    if (!read_along(c) || !native_read_whole(c->given[OP], COUNTS, INT_MAX, &op) ||
        !native_read_whole(c->given[RULES], 1, INT64_MAX, &rules))
        return false;
    c->op = (bf_reduction)op;
    memcpy(&c->rolling, (const void *)(uintptr_t)rules, sizeof c->rolling);
    const bf_dtype dtype =
        op == COUNTS ? BF_F64 : c->module->library.bf_rolling_dtype(c->op, x->dtype, &c->rolling);
    if (dtype == BF_NONE) return false;
    bf_array *target = native_add_result(c, dtype);
    for (int d = 0; d < x->ndim; d++) {
        const int64_t n = x->shape[d], step = d == c->axes[0] ? c->rolling.step : 1;
        native_add_extent(target, n / step + (n % step != 0));
    }
    return true;
}

/* Spans of a key are found by the host. */
static bf_status run_rolling(native_call *c) {
    const native_library *l = &c->module->library;
    bf_context *context = c->lock->context;
    const bf_array *x = &c->arrays[0].view, *to = &c->target[0];
    const bool fails = c->rolling.nan == BF_NAN_ERROR;
    const bool queued = is_contiguous(x) && c->rolling.on == NULL && is_enqueued(c, fails);
    c->rolling.later = queued && fails;
    if ((int)c->op == COUNTS)
        return (queued ? l->bf_rolling_count_async : l->bf_rolling_count)(context, x, c->axes[0],
                                                                          &c->rolling, to);
    return (queued ? l->bf_rolling_async : l->bf_rolling)(context, c->op, x, c->axes[0],
                                                          &c->rolling, to);
}

/* ---- the rows -------------------------------------------------------------------------------- */

const native_row native_scan_rows[] = {
    {"scan",
     {{"x", FIRST},
      {"axis", ALONG},
      {"exclusive", EXCLUSIVE},
      {"reverse", REVERSE},
      {"nan", NAN_POLICY},
      {"out_dtype", OUT_DTYPE},
      {"check", CHECK},
      {"context", CONTEXT}},
     plan_scan,
     run_scan,
     native_finish_array},
    {"rolling",
     {{"x", FIRST},
      {"op", OP},
      {"rules", RULES},
      {"axis", ALONG},
      {"check", CHECK},
      {"context", CONTEXT}},
     plan_rolling,
     run_rolling,
     native_finish_array},
    {"scan operator",
     {{"x", FIRST},
      {"dim", UNNAMED | ALONG},
      {"reverse", UNNAMED | REVERSE},
      {"exclusive", UNNAMED | EXCLUSIVE},
      {"dtype", OUT_DTYPE}},
     plan_scan_operator,
     run_scan,
     native_finish_array},
    {.name = NULL},
};
