"""group: aggregates of the rows of each key, of a file or of columns."""

import ctypes
import os
from array import array
from ctypes import POINTER, byref
from itertools import accumulate
from numbers import Real

from ._arrays import View
from ._columns import Column, Columns
from ._computed import condition
from ._group import Groups
from ._keys import BF_NONE, Key, Memory, Numbers, Words, column_of, names_of, picked, picked_of
from ._library import DTYPES, Array, ArgumentError, DtypeError, RangeError, ShapeError, lib
from ._map import converted, copy_array, result_dtype
from ._map import map as map_array
from ._nulls import compacted, pack_bits
from ._order import argsort, sort_rows, unique
from ._order._statistics import median_of_groups, quantile_of_groups
from ._read import AGAIN, ALL, options_of, read_rows
from ._result import new_result
from ._table import Table

# What each operation takes beside numbers.
OPERATIONS = {
    "sum": (), "mean": (), "var": (), "std": (), "share": (), "quantile": (), "median": ("times",),
    "min": ("times",), "max": ("times",), "first": ("times", "strings"), "last": ("times", "strings"),
    "mode": ("times", "strings"), "distinct": ("times", "strings"), "count": ("times", "strings"),
    "skew": (), "kurtosis": (),
}  # fmt: skip
_PAIRS = "corr", "cov", "slope", "intercept", "r2", "wmean", "wvar", "wstd"
OPERATIONS |= {op: () for op in _PAIRS}
_PLAIN = "sum", "mean", "var", "std", "skew", "kurtosis", "min", "max"
FLOATS = "f16", "bf16", "f32", "f64"
_AGGREGATES = {op: op for op in (*_PLAIN, *_PAIRS)} | {"share": "sum"}
_OF_ALL = "median", "quantile", "first", "last", "mode", "distinct"  # they need all rows at once
_ARE_VALUES = "min", "max", "first", "last", "mode"  # their results are values of the column

# Rows of a file that are absorbed together, at least and at most, and for each group: a call merges all groups of its
# rows, each of which takes about as long as twenty rows. If the first rows tell that so many times as many are better
# taken together, those are taken first.
_LEAST, _MOST, _PER_GROUP, _FAR = 1 << 16, 1 << 24, 64, 16


# ---- what is asked --------------------------------------------------------------------------------


class _Asked:
    """A result: its name, the operation, the column of its values (two of pairs; None: rows are counted), the fraction
    of a quantile, and which column is counted instead of rows if there is one of this name."""

    def __init__(self, name, op, column, fraction=None, instead=None):
        self.name, self.op, self.column, self.fraction, self.instead = name, op, column, fraction, instead

    @property
    def columns(self):
        return self.column if isinstance(self.column, tuple) else (self.column,) if self.column else ()

    def settled(self, names):
        """Returns what is asked of columns of these names."""
        if self.instead not in names:
            return self
        return _Asked(f"{self.name}_count", "count", self.instead)


def _split(given):
    """Returns the operations of a keyword, as pairs of one and a fraction or None, and the other words."""
    ops, others, in_quantile = [], [], False
    for word in given:
        if in_quantile and isinstance(word, Real):
            ops.append(("quantile", float(word)))
        elif isinstance(word, str) and word in OPERATIONS:
            in_quantile = word == "quantile"
            ops += [] if in_quantile else [(word, None)]
        else:
            others.append(word)
    return ops, others


def _asked_of(name, given):
    """Returns the results that a keyword asks for."""
    if given == "count":
        return [_Asked(name, "count", None, instead=name)]
    ops, others = _split((given,) if isinstance(given, str) else given)
    pairs = [op for op, _ in ops if op in _PAIRS]
    if pairs and len(ops) == 1 and len(others) == 2 and all(isinstance(each, str) for each in others):
        return [_Asked(name, pairs[0], tuple(others))]
    if pairs:
        raise ArgumentError(f"{name}={given!r}: {pairs[0]} has two columns, as in {name}=('x', 'y', {pairs[0]!r})")
    if ops and not others:
        return [_Asked(f"{name}_{op}" + (f"_{q}" if op == "quantile" else ""), op, name, q) for op, q in ops]
    if len(ops) == len(others) == 1 and isinstance(others[0], str):
        ((op, fraction),) = ops
        return [_Asked(name, op, others[0], fraction)]
    hint = ", ".join(OPERATIONS).replace("quantile", "quantile with fractions behind it")
    raise ArgumentError(f"{name}={given!r}: operations are {hint}")


