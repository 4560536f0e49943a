"""Operators of PyTorch: torch.ops.bitfold.sum, dot, index_add, segment_sum, histogram and sort.

    >>> import torch, bitfold.torch
    >>> torch.ops.bitfold.sum(torch.tensor([1e20, 1, -1e20], dtype=torch.float64))
    tensor(1., dtype=torch.float64)

They give the same bits on CPUs and GPUs, whatever the threads, so they also work under
torch.use_deterministic_algorithms(True). torch.compile traces them. All but histogram have
gradients. Sums of floats are the exact value, rounded once to the dtype of the input (of float16 and
bfloat16: to float32); sums of integers and bools are int64, and one that does not fit raises
bitfold.RangeError. On a GPU a call waits for its result.
"""

from typing import List, Optional, Tuple

import torch
from torch import Tensor

import bitfold

__all__ = ["sum", "dot", "index_add", "segment_sum", "histogram", "sort"]

_SHORT = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f32", torch.bfloat16: "f32"}


def _options(x):
    """The options of bitfold for a sum of x."""
    return {"out_dtype": _SHORT[x.dtype]} if x.is_floating_point() else {}


def _sum_dtype(x):
    if not x.is_floating_point():
        return torch.int64
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _dims(dim, ndim):
    """The dimensions from 0, each once; None: all."""
    given = range(ndim) if dim is None else dim
    return sorted({d + ndim if d < 0 else d for d in given})


def _reduced(shape, dims, keepdim):
    return [1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims]


def _call(function, x, *arguments, **options):
    """Calls a sum of bitfold: of uint64 PyTorch has no sums, so all of integers are int64."""
    made = function(*arguments, **options, **_options(x))
    return made if made.dtype == _sum_dtype(x) else made.to(_sum_dtype(x))


def _spread(grad, shape, dims, keepdim):
    """The gradient of a sum: each element of a fibre has that of the fibre."""
    for d in dims if not keepdim else ():
        grad = grad.unsqueeze(d)
    return grad.expand(shape)


# ---- sum ------------------------------------------------------------------------------------------


@torch.library.custom_op("bitfold::sum", mutates_args=())
def sum(x: Tensor, dim: Optional[List[int]] = None, keepdim: bool = False) -> Tensor:
    """The exact sum of x along dim (None: of all)."""
    dims = tuple(range(x.ndim)) if dim is None else tuple(dim)
    return _call(bitfold.sum, x, x.detach(), axis=dims, keepdims=keepdim)


@sum.register_fake
def _(x, dim=None, keepdim=False):
    return x.new_empty(_reduced(x.shape, _dims(dim, x.ndim), keepdim), dtype=_sum_dtype(x))


def _keep_sum(ctx, inputs, output):
    x, dim, ctx.keepdim = inputs
    ctx.shape, ctx.dtype, ctx.dims = x.shape, x.dtype, _dims(dim, x.ndim)


def _sum_gradient(ctx, grad):
    return _spread(grad, ctx.shape, ctx.dims, ctx.keepdim).to(ctx.dtype), None, None


sum.register_autograd(_sum_gradient, setup_context=_keep_sum)

# ---- dot ------------------------------------------------------------------------------------------


@torch.library.custom_op("bitfold::dot", mutates_args=())
def dot(a: Tensor, b: Tensor, dim: Optional[List[int]] = None) -> Tensor:
    """The exact sum of the exact products of a and b, of one shape and dtype, along dim."""
    dims = tuple(range(a.ndim)) if dim is None else tuple(dim)
    return _call(bitfold.dot, a, a.detach(), b.detach(), axis=dims)


@dot.register_fake
def _(a, b, dim=None):
    return a.new_empty(_reduced(a.shape, _dims(dim, a.ndim), False), dtype=_sum_dtype(a))


def _keep_dot(ctx, inputs, output):
    a, b, dim = inputs
    ctx.save_for_backward(a, b)
    ctx.dims = _dims(dim, a.ndim)


def _dot_gradient(ctx, grad):
    a, b = ctx.saved_tensors
    grad = _spread(grad, a.shape, ctx.dims, False).to(a.dtype)
    return grad * b, grad * a, None


