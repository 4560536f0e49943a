"""JSON lines: against Python's json module."""
import collections
import gzip
import json
import math
import os
import random
import re
import subprocess
import unittest
from fractions import Fraction

from command import THREADS_ALONE, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 6
THREADS = [2, 8] if THREADS_ALONE else [1, 2, 3, 8]
LIMIT = "%dM" % (least_memory() + 5)
SHOW_ROWS = os.environ.get("BITFOLD_SHOW_ROWS", "show_rows")
WORDS = ["", "a", "Tokyo", "New York", "Lagos, NG", 'say "no"', '"', "\\", "\\n", "two\nlines", "\t",
         "\u00e9t\u00e9", "\U0001f600", "\0", "\x1f", "/", "\u2028", "{}", "null", "12", "x" * 40]
NAMES = ["a", "b", "price", "\u00e9", 'q"', "a b", "", "back\\slash"]


def dump(r, value):
    """JSON in one of the ways that there are to write it."""
    text = json.dumps(value, ensure_ascii=r.random() < 0.5,
                      separators=r.choice([(",", ":"), (" , ", " : "), (",\t", ": ")]))
    return text.replace("/", "\\/") if r.random() < 0.2 else text


def nested(r, depth=0):
    kind = r.randrange(4 if depth < 4 else 2)
    if kind == 2:
        return [nested(r, depth + 1) for _ in range(r.randrange(3))]
    if kind == 3:
        return {w: nested(r, depth + 1) for w in r.sample(WORDS, r.randrange(3))}
    return r.choice(WORDS) if kind else r.choice([1, -2.5, True, None])


