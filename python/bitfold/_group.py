"""Groups (bf_groups): counts and aggregates of the rows of each key. Joins (bf_join)."""

import ctypes
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

from ._arrays import NAMES, View, copied_like, maker_of, new_array, new_result, objects_of, to_python
from ._dictionary import Names, keys_in, loaded, names_of_keys
from ._keys import Key, picked
from ._library import (
    DTYPES, OPS, Array, ArgumentError, ReduceOptions, StateError, Value, lib, sized, whole,
)  # fmt: skip
from ._lists import dtype_for
from ._map import _default_context
from ._mergeable import Mergeable
from ._nulls import refuse_scales, views_of
from ._table import PAIR, _Elements, _name_of, _number_of


class _Aggregate(ctypes.Structure):
    """bf_aggregate"""

    _fields_ = [("op", c_int), ("dtype", c_int)]


class _Options(ctypes.Structure):
    """bf_groups_options"""

    _fields_ = [
        ("size", c_size_t), ("key", c_int), ("count", c_int), ("aggregates", POINTER(_Aggregate)),
        ("seed", c_uint64),
    ]  # fmt: skip


_SIGNATURES = {
    "bf_groups_create": (c_int, c_void_p, POINTER(_Options), POINTER(c_void_p)),
    "bf_groups_destroy": (None, c_void_p),
    "bf_groups_clear": (c_int, c_void_p),
    "bf_groups_absorb": (c_int, c_void_p, POINTER(Array), POINTER(POINTER(Array))),
    "bf_groups_merge": (c_int, c_void_p, c_void_p),
    "bf_groups_retract": (c_int, c_void_p, c_void_p),
    "bf_groups_renumber": (c_int, c_void_p, POINTER(Array)),
    "bf_groups_size": (c_int64, c_void_p),
    "bf_groups_rows": (c_int64, c_void_p),
    "bf_groups_list": (c_int, c_void_p, POINTER(Array), POINTER(Array)),
    "bf_groups_aggregate_dtype": (c_int, c_void_p, c_int, POINTER(ReduceOptions)),
    "bf_groups_aggregate": (
        c_int, c_void_p, c_int, POINTER(ReduceOptions), POINTER(Array), POINTER(Array),
    ),
    "bf_groups_result": (c_int, c_void_p, c_int, POINTER(ReduceOptions), POINTER(Value)),
    "bf_groups_shares": (c_int, c_void_p, c_int, c_void_p, POINTER(ReduceOptions), POINTER(Value)),
    "bf_groups_describe": (c_int, c_void_p, POINTER(_Options)),
    "bf_groups_save_size": (c_int, c_void_p, POINTER(c_size_t)),
    "bf_groups_save": (c_int, c_void_p, c_char_p),
    "bf_groups_load": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p)),
    "bf_join": (c_int, c_void_p, POINTER(Array), POINTER(Array), c_uint64, POINTER(c_void_p)),
    "bf_pairs_destroy": (None, c_void_p),
    "bf_pairs_size": (c_int64, c_void_p),
    "bf_pairs_a": (c_void_p, c_void_p),
    "bf_pairs_b": (c_void_p, c_void_p),
}  # fmt: skip
lib.declare(_SIGNATURES)


def _elements(x, name, null=None, decimals=False):
    """Returns an array of dtype `name`."""
    return View(x, name, null) if dtype_for(x, name) else _Elements(x, name, null, decimals)


def _new(make, name, n):
    """Makes n elements. Returns them as an array for the caller and as a bf_array."""
    pair, wide = name == "pair", name == "i128"
    made = (new_result if wide else make)("u64" if pair else name, [n, 2] if pair else [n])
    array = made._array() if wide else View(made).array
    array.dtype, array.ndim, array.shape[0], array.strides[0] = _number_of(name), 1, n, 1
    return made, array


def _filled(make, name, made):
    """Returns an array of _new for the caller, now that it is filled: NumPy has no i128, but objects."""
    return objects_of(made) if name == "i128" and make is new_array else made


def _destroy(handle, context):
    """Destroys groups. Its argument keeps their context alive until then, even if both are garbage at
    once."""
    lib.bf_groups_destroy(handle)


