"""Dictionaries: they number rows of keys, of strings or numbers, so that what takes numbers takes strings."""

import binascii
import ctypes
import functools
import io
import struct

from ._arrays import NAMES, SIZES, copied_like, dtype_name
from ._columns import TIMES, Column
from ._keys import BF_NONE, Form, Key, Words, like, memory_of, picked, piece_of, shown_as, strings_of
from ._library import DTYPES, DtypeError, Error, ShapeError, StateError
from ._map import map as map_array
from ._mergeable import Mergeable
from ._nulls import pack_bits
from ._result import _restore, new_result


class Names:
    """Rows of keys and their numbers. forms: what the columns are; None: it is not known yet."""

    def __init__(self, context, forms=None):
        self._context, self.forms, self._words, self._shown = context, None, None, None
        self._ordered = 0  # how many keys there were when their numbers were in their order
        if forms is not None:
            self._begin(forms, [object] * len(forms))

    def _begin(self, forms, shown):
        self.forms, self._shown, self._words = forms, shown, Words([form.kind for form in forms], self._context)

    def __len__(self):
        return 0 if self._words is None else len(self._words)

    @property
    def kind(self):
        """What the keys are called: a str, or a list of one for each column."""
        names = [form.name for form in self.forms]
        return names if len(names) > 1 else names[0]

    def columns_of(self, keys):
        """Returns keys as a list of columns; or one key, of what it has in each."""
        if len(self.forms) == 1:
            return [keys]
        if not isinstance(keys, (list, tuple)) or len(keys) != len(self.forms):
            raise ShapeError(f"keys of {len(self.forms)} columns are a list or a tuple")
        return keys

    def read(self, columns):
        """Returns the keys of columns, which are such as those before."""
        forms = self.forms or [None] * len(columns)
        if len(columns) != len(forms):
            raise DtypeError(f"keys have {len(forms)} columns, not {len(columns)}")
        keys = [x if isinstance(x, Key) else Key(x, form) for x, form in zip(columns, forms)]
        if len({key.n for key in keys}) != 1:
            raise ShapeError("columns of different lengths")
        if self._words is None:
            self._begin([key.form for key in keys], [shown_as(key.given) for key in keys])
        self.forms = _joined(self.forms, [key.form for key in keys], DtypeError)
        return keys

    def numbers(self, keys, add=True):
        """Returns the number of each row of keys that were read. add: rows that are new get the next numbers; else
        they get -1."""
        number = self._words.encode if add else self._words.find
        return number([key.pieces for key in keys], keys[0].n)

    def rows(self, columns, add=True):
        """Returns the numbers of rows as an array, which is NULL where one of their keys is."""
        keys = self.read(columns)
        numbers, masks = self.numbers(keys, add), [key.valid() for key in keys]
        if add:
            self._shown = [shown_as(key.given) for key in keys]
        masks = [mask for mask in masks if mask is not None]
        return _with_nulls(numbers, functools.reduce(_both, masks)) if masks else numbers

    def keys(self, numbers=None, shown=None):
        """Returns the keys of these numbers (None: of all): an array, or a tuple of one for each column. shown: how
        all are shown, as of shown_as."""
        numbers = self._words.all() if numbers is None else numbers
        found = [form.named("", self._words.column(i, "", numbers)) for i, form in enumerate(self.forms)]
        made = tuple(map(like, found, shown or self._shown))
        return made if len(made) > 1 else made[0]

    def merge(self, other):
        """Takes in the keys of another. Returns the number here of each."""
        if other.forms is None:
            return new_result("i64", [0])
        if self.forms is None:
            self._begin(other.forms, other._shown)
        self.forms = _joined(self.forms, other.forms, StateError)
        return self._words.merge(other._words)

    def copied(self, context):
        """Returns the same in another context."""
        made = Names(context)
        made.merge(self)
        return made

    def order(self, numbers):
        """Returns the places of these numbers in the order of their keys."""
        return self._words.order(numbers)

    def sorted(self, numbers):
        """Returns the keys of these different numbers, which are numbered in their order, and their numbers there."""
        from ._order import argsort

        made, order = Names(self._context), self.order(numbers)
        made.forms, made._shown, made._ordered = self.forms, self._shown, len(numbers)
        made._words = self._words.taken(picked(numbers, order))
        return made, argsort(order)

    @property
    def are_sorted(self):
        """Whether the numbers are in the order of the keys, and all are in use."""
        return self._ordered == len(self)

    def drop(self):
        """Takes note that some number may be in use no longer."""
        self._ordered = -1

    def require(self, dtype, numbers):
        """Raises StateError unless keys that were saved as this dtype are numbers of keys here. numbers: returns
        them, ascending."""
        held = numbers() if dtype == "i64" else [-1]
        if len(held) and not (0 <= held[0] and held[len(held) - 1] < len(self)):
            raise StateError("saved keys that no dictionary has")

    def save(self):
        """Returns all as bytes."""
        columns = range(len(self.forms or ()))
        parts = [bytes(memory_of(each)) for i in columns for each in self._words.parts(i, self._words.all())]
        body = b"".join([*map(_packed, self.forms or ()), *parts])
        return _HEAD.pack(_MAGIC, binascii.crc32(body), len(columns), len(self), len(body)) + body


