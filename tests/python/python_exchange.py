"""Arrays by DLPack and the Arrow interfaces: of NumPy itself, and of pyarrow, Polars, pandas, DuckDB
and PyTorch where they are installed."""

import array
import gc
import importlib
import math
import pickle
import subprocess
import sys
import types
import unittest
import weakref
from unittest import mock

import numpy as np

import bitfold
from bitfold._arrays import View
from bitfold._nulls import views_of
from device_column import CPU, CUDA, CUDA_HOST, DeviceColumn

NUMBERS = [1.5, -2.0, 1e20, 4.0, -1e20]
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


class Tensor:
    """An object with nothing but DLPack; old: from before its version 1."""

    def __init__(self, x, old=False):
        self.x, self.old = x, old

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("an unexpected keyword argument")
        return self.x.__dlpack__(**options)


class ByDlpack(unittest.TestCase):
    def test_values_dtypes_and_layouts(self):
        for name in INTEGERS + ["float16", "float32", "float64"]:
            base = np.arange(24).astype(name).reshape(4, 6)
            for x in (base, base.T, base[::2, 1:], base[::-1], base[:, ::-2], base[:0], base[1, 2:3]):
                for old in (False, True):
                    view = View(Tensor(x, old))
                    if x.size:
                        self.assertEqual(view.array.data, x.__array_interface__["data"][0])
                    self.assertEqual(bitfold.sum(Tensor(x, old)), x.astype("f8").sum())

    def test_bools(self):
        x = np.array([True, False, True])
        try:
            x.__dlpack__()
        except BufferError:
            raise unittest.SkipTest("this NumPy does not give bools") from None
        self.assertEqual(bitfold.sum(Tensor(x)), 2)

    def test_memory_lives_as_long_as_the_view(self):
        view = View(Tensor(np.arange(1000.0)))
        np.arange(1000.0)[:] = 7  # would take the memory, if it were free
        array = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_double * 1000).from_address(view.array.data))
        self.assertEqual(array[999], 999.0)

    def test_what_may_not_be_written_is_not(self):
        x = np.zeros(4)
        x.flags.writeable = False
        try:
            tensor = Tensor(x)
            tensor.__dlpack__(max_version=(1, 0))
        except (BufferError, TypeError):
            raise unittest.SkipTest("this NumPy does not give read-only arrays") from None
        self.assertTrue(View(tensor).readonly)

    def test_others_are_refused(self):
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(Tensor(np.ones(3, complex)))

    def test_tensors_of_torch(self):
        torch = library("torch")
        x = torch.tensor(NUMBERS, dtype=torch.float64)
        self.assertEqual(View(x).array.data, x.data_ptr())
        self.assertEqual(bitfold.sum(x), 3.5)
        self.assertEqual(bitfold.sum(torch.ones(3, dtype=torch.bfloat16)), 3.0)


    def test_arrays_of_jax(self):
        jax = library("jax")
        jax.config.update("jax_platforms", "cpu")
        x = jax.numpy.array([1.5, -2.0, 4.0], "float32")
        self.assertEqual(View(x).array.data, x.unsafe_buffer_pointer())
        self.assertEqual(bitfold.sum(x), 3.5)
        self.assertEqual(bitfold.sum(x.astype("bfloat16")), 3.5)
        self.assertEqual(bitfold.sum(Tensor(x), axis=0), 3.5)


def addresses(result):
    """Where others see a result: by the buffer, by DLPack of both kinds, and by NumPy's interface."""
    found = {
        View(result).array.data, View(Tensor(result)).array.data, View(Tensor(result, old=True)).array.data,
        result.__array_interface__["data"][0], np.asarray(result).__array_interface__["data"][0],
    }  # fmt: skip
    if np.asarray(result).dtype != bool or np.__version__ > "1.25":  # until then DLPack had no bools
        found.add(np.from_dlpack(result).__array_interface__["data"][0])
    return found


class ByName(unittest.TestCase):
    """bf16, which NumPy keeps as void of two bytes."""

    BITS = (np.array([1.5, -2.25, 257], "f4").view("u4") >> 16).astype("u2")

    def test_the_name_of_a_dtype_says_what_void_is(self):
        class Named:
            """What View sees of ml_dtypes' arrays."""

            dtype = types.SimpleNamespace(name="bfloat16", kind="V")
            __array_interface__ = {**self.BITS.__array_interface__, "typestr": "<V2", "descr": []}

        self.assertEqual((View(Named()).dtype, bitfold.sum(Named())), ("bf16", 255.25))
        self.assertEqual(bitfold.sum(self.BITS.view("V2"), dtype="bf16"), 255.25)
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(self.BITS.view("V2"))

    def test_arrays_of_ml_dtypes(self):
        x = self.BITS.view(library("ml_dtypes").bfloat16)
        self.assertEqual((View(x).dtype, bitfold.sum(x), bitfold.max(x)), ("bf16", 255.25, 256.0))


