"""Arrays of other libraries by DLPack and by the Arrow C interfaces (dlpack.h, arrow.h). Both hand
over capsules, which own what is in them: a view keeps them."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p, py_object

from ._library import DTYPES, Array, ArgumentError, lib

_ARRAY, _COUNT = POINTER(Array), POINTER(c_int64)
_SIGNATURES = {
    "bf_array_from_dlpack": (c_int, c_void_p, c_void_p, _ARRAY, POINTER(c_int)),
    "bf_array_from_dlpack_unversioned": (c_int, c_void_p, c_void_p, _ARRAY),
    "bf_array_from_arrow": (c_int, c_void_p, c_void_p, c_void_p, _ARRAY, _COUNT),
    "bf_array_copy_arrow": (c_int, c_void_p, c_void_p, c_void_p, _ARRAY, _COUNT),
}
for _name, (_result, *_arguments) in _SIGNATURES.items():
    getattr(lib, _name).restype = _result
    getattr(lib, _name).argtypes = _arguments

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [py_object, c_char_p]
_get_pointer.restype = c_void_p
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [py_object, c_char_p]
_is_valid.restype = c_int


def _call(function, *arguments):
    from . import _default_context

    context = _default_context()
    context._call(function, context._handle, *arguments)


# ---- DLPack ---------------------------------------------------------------------------------------

_CUDA = 2
_LEGACY_STREAM = 1  # every stream of a context is ordered with it


def read_dlpack(x):
    """Returns (array, readonly, owner) of an object with __dlpack__."""
    options = {"stream": _LEGACY_STREAM} if x.__dlpack_device__()[0] == _CUDA else {}
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


def _read_arrow(x):
    """Returns (schema, columns, owners): a column in chunks, and what owns it."""
    if not hasattr(x, "__arrow_c_array__"):
        return _read_stream(x.__arrow_c_stream__())
    capsules = x.__arrow_c_array__()
    schema = _Schema.from_address(_get_pointer(capsules[0], b"arrow_schema"))
    column = _Column.from_address(_get_pointer(capsules[1], b"arrow_array"))
    return schema, [column], [capsules]


def _child_of(table):
    """Returns the only column of a table, which lies where the table's rows say."""
    bits = c_void_p.from_address(table.buffers).value  # of rows that are not NULL
    if table.null_count > 0 or (table.null_count < 0 and bits):
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
        room = Array(address + done * size, DTYPES[name], 1)
        room.shape[0], room.strides[0] = length - done, 1
        _call(lib.bf_array_copy_arrow, byref(schema), byref(column), byref(room), byref(n))
        done += n.value
    array = Array(address, DTYPES[name], 1)
    array.shape[0], array.strides[0] = done, 1
    return array, length - done, memory


def read_arrow(x, null, names, sizes):
    """Returns (array, owner) of an object with __arrow_c_array__ or __arrow_c_stream__. null:
    "error" refuses NULLs, "skip" leaves them out, which copies the others. A column in one chunk
    without NULLs is not copied, unless it has bools."""
    schema, columns, owners = _read_arrow(x)
    schema, columns = _only_column(schema, columns)
    array, nulls = Array(), c_int64()
    if schema.format == b"b":
        name = "bool"
    else:  # an empty stream has no column to look at
        look = columns[0] if columns else _nothing()
        _call(lib.bf_array_from_arrow, byref(schema), byref(look), byref(array), byref(nulls))
        name = names[array.dtype]
        if len(columns) == 1 and nulls.value == 0:
            return array, owners
    array, missing, memory = _copy_chunks(schema, columns, name, sizes[name])
    if missing and null == "error":
        total = array.shape[0] + missing
        raise ArgumentError(f"{missing} of {total} elements are NULL: null='skip' leaves them out")
    return array, memory


@ctypes.CFUNCTYPE(None, POINTER(_Column))
def _release_nothing(_):
    pass


def _nothing():
    """Returns a column of no elements."""
    column = _Column(n_buffers=2, release=_release_nothing)
    column._buffers = (c_void_p * 2)()
    column.buffers = ctypes.addressof(column._buffers)
    return column
