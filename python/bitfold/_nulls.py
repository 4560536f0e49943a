"""Calls on several arrays, of which some are columns of Arrow with NULLs: null="skip" leaves out each row
in which one is NULL."""

import array
import ctypes
import itertools
from ctypes import byref, c_int64, c_void_p

from ._arrays import NAMES, SIZES, View, _cuda_interface
from ._exchange import KEEP, _call, _Column, _line, _Schema, compact
from ._library import ArgumentError, ShapeError, lib
from ._result import _RELEASE


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
