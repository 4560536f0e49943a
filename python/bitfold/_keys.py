"""Columns of keys, of numbers or strings, as the library takes them (bf_column), and what numbers rows of them
(bf_dictionary)."""

import ctypes
import itertools
import weakref
from array import array
from collections import namedtuple
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, SIZES, View, _numpy, dtype_in, is_numpys
from ._columns import TIMES, Column, reader
from ._exchange import (
    ARROW, KEEP, _Column, _line, _read_arrow, _read_columns, _Schema, _valid_of, arrow_of, _has_pyarrow, new_column,
    schema_of,
)  # fmt: skip
from ._library import DTYPES, Array, ArgumentError, DtypeError, ShapeError, lib
from ._lists import is_list
from ._map import _default_context
from ._map import map as map_array
from ._nulls import pack_bits
from ._read import strings_of_views
from ._result import TYPESTR, Result, new_result
from ._times import NAT, are_times, units_of


class Strings(ctypes.Structure):
    """bf_strings"""

    _fields_ = [
        ("size", c_size_t), ("count", c_int64), ("offset", c_int), ("offsets", c_void_p),
        ("bytes", c_void_p),
    ]  # fmt: skip


class KeyColumn(ctypes.Structure):
    """bf_column"""

    _fields_ = [
        ("size", c_size_t), ("strings", POINTER(Strings)), ("numbers", POINTER(Array)),
        ("valid", c_void_p), ("first", c_int64),
    ]  # fmt: skip


COLUMNS = POINTER(POINTER(KeyColumn))
_SIGNATURES = {
    "bf_dictionary_create": (c_int, c_void_p, c_int, POINTER(c_int), POINTER(c_void_p)),
    "bf_dictionary_destroy": (None, c_void_p),
    "bf_dictionary_size": (c_int64, c_void_p),
    "bf_dictionary_encode": (c_int, c_void_p, COLUMNS, POINTER(Array)),
    "bf_dictionary_find": (c_int, c_void_p, COLUMNS, POINTER(Array)),
    "bf_dictionary_merge": (c_int, c_void_p, c_void_p, POINTER(Array)),
    "bf_dictionary_ranks": (c_int, c_void_p, POINTER(Array)),
    "bf_dictionary_values": (c_int, c_void_p, c_int, *[POINTER(Array)] * 3),
    "bf_dictionary_strings": (
        c_int, c_void_p, c_int, POINTER(Array), POINTER(Array), c_void_p, c_int64, POINTER(Array),
    ),
}  # fmt: skip
lib.declare(_SIGNATURES)


# ---- columns --------------------------------------------------------------------------------------


class _Piece:
    """Rows of strings: where their offsets, of 32 or 64 bits, and their bytes are, and the bits of what is not
    NULL, of which the first row has number `bit`."""

    def __init__(self, n, wide, offsets, data, owner, bits=None, bit=0):
        self.n, self._wide, self._offsets, self._data, self._owner = n, wide, offsets, data, owner
        self.bits, self.bit = bits, bit

    def column(self, at, n):
        """Returns n rows from row `at` on as a bf_column."""
        offsets = self._offsets + at * (8 if self._wide else 4)
        kind = DTYPES["i64" if self._wide else "i32"]
        strings = Strings(ctypes.sizeof(Strings), n, kind, offsets, self._data)
        first = self.bit + at if self.bits else 0
        return KeyColumn(ctypes.sizeof(KeyColumn), ctypes.pointer(strings), None, self.bits, first)


class Numbers:
    """Numbers: a view, and bits for those with NULLs."""

    bit = 0

    def __init__(self, view):
        if view.array.ndim != 1:
            raise ShapeError("keys have one dimension")
        self.n, self.view = view.array.shape[0], view
        self.bits, self._owner = pack_bits(view.valid) if view.valid is not None else (None, None)

    def column(self, at, n):
        numbers = Array.from_buffer_copy(self.view.array)
        numbers.shape[0] = n
        numbers.data = (numbers.data or 0) + at * numbers.strides[0] * SIZES[self.view.dtype]
        first = at if self.bits else 0
        return KeyColumn(ctypes.sizeof(KeyColumn), None, ctypes.pointer(numbers), self.bits, first)


BF_NONE = 0


