"""Order (order.h): sorting, and what depends on the order of values."""

import ctypes
import math
import operator
from collections import namedtuple
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, Target, View, copied_like, dtype_in, to_python, value_of
from ._library import DTYPES, NAN_POLICIES, Array, ArgumentError, DtypeError, ShapeError, Value, lib, whole
from ._axis import _axes
from ._dtypes import FLOATS
from ._dictionary import Names, keys_in
from ._keys import picked
from ._nulls import refuse_scales, segment_views_of, views_of
from ._lists import common_dtypes
from ._map import _default_context
from ._times import are_times, elements, indices, median_of, takes_times

__all__ = [
    "sort", "argsort", "sort_rows", "segment_sort", "segment_argsort", "rank", "top", "median", "quantile", "percentile",
    "segment_median", "segment_quantile", "index_median", "index_quantile", "group_median", "group_quantile", "nth", "searchsorted", "is_sorted",
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "mode",
]  # fmt: skip

METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
)  # fmt: skip
RANKS = ("average", "min", "max", "dense", "ordinal")


class _Options(ctypes.Structure):
    """bf_order_options"""

    _fields_ = [
        ("size", c_size_t), ("descending", c_int), ("nan", c_int), ("method", c_int),
        ("empty", POINTER(Value)), ("scale", c_int), ("whole", c_int),
    ]  # fmt: skip


_ARRAY, _OPTIONS = POINTER(Array), POINTER(_Options)
_SELECT = (_OPTIONS, _ARRAY)
_AXES = (POINTER(c_int), c_int)
_QUANTILES = (POINTER(c_double), c_int)
_SIGNATURES = {
    "bf_quantile_method_name": (c_char_p, c_int),
    "bf_sort": (c_int, c_void_p, _ARRAY, c_int, _OPTIONS, _ARRAY, _ARRAY),
    "bf_sort_segments": (c_int, c_void_p, _ARRAY, _ARRAY, _OPTIONS, _ARRAY, _ARRAY),
    "bf_sort_rows": (c_int, c_void_p, _ARRAY, _ARRAY, c_int, _OPTIONS),
    "bf_rank": (c_int, c_void_p, _ARRAY, c_int, c_int, _OPTIONS, _ARRAY),
    "bf_top": (c_int, c_void_p, _ARRAY, c_int, c_int64, _OPTIONS, _ARRAY, _ARRAY),
    "bf_quantile_dtype": (c_int, c_int, c_int),
    "bf_quantile_is_whole": (c_int, c_int, c_int64, POINTER(c_double), c_int),
    "bf_median_dtype": (c_int, c_int),
    "bf_quantile_axes": (c_int, c_void_p, _ARRAY, *_AXES, *_QUANTILES, *_SELECT),
    "bf_quantile_segments": (c_int, c_void_p, _ARRAY, _ARRAY, *_QUANTILES, *_SELECT),
    "bf_quantile_index": (c_int, c_void_p, _ARRAY, _ARRAY, *_QUANTILES, *_SELECT),
    "bf_median_axes": (c_int, c_void_p, _ARRAY, *_AXES, *_SELECT),
    "bf_median_segments": (c_int, c_void_p, _ARRAY, _ARRAY, *_SELECT),
    "bf_median_index": (c_int, c_void_p, _ARRAY, _ARRAY, *_SELECT),
    "bf_quantile_groups": (
        c_int, c_void_p, _ARRAY, _ARRAY, *_QUANTILES, *_SELECT, _ARRAY, POINTER(c_int64),
    ),
    "bf_median_groups": (c_int, c_void_p, _ARRAY, _ARRAY, *_SELECT, _ARRAY, POINTER(c_int64)),
    "bf_nth_axes": (c_int, c_void_p, _ARRAY, *_AXES, POINTER(c_int64), c_int, *_SELECT),
    "bf_searchsorted": (c_int, c_void_p, _ARRAY, _ARRAY, c_int, _OPTIONS, _ARRAY),
    "bf_is_sorted": (c_int, c_void_p, _ARRAY, _OPTIONS, POINTER(c_int)),
    "bf_unique": (c_int, c_void_p, _ARRAY, _OPTIONS, _ARRAY, _ARRAY, POINTER(c_int64)),
    "bf_mode": (c_int, c_void_p, _ARRAY, _OPTIONS, POINTER(Value), POINTER(c_int64)),
}  # fmt: skip
lib.declare(_SIGNATURES)


