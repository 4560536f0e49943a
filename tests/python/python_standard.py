"""The names and arguments that the module shares with the array API standard."""

import unittest

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
            for correction in (0, 1):
                options = {"axis": axis, "ddof": correction}
                for name in ("var", "std"):
                    found = getattr(bitfold, name)(x, axis=axis, correction=correction)
                    np.testing.assert_array_equal(found, getattr(bitfold, name)(x, **options))
                    np.testing.assert_allclose(found, getattr(np, name)(x, **options), rtol=1e-15)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.var(x, correction=2)

    def test_unique(self):
        x = np.array([[3, 1], [3, 2]])
        found = bitfold.unique_counts(x)
        self.assertEqual(found.values.tolist(), [1, 2, 3])
        self.assertEqual(found.counts.tolist(), [1, 1, 2])
        self.assertEqual(bitfold.unique_values(x).tolist(), [1, 2, 3])

    def test_the_names_are_there(self):
        for name in "sum prod mean var std min max argmin argmax vecdot unique_counts unique_values sort argsort searchsorted".split():
            self.assertTrue(callable(getattr(bitfold, name)), name)
            self.assertIn(name, bitfold.__all__)


if __name__ == "__main__":
    unittest.main()