class Form(namedtuple("Form", "kind scale time", defaults=(0, None))):
    """What must be the same of two columns, to tell equal keys: the number of their dtype, or BF_NONE of strings;
    and the scale of decimals and times, which are integers meanwhile, and what times they are."""

    @property
    def name(self):
        """What keys of this form are called."""
        return "string" if self.kind == BF_NONE else self.time or NAMES[self.kind]

    def named(self, name, column):
        """Returns a column of such keys as integers or strings as one of what the keys are."""
        if self.time or self.scale:
            kind, scale = self.time or column.dtype, self.scale or 0
            return Column(name, kind, len(column), column._buffers, column, scale, column.nulls)
        column.name = name
        return column


class Key:
    """A column of keys, in pieces of rows. kind: the number of its dtype, or BF_NONE: it is of strings. n: how
    many rows. scale and time: as in its form. given: what has them. form: what it is to have; pieces: of its
    strings."""

    def __init__(self, x, form=None, pieces=None):
        self.given = x
        self.scale, self.time, self.view = 0, None, None
        if isinstance(x, Column) and x.dtype in TIMES.values():
            self.scale, self.time, x = x.scale, x.dtype, x._as_integers()
        if pieces is None:
            pieces = strings_of(x, form is not None and form.kind == BF_NONE)
        self.kind, self.pieces = BF_NONE, pieces
        if self.pieces is None:
            dtype = dtype_in(form.name) if form is not None else None
            self.view = self._times(x) if not self.time and are_times(x) else View(x, dtype, KEEP, decimals=True)
            self.kind, self.pieces = self.view.array.dtype, [Numbers(self.view)]
            self.scale = self.scale or self.view.scale or 0
        self.n = sum(piece.n for piece in self.pieces)

    def _times(self, x):
        """Returns a view of the integers of times."""
        units, self.scale, zoned = units_of(x, KEEP)
        self.time, view = "utc time" if zoned else "time", View(units)
        valid = units != NAT
        view.valid = None if valid.all() else valid
        return view

    @property
    def form(self):
        return Form(self.kind, self.scale, self.time)

    def valid(self):
        """Returns an array of bools, true for the rows that are not NULL; None: no row is."""
        if not any(piece.bits for piece in self.pieces):
            return None
        return _valid_of([new_column(piece.n, piece.bit, piece.bits, None) for piece in self.pieces])

    def named(self, name, column):
        """Returns a column of such keys as integers or strings as one of what the keys are."""
        return self.form.named(name, column)


def strings_of(x, sure=False):
    """Returns pieces of an array, or a list, of strings; None: it has none. sure: what is empty, or all NULL, is of
    strings, too."""
    if isinstance(x, (list, tuple)):
        return _strings_of_objects(x, sure)
    if isinstance(x, Column):
        if x.dtype not in ("string", "binary"):
            return None
        bits, offsets, data = x._buffers
        return [_Piece(len(x), True, offsets, data, x, bits)]
    if isinstance(x, Result):
        return None
    library, kind = type(x).__module__.split(".")[0], getattr(getattr(x, "dtype", None), "kind", None)
    if library == "numpy":
        return _strings_of_numpy(x, sure) if kind in ("U", "S", "T", "O") else None
    if library == "pandas" and (kind != "O" or not _has_pyarrow()):
        return _strings_of_numpy(x.to_numpy(), sure) if kind == "O" else None
    is_arrow = any(hasattr(x, name) for name in ARROW)
    return _strings_of_arrow(arrow_of(x), sure) if is_arrow else None


def _joined(parts):
    """Returns a piece of strings, which are bytes, or None for NULL."""
    offsets = (c_int64 * (len(parts) + 1))(0, *itertools.accumulate(len(each or b"") for each in parts))
    data = b"".join(each or b"" for each in parts)
    bits, kept = None, None
    if None in parts:
        bits, kept = pack_bits((ctypes.c_bool * len(parts))(*(each is not None for each in parts)))
    address = ctypes.cast(c_char_p(data), c_void_p).value
    return [_Piece(len(parts), True, ctypes.addressof(offsets), address, (offsets, data, kept), bits)]


def _strings_of_numpy(x, sure):
    """Returns pieces of an array of NumPy's of strings, or of objects that are all str, bytes or None."""
    if x.ndim != 1:
        if x.dtype.kind == "O":
            return None
        raise ShapeError("strings have one dimension")
    return _strings_of_objects(x.tolist(), sure or x.dtype.kind != "O")


