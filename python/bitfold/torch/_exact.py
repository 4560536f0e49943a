"""Exact reductions of tensors: along dimensions, by index and by segments, rounded once to a dtype."""

import torch

import bitfold

_HALVES = {torch.float16: 2.0**16, torch.bfloat16: 2.0**128}  # the power of two after the greatest one
JOINT = "average", "covariance", "correlation", "skew", "kurtosis"  # a GPU has these of whole tensors alone
_NO_HALVES = "correlation", "skew", "kurtosis"  # no products say on which side of a half they are


def dims_of(dim, ndim):
    """Returns the dimensions from 0, each once; None: all. A number has one, as in PyTorch, which is none."""
    given = range(ndim) if dim is None or (ndim == 0 and set(dim) <= {0, -1}) else dim
    return sorted({d + ndim if d < 0 else d for d in given})


class Fibres:
    """The elements along dimensions of tensors of one shape."""

    def __init__(self, shape, dim=None, keepdim=False):
        self.shape, self.keepdim = shape, keepdim
        self.dims = dims_of(dim, len(shape))

    def result_shape(self):
        kept = [1 if d in self.dims else n for d, n in enumerate(self.shape)]
        return kept if self.keepdim else [n for d, n in enumerate(kept) if d not in self.dims]

    def is_whole(self):
        return len(self.dims) == len(self.shape)

    def to(self, device):
        return self

    def reduce(self, op, arrays, **options):
        return getattr(bitfold, op)(*arrays, axis=tuple(self.dims), keepdims=self.keepdim, **options)

    def reduce_whole(self, op, arrays, **options):
        made, dtype = getattr(bitfold, op)(*arrays, **options), getattr(torch, f"float{options['out_dtype'][1:]}")
        return torch.full(self.result_shape(), made, dtype=dtype, device=arrays[0].device)

    def total(self, x):
        return torch.ops.bitfold.sum(x, self.dims, self.keepdim)

    def count(self):
        n = 1
        for d in self.dims:
            n *= self.shape[d]
        return n

    def spread(self, results):
        """Gives each element what its fibre has."""
        for d in self.dims if not self.keepdim else ():
            results = results.unsqueeze(d)
        return results.expand(self.shape)

    def part(self, chosen):
        """Returns what the chosen results are of: which results, their way (then of rows) and a function
        of x that gives their elements."""
        first = list(range(len(self.dims)))
        columns = chosen.reshape([n for d, n in enumerate(self.shape) if d not in self.dims])
        way = Fibres([self.count(), int(chosen.sum())], [0])
        return chosen, way, lambda x: x.movedim(self.dims, first)[..., columns].reshape(way.shape)

    def dot_rows(self, terms, more):
        """Returns the exact dot products of pairs of rows, and of pairs of results."""
        a, b = (torch.cat([*xs, *(y.unsqueeze(0) for y in ys)]) for xs, ys in zip(zip(*terms), zip(*more)))
        return bitfold.dot(a, b, axis=0)


class Slots:
    """The rows of each of m slots: row i is in slot index[i]."""

    def __init__(self, shape, m, index):
        self.m, self.index, self.shape = m, index, shape

    def result_shape(self):
        return [self.m, *self.shape[1:]]

    def is_whole(self):
        return False

    def to(self, device):
        return Slots(self.shape, self.m, self.index.to(device))

    def reduce(self, op, arrays, **options):
        name = "index_add" if op == "sum" else f"index_{op}"
        return getattr(bitfold, name)(self.m, self.index, *arrays, **options)

    def total(self, x):
        return torch.ops.bitfold.index_add(self.m, self.index, x)

    def count(self):
        ones = torch.ones_like(self.index, dtype=torch.int64)
        return _beside(torch.ops.bitfold.index_add(self.m, self.index, ones), self.shape)

    def spread(self, results):
        return results.index_select(0, self.index)

    def part(self, chosen):
        slots, index = chosen.reshape(self.m, -1).any(1), self.index
        rows = torch.cat([slots, slots.new_zeros(1)]).index_select(0, index)  # a row may be in no slot
        number = slots.cumsum(0) - 1
        way = Slots([int(rows.sum()), *self.shape[1:]], int(slots.sum()), number[index[rows]])
        return slots, way, lambda x: x[rows]

    def dot_rows(self, terms, more):
        slots = torch.arange(self.m, dtype=self.index.dtype, device=self.index.device)
        index = torch.cat([self.index] * len(terms) + [slots] * len(more))
        a, b = (torch.cat(xs) for xs in zip(*terms, *more))
        return bitfold.index_dot(self.m, index, a, b)


class Segments(Slots):
    """The rows of each segment, offsets[s] to offsets[s + 1]. Others are in none."""

    def __init__(self, shape, offsets):
        self.offsets, self.shape, self.m = offsets, shape, offsets.shape[0] - 1

    def to(self, device):
        return Segments(self.shape, self.offsets.to(device))

    def reduce(self, op, arrays, **options):
        return getattr(bitfold, f"segment_{op}")(*arrays, self.offsets, **options)

    def total(self, x):
        return torch.ops.bitfold.segment_sum(x, self.offsets)

    def count(self):
        return _beside(self.offsets.diff(), self.shape)

    @property
    def index(self):
        """The segment of each row; m: none."""
        rows = torch.arange(self.shape[0], dtype=self.offsets.dtype, device=self.offsets.device)
        segment = torch.searchsorted(self.offsets, rows, right=True) - 1  # the last that begins there
        return torch.where(segment < 0, self.m, segment)

    def spread(self, results):
        none = results.new_zeros([1, *results.shape[1:]])
        return super().spread(torch.cat([results, none]))


