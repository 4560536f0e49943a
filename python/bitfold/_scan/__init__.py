"""Scans (scan.h): the reduction of every prefix; and rolling windows."""

import ctypes
from ctypes import POINTER, byref, c_int, c_size_t, c_void_p

from .._arrays import NAMES, SIZES, Target, View, dtype_name, value_of
from .._axis import States, offsets_of_runs
from .._library import (
    CHECKS, DTYPES, NAN_POLICIES, OPS, OVERFLOW_POLICIES, Array, ArgumentError, DtypeError, StateError, Value, lib,
)  # fmt: skip
from .._map import _default_context, copy_array
from .._order._calls import _lines
from .._times import elements, takes_times
from ._rolling import Rolling, expanding, rolling

__all__ = ["cumulative_sum", "cumulative_prod", "cumulative_min", "cumulative_max", "expanding", "rolling", "Rolling"]


class _Options(ctypes.Structure):
    """bf_scan_options"""

    _fields_ = [
        ("size", c_size_t), ("nan", c_int), ("out_dtype", c_int), ("overflow", c_int),
        ("empty", POINTER(Value)), ("exclusive", c_int), ("reverse", c_int), ("fresh", c_int), ("later", c_int),
    ]  # fmt: skip


lib.declare(
    {
        "bf_scan_dtype": (c_int, c_int, c_int, POINTER(_Options)),
        "bf_scan": (c_int, c_void_p, c_int, POINTER(Array), c_int, POINTER(_Options), POINTER(Array)),
        "bf_state_scan": (c_int, c_void_p, POINTER(Array), POINTER(_Options), POINTER(Array)),
        "bf_states_scan": (c_int, c_void_p, POINTER(Array), c_int, POINTER(_Options), POINTER(Array)),
        "bf_states_scan_segments": (c_int, c_void_p, *[POINTER(Array)] * 2, POINTER(_Options), POINTER(Array)),
        "bf_scan_segments": (c_int, c_void_p, c_int, *[POINTER(Array)] * 2, POINTER(_Options), POINTER(Array)),
    }
)


def _options(name, exclusive, reverse, nan, out_dtype=None, overflow="error", empty=None):
    from .. import _number

    options = _Options(
        ctypes.sizeof(_Options), _number(NAN_POLICIES, "nan policy", nan),
        DTYPES[dtype_name(out_dtype)] if out_dtype is not None else 0,
        _number(OVERFLOW_POLICIES, "overflow policy", overflow),
    )  # fmt: skip
    options.exclusive, options.reverse = bool(exclusive), bool(reverse)
    if empty is not None:
        options.empty = ctypes.pointer(value_of(empty, name))
    return options


def _part(array, axis, first, count):
    """Returns these elements along an axis."""
    part = Array.from_buffer_copy(array)
    part.data = (array.data or 0) + first * array.strides[axis] * SIZES[NAMES[array.dtype]]
    part.shape[axis] = count
    return part


def _write_initial(target, axis, reverse, number, name):
    """Writes the result of nothing to the end of each line where prefixes begin; returns the other part."""
    count = target.array.shape[axis] - 1
    value = value_of(number, name)
    edge = _part(target.array, axis, count if reverse else 0, 1)
    initial = Array.from_buffer_copy(edge)
    initial.data = ctypes.addressof(value.as_)
    for d in range(initial.ndim):
        initial.strides[d] = 0
    copy_array(initial, edge)
    return _part(target.array, axis, 0 if reverse else 1, count)


def _refuse_both(axis, initial, offsets, by, after):
    """Refuses forms of a line that do not go together."""
    many, cut = isinstance(after, States), offsets is not None or by is not None
    if (offsets is not None and by is not None) or (cut and after is not None and not many):
        raise ArgumentError("offsets=, by= and after= say where sums begin: give one")
    if (axis not in (None, 0) and (cut or not many)) or initial is not None:
        raise ArgumentError("segments and what follows a state go along the first axis, without include_initial")


