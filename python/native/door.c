/* The door before the functions of the module: a table whose rows say what a function is given,
 * what it makes, and what it calls. A call goes through the same steps whatever its row: its
 * arguments are told apart, its arrays read, its results planned and made, the library is called,
 * and the results are finished. A step that meets what is not for it ends the door's part, and
 * Python takes the call. */
#include "python/native/native.h"

#include <limits.h>
#include <string.h>

/* What a parameter is for. */
typedef enum role {
    FIRST,
    SECOND,
    COUNT,
    Q,
    OP,    /* a number */
    RULES, /* where bf_rolling_options are */
    AXIS,  /* this one and those behind it may be left out */
    KEEPDIMS,
    BINS,
    RANGE,
    NAN_POLICY, /* this one and those behind it are named */
    DDOF,
    OUT_DTYPE,
    DESCENDING,
    ALONG, /* the axis of a scan */
    EXCLUSIVE,
    REVERSE,
    CHECK,
    WEIGHTS,
    ROLES
} role;

enum { PARAMETERS = 9, QUANTILES = 16, RESULTS = 2, AT_ONCE = 1024 };

/* A call on its way. */
typedef struct call {
    native_module *module;
    const native_function *function;
    native_lock *lock;
    PyObject *given[ROLES]; /* NULL: not given */
    bf_reduction op;        /* the function, or it with weights */
    native_array arrays[2]; /* FIRST, and SECOND or WEIGHTS */
    int count;              /* how many of them there are */
    int axes[BF_MAX_DIMS];
    int n_axes;
    bool keepdims;
    double q[QUANTILES];
    int n_q;
    bool later; /* what may fail for its data is enqueued, and checked later */
    bool has_options;
    bf_reduce_options reduce; /* if it has */
    bf_order_options order;
    bf_scan_options scan;
    bf_rolling_options rolling;
    bool is_number;           /* a result of no dimensions is a number, also of tensors */
    int results;              /* how many arrays are made */
    bf_array target[RESULTS]; /* where the library writes them */
    PyObject *made[RESULTS];
    bf_value value;
    int64_t n; /* how many elements of the results count */
    bf_histogram *histogram;
} call;

typedef struct parameter {
    const char *name;
    role role;
} parameter;

typedef struct native_row {
    const char *name;
    parameter parameters[PARAMETERS];
    bool (*plan)(call *c);
    bf_status (*run)(call *c);
    PyObject *(*finish)(call *c);
} row;

/* ---- arguments ------------------------------------------------------------------------------- */

static const parameter *parameter_of(const parameter *all, PyObject *name) {
    for (const parameter *p = all; p < all + PARAMETERS && p->name; p++)
        if (PyUnicode_CompareWithASCIIString(name, p->name) == 0) return p;
    return NULL;
}

static bool is_complete(const call *c) {
    const parameter *p = c->function->row->parameters;
    for (int i = 0; i < PARAMETERS && p[i].name != NULL; i++)
        if (c->given[p[i].role] == NULL && p[i].role < AXIS) return false;
    return true;
}

static bool tell_apart(call *c, PyObject *const *given, Py_ssize_t count, PyObject *names) {
    const parameter *all = c->function->row->parameters;
    if (count > PARAMETERS) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (all[i].name == NULL || all[i].role >= NAN_POLICY) return false;
        c->given[all[i].role] = given[i];
    }
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        const parameter *p = parameter_of(all, PyTuple_GetItem(names, i));
        if (p == NULL || c->given[p->role] != NULL) return false;
        c->given[p->role] = given[count + i];
    }
    return is_complete(c);
}

static bool is_given(const call *c, role r) {
    return c->given[r] != NULL && c->given[r] != Py_None;
}

/* Sets *found to a whole number. */
static bool read_whole(PyObject *x, long long least, long long most, int64_t *found) {
    if (!PyLong_Check(x)) return false;
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(x, &overflow);
    *found = number;
    return overflow == 0 && number >= least && number <= most;
}

static PyObject *item_of(PyObject *list, Py_ssize_t i) {
    return PyTuple_Check(list) ? PyTuple_GetItem(list, i) : PyList_GetItem(list, i);
}

static Py_ssize_t length_of(PyObject *x) {
    return PyTuple_CheckExact(x) ? PyTuple_Size(x) : PyList_CheckExact(x) ? PyList_Size(x) : -1;
}

