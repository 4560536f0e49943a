"""read_csv and group against Python's own csv, decimal and fractions, and against the command.
Builds: release, asan (full)."""

import collections
import csv
import datetime
import gc
import gzip
import importlib.util
import io
import math
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from decimal import Decimal
from fractions import Fraction
from unittest import mock

import numpy as np

import bitfold
from bitfold import _result

CASES = int(os.environ.get("BITFOLD_CASES", 30))
# The command itself, where it is at hand: the module, which runs it, takes 50 times as long to start.
COMMAND = [os.environ["BITFOLD"]] if "BITFOLD" in os.environ else [sys.executable, "-m", "bitfold"]
WORDS = ["Rome", "Oslo", "São Paulo", "a,b", 'say "x"', "two\nlines", "x" * 40, " b", "東京", "tiny"]
OPERATIONS = "sum", "mean", "var", "min", "max", "median", "count", "first", "last", "mode", "distinct"
CHOSEN = "count", "first", "last", "mode", "distinct"  # strings and times have them


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


# ---- random tables --------------------------------------------------------------------------------


def _decimal(r):
    return Decimal(r.randrange(-(10**9), 10**9)).scaleb(-r.randrange(1, 5))


def _day(r):
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=r.randrange(-300000, 300000))


def _moment(r):
    day = datetime.datetime.combine(_day(r), datetime.time())
    return day + datetime.timedelta(milliseconds=r.randrange(86400000))


# What makes a value of a kind, and how it is written.
KINDS = {
    "few": (lambda r: r.randrange(-3, 4), str),
    "i64": (lambda r: r.randrange(-(2**63), 2**63), str),
    "i128": (lambda r: r.randrange(-(10**30), 10**30), str),
    "decimal": (_decimal, lambda x: format(x, "f")),
    "f64": (lambda r: r.choice([r.gauss(0, 1) * 10.0 ** r.randrange(-20, 20), 1e300, -0.0]), repr),
    "string": (lambda r: r.choice(WORDS), str),
    "code": (lambda r: "%03d" % r.randrange(12), str),
    "date": (_day, datetime.date.isoformat),
    "time": (_moment, lambda x: x.isoformat(timespec="milliseconds")),
}
KEYS = "few", "i64", "decimal", "string", "code", "date", "time"
NUMBERS = "few", "i64", "i128", "decimal", "f64"
VALUES = *NUMBERS, "string", "date", "time"


def _column(r, kind, n, nulls):
    make, _ = KINDS[kind]
    column = [None if r.random() < nulls else make(r) for _ in range(n)]
    if kind == "f64" and n:  # what tells it from a column of decimals
        column[r.randrange(n)] = 1e300
    if kind == "code" and n:
        column[r.randrange(n)] = "007"
    return column


class Made:
    """A random table: its columns by name, and their text."""

    def __init__(self, r, n):
        self.kinds = {"id": "few"}
        for i in range(r.randrange(1, 7)):
            self.kinds[r.choice(["", "a b", "ü"]) + f"c{i}"] = r.choice(list(KINDS))
        self.columns = {
            name: _column(r, kind, n, r.choice([0, 0.3])) for name, kind in self.kinds.items()
        }
        self.columns["id"] = list(range(n))
        self.n, text = n, io.StringIO()
        writer = csv.writer(text, delimiter=r.choice(",;\t"), lineterminator=r.choice(["\n", "\r\n"]))
        writer.writerow(self.columns)
        for row in zip(*self.columns.values()):
            writer.writerow([
                "" if x is None else KINDS[kind][1](x) for x, kind in zip(row, self.kinds.values())
            ])
        self.text = text.getvalue()


