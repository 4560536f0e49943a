"""dot, cov, corr, fit, skew, kurtosis, and mean, var and std with weights: each value is the exact one,
rounded once. The oracle is Python's Fraction and Decimal."""
import json
import math
import os
import random
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest, least_memory, root, run

CASES = int(os.environ.get("BITFOLD_CASES", "80")) // (8 if SHORT else 2)
SIZES = [3, 4, 7, 60, 500]


def signed_root(numerator, square):
    """numerator / sqrt(square), rounded once."""
    return math.copysign(root(numerator * numerator / square), numerator)


def moments(x, y):
    """n, and n times the variances and the covariance."""
    n = len(x)
    a, b = sum(x) / n, sum(y) / n
    return (n, sum((v - a) ** 2 for v in x), sum((v - b) ** 2 for v in y),
            sum((v - a) * (w - b) for v, w in zip(x, y)), a, b)


def pair(op, x, y, ddof=0):
    """What a command prints of pairs of Fractions."""
    n, xx, yy, xy, a, b = moments(x, y)
    if op == "dot":
        return sum(v * w for v, w in zip(x, y))
    if op == "cov":
        return float(xy / (n - ddof))
    if op == "corr":
        return signed_root(xy, xx * yy) if xx * yy else math.nan
    if not xx:
        return [math.nan] * 3
    return [float(xy / xx), float(b - a * xy / xx), float(xy * xy / (xx * yy)) if yy else math.nan]


def weighted(op, x, w, ddof, reliability):
    total, mean = Fraction(sum(w)), sum(v * m for v, m in zip(x, w)) / sum(w)
    if op == "mean":
        return float(mean)
    less = ddof * sum(m * m for m in w) / total if reliability else ddof
    variance = sum(m * (v - mean) ** 2 for v, m in zip(x, w)) / (total - less)
    return float(variance) if op == "var" else root(variance)


def shape_of(op, x, ddof):
    n, mean = len(x), sum(x) / len(x)
    m2, m3, m4 = (sum((v - mean) ** k for v in x) / n for k in (2, 3, 4))
    if op == "skew":
        return signed_root(m3, m2**3 if not ddof else m2**3 * Fraction((n - 2) ** 2, n * (n - 1)))
    excess = m4 / m2**2 - 3
    return float(excess if not ddof else Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6))


class Numbers:
    """Columns of one kind, as text and as Fractions; arrays have a dtype."""

    def __init__(self, rng, n, columns):
        self.kind = rng.choice(["f8", "f4", "i4", "u1", "decimals", "doubles"])
        digits = rng.randint(0, 4)
        draw = {"f8": lambda: rng.gauss(0, 1) * 10 ** rng.randint(-9, 9),
                "f4": lambda: float(np.float32(rng.gauss(5, 3))),
                "i4": lambda: rng.randint(-(2**31), 2**31 - 1), "u1": lambda: rng.randint(0, 255),
                "decimals": lambda: "%d.%0*d" % (rng.randint(-999, 999), digits + 1, rng.randint(0, 10**digits)),
                "doubles": lambda: "%r" % math.ldexp(rng.random(), rng.randint(-90, 90))}[self.kind]
        self.columns = [[draw() for _ in range(n)] for _ in range(columns)]
        self.text = self.kind in ("decimals", "doubles")
        exact = Fraction if self.kind != "doubles" else lambda v: Fraction(float(v))
        self.exact = [[exact(v) for v in column] for column in self.columns]


