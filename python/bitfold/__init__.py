"""bitfold: exact, correctly rounded, reproducible reductions over large arrays.

    >>> import array, bitfold
    >>> bitfold.sum(array.array("d", [1e20, 1, -1e20]))
    1.0

An array is anything with the buffer protocol (array.array, memoryview, bytes, NumPy arrays),
__array_interface__ or __cuda_array_interface__ (CuPy arrays and PyTorch tensors on a GPU), of any
shape and strides; its memory is read in place, never copied. Masked arrays are refused. A result is an int, a float or a bool,
and depends on the values alone: not on threads, instruction set, device or machine.

    >>> bitfold.sum(cupy.array([1e20, 1, -1e20]))  # on the GPU, where its memory is
    1.0
    >>> bitfold.Context(device="cpu")  # nothing but the CPU; "cuda:1": nothing but that GPU
    Context(device='cpu', isa='avx512', threads=16)

Every function takes, by keyword:

    nan        "propagate" (default), "skip" (as if absent) or "error": what a NaN means
    out_dtype  "f64" or "f32": what to round to, once, from the exact value (not min, max, arg...)
    ddof       0 or 1: var and std divide by n - ddof
    overflow   "error" (default) or "wrap" (modulo 2^64): what a product of integers that takes more
               than 128 bits is
    dtype      what the memory holds, where the object cannot say: "bf16" over 16-bit integers, or
               any dtype over contiguous bytes; nothing is converted
    context    where to run; the default is one context a thread, with all the CPUs it may use, that
               computes on a GPU what lies in its memory
"""

import threading
from collections import namedtuple
from ctypes import c_int64

from . import _library
from ._arrays import NAMES, View, dtype_name, new_array, to_python
from ._group import Groups, join, unique
from ._histogram import Histogram, HistogramInfo, bincount, histogram
from ._julia import julia, palette_colors
from ._map import map, result_dtype
from ._table import Table
from ._library import (
    DTYPES, NAN_POLICIES, OPS, OVERFLOW_POLICIES, ArgumentError, CancelledError, DeviceError, DtypeError, EmptyError, Error, NanError,
    OutOfMemoryError, RangeError, ShapeError, StateError, byref, c_int, c_void_p, check, lib, whole,
)  # fmt: skip

__version__ = lib.bf_version().decode()
__all__ = [
    "sum", "prod", "mean", "var", "std", "norm", "sumsq", "describe", "Description", "min", "max", "argmin", "argmax", "dot", "map", "result_dtype", "julia", "palette_colors",
    "histogram", "Histogram", "HistogramInfo", "bincount",
    "Table", "Groups", "unique", "join", "Context", "State", "StateInfo", "isas", "Error", "ArgumentError", "DtypeError", "ShapeError",
    "RangeError", "NanError", "EmptyError", "OutOfMemoryError", "StateError", "DeviceError", "CancelledError",
]  # fmt: skip


def isas():
    """The instruction sets that this library has and this machine can run, slowest first."""
    found = []
    i = 0
    while name := lib.bf_isa_name(i):
        if lib.bf_isa_available(i):
            found.append(name.decode())
        i += 1
    return found


class Context:
    """Where calls run. No option changes a result.

    device "auto" (by where the data are), "cpu", "cuda" or "cuda:N"; isa "auto" or one of isas();
    threads 0 for all this process may use. stream is the CUDA stream that calls on a GPU are enqueued
    on, as a number (torch.cuda.Stream.cuda_stream, cupy.cuda.Stream.ptr), which must last as long as
    it is used; None for one of the context's own, which is ordered with the legacy default stream.
    Calls from several threads take turns.
    """

    def __init__(self, device="auto", isa="auto", threads=0, stream=None):
        self._handle = c_void_p()
        self._lock = threading.RLock()
        self._watch = self._raised = None
        options = _library.Options(
            0, device.encode(), isa.encode(), whole(threads, c_int),
            None if stream is None else whole(stream, _library.ctypes.c_size_t),
        )  # fmt: skip
        options.size = _library.ctypes.sizeof(options)
        status = lib.bf_context_create(byref(options), byref(self._handle))
        reason = lib.bf_device_reason().decode()
        number = c_int(0)
        lib.bf_device_parse(options.device, byref(number))
        on_gpu = number.value not in (_library.DEVICE_AUTO, _library.DEVICE_CPU)
        if status == DeviceError.status and on_gpu and reason:
            raise DeviceError(f"device {device!r} cannot be used: {reason}")
        if status:
            why = _library.ctypes.create_string_buffer(_library.MESSAGE_TEXT)
            lib.bf_context_create_message(byref(options), why)
            raise _library.ERRORS[status](why.value.decode())

    def __del__(self):
        if self._handle:
            lib.bf_context_destroy(self._handle)

    @property
    def device(self):
        return lib.bf_context_device(self._handle).decode()

    @property
    def reason(self):
        """Why the last call ran on `device`; "" where that was asked for."""
        return lib.bf_context_reason(self._handle).decode()

    @property
    def isa(self):
        return lib.bf_context_isa(self._handle).decode()

    @property
    def threads(self):
        return lib.bf_context_threads(self._handle)

    def __repr__(self):
        return f"Context(device={self.device!r}, isa={self.isa!r}, threads={self.threads})"

    def watch(self, tick, every=0.1):
        """Has long calls call tick(bytes), at most once in `every` seconds, with the bytes that the
        context's calls have worked through since. If it returns something true, the call raises
        CancelledError; what it raises, the call raises. None ends the watch. tick must not use the
        context; objects of a cancelled call are as they were."""

        def guarded(_, count):
            try:
                return 1 if tick(count) else 0
            except BaseException as error:
                self._raised = error
                return 1

        watch = None
        if tick is not None:
            watch = _library.sized(_library.Watch)
            watch.every_ns = whole(int(every * 1e9))
            watch.tick = _library.TICK(guarded)
        with self._lock:
            check(lib.bf_context_watch(self._handle, byref(watch) if watch else None), self._handle)
            self._watch = watch  # the library calls its function

    def _check(self, status):
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        check(status, self._handle)

    def _call(self, function, *arguments):
        """Runs a library function on the context, and raises what it reports."""
        with self._lock:
            self._check(function(*arguments))

    def _call_with(self, other, function, *arguments):
        """The same, of a function that reads an object of another context too."""
        first, second = sorted((self._lock, other._lock), key=id)
        with first, second:
            self._check(function(*arguments))


