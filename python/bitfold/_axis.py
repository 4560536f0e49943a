"""Reductions of many at once (axis.h): along axes, by segments, by index, by runs of equal keys."""

import ctypes
import math
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, Target, View, dtype_name, value_of
from ._library import (
    DTYPES, OPS, Array, ArgumentError, ReduceOptions, ShapeError, lib, refuse_unknown, sized, whole,
)  # fmt: skip
from ._lists import dtype_for
from ._mergeable import Mergeable
from ._nulls import line_up, masked, segment_views_of, views_of
from ._reductions import REDUCTIONS, name_by_index, of_index, of_segments, weighted_op
from ._times import as_keys
from ._map import _default_context, copy_array, given_of
from ._result import new_result
from ._table import _Elements

__all__ = [
    *(f"segment_{op}" for op in REDUCTIONS), *map(name_by_index, REDUCTIONS),
    "segment_dot", "index_dot", "reduce_runs", "States",
]  # fmt: skip

SLOTS_MAX = 1 << 31
LONG_LINE = 4096  # elements for which a state is made sooner than they are read again


class _StatesInfo(ctypes.Structure):
    """bf_states_info"""

    _fields_ = [("size", c_size_t), ("op", c_int), ("dtype", c_int), ("count", c_int64)]


_ARRAY, _OPTIONS = POINTER(Array), POINTER(ReduceOptions)
_COUNTS = ["n", "nan", "inf"]
_DESCRIBED = ["min", "argmin", "max", "argmax", "sum", "mean", "std"]


class _Descriptions(ctypes.Structure):
    """bf_descriptions"""

    _fields_ = [("size", c_size_t), *((name, _ARRAY) for name in _COUNTS + _DESCRIBED)]


_SIGNATURES = {
    "bf_reduce_dtype": (c_int, c_int, c_int, _OPTIONS),
    "bf_reduce_axes": (
        c_int, c_void_p, c_int, _ARRAY, POINTER(c_int), c_int, _OPTIONS, _ARRAY, _ARRAY,
    ),
    "bf_reduce_pair_axes": (
        c_int, c_void_p, c_int, _ARRAY, _ARRAY, POINTER(c_int), c_int, _OPTIONS, _ARRAY, _ARRAY,
    ),
    "bf_reduce_segments": (c_int, c_void_p, c_int, _ARRAY, _ARRAY, _OPTIONS, _ARRAY, _ARRAY),
    "bf_reduce_pair_segments": (c_int, c_void_p, c_int, _ARRAY, _ARRAY, _ARRAY, _OPTIONS, _ARRAY, _ARRAY),
    "bf_reduce_index": (c_int, c_void_p, c_int, _ARRAY, _ARRAY, _OPTIONS, _ARRAY, _ARRAY),
    "bf_reduce_pair_index": (c_int, c_void_p, c_int, _ARRAY, _ARRAY, _ARRAY, _OPTIONS, _ARRAY, _ARRAY),
    "bf_reduce_runs": (
        c_int, c_void_p, c_int, _ARRAY, _ARRAY, _OPTIONS, _ARRAY, _ARRAY, _ARRAY, POINTER(c_int64),
    ),
    "bf_states_create": (c_int, c_void_p, c_int, c_int, c_int64, POINTER(c_void_p)),
    "bf_states_destroy": (None, c_void_p),
    "bf_states_clear": (c_int, c_void_p),
    "bf_states_count": (c_int64, c_void_p),
    "bf_states_describe": (c_int, c_void_p, POINTER(_StatesInfo)),
    "bf_states_absorb_axes": (c_int, c_void_p, _ARRAY, POINTER(c_int), c_int),
    "bf_states_absorb_segments": (c_int, c_void_p, _ARRAY, _ARRAY),
    "bf_states_absorb_index": (c_int, c_void_p, _ARRAY, _ARRAY),
    "bf_states_absorb_pair_axes": (c_int, c_void_p, _ARRAY, _ARRAY, POINTER(c_int), c_int),
    "bf_states_absorb_pair_segments": (c_int, c_void_p, _ARRAY, _ARRAY, _ARRAY),
    "bf_states_absorb_pair_index": (c_int, c_void_p, _ARRAY, _ARRAY, _ARRAY),
    "bf_states_seek": (c_int, c_void_p, _ARRAY),
    "bf_states_merge": (c_int, c_void_p, c_void_p),
    "bf_states_append": (c_int, c_void_p, c_void_p),
    "bf_states_description": (c_int, c_void_p, _OPTIONS, POINTER(_Descriptions)),
    "bf_states_result_of": (c_int, c_void_p, c_int, _OPTIONS, _ARRAY, _ARRAY),
    "bf_states_counts": (c_int, c_void_p, _ARRAY),
    "bf_states_save_size": (c_int, c_void_p, POINTER(c_size_t)),
    "bf_states_save": (c_int, c_void_p, c_char_p),
    "bf_states_load": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p)),
}  # fmt: skip
lib.declare(_SIGNATURES)


