"""bitfold._native: what goes through its doors is what the functions in Python give, or is left to them."""

import copy
import gc
import inspect
import os
import pickle
import sys
import threading
import unittest
import weakref
from array import array
from unittest import mock

import numpy as np

import bitfold
from tensors import Tensor, with_table_of_version

OPS = ["sum", "prod", "mean", "var", "std", "norm", "sumsq", "min", "max", "argmin", "argmax"]
CODES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()


def described(result):
    """What tells results apart."""
    if isinstance(result, tuple):
        return tuple(map(described, result))
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.shape, result.tobytes()
    if isinstance(result, Tensor):
        return "Tensor", described(result.array)
    return type(result), repr(result)


def outcome(function, *arguments, **options):
    try:
        return described(function(*arguments, **options))
    except (bitfold.Error, AttributeError, TypeError, ValueError) as error:
        return type(error), str(error)


def refuse(*arguments, **options):
    raise AssertionError(f"left to Python: {arguments} {options}")


def calls(x):
    """Yields the name and the arguments of calls of each kind on an array."""
    for name in OPS:
        yield name, (x,), {}
        for axis in range(-x.ndim, x.ndim):
            yield name, (x, axis), {}
            yield name, (x,), {"axis": axis, "keepdims": True}
        yield name, (x,), {"axis": tuple(range(x.ndim))}
        yield name, (x, None, True), {}
    yield "dot", (x, x), {}
    for axis in range(x.ndim):
        yield "dot", (x, x, axis), {}
        for name in ("sort", "argsort", "median"):
            yield name, (x, axis), {}
        yield "top", (x, 2, axis), {}
        yield "top", (x, 1000), {"axis": axis - x.ndim, "largest": False}
        yield "quantile", (x, [0.25, 0, 1], axis), {"keepdims": True}
        yield "percentile", (x, 50, axis), {}
        yield "quantile", (x, [0.2, 0.9], axis), {"method": ("hazen", "lower", "linear")[axis % 3]}
        for name in ("cumulative_sum", "cumulative_min", "cumulative_max"):
            yield name, (x,), {"axis": axis - x.ndim * (axis % 2)}
        yield "cumulative_sum", (x,), {"axis": axis, "exclusive": True, "reverse": True, "check": "later"}
    if x.ndim == 1:
        yield "cumulative_max", (x,), {"reverse": True, "nan": "skip"}
    ordered = np.sort(getattr(x, "array", x), axis=None)
    yield "searchsorted", (ordered, x), {}
    yield "searchsorted", (ordered[::-2], x, "right"), {"descending": True}
    for name in ("unique", "unique_counts", "unique_values"):
        yield name, (x,), {}
    yield "median", (x,), {}
    for q in (0, 0.3, 1.0, [0.5], (0.1, 0.9)):
        yield "quantile", (x, q), {}
    yield "histogram", (x,), {}
    yield "histogram", (x, 3), {"range": (0.5, 90)}
    yield "histogram", (x, [0, 1.5, 20]), {}
    if x.ndim and x.shape[0] > 2:
        n = x.shape[0]
        yield "segment_sum", (x, np.array([0, 2, 2, n])), {}
        yield "index_add", (4, np.arange(n, dtype="i4") % 3, x), {}


