/* Reductions: of whole arrays and along axes, of one array or a pair, and of parts. */
#include "python/native/call.h"

/* ---- plans ----------------------------------------------------------------------------------- */

static bf_dtype reduced_dtype(const native_call *c) {
    return c->module->library.bf_reduce_dtype((bf_reduction)c->function->choice,
                                              c->arrays[0].view.dtype, reduce_options(c));
}

/* No array is made of a whole one: the result is a number. */
static bool plan_reduction(native_call *c) {
    if (!is_given(c, AXIS) && (c->given[KEEPDIMS] == NULL || c->given[KEEPDIMS] == Py_False))
        return true;
    const bf_dtype dtype = reduced_dtype(c);
    return dtype != BF_NONE && native_read_axes(c) &&
           native_add_left(c, native_add_result(c, dtype));
}

/* Python converts one of two dtypes to the other. */
static bool plan_correlation(native_call *c) {
    return c->arrays[0].view.dtype == c->arrays[1].view.dtype && plan_reduction(c);
}

static bool have_one_shape(const bf_array *a, const bf_array *b) {
    for (int d = 0; d < a->ndim && a->ndim == b->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return a->ndim == b->ndim;
}

/* Weights of another shape are for Python, and so are reductions that take none. */
static bool plan_weighted(native_call *c) {
    if (c->given[WEIGHTS] == NULL) return plan_reduction(c);
    switch (c->op) {
    case BF_MEAN: c->op = BF_WMEAN; break;
    case BF_VAR: c->op = BF_WVAR; break;
    case BF_STD: c->op = BF_WSTD; break;
    default: return false;
    }
    return c->count == 2 && have_one_shape(&c->arrays[0].view, &c->arrays[1].view) &&
           plan_correlation(c);
}

/* Covariances have a ddof of 1. */
static bool plan_covariance(native_call *c) {
    if (!c->has_options) c->reduce = BF_REDUCE_OPTIONS(.ddof = 1);
    if (c->given[DDOF] == NULL) c->reduce.ddof = 1;
    c->has_options = true;
    return plan_correlation(c);
}

static bool plan_parts(native_call *c) {
    const bf_array *x = &c->arrays[0].view, *places = &c->arrays[1].view;
    const bf_dtype dtype = reduced_dtype(c);
    if (places->ndim != 1 || x->ndim == 0 || dtype == BF_NONE) return false;
    int64_t parts = places->shape[0] - 1;
    if (c->given[COUNT] != NULL && !native_read_whole(c->given[COUNT], 0, BF_SLOTS_MAX, &parts))
        return false;
    if (parts < 0 || parts > BF_SLOTS_MAX) return false;
    bf_array *target = native_add_result(c, dtype);
    native_add_extent(target, parts);
    for (int d = 1; d < x->ndim; d++) native_add_extent(target, x->shape[d]);
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Whether a reduction along axes can fail. */
static bool may_fail(const native_call *c) {
    const bf_dtype dtype = c->target[0].dtype;
    int64_t length;
    if (c->has_options && c->reduce.nan != BF_NAN_PROPAGATE) return true;
    if (!native_find_length(c, &length) || length == 0) return true;
    if (!is_whole(dtype) || c->module->library.bf_reduction_result(c->op) != BF_RESULT_EXACT)
        return false;
    return c->op != BF_SUM || !has_room_for_sums(c, c->arrays[0].view.dtype, length);
}

/* ---- operators of PyTorch -------------------------------------------------------------------- */

/* Sums of unsigned integers, which are int64 there, are Python's. */
static bool has_dtype_of_operators(const native_call *c) {
    const bf_dtype dtype = reduced_dtype(c);
    return dtype != BF_NONE && (dtype != BF_U64 || c->op == BF_MIN || c->op == BF_MAX);
}

static bool plan_operator(native_call *c) {
    const bool is_pair = c->count == 2;
    if (is_pair && c->arrays[0].view.dtype != c->arrays[1].view.dtype) return false;
    return native_read_operator(c) && has_dtype_of_operators(c) && native_read_axes(c) &&
           native_add_left(c, native_add_result(c, reduced_dtype(c))) &&
           native_check_operator(c, may_fail(c));
}

static bool plan_operator_of_parts(native_call *c) {
    return native_read_operator(c) && has_dtype_of_operators(c) && plan_parts(c) &&
           native_check_operator(c, true);
}

/* ---- calls of the library -------------------------------------------------------------------- */

/* Places are wrong, or right, as data are. Copies are waited for. */
static bool are_rows_enqueued(native_call *c) {
    return is_contiguous(&c->arrays[0].view) && is_contiguous(&c->arrays[1].view) &&
           is_enqueued(c, true);
}

static bf_status run_pair(native_call *c) {
    const native_library *l = &c->module->library;
    const bf_array *a = &c->arrays[0].view, *b = &c->arrays[1].view;
    if (c->results == 0)
        return l->bf_reduce_pair(c->lock->context, c->op, a, b, reduce_options(c), &c->value);
    return (is_enqueued(c, may_fail(c)) ? l->bf_reduce_pair_axes_async : l->bf_reduce_pair_axes)(
        c->lock->context, c->op, a, b, c->axes, c->n_axes, reduce_options(c), &c->target[0], NULL);
}

static bf_status run_reduction(native_call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view;
    if (c->count == 2) return run_pair(c);
    if (c->results == 0) return l->bf_reduce(c->lock->context, op, x, reduce_options(c), &c->value);
    return (is_enqueued(c, may_fail(c)) ? l->bf_reduce_axes_async : l->bf_reduce_axes)(
        c->lock->context, op, x, c->axes, c->n_axes, reduce_options(c), &c->target[0], NULL);
}

static bf_status run_segments(native_call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view, *offsets = &c->arrays[1].view, *to = &c->target[0];
    if (!are_rows_enqueued(c))
        return l->bf_reduce_segments(c->lock->context, op, x, offsets, reduce_options(c), to, NULL);
    return l->bf_reduce_segments_async(c->lock->context, op, x, offsets, reduce_options(c), to,
                                       NULL, NULL);
}

static bf_status run_index(native_call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view, *index = &c->arrays[1].view, *to = &c->target[0];
    if (!are_rows_enqueued(c))
        return l->bf_reduce_index(c->lock->context, op, x, index, reduce_options(c), to, NULL);
    return l->bf_reduce_index_async(c->lock->context, op, x, index, reduce_options(c), to, NULL,
                                    NULL);
}

/* ---- the rows -------------------------------------------------------------------------------- */

#define OF_OPERATORS                                                                               \
    {"dtype", OUT_DTYPE}, { "correction", DDOF }

#define OF_REDUCTIONS                                                                              \
    {"nan", NAN_POLICY}, {"ddof", DDOF}, {"correction", DDOF}, {"out_dtype", OUT_DTYPE},           \
        {"check", CHECK}, {                                                                        \
        "context", CONTEXT                                                                         \
    }

const native_row native_reduce_rows[] = {
    {"reduction",
     {{"x", FIRST}, {"axis", AXIS}, {"keepdims", KEEPDIMS}, {"weights", WEIGHTS}, OF_REDUCTIONS},
     plan_weighted,
     run_reduction,
     native_finish_array},
    {"dot",
     {{"a", FIRST},
      {"b", SECOND},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"out_dtype", OUT_DTYPE},
      {"check", CHECK},
      {"context", CONTEXT}},
     plan_reduction,
     run_pair,
     native_finish_array},
    {"covariance",
     {{"x", FIRST},
      {"y", SECOND},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"ddof", DDOF},
      {"out_dtype", OUT_DTYPE},
      {"context", CONTEXT}},
     plan_covariance,
     run_pair,
     native_finish_array},
    {"correlation",
     {{"x", FIRST},
      {"y", SECOND},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"out_dtype", OUT_DTYPE},
      {"context", CONTEXT}},
     plan_correlation,
     run_pair,
     native_finish_array},
    {"segments",
     {{"x", FIRST}, {"offsets", SECOND}, OF_REDUCTIONS},
     plan_parts,
     run_segments,
     native_finish_array},
    {"index",
     {{"m", COUNT}, {"index", SECOND}, {"values", FIRST}, OF_REDUCTIONS},
     plan_parts,
     run_index,
     native_finish_array},
    {"operator",
     {{"x", FIRST}, {"dim", AXIS}, {"keepdim", KEEPDIMS}, OF_OPERATORS},
     plan_operator,
     run_reduction,
     native_finish_array},
    {"operator of pairs",
     {{"a", FIRST}, {"b", SECOND}, {"dim", AXIS}, {"keepdim", KEEPDIMS}, OF_OPERATORS},
     plan_operator,
     run_pair,
     native_finish_array},
    {"operator of segments",
     {{"x", FIRST}, {"offsets", SECOND}, OF_OPERATORS},
     plan_operator_of_parts,
     run_segments,
     native_finish_array},
    {"operator by index",
     {{"m", COUNT}, {"index", SECOND}, {"values", FIRST}, OF_OPERATORS},
     plan_operator_of_parts,
     run_index,
     native_finish_array},
    {.name = NULL},
};
