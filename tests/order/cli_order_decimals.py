"""Order of decimals: what sort, argsort, top, unique, median and quantile show of numbers in text is
what is written there, in files and pipes, in memory and beyond. The oracle is Python's Fraction."""
import collections
import itertools
import json
import os
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest, least_memory, run
from decimals import numbers_of, plain, scale_of, shortest, some_column
from quantiles import METHODS, exact_at, median_place, place_of

CASES = int(os.environ.get("BITFOLD_CASES", "160")) // 4
SIZES = [1, 2, 5, 50, 2500, 2500 if SHORT else 20000]
LIMITED = ["--memory", "%dM" % least_memory(), "-j2"]
PERCENTS = [0, 12.5, 50, 66.6, 99, 100]


def ordered(x, descending=False):
    """The indices that sort; equal ones by index."""
    return sorted(range(len(x)), key=lambda i: -x[i] if descending else x[i])


class DecimalsTest(CommandTest):
    def lines(self, *arguments, **more):
        text = self.result(*arguments, **more)
        return text.split("\n") if text else []

    def same(self, got, want, decimals, what):
        """Lines and numbers: of decimals, text by text; floats are those between."""
        self.assertEqual(len(got), len(want), what)
        for text, x in zip(got, want):
            if decimals and isinstance(x, Fraction):
                self.assertEqual(text, plain(x), what)
            else:
                self.assertEqual(float(text), float(x), what)


