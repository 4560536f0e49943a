"""Arrays that are hard to reduce: random and adversarial, of every dtype, size and layout."""

import math

import numpy as np

from oracle import FLOATS, HELD

# exponent bits, mantissa bits
LAYOUTS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
UINT = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def floats(dtype, sign, exponent, mantissa):
    """Floats out of their three fields, as the held type."""
    e, m = LAYOUTS[dtype]
    unsigned = UINT[dtype]
    bits = sign.astype(unsigned) << unsigned(e + m)
    bits |= exponent.astype(unsigned) << unsigned(m)
    return (bits | mantissa.astype(unsigned)).view(HELD[dtype])


def _fields(rng, dtype, n, low, high):
    """Random floats with biased exponents in [low, high]."""
    e, m = LAYOUTS[dtype]
    exponent = rng.integers(max(low, 0), min(high, 2**e - 2) + 1, n)
    return floats(dtype, rng.integers(0, 2, n), exponent, rng.integers(0, 2**m, n))


def _bias(dtype):
    return 2 ** (LAYOUTS[dtype][0] - 1) - 1


def _negated(x, dtype):
    return (x.view(UINT[dtype]) ^ UINT[dtype](1 << (sum(LAYOUTS[dtype])))).view(x.dtype)


def uniform(rng, dtype, n):
    b = _bias(dtype)
    return _fields(rng, dtype, n, b - 12, b)


def positive(rng, dtype, n):
    x = uniform(rng, dtype, n)
    return np.where(x.view(UINT[dtype]) >> sum(LAYOUTS[dtype]) == 0, x, _negated(x, dtype))


def normal(rng, dtype, n):
    x = rng.normal(rng.choice([0.0, 1.0, 1000.0]), 1.0, n)
    if dtype == "bf16":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(HELD[dtype])


def spread(rng, dtype, n):
    width = int(rng.integers(1, 200))
    centre = int(rng.integers(0, 2 * _bias(dtype)))
    return _fields(rng, dtype, n, centre - width, centre + width)


def full_range(rng, dtype, n):
    return _fields(rng, dtype, n, 0, 2 ** LAYOUTS[dtype][0])


def any_bits(rng, dtype, n):
    return rng.integers(0, 2 ** (1 + sum(LAYOUTS[dtype])), n, dtype=UINT[dtype]).view(HELD[dtype])


def subnormal(rng, dtype, n):
    return _fields(rng, dtype, n, 0, int(rng.integers(0, 3)))


