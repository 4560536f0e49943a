"""Answers known beforehand: the ones that other software gets wrong."""

import math
import sys
import unittest
from array import array
from fractions import Fraction

import numpy as np

import bitfold
from devices import contexts, everywhere
from oracle import round_to, same


def ill_conditioned(rng, n, condition):
    """Two vectors whose dot product cancels to 1/condition of its terms (Ogita, Rump and Oishi,
    "Accurate sum and dot product", 2005, algorithm 6.1), and the exact value of it."""
    bits = math.log2(condition)
    half = n // 2
    exponents = np.rint(rng.random(half) * bits / 2)
    exponents[0], exponents[-1] = np.rint(bits / 2) + 1, 0
    x, y = ((2 * rng.random(half) - 1) * 2.0**exponents for _ in range(2))
    x, y = list(x), list(y)
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x, y))
    for exponent in np.rint(np.linspace(bits / 2, 0, n - half)):
        a = (2 * rng.random() - 1) * 2.0**exponent
        b = float(((2 * rng.random() - 1) * Fraction(2.0**exponent) - exact) / Fraction(a))
        x.append(a)
        y.append(b)
        exact += Fraction(a) * Fraction(b)
    order = rng.permutation(n)
    return np.array(x)[order], np.array(y)[order], exact


class Sums(unittest.TestCase):
    def test_large_terms_cancel(self):
        self.assertEqual(everywhere.sum(array("d", [1e20, 1, -1e20])), 1.0)

    def test_ten_million_tenths_in_f32(self):
        x = np.full(10_000_000, 0.1, dtype=np.float32)
        expected = math.fsum(x)
        self.assertEqual(expected, 1000000.0149011612)
        for context in contexts((1, 3)):
            self.assertEqual(bitfold.sum(x, context=context), expected)

    def test_partial_sums_may_overflow(self):
        top = sys.float_info.max
        self.assertEqual(everywhere.sum(array("d", [top, top, -top])), top)
        self.assertEqual(everywhere.sum(array("d", [top, top])), math.inf)
        # Half a unit in the last place beyond the greatest number is the first to become infinity.
        self.assertEqual(everywhere.sum(array("d", [top, 2.0**969])), top)
        self.assertEqual(everywhere.sum(array("d", [top, 2.0**970])), math.inf)
        self.assertEqual(everywhere.sum(array("d", [top, 2.0**970, -5e-324])), top)
        self.assertEqual(everywhere.mean(array("d", [top, top])), top)

    def test_f32_is_rounded_once(self):
        # 1 + 2^-24 + 2^-60 is just over a tie between two f32, but rounds to the tie in f64.
        x = array("d", [1.0, 2.0**-24, 2.0**-60])
        self.assertEqual(everywhere.sum(x, out_dtype="f32"), 1.0 + 2.0**-23)
        self.assertEqual(float(np.float32(everywhere.sum(x))), 1.0)
        y = array("d", [1.0 + 2.0**-23, 2.0**-24, -(2.0**-60)])
        self.assertEqual(everywhere.sum(y, out_dtype="f32"), 1.0 + 2.0**-23)
        self.assertEqual(float(np.float32(everywhere.sum(y))), 1.0 + 2.0**-22)
        self.assertEqual(everywhere.dot(x, array("d", [1.0] * 3), out_dtype="f32"), 1.0 + 2.0**-23)

    def test_ties_look_at_every_bit(self):
        for least in (2.0**-70, 2.0**-200, 5e-324):
            for sign, expected in ((1, 1.0 + 2.0**-52), (0, 1.0), (-1, 1.0)):
                x = array("d", [1.0, 2.0**-53, sign * least])
                self.assertEqual(everywhere.sum(x), expected)
            odd = 1.0 + 2.0**-52
            self.assertEqual(everywhere.sum(array("d", [odd, 2.0**-53, -least])), odd)
            self.assertEqual(everywhere.sum(array("d", [odd, 2.0**-53])), 1.0 + 2.0**-51)
            x = array("d", [1.0, 2.0**-24, least])
            self.assertEqual(everywhere.sum(x, out_dtype="f32"), 1.0 + 2.0**-23)

    def test_negative_zero(self):
        for x in ([-0.0], [-0.0] * 5):
            self.assertTrue(same(everywhere.sum(array("d", x)), -0.0))
            self.assertTrue(same(everywhere.mean(array("f", x)), -0.0))
            self.assertTrue(same(everywhere.sumsq(array("d", x)), 0.0))
        for x in ([], [-0.0, 0.0], [1.0, -1.0], [1.0, -1.0, -0.0]):
            self.assertTrue(same(everywhere.sum(array("d", x)), 0.0))
        self.assertTrue(same(everywhere.mean(array("d", [-5e-324, 0.0])), -0.0))

    def test_integers_have_every_digit(self):
        most = 2**64 - 1
        x = array("Q", [most] * 1000)
        self.assertEqual(everywhere.sum(x), most * 1000)
        self.assertEqual(everywhere.sumsq(x), most**2 * 1000)
        self.assertEqual(everywhere.norm(array("Q", [most])), 2.0**64)
        least = array("q", [-(2**63)] * 3)
        self.assertEqual(everywhere.sum(least), -3 * 2**63)
        most = array("q", [2**63 - 1] * 3)
        self.assertEqual(everywhere.dot(least, most), -3 * 2**63 * (2**63 - 1))


