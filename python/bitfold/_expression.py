"""Expressions of arrays, as in evaluate("(a - b)**2", a=x, b=y)."""

import ctypes
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

from . import _times
from ._arrays import NAMES, Target, View, to_python, writable
from ._library import DTYPES, OPS, Array, ArgumentError, DtypeError, Value, lib
from ._map import _broadcast, _default_context, overflow_number
from ._reductions import REDUCTIONS


_DATE, _LOCAL, _UTC = 1, 2, 3  # bf_time_kind
_NAMES_MOST = 256  # BF_EXPRESSION_NAMES_MAX


class _Options(ctypes.Structure):
    """bf_expression_options"""

    _fields_ = [
        ("size", c_size_t), ("overflow", c_int), ("scales", POINTER(c_int)), ("rounded", c_int),
        ("wide", c_int), ("times", POINTER(ctypes.c_ubyte)),
    ]  # fmt: skip


lib.bf_expression_parse.argtypes = [
    c_void_p, c_char_p, POINTER(c_char_p), POINTER(c_int), c_int, POINTER(_Options), POINTER(c_int),
    POINTER(c_void_p),
]  # fmt: skip
lib.bf_expression_parse.restype = c_int
lib.bf_expression_names.restype = c_int
lib.bf_expression_names.argtypes = [
    c_void_p, c_char_p, c_char_p, c_char_p, POINTER(c_int), POINTER(c_int),
]  # fmt: skip
lib.bf_expression_destroy.argtypes = [c_void_p]
lib.bf_expression_destroy.restype = None
lib.bf_expression_dtype.argtypes = [c_void_p]
lib.bf_expression_dtype.restype = c_int
lib.bf_expression_time.argtypes = [c_void_p]
lib.bf_expression_time.restype = c_int
lib.bf_expression_scale.argtypes = [c_void_p]
lib.bf_expression_scale.restype = c_int
lib.bf_expression_is_string.argtypes = [c_void_p]
lib.bf_expression_is_string.restype = c_int
lib.bf_expression_uses.argtypes = [c_void_p, c_int]
lib.bf_expression_uses.restype = c_int
lib.bf_expression_eval.argtypes = [c_void_p, POINTER(POINTER(Array)), POINTER(Array)]
lib.bf_expression_eval.restype = c_int
lib.bf_state_absorb_expression.argtypes = [c_void_p, c_void_p, POINTER(POINTER(Array))]
lib.bf_state_absorb_expression.restype = c_int


def _stretched(array, shape):
    """Returns the array as one of a shape to which it broadcasts: a stride of 0 makes one element stand
    for many."""
    stretched = Array(array.data, array.dtype, len(shape))
    ahead = len(shape) - array.ndim
    for d, extent in enumerate(shape):
        own = array.shape[d - ahead] if d >= ahead else 1
        stretched.shape[d] = extent
        stretched.strides[d] = array.strides[d - ahead] if own == extent and d >= ahead else 0
    return stretched


def _encoded(text, what):
    if not isinstance(text, str) or "\0" in text:
        raise ArgumentError(f"{what} is a str without zero bytes, not {text!r}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} is a str that UTF-8 has, not {text!r}") from None


def _integers(given):
    """Returns arrays by name, those of times as the integers that they are, and the scales and the kinds of
    all; None: there are no times."""
    scales, kinds = (c_int * len(given))(), (ctypes.c_ubyte * len(given))()
    for i, (name, x) in enumerate(given.items()):
        if _times.are_times(x):
            given[name], scales[i], zone = _times.units_of(x)
            date = getattr(x, "dtype", None) == "M8[D]"
            kinds[i] = _DATE if date else _UTC if zone else _LOCAL
    return (given, scales, kinds) if any(kinds) else (given, None, None)