class Columns(DecimalsTest):
    def ways(self, column):
        """Each way to give a command this column, as arguments and what run takes besides."""
        text = "\n".join(column).encode() + b"\n"
        name = self.write("x.txt", text)
        for options in [["-j1"], ["-j2"], ["-j8"], LIMITED]:
            yield [*options, name], {}
            yield options, {"stdin": text}

    def columns(self, cases=CASES):
        for seed in range(cases):
            rng = random.Random(seed)
            column = some_column(rng, SIZES, wide=True)
            yield seed, rng, column, *numbers_of(column, wide=True)

    def test_sort_and_argsort(self):
        for seed, rng, column, x, decimals in self.columns():
            descending = rng.random() < 0.5
            order = ordered(x, descending)
            flags = ["--descending"] * descending
            for how, more in rng.sample(list(self.ways(column)), 3):
                self.assertEqual(self.lines("argsort", *flags, *how, **more),
                                 list(map(str, order)), (seed, how))
                self.same(self.lines("sort", *flags, *how, **more), [x[i] for i in order], decimals,
                          (seed, how))

    def test_top(self):
        for seed, rng, column, x, decimals in self.columns():
            least, n = rng.random() < 0.5, rng.choice([1, 3, 100])
            order = ordered(x, not least)[:n]
            for how, more in rng.sample(list(self.ways(column)), 3):
                rows = [line.split("\t") for line in
                        self.lines("top", "-n", n, *["--least"] * least, *how, **more)]
                self.assertEqual([row[1] for row in rows], list(map(str, order)), (seed, how))
                self.same([row[0] for row in rows], [x[i] for i in order], decimals, (seed, how))

    def test_unique(self):
        for seed, rng, column, x, decimals in self.columns():
            values = sorted(set(x))
            for how, more in rng.sample(list(self.ways(column)), 3):
                rows = [line.split("\t") for line in self.lines("unique", "--count", *how, **more)]
                self.same([row[0] for row in rows], values, decimals, (seed, how))
                self.assertEqual(sum(int(row[1]) for row in rows), len(x))
                for value, row in rng.sample(list(zip(values, rows)), min(3, len(rows))):
                    self.assertEqual(int(row[1]), x.count(value), (seed, how))

    def test_median_and_quantiles(self):
        for seed, rng, column, x, decimals in self.columns():
            line, method = sorted(x), rng.choice(METHODS)
            median = exact_at(line, median_place(len(line)))
            want = [exact_at(line, place_of(method, len(line), p / 100)) for p in PERCENTS]
            options = ["-p", ",".join(map(str, PERCENTS)), "--method", method]
            for how, more in rng.sample(list(self.ways(column)), 3):
                self.same(self.lines("quantile", *options, *how, **more), want, decimals,
                          (seed, method, how))
                self.same(self.lines("median", *how, **more), [median], decimals, (seed, how))

    def test_arrays_are_of_doubles(self):
        out = self.path("out.npy")
        for seed, rng, column, x, decimals in self.columns(CASES // 2 + 1):
            line, method = sorted(x), rng.choice(METHODS)
            places = [place_of(method, len(line), p / 100) for p in PERCENTS]
            quantiles = [float(exact_at(line, place)) for place in places]
            options = ["-p", ",".join(map(str, PERCENTS)), "--method", method]
            # an array of integers, then
            whole = decimals and scale_of(column) == 0 and \
                (min(line) >= 0 and max(line) < 2**64 or min(line) >= -2**63 and max(line) < 2**63)
            for how, more in rng.sample(list(self.ways(column)), 2):
                self.result("sort", *how, "-o", out, **more)
                found = np.load(out)
                self.assertEqual(found.dtype.kind, "iu"[max(line) >= 2**63] if whole else "f")
                self.assertEqual(list(map(float, found.tolist())), list(map(float, line)), seed)
                self.result("quantile", *options, *how, "-o", out, **more)
                found = np.load(out)
                if not whole:
                    self.assertEqual(found.dtype, np.float64)
                self.assertEqual(list(map(float, found.tolist())), quantiles, (seed, method))

    def test_integers_of_every_size_are_rounded_once(self):
        rng = random.Random(1)
        for scale in range(1, 19):
            units = [rng.randrange(-2**63, 2**63) >> rng.randrange(64) for _ in range(100)]
            column = ["%d" % (u // 10**scale) for u in units] + ["1e-%d" % scale]
            self.result("sort", "-o", self.path("out.npy"), stdin="\n".join(column).encode())
            want = sorted(float(Fraction(text)) for text in column)
            self.assertEqual(np.load(self.path("out.npy")).tolist(), want)


class Cases(DecimalsTest):
    def test_cases(self):
        for text, command, want in [
            ("9007199254740993\n0.5", "sort", "0.5\n9007199254740993"),
            ("9007199254740993\n0.5", "top -n 1", "9007199254740993\t0"),
            ("1.0\n1.00\n1\n1e0", "unique --count", "1\t4"),
            ("1.10\n1.1\n-0.5", "argsort", "2\n0\n1"), ("0.1\n0.2", "median", "0.15"),
            ("0.1\n0.3\n0.2", "median", "0.2"), ("0.1\n0.2", "quantile -p 0,25,100", "0.1\n0.125\n0.2"),
            ("-0.0\n0.5", "sort", "0\n0.5"), ("inf\n0.5", "sort", "0.5\ninf"),
            ("0.30000000000000004\n0.1", "sort", "0.1\n0.30000000000000004"),
            ("3\n0.5\n0.25", "sort --descending", "3\n0.5\n0.25"),
            ("0.1\n0.2", "median --empty 7.5", "0.15"),
            ("9007199254740992.5\n9007199254740993.5", "median --dtype f64", "9007199254740992"),
            ("18446744073709551615\n-1", "sort", "-1\n18446744073709551615"),
            ("18446744073709551615\n-1", "sort --descending", "18446744073709551615\n-1"),
            ("18446744073709551615\n-1", "argsort", "1\n0"),
            ("18446744073709551615\n-1", "top -n 1", "18446744073709551615\t0"),
            ("18446744073709551615\n-1\n-1", "unique --count", "-1\t2\n18446744073709551615\t1"),
            ("18446744073709551615\n-1\n18446744073709551614", "median", "18446744073709551614"),
            ("18446744073709551615\n-1", "quantile -p 0,50,100",
             "-1\n9.223372036854776e+18\n18446744073709551615"),
            ("18446744073709551616\n18446744073709551616", "median", "18446744073709551616"),
            ("1234567890123456789\n-1e-9", "sort", "-0.000000001\n1234567890123456789"),
            ("9" * 38 + "\n-" + "9" * 38, "quantile -p 0,50,100", "-%s\n0\n%s" % ("9" * 38, "9" * 38)),
            ("1" + "0" * 38 + "\n1", "sort", "1\n1e+38"),
        ]:  # fmt: skip
            self.assertEqual(self.result(*command.split(), stdin=text.encode()), want, command)

    def test_forms(self):
        name = self.write("x.csv", b"a,b\n0.25,3\n9007199254740993,0.125\n")
        for form in "--csv", "--tsv", "--markdown":
            text = self.result("top", "-n", 1, "--column", "a,b", form, name)
            self.assertIn("9007199254740993", text)
            self.assertIn("3", text)
        objects = [json.loads(line, parse_float=Decimal) for line in
                   self.lines("sort", "--column", "a,b", "--json", name)]
        self.assertEqual([o["values"] for o in objects],
                         [[Decimal("0.25"), 9007199254740993], [Decimal("0.125"), 3]])
        self.assertEqual({o["dtype"] for o in objects}, {"decimal"})
        found = json.loads(self.result("median", "--column", "a", "--json", name),
                           parse_float=Decimal)
        self.assertEqual((found["dtype"], found["value"]), ("decimal", 4503599627370496.625))

    def test_forms_of_integers_of_128_bits(self):
        name = self.write("x.csv", b"a,b\n36893488147419103232,3.5\n-1,123456789012345678901\n")
        objects = [json.loads(line) for line in
                   self.lines("sort", "--column", "a,b", "--json", name)]
        self.assertEqual([o["values"] for o in objects],
                         [[-1, "36893488147419103232"], [3.5, 123456789012345678901]])
        self.assertEqual([o["dtype"] for o in objects], ["i128", "decimal"])
        for form, separator in ("--csv", ","), ("--tsv", "\t"):
            text = self.result("quantile", "-p", "0,50,100", "--column", "a", form, name)
            values = [line.split(separator)[1] for line in text.split("\n")]
            self.assertEqual(values[-3:], ["-1", "1.8446744073709552e+19", "36893488147419103232"])
        found = json.loads(self.result("median", "--column", "b", "--json", name))
        self.assertEqual((found["dtype"], found["value"]), ("decimal", 61728394506172839452.25))

    def test_axes_of_a_table(self):
        name = self.write("x.csv", b"a,b\n0.25,3\n9007199254740993,0.125\n1,-2.001\n")
        self.assertEqual(self.lines("sort", "--axis", 0, name),
                         "0.25 -2.001 1 0.125 9007199254740993 3".split())
        self.assertEqual(self.lines("median", "--axis", 1, name),
                         ["1.625", "4503599627370497", "-0.5005"])
        self.assertEqual(self.lines("top", "-n", 1, "--axis", 0, name),
                         ["9007199254740993\t1", "3\t0"])

    def test_segments(self):
        name = self.write("x.txt", b"0.5\n0.25\n9007199254740993\n0.1\n")
        offsets = self.save("o.npy", np.array([0, 2, 2, 4]))
        self.assertEqual(self.lines("sort", "--offsets", offsets, name),
                         ["0.25", "0.5", "0.1", "9007199254740993"])
        some = ["quantile", "-p", "100", "--method", "lower", "--offsets", offsets, name]
        self.assertEqual(self.lines(*some, "--empty", "-1.5"), ["0.5", "-1.5", "9007199254740993"])
        done = run(*some, "--empty", "0.0001")  # not in units of 0.01
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"decimal", done.stderr)

    def test_parts_of_integers_of_128_bits(self):
        name = self.write("x.txt", b"36893488147419103232\n-1\n5\n36893488147419103233\n")
        offsets = self.save("o.npy", np.array([0, 2, 2, 4]))
        index = self.save("i.npy", np.array([1, 0, 0, 1]))
        self.assertEqual(self.lines("sort", "--offsets", offsets, name),
                         ["-1", "36893488147419103232", "5", "36893488147419103233"])
        large = str(10**37)
        self.assertEqual(self.lines("quantile", "-p", "100", "--method", "lower", "--offsets",
                                    offsets, name, "--empty", large),
                         ["36893488147419103232", large, "36893488147419103233"])
        some = ["quantile", "-p", "0,50,100", "--index", index, "--slots", 2, name]
        self.assertEqual(self.lines(*some), ["-1", "36893488147419103232", "2",
                                             "3.6893488147419103e+19", "5", "36893488147419103233"])
        self.result(*some, "-o", self.path("q.npy"))
        self.assertEqual(np.load(self.path("q.npy")).tolist(),
                         [[-1, 2.0**65], [2, 2.0**65], [5, 2.0**65]])
        table = self.write("t.csv", b"36893488147419103232,1\n-7,36893488147419103233\n")
        self.assertEqual(self.lines("median", "--axis", 0, table),
                         ["1.8446744073709552e+19"] * 2)
        self.assertEqual(self.lines("sort", "--axis", 1, table),
                         ["1", "36893488147419103232", "-7", "36893488147419103233"])
        self.assertEqual(self.lines("top", "-n", 1, "--axis", 1, table),
                         ["36893488147419103232\t0", "36893488147419103233\t1"])

    def test_describe(self):
        table = b"a,b\n0.1,1\n0.3,5\n0.30,9007199254740993\n"
        for how in [self.write("x.csv", table)], []:
            more = {} if how else {"stdin": table}
            found = json.loads(self.lines("describe", "--quantiles=0,25,100", "--column", "a",
                                          "--json", *how, **more)[0], parse_float=str)
            self.assertEqual((found["dtype"], found["sum"], found["quantiles"]),
                             ("decimal", "0.7", ["0.1", "0.2", "0.3"]))
        found = self.result("describe", "--quantiles=50,100", "--column", "b", stdin=table)
        self.assertEqual(found.split()[-3:], ["5", "p100", "9007199254740993"])
        wide = b"36893488147419103232\n-5\n36893488147419103233\n"
        found = self.result("describe", "--quantiles=0,50", stdin=wide)
        self.assertEqual(found.split()[-4:], ["p0", "-5", "p50", "36893488147419103232"])

    def test_nulls_have_no_place(self):
        table = b"a,b\n0.1,1\n,2\n-0.25,3\n"
        some = ["--column", "a", "--null-policy", "skip"]
        for limit in [], LIMITED:
            self.assertEqual(self.lines("sort", *some, *limit, stdin=table), ["-0.25", "0.1"])
            self.assertEqual(self.lines("top", "-n", 2, *some, *limit, stdin=table),
                             ["0.1\t0", "-0.25\t2"])
            self.assertEqual(self.lines("median", *some, *limit, stdin=table), ["-0.075"])


class Totals(DecimalsTest):
    """Several files have the greater scale."""

    def files(self, rng):
        """Files of random scales, in random order, and all their numbers."""
        columns = [["%.*f" % (places, rng.uniform(-99, 99)) for _ in range(rng.choice([1, 40]))]
                   for places in rng.sample(range(8), 3)]
        names = [self.write("%d.txt" % i, "\n".join(c).encode()) for i, c in enumerate(columns)]
        return names, [Fraction(text) for c in columns for text in c]

    def total(self, *arguments):
        rows = [line.split("\t") for line in self.lines(*arguments, "--total")]
        return [row[:-1] for row in rows if row[-1] == "total"]

    def test_they_are_exact(self):
        for seed in range(CASES // 2 + 1):
            rng = random.Random(seed)
            names, x = self.files(rng)
            order, line = ordered(x), sorted(x)
            for limit in [], LIMITED:
                found = self.total("sort", *limit, *names)
                self.assertEqual([row[0] for row in found], list(map(plain, line)), seed)
                found = self.total("unique", *limit, *names)
                self.assertEqual([row[0] for row in found], list(map(plain, sorted(set(x)))), seed)
                found = self.total("argsort", *limit, *names)
                self.assertEqual([row[0] for row in found], list(map(str, order)), seed)
                found = self.total("top", "-n", 5, *limit, *names)
                self.assertEqual(found, [[plain(x[i]), str(i)] for i in ordered(x, True)[:5]])
                found = self.total("median", *limit, *names)
                self.same([found[0][0]], [exact_at(line, median_place(len(line)))], True, seed)
                want = [exact_at(line, place_of("hazen", len(line), p / 100)) for p in PERCENTS]
                found = self.total("quantile", "--method", "hazen", "-p",
                                   ",".join(map(str, PERCENTS)), *limit, *names)
                self.same([row[1] for row in found], want, True, seed)

    def test_a_pipe_is_one_of_them(self):
        name = self.write("a.txt", b"0.125\n3\n")
        for names in [name, "-"], ["-", name]:
            for command, want in [("median", "1.5625"), ("median --memory 64M", "1.5625"),
                                  ("top -n 1", "7.5")]:
                rows = [line.split("\t") for line in
                        self.lines(*command.split(), "--total", *names, stdin=b"0\n7.5\n")]
                self.assertEqual(rows[-1][0], want, (names, command))

    def test_an_array_of_integers_is_one_of_them(self):
        names = [self.save("x.npy", np.array([3, -7])), self.write("a.txt", b"0.125\n-0.5\n1\n")]
        for order, limit in itertools.product([1, -1], [[], LIMITED]):
            files = [*limit, "--total", *names[::order]]
            for command, want in [("median", "0.125"), ("sort", "3"), ("unique", "3"),
                                  ("top -n 1", "3"), ("quantile -p 0", "-7")]:
                rows = [line.split("\t") for line in self.lines(*command.split(), *files)]
                self.assertEqual((rows[-1][0], rows[-1][-1]), (want, "total"), command)

    def test_what_128_bits_do_not_hold_is_refused(self):
        names = [self.write("a.txt", b"9" * 38 + b"\n"), self.write("b.txt", b"0.025\n")]
        for command, order in itertools.product(["sort", "top -n 1", "median", "unique"], [1, -1]):
            for limit in [], LIMITED:
                done = run(*command.split(), *limit, "--total", *names[::order])
                self.assertEqual(done.returncode, 3, (command, limit))
                self.assertNotIn(b"total\n", done.stdout)
                self.assertIn(b"128 bits do not hold all numbers", done.stderr)
                self.assertIn(b"hint: --dtype f64", done.stderr)

    def test_what_64_bits_do_not_hold_takes_128(self):
        texts = [b"9223372036854775807\n", b"0.5\n", b"18446744073709551615\n",
                 b"-36893488147419103232\n36893488147419103232\n"]
        names = [self.write("%d.txt" % i, text) for i, text in enumerate(texts)]
        x = [Fraction(line) for text in texts for line in text.decode().split()]
        for order, limit in itertools.product([1, -1], [[], LIMITED]):
            some = [*limit, *names[::order]]
            self.assertEqual([row[0] for row in self.total("sort", *some)],
                             [plain(v) for v in sorted(x)])
            self.assertEqual([row[0] for row in self.total("unique", *some)],
                             [plain(v) for v in sorted(x)])
            self.assertEqual([row[0] for row in self.total("top", "-n", 2, *some)],
                             [plain(v) for v in sorted(x)[:2:-1]])
            self.assertEqual(self.total("median", *some), [["9223372036854775807"]])
            self.assertEqual([row[1] for row in self.total("quantile", "-p", "0,50,100", *some)],
                             [plain(sorted(x)[i]) for i in (0, 2, 4)])


class Beyond(DecimalsTest):
    """More numbers than memory sorts at once."""

    def test_runs_are_of_one_scale(self):
        n = 1 << (18 if SHORT else 20)
        r = np.random.default_rng(1)
        units = r.integers(-10**9, 10**9, n)
        units[r.random(n) < 0.3] //= 1000
        units[:-1000] = units[:-1000] // 100 * 100  # a scale that comes at the end
        column = ["%.4f" % x for x in (units / 10000).tolist()]
        column[:-1000] = [text[:-2] for text in column[:-1000]]
        text = "\n".join(column).encode()
        name, out = self.write("x.txt", text), self.path("out.npy")
        order = np.argsort(units, kind="stable")
        want = units[order] / 10000
        for how in [name], []:
            more = {} if how else {"stdin": text}
            self.result("sort", *LIMITED, *how, "-o", out, **more)
            np.testing.assert_array_equal(np.load(out), want)
            self.result("argsort", *LIMITED, *how, "-o", out, **more)
            np.testing.assert_array_equal(np.load(out), order)
        other = self.write("y.txt", b"0.000001\n")
        both = np.unique(np.append(units * 100, 1)).tolist()
        want = [plain(Fraction(u, 10**6)) for u in both]
        for names in [name, other], [other, name]:
            rows = self.lines("unique", "--total", *LIMITED, *names)
            self.assertEqual([row[:-6] for row in rows if row.endswith("\ttotal")], want)

    def test_runs_of_128_bits(self):
        n, rng = 1 << (17 if SHORT else 19), random.Random(2)
        x = [rng.randrange(-10**4, 10**4) * 10**30 + i % 3 for i in range(n)]
        text = "\n".join(map(str, x)).encode()
        name, order, line = self.write("x.txt", text), ordered(x), sorted(x)
        answers = [
            (["sort"], line), (["argsort"], order),
            (["unique", "--count"], ["%d\t%d" % pair for pair in sorted(collections.Counter(line).items())]),
            (["quantile", "-p", "0,50,100", "--method", "lower"], [line[i] for i in (0, (n - 1) // 2, n - 1)])]
        ways = [([name], {}), ([], {"stdin": text})]
        for i, (command, want) in enumerate(answers):
            for how, more in ways[i % 2:][:1] if SHORT else ways:
                self.assertEqual(self.lines(*command, *LIMITED, *how, **more), list(map(str, want)), command)
        out = self.path("out.npy")
        self.result("sort", *LIMITED, name, "-o", out)
        self.assertEqual(np.load(out).tolist(), list(map(float, line)))
