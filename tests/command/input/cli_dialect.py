"""Texts as they are in the world: UTF-16 and Latin-1, CR, comments, lines before them, escapes, `sep=C`."""
import gzip
import json
import os
import random
import subprocess

from command import SHORT, THREADS_ALONE, CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (12 if SHORT else 3)
THREADS = [2, 8] if THREADS_ALONE else [1, 2, 3, 8]
SHOW_ROWS = os.environ.get("BITFOLD_SHOW_ROWS", "show_rows")
ENCODINGS = ["auto", "utf-8", "utf-16", "latin-1"]
WORDS = ["", "a", "Tokyo", "New York", "Lagos, NG", 'say "no"', '"', '""', "two\nlines", "\n", "\n\n,", "x\r\ny",
         "\r", ",\"\n", ";", "|", "\t", "5\"", "\u00e9t\u00e9", "\u00ff", "# none", "#", "\\", "\\\\", "C:\\new",
         "\\N", "\n# 1,2\n", "sep=;", " a", "b "]
WIDE = ["\u20ac", "\u4e2d\u6587", "\U0001f600", "\ufeff"]
LETTERS = {"\b": "b", "\n": "n", "\r": "r", "\t": "t", "\x1a": "Z"}


class Dialect:
    """A way to write a table."""

    def __init__(self, r):
        self.r = r
        self.end = r.choice(["\n", "\r\n", "\r"])
        self.delimiter = r.choice(",;\t|")
        self.escape = r.choice(["", "", "\\", "^"])
        self.comment = r.choice(["", "#", "%"])
        self.skip = r.choice([0, 0, 1, 3])
        self.separator = r.random() < 0.3
        self.encoding = r.choice(ENCODINGS)
        self.mark = self.encoding == "auto" or r.random() < 0.5

    def codec(self):
        """Python's name of the encoding, and the byte order mark."""
        order = self.r.choice(["utf-16-le", "utf-16-be"])
        if self.encoding == "utf-16" or (self.encoding == "auto" and self.r.random() < 0.5):
            return order, "\ufeff" if self.mark else ""
        name = "latin-1" if self.encoding == "latin-1" else "utf-8"
        return name, "\ufeff" if name == "utf-8" and self.mark else ""

    def quoted(self, word):
        if not self.escape:
            return '"%s"' % word.replace('"', '""')
        quote = self.r.choice([self.escape + '"', '""'])
        return '"%s"' % "".join(self.escape + c if c == self.escape else quote if c == '"' else self.letter(c)
                                for c in word)

    def letter(self, c):
        """What may stand for a control character where a backslash escapes."""
        known = self.escape == "\\" and c in LETTERS and self.r.random() < 0.3
        return self.escape + LETTERS[c] if known else c

    def escaped(self, word):
        """The word without quotes around it, in which all that has a meaning is escaped."""
        special = '"\r\n' + self.delimiter + self.escape + self.comment
        return "".join(self.escape + c if c in special else self.letter(c) for c in word)

    def field(self, word, null):
        if null:
            return self.r.choice(["", self.escape + "N"]) if self.escape else ""
        special = any(c in word for c in '"\r\n' + self.delimiter + self.escape + self.comment)
        if word == "" or word.strip() != word or (special and not self.escape) or self.r.random() < 0.2:
            return self.quoted(word)
        return self.escaped(word) if self.escape else word

    def line(self, row):
        return self.delimiter.join(self.field(w or "", w is None) for w in row)

    def note(self):
        junk = "".join(self.r.choice(["x", '"', self.delimiter, "'", " ", "1", self.escape]) for _ in range(self.r.choice([0, 5, 40])))
        return self.r.choice(["", " ", "  "]) + self.comment + junk

    def text(self, rows):
        """The bytes of a table, and the lines of its rows."""
        codec, mark = self.codec()
        lines = [self.r.choice(["Report", '"', "", "a,b;c"]) for _ in range(self.skip)]
        lines += ["sep=" + self.delimiter] * self.separator
        notes = self.r.choice([0, 0.01, 0.5]) if self.comment else 0
        lines += [self.note() for _ in range(3) if self.r.random() < notes]
        lines.append(self.delimiter.join(["n", "w", "v"]))
        text, count, where = self.end.join(lines), len(lines), []
        for row in rows:
            while self.r.random() < notes:
                text, count = text + self.end + self.note(), count + 1
            text += self.end if self.r.random() > 0.02 else 2 * self.end
            line = self.line(row)
            where.append(text.count(self.end[-1]) + 1 if len(rows) < 100 else None)
            text += line
        return (mark + text + self.r.choice(["", self.end])).encode(codec), where

    def options(self):
        options = ["--skip-lines", self.skip] if self.skip else []
        options += ["--comment", self.comment] if self.comment else []
        options += ["--escape", self.escape, "--null", "\\N" if self.escape == "\\" else "^N"] if self.escape else []
        options += ["--delimiter", self.delimiter] if self.separator is False and self.r.random() < 0.5 else []
        return options + (["--encoding", self.encoding] if self.encoding != "auto" else [])

    def reads(self):
        """Gives the options for show_rows."""
        given = self.options()
        pairs = list(zip(given[::2], given[1::2]))
        values = {"--encoding": lambda v: ENCODINGS.index(v)}
        return ["%s=%s" % (o.strip("-").replace("null", "nulls"), values.get(o, str)(v)) for o, v in pairs]

    def rows(self, size):
        rows, n = [], 0
        words = WORDS + (WIDE if self.encoding in ["auto", "utf-8", "utf-16"] else [])
        share = self.r.choice([0.02, 0.3, 1])
        while n < size:
            word = self.r.choice(words) if self.r.random() < share else "w%d" % self.r.randrange(20)
            if self.r.random() < 0.0005:
                word = "".join(self.r.choices(["abc", "\n", "\r", self.delimiter, '"', "0\n"], k=50_000))
            if self.r.random() < 0.05:
                word = None
            rows.append([str(self.r.randrange(-1000, 1000)), word, str(len(rows))])
            n += len(word or "") + 12
        return rows


