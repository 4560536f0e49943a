"""join --where: a condition on the joined rows, against loops over all pairs in Python."""
import csv
import io
import json
import os
import random
from fractions import Fraction

from command import SANITIZED, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (20 if SANITIZED else 4)
LIMIT = "%dM" % least_memory()
HOWS = ["inner", "left", "outer", "semi", "anti"]
WORDS = ["ann", "bob", "", "x y", "007", "b,c"]


def lifted(f):
    return lambda *x: None if None in x else f(*x)


def either(x, y):
    return True if x is True or y is True else None if x is None or y is None else False


# A condition as its text and as a function of the columns of A and B, where NULL is None.
CONDITIONS = [
    ("p > 2", lambda a, b: lifted(lambda x: x > 2)(a["p"])),
    ("`a.v` + `b.v` == 0.3", lambda a, b: lifted(lambda x, y: x + y == Fraction(3, 10))(a["v"], b["v"])),
    ("`a.v` * `b.v` > -1", lambda a, b: lifted(lambda x, y: x * y > -1)(a["v"], b["v"])),
    ("isnull(`b.v`)", lambda a, b: b["v"] is None),
    ("isnull(q) || p < q", lambda a, b: either(b["q"] is None, lifted(lambda x, y: x < y)(a["p"], b["q"]))),
    ("w == 'bob'", lambda a, b: lifted(lambda x: x == "bob")(a["w"])),
    ("w != u", lambda a, b: lifted(lambda x, y: x != y)(a["w"], b["u"])),
    ("k > 1", lambda a, b: lifted(lambda x: x > 1)(a["k"] if a["k"] is not None else b["k"])),
    ("q * 4611686018427387904 * 8 > p", lambda a, b: lifted(lambda x, y: x * 2**65 > y)(b["q"], a["p"])),
    ("q != 0 ? p % q == 1 : isnull(q)", lambda a, b: lifted(lambda x, y: x % y == 1)(a["p"], b["q"])
     if b["q"] else b["q"] is None),
]  # fmt: skip
OF_A = [0, 5, 7]
A, B = ["k", "p", "v", "w"], ["k", "q", "v", "u"]


def number(text):
    return None if text == "" else Fraction(text)


