"""Rolling windows of two arrays, and of higher moments, against exact fractions, on every instruction set.

BITFOLD_CASES: how many random cases (default 300; 10000 for a release). BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
"""

import math
import unittest

import numpy as np

import bitfold
import cases
import devices
import generate
from command import SHORT
from joint import expected
from oracle import DTYPES, FLOATS, HELD, as_f64

CASES = cases.number(60 if SHORT else 300)
METHODS = {"skew": "skew", "kurtosis": "kurtosis", "cov": "covariance", "corr": "correlation"}


def numbers_of(x, dtype):
    if dtype in FLOATS:
        return as_f64(x, dtype).tolist()
    return [int(v != 0) if dtype == "bool" else int(v) for v in x.tolist()]


class Case:
    """One or two arrays, their windows, and what they give."""

    def __init__(self, seed):
        rng = np.random.default_rng([seed, 79])
        self.op, self.dtype = str(rng.choice(list(METHODS))), str(rng.choice(DTYPES))
        shape = generate.shape_of(rng)
        while math.prod(shape) > 3000:
            shape = generate.shape_of(rng)
        n = math.prod(shape)
        self.x, self.y = (generate.values(rng, self.dtype, n).reshape(shape) for _ in range(2))
        self.axis = int(rng.integers(-len(shape), len(shape)))
        self.window = int(rng.choice([1, 2, 3, 5, 10, 50, 2**40]))
        self.least = int(rng.integers(0, min(self.window, 6) + 1))
        self.step, self.center = int(rng.choice([1, 1, 2, 7])), bool(rng.random() < 0.3)
        self.nan, self.ddof = "skip" if rng.random() < 0.5 else "propagate", int(rng.integers(0, 2))
        self.to = str(rng.choice(["f64", "f64", "f32"]))
        self.options = {"out_dtype": self.to} | ({"ddof": self.ddof} if self.op != "corr" else {})

    def call(self, context):
        windows = bitfold.rolling(
            self.x, self.window, min_count=self.least, center=self.center, step=self.step, axis=self.axis, nan=self.nan,
            dtype=self.dtype, context=context,
        )  # fmt: skip
        other = [self.y] if self.op in ("cov", "corr") else []
        return getattr(windows, METHODS[self.op])(*other, **self.options)

    def of_window(self, x, y):
        pairs = self.op in ("cov", "corr")
        there = sum(a == a and (b == b or not pairs) for a, b in zip(x, y))
        if there < self.least or (self.nan != "skip" and there < len(x)):
            return math.nan
        return expected(self.op, x, y if pairs else None, self.nan, self.ddof, out_dtype=self.to)

    def of_line(self, x, y):
        after = (self.window - 1) // 2 if self.center else 0
        ends = [(max(0, at + after - self.window + 1), at + after + 1) for at in range(0, len(x), self.step)]
        return [self.of_window(x[first:end], y[first:end]) for first, end in ends]

    def expected(self):
        x, y = (np.moveaxis(z, self.axis, -1) for z in (self.x, self.y))
        lines = zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1])) if x.size else []
        found = [self.of_line(*(numbers_of(line, self.dtype) for line in pair)) for pair in lines]
        shape = (*x.shape[:-1], -(-x.shape[-1] // self.step))
        return np.moveaxis(np.array(found, HELD[self.to]).reshape(shape), -1, self.axis)


class Windows(unittest.TestCase):
    def test_random_cases(self):
        contexts = [each for each in devices.contexts((1, 3)) if each.device == "cpu"]
        for seed in cases.seeds(CASES):
            case = Case(seed)
            wanted = case.expected()
            for context in devices.some(contexts, 2, np.random.default_rng([seed, 1])):
                with self.subTest(seed=seed, op=case.op, dtype=case.dtype, context=context):
                    found = np.asarray(case.call(context))
                    self.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape))
                    np.testing.assert_array_equal(found, wanted)

    def test_what_has_left_leaves_no_trace(self):
        x = np.array([1e300, np.inf, np.nan, 1, 2, 4, 3])
        y = np.array([np.nan, 1e300, 1e-300, 1, 2, 4, 3])
        np.testing.assert_array_equal(bitfold.rolling(x, 3).correlation(y)[-2:], [1, 1])
        np.testing.assert_array_equal(bitfold.rolling(x, 4).skew()[-1:], [0])

    def test_long_windows(self):
        rng = np.random.default_rng(5)
        x, y = rng.standard_normal((2, 200_000))
        for window in (2, 1000, 10**6):
            found = bitfold.rolling(x, window, min_count=2, step=9973).correlation(y)
            wanted = [bitfold.correlation(x[max(0, k - window + 1) : k + 1], y[max(0, k - window + 1) : k + 1])
                      for k in range(0, len(x), 9973)]  # fmt: skip
            np.testing.assert_array_equal(found, wanted)

    def test_what_is_refused(self):
        windows = bitfold.rolling(np.arange(4.0), 2)
        self.assertRaises(bitfold.ShapeError, windows.correlation, np.arange(3.0))
        self.assertRaises(bitfold.ArgumentError, windows.covariance, np.arange(4.0), ddof=2)
        self.assertRaises(bitfold.NanError, bitfold.rolling(np.array([1, np.nan]), 2, nan="error").covariance, np.ones(2))
