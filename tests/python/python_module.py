"""The module: what counts as an array, what comes back, what is refused and how."""

import ctypes
import importlib
import importlib.util
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
from array import array

import numpy as np

import bitfold
from bitfold import _library
from oracle import DTYPES, HELD

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(bitfold.__file__)))


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

    def test_a_pandas_like_object_has_no_memory_to_read(self):
        class Series:
            def mask(self, condition):
                return self

            def __array__(self):
                return np.ones(3)

            def __iter__(self):
                return iter((0.0, 1.0, 2.0))

        with self.assertRaisesRegex(bitfold.DtypeError, "'Series'.*numpy.asarray"):
            bitfold.sum(Series())
        self.assertEqual(list(bitfold.histogram(np.ones(3), Series())[0]), [0, 3])

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


class CudaInterface:
    """The host's memory, offered as a GPU's: what bitfold makes of the protocol, without a GPU."""

    def __init__(self, x, **changes):
        self._x = x
        self.__cuda_array_interface__ = {
            "version": 3, "shape": x.shape, "typestr": x.dtype.str, "strides": x.strides,
            "data": (x.ctypes.data, False), "stream": None, **changes,
        }  # fmt: skip


class CudaArrays(unittest.TestCase):
    def test_the_interface_is_read_in_place(self):
        x = np.arange(60, dtype="<f4").reshape(3, 4, 5)
        for each in (x, x.T, x[:, ::2], x[:0]):
            self.assertEqual(bitfold.sum(CudaInterface(each)), float(each.sum()))
        self.assertEqual(bitfold.sum(CudaInterface(x, strides=None)), float(x.sum()))
        bits = np.full(7, 0x3FC0, np.uint16)
        self.assertEqual(bitfold.sum(CudaInterface(bits, typestr="<V2"), dtype="bf16"), 10.5)

    def test_out_is_written_in_place(self):
        x, out = np.arange(5.0), np.zeros(5)
        bitfold.map("add", CudaInterface(x), 1, out=CudaInterface(out))
        self.assertEqual(list(out), [1, 2, 3, 4, 5])
        with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
            bitfold.map("neg", x, out=CudaInterface(out, data=(out.ctypes.data, True)))

    def test_what_the_protocol_forbids_is_refused(self):
        x = np.ones(3)
        with self.assertRaisesRegex(bitfold.ArgumentError, "stream 0"):
            bitfold.sum(CudaInterface(x, stream=0))
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(CudaInterface(x, mask=x))
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(CudaInterface(x, typestr="<c16"))

    def test_a_tensor_that_is_negated_when_read_is_refused(self):
        tensor = CudaInterface(np.ones(3))
        tensor.is_neg = lambda: False
        self.assertEqual(bitfold.sum(tensor), 3.0)
        tensor.is_neg = lambda: True
        with self.assertRaisesRegex(bitfold.ArgumentError, "resolve_neg"):
            bitfold.sum(tensor)

    def test_an_object_may_refuse(self):
        class Grad:
            @property
            def __cuda_array_interface__(self):
                raise RuntimeError("requires grad")

        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            bitfold.sum(Grad())

    def test_only_a_gpu_has_streams(self):
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Context("cpu", stream=1)

    def gpu_module(self, name):
        try:
            bitfold.Context(device="cuda")
            return importlib.import_module(name)
        except (bitfold.DeviceError, ImportError) as error:
            self.skipTest(str(error))

    def test_cupy(self):
        cupy = self.gpu_module("cupy")
        x = np.random.default_rng(1).normal(size=(100, 333))
        y = cupy.asarray(x)
        for op in ("sum", "std", "argmin", "prod"):
            run = getattr(bitfold, op)
            self.assertEqual(run(y), run(x))
            self.assertEqual(run(y.T[::3]), run(x.T[::3]))
        out = cupy.empty_like(y)
        bitfold.map("mul", y, 3.0, out=out)
        np.testing.assert_array_equal(out.get(), x * 3)
        with cupy.cuda.Stream(non_blocking=True):
            late = cupy.zeros(1 << 26)
            late += 1
            self.assertEqual(bitfold.sum(late), 1 << 26)

    def test_torch(self):
        torch = self.gpu_module("torch")
        x = torch.randn(100, 333, device="cuda", dtype=torch.float64)
        self.assertEqual(bitfold.sum(x), bitfold.sum(x.cpu().numpy()))
        self.assertEqual(bitfold.sum(x.T[::3]), bitfold.sum(x.T[::3].cpu().numpy()))
        half = x.to(torch.bfloat16)
        self.assertEqual(bitfold.max(half, dtype="bf16"), half.max().item())
        out = torch.empty_like(x)
        bitfold.map("sqrt", x.abs(), out=out)
        self.assertTrue(torch.equal(out, x.abs().sqrt()))
        negated = torch.complex(x, x).conj().imag
        with self.assertRaisesRegex(bitfold.ArgumentError, "resolve_neg"):
            bitfold.sum(negated)
        self.assertEqual(bitfold.sum(negated.resolve_neg()), -bitfold.sum(x))
        with self.assertRaises(RuntimeError):
            bitfold.sum(x.requires_grad_())


