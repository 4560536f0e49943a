"""join --on: against loops over the rows in Python; messy tables, every --how, files and pipes.
Builds: release, asan, tsan (full)."""
import decimal
import json
import os
import random
import re
import subprocess

import numpy as np

from command import BITFOLD, SANITIZED, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (6 if SANITIZED else 2)
LIMIT = "%dM" % least_memory()
HOWS = ["inner", "left", "outer", "semi", "anti"]
NULLS = ["NA", "-", "0"]
WORDS = ["Tokyo", "New York", "Lagos, NG", 'say "no"', "two\nlines", "x\r\ny", " blank ", "\u00e9t\u00e9",
         "\t", "a", "b", "1a", "NA", "-"]
INTEGERS = ["0", "1", "2", "3", "-1", "-2", "007", "-0", "4", "5", " 6", "7 "]
FLOATS = INTEGERS + ["1.0", "2.5", "1e0", "-1.0", "0.5", "5e-1", "nan", "NaN", "inf", "-inf", "0x1p1"]
LONG = INTEGERS + ["9" * 38, "9" * 38 + ".0", "-" + "9" * 38, "9" * 37 + ".5", "0." + "0" * 37 + "1", "5e-1", "0.50", "1e30",
                   "20000000000000000001", "2.0000000000000000001e19", "0.1234567890123456789", "0.12345678901234567890", "0.1234567890123456788",
                   "18446744073709551616", "-9223372036854775809", "123456789012345678.901", "10" + "0" * 38]
DECIMALS = INTEGERS[:6] + ["1.0", "1.10", "1.1", "11e-1", "0.1", "0.10", "-0.25", "2.5e0", "9007199254740993", "9007199254740992.0"]
CODES = ["001E46977290", "00080E579718", "407009E70322", "07094", "7094", "007.1", "7.1", "20000000000000000001",
         "20000000000000000002", "-01", "1"]
LARGE = INTEGERS + ["18446744073709551615", "9223372036854775808", "9223372036854775807",
                    "-9223372036854775808", "9007199254740993"]


class Cell:
    """A field: its text, and whether quotes are around it."""

    def __init__(self, text, quoted, nulls):
        self.text, self.quoted = text, quoted
        self.null = not quoted and (text == "" or text in nulls)
        self.none = not quoted and (text.strip(" \t") == "" or text.strip(" \t") in nulls)

    def value(self):
        """The number that it is, a Decimal or a float; None: it is none. Blanks do not count, but in quotes."""
        text = self.text if self.quoted else self.text.strip(" \t")
        if text.strip() != text or re.match(r"[+-]?0[0-9]", text):
            return None
        try:
            number = decimal.Decimal(text)
            digits = number.as_tuple().digits
            if number.is_finite() and max(len(digits), number.adjusted() + 1) > 38:
                return None
            return number if number.is_finite() else float(text)
        except decimal.InvalidOperation:
            pass
        try:
            return float.fromhex(text)
        except ValueError:
            return None

    def written(self):
        return '"%s"' % self.text.replace('"', '""') if self.quoted else self.text


