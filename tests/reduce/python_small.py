"""Small arrays that hypothesis looks for, against the definitions written out with fractions."""

import math
import unittest
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bitfold
from devices import everywhere
from oracle import HELD, INTS, Case, root_to, round_to, same

quick = settings(max_examples=150, deadline=None, derandomize=True)
finite = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12)
anything = st.lists(st.floats(), max_size=8)
POLICIES = ["propagate", "skip", "error"]
WIDTHS = {"f16": 16, "f32": 32, "f64": 64}


def f64(values):
    return np.array(values, dtype=np.float64)


class Definitions(unittest.TestCase):
    @quick
    @given(finite)
    def test_sum_mean_and_their_squares(self, values):
        x, exact = f64(values), [Fraction(v) for v in values]
        if any(exact) or not all(math.copysign(1, v) < 0 for v in values):
            self.assertTrue(same(everywhere.sum(x), round_to(sum(exact))))
            self.assertTrue(same(everywhere.mean(x), round_to(sum(exact) / len(x))))
        squares = sum(v * v for v in exact)
        self.assertTrue(same(everywhere.sumsq(x), round_to(squares)))
        self.assertTrue(same(everywhere.norm(x), root_to(squares)))

    @quick
    @given(finite, st.integers(0, 1), st.sampled_from(["f64", "f32"]))
    def test_variance(self, values, ddof, form):
        if len(values) <= ddof:
            return
        exact = [Fraction(v) for v in values]
        mean = sum(exact) / len(exact)
        expected = sum((v - mean) ** 2 for v in exact) / (len(exact) - ddof)
        var = everywhere.var(f64(values), ddof=ddof, out_dtype=form)
        self.assertTrue(same(var, round_to(expected, form)), (var, expected))
        std = everywhere.std(f64(values), ddof=ddof, out_dtype=form)
        self.assertTrue(same(std, root_to(expected, form)), (std, expected))

    @quick
    @given(finite, st.randoms(use_true_random=False))
    def test_dot(self, values, random):
        other = random.sample(values, len(values))
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(values, other))
        expected = Case(f64(values), "f64", f64(other)).value("dot")
        self.assertEqual(expected, round_to(exact))
        self.assertTrue(same(everywhere.dot(f64(values), f64(other)), expected))

    @quick
    @given(st.sampled_from(INTS), st.data())
    def test_integers_are_exact(self, dtype, data):
        info = np.iinfo(HELD[dtype])
        element = st.integers(int(info.min), int(info.max))
        values = data.draw(st.lists(element, min_size=1, max_size=9))
        x = np.array(values, dtype=HELD[dtype])
        if dtype == "bool":
            values = [v != 0 for v in values]
        self.assertEqual(everywhere.sum(x, dtype=dtype), sum(values))
        self.assertEqual(everywhere.sumsq(x, dtype=dtype), sum(v * v for v in values))
        self.assertEqual(everywhere.dot(x, x, dtype=dtype), sum(v * v for v in values))
        self.assertTrue(same(everywhere.min(x, dtype=dtype), min(values)))
        self.assertEqual(everywhere.argmax(x, dtype=dtype), values.index(max(values)))
        mean = round_to(Fraction(sum(values), len(x)))
        self.assertTrue(same(everywhere.mean(x, dtype=dtype), mean))


class Specials(unittest.TestCase):
    @quick
    @given(st.sampled_from(sorted(WIDTHS)), st.data(), st.sampled_from(POLICIES))
    def test_nan_infinity_and_zero(self, dtype, data, nan):
        values = data.draw(st.lists(st.floats(width=WIDTHS[dtype]), max_size=6))
        x = np.array(values, dtype=HELD[dtype])
        case = Case(x, dtype, x[::-1])
        for op in ("sum", "mean", "var", "std", "sumsq", "norm", "min", "max", "argmin", "argmax"):
            try:
                found = getattr(everywhere, op)(x, nan=nan)
            except bitfold.Error as error:
                found = type(error)
            self.assertTrue(same(found, case.value(op, nan=nan)), (op, x, found))

    @quick
    @given(anything, st.integers(0, 8), st.integers(0, 8))
    def test_order_of_chunks_does_not_matter(self, values, a, b):
        x = f64(values)
        a, b = sorted((a, b))
        for context in everywhere.contexts:
            empty = lambda: bitfold.State("sum", "f64", context)
            first = empty().absorb(x[b:]).absorb(x[:a])
            first.merge(empty().absorb(x[a:b]))
            self.assertEqual(first.save(), empty().absorb(x).save())
