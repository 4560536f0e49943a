"""Keys and grouped values of up to 38 digits, against Python's Fraction: group, count and
unique --by, group and count of one column, join --on; from files, pipes, within --memory, by saved
parts.
Builds: release, asan (full), tsan (full)."""
import collections
import random
from fractions import Fraction

from command import SHORT, run
from decimals import parts, plain, scale_of, shortest
from memory import LIMIT, MemoryTest

CASES = 12 if SHORT else 40
NINES = int("9" * 38)


def number(r, digits, places):
    """The text of a random number of at most so many digits, of which up to `places` are a fraction."""
    units = r.choice([-1, 1]) * r.randrange(10 ** r.randint(1, digits))
    scale = r.randint(0, places)
    text = plain(Fraction(units, 10**scale))
    form = r.randrange(4)
    if form == 0 and "." in text:
        text += "0" * r.randint(1, 3)
    elif form == 1 and scale == 0:
        text += ".0"
    elif form == 2 and units % 10 and len(text) < 30:
        text = "%de-%d" % (units, scale)
    return text


def pool(r, values=False):
    """Some numbers that a column holds in 128 bits: of one size and scale, of several, near the ends.
    values: a fraction has at most 15 digits, for longer ones are doubles."""
    places = r.choice([0, 0, 2, 19, 37])
    digits = r.choice([18, 20, 38])
    numbers = [number(r, digits, min(places, digits)) for _ in range(r.choice([1, 3, 30, 400]))]
    if values:
        numbers = [x if parts(x)[1] == 0 or parts(x)[0] < 10**15 else str(int(Fraction(x))) for x in numbers]
    if r.random() < 0.3 and not places:
        numbers += [str(NINES), str(-NINES), str(1 << 64), str(-(1 << 63) - 1)]
    scale = scale_of(r.sample(numbers, 1 + len(numbers) // 4))
    numbers = [x for x in numbers if -parts(x)[1] <= scale]
    held = [x for x in numbers if abs(Fraction(x)) * 10**scale <= NINES]
    return held or ["1"]


def column(r, n, nulls=0.0, values=False):
    numbers = pool(r, values)
    return ["" if r.random() < nulls else r.choice(numbers) for _ in range(n)]


def key_of(text):
    return Fraction(text) if text else None


def order_of(keys):
    """Numbers ascending, NULLs last."""
    return tuple((k is None, k or 0) for k in keys)


def shown(keys):
    return ["" if k is None else plain(k) for k in keys]


def variance(values):
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / len(values)


class LongKeys(MemoryTest):
    def table(self, name, **columns):
        lines = [",".join(columns)] + [",".join(row) for row in zip(*columns.values())]
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def everywhere(self, path, *arguments):
        """The lines that a command shows of a file, of a pipe, with threads and within --memory."""
        found = self.result(*arguments, path).split("\n")
        with open(path, "rb") as f:
            data = f.read()
        for more in (["-j1"], ["-j8"], ["--memory", "%dM" % LIMIT]):
            done = run(*arguments, *more, "-", stdin=data)
            self.assertEqual((done.returncode, done.stderr), (0, b""), (arguments, more))
            self.assertEqual(done.stdout.decode().rstrip("\n").split("\n"), found, (arguments, more))
        return found

    def check(self, found, want, note):
        self.assertEqual([line.split("\t") for line in found], want, note)

    def test_groups_are_those_of_exact_numbers(self):
        for seed in range(CASES):
            r = random.Random(seed)
            n, keys = r.choice([1, 2, 50, 3000]), r.choice([1, 1, 2, 3])
            names = ["k%d" % k for k in range(keys)]
            columns = {name: column(r, n, r.choice([0, 0, 0.1])) for name in names}
            columns["v"] = column(r, n, values=True)
            path = self.table("t.csv", **columns)
            groups = collections.defaultdict(list)
            for *key, value in zip(*columns.values()):
                groups[tuple(map(key_of, key))].append(Fraction(value))
            keys = sorted(groups, key=order_of)
            by = ["--by", ",".join(names)]
            sums = {k: sum(groups[k]) for k in keys}
            want = [[*shown(k), plain(sums[k]), shortest(sums[k] / len(groups[k])), plain(min(groups[k])),
                     plain(max(groups[k])), shortest(variance(groups[k])), str(len(groups[k]))] for k in keys]
            ask = [*by, "--sum", "v", "--mean", "v", "--min", "v", "--max", "v", "--var", "v", "--count"]
            everything = [v for of in groups.values() for v in of]
            total = [*[""] * len(names), plain(sum(everything)), shortest(sum(everything) / n), plain(min(everything)),
                     plain(max(everything)), shortest(variance(everything)), str(n)]
            self.check(self.everywhere(path, "group", *ask, "--total"), want + [total], seed)
            by_sum = sorted(range(len(keys)), key=lambda i: (-sums[keys[i]], i))
            self.check(self.everywhere(path, "group", *ask, "--sort=-sum(v)", "-n", 9), [want[i] for i in by_sum[:9]], seed)
            down = sorted(keys, key=lambda k: [(v is None, -(v or 0)) for v in k])
            self.check(self.everywhere(path, "group", *by, "--count", "--sort=-key"),
                       [[*shown(k), str(len(groups[k]))] for k in down], seed)
            often = sorted(keys, key=lambda k: (-len(groups[k]), order_of(k)))
            self.check(self.everywhere(path, "count", *by), [[*shown(k), str(len(groups[k]))] for k in often], seed)
            self.check(self.everywhere(path, "unique", *by), [shown(k) for k in keys if k != (None,)], seed)

    def test_a_condition_leaves_rows_out_before_they_are_grouped(self):
        r = random.Random(1)
        keys, other = column(r, 2000), [str(r.randrange(9)) for _ in range(2000)]
        path = self.table("t.csv", k=keys, o=other)
        found = self.everywhere(path, "group", "--by", "k", "--sum", "k", "--where", "o > 4")
        there = sorted({Fraction(k) for k, o in zip(keys, other) if int(o) > 4})
        self.assertEqual([line.split("\t")[0] for line in found], [plain(k) for k in there])

    def test_groups_beyond_memory(self):
        """Keys that differ in any digit; --by, and of one column."""
        r = random.Random(2)
        n = 30000 if SHORT else 120000
        keys = [str(r.choice([-1, 1]) * r.randrange(10 ** r.randint(1, 38))) for _ in range(n)]
        counts = collections.Counter(map(int, keys))
        by = self.table("by.csv", k=keys)
        alone = self.write("alone.txt", ("\n".join(keys) + "\n").encode())
        want = [[str(k), str(counts[k] * k), str(k)] for k in sorted(counts)]
        self.check(self.limited("group", "--by", "k", "--sum", "k", "--max", "k", by).split("\n"), want, "by")
        self.check(self.limited("group", alone, "--sum", alone, "--max", alone).split("\n"), want, "alone")
        often = [[str(k), str(c)] for k, c in sorted(counts.items(), key=lambda kc: (-kc[1], kc[0]))]
        self.check(self.limited("count", alone).split("\n"), often, "count")
        self.check(self.limited("count", "--sort", "key", alone).split("\n"), [[a, b] for a, b in sorted(
            often, key=lambda kc: int(kc[0]))], "count by key")
        self.check(self.limited("count", "--by", "k", by).split("\n"), often, "count --by")

    def test_files_and_saved_parts_are_counted_together(self):
        """Whatever holds the numbers of each: i64, u64, i128, any scales."""
        for seed in range(CASES):
            r = random.Random(seed)
            files_of = [column(r, r.choice([1, 20, 500]), values=True) for _ in range(r.choice([2, 3]))]
            scale = scale_of(x for part in files_of for x in part)
            if any(abs(Fraction(x)) * 10**scale > NINES for part in files_of for x in part):
                continue
            counts = collections.Counter(Fraction(x) for part in files_of for x in part)
            want = [[plain(k), str(c)] for k, c in sorted(counts.items(), key=lambda kc: (-kc[1], kc[0]))]
            files = [self.write("%d.txt" % i, ("\n".join(part) + "\n").encode()) for i, part in enumerate(files_of)]
            self.check(self.result("count", *files).split("\n"), want, seed)
            states, sums = [], []
            for file in files:
                for kind, of, ask in (("count", states, []), ("group", sums, ["--sum", file, "--max", file])):
                    of.append("%s.%s" % (file, kind))
                    self.result(kind, file, *ask, "--save", of[-1])
            self.check(self.result("merge", *states).split("\n"), want, seed)
            self.check(self.result("merge", *sums).split("\n"),
                       [[plain(k), plain(k * counts[k]), plain(k)] for k in sorted(counts)], seed)
            self.assertEqual(self.result("merge", *states, "--minus", states[0]), self.result("merge", *states[1:]), seed)

    def test_tables_are_joined_by_numbers(self):
        for seed in range(CASES):
            r = random.Random(seed)
            numbers = pool(r)
            a, b = [[r.choice(numbers + ["", "7"]) for _ in range(r.choice([1, 30, 500]))] for _ in range(2)]
            rows = [str(i) for i in range(500)]
            files = [self.table(name, **{"k": keys, name[0]: rows[: len(keys)]}) for name, keys in (("a.csv", a), ("b.csv", b))]
            where = collections.defaultdict(list)
            for i, key in enumerate(b):
                if key:
                    where[Fraction(key)].append(i)
            want = ["%s\t%d\t%d" % (key, i, k) for i, key in enumerate(a) if key for k in where[Fraction(key)]]
            for more in ([], ["-j8"], ["--memory", "%dM" % LIMIT]):
                self.assertEqual(self.result("join", *files, "--on", "k", *more), "\n".join(want), (seed, more))

    def test_files_are_joined_by_numbers(self):
        """Whatever holds those of each, also where no scale holds those of both."""
        for seed in range(CASES):
            r = random.Random(seed)
            a, b = column(r, r.choice([1, 30, 500])), column(r, r.choice([1, 30, 500]))
            a += [x for x in b if r.random() < 0.1 and scale_of([x]) <= scale_of(a)]
            files = [self.write(name, ("\n".join(keys) + "\n").encode()) for name, keys in (("a", a), ("b", b))]
            where = collections.defaultdict(list)
            for i, key in enumerate(b):
                where[Fraction(key)].append(i)
            want = ["%d\t%d" % (i, k) for i, key in enumerate(a) for k in where[Fraction(key)]]
            for more in ([], ["-j8"], ["--memory", "%dM" % LIMIT]):
                self.assertEqual(self.result("join", *files, *more), "\n".join(want), (seed, more))

    def test_medians_of_long_values_have_every_digit(self):
        for seed in range(CASES):
            r = random.Random(seed)
            n = r.choice([1, 2, 50, 3000])
            columns = {"k": column(r, n, 0.1), "v": column(r, n, values=True)}
            path = self.table("t.csv", **columns)
            groups = collections.defaultdict(list)
            for key, value in zip(*columns.values()):
                groups[(key_of(key),)].append(Fraction(value))

            def median(of):
                of = sorted(of)
                low, high = of[(len(of) - 1) // 2], of[len(of) // 2]
                return plain(low) if low == high else shortest((low + high) / 2)

            def quartile(of):
                of = sorted(of)
                at = Fraction(len(of) - 1, 4)
                low, part = of[int(at)], at - int(at)
                high = of[min(int(at) + 1, len(of) - 1)]
                return plain(low) if part == 0 or low == high else shortest(low + (high - low) * part)

            want = [[*shown(k), median(groups[k]), quartile(groups[k])] for k in sorted(groups, key=order_of)]
            everything = [v for of in groups.values() for v in of]
            found = self.everywhere(path, "group", "--by", "k", "--median", "v", "--quantile", "25:v", "--total")
            self.check(found, want + [["", median(everything), quartile(everything)]], seed)

    def test_a_fraction_at_the_end(self):
        """Integers that no other dtype holds turn out to be decimals, of a pipe, too; rows keep their order."""
        r = random.Random(3)
        keys = [str(10**20 + r.randrange(50000)) for _ in range(150000)]
        data = ("\n".join(keys) + "\n0.5\n").encode()
        path, few = self.write("a.txt", data), [*map(str, range(10**20, 10**20 + 3000)), "0.50"]
        other = self.write("b.txt", ("\n".join(few) + "\n").encode())
        whole = self.write("c.txt", ("\n".join(few[:-1]) + "\n").encode())
        counts = collections.Counter([*keys, "0.5"])
        want = [[k, str(counts[k])] for k in sorted(counts, key=Fraction)]
        self.check(self.everywhere(path, "count", "--sort", "key"), want, "count")
        of_few = set(few)
        pairs = [[str(i), str(int(k) - 10**20)] for i, k in enumerate(keys) if k in of_few]
        self.check(self.everywhere(path, "join", whole), sorted([[b, a] for a, b in pairs], key=lambda x: (
            int(x[0]), int(x[1]))), "join with integers")
        self.check(self.everywhere(path, "join", other)[-1:], [["3000", "150000"]], "join")
        self.check(self.limited("join", path, whole).split("\n"), pairs, "join, limited")

    def test_what_is_one_key_and_what_is_not(self):
        for text, want in [("1\n1.0\n1e0\n", "1\t3"),
                           ("9007199254740993\n9007199254740992.0\n", "9007199254740992\t1\n9007199254740993\t1"),
                           ("20000000000000000001\n2.0000000000000000001e19\n20000000000000000002\n",
                            "20000000000000000001\t2\n20000000000000000002\t1"),
                           ("18446744073709551615\n-1\n", "-1\t1\n18446744073709551615\t1"),
                           ("0.1234567890123456789\n0.12345678901234567890\n0.1234567890123456788\n",
                            "0.1234567890123456789\t2\n0.1234567890123456788\t1"),
                           ("%s9\n%s8\n7\n" % ("9" * 38, "9" * 38), "7\t1\n%s8\t1\n%s9\t1" % ("9" * 38, "9" * 38)),
                           ("001E46977290\n00080E579718\n407009E70322\n",
                            "00080E579718\t1\n001E46977290\t1\n407009E70322\t1")]:
            path = self.write("t.csv", ("k\n" + text).encode())
            self.assertEqual(self.result("count", "--by", "k", path), want)
        path = self.write("t.csv", b"k,v\n20000000000000000001,1.5\n7,0.25\n")
        self.assertEqual(self.result("group", "--by", "k", "--sum", "v", "--json", path),
                         '{"k":7,"sum(v)":0.25}\n{"k":20000000000000000001,"sum(v)":1.5}')