def _rules(op, name, empty, options):
    """Returns options of the library, and the dtype of their results."""
    from . import _number, _options

    rules = _options(**options)._obj
    number = lib.bf_reduce_dtype(_number(OPS, "operation", op), DTYPES[name], byref(rules))
    if not number:
        raise ArgumentError(f"there are no arrays of {op} of {name} with {options}")
    if empty is not None:
        rules.empty = ctypes.pointer(value_of(empty, NAMES[number]))
    return rules, NAMES[number]


def refuse_positions(op, null):
    """Refuses null="skip" where the result would be positions."""
    if null == "skip":
        raise ArgumentError(f"{op} with null='skip': positions would be those among the other elements")


def _run(call, op, x, views, shape, /, *, out=None, context=None, fits=False, empty=None, **options):
    """Calls the library for results of this shape (a function of the shape of the views), of the kind of
    x."""
    context = context or _default_context()
    rules, name = _rules(op, views[0].dtype, empty, options)
    first = views[0].array
    extents = shape(list(first.shape[: first.ndim]))
    target = Target(x, name, extents, out=out)
    beside = Target(x, "bool", extents) if fits else None
    call(
        context, [byref(view.array) for view in views], byref(rules), byref(target.array),
        byref(beside.array) if fits else None,
    )  # fmt: skip
    return (target.result(), beside.result()) if fits else target.result()


# ---- axes -----------------------------------------------------------------------------------------


def _axes(axis, ndim):
    """Returns the axes as they are given, without None, and as numbers from 0 where there are such."""
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    given = [whole(each, c_int) for each in given]
    return given, {each + ndim if each < 0 else each for each in given}


def _checked_axes(axis, ndim):
    """Returns the same of axes that there are, each given once."""
    given, reduced = _axes(axis, ndim)
    if len(reduced) < len(given) or not reduced <= {*range(ndim)}:
        raise ArgumentError(f"axis {axis} of an array of {ndim} dimensions")
    return given, reduced


def _left(extents, reduced, keepdims):
    """Returns the shape of the results along axes."""
    return [1 if d in reduced else n for d, n in enumerate(extents) if keepdims or d not in reduced]


def _call(way, op, *places):
    """Returns a function that calls the library to reduce one array, or two, in a way: "axes", "segments", "index"."""

    def call(context, views, rules, values, fits):
        function = getattr(lib, f"bf_reduce_{'pair_' if len(views) > 1 else ''}{way}")
        context._call(function, context._handle, OPS[op], *views, *places, rules, values, fits)

    return call


