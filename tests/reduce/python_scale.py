"""Integers with a scale, and Arrow's columns of decimals, in Python: results are exact decimals. The
oracles are Decimal and Fraction."""

import decimal
import importlib
import os
import pickle
import random
import sys
import tempfile
import unittest
from decimal import Decimal
from fractions import Fraction

import numpy as np

import bitfold
from command import run
from device_column import CUDA, DeviceColumn

decimal.getcontext().prec = 200
VALUES = ["sum", "sumsq", "min", "max", "mean", "var", "std", "norm"]


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


def root(x):
    return float((Decimal(x.numerator) / Decimal(x.denominator)).sqrt())


def expected(op, x, y=None):
    """The result of Fractions: a Decimal, or the float nearest to it."""
    total, squares = sum(x), sum(each * each for each in x)
    mean = total / len(x)
    variance = squares / len(x) - mean * mean
    exact = {"sum": total, "sumsq": squares, "min": min(x), "max": max(x)}
    if op in exact:
        return Decimal(exact[op].numerator) / Decimal(exact[op].denominator)
    if op in ("std", "norm"):
        return root(variance if op == "std" else squares)
    return float(mean if op == "mean" else variance)


def units(rng, n, digits):
    return [rng.randrange(-10**digits + 1, 10**digits) for _ in range(n)]


class Scaled(unittest.TestCase):
    def check(self, found, wanted):
        self.assertEqual((type(found), found), (type(wanted), wanted))
        if type(found) is Decimal:
            _, digits, exponent = found.as_tuple()
            self.assertTrue(exponent == 0 or (exponent < 0 and digits[-1] != 0), found)

    def test_results_are_the_decimals(self):
        rng = random.Random(1)
        for scale in (1, 2, 9, 18):
            for digits in (2, 18):
                x = units(rng, 7, digits)
                decimals = [Fraction(each, 10**scale) for each in x]
                given = np.array(x)
                for op in VALUES:
                    self.check(getattr(bitfold, op)(given, scale=scale), expected(op, decimals))
                dot = bitfold.dot(given, given[::-1], scale=scale)
                products = sum(a * b for a, b in zip(decimals, decimals[::-1]))
                self.check(dot, Decimal(products.numerator) / Decimal(products.denominator))
                self.assertEqual(bitfold.argmax(given, scale=scale), x.index(max(x)))
                described = bitfold.describe(given, scale=scale)
                for op in ("sum", "min", "max", "mean", "std"):
                    self.check(getattr(described, op), expected(op, decimals))

    def test_scale_0_is_none(self):
        self.check(bitfold.sum(np.array([110, 220]), scale=0), 330)

    def test_whole_decimals_have_no_zeros_behind_the_point(self):
        for x, wanted in (([110, 890], "10"), ([0], "0"), ([-1500], "-15"), ([5], "0.05")):
            self.assertEqual(str(bitfold.sum(np.array(x), scale=2)), wanted)

    def test_what_takes_no_scale_is_refused(self):
        cents = np.array([110, 220])
        for call in (
            lambda: bitfold.sum(cents, scale=39), lambda: bitfold.sum(cents, scale=-1),
            lambda: bitfold.prod(cents, scale=2), lambda: bitfold.sum(np.array([1.5]), scale=1),
            lambda: bitfold.describe(cents, scale=39), lambda: bitfold.State("sum", "f64", scale=1),
            lambda: bitfold.State("prod", "i64", scale=1),
        ):  # fmt: skip
            with self.assertRaises((bitfold.ArgumentError, bitfold.DtypeError)):
                call()

    def test_groups(self):
        ops = ["sum", "sumsq", "min", "max", "mean", "std"]
        g = bitfold.Groups("i64", [(op, "i64") for op in ops])
        g.absorb(np.array([7, 3, 7]), *[np.array([110, 5, 220])] * len(ops))
        for i, op in enumerate(ops):
            of = [expected(op, [Fraction(5, 100)]), expected(op, [Fraction(11, 10), Fraction(11, 5)])]
            for found, wanted in zip(g.result_list(i, scale=2), of):
                self.check(found, wanted)
        self.assertEqual(g.result(0, scale=2).tolist(), [5, 330])  # in units


