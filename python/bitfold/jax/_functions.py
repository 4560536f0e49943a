"""The functions of bitfold.jax, each of which calls a target that _native has."""

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._axis import _checked_axes
from .._dtypes import FLOATS, LONG_NAMES, dtype_name
from .._library import ArgumentError, DtypeError, ShapeError, library_path, native

for _name, _on_cpu, _on_gpu in native.jax_targets(library_path()) if native else []:
    jax.ffi.register_ffi_target(f"bitfold_{_name}", _on_cpu, platform="cpu")
    jax.ffi.register_ffi_target(f"bitfold_{_name}", _on_gpu, platform="CUDA")

_NAMES = {jnp.dtype(long): name for long, name in LONG_NAMES.items()}
_SLOTS_MOST = 2**31 - 1


def _call(name, results, *arrays, **numbers):
    """Calls a target. A batch is one call: the targets take any dimensions before those of an element."""
    if native is None:
        raise ImportError("bitfold.jax needs what of bitfold is written in C: install it with a C compiler")
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in results]
    numbers = {key: np.asarray(each, np.int64)[()] for key, each in numbers.items()}
    call = jax.ffi.ffi_call(f"bitfold_{name}", results, vmap_method="broadcast_all")
    return _vary_as(arrays, call(*arrays, **numbers))


def _sums(name, shape, dtype, *arrays, **numbers):
    """Calls a target of sums. The second result is its memory for sums that it makes narrower, or for the
    place of a wrong index."""
    results = [(shape, dtype)]
    if dtype in (np.int32, np.uint32):
        results.append(((*shape, 2), np.uint32))
    elif name == "segment_sum":
        results.append(((2,), np.uint32))
    return _call(name, results, *arrays, **numbers)[0]


# ---- arguments ------------------------------------------------------------------------------------


def _array(x):
    """Returns an array of JAX, of a dtype that bitfold has. JAX makes 64 bits 32: no value may change."""
    made = x if isinstance(x, jax.Array) else jnp.asarray(x)
    if getattr(x, "dtype", made.dtype) != made.dtype:
        with np.errstate(all="ignore"):
            kept = np.asarray(x).astype(made.dtype)
        if not np.array_equal(kept, x, equal_nan=True):
            raise DtypeError(f"values of {x.dtype} do not fit {made.dtype}: they need jax_enable_x64")
    if made.dtype not in _NAMES:
        raise DtypeError(f"dtype {made.dtype} is not supported")
    return made


def _dtype_of_sums(x, dtype):
    kind = _NAMES[x.dtype]
    if kind not in FLOATS:
        if dtype is not None:
            raise ArgumentError(f"sums of {x.dtype} are integers: dtype is for floats")
        return jax.dtypes.canonicalize_dtype(np.uint64 if kind[0] == "u" else np.int64)
    name = dtype_name(dtype) if dtype is not None else "f64" if kind == "f64" else "f32"
    if name not in ("f64", "f32"):
        raise DtypeError(f"sums are rounded to float64 or float32, not to {dtype}")
    made = np.dtype(np.float64 if name == "f64" else np.float32)
    if jax.dtypes.canonicalize_dtype(made) != made:
        raise DtypeError("sums of float64 need jax_enable_x64")
    return made


def _vary_as(arrays, results):
    """Makes results vary along all axes of a mesh along which one of the arrays does, under jax.shard_map."""
    if not any(isinstance(x, jax.core.Tracer) for x in arrays):
        return results
    every = frozenset().union(*map(_varying, arrays))
    return [_vary(x, tuple(every - _varying(x))) for x in results]


def _varying(x):
    kind = jax.typeof(x)
    return kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else kind.vma