dot.register_autograd(_dot_gradient, setup_context=_keep_dot)

# ---- index_add ------------------------------------------------------------------------------------


@torch.library.custom_op("bitfold::index_add", mutates_args=())
def index_add(m: int, index: Tensor, values: Tensor) -> Tensor:
    """The exact sums of the rows of each of m slots: values[i] goes to slot index[i]."""
    return _call(bitfold.index_add, values, m, index, values.detach())


@index_add.register_fake
def _(m, index, values):
    return values.new_empty([m, *values.shape[1:]], dtype=_sum_dtype(values))


def _keep_index(ctx, inputs, output):
    _, index, values = inputs
    ctx.save_for_backward(index)
    ctx.dtype = values.dtype


def _index_gradient(ctx, grad):
    (index,) = ctx.saved_tensors
    return None, None, grad.index_select(0, index).to(ctx.dtype)


index_add.register_autograd(_index_gradient, setup_context=_keep_index)

# ---- segment_sum ----------------------------------------------------------------------------------


@torch.library.custom_op("bitfold::segment_sum", mutates_args=())
def segment_sum(x: Tensor, offsets: Tensor) -> Tensor:
    """The exact sums of the rows of each segment, x[offsets[s]:offsets[s + 1]]."""
    return _call(bitfold.segment_sum, x, x.detach(), offsets)


@segment_sum.register_fake
def _(x, offsets):
    return x.new_empty([offsets.shape[0] - 1, *x.shape[1:]], dtype=_sum_dtype(x))


def _keep_segments(ctx, inputs, output):
    x, offsets = inputs
    ctx.save_for_backward(offsets)
    ctx.rows, ctx.dtype = x.shape[0], x.dtype


def _segment_gradient(ctx, grad):
    (offsets,) = ctx.saved_tensors
    rows = torch.arange(ctx.rows, dtype=offsets.dtype, device=offsets.device)
    segment = torch.searchsorted(offsets, rows, right=True) - 1  # the last that begins there
    within = (segment >= 0) & (segment < grad.shape[0])
    if grad.shape[0] == 0:
        return grad.new_zeros([ctx.rows, *grad.shape[1:]], dtype=ctx.dtype), None
    spread = grad.index_select(0, segment.clamp(0, grad.shape[0] - 1))
    within = within.reshape([ctx.rows] + [1] * (grad.ndim - 1))
    return torch.where(within, spread, 0).to(ctx.dtype), None


segment_sum.register_autograd(_segment_gradient, setup_context=_keep_segments)

# ---- histogram ------------------------------------------------------------------------------------


@torch.library.custom_op("bitfold::histogram", mutates_args=())
def histogram(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """How many elements of x are in each of `bins` even bins from low to high, as numpy.histogram
    counts them."""
    return bitfold.histogram(x.detach(), bins, (low, high))[0]


@histogram.register_fake
def _(x, bins, low, high):
    return x.new_empty([bins], dtype=torch.int64)


# ---- sort -----------------------------------------------------------------------------------------


@torch.library.custom_op("bitfold::sort", mutates_args=())
def sort(x: Tensor, dim: int = -1, descending: bool = False) -> Tuple[Tensor, Tensor]:
    """x in order along dim, and the position that each element came from. Stable; -0 is before +0,
    and NaN is greater than all others."""
    x = x.detach()
    if x.ndim == 0:
        return x.clone(), torch.zeros([], dtype=torch.int64, device=x.device)
    index = bitfold.argsort(x, dim, descending=descending)
    return torch.take_along_dim(x, index, dim), index


@sort.register_fake
def _(x, dim=-1, descending=False):
    shape = list(x.shape)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


def _keep_sort(ctx, inputs, output):
    _, ctx.dim, _ = inputs
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _sort_gradient(ctx, grad, _):
    (index,) = ctx.saved_tensors
    if index.ndim == 0:
        return grad, None, None
    return torch.zeros_like(grad).scatter(ctx.dim, index, grad), None, None


sort.register_autograd(_sort_gradient, setup_context=_keep_sort)