def names_in(text, context):
    """Returns the names in the text of an expression, as bytes, in the order of their first places."""
    names, count = ctypes.create_string_buffer(len(text) + 1), c_int()
    kinds = ctypes.create_string_buffer(_NAMES_MOST)
    context._call(
        lib.bf_expression_names, context._handle, text, names, kinds, byref(count), None
    )
    return [each.decode() for each in names.raw.split(b"\0")[: count.value]]


def _given(text, arrays, named, context):
    """Returns all arrays by name. arrays: a dict of them, or one for each name in the text that is not among
    `named`."""
    if len(arrays) == 1 and (isinstance(arrays[0], Mapping) or hasattr(arrays[0], "iterrows")):  # a table of pandas
        by_name = dict(arrays[0])
    elif arrays:
        names = names_in(_encoded(text, "an expression"), context or _default_context())
        left = [name for name in names if name not in named]
        if len(left) != len(arrays):
            raise ArgumentError(f"{len(arrays)} arrays for {len(left)} names: {', '.join(left)}")
        by_name = dict(zip(left, arrays))
    else:
        by_name = {}
    if twice := named.keys() & by_name.keys():
        raise ArgumentError(f"{min(twice)!r} is given twice")
    return {**by_name, **named}


class StringsError(DtypeError):
    """An expression whose results are strings."""


class _Expression:
    """A text, parsed for arrays by name, of one shape."""

    def __init__(self, text, given, overflow="error", context=None, wide=False):
        self._handle = c_void_p()
        policy = overflow_number(overflow)
        text = _encoded(text, "an expression")
        given, scales, kinds = _integers(given)
        for name, x in given.items():
            if type(x) in (bool, int, float):
                raise DtypeError(f"{name} is a number: numbers stand in the text")
        views = [View(x) for x in given.values()]
        self._context = context or _default_context()
        names = (c_char_p * len(views))(*(_encoded(name, "a name") for name in given))
        dtypes = (c_int * len(views))(*(view.array.dtype for view in views))
        options = _Options(
            ctypes.sizeof(_Options), policy, scales, scales is not None, wide, kinds
        )
        self.call(
            lib.bf_expression_parse, self._context._handle, text, names, dtypes, len(views),
            byref(options), None, byref(self._handle),
        )  # fmt: skip
        if lib.bf_expression_is_string(self._handle):
            raise StringsError("the results are strings, which evaluate gives")
        self.time = lib.bf_expression_time(self._handle)
        uses = [bool(lib.bf_expression_uses(self._handle, i)) for i in range(len(views))]
        if uses and not any(uses):  # as many results as the first array has elements
            uses[0] = True
        used = [view for view, use in zip(views, uses) if use]
        self.first = next((x for x, use in zip(given.values(), uses) if use), None)
        self.dtype = NAMES[lib.bf_expression_dtype(self._handle)]
        self.shape = _broadcast(used) if used else []
        self._views = views  # keep the memory
        fitted = [
            _stretched(view.array, self.shape) if use else view.array for view, use in zip(views, uses)
        ]
        self._columns = (POINTER(Array) * len(views))(*(ctypes.pointer(array) for array in fitted))

    def __del__(self):
        if self._handle:
            lib.bf_expression_destroy(self._handle)

    def call(self, function, *arguments):
        self._context._call(function, *arguments)

    def eval(self, out):
        self.call(lib.bf_expression_eval, self._handle, self._columns, byref(out))

    def reduce(self, op, options):
        """Returns the value of the results, which are not stored."""
        if self.time:
            raise _times.TimesError("the results are times, which evaluate gives")
        state, value = c_void_p(), Value()
        self.call(
            lib.bf_state_create, self._context._handle, OPS[op], DTYPES[self.dtype], byref(state)
        )
        try:
            self.call(lib.bf_state_absorb_expression, state, self._handle, self._columns)
            self.call(lib.bf_state_result, state, options, byref(value))
        finally:
            lib.bf_state_destroy(state)
        return to_python(value)


