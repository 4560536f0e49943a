"""The operators of scans: running sums, products of integers, and extremes."""

import torch

import bitfold

from .._arrays import dtype_name
from .._library import OPS
from ._operators import define, front


def _result_dtype(op, x, dtype=None):
    if op in ("min", "max"):
        return x.dtype
    if not x.is_floating_point():
        fits, default = dtype == torch.int64, torch.int64
    elif op == "prod":
        raise bitfold.DtypeError(f"cumprod of {x.dtype}: running products are those of integers")
    else:
        fits, default = dtype is not None and dtype.is_floating_point, x.dtype
    if dtype is not None and not fits:
        raise bitfold.ArgumentError(f"cum{op} of {x.dtype} is not rounded to {dtype}")
    return dtype or default


def running(op, x, dim, reverse=False, **options):
    """Returns the reduction of the elements up to each one along a dimension, or from it on."""
    lines = x.unsqueeze(0) if x.ndim == 0 else x
    if x.is_cuda:
        lines = lines.contiguous()  # a copy of the library's would be waited for
        options["check"] = "later" if torch.cuda.is_current_stream_capturing() else "now"
    return getattr(bitfold, f"cumulative_{op}")(lines, axis=dim, reverse=reverse, **options).view(x.shape)


def running_sum(x, dim, reverse=False, exclusive=False, *, dtype=None):
    to, x = _result_dtype("sum", x, dtype), x.detach()
    x = x if x.is_floating_point() else x.to(torch.int64)
    rounded = {} if to == x.dtype else {"out_dtype": dtype_name(to)}
    return running("sum", x, dim, reverse, exclusive=exclusive, **rounded)


def _running_prod(x, dim, reverse=False, exclusive=False):
    to = _result_dtype("prod", x)
    return running("prod", x.to(to), dim, reverse, exclusive=exclusive)


def _fake(op):
    def fake(x, dim, reverse=False, exclusive=False, *, dtype=None):
        return x.new_empty(x.shape, dtype=_result_dtype(op, x, dtype))

    return fake


# ---- gradients ------------------------------------------------------------------------------------


def _keep_sum(ctx, inputs, keyword_only_inputs, output):
    x, ctx.dim, ctx.reverse, ctx.exclusive = inputs
    ctx.dtype = x.dtype


def _sum_gradient(ctx, grad):
    """An element is in the sums from it on; in exclusive ones behind it."""
    made = torch.ops.bitfold.cumsum(grad, ctx.dim, not ctx.reverse, ctx.exclusive, dtype=ctx.dtype)
    return made, None, None, None


def _keep_extreme(ctx, inputs, output):
    x, ctx.dim, ctx.reverse = inputs
    ctx.save_for_backward(x, output)


def _extreme_gradient(ctx, grad):
    """Results are the nearest element before them that is equal, as in torch.cummax. A NaN is, too."""
    x, made = ctx.saved_tensors
    if x.ndim == 0:
        return grad, None, None
    n, places = x.shape[ctx.dim], torch.arange(x.numel(), device=x.device).reshape(x.shape)
    at = torch.arange(n, device=x.device).reshape([-1] + [1] * (x.ndim - 1 - ctx.dim % x.ndim))
    equal = (x == made) | x.isnan()
    nearest, none = (torch.ops.bitfold.cummin, n) if ctx.reverse else (torch.ops.bitfold.cummax, -1)
    position = nearest(torch.where(equal, at, none), ctx.dim, ctx.reverse)
    slots = places.gather(ctx.dim, position).flatten()
    made = torch.ops.bitfold.index_add(x.numel(), slots, grad.reshape(-1))
    return made.reshape(x.shape).to(x.dtype), None, None


# ---- operators ------------------------------------------------------------------------------------


def _batched(name):
    def vmap(info, dims, x, dim, *ways, **options):
        x, op = front(x, dims[0], info.batch_size), getattr(torch.ops.bitfold, name)
        if x.ndim == 1:  # a batch of numbers
            return op(x.unsqueeze(1), 1, *ways, **options).squeeze(1), 0
        return op(x, dim + (dim >= 0), *ways, **options), 0

    return vmap


_LINE = "Tensor x, int dim, bool reverse=False"
define(
    "cumsum", f"({_LINE}, bool exclusive=False, *, ScalarType? dtype=None) -> Tensor",
    running_sum, _fake("sum"), _sum_gradient, _keep_sum, _batched("cumsum"),
    ("scan operator", OPS["sum"]),
)  # fmt: skip
define(
    "cumprod", f"({_LINE}, bool exclusive=False) -> Tensor", _running_prod, _fake("prod"),
    vmap=_batched("cumprod"), door=("scan operator", OPS["prod"]),
)  # fmt: skip
for _op in ("min", "max"):
    define(
        f"cum{_op}", f"({_LINE}) -> Tensor", lambda x, *given, op=_op: running(op, x.detach(), *given), _fake(_op),
        _extreme_gradient, _keep_extreme, _batched(f"cum{_op}"), ("scan operator", OPS[_op]),
    )  # fmt: skip
