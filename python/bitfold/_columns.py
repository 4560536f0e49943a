"""Columns of tables, of which others take the memory by the Arrow C interface."""

import ctypes
import functools
from collections.abc import Mapping
from ctypes import POINTER, byref, c_int64, c_void_p

from ._exchange import _Column as _Array
from ._exchange import _I128, _Schema, _Stream, new_column, schema_of
from ._library import ArgumentError, open_library, path_beside
from ._result import _ELEMENTS as NUMBERS
from ._result import _RELEASE, TYPESTR, _give, _held, _hold, _release, _to_number, new_result

_ELEMENTS = {**NUMBERS, "date": ctypes.c_int32, "time": c_int64, "utc time": c_int64}
_ARROW = dict(zip("?bBhHiIlLqQfd", "bcCsSiIlLlLfg"))  # Arrow's formats of the types of ctypes
_SHORT_FLOATS = tuple(name for name in NUMBERS if name.endswith("f16"))  # others have them as f32
_FORMATS = {
    **{name: _ARROW[kind._type_] for name, kind in NUMBERS.items() if kind._type_ in _ARROW},
    **dict.fromkeys(_SHORT_FLOATS, "f"), "i128": "d:38,0", "string": "U", "binary": "Z", "date": "tdD",
}  # fmt: skip
_STRINGS = "string", "binary"
TIMES = {1: "date", 2: "time", 3: "utc time"}  # by the numbers of bf_time_kind
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_SHOWN = 6  # elements of a column's repr



@functools.lru_cache(maxsize=None)
def reader():
    """Returns the library of the command's reader."""
    return open_library(path_beside("libbitfold-read.so"))


# ---- Arrow ----------------------------------------------------------------------------------------


class _Owner(ctypes.Structure):
    """bitfold_read_owner: lets go of a thing by its number."""

    _fields_ = [("release", _RELEASE), ("number", c_void_p)]


def _given_release(struct, *kept):
    """Returns a structure of Arrow's that keeps things until it is released. That is done by the reader's
    library: while an exception is on its way, only a little of Python can run."""
    owner = _Owner(_release)
    owner.number = _hold((owner, kept))
    struct.private = ctypes.addressof(owner)
    function = getattr(reader(), _RELEASES[type(struct)])
    struct.release = ctypes.cast(function, dict(struct._fields_)["release"])
    return struct


_RELEASES = {
    _Schema: "bitfold_read_release_schema", _Array: "bitfold_read_release_array",
    _Stream: "bitfold_read_release_stream",
}  # fmt: skip


def _filled(struct, children, *kept):
    """Returns a structure with its children."""
    pointers = (POINTER(type(struct)) * len(children))(*map(ctypes.pointer, children))
    struct.n_children, struct.children = len(children), pointers
    return _given_release(struct, pointers, children, *kept)


def _schema(format, name="", nullable=True, children=()):
    format, name = format.encode(), name.encode()
    struct = _Schema(format=format, name=name, flags=2 if nullable else 0)
    return _filled(struct, list(children), format, name)


def _array(n, nulls, buffers, children=(), owner=None):
    pointers = (c_void_p * len(buffers))(*buffers)
    struct = _Array(
        length=n, null_count=nulls, n_buffers=len(buffers), buffers=ctypes.addressof(pointers)
    )
    return _filled(struct, list(children), pointers, owner)


def _given(schema, array):
    """Returns capsules of two structures."""
    return (
        _give(ctypes.addressof(schema), b"arrow_schema", schema),
        _give(ctypes.addressof(array), b"arrow_array", array),
    )


class _Source:
    """What a stream of one table gives."""

    def __init__(self, columns):
        self.columns, self.left = columns, 1


def _source_of(stream):
    """Returns what a stream gives: the only thing that it keeps."""
    owner = _Owner.from_address(stream.contents.private)
    return _held[owner.number][1][0]


def _move(struct, to):
    ctypes.memmove(to, byref(struct), ctypes.sizeof(struct))


@_Stream._fields_[0][1]
def _get_schema(stream, to):
    _move(_source_of(stream).columns._schema(), to)
    return 0


@_Stream._fields_[1][1]
def _get_next(stream, to):
    source = _source_of(stream)
    _move(source.columns._array() if source.left else _Array(), to)
    source.left = 0
    return 0


@_Stream._fields_[2][1]
def _get_last_error(_):
    return None


# ---- columns --------------------------------------------------------------------------------------