def _strings_of_objects(given, sure):
    """Returns pieces of str, bytes and None; None: none of them is a string."""
    if not sure and not any(isinstance(each, (str, bytes)) for each in given):
        return None
    return _joined([_encoded(each) for each in given])


def _encoded(each):
    if isinstance(each, bytes):
        return each
    if isinstance(each, str):
        try:
            return each.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"the string {each!r} is no text: it has half of a character") from None
    if each is None or type(each).__name__ == "NAType" or each != each:  # a NaN is pandas' NULL, too
        return None
    raise DtypeError(f"keys of strings and of {type(each).__name__!r}")


# ---- Arrow ----------------------------------------------------------------------------------------

_LAYOUTS = {b"u": False, b"z": False, b"U": True, b"Z": True}  # whether offsets have 64 bits
_VIEWS = b"vu", b"vz"


def _strings_of_arrow(x, sure):
    schema, columns, device, owners = _read_arrow(x)
    if sure and schema.format == b"n":  # all is NULL
        return _joined([None] * sum(column.length for column in columns))
    if schema.format == b"+s" and schema.n_children == 1:
        return None  # a table of one column: numbers alone
    if schema.dictionary:
        return _strings_of_dictionary(schema, columns, owners)
    if schema.format in _VIEWS:
        return [_piece_of_views(column, owners) for column in columns]
    if schema.format not in _LAYOUTS:
        return None
    return [_piece_of(column, _LAYOUTS[schema.format], owners) for column in columns]


def _piece_of(column, wide, owners):
    bits, offsets, data = (c_void_p * 3).from_address(column.buffers)
    if column.length == 0:
        return _joined([])[0]
    at, bits = offsets + column.offset * (8 if wide else 4), bits if column.null_count else None
    return _Piece(column.length, wide, at, data, owners, bits, column.offset)


def _piece_of_views(column, owners):
    bits, views = (c_void_p * 2).from_address(column.buffers)
    views = (views or 0) + 16 * column.offset
    offsets, data = strings_of_views(column.length, views, column.buffers + 16)
    kept, bits = (offsets, data, owners), bits if column.null_count else None
    return _Piece(
        column.length, True, ctypes.addressof(offsets), ctypes.addressof(data), kept, bits, column.offset
    )


def _strings_of_dictionary(schema, columns, owners):
    """Returns pieces of the strings that indices into a dictionary mean; None: it has no strings."""
    kind = _Schema.from_address(schema.dictionary).format
    if kind not in _LAYOUTS and kind not in _VIEWS:
        return None
    pieces = []
    for column in columns:
        of = _Column.from_address(column.dictionary)
        strings = _piece_of_views(of, owners) if kind in _VIEWS else _piece_of(of, _LAYOUTS[kind], owners)
        pieces.append(_expanded(strings, *_indices_of(schema, column)))
    return pieces


class Memory:
    """An array somewhere in memory, which an owner keeps."""

    def __init__(self, array, owner=None):
        name, n = NAMES[array.dtype], array.ndim
        self._owner = owner
        self.__array_interface__ = {
            "version": 3, "shape": (*array.shape[:n],), "typestr": TYPESTR[name],
            "strides": (*(step * SIZES[name] for step in array.strides[:n]),), "data": (array.data or 0, True),
        }  # fmt: skip


def _indices_of(schema, column):
    """Returns indices into a dictionary as i64, 0 for NULLs, and an array of bools, false for these, or None."""
    bits, values = (c_void_p * 2).from_address(column.buffers)
    plain = new_column(column.length, column.offset, bits if column.null_count else None, values)
    array, _, valid = _read_columns(schema_of(schema.format), [plain], [], KEEP, NAMES, SIZES)
    indices = map_array("cast", Memory(array), to="i64")
    if valid is not None:
        indices = map_array("mul", indices, map_array("cast", valid, to="i64"))
    return indices, valid


def picked_of(x, places):
    """Returns the elements of a bf_array of one dimension, contiguous, at these places, and 0 where one is -1."""
    wanted, name = View(places).array, NAMES[x.dtype]
    n = wanted.shape[0]
    made = new_result(name, [n])
    pick = reader().bitfold_read_pick
    pick(c_void_p(x.data), c_size_t(SIZES[name]), c_void_p(wanted.data), c_int64(n), c_void_p(made._address))
    return made