def _method(name, methods=METHODS):
    if name not in methods:
        raise ArgumentError(f"no method is called {name!r}: there are {', '.join(methods)}")
    return methods.index(name)


def _options(descending=False, nan="propagate", method="linear"):
    from . import _number

    options = _Options(
        0, bool(descending), _number(NAN_POLICIES, "nan policy", nan), _method(method)
    )
    options.size = ctypes.sizeof(options)
    return options


def _call(context, function, *arguments):
    context._call(function, context._handle, *arguments)


def _elements(x, view, shape, out=None):
    """Returns a target for elements of x, whose view this is."""
    return Target(x, view.dtype, shape, view.scale, out)


# ---- sorting --------------------------------------------------------------------------------------


def _as_line(x, dtype, null):
    """Returns a view of all elements of x in C order, as one dimension."""
    view = View(x, dtype, null, decimals=True)
    array, count = view.array, 1
    for d in reversed(range(array.ndim)):
        if array.shape[d] > 1 and array.strides[d] != count:
            if not hasattr(x, "reshape"):
                raise ShapeError("elements with strides between them: give an axis")
            return View(x.reshape(-1), dtype)
        count *= array.shape[d]
    array.ndim, array.shape[0], array.strides[0] = 1, count, 1
    return view


def _lines(x, axis, dtype, null=None):
    """Returns a view, the axis along which its lines lie, and its shape."""
    view = _as_line(x, dtype, null) if axis is None else View(x, dtype, null, decimals=True)
    return view, 0 if axis is None else whole(axis, c_int), list(view.array.shape[: view.array.ndim])


def _sort(x, axis, wants, dtype, context, out, null=None, **options):
    context = context or _default_context()
    view, number, shape = _lines(x, axis, dtype, null)
    target = _elements(x, view, shape, out) if wants == "values" else Target(x, "i64", shape, out=out)
    outputs = [byref(target.array), None]
    _call(
        context, lib.bf_sort, byref(view.array), number, byref(_options(**options)),
        *(outputs if wants == "values" else reversed(outputs)),
    )  # fmt: skip
    return target.made


@takes_times(elements)
def sort(
    x, axis=-1, *, descending=False, stable=True, nan="propagate", out=None, dtype=None, null="error",
    context=None,
):  # fmt: skip
    """Returns x with each line along axis in order (None: all elements as one line).

    -inf to inf with -0 before +0, NaN last; equal elements in the order of their positions.
    descending: the reverse, NaN first, but for equal elements. stable: either is. nan="skip": NaN last in any
    case; "error": NanError.

    Errors: ArgumentError (x has no such axis), NanError (a NaN under nan="error").

    >>> bitfold.sort(numpy.array([5.0, 3, 9, 3]))
    array([3., 3., 5., 9.])
    >>> bitfold.sort(numpy.array([[2, 1], [3, 4]]), descending=True)
    array([[2, 1],
           [4, 3]])
    """
    return _sort(x, axis, "values", dtype, context, out, null, descending=descending, nan=nan)


@takes_times(indices)
def argsort(
    x, axis=-1, *, descending=False, stable=True, nan="propagate", out=None, dtype=None, context=None
):
    """Returns, as sort does, the position in its line that each element would come from. Stable. An
    array of int64 with the shape of x.

    Errors: those of sort.

    >>> bitfold.argsort(numpy.array([5.0, 3, 9, 3]))
    array([1, 3, 0, 2])
    """
    return _sort(x, axis, "index", dtype, context, out, descending=descending, nan=nan)


def sort_rows(keys, *payloads, descending=False, nan="propagate", context=None):
    """Sorts keys, of one dimension, in place, and with them the rows of payloads.

    Errors: ShapeError (keys of more dimensions, or a payload with another number of rows),
    ArgumentError (an array that cannot be written).

    >>> keys, names = numpy.array([7, 3, 5]), numpy.array([0, 1, 2])
    >>> bitfold.sort_rows(keys, names)
    >>> keys, names
    (array([3, 5, 7]), array([1, 2, 0]))
    """
    context = context or _default_context()
    views = [View(each) for each in (keys, *payloads)]
    for view in views:
        if view.readonly:
            raise ArgumentError("an array that cannot be written")
    arrays = (Array * max(len(payloads), 1))(*(view.array for view in views[1:]))
    _call(
        context, lib.bf_sort_rows, byref(views[0].array), arrays, len(payloads),
        byref(_options(descending, nan)),
    )  # fmt: skip


