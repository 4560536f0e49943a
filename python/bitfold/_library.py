"""libbitfold by ctypes: finds and loads it, and declares its structs, functions and errors."""

import ctypes
import operator
import os
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

I192, I128 = 32, 34  # as in include/bitfold/types.h
NAN_POLICIES = {"propagate": 0, "skip": 1, "error": 2}
CHECKS = {"now": 0, "later": 1}
OVERFLOW_POLICIES = {"error": 0, "wrap": 1}
MAX_DIMS = 8
VALUE_TEXT = 96
MESSAGE_TEXT = 160
DEVICE_AUTO, DEVICE_CPU = -2, -1


class Error(Exception):
    """A call failed. status: the library's number for the reason."""

    status = 0

    def __init__(self, message):
        super().__init__(message)
        self.message = message


class ArgumentError(Error, ValueError):
    """An argument is not valid here."""

    status = 1


class DtypeError(Error, TypeError):
    """The dtype of the data is not supported, or not the one that is needed here."""

    status = 2


class ShapeError(Error, ValueError):
    """Shapes or strides do not match, or are not valid."""

    status = 3


class RangeError(Error, OverflowError):
    """The result, or a count, does not fit its type."""

    status = 4


class NanError(Error, ValueError):
    """The data have a NaN, and the policy is nan="error"."""

    status = 5


class EmptyError(Error, ValueError):
    """There is no value: the input is empty."""

    status = 6


class OutOfMemoryError(Error, MemoryError):
    """The library could not allocate memory."""

    status = 7


class StateError(Error, ValueError):
    """A saved state is damaged, or two states do not belong together."""

    status = 8


class DeviceError(Error, RuntimeError):
    """This machine lacks the device or the instruction set asked for."""

    status = 9


class CancelledError(Error):
    """The context's watch cancelled the call."""

    status = 10


class CommError(Error, RuntimeError):
    """The ranks could not work together: their calls do not agree, or the carrier failed."""

    status = 11


class FileError(Error, OSError):
    """A temporary file cannot be made, written or read."""

    status = 12


ERRORS = {error.status: error for error in Error.__subclasses__()}


class Array(ctypes.Structure):
    """bf_array"""

    _fields_ = [
        ("data", c_void_p), ("dtype", c_int), ("ndim", c_int32),
        ("shape", c_int64 * MAX_DIMS), ("strides", c_int64 * MAX_DIMS),
    ]  # fmt: skip


class _As(ctypes.Union):
    _fields_ = [
        ("i64", c_int64), ("u64", c_uint64), ("f64", ctypes.c_double), ("f32", ctypes.c_float),
        ("bits", ctypes.c_uint16), ("i192", c_uint64 * 3),
    ]  # fmt: skip


class Value(ctypes.Structure):
    """bf_value"""

    _fields_ = [("dtype", c_int), ("scale", c_int32), ("as_", _As)]


def sized(struct):
    """Makes a struct of the library that begins with its size, which is set."""
    return struct(ctypes.sizeof(struct))


class Options(ctypes.Structure):
    """bf_options"""

    _fields_ = [
        ("size", c_size_t), ("device", c_char_p), ("isa", c_char_p), ("threads", c_int),
        ("stream", c_void_p), ("memory", c_int64), ("spill", c_char_p),
    ]  # fmt: skip


TICK = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64)


class Watch(ctypes.Structure):
    """bf_watch"""

    _fields_ = [("size", c_size_t), ("every_ns", c_int64), ("tick", TICK), ("arg", c_void_p)]


class ReduceOptions(ctypes.Structure):
    """bf_reduce_options"""

    _fields_ = [
        ("size", c_size_t), ("nan", c_int), ("out_dtype", c_int), ("ddof", c_int),
        ("overflow", c_int), ("empty", POINTER(Value)), ("scale", c_int), ("later", c_int), ("weights", c_int),
    ]  # fmt: skip


class StateInfo(ctypes.Structure):
    """bf_state_info"""

    _fields_ = [
        ("size", c_size_t), ("op", c_int), ("dtype", c_int),
        ("count", c_int64), ("nan", c_int64), ("inf", c_int64), ("next", c_int64), ("scale", c_int),
    ]  # fmt: skip


class WordsInfo(ctypes.Structure):
    """bf_words_info"""

    _fields_ = [("size", c_size_t), ("rule", c_int), ("count", c_int64), ("parts", c_int64)]


class Description(ctypes.Structure):
    """bf_description"""

    _fields_ = [
        ("size", c_size_t), ("n", c_int64), ("nan", c_int64), ("inf", c_int64), ("argmin", c_int64),
        ("argmax", c_int64), ("min", Value), ("max", Value), ("sum", Value), ("mean", Value),
        ("std", Value),
    ]  # fmt: skip


