"""Objects that are arrays, and those that are refused: their dtypes, layouts and masks."""

import ctypes
import sys
import unittest
from array import array
from unittest import mock

import numpy as np

import bitfold
from oracle import DTYPES, HELD


class Interface:
    """An object with nothing but __array_interface__."""

    def __init__(self, x, **changes):
        self.x = x
        self.__array_interface__ = {**x.__array_interface__, **changes}


class Arrays(unittest.TestCase):
    def test_every_buffer_counts(self):
        x = array("d", [1.5, 2.5, -1.0])
        raw = x.tobytes()
        c_doubles = (ctypes.c_double * 3)(*x)
        for each in (x, memoryview(x), np.array(x), c_doubles, Interface(np.array(x))):
            self.assertEqual(bitfold.sum(each), 3.0)
        for each in (raw, bytearray(raw), memoryview(raw), np.frombuffer(raw, np.uint8)):
            self.assertEqual(bitfold.sum(each, dtype="f64"), 3.0)
        self.assertEqual(bitfold.sum(b"\x01\x02\xff"), 258)
        self.assertEqual(bitfold.sum(np.float64(2.5)), 2.5)
        self.assertEqual(bitfold.max(np.array(7, dtype=np.int8)), 7)

    def test_dtypes_of_numpy_and_of_the_struct_module(self):
        for name in DTYPES:
            if name != "bf16":
                dtype = np.bool_ if name == "bool" else HELD[name]
                x = np.array([1, 0, 1], dtype=dtype)
                for each in (x, memoryview(x), Interface(x)):
                    self.assertEqual(bitfold.sum(each), 2)
                    self.assertEqual(bitfold.sum(each, dtype=x.dtype), 2)
        for code in "bBhHiIlLqQfd":
            self.assertEqual(bitfold.sum(array(code, [1, 2, 3])), 6)
        bits = array("H", [0x3F80, 0x4000])
        self.assertEqual(bitfold.sum(bits, dtype="bf16"), 3.0)
        self.assertEqual(bitfold.min(bits.tobytes(), dtype="bfloat16"), 1.0)
        for name in ("f64", "<f8", "float64", "=f8"):
            self.assertEqual(bitfold.sum(np.ones(2), dtype=name), 2.0)

    def test_what_is_not_an_array_of_numbers_is_refused(self):
        for x in (
            np.ones(2, dtype=complex), np.ones(2, dtype=np.longdouble), np.array(["a"]), np.array([object()]),
            np.zeros(2, dtype="i4,f4"), np.array(["2020-01-01"], dtype="M8[D]"),
        ):  # fmt: skip
            with self.assertRaises(bitfold.DtypeError, msg=x.dtype):
                bitfold.sum(x)
            with self.assertRaises(TypeError):
                bitfold.sum(x)
        for x in (None, "text", {1.0: 2}, object()):
            with self.assertRaises(TypeError):
                bitfold.sum(x)

    def test_a_dtype_does_not_make_an_array_of_anything(self):
        for x, dtype in (
            (np.array([object()]), "i64"), (np.ones(2, np.complex64), "f64"),
            (np.zeros(2, "i4,f4"), "f64"), (np.ones(2), "i64"), (np.ones(2, "i8"), "f64"),
            (np.ones(2, "f2"), "bf16"), (np.ones(2, bool), "u8"), (np.ones(8, bool), "f64"),
            (np.array([0], "M8[s]"), "i64"), ((ctypes.c_void_p * 2)(1, 2), "i64"),
            (Interface(np.ones(2)), "i64"), (np.ones(1, complex), "f64"),
        ):  # fmt: skip
            with self.assertRaises(bitfold.DtypeError, msg=(x, dtype)):
                bitfold.sum(x, dtype=dtype)
        self.assertEqual(bitfold.sum(np.ones(3).view("V8"), dtype="f64"), 3.0)
        self.assertEqual(bitfold.sum(np.full(2, 0x3F80, "i2"), dtype="bf16"), 2.0)
        with self.assertRaises(bitfold.DtypeError):
            bitfold.State("sum", "bf16").absorb(np.ones(2, "f2"))
        bits, halves = np.full(2, 0x3F80, "u2"), np.zeros(2, "f2")
        with self.assertRaises(bitfold.DtypeError):
            bitfold.map("add", bits, bits, dtype="bf16", out=halves)
        self.assertEqual(list(halves), [0, 0])

    def test_scalars_that_hide_their_type_are_refused(self):
        for x in (np.datetime64("2020"), np.timedelta64(5, "s"), np.complex64(1), np.str_("a")):
            with self.assertRaises(bitfold.DtypeError, msg=repr(x)):
                bitfold.sum(x)

    def test_foreign_byte_order_of_one_byte_is_none(self):
        self.assertEqual(bitfold.sum(np.ones(2, dtype=">i1")), 2)

    def test_dtype_must_fit(self):
        square = np.ones((2, 8), np.uint8)
        for x, dtype in ((np.ones(3), "f32"), (square, "f64"), (b"12345678", "f9")):
            with self.assertRaises(bitfold.DtypeError):
                bitfold.sum(x, dtype=dtype)
        for dtype in ("i8x", 8, "i4", "f16 ", object, complex, np.dtype("c8")):
            with self.assertRaises(bitfold.DtypeError):
                bitfold.sum(b"12345678", dtype=dtype)
        with self.assertRaises(bitfold.ShapeError):
            bitfold.sum(b"1234567", dtype="f64")
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(np.zeros(16, np.uint8)[::2], dtype="f64")

    def test_layouts(self):
        x = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
        for view in (
            x, x.T, x[::-1, :, ::2], np.asfortranarray(x), x[:, :0], x[..., None], x[1, 2, 3:4],
        ):  # fmt: skip
            for each in (view, Interface(view)):
                self.assertEqual(bitfold.sum(each), int(view.sum()))
        broadcast = np.broadcast_to(np.arange(3.0), (1000, 3))
        self.assertEqual(bitfold.sum(broadcast), 3000.0)
        self.assertEqual(bitfold.argmax(x.T), int(np.argmax(x.T)))
        self.assertEqual(bitfold.dot(x.T, x.T), int((x * x).sum()))
        with self.assertRaises(bitfold.ShapeError):
            bitfold.sum(np.ones((1,) * 9))

    def test_copies_are_right_without_numpy_too(self):
        with mock.patch("bitfold._arrays._numpy", lambda: None):
            self.test_the_other_byte_order_is_turned()
            self.test_elements_at_odd_places_are_copied()

    def test_the_other_byte_order_is_turned(self):
        other = ">" if sys.byteorder == "little" else "<"
        rng = np.random.default_rng(3)
        for kind in ("i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"):
            x = rng.integers(0, 100, (4, 5, 6)).astype(other + kind)
            for each in (x, x.T, x[::-1, :, ::2], x[:0], x[1, 2, 3:4], x[1, 2, 3], np.broadcast_to(x[0], x.shape)):
                expected = each.astype("f8" if kind[0] == "f" else kind)
                for given in (each, Interface(np.asarray(each))):
                    self.assertEqual(bitfold.sum(given), expected.sum(), (kind, each.shape))
                    self.assertEqual(bitfold.sum(given, dtype=each.dtype), expected.sum())
                found = bitfold.map("mul", each, 1)
                self.assertEqual(found.tolist() if each.ndim else found, expected.tolist())
        doubles = (ctypes.c_double.__ctype_be__ * 3)(1, 2, 3)
        self.assertEqual(bitfold.sum(doubles), 6.0)
        raw = np.array([1, 2, 3], ">f8").tobytes()
        self.assertEqual(bitfold.sum(raw, dtype=">f8"), 6.0)
        self.assertEqual(bitfold.sum(np.array([0x3F80, 0x4000], ">u2"), dtype="bf16"), 3.0)
        self.assertEqual(bitfold.argmax(np.array([1, 256], ">u2")), 1)

    def test_elements_at_odd_places_are_copied(self):
        rng = np.random.default_rng(4)
        for fields in ([("a", "u1"), ("b", "<f8")], [("a", "u1"), ("b", ">f8")], [("a", "u4"), ("b", "f8")],
                       [("a", "u1"), ("b", ">i4")], [("b", "f4"), ("c", "u2")]):  # fmt: skip
            record = np.zeros((6, 7), dtype=fields)
            record["b"] = rng.integers(0, 100, (6, 7))
            for part in (record, record.T, record[::2, ::-3], record[2]):
                values = part["b"]
                for each in (values, Interface(values)):
                    self.assertEqual(bitfold.sum(each), values.sum(), fields)
                self.assertEqual(np.asarray(bitfold.sort(values)).tolist(), np.sort(values).tolist())
        bytes_of = np.arange(40, dtype="u1")
        for begin in range(8):
            x = bytes_of[begin : begin + 32].view("<i8")
            self.assertEqual(bitfold.sum(x), sum(x.tolist()))

    def test_a_copy_is_not_written_to(self):
        for out in (np.zeros(3, ">f8"), np.zeros(3, dtype="u1,f8")["f1"]):
            with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
                bitfold.map("add", np.ones(3), 1.0, out=out)
            with self.assertRaises(bitfold.ArgumentError):
                bitfold.sort_rows(out)

    def test_every_name_of_a_dtype(self):
        wanted = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i64": np.longlong, "bool": np.bool_}
        for name, kind in wanted.items():
            for each in (name, kind, np.dtype(kind), np.dtype(kind).name, np.dtype(kind).str):
                self.assertEqual(bitfold.State("sum", each).info().dtype, name)
        for name, each in (("f32", "f4"), ("f64", "f8"), ("f16", "f2"), ("f64", float), ("i8", "i8")):
            self.assertEqual(bitfold.State("sum", each).info().dtype, name)
            self.assertEqual(bitfold.Groups("i64", [("sum", each)]).aggregates, [("sum", name)])
        self.assertEqual(bitfold.sum(np.ones(3), out_dtype="f4"), 3.0)
        self.assertEqual(bitfold.julia(4, 3, dtype=np.float64).tolist(), bitfold.julia(4, 3, dtype="f64").tolist())
        self.assertEqual(bitfold.map("cast", np.ones(1), to=np.float32).dtype, np.float32)
        with self.assertRaisesRegex(bitfold.DtypeError, "'i32' has 4 bytes"):
            bitfold.State("sum", "i4")

        class OfTorch:
            def __str__(self):
                return "torch.bfloat16"

        self.assertEqual(bitfold.State("sum", OfTorch()).info().dtype, "bf16")

    def test_bfloat16_of_numpy_is_known_by_its_name(self):
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        x = np.array([1.5, 2.5], bfloat16)
        self.assertEqual((bitfold.sum(x), bitfold.State("sum", x.dtype).absorb(x).result()), (4.0, 4.0))

    def test_shapes_beyond_all_memory_are_refused(self):
        x = np.arange(2.0)
        for changes in (
            {"shape": (2**63,)}, {"shape": (2**64 + 2,)}, {"shape": (2**62,)},
            {"strides": (2**63,)}, {"strides": (-(2**66),)}, {"strides": (-(2**63),)},
            {"shape": (2, 2), "strides": (2**64 + 8, 8)},
        ):  # fmt: skip
            with self.assertRaises(ValueError, msg=changes):
                bitfold.sum(Interface(x, **changes))

    def test_memory_is_read_in_place_and_released(self):
        x = bytearray(8 * 10)
        self.assertEqual(bitfold.sum(x, dtype="i64"), 0)
        x.extend(b"12345678")  # raises BufferError if a view were still held
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(x, dtype="complex")
        x.extend(b"12345678")

    def test_interfaces_that_say_too_little_are_refused(self):
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(Interface(np.ones(2), mask=np.ones(2)))
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(Interface(np.ones((2, 2)), strides=(8,)))

    def test_an_object_that_makes_an_array_of_itself_is_one(self):
        class Series:
            def mask(self, condition):
                return self

            def __array__(self):
                return np.arange(3.0)

        class Numbers:
            def __iter__(self):
                return iter((0.0, 1.0, 2.0))

        self.assertEqual(bitfold.sum(Series()), 3.0)
        with self.assertRaisesRegex(bitfold.DtypeError, "'Numbers'.*numpy.asarray"):
            bitfold.sum(Numbers())
        self.assertEqual(list(bitfold.histogram(np.ones(3), Numbers())[0]), [0, 3])

    def test_only_writable_memory_is_written_to(self):
        frozen = bytes(6)
        for out in (np.frombuffer(frozen, "u2").reshape(1, 3), memoryview(frozen).cast("H", (1, 3))):
            with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
                bitfold.julia(3, 1, out=out)
            with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
                bitfold.map("add", np.ones((1, 3), "u2"), 1, out=out)
        self.assertEqual(frozen, bytes(6))