class Table:
    def __init__(self, r, names, nulls, delimiter):
        self.names = names
        rows = r.choice([0, 1, 3, 10, 40, 40])
        columns = [self.column(r, rows, nulls, delimiter) for _ in names]
        self.rows = [row for row in zip(*columns) if not all(c.text.strip(" \t") == "" and
                                                             not c.quoted for c in row)]
        end = r.choice(["\n", "\r\n"])
        lines = [delimiter.join(names)]
        lines += [delimiter.join(c.written() for c in row) for row in self.rows]
        self.bytes = (end.join(lines) + r.choice(["", end])).encode()

    @staticmethod
    def column(r, rows, nulls, delimiter):
        words = r.choice([WORDS, INTEGERS, INTEGERS, FLOATS, LARGE, WORDS + INTEGERS, DECIMALS, DECIMALS + FLOATS[-6:], CODES,
                          LONG, LONG[:-1], LONG[-3:] + FLOATS])
        few = r.sample(words, r.randrange(1, len(words) + 1))
        share = r.choice([0, 0.1, 0.5])
        cells = []
        for _ in range(rows):
            text = r.choice(["", "", *nulls]) if r.random() < share else r.choice(few)
            must = any(c in text for c in '"\r\n' + delimiter)
            # A blank field is NULL as a number, and a string of blanks as a word.
            cells.append(Cell(text, must or r.random() < (0.2 if text else 0.05), nulls))
        return cells

    def numbers(self, k):
        """What the fields of a column are as numbers; None if some field is none, or they cannot be held exactly."""
        values = [None if row[k].none else row[k].value() for row in self.rows]
        if any(v is None and not row[k].none for v, row in zip(values, self.rows)):
            return None
        there = [v for v in values if v is not None]
        if not any(isinstance(v, float) for v in there):
            shortest = [v.normalize() for v in there]
            units = [v.scaleb(-min([0] + [v.as_tuple().exponent for v in shortest])) for v in there]
            if all(abs(u) < 10**38 for u in units):
                return values
        if any(not isinstance(v, float) and v == v.to_integral() and int(float(v)) != v for v in there):
            return None
        return values


def same_number(v):
    """Equal for equal numbers: a fraction stands for the nearest double, and that for it."""
    if isinstance(v, float):
        return "nan" if v != v else v + 0
    return int(v) if v == v.to_integral() else float(v)


def words_of(a, b, on):
    """The columns that are compared as words: those that have some, and what is compared with them."""
    words = {(s, k) for s, t in ((0, a), (1, b)) for k in range(len(t.names)) if t.numbers(k) is None}
    while True:
        more = {(1, kb) for ka, kb in on if (0, ka) in words}
        more |= {(0, ka) for ka, kb in on if (1, kb) in words}
        if more <= words:
            return words
        words |= more


def keys_of(a, b, ka, kb, words):
    """The keys of a column of each, None for NULL."""
    if (0, ka) in words:
        return [[None if row[k].null else row[k].text for row in t.rows] for t, k in ((a, ka), (b, kb))]
    columns = [t.numbers(k) for t, k in ((a, ka), (b, kb))]
    if any(isinstance(v, float) for c in columns for v in c):
        return [[None if v is None else same_number(v) for v in c] for c in columns]
    return columns


def pairs_of(a, b, on, how):
    words = words_of(a, b, on)
    columns = [keys_of(a, b, ka, kb, words) for ka, kb in on]
    ka, kb = [list(zip(*(c[s] for c in columns))) if t.rows else []
              for s, t in ((0, a), (1, b))]
    where = {}
    for j, key in enumerate(kb):
        if None not in key:
            where.setdefault(key, []).append(j)
    pairs, met = [], set()
    for i, key in enumerate(ka):
        found = where.get(key, [])
        met.update(found)
        if how in ("semi", "anti"):
            pairs += [(i, None)] if bool(found) == (how == "semi") else []
        else:
            pairs += [(i, j) for j in found]
            pairs += [(i, None)] if not found and how != "inner" else []
    return pairs + [(None, j) for j in range(len(b.rows)) if how == "outer" and j not in met]


def read_tsv(text):
    """Rows of fields, None for NULL, which is the empty field without quotes."""
    rows, row, at = [], [], 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"' or text[end + 1 : end + 2] == '"':
                end += 1 + (text[end] == '"')
            row.append(text[at + 1 : end].replace('""', '"'))
            end += 1
        else:
            end = min(text.index("\n", at), (text + "\t").index("\t", at))
            row.append(text[at:end] or None)
        if text[end] == "\n":
            rows.append(row)
            row = []
        at = end + 1
    assert not row
    return rows


