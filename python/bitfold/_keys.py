"""Columns of keys, of numbers or strings, as the library takes them (bf_column), and their dictionaries
(bf_dictionary): they number rows of keys, so that what takes numbers takes strings."""

import ctypes
import itertools
import weakref
from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, SIZES, View, copied_like, is_numpys
from ._columns import TIMES, Column, reader
from ._exchange import (
    ARROW, KEEP, _Column, _line, _read_arrow, _read_columns, _Schema, arrow_of, _has_pyarrow, new_column, schema_of,
)  # fmt: skip
from ._library import DTYPES, Array, ArgumentError, DtypeError, ShapeError, lib
from ._map import map as map_array
from ._nulls import pack_bits
from ._read import strings_of_views
from ._result import TYPESTR, Result, new_result
from ._table import Table, _default_context
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
    "bf_dictionary_ranks": (c_int, c_void_p, POINTER(Array)),
    "bf_dictionary_values": (c_int, c_void_p, c_int, *[POINTER(Array)] * 3),
    "bf_dictionary_strings": (
        c_int, c_void_p, c_int, POINTER(Array), POINTER(Array), c_void_p, c_int64, POINTER(Array),
    ),
}  # fmt: skip
for _name, (_result, *_arguments) in _SIGNATURES.items():
    getattr(lib, _name).restype = _result
    getattr(lib, _name).argtypes = _arguments


# ---- columns --------------------------------------------------------------------------------------


class _Piece:
    """Rows of strings: where their offsets, of 32 or 64 bits, and their bytes are, and the bits of what is not
    NULL, of which the first row has number `bit`."""

    def __init__(self, n, wide, offsets, data, owner, bits=None, bit=0):
        self.n, self._wide, self._offsets, self._data, self._owner = n, wide, offsets, data, owner
        self._bits, self._bit = bits, bit

    def column(self, at, n):
        """Returns n rows from row `at` on as a bf_column."""
        offsets = self._offsets + at * (8 if self._wide else 4)
        kind = DTYPES["i64" if self._wide else "i32"]
        strings = Strings(ctypes.sizeof(Strings), n, kind, offsets, self._data)
        first = self._bit + at if self._bits else 0
        return KeyColumn(ctypes.sizeof(KeyColumn), ctypes.pointer(strings), None, self._bits, first)


class Numbers:
    """Numbers: a view, and bits for those with NULLs."""

    def __init__(self, view):
        if view.array.ndim != 1:
            raise ShapeError("keys have one dimension")
        self.n, self.view = view.array.shape[0], view
        self._bits, self._owner = pack_bits(view.valid) if view.valid is not None else (None, None)

    def column(self, at, n):
        numbers = Array.from_buffer_copy(self.view.array)
        numbers.shape[0] = n
        numbers.data = (numbers.data or 0) + at * numbers.strides[0] * SIZES[self.view.dtype]
        first = at if self._bits else 0
        return KeyColumn(ctypes.sizeof(KeyColumn), None, ctypes.pointer(numbers), self._bits, first)


class Key:
    """A column of keys, in pieces of rows. kind: the number of its dtype, or BF_NONE: it is of strings. n: how
    many rows. scale and time: of decimals and times, which are integers meanwhile."""

    def __init__(self, x):
        self.scale, self.time, self.view = 0, None, None
        if isinstance(x, Column) and x.dtype in TIMES.values():
            self.scale, self.time, x = x.scale, x.dtype, x._as_integers()
        self.kind, self.pieces = BF_NONE, strings_of(x)
        if self.pieces is None:
            self.view = self._times(x) if not self.time and are_times(x) else View(x, null=KEEP, decimals=True)
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
        """What must be the same of two columns, to tell equal keys."""
        return "string" if self.kind == BF_NONE else (NAMES[self.kind], self.scale, self.time)

    def emptied(self):
        """Returns the same kind of key without its rows."""
        self.pieces, self.view = [], None
        return self

    def named(self, name, column):
        """Returns a column of such keys as integers or strings as one of what the keys are."""
        if self.time or self.scale:
            kind = self.time or column.dtype
            return Column(name, kind, len(column), column._buffers, column, self.scale, column.nulls)
        column.name = name
        return column


