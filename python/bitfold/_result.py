"""Arrays of results for callers without NumPy, CuPy and PyTorch."""

import ctypes
import functools
import itertools
import os
import struct
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p, py_object

from ._dtypes import BY_KIND, LONG_NAMES
from ._exchange import CPU, _call, _Column, _get_pointer, _is_valid, _Schema, _Stream
from ._library import DTYPES, Array, lib

# The names of NumPy, where the bits of bf16 are u16.
TYPESTR = {name: ("|" if kind[1] == "1" else "<") + kind for kind, name in BY_KIND.items()}
TYPESTR["bf16"] = TYPESTR["u16"]
_ELEMENTS = {
    "bool": ctypes.c_bool, "f16": ctypes.c_uint16, "bf16": ctypes.c_uint16, "f32": ctypes.c_float,
    "f64": ctypes.c_double, "i128": ctypes.c_uint64 * 2,
    **{name: getattr(ctypes, f"c_{long}") for long, name in LONG_NAMES.items() if "int" in long},
}  # fmt: skip
_SHOWN = 6  # elements of an array's repr

_OWNER, _RELEASE = c_void_p, ctypes.CFUNCTYPE(None, c_void_p)
_SIGNATURES = {
    "bf_array_to_dlpack": (
        c_int, c_void_p, POINTER(Array), c_int, _RELEASE, _OWNER, POINTER(c_void_p),
    ),
    "bf_array_to_dlpack_unversioned": (
        c_int, c_void_p, POINTER(Array), _RELEASE, _OWNER, POINTER(c_void_p),
    ),
    "bf_array_to_arrow": (
        c_int, c_void_p, POINTER(Array), _RELEASE, _OWNER, POINTER(_Schema), POINTER(_Column),
    ),
}  # fmt: skip
lib.declare(_SIGNATURES)


# ---- what others hold -----------------------------------------------------------------------------

_held: dict = {}  # arrays whose memory others use
_numbers = itertools.count(1)


def _hold(thing):
    """Keeps a thing alive, until it is released by the number that this returns."""
    number = next(_numbers)
    _held[number] = thing
    return number


@_RELEASE
def _release(number, held=_held):
    del held[number]


# Others may release after this module is gone: at exit, its names are cleared.
ctypes.pythonapi.Py_IncRef(py_object(_release))


class _Tensor(ctypes.Structure):
    """DLManagedTensor"""


class _VersionedTensor(ctypes.Structure):
    """DLManagedTensorVersioned"""


_Tensor._fields_ = [
    ("tensor", ctypes.c_uint64 * 6), ("manager", c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, POINTER(_Tensor))),
]  # fmt: skip
_VersionedTensor._fields_ = [
    ("version", ctypes.c_uint32 * 2), ("manager", c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, POINTER(_VersionedTensor))),
]  # fmt: skip
_TENSORS = {b"dltensor": _Tensor, b"dltensor_versioned": _VersionedTensor}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes, _new_capsule.restype = [c_void_p, c_char_p, c_void_p], py_object


class _Given:
    """A capsule that was given away, and what is in it: a tensor or a structure of Arrow."""

    def __init__(self, capsule=None, struct=None):
        self.capsule, self.struct = capsule, struct

    def free(self):
        """Frees what nobody has taken: who takes a tensor gives its capsule another name, and who takes
        a structure of Arrow clears its release."""
        if isinstance(self.struct, (_Schema, _Column, _Stream)):
            if self.struct.release:
                self.struct.release(byref(self.struct))
            return
        for name, kind in _TENSORS.items():
            if _is_valid(self.capsule, name):
                tensor = kind.from_address(_get_pointer(self.capsule, name))
                tensor.deleter(byref(tensor))


# Capsules have no destructors: one written in Python could not run while an exception is on its way.
# So each is kept, until nobody else has it. The first shows how often one is counted that only this
# list has.
_given = [_Given(object())]
_lock = threading.RLock()


