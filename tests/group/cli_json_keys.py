"""Keys of JSON lines of several types, with and without --by: against Python."""
import collections
import json
import os
import random
import re
import statistics
from fractions import Fraction

from command import THREADS_ALONE, CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 15
THREADS = [2, 8] if THREADS_ALONE else [1, 2, 3, 8]
LIMIT = "%dM" % (least_memory() + 5)
POOLS = [["true", "false"], ['"true"', '"1"', '"1.0"', '""', '"false"', '"null"', '"a b"', '"\\u00e9\\n"', '"\\u0000"'],
         ["0", "1", "-1", "10", "1e1", "100e-2", "1.0", "-0", "2", "-7"], ["0.5", "-2.5", "5e-1", "1e300", "0.1"],
         ["9007199254740992", "9007199254740993", "9007199254740993.0", "-9223372036854775808", "18446744073709551615"],
         ["20000000000000000001", "20000000000000000002", "-20000000000000000002", "99999999999999999999999999999999999999",
          "99999999999999999999999999999999999998"],
         ["1" + "0" * 60 + "1", "1" + "0" * 60 + "2", "-1" + "0" * 60 + "2"], ["null"]]


def identity(text):
    """Brings a value, as JSON has it, into the order of keys: strings by their bytes, bools,
    numbers, null."""
    value = json.loads(text, parse_int=Fraction, parse_float=Fraction)
    if value is None:
        return (3,)
    if isinstance(value, str):
        return (0, value.encode())
    return (1, value) if isinstance(value, bool) else (2, value)


def shown_identity(text):
    """Brings what --json shows into that order: a number that readers of doubles would round is a
    string there."""
    value = json.loads(text)
    big = isinstance(value, str) and re.fullmatch(r"-?\d{16,}|-?\d\.\d{38,}e\+\d+", value)
    return (2, Fraction(value)) if big else identity(text)