/* Adds an axis, which is not there yet. */
static bool add_axis(call *c, PyObject *x) {
    const int ndim = c->arrays[0].view.ndim;
    int64_t axis;
    if (!read_whole(x, -ndim, ndim - 1, &axis) || c->n_axes == BF_MAX_DIMS) return false;
    if (axis < 0) axis += ndim;
    for (int i = 0; i < c->n_axes; i++)
        if (c->axes[i] == axis) return false;
    c->axes[c->n_axes++] = (int)axis;
    return true;
}

static bool read_axes(call *c) {
    PyObject *axis = c->given[AXIS], *keep = c->given[KEEPDIMS];
    c->n_axes = 0;
    c->keepdims = keep == Py_True;
    if (keep != NULL && !PyBool_Check(keep)) return false;
    if (!is_given(c, AXIS)) {
        while (c->n_axes < c->arrays[0].view.ndim) c->axes[c->n_axes] = c->n_axes, c->n_axes++;
        return true;
    }
    const Py_ssize_t length = length_of(axis);
    if (length < 0) return add_axis(c, axis);
    for (Py_ssize_t i = 0; i < length; i++)
        if (!add_axis(c, item_of(axis, i))) return false;
    return true;
}

static bool add_q(call *c, PyObject *x) {
    if (!PyFloat_Check(x) && !PyLong_Check(x)) return false;
    c->q[c->n_q] = PyFloat_AsDouble(x) / c->function->choice;
    return c->q[c->n_q++] != -1 || !PyErr_Occurred();
}

static bool read_q(call *c) {
    PyObject *q = c->given[Q];
    const Py_ssize_t length = length_of(q);
    c->n_q = 0;
    if (length < 0) return add_q(c, q);
    if (length > QUANTILES) return false;
    for (Py_ssize_t i = 0; i < length; i++)
        if (!add_q(c, item_of(q, i))) return false;
    return true;
}

/* Sets *found to the number that Python has for a name, or leaves it without one. */
static bool read_name(PyObject *numbers, PyObject *name, int64_t *found) {
    if (name == NULL) return true;
    PyObject *number = PyDict_GetItemWithError(numbers, name);
    PyErr_Clear(); /* Python says what is wrong */
    return number != NULL && read_whole(number, INT_MIN, INT_MAX, found);
}

/* When a call on a GPU is checked that may fail for its data: now, for which it waits, or later. */
static bool read_check(const call *c, bool *later) {
    PyObject *check = c->given[CHECK];
    *later = check != NULL && PyUnicode_Check(check) &&
             PyUnicode_CompareWithASCIIString(check, "later") == 0;
    return check == NULL || *later ||
           (PyUnicode_Check(check) && PyUnicode_CompareWithASCIIString(check, "now") == 0);
}

static bool read_options(call *c) {
    PyObject *ddof = c->given[DDOF], *reverse = c->given[DESCENDING];
    int64_t nan = BF_NAN_PROPAGATE, dtype = BF_NONE, freedom = 0;
    c->has_options =
        c->given[NAN_POLICY] || ddof || c->given[OUT_DTYPE] || reverse || c->given[CHECK];
    if (!read_check(c, &c->later)) return false;
    if (!c->has_options) return true;
    if (!read_name(c->module->nan_policies, c->given[NAN_POLICY], &nan)) return false;
    if (!read_name(c->module->dtypes, c->given[OUT_DTYPE], &dtype)) return false;
    if (ddof != NULL && !read_whole(ddof, INT_MIN, INT_MAX, &freedom)) return false;
    c->reduce = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)nan, .out_dtype = (bf_dtype)dtype);
    c->reduce.ddof = (int)freedom;
    c->order = BF_ORDER_OPTIONS(.descending = reverse == Py_True, .nan = c->reduce.nan);
    return reverse == NULL || PyBool_Check(reverse);
}

static const bf_reduce_options *reduce_options(const call *c) {
    return c->has_options ? &c->reduce : NULL;
}

static const bf_order_options *order_options(const call *c) {
    return c->has_options ? &c->order : NULL;
}

/* ---- plans of results ------------------------------------------------------------------------ */

static bf_array *add_result(call *c, bf_dtype dtype) {
    bf_array *target = &c->target[c->results++];
    target->dtype = dtype;
    target->ndim = 0;
    return target;
}