class GivenBack(unittest.TestCase):
    """Results are of the caller's kind; else a Result, whose memory others use."""

    def results(self, x, keys):
        """Arrays that many calls return."""
        groups = bitfold.Groups("i64", [("sum", "f64")]).absorb(keys, x)
        table = bitfold.Table("i64", "i64").insert(keys, keys)
        return [
            bitfold.sort(x), bitfold.argsort(x), bitfold.rank(x), *bitfold.top(x, 2), *bitfold.unique(x),
            bitfold.quantile(x, [0.5]), bitfold.nth(x, [1]), bitfold.map("add", x, 1.0),
            *bitfold.histogram(x, 3), bitfold.bincount(keys), *groups.list(), groups.result(0),
            *bitfold.join(keys, keys), *table.find(keys), table.count(keys), *table.export(like=x),
            bitfold.sum(x, axis=0, keepdims=True), bitfold.index_add(3, keys, x),
            *bitfold.group_median(keys, x), *bitfold.reduce_runs("sum", keys, x),
        ]  # fmt: skip

    def check(self, make):
        x, keys = make(np.array([5.0, 3, 9, 3])), make(np.array([2, 1, 2, 1]))
        expected = self.results(np.array([5.0, 3, 9, 3]), np.array([2, 1, 2, 1]))
        found = self.results(x, keys)
        for each, other in zip(found, expected):
            self.assertIs(type(other), np.ndarray)
            self.assertEqual((each.tolist(), len(each)), (other.tolist(), len(other)))
        return found

    def test_arrays_of_numpy(self):
        for each in self.check(np.asarray):
            self.assertIs(type(each), np.ndarray)

    def test_arrays_of_python(self):
        for make in (
            lambda x: array.array("d" if x.dtype.kind == "f" else "q", x.tolist()),
            lambda x: memoryview(x),
        ):
            for each in self.check(make):
                self.assertIsInstance(each, bitfold.Result)
                self.assertEqual(len(addresses(each)), 1)
                self.assertEqual(memoryview(each).shape, each.shape)

    def test_columns_of_pyarrow(self):
        pa = library("pyarrow")
        for each in self.check(pa.array):
            self.assertIsInstance(each, bitfold.Result)
            column = pa.array(each)
            self.assertEqual(column.to_pylist(), each.tolist())
            if each.dtype != "bool":  # Arrow packs them
                self.assertEqual({column.buffers()[1].address}, addresses(each))
        halves = bitfold.sort(pa.array(np.array([2, 1.5], np.float16)))
        self.assertEqual((pa.array(halves).type, np.asarray(halves).dtype), (pa.float16(), np.float16))

    def test_columns_of_polars(self):
        pl = library("polars")
        for each in self.check(pl.Series):
            series = pl.Series(each)
            self.assertEqual(series.to_list(), each.tolist())
            if each.dtype != "bool":
                at = series.to_numpy(allow_copy=False).__array_interface__["data"][0]
                self.assertEqual({at}, addresses(each))

    def test_series_of_pandas_and_arrays_of_jax(self):
        pd = library("pandas")
        for each in self.check(pd.Series):
            self.assertIs(type(each), np.ndarray)
        numpy = library("jax.numpy")
        x = numpy.array([5.0, 3, 9, 3], "float32")
        self.assertEqual(numpy.asarray(bitfold.sort(x)).tolist(), [3.0, 3.0, 5.0, 9.0])

    def test_tensors_of_torch(self):
        torch = library("torch")
        for each in self.check(torch.from_numpy):
            self.assertIsInstance(each, torch.Tensor)

    def test_shapes_and_elements(self):
        flat = array.array("i", range(24))
        whole = bitfold.map("cast", memoryview(flat).cast("B").cast("i", (2, 3, 4)), to="f64")
        rows = np.arange(24.0).reshape(2, 3, 4)
        self.assertEqual((whole.shape, whole.ndim, len(whole)), ((2, 3, 4), 3, 2))
        self.assertEqual((whole.tolist(), np.asarray(whole).tolist()), (rows.tolist(), rows.tolist()))
        self.assertEqual((whole[1, 2, 3], whole[-1][0].tolist()), (23.0, rows[1, 0].tolist()))
        self.assertEqual(whole[1:].tolist(), rows[1:].tolist())
        self.assertEqual(View(whole[1]).array.data, View(whole).array.data + 12 * 8)
        self.assertEqual([row.shape for row in whole], [(3, 4)] * 2)
        self.assertEqual((len(whole[2:]), whole[5:].tolist()), (0, []))
        for key in (2, (0, 0, 0, 0), slice(None, None, 2), (slice(None), 0)):
            with self.assertRaises(IndexError):
                whole[key]
        again = pickle.loads(pickle.dumps(whole))
        self.assertEqual((again.tolist(), again.dtype, again.shape), (whole.tolist(), "f64", whole.shape))
        self.assertEqual(repr(bitfold.sort(array.array("b", [2, 1]))), "Result([1, 2], dtype='i8')")

    def test_memory_lives_as_long_as_others_use_it(self):
        for kind in ("numpy", "pyarrow"):
            take = {"numpy": np.from_dlpack, "pyarrow": lambda r: library("pyarrow").array(r)}[kind]
            result = bitfold.sort(array.array("d", range(1000)))
            alive = weakref.ref(result)
            taken = take(result)
            del result
            self.assertIsNotNone(alive())
            self.assertEqual(taken.tolist(), list(range(1000)))
            del taken
            gc.collect()
            self.assertIsNone(alive(), kind)

    def test_memory_is_released_while_python_exits(self):
        for take in ("np.from_dlpack(result)", "pyarrow.array(result)"):
            if take.startswith("pyarrow"):
                library("pyarrow")
            code = (
                "import array, sys, types, numpy as np, bitfold\n"
                f"{'import pyarrow' if 'pyarrow' in take else ''}\n"
                "result = bitfold.sort(array.array('d', range(1000)))\n"
                "module = sys.modules['holder'] = types.ModuleType('holder')\n"
                f"module.Holder = type('Holder', (), {{'held': {take}}})\n"
                "del result\n"
            )
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), take)

    def test_results_are_not_written_by_index(self):
        for dtype, code in ((None, "d"), ("bf16", "H")):
            result = bitfold.sort(array.array(code, [2, 1]), dtype=dtype)
            with self.assertRaisesRegex(TypeError, "through their buffer"):
                result[0] = 1
        result = bitfold.sort(array.array("d", [2, 1]))
        np.asarray(result)[0] = 7.0
        self.assertEqual(result[0], 7.0)

    def test_what_nobody_takes_is_freed_by_the_next_result(self):
        result = bitfold.sort(array.array("d", [2, 1]))
        alive = weakref.ref(result)
        result.__dlpack__()
        del result
        bitfold.sort(array.array("d", [2, 1]))
        gc.collect()
        self.assertIsNone(alive())

    def test_what_nobody_takes_is_freed(self):
        result = bitfold.sort(array.array("d", [2, 1]))
        alive = weakref.ref(result)
        for version in (None, (1, 0)):
            result.__dlpack__(max_version=version)
        result.__arrow_c_array__()
        with self.assertRaises((RuntimeError, BufferError)):  # NumPy has no bf16
            np.from_dlpack(bitfold.sort(array.array("H", [2, 1]), dtype="bf16"))
        del result
        bitfold.sort(array.array("d", [2, 1])).__dlpack__()  # frees what was given before
        gc.collect()
        self.assertIsNone(alive())

    def test_what_they_cannot_be_is_refused(self):
        square = bitfold.map("neg", memoryview(bytes(6)).cast("b", (2, 3)))
        with self.assertRaises(bitfold.ShapeError):
            square.__arrow_c_array__()
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sort(array.array("H", [2, 1]), dtype="bf16").__arrow_c_array__()
        with self.assertRaises(BufferError):
            square.__dlpack__(dl_device=(2, 0))