def _scan_after(state, op, view, where, *arguments):
    """where: the axis, and a view of offsets or None."""
    many, (axis, cut) = isinstance(state, States), where
    own = state.op if many else state.info().op
    if own != op:
        raise StateError(f"a cumulative_{op} goes on after a state of {op}, not of {own}")
    if view.scale is not None:
        raise DtypeError("no decimals go on after a state")
    function = lib.bf_states_scan_segments if cut else lib.bf_states_scan if many else lib.bf_state_scan
    given = [byref(cut.array)] if cut else [axis] if many else []
    state._context._call(function, state._handle, byref(view.array), *given, *arguments)


def _cut_of(view, offsets, by, context):
    """Returns a view of the offsets of segments; None: there are none."""
    if offsets is None and by is None:
        return None
    return View(offsets_of_runs(by, view.array.shape[0], context) if offsets is None else offsets)


def _scan(op, x, axis, dtype, context, out, offsets, by, after, check, initial=None, **options):
    from .. import _number

    _number(CHECKS, "check", check)  # what Python calls has been checked when it returns
    context = after._context if after is not None else context or _default_context()
    cut = offsets is not None or by is not None
    if cut or after is not None:
        _refuse_both(axis, initial, offsets, by, after)
    view, along, shape = _lines(x, 0 if cut else axis, dtype)
    rules = _options(view.dtype, **options)
    rules.fresh = out is None
    number = lib.bf_scan_dtype(OPS[op], DTYPES[view.dtype], byref(rules))
    if not number:
        raise DtypeError(f"there is no cumulative_{op} of {view.dtype} with {options}")
    name = NAMES[number]
    if not -len(shape) <= along < len(shape):
        raise ArgumentError(f"axis {along} of an array of {len(shape)} dimensions")
    along %= len(shape)
    if initial is not None:
        if view.scale or name == "i128":
            raise DtypeError("include_initial is not for decimals and i128")
        shape[along] += 1
    target = Target(x, name, shape, view.scale, out)
    to = target.array
    if initial is not None:
        to = _write_initial(target, along, rules.reverse, initial, name)
    cut = _cut_of(view, offsets, by, context)
    if after is not None:
        _scan_after(after, op, view, (along, cut), byref(rules), byref(to))
    elif cut:
        context._call(
            lib.bf_scan_segments, context._handle, OPS[op], byref(view.array), byref(cut.array), byref(rules), byref(to)
        )
    else:
        context._call(lib.bf_scan, context._handle, OPS[op], byref(view.array), along, byref(rules), byref(to))
    return target.made


