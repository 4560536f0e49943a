"""The operators of order: sort, argsort, median, quantile, histogram."""

import functools
import math

import torch

import bitfold

from ._exact import Fibres, dims_of
from ._operators import define, front


def _lines_of(x, dims):
    """x with these as its last dimensions, contiguous: a copy of the library's would be waited for on a GPU."""
    return x.detach().movedim(dims, list(range(x.ndim - len(dims), x.ndim))).contiguous()


# ---- sort -----------------------------------------------------------------------------------------

_LINE = "Tensor x, int dim=-1, bool descending=False"
_POSITIONS, _BOTH = 1, 2  # what a door gives


def _argsort(x, dim=-1, descending=False):
    if x.ndim == 0:
        return torch.zeros([], dtype=torch.int64, device=x.device)
    index = bitfold.argsort(_lines_of(x, [dim]), descending=descending)
    return index.movedim(-1, dim).contiguous()


def _sort(x, dim=-1, descending=False):
    index = _argsort(x, dim, descending)
    return (x.detach().clone() if x.ndim == 0 else torch.take_along_dim(x.detach(), index, dim)), index


def _fake_argsort(x, dim=-1, descending=False):
    return x.new_empty(x.shape, dtype=torch.int64)


def _fake_sort(x, dim=-1, descending=False):
    return x.new_empty(x.shape), _fake_argsort(x)


def _keep_sort(ctx, inputs, output):
    _, ctx.dim, _ = inputs
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _sort_gradient(ctx, grad, _):
    (index,) = ctx.saved_tensors
    if index.ndim == 0:
        return grad, None, None
    return torch.zeros_like(grad).scatter(ctx.dim, index, grad), None, None


def _batched(name, out_dims):
    """The batch of an operator along one dimension."""

    def vmap(info, dims, x, dim=-1, descending=False):
        x = front(x, dims[0], info.batch_size)
        one = x.ndim == 1  # a batch of numbers
        made = getattr(torch.ops.bitfold, name)(x.unsqueeze(1) if one else x, dim + (dim >= 0), descending)
        return torch.utils._pytree.tree_map(lambda each: each.squeeze(1), made) if one else made, out_dims

    return vmap


define(
    "argsort", f"({_LINE}) -> Tensor", _argsort, _fake_argsort,
    vmap=_batched("argsort", 0), door=("sort operator", _POSITIONS),
)  # fmt: skip
define(
    "sort", f"({_LINE}) -> (Tensor, Tensor)", _sort, _fake_sort, _sort_gradient, _keep_sort,
    _batched("sort", (0, 0)), door=("sort operator", _BOTH),
)  # fmt: skip

# ---- quantiles ------------------------------------------------------------------------------------

# What each method takes of the upper one of two elements, where h is the place between their ranks.
_UPPER = {
    "linear": lambda h: h - math.floor(h),
    "lower": lambda h: 0.0,
    "higher": lambda h: math.ceil(h) - math.floor(h),
    "midpoint": lambda h: (math.ceil(h) - math.floor(h)) / 2,
    "nearest": lambda h: round(h) - math.floor(h),
}


def _method(interpolation):
    if interpolation not in _UPPER:
        raise bitfold.ArgumentError(f"interpolation {interpolation!r} is none of {', '.join(_UPPER)}")
    return interpolation


def _of_lines(function, x, *given, dim, keepdim):
    """Calls a function on the lines along dimensions; the lines of its result may have others before theirs."""
    dims = dims_of(dim, x.ndim)
    made = function(_lines_of(x, dims), *given, tuple(range(x.ndim - len(dims), x.ndim)))
    for d in sorted(dims, reverse=True) if keepdim else ():
        made = made.unsqueeze(d - x.ndim)
    return made


def _quantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    function = functools.partial(bitfold.quantile, method=_method(interpolation))
    return _of_lines(function, x, q, dim=dim, keepdim=keepdim).to(torch.float64)


