"""Quantiles of data that are read again (order.h)."""

import ctypes
from collections import namedtuple
from ctypes import POINTER, byref, c_double, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, View, dtype_name, to_python, value_of
from ._library import DTYPES, Array, ArgumentError, Value, lib, sized, whole
from ._mergeable import Mergeable
from ._order._calls import _method, _Options, _options
from ._lists import dtype_for
from ._map import _default_context


class _Info(ctypes.Structure):
    """bf_quantiles_info"""

    _fields_ = [
        ("size", c_size_t), ("dtype", c_int), ("to", c_int), ("results", c_int), ("pass_", c_int),
        ("done", c_int), ("count", c_int64), ("all", c_int64), ("nan", c_int64),
        ("scale", c_int),
    ]  # fmt: skip


_SIGNATURES = {
    "create": (c_int, c_void_p, c_int, POINTER(c_double), c_int, POINTER(_Options), POINTER(c_void_p)),
    "destroy": (None, c_void_p),
    "absorb": (c_int, c_void_p, POINTER(Array)),
    "merge": (c_int, c_void_p, c_void_p),
    "next": (c_int, c_void_p, POINTER(c_int)),
    "result": (c_int, c_void_p, POINTER(Value)),
    "describe": (c_int, c_void_p, POINTER(_Info)),
    "save_size": (c_size_t, c_void_p),
    "save": (c_int, c_void_p, c_void_p),
    "load": (c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p)),
}
lib.declare({f"bf_quantiles_{name}": types for name, types in _SIGNATURES.items()})

QuantilesInfo = namedtuple("QuantilesInfo", "dtype to results pass_ done count all nan scale")


class Quantiles(Mergeable):
    """Quantiles, or the median, of data larger than memory: exact, in a few passes over the same
    elements, with 3.7 MB.

    >>> parts = [numpy.array([5.0, 3]), numpy.array([9.0, 3])]
    >>> q = bitfold.Quantiles("f64", [0.5, 0.75])
    >>> while not q.done:
    ...     for part in parts:  # the same elements each time, in any order and parts
    ...         q = q.absorb(part)
    ...     found = q.next()
    >>> q.result()
    [4.0, 6.0]

    q: a number from 0 to 1, at most 32 of them, or None, the median. Elements of 1 or 2 bytes take one
    pass, of 4 mostly two, of 8 two or three. method, nan and empty are as of quantile(). scale: integers
    stand for themselves times 10^-scale, also those of columns of decimals; a result that is an element is
    a decimal.Decimal then. Errors: ArgumentError (q outside 0 to 1, none, or more than 32; decimals of
    another scale), DtypeError (arrays of another dtype),
    StateError (merge: of another kind or pass; absorb: after the last pass, or not the elements of the
    first; result: before the end), EmptyError and NanError (result)."""

    def __init__(
        self, dtype, q=None, *, method="linear", nan="propagate", empty=None, scale=0, context=None
    ):
        self._context = context or _default_context()
        self._handle = c_void_p()
        name = dtype_name(dtype)
        numbers = [] if q is None else list(map(float, [q] if not hasattr(q, "__len__") else q))
        options = _options(nan=nan, method=method)
        options.scale = whole(scale, c_int)
        if empty is not None:
            to = lib.bf_quantile_dtype(DTYPES[name], _method(method))
            to = lib.bf_median_dtype(DTYPES[name]) if q is None else to
            options.empty = ctypes.pointer(value_of(empty, NAMES[to]))
        self._one = q is None or not hasattr(q, "__len__")
        self._context._call(
            lib.bf_quantiles_create, self._context._handle, DTYPES[name],
            (c_double * len(numbers))(*numbers) if q is not None else None, len(numbers),
            byref(options), byref(self._handle),
        )  # fmt: skip

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.bf_quantiles_destroy(self._handle)

    def absorb(self, x, *, dtype=None, null="error"):
        """Takes the elements of an array into this pass. Returns the object."""
        kind = self.info()
        view = View(x, dtype_for(x, kind.dtype, dtype), null, decimals=True)
        if view.scale not in (None, kind.scale):
            raise ArgumentError(f"decimals of scale {view.scale}, not {kind.scale}")
        self._context._call(lib.bf_quantiles_absorb, self._handle, byref(view.array))
        return self

    def merge(self, other):
        """Adds what another object has absorbed in this pass: both are new, or both were loaded from
        what one saved when the pass began. Returns the object."""
        self._require_kind(other)
        self._context._call_with(
            other._context, lib.bf_quantiles_merge, self._handle, other._handle
        )
        return self

    def next(self):
        """Ends the pass. Returns whether all is found."""
        done = c_int()
        self._context._call(lib.bf_quantiles_next, self._handle, byref(done))
        return bool(done.value)

    @property
    def done(self):
        """Whether all is found."""
        return self.info().done

    def result(self):
        """Returns the quantiles, a list if q was one; or the median. One that is an element is what an
        element of the dtype is: an integer has every digit, and of a scale it is a decimal."""
        values = (Value * self.info().results)()
        self._context._call(lib.bf_quantiles_result, self._handle, values)
        found = list(map(to_python, values))
        return found[0] if self._one else found

    def info(self):
        """Returns a QuantilesInfo: the dtypes of elements and of results between them, the number of
        results, the pass, from 1, whether all is found, the elements of this pass, those of the first
        and NaNs, and the scale."""
        i = sized(_Info)
        self._context._call(lib.bf_quantiles_describe, self._handle, byref(i))
        return QuantilesInfo(
            NAMES[i.dtype], NAMES[i.to], i.results, i.pass_, bool(i.done), i.count, i.all, i.nan,
            i.scale,
        )  # fmt: skip

    def save(self):
        """Returns the object as bytes: portable, with a version and a checksum."""
        return self._saved(lib.bf_quantiles_save_size, lib.bf_quantiles_save)

    # Whether q was a number or a list is not in the saved form.

    def _copied(self):
        made = super()._copied()
        made._one = self._one
        return made

    def __reduce__(self):
        return (*super().__reduce__(), {"_one": self._one})

    @classmethod
    def load(cls, data, context=None):
        """Returns the object that save() wrote; result() gives a list, or of one result that alone.
        Other bytes raise StateError."""
        found = cls.__new__(cls)
        found._context, found._handle = context or _default_context(), c_void_p()
        data = bytes(data)
        found._context._call(
            lib.bf_quantiles_load, found._context._handle, data, len(data), byref(found._handle)
        )
        found._one = found.info().results == 1
        return found
