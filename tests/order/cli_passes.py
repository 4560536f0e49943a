"""median, quantile and describe --quantiles of what is read several times: against plain Python's
sort and fractions; within --memory and without; of files, pipes and several columns.
Builds: release (full), asan (full)."""
import io
import json
import math
import random
from fractions import Fraction

import numpy as np

from command import DTYPES, RAW_NAMES, SHORT, CommandTest, least_memory, run
from quantiles import place_of, value_at

LIMITED = ["-j2", "--memory", "%dM" % (least_memory() + 6)]
PERCENTS = [0, 0.1, 25, 50, 62.5, 99.9, 100]


def rank(x):
    """What sorts: -0 before 0, and NaN last."""
    if isinstance(x, float) and math.isnan(x):
        return (2, 0, 0)
    return (1, x, 0 if isinstance(x, float) and math.copysign(1, x) < 0 else 1)


def shown(x):
    """A number as the command shows it, of those here."""
    text = repr(int(x) if isinstance(x, bool) else x)
    return text[:-2] if text.endswith(".0") else text


def lower(values, percents=PERCENTS):
    """The elements at or below quantiles, as the command shows them."""
    x = sorted(values, key=rank)
    return [shown(x[math.floor(float(p) / 100 * (len(x) - 1))]) for p in percents]