# ---- rows -----------------------------------------------------------------------------------------


def _is_file(data):
    return isinstance(data, (str, bytes, os.PathLike, list, tuple)) or hasattr(data, "read")


class _Part:
    """Groups of the rows in which a value is not NULL, or of all rows: their keys' numbers, ascending, the
    rows of each, and results."""

    def __init__(self, views, ops, context):
        """views: of the first values, by column, or of pairs by both; ops: the operations that are asked for, by
        either."""
        self._context = context
        asked = ((column, each) for column, each in ops.items() if views.keys() >= {*_columns_of(column)})
        self._places = [(column, op) for column, each in asked for op in _aggregates_of(each)]
        aggregates = [(op, views[_columns_of(column)[0]].dtype) for column, op in self._places]
        self._groups = Groups("i64", aggregates, context=context)

    def absorb(self, numbers, valid, views):
        taken = [_Contiguous(each) for each in (numbers, *views.values())]
        if valid is not None:
            compacted(taken, valid)
        self._numbers, *values = taken
        self._values = dict(zip(views, values))
        of = [self._values[name] for column, _ in self._places for name in _columns_of(column)]
        pointers = (POINTER(Array) * len(of))(*(ctypes.pointer(view.array) for view in of))
        self._groups._call(lib.bf_groups_absorb, byref(self._numbers.array), pointers)

    def __len__(self):
        return len(self._groups)

    @property
    def rows(self):
        return self._groups.rows

    def list(self):
        self._groups._make = new_result
        self.keys, self.counts = self._groups.list()

    def result(self, asked, whole=False):
        """Returns the results of each group as a Result; of decimals that are kept, in their units. whole: a median
        is the nearest integer."""
        values, op = self._values[asked.columns[0]], asked.op
        if op in _AGGREGATES:
            return self._aggregate(asked.column, op, values.scale or 0)
        if op == "median":
            return median_of_groups(self._numbers, values, self._context, whole)
        if op == "quantile":
            return quantile_of_groups(self._numbers, values, asked.fraction, self._context)
        if op in ("first", "last"):
            return _ends_of_groups(self._numbers, values, self.counts, op == "last", self._context)
        return _counted_of_groups(self._numbers, values, op == "mode", self._context)

    def _aggregate(self, column, op, scale):
        which = self._places.index((column, _AGGREGATES[op]))
        if op == "share":
            return _floats_of(self._groups.shares(which))
        try:
            return self._groups.result(which, scale=scale)
        except RangeError:
            return _wide_of(self._groups.result_list(which), column)


def _columns_of(column):
    return column if isinstance(column, tuple) else (column,)


def _alike(views):
    """Returns two views as views of one dtype and scale."""
    names, scales = [view.dtype for view in views], [view.scale or 0 for view in views]
    if names[0] == names[1] and scales[0] == scales[1]:
        return views
    if "i128" in names or any(scales) and any(name in FLOATS for name in names):
        raise DtypeError(f"pairs of {names[0]} and {names[1]} with digits behind the point: no dtype has both")
    held = "i64" if any(scales) else result_dtype("add", *names)
    made = [converted(Memory(view.array, view), held, view.dtype, None) for view in views]
    if any(scales):
        made = [map_array("mul", x, 10 ** (max(scales) - scale)) for x, scale in zip(made, scales)]
    views = [View(x) for x in made]
    for view in views:
        view.scale = max(scales)
    return views


def _aggregates_of(ops):
    """Returns the aggregates that operations need, each once."""
    return dict.fromkeys(_AGGREGATES[op] for op in ops if op in _AGGREGATES)


class _Contiguous:
    """A view's array, one element behind another."""

    valid = None  # no element is NULL

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


def _floats_of(given):
    made = new_result("f64", [len(given)])
    ctypes.memmove(made._address, (ctypes.c_double * len(given))(*given), 8 * len(given))
    return made


# ---- what is chosen of values ---------------------------------------------------------------------


def _ends_of_groups(numbers, values, counts, last, context):
    """Returns the first or the last value of each group of counted rows. numbers: of the group of each row; both
    are contiguous and without NULLs."""
    ends = array("q", accumulate(counts.tolist(), initial=0))
    places = map_array("sub", ends[1:], 1) if last else ends[:-1]
    rows = View(argsort(Memory(numbers.array), context=context))
    return picked_of(values.array, picked_of(rows.array, places))


