"""Arrays of other libraries by DLPack and by the Arrow C interfaces (dlpack.h, arrow.h). Both hand
over capsules, which own what is in them: a view keeps them."""

import ctypes
import functools
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_void_p, py_object

from ._library import (
    DTYPES, Array, ArgumentError, DtypeError, Error, _default_context, lib,
)  # fmt: skip

_ARRAY, _COUNT = POINTER(Array), POINTER(c_int64)
_SIGNATURES = {
    "bf_array_from_dlpack": (c_int, c_void_p, c_void_p, _ARRAY, POINTER(c_int)),
    "bf_array_from_dlpack_unversioned": (c_int, c_void_p, c_void_p, _ARRAY),
    "bf_array_from_arrow": (c_int, c_void_p, c_void_p, c_void_p, _ARRAY, _COUNT),
    "bf_array_from_arrow_device": (c_int, c_void_p, c_void_p, c_void_p, _ARRAY, _COUNT),
    "bf_context_synchronize": (c_int, c_void_p),
    "bf_array_copy_arrow": (c_int, c_void_p, c_void_p, c_void_p, _ARRAY, _COUNT),
}
lib.declare(_SIGNATURES)

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [py_object, c_char_p]
_get_pointer.restype = c_void_p
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [py_object, c_char_p]
_is_valid.restype = c_int


def _call(function, *arguments):
    context = _default_context()
    context._call(function, context._handle, *arguments)


# ---- DLPack ---------------------------------------------------------------------------------------

CPU, CUDA = 1, 2


def read_dlpack(x, stream=None):
    """Returns (array, readonly, owner) of an object with __dlpack__. The memory of a GPU is ready on this stream."""
    options = {} if stream is None else {"stream": stream}
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # from before DLPack 1.0
        capsule = x.__dlpack__(**options)
    array, readonly = Array(), c_int(0)
    if _is_valid(capsule, b"dltensor_versioned"):
        tensor = _get_pointer(capsule, b"dltensor_versioned")
        _call(lib.bf_array_from_dlpack, tensor, byref(array), byref(readonly))
    else:
        tensor = _get_pointer(capsule, b"dltensor")
        _call(lib.bf_array_from_dlpack_unversioned, tensor, byref(array))
    return array, bool(readonly), capsule


# ---- Arrow ----------------------------------------------------------------------------------------


class _Schema(ctypes.Structure):
    """ArrowSchema"""


class _Column(ctypes.Structure):
    """ArrowArray"""


class _DeviceColumn(ctypes.Structure):
    """ArrowDeviceArray"""


class _Stream(ctypes.Structure):
    """ArrowArrayStream"""


_Schema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64),
    ("n_children", c_int64), ("children", POINTER(POINTER(_Schema))), ("dictionary", c_void_p),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Schema))), ("private", c_void_p),
]  # fmt: skip
_Column._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
    ("n_children", c_int64), ("buffers", c_void_p), ("children", POINTER(POINTER(_Column))),
    ("dictionary", c_void_p), ("release", ctypes.CFUNCTYPE(None, POINTER(_Column))),
    ("private", c_void_p),
]  # fmt: skip
_DeviceColumn._fields_ = [
    ("column", _Column), ("device", c_int64), ("device_type", c_int32), ("sync_event", c_void_p),
    ("reserved", c_int64 * 3),
]  # fmt: skip
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(_Stream), POINTER(_Column))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, POINTER(_Stream))), ("private", c_void_p),
]  # fmt: skip


class _Owner:
    """Releases a structure that a stream has filled."""

    def __init__(self, struct):
        self.struct = struct

    def __del__(self):
        if self.struct.release:
            self.struct.release(byref(self.struct))