class Groups(Mergeable):
    """The number of rows of each key, and exact aggregates of their values. Groups are a state: they
    absorb chunks and merge with others.

    key: any dtype, "i128" too, "pair" (arrays of u64 whose last dimension is 2), "string", "date", "time" or "utc
    time"; or a list of these but "pair": then keys are a list of columns. Columns of strings are arrays of any
    library, or lists of str, bytes and None; they are in the order of their bytes. aggregates: pairs of an
    operation (one of sums, squares, powers, pairs or weights, min or max) and the dtype of its values; one of
    pairs or with weights ("corr", "cov", "slope", "intercept", "r2", "wmean", "wvar", "wstd") has two arrays of
    values, one behind the other. seed: of the hash; no result depends on it. Errors: ArgumentError (not an array of values for each aggregate; no such
    aggregate; a str that is no text), DtypeError, ShapeError (arrays that do not fit), StateError (merge and
    retract: another kind; more than there is to take out), RangeError (result: an integer that does not fit).

    >>> g = bitfold.Groups("i64", [("sum", "f64"), ("max", "f64")])
    >>> x = numpy.array([1.5, 2, 4])
    >>> g.absorb(numpy.array([7, 3, 7]), x, x).result(0)
    array([2. , 5.5])
    >>> g = bitfold.Groups("i64", [("max", "f64"), ("wmean", "f64")])
    >>> g.absorb(numpy.array([7, 3, 7]), x, x, numpy.array([1.0, 1, 3])).result(1)
    array([2.   , 3.375])
    >>> g = bitfold.Groups(["string", "i64"], [("sum", "f64")])
    >>> g.absorb((["Rome", "Oslo", "Rome"], numpy.array([1, 2, 1])), x).list()[0]
    (Column('', ['Oslo', 'Rome'], dtype='string'), array([2, 1]))

    Results are arrays of the kind of the keys that were absorbed last; before, of NumPy.
    """

    _make = staticmethod(new_array)

    def __init__(self, key, aggregates=(), seed=0, context=None):
        self._context = context or _default_context()
        self._handle = c_void_p()
        weakref.finalize(self, _destroy, self._handle, self._context)
        self._named(names_of_keys(key, self._context), key)
        self.aggregates = [(op, _name_of(dtype)) for op, dtype in aggregates]
        for op, _ in self.aggregates:
            if op not in OPS:
                raise ArgumentError(f"operation {op!r} is none of {', '.join(OPS)}")
        each = [_Aggregate(OPS[op], DTYPES[dtype]) for op, dtype in self.aggregates]
        options = _Options(
            ctypes.sizeof(_Options), _number_of(self._held), len(each),
            (_Aggregate * len(each))(*each), whole(seed, c_uint64),
        )  # fmt: skip
        self._context._call(
            lib.bf_groups_create, self._context._handle, byref(options), byref(self._handle)
        )

    def _named(self, names, key):
        """names: what numbers the keys for the library; None: it has them as they are."""
        self._names = names
        self.key, self._held = (_name_of(key),) * 2 if names is None else (names.kind, "i64")

    def __len__(self):
        with self._context._lock:
            return lib.bf_groups_size(self._handle)

    def _call(self, function, *arguments):
        self._context._call(function, self._handle, *arguments)

    @property
    def _arrays(self):
        """The dtypes of the arrays of values of all aggregates."""
        return [dtype for op, dtype in self.aggregates for _ in range(lib.bf_reduction_arrays(OPS[op]))]

    @property
    def rows(self):
        """The number of rows that were absorbed."""
        return lib.bf_groups_rows(self._handle)

    def absorb(self, keys, *values, null="error"):
        """Absorbs rows: keys, and for each aggregate an array of values, or two of pairs. null="skip" leaves out
        each row whose key or value is NULL; of the arrays of several aggregates, none may have NULLs. Returns
        the groups."""
        if len(values) != len(self._arrays):
            raise ArgumentError(f"{len(values)} arrays of values, not {len(self._arrays)}")
        with self._context._lock:
            keys, make = self._rows(keys)
            keys, *views = self._views(keys, values, null)
            pointers = (POINTER(Array) * len(views))(*(ctypes.pointer(v.array) for v in views))
            self._call(lib.bf_groups_absorb, byref(keys.array), pointers)
            self._make = make
        return self

    def _rows(self, keys):
        """Returns keys as the library has them, and what makes results."""
        if self._names is None:
            return keys, maker_of(keys)
        columns = self._names.columns_of(keys)
        return self._names.rows(columns), maker_of(columns[0])

    def _views(self, keys, values, null):
        given = [(keys, self._held), *zip(values, self._arrays)]
        if null != "skip":
            hints = [null, *(null if len(self.aggregates) == 1 else None for _ in values)]
            return [_elements(x, name, hint) for (x, name), hint in zip(given, hints)]
        if len(self.aggregates) > 1:  # a NULL of one would leave out the others' values
            for x, name in given[1:]:
                _elements(x, name)
        if any(name == "pair" for _, name in given):
            raise ArgumentError("null='skip' goes without pairs")
        return views_of(null, *((x, dtype_for(x, name)) for x, name in given))

    def merge(self, other):
        """Merges other groups of the same kind, which are unchanged. Returns the groups."""
        return self._take(lib.bf_groups_merge, other)

    def retract(self, other):
        """Takes out the rows of other groups of the same kind, exactly. Groups without rows are
        removed. Groups with min or max are refused. Returns the groups."""
        return self._take(lib.bf_groups_retract, other)

    def _take(self, function, other):
        self._require_kind(other)
        if (self._names is None) != (other._names is None):
            raise StateError(f"groups of {other.key} are no groups of {self.key}")
        with self._context._locked_with(other._context):
            source = other
            if self._names is not None:
                source = other._renumbered(self._names.merge(other._names))
                self._names.drop()
            self._context._call(function, self._handle, source._handle)
        return self

    def _renumbered(self, numbers):
        """Returns a copy of groups by their keys' numbers, with other numbers of these keys."""
        copy = Groups("i64", self.aggregates, context=self._context)
        copy._call(lib.bf_groups_merge, self._handle)
        return copy._renumber(picked(numbers, self._numbers()))

    def _numbers(self):
        """Returns the keys' numbers, ascending."""
        made, array = _new(new_result, "i64", len(self))
        self._call(lib.bf_groups_list, byref(array), None)
        return made

    def _renumber(self, numbers):
        self._call(lib.bf_groups_renumber, byref(numbers._array()))
        return self

    def _settle(self):
        """Numbers keys that are no numbers in their order."""
        if self._names is not None and not self._names.are_sorted:
            names, numbers = self._names.sorted(self._numbers())
            self._renumber(numbers)
            self._names = names

    def __isub__(self, other):
        """state -= other: retract."""
        return self.retract(other) if isinstance(other, Groups) else NotImplemented

    def clear(self):
        """Removes all rows."""
        with self._context._lock:
            self._call(lib.bf_groups_clear)
            if self._names is not None:
                self._names.drop()

    def list(self):
        """Returns two arrays: the keys, ascending (NaN last), and the number of rows of each."""
        with self._context._lock:
            self._settle()
            keys, to_keys = _new(self._make, self._held, len(self))
            counts, to_counts = _new(self._make, "i64", len(self))
            self._call(lib.bf_groups_list, byref(to_keys), byref(to_counts))
            if self._names is not None:
                return self._names.keys(), counts
        return _filled(self._make, self.key, keys), counts

    def _dtype(self, which, options):
        number = lib.bf_groups_aggregate_dtype(self._handle, which, options)
        if not number:
            raise ArgumentError(lib.bf_context_message(self._context._handle).decode())
        return NAMES[number]

    def result(self, which, *, fits=False, **options):
        """Returns an array with aggregate number `which` of each group, in the order of the keys.
        Options are those of bitfold.sum.

        Sums of integers are int64, or uint64 if the values are unsigned. If one does not fit,
        RangeError is raised. overflow="wrap" gives sums modulo 2^64 instead; fits=True also returns
        an array of bools that are true where the sum fits; out_dtype rounds sums to floats.
        With scale= integers are in units of 10^-scale (of squares 10^-(2 * scale)), as the values are.
        result_list() returns integers of any size.
        """
        from . import _options

        which, options = whole(which, c_int), _options(**options)
        with self._context._lock:
            self._settle()
            name = self._dtype(which, options)
            values, to = _new(self._make, name, len(self))
            fitting, to_fitting = _new(self._make, "bool", len(self)) if fits else (None, None)
            beside = byref(to_fitting) if fits else None
            self._call(lib.bf_groups_aggregate, which, options, byref(to), beside)
        values = _filled(self._make, name, values)
        return (values, fitting) if fits else values

    def result_list(self, which, **options):
        """Returns the same as a list of numbers, which takes longer. Integers have any size, and with
        scale= they are decimals.

        >>> cents = bitfold.Groups("i64", [("sum", "i64")])
        >>> cents.absorb(numpy.array([7, 3, 7]), numpy.array([110, 5, 220])).result_list(0, scale=2)
        [Decimal('0.05'), Decimal('3.3')]
        """
        return self._list(lib.bf_groups_result, (whole(which, c_int),), options)

    def shares(self, which, **options):
        """Returns a list of the share of each group in a sum: aggregate number `which`, divided by that of all
        rows. Both sums are exact, and their quotient is rounded once.

        >>> g = bitfold.Groups("i64", [("sum", "f64")])
        >>> g.absorb(numpy.array([7, 3, 7]), numpy.array([1.5, 2, 4.5])).shares(0)
        [0.25, 0.75]
        """
        return self._list(lib.bf_groups_shares, (whole(which, c_int), None), options)

    def _list(self, function, arguments, options):
        from . import _options

        with self._context._lock:
            self._settle()
            values = (Value * len(self))()
            self._call(function, *arguments, _options(**options), values)
        return [to_python(value) for value in values]

    def save(self):
        """Returns the groups as bytes: portable, with a version and a checksum. Equal groups give
        equal bytes."""
        size = c_size_t()
        with self._context._lock:
            self._settle()
            names = b"" if self._names is None else self._names.save()
            self._call(lib.bf_groups_save_size, byref(size))
            data = ctypes.create_string_buffer(size.value)
            self._call(lib.bf_groups_save, data)
        return names + data.raw

    @classmethod
    def load(cls, data, context=None):
        """Returns the groups that save() wrote. Other bytes raise StateError."""
        groups, kind = cls.__new__(cls), sized(_Options)
        keys, data = loaded(bytes(data), context)
        groups._context = context or _default_context()
        groups._handle = c_void_p()
        weakref.finalize(groups, _destroy, groups._handle, groups._context)
        groups._context._call(
            lib.bf_groups_load, groups._context._handle, data, len(data), byref(groups._handle)
        )
        groups._call(lib.bf_groups_describe, byref(kind))
        names, ops = {**NAMES, PAIR: "pair"}, {number: name for name, number in OPS.items()}
        groups._named(keys, names[kind.key])
        if keys is not None:
            keys.require(names[kind.key], groups._numbers)
        groups.aggregates = [
            (ops[each.op], names[each.dtype]) for each in kind.aggregates[: kind.count]
        ]
        return groups


