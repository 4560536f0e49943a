"""Order of columns of decimals and of integers of 128 bits, in Python: elements are decimals or ints, and
what lies between two is rounded once. The oracle is Python's Fraction."""

import importlib
import pickle
import random
import unittest
from decimal import Decimal
from fractions import Fraction

import numpy as np

import bitfold
from device_column import DeviceColumn


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


def column_of(x, digits, scale):
    """A column of decimal128: of more than 18 digits these are i128."""
    memory = np.array([[each & (2**64 - 1), (each >> 64) & (2**64 - 1)] for each in x], "u8")
    return DeviceColumn(memory.ctypes.data, len(x), f"d:{digits},{scale}".encode(), owner=memory)


def numbers_of(x, scale):
    """The decimals, exact, as the module gives them: ints of scale 0."""
    return [Decimal(each).scaleb(-scale) if scale else each for each in x]


def takes(function, x):
    """Skips a test of what the library does not have for i128."""
    try:
        return function(x)
    except bitfold.DtypeError:
        raise unittest.SkipTest("the library does not order i128") from None


class Order:
    """What all columns share; DIGITS and SCALE are those of a class."""

    def setUp(self):
        rng = random.Random(self.DIGITS)
        most = 10 ** min(self.DIGITS, 27)  # the Decimals of the oracle have 28
        self.x = [rng.randrange(-most, most) for _ in range(40)] * 2 + [0, 10, -100]
        self.column = column_of(self.x, self.DIGITS, self.SCALE)
        self.numbers = numbers_of(self.x, self.SCALE)
        takes(bitfold.sort, self.column)

    def same(self, found, wanted):
        found = found.tolist() if hasattr(found, "tolist") else list(found)
        self.assertEqual([(type(each), each) for each in found], [(type(each), each) for each in wanted])

    def test_sorting(self):
        x, numbers = self.x, self.numbers
        self.same(bitfold.sort(self.column), sorted(numbers))
        self.same(bitfold.sort(self.column, descending=True), sorted(numbers)[::-1])
        self.same(bitfold.argsort(self.column), sorted(range(len(x)), key=lambda i: x[i]))
        values, index = bitfold.top(self.column, 3)
        best = sorted(range(len(x)), key=lambda i: -x[i])[:3]
        self.same(values, [numbers[i] for i in best])
        self.same(index, best)
        self.same(bitfold.nth(self.column, [0, 5]), [sorted(numbers)[0], sorted(numbers)[5]])
        offsets = np.array([0, 3, 10])
        parts = sorted(numbers[:3]) + sorted(numbers[3:10]) + numbers[10:]
        self.same(bitfold.segment_sort(self.column, offsets), parts)
        self.assertFalse(bitfold.is_sorted(self.column))

    def test_different_values(self):
        values, counts = bitfold.unique(self.column)
        self.same(values, sorted(set(self.numbers)))
        self.same(counts, [self.numbers.count(each) for each in sorted(set(self.numbers))])
        self.assertEqual(bitfold.mode(self.column), (min(each for each in self.numbers if self.numbers.count(each) == 2), 2))

    def test_places(self):
        ordered = column_of(sorted(self.x), self.DIGITS, self.SCALE)
        places = [sorted(self.x).index(each) for each in self.x]
        self.same(bitfold.searchsorted(ordered, self.column), places)
        self.same(bitfold.rank(self.column, method="min"), [place + 1 for place in places])

    def test_quantiles(self):
        line = sorted(self.numbers)
        unit = Fraction(1, 10**self.SCALE)
        units = sorted(self.x)
        self.same([bitfold.median(self.column)], [line[41]])
        self.same(bitfold.quantile(self.column, [0.3, 1], method="lower"), [line[24], line[82]])
        even = column_of(self.x[:2], self.DIGITS, self.SCALE)
        self.same([bitfold.median(even)], [float(sum(self.x[:2]) * unit / 2)])
        found = bitfold.quantile(self.column, [0.5, 0.25])
        self.same(found, [float(units[41] * unit), float((units[20] + units[21]) * unit / 2)])
        found = bitfold.segment_median(self.column, np.array([0, 2, 2]), empty=-1)
        self.same(found, [float(sum(self.x[:2]) * unit / 2), -1.0])

    def test_groups_of_decimals(self):
        keys, medians = bitfold.group_median(self.column, np.arange(len(self.x)) * 1.0)
        self.same(keys, sorted(set(self.numbers)))
        self.same(medians[-1:], [float(np.median([i for i, each in enumerate(self.x) if each == max(self.x)]))])

    def test_results_are_pickled_and_shown(self):
        found = bitfold.sort(self.column)
        again = pickle.loads(pickle.dumps(found))
        self.assertEqual((again.tolist(), again.dtype, again.scale), (found.tolist(), found.dtype, self.SCALE))
        self.assertEqual((found[0], found[-1], found[2:4].tolist()), (min(self.numbers), max(self.numbers), found.tolist()[2:4]))
        self.assertEqual(np.asarray(found).tolist(), found.tolist())
        self.assertIn(repr(found[0]), repr(found))

    def test_arrow_takes_them(self):
        pa = library("pyarrow")
        found = pa.array(bitfold.sort(self.column))
        self.assertEqual(found.type, pa.decimal128(38, self.SCALE))
        self.assertEqual(found.to_pylist(), sorted(map(Decimal, self.numbers)))


class Small(Order, unittest.TestCase):
    DIGITS, SCALE = 18, 3


class Wide(Order, unittest.TestCase):
    DIGITS, SCALE = 38, 5


class Whole(Order, unittest.TestCase):
    DIGITS, SCALE = 38, 0


class Callers(unittest.TestCase):
    def test_pandas_gets_an_array_of_objects(self):
        pa, pd = library("pyarrow"), library("pandas")
        x = [Decimal("1.10"), Decimal("-2.25"), Decimal("10")]
        found = bitfold.sort(pd.Series(x, dtype=pd.ArrowDtype(pa.decimal128(9, 2))))
        self.assertEqual((type(found), found.dtype, found.tolist()), (np.ndarray, np.dtype(object), sorted(x)))
        self.assertEqual(bitfold.unique(pd.Series(x, dtype=pd.ArrowDtype(pa.decimal128(9, 2))))[0].tolist(), sorted(x))

    def test_polars(self):
        pl = library("polars")
        x = [Decimal("1.10"), Decimal("-2.25"), None, Decimal("10")]
        found = bitfold.sort(pl.Series(x, dtype=pl.Decimal(18, 2)), null="skip")
        self.assertEqual(pl.Series(found).to_list(), [Decimal("-2.25"), Decimal("1.1"), Decimal("10")])
        self.assertEqual(bitfold.median(pl.Series(x, dtype=pl.Decimal(18, 2)), null="skip"), Decimal("1.1"))
        wide = takes(bitfold.sort, pl.Series([2**100, -5], dtype=pl.Int128))
        self.assertEqual(wide.tolist(), [-5, 2**100])

    def test_objects_of_numpy(self):
        x = np.array([[2**70, -3], [5, 2**126]], object)
        found = takes(bitfold.sort, x)
        self.assertEqual((found.dtype, found.tolist()), (np.dtype(object), np.sort(x).tolist()))
        self.assertEqual(bitfold.argsort(x, axis=0).tolist(), [[1, 0], [0, 1]])