def reduce_axes(
    op, given, axis, keepdims, /, *, like=None, where=True, initial=None, null="error", **options
):
    """Reduces one array or two, each given with the dtype as which it is read, along axes. like: an array of whose
    kind the results are (None: the first)."""
    like = given[0][0] if like is None else like
    if where is not True or initial is not None:
        if op == "dot":
            refuse_unknown({"initial" if where is True else "where": where})
        return _reduce_chosen(op, given, like, axis, keepdims, where, initial, null, **options)
    views = views_of(null, *given)
    axes, reduced = _axes(axis, views[0].array.ndim)
    call = _call("axes", op, (c_int * len(axes))(*axes), len(axes))
    return _run(call, op, like, views, lambda extents: _left(extents, reduced, keepdims), **options)


def reduce_axes_to(ops, given, axis, keepdims, /, *, where=True, null="error", **options):
    """Returns the results along axes of several operations that keep the same sums: of long lines in one pass."""
    views = views_of(null, *given)
    extents = views[0].array.shape[: views[0].array.ndim]
    axes, reduced = _checked_axes(axis, len(extents))
    shape = _left(extents, reduced, keepdims)
    count = math.prod(shape)
    if where is not True or count == 0 or math.prod(extents) // count < LONG_LINE:
        return [reduce_axes(op, given, axis, keepdims, where=where, null=null, **options) for op in ops]
    states = States(ops[0], views[0].dtype, count, options.get("context"))
    states._absorb("axes", views, (c_int * len(axes))(*axes), len(axes))

    def call(op):
        return lambda _, views, rules, values, fits: states._call(
            lib.bf_states_result_of, OPS[op], rules, values, fits
        )

    return [_run(call(op), op, given[0][0], views, lambda _: shape, **options) for op in ops]


def _reduce_chosen(op, given, like, axis, keepdims, where, initial, null, **options):
    """Reduces along axes what where= selects, and initial=."""
    views, mask = masked(op, given, where, initial, null=null)
    shape = views[0].array.shape[: views[0].array.ndim]
    _, reduced = _checked_axes(axis, len(shape))
    offsets = [line_up(view, mask, reduced, initial) for view in views][0]
    segments = _call("segments", op, byref(View(offsets).array))

    def call(context, views, rules, values, fits):
        targets = [each._obj for each in (values, fits) if each]
        rooms = [new_result(NAMES[a.dtype], a.shape[: a.ndim]) for a in targets]
        lines = [byref(_in_line(room._array())) for room in rooms]
        segments(context, views, rules, lines[0], lines[1] if fits else None)
        for room, target in zip(rooms, targets):
            copy_array(room._array(), target)

    return _run(call, op, like, views, lambda _: _left(shape, reduced, keepdims), **options)


def _in_line(array):
    """Returns a contiguous array as one of one dimension."""
    line = Array(array.data, array.dtype, 1)
    line.shape[0], line.strides[0] = math.prod(array.shape[: array.ndim]), 1
    return line


# ---- segments and slots ---------------------------------------------------------------------------


def reduce_by(way, op, arrays, places, count, /, *, weights=None, dtype=None, null="error", **options):
    """Reduces one array or two by "segments" or "index"."""
    if op in ("argmin", "argmax"):
        refuse_positions(op, null)
    if weights is not None:
        op, arrays = weighted_op(op), [*arrays, weights]
    given = given_of(op, arrays, dtype)
    if way == "segments":
        views, places = segment_views_of(null, places, *given)
    else:
        *views, places = views_of(null, *given, (places, None))
    if places.array.ndim != 1:
        raise ShapeError(f"{way} of {places.array.ndim} dimensions, not one")
    first = places.array.shape[0] - 1 if count is None else whole(count)
    if first < 0:
        raise ShapeError("no offsets" if count is None else f"{count} slots")
    if first > SLOTS_MAX:
        raise ArgumentError(f"{first} slots: there may be {SLOTS_MAX}")
    call = _call(way, op, byref(places.array))
    return _run(call, op, arrays[0], views, lambda extents: [first, *extents[1:]], **options)


