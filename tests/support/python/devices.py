"""Where the tests compute: on the CPU in several ways and, where there is one, on a GPU."""

import ctypes
import os
import unittest
import weakref
from ctypes import byref, c_size_t, c_void_p

import numpy as np

import bitfold
from bitfold import _library
from oracle import same

_lib = _library.lib
_lib.bf_memory_allocate.argtypes = [c_void_p, c_size_t, ctypes.POINTER(c_void_p)]
_lib.bf_memory_copy.argtypes = [c_void_p, c_void_p, c_void_p, c_size_t]
_lib.bf_memory_free.argtypes = [c_void_p, c_void_p]
_lib.bf_memory_free.restype = None


def gpus():
    """A context of the first GPU, if there is one that can be used."""
    try:
        return [bitfold.Context(device="cuda")]
    except bitfold.DeviceError:
        return []


def chosen(contexts):
    """BITFOLD_ONLY=cuda leaves the GPU alone, BITFOLD_ONLY=cpu the others."""
    only = os.environ.get("BITFOLD_ONLY", "")
    found = [each for each in contexts if each.device.startswith(only)]
    if not found:
        raise unittest.SkipTest("no GPU here, and BITFOLD_ONLY asks for one")
    return found


def contexts(threads):
    """Every instruction set with each of these numbers of threads, and the GPU, or those that are chosen."""
    ways = [(isa, n) for isa in bitfold.isas() for n in threads]
    return chosen([bitfold.Context(device="cpu", isa=isa, threads=n) for isa, n in ways] + gpus())


def some(contexts, number, random):
    """As many different ones of the contexts, or all."""
    chosen = random.choice(len(contexts), min(number, len(contexts)), replace=False)
    return [contexts[i] for i in chosen]


class OnGpu:
    """An array's memory, copied to a GPU's: strides and alignment are what they were."""

    def __init__(self, x, context):
        memory = c_void_p()
        steps = [(n - 1) * s for n, s in zip(x.shape, x.strides)] if x.size else []
        low = sum(min(step, 0) for step in steps)
        size = sum(abs(step) for step in steps) + (x.itemsize if x.size else 0)
        first = x.ctypes.data + low
        offset = first % 256
        context._call(_lib.bf_memory_allocate, context._handle, offset + size, byref(memory))
        weakref.finalize(self, _free, memory, context)
        at = memory.value + offset
        context._call(_lib.bf_memory_copy, context._handle, at, first, size)
        self.__cuda_array_interface__ = {
            "version": 3, "shape": x.shape, "typestr": x.dtype.str, "strides": x.strides,
            "data": (at - low, False), "stream": None,
        }  # fmt: skip


def _free(memory, context):
    """Frees a GPU's memory. Its argument keeps the context alive until then."""
    _lib.bf_memory_free(context._handle, memory)


def placed(x, context):
    """An array as the context likes it best: NumPy's on a GPU in the GPU's memory."""
    on_gpu = context.device.startswith("cuda") and isinstance(x, np.ndarray)
    return OnGpu(x, context) if on_gpu else x


class _Everywhere:
    """bitfold's functions, called on the CPU and on the GPU, which have to give the same."""

    def __init__(self):
        self.contexts = [bitfold.Context(device="cpu"), *gpus()]

    def __getattr__(self, name):
        return lambda *arrays, **options: self._call(getattr(bitfold, name), arrays, options)

    def _call(self, function, arrays, options):
        found = [_outcome(function, arrays, context, options) for context in self.contexts]
        for other in found[1:]:
            assert _alike(other, found[0]), f"{function.__name__}: {other!r}, not {found[0]!r}"
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]


def _outcome(function, arrays, context, options):
    try:
        arrays = [placed(x, context) for x in arrays]
        return function(*arrays, context=context, **options)
    except bitfold.Error as error:
        return error


def _alike(a, b):
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b)
    return same(a, b)


everywhere = _Everywhere()
