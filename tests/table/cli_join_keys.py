"""join --on with expressions: against loops over the rows in Python; every --how, files, pipes and JSON lines.
Builds: release, asan, tsan (full)."""
import csv
import datetime
import json
import os
import random
import subprocess
from fractions import Fraction

from command import BITFOLD, SANITIZED, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "200")) // (10 if SANITIZED else 2)
LIMIT = "%dM" % least_memory()
HOWS = ["inner", "left", "outer", "semi", "anti"]
WORDS = ["ann", "Ann", "BOB", "bob", "b", "x,y", "x=y", "\u00e9t\u00e9", "anna"]
DECIMALS = ["0.25", "0.5", "0.50", "1", "1.0", "2.75", "3", "4", "-1", "11"]
TIMES = ["2021-01-01", "2021-01-05", "2021-11-01", "2022-01-01"]


def lifted(f):
    return lambda *x: None if None in x else f(*x)


def time(text):
    return datetime.datetime.fromisoformat(text)


# An expression of columns k, d, w and t, and the same of their values, where NULL is None.
NUMBERS = [
    ("{k}", lambda k, d, w, t: k),
    ("{d}", lambda k, d, w, t: d),
    ("{k} % 4", lambda k, d, w, t: lifted(lambda k: k % 4)(k)),
    ("{k} / 4", lambda k, d, w, t: lifted(lambda k: k / 4)(k)),
    ("({k} + {d}) * 0.5", lambda k, d, w, t: lifted(lambda k, d: (k + d) / 2)(k, d)),
    ("{k} > 3", lambda k, d, w, t: lifted(lambda k: Fraction(k > 3))(k)),
    ("{k}==3", lambda k, d, w, t: lifted(lambda k: Fraction(k == 3))(k)),
    ("{k} * 9223372036854775807 - 9223372036854775807 * {k}", lambda k, d, w, t: lifted(lambda k: 0 * k)(k)),
    ("length({w})", lambda k, d, w, t: lifted(len)(w)),
    ("month({t})", lambda k, d, w, t: lifted(lambda t: t.month)(t)),
    ("isnull({w}) ? 1 : {k}", lambda k, d, w, t: Fraction(1) if w is None else k),
]  # fmt: skip
STRINGS = [
    ("{w}", lambda k, d, w, t: w),
    ("lower({w})", lambda k, d, w, t: lifted(str.lower)(w)),
    ("substr({w}, 2, 2)", lambda k, d, w, t: lifted(lambda w: w[1:3])(w)),
    ("concat({w}, 'a')", lambda k, d, w, t: lifted(lambda w: w + "a")(w)),
    ("coalesce({w}, {w})", lambda k, d, w, t: w),
    ("{k} > 3 ? {w} : null", lambda k, d, w, t: None if k is None or k <= 3 else w),
    ("{w} == 'x=y' ? 'bob' : lower({w})", lambda k, d, w, t: lifted(lambda w: "bob" if w == "x=y" else w.lower())(w)),
]  # fmt: skip
MOMENTS = [
    ("{t}", lambda k, d, w, t: t),
    ("trunc({t}, 'month')", lambda k, d, w, t: lifted(lambda t: t.replace(day=1))(t)),
]
NAMES = [{"k": "k", "d": "d", "w": "w", "t": "t"}, {"k": "m", "d": "e", "w": "u", "t": "s"}]


