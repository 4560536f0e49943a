"""--by with expressions as keys, against groups that Python makes of exact numbers."""
import csv
import io
import os
import random
from collections import defaultdict
from fractions import Fraction

from command import SANITIZED, CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (20 if SANITIZED else 6)
LIMIT = "%dM" % (2 * least_memory())
CITIES = ["Oslo", "Rome", "", "a,b"]


def lifted(f):
    return lambda *x: None if None in x else f(*x)


# A key as its text and as a function of n, price and city, where NULL is None.
KEYS = [
    ("n % 3", lambda n, p, c: n % 3), ("n*2=twice", lambda n, p, c: n * 2),
    ("price * 10", lambda n, p, c: lifted(lambda p: p * 10)(p)), ("price > 2", lambda n, p, c: lifted(lambda p: int(p > 2))(p)),
    ("n > 0 ? n : -n=size", lambda n, p, c: abs(n)), ("city == 'Oslo'", lambda n, p, c: lifted(lambda c: int(c == "Oslo"))(c)),
    ("city", lambda n, p, c: c), ("city=town", lambda n, p, c: c), ("n", lambda n, p, c: n), ("2=cost", lambda n, p, c: p),
    ("substr(city, 1, 2)=head", lambda n, p, c: lifted(lambda c: c[:2])(c)), ("if(n > 0, \"up\", city)=way", lambda n, p, c: "up" if n > 0 else c),
    ("upper(city)", lambda n, p, c: lifted(str.upper)(c)), ("concat(city, \",\")=list", lambda n, p, c: lifted(lambda c: c + ",")(c)),
    ("max(n, 2)", lambda n, p, c: max(n, 2)), ("n * 4611686018427387904 * 4=wide", lambda n, p, c: n * 2**64),
]  # fmt: skip


def shown(value):
    """As a field of CSV, and as a part of a key in the order of keys: NULL comes last."""
    if value is None or isinstance(value, str):
        return value or ""
    text = "%.6f" % value if value.denominator > 1 else str(int(value))
    return text.rstrip("0") if "." in text else text


def order(key):
    return [(v is None, v) for v in key]


class Derived(CommandTest):
    def rows(self, r, count):
        return [(r.randint(-5, 9), r.choice([None, "0.1", "1.50", "-2.25", "3", "12.125"]), r.choice(CITIES)) for _ in range(count)]

    def write_rows(self, name, rows):
        with open(self.path(name), "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("n", "price", "city"), *((n, p or "", c) for n, p, c in rows)])
        return self.path(name)

    def wanted(self, rows, keys):
        groups = defaultdict(list)
        for n, p, c in rows:
            groups[tuple(key(n, p and Fraction(p), c or None) for key in keys)].append(n)
        return [[*map(shown, key), str(len(all)), str(sum(all))] for key, all in sorted(groups.items(), key=lambda x: order(x[0]))]

    def test_random(self):
        for case in range(CASES):
            r = random.Random(case)
            chosen = r.sample(KEYS, r.randint(1, 3))
            files = [self.rows(r, r.choice([0, 1, 3, 50, 5000])) for _ in range(r.randint(1, 2))]
            paths = [self.write_rows("%d.csv" % i, rows) for i, rows in enumerate(files)]
            how = ["-j", r.randint(1, 3)] + ["--memory", LIMIT] * (r.random() < 0.2)
            by = ",".join(text for text, _ in chosen)
            with self.subTest(case=case, by=by):
                got = self.result("group", "--by", by, "--count", "--sum", "n", "--csv", *how, *paths)
                table = list(csv.reader(io.StringIO(got)))
                self.assertEqual(table[1:], self.wanted(sum(files, []), [key for _, key in chosen]))
                names = ["price" if text == "2" else text.split("=")[-1] if "=" in text and "==" not in text else text
                         for text, _ in chosen]
                self.assertEqual(table[0], names + ["count", "sum(n)"])
                if len(paths) == 1:
                    piped = self.result("group", "--by", by, "--count", "--sum", "n", "--csv", *how, "-", stdin=open(paths[0], "rb").read())
                    self.assertEqual(piped, got)

    def test_other_commands(self):
        path = self.write("t.csv", b"n,price\n3,1.5\n4,2\n5,0.25\n")
        self.assertEqual(self.result("count", "--by", "n % 2=odd", "--csv", path), "odd,count\n1,2\n0,1")
        self.assertEqual(self.result("unique", "--by", "price*4", path), "1\n6\n8")
        self.assertEqual(self.result("sort", "--by", "n % 2,-price*2", path), "n,price\n4,2\n3,1.5\n5,0.25")
        self.assertEqual(self.result("top", "--by", "price * n", "-n", 1, path), "n,price\n4,2")
        saved = self.path("s.bfs")
        told = self.result("group", "--by", "n % 2=odd", "--sum", "price", "--csv", "--save", saved, path)
        self.assertEqual(told, "odd,sum(price)\n0,2\n1,1.75")
        self.assertEqual(self.result("merge", saved, saved, "--csv"), "odd,sum(price)\n0,4\n1,3.5")
        words = self.write("w.csv", b"s,n\nb,1\na,\n")
        for path, rows in [(words, "s,n\nb,1\na,"), (self.write("w.jsonl", b'{"s":"b"}\n{"n":2}\n'), '{"s":"b"}\n{"n":2}')]:
            self.assertEqual(self.result("count", "--by", "'all'", path), "all\t2")
            self.assertEqual(self.result("sort", "--by", "(0)", path), rows)

    def test_columns_whose_names_look_like_expressions(self):
        path = self.write("t.csv", b"a+b,it's,o'c,n=1\n1,2,3,4\n1,5,6,7\n")
        self.assertEqual(self.result("count", "--by", "a+b", "--csv", path), "a+b,count\n1,2")
        self.assertEqual(self.result("count", "--by", "it's,o'c", "--csv", path), "it's,o'c,count\n2,3,1\n5,6,1")
        self.assertEqual(self.result("count", "--by", "n=1", "--csv", path), "n=1,count\n4,1\n7,1")
        self.assertEqual(self.result("count", "--by", "`n=1` % 3=k", "--csv", path), "k,count\n1,2")

    def test_refusals(self):
        path = self.write("t.csv", b"n,price\n3,1.5\n")
        for code, message, by in [(3, "no column is named 'm'", "m % 2"), (2, "--by: character 5", "n % +"), (3, "no name behind '='", "n % 2="),
                                  (3, "no column is named 'm'", "m"), (3, "no column 7", "7"), (3, "integer division by zero", "n % (n - 3)")]:
            self.refused(code, message, "count", "--by", by, path)
