"""Histograms: histogram() and bincount() of one array, and Histogram, which absorbs chunks."""

import array
import ctypes
from collections import namedtuple
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, View, copied_like, dtype_name, new_array, new_like, refuse_hidden
from ._library import DTYPES, Array, ArgumentError, lib, sized, whole
from ._lists import dtype_for
from ._mergeable import Mergeable
from ._nulls import views_of
from ._times import are_times, histogram_of

_AUTO = -1


class _Options(ctypes.Structure):
    """bf_histogram_options"""

    _fields_ = [
        ("size", c_size_t), ("bins", c_int64), ("range", c_int), ("lo", c_double),
        ("hi", c_double), ("edges", c_void_p), ("weights", c_int), ("numbers", c_int64),
        ("integers", c_void_p), ("integers_dtype", c_int),
    ]  # fmt: skip


class _Info(ctypes.Structure):
    """bf_histogram_info"""

    _fields_ = [
        ("size", c_size_t), ("dtype", c_int), ("weights", c_int), ("edges", c_int), ("bins", c_int64),
        ("count", c_int64), ("below", c_int64), ("above", c_int64), ("nan", c_int64),
    ]  # fmt: skip


_ARRAYS = POINTER(Array), POINTER(Array)
_SIGNATURES = {
    "of": (c_int, c_void_p, *_ARRAYS, POINTER(_Options), POINTER(c_void_p)),
    "create": (c_int, c_void_p, c_int, POINTER(_Options), POINTER(c_void_p)),
    "destroy": (None, c_void_p),
    "clear": (c_int, c_void_p),
    "absorb": (c_int, c_void_p, *_ARRAYS),
    "merge": (c_int, c_void_p, c_void_p),
    "retract": (c_int, c_void_p, c_void_p),
    "describe": (c_int, c_void_p, POINTER(_Info)),
    "edges": (c_void_p, c_void_p),
    "integers": (c_void_p, c_void_p),
    "counts": (c_void_p, c_void_p),
    "weights": (c_int, c_void_p, c_void_p),
    "density": (c_int, c_void_p, c_void_p),
    "save_size": (c_size_t, c_void_p),
    "save": (c_int, c_void_p, c_void_p),
    "load": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p)),
}  # fmt: skip
lib.declare({f"bf_histogram_{name}": types for name, types in _SIGNATURES.items()})
lib.declare({"bf_bincount": (c_int, c_void_p, POINTER(Array), c_void_p, c_int64, POINTER(c_int64))})


def _doubles(numbers):
    """Returns numbers as an array of doubles."""
    made = array.array("d")
    try:
        memory = memoryview(numbers)
    except TypeError:
        memory = None
    if memory is not None and memory.format == "d" and memory.ndim == 1:
        made.frombytes(memory.tobytes())
    else:
        made.extend(float(x) for x in numbers)
    return made


def _integers(numbers):
    """Returns numbers as an array of int64, or uint64 if they need it; None: some is no integer."""
    if not all(hasattr(x, "__index__") for x in numbers):
        return None
    for code in "qQ":
        try:
            return array.array(code, [x.__index__() for x in numbers])
        except OverflowError:
            continue
        except TypeError:  # a float that is an array of one element
            return None
    return None


def _set_integers(options, numbers):
    """Lets options say the numbers as integers, if all are; returns what they point to, or None."""
    integers = _integers(numbers)
    if integers is not None:
        options.integers = integers.buffer_info()[0]
        options.integers_dtype = DTYPES["i64" if integers.typecode == "q" else "u64"]
    return integers


def _cleared(name, n):
    """Returns a new array of n zeros of 8 bytes, and where they are."""
    made = new_array(name, [n])
    pointer = View(made).array.data
    ctypes.memset(pointer, 0, 8 * n)
    return made, pointer


def _copied(name, pointer, n):
    """Returns a copy of n 8-byte numbers in the library's memory."""
    made, to = _cleared(name, n)
    ctypes.memmove(to, pointer, 8 * n)
    return made


def _filled(context, function, handle, n):
    """Returns n doubles that a library function writes."""
    made, pointer = _cleared("f64", n)
    context._call(function, handle, pointer)
    return made


