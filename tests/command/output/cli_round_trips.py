"""What the commands write is read again as the same values: by the command, and by Python."""
import csv
import io
import json
import math
import os
import random
import struct
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np

from command import SANITIZED, CommandTest, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 10
WORDS = ["", " ", "  ", "a", "x y", "1e5", "true", "null", "007", "NaN", "inf", "-", "+", "1", "1.0", "0x10", "\t", "\n",
         "a\tb", "a,b", "a;b", "a|b", '"', '""', 'a"b', '"a"', "\r", "\r\n", "a\rb", "\u00e9", "\u65e5\u672c", "\U0001f600",
         "\ufeff", "\ufeffx", "NULL", "NA", "\\N", "'", "`", "#x", "# c", "sep=;", "$5", "1,5", "-0", "00", "=1+1", "a\n",
         "\na", " a", "a ", "\0", "\x01", "\x7f", "\x1a", "x" * 300, "\u2028", "\u00a0", "\\", 'a\\"b', "--", "{}", "[1]",
         ".5", "5.", "1e", "e5", "infinity", "-inf", "nan", "1_000"]
NAMES = ["a", "b", "", "1", "2", " ", "x y", "a,b", "a;b", "a\tb", '"', 'q"', "\u00e9", "count", "key", "null", "true", "1e5",
         "007", "\n", "a\nb", "#", "sep=;", "`", "a`b", ":a", "a:b", "-a", "\ufeff", "NaN", "a=b", "a\rb", "'", " lead",
         "trail "]
FORMS = {"--csv": ".csv", "--tsv": ".tsv", "--jsonl": ".jsonl"}


def written(text):
    """No text holds a NUL: in CSV and TSV it is as JSON has it."""
    return None if text is None else text.replace("\0", "\\u0000")


def number(text):
    """The value of a number's text, in which NaN is one and -0 is not 0."""
    x = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(str(text), str(text))
    if x in ("nan", "inf", "-inf"):
        return x
    d = Decimal(x)
    return "-0" if d == 0 and d.is_signed() else d


def looks_like_a_name(name):
    return name and name[0] not in "0123456789+-. " and name not in ("NaN",)


def some_float(r):
    return r.choice([r.random(), r.uniform(-1e308, 1e308), 5e-324, -5e-324, 2.2250738585072014e-308, 1e-300, -0.0, 0.0, math.inf,
                     -math.inf, math.nan, struct.unpack("d", struct.pack("Q", r.getrandbits(64) & ~(1 << 62)))[0]])


KINDS = {
    "integers": lambda r: str(r.choice([r.randrange(-9, 9), r.randrange(-2**63, 2**63), 2**53 + r.randrange(5), -2**63, 2**63 - 1])),
    "unsigned": lambda r: str(r.choice([r.randrange(9), r.randrange(2**64), 2**64 - 1, 10**19 - 1])),
    "decimals": lambda r: str(Decimal(r.randrange(-10**14, 10**14)).scaleb(-r.choice([0, 1, 2, 6]))),
    "floats": lambda r: repr(some_float(r)),
}


