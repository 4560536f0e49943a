"""Columns of dates and times: what each command makes of them is what Python's datetime and fractions
make of the same text."""
import datetime
import json
import os
import random
from fractions import Fraction

import numpy as np

from command import SANITIZED, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "240")) // (20 if SANITIZED else 8)
LIMIT = "%dM" % (2 * least_memory())
EPOCH = datetime.datetime(1970, 1, 1)
CITIES = ["Oslo", "Rome", "Bern", ""]
KINDS = ["date", "local", "utc", "mixed"]
BELOW = 86400 * 365 * 250  # seconds from 1970 that 64 bits hold in nanoseconds


def seconds_of(text):
    """A time's seconds since 1970, by Python's calendar, and its digits behind the point."""
    day, clock = datetime.date.fromisoformat(text[:10]), text[11:]
    seconds, digits = Fraction((day - EPOCH.date()).days * 86400), 0
    if clock:
        at = next((i for i, c in enumerate(clock) if c in "Zz+-"), len(clock))
        zone, parts = clock[at:], clock[:at].split(":")
        seconds += int(parts[0]) * 3600 + int(parts[1]) * 60 + Fraction(parts[2] if len(parts) > 2 else 0)
        digits = len(parts[2].partition(".")[2].rstrip("0")) if len(parts) > 2 else 0
        if zone and zone not in "Zz":
            offset = zone[1:].replace(":", "").ljust(4, "0")
            away = int(offset[:2]) * 3600 + int(offset[2:]) * 60
            seconds += away if zone[0] == "-" else -away
    return seconds, digits


def shown(seconds, kind):
    """A time as bitfold shows it."""
    whole = seconds.__floor__()
    text = (EPOCH + datetime.timedelta(seconds=whole)).isoformat()
    if kind == "date" and seconds % 86400 == 0:
        return text[:10]
    fraction = "%09d" % int((seconds - whole) * 10**9)
    return text + ("." + fraction.rstrip("0") if seconds != whole else "") + ("Z" if kind == "utc" else "")


def middle(a, b, digits):
    """The time between two that have so many digits behind the point at most."""
    power = 10**digits
    return Fraction(round((a + b) / 2 * power), power)


def make_time(r, kind, digits):
    at = EPOCH + datetime.timedelta(seconds=r.choice([r.randrange(-BELOW, BELOW), r.randrange(0, 10**6)]))
    date = kind == "date" or (kind == "mixed" and r.random() < 0.5)
    text = at.date().isoformat()
    if date:
        return text
    text += r.choice("TTt ") + at.strftime("%H:%M")
    if r.random() < 0.9:
        text += at.strftime(":%S")
        if digits and r.random() < 0.7:
            text += "." + "".join(r.choice("0123456789") for _ in range(r.randint(1, digits)))
    if kind == "utc":
        text += r.choice(["Z", "Z", "z", "+00:00", "+02", "-0930", "+05:45", "-11:00"])
    return text


def stamp(nanoseconds):
    """A local time of so many nanoseconds, as bitfold shows it."""
    return shown(Fraction(nanoseconds, 10**9), "local")


