"""Objects that are arrays, and those that are refused: their dtypes, layouts and masks."""

import ctypes
import unittest
from array import array

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
            np.ones(2, dtype=">f8"), np.ones(2, dtype=">i4"), np.ones(2, dtype=complex),
            np.ones(2, dtype=np.longdouble), np.array(["a"]), np.array([object()]),
            np.zeros(2, dtype="i4,f4"), np.array(["2020-01-01"], dtype="M8[D]"),
        ):  # fmt: skip
            with self.assertRaises(bitfold.DtypeError, msg=x.dtype):
                bitfold.sum(x)
            with self.assertRaises(TypeError):
                bitfold.sum(x)
        with self.assertRaisesRegex(bitfold.DtypeError, "byte order"):
            bitfold.sum(np.ones(2, dtype=">f8"))
        with self.assertRaisesRegex(bitfold.DtypeError, "byte order"):
            bitfold.sum(Interface(np.ones(2, dtype=">f8")))
        for x in ([1.0, 2.0], 3.0, None, "text"):
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
        for dtype in ("i8x", 8, "f8", "f16 "):
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
        record = np.zeros(3, dtype=[("a", "u1"), ("b", "<f8")])
        with self.assertRaises(bitfold.ShapeError):
            bitfold.sum(record["b"])

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


if __name__ == "__main__":
    unittest.main()
