"""Sheets of results: aligned, TSV, CSV, JSON and Markdown, read back by Python."""
import csv
import io
import itertools
import json
import os
import random
import re
import subprocess
import unicodedata

import numpy as np

from command import SANITIZED, SHORT, CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (20 if SANITIZED else 5)
SHOW_SHEET = os.environ.get("BITFOLD_SHOW_SHEET", "show_sheet")
ALIGNED, TSV, JSON, CSV, MARKDOWN = range(5)  # a pipe of ALIGNED is TSV
WORDS = [b"", b"a", b"Tokyo", b"New York", b"Lagos, NG", b'say "no"', b'"', b'""', b"two\nlines",
         b"\n", b"x\r\ny", b"\r", b"\t", b"a\tb", b"|", b"\\|", b"\\", b"*x*", b"_x_", b"user_id", b"<b>&amp;", b"12",
         b"-0", b"null", b" blanks ", b"\x1b[31mred", b"\x00", b"\x7f", b"\xff\xfe", b"\xe2\x82",
         b"ok\xf0\x9f", b"\xc2\x9b1m", "été".encode(), "東京".encode(), "서울".encode(),
         "e\u0301".encode(), "😀".encode(), "a,\"b\"\n|c".encode(), b"w" * 70, b"q" * 3000]
NUMBERS = [0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, 0.1, 1e300, 5e-324, -2.5, 1e16, 123456.75, float("inf"), float("-inf"),
          float("nan")]


class Table:
    """Columns of (kind, name, fields), of which some are None."""

    def __init__(self, r, rows, count, words=None):
        self.rows, self.columns = rows, []
        make = {"i": lambda: r.choice(NUMBERS), "f": lambda: r.choice(FLOATS),
                "s": lambda: r.choice(words or WORDS)}
        for c in range(count):
            kind, share = r.choice("ifss"), r.choice([0, 0.2])
            name = b"x%d" % c if words else r.choice(WORDS[1:]).replace(b"\0", b"") or b"zero"
            self.columns.append((kind, name, [None if r.random() < share else make[kind]()
                                              for _ in range(rows)]))

    def description(self):
        lines = ["%d" % self.rows]
        for kind, name, fields in self.columns:
            lines.append(kind + name.hex())
            lines += ["N" if v is None else "=" + v.hex() if kind == "s" else repr(v)
                      for v in fields]
        return "\n".join(lines + [".", ""]).encode()

    def shown(self):
        """The rows as they are shown: from the last to the first."""
        return list(zip(*[fields[::-1] for _, _, fields in self.columns]))


def number(value):
    """What a plain number looks like."""
    return (repr(value)[:-2] if repr(value).endswith(".0") else repr(value)).encode()


def separated(value, delimiter, more=(), name=False):
    """A field of CSV or TSV; more: what else is quoted."""
    if value is None:
        return b""
    if not isinstance(value, bytes):
        return number(value)
    quoted = value == b"" or any(c in value for c in [delimiter, b'"', b"\n", b"\r", b"\t", b"\0", *more])
    quoted = quoted or (name and value != value.strip(b" ")) or value[:3] == b"\xef\xbb\xbf"
    return b'"%s"' % written(value).replace(b'"', b'""') if quoted else value


def written(value):
    """A text holds no NUL: it is written as JSON has it."""
    return value.replace(b"\0", b"\\u0000")


def characters(value):
    """Bytes as a string, with a character of its own for each that is no UTF-8."""
    return re.sub("[\udc80-\udcff]", "\ufffd", value.decode(errors="surrogateescape"))


def visible(value):
    """What may reach a terminal."""
    return "".join("?" if unicodedata.category(c) == "Cc" or c == "\ufffd" else c
                   for c in characters(value))


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def unescaped(cell):
    """The text of a cell of Markdown."""
    cell = cell.replace("<br>", "\n").replace("&lt;", "<").replace("&amp;", "&")
    return re.sub(r"\\(.)", r"\1", cell)