def _read_stream(capsule):
    """Returns (schema, columns, owners) of all that a stream still has."""
    stream = _Stream.from_address(_get_pointer(capsule, b"arrow_array_stream"))

    def fill(function, struct):
        if function(byref(stream), byref(struct)):
            message = stream.get_last_error(byref(stream)) or b"without a message"
            raise ArgumentError(f"an Arrow stream failed: {message.decode(errors='replace')}")
        return _Owner(struct)

    owners = [capsule, fill(stream.get_schema, _Schema())]
    columns = []
    while True:
        owner = fill(stream.get_next, _Column())
        if not owner.struct.release:  # the end
            return owners[1].struct, columns, owners
        owners.append(owner)
        columns.append(owner.struct)


ARROW = "__arrow_c_device_array__", "__arrow_c_array__", "__arrow_c_stream__"


def arrow_of(x):
    """Returns what has an Arrow C interface: x, or what it makes of itself with pyarrow; or None."""
    is_arrow = any(hasattr(x, name) for name in ARROW)
    may_make = hasattr(x, "__arrow_array__") and (_has_pyarrow() or not hasattr(x, "__array__"))
    if not is_arrow and not may_make:
        return None
    column = x if is_arrow else _given(x, "__arrow_array__")
    if hasattr(getattr(column, "type", None), "extension_name"):
        raise DtypeError(f"data of type {column.type} are no numbers: give their storage if you mean that")
    return column


@functools.lru_cache(maxsize=None)
def _has_pyarrow():
    import importlib.util  # it takes long to load

    return importlib.util.find_spec("pyarrow") is not None


def _given(x, name):
    """Calls a method by which an object gives itself to Arrow, and which may say that there is no way."""
    try:
        return getattr(x, name)()
    except Error:
        raise
    except (ImportError, NotImplementedError, TypeError, ValueError) as error:  # pyarrow's are of these
        raise DtypeError(f"{type(x).__name__!r} gives no Arrow column: {error}") from error


def _read_arrow(x):
    """Returns (schema, columns, device, owners): a column in chunks, its _DeviceColumn if it has one,
    and what owns it. The device's is asked for first: an object on a GPU may give the other, too, and
    copy."""
    device = None
    if hasattr(x, "__arrow_c_device_array__"):
        capsules = _given(x, "__arrow_c_device_array__")
        device = _DeviceColumn.from_address(_get_pointer(capsules[1], b"arrow_device_array"))
        column = device.column
    elif hasattr(x, "__arrow_c_array__"):
        capsules = _given(x, "__arrow_c_array__")
        column = _Column.from_address(_get_pointer(capsules[1], b"arrow_array"))
    else:
        schema, columns, owners = _read_stream(_given(x, "__arrow_c_stream__"))
        return schema, columns, None, owners
    schema = _Schema.from_address(_get_pointer(capsules[0], b"arrow_schema"))
    return schema, [column], device, [capsules]


def _child_of(table):
    """Returns the only column of a table, which lies where the table's rows say."""
    if table.null_count > 0 or (table.null_count < 0 and _bits_of(table)):
        raise ArgumentError("a table with rows that are NULL")
    child = _Column.from_buffer_copy(table.children[0].contents)
    child.offset += table.offset
    child.length = table.length
    if table.offset or table.length != table.children[0].contents.length:
        child.null_count = -1
    return child


def _only_column(schema, columns):
    if schema.format != b"+s":
        return schema, columns
    if schema.n_children != 1:
        raise ArgumentError(f"a table of {schema.n_children} columns: give one of them")
    return schema.children[0].contents, [_child_of(table) for table in columns]


def _copy_chunks(schema, columns, name, size):
    """Returns the values that are not NULL in new memory, and how many there are."""
    length = sum(column.length for column in columns)
    memory = ctypes.create_string_buffer(max(length * size, 1))
    address, n, done = ctypes.addressof(memory), c_int64(), 0
    for column in columns:
        room = _line(address + done * size, DTYPES[name], length - done)
        _call(lib.bf_array_copy_arrow, byref(schema), byref(column), byref(room), byref(n))
        done += n.value
    return _line(address, DTYPES[name], done), length - done, memory


