"""group --by and count --by: tables of text, against Python's csv, collections and fractions.
Builds: release, asan (full), tsan (full)."""
import collections
import csv
import decimal
import io
import json
import math
import os
import random
import re
from fractions import Fraction

import numpy as np

from command import SANITIZED, CommandTest, least_memory, root, run

CASES = max(1, int(os.environ.get("BITFOLD_CASES", "300")) // (24 if SANITIZED else 6))
WORDS = ["", "Lagos", "Tokyo", "Tok", "New York", " a b ", "a,b", 'say "no"', '"', "two\nlines", "\r\n", "\t", "12",
         "été", "été", "\udcff\udc80", "0", "nan", "\x01", "a" * 40, "a" * 40 + "b"]  # fmt: skip
FLOATS = ["0.5", "-0", "0", "nan", "inf", "-inf", "1e3", "1000", "2", "-7.25", "1e-320"]
CODES = ["1", "1.0", "1e0", "1.10", "1.1", "11e-1", "-0.5", "9007199254740993", "9007199254740992.0", "07094", "7094",
         "001E46977290", "00080E579718", "407009E70322", "20000000000000000001", "20000000000000000002"]  # fmt: skip
LIMIT = "%dM" % (least_memory() + 5) # medians need more than the least
OPERATIONS = ["sum", "mean", "var", "std", "min", "max", "median"]


def encode(text):
    return text.encode("utf-8", "surrogateescape")


def is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return field.strip() == field


def is_integer(field):
    return field.lstrip("-").isdigit()


def are_keys(fields):
    """Whether numbers are no codes, and 38 digits hold them as integers with one scale."""
    numbers = [decimal.Decimal(f) for f in fields]
    if any(re.match("-?0[0-9]", f) for f in fields) or any(v.adjusted() > 37 for v in numbers):
        return False
    scale = max([0] + [-v.normalize().as_tuple().exponent for v in numbers])
    return all(abs(v.scaleb(scale)) < 10**38 for v in numbers)


class Table:
    """Random columns: of each its fields, of which None is NULL, and its values."""

    def __init__(self, r, rows, nulls):
        def some(make, share):
            return [None if r.random() < share else make() for _ in range(rows)]

        few = r.sample(WORDS, r.randint(2, len(WORDS)))
        few_codes = r.sample(CODES, r.randint(2, len(CODES)))
        null = r.choice([0, 0, 0.1])
        self.columns = {
            "word": some(lambda: r.choice(few), null),
            "year": some(lambda: str(r.randint(-3, 9)), null),
            "level": some(lambda: r.choice(FLOATS), null),
            "mixed": some(lambda: r.choice(few + ["5", "6", "7"]), null),
            "price": some(lambda: repr(r.choice([r.random(), r.uniform(-1, 1) * 10.0 ** r.randint(-20, 20)])), nulls),
            "n": some(lambda: str(r.choice([r.randint(-9, 9), r.randint(-(2**62), 2**62)])), nulls),
            "cost": some(lambda: self.decimal(r), nulls),
            "code": some(lambda: r.choice(few_codes), null),
            "odd": some(lambda: r.choice(["0.25", "nan", "inf", "3", "-inf"] + ["1"] * 9), nulls),
        }
        if rows > 0:
            self.columns["price"][0] = "0.125"
        self.rows = rows
        self.text = self.write(r)

    @staticmethod
    def decimal(r):
        digits = r.randint(0, 4)
        return r.choice(["%.*f", "%.*fe0", "%.*fE-2"]) % (digits, r.uniform(-1, 1) * r.choice([1, 100, 1e9]))

    def write(self, r, first=0, end=None, names=None):
        """Some rows, with the columns in this order."""
        names = names or list(self.columns)
        newline = r.choice(["\n", "\r\n"])
        lines = [",".join(names)]
        for fields in list(zip(*(self.columns[n] for n in names)))[first:end]:
            lines.append(",".join(self.field(r, f) for f in fields))
        return encode(newline.join(lines) + newline)

    def parts(self, r, n):
        """The rows as several files, whose columns are in orders of their own."""
        cuts = [0, *sorted(r.randint(0, self.rows) for _ in range(n - 1)), self.rows]
        return [self.write(r, *cut, names=r.sample(list(self.columns), len(self.columns)))
                for cut in zip(cuts, cuts[1:])]

    def field(self, r, field):
        if field is None:
            return ""
        plain = field.strip() != "" and not any(c in field for c in '",\n\r')
        return field if plain and r.random() < 0.8 else '"%s"' % field.replace('"', '""')

    def values(self, name, words=False):
        fields = self.columns[name]
        there = [f for f in fields if f is not None]
        if words or not all(is_number(f) for f in there) or (name == "code" and not are_keys(there)):
            return fields
        number = int if all(is_integer(f) for f in there) else decimal.Decimal if name in ("cost", "code") else float
        return [None if f is None else number(f) for f in fields]


def key_of(value):
    """Equal for what is one key."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def order_of(value):
    """In the order of keys."""
    if value is None:
        return (2,)
    if isinstance(value, str):
        return (0, encode(value))
    return (0, value) if not math.isnan(value) else (1,)


def show(value):
    """As a field of a line."""
    if value is None:
        return ""
    if isinstance(value, str):
        return '"%s"' % value.replace('"', '""') if value == "" or any(c in value for c in '\t\n\r"') else value
    if isinstance(value, decimal.Decimal):
        return format(value.normalize() + 0, "f")
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def reduce(op, values):
    """An aggregate of numbers, exact and rounded once; None: there is none."""
    n, special = len(values), [v for v in values if not math.isfinite(v)]
    if n == 0:
        return {"sum": 0, "mean": math.nan}.get(op)
    if op in ("min", "max"):
        return math.nan if any(math.isnan(v) for v in special) else (min if op == "min" else max)(values)
    if op == "median":
        if any(math.isnan(v) for v in special):
            return math.nan
        line = sorted(values)
        low, high = line[(n - 1) // 2], line[n // 2]
        if math.isinf(low) or math.isinf(high):
            return low + high
        if isinstance(low, (int, decimal.Decimal)) and n % 2 == 1:
            return low
        return float((Fraction(low) + Fraction(high)) / 2)
    if special:
        return sum(special) if op in ("sum", "mean") else math.nan
    total = sum(Fraction(v) for v in values)
    if op == "sum":
        if all(isinstance(v, decimal.Decimal) for v in values):
            return sum(values)
        return int(total) if all(isinstance(v, int) for v in values) else float(total)
    if op == "mean":
        return float(total / n)
    variance = sum(Fraction(v) ** 2 for v in values) / n - (total / n) ** 2
    return float(variance) if op == "var" else root(variance)


CONDITIONS = {
    "year > 2": lambda t, i: t["year"][i] is not None and t["year"][i] > 2,
    'word == "Tokyo" || isnull(price)': lambda t, i: t["word"][i] == "Tokyo" or t["price"][i] is None,
    "!isnull(n) && !isnull(price) && !isnull(odd)":
        lambda t, i: None not in (t["n"][i], t["price"][i], t["odd"][i]),
    'word < "N" && year != 0': lambda t, i: None not in (t["word"][i], t["year"][i]) and
        encode(t["word"][i]) < b"N" and t["year"][i] != 0,
}  # fmt: skip


class TablesTest(CommandTest):
    """What a table's groups are, and how they are shown."""

    def expect(self, table, keys, asked, where, total):
        """The rows of the answer, by key: those of the keys, then the results."""
        t = {name: table.values(name, words=name == "word" and where and "word" in where) for name in table.columns}
        taken = [i for i in range(table.rows) if not where or CONDITIONS[where](t, i)]
        groups = collections.defaultdict(list)
        for i in taken:
            groups[tuple(key_of(t[k][i]) for k in keys)].append(i)
        found = [(tuple(t[k][of[0]] for k in keys), of) for of in groups.values()]
        found.sort(key=lambda g: [order_of(v) for v in g[0]])
        found = [(tuple(v + 0.0 if isinstance(v, float) else v for v in g), of) for g, of in found]
        if total:
            found.append(((None,) * len(keys), taken))
        return [list(key) + [self.aggregate(t, op, name, of) for op, name in asked] for key, of in found]

    def aggregate(self, t, op, name, of):
        if op == "count":
            return len(of)
        values = [t[name.split("*")[0]][i] for i in of]
        values = [v * 3 if "*" in name else v for v in values if v is not None]
        return reduce(op, values)

    def lines(self, rows):
        return encode("".join("\t".join(show(v) for v in row) + "\n" for row in rows))


class By(TablesTest):
    def check(self, data, arguments, lines, note):
        path = self.write("t.csv", data)
        for j in (1, 2, 8):
            done = run(*arguments, "-j", j, path)
            self.assertEqual((done.stderr, done.stdout), (b"", lines), (note, arguments, j))
        for more in ([], ["-j2", "--memory", LIMIT]):
            done = run(*arguments, *more, stdin=data)
            self.assertEqual((done.stderr, done.stdout), (b"", lines), (note, arguments, more, "pipe"))

    def test_random_tables_are_those_of_python(self):
        for seed in range(CASES):
            r = random.Random(seed)
            nulls = r.choice([0, 0, 0.2])
            table = Table(r, r.choice([1, 5, 100, 1000, 20_000 if seed % 10 == 0 else 300]), nulls)
            keys = r.sample(["word", "year", "level", "mixed", "code", "code"], r.choice([1, 1, 2, 3]))
            asked = [(r.choice(OPERATIONS + ["count"]), r.choice(["price", "n", "odd", "cost", "price*3"])) for _ in range(r.randint(1, 5))]
            where = r.choice([None, None] + list(CONDITIONS))
            total = r.random() < 0.5
            arguments = ["group", "--by", ",".join(keys)] + ["--total"] * total
            arguments += ["--where", where] if where else []
            arguments += ["--null-policy", "skip"] if nulls else []
            for op, name in asked:
                arguments += ["--count"] if op == "count" else ["--" + op, name]
            self.check(table.text, arguments, self.lines(self.expect(table, keys, asked, where, total)), seed)

    def asked(self, r, nulls, rows):
        """A random command on a random table, and what it answers."""
        table = Table(r, rows, nulls)
        keys = r.sample(["word", "year", "level", "mixed", "code"], r.choice([1, 1, 2, 3]))
        asked = [(r.choice(OPERATIONS + ["count"]), r.choice(["price", "n", "odd", "cost", "price*3"]))
                 for _ in range(r.randint(1, 5))]
        total = r.random() < 0.5
        arguments = ["group", "--by", ",".join(keys)] + ["--total"] * total
        arguments += ["--null-policy", "skip"] if nulls else []
        for op, name in asked:
            arguments += ["--count"] if op == "count" else ["--" + op, name]
        return table, arguments, self.lines(self.expect(table, keys, asked, None, total))

    def test_several_files_are_one_table(self):
        for seed in range(CASES // 2 + 1):
            r = random.Random(3000 + seed)
            table, arguments, lines = self.asked(r, r.choice([0, 0.2]), r.choice([3, 100, 1000]))
            files = [self.write("%d.csv" % i, part) for i, part in enumerate(table.parts(r, r.randint(2, 5)))]
            for more in (["-j1"], ["-j8"], ["-j2", "--memory", LIMIT]):
                done = run(*arguments, *more, *files)
                self.assertEqual((done.stderr, done.stdout), (b"", lines), (seed, arguments, more))
            with open(files[1], "rb") as stream:
                done = run(*arguments, files[0], "-", *files[2:], stdin=stream.read())
            self.assertEqual((done.stderr, done.stdout), (b"", lines), (seed, arguments, "pipe"))

    def test_files_of_other_columns_are_refused(self):
        path, other = self.write("a.csv", b"k,v\n1,2\n"), self.write("b.csv", b"k,w\n1,2\n")
        lines = self.write("c.jsonl", b'{"k": 1, "v": 2}\n')
        self.refused(3, "no column is named 'v'", "group", "--by", "k", "--sum", "v", path, other)
        self.refused(3, "b.csv: it has no column v as", "group", "--by", "1", "--sum", "2", "--header", path, other)
        self.refused(3, "c.jsonl: JSON lines and other text are no one table", "count", "--by", "k", path, lines)

    def test_counts_are_those_of_a_counter(self):
        for seed in range(CASES // 4 + 1):
            r = random.Random(1000 + seed)
            table = Table(r, 500, 0)
            keys = r.sample(["word", "year", "mixed"], r.choice([1, 2]))
            rows = self.expect(table, keys, [("count", "")], None, False)
            counted = collections.Counter(zip(*(table.values(k) for k in keys)))
            self.assertEqual({tuple(row[:-1]): row[-1] for row in rows}, counted)
            common = sorted(rows, key=lambda row: -row[-1])
            self.check(table.text, ["count", "--by", ",".join(keys)], self.lines(common), seed)
            self.check(table.text, ["count", "--by", ",".join(keys), "--sort", "key", "-n", 3], self.lines(rows[:3]), seed)
            unique = ["unique", "--by", ",".join(keys)]
            self.check(table.text, unique, self.lines(row[:-1] for row in rows), seed)
            self.check(table.text, [*unique, "--count"], self.lines(rows), seed)
            self.check(table.text, ["count", "--by", ",".join(keys), "--sort", "-count"], self.lines(common), seed)
            rare = sorted(rows, key=lambda row: row[-1])
            self.check(table.text, ["count", "--by", ",".join(keys), "--sort", ":count"], self.lines(rare), seed)
            last = self.greatest_first(rows, len(keys))
            for more in ([], ["-n", 1]):
                self.check(table.text, ["count", "--by", ",".join(keys), "--sort", "-key", *more],
                           self.lines(last[:1] if more else last), seed)  # fmt: skip

    def greatest_first(self, rows, keys):
        """By each key from the greatest on, but NULL as the last; the sort is stable in either order."""
        for at in range(keys - 1, -1, -1):
            there = [row for row in rows if row[at] is not None]
            there.sort(key=lambda row: order_of(row[at]), reverse=True)
            rows = there + [row for row in rows if row[at] is None]
        return rows

    def test_sorted_by_a_column(self):
        for seed in range(CASES // 4 + 1):
            r = random.Random(2000 + seed)
            table = Table(r, 300, 0.4)
            asked = [("sum", "n"), ("max", "odd"), ("count", ""), ("min", "price")]
            rows = self.expect(table, ["mixed", "year"], asked, None, False)
            arguments = ["group", "--by", "mixed,year", "--null-policy", "skip", "--sum", "n=s", "--max", "odd", "--count",
                         "--min", "price=:x"]  # fmt: skip
            for at, name in [(0, "mixed"), (1, "year"), (2, "s"), (3, "max(odd)"), (5, "::x")]:
                down = r.random() < 0.5
                there = [row for row in rows if row[at] is not None]
                there.sort(key=lambda row: order_of(row[at]))
                if down:
                    there = [row for _, same in self.runs(there, at) for row in same]
                lines = self.lines(there + [row for row in rows if row[at] is None])
                self.check(table.text, arguments + ["--sort", "-" * down + name], lines, (seed, name, down))

    def test_sums_of_more_than_64_bits_are_sorted(self):
        sums = [2**63 + 5, -(2**64), 7, 2**63 - 1, -(2**63) - 9]
        parts = [(k, part) for k, s in enumerate(sums) for part in (s // 4, s // 4, s // 4, s - 3 * (s // 4))]
        data = encode("k,v\n" + "".join("%d,%d\n" % row for row in parts))
        for sort, down in [("sum(v)", False), ("-sum(v)", True)]:
            rows = sorted(([k, s] for k, s in enumerate(sums)), key=lambda row: row[1], reverse=down)
            self.check(data, ["group", "--by", "k", "--sum", "v", "--sort", sort], self.lines(rows), sort)

    def runs(self, rows, at):
        """Runs of equal values, the last first."""
        runs = collections.OrderedDict()
        for row in rows:
            runs.setdefault(order_of(row[at]), []).append(row)
        return list(runs.items())[::-1]

    def test_columns_by_number_name_and_expression(self):
        data = b"id,sum,x y\n1,2,3\n1,5,7\n2,1,1\n"
        path = self.write("t.csv", data)
        for arguments, lines in [
            (["--by", "1", "--sum", "2"], "1\t7\n2\t1"),
            (["--by", "id", "--sum", ":sum", "--max", "`x y` - sum=d"], "1\t7\t2\n2\t1\t0"),
            (["--by", ":id", "--count", "--sum", "id == 1 ? sum : 0"], "1\t2\t7\n2\t1\t0"),
            (["--by", "id", "--sum", "sum >= 2=most", "--csv"], "id,most\n1,2\n2,0"),
            (["--by", "id", "--quantile", "25:sum", "--csv"], "id,quantile(25:sum)\n1,2.75\n2,1"),
            (["--by", "id,id", "--mean", "x y"], "1\t1\t5\n2\t2\t1"),
            (["--by", "id", "--var", "sum", "--ddof", "1", "--total"], "1\t4.5\n2\tnan\n\t4.333333333333333"),
            (["--by", "id", "--count", "--where", "id > 5", "--total"], "\t0"),
        ]:
            self.assertEqual(self.result("group", *arguments, path), lines, arguments)
        path = self.write("u.csv", b"5,1\n5,2\n")
        self.assertEqual(self.result("group", "--by", "1", "--sum", "2", path), "5\t3")

    def test_a_column_that_turns_out_to_be_another(self):
        rows = ["%d,%d" % (i % 7, i) for i in range(200_000)]
        groups = [sum(range(k, 200_000, 7)) for k in range(7)]
        for last, first in [(",1", []), ("w,1", []), ("0.5,1", ["0.5"])]:
            text = ("k,v\n" + "\n".join(rows + [last]) + "\n").encode()
            lines = ["%d\t%d" % (k, s) for k, s in enumerate(groups)]
            at = {"": 7, "w": 7, "0.5": 1}[last.split(",")[0]]
            lines.insert(at, last.split(",")[0] + "\t1")
            self.check(text, ["group", "--by", "k", "--sum", "v"], ("\n".join(lines) + "\n").encode(), last)

    def test_many_groups(self):
        r = random.Random(5)
        keys = ["key %d" % r.randrange(30_000) for _ in range(150_000)]
        sums = collections.Counter()
        for i, key in enumerate(keys):
            sums[key] += i
        text = "v,k\n" + "".join("%d,%s\n" % (i, key) for i, key in enumerate(keys))
        lines = "".join("%s\t%d\n" % (key, sums[key]) for key in sorted(sums))
        self.check(text.encode(), ["group", "--by", "k", "--sum", "v"], lines.encode(), "many")

    def test_files_with_quotes_across_parts(self):
        r = random.Random(6)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["text", "v"])
        counted = collections.Counter()
        for _ in range(60_000):
            word = r.choice(["a\nb", 'say "x"\n', "c,d", "plain", "\n\n"]) * r.choice([1, 1, 1, 20])
            writer.writerow([word, 1])
            counted[word] += 1
        lines = self.lines([[word, counted[word]] for word in sorted(counted, key=encode)])
        self.check(out.getvalue().encode(), ["group", "--by", "text", "--sum", "v"], lines, "quotes")

    def test_a_list_of_words_has_no_header(self):
        path = self.write("t.txt", b"Tokyo\nLagos\nTokyo\n")
        self.assertEqual(self.result("count", "--by", 1, "--no-header", path), "Tokyo\t2\nLagos\t1")
        self.assertEqual(self.result("count", "--by", 1, path), "Lagos\t1\nTokyo\t1")
        self.refused(3, "--no-header: no row holds names", "count", "--by", "Tokyo", "--no-header", path)
        self.refused(2, "--header does not go with --no-header", "count", "--by", 1, "--header",
                     "--no-header", path)

    def test_unique_names_where_a_condition_holds(self):
        path = self.write("t.csv", b"id,city\n2,Lagos\n1,\n3,Lagos\n4,Bern\n")
        self.assertEqual(self.result("unique", "--by", "city", "--where", "id < 4", path), "Lagos")
        self.assertEqual(self.result("unique", "--by", "city", "--csv", path), "city\nBern\nLagos")
        for option in ["--total"], ["--nan", "skip"]:
            self.refused(2, option[0] + " does not go with --by", "unique", "--by", "city", *option, path)
        self.assertEqual(self.result("unique", "--column", "id", "--where", "id < 4", path), "1\n2\n3")

    def test_refusals(self):
        path = self.write("t.csv", b"id,city,price\n1,Lagos,2\n\n2,Tokyo,x\n3,,\n")
        numbers = self.write("n.csv", b"id,v\n1,2\n\n2,\n")
        twice = self.write("d.csv", b"a,a,b\n1,2,3\n")
        array = self.save("a.npy", np.arange(3.0))
        for code, message, arguments in [
            (3, "t.csv:4: column 3 (price): not a number: 'x'", ["--by", "id", "--sum", "price", path]),
            (3, "no column is named 'town'", ["--by", "town", "--count", path]),
            (3, "no column is named 'town'", ["--by", "id", "--sum", ":town", path]),
            (3, "no column 9: the first row has 3", ["--by", "9", "--count", path]),
            (3, "more than one column is named 'a'", ["--by", "a", "--count", twice]),
            (3, "more than one column is named 'a'", ["--by", "b", "--sum", "a*2", twice]),
            (3, "n.csv:4: column 2 (v): an empty field", ["--by", "id", "--sum", "v", numbers]),
            (3, "n.csv:4: no value of v*2: it is NULL", ["--by", "id", "--sum", "v*2", numbers]),
            (3, "n.csv:4: no value of v: it is NULL", ["--by", "id", "--sum", "v", "--where", "id > 0", numbers]),
            (3, "t.csv: --sum: no column is named 'w'", ["--by", "id", "--sum", "w + 1", path]),
            (3, "t.csv: --where: no column is named 'w'", ["--by", "id", "--count", "--where", "id < w", path]),
            (2, "t.csv: --sum: character 4: ')' expected", ["--by", "id", "--sum", "(id", path]),
            (2, "--where: 'id' is no condition", ["--by", "id", "--count", "--where", "id", path]),
            (3, "--sort: no column is named 'x'", ["--by", "id", "--count", "--sort", "x", path]),
            (2, "nothing is asked for", ["--by", "id", path]),
            (2, "--column does not go with --by", ["--by", "id", "--count", "--column", "id", path]),
            (2, "--by is for text", ["--by", "id", "--count", array]),
            (3, "no column is named 'id': it has no rows", ["--by", "id", "--count", os.devnull]),
            (3, "values are columns and expressions", ["--by", "id", "--sum", "./price", path]),
            (2, "--sum: 'price=' has no name behind '='", ["--by", "id", "--sum", "price=", path]),
            (2, "--max: '=x' has no values before '='", ["--by", "id", "--max", "=x", path]),
            (2, "--sort: more than one column is named 'x'",
             ["--by", "id", "--sum", "id=x", "--max", "id=x", "--sort", "x", path]),
        ]:
            with self.subTest(message):
                self.refused(code, message, "group", *arguments)

    def test_several_values_of_one_option_are_as_many_options(self):
        path = self.write("t.csv", b"k,amount,qty,\"a,b\"\n1,2,3,4\n2,5,6,7\n1,9,1,5\n1,4,8,0\n")
        for listed, apart in [
            (["--mean", "amount,qty", "--count"], ["--mean", "amount", "--mean", "qty", "--count"]),
            (["--quantile", "50,95:amount"], ["--quantile", "50:amount", "--quantile", "95:amount"]),
            (["--quantile", "0,12.5:qty,2*amount=d"], sum((["--quantile", p + v] for p in ("0:", "12.5:") for v in ("qty", "2*amount=d")), [])),
            (["--median", "max(amount, qty)=m,`a,b`", "--sum", "qty,qty"], ["--median", "max(amount, qty)=m", "--median", "`a,b`", "--sum", "qty", "--sum", "qty"]),
            (["--max", "(qty > 2 ? 1 : fma(qty, 2, 1)) + 0*2,:amount"], ["--max", "(qty > 2 ? 1 : fma(qty, 2, 1)) + 0*2", "--max", ":amount"]),
            (["--sum", "2,3"], ["--sum", "2", "--sum", "3"]),
        ]:
            self.assertEqual(self.result("group", "--by", "k", "--csv", *listed, path),
                             self.result("group", "--by", "k", "--csv", *apart, path), listed)
        keys, a, b = self.save("k.npy", np.array([1, 2, 1])), self.save("a.npy", np.array([3, 4, 5])), self.save("b,c.npy", np.array([1.5, 2, 4]))
        self.assertEqual(self.result("group", "--mean", a + "," + a, "--max", b, keys), "1\t4\t4\t4\n2\t4\t4\t2")
        self.assertEqual(self.result("group", "--column", "k", "--sum", "amount,qty", path), "1\t15\t12\n2\t5\t6")
        for text in "amount,", ",amount", "amount,,qty", "":
            self.refused(2, "bad operand of --mean: '%s' is not a file or a column" % text, "group", "--by", "k", "--mean", text, path)
        for text in "50", "50,:qty", ",5:qty", "5,x:qty", "5:", "101,5:qty", "5:qty,":
            self.refused(2, "bad operand of --quantile: '", "group", "--by", "k", "--quantile", text, path)
        self.refused(2, "more than 64 aggregates", "group", "--by", "k", "--sum", ",".join(["qty"] * 65), path)

    def test_names_in_backquotes(self):
        data = b'id,2015,"x,y","q`r","say ""hi""",1,count\n7,10,20,30,40,50,60\n5,11,20,30,40,51,61\n'
        for arguments, lines in [
            (["count", "--by", "2015"], "10\t1\n11\t1\n"), (["count", "--by", "`x,y`,id"], "20\t5\t1\n20\t7\t1\n"),
            (["count", "--by", "1", "--header"], "5\t1\n7\t1\n"), (["count", "--by", "`1`"], "50\t1\n51\t1\n"),
            (["count", "--by", "`q``r`"], "30\t2\n"), (["count", "--by", 'say "hi"'], "40\t2\n"),
            (["group", "--by", "id", "--sum", "`1`", "--sum", "1"], "5\t51\t5\n7\t50\t7\n"),
            (["group", "--by", "id", "--sum", "`2015`-`1`=x", "--sort", "-`x`"], "5\t-40\n7\t-40\n"),
            (["group", "--by", "`2015`", "--max", "`x,y`=1", "--sort", "-2015"], "11\t20\n10\t20\n"),
            (["group", "--by", "`2015`", "--max", "id=1", "--sort", "`1`"], "11\t5\n10\t7\n"),
            (["group", "--by", "`count`", "--count", "--sort", "-`count`"], "61\t1\n60\t1\n"),
        ]:
            self.check(data, arguments, lines.encode(), arguments)

    def test_expressions_of_decimals_are_exact(self):
        r = random.Random(7)
        rows = [(r.choice("xyz"), r.randint(-10**6, 10**6), r.randint(-999, 999)) for _ in range(3000)]
        rows += [("x", 30, 1), ("y", 10**9 + 1, 40)] # one is 0.3, some products are beyond 64 bits
        text = "k,a,b,c\n" + "".join("%s,%s,%s,%d\n" % (k, decimal.Decimal(a) / 100, decimal.Decimal(b) / 10, r.randint(1, 9)) for k, a, b in rows)
        text_of_table = text.encode()
        path = self.write("u.csv", text_of_table)
        values = [(k, Fraction(a, 100), Fraction(b, 10)) for k, a, b in rows]
        def show(x):
            shown = format(decimal.Context(prec=80).divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator)), "f")
            return shown.rstrip("0").rstrip(".") if "." in shown else shown
        def lines(of, meets, result):
            found = {}
            for k, a, b in values:
                if meets(a, b):
                    found.setdefault(k, []).append(of(a, b))
            return "".join("%s\t%s\n" % (k, show(Fraction(result(x)))) for k, x in sorted(found.items())).encode()
        for of, text, meets, where in [
            (lambda a, b: a + b, "a+b", lambda a, b: True, None),
            (lambda a, b: a * b, "a*b", lambda a, b: abs(a) < 1000, "abs(a) < 1e3"),
            (lambda a, b: a - 3 * b, "a - 3*b", lambda a, b: a == Fraction(3, 10), "a == 0.3"),
            (lambda a, b: a % 7, "a % 7", lambda a, b: a * a * a * b < 10, "a*a*a*b < 10"),
            (lambda a, b: int(a * a * a > b), "max(a*a*a > b, 0)", lambda a, b: True, None),
        ]:
            for aggregate, result in ("--sum", sum), ("--max", max):
                self.check(text_of_table, ["group", "--by", "k", aggregate, text, *(["--where", where] if where else [])],
                           lines(of, meets, result), text)
        self.check(text_of_table, ["group", "--by", "k", "--sum", "a*a*a"], lines(lambda a, b: a * a * a, lambda a, b: True, sum), "a*a*a")
        self.refused(3, "beyond 38 digits", "group", "--by", "k", "--sum", "a*a*a*a*a*a*a*a*a*a*a*a", path)

    def test_what_an_expression_refuses_has_its_line(self):
        rows = ["%d,%d" % (i % 3, i != 150_000) for i in range(200_000)] + ["3,%d" % 2**62]
        path = self.write("t.csv", ("k,v\n" + "\n".join(rows) + "\n").encode())
        for line, what, arguments in [
            (150_002, "7%v: character 2: integer division by zero", ["--sum", "7%v"]),
            (150_002, "k < 3 && 7%v == 0: character 11: integer division by zero",
             ["--count", "--where", "k < 3 && 7%v == 0"]),
            (200_002, "v*v*v: character 4: the result is beyond 38 digits", ["--sum", "v*v*v", "--where", "k == 3"]),
        ]:
            for j in (1, 2, 8):
                self.refused(3, "t.csv:%d: %s" % (line, what), "group", "-j", j, "--by", "k", *arguments, path)

    def test_a_dtype_holds_keys_exactly(self):
        for dtype, good, bad in [("i8", "-128", "128"), ("u8", "255", "-1"), ("i16", "7", "2.5"), ("f16", "65504", "2049"),
                                 ("f16", "0.5", "65520"), ("bf16", "255", "257"), ("f32", "16777216", "16777217"),
                                 ("f32", "0.5", "0.1"), ("f32", "0x1p127", "1e39"), ("f16", "6e-8", "6e-8"),
                                 ("f64", "0.1", "9007199254740993"), ("f64", "18446744073709549568", "18446744073709551615")]:
            path = self.write("k.csv", ("k,v\n1,1\n%s,2\n" % good).encode())
            if good != bad:
                self.result("group", "--by", "k", "--sum", "v", "--dtype", dtype, path)
            path = self.write("k.csv", ("k,v\n1,1\n\n%s,2\n" % bad).encode())
            for command in (["group", "--by", "k", "--sum", "v"], ["count", "--by", "k"], ["join", path, "--on", "k"]):
                for j in (1, 2):
                    self.refused(3, "not of dtype %s: '%s'" % (dtype, bad), *command, "--dtype", dtype, "-j", j, path)

    def test_results_of_two_bytes_are_sorted(self):
        data = b"k,v\n1,-1\n2,-3\n3,nan\n4,0.5\n5,-0.25\n"
        for dtype in ("f16", "bf16", "f32", "f64"):
            for op in ("max", "median"):
                arguments = ["group", "--by", "k", "--%s" % op, "v=m", "--dtype", dtype, "--sort", "m"]
                self.check(data, arguments, b"2\t-3\n1\t-1\n5\t-0.25\n4\t0.5\n3\tnan\n", dtype)

    def test_numbers_that_are_compared_with_strings_are_strings(self):
        data = b"k,v\n9,1\n10,2\n010,3\n9,4\n"
        for where, lines in [('k != ""', b"010\t3\n10\t2\n9\t5\n"), ('!isnull(k) && k == "10"', b"10\t2\n"),
                             ("k != 9", b"010\t3\n10\t2\n")]:
            self.check(data, ["group", "--by", "k", "--sum", "v", "--where", where], lines, where)

    def test_a_key_of_codes_is_a_number_as_a_value(self):
        data = b"zip,v,old\n07094,1,007094\n7094,2,07094\n00501,4,501\n"
        for arguments, lines in [
                (["--sum", "v", "--where", "zip > 5000"], b"07094\t1\n7094\t2\n"),
                (["--sum", "zip", "--mean", "zip", "--max", "zip*2+v"],
                 b"00501\t501\t501\t1006\n07094\t7094\t7094\t14189\n7094\t7094\t7094\t14190\n"),
                (["--sum", "zip", "--where", 'zip == "07094"'], b"07094\t7094\n"),
                (["--median", "zip", "--where", "zip == old && v < 4"], b"07094\t7094\n7094\t7094\n"),
                (["--sum", "zip", "--text", "zip", "--where", "zip < 7094"], b"00501\t501\n"),
                (["--sum", "v", "--number", "zip", "--where", "zip > 5000"], b"7094\t3\n")]:
            self.check(data, ["group", "--by", "zip", *arguments], lines, arguments)
            self.check(data.replace(b",", b" "), ["group", "--by", "zip", *arguments], lines, arguments)
        late = data.replace(b"\n", b"\n" + b"9,1,9\n" * 200_000, 1)
        self.check(late, ["group", "--by", "zip", "--sum", "zip", "--where", "zip > 5000"],
                   b"07094\t7094\n7094\t7094\n", "late")
        rows = b'{"zip": "07094", "v": 1}\n{"v": 2, "zip": "7094"}\n{"zip": 7094, "v": 4}\n'
        arguments = ["group", "--by", "zip", "--sum", "zip", "--sum", "v", "--where", "zip > 5000", "--format", "jsonl"]
        self.check(rows, arguments, b"07094\t7094\t1\n7094\t7094\t2\n7094\t7094\t4\n", "jsonl")
        self.check(data, ["count", "--by", "v", "--where", "zip > v && old >= zip"], b"1\t1\n2\t1\n4\t1\n", "values")

    def test_sorted_by_a_column_called_count(self):
        data = b"count,x\n5,a\n1,b\n1,b\n"
        for sort, lines in [("count", b"b\t2\t2\na\t1\t5\n"), (":count", b"b\t2\t2\na\t1\t5\n"),
                            ("-:count", b"a\t1\t5\nb\t2\t2\n")]:
            self.check(data, ["group", "--by", "x", "--count", "--sum", "count=count", "--sort", sort], lines, sort)

    def test_keys_are_what_is_written(self):
        """Reports of other tools: ids of digits and an E, of 20 digits, codes with zeros, money."""
        for text, arguments, want in [
                ("mac,n\n001E46977290,1\n00080E579718,2\n407009E70322,3\n", ["group", "--by", "mac", "--sum", "n"],
                 "00080E579718\t2\n001E46977290\t1\n407009E70322\t3"),
                ("id,v\n20000000000000000001,1\n20000000000000000002,2\n", ["group", "--by", "id", "--sum", "v"],
                 "20000000000000000001\t1\n20000000000000000002\t2"),
                ("id\n20000000000000000001\n20000000000000000002\n", ["unique", "--by", "id"],
                 "20000000000000000001\n20000000000000000002"),
                ("k\n9007199254740993\n9007199254740992.0\n", ["count", "--by", "k"],
                 "9007199254740992\t1\n9007199254740993\t1"),
                ("k,v\nx,1.1\nx,2.2\ny,0.1\ny,0.2\ny,-0.3\n", ["group", "--by", "k", "--sum", "v"], "x\t3.3\ny\t0"),
                ("zip\n07094\n7094\n", ["count", "--by", "zip"], "07094\t1\n7094\t1"),
                ("zip\n07094\n7094\n", ["count", "--by", "zip", "--number", "zip"], "7094\t2"),
                ("icd\n007.1\n7.1\n", ["count", "--by", "icd"], "007.1\t1\n7.1\t1"),
                ("k\n1.1\n1.10\n", ["count", "--by", "k", "--text", "k"], "1.1\t1\n1.10\t1"),
                ("k\n1.1\n1.10\n1\n1.0\n1e0\n", ["count", "--by", "1"], "1\t3\n1.1\t2"),
                ("k\n1e400\n1\n", ["count", "--by", "k"], "1\t1\n1e400\t1"),
                ("k\n1.25\n-0.5\n", ["unique", "--by", "k", "--json"], None)]:
            path = self.write("t.csv", text.encode())
            for more in ([], ["--memory", LIMIT]):
                shown = self.result(*arguments, *more, path)
                if want is None:
                    self.assertEqual([json.loads(line)["k"] for line in shown.split("\n")], [-0.5, 1.25])
                else:
                    self.assertEqual(shown, want, (text, more))
        path = self.write("t.csv", b"k,v\n1e400,1\n07,2\n")
        for arguments, code, what in [
                (["--by", "k", "--dtype", "f64"], 3, "not of dtype f64: '1e400'"),
                (["--by", "k", "--number", "k"], 3, "no dtype holds all of these keys exactly"),
                (["--by", "k", "--text", "w"], 3, "no column is named 'w'"),
                (["--by", "k", "--text", "v", "--where", "v > 1"], 3, "--text: the numbers of column 2 are wanted")]:
            self.refused(code, what, "count", *arguments, path)
        infer = run("count", "--by", "k", "--infer", "--csv", path).stdout.decode()
        self.assertIn("k,string,2,0,2,1e400,as a key: not held exactly", infer)
        infer = run("count", "--by", "k", "--infer", "--csv", self.write("t.csv", b"k\n7\n07\n")).stdout.decode()
        self.assertIn("k,string,2,0,3,07,as a key: a code", infer)

    def test_infer_says_what_columns_are_taken_for(self):
        """It tells of the columns that the command uses, in the order of the file, and nothing is
        grouped."""
        text = b'city,year,price,note,more\nLagos,2020,1,x,a\n"To\nkyo",2021,,5,b\n,2022,3.5,6,c\n9,18446744073709551615,4,y,d\n'
        path, memory = self.write("t.csv", text), ["-j2", "--memory", LIMIT]
        city = "city,string,4,1,2,Lagos,no number"
        year = "year,u64,4,0,6,18446744073709551615,more than i64 holds"
        price = "price,decimal,4,1,5,3.5,1 digit behind the point"
        for arguments, columns in [
                (["count", "--by", "year,city"], [city, year]),
                (["group", "--by", "city", "--sum", "price*2=p", "--where", 'note == "x"'],
                 [city, price, "note,string,4,0,,,compared with strings"]),
                (["group", "--by", "year", "--median", "3", "--count", "--header"], [year, price])]:
            want = ["file,column,dtype,rows,nulls,line,field,why"] + [path + "," + c for c in columns]
            for more in ([], memory):
                done = run(*arguments, "--infer", "--csv", *more, path)
                self.assertEqual((done.stderr, done.stdout.decode().split("\n")), (b"", want + [""]), arguments)
        for arguments, what in [(["group", "--by", "year", "--sum", "city"], b"not a number: 'Lagos'"),
                                (["count", "--by", "nowhere"], b"no column is named 'nowhere'")]:
            done = run(*arguments, "--infer", path)
            self.assertEqual((done.returncode, done.stdout), (3, b""), arguments)
            self.assertIn(what, done.stderr)
        self.assertIn(b"--infer needs --by", run("count", "--infer", path).stderr)


class Patterns(TablesTest):
    def test_a_value_that_ends_with_a_star_is_all_columns_of_such_names(self):
        table = self.write("t.csv", b"k,v1,v2,2,w\na,2,3,1,x\nb,4,5,7,y\na,6,7,2,y\n")

        def rows(*arguments):
            done = run("group", "--by", "k", "--csv", *arguments)
            return done.stdout.decode(), done.stderr.decode()

        self.assertEqual(rows("--sum", "v*", "--mean", "v1*v2", "--first", "w*", "--quantile", "50:v*", table),
                         ("k,sum(v1),sum(v2),mean(v1*v2),first(w),quantile(50:v1),quantile(50:v2)\n"
                          "a,8,10,24,x,4,5\nb,4,5,20,y,4,5\n", ""))
        self.assertEqual(rows("--sum", "2*", table)[0], "k,sum(2)\na,3\nb,7\n")  # a name, not a number
        self.assertEqual(rows("--sum", "v*", self.write("s.csv", b"k,v,v*\na,1,2\n"))[0], "k,sum(v*)\na,2\n")
        self.assertIn("no column is named 'z*'", rows("--sum", "z*", table)[1])
        self.assertIn("column 5 (w): not a number", rows("--sum", "w*", table)[1])
        wide = self.write("wide.csv", (",".join(["k"] + ["v%d" % i for i in range(70)]) + "\n" + ",".join("1" * 71) + "\n").encode())
        self.assertIn("--sum: more than 64 results", rows("--sum", "v*", wide)[1])