def _vary(x, axes):
    if not axes:
        return x
    return jax.lax.pcast(x, axes, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(x, axes)


def _transposes(one, other):
    """Makes two linear functions of (x, way) the gradient of each other."""
    for f, g in ((one, other), (other, one)):
        f.defvjp(lambda x, way, f=f: (f(x, way), None), lambda way, _, grad, g=g: (g(grad, way),))


# ---- along axes -----------------------------------------------------------------------------------


class _Fibres(NamedTuple):
    """The elements along axes, which count from the end, of an array, and the dtype of their sums."""

    shape: tuple
    dtype: np.dtype
    axes: tuple
    of_sums: np.dtype

    def left(self):
        ndim = len(self.shape)
        return tuple(n for d, n in enumerate(self.shape) if d - ndim not in self.axes)


def _fibres(x, axis, dtype):
    _, axes = _checked_axes(axis, x.ndim)
    return _Fibres(x.shape, x.dtype, tuple(sorted(d - x.ndim for d in axes)), _dtype_of_sums(x, dtype))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _total(x, fibres):
    return _sums("sum", fibres.left(), fibres.of_sums, x, axes=fibres.axes)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _spread(sums, fibres):
    """Gives each element the sum of its fibre."""
    return jnp.broadcast_to(jnp.expand_dims(sums, fibres.axes), fibres.shape).astype(fibres.dtype)


_transposes(_total, _spread)
_total = jax.jit(_total, static_argnums=1)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _products(a, b, fibres):
    return _sums("dot", fibres.left(), fibres.of_sums, a, b, axes=fibres.axes)


def _products_gradient(fibres, factors, grad):
    grad = _spread(grad, fibres._replace(dtype=grad.dtype))
    a, b = factors
    return (grad * b).astype(a.dtype), (grad * a).astype(b.dtype)


_products.defvjp(lambda a, b, fibres: (_products(a, b, fibres), (a, b)), _products_gradient)
_products = jax.jit(_products, static_argnums=2)


def _kept(sums, fibres, keepdims):
    return jnp.expand_dims(sums, fibres.axes) if keepdims else sums


def sum(x, axis=None, keepdims=False, *, dtype=None):
    """The sums along axes (None: of all), each the exact one, rounded once."""
    x = _array(x)
    fibres = _fibres(x, axis, dtype)
    return _kept(_total(x, fibres), fibres, keepdims)


def dot(a, b, axis=None, keepdims=False, *, dtype=None):
    """The dot products along axes (None: of all) of two arrays of one shape and dtype, exact, rounded once."""
    a, b = _array(a), _array(b)
    if a.shape != b.shape:
        raise ShapeError(f"a dot product of arrays of the shapes {a.shape} and {b.shape}")
    if a.dtype != b.dtype:
        raise DtypeError(f"a dot product of {a.dtype} and {b.dtype}")
    fibres = _fibres(a, axis, dtype)
    a, b = _vary_as((a, b), (a, b))
    return _kept(_products(a, b, fibres), fibres, keepdims)


# ---- by index -------------------------------------------------------------------------------------


class _Slots(NamedTuple):
    """m slots for rows of a dtype, the dtype of their sums, and the target that adds."""

    m: int
    dtype: np.dtype
    of_sums: np.dtype
    target: str


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _add(index, rows, slots):
    shape = (slots.m, *rows.shape[1:])
    return _sums(slots.target, shape, slots.of_sums, index, rows)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _take(index, sums, slots):
    """Gives each row the sum of its slot."""
    if slots.m == 0:
        return jnp.zeros((*index.shape, *sums.shape[1:]), slots.dtype)
    return jnp.take(sums, index, axis=0, mode="clip").astype(slots.dtype)


for _one, _other in ((_add, _take), (_take, _add)):
    _one.defvjp(
        lambda index, x, slots, f=_one: (f(index, x, slots), index),
        lambda slots, index, grad, g=_other: (None, g(index, grad, slots)),
    )
_add = jax.jit(_add, static_argnums=2)


def _index_of(index, rows):
    index = _array(index)
    if not jnp.issubdtype(index.dtype, jnp.integer):
        raise DtypeError(f"an index is an integer, not {index.dtype}")
    if rows.ndim == 0 or index.shape != rows.shape[:1]:
        raise ShapeError(f"an index of the shape {index.shape} for rows of the shape {rows.shape}")
    return index.astype(np.int32) if index.dtype.itemsize < 4 else index


def _number_of_slots(m):
    m = operator.index(m)
    if not 0 <= m < _SLOTS_MOST:
        raise ArgumentError(f"{m} is no number of slots: it is from 0 to {_SLOTS_MOST - 1}")
    return m


def _sums_of_slots(index, rows, slots):
    return _add(*_vary_as((index, rows), (index, rows)), slots)


def index_add(m, index, values, *, dtype=None):
    """The exact sums of the rows of each of m slots: row i is in slot index[i], which must be there."""
    rows, m = _array(values), _number_of_slots(m)
    slots = _Slots(m, rows.dtype, _dtype_of_sums(rows, dtype), "index_add")
    return _sums_of_slots(_index_of(index, rows), rows, slots)


def segment_sum(data, segment_ids, num_segments, *, dtype=None):
    """The exact sums of the rows of each segment, as jax.ops.segment_sum: rows of no segment are left out."""
    rows, m = _array(data), _number_of_slots(num_segments)
    index = _index_of(segment_ids, rows)
    index = jnp.where((index >= 0) & (index < m), index, m)  # one slot more, of what is left out
    slots = _Slots(m + 1, rows.dtype, _dtype_of_sums(rows, dtype), "segment_sum")
    return _sums_of_slots(index, rows, slots)[:m]


# ---- order ----------------------------------------------------------------------------------------


def _in_order(x, axis, descending, *more):
    return _call("sort", [(x.shape, x.dtype), *more], x, axis=axis, descending=descending)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _sort(x, axis, descending):
    return _in_order(x, axis, descending)[0]


def _sort_with_index(x, axis, descending):
    if x.shape[axis] > _SLOTS_MOST:
        raise ShapeError(f"a gradient of sort along {x.shape[axis]} elements, which are more than {_SLOTS_MOST}")
    halves = _in_order(jax.lax.stop_gradient(x), axis, descending, ((*x.shape, 2), np.uint32))[1]
    index = halves[..., 0].astype(np.int32)  # the lower one of 64 bits
    return jnp.take_along_axis(x, index, axis), index


def _sort_gradient(axis, descending, index, grad):
    return (jnp.put_along_axis(jnp.zeros_like(grad), index, grad, axis, inplace=False),)


_sort.defvjp(_sort_with_index, _sort_gradient)
_sort = jax.jit(_sort, static_argnums=(1, 2))


def sort(x, axis=-1, *, descending=False):
    """The elements of each line in order: -0 is before +0, and NaN is greater than all others."""
    x = _array(x)
    if x.ndim == 0:
        raise ShapeError("an array of no dimensions has no order")
    _, axes = _checked_axes(operator.index(axis), x.ndim)
    return _sort(x, axes.pop() - x.ndim, bool(descending))
