"""Element-wise operations, as in map("add", a, b)."""

import ctypes
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import reduce

from ._arrays import NAMES, Target, View, dtype_in, dtype_name, writable
from ._exchange import KEEP
from ._library import DTYPES, ERRORS, Array, ArgumentError, RangeError, ShapeError, _default_context, lib, numbers_of
from ._lists import common_dtypes

OPS = numbers_of(lib.bf_map_name)
OVERFLOWS = {"error": 0, "wrap": 1, "saturate": 2}


class _Options(ctypes.Structure):
    """bf_map_options"""

    _fields_ = [("size", c_size_t), ("overflow", c_int), ("weak", c_uint), ("index", c_int64)]


lib.bf_map_result_dtype.argtypes = [c_int, POINTER(c_int), c_int, c_uint, POINTER(c_int)]
lib.bf_map_result_dtype.restype = c_int
lib.bf_map.argtypes = [
    c_void_p, c_int, POINTER(POINTER(Array)), c_int, POINTER(_Options), POINTER(Array)
]  # fmt: skip
lib.bf_map.restype = c_int


class _Number:
    """A plain int or float: an input that takes the dtype of the arrays."""

    def __init__(self, x):
        if isinstance(x, float):
            self.dtype, self._value = "f64", ctypes.c_double(x)
        elif -(2**63) <= x < 2**64:
            self.dtype = "i64" if x < 2**63 else "u64"
            self._value = (ctypes.c_int64 if x < 2**63 else ctypes.c_uint64)(x)
        else:
            raise ArgumentError(f"{x} is beyond 64 bits")
        self.array = Array(ctypes.addressof(self._value), DTYPES[self.dtype], 0)


def _input(x, dtype):
    return _Number(x) if type(x) in (int, float) else View(x, dtype)


def _broadcast(views):
    """Returns the shape to which the inputs broadcast, as in NumPy."""
    shapes = [view.array.shape[: view.array.ndim] for view in views]
    shape = [1] * max(len(each) for each in shapes)
    for each in shapes:
        for i, extent in enumerate(reversed(each), 1):
            if shape[-i] == 1:
                shape[-i] = extent
            elif extent not in (1, shape[-i]):
                raise ShapeError(f"shapes {shapes} do not fit each other")
    return shape


def result_dtype(op, *dtypes):
    """Returns the dtype of op's result for inputs of these dtypes, by NumPy 2's promotion. The types
    int and float stand for plain numbers.

    Errors: DtypeError (no dtype holds both, as of i64 and u64), ArgumentError (not as many inputs as op
    has).

    >>> bitfold.result_dtype("add", "i8", int), bitfold.result_dtype("div", "i8", "i8")
    ('i8', 'f64')
    """
    plain = {int: "i64", float: "f64"}
    names = [plain[each] if each in (int, float) else dtype_name(each) for each in dtypes]
    weak = sum(1 << i for i, each in enumerate(dtypes) if each in (int, float))
    return _result_dtype(op, names, weak)


def _result_dtype(op, names, weak):
    result = c_int()
    numbers = (c_int * len(names))(*(DTYPES[name] for name in names))
    status = lib.bf_map_result_dtype(_number(op), numbers, len(names), weak, byref(result))
    if status:
        raise ERRORS[status](f"there is no {op} of {', '.join(names) or 'nothing'}")
    return NAMES[result.value]


def _number(op):
    if op not in OPS:
        raise ArgumentError(f"operation {op!r} is none of {', '.join(OPS)}")
    return OPS[op]


def overflow_number(name):
    """Returns the number of what becomes of integers that do not fit."""
    if name not in OVERFLOWS:
        raise ArgumentError(f"overflow {name!r} is none of {', '.join(OVERFLOWS)}")
    return OVERFLOWS[name]


