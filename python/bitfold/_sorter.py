"""Sorting streams (order.h)."""

import ctypes
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_void_p

from ._arrays import View, maker_of, new_array
from ._group import _elements, _filled, _new
from ._library import NAN_POLICIES, Array, lib, whole
from ._map import _default_context
from ._table import _name_of, _number_of


class _Options(ctypes.Structure):
    """bf_sorter_options"""

    _fields_ = [
        ("size", c_size_t), ("dtype", c_int), ("different", c_int), ("beside", c_int),
        ("descending", c_int), ("nan", c_int), ("memory", c_int64),
    ]  # fmt: skip


_ARRAY = POINTER(Array)
_SIGNATURES = {
    "create": (c_int, c_void_p, POINTER(_Options), POINTER(c_void_p)),
    "destroy": (None, c_void_p),
    "add": (c_int, c_void_p, _ARRAY, _ARRAY),
    "end": (c_int, c_void_p, POINTER(c_int64)),
    "next": (c_int, c_void_p, _ARRAY, _ARRAY, POINTER(c_int64)),
}
lib.declare({f"bf_sorter_{name}": types for name, types in _SIGNATURES.items()})

_PART = 1 << 16  # elements that an iteration gives at a time


class Sorter:
    """Sorts elements that come in parts, more than memory holds: what the memory of the context does not
    hold goes to the directory to which it spills (Context: memory, spill).

    >>> with bitfold.Sorter("f64") as s:
    ...     s = s.add(numpy.array([5.0, 3])).add(numpy.array([9.0, 1, 2]))
    ...     s.next(3), s.next(3)
    (array([1., 2., 3.]), array([5., 9.]))

    dtype: any, "i128" too, or "pair" (arrays of u64 whose last dimension is 2). different: each different
    element once, ascending, as unique() has it. beside: an int64 goes with each element, its position
    among all that were added, or of different ones how often it occurs; parts are then two arrays.
    descending and nan are as of sort(), but nan="skip" leaves NaNs out. memory: the bytes that this sorter
    may take before it spills (0: half of what the context has left); several sorters of a context need
    shares that they all have.

    Iterating gives all parts that are left. Parts are arrays of the kind that was added last; before, of
    NumPy. The end of `with` frees what the sorter holds. Errors: ArgumentError, DtypeError, ShapeError,
    NanError (add), StateError (add: elements were given already; all: a call failed before),
    OutOfMemoryError, FileError (there is no room to spill to)."""

    _make = staticmethod(new_array)

    def __init__(
        self, dtype, *, different=False, beside=False, descending=False, nan="propagate", memory=0,
        context=None,
    ):  # fmt: skip
        from . import _number

        self._context = context or _default_context()
        self._handle = c_void_p()
        self.dtype, self._beside = _name_of(dtype), bool(beside)
        options = _Options(
            ctypes.sizeof(_Options), _number_of(self.dtype), bool(different), bool(beside),
            bool(descending), _number(NAN_POLICIES, "nan policy", nan), whole(memory, c_int64),
        )  # fmt: skip
        self._call(lib.bf_sorter_create, self._context._handle, byref(options), byref(self._handle))

    def _call(self, function, *arguments):
        self._context._call(function, *arguments)

    def close(self):
        """Frees what the sorter holds: nothing else can be done with it then."""
        handle, self._handle = self._handle, c_void_p()
        lib.bf_sorter_destroy(handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, x, beside=None, *, null="error"):
        """Adds the elements of an array, in C order. beside: int64, what goes with each, in place of its
        position or of 1. null="skip" leaves out NULLs, which count no position. Returns the sorter."""
        make = maker_of(x)
        values = _elements(x, self.dtype, null)
        numbers = None if beside is None else View(beside, "i64")
        self._call(
            lib.bf_sorter_add, self._handle, byref(values.array),
            None if numbers is None else byref(numbers.array),
        )  # fmt: skip
        self._make = make
        return self

    def __len__(self):
        """Ends adding. The number of elements that are given in all."""
        count = c_int64()
        self._call(lib.bf_sorter_end, self._handle, byref(count))
        return count.value

    def next(self, n):
        """Ends adding. Returns the next n elements in order, or fewer at the end; with what goes with
        them, if the sorter has that."""
        n, found = whole(n, c_int64), c_int64()
        made, array = _new(self._make, self.dtype, n)
        numbers, beside = _new(self._make, "i64", n) if self._beside else (None, None)
        self._call(
            lib.bf_sorter_next, self._handle, byref(array),
            None if beside is None else byref(beside), byref(found),
        )  # fmt: skip
        values = _filled(self._make, self.dtype, made)[: found.value]
        return (values, numbers[: found.value]) if self._beside else values

    def __iter__(self):
        while True:
            part = self.next(_PART)
            if len(part[0] if self._beside else part) == 0:
                return
            yield part
