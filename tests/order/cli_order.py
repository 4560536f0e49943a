"""sort, argsort, median, quantile, top, unique: against plain Python, which sorts and computes with
fractions; as lines, tables, arrays and JSON; of every input; and what is refused.
Builds: release, asan (full)."""
import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np

from command import DTYPES, SHORT, CommandTest, header, least_memory, run
from quantiles import CHOOSING, METHODS, place_of, value_at

COMMANDS = {"sort": [], "argsort": [], "median": [], "quantile": [], "top": ["-n", 3], "unique": []}


def rank(x):
    """What sorts: -0 before 0, and NaN last."""
    if isinstance(x, float) and math.isnan(x):
        return (2, 0, 0)
    return (1, x, 0 if isinstance(x, float) and math.copysign(1, x) < 0 else 1)


def order(values, descending=False, skip=False):
    """The indices that sort, ties by index; NaNs that are skipped are left out."""
    found = [i for i, x in enumerate(values) if not (skip and x != x)]
    if not descending:
        return sorted(found, key=lambda i: rank(values[i]))
    groups = itertools.groupby(sorted(found, key=lambda i: rank(values[i])),
                               key=lambda i: rank(values[i]))
    return [i for group in reversed([list(group) for _, group in groups]) for i in group]


def shown(x):
    """A number as the command shows it, of those here: few digits."""
    if isinstance(x, int):
        return str(int(x))
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


def quantile(values, percent):
    """The exact quantile of finite numbers, of the default method."""
    x = sorted(Fraction(v) for v in values)
    at = Fraction(percent) / 100 * (len(x) - 1)
    i = math.floor(at)
    return x[i] if i + 1 == len(x) else x[i] + (x[i + 1] - x[i]) * (at - i)


def samples(dtype, n, seed):
    """Numbers with many ties; of floats, specials too."""
    r, kind = random.Random(seed), np.dtype(dtype)
    if kind.kind == "b":
        return np.array([r.random() < 0.5 for _ in range(n)], kind)
    if kind.kind in "iu":
        ends = [int(np.iinfo(kind).min), int(np.iinfo(kind).max)]
        return np.array([r.choice(ends + list(range(20))) for _ in range(n)], kind)
    some = [0.0, -0.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 1.5, 64.0, -3.0]
    return np.array([r.choice(some) for _ in range(n)], kind)


def read(name):
    with open(name, "rb") as f:
        return f.read()


class OrderTest(CommandTest):
    def lines(self, *arguments, **more):
        text = self.result(*arguments, **more)
        return text.split("\n") if text else []


