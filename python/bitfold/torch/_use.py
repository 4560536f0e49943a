"""use(): a model's sums of floats, in its forward and backward passes, are bitfold's."""

import contextlib
import warnings

import torch
from torch._decomp import decomposition_table
from torch._ops import OpOverload
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import bitfold

from ._convolution import convolution, convolution_backward, matmul
from ._exact import Fibres, Slots, reduce
from ._scan import running_sum

_FLOATS = torch.float64, torch.float32, torch.float16, torch.bfloat16


def _is_ours(x):
    return x.dtype in _FLOATS and x.layout == torch.strided and x.device.type in ("cpu", "cuda")


# Each function below takes the arguments of an operator of PyTorch, and returns what it returns or
# NotImplemented: what is not a sum of floats is left to PyTorch.

# ---- along dimensions -----------------------------------------------------------------------------


def _along(op, x, dim=None, keepdim=False, **options):
    if not _is_ours(x):
        return NotImplemented
    return reduce(op, Fibres(x.shape, dim or None, keepdim), [x], x.dtype, **options)


def _reduction(op):
    def function(x, dim=None, keepdim=False, *, dtype=None):
        return _along(op, x if dtype is None else x.to(dtype), dim, keepdim)

    return function


def _variance(*ops):
    def function(x, dim=None, *, correction=None, keepdim=False):
        correction = 1 if correction is None else correction
        if correction not in (0, 1) or not _is_ours(x):
            return NotImplemented
        made = [_along(op, x, dim, keepdim, correction=int(correction)) for op in ops]
        return made[0] if len(made) == 1 else tuple(made)

    return function