def cumulative_sum(
    x, *, axis=None, include_initial=False, exclusive=False, reverse=False, nan="propagate", overflow="error",
    out_dtype=None, offsets=None, by=None, after=None, out=None, dtype=None, check="now", context=None,
):  # fmt: skip
    """Returns the sum of the elements up to each one along axis (None: all elements as one line).

    Each is the exact sum, whatever came before it: of floats rounded once, to x's dtype or out_dtype; of
    integers int64 or uint64. exclusive: the sum of those before the element. reverse: of those from it on.
    include_initial: one more, 0, where the sums begin. nan="skip": a NaN repeats the sum before it.
    overflow="wrap": integers modulo 2^64. out may be x. check: as of reductions.

    The sums begin again with each segment of rows x[offsets[s]:offsets[s + 1]], or with each run of equal
    neighbouring keys in by, one for each row; offsets go from 0 to the number of rows. x is in the host's memory then.
    after: a State of sums, behind whose elements those of x come; it absorbs them, so that chunks follow each other.
    States have one for each line along axis, or for each element of a row of each segment.

    Errors: RangeError (a sum does not fit), ArgumentError (x has no such axis; offsets that decrease or are not those
    of x), ShapeError (not one key for each row), NanError (a NaN under nan="error"), StateError (a state of something
    else).

    >>> bitfold.cumulative_sum(numpy.array([1e20, 1, -1e20]))
    array([1.e+20, 1.e+20, 1.e+00])
    >>> bitfold.cumulative_sum(numpy.array([[1, 2], [3, 4]]), axis=1, include_initial=True)
    array([[0, 1, 3],
           [0, 3, 7]])
    >>> bitfold.cumulative_sum(numpy.array([1, 2, 3, 4]), offsets=numpy.array([0, 1, 4]))
    array([1, 2, 5, 9])
    >>> bitfold.cumulative_sum(numpy.array([1, 2, 3, 4]), by=numpy.array([7, 7, 3, 7]))
    array([1, 3, 3, 4])
    >>> state = bitfold.State("sum", "f64")
    >>> [bitfold.cumulative_sum(chunk, after=state) for chunk in (numpy.array([1e20, 1]), numpy.array([-1e20, 2]))]
    [array([1.e+20, 1.e+20]), array([1., 3.])]
    >>> states = bitfold.States("sum", "i64", 2)
    >>> [bitfold.cumulative_sum(numpy.array(rows), axis=0, after=states).tolist() for rows in ([[1, 2], [3, 4]], [[5, 6]])]
    [[[1, 2], [4, 6]], [[9, 12]]]
    """
    return _scan(
        "sum", x, axis, dtype, context, out, offsets, by, after, check, 0 if include_initial else None, exclusive=exclusive, reverse=reverse,
        nan=nan, overflow=overflow, out_dtype=out_dtype,
    )  # fmt: skip


def cumulative_prod(
    x, *, axis=None, include_initial=False, exclusive=False, reverse=False, overflow="error", offsets=None, by=None,
    after=None, out=None, dtype=None, check="now", context=None,
):  # fmt: skip
    """Returns the product of the integers up to each one along axis, as cumulative_sum does: int64 or uint64.
    include_initial adds a 1.

    Errors: those of cumulative_sum; DtypeError (floats).

    >>> bitfold.cumulative_prod(numpy.arange(1, 6))
    array([  1,   2,   6,  24, 120])
    """
    return _scan(
        "prod", x, axis, dtype, context, out, offsets, by, after, check, 1 if include_initial else None, exclusive=exclusive, reverse=reverse,
        nan="propagate", overflow=overflow,
    )  # fmt: skip


@takes_times(elements)
def cumulative_min(
    x, *, axis=None, exclusive=False, reverse=False, nan="propagate", empty=None, offsets=None, by=None, after=None,
    out=None, dtype=None, check="now", context=None,
):  # fmt: skip
    """Returns the least of the elements up to each one along axis, as cumulative_sum does; -0 is less than 0.
    empty: the least of none.

    Errors: those of cumulative_sum; EmptyError (the least of none, and no empty=).

    >>> bitfold.cumulative_min(numpy.array([3.0, 5, 2, 4]))
    array([3., 3., 2., 2.])
    """
    return _scan(
        "min", x, axis, dtype, context, out, offsets, by, after, check, exclusive=exclusive, reverse=reverse, nan=nan, empty=empty
    )


@takes_times(elements)
def cumulative_max(
    x, *, axis=None, exclusive=False, reverse=False, nan="propagate", empty=None, offsets=None, by=None, after=None,
    out=None, dtype=None, check="now", context=None,
):  # fmt: skip
    """Returns the greatest of the elements up to each one along axis, as cumulative_min does the least.

    Errors: those of cumulative_min.

    >>> bitfold.cumulative_max(numpy.array([3.0, 5, 2, 9]), reverse=True)
    array([9., 9., 9., 9.])
    """
    return _scan(
        "max", x, axis, dtype, context, out, offsets, by, after, check, exclusive=exclusive, reverse=reverse, nan=nan, empty=empty
    )
