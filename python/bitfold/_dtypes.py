"""The names and sizes of dtypes: ours, and those of NumPy, PyTorch and the struct module."""

import sys

from ._library import DTYPES, DtypeError, lib

SIZES = {name: lib.bf_dtype_size(number) for name, number in DTYPES.items()}
NAMES = {number: name for name, number in DTYPES.items()}
FLOATS = "f16", "bf16", "f32", "f64"


def _long_name(name):
    """Returns NumPy's name of a dtype."""
    letters = name.rstrip("0123456789")
    return {"i": "int", "u": "uint", "f": "float", "bf": "bfloat"}.get(letters, letters) + name[len(letters) :]


LONG_NAMES = {_long_name(name): name for name in DTYPES if name != "i128"}
# By kind and size in bytes, to which NumPy's dtype strings and the struct module's codes reduce.
BY_KIND = {f"{name[0]}{SIZES[name]}": name for name in LONG_NAMES.values() if name != "bf16"}
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
    if text in LONG_NAMES:
        return LONG_NAMES[text]
    if text in _OTHER_NAMES:
        return _OTHER_NAMES[text]
    if text[:1] in _ORDERS and text[1:] in BY_KIND:
        return BY_KIND[text[1:]]
    meant = f": {BY_KIND[text]!r} has {text[1:]} bytes" if text in BY_KIND else ""
    raise DtypeError(f"dtype {text!r} is not supported{meant}")


def dtype_in(held, dtype=None):
    """Returns the dtype as which memory for data of dtype `held` is read: the caller's; or bf16, which
    most can only hold as 16-bit integers; or None: the memory says it."""
    return "bf16" if dtype is None and held == "bf16" else dtype


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
