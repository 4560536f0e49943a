"""bitfold: exact, correctly rounded, reproducible reductions over large arrays.

    >>> import array, bitfold
    >>> bitfold.sum(array.array("d", [1e20, 1, -1e20]))
    1.0

An array is any object with the buffer protocol (array.array, memoryview, bytes, NumPy arrays),
__array_interface__, __cuda_array_interface__ (CuPy arrays and PyTorch tensors on a GPU), DLPack
(PyTorch, JAX), or a column of Arrow (pyarrow, Polars, pandas, DuckDB), of any shape and strides. Its
memory is read in place. Copied are columns in several chunks, with NULLs, or of bools; elements of the
other byte order (">f8") and those whose strides are not whole elements, such as a field of a packed
record: that takes several times as long as a sum, and without NumPy ten times longer still. Masked and
sparse arrays are refused. Lists of ints, floats and bools, nested too, ranges and single numbers are arrays as NumPy
makes them, but exact: an int among floats that no float64 is raises RangeError, and ints are "i128" where 64 bits do
not hold them. Where a dtype is given, or known, each number must be one of it. A result is an int, a float or a
bool; of several, an array. It depends only on the values, not on threads, instruction set, device or machine.

Columns of decimals, of a precision up to 38, are taken by whole reductions, describe, State, Quantiles, join and
all that sorts or selects: results are decimal.Decimal, as with scale=. Beyond 18 digits they are "i128", as are
Int128 of Polars and arrays of NumPy whose objects are ints. Arrays of decimals and of i128 are objects in NumPy, else
a Result that Arrow takes. All else refuses decimals.

    >>> import numpy
    >>> bitfold.sum(numpy.ones((2, 3)), axis=0)  # of each fibre, to the same bits as alone
    array([2., 2., 2.])
    >>> one = bitfold.Context(device="cpu", threads=1)  # not a GPU: "cuda:1" is the second one
    >>> bitfold.mean(numpy.ones(3), context=one)
    1.0

Arrays on a GPU are used there.

Functions have these keyword arguments, where they apply:

    nan        "propagate" (default): a NaN makes the result NaN; "skip": NaNs do not count;
               "error": NaNs are refused. Not of map, histogram, bincount, searchsorted and join
    out_dtype  "f64" or "f32": the dtype to which the exact value is rounded, once (not of min, max,
               argmin, argmax)
    ddof       0 or 1: var, std, covariance and cov divide by n - ddof (1 for these two, else 0); correction is the same,
               as the array API standard calls it. bias=False is ddof 1, and the name that SciPy has for skew and kurtosis
    overflow   "error" (default): a product of integers beyond 128 bits is refused; "wrap": it is
               taken modulo 2^64
    scale      0 (default) to 38: integers stand for themselves times 10^-scale. Sums, extremes, squares and
               dot products are an exact decimal.Decimal; means, deviations and norms are divided by the
               power of ten before they are rounded, once. Not of prod and floats
    dtype      the dtype of the memory, if the object cannot name it: "bf16" for 16-bit integers, or
               any dtype for contiguous bytes and lists, "i128" too; no element is rounded. Every dtype is
               given as "f64", "float64", "f8", "<f8", or by one of NumPy or PyTorch; "i8" and "u8" have 8 bits
    null       "error" (default): a column of Arrow with NULLs is refused; "skip": they are left out;
               where several arrays go together, each row in which one is NULL. Reductions but reduce_runs,
               describe, medians, quantiles, nth, sort, unique, mode, is_sorted, histogram, bincount and
               absorb have it; what gives positions refuses it or has none
    context    the Context that runs the call; by default each thread has one, which uses all CPUs
               that it may use, and a GPU for arrays in its memory

Errors have the library's message. Each is a bitfold.Error and one of Python's: a ShapeError is a
ValueError. Every function raises DtypeError for an object without memory and for a dtype that it does
not take, ArgumentError for an option or an axis that does not exist, NanError under nan="error",
DeviceError and OutOfMemoryError where the machine lacks something. What else it raises is said with it.

sum to max also have, as in NumPy, whole or along axes,

    where      an array of bools that broadcasts to x: the others count as little as if they were not there
    initial    of sum, prod, min and max: one more element, of x's dtype, before those of each result
    weights    of mean, var and std (segment_ and index_, too): the exact sum of the products by the exact sum of the
               weights, rounded once, and so on. They have the shape of x, or its extents along axis; ints beside floats
               are converted, and refused if no float is one. If they sum to 0 the result is nan. ddof 1 takes them for
               how often an element counts, and with reliability=True for how much, as NumPy's aweights

Arrays that where= and initial= choose from are in the host's memory, and are copied if need be. covariance,
correlation, linregress and average have where=, too.

sum to argmax and dot also have axis, an int or several, and keepdims, as in NumPy. segment_sum(x,
offsets), index_add(m, index, values) and reduce_runs(op, keys, x) reduce parts of the first axis;
each of the other operations has its segment_ and index_ function. These, as all that return arrays,
return them of the kind of the values: of CuPy or PyTorch, on the same device; of NumPy, also for
lists, pandas, JAX and objects with __array_interface__; else a Result, which NumPy, pyarrow, Polars, JAX
and so on take without a copy. An integer that does not fit int64 or uint64 raises RangeError. They
have these keyword arguments besides:

    overflow   "wrap": integers that do not fit are taken modulo 2^64
    fits       True: as "wrap", and a second array, of bools, says which results fit
    empty      the min, max, argmin or argmax of no elements, which otherwise raises EmptyError
    check      "now" (default): a call that may fail for its data, such as integers whose sum may not fit or an index,
               waits for the GPU. "later": it does not, for tensors of a library whose current stream bitfold follows
               (PyTorch); this thread's next call on that stream, or check(), raises the error, and the results are
               not defined
    out        the array to write to, of the dtype and the shape of the results, which the call returns. sort and
               argsort, medians and quantiles along axes, cumulative_sum and the like, map and evaluate have it, too.
               It lies in the memory of no input; that of sort, cumulative_sum, map and evaluate may be an input
"""