def _fake_quantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    _method(interpolation)
    shape = Fibres(x.shape, dim, keepdim).result_shape()
    return x.new_empty([len(q), *shape], dtype=torch.float64)


def _keep_quantile(ctx, inputs, keyword_only_inputs, output):
    x, ctx.q, ctx.dim, ctx.keepdim = inputs
    ctx.method = keyword_only_inputs["interpolation"]
    ctx.save_for_backward(x)


def _quantile_gradient(ctx, grad):
    (x,) = ctx.saved_tensors
    return _to_ranks(x, ctx.q, ctx.dim, ctx.keepdim, ctx.method, grad), None, None, None


def _to_ranks(x, q, dim, keepdim, method, grad):
    """The gradient of quantiles goes to the elements at their ranks, in the order of a stable sort."""
    dims = dims_of(dim, x.ndim)
    for d in dims if not keepdim else ():
        grad = grad.unsqueeze(d + 1)
    last = list(range(x.ndim - len(dims), x.ndim))
    moved = x.detach().movedim(dims, last)
    lines = moved.flatten(len(moved.shape) - len(dims)) if dims else moved.unsqueeze(-1)
    grad = grad.movedim([d + 1 for d in dims], [d + 1 for d in last]).reshape([len(q), *lines.shape[:-1]])
    by_rank = torch.zeros_like(lines, dtype=grad.dtype)
    for fraction, of_one in zip(q, grad):
        h = fraction * (lines.shape[-1] - 1)
        upper = _UPPER[method](h)
        for rank, part in ((math.floor(h), 1 - upper), (math.ceil(h), upper)):
            added = by_rank.select(-1, rank) + part * of_one
            by_rank = by_rank.select_scatter(added, -1, rank)
    index = torch.ops.bitfold.argsort(lines, -1)
    made = torch.zeros_like(by_rank).scatter(-1, index, by_rank)
    return made.reshape(moved.shape).movedim(last, dims).to(x.dtype)


def _batched_dims(name, lead):
    """The batch of an operator along several dimensions, whose results have `lead` more before."""

    def vmap(info, dims, x, *given, **options):
        x = front(x, dims[0], info.batch_size)
        *q, dim, keepdim = given[:lead] + (*given[lead:], None, False)[:2]
        own = [d + 1 for d in dims_of(dim, x.ndim - 1)]
        return getattr(torch.ops.bitfold, name)(x, *q, own, keepdim, **options), lead

    return vmap


define(
    "quantile",
    "(Tensor x, float[] q, int[1]? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    _quantile, _fake_quantile, _quantile_gradient, _keep_quantile, _batched_dims("quantile", 1),
)  # fmt: skip


def _median(x, dim=None, keepdim=False):
    return _of_lines(bitfold.median, x, dim=dim, keepdim=keepdim).to(_median_dtype(x))


def _median_dtype(x):
    return x.dtype if x.is_floating_point() else torch.float64


def _fake_median(x, dim=None, keepdim=False):
    return x.new_empty(Fibres(x.shape, dim, keepdim).result_shape(), dtype=_median_dtype(x))


def _keep_median(ctx, inputs, output):
    x, ctx.dim, ctx.keepdim = inputs
    ctx.save_for_backward(x)


def _median_gradient(ctx, grad):
    (x,) = ctx.saved_tensors
    return _to_ranks(x, [0.5], ctx.dim, ctx.keepdim, "linear", grad.unsqueeze(0)), None, None


define(
    "median", "(Tensor x, int[1]? dim=None, bool keepdim=False) -> Tensor", _median, _fake_median,
    _median_gradient, _keep_median, _batched_dims("median", 0),
)  # fmt: skip

# ---- histogram ------------------------------------------------------------------------------------


def _histogram(x, bins, low, high):
    return bitfold.histogram(x.detach().contiguous(), bins, (low, high))[0]


def _fake_histogram(x, bins, low, high):
    return x.new_empty([bins], dtype=torch.int64)


define(
    "histogram", "(Tensor x, SymInt bins, float low, float high) -> Tensor", _histogram, _fake_histogram
)
