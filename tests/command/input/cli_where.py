"""--where: each command on the rows that meet a condition gives what it gives of a text that holds
these rows alone, which Python writes."""
import csv
import os
import random
from fractions import Fraction

from command import SANITIZED, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (20 if SANITIZED else 6)
NAMES = ["n", "price", "city", "wide", "gaps"]
LIMIT = "%dM" % (2 * least_memory())
CITIES = ["Oslo", "Rome", "", "a,b", 'say "x"', "007", "two\nlines"]


def lifted(f):
    return lambda *x: None if None in x else f(*x)


# A condition as its text and as a function of a row, where NULL is None: the row is kept if it is True.
CONDITIONS = [
    ("n > 0", lambda r: lifted(lambda n: n > 0)(r["n"])),
    ("price >= 1.5 && n != 3", lambda r: r["price"] >= Fraction(3, 2) and r["n"] != 3),
    ("city == 'Oslo'", lambda r: r["city"] == "Oslo"),
    ("city != \"a,b\" || n < 0", lambda r: r["city"] not in (None, "a,b") or r["n"] < 0),
    ("isnull(gaps)", lambda r: r["gaps"] is None),
    ("gaps * 3 > n", lambda r: lifted(lambda g, n: g * 3 > n)(r["gaps"], r["n"])),
    ("wide * 1000 > 9223372036854775807", lambda r: r["wide"] * 1000 > 2**63 - 1),
    ("price * 3 == 0.3", lambda r: r["price"] * 3 == Fraction(3, 10)),
    ("gaps != 0 ? n % gaps == 1 : n == 2", lambda r: r["n"] % r["gaps"] == 1 if r["gaps"] else r["n"] == 2),
    ("n < -100", lambda r: False), ("n > -100", lambda r: True),
]  # fmt: skip
COMMANDS = [
    ["sum", "--column", "price"], ["sum", "--column", "n,wide"], ["mean", "--column", "gaps"],
    ["sum", "-e", "price * n"], ["max", "--column", "wide"], ["argmin", "--column", "price"],
    ["prod", "--column", "n"], ["describe", "--column", "n,price"], ["describe", "--column", "n", "--quantiles"],
    ["median", "--column", "price"], ["quantile", "-p", "0,30,100", "--column", "n"],
    ["sort", "--column", "price"], ["argsort", "--column", "n"], ["unique", "--count", "--column", "n"],
    ["top", "-n", "3", "--column", "wide"], ["hist", "--bins", "4", "--tsv", "--column", "n"],
    ["count", "--column", "n"], ["count", "--by", "city,n", "--csv"], ["unique", "--by", "city", "--csv"],
    ["group", "--by", "city", "--sum", "price", "--max", "n", "--median", "gaps", "--csv"],
    ["group", "--by", "gaps", "--mean", "n*2=twice", "--csv"], ["sort", "-e", "n - price"],
]  # fmt: skip


def number(text):
    return None if text == "" else Fraction(text)