def _options(bins, range, weights):
    """Returns the options, and the numbers to which they point."""
    options = _Options(ctypes.sizeof(_Options))
    numbers = None
    refuse_hidden(bins)
    if weights is not None:
        options.weights = DTYPES[weights]
    if range is not None:
        options.range = 1
        lo, hi = range
        options.lo, options.hi = float(lo), float(hi)
    if isinstance(bins, str):
        if bins not in ("auto", "sturges"):
            raise ArgumentError(f"bins {bins!r} is no rule: 'auto' is")
        options.bins = _AUTO
    elif hasattr(bins, "__index__") and not getattr(bins, "shape", ()):
        options.bins = whole(bins)
        if options.bins < 1:
            raise ArgumentError(f"{options.bins} bins")
    else:
        range = None
        options.range = 0
        bins = bins if hasattr(bins, "__len__") else list(bins)
        options.bins = len(bins) - 1
        if len(bins) < 2:
            raise ArgumentError("a bin has two edges")
        numbers = _set_integers(options, bins)
        if numbers is None:
            numbers = _doubles(bins)
            options.edges = numbers.buffer_info()[0]
    if range is not None:
        numbers = _set_integers(options, (lo, hi))
    return options, numbers


def _views(x, weights, dtype, null):
    """Returns views of an array and of its weights, or None."""
    if weights is None:
        return View(x, dtype, null), None
    return views_of(null, (x, dtype), (weights, None))


def _pointer(view):
    return byref(view.array) if view is not None else None


HistogramInfo = namedtuple("HistogramInfo", "dtype weights edges bins count below above nan")


class Histogram(Mergeable):
    """Counts in given bins: absorbs arrays, merges histograms, saves and loads.

    dtype: of the elements. weights: the dtype of the weights (None: no weights). bins: the number of
    even bins over range, which is a pair; or the edges. Counts do not depend on how the data are
    divided, nor do sums of weights, which are exact and rounded once. Errors: ArgumentError (bins that
    histogram() refuses too; weights where there are none, or the reverse), DtypeError, ShapeError (arrays
    that do not fit), StateError (merge and retract: other bins; more than there is to take out).

    >>> h = bitfold.Histogram("f64", bins=2, range=(0, 8)).absorb(numpy.array([1.0, 5, 9]))
    >>> h.counts, h.above
    (array([1, 1]), 1)
    """

    def __init__(self, dtype, bins=10, range=None, weights=None, context=None):
        self._start(context)
        options, edges = _options(bins, range, None if weights is None else dtype_name(weights))
        self._context._call(
            lib.bf_histogram_create, self._context._handle, DTYPES[dtype_name(dtype)],
            byref(options), byref(self._handle),
        )  # fmt: skip

    def _start(self, context):
        from . import _default_context

        self._context = context or _default_context()
        self._handle = c_void_p()

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.bf_histogram_destroy(self._handle)

    @classmethod
    def of(
        cls, x, bins=10, range=None, weights=None, *, dtype=None, null="error", context=None
    ):
        """Returns a histogram of an array. Without a range, the bins span its finite elements.
        bins="auto" chooses their number by Sturges' rule."""
        made = cls.__new__(cls)
        made._start(context)
        view, weight_view = _views(x, weights, dtype, null)
        options, edges = _options(bins, range, weight_view and weight_view.dtype)
        made._context._call(
            lib.bf_histogram_of, made._context._handle, _pointer(view), _pointer(weight_view),
            byref(options), byref(made._handle),
        )  # fmt: skip
        return made

    def absorb(self, x, weights=None, *, dtype=None, null="error"):
        """Counts the elements of an array. A bf16 histogram reads 16-bit integers as bf16. Returns the
        histogram."""
        view, weight_view = _views(x, weights, dtype_for(x, self.info().dtype, dtype), null)
        self._context._call(
            lib.bf_histogram_absorb, self._handle, _pointer(view), _pointer(weight_view)
        )
        return self

    def merge(self, other):
        """Merges another histogram with the same bins, which is unchanged. Returns the histogram."""
        self._require_kind(other)
        self._context._call_with(
            other._context, lib.bf_histogram_merge, self._handle, other._handle
        )
        return self

    def retract(self, other):
        """Takes out another histogram with the same bins, exactly. Returns the histogram."""
        self._require_kind(other)
        self._context._call_with(
            other._context, lib.bf_histogram_retract, self._handle, other._handle
        )
        return self

    def __isub__(self, other):
        """state -= other: retract."""
        return self.retract(other) if isinstance(other, Histogram) else NotImplemented

    def clear(self):
        """Makes all counts zero. Returns the histogram."""
        self._context._call(lib.bf_histogram_clear, self._handle)
        return self

    def info(self):
        """Returns a HistogramInfo: dtypes, and the numbers of bins, of all elements, and of those in
        no bin."""
        info = sized(_Info)
        self._context._call(lib.bf_histogram_describe, self._handle, byref(info))
        weights = NAMES[info.weights] if info.weights else None
        return HistogramInfo(
            NAMES[info.dtype], weights, NAMES[info.edges], info.bins, info.count, info.below,
            info.above, info.nan,
        )

    @property
    def below(self):
        """The number of elements below the first edge."""
        return self.info().below

    @property
    def above(self):
        """The number of elements above the last edge."""
        return self.info().above

    @property
    def nan(self):
        """The number of NaNs."""
        return self.info().nan

    @property
    def counts(self):
        """A copy of the counts, an array of int64."""
        return _copied("i64", lib.bf_histogram_counts(self._handle), self.info().bins)

    @property
    def edges(self):
        """A copy of the edges (one more than bins): an array of float64; of int64 or uint64 where they
        are integers beyond 2**53."""
        integers = lib.bf_histogram_integers(self._handle)
        info = self.info()
        if integers:
            return _copied(info.edges, integers, info.bins + 1)
        return _copied("f64", lib.bf_histogram_edges(self._handle), info.bins + 1)

    def weights(self):
        """Returns the exact sum of each bin's weights, rounded once: an array of float64."""
        return _filled(self._context, lib.bf_histogram_weights, self._handle, self.info().bins)

    def density(self):
        """Returns the density of each bin, an array of float64. Its integral is 1."""
        return _filled(self._context, lib.bf_histogram_density, self._handle, self.info().bins)

    def save(self):
        """Returns the histogram as bytes: portable, with a version and a checksum."""
        return self._saved(lib.bf_histogram_save_size, lib.bf_histogram_save)

    @classmethod
    def load(cls, data, context=None):
        """Returns the histogram that save() wrote. Other bytes raise StateError."""
        made = cls.__new__(cls)
        made._start(context)
        data = bytes(data)
        made._context._call(
            lib.bf_histogram_load, made._context._handle, data, len(data), byref(made._handle)
        )
        return made