import os
from array import array
from collections import namedtuple
from ctypes import c_int64

from . import _library
from ._axis import *
from ._axis import __all__ as _of_axis, reduce_axes, refuse_positions
from ._arrays import NAMES, View, dtype_name, first_of, new_array, parts_of, to_python
from ._columns import Column, Columns
from ._comm import Comm
from ._dictionary import Dictionary
from ._expression import evaluate, reduce_expression
from ._group import Groups, join
from ._grouping import group
from ._histogram import Histogram, HistogramInfo, bincount, histogram
from ._julia import julia, palette_colors
from ._lists import dtype_for
from ._map import given_of, map, result_dtype
from ._mergeable import Mergeable
from ._nulls import absorb_valid, line_up, masked, views_of, whole_views
from ._order import *
from ._order import __all__ as _of_order
from ._order._different import unique_counts_result
from ._pairs import *
from ._pairs import __all__ as _of_pairs, with_weights
from ._quantiles import Quantiles, QuantilesInfo
from ._read import read_csv
from ._reductions import REDUCTIONS, WEIGHTED, gives_index, name_by_index, of_axes
from ._result import Result
from ._scan import *
from ._scan import __all__ as _of_scan
from ._sorter import Sorter
from ._table import Table
from ._times import are_times, reduce_times
from ._library import (
    DTYPES, NAN_POLICIES, OPS, OVERFLOW_POLICIES, CHECKS, ArgumentError, CancelledError, CommError, DeviceError, DtypeError, EmptyError, Error, FileError, NanError,
    OutOfMemoryError, RangeError, ShapeError, StateError, _default_context, _guest_context, _stream_context, byref, c_int, c_void_p,
    forget, lib, native, new_lock, stream_contexts, whole,
)  # fmt: skip