class Keys(CommandTest):
    def table(self, r, side, rows, lines):
        """Returns a file of texts or JSON lines, and its rows' values."""
        makers = [lambda: str(r.randrange(12)), lambda: r.choice(DECIMALS), lambda: r.choice(WORDS), lambda: r.choice(TIMES)]
        made = [[m() if i == 0 or r.random() > 0.1 else None for m in makers] for i in range(rows)] # no column is empty
        names = ["i" if side == 0 else "j", *NAMES[side].values()]
        path = self.path("%s.%s" % ("ab"[side], "jsonl" if lines else "csv"))
        with open(path, "w", newline="", encoding="utf-8") as file:
            if lines:
                for i, row in enumerate(made):
                    fields = [str(i), *row[:2], *map(lifted(json.dumps), row[2:])]
                    file.write("{%s}\n" % ",".join('"%s":%s' % (n, x or "null") for n, x in zip(names, fields)))
            else:
                csv.writer(file, lineterminator="\n").writerows([names] + [[i, *row] for i, row in enumerate(made)])
        parse = [Fraction, Fraction, str, time]
        return path, [[lifted(p)(x) for p, x in zip(parse, row)] for row in made]

    @staticmethod
    def joined(a, b, functions, how):
        keys = [[[f[s](*row) for f in functions] for row in side] for s, side in enumerate((a, b))]
        rows, met = [], set()
        for i, key in enumerate(keys[0]):
            partners = [j for j, other in enumerate(keys[1]) if None not in key and key == other]
            met.update(partners)
            if how in ("semi", "anti"):
                rows += [[str(i)]] if bool(partners) == (how == "semi") else []
            else:
                rows += [[str(i), str(j)] for j in partners]
                rows += [[str(i), ""]] if not partners and how != "inner" else []
        return rows + [["", str(j)] for j in range(len(b)) if how == "outer" and j not in met]

    def test_random_tables(self):
        for case in range(CASES):
            r = random.Random(case)
            how = HOWS[case % 5]
            lines = [r.random() < 0.3 for _ in range(2)]
            (path_a, a), (path_b, b) = [self.table(r, s, r.choice([1, 5, 40]), lines[s]) for s in range(2)]
            asked, functions = [], []
            for _ in range(r.choice([1, 1, 2])):
                (ta, fa), (tb, fb) = [r.choice(k) for k in [r.choice([NUMBERS, NUMBERS, STRINGS, MOMENTS])] * 2]
                asked.append(r.choice(["%s=%s", "%s = %s"] if "{" != ta[0] and "{" != tb[0] else ["%s=%s"])
                             % (ta.format(**NAMES[0]), tb.format(**NAMES[1])))
                functions.append((fa, fb))
            wanted = self.joined(a, b, functions, how)
            take = "i" if how in ("semi", "anti") else "i,j"
            ask = ["join", path_a, path_b, "--on", ",".join(asked), "--how", how, "--take", take, "--csv"]
            for more in ([], ["-j", 3], ["--memory", LIMIT]):
                done = run(*ask, *more)
                self.assertEqual(done.stderr, b"", (case, asked, how, more))
                found = list(csv.reader(done.stdout.decode().splitlines()))[1:]
                self.assertEqual(found, wanted, (case, asked, how, more))
            if lines[0]:
                continue
            with open(path_a, "rb") as file:
                piped = subprocess.run([BITFOLD, "join", "-", *ask[2:]], stdin=file, capture_output=True, check=False)
            self.assertEqual(piped.stderr, b"", (case, asked, how))
            self.assertEqual(list(csv.reader(piped.stdout.decode().splitlines()))[1:], wanted, (case, asked, how))

    def test_many_rows(self):
        """Chunks and blocks have their share of the keys; later rows need 128 bits, or are decimals."""
        n = 60000
        a = self.write("a.csv", ("n,w\n" + "".join("%d,W%d\n" % (i if i < n - 1 else 2**62, i) for i in range(n))).encode())
        b = self.write("b.csv", ("m,u\n" + "".join("%s,w%d\n" % (i * 4 if i > 5 else "%d.0" % (i * 4), i)
                                                   for i in range(n - 1))).encode())
        for memory in ([], ["--memory", LIMIT]):
            for on in ("n * 4=m", "lower(w)=u", "n * 4=m,lower(w)=u"):
                shown = self.result("join", a, b, "--on", on, "--take", "n", *memory)
                self.assertEqual(shown.split("\n"), [str(i) for i in range(n - 1)], (on, memory))

    def test_columns_come_first(self):
        a = self.write("a.csv", b"n % 2,it's,f(x,n,y\n1,5,7,2,0\n0,6,8,3,0\n")
        b = self.write("b.csv", b"m,a.b\n1,7\n0,8\n")
        for on, shown in [("n % 2=m", "5\n6"), ("it's=m", ""), ("f(x=a.b", "5\n6"), ("n % 2=m,f(x=a.b", "5\n6"),
                          ("`n % 2`=m", "5\n6"), ("(n % 2)=m", "5\n6"), ("f(x=a.b + 0", "5\n6"), ("n-1=m", "5")]:
            self.assertEqual(self.result("join", a, b, "--on", on, "--take", "it's"), shown, on)
        self.assertEqual(self.result("join", a, a, "--on", "n + 1", "--take", "a.n"), "2\n3")
        self.assertEqual(self.result("join", a, b, "--on", "n - 2=m", "--how", "outer", "--csv").split("\n"),
                         ["n % 2,it's,f(x,n,y,m,a.b", "1,5,7,2,0,0,8", "0,6,8,3,0,1,7"])

    def test_names_in_the_condition(self):
        a = self.write("a.csv", b"k,v,a.w\n1,0.5,3\n2,6,4\n")
        b = self.write("b.csv", b"k,v,u\n1,0.25,x\n2,9,y\n")
        for where, shown in [("a.v > b.v", "1"), ("a.v*1.5 < b.v+1.5", "1\n2"), ("a.w == 4", "2"), ("b.u=='x'", "1")]:
            for memory in ([], ["--memory", LIMIT]):
                self.assertEqual(self.result("join", a, b, "--on", "k", "--take", "k", "--where", where, *memory), shown)
        self.refused(3, "--where: no column is named 'z', in A or B", "join", a, b, "--on", "k", "--where", "a.v > z")
        lines = self.write("x.jsonl", b'{"p.q":1,"x":2}\n{"p.q":3,"x":4}\n')
        self.assertEqual(self.result("sum", "-e", "p.q*1.5", lines), "6")

    def test_what_is_refused(self):
        a = self.write("a.csv", b"n,w,t\n1,x,2021-01-01\n2,y,2021-01-02\n")
        b = self.write("b.csv", b"m,u\n1,z\n2,y\n")
        for code, why, on in [
            (3, "--on: cannot compare 'n + 1' of A with 'u' of B: i64 with text", "n + 1=u"),
            (3, "--on: cannot compare 'w' of A with 'm % 2' of B: text with i64", "w=m % 2"),
            (3, "--on: cannot compare 'lower(w)' of A with 'm*2' of B: text with i64", "lower(w)=m*2"),
            (3, "--on: cannot compare 'trunc(t, \"month\")' of A with 'm' of B: time with i64", 'trunc(t, "month")=m'),
            (3, "a.csv: --on: no column is named 'nn'", "nn % 2=m"),
            (3, "b.csv: --on: no column is named 'n'", "n % 2"),
            (3, "a.csv: --on: n / (n - 2): character 3: integer division by zero in row 2", "n / (n - 2)=m"),
            (2, "--on: character 4: a column", "n +=m"),
            (3, "a.csv: --on: character 1: this takes a time", "month(n)=m"),
            (2, "--on: '1 + 1' names no column", "1 + 1=m"),
            (2, "bad operand of --on", "n=m=n"),
            (2, "bad operand of --on", "n % 2="),
            (2, "bad operand of --on", "n % 2=m,"),
        ]:
            for memory in ([], ["--memory", LIMIT]):
                self.refused(code, why, "join", a, b, "--on", on, *memory)
