"""out=: the results are written to the caller's array, which is returned."""

import unittest
from array import array

import numpy as np

import bitfold

RNG = np.random.default_rng(5)
X = RNG.integers(-50, 50, (4, 5)).astype("f8")
M = X > 0
OFFSETS, INDEX = np.array([0, 1, 1, 4]), np.array([2, 0, 2, 1])
OPS = "sum prod mean var std norm sumsq min max argmin argmax".split()
CALLS = {  # they are of one form, and their results are arrays
    **{op: lambda op=op, **o: getattr(bitfold, op)(X, 0, **o) for op in OPS},
    "weights": lambda **o: bitfold.mean(X, 0, weights=[1, 2, 3, 4], **o),
    "keepdims": lambda **o: bitfold.max(X, 1, True, **o),
    "two axes": lambda **o: bitfold.sum(X.reshape(2, 2, 5), (0, 2), **o),
    "ints": lambda **o: bitfold.sum(X.astype("i2"), 1, **o),
    "unsigned": lambda **o: bitfold.min(X.astype("i8").view("u8"), 1, **o),
    "bools": lambda **o: bitfold.max(M, 0, **o),
    "halves": lambda **o: bitfold.max(X.astype("f2"), 0, **o),
    "out_dtype": lambda **o: bitfold.mean(X, 0, out_dtype="f32", **o),
    "where": lambda **o: bitfold.sum(X, 0, where=M, **o),
    "initial": lambda **o: bitfold.sum(X, 0, initial=5, **o),
    "dot": lambda **o: bitfold.dot(X, X, 0, **o),
    "vecdot": lambda **o: bitfold.vecdot(X, X, **o),
    "segment_sum": lambda **o: bitfold.segment_sum(X, OFFSETS, **o),
    "index_add": lambda **o: bitfold.index_add(3, INDEX, X, **o),
    "segment_dot": lambda **o: bitfold.segment_dot(X, X, OFFSETS, **o),
    "sort": lambda **o: bitfold.sort(X, 0, **o),
    "argsort": lambda **o: bitfold.argsort(X, descending=True, **o),
    "median": lambda **o: bitfold.median(X, 0, **o),
    "quantile": lambda **o: bitfold.quantile(X, [0.1, 0.5], 1, **o),
    "percentile": lambda **o: bitfold.percentile(X, 30, 1, keepdims=True, **o),
    "cumulative_sum": lambda **o: bitfold.cumulative_sum(X, axis=1, **o),
    "include_initial": lambda **o: bitfold.cumulative_sum(X, axis=0, include_initial=True, reverse=True, **o),
    "cumulative_max": lambda **o: bitfold.cumulative_max(X, axis=0, **o),
    "map": lambda **o: bitfold.map("add", X, X, **o),
    "evaluate": lambda **o: bitfold.evaluate("x + 1", x=X, **o),
}  # fmt: skip


class Out(unittest.TestCase):
    def test_results_of_any_strides(self):
        for name, call in CALLS.items():
            expected = np.asarray(call())
            for steps in (1, 2, -1):
                shape = [abs(steps) * n for n in expected.shape]
                memory = np.zeros(shape, expected.dtype)
                out = memory[(slice(None, None, steps),) * memory.ndim]
                self.assertIs(call(out=out), out, name)
                np.testing.assert_array_equal(out, expected, name)
            fortran = np.empty(expected.shape, expected.dtype, "F")
            np.testing.assert_array_equal(call(out=fortran), expected, name)

    def test_other_arrays_are_refused(self):
        for name, call in CALLS.items():
            expected = np.asarray(call())
            other = "f4" if expected.dtype != np.float32 else "f8"
            self.assertRaises(bitfold.DtypeError, call, out=expected.astype(other))
            for shape in (expected.shape[1:], (*expected.shape, 1), [n + 1 for n in expected.shape]):
                self.assertRaises(bitfold.ShapeError, call, out=np.empty(shape, expected.dtype))
            expected.flags.writeable = False
            for out in (expected, expected.tolist()):
                self.assertRaises(bitfold.ArgumentError, call, out=out)
            self.assertRaises(bitfold.DtypeError, call, out="text")

    def test_whole_reductions(self):
        for op, kind in (("sum", "f8"), ("argmax", "i8"), ("max", "f8")):
            out = np.zeros((), kind)
            self.assertIs(getattr(bitfold, op)(X, out=out), out)
            self.assertEqual(out, getattr(bitfold, op)(X))
        self.assertRaises(bitfold.RangeError, bitfold.sum, np.array([2**63 - 1, 1]), out=np.zeros((), "i8"))
        for call in (bitfold.sum, bitfold.mean, bitfold.sort, bitfold.median):
            np.testing.assert_array_equal(call(X, out=None), call(X))
        self.assertEqual(bitfold.dot(X, X, out=None), bitfold.dot(X, X))

    def test_overlap(self):
        x = X.copy()
        self.assertIs(bitfold.sort(x, 0, out=x), x)
        np.testing.assert_array_equal(x, np.sort(X, 0))
        wrong = [
            (bitfold.sum, (x, 0), x[1]), (bitfold.max, (x, 1), x[:, 0]), (bitfold.sort, (x[::-1],), x),
            (bitfold.argsort, (x,), x.view("i8")), (bitfold.median, (x, 0), x[0]), (bitfold.dot, (X, x, 0), x[0]),
            (bitfold.segment_sum, (X[:3, 0], OFFSETS), OFFSETS[:3].view("f8")),
        ]  # fmt: skip
        for call, arguments, out in wrong:
            with self.assertRaises(bitfold.ArgumentError, msg=call.__name__):
                call(*arguments, out=out)
        np.testing.assert_array_equal(x, np.sort(X, 0))
        expected = bitfold.sum(x, 0, where=M)
        np.testing.assert_array_equal(bitfold.sum(x, 0, where=M, out=x[2]), expected)

    def test_other_memory(self):
        out = array("d", [0, 0, 0, 0, 0])
        self.assertIs(bitfold.sum(X, 0, out=out), out)
        self.assertEqual(list(out), bitfold.sum(X, 0).tolist())
        made = bitfold.sort(array("d", [3, 1]))
        self.assertEqual(bitfold.sort(array("d", [9, 8]), out=made).tolist(), [8, 9])
        bits = np.zeros(2, "u2")
        bitfold.max(np.array([[0x3F80, 0x4000], [0x4040, 0]], "u2"), 0, dtype="bf16", out=bits)
        self.assertEqual(bits.tolist(), [0x4040, 0x4000])
        fits = np.zeros(2, "i8")
        found = bitfold.sum(np.array([[2**63 - 1, 1], [1, 1]]), 0, fits=True, out=fits)
        self.assertIs(found[0], fits)
        self.assertEqual((fits.tolist(), found[1].tolist()), ([-(2**63), 2], [False, True]))

    def test_what_no_out_takes(self):
        days = np.array(["2026-01-03", "2025-12-31"], "M8[D]")
        for call in (bitfold.sort, bitfold.max, bitfold.argsort, bitfold.median):
            for kind in ("M8[D]", "i8"):
                shape = 2 if "sort" in call.__name__ else ()
                self.assertRaises(bitfold.DtypeError, call, days, out=np.zeros(shape, kind))
        self.assertRaises(bitfold.DtypeError, bitfold.sort, [2**70, 1], out=np.zeros(2, object))
        self.assertRaises(bitfold.DtypeError, bitfold.sort, [2, 1], out=days)