def _same(a, b):
    """Whether two values are the same, -0 and 0 being two of floats, and NaN one."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)
    return a == b


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, text, name="x.csv"):
        path = os.path.join(self.folder, name)
        with open(path, "w", newline="", encoding="utf-8") as f:
            f.write(text)
        return path

    def check(self, found, expected, message):
        self.assertEqual(len(found), len(expected), message)
        for i, (a, b) in enumerate(zip(found, expected)):
            self.assertTrue(_same(a, b), f"{message}: row {i} is {a!r}, not {b!r}")


# ---- reading --------------------------------------------------------------------------------------


class Reading(Tables):
    def test_random_tables(self):
        for case in range(CASES):
            r = random.Random(case)
            made = Made(r, r.choice([0, 1, 2, 7, 300, 5000]))
            path, threads = self.path(made.text), r.choice([1, 2, 5])
            table = bitfold.read_csv(path, threads=threads)
            self.assertEqual(list(table), list(made.columns), case)
            self.assertEqual(table.rows, made.n, case)
            for name, column in made.columns.items():
                message = f"case {case}, {made.kinds[name]} {name!r}"
                self.check(table[name].tolist(), column, message)
                self.assertEqual(table[name].nulls, column.count(None), message)
            wanted = r.sample(list(made.columns), r.randrange(1, len(made.columns) + 1))
            bound = r.randrange(-1, made.n + 1)
            some = bitfold.read_csv(path, wanted, f"id > {bound}")
            self.assertEqual(list(some), wanted, case)
            for name in wanted:
                self.check(some[name].tolist(), made.columns[name][bound + 1 :], f"{case} {name!r}")

    def test_a_column_that_turns_out_to_be_another_is_read_anew(self):
        for last, dtype in [("x", "string"), ("1.25", "i64"), ("1e300", "f64"), (str(10**30), "i128")]:
            path = self.path("a,b\n" + "".join(f"{i},1\n" for i in range(300000)) + f"{last},2\n")
            column = bitfold.read_csv(path, threads=2)["a"]
            self.assertEqual(column.dtype, dtype)
            self.assertEqual(str(column[-1]), last if last != "1e300" else "1e+300")
            self.assertEqual([str(x) for x in column[:3]][1][:1], "1")
            self.assertEqual(len(column), 300001)

    def test_sources(self):
        text = "city,price\nRome,1.5\nOslo,20\n"
        path = self.path(text)
        packed = path + ".gz"
        with gzip.open(packed, "wt") as f:
            f.write(text)
        opened = open(path, "rb")
        self.addCleanup(opened.close)
        for source in (path, path.encode(), packed, opened, io.StringIO(text), io.BytesIO(text.encode())):
            self.assertEqual(bitfold.read_csv(source)["city"].tolist(), ["Rome", "Oslo"], source)
        several = bitfold.read_csv([path, packed])
        self.assertEqual(several["price"].tolist(), [Decimal("1.5"), 20, Decimal("1.5"), 20])
        ends = os.pipe()
        writer = threading.Thread(target=lambda: os.write(ends[1], text.encode()) and os.close(ends[1]))
        writer.start()
        with os.fdopen(ends[0], "rb") as pipe:
            self.assertEqual(bitfold.read_csv(pipe)["price"].tolist(), [Decimal("1.5"), 20])
        writer.join()
        lines = self.path('{"a":1,"b":"x"}\n{"a":null,"b":"y"}\n', "x.jsonl")
        self.assertEqual(bitfold.read_csv(lines).to_dict(), {"a": [1, None], "b": ["x", "y"]})

    def test_options(self):
        read = lambda given, **options: bitfold.read_csv(io.StringIO(given), **options).to_dict()
        self.assertEqual(read("1;2\n3;4\n", header=False), {"1": [1, 3], "2": [2, 4]})
        self.assertEqual(read("a;b\n3;4\n", header=False), {"1": ["a", "3"], "2": ["b", "4"]})
        self.assertEqual(read("1,2\n3,4\n", header=True), {"1": [3], "2": [4]})
        self.assertEqual(read("a,b\nNA,1\n-,2\n", null=["NA", "-"]), {"a": [None, None], "b": [1, 2]})
        self.assertEqual(read("a,b\n1.10,1\n", text="a"), {"a": ["1.10"], "b": [1]})
        self.assertEqual(read("a,b\n007,1\n", number=["a"]), {"a": [7], "b": [1]})
        self.assertEqual(read("no\na|b\n#\n1|2\n", delimiter="|", comment="#", skip_lines=1), {"a": [1], "b": [2]})
        self.assertEqual(read("a;b\n1.000,5;2\n", thousands=".", decimal=","), {"a": [Decimal("1000.5")], "b": [2]})
        self.assertEqual(read("a,b\n1\n2,3\n", lax=True), {"a": [1, 2], "b": [None, 3]})
        self.assertEqual(read("a,b\n1,2\n", columns=[2, "a"]), {"b": [2], "a": [1]})
        self.assertEqual(read("a`b,c,d\n1,2,3\n", columns=["a`b", "c"]), {"a`b": [1], "c": [2]})
        latin = bitfold.read_csv(io.BytesIO("a,b\nü,1\n".encode("latin-1")), encoding="latin-1")
        self.assertEqual(latin["a"].tolist(), ["ü"])
        other = bitfold.read_csv(io.BytesIO("a,b\nü,1\n".encode("latin-1")))["a"]
        self.assertEqual((other.dtype, other.tolist()), ("binary", ["ü".encode("latin-1")]))

    def test_what_is_refused(self):
        path = self.path("a,b\n1,2\n3\n")
        for error, words, source, options in [
            (bitfold.FileError, "cannot open", self.folder + "/none", {}),
            (bitfold.ArgumentError, "x.csv:3: no column 2", path, {}),
            (bitfold.ArgumentError, "no column is named 'c'", path, {"columns": ["c"]}),
            (bitfold.ArgumentError, "--where: character 4", path, {"where": "a >"}),
            (bitfold.ArgumentError, "--delimiter", path, {"delimiter": "xx"}),
            (bitfold.ArgumentError, "zero byte", "a\0b", {}),
            (bitfold.ArgumentError, "more than one column", io.StringIO("a,a\n1,2\n"), {"columns": "a"}),
        ]:
            with self.assertRaisesRegex(error, words):
                bitfold.read_csv(source, **options)
        with self.assertRaisesRegex(bitfold.ArgumentError, "2 columns are named 'a'"):
            bitfold.read_csv(io.StringIO("a,a\n1,2\n"))["a"]

    def test_nothing_is_said_and_no_signal_is_taken(self):
        program = (
            "import bitfold, signal, sys\n"
            "try: bitfold.read_csv('/nonexistent')\n"
            "except OSError: pass\n"
            "assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL\n"
            "assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_threads_and_memory(self):
        path, failures = self.path("a,b\n" + "1,x\n" * 1000), []

        def read():
            for _ in range(20):
                if bitfold.sum(bitfold.read_csv(path)["a"]) != 1000:
                    failures.append(1)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failures, [])

    def test_columns_of_numpy(self):
        table = bitfold.read_csv(io.StringIO("i,f,d,s,t\n1,1e300,1.5,x,2026-11-28T09:30\n2,nan,2,,2026-11-28T10:00\n"))
        i = table["i"].to_numpy()
        self.assertEqual((i.dtype, i.flags.owndata, i.flags.writeable), (np.int64, False, False))
        self.assertEqual(i.__array_interface__["data"][0], np.asarray(table["i"]).__array_interface__["data"][0])
        self.assertEqual(table["f"].to_numpy()[0], 1e300)
        self.assertEqual(table["d"].to_numpy().tolist(), [Decimal("1.5"), Decimal(2)])
        self.assertEqual(np.asarray(table["s"]).tolist(), ["x", None])
        self.assertEqual(table["t"].to_numpy().dtype, np.dtype("M8[s]"))
        self.assertEqual(bitfold.max(table["t"]), np.datetime64("2026-11-28T10:00"))
        times = bitfold.read_csv(io.StringIO("d,t\n1969-12-31,2026-11-28T09:30:00.25Z\n,\n"))
        self.assertEqual(times["d"].to_numpy().astype(str).tolist(), ["1969-12-31", "NaT"])
        self.assertEqual(times["t"].to_numpy().astype(str).tolist(), ["2026-11-28T09:30:00.250", "NaT"])
        del table
        gc.collect()
        self.assertEqual(i.tolist(), [1, 2])  # it keeps the memory


class ForOthers(Tables):
    """What others make of columns."""

    def test_pyarrow(self):
        pa = library("pyarrow")
        for case in range(CASES):
            r = random.Random(case)
            made = Made(r, r.choice([0, 1, 9, 300]))
            table = bitfold.read_csv(io.StringIO(made.text))
            for found in (pa.table(table), pa.record_batch(table)):
                found.validate(full=True)
                self.assertEqual(found.schema.names, list(made.columns), case)
                for i, (name, column) in enumerate(made.columns.items()):
                    self.check(found.column(i).to_pylist(), column, f"{case} {name}")
            for each in table.columns():
                self.check(pa.array(each).to_pylist(), made.columns[each.name], f"{case} {each.name}")

    def test_memory_lives_as_long_as_it_is_used(self):
        pa = library("pyarrow")
        before = len(_result._held)
        found = pa.table(bitfold.read_csv(io.StringIO("a,b\n1.5,x\n2,y\n")))
        gc.collect()
        self.assertEqual(found.to_pydict(), {"a": [Decimal("1.5"), Decimal(2)], "b": ["x", "y"]})
        with self.assertRaises(ZeroDivisionError):
            held = found.column(0)
            del found
            1 // (len(held) - 2)
        del held
        gc.collect()
        _result._sweep()
        self.assertEqual(len(_result._held), before)

    def test_polars_pandas_and_duckdb(self):
        rows = bitfold.read_csv(io.StringIO("i,s,d,t\n1,x,2026-11-28,2026-11-28T09:30Z\n2,,2026-11-29,\n"))
        for name in ("polars", "pandas", "duckdb"):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            if name == "polars":
                self.assertEqual(module.DataFrame(rows)["s"].to_list(), ["x", None])
            elif name == "duckdb":
                self.assertEqual(module.sql("select sum(i) from rows").fetchall(), [(3,)])
            elif hasattr(module.DataFrame, "from_arrow"):
                self.assertEqual(module.DataFrame.from_arrow(rows)["i"].sum(), 3)


# ---- groups ---------------------------------------------------------------------------------------


def _order(key):
    """Puts keys in order: strings by their bytes, NULLs last."""
    return [(x is None, x.encode() if isinstance(x, str) else 0 if x is None else x) for x in key]


def _signed(x):
    return x, math.copysign(1, x)


def _rounded(exact, values=()):
    """A sum or a mean of values as a float: -0 of nothing but -0."""
    if values and all(isinstance(x, float) and _signed(x) == (0, -1) for x in values):
        return -0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _variance(exact):
    mean = sum(exact) / len(exact)
    return _rounded(sum((x - mean) ** 2 for x in exact) / len(exact))


def _median(values):
    """The mean of the two in the middle, rounded once, or the one that is there."""
    values = sorted(values, key=_signed)
    pair = values[(len(values) - 1) // 2], values[len(values) // 2]
    return _rounded((Fraction(pair[0]) + Fraction(pair[1])) / 2, pair)


def _reduced(op, values):
    """What an operation makes of values, none of which is NULL."""
    if op == "count":
        return len(values)
    if op == "distinct":
        return len(set(values))
    if not values:
        return None
    if op in ("first", "last"):
        return values[0 if op == "first" else -1]
    if op == "mode":
        counts = collections.Counter(values)
        found = min((x for x in counts if counts[x] == max(counts.values())), key=lambda x: _order([x]))
        return found + 0.0 if isinstance(found, float) else found
    if op in ("min", "max") and not isinstance(values[0], float):
        return (min if op == "min" else max)(values)
    exact = [Fraction(x) for x in values]
    if op == "sum":
        total = sum(exact)
        return _rounded(total, values) if isinstance(values[0], float) else total
    if op == "mean":
        return _rounded(sum(exact) / len(exact), values)
    if op == "var":
        return _variance(exact)
    if op == "median":
        return _median(values)
    return (min if op == "min" else max)(values, key=_signed)


def grouped(columns, by, asked, rows):
    """Groups as dict of lists: asked are pairs of an operation and a column."""
    groups = {}
    for i in rows:
        groups.setdefault(tuple(columns[name][i] for name in by), []).append(i)
    keys = sorted(groups, key=_order)
    found = {name: [key[k] for key in keys] for k, name in enumerate(by)}
    for op, name in asked:
        found[f"{name}_{op}"] = [
            _reduced(op, [columns[name][i] for i in groups[key] if columns[name][i] is not None])
            for key in keys
        ]
    return found


class Grouping(Tables):
    def make(self, r, n, values=NUMBERS):
        kinds = {"a": r.choice(KEYS), "b": r.choice(KEYS), "x": r.choice(values), "y": r.choice(values)}
        columns = {name: _column(r, kind, n, r.choice([0, 0.2])) for name, kind in kinds.items()}
        for name in "ab":  # few keys, so that they have several rows
            few = columns[name][:5]
            columns[name] = [r.choice(few) if i >= 5 else x for i, x in enumerate(columns[name])]
        columns["id"] = list(range(n))
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        kinds["id"] = "few"
        for row in zip(*columns.values()):
            writer.writerow(["" if x is None else KINDS[k][1](x) for x, k in zip(row, kinds.values())])
        return columns, text.getvalue()

    def same(self, found, expected, message):
        self.assertEqual(list(found), list(expected), message)
        for name in expected:
            self.check(found[name], expected[name], f"{message}, {name}")

    def test_random_tables(self):
        for case in range(CASES):
            r = random.Random(case)
            columns, text = self.make(r, r.choice([0, 1, 5, 40, 2000]), VALUES)
            n, table = len(columns["id"]), bitfold.read_csv(path := self.path(text))
            fit = {"string": CHOSEN, "date": ("min", "max", *CHOSEN), "time": ("min", "max", *CHOSEN)}
            by = r.choice([["a"], ["b", "a"]])
            asked = [(op, name) for name in "xy" for op in r.sample(fit.get(table[name].dtype, OPERATIONS), 3)]
            options = {name: tuple(op for op, of in asked if of == name) for name in "xy"}
            bound = r.randrange(-1, n + 1)
            where = f"id > {bound}"
            message = f"case {case} by {by}"
            expected = grouped(columns, by, asked, range(n))
            self.same(bitfold.group(path, by, null="skip", **options).to_dict(), expected, message)
            self.same(bitfold.group(table, by, null="skip", **options).to_dict(), expected, message)
            some = grouped(columns, by, asked, range(bound + 1, n))
            self.same(bitfold.group(path, by, where=where, null="skip", **options).to_dict(), some, message)
            self.same(bitfold.group(table, by, where=where, null="skip", **options).to_dict(), some, message)

    def in_pieces(self, r, text):
        """Returns several files with the same rows, each of which is absorbed by itself."""
        header, *rows = csv.reader(io.StringIO(text))
        places = sorted(r.randrange(len(rows) + 1) for _ in range(r.randrange(4)))
        paths = []
        for i, (first, end) in enumerate(zip([0, *places], [*places, len(rows)])):
            part = io.StringIO()
            csv.writer(part).writerows([header, *rows[first:end]])
            paths.append(self.path(part.getvalue(), f"part{i}.csv"))
        return paths

    def outcome(self, data, by, **options):
        """Columns as lists, or what is raised."""
        try:
            return bitfold.group(data, by, **options).to_dict()
        except bitfold.Error as error:
            return type(error), str(error).split("null=")[0]

    def test_files_in_pieces_give_what_columns_in_memory_give(self):
        refused, met = 0, {"error": 0, "skip": 0}
        for case in range(3 * CASES):
            r = random.Random(case)
            columns, text = self.make(r, r.choice([1, 5, 40, 300]), VALUES)
            table = bitfold.read_csv(self.path(text))
            by, options = r.choice([["a"], ["b", "a"], ["a", "b", "y"]]), {"null": r.choice(["error", "skip"])}
            for name in "xy":
                strings, times = table[name].dtype == "string", "time" in table[name].dtype or table[name].dtype == "date"
                ops = ("count",) if strings else ("count", "min", "max") if times else ("count", "sum", "mean", "std", "min", "share")
                options[name] = r.choice(["count", tuple(r.sample(ops, r.randrange(1, len(ops) + 1)))])
            options["n"] = "count"
            where = r.choice([None, f"id > {r.randrange(len(columns['id']))}", "!isnull(x) && !isnull(y)", "id < 0"])
            expected = self.outcome(table, by, where=where, **options)
            with mock.patch.multiple(bitfold._grouping, _LEAST=1, _PER_GROUP=r.choice([0, 1])):
                found = self.outcome(self.in_pieces(r, text), by, where=where, **options)
            message = f"case {case}: by {by}, where {where}, {options}"
            if isinstance(expected, tuple):
                self.assertEqual(found, expected, message)
                refused += 1
            else:
                self.same(found, expected, message)
                met[options["null"]] += 1
        self.assertTrue(refused and all(met.values()))

    def test_a_count_of_a_column_is_of_its_values(self):
        text = "k,price,count\na,1,\na,,2\nb,,\nb,,5\n"
        for data in bitfold.read_csv(self.path(text)), self.path(text), [self.path(text)], open(self.path(text), "rb"):
            found = bitfold.group(data, "k", price="count", n="count", m=("price", "count"), k="count")
            expected = {"k": ["a", "b"], "price_count": [1, 0], "n": [2, 2], "m": [1, 0], "k_count": [2, 2]}
            self.assertEqual(found.to_dict(), expected)
            getattr(data, "close", str)()
        for data in bitfold.read_csv(self.path(text)), self.path(text):
            self.assertEqual(bitfold.group(data, "k").to_dict(), {"k": ["a", "b"], "count": [2, 2]})
            self.assertEqual(bitfold.group(data, "k", count="count").to_dict(), {"k": ["a", "b"], "count_count": [1, 1]})
            found = bitfold.group(data, "k", where="price > 0", price=("count", "sum"))
            self.assertEqual(found.to_dict(), {"k": ["a"], "price_count": [1], "price_sum": [1]})
            with self.assertRaisesRegex(bitfold.ArgumentError, "some elements are NULL"):
                bitfold.group(data, "k", price=("count", "sum"))

    def late(self, n, last):
        """Many rows of a few keys, and a last one that is something else. Returns what their text is, and their groups."""
        rows = [(str(i % 7), str(i % 1000)) for i in range(n)] + [last]
        text = "k,x\n" + "".join(",".join(row) + "\n" for row in rows)
        kind = str if any(k not in "0123456" for k, _ in rows) else lambda k: int(k) if k else None
        columns = {"k": [kind(k) for k, _ in rows], "x": [Decimal(x) if x else None for _, x in rows]}
        return text, grouped(columns, ["k"], [(op, "x") for op in ("sum", "max", "count")], range(n + 1))

    def test_a_late_row_that_changes_what_was_taken(self):
        for last in ("1", "1"), ("1", "0.5"), ("1", ""), ("", "1"), ("z", "1"), ("", ""):
            text, expected = self.late(100_000, last)
            absorb = bitfold._grouping._Grouped.absorb
            with open(self.path(text), "rb") as file:
                for data in file.name, file, io.BytesIO(text.encode()):
                    with mock.patch.object(bitfold._grouping._Grouped, "absorb", autospec=True, side_effect=absorb) as calls:
                        found = bitfold.group(data, "k", x=("sum", "max", "count"), null="skip")
                    self.assertGreater(calls.call_count, 1)
                    self.same(found.to_dict(), expected, f"{last}, {type(data)}")
            if last[1] == "":
                with self.assertRaisesRegex(bitfold.ArgumentError, "'x': some elements are NULL"):
                    bitfold.group(self.path(text), "k", x="sum")

    def test_a_late_row_of_a_pipe(self):
        for last in ("1", "0.5"), ("", ""):
            text, expected = self.late(100_000, last)
            reading, writing = os.pipe()

            def write(descriptor=writing, text=text):
                with os.fdopen(descriptor, "w") as pipe:
                    pipe.write(text)

            thread = threading.Thread(target=write)
            thread.start()
            with os.fdopen(reading, "rb") as file:
                found = bitfold.group(file, "k", x=("sum", "max", "count"), null="skip")
            thread.join()
            self.same(found.to_dict(), expected, last)

    def test_memory_grows_with_groups_and_not_with_rows(self):
        rows = 2_000_000
        path = self.path("k,x\n" + "".join(f"{i % 100},{i}\n" for i in range(rows)))
        code = """
            import bitfold, resource, sys
            peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
            before = peak()
            found = bitfold.group(sys.argv[1], "k", x=("sum", "max"))
            print(peak() - before, sum(found["x_sum"]))
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), path], capture_output=True, text=True, check=True)
        grown, total = map(int, done.stdout.split())
        self.assertEqual(total, rows * (rows - 1) // 2)
        self.assertLess(grown, rows * 16 // 2)  # half of the two columns

    def test_an_error_among_the_rows_ends_the_reading(self):
        path = self.path("k,x\n" + "1,2\n" * 200_000)
        with mock.patch.object(bitfold._grouping._Part, "absorb", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, bitfold.group, path, "k", x="sum")
        self.assertEqual(bitfold.group(path, "k", x="sum").to_dict(), {"k": [1], "x_sum": [400_000]})

    def test_it_is_what_the_command_says(self):
        for case in range(CASES):
            r = random.Random(case)
            columns, text = self.make(r, 500)
            path, options = self.path(text), ["--null-policy", "skip", "--csv"]
            ops = [
                "--sum=x=s", "--mean=x=m", "--std=y=d", "--min=y=l", "--max=x=g", "--median=y=e", "--share=y=h",
                "--quantile=5:x=q", "--first=x=f", "--last=y=z", "--mode=y=o", "--distinct=x=u", "--count",
            ]  # fmt: skip
            command = [*COMMAND, "group", "--by", "b,a", *ops, *options, path]
            done = subprocess.run(command, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            header, *lines = csv.reader(io.StringIO(done.stdout.decode()))
            found = bitfold.group(
                path, ["b", "a"], null="skip", s=("x", "sum"), m=("mean", "x"), d=("y", "std"),
                l=("y", "min"), g=("x", "max"), e=("y", "median"), h=("y", "share"), q=("x", "quantile", 0.05),
                f=("x", "first"), z=("y", "last"), o=("y", "mode"), u=("x", "distinct"), count="count",
            )  # fmt: skip
            self.assertEqual(header, list(found), case)
            for name, theirs in zip(found, zip(*lines)):
                for ours, text in zip(found[name].tolist(), theirs):
                    same = _is_written(ours, text)
                    self.assertTrue(same, f"case {case}, {name}: {ours!r}, not {text!r}")
            self.assertEqual(len(lines), found.rows, case)

    def test_quantiles_and_shares(self):
        table = {"k": np.array([2, 1, 2, 2]), "x": np.array([5.0, 3, 9, 3])}
        found = bitfold.group(table, "k", x=("quantile", 0.25, 1, "share"), half=("x", "quantile", 0.5))
        self.assertEqual(found.to_dict(), {
            "k": [1, 2], "x_quantile_0.25": [3.0, 4.0], "x_quantile_1.0": [3.0, 9.0], "x_share": [0.15, 0.85],
            "half": [3.0, 5.0],
        })  # fmt: skip

    def test_every_dtype(self):
        for dtype in "?", *"i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split():
            x = np.array([1, 0, 1, 1, 0], dtype)
            found = bitfold.group({"k": x, "x": x[::-1]}, "k", x=("min", "max", "first", "last", "mode", "distinct"))
            zero, one = x[1].item(), x[0].item()
            expected = {
                "k": [zero, one], "x_min": [one, zero], "x_max": [one, one], "x_first": [one, zero],
                "x_last": [one, zero], "x_mode": [one, zero], "x_distinct": [1, 2],
            }  # fmt: skip
            self.assertEqual(found.to_dict(), expected, dtype)
            for name in ("pyarrow", "polars"):
                try:
                    module = importlib.import_module(name)
                except ImportError:
                    continue
                shown = module.table(found).to_pydict() if name == "pyarrow" else module.DataFrame(found).to_dict(as_series=False)
                self.assertEqual(shown, expected, f"{name}, {dtype}")

    def test_medians_of_times(self):
        text = "t,k\n1794-01-01T00:00:00.000001,a\n1794-01-01T00:00:00.000004,a\n1794-03-01T00:00:00.000005,b\n"
        found = bitfold.group(self.path(text), "k", m=("t", "median"), x=("t", "max"))
        self.assertEqual([str(each)[-6:] for each in found["m"].tolist()], ["000002", "000005"])
        self.assertEqual((found["m"].dtype, found["x"].dtype), ("time", "time"))
        with self.assertRaisesRegex(bitfold.DtypeError, "between two dates"):
            bitfold.group(self.path("t,k\n2026-01-01,a\n"), "k", t="median")

    def test_data_of_others(self):
        arrays = {"k": np.array(["b", "a", "b"]), "x": np.array([1, 2, 4], "i2")}
        expected = {"k": ["a", "b"], "x_sum": [2, 5], "n": [1, 2]}
        made = [arrays, {"k": arrays["k"].astype("S"), "x": arrays["x"]}]
        found = [bitfold.group(each, "k", x="sum", n="count").to_dict() for each in made]
        for each in found:
            self.assertEqual(each, expected)
        for name in ("pandas", "polars"):
            try:
                frame = importlib.import_module(name).DataFrame(arrays)
            except ImportError:
                continue
            self.assertEqual(bitfold.group(frame, "k", x="sum", n="count").to_dict(), expected, name)
            self.assertEqual(bitfold.group(frame, ["k"], where="x > 1", n="count").to_dict(), {"k": ["a", "b"], "n": [1, 1]})

    def test_frames_of_pandas(self):
        pd = library("pandas")
        frame = pd.DataFrame({
            "k": [1, 2, 1, 2], "s": ["b", None, "a", "b"], "c": pd.Categorical(["x", None, "y", "x"]),
            "i": pd.array([4, None, 3, 4], "Int64"), "b": pd.array([True, None, False, True], "boolean"),
            "t": pd.to_datetime(["2026-01-02", None, "2026-01-01", "2026-01-02"]), "f": np.array([1, 2, 3, 4], "f4"),
        })  # fmt: skip
        for name, values in [
            ("s", ["b", None, "a", "b"]), ("c", ["x", None, "y", "x"]), ("i", [4, None, 3, 4]),
            ("b", [True, None, False, True]), ("t", ["2026-01-02", None, "2026-01-01", "2026-01-02"]), ("f", [1, 2, 3, 4]),
        ]:
            by = bitfold.group(frame, name)
            order = sorted(set(values), key=lambda x: (x is None, x or 0))
            self.assertEqual(by["count"].tolist(), [values.count(x) for x in order], name)
            found = bitfold.group(frame, "k", null="skip", **{name: ("first", "last", "mode", "distinct", "count")})
            rows = [[values[i] for i in at if values[i] is not None] for at in ((0, 2), (1, 3))]
            for op, take in [("first", lambda x: x[0]), ("last", lambda x: x[-1]), ("mode", min), ("distinct", len), ("count", len)]:
                given = found[f"{name}_{op}"].tolist()
                if name == "t" and op not in ("distinct", "count"):
                    given = [str(x)[:10] for x in given]
                self.assertEqual(given, [take(x) for x in rows], f"{name} {op}")

    def test_conditions_on_times(self):
        text = "k,d,t\n1,1969-12-31,2026-11-28T09:30:00.5Z\n2,,\n3,2026-11-28,2026-11-28T11:00Z\n"
        table = bitfold.read_csv(io.StringIO(text))
        for where, expected in [
            ('d < "1970-01-01"', [1]), ('d >= "1970-01-01"', [3]), ("year(d) == 2026", [3]),
            ('t > "2026-11-28T10:00Z"', [3]), ("hour(t) == 9", [1]), ("isnull(d)", [2]),
        ]:
            for data in (table, io.StringIO(text)):
                self.assertEqual(bitfold.group(data, "k", where=where)["k"].tolist(), expected, where)

    def test_strides(self):
        block = np.arange(40).reshape(10, 4)
        columns = {"k": block[:, 0] % 3, "j": block[:, 1][::-1], "x": block[:, 2]}
        lists = {name: column.tolist() for name, column in columns.items()}
        for by in (["k"], ["j", "k"]):
            for bound in (-1, 20):
                rows = [i for i, x in enumerate(lists["x"]) if x > bound]
                expected = grouped(lists, by, [("sum", "x")], rows)
                found = bitfold.group(columns, by, where=f"x > {bound}", x="sum")
                self.same(found.to_dict(), expected, f"{by} {bound}")
        with self.assertRaises(bitfold.ShapeError):
            bitfold.group({"k": block[:, 0], "x": block}, "k", x="sum")

    def test_narrow_dtypes(self):
        for kind in ("?", "i1", "i2", "i4", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
            x = np.array([1, 0, 1, 0], kind)
            found = bitfold.group({"k": x, "x": x}, "k", x=("min", "count"))
            least, greatest = x[1].item(), x[0].item()
            self.assertEqual(found.to_dict(), {"k": [least, greatest], "x_min": [least, greatest], "x_count": [2, 2]}, kind)
            self.assertEqual(type(found["x_min"][0]), type(least), kind)
            self.assertEqual(found["k"].to_numpy().dtype, kind)
            if importlib.util.find_spec("pyarrow"):
                pa = importlib.import_module("pyarrow")
                table = pa.table(found)
                table.validate(full=True)
                self.assertEqual(table["k"].to_pylist(), [least, greatest], kind)
                self.assertEqual(table["k"].type, pa.from_numpy_dtype("f4" if kind == "f2" else kind))

    def test_times_of_numpy(self):
        days = np.array(["2026-11-28", "1969-12-31", "2026-11-28"], "M8[D]")
        for unit in ("D", "s", "ms", "ns"):
            found = bitfold.group({"t": days.astype(f"M8[{unit}]")}, "t")
            expected = [datetime.datetime(1969, 12, 31), datetime.datetime(2026, 11, 28)]
            self.assertEqual(found["t"].to_numpy().astype("M8[s]").tolist(), expected, unit)
            self.assertEqual(found["count"].tolist(), [1, 2])

    def test_times_that_are_nat(self):
        times = np.array(["2026-11-28", "NaT", "1969-12-31", "NaT"], "M8[D]")
        keys = np.array([1, 2, 1, 1])
        for unit in ("D", "s", "us"):
            table = {"k": keys, "t": times.astype(f"M8[{unit}]")}
            found = bitfold.group(table, "t")
            self.assertEqual(found["t"].to_numpy().astype("M8[D]").tolist(), sorted(times.tolist()[::2]) + [None], unit)
            self.assertEqual(found["count"].tolist(), [1, 1, 2], unit)
            found = bitfold.group(table, "k", t=("min", "last", "distinct", "count"), null="skip")
            for op in ("min", "last"):
                self.assertEqual(found[f"t_{op}"].to_numpy().astype("M8[D]").tolist(), [times[2].item(), None], unit)
            self.assertEqual((found["t_distinct"].tolist(), found["t_count"].tolist()), ([2, 0], [2, 0]), unit)
            found = bitfold.group(table, "k", where="t > '2000-01-01'", n="count")
            self.assertEqual(found.to_dict(), {"k": [1], "n": [1]}, unit)
            with self.assertRaisesRegex(bitfold.ArgumentError, "some elements are NULL"):
                bitfold.group(table, "k", t="min")

    def test_sums_beyond_64_bits(self):
        table = {"k": np.array([1, 1, 2]), "x": np.array([2**62, 2**62, 5])}
        found = bitfold.group(table, "k", x=("sum", "mean"))
        self.assertEqual(found.to_dict(), {"k": [1, 2], "x_sum": [2**63, 5], "x_mean": [2.0**62, 5.0]})
        self.assertEqual(found["x_sum"].dtype, "i128")

    def test_what_is_refused(self):
        table = bitfold.read_csv(io.StringIO("k,x,d\na,1,2026-01-01\nb,,2026-01-02\n"))
        for error, words, by, options in [
            (bitfold.ArgumentError, "no column 'z'", "z", {}),
            (bitfold.ArgumentError, "no column 'z'", "k", {"z": "sum"}),
            (bitfold.ArgumentError, "operations are", "k", {"x": "product"}),
            (bitfold.ArgumentError, "no column of keys", [], {}),
            (bitfold.ArgumentError, "some elements are NULL", "k", {"x": "sum"}),
            (bitfold.ArgumentError, "character 4", "k", {"where": "x >"}),
            (bitfold.ArgumentError, "is no condition", "k", {"where": "x + 1"}),
            (bitfold.ArgumentError, "names no column", "k", {"where": "1 < 2"}),
            (bitfold.DtypeError, "times have none", "k", {"d": "sum"}),
            (bitfold.DtypeError, "strings have none", "x", {"k": "min"}),
            (bitfold.ArgumentError, "operations are", "k", {"x": "quantile"}),
            (bitfold.ArgumentError, "operations are", "k", {"x": ("sum", 0.5)}),
            (bitfold.ArgumentError, "outside 0 to 1", "k", {"x": ("quantile", 1.5), "null": "skip"}),
        ]:
            with self.assertRaisesRegex(error, words):
                bitfold.group(table, by, **options)
        with self.assertRaises(bitfold.ShapeError):
            bitfold.group({"k": np.array([1, 2]), "x": np.array([1.5])}, "k", x="sum")
        for error, given in [
            (bitfold.ArgumentError, ("x", "corr")), (bitfold.ArgumentError, ("x", "x", "corr", "cov")),
            (bitfold.ArgumentError, "corr"), (bitfold.DtypeError, ("x", "k", "corr")),
        ]:  # fmt: skip
            with self.assertRaises(error):
                bitfold.group(table, by="k", x=given)

    def test_pairs_of_columns(self):
        """Columns of files, whose NULLs leave rows out of their pairs alone, and columns in memory of two dtypes."""
        r = random.Random(3)
        rows = [(r.choice("ab"), f"{r.gauss(0, 1):.3f}", r.choice(["", f"{r.random():.1f}", "7"])) for _ in range(900)]
        path = self.path("k,x,w\n" + "".join(",".join(row) + "\n" for row in rows))
        asked = {"r": ("x", "w", "corr"), "s": ("x", "w", "slope"), "m": ("x", "w", "wmean"), "x": ("skew", "count")}
        found = bitfold.group(path, "k", null="skip", w="count", **asked).to_dict()
        self.assertEqual(list(found), ["k", "w_count", "r", "s", "m", "x_skew", "x_count"])
        told = self.run_group(path, "r,s,m", "--corr", "x:w=r", "--slope", "x:w=s", "--wmean", "x:w=m")
        self.assertEqual([list(map(float, row)) for row in told], [list(row) for row in zip(*map(found.get, "rsm"))])
        self.assertEqual(found["w_count"], [sum(k == key and w != "" for k, _, w in rows) for key in "ab"])
        full = [row for row in rows if row[2]]
        columns = {"k": np.array([k == "b" for k, _, _ in full], "i8"), "x": np.array([float(x) for _, x, _ in full])}
        columns["w"] = np.array([round(10 * float(w)) for _, _, w in full], "i4")
        table = bitfold.group(columns, "k", r=("x", "w", "corr"), m=("x", "w", "wmean"), v=("w", "x", "cov")).to_dict()
        self.assertEqual(table["r"], [self.of(bitfold.correlation, columns, key) for key in (0, 1)])
        self.assertEqual(table["v"], [self.of(bitfold.covariance, columns, key, ddof=0) for key in (0, 1)])
        mean = lambda x, w: bitfold.average(x, weights=w)
        self.assertEqual(table["m"], [self.of(mean, columns, key) for key in (0, 1)])
        self.assertRaises(bitfold.ArgumentError, bitfold.group, path, "k", r=("x", "w", "corr"))

    def of(self, function, columns, key, **options):
        return function(*(columns[name][columns["k"] == key] for name in "xw"), **options)

    def run_group(self, path, names, *options):
        """Returns rows that the command tells of groups, without their keys."""
        told = subprocess.run(
            [os.environ["BITFOLD"], "group", "--by", "k", "--null-policy", "skip", "--csv", *options, path],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        self.assertEqual(told[0], "k," + names)
        return [line.split(",")[1:] for line in told[1:]]


def _is_written(value, text):
    """Whether the command wrote this value so."""
    if value is None:
        return text == ""
    if isinstance(value, str):
        return value == text
    if isinstance(value, float):
        return float(text) == value or text == "nan" and math.isnan(value)
    if isinstance(value, (int, Decimal)):
        return Decimal(text) == value
    return np.datetime64(text) == np.datetime64(value)


# ---- the command ----------------------------------------------------------------------------------


class Command(unittest.TestCase):
    def test_the_module_runs_it(self):
        command = [sys.executable, "-m", "bitfold"]
        done = subprocess.run([*command, "sum"], input=b"1e20\n1\n-1e20\n", capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"1\n"), done.stderr)
        self.assertEqual(subprocess.run([*command, "nonsense"], capture_output=True, check=False).returncode, 2)