class RoundTrips(CommandTest):
    def read_python(self, form, text, header):
        """The names (None: there is no header) and rows that Python's own readers find, all as strings; NULL is ''."""
        if form == "--jsonl":
            objects = [json.loads(line) for line in text.decode().split("\n")[:-1]]
            return list(objects[0]) if objects else None, [list(o.values()) for o in objects]
        rows = list(csv.reader(io.StringIO(text.decode(), newline=""), delimiter="," if form == "--csv" else "\t"))
        rows = [row or [""] for row in rows]
        return (rows[0], rows[1:]) if header else (None, rows)

    def again(self, form, text, *arguments):
        """What the command makes of a file of this text, as JSON lines."""
        lines = self.result(*arguments, "--json", self.write("again" + FORMS[form], text)).split("\n")
        return [json.loads(line) for line in lines if line]

    def check_strings(self, form, text, names, rows, header):
        shown = rows if form == "--jsonl" else [[written(v) for v in row] for row in rows]
        found_names, found = self.read_python(form, text, header)
        plain = shown if form == "--jsonl" else [["" if v is None else v for v in row] for row in shown]
        self.assertEqual(sorted(found, key=repr), sorted(plain, key=repr), (form, text))
        if header:
            self.assertEqual(found_names, names)
        by = ",".join(str(i + 1) for i in range(len(names)))
        heads = [["--header"]] if header else [["--no-header"]]
        if header and all(map(looks_like_a_name, names)):
            heads.append([])
        for head in [[]] if form == "--jsonl" else heads:
            for more in [[]] if form == "--jsonl" else [[], ["--delimiter", "," if form == "--csv" else "\t"]]:
                text_too = [] if form == "--jsonl" else ["--text", by, *head, *more]
                got = self.again(form, text, "unique", "--by", by, *text_too)
                self.assertEqual(sorted((list(o.values()) for o in got), key=repr), sorted(shown, key=repr), (form, head, text))
                if header:
                    self.assertEqual(list(got[0]), names)

    def test_strings_and_names(self):
        for seed in range(CASES):
            r = random.Random(seed)
            columns = r.choice([1, 1, 2, 3])
            names = r.sample(NAMES, columns)
            pools = [r.sample(WORDS, r.randint(1, 8)) + [None] * r.randrange(2) for _ in range(columns)]
            rows = [[r.choice(pool) for pool in pools] for _ in range(r.choice([1, 2, 5, 30]))]
            data = "".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows).encode()
            different = [list(row) for row in set(map(tuple, rows))]
            by = ",".join(str(i + 1) for i in range(columns))
            for form, header in [("--csv", True), ("--tsv", True), ("--tsv", False), ("--jsonl", True)]:
                if not header and [None] in rows:
                    continue # without a name, an empty line is no row
                more = ["--header"] if form == "--tsv" and header else []
                done = run("unique", "--by", by, "--format", "jsonl", form, *more, stdin=data)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.check_strings(form, done.stdout, names, different, header)
                self.result("unique", "--by", by, "--format", "jsonl", form, *more, "-o", self.path("x" + FORMS[form]), stdin=data)
                with open(self.path("x" + FORMS[form]), "rb") as f:
                    self.assertEqual(f.read(), done.stdout)

    def expected(self, command, values):
        """The numbers of the first column, in the order that a sort has; None: those that are shown are taken."""
        key = [number(v) for v in values]
        rank = {"nan": 2, "-inf": -1, "inf": 1}
        order = sorted(range(len(values)), key=lambda i: (
            rank.get(key[i], 0), Decimal(0) if key[i] in ("-0", *rank) else key[i], key[i] != "-0"))
        if command[0] == "argsort":
            return [Decimal(i) for i in order]
        ordered = [key[i] for i in order]
        if command[0] == "unique":
            return list(dict.fromkeys(Decimal(0) if k == "-0" else k for k in ordered))
        return sorted(ordered[-3:], key=ordered.index, reverse=True) if command[0] == "top" else ordered

    def test_numbers(self):
        for seed in range(CASES):
            r = random.Random(seed)
            kind = r.choice(list(KINDS))
            values = [KINDS[kind](r) for _ in range(r.choice([1, 2, 7, 40]))]
            name = self.write("s.csv", ("v\n" + "\n".join(values) + "\n").encode())
            dtype = ["--dtype", "f64"] if kind == "floats" else [] # a text of whole numbers has no -0
            for command in (["sort"], ["argsort"], ["unique"], ["unique", "--count"], ["top", "-n", 3]):
                want = self.expected(command, values)
                for out in ("x.csv", "x.tsv", "x.jsonl", "x.txt", "x.npy"):
                    if out == "x.npy" and len(command) > 1:
                        continue
                    path = self.path(out)
                    self.result(*command, *dtype, "--column", "v", name, "-o", path)
                    if out == "x.npy":
                        self.check_array(path, want, kind)
                        continue
                    column = ["--column", "value"] if out in ("x.csv", "x.jsonl") else ["--column", 1, "--no-header"]
                    again = dtype if command[0] in ("sort", "top") else []
                    found = [number(v) for v in self.result("sort", *again, *column, path).split("\n")]
                    self.assertEqual(Counter(found), Counter(want), (kind, command, out, values))
                    if out == "x.jsonl":
                        with open(path) as f:
                            objects = [json.loads(line, parse_float=str, parse_int=str) for line in f]
                        self.assertEqual([number(o["value"]) for o in objects], want)

    def check_array(self, path, want, kind):
        array = np.load(path)
        if kind == "decimals" and array.dtype == "f8":
            self.assertEqual(array.tolist(), [float(v) for v in want])
            return
        self.assertEqual([number(repr(v)) for v in array.tolist()], want)
        again = [number(v) for v in self.result("sort", path).split("\n")]
        self.assertEqual(Counter(again), Counter(want))

    def test_groups_and_joins(self):
        for seed in range(CASES // 3 + 1):
            r = random.Random(seed)
            pool = r.sample([w for w in WORDS if "\0" not in w], 6) + ["word", None]
            rows = [(r.choice(pool), r.randrange(-10**18, 10**18), Decimal(r.randrange(-10**6, 10**6)).scaleb(-2),
                     some_float(r)) for _ in range(r.choice([3, 50]))] + [("word", 2**53 + 1, Decimal("0.25"), 0.5)]
            data = "".join('{"key":%s,"i":%d,"d":%s,"f":%s}\n' % (json.dumps(k), i, d, json.dumps(f)) for k, i, d, f in rows)
            name = self.write("rows.jsonl", data.encode())
            of = defaultdict(list)
            for k, *others in rows:
                of[k].append(others)
            sums = {k: [number(sum(x[0] for x in v)), number(sum(x[1] for x in v)), number(len(v))] for k, v in of.items()}
            for form in FORMS:
                more = ["--header"] if form == "--tsv" else []
                text = run("group", "--by", "key", "--sum", "i=big", "--sum", "d=money", "--max", "f=most", "--count", form, *more,
                           name).stdout
                path = self.write("groups" + FORMS[form], text)
                self.check_groups(form, path, sums, ["big", "money", "count"])
                keys = [] if form == "--jsonl" else ["--text", "key"]
                others = self.write("others" + FORMS[form], run("unique", "--by", "key", *keys, form, *more, path).stdout)
                joined = self.write("joined" + FORMS[form], run(
                    "join", "--on", "key", path, others, "--take", "big,count,key,money", form, *more, *keys).stdout)
                self.check_groups(form, joined, {k: v for k, v in sums.items() if k is not None}, ["big", "money", "count"])
                found = self.result("max", "--column", "most", path)
                most = [max(x[2] for x in v) if not any(math.isnan(x[2]) for x in v) else math.nan for v in of.values()]
                want = math.nan if any(map(math.isnan, most)) else max(most)
                self.assertEqual(repr(float(found)), repr(want + 0.0 if want else float(found)))

    def check_groups(self, form, path, sums, names):
        keys = [] if form == "--jsonl" else ["--text", "key"]
        wants = [v for n in names for v in ("--sum", n + "=" + n)]
        lines = self.result("group", "--by", "key", *keys, *wants, "--jsonl", path).split("\n")
        found = [list(json.loads(line, parse_float=str, parse_int=str).values()) for line in lines]
        self.assertEqual({k: [number(x) for x in v] for k, *v in found}, sums, (form, path))

    def test_keys_of_json_keep_their_types(self):
        keys = [True, False, 1, 0, "true", "1", "", None, 1.5, "NaN", math.inf, 2**53 + 1, 10**30 + 1, "inf", str(2**53 + 1)]
        data = "".join(json.dumps({"k": k}) + "\n" for k in keys)
        for command in (["count", "--by", "k"], ["count", "--column", "k"], ["unique", "--column", "k"], ["unique", "--by", "k"]):
            name = self.write("k.jsonl", data.encode())
            for _ in range(2): # what was written the first time is read the second
                self.result(*command, name, "-o", self.path("out.jsonl"))
                name = self.path("out.jsonl")
                with open(name) as f:
                    found = [json.loads(line)["k"] for line in f]
                self.assertEqual(sorted(map(repr, found)), sorted(map(repr, keys)))
                os.rename(name, self.path("in.jsonl"))
                name = self.path("in.jsonl")

    def test_results_of_axes_and_descriptions(self):
        r = random.Random(5)
        for dtype in ("f8", "f4", "i8", "u1")[:: 2 if SANITIZED else 1]:
            array = np.array([[some_float(r) if dtype[0] == "f" else r.randrange(100) for _ in range(5)] for _ in range(4)])
            with np.errstate(over="ignore"):
                name = self.save("x.npy", array.astype(dtype))
            array = np.load(name)
            for command, want in [(["max", "--axis", 0], array.max(axis=0)), (["min", "--axis", 1], array.min(axis=1)),
                                  (["sort", "--axis", 1], np.sort(array, axis=1)),
                                  (["argsort", "--axis", 0], np.argsort(array, axis=0, kind="stable"))]:
                out = self.path("y.npy")
                self.result(*command, name, "-o", out)
                if command[0] != "argsort":
                    np.testing.assert_array_equal(np.load(out), want)
                again = self.path("z.npy")
                self.result("map", "add", out, self.save("zero.npy", np.zeros(1, np.load(out).dtype)), "-o", again)
                np.testing.assert_array_equal(np.load(again), np.load(out))
                for form in FORMS:
                    path = self.path("y" + FORMS[form])
                    self.result(*command, name, "-o", path)
                    column = ["--column", 1, "--no-header"] if form == "--tsv" else ["--column", "value"]
                    kind = ["--dtype", {"f4": "f32", "f8": "f64"}.get(np.load(out).dtype.str[1:], "i64")]
                    self.result("sort", *column, *kind, path, "-o", self.path("w.npy"))
                    np.testing.assert_array_equal(np.load(self.path("w.npy")), np.sort(np.load(out).ravel()))
        text = self.write("t.csv", b"a,b\n1,2.5\n-3,1e-320\n9007199254740993,-7\n")
        for form in FORMS:
            for command, column, want in [
                    (["describe", "--column", "a,b"], "max", ["2.5", "9007199254740993"]),
                    (["hist", "--column", "b", "--bins", 4, "--range=-8:8"], "lo", ["-8", "-4", "0", "4"]),
                    (["sum", "--column", "a,b"], "value", ["-4.5", "9007199254740991"]),
                    (["quantile", "-p", "0,100", "--column", "a"], "value", ["-3", "9007199254740993"]),
                    (["median", "--column", "a"], "value", ["1"])]:
                path = self.path("d" + FORMS[form])
                header = ["--header"] if form == "--tsv" else []
                with open(path, "wb") as f:
                    f.write(run(*command, form, *header, text).stdout)
                self.assertEqual(self.result("sort", "--column", column, path).split("\n"), want, (form, command))

    def test_names_of_keys_and_of_files(self):
        name = self.write('q"\t.csv', b"a,b\n1,2\n1,3\n")
        self.assertEqual(self.result("group", "--column", "b", "--sum", ":a", "--csv", name), "b,sum(a)\n2,1\n3,1")
        for form in FORMS:
            text = run("sum", "--column", "a,b", form, "--header", name).stdout
            found = self.read_python(form, text, True)[1]
            self.assertEqual([row[-1] for row in found], [name] * 2)
            self.assertEqual([o["file"] for o in self.again(form, text, "unique", "--by", "file", *[
                "--header"][:form != "--jsonl"])], [name])