def _segment_sort(x, offsets, wants, dtype, context, **options):
    context = context or _default_context()
    view, places = View(x, dtype, decimals=True), View(offsets)
    shape = list(view.array.shape[: view.array.ndim])
    target = _elements(x, view, shape) if wants == "values" else Target(x, "i64", shape)
    outputs = [byref(target.array), None]
    _call(
        context, lib.bf_sort_segments, byref(view.array), byref(places.array),
        byref(_options(**options)), *(outputs if wants == "values" else reversed(outputs)),
    )  # fmt: skip
    return target.made


def segment_sort(x, offsets, *, descending=False, nan="propagate", dtype=None, context=None):
    """Returns x, of one dimension, with each segment x[offsets[s]:offsets[s + 1]] in order. Elements of
    no segment stay where they are.

    Errors: ShapeError (x has not one dimension), ArgumentError (offsets that decrease, or are outside
    x).

    >>> bitfold.segment_sort(numpy.array([5.0, 3, 9, 3]), numpy.array([0, 2, 4]))
    array([3., 5., 3., 9.])
    """
    return _segment_sort(x, offsets, "values", dtype, context, descending=descending, nan=nan)


def segment_argsort(x, offsets, *, descending=False, nan="propagate", dtype=None, context=None):
    """Returns, as segment_sort does, the position in its segment that each element would come from.

    Errors: those of segment_sort.

    >>> bitfold.segment_argsort(numpy.array([5.0, 3, 9, 3]), numpy.array([0, 2, 4]))
    array([1, 0, 1, 0])
    """
    return _segment_sort(x, offsets, "index", dtype, context, descending=descending, nan=nan)


def rank(
    x, axis=-1, *, method="average", descending=False, nan="propagate", dtype=None, context=None
):
    """Returns the rank of each element in its line along axis (None: among all), from 1.

    method, for equal elements: as scipy.stats.rankdata has it, "average" (the mean of their
    positions, a float), "min", "max", "dense" (the number of their value among the different ones)
    or "ordinal" (each its own position). Returns int64, of "average" float64, in the shape of x. -0
    equals 0, and NaN equals NaN, which is last.

    Errors: ArgumentError (no such method or axis).

    >>> bitfold.rank(numpy.array([5.0, 3, 9, 3]))
    array([3. , 1.5, 4. , 1.5])
    """
    context = context or _default_context()
    number = _method(method, RANKS)
    view, along, shape = _lines(x, axis, dtype)
    target = Target(x, "i64" if number else "f64", shape)
    _call(
        context, lib.bf_rank, byref(view.array), along, number, byref(_options(descending, nan)),
        byref(target.array),
    )  # fmt: skip
    return target.made


def top(x, k, axis=-1, *, largest=True, nan="propagate", dtype=None, context=None):
    """Returns the k largest (or least) elements of each line along axis, in order, and their positions
    in the line (int64): two arrays with the shape of x but k along axis, or all elements of a line that
    has fewer. NaN counts as greater than all others; nan="skip": it is last.

    Errors: ArgumentError (k below 0; no such axis).

    >>> bitfold.top(numpy.array([5.0, 3, 9, 3]), 2)
    (array([9., 5.]), array([2, 0]))
    >>> bitfold.top(numpy.array([5.0, 3, 9, 3]), 2, largest=False)
    (array([3., 3.]), array([1, 3]))
    """
    context = context or _default_context()
    view, number, shape = _lines(x, axis, dtype)
    ndim = len(shape)
    if not -ndim <= number < ndim:
        raise ArgumentError(f"axis {number} of an array of {ndim} dimensions")
    k = min(operator.index(k), shape[number])
    if k < 0:
        raise ArgumentError(f"the first {k} elements")
    shape[number] = k
    values, index = _elements(x, view, shape), Target(x, "i64", shape)
    _call(
        context, lib.bf_top, byref(view.array), number, k, byref(_options(largest, nan)),
        byref(values.array), byref(index.array),
    )  # fmt: skip
    return values.made, index.made


# ---- order statistics -----------------------------------------------------------------------------


def _fractions(q, divisor):
    """Returns q, a number or a sequence of numbers, as C doubles between 0 and 1; and its shape."""
    try:
        numbers = [float(each) / divisor for each in q]
        shape = [len(numbers)]
    except TypeError:
        numbers, shape = [float(q) / divisor], []
    return (c_double * len(numbers))(*numbers), shape


