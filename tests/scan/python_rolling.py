"""Rolling windows: each has the exact value of its elements, by Python's fractions, on every instruction set and on 1 to 8
threads.

BITFOLD_CASES: how many random cases (default 300; 10000 for a release).
BITFOLD_SEED: the first one's seed.
A failure prints the seed that alone repeats it.
"""

import math
import os
import unittest
from fractions import Fraction

import numpy as np

import bitfold
import devices
import generate
from command import SHORT
from oracle import DTYPES, FLOATS, HELD, as_f64, root_to, round_to

CASES = int(os.environ.get("BITFOLD_CASES", "60" if SHORT else "300"))
SEED = int(os.environ.get("BITFOLD_SEED", "0"))
THREADS = (1, 2, 3, 8)
OPS = ("sum", "mean", "var", "std", "min", "max", "count")


def is_negative_zero(x):
    return isinstance(x, float) and x == 0 and math.copysign(1, x) < 0


def extreme(op, numbers):
    return (min if op == "min" else max)(numbers, key=lambda x: (x, math.copysign(1, x)))


def special_sum(numbers):
    """The infinity or NaN that numbers with infinities sum to."""
    infinities = {x for x in numbers if math.isinf(x)}
    return math.nan if len(infinities) > 1 else infinities.pop()


def variance(op, numbers, ddof, to):
    n = len(numbers)
    if n <= ddof or any(math.isinf(x) for x in numbers):
        return math.nan
    exact = [Fraction(x) for x in numbers]
    spread = n * sum(x * x for x in exact) - sum(exact) ** 2
    value = spread / (n * (n - ddof))
    return root_to(value, to) if op == "std" else round_to(value, to)


def of_window(case, window):
    """The result of a window of Python's numbers."""
    numbers = [x for x in window if x == x]
    nans, op = len(window) - len(numbers), case.op
    if (len(window) if op == "count" else len(numbers)) < case.least:
        return math.nan
    if op == "count":
        return float(len(numbers))
    if nans and not case.skip:
        return math.nan
    if op in ("var", "std"):
        return variance(op, numbers, case.ddof, case.to)
    if not numbers:
        return 0.0 if op == "sum" else math.nan
    if op in ("min", "max"):
        found = extreme(op, numbers)
        return found if case.dtype in FLOATS else round_to(Fraction(found), case.to)
    if any(math.isinf(x) for x in numbers):
        return special_sum(numbers)
    if all(is_negative_zero(x) for x in numbers):
        return -0.0
    total = sum(Fraction(x) for x in numbers)
    return round_to(total if op == "sum" else total / len(numbers), case.to) if total else 0.0


class Case:
    """An array, its windows, and what they give."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng([seed, 78])
        self.op, self.dtype = str(rng.choice(OPS)), str(rng.choice(DTYPES))
        shape = generate.shape_of(rng)
        n = math.prod(shape)
        x = generate.values(rng, self.dtype, n)
        self.x = generate.placed_anyhow(rng, np.ascontiguousarray(x).reshape(shape))
        self.axis = int(rng.integers(-len(shape), len(shape)))
        self.window = int(rng.choice([1, 2, 3, 5, 10, 50, 2**40]))
        self.least = int(rng.integers(0, min(self.window, 6) + 1)) if rng.random() < 0.7 else None
        self.step = int(rng.choice([1, 1, 1, 2, 7]))
        self.center, self.skip = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
        self.ddof = int(rng.integers(0, 2))
        self.options = {
            "min_count": self.least, "center": self.center, "step": self.step, "axis": self.axis,
            "nan": "skip" if self.skip else "propagate", "dtype": self.dtype,
        }  # fmt: skip
        self.least = self.window if self.least is None else self.least
        keeps = self.op in ("min", "max") and self.dtype in FLOATS
        self.asked = {"ddof": self.ddof} if self.op in ("var", "std") else {}
        self.to = self.dtype if keeps else "f64"
        if self.op in ("sum", "mean", "var", "std") and rng.random() < 0.4:
            self.to = self.asked["out_dtype"] = str(rng.choice(FLOATS))

    def call(self, context, x):
        return getattr(bitfold.rolling(x, self.window, context=context, **self.options), self.op)(**self.asked)

    def of_line(self, line):
        numbers = as_f64(line, self.dtype).tolist() if self.dtype in FLOATS else [int(x) for x in line.tolist()]
        if self.dtype == "bool":
            numbers = [int(x != 0) for x in numbers]
        after = (self.window - 1) // 2 if self.center else 0
        ends = [(max(0, at + after - self.window + 1), at + after + 1) for at in range(0, len(numbers), self.step)]
        return [of_window(self, numbers[first:end]) for first, end in ends]

    def expected(self):
        lines = np.moveaxis(self.x, self.axis, -1)
        results = -(-lines.shape[-1] // self.step)
        found = [self.of_line(line) for line in lines.reshape(-1, lines.shape[-1])] if self.x.size else []
        held = self._held([each for line in found for each in line])
        return np.moveaxis(held.reshape(lines.shape[:-1] + (results,)), -1, self.axis)

    def _held(self, numbers):
        if self.to == "bf16":
            bits = np.array(numbers, np.float32).view(np.uint32)
            return np.where(np.isnan(numbers), 0x7FC0, bits >> 16).astype(np.uint16)
        return np.array(numbers, HELD[self.to])


def bits(x):
    """An array's bits, where all NaNs are the canonical one."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(math.nan), x)
    return x.view(f"u{x.dtype.itemsize}")


