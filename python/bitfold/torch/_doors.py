"""Doors before the kernels of operators: calls go to the library without Python on their way (python/native)."""

from typing import Any

import torch

import bitfold

from .._dtypes import dtype_name
from .._library import DTYPES, native

try:
    from torch._C import DispatchKey, _after_ADInplaceOrView_keyset
    from torch._library.autograd import Info, make_autograd_impl
except ImportError:  # another PyTorch: calls go through Python
    native = None

_BACKENDS = "CPU", "CUDA"
_library = torch.library.Library("bitfold", "FRAGMENT")  # has the kernels as long as it lives
_plain: set = set()  # the numbers of dispatch keys with which a call is left to its backend
behind: dict = {}  # the function behind each operator's door, its row, and which it is of those that share the row

_module: Any = bitfold  # with what its stub does not tell

for _name in ("float64", "float32", "float16", "bfloat16"):
    _module._Rules.dtypes[getattr(torch, _name)] = DTYPES[dtype_name(_name)]
_module._Rules.is_capturing = staticmethod(torch.cuda.is_current_stream_capturing)


def put_door(name, call, row, choice):
    """Registers the kernel of an operator for CPUs and GPUs: a door before the function `call`. Returns it."""
    if native is None:
        return call
    behind[name] = call, row, choice
    door = native.Function(native, *behind[name], None)
    for backend in _BACKENDS:
        _library.impl(name, door, backend)
    return door


def put_door_of_autograd(name, gradient, keep, row, choice):
    """Does so for its kernels of autograd: where no tensor requires a gradient, and nothing between them and the
    backend looks at the call, as tracing does, the door is the backend's."""
    if native is None:
        return
    below = make_autograd_impl(getattr(torch.ops.bitfold, name).default, Info(gradient, keep))

    def python(keyset, *given, **options):
        if keyset.raw_repr() not in _plain and _is_plain(keyset):
            _plain.add(keyset.raw_repr())
        return below(keyset, *given, **options)

    door = native.Function(native, python, row, choice, _plain)
    for backend in _BACKENDS:
        _library.impl(name, door, f"Autograd{backend}", with_keyset=True)


def _is_plain(keyset):
    below = (keyset & _after_ADInplaceOrView_keyset).remove(DispatchKey.BackendSelect)
    return below.highestPriorityTypeId() in (DispatchKey.CPU, DispatchKey.CUDA)