def _counted_of_groups(numbers, values, most, context):
    """Returns the most frequent value of each group, of several the least, or how many are different."""
    from . import segment_argmax

    words = Words([DTYPES["i64"], DTYPES[values.dtype]], context)
    pairs = words.encode([[Numbers(numbers)], [Numbers(values)]], numbers.array.shape[0])
    ranks, counts = words.ranks(), unique(pairs, context=context)[1]
    order = argsort(ranks, context=context)
    _, different = unique(words.values(0, order), context=context)
    if not most:
        return different
    sort_rows(ranks, counts, context=context)
    offsets = array("q", accumulate(different.tolist(), initial=0))
    best = segment_argmax(counts, offsets, context=context)
    return words.values(1, picked(order, map_array("add", best, offsets[:-1])))


# ---- results --------------------------------------------------------------------------------------


def _with_nulls(column, order):
    """Returns a column that is NULL where the order is -1."""
    from . import sum as count

    valid, n = map_array("ge", order, 0), len(order)
    nulls = n - count(valid)
    if not nulls:
        return column
    bits, kept = pack_bits(valid)
    buffers, owner = (bits, *column._buffers[1:]), (column, kept)
    return Column(column.name, column.dtype, n, buffers, owner, column.scale, nulls)


def _shown(name, made, scale, order):
    """Returns a column of the results at these places, of which -1 is NULL."""
    if scale and made.dtype not in ("u64", "i128"):
        made = map_array("cast", made, to="i64")
    found = picked(made, order)
    return _with_nulls(Column(name, made.dtype, len(order), (None, found._address), found, scale), order)


def _order_of(words, part):
    """Returns the places of groups in the order of their keys."""
    return words.order(part.keys) if words else argsort(part.keys)


def _keys_shown(by, keys, words, part, order):
    if words is None:
        return [keys[0].named(by[0], _shown(by[0], part.keys, 0, order))]
    numbers = picked(part.keys, order)
    return [key.named(name, words.column(i, name, numbers)) for i, (name, key) in enumerate(zip(by, keys))]


# ---- the whole ------------------------------------------------------------------------------------


class _Value:
    """A column of values: its view. Times are integers meanwhile, and strings their places in the order of all; of
    what is counted alone there is none."""

    def __init__(self, name, x, ops, context):
        key = Key(x)
        kind = "strings" if key.kind == BF_NONE else "times" if key.time else None
        self.name, self.n, self._key = name, key.n, key
        self.is_time = key.time is not None
        if unfit := [op for op in ops if kind and kind not in OPERATIONS[op]]:
            raise DtypeError(f"{unfit[0]} of {name!r}: {kind} have none")
        if key.time == "date" and "median" in ops:
            raise DtypeError(f"median of {name!r}: what is between two dates may be none")
        self.view, self.valid = None, key.valid()
        if any(op != "count" for op in ops):
            self.view = self._places(context) if kind == "strings" else key.view

    def require(self, mask):
        """Raises ArgumentError if a value is NULL in a row that is taken."""
        from . import sum as count

        if self.valid is None or self.view is None:
            return
        taken = map_array("le", mask, self.valid) if mask is not None else self.valid
        if count(taken) < self.n:
            raise ArgumentError(f"{self.name!r}: some elements are NULL: null='skip' leaves them out")

    def _places(self, context):
        """Returns a view of the places of strings in the order of all."""
        self._words = words = Words([BF_NONE], context)
        numbers, ranks = words.encode([self._key.pieces], self.n), words.ranks()
        self._order = argsort(ranks)  # NULL is the last
        return View(picked(ranks, numbers))

    def column(self, asked, made, order):
        """Returns results of groups, in this order, as a column."""
        if asked.op not in _ARE_VALUES and not self.is_time:
            exact = asked.op == "sum" and made.dtype != "f64"
            return _shown(asked.name, made, self._key.scale if exact else 0, order)
        if self._key.kind != BF_NONE:
            scale = 0 if self._key.time or made.dtype[:1] == "f" else self._key.scale
            return self._key.named(asked.name, _shown(asked.name, made, scale, order))
        numbers = picked(self._order, picked(made, order))
        return _with_nulls(self._words.column(0, asked.name, numbers), order)