class Where(CommandTest):
    def table(self, r, name, rows):
        """Writes a text of random rows; returns its path, and the rows as written and as parsed."""
        makers = [lambda: str(r.randint(-5, 9)), lambda: r.choice(["0.1", "1.50", "-2.25", "3", "12.125"]),
                  lambda: r.choice(CITIES), lambda: str(r.randint(-10**17, 10**17)),
                  lambda: "" if r.random() < 0.3 else str(r.randint(-2, 3))]
        made = [[make() for make in makers] for _ in range(rows)]
        parsed = [{c: (x or None) if c == "city" else number(x) for c, x in zip(NAMES, row)} for row in made]
        return self.put(name, made), made, parsed

    def put(self, name, rows):
        path = self.path(name)
        with open(path, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([NAMES] + rows)
        return path

    def outcome(self, arguments, path, pipe, *more):
        done = run(*arguments, *more, "-" if pipe else path, stdin=open(path, "rb").read() if pipe else b"")
        return done.returncode, done.stdout

    def test_random(self):
        for case in range(CASES):
            r = random.Random(case)
            text, holds = r.choice(CONDITIONS)
            path, made, parsed = self.table(r, "all.csv", r.choice([0, 1, 2, 30, 400, 9000]))
            kept = self.put("kept.csv", [row for row, p in zip(made, parsed) if holds(p) is True])
            skip = ["--null-policy", "skip"] if r.random() < 0.5 else []
            arguments = r.choice(COMMANDS) + skip
            how = ["-j", r.randint(1, 4), "--where", text] + ["--memory", LIMIT] * (r.random() < 0.2)
            wanted = self.outcome(arguments, kept, False)
            for pipe in False, True:
                with self.subTest(case=case, arguments=arguments, where=text, pipe=pipe):
                    self.assertEqual(self.outcome(arguments, path, pipe, *how), wanted)

    def test_numbers_that_show_late_what_they_are(self):
        """The rows before are judged anew, by the numbers as they are in the end."""
        rows = [["1", "9007199254740993"]] * 60000 + [["2", "1.5"], ["3", "9007199254740993.25"]]
        path = self.path("late.csv")
        with open(path, "w") as file:
            file.write("n,x\n" + "".join("%s,%s\n" % tuple(row) for row in rows))
        for where, wanted in ("x == 9007199254740993", "60000"), ("x > 9007199254740993", "3"), ("x < 2", "2"):
            for threads in 1, 3:
                self.assertEqual(self.result("sum", "--column", "n", "--where", where, "-j", threads, path), wanted)
                self.assertEqual(self.result("sum", "--column", "n", "--where", where, "-j", threads, "-",
                                             stdin=open(path, "rb").read()), wanted)

    def test_a_text_condition_of_a_number(self):
        path = self.write("t.csv", b"zip,n\n07094,1\n7094,2\n")
        self.assertEqual(self.result("sum", "--column", "n", "--where", "zip == '07094'", path), "1")
        self.assertEqual(self.result("sum", "--column", "zip", "--where", "zip == '7094'", path), "7094")
        self.assertEqual(self.result("count", "--by", "zip", "--where", "zip == '07094'", path), "07094\t1")

    def test_json_lines(self):
        path = self.write("t.jsonl", b'{"n":1,"c":"a"}\n{"n":2.5,"c":"b"}\n{"c":"a","n":4}\n')
        self.assertEqual(self.result("sum", "--column", "n", "--where", "c == 'a'", path), "5")
        self.assertEqual(self.result("max", "-e", "n*2", "--where", "n < 4", path), "5")

    def test_several_files_and_totals(self):
        a = self.write("a.csv", b"n,c\n1,x\n2,y\n")
        b = self.write("b.csv", b"n,c\n0.5,x\n9,y\n")
        self.assertEqual(self.result("sum", "--column", "n", "--where", "c == 'x'", "--total", a, b),
                         "1\t%s\n0.5\t%s\n1.5\ttotal" % (a, b))
        self.assertEqual(self.result("median", "--column", "n", "--where", "n > 0.5", "--total", a, b),
                         "1.5\t%s\n9\t%s\n2\ttotal" % (a, b))

    def test_refusals(self):
        path = self.write("t.csv", b"n,x\n1,\n2,5\n")
        array = self.write("x.raw", bytes(64))
        for code, message, arguments in [
            (3, "t.csv:2: column 2 (x): no number: it is NULL", ["sum", "--column", "x", "--where", "n > 0"]),
            (3, "--where: no column is named 'y'", ["sum", "--column", "x", "--where", "y > 0"]),
            (2, "is no condition", ["sum", "--column", "x", "--where", "n + 1"]),
            (2, "names no column", ["sum", "--column", "x", "--where", "1 < 2"]),
            (2, "--where: character 4", ["sum", "--column", "x", "--where", "n >"]),
            (2, "--where does not go with --axis", ["sum", "--axis", "0", "--where", "n > 0"]),
            (2, "--where does not go with --weights", ["hist", "--column", "x", "--weights", path, "--where", "n > 0"]),
            (3, "t.csv:2: 1 % (n - 1) > 0: character 3: integer division by zero", ["sum", "--column", "n", "--where", "1 % (n - 1) > 0"]),
        ]:
            self.refused(code, message, *arguments, path)
        self.refused(2, "--where needs the columns of a text", "sum", "--format", "raw", "--dtype", "f64", "--where", "a > 0", array)
        self.assertEqual(self.result("sum", "--column", "x", "--where", "n > 1", path), "5")