class Sort(OrderTest):
    def check(self, x, ways=((),)):
        """With the options of each of some ways."""
        values = x.ravel().tolist()
        name = self.save("x.npy", x)
        for descending, skip in itertools.product([False, True], repeat=2):
            flags = ["--descending"] * descending + ["--nan", "skip"] * skip
            want = order(values, descending, skip)
            places, numbers = list(map(str, want)), [shown(values[i]) for i in want]
            for way in ways:
                self.assertEqual(self.lines("argsort", *flags, *way, name), places, way)
                self.assertEqual(self.lines("sort", *flags, *way, name), numbers, way)

    def test_every_dtype(self):
        for i, dtype in enumerate(DTYPES):
            self.check(samples(dtype, 200, i))

    def test_sizes(self):
        for n in [0, 1, 2, 3, 17, 257, 20001]:
            self.check(samples("f8", n, n))
            self.check(samples("u2", n, n))

    def test_every_width_and_number_of_threads(self):
        ways = itertools.product(["--isa"], ["generic", "auto"], ["-j"], [1, 2, 3])
        self.check(samples("f4", 70000, 1), list(ways))

    def test_c_order(self):
        x = samples("i4", 60, 3).reshape(3, 4, 5)
        want = self.lines("argsort", self.save("c.npy", x))
        self.assertEqual(self.lines("argsort", self.save("f.npy", np.asfortranarray(x))), want)
        swapped = x.astype(x.dtype.newbyteorder())
        self.assertEqual(self.lines("argsort", self.save("s.npy", swapped)), want)
        self.assertEqual(self.lines("argsort", stdin=read(self.path("f.npy"))), want)

    def test_arrays_keep_their_bits(self):
        out = self.path("out.npy")
        bits = [0x7FF8000000000001, 0xFFF8000000000002, 0, 1 << 63, 0x3FF0000000000000]
        x = np.array(bits, "u8").view("f8")
        self.assertEqual(self.result("sort", self.save("x.npy", x), "-o", out), "")
        self.assertEqual(np.load(out).view("u8").tolist(), [1 << 63, 0, bits[4], bits[0], bits[1]])
        for dtype in DTYPES:
            y = samples(dtype, 99, 5)
            name, values = self.save("y.npy", y), y.tolist()
            self.result("sort", name, "-o", out)
            found = np.load(out)
            self.assertEqual((found.dtype, found.shape), (y.dtype, y.shape))
            self.assertEqual(found.tobytes(), y[order(values)].tobytes())
            self.result("argsort", "--descending", name, "-o", out)
            found = np.load(out)
            self.assertEqual((found.dtype, found.tolist()), (np.dtype("i8"), order(values, True)))

    def test_along_an_axis(self):
        x = samples("i2", 60, 4).reshape(3, 4, 5)
        name, out = self.save("x.npy", x), self.path("out.npy")
        self.save("f.npy", np.asfortranarray(x))
        for axis in range(-3, 3):
            self.result("sort", "--axis", axis, name, "-o", out)
            np.testing.assert_array_equal(np.load(out), np.sort(x, axis))
            self.result("argsort", "--axis", axis, self.path("f.npy"), "-o", out)
            np.testing.assert_array_equal(np.load(out), np.argsort(x, axis, kind="stable"))
            self.assertEqual(self.lines("sort", "--axis", axis, self.path("f.npy")),
                             list(map(str, np.sort(x, axis).ravel().tolist())))

    def test_columns_of_a_text_along_axis_0(self):
        table = self.write("t.csv", b"a,b\n3,1\n1,2.5\n2,-4\n")
        self.result("sort", "--axis", 0, table, "-o", self.path("out.npy"))
        self.assertEqual(np.load(self.path("out.npy")).tolist(), [[1, -4], [2, 1], [3, 2.5]])

    def test_segments(self):
        x = samples("f4", 40, 6)
        name, values = self.save("x.npy", x), x.tolist()
        cuts = [0, 0, 7, 8, 31, 40]
        offsets = self.save("o.npy", np.array(cuts))
        want = [a + i for a, b in zip(cuts, cuts[1:]) for i in order(values[a:b])]
        self.assertEqual(self.lines("sort", "--offsets", offsets, name),
                         [shown(values[i]) for i in want])
        places = [i for a, b in zip(cuts, cuts[1:]) for i in order(values[a:b])]
        self.assertEqual(self.lines("argsort", "--offsets", offsets, name), list(map(str, places)))