def evaluate(text, *arrays, out=None, overflow="error", context=None, **named):
    """Computes an expression of arrays, element by element:

        + - * / %, x**3 (a whole power), == != < <= > >=, && || !, x ? y : z,
        abs sqrt floor ceil isnan log log2 log10 exp (x), min max (x, y, ...), pow(x, y), fma(x, y, z),
        round(x, digits), if(c, x, y), and numbers

    and of arrays of times

        t - t (seconds), t + seconds, comparisons, also with "2026-11-28", min, max,
        year month day hour minute second weekday date (t), trunc(t, "month")

    Each operation is rounded once, and gives the dtype of NumPy 2; numbers in the text take the dtype
    of the arrays. Intermediate results stay in the caches. Shapes broadcast; if the text names no array,
    the results have the shape of the first, or are one number. arrays: one for each name in the text, in the order
    of their first places, but for those that are given by name. Or a dict, for names that are no
    keywords; in the text, others than words stand between backquotes. out: the array to write to, of the
    results' dtype and shape; it may be an input. Strings go in as arrays of any library. With them, or if the
    results are strings, these are a bitfold.Column, which pandas, Polars and pyarrow take. overflow: "error", "wrap"
    or "saturate". A GPU computes if an array is in its memory, else the CPU.

    Errors: ArgumentError (a wrong text, with its place; not as many arrays as names; an integer divided by
    zero), ShapeError, DtypeError, RangeError (an integer result does not fit, under overflow="error"), DeviceError.

    >>> bitfold.evaluate("(a - b)**2", a=numpy.array([1.0, 5.0]), b=numpy.array([0.5, 2.0]))
    array([0.25, 9.  ])
    >>> bitfold.evaluate("2*x + y", [1, 2], [0.5, 1])
    array([2.5, 5. ])
    >>> bitfold.evaluate("n != 0 ? t / n : 0", {"t": numpy.array([6, 7]), "n": numpy.array([4, 0])})
    array([1.5, 0. ])
    >>> bitfold.evaluate("n > 5 ? upper(s) : 'few'", n=numpy.array([6, 4]), s=numpy.array(["a", "b"]))
    Column('', ['A', 'few'], dtype='string')
    """
    from ._keys import strings_of

    given = _given(text, arrays, named, context)
    if any(strings_of(x) is not None for x in given.values()):
        return _column_of(text, given, out, overflow, context)
    try:
        e = _Expression(text, given, overflow, context)
    except StringsError:
        return _column_of(text, given, out, overflow, context)
    if out is None:
        target = Target(e.first, e.dtype, e.shape)
    else:
        target = writable(out, e.dtype)
    if e.time and out is not None:
        raise _times.TimesError("the results are times, which no out takes")
    e.eval(target.array)
    if e.time:
        return _times.of_units(target.result(), lib.bf_expression_scale(e._handle), e.time == _DATE)
    return target.result() if out is None else out


def _column_of(text, given, out, overflow, context):
    """Returns the results as a column."""
    from ._computed import computed

    if out is not None:
        raise DtypeError("results of strings are a column, which no out takes")
    return computed(_encoded(text, "an expression"), given, context, overflow)


def reduce_expression(
    op, text, *arrays, nan="propagate", out_dtype=None, ddof=0, overflow="error", context=None,
    **named,
):  # fmt: skip
    """Reduces an expression of arrays, as evaluate takes it, without storing its results: op is the
    name of a function of one array, such as "sum". Each operation of the expression is rounded once; the
    reduction is exact.

    Errors: those of evaluate and of the function op.

    >>> a, b = numpy.array([1.0, 5.0]), numpy.array([0.5, 2.0])
    >>> bitfold.reduce_expression("sum", "(a - b)**2", a=a, b=b)
    9.25
    """
    from . import _options

    if op not in REDUCTIONS:
        raise ArgumentError(f"operation {op!r} is no reduction of an expression")
    options = _options(nan, out_dtype, ddof, overflow)
    return _Expression(text, _given(text, arrays, named, context), overflow, context).reduce(op, options)