# ---- columns --------------------------------------------------------------------------------------

_TIMES = {"date": "i32", "time": "i64", "utc time": "i64"}  # the dtypes of their integers


def names_of_keys(key, context, kinds=(*DTYPES, *_TIMES, "string")):
    """Returns what numbers keys that are no numbers: strings, times or a list of columns, of these kinds. None: they
    are numbers."""
    several = isinstance(key, (list, tuple))
    if not several and not (isinstance(key, str) and key in ("string", *_TIMES)):
        return None
    columns = [x if x in ("string", *_TIMES) else dtype_name(x) for x in (key if several else [key])]
    for each in columns:
        if each not in kinds:
            raise DtypeError(f"no column of a key has dtype {each!r}")
    return Names(context, list(map(_form_of, columns)))


def _form_of(name):
    """Returns a form in which any scale will do."""
    if name == "string":
        return Form(BF_NONE)
    return Form(DTYPES[_TIMES.get(name, name)], None, name if name in _TIMES else None)


def keys_in(x):
    """Returns the keys that x has: strings, or a tuple of columns; None: it has numbers alone."""
    pieces = strings_of(x)
    if pieces is None:
        return [Key(each) for each in x] if isinstance(x, tuple) else None
    return [Key(x, pieces=pieces)]


def _joined(known, forms, error):
    """Returns the forms of columns that were known before, now that some have these."""
    if len(known) != len(forms) or not all(map(_are_one, known, forms)):
        given, before = (", ".join(form.name for form in each) for each in (forms, known))
        raise error(f"keys are of {given}, not of {before}")
    return [a if a.scale is not None else b for a, b in zip(known, forms)]


def _are_one(a, b):
    return a == b or (None in (a.scale, b.scale) and a._replace(scale=None) == b._replace(scale=None))


def _both(a, b):
    return map_array("min", a, b)


def _with_nulls(numbers, valid):
    """Returns numbers as a column that is NULL where these bools are false."""
    from . import sum as count

    n = len(numbers)
    bits, kept = pack_bits(valid)
    return Column("", "i64", n, (bits, numbers._address), (numbers, kept), 0, n - count(valid))


# ---- saved forms ----------------------------------------------------------------------------------

_MAGIC = b"bfkeys\0\1"  # the last byte is the version of the form
_HEAD = struct.Struct("<8sIIqQ")  # the checksum of what follows it; columns, keys, and bytes that follow
_FORM = struct.Struct("<3i")
_NO_SCALE = -1


def _packed(form):
    """Returns a form as bytes."""
    time = next((number for number, name in TIMES.items() if name == form.time), 0)
    return _FORM.pack(form.kind, _NO_SCALE if form.scale is None else form.scale, time)


def loaded(data, context):
    """Returns the names that saved bytes begin with, and the rest of them; None, and all of them: they begin with
    none."""
    if not data.startswith(_MAGIC):
        return None, data
    try:
        _, checksum, columns, n, size = _HEAD.unpack_from(data)
        body, rest = data[_HEAD.size :][:size], data[_HEAD.size :][size:]
        if len(body) != size or binascii.crc32(body) != checksum:
            raise ValueError
        return _parsed(columns, n, io.BytesIO(body), context), rest
    except (Error, KeyError, ValueError, struct.error):
        raise StateError("these bytes are no saved keys") from None


