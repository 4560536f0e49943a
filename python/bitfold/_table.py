"""Hash tables (bf_table): values by key, with calls on whole arrays."""

import ctypes
import struct
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

from ._arrays import NAMES, View, dtype_name, new_like
from ._library import DTYPES, Array, ArgumentError, ShapeError, StateError, lib, whole
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
for _name, (_result, *_arguments) in _SIGNATURES.items():
    getattr(lib, _name).restype = _result
    getattr(lib, _name).argtypes = _arguments


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
        self._view = View(x, "u64" if name == "pair" else None, null, decimals)
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
    last dimension of 2.
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
    """

    def __init__(self, key, value=None, duplicates="first", reserve=0, seed=0, context=None):
        if duplicates not in DUPLICATES:
            raise ArgumentError(f"duplicates {duplicates!r} is none of {', '.join(DUPLICATES)}")
        options = _Options(
            ctypes.sizeof(_Options), _number_of(_name_of(key)),
            0 if value is None else _number_of(_name_of(value)), DUPLICATES[duplicates], whole(reserve),
            whole(seed, c_uint64),
        )  # fmt: skip
        self._start(context, _name_of(key), None if value is None else _name_of(value), duplicates)
        self._context._call(
            lib.bf_table_create, self._context._handle, byref(options), byref(self._handle)
        )

    def _start(self, context, key, value, duplicates):
        self._context = context or _default_context()
        self._handle = c_void_p()
        weakref.finalize(self, _destroy, self._handle, self._context)
        self.key, self.value, self.duplicates = key, value, duplicates

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
        keys = _Elements(keys, self.key)
        values = None if values is None else _Elements(values, self.value)
        self._call(lib.bf_table_insert, byref(keys.array), values and byref(values.array))
        return self

    def find(self, keys):
        """Returns the values of keys, and bools that are true where the table has the key. A missing
        key has the value 0. With duplicates="keep" it is the first value."""
        wanted = _Elements(keys, self.key)
        if self.value is None:
            raise ArgumentError("a set has no values: use contains")
        values, to = self._result(keys, self.value, wanted.shape)
        found, where = self._result(keys, "bool", wanted.shape)
        self._call(lib.bf_table_find, byref(wanted.array), byref(to.array), byref(where.array))
        return values, found

    def contains(self, keys):
        """Returns bools that are true where the table has the key."""
        wanted = _Elements(keys, self.key)
        found, where = self._result(keys, "bool", wanted.shape)
        self._call(lib.bf_table_find, byref(wanted.array), None, byref(where.array))
        return found

    def count(self, keys):
        """Returns the number of entries of each key."""
        wanted = _Elements(keys, self.key)
        counts, to = self._result(keys, "i64", wanted.shape)
        self._call(lib.bf_table_count, byref(wanted.array), byref(to.array))
        return counts

    def find_all(self, keys):
        """Returns all values of the keys, key after key, and the number of values of each key."""
        from . import sum

        with self._context._lock:
            counts, wanted = self.count(keys), _Elements(keys, self.key)
            total = sum(counts, context=self._context)
            values, to = self._result(keys, self.value, [total])
            self._call(lib.bf_table_find_all, byref(wanted.array), byref(to.array))
        return values, counts

    def erase(self, keys):
        """Erases all entries of the keys, and returns their number."""
        keys, erased = _Elements(keys, self.key), c_int64()
        self._call(lib.bf_table_erase, byref(keys.array), byref(erased))
        return erased.value

    def export(self, like=None):
        """Returns all keys, ascending (NaN last), and their values (None for a set). like: an array of
        whose kind they shall be."""
        with self._context._lock:
            keys, to_keys = self._result(like, self.key, [len(self)])
            if self.value is None:
                self._call(lib.bf_table_export, byref(to_keys.array), None)
                return keys, None
            values, to_values = self._result(like, self.value, [len(self)])
            self._call(lib.bf_table_export, byref(to_keys.array), byref(to_values.array))
        return keys, values

    def merge(self, other):
        """Inserts the entries of another table of the same kind, which is unchanged: `duplicates` says
        what becomes of keys that both have. Returns the table."""
        self._require_kind(other)
        kinds = [(each.key, each.value, each.duplicates) for each in (self, other)]
        if kinds[0] != kinds[1]:
            raise StateError(f"a table of {kinds[1]} is merged into one of {kinds[0]}")
        return self.insert(*other.export())

    def clear(self):
        """Removes all entries, and keeps the memory."""
        self._call(lib.bf_table_clear)

    def reserve(self, entries):
        """Makes room for so many entries in all, so that inserting them does not resize the table."""
        self._call(lib.bf_table_reserve, whole(entries))

    def __contains__(self, key):
        found = c_int()
        self._call(lib.bf_table_find_one, _element(self.key, key), None, byref(found))
        return bool(found)

    def __getitem__(self, key):
        if self.value is None:
            raise ArgumentError("a set has no values")
        found, value = c_int(), _SCALARS[self.value]()
        self._call(lib.bf_table_find_one, _element(self.key, key), byref(value), byref(found))
        if not found:
            raise KeyError(key)
        return tuple(value) if self.value == "pair" else value.value

    def add(self, key, value=None):
        """Inserts one key, with its value."""
        value = None if value is None else _element(self.value, value)
        self._call(lib.bf_table_insert_one, _element(self.key, key), value)

    def __delitem__(self, key):
        found = c_int()
        self._call(lib.bf_table_erase_one, _element(self.key, key), byref(found))
        if not found:
            raise KeyError(key)

    def copy(self, context=None):
        """Returns a table with the same entries in `context`, which may be for another device."""
        copy = Table.__new__(Table)
        copy._start(context or self._context, self.key, self.value, self.duplicates)
        copy._context._call_with(
            self._context, lib.bf_table_copy, copy._context._handle, self._handle, byref(copy._handle)
        )
        return copy

    def save(self):
        """Returns the table as bytes: portable, with a version and a checksum."""
        return self._saved(lib.bf_table_save_size, lib.bf_table_save)

    @classmethod
    def load(cls, data, context=None):
        """Returns the table that save() wrote. Other bytes raise StateError."""
        table, data = cls.__new__(cls), bytes(data)
        table._start(context, None, None, None)
        table._context._call(
            lib.bf_table_load, table._context._handle, data, len(data), byref(table._handle)
        )
        names = {**NAMES, PAIR: "pair", 0: None}
        key, value, duplicates = struct.unpack_from("<3i", data, 48)  # the first section (state.h)
        table.key, table.value = names[key], names[value]
        table.duplicates = next(name for name, number in DUPLICATES.items() if number == duplicates)
        return table


_SCALARS = {
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "pair": c_uint64 * 2,
}  # fmt: skip


def _element(name, x):
    """Returns a pointer to one element, as an argument."""
    if name is None:
        raise ArgumentError("a set has no values")
    scalar = _SCALARS[name]
    if name == "pair":
        first, second = x
        return byref(scalar(whole(first, c_uint64), whole(second, c_uint64)))
    return byref(scalar(x if name.startswith("f") else whole(x, scalar)))


def _default_context():
    from . import _default_context as default

    return default()