class ByArrow(unittest.TestCase):
    def test_columns_of_pyarrow_are_not_copied(self):
        pa = library("pyarrow")
        for name in INTEGERS + ["float32", "float64"]:
            x = pa.array([1, 2, 3, 4], getattr(pa, name)())
            for column in (x, x[1:], x[1:3], x[:0]):
                view = View(column)
                self.assertEqual(view.dtype, bitfold._arrays.dtype_name(name))
                if len(column):
                    address = x.buffers()[1].address + column.offset * x.type.bit_width // 8
                    self.assertEqual(view.array.data, address)
                self.assertEqual(bitfold.sum(column), sum(column.to_pylist()))
        halves = pa.array(np.array([1.5, 2], np.float16))
        self.assertEqual(bitfold.sum(halves), 3.5)

    def test_bools(self):
        pa = library("pyarrow")
        x = pa.array([True, False, None, True] * 20)
        with self.assertRaisesRegex(bitfold.ArgumentError, "20 of 80 elements are NULL"):
            bitfold.sum(x)
        for first in range(20):
            self.assertEqual(
                bitfold.sum(x[first:], null="skip"), sum(b or 0 for b in x[first:].to_pylist())
            )

    def test_nulls_are_refused_or_left_out(self):
        pa = library("pyarrow")
        values = [None if i % 3 == 1 or 70 < i < 150 else i * 0.5 for i in range(300)]
        x = pa.array(values)
        for part in (x, x[1:], x[64:], x[71:140], x[300:]):
            numbers = [v for v in part.to_pylist() if v is not None]
            self.assertEqual(bitfold.sum(part, null="skip"), math.fsum(numbers))
            self.assertEqual(bitfold.describe(part, null="skip").n, len(numbers))
            if part.null_count:
                with self.assertRaisesRegex(bitfold.ArgumentError, "are NULL: null='skip'"):
                    bitfold.sum(part)
        with self.assertRaises(bitfold.EmptyError):
            bitfold.max(x[71:72], null="skip")
        for options in ({}, {"axis": 0}):
            with self.assertRaisesRegex(bitfold.ArgumentError, "positions"):
                bitfold.argmax(x, null="skip", **options)
        with self.assertRaisesRegex(bitfold.ArgumentError, "'error' or 'skip'"):
            bitfold.sum(x, null="drop")
        with self.assertRaisesRegex(bitfold.ArgumentError, "'error' or 'skip'"):
            bitfold.sum(np.ones(3), null="drop")
        self.assertEqual(bitfold.sum(x, axis=0, null="skip"), bitfold.sum(x, null="skip"))
        nan = pa.array([1.0, math.nan, None])
        self.assertTrue(math.isnan(bitfold.sum(nan, null="skip")))  # NaN is a value
        self.assertEqual(bitfold.sum(nan, null="skip", nan="skip"), 1.0)

    def test_a_stream_is_read_once(self):
        pa = library("pyarrow")
        for values, kept in (([1.0, None, 3.0], 2), ([1.0, 2.0], 2)):
            read = lambda: pa.RecordBatchReader.from_batches(
                pa.schema({"x": pa.float64()}), [pa.record_batch({"x": pa.array(values)})]
            )
            for op in ("describe", "sum"):
                self.assertEqual(bitfold.State(op, "f64").absorb(read(), null="skip").info().count, kept)
            self.assertEqual(bitfold.describe(read(), null="skip").n, kept)

    def test_chunks(self):
        pa = library("pyarrow")
        chunks = pa.chunked_array([[1.5, -2.0], [], [1e20, 4.0, -1e20]])
        self.assertEqual(bitfold.sum(chunks), 3.5)
        self.assertEqual(bitfold.argmin(chunks), 4)
        one = pa.chunked_array([NUMBERS])
        self.assertEqual(View(one).array.data, one.chunk(0).buffers()[1].address)
        self.assertEqual(bitfold.sum(pa.chunked_array([], pa.int16())), 0)
        nulls = pa.chunked_array([[1, None], [None], [4]])
        self.assertEqual(bitfold.sum(nulls, null="skip"), 5)

    def test_tables_of_one_column(self):
        pa = library("pyarrow")
        self.assertEqual(bitfold.sum(pa.table({"x": NUMBERS})[1:]), 2.0)
        with self.assertRaisesRegex(bitfold.ArgumentError, "a table of 2 columns"):
            bitfold.sum(pa.table({"x": [1], "y": [2]}))
        rows = pa.array([{"x": 1.0}, None, {"x": 2.0}])
        for part in (rows, rows[1:], rows[:2]):
            with self.assertRaisesRegex(bitfold.ArgumentError, "rows that are NULL"):
                bitfold.sum(part)
        self.assertEqual(bitfold.sum(rows[2:]), 2.0)

    def test_columns_without_numbers_are_refused(self):
        pa = library("pyarrow")
        for x in (
            pa.array(["a"]), pa.array([b"a"]), pa.nulls(2), pa.array([[1.0]]), pa.array([{"a": "b"}]),
            pa.array([1]).cast(pa.timestamp("s")), pa.array([1.0, 1.0]).dictionary_encode(),
            pa.array([1]).cast(pa.decimal256(40, 2)), pa.array([1], pa.date32()),
        ):  # fmt: skip
            with self.assertRaises(bitfold.DtypeError, msg=x.type):
                bitfold.sum(x)

    def test_columns_on_a_device(self):
        x = np.array(NUMBERS)
        column = DeviceColumn(x.ctypes.data, 5, owner=x)
        self.assertEqual(View(column).array.data, x.ctypes.data)
        self.assertEqual(bitfold.sum(column), 3.5)
        for device_type in (CUDA, CUDA_HOST):  # ready, for they have no event
            column = DeviceColumn(x.ctypes.data, 5, device_type=device_type)
            self.assertEqual(View(column).array.data, x.ctypes.data)
            self.assertEqual(bitfold.sum(column), 3.5)
        bits = np.array([0b10110], "u1")
        for device_type, null in ((CPU, "error"), (CUDA, "error"), (CUDA, "skip")):
            column = DeviceColumn(x.ctypes.data, 5, device_type=device_type, valid=bits.ctypes.data)
            with self.assertRaisesRegex(bitfold.ArgumentError, "2 of 5 elements are NULL"):
                bitfold.sum(column, null=null)
        column = DeviceColumn(x.ctypes.data, 5, valid=bits.ctypes.data)
        self.assertEqual(bitfold.sum(column, null="skip"), -2.0)
        with self.assertRaisesRegex(bitfold.DeviceError, "of type 4"):
            bitfold.sum(DeviceColumn(x.ctypes.data, 5, device_type=4))
        with self.assertRaisesRegex(bitfold.ArgumentError, "of the CPU, but with an event"):
            bitfold.sum(DeviceColumn(x.ctypes.data, 5, event=1))

    def test_columns_on_a_device_of_pyarrow(self):
        pa = library("pyarrow")

        class OnDevice:
            def __init__(self, x):
                self.__arrow_c_device_array__ = x.__arrow_c_device_array__

        x = pa.array(NUMBERS)
        self.assertEqual(View(OnDevice(x[1:])).array.data, x.buffers()[1].address + 8)
        self.assertEqual(bitfold.sum(OnDevice(x)), 3.5)
        batch = pa.record_batch({"x": x})
        self.assertEqual(View(OnDevice(batch[2:])).array.data, x.buffers()[1].address + 16)
        self.assertEqual(bitfold.sum(OnDevice(pa.array([True, None, True])), null="skip"), 2)

    def test_polars(self):
        pl = library("polars")
        x = pl.Series(NUMBERS)
        self.assertEqual(bitfold.sum(x), 3.5)
        self.assertEqual(View(x).array.data, x.to_numpy(allow_copy=False).__array_interface__["data"][0])
        self.assertEqual(bitfold.sum(x[1:4]), 1e20)
        self.assertEqual(bitfold.sum(x.append(pl.Series([1.0]))), 4.5)
        self.assertEqual(bitfold.sum(pl.DataFrame({"x": [1, 2]})), 3)
        self.assertEqual(bitfold.sum(pl.Series([1, None, 3]), null="skip"), 4)
        found = bitfold.index_add(2, pl.Series([0, 1, None]), pl.Series([1, None, 3]), null="skip")
        self.assertEqual(pl.Series(found).to_list(), [1, 0])
        for dtype in (pl.Utf8, pl.Date):
            with self.assertRaises(bitfold.DtypeError):
                bitfold.sum(pl.Series([None], dtype=dtype))

    def test_pandas(self):
        pd = library("pandas")
        x = pd.Series(NUMBERS)
        self.assertEqual(View(x).array.data, x.to_numpy().__array_interface__["data"][0])
        self.assertEqual(bitfold.sum(x), 3.5)
        self.assertTrue(math.isnan(bitfold.sum(pd.Series([1.0, math.nan]))))
        nulls = pd.Series([1, None, 3], dtype="Int64")
        with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 3 elements are NULL"):
            bitfold.sum(nulls)
        self.assertEqual(bitfold.sum(nulls, null="skip"), 4)
        self.assertEqual(bitfold.dot(nulls, nulls, null="skip"), 10)
        self.assertEqual(bitfold.median(nulls, null="skip"), 2.0)
        self.assertEqual(bitfold.sum(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})), 10.0)
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(pd.Series(["a"]))

    def test_arrays_and_indices_of_pandas(self):
        pd = library("pandas")
        library("pyarrow")
        wide = 2**53 + 1
        for dtype in ("Int64", "UInt64", "int64[pyarrow]"):
            made = pd.array([wide, None], dtype)
            for x in (made, pd.Series(made), pd.Series(made).array, pd.Index(made), pd.DataFrame({"a": made})):
                with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 2 elements are NULL", msg=type(x)):
                    bitfold.sum(x)
                self.assertEqual(bitfold.sum(x, null="skip"), wide)
            self.assertEqual(bitfold.sum(pd.array([wide], dtype)), wide)
        self.assertEqual(bitfold.sum(pd.array([True, None, True], "boolean"), null="skip"), 2)
        self.assertEqual(bitfold.sum(pd.array([0.5, None], "Float64"), null="skip"), 0.5)
        for x in (pd.Series([1.0, math.nan]), pd.Series([1.0, math.nan]).array, pd.Index([1.0, math.nan])):
            self.assertTrue(math.isnan(bitfold.sum(x)))  # a NaN of NumPy is a value
            self.assertEqual(bitfold.sum(x, nan="skip"), 1.0)
        self.assertEqual(bitfold.sum(pd.RangeIndex(4)), 6)

    def test_what_pandas_has_without_arrow(self):
        pd = library("pandas")
        wide = 2**53 + 1
        for kind in (pd.Categorical, pd.CategoricalIndex, lambda x: pd.Series(pd.Categorical(x))):
            self.assertEqual(bitfold.sum(kind([wide, 1])), wide + 1)
            for null in ("error", "skip"):
                with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 2 elements are missing"):
                    bitfold.sum(kind([wide, None]), null=null)
        sparse = pd.arrays.SparseArray([0, 1, 0])
        for x in (sparse, pd.Series(sparse), pd.Index(sparse)):
            with self.assertRaisesRegex(bitfold.DtypeError, "sparse data"):
                bitfold.sum(x)
        with self.assertRaisesRegex(bitfold.DtypeError, "(?i)sparse|no Arrow column"):
            bitfold.sum(pd.DataFrame({"a": sparse}))
        for x in (pd.period_range("2020", periods=2, freq="D"), pd.to_datetime(["2020-01-01"])):
            with self.assertRaises(bitfold.DtypeError):
                bitfold.sum(x)
        with self.assertRaisesRegex(bitfold.DtypeError, "float64, int64"):
            bitfold.sum(pd.DataFrame({"a": [wide], "b": [0.5]}))
        self.assertEqual(bitfold.sum(pd.DataFrame({"a": [wide], "b": np.array([1], "i4")})), wide + 1)
        named = pd.DataFrame({"array": [0.5], "dtype": [1.5], "columns": [2.0]})  # attributes, for pandas
        self.assertEqual((bitfold.sum(named), len(bitfold.describe(named))), (4.0, 3))

    def test_what_makes_an_arrow_column_of_itself(self):
        x = np.array([2**53 + 1, 7, 3])
        bits = np.array([0b101], "u1")
        column = DeviceColumn(x.ctypes.data, 3, "i8", valid=bits.ctypes.data, owner=(x, bits))

        class Extension:
            def __arrow_array__(self, type=None):
                return column

            def __array__(self, dtype=None):
                return np.array([2**53 + 1, math.nan, 3])

        with mock.patch("bitfold._exchange._has_pyarrow", lambda: True):
            with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 3 elements are NULL"):
                bitfold.sum(Extension())
            self.assertEqual(bitfold.sum(Extension(), null="skip"), 2**53 + 4)

        class Failing(Extension):
            def __arrow_array__(self, type=None):
                raise NotImplementedError("not of this dtype")

        with mock.patch("bitfold._exchange._has_pyarrow", lambda: True):
            with self.assertRaisesRegex(bitfold.DtypeError, "'Failing' gives no Arrow column: not of this"):
                bitfold.sum(Failing())

        class Missing(Extension):
            dtype = "of its own"

            def isna(self):
                return np.array([False, True, False])

        with mock.patch("bitfold._exchange._has_pyarrow", lambda: False):
            for null in ("error", "skip"):
                with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 3 elements are missing"):
                    bitfold.sum(Missing(), null=null)

        class Sparse(Extension):
            dtype = type("SparseDtype", (), {})()

        with self.assertRaisesRegex(bitfold.DtypeError, "sparse data"):
            bitfold.sum(Sparse())

    def test_descriptions_count_nulls_in_their_indices(self):
        """As if each stretch without a NULL had been absorbed where it lies, to the same saved bytes."""
        rng = np.random.default_rng(7)
        values = np.array([1.0, 2.0, -0.0, 0.0, math.nan, math.inf, 3.0])
        for case in range(300):
            x, valid = values[rng.integers(0, 7 if case % 2 else 3, case % 37)], rng.random(case % 37) < 0.6
            bits = np.packbits(np.append(valid, False), bitorder="little")  # memory even for none
            column = DeviceColumn(x.ctypes.data, len(x), valid=bits.ctypes.data, owner=(x, bits))
            found, expected = (bitfold.State("describe", "f64").absorb(values[:2]) for _ in range(2))
            found.absorb(column, null="skip")
            for i in np.flatnonzero(valid).tolist():
                expected.seek(2 + i).absorb(x[i : i + 1])
            self.assertEqual(found, expected.seek(2 + len(x)), (x, valid))
            described = bitfold.describe(column, null="skip", nan="skip")
            some = [(value, i) for i, value in enumerate(x.tolist()) if valid[i] and not math.isnan(value)]
            sign = lambda pair: (pair[0], math.copysign(1, pair[0]))
            least = min(some, key=sign) if some else (None, None)
            greatest = max(some, key=sign) if some else (None, None)
            self.assertEqual((described.min, described.argmin), least)
            self.assertEqual((described.max, described.argmax), greatest)
        with self.assertRaises(bitfold.DtypeError):
            column = DeviceColumn(x.ctypes.data, 1, "i8", valid=bits.ctypes.data, owner=(x, bits))
            found.absorb(column, null="skip")
        self.assertEqual(found, expected)

    def test_tables_are_described_by_column(self):
        expected = {"a": bitfold.describe(np.array([1, 5])), "c": bitfold.describe(np.array([0.5, 0.25]))}
        columns = {"a": [1, 5], "b": ["x", "y"], "c": [0.5, 0.25]}
        for name, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
            try:
                table = getattr(library(name), kind)(columns)
            except unittest.SkipTest:
                continue
            self.assertEqual(bitfold.describe(table), expected)

        class Table:
            columns = ["a", "b", "c"]

            def items(self):
                return [("a", np.array([1, 5])), ("b", np.array(["x", "y"])), ("c", np.array([0.5, 0.25]))]

        self.assertEqual(bitfold.describe(Table()), expected)
        Table.items = lambda self: [("a", np.ones(2))] * 2
        with self.assertRaisesRegex(bitfold.ArgumentError, "two columns are called 'a'"):
            bitfold.describe(Table())

    def test_duckdb(self):
        duckdb = library("duckdb")
        numbers = duckdb.sql("select range::double x from range(5000)")
        self.assertEqual(bitfold.sum(numbers), 4999 * 5000 / 2)
        sql = "select case when range % 3 > 0 then range end x from range(6)"
        with self.assertRaisesRegex(bitfold.ArgumentError, "2 of 6 elements are NULL"):
            bitfold.sum(duckdb.sql(sql))
        self.assertEqual(bitfold.sort(duckdb.sql(sql), null="skip").tolist(), [1, 2, 4, 5])
        keys = duckdb.sql("select range % 2 k from range(6)")
        found = bitfold.group_median(keys, duckdb.sql(sql), null="skip")
        self.assertEqual([each.tolist() for each in found], [[0, 1], [3.0, 3.0]])
        library("pyarrow")  # for what DuckDB itself has no object of
        table = duckdb.sql("select range::double x from range(1000)").to_arrow_table()
        column = table.column("x").combine_chunks()
        column = column.chunk(0) if hasattr(column, "chunk") else column
        self.assertEqual(View(column).array.data, column.buffers()[1].address)