def cancelling(rng, dtype, n):
    """x and -x in random order, and a few that do not cancel."""
    half = rng.choice([uniform, spread, full_range])(rng, dtype, n // 2)
    rest = n - 2 * len(half)
    x = np.concatenate([half, _negated(half, dtype), uniform(rng, dtype, rest)])
    few = min(n, int(rng.integers(0, 3)))
    x[:few] = subnormal(rng, dtype, few)
    return rng.permutation(x)


def ties(rng, dtype, n):
    """A sum exactly halfway between two f64, or two f32, or off by far smaller elements."""
    e, m = LAYOUTS[dtype]
    step = int(rng.choice([24, 53] if e > 8 else [min(24, m + 14)]))
    top = int(rng.integers(step + 1, 2**e - 1))
    exponent = np.zeros(n, dtype=np.int64)
    mantissa = np.zeros(n, dtype=np.int64)
    exponent[:2] = [top, top - step][:n]
    mantissa[:1] = rng.choice([0, 1, 2, 2**m - 1])
    if rng.random() < 0.6:
        mantissa[2:] = rng.random(max(n - 2, 0)) < 2 / max(n, 2)
    sign = rng.integers(0, 2, n)
    sign[1:2] = sign[:1]
    return rng.permutation(floats(dtype, sign, exponent, mantissa))


def huge(rng, dtype, n):
    """Around the greatest finite number: partial sums overflow, the sum often does not."""
    e, m = LAYOUTS[dtype]
    x = _fields(rng, dtype, n, 2**e - 3, 2**e - 2)
    top = np.full(n, 2**m - 1)
    most = floats(dtype, rng.integers(0, 2, n), np.full(n, 2**e - 2), top)
    return np.where(rng.random(n) < 0.7, most, x)


def negative_zeros(rng, dtype, n):
    zero = np.zeros(n, dtype=np.int64)
    return floats(dtype, zero + 1, zero, zero)


def zeros(rng, dtype, n):
    zero = np.zeros(n, dtype=np.int64)
    return floats(dtype, rng.random(n) < 0.9, zero, zero)


def with_nans(rng, dtype, n):
    """NaNs of every payload and sign among other values."""
    e, m = LAYOUTS[dtype]
    x = rng.choice([uniform, negative_zeros, full_range])(rng, dtype, n)
    nan = floats(dtype, rng.integers(0, 2, n), np.full(n, 2**e - 1), rng.integers(1, 2**m, n))
    return np.where(rng.random(n) < rng.choice([0.01, 0.5, 1.0]), nan, x)


def with_infinities(rng, dtype, n):
    e, _ = LAYOUTS[dtype]
    x = rng.choice([uniform, zeros, with_nans])(rng, dtype, n)
    sign = rng.random(n) < rng.choice([0.0, 0.5, 1.0])
    infinity = floats(dtype, sign, np.full(n, 2**e - 1), np.zeros(n, dtype=np.int64))
    return np.where(rng.random(n) < rng.choice([0.001, 0.3]), infinity, x)


def repeated(rng, dtype, n):
    few = any_bits(rng, dtype, 3) if rng.random() < 0.2 else uniform(rng, dtype, 3)
    return rng.choice(few, n)


def ints_any(rng, dtype, n):
    info = np.iinfo(HELD[dtype])
    return rng.integers(info.min, info.max, n, dtype=HELD[dtype], endpoint=True)


def ints_extreme(rng, dtype, n):
    info = np.iinfo(HELD[dtype])
    few = [info.min, info.max, info.max - 1, 0, 1]
    return rng.choice(np.array(few, dtype=HELD[dtype])[: rng.integers(1, 6)], n)


def ints_small(rng, dtype, n):
    return rng.integers(0, 2, n).astype(HELD[dtype])


FLOAT_KINDS = (
    uniform, positive, normal, spread, full_range, any_bits, subnormal, cancelling, ties, ties,
    huge, negative_zeros, zeros, with_nans, with_infinities, repeated,
)  # fmt: skip
INT_KINDS = (ints_any, ints_extreme, ints_small)
SIZES = (0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 1000, 1023)
LARGE = (4095, 4096, 4097, 8193, 20_001)
LARGEST = (100_000, 1_100_009, 2_200_009, 4_300_009)  # bytes; a thread starts for each MiB


def values(rng, dtype, n):
    """n values of a random kind."""
    kinds = FLOAT_KINDS if dtype in FLOATS else INT_KINDS
    return kinds[rng.integers(len(kinds))](rng, dtype, n)


def size(rng, dtype):
    u = rng.random()
    if u < 0.01:
        return int(rng.choice(LARGEST)) // np.dtype(HELD[dtype]).itemsize
    return int(rng.choice(LARGE if u < 0.12 else SIZES))


def _misaligned(x):
    buffer = np.empty(x.nbytes + 1, dtype=np.uint8)
    view = np.ndarray(x.shape, x.dtype, buffer=buffer.data, offset=1)
    view[...] = x
    return view


def _every_third(x):
    wide = np.zeros(3 * len(x) + 1, dtype=x.dtype)
    wide[1::3] = x
    return wide[1::3]


def _folded(x, order):
    """As many as fit of x as a three-dimensional array."""
    n = len(x) // 6
    return np.array(x[: 6 * n].reshape(2, n, 3), order=order)


def laid_out(rng, x):
    """The values in some layout of memory; some layouts repeat or leave out a few."""
    layout = rng.integers(10)
    if layout < 4:
        return x
    return (
        lambda: _misaligned(x),
        lambda: _every_third(x),
        lambda: x[::-1],
        lambda: np.broadcast_to(x, (3, len(x))) if len(x) < 3000 else x,
        lambda: _folded(x, "F"),
        lambda: _folded(x, "C")[::-1, :, 1:],
    )[layout - 4]()


EXTENTS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 100)
MOST = 4000  # elements, of most arrays
LONG = 70_000  # a few are so long


def shape_of(rng):
    """Extents of 1 to 8 dimensions; an extent 0 is rare enough that most arrays have elements."""
    ndim = int(rng.choice([1, 2, 2, 2, 3, 3, 4, 5, 8]))
    most = LONG if rng.random() < 0.03 else MOST
    shape = []
    for _ in range(ndim):
        whole = math.prod(e or 1 for e in shape)  # an empty array can have as many results
        fits = [e for e in EXTENTS if e * whole <= most and (e or rng.random() < 0.1)]
        shape.append(int(rng.choice(fits)))
    if rng.random() < 0.2 and math.prod(shape):
        shape[rng.integers(ndim)] *= max(1, most // math.prod(shape))
    return [shape[i] for i in rng.permutation(ndim)]


def placed_anyhow(rng, x):
    """Returns these elements in another layout of memory; a few layouts repeat elements."""
    u = rng.random()
    if u < 0.4 or not x.size:
        return x
    if u < 0.6:
        order = rng.permutation(x.ndim)
        return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    if u < 0.7:
        return x[tuple(slice(None, None, int(rng.choice([1, -1]))) for _ in x.shape)]
    if u < 0.8:
        wide = np.zeros([2 * n + 1 for n in x.shape] if x.ndim < 5 else x.shape, x.dtype)
        part = wide[tuple(slice(1, None, 2) for _ in x.shape)] if x.ndim < 5 else wide
        part[...] = x
        return part
    if u < 0.9:
        first = tuple(slice(0, 1) if rng.random() < 0.3 else slice(None) for _ in x.shape)
        return np.broadcast_to(x[first], x.shape)
    buffer = np.empty(x.nbytes + 1, np.uint8)
    off = np.ndarray(x.shape, x.dtype, buffer=buffer.data, offset=1)
    off[...] = x
    return off