_local = threading.local()


def _default_context():
    if not hasattr(_local, "context"):
        _local.context = Context()
    return _local.context


def _number(table, what, name):
    if name not in table:
        raise ArgumentError(f"{what} {name!r} is none of {', '.join(table)}")
    return table[name]


def _options(nan="propagate", out_dtype=None, ddof=0, overflow="error"):
    options = _library.ReduceOptions(
        0, _number(NAN_POLICIES, "nan policy", nan),
        DTYPES[dtype_name(out_dtype)] if out_dtype is not None else 0, whole(ddof, c_int),
        _number(OVERFLOW_POLICIES, "overflow policy", overflow),
    )  # fmt: skip
    options.size = _library.ctypes.sizeof(options)
    return byref(options)


def _reduce(op, x, *, dtype=None, context=None, **options):
    context = context or _default_context()
    view = View(x, dtype)
    value = _library.Value()
    context._call(
        lib.bf_reduce, context._handle, OPS[op], byref(view.array),
        _options(**options), byref(value),
    )  # fmt: skip
    return to_python(value)


def sum(x, **options):
    """The exact sum: of integers an int of any size, of floats rounded once. Empty: 0."""
    return _reduce("sum", x, **options)


def prod(x, **options):
    """The product: of integers an exact int, of floats by a fixed tree, below 1 ulp off. Empty: 1."""
    return _reduce("prod", x, **options)


def mean(x, **options):
    """The exact mean, rounded once. Empty: nan."""
    return _reduce("mean", x, **options)


def var(x, **options):
    """The exact variance, rounded once; never negative. No more than ddof elements: nan."""
    return _reduce("var", x, **options)


def std(x, **options):
    """The square root of the exact variance, rounded once."""
    return _reduce("std", x, **options)


def norm(x, **options):
    """The square root of the exact sum of squares, rounded once. Empty: 0."""
    return _reduce("norm", x, **options)


def sumsq(x, **options):
    """The exact sum of squares: of integers an int, of floats rounded once. Empty: 0."""
    return _reduce("sumsq", x, **options)


def min(x, **options):
    """The least element; -0 is below 0. Empty: EmptyError."""
    return _reduce("min", x, **options)


def max(x, **options):
    """The greatest element; -0 is below 0. Empty: EmptyError."""
    return _reduce("max", x, **options)


def argmin(x, **options):
    """The index, in C order, of the first element that holds the minimum, or of the first NaN."""
    return _reduce("argmin", x, **options)


def argmax(x, **options):
    """The index, in C order, of the first element that holds the maximum, or of the first NaN."""
    return _reduce("argmax", x, **options)


Description = namedtuple("Description", "n nan inf min argmin max argmax sum mean std")


def _description(d):
    """Where there is no value, None."""
    value = lambda v: to_python(v) if v.dtype else None
    index = lambda i: i if i >= 0 else None
    return Description(
        d.n, d.nan, d.inf, value(d.min), index(d.argmin), value(d.max), index(d.argmax),
        value(d.sum), value(d.mean), value(d.std),
    )  # fmt: skip


def describe(x, *, dtype=None, context=None, **options):
    """A Description, in one pass: counts, extremes and where, sum, mean and std."""
    context = context or _default_context()
    view = View(x, dtype)
    description = _library.sized(_library.Description)
    context._call(
        lib.bf_describe, context._handle, byref(view.array), _options(**options),
        byref(description),
    )  # fmt: skip
    return _description(description)


