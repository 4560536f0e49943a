"""The operator of running sums."""

import torch

import bitfold

from ._operators import define, front


def _result_dtype(x, dtype):
    if not x.is_floating_point():
        if dtype not in (None, torch.int64):
            raise bitfold.ArgumentError(f"cumsum of {x.dtype} is not rounded to {dtype}")
        return torch.int64
    if dtype is not None and not dtype.is_floating_point:
        raise bitfold.ArgumentError(f"cumsum of {x.dtype} is not rounded to {dtype}")
    return x.dtype if dtype is None else dtype


def running_sum(x, dim, reverse=False, *, dtype=None):
    to, x = _result_dtype(x, dtype), x.detach()
    x = x if x.is_floating_point() else x.to(torch.int64)
    lines = x.unsqueeze(0) if x.ndim == 0 else x
    name = str(to).removeprefix("torch.") if x.is_floating_point() else None
    return bitfold.cumulative_sum(lines, axis=dim, reverse=reverse, out_dtype=name).view(x.shape)


def _fake_cumsum(x, dim, reverse=False, *, dtype=None):
    return x.new_empty(x.shape, dtype=_result_dtype(x, dtype))


def _keep_cumsum(ctx, inputs, keyword_only_inputs, output):
    x, ctx.dim, ctx.reverse = inputs
    ctx.dtype = x.dtype


def _cumsum_gradient(ctx, grad):
    """An element is in the sums from it on."""
    return torch.ops.bitfold.cumsum(grad, ctx.dim, not ctx.reverse, dtype=ctx.dtype), None, None


def _batch_cumsum(info, dims, x, dim, reverse=False, *, dtype=None):
    x = front(x, dims[0], info.batch_size)
    if x.ndim == 1:  # a batch of numbers
        return torch.ops.bitfold.cumsum(x.unsqueeze(1), 1, reverse, dtype=dtype).squeeze(1), 0
    return torch.ops.bitfold.cumsum(x, dim + (dim >= 0), reverse, dtype=dtype), 0


define(
    "cumsum", "(Tensor x, int dim, bool reverse=False, *, ScalarType? dtype=None) -> Tensor",
    running_sum, _fake_cumsum, _cumsum_gradient, _keep_cumsum, _batch_cumsum,
)  # fmt: skip