class States(unittest.TestCase):
    def test_states_of_different_scales_add_exactly(self):
        for op, wanted in (("sum", Decimal("3.123")), ("min", Decimal("0.003")), ("mean", 1.041)):
            a = bitfold.State(op, "i64", scale=2).absorb(np.array([112]))
            b = bitfold.State(op, "i64").absorb(np.array([2]))
            c = bitfold.State(op, "i64", scale=3).absorb(np.array([3]))
            self.assertEqual((a + b + c).result(), wanted)
            self.assertEqual((b + c + a).result(), wanted)
            self.assertEqual(((a + b).info().scale, (a + b + c).info().scale), (2, 3))

    def test_they_are_pickled_with_their_scale(self):
        state = bitfold.State("sum", "i64", scale=2).absorb(np.array([110, 220]))
        again = pickle.loads(pickle.dumps(state))
        self.assertEqual((again, again.result(), again.info().scale), (state, Decimal("3.3"), 2))

    def test_a_state_that_the_command_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.bfs")
            run("sum", "--save", path, stdin=b"0.1\n0.25\n")
            with open(path, "rb") as file:
                state = bitfold.State.load(file.read())
        self.assertEqual((state.result(), state.info().scale), (Decimal("0.35"), 2))
        state += bitfold.State("sum", state.info().dtype, scale=3).absorb(np.array([1]))
        self.assertEqual(state.result(), Decimal("0.351"))

    def test_an_element_that_the_dtype_does_not_hold(self):
        state = bitfold.State("max", "i64").absorb(np.array([10**18]))
        with self.assertRaises(bitfold.RangeError):
            state += bitfold.State("max", "i64", scale=1).absorb(np.array([1]))
        self.assertEqual(state.result(), 10**18)


