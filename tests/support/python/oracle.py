"""What the answers are, worked out with Python's integers and fractions: no code of bitfold's.

A Case holds an array (and, for dot, a second one) in NumPy form with the bitfold name of its dtype;
its value() is the exact answer rounded once, or the exception that belongs there.
"""

import math
import operator
import struct
from fractions import Fraction

import numpy as np

import bitfold
from rounding import FORMATS, round_to

INTS = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
DTYPES = INTS + FLOATS
# How NumPy holds each: bf16 as its bits, bool as bytes that need not be 0 or 1.
HELD = {
    "bool": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
OPS = ("sum", "mean", "var", "std", "sumsq", "norm", "min", "max", "argmin", "argmax", "dot")
FEW = 30  # elements, which Python adds faster than NumPy does


def root_to(q, form="f64"):
    """The square root of a Fraction, rounded once: a truncated root with 70 bits or more, whose
    last bit says whether anything was cut off, is on the same side of every tie as the root."""
    if q == 0:
        return 0.0
    shift = max(0, 2 * 70 - q.numerator.bit_length() + q.denominator.bit_length())
    shift += shift & 1
    scaled, rest = divmod(q.numerator << shift, q.denominator)
    root = math.isqrt(scaled)
    sticky = bool(rest) or root * root != scaled
    return round_to(Fraction(2 * root + sticky) / 2 ** (shift // 2 + 1), form)


def same(a, b):
    """Equal in type and to the bit."""
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return type(a) is type(b) and a == b


def as_f64(x, dtype):
    """Floats of any format as f64, which holds them all."""
    if dtype == "f64":
        return x
    if dtype == "bf16":
        x = (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def _decode(x):
    """Finite f64 as mantissa * 2**exponent, both int64."""
    bits = x.view(np.int64)
    field = (bits >> 52) & 0x7FF
    mantissa = (bits & (2**52 - 1)) | np.where(field > 0, 2**52, 0)
    return np.where(bits < 0, -mantissa, mantissa), np.maximum(field, 1) - 1075


def _pieces(m, width):
    """Three pieces of a 64-bit integer: m = a + b * 2**width + c * 2**(2*width)."""
    mask = (1 << width) - 1
    return [m & m.dtype.type(mask), (m >> width) & m.dtype.type(mask), m >> (2 * width)]


def _binned(exponents, weights):
    """The exact sum of weights[i] * 2**exponents[i]; f64 holds the sums of blocks of 2**15 weights
    below 2**37."""
    total = Fraction(0)
    for i in range(0, len(weights), 1 << 15):
        e = exponents[i : i + (1 << 15)]
        least = int(e.min())
        sums = np.bincount(e - least, weights[i : i + (1 << 15)].astype(np.float64))
        block = 0
        for bin in np.flatnonzero(sums):
            block += int(sums[bin]) << int(bin)
        total += block * Fraction(2) ** least
    return total


def _dot_of_few(x, y, dtype):
    """exact_dot, number by number."""
    if dtype in INTS:
        return sum(map(operator.mul, x.tolist(), y.tolist()))
    a, b = ([v.as_integer_ratio() for v in as_f64(each, dtype).tolist()] for each in (x, y))
    products = [(p * r, q.bit_length() + s.bit_length() - 2) for (p, q), (r, s) in zip(a, b)]
    most = max(below for _, below in products)
    return Fraction(sum(p << (most - below) for p, below in products), 1 << most)


def exact_dot(x, y, dtype):
    """The exact sum of x[i] * y[i] of finite values: int or Fraction."""
    if 0 < len(x) <= FEW:
        return _dot_of_few(x, y, dtype)
    if dtype in INTS:
        wide = np.uint64 if dtype.startswith("u") else np.int64
        a, b = (_pieces(each.astype(wide), 22) for each in (x, y))
        return sum(
            int((a[i] * b[j])[k : k + 65536].sum()) << (22 * (i + j))
            for i in range(3) for j in range(3) for k in range(0, len(x), 65536)
        )  # fmt: skip
    (m, e), (n, f) = _decode(as_f64(x, dtype)), _decode(as_f64(y, dtype))
    a, b = _pieces(m, 18), _pieces(n, 18)
    total = Fraction(0)
    for i in range(3):
        for j in range(3):
            total += _binned(e + f, a[i] * b[j]) * 2 ** (18 * (i + j))
    return total


def _ones_like(x, dtype):
    return np.full_like(x, 0x3F80 if dtype == "bf16" else 1)


def exact_sum(x, dtype):
    if dtype in INTS or 0 < len(x) <= FEW:
        return exact_dot(x, _ones_like(x, dtype), dtype)
    m, e = _decode(as_f64(x, dtype))
    low = _binned(e, m & (2**26 - 1))
    return low + _binned(e, m >> 26) * 2**26


class Case:
    """One array, its dtype, and what each reduction of it is."""

    def __init__(self, x, dtype, y=None):
        self.dtype = dtype
        self.flat = np.ascontiguousarray(x).reshape(-1)
        self.other = None if y is None else np.ascontiguousarray(y).reshape(-1)
        if dtype == "bool":
            self.flat = (self.flat != 0).astype(np.uint8)
            self.other = None if y is None else (self.other != 0).astype(np.uint8)
        self.is_float = dtype in FLOATS
        if self.is_float:
            self._survey()
        self._moments = {}

    def _survey(self):
        wide = as_f64(self.flat, self.dtype)
        self.nan = np.isnan(wide)
        self.infinities = {float(v) for v in wide[np.isinf(wide)]}
        self.finite = self.flat[np.isfinite(wide)]
        numbers = wide[~self.nan]
        self.only_negative_zeros = len(numbers) > 0 and bool(
            np.all((numbers == 0) & np.signbit(numbers))
        )

    def moment(self, k):
        """The exact sum of the k-th powers of what is finite, for k = 0, 1, 2."""
        if k not in self._moments:
            x = self.finite if self.is_float else self.flat
            f = (len, lambda v: exact_sum(v, self.dtype), lambda v: exact_dot(v, v, self.dtype))[k]
            self._moments[k] = f(x) if len(x) else 0
        return self._moments[k]

    def value(self, op, nan="propagate", out_dtype=None, ddof=0):
        """The answer, or the exception's class."""
        if op == "dot":
            return self._dot(nan, out_dtype)
        if self.is_float and nan == "error" and self.nan.any():
            return bitfold.NanError
        if op in ("min", "max", "argmin", "argmax"):
            return self._order(op, nan)
        if not self.is_float and op in ("sum", "sumsq") and out_dtype is None:
            return self.moment(1 if op == "sum" else 2)
        form = out_dtype or "f64"
        if self.is_float:
            if nan == "propagate" and self.nan.any():
                return math.nan
            if self.infinities:
                return self._infinite(op)
            if op in ("sum", "mean") and self.only_negative_zeros:
                return -0.0
        return self._finite(op, form, ddof)

    def _infinite(self, op):
        if op in ("sumsq", "norm"):
            return math.inf
        if op in ("var", "std") or len(self.infinities) == 2:
            return math.nan
        return next(iter(self.infinities))

    def _finite(self, op, form, ddof):
        n = self.moment(0)
        if op in ("mean", "var", "std") and n - (ddof if op != "mean" else 0) <= 0:
            return math.nan
        if op == "sum":
            return round_to(Fraction(self.moment(1)), form)
        if op == "mean":
            return round_to(Fraction(self.moment(1)) / n, form)
        if op == "sumsq":
            return round_to(Fraction(self.moment(2)), form)
        if op == "norm":
            return root_to(Fraction(self.moment(2)), form)
        spread = Fraction(n * self.moment(2) - self.moment(1) ** 2) / (n * (n - ddof))
        return round_to(spread, form) if op == "var" else root_to(spread, form)

    def _order(self, op, nan):
        if self.is_float and nan == "propagate" and self.nan.any():
            return math.nan if op in ("min", "max") else int(np.argmax(self.nan))
        keys = self.flat
        where = np.arange(len(keys))
        if self.is_float:
            bits = as_f64(self.flat, self.dtype).view(np.int64)
            keys = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
            where = where[~self.nan]
        if not len(where):
            return bitfold.EmptyError
        pick = np.argmin if op.endswith("min") else np.argmax
        index = int(where[pick(keys[where])])
        if op.startswith("arg"):
            return index
        if self.is_float:
            return float(as_f64(self.flat[index : index + 1], self.dtype)[0])
        return bool(self.flat[index]) if self.dtype == "bool" else int(self.flat[index])

    def _dot(self, nan, form):
        if not self.is_float:
            exact = exact_dot(self.flat, self.other, self.dtype) if len(self.flat) else 0
            return exact if form is None else round_to(Fraction(exact), form)
        x, y = as_f64(self.flat, self.dtype), as_f64(self.other, self.dtype)
        absent = np.isnan(x) | np.isnan(y)
        if nan == "error" and absent.any():
            return bitfold.NanError
        if nan == "propagate" and absent.any():
            return math.nan
        finite = np.isfinite(x) & np.isfinite(y)
        with np.errstate(invalid="ignore"):
            signs = np.sign(x) * np.sign(y)
            infinite = {float(v) for v in (signs * np.inf)[~finite & ~absent]}
        if infinite:
            return infinite.pop() if infinite in ({math.inf}, {-math.inf}) else math.nan
        negative_zeros = (signs == 0) & (np.signbit(x) != np.signbit(y))
        if finite.any() and negative_zeros[finite].all():
            return -0.0
        a, b = self.flat[finite], self.other[finite]
        return round_to(Fraction(exact_dot(a, b, self.dtype) if len(a) else 0), form or "f64")
