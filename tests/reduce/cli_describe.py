"""describe: the values that the other commands give, in one pass; its layouts; columns of text.
Builds: release, asan (full)."""
import csv
import io
import json
import os
import random
from fractions import Fraction

import numpy as np

from command import DTYPES, CommandTest, exact, run

NAMES = ["n", "nan", "inf", "min", "argmin", "max", "argmax", "sum", "mean", "std"]
SUNSPOTS = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "data", "sunspots")


class Describe(CommandTest):
    def describe(self, *arguments, **more):
        """The columns of the plain layout, as dicts of text."""
        lines = [line.split("\t") for line in
                 self.result("describe", *arguments, **more).split("\n")]
        return [{line[0]: line[k] for line in lines} for k in range(1, len(lines[0]))]

    def check(self, got, values):
        """Against rational arithmetic, to the bit."""
        self.assertEqual([got["n"], got["nan"], got["inf"]], [str(len(values)), "0", "0"])
        for op in ["min", "argmin", "max", "argmax", "sum", "mean", "std"]:
            self.assertEqual(float(got[op]), float(exact(op, values)), op)

    def test_sunspots_agree_with_fractions_to_the_bit(self):
        numbers = np.load(SUNSPOTS + ".npy")
        with open(SUNSPOTS + ".csv") as f:
            rows = [line.split(",") for line in f.read().split("\n")[1:] if line]
        array, = self.describe(SUNSPOTS + ".npy")
        year, sunspots = self.describe(SUNSPOTS + ".csv")
        self.assertEqual([year.pop("column"), sunspots.pop("column")], ["year", "sunspots"])
        self.assertEqual([year.pop("null"), sunspots.pop("null")], ["0", "0"])
        self.assertEqual(sunspots, array)
        self.check(array, numbers.tolist())
        self.check(sunspots, [float(row[1]) for row in rows])
        self.check(year, [int(row[0]) for row in rows])

    def test_every_dtype_gives_what_the_commands_give(self):
        r = np.random.default_rng(6)
        for dtype in DTYPES:
            x = (r.normal(size=5000) * 50 + 100).clip(0, 255).astype(dtype)
            for name in [self.save("x.npy", x.reshape(50, 100)),
                         self.save("f.npy", np.asfortranarray(x.reshape(50, 100)))]:
                got, = self.describe(name)
                for op in NAMES[3:]:
                    self.assertEqual(got[op], self.result(op, name), (dtype, op))

    def test_threads_pipes_and_offsets_change_nothing(self):
        x = np.random.default_rng(7).normal(size=1_000_000)
        name = self.save("x.npy", x)
        text = self.write("x", "\n".join(map(repr, x[:200_000].tolist())).encode())
        want, = self.describe(name)
        self.assertEqual(self.describe("-j", 3, name), [want])
        with open(name, "rb") as f:
            self.assertEqual(self.describe(stdin=f.read()), [want])
        part, = self.describe("--count", 200_000, name)
        part["null"] = "0"
        self.assertEqual(self.describe("-j", 1, text), [part])
        self.assertEqual(self.describe("-j", 4, text), [part])
        with open(text, "rb") as f:
            self.assertEqual(self.describe(stdin=f.read()), [part])
        moved, = self.describe("--offset", 1000, "--count", 5000, name)
        moved["null"] = "0"
        self.assertEqual(self.describe("--offset", 1000, "--count", 5000, text), [moved])
        self.assertEqual(int(moved["argmin"]), 1000 + int(x[1000:6000].argmin()))

    def test_nan_infinity_and_nothing(self):
        data = b"1\nnan\n-2\ninf\n"
        got, = self.describe(stdin=data)
        self.assertEqual([got[k] for k in NAMES], "4 1 1 nan 1 nan 1 nan nan nan".split())
        got, = self.describe("--nan", "skip", stdin=data)
        self.assertEqual([got[k] for k in NAMES], "4 1 1 -2 2 inf 3 inf inf nan".split())
        self.refused(3, "NaN", "describe", "--nan", "error", stdin=data)
        got, = self.describe("-q", stdin=b"")
        self.assertEqual([got[k] for k in NAMES], "0 0 0 - - - - 0 nan nan".split())
        empty = json.loads(self.result("describe", "-q", "--json", stdin=b""))
        self.assertEqual([empty[k] for k in NAMES[3:7]], [None] * 4)

    def test_layouts(self):
        csv = self.write("x.csv", b"a,b\n1,0.5\n2,1.5\n")
        array = self.save("y.npy", np.arange(4))
        plain = self.result("describe", csv, array).split("\n")
        self.assertEqual(plain[0], "\t".join(["file", csv, csv, array]))
        self.assertEqual(plain[1:4], ["column\ta\tb\t", "n\t2\t2\t4", "nan\t0\t0\t0"])
        table = [line.split("\t") for line in
                 self.result("describe", "--tsv", csv, array).split("\n")]
        self.assertEqual(table[0], ["file", "column"] + NAMES + ["null"])
        self.assertEqual(table[2], [csv, "b", "2", "0", "0", "0.5", "0", "1.5", "1", "2", "1",
                                    "0.5", "0"])
        self.assertEqual(table[3][:3], [array, "", "4"])
        objects = [json.loads(line) for line in
                   self.result("describe", "--json", csv, array).split("\n")]
        self.assertEqual([o.get("column") for o in objects], ["a", "b", None])
        self.assertEqual([o["dtype"] for o in objects], ["i64", "decimal", "i64"])
        for o in objects:
            self.assertLessEqual({"schema", "command", "file", "dtype", "device", "seconds",
                                  *NAMES}, set(o))
        self.assertEqual(self.result("describe", "--hex", array).split("\n")[8], "mean\t0x1.8p+0")

    def test_columns_of_text(self):
        data = b"1 2.5 3\n4 5.5 6\n"
        for options, names in [([], ["1", "2", "3"]), (["--column", "3,1"], ["1", "3"])]:
            for name in ["-", self.write("x", data)]:
                got = self.describe(*options, name, stdin=data)
                self.assertEqual([c["column"] for c in got], names)
                self.assertEqual([c["sum"] for c in got],
                                 [{"1": "5", "2": "8", "3": "9"}[n] for n in names])
        got, = self.describe("--column", 2, stdin=data)
        self.assertNotIn("column", got)
        got = self.describe("--column", "b,a", stdin=b"a,x,b\n1,word,3\n")
        self.assertEqual([(c["column"], c["sum"]) for c in got], [("a", "1"), ("b", "3")])
        a, x, b = self.describe(stdin=b"a,x,b\n1,word,3\n")
        self.assertEqual([(c["column"], c["sum"], c["mode"]) for c in (a, x, b)],
                         [("a", "1", "-"), ("x", "-", "word"), ("b", "3", "-")])

    def test_many_columns_and_threads(self):
        x = np.random.default_rng(8).integers(-1000, 1000, (5000, 40))
        text = "\n".join(",".join(map(str, row)) for row in x.tolist()).encode()
        for name in ["-", self.write("x", text)]:
            for j in [1, 3]:
                got = self.describe("-j", j, name, stdin=text)
                self.assertEqual([int(c["sum"]) for c in got], x.sum(axis=0).tolist())
                self.assertEqual([int(c["argmax"]) for c in got], x.argmax(axis=0).tolist())

    def test_so_many_columns_that_few_rows_are_read_at_once(self):
        """Rows are gathered. Columns turn out to be larger integers or floats, or have NULLs, at some row."""
        columns, rows = 5000, 90
        table = []
        for k in range(columns):
            turn = k % 97
            last = ["%d" % (k - i) for i in range(rows - turn)]
            kind = k % 4
            if kind == 1:
                last = ["%d" % (2**63 + k + i) for i in range(rows - turn)]
            if kind == 2:
                last = ["%d.25" % (k - i) for i in range(rows - turn)]
            if kind == 3:
                last = ["" if i % 5 == k % 5 else "%d" % (i * k) for i in range(rows - turn)]
            table.append(["%d" % (k * i % 1000) for i in range(min(turn, rows))] + last)
        path = self.path("wide.csv")
        with open(path, "w") as file:
            for i in range(rows):
                file.write(",".join(column[i] for column in table) + "\n")
        for more in [("-j1",), ("-j4",)]:
            got = self.describe("--null-policy", "skip", *more, path)
            self.assertEqual(len(got), columns)
            for k in random.Random(1).sample(range(columns), 300):
                values = [Fraction(x) for x in table[k] if x]
                self.assertEqual(got[k]["n"], str(len(values)), k)
                self.assertEqual(Fraction(got[k]["min"]), min(values), k)
                places = [Fraction(x) if x else None for x in table[k]]
                self.assertEqual(int(got[k]["argmax"]), places.index(max(values)), k)
                self.assertEqual(float(got[k]["sum"]), float(sum(values)), k)

    def test_saved_descriptions_merge(self):
        x = np.random.default_rng(9).normal(size=1000)
        name = self.save("x.npy", x)
        self.result("describe", "--count", 400, "--save", self.path("a"), name)
        self.result("describe", "--offset", 400, "--save", self.path("b"), name)
        want = self.result("describe", name)
        self.assertEqual(self.result("merge", self.path("b"), self.path("a")), want)
        merged = json.loads(self.result("merge", "--json", self.path("b"), self.path("a")))
        self.assertEqual(Fraction(merged["sum"]), Fraction(exact("sum", x.tolist()).__float__()))
        names = [self.save("part%d.npy" % i, x[at:to])
                 for i, (at, to) in enumerate([(0, 300), (300, 1000)])]
        for i, part in enumerate(names):
            self.result("describe", "--save", self.path("w%d" % i), part)
        states = [self.path("w0"), self.path("w1")]
        self.assertEqual(self.result("merge", "-q", *states), want)
        told = run("merge", *states).stderr.decode().splitlines()
        for line, op, word in zip(told, ["argmin", "argmax"], ["minimum", "maximum"]):
            index = int(self.result(op, name))
            which, at = (0, index) if index < 300 else (1, index - 300)
            self.assertEqual(line, "bitfold merge: %s: its element %d is the %s: element %d of all"
                             % (states[which], at, word, index))
        self.assertEqual(len(told), 2)
        self.refused(2, "--save takes one file", "describe", "--save", self.path("c"),
                     stdin=b"1 2\n")
        self.assertFalse(os.path.exists(self.path("c")))

    def test_a_file_that_fails_does_not_keep_the_others(self):
        name = self.save("x.npy", np.ones(3))
        done = run("describe", name, self.path("none"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"sum\t3\n", done.stdout)


class Infer(CommandTest):
    """--infer: what columns are taken for, against the same rules in Python."""

    I64, U64, I128, F64 = 1, 2, 4, 8
    SEEN = {"1": 15, "7": 15, "-1": 13, "0": 15, "-0": 15, "9223372036854775807": 15, "9223372036854775808": 14,
            "-9223372036854775808": 13, "18446744073709551615": 14, "18446744073709551616": 12,
            "-170141183460469231731687303715884105728": 8, "1e3": 15, "nan": 8, "0x1p3": 8, "x": 0, "1,2": 0,
            "a\nb": 0, '"': 0, "": None, "1.5": 13, "-0.25": 13, "1.50e-1": 13, "1.234567890123456": 8,
            "1e-19": 12, "1e-39": 8}
    SCALES = {"1.5": 1, "-0.25": 2, "1.50e-1": 2, "1e-19": 19}
    LARGE = {"9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
             "18446744073709551616"}
    WHYS = {"nan": "no decimal number", "0x1p3": "no decimal number",
            "-170141183460469231731687303715884105728": "too many digits",
            "1.234567890123456": "a fraction of more than 15 digits", "1e-39": "too many digits behind the point"}

    def expected(self, rows, lines, k):
        """dtype, rows, nulls, line, field and cause of a column."""
        can, first, scale, lost = 15, None, 0, {}
        for row, at in zip(rows, lines):
            seen = self.SEEN[row[k]]
            scale = max(scale, self.SCALES.get(row[k], 0))
            if scale and not first:
                first = str(at), row[k]
            for some in (self.I64, self.I64 | self.U64, 7, 15):
                if seen is not None and can & some and not can & seen & some:
                    lost[some] = str(at), row[k].replace("\n", "?")
            can &= 15 if seen is None else seen
        dtype = ("i64" if can & self.I64 else "u64" if can & self.U64 else "i128" if can & self.I128
                 else "f64" if can else "string")
        line, field = lost[{"u64": 1, "i128": 3, "f64": 7, "string": 15}[dtype]] if dtype != "i64" else ("", "")
        why = {"i64": "all are integers", "u64": "more than i64 holds", "i128": "more than 64 bits hold",
               "f64": self.WHYS.get(field, ""), "string": "no number"}[dtype]
        nulls = sum(row[k] == "" for row in rows)
        if dtype in ("i64", "i128") and scale:
            dtype, why = "decimal", "%d digit%s behind the point" % (scale, "s"[:scale > 1])
            line, field = first
        if nulls == len(rows):
            why = "there is no value"
        return [dtype, str(len(rows)), str(nulls), line, field, why]

    def random_text(self, r, rows):
        """Rows, the lines that they begin in, and their text, with some empty lines."""
        kinds = [r.sample(sorted(set(self.SEEN) - r.choice([self.LARGE, set(self.SCALES)])),
                          r.choice([1, 2, 4, 9])) for _ in range(4)]
        rare = r.choice([1, 0.01])
        table, lines, text, line = [], [], "c0,c1,c2,c3\n", 2
        for _ in range(rows):
            row = [r.choice(kind) if r.random() < rare else kind[0] for kind in kinds] + ["7"]
            while r.random() < 0.1:
                text, line = text + "\n", line + 1
            table.append(row)
            lines.append(line)
            text += ",".join('"%s"' % f.replace('"', '""') if any(c in f for c in '",\n') else f
                             for f in row) + "\n"
            line += 1 + sum(f.count("\n") for f in row)
        return table, lines, text.replace("c3\n", "c3,c4\n", 1)

    def test_random_columns(self):
        r = random.Random(1)
        for rows in [0, 1, 2, 5, 30, 30, 30, 300, 300, 3000, 40000]:
            table, lines, text = self.random_text(r, rows)
            name = self.write("t.csv", text.encode())
            for more, stdin in [([name], b""), (["-"], text.encode())]:
                got = list(csv.reader(io.StringIO(self.result(
                    "describe", "--infer", "--csv", "-j", r.choice([1, 3]), *more, stdin=stdin))))
                self.assertEqual(got[0], ["file", "column", "dtype", "rows", "nulls", "line", "field",
                                          "why"])
                for k, row in enumerate(got[1:]):
                    self.assertEqual(row, more + ["c%d" % k] + self.expected(table, lines, k))
                self.assertEqual(len(got), 6)

    def test_very_many_columns(self):
        """All causes in a chunk are found together: column after column would take minutes."""
        columns, rows = 10_000, 12
        fields = [["1.5" if i == k % rows else "x" if i == k % 7 + 5 else "%d" % k for k in range(columns)]
                  for i in range(rows)]
        text = "".join(",".join(row) + "\n" for row in [["c%d" % k for k in range(columns)], *fields])
        got = list(csv.DictReader(io.StringIO(self.result("describe", "--infer", "--csv", stdin=text.encode()))))
        for k in range(columns):
            at = k % 7 + 5 if k % 7 + 5 != k % rows and k % 7 + 5 < rows else k % rows
            want = ("string", "x") if at != k % rows else ("decimal", "1.5")
            self.assertEqual((got[k]["dtype"], got[k]["field"], got[k]["line"]), want + (str(at + 2),), k)

    def test_a_number_that_the_scale_of_others_rules_out(self):
        """The number with the digits in front of the point is the cause, wherever the others are."""
        large = "90071992547409930000000000000000000000"
        for rows in [[large, "0.001"], ["0.001", large]]:
            text = "\n".join(["a", "1", *rows, "2", ""]).encode()
            self.assertEqual(self.result("describe", "--infer", "--column", "a", stdin=text),
                             "-\ta\tf64\t4\t0\t%d\t%s\ttoo many digits" % (rows.index(large) + 3, large))

    def test_codes_are_text_as_keys(self):
        self.assertEqual(self.result("describe", "--infer", stdin=b"zip\n7\n07094\n"),
                         "-\tzip\tstring\t2\t0\t3\t07094\tas a key: a code")

    def test_a_fraction_that_is_not_wanted_decides_nothing(self):
        self.assertEqual(self.result("describe", "--infer", "--count", 2, stdin=b"1\n2\n3.5\n"),
                         "-\t1\ti64\t2\t0\t\t\tall are integers")

    def test_a_dtype_that_is_asked_for_and_arrays(self):
        name = self.write("t.csv", b"a,b\n1,2\n300,x\n")
        self.assertEqual(self.result("describe", "--infer", "--tsv", "--dtype", "u8", name).split("\n"),
                         [name + "\ta\tstring\t2\t0\t3\t300\tnone of --dtype",
                          name + "\tb\tstring\t2\t0\t3\tx\tnone of --dtype"])
        self.assertEqual(self.result("describe", "--infer", "--dtype", "f32", "--column", "a", name),
                         name + "\ta\tf32\t2\t0\t\t\t--dtype says so")
        self.assertEqual(self.result("describe", "--infer", "--column", "b", "--offset", 1, name),
                         name + "\tb\tstring\t1\t0\t3\tx\tno number")
        name = self.save("x.npy", np.ones((2, 3), "f4"))
        self.assertEqual(self.result("describe", "--infer", name),
                         name + "\t\tf32\t6\t\t\t\tits header says so")
        for more in [["--save", "s"], ["--axis", 0], ["-e", "a+1"], ["--quantiles"]]:
            self.refused(2, "--infer does not go with", "describe", "--infer", *more, name)