static bool add_extent(bf_array *target, int64_t extent) {
    if (target->ndim == BF_MAX_DIMS) return false;
    target->shape[target->ndim++] = extent;
    return true;
}

static bool is_reduced(const call *c, int d) {
    for (int i = 0; i < c->n_axes; i++)
        if (c->axes[i] == d) return true;
    return false;
}

/* Adds the extents that are left of those of the first array. */
static bool add_left(const call *c, bf_array *target) {
    const bf_array *x = &c->arrays[0].view;
    for (int d = 0; d < x->ndim; d++) {
        const bool reduced = is_reduced(c, d);
        if ((!reduced || c->keepdims) && !add_extent(target, reduced ? 1 : x->shape[d]))
            return false;
    }
    return true;
}

static int64_t elements_of(const bf_array *x) {
    int64_t n = 1;
    for (int d = 0; d < x->ndim; d++)
        if (__builtin_mul_overflow(n, x->shape[d], &n)) return INT64_MAX;
    return n;
}

static bool is_whole(bf_dtype dtype) { return dtype == BF_I64 || dtype == BF_U64; }

static bf_dtype reduced_dtype(const call *c) {
    return c->module->library.bf_reduce_dtype((bf_reduction)c->function->choice,
                                              c->arrays[0].view.dtype, reduce_options(c));
}

/* No array is made of a whole one: the result is a number. */
static bool plan_reduction(call *c) {
    if (!is_given(c, AXIS) && (c->given[KEEPDIMS] == NULL || c->given[KEEPDIMS] == Py_False))
        return true;
    const bf_dtype dtype = reduced_dtype(c);
    return dtype != BF_NONE && read_axes(c) && add_left(c, add_result(c, dtype));
}

/* Python converts one of two dtypes to the other. */
static bool plan_correlation(call *c) {
    return c->arrays[0].view.dtype == c->arrays[1].view.dtype && plan_reduction(c);
}