def strings_of(x):
    """Returns pieces of an array of strings; None: it has none."""
    if isinstance(x, Column):
        if x.dtype not in ("string", "binary"):
            return None
        bits, offsets, data = x._buffers
        return [_Piece(len(x), True, offsets, data, x, bits)]
    if isinstance(x, Result):
        return None
    library, kind = type(x).__module__.split(".")[0], getattr(getattr(x, "dtype", None), "kind", None)
    if library == "numpy":
        return _strings_of_numpy(x) if kind in ("U", "S", "T", "O") else None
    if library == "pandas" and (kind != "O" or not _has_pyarrow()):
        return _strings_of_numpy(x.to_numpy()) if kind == "O" else None
    is_arrow = any(hasattr(x, name) for name in ARROW)
    return _strings_of_arrow(arrow_of(x)) if is_arrow else None


def _joined(parts):
    """Returns a piece of strings, which are bytes, or None for NULL."""
    offsets = (c_int64 * (len(parts) + 1))(0, *itertools.accumulate(len(each or b"") for each in parts))
    data = b"".join(each or b"" for each in parts)
    bits, kept = None, None
    if None in parts:
        bits, kept = pack_bits((ctypes.c_bool * len(parts))(*(each is not None for each in parts)))
    address = ctypes.cast(c_char_p(data), c_void_p).value
    return [_Piece(len(parts), True, ctypes.addressof(offsets), address, (offsets, data, kept), bits)]


def _strings_of_numpy(x):
    """Returns pieces of an array of NumPy's of strings, or of objects that are all str, bytes or None."""
    given = x.tolist()
    if x.dtype.kind == "O" and (x.ndim != 1 or not any(isinstance(each, (str, bytes)) for each in given)):
        return None
    if x.ndim != 1:
        raise ShapeError("strings have one dimension")
    return _joined([_encoded(each) for each in given])


def _encoded(each):
    if each is None or each != each:  # a NaN is pandas' NULL
        return None
    if not isinstance(each, (str, bytes)):
        raise DtypeError(f"keys of strings and of {type(each).__name__!r}")
    return each.encode() if isinstance(each, str) else each


# ---- Arrow ----------------------------------------------------------------------------------------

_LAYOUTS = {b"u": False, b"z": False, b"U": True, b"Z": True}  # whether offsets have 64 bits
_VIEWS = b"vu", b"vz"