class Dialects(CommandTest):
    def show(self, data, *options, pipe=False, j=1, most=0):
        arguments = [SHOW_ROWS, "-" if pipe else self.write("x", data), j, 0, most, *options]
        done = subprocess.run(list(map(str, arguments)), input=data if pipe else b"", capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().split("\n")[:-1]
        return lines[len(lines) - lines[::-1].index("again"):] if "again" in lines else lines

    def test_random_tables_are_those_that_were_written(self):
        for seed in range(CASES):
            r = random.Random(seed)
            dialect = Dialect(r)
            rows = dialect.rows(r.choice([0, 30, 1000, 30_000, 600_000 if seed % 8 == 0 else 100]))
            data, _ = dialect.text(rows)
            want = [" ".join("NULL" if w is None else "=" + w.encode().hex() for w in row) for row in rows]
            for _ in range(2):
                how = {"pipe": r.random() < 0.5, "j": r.choice(THREADS), "most": r.choice([0, 7, 999])}
                packed = gzip.compress(data, 1) if r.random() < 0.3 else data
                got = self.show(packed, "strings=n,w,v", "settled=1", *dialect.reads(), **how)
                self.assertEqual(got, want, (seed, how))

    def test_commands_read_them(self):
        for seed in range(CASES // 2):
            r = random.Random(1000 + seed)
            dialect = Dialect(r)
            rows = [[str(i % 7), "k%d" % (i % 3), str(i)] for i in range(r.choice([1, 30, 3000]))]
            data, _ = dialect.text(rows)
            name, options = self.write("x.csv", data), dialect.options()
            j = ["-j", r.choice(THREADS)]
            sums, counts = {}, {}
            for n, w, v in rows:
                sums[w] = sums.get(w, 0) + int(v)
                counts[n] = counts.get(n, 0) + 1
            want = "\n".join("%s\t%d" % x for x in sorted(sums.items()))
            self.assertEqual(self.result("group", "--by", "w", "--sum", "v", *options, *j, name), want, seed)
            memory = ["--memory", "%dM" % (least_memory() + 8)] if seed % 10 == 0 and not THREADS_ALONE else []
            self.assertEqual(self.result("sum", "--column", "v", *options, *memory, "-j2", "-", stdin=data),
                             str(sum(sums.values())), seed)
            got = self.result("count", "--by", "n", "--sort", "key", *options, name, *j)
            self.assertEqual(got, "\n".join("%s\t%d" % x for x in sorted(counts.items())), seed)
            got = self.result("join", "--on", "v", "--take", "a.w,b.n", *options, name, name, *j)
            self.assertEqual(sorted(got.split("\n")), sorted("%s\t%s" % (w, n) for n, w, _ in rows), seed)
            got = self.result("sum", "--column", "v", "--total", *options, name, name, *j).split("\n")
            self.assertEqual(got[-1].split("\t")[0], str(2 * sum(sums.values())), seed)
            infer = self.result("describe", "--infer", "--json", *options, name, *j)
            self.assertEqual([json.loads(x)["column"] for x in infer.split("\n")], ["n", "w", "v"], seed)

    def test_errors_name_the_line_of_the_file(self):
        for seed in range(CASES):
            r = random.Random(2000 + seed)
            dialect = Dialect(r)
            rows = dialect.rows(500)[:60]
            bad = r.randrange(len(rows))
            rows[bad] = ["1", "here", "1x"]
            data, where = dialect.text(rows)
            name = self.write("x.csv", data)
            for file, stdin in [(name, b""), ("-", data)]:
                self.refused(3, "%s:%d: not a number: '1x'" % (file, where[bad]), "sum", "--column", "v",
                             *dialect.options(), "-j", r.choice(THREADS), file, stdin=stdin)
            infer = self.result("describe", "--infer", "--json", *dialect.options(), name).split("\n")
            self.assertEqual(json.loads(infer[2])["line"], where[bad], seed)

    def test_the_first_line_may_name_the_delimiter(self):
        for data in [b"sep=;\nitem;qty\npen;3", b"\xef\xbb\xbfsep=;\r\nitem;qty\r\npen;3\r\n",
                     b"sep=^\nitem^qty\npen^3\n", b"sep=;\ritem;qty\rpen;3\r"]:
            self.assertEqual(self.result("sum", "--column", "qty", stdin=data), "3")
            self.assertEqual(self.result("describe", "--infer", stdin=data).split("\n")[1].split("\t")[1], "qty")
        self.assertEqual(self.result("sum", "--column", "b", "--delimiter", ",", stdin=b"sep=;\na,b\n1,2\n"), "2")
        self.assertEqual(self.result("count", "--by", "sep=x", stdin=b"sep=x\n1\n"), "1\t1")
        self.assertEqual(self.result("sum", stdin=b"sep=;"), "0")

    def test_what_is_before_the_text(self):
        for data, options in [(b"# note\na,b\n1,2", ["--comment", "#"]), (b"Report\n\na,b\n1,2", ["--skip-lines", 2]),
                              (b"Report\n# x\na,b\n1,2", ["--skip-lines", 1, "--comment", "#"]),
                              (b"\"a\n# x\na,b\n1,2", ["--skip-lines", 2])]:
            self.assertEqual(self.result("sum", "--column", "b", *options, stdin=data), "2")
        self.refused(3, "-: --skip-lines 3: it has 2 lines", "sum", "--skip-lines", 3, stdin=b"1\n2\n")
        self.assertEqual(self.result("sum", "--skip-lines", 2, stdin=b"1\n2\n"), "0")

    def test_empty_lines_of_one_column_are_rows_and_comments_are_none(self):
        data = b"a\n# c\n1\n\n# d\n\r\n2\n"
        for j in THREADS:
            got = json.loads(self.result("sum", "--column", "a", "--comment", "#", "--null-policy", "skip", "--json",
                                         "-j", j, stdin=data))
            self.assertEqual((got["value"], got["null"]), (3, 2))
        self.assertEqual(self.result("count", "--by", "a", "--comment", "#", "--sort", "key", stdin=data), "1\t1\n2\t1\n\t2")
        self.refused(3, "-:4: an empty line", "sum", "--column", "a", "--comment", "#", stdin=data)

    def test_line_ends_are_of_one_kind(self):
        self.assertEqual(self.result("sum", "--column", "b", stdin=b"a,b\r1,2\r3,4\r"), "6")
        self.assertEqual(self.result("sum", stdin=b"1\r2\r\r3"), "6")
        self.assertEqual(self.result("sum", "--column", "b", stdin=b"%s,b\r1,2\r" % (b"a" * 100_000)), "2")
        self.refused(3, "-:3: lines end with CR alone before it", "sum", "--column", "b", stdin=b"a,b\r1,2\r3,4\n5,6\r")
        self.refused(3, "-:2: lines end", "sum", "--column", "b", stdin=b"a,b\r1,2\n3,4\n")
        lines = b'{"a":1}\r{"a":2}\r'
        self.assertEqual(self.result("sum", "--format", "jsonl", "--column", "a", stdin=lines), "3")
        self.assertEqual(self.result("sum", "--format", "jsonl", "--column", "a", stdin=b'{"a":\r1}\r\n{"a":2\r}\n'), "3")

    def test_json_lines(self):
        lines = b'Report\r{"a":1}\r# {"a":5}\r{"a":"x"}\r'
        options = ["--format", "jsonl", "--skip-lines", 1, "--comment", "#", "--column", "a"]
        self.assertEqual(self.result("sum", *options, stdin=lines.replace(b'"x"', b"2")), "3")
        self.refused(3, "-:4: ", "sum", *options, stdin=lines)
        self.refused(3, "-:1: ", "sum", "--format", "jsonl", "--column", "a", stdin=b'# x\n{"a":1}\n')

    def test_utf_16(self):
        for codec in ["utf-16-le", "utf-16-be"]:
            for text in ["a,b\n1,2\n3,4\n", "\U0001f600,b\r\n\u4e2d,6"]:
                for mark, options in [("\ufeff", []), ("\ufeff", ["--encoding", "utf-16"]), ("", ["--encoding", "utf-16"])]:
                    data = (mark + text).encode(codec)
                    self.assertEqual(self.result("sum", "--column", "b", *options, self.write("x", data)), "6")
            lines = '\ufeff{"a":"\u20ac","b":2}\n'.encode(codec)
            self.assertEqual(self.result("sum", "--column", "b", self.write("x.jsonl", lines)), "2")
            half = "\ufeff1\n\n".encode(codec) + {"utf-16-le": b"\x00\xdc", "utf-16-be": b"\xdc\x00"}[codec]
            for rest in [b"", b"1\n", b"1"]:
                self.refused(3, "-:3: no text in UTF-16: half a character", "sum", stdin=half + rest)
            self.refused(3, "-:1: a NUL byte", "sum", "--encoding", "utf-8", stdin="1\n".encode(codec))
        self.assertEqual(self.result("count", "--by", "a", "--encoding", "latin-1", stdin=b"a\n\xe9\n"), "\u00e9\t1")

    def test_escapes_of_mysql(self):
        data = b'a,b\n1,"say \\"hi\\""\n2,\\N\n'
        self.assertEqual(self.result("count", "--by", "b", "--escape", "\\", "--null", "\\N", stdin=data),
                         '"say ""hi"""\t1\n\t1')
        self.refused(3, "-:2: ", "count", "--by", "b", stdin=data)
        self.refused(3, "-:2: nothing stands behind", "count", "--by", "b", "--escape", "\\", stdin=b"a,b\n1,x\\")
        self.refused(3, "-:2: ", "count", "--by", "b", "--escape", "\\", stdin=b'a,b\n1,"x"\\,y\n')

    def test_what_cannot_be(self):
        for options in [["--escape", ",", "--delimiter", ","], ["--comment", "#", "--escape", "#"], ["--comment", "x"],
                        ["--comment", "##"], ["--escape", '"'], ["--encoding", "ascii"], ["--skip-lines", "-1"],
                        ["--format", "raw", "--dtype", "i8", "--comment", "#"]]:
            self.refused(2, "", "sum", *options, stdin=b"1\n")
        self.refused(2, "--escape is not for JSON lines", "sum", "--format", "jsonl", "--escape", "\\", stdin=b'{"a":1}\n')
        text = self.write("x", "\ufeff1\n".encode("utf-16-le"))
        self.refused(2, "or text that is decoded", "sum", "--checkpoint", self.path("c"), text)