def dot(a, b, *, nan="propagate", out_dtype=None, dtype=None, context=None):
    """The exact sum of the exact products of two arrays of one dtype and shape, rounded once."""
    context = context or _default_context()
    views = View(a, dtype), View(b, dtype)
    value = _library.Value()
    context._call(
        lib.bf_dot, context._handle, byref(views[0].array), byref(views[1].array),
        _options(nan, out_dtype), byref(value),
    )  # fmt: skip
    return to_python(value)


StateInfo = namedtuple("StateInfo", "op dtype count nan inf next")


class State:
    """A reduction in progress: absorb chunks, merge states, take the result, save and load.

    The result has the bits of one call over all the data, whatever the chunks. argmin, argmax,
    describe and prod of floats go by index: a part that does not start at 0 is told where by seek().
    """

    def __init__(self, op, dtype, context=None):
        self._context = context or _default_context()
        self._handle = c_void_p()
        self._context._call(
            lib.bf_state_create, self._context._handle, _number(OPS, "operation", op),
            DTYPES[dtype_name(dtype)], byref(self._handle),
        )  # fmt: skip

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.bf_state_destroy(self._handle)

    def absorb(self, x, y=None, *, dtype=None):
        """Takes in an array, for "dot" a pair of them. dtype: as elsewhere; a bf16 state reads
        16-bit integers as bf16. Returns the state."""
        if dtype is None and self.info().dtype == "bf16":
            dtype = "bf16"
        views = [View(each, dtype) for each in (x, y) if each is not None]
        function = lib.bf_state_absorb if y is None else lib.bf_state_absorb_pair
        self._context._call(function, self._handle, *(byref(view.array) for view in views))
        return self

    def merge(self, other):
        """Adds what another state of the same kind holds, which is unchanged. Returns the state."""
        self._context._call_with(
            other._context, lib.bf_state_merge, self._handle, other._handle
        )
        return self

    def retract(self, other):
        """Takes out what another state of the same kind holds, exactly: what is left is the state
        of what remains. For sums, means, var, std, sumsq, norm and dot. Returns the state."""
        self._context._call_with(
            other._context, lib.bf_state_retract, self._handle, other._handle
        )
        return self

    def __iadd__(self, other):
        """state += other: merge."""
        return self.merge(other) if isinstance(other, State) else NotImplemented

    def __isub__(self, other):
        """state -= other: retract."""
        return self.retract(other) if isinstance(other, State) else NotImplemented

    def seek(self, index):
        """Says that the next element absorbed has this index. Returns the state."""
        self._context._call(lib.bf_state_seek, self._handle, whole(index))
        return self

    def result(self, **options):
        """The value so far, of "describe" a Description; the state can go on."""
        if self.info().op == "describe":
            description = _library.sized(_library.Description)
            self._context._call(
                lib.bf_state_description, self._handle, _options(**options), byref(description)
            )
            return _description(description)
        value = _library.Value()
        self._context._call(lib.bf_state_result, self._handle, _options(**options), byref(value))
        return to_python(value)

    def info(self):
        """Operation and dtype; how many elements, NaNs and infinities there were; next index."""
        info = _library.sized(_library.StateInfo)
        self._context._call(lib.bf_state_describe, self._handle, byref(info))
        op = next(name for name, number in OPS.items() if number == info.op)
        return StateInfo(op, NAMES[info.dtype], info.count, info.nan, info.inf, info.next)

    def words(self):
        """The state as a new array of i64, for MPI and NCCL: of sums, means, var, std, sumsq, norm
        and dot the words of several states add to those of the merged one."""
        info = _library.sized(_library.WordsInfo)
        self._context._call(lib.bf_state_words_info, self._handle, byref(info))
        words = new_array("i64", [info.count])
        self._context._call(lib.bf_state_get_words, self._handle, View(words).array.data)
        return words

    def set_words(self, words, parts=1):
        """Makes the state what the words say, which are the sum of those of `parts` states. Returns
        the state."""
        data = memoryview(words).cast("B")
        if memoryview(words).format not in ("l", "q") or data.nbytes % 8:
            raise ArgumentError("words are elements of i64")
        copy = (c_int64 * (data.nbytes // 8)).from_buffer_copy(data)
        self._context._call(
            lib.bf_state_set_words, self._handle, copy, len(copy), whole(parts)
        )
        return self

    def save(self):
        """The state as bytes: portable, versioned, checksummed."""
        data = _library.ctypes.create_string_buffer(lib.bf_state_save_size(self._handle))
        self._context._call(lib.bf_state_save, self._handle, data)
        return data.raw

    @classmethod
    def load(cls, data, context=None):
        """The state that save() wrote. Anything else is refused: StateError."""
        state = cls.__new__(cls)
        state._context = context or _default_context()
        state._handle = c_void_p()
        data = bytes(data)
        state._context._call(
            lib.bf_state_load, state._context._handle, data, len(data), byref(state._handle)
        )
        return state