static bool have_one_shape(const bf_array *a, const bf_array *b) {
    for (int d = 0; d < a->ndim && a->ndim == b->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return a->ndim == b->ndim;
}

/* Weights of another shape are for Python, and so are reductions that take none. */
static bool plan_weighted(call *c) {
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
static bool plan_covariance(call *c) {
    if (!c->has_options) c->reduce = BF_REDUCE_OPTIONS(.ddof = 1);
    if (c->given[DDOF] == NULL) c->reduce.ddof = 1;
    c->has_options = true;
    return plan_correlation(c);
}

static bool plan_parts(call *c) {
    const bf_array *x = &c->arrays[0].view, *places = &c->arrays[1].view;
    const bf_dtype dtype = reduced_dtype(c);
    if (places->ndim != 1 || x->ndim == 0 || dtype == BF_NONE) return false;
    int64_t parts = places->shape[0] - 1;
    if (c->given[COUNT] != NULL && !read_whole(c->given[COUNT], 0, BF_SLOTS_MAX, &parts))
        return false;
    if (parts < 0 || parts > BF_SLOTS_MAX) return false;
    bf_array *target = add_result(c, dtype);
    add_extent(target, parts);
    for (int d = 1; d < x->ndim; d++) add_extent(target, x->shape[d]);
    return true;
}

enum { VALUES, POSITIONS }; /* what sorting gives */

static bool plan_sort(call *c) {
    const bf_array *x = &c->arrays[0].view;
    int64_t axis = -1;
    if (c->given[AXIS] != NULL && !read_whole(c->given[AXIS], -x->ndim, x->ndim - 1, &axis))
        return false;
    if (x->ndim == 0) return false;
    c->axes[0] = (int)axis;
    bf_array *target = add_result(c, c->function->choice == VALUES ? x->dtype : BF_I64);
    for (int d = 0; d < x->ndim; d++) add_extent(target, x->shape[d]);
    return true;
}

static bool is_true(const call *c, role r) { return c->given[r] == Py_True; }

static bool is_flag(const call *c, role r) {
    return c->given[r] == NULL || PyBool_Check(c->given[r]);
}

static bool read_scan(call *c) {
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

/* Without an axis the elements are one line; those of several dimensions are Python's. */
static bool read_along(call *c) {
    const int ndim = c->arrays[0].view.ndim;
    int64_t axis = 0;
    if (is_given(c, ALONG) ? !read_whole(c->given[ALONG], -ndim, ndim - 1, &axis) : ndim != 1)
        return false;
    c->axes[0] = (int)(axis < 0 ? axis + ndim : axis);
    c->n_axes = 1;
    return true;
}

static bool plan_scan(call *c) {
    const bf_array *x = &c->arrays[0].view;
    if (!read_along(c) || !read_scan(c)) return false;
    const bf_dtype dtype =
        c->module->library.bf_scan_dtype((bf_reduction)c->function->choice, x->dtype, &c->scan);
    if (dtype == BF_NONE) return false;
    bf_array *target = add_result(c, dtype);
    for (int d = 0; d < x->ndim; d++) add_extent(target, x->shape[d]);
    return true;
}

enum { COUNTS = -1 }; /* where windows have no reduction */

static bool plan_rolling(call *c) {
    const bf_array *x = &c->arrays[0].view;
    int64_t op, rules;
    if (!read_along(c) || !read_whole(c->given[OP], COUNTS, INT_MAX, &op) ||
        !read_whole(c->given[RULES], 1, INT64_MAX, &rules))
        return false;
    c->op = (bf_reduction)op;
    memcpy(&c->rolling, (const void *)(uintptr_t)rules, sizeof c->rolling);
    const bf_dtype dtype =
        op == COUNTS ? BF_F64 : c->module->library.bf_rolling_dtype(c->op, x->dtype, &c->rolling);
    if (dtype == BF_NONE) return false;
    bf_array *target = add_result(c, dtype);
    for (int d = 0; d < x->ndim; d++) {
        const int64_t n = x->shape[d], step = d == c->axes[0] ? c->rolling.step : 1;
        add_extent(target, n / step + (n % step != 0));
    }
    return true;
}

enum { DIFFERENT, DIFFERENT_NAMED, DIFFERENT_VALUES }; /* with their counts, or not */

static bool plan_unique(call *c) {
    const int64_t most = elements_of(&c->arrays[0].view);
    add_extent(add_result(c, c->arrays[0].view.dtype), most);
    if (c->function->choice != DIFFERENT_VALUES) add_extent(add_result(c, BF_I64), most);
    return true;
}

/* Sets *length to the number of elements of each result. false: it is beyond all memory. */
static bool find_length(const call *c, int64_t *length) {
    *length = 1;
    for (int i = 0; i < c->n_axes; i++)
        if (__builtin_mul_overflow(*length, c->arrays[0].view.shape[c->axes[i]], length))
            return false;
    return true;
}

/* Quantiles that are elements have their dtype. */
static bool plan_quantiles(call *c) {
    const bf_array *x = &c->arrays[0].view;
    const native_library *library = &c->module->library;
    const bool is_median = c->given[Q] == NULL;
    int64_t length;
    c->n_q = 0;
    if (!read_axes(c) || (!is_median && !read_q(c)) || !find_length(c, &length)) return false;
    const bool whole = length > 0 && library->bf_quantile_is_whole(BF_QUANTILE_LINEAR, length,
                                                                   is_median ? NULL : c->q, c->n_q);
    const bf_dtype dtype = whole       ? x->dtype
                           : is_median ? library->bf_median_dtype(x->dtype)
                                       : library->bf_quantile_dtype(x->dtype, BF_QUANTILE_LINEAR);
    if (dtype == BF_NONE) return false;
    c->is_number = !is_given(c, AXIS);
    bf_array *target = add_result(c, dtype);
    if (!is_median && length_of(c->given[Q]) >= 0) add_extent(target, c->n_q);
    return add_left(c, target);
}

static bool read_range(call *c) {
    PyObject *range = c->given[RANGE];
    if (length_of(range) != 2) return false;
    for (int i = 0; i < 2; i++) {
        if (!PyFloat_CheckExact(item_of(range, i)))
            return false; /* integers are bounds of their own */
        c->q[i] = PyFloat_AsDouble(item_of(range, i));
    }
    return true;
}

/* The arrays are made when the bins are known. */
static bool plan_histogram(call *c) {
    c->n = 10;
    if (c->given[BINS] != NULL && !read_whole(c->given[BINS], 1, BF_BINS_MAX, &c->n)) return false;
    return c->arrays[0].kind != NATIVE_PLAIN_BUFFER && (!is_given(c, RANGE) || read_range(c));
}

static bool make_results(call *c) {
    for (int i = 0; i < c->results; i++) {
        c->made[i] = native_new_array(c->module, &c->arrays[0], &c->target[i]);
        if (c->made[i] == NULL) return false;
    }
    return true;
}

/* ---- calls of the library -------------------------------------------------------------------- */

static bool is_on_gpu(const call *c) { return c->arrays[0].gpu != NATIVE_HOST; }

/* Whether 64 bits hold the sum of so many integers, whatever they are. */
static bool has_room_for_sums(const call *c, bf_dtype dtype, int64_t length) {
    const size_t bits = 8 * c->module->library.bf_dtype_size(dtype);
    return bits <= 32 && length < INT64_C(1) << (63 - bits);
}

/* Whether a reduction along axes can fail. */
static bool may_fail(const call *c) {
    const bf_dtype dtype = c->target[0].dtype;
    int64_t length;
    if (c->has_options && c->reduce.nan != BF_NAN_PROPAGATE) return true;
    if (!find_length(c, &length) || length == 0) return true;
    if (!is_whole(dtype) || c->module->library.bf_reduction_result(c->op) != BF_RESULT_EXACT)
        return false;
    return c->op != BF_SUM || !has_room_for_sums(c, c->arrays[0].view.dtype, length);
}

static bool is_contiguous(const bf_array *x) {
    int64_t step = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (x->shape[d] != 1 && x->strides[d] != step) return false;
        step *= x->shape[d];
    }
    return true;
}

/* Whether a call returns before its work is done: what cannot fail does, and what is checked later,
 * which the context is told. */
static bool is_enqueued(call *c, bool may_fail) {
    if (!is_on_gpu(c) || (may_fail && !c->later)) return false;
    c->reduce.later = may_fail;
    c->lock->later |= may_fail;
    return true;
}

/* Places are wrong, or right, as data are. Copies are waited for. */
static bool are_rows_enqueued(call *c) {
    return is_contiguous(&c->arrays[0].view) && is_contiguous(&c->arrays[1].view) &&
           is_enqueued(c, true);
}

static bf_status run_pair(call *c) {
    const native_library *l = &c->module->library;
    const bf_array *a = &c->arrays[0].view, *b = &c->arrays[1].view;
    if (c->results == 0)
        return l->bf_reduce_pair(c->lock->context, c->op, a, b, reduce_options(c), &c->value);
    return (is_enqueued(c, may_fail(c)) ? l->bf_reduce_pair_axes_async : l->bf_reduce_pair_axes)(
        c->lock->context, c->op, a, b, c->axes, c->n_axes, reduce_options(c), &c->target[0], NULL);
}

static bf_status run_reduction(call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view;
    if (c->count == 2) return run_pair(c);
    if (c->results == 0) return l->bf_reduce(c->lock->context, op, x, reduce_options(c), &c->value);
    return (is_enqueued(c, may_fail(c)) ? l->bf_reduce_axes_async : l->bf_reduce_axes)(
        c->lock->context, op, x, c->axes, c->n_axes, reduce_options(c), &c->target[0], NULL);
}

static bf_status run_segments(call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view, *offsets = &c->arrays[1].view, *to = &c->target[0];
    if (!are_rows_enqueued(c))
        return l->bf_reduce_segments(c->lock->context, op, x, offsets, reduce_options(c), to, NULL);
    return l->bf_reduce_segments_async(c->lock->context, op, x, offsets, reduce_options(c), to,
                                       NULL, NULL);
}

static bf_status run_index(call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view, *index = &c->arrays[1].view, *to = &c->target[0];
    if (!are_rows_enqueued(c))
        return l->bf_reduce_index(c->lock->context, op, x, index, reduce_options(c), to, NULL);
    return l->bf_reduce_index_async(c->lock->context, op, x, index, reduce_options(c), to, NULL,
                                    NULL);
}

/* Lines that lie apart are copied, and NaNs that are refused are looked for: both wait. */
static bool sort_waits(const call *c) {
    const bf_array *x = &c->arrays[0].view;
    const bool is_last = c->axes[0] == -1 || c->axes[0] == x->ndim - 1;
    return !is_last || !is_contiguous(x) || (c->has_options && c->order.nan == BF_NAN_ERROR);
}

static bf_status run_sort(call *c) {
    const native_library *l = &c->module->library;
    const bool positions = c->function->choice == POSITIONS;
    return (is_enqueued(c, sort_waits(c)) ? l->bf_sort_async : l->bf_sort)(
        c->lock->context, &c->arrays[0].view, c->axes[0], order_options(c),
        positions ? NULL : &c->target[0], positions ? &c->target[0] : NULL);
}

static bool scan_may_fail(const call *c) {
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

/* Lines that lie apart are copied, and waited for. */
static bf_status run_scan(call *c) {
    const native_library *l = &c->module->library;
    const bf_reduction op = (bf_reduction)c->function->choice;
    const bf_array *x = &c->arrays[0].view, *to = &c->target[0];
    const bool fails = scan_may_fail(c);
    if (!is_contiguous(x) || !is_enqueued(c, fails))
        return l->bf_scan(c->lock->context, op, x, c->axes[0], &c->scan, to);
    c->scan.later = fails;
    return l->bf_scan_async(c->lock->context, op, x, c->axes[0], &c->scan, to);
}

/* Spans of a key are found by the host. */
static bf_status run_rolling(call *c) {
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

static bf_status run_unique(call *c) {
    return c->module->library.bf_unique(c->lock->context, &c->arrays[0].view, order_options(c),
                                        &c->target[0], c->results > 1 ? &c->target[1] : NULL,
                                        &c->n);
}

/* Fibres that do not lie one behind another are copied, and waited for; nothing has no quantile. */
static bool quantiles_wait(const call *c) {
    const bf_array *x = &c->arrays[0].view;
    bool waits = !is_contiguous(x) || elements_of(x) == 0;
    for (int i = 0; i < c->n_axes; i++) waits |= c->axes[i] < x->ndim - c->n_axes;
    return waits;
}

static bf_status run_median(call *c) {
    const native_library *l = &c->module->library;
    const bool queued = !quantiles_wait(c) && is_enqueued(c, false);
    return (queued ? l->bf_median_axes_async : l->bf_median_axes)(
        c->lock->context, &c->arrays[0].view, c->axes, c->n_axes, NULL, &c->target[0]);
}

/* The library writes quantiles behind an axis of theirs, also of one. */
static bf_status run_quantiles(call *c) {
    bf_array all = c->target[0];
    if (length_of(c->given[Q]) < 0) {
        if (all.ndim == BF_MAX_DIMS) return BF_E_SHAPE;
        memmove(all.shape + 1, all.shape, (size_t)all.ndim * sizeof *all.shape);
        memmove(all.strides + 1, all.strides, (size_t)all.ndim * sizeof *all.strides);
        all.shape[0] = all.strides[0] = 1;
        all.ndim++;
    }
    const native_library *l = &c->module->library;
    const bool queued = !quantiles_wait(c) && is_enqueued(c, false);
    return (queued ? l->bf_quantile_axes_async : l->bf_quantile_axes)(
        c->lock->context, &c->arrays[0].view, c->axes, c->n_axes, c->q, c->n_q, NULL, &all);
}

static bf_status run_histogram(call *c) {
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = c->n);
    if (is_given(c, RANGE)) options.range = 1, options.lo = c->q[0], options.hi = c->q[1];
    return c->module->library.bf_histogram_of(c->lock->context, &c->arrays[0].view, NULL, &options,
                                              &c->histogram);
}

/* Whether a call of the library has succeeded; else there is an exception. */
static bool succeeds(const call *c, bf_status status) {
    if (status == BF_OK) return true;
    PyObject *given =
        Py_BuildValue("iK", (int)status, (unsigned long long)(uintptr_t)c->lock->context);
    Py_XDECREF(given != NULL ? native_rule(c->module, "fail", given) : NULL);
    Py_XDECREF(given);
    return false;
}

/* Runs the call on the stream of its arrays, of which nothing is kept if it may be destroyed. */
static bf_status run_on_stream(call *c) {
    const native_library *l = &c->module->library;
    const native_array *x = &c->arrays[0];
    if (!is_on_gpu(c) || !x->ends) return c->function->row->run(c);
    bf_status status = l->bf_context_set_stream(c->lock->context, x->stream);
    if (status != BF_OK) return status;
    status = c->function->row->run(c);
    l->bf_context_leave_stream(c->lock->context);
    return status;
}

/* A call on few elements of the host takes less time than to let other threads of Python go on. */
static bool run(call *c) {
    PyThreadState *state = NULL;
    bool long_one = is_on_gpu(c) || (c->results > 0 && elements_of(&c->target[0]) > AT_ONCE);
    for (int i = 0; i < c->count; i++) long_one |= elements_of(&c->arrays[i].view) > AT_ONCE;
    if (long_one) state = PyEval_SaveThread();
    const bf_status status = run_on_stream(c);
    if (state != NULL) PyEval_RestoreThread(state);
    return succeeds(c, status);
}

/* ---- what is given back ---------------------------------------------------------------------- */

static PyObject *take(call *c, int i) {
    PyObject *made = c->made[i];
    c->made[i] = NULL;
    return made;
}

static PyObject *finish_array(call *c) {
    const bool is_number = c->results > 0 && c->target[0].ndim == 0 &&
                           (c->is_number || c->arrays[0].kind == NATIVE_NUMPY);
    if (c->results == 0) return native_python_value(&c->module->library, &c->value);
    if (!is_number) return take(c, 0);
    PyObject *item = PyObject_GetAttr(c->made[0], c->module->item);
    PyObject *number = item != NULL ? PyObject_CallObject(item, NULL) : NULL;
    Py_XDECREF(item);
    return number;
}

static PyObject *finish_unique(call *c) {
    const int choice = c->function->choice;
    PyObject *counts = c->results > 1 ? c->made[1] : Py_None;
    if (choice == DIFFERENT && c->n == c->target[0].shape[0])
        return PyTuple_Pack(2, c->made[0], counts);
    PyObject *given = Py_BuildValue("iLOO", choice, (long long)c->n, c->made[0], counts);
    PyObject *cut = given != NULL ? native_rule(c->module, "different", given) : NULL;
    Py_XDECREF(given);
    return cut;
}

/* Makes an array of numbers of 8 bytes that the library has. */
static bool copy_numbers(call *c, bf_dtype dtype, const void *numbers, int64_t n) {
    const int i = c->results;
    add_extent(add_result(c, dtype), n);
    c->made[i] = native_new_array(c->module, &c->arrays[0], &c->target[i]);
    if (c->made[i] == NULL) return false;
    void *to = c->target[i].data;
    const size_t bytes = 8 * (size_t)n;
    if (is_on_gpu(c))
        return c->module->library.bf_memory_copy(c->lock->context, to, numbers, bytes) == BF_OK;
    memcpy(to, numbers, bytes);
    return true;
}

static PyObject *finish_histogram(call *c) {
    const native_library *l = &c->module->library;
    bf_histogram_info info = {.size = sizeof info};
    const bf_histogram *h = c->histogram;
    if (l->bf_histogram_describe(h, &info) != BF_OK) return NULL;
    const void *integers = l->bf_histogram_integers(h);
    const bool made =
        copy_numbers(c, BF_I64, l->bf_histogram_counts(h), info.bins) &&
        (integers != NULL ? copy_numbers(c, info.edges, integers, info.bins + 1)
                          : copy_numbers(c, BF_F64, l->bf_histogram_edges(h), info.bins + 1));
    return made ? PyTuple_Pack(2, c->made[0], c->made[1]) : NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define OF_REDUCTIONS                                                                              \
    {"nan", NAN_POLICY}, {"ddof", DDOF}, {"correction", DDOF}, {"out_dtype", OUT_DTYPE}, {         \
        "check", CHECK                                                                             \
    }

static const row rows[] = {
    {"reduction",
     {{"x", FIRST}, {"axis", AXIS}, {"keepdims", KEEPDIMS}, {"weights", WEIGHTS}, OF_REDUCTIONS},
     plan_weighted,
     run_reduction,
     finish_array},
    {"dot",
     {{"a", FIRST},
      {"b", SECOND},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"out_dtype", OUT_DTYPE},
      {"check", CHECK}},
     plan_reduction,
     run_pair,
     finish_array},
    {"covariance",
     {{"x", FIRST},
      {"y", SECOND},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"ddof", DDOF},
      {"out_dtype", OUT_DTYPE}},
     plan_covariance,
     run_pair,
     finish_array},
    {"correlation",
     {{"x", FIRST},
      {"y", SECOND},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"out_dtype", OUT_DTYPE}},
     plan_correlation,
     run_pair,
     finish_array},
    {"segments",
     {{"x", FIRST}, {"offsets", SECOND}, OF_REDUCTIONS},
     plan_parts,
     run_segments,
     finish_array},
    {"index",
     {{"m", COUNT}, {"index", SECOND}, {"values", FIRST}, OF_REDUCTIONS},
     plan_parts,
     run_index,
     finish_array},
    {"sort",
     {{"x", FIRST}, {"axis", AXIS}, {"nan", NAN_POLICY}, {"descending", DESCENDING}},
     plan_sort,
     run_sort,
     finish_array},
    {"scan",
     {{"x", FIRST},
      {"axis", ALONG},
      {"exclusive", EXCLUSIVE},
      {"reverse", REVERSE},
      {"nan", NAN_POLICY},
      {"out_dtype", OUT_DTYPE},
      {"check", CHECK}},
     plan_scan,
     run_scan,
     finish_array},
    {"rolling",
     {{"x", FIRST}, {"op", OP}, {"rules", RULES}, {"axis", ALONG}, {"check", CHECK}},
     plan_rolling,
     run_rolling,
     finish_array},
    {"unique", {{"x", FIRST}, {"nan", NAN_POLICY}}, plan_unique, run_unique, finish_unique},
    {"median",
     {{"x", FIRST}, {"axis", AXIS}, {"keepdims", KEEPDIMS}},
     plan_quantiles,
     run_median,
     finish_array},
    {"quantile",
     {{"x", FIRST}, {"q", Q}, {"axis", AXIS}, {"keepdims", KEEPDIMS}},
     plan_quantiles,
     run_quantiles,
     finish_array},
    {"histogram",
     {{"a", FIRST}, {"bins", BINS}, {"range", RANGE}},
     plan_histogram,
     run_histogram,
     finish_histogram},
};

const row *native_row_of(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static bool read_arrays(call *c) {
    PyObject *second = is_given(c, WEIGHTS) ? c->given[WEIGHTS] : c->given[SECOND];
    PyObject *const given[] = {c->given[FIRST], second};
    for (int i = 0; i < 2 && given[i] != NULL; i++) {
        c->count = i + 1;
        if (!native_read_array(c->module, c->lock, given[i], &c->arrays[i])) return false;
    }
    return true;
}

static void begin(call *c, const native_function *function) {
    c->module = function->module;
    c->function = function;
    c->op = (bf_reduction)function->choice;
    c->lock = NULL;
    c->count = c->results = 0;
    c->is_number = false;
    c->histogram = NULL;
    for (int i = 0; i < ROLES; i++) c->given[i] = NULL;
    for (int i = 0; i < RESULTS; i++) c->made[i] = NULL;
}

static void let_go(call *c) {
    if (c->lock == NULL) return;
    native_release(c->lock);
    Py_CLEAR(c->lock);
}

/* Holds a context instead of the one that is held. What failed since it was checked is raised. */
static bool hold(call *c, native_lock *lock) {
    let_go(c);
    if (lock == NULL || lock->context == NULL) return false;
    c->lock = (native_lock *)Py_NewRef((PyObject *)lock);
    native_acquire(lock);
    return !lock->later || succeeds(c, c->module->library.bf_context_failure(lock->context));
}

/* Calls on tensors of a GPU go to the stream that their library works on now: they see what is
 * enqueued there, and what is enqueued after them sees what they give. */
static bool follow_stream(call *c) {
    void *stream;
    const native_array *x = c->arrays;
    for (int i = 1; i < c->count; i++)
        if (x[i].gpu != x->gpu || (is_on_gpu(c) && !native_are_of_one_library(&x[i], x)))
            return false;
    if (!is_on_gpu(c)) return true;
    return native_stream_of(x, &stream) &&
           hold(c, (x->ends ? native_guest_lock : native_stream_lock)(c->module, x->gpu, stream));
}

static void end(call *c) {
    if (c->histogram != NULL) c->module->library.bf_histogram_destroy(c->histogram);
    let_go(c);
    for (int i = 0; i < c->count; i++) native_release_array(&c->arrays[i]);
    for (int i = 0; i < RESULTS; i++) Py_XDECREF(c->made[i]);
}

PyObject *native_try(const native_function *function, PyObject *const *given, Py_ssize_t count,
                     PyObject *names) {
    call c;
    begin(&c, function);
    PyObject *result = NULL;
    if (tell_apart(&c, given, count, names) && read_options(&c) &&
        hold(&c, native_default_lock(c.module)) && read_arrays(&c) && follow_stream(&c) &&
        function->row->plan(&c) && make_results(&c) && run(&c))
        result = function->row->finish(&c);
    end(&c);
    return result;
}