def _cumsum(x, dim, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    return running_sum(x, dim) if _is_ours(x) else NotImplemented


def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = x if dtype is None else x.to(dtype)
    if ord == 2:
        return _along("norm", x, dim, keepdim)
    return _along("sum", x.abs(), dim, keepdim) if ord == 1 else NotImplemented


def _norms(tensors, ord=2, dtype=None):
    made = [_vector_norm(x, ord, dtype=dtype) for x in tensors]
    return NotImplemented if any(each is NotImplemented for each in made) else made


# ---- products of matrices -------------------------------------------------------------------------


def _dot(a, b):
    return reduce("dot", Fibres(a.shape), [a, b], a.dtype) if _is_ours(a) else NotImplemented


def _of_floats(function):
    """A function that leaves to PyTorch what is not ours."""
    return lambda x, *given: function(x, *given) if _is_ours(x) else NotImplemented


_mm = _of_floats(matmul)


def _mv(a, x):
    return NotImplemented if not _is_ours(a) else _mm(a, x.unsqueeze(1)).squeeze(1)


def _bmm_sum(a, b):
    return _mm(a.transpose(0, 1).flatten(1), b.flatten(0, 1))


def _trilinear(a, b, c, new_a, new_b, new_c, summed, unroll_dim=1):
    if not _is_ours(a):
        return NotImplemented
    for d in range(len(new_a) + a.ndim):
        a, b, c = (x.unsqueeze(d) if d in new else x for x, new in ((a, new_a), (b, new_b), (c, new_c)))
    pair = torch.broadcast_tensors(a * b, c)
    return reduce("dot", Fibres(pair[0].shape, summed), list(pair), c.dtype)


def _plus(product):
    """beta * c + alpha * product(a, b), where the product is rounded before it is added."""

    def function(c, a, b, *, beta=1, alpha=1):
        made = product(a, b)
        if made is NotImplemented:
            return made
        made = made if alpha == 1 else made * alpha
        return made if beta == 0 else made + (c if beta == 1 else c * beta)

    return function


# ---- by index -------------------------------------------------------------------------------------


def _onto(rows, index, more, op="sum", alpha=1, include_self=True):
    """Reduces each row and what falls on it; without the row, where something falls and it is excluded."""
    if more.dtype != rows.dtype:
        raise bitfold.DtypeError(f"{more.dtype} is added to {rows.dtype}")
    own = torch.arange(len(rows), dtype=index.dtype, device=index.device)
    if not include_self:
        own = own[torch.bincount(index, minlength=len(rows)) == 0]
    arrays = [torch.cat([rows[own], more])]
    if alpha != 1:
        op = "dot"
        arrays.append(torch.cat([torch.ones_like(rows[own]), torch.full_like(more, alpha)]))
    way = Slots(arrays[0].shape, len(rows), torch.cat([own, index]))
    return reduce(op, way, arrays, rows.dtype)


def _index_add(x, dim, index, source, *, alpha=1):
    if not _is_ours(x):
        return NotImplemented
    rows, more = (each.movedim(dim, 0) if each.ndim else each.reshape(1) for each in (x, source))
    made = _onto(rows, index.reshape(-1), more, alpha=alpha)
    return made.movedim(0, dim) if x.ndim else made.reshape(())


def _places(x):
    """The number of each element of x, in x's shape."""
    return torch.arange(x.numel(), device=x.device).reshape(x.shape)


def _scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    if not _is_ours(x) or reduce not in ("sum", "mean"):
        return NotImplemented
    places = _places(x).gather(dim, index).reshape(-1)
    src = src[tuple(slice(n) for n in index.shape)].reshape(-1)
    return _onto(x.reshape(-1), places, src, reduce, include_self=include_self).reshape(x.shape)


def _scatter_add(x, dim, index, src):
    return _scatter_reduce(x, dim, index, src, "sum")


def _index_put(x, indices, values, accumulate=False, unsafe=False):
    if not accumulate or not _is_ours(x):
        return NotImplemented
    places = torch.ops.aten.index(_places(x), indices)
    values = values.expand(places.shape).reshape(-1)
    return _onto(x.reshape(-1), places.reshape(-1), values).reshape(x.shape)


def _embedding_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    if not _is_ours(grad):
        return NotImplemented
    rows, index = grad.reshape(-1, grad.shape[-1]), indices.reshape(-1)
    used = index != padding_idx
    rows, index = rows[used], index[used]
    way = Slots(rows.shape, num_weights, index)
    made = reduce("mean" if scale_grad_by_freq else "sum", way, [rows], rows.dtype)
    return torch.where(way.count() == 0, 0, made) if scale_grad_by_freq else made


# ---- recurrent layers on a GPU --------------------------------------------------------------------

# PyTorch's kernels compute each element, and add up the gradients of biases where they are asked to.


def _lstm_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    backward = torch.ops.aten._thnn_fused_lstm_cell_backward_impl
    gates, grad_cx, _ = backward(grad_hy, grad_cy, cx, cy, workspace, False)
    return gates, grad_cx, _along("sum", gates, [0]) if has_bias else None


def _gru_backward(grad_hy, workspace, has_bias):
    *made, _, _ = torch.ops.aten._thnn_fused_gru_cell_backward(grad_hy, workspace, False)
    return *made, *(_along("sum", gates, [0]) if has_bias else None for gates in made[:2])


# ---- tables ---------------------------------------------------------------------------------------


def _overloads(table):
    """Operators by the names in a table's keys, those that this PyTorch has."""
    for names, value in table.items():
        for name in names.split():
            packet, _, overload = name.partition(".")
            found = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if found is not None:
                yield found, value


def _forms(names):
    """All overloads of the operators that are named, and that this PyTorch has."""
    for name in names.split():
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet else ():
            yield getattr(packet, overload)


_TAKEN = dict(_overloads({
    "sum sum.dim_IntList sum.out sum.IntList_out": _reduction("sum"),
    "mean mean.dim mean.out mean.dtype_out": _reduction("mean"),
    "var.correction var.correction_out": _variance("var"),
    "std.correction std.correction_out": _variance("std"),
    "var_mean.correction": _variance("var", "mean"),
    "std_mean.correction": _variance("std", "mean"),
    "linalg_vector_norm linalg_vector_norm.out": _vector_norm,
    "_foreach_norm.Scalar": _norms,
    "cumsum cumsum_ cumsum.out": _cumsum,
    "dot dot.out vdot vdot.out": _dot,
    "mm mm.out bmm bmm.out": _mm,
    "mv mv.out": _mv,
    "addmm addmm_ addmm.out baddbmm baddbmm_ baddbmm.out": _plus(_mm),
    "addmv addmv_ addmv.out": _plus(_mv),
    "addbmm addbmm_ addbmm.out": _plus(_bmm_sum),
    "_trilinear": _trilinear,
    "convolution": _of_floats(convolution),
    "convolution_backward": _of_floats(convolution_backward),
    "index_add index_add_ index_add.out": _index_add,
    "scatter_add scatter_add_ scatter_add.out": _scatter_add,
    "scatter_reduce.two scatter_reduce_.two scatter_reduce.two_out": _scatter_reduce,
    "index_put index_put_ index_put.out _index_put_impl_ _unsafe_index_put": _index_put,
    "embedding_dense_backward embedding_dense_backward.out": _embedding_backward,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
    "_thnn_fused_gru_cell_backward": _gru_backward,
}))  # fmt: skip

# These, in all their forms, are computed by PyTorch's own definitions from the operators above.
_DEFINED = """
    _softmax _softmax_backward_data _log_softmax _log_softmax_backward_data _safe_softmax logsumexp
    native_layer_norm native_layer_norm_backward native_group_norm native_group_norm_backward
    _fused_rms_norm _fused_rms_norm_backward native_batch_norm native_batch_norm_backward
    _native_batch_norm_legit _native_batch_norm_legit_no_training _batch_norm_with_update
    cudnn_batch_norm cudnn_batch_norm_backward batch_norm_backward
    nll_loss_forward nll_loss2d_forward mse_loss smooth_l1_loss huber_loss soft_margin_loss
    binary_cross_entropy binary_cross_entropy_with_logits multi_margin_loss
    multilabel_margin_loss_forward norm nansum trace dist _euclidean_dist _weight_norm_interface renorm
"""
_DEFINITIONS = {
    op: decomposition_table[op] for op in _forms(_DEFINED) if op in decomposition_table
}

# These add floats, and are PyTorch's.
_LEFT = set(_forms("""
    logcumsumexp bincount _embedding_bag _embedding_bag_forward_only _embedding_bag_dense_backward
    avg_pool2d avg_pool3d avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d
    _adaptive_avg_pool3d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
    max_pool2d_with_indices_backward max_pool3d_with_indices_backward
    _cdist_forward _cdist_backward _pdist_forward _pdist_backward _ctc_loss _ctc_loss_backward
    mkldnn_rnn_layer mkldnn_rnn_layer_backward _cudnn_rnn _cudnn_rnn_backward segment_reduce index_reduce
    _segment_reduce_backward multi_margin_loss_backward multilabel_margin_loss_backward
    _addmm_activation _scaled_mm _grouped_mm _transformer_encoder_layer_fwd _native_multi_head_attention
    _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention
    _scaled_dot_product_cudnn_attention _scaled_dot_product_flash_attention_for_cpu
    _fft_c2c _fft_r2c _fft_c2r linalg_solve_triangular linalg_lu_factor_ex linalg_qr linalg_cholesky_ex
    linalg_inv_ex _linalg_solve_ex _linalg_det _linalg_eigh linalg_eig _linalg_svd linalg_lstsq
    linalg_matrix_exp cholesky_solve grid_sampler_2d_backward grid_sampler_3d_backward
    upsample_linear1d_backward upsample_bilinear2d_backward upsample_trilinear3d_backward
    upsample_bicubic2d_backward unfold_backward im2col_backward col2im
""")) | {op for op, _ in _overloads({"""
    mm.dtype bmm.dtype addmm.dtype baddbmm.dtype softmax.int_out log_softmax.int_out
""": None})}  # fmt: skip


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        made = NotImplemented if types else self._made(func, args, kwargs)
        return func(*args, **kwargs) if made is NotImplemented else made

    def _made(self, func, args, kwargs):
        if func in _TAKEN:
            return _take(func, args, **kwargs)
        if func in _LEFT and any(isinstance(x, torch.Tensor) and _is_ours(x) for x in args):
            warnings.warn(f"bitfold.torch.use: {func} is PyTorch's, whose sums of floats are not exact")
        with self:
            if func in _DEFINITIONS:
                return _DEFINITIONS[func](*args, **kwargs)
            # Where no gradient is wanted, an operator made of others comes whole.
            return func.decompose(*args, **kwargs) if isinstance(func, OpOverload) else NotImplemented


def _take(func, args, *, out=None, **options):
    _refuse(func, args, options if out is None else {**options, "out": out})
    if out is not None:  # it has another dtype where PyTorch computes in that
        args = (args[0].to(out.dtype), *args[1:])
    made = _TAKEN[func](*args, **options)
    if made is NotImplemented:
        return made
    if out is None and not func._schema.is_mutable:
        return made
    out = args[0] if out is None else out
    return (out if out.shape == made.shape else out.resize_(made.shape)).copy_(made)


def _refuse(func, args, kwargs):
    """Raises PyTorch's error, if the arguments do not go together. An operator without a meta function looks at
    them when it is called."""
    args, kwargs = tree_map_only(torch.Tensor, lambda x: x.to("meta"), (args, kwargs))
    with contextlib.suppress(NotImplementedError):
        func(*args, **kwargs)


_mha = torch.backends.mha
_FUSED = {  # what says whether kernels that hold several operators are used, and what sets it
    _mha.get_fastpath_enabled: _mha.set_fastpath_enabled,
    lambda: torch.backends.mkldnn.enabled: lambda on: setattr(torch.backends.mkldnn, "enabled", on),
    lambda: torch.backends.cudnn.enabled: lambda on: setattr(torch.backends.cudnn, "enabled", on),
}


@contextlib.contextmanager
def _plain_kernels():
    """Keeps PyTorch from kernels whose sums are out of reach."""
    before = [(switch, state()) for state, switch in _FUSED.items()]
    try:
        for switch, _ in before:
            switch(False)
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        for switch, on in before:
            switch(on)


@contextlib.contextmanager
def use():
    """Makes the sums of floats of PyTorch exact and rounded once, in what runs within.

        with bitfold.torch.use():
            loss = model(x)
            loss.backward()

    So they do not depend on threads, on the device or on the order of what is added by index. Dtypes and
    shapes are PyTorch's. It takes sum, cumsum, mean, var, std, norms, dot, products of matrices, convolutions,
    index_add, scatter_add, scatter_reduce, index_put and the gradients of embeddings, also in place, with
    out=, and where softmax, losses, attention, recurrent and normalizing layers add. All else is PyTorch's own;
    where it is known to add floats, as logcumsumexp, pooling and linear algebra do, there is a warning. A
    backward pass is exact if it runs within, too. Functions of torch.compile run there as they are
    written, without a compiler.
    """
    with _plain_kernels(), _Mode():
        yield