def map(op, *inputs, out=None, to=None, overflow="error", dtype=None, context=None):
    """Applies op to every element: add sub mul div min max fma neg abs sqrt eq ne lt le gt ge cast.

    Inputs are arrays whose shapes broadcast, or plain ints and floats, which take the arrays' dtype
    as in NumPy. out: the array to write to, which may be an input and may be on a GPU. Without it, the
    call returns a new array of the kind of the first. to: the dtype to which "cast" casts. overflow:
    "error", "wrap" or "saturate". dtype: the dtype of arrays that cannot name it; for several arrays, a list.

    Errors: ShapeError (shapes that do not broadcast, or not to out), DtypeError (no dtype holds the
    inputs, or out has another), RangeError (an integer result does not fit, under overflow="error"),
    ArgumentError (an integer divided by zero; not as many inputs as op has).

    >>> bitfold.map("fma", numpy.array([1.0, 2]), 3.0, 1.0)
    array([4., 7.])
    >>> out = numpy.array([100, 27], "i1")
    >>> bitfold.map("add", out, out, overflow="saturate")
    array([127,  54], dtype=int8)
    """
    policy = overflow_number(overflow)
    if not inputs:
        raise ArgumentError("no inputs")
    dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(inputs)
    views = [_input(x, each) for x, each in zip(inputs, dtypes)]
    weak = sum(1 << i for i, view in enumerate(views) if isinstance(view, _Number))
    if op == "cast":
        wanted = dtype_name(to) if to is not None else None if out is None else View(out).dtype
        if wanted is None:
            raise ArgumentError("cast to what? Give to= or out=")
    else:
        wanted = _result_dtype(op, [view.dtype for view in views], weak)
    if out is None:
        arrays = [x for x in inputs if type(x) not in (int, float)]
        target = Target(arrays[0] if arrays else None, wanted, _broadcast(views))
    else:
        target = writable(out, wanted)
    pointers = (POINTER(Array) * len(views))(*(ctypes.pointer(view.array) for view in views))
    options = _Options(ctypes.sizeof(_Options), policy, 0 if op == "cast" else weak)
    context = context or _default_context()
    context._call(
        lib.bf_map, context._handle, _number(op), pointers, len(views), byref(options),
        byref(target.array),
    )  # fmt: skip
    return target.result() if out is None else out


def copy_array(x, room):
    """Copies a bf_array of any strides to another of its shape and dtype."""
    context, inputs = _default_context(), (POINTER(Array) * 1)(ctypes.pointer(x))
    context._call(lib.bf_map, context._handle, OPS["cast"], inputs, 1, None, byref(room))


# ---- pairs ----------------------------------------------------------------------------------------


def given_of(op, arrays, dtype):
    """Returns the arrays of a reduction with the dtypes as which they are read. Several are of one dtype that holds
    the elements of all; those of "dot" must be so already."""
    if len(arrays) == 1 or op == "dot":
        return [*zip(arrays, common_dtypes(arrays, dtype))]
    kinds = common_dtypes(arrays, dtype)
    own = [getattr(x, "dtype", None) for x in arrays]
    if own[0] is not None and all(each == own[0] for each in own):
        return [*zip(arrays, kinds)]
    names = [View(x, kind, KEEP, decimals=True).dtype for x, kind in zip(arrays, kinds)]
    held = reduce(lambda a, b: a if a == b else result_dtype("add", a, b), names)
    if names.count(held) == len(names):
        return [*zip(arrays, kinds)]
    return [(converted(x, held, name, kind), dtype_in(held)) for x, name, kind in zip(arrays, names, kinds)]


def converted(x, held, name, kind):
    """Returns an array of dtype `name`, which is read as `kind`, as one of dtype `held`, which holds each element."""
    from . import sum

    if name == held:
        return x
    made = map("cast", x, to=held, dtype=kind)
    wide = name in ("i64", "u64") and held[0] == "f"
    if wide and sum(map("ne", map("cast", made, to=name), x)):
        raise RangeError(f"an element of {name} is no {held}, as the other array's are")
    return made
