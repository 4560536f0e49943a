"""group: aggregates of the rows of each key, of a file or of columns."""

import ctypes
import os
from array import array
from ctypes import POINTER, byref

from ._arrays import SIZES, View
from ._columns import TIMES, Column, Columns
from ._exchange import KEEP
from ._group import Groups
from ._keys import Words, Key, column_of, condition, names_of
from ._library import Array, ArgumentError, DtypeError, RangeError, ShapeError, lib
from ._map import copy_array
from ._map import map as map_array
from ._nulls import compacted, pack_bits
from ._order import median_of_groups
from ._read import read_csv
from ._result import new_result

OPERATIONS = "sum", "mean", "var", "std", "min", "max", "median", "count"


# ---- what is asked --------------------------------------------------------------------------------


class _Asked:
    """A result: its name, the operation and the column of its values; None: rows are counted."""

    def __init__(self, name, op, column):
        self.name, self.op, self.column = name, op, column


def _asked_of(name, given):
    """Returns the results that a keyword asks for."""
    if given == "count":
        return [_Asked(name, "count", None)]
    words = (given,) if isinstance(given, str) else tuple(given)
    ops = [word for word in words if word in OPERATIONS]
    if len(ops) == len(words) > 0:
        return [_Asked(f"{name}_{op}", op, name) for op in ops]
    if len(ops) == 1 and len(words) == 2:
        (column,) = set(words) - set(ops)
        return [_Asked(name, ops[0], column)]
    raise ArgumentError(f"{name}={given!r}: operations are {', '.join(OPERATIONS)}")


# ---- rows -----------------------------------------------------------------------------------------


def _is_file(data):
    return isinstance(data, (str, bytes, os.PathLike, list, tuple)) or hasattr(data, "read")


def _numbers_of(keys, context):
    """Returns what numbers the keys of each row as an array of i64, and this; for one column of i64 without
    NULLs None and a view of it."""
    (key, *others) = keys
    if not others and key.view and key.view.valid is None and key.view.dtype == "i64":
        return None, key.view
    words = Words([key.kind for key in keys], context)
    return words, View(words.encode([key.pieces for key in keys], key.n))


class _Part:
    """Groups of the rows in which a value is not NULL, or of all rows: their keys' numbers, ascending, the
    rows of each, and results."""

    def __init__(self, numbers, valid, views, context):
        """views: of values, by column, with the operations that are asked for."""
        self._context = context
        self._places = [(column, op) for column, _, ops in views for op in ops if op != "median"]
        taken = [_Contiguous(each) for each in (numbers, *(view for _, view, _ in views))]
        if valid is not None:
            compacted(taken, valid)
        self._numbers, *values = taken
        self._values = dict(zip((column for column, _, _ in views), values))
        of = [self._values[column] for column, _ in self._places]
        aggregates = [(op, view.dtype) for view, (_, op) in zip(of, self._places)]
        self._groups = Groups("i64", aggregates, context=context)
        pointers = (POINTER(Array) * len(of))(*(ctypes.pointer(view.array) for view in of))
        self._groups._call(lib.bf_groups_absorb, byref(self._numbers.array), pointers)
        self._groups._make = new_result
        self.keys, self.counts = self._groups.list()

    def result(self, column, op, time):
        """Returns the results of each group as a Result in units of 10^-scale, and the scale. time: the column
        is of times."""
        values = self._values[column]
        if op == "median":
            return median_of_groups(self._numbers, values, self._context, bool(time)), 0
        which, scale = self._places.index((column, op)), values.scale or 0
        try:
            made = self._groups.result(which, scale=scale)
        except RangeError:
            made = _wide_of(self._groups.result_list(which), column)
        return made, scale if made.dtype in ("i64", "u64", "i128") else 0


class _Contiguous:
    """A view's array, one element behind another."""

    def __init__(self, view):
        self.array, self.dtype, self.scale, self._memory = view.array, view.dtype, view.scale, view
        if view.array.shape[0] > 1 and view.array.strides[0] != 1:
            self._memory = new_result(view.dtype, [view.array.shape[0]])
            self.array = self._memory._array()
            copy_array(view.array, self.array)


