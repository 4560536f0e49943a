"""The operators that reduce: each of a table along dimensions, by index and by segments."""

from collections import namedtuple

import torch

from .._library import OPS
from ._doors import put_door, put_door_of_autograd
from ._exact import JOINT, Fibres, Segments, Slots, dims_of, reduce, result_dtype


def define(name, schema, call, fake, gradient=None, keep=None, vmap=None, door=None):
    """Registers torch.ops.bitfold.<name>. One that gives one tensor also takes out=. door: the row of
    python/native that takes calls first, and which it is of those that share the row."""
    qualified = f"bitfold::{name}"
    torch.library.define(qualified, schema)
    torch.library.impl(qualified, "CompositeExplicitAutograd", call)
    torch.library.register_fake(qualified, fake)
    if gradient:
        torch.library.register_autograd(qualified, gradient, setup_context=keep)
    if vmap:
        torch.library.register_vmap(qualified, vmap)
    if door:
        call = put_door(name, call, *door)
    if door and gradient:
        put_door_of_autograd(name, gradient, keep, *door)
    if schema.endswith("-> Tensor"):
        _define_out(name, schema, call, fake)


def _define_out(name, schema, call, fake):
    arguments = schema[: schema.rindex(")")]
    star = "" if "*," in arguments else "*, "

    def check(*given, out, **options):
        made = fake(*given, **options)
        if (made.shape, made.dtype) != (out.shape, out.dtype):
            raise RuntimeError(
                f"bitfold::{name}: out has the shape {tuple(out.shape)} and the dtype {out.dtype},"
                f" not {tuple(made.shape)} and {made.dtype}"
            )

    def write(*given, out, **options):
        tensors = [each for each in (*given, out) if isinstance(each, torch.Tensor)]
        if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
            raise RuntimeError(f"bitfold::{name}: out= has no gradient, but an argument requires one")
        check(*given, out=out, **options)
        out.copy_(call(*given, **options))

    qualified = f"bitfold::{name}.out"
    torch.library.define(qualified, f"{arguments}, {star}Tensor(a!) out) -> ()")
    torch.library.impl(qualified, "CompositeExplicitAutograd", write)
    torch.library.register_fake(qualified, check)


# ---- gradients ------------------------------------------------------------------------------------

# Each takes the way (how results lie among elements), the gradient of the results, the results, the
# correction (of skew and kurtosis the bias) and the arrays, and returns the gradient of each array.


def _deviations(way, x):
    """The elements less the means of theirs."""
    return x - way.spread(way.total(x) / way.count())


def _of_sum(way, grad, made, correction, *arrays):
    return [way.spread(grad)]


def _of_mean(way, grad, made, correction, *arrays):
    return [way.spread(grad / way.count())]


def _of_var(way, grad, made, correction, x):
    return [way.spread(2 * grad / (way.count() - correction)) * _deviations(way, x)]


def _of_std(way, grad, made, correction, x):
    return _of_var(way, _over(grad, 2 * made), made, correction, x)


def _of_norm(way, grad, made, correction, x):
    return [way.spread(_over(grad, made)) * x]


def _over(grad, root):
    """A quotient whose slope, as that of a root at 0 in PyTorch, is 0."""
    return torch.where(root == 0, 0, grad) / torch.where(root == 0, 1, root)


def _of_extreme(way, grad, made, correction, x):
    equal = x == way.spread(made)
    return [torch.where(equal, way.spread(grad / way.total(equal)), 0)]


def _of_dot(way, grad, made, correction, a, b):
    grad = way.spread(grad)
    return [grad * b, grad * a]


def _of_average(way, grad, made, correction, x, weights):
    part = way.spread(grad / way.total(weights))
    return [part * weights, part * (x - way.spread(made))]


def _of_covariance(way, grad, made, correction, x, y):
    part = way.spread(grad / (way.count() - correction))
    return [part * _deviations(way, y), part * _deviations(way, x)]