def histogram(
    a, bins=10, range=None, weights=None, density=False, *, dtype=None, null="error", context=None
):
    """Returns (counts, edges) as numpy.histogram does: sums of weights instead of counts if there are
    weights, densities if density is true. n values (int64, of weights and densities float64) for n + 1
    edges (float64; int64 or uint64 where they are integers beyond 2**53). Both are arrays of the kind
    of a.

    bins: the number of bins, "auto" (by Sturges' rule), or ascending edges. range: a pair; by default
    the least and the greatest finite element. Integers compare with edges, and with the ends of a range,
    that are integers as integers. NaNs and elements outside the range are in no bin;
    Histogram.of() counts them.

    Errors: ArgumentError (no bin, edges that do not increase, a range that is not finite, or too many
    bins for its floats), ShapeError (weights of another shape).

    >>> bitfold.histogram(numpy.array([3.0, 5, 9, 3]), bins=3)
    (array([2, 1, 1]), array([3., 5., 7., 9.]))
    """
    if are_times(a):
        return histogram_of(histogram, a, bins, range, weights, density, null=null, context=context)
    made = Histogram.of(a, bins, range, weights, dtype=dtype, null=null, context=context)
    values = made.density() if density else made.counts if weights is None else made.weights()
    views = (View(values), View(made.edges))
    return tuple(copied_like(a, v.dtype, [v.array.shape[0]], v.array.data) for v in views)


def bincount(x, minlength=0, *, dtype=None, null="error", context=None):
    """Returns how often each integer from 0 to the greatest, at least to minlength - 1, occurs in an
    array of integers, as an array of int64.

    Errors: ArgumentError (negative integers), DtypeError (floats).

    >>> bitfold.bincount(numpy.array([0, 2, 2]), minlength=4)
    array([1, 0, 2, 0])
    """
    from . import _default_context, max

    context = context or _default_context()
    view = View(x, dtype, null)
    elements = 1
    for extent in view.array.shape[: view.array.ndim]:
        elements *= extent
    n = int(max(x, dtype=dtype, null=null, context=context)) + 1 if elements else 0
    minlength = whole(minlength)
    n = minlength if minlength > n else n
    if n < 1:
        if elements:
            raise ArgumentError("negative integers")
        return new_like(x, "i64", [0])
    (counts, pointer), others = _cleared("i64", n), c_int64()
    context._call(
        lib.bf_bincount, context._handle, byref(view.array), pointer, n, byref(others)
    )
    if others.value:
        raise ArgumentError("negative integers")
    return copied_like(x, "i64", [n], pointer)