def _wide_of(units, column):
    """Returns integers as i128."""
    try:
        data = b"".join(each.to_bytes(16, "little", signed=True) for each in units)
    except OverflowError:
        raise RangeError(f"a sum of {column!r} is beyond 128 bits") from None
    made = new_result("i128", [len(units)])
    ctypes.memmove(made._address, data, len(data))
    return made


# ---- results --------------------------------------------------------------------------------------


def _picked(made, order):
    """Returns the elements at these places, and 0 where it is -1."""
    result = new_result(made.dtype, [len(order)])
    words = 2 if made.dtype == "i128" else 1
    code = {1: "B", 2: "H", 4: "I", 8: "Q", 16: "Q"}[SIZES[made.dtype]]
    view = memoryview(made._memory).cast("B").cast(code) if len(made) else ()
    picked = array(code, (view[words * at + k] if at >= 0 else 0 for at in order for k in range(words)))
    ctypes.memmove(result._address, picked.buffer_info()[0], len(picked) * picked.itemsize)
    return result


def _shown(name, made, scale, order):
    """Returns a column of the results at these places, of which -1 is NULL."""
    picked, nulls = _picked(made, order), order.count(-1)
    bits, kept = None, None
    if nulls:
        bits, kept = pack_bits((ctypes.c_bool * len(order))(*(at >= 0 for at in order)))
    buffers, owner = (bits, picked._address), (picked, kept)
    return Column(name, made.dtype, len(order), buffers, owner, scale, nulls)


def _order_of(words, part):
    """Returns the places of groups in the order of their keys."""
    if words is None:
        return list(range(len(part.keys)))
    ranks, keys = words.ranks().tolist(), part.keys.tolist()
    return sorted(range(len(keys)), key=lambda i: ranks[keys[i]])


def _keys_shown(by, keys, words, part, order):
    if words is None:
        return [keys[0].named(by[0], _shown(by[0], part.keys, 0, order))]
    numbers = _picked(part.keys, order)
    return [key.named(name, words.column(i, name, numbers)) for i, (name, key) in enumerate(zip(by, keys))]


# ---- the whole ------------------------------------------------------------------------------------


class _Value:
    """A column of values: its view, and the dtype of times, which are integers meanwhile."""

    def __init__(self, name, x, ops, null):
        self.time, self.scale = None, None
        if isinstance(x, Column) and x.dtype in TIMES.values():
            if unfit := [op for op in ops if op not in ("min", "max", "median", "count")]:
                raise DtypeError(f"{unfit[0]} of {name!r}: times have no sums")
            if x.dtype == "date" and "median" in ops:
                raise DtypeError(f"median of {name!r}: what is between two dates may be none")
            self.time, self.scale, x = x.dtype, x.scale, x._as_integers()
        self.name, self.ops = name, [op for op in ops if op != "count"]
        self.view = View(x, null=KEEP if null == "skip" else null, decimals=True)
        if self.view.array.ndim != 1:
            raise ShapeError(f"{name!r} has {self.view.array.ndim} dimensions, not one")
        self.n, self.valid = self.view.array.shape[0], self.view.valid


