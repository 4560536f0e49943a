"""CSV as RFC 4180 has it and as it is in the world: against Python's csv module.
Builds: release, asan, tsan (full)."""
import collections
import contextlib
import csv
import functools
import gzip
import io
import json
import lzma
import os
import random
import resource
import shutil
import subprocess
import unittest
from fractions import Fraction

import numpy as np

from command import SANITIZED, SHORT, THREADS_ALONE, CommandTest, run
from quantiles import place_of, value_at

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 6
THREADS = [2, 8] if THREADS_ALONE else [1, 2, 3, 8]
WORDS = ["", "a", "Tokyo", "New York", "Lagos, NG", 'say "no"', '"', '""', "two\nlines", "\n", "\n\n,",
         ',"\n', "x\r\ny", ";", "|", "\t", "it's", "5\"", "\u00e9t\u00e9", "\n1,2,3\n"]


def quoted(word):
    return '"%s"' % word.replace('"', '""')


def field(r, word, delimiter):
    """A word as a field: in quotes if it must be, and sometimes when it need not."""
    plain = not any(c in word for c in '"\r\n' + delimiter) and word.strip() == word
    literal = plain or (word[:1] not in '" ' and '"' in word and word.strip() == word and
                        not any(c in word for c in "\r\n" + delimiter))
    return word if literal and r.random() < 0.7 else quoted(word)


def table(r, size):
    """A text of about so many bytes: rows (n, word, n of the row, word), all sorts of them mixed."""
    delimiter, end = r.choice(",;\t|"), r.choice(["\n", "\r\n"])
    longest = r.choice([3, 30, 3000, 100_000, 300_000])
    lines, rows, n = ["n%sword%snumber%srest" % ((delimiter,) * 3)], [], 0
    share = r.choice([0, 0.01, 0.3, 1])
    while n < size:
        word = r.choice(WORDS) if r.random() < share else "w%d" % r.randrange(20)
        if r.random() < 20 / longest:
            word = "".join(r.choices(["abc", "\n", delimiter, '"', "0\n"], k=r.randrange(longest)))
        row = [str(r.randrange(-1000, 1000)), word, str(len(rows)), r.choice(WORDS + ["x"] * 50)]
        if len(row[1]) + n > 2 * size:
            row[1] = "w"
        rows.append(row)
        lines.append(delimiter.join(field(r, w, delimiter) for w in row))
        n += len(lines[-1]) + 1
        if r.random() < 0.01:
            lines.append("")
    return delimiter, end.join(lines) + r.choice(["", end]), rows


def read(text, delimiter):
    """The rows that Python finds, but for the header and empty ones."""
    csv.field_size_limit(1 << 30)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return [row for row in rows[1:] if row]


def number(r):
    """A decimal of up to 15 digits, in one of the ways to write it."""
    sign, length = r.choice(["", "-"]), r.choice([1, 2, 3, 5, 6, 7, 8, 9, 14, 15])
    digits = "".join(r.choices("0123456789", k=length))
    if r.random() < 0.5:
        return sign + (digits.lstrip("0") or "0")
    at = r.randrange(length)
    return sign + (digits[:at].lstrip("0") or r.choice(["", "0"])) + "." + digits[at:]


def dressed(r, text):
    """Writes the same number in a way that few programs do."""
    forms = ['"%s"', " %s", "%s  ", "%se0"]
    return r.choice(forms if text.startswith("-") else forms + ["+%s"]) % text


