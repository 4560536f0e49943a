"""Functions of expressions as keys of rows: random tables against Python's datetime, decimal, re and str.
Builds: release, asan (full)."""
import csv
import datetime
import decimal
import io
import json
import os
import random
import re
from decimal import ROUND_HALF_EVEN, Decimal

from command import SANITIZED, CommandTest, run

CASES = max(1, int(os.environ.get("BITFOLD_CASES", "300")) // (60 if SANITIZED else 15))
SEED = int(os.environ.get("BITFOLD_SEED", "1"))
WORDS = ["Lagos", " a b\t", "a", "B7", "Zürich", "été", "x,y", 'say "no"', "two\nlines", "日本語", "A" * 40, "007x",
         "\x01", "😀!", "  ", "aXa"]  # fmt: skip
BROKEN = WORDS + ["\udcff", "a\udce2\udc82", "\udced\udca0\udc80z", "\udcc0\udc80"]
PATTERNS = {"^a": "^a", "a$": r"a\Z", "[0-9]+x": "[0-9]+x", "^.{3,5}$": r"^.{3,5}\Z", "(a|e)b?o": "(a|e)b?o",
            "[[:upper:]]": "[A-Z]", "^[^a-z]*$": r"^[^a-z]*\Z", "": "", r"\.": r"\."}  # fmt: skip
PARTS = ["year", "month", "day", "hour", "minute", "second"]
EPOCH = datetime.datetime(1970, 1, 1)


def lifted(f):
    """NULL of NULL."""
    return lambda *x: None if None in x else f(*x)


def trunc(t, unit):
    begin = datetime.datetime(t.year, t.month, t.day)
    if unit == "year":
        return begin.replace(month=1, day=1)
    if unit == "quarter":
        return begin.replace(month=(t.month - 1) // 3 * 3 + 1, day=1)
    if unit == "month":
        return begin.replace(day=1)
    if unit == "week":
        return begin - datetime.timedelta(days=t.weekday())
    parts = {"day": 0, "hour": 3600, "minute": 60, "second": 1}[unit]
    seconds = t.hour * 3600 + t.minute * 60 + t.second
    return begin + datetime.timedelta(seconds=seconds // parts * parts if parts else 0)


def shown(t, date):
    """A time as it is written."""
    text = t.isoformat()[:10] if date else t.isoformat()
    return text.rstrip("0") if "." in text else text


def rounded(x, digits):
    return x.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN) if -digits > x.as_tuple().exponent else x


def lower(text):
    return "".join(c.lower() if c.isascii() else c for c in text)


def upper(text):
    return "".join(c.upper() if c.isascii() else c for c in text)


def substr(text, begin, n):
    return text[max(begin, 1) - 1:max(begin + n, begin, 1) - 1] if n > 0 else ""


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


class Cases:
    """Random expressions of the columns s, w, d, t, x and n, each as its text and as a function of a row."""

    def __init__(self, r):
        self.r = r

    def all(self):
        return [make() for make in [self.part, self.trunc, self.moved, self.apart, self.compared, self.round,
                                    self.characters, self.tested, self.matched, self.cut, self.changed,
                                    self.joined, self.chosen, self.present]]  # fmt: skip

    def part(self):
        name, column = self.r.choice(PARTS + ["weekday"]), self.r.choice("dt")
        if name == "weekday":
            return f"weekday({column})", lambda row: lifted(datetime.datetime.isoweekday)(row[column])
        return f"{name}({column})", lambda row: lifted(lambda t: getattr(t, name))(row[column])

    def trunc(self):
        unit, column = self.r.choice(["year", "quarter", "month", "week", "day", "hour", "minute", "second"]), self.r.choice("dt")
        date = unit in ["year", "quarter", "month", "week", "day"] or column == "d"
        return (f'trunc({column}, "{unit}")',
                lambda row: lifted(lambda t: shown(trunc(t, unit), date))(row[column]))

    def moved(self):
        seconds, column = self.r.randrange(-10**6, 10**6) / 4, self.r.choice("dt")
        delta = datetime.timedelta(seconds=seconds)
        return f"{column} + ({seconds})", lambda row: lifted(lambda t: shown(t + delta, False))(row[column])

    def apart(self):
        def difference(t, d):
            delta = t - d
            return delta.days * 86400 + delta.seconds + Decimal(delta.microseconds) / 10**6
        return "t - d", lambda row: lifted(difference)(row["t"], row["d"])

    def compared(self):
        day = datetime.datetime(self.r.randrange(1950, 2040), 3, 1)
        return f'd >= "{day:%Y-%m-%d}"', lambda row: lifted(lambda d: d >= day)(row["d"])

    def round(self):
        digits = self.r.randrange(-3, 4)
        return f"round(x, {digits})", lambda row: lifted(rounded)(row["x"], digits)

    def characters(self):
        column = self.r.choice("sw")
        return f"length({column})", lambda row: lifted(len)(row[column])

    def tested(self):
        name, part = self.r.choice(["contains", "starts", "ends"]), self.r.choice(["a", "L", "é", "本", "", " a"])
        test = {"contains": str.__contains__, "starts": str.startswith, "ends": str.endswith}[name]
        return f"{name}(w, {quoted(part)})", lambda row: lifted(test)(row["w"], part)

    def matched(self):
        pattern = self.r.choice(list(PATTERNS))
        of_bytes = re.compile(PATTERNS[pattern].encode(), re.DOTALL)
        return f"w =~ {quoted(pattern)}", lambda row: lifted(
            lambda w: of_bytes.search(w.encode("utf-8", "surrogateescape")) is not None)(row["w"])

    def cut(self):
        begin, n = self.r.randrange(-2, 6), self.r.randrange(-1, 5)
        return f"substr(s, n + {begin}, {n})", lambda row: lifted(
            lambda s, x: substr(s, x + begin, n))(row["s"], row["n"])

    def changed(self):
        name = self.r.choice(["lower", "upper", "trim"])
        change = {"lower": lower, "upper": upper, "trim": lambda s: s.strip(" \t\n\v\f\r")}[name]
        return f"{name}(s)", lambda row: lifted(change)(row["s"])

    def joined(self):
        part = self.r.choice(WORDS)
        return f"concat(s, {quoted(part)}, upper(s))", lambda row: lifted(
            lambda s: s + part + upper(s))(row["s"])

    def chosen(self):
        return 'if(n > 2, s, null)', lambda row: row["s"] if row["n"] is not None and row["n"] > 2 else None

    def present(self):
        part = self.r.choice(WORDS)
        return (f"coalesce(trim(s), {quoted(part)})",
                lambda row: part if row["s"] is None else row["s"].strip(" \t\n\v\f\r"))


class Functions(CommandTest):
    def table(self, r, rows):
        def some(make):
            return [None if r.random() < 0.15 else make() for _ in range(rows)]

        def time():
            t = EPOCH + datetime.timedelta(seconds=r.randrange(-6 * 10**10, 10**11))
            return t.replace(microsecond=r.choice([0, 0, 250000, 123000]))
        return {"s": some(lambda: r.choice(WORDS)), "w": some(lambda: r.choice(BROKEN)),
                "d": some(lambda: time().replace(hour=0, minute=0, second=0, microsecond=0)), "t": some(time),
                "x": some(lambda: Decimal(r.randrange(-10**6, 10**6)).scaleb(-r.randrange(5))),
                "n": some(lambda: r.randrange(5))}

    def written(self, table, rows):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["id", *table])
        for i in range(rows):
            fields = [table[name][i] for name in table]
            writer.writerow([i] + ["" if v is None else shown(v, name == "d")
                                   if isinstance(v, datetime.datetime) else str(v)
                                   for name, v in zip(table, fields)])
        return out.getvalue().encode("utf-8", "surrogateescape")

    def found(self, text, data):
        made = run("count", "--header", "--by", f"id,{text}=result", "--json", "-", stdin=data)
        self.assertEqual(made.returncode, 0, (text, made.stderr.decode()))
        lines = [json.loads(line, parse_float=Decimal) for line in made.stdout.splitlines()]
        return {line["id"]: line["result"] for line in lines}

    def test_random_tables(self):
        for seed in range(SEED, SEED + CASES):
            r = random.Random(seed)
            rows = r.choice([1, 7, 60])
            table = self.table(r, rows)
            if any(all(v is None or str(v).isspace() for v in column) for column in table.values()):
                continue  # nothing tells what such a column is
            data = self.written(table, rows)
            for text, function in Cases(r).all():
                wanted = {i: function({name: table[name][i] for name in table}) for i in range(rows)}
                self.assertEqual(self.found(text, data), wanted, f"BITFOLD_SEED={seed} BITFOLD_CASES=15: {text}")
