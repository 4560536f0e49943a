"""rolling: windows of files, columns and pipes, each against fractions; steps, gaps and ends; what is refused."""

import math
import os
import random
from fractions import Fraction

import numpy as np

from command import SANITIZED, SHORT, CommandTest, root, run
from rounding import round_to

OPS = ["sum", "mean", "var", "std", "skew", "kurtosis", "min", "max", "median", "count"]
PAIRS = ["cov", "corr", "slope", "intercept", "r2"]


def between(x, op):
    """The median of sorted fractions, or their "quantile P METHOD"."""
    percent, method = (50, "linear") if op == "median" else (int(op.split()[1]), op.split()[2])
    place, rest = divmod((len(x) - 1) * percent, 100)
    above = x[place + 1] if rest else x[place]
    return x[place] + {"lower": 0, "higher": bool(rest), "linear": Fraction(rest, 100)}[method] * (above - x[place])


def moment(x, power):
    unit = math.lcm(*(each.denominator for each in x))
    ints = [each.numerator * (unit // each.denominator) for each in x]
    n, total = len(ints), sum(ints)
    return Fraction(sum((n * each - total) ** power for each in ints), n ** (power + 1) * unit**power)


def skew(x, ddof):
    n, second = len(x), moment(x, 2)
    if second == 0 or (ddof and n < 3):
        return math.nan
    third = moment(x, 3)
    square = third**2 / second**3 * (Fraction(n * (n - 1), (n - 2) ** 2) if ddof else 1)
    return math.copysign(root(square), third) if third else 0.0


def kurtosis(x, ddof):
    n, second = len(x), moment(x, 2)
    if second == 0 or (ddof and n < 4):
        return math.nan
    excess = moment(x, 4) / second**2 - 3
    return round_to(Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6) if ddof else excess)


def of_pairs(op, window, ddof):
    n = len(window)
    if n == 0 or (op == "cov" and n <= ddof):
        return math.nan
    means = [sum(each) / n for each in zip(*window)]
    x, y = ([each - mean for each in column] for column, mean in zip(zip(*window), means))
    both, square, other = (sum(a * b for a, b in zip(*each)) for each in ((x, y), (x, x), (y, y)))
    if op == "cov":
        return round_to(both / (n - ddof))
    if square == 0 or (op in ("corr", "r2") and other == 0):
        return math.nan
    if op == "corr":
        return math.copysign(root(both**2 / (square * other)), both)
    slope = both / square
    return round_to({"slope": slope, "intercept": means[1] - slope * means[0], "r2": slope * both / other if other else 0}[op])


def reduce(op, window, ddof=0):
    """The result of fractions, or pairs of them, rounded once."""
    if op in PAIRS:
        return of_pairs(op, window, ddof)
    n, total = len(window), sum(window)
    if op == "count":
        return float(n)
    if op == "sum":
        return round_to(total)
    if n == 0 or (op in ("var", "std") and n <= ddof):
        return math.nan
    if op == "median" or op.startswith("quantile"):
        return round_to(between(sorted(window), op))
    if op in ("min", "max"):
        return round_to(min(window) if op == "min" else max(window))
    if op == "mean":
        return round_to(total / n)
    if op in ("skew", "kurtosis"):
        return (skew if op == "skew" else kurtosis)(window, ddof)
    spread = (n * sum(x * x for x in window) - total**2) / Fraction(n * (n - ddof))
    return round_to(spread) if op == "var" else root(spread)


def expect(op, x, window, least=None, center=False, step=1, ddof=0, skip=False):
    """What is shown of fractions, of which None is NaN."""
    found, after = [], (window - 1) // 2 if center else 0
    least = window if least is None else least
    for i in range(0, len(x), step):
        part = x[max(i + after - window + 1, 0) : i + after + 1]
        there = [each for each in part if each is not None]
        if (len(part) if op == "count" else len(there)) < least:
            found.append(math.nan)
        elif len(there) < len(part) and not skip and op != "count":
            found.append(math.nan)
        else:
            found.append(reduce(op, there, ddof))
    return found


class Rolling(CommandTest):
    def numbers(self, *arguments, **more):
        return [float(each) for each in self.result("rolling", *arguments, **more).split()]

    def same(self, found, wanted, *why):
        np.testing.assert_array_equal(found, wanted, str(why))

    def test_small_ones(self):
        lines = b"1\n2\n3\n4\n5\n"
        self.assertEqual(self.result("rolling", "sum", "--window", 3, stdin=lines), "nan\nnan\n6\n9\n12")
        self.assertEqual(self.result("rolling", "mean", "--window", 2, "-", stdin=lines), "nan\n1.5\n2.5\n3.5\n4.5")
        self.assertEqual(self.result("rolling", "max", "--window", 3, "--center", "--min-count", 1, stdin=lines), "2\n3\n4\n5\n5")
        self.assertEqual(self.result("rolling", "sum", "--window", 2, "--step", 3, stdin=lines), "nan\n7")
        self.assertEqual(self.result("rolling", "var", "--window", 2, "--ddof", 1, stdin=lines), "nan\n0.5\n0.5\n0.5\n0.5")
        self.assertEqual(self.result("rolling", "count", "--window", 2, stdin=b"1\nnan\n3\n"), "nan\n1\n1")
        self.assertEqual(self.result("rolling", "sum", "--window", 2, "--hex", stdin=b"0.5\n1\n"), "nan\n0x1.8p+0")
        self.assertEqual(self.result("rolling", "sum", "--window", 10**18, "--min-count", 0, stdin=lines), "1\n3\n6\n10\n15")
        done = run("rolling", "sum", "--window", "3")
        self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_decimals_are_the_numbers_that_are_written(self):
        self.assertEqual(self.result("rolling", "sum", "--window", 3, stdin=b"0.1\n0.2\n-0.3\n"), "nan\nnan\n0")
        self.assertEqual(self.result("rolling", "sum", "--window", 2, stdin=b"1.1\n2.2\n5\n"), "nan\n3.3\n7.2")
        self.assertEqual(self.result("rolling", "min", "--window", 2, stdin=b"0.3\n0.1\n"), "nan\n0.1")
        wide = b"99999999999999999999.5\n1\n"
        self.assertEqual(self.result("rolling", "mean", "--window", 2, stdin=wide), "nan\n5e+19")
        self.assertEqual(self.result("rolling", "var", "--window", 2, "--ddof", 1, stdin=b"0.1\n0.3\n"), "nan\n0.02")

    def test_random_columns_against_fractions(self):
        rng = random.Random(7)
        for case in range(30 if SHORT else 150):
            op, n = OPS[case % 8], rng.randrange(1, 60)
            digits, scale = rng.choice([(2, 1), (9, 0), (15, 8), (17, 0), (30, 0)])
            text = [f"{rng.randrange(-10**digits, 10**digits)}e-{scale}" for _ in range(n)]
            window, step = rng.randrange(1, 20), rng.choice([1, 1, 2, 5, 30])
            how = dict(least=rng.choice([None, 0, window // 2]), center=rng.random() < 0.4, step=step, ddof=rng.randrange(2))
            options = [op, "--window", window, "--step", step]
            options += ["--ddof", how["ddof"]] if op in ("var", "std", "skew", "kurtosis") else []
            options += ["--center"] if how["center"] else []
            options += [] if how["least"] is None else ["--min-count", how["least"]]
            found = self.numbers(*options, stdin="\n".join(text).encode())
            self.same(found, expect(op, [Fraction(each) for each in text], window, **how), options, text)

    def test_quantiles(self):
        rng = random.Random(9)
        for case in range(15 if SHORT else 60):
            percent, method, window = rng.choice([0, 25, 50, 75, 100]), rng.choice(["linear", "lower", "higher"]), rng.randrange(1, 12)
            digits, scale = rng.choice([(2, 1), (9, 0), (15, 8), (30, 0)])
            text = [f"{rng.randrange(-10**digits, 10**digits)}e-{scale}" for _ in range(50)]
            found = self.numbers("quantile", "-p", percent, "--method", method, "--window", window, "--min-count", 1, stdin="\n".join(text).encode())
            wanted = expect(f"quantile {percent} {method}", [Fraction(each) for each in text], window, 1)
            self.same(found, wanted, percent, method, window, text)
        several = ["quantile", "-p", "0,12.5,100", "--window", 3, "--min-count", 1]
        x = self.save("x.npy", np.random.default_rng(4).permutation(np.arange(24.0)).reshape(2, 3, 4))
        singles = [["quantile", "-p", p, *several[3:], "--axis", 1, x] for p in (0, 12.5, 100)]
        np.testing.assert_array_equal(self.array(*several, "--axis", 1, x), np.stack([self.array(*one) for one in singles], 3))
        self.assertEqual(self.array(*several, x).shape, (24, 3))
        self.assertEqual(self.result("rolling", *several, stdin=b"8\n0\n"), "8\t8\t8\n0\t1\t8")
        table = b"k,x\na,8\nb,1\na,0\n"
        self.assertEqual(self.result("rolling", *several, "--by", "k", "--column", "x", stdin=table), "8\t8\t8\n1\t1\t1\n0\t1\t8")
        self.refused(2, "-p: one percent", "rolling", *several, "--axis", 0, self.save("y.npy", np.ones([1] * 8)))
        path = self.save("x.npy", np.array([1, 2.5, 4], "f4"))
        self.assertEqual(self.array("median", "--window", 2, path).dtype, "f4")
        self.assertEqual(self.array("quantile", "-p", 50, "--window", 2, path).dtype, "f8")
        self.assertEqual(self.array("quantile", "-p", 50, "--method", "lower", "--window", 2, path).dtype, "f4")

    def test_nans(self):
        x = [None if i % 11 == 3 else Fraction(i * i % 37, 8) for i in range(80)]
        text = "\n".join("nan" if each is None else str(float(each)) for each in x).encode()
        for op in OPS:
            for skip in (False, True):
                options = [op, "--window", 5, "--min-count", 2, "--nan", "skip" if skip else "propagate"]
                self.same(self.numbers(*options, stdin=text), expect(op, x, 5, 2, skip=skip), options)
        self.refused(3, "NaN", "rolling", "sum", "--window", 2, "--nan", "error", stdin=text)
        # Between windows no NaN counts.
        self.assertEqual(self.result("rolling", "sum", "--window", 1, "--step", 2, "--nan", "error", stdin=b"1\nnan\n2\n"), "1\n2")

    def test_pipes_longer_than_a_block(self):
        n = 300_000 if SHORT else 1_200_000
        rng = np.random.default_rng(2)
        x = rng.integers(-1000, 1000, n)
        sums = np.concatenate([[0], np.cumsum(x)])
        piped = b"\n".join(b"%d" % each for each in x)
        path = self.save("x.npy", x)
        for window in (10, 270_000) if SHORT else (1, 10, 1000, 270_000, n + 5):
            for center in (False, True):
                after = (window - 1) // 2 if center else 0
                at = np.arange(n)
                end, first = np.minimum(at + after + 1, n), np.maximum(at + after + 1 - window, 0)
                wanted = np.where(end - first >= min(window, 7), (sums[end] - sums[first]).astype(float), np.nan)
                for step in (1, 3, 400, 290_000):
                    options = ["sum", "--window", window, "--step", step, "--min-count", min(window, 7)]
                    options += ["--center"] if center else []
                    self.same(self.array(*options, path), wanted[::step], options)
                    if step in (3, 290_000):
                        self.same(self.array(*options, stdin=piped), wanted[::step], options)

    def array(self, *arguments, **more):
        """The array that a command writes, and stays silent."""
        out = self.path("out.npy")
        self.assertEqual(self.result("rolling", *arguments, "-o", out, **more), "")
        return np.load(out)

    def test_dtypes_of_arrays(self):
        rng = np.random.default_rng(5)
        for dtype in ("f8", "f4", "f2", "i1", "u8", "?"):
            x = (rng.normal(size=(12, 40)) * 50).astype(dtype)
            exact = [Fraction(float(each) if dtype[0] == "f" else int(each)) for each in x.ravel()]
            paths = [self.save("c.npy", x), self.save("fortran.npy", np.asfortranarray(x))]
            for turn, op in enumerate(OPS):
                form = {"f4": "f32", "f2": "f16"}.get(dtype, "f64") if op == "median" else "f64"
                wanted = [each if math.isnan(each) else round_to(Fraction(each), form) for each in expect(op, exact, 7)]
                for path in paths[turn % 2 :: 2] if SANITIZED else paths:
                    found = self.array(op, "--window", 7, path)
                    self.assertEqual(found.dtype, x.dtype if op in ("min", "max", "median") and dtype[0] == "f" else "f8")
                    self.same(found, wanted, dtype, op)
        narrow = self.array("mean", "--window", 2, "--out-dtype", "f32", self.save("x.npy", np.array([0.1, 0.3])))
        self.assertEqual((narrow.dtype, narrow[1]), ("f4", np.float32(0.2)))

    def test_axes_of_arrays(self):
        x = np.random.default_rng(6).integers(-50, 50, (6, 9, 5))
        path = self.save("x.npy", np.asfortranarray(x))
        for axis in range(-3, 3):
            for options in (dict(), dict(step=2), dict(step=4, least=1, center=True)):
                arguments = ["--step", options.get("step", 1), "--min-count", options.get("least", 3)]
                arguments += ["--center"] if options.get("center") else []
                for op in ("mean", "count"):
                    found = self.array(op, "--window", 3, "--axis", axis, *arguments, path)
                    line = lambda each: expect(op, [Fraction(int(e)) for e in each], 3, **options)
                    self.same(found, np.apply_along_axis(line, axis, x), axis, options)
        self.assertEqual(self.result("rolling", "max", "--window", 2, "--axis", 1, stdin=b"1,2.5\n4,3\n"), "nan\n2.5\nnan\n4")

    def test_columns_and_rows_without_values(self):
        with open(self.path("t.csv"), "w", newline="") as f:
            f.write("name,height\r\na,1.5\r\nb,\r\nc,2\r\nd,0.25\r\n")
        arguments = ["rolling", "sum", "--window", 2, "--column", "height", self.path("t.csv")]
        self.refused(3, "t.csv:3", *arguments)
        self.assertEqual(self.result(*arguments, "--null-policy", "skip"), "nan\n3.5\n2.25")
        self.assertEqual(self.result(*arguments, "--null-policy", "skip", "--where", "name != 'c'"), "nan\n1.75")

    def test_every_instruction_set_and_thread_count_gives_the_same(self):
        path = self.save("x.npy", np.random.default_rng(5).normal(size=100_000 if SHORT else 700_000))
        for op in OPS[:: 3 if SANITIZED else 1]: # unit.rolling has them all
            first = None
            for isa in ("generic", "auto"):
                for threads in (1, 3):
                    found = self.array(op, "--window", 50, "--isa", isa, "-j", threads, path).tobytes()
                    first = first or found
                    self.assertEqual(found, first)

    def random_pairs(self, rng, n):
        """Two columns of decimals, as they are written, and as pairs of fractions; NaN makes both doubles."""
        (a, k), (b, m), nan = rng.choice([(1, 1), (4, 0), (9, 0)]), rng.choice([(2, 2), (6, 3)]), rng.random() < 0.3
        text = [[f"{rng.randrange(-10**digits, 10**digits) / 10**scale:.{scale}f}" for _ in range(n)] for digits, scale in ((a, k), (b, m))]
        for column in text:
            for i in range(n if nan else 0):
                column[i] = "nan" if rng.random() < 0.1 else column[i]
        number = (lambda each: Fraction(float(each))) if nan else Fraction
        return list(zip(*text)), [None if "nan" in pair else tuple(map(number, pair)) for pair in zip(*text)]

    def test_random_pairs_against_fractions(self):
        rng = random.Random(17)
        for case in range(15 if SANITIZED else 40 if SHORT else 300):
            op, n, window, step = PAIRS[case % 5], rng.randrange(1, 60), rng.randrange(1, 12), rng.choice([1, 1, 3])
            text, pairs = self.random_pairs(rng, n)
            how = dict(least=rng.choice([None, 0, window // 2]), center=rng.random() < 0.4, ddof=rng.randrange(2), skip=rng.random() < 0.5)
            options = [op, "--window", window, "--nan", "skip" if how["skip"] else "propagate"]
            options += ["--ddof", how["ddof"]] if op == "cov" else []
            options += ["--center"] if how["center"] else []
            options += [] if how["least"] is None else ["--min-count", how["least"]]
            keys = [rng.choice("xyz") for _ in range(n)]
            table = "b,k,a\n" + "".join(f"{b},{k},{a}\n" for (a, b), k in zip(text, keys))
            found = self.numbers(*options, "--step", step, "--column", "a,b", stdin=table.encode())
            self.same(found, expect(op, pairs, window, step=step, **how), options, table)
            files = [self.write(name, "".join(pair[i] + "\n" for pair in text).encode()) for i, name in enumerate("ab")]
            self.same(self.numbers(*options, "--step", step, *files), expect(op, pairs, window, step=step, **how), options, table)
            wanted = np.empty(n)
            for key in set(keys):
                at = [i for i in range(n) if keys[i] == key]
                wanted[at] = expect(op, [pairs[i] for i in at], window, **how)
            found = self.result("rolling", *options, "--column", "a,b", "--by", "k", "--append", "r", stdin=table.encode())
            self.same([float(line.split(",")[3]) for line in found.split("\n")[1:]], wanted, options, table)
            self.same(self.numbers(*options, "--column", "a,b", "--by", "k", stdin=table.encode()), wanted, options, table)

    def test_pairs_of_arrays(self):
        rng = np.random.default_rng(8)
        for dtype in ("f8", "f4", "i2", "u8"):
            x, y = ((rng.normal(size=(6, 9)) * 100).astype(dtype) for _ in range(2))
            exact = [[Fraction(float(each) if dtype[0] == "f" else int(each)) for each in z.ravel()] for z in (x, y)]
            pairs = np.empty((6, 9), object)
            pairs.ravel()[:] = list(zip(*exact))
            files = self.save("x.npy", x), self.save("y.npy", np.asfortranarray(y))
            for op in PAIRS:
                self.same(self.array(op, "--window", 4, *files), expect(op, list(pairs.ravel()), 4), dtype, op)
                for axis in (0, -1):
                    found = self.array(op, "--window", 3, "--center", "--axis", axis, *files)
                    line = lambda each: expect(op, list(each), 3, center=True)
                    wanted = np.stack([line(each) for each in np.moveaxis(pairs, axis, -1)])
                    self.same(found, np.moveaxis(wanted, -1, axis), dtype, op, axis)
        narrow = self.array("cov", "--window", 2, "--out-dtype", "f32", *files)
        self.assertEqual(narrow.dtype, "f4")
        n = 400_000 if SHORT else 1_000_000
        x, y = (rng.integers(0, 9, n) for _ in range(2))
        sums = [np.concatenate([[0], np.cumsum(z)]) for z in (x, y, x * y)]
        sx, sy, sxy = (each[20:] - each[:-20] for each in sums)
        wanted = np.concatenate([[np.nan] * 19, (20 * sxy - sx * sy) / 400])
        files = self.save("x.npy", x), self.write("y.txt", "\n".join(map(str, y)).encode())
        self.same(self.array("cov", "--window", 20, *files), wanted)
        table = "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y))
        self.same(self.array("cov", "--window", 20, "--column", "x,y", stdin=table.encode()), wanted)

    def test_pairs_over_spans_and_gaps(self):
        table = b"t,a,b\n1,1,2\n1,2,4.5\n2,,1\n3,4,\n4,3,1\n7,5,2\n"
        skip = ["--null-policy", "skip", "--column", "a,b"]
        self.assertEqual(self.result("rolling", "cov", "--window", 2, *skip, stdin=table), "nan\n0.625\n-0.875\n0.5")
        span = ["rolling", "cov", "--window", 4, "--on", "t", *skip]
        rows = "1,1,2,0.625\n1,2,4.5,0.625\n2,,1,\n3,4,,\n4,3,1,-0.3333333333333333\n7,5,2,0.5"
        self.assertEqual(self.result(*span, "--append", "c", stdin=table), "t,a,b,c\n" + rows)
        self.assertEqual(self.result(*span, stdin=table).split(), [row.split(",")[3] for row in rows.split() if not row.endswith(",")])
        self.refused(3, "-:4: column 2 (a): an empty field", *span[:6], "--column", "a,b", stdin=table)

    def test_operations_are_completed(self):
        script = self.result("completion", "bash")
        self.assertIn("rolling) words='sum mean var std skew kurtosis min max median quantile count cov corr slope intercept r2'", script)

    def test_what_is_refused(self):
        x = self.save("x.npy", np.ones(3))
        self.refused(2, "no operation given", "rolling", "--window", 2)
        self.refused(2, "unknown operation: summ", "rolling", "summ", "--window", 2, x)
        self.refused(2, "unknown operation", "rolling", x, "--window", 2)
        self.refused(2, "--window is needed", "rolling", "sum", x)
        self.refused(2, "bad operand of --window", "rolling", "sum", "--window", 0, x)
        self.refused(2, "bad operand of --step", "rolling", "sum", "--window", 1, "--step", 0, x)
        self.refused(2, "--min-count is more", "rolling", "sum", "--window", 2, "--min-count", 3, x)
        self.refused(2, "--ddof is for var, std, skew, kurtosis and cov", "rolling", "sum", "--window", 2, "--ddof", 1, x)
        self.refused(2, "min of f64 is not rounded", "rolling", "min", "--window", 2, "--out-dtype", "f32", x)
        self.refused(2, "quantile needs -p", "rolling", "quantile", "--window", 2, x)
        self.refused(2, "quantile needs -p", "rolling", "median", "--window", 2, "-p", 50, x)
        self.refused(2, "one percent, not 2", "rolling", "quantile", "--window", 2, "-p", "25,50", "--column", 1, "--append", "q", x)
        self.refused(2, "--method is for quantile", "rolling", "median", "--window", 2, "--method", "lower", x)
        self.refused(2, "median of f64 is not rounded", "rolling", "median", "--window", 2, "--out-dtype", "f32", x)
        self.refused(2, "one FILE", "rolling", "sum", "--window", 2, x, x)
        cov = ["rolling", "cov", "--window", 2]
        table = self.write("t.csv", b"a,b,t\n1,2,2026-01-01\n2,3,2026-01-02\n")
        self.refused(2, "cov is of two columns or FILEs, not 1", *cov, x)
        self.refused(2, "cov is of two columns or FILEs, not 3", *cov, table)
        self.refused(2, "one column at a time, not 2", *cov, table, table, "--column", "a,b")
        self.refused(2, "listed twice: 'a,a'", *cov, "--column", "a,a", table)
        self.refused(2, "cov of a table is of two columns", *cov, "--column", "a", "--append", "c", table)
        self.refused(2, "cov of a table is of two columns", *cov, "--column", "a,b,t", "--append", "c", table)
        self.refused(2, "'a+1' is not one column", *cov, "--column", "b,a+1", "--append", "c", table)
        self.refused(3, "times have no cov", *cov, "--column", "a,t", "--append", "c", table)
        self.refused(3, "not a number", *cov, "--column", "a,t", table)
        self.refused(2, "two FILEs, not 3", *cov, x, x, x)
        self.refused(2, "two files are needed, not 1", *cov, "--axis", 0, x)
        self.refused(2, "--by needs one FILE", *cov, "--by", "t", "--column", "a,b", table, table)
        self.refused(2, "--where needs one FILE", *cov, "--where", "a > 1", x, x)
        self.refused(3, "shapes do not match", *cov, x, self.save("y.npy", np.ones(4)))
        self.refused(3, "shapes do not match", *cov, "--axis", 0, x, self.save("y.npy", np.ones(4)))
        self.refused(3, "fewer elements", *cov, x, "-", stdin=b"1\n2\n")
        self.refused(3, "dtypes do not match", *cov, x, self.save("y.npy", np.ones(3, "i2")))
        self.refused(1, "none.npy", "rolling", "sum", "--window", 2, self.path("none.npy"))
        self.refused(3, "no --column", "rolling", "sum", "--window", 2, stdin=b"1,2\n3,4\n")
        self.refused(3, "not a number", "rolling", "sum", "--window", 2, "-o", self.path("out.npy"), stdin=b"1\n2\nx\n")
        self.assertFalse(os.path.exists(self.path("out.npy")))