__version__ = lib.bf_version().decode()
__all__ = [
    *REDUCTIONS, "describe", "Description", "dot", "vecdot", "count_nonzero", "map", "evaluate", "reduce_expression",
    "result_dtype", "julia", "palette_colors", "check", "histogram", "Histogram", "HistogramInfo", "bincount",
    "read_csv", "group", "Dictionary", "Column", "Columns",
    *_of_axis, *_of_pairs, "Comm", "Table", "Result", *_of_order, *_of_scan, "Sorter", "Quantiles", "QuantilesInfo", "Groups", "join", "Context", "State", "StateInfo", "isas", "Error", "ArgumentError", "DtypeError", "ShapeError",
    "RangeError", "NanError", "EmptyError", "OutOfMemoryError", "StateError", "DeviceError", "CancelledError", "CommError", "FileError",
]  # fmt: skip


def isas():
    """Returns the instruction sets of this library that this machine can run, slowest first.

    >>> "generic" in bitfold.isas()
    True
    """
    found = []
    i = 0
    while name := lib.bf_isa_name(i):
        if lib.bf_isa_available(i):
            found.append(name.decode())
        i += 1
    return found


class Context:
    """The device and the threads of calls. No option changes a result.

    device: "auto" (chosen for each call by where the data are), "cpu", "cuda", "cuda:N" or
    "cuda:all": all GPUs of the machine as one device, among which large host arrays are split.
    isa: "auto" or one of isas().
    threads: 0 means all that this process may use.
    stream: the CUDA stream for calls on a GPU, as a number (torch.cuda.Stream.cuda_stream,
    cupy.cuda.Stream.ptr); it must exist as long as it is used. None: a stream of the context's own,
    which is ordered with the legacy default stream.
    memory: the bytes of host memory that the context's objects and calls may take, beside the caller's
    arrays; 0 means no limit. What needs more raises OutOfMemoryError, or
    spill: a directory in which sort, argsort, unique, join, group_median, group_quantile and Groups put
    what the memory does not hold, in files that have no name. None: there is none.

    Calls from several threads take turns.

    >>> one = bitfold.Context(device="cpu", threads=1)
    >>> bitfold.sum(numpy.array([1e20, 1, -1e20]), context=one)
    1.0
    """

    def __init__(self, device="auto", isa="auto", threads=0, stream=None, memory=0, spill=None):
        self._handle = c_void_p()
        self._watch = self._raised = None
        options = _library.Options(
            0, device.encode(), isa.encode(), whole(threads, c_int),
            None if stream is None else whole(stream, _library.ctypes.c_size_t),
            whole(memory, c_int64), None if spill is None else os.fsencode(spill),
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
        self._lock = new_lock(self._handle.value)

    def __del__(self, forget=forget, destroy=lib.bf_context_destroy):  # at exit the names may be gone
        if self._handle:
            forget(self._lock)
            destroy(self._handle)

    @property
    def device(self):
        """The device that the last call ran on, or that the next one would: "cpu", "cuda:0"."""
        return lib.bf_context_device(self._handle).decode()

    @property
    def reason(self):
        """The reason why the last call ran on `device`; "" if the context was made for it."""
        return lib.bf_context_reason(self._handle).decode()

    @property
    def isa(self):
        """The name of the instruction set of work on the CPU."""
        return lib.bf_context_isa(self._handle).decode()

    @property
    def threads(self):
        """The number of threads of work on the CPU."""
        return lib.bf_context_threads(self._handle)

    def __repr__(self):
        return f"Context(device={self.device!r}, isa={self.isa!r}, threads={self.threads})"

    def watch(self, tick, every=0.1):
        """Makes long calls call tick(bytes), at most once in `every` seconds.

        bytes: how much the context's calls have worked through since watch(). If tick returns a true
        value, the call raises CancelledError. If tick raises an exception, the call raises it. After
        either, states, histograms, tables and groups are as they were. tick must not use the
        context. watch(None) ends the watch.
        """

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
            _library.check(lib.bf_context_watch(self._handle, byref(watch) if watch else None), self._handle)
            self._watch = watch  # keeps its function alive, which the library calls

    def _check(self, status):
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        _library.check(status, self._handle)

    def _call(self, function, *arguments):
        """Calls a library function on the context, and raises the error that it returns."""
        with self._lock:
            self._check(function(*arguments))

    def _call_with(self, other, function, *arguments):
        """Does the same for a function that also reads an object of another context."""
        with self._locked_with(other):
            self._check(function(*arguments))

    def _locked_with(self, other):
        """Returns what holds the locks of two contexts."""
        return _Both(*sorted((self._lock, other._lock), key=id))


class _Both:
    """Two locks as one."""

    def __init__(self, first, second):
        self._first, self._second = first, second

    def __enter__(self):
        self._first.__enter__()
        self._second.__enter__()

    def __exit__(self, *raised):
        self._second.__exit__(*raised)
        self._first.__exit__(*raised)


def _number(table, what, name):
    if name not in table:
        raise ArgumentError(f"{what} {name!r} is none of {', '.join(table)}")
    return table[name]


def _options(
    nan="propagate", out_dtype=None, ddof=0, overflow="error", correction=None, scale=0, check="now", bias=None,
    reliability=False, **unknown,
):  # fmt: skip
    if unknown:
        _library.refuse_unknown(unknown)
    _number(CHECKS, "check", check)  # what Python calls has been checked when it returns
    ddof = ddof if correction is None else correction
    ddof = ddof if bias is None else 0 if bias else 1
    if isinstance(ddof, float) and ddof.is_integer():  # as the standard has it
        ddof = int(ddof)
    options = _library.ReduceOptions(
        0, _number(NAN_POLICIES, "nan policy", nan),
        DTYPES[dtype_name(out_dtype)] if out_dtype is not None else 0, whole(ddof, c_int),
        _number(OVERFLOW_POLICIES, "overflow policy", overflow), None, whole(scale, c_int), 0, bool(reliability),
    )  # fmt: skip
    options.size = _library.ctypes.sizeof(options)
    return byref(options)


def _scale_of(views, given=None):
    """Returns the scale of decimals, which the caller may give, too; None: they are none."""
    scales = {view.scale for view in views} - {None}
    if not scales:
        return given
    if given is not None:
        scales.add(given)
    if len(scales) > 1 or any(view.scale is None for view in views):
        found = ", ".join(str(view.scale or 0) for view in views)
        raise ArgumentError(f"decimals of scale {found}" + (f", not {given}" if given is not None else ""))
    return scales.pop()


def _options_of(views, /, *, scale=None, **options):
    """Returns the options of a call, with the scale of the decimals that it takes."""
    return _options(scale=_scale_of(views, scale) or 0, **options)


def check():
    """Waits for this thread's calls on GPUs that have check="later", and raises the error of the first that failed.

    >>> bitfold.sum(numpy.ones((2, 3)), axis=0, check="later")  # nothing waits for a GPU here
    array([2., 2., 2.])
    >>> bitfold.check()
    """
    for context in stream_contexts():
        if context._lock.take_later():
            context._call(lib.bf_context_synchronize, context._handle)


# ---- reductions -----------------------------------------------------------------------------------


def _reduce(
    op, x, axis, keepdims, /, *, out=None, dtype=None, null="error", context=None, **options
):
    if gives_index(op):
        refuse_positions(op, null)
    weights = options.pop("weights", None) if op in WEIGHTED else None
    if weights is not None:
        given = with_weights(x, weights, axis, dtype)
        return _reduce_given(WEIGHTED[op], given, axis, keepdims, out=out, null=null, context=context, **options)
    if are_times(x):
        options.update(out=out, dtype=dtype, context=context)
        return reduce_times(_reduce, op, x, axis, keepdims, null=null, **options)
    return _reduce_given(op, [(x, dtype)], axis, keepdims, out=out, null=null, context=context, **options)


def _reduce_given(op, given, axis, keepdims, /, *, out=None, like=None, **options):
    """Reduces one array or two, each given with the dtype as which it is read, whole or along axes."""
    if axis is not None or keepdims or out is not None:
        return reduce_axes(op, given, axis, keepdims, out=out, like=like, **options)
    return _reduce_whole(op, given, **options)


def _reduce_whole(op, given, /, *, null="error", context=None, **options):
    context = context or _default_context()
    views, value = _views_chosen(op, given, null, options), _library.Value()
    function = lib.bf_reduce if len(views) == 1 else lib.bf_reduce_pair
    context._call(
        function, context._handle, OPS[op], *(byref(view.array) for view in views), _options_of(views, **options),
        byref(value),
    )  # fmt: skip
    return to_python(value)


def _views_chosen(op, given, null, options):
    """Returns views of the arrays of a whole reduction, of the elements that the options where and initial, which
    this takes out, choose."""
    where, initial = options.pop("where", True), options.pop("initial", None)
    if where is True and initial is None:
        return views_of(null, *given, decimals=True)
    views, mask = masked(op, given, where, initial, null=null, decimals=True)
    for view in views:
        line_up(view, mask, {*range(view.array.ndim)}, initial, options.get("scale", 0))
    return views


def _reduction(op):
    def function(x, axis=None, keepdims=False, **options):
        return _reduce(op, x, axis, keepdims, **options)

    return of_axes(op, function)


globals().update((_op, _reduction(_op)) for _op in REDUCTIONS)

Description = namedtuple("Description", "n nan inf min argmin max argmax sum mean std")


def _description(d):
    """Returns a Description; values that do not exist are None."""
    value = lambda v: to_python(v) if v.dtype else None
    index = lambda i: i if i >= 0 else None
    return Description(
        d.n, d.nan, d.inf, value(d.min), index(d.argmin), value(d.max), index(d.argmax),
        value(d.sum), value(d.mean), value(d.std),
    )  # fmt: skip


def describe(x, *, dtype=None, null="error", context=None, **options):
    """Returns a Description, in one pass: counts, extremes and their indices, sum, mean and std.
    Values that do not exist are None. Indices are those in x, whose NULLs count there.

    Of a table of pandas, Polars or pyarrow: a dict of the Description of each column of numbers, by name.

    Errors: ArgumentError (two columns of one name).

    >>> bitfold.describe(numpy.array([1, 2, 3, 6]))
    Description(n=4, nan=0, inf=0, min=1, argmin=0, max=6, argmax=3, sum=12, mean=3.0, std=1.8708286933869707)
    """
    columns = _columns_of(x)
    if columns is not None:
        return _descriptions(columns, dtype=dtype, null=null, context=context, **options)
    context = context or _default_context()
    if null == "skip":
        views, valid = whole_views([(x, dtype)], decimals=True)
    else:
        views, valid = [View(x, dtype, null, decimals=True)], None
    if valid is not None:
        scale = _scale_of(views, options.pop("scale", None)) or 0
        state = State("describe", views[0].dtype, context, scale)
        return absorb_valid(state, views[0], valid).result(**options)
    description = _library.sized(_library.Description)
    context._call(
        lib.bf_describe, context._handle, byref(views[0].array), _options_of(views, **options),
        byref(description),
    )  # fmt: skip
    return _description(description)


def _columns_of(x):
    """Returns the names and the columns of a table of Polars, pyarrow or pandas; None: x is no table."""
    kind = type(x)  # a column of pandas is an attribute of its table
    if hasattr(kind, "get_columns"):
        return [(column.name, column) for column in x.get_columns()]
    if hasattr(kind, "column_names") and hasattr(kind, "columns"):
        return list(zip(x.column_names, x.columns))
    return list(x.items()) if hasattr(kind, "columns") and hasattr(kind, "items") else None


def _descriptions(columns, **options):
    found = {}
    for name, column in columns:
        try:
            made = describe(column, **options)
        except DtypeError:  # no numbers
            continue
        except ArgumentError as error:
            raise ArgumentError(f"column {name!r}: {error.message}") from None
        if name in found:
            raise ArgumentError(f"two columns are called {name!r}")
        found[name] = made
    return found


def dot(a, b, axis=None, keepdims=False, **options):
    """Returns the exact sum of the exact products of two arrays of one dtype and shape, rounded
    once.

    Along axis: an array of the dot products of the fibres.

    Errors: DtypeError (other dtypes), ShapeError (other shapes), RangeError (along axis: as of sum).

    >>> bitfold.dot(numpy.array([1e200, 3.0, 1e200]), numpy.array([1e200, 5.0, -1e200]))
    15.0
    """
    return _dot(a, b, axis, keepdims, **options)


def _dot(a, b, axis, keepdims, /, *, dtype=None, where=True, initial=None, **options):
    if where is not True or initial is not None:
        _library.refuse_unknown({"initial" if where is True else "where": where})
    return _reduce_given("dot", given_of("dot", [a, b], dtype), axis, keepdims, **options)


def vecdot(a, b, *, axis=-1, **options):
    """Returns the dot products of the lines of a and b along axis: dot, by its name in the array API
    standard. Both have one shape.

    Errors: those of dot.

    >>> bitfold.vecdot(numpy.array([[1.0, 2], [3, 4]]), numpy.array([[5.0, 6], [7, 8]]))
    array([17., 53.])
    """
    return dot(a, b, axis=axis, **options)


def count_nonzero(x, axis=None, keepdims=False, *, dtype=None, context=None):
    """Returns how many elements of x are not 0; a NaN is not. Along axis: an array of int64.

    Errors: ArgumentError (x has no such axis).

    >>> bitfold.count_nonzero([[0, 1], [2, 3]], axis=0)
    array([1, 2])
    """
    different = map("ne", x, 0, dtype=dtype, context=context)
    return _reduce("sum", different, axis, keepdims, context=context)


StateInfo = namedtuple("StateInfo", "op dtype count nan inf next scale")


class State(Mergeable):
    """A reduction in progress: absorbs chunks, merges states, gives the result, saves and loads.

    The result has the bits of one call over all the data, however they are divided. argmin, argmax,
    describe and prod of floats depend on the index of each element: call seek() for a part that does
    not start at index 0.

    op: any operation, or "describe"; or of pairs "dot", "cov", "corr", "slope", "intercept", "r2" and, where the
    second array are weights, "wmean", "wvar" and "wstd". dtype: "i128" takes decimals beyond 18 digits, and merges with states of
    all integers. scale: integers stand for themselves times 10^-scale, and results are
    decimals; states of different scales merge exactly, and the greater scale is that of both. Columns of
    decimals have their own scale, up to the state's. Errors: DtypeError and ShapeError (arrays that do not fit the state,
    or each other), StateError (merge and retract: of another op or dtype; indices that overlap; more than
    there is to take out), ArgumentError (retract: a state of min, max, argmin, argmax, describe or prod;
    decimals of a greater scale), EmptyError and RangeError (result: there is none, or it is too large; an
    element that the dtype does not hold in the unit of a greater scale).

    >>> state = bitfold.State("sum", "f64").absorb(numpy.array([1e20, 1]))
    >>> state += bitfold.State("sum", "f64").absorb(numpy.array([-1e20]))
    >>> bitfold.State.load(state.save()).result()
    1.0
    >>> cents = bitfold.State("sum", "i64", scale=2).absorb(numpy.array([110]))  # 1.10
    >>> (cents + bitfold.State("sum", "i64").absorb(numpy.array([2]))).result()
    Decimal('3.1')
    """

    def __init__(self, op, dtype, context=None, scale=0):
        self._context = context or _default_context()
        self._handle = c_void_p()
        self._context._call(
            lib.bf_state_create, self._context._handle, _number(OPS, "operation", op),
            DTYPES[dtype_name(dtype)], byref(self._handle),
        )  # fmt: skip
        if scale:
            self._context._call(lib.bf_state_rescale, self._handle, whole(scale, c_int))

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.bf_state_destroy(self._handle)

    def absorb(self, x, y=None, *, dtype=None, null="error"):
        """Absorbs an array; for an operation of pairs, two. A bf16 state reads 16-bit integers as bf16.
        null="skip" is refused by argmin and argmax; of "describe" a NULL counts in the indices.
        Returns the state."""
        given = [(each, self._dtype(each, dtype)) for each in (x, y) if each is not None]
        op = self.info().op if null == "skip" else None
        valid = None
        if op in ("argmin", "argmax"):
            refuse_positions(op, null)
        if op == "describe" and y is None:
            views, valid = whole_views(given, decimals=True)
        else:
            views = views_of(null, *given, decimals=True)
        kind, scale = self.info(), _scale_of(views)
        if scale is None or (scale, views[0].dtype) == (kind.scale, kind.dtype):
            return self._absorb(views, valid)
        return self.merge(self._part_of(views[0].dtype, scale)._absorb(views, valid))

    def _absorb(self, views, valid):
        if valid is not None:
            return absorb_valid(self, views[0], valid)
        function = lib.bf_state_absorb if len(views) == 1 else lib.bf_state_absorb_pair
        self._context._call(function, self._handle, *(byref(view.array) for view in views))
        return self

    def _part_of(self, dtype, scale):
        """Returns an empty state of decimals that follow what this one holds."""
        kind = self.info()
        if scale > kind.scale:
            raise ArgumentError(
                f"decimals of scale {scale} in a state of scale {kind.scale}: State(..., scale={scale}) takes them"
            )
        part = State(kind.op, dtype, self._context, scale)
        return part.seek(kind.next) if kind.op in ("argmin", "argmax", "describe") else part

    def absorb_shards(self, x, y=None, *, dtype=None):
        """Absorbs a list of arrays in turn, the shards of one; for pairs, two lists. A shard may be in
        the memory of any GPU: with the device "cuda:all" all GPUs work on theirs at the same time.
        Returns the state."""
        given = [x] if y is None else [x, y]
        views = [[View(each, self._dtype(each, dtype)) for each in shards] for shards in given]
        n = len(views[0])
        if len(views[-1]) != n:
            raise ShapeError(f"{n} shards, but {len(views[-1])} of the other array")
        arrays = [(_library.Array * n)(*(view.array for view in row)) for row in views]
        function = lib.bf_state_absorb_shards if y is None else lib.bf_state_absorb_pair_shards
        self._context._call(function, self._handle, *arrays, n)
        return self

    def _dtype(self, x, dtype):
        return dtype_for(x, self.info().dtype, dtype)

    def merge(self, other):
        """Merges another state of the same kind, which is unchanged. Returns the state."""
        self._require_kind(other)
        self._context._call_with(
            other._context, lib.bf_state_merge, self._handle, other._handle
        )
        return self

    def retract(self, other):
        """Takes out another state of the same kind, exactly: the state becomes that of the remaining
        data. For sums and what is made of sums: mean, var, norm, dot and so on. Returns the state."""
        self._require_kind(other)
        self._context._call_with(
            other._context, lib.bf_state_retract, self._handle, other._handle
        )
        return self

    def __isub__(self, other):
        """state -= other: retract."""
        return self.retract(other) if isinstance(other, State) else NotImplemented

    def seek(self, index):
        """Sets the index of the next element that is absorbed. Returns the state."""
        self._context._call(lib.bf_state_seek, self._handle, whole(index))
        return self

    def result(self, op=None, **options):
        """Returns the value so far; for "describe", a Description. The state can absorb more. op: another operation
        that keeps the same sums, such as "slope" of a state of "corr"; ArgumentError: it keeps others."""
        if op is None and self.info().op == "describe":
            description = _library.sized(_library.Description)
            self._context._call(
                lib.bf_state_description, self._handle, _options(**options), byref(description)
            )
            return _description(description)
        value = _library.Value()
        number = _number(OPS, "operation", self.info().op if op is None else op)
        self._context._call(lib.bf_state_result_of, self._handle, number, _options(**options), byref(value))
        return to_python(value)

    def info(self):
        """Returns a StateInfo: operation, dtype, numbers of elements, NaNs and infinities, and the
        index of the next element."""
        info = _library.sized(_library.StateInfo)
        self._context._call(lib.bf_state_describe, self._handle, byref(info))
        op = next(name for name, number in OPS.items() if number == info.op)
        return StateInfo(
            op, NAMES[info.dtype], info.count, info.nan, info.inf, info.next, info.scale
        )

    def words(self):
        """Returns the state as a new array of i64, for MPI and NCCL. Of those that retract takes,
        the sum of the words of several states is the words of the merged state."""
        info = _library.sized(_library.WordsInfo)
        self._context._call(lib.bf_state_words_info, self._handle, byref(info))
        words = new_array("i64", [info.count])
        self._context._call(lib.bf_state_get_words, self._handle, View(words).array.data)
        return words

    def set_words(self, words, parts=1):
        """Sets the state from words, which are the sum of the words of `parts` states. Returns the
        state."""
        data = memoryview(words).cast("B")
        if memoryview(words).format.lstrip("@=<") not in ("l", "q") or data.nbytes % 8:
            raise ArgumentError("words are elements of i64")
        copy = (c_int64 * (data.nbytes // 8)).from_buffer_copy(data)
        self._context._call(
            lib.bf_state_set_words, self._handle, copy, len(copy), whole(parts)
        )
        return self

    def save(self):
        """Returns the state as bytes: portable, with a version and a checksum."""
        return self._saved(lib.bf_state_save_size, lib.bf_state_save)

    @classmethod
    def load(cls, data, context=None):
        """Returns the state that save() wrote. Other bytes raise StateError."""
        state = cls.__new__(cls)
        state._context = context or _default_context()
        state._handle = c_void_p()
        data = bytes(data)
        state._context._call(
            lib.bf_state_load, state._context._handle, data, len(data), byref(state._handle)
        )
        return state


# ---- calls without Python -------------------------------------------------------------------------


class _Rules:
    """What bitfold._native asks Python."""

    nan_policies, dtypes = NAN_POLICIES, {**DTYPES}

    @staticmethod
    def default_lock():
        return _default_context()._lock

    @staticmethod
    def stream_lock(gpu, stream):
        return _stream_context(gpu, stream)._lock

    @staticmethod
    def guest_lock(gpu, stream):
        return _guest_context(gpu, stream)._lock

    @staticmethod
    def fail(status, context):
        _library.check(status, c_void_p(context))

    parts_of = staticmethod(parts_of)

    @staticmethod
    def different(choice, n, values, counts):
        values = first_of(values, n)
        if choice == _DIFFERENT_VALUES:
            return values
        counts = first_of(counts, n)
        return unique_counts_result(values, counts) if choice == _DIFFERENT_NAMED else (values, counts)


_VALUES, _POSITIONS = 0, 1  # what sorting gives
_DIFFERENT, _DIFFERENT_NAMED, _DIFFERENT_VALUES = 0, 1, 2  # what unique gives

# The row of python/native for each function, and which it is of those that share the row.
_DOORS = {
    **{op: ("reduction", OPS[op]) for op in REDUCTIONS},
    **{f"segment_{op}": ("segments", OPS[op]) for op in REDUCTIONS},
    **{name_by_index(op): ("index", OPS[op]) for op in REDUCTIONS},
    "dot": ("dot", OPS["dot"]), "covariance": ("covariance", OPS["cov"]), "correlation": ("correlation", OPS["corr"]),
    **{f"cumulative_{op}": ("scan", OPS[op]) for op in ("sum", "prod", "min", "max")},
    "sort": ("sort", _VALUES), "argsort": ("sort", _POSITIONS),
    "top": ("top", 0), "searchsorted": ("search", 0),
    "unique": ("unique", _DIFFERENT), "unique_counts": ("unique", _DIFFERENT_NAMED),
    "unique_values": ("unique", _DIFFERENT_VALUES),
    "median": ("median", 0), "quantile": ("quantile", 1), "percentile": ("quantile", 100),
    "histogram": ("histogram", 0),
}  # fmt: skip


def _open_doors():
    """Puts a door before each function of the table: calls go through it that need no rule of Python's."""
    native.attach(_library.library_path(), (array, bytes, bytearray, memoryview), _Rules)
    for name, (row, choice) in _DOORS.items():
        globals()[name] = native.Function(native, globals()[name], row, choice)


if native is not None:
    _open_doors()


def __dir__():
    return [*__all__, "__version__"]


for _name in __all__:  # shown, and pickled, by the names that users know
    globals()[_name].__module__ = __name__