class Pairs(CommandTest):
    def table(self, columns, name="t.csv", names="abcdefgh"):
        lines = [",".join(names[: len(columns)])] + [",".join(map(str, row)) for row in zip(*columns)]
        return self.write(name, "\n".join(lines).encode() + b"\n")

    def files(self, numbers):
        """Each column in a file of its own."""
        if numbers.text:
            return [self.write("%d.txt" % k, "\n".join(c).encode() + b"\n") for k, c in enumerate(numbers.columns)]
        return [self.save("%d.npy" % k, np.array(c, numbers.kind)) for k, c in enumerate(numbers.columns)]

    def value(self, *arguments, **more):
        return float(self.result(*arguments, **more))

    def same(self, got, want, *told):
        got = [float(line.split("\t")[-1]) for line in got.splitlines()]
        want = want if isinstance(want, list) else [want]
        self.assertEqual([repr(v + 0) for v in got], [repr(float(v) + 0) for v in want], told)

    def test_random_pairs(self):
        for seed in range(CASES):
            rng = random.Random(seed)
            numbers = Numbers(rng, rng.choice(SIZES), 2)
            files = self.files(numbers)
            ways = [([*files], {})]
            if numbers.text:
                table = self.table(numbers.columns)
                with open(table, "rb") as f:
                    ways += [(["--column", "a,b", table], {}), (["--column", "2,1", "-"], {"stdin": f.read()})]
            for op in "cov", "corr", "fit":
                ddof = rng.randint(0, 1) if op == "cov" else 0
                for i, (operands, more) in enumerate(ways):
                    x, y = numbers.exact if i < 2 else reversed(numbers.exact)
                    options = ["--ddof", ddof] if ddof else []
                    got = self.result(op, f"-j{rng.randint(1, 3)}", *options, *operands, **more)
                    self.same(got, pair(op, x, y, ddof), seed, op, numbers.kind, i)

    def test_decimals_of_two_scales(self):
        name = self.table([["0.1", "0.25", "1"], ["10", "20", "30.005"]])
        x, y = [Fraction(v) for v in ("0.1", "0.25", "1")], [Fraction(v) for v in ("10", "20", "30.005")]
        self.assertEqual(self.result("dot", "--column", "a,b", name), "36.005")
        for op in "cov", "corr", "fit":
            self.same(self.result(op, "--column", "a,b", name), pair(op, x, y), op)

    def test_weights(self):
        for seed in range(CASES):
            rng = random.Random(1000 + seed)
            numbers = Numbers(rng, rng.choice(SIZES), 1)
            n, kind = len(numbers.exact[0]), numbers.kind
            weights = [rng.randint(1, 9) for _ in range(n)]
            values, = self.files(numbers)
            if numbers.text:
                asked = ["--column", "a", self.table([numbers.columns[0], weights])], "b"
            else:
                asked = [values], self.save("w.npy", np.array(weights, kind))
            for op in "mean", "var", "std":
                ddof, reliable = rng.randint(0, 1), rng.random() < 0.5
                options = ["--ddof", ddof] if ddof and op != "mean" else []
                got = self.result(op, *options, "--aweights" if reliable else "--weights", asked[1], *asked[0])
                want = weighted(op, numbers.exact[0], weights, ddof, reliable)
                self.same(got, want, seed, op, numbers.kind, ddof, reliable)

    def test_a_name_of_weights_is_a_column_or_a_file(self):
        name = self.table([[1, 2, 6], [1, 1, 2]])
        self.save("b", np.ones(3))
        os.rename(self.path("b.npy"), self.path("b"))
        self.assertEqual(self.result("mean", "--column", "a", "--weights", ":b", "t.csv", cwd=self.dir), "3.75")
        self.refused(2, "both a file and a column", "mean", "--column", "a", "--weights", "b", "t.csv", cwd=self.dir)
        self.refused(2, "a column needs --column", "mean", "--weights", "w", name)
        self.refused(2, "one FILE, not 2", "mean", "--weights", "w", name, name)
        self.refused(2, "exclude each other", "var", "--weights", "w", "--aweights", "w", name)
        self.refused(2, "--total", "var", "--weights", "w", "--total", name)

    def test_skew_and_kurtosis(self):
        for seed in range(CASES):
            rng = random.Random(2000 + seed)
            numbers = Numbers(rng, rng.choice(SIZES[1:]), 1)
            name, = self.files(numbers)
            for op in "skew", "kurtosis":
                for ddof in 0, 1:
                    self.same(self.result(op, "--ddof", ddof, name), shape_of(op, numbers.exact[0], ddof),
                              seed, op, ddof, numbers.kind)
        self.assertEqual(self.result("skew", "--tsv", "-", stdin=b"1\n1\n"), "nan\t-")
        self.assertEqual(self.result("kurtosis", "--ddof", "1", "-", stdin=b"1\n2\n9\n"), "nan")

    def test_describe_tells_all(self):
        name = self.table([["0.1", "0.2", "0.7", ""], ["x", "y", "z", "z"], [1, 2, 3, 9]])
        lines = dict(line.split("\t", 1) for line in self.result("describe", "--all", name).splitlines())
        self.assertNotIn("skew", self.result("describe", name))
        columns = [lines[op].split("\t") for op in ("skew", "kurtosis")]
        for i, op in enumerate(["skew", "kurtosis"]):
            self.assertEqual(columns[i][1], "-")
            self.assertEqual(columns[i][2], self.result(op, "--column", "c", name))
            self.assertEqual(columns[i][0], self.result(op, "--null-policy", "skip", "--column", "a", name))
        told = json.loads(self.result("describe", "--all", "--json", "--column", "c", name))
        self.assertEqual([repr(told[op]) for op in ("skew", "kurtosis")], [columns[0][2], columns[1][2]])
        self.assertEqual(self.result("describe", "--all", "--json", "--column", "c", stdin=open(name, "rb").read())
                         .count("kurtosis"), 1)
        self.refused(2, "--all does not go with -e", "describe", "--all", "-e", "a", name)

    def test_nulls_and_nans_are_left_out_by_pairs(self):
        name = self.table([[1, "", 3, 4, 7], [2, 5, "", 8, 1], [1, 2, 3, 4, 5]])
        told = json.loads(self.result("corr", "--json", "--null-policy", "skip", "--column", "a,b", name))
        self.assertEqual((told["n"], told["null"], told["columns"]), (3, 2, ["a", "b"]))
        self.assertEqual(told["value"], pair("corr", [Fraction(v) for v in (1, 4, 7)], [Fraction(v) for v in (2, 8, 1)]))
        self.refused(3, "empty field", "corr", "--column", "a,b", name)
        told = json.loads(self.result("cov", "--json", "--null-policy", "skip", "--column", "a,b,c", name))
        self.assertEqual(told["n"], [[4, 3, 4], [3, 4, 4], [4, 4, 5]])
        for i, x in enumerate("abc"):
            for j, y in enumerate("abc"):
                if x != y:
                    two = self.value("cov", "--null-policy", "skip", "--column", f"{x},{y}", name)
                    self.assertEqual(two, told["cov"][i][j])
        a, b = [1, np.nan, 3, 4, 7], [2, 5, np.nan, 8, 1]
        files = self.save("a.npy", np.array(a)), self.save("b.npy", np.array(b))
        self.assertEqual(self.result("corr", *files), "nan")
        told = json.loads(self.result("corr", "--json", "--nan", "skip", *files))
        self.assertEqual((told["n"], told["nan"], told["other"]), (5, 2, files[1]))
        self.refused(3, "NaN", "corr", "--nan", "error", *files)

    def test_a_matrix_is_of_each_two(self):
        for seed in range(CASES // 2):
            rng = random.Random(3000 + seed)
            numbers = Numbers(rng, rng.choice(SIZES), rng.randint(3, 5))
            k, op = len(numbers.columns), rng.choice(["cov", "corr"])
            files, x = self.files(numbers), numbers.exact
            want = [[pair(op, x[i], x[j]) for j in range(k)] for i in range(k)]
            told = json.loads(self.result(op, "--json", *files))
            self.assertEqual(told[op], want, (seed, op, numbers.kind))
            self.assertEqual(told["columns"], files)
            output = self.path("m.npy")
            self.result(op, "-o", output, *files)
            self.assertEqual(np.load(output).tolist(), want)
            if numbers.text:
                rows = self.result(op, "--csv", "--column", ",".join("abcde"[:k]), self.table(numbers.columns))
                head, *rows = [line.split(",") for line in rows.splitlines()]
                self.assertEqual(head, ["column", *"abcde"[:k]])
                self.assertEqual([row[0] for row in rows], list("abcde"[:k]))
                self.assertEqual([[float(v) for v in row[1:]] for row in rows], want)

    def test_forms_of_a_line(self):
        name = self.table([[1, 2, 4], [1, 3, 9]])
        line = self.result("fit", "--column", "a,b", name)
        self.assertEqual([row.split("\t")[0] for row in line.splitlines()], ["slope", "intercept", "r2"])
        slope, intercept, r2 = [row.split("\t")[1] for row in line.splitlines()]
        told = json.loads(self.result("fit", "--json", "--column", "a,b", name))
        self.assertEqual([repr(told[key]) for key in ("slope", "intercept", "r2")], [slope, intercept, r2])
        self.assertEqual(self.result("fit", "--csv", "--column", "a,b", name),
                         f"slope,intercept,r2,file\n{slope},{intercept},{r2},{name}")
        self.assertEqual(self.result("fit", "--tsv", "--column", "a,b", name).splitlines()[0],
                         "slope\tintercept\tr2\tfile")
        self.assertEqual(self.result("merge", self.saved("fit", "--column", "a,b", name)), line)
        self.assertIn("slope      ", self.shown("fit", "--column", "a,b", name))
        self.refused(2, "cannot write this as .npy", "fit", "--column", "a,b", "-o", self.path("x.npy"), name)

    def saved(self, *arguments, name="s.bfs"):
        self.result(*arguments, "--save", self.path(name))
        return self.path(name)

    def test_parts_are_the_whole(self):
        rng = random.Random(5)
        numbers = [["%d.%02d" % (rng.randint(-99, 99), rng.randint(0, 99)) for _ in range(300)] for _ in range(2)]
        numbers.append([rng.randint(1, 5) for _ in range(300)])
        table = self.table(numbers)
        for command in [("cov", "--ddof", 1, "--column", "a,b"), ("corr", "--column", "a,b"), ("fit", "--column", "a,b"),
                        ("var", "--ddof", 1, "--aweights", "c", "--column", "a"), ("skew", "--column", "b"),
                        ("mean", "--weights", "c", "--column", "a")]:
            whole = self.saved(*command, table, name="w.bfs")
            parts = [self.saved(*command, "--offset", at, "--count", n, table, name=f"{at}.bfs")
                     for at, n in [(0, 90), (90, 1), (91, 209)]]
            value = self.result(*command, table)
            self.assertEqual(self.result("merge", parts[2], parts[0], parts[1], "--save", self.path("m.bfs")), value)
            with open(whole, "rb") as a, open(self.path("m.bfs"), "rb") as b:
                self.assertEqual(a.read(), b.read(), command)
            rest = self.result("merge", whole, "--minus", parts[2])
            self.assertEqual(rest, self.result(*command, "--count", 91, table))
            point = self.path("point")
            self.assertEqual(self.result(*command, "--checkpoint", point, table), value)
            self.assertFalse(os.path.exists(point))
        self.refused(3, "another --aweights", "merge",
                     self.saved("var", "--weights", "c", "--column", "a", table, name="x.bfs"),
                     self.saved("var", "--aweights", "c", "--column", "a", table, name="y.bfs"))

    def test_a_saved_state_is_verified(self):
        x, y = self.save("x.npy", np.arange(50.0) ** 2), self.save("y.npy", np.arange(50.0))
        for op in "cov", "fit":
            state = self.saved(op, x, y)
            self.assertIn("PASS", self.result("verify", "--against", state, x, y, "--device", "cpu"))
            self.assertEqual(run("verify", "--against", state, y, x, "--device", "cpu").returncode, 5)
            self.refused(2, "two files", "verify", "--against", state, x)

    def test_many_at_once(self):
        rng = np.random.default_rng(6)
        for dtype in "f8", "f4", "i4":
            a, b = (rng.integers(-50, 50, (8, 5)).astype(dtype) for _ in range(2))
            files = self.save("a.npy", a), self.save("b.npy", b)
            exact = [[[Fraction(float(v)) for v in row] for row in each] for each in (a, b)]
            columns = list(zip(zip(*exact[0]), zip(*exact[1])))
            rows = list(zip(*exact))
            for axis, lines in (0, columns), (1, rows):
                for op in "cov", "corr":
                    got = self.result(op, "--axis", axis, *files)
                    self.same(got, [pair(op, x, y) for x, y in lines], op, axis, dtype)
                head, *got = self.result("fit", "--axis", axis, *files).splitlines()
                self.assertEqual(head, "index\tslope\tintercept\tr2")
                for i, (x, y) in enumerate(lines):
                    self.assertEqual([float(v) + 0 for v in got[i].split("\t")], [i, *[v + 0 for v in pair("fit", x, y)]])
            for op in "skew", "kurtosis":
                self.same(self.result(op, "--axis", 1, files[0]), [shape_of(op, x, 0) for x in exact[0]], op, dtype)
            positive = self.save("p.npy", np.abs(b) + 1)
            weights = [[abs(v) + 1 for v in row] for row in exact[1]]
            got = self.result("std", "--ddof", 1, "--axis", 1, "--weights", positive, files[0])
            self.same(got, [weighted("std", x, w, 1, False) for x, w in zip(exact[0], weights)], dtype)

    def test_many_by_index(self):
        index = self.save("i.npy", np.array([0, 1, 0, 1, 0, 0, 1]))
        x = ["0.1", "2", "0.35", "-1", "7", "0.5", "3"]
        y = ["1", "0.2", "3.25", "1", "0", "-2", "2.5"]
        slots = [[k for k in range(7) if (k in (1, 3, 6)) == bool(s)] for s in range(2)]
        texts = [self.write(name, "\n".join(v).encode()) for name, v in (("x.txt", x), ("y.txt", y))]
        arrays = [self.save(name, np.array([float(n) for n in v])) for name, v in (("x.npy", x), ("y.npy", y))]
        for files, exact in (texts, Fraction), (arrays, lambda v: Fraction(float(v))):
            for op in "cov", "corr", "fit":
                got = self.result(op, "--index", index, "--slots", 2, *files).splitlines()
                for s, places in enumerate(slots):
                    want = pair(op, *([exact(v[k]) for k in places] for v in (x, y)))
                    line = got[s + 1].split("\t")[1:] if op == "fit" else [got[s]]
                    self.same("\n".join(line), want, op, s)
        self.refused(2, "--save of many values", "fit", "--index", index, "--slots", 2, *arrays, "--save", self.path("s"))

    def test_expressions(self):
        for seed in range(CASES):
            rng = random.Random(4000 + seed)
            numbers = Numbers(rng, rng.choice(SIZES), 3)
            if numbers.kind not in ("decimals", "i4", "u1"):
                continue  # an expression of others is rounded
            operands, (x, y, w) = self.files(numbers), numbers.exact
            if numbers.text:
                operands = [self.table(numbers.columns)]
            for op in "cov", "corr", "fit":
                texts, want = ["a*2+1", "b", "c"], [[v * 2 + 1 for v in x], y, w]
                if not numbers.text:  # as in NumPy, integers of 32 bits may overflow
                    texts, want = ["c", "b", "a"], [w, y, x]
                got = self.result(op, "-e", ", ".join(texts[:2]), f"-j{rng.randint(1, 3)}", *operands)
                self.same(got, pair(op, *want[:2]), seed, op, numbers.kind)
                if op != "fit":
                    told = json.loads(self.result(op, "--json", "-e", ",".join(texts), *operands))
                    self.assertEqual(told[op], [[pair(op, p, q) for p in want] for q in want])
                    self.assertEqual(told["columns"], texts)

    def test_expressions_that_need_more_bits_later(self):
        x = [*map(str, range(1, 3000)), "9223372036854775807", "0.5"]
        y = [*map(str, range(3, 3002)), "-7", "123456789012345678901234567890"]
        table = self.table([x, y])
        with open(table, "rb") as f:
            text = f.read()
        exact = [[Fraction(v) for v in column] for column in (x, y)]
        want = pair("corr", [2 * v for v in exact[0]], exact[1])
        self.assertEqual(self.value("corr", "-e", "a*2,b", table), want)
        self.assertEqual(self.value("corr", "-e", "a*2,b", stdin=text), want)
        self.assertEqual(self.value("corr", "--column", "a,b", stdin=text), pair("corr", *exact))

    def test_expressions_with_nulls_and_weights(self):
        name = self.table([[1, "", 3, 4, 7], [2, 5, "", 8, 1], [1, 2, 3, 4, 5]])
        x, y = [Fraction(v) for v in (1, 4, 7)], [Fraction(v) for v in (2, 8, 1)]
        told = json.loads(self.result("fit", "--json", "--null-policy", "skip", "-e", "a+1, b*3", name))
        self.assertEqual((told["n"], told["null"]), (3, 2))
        self.assertEqual([told[key] for key in ("slope", "intercept", "r2")],
                         pair("fit", [v + 1 for v in x], [v * 3 for v in y]))
        self.refused(3, "NULL", "corr", "-e", "a, b", name)
        self.assertEqual(self.value("mean", "-e", "c*2", "--weights", "c", name), float(Fraction(2 * 55, 15)))
        arrays = self.save("x.npy", np.arange(4.0)), self.save("w.npy", np.array([1.0, 2, 3, 4]))
        self.assertEqual(self.value("mean", "-e", "a*a", "--weights", arrays[1], arrays[0]), 5.0)
        self.assertEqual(self.result("corr", "-e", "a > 1, b", *arrays),
                         self.result("corr", self.save("t.npy", np.array([0.0, 0, 1, 1])), arrays[1]))
        self.refused(2, "two expressions", "corr", "-e", "a", name)
        self.refused(2, "two columns are needed, not 3", "fit", "-e", "a,b,c", name)
        self.refused(2, "--checkpoint", "corr", "-e", "a,b", name, "--checkpoint", self.path("p"))
        self.refused(2, "--axis", "corr", "-e", "a,b", "--axis", 0, *arrays)
        self.refused(2, "expected", "corr", "-e", "a, b +", name)

    def test_rows_that_meet_a_condition(self):
        name = self.table([[1, 2, 3, 4, 9], [2, 1, 5, 8, 0], ["x", "y", "x", "x", "y"]])
        x, y = [Fraction(v) for v in (1, 3, 4)], [Fraction(v) for v in (2, 5, 8)]
        for op in "corr", "fit":
            self.same(self.result(op, "--where", 'c == "x"', "--column", "a,b", name), pair(op, x, y))
        self.assertEqual(self.value("mean", "--where", 'c == "x"', "--column", "a", "--weights", "b", name),
                         float(Fraction(1 * 2 + 3 * 5 + 4 * 8, 15)))
        self.refused(2, "one FILE, a table", "corr", "--where", "a > 1", name, name)

    def test_memory_may_be_bounded(self):
        n = 400000
        x, y = np.arange(n) % 1009 / 8, np.arange(n) % 997 / 4
        files = self.save("x.npy", x), self.save("y.npy", y)
        free = self.result("corr", *files)
        self.assertEqual(self.result("corr", "--memory", "%dM" % (least_memory() + 8), *files), free)

    def test_constant_columns(self):
        name = self.table([[1, 1, 1], [1, 2, 3]])
        self.assertEqual(self.result("corr", "--column", "a,b", name), "nan")
        self.assertEqual(self.result("cov", "--column", "a,b", name), "0")
        self.assertEqual(self.result("fit", "--column", "b,a", name), "slope\t0\nintercept\t1\nr2\tnan")
        self.assertEqual(self.result("corr", "--json", "--column", "1-3",
                                     self.table([[1, 1, 1], [1, 2, 3], [4, 4, 8]], "n.csv")).lower().count('"nan"'), 5)
        self.assertEqual(self.result("cov", "--ddof", 1, "--column", "a,b", "--count", 1, name), "nan")

    def test_refusals(self):
        table = self.table([[1, 2], [3, 4], ["x", "y"]])
        longer = self.save("l.npy", np.arange(3.0))
        shorter = self.save("s.npy", np.arange(2.0))
        integers = self.save("i.npy", np.arange(2))
        for op in "dot", "cov", "corr", "fit":
            self.refused(3, "shapes do not match", op, longer, shorter)
            self.refused(3, "dtypes do not match", op, integers, shorter)
            self.refused(2, "two files are needed, not 1", op, shorter)
            self.refused(2, "two files are needed, not 1", op, "--column", "a", table)
            self.refused(2, "a column is listed twice: '1,b,a'", op, "--column", "1,b,a", table)
            self.refused(3, "not a number", op, "--column", "a,c", table)
            self.refused(3, "no column is named 'q'", op, "--column", "a,q", table)
            self.refused(3, "fewer elements", op, longer, "-", stdin=b"1\n2\n")
        for op in "dot", "fit":
            self.refused(2, "two columns are needed, not 3", op, table)
            self.refused(2, "two files are needed, not 3", op, shorter, shorter, shorter)
        self.refused(2, "--save takes two columns, not 3", "cov", shorter, shorter, shorter, "--save", self.path("s"))
        self.refused(2, "two files are needed, not 1", "corr", "--axis", 0, table)
        for name in "slope", "intercept", "r2", "wmean", "wvar", "wstd":
            self.refused(2, "unknown command", name, shorter, shorter)