def _beside(counts, shape):
    """Returns one number for each row, as a factor of rows of this shape."""
    return counts.reshape([-1] + [1] * (len(shape) - 1))


# ---- dtypes ---------------------------------------------------------------------------------------


def result_dtype(op, arrays, dtype=None):
    """Returns the dtype of results: the caller's, or the one that they have without it."""
    x = arrays[0]
    if any(each.dtype != x.dtype for each in arrays):
        names = " and ".join(str(each.dtype) for each in arrays)
        raise bitfold.DtypeError(f"{op} of {names}: the tensors have one dtype")
    if op in ("min", "max"):
        return x.dtype
    if dtype is None:
        if x.is_floating_point():
            return torch.float64 if x.dtype == torch.float64 else torch.float32
        return torch.int64 if op in ("sum", "dot") else torch.float64
    as_half = dtype in _HALVES and dtype == x.dtype and op not in _NO_HALVES
    if dtype not in (torch.float64, torch.float32) and not as_half:
        raise bitfold.ArgumentError(f"{op} of {x.dtype} is not rounded to {dtype}")
    return dtype


def reduce(op, way, arrays, dtype=None, *, correction=1, bias=True, empty=None):
    """Returns the exact results of a reduction, each rounded once to the dtype."""
    arrays = [x.detach() for x in arrays]
    dtype, device = result_dtype(op, arrays, dtype), arrays[0].device
    if op in JOINT and device.type == "cuda" and not way.is_whole():
        way, arrays = way.to("cpu"), [x.cpu() for x in arrays]
    options = {} if empty is None else {"empty": empty}
    if op in ("var", "std", "covariance"):
        options["correction"] = correction
    if op in ("skew", "kurtosis"):
        options["bias"] = bias
    if dtype.is_floating_point and op not in ("min", "max"):
        options["out_dtype"] = "f64" if dtype == torch.float64 else "f32"
    if arrays[0].is_cuda and torch.cuda.is_current_stream_capturing():
        options["check"] = "later"  # a graph waits for nothing
    call = way.reduce_whole if op in JOINT and way.is_whole() else way.reduce
    if op == "average":
        made = call("mean", arrays[:1], weights=arrays[1], **options)
    else:
        made = call(op, arrays, **options)
    if made.dtype == torch.uint64 and dtype == torch.int64:
        return _signed(made)
    if dtype in _HALVES and made.dtype == torch.float32:
        made = _untied(op, way, arrays, made, dtype, correction)
    return made.to(device, dtype)


def _signed(made):
    """Returns sums of unsigned integers as int64."""
    signed = made.view(torch.int64)
    if bool((signed < 0).any()):
        raise bitfold.RangeError("a sum does not fit int64")
    return signed


# A float32 that is rounded once more, to a half, gives what the exact value rounds to, unless it is in
# the middle between two halves and the exact value is beside it.


def _untied(op, way, arrays, made, dtype, correction):
    """Moves results that are in the middle between two halves towards the exact value."""
    above, below = (torch.nextafter(made, torch.full_like(made, end)) for end in (torch.inf, -torch.inf))
    top = _HALVES[dtype]
    upper, lower = (each.to(dtype).double().clamp(-top, top) for each in (above, below))
    tied = (upper > lower) & (upper + lower == 2 * made.double())
    if not bool(tied.any()):
        return made
    which, way, elements = way.part(tied)
    r, above, below, tied = (each[which] for each in (made, above, below, tied))
    beyond = _beyond(op, way, [elements(x).double() for x in arrays], r.double(), correction)
    r = torch.where(tied & (beyond > 0), above, r)
    made[which] = torch.where(tied & (beyond < 0), below, r)
    return made


def _beyond(op, way, arrays, r, correction):
    """Returns numbers of the sign of the exact results less r, by an exact dot product for each."""
    x, n, one = arrays[0], way.count(), torch.ones_like(r)
    spread = way.spread(one)
    if op == "sum":
        return way.dot_rows([(x, spread)], [(-r, one)])
    if op == "mean":
        return way.dot_rows([(x, spread)], [(-r, one * n)])
    if op == "dot":
        return way.dot_rows([tuple(arrays)], [(-r, one)])
    if op == "norm":
        return way.dot_rows([(x, x)], [(-r, r)])
    if op == "average":
        weights = arrays[1]
        weight = way.dot_rows([(weights, spread)], [(0 * one, one)])
        return weight.sign() * way.dot_rows([(x, weights), (way.spread(-r), weights)], [(0 * one, one)])
    # n times the sum of products, less the product of the sums, is what to divide.
    y, squared = arrays[-1], r * r if op == "std" else r
    return way.dot_rows(
        [(x * way.spread(one * n), y)],
        [
            (-squared * n, one * (n - correction)),
            *((-a, b) for a in _words(way, x, one) for b in _words(way, y, one)),
        ],
    )


def _words(way, x, one):
    """Returns the exact sums, each as several floats."""
    words, total = [], way.dot_rows([(x, way.spread(one))], [(0 * one, one)])
    while bool((total.isfinite() & (total != 0)).any()):
        words.append(total)
        total = way.dot_rows([(x, way.spread(one))], [(-word, one) for word in words])
    return words