class Column:
    """A column of a table: numbers or strings, of which some may be NULL. pyarrow, Polars, pandas, DuckDB and
    the functions of this module take it as it is, by the Arrow C interface; NumPy takes numbers without
    NULLs that are no decimals. None of them copies it; decimals of 64 bits alone are copied for others.

    name: of the column. dtype: "i64", "u64", "i128", "f64", "date", "time", "utc time", "string", or "binary":
    strings that are not all UTF-8. scale: integers are in units of 10^-scale, times of as many seconds.
    nulls: how many rows are NULL.

    >>> import io
    >>> prices = bitfold.read_csv(io.StringIO("city,price\\nRome,1.25\\nOslo,20"))["price"]
    >>> prices
    Column('price', [Decimal('1.25'), Decimal('20')], dtype='i64', scale=2)
    >>> bitfold.sum(prices)
    Decimal('21.25')
    """

    def __init__(self, name, dtype, n, buffers, owner, scale=0, nulls=0):
        """buffers: the addresses of the bits that say what is not NULL (or None), and of the numbers, or of
        the offsets and bytes of strings."""
        self.name, self.dtype, self.scale, self.nulls = name, dtype, scale, nulls
        self._n, self._buffers, self._owner = n, buffers, owner

    def __len__(self):
        return self._n

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, i):
        """Returns row i: a number, a str, or None if it is NULL; of a slice a list."""
        rows = range(self._n)[i]
        if isinstance(i, slice):
            return [self[row] for row in rows]
        return self._values(rows, rows + 1)[0]

    def __repr__(self):
        kind = f"dtype={self.dtype!r}" + (f", scale={self.scale}" if self.scale else "")
        shown = ", ".join(map(repr, self._values(0, min(self._n, _SHOWN))))
        more = f", ...], rows={self._n}" if self._n > _SHOWN else "]"
        return f"Column({self.name!r}, [{shown}{more}, {kind})"

    def tolist(self):
        """Returns the rows as a list of numbers or str, and of None for NULLs."""
        return self._values(0, self._n)

    def _values(self, first, end):
        take = self._strings if self.dtype in _STRINGS else self._numbers
        values = take(first, end)
        if not self.nulls:
            return values
        bits = (ctypes.c_uint8 * (self._n // 8 + 1)).from_address(self._buffers[0])
        return [x if bits[i // 8] >> i % 8 & 1 else None for i, x in enumerate(values, first)]

    def _numbers(self, first, end):
        if self.dtype in _SHORT_FLOATS:
            return self._as_f32()._numbers(first, end)
        kind = _ELEMENTS[self.dtype]
        at = self._buffers[1] + first * ctypes.sizeof(kind)
        held = list((kind * (end - first)).from_address(at))
        if self.dtype in TIMES.values():
            return [_to_time(self.dtype, self.scale, each) for each in held]
        if self.dtype == "i128" or self.scale:
            return [_to_number(self.dtype, each, self.scale) for each in held]
        return held

    def _strings(self, first, end):
        offsets = (c_int64 * (end - first + 1)).from_address(self._buffers[1] + 8 * first)
        begin = offsets[0]
        held = ctypes.string_at(self._buffers[2] + begin, offsets[-1] - begin)
        parts = [held[a - begin : b - begin] for a, b in zip(offsets, offsets[1:])]
        return parts if self.dtype == "binary" else [part.decode() for part in parts]

    # ---- for others ----

    def to_numpy(self):
        """Returns an array of NumPy. Numbers without NULLs that are no decimals are not copied, nor are times; dates
        and times are datetime64, where NaT stands for NULL; of all else it is an array of objects: Decimal, str,
        and None for NULL."""
        import numpy

        if hasattr(self, "__array_interface__"):
            return numpy.asarray(self)
        if self.dtype in TIMES.values():
            plain = Column("", "i32" if self.dtype == "date" else "i64", self._n, (None, self._buffers[1]), self)
            kind = "M8[D]" if self.dtype == "date" else f"M8[{_UNITS[self.scale]}]"
            times = numpy.array(plain, "i8").view(kind)
            times[[x is None for x in self.tolist()]] = "NaT"
            return times
        objects = numpy.empty(self._n, object)
        objects[:] = self.tolist()
        return objects

    def __array__(self, dtype=None, copy=None):
        made = self.to_numpy()
        return made if dtype is None else made.astype(dtype)

    @property
    def __array_interface__(self):
        typestr = f"<M8[{_UNITS[self.scale]}]" if "time" in self.dtype else TYPESTR.get(self.dtype)
        if self.nulls or typestr is None or (self.scale and "time" not in self.dtype):
            raise AttributeError("NULLs, decimals, dates and strings have no interface of NumPy's")
        return {
            "version": 3, "shape": (self._n,), "typestr": typestr, "data": (self._buffers[1], True),
        }  # fmt: skip

    def __getattr__(self, name):
        if name == "_as_units" and self.scale and self.dtype in ("i64", "i128"):
            return self._units
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _units(self):
        """Returns the units of decimals as a column of integers, and their scale."""
        format = b"l" if self.dtype == "i64" else _I128
        return schema_of(format), new_column(self._n, 0, *self._buffers), self.scale

    def _as_integers(self):
        """Returns the units of times as a column of integers, without a copy."""
        kind = "i32" if self.dtype == "date" else "i64"
        return Column(self.name, kind, self._n, self._buffers, self, 0, self.nulls)

    def _as_f32(self):
        from ._map import map as map_array

        made = new_result(self.dtype, [self._n])
        ctypes.memmove(made._address, self._buffers[1], 2 * self._n)
        made = map_array("cast", made, to="f32")
        buffers = self._buffers[0], made._address
        return Column(self.name, "f32", self._n, buffers, (made, self._owner), 0, self.nulls)

    def _as_bits(self):
        """Returns bools as Arrow has them, a bit each."""
        from ._nulls import pack_bits

        values = (ctypes.c_bool * self._n).from_address(self._buffers[1])
        at, kept = pack_bits(values)
        return Column(self.name, "bool", self._n, (self._buffers[0], at), (kept, self._owner), 0, self.nulls)

    def _for_others(self):
        """Returns the same column in memory as Arrow has it."""
        if self.dtype == "bool":
            return self._as_bits()
        if self.dtype in _SHORT_FLOATS:
            return self._as_f32()
        return self._widened() if self.scale and self.dtype in ("i64", "u64") else self

    def _widened(self):
        """Returns the same decimals in i128."""
        made, bits = new_result("i128", [self._n]), self._buffers[0]
        reader().bitfold_read_widen(*map(c_void_p, (self._buffers[1], self._n, made._address)))
        buffers = bits, made._address
        return Column(self.name, "i128", self._n, buffers, made, self.scale, self.nulls)

    def _schema(self):
        return _schema(_format_of(self.dtype, self.scale), self.name)

    def _array(self):
        held = self._for_others()
        return _array(held._n, held.nulls, held._buffers, owner=held)

    def __arrow_c_schema__(self):
        schema = self._schema()
        return _give(ctypes.addressof(schema), b"arrow_schema", schema)

    def __arrow_c_array__(self, requested_schema=None):
        return _given(self._schema(), self._array())


class Columns(Mapping):
    """The columns of a table, by name: what read_csv and group return. pyarrow.table(x), polars.DataFrame(x),
    pandas.DataFrame.from_arrow(x) and DuckDB take it by the Arrow C interface. rows: how many there are.

    >>> import io
    >>> table = bitfold.read_csv(io.StringIO("city,price\\nRome,1.50\\nOslo,20"))
    >>> table
    Columns(city: string, price: decimal 1; 2 rows)
    >>> list(table), table.rows, table["city"].tolist()
    (['city', 'price'], 2, ['Rome', 'Oslo'])
    """

    def __init__(self, columns, rows):
        self._columns, self.rows = list(columns), rows

    def __getitem__(self, name):
        found = [each for each in self._columns if each.name == name]
        if not found:
            raise KeyError(name)
        if len(found) > 1:
            raise ArgumentError(f"{len(found)} columns are named {name!r}: list(x.columns()) has all")
        return found[0]

    def __iter__(self):
        return (each.name for each in self._columns)

    def __len__(self):
        return len(self._columns)

    def columns(self):
        """Returns the columns as a list."""
        return list(self._columns)

    def to_dict(self):
        """Returns the rows of each column as a list, by its name."""
        return {name: self[name].tolist() for name in self}

    def __repr__(self):
        shown = ", ".join(f"{each.name}: {_kind_of(each)}" for each in self._columns)
        return f"Columns({shown}; {self.rows} rows)"

    def _schema(self):
        return _schema("+s", "", False, [each._schema() for each in self._columns])

    def _array(self):
        return _array(self.rows, 0, (None,), [each._array() for each in self._columns])

    def __arrow_c_schema__(self):
        schema = self._schema()
        return _give(ctypes.addressof(schema), b"arrow_schema", schema)

    def __arrow_c_array__(self, requested_schema=None):
        return _given(self._schema(), self._array())

    def __arrow_c_stream__(self, requested_schema=None):
        stream = _Stream(_get_schema, _get_next, _get_last_error)
        _given_release(stream, _Source(self))
        return _give(ctypes.addressof(stream), b"arrow_array_stream", stream)


def _kind_of(column):
    return f"decimal {column.scale}" if column.scale and column.dtype in ("i64", "i128") else column.dtype


def _format_of(dtype, scale):
    """Returns the format of Arrow's."""
    if "time" in dtype:
        return f"ts{_UNITS[scale][0]}:" + ("UTC" if dtype == "utc time" else "")
    return f"d:38,{scale}" if scale else _FORMATS[dtype]


def _to_time(dtype, scale, units):
    """Returns a date, or a time: one that has nanoseconds as a str."""
    from datetime import date, datetime, timedelta, timezone  # it takes long to load

    epoch = datetime(1970, 1, 1)
    if dtype == "date":
        return date.fromordinal(units + epoch.toordinal())
    parts, rest = divmod(units * 10 ** (9 - scale), 1000)
    time = epoch + timedelta(microseconds=parts)
    time = time.replace(tzinfo=timezone.utc) if dtype == "utc time" else time
    if scale < 9:
        return time
    text, zone = time.replace(tzinfo=None).isoformat(timespec="microseconds"), "Z" if time.tzinfo else ""
    return f"{text}{rest:03}{zone}"