class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.contexts = [each for each in devices.contexts(THREADS) if each.device == "cpu"]

    def test_random_cases(self):
        for seed in range(SEED, SEED + CASES):
            case = Case(seed)
            expected = case.expected()
            for context in devices.some(self.contexts, 2, np.random.default_rng([seed, 1])):
                with self.subTest(seed=seed, op=case.op, dtype=case.dtype, options=case.options, context=context):
                    found = np.asarray(case.call(context, case.x))
                    self.assertEqual(found.shape, expected.shape)
                    np.testing.assert_array_equal(bits(found), bits(expected.astype(found.dtype, copy=False)))


class Forms(unittest.TestCase):
    def test_what_has_left_leaves_no_trace(self):
        x = np.array([4e-5, 9e4, 5e-5, 5e-5, 5e-5], "f4")
        self.assertEqual(bitfold.rolling(x, 2).mean(out_dtype="f32")[-1], np.float32(5e-5))
        self.assertEqual(bitfold.rolling(x, 2).var()[-1], 0)
        x = np.array([1.0, 1e300, -1e300, np.nan, np.inf, 0.25, 0.5])
        np.testing.assert_array_equal(bitfold.rolling(x, 2).sum()[-1:], [0.75])

    def test_forms_of_arrays(self):
        self.assertEqual(bitfold.rolling([1, 2, 3, 5], 2).sum().tolist()[1:], [3, 5, 8])
        x = np.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(bitfold.rolling(x, 2).sum()[1:], x[:-1] + x[1:])
        np.testing.assert_array_equal(bitfold.rolling(x, 2, axis=-1).sum()[:, 1:], x[:, :-1] + x[:, 1:])
        self.assertEqual(bitfold.rolling(np.array([2**64, 2**64], object), 2).sum().tolist()[1], 2.0**65)
        self.assertEqual(bitfold.rolling(np.empty((0, 3)), 2, step=2).max().shape, (0, 3))

    def test_what_is_refused(self):
        x = np.array([1.0, math.nan])
        for bad in ({"window": 0}, {"window": 2, "min_count": 3}, {"window": 2, "min_count": -1}, {"window": 2, "step": 0}):
            self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, **bad)
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, 2, axis=1)
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, 2, nan="drop")
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling, 7.0, 2)
        self.assertRaises(bitfold.NanError, bitfold.rolling(x, 2, nan="error").sum)
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling(x, 2).var, ddof=2)
        self.assertRaises(bitfold.DtypeError, bitfold.rolling(x, 2).sum, out_dtype="i64")
        self.assertRaises(bitfold.DtypeError, bitfold.rolling, np.array(["2020-01-02"], "M8[D]"), 2)


if __name__ == "__main__":
    unittest.main()