def _read_on_device(schema, column, device):
    """Returns the array of a column on a device. Waits for its event, because the call that follows may
    be of any context."""
    column = _DeviceColumn(column, device.device, device.device_type, device.sync_event)
    array, nulls = Array(), c_int64()
    _call(
        lib.bf_array_from_arrow_device, byref(schema), byref(column), byref(array), byref(nulls)
    )
    if device.sync_event:
        _call(lib.bf_context_synchronize)
    if nulls.value:
        raise ArgumentError(
            f"{nulls.value} of {array.shape[0]} elements are NULL, on a device: drop them there"
        )
    return array


KEEP = object()  # what becomes of NULLs, for calls that see to them


def _bits_of(column):
    """Returns where the bits of what is not NULL are, or None."""
    return c_void_p.from_address(column.buffers).value


def _valid_of(columns):
    """Returns an array of bools, true for the elements that are not NULL."""
    valid, done, n = (ctypes.c_bool * sum(column.length for column in columns))(), 0, c_int64()
    for column in columns:
        at = ctypes.addressof(valid) + done
        if _bits_of(column):
            bits = new_column(column.length, column.offset, None, _bits_of(column))
            room = _line(at, DTYPES["bool"], column.length)
            _call(lib.bf_array_copy_arrow, byref(schema_of(b"b")), byref(bits), byref(room), byref(n))
        else:
            ctypes.memset(at, True, column.length)
        done += column.length
    return valid


def _without_nulls(column):
    """Returns a column with the same values, of which those of NULLs are any."""
    values = (c_void_p * 2).from_address(column.buffers)[1]
    return new_column(column.length, column.offset, None, values)


_I128 = b"d:38,0"  # the format of BF_I128
_FORMATS = {
    1: (b"C", "u8"), 2: (b"S", "u16"), 4: (b"I", "u32"), 8: (b"L", "u64"), 16: (_I128, "i128"),
}  # fmt: skip


def compact(array, bits, size):
    """Returns a copy, and its memory, of the elements of an array of one dimension whose bits are set."""
    format, name = _FORMATS[size]  # any dtype of this size
    column, n = new_column(array.shape[0], 0, bits, array.data), c_int64()
    memory = ctypes.create_string_buffer(max(array.shape[0] * size, 1))
    room = _line(ctypes.addressof(memory), DTYPES[name], array.shape[0])
    _call(
        lib.bf_array_copy_arrow, byref(schema_of(format)), byref(column), byref(room), byref(n)
    )
    return _line(ctypes.addressof(memory), array.dtype, n.value), memory


_DIGITS, _MOST_DIGITS = 18, 38  # 64 bits hold the first, 128 the second


def _decimals_of(schema):
    """Returns the bits of a column's decimals, how many of these bits hold all of them, and their scale; of
    others None thrice."""
    format = (schema.format or b"").decode(errors="replace")
    if not format.startswith("d:"):
        return None, None, None
    digits, scale, *bits = map(int, format[2:].split(","))
    if digits > _MOST_DIGITS:
        raise DtypeError(
            f"decimals of {digits} digits: bitfold takes {_MOST_DIGITS}, so cast to precision {_MOST_DIGITS}"
        )
    bits = bits[0] if bits else 128
    return bits, 128 if digits > _DIGITS and bits > 64 else 64, scale


