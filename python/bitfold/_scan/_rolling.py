"""Rolling windows (scan.h): the reduction of the window of each element."""

import ctypes
from ctypes import POINTER, byref, c_double, c_int, c_int64, c_size_t, c_void_p

from .._arrays import NAMES, Target, View, dtype_name, in_units, value_of
from .._dtypes import FLOATS
from .._library import CHECKS, DTYPES, NAN_POLICIES, OPS, Array, ArgumentError, Value, lib, native, whole
from .._map import _default_context
from .._order._calls import _method
from .._order._statistics import _fractions
from .._times import are_times, in_units_of


class _Options(ctypes.Structure):
    """bf_rolling_options"""

    _fields_ = [
        ("size", c_size_t), ("nan", c_int), ("out_dtype", c_int), ("ddof", c_int), ("center", c_int),
        ("window", c_int64), ("min_count", c_int64), ("step", c_int64),
        ("on", POINTER(Array)), ("span", POINTER(Value)), ("method", c_int), ("scale", c_int), ("later", c_int),
    ]  # fmt: skip


_lines = [POINTER(Array), c_int]
_windows = [*_lines, POINTER(_Options), POINTER(Array)]
lib.declare(
    {
        "bf_rolling_dtype": (c_int, c_int, c_int, POINTER(_Options)),
        "bf_rolling": (c_int, c_void_p, c_int, *_windows),
        "bf_rolling_pair": (c_int, c_void_p, c_int, POINTER(Array), *_windows),
        "bf_rolling_count": (c_int, c_void_p, *_windows),
        "bf_rolling_median": (c_int, c_void_p, *_windows),
        "bf_rolling_quantile": (c_int, c_void_p, *_lines, POINTER(c_double), c_int, POINTER(_Options), POINTER(Array)),
    }
)


def _key_of(on, span):
    """Returns a view of the keys, and a span of them as a bf_value."""
    if on is None or span is None:
        raise ArgumentError("a window is a number of elements, or a span on a key: give window, or on and span")
    if are_times(on):
        on, span = in_units_of(on, span)
    key = View(on, decimals=True)
    if not key.dtype.startswith(("f", "bf")):
        return key, value_of(in_units(span, key.dtype, key.scale), "u64")
    if float(span) != span:
        raise ArgumentError(f"no float64 is a span of {span}")
    return key, value_of(float(span), "f64")


_COUNTS = -1  # where windows have no reduction


def _left(*_, **__):
    """What the door does not take."""


_door = _left if native is None else native.Function(native, _left, "rolling", 0)


