"""What the functions of order share: options, the library's functions, and views of arrays."""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

from .._arrays import Target, View
from .._library import NAN_POLICIES, Array, ArgumentError, ShapeError, Value, lib, whole

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
    from .. import _number

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