class Tables(CommandTest):
    def inputs(self, data):
        """Gives the same bytes as a file and as a pipe."""
        return [("x", {}), ("-", {"stdin": data})]

    def test_random_tables_are_those_of_python(self):
        for seed in range(CASES):
            r = random.Random(seed)
            delimiter, text, rows = table(r, r.choice([0, 30, 1000, 100_000, 900_000]))
            self.assertEqual(read(text, delimiter), rows, seed)
            data = r.choice([b"", b"\xef\xbb\xbf"]) + text.encode()
            self.write("x", data)
            n = [int(row[0]) for row in rows]
            for name, options in self.inputs(data):
                j = r.choice(THREADS)
                arguments = ["-j", j, self.path(name) if name == "x" else name]
                for column, values in [("n", n), (3, range(len(rows)))]:
                    header = ["--header"] if column == 3 else []
                    got = self.result("sum", "--column", column, *header, *arguments, **options)
                    self.assertEqual(got, str(sum(values)), (seed, name, j, column))
                some = ["--column", "number", "--offset", len(rows) // 3]
                got = self.result("sum", *some, *arguments, **options)
                self.assertEqual(got, str(sum(range(len(rows) // 3, len(rows)))), (seed, name, j))
                if rows:
                    got = self.result("argmax", "--column", "number", *arguments, **options)
                    self.assertEqual(got, str(len(rows) - 1), (seed, name, j))

    def test_numbers_of_all_lengths_in_rows_of_equally_many_fields(self):
        for seed in range(CASES):
            r = random.Random(seed)
            odd, rows = r.choice([0, 0.01, 0.5]), r.choice([1, 5, 200, 3000])
            columns = [[number(r) for _ in range(rows)] for _ in range(3)]
            lines = []
            for row in zip(*columns):
                lines.append(",".join(dressed(r, x) if r.random() < odd else x for x in row))
                lines += ["", " "][:r.randrange(3)] if r.random() < odd else []
            self.write("x", ("\n".join(lines) + r.choice(["", "\n"])).encode())
            got = self.result("sum", "--column", "1,2,3", "-j", r.choice(THREADS), self.path("x"))
            self.assertEqual([Fraction(x.split("\t")[-1]) for x in got.splitlines()],
                             [sum(map(Fraction, c)) for c in columns], seed)
            code = r.choice(["007", "-01", "00", "00.5"])
            columns[0][r.randrange(rows)] = code
            text = "k,b,c\n" + "".join("%s,%s,%s\n" % row for row in zip(*columns))
            self.write("x", text.encode())
            got = self.result("count", "--by", "k", "-j", r.choice(THREADS), self.path("x"))
            counts = [line.split("\t") for line in got.splitlines()]
            self.assertEqual({key: int(n) for key, n in counts},
                             collections.Counter(columns[0]), (seed, code))

    def test_an_error_names_its_line_in_the_file(self):
        for seed in range(CASES // 2):
            r = random.Random(seed)
            delimiter, text, rows = table(r, r.choice([100, 300_000, 900_000]))
            text = text.rstrip("\r\n")
            line = text.count("\n") + 2
            for bad, what in [("oops", "not a number: 'oops'"), ('"1', "a quoted field that does not"),
                              ('"1"2', "a quoted field that does not end as it should"),
                              ("1\0", "a NUL byte")]:
                data = (text + "\n" + bad + delimiter * 3 + "\n\n1\n").encode()
                self.write("x", data)
                for name, options in self.inputs(data):
                    name = self.path(name) if name == "x" else name
                    for j in r.sample(THREADS, 2):
                        self.refused(3, "%s:%d: %s" % (name, line, what), "sum", "--column", "n",
                                     "-j", j, name, **options)

    def test_a_quote_that_nothing_closes_is_found_where_it_opens(self):
        for behind in [b"", b"\n", b"x\ny\n" * 300_000]:
            for before in [b"a,b\n", b"a,b\n" + b"1,\"x\ny\"\n" * 100_000]:
                data = before + b'2,\n3,"open' + behind
                self.write("x", data)
                line = before.count(b"\n") + 2
                for name, options in self.inputs(data):
                    name = self.path(name) if name == "x" else name
                    for j in THREADS:
                        self.refused(3, "%s:%d: a quoted field that does not end" % (name, line),
                                     "sum", "--column", "a", "-j", j, name, **options)

    def test_parts_that_begin_in_quotes_with_text_that_looks_like_rows(self):
        lie = b'\n1,"",""\n' * 100_000 + b",\n"
        data = b"a,b,c\n" + (b'7,"' + lie.replace(b'"', b'""') + b'",x\n' + b"1,2,3\n" * 50_000) * 2
        self.write("x", data)
        for j in THREADS:
            for name, options in self.inputs(data):
                name = self.path(name) if name == "x" else name
                self.assertEqual(self.result("sum", "--column", "a", "-j", j, name, **options),
                                 "100014")

    def test_every_part_begins_with_a_wrong_guess_that_goes_on(self):
        part = 256 * 1024
        fields = b'",\n,"' + b',"\n"' * (part // 4)
        data = b"a" + b",b" * 9 + b"\n" + b"1," + fields * 30 + b"\n2,3\n"
        self.write("x", data)
        for j in THREADS:
            self.assertEqual(self.result("sum", "--lax", "--column", "a", "-j", j, self.path("x")), "3")
            self.refused(3, "x:2: 1966082 fields in this row, and 10 in the first", "sum", "--column",
                         "a", "-j", j, self.path("x"))

    def test_blanks_part_fields_of_one_line(self):
        self.refused(3, "-:1: a quoted field", "sum", "--column", 2, "--delimiter", " ",
                     stdin=b'1 "2\n3" 4\n')


class Shapes(CommandTest):
    """Many columns, odd names, bytes that are no text."""

    MANY = 20_000 if SHORT else 100_000  # columns; rows, three times as many

    @unittest.skipIf(THREADS_ALONE, "long, and threads share rows as in the other tests")
    def test_a_hundred_thousand_columns(self):
        n = self.MANY
        names = ",".join("c%d" % i for i in range(n))
        rows = [names, ",".join(str(i) for i in range(n)), ",".join(["1"] * n)]
        name = self.write("x", "\n".join(rows).encode())
        self.assertEqual(self.result("sum", "--column", "c%d,c5" % (n - 1), name), "c5\t6\nc%d\t%d" % (n - 1, n))
        self.assertEqual(self.result("max", "--column", n, "--offset", 1, name), str(n - 1))
        described = self.result("describe", "--tsv", name).split("\n")
        self.assertEqual(len(described), n + 1)
        self.assertEqual(described[-1].split("\t")[1:3], ["c%d" % (n - 1), "2"])
        newlines = '"%s"' % ("\n" * (3 * n))
        tall = self.write("y", (names + ",text\n" + rows[1] + "," + newlines + "\n").encode())
        some = names[: names.index("c10000,") - 1]
        self.assertEqual(len(self.result("describe", "--tsv", "--column", some, tall).split("\n")), 10001)

    def test_short_rows_of_many_columns_take_no_memory(self):
        n = self.MANY
        wide = ",".join("c%d" % i for i in range(n)) + "\n" + ",".join(["1"] * n) + "\n" + "1\n" * (3 * n)
        keys = "{%s}\n" % ",".join('"c%d":1' % i for i in range(n)) + "{}\n" * (3 * n)
        for data, options in [(wide, ["--lax"]), (keys, ["--format", "jsonl"])]:
            data = data.encode()
            for name in [self.write("x", data), "-"]:
                with self.limited(3 << 30):
                    self.refused(3, "%d columns are too short" % n, "describe", "--null-policy", "skip",
                                 "-j2", *options, name, stdin=data)
            self.assertEqual(self.result("sum", "--column", "c7", "--null-policy", "skip", *options,
                                         stdin=data), "1")

    @contextlib.contextmanager
    def limited(self, size):
        """Commands may take so much memory."""
        before = resource.getrlimit(resource.RLIMIT_AS)
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (size, before[1]))
        yield
        resource.setrlimit(resource.RLIMIT_AS, before)

    def test_names_of_any_bytes(self):
        data = b'a,"b,c",7,`,"x\ny",a,\n1,2,3,4,5,6,7\n'
        for name, value in [("`b,c`", 2), ("`7`", 3), ("7", 7), ("`", 4), ("x\ny", 5), ("`x\ny`", 5)]:
            self.assertEqual(self.result("sum", "--column", name, "--header", stdin=data), str(value), name)
        self.assertEqual(self.result("sum", "--column", "`b,c`,`7`", stdin=data), "b,c\t2\n7\t3")
        self.assertEqual(self.result("group", "--column", "`b,c`", "--sum", "`7`", self.write("x", data)),
                         "2\t3")
        self.refused(3, "more than one column is named 'a'", "sum", "--column", "a", stdin=data)
        self.refused(3, "no column is named 'b'", "sum", "--column", "b", stdin=data)
        self.refused(3, "no column is named '8'", "sum", "--column", "`8`", stdin=data)

    def test_a_name_that_is_empty_undoes_no_header(self):
        for data, names in [(b"A,B,C,\n1,4,7,", ["A", "B", "C", "4"]), (b",x\n0,5", ["1", "x"]), (b"a,,\n1,2,3", ["a", "2", "3"])]:
            got = self.result("describe", "--infer", stdin=data).split("\n")
            self.assertEqual([x.split("\t")[1] for x in got], names)
        got = self.result("describe", "--infer", stdin=b",,\n0,5,").split("\n")
        self.assertEqual([x.split("\t")[1:4] for x in got[:2]], [["1", "i64", "2"], ["2", "i64", "2"]])

    def test_bytes_that_are_no_text_stay_as_they_are(self):
        words = [b"\xff\xfe", b"\xc3", b"caf\xe9", bytes(range(128, 256)), b"\xed\xa0\x80", b"\x01\x7f"]
        data = b"k,v\n" + b"".join(b'%s,1\n"%s",2\n' % (w, w) for w in words)
        name = self.write("x", data)
        done = subprocess.run([SHOW_ROWS, name, "2", "0", "0", "strings=k"], capture_output=True)
        self.assertEqual(done.stdout.decode().split(),
                         ["=" + w.hex() for w in words for _ in range(2)])
        self.assertEqual(self.result("sum", "--column", "v", name), "18")
        self.refused(3, "x:3: a NUL byte", "sum", "--column", "v",
                     self.write("x", b"k,v\na,1\nb\0,2\n"))


SHOW_ROWS = os.environ.get("BITFOLD_SHOW_ROWS", "show_rows")
NULLS = ["NA", "-", "N/A", "-999"]
SPACED = [" a", "b ", " c d ", "NA", "-", "N/A", "-999", "7", "1.5", "NA "]


def loose_field(r, word, delimiter):
    """Quotes a word where it must; blanks may be at the ends of what is not in quotes."""
    must = any(c in word for c in '"\r\n' + delimiter)
    quote = must or r.random() < 0.3
    return (quoted(word), True) if quote else (word, False)


class Strings(CommandTest):
    """Strings, numbers and NULLs as the reader hands them to commands."""

    def show(self, data, *options, pipe=False, j=1, part=0, most=0):
        """The lines that show_rows prints."""
        arguments = [SHOW_ROWS, "-" if pipe else self.write("x", data), j, part, most, *options]
        done = subprocess.run(list(map(str, arguments)), input=data if pipe else b"",
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().split("\n")[:-1]
        return lines[len(lines) - lines[::-1].index("again"):] if "again" in lines else lines

    def text(self, r, delimiter, size):
        """Rows of fields, and whether each was in quotes."""
        rows, lines, n = [], ["a%sb%sc" % (delimiter, delimiter)], 0
        while n < size:
            words = [r.choice(WORDS + SPACED) for _ in range(2)] + [str(r.randrange(-999, 999))]
            fields = [loose_field(r, w, delimiter) for w in words]
            rows.append([(w, q) for w, (_, q) in zip(words, fields)])
            lines.append(delimiter.join(f for f, _ in fields))
            n += len(lines[-1])
        return r.choice(["\n", "\r\n"]).join(lines), rows

    @staticmethod
    def shown(word, in_quotes, nulls=()):
        null = not in_quotes and (word == "" or word in nulls)
        return "NULL" if null else "=" + word.encode().hex()

    def test_strings_are_those_of_python(self):
        for seed in range(CASES * 2):
            r = random.Random(seed)
            delimiter = r.choice(",;\t|")
            nulls = r.sample(NULLS, r.randrange(len(NULLS)))
            text, rows = self.text(r, delimiter, r.choice([0, 30, 1000, 20_000]))
            self.assertEqual(read(text, delimiter), [[w for w, _ in row] for row in rows])
            want = ["%s %s" % tuple(self.shown(*f, nulls) for f in row[:2]) for row in rows]
            options = ["strings=b,a", "delimiter=" + delimiter, "nulls=" + ",".join(nulls)]
            for _ in range(4):
                how = {"pipe": r.random() < 0.3, "j": r.choice(THREADS), "most": r.choice([0, 7, 999]),
                       "part": r.choice([0, 1, 10, 100, 1000])}
                got = self.show(text.encode(), *options, "settled=1", **how)
                self.assertEqual(got, want, (seed, how))

    def test_keys_are_numbers_until_one_is_none(self):
        for seed in range(CASES):
            r = random.Random(seed)
            values = [str(r.randrange(-99, 99)) for _ in range(r.choice([1, 10, 3000]))]
            if r.random() < 0.3:
                values[r.randrange(len(values))] = ""
            if r.random() < 0.3:
                values[r.randrange(len(values))] = "2.5"
            words = r.random() < 0.5
            if words:
                values[r.randrange(len(values))] = r.choice(["x", "1x", " y"])
            real = "2.5" in values
            text = "k,v\n" + "".join("%s,1\n" % v for v in values)
            for _ in range(3):
                how = {"pipe": r.random() < 0.5, "j": r.choice(THREADS), "most": r.choice([0, 50]),
                       "part": r.choice([0, 10, 1000])}
                got = self.show(text.encode(), "keys=k", "settled=1", **how)
                if words:
                    want = [self.shown(v, False) for v in values]
                else:
                    want = ["NULL" if v == "" else v for v in values]
                    got = [str(float.fromhex(g)).removesuffix(".0") if real and g != "NULL" else g
                           for g in got]
                self.assertEqual(got, want, (seed, how))

    def test_a_column_can_be_numbers_and_strings(self):
        got = self.show(b"a,b\n007,x\n\"8\",\n 9 ,\"\"\n", "columns=a", "strings=a,b", "settled=1")
        self.assertEqual(got, ["7=303037 =78", "8=38 NULL", "9=203920 ="])

    def test_ragged_rows_are_refused(self):
        many = b"1,2,3\n" * 50_000
        lax = ["--lax", "--null-policy", "skip"]
        rows = [
            (b"7,8,9,10", "4 fields", 50_007), (b"7,8", "2 fields", 50_007), (b"7", "1 field", 50_007),
            (b"7,,,", "4 fields", 50_007), (b'7,"8,x",9,10', "4 fields", 50_007),
            (b'"7",8', "2 fields", 50_007), (b" 7 ,8 ,9,", "4 fields", 50_007),
            (b'7,"8"x,"y,z",9', "4 fields", 50_007),
        ]  # fmt: skip
        for row, fields, total in rows[::3] if SHORT else rows:
            data = b"a,b,c\n" + many + row + b"\n" + many
            name = self.write("x", data)
            ways = [["-j", j] for j in THREADS] + [["--thousands", "'"], ["--null", "NA"]]
            for more in ways:
                said = self.refused(3, "x:50002: %s in this row, and 3 in the first" % fields, "sum",
                                    "--column", "a", *more, name)
                self.assertIn("hint: --lax takes such rows", said)
            self.assertEqual(self.result("sum", "--column", "a", *lax, name), str(total + 50_000))
            self.refused(3, "x:50002: %s in this row" % fields, "group", "--by", "a", "--count", name)
        self.assertEqual(self.result("sum", "--column", "2", stdin=b"1 2\n3 4 total\n"), "6")
        self.refused(3, "-:3: 2 fields in this row, and 1 in the first", "count", "--by", "name",
                     stdin=b"name\nx\na,b\n")

    def test_short_rows_hold_no_value(self):
        got = self.show(b"a,b,c\n1,x,2\n3\n4,y\n,\n5,z,6,7\n", "columns=a,c", "strings=b", "lax=1",
                        "skip=1", "settled=1")
        self.assertEqual(got, ["1 =78 2", "3 NULL NULL", "4 =79 NULL", "NULL NULL NULL", "5 =7a 6"])
        said = self.refused(3, "-:3: no column 2: this row has 1 field", "sum", "--lax", "--column", "b",
                            stdin=b"a,b\n1,2\n3\n")
        self.assertIn("hint: --null-policy skip leaves such rows out", said)

    def test_bytes_that_are_no_text_of_any_encoding_are_kept(self):
        got = self.show(b"a,b\n\xff\xfe,1\n\x01\x80,2\n", "strings=a")
        self.assertEqual(got, ["=fffe", "=0180"])


class Nulls(CommandTest):
    DATA = b"a,b\n1,NA\n,3\n4,\"5\"\n7\n-999,9\n"

    def test_they_are_refused_with_their_line(self):
        name = self.write("x", self.DATA)
        self.refused(3, "x:3: an empty field", "sum", "--column", "a", name)
        self.refused(3, "x:2: not a number: 'NA'", "sum", "--column", "b", "--null", "NA", name)
        self.refused(3, "x:5: no column 2", "sum", "--column", "b", "--null", "NA",
                     "--null-policy", "skip", name)
        self.refused(3, "x:6: not a number: '-999'", "sum", "--column", "a", "--null", "-999",
                     "--count", 1, "--offset", 4, name)

    def test_they_are_left_out_of_each_column(self):
        skip = ["--null", "NA,-999", "--null-policy", "skip", "--lax", "--column", "a,b"]
        for name in [self.write("x", self.DATA), "-"]:
            for op, a, b in [("sum", 12, 17), ("max", 7, 9), ("prod", 28, 135), ("argmax", 3, 4),
                             ("argmin", 0, 1)]:
                got = self.result(op, *skip, name, stdin=self.DATA)
                self.assertEqual(got, "a\t%d\nb\t%d" % (a, b), op)

    def test_random_columns(self):
        for seed in range(CASES // 3):
            r = random.Random(seed)
            values = [r.choice([None, r.randrange(-9, 9), r.randrange(10**6)])
                      for _ in range(r.choice([1, 100, 60_000]))]
            data = "".join("%s,x\n" % ("" if v is None else v) for v in values).encode()
            there = [v for v in values if v is not None] or [0]
            for name in [self.write("x", data), "-"]:
                skip = ["--null-policy", "skip", "--column", 1, "-j", r.choice(THREADS), name]
                self.assertEqual(self.result("sum", *skip, stdin=data), str(sum(there)))
                if any(v is not None for v in values):
                    self.assertEqual(self.result("argmin", *skip, stdin=data),
                                     str(values.index(min(there))))

    def test_a_product_of_floats_without_nulls_does_not_join(self):
        name = self.write("x", b"2,x\n,x\n3,x\n")
        skip = ["prod", "--column", 1, "--null-policy", "skip", name]
        self.assertEqual(self.result(*skip), "6")
        for option in [["--total"], ["--save", self.path("s")], ["--checkpoint", self.path("c")]]:
            self.refused(2, "a product of floats does not go with " + option[0], *skip, *option)
            self.assertEqual(self.result(*skip, *option, "--dtype", "i64").split()[0], "6")
            self.result("max", *skip[1:], *option)
        self.assertEqual(self.result(*skip, name, "--total", "--dtype", "i32").split()[-2], "36")

    def test_every_command_leaves_out_what_its_column_has_not(self):
        for seed in range(CASES // 2):
            r = random.Random(seed)
            size = r.choice([2, 7, 300, 30_000, 90_000])
            share = r.choice([0.01, 0.5, 0.9])
            columns = [[None if r.random() < share else r.choice([r.randrange(-50, 50), r.randrange(10**6)])
                        for _ in range(size)] for _ in range(2)]
            for c in columns:
                c[r.randrange(size)] = 7
            data = "a,b,z\n" + "".join("%s,%s,x\n" % tuple("NA" if v is None else v for v in row)
                           for row in zip(*columns))
            data = data.encode()
            self.write("x", data)
            there = [sorted(v for v in c if v is not None) for c in columns]
            nulls = [c.count(None) for c in columns]

            def ask(*command, **more):
                name = r.choice([self.path("x"), "-"])
                limit = r.choice([[], [], ["--memory", "96M"]]) if not SANITIZED else []
                found = self.result(*command, "--column", "a,b", "--null", "NA", "--null-policy", "skip",
                                    "-j", r.choice(THREADS) if not limit else 2, *limit, "--json", name,
                                    stdin=data)
                found = [json.loads(line) for line in found.split("\n")]
                self.assertEqual([(o["n"], o["null"]) for o in found],
                                 [(len(t), n) for t, n in zip(there, nulls)], (seed, command))
                return found

            for o, t, c in zip(ask("describe", "--quantiles"), there, columns):
                self.assertEqual((o["min"], o["max"], o["sum"]), (t[0], t[-1], sum(t)))
                self.assertEqual((o["argmin"], o["argmax"]), (c.index(t[0]), c.index(t[-1])))
                places = [place_of("linear", len(t), q) for q in (0.25, 0.5, 0.75)]
                self.assertEqual(o["quantiles"], [value_at(t, place) for place in places], seed)
            self.assertEqual([o["value"] for o in ask("median")], [np.median(t) for t in there])
            self.assertEqual([o["values"] for o in ask("quantile", "-p", "0,90")],
                             [[t[0], value_at(t, place_of("linear", len(t), 0.9))] for t in there])
            self.assertEqual([o["values"] for o in ask("sort")], there)
            self.assertEqual([(o["values"], o["counts"]) for o in ask("unique", "--count")],
                             [tuple(a.tolist() for a in np.unique(t, return_counts=True)) for t in there])
            k = r.choice([1, 5, 1000])
            for o, t, c in zip(ask("top", "-n", k), there, columns):
                best = sorted((i for i, v in enumerate(c) if v is not None), key=lambda i: -c[i])[:k]
                self.assertEqual((o["index"], o["values"]), (best, [c[i] for i in best]), seed)

    def test_pairs_are_left_out_together(self):
        for seed in range(CASES // 2):
            r = random.Random(seed)
            size = r.choice([1, 50, 40_000])
            a, b = ([r.choice([None, r.randrange(-99, 99)]) for _ in range(size)] for _ in range(2))
            for name, column in [("a", a), ("b", b)]:
                self.write(name, "".join("%s,\n" % ("" if v is None else v) for v in column).encode())
            skip = ["--column", 1, "--null-policy", "skip", "--json", "-j", r.choice(THREADS)]
            pairs = [(x, y) for x, y in zip(a, b) if x is not None and y is not None]
            dot = json.loads(self.result("dot", *skip, self.path("a"), self.path("b")))
            self.assertEqual((dot["value"], dot["n"], dot["null"]),
                             (sum(x * y for x, y in pairs), len(pairs), size - len(pairs)))
            hist = json.loads(self.result("hist", *skip, "--range", "-100:100", "--bins", 4, "--weights",
                                          self.path("b"), self.path("a")))
            self.assertEqual((hist["n"], hist["null"]), (len(pairs), size - len(pairs)))
            self.assertEqual(sum(hist["weights"]), sum(y for _, y in pairs))
            plain = json.loads(self.result("hist", *skip, "--bins", 3, self.path("a"))) if any(
                v is not None for v in a) else {"n": 0, "null": size, "counts": []}
            self.assertEqual((plain["n"], plain["null"], sum(plain["counts"])),
                             (size - a.count(None), a.count(None), size - a.count(None)))

    def test_a_total_counts_what_all_files_have_not(self):
        x, y = self.write("x", b"1,\n,\n4,\n"), self.write("y", b",\n,\n2,\n")
        for command, value in [("sum", 7), ("max", 4), ("median", 2), ("sort", None), ("top", None)]:
            more = ["-n", 2] if command == "top" else []
            lines = self.result(command, *more, "--column", 1, "--null-policy", "skip", "--total", "--json",
                                x, y).split("\n")
            total = json.loads(lines[-1])
            self.assertEqual((total["n"], total["null"]), (3, 3), command)
            if value:
                self.assertEqual(total["value"], value)
        self.assertEqual(self.result("top", "-n", 2, "--column", 1, "--null-policy", "skip", "--total", x, y)
                         .split("\n")[-2:], ["4\t2\ttotal", "2\t5\ttotal"])

    def test_commands_that_cannot_leave_rows_out_say_so(self):
        for command in [["count"], ["median", "--axis", 0], ["sort", "--axis", 0]]:
            self.refused(2, "cannot leave rows out", *command, "--column", "1", "--null-policy", "skip",
                         stdin=b"1\n")
        self.refused(2, "has no place", "argsort", "--null-policy", "skip", stdin=b"1\n")


def grouped(digits, mark):
    """The digits with a mark between groups of three."""
    head = len(digits) % 3 or 3
    return mark.join([digits[:head]] + [digits[i:i + 3] for i in range(head, len(digits), 3)])


class AllQuoted(CommandTest):
    """A file whose fields are all quoted holds missing numbers as empty strings."""

    def test_an_empty_string_is_no_value_of_a_column_of_numbers(self):
        r = random.Random(11)
        rows = [(str(r.randrange(40)), "" if r.random() < 0.2 else str(r.randrange(-99, 99)) + r.choice(["", ".5"]))
                for _ in range(3000)]
        data = "".join('"%s","%s"\n' % row for row in [("k", "v"), *rows]).encode()
        path, skip = self.write("q.csv", data), ["--null-policy", "skip"]
        there = [float(v) for _, v in rows if v]
        alone = self.write("v.txt", "".join('"%s"\n' % v for _, v in rows).encode())
        for j in THREADS:
            self.assertEqual(float(self.result("sum", "--column", "v", *skip, "-j", j, path)), sum(there))
            self.assertEqual(float(self.result("sum", *skip, "-j", j, alone)), sum(there))
            self.assertEqual(float(self.result("sum", "-e", "v*2 + 0*k", *skip, "-j", j, path)), 2 * sum(there))
            self.assertEqual(self.result("sum", "-e", "isnull(v) ? 1 : v*0", "-j", j, path), str(len(rows) - len(there)))
        self.assertEqual(self.result("sort", "--column", "v", *skip, path).split(), ["%g" % v for v in sorted(there)])
        want = {k: sum(float(v) for key, v in rows if key == k and v) for k, _ in rows}
        found = self.result("group", "--by", "k", "--sum", "v", *skip, "--tsv", path).split("\n")
        self.assertEqual({k: float(v) for k, v in (line.split("\t") for line in found)}, want)
        found = self.result("count", "--by", "k", "--where", "isnull(v + 0)", "--tsv", path).split("\n")
        self.assertEqual(sum(int(line.split("\t")[1]) for line in found), len(rows) - len(there))
        line = 2 + [v for _, v in rows].index("")
        for where, arguments in [(path, ["sum", "--column", "v"]), (path, ["group", "--by", "k", "--sum", "v"])]:
            error = self.refused(3, "q.csv:%d: " % line, *arguments, where)
            self.assertIn("an empty field, not a number\nhint: --null-policy skip", error)

    def test_as_a_key_and_beside_strings_it_stays_the_empty_string(self):
        path = self.write("q.csv", b'"k","v"\n"1","x"\n"","y"\n,"z"\n')
        found = self.result("count", "--by", "k", "--json", path).split("\n")
        self.assertEqual([json.loads(line)["k"] for line in found], ["", "1", None])
        self.assertEqual(self.result("unique", "--by", "k", path).split("\n"), ['""', "1"])
        self.assertEqual(self.result("sum", "-e", "k == ''", "--null-policy", "skip", path), "1")
        self.assertEqual(self.result("sum", "--column", "k", "--null", "NA", "--null-policy", "skip",
                                     stdin=b'"k","v"\nNA,1\n"2",1\n'), "2")
        self.refused(3, "-:2: column 1 (k): not a number: 'NA'", "sum", "-e", "k", "--null", "NA", "--null-policy", "skip",
                     stdin=b'"k","v"\n"NA",1\n"2",1\n')


class Styles(CommandTest):
    """Separators of thousands, decimal points and currency signs."""

    SIGNS = ["$", "\u00a3", "\u20ac", "\u00a5", "\u20b9", "\u20bf"]

    def written(self, r, value, thousands, point, currency):
        """A number in one of the ways that there are to write it."""
        whole, rest = ("%.3f" % abs(value)).split(".")
        text = grouped(whole, thousands) if thousands and r.random() < 0.7 else whole
        text += point + rest if int(rest) or r.random() < 0.5 else ""
        sign = "-" if value < 0 else r.choice(["", "", "+"])
        mark = r.choice(self.SIGNS) if currency and r.random() < 0.7 else ""
        if value < 0 and currency and r.random() < 0.5:
            sign, text = "", "(%s)" % text
            number = text[1:-1]
            return "(%s)" % r.choice([mark + number, (number + " " + mark).strip()])
        if value < 0 and currency and r.random() < 0.5:
            minus = r.choice(["-", "\u2212"])
            return r.choice([minus + mark + text, mark + text + minus, text + minus + mark,
                             (text + " " + mark).strip() + minus])
        return r.choice([mark + sign + text, sign + mark + text, sign + text + mark,
                         sign + text + " " + mark]).strip()

    def test_random_numbers(self):
        for seed in range(CASES):
            r = random.Random(seed)
            thousands, point = r.choice([(",", "."), (".", ","), (" ", ","), ("'", "."), ("", ","),
                                         ("_", "."), ("", "."), ("\u00a0", ","), ("\u202f", "."), ("\u2019", "."),
                                         ("\U00010000", ",")])
            currency = r.random() < 0.6
            values = [r.randrange(-10**r.randrange(1, 12), 10**12) / r.choice([1, 8])
                      for _ in range(r.choice([1, 20, 5000]))]
            delimiter = r.choice(";\t|,")
            lines = ["n%sx" % delimiter]
            for value in values:
                text = self.written(r, value, thousands, point, currency)
                lines.append((quoted(text) if delimiter in text or r.random() < 0.2 else text) + delimiter)
            data = "\n".join(lines).encode()
            options = ["--delimiter", delimiter]
            options += ["--thousands", thousands] if thousands else []
            options += ["--decimal", point] if point != "." or r.random() < 0.5 else []
            options += ["--currency"] if currency else []
            want = [float(min(values)), float(max(values)), float(sum(map(int, (8 * v for v in values)))) / 8]
            for op, value in zip(["min", "max", "sum"], want):
                got = self.result(op, "--column", "n", "-j", r.choice(THREADS), *options, "--dtype",
                                  "f64", stdin=data)
                self.assertEqual(float(got), value, (seed, op))

    def test_other_groups_and_marks_are_refused(self):
        for text in ["1,23", "1,2345", ",123", "1,234,", "12,34,567", "1234,567", "1,,234", "1,234.5,6",
                     "0,1e5,000", "0,123", "001,234", "-0,123", "00,000", "012,345.5"]:
            for line in text, '"%s"' % text:
                error = self.refused(3, '-:2: not a number: \'%s\'' % text, "sum", "--column", "1", "--delimiter", ";",
                                     "--thousands", ",", stdin=b"1;\n" + line.encode() + b";\n")
                if text[0] != ",":
                    self.assertIn("between two ',' stand three digits, and no zero is the first", error)
        self.assertEqual(self.result("sum", "--column", "1", "--delimiter", ";", "--thousands", ",",
                                     stdin=b"007;\n0;\n0.5;\n100,000;\n"), "100007.5")
        for text in ["$", "$$5", "$5$", "(-5)", "(5", "5)", "5 USD", "\u00a25", "-$-5", "$ ",
                     "-5-", "(5-)", "5--", "5+", "-", "\u2212", "$-", "\u22125-"]:
            self.refused(3, "-:2: ", "sum", "--column", "1", "--delimiter", ";", "--currency",
                         stdin=b"$1;\n" + text.encode() + b";\n")
        self.refused(3, "-:2: not a number: '1.5'", "sum", "--decimal", ",", stdin=b"1,5\n1.5\n")
        for options in [["--thousands", "."], ["--thousands", ",", "--decimal", ","],
                        ["--thousands", "1"], ["--thousands", "\u00a0\u00a0"], ["--thousands", b"\xa0"],
                        ["--thousands", "\u20ac"], ["--thousands", "\u2212"], ["--exponent", "3"],
                        ["--exponent", "x"], ["--exponent", "dd"], ["--decimal", "ab"], ["--thousands", "-"]]:
            self.refused(2, "", "sum", *options, stdin=b"1\n")
        self.refused(2, "belong to text", "sum", "--format", "raw", "--dtype", "f64", "--currency")

    def test_commas_part_thousands_or_fields(self):
        for text, line, arguments in [
            (b"1,234\n2,500\n", 1, []), (b"1,234\n2,500\n", 1, ["--column", "1"]), (b"-10,234,567\r\n", 1, []),
            (b"id,v\n1,2\n\n1,1,234\n", 4, ["--column", "v"]), (b"id,v\n1,1,234\n", 2, ["-e", "id"]),
            (b'id,v\n"1,234",5\n1,234,5\n', 3, ["--column", "1", "--header", "--delimiter", ","]),
        ]:
            for j in (1, 3):
                error = self.refused(3, "-:%d: " % line, "sum", "--thousands", ",", "-j", j, *arguments, stdin=text)
                self.assertIn("in quotes", error)
        for text, value, arguments in [
            (b"1,234\n2,500\n", "3734", ["--delimiter", ";"]), (b"5\n1,234\n", "1239", []),
            (b"v\n1,234\n5\n", "1239", ["--column", "v"]), (b"v\n1,234\n\n5\n", "1239", ["--header", "--null-policy", "skip"]),
            (b'id,v\n1,"1,234"\n2,5\n', "1239", ["--column", "v"]), (b"1,234\n2,500\n", "3", ["--delimiter", ",", "--column", "1"]),
            (b"id,v\n1\n1,5\n", "5", ["--column", "v", "--lax", "--null-policy", "skip"]),
        ]:
            self.assertEqual(self.result("sum", "--thousands", ",", *arguments, stdin=text), value, text)

    def test_an_exponent_of_another_letter(self):
        data = b"x,y\n1.5D+03,1\n-2d-1,1\n3E1,1\n0x1D,1\n4,1\n"
        for j in THREADS:
            self.assertEqual(self.result("sum", "--column", "x", "--exponent", "D", "-j", j, stdin=data), "1562.8")
        self.refused(3, "-:2: not a number: '1.5D+03'", "sum", "--column", "x", stdin=data)
        for text in [b"1D\n", b"D5\n", b"1D2D3\n", b"1D2E3\n", b"1Q5\n"]:
            self.refused(3, "-:1: ", "sum", "--no-header", "--exponent", "D", stdin=text)
        self.assertEqual(self.result("max", "--exponent", "d", "--thousands", ",", "--delimiter", ";",
                                     stdin=b"1,000.5D2\n"), "100050")

    def test_integers_stay_exact_and_headers_names(self):
        data = '"9,223,372,036,854,775,807",\u20ac1\n-1,$2\n'.encode()
        self.assertEqual(self.result("max", "--column", 1, "--thousands", ",", stdin=data), str(2**63 - 1))
        self.assertEqual(self.result("describe", "--column", 2, "--currency", stdin=data).split()[1], "2")


def zstd(data):
    """Compressed by the tool, which may not be there."""
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


CODECS = {"gz": gzip.compress, "xz": functools.partial(lzma.compress, preset=0)}
if shutil.which("zstd"):
    CODECS["zst"] = zstd


class Compressed(CommandTest):
    @classmethod
    def setUpClass(cls):
        r = random.Random(3)
        cls.data = b"a,b\n" + b"".join(b"%d,\"x\ny\"\n" % r.randrange(1000) for _ in range(60_000))

    def setUp(self):
        super().setUp()
        self.want = self.result("sum", "--column", "a", stdin=self.data)

    def test_files_and_pipes(self):
        for name, compress in CODECS.items():
            packed = compress(self.data)
            for j in THREADS:
                for file in [self.write("x." + name, packed), self.write("noname", packed), "-"]:
                    got = self.result("sum", "--column", "a", "-j", j, file, stdin=packed)
                    self.assertEqual(got, self.want, (name, file))
            half = len(self.data) // 2
            two = compress(self.data[:half]) + compress(self.data[half:])
            self.assertEqual(self.result("sum", "--column", "a", stdin=two), self.want, name)
            self.assertEqual(self.result("sum", stdin=compress(b"")), "0")

    def test_what_must_be_read_twice(self):
        late = self.data + b"0.5,x\n"
        commands = [[*command, "--column", "a"] for command in [["median"], ["hist", "--bins", 7]]]
        wanted = [self.result(*command, stdin=late) for command in commands]
        for name, compress in CODECS.items():
            packed = compress(late)
            for memory in [[], ["--memory", "100M"]]:
                for command, want in zip(commands, wanted):
                    self.assertEqual(self.result(*command, *memory, stdin=packed), want, name)

    def test_arrays(self):
        with open(self.save("x.npy", np.arange(10000.0).reshape(100, 100)), "rb") as f:
            data = f.read()
        for compress in CODECS.values():
            self.assertEqual(self.result("sum", stdin=compress(data)), "49995000")
            self.assertEqual(self.result("max", "--axis", 0, self.write("y", compress(data))),
                             self.result("max", "--axis", 0, self.path("x.npy")))

    def test_damaged_data_are_refused(self):
        for name, compress in CODECS.items():
            packed = compress(self.data)
            for bad, what in [(packed[:len(packed) // 2], "the compressed data end too early"),
                              (packed[:-1], "the compressed data end too early"),
                              (packed[:50] + b"damage" * 9 + packed[104:], "")]:
                self.refused(3, what, "sum", "--column", "a", stdin=bad)
                self.refused(3, what, "sum", "--column", "a", self.write("x", bad))

    def test_an_error_names_its_line_of_the_text(self):
        for compress in CODECS.values():
            self.refused(3, "-:120002: not a number: 'oops'", "sum", "--column", "a",
                         stdin=compress(self.data + b"oops,\n"))

    @unittest.skipUnless("zst" in CODECS, "needs zstd")
    def test_a_window_that_is_too_large_is_told(self):
        for log, what in [(28, "it takes a window of more than 128 MiB"), (20, "the compressed data end")]:
            frame = b"\x28\xb5\x2f\xfd" + bytes([0, log - 10 << 3]) + b"\0\0\0"
            self.refused(3, what, "sum", stdin=frame)

    @unittest.skipIf(THREADS_ALONE, "long, and threads meet as in the other tests")
    def test_a_bomb_ends_at_the_longest_line(self):
        for compress in list(CODECS.values())[:1 if SHORT else None]:
            bomb = compress(b"1" * (9 << 20)) * 30
            self.assertLess(len(bomb), 2 << 20)
            self.refused(3, "-:1: a line of more than 256 MiB", "sum", stdin=bomb)
            if not SANITIZED:
                self.refused(3, "-:1: a line longer than --memory allows", "sum", "--memory", "100M",
                             stdin=bomb)

    def test_what_ends_in_the_middle_is_told(self):
        for name, compress in CODECS.items():
            packed = compress(self.data)
            for cut in [len(packed) // 3, len(packed) - 5, len(packed) - 1][:1 if THREADS_ALONE else 3]:
                for file in [self.write("x." + name, packed[:cut]), "-"]:
                    self.refused(3, "the compressed data end too early", "sum", "--column", "a", file,
                                 stdin=packed[:cut])
            two = packed + compress(self.data[4:])[:-20]
            self.refused(3, "the compressed data end too early", "sum", "--column", "a", stdin=two)

    @unittest.skipIf(SANITIZED, "a sanitizer takes memory of its own")
    def test_a_decompressor_takes_its_share_of_memory(self):
        wide = lzma.compress(self.data, preset=9 | lzma.PRESET_EXTREME)
        self.assertEqual(self.result("sum", "--column", "a", stdin=wide), self.want)
        packed = {"xz": wide}
        if "zst" in CODECS:
            window = ["zstd", "-q", "-c", "--long=26", "-1"]
            more = self.data + self.data[4:] * 200
            packed["zst"] = subprocess.run(window, input=more, capture_output=True).stdout
        for name, data in packed.items():
            self.refused(3, "to decompress it takes more than its share of --memory", "sum", "--column", "a",
                         "--memory", "100M", "-j2", stdin=data)

    def test_a_missing_library_is_named_with_its_package(self):
        names = {"gz": ("libz.so.1", "zlib1g"), "xz": ("liblzma.so.5", "liblzma5"),
                 "zst": ("libzstd.so.1", "libzstd1")}
        for name, compress in CODECS.items():
            library, package = names[name]
            self.write(library, b"")
            done = run("sum", stdin=compress(b"1"), env={"LD_LIBRARY_PATH": self.path("")})
            self.assertEqual(done.returncode, 1)
            self.assertIn(library + " is not on this machine", done.stderr.decode())
            self.assertIn(package, done.stderr.decode())


class OneColumn(CommandTest):
    """Tables of one column, in which an empty line is a row without a value."""

    def names(self, r):
        return r.choice(["v", "unit price", "a;b", "a|b", "a,b", 'say "x"'])

    def write(self, name, lines, last="\n"):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write("\n".join(lines).encode() + last.encode())
        return path

    def test_what_is_written_is_read_as_it_was(self):
        for seed in range(CASES):
            r = random.Random(seed)
            name = self.names(r)
            words = [r.choice([None, None, "", "Paris", "New York", "7", "a,b", "x\ny", "it's", " "])
                     for _ in range(r.choice([0, 1, 9, 500]))]
            rows = ["%d,%s" % (i, "" if w is None else quoted(w)) for i, w in enumerate(words)]
            table = self.write("t.csv", ["n," + quoted(name)] + rows)
            keys = self.write("k.csv", ["n"] + [str(i) for i in range(len(words))])
            one = self.path("one.csv")
            self.result("join", table, keys, "--on", "n", "--take", "`%s`" % name.replace("`", "``")
                        if "," in name else name, "--csv", "-o", one)
            with open(one, newline="") as file:
                text = file.read()
            lines = [quoted(name) if any(c in name for c in ' ;|,"') else name]
            for word in words:
                plain = word and word != " " and not any(c in word for c in ',"\n')
                lines.append("" if word is None else word if plain else quoted(word))
            self.assertEqual(text, "\n".join(lines) + "\n", seed)
            want = collections.Counter(words)
            for j in r.sample(THREADS, 2):
                lines = self.result("count", "--by", "1", "--header", "--json", "-j", j, one).splitlines()
                got = {}
                for key, n in (json.loads(line).values() for line in lines):
                    got[key if key is None else str(key)] = n
                self.assertEqual(got, want, seed)

    def test_empty_lines_are_refused_as_rows(self):
        for text, line in ((b"v\n1\n\n2\n", 3), (b"v\r\n1\r\n\r\n\r\n", 3), (b"v\n1\n2\n\n", 4)):
            self.refused(3, "-:%d: an empty line: in a table of one column, a row without a value" % line,
                         "sum", "--header", stdin=text)
        self.refused(3, "-:2: an empty field", "sum", "--header", stdin=b'v\n""\n')

    def test_numbers(self):
        for seed in range(CASES // 2):
            r = random.Random(seed)
            numbers = [r.choice([None, 1, 20, 300]) for _ in range(r.choice([1, 7, 200_000]))]
            end = r.choice(["\n", "\r\n"])
            text = end.join(["v"] + ["" if x is None else str(x) for x in numbers]) + end
            there = [x for x in numbers if x is not None]
            for options in (["--header"], ["--column", "v"], ["--column", "1", "--header"], ["-e", "v*1"]):
                j = r.choice(THREADS)
                done = run("sum", "--null-policy", "skip", "--json", "-j", j, *options, stdin=text.encode())
                got = json.loads(done.stdout)
                self.assertEqual((got["value"], got["n"]), (sum(there), len(there)), options)
                if len(there) < len(numbers):
                    why = "-:%d: " % (2 + numbers.index(None))
                    self.refused(3, why, "sum", "-j", j, *options, stdin=text.encode())

    def test_blank_lines_of_other_texts_are_no_rows(self):
        self.assertEqual(self.result("sum", stdin=b"\n1\n\n2\n\n"), "3")
        self.assertEqual(self.result("sum", "--column", "b", stdin=b"\na,b\n\n1,2\n\n"), "2")
        self.assertEqual(self.result("count", "--by", "b", stdin=b"a b\n\n1 2\n\n"), "2\t1")
        self.assertEqual(self.result("sum", "--header", "--delimiter", " ", stdin=b"v\n1\n\n2\n"), "3")
