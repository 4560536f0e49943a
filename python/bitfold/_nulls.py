"""Elements that do not count: null="skip" leaves out each row in which an array, a column of Arrow, is NULL,
and where= what is false in a mask."""

import array
import ctypes
import itertools
import math
from ctypes import byref, c_int64, c_void_p

from ._arrays import NAMES, SIZES, View, _cuda_interface, in_units
from ._exchange import KEEP, _call, _Column, _line, _Schema, compact
from ._expression import _stretched
from ._library import DTYPES, I128, Array, ArgumentError, DtypeError, RangeError, ShapeError, lib
from ._map import _broadcast, copy_array
from ._result import _RELEASE, new_result


def views_of(null, *given, decimals=False):
    """Returns views of arrays, given as pairs of one and its dtype or None, without the rows to skip."""
    if null != "skip" or len(given) == 1:
        return [View(x, dtype, null, decimals) for x, dtype in given]
    views, valid = whole_views(given, decimals)
    return views if valid is None else compacted(views, valid)


def refuse_scales(views):
    """Refuses arrays that are compared, but whose integers are in different units."""
    scales = [view.scale or 0 for view in views]
    if len(set(scales)) > 1:
        raise ArgumentError(f"decimals of scale {', '.join(map(str, scales))}")


def segment_views_of(null, offsets, *given, decimals=False):
    """Returns views of arrays as views_of does, and one of the offsets of their segments, which move by
    the rows before them that are left out."""
    if null != "skip":
        return [View(x, dtype, null, decimals) for x, dtype in given], View(offsets)
    views, valid = whole_views(given, decimals)
    if valid is None:
        return views, View(offsets)
    return compacted(views, valid), View(_moved(offsets, valid))


def whole_views(given, decimals=False):
    """Returns views with their NULLs, and an array of bools, true for the rows without any; None: all are
    so."""
    from . import map

    views = [View(x, dtype, KEEP, decimals) for x, dtype in given]
    masks = [view.valid for view in views if view.valid is not None]
    if not masks:
        return views, None
    for view in views:
        if view.array.ndim != 1 or view.array.shape[0] != len(masks[0]):
            raise ShapeError("null='skip' goes with arrays of one dimension and one length")
        if view.array.shape[0] > 1 and view.array.strides[0] != 1:
            raise ShapeError("null='skip' goes with contiguous arrays")
    valid = masks[0]
    for mask in masks[1:]:
        valid = map("min", valid, mask)
    return views, valid


def absorb_valid(state, view, valid):
    """Absorbs the valid rows of an array into a state of "describe"; their indices count all rows. Returns
    the state. The index matters of few elements alone: from each of these on, the rows are absorbed
    without those between them that are left out, which moves no later one of the few."""
    from . import State

    kind = state.info()
    compacted([view], valid)
    n, first, end = view.array.shape[0], kind.next, kind.next + len(valid)
    part = State("describe", kind.dtype, state._context, kind.scale)
    ranks = _indexed_of(State("describe", kind.dtype, state._context), view.array)
    for (rank, row), after in zip(_rows_of(valid, ranks), [*ranks[1:], n]):
        _absorb_slice(part.seek(first + row), view.array, rank, after)
    part.seek(end)
    return state.merge(part).seek(end)


def _absorb_slice(state, x, begin, end):
    at = x.data + begin * SIZES[NAMES[x.dtype]]
    state._context._call(lib.bf_state_absorb, state._handle, byref(_line(at, x.dtype, end - begin)))
    return state


def _indexed_of(empty, x):
    """Returns the elements whose indices a state of "describe" keeps: the first, NaN, least, greatest."""
    _absorb_slice(empty, x, 0, x.shape[0])
    plain, finite = empty.result(), empty.result(nan="skip")
    return sorted({0, plain.argmin, finite.argmin, finite.argmax} - {None})


def _rows_of(valid, ranks):
    """Yields, for ascending numbers of valid rows, each with its place among all rows."""
    from . import sum

    flags, at, before = memoryview(valid), 0, 0
    for rank in ranks:
        end = len(flags)
        while end - at > 1:  # row `rank` is in [at, end), behind `before` valid rows
            middle = (at + end) // 2
            count = sum(flags[at:middle])
            if rank < before + count:
                end = middle
            else:
                at, before = middle, before + count
        yield rank, at


class _Bits:
    """An array of bools, packed into bits, as Arrow has them."""

    def __init__(self, valid):
        self._schema, self._column, mask = _Schema(), _Column(), View(valid)
        _call(
            lib.bf_array_to_arrow, byref(mask.array), _RELEASE(), None, byref(self._schema),
            byref(self._column),
        )  # fmt: skip
        self.address = (c_void_p * 2).from_address(self._column.buffers)[1]

    def __del__(self):
        if self._column.release:
            self._column.release(byref(self._column))


def pack_bits(valid):
    """Returns where the bits of an array of bools are, and what keeps them."""
    bits = _Bits(valid)
    return bits.address, bits


def compacted(views, valid):
    """Replaces the arrays of views by copies of their valid rows. Returns the views."""
    bits = _Bits(valid)
    for view in views:
        view.array, view._copy = compact(view.array, bits.address, SIZES[view.dtype])
    return views