class Json(CommandTest):
    def show(self, data, *options, pipe=False, j=1, part=0, most=0):
        """The rows that show_rows prints."""
        arguments = [SHOW_ROWS, "-" if pipe else self.write("x", data), j, part, most, "json=1", *options]
        done = subprocess.run(list(map(str, arguments)), input=data if pipe else b"",
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().split("\n")[:-1]
        return lines[len(lines) - lines[::-1].index("again"):] if "again" in lines else lines

    def ways(self, r, data, *options):
        """Returns the rows, which are the same however they are read."""
        found = {tuple(self.show(data, *options, pipe=r.random() < 0.3, j=r.choice(THREADS),
                                 part=r.choice([0, 1, 10, 100, 1000]), most=r.choice([0, 7, 999])))
                 for _ in range(3)}
        self.assertEqual(len(found), 1)
        return list(found.pop())

    def text(self, r, rows):
        """Lines of the rows, with keys in any order and others between them."""
        lines = []
        for i, row in enumerate(rows):
            keys = list(row)
            if i > 0:
                r.shuffle(keys)
            more = {"other%d" % k: nested(r) for k in range(r.randrange(3))} if i else {}
            row = {k: row[k] for k in keys if row[k] is not None or i == 0 or r.random() < 0.5}
            lines.append(r.choice(["", " ", "\t"]) + dump(r, {**more, **row}) + r.choice(["", " ", "\r"]))
            lines += [""] * (r.random() < 0.05)
        return ("\n".join(lines) + r.choice(["", "\n"])).encode()

    def test_values_are_those_of_python(self):
        for seed in range(CASES):
            r = random.Random(seed)
            names = r.sample(NAMES, 4)
            kinds = [lambda: r.choice([r.randrange(-99, 99), r.random(), True, False, None, "1.5"]),
                     lambda: r.choice([r.choice(WORDS), 5, None]),
                     lambda: r.choice([r.randrange(-2**63, 2**63), -1e300, 5]), lambda: nested(r)]
            rows = [dict(zip(names, [make() for make in kinds]))
                    for _ in range(r.choice([1, 10, 1000]))]
            data = self.text(r, rows)
            fields = ["columns=1", "strings=2", "columns=3"]
            for name, field in zip(names[:3], fields):
                got = self.ways(r, data, field, "skip=1", "settled=1")
                values = [row[name] for row in rows]
                if field == "strings=2":
                    want = ["NULL" if v is None else "=" + str(v).encode().hex() for v in values]
                    self.assertEqual(got, want, seed)
                    continue
                floats = not all(v is None or isinstance(v, int) for v in values)
                for g, v in zip(got, values):
                    self.assertEqual(g == "NULL", v is None)
                    if v is not None:
                        self.assertEqual(float.fromhex(g) if floats else int(g),
                                         float(v) if floats else int(v), seed)
                self.assertEqual(len(got), len(rows))

    def test_a_string_is_no_number_among_keys(self):
        data = b'{"k":7,"v":1}\n{"k":"007","v":2}\n{"k":"7","v":4}\n{"v":8}\n{"k":null,"v":16}\n'
        for j in THREADS:
            self.assertEqual(self.show(data, "keys=k", "settled=1", j=j),
                             ["=" + b"7".hex(), "=" + b"007".hex(), "=" + b"7".hex(), "NULL", "NULL"])

    def grouped(self, data, *arguments):
        """The keys and sums that --json shows, as Python reads them; the same however it is done."""
        found = set()
        for more in [["-j", j] for j in THREADS] + [["-j", 2, "--memory", LIMIT]]:
            lines = self.result("group", "--by", "k", "--sum", "v=v", "--format", "jsonl", "--json", *arguments, *more,
                                stdin=data).split("\n")
            found.add(tuple(lines))
        self.assertEqual(len(found), 1)
        return [tuple(json.loads(row).values()) for row in found.pop()]

    def test_keys_of_different_types_stay_apart(self):
        """Numbers are one key if they are equal; a bool is no number, and a string is neither."""
        pools = [[True, False], ["true", "1", "1.0", "", "false", "null", "x\0", "\u00ff"], [0, 1, -1, 10, 2, 2**53 - 1],
                 [1.0, 0.5, -2.5, 1e300, -0.0, 10.0], [None]]
        for seed in range(CASES // 2 + 1):
            r = random.Random(seed)
            pool = sum(r.sample(pools, r.randint(1, 5)), [])
            keys = [r.choice(pool) for _ in range(r.choice([1, 5, 100]))]
            sums = collections.defaultdict(int)
            for v, k in enumerate(keys):
                sums[self.identity(k)] += v
            data = "".join(dump(r, {"v": v, "k": k}) + "\n" for v, k in enumerate(keys)).encode()
            want = sorted(sums.items())
            found = [(self.identity(k), v) for k, v in self.grouped(data)]
            self.assertEqual(found, want, (seed, data))
            last = [of for of in want[::-1] if of[0] != (3,)] + [of for of in want if of[0] == (3,)]
            self.assertEqual([(self.identity(k), v) for k, v in self.grouped(data, "--sort=-key")], last, (seed, data))

    @staticmethod
    def identity(key):
        """Strings by their bytes, false, true, numbers by value, then what is none."""
        if key is None:
            return (3,)
        if isinstance(key, str):
            return (0, key.encode())
        return (1, key) if isinstance(key, bool) else (2, Fraction(key))

    def test_keys_beyond_doubles_and_odd_ones(self):
        """Numbers have every digit, whatever a double holds; bytes that are no UTF-8."""
        big = ["9007199254740993", "9007199254740992", "9007199254740992.0", "18446744073709551615", "-9007199254740993",
               "-9007199254740992", "-9223372036854775808", "NaN", "Infinity", "-Infinity", '"a"']
        data = "".join('{"k":%s,"v":%d}\n' % (k, 2**i) for i, k in enumerate(big)).encode()
        self.assertEqual(str(self.grouped(data)), str([
            ("a", 1024), (-math.inf, 512), (-9223372036854775808, 64), (-9007199254740993, 16), (-9007199254740992, 32),
            (9007199254740992, 6), (9007199254740993, 1), (18446744073709551615, 8), (math.inf, 256), (math.nan, 128)]))
        data = b"".join(b'{"k":%s,"v":1}\n' % k for k in [b'"\xffw"', b"true", b'"\xff"', b'"\xffsx"', b'"\xffx"', b"1"])
        for memory in ([], ["--memory", LIMIT]):
            shown = run("count", "--by", "k", "--sort", "key", "--format", "jsonl", *memory, stdin=data).stdout
            self.assertEqual(sorted(shown.split(b"\n")[:-1]),
                             sorted(k + b"\t1" for k in [b"\xffw", b"true", b"\xff", b"\xffsx", b"\xffx", b"1"]))

    def test_conditions_see_the_types_of_keys(self):
        data = b'{"k":1,"v":1}\n{"k":"1","v":2}\n{"k":true,"v":4}\n{"k":"true","v":8}\n{"v":16}\n'
        for where, want in [('k == "1"', [("1", 2)]), ('k == "true"', [("true", 8)]), ("isnull(k)", [(None, 16)]),
                            ("v >= 2", [("1", 2), ("true", 8), (True, 4), (None, 16)])]:
            self.assertEqual(self.grouped(data, "--where", where), want)
        self.assertEqual(self.result("group", "--by", "k", "--sum", "k", "--format", "jsonl", stdin=b'{"k":1}\n{"k":true}\n'),
                         "true\t1\n1\t1")
        self.refused(3, "not a number: 'x'", "group", "--by", "k", "--sum", "k", "--format", "jsonl", stdin=b'{"k":1}\n{"k":"x"}\n')
        self.assertEqual(self.result("sum", "--format", "jsonl", stdin=b'{"k":1}\n{"k":true}\n'), "2")

    def test_a_nul_is_written_as_json_has_it(self):
        data = b'{"k":"a\\u0000b","\\u0000":1}\n{"k":"%s","\\u0000":2}\n' % (b"\\u0000" * 50)
        nuls = "\\u0000" * 50
        for form, text in [("--tsv", '"%s"\t1\n"a\\u0000b"\t1' % nuls), ("--csv", 'k,count\n"%s",1\n"a\\u0000b",1' % nuls)]:
            for memory in ([], ["--memory", LIMIT]):
                self.assertEqual(self.result("count", "--by", "k", form, "--format", "jsonl", *memory, stdin=data), text)
        self.assertEqual(self.result("group", "--by", "\\u0000", "--count", "--csv", "--format", "jsonl", stdin=data),
                         '"\\u0000",count\n1,1\n2,1'.replace('"', ""))

    def test_columns_are_the_keys_of_the_first_lines(self):
        data = b'{"id":1,"price":2.5,"\\u006ew":3}\n{"nw":30,"price":1,"id":2,"late":5}\n'
        for name, want in [("id", "3"), ("price", "3.5"), ("nw", "33"), ("2", "3.5")]:
            self.assertEqual(self.result("sum", "--column", name, self.write("x.jsonl", data)), want)
        self.assertEqual(self.result("sum", "--column", "price,id", "--format", "jsonl", stdin=data),
                         "id\t3\nprice\t3.5")
        self.assertEqual(self.result("sum", "-e", "price*id", self.path("x.jsonl")), "4.5")
        self.assertEqual(self.result("sum", self.write("y.ndjson", b'{"v":1}\n{"v":2}\n')), "3")
        self.assertEqual(self.result("sum", self.write("y.ndjson.gz", gzip.compress(b'{"v":1}\n'))), "1")
        self.assertEqual(self.result("sum", self.write("empty.jsonl", b"")), "0")
        for options, what in [([], "4 fields in the first lines, and no --column says which"),
                              (["--column", "late"], "no key 'late' in this line"),
                              (["--column", "5"], "no column 5: the first lines have 4 keys"),
                              (["--column", "id,nope"], "no column is named 'nope'")]:
            self.refused(3, what, "sum", *options, self.path("x.jsonl"))
        self.assertEqual(self.result("sum", "--column", "late", "--null-policy", "skip", self.path("x.jsonl")), "5")
        late = b'{"v":1}\n\n{"v":2,"k":"x"}\n{"v":4,"v":4}\n'
        self.assertEqual(self.result("count", "--by", "k", "--format", "jsonl", stdin=late.replace(b',"v":4', b"")), "\t2\nx\t1")
        self.refused(3, "-:4: the key 'v' twice", "group", "--by", "k", "--sum", "v", "--format", "jsonl", stdin=late)
        for by in (["count", "--by", "z"], ["sum", "--column", "z"]):
            error = self.refused(3, "no column is named 'z'", *by, "--format", "jsonl", stdin=late)
            self.assertIn("hint: the columns are the keys of the first lines: v, k\n", error)
        many = b'{"a":1}\n' * 100_000
        self.assertEqual(self.result("sum", "--column", "a", "--format", "jsonl", stdin=many + b'{"b":1,"a":1}\n'), "100001")
        self.refused(3, "no column is named 'b'", "count", "--by", "b", "--format", "jsonl", stdin=many + b'{"b":1,"a":1}\n')
        self.assertEqual(self.result("count", "--by", "b", "--format", "jsonl", stdin=b'{}\n{"b":1}\n'), "1\t1\n\t1")
        for option in [["--delimiter", ","], ["--null", "x"], ["--lax"]]:
            self.refused(2, option[0] + " is not for JSON lines", "sum", *option, self.path("x.jsonl"))
        self.refused(3, "the first object has no keys", "sum", "--format", "jsonl", stdin=b"{}\n")

    def test_a_key_twice_in_the_first_line_is_refused_as_in_others(self):
        for data in [b'{"a":1,"a":2}\n', b'{"b":1,"a":2,"b":3}\n', b'{"a":1,"b":2}\n{"a":1,"a":2}\n']:
            self.refused(3, "twice in an object", "sum", "--format", "jsonl", "--column", 1,
                         stdin=data)
        self.refused(3, "-:1: the key 'a' twice", "describe", "--infer", "--format", "jsonl",
                     stdin=b'{"a":1,"a":2}\n')

    @unittest.skipIf(THREADS_ALONE, "one line, of one thread")
    def test_an_object_has_a_million_keys_at_most(self):
        most = 1 << 20
        keys = b",".join(b'"%d":1' % k for k in range(most))
        name = self.write("x.jsonl", b"{%s}\n" % keys)
        self.assertEqual(self.result("sum", "--column", most, name), "1")
        name = self.write("x.jsonl", b'{%s,"more":1}\n' % keys)
        self.refused(3, "x.jsonl:1: an object of more than %d keys" % most, "sum", "--column", 1, name)

    def test_what_has_no_value(self):
        data = b'{"a":1,"b":2}\n{"b":3}\n{"a":null,"b":4}\n{"a":5,"b":6}\n'
        self.assertEqual(self.result("sum", "--format", "jsonl", "--column", "a,b", "--null-policy",
                                     "skip", stdin=data), "a\t6\nb\t15")
        self.refused(3, "-:2: no key 'a' in this line", "sum", "--format", "jsonl", "--column", "a",
                     stdin=data)
        self.refused(3, "-:1: null, not a number", "sum", "--format", "jsonl",
                     stdin=b'{"a":null}\n')

    def test_what_is_not_json_is_told_with_its_line(self):
        lines = b'{"a":1,"s":"\\u00e9"}\n' * 30_000
        for bad, what in [
                ('{"a":01}', "expected ',' or '}', not '1'"), ('{"a":1.}', "expected a digit, not '}'"),
                ('{"a":.5}', "expected a value, not '.'"), ('{"a":+1}', "expected a value, not '+'"),
                ('{"a" 1}', "expected ':' behind a key, not '1'"), ('{a:1}', "expected a key in quotes"),
                ('{"a":1,}', "expected a key in quotes, not '}'"), ('{"a":1}x', "expected the end of"),
                ('[1]', "expected an object in {}, not '['"), ('{"a":"\\x"}', "behind a backslash"),
                ('{"a":1,"s":"\\ud800"}', "expected a pair of surrogates"),
                ('{"a":1,"s":"\\u12g4"}', "expected four hexadecimal digits"),
                ('{"a":"x', "expected the end of a string, and the line ends"),
                ('{"a":1,"a":2}', "the key 'a' twice"), ('{"a":1', "expected ',' or '}', and the line"),
                ('{"a":1,"o":[1}', "expected ',' or ']', not '}'"), ('{"a":{}}', "an object, not a value"),
                ('{"a":[1]}', "an array, not a value"), ('{"a":"x"}', "not a number: 'x'"),
                ('{"a":1,"o":' + "[" * 600 + "]" * 600 + "}", "more than 512 objects and arrays"),
                ('{"a":1,"s":"\0"}', "a NUL byte")]:
            data = lines + bad.encode() + b"\n" + lines[:1000]
            name = self.write("x.jsonl", data)
            for j in [3] if THREADS_ALONE else [1, 3]:
                self.refused(3, "%s:30001: " % name, "sum", "--column", "a", "-j", j, name)
                self.refused(3, what, "sum", "--column", "a", "-j", j, "--format", "jsonl", stdin=data)

    @unittest.skipIf(THREADS_ALONE, "two lines, of one thread")
    def test_what_python_takes_is_taken_and_nothing_else(self):
        good = ['{"a": 1, "b": [1, {"c": "x\\u00e9\\n"}, -2.5e-3, true, null]}',
                '{"a":-0,"o":{"p":{},"q":[]},"s":"\\"\\\\"}', '{"s":"\u00e9","a":1E5,"f":false}']
        r, taken = random.Random(7), 0
        for _ in range(CASES * 20):
            line = list(r.choice(good))
            for _ in range(r.randrange(4)):
                at = r.randrange(len(line))
                what = r.choice('{}[]",:\\ 0159.-+eEtrufalsn\tx')
                line[at:at + r.randrange(2)] = r.choice([what, "", what * 2])
            line = "".join(line)
            if re.search(r"\\u[dD][89a-fA-F]", line):
                continue
            try:
                pairs = json.loads(line, object_pairs_hook=list, parse_constant=lambda s: 0)
                fits = line.lstrip()[:1] == "{" and len([v for k, v in pairs if k == "a"]) <= 1
                fits = fits and not any(k == "a" and isinstance(v, list) for k, v in pairs)
            except ValueError:
                fits = False
            got = subprocess.run([SHOW_ROWS, "-", "1", "0", "0", "json=1", "strings=a"],
                                 input=b'{"a":1}\n' + line.encode(), capture_output=True)
            self.assertEqual(got.returncode == 0, fits, (line, got.stderr))
            taken += fits
        self.assertGreater(taken, CASES)


class LateKeys(CommandTest):
    """A key that only a late line has is no column; it is refused where the command would lose its value."""

    def test_a_key_that_would_be_lost_is_refused(self):
        n = 20_000
        text = "".join('{"a":%d,"b":"x"}\n' % (i % 7) for i in range(n)) + '{"a":9,"l\\u0061te":5}\n'
        path, other = self.write("x.jsonl", text.encode()), self.write("y.jsonl", b'{"a":9,"z":"z"}\n')
        at = "x.jsonl:%d: no column for the key 'late'" % (n + 1)
        for ask in [["describe"], ["describe", "--infer"], ["sort", "--by", "a", "--csv"], ["sort", "--by", "a", "--json"],
                    ["top", "--by", "a", "-n", "1", "--csv"], ["sample", "-n", "3", "--csv"], ["shuffle", "--tsv"]]:
            self.refused(3, at, *ask, path)
        for ask in [["join", path, other], ["join", other, path], ["join", "--how", "semi", path, other]]:
            self.refused(3, at, *ask, "--on", "a")
        lone = "".join('{"a":1}\n' for _ in range(60_000)) + '{"b":2}\n'
        for ask in ["sum", "count", "sort", "hist", "median"]:
            self.refused(3, "no column for the key 'b'", ask, "--format", "jsonl", stdin=lone.encode())

    def test_hints_say_how_to_read_what_is_refused(self):
        lines, nested = b'{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n', b'{"a":1,"o":{"b":2}}\n'
        for ask in [["sum"], ["sum", "--column", "a"], ["describe"], ["count", "--by", "a"], ["sort", "--by", "a"]]:
            self.assertIn(b"hint: --format jsonl reads JSON lines", run(*ask, stdin=lines).stderr)
            self.assertNotIn(b"--format jsonl", run(*ask, "--column", "z", "--format", "jsonl", stdin=lines).stderr)
        for ask in [["describe"], ["count", "--by", "o"], ["sort", "--by", "a", "--csv"], ["sample", "-n", "1", "--csv"]]:
            self.assertIn(b"hint: columns that hold none are taken by their names",
                          run(*ask, "--format", "jsonl", stdin=nested).stderr, ask)

    def test_a_key_that_nobody_wants_is_passed_over(self):
        text = "".join('{"a":%d,"b":"x"}\n' % (i % 7) for i in range(20_000)) + '{"a":9,"late":5}\n'
        path, other = self.write("x.jsonl", text.encode()), self.write("y.jsonl", b'{"a":9,"z":"z"}\n')
        self.assertEqual(self.result("max", "--column", "a", path), "9")
        self.assertEqual(self.result("count", "--by", "b", "--csv", path), "b,count\nx,20000\n,1")
        self.assertEqual(self.result("top", "--by", "a", "-n", "1", path), '{"a":9,"late":5}')
        self.assertEqual(self.result("top", "--by", "a", "-n", "1", "--take", "b,a", "--csv", path), "b,a\n,9")
        self.assertEqual(self.result("join", "--on", "a", "--take", "z", path, other), "z")
        self.assertEqual(self.result("join", "--on", "a", "--how", "semi", other, path).split("\t"), ["9", "z"])
        self.assertEqual(len(self.result("describe", "--column", "a,b", "--tsv", path).split("\n")), 3)