def _units_of(column, bits, schema, size):
    """Returns a column with the decimals of another as integers of the size of a schema: their low words, or
    the same memory."""
    from ._map import copy_array

    seen, nulls = Array(), c_int64()  # the library says whether it is well formed
    _call(lib.bf_array_from_arrow, byref(schema), byref(column), byref(seen), byref(nulls))
    if bits == 8 * size or column.length == 0:
        return column
    values = (c_void_p * 2).from_address(column.buffers)[1]
    first, valid = column.offset % 8, _bits_of(column)
    memory = ctypes.create_string_buffer(size * (first + column.length))
    given = _line(values + column.offset * bits // 8, DTYPES["i32" if bits == 32 else "i64"], column.length)
    units = _line(ctypes.addressof(memory) + size * first, DTYPES["i64"], column.length)
    for words, step in (given, bits // 64), (units, size // 8):
        words.ndim, words.shape[1], words.strides[0], words.strides[1] = 2, size // 8, max(step, 1), 1
    copy_array(given, units)
    made = new_column(
        column.length, first, valid and valid + column.offset // 8, ctypes.addressof(memory)
    )
    made._memory = memory
    return made


def read_arrow(x, null, names, sizes):
    """Returns (array, owner, valid, scale) of an object with an Arrow C interface. null: "error" refuses
    NULLs, "skip" leaves them out, which copies the others; KEEP keeps them, and then valid is an array of
    bools, or None if there are none. A column in one chunk without NULLs is not copied, unless it has
    bools or decimals of another size. Decimals are i64, or i128 beyond 18 digits, in units of 10^-scale; of
    others scale is None."""
    if hasattr(x, "_as_units"):  # a Column's decimals, which others get as i128
        schema, column, scale = x._as_units()
        return *_read_columns(schema, [column], [x], null, names, sizes), scale
    schema, columns, device, owners = _read_arrow(x)
    schema, columns = _only_column(schema, columns)
    bits, held, scale = _decimals_of(schema)
    if device is not None and (device.device_type != CPU or device.sync_event):
        if bits:
            raise DtypeError("decimals on a device: bring them to the host's memory")
        return _read_on_device(schema, columns[0], device), owners, None, None
    if bits:
        schema = schema_of(b"l" if held == 64 else _I128)
        columns = [_units_of(column, bits, schema, held // 8) for column in columns]
        owners.append(columns)
    return *_read_columns(schema, columns, owners, null, names, sizes), scale


def _read_columns(schema, columns, owners, null, names, sizes):
    """Returns (array, owner, valid) of a column in chunks."""
    array, nulls = Array(), c_int64()
    if schema.format == b"b":
        name = "bool"
    else:  # an empty stream has no column to look at
        look = columns[0] if columns else new_column(0, 0, None, None)
        _call(lib.bf_array_from_arrow, byref(schema), byref(look), byref(array), byref(nulls))
        name = names[array.dtype]
        if len(columns) == 1 and (nulls.value == 0 or null is KEEP):
            return array, owners, _valid_of(columns) if nulls.value else None
    if null is KEEP:
        valid = _valid_of(columns) if any(map(_bits_of, columns)) else None
        whole = [_without_nulls(column) for column in columns]
        array, _, memory = _copy_chunks(schema, whole, name, sizes[name])
        return array, memory, valid
    array, missing, memory = _copy_chunks(schema, columns, name, sizes[name])
    if missing and null != "skip":
        total = array.shape[0] + missing
        hint = ": null='skip' leaves them out" if null == "error" else ""
        raise ArgumentError(f"{missing} of {total} elements are NULL{hint}")
    return array, memory, None


# ---- structures of our own ------------------------------------------------------------------------


def _line(address, dtype, n):
    """Returns contiguous memory as a bf_array."""
    array = Array(address, dtype, 1)
    array.shape[0], array.strides[0] = n, 1
    return array


@ctypes.CFUNCTYPE(None, POINTER(_Schema))
def _release_schema(_):
    pass


@ctypes.CFUNCTYPE(None, POINTER(_Column))
def _release_column(_):
    pass


def schema_of(format):
    return _Schema(format=format, release=_release_schema)


def new_column(n, offset, bits, values):
    """Returns a column of n elements: bits say which are not NULL (None: all), values where they are."""
    column = _Column(
        length=n, null_count=-1 if bits else 0, offset=offset, n_buffers=2, release=_release_column
    )
    column._buffers = (c_void_p * 2)(bits, values)
    column.buffers = ctypes.addressof(column._buffers)
    return column