def words_of(x, bits):
    """The memory of decimals of so many bits."""
    return np.frombuffer(b"".join(each.to_bytes(bits // 8, sys.byteorder, signed=True) for each in x), "u1")


def column_of(x, bits, digits=9, scale=2, format=None):
    """Decimals, of which those that are None are NULL; of a format of integers, these."""
    made = words_of([each or 0 for each in x], bits)
    valid = np.packbits([each is not None for each in x], bitorder="little") if None in x else None
    name = format or f"d:{digits},{scale}" + (f",{bits}" if bits != 128 else "")
    at = None if valid is None else valid.ctypes.data
    return DeviceColumn(made.ctypes.data, len(x), name.encode(), valid=at, owner=(made, valid))


class Columns(unittest.TestCase):
    def test_every_width(self):
        x = [110, -220, 99999999, 5]
        decimals = [Fraction(each, 100) for each in x]
        for bits in (32, 64, 128, 256):
            column = column_of(x, bits)
            for op in VALUES:
                self.assertEqual(getattr(bitfold, op)(column), expected(op, decimals), (op, bits))
            self.assertEqual(bitfold.dot(column, column), expected("sumsq", decimals))
            described = bitfold.describe(column)
            self.assertEqual((described.sum, described.argmax), (expected("sum", decimals), 2))
            self.assertEqual(bitfold.argmin(column), 1)

    def test_wide_decimals(self):
        rng = random.Random(2)
        for digits, scale in ((19, 2), (25, 25), (38, 0), (38, 38)):
            x = units(rng, 9, min(digits, 28))  # squares of more do not fit 192 bits
            decimals = [Fraction(each, 10**scale) for each in x]
            for bits in (128, 256):
                column = column_of(x, bits, digits, scale)
                for op in VALUES:
                    found, wanted = getattr(bitfold, op)(column), expected(op, decimals)
                    self.assertEqual(found, wanted, (op, digits, scale, bits))
                self.assertEqual(bitfold.dot(column, column), expected("sumsq", decimals))
                described = bitfold.describe(column)
                self.assertEqual((described.sum, described.max), (expected("sum", decimals), expected("max", decimals)))
                self.assertEqual(bitfold.argmin(column), x.index(min(x)))
        most = [10**38 - 1, 1 - 10**38, 10**38 - 1]
        self.assertEqual(bitfold.sum(column_of(most, 128, 38, 2)), Decimal(10**38 - 1).scaleb(-2))
        with self.assertRaises(bitfold.RangeError):
            bitfold.sumsq(column_of(most, 128, 38))

    def test_wide_nulls(self):
        x = [None, 10**30, None, -(10**37), 5, None, 10**30]
        kept = [Fraction(each, 1000) for each in x if each is not None]
        for bits in (128, 256):
            column = column_of(x, bits, 38, 3)
            with self.assertRaisesRegex(bitfold.ArgumentError, "3 of 7 elements are NULL"):
                bitfold.sum(column)
            self.assertEqual(bitfold.sum(column, null="skip"), expected("sum", kept))
            described = bitfold.describe(column, null="skip")
            self.assertEqual((described.argmin, described.argmax, described.n), (3, 1, 4))
            found = bitfold.dot(column, column_of([1, 2, None, 0, 7, 8, None], bits, 38, 3), null="skip")
            self.assertEqual(found, Decimal(2 * 10**30 + 35).scaleb(-6))

    def test_wide_states(self):
        for op in ("sum", "max", "std", "argmin", "describe"):
            parts = bitfold.State(op, "i128", scale=3)
            parts.absorb(column_of([10**30], 128, 38, 3)).absorb(column_of([7, -5], 64, scale=0))
            parts.absorb(column_of([10**20], 256, 38, 1))
            whole = bitfold.State(op, "i128", scale=3)
            whole.absorb(column_of([10**30, 7000, -5000, 10**22], 128, 38, 3))
            self.assertEqual((parts.result(), parts), (whole.result(), whole))
            self.assertEqual(pickle.loads(pickle.dumps(parts)), whole)
        self.assertEqual(parts.info().dtype, "i128")
        with self.assertRaisesRegex(bitfold.StateError, "i128"):
            bitfold.State("sum", "i64", scale=3).absorb(column_of([1], 128, 38, 3))

    def test_integers_of_polars(self):
        x = [2**100, None, -(2**127), 2**127 - 1, -7]
        kept = [each for each in x if each is not None]
        column = column_of(x, 128, format="_pli128")
        self.assertEqual(bitfold.sum(column, null="skip"), sum(kept))
        self.assertEqual(bitfold.min(column, null="skip"), -(2**127))
        self.assertEqual(type(bitfold.max(column_of(kept, 128, format="_pli128"))), int)

    def test_states_take_them(self):
        for op in ("sum", "max", "std", "argmin", "describe"):
            parts = bitfold.State(op, "i64", scale=3).absorb(np.array([1000, 2500]))
            parts.absorb(column_of([110, -220], 128)).absorb(column_of([7], 64, scale=0))
            whole = bitfold.State(op, "i64", scale=3).absorb(np.array([1000, 2500, 1100, -2200, 7000]))
            self.assertEqual((parts.result(), parts), (whole.result(), whole))
        with self.assertRaisesRegex(bitfold.ArgumentError, "scale=2"):
            bitfold.State("sum", "i64").absorb(column_of([110], 128))

    def test_quantiles(self):
        def found(scale, *chunks):
            q = bitfold.Quantiles("i64", [0, 0.5, 0.75], scale=scale)
            while not q.done:
                for chunk in chunks:
                    q.absorb(chunk)
                q.next()
            self.assertEqual(pickle.loads(pickle.dumps(q)).result(), q.result())
            return q

        q = found(2, np.array([300, 110]), column_of([-220, 505], 128))
        self.assertEqual(q.result(), [Decimal("-2.2"), 2.05, 3.5125])
        self.assertEqual(list(map(type, q.result())), [Decimal, float, float])
        self.assertEqual((q.info().scale, q), (2, found(2, np.array([300, 110, -220, 505]))))
        with self.assertRaisesRegex(bitfold.ArgumentError, "scale 2, not 0"):
            bitfold.Quantiles("i64").absorb(column_of([1], 64))

    def test_what_is_refused(self):
        x = column_of([110, 220], 128)
        gpu = column_of([1], 64)
        gpu._device.device_type = CUDA
        for call, error in (
            (lambda: bitfold.sum(column_of([1], 256, 39)), "39 digits"),
            (lambda: bitfold.dot(column_of([1], 128, 38), column_of([1], 128)), "i128"),
            (lambda: bitfold.sum(column_of([1], 128, format="_plu128")), "holds no numbers"),
            (lambda: bitfold.sum(column_of([1], 128, scale=-2)), "scale of -2"),
            (lambda: bitfold.sum(column_of([1], 128, scale=39)), "scale of 39"),
            (lambda: bitfold.prod(x), "no scale"),
            (lambda: bitfold.sum(x, scale=3), "scale 2, not 3"),
            (lambda: bitfold.dot(x, column_of([1, 2], 128, scale=3)), "scale 2, 3"),
            (lambda: bitfold.dot(x, np.array([1, 2])), "scale 2, 0"),
            (lambda: bitfold.searchsorted(x, column_of([1], 128, scale=3)), "scale 2, 3"),
            (lambda: bitfold.index_median(2, x, x), "index of decimals"),
            (lambda: bitfold.sum(x, axis=0), "decimals"),
            (lambda: bitfold.Groups("i64").absorb(x), "decimals"),
            (lambda: bitfold.map("add", x, 1), "decimals"),
            (lambda: bitfold.sum(gpu), "on a device"),
            (lambda: bitfold.sum(np.array([Decimal(1)])), r"pyarrow\.array"),
        ):  # fmt: skip
            with self.assertRaisesRegex(bitfold.Error, error):
                call()

    def test_columns_of_pyarrow(self):
        pa = library("pyarrow")
        x = [Decimal("9.99"), None, Decimal("-2.2"), None, Decimal("0.05"), Decimal("7")] * 9
        for kind in (
            pa.decimal128(3, 2), pa.decimal128(18, 2), pa.decimal256(18, 5), pa.decimal128(38, 20), pa.decimal256(38, 5),
        ):  # fmt: skip
            for begin in (0, 1, 9):
                column = pa.chunked_array([pa.array(x, kind)[begin:], pa.array(x[:0], kind), pa.array(x, kind)])
                rows = column.to_pylist()
                kept = [Fraction(each) for each in rows if each is not None]
                for op in VALUES:
                    found = getattr(bitfold, op)(column, null="skip")
                    self.assertEqual(found, expected(op, kept), (op, kind, begin))
                described = bitfold.describe(column, null="skip")
                self.assertEqual(described.argmin, rows.index(Decimal("-2.2")))
                self.assertEqual(described.sum, expected("sum", kept))
                dtype = "i128" if kind.precision > 18 else "i64"
                state = bitfold.State("describe", dtype, scale=kind.scale + 1).absorb(column, null="skip")
                self.assertEqual(state.result(), described)
        self.assertEqual(bitfold.sum(pa.array([Decimal("1.10"), Decimal("2.20")])), Decimal("3.30"))

    def test_columns_of_polars_and_pandas(self):
        pl, pd, pa = library("polars"), library("pandas"), library("pyarrow")
        x = [Decimal("1.10"), Decimal("2.20")]
        series = pl.Series(x, dtype=pl.Decimal(18, 2))
        held = pd.Series(x, dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
        self.assertEqual((bitfold.sum(series), bitfold.sum(held)), (Decimal("3.3"), Decimal("3.3")))
        self.assertEqual(bitfold.describe(series.to_frame("a"))["a"].max, Decimal("2.2"))
        x = [Decimal("12345678901234567890123456789.125"), None, Decimal("-0.5")]
        series = pl.Series(x, dtype=pl.Decimal(38, 3))
        held = pd.Series(x, dtype=pd.ArrowDtype(pa.decimal128(38, 3)))
        for column in (series, held, pl.concat([series[1:], series[:1]]), series.reverse(), held[::-1]):
            self.assertEqual(bitfold.sum(column, null="skip"), Decimal("12345678901234567890123456788.625"))
        integers = pl.Series([2**100, None, -1], dtype=pl.Int128)
        self.assertEqual(bitfold.sum(integers, null="skip"), 2**100 - 1)
        self.assertEqual(bitfold.describe(integers.to_frame("a")[:1])["a"].max, 2**100)


class Integers(unittest.TestCase):
    def test_python_ints_beyond_64_bits(self):
        x = np.array([[2**70, -3], [2**126, 5]], object)
        flat = [2**70, -3, 2**126, 5]
        self.assertEqual(bitfold.sum(x), sum(flat))
        self.assertEqual(bitfold.sum(x[::-1, 1]), 2)
        self.assertEqual((bitfold.min(x), bitfold.argmax(x)), (-3, 2))
        self.assertEqual(bitfold.mean(x), float(Fraction(sum(flat), 4)))
        self.assertEqual(bitfold.sum(np.array([110, 2**80], object), scale=2), Decimal(110 + 2**80).scaleb(-2))
        self.assertEqual(bitfold.State("sum", "i128").absorb(x).absorb(x).result(), 2 * sum(flat))
        self.assertEqual(bitfold.sum(np.array([], object)), 0)
        for wrong, error in (([2**127], "beyond 128 bits"), ([True], "'bool'"), ([1, None], "'NoneType'")):
            with self.assertRaisesRegex(bitfold.Error, error):
                bitfold.sum(np.array(wrong, object))

    def test_memory_of_16_bytes(self):
        x = [2**100, -7, 5]
        data = words_of(x, 128)
        for given in (bytes(data), data, data.view("V16"), data.view("V16")[::1]):
            self.assertEqual(bitfold.sum(given, dtype="i128"), sum(x))
        self.assertEqual(bitfold.max(data.view("V16")[::-2], dtype="i128"), 2**100)
        with self.assertRaises(bitfold.ShapeError):
            bitfold.sum(bytes(data)[:-1], dtype="i128")
