"""The names and sizes of dtypes: ours, and those of NumPy, PyTorch and the struct module."""

import sys

from ._library import DTYPES, DtypeError

SIZES = {
    "bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i128": 16,
}  # fmt: skip
NAMES = {number: name for name, number in DTYPES.items()}

# By kind and size in bytes, to which NumPy's dtype strings and the struct module's codes reduce.
BY_KIND = {
    "b1": "bool", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
    "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip
_LONG_NAMES = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
    "float64": "f64",
}  # fmt: skip
# What else the libraries call them. "i4" is not here: its kin "i8" has 8 bits for us and 8 bytes for NumPy.
_OTHER_NAMES = {
    "f2": "f16", "f4": "f32", "f8": "f64", "bool_": "bool", "float": "f64", "int": "i64",
    "longlong": "i64", "ulonglong": "u64",
}  # fmt: skip
KIND_OF_CODE = {
    **{"?": "b"}, **dict.fromkeys("bhilqn", "i"), **dict.fromkeys("cBHILQN", "u"),
    **dict.fromkeys("efd", "f"),
}  # fmt: skip


def dtype_name(dtype):
    """Returns bitfold's name of a dtype. dtype is such a name ("i8" has 8 bits), a long name
    ("float64"), "f2", "f4" or "f8", a string of NumPy's with its byte order ("<f8", "|b1"), a dtype of
    NumPy or PyTorch, or a type such as numpy.float32 or float."""
    text = dtype if isinstance(dtype, str) else _text_of(dtype)
    if text in DTYPES:
        return text
    if text in _LONG_NAMES:
        return _LONG_NAMES[text]
    if text in _OTHER_NAMES:
        return _OTHER_NAMES[text]
    if text[:1] in _ORDERS and text[1:] in BY_KIND:
        return BY_KIND[text[1:]]
    meant = f": {BY_KIND[text]!r} has {text[1:]} bytes" if text in BY_KIND else ""
    raise DtypeError(f"dtype {text!r} is not supported{meant}")


_ORDERS = "<", ">", "|", "="


def _text_of(dtype):
    """Returns what NumPy or PyTorch calls a dtype, or Python a type."""
    if isinstance(dtype, type):
        return dtype.__name__
    for attribute in ("name", "str"):
        if isinstance(getattr(dtype, attribute, None), str):
            return getattr(dtype, attribute)
    text = str(dtype)
    if not text.startswith("torch."):
        raise DtypeError(f"a dtype is a name such as 'f64', not {dtype!r}")
    return text[len("torch.") :]


def is_foreign(order, size):
    """Whether elements of this size have another byte order than this machine's."""
    return size > 1 and order == (">" if sys.byteorder == "little" else "<")


def names_foreign(dtype):
    """Whether a dtype that the caller names has the other byte order."""
    text = getattr(dtype, "str", dtype)
    return isinstance(text, str) and text[1:] in BY_KIND and is_foreign(text[0], int(text[2:]))
