"""Arrays of times in the Python module: what NumPy makes of them, and of the same integers.

Builds: release."""
import datetime
import unittest

import numpy as np

import bitfold

UNITS = ["D", "h", "m", "s", "ms", "us", "ns"]


class Times(unittest.TestCase):
    def arrays(self):
        r = np.random.default_rng(5)
        for kind in "Mm":
            for unit in UNITS:
                for n in (1, 2, 3, 101):
                    x = r.integers(-10**4, 10**4, n).astype("i8").view("%s8[%s]" % (kind, unit))
                    yield x
                    yield x.astype(x.dtype.newbyteorder(">"))
                    yield np.repeat(x, 2)[::2]

    def same(self, got, wanted):
        self.assertEqual(got.dtype, wanted.dtype)
        np.testing.assert_array_equal(got, wanted)

    def test_what_numpy_has(self):
        for x in self.arrays():
            native = x.astype(x.dtype.newbyteorder("="))
            with self.subTest(dtype=x.dtype, n=x.size):
                self.same(bitfold.min(x), native.min())
                self.same(bitfold.max(x), native.max())
                self.assertEqual((bitfold.argmin(x), bitfold.argmax(x)), (native.argmin(), native.argmax()))
                self.same(bitfold.sort(x), np.sort(native))
                np.testing.assert_array_equal(bitfold.argsort(x), np.argsort(native, kind="stable"))
                values, counts = bitfold.unique(x)
                wanted = np.unique(native, return_counts=True)
                self.same(values, wanted[0])
                np.testing.assert_array_equal(counts, wanted[1])
                self.same(bitfold.unique_counts(x).values, wanted[0])
                self.same(bitfold.unique_values(x), wanted[0])
                if x.dtype.kind == "m":
                    self.same(bitfold.median(x), np.median(native))

    def test_medians(self):
        x = np.array(["2026-01-01", "2026-01-04"], "M8[D]")
        self.same(bitfold.median(x), np.datetime64("2026-01-02"))
        self.same(bitfold.median(x.astype("M8[s]")), np.datetime64("2026-01-02T12:00:00"))
        x = np.array([2**62 + 1, 2**62 + 4, 2**62 + 9, 2**62], "i8").view("M8[ns]")
        self.same(bitfold.median(x), np.int64(2**62 + 2).view("M8[ns]"))

    def test_axes(self):
        x = np.arange(12).reshape(3, 4)[::-1].astype("M8[s]")
        for axis in (0, 1, -1):
            self.same(bitfold.min(x, axis=axis), x.min(axis))
            self.same(bitfold.max(x, axis=axis, keepdims=True), x.max(axis, keepdims=True))
            self.same(bitfold.sort(x, axis=axis), np.sort(x, axis))
            np.testing.assert_array_equal(bitfold.argmax(x, axis=axis), x.argmax(axis))

    def test_nat(self):
        x = np.array(["2026-01-03", "NaT", "2026-01-01"], "M8[D]")
        for function in (bitfold.min, bitfold.sort, bitfold.median, bitfold.unique, bitfold.argsort, bitfold.argmin):
            with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 3 times are NaT"):
                function(x)
        self.same(bitfold.min(x, null="skip"), np.datetime64("2026-01-01"))
        self.same(bitfold.sort(x, null="skip"), np.sort(x)[:2])
        self.same(bitfold.median(x, null="skip"), np.datetime64("2026-01-02"))
        self.same(bitfold.unique(x, null="skip")[0], np.sort(x)[:2])

    def test_no_sums(self):
        x = np.array(["2026-01-03", "2026-01-01"], "M8[D]")
        for name in ("sum", "mean", "prod", "var", "std", "norm", "sumsq"):
            with self.assertRaisesRegex(TypeError, "times have no %s" % name):
                getattr(bitfold, name)(x)
            with self.assertRaises(TypeError):
                getattr(bitfold, name)(x, axis=0)
        with self.assertRaises(TypeError):
            bitfold.describe(x)

    def test_histograms(self):
        x = np.array(["2026-01-01", "2026-01-02", "2026-01-05"], "M8[D]")
        edges = np.array(["2026-01-01", "2026-01-03T12", "2026-01-06"], "M8[h]")
        got, wanted = bitfold.histogram(x, edges), np.histogram(x, edges)
        np.testing.assert_array_equal(got[0], wanted[0])
        self.same(got[1], edges)
        counts, among = bitfold.histogram(x, 4)
        np.testing.assert_array_equal(counts, [1, 1, 0, 1])
        self.same(among, np.arange(x[0], x[0] + 5))

    def test_other_libraries(self):
        day = datetime.date(2026, 1, 3)
        for name, make in ("polars", lambda m: m.Series([day, None])), ("pyarrow", lambda m: m.array([day, None])), \
                ("pandas", lambda m: m.Series(m.to_datetime(["2026-01-03", None]))):
            try:
                module = __import__(name)
            except ImportError:
                continue
            x = make(module)
            with self.subTest(library=name):
                self.assertEqual(bitfold.max(x, null="skip"), np.datetime64(day))
                self.assertEqual(len(bitfold.sort(x, null="skip")), 1)
                with self.assertRaises(bitfold.ArgumentError):
                    bitfold.max(x)
                with self.assertRaises(TypeError):
                    bitfold.sum(x)