class Where(CommandTest):
    def table(self, r, name, columns, rows):
        makers = {"k": lambda: str(r.randrange(6)), "p": lambda: str(r.randint(-5, 9)), "q": lambda: str(r.randint(-2, 9)),
                  "v": lambda: r.choice(["0.1", "0.2", "-1.25", "3", "12"]), "w": lambda: r.choice(WORDS),
                  "u": lambda: r.choice(WORDS)}
        made = [["" if r.random() < 0.1 else makers[c]() for c in columns] for _ in range(rows)]
        path = self.path(name)
        with open(path, "w", newline="") as file:
            file.write(",".join(columns) + "\n")
            csv.writer(file, lineterminator="\n").writerows(made)
        parsed = [{c: (x or None) if c in "wu" else number(x) for c, x in zip(columns, row)} for row in made]
        return path, list(zip(made, parsed))

    def joined(self, a, b, how):
        """The rows before the condition: the fields that are shown, and both sides' columns."""
        none_a, none_b = dict.fromkeys(A), dict.fromkeys(B)
        met, rows = set(), []
        for fields, x in a:
            partners = [i for i, (_, y) in enumerate(b) if x["k"] is not None and x["k"] == y["k"]]
            met.update(partners)
            if how in ("semi", "anti"):
                rows += [(fields, x, none_b)] if bool(partners) == (how == "semi") else []
                continue
            rows += [(fields + b[i][0][1:], x, b[i][1]) for i in partners]
            if not partners and how != "inner":
                rows.append((fields + [""] * 3, x, none_b))
        if how == "outer":
            rows += [([f[0], "", "", "", *f[1:]], none_a, y) for i, (f, y) in enumerate(b) if i not in met]
        return rows

    def test_random_tables(self):
        for case in range(CASES):
            r = random.Random(case)
            sizes = [r.choice([0, 1, 5, 40]) for _ in range(2)]
            how = HOWS[case % 5]
            (path_a, a), (path_b, b) = self.table(r, "a.csv", A, sizes[0]), self.table(r, "b.csv", B, sizes[1])
            text, meets = CONDITIONS[r.choice(OF_A) if how in ("semi", "anti") else r.randrange(len(CONDITIONS))]
            if how in ("semi", "anti") and "k" in text:
                meets = lambda x, y: lifted(lambda k: k > 1)(x["k"])
            words = [x["w"] for _, x in a], [y["u"] for _, y in b]
            if "u" in text and not all(map(any, words)):
                continue # a column without a word holds numbers
            wanted = [fields for fields, x, y in self.joined(a, b, how) if meets(x, y) is True]
            ask = ["join", path_a, path_b, "--on", "k", "--how", how, "--where", text]
            for more in ([], ["-j", 3], ["--memory", LIMIT]):
                done = run(*ask, "--csv", *more)
                self.assertEqual(done.stderr, b"", (case, text, how))
                found = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))[1:]
                self.assertEqual(found, wanted, (case, text, how, more))
            shown = [json.loads(line) for line in run(*ask, "--json").stdout.splitlines()]
            self.assertEqual([[x or "" for x in row.values()] for row in shown], wanted, (case, text, how))

    def test_many_pairs(self):
        a, b = self.path("a.csv"), self.path("b.csv")
        with open(a, "w") as file:
            file.write("k,x\n" + "".join("%d,%d\n" % (i % 50, i) for i in range(5000)))
        with open(b, "w") as file:
            file.write("k,y\n" + "".join("%d,%d\n" % (i % 50, i) for i in range(2000)))
        wanted = [(x, y) for x in range(5000) for y in range(x % 50, 2000, 50) if (x * y) % 11 == 3]
        for more in ([], ["--memory", LIMIT]):
            found = self.result("join", a, b, "--on", "k", "--take", "x,y", "--where", "x * y % 11 == 3", *more)
            self.assertEqual([tuple(map(int, line.split("\t"))) for line in found.splitlines()], wanted)

    def test_a_key_of_codes_is_a_number_in_a_condition(self):
        a, b = self.path("a.csv"), self.path("b.csv")
        with open(a, "w") as file:
            file.write("zip,v,old\n07094,1,007\n7094,2,5\n00501,3,08\n")
        with open(b, "w") as file:
            file.write("w,zip\n5,07094\n6,7094\n8,00501\n")
        for where, rows in [("zip > 5000", ["07094\t1\t5", "7094\t2\t6"]), ("zip - 7000 < v", ["00501\t3\t8"]),
                            ('zip == "07094"', ["07094\t1\t5"]), ("w == old", ["00501\t3\t8"]),
                            ("old > 6 && zip < 7e3", ["00501\t3\t8"])]:
            for more in ([], ["-j", 3], ["--memory", LIMIT]):
                found = self.result("join", a, b, "--on", "zip", "--take", "zip,v,w", "--where", where, *more)
                self.assertEqual(found.splitlines(), rows, (where, more))

    def test_what_is_refused(self):
        a, b = self.path("a.csv"), self.path("b.csv")
        with open(a, "w") as file:
            file.write("k,x,v\n1,5,0.5\n2,6,1\n")
        with open(b, "w") as file:
            file.write("k,y,v\n1,0,7\n2,9,8\n")
        self.assertEqual(self.result("join", a, b, "--on", "k", "--where", "y > 0", "--take", "x").strip(), "6")
        for code, why, where, how in [
            (3, "--where: A and B have a column 'v'", "v > 1", "inner"),
            (3, "--where: no column is named 'z', in A or B", "z > 1", "inner"),
            (2, "--where: 'x + 1' is no condition: its values are i64", "x + 1", "inner"),
            (2, "--how semi shows columns of A alone, not 'y'", "y > 1", "semi"),
            (2, "--how anti shows columns of A alone, not 'b.v'", "`b.v` > 1", "anti"),
            (2, "--where: character 4: a column", "x >", "inner"),
            (3, "a.csv: --where: x % y > 0: character 3: integer division by zero in row 1", "x % y > 0", "inner"),
            (3, "--where: character 15: strings are compared", "x == 'a' && x > 1", "inner"),
        ]:
            for more in ([], ["--memory", LIMIT]):
                self.refused(code, why, "join", a, b, "--on", "k", "--how", how, "--where", where, *more)
        self.refused(2, "--where needs --on", "join", a, b, "--where", "x > 1")