def median(values):
    x = sorted(values)
    return float((Fraction(x[(len(x) - 1) // 2]) + Fraction(x[len(x) // 2])) / 2)


def numbers(dtype, n, seed):
    """Numbers with many ties, of few digits if they are short; no NaN."""
    r, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "b":
        return r.random(n) < 0.5
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        x = r.integers(ends.min, ends.max, n, kind, endpoint=True)
        return np.where(r.random(n) < 0.3, x[:1] if n else x, x)
    most, part = {"f2": (1000, 2), "f4": (1 << 20, 4), "f8": (1 << 52, 1 << 30)}[dtype]
    x = (r.integers(-most, most, n) / part).astype(kind)
    x[r.random(n) < 0.2] = -0.0
    x[r.random(n) < 0.1] = 0.0
    x[r.random(n) < 0.05] = np.inf
    return x


def bytes_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


class PassesTest(CommandTest):
    def setUp(self):
        super().setUp()
        # Small arrays are held in memory, unless there may be a checkpoint.
        self.again = [*LIMITED, "--checkpoint", self.path("work")]

    def lines(self, *arguments, **more):
        text = self.result(*arguments, **more)
        return text.split("\n") if text else []

    def quantiles(self, *arguments, method="lower", percents=PERCENTS, **more):
        return self.lines("quantile", "--method", method, "-p", ",".join(map(str, percents)),
                          *arguments, **more)


class Inputs(PassesTest):
    def test_every_dtype(self):
        for i, dtype in enumerate(DTYPES):
            for n in [1, 2, 1000, 200_001][:3 if SHORT else 4]:
                x = numbers(dtype, n, n + i)
                want = lower(x.tolist())
                name = self.save("x.npy", x)
                self.assertEqual(self.quantiles(name), want, (dtype, n))
                self.assertEqual(self.quantiles(*self.again, name), want, (dtype, n))
                self.assertEqual(self.quantiles(*LIMITED, stdin=bytes_of(x)), want, (dtype, n))
                finite = x[np.isfinite(x)] if x.dtype.kind == "f" else x
                if finite.size:
                    name = self.save("x.npy", finite)
                    found = self.result("median", *self.again, name)
                    to = x.dtype.type if x.dtype.kind == "f" else float
                    self.assertEqual(to(float(found)), to(median(finite.tolist())), (dtype, n))

    def test_every_method_is_that_of_an_array_in_memory(self):
        x = numbers("f8", 3001, 7)
        x = x[np.isfinite(x)]
        text = b"".join(b"%r\n" % v for v in x.tolist())
        for method in ["linear", "higher", "midpoint", "nearest", "inverted_cdf", "hazen",
                       "averaged_inverted_cdf", "closest_observation", "weibull",
                       "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased"]:
            found = self.quantiles(*self.again, self.save("x.npy", x), method=method)
            self.assertEqual(found, self.quantiles(stdin=text, method=method), method) # it loads
            line = sorted(x.tolist())
            want = [value_at(line, place_of(method, len(line), p / 100)) for p in PERCENTS]
            self.assertEqual(list(map(float, found)), want, method)

    def test_orders_of_bytes_and_elements(self):
        x = numbers("i4", 6000, 3).reshape(60, 100)
        want = lower(x.ravel().tolist())
        for y in [np.asfortranarray(x), x.astype(">i4"), np.asfortranarray(x).astype(">i4")]:
            self.assertEqual(self.quantiles(*self.again, self.save("x.npy", y)), want)
            self.assertEqual(self.quantiles(*LIMITED, stdin=bytes_of(y)), want)
        raw = self.write("raw", x.tobytes())
        some = ["--format", "raw", "--dtype", RAW_NAMES["i4"]]
        self.assertEqual(self.quantiles(*some, *self.again, raw), want)
        self.assertEqual(self.quantiles(*some, *LIMITED, stdin=x.tobytes()), want)
        part = x.ravel()[17:5017].tolist()
        self.assertEqual(self.quantiles(*some, *self.again, "--offset", 17, "--count", 5000, raw),
                         lower(part))

    def test_columns_of_text(self):
        """The last rows show that one column has floats, so all is read anew."""
        r = random.Random(1)
        n = 30_000 if SHORT else 150_000
        a, b = [r.randrange(-10**12, 10**12) for _ in range(n)], [r.randrange(99) for _ in range(n)]
        b[-1] = 0.5
        text = b"a,b\n" + b"".join(b"%d,%s\n" % (x, str(y).encode()) for x, y in zip(a, b))
        want = ["%s\t%s\t%s" % (name, p, v) for name, x in [("a", a), ("b", list(map(float, b)))]
                for p, v in zip(PERCENTS, lower(x))]
        ask = ["--column", "a,b"]
        name = self.write("t.csv", text)
        self.assertEqual(self.quantiles(*ask, name), want) # it loads
        self.assertEqual(self.quantiles(*ask, *self.again, name), want)
        self.assertEqual(self.quantiles(*ask, *LIMITED, stdin=text), want)
        self.assertEqual(self.lines("median", *ask, *self.again, name),
                         ["a\t" + shown(median(a)), "b\t" + shown(median(b))])

    def test_more_percents_than_one_object_has(self):
        percents = [i / 2 for i in range(200, -1, -1)]
        for x in [numbers("f4", 5000, 1), numbers("i8", 100_000, 2)]:
            found = self.quantiles("--memory", "128M", self.save("x.npy", x), percents=percents)
            self.assertEqual(found, lower(x.tolist(), percents))

    def test_threads_and_widths(self):
        x = numbers("f4", 1 << (18 if SHORT else 21), 5)
        name = self.save("x.npy", x)
        want = self.quantiles("-j1", name)
        self.assertEqual(want, lower(x.tolist()))
        for isa in ["generic", "auto"]:
            for threads in [2, 3]:
                self.assertEqual(self.quantiles("--isa", isa, "-j", threads, name), want)


class Rules(PassesTest):
    def test_nan(self):
        x = np.arange(101.0)
        x[7] = np.nan
        name = self.save("x.npy", x)
        for where in [[name], [*self.again, name]]:
            self.assertEqual(self.result("median", *where), "nan")
            self.assertEqual(self.result("median", "--nan", "skip", *where), "50.5")
            self.refused(3, "the data hold NaN", "median", "--nan", "error", *where)
            found = json.loads(self.result("median", "--json", *where))
            self.assertEqual((found["nan"], found["inf"], found["n"], found["value"]),
                             (1, 0, 101, "nan"))
        x[3] = -np.inf
        found = json.loads(self.result("median", "--json", "--nan", "skip", self.save("x.npy", x)))
        self.assertEqual((found["nan"], found["inf"], found["value"]), (1, 1, 50.5))

    def test_nothing(self):
        for x in [np.zeros(0), np.full(5, np.nan)]:
            name = self.save("x.npy", x)
            text = b"nan\n" * len(x)
            for command in ["median", "quantile"]:
                ask = [command, "--nan", "skip"]
                error = self.refused(3, "no value: the %s of no elements" % command, *ask, *self.again, name)
                self.assertIn("hint: --empty VALUE", error)
                found = run(*ask, "-", stdin=text).stderr.decode()
                self.assertEqual(error.replace(name, "-"), found) # it loads
            self.assertEqual(self.result("median", "--nan", "skip", "--empty", "-1.5", *self.again,
                                         name), "-1.5")
            self.refused(2, "bad operand of --empty", "median", "--empty", "x", *self.again, name)

    def test_files_and_totals(self):
        x, y = numbers("i8", 1000, 1), numbers("i8", 77, 2)
        names = [self.save("x.npy", x), self.save("y.npy", y)]
        both = x.tolist() + y.tolist()
        want = ["%s\t%s\t%s" % (p, v, name) for values, name in
                [(x.tolist(), names[0]), (y.tolist(), names[1]), (both, "total")]
                for p, v in zip(PERCENTS, lower(values))]
        self.assertEqual(self.quantiles("--total", *names), want)
        self.assertEqual(self.quantiles("--total", *self.again, *names), want)
        pipe = [line.replace(names[1], "-") for line in want]
        self.assertEqual(self.quantiles("--total", *LIMITED, names[0], "-", stdin=bytes_of(y)), pipe)
        self.assertEqual(self.quantiles("--total", names[0], "-", stdin=bytes_of(y)), pipe)
        text = self.write("t.csv", b"a,b\n3,1\n1,2.5\n2,-4\n")
        self.assertEqual(self.lines("median", "--total", "--column", "a,b", text, text)[-2:],
                         ["a\t2\ttotal", "b\t1\ttotal"])
        floats = self.save("f.npy", np.ones(3))
        done = run("median", "--total", names[0], floats, names[1])
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"f.npy: cannot make a total of different dtypes: this is f64, ", done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_what_fails_keeps_the_others(self):
        name = self.save("x.npy", np.arange(5))
        done = run("median", "--total", self.path("none.npy"), name)
        self.assertEqual((done.returncode, done.stdout), (1, b"2\t%s\n" % name.encode()))

    def test_arrays(self):
        out, x = self.path("out.npy"), np.arange(11, dtype="f4")
        self.result("quantile", *self.again, "-o", out, self.save("x.npy", x))
        self.assertEqual((np.load(out).dtype, np.load(out).tolist()),
                         (np.dtype("f8"), [0, 2.5, 5, 7.5, 10]))
        self.result("median", *self.again, "-o", out, self.path("x.npy"))
        self.assertEqual((np.load(out).dtype, np.load(out).shape, float(np.load(out))),
                         (np.dtype("f4"), (), 5))
        table = self.write("t.csv", b"1,2\n")
        self.refused(2, "one column", "median", "--column", "1,2", *self.again, table, "-o", out)

    def test_checkpoints_are_of_all_elements(self):
        name = self.save("x.npy", np.arange(10))
        file = self.path("work")
        self.assertEqual(self.result("median", "--checkpoint", file, name), "4.5")
        self.refused(2, "--checkpoint does not go with", "median", "--axis", 0, "--checkpoint",
                     file, name)


class Describe(PassesTest):
    def test_the_values_of_quantile(self):
        for x in [numbers("f4", 3000, 1), numbers("i8", 3001, 2), numbers("?", 5, 3)]:
            name = self.save("x.npy", x)
            for where in [[name], [*LIMITED, name]]:
                found = [line.split("\t") for line in self.lines("describe", "--quantiles", *where)]
                want = self.lines("quantile", "-p", "25,50,75", name)
                self.assertEqual(found[-3:], [["p25", want[0]], ["p50", want[1]], ["p75", want[2]]])
                self.assertEqual("\n".join("\t".join(line) for line in found[:-3]),
                                 self.result("describe", name))

    def test_columns_of_files_and_pipes(self):
        text = b"a,b\n" + b"".join(b"%d,%d\n" % (i * 7919 % 10_000, i % 9) for i in range(10_000))
        text += b"1,0.5\n"
        name = self.write("t.csv", text)
        want = self.result("describe", "--quantiles=10,99.9", name)
        self.assertEqual([line.split("\t") for line in want.split("\n")[-2:]],
                         [["p%s" % p, *[self.result("quantile", "-p", p, "--column", c, name)
                                        for c in "ab"]] for p in ["10", "99.9"]])
        for where in [[], LIMITED]:
            self.assertEqual(self.result("describe", "--quantiles=10,99.9", *where, stdin=text),
                             want)
        table = self.lines("describe", "--quantiles=10,99.9", "--tsv", name)
        self.assertTrue(table[0].endswith("\tstd\tnull\tp10\tp99.9"))
        self.assertEqual([line.split("\t")[-1] for line in table[1:]], want.split("\n")[-1].split("\t")[1:])

    def test_json(self):
        found = json.loads(self.result("describe", "--quantiles=0,50", "--json",
                                       self.save("x.npy", np.arange(11))))
        self.assertEqual((found["percents"], found["quantiles"]), ([0, 50], [0, 5]))
        found = json.loads(self.result("describe", "--quantiles", "--json",
                                       self.save("x.npy", np.zeros(0))))
        self.assertEqual(found["quantiles"], [None] * 3)
        self.assertNotIn("percents", json.loads(self.result("describe", "--json", stdin=b"1")))

    def test_what_it_does_not_take(self):
        x = self.save("x.npy", np.zeros(3))
        for more in [["--axis", 0], ["--save", self.path("s")], ["--offsets", x],
                     ["--index", x, "--slots", 3]]:
            self.refused(2, "--quantiles does not go with", "describe", "--quantiles", *more, x)
        self.refused(2, "bad operand of --quantiles", "describe", "--quantiles=101", x)
        self.refused(2, "no option: --quantiles", "sum", "--quantiles", x)
        self.refused(3, "the data hold NaN", "describe", "--quantiles", "--nan", "error",
                     self.save("n.npy", np.array([np.nan])))