_SIGNATURES = {
    "bf_version": (c_char_p,),
    "bf_status_string": (c_char_p, c_int),
    "bf_context_create": (c_int, POINTER(Options), POINTER(c_void_p)),
    "bf_context_create_message": (None, POINTER(Options), c_char_p),
    "bf_context_destroy": (None, c_void_p),
    "bf_context_message": (c_char_p, c_void_p),
    "bf_context_device": (c_char_p, c_void_p),
    "bf_context_reason": (c_char_p, c_void_p),
    "bf_context_isa": (c_char_p, c_void_p),
    "bf_context_threads": (c_int, c_void_p),
    "bf_context_watch": (c_int, c_void_p, POINTER(Watch)),
    "bf_device_parse": (c_int, c_char_p, POINTER(c_int)),
    "bf_device_reason": (c_char_p,),
    "bf_isa_name": (c_char_p, c_int),
    "bf_isa_available": (c_int, c_int),
    "bf_dtype_name": (c_char_p, c_int),
    "bf_dtype_size": (c_size_t, c_int),
    "bf_map_name": (c_char_p, c_int),
    "bf_reduction_name": (c_char_p, c_int),
    "bf_reduction_arrays": (c_int, c_int),
    "bf_reduction_result": (c_int, c_int),
    "bf_reduce": (c_int, c_void_p, c_int, POINTER(Array), POINTER(ReduceOptions), POINTER(Value)),
    "bf_describe": (
        c_int, c_void_p, POINTER(Array), POINTER(ReduceOptions), POINTER(Description),
    ),
    "bf_reduce_pair": (
        c_int, c_void_p, c_int, POINTER(Array), POINTER(Array), POINTER(ReduceOptions), POINTER(Value),
    ),
    "bf_cov_matrix": (
        c_int, c_void_p, c_int, POINTER(Array), c_int, POINTER(ReduceOptions), POINTER(Array),
    ),
    "bf_cov_matrix_weighted": (
        c_int, c_void_p, c_int, POINTER(Array), c_int, POINTER(Array), POINTER(ReduceOptions), POINTER(Array),
    ),
    "bf_state_create": (c_int, c_void_p, c_int, c_int, POINTER(c_void_p)),
    "bf_state_destroy": (None, c_void_p),
    "bf_state_clear": (c_int, c_void_p),
    "bf_state_absorb": (c_int, c_void_p, POINTER(Array)),
    "bf_state_absorb_pair": (c_int, c_void_p, POINTER(Array), POINTER(Array)),
    "bf_state_absorb_shards": (c_int, c_void_p, POINTER(Array), c_int),
    "bf_state_absorb_pair_shards": (c_int, c_void_p, POINTER(Array), POINTER(Array), c_int),
    "bf_state_seek": (c_int, c_void_p, c_int64),
    "bf_state_rescale": (c_int, c_void_p, c_int),
    "bf_state_merge": (c_int, c_void_p, c_void_p),
    "bf_state_retract": (c_int, c_void_p, c_void_p),
    "bf_state_words_info": (c_int, c_void_p, POINTER(WordsInfo)),
    "bf_state_get_words": (c_int, c_void_p, c_void_p),
    "bf_state_set_words": (c_int, c_void_p, c_void_p, c_int64, c_int64),
    "bf_state_result": (c_int, c_void_p, POINTER(ReduceOptions), POINTER(Value)),
    "bf_state_result_of": (c_int, c_void_p, c_int, POINTER(ReduceOptions), POINTER(Value)),
    "bf_state_description": (c_int, c_void_p, POINTER(ReduceOptions), POINTER(Description)),
    "bf_state_describe": (c_int, c_void_p, POINTER(StateInfo)),
    "bf_state_save_size": (c_size_t, c_void_p),
    "bf_state_save": (c_int, c_void_p, c_void_p),
    "bf_state_load": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p)),
    "bf_value_format": (None, POINTER(Value), c_char_p),
    "bf_value_format_hex": (None, POINTER(Value), c_char_p),
}  # fmt: skip


def library_path():
    """Returns the library that BITFOLD_LIBRARY names, else the one beside this file, else the system's."""
    if "BITFOLD_LIBRARY" in os.environ:
        return os.environ["BITFOLD_LIBRARY"]
    beside = os.path.join(os.path.dirname(__file__), "libbitfold.so")
    return beside if os.path.exists(beside) else "libbitfold.so.0"


def path_beside(name):
    """Returns the path of a file beside libbitfold."""
    return os.path.join(os.path.dirname(library_path()), name)


def open_library(path):
    """Loads a library."""
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        hint = "set BITFOLD_LIBRARY to the path of libbitfold.so"
        raise ImportError(f"bitfold: {error}; {hint}") from None