def _moved(offsets, valid):
    """Returns the offsets of the same segments among the valid rows."""
    from . import segment_sum, sum

    if _cuda_interface(offsets) is not None:
        raise ArgumentError("null='skip' goes with offsets in the host's memory")
    counts, view = segment_sum(valid, offsets), View(offsets)
    first = (c_int64 if view.dtype == "i64" else ctypes.c_int32)()
    _call(lib.bf_memory_copy, byref(first), view.array.data, ctypes.sizeof(first))  # it may be any memory
    if not 0 <= first.value <= len(valid):
        raise ArgumentError(f"the first offset is {first.value}, of {len(valid)} rows")
    before = sum((ctypes.c_bool * first.value).from_buffer(valid))
    return array.array("q", itertools.accumulate(counts.tolist(), initial=before))


# ---- where= and initial= --------------------------------------------------------------------------


def masked(op, given, where, initial, /, *, null, decimals=False):
    """Returns views of arrays of one shape, each given with its dtype, and one of the bools that say which of their
    elements count (None: all do): where=, which broadcasts to them, but for what null="skip" leaves out. initial: see
    line_up."""
    from . import map

    if initial is not None and op not in ("sum", "prod", "min", "max"):
        raise ArgumentError(f"{op} has no initial=: sum, prod, min and max have")
    if op in ("argmin", "argmax"):
        raise ArgumentError(f"{op} has no where=: positions would be those among the other elements")
    refuse_gpus(where, *(x for x, _ in given))
    if null == "skip":
        views, valid = whole_views(given, decimals)
        where = where if valid is None else map("min", valid, where)
    else:
        views = [View(x, dtype, null, decimals) for x, dtype in given]
    shape, *others = (view.array.shape[: view.array.ndim] for view in views)
    if others and others[0] != shape:
        raise ShapeError(f"arrays of shape {shape} and {others[0]}")
    if where is True:
        return views, None
    mask = View(where)
    if mask.dtype != "bool":
        raise DtypeError(f"where= is an array of bools, not of {mask.dtype}")
    if _broadcast([views[0], mask]) != shape:
        raise ShapeError(f"where= of shape {mask.array.shape[: mask.array.ndim]} for an array of shape {shape}")
    return views, mask


def refuse_gpus(*arrays):
    """Refuses arrays of a GPU where copies of elements are made."""
    if any(_cuda_interface(x) is not None for x in arrays):
        raise ArgumentError("where= and initial= go with arrays in the host's memory")


def line_up(view, mask, reduced, initial=None, scale=0):
    """Makes the array of a view a line of the elements that count, in which the fibres along the axes `reduced`
    follow each other. initial: an element before those of each, or None. Returns the offsets of the fibres."""
    shape = view.array.shape[: view.array.ndim]
    axes = [d for d in range(len(shape)) if d not in reduced], sorted(reduced)
    first = None if initial is None else _first(initial, view, scale)
    view.array, view._copy, offsets = _fibres(view.array, *axes, first)
    if mask is None:
        return offsets
    _, flags, _ = _fibres(_stretched(mask.array, shape), *axes, first and View(True), copy=True)
    compacted([view], flags)
    return _moved(offsets, flags)


def _first(initial, view, scale):
    """Returns a view of a number as an element of the array of a view."""
    try:
        first = View([in_units(initial, view.dtype, view.scale or scale)], view.dtype)
    except RangeError:
        raise RangeError(f"initial={initial} is no {view.dtype}, as the array's elements are") from None
    if first.array.ndim > 1:
        raise ArgumentError("initial= is a number")
    return first


def _fibres(x, kept, reduced, first, copy=False):
    """Returns a line in which an array's fibres along the axes `reduced` follow each other, each behind the element
    `first`, if there is one; the memory of this copy (None: the array's own will do); and the fibres' offsets."""
    count, length = (math.prod(x.shape[d] for d in axes) for axes in (kept, reduced))
    name, step = NAMES[x.dtype], length + (first is not None)
    offsets = array.array("q", (i * step for i in range(count + 1)))
    if not copy and first is None and _is_line(x, [*kept, *reduced]):
        return _line(x.data, x.dtype, count * step), None, offsets
    made = new_result(name, [count * step])
    given = Array(x.data, x.dtype, x.ndim)
    room = Array(made._address + (step - length) * SIZES[name], x.dtype, x.ndim)
    stride = 1
    for i, d in reversed([*enumerate([*kept, *reduced])]):
        stride = step if i == len(kept) - 1 else stride
        given.shape[i] = room.shape[i] = x.shape[d]
        given.strides[i], room.strides[i] = x.strides[d], stride
        stride *= x.shape[d]
    _copy(given, room)
    if first is not None:
        column = _line(made._address, x.dtype, count)
        column.strides[0] = step
        _copy(_stretched(first.array, [count]), column)
    return _line(made._address, x.dtype, count * step), made, offsets


def _is_line(x, order):
    """Whether the elements of an array, of which the axes come in this order, follow each other."""
    step = 1
    for d in reversed(order):
        if x.shape[d] > 1 and x.strides[d] != step:
            return False
        step *= x.shape[d]
    return True


def _copy(x, room):
    """Copies an array to another of its shape. Elements of 128 bits are two words."""
    if x.dtype == I128:
        x, room = _as_words(x), _as_words(room)
    copy_array(x, room)


def _as_words(x):
    words = Array(x.data, DTYPES["u64"], x.ndim + 1)
    for d in range(x.ndim):
        words.shape[d], words.strides[d] = x.shape[d], 2 * x.strides[d]
    words.shape[x.ndim], words.strides[x.ndim] = 2, 1
    return words
