"""Calls on several arrays, of which some are columns of Arrow with NULLs: null="skip" leaves out each row
in which one is NULL."""

import array
import ctypes
import itertools
from ctypes import byref, c_int64, c_void_p

from ._arrays import SIZES, View, _cuda_interface
from ._exchange import KEEP, _call, _Column, _Schema, compact
from ._library import ArgumentError, ShapeError, lib
from ._result import _RELEASE


def views_of(null, *given):
    """Returns views of arrays, given as pairs of one and its dtype or None, without the rows to skip."""
    if null != "skip" or len(given) == 1:
        return [View(x, dtype, null) for x, dtype in given]
    views, valid = _whole_views(given)
    return views if valid is None else _compacted(views, valid)


def segment_views_of(null, offsets, *given):
    """Returns views of arrays as views_of does, and one of the offsets of their segments, which move by
    the rows before them that are left out."""
    if null != "skip":
        return [View(x, dtype, null) for x, dtype in given], View(offsets)
    views, valid = _whole_views(given)
    if valid is None:
        return views, View(offsets)
    return _compacted(views, valid), View(_moved(offsets, valid))


def _whole_views(given):
    """Returns views with their NULLs, and an array of bools, true for the rows without any; None: all are
    so."""
    from . import map

    views = [View(x, dtype, KEEP) for x, dtype in given]
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


def _compacted(views, valid):
    """Replaces the arrays of views by copies of their valid rows. Returns the views."""
    schema, packed = _Schema(), _Column()
    mask = View(valid)
    _call(
        lib.bf_array_to_arrow, byref(mask.array), _RELEASE(), None, byref(schema), byref(packed)
    )
    bits = (c_void_p * 2).from_address(packed.buffers)[1]
    try:
        for view in views:
            view.array, view._copy = compact(view.array, bits, SIZES[view.dtype])
    finally:
        packed.release(byref(packed))
    return views


def _moved(offsets, valid):
    """Returns the offsets of the same segments among the valid rows."""
    from . import segment_sum, sum

    if _cuda_interface(offsets) is not None:
        raise ArgumentError("null='skip' goes with offsets in the host's memory")
    counts, view = segment_sum(valid, offsets), View(offsets)
    first = (c_int64 if view.dtype == "i64" else ctypes.c_int32)()
    _call(lib.bf_memory_copy, byref(first), view.array.data, ctypes.sizeof(first))  # of any memory
    if not 0 <= first.value <= len(valid):
        raise ArgumentError(f"the first offset is {first.value}, of {len(valid)} rows")
    before = sum((ctypes.c_bool * first.value).from_buffer(valid))
    return array.array("q", itertools.accumulate(counts.tolist(), initial=before))