class Results(unittest.TestCase):
    def test_types(self):
        ints, floats = array("i", [3, -4]), array("f", [3.0, -4.0])
        self.assertIs(type(bitfold.sum(ints)), int)
        self.assertIs(type(bitfold.mean(ints)), float)
        self.assertIs(type(bitfold.sum(ints, out_dtype="f64")), float)
        self.assertIs(type(bitfold.min(ints)), int)
        self.assertIs(type(bitfold.min(floats)), float)
        self.assertIs(type(bitfold.argmin(floats)), int)
        self.assertIs(bitfold.max(np.array([False, True])), True)
        self.assertIs(bitfold.min(np.array([False, True])), False)
        self.assertEqual(bitfold.max(array("Q", [2**64 - 1])), 2**64 - 1)
        self.assertEqual(bitfold.min(array("q", [-(2**63)])), -(2**63))
        self.assertEqual(bitfold.max(np.array([65504], dtype=np.float16)), 65504.0)

    def test_errors_carry_status_and_message(self):
        with self.assertRaises(bitfold.EmptyError) as caught:
            bitfold.min(array("d"))
        self.assertEqual(caught.exception.status, 6)
        self.assertEqual(str(caught.exception), caught.exception.message)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsInstance(caught.exception, bitfold.Error)
        for status, error in _library.ERRORS.items():
            with self.assertRaises(error) as caught:
                _library.check(status)
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.message)

    def test_bad_options(self):
        x = array("d", [1, 2])
        for bad in ({"nan": "ignore"}, {"ddof": 2}, {"ddof": -1}):
            with self.assertRaises(bitfold.ArgumentError, msg=bad):
                bitfold.var(x, **bad)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(x, out_dtype="i32")
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.max(x, out_dtype="f32")
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.State("median", "f64")
        with self.assertRaises(bitfold.ShapeError):
            bitfold.dot(x, array("d", [1]))
        with self.assertRaises(bitfold.DtypeError):
            bitfold.dot(x, array("f", [1, 2]))


