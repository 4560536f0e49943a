"""Expressions of columns, of strings too, of which some may be NULL: their results as a column, and conditions."""

import ctypes
import weakref
from array import array
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p

from ._arrays import NAMES, SIZES
from ._columns import TIMES, Column
from ._exchange import _line
from ._expression import _DATE, _encoded, _Options, names_in
from ._keys import COLUMNS, Key, Strings, column_of, kind_of_strings, parts_of
from ._library import DTYPES, Array, ArgumentError, ShapeError, lib
from ._map import map as map_array
from ._map import overflow_number
from ._nulls import pack_bits
from ._result import new_result
from ._map import _default_context

_TIME_KINDS = {name: number for number, name in TIMES.items()}

lib.bf_expression_eval_columns.restype = c_int
lib.bf_expression_eval_columns.argtypes = [c_void_p, COLUMNS, POINTER(Array), c_void_p]
lib.bf_expression_eval_strings.restype = c_int
lib.bf_expression_eval_strings.argtypes = [c_void_p, COLUMNS, c_int64, POINTER(Strings), c_void_p]


def _key_of(x):
    """Returns a key, of dates as seconds."""
    if not isinstance(x, Column) or x.dtype != "date":
        return Key(x)
    bits, at = x._buffers
    days = Column("", "i32", len(x), (None, at), x)
    seconds = map_array("mul", map_array("cast", days, to="i64"), 24 * 60 * 60)
    key = Key(Column("", "i64", len(x), (bits, seconds._address), (seconds, x), 0, x.nulls))
    key.time = x.dtype
    return key


def _destroy(handle, context):
    lib.bf_expression_destroy(handle)


class _Computed:
    """An expression of columns of keys by name, and its results."""

    def __init__(self, text, columns, context, overflow="error"):
        self._context, self._handle, n = context, c_void_p(), len(columns)
        if not columns:
            raise ArgumentError("no array tells how many strings there are")
        keys = [_key_of(x) for x in columns.values()]
        if len({key.n for key in keys}) > 1:
            raise ShapeError("columns of different lengths")
        self._pieces, self.n = [key.pieces for key in keys], keys[0].n
        options = _Options(
            ctypes.sizeof(_Options), overflow_number(overflow), (c_int * n)(*(key.scale for key in keys)),
            times=(ctypes.c_ubyte * n)(*(_TIME_KINDS.get(key.time, 0) for key in keys)),
        )  # fmt: skip
        context._call(
            lib.bf_expression_parse, context._handle, text, (c_char_p * n)(*map(_encoded, columns, ["a name"] * n)),
            (c_int * n)(*(key.kind for key in keys)), n, byref(options), None, byref(self._handle),
        )  # fmt: skip
        weakref.finalize(self, _destroy, self._handle, context)
        self.valid = new_result("bool", [self.n])

    @property
    def dtype(self):
        """The dtype of the results; None: they are strings."""
        return NAMES.get(lib.bf_expression_dtype(self._handle))

    def numbers(self):
        """Returns the results as an array."""
        kind, made = self.dtype, new_result(self.dtype, [self.n])
        for first, end, columns in parts_of(self._pieces):
            out = _line(made._address + SIZES[kind] * first, DTYPES[kind], end - first)
            valid = self.valid._address + first
            self._context._call(lib.bf_expression_eval_columns, self._handle, columns, byref(out), valid)
        return made

    def strings(self):
        """Returns the results as offsets and bytes."""
        offsets, parts, total = array("q", [0]), [], 0
        for first, end, columns in parts_of(self._pieces):
            out, valid = Strings(ctypes.sizeof(Strings)), self.valid._address + first
            self._context._call(
                lib.bf_expression_eval_strings, self._handle, columns, end - first, byref(out), valid
            )
            ends = (c_int64 * (end - first + 1)).from_address(out.offsets)
            offsets.extend(memoryview(map_array("add", ends, total - ends[0])).cast("B").cast("q")[1:])
            parts.append(ctypes.string_at((out.bytes or 0) + ends[0], ends[-1] - ends[0]))
            total = offsets[-1]
        return offsets, b"".join(parts)

    def column(self):
        """Returns the results as a column."""
        if self.dtype is None:
            offsets, data = self.strings()
            kind, at = kind_of_strings(data, len(data)), ctypes.cast(c_char_p(data), c_void_p).value
            return self._column(kind, (offsets.buffer_info()[0], at), (offsets, data))
        made, scale = self.numbers(), lib.bf_expression_scale(self._handle)
        time = lib.bf_expression_time(self._handle)
        if time == _DATE:
            made, scale = map_array("cast", map_array("div", made, 24 * 60 * 60 * 10**scale), to="i32"), 0
        elif time:
            made, scale = map_array("mul", made, 10 ** (-scale % 3)), scale + -scale % 3
        return self._column(TIMES.get(time, made.dtype), (made._address,), made, scale)

    def _column(self, kind, buffers, owner, scale=0):
        from . import sum as count

        nulls = self.n - count(self.valid)
        bits, kept = pack_bits(self.valid) if nulls else (None, None)
        return Column("", kind, self.n, (bits, *buffers), (owner, kept), scale, nulls)


def condition(text, data, context):
    """Returns an array of bools, true for the rows of columns, by name, that meet a condition."""
    context, encoded = context or _default_context(), _encoded(text, "a condition")
    names = names_in(encoded, context)
    if not names:
        raise ArgumentError(f"where={text!r} names no column")
    found = _Computed(encoded, {name: column_of(data, name) for name in names}, context)
    if found.dtype != "bool":
        raise ArgumentError(f"where={text!r} is no condition")
    return found.numbers()


def computed(text, arrays, context, overflow):
    """Returns the results of an expression of arrays by name, of strings too, as a column."""
    context = context or _default_context()
    names = names_in(text, context) or list(arrays)[:1]
    used = {name: arrays[name] for name in names if name in arrays} or arrays
    return _Computed(text, used, context, overflow).column()
