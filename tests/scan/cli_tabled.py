"""cumsum and its like, and rolling, of tables: --append adds a column, --by parts the rows by their keys."""

import csv
import io
import json
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest, run

TABLE = b'city,n,note\nparis,1,a\nrome,2.50,"x,y"\nparis,3,\nrome,,b\nparis,4,c\n'


def prefixes(name, values):
    """What cumsum and its like show."""
    join = {"cumsum": lambda a, b: a + b, "cummin": min, "cummax": max}[name]
    found = []
    for each in values:
        found.append(join(found[-1], each) if found else each)
    return found


def windows(values, size, least, after=0):
    """The rounded sums of windows of thousandths; None: there are too few numbers."""
    parts = [values[max(i + after + 1 - size, 0) : i + after + 1] for i in range(len(values))]
    return [sum(part) / 1000 if len(part) >= least else None for part in parts]


class Tables(CommandTest):
    def table(self, *arguments, **more):
        return list(csv.reader(io.StringIO(self.result(*arguments, **more))))

    def test_rows_stay_as_they_stand(self):
        skip = ["--null-policy", "skip", "--column", "n"]
        self.assertEqual(
            self.result("cumsum", *skip, "--append", "sum", stdin=TABLE),
            'city,n,note,sum\nparis,1,a,1\nrome,2.50,"x,y",3.5\nparis,3,,6.5\nrome,,b,\nparis,4,c,10.5')
        self.assertEqual(
            self.result("rolling", "mean", "--window", 2, *skip, "--append", "mean", "--by", "city", stdin=TABLE),
            'city,n,note,mean\nparis,1,a,nan\nrome,2.50,"x,y",nan\nparis,3,,2\nrome,,b,\nparis,4,c,3.5')
        self.assertEqual(self.result("cumsum", *skip, "--by", "city", stdin=TABLE), "1\n2.5\n4\n8")
        self.assertEqual(self.result("cumsum", *skip, "--by", "city", "--where", "note != 'c'", stdin=TABLE), "1\n2.5")
        lines = b"a;b\r\n1;2\r\n0;5\r\n"
        done = run("cumsum", "--column", "b", "--append", 'x;"y', stdin=lines)
        self.assertEqual(done.stdout, b'a;b;"x;""y"\r\n1;2;2\r\n0;5;7\r\n')
        self.assertEqual(self.result("cumsum", "--column", 2, "--append", "z", stdin=b"1 2\n3 4\n"), "1\t2\t2\n3\t4\t6")
        self.assertEqual(self.result("cumsum", "--column", "n", "--append", "z", stdin=b"city,n\n"), "city,n,z")
        self.assertEqual(self.result("cumsum", "--column", 2, "--append", "z", "--hex", "--dtype", "f64", stdin=b"1,2\n"), "1,2,0x1p+1")
        short = ["--lax", "--null-policy", "skip", "--column", "b", "--append", "z"]
        self.assertEqual(self.result("cumsum", *short, stdin=b"a,b,c\n1,2\n3\n1,2,3\n"), "a\tb\tc\tz\n1\t2\t\t2\n3\t\t\t\n1\t2\t3\t4")

    def test_other_forms(self):
        arguments = ["cummax", "--column", "n", "--null-policy", "skip", "--append", "most"]
        self.assertEqual(self.result(*arguments, "--tsv", stdin=TABLE).split("\n")[:3], ["city\tn\tnote\tmost", "paris\t1\ta\t1", "rome\t2.50\tx,y\t2.5"])
        rows = [json.loads(line) for line in self.result(*arguments, "--json", stdin=TABLE).split("\n")]
        self.assertEqual(rows[1], {"city": "rome", "n": "2.50", "note": "x,y", "most": 2.5})
        self.assertIsNone(rows[3]["most"])
        out = self.path("out.csv")
        self.assertEqual(self.result(*arguments, "-o", out, stdin=TABLE), "")
        with open(out) as f:
            self.assertEqual(f.read(), self.result(*arguments, stdin=TABLE) + "\n")
        lines = b'{"a":1,"b":"x"}\n{"a":2.5,"b":"y"}\n{"b":"x","a":5}\n'
        self.assertEqual(
            self.result("cumsum", "--column", "a", "--by", "b", "--append", "c", "--format", "jsonl", stdin=lines),
            '{"a":1,"b":"x","c":1}\n{"a":2.5,"b":"y","c":2.5}\n{"a":5,"b":"x","c":6}')
        out = self.path("out.npy")
        self.result("cumsum", "--column", "n", "--null-policy", "skip", "--by", "city", "-o", out, stdin=TABLE)
        np.testing.assert_array_equal(np.load(out), [1, 2.5, 4, 8])

    def random_table(self, rng, n, keys):
        """Rows, whose values are thousandths, and their text."""
        rows = [(rng.choice(keys), rng.randrange(-10**6, 10**6), i) for i in range(n)]
        return rows, ("key,value,row\n" + "".join("%s,%de-3,%d\n" % row for row in rows)).encode()

    def test_random_keys_against_integers(self):
        rng = random.Random(11)
        for case in range(12 if SHORT else 60):
            n = rng.choice([1, 10, 500, 30_000])
            keys = [str(i) for i in range(n)] if case % 4 == 3 else ["a", "b", "", "0.50"] if case % 2 else ["1", "2", "1.0", "7"]
            rows, text = self.random_table(rng, n, keys)
            window, least, center = rng.randrange(1, 9), rng.choice([None, 1]), rng.random() < 0.5
            name = rng.choice(["cumsum", "cummin", "cummax", "rolling"])
            groups = {}
            for key, value, i in rows:
                groups.setdefault("1" if key == "1.0" else key, []).append((i, value))
            wanted = [None] * n
            for each in groups.values():
                values = [value for _, value in each]
                results = windows(values, window, least or window, (window - 1) // 2 if center else 0) if name == "rolling" else prefixes(name, values)
                for (i, _), result in zip(each, results):
                    wanted[i] = result
            command = ["rolling", "sum", "--window", window] if name == "rolling" else [name]
            command += ["--min-count", least] if name == "rolling" and least else []
            command += ["--center"] if name == "rolling" and center else []
            command += ["--column", "value", "--by", "key"]
            if case % 3 == 0:
                found = [row[3] for row in self.table(*command, "--append", "x", stdin=text)[1:]]
            else:
                found = self.result(*command, stdin=text).split("\n")
            if name == "rolling":
                self.assertEqual([None if math.isnan(float(each)) else float(each) for each in found], wanted, command)
            else:
                self.assertEqual([Decimal(each).scaleb(3) for each in found], wanted, command)

    def test_rows_wait_for_their_windows(self):
        rng = random.Random(12)
        n = 30_000 if SHORT else 120_000
        rows, text = self.random_table(rng, n, ["a"])
        path = self.write("t.csv", text)
        sums = [0]
        for _, each, _ in rows:
            sums.append(sums[-1] + each)
        for window, center in ((3, True), (4, True), (20_001, True), (25_000, False), (10**9, True)):
            after = (window - 1) // 2 if center else 0
            spans = [(max(i + after + 1 - window, 0), min(i + after + 1, n)) for i in range(n)]
            options = ["rolling", "sum", "--window", window, "--min-count", 1, "--column", "value", "--append", "x"]
            found = self.table(*options, *(["--center"] if center else []), path)
            self.assertEqual([row[2] for row in found[1:]], [str(i) for i in range(n)])
            self.assertEqual([float(row[3]) for row in found[1:]], [(sums[b] - sums[a]) / 1000 for a, b in spans])

    def test_rows_wait_for_those_of_other_keys(self):
        """A key that comes no more has no result before the end, or before the last key of a span."""
        n = 30_000 if SHORT else 120_000
        text = b"t,k,v\n0,z,5\n" + b"".join(b"%d,%d,1\n" % (i, i % 7) for i in range(1, n))
        path = self.write("t.csv", text)
        rolling = ["rolling", "sum", "--center", "--min-count", 1, "--by", "k", "--column", "v"]
        self.assertEqual(self.result(*rolling, "--window", 3, path).split("\n"), ["5"] + ["2"] * 7 + ["3"] * (n - 15) + ["2"] * 7)
        self.assertEqual(self.result(*rolling, "--window", 20, "--on", "t", path).split("\n"), ["5"] + ["2"] * 7 + ["3"] * (n - 15) + ["2"] * 7)

    def test_windows_of_a_span(self):
        days = b"t,n\n2026-01-01,1\n2026-01-01,2\n2026-01-03,4\n2026-01-08,8\n"
        command = ["rolling", "sum", "--on", "t", "--column", "n"]
        self.assertEqual(self.result(*command, "--window", "7d", stdin=days), "3\n3\n7\n12")
        for window in ("1w", "168h", "10080m", "604800s", "604800"):
            self.assertEqual(self.result(*command, "--window", window, stdin=days), "3\n3\n7\n12")
        self.assertEqual(self.result(*command, "--window", "7d", "--min-count", 2, stdin=days), "3\n3\n7\n12")
        self.assertEqual(self.result(*command, "--window", "1d", "--min-count", 2, stdin=days), "3\n3\nnan\nnan")
        seconds = b"t,n\n2026-01-01T10:00:00.5,1\n2026-01-01T10:00:01,2\n2026-01-01T10:00:01.25,4\n"
        self.assertEqual(self.result(*command, "--window", "0.6s", stdin=seconds), "1\n3\n6")
        numbers = b"t,n\n0.1,1\n0.2,2\n0.35,4\n"
        self.assertEqual(self.result(*command, "--window", "0.15", stdin=numbers), "1\n3\n4")
        self.assertEqual(self.result(*command, "--window", "0.150001", stdin=numbers), "1\n3\n6")
        # The doubles of 0.35 and 0.2 are less than that of 0.15 apart.
        self.assertEqual(self.result(*command, "--window", "0.15", "--dtype", "f64", stdin=numbers), "1\n3\n6")
        self.assertEqual(self.result(*command, "--window", "4d", "--center", stdin=days), "7\n7\n4\n8")
        for window, wanted in ((1, "1\n6\n6\n8"), (1.5, "1\n6\n6\n8"), (2, "7\n6\n6\n8"), (2.5, "7\n7\n7\n8")):
            self.assertEqual(self.result(*command, "--window", window, "--center", stdin=b"t,n\n1,1\n2,2\n2,4\n5,8\n"), wanted)
        gaps = b"t,n\n1,1\n,2\n2,\n3,4\n"
        self.assertEqual(self.result(*command, "--window", 3, "--null-policy", "skip", "--append", "s", stdin=gaps), "t,n,s\n1,1,1\n,2,\n2,,\n3,4,5")

    def test_random_spans_against_integers(self):
        """Rows of one key have one window, wherever a chunk ends."""
        rng = random.Random(13)
        for case in range(8 if SHORT else 40):
            n, doubles = 30_000 if case < 4 else rng.choice([1, 20, 500]), case % 4 > 1
            center = case % 8 in (2, 3, 4, 5)
            span, at, rows = rng.randrange(20, 400) / 10 + case % 3 * 0.04, 0, []
            for i in range(n):
                at += rng.choice([0] * (n // 50) + [0, 1, 5, 60])
                rows.append((rng.choice("ab"), at / 10, rng.randrange(-1000, 1000)))
            text = "key,at,n\n" + "".join("%s,%s,%d\n" % row for row in rows)
            # Tenths, or what doubles are multiples of: a distance of integers is rounded down.
            unit = 2**60 if doubles else 10
            rows = [(key, int(math.ldexp(each, 60)) if doubles else round(10 * each), x) for key, each, x in rows]
            window = unit * (Fraction(span) if doubles else Fraction(str(span)))
            ahead = math.floor(window / 2) if center else 0
            behind = math.floor((window / 2 if center else 0) - window)
            wanted, lines = [None] * n, {}
            for i, (key, each, x) in enumerate(rows):
                lines.setdefault(key if case % 2 else "", []).append((each, x, i))
            for line in lines.values():
                first = end = total = 0
                for each, x, i in line:
                    while end < len(line) and line[end][0] <= each + ahead:
                        total += line[end][1]
                        end += 1
                    while line[first][0] <= each + behind:
                        total -= line[first][1]
                        first += 1
                    wanted[i] = float(total)
            command = ["rolling", "sum", "--window", span, "--on", "at", "--column", "n"]
            command += ["--by", "key"] if case % 2 else []
            command += ["--dtype", "f64"] if doubles else []
            command += ["--center"] if center else []
            if case % 3 == 0:
                found = [row[3] for row in self.table(*command, "--append", "x", stdin=text.encode())[1:]]
            else:
                found = self.result(*command, stdin=text.encode()).split("\n")
            self.assertEqual([float(each) for each in found], wanted)

    def test_spans_that_are_refused(self):
        days = b"t,c,n\n2026-01-01,a,1\n2026-01-03,b,2\n"
        command = ["rolling", "sum", "--column", "n"]
        for window, on, message in (("7x", "t", "not a number of w, d"), ("d", "t", "not a time"), ("0d", "t", "above 0"),
                                    ("9e18d", "t", "below 2^64"), ("7d", "n", "not a number"), ("-1", "n", "above 0")):
            self.refused(2, message, *command, "--window=" + window, "--on", on, stdin=days)
        self.refused(2, "bad operand of --window: '7d'", *command, "--window", "7d", stdin=days)
        self.refused(2, "above 0", *command, "--window", "inf", "--on", "n", "--dtype", "f64", stdin=b"n\n1\n")
        self.refused(3, "not a number: 'a'", *command, "--window", 1, "--on", "c", stdin=days)
        self.refused(3, "no column is named 'x'", *command, "--window", 1, "--on", "x", stdin=days)
        self.refused(2, "--on does not go with --axis", *command, "--window", "1d", "--on", "t", "--axis", 0, stdin=days)
        self.refused(3, "-:3: --on", *command, "--window", "1d", "--on", "t", stdin=b"t,n\n2026-01-02,1\n2026-01-01,1\n")
        self.refused(3, "-:3: --on", *command, "--window", 1, "--on", "t", stdin=b"t,n\n1.5,1\nnan,1\n")

    def test_what_turns_out_late(self):
        """The last row decides how numbers and keys are held."""
        n = 40_000
        text = b"k,v\n" + b"1,1\n" * n + b"x,0.5\n"
        self.assertEqual(self.result("cumsum", "--column", "v", "--by", "k", stdin=text).split("\n")[-2:], [str(n), "0.5"])
        self.assertEqual(self.result("cumsum", "--column", "v", "--append", "s", stdin=text).split("\n")[-1], "x,0.5,%s" % (n + 0.5))
        text = b"k,v\n" + b"1,1\n" * n + b"9000000000000000000,2\n"
        keys = ["--by", "k*10=big", "--column", "v", "--where", "k*10 > 0"]
        self.assertEqual(self.result("cumsum", *keys, stdin=text).split("\n")[-2:], [str(n), "2"])

    def test_what_is_refused(self):
        x = self.save("x.npy", np.ones(3))
        self.refused(2, "--append needs --column", "cumsum", "--append", "s", stdin=TABLE)
        self.refused(2, "--by needs --column", "rolling", "sum", "--window", 2, "--by", "city", stdin=TABLE)
        self.refused(2, "--csv needs --append", "cumsum", "--column", "n", "--csv", stdin=TABLE)
        self.refused(2, "--text needs --by", "cumsum", "--column", "n", "--text", "city", "--append", "x", stdin=TABLE)
        self.refused(2, "cannot write this as .csv", "cumsum", "--column", "n", "-o", self.path("x.csv"), stdin=TABLE)
        self.refused(2, "cannot write this as .npy", "cumsum", "--column", "n", "--append", "s", "-o", x, stdin=TABLE)
        rolling = ["rolling", "sum", "--window", 2, "--column", "n"]
        self.refused(2, "--step does not go with --append", *rolling, "--step", 2, "--append", "s", stdin=TABLE)
        self.refused(2, "--offset does not go with --by", *rolling, "--offset", 1, "--by", "city", stdin=TABLE)
        self.refused(2, "not one column", "cumsum", "--column", "n*", "--append", "s", stdin=b"n1,n2\n1,2\n")
        self.refused(2, "not one column", "cumsum", "--column", "n+1", "--append", "s", stdin=b"n,m\n1,2\n")
        self.refused(3, "-:5: column 2 (n): an empty field", "cumsum", "--column", "n", "--append", "s", stdin=TABLE)
        self.refused(3, "no column is named 'x'", "cumsum", "--column", "x", "--by", "city", stdin=TABLE)
        self.refused(3, "no column is named 'x'", "cumsum", "--column", "n", "--by", "x", stdin=TABLE)
        self.refused(3, "no column is named 'x'", "cumsum", "--column", "x", "--append", "s")
        self.refused(3, "not a number: 'paris'", "cumsum", "--column", "city", "--append", "s", stdin=TABLE)
        self.refused(3, "times have no", "cummax", "--column", "t", "--append", "s", stdin=b"t,n\n2026-01-01,2\n")
        self.refused(2, "--append is for text: this is a .npy file", "cumsum", "--column", "n", "--append", "s", x)
