/* A call of a function of the module, on its way through the door, and the rows of functions. */
#ifndef BITFOLD_PYTHON_NATIVE_CALL_H
#define BITFOLD_PYTHON_NATIVE_CALL_H

#include "python/native/native.h"

/* What a parameter is for. */
typedef enum native_role {
    FIRST,
    SECOND,
    COUNT,
    Q,
    OP,    /* a number */
    RULES, /* where bf_rolling_options are */
    AXIS,  /* this one and those behind it may be left out */
    KEEPDIMS,
    SIDE,
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
    METHOD,
    CONTEXT,
    ROLES,
    UNNAMED = 1 << 8 /* with another: it need not be named */
} native_role;

enum { PARAMETERS = 10, QUANTILES = 16, EDGES = 64, RESULTS = 2 };

/* A call on its way. */
typedef struct native_call {
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
    double edges[EDGES]; /* n + 1 are given */
    bool later;          /* what may fail for its data is enqueued, and checked later */
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
} native_call;

typedef struct native_parameter {
    const char *name;
    native_role role;
} native_parameter;

/* What a function is given, and its part of the steps of a call. A step that returns false or NULL
 * without an exception leaves the call to Python. */
typedef struct native_row {
    const char *name;
    native_parameter parameters[PARAMETERS];
    bool (*plan)(native_call *c);        /* plans the results */
    bf_status (*run)(native_call *c);    /* calls the library */
    PyObject *(*finish)(native_call *c); /* returns what the caller is given */
} native_row;

/* Each ends with a row without a name. */
extern const native_row native_reduce_rows[], native_order_rows[], native_scan_rows[],
    native_histogram_rows[];

/* ---- arguments ------------------------------------------------------------------------------- */

/* Sets which argument is which. */
bool native_tell_apart(native_call *c, PyObject *const *given, Py_ssize_t count, PyObject *names);
bool native_read_options(native_call *c);
/* Sets the axes: all of them, if none is given. */
bool native_read_axes(native_call *c);
/* Sets *found to a whole number. */
bool native_read_whole(PyObject *x, long long least, long long most, int64_t *found);

/* The length of a tuple or a list; of another object -1. */
Py_ssize_t native_length_of(PyObject *x);
PyObject *native_item_of(PyObject *list, Py_ssize_t i);

static inline bool is_given(const native_call *c, native_role r) {
    return c->given[r] != NULL && c->given[r] != Py_None;
}

static inline bool is_text(PyObject *x, const char *text) {
    return PyUnicode_Check(x) && PyUnicode_CompareWithASCIIString(x, text) == 0;
}

static inline const bf_reduce_options *reduce_options(const native_call *c) {
    return c->has_options ? &c->reduce : NULL;
}

static inline const bf_order_options *order_options(const native_call *c) {
    return c->has_options ? &c->order : NULL;
}

/* Sets what the options of an operator of PyTorch leave open: the dtype of results, and that
 * variances have a ddof of 1. */
bool native_read_operator(native_call *c);
/* Has an operator that may fail on a GPU fail later in a graph, which waits for nothing. */
bool native_check_operator(native_call *c, bool may_fail);

/* ---- results --------------------------------------------------------------------------------- */

/* Adds an array, to which extents are added. */
bf_array *native_add_result(native_call *c, bf_dtype dtype);
bool native_add_extent(bf_array *target, int64_t extent);
/* Adds the extents that are left of those of the first array. */
bool native_add_left(const native_call *c, bf_array *target);
/* Makes the arrays. */
bool native_make_results(native_call *c);
/* Returns one of them, which is the caller's then. */
PyObject *native_take(native_call *c, int i);
/* Returns the array or the number that is the result. */
PyObject *native_finish_array(native_call *c);

/* The number of elements; INT64_MAX: it is beyond all memory. */
int64_t native_elements_of(const bf_array *x);
/* Sets *length to the number of elements of each result. false: it is beyond all memory. */
bool native_find_length(const native_call *c, int64_t *length);

static inline bool is_float(const native_call *c, bf_dtype dtype) {
    const native_code code = native_code_of(&c->module->library, dtype);
    return code == NATIVE_FLOAT || code == NATIVE_BFLOAT;
}

static inline bool is_whole(bf_dtype dtype) { return dtype == BF_I64 || dtype == BF_U64; }

/* ---- what is enqueued ------------------------------------------------------------------------ */

static inline bool is_on_gpu(const native_call *c) { return c->arrays[0].gpu != NATIVE_HOST; }

/* Whether 64 bits hold the sum of so many integers, whatever they are. */
static inline bool has_room_for_sums(const native_call *c, bf_dtype dtype, int64_t length) {
    const size_t bits = 8 * c->module->library.bf_dtype_size(dtype);
    return bits <= 32 && length < INT64_C(1) << (63 - bits);
}

/* Whether a call returns before its work is done: what cannot fail does, and what is checked later,
 * which the context is told. */
static inline bool is_enqueued(native_call *c, bool may_fail) {
    if (!is_on_gpu(c) || (may_fail && !c->later)) return false;
    c->reduce.later = may_fail;
    c->lock->later |= may_fail;
    return true;
}

static inline bool is_contiguous(const bf_array *x) {
    int64_t step = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (x->shape[d] != 1 && x->strides[d] != step) return false;
        step *= x->shape[d];
    }
    return true;
}

#endif