class Nulls(unittest.TestCase):
    """null="skip" in calls that give arrays or take several: they see the rows without a NULL."""

    def setUp(self):
        self.pa = library("pyarrow")
        rng = np.random.default_rng(5)
        self.n = 300
        self.x, self.y = rng.normal(size=self.n), rng.normal(size=self.n)
        self.keys = rng.integers(0, 7, self.n)
        self.null = {name: rng.random(self.n) < 0.2 for name in "xyk"}

    def column(self, values, null, chunks=1):
        """A column whose values begin at some offset, in one chunk or several, one of them empty."""
        pa = self.pa
        whole = pa.array(np.concatenate([values[:3], values]), mask=np.concatenate([[True] * 3, null]))[3:]
        if chunks == 1:
            return whole
        return pa.chunked_array([whole[:100], whole[100:100], whole[100:233], whole[233:]])

    def columns(self):
        for chunks in (1, 4):
            yield (
                self.column(self.x, self.null["x"], chunks), self.column(self.y, self.null["y"], chunks),
                self.column(self.keys, self.null["k"], chunks),
            )  # fmt: skip

    def same(self, found, expected):
        for a, b in zip(found, expected) if isinstance(found, tuple) else [(found, expected)]:
            self.assertEqual(np.asarray(a).tolist(), np.asarray(b).tolist())

    def test_of_one_column(self):
        kept = self.x[~self.null["x"]]
        keys = self.keys[~self.null["k"]]
        for x, _, k in self.columns():
            for function in (
                lambda x, **o: bitfold.sum(x, axis=0, **o), lambda x, **o: bitfold.std(x, keepdims=True, **o),
                bitfold.sort, lambda x, **o: bitfold.sort(x, None, descending=True, **o),
                bitfold.median, lambda x, **o: bitfold.quantile(x, [0.1, 0.9], **o),
                lambda x, **o: bitfold.percentile(x, 30, axis=0, **o), lambda x, **o: bitfold.nth(x, 4, **o),
                bitfold.unique, bitfold.unique_counts, bitfold.unique_values, bitfold.mode,
                bitfold.is_sorted, lambda x, **o: bitfold.histogram(x, 5, **o),
                lambda x, **o: bitfold.State("sum", "f64").absorb(x, **o).result(),
                lambda x, **o: bitfold.States("sum", "f64", 1).absorb(x, **o).result(),
                lambda x, **o: bitfold.Histogram("f64", 4, (-1, 1)).absorb(x, **o).counts,
                lambda x, **o: bitfold.Quantiles("f64", [0.5]).absorb(x, **o).info().count,
            ):  # fmt: skip
                self.same(function(x, null="skip"), function(kept))
                with self.assertRaisesRegex(bitfold.ArgumentError, "are NULL: null='skip' leaves them out"):
                    function(x)
            self.same(bitfold.bincount(k, null="skip"), np.bincount(keys))

    def test_of_several_columns(self):
        both = ~(self.null["x"] | self.null["y"])
        keyed = ~(self.null["x"] | self.null["k"])
        x, y, k = self.x, self.y, self.keys
        for cx, cy, ck in self.columns():
            self.same(bitfold.dot(cx, cy, null="skip"), bitfold.dot(x[both], y[both]))
            self.same(bitfold.dot(cx, cy, axis=0, null="skip"), bitfold.dot(x[both], y[both]))
            only = ~self.null["x"]
            self.same(bitfold.dot(cx, y, null="skip"), bitfold.dot(x[only], y[only]))
            self.same(bitfold.dot(y, cx, null="skip"), bitfold.dot(x[only], y[only]))
            state = bitfold.State("dot", "f64").absorb(cx, cy, null="skip")
            self.same(state.result(), bitfold.dot(x[both], y[both]))
            for function in (bitfold.index_add, bitfold.index_var, bitfold.index_max, bitfold.index_median):
                self.same(function(7, ck, cx, null="skip"), function(7, k[keyed], x[keyed]))
            self.same(
                bitfold.index_quantile(7, ck, cx, [0.2], null="skip"),
                bitfold.index_quantile(7, k[keyed], x[keyed], [0.2]),
            )
            states = bitfold.States("sum", "f64", 7).absorb_index(cx, ck, null="skip")
            self.same(states.result(), bitfold.index_add(7, k[keyed], x[keyed]))
            self.same(bitfold.group_median(ck, cx, null="skip"), bitfold.group_median(k[keyed], x[keyed]))
            self.same(
                bitfold.group_quantile(ck, cx, [0.1], null="skip"),
                bitfold.group_quantile(k[keyed], x[keyed], [0.1]),
            )
            found = bitfold.Histogram.of(cx, 4, (-1, 1), cy, null="skip")
            expected = bitfold.Histogram.of(x[both], 4, (-1, 1), y[both])
            self.assertEqual(found, expected)

    def test_of_segments(self):
        x = self.x
        for offsets in ([0, 300], [10, 10, 64, 65, 200, 290], [0, 0], [300, 300]):
            for cx, cy, _ in self.columns():
                parts = [x[a:b][~self.null["x"][a:b]] for a, b in zip(offsets, offsets[1:])]
                for kind in ("i4", "i8"):
                    places = np.array(offsets, kind)
                    found = bitfold.segment_sum(cx, places, null="skip")
                    self.same(found, [bitfold.sum(part) for part in parts])
                    found = bitfold.segment_median(cx, places, null="skip", empty=7.0)
                    self.same(found, [bitfold.median(part, empty=7.0) for part in parts])
                states = bitfold.States("max", "f64", len(parts))
                states.absorb_segments(cx, places, null="skip")
                self.same(states.result(empty=0.0), [bitfold.max(p) if len(p) else 0.0 for p in parts])
        both = ~(self.null["x"] | self.null["y"])
        found = bitfold.segment_dot(cx, cy, np.array([0, 300]), null="skip")
        self.same(found, [bitfold.dot(x[both], self.y[both])])
        for offsets, error in (
            (np.array([5, 2]), bitfold.ArgumentError), (np.array([0, 301]), bitfold.ArgumentError),
            (np.array([-1, 2]), bitfold.ArgumentError), (np.array([], int), bitfold.ShapeError),
        ):  # fmt: skip
            with self.assertRaises(error):
                bitfold.segment_sum(cx, offsets, null="skip")
        for only in (-1, 301):
            with self.assertRaises(bitfold.ArgumentError):
                bitfold.segment_sum(cx, np.array([only]), null="skip")
        self.assertEqual(len(bitfold.segment_sum(cx, np.array([300]), null="skip")), 0)
        offsets = np.array([10, 64, 290])
        column = DeviceColumn(offsets.ctypes.data, 3, "i8", owner=offsets)
        found = bitfold.segment_sum(cx, column, null="skip")
        self.same(found, bitfold.segment_sum(cx, offsets, null="skip"))

    def test_of_groups(self):
        keyed = ~(self.null["x"] | self.null["k"])
        for x, y, k in self.columns():
            found = bitfold.Groups("i64", [("sum", "f64")]).absorb(k, x, null="skip")
            expected = bitfold.Groups("i64", [("sum", "f64")])
            self.assertEqual(found, expected.absorb(self.keys[keyed], self.x[keyed]))
            found = bitfold.Groups("i64").absorb(k, null="skip")
            self.assertEqual(found, bitfold.Groups("i64").absorb(self.keys[~self.null["k"]]))
            two = bitfold.Groups("i64", [("sum", "f64"), ("max", "f64")])
            found = two.absorb(k, self.x, self.y, null="skip").result(1)
            rows = ~self.null["k"]
            self.same(found, bitfold.index_max(7, self.keys[rows], self.y[rows]))
            for values in ((x, self.y), (self.x, y)):
                with self.assertRaisesRegex(bitfold.ArgumentError, "are NULL"):
                    two.absorb(k, *values, null="skip")
        one = bitfold.Groups("i64", [("sum", "f64")])
        for arguments in ((self.keys, x), (k, self.x)):
            with self.assertRaisesRegex(bitfold.ArgumentError, "are NULL: null='skip' leaves them out"):
                one.absorb(*arguments)
        for groups, values in ((one, (self.x,)), (two, (self.x, self.y))):
            with self.assertRaisesRegex(bitfold.ArgumentError, "'error' or 'skip'"):
                groups.absorb(self.keys, *values, null="drop")
        pairs = np.zeros((300, 2), "u8")
        with self.assertRaisesRegex(bitfold.ArgumentError, "pairs"):
            bitfold.Groups("pair", [("sum", "f64")]).absorb(pairs, x, null="skip")

    def test_elements_of_every_dtype(self):
        pa, keep = self.pa, [0, 2, 3]
        for name in INTEGERS + ["float32", "float64"]:
            x = pa.array([5, None, 2, 7], getattr(pa, name)())
            self.same(bitfold.index_add(2, np.array([1, 0, 0, 1]), x, null="skip"), [2, 12])
        halves = pa.array(np.array([5, 1, 2, 7], "f2"), mask=np.array([False, True, False, False]))
        bools = pa.array([True, None, False, True])
        for x, expected in ((halves, [2, 12]), (bools, [0, 2])):
            self.same(bitfold.index_add(2, np.array([1, 0, 0, 1]), x, null="skip"), expected)
        flags = np.array([True, True, False, True])
        found = bitfold.index_add(2, pa.array([1, None, 0, 1]), flags, null="skip")
        self.same(found, np.bincount([1, 0, 1], flags[keep]))

    def test_what_has_no_rows_to_leave_out(self):
        pa = self.pa
        x = pa.array([1.0, None, 3.0, 4.0])
        for values in (np.ones(3), np.ones((4, 2)), np.ones(8)[::2]):
            with self.assertRaises(bitfold.ShapeError):
                bitfold.index_add(2, pa.array([0, None, 1, 1]), values, null="skip")
        for function in (bitfold.argsort, bitfold.rank, lambda x: bitfold.top(x, 2)):
            with self.assertRaisesRegex(bitfold.ArgumentError, "1 of 4 elements are NULL$"):
                function(x)
        for function in (bitfold.index_argmin, bitfold.index_argmax):
            with self.assertRaisesRegex(bitfold.ArgumentError, "positions"):
                function(2, np.array([0, 1, 0, 1]), x, null="skip")
        for op in ("argmin", "argmax"):
            with self.assertRaisesRegex(bitfold.ArgumentError, "positions"):
                bitfold.State(op, "f64").absorb(x, null="skip")
        found = bitfold.State("describe", "f64").absorb(x, null="skip").result()
        self.assertEqual((found.n, found.argmax), (3, 3))
        with self.assertRaisesRegex(bitfold.ArgumentError, "'error' or 'skip'"):
            bitfold.dot(x, x, null="keep")
        whole = pa.array([1.0, 2.0])  # nothing is copied where there are no NULLs
        view = views_of("skip", (whole, None), (whole, None))[1]
        self.assertEqual(view.array.data, whole.buffers()[1].address)
