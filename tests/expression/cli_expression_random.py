"""Random expressions of the columns of random tables, as keys, conditions, orders and values, against
Python's fractions, datetime and bytes.
Builds: release, asan (full)."""
import datetime
import json
import operator
import os
import random
from fractions import Fraction

from command import SANITIZED, CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (20 if SANITIZED else 6)
LIMIT = "%dM" % (2 * least_memory())
EPOCH = datetime.datetime(1970, 1, 1)
WORDS = ["Oslo", "Rome", "a,b", 'say "x"', "007", "two\nlines", "", "Z\u00fcrich", "oslo", " pad ", "x", "Rom"]
NUMBERS = ["0.1", "1.50", "-2.25", "3", "12.125"]


class Time(Fraction):
    """Seconds since 1970."""

    def clock(self):
        return EPOCH + datetime.timedelta(seconds=self.__floor__())


def from_clock(at):
    return Time((at - EPOCH) // datetime.timedelta(seconds=1))


def cut(unit):
    """What trunc does: sets what is below the unit to its least."""
    lower = {"year": {"month": 1, "day": 1}, "month": {"day": 1}, "day": {}}

    def cut_to(t):
        at = t.clock()
        if unit in ("hour", "minute", "second"):
            return Time(t - t % {"hour": 3600, "minute": 60, "second": 1}[unit])
        at = at.replace(hour=0, minute=0, second=0)
        if unit == "week":
            return from_clock(at - datetime.timedelta(days=at.weekday()))
        if unit == "quarter":
            return from_clock(at.replace(month=at.month - (at.month - 1) % 3, day=1))
        return from_clock(at.replace(**lower[unit]))

    return cut_to


def part(name):
    return lambda t: Fraction(t.clock().isoweekday() if name == "weekday" else getattr(t.clock(), name))


def ascii_only(change):
    return lambda s: "".join(change(c) if c.isascii() else c for c in s)


def choose(c, a, b):
    return a if c else b


def first(a, b):
    return b if a is None else a


def both(a, b):
    return False if a is False or b is False else None if None in (a, b) else True


def either(a, b):
    return True if a is True or b is True else None if None in (a, b) else False


def substr(at, n):
    return lambda s: "".join(c for i, c in enumerate(s, 1) if at <= i < at + n)


# How expressions of a type are made: the text, the value, and the types of the parts: numbers, strings, times,
# bools, or C: a column of numbers.
COMPARED = [("<", operator.lt), ("<=", operator.le), (">", operator.gt), (">=", operator.ge), ("==", operator.eq), ("!=", operator.ne)]
FORMS = {
    "n": [("(%s + %s)", operator.add, "nn"), ("(%s - %s)", operator.sub, "nn"), ("(%s * %s)", operator.mul, "nC"), ("(-%s)", operator.neg, "n"),
          ("min(%s, %s)", min, "nn"), ("max(%s, %s)", max, "nn"), ("abs(%s)", abs, "n"), ("%s**3", lambda x: x**3, "C"), ("%s**0", lambda x: x**0, "C"),
          ("(%s %% 7)", lambda x: x % 7, "n"), ("(%s %% (-1.25))", lambda x: x % Fraction(-5, 4), "n"), ("(%s - %s)", lambda a, b: Fraction(a - b), "tt"),
          ("round(%s, 1)", lambda x: Fraction(round(x * 10), 10), "C"), ("length(%s)", lambda s: Fraction(len(s)), "s")]
         + [("%s(%%s)" % name, part(name), "t") for name in ("year", "month", "day", "hour", "minute", "second", "weekday")],
    "s": [("substr(%%s, %d, %d)" % x, substr(*x), "s") for x in [(1, 2), (2, 9), (0, 3), (-1, 4), (2, 0)]]
         + [("upper(%s)", ascii_only(str.upper), "s"), ("lower(%s)", ascii_only(str.lower), "s"), ("trim(%s)", str.strip, "s"), ("concat(%s, %s)", operator.add, "ss")],
    "t": [("trunc(%%s, '%s')" % unit, cut(unit), "t") for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")]
         + [("date(%s)", cut("day"), "t"), ("(%s + %s)", lambda t, x: Time(t + x), "tC"), ("(%s - 0.5)", lambda t: Time(t - Fraction(1, 2)), "t"),
            ("min(%s, %s)", min, "tt"), ("max(%s, %s)", max, "tt")],
    "b": [("(%%s %s %%s)" % sign, f, kinds) for sign, f in COMPARED for kinds in ("nn", "tt")]
         + [("(%%s %s %%s)" % sign, lambda a, b, f=f: f(a.encode(), b.encode()), "ss") for sign, f in COMPARED]
         + [("(%%s %s '2001-05-06')" % sign, lambda t, f=f: f(t, from_clock(datetime.datetime(2001, 5, 6))), "t") for sign, f in COMPARED]
         + [("contains(%s, 'o')", lambda s: "o" in s, "s"), ("starts(%s, 'R')", lambda s: s.startswith("R"), "s"),
            ("ends(%s, \"o\")", lambda s: s.endswith("o"), "s"), ("(!%s)", operator.not_, "b")],
}  # fmt: skip
# These take parts that are NULL, too; X: the type itself.
OF_NULL = [("(%s ? %s : %s)", choose, "bXX"), ("if(%s, %s, %s)", choose, "bXX"), ("coalesce(%s, %s)", first, "XX")]
LOGIC = [("(%s && %s)", both, "bb"), ("(%s || %s)", either, "bb")] * 5 + [("isnull(%s)", lambda x: x is None, k) for k in "nst"]


def lifted(f):
    return lambda *x: None if None in x else f(*x)


class Maker:
    def __init__(self, r):
        self.r = r

    def leaf(self, kind):
        column = self.r.choice({"n": "npgw0", "C": "npg", "s": "sss0", "t": "t"}[kind])
        if column != "0":
            return column, lambda row: row[column]
        text = self.r.choice(["0", "7", "0.5", "12.25", "1000"] if kind == "n" else ["Oslo", "", "a,b"])
        value = Fraction(text) if kind == "n" else text
        return text if kind == "n" else "'%s'" % text, lambda row: value

    def make(self, kind, depth):
        """An expression: its text, and its value as a function of a row."""
        if kind == "C" or (kind != "b" and (depth == 0 or self.r.random() < 0.15)):
            return self.leaf(kind)
        special = self.r.random() < 0.3 and (depth > 0 or kind != "b")
        forms = (LOGIC if kind == "b" else OF_NULL) if special else FORMS[kind]
        form, f, kinds = self.r.choice([x for x in forms if depth > 0 or "b" not in x[2]])
        parts = [self.make(k.replace("X", kind), max(depth - 1, 0)) for k in kinds]
        call = f if special else lifted(f)
        return form % tuple(text for text, _ in parts), lambda row: call(*[value(row) for _, value in parts])

    def of_columns(self, kind, depth):
        """One that names some column: a letter of its own."""
        while True:
            text, value = self.make(kind, depth)
            if set("npgwst") & set(text.replace("'", " ").replace("(", " ").replace(",", " ").replace(")", " ").split()):
                return text, value


def text_of(x):
    """A number or a time as it is written."""
    if isinstance(x, Time):
        fraction = ("%09d" % ((x - x.__floor__()) * 10**9)).rstrip("0")
        return x.clock().isoformat() + ("." + fraction if fraction else "")
    if x.denominator == 1:
        return str(x)
    digits = max(k for k in range(1, 60) if x.denominator % 2**k == 0 or x.denominator % 5**k == 0)
    units = str(abs(x) * 10**digits).rjust(digits + 1, "0")
    return "-" * (x < 0) + units[:-digits] + "." + units[-digits:]


def rank(x):
    return (x is None, x.encode() if isinstance(x, str) else x)


class Random(CommandTest):
    def rows(self, r, dates):
        rows = []
        for i in range(r.choice([1, 2, 5, 40, 40, 300])):
            maybe = lambda share, x: None if i > 0 and r.random() < share else x
            clock = 0 if dates else r.randrange(86400) + Fraction(r.choice([0, 0, 250]), 1000)
            rows.append({"i": Fraction(i), "n": Fraction(r.randint(-5, 9)), "p": maybe(0.15, Fraction(r.choice(NUMBERS))),
                         "g": maybe(0.3, Fraction(r.randint(-2, 3))), "w": Fraction(r.randint(-10**17, 10**17)),
                         "s": maybe(0.15, r.choice(WORDS)), "t": maybe(0.15, Time(r.randrange(22000) * 86400 + clock))})
        return rows

    def field(self, x, dates):
        if isinstance(x, str):
            return '"%s"' % x.replace('"', '""') if not x or set(x) & set(',"\n ') else x
        return "" if x is None else text_of(x)[:10] if dates and isinstance(x, Time) else text_of(x)

    def same(self, found, want):
        """Whether a value of JSON is the one that is wanted."""
        if want is None or isinstance(want, str):
            return found == want
        if isinstance(want, Time):
            return found in (text_of(want), text_of(want).replace("T00:00:00", ""))
        return found is not None and Fraction(found) == Fraction(int(want) if isinstance(want, bool) else want)

    def objects(self, *arguments):
        out = self.result(*arguments, "--jsonl", *self.how, stdin=self.stdin)
        return [json.loads(line, parse_float=str) for line in out.split("\n") if line]

    def check_values(self, rows, text, values):
        found = self.objects("group", "--by", "i,%s=key" % text, "--count", self.path_or_pipe)
        self.assertEqual(len(found), len(rows))
        for row, x in zip(found, values):
            self.assertTrue(self.same(row["key"], x), (row, x))

    def check_groups(self, rows, text, values, where, kept):
        want = {}
        for i in kept:
            want.setdefault(rank(values[i]), []).append(i)
        found = self.objects("group", "--by", "%s=key" % text, "--count", "--sum", "n=n", "--where", where, self.path_or_pipe)
        self.assertEqual([(row["count"], row["n"]) for row in found],
                         [(len(want[k]), sum(rows[i]["n"] for i in want[k])) for k in sorted(want)])
        for row, k in zip(found, sorted(want)):
            self.assertTrue(self.same(row["key"], values[want[k][0]]), (row, k))

    def check_order(self, r, text, values, where, kept):
        """NULL comes last, and rows that are equal stay in their order, whatever the direction."""
        there, nulls = [i for i in kept if values[i] is not None], [i for i in kept if values[i] is None]
        rising = sorted(there, key=lambda i: rank(values[i])) + nulls
        falling = sorted(there[::-1], key=lambda i: rank(values[i]))[::-1] + nulls
        most = r.randint(1, 6)
        for asked, want in [(["sort", "--by", text], rising), (["sort", "--by", "-(%s)" % text], falling),
                            (["top", "-n", most, "--by", text], falling[:most]), (["top", "--least", "-n", most, "--by", text], rising[:most])]:
            found = self.objects(*asked, "--take", "i", "--where", where, self.path_or_pipe)
            self.assertEqual([int(row["i"]) for row in found], want, asked)

    def check_reductions(self, r, text, values, where, kept):
        numbers = [values[i] for i in kept]
        there = [x for x in numbers if x is not None]
        if not there:
            return
        ask = ["-e", text, "--where", where, "--null-policy", "skip", self.path_or_pipe, *self.how]
        for op, want in [("sum", sum(there)), ("min", min(there)), ("max", max(there)), ("argmax", numbers.index(max(there)))]:
            self.assertEqual(Fraction(self.result(op, *ask, stdin=self.stdin)), want, op)
        self.assertEqual(float(self.result("mean", *ask, stdin=self.stdin)), float(sum(there) / len(there)))
        told = dict(line.split("\t") for line in self.result("describe", *ask, stdin=self.stdin).split("\n"))
        self.assertEqual([Fraction(told[x]) for x in ("n", "min", "argmin", "max", "sum")],
                         [len(there), min(there), numbers.index(min(there)), max(there), sum(there)])

    def check_bins(self, text, values, where, kept):
        """Bins hold doubles, which are those nearest to the exact values."""
        edges = [-1e9, -3, 0, 0.3, 2, 7.25, 1e9]
        there = [float(values[i]) for i in kept if values[i] is not None]
        want = [sum(a <= x < b or x == b == edges[-1] for x in there) for a, b in zip(edges, edges[1:])]
        ask = ["hist", "-q", "-e", text, "--where", where, "--edges=" + ",".join(map(repr, edges)), "--null-policy", "skip", "--tsv"]
        for by in [], ["--by", "'all'"]:
            found = self.result(*ask, *by, self.path_or_pipe, *self.how, stdin=self.stdin).split("\n")
            if kept or not by:
                self.assertEqual([int(line.split("\t")[-1]) for line in found], want, by)

    def test_random(self):
        for case in range(CASES):
            r = random.Random(case + int(os.environ.get("BITFOLD_SEED", "0")))
            maker, dates = Maker(r), r.random() < 0.5
            rows, kind = self.rows(r, dates), r.choice("nnnstb")
            text, value = maker.of_columns(kind, r.randint(1, 4))
            where, holds = maker.of_columns("b", r.randint(0, 4))
            data = "".join(",".join(self.field(row[c], dates) for c in "inpgwst") + "\n" for row in rows)
            path = self.write("t.csv", ("i,n,p,g,w,s,t\n" + data).encode())
            self.how = ["-j", r.randint(1, 3)] + ["--memory", LIMIT] * (r.random() < 0.1)
            self.path_or_pipe, self.stdin = path, b""
            if r.random() < 0.3:
                self.path_or_pipe, self.stdin = "-", ("i,n,p,g,w,s,t\n" + data).encode()
            values, kept = [value(row) for row in rows], [i for i, row in enumerate(rows) if holds(row) is True]
            with self.subTest(case=case, text=text, where=where):
                self.check_values(rows, text, values)
                self.check_groups(rows, text, values, where, kept)
                self.check_order(r, text, values, where, kept)
                if kind == "n":
                    self.check_reductions(r, text, values, where, kept)
                    self.check_bins(text, values, where, kept)
