"""Arrays of strings as keys: of NumPy, and of pyarrow, Polars and pandas where they are installed, against
Python's own dict and sorted."""

import importlib
import io
import os
import random
import unittest

import numpy as np

import bitfold

CASES = int(os.environ.get("BITFOLD_CASES", 30))
WORDS = ["", "a", "b", "ab", "São Paulo", "東京", "x" * 12, "x" * 13, "y" * 300, "a\nb"]


def modules(*names):
    """Returns those of these modules that are installed, by name."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            pass
    return found


HAS = modules("pyarrow", "polars", "pandas")


def made(r, values):
    """Yields a label and an array of these values, some of which may be None, for each kind that there is."""
    whole = None not in values
    if whole:
        yield "U", np.array(values, f"U{max(map(len, values), default=1) or 1}")
        yield "S", np.array([x.encode() for x in values], f"S{max((len(x.encode()) for x in values), default=1) or 1}")
        if hasattr(np.dtypes if hasattr(np, "dtypes") else np, "StringDType"):
            yield "T", np.array(values, np.dtypes.StringDType())
    if any(values):
        yield "objects", np.array([*values, None], object)[:-1]
    if pa := HAS.get("pyarrow"):
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            yield str(kind), pa.array(values, kind)
            yield f"{kind}, a slice", pa.array(["q", None, *values, "q"], kind)[2:-1]
        cuts = sorted(r.randrange(len(values) + 1) for _ in range(3))
        parts = [values[a:b] for a, b in zip([0, *cuts], [*cuts, None])]
        yield "chunks", pa.chunked_array(parts, pa.string())
        yield "dictionary", pa.array(values, pa.string()).dictionary_encode()
        yield "chunks of dictionaries", pa.chunked_array([pa.array(p, pa.string()).dictionary_encode() for p in parts], pa.dictionary(pa.int32(), pa.string()))
        yield "two of one", pa.DictionaryArray.from_arrays(
            pa.array([None if x is None else 2 * WORDS.index(x) + r.randrange(2) for x in values], pa.int16()),
            pa.array([x for x in WORDS for _ in range(2)]),
        )
    if pl := HAS.get("polars"):
        yield "polars", pl.Series(values, dtype=pl.String)
        yield "categorical", pl.Series(values, dtype=pl.String).cast(pl.Categorical)
    if pd := HAS.get("pandas"):
        yield "pandas", pd.Series(values, dtype="str")
        yield "category", pd.Series(values, dtype=pd.CategoricalDtype(pd.Index(WORDS, dtype="str")))


def listed(x):
    """Returns an array of strings as a list of str."""
    return [each.decode() if isinstance(each, bytes) else each for each in x.tolist()]


class Strings(unittest.TestCase):
    def each(self, nulls):
        """Yields cases: values, and each array of them, with a message."""
        for case in range(CASES):
            r = random.Random(case)
            n = r.choice([0, 1, 2, 9, 200])
            values = [None if r.random() < nulls else r.choice(WORDS) for _ in range(n)]
            for label, x in made(r, values):
                yield values, x, f"case {case}, {label}"

    def test_unique(self):
        for values, x, message in self.each(0):
            found, counts = bitfold.unique(x)
            expected = sorted(set(values), key=str.encode)
            self.assertEqual(listed(found), expected, message)
            self.assertEqual(counts.tolist(), [values.count(each) for each in expected], message)
            if isinstance(x, np.ndarray):
                self.assertEqual(found.dtype.kind, x.dtype.kind, message)

    def test_nulls(self):
        for values, x, message in self.each(0.3):
            if None in values:
                with self.assertRaisesRegex(bitfold.ArgumentError, f"{values.count(None)} of {len(values)} "):
                    bitfold.unique(x)
            found, _ = bitfold.unique(x, null="skip")
            self.assertEqual(listed(found), sorted(set(values) - {None}, key=str.encode), message)
            numbers = np.arange(len(values))
            table = bitfold.group({"k": x, "n": numbers}, "k", n="sum")
            keys = sorted(set(values), key=lambda k: (k is None, (k or "").encode()))
            self.assertEqual(listed(table["k"]), keys, message)
            sums = [sum(i for i, v in enumerate(values) if v == k) for k in keys]
            self.assertEqual(table["n_sum"].tolist(), sums, message)

    def test_join(self):
        for case in range(CASES):
            r = random.Random(case)
            a, b = ([r.choice(WORDS) for _ in range(r.choice([0, 1, 7, 40]))] for _ in "ab")
            expected = [(i, j) for i, x in enumerate(a) for j, y in enumerate(b) if x == y]
            for (label, x), (_, y) in zip(made(r, a), made(r, b)):
                i, j = bitfold.join(x, y)
                self.assertEqual(list(zip(i.tolist(), j.tolist())), expected, f"case {case}, {label}")
        with self.assertRaises(bitfold.DtypeError):
            bitfold.join(np.array(["a"]), np.array([1]))
        with self.assertRaisesRegex(bitfold.ArgumentError, "NULL"):
            bitfold.join(np.array(["a", None], object), np.array(["a"]))

    def test_conditions(self):
        for values, x, message in self.each(0.2):
            data = {"k": x, "i": np.arange(len(values))}
            if "S" in message:
                continue
            found = bitfold.group(data, "i", where="k >= 'b' && i != 3", n="count")
            expected = [i for i, v in enumerate(values) if v is not None and v.encode() >= b"b" and i != 3]
            self.assertEqual(found["i"].tolist(), expected, message)


    def test_expressions(self):
        for values, x, message in self.each(0.2):
            if "S" in message:
                continue
            i = np.arange(len(values))
            found = bitfold.evaluate("i % 2 == 0 ? coalesce(k, 'none') : k", k=x, i=i)
            expected = [v if j % 2 or v is not None else "none" for j, v in enumerate(values)]
            self.assertEqual(found.tolist(), expected, message)
            same = bitfold.evaluate("k == 'a'", k=x)
            expected = [None if v is None else v == "a" for v in values]
            self.assertEqual((same.dtype, same.tolist()), ("bool", expected), message)
            if pa := HAS.get("pyarrow"):
                self.assertEqual(pa.array(found).to_pylist(), found.tolist(), message)
                self.assertEqual(pa.array(same).to_pylist(), same.tolist(), message)

    def test_expressions_of_numbers_that_give_strings(self):
        n = np.array([6, 4, 2])
        self.assertEqual(bitfold.evaluate("n > 3 ? 'many' : 'few'", n=n).tolist(), ["many", "many", "few"])
        self.assertEqual(bitfold.evaluate("'x'", n=n).tolist(), ["x"] * 3)
        self.assertEqual(bitfold.evaluate("k == 'a' ? t : t + 60", bitfold.read_csv(io.StringIO(
            "k,t\na,2026-11-28T09:30:00.25\nb,2026-11-28T09:30\n,\n"
        ))).to_numpy().astype(str).tolist(), ["2026-11-28T09:30:00.250", "2026-11-28T09:31:00.000", "NaT"])
        days = bitfold.read_csv(io.StringIO("k,d\na,1969-12-31\nb,2026-11-28\n"))
        self.assertEqual(bitfold.evaluate("k == 'a' ? d : d", days).tolist(), days["d"].tolist())

    def test_expressions_that_are_refused(self):
        s, n = np.array(["a", "b"]), np.array([1, 2, 3])
        for error, words, text, arrays in [
            (bitfold.ShapeError, "one dimension", "s", {"s": np.array([["a"]])}),
            (bitfold.ShapeError, "different lengths", "s == 'a' ? n : 0", {"s": s, "n": n}),
            (bitfold.ArgumentError, "no column has the name 'q'", "q", {"s": s}),
            (bitfold.ArgumentError, "no array", "'a'", {}),
            (bitfold.DtypeError, "no out takes", "s", {"s": s, "out": n}),
            (bitfold.ArgumentError, "overflow 'x'", "s", {"s": s, "overflow": "x"}),
        ]:
            with self.assertRaisesRegex(error, words):
                bitfold.evaluate(text, **arrays)
        with self.assertRaisesRegex(bitfold.DtypeError, "results are strings"):
            bitfold.reduce_expression("sum", "'a'", n=n)


class Dictionaries(unittest.TestCase):
    def test_numbers(self):
        for case in range(CASES):
            r, expected = random.Random(case), {}
            words = bitfold.Dictionary()
            self.assertEqual((len(words), words.keys()), (0, ()))
            for _ in range(3):
                n = r.randrange(1, 30)
                a, b = [r.choice(WORDS) for _ in range(n)], [r.randrange(3) for _ in range(n)]
                numbers = [expected.setdefault(key, len(expected)) for key in zip(a, b)]
                for _, x in made(r, a):
                    self.assertEqual(words.encode(x, np.array(b)).tolist(), numbers, case)
            first, second = words.keys()
            self.assertEqual(list(zip(listed(first), second.tolist())), list(expected), case)
            some = np.array([r.randrange(len(expected)) for _ in range(5)])
            first, second = words.keys(some)
            self.assertEqual(list(zip(listed(first), second.tolist())), [list(expected)[i] for i in some], case)

    def test_what_takes_numbers_takes_strings(self):
        words = bitfold.Dictionary()
        numbers = words.encode(np.array(["b", "a", "b"]))
        self.assertEqual(bitfold.bincount(numbers).tolist(), [2, 1])
        table = bitfold.Table("i64", "f64").insert(numbers, np.array([1.0, 2, 3]))
        self.assertEqual(table.find(words.encode(np.array(["a", "c"])))[1].tolist(), [True, False])

    def test_columns_of_other_kinds_are_refused(self):
        words = bitfold.Dictionary()
        words.encode(np.array(["a"]), np.array([1]))
        for columns in ([np.array([1]), np.array([1])], [np.array(["a"])], [np.array(["a"]), np.array([1.5])]):
            with self.assertRaises(bitfold.DtypeError):
                words.encode(*columns)
        with self.assertRaises(bitfold.ShapeError):
            words.encode(np.array(["a"]), np.array([1, 2]))
        with self.assertRaises(bitfold.ShapeError):
            words.encode()

    def test_times_and_decimals(self):
        text = "d,t,x\n2026-11-28,2026-11-28T09:30:00.5,1.50\n,,\n2026-11-28,2026-11-28T09:30:00.5,1.5\n"
        table = bitfold.read_csv(io.StringIO(text))
        words = bitfold.Dictionary()
        self.assertEqual(words.encode(*table.columns()).tolist(), [0, 1, 0])
        for found, column in zip(words.keys(), table.columns()):
            self.assertEqual(found.tolist(), column.tolist()[:2])
            self.assertEqual((found.dtype, found.scale), (column.dtype, column.scale))