def _with_first(array, first):
    """Returns the array as the library fills it: its first extent is that of `first`, or 1."""
    if first:
        return array
    one = Array(array.data, array.dtype, array.ndim + 1)
    one.shape[: one.ndim] = [1, *array.shape[: array.ndim]]
    one.strides[: one.ndim] = [1, *array.strides[: array.ndim]]
    return one


def _kept(view, axis, keepdims):
    """Returns the axes for C, and the shape of what is left of a view's shape."""
    shape = list(view.array.shape[: view.array.ndim])
    given, reduced = _axes(axis, len(shape))
    left = [1 if d in reduced else n for d, n in enumerate(shape) if keepdims or d not in reduced]
    return (c_int * len(given))(*given), len(given), left


def _rounded(view, dtype_of, *method):
    """Returns the dtype of quantiles of a view that need not be elements."""
    number = dtype_of(DTYPES[view.dtype], *method)
    if not number:
        raise DtypeError(f"no quantiles of {view.dtype}")
    return NAMES[number]


def _are_elements(view, method, fractions, length, nan):
    """Returns whether the quantiles (None: the median) of lines of this length are elements."""
    known = length > 0 and (nan != "skip" or view.dtype not in FLOATS)
    n = 0 if fractions is None else len(fractions)
    return known and bool(lib.bf_quantile_is_whole(method, length, fractions, n))


def _results(x, view, name, shape, empty, options, out=None):
    """Returns a target for quantiles of dtype `name`, and completes the options: decimals that are rounded
    are no decimals any more."""
    options.scale = view.scale or 0
    if empty is not None:
        options.empty = ctypes.pointer(value_of(empty, name, view.scale))
    return _elements(x, view, shape, out) if name == view.dtype else Target(x, name, shape, out=out)


def _select(x, view, name, shape, empty, options, context, call, number, out):
    """Calls the library for results of dtype `name`. number: one result is a number, wherever x is."""
    context = context or _default_context()
    target = _results(x, view, name, shape, empty, options, out)
    call(context, target)
    return target.result(number)


def _quantiles(
    x, q, divisor, views, context, method, nan, empty, shape_of, function, number=False, out=None
):
    view = views[0]
    fractions, first = _fractions(q, divisor)
    name = _rounded(view, lib.bf_quantile_dtype, _method(method))
    options = _options(nan=nan, method=method)
    arguments, shape, length = shape_of(*views)
    if _are_elements(view, _method(method), fractions, length, nan):
        name, empty = view.dtype, None

    def call(context, target):
        _call(
            context, function, byref(view.array), *arguments, fractions, len(fractions),
            byref(options), byref(_with_first(target.array, first)),
        )  # fmt: skip

    return _select(x, view, name, [*first, *shape], empty, options, context, call, number, out)


# What is asked of the axes, segments or slots: further arguments, the shape of results, and the number of
# elements of each, if it is the same.


def _of_axes(axis, keepdims):
    def shape_of(view):
        numbers, n, left = _kept(view, axis, keepdims)
        extents = view.array.shape[: view.array.ndim]
        _, reduced = _axes(axis, len(extents))
        return (numbers, n), left, math.prod(e for d, e in enumerate(extents) if d in reduced)

    return shape_of


def _of_places(count):
    def shape_of(view, places):
        if places.array.ndim != 1:
            raise ShapeError(f"offsets or an index of {places.array.ndim} dimensions, not one")
        if places.scale is not None:
            raise DtypeError("an index of decimals")
        slots = places.array.shape[0] - 1 if count is None else whole(count)
        if slots < 0:
            raise ShapeError("no offsets" if count is None else f"{count} slots")
        return (byref(places.array),), [slots], 0

    return shape_of


def _in_segments(x, dtype, null, offsets):
    """Returns the views of an array and of its offsets."""
    (view,), places = segment_views_of(null, offsets, (x, dtype), decimals=True)
    return view, places


