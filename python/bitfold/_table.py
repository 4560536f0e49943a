"""Hash tables (bf_table): values by key, with calls on whole arrays."""

import ctypes
import struct
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

from ._arrays import NAMES, View, dtype_name, new_like
from ._dictionary import loaded, names_of_keys
from ._keys import picked, shown_as
from ._library import DTYPES, Array, ArgumentError, ShapeError, StateError, lib, whole
from ._lists import dtype_for
from ._map import _default_context
from ._mergeable import Mergeable
from ._result import Result

DUPLICATES = {"first": 0, "last": 1, "min": 2, "max": 3, "add": 4, "keep": 5}
PAIR = 33


class _Options(ctypes.Structure):
    """bf_table_options"""

    _fields_ = [
        ("size", c_size_t), ("key", c_int), ("value", c_int), ("duplicates", c_int),
        ("reserve", c_int64), ("seed", c_uint64),
    ]  # fmt: skip


_SIGNATURES = {
    "bf_table_create": (c_int, c_void_p, POINTER(_Options), POINTER(c_void_p)),
    "bf_table_destroy": (None, c_void_p),
    "bf_table_copy": (c_int, c_void_p, c_void_p, POINTER(c_void_p)),
    "bf_table_clear": (c_int, c_void_p),
    "bf_table_reserve": (c_int, c_void_p, c_int64),
    "bf_table_size": (c_int64, c_void_p),
    "bf_table_insert": (c_int, c_void_p, POINTER(Array), POINTER(Array)),
    "bf_table_find": (c_int, c_void_p, POINTER(Array), POINTER(Array), POINTER(Array)),
    "bf_table_count": (c_int, c_void_p, POINTER(Array), POINTER(Array)),
    "bf_table_find_all": (c_int, c_void_p, POINTER(Array), POINTER(Array)),
    "bf_table_erase": (c_int, c_void_p, POINTER(Array), POINTER(c_int64)),
    "bf_table_export": (c_int, c_void_p, POINTER(Array), POINTER(Array)),
    "bf_table_insert_one": (c_int, c_void_p, c_void_p, c_void_p),
    "bf_table_find_one": (c_int, c_void_p, c_void_p, c_void_p, POINTER(c_int)),
    "bf_table_erase_one": (c_int, c_void_p, c_void_p, POINTER(c_int)),
    "bf_table_save_size": (c_size_t, c_void_p),
    "bf_table_save": (c_int, c_void_p, c_char_p),
    "bf_table_load": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p)),
}  # fmt: skip
lib.declare(_SIGNATURES)


def _number_of(name):
    return PAIR if name == "pair" else DTYPES[name]


def _name_of(dtype):
    return "pair" if dtype == "pair" else dtype_name(dtype)


def _destroy(handle, context):
    """Destroys a table. Its argument keeps the table's context alive until then, even if both are
    garbage at once."""
    lib.bf_table_destroy(handle)


class _Elements:
    """An array of keys or values. Pairs are u64 whose last dimension is the two words."""

    def __init__(self, x, name, null=None, decimals=False):
        self._view = View(x, "u64" if name == "pair" else dtype_for(x, name), null, decimals)
        self.array = a = self._view.array
        self.readonly = self._view.readonly
        if name == "pair":
            self._make_pairs(a)
        self.shape = list(a.shape[: a.ndim])

    @staticmethod
    def _make_pairs(a):
        last = a.ndim - 1
        outer = [d for d in range(last) if a.shape[d] > 1]
        even = all(a.strides[d] % 2 == 0 for d in outer)
        if last < 0 or a.shape[last] != 2 or a.strides[last] != 1 or not even:
            raise ShapeError("pairs are u64 words, two by two in the last dimension")
        for d in outer:
            a.strides[d] //= 2
        a.dtype, a.ndim = PAIR, last