class Contexts(unittest.TestCase):
    def test_options(self):
        context = bitfold.Context(device="cpu", isa="generic", threads=3)
        self.assertEqual((context.device, context.isa, context.threads), ("cpu", "generic", 3))
        self.assertIn("generic", bitfold.isas())
        self.assertEqual(bitfold.sum(array("d", [1, 2]), context=context), 3.0)
        self.assertEqual(context.reason, "")
        self.assertIn("host memory", bitfold.Context().reason)
        with self.assertRaises(bitfold.DeviceError):
            bitfold.Context(device="cuda:9999")
        for bad in ({"isa": "mmx"}, {"device": "cuda:x"}, {"threads": -1}, {"threads": 100_000}):
            with self.assertRaises(bitfold.ArgumentError):
                bitfold.Context(**bad)

    def test_threads_may_share_a_context(self):
        context = bitfold.Context(threads=2)
        x = np.random.default_rng(1).normal(size=200_000)
        expected, wrong = math.fsum(x), []

        def work(given):
            for _ in range(20):
                if bitfold.sum(x, context=given) != expected:
                    wrong.append(given)

        workers = [threading.Thread(target=work, args=(c,)) for c in (context, context, None, None)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertFalse(wrong)

    def test_threads_may_merge_what_others_are_filling(self):
        shared = bitfold.Groups("i64", [("sum", "f64")])
        keys, values = np.arange(2000), np.ones(2000)
        failed = []

        def work():
            try:
                mine = bitfold.Groups("i64", [("sum", "f64")])
                for _ in range(20):
                    shared.absorb(keys, values)
                    mine.merge(shared)
            except bitfold.Error as error:
                failed.append(error)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failed, [])
        self.assertEqual(shared.rows, 3 * 20 * 2000)

    def test_a_forked_child_can_go_on(self):
        x = np.ones(1 << 18)
        bitfold.sum(x)
        child = os.fork()
        if child == 0:
            os._exit(0 if bitfold.sum(x) == 1 << 18 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class States(unittest.TestCase):
    def test_a_state_is_filled_saved_and_merged(self):
        first = bitfold.State("mean", "f64").absorb(array("d", [1, 2])).absorb(array("d"))
        second = bitfold.State.load(first.save()).absorb(array("d", [6, math.nan]))
        self.assertEqual(first.result(), 1.5)
        self.assertEqual(second.result(nan="skip"), 3.0)
        self.assertEqual(second.info(), ("mean", "f64", 4, 1, 0, 4))
        first.merge(second)
        self.assertEqual(first.result(nan="skip", out_dtype="f32"), 2.4000000953674316)
        with self.assertRaises(bitfold.NanError):
            first.result(nan="error")

    def test_what_was_absorbed_is_taken_out_again(self):
        monday, tuesday = array("d", [1e20, -0.0, math.nan]), array("d", [-0.0, 3, math.inf])
        for op in ("sum", "mean", "var", "std", "sumsq", "norm", "dot"):
            fill = lambda x: (x, x) if op == "dot" else (x,)
            state = lambda *days: [s := bitfold.State(op, "f64"),
                                   [s.absorb(*fill(day)) for day in days]][0]
            both, first, second = state(monday, tuesday), state(monday), state(tuesday)
            same = both
            both -= first
            self.assertIs(both, same)
            self.assertEqual(both.save(), second.save())
            both += first
            self.assertEqual(both.retract(second).save(), first.save())
            with self.assertRaises(bitfold.StateError):
                both -= second
            self.assertEqual(both.save(), first.save())
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.State("max", "f64").retract(bitfold.State("max", "f64"))
        with self.assertRaises(TypeError):
            both -= 1

    def test_histograms_and_groups_are_taken_out_again(self):
        x, w = array("d", [0.5, 1.5, 1.5]), array("f", [-0.0, 1, 2])
        made = lambda: bitfold.Histogram("f64", 2, (0, 2), weights="f32")
        both, rest = made().absorb(x, w), made().absorb(x[1:], w[1:])
        both -= made().absorb(x[:1], w[:1])
        self.assertEqual(both.save(), rest.save())
        made = lambda: bitfold.Groups("f64", [("sum", "f32")])
        both, rest = made().absorb(x, w), made().absorb(x[:2], w[:2])
        both -= made().absorb(x[2:], w[2:])
        self.assertEqual(both.save(), rest.save())
        both += made().absorb(x[2:], w[2:])
        self.assertEqual(both.save(), made().absorb(x, w).save())

    def test_words_of_parts_add(self):
        parts = [array("d", [1e300, -0.0]), array("d", [-1e300, 5e-324]), array("d", [math.inf])]
        whole = bitfold.State("sum", "f64")
        words = []
        for x in parts:
            whole.absorb(x)
            words.append(list(bitfold.State("sum", "f64").absorb(x).words()))
        total = array("q", map(sum, zip(*words)))
        state = bitfold.State("sum", "f64").set_words(total, parts=3)
        self.assertEqual(state.save(), whole.save())
        self.assertEqual(state.set_words(whole.words()).save(), whole.save())
        bad = array("q", total)
        bad[1] = 5
        for wrong, parts in [(bad, 3), (total, 1)]:
            with self.assertRaises(bitfold.StateError):
                state.set_words(wrong, parts)
        for wrong, parts in [(total[1:], 3), (total, 0), (total, 1 << 40), (array("d", total), 3)]:
            with self.assertRaises(bitfold.ArgumentError):
                state.set_words(wrong, parts)
        self.assertEqual(state.save(), whole.save())

    def test_positions(self):
        state = bitfold.State("argmax", "i32").seek(10**12).absorb(array("i", [3, 9, 9]))
        self.assertEqual(state.result(), 10**12 + 1)
        self.assertEqual(state.info().next, 10**12 + 3)
        with self.assertRaises(bitfold.ArgumentError):
            state.seek(0)
        with self.assertRaises(bitfold.StateError):
            state.merge(state)

    def test_dtypes_of_chunks(self):
        state = bitfold.State("sum", "bf16").absorb(array("H", [0x3F80]))
        self.assertEqual(state.absorb(b"\x80\x3f", dtype="bf16").result(), 2.0)
        with self.assertRaises(bitfold.DtypeError):
            bitfold.State("sum", "f64").absorb(array("f", [1]))
        pairs = bitfold.State("dot", "f32").absorb(array("f", [1, 2]), array("f", [3, 4]))
        self.assertEqual(pairs.result(), 11.0)
        with self.assertRaises(bitfold.ArgumentError):
            pairs.absorb(array("f", [1]))

    def test_damaged_bytes_are_refused(self):
        saved = bitfold.State("sum", "f64").absorb(array("d", [1, 2])).save()
        self.assertEqual(bitfold.State.load(bytearray(saved)).result(), 3.0)
        for bad in (b"", saved[:-1], saved + b"\0", b"x" + saved[1:], pickle.dumps(1)):
            with self.assertRaises(bitfold.StateError):
                bitfold.State.load(bad)


class Import(unittest.TestCase):
    def run_python(self, code, **environment):
        environment = {**os.environ, **environment}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )

    def test_numpy_is_not_needed(self):
        code = (
            "import sys; sys.modules['numpy'] = None; import array, bitfold; "
            "print(bitfold.sum(array.array('d', [1e20, 1, -1e20])))"
        )
        self.assertEqual(self.run_python(code).stdout, "1.0\n")

    def test_a_missing_library_is_an_import_error(self):
        found = self.run_python("import bitfold", BITFOLD_LIBRARY="/nonexistent.so")
        self.assertEqual(found.returncode, 1)
        self.assertRegex(found.stderr, "ImportError: .*BITFOLD_LIBRARY")