def quantile(
    x, q, axis=None, keepdims=False, *, method="linear", nan="propagate", empty=None, out=None,
    dtype=None, null="error", context=None,
):  # fmt: skip
    """Returns the quantiles q (a number from 0 to 1, or a sequence of them: then the first axis of the
    result) of x along axis (None: of all elements).

    method: one of NumPy's, such as "linear", "lower" or "median_unbiased". The result is the exact
    value between the two elements where numpy.quantile with a list looks, rounded once. nan="skip"
    leaves NaN out. If every q is at an element, as with methods that choose one, the result has the
    dtype of x, and every digit; else float64.

    Errors: EmptyError (no elements, and no empty=, the result of none), ArgumentError (q outside 0 to
    1; no such method or axis).

    >>> bitfold.quantile(numpy.array([5.0, 3, 9, 3]), [0.5, 0.9])
    array([4. , 7.8])
    >>> bitfold.quantile(numpy.array([5.0, 3, 9, 3]), [0.9], method="lower")
    array([5.])
    """
    return _quantiles(
        x, q, 1, [View(x, dtype, null, decimals=True)], context, method, nan, empty, _of_axes(axis, keepdims),
        lib.bf_quantile_axes, axis is None, out,
    )  # fmt: skip


def percentile(
    x, q, axis=None, keepdims=False, *, method="linear", nan="propagate", empty=None, out=None,
    dtype=None, null="error", context=None,
):  # fmt: skip
    """As quantile, with q from 0 to 100.

    Errors: those of quantile.

    >>> bitfold.percentile(numpy.array([5.0, 3, 9, 3]), [50, 90])
    array([4. , 7.8])
    """
    return _quantiles(
        x, q, 100, [View(x, dtype, null, decimals=True)], context, method, nan, empty, _of_axes(axis, keepdims),
        lib.bf_quantile_axes, axis is None, out,
    )  # fmt: skip


def segment_quantile(
    x, q, offsets, *, method="linear", nan="propagate", empty=None, dtype=None, null="error",
    context=None,
):  # fmt: skip
    """The quantiles q of each segment x[offsets[s]:offsets[s + 1]] of an array of one dimension:
    m results for m + 1 offsets, of several q behind an axis of theirs.

    Errors: ShapeError (x has not one dimension), ArgumentError (q outside 0 to 1; offsets that
    decrease, or are outside x), EmptyError (an empty segment, and no empty=).

    >>> bitfold.segment_quantile(numpy.array([5.0, 3, 9, 3]), [0.5], numpy.array([0, 2, 4]))
    array([[4., 6.]])
    """
    return _quantiles(
        x, q, 1, _in_segments(x, dtype, null, offsets), context, method, nan, empty, _of_places(None),
        lib.bf_quantile_segments,
    )  # fmt: skip


def index_quantile(
    m, index, values, q, *, method="linear", nan="propagate", empty=None, dtype=None, null="error",
    context=None,
):  # fmt: skip
    """The quantiles q of the values of each of m slots: values[i] goes to slot index[i]. Returns m
    results, of several q behind an axis of theirs.

    Errors: ArgumentError (q outside 0 to 1; an index outside 0 to m - 1), ShapeError (not one index for
    each value), EmptyError (an empty slot, and no empty=).

    >>> bitfold.index_quantile(2, numpy.array([1, 0, 1, 1]), numpy.array([5.0, 3, 9, 3]), [0.5])
    array([[3., 5.]])
    """
    return _quantiles(
        values, q, 1, views_of(null, (values, dtype), (index, None), decimals=True), context, method, nan, empty,
        _of_places(m), lib.bf_quantile_index,
    )  # fmt: skip


def _median(x, views, context, nan, empty, shape_of, function, number=False, out=None):
    view = views[0]
    options = _options(nan=nan)
    arguments, shape, length = shape_of(*views)

    def call(context, target):
        _call(
            context, function, byref(view.array), *arguments, byref(options), byref(target.array)
        )

    name = _rounded(view, lib.bf_median_dtype)
    if _are_elements(view, 0, None, length, nan):
        name, empty = view.dtype, None
    return _select(x, view, name, shape, empty, options, context, call, number, out)


def median(
    x, axis=None, keepdims=False, *, nan="propagate", empty=None, out=None, dtype=None, null="error",
    context=None,
):  # fmt: skip
    """Returns the median of x along axis (None: of all elements): of an even number of elements the
    exact mean of the two in the middle, rounded once: of integers float64, of floats their dtype. Of an
    odd number it is the one in the middle, of the dtype of x. The shape is that of x without axis.

    Errors: EmptyError (no elements, and no empty=, the result of none).

    >>> bitfold.median(numpy.array([[1, 2], [3, 5]]), axis=1)
    array([1.5, 4. ])
    """
    if are_times(x) and out is None:
        return median_of(quantile)(x, axis, keepdims, nan=nan, null=null, context=context)
    views, of = [View(x, dtype, null, decimals=True)], _of_axes(axis, keepdims)
    return _median(x, views, context, nan, empty, of, lib.bf_median_axes, axis is None, out)