class _Grouped:
    """The groups of rows by keys, and their results. Rows come in pieces."""

    def __init__(self, by, asked, null, context):
        self.by, self.given, self._null, self._context = by, asked, null, context
        self._plain, self._nullable, self._parts = True, set(), None

    def clear(self):
        """Removes all rows."""
        self._parts = None

    @property
    def is_clear(self):
        return self._parts is None

    def absorb(self, data, mask=None):
        """Absorbs rows: columns by name, of which those count for which an array of bools, the mask, is true. False:
        they are not as those before, and all rows must come once more."""
        names = names_of(data)
        self.asked = [each.settled(names) for each in self.given]
        self._read(data)
        for value in self._values.values():
            if self._null != "skip":
                value.require(mask)
        if not self._suits():
            return False
        if self.is_clear:
            self._begin()
        numbers = self._numbers()
        self.all.absorb(numbers, mask, self._views(None))
        for column, part in self._parts.items():
            valid = mask
            for name in _columns_of(column):
                valid = _both(valid, self._values[name].valid)
            part.absorb(numbers, valid, self._views(column))
        return True

    def _read(self, data):
        """Reads the keys and the values."""
        self._ops = {}
        for each in self.asked:
            for name in each.columns:
                self._ops.setdefault(name, []).append(each.op)
        self._keys = [Key(column_of(data, name)) for name in self.by]
        self._values = {
            name: _Value(name, column_of(data, name), ops, self._context) for name, ops in self._ops.items()
        }
        lengths = {each.n for each in (*self._keys, *self._values.values())}
        if len(lengths) > 1:
            raise ShapeError(f"columns of {', '.join(map(str, sorted(lengths)))} rows")

    def _suits(self):
        """Takes note of what there is but integers without NULLs as a key, and of columns with NULLs. Returns whether
        there was as much before."""
        (key, *others), before = self._keys, (self._plain, len(self._nullable))
        self._plain &= not others and key.view is not None and key.view.valid is None and key.view.dtype == "i64"
        self._nullable.update(value.name for value in self._values.values() if value.valid is not None)
        return self.is_clear or before == (self._plain, len(self._nullable))

    def _begin(self):
        """Makes groups of the rows, and of those in which each column with NULLs has a value."""
        self.words = None if self._plain else Words([key.kind for key in self._keys], self._context)
        single = {name: [op for op in ops if op not in _PAIRS] for name, ops in self._ops.items()}
        self.all = _Part(self._views(None), single, self._context)
        alone = [name for name in self._nullable if single[name]]
        self._parts = {name: _Part(self._views(name), single, self._context) for name in alone}
        for each in self.asked:
            if isinstance(each.column, tuple) and each.column not in self._parts:
                ops = {each.column: [other.op for other in self.asked if other.column == each.column]}
                self._parts[each.column] = _Part(self._views(each.column), ops, self._context)

    def _numbers(self):
        """Returns a view of the numbers of the rows' keys."""
        if self._plain:
            return self._keys[0].view
        return View(self.words.encode([key.pieces for key in self._keys], self._keys[0].n))

    def _views(self, part):
        """Returns the views of the values of a part, by column: a column, or None of those without NULLs."""
        if isinstance(part, tuple):
            return dict(zip(part, _alike([self._values[name].view for name in part])))
        names = [part] if part else [name for name in self._values if name not in self._nullable]
        return {name: view for name in names if (view := self._values[name].view) is not None}

    def wanted(self):
        """Returns how many rows are best absorbed together next."""
        if any(each.op in _OF_ALL for each in self.given):
            return ALL
        rows, n = (self.all.rows, len(self.all)) if not self.is_clear else (0, 0)
        if 2 * n > rows:  # most keys are new: of rows of m random keys, rows^2 / 2m have met theirs
            n = rows**2 // (2 * (rows - n) + 1)
        return min(max(_LEAST, _PER_GROUP * n), _MOST)

    def results(self):
        """Returns the keys and the results as Columns."""
        for part in (self.all, *self._parts.values()):
            part.list()
        self.order = _order_of(self.words, self.all)
        keys = _keys_shown(self.by, self._keys, self.words, self.all, self.order)
        return Columns([*keys, *map(self._result, self.asked)], len(self.order))

    def _order(self, part):
        """Returns where a part has each group, in the order of the keys; -1: it has no such rows."""
        if part is self.all:
            return self.order
        behind = array("q", range(1, len(part.keys) + 1))
        places, _ = Table("i64", "i64").insert(part.keys, behind).find(self.all.keys)
        return map_array("sub", picked(places, self.order), 1)

    def _result(self, asked):
        part = self._parts.get(asked.column, self.all)
        order = self._order(part)
        if asked.op in ("count", "distinct"):  # 0 of no rows
            counts = picked(part.counts if asked.op == "count" else part.result(asked), order)
            return Column(asked.name, "i64", len(order), (None, counts._address), counts)
        if isinstance(asked.column, tuple):
            return _shown(asked.name, part.result(asked), 0, order)
        value = self._values[asked.column]
        return value.column(asked, part.result(asked, value.is_time), order)