class Pip(unittest.TestCase):
    """A wheel would lack the library: pip says so instead of installing what cannot be imported."""

    def test_every_hook_refuses(self):
        hooks = "import no_wheel; no_wheel.{}('.')"
        for hook in ("build_wheel", "build_sdist", "build_editable"):
            found = subprocess.run(
                [sys.executable, "-c", hooks.format(hook)], cwd=PYTHON, capture_output=True, text=True
            )
            self.assertEqual(found.returncode, 1)
            self.assertRegex(found.stderr, "^bitfold cannot be installed with pip yet")

    @unittest.skipUnless(importlib.util.find_spec("pip"), "no pip here")
    def test_pip_fails_and_says_why(self):
        with tempfile.TemporaryDirectory() as target:
            options = ["--no-index", "--no-build-isolation", "--no-cache-dir", "--target", target]
            found = subprocess.run(
                [sys.executable, "-m", "pip", "install", *options, PYTHON],
                capture_output=True, text=True,
            )  # fmt: skip
            self.assertNotEqual(found.returncode, 0)
            self.assertIn("bitfold cannot be installed with pip yet", found.stdout + found.stderr)
            self.assertEqual(os.listdir(target), [])


class Text(unittest.TestCase):
    """bf_value_format against Python's and NumPy's shortest decimals."""

    def format(self, **held):
        value = _library.Value()
        ((name, number),) = held.items()
        value.dtype = {"f64": 13, "f32": 12, "bits": 10}[name]
        setattr(value.as_, name, number)
        text = ctypes.create_string_buffer(_library.VALUE_TEXT)
        _library.lib.bf_value_format(value, text)
        return text.value.decode()

    def test_f64_is_repr(self):
        rng = np.random.default_rng(9)
        bits = rng.integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
        decimal = np.round(rng.normal(0, 1e6, 2000), 3)
        powers = [*(2.0**k for k in range(-1074, 1024)), *(float(f"1e{k}") for k in range(-323, 309))]
        near = [math.nextafter(x, to) for x in powers for to in (0, math.inf)]
        special = [0.0, -0.0, math.inf, -math.inf, math.nan]
        for x in [*bits.tolist(), *decimal.tolist(), *powers, *near, *special]:
            expected = repr(x)[:-2] if repr(x).endswith(".0") else repr(x)
            self.assertEqual(self.format(f64=x), expected)

    def test_f32_and_f16_have_numpy_s_digits(self):
        rng = np.random.default_rng(10)
        singles = rng.integers(0, 2**32, 5000, dtype=np.uint32).view(np.float32)
        halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)[::7]
        for x in [*singles, *halves]:
            if np.isfinite(x):
                held = {"f32": x} if x.dtype == "f4" else {"bits": int(x.view("u2"))}
                found = self.format(**held)
                self.assertEqual(
                    np.format_float_scientific(np.float64(found), trim="-"),
                    np.format_float_scientific(x, trim="-"),
                )