def picked(made, places):
    """Returns the elements of a Result at these places, and 0 where one is -1."""
    return picked_of(made._array(), places)


def _expanded(strings, indices, valid):
    """Returns the strings at these indices as a piece."""
    words = Words([BF_NONE])
    numbers = words.encode([[strings]], strings.n)
    if len(words) < strings.n:  # some are there twice
        indices = picked(numbers, indices)
    if strings.n == 0:
        return _joined([None] * len(valid or ()))[0]
    column = words.column(0, "", indices)
    bits, offsets, data = column._buffers
    kept = column, None
    if valid is not None:
        if bits:
            valid = map_array("min", valid, column._valid)
        bits, owner = pack_bits(valid)
        kept = column, owner
    return _Piece(len(column), True, offsets, data, kept, bits)


# ---- numbers of keys ------------------------------------------------------------------------------


def _destroy(handle, context):
    """Destroys a dictionary; its argument keeps the context alive until then."""
    lib.bf_dictionary_destroy(handle)


class Words:
    """Different rows of keys, numbered from 0 on in the order in which they first appear. kinds: the number of
    each column's dtype, or BF_NONE: it is of strings."""

    def __init__(self, kinds, context=None):
        self._context, self._handle, self.kinds = context or _default_context(), c_void_p(), kinds
        weakref.finalize(self, _destroy, self._handle, self._context)
        self._context._call(
            lib.bf_dictionary_create, self._context._handle, len(kinds), (c_int * len(kinds))(*kinds),
            byref(self._handle),
        )  # fmt: skip

    def __len__(self):
        return lib.bf_dictionary_size(self._handle)

    def _call(self, function, *arguments):
        self._context._call(function, self._handle, *arguments)

    def encode(self, columns, n):
        """Returns the number of each of n rows, whose columns are lists of pieces."""
        return self._numbers_by(lib.bf_dictionary_encode, columns, n)

    def find(self, columns, n):
        """Returns the same, but -1 for rows that are new, which stay so."""
        return self._numbers_by(lib.bf_dictionary_find, columns, n)

    def _numbers_by(self, function, columns, n):
        numbers = new_result("i64", [n])
        for first, end, pointers in parts_of(columns):
            room = _line(numbers._address + 8 * first, DTYPES["i64"], end - first)
            self._call(function, pointers, byref(room))
        return numbers

    def merge(self, other):
        """Takes in the keys of another. Returns the number of each here."""
        numbers = new_result("i64", [len(other)])
        self._context._call_with(
            other._context, lib.bf_dictionary_merge, self._handle, other._handle, byref(numbers._array())
        )
        return numbers

    def ranks(self):
        """Returns the place of each key, by its number, in the order of all."""
        ranks = new_result("i64", [len(self)])
        self._call(lib.bf_dictionary_ranks, byref(ranks._array()))
        return ranks

    def order(self, numbers):
        """Returns the places of these numbers in the order of their keys."""
        from ._order import argsort

        return argsort(picked(self.ranks(), numbers), context=self._context)

    def taken(self, numbers):
        """Returns the keys of these different numbers, numbered anew, from 0 on."""
        words, n = Words(self.kinds, self._context), len(numbers)
        columns = range(len(self.kinds))
        words.encode([[piece_of(kind, n, self.parts(i, numbers))] for i, kind in zip(columns, self.kinds)], n)
        return words

    def nulls(self):
        """Returns how many keys of the first column are NULL."""
        return self.column(0, "", self.all()).nulls

    def all(self):
        """Returns the numbers of all keys."""
        return array("q", range(len(self)))

    def column(self, which, name, numbers, scale=0):
        """Returns a column of the keys that have these numbers."""
        from . import sum as count

        n = len(numbers)
        valid, *held = self.parts(which, numbers)
        nulls = n - count(valid)
        bits, kept = pack_bits(valid) if nulls else (None, None)
        kind = kind_of_strings(held[1], held[0][n]) if self.kinds[which] == BF_NONE else held[0].dtype
        made = Column(name, kind, n, (bits, *map(ctypes.addressof, map(memory_of, held))), (held, kept), scale, nulls)
        made._valid = valid
        return made

    def parts(self, which, numbers):
        """Returns the keys that have these numbers as memory: bools, false for NULLs, and numbers, 0 for NULLs, or the
        offsets and the bytes of strings."""
        valid = new_result("bool", [len(numbers)])
        take = self._strings if self.kinds[which] == BF_NONE else self._values
        return valid, *take(which, numbers, valid._array())

    def values(self, which, numbers):
        """Returns a column of numbers of the keys that have these numbers, 0 for NULLs, as a Result."""
        return self._values(which, numbers)[0]

    def _values(self, which, numbers, valid=None):
        values, wanted = new_result(NAMES[self.kinds[which]], [len(numbers)]), View(numbers).array
        beside = valid and byref(valid)
        self._call(lib.bf_dictionary_values, which, byref(wanted), byref(values._array()), beside)
        return (values,)

    def _strings(self, which, numbers, valid):
        wanted, n = View(numbers).array, len(numbers)
        offsets, function = new_result("i64", [n + 1]), lib.bf_dictionary_strings
        room = offsets._array()
        self._call(function, which, byref(wanted), byref(room), None, 0, byref(valid))
        data = ctypes.create_string_buffer(max(offsets[n], 1))
        self._call(function, which, byref(wanted), byref(room), data, offsets[n], byref(valid))
        return offsets, data