class _Grouped:
    """The groups of rows by keys, and their results."""

    def __init__(self, keys, values, mask, context):
        """mask: an array of bools, true for the rows that are taken; None: all are."""
        self.words, numbers = _numbers_of(keys, context)
        whole = [value for value in values if value.valid is None]
        self.all = _Part(numbers, mask, [(v.name, v.view, v.ops) for v in whole], context)
        self._parts = {value.name: self.all for value in whole}
        for value in values:
            if value.valid is not None:
                valid = value.valid if mask is None else map_array("min", value.valid, mask)
                self._parts[value.name] = _Part(
                    numbers, valid, [(value.name, value.view, value.ops)], context
                )
        self._values = {value.name: value for value in values}
        self.order = _order_of(self.words, self.all)

    def _order(self, part):
        """Returns where a part has each group, in the order of the keys; -1: it has no such rows."""
        if part is self.all:
            return self.order
        places = {key: i for i, key in enumerate(part.keys.tolist())}
        keys = self.all.keys.tolist()
        return [places.get(keys[i], -1) for i in self.order]

    def result(self, asked):
        part = self._parts[asked.column] if asked.column else self.all
        order = self._order(part)
        if asked.op == "count":
            counts = _picked(part.counts, order)
            return Column(asked.name, "i64", len(order), (None, counts._address), counts)
        made, scale = part.result(asked.column, asked.op, self._values[asked.column].time)
        value, shown = self._values[asked.column], _shown(asked.name, made, scale, order)
        if not value.time:
            return shown
        return Column(asked.name, value.time, len(shown), shown._buffers, shown, value.scale, shown.nulls)

    def keys(self, by, keys):
        return _keys_shown(by, keys, self.words, self.all, self.order)


def _named(by):
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ArgumentError("no column of keys")
    return names


def group(data, by, *, where=None, null="error", context=None, **aggregates):
    """Groups rows by their keys. Returns bitfold.Columns: the keys, ascending, NULLs last, and the results for
    each; as "bitfold group --by" does, with the same results.

    data: a path, a file object or a list of paths (of which read_csv reads the columns that are needed), or
    columns by name: bitfold.Columns, a dict of arrays, a table of pyarrow, a frame of pandas or Polars. by:
    the columns of the key, a name or a list: of numbers, dates, times or strings (of Arrow and pandas, also as
    views and categories; of NumPy). where: takes only rows that meet this condition, an expression of columns.
    null: "error" refuses values that are NULL, "skip" leaves them out; a key that is NULL is one of its own.

    A keyword asks for results: price="sum" or price=("sum", "mean") of the column price, called price_sum and
    price_mean; total=("price", "sum") gives it the name total; n="count" counts rows. Operations are sum mean
    var std min max median and count, which counts the rows in which the column is not NULL. Without any, rows are
    counted. Sums are exact, and of decimals are decimals.

    Errors: ArgumentError (no such column or operation; a NULL), DtypeError, ShapeError (columns of
    different lengths), RangeError (a sum beyond 128 bits).

    >>> sales = {"city": numpy.array(["Rome", "Oslo", "Rome"]), "price": numpy.array([1.5, 20, 4])}
    >>> bitfold.group(sales, "city", price=("sum", "mean"), n="count").to_dict()
    {'city': ['Oslo', 'Rome'], 'price_sum': [20.0, 5.5], 'price_mean': [20.0, 2.75], 'n': [1, 2]}
    """
    by = _named(by)
    asked = [each for name, given in aggregates.items() for each in _asked_of(name, given)]
    asked = asked or [_Asked("count", "count", None)]
    mask = None
    if _is_file(data):
        needed = dict.fromkeys([*by, *(each.column for each in asked if each.column)])
        data = read_csv(data, columns=list(needed), where=where)
    elif where is not None:
        mask = condition(where, data, context)
    asked = [_settled(each, data) for each in asked]
    keys = [Key(column_of(data, name)) for name in by]
    ops = {}
    for each in asked:
        if each.column:
            ops.setdefault(each.column, []).append(each.op)
    values = [
        _Value(name, column_of(data, name), list(dict.fromkeys(names)), null)
        for name, names in ops.items()
    ]
    lengths = {each.n for each in (*keys, *values)}
    if len(lengths) > 1:
        raise ShapeError(f"columns of {', '.join(map(str, sorted(lengths)))} rows")
    groups = _Grouped(keys, values, mask, context)
    columns = [*groups.keys(by, keys), *(groups.result(each) for each in asked)]
    return Columns(columns, len(groups.order))


def _settled(asked, data):
    """A count that bears the name of a column is of its rows that are not NULL."""
    if asked.op == "count" and asked.column is None and asked.name in names_of(data):
        return _Asked(f"{asked.name}_count", "count", asked.name)
    return asked
