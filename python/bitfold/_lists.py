"""Lists, tuples, ranges and numbers of Python as memory, with the exact value of each element."""

import ctypes
import sys
from array import array
from itertools import chain

from ._dtypes import SIZES, dtype_in
from ._exchange import KEEP, _line
from ._library import DTYPES, MAX_DIMS, DtypeError, RangeError, ShapeError

_ROWS = list, tuple, range


def is_list(x):
    """Whether x is a list, a tuple, a range or a number of Python, whose elements have no memory."""
    return isinstance(x, _ROWS) or type(x) in (bool, int, float)


def memory_of(x, wanted=None):
    """Returns the dtype of a list, nested or not, its address, its shape and what holds it. The dtype is
    `wanted`; or as in NumPy, f64 if there are floats or no elements, else i64, u64 or i128, or bool."""
    numbers, shape = _numbers_of(x)
    kinds = set(map(type, numbers))
    for kind in kinds - {bool, int, float}:
        raise DtypeError(f"elements of a list are ints, floats or bools, not {kind.__name__!r}{_hint(kind)}")
    if wanted == "i128" and float not in kinds:
        name, memory = wanted, wide_ints(numbers)
    elif "f" in (wanted or "") or float in kinds or not kinds:
        name, memory = "f64", _floats(numbers)
    else:
        name, memory = ("bool", array("b", numbers)) if kinds == {bool} else _ints(numbers)
    if wanted not in (None, name):
        memory = _converted(numbers, name, memory, wanted)
    return wanted or name, _address_of(memory), shape, memory


def _numbers_of(x):
    """Returns the numbers of nested lists in C order, and their shape. What has a tolist(), as arrays and
    numbers of NumPy have, stands for what that returns."""
    level, shape = [x], []
    while not set(map(type, level)) <= {bool, int, float}:
        level = [each.tolist() if callable(getattr(each, "tolist", None)) else each for each in level]
        rows = [each for each in level if isinstance(each, _ROWS)]
        if not rows:
            break
        if len(rows) < len(level):
            raise ShapeError(f"a ragged list: in dimension {len(shape)} there are lists and numbers")
        lengths = sorted(set(map(len, rows)))
        if len(lengths) > 1:
            few, more, *_ = lengths
            raise ShapeError(f"a ragged list: in dimension {len(shape)} there are {few} and {more} elements")
        shape += lengths
        if len(shape) > MAX_DIMS:
            raise ShapeError(f"a list of more than {MAX_DIMS} dimensions")
        level = list(chain.from_iterable(rows))
    return level, shape


def _hint(kind):
    return ": pyarrow.array() makes a column of decimals" if kind.__name__ == "Decimal" else ""


def _floats(numbers):
    for each in numbers:
        if type(each) is int and not _is_float(each):
            raise RangeError(f"{each} in a list of floats is no f64")
    return array("d", numbers)


def _is_float(number):
    try:
        return float(number) == number
    except OverflowError:
        return False


def _ints(numbers):
    for name, code in (("i64", "q"), ("u64", "Q")):
        try:
            return name, array(code, numbers)
        except OverflowError:
            pass
    return "i128", wide_ints(numbers)


def wide_ints(numbers):
    """Returns ints as 128 bits each."""
    try:
        data = b"".join(int(each).to_bytes(16, sys.byteorder, signed=True) for each in numbers)
    except OverflowError:
        raise RangeError("an int is beyond 128 bits") from None
    return ctypes.create_string_buffer(data, max(len(data), 1))


def _address_of(memory):
    return memory.buffer_info()[0] if isinstance(memory, array) else ctypes.addressof(memory)


def _converted(numbers, name, memory, wanted):
    """Returns the same numbers as another dtype, which must hold each."""
    from ._map import copy_array

    n, size = len(numbers), SIZES[name]
    made, back = (ctypes.create_string_buffer(max(n * SIZES[each], 1)) for each in (wanted, name))
    given, there, again = (
        _line(_address_of(each), DTYPES[kind], n) for each, kind in ((memory, name), (made, wanted), (back, name))
    )
    copy_array(given, there)
    copy_array(there, again)
    same = ctypes.string_at(given.data, n * size), ctypes.string_at(again.data, n * size)
    for i in range(n):
        if same[0][i * size : (i + 1) * size] != same[1][i * size : (i + 1) * size]:
            raise RangeError(f"{numbers[i]} in a list is no {wanted}")
    return made


def dtype_for(x, held, dtype=None):
    """Returns the dtype as which x is read for data of dtype `held`: as dtype_in does, but a list is made so."""
    return held if dtype is None and is_list(x) and held in DTYPES else dtype_in(held, dtype)


def common_dtypes(arrays, dtype):
    """Returns the dtype as which each of the arrays of a call is read, for data of one dtype: a list is made so."""
    from ._arrays import View

    lists = [x for x in arrays if is_list(x)]
    if dtype is not None or not lists or len(arrays) == 1:
        return [dtype] * len(arrays)
    others = [View(x, None, KEEP, decimals=True).dtype for x in arrays if not is_list(x)]
    held = others[0] if others else memory_of([n for x in lists for n in _numbers_of(x)[0]])[0]
    return [dtype_for(x, held) for x in arrays]