def memory_of(held):
    """Returns the memory of a Result, or of ctypes."""
    return getattr(held, "_memory", held)


def piece_of(kind, n, parts):
    """Returns n keys as Words.parts gives them as a piece."""
    valid, *held = parts
    if kind == BF_NONE:
        offsets, data = held
        (bits, kept), at = pack_bits(valid), offsets._address
        return _Piece(n, True, at, ctypes.addressof(data), (held, kept), bits)
    view = View(*held, dtype_in(NAMES[kind]), decimals=True)
    view.valid = valid
    return Numbers(view)


def kind_of_strings(data, n):
    """Returns the dtype of a column of strings of these n bytes."""
    try:
        ctypes.string_at(data, n).decode()
    except UnicodeDecodeError:
        return "binary"
    return "string"


def parts_of(columns):
    """Yields rows from one to another, and pointers to a bf_column of these for each column, a list of pieces:
    rows that are in one piece of each."""
    ends = sorted({end for pieces in columns for end in itertools.accumulate(p.n for p in pieces)})
    first = 0
    for end, *part in zip(ends, *(_cut(pieces, ends) for pieces in columns)):
        if end > first:
            yield first, end, (POINTER(KeyColumn) * len(part))(*map(ctypes.pointer, part))
        first = end


def _cut(pieces, ends):
    """Yields a bf_column for the rows up to each end; each piece ends at one of them."""
    begin, first, left = 0, 0, iter(pieces)
    piece = next(left, None)
    for end in ends:
        while end > begin + piece.n:
            begin, piece = begin + piece.n, next(left)
        yield piece.column(max(first - begin, 0), end - first)
        first = end


def shown_as(x):
    """Returns how keys such as those of x are shown: the dtype, or its letter, of an array of NumPy; None: as a
    Column."""
    if is_list(x) or not is_numpys(x):
        return None
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    return x.dtype if kind == "T" else kind if kind in ("S", "U") else object


def like(column, shown):
    """Returns a column of keys as it is shown."""
    if shown is None or _numpy() is None:
        return column
    made = column.to_numpy()
    if column.dtype not in ("string", "binary"):
        return made
    if shown == "S":
        made[:] = [each if isinstance(each, bytes) else each.encode() for each in made]
    fits = column.nulls == 0 and (shown != "U" or column.dtype == "string")
    found = made.astype(shown) if fits else made  # any width does
    return found if (found == made).all() else made  # zero bytes at the end are lost


# ---- tables ---------------------------------------------------------------------------------------


def names_of(data):
    """Returns the names of columns."""
    if isinstance(data, Mapping):
        return list(data)
    names = getattr(data, "column_names", None) or getattr(data, "columns", None)  # pyarrow's, and others'
    if names is None:
        raise DtypeError(f"{type(data).__name__!r} has no columns by name")
    return list(names)


def column_of(data, name):
    """Returns the column of this name."""
    if name not in names_of(data):
        raise ArgumentError(f"there is no column {name!r}")
    return data[name]