def _renew_lock():
    """Makes the lock anew in a child of a fork: a thread that is not there may have held it."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _sweep():
    """Frees the capsules that nobody has any more."""
    with _lock:
        alone = sys.getrefcount(_given[0].capsule)
        others = [each for each in _given[1:] if sys.getrefcount(each.capsule) <= alone]
        for each in others:
            each.free()
            _given.remove(each)


def _give(pointer, name, struct=None):
    """Returns a capsule."""
    _sweep()
    capsule = _new_capsule(pointer, name, None)
    with _lock:
        _given.append(_Given(capsule, struct))
    return capsule


# ---- arrays ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _kinds(name, shape, scale):
    """Returns the class of an array and that of its memory. Both are one, so that the array has a
    buffer, but of f16, i128 and decimals: the buffers of ctypes cannot name them."""
    memory = _ELEMENTS[name]
    for extent in reversed(shape):
        memory *= extent
    members = {"dtype": name, "shape": shape, "scale": scale}
    if name in ("f16", "i128") or scale:
        return type("Result", (Result,), {**members, "_memory": None}), memory
    kind = type("Result", (Result, memory), members)
    return kind, kind


def new_result(name, shape, source=None, offset=0, scale=0):
    """Returns a new array of zeros, or one of the memory of a source, from byte `offset` on."""
    if len(_given) > 1:
        _sweep()
    kind, memory = _kinds(name, tuple(shape), scale)
    made = memory() if source is None else memory.from_buffer(source, offset)
    if kind is not memory:
        inner, made = made, kind()
        made._memory = inner
    return made


def _restore(name, shape, data, scale=0):
    made = new_result(name, shape, scale=scale)
    ctypes.memmove(made._address, data, len(data))
    return made


def _decimal(units, scale):
    """Returns units * 10^-scale, without zeros at the end of its fraction."""
    from decimal import Decimal  # it takes long to load

    while scale and units % 10 == 0:
        units, scale = units // 10, scale - 1
    return Decimal(f"{units}e-{scale}")


def _to_number(name, held, scale=0):
    """Returns an element as ctypes holds it as a number."""
    if name == "i128":
        held = int.from_bytes(bytes(held), sys.byteorder, signed=True)
    if scale:
        return _decimal(held, scale)
    if name == "f16":
        return struct.unpack("e", struct.pack("H", held))[0]
    if name == "bf16":
        return struct.unpack("f", struct.pack("I", held << 16))[0]
    return held


@functools.lru_cache(maxsize=None)
def _format_of(scale):
    """Returns Arrow's format of decimals, which is kept for all who have it."""
    return f"d:38,{scale}".encode()