class Messy(CommandTest):
    def field(self, table, row, k):
        """What the output shows of a field."""
        if row is None or table.rows[row][k].null or table.rows[row][k].none and self.numeric(table, k):
            return None
        return table.rows[row][k].text

    def numeric(self, table, k):
        return (id(table), k) in self.as_numbers

    def expected(self, a, b, on, how, take):
        """take: of each column, the sides it may show and the column in each; the first counts."""
        # A blank field of a key that is compared as numbers is NULL.
        words = words_of(a, b, on)
        self.as_numbers = {(id(t), pair[s]) for pair in on for s, t in ((0, a), (1, b))
                           if (s, pair[s]) not in words}
        rows = []
        for i, j in pairs_of(a, b, on, how):
            row = []
            for choice in take:
                sides = {"a": (a, i), "b": (b, j)}
                shown = [(sides[s], k) for s, k in choice if sides[s][1] is not None][:1]
                row.append(self.field(*shown[0][0], shown[0][1]) if shown else None)
            rows.append(row)
        return rows

    def choose(self, r, a, b, on, how):
        """Some items of --take, and what they show."""
        names, take = [], []
        for _ in range(r.randrange(1, 5)):
            side = r.choice("ab") if how in HOWS[:3] else "a"
            t, other = (a, b) if side == "a" else (b, a)
            k = r.randrange(len(t.names))
            name = t.names[k]
            keys = [(pair if side == "a" else pair[::-1]) for pair in on]
            partner = next((p for own, p in keys if own == k), None)
            one_key = partner is not None and other.names[partner] == name
            if r.random() < 0.5 or (name in other.names and not one_key and how in HOWS[:3]):
                names.append("%s.%s" % (side, r.choice([name, str(k + 1)])))
                take.append([(side, k)])
            elif name in other.names and one_key and how in HOWS[:3]:
                mine = next(pa for pa, pb in on if a.names[pa] == name)
                theirs = next(pb for pa, pb in on if pa == mine)
                names.append(name)
                take.append([("a", mine), ("b", theirs)])
            else:
                names.append(name)
                both = partner is not None and how in HOWS[:3]
                take.append([(side, k)] + ([("b" if side == "a" else "a", partner)] if both else []))
        return names, take

    def default(self, a, b, on, how):
        first = {ka: kb for ka, kb in reversed(on)}
        shows_b = how in HOWS[:3]
        take = [[("a", k)] + ([("b", first[k])] if k in first and shows_b else [])
                for k in range(len(a.names))]
        # Rows of B alone show in A's key the first that it is compared with.
        keys = {kb for kb in {kb for _, kb in on}
                if how != "outer" or first[next(pa for pa, pb in on if pb == kb)] == kb}
        return take + [[("b", k)] for k in range(len(b.names)) if k not in keys and shows_b]

    def test_random_tables(self):
        for case in range(CASES):
            seed = int(os.environ.get("BITFOLD_SEED", case))
            r = random.Random(seed)
            delimiter = r.choice(",;\t|")
            nulls = r.sample(NULLS, r.choice([0, 0, 1, 2]))
            names = r.sample(["id", "key", "city", "x", "y", "a.x", "n"], 6)
            a = Table(r, names[: r.randrange(2, 5)], nulls, delimiter)
            b = Table(r, r.sample(names, r.randrange(2, 5)), nulls, delimiter)
            on = [(r.randrange(len(a.names)), r.randrange(len(b.names)))
                  for _ in range(r.choice([1, 1, 1, 2, 3]))]
            # A name with a point in it may be meant for a side; numbers mean it, too.
            items = ["%s=%s" % (r.choice([a.names[ka], str(ka + 1)]), r.choice([b.names[kb], str(kb + 1)]))
                     for ka, kb in on]
            how = r.choice(HOWS)
            arguments = ["join", "--delimiter", delimiter, "--on", ",".join(items), "--how", how]
            if nulls:
                arguments += ["--null", ",".join(nulls)]
            take = self.default(a, b, on, how)
            if r.random() < 0.6 and "a.x" not in a.names + b.names:
                taken, take = self.choose(r, a, b, on, how)
                arguments += ["--take", ",".join(taken)]
            expected = self.expected(a, b, on, how, take)
            pa, pb = self.write("a.txt", a.bytes), self.write("b.txt", b.bytes)
            for threads, files, stdin in [(1, [pa, pb], b""), (r.choice([2, 3, 8]), [pa, pb], b""),
                                          (2, ["--memory", LIMIT, pa, pb], b""),
                                          (2, ["-", pb], a.bytes), (3, [pa, "-"], b.bytes)]:
                done = run(*arguments, "-j", threads, *files, stdin=stdin)
                what = "BITFOLD_SEED=%d %s\n%r\n%r" % (seed, arguments, a.bytes, b.bytes)
                self.assertEqual((done.returncode, done.stderr), (0, b""), what)
                self.assertEqual(read_tsv(done.stdout.decode()), expected, what)

    def test_patterns_of_names_are_what_the_names_are(self):
        a = self.write("a.csv", b"id,v1,v2,w-x,k\n1,a,b,c,9\n2,A,B,C,8\n")
        b = self.write("b.csv", b"id,u1,u2,w-y,m\n2,x,y,z,7\n1,X,Y,Z,6\n")
        for take, names in [("v*", "v1,v2"), ("?1,id", "v1,u1,id"), ("w*", "w-x,w-y"), ("w-y", "w-y"), ("i[d]", "id"),
                            ("a.2-3,b.4-", "a.v1,a.v2,b.w-y,b.m"), ("b.u?,a.v?", "b.u1,b.u2,a.v1,a.v2"), ("b.*", "b.id,b.u1,b.u2,b.w-y,b.m")]:
            for how in [[], ["--memory", LIMIT]]:
                ask = ["join", a, b, "--on", "id", "--csv", *how, "--take"]
                self.assertEqual(self.result(*ask, take), self.result(*ask, names), take)
        self.assertEqual(self.result("join", a, b, "--on", "id", "--how", "semi", "--csv", "--take", "w*"), "w-x\nc\nC")
        for take in ["z*", "a.z*", "b.v*", "a.5-6", "2-3"]:
            self.refused(3, "--take: no column", "join", a, b, "--on", "id", "--take", take)
        self.refused(2, "shows columns of A alone", "join", a, b, "--on", "id", "--how", "anti", "--take", "b.*")
        self.refused(3, "A and B have a column 'u'", "join", self.write("c.csv", b"id,u\n1,2\n"),
                     self.write("d.csv", b"id,u\n1,2\n"), "--on", "id", "--take", "u*")

    def test_keys_of_json_lines_keep_their_types(self):
        """A bool is no number and a string is neither, whatever else a column holds; of other texts none has a type."""
        pools = [[True, False], ["true", "1", "2.0", "", "\0"], [0, 1, 2, 10], [1.0, 0.5, 2.0, -0.0], [None]]
        identity = lambda k: k if isinstance(k, str) else (isinstance(k, bool), k)
        for seed in range(CASES // 3):
            r = random.Random(seed)
            a, b = [[r.choice(sum(r.sample(pools, r.randint(1, 4)), [])) for _ in range(r.randrange(1, 20))] for _ in "ab"]
            files = [self.write(name + ".jsonl", "".join(json.dumps({"k": k, name: i}) + "\n"
                                                         for i, k in enumerate(keys)).encode())
                     for name, keys in (("a", a), ("b", b))]
            want = ["%d\t%d" % (i, j) for i, x in enumerate(a) for j, y in enumerate(b)
                    if None not in (x, y) and identity(x) == identity(y)]
            for more in ([], ["-j", 8], ["--memory", LIMIT]):
                shown = self.result("join", *files, "--on", "k", "--take", "a,b", *more)
                self.assertEqual(shown.split("\n") if shown else [], want, (seed, a, b))
        mixed = self.write("a.jsonl", b'{"k":1.0}\n{"k":"1"}\n{"k":true}\n{"k":"\xffw"}\n')
        for memory in ([], ["--memory", LIMIT]):
            lines = self.result("join", mixed, mixed, "--on", "k", "--json", *memory).split("\n")
            self.assertEqual([json.loads(line)["k"] for line in lines], [1, "1", True, "\ufffdw"])
        numbers = self.write("b.jsonl", b'{"k":1.0}\n{"k":2e0}\n')
        self.assertEqual(self.result("join", numbers, numbers, "--on", "k"), "1.0\n2e0")
        self.assertEqual(self.result("join", mixed, self.write("c.csv", b"k\n1\n"), "--on", "k"), "1")

    def test_many_rows_in_chunks(self):
        r = random.Random(5)
        n, m = (3000, 500) if SANITIZED else (60000, 20000)
        a = [(r.randrange(30000), "w%d" % r.randrange(9), "x" * r.randrange(30)) for _ in range(n)]
        b = [(r.randrange(30000), "w%d" % r.randrange(9), '"%d\n,"' % i) for i in range(m)]
        texts = ["\n".join(["k,w,%s" % name] + ["%s,%s,%s" % row for row in rows]) + "\n"
                 for name, rows in (("x", a), ("y", b))]
        where = {}
        for k, w, y in b:
            where.setdefault((k, w), []).append(y[1:-1])
        expected = [[str(k), w, x or None, y] for k, w, x in a for y in where.get((k, w), [])]
        pa, pb = [self.write(name, text.encode()) for name, text in zip("ab", texts)]
        for threads in (1, 2, 8):
            text = self.result("join", pa, pb, "--on", "k,w", "-j", threads) + "\n"
            self.assertEqual(read_tsv(text), expected)
        # The last key is a word: all are, and those of the other file too.
        word = self.write("c", texts[0].encode() + b"word,w0,\n")
        self.assertEqual(read_tsv(self.result("join", word, pb, "--on", "k,w") + "\n"), expected)
        done = run("join", "-", pb, "--on", "k,w", stdin=texts[0].encode() + b"1.5,w0,\n")
        self.assertEqual(read_tsv(done.stdout.decode()), expected)

    def test_long_fields_of_many_rows(self):
        n, text = (2000, "x" * 20000) if SANITIZED else (5000, "x" * 40000)
        a = self.write("a", b"id,n\n" + b"".join(b"%d,%d\n" % (i % 2, i) for i in range(n)))
        b = self.write("b", ("id,t\n1,%s\n" % text).encode())
        expected = "".join("1,%d,%s\n" % (i, text) if i % 2 else "0,%d,\n" % i for i in range(n))
        # What is shown takes more than this.
        limit = [] if SANITIZED else ["bash", "-c", 'ulimit -v 180000 && "$@"', "-"]
        for threads in (1, 3):
            done = subprocess.run([*limit, BITFOLD, "join", a, b, "--on", "id", "--how", "left", "--csv",
                                   "-j%d" % threads], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertTrue(done.stdout.decode() == "id,n,t\n" + expected)

    def test_many_columns(self):
        names = ["id"] + ["c%d" % i for i in range(5000)]
        a = self.write("a", (",".join(names) + "\n" + "1" + ",2" * 5000 + "\n").encode())
        row = json.loads(self.result("join", a, a, "--on", "id", "--json"))
        self.assertEqual(list(row), names + ["b." + name for name in names[1:]])


class Rules(CommandTest):
    def setUp(self):
        super().setUp()
        self.a = self.write("a.csv", b'id,name,price\n1,x,1.50\n2,"y, z",\n,w,3\n2.0,v,4\n')
        self.b = self.write("b.csv", b"code,name,id\n2,two,5\n1.0,one,6\n,none,7\n2,again,8\n")

    def rows(self, *arguments):
        return read_tsv(self.result("join", self.a, self.b, *arguments) + "\n")

    def test_names_of_columns(self):
        self.assertEqual(self.result("join", self.a, self.b, "--on", "id=code", "--csv").split("\n")[0],
                         "id,name,price,b.name,b.id")
        shown = self.result("join", self.a, self.b, "--csv", "--on", "id=code", "--how", "outer",
                            "--take", "code,a.id,b.1,b.id,a.2")
        self.assertEqual(shown.split("\n"), [
            "code,a.id,b.code,b.id,a.name", "1.0,1,1.0,6,x", '2,2,2,5,"y, z"', '2,2,2,8,"y, z"',
            ",,,,w", "2,2.0,2,5,v", "2,2.0,2,8,v", ",,,7,"])
        self.assertEqual(self.result("join", self.a, self.b, "--csv", "--on", "name", "--how", "outer",
                                     "--take", "name,a.name,b.name"),
                         'name,a.name,b.name\nx,x,\n"y, z","y, z",\nw,w,\nv,v,\ntwo,,two\none,,one\n'
                         "none,,none\nagain,,again")

    def test_no_key_of_an_outer_join_is_lost(self):
        b = self.write("b.csv", b"x,y\n1,1\n7,8\n")
        shown = self.result("join", self.a, b, "--on", "id=x,id=y", "--how", "outer", "--csv")
        self.assertEqual(shown.split("\n")[1:], ["1,x,1.50,1", '2,"y, z",,', ",w,3,", "2.0,v,4,", "7,,,8"])

    def test_numbers_for_columns_need_no_header(self):
        rows = self.rows("--on", "1=1", "--take", "a.2,b.2", "--no-header")
        self.assertEqual(rows, [["y, z", "two"], ["y, z", "again"]]) # "id" makes words of the keys
        self.assertEqual(self.rows("--on", "2", "--how", "anti", "--take", "1"), [["1"], ["2"], [None], ["2.0"]])
        for more in ([], ["--header"]):
            shown = self.result("join", self.a, self.b, "--on", "1", *more, "--csv")
            self.assertEqual(shown.split("\n")[0], "id,name,price,b.name,b.id")

    def test_keys_are_the_numbers_that_are_written(self):
        for a, b, more, want in [
                ("k\n9007199254740993\n", "k\n9007199254740992\n9007199254740993.0\n", [], "9007199254740993"),
                ("k\n20000000000000000001\n", "k\n20000000000000000002\n", [], ""),
                ("k\n20000000000000000001\n", "k\n20000000000000000002\n", ["--how", "anti"], "20000000000000000001"),
                ("k\n01\n", "k\n1\n", [], ""), ("k\n01\n", "k\n1\n", ["--number", "k"], "01"),
                ("k\n1.10\n1.1\n", "k\n1.1\n", ["--text", "1"], "1.1"),
                ("k\n1.10\n1.1\n", "k\n1.100\n", [], "1.10\n1.1"),
                ("k\n9223372036854775807\n1\n", "k\n2.5\n1.0\n", [], "1"),
                ("k\n18446744073709551615\n5\n", "k\n5.0\n-0.25\n", [], "5"),
                ("k\n9007199254740993\n0.1\n", "k\ninf\n9007199254740992\n0.10\n", [], "0.1")]:
            files = [self.write("a.csv", a.encode()), self.write("b.csv", b.encode())]
            for memory in ([], ["--memory", LIMIT]):
                self.assertEqual(self.result("join", *files, "--on", "k", *more, *memory), want, (a, b, more))
        mac = self.write("a.csv", b"mac\n001E46977290\n00080E579718\n407009E70322\n")
        self.assertEqual(len(self.result("join", mac, mac, "--on", "mac").split("\n")), 3)
        self.refused(3, "--text: no key of --on is named 'x'", "join", mac, mac, "--on", "mac", "--text", "x")

    def test_numbers_see_a_header_as_names_do(self):
        """As group --by 1 does: a first row of which every field looks like a name."""
        a, b = self.write("c.csv", b"id,v\n1,x\n2,y\n"), self.write("d.csv", b"id,w\n1.0,p\n2,q\n")
        for files, more, lines in [
            ((a, b), [], "1\tx\tp\n2\ty\tq"), ((a, b), ["--no-header"], "id\tv\tw\n2\ty\tq"),
            ((a, self.write("e.csv", b"1,p\n2,q\n")), [], "1\tx\tp\n2\ty\tq"),
        ]:
            for memory in ([], ["--memory", LIMIT]):
                self.assertEqual(self.result("join", "--on", "1", *more, *memory, *files), lines, (files, more))
        self.assertEqual(self.result("join", "--on", "id", a, b), "1\tx\tp\n2\ty\tq")

    def test_columns_without_a_name_have_names_apart(self):
        """A column that has none is shown by its number, of B as b.NUMBER if A shows that."""
        a = self.write("c.csv", b"id,,\n1,2,3\n")
        for b, on, head in [(b"id,,\n1,4,5\n", "id", "id,2,3,b.2,b.3"), (b"id,,,\n1,4,5,6\n", "id", "id,2,3,b.2,b.3,4"),
                            (b"id,3,x\n1,4,5\n", "id", "id,2,3,b.3,x"), (b"x,02,id\n4,5,1\n", "id", "id,2,3,x,02")]:
            shown = self.result("join", a, self.write("d.csv", b), "--on", on, "--csv")
            self.assertEqual(shown.split("\n")[0], head, b)
        plain = self.write("d.csv", b"1,2\n")
        self.assertEqual(self.result("join", plain, plain, "--on", "1", "--csv"), "1,2,b.2\n1,2,2")

    def test_names_in_backquotes(self):
        a = self.write("q.csv", b'id,2015,"x,y=z","q`r","say ""hi""",a.id,1\n7,10,20,30,40,50,60\n')
        b = self.write("r.csv", b"id,2015,2\n10,7,8\n60,5,6\n")
        for on, take, shown in [
            ("2015=id", "b.`2`", ["b.2", "8"]), ("`2015`=id", "`x,y=z`", ['"x,y=z"', "20"]),
            ("`id`=2015", "`q`r`", None), ("id=2015", "`q``r`", ["q`r", "30"]),
            ("id=2015", 'say "hi"', ['"say ""hi"""', "40"]), ("`1`=`id`", "a.id,`a.id`", ["a.id,a.id", "50,50"]),
            ("id=2015", "a.`1`,`1`,b.`2`", ["a.1,1,b.2", "60,60,8"]),
            ("2=1,1=2", "a.`x,y=z`,id", None), ("2=1,1=2", "a.`x,y=z`,a.1", ['"a.x,y=z",a.id', "20,7"]),
        ]:
            with self.subTest((on, take)):
                arguments = ["join", a, b, "--on", on, "--take", take, "--csv"]
                if shown is None:
                    self.refused(3, "--take: ", *arguments)
                else:
                    self.assertEqual(self.result(*arguments).split("\n"), shown)
        error = self.refused(3, "q.csv: --on: no column 2015: it has 7", "join", a, b, "--on", "2015=1")
        self.assertIn("a name that is a number stands in backquotes", error)
        self.refused(2, "bad operand of --on", "join", a, b, "--on", "`2015`=id=2")

    def test_json_and_one_file_twice(self):
        lines = self.result("join", self.a, self.a, "--on", "id", "--take", "b.name,a.price", "--json")
        self.assertEqual([json.loads(line) for line in lines.split("\n")],
                         [{"b.name": n, "a.price": p} for n, p in
                          [("x", "1.50"), ("y, z", None), ("v", None), ("y, z", "4"), ("v", "4")]])

    def test_json_lines(self):
        lines = self.write("x.jsonl", b'{"n":"1","id":1}\n{"id":2.5e0,"n":null}\n{"n":"\\n"}\n')
        self.assertEqual(self.result("join", lines, self.b, "--on", "id=code", "--how", "left", "--csv"),
                         'n,id,name,b.id\n1,1,one,6\n,2.5e0,,\n"\n",,,')

    def test_empty_tables(self):
        head, none = self.write("h.csv", b"id,x\n"), self.write("e.csv", b"")
        self.assertEqual(self.result("join", head, self.b, "--on", "id=code", "--csv"), "id,x,name,b.id")
        self.assertEqual(self.result("join", self.a, head, "--on", "id", "--how", "semi"), "")
        self.assertEqual(self.result("join", self.a, head, "--on", "id", "--how", "anti", "--take", "id"),
                         "1\n2\n\n2.0")
        self.assertEqual(self.result("join", head, head, "--on", "x=id", "--how", "outer"), "")
        self.assertEqual(self.result("join", none, none, "--on", "1"), "")
        self.refused(3, "no column is named 'id': it has no rows", "join", none, self.b, "--on", "id=code")

    def test_what_is_refused(self):
        join = ["join", self.a, self.b]
        error = self.refused(3, "b.csv: --on: no column is named 'price'", *join, "--on", "price")
        self.assertIn("hint: the columns are code, name, id\n", error)
        self.refused(3, "a.csv: --on: no column 4: it has 3", *join, "--on", "4=1")
        self.refused(3, "a.csv: --on: no column 0: it has 3", *join, "--on", "0=1")
        error = self.refused(3, "A and B have a column 'name'", *join, "--on", "id=code", "--take", "name")
        self.assertIn("hint: a.name is that of A, b.name that of B\n", error)
        error = self.refused(3, "no column is named 'city', in A or B", *join, "--on", "id", "--take", "id,city")
        self.assertIn("hint: the columns are, of A: id, name, price; of B: code, name, id\n", error)
        self.refused(3, "b.csv: --take: no column is named 'price'", *join, "--on", "id", "--take", "b.price")
        self.refused(2, "--how semi shows columns of A alone, not 'code'", *join, "--on", "id=code",
                     "--how", "semi", "--take", "code")
        for wrong in ("", "id,", "=id", "id=", "id=code=id"):
            self.refused(2, "bad operand of --on", *join, "--on", wrong)
        self.refused(2, "more than 64 columns are compared", *join, "--on", ",".join(["id"] * 65))
        self.refused(2, "bad operand of --how", *join, "--on", "id", "--how", "cross")
        self.refused(2, "--take needs --on", *join, "--take", "id")
        self.refused(2, "--how needs --on", *join, "--how", "left")
        self.refused(2, "--on is given twice", *join, "--on", "id", "--on", "name")
        self.refused(2, "--column does not go with --on", *join, "--on", "id", "--column", "1")
        self.refused(2, "two files are needed, not 1", "join", self.a, "--on", "id")
        self.refused(2, "more than once", "join", "-", "-", "--on", "id")
        self.refused(1, "No such file", "join", self.a, self.path("c"), "--on", "id")

    def test_what_is_refused_of_the_data(self):
        twice = self.write("twice.csv", b"id,id,x\n1,2,3\n")
        self.refused(3, "more than one column is named 'id'", "join", twice, self.a, "--on", "id")
        self.assertEqual(self.result("join", twice, self.a, "--on", "2=1", "--take", "a.1,name"),
                         "1\ty, z\n1\tv")
        short = self.write("short.csv", b"id,x\n1,2\n3\n")
        self.refused(3, "short.csv:3: no column 2: this row has 1 field", "join", short, self.a, "--on", "id")
        self.assertEqual(self.result("join", short, self.a, "--on", "id", "--lax", "--how", "left",
                                     "--take", "a.id,x"), "1\t2\n3\t")
        quote = self.write("quote.csv", b'id,x\n1,"2\n3,4\n')
        self.refused(3, "quote.csv:2: ", "join", self.a, quote, "--on", "id")
        array = self.save("x.npy", np.arange(3))
        self.refused(2, "x.npy: --on is for text: this is a .npy file", "join", self.a, array, "--on", "id")

    def test_more_rows_than_memory_holds(self):
        same = self.write("same.csv", b"k,x\n" + b"1,2\n" * 300000)
        self.refused(1, "too many rows go together", "join", same, same, "--on", "k")
        self.assertEqual(self.result("join", same, same, "--on", "k", "--how", "semi", "--take", "k"),
                         "\n".join("1" * 300000))
