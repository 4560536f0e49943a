"""Different values, and how often they are there."""

from collections import namedtuple
from ctypes import byref, c_int64

from .._arrays import Target, View, copied_like, dtype_in, to_python
from .._dictionary import Names, keys_in
from .._keys import picked
from .._library import ArgumentError, DtypeError, Value, lib
from .._map import _default_context
from .._times import elements, takes_times
from ._calls import _call, _elements, _options
from ._sorted import searchsorted


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
    from .. import index_argmin

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