class Dots(unittest.TestCase):
    def test_condition_number_1e30(self):
        rng = np.random.default_rng(30)
        for n in (10, 100, 1001, 10_000):
            x, y, exact = ill_conditioned(rng, n, 1e30)
            for context in contexts((1, 3)):
                self.assertEqual(bitfold.dot(x, y, context=context), round_to(exact))
        magnitude = sum(abs(Fraction(a) * Fraction(b)) for a, b in zip(x, y))
        self.assertGreater(magnitude / abs(exact), 10**25)

    def test_products_neither_overflow_nor_vanish(self):
        x, y = array("d", [1e300, 1e300, 3.0]), array("d", [1e300, -1e300, 5.0])
        self.assertEqual(everywhere.dot(x, y), 15.0)
        tiny = array("d", [2.0**-600] * 4)
        self.assertEqual(everywhere.dot(tiny, tiny), 0.0)
        self.assertEqual(everywhere.norm(tiny), 2.0**-599)
        self.assertEqual(everywhere.norm(array("d", [3e300, 4e300])), 5e300)
        self.assertEqual(everywhere.norm(array("d", [5e-324])), 5e-324)

    def test_infinity_times_zero(self):
        x, y = array("d", [math.inf, 1.0]), array("d", [0.0, 1.0])
        self.assertTrue(same(everywhere.dot(x, y), math.nan))
        self.assertTrue(same(everywhere.dot(x, y, nan="skip"), math.nan))
        self.assertEqual(everywhere.dot(array("d", [math.nan, 2.0]), y, nan="skip"), 2.0)


class Variances(unittest.TestCase):
    def test_variance_is_never_negative(self):
        rng = np.random.default_rng(7)
        for offset in (0.0, 1e8, 1e16, -1e300):
            for n in (1, 2, 3, 1000):
                x = offset + rng.normal(0, abs(offset) * 1e-16, n)
                self.assertGreaterEqual(everywhere.var(x), 0)
                self.assertTrue(same(everywhere.var(np.full(n, offset)), 0.0))

    def test_no_cancellation(self):
        x = array("d", [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
        self.assertEqual(everywhere.var(x, ddof=1), 30.0)
        self.assertEqual(everywhere.std(array("q", [2**62, 2**62 + 2])), 1.0)

    def test_too_few(self):
        for x, ddof in (([], 0), ([], 1), ([1.0], 1)):
            self.assertTrue(same(everywhere.var(array("d", x), ddof=ddof), math.nan))
        self.assertTrue(same(everywhere.std(array("d", [1.0])), 0.0))
        self.assertTrue(same(everywhere.var(array("d", [math.inf, 1.0])), math.nan))


class Orders(unittest.TestCase):
    def test_zeros_have_an_order(self):
        x = array("d", [0.0, -0.0, 0.0, -0.0])
        self.assertTrue(same(everywhere.min(x), -0.0))
        self.assertTrue(same(everywhere.max(x), 0.0))
        self.assertEqual((everywhere.argmin(x), everywhere.argmax(x)), (1, 0))

    def test_nan_policies(self):
        x = array("f", [1.0, math.nan, -3.0, math.nan])
        self.assertTrue(same(everywhere.min(x), math.nan))
        self.assertEqual(everywhere.argmax(x), 1)
        self.assertEqual(everywhere.min(x, nan="skip"), -3.0)
        self.assertEqual(everywhere.argmax(x, nan="skip"), 0)
        self.assertEqual(everywhere.mean(x, nan="skip"), -1.0)
        for op in (everywhere.sum, everywhere.argmin, everywhere.max, everywhere.std):
            with self.assertRaises(bitfold.NanError):
                op(x, nan="error")
        with self.assertRaises(bitfold.EmptyError):
            everywhere.max(array("d", [math.nan]), nan="skip")
        self.assertEqual(everywhere.sum(array("d", [math.nan]), nan="skip"), 0.0)

    def test_a_skipped_nan_is_absent_from_the_count(self):
        x = np.array([math.nan, -0.0, -0.0])
        self.assertTrue(same(everywhere.sum(x, nan="skip"), -0.0))
        x = np.array([1.0, math.nan])
        self.assertTrue(same(everywhere.var(x, nan="skip", ddof=1), math.nan))