class Statistics(OrderTest):
    def test_medians_are_exact(self):
        for i, dtype in enumerate(DTYPES):
            for n in [1, 2, 3, 10, 11, 1000]:
                x = samples(dtype, n, n + i)
                if x.dtype.kind == "f":
                    x = x[np.isfinite(x)]
                if not x.size:
                    continue
                s = sorted(Fraction(v) for v in x.tolist())
                want = (s[(len(s) - 1) // 2] + s[len(s) // 2]) / 2
                found = float(self.result("median", self.save("x.npy", x)))
                self.assertEqual(found, float(want), (dtype, n))

    def test_a_mean_of_two_is_rounded_once(self):
        big = np.array([2**63 - 1, 2**63 - 3, 0, 2**64 - 1], "u8")
        self.assertEqual(float(self.result("median", self.save("x.npy", big))),
                         float(Fraction(2 * 2**63 - 4, 2)))
        odd = np.array([1, 1 + 2.0**-23], "f4")
        self.assertEqual(self.result("median", self.save("x.npy", odd)), "1")
        most = np.array([1.7976931348623157e308] * 2)
        self.assertEqual(self.result("median", self.save("x.npy", most)), "1.7976931348623157e+308")

    def test_quantiles_of_whole_numbers(self):
        r = random.Random(1)
        for n in [1, 2, 5, 33, 1001]:
            x = np.array([r.randrange(-1000, 1000) for _ in range(n)], "i8")
            name = self.save("x.npy", x)
            percents = [0, 12.5, 25, 50, 75, 100]
            found = self.lines("quantile", "-p", ",".join(map(str, percents)), name)
            for text, percent in zip(found, percents):
                self.assertAlmostEqual(float(text), float(quantile(x.tolist(), percent)), delta=1e-9)
            self.assertEqual([float(t) for t in self.lines("quantile", name)],
                             [float(quantile(x.tolist(), p)) for p in [0, 25, 50, 75, 100]])

    def test_methods_by_name(self):
        x = np.array([7, 1, 3, 10, 5.5])
        name = self.save("x.npy", x)
        for method in METHODS:
            percents, line = [0, 10, 37.5, 52, 81, 100], sorted(x.tolist())
            want = [value_at(line, place_of(method, 5, p / 100)) for p in percents]
            found = self.lines("quantile", "-p", ",".join(map(str, percents)), "--method", method, name)
            self.assertEqual(list(map(float, found)), want, method)

    def test_values_are_exact(self):
        """Between two numbers, whatever lies there; at one, that number with every digit."""
        top, large = "-1.7e308\n1.7e308\n", [10**18, 10**18 + 1, 10**18 + 2]
        ends = "%d\n%d\n" % (-(2**63), 2**63 - 1)
        for text, percents, want in [
            (top, "25,50,75", ["-8.5e+307", "0", "8.5e+307"]),
            ("1\n2\ninf\ninf\n", "50,75", ["inf", "inf"]),
            ("-inf\n1\n2\ninf\n", "10,50,90", ["-inf", "1.5", "inf"]),
            ("-inf\ninf\n", "0,50", ["-inf", "nan"]),
            (ends, "50", ["-0.5"]),
            (ends, "0,100", ends.split()),
            ("%d\n%d\n%d\n" % tuple(large), "0,25,50,100", [str(large[0]), "1e+18", *map(str, large[1:])]),
            ("%d\n" % large[1] * 2, "30", [str(large[1])]),
            ("18446744073709551615\n", "7", ["18446744073709551615"]),
        ]:
            self.assertEqual(self.lines("quantile", "-p", percents, stdin=text.encode()), want)
            found = json.loads(self.result("quantile", "-p", percents, "--json", stdin=text.encode()))
            self.assertEqual([v if isinstance(v, str) else float(v) for v in found["values"]],
                             [w if isinstance(v, str) else float(w) for v, w in zip(found["values"], want)])
        x = self.save("x.npy", np.array(large))
        matrix = self.save("y.npy", np.array([large, [1, 2, 4]]))
        self.assertEqual(self.lines("median", x), [str(large[1])])
        self.assertEqual(self.lines("median", "--axis", "1", matrix), [str(large[1]), "2"])
        self.assertEqual(self.lines("median", "--axis", "0", matrix), ["5e+17", "5e+17", "5e+17"])
        offsets = self.save("o.npy", np.array([0, 1, 3, 3]))
        self.assertEqual(self.lines("median", "--offsets", offsets, "--empty", "-1", x), [str(large[0]), "1e+18", "-1"])
        index = self.save("i.npy", np.array([1, 1, 0]))
        self.assertEqual(self.lines("quantile", "-p", "50,100", "--index", index, "--slots", 2, x),
                         [str(large[2]), "1e+18", str(large[2]), str(large[1])])

    def test_floats_have_one_dtype(self):
        x = self.save("x.npy", np.array([0.1, 0.2, 0.3], "f4"))
        self.assertEqual(self.lines("quantile", "-p", "0,50", x), ["0.1", "0.2"])
        self.assertEqual(self.lines("quantile", "-p", "50", "--method", "weibull", x), ["0.2"])
        self.assertEqual(self.lines("quantile", "-p", "50,75", x),
                         [repr(float(np.float32(0.2))), repr((float(np.float32(0.2)) + float(np.float32(0.3))) / 2)])

    def test_lines_of_several_columns_have_percents(self):
        for name, rows in (("f.csv", "1,2\n3,9\n"), ("g.csv", "5,6\n7,8\n")):
            self.write(name, ("a,b\n" + rows).encode())
        f, g = self.path("f.csv"), self.path("g.csv")
        ask = ["quantile", "-p", "25,50"]
        self.assertEqual(self.lines(*ask, "--column", "a", f), ["1.5", "2"])
        self.assertEqual(self.lines(*ask, "--column", "a,b", f), ["a\t25\t1.5", "a\t50\t2", "b\t25\t3.75", "b\t50\t5.5"])
        self.assertEqual(self.lines(*ask, "--column", "a", f, g),
                         ["25\t1.5\t" + f, "50\t2\t" + f, "25\t5.5\t" + g, "50\t6\t" + g])
        self.assertEqual(self.lines("quantile", "-p", "50", "--column", "a,b", f), ["a\t2", "b\t5.5"])
        self.assertEqual(self.lines(*ask, "--column", "a,b", "--total", f),
                         self.lines(*ask, "--column", "a,b", "--total", "--tsv", f))

    def test_dtypes_of_arrays(self):
        """A result has the dtype of the elements where all places are whole, whatever is equal
        beside others."""
        out = self.path("out.npy")
        for dtype in DTYPES:
            x = samples(dtype, 30, 1)
            x = x[np.isfinite(x)] if x.dtype.kind == "f" else x
            name = self.save("x.npy", x)
            for method in METHODS[:5] + METHODS[5::3]:
                self.result("quantile", "-p", "5,95", "--method", method, name, "-o", out)
                want = x.dtype if method in CHOOSING else np.dtype("f8")
                self.assertEqual((np.load(out).dtype, np.load(out).shape), (want, (2,)))
            for y in (x, x[:-1]):
                name = self.save("x.npy", y)
                self.result("median", name, "-o", out)
                want = x.dtype if x.dtype.kind == "f" or len(y) % 2 else np.dtype("f8")
                self.assertEqual((np.load(out).dtype, np.load(out).shape), (want, ()))
                self.result("quantile", "-p", "0,100", name, "-o", out)
                self.assertEqual(np.load(out).dtype, x.dtype)
            self.result("median", "--axis", "0", self.save("y.npy", np.resize(y, (9, 3))), "-o", out)
            self.assertEqual(np.load(out).dtype, x.dtype)

    def test_nan(self):
        name = self.save("x.npy", np.array([3, math.nan, 1, 2]))
        self.assertEqual(self.result("median", name), "nan")
        self.assertEqual(self.result("median", "--nan", "skip", name), "2")
        self.assertEqual(self.lines("quantile", "-p", "0,100", name), ["nan", "nan"])
        self.assertEqual(self.lines("quantile", "-p", "0,100", "--nan", "skip", name), ["1", "3"])
        for command, more in COMMANDS.items():
            self.refused(3, "NaN", command, *more, "--nan", "error", name)

    def test_axes_segments_and_slots(self):
        x = samples("i4", 60, 8).reshape(3, 4, 5)
        name, out = self.save("x.npy", x), self.path("out.npy")
        for axes in [(0,), (1,), (2,), (0, 2), (0, 1, 2)]:
            text = ",".join(map(str, axes))
            self.result("median", "--axis", text, name, "-o", out)
            np.testing.assert_array_equal(np.load(out), np.median(x, axes))
            self.result("quantile", "-p", "0,50,100", "--method", "lower", "--axis", text, name,
                        "-o", out)
            want = np.percentile(x, [0, 50, 100], axis=axes, method="lower")
            np.testing.assert_array_equal(np.load(out), want)
            self.assertEqual(self.lines("quantile", "-p", "0,50,100", "--method", "lower",
                                        "--axis", text, name), list(map(str, want.ravel().tolist())))
        flat = self.save("flat.npy", x.ravel())
        cuts = [0, 1, 20, 60]
        offsets = self.save("o.npy", np.array(cuts))
        parts = [x.ravel()[a:b] for a, b in zip(cuts, cuts[1:])]
        self.assertEqual(list(map(float, self.lines("median", "--offsets", offsets, flat))),
                         [float(np.median(part)) for part in parts])
        index = np.arange(60) * 7 % 5
        slots = self.save("i.npy", index)
        self.assertEqual(
            list(map(float, self.lines("median", "--index", slots, "--slots", 6, "--empty", -1,
                                       flat))),
            [float(np.median(x.ravel()[index == s])) for s in range(5)] + [-1])
        self.refused(3, "x.npy", "median", "--offsets", offsets, name)
        self.refused(3, "no elements", "median", "--index", slots, "--slots", 6, flat)
        self.refused(3, "i.npy", "median", "--index", slots, "--slots", 4, flat)
        self.refused(3, "o.npy", "median", "--offsets", self.save("o.npy", np.array([0, 61])), flat)

    def test_tables_tell_percents(self):
        x, y = self.save("x.npy", np.arange(11)), self.save("y.npy", np.arange(3))
        self.assertEqual(self.lines("quantile", "-p", "5,99.9", "--tsv", "--method", "lower", x),
                         ["5\t0", "99.9\t9"])
        self.assertEqual(self.lines("quantile", "-p", "50", "--tsv", x, y),
                         ["50\t5\t" + x, "50\t1\t" + y])
        self.assertEqual(self.lines("quantile", "-p", "50", x, y), ["5\t" + x, "1\t" + y])


class Top(OrderTest):
    def test_values_and_indices(self):
        for i, dtype in enumerate(DTYPES):
            for n, k in [(0, 1), (1, 1), (50, 1), (50, 7), (50, 50), (50, 60), (5000, 100)]:
                x = samples(dtype, n, n + i)
                name, values = self.save("x.npy", x), x.tolist()
                for least, skip in [(False, False), (True, False), (False, True), (True, True)]:
                    if SHORT and (least, skip) != (False, i % 2 == 0):
                        continue
                    flags = ["--least"] * least + ["--nan", "skip"] * skip
                    want = order(values, not least, skip)[:k]
                    self.assertEqual(self.lines("top", "-n", k, *flags, name),
                                     ["%s\t%d" % (shown(values[j]), j) for j in want])

    def test_along_an_axis(self):
        x = samples("i4", 60, 8).reshape(3, 4, 5)
        out = self.path("out.npy")
        self.result("top", "-n", 2, "--axis", 1, self.save("x.npy", x), "-o", out)
        np.testing.assert_array_equal(np.load(out), np.sort(x, 1)[:, ::-1][:, :2])
        self.result("top", "-n", 9, "--least", "--axis", 1, self.path("x.npy"), "-o", out)
        np.testing.assert_array_equal(np.load(out), np.sort(x, 1))


class Unique(OrderTest):
    def test_values_and_counts(self):
        for i, dtype in enumerate(DTYPES):
            for n in [0, 1, 30, 3000]:
                x = samples(dtype, n, n + i)
                name, counts = self.save("x.npy", x), {}
                for v in x.tolist():
                    v = 0.0 if v == 0 and x.dtype.kind == "f" else v
                    counts[rank(v)] = (v, counts.get(rank(v), (v, 0))[1] + 1)
                want = [counts[key] for key in sorted(counts)]
                self.assertEqual(self.lines("unique", name), [shown(v) for v, _ in want])
                self.assertEqual(self.lines("unique", "--count", name),
                                 ["%s\t%d" % (shown(v), c) for v, c in want])

    def test_nan_that_is_skipped(self):
        name = self.save("x.npy", np.array([math.nan, 1, math.nan]))
        self.assertEqual(self.lines("unique", "--count", name), ["1\t1", "nan\t2"])
        self.assertEqual(self.lines("unique", "--count", "--nan", "skip", name), ["1\t1"])

    def test_the_same_as_count(self):
        x = samples("i8", 9000, 2)
        name = self.save("x.npy", x)
        self.assertEqual(self.lines("unique", "--count", name),
                         self.lines("count", "--sort", "key", name))


class Inputs(OrderTest):
    def test_every_form(self):
        x = np.array([5, -2, 5, 7, 0, 1], "i2")
        name = self.save("x.npy", x)
        text = "".join("%d\n" % v for v in x)
        forms = [([name], b""), (["-"], read(name)), ([], text.encode()),
                 ([self.write("x.txt", text.encode())], b""),
                 (["--format", "raw", "--dtype", "i16", self.write("x.raw", x.tobytes())], b"")]
        for command, more in COMMANDS.items():
            want = self.lines(command, *more, name)
            for arguments, stdin in forms:
                self.assertEqual(self.lines(command, *more, *arguments, stdin=stdin), want, command)
        self.assertEqual(self.lines("sort", "--offset", 1, "--count", 3, name), ["-2", "5", "7"])

    def test_columns(self):
        table = self.write("t.csv", b"a,b\n3,1\n1,2.5\n2,-4\n")
        self.assertEqual(self.lines("sort", "--column", "b", table), ["-4", "1", "2.5"])
        self.assertEqual(self.lines("sort", "--column", "a,b", table),
                         ["a\t1", "a\t2", "a\t3", "b\t-4", "b\t1", "b\t2.5"])
        self.assertEqual(self.lines("median", "--column", "a", "--column", "b", table),
                         ["a\t2", "b\t1"])
        self.assertEqual(self.lines("top", "-n", 1, "--column", "a,b", table), ["a\t3\t0", "b\t2.5\t1"])

    def test_a_late_float_makes_floats(self):
        numbers = [str(9007199254740993 + i % 5) for i in range(30000)]
        self.assertEqual(self.lines("sort", stdin="\n".join(numbers).encode()), sorted(numbers))
        found = self.lines("top", "-n", 1, stdin="\n".join(numbers + ["1e40"]).encode())
        self.assertEqual(found, ["1e+40\t30000"])

    def test_several_files_and_their_total(self):
        x, y = self.save("x.npy", np.array([3, 1])), self.save("y.npy", np.array([2, 5, 1]))
        self.assertEqual(self.lines("sort", x, y), [
            "1\t" + x, "3\t" + x, "1\t" + y, "2\t" + y, "5\t" + y])
        self.assertEqual(self.lines("median", "--total", x, y), ["2\t" + x, "2\t" + y, "2\ttotal"])
        self.assertEqual(self.lines("argsort", "--total", x, y)[5:],
                         ["%d\ttotal" % i for i in [1, 4, 2, 0, 3]])
        self.assertEqual(self.lines("top", "-n", 1, "--total", x, y)[-1], "5\t3\ttotal")
        z = self.save("z.npy", np.array([1.5]))
        done = run("median", "--total", x, z)
        self.assertEqual((done.returncode, done.stdout.decode()), (3, "2\t%s\n" % x))
        self.assertIn(b"cannot make a total of different dtypes", done.stderr)

    def test_json(self):
        x = np.array([2.5, math.nan, -0.0, 1e300])
        name = self.save("x.npy", x)

        def object_of(*arguments):
            found = json.loads(self.result(*arguments, "--json", name))
            self.assertEqual((found["schema"], found["command"], found["file"], found["dtype"],
                              found["n"]), (1, arguments[0], name, "f64", 4))
            self.assertIn("device", found)
            self.assertGreaterEqual(found["seconds"], 0)
            return found

        self.assertEqual(object_of("sort")["values"], [0, 2.5, 1e300, "nan"])
        self.assertEqual(object_of("argsort")["values"], [2, 0, 3, 1])
        found = object_of("median", "--nan", "skip")
        self.assertEqual((found["value"], found["text"], found["nan"], found["inf"]),
                         (2.5, "2.5", 1, 0))
        found = object_of("quantile", "-p", "0,99.5", "--method", "higher", "--nan", "skip")
        self.assertEqual((found["percents"], found["values"], found["method"], found["shape"]),
                         ([0, 99.5], [0, 1e300], "higher", [2]))
        found = object_of("top", "-n", 2)
        self.assertEqual((found["values"], found["index"]), (["nan", 1e300], [1, 3]))
        found = object_of("unique", "--count")
        self.assertEqual((found["values"], found["counts"]), ([0, 2.5, 1e300, "nan"], [1] * 4))
        found = object_of("sort", "-o", self.path("out.npy"))
        self.assertEqual((found["shape"], "values" in found), ([4], False))
        self.assertEqual(np.load(self.path("out.npy")).shape, (4,))

    def test_hex(self):
        self.assertEqual(self.lines("sort", "--hex", "--dtype", "f64", stdin=b"1.5\n-0.0\n"),
                         ["-0x0p+0", "0x1.8p+0"])
        self.assertEqual(self.result("median", "--hex", stdin=b"1.5\n2\n"), "0x1.cp+0")

    def test_many_lines(self):
        x = np.random.default_rng(1).integers(0, 1 << 40, 100000)
        name, out = self.save("x.npy", x), self.path("out.txt")
        self.result("sort", "-o", out, name)
        with open(out) as f:
            self.assertEqual([int(line) for line in f], sorted(x.tolist()))

    def test_nothing(self):
        empty = self.save("x.npy", np.zeros(0))
        for command in ["sort", "argsort", "unique"]:
            self.assertEqual(self.result(command, empty), "")
            self.result(command, empty, "-o", self.path("out.npy"))
            self.assertEqual(np.load(self.path("out.npy")).shape, (0,))
        self.assertEqual(self.result("top", "-n", 2, empty), "")
        self.refused(3, "x.npy", "median", empty)
        self.refused(3, "x.npy", "quantile", empty)
        self.assertEqual(self.result("median", "--empty", "nan", empty), "nan")
        self.refused(3, "x.npy", "median", "--nan", "skip", self.save("x.npy", np.array([math.nan])))


class Expressions(OrderTest):
    """-e: of results of several files, or of columns, some of which are NULL."""

    def answers(self, values, percents="0,12.5,50,87.5,100"):
        """What the commands show of numbers, each with its row."""
        rows, x = [i for i, v in enumerate(values) if v is not None], [v for v in values if v is not None]
        ascending = [x[i] for i in order(x)]
        firsts = order(x, descending=True)[:7]
        middle = (Fraction(ascending[(len(x) - 1) // 2]) + Fraction(ascending[len(x) // 2])) / 2
        return {("sort",): [shown(v) for v in ascending],
                ("sort", "--descending"): [shown(v) for v in ascending[::-1]],
                ("median",): [shown(float(middle))],
                ("quantile", "-p", percents): [shown(float(quantile(x, p))) for p in percents.split(",")],
                ("top", "-n", 7): ["%s\t%d" % (shown(x[i]), rows[i]) for i in firsts],
                ("unique", "--count"): ["%s\t%d" % (shown(v), ascending.count(v)) for v in sorted(set(x))]}

    def test_columns_with_and_without_values(self):
        r = random.Random(31)
        for n, share in [(1, 0), (9, 0.5), (400, 0.2), (3000, 0.01)]:
            a, b = [[None if r.random() < share else r.randint(-20, 20) for _ in range(n)] for _ in "ab"]
            a[0], b[0] = 3, -2
            text = "a,b\n" + "".join("%s,%s\n" % tuple("" if v is None else v for v in row) for row in zip(a, b))
            path = self.write("t.csv", text.encode())
            wanted = [None if None in row else row[0] * row[1] + row[0] for row in zip(a, b)]
            for j in 1, 2, 8:
                for command, lines in self.answers(wanted).items():
                    self.assertEqual(self.lines(*command, "-e", "a*b + a", "--null-policy", "skip", "-j", j, path), lines, (command, n))
            found = json.loads(self.result("top", "-n", 7, "-e", "a*b + a", "--null-policy", "skip", "--json", path))
            self.assertEqual((found["expression"], found["n"], found["null"]),
                             ("a*b + a", n - wanted.count(None), wanted.count(None)))
            if None in wanted:
                self.refused(3, "t.csv:%d: the result is NULL" % (2 + wanted.index(None)), "median", "-e", "a*b + a", path)

    def test_arrays_in_any_order(self):
        r = random.Random(32)
        a, b = [np.array([r.randint(-9, 9) / 2 for _ in range(42 * 11)]).reshape(42, 11) for _ in "ab"]
        wanted = (a - b).ravel().tolist()
        answers = self.answers(wanted)
        answers["argsort",] = ["%d" % i for i in order(wanted)]
        for left, right in [(a, b), (np.asfortranarray(a), b), (np.asfortranarray(a), np.asfortranarray(b))]:
            files = self.save("a.npy", left), self.save("b.npy", right)
            for command, lines in answers.items():
                self.assertEqual(self.lines(*command, "-e", "a - b", *files), lines, command)
        self.lines("sort", "-e", "a > b", *files, "-o", self.path("o.npy"))
        self.assertEqual(np.load(self.path("o.npy")).tolist(), sorted((a > b).ravel().tolist()))
        self.assertEqual(self.lines("median", "-e", "2*a", stdin=b"1\n" * 3000 + b"0.5\n"), ["2"])

    def test_refused(self):
        x = self.save("x.npy", np.arange(100000.0))
        for command, more in COMMANDS.items():
            self.refused(3, "--memory is too small: '%s' needs all numbers" % command, command, *more, "-e", "a + 1", "-j1",
                         "--memory", "%dM" % least_memory(), self.save("large.npy", np.zeros(1 << 20)))
            self.refused(2, "-e: character 4: ')' expected", command, *more, "-e", "(a ", x)
            self.refused(3, "at index 0", command, *more, "-e", "(a > 0 ? 7 : 1) % (a > 1 ? 7 : 0)", x)
        self.refused(2, "-e does not go with --total", "median", "-e", "a", "--total", x)
        self.refused(2, "-e does not go with --axis", "sort", "-e", "a", "--axis", 0, x)
        self.refused(2, "-e does not go with --checkpoint", "median", "-e", "a", "--checkpoint", self.path("c"), x)
        self.refused(2, "-e does not go with --by", "unique", "-e", "a", "--by", "a", x)
        self.refused(2, "has no place", "argsort", "-e", "a", "--null-policy", "skip", stdin=b"1\n")


class Refused(OrderTest):
    def test_methods_and_percents(self):
        error = self.refused(2, "unknown method: linaer", "quantile", "--method", "linaer", stdin=b"1")
        self.assertIn("did you mean 'linear'?", error)
        for text in ["101", "-1", "5,,6", "", "nan", "5,", "1e999", "5;6", "0.5x"]:
            self.refused(2, "percents from 0 to 100", "quantile", "--percents=" + text, stdin=b"1")

    def test_options_that_do_not_fit(self):
        x = self.save("x.npy", np.arange(6).reshape(2, 3))
        o = self.save("o.npy", np.array([0, 6]))
        self.refused(2, "-n K", "top", x)
        self.refused(2, "--number", "top", "-n", 0, x)
        self.refused(2, "one axis", "sort", "--axis", "0,1", x)
        self.refused(2, "axis 2", "sort", "--axis", 2, x)
        self.refused(2, "exclude each other", "median", "--axis", 0, "--offsets", o, x)
        self.refused(2, "--slots", "median", "--index", o, x)
        self.refused(2, "--offset does not go with --axis", "sort", "--axis", 0, "--offset", 1, x)
        self.refused(2, "--total does not go with --axis", "median", "--axis", 0, "--total", x)
        self.refused(2, "one FILE", "sort", x, x, "-o", self.path("out.npy"))
        self.refused(2, "--count", "unique", "--count", x, "-o", self.path("out.npy"))
        self.refused(2, "no option", "top", "-n", 1, "--offsets", o, x)
        self.refused(2, "no option", "unique", "--axis", 0, x)
        self.refused(2, "no option", "median", "--descending", x)
        self.refused(2, "one column", "sort", "--column", "1,2", "-o", self.path("out.npy"),
                     stdin=b"1,2\n")

    def test_data(self):
        self.refused(3, "x.npy", "sort", self.write("x.npy", header("'<f8'", "(5,)") + b"1234"))
        self.refused(3, "-", "sort", stdin=b"1\nx\n")
        self.refused(1, "none.npy", "sort", self.path("none.npy"))

    def test_a_failure_leaves_no_file(self):
        self.refused(3, "-", "sort", "-o", self.path("out.npy"), stdin=b"1\nx\n")
        with self.assertRaises(FileNotFoundError):
            open(self.path("out.npy"))

    def test_memory(self):
        small = "%dM" % least_memory()
        x = self.save("x.npy", np.arange(1 << 22)[::-1])
        self.refused(2, "needs the array whole", "sort", "--axis", 0, "-j2", "--memory", small, x)
        self.assertEqual(self.lines("median", "-j2", "--memory", small, stdin=b"1\n2\n"), ["1.5"])
