"""What groups choose of their values: the first, the last and the most frequent one; how many are different."""

import ctypes
from array import array
from itertools import accumulate

from ._arrays import NAMES, SIZES, View
from ._keys import Memory, Numbers, Words
from ._library import DTYPES
from ._order import argsort, sort_rows, unique
from ._result import new_result

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q", 16: "Q"}


def _picked(x, places):
    """Returns the elements of a bf_array of one dimension, contiguous, at these places, and 0 where one is -1."""
    dtype, n = NAMES[x.dtype], x.shape[0]
    result, words, code = new_result(dtype, [len(places)]), 2 if dtype == "i128" else 1, _CODES[SIZES[dtype]]
    view = memoryview((ctypes.c_ubyte * (n * SIZES[dtype])).from_address(x.data or 0)).cast("B").cast(code)
    found = array(code, (view[words * at + k] if at >= 0 else 0 for at in places for k in range(words)))
    ctypes.memmove(result._address, found.buffer_info()[0], len(found) * found.itemsize)
    return result


def picked(made, places):
    """Returns the elements of a Result at these places, and 0 where a place is -1."""
    return _picked(made._array(), places)


def ends_of_groups(numbers, values, counts, last, context):
    """Returns the first or the last value of each group of counted rows. numbers: of the group of each row; both
    are contiguous and without NULLs."""
    ends = list(accumulate(counts.tolist(), initial=0))
    places = [end - 1 for end in ends[1:]] if last else ends[:-1]
    rows = View(argsort(Memory(numbers.array), context=context))
    return _picked(values.array, _picked(rows.array, places).tolist())


def counted_of_groups(numbers, values, most, context):
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
    best = segment_argmax(counts, offsets, context=context).tolist()
    return words.values(1, picked(order, [at + first for at, first in zip(best, offsets)]))
