"""Expressions of arrays: against NumPy, whose operations are rounded one by one, too; reductions against
fractions."""

import math
import unittest
from array import array
from fractions import Fraction

import numpy as np

import bitfold
import devices

CONTEXTS = [context for context in devices.contexts((1, 3)) if context.device == "cpu"]

# Texts, and the same for NumPy.
SAMPLES = {
    "(a - b)**2": lambda a, b: (a - b) * (a - b),
    "sqrt(a*a + b*b)": lambda a, b: np.sqrt(a * a + b * b),
    "a > b ? a : -b": lambda a, b: np.where(a > b, a, -b),
    "floor(a*4) % 3 - ceil(b)": lambda a, b: np.floor(a * 4) % 3 - np.ceil(b),
    "abs(a) < 1 && !(b < 0) || a == 2": lambda a, b: (np.abs(a) < 1) & ~(b < 0) | (a == 2),
    "min(a, b)*max(a, 0.5)": lambda a, b: np.minimum(a, b) * np.maximum(a, 0.5),
    "1/3*a + 2": lambda a, b: np.multiply(a, 1 / 3) + 2,
    "isnan(a/b - a/b)": lambda a, b: np.isnan(a / b - a / b),
}


class Expression(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(3)
        self.a, self.b = rng.normal(size=(2, 120, 91))

    def same(self, found, wanted, text):
        self.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape), text)
        np.testing.assert_array_equal(found, wanted, text)

    def test_operations_are_numpys(self):
        for context in CONTEXTS:
            for dtype in [np.float64, np.float32]:
                a, b = self.a.astype(dtype), self.b.astype(dtype)
                for text, function in SAMPLES.items():
                    self.same(bitfold.evaluate(text, a=a, b=b, context=context), function(a, b), text)

    def test_dtypes_are_numpys(self):
        for first in "bhilBHILefd?":
            for second in "bhilBHILefd?":
                a, b = np.ones(3, first), np.ones(3, second)
                if {a.dtype.str[1:], b.dtype.str[1:]} == {"i8", "u8"}:
                    self.assertRaises(bitfold.DtypeError, bitfold.evaluate, "a + b", a=a, b=b)
                else:
                    self.assertEqual(bitfold.evaluate("a + b", a=a, b=b).dtype, (a + b).dtype)

    def test_times_are_numpys(self):
        rng = np.random.default_rng(5)
        days = rng.integers(-10**5, 10**5, 300).astype("M8[D]")
        moments = rng.integers(-10**16, 10**16, 300).astype("M8[us]")
        self.same(bitfold.evaluate("year(d)", d=days), days.astype("M8[Y]").astype("i8") + 1970, "year")
        self.same(bitfold.evaluate("month(t)", t=moments), moments.astype("M8[M]").astype("i8") % 12 + 1, "month")
        self.same(bitfold.evaluate("date(t)", t=moments), moments.astype("M8[D]"), "date")
        self.same(bitfold.evaluate("trunc(t, 'hour')", t=moments), moments.astype("M8[h]").astype("M8[s]"), "hour")
        self.same(bitfold.evaluate("d + 1.5", d=days), days + np.timedelta64(1500, "ms"), "moved")
        self.same(bitfold.evaluate("t >= '2026-01-01'", t=moments), moments >= np.datetime64("2026-01-01"), "compared")
        self.same(bitfold.evaluate("max(d, t)", d=days, t=moments), np.maximum(days, moments), "max")
        self.assertEqual(bitfold.evaluate("t - d", d=days, t=moments).tolist(),
                         [float(Fraction((t - d).astype(int).item(), 10**6)) for d, t in zip(days, moments)])
        self.assertRaises(bitfold.DtypeError, bitfold.evaluate, "d * 2", d=days)
        self.assertRaises(bitfold.DtypeError, bitfold.reduce_expression, "sum", "date(d)", d=days)

    def test_shapes_broadcast(self):
        a = self.a
        for b in [a[0], a[:, :1], a[:1], np.array(2.0), a[::2, ::-1][:1]]:
            self.same(bitfold.evaluate("a*b - b", a=a, b=b), a * b - b, b.shape)
            self.assertEqual(bitfold.reduce_expression("sum", "a*b", a=a, b=b),
                             float(sum(map(Fraction, (a * b).ravel().tolist()))))
        for a, b in [(self.a.T, self.b.T), (self.a[::3, ::-2], self.b[::3, 1::2][:, :46])]:
            if a.shape == b.shape:
                self.same(bitfold.evaluate("a - b", a=a, b=b), a - b, a.strides)
        self.assertRaises(bitfold.ShapeError, bitfold.evaluate, "a + b", a=np.ones(3), b=np.ones(4))
        self.assertEqual(bitfold.evaluate("a", a=np.ones(3), b=np.ones(4)).shape, (3,))

    def test_a_name_given_twice_is_refused(self):
        x, y = np.array([1.0]), np.array([2.0])
        for call in (bitfold.evaluate, lambda *a, **o: bitfold.reduce_expression("sum", *a, **o)):
            with self.assertRaisesRegex(bitfold.ArgumentError, "'a' is given twice"):
                call("a", {"a": x}, a=y)

    def test_arrays_by_position(self):
        x, y, z = np.arange(1.0, 4), np.array([0.5, 2, 8]), np.array([2, 3, 4])
        self.same(bitfold.evaluate("b*a - b", x, y), x * y - x, "in the order of the text")
        self.same(bitfold.evaluate("a*n + `unit price`*a", x, y, n=z), x * z + y * x, "but for those with names")
        self.same(bitfold.evaluate("sqrt(a) + pow(a, 2)", x), np.sqrt(x) + x**2, "functions are no names")
        self.same(bitfold.evaluate("y/x", [1, 4], [2, 16]), np.array([0.5, 0.25]), "lists")
        self.same(bitfold.evaluate("a - b", (3, 4), b=x[:2]), np.array([2.0, 2.0]), "one")
        self.assertEqual(bitfold.evaluate("upper(s)", ["a", "b"]).tolist(), ["A", "B"])
        self.assertEqual(bitfold.reduce_expression("sum", "a*b", x, y), bitfold.dot(x, y))
        out = np.empty(3)
        self.assertIs(bitfold.evaluate("a - b", x, y, out=out), out)
        for call in (bitfold.evaluate, lambda *a, **o: bitfold.reduce_expression("sum", *a, **o)):
            wrong = [
                ("a*b", [x]), ("a*b", [x, y, z]), ("a*a", [x, x]), ("1 + 2", [x]), ("a*b", [{"a": x}, y]),
                ("a*b", [x, {"b": y}]),
            ]  # fmt: skip
            for text, arrays in wrong:
                with self.assertRaises((bitfold.ArgumentError, bitfold.DtypeError), msg=text):
                    call(text, *arrays)
            with self.assertRaisesRegex(bitfold.ArgumentError, "2 arrays for 1 names: b"):
                call("a*b", x, y, a=z)
            with self.assertRaisesRegex(bitfold.ArgumentError, "character 4"):
                call("a +", x)
            self.assertRaises(bitfold.ArgumentError, call, 1, x)

    def test_names(self):
        x = np.arange(3.0)
        self.same(bitfold.evaluate("`unit price` + out", {"unit price": x, "out": x}), x + x, "dict")
        self.same(bitfold.evaluate("größe*2", größe=x), x * 2, "letters")
        for text, place in [("a + c", 5), ("a +", 4), ("a ** 0.5", 6), ("a = 2", 3)]:
            with self.assertRaisesRegex(bitfold.ArgumentError, f"character {place}: "):
                bitfold.evaluate(text, a=x)
        for wrong in [b"a", None, "a\0"]:
            self.assertRaises(bitfold.ArgumentError, bitfold.evaluate, wrong, a=x)
        for name in ["a\0", "\ud800", 1]:
            self.assertRaises(bitfold.ArgumentError, bitfold.evaluate, "a", {"a": x, name: x})
        self.assertRaises(bitfold.ArgumentError, bitfold.evaluate, "\ud800", a=x)

    def test_numbers_alone(self):
        x = np.zeros((2, 3))
        self.assertEqual(bitfold.evaluate("1 + 2*3"), 7)
        self.assertEqual(bitfold.reduce_expression("sum", "1 + 2*3"), 7)
        self.same(bitfold.evaluate("1 + 2*3", a=x, b=x[0]), np.full((2, 3), 7), "of the first array")
        self.assertEqual(bitfold.reduce_expression("sum", "1 + 2*3", a=x, b=x[0]), 42)

    def test_out(self):
        a, b = self.a.copy(), self.b
        out = np.empty_like(a)
        self.assertIs(bitfold.evaluate("a*b", a=a, b=b, out=out), out)
        self.same(out, a * b, "out")
        self.assertIs(bitfold.evaluate("a*a", a=a, out=a), a)
        self.same(a, self.a * self.a, "in place")
        self.assertRaises(bitfold.DtypeError, bitfold.evaluate, "a > 0", a=a, out=out)
        self.assertRaises(bitfold.ShapeError, bitfold.evaluate, "a", a=a, out=out[0])
        out.flags.writeable = False
        self.assertRaises(bitfold.ArgumentError, bitfold.evaluate, "a", a=a, out=out)

    def test_objects_without_numpy(self):
        x = array("d", [1, 2, 3])
        self.assertEqual(list(bitfold.evaluate("x*x", x=x)), [1, 4, 9])
        self.assertEqual(bitfold.reduce_expression("max", "x*x", x=memoryview(x)), 9)
        self.assertEqual(list(bitfold.evaluate("x*2", x=[1, 2])), [2, 4])
        with self.assertRaisesRegex(bitfold.DtypeError, "x is a number"):
            bitfold.evaluate("x*2", x=2)

    def test_integers(self):
        x = np.array([100, -100, 3], np.int8)
        self.assertRaises(bitfold.RangeError, bitfold.evaluate, "x*x", x=x)
        self.same(bitfold.evaluate("x*x", x=x, overflow="wrap"), x * x, "wrap")
        self.same(bitfold.evaluate("x*2", x=x, overflow="saturate"), np.array([127, -128, 6], np.int8), "most")
        with self.assertRaisesRegex(bitfold.ArgumentError, "character 3: integer division by zero at index 1"):
            bitfold.evaluate("x % y", x=x, y=np.array([1, 0, 1], np.int8))
        self.assertRaises(bitfold.ArgumentError, bitfold.evaluate, "x", x=x, overflow="clip")

    def test_reductions_are_those_of_the_results(self):
        a, b = self.a, self.b
        product = a * b
        for context in CONTEXTS:
            for op in ["sum", "prod", "mean", "var", "std", "norm", "sumsq", "min", "max", "argmin", "argmax"]:
                self.assertEqual(bitfold.reduce_expression(op, "a*b", a=a, b=b, context=context),
                                 getattr(bitfold, op)(product), op)
        self.assertEqual(bitfold.reduce_expression("std", "a*b", a=a, b=b, ddof=1), bitfold.std(product, ddof=1))
        self.assertEqual(bitfold.reduce_expression("sum", "a > b", a=a, b=b), int((a > b).sum()))
        some = np.array([1.0, np.nan, 2])
        self.assertTrue(math.isnan(bitfold.reduce_expression("sum", "x", x=some)))
        self.assertEqual(bitfold.reduce_expression("sum", "x", x=some, nan="skip"), 3)
        for op in ["dot", "describe", "median"]:
            self.assertRaises(bitfold.ArgumentError, bitfold.reduce_expression, op, "a", a=a)