def _segment(op):
    def function(x, offsets, **options):
        return reduce_by("segments", op, [x], offsets, None, **options)

    return of_segments(op, function)


def _index(op):
    def function(m, index, values, **options):
        return reduce_by("index", op, [values], index, m, **options)

    return of_index(op, function)


for _op in REDUCTIONS:
    globals()[f"segment_{_op}"] = _segment(_op)
    globals()[name_by_index(_op)] = _index(_op)


def segment_dot(a, b, offsets, **options):
    """The dot product of each segment of a and b, which have one shape and dtype: m results for m + 1
    offsets.

    Errors: those of segment_sum; ShapeError and DtypeError (a and b differ).

    >>> a, b = numpy.array([1.0, 2, 3]), numpy.array([4.0, 5, 6])
    >>> bitfold.segment_dot(a, b, numpy.array([0, 1, 3]))
    array([ 4., 28.])
    """
    return reduce_by("segments", "dot", [a, b], offsets, None, **options)


def index_dot(m, index, a, b, **options):
    """The dot product of the rows of a and b of each of m slots: an array of shape (m, *a.shape[1:]).
    a and b have one shape and dtype.

    Errors: those of index_add; ShapeError and DtypeError (a and b differ).

    >>> a, b = numpy.array([1.0, 2, 3]), numpy.array([4.0, 5, 6])
    >>> bitfold.index_dot(2, numpy.array([1, 0, 1]), a, b)
    array([10., 22.])
    """
    return reduce_by("index", "dot", [a, b], index, m, **options)


# ---- runs -----------------------------------------------------------------------------------------


def reduce_runs(
    op, keys, x, *, pairs=False, dtype=None, context=None, fits=False, empty=None, **options
):
    """Reduces each run of equal neighbouring keys. Returns two arrays: the row where each run begins,
    so that keys[first] are their keys, and the results. keys: one for each index of the first axis of
    x; pairs=True: two words of uint64 for each.

    Errors: ShapeError (not one key for each row), RangeError (an integer result does not fit int64 or
    uint64).

    >>> bitfold.reduce_runs("sum", numpy.array([7, 7, 3, 7]), numpy.array([1.0, 2, 3, 4]))
    (array([0, 2, 3]), array([3., 3., 4.]))
    """
    context = context or _default_context()
    view, keys_view = View(x, dtype), _Elements(keys, "pair") if pairs else View(as_keys(keys))
    rules, name = _rules(op, view.dtype, empty, options)
    rows, further = keys_view.array.shape[0], list(view.array.shape[1 : view.array.ndim])
    first, values = Target(keys, "i64", [rows]), Target(x, name, [rows, *further])
    beside = Target(x, "bool", [rows, *further]) if fits else None
    runs = c_int64()
    context._call(
        lib.bf_reduce_runs, context._handle, OPS[op], byref(keys_view.array), byref(view.array),
        byref(rules), byref(first.array), byref(values.array),
        byref(beside.array) if fits else None, byref(runs),
    )  # fmt: skip
    made = (first, values, beside) if fits else (first, values)
    return tuple(each.made[: runs.value] for each in made)


def offsets_of_runs(keys, rows, context):
    """Returns the offsets of the runs of equal neighbouring keys, one for each row, as segments have them."""
    view, runs = View(as_keys(keys)), c_int64()
    if view.array.ndim != 1 or view.array.shape[0] != rows:
        raise ShapeError("there is not one key for each row")
    offsets = (c_int64 * (rows + 1))()
    first = View(memoryview(offsets)[:rows])
    context._call(
        lib.bf_reduce_runs, context._handle, 0, byref(view.array), None, None, byref(first.array), None, None,
        byref(runs),
    )  # fmt: skip
    offsets[runs.value] = rows
    return memoryview(offsets)[: runs.value + 1]


# ---- states ---------------------------------------------------------------------------------------


def _destroy(handle, context):
    """Destroys states. Its argument keeps their context alive until then."""
    lib.bf_states_destroy(handle)


