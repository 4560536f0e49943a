"""group of pairs, with weights, and of powers: tables and files, against Python's fractions.
Builds: release, asan (full), tsan (full)."""
import json
import math
import operator
import random
from fractions import Fraction

import numpy as np

from cli_by import CASES, CONDITIONS, LIMIT, Table, TablesTest, show
from command import root, run

LINES = ["corr", "cov", "slope", "intercept", "r2"]
WEIGHTED = ["wmean", "wvar", "wstd"]
POWERS = ["skew", "kurtosis"]
DECIMALS = [("year", "cost"), ("n", "year"), ("n", "cost"), ("year", "year*2"), ("cost*year", "cost")]
PAIRS = DECIMALS + [("price", "odd"), ("cost", "price")]


def whole(x):
    """Fractions as integers in units of 1 / unit: sums of these take far less time."""
    unit = math.lcm(*(v.denominator for v in x))
    return [v.numerator * (unit // v.denominator) for v in x], unit


def products(a, b):
    return sum(map(operator.mul, a, b))


def spread(x, y):
    """The sum of the products of what differs from the means."""
    (a, u), (b, v), n = whole(x), whole(y), len(x)
    return Fraction(n * products(a, b) - sum(a) * sum(b), n * u * v)


def moment(x, power):
    a, u, n = *whole(x), len(x)
    total = sum(a)
    return Fraction(sum((n * v - total) ** power for v in a), n ** (power + 1) * u**power)


def signed_root(square, sign):
    return math.copysign(root(square), sign) if square else 0.0


def powers(op, x, ddof):
    n, second = len(x), moment(x, 2)
    if second == 0 or (ddof and n < (3 if op == "skew" else 4)):
        return math.nan
    if op == "skew":
        third = moment(x, 3)
        square = third**2 / second**3
        return signed_root(square * n * (n - 1) / (n - 2) ** 2 if ddof else square, third)
    excess = moment(x, 4) / second**2 - 3
    return float(Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6) if ddof else excess)


def weighted(op, x, w, ddof):
    (a, u), (b, v) = whole(x), whole(w)
    total, weighed = sum(b), products(a, b)
    if total == 0:
        return math.nan
    if op == "wmean":
        return float(Fraction(weighed, total * u))
    above = Fraction(products(b, [(total * each - weighed) ** 2 for each in a]), total**2 * u**2 * v)
    below = Fraction(total, v) - ddof
    if below * total <= 0 or (op == "wstd" and above / below < 0):
        return math.nan
    return float(above / below) if op == "wvar" else root(above / below)


def line(op, x, y, ddof):
    n, xy, xx, yy = len(x), spread(x, y), spread(x, x), spread(y, y)
    if op == "cov":
        return float(xy / (n - ddof)) if n > ddof else math.nan
    if xx == 0 or (op in ("corr", "r2") and yy == 0):
        return math.nan
    if op in ("corr", "r2"):
        square = xy**2 / (xx * yy)
        return float(square) if op == "r2" else signed_root(square, xy)
    return float(xy / xx if op == "slope" else (sum(y) - xy / xx * sum(x)) / n)


def reduce(op, pairs, ddof, skip):
    """An aggregate of pairs, or values, of which none is NULL; None: there is none."""
    if not pairs:
        return None
    if skip:
        pairs = [p for p in pairs if not any(map(math.isnan, p))]
    if not pairs or any(not math.isfinite(v) for p in pairs for v in p):
        return math.nan
    columns = [list(map(Fraction, c)) for c in zip(*pairs)]
    if op in POWERS:
        return powers(op, columns[0], ddof)
    return (weighted if op in WEIGHTED else line)(op, *columns, ddof)


class Pairs(TablesTest):
    def column(self, t, name):
        """The values of a column, or of an expression of one or two."""
        left, _, right = name.partition("*")
        if not right:
            return t[left]
        factors = [2] * len(t[left]) if right == "2" else t[right]
        return [None if a is None or b is None else a * b for a, b in zip(t[left], factors)]

    def aggregate(self, t, op, name, of):
        if op == "count":
            return len(of)
        columns = [self.column(t, part) for part in name.split(":")]
        if any(isinstance(v, float) for c in columns for v in c):  # all are floats then
            columns = [[None if v is None else float(v) for v in c] for c in columns]
        rows = [tuple(c[i] for c in columns) for i in of]
        return reduce(op, [row for row in rows if None not in row], self.ddof, self.skip)

    def case(self, seed, pairs=PAIRS):
        """A table, a command, and what it answers of a table."""
        r = random.Random(seed)
        nulls = r.choice([0, 0.2])
        table = Table(r, r.choice([1, 5, 100, 300]), nulls)
        table.columns["n"] = [None if f is None else f[-9:].lstrip("-") for f in table.columns["n"]]
        table.columns["year"] = [f or "0" for f in table.columns["year"]]
        self.ddof, self.skip = r.randrange(2), r.random() < 0.5
        keys = r.sample(["word", "year"], r.choice([1, 1, 2]))
        asked = [("count", None)]
        for _ in range(r.randint(1, 6)):
            op = r.choice(LINES + WEIGHTED + POWERS)
            pair = r.choice([p for p in pairs if "odd" not in p or op not in WEIGHTED])
            asked.append((op, pair[0] if op in POWERS else ":".join(pair)))
        total = r.random() < 0.5
        arguments = ["group", "--by", ",".join(keys), "--text", "word", "--ddof", self.ddof] + ["--total"] * total
        arguments += ["--null-policy", "skip"] * (nulls > 0) + ["--nan", "skip"] * self.skip
        for op, name in asked:
            arguments += ["--count"] if op == "count" else ["--" + op, name]
        return r, table, arguments, lambda t, where=None: self.lines(self.expect(t, keys, asked, where, total))

    def answers(self, lines, note, *arguments, **more):
        done = run(*arguments, **more)
        self.assertEqual((done.stderr, done.stdout), (b"", lines), (note, arguments))

    def test_random_tables_are_those_of_fractions(self):
        for seed in range(CASES // 2 + 1):
            r, table, arguments, answer = self.case(seed)
            path = self.write("t.csv", table.write(r))
            for more in ([], ["-j1"], ["-j2", "--memory", LIMIT]):
                self.answers(answer(table), seed, *arguments, *more, path)
            where = "year > 2"
            self.answers(answer(table, where), seed, *arguments, "--where", where, path)

    def test_parts_are_the_whole(self):
        """Several files; saved and merged; and a part that is taken out."""
        for seed in range(CASES // 2 + 1):
            r, table, arguments, answer = self.case(1000 + seed, DECIMALS)
            paths = [self.write("%d.csv" % i, part) for i, part in enumerate(table.parts(r, 3))]
            self.answers(answer(table), seed, *arguments, *paths)
            cut = r.randint(0, table.rows)
            states = []
            for i, part in enumerate([table.write(r, 0, cut), table.write(r, cut)]):
                states.append(self.path("%d.bfs" % i))
                done = run(*arguments, "--save", states[i], self.write("part.csv", part))
                self.assertEqual(done.stderr, b"", arguments)
            self.answers(answer(table), seed, "merge", "--save", self.path("all.bfs"), *states)
            self.answers(answer(table), seed, "merge", self.path("all.bfs"))
            rest = Table(random.Random(0), 0, 0)
            rest.columns = {name: fields[:cut] for name, fields in table.columns.items()}
            rest.rows = cut
            self.answers(answer(rest), seed, "merge", self.path("all.bfs"), "--minus", states[1])

    def test_names_and_order(self):
        path = self.write("t.csv", b"k,x,y\na,1,2\na,2,3\na,4,4\nb,1,5\nb,2,3\n")
        ask = ["group", "--by", "k", "--corr", "x:y,:y::x,x*2:(y+1)=c", "--wmean", "x:y"]
        self.assertEqual(self.result(*ask, "--csv", "--sort", "c", path).splitlines(),
                         ["k,corr(x:y),corr(y:x),c,wmean(x:y)", "b,-1,-1,-1,1.375",
                          "a,0.9819805060619657,0.9819805060619657,0.9819805060619657,2.6666666666666665"])

    def test_files_of_arrays(self):
        """Arrays of every width; saved as the library's groups, which verify computes again."""
        r = np.random.default_rng(1)
        keys = r.integers(0, 5, 2000)
        for dtype in ["f8", "f4", "f2", "i8", "i2", "u1"]:
            x, y = [(r.normal(size=2000) * 50 + 60).astype(dtype) for _ in range(2)]
            k, a, b = self.save("k.npy", keys), self.save("x.npy", x), self.save("y.npy", y)
            arguments = ["group", k, "--count", "--corr", a + ":" + b, "--wvar", a + ":" + b, "--kurtosis", a,
                         "--cov", b + ":" + a]
            self.ddof, self.skip = 0, False
            want = []
            for key in range(5):
                of = [(v.item(), w.item()) for v, w in zip(x[keys == key], y[keys == key])]
                results = [reduce("corr", of, 0, False), reduce("wvar", of, 0, False),
                           reduce("kurtosis", [v[:1] for v in of], 0, False), reduce("cov", of, 0, False)]
                want.append("\t".join([str(key), str(len(of))] + [show(v) for v in results]))
            saved = self.path("groups.bfs")
            self.assertEqual(self.result(*arguments, "--save", saved).split("\n"), want, dtype)
            self.assertEqual(self.result("merge", saved).split("\n"), want, dtype)
            self.result("verify", "--against", saved, k, a, b, a, b, a, b, a, "--quiet")
            found = json.loads(self.result(*arguments, "--json"))
            self.assertEqual([(c["op"], c["of"], c.get("other")) for c in found["columns"]],
                             [("count", None, None), ("corr", a, b), ("wvar", a, b), ("kurtosis", a, None),
                              ("cov", b, a)])

    def test_what_is_wrong_is_said(self):
        path = self.write("t.csv", b"k,x,y,t,s,z\na,1,2,2020-01-01,q,1e300\nb,9007199254740993,3,2020-01-02,r,\n")
        group = ["group", "--by", "k"]
        self.refused(2, "'x' is not two files or columns", *group, "--corr", "x", path)
        self.refused(2, "is not two files or columns", *group, "--corr", "x:", path)
        self.refused(2, "has no name behind '='", *group, "--corr", "x:y=", path)
        self.refused(3, "no column is named 'w'", *group, "--corr", "x:w", path)
        self.refused(3, "column 5 (s)", *group, "--slope", "x:s", path)
        self.refused(3, "cov", *group, "--cov", "x:t", path)
        self.refused(3, "column 6 (z)", *group, "--cov", "x:z", path)
        self.refused(3, "an integer of more than 53 bits is no f64", *group, "--cov", "x:z", "--null-policy", "skip",
                     path)
        k = self.save("k.npy", np.arange(3))
        a, b = self.save("a.npy", np.arange(3.0)), self.save("b.npy", np.arange(3, dtype="i2"))
        self.refused(3, "no dtype holds pairs of f64 and i16", "group", k, "--corr", a + ":" + b)
        self.refused(3, "it holds fewer values", "group", k, "--corr", a + ":" + self.save("c.npy", np.arange(2.0)))