def segment_median(
    x, offsets, *, nan="propagate", empty=None, dtype=None, null="error", context=None
):
    """The median of each segment x[offsets[s]:offsets[s + 1]] of an array of one dimension: m results for
    m + 1 offsets.

    Errors: ShapeError (x has not one dimension), ArgumentError (offsets that decrease, or are outside
    x), EmptyError (an empty segment, and no empty=).

    >>> bitfold.segment_median(numpy.array([5.0, 3, 9, 3]), numpy.array([0, 2, 4]))
    array([4., 6.])
    """
    views = _in_segments(x, dtype, null, offsets)
    return _median(x, views, context, nan, empty, _of_places(None), lib.bf_median_segments)


def index_median(
    m, index, values, *, nan="propagate", empty=None, dtype=None, null="error", context=None
):
    """The median of the values of each of m slots: values[i] goes to slot index[i].

    Errors: ArgumentError (an index outside 0 to m - 1), ShapeError (not one index for each value),
    EmptyError (an empty slot, and no empty=).

    >>> bitfold.index_median(2, numpy.array([1, 0, 1, 1]), numpy.array([5.0, 3, 9, 3]))
    array([3., 5.])
    """
    views = views_of(null, (values, dtype), (index, None), decimals=True)
    return _median(values, views, context, nan, empty, _of_places(m), lib.bf_median_index)


def _count_different(view, options, context):
    n = c_int64()
    _call(context, lib.bf_unique, byref(view.array), options, None, None, byref(n))
    return n.value


def _of_groups(keys, values, select, context, first, name, empty, options, *quantiles):
    """Calls the library for results of dtype `name`, behind an axis of `first`. Returns the keys of the
    groups, and the results."""
    context = context or _default_context()
    like_of = getattr(values, "_object", object)  # without an object of the caller, a Result
    n = c_int64()
    groups = _elements(like_of, keys, [_count_different(keys, None, context)])
    target = _results(like_of, values, name, [*first, groups.array.shape[0]], empty, options)
    array = _with_first(target.array, first or not quantiles)
    _call(
        context, select, byref(values.array), byref(keys.array), *quantiles, byref(options),
        byref(groups.array), byref(array), byref(n),
    )  # fmt: skip
    return groups.made, target.made


def group_median(
    keys, values, *, nan="propagate", empty=None, dtype=None, null="error", context=None
):
    """Returns the different keys, ascending, and the median of the values of each: values[i] belongs to
    keys[i]. Both have one dimension. -0 is the key 0, and all NaNs are one key, the last.

    Errors: ShapeError (not one key for each value, or more than one dimension).

    >>> bitfold.group_median(numpy.array([7, 3, 7]), numpy.array([1.0, 2, 4]))
    (array([3, 7]), array([2. , 2.5]))
    """
    keys, values = views_of(null, (keys, None), (values, dtype), decimals=True)
    name = _rounded(values, lib.bf_median_dtype)
    return _of_groups(
        keys, values, lib.bf_median_groups, context, [], name, empty, _options(nan=nan)
    )


def median_of_groups(keys, values, context, whole=False):
    """Returns what group_median does of two views without NULLs, but no keys, as a Result. whole: medians of
    integers are the nearest ones."""
    name, options = values.dtype if whole else _rounded(values, lib.bf_median_dtype), _options()
    options.whole = whole
    return _of_groups(keys, values, lib.bf_median_groups, context, [], name, None, options)[1]


def quantile_of_groups(keys, values, fraction, context):
    """Returns the same for one quantile."""
    fractions, _ = _fractions(fraction, 1)
    name, options = _rounded(values, lib.bf_quantile_dtype, _method("linear")), _options()
    select = lib.bf_quantile_groups
    return _of_groups(keys, values, select, context, [], name, None, options, fractions, 1)[1]