def _of_correlation(way, grad, made, correction, x, y):
    x, y = (_deviations(way, each) for each in (x, y))
    xx, yy = (way.total(each * each) for each in (x, y))
    part = way.spread(grad / (xx.sqrt() * yy.sqrt()))
    return [part * y - way.spread(grad * made / xx) * x, part * x - way.spread(grad * made / yy) * y]


def _standard(way, made, x):
    """The numbers of elements, their standard deviations, and how many of these each is from the mean."""
    n, apart = torch.zeros_like(made) + way.count(), _deviations(way, x)
    deviation = (way.total(apart * apart) / n).sqrt()
    return n, deviation, apart * way.spread(1 / deviation)


def _of_skew(way, grad, made, bias, x):
    n, deviation, z = _standard(way, made, x)
    grad = grad if bias else grad * (n * (n - 1)).sqrt() / (n - 2)
    skew = way.total(z * z * z) / n
    return [way.spread(3 * grad / (n * deviation)) * (z * z - 1 - way.spread(skew) * z)]


def _of_kurtosis(way, grad, made, bias, x):
    n, deviation, z = _standard(way, made, x)
    grad = grad if bias else grad * (n * n - 1) / ((n - 2) * (n - 3))
    cube = z * z * z
    skew, fourth = way.total(cube) / n, way.total(cube * z) / n
    return [way.spread(4 * grad / (n * deviation)) * (cube - way.spread(skew) - way.spread(fourth) * z)]


# arrays: the name of each. keeps: whether the gradient needs elements and results. options: those of the
# schema.
_Reduction = namedtuple("_Reduction", "gradient arrays keeps options")
_DTYPE, _EMPTY = "ScalarType? dtype=None", "Scalar? empty=None"
_CORRECTION, _BIAS = f"int correction=1, {_DTYPE}", f"bool bias=True, {_DTYPE}"

REDUCTIONS = {
    "sum": _Reduction(_of_sum, "x", False, _DTYPE),
    "mean": _Reduction(_of_mean, "x", False, _DTYPE),
    "var": _Reduction(_of_var, "x", True, _CORRECTION),
    "std": _Reduction(_of_std, "x", True, _CORRECTION),
    "norm": _Reduction(_of_norm, "x", True, _DTYPE),
    "min": _Reduction(_of_extreme, "x", True, _EMPTY),
    "max": _Reduction(_of_extreme, "x", True, _EMPTY),
    "dot": _Reduction(_of_dot, "a b", True, _DTYPE),
    "average": _Reduction(_of_average, "x weights", True, _DTYPE),
    "covariance": _Reduction(_of_covariance, "x y", True, _CORRECTION),
    "correlation": _Reduction(_of_correlation, "x y", True, _DTYPE),
    "skew": _Reduction(_of_skew, "x", True, _BIAS),
    "kurtosis": _Reduction(_of_kurtosis, "x", True, _BIAS),
}

# ---- batches --------------------------------------------------------------------------------------

# Each calls an operator once for a whole batch: tensors have a further dimension, where `dims` says. They
# return the result and its dimension that is the batch.


def front(x, dim, size):
    """Returns x with the batch as its first dimension."""
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def _batch_along(op, size, dims, arrays, dim=None, keepdim=False, **options):
    arrays = [front(x, d, size) for x, d in zip(arrays, dims)]
    own = [d + 1 for d in dims_of(dim, arrays[0].ndim - 1)]
    return op(*arrays, own, keepdim, **options), 0


def _batch_index(op, size, dims, arrays, m, index, **options):
    arrays = [front(x, d, size) for x, d in zip(arrays, dims[2:])]
    if dims[1] is None:
        return op(m, index, *(x.movedim(0, 1) for x in arrays), **options), 1
    index = index.movedim(dims[1], 0)
    base = m * torch.arange(size, device=index.device).unsqueeze(1)
    slots = torch.where((index >= 0) & (index < m), index + base, -1)
    made = op(m * size, slots.flatten(), *(x.flatten(0, 1) for x in arrays), **options)
    return made.unflatten(0, (size, m)), 0