class Times(CommandTest):
    def out(self, *arguments, stdin=b"", code=0):
        p = run(*arguments, stdin=stdin)
        self.assertEqual(p.returncode, code, (arguments, p.stderr))
        return (p.stderr if code else p.stdout).decode()

    def lines(self, *arguments, **more):
        return self.out(*arguments, **more).splitlines()

    def put(self, name, text):
        path = self.path(name)
        with open(path, "w", newline="") as f:
            f.write(text)
        return path

    def table(self, r, kind, digits, rows, nulls):
        """Writes a table; returns its path, and the cities, the texts of times (None: NULL) and the prices."""
        cities = [r.choice(CITIES) for _ in range(rows)]
        times = [None if nulls and r.random() < 0.2 else make_time(r, kind, digits) for _ in range(rows)]
        if rows and times[0] is None:
            times[0] = make_time(r, kind, digits)
        quote = r.random() < 0.2
        end = r.choice(["\n", "\n", "\r\n"])
        fields = ["" if t is None else '"%s"' % t if quote else t for t in times]
        text = "city,time,n" + end + "".join("%s,%s,%d%s" % (c, f, i, end)
                                             for i, (c, f) in enumerate(zip(cities, fields)))
        return self.put("t.csv", text), cities, times

    def check(self, r, case):
        kind, digits = r.choice(KINDS), r.choice([0, 0, 3, 6, 9])
        rows, nulls = r.choice([1, 2, 3, 50, 50, 400]), r.random() < 0.4
        path, cities, times = self.table(r, kind, digits, rows, nulls)
        all_parsed = [None if t is None else seconds_of(t) for t in times]
        deepest = max((d for d in (p and p[1] for p in all_parsed) if d is not None), default=0)
        x = [None if p is None else p[0] for p in all_parsed]
        there = [v for v in x if v is not None]
        dates = all(t is None or len(t) == 10 for t in times)
        as_shown = "date" if dates else "utc" if kind == "utc" else "local"
        show = lambda v: "" if v is None else shown(v, as_shown)
        skip = ["--null-policy", "skip"] if nulls else []
        how = ["--column", "time", "--threads", r.choice(["1", "3"])] + skip
        order = sorted(there)
        with self.subTest(case=case, kind=kind, digits=digits, rows=rows, nulls=nulls):
            self.assertEqual(self.lines("min", *how, path), [show(order[0])])
            self.assertEqual(self.lines("max", *how, path), [show(order[-1])])
            self.assertEqual(self.lines("argmin", *how, path), [str(x.index(order[0]))])
            self.assertEqual(self.lines("sort", *how, path), [show(v) for v in order])
            self.assertEqual(self.lines("sort", "--memory", LIMIT, *how, path), [show(v) for v in order])
            self.assertEqual(self.lines("unique", "--count", *how, path),
                             ["%s\t%d" % (show(v), order.count(v)) for v in sorted(set(order))])
            half = len(order) // 2
            median = order[half] if len(order) % 2 else middle(order[half - 1], order[half], deepest)
            if order[half - 1] == order[half]:
                median = order[half]
            self.assertEqual(self.lines("median", *how, path), [show(median)])
            self.assertEqual(self.lines("median", "--memory", LIMIT, *how, path), [show(median)])
            self.quantiles(r, path, how, order, deepest, show)
            self.assertEqual(self.lines("quantile", "--method", "lower", "-p", "30", *how, path),
                             [show(order[int(Fraction(30, 100) * (len(order) - 1))])])
            self.groups(path, cities, x, show)
            self.conditions(r, path, x, times)
            self.arrays(r, path, how, order, kind, deepest, dates)

    def quantiles(self, r, path, how, order, digits, show):
        """Every way to a quantile gives the exact value between two times, rounded once to their digits."""
        percents, want = [r.choice([25, 50, 1e-17, 99.999, r.random() * 100]) for _ in range(3)], []
        for percent in percents:
            at = (len(order) - 1) * (percent / 100)
            below, above = order[int(at)], order[min(int(at) + 1, len(order) - 1)]
            exact = below + (above - below) * (Fraction(at) - int(at))
            want.append(show(Fraction(round(exact * 10**digits), 10**digits)))
        asked = ["-p", ",".join(map(repr, percents)), *how]
        self.assertEqual(self.lines("quantile", *asked, path), want)
        self.assertEqual(self.lines("quantile", "--memory", LIMIT, *asked, path), want)
        results = [x for percent in percents for x in ("--quantile", "%r:time" % percent)]
        for more in [], ["--memory", LIMIT]:
            got = self.lines("group", "--by", "isnull(n)", *results, "--null-policy", "skip", "--total", "--tsv", *more, path)
            self.assertEqual([line.split("\t")[1:] for line in got[-2:]], [want, want])

    def groups(self, path, cities, x, show):
        want = {}
        for city, v in zip(cities, x):
            want.setdefault(city or None, []).append(v)
        got = {}
        for line in self.lines("group", "--by", "city", "--max", "time", "--min", "time", "--csv", "--null-policy", "skip",
                               path)[1:]:
            city, greatest, least = line.split(",")
            got[city or None] = greatest, least
        for city, values in want.items():
            there = [v for v in values if v is not None]
            self.assertEqual(got[city], (show(max(there)), show(min(there))) if there else ("", ""))
        counts = {}
        for v in x:
            counts[show(v)] = counts.get(show(v), 0) + 1
        for more in [], ["--memory", LIMIT]:
            got = self.lines("count", "--by", "time", "--sort", "key", "--csv", *more, path)[1:]
            self.assertEqual({a: int(b) for a, b in (line.split(",") for line in got)}, counts)

    def conditions(self, r, path, x, times):
        pivot = r.choice([t for t in times if t is not None])
        at = seconds_of(pivot)[0]
        want = sum(i for i, v in enumerate(x) if v is not None and v >= at)
        self.assertEqual(self.lines("sum", "--column", "n", "--where", "time >= '%s'" % pivot, path), [str(want)])

    def arrays(self, r, path, how, order, kind, deepest, dates):
        array = self.path("t.npy")
        self.lines("sort", *how, path, "-o", array)
        got = np.load(array)
        unit = "D" if dates else "s ms us ns".split()[(deepest + 2) // 3]
        self.assertEqual(got.dtype, np.dtype("M8[%s]" % unit))
        per = 86400 if unit == "D" else Fraction(1, 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit])
        self.assertEqual([v * per for v in got.astype("i8").tolist()], order)
        back = [shown(v, "date" if dates else "local") for v in order]
        self.assertEqual(self.lines("sort", array), back)

    def test_128_bits(self):
        """Times that 64 bits do not hold in one unit have exact quantiles, too."""
        r = random.Random(3)
        for _ in range(CASES // 4):
            times = ["0%d-01-01" % r.randrange(100, 999)]
            times += [make_time(r, "local", 9) for _ in range(r.randrange(1, 6))] + ["2026-01-01T00:00:00.123456789"]
            path = self.put("w.csv", "time,n\n" + "".join("%s,1\n" % t for t in times))
            order = sorted(seconds_of(t)[0] for t in times)
            self.quantiles(r, path, ["--column", "time"], order, 9, lambda v: shown(v, "local"))

    def test_random(self):
        for case in range(CASES):
            self.check(random.Random(case + int(os.environ.get("BITFOLD_SEED", "0"))), case)

    def test_forms(self):
        """Every form that a field may have is the same time."""
        forms = ["2026-11-28T09:30:00.5Z", "2026-11-28t09:30:00.50z", "2026-11-28 10:30:00.500+01",
                 "2026-11-28 10:30:00.5+0100", "2026-11-27T23:45:00.500000000-09:45"]
        path = self.put("f.csv", "t\n" + "\n".join(forms) + "\n")
        self.assertEqual(self.lines("unique", "--count", "--column", "t", path), ["2026-11-28T09:30:00.5Z\t5"])
        bare = self.put("b.txt", "2026-11-28 00:00\n2026-11-28\n2026-11-28T00:00:00\n")
        self.assertEqual(self.lines("unique", "--count", bare), ["2026-11-28T00:00:00\t3"])
        self.assertEqual(self.lines("max", bare), ["2026-11-28T00:00:00"])

    def test_no_times(self):
        """A column with one field that is no time is text as a key, and refused as a value."""
        for wrong in ["2026-02-29", "2026-13-01", "2026-1-1", "2026-01-01T24:00", "2026-01-01T10:00Z", "x", "7",
                      "2026-01-01T10:00:60", "2026-01-01x", "0000-01-01", "2026-01-01T1:00"]:
            path = self.put("w.csv", "t,n\n2026-01-01,1\n2026-01-02,2\n%s,3\n" % wrong)
            self.assertIn(wrong + "\t1", self.lines("count", "--by", "t", path))
            self.assertIn(":4: ", self.out("min", "--column", "t", path, code=3))
            infer = self.lines("describe", "--infer", "--tsv", path)
            self.assertEqual(infer[0].split("\t")[1:7], ["t", "string", "3", "0", "4", wrong])
        text = self.put("d.csv", "t,n\n2026-01-01 ,1\n2026-01-01 00:00,2\n")
        self.assertEqual(self.lines("count", "--by", "t", text), ["2026-01-01T00:00:00\t2"])
        self.assertEqual(self.lines("count", "--by", "t", "--text", "t", text), ["2026-01-01 \t1", "2026-01-01 00:00\t1"])
        self.assertIn("not a number", self.out("count", "--by", "t", "--number", "t", text, code=3))

    def test_many_dates(self):
        """Dates of all centuries, and behind them one of a known month that is none."""
        r = random.Random(7)
        days = [datetime.date(r.choice([1, 26, 126, 1926, 2026, 9926, r.randrange(1, 10000)]), r.randrange(1, 13),
                              r.randrange(1, 29)) for _ in range(5000)]
        path = self.put("d.csv", "d\n" + "".join("%s\n" % d for d in days))
        self.assertEqual(self.lines("sort", "--column", "d", path), [str(d) for d in sorted(days)])
        for day in ["00", "32", "0:", "/;", "/:", ":0", "-1", " 1", "1 ", "\xb2\xb3"]:
            path = self.put("w.csv", "d,n\n" + "2026-01-31,1\n" * 999 + "2026-01-%s,2\n" % day)
            self.assertIn("2026-01-%s\t1" % day, self.lines("count", "--by", "d", path))
            self.assertIn(":1001: ", self.out("min", "--column", "d", path, code=3))

    def test_squares_of_long_decimals(self):
        """Squares have twice the scale, which is no time."""
        for scale in (31, 32, 33, 38):
            path = self.put("q.csv", "v\n-7.62e-%d\n" % (scale - 2))
            want = "0.%0*d" % (2 * scale, 762 ** 2)
            self.assertEqual(self.lines("sumsq", "--column", "v", path), [want])

    def test_refused(self):
        path = self.put("r.csv", "t,n\n2026-01-01,1\n2026-01-02,2\n")
        for op in ["sum", "mean", "var", "std", "sumsq", "norm"]:
            self.assertIn("times have no %s" % op, self.out(op, "--column", "t", path, code=3))
        self.assertIn("times have no mean", self.out("group", "--by", "n", "--mean", "t", path, code=3))
        self.assertIn("times have no sum", self.out("sum", "-e", "t", path, code=3))
        self.assertEqual(self.lines("sum", "-e", "t - date('2025-12-31')", path), ["259200"])

    def test_json(self):
        lines = [{"t": "2026-01-01T00:00:00.25Z", "k": "a"}, {"t": None, "k": "a"}, {"t": "1969-12-31T23:59:59Z", "k": "b"}]
        path = self.put("j.jsonl", "".join(json.dumps(x) + "\n" for x in lines))
        got = json.loads(self.out("min", "--json", "--column", "t", "--null-policy", "skip", path))
        self.assertEqual((got["dtype"], got["value"], got["null"]), ("time", "1969-12-31T23:59:59Z", 1))
        got = [json.loads(x) for x in self.lines("sort", "--jsonl", "--column", "t", "--null-policy", "skip", path)]
        self.assertEqual([x["value"] for x in got], ["1969-12-31T23:59:59Z", "2026-01-01T00:00:00.25Z"])
        self.assertEqual(self.lines("group", "--by", "k", "--max", "t", "--null-policy", "skip", path),
                         ["a\t2026-01-01T00:00:00.25Z", "b\t1969-12-31T23:59:59Z"])

    def test_saved(self):
        a = self.put("a.csv", "k,t\nx,2026-01-03\ny,2026-01-01\n")
        b = self.put("b.csv", "k,t\nx,2026-01-04T10:00\n")
        for asked, want in [(["min", "--column", "t"], ["2026-01-01T00:00:00"]),
                            (["group", "--by", "k", "--max", "t"], ["x\t2026-01-04T10:00:00", "y\t2026-01-01T00:00:00"]),
                            (["count", "--by", "t"], ["2026-01-01T00:00:00\t1", "2026-01-03T00:00:00\t1",
                                                     "2026-01-04T10:00:00\t1"]),
                            (["count", "--column", "t"], ["2026-01-01T00:00:00\t1", "2026-01-03T00:00:00\t1",
                                                         "2026-01-04T10:00:00\t1"])]:
            states = [self.path("a.state"), self.path("b.state")]
            for path, state in zip([a, b], states):
                self.out(*asked, "--save", state, path)
            self.assertEqual(sorted(self.lines("merge", *states)), sorted(want), asked)
        self.out("min", "--column", "t", "--save", states[0], a)
        self.assertIn("PASS", self.out("verify", "--against", states[0], "--column", "t", a))
        numbers = self.put("n.csv", "k,t\nx,5\n")
        self.out("verify", "--against", states[0], "--column", "t", numbers, code=3)
        self.out("min", "--column", "t", "--save", states[1], numbers)
        self.out("min", "--column", "t", "--save", states[0], a)
        self.out("merge", *states, code=3)

    def test_several_files(self):
        a = self.put("a.csv", "k,t\nx,2026-01-03\ny,2026-01-01\n")
        b = self.put("b.csv", "k,t\nx,2026-01-04T10:00:00.5\n")
        c = self.put("c.csv", "k,t\nx,2026-01-04T10:00Z\n")
        n = self.put("n.csv", "k,t\nx,\n")
        self.assertEqual(self.lines("max", "--total", "--column", "t", a, b)[-1], "2026-01-04T10:00:00.5\ttotal")
        self.assertEqual(sorted(self.lines("count", "--by", "t", a, b, n)), [
            "\t1", "2026-01-01T00:00:00\t1", "2026-01-03T00:00:00\t1", "2026-01-04T10:00:00.5\t1"])
        self.assertEqual(self.lines("count", "--by", "t", a, c),
                         ["2026-01-01\t1", "2026-01-03\t1", "2026-01-04T10:00Z\t1"])
        self.out("max", "--total", "--column", "t", a, c, code=3)

    def test_join(self):
        a = self.put("a.csv", "t,x\n2026-01-03,1\n2026-01-04,2\n")
        b = self.put("b.csv", "t,y\n2026-01-03T00:00,5\n2026-01-05T00:00,6\n")
        c = self.put("c.csv", "t,y\n2026-01-03,5\nnone,6\n")
        for more in [], ["--memory", LIMIT]:
            self.assertEqual(self.lines("join", "--on", "t", *more, a, b), ["2026-01-03\t1\t5"])
            self.assertEqual(self.lines("join", "--on", "t", *more, a, c), ["2026-01-03\t1\t5"])
            self.assertEqual(self.lines("join", "--on", "t", "--where", "t > '2026-01-03'", *more, a, a),
                             ["2026-01-04\t2\t2"])
        self.assertEqual(self.lines("join", "--header", "--column", "t", a, b), ["0\t0"])

    def test_no_value(self):
        """A column without a value is a time where it meets one, also of one file among others, and a number elsewhere."""
        header, row, null = "t,u,s,v\n", "2026-01-05,2026-01-01T00:00Z,x,3\n", ",,,\n"
        empty, nulls, full = self.put("e.csv", header), self.put("n.csv", header + 1100 * null), self.put("f.csv", header + row)
        skip = ["--null-policy", "skip"]
        wheres = ["t >= '2026-01-01'", "t + v > '2026-01-01'", "t - u > 5", "t - '2026-01-01' > 5", "month(t) == 1",
                  "trunc(t, 'hour') < u", "max(t, '2026-01-01') == u", "min(t, u) < '2026-01-01'", "t == s", "s =~ 'x'",
                  "date(t + 86400) > '2026-01-01'", "min(t, 5) > 3", "t * 2 + u > 5", "t && u", "length(s) > t",
                  "(v > 1 ? t : u) > '2026-01-01'"]
        for path, rows in [(empty, ""), (nulls, 1100 * null)]:
            for where in wheres:
                self.assertEqual(self.out("sort", "--by", "v", "--where", where, path), header, where)
            self.assertEqual(self.out("sort", "--by", "v", "--where", "isnull(date(t) + u)", path), header + rows)
            groups = ["\t%d" % (len(rows) // len(null))] if rows else []
            for key in ["month(t)", "date(t)", "t + 5", "u - t", "upper(s)"]:
                self.assertEqual(self.lines("group", "--by", key, "--count", path), groups, key)
                both = self.lines("group", "--by", key, "--count", path, full) if key != "u - t" else []
                self.assertEqual(both[:-1] if rows else both, self.lines("group", "--by", key, "--count", full) if both else [])
            self.assertEqual(self.lines("sum", "-e", "hour(t)", *skip, path), ["0"])
            states = [self.path("a.state"), self.path("b.state")]
            for key in [] if rows else ["t", "s", "t,s"]:
                asked = ["group", "--by", key, "--max", "t", "--median", "u", "--count"]
                for file, state in zip([path, full], states):
                    self.out(*asked, "--save", state, file)
                for order in states, states[::-1]:
                    self.assertEqual(self.out("merge", *order), self.out(*asked, full), asked)
            joined = self.lines("join", "--on", "date(t)=date(t)", "--how", "outer", path, full)
            self.assertEqual(joined[-1], "\t\t\t\t" + row.strip().replace(",", "\t"))

    def test_late_value(self):
        """A column whose first value comes late is one of numbers: what was made of it as a time is refused."""
        path = self.put("late.csv", "t,v\n" + 70000 * ",1\n" + "5,1\n")
        self.assertIn("times are compared", self.out("count", "--by", "v", "--where", "t > date('2026-01-01')", path, code=3))
        self.assertIn("this takes a time", self.out("group", "--by", "month(t)", "--count", path, code=3))
        self.assertEqual(self.lines("group", "--by", "t + 2", "--count", path), ["7\t1", "\t70000"])
        self.assertEqual(self.lines("sum", "-e", "t + 1", "--null-policy", "skip", path), ["6"])
        self.assertEqual(self.lines("count", "--by", "v", "--where", "t + 2 == 7", path), ["1\t1"])

    def test_nat(self):
        """NaT in an array is NULL: refused with its index, or left out."""
        r = np.random.default_rng(5)
        for unit, n in [("D", 1), ("D", 7), ("s", 1001), ("ns", 140001 // (10 if SANITIZED else 1)), ("h", 300)]:
            for order in "<>":
                x = r.integers(-(10**5), 10**5, n).astype("M8[%s]" % unit).astype("%sM8[%s]" % (order, unit))
                x[r.random(n) < 0.3] = "NaT"
                x[n // 2] = "NaT"
                path, kept = self.path("x.npy"), x[~np.isnat(x)]
                np.save(path, x)
                first = "index %d is NaT" % np.flatnonzero(np.isnat(x))[0]
                for op in ["max", "sort", "median", "count"]:
                    self.assertIn(first, self.out(op, path, code=3))
                skip = ["--null-policy", "skip", path]
                self.assertEqual(self.lines("sum", "-e", "isnull(a)", path), [str(n - len(kept))])
                self.assertEqual(self.lines("sum", "-e", "year(a)", *skip),
                                 [str((kept.astype("M8[Y]").astype(int) + 1970).sum())])
                if not len(kept):
                    self.assertIn("no value", self.out("max", *skip, code=3))
                    continue
                want = [shown(Fraction(int(t), 1) / 10 ** (9 if unit == "ns" else 0), "date" if unit == "D" else "local")
                        for t in kept.astype("M8[s]" if unit in "Dh" else kept.dtype).astype("i8")]
                by_time = sorted(zip(kept.astype("i8"), want))
                self.assertEqual(self.lines("sort", *skip), [t for _, t in by_time])
                got = json.loads(self.out("max", "--json", *skip))
                self.assertEqual((got["value"], got["n"], got["null"]), (by_time[-1][1], len(kept), n - len(kept)))
                self.assertEqual(self.lines("argmin", *skip), [str(np.nanargmin(np.where(np.isnat(x), np.inf, x.astype("i8"))))])
                with open(path, "rb") as f:
                    piped = run("min", "--null-policy", "skip", "-", stdin=f.read())
                self.assertEqual(piped.stdout.decode().split(), [by_time[0][1]])
                counts = self.lines("hist", "--bins", "5", "--tsv", *skip)
                self.assertEqual(sum(int(line.split("\t")[2]) for line in counts), len(kept))
        np.save(path, np.arange(3))
        self.assertIn("is for text", self.out("max", "--null-policy", "skip", path, code=2))

    def test_bins_of_times_are_fields_of_an_array(self):
        array = self.path("h.npy")
        for text, bins, unit in [("2026-01-01\n2026-01-03\n", 2, "D"), ("2026-01-01\n2026-01-03\n", 4, "s"),
                                 ("2026-01-01T10:00Z\n2026-01-01T10:00:00.25Z\n", 5, "ms"),
                                 ("1969-12-31T23:59:59\n1970-01-01T00:00:00.000001\n", 3, "us")]:
            path = self.put("t.csv", "t\n" + text)
            rows = [line.split("\t") for line in self.lines("hist", "--tsv", "--bins", bins, "--column", "t", path)]
            self.lines("hist", "--bins", bins, "--column", "t", "-o", array, path)
            got = np.load(array)
            self.assertEqual(got.dtype.descr, [("lo", "<M8[%s]" % unit), ("hi", "<M8[%s]" % unit), ("count", "<i8")])
            for name, column in [("lo", 0), ("hi", 1)]:
                want = np.array([row[column].rstrip("Z") for row in rows], "M8[%s]" % unit)
                self.assertEqual(got[name].tolist(), want.tolist(), (text, name))
            self.assertEqual(got["count"].tolist(), [int(row[2]) for row in rows])
        self.lines("hist", "--bins", "2", "--density", "--column", "t", "-o", array, path)
        self.assertEqual(np.load(array).dtype.names, ("lo", "hi", "density"))
        saved = self.path("h.bfs")
        self.lines("hist", "--bins", "3", "--column", "t", "--save", saved, path)
        self.lines("merge", "-o", array, saved)
        self.assertEqual(np.load(array)["lo"].dtype, np.dtype("M8[us]"))

    def test_a_range_of_times_has_as_many_bins_as_numpy_says(self):
        x = np.random.default_rng(3).integers(0, 10**6, 3000)
        path = self.put("r.csv", "t\n" + "".join("%s\n" % t for t in x.astype("M8[s]")))
        edges = np.histogram_bin_edges(x, "auto", (10**5, 10**6))
        text = ":".join(str(np.datetime64(at, "s")) for at in (10**5, 10**6))
        self.assertEqual(len(self.lines("hist", "--tsv", "--bins", "auto", "--range", text, "--column", "t", path)), len(edges) - 1)

    def test_map(self):
        path = self.put("m.csv", "t,n\n2026-01-31T10:00:00.5,1\n2026-03-01,2\n1969-12-31T23:59:59.9,3\n")
        out = self.path("m.npy")
        for text, want in [("month(t)", np.array([1, 3, 12])), ("t", np.array(["2026-01-31T10:00:00.5", "2026-03-01", "1969-12-31T23:59:59.9"], "M8[ms]")),
                           ("date(t)", np.array(["2026-01-31", "2026-03-01", "1969-12-31"], "M8[D]")),
                           ("t + n / 8", None), ("t - date(t)", np.array([36000.5, 0, 86399.9])), ("t > '2026-02-01'", np.array([False, True, False])),
                           ("trunc(t, 'second') + n * 0.000001", np.array(["2026-01-31T10:00:00.000001", "2026-03-01T00:00:00.000002", "1969-12-31T23:59:59.000003"], "M8[us]"))]:
            if want is None:
                self.assertIn("times are", self.out("map", "-e", text, path, "-o", out, code=3))
                continue
            self.assertEqual(self.out("map", "-e", text, path, "-o", out), "")
            found = np.load(out)
            self.assertEqual((found.dtype, found.tolist()), (want.dtype, want.tolist()), text)
        times = np.array(["2026-01-31T10", "1969-12-31T23", "0001-01-01T00"], "M8[s]")
        np.save(self.path("a.npy"), times)
        self.out("map", "-e", "a - 0.000001", self.path("a.npy"), "-o", out)
        np.testing.assert_equal(np.load(out), times - np.timedelta64(1, "us"))
        wide = self.put("w.csv", "t,n\n9999-01-01,1\n")
        self.assertIn("64 bits do not hold a time", self.out("map", "-e", "t + n * 0.0000001", wide, "-o", out, code=3))
        fine = self.put("f.csv", "t,n\n1970-01-01,1\n")
        for command in ["map", "sort"]:
            self.assertIn("64 bits do not hold a time", self.out(command, "-e", "t + n * 0.0000000001", fine, "-o", out, code=3))

    def test_hist(self):
        path = self.put("h.csv", "t\n2026-01-01\n2026-01-02\n2026-01-05\n")
        self.assertEqual(self.lines("hist", "--bins", "4", "--tsv", "--column", "t", path),
                         ["2026-01-01\t2026-01-02\t1", "2026-01-02\t2026-01-03\t1",
                          "2026-01-03\t2026-01-04\t0", "2026-01-04\t2026-01-05\t1"])
        self.assertIn("--edges", self.out("hist", "--edges", "1,2", "--column", "t", path, code=2))

    def test_even_bins_of_nanoseconds(self):
        """Edges of times beyond 2^53 units are the first ones that are not before the exact ones."""
        r = random.Random(9)
        for case in range(CASES):
            base, span = r.randrange(10**18, 9 * 10**18), r.choice([0, 1, 5, 1000, 10**6, 10**15])
            x = [base + r.randrange(span + 1) | 1 for _ in range(r.choice([1, 2, 50]))]  # all digits
            lo, hi = (min(x), max(x)) if r.random() < 0.7 else (base + span // 4, base + span // 2)
            ranged = [] if (lo, hi) == (min(x), max(x)) else ["--range", ":".join(stamp(t) for t in (lo, hi))]
            path = self.put("n.csv", "k,t\n" + "".join("k,%s\n" % stamp(t) for t in x))
            hi += lo == hi
            for bins in [["--bins", str(r.choice([1, 2, 3, 100]))], []]:
                if bins and int(bins[1]) > hi - lo:
                    self.assertIn("too many bins", self.out("hist", *bins, *ranged, "--column", "t", path, code=2 if ranged else 3))
                    continue
                got = self.lines("hist", "--tsv", *bins, *ranged, "--column", "t", path)
                n = len(got)
                edges = [lo + -(-i * (hi - lo) // n) for i in range(n + 1)]
                counts = [sum(a <= t < b or t == b == hi for t in x) for a, b in zip(edges, edges[1:])]
                want = ["%s\t%s\t%d" % (stamp(a), stamp(b), c) for a, b, c in zip(edges, edges[1:], counts)]
                self.assertEqual(got, want, (case, bins))
                self.assertEqual(n, int(bins[1]) if bins else n)
                self.assertEqual(self.lines("hist", "--tsv", "--by", "k", *bins, *ranged, "--column", "t", path),
                                 ["k\t" + line for line in want])

    def test_bins_that_doubles_do_not_tell_apart(self):
        """A terminal shows their edges; a figure has no place for them."""
        path = self.put("n.csv", "t\n2026-11-28T09:30:00.000000123\n2026-11-28T09:30:00.000000125\n")
        shown = self.shown("hist", "--bins", 2, "--column", "t", path)
        for last in ["123 . 2026-11-28T09:30:00.000000124  1", "124 . 2026-11-28T09:30:00.000000125  1"]:
            self.assertRegex(shown, "2026-11-28T09:30:00.000000" + last)
        done = run("hist", "--bins", "2", "--column", "t", "-o", self.path("n.svg"), path)
        self.assertIn(done.returncode, (3, 4), "too narrow for a figure, or no figures")
        self.assertFalse(os.path.exists(self.path("n.svg")))

    def test_bins_of_times(self):
        """--range and --edges take times: elements are counted in the bins where they are, exactly."""
        r = random.Random(8)
        for case in range(CASES):
            kind, digits = r.choice([("date", 0), ("local", 0), ("local", 3), ("utc", 9)])
            base = r.randrange(0, 10**9)
            stamp = lambda: shown(base + Fraction(r.randrange(20 * 10**digits), 10**digits) * (86400 if kind == "date" else 1), kind)
            times = [stamp() for _ in range(r.choice([1, 7, 200]))]
            edges = sorted({stamp() for _ in range(r.randrange(2, 8))}, key=lambda t: seconds_of(t)[0])
            if len(edges) < 2:
                continue
            path = self.put("b.csv", "t\n" + "".join(t + "\n" for t in times))
            x, at = [seconds_of(t)[0] for t in times], [seconds_of(t)[0] for t in edges]
            want = ["%s\t%s\t%d" % (lo, hi, sum(a <= v < b or v == b == at[-1] for v in x))
                    for lo, hi, a, b in zip(edges, edges[1:], at, at[1:])]
            text = [t.replace("T", " ") if r.random() < 0.3 and kind == "local" else t for t in edges]
            self.assertEqual(self.lines("hist", "--tsv", "--edges", ",".join(text), "--column", "t", path), want, case)
            with open(path, "rb") as f:
                self.assertEqual(self.lines("hist", "--tsv", "--edges", ",".join(text), "--column", "t", "-", stdin=f.read()), want)
            got = self.lines("hist", "--tsv", "--bins", "1", "--range", text[0] + ":" + text[-1], "--column", "t", path)
            self.assertEqual(got, ["%s\t%s\t%d" % (edges[0], edges[-1], sum(at[0] <= v <= at[-1] for v in x))], case)
            keys = [r.choice("abc") for _ in x]
            path = self.put("k.csv", "k,t\n" + "".join("%s,%s\n" % pair for pair in zip(keys, times)))
            want = ["%s\t%s\t%s\t%d" % (k, lo, hi, sum(k == key and (a <= v < b or v == b == at[-1]) for key, v in zip(keys, x)))
                    for k in sorted(set(keys)) for lo, hi, a, b in zip(edges, edges[1:], at, at[1:])]
            self.assertEqual(self.lines("hist", "--tsv", "--by", "k", "--edges", ",".join(text), "--column", "t", path), want, case)
            bins = r.choice([["--bins", "3"], ["--bins", "auto"], [], ["--bins", "auto", "--range", text[0] + ":" + text[-1]]])
            whole, by = [run("hist", "-q", "--tsv", *by, *bins, "--column", "t", path) for by in ([], ["--by", "'all'"])]
            self.assertEqual((by.returncode, by.stdout.decode().splitlines()),
                             (whole.returncode, ["all\t" + line for line in whole.stdout.decode().splitlines()]), (case, bins))
        path = self.put("b.csv", "t,n\n2026-01-01T10:00,1\n2026-01-02T12:30,2\n2026-01-03,3\n")
        self.assertEqual(self.lines("hist", "--tsv", "--bins", "2", "--range", "2026-01-01T10:00:2026-01-03T10:00", "--column", "t", path),
                         ["2026-01-01T10:00:00\t2026-01-02T10:00:00\t1", "2026-01-02T10:00:00\t2026-01-03T10:00:00\t2"])
        self.assertEqual(self.lines("hist", "--tsv", "--edges", "2026-01-01,2026-01-02T12:30:00.0000001,2026-01-04", "--column", "t", path),
                         ["2026-01-01T00:00:00\t2026-01-02T12:30:00.0000001\t2", "2026-01-02T12:30:00.0000001\t2026-01-04T00:00:00\t1"])
        for column, asked in [("t", ["--range", "2026-01-02:2026-01-01"]), ("t", ["--edges", "2026-01-02,2026-01-02"]),
                              ("t", ["--range", "2026-01-01:5"]), ("n", ["--range", "2026-01-01:2026-01-02"]),
                              ("t", ["--edges", "2026-01-01Z,2026-01-02"]), ("t", ["--edges", "2026-01-02"]),
                              ("t", ["--range", "2026-01-01T00:00Z:2026-01-02T00:00Z"]), ("t", ["--range", "1:2"])]:
            self.assertTrue(run("hist", *asked, "--column", column, path).returncode in (1, 2), asked)
        array = self.path("b.npy")
        np.save(array, np.array(["2026-01-01T10", "2026-01-03T00"], "M8[ms]"))
        self.assertEqual(self.lines("hist", "--tsv", "--bins", "1", "--range", "2026-01-01:2026-01-02", array),
                         ["2026-01-01T00:00:00\t2026-01-02T00:00:00\t1"])
        self.out("hist", "--range", "2026-01-01T00:00:00.0001:2026-01-02", array, code=2)