class JsonKeys(CommandTest):
    def make(self, r):
        """Lines of keys k and values v, in any order."""
        pool = sum(r.sample(POOLS, r.randint(1, 4)), [])
        rows = [(r.choice(pool), v) for v in range(r.choice([1, 2, 10, 200]))]
        if r.random() < 0.3: # the types show late
            plain = [(str(r.randrange(9)), 7) for _ in range(r.choice([100, 20_000]))]
            rows = plain + rows if r.random() < 0.7 else rows + plain
        lines = ['{"v":%d,"k":%s}' % (v, k) if k != "null" or r.random() < 0.5 else '{"v":%d}' % v for k, v in rows]
        if '"k"' not in lines[0]:
            lines[0] = '{"v":%d,"k":null}' % rows[0][1]
        of = collections.defaultdict(list)
        for k, v in rows:
            of[identity(k)].append(v)
        return "".join(line + "\n" for line in lines).encode(), of

    def rows(self, data, *arguments):
        """What --json shows, by rows or as one object, however it is done."""
        name = self.write("x.jsonl", data)
        ways = [["-j", j, name] for j in THREADS] + [["-j", 2, "--memory", LIMIT, name], ["--format", "jsonl"]]
        if "--median" in arguments and "--by" not in arguments:
            ways = [way for way in ways if "--memory" not in way]
        found = {tuple(map(self.bare, self.result(*arguments, "--json", *way, stdin=data).split("\n"))) for way in ways}
        self.assertEqual(len(found), 1, arguments)
        return found.pop()

    @staticmethod
    def bare(line):
        return re.sub(r',"device".*|"file":"[^"]*",', "", line)

    def keys(self, data, columns, *arguments):
        """Returns, for each row, the identity of the key, and the rest: of rows, or of the one
        object of plain numbers."""
        lines = self.rows(data, *arguments)
        if not lines[0].startswith('{"k"'):
            return None
        found = []
        for line in lines:
            key, rest = re.fullmatch(r'\{"k":("(?:[^"\\]|\\.)*"|[^,}]*)(.*)\}+', line).groups()
            found.append((shown_identity(key), *[json.loads(v) for v in re.findall(r":([^,]*)", rest)][:columns]))
        return found

    def test_types_stay_apart_in_every_command(self):
        mixed = 0
        for seed in range(CASES):
            r = random.Random(seed)
            data, of = self.make(r)
            by_key = sorted(of)
            counts = sorted(((k, len(of[k])) for k in by_key), key=lambda x: (-x[1], x[0]))
            sums = [(k, sum(of[k]), statistics.median(of[k])) for k in by_key]
            got = self.keys(data, 1, "count", "--column", "k")
            for want, columns, command in [
                    (counts, 1, ["count"]), ([(k,) for k in by_key], 0, ["unique"]),
                    ([(k, len(of[k])) for k in by_key], 1, ["unique", "--count"]),
                    (counts[:2], 1, ["count", "-n", 2]), ([(k, len(of[k])) for k in by_key], 1, ["count", "--sort", "key"]),
                    (sums, 2, ["group", "--sum", "v", "--median", "v"])]:
                others = any(k[0] != 2 for k in by_key) # unique rounds numbers of which all are
                if got and (others or command[0] != "unique"):
                    self.assertEqual(self.keys(data, columns, *command, "--column", "k"), want, (seed, command, data[:500]))
                self.assertEqual(self.keys(data, columns, *command, "--by", "k"), want, (seed, command, data[:500]))
                for form in ("--tsv", "--csv"):
                    texts = {self.result(*command, *way, "k", form, self.path("x.jsonl")) for way in (["--by"], ["--column"])
                             if others or way == ["--by"]}
                    self.assertEqual(len(texts), 1, (seed, command))
            mixed += bool(got)
            if any(k[0] != 2 for k in by_key):
                self.assertTrue(got, (seed, data[:500]))
        self.assertGreater(mixed, CASES // 3)

    def test_numbers_alone_are_shown_as_those_of_any_text(self):
        data = b'{"k":3,"v":1}\n{"k":1,"v":2}\n{"k":3.0,"v":4}\n'
        for command, want in [(["count"], '"keys":[3,1],"counts":[2,1]}'), (["unique"], '"values":[1,3]}'),
                              (["group", "--sum", "v"], '"keys":[1,3],"columns":[{"op":"sum","of":"v","values":[2,5]}]}')]:
            shown = self.rows(data, *command, "--column", "k")
            self.assertEqual(len(shown), 1)
            self.assertTrue((shown[0] + "}").endswith(want), shown)
        name = self.write("x.jsonl", data)
        self.assertEqual(self.result("count", "--column", "k", name, name), "3\t4\n1\t2")
        self.assertEqual(self.result("unique", "--column", "k,v", name), "k\t1\nk\t3\nv\t1\nv\t2\nv\t4")
        self.result("count", "--column", "k", name, "--save", self.path("x.bf"))
        self.result("unique", "--column", "k", name, "-o", self.path("x.npy"))
        self.assertEqual(self.result("sum", self.path("x.npy")), "4")
        nulls = b'{"k":3}\n{"k":null}\n{"k":1}\n'
        self.assertEqual(self.result("unique", "--format", "jsonl", "--null-policy", "skip", stdin=nulls), "1\n3")
        self.assertEqual(self.result("unique", "--csv", "--count", "--format", "jsonl", stdin=nulls), "k,count\n1,1\n3,1\n,1")
        self.assertEqual(self.result("count", "--format", "jsonl", stdin=nulls), "1\t1\n3\t1\n\t1")

    def test_what_numbers_alone_can_be_asked(self):
        name = self.write("m.jsonl", b'{"k":1,"v":1}\n{"k":true,"v":2}\n')
        self.write("v.txt", b"k\n1\n2\n")
        for what, *command in [
                ("--save is for numbers", "count", "--save", self.path("s")),
                ("--checkpoint is for numbers", "count", "--checkpoint", self.path("c")),
                ("--dtype is for numbers", "count", "--dtype", "f32"), ("--total is for numbers", "unique", "--total"),
                ("--null-policy skip is for numbers", "unique", "--null-policy", "skip"),
                ("--nan is for numbers", "unique", "--nan", "skip"),
                ("-o FILE.npy is for numbers", "unique", "-o", self.path("x.npy")), ("one file is read then", "count", name),
                ("their values are columns", "group", "--sum", self.path("v.txt"))]:
            for keys in [b'{"k":1,"v":1}\n{"k":true,"v":2}\n', b'{"k":"1","v":1}\n{"k":1,"v":2}\n']:
                self.refused(3, "keys that are not all numbers: " + what, *command, "--column", "k", self.write("m.jsonl", keys))
        self.refused(3, "one column is shown then, not 2", "unique", "--column", "k,v", name)
        self.refused(3, "not a number: '1'", "group", "--column", "k", "--sum", "k", name)
        self.assertFalse(os.path.exists(self.path("x.npy")))

    def test_what_is_said_of_keys(self):
        data = b'{"k":7}\n{"k":"007"}\n{"k":"7"}\n'
        self.assertEqual(self.result("count", "--number", "k", "--format", "jsonl", stdin=data), "7\t3")
        self.assertEqual(self.result("count", "--text", "k", "--json", "--format", "jsonl", stdin=data).count('"k":"'), 2)
        self.refused(3, "not a number: 'x'", "count", "--number", "k", "--format", "jsonl", stdin=data + b'{"k":"x"}\n')
