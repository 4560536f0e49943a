"""CSV as RFC 4180 has it and as it is in the world: against Python's csv module."""
import csv
import io
import os
import random
import unittest

from command import CommandTest

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 6
THREADS = [1, 2, 3, 8]
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


class Tables(CommandTest):
    def inputs(self, data):
        """The same bytes as a file and as a pipe."""
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
            self.assertEqual(self.result("sum", "--column", "a", "-j", j, self.path("x")), "3")

    def test_blanks_part_fields_of_one_line(self):
        self.refused(3, "-:1: a quoted field", "sum", "--column", 2, "--delimiter", " ",
                     stdin=b'1 "2\n3" 4\n')


if __name__ == "__main__":
    unittest.main()
