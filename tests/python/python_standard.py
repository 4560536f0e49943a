"""The names and arguments that the module shares with the array API standard."""

import math
import unittest
from array import array

import numpy as np

import bitfold


class Standard(unittest.TestCase):
    def test_vecdot(self):
        a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0)[::-1].reshape(2, 3, 4)
        for axis in (0, 1, 2, -1, -2):
            expected = (a * b).sum(axis)
            np.testing.assert_array_equal(bitfold.vecdot(a, b, axis=axis), expected)
        np.testing.assert_array_equal(bitfold.vecdot(a, b), (a * b).sum(-1))
        with self.assertRaises(bitfold.ShapeError):
            bitfold.vecdot(a, b[:1])

    def test_correction(self):
        x = np.array([[1.0, 2, 4], [7, 7, 10]])
        for axis in (None, 0, 1):
            for correction in (0, 1, 0.0, 1.0):
                options = {"axis": axis, "ddof": correction}
                for name in ("var", "std"):
                    found = getattr(bitfold, name)(x, axis=axis, correction=correction)
                    np.testing.assert_array_equal(found, getattr(bitfold, name)(x, **options))
                    np.testing.assert_allclose(found, getattr(np, name)(x, **options), rtol=1e-15)
        for wrong in (2, 2.0):
            self.assertRaises(bitfold.ArgumentError, bitfold.var, x, correction=wrong)
        self.assertRaises(TypeError, bitfold.var, x, correction=0.5)

    def test_unique(self):
        x = np.array([[3, 1], [3, 2]])
        found = bitfold.unique_counts(x)
        self.assertEqual(found.values.tolist(), [1, 2, 3])
        self.assertEqual(found.counts.tolist(), [1, 1, 2])
        self.assertEqual(bitfold.unique_values(x).tolist(), [1, 2, 3])

    def test_where_unique_elements_are(self):
        rng = np.random.default_rng(1)
        for kind in ("f8", "f4", "f2", "i8", "u1", "?"):
            for shape in ((0,), (1,), (40,), (5, 7), (2, 0), ()):
                x = (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.8)).astype(kind)
                for given in (x, np.asfortranarray(x), x.tolist()):
                    held = np.asarray(given)
                    expected = np.unique(held, return_index=True, return_inverse=True, return_counts=True)
                    found = bitfold.unique_all(given)
                    for name, one, other in zip(found._fields, found, expected):
                        np.testing.assert_array_equal(np.ravel(one), np.ravel(other), f"{kind} {shape} {name}")
                    self.assertEqual(np.shape(found.inverse_indices), held.shape)
                    values, inverse = bitfold.unique_inverse(given)
                    np.testing.assert_array_equal(values[inverse], held)

    def test_where_unusual_elements_are(self):
        x = np.array([np.nan, 0.0, -0.0, np.inf, np.nan])
        found = bitfold.unique_all(x)
        self.assertEqual([each.tolist() for each in found[1:]], [[1, 3, 0], [2, 0, 0, 1, 2], [2, 1, 2]])
        self.assertRaises(bitfold.NanError, bitfold.unique_all, x, nan="error")
        self.assertRaises(bitfold.ArgumentError, bitfold.unique_inverse, x, nan="skip")
        bits = np.array([0x4000, 0x3F80, 0xBF80, 0x4000], "u2")
        self.assertEqual(bitfold.unique_inverse(bits, dtype="bf16").inverse_indices.tolist(), [2, 1, 0, 2])
        wide = bitfold.unique_all([2**70, -1, 2**70])
        self.assertEqual([each.tolist() for each in wide], [[-1, 2**70], [1, 0], [1, 0, 1], [1, 2]])
        own = bitfold.unique_all(array("d", [3, 1, 3]))
        self.assertEqual([each.tolist() for each in own], [[1, 3], [1, 0], [1, 0, 1], [1, 2]])
        days = np.array(["2026-01-03", "2025-12-31", "2026-01-03"], "M8[D]")
        values, inverse = bitfold.unique_inverse(days)
        np.testing.assert_array_equal(values[inverse], days)
        self.assertRaises(bitfold.DtypeError, bitfold.unique_all, ["a", "b"])

    def test_count_nonzero(self):
        rng = np.random.default_rng(2)
        for kind in ("f8", "f2", "i4", "u8", "?"):
            x = rng.integers(0, 2, (2, 3, 4)).astype(kind)
            for axis in (None, 0, -1, (0, 2)):
                for keepdims in (False, True):
                    if axis is not None or not keepdims:
                        expected = np.count_nonzero(x, axis=axis, keepdims=keepdims)
                        np.testing.assert_array_equal(bitfold.count_nonzero(x, axis, keepdims), expected)
        self.assertIs(type(bitfold.count_nonzero(x)), int)
        self.assertEqual(bitfold.count_nonzero([math.nan, -0.0, 5e-324, 0.0]), 2)
        self.assertEqual([bitfold.count_nonzero(each) for each in ([], 7, 0, True, [[1, 0], [0, 0]])], [0, 1, 0, 1, 1])
        self.assertEqual(bitfold.count_nonzero(np.array([0x8000, 1], "u2"), dtype="bf16"), 1)
        self.assertRaises(bitfold.ArgumentError, bitfold.count_nonzero, x, axis=3)

    def test_stable(self):
        x = np.array([2, 1, 2, 1])
        for stable in (True, False):
            self.assertEqual(bitfold.argsort(x, stable=stable).tolist(), [1, 3, 0, 2])
            self.assertEqual(bitfold.argsort(x, axis=0, descending=True, stable=stable).tolist(), [0, 2, 1, 3])
            self.assertEqual(bitfold.sort(x, axis=-1, descending=False, stable=stable).tolist(), [1, 1, 2, 2])

    def test_the_names_are_there(self):
        names = (
            "sum prod mean var std min max argmin argmax vecdot count_nonzero sort argsort searchsorted "
            "unique_all unique_counts unique_inverse unique_values cumulative_sum cumulative_prod"
        )
        for name in names.split():
            self.assertTrue(callable(getattr(bitfold, name)), name)
            self.assertIn(name, bitfold.__all__)
