"""sort --by and top --by: whole rows, against Python's sorted.
Builds: release, asan (full), tsan (full)."""
import csv
import io
import json
import os
import random
from fractions import Fraction

from command import SANITIZED, CommandTest, run

CASES = max(1, int(os.environ.get("BITFOLD_CASES", "240")) // (24 if SANITIZED else 4))
WORDS = ["Lagos", "Tok", "Tokyo", "Tokyo2", " a b ", "a,b", 'say "no"', '"', "two\nlines", "été", "\x01", "\x01\x01",
         "a" * 40, "a" * 40 + "b", "\xff", "\x02", "no;w", "x\ty", "12"]  # fmt: skip
FLOATS = ["0.5", "-0", "0", "nan", "inf", "-inf", "1e3", "1000", "2", "-7.25", "1e-320", "0.1"]


def field_of(r, kind):
    """A field, and its text in a file; an empty one is NULL."""
    if r.random() < 0.1:
        return "", ""
    if kind == "word":
        word = r.choice(WORDS)
        quoted = r.random() < 0.2 or set(word) & set(',";\t\n') or word != word.strip()
        return word, '"%s"' % word.replace('"', '""') if quoted else word
    text = {"few": lambda: str(r.randrange(-3, 4)),
            "int": lambda: str(r.randrange(-10**r.randrange(1, 19), 10**r.randrange(1, 19))),
            "wide": lambda: str(r.randrange(-10**30, 10**30)),
            "unsigned": lambda: str(r.randrange(2**63, 2**64)),
            "decimal": lambda: "%d.%0*d" % (r.randrange(-99, 100), r.randrange(1, 4), r.randrange(10)),
            "float": lambda: r.choice(FLOATS)}[kind]()  # fmt: skip
    return text, text


def rank_of(column):
    """What a column is ordered by: numbers if all fields are, else bytes."""
    there = [x for x in column if x != ""]
    try:
        numbers = [float(x) for x in there]
    except ValueError:
        return lambda x: x.encode()
    if any(x != x or abs(x) == float("inf") or 0 < abs(x) < 1e-300 for x in numbers):
        return lambda x: (float(x) != float(x), float(x), not x.startswith("-")) if x != "nan" else (True, 0, True)
    return Fraction


def order(rows, keys):
    """rows: lists of fields. The order of rows by columns, of which some are descending; NULL is last."""
    at = list(range(len(rows)))
    for column, descending in reversed(keys):
        rank = rank_of([row[column] for row in rows])
        there = sorted((i for i in at if rows[i][column] != ""), key=lambda i: rank(rows[i][column]))
        if descending:  # equal ones stay in their order
            there = sorted((i for i in at[::-1] if rows[i][column] != ""), key=lambda i: rank(rows[i][column]))[::-1]
        at = there + [i for i in at if rows[i][column] == ""]
    return at


class Whole(CommandTest):
    def rows(self, *arguments, stdin=b""):
        done = run(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout

    def case(self, seed):
        r = random.Random(seed)
        kinds = [r.choice(["few", "few", "word", "int", "wide", "unsigned", "decimal", "float"])
                 for _ in range(r.randrange(2, 6))]
        mark, end = r.choice([",", ",", ";", "\t"]), r.choice(["\n", "\n", "\r\n"])
        fields = [[field_of(r, kind) for kind in kinds] for _ in range(r.choice([0, 1, 3, 30, 300]))]
        names = ["c%d" % i for i in range(len(kinds))]
        lines = [mark.join(text for _, text in row) + end for row in fields]
        cut = sorted(r.randrange(len(lines) + 1) for _ in range(r.randrange(3)))
        parts = [lines[a:b] for a, b in zip([0] + cut, cut + [len(lines)])]
        head = mark.join(names) + end
        files = [self.write("%d.txt" % i, (head + r.choice(["", end]) + "".join(part)).encode())
                 for i, part in enumerate(parts)]
        keys = [(r.randrange(len(kinds)), r.random() < 0.5) for _ in range(r.randrange(1, 4))]
        by = ",".join("-" * down + r.choice([names[c], str(c + 1), "`%s`" % names[c]]) for c, down in keys)
        return r, [[x for x, _ in row] for row in fields], lines, head, files, keys, names, by, mark

    def test_random_tables(self):
        for seed in range(CASES):
            r, rows, lines, head, files, keys, names, by, mark = self.case(seed)
            want = order(rows, keys)
            how = ["-j%d" % r.randrange(1, 5), "--header", "--delimiter", mark]
            expected = head + "".join(lines[i] for i in want)
            with self.subTest(seed=seed, by=by):
                self.assertEqual(self.rows("sort", "--by", by, *how, *files), expected.encode())
                most = r.randrange(1, 9)
                first = (head + "".join(lines[i] for i in want[:most])).encode()
                self.assertEqual(self.rows("sort", "--by", by, "-n", most, *how, *files), first)
                self.assertEqual(self.rows("top", "--least", "--by", by, "-n", most, *how, *files), first)
                turned = order(rows, [(c, not down) for c, down in keys])[:most]
                self.assertEqual(self.rows("top", "--by", by, "-n", most, *how, *files),
                                 (head + "".join(lines[i] for i in turned)).encode())
                if len(files) == 1:
                    with open(files[0], "rb") as f:
                        self.assertEqual(self.rows("sort", "--by", by, *how, stdin=f.read()), expected.encode())
                self.check_take(r, rows, want, files, names, by, how)
                self.check_where(rows, lines, head, files, keys, names, by, how)

    def check_take(self, r, rows, want, files, names, by, how):
        items, take = [], []
        for _ in range(r.randrange(1, 4)):
            c = r.randrange(len(names))
            item, columns = r.choice([(names[c], [c]), (str(c + 1), [c]), ("c[%d]" % c, [c]), ("c?", range(len(names))),
                                      ("%d-" % (c + 1), range(c, len(names))), ("1-%d" % (c + 1), range(c + 1))])
            items.append(item)
            take += columns
        found = self.rows("sort", "--by", by, "--csv", "--take", ",".join(items), *how, *files)
        table = [row or [""] for row in csv.reader(io.StringIO(found.decode(), newline=""))]
        self.assertEqual(table, [[names[c] for c in take]] + [[rows[i][c] for c in take] for i in want])

    def check_where(self, rows, lines, head, files, keys, names, by, how):
        """A condition on another column leaves the order as it is."""
        column = next((c for c in range(len(names)) if rows and all(
            row[c] == "" or row[c].lstrip("-").isdecimal() for row in rows)), None)
        if column is None or any(abs(int(row[column] or 0)) >= 2**63 for row in rows):
            return
        kept = [i for i, row in enumerate(rows) if row[column] != "" and int(row[column]) > 0]
        # What a column is, all of its rows tell: those that are left out, too.
        place = {at: i for i, at in enumerate(order(rows, keys))}
        expected = head + "".join(lines[i] for i in sorted(kept, key=place.get))
        found = self.rows("sort", "--by", by, "--where", "%s > 0" % names[column], *how, *files)
        self.assertEqual(found, expected.encode(), names[column])

    def test_a_range_or_pattern_of_take_that_means_nothing_is_refused(self):
        text = b"k,a-b,v*\n1,2,3\n"
        for take, shown in [("a-b", "2"), ("v*", "3"), ("`v*`,k", "3,1"), ("2-,1", "2,3,1")]:
            got = self.rows("sort", "--by", "k", "--csv", "--take", take, stdin=text).decode()
            self.assertEqual(got.split("\n")[1], shown, take)
        for take in ["z*", "4-", "2-4", "`2-3`"]:
            for command in [["sort", "--by", "k"], ["top", "-n", 1, "--by", "k"], ["sample", "-n", 1], ["shuffle"]]:
                self.refused(3, "--take: ", *command, "--header", "--take", take, stdin=text)

    def test_without_header(self):
        text = b"3,c\n1,b\n\n2,a"
        self.assertEqual(self.rows("sort", "--by", "1", stdin=text), b"1,b\n2,a\n3,c\n")
        self.assertEqual(self.rows("sort", "--by", "-2", "--no-header", stdin=text), b"3,c\n1,b\n2,a\n")
        self.assertEqual(self.rows("sort", "--by", "1", "--csv", stdin=text), b"1,2\n1,b\n2,a\n3,c\n")
        self.assertEqual(self.rows("sort", "--by", "1", stdin=b"3\n1\n2\n"), b"1\n2\n3\n")

    def test_blanks_part_fields(self):
        text = b"b  a\n  2 x\n1   y\n"
        self.assertEqual(self.rows("sort", "--by", "b", "--header", "--delimiter", " ", stdin=text), b"b  a\n1   y\n  2 x\n")

    def test_numbers(self):
        """-inf to inf, -0 before 0, NaN last; descending is the reverse, and equal rows stay."""
        x = ["nan", "0", "inf", "-0", "0", "", "-inf", "0.1", "nan", "1e-320"]
        rows = ["%s,%d\n" % (v, i) for i, v in enumerate(x)]
        text = ("x,i\n" + "".join(rows)).encode()

        def found(*more):
            return [int(line.split(",")[1]) for line in self.rows("sort", *more, stdin=text).decode().split("\n")[1:-1]]

        self.assertEqual(found("--by", "x"), [6, 3, 1, 4, 9, 7, 2, 0, 8, 5])
        self.assertEqual(found("--by", "-x"), [0, 8, 2, 7, 9, 1, 4, 3, 6, 5])
        self.assertEqual(found("--by", "x", "--text", "x"), [3, 6, 1, 4, 7, 9, 2, 0, 8, 5])

    def test_json_lines(self):
        values = [3, "b", None, 2.5, True, "a", -1, False, "", 10**20, "b"]
        rows = ['{"x": %s, "i":%d}' % (json.dumps(v), i) for i, v in enumerate(values)] + ['  {"i":11}']

        def found(lines, *more):
            out = self.rows("sort", "--format", "jsonl", *more, stdin="\n".join(lines).encode()).decode()
            self.assertEqual(sorted(out.split("\n")[:-1]), sorted(lines))
            return [json.loads(line)["i"] for line in out.split("\n")[:-1]]

        self.assertEqual(found(rows, "--by", "x"), [8, 5, 1, 10, 7, 4, 6, 3, 0, 9, 2, 11])
        self.assertEqual(found(rows, "--by", "-x"), [9, 0, 3, 6, 4, 7, 1, 10, 5, 8, 2, 11])
        numbers = [rows[i] for i in (0, 2, 3, 6, 9, 11)]
        self.assertEqual(found(numbers, "--by", "x"), [6, 3, 0, 9, 2, 11])
        shown = self.rows("sort", "--format", "jsonl", "--by", "-i", "--take", "i,x", "--jsonl",
                          stdin="\n".join(rows[:5]).encode())
        self.assertEqual([json.loads(line) for line in shown.decode().split("\n")[:-1]],
                         [{"i": i, "x": values[i]} for i in range(4, -1, -1)])

    def test_columns_must_agree(self):
        a = self.write("a.csv", b"x,y\n2,a\n")
        for text in [b"x,z\n1,a\n", b"y,x\na,1\n", b"x,y,z\n1,a,b\n", b"x;y\n1;a\n", b"1,a\n"]:
            done = run("sort", "--by", "x", a, self.write("b.csv", text))
            self.assertEqual((done.returncode in (2, 3), done.stdout), (True, b"x,y\n" if done.stdout else b""), text)
        quoted = self.write("b.csv", b'\n"x",  "y"\n1,"b"\n')
        self.assertEqual(self.rows("sort", "--by", "x", a, quoted), b'x,y\n1,"b"\n2,a\n')

    def test_forms_of_files(self):
        """Rows stay as they stand in a file of their own form, unless an option asks for it."""
        text = b'x,y\n2,"a"\n1,b\n'
        for name, more, want in [("a.csv", [], b'x,y\n1,b\n2,"a"\n'), ("a.csv", ["--csv"], b"x,y\n1,b\n2,a\n"),
                                 ("a.tsv", [], b"x\ty\n1\tb\n2\ta\n"), ("a.txt", [], b'x,y\n1,b\n2,"a"\n'),
                                 ("a.jsonl", [], b'{"x":"1","y":"b"}\n{"x":"2","y":"a"}\n')]:  # fmt: skip
            self.assertEqual(self.rows("sort", "--by", "x", "-o", self.path(name), *more, stdin=text), b"")
            with open(self.path(name), "rb") as f:
                self.assertEqual(f.read(), want, (name, more))

    def test_dialects(self):
        text = "# no\nx,y\n2,é\n# no\n1,ü\n"
        want = "x,y\n1,ü\n2,é\n".encode()
        self.assertEqual(self.rows("sort", "--by", "x", "--comment", "#", stdin=text.encode()), want)
        self.assertEqual(self.rows("sort", "--by", "x", "--comment", "#", stdin=text.encode("utf-16")), want)
        self.assertEqual(self.rows("sort", "--by", "y", "--skip-lines", 1, "--comment", "#", "--encoding", "latin-1",
                                   stdin=text.encode("latin-1")), "x,y\n2,é\n1,ü\n".encode())

    def test_nothing(self):
        self.assertEqual(run("sort", "--by", "x", stdin=b"").stdout, b"")
        self.assertEqual(self.rows("sort", "--by", "x", stdin=b"x,y\n"), b"x,y\n")
        self.assertEqual(self.rows("sort", "--by", "x", "--csv", stdin=b"x,y\n"), b"x,y\n")

    def test_refusals(self):
        a = self.write("a.csv", b"x,y\n2,a\n")
        for more in [["--by", "z"], ["--by", "x", "--take", "z"], ["--by", ""], ["--by", "x", "--descending"],
                     ["--by", "x", "--axis", "0"], ["--by", "x", "--column", "y"], ["--take", "x"], ["--where", "x > 1"],
                     ["--by", "x", "-o", "a.npy"], ["--by", "x", "--where", "x >"], ["-n", "2"]]:  # fmt: skip
            done = run("sort", *more, a)
            self.assertNotEqual(done.returncode, 0, more)
        self.assertEqual(run("top", "--by", "x", a).returncode, 2)

    def test_bad_rows(self):
        """A row that is wrong is refused by its line, and nothing is written to a file."""
        text = b"x,y\n1,a\n2,b,c\n"
        done = run("sort", "--by", "x", "-o", self.path("o.csv"), stdin=text)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b":3: 3 fields", done.stderr)
        self.assertFalse(os.path.exists(self.path("o.csv")))