def _parsed(columns, n, body, context):
    forms = [_unpacked(body) for _ in range(columns)]
    made = Names(context, forms or None)
    if forms:
        made._words.encode([[piece_of(form.kind, n, _parts(form.kind, n, body))] for form in forms], n)
    if len(made) != n or body.read(1):
        raise ValueError
    return made


def _unpacked(body):
    """Returns a form that columns have."""
    kind, scale, time = _FORM.unpack(body.read(_FORM.size))
    form = Form(kind, None if scale == _NO_SCALE else scale, TIMES[time] if time else None)
    most = 38 if kind in map(DTYPES.get, ("i64", "u64", "i128")) else 0
    scales = (0, 3, 6, 9) if time else range(most + 1)
    if (time and kind != DTYPES[_TIMES[form.time]]) or (form.scale is not None and scale not in scales):
        raise ValueError
    return form


def _parts(kind, n, body):
    """Returns n keys that were saved, as Words.parts does."""
    valid = _taken("bool", n, body)
    if kind != BF_NONE:
        return valid, _taken(NAMES[kind], n, body)
    offsets = _taken("i64", n + 1, body)
    size = max(offsets[n], 1)
    data = body.read(size)
    if offsets[0] != 0 or len(data) != size:
        raise ValueError
    return valid, offsets, ctypes.create_string_buffer(data, size)


def _taken(name, n, body):
    size = n * SIZES[name]
    data = body.read(size) if size > 0 else b""
    if len(data) != size:
        raise ValueError
    return _restore(name, (n,), data)


# ---- what users have ------------------------------------------------------------------------------


class Dictionary(Mergeable):
    """Numbers rows of keys, of strings or numbers in one column or several: 0, 1, 2, ... in the order in which
    they first appear. So what takes numbers takes strings: bincount, index_add and so on. Columns are arrays of any
    library, or lists of str, bytes and None. A NULL is a key of its own.

    >>> cities = bitfold.Dictionary()
    >>> numbers = cities.encode(numpy.array(["Rome", "Oslo", "Rome"]))
    >>> numbers, cities.keys()
    (array([0, 1, 0]), array(['Rome', 'Oslo'], dtype='<U4'))
    >>> bitfold.index_add(2, numbers, numpy.array([1.5, 20, 4]))
    array([ 5.5, 20. ])

    Errors: DtypeError (columns of other kinds than before), ShapeError (columns of different lengths), ArgumentError (a
    str that is no text), StateError (merge: a dictionary of other columns).
    """

    def __init__(self, context=None):
        self._names, self._context = Names(context), context

    def __len__(self):
        return len(self._names)

    def encode(self, *columns):
        """Returns the number of each row, as int64. Rows that are new get the next numbers."""
        return self._numbers(columns, add=True)

    def find(self, *columns):
        """Returns the number of each row, as int64. Rows that are new have -1, and stay so.

        >>> cities = bitfold.Dictionary()
        >>> cities.encode(numpy.array(["Rome", "Oslo"])), cities.find(numpy.array(["Oslo", "Bern"]))
        (array([0, 1]), array([ 1, -1]))
        """
        return self._numbers(columns, add=False)

    def _numbers(self, columns, add):
        if not columns:
            raise ShapeError("no column")
        keys = self._names.read(columns)
        numbers = self._names.numbers(keys, add)
        return copied_like(keys[0].given, "i64", [len(numbers)], numbers._address)

    def keys(self, numbers=None):
        """Returns the keys of these numbers (None: of all): an array, or a tuple of one for each column."""
        return () if self._names.forms is None else self._names.keys(numbers)

    def merge(self, other):
        """Takes in the keys of another, which is unchanged: those that are new get the next numbers. Returns the
        dictionary."""
        self._require_kind(other)
        self._names.merge(other._names)
        return self

    def save(self):
        """Returns the dictionary as bytes: portable, with a version and a checksum."""
        return self._names.save()

    @classmethod
    def load(cls, data, context=None):
        """Returns the dictionary that save() wrote. Other bytes raise StateError."""
        made, (names, rest) = cls(context), loaded(bytes(data), context)
        if names is None or rest:
            raise StateError("these bytes are no saved keys")
        made._names = names
        return made