class Masked(unittest.TestCase):
    """A mask is neither obeyed nor ignored: an array with one is refused, in every place."""

    def setUp(self):
        self.x = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
        self.n = np.ma.array([1, 2, 3], mask=[0, 1, 0])
        self.plain = np.array([1.0, 2.0, 3.0])

    def refused(self, function, *arguments, **options):
        with self.assertRaisesRegex(bitfold.ArgumentError, "mask", msg=arguments):
            function(*arguments, **options)

    def test_reductions(self):
        names = "sum prod mean var std norm sumsq min max argmin argmax describe".split()
        for name in names:
            self.refused(getattr(bitfold, name), self.x)
        for x in (
            np.ma.masked, np.ma.array(3.0, mask=True), np.ma.array([1.0]), self.x[::2], self.x.reshape(3, 1)
        ):  # fmt: skip
            self.refused(bitfold.sum, x)
        self.refused(bitfold.dot, self.x, self.plain)
        self.refused(bitfold.dot, self.plain, self.x)
        self.refused(bitfold.State("sum", "f64").absorb, self.x)
        self.refused(bitfold.State("dot", "f64").absorb, self.plain, self.x)
        self.assertEqual(bitfold.sum(self.x.compressed()), 4.0)
        self.assertEqual(bitfold.sum(self.x.data), 6.0)

    def test_arrays(self):
        self.refused(bitfold.map, "add", self.x, 1.0)
        self.refused(bitfold.map, "add", self.plain, np.ma.masked)
        self.refused(bitfold.map, "cast", self.plain, out=self.x)
        self.refused(bitfold.map, "neg", self.plain, out=self.x)
        self.assertEqual(list(self.x.data), [1, 2, 3])
        self.refused(bitfold.julia, 3, 1, out=np.ma.zeros((1, 3), "u2"))
        self.refused(bitfold.palette_colors, "gray", np.ma.zeros(3, "u2"))

    def test_histograms(self):
        self.refused(bitfold.histogram, self.x)
        self.refused(bitfold.histogram, self.plain, self.x)
        self.refused(bitfold.histogram, self.plain, np.ma.array(3, mask=True))
        self.refused(bitfold.histogram, self.plain, 3, weights=self.x)
        self.refused(bitfold.Histogram, "f64", self.x)
        made = bitfold.Histogram("f64", 3, (0, 3), weights="f64")
        self.refused(made.absorb, self.x, self.plain)
        self.refused(made.absorb, self.plain, self.x)
        self.refused(bitfold.bincount, self.n)

    def test_tables_and_groups(self):
        keys = np.array([1, 2, 3])
        table = bitfold.Table("i64", "f64")
        self.refused(table.insert, self.n, self.plain)
        self.refused(table.insert, keys, self.x)
        for each in (table.find, table.contains, table.count, table.find_all, table.erase):
            self.refused(each, self.n)
        groups = bitfold.Groups("i64", [("sum", "f64")])
        self.refused(groups.absorb, self.n, self.plain)
        self.refused(groups.absorb, keys, self.x)
        self.refused(bitfold.unique, self.n)
        self.refused(bitfold.join, self.n, keys)
        self.refused(bitfold.join, keys, self.n)