class Result:
    """An array of results, of which others take the memory without a copy: by the buffer protocol (f16
    has none, and bf16 is u16 there), __array_interface__, DLPack and, of one dimension, Arrow. Of i128 and of
    decimals there is Arrow alone, for which those of i64 are copied.

    dtype: bitfold's name of it. shape: a tuple. scale: elements are decimals in units of 10^-scale, if it is
    above 0. result[i] is a number or, of more dimensions, an array, and result[i:j] is an array of the same
    memory.

    >>> import array
    >>> bitfold.sort(array.array("d", [5.0, 3, 9, 3]))
    Result([3.0, 3.0, 5.0, 9.0], dtype='f64')
    """

    @property
    def _memory(self):
        return self

    @property
    def _address(self):
        return ctypes.addressof(self._memory)

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self):
        if not self.shape:
            raise TypeError("an array of no dimensions has no length")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        if not key:
            return self if self.shape else self._number(self._memory)
        if len(key) > self.ndim:
            raise IndexError(f"{len(key)} indices into {self.ndim} dimensions")
        first, rest = key[0], key[1:]
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            if step != 1 or rest:
                raise IndexError("a slice is one of the first dimension, without a step")
            return self._part(start, [stop - start if stop > start else 0, *self.shape[1:]])
        i = range(len(self))[first]
        if self.ndim == 1:
            return self._number(ctypes.Array.__getitem__(self._memory, i))
        return self._part(i, self.shape[1:])[rest]

    def _number(self, held):
        """Returns an element, or the memory of one, as a number."""
        return _to_number(self.dtype, getattr(held, "value", held), self.scale)

    def __setitem__(self, key, value):
        raise TypeError("results are written through their buffer")

    def _part(self, first, shape):
        """Returns the array of this shape that begins at an index of the first dimension."""
        row = ctypes.sizeof(self._memory) // len(self) if len(self) else 0
        return new_result(self.dtype, shape, self._memory, first * row, self.scale)

    def tolist(self):
        """Returns the elements as a list, of lists if there are several dimensions; or a number."""
        if self.ndim == 0:
            return self[()]
        if self.ndim > 1:
            return [row.tolist() for row in self]
        return list(map(self._number, ctypes.Array.__getitem__(self._memory, slice(None))))

    def copy(self):
        """Returns an array of memory of its own."""
        return _restore(self.dtype, self.shape, bytes(self._memory), self.scale)

    def __repr__(self):
        kind = f"dtype={self.dtype!r}" + (f", scale={self.scale}" if self.scale else "")
        if self.ndim == 1 and len(self) > _SHOWN:
            shown = ", ".join(map(repr, self[:_SHOWN])) + ", ..."
            return f"Result([{shown}], shape={self.shape}, {kind})"
        return f"Result({self.tolist()!r}, {kind})"

    def __reduce__(self):
        return _restore, (self.dtype, self.shape, bytes(self._memory), self.scale)

    # ---- for others ----

    @property
    def __array_interface__(self):
        if self.dtype == "i128" or self.scale:  # NumPy makes objects of the elements
            raise AttributeError("decimals and i128 have no interface of NumPy's")
        return {
            "version": 3, "shape": self.shape, "typestr": TYPESTR[self.dtype],
            "data": (self._address, False),
        }  # fmt: skip

    def _widened(self):
        """Returns the same decimals in i128."""
        units = ctypes.Array.__getitem__(self._memory, slice(None))
        data = b"".join(each.to_bytes(16, sys.byteorder, signed=True) for each in units)
        return _restore("i128", self.shape, data, self.scale)

    def _array(self):
        """Returns the memory as a bf_array."""
        array, step = Array(self._address, DTYPES[self.dtype], self.ndim), 1
        for d in reversed(range(self.ndim)):
            array.shape[d], array.strides[d] = self.shape[d], step
            step *= self.shape[d]
        return array

    def _lend(self, function, outputs, *options):
        """Has the library make structures, which hold this array until they are released."""
        owner = _hold(self)
        try:
            _call(function, byref(self._array()), *options, _release, owner, *map(byref, outputs))
        except BaseException:
            _release(owner)
            raise

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, (CPU, 0)):
            raise BufferError(f"the array is in the host's memory, not on device {dl_device}")
        if self.scale:
            raise BufferError("DLPack has no decimals")
        made, x = c_void_p(), self.copy() if copy else self
        if max_version is None or max_version[0] < 1:
            x._lend(lib.bf_array_to_dlpack_unversioned, [made])
            return _give(made, b"dltensor")
        x._lend(lib.bf_array_to_dlpack, [made], 0)
        return _give(made, b"dltensor_versioned")

    def __arrow_c_array__(self, requested_schema=None):
        if self.scale and self.dtype != "i128":
            return self._widened().__arrow_c_array__()
        schema, column = _Schema(), _Column()
        self._lend(lib.bf_array_to_arrow, [schema, column])
        if self.scale:
            schema.format = _format_of(self.scale)
        return tuple(
            _give(ctypes.addressof(struct), name, struct)
            for struct, name in ((schema, b"arrow_schema"), (column, b"arrow_array"))
        )
