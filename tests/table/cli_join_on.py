"""join --on: against loops over the rows in Python; messy tables, every --how, files and pipes."""
import json
import os
import random
import unittest

from command import SANITIZED, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (6 if SANITIZED else 2)
HOWS = ["inner", "left", "outer", "semi", "anti"]
NULLS = ["NA", "-", "0"]
WORDS = ["Tokyo", "New York", "Lagos, NG", 'say "no"', "two\nlines", "x\r\ny", " blank ", "\u00e9t\u00e9",
         "\t", "a", "b", "1a", "NA", "-"]
INTEGERS = ["0", "1", "2", "3", "-1", "-2", "007", "-0", "4", "5", " 6", "7 "]
FLOATS = INTEGERS + ["1.0", "2.5", "1e0", "-1.0", "0.5", "5e-1", "nan", "NaN", "inf", "-inf", "0x1p1"]
LARGE = INTEGERS + ["18446744073709551615", "9223372036854775808", "9223372036854775807",
                    "-9223372036854775808", "9007199254740993"]


class Cell:
    """A field: its text, and whether quotes are around it."""

    def __init__(self, text, quoted, nulls):
        self.text, self.quoted = text, quoted
        self.null = not quoted and (text == "" or text in nulls)
        self.none = not quoted and (text.strip(" \t") == "" or text.strip(" \t") in nulls)

    def value(self):
        """The number that it is; None: it is none. Blanks do not count, but in quotes."""
        text = self.text if self.quoted else self.text.strip(" \t")
        if text.strip() != text:
            return None
        try:
            return int(text)
        except ValueError:
            pass
        try:
            return float.fromhex(text) if "x" in text else float(text)
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
        words = r.choice([WORDS, INTEGERS, INTEGERS, FLOATS, LARGE, WORDS + INTEGERS])
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
        """What the fields of a column are as numbers; None if some field is none."""
        values = [None if row[k].none else row[k].value() for row in self.rows]
        if any(v is None and not row[k].none for v, row in zip(values, self.rows)):
            return None
        whole = [v for v in values if isinstance(v, int)]
        real = len(whole) < sum(v is not None for v in values)
        real = real or (whole and (max(whole) >= 2**64 or min(whole) < -(2**63) or
                                   (max(whole) >= 2**63 and min(whole) < 0)))
        return [None if v is None else float(v) if real else v for v in values], bool(real)


def same_number(v):
    return "nan" if v != v else v + 0


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
    x, y = a.numbers(ka), b.numbers(kb)
    real = x[1] or y[1]
    return [[None if v is None else same_number(float(v) if real else v) for v in side[0]]
            for side in (x, y)]


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
        keys = {kb for _, kb in on}
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
            items = ["%s=%s" % (a.names[ka], r.choice([b.names[kb], str(kb + 1)])) for ka, kb in on]
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
                                          (2, ["-", pb], a.bytes), (3, [pa, "-"], b.bytes)]:
                done = run(*arguments, "-j", threads, *files, stdin=stdin)
                what = "BITFOLD_SEED=%d %s\n%r\n%r" % (seed, arguments, a.bytes, b.bytes)
                self.assertEqual((done.returncode, done.stderr), (0, b""), what)
                self.assertEqual(read_tsv(done.stdout.decode()), expected, what)


if __name__ == "__main__":
    unittest.main()