def _batch_segments(op, size, dims, arrays, offsets, **options):
    if dims[len(arrays)] is not None:
        raise NotImplementedError("vmap of segments takes one tensor of offsets for all")
    arrays = [front(x, d, size).movedim(0, 1) for x, d in zip(arrays, dims)]
    return op(*arrays, offsets, **options), 1


# ---- operators ------------------------------------------------------------------------------------

# name: an operator's. of: how results lie among elements. first: where the arrays are among the arguments;
# before, after: what the schema has there. batch: its call for a whole batch.
# doors: the rows of doors, for one array and for two.
_Way = namedtuple("_Way", "of name first before after batch doors")

WAYS = [
    _Way(Fibres, "{}", 0, "", "int[1]? dim=None, bool keepdim=False, ", _batch_along,
         ["operator", "operator of pairs"]),
    _Way(Slots, "index_{}", 2, "SymInt m, Tensor index, ", "", _batch_index, ["operator by index"]),
    _Way(Segments, "segment_{}", 0, "", "Tensor offsets, ", _batch_segments, ["operator of segments"]),
]  # fmt: skip


def _define_reduction(op, way):
    """Registers the operator of a reduction in one way."""
    gradient, names, keeps, options = REDUCTIONS[op]
    name = "index_add" if (op, way.of) == ("sum", Slots) else way.name.format(op)
    names = names.split()
    if way.of is Slots and names[1:] in ([], ["weights"]):
        names[0] = "values"
    first, last = way.first, way.first + len(names)
    schema = f"({way.before}{''.join(f'Tensor {x}, ' for x in names)}{way.after}*, {options}) -> Tensor"

    def apart(given):
        """The arrays among the arguments, and the others."""
        return given[first:last], given[:first] + given[last:]

    def call(*given, **options):
        arrays, rest = apart(given)
        return reduce(op, way.of(arrays[0].shape, *rest), arrays, **options)

    def fake(*given, dtype=None, **options):
        arrays, rest = apart(given)
        shape = way.of(arrays[0].shape, *rest).result_shape()
        return arrays[0].new_empty(shape, dtype=result_dtype(op, arrays, dtype))

    def keep(ctx, inputs, keyword_only_inputs, output):
        arrays, rest = apart(inputs)
        places = [each for each in rest if isinstance(each, torch.Tensor)]  # it is the last
        ctx.given, ctx.numbers = len(inputs), rest[: len(rest) - len(places)]
        ctx.shape, ctx.dtype = arrays[0].shape, arrays[0].dtype
        ctx.correction = keyword_only_inputs.get("correction", keyword_only_inputs.get("bias"))
        ctx.save_for_backward(*places, *((output, *arrays) if keeps else ()))

    def backward(ctx, grad):
        saved = ctx.saved_tensors
        places = len(saved) - (1 + len(names) if keeps else 0)
        where = way.of(ctx.shape, *ctx.numbers, *saved[:places])
        work = torch.promote_types(grad.dtype, torch.float32)
        made, *arrays = (x.to(work) for x in saved[places:]) if keeps else (None,)
        made = gradient(where, grad.to(work), made, ctx.correction, *arrays)
        rest = [None] * (ctx.given - last)
        return *[None] * first, *(x.to(ctx.dtype) for x in made), *rest

    def vmap(info, dims, *given, **options):
        arrays, rest = apart(given)
        return way.batch(getattr(torch.ops.bitfold, name), info.batch_size, dims, arrays, *rest, **options)

    door = None
    if op not in JOINT and len(names) <= len(way.doors):
        door = way.doors[len(names) - 1], OPS[op]
    define(name, schema, call, fake, backward, keep, vmap, door)


for _way in WAYS:
    for _op in REDUCTIONS:
        _define_reduction(_op, _way)
