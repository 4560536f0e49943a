"""Tensors whose type has a table of functions, __dlpack_c_exchange_api__ (DLPack 1.2), as PyTorch's have."""

import ctypes
from ctypes import POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object

import numpy as np

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _View(Structure):
    """DLTensor"""

    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    ]  # fmt: skip


_Deleter = PYFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("manager", c_void_p), ("deleter", _Deleter), ("flags", c_uint64),
        ("view", _View),
    ]  # fmt: skip


_SetError = PYFUNCTYPE(None, c_void_p, c_char_p, c_char_p)


class _Table(Structure):
    """DLPackExchangeAPI"""

    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("earlier", c_void_p),
        ("allocate", PYFUNCTYPE(c_int, POINTER(_View), POINTER(c_void_p), c_void_p, _SetError)),
        ("managed_of", PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))),
        ("object_of", PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))),
        ("tensor_of", c_void_p),
        ("stream_of", c_void_p),
    ]  # fmt: skip


class Tensor:
    """An array of NumPy as a tensor. options: what of it is otherwise than it should be."""

    made: dict = {}  # what owns memory, by address
    allocates = True

    def __init__(self, array, is_neg=False, requires_grad=False, **options):
        self.array, self.requires_grad, self._is_neg, self._options = array, requires_grad, is_neg, options
        Tensor.allocates = options.get("allocates", True)

    def is_neg(self):
        return self._is_neg

    @property
    def shape(self):
        return self.array.shape

    @property
    def ndim(self):
        return self.array.ndim

    def item(self):
        return self.array.item()

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        return Tensor(self.array[key])

    def clone(self):
        return Tensor(self.array.copy())


def _fill(view, array, options):
    view.data, view.device_type, view.ndim = array.ctypes.data, options.get("device", 1), array.ndim
    view.code, view.bits = options.get("code", CODES[array.dtype.kind]), 8 * array.itemsize
    view.lanes = options.get("lanes", 1)
    kept = (c_int64 * 8)(*array.shape), (c_int64 * 8)(*(step // array.itemsize for step in array.strides))
    view.shape, view.strides = kept
    return kept


@_Deleter
def _delete(managed):
    del Tensor.made[managed]


def _manage(array, options):
    """Returns the address of a tensor that owns the memory of an array until it is deleted."""
    managed = _Managed(1, 0, None, _delete, options.get("flags", 0))
    kept = _fill(managed.view, array, options)
    Tensor.made[ctypes.addressof(managed)] = array, managed, kept
    return ctypes.addressof(managed)


@_Table._fields_[4][1]
def _managed_of(x, made):
    if x._options.get("fails"):
        return -1
    made[0] = _manage(x.array, x._options)
    return 0


@_Table._fields_[3][1]
def _allocate(like, made, to, set_error):
    if not Tensor.allocates:
        set_error(to, b"MemoryError", b"there is none")
        return -1
    view = like[0]
    kind = next(kind for kind, code in CODES.items() if code == view.code)
    made[0] = _manage(np.zeros(view.shape[: view.ndim], f"{kind}{view.bits // 8}"), {})
    return 0


@_Table._fields_[5][1]
def _object_of(managed, made):
    tensor = Tensor(Tensor.made.pop(managed)[0])
    ctypes.pythonapi.Py_IncRef(py_object(tensor))
    made[0] = id(tensor)
    return 0


_FUNCTIONS = None, _allocate, _managed_of, _object_of, None, None
_tables = []  # they stay as long as the process
_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [c_void_p, c_char_p, c_void_p], py_object
_NAME = b"dlpack_exchange_api"


def _capsule(version):
    _tables.append(_Table(version, 3, *_FUNCTIONS))
    return _new(ctypes.addressof(_tables[-1]), _NAME, None)


Tensor.__dlpack_c_exchange_api__ = _capsule(1)


def with_table_of_version(version):
    """Returns a type of its own whose table is of this version."""
    return type("Tensor", (), {**vars(Tensor), "__dlpack_c_exchange_api__": _capsule(version)})