class States(Mergeable):
    """`count` reductions in progress, of one operation and dtype: what State is for one. They absorb
    chunks, merge with others, and give the bits of one call over all the data.

    op: any reduction; of pairs ("dot", "cov" and so on, see State) the absorb methods take both arrays, of "describe"
    result() returns a dict of arrays. argmin, argmax, describe and prod of floats are ordered: chunks come in turn, and
    seek() says where a part begins that does not start at index 0.

    Errors: DtypeError, ShapeError (arrays that do not fit the states), ArgumentError (an index or offsets
    outside), StateError (merge: of another op, dtype or number, or their indices do not suit),
    EmptyError and RangeError (result: a state has none, or it is too large).

    >>> s = bitfold.States("sum", "f32", 3)
    >>> for day in (numpy.array([1, 2], "f4"), numpy.array([4, 8], "f4")):
    ...     s = s.absorb_index(day, numpy.array([2, 0]))
    >>> s.result()
    array([10.,  0.,  5.])
    """

    def __init__(self, op, dtype, count, context=None):
        from . import _number

        self._open(context)
        self.op, self.dtype = op, dtype_name(dtype)
        self._context._call(
            lib.bf_states_create, self._context._handle, _number(OPS, "operation", op),
            DTYPES[self.dtype], whole(count), byref(self._handle),
        )  # fmt: skip

    def _open(self, context):
        self._context = context or _default_context()
        self._handle = c_void_p()
        weakref.finalize(self, _destroy, self._handle, self._context)

    def __len__(self):
        return lib.bf_states_count(self._handle)

    def _call(self, function, *arguments):
        self._context._call(function, self._handle, *arguments)
        return self

    def _dtype(self, x, dtype):
        return dtype_for(x, self.dtype, dtype)

    def _given(self, x, y, dtype, null):
        """Returns the arrays of a chunk with their dtypes."""
        if self.op in ("argmin", "argmax", "describe"):
            refuse_positions(self.op, null)
        return [(each, self._dtype(each, dtype)) for each in ([x] if y is None else [x, y])]

    def _absorb(self, way, views, *arguments):
        name = f"bf_states_absorb_{'pair_' if len(views) > 1 else ''}{way}"
        return self._call(getattr(lib, name), *(byref(view.array) for view in views), *arguments)

    def absorb(self, x, axis=None, *, y=None, dtype=None, null="error"):
        """Absorbs an array along these axes (None: all): fibre f into state f. y: of pairs, the other
        array. Returns the states."""
        views = views_of(null, *self._given(x, y, dtype, null))
        given, _ = _axes(axis, views[0].array.ndim)
        return self._absorb("axes", views, (c_int * len(given))(*given), len(given))

    def absorb_segments(self, x, offsets, *, y=None, dtype=None, null="error"):
        """Absorbs the rows of each segment: of segment s, whose rows have `width` elements, into the
        states s * width to (s + 1) * width - 1. y: as of absorb. Returns the states."""
        views, places = segment_views_of(null, offsets, *self._given(x, y, dtype, null))
        return self._absorb("segments", views, byref(places.array))

    def absorb_index(self, x, index, *, y=None, dtype=None, null="error"):
        """Absorbs row i of x into slot index[i]: the states index[i] * width and on. y: as of absorb.
        Returns the states."""
        *views, places = views_of(null, *self._given(x, y, dtype, null), (index, None))
        return self._absorb("index", views, byref(places.array))

    def seek(self, index):
        """Sets the index of the next element of each ordered state: a number, or one for each; of prod of
        floats multiples of 4096. Returns the states.

        >>> part = bitfold.States("argmax", "i64", 2).seek(1000)
        >>> part.absorb(numpy.array([[3, 1], [2, 4]]), 0).result()
        array([1000, 1001])
        """
        if not hasattr(index, "__len__"):
            index = [whole(index)] * len(self)
        values = (c_int64 * len(self))()
        if len(index) != len(self):
            raise ShapeError(f"{len(index)} indices for {len(self)} states")
        values[:] = [whole(each) for each in index]
        array = Array(ctypes.addressof(values), DTYPES["i64"], 1)
        array.shape[0], array.strides[0] = len(self), 1
        return self._call(lib.bf_states_seek, byref(array))

    def merge(self, other):
        """Merges other states of the same kind, each into that of its number. Returns the states."""
        return self._joined(lib.bf_states_merge, other)

    def append(self, other):
        """Merges states of data that follow: each index of theirs counts from the next one of these.
        Returns the states."""
        return self._joined(lib.bf_states_append, other)

    def _joined(self, function, other):
        self._require_kind(other)
        self._context._call_with(other._context, function, self._handle, other._handle)
        return self

    def clear(self):
        """Makes all states empty. Returns the states."""
        return self._call(lib.bf_states_clear)

    def result(self, shape=None, *, op=None, like=None, fits=False, empty=None, **options):
        """Returns the values so far, in any shape that has as many elements (None: one dimension). op:
        another operation that keeps the same sums, as "slope" and "corr" do. like: an array of CuPy or
        PyTorch in whose kind of memory they shall be. Options are those of bitfold.sum. The states can
        absorb more.

        >>> line = bitfold.States("slope", "f64", 1).absorb(numpy.array([0.0, 1, 2]), y=numpy.array([1.0, 3, 5]))
        >>> line.result(), line.result(op="intercept")
        (array([2.]), array([1.]))

        Of "describe": a dict of arrays by the names of a Description. Where there is no extreme, it is 0
        and its index -1.
        """
        shape = [len(self)] if shape is None else [whole(extent) for extent in shape]
        if self.op == "describe":
            return self._description(shape, like, options)
        op = self.op if op is None else op
        rules, name = _rules(op, self.dtype, empty, options)
        values = Target(like, name, shape)
        beside = Target(like, "bool", shape) if fits else None
        self._call(
            lib.bf_states_result_of, OPS[op], byref(rules), byref(values.array),
            byref(beside.array) if fits else None,
        )  # fmt: skip
        return (values.result(), beside.result()) if fits else values.result()

    def _description(self, shape, like, options):
        from . import _options

        rules, arrays = _options(**options), sized(_Descriptions)
        targets = {}
        for name in _COUNTS + _DESCRIBED:
            own = {**options, "out_dtype": None} if name in _DESCRIBED[:4] else options
            dtype = "i64" if name in _COUNTS else _rules(name, self.dtype, None, own)[1]
            targets[name] = Target(like, dtype, shape)
            setattr(arrays, name, ctypes.pointer(targets[name].array))
        self._call(lib.bf_states_description, rules, byref(arrays))
        return {name: target.result() for name, target in targets.items()}

    def counts(self):
        """Returns how many elements each state has absorbed."""
        counts = Target(None, "i64", [len(self)])
        self._call(lib.bf_states_counts, byref(counts.array))
        return counts.made

    def save(self):
        """Returns the states as bytes: portable, with a version and a checksum. Equal states give
        equal bytes."""
        size = c_size_t()
        with self._context._lock:
            self._call(lib.bf_states_save_size, byref(size))
            data = ctypes.create_string_buffer(size.value)
            self._call(lib.bf_states_save, data)
        return data.raw

    @classmethod
    def load(cls, data, context=None):
        """Returns the states that save() wrote. Other bytes raise StateError."""
        states, data = cls.__new__(cls), bytes(data)
        states._open(context)
        states._context._call(
            lib.bf_states_load, states._context._handle, data, len(data), byref(states._handle)
        )
        info = sized(_StatesInfo)
        states._call(lib.bf_states_describe, byref(info))
        states.op = next(name for name, number in OPS.items() if number == info.op)
        states.dtype = NAMES[info.dtype]
        return states