class _Functions:
    """The functions of libbitfold. Each gets its types when it is first asked for, not when the module is
    loaded."""

    def __init__(self, path):
        self._library, self._signatures = open_library(path), {}

    def declare(self, signatures):
        """Says the types of functions: of the result, and then of the arguments."""
        self._signatures.update(signatures)

    def __getattr__(self, name):
        function = getattr(self._library, name)
        if name in self._signatures:
            function.restype, *function.argtypes = self._signatures[name]
        setattr(self, name, function)
        return function


lib = _Functions(library_path())
lib.declare(_SIGNATURES)


def _is_for_no_gil(path):
    """Whether there is a file of the module in C for this Python, which has no GIL. It would load the file for
    Pythons that have one, in which objects have another layout."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec(f"{__package__}._native", path)
    return spec is not None and ".abi3." not in spec.origin


def _find_native():
    """Returns what of the module is written in C, in the package or beside the library that the user
    names; None: it was not built, or not for this Python."""
    path, folder = sys.modules[__package__].__path__, os.path.dirname(os.environ.get("BITFOLD_LIBRARY", ""))
    own = list(path)
    path.extend([folder] if folder else [])
    try:
        if "t" in sys.abiflags and not _is_for_no_gil(path):
            return None
        from . import _native
    except ImportError:
        return None
    finally:
        path[:] = own
    return _native


native = _find_native()


def new_lock(address):
    """Returns the lock of the context at an address."""
    return threading.RLock() if native is None else native.Lock(address)


def forget(lock):
    """Says that the context of a lock is no more."""
    if native is not None:
        lock.forget()


_local = threading.local()


def _default_context():
    """Returns the context of this thread's calls that are given none."""
    if not hasattr(_local, "context"):
        from . import Context

        _local.context = Context()
    return _local.context


LEGACY_STREAM, _MOST_STREAMS, _MOST_GUESTS = 1, 64, 8


def stream_contexts():
    """Returns the contexts of this thread's calls on streams."""
    guests = _local.__dict__.get("guests", {})
    return [*_local.__dict__.get("streams", {}).values(), *(each for of in guests.values() for each in of.values())]


def _stream_context(gpu, stream):
    """Returns the context of this thread's calls on a stream of a GPU (0: the legacy default stream). Calls
    on two streams, each with its context, do not wait for each other. If there are many, the longest known one
    whose calls are all checked goes, after all that the GPU does; graphs that captured its calls keep its memory."""
    found = _local.__dict__.setdefault("streams", {})
    if (gpu, stream) not in found:
        from . import Context

        if len(found) == _MOST_STREAMS:
            del found[next((key for key, each in found.items() if not each._lock.later), next(iter(found)))]
        found[gpu, stream] = Context(f"cuda:{gpu}", stream=stream or LEGACY_STREAM)
    return found[gpu, stream]


def _guest_context(gpu, stream):
    """Returns a context of this thread for a call on a stream that may be destroyed after it: the call sets the
    stream, and the context leaves it. Streams have one each, and so do not wait for each other, as long as they are
    few; the longest known one's goes to the next."""
    found = _local.__dict__.setdefault("guests", {}).setdefault(gpu, {})
    if stream not in found:
        from . import Context

        found[stream] = found.pop(next(iter(found))) if len(found) == _MOST_GUESTS else Context(f"cuda:{gpu}")
    return found[stream]


def numbers_of(name_of):
    """Returns the numbers from 1 on of what the library has names for."""
    found = {}
    while (name := name_of(len(found) + 1).decode()) != "?":
        found[name] = len(found) + 1
    return found


DTYPES = {**numbers_of(lib.bf_dtype_name), "i128": I128}
OPS = numbers_of(lib.bf_reduction_name)


def check(status, context=None):
    """Raises the exception of a status other than 0."""
    if status:
        detail = lib.bf_context_message(context) if context else b""
        raise ERRORS[status]((detail or lib.bf_status_string(status)).decode())


def refuse_unknown(options):
    """Raises the TypeError of keywords that no function takes. It names the function of the module that
    the user called, whichever of ours looks at them."""
    frame, package = sys._getframe(1), __name__.split(".")[0]
    while frame.f_back and frame.f_back.f_globals.get("__name__", "").split(".")[0] == package:
        frame = frame.f_back
    called, name = frame.f_code.co_name, next(iter(options))
    raise TypeError(f"{called}() got an unexpected keyword argument {name!r}")


def whole(x, kind=c_int64):
    """Returns x as an int that a C integer of this kind can hold, or raises ArgumentError: ctypes
    would drop the upper bits."""
    x = operator.index(x)
    if kind(x).value != x:
        raise ArgumentError(f"{x} does not fit {8 * ctypes.sizeof(kind)} bits")
    return x


__all__ = ["byref", "c_void_p", "check", "lib", "whole"]
