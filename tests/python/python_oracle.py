"""The oracle itself, against the plainest possible form of each answer."""

import math
import sys
import unittest
from fractions import Fraction

import numpy as np

import generate
import oracle


class Rounding(unittest.TestCase):
    def test_round_to_f64_is_what_python_does(self):
        rng = np.random.default_rng(1)
        for _ in range(3000):
            p, q = (int(v) for v in rng.integers(1, 2**63, 2))
            x = Fraction(p, q) * Fraction(2) ** int(rng.integers(-1150, 1030))
            try:
                expected = float(x)
            except OverflowError:
                expected = math.inf
            self.assertTrue(oracle.same(oracle.round_to(x), expected), x)
            self.assertTrue(oracle.same(oracle.round_to(-x), -expected), x)

    def test_round_to_f64_ties_go_to_even(self):
        for m, expected in ((1, 0.0), (3, 1e-323), (5, 1e-323), (7, 2e-323)):
            self.assertEqual(oracle.round_to(Fraction(m) / 2**1075), expected)
        top = Fraction(2**1024 - 2**970)
        self.assertEqual(oracle.round_to(top - Fraction(1, 3)), sys.float_info.max)
        self.assertEqual(oracle.round_to(top), math.inf)

    def test_round_to_f32_is_the_nearest_f32(self):
        rng = np.random.default_rng(2)
        for _ in range(2000):
            bits = int(rng.integers(0, 0x7F7FFFFF))
            low, high = (
                Fraction(float(np.uint32(bits + i).view(np.float32))) for i in (0, 1)
            )  # fmt: skip
            middle, even = (low + high) / 2, low if bits % 2 == 0 else high
            self.assertEqual(oracle.round_to(middle, "f32"), float(even))
            self.assertEqual(oracle.round_to(middle - Fraction(1, 2**400), "f32"), float(low))
            self.assertEqual(oracle.round_to(middle + Fraction(1, 2**400), "f32"), float(high))

    def test_root_is_the_nearest(self):
        rng = np.random.default_rng(3)
        for form in ("f32", "f64"):
            for _ in range(1000):
                x = Fraction(*(int(v) for v in rng.integers(1, 2**63, 2)))
                x *= Fraction(2) ** int(rng.integers(-270, 120))
                root = oracle.root_to(x, form)
                kind = np.float32 if form == "f32" else np.float64
                for towards in (kind(np.inf), kind(0)):
                    other = np.nextafter(kind(root), towards)
                    middle = (Fraction(root) + Fraction(float(other))) / 2
                    self.assertEqual(middle > root, middle * middle > x)
                self.assertEqual(oracle.root_to(Fraction(root) ** 2, form), root)


class Sums(unittest.TestCase):
    def plain(self, x, dtype):
        values = oracle.as_f64(x, dtype) if dtype in oracle.FLOATS else x
        return [Fraction(v) for v in values.tolist()]

    def test_sums_and_products_are_exact(self):
        rng = np.random.default_rng(4)
        for dtype in oracle.DTYPES:
            kinds = (generate.full_range, generate.cancelling, generate.huge)
            for kind in kinds if dtype in oracle.FLOATS else generate.INT_KINDS:
                x, y = kind(rng, dtype, 60), kind(rng, dtype, 60)
                if dtype == "bool":
                    x, y = x != 0, y != 0
                p, q = self.plain(x, dtype), self.plain(y, dtype)
                self.assertEqual(oracle.exact_sum(x, dtype), sum(p), dtype)
                self.assertEqual(
                    oracle.exact_dot(x, y, dtype), sum(a * b for a, b in zip(p, q)), dtype
                )

    def test_large_sums_agree_with_fsum(self):
        rng = np.random.default_rng(5)
        for kind in (generate.uniform, generate.spread, generate.ties, generate.subnormal):
            x = kind(rng, "f64", 100_000)
            self.assertEqual(float(oracle.exact_sum(x, "f64")), math.fsum(x))
