"""What groups choose of their values: the first, the last and the most frequent one; how many are different."""

from array import array
from itertools import accumulate

from ._arrays import View
from ._keys import Memory, Numbers, Words, picked, picked_of
from ._library import DTYPES
from ._map import map as map_array
from ._order import argsort, sort_rows, unique


def ends_of_groups(numbers, values, counts, last, context):
    """Returns the first or the last value of each group of counted rows. numbers: of the group of each row; both
    are contiguous and without NULLs."""
    ends = array("q", accumulate(counts.tolist(), initial=0))
    places = map_array("sub", ends[1:], 1) if last else ends[:-1]
    rows = View(argsort(Memory(numbers.array), context=context))
    return picked_of(values.array, picked_of(rows.array, places))


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
    best = segment_argmax(counts, offsets, context=context)
    return words.values(1, picked(order, map_array("add", best, offsets[:-1])))
