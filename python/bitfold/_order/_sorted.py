"""Sorting, ranks, the first elements, and places in an order."""

import operator
from ctypes import byref, c_int

from .._arrays import Target, View
from .._library import Array, ArgumentError, lib
from .._lists import common_dtypes
from .._map import _default_context
from .._nulls import refuse_scales
from .._times import elements, indices, takes_times
from ._calls import RANKS, _call, _elements, _lines, _method, _options


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
    k = min(int(operator.index(k)), shape[number])  # Python 3.9: the index of a bool is one
    if k < 0:
        raise ArgumentError(f"the first {k} elements")
    shape[number] = k
    values, index = _elements(x, view, shape), Target(x, "i64", shape)
    _call(
        context, lib.bf_top, byref(view.array), number, k, byref(_options(largest, nan)),
        byref(values.array), byref(index.array),
    )  # fmt: skip
    return values.made, index.made



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