@unittest.skipUnless(bitfold._library.native, "bitfold._native is not built")
class Doors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        native = bitfold._library.native
        cls.context = bitfold.Context(threads=1)
        cls.doors = {name: native.Function(native, refuse, *row) for name, row in bitfold._DOORS.items()}

    def check(self, name, *arguments, **options):
        """Checks a call, by the thread's context and by one that is given, against the function in Python."""
        function = getattr(bitfold, name)
        expected = outcome(function.__call__, *arguments, context=self.context, **options)
        for context in (None, self.context):
            found = outcome(function, *arguments, context=context, **options)
            self.assertEqual(found, expected, (name, arguments, options, context))

    def test_every_dtype_layout_and_call(self):
        rng = np.random.default_rng(1)
        for code in CODES:
            base = rng.integers(0, 200, (5, 12)).astype(code)
            for x in (base[0], base, base.T, base[::2, ::-3], base[:0], base[:, :1], base.reshape(1, 5, 12)):
                for name, arguments, options in calls(x):
                    self.check(name, *arguments, **options)
        self.check("sum", np.array(2.5), keepdims=True)

    def test_these_calls_are_not_left_to_python(self):
        for code in CODES:
            for x in (np.arange(12).astype(code), np.arange(24).reshape(4, 6).astype(code)[::2].T):
                for name, arguments, options in calls(x):
                    if name == "quantile" and code == "?":
                        continue
                    for context in ({}, {"context": None}, {"context": self.context}):
                        found = outcome(self.doors[name], *arguments, **context, **options)
                        self.assertEqual(found, outcome(getattr(bitfold, name), *arguments, **options))
        for x in (b"abc", bytearray(b"ab"), memoryview(b"ab"), array("d", [1.5]), array("q", [-1])):
            self.assertEqual(self.doors["sum"](x), sum(x))

    def test_tensors(self):
        x = np.random.default_rng(2).normal(size=(4, 6))
        for code in ("f4", "f8", "i8", "u1"):
            tensor = Tensor(np.abs(4 * x).astype(code))
            for name, arguments, options in calls(tensor):
                arguments = [Tensor(each) if isinstance(each, np.ndarray) else each for each in arguments]
                plain = [getattr(each, "array", each) for each in arguments]
                found = self.doors[name](*arguments, **options)
                found = [getattr(each, "array", each) for each in (found if isinstance(found, tuple) else [found])]
                expected = getattr(bitfold, name)(*plain, **options)
                expected = expected if isinstance(expected, tuple) else [expected]
                for one, other in zip(found, expected):
                    self.assertEqual(np.asarray(one).tolist(), np.asarray(other).tolist(), (name, options))
                    if np.ndim(one):
                        self.assertEqual(one.dtype, other.dtype)

    def test_views_of_tensors(self):
        x = np.array([3.0, np.nan, 5])
        self.assertEqual(bitfold.sum(Tensor(x), nan="skip"), 8)
        view = bitfold._arrays.View(Tensor(x))
        self.assertEqual(len(Tensor.made), 1)  # it owns the memory
        del view
        self.assertEqual(Tensor.made, {})
        bitfold.sort_rows(Tensor(x))
        self.assertEqual(x[:2].tolist(), [3, 5])
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sort_rows(Tensor(x, flags=1))
        x.flags.writeable = False
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sort_rows(x)

    def test_tensors_that_are_not_for_it(self):
        x = np.arange(4.0)
        for options in (
            {"is_neg": True}, {"requires_grad": True}, {"device": 2}, {"fails": True}, {"code": 5},
            {"lanes": 2},
        ):  # fmt: skip
            with self.assertRaisesRegex(AssertionError, "left to Python"):
                self.doors["sum"](Tensor(x, **options))

        for kind in (type("Other", (Tensor,), {}), with_table_of_version(2), with_table_of_version(0)):
            with self.assertRaisesRegex(AssertionError, "left to Python"):
                self.doors["sum"](kind(x))
        with self.assertRaisesRegex(MemoryError, "there is none"):
            self.doors["sort"](Tensor(x, allocates=False))
        self.assertEqual(Tensor.made, {})

    def test_large_integers(self):
        for value in (-(2**63), 2**63 - 1):
            for n in (1, 2, 3, 1000):
                x = np.full(n, value)
                for name in ("sum", "sumsq", "min", "median"):
                    self.check(name, x)
                    self.check(name, x, 0)
                self.check("dot", x, x)
        self.check("sum", np.full(5, 2**64 - 1, "u8"))
        self.check("histogram", np.array([2**60, 2**60 + 7]))

    def test_objects_that_are_not_for_it(self):
        x = np.arange(4.0)
        others = [
            np.ma.array(x, mask=[0, 1, 0, 0]), x.astype(">f8"), x.astype(complex), np.array(["a"]),
            np.zeros(2, "i4,f4"), x.astype("M8[D]"), x.astype("m8[s]"), np.array([None]), [1.0], "text", None, 3.0,
            memoryview(b"abc"), b"abc", bytearray(b"ab"), array("d", [1.5]), array("b", [-1]),
            np.lib.stride_tricks.as_strided(np.zeros(9, "u1")[1:].view("u1"), (2,), (3,)),
            np.zeros((1,) * 9), np.zeros(3, "f8,u1")["f0"], np.float64(1.5), np.longdouble([1.5]), np.matrix(x),
            x.view(type("Own", (np.ndarray,), {})), (x, x),
        ]  # fmt: skip
        for each in others:
            for name in ("sum", "max", "sort", "unique", "median", "histogram"):
                self.check(name, each)
            self.check("sum", each, axis=0)
            self.check("dot", each, each)
            self.check("dot", x, each)

    def test_arguments_that_are_not_for_it(self):
        x = np.arange(12.0).reshape(3, 4)
        for axis in (2, -3, (0, 0), (), [1], np.int64(1), True, 2**70, "0", 1.0, (0, "1"), (0,) * 9):
            for name in ("sum", "sort", "median"):
                self.check(name, x, axis=axis)
        self.check("sum", x, 0, np.True_)
        for k in (-1, 2.0, np.int64(2), True, 2**70, None, "1"):
            self.check("top", x, k)
        for axis in (2, -3, None, True, (0,)):
            self.check("top", x, 2, axis)
        self.check("top", np.array(2.5), 1)
        self.check("top", x, 2, largest=1)
        for side in ("Left", None, 1, "right", "left", b"left"):
            self.check("searchsorted", x[0], x, side)
            self.check("searchsorted", x[0], np.array(5.0), side=side)
        for given in ((x, x), (x[0], x.astype("f4")), (x[0], 5.0), ([1.0, 2], x), (x[0], [1.0]), (np.array(5.0), x), (x[0],)):
            self.check("searchsorted", *given)
        for method in ("hazen", "none", 3, None, "", "\ud800"):
            self.check("quantile", x, 0.4, method=method)
        for q in (-0.1, 2, [], [0.5, 7], np.array([0.5]), "0.5", None, [None], [0.5] * 40, float("nan"), True):
            self.check("quantile", x, q)
        for bins in (
            0, -1, "auto", [0, 1, 2], True, 2**70, 2.5, np.int64(3), None, [1], [], (0, 2**53, 2**53 + 2), [2, 1], [0, None],
            (True, 2.5), [0, float("inf")], np.arange(65).tolist(), np.arange(64).tolist(), np.arange(3.0), [np.float64(0), np.int64(3)],
        ):  # fmt: skip
            self.check("histogram", x, bins)
            self.check("histogram", x, bins, (0.5, 3))
            self.check("histogram", x.astype("i8"), bins)
        for range in ((0, 5), (5.0, 0.0), (5, 0), (4, 4), (2.5, True), (0, 2**60), (0.0, float("inf")), [0.0, 9.0], (0.0,), 7):
            self.check("histogram", x, 4, range)
        offsets = np.array([0, 1, 3])
        for places in (offsets, offsets.astype("f8"), offsets[::-1], offsets[:0], offsets[0], x, [0, 1, 3]):
            self.check("segment_sum", x, places)
            self.check("segment_max", x, places)
            self.check("index_add", 4, places, x)
        for m in (0, -1, 3, 2**40, 2**70, 4.0, np.int64(4)):
            self.check("index_add", m, offsets, x)
        self.check("segment_sum", np.float64(2), offsets)
        for wrong in ((), (x, 0, True, 1), (x,) * 9):
            self.check("sum", *wrong)
        for options in ({"x": x}, {"axis": 0}, {"keepdims": True, "x": x}, {"a": x}, {"X": x}):
            self.check("sum", **options)
            self.check("sum", x, **options)

    def test_options(self):
        x = np.array([[1, np.nan, -3, 0.5], [5, 3, np.nan, np.nan]])
        offsets, index = np.array([0, 1, 2]), np.array([1, 0])
        for code in ("f4", "f8", "i4"):
            x = np.nan_to_num(x).astype(code) if code == "i4" else x.astype(code)
            for nan in ("skip", "error", "propagate"):
                for name in OPS:
                    yielded = ((x,), {}), ((x, 1), {}), ((x,), {"axis": 0, "keepdims": True}), ((x,), {"ddof": 1})
                    for arguments, options in yielded:
                        self.check_taken(name, *arguments, nan=nan, **options)
                self.check_taken("dot", x, x, nan=nan)
                self.check_taken("dot", x, x, 1, nan=nan)
                for descending in (True, False):
                    self.check_taken("sort", x, nan=nan, descending=descending)
                    self.check_taken("argsort", x, 0, descending=descending, nan=nan)
                    self.check_taken("top", x, 2, 1, largest=descending, nan=nan)
                for name in ("unique", "unique_counts", "unique_values"):
                    self.check_taken(name, x, nan=nan)
                for arguments in ((x,), (x, 1), (x, 0, True), (x[:1],), (x[:, :1], (0, 1))):
                    self.check_taken("median", *arguments, nan=nan)
                    for q in (0.5, [0, 1], [0.25]):
                        self.check_taken("quantile", arguments[0], q, *arguments[1:], nan=nan)
                    self.check_taken("percentile", arguments[0], 30, nan=nan, method="higher")
                self.check_taken("segment_max", x, offsets, nan=nan)
                self.check_taken("index_mean", 2, index, x, nan=nan)
        for ddof in (0, 1, 2, -1, 2**40, 1.0, "1", None, True):
            self.check("var", x, ddof=ddof)
            self.check("std", x, 0, ddof=ddof)
        for nan in ("other", None, 1, ["skip"]):
            self.check("sum", x, nan=nan)
            self.check("sort", x, nan=nan)
        for descending in (1, 0, None, "yes", np.True_):
            self.check("sort", x, descending=descending)
        with self.assertRaises(TypeError):
            bitfold.sort(x, 0, "skip")  # it is named
        self.check("unique", x, ddof=1)

    def test_options_of_scans(self):
        x, whole = np.array([[1e20, 1, np.nan], [-1e20, 4, 5]]), np.array([[3, 2, 2], [1, 9, -4]], "i4")
        for options in ({"axis": 1}, {"axis": 0, "reverse": True}, {"axis": -1, "nan": "skip"}, {"axis": 1, "nan": "error"}):
            for name in ("cumulative_sum", "cumulative_min", "cumulative_max"):
                self.check_taken(name, x, **options)
                self.check_taken(name, x, exclusive=True, **options)
            self.check("cumulative_prod", whole, **options)
        self.check_taken("cumulative_prod", whole, axis=0, exclusive=True)
        self.check_taken("cumulative_prod", np.full(9, 2**62), axis=0)
        self.check_taken("cumulative_sum", np.full(9, 2**62))
        self.check_taken("cumulative_sum", x, axis=0, out_dtype="f32")
        self.check_taken("cumulative_sum", whole, axis=0, check="later")
        for options in (
            {}, {"axis": None}, {"axis": 2}, {"axis": 1.0}, {"axis": 0, "out_dtype": None}, {"axis": 0, "out_dtype": "float32"},
            {"axis": 0, "out_dtype": "i64"}, {"axis": 0, "exclusive": 1}, {"axis": 0, "reverse": None}, {"axis": 0, "check": "never"},
            {"axis": 0, "overflow": "wrap"}, {"axis": 0, "include_initial": True}, {"axis": 0, "ddof": 1},
        ):  # fmt: skip
            self.check("cumulative_sum", x, **options)
            self.check("cumulative_max", whole, **options)
        self.check("cumulative_prod", x, axis=0)
        self.check("cumulative_sum", np.array(2.5), axis=0)
        with self.assertRaises(TypeError):
            bitfold.cumulative_sum(x, 0)  # it is named

    def test_windows(self):
        native, rolling = bitfold._library.native, sys.modules["bitfold._scan._rolling"]
        door = native.Function(native, refuse, "rolling", 0)
        x = np.random.default_rng(7).normal(size=(5, 40))
        x[1, 7] = np.nan
        arrays = (
            (x, {"window": 4, "axis": 1}), (x.T, {"window": 3, "min_count": 1, "step": 7}), (x[0], {"window": 3, "center": True}),
            (x, {"on": np.arange(5), "span": 2}), (x, {"window": 2, "nan": "error", "check": "later"}), (x[:0], {"window": 2}),
            (x, {"window": 9, "axis": -1, "nan": "skip"}), (np.arange(20, dtype="i2").reshape(4, 5), {"window": 3, "axis": 1}),
        )  # fmt: skip
        taken = (
            ("sum", {}), ("mean", {"out_dtype": "f32"}), ("var", {"ddof": 1}), ("std", {}), ("skew", {}), ("min", {}),
            ("max", {}), ("count", {}),
        )  # fmt: skip
        for y, options in arrays:
            for name, how in (*taken, ("sum", {"out_dtype": "i64"}), ("var", {"ddof": 2})):
                with mock.patch.object(rolling, "_door", rolling._left):
                    expected = outcome(getattr(bitfold.rolling(y, **options), name), **how)
                self.assertEqual(outcome(getattr(bitfold.rolling(y, **options), name), **how), expected)
                for context in (None, self.context) if (name, how) in taken else ():
                    with mock.patch.object(rolling, "_door", door):
                        windows = bitfold.rolling(y, **options, context=context)
                        self.assertEqual(outcome(getattr(windows, name), **how), expected)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.rolling(x, 3, check="never")

    def check_taken(self, name, *arguments, **options):
        """Checks a call, and that it is not left to Python."""
        self.check(name, *arguments, **options)
        outcome(self.doors[name], *arguments, **options)

    def test_other_options_go_to_python(self):
        x = np.array([1, np.nan, 3])
        self.assertEqual(bitfold.sum(x, nan="skip"), 4)
        self.assertEqual(bitfold.sort(x, descending=True).tolist()[1:], [3, 1])
        self.assertEqual(bitfold.histogram(x[[0, 2]], 2, weights=x[[0, 2]])[0].tolist(), [1, 3])

    def test_errors(self):
        self.check("min", np.ones(0))
        self.check("max", np.ones((2, 0)), 1)
        self.check("median", np.ones(0))
        self.check("dot", np.ones(3), np.ones(4))
        self.check("dot", np.ones(3), np.ones(3, int))
        self.check("prod", np.full(100, 2**62))
        self.check("sum", np.full((2, 2), 2**63, "u8"), 0)
        self.check("index_add", 2, np.array([0, 5]), np.ones(2))
        self.check("histogram", np.array([np.inf, np.nan]))

    def test_contexts_that_are_given(self):
        x, small = np.arange(1 << 22, dtype="f4"), np.arange(4.0)
        context = bitfold.Context(threads=1)
        for wrong in (3, "cpu", self.doors["sum"], context._lock):
            with self.assertRaisesRegex(AssertionError, "left to Python"):
                self.doors["sum"](small, context=wrong)
            self.assertEqual(outcome(bitfold.sum, small, context=wrong)[0], AttributeError)
        with self.assertRaises(bitfold.EmptyError):
            bitfold.min(small[:0], context=context)
        self.assertEqual(context.device, "cpu")

        class Stop(Exception):
            pass

        def stop(count):
            raise Stop(count)

        for tick, error in ((stop, Stop), (lambda count: True, bitfold.CancelledError)):
            context.watch(tick, every=0)
            for function, options in ((bitfold.sum, {}), (bitfold.sum, {"axis": 0}), (self.doors["var"], {})):
                self.assertRaises(error, function, x, context=context, **options)
        told = []
        context.watch(told.append, every=0)
        self.assertEqual(self.doors["max"](x, context=context), x[-1])
        self.assertGreater(len(told), 0)
        context.watch(None)
        self.assertEqual(bitfold.sum(x, context=context), int(x.sum(dtype="i8")))

    def test_the_buffer_is_given_back(self):
        data = bytearray(b"abc")
        self.assertEqual(bitfold.sum(data), 294)
        data.extend(b"d")  # refused while it is read
        x = np.ones(3)
        died = weakref.ref(x)
        bitfold.sum(x)
        bitfold.sort(x)
        del x
        self.assertIsNone(died())

    def test_nothing_is_kept(self):
        x, others = np.arange(20.0), [np.ma.array([1.0]), [1.0], b"abc"]

        def work():
            for name, arguments, options in calls(x.reshape(4, 5)):
                outcome(getattr(bitfold, name), *arguments, **options)
            for each in others:
                outcome(bitfold.sum, each)
                outcome(bitfold.sum, each, axis=7)

        def memory():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        for _ in range(30):
            work()
        gc.collect()
        before = memory()
        for _ in range(100):
            work()
        gc.collect()
        self.assertLess(memory() - before, 1 << 20)

    def test_functions_are_what_they_stand_before(self):
        for name in bitfold._DOORS:
            function = getattr(bitfold, name)
            self.assertEqual(function.__name__, name)
            self.assertEqual(function.__module__, "bitfold")
            self.assertTrue(inspect.isfunction(function) and function.__doc__)
            self.assertIn("x" if name in OPS else list(inspect.signature(function).parameters)[0],
                          inspect.signature(function).parameters)  # fmt: skip
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertIs(copy.deepcopy(function), function)
            self.assertIs(weakref.ref(function)(), function)

    def test_without_a_gil_the_file_for_others_is_left_alone(self):
        native = bitfold._library.native
        with mock.patch.object(sys, "abiflags", "t"):
            found = bitfold._library._find_native()
        self.assertIs(found, None if ".abi3." in native.__file__ else native)

    def test_what_is_no_function(self):
        native = bitfold._library.native
        gone = weakref.ref(native.Function(native, refuse, "sort", 0))
        self.assertIsNone(gone())
        for wrong in ((), (native, refuse, "none", 0), (refuse, refuse, "sort", 0), (native, refuse, "sort", "0")):
            with self.assertRaises((TypeError, ValueError)):
                native.Function(*wrong)


@unittest.skipUnless(bitfold._library.native, "bitfold._native is not built")
class Locks(unittest.TestCase):
    def test_threads(self):
        x, found = np.arange(1000.0), []

        def work():
            found.extend(bitfold.sum(x) for _ in range(200))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [499500.0] * 800)

    def test_one_thread_at_a_time_has_it(self):
        lock, inside, most = bitfold.Context(threads=1)._lock, [0], [0]

        def work():
            for _ in range(300):
                with lock, lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    sum(range(200))
                    inside[0] -= 1

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((inside, most), ([0], [1]))

    def test_only_its_owner_gives_it_back(self):
        lock = bitfold.Context(threads=1)._lock
        with self.assertRaises(RuntimeError):
            lock.__exit__()

    def test_a_context_does_not_keep_itself(self):
        gc.disable()
        try:
            context = bitfold.Context(threads=1)
            died = weakref.ref(context)
            del context
            self.assertIsNone(died())
        finally:
            gc.enable()