class Integers(unittest.TestCase):
    """ctypes would drop the high bits of an int that is too large."""

    def test_what_does_not_fit_is_refused(self):
        x, keys = np.arange(3.0), np.arange(3)
        groups = bitfold.Groups("i64", [("sum", "f64")]).absorb(keys, x)
        table, small = bitfold.Table("i64"), bitfold.Table("u32", "i32")
        for call in (
            lambda: bitfold.var(x, ddof=2**32), lambda: bitfold.Context(threads=2**32 + 1),
            lambda: bitfold.Context(stream=2**64),
            lambda: bitfold.State("argmax", "f64").seek(2**70), lambda: groups.result(2**32),
            lambda: bitfold.histogram(x, 2**64 + 3), lambda: bitfold.bincount(keys, 2**64),
            lambda: table.add(2**64 + 5), lambda: small[2**32], lambda: 2**64 in table,
            lambda: small.add(2**32, 1), lambda: small.add(1, 2**31), lambda: -1 in small,
            lambda: table.reserve(2**64), lambda: bitfold.Table("i64", reserve=2**64),
            lambda: bitfold.Table("i64", seed=2**64), lambda: bitfold.Groups("i64", seed=2**64),
            lambda: bitfold.join(keys, keys, seed=2**64), lambda: bitfold.julia(iterations=2**64 + 5),
            lambda: bitfold.julia(2**64 + 8, 8, out=np.zeros((8, 8), "u2")),
            lambda: bitfold.julia(8, 8, x=2**64, out=np.zeros((8, 8), "u2")),
            lambda: bitfold.palette_colors("gray", np.zeros(3, "u2"), 2**64 + 5),
            lambda: bitfold.Table("pair").add((1, 2**64)),
        ):  # fmt: skip
            self.assertRaisesRegex(bitfold.ArgumentError, "does not fit", call)
        self.assertEqual(len(table), 0)
        with self.assertRaises(ValueError):
            bitfold.Table("pair").add((1,))
