"""Arrays by DLPack and the Arrow interfaces: of NumPy itself, and of pyarrow, Polars, pandas, DuckDB
and PyTorch where they are installed."""

import importlib
import math
import unittest

import numpy as np

import bitfold
from bitfold._arrays import View

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
        with self.assertRaisesRegex(bitfold.ArgumentError, "index"):
            bitfold.argmax(x, null="skip")
        with self.assertRaisesRegex(bitfold.ArgumentError, "'error' or 'skip'"):
            bitfold.sum(x, null="drop")
        with self.assertRaisesRegex(bitfold.ArgumentError, "'error' or 'skip'"):
            bitfold.sum(np.ones(3), null="drop")
        with self.assertRaisesRegex(bitfold.ArgumentError, "without an axis"):
            bitfold.sum(x, axis=0, null="skip")
        nan = pa.array([1.0, math.nan, None])
        self.assertTrue(math.isnan(bitfold.sum(nan, null="skip")))  # NaN is a value
        self.assertEqual(bitfold.sum(nan, null="skip", nan="skip"), 1.0)

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
            pa.array([1]).cast(pa.decimal128(30, 2)), pa.array([1], pa.date32()),
        ):  # fmt: skip
            with self.assertRaises(bitfold.DtypeError, msg=x.type):
                bitfold.sum(x)

    def test_polars(self):
        pl = library("polars")
        x = pl.Series(NUMBERS)
        self.assertEqual(bitfold.sum(x), 3.5)
        self.assertEqual(View(x).array.data, x.to_numpy(allow_copy=False).__array_interface__["data"][0])
        self.assertEqual(bitfold.sum(x[1:4]), 1e20)
        self.assertEqual(bitfold.sum(x.append(pl.Series([1.0]))), 4.5)
        self.assertEqual(bitfold.sum(pl.DataFrame({"x": [1, 2]})), 3)
        self.assertEqual(bitfold.sum(pl.Series([1, None, 3]), null="skip"), 4)
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
        self.assertEqual(bitfold.sum(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})), 10.0)
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(pd.Series(["a"]))

    def test_duckdb(self):
        duckdb = library("duckdb")
        numbers = duckdb.sql("select range::double x from range(5000)")
        self.assertEqual(bitfold.sum(numbers), 4999 * 5000 / 2)


if __name__ == "__main__":
    unittest.main()
