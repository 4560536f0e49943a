"""Columns of Arrow on a device, for tests: what cuDF gives, of any memory."""

import ctypes

from bitfold._exchange import _Column, _DeviceColumn, _Schema

CPU, CUDA, CUDA_HOST = 1, 2, 3
FORMATS = {"f8": b"g", "f4": b"f", "i8": b"l", "i4": b"i", "u1": b"C"}

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class DeviceColumn:
    """A column of n elements at an address, of a dtype or a format of Arrow. event: that of a cudaEvent_t; valid: that of bits."""

    def __init__(self, address, n, dtype="f8", device_type=CPU, event=None, valid=None, owner=None):
        self._owner, self._event = owner, ctypes.c_void_p(event)
        self._buffers = (ctypes.c_void_p * 2)(valid, address)
        self._schema = _Schema(format=FORMATS.get(dtype, dtype), release=_release_schema)
        column = _Column(
            length=n, null_count=-1 if valid else 0, n_buffers=2, release=_release_column,
            buffers=ctypes.addressof(self._buffers),
        )  # fmt: skip
        self._device = _DeviceColumn(column, 0, device_type)
        if event is not None:
            self._device.sync_event = ctypes.addressof(self._event)

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        return (
            _new(ctypes.addressof(self._schema), b"arrow_schema", None),
            _new(ctypes.addressof(self._device), b"arrow_device_array", None),
        )


@dict(_Schema._fields_)["release"]
def _release_schema(_):
    pass


@dict(_Column._fields_)["release"]
def _release_column(_):
    pass