def group_quantile(
    keys, values, q, *, method="linear", nan="propagate", empty=None, dtype=None, null="error",
    context=None,
):  # fmt: skip
    """Returns the different keys, ascending, and the quantiles q of the values of each, as group_median
    does; of several q, the first axis is theirs.

    Errors: ShapeError (not one key for each value, or more than one dimension), ArgumentError (q
    outside 0 to 1; no such method).

    >>> bitfold.group_quantile(numpy.array([7, 3, 7]), numpy.array([1.0, 2, 4]), [0.5, 0.9])
    (array([3, 7]), array([[2. , 2.5],
           [2. , 3.7]]))
    """
    keys, values = views_of(null, (keys, None), (values, dtype), decimals=True)
    fractions, first = _fractions(q, 1)
    name = _rounded(values, lib.bf_quantile_dtype, _method(method))
    return _of_groups(
        keys, values, lib.bf_quantile_groups, context, first, name, empty,
        _options(nan=nan, method=method), fractions, len(fractions),
    )  # fmt: skip


def nth(
    x, n, axis=-1, keepdims=False, *, descending=False, nan="propagate", dtype=None, null="error",
    context=None,
):  # fmt: skip
    """Returns the element at position n (from 0; or a sequence of positions) of the order of each line
    along axis (None: of all elements): sort(x, axis)[n], in less time. Several positions are the first
    axis of the result, which has the dtype of x.

    Errors: ArgumentError (a position outside the line; no such axis).

    >>> bitfold.nth(numpy.array([5.0, 3, 9, 3]), [0, 2])
    array([3., 5.])
    """
    view = View(x, dtype, null, decimals=True)
    options = _options(descending, nan)
    try:
        positions, first = [whole(each) for each in n], [len(n)]
    except TypeError:
        positions, first = [whole(n)], []
    numbers, count, left = _kept(view, axis, keepdims)
    target = _elements(x, view, [*first, *left])
    context = context or _default_context()
    _call(
        context, lib.bf_nth_axes, byref(view.array), numbers, count,
        (c_int64 * len(positions))(*positions), len(positions), byref(options),
        byref(_with_first(target.array, first)),
    )  # fmt: skip
    return target.result(axis is None)


# ---- places in an order ---------------------------------------------------------------------------