class Rolling:
    """The windows of an array's elements (bitfold.rolling): each method returns an array of one result for each.

    >>> windows = bitfold.rolling(numpy.array([1.0, 3, 2, 2]), 2)
    >>> windows.sum(), windows.var()
    (array([nan,  4.,  5.,  4.]), array([ nan, 1.  , 0.25, 0.  ]))
    """

    def __init__(self, x, window, on, span, min_count, center, step, axis, nan, dtype, check, context):
        from .. import _number

        _number(CHECKS, "check", check)
        self._x, self._view, self._dtype = x, View(x, dtype, waits=False), dtype
        self._check, self._context = check, context
        self._shape = list(self._view.array.shape[: self._view.array.ndim])
        self._axis, ndim = whole(axis, c_int), len(self._shape)
        if not -ndim <= self._axis < ndim:
            raise ArgumentError(f"axis {axis} of an array of {ndim} dimensions")
        self._options = _Options(
            ctypes.sizeof(_Options), _number(NAN_POLICIES, "nan policy", nan), center=bool(center), step=whole(step)
        )
        if step < 1:
            raise ArgumentError(f"a step is at least 1, not {step}")
        if window is None:
            self._key, value = _key_of(on, span)
            self._options.on, self._options.span = ctypes.pointer(self._key.array), ctypes.pointer(value)
            most, default = 2**63 - 1, 1
        elif on is not None or span is not None:
            raise ArgumentError("a window is a number of elements, or a span on a key, not both")
        else:
            most = default = self._options.window = whole(window)
            if window < 1:
                raise ArgumentError(f"a window has at least 1 element, not {window}")
        least = default if min_count is None else whole(min_count)
        if not 0 <= least <= most:
            raise ArgumentError(f"min_count is at least 0, and at most the window, not {least}")
        self._options.min_count = least or -1
        self._shape[self._axis] = -(-self._shape[self._axis] // self._options.step)

    def _fill(self, function, target, options, before=(), after=()):
        """Calls a function that fills the target. Returns what was made."""
        context = self._context or _default_context()
        self._view.wait()
        context._call(
            function, context._handle, *before, byref(self._view.array), self._axis, *after, byref(options),
            byref(target.array),
        )  # fmt: skip
        return target.made

    def _through_door(self, number, options):
        """Returns the results of a reduction, or of counts; None: it is for Python."""
        if self._dtype is not None:
            return None
        rules = ctypes.addressof(options)
        return _door(self._x, number, rules, axis=self._axis, check=self._check, context=self._context)

    def _reduce(self, op, out_dtype=None, ddof=0, y=None):
        options = _Options.from_buffer_copy(self._options)
        options.out_dtype = 0 if out_dtype is None else DTYPES[dtype_name(out_dtype)]
        options.ddof = whole(ddof, c_int)
        made = self._through_door(OPS[op], options) if y is None else None
        if made is not None:
            return made
        number = lib.bf_rolling_dtype(OPS[op], self._view.array.dtype, byref(options))
        target = Target(self._x, NAMES[number or DTYPES["f64"]], self._shape)  # without a number the call says why
        if y is None:
            return self._fill(lib.bf_rolling, target, options, before=[OPS[op]])
        other = View(y, self._dtype)
        context = self._context or _default_context()
        self._view.wait()
        context._call(
            lib.bf_rolling_pair, context._handle, OPS[op], byref(self._view.array), byref(other.array), self._axis,
            byref(options), byref(target.array),
        )  # fmt: skip
        return target.made

    def sum(self, *, out_dtype=None):
        """Returns the sum of each window, rounded once to float64 or out_dtype."""
        return self._reduce("sum", out_dtype)

    def mean(self, *, out_dtype=None):
        """Returns the mean of each window, rounded once to float64 or out_dtype."""
        return self._reduce("mean", out_dtype)

    def var(self, *, ddof=0, out_dtype=None):
        """Returns the variance of each window, divided by n - ddof as bitfold.var does (pandas has ddof=1)."""
        return self._reduce("var", out_dtype, ddof)

    def std(self, *, ddof=0, out_dtype=None):
        """Returns the square root of the variance of each window."""
        return self._reduce("std", out_dtype, ddof)

    def skew(self, *, ddof=0, out_dtype=None):
        """Returns the skewness of each window, as bitfold.skew does (pandas has ddof=1)."""
        return self._reduce("skew", out_dtype, ddof)

    def kurtosis(self, *, ddof=0, out_dtype=None):
        """Returns the excess kurtosis of each window, as bitfold.kurtosis does (pandas has ddof=1)."""
        return self._reduce("kurtosis", out_dtype, ddof)

    def covariance(self, y, *, ddof=1, out_dtype=None):
        """Returns the covariance of each window with that of y, which has x's shape and dtype, divided by n - ddof.
        A pair with a NaN does not count."""
        return self._reduce("cov", out_dtype, ddof, y)

    def correlation(self, y, *, out_dtype=None):
        """Returns the correlation of each window with that of y, as bitfold.correlation has it: in [-1, 1].

        >>> bitfold.rolling(numpy.array([1.0, 2, 4, 3]), 3).correlation(numpy.array([1.0, 2, 4, 4]))
        array([      nan,       nan, 1.       , 0.8660254])
        """
        return self._reduce("corr", out_dtype, 0, y)

    def min(self):
        """Returns the least element of each window, in x's dtype; of integers float64."""
        return self._reduce("min")

    def max(self):
        """Returns the greatest element of each window, in x's dtype; of integers float64."""
        return self._reduce("max")

    def median(self):
        """Returns the median of each window, in x's dtype; of integers float64."""
        name = self._view.dtype if self._view.dtype in FLOATS else "f64"
        return self._fill(lib.bf_rolling_median, Target(self._x, name, self._shape), self._options)

    def quantile(self, q, *, method="linear"):
        """Returns the quantiles q (a number from 0 to 1, or a sequence of them: then the first axis of the result)
        of each window, as bitfold.quantile has them, in float64; by methods that choose an element, in x's dtype,
        but of integers in float64."""
        options = _Options.from_buffer_copy(self._options)
        options.method = _method(method)
        number = lib.bf_quantile_dtype(self._view.array.dtype, options.method)
        fractions, first = _fractions(q, 1)
        target = Target(self._x, NAMES[number] if NAMES[number] in FLOATS else "f64", [*first, *self._shape])
        return self._fill(lib.bf_rolling_quantile, target, options, after=[fractions, len(fractions)])

    def count(self):
        """Returns how many elements of each window are no NaN, as float64. min_count asks for elements of any
        kind."""
        made = self._through_door(_COUNTS, self._options)
        if made is not None:
            return made
        return self._fill(lib.bf_rolling_count, Target(self._x, "f64", self._shape), self._options)


def rolling(
    x, window=None, *, on=None, span=None, min_count=None, center=False, step=1, axis=0, nan="propagate", dtype=None,
    check="now", context=None,
):  # fmt: skip
    """Returns the windows of x's elements along axis, for sum(), mean(), var(), std(), skew(), kurtosis(), min(),
    max(), median(), quantile() and count(); and for covariance() and correlation() with another array.

    Each result is that of its window alone: the exact value, rounded once. What has left a window leaves no
    trace, and a variance is never negative. A window is its element and those before it, `window` of them; with
    center it has as many behind its element, or one fewer. Only each step-th element has a result.

    Instead of window, `on` has a key for each element along axis, which does not decrease, and a window has the
    elements whose keys are in (key - span, key], where key is its element's; with center, in (key - span / 2,
    key + span / 2]. Keys are times, and span a difference of times, or integers or floats, and span a number.

    NaN stands for windows that have fewer than min_count elements that are no NaN (None: as many as the
    window, of a span 1); so it does for those with a NaN, unless nan="skip". nan and ddof have the defaults of
    bitfold's reductions; pandas' are nan="skip" and ddof=1. x may be in a GPU's memory, but not for 128 bits,
    nor for medians and quantiles of windows of more than 2048 elements, or of a span. check: as of reductions.

    Errors: ArgumentError (window, span, keys that decrease, min_count, step, axis), ShapeError (not a key for each
    element), NanError (a NaN under nan="error", or in the keys).

    >>> bitfold.rolling(numpy.array([1e20, 1, 2, 3]), 2).mean()
    array([    nan, 5.0e+19, 1.5e+00, 2.5e+00])
    >>> bitfold.rolling(numpy.array([3, 1, 2]), 3, min_count=1, center=True).max()
    array([3., 3., 2.])
    >>> bitfold.rolling(numpy.array([5.0, 3, 9, 3]), 3).median()
    array([nan, nan,  5.,  3.])
    >>> days = numpy.array(["2026-01-01", "2026-01-02", "2026-01-09"], "M8[D]")
    >>> bitfold.rolling(numpy.array([3, 1, 2]), on=days, span=numpy.timedelta64(1, "W")).sum()
    array([3., 4., 2.])
    """
    return Rolling(x, window, on, span, min_count, center, step, axis, nan, dtype, check, context)


def expanding(x, *, min_count=1, axis=0, nan="propagate", dtype=None, check="now", context=None):
    """Returns windows as rolling does, each of which has its element and all before it along axis: so mean(), var()
    and the others are those of every prefix, the exact value rounded once.

    NaN stands for prefixes with fewer than min_count elements that are no NaN.

    Errors: those of rolling.

    >>> bitfold.expanding(numpy.array([1e20, 1, -1e20, 2])).mean()
    array([1.00000000e+20, 5.00000000e+19, 3.33333333e-01, 7.50000000e-01])
    """
    return rolling(x, 2**63 - 1, min_count=min_count, axis=axis, nan=nan, dtype=dtype, check=check, context=context)
