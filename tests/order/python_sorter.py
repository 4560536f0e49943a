"""Sorter: streams in order, against NumPy's stable sort; within a limit of memory, by parts of any size."""
import os
import tempfile
import unittest

import numpy as np

import bitfold

LIMIT = 1 << 20
N = 200_001  # elements: more than the limit holds


class Sorter(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.context = bitfold.Context(device="cpu", threads=2, memory=LIMIT, spill=self.folder)
        r = np.random.default_rng(1)
        self.x = r.integers(-1000, 1000, N) / 8
        self.x[r.random(N) < 0.01] = np.nan

    def sorter(self, dtype="f64", **options):
        sorter = bitfold.Sorter(dtype, context=self.context, **options)
        self.addCleanup(sorter.close)
        return sorter

    def filled(self, parts=7, **options):
        sorter = self.sorter(**options)
        for part in np.array_split(self.x, parts):
            self.assertIs(sorter.add(part), sorter)
        return sorter

    def test_values(self):
        found = np.concatenate(list(self.filled()))
        np.testing.assert_array_equal(found, np.sort(self.x))
        self.assertEqual(os.listdir(self.folder), [])

    def test_positions(self):
        sorter = self.filled(beside=True)
        self.assertEqual(len(sorter), N)
        values, index = map(np.concatenate, zip(*sorter))
        np.testing.assert_array_equal(index, np.argsort(self.x, kind="stable"))
        np.testing.assert_array_equal(values, self.x[index])

    def test_descending_without_nan(self):
        found = np.concatenate(list(self.filled(descending=True, nan="skip")))
        np.testing.assert_array_equal(found, np.sort(self.x[~np.isnan(self.x)])[::-1])

    def test_different(self):
        sorter = self.filled(different=True, beside=True, nan="skip")
        values, counts = np.unique(self.x[~np.isnan(self.x)], return_counts=True)
        self.assertEqual(len(sorter), len(values))
        found, n = sorter.next(len(values) + 5)
        np.testing.assert_array_equal(found, values)
        np.testing.assert_array_equal(n, counts)
        self.assertEqual(len(sorter.next(1)[0]), 0)

    def test_numbers_that_go_with_elements(self):
        keys, rows = np.array([3, 1, 3, 2], "i4"), np.array([10, 20, 30, 40])
        sorter = self.sorter("i32", beside=True).add(keys, rows).add(keys[::-1], -rows[::-1])
        found, numbers = sorter.next(8)
        self.assertEqual(found.tolist(), [1, 1, 2, 2, 3, 3, 3, 3])
        self.assertEqual(numbers.tolist(), [20, -20, 40, -40, 10, 30, -30, -10])
        sums = self.sorter("i32", beside=True, different=True).add(keys, rows).next(9)
        self.assertEqual([part.tolist() for part in sums], [[1, 2, 3], [20, 40, 40]])

    def test_wide_integers_and_pairs(self):
        wide = np.array([1 << 100, -5, 1 << 70], object)
        self.assertEqual(self.sorter("i128").add(wide).next(9).tolist(), sorted(wide))
        pairs = np.array([[2, 1], [1, 9], [2, 0]], "u8")
        self.assertEqual(self.sorter("pair").add(pairs).next(9).tolist(), [[1, 9], [2, 0], [2, 1]])

    def test_what_is_refused(self):
        sorter = self.sorter(nan="error").add(np.array([2.0, 1]))
        for error, call in [
            (bitfold.NanError, lambda: sorter.add(np.array([np.nan]))),
            (bitfold.DtypeError, lambda: sorter.add(np.array([1], "f4"))),
            (bitfold.ArgumentError, lambda: sorter.add(np.array([1.0]), np.array([1]))),
            (bitfold.ArgumentError, lambda: self.sorter(nan="no")),
            (bitfold.ArgumentError, lambda: self.sorter(memory=-1)),
        ]:
            with self.assertRaises(error):
                call()
        self.assertEqual(sorter.next(3).tolist(), [1, 2])
        with self.assertRaises(bitfold.StateError):
            sorter.add(np.array([1.0]))
        with sorter:
            pass
        with self.assertRaises(bitfold.ArgumentError):
            sorter.next(1)

    def test_memory_that_cannot_spill(self):
        for spill, error in [(None, bitfold.OutOfMemoryError), ("/nonexistent", bitfold.FileError)]:
            context = bitfold.Context(device="cpu", memory=LIMIT, spill=spill)
            with bitfold.Sorter("f64", context=context) as sorter, self.assertRaises(error):
                sorter.add(self.x)
