"""Order statistics: medians, quantiles and elements by their ranks."""

import ctypes
import math
from ctypes import byref, c_double, c_int, c_int64

from .._arrays import NAMES, Target, View, value_of
from .._axis import _axes
from .._dtypes import FLOATS
from .._library import DTYPES, Array, DtypeError, ShapeError, lib, whole
from .._map import _default_context
from .._nulls import segment_views_of, views_of
from .._times import are_times, median_of
from ._calls import _call, _elements, _method, _options


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