class Watches(unittest.TestCase):
    """A context's watch. Every second element is copied piece by piece, with a tick after each."""

    X = np.arange(400000, dtype=np.float64)[::2]

    def test_tells_the_bytes(self):
        context, told = bitfold.Context(threads=1), []
        context.watch(told.append, every=0)
        bitfold.sum(self.X, context=context)
        self.assertEqual(told, sorted(told))
        self.assertEqual(told[-1], self.X.nbytes)
        context.watch(None)
        bitfold.sum(self.X, context=context)
        self.assertEqual(told[-1], self.X.nbytes)

    def test_cancels(self):
        context = bitfold.Context(threads=1)
        state = bitfold.State("prod", "f64", context=context).absorb(self.X[:1000])
        before = state.save()
        context.watch(lambda count: count > 0, every=0)
        with self.assertRaises(bitfold.CancelledError):
            state.absorb(self.X)
        self.assertEqual(state.save(), before)

    def test_what_a_tick_raises_the_call_raises(self):
        def tick(count):
            bitfold.sum(self.X, context=context)

        def interrupt(count):
            raise KeyboardInterrupt

        context = bitfold.Context(threads=1)
        context.watch(tick, every=0)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(self.X, context=context)
        context.watch(interrupt, every=0)
        with self.assertRaises(KeyboardInterrupt):
            bitfold.max(self.X, context=context)
        context.watch(None)
        self.assertEqual(bitfold.max(self.X, context=context), self.X[-1])


if __name__ == "__main__":
    unittest.main()