class Sheets(CommandTest):
    def show(self, table, layout, *more, threads=1, part=0):
        path = self.write("sheet", table.description())
        done = subprocess.run([SHOW_SHEET, path, str(layout), str(threads), str(part), *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def each(self, seed, most=30, words=None):
        r = random.Random(seed)
        for _ in range(CASES):
            table = Table(r, r.choice([0, 1, 2, r.randrange(most)]), r.randrange(1, 6), words)
            yield table, {"threads": r.choice([1, 2, 5]), "part": r.choice([0, 1, 3, 1000])}

    def test_csv_and_tsv_are_as_rfc_4180_has_them(self):
        for table, how in self.each(1):
            for layout, delimiter in [(CSV, b","), (TSV, b"\t"), (ALIGNED, b"\t")]:
                rows = [list(row) for row in table.shown()]
                header = ["header"] if layout != ALIGNED else []
                if layout != ALIGNED:
                    rows.insert(0, [name for _, name, _ in table.columns])
                marks = [b";"] if layout == CSV else []
                if header and len(rows[0]) == 1:
                    marks = [b",", b";", b"|", b" "]
                lone = [b",", b";", b"|", b" ", b"="] if layout == TSV and len(table.columns) == 1 else []
                want = b"".join(delimiter.join(separated(v, delimiter, marks + lone, True) if header and i == 0 else
                                               separated(v, delimiter, lone) for v in row) + b"\n"
                                for i, row in enumerate(rows))
                got = self.show(table, layout, *header, **how)
                self.assertEqual(got, want)
                text = got.decode("latin-1")
                read = list(csv.reader(io.StringIO(text, newline=""),
                                       delimiter=delimiter.decode(), strict=True))
                want = [["" if v is None else written(v).decode("latin-1")
                         if isinstance(v, bytes) else number(v).decode() for v in row]
                        for row in rows]
                self.assertEqual(read, [[] if row == [""] and rows[i] == [None] else row
                                        for i, row in enumerate(want)])

    def test_json_has_an_object_for_each_row(self):
        for table, how in self.each(2):
            lines = self.show(table, JSON, "total", **how).decode().splitlines()
            self.assertEqual(len(lines), table.rows)
            names, used = [], {}
            for _, name, _ in table.columns:
                used[name] = used.get(name, 0) + 1
                names.append(characters(name) + ("_%d" % used[name] if used[name] > 1 else ""))
            for i, (line, row) in enumerate(zip(lines, table.shown())):
                got = json.loads(line)
                want = [characters(v) if isinstance(v, bytes) else v for v in row]
                if i + 1 == len(lines):
                    self.assertIs(got.pop("total"), True)
                self.assertEqual(list(got), names)
                for v, expected, (kind, _, _) in zip(got.values(), want, table.columns):
                    v = float(v) if kind == "f" and v is not None else v
                    self.assertEqual(repr(v), repr(expected))

    def test_markdown_has_a_line_for_each_row(self):
        for table, how in self.each(3):
            lines = self.show(table, MARKDOWN, **how).decode().split("\n")
            self.assertEqual(lines.pop(), "")
            self.assertEqual(lines.pop(1), "| " + " | ".join(
                "---" if kind == "s" else "---:" for kind, _, _ in table.columns) + " |")
            rows = [[name for _, name, _ in table.columns], *table.shown()]
            self.assertEqual(len(lines), len(rows))
            for line, row in zip(lines, rows):
                self.assertTrue(line.startswith("| ") and line.endswith(" |"), line)
                cells = re.findall(r" ((?:\\.|[^\\|])*) \|", line)
                want = ["" if v is None else visible(re.sub(b"\r\n|\r|\n", b"\1", v)).replace(
                    "?", "\n") if isinstance(v, bytes) else number(v).decode() for v in row]
                self.assertEqual([unescaped(c).replace("?", "\n") for c in cells], want)

    def test_a_terminal_shows_aligned_columns(self):
        digits = [b"12", b"-0", b""]
        for table, how in [*self.each(6), *self.each(7, words=digits)]:
            rows = [[(kind, name) for kind, name, _ in table.columns]]
            rows += [list(zip([kind for kind, _, _ in table.columns], row))
                     for row in table.shown()]
            cells = [["" if v is None else visible(v) if isinstance(v, bytes) else
                      number(v).decode() for _, v in row] for row in rows]
            widths = [min(48, max(map(width, column))) for column in zip(*cells)]
            right = [kind != "s" or any(column) and all(c in ["", "12", "-0"] for c in column)
                     for (kind, _, _), *column in zip(table.columns, *cells[1:])]
            want = []
            for row in cells:
                line = []
                for to_right, cell, wide in zip(right, row, widths):
                    blanks = " " * (wide - width(cell))
                    line.append(blanks + cell if to_right else cell + blanks)
                if not right[-1]:
                    line[-1] = row[-1]
                want.append("  ".join(line) + "\n")
            path = self.write("sheet", table.description())
            got = self.shown(path, ALIGNED, how["threads"], 0, program=SHOW_SHEET)
            self.assertEqual(got, "".join(want))

    def test_csv_has_decimals_or_hexadecimals(self):
        table = Table(random.Random(4), 0, 1)
        table.rows, table.columns = 2, [("f", b"x", [0.5, None]), ("i", b"n", [None, 10])]
        self.assertEqual(self.show(table, CSV, "hex"), b"x,n\n,10\n0x1p-1,\n")

    def test_no_two_values_of_an_object_have_one_name(self):
        table = Table(random.Random(8), 0, 1)
        table.rows = 1
        table.columns = [("i", name, [i]) for i, name in enumerate([b"a", b"a", b"a_2", b"a"])]
        self.assertEqual(json.loads(self.show(table, JSON)),
                         {"a": 0, "a_3": 1, "a_2": 2, "a_4": 3})
        table.columns = [("i", name, [i]) for i, name in enumerate([b"total_2", b"total", b"x"])]
        self.assertEqual(json.loads(self.show(table, JSON, "total")),
                         {"total_2": 0, "total": 1, "x": 2, "total_3": True})
        names = [b"c%d" % (i % 30) for i in range(60)]
        table.columns = [("i", name, [i]) for i, name in enumerate(names)]
        self.assertEqual(list(json.loads(self.show(table, JSON))),
                         ["c%d" % i for i in range(30)] + ["c%d_2" % i for i in range(30)])

    def test_many_rows_and_long_strings_are_whole(self):
        r = random.Random(5)
        table = Table(r, 40000, 1)
        table.columns = [("i", b"n", list(range(40000))),
                         ("s", b"s", [r.choice([b"", b"x", b"y" * r.randrange(2000)])
                                      for _ in range(40000)])]
        want = b"n,s\n" + b"".join(b"%d,%s\n" % (n, separated(s, b","))
                                   for n, s in table.shown())
        for threads, part in [(1, 7777), (3, 0)] if SHORT else itertools.product([1, 3], [0, 7777]):
            self.assertTrue(self.show(table, CSV, threads=threads, part=part) == want)


class Commands(CommandTest):
    def setUp(self):
        super().setUp()
        self.text = self.write("t.csv", b"id,price\n3,1.5\n-1,2\n3,1e300\n")

    def test_counts_and_groups_have_every_form(self):
        group = ["group", "--column", "id", "--sum", "price", "--count", "--quantile", "50:price"]
        count = ["count", "--column", "id", self.text]
        group.append(self.text)
        self.assertEqual(self.result(*group), "-1\t2\t1\t2\n3\t1e+300\t2\t5e+299")
        self.assertEqual(self.result(*group, "--csv"), "id,sum(price),count,quantile(50:price)\n"
                         "-1,2,1,2\n3,1e+300,2,5e+299")
        self.assertEqual(self.result(*group, "--header", "--tsv").split("\n")[0],
                         "id\tsum(price)\tcount\tquantile(50:price)")
        self.assertEqual(self.result(*count, "--markdown"),
                         "| id | count |\n| ---: | ---: |\n| 3 | 2 |\n| -1 | 1 |")
        self.assertEqual(self.shown(*count), "id  count\n 3      2\n-1      1\n")
        self.assertEqual(self.shown(*count, "--tsv"), "3\t2\n-1\t1\n")

    def test_histograms_and_orders_have_them_too(self):
        self.assertEqual(self.result("hist", "--bins", 2, "--column", "id", "--csv", self.text),
                         "lo,hi,count\n-1,1,1\n1,3,2")
        self.result("hist", "--range", "0:4", "--bins", 1, "--column", "id", self.text, "-q",
                    "-o", self.path("h.md"))
        with open(self.path("h.md")) as f:
            self.assertEqual(f.read(), "| lo | hi | count |\n| ---: | ---: | ---: |\n"
                             "| 0 | 4 | 2 |\n")
        self.result("hist", "--range", "0:4", "--bins", 1, "--column", "id", self.text, "-q", "--csv",
                    "-o", self.path("h.md"))
        with open(self.path("h.md")) as f:
            self.assertEqual(f.read(), "lo,hi,count\n0,4,2\n")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(self.text))
        for name in ["t.csv", "./t.csv"]:
            top = ["top", "-n", 2, "--column", "id", name]
            self.assertEqual(self.result(*top, "--csv"),
                             "value,index,file\n3,0,%s\n3,2,%s" % (name, name))
            self.assertEqual(self.shown(*top), "value  index\n    3      0\n    3      2\n")
        self.assertEqual(self.result("top", "-n", 1, "--column", "id,price", "--csv", *["t.csv"] * 2),
                         "column,value,index,file\nid,3,0,t.csv\nprice,1e+300,2,t.csv\n"
                         "id,3,0,t.csv\nprice,1e+300,2,t.csv")
        self.assertEqual(self.shown("unique", "--count", "--column", "id", "t.csv"),
                         "value  count\n   -1      1\n    3      2\n")
        self.assertEqual(self.shown("unique", "--column", "id", "t.csv"), "-1\n3\n")
        self.assertEqual(self.result("quantile", "-p", "0,50", "--csv", "--column", "id", "t.csv"),
                         "percent,value\n0,-1\n50,3")
        self.assertEqual(self.result("median", "--csv", "--column", "id", "t.csv"),
                         "value,file\n3,t.csv")

    def test_values_and_descriptions_have_rows(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(self.text))
        both = ["--column", "id,price", "t.csv"]
        self.assertEqual(self.result("sum", "--csv", *both),
                         "column,value,file\nid,5,t.csv\nprice,1e+300,t.csv")
        self.assertEqual(self.result("max", "--markdown", "--total", *both[2:], "--column", "id"),
                         "| value | file |\n| ---: | --- |\n| 3 | t.csv |\n| 3 | total |")
        self.result("min", *both, "-o", "min.csv")
        with open("min.csv") as f:
            self.assertEqual(f.read(), "column,value,file\nid,-1,t.csv\nprice,1.5,t.csv\n")
        self.assertEqual(self.result("dot", "--csv", "t.csv", "t.csv", "--column", "id"),
                         "value,file,other\n19,t.csv,t.csv")
        for more in [[], ["--quantiles=50"]]:
            rows = [line.split("\t") for line in
                    self.result("describe", "--tsv", *more, *both).split("\n")]
            got = list(csv.reader(self.result("describe", "--csv", *more, *both).split("\n")))
            self.assertEqual(got, rows)
        self.write("m.txt", b"1 2\n3 4\n")
        self.assertEqual(self.result("sum", "--axis", "0", "--csv", "m.txt"),
                         "value,file\n4,m.txt\n6,m.txt")
        described = self.result("describe", "--axis", "0", "--csv", "m.txt").split("\n")
        self.assertEqual([line.split(",")[:3] for line in described],
                         [["file", "index", "n"], ["m.txt", "0", "2"], ["m.txt", "1", "2"]])
        np.save("e.npy", np.zeros((2, 0)))
        described = self.result("describe", "--axis", "1", "--csv", "e.npy").split("\n")
        self.assertEqual(described[1], "e.npy,0,0,0,0,,,,,0,nan,nan")
        np.save("e.npy", np.zeros((0, 2)))
        self.assertEqual(self.result("sum", "--axis", "1", "--csv", "e.npy"), "value,file")
        self.result("count", "--save", "c.bfs", "--column", "id", "t.csv")
        self.assertEqual(self.result("merge", "--csv", "c.bfs"), "key,count\n3,2\n-1,1")

    def test_joins_have_names(self):
        a = self.save("a.npy", np.array([1, 2, 1]))
        for more in [[], ["--memory", "%dM" % (least_memory() + 8)]]:
            self.assertEqual(self.result("join", "--csv", "-j2", *more, a, a),
                             "row_a,row_b\n0,0\n0,2\n1,1\n2,0\n2,2")
            self.assertEqual(self.result("join", "-j2", *more, a, a), "0\t0\n0\t2\n1\t1\n2\t0\n2\t2")
        self.assertEqual(self.shown("join", a, a).split("\n")[:2], ["row_a  row_b", "    0      0"])

    def test_the_ending_of_a_name_chooses_the_form(self):
        def written(name, *more):
            path = self.path(name)
            self.result("count", "--column", "id", self.text, "-o", path, *more)
            with open(path) as f:
                return f.read()

        lines = "3\t2\n-1\t1\n"
        self.assertEqual([written(n) for n in ["x", "x.tsv", "x.txt"]], [lines] * 3)
        self.assertEqual(written("x.csv"), "id,count\n3,2\n-1,1\n")
        self.assertEqual(written("x.CSV", "--tsv"), lines)
        self.assertEqual(written("x.md").split("\n")[0], "| id | count |")
        self.assertEqual(json.loads(written("x.json"))["counts"], [2, 1])
        for name in ["x.jsonl", "x.ndjson"]:
            self.assertEqual(written(name), '{"id":3,"count":2}\n{"id":-1,"count":1}\n')

    def test_two_forms_are_refused(self):
        for pair in [("--csv", "--json"), ("--markdown", "--tsv"), ("--tsv", "--csv")]:
            self.refused(2, "%s and %s exclude each other" % pair, "count", *pair, self.text)

    def test_spilled_groups_have_one_header(self):
        keys = np.random.default_rng(6).permutation(200_000) - 100_000
        name = self.save("k.npy", keys)
        limit = ["--memory", "%dM" % (least_memory() + 8), "-j2"]
        for more in [["count"], ["count", "--sort", "key"]]:
            want = self.result(*more, "--csv", name)
            self.assertTrue(want.startswith("key,count\n"))
            self.assertTrue(self.result(*more, "--csv", *limit, name) == want)
        for more in [["sort"], ["unique", "--count"], ["top", "-n", 150_000]]:
            want = self.result(*more, "--csv", name)
            self.assertTrue(want.startswith("value,"))
            self.assertTrue(self.result(*more, "--csv", *limit, name) == want)
        want = self.result("group", name, "--sum", name, "--markdown")
        self.assertTrue(self.result("group", name, "--sum", name, "--markdown", *limit) == want)