class Table(Mergeable):
    """Values by key; without a dtype of values, a set of keys.

    key, value: i32 u32 i64 u64 f32 f64, or "pair", which is two u64 words. An array of pairs has a
    last dimension of 2. A key may be "string", too, or a list of such dtypes: then keys are a list of columns, and
    those of one row a tuple. Columns of strings are arrays of any library, or lists of str and bytes.
    duplicates: the value of a key that is inserted again. "first" keeps the first and "last" the last
    value; "min", "max" and "add" (integers) combine them; "keep" keeps all, in order.
    reserve: the number of entries to make room for. seed: of the hash; no result depends on it.

    In a context for a GPU, the table is in its memory. Otherwise it is in host memory, or on the GPU
    where the first keys are. Errors: ArgumentError (values of a set, or none of a table), DtypeError,
    ShapeError (arrays that do not fit), StateError (merge: of another kind), KeyError (table[key] and del
    table[key]: no such key).

    >>> t = bitfold.Table("u32", "i64", duplicates="add")
    >>> t.insert(numpy.array([7, 9, 7], "u4"), numpy.array([1, 1, 1]))[7]
    2
    >>> bitfold.Table("string", "f64").insert(["Rome", "Oslo"], numpy.array([1.5, 20]))["Oslo"]
    20.0
    """

    def __init__(self, key, value=None, duplicates="first", reserve=0, seed=0, context=None):
        if duplicates not in DUPLICATES:
            raise ArgumentError(f"duplicates {duplicates!r} is none of {', '.join(DUPLICATES)}")
        names = names_of_keys(key, context, _NAMED)
        self._start(context, _name_of(key) if names is None else names, None if value is None else _name_of(value), duplicates)
        options = _Options(
            ctypes.sizeof(_Options), _number_of(self._held), 0 if value is None else _number_of(self.value),
            DUPLICATES[duplicates], whole(reserve), whole(seed, c_uint64) if names is None else 0,
        )  # fmt: skip
        self._context._call(
            lib.bf_table_create, self._context._handle, byref(options), byref(self._handle)
        )

    def _start(self, context, key, value, duplicates):
        """key: a dtype, or what numbers the keys for the library."""
        self._context = context or _default_context()
        self._handle = c_void_p()
        weakref.finalize(self, _destroy, self._handle, self._context)
        self._names = None if isinstance(key, str) else key
        self.key, self._held = (key, key) if self._names is None else (key.kind, "i64")
        self.value, self.duplicates = value, duplicates

    def __len__(self):
        with self._context._lock:
            return lib.bf_table_size(self._handle)

    def _call(self, function, *arguments):
        self._context._call(function, self._handle, *arguments)

    def _result(self, x, name, shape):
        """Makes an array of zeros of the kind of x. Returns it, and the same memory as _Elements."""
        pair = name == "pair"
        result = new_like(x, "u64" if pair else name, shape + [2] * pair)
        if not isinstance(result, Result):  # a Result is all zeros
            result[...] = 0
        return result, _Elements(result, name)

    def insert(self, keys, values=None):
        """Inserts keys and values, in C order. Returns the table."""
        with self._context._lock:
            return self._insert(self._wanted(keys, add=True)[0], values)

    def _insert(self, keys, values):
        values = None if values is None else _Elements(values, self.value)
        self._call(lib.bf_table_insert, byref(keys.array), values and byref(values.array))
        return self

    def _wanted(self, keys, add=False):
        """Returns keys as the library has them, and the array of whose kind results are."""
        if self._names is None:
            return _Elements(keys, self.key), keys
        columns = self._names.columns_of(keys)
        return _Elements(self._names.rows(columns, add), self._held), columns[0]

    def find(self, keys):
        """Returns the values of keys, and bools that are true where the table has the key. A missing
        key has the value 0. With duplicates="keep" it is the first value."""
        if self.value is None:
            raise ArgumentError("a set has no values: use contains")
        with self._context._lock:
            wanted, like = self._wanted(keys)
            values, to = self._result(like, self.value, wanted.shape)
            found, where = self._result(like, "bool", wanted.shape)
            self._call(lib.bf_table_find, byref(wanted.array), byref(to.array), byref(where.array))
        return values, found

    def contains(self, keys):
        """Returns bools that are true where the table has the key."""
        with self._context._lock:
            wanted, like = self._wanted(keys)
            found, where = self._result(like, "bool", wanted.shape)
            self._call(lib.bf_table_find, byref(wanted.array), None, byref(where.array))
        return found

    def count(self, keys):
        """Returns the number of entries of each key."""
        with self._context._lock:
            wanted, like = self._wanted(keys)
            counts, to = self._result(like, "i64", wanted.shape)
            self._call(lib.bf_table_count, byref(wanted.array), byref(to.array))
        return counts

    def find_all(self, keys):
        """Returns all values of the keys, key after key, and the number of values of each key."""
        from . import sum

        with self._context._lock:
            counts, (wanted, like) = self.count(keys), self._wanted(keys)
            total = sum(counts, context=self._context)
            values, to = self._result(like, self.value, [total])
            self._call(lib.bf_table_find_all, byref(wanted.array), byref(to.array))
        return values, counts

    def erase(self, keys):
        """Erases all entries of the keys, and returns their number."""
        erased = c_int64()
        with self._context._lock:
            wanted, _ = self._wanted(keys)
            self._call(lib.bf_table_erase, byref(wanted.array), byref(erased))
            self._lost()
        return erased.value

    def _lost(self):
        if self._names is not None:
            self._names.drop()

    def export(self, like=None):
        """Returns all keys, ascending (NaN last), and their values (None for a set). like: an array of
        whose kind they shall be."""
        with self._context._lock:
            self._settle()
            keys, values = self._exported(like)
            return (keys if self._names is None else self._names.keys(keys, [shown_as(like)] * len(self._names.forms))), values

    def _exported(self, like):
        """Returns keys as the library has them, and their values."""
        keys, to_keys = self._result(like, self._held, [len(self)])
        values, to_values = (None, None) if self.value is None else self._result(like, self.value, [len(self)])
        self._call(lib.bf_table_export, byref(to_keys.array), to_values and byref(to_values.array))
        return keys, values

    def _settle(self):
        """Numbers keys that are no numbers in their order."""
        if self._names is None or self._names.are_sorted:
            return
        from ._order import searchsorted, unique_values

        keys, values = self._exported(object)
        numbers = unique_values(keys)
        names, places = self._names.sorted(numbers)
        made = Table("i64", self.value, self.duplicates, context=self._context)
        made.insert(picked(places, searchsorted(numbers, keys)), values)
        self._handle.value, made._handle.value = made._handle.value, self._handle.value
        self._names = names

    def merge(self, other):
        """Inserts the entries of another table of the same kind, which is unchanged: `duplicates` says
        what becomes of keys that both have. Returns the table."""
        self._require_kind(other)
        kinds = [(each.key, each.value, each.duplicates) for each in (self, other)]
        if kinds[0] != kinds[1]:
            raise StateError(f"a table of {kinds[1]} is merged into one of {kinds[0]}")
        if self._names is None:
            return self.insert(*other.export())
        with self._context._locked_with(other._context):
            numbers = self._names.merge(other._names)
            keys, values = other._exported(object)
            return self._insert(_Elements(picked(numbers, keys), self._held), values)

    def clear(self):
        """Removes all entries, and keeps the memory."""
        self._call(lib.bf_table_clear)
        self._lost()

    def reserve(self, entries):
        """Makes room for so many entries in all, so that inserting them does not resize the table."""
        self._call(lib.bf_table_reserve, whole(entries))

    def _one(self, key, add=False):
        """Returns a pointer to one key as the library has it, as an argument."""
        if self._names is None:
            return _element(self.key, key)
        columns = [_column_of_one(form.name, x) for form, x in zip(self._names.forms, self._names.columns_of(key))]
        (number,) = self._names.rows(columns, add)
        if number is None and add:
            raise ArgumentError("a key is NULL")
        return byref(c_int64(-1 if number is None else number))

    def __contains__(self, key):
        found = c_int()
        with self._context._lock:
            self._call(lib.bf_table_find_one, self._one(key), None, byref(found))
        return bool(found)

    def __getitem__(self, key):
        if self.value is None:
            raise ArgumentError("a set has no values")
        found, value = c_int(), _SCALARS[self.value]()
        with self._context._lock:
            self._call(lib.bf_table_find_one, self._one(key), byref(value), byref(found))
        if not found:
            raise KeyError(key)
        return tuple(value) if self.value == "pair" else value.value

    def add(self, key, value=None):
        """Inserts one key, with its value."""
        value = None if value is None else _element(self.value, value)
        with self._context._lock:
            self._call(lib.bf_table_insert_one, self._one(key, add=True), value)

    def __delitem__(self, key):
        found = c_int()
        with self._context._lock:
            self._call(lib.bf_table_erase_one, self._one(key), byref(found))
            self._lost()
        if not found:
            raise KeyError(key)

    def copy(self, context=None):
        """Returns a table with the same entries in `context`, which may be for another device."""
        copy, context = Table.__new__(Table), context or self._context
        names = self._names.copied(context) if self._names is not None else None
        copy._start(context, self.key if names is None else names, self.value, self.duplicates)
        copy._context._call_with(
            self._context, lib.bf_table_copy, copy._context._handle, self._handle, byref(copy._handle)
        )
        return copy

    def save(self):
        """Returns the table as bytes: portable, with a version and a checksum."""
        with self._context._lock:
            self._settle()
            saved = b"" if self._names is None else self._names.save()
            return saved + self._saved(lib.bf_table_save_size, lib.bf_table_save)

    @classmethod
    def load(cls, data, context=None):
        """Returns the table that save() wrote. Other bytes raise StateError."""
        table, (names, data) = cls.__new__(cls), loaded(bytes(data), context)
        table._start(context, "" if names is None else names, None, None)
        table._context._call(
            lib.bf_table_load, table._context._handle, data, len(data), byref(table._handle)
        )
        dtypes = {**NAMES, PAIR: "pair", 0: None}
        key, value, duplicates = struct.unpack_from("<3i", data, 48)  # the first section (state.h)
        table.value = dtypes[value]
        table.duplicates = next(name for name, number in DUPLICATES.items() if number == duplicates)
        if names is None:
            table.key = table._held = dtypes[key]
        else:
            names.require(dtypes[key], lambda: table._exported(object)[0])
        return table


_SCALARS = {
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "pair": c_uint64 * 2,
}  # fmt: skip


_NAMED = "string", *(name for name in _SCALARS if name != "pair")  # what the columns of a key may be


def _column_of_one(name, x):
    """Returns a column of one row."""
    if name == "string":
        return [x]
    scalar = _SCALARS[name]
    return (scalar * 1)(x if name.startswith("f") else whole(x, scalar))


def _element(name, x):
    """Returns a pointer to one element, as an argument."""
    if name is None:
        raise ArgumentError("a set has no values")
    scalar = _SCALARS[name]
    if name == "pair":
        first, second = x
        return byref(scalar(whole(first, c_uint64), whole(second, c_uint64)))
    return byref(scalar(x if name.startswith("f") else whole(x, scalar)))