def _both(mask, valid):
    """Returns where both are true; None: everywhere."""
    if mask is None or valid is None:
        return valid if mask is None else mask
    return map_array("min", mask, valid)


def _read_into(groups, data, where):
    """Absorbs the rows of a file."""

    first = groups.wanted()

    def take(rows):
        nonlocal first
        if rows is None:
            groups.clear()
            return first
        is_first = groups.is_clear
        if not groups.absorb(rows):
            return AGAIN
        wanted = groups.wanted()
        if is_first and wanted >= _FAR * first:
            first = wanted
            return AGAIN
        return wanted

    needed = dict.fromkeys([*groups.by, *(name for each in groups.given for name in each.columns)])
    instead = [each.instead for each in groups.given if each.instead]
    read_rows(data, options_of(columns=list(needed), where=where), take, instead)


def _named(by):
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ArgumentError("no column of keys")
    return names


def group(data, by, *, where=None, null="error", context=None, **aggregates):
    """Groups rows by their keys. Returns bitfold.Columns: the keys, ascending, NULLs last, and the results for
    each; as "bitfold group --by" does, with the same results.

    data: a path, a file object or a list of paths, as read_csv takes them; or columns by name: bitfold.Columns, a dict
    of arrays, a table of pyarrow, a frame of pandas or Polars. Of files, the columns that are needed are read in
    pieces, so that memory grows with the groups; as a whole for median, quantile, first, last, mode and distinct.
    by: the columns of the key, a name or a list: of numbers, dates, times or strings (of Arrow and pandas, also as
    views and categories; of NumPy). where: takes only rows that meet this condition, an expression of columns.
    null: "error" refuses values that are NULL, but to count, "skip" leaves them out; a key that is NULL is one of its
    own.

    A keyword asks for results: price="sum" or price=("sum", "mean") of the column price, called price_sum and
    price_mean; total=("price", "sum") gives it the name total; n="count" counts rows, where no column is called n.
    Operations are sum mean var std skew kurtosis min max median, share (the sum, divided by that of all), first,
    last, mode (the most frequent value, of several the least), distinct (how many values are different) and count,
    which counts the rows in which the column is not NULL. "quantile" has its fraction behind it, or several:
    price=("quantile", 0.05, 0.95). Two columns have corr, cov, slope, intercept, r2 (of the line that fits the
    second), and wmean, wvar, wstd, whose second has the weights: r=("price", "tax", "corr"), of the rows that have
    both. Without any, rows are counted. Sums are exact, and of decimals are decimals. Times have no sums, shares
    and quantiles; strings have first, last, mode, distinct and count.

    Errors: ArgumentError (no such column or operation; a NULL), DtypeError, ShapeError (columns of
    different lengths), RangeError (a sum beyond 128 bits).

    >>> sales = {"city": numpy.array(["Rome", "Oslo", "Rome"]), "price": numpy.array([1.5, 20, 4])}
    >>> bitfold.group(sales, "city", price=("sum", "mean"), n="count").to_dict()
    {'city': ['Oslo', 'Rome'], 'price_sum': [20.0, 5.5], 'price_mean': [20.0, 2.75], 'n': [1, 2]}
    """
    by = _named(by)
    asked = [each for name, given in aggregates.items() for each in _asked_of(name, given)]
    asked = asked or [_Asked("count", "count", None)]
    groups = _Grouped(by, asked, null, context)
    if _is_file(data):
        _read_into(groups, data, where)
    else:
        groups.absorb(data, None if where is None else condition(where, data, context))
    return groups.results()