def _strings_of_arrow(x):
    schema, columns, device, owners = _read_arrow(x)
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
    """An array of one dimension somewhere in memory."""

    def __init__(self, array):
        self.__array_interface__ = {
            "version": 3, "shape": (array.shape[0],), "typestr": TYPESTR[NAMES[array.dtype]],
            "data": (array.data or 0, True),
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


# ---- dictionaries ---------------------------------------------------------------------------------

BF_NONE = 0


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
        numbers = new_result("i64", [n])
        for first, end, pointers in parts_of(columns):
            room = _line(numbers._address + 8 * first, DTYPES["i64"], end - first)
            self._call(lib.bf_dictionary_encode, pointers, byref(room))
        return numbers

    def ranks(self):
        """Returns the place of each key, by its number, in the order of all."""
        ranks = new_result("i64", [len(self)])
        self._call(lib.bf_dictionary_ranks, byref(ranks._array()))
        return ranks

    def nulls(self):
        """Returns how many keys of the first column are NULL."""
        return self.column(0, "", self.all()).nulls

    def all(self):
        """Returns the numbers of all keys."""
        return (c_int64 * len(self))(*range(len(self)))

    def column(self, which, name, numbers, scale=0):
        """Returns a column of the keys that have these numbers."""
        from . import sum as count

        n = len(numbers)
        valid = new_result("bool", [n])
        fill = self._strings if self.kinds[which] == BF_NONE else self._numbers
        kind, buffers, owner = fill(which, numbers, n, valid._array())
        nulls = n - count(valid)
        bits, kept = pack_bits(valid) if nulls else (None, None)
        made = Column(name, kind, n, (bits, *buffers), (owner, kept), scale, nulls)
        made._valid = valid
        return made

    def values(self, which, numbers, valid=None):
        """Returns a column of numbers of the keys that have these numbers, 0 for NULLs, as a Result."""
        values, wanted = new_result(NAMES[self.kinds[which]], [len(numbers)]), View(numbers).array
        beside = valid and byref(valid)
        self._call(lib.bf_dictionary_values, which, byref(wanted), byref(values._array()), beside)
        return values

    def _numbers(self, which, numbers, n, valid):
        values = self.values(which, numbers, valid)
        return values.dtype, (values._address,), values

    def _strings(self, which, numbers, n, valid):
        wanted = View(numbers).array
        offsets, function = new_result("i64", [n + 1]), lib.bf_dictionary_strings
        room = offsets._array()
        self._call(function, which, byref(wanted), byref(room), None, 0, byref(valid))
        data = ctypes.create_string_buffer(max(offsets[n], 1))
        self._call(function, which, byref(wanted), byref(room), data, offsets[n], byref(valid))
        kind = kind_of_strings(data, offsets[n])
        return kind, (offsets._address, ctypes.addressof(data)), (offsets, data)


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


class Dictionary:
    """Numbers rows of keys, of strings or numbers in one column or several: 0, 1, 2, ... in the order in which
    they first appear. So what takes numbers takes strings: Groups, Table, bincount, index_add and so on.

    >>> cities = bitfold.Dictionary()
    >>> numbers = cities.encode(numpy.array(["Rome", "Oslo", "Rome"]))
    >>> numbers, cities.keys()
    (array([0, 1, 0]), array(['Rome', 'Oslo'], dtype='<U4'))
    >>> groups = bitfold.Groups("i64", [("sum", "f64")]).absorb(numbers, numpy.array([1.5, 20, 4]))
    >>> cities.keys(groups.list()[0]), groups.result(0)
    (array(['Rome', 'Oslo'], dtype='<U4'), array([ 5.5, 20. ]))

    Errors: DtypeError (columns of other kinds than before), ShapeError (columns of different lengths).
    """

    def __init__(self, context=None):
        self._context, self._words, self._keys = context, None, None

    def __len__(self):
        return len(self._words) if self._words else 0

    def encode(self, *columns):
        """Returns the number of each row, as int64. Rows that are new get the next numbers."""
        keys = [Key(x) for x in columns]
        if len({key.n for key in keys}) != 1:
            raise ShapeError("columns of different lengths" if keys else "no column")
        self._words = self._words or Words([key.kind for key in keys], self._context)
        forms = [key.form for key in keys]
        if self._keys and forms != [key.form for key, _ in self._keys]:
            raise DtypeError(f"columns of {forms}, not of {[key.form for key, _ in self._keys]}")
        numbers = self._words.encode([key.pieces for key in keys], keys[0].n)
        self._keys = self._keys or [(key.emptied(), x) for key, x in zip(keys, columns)]
        return copied_like(columns[0], "i64", [keys[0].n], numbers._address)

    def keys(self, numbers=None):
        """Returns the keys of these numbers (None: of all): an array, or a tuple of one for each column."""
        if self._words is None:
            return ()
        numbers = self._words.all() if numbers is None else numbers
        found = [
            key.named("", self._words.column(i, "", numbers)) for i, (key, _) in enumerate(self._keys)
        ]
        made = tuple(like(column, x) for column, (_, x) in zip(found, self._keys))
        return made if len(made) > 1 else made[0]


def words_of(*columns, context=None):
    """Returns a dictionary of strings, and the numbers of those of each column, of pieces."""
    words = Words([BF_NONE], context)
    numbers = [words.encode([pieces], sum(piece.n for piece in pieces)) for pieces in columns]
    return words, numbers


def like(column, x):
    """Returns a column of strings as an array of the kind of x: of NumPy, or as it is."""
    if not is_numpys(x):
        return column
    made, kind = column.to_numpy(), getattr(x.dtype, "kind", None)
    if kind == "S":
        made[:] = [each if isinstance(each, bytes) else each.encode() for each in made]
    return made.astype({"S": "S", "U": "U", "T": x.dtype}.get(kind, object))  # any width does


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