def _numbered(a, b, context):
    """Returns two arrays, or the numbers of their keys if these are more than numbers; and what results are like."""
    keys = keys_in(a), keys_in(b)
    if keys == (None, None):
        return (a, b), a
    names = Names(context)
    sides = [[Key(x)] if found is None else found for x, found in zip((a, b), keys)]
    return [names.rows(columns) for columns in sides], sides[0][0].given


def join(a, b, seed=0, context=None, dtype=None):
    """Returns two arrays, i and j: all pairs of rows with a[i] == b[j], ordered by i, then by j.
    i and j are int64: rows in C order. seed: of the hash; no result depends on it. Both may have strings, or be
    tuples of as many columns.

    Errors: DtypeError (keys of different dtypes), ArgumentError (decimals of different scales).

    >>> bitfold.join(numpy.array([7, 3, 7]), numpy.array([7, 8]))
    (array([0, 2]), array([0, 0]))
    """
    context = context or _default_context()
    keys, like = _numbered(a, b, context)
    name = _name_of(dtype) if dtype else View(keys[0], decimals=True).dtype
    handle = c_void_p()
    views = [_elements(x, name, decimals=True) for x in keys]
    refuse_scales(getattr(view, "_view", view) for view in views)
    context._call(
        lib.bf_join, context._handle, byref(views[0].array), byref(views[1].array), whole(seed, c_uint64),
        byref(handle),
    )  # fmt: skip
    try:
        sides = lib.bf_pairs_a(handle), lib.bf_pairs_b(handle)
        return tuple(copied_like(like, "i64", [lib.bf_pairs_size(handle)], side) for side in sides)
    finally:
        lib.bf_pairs_destroy(handle)
