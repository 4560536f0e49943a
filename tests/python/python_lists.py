"""Lists, tuples, ranges and numbers of Python where an array is expected."""

import importlib.util
import math
import random
import subprocess
import sys
import unittest
from array import array
from decimal import Decimal
from fractions import Fraction

import numpy as np

import bitfold
from oracle import round_to

WITHOUT_NUMPY = """
import sys; sys.modules["numpy"] = None
import bitfold
print(bitfold.sum([1e20, 1, -1e20]), bitfold.sort([[3, 1], [2**70, 2]]).tolist(), bitfold.mean(range(4)))
print(bitfold.map("add", [[1, 2], [3, 4]], [1.5, 2]), bitfold.State("sum", "bf16").absorb([1, 0.5]).result())
"""


def nested(draw, shape):
    """Returns random numbers as lists, tuples or ranges of this shape."""
    if not shape:
        return draw()
    return random.choice([list, tuple])(nested(draw, shape[1:]) for _ in range(shape[0]))


class Lists(unittest.TestCase):
    def setUp(self):
        random.seed(11)

    def test_what_an_array_of_numpy_gives(self):
        draws = [
            lambda: random.choice([True, False]), lambda: random.randrange(-9, 9),
            lambda: random.choice([1, 0.5, True, -7.25]), lambda: 2**63 + random.randrange(9),
        ]  # fmt: skip
        for draw in draws:
            for shape in ((5,), (1,), (0,), (2, 3), (3, 0), (2, 1, 4)):
                x = nested(draw, shape)
                held = np.asarray(x)
                self.assertEqual(bitfold.sum(x), bitfold.sum(held), x)
                for axis in range(len(shape)):
                    for op in ("sum", "mean", "argmax", "min"):
                        if held.shape[axis]:
                            found = getattr(bitfold, op)(x, axis=axis, keepdims=True, overflow="wrap")
                            expected = getattr(bitfold, op)(held, axis=axis, keepdims=True, overflow="wrap")
                            np.testing.assert_array_equal(found, expected)
                            self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
                    np.testing.assert_array_equal(bitfold.sort(x, axis), bitfold.sort(held, axis), strict=True)

    def test_sums_are_exact(self):
        for _ in range(50):
            x = [random.uniform(-1, 1) * 10.0 ** random.randrange(-20, 20) for _ in range(5)]
            x += [random.randrange(-(2**53), 2**53) for _ in range(4)]
            random.shuffle(x)
            self.assertEqual(bitfold.sum(x), round_to(sum(map(Fraction, x))))
            wide = [random.randrange(-(2**127), 2**127) for _ in range(9)]
            self.assertEqual((bitfold.sum(wide), bitfold.max(wide)), (sum(wide), max(wide)))
        self.assertEqual(bitfold.sum([2**64 - 1, -1]), 2**64 - 2)
        self.assertIs(type(bitfold.sum([])), float)

    def test_ranges_numbers_and_arrays_in_lists(self):
        self.assertEqual(bitfold.sum(range(10, 0, -3)), 22)
        for x in (3, 2.5, True, -(2**100)):
            self.assertEqual(bitfold.max(x), x)
            self.assertEqual(bitfold.sum([x, x]), 2 * x)
        rows = [np.arange(3), array("i", [4, 5, 6]), (np.int8(1), np.float32(0.1), np.float64(2)), range(3)]
        expected = [sum(column) for column in zip(*(map(float, row) for row in rows))]
        self.assertEqual(bitfold.sum(rows, axis=0).tolist(), expected)
        self.assertEqual(bitfold.max([np.bool_(True)]), True)

    def test_several_lists(self):
        x = [1.5, 2, 3]
        self.assertEqual(bitfold.dot([1, 2, 3], x), 14.5)
        self.assertEqual(bitfold.dot([2**64 - 1, 1], [-1, 1]), 2 - 2**64)
        for kind in ("f4", "f2", "i1", "u8"):
            held = np.array([1, 2, 3], kind)
            self.assertEqual(bitfold.dot([4, 5, 6], held), 32)
            self.assertEqual(bitfold.searchsorted(held, [2, 7]).tolist(), [1, 3])
        np.testing.assert_array_equal(bitfold.vecdot([[1, 2], [3, 4]], np.ones((2, 2))), [3, 7])
        self.assertEqual(bitfold.segment_dot([1, 2, 3], x, [0, 1, 3]).tolist(), [1.5, 13])
        self.assertEqual(bitfold.index_add(3, [2, 0, 2], x).tolist(), [2, 0, 4.5])
        self.assertEqual(bitfold.searchsorted([1, 3], [0.5, 2.5]).tolist(), [0, 1])
        self.assertEqual(bitfold.map("mul", [1, 2], np.float32([0.5, 2])).tolist(), [0.5, 4])
        self.assertEqual(bitfold.unique([[3, 1], [3, 2]])[0].tolist(), [1, 2, 3])
        with self.assertRaises(bitfold.RangeError):
            bitfold.dot([0.1], np.ones(1, "f4"))

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_lists_beside_columns(self):
        import pyarrow as pa

        column = pa.array([1.5, None, 4.0])
        self.assertEqual(bitfold.dot([2, 3, 4], column, null="skip"), 19)
        self.assertEqual(bitfold.segment_dot([2, 3, 4], column, [0, 2, 3], null="skip").tolist(), [3, 16])
        self.assertRaises(bitfold.ArgumentError, bitfold.dot, [2, 3, 4], column)

    def test_what_has_a_dtype_takes_numbers_of_it(self):
        for kind in ("bool", "i8", "u8", "i16", "u64", "i128", "f16", "bf16", "f32", "f64"):
            self.assertEqual(bitfold.max([0, 1], dtype=kind), 1)
            self.assertEqual(bitfold.State("sum", kind).absorb([0, True]).absorb([1]).result(), 2)
        self.assertEqual(bitfold.States("sum", "f32", 2).absorb([[1, 2], [3, 0.5]], 0).result().tolist(), [4, 2.5])
        groups = bitfold.Groups("i32", [("sum", "f32")]).absorb([7, 3, 7], [1, 2, 0.5])
        self.assertEqual([groups.list()[0].tolist(), groups.result(0).tolist()], [[3, 7], [2, 1.5]])
        self.assertEqual(bitfold.Table("u32", "f64").insert([7, 9], [1, 2])[9], 2)
        self.assertEqual(bitfold.Histogram("f32", 2, (0, 2)).absorb([0, 1, 1]).info().count, 3)
        self.assertTrue(math.isnan(bitfold.sum([math.nan, -0.0], dtype="bf16")))
        wrong = [
            ([0.1], "f32"), ([65505], "f16"), ([257], "bf16"), ([128], "i8"), ([-1], "u64"), ([0.5], "i64"),
            ([2], "bool"), ([2**53 + 1], "f64"), ([1e300], "i64"), ([2**127], "i128"), ([2**1100], "f64"),
        ]  # fmt: skip
        for x, kind in wrong:
            with self.assertRaises(bitfold.RangeError, msg=(x, kind)):
                bitfold.sum(x, dtype=kind)

    def test_what_is_no_array(self):
        endless, double = [], []
        endless.append(endless)
        double += [double, double]
        for x in ([[1], [2, 3]], [[1], 2], [[[1]], [2]], [[], [1]], endless, double, [np.zeros(2), 1]):
            self.assertRaises(bitfold.ShapeError, bitfold.sum, x)
        for x in (["a"], [None, 1], [1j], [Decimal("0.1")], [Fraction(1, 3)], [{}], [b"ab", 1], {1, 2}, None, "ab"):
            self.assertRaises(bitfold.DtypeError, bitfold.sum, x)
        for x in ([2**53 + 1, 0.5], [2**1100, 0.5], [2**127], [-(2**127) - 1, 1]):
            self.assertRaises(bitfold.RangeError, bitfold.sum, x)
        with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
            bitfold.map("add", [1], [2], out=[0])

    def test_without_numpy(self):
        code = WITHOUT_NUMPY
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        lines = ["1.0 [[1, 3], [2, 1180591620717411303424]] 1.5", "Result([[2.5, 4.0], [4.5, 6.0]], dtype='f64') 1.5"]
        self.assertEqual(found.splitlines(), lines)