def searchsorted(sorted, x, side="left", *, descending=False, dtype=None, context=None):
    """Returns for each element of x its place in an array of one dimension that is sorted: before its
    equals, or side="right" after them. Both have one dtype. An array of int64 with the
    shape of x.

    Errors: DtypeError (other dtypes), ShapeError (`sorted` has not one dimension).

    >>> bitfold.searchsorted(numpy.array([1, 3, 3, 7]), numpy.array([3, 8]), side="right")
    array([3, 4])
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"side is 'left' or 'right', not {side!r}")
    view, wanted = (
        View(each, kind, decimals=True) for each, kind in zip((sorted, x), common_dtypes((sorted, x), dtype))
    )
    refuse_scales([view, wanted])
    target = Target(x, "i64", list(wanted.array.shape[: wanted.array.ndim]))
    context = context or _default_context()
    _call(
        context, lib.bf_searchsorted, byref(view.array), byref(wanted.array), side == "right",
        byref(_options(descending)), byref(target.array),
    )  # fmt: skip
    return target.result()


def is_sorted(
    x, *, descending=False, nan="propagate", dtype=None, null="error", context=None
):
    """Returns whether an array of one dimension is in the order of sort.

    Errors: ShapeError (x has not one dimension), NanError (a NaN under nan="error").

    >>> bitfold.is_sorted(numpy.array([1, 3, 3, numpy.nan]))
    True
    """
    context = context or _default_context()
    view, answer = View(x, dtype, null, decimals=True), c_int()
    _call(
        context, lib.bf_is_sorted, byref(view.array), byref(_options(descending, nan)),
        byref(answer),
    )  # fmt: skip
    return bool(answer.value)


# ---- different values -----------------------------------------------------------------------------


@takes_times(elements)
def unique(x, *, nan="propagate", dtype=None, null="error", context=None):
    """Returns the different elements of x, ascending (NaN last; nan="skip": without it), and how often
    each occurs (int64): two arrays of one dimension. -0 is +0, and all NaNs are one. Arrays and lists of strings are
    in the order of their bytes. x may be a tuple of columns, too: then the elements are one.

    Errors: NanError (a NaN under nan="error").

    >>> bitfold.unique(numpy.array([5.0, 3, 9, 3]))
    (array([3., 5., 9.]), array([2, 1, 1]))
    """
    if (keys := keys_in(x)) is not None:
        return _unique_keys(keys, null, context)
    context = context or _default_context()
    view, n = View(x, dtype, null, decimals=True), c_int64()
    most = 1
    for extent in view.array.shape[: view.array.ndim]:
        most *= extent
    values, counts = _elements(x, view, [most]), Target(x, "i64", [most])
    _call(
        context, lib.bf_unique, byref(view.array), byref(_options(nan=nan)), byref(values.array),
        byref(counts.array), byref(n),
    )  # fmt: skip
    return values.first(n.value), counts.first(n.value)


def _unique_keys(keys, null, context):
    names = Names(context)
    numbers, counts = unique(names.rows(keys), null=null, context=context)
    order = names.order(numbers)
    found = picked(counts, order)
    return names.keys(picked(numbers, order)), copied_like(keys[0].given, "i64", [len(order)], found._address)


unique_counts_result = namedtuple("unique_counts_result", "values counts")


def unique_counts(x, *, nan="propagate", dtype=None, null="error", context=None):
    """unique, by its name in the array API standard (where each NaN is different): a named tuple.

    Errors: those of unique.

    >>> bitfold.unique_counts(numpy.array([5.0, 3, 9, 3])).counts
    array([2, 1, 1])
    """
    return unique_counts_result(*unique(x, nan=nan, dtype=dtype, null=null, context=context))


unique_inverse_result = namedtuple("unique_inverse_result", "values inverse_indices")
unique_all_result = namedtuple("unique_all_result", "values indices inverse_indices counts")


@takes_times(elements)
def unique_inverse(x, *, nan="propagate", dtype=None, context=None):
    """Returns the different elements of x, ascending, as unique does, and where each element of x is among them
    (int64, in the shape of x): a named tuple, by its name in the array API standard.

    Errors: those of unique; ArgumentError (nan="skip": a NaN would be nowhere).

    >>> bitfold.unique_inverse(numpy.array([5.0, 3, 9, 3])).inverse_indices
    array([1, 0, 2, 0])
    """
    return unique_inverse_result(*_with_places(x, nan, dtype, context)[::2])


@takes_times(elements)
def unique_all(x, *, nan="propagate", dtype=None, context=None):
    """Returns the different elements of x, ascending, the index in C order at which each occurs first, where each
    element of x is among them, and how often each occurs: a named tuple, by its name in the array API standard.

    Errors: those of unique_inverse.

    >>> bitfold.unique_all(numpy.array([5.0, 3, 9, 3])).indices
    array([1, 0, 2])
    """
    from . import index_argmin

    values, counts, places = _with_places(x, nan, dtype, context)
    line = _line_of(places)  # equal elements have one place: the least of these is the first
    return unique_all_result(values, index_argmin(len(values), line, line, context=context), places, counts)


def _with_places(x, nan, dtype, context):
    """Returns the different elements of x, how often each occurs, and where each element of x is among them."""
    if keys_in(x) is not None:
        raise DtypeError("strings and columns of keys: a Dictionary numbers them")
    if nan == "skip":
        raise ArgumentError("nan='skip': a NaN would be at no place")
    dtype = dtype or dtype_in(View(x, decimals=True).dtype)
    values, counts = unique(x, nan=nan, dtype=dtype, context=context)
    return values, counts, searchsorted(values, x, dtype=dtype, context=context)


def _line_of(places):
    """Returns an array of positions as one of one dimension."""
    if hasattr(places, "reshape"):
        return places.reshape(-1)
    return [places] if isinstance(places, int) else memoryview(places).cast("B").cast("q")


def unique_values(x, *, nan="propagate", dtype=None, null="error", context=None):
    """Returns the different elements of x, ascending, as unique does.

    Errors: those of unique.

    >>> bitfold.unique_values(numpy.array([5.0, 3, 9, 3]))
    array([3., 5., 9.])
    """
    return unique(x, nan=nan, dtype=dtype, null=null, context=context)[0]


def mode(x, *, nan="propagate", dtype=None, null="error", context=None):
    """Returns the element that occurs most often, of several the first in order, and how often.

    Errors: EmptyError (no elements).

    >>> bitfold.mode(numpy.array([5.0, 3, 9, 3]))
    (3.0, 2)
    """
    context = context or _default_context()
    view, value, count = View(x, dtype, null, decimals=True), Value(), c_int64()
    _call(
        context, lib.bf_mode, byref(view.array), byref(_options(nan=nan)), byref(value),
        byref(count),
    )  # fmt: skip
    value.scale = view.scale or 0
    return to_python(value), count.value
