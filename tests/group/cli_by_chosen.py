"""group --by with --first, --last, --mode and --distinct, against Python's collections.
Builds: release, asan (full), tsan (full)."""
import collections
import math
import os
import random
from fractions import Fraction

from command import THREADS_ALONE, CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 6
THREADS = [2, 5] if THREADS_ALONE else [1, 2, 5]
LIMIT = "%dM" % (least_memory() + 5)
ASKED = ["first", "last", "mode", "distinct"]
POOLS = {
    "words": ["ann", "bob", "zoe", '""', '"a,b"', "annabel", "\u00e9", "A", "007"],
    "integers": ["1", "2", "-7", "+1", "1.0", "9007199254740993", "9007199254740992"],
    "unsigned": ["1", "18446744073709551615", "0"],
    "decimals": ["1.5", "1.50", "-0.25", "3", "15e-1", "0", "-0", "100.001"],
    "long": ["170141183460469231731687303715884105727", "-1", "12345678901234567890123", "0"],
    "floats": ["nan", "-0.0", "0.0", "1.5", "0.1234567890123456", "-inf", "0.5", "NaN"],
}
PINNED = {"words": "ann", "integers": "9007199254740993", "unsigned": "18446744073709551615", "decimals": "100.001",
          "long": "12345678901234567890123", "floats": "nan"}


def value(kind, field):
    """The value of a field, which is its own identity, and the text that shows it; None: it has none."""
    if field == "":
        return None
    if kind == "words":
        text = field[1:-1] if field.startswith('"') else field
        return text.encode(), text
    if kind != "floats":
        number = Fraction(field)
        if number.denominator == 1:
            return number, str(number.numerator)
        return number, repr(float(number))
    number = float(field)
    text = repr(number)
    return math.inf if number != number else number + 0.0, text[:-2] if text.endswith(".0") else text


def quoted(kind, text):
    return '""' if kind == "words" and text == "" else '"%s"' % text if "," in text else text


def choose(kind, fields):
    """What the fields of a group, in their order, give for each of ASKED."""
    values = [v for v in (value(kind, field) for field in fields) if v]
    if not values:
        return ["", "", "", "0"]
    if kind == "floats":  # NaN is the greatest
        values = [((text == "nan", identity), text) for identity, text in values]
    counts = collections.Counter(identity for identity, _ in values)
    mode = min(counts, key=lambda x: (-counts[x], x))
    shown = {identity: "0" if text == "-0" else text for identity, text in reversed(values)}
    return [quoted(kind, x) for x in (values[0][1], values[-1][1], shown[mode])] + [str(len(counts))]


class Chosen(CommandTest):
    def make(self, r, rows):
        """A table of two keys and a few columns V: their kinds, and the fields of each row."""
        kinds = r.sample(sorted(POOLS), r.randrange(1, 4))
        columns = [[r.choice(["", "k", "l", "m"]) for _ in range(rows)], [str(r.randrange(3)) for _ in range(rows)]]
        for kind in kinds:
            nulls = r.choice([0, 0, 0.3, 1])
            some = r.sample(POOLS[kind], r.randrange(1, len(POOLS[kind])))
            columns.append([PINNED[kind]] + ["" if r.random() < nulls else r.choice(some) for _ in range(rows - 1)])
        return kinds, list(zip(*columns))

    def write_table(self, name, kinds, rows):
        lines = ["a,b," + ",".join("v%d" % i for i in range(len(kinds)))] + [",".join(row) for row in rows]
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def want(self, kinds, rows, keys):
        groups = collections.defaultdict(list)
        for row in rows:
            groups[tuple(row[:keys])].append(row)
        by_key = sorted(groups, key=lambda key: (key[0] == "", key))
        lines = [(list(key), groups[key]) for key in by_key] + [([""] * keys, rows)]
        return [",".join(key + [x for i, kind in enumerate(kinds) for x in choose(kind, [row[2 + i] for row in of])])
                for key, of in lines]

    def test_values_are_those_of_python(self):
        for seed in range(CASES):
            r = random.Random(seed)
            kinds, rows = self.make(r, r.choice([1, 2, 5, 60, 3000]))
            keys = r.randrange(1, 3)
            ask = [x for i in range(len(kinds)) for op in ASKED for x in ("--" + op, "v%d" % i)]
            ask = ["group", "--by", "a,b" if keys == 2 else "a", *ask, "--total", "--csv"]
            want = self.want(kinds, rows, keys)
            middle = r.randrange(len(rows) + 1)
            whole = self.write_table("t.csv", kinds, rows)
            parts = [self.write_table("p%d.csv" % i, kinds, part)
                     for i, part in enumerate([rows[:middle], rows[middle:]])]
            for more in [["-j", r.choice(THREADS), whole], ["--memory", LIMIT, whole], ["-j", r.choice(THREADS), *parts],
                         ["--checkpoint", self.path("c"), *parts], ["--memory", LIMIT, "--save", self.path("s"), whole]]:
                found = self.result(*ask, *more).split("\n")
                self.assertEqual(found[1:], want, (seed, kinds, more))
            self.assertEqual(self.result("merge", "--csv", self.path("s")).split("\n")[1:], want, (seed, kinds))

    def test_many_keys_and_values_within_little_memory(self):
        r = random.Random(1)
        rows = [("k%d" % r.randrange(9000), "0", "w%d" % r.randrange(40), str(r.randrange(50))) for _ in range(60000)]
        kinds = ["words", "integers"]
        path = self.write_table("t.csv", kinds, rows)
        ask = ["group", "--by", "a"] + [x for i in range(2) for op in ASKED for x in ("--" + op, "v%d" % i)]
        want = self.want(kinds, rows, 1)
        for more in [["-j", 2], ["--memory", LIMIT]]:
            self.assertEqual(self.result(*ask, "--total", "--csv", *more, path).split("\n")[1:], want, more)

    def test_results_have_names_an_order_and_other_forms(self):
        path = self.write("t.csv", b"k,w,v\nx,b,2\ny,a,\nx,b,1\ny,,5\n,c,7\n")
        self.assertEqual(self.result("group", "--by", "k", "--mode", "w=m,v", "--first", "v*2=d", "--sort", "-m", "--json", path),
                         '{"k":null,"m":"c","mode(v)":7,"d":14}\n{"k":"x","m":"b","mode(v)":1,"d":4}\n'
                         '{"k":"y","m":"a","mode(v)":5,"d":10}')
        self.assertEqual(self.result("group", "--by", "k", "--distinct", "v", "--where", "k == \"x\"", path), "x\t2")
        lines = b'{"k":1,"w":true}\n{"k":1,"w":"true"}\n{"k":1,"w":2}\n{"k":1,"w":2.0}\n'
        self.assertEqual(self.result("group", "--by", "k", "--distinct", "w", "--mode", "w", "--first", "w", "--format", "jsonl",
                                     "--json", stdin=lines), '{"k":1,"distinct(w)":3,"mode(w)":2,"first(w)":true}')
        self.assertEqual(self.result("group", "--sum", "v", "--first", "v", "--distinct", "v", "--column", "k",
                                     stdin=b"k,v\n2,1\n2,0.5\n1,7\n"), "1\t7\t7\t1\n2\t1.5\t1\t2")

    def save_parts(self, r, ask, kinds, rows):
        """States of the rows cut in two or three: integers have the units of their part alone."""
        cuts = [0] + sorted(r.randrange(len(rows) + 1) for _ in range(r.randrange(1, 3))) + [len(rows)]
        states = []
        for i, (first, end) in enumerate(zip(cuts, cuts[1:])):
            states.append(self.path("%d.bfs" % i))
            self.result(*ask, "--save", states[i], *r.choice([[], ["--memory", LIMIT]]),
                        self.write_table("%d.csv" % i, kinds, rows[first:end]))
        return cuts, states

    def texts(self, kinds):
        words = ["v%d" % i for i, kind in enumerate(kinds) if kind == "words"]
        return ["--text", ",".join(["a", *words])]

    def exact(self, r, rows):
        """Tables each of whose parts holds numbers where the whole does."""
        kinds = r.sample(["words", "integers", "unsigned", "decimals", "long"], r.randrange(1, 3))
        some = {kind: [x for x in POOLS[kind] if "," not in x and len(x) < 39] for kind in kinds}
        return kinds, [(r.choice("klm"), "0", *(r.choice(some[kind]) for kind in kinds)) for _ in range(rows)]

    def test_merged_parts_are_the_whole(self):
        for seed in range(CASES):
            r = random.Random(1000 + seed)
            kinds, rows = self.exact(r, r.choice([1, 4, 60, 2000]))
            ask = ["group", "--by", "a", *(x for i in range(len(kinds)) for op in ASKED for x in ("--" + op, "v%d" % i)), "--total", "--csv", *self.texts(kinds)]
            _, states = self.save_parts(r, ask, kinds, rows)
            want = self.want(kinds, rows, 1)
            whole = self.path("whole.bfs")
            self.assertEqual(self.result("merge", "--csv", "--save", whole, *states).split("\n")[1:], want, (seed, kinds))
            self.assertEqual(self.result("merge", "--csv", whole).split("\n")[1:], want, (seed, kinds))

    def test_counts_that_are_taken_out_leave_the_others(self):
        for seed in range(CASES):
            r = random.Random(2000 + seed)
            kinds, rows = self.exact(r, r.choice([2, 30, 2000]))
            ask = ["group", "--by", "a", *(x for i in range(len(kinds)) for op in ["mode", "distinct"] for x in ("--" + op, "v%d" % i)), "--csv", *self.texts(kinds)]
            cuts, states = self.save_parts(r, ask, kinds, rows)
            rest = [line.split(",") for line in self.want(kinds, rows[cuts[1]:], 1)[:-1]] if cuts[1] < len(rows) else []
            want = [",".join([x[0], *(x[1 + 4 * i + j] for i in range(len(kinds)) for j in (2, 3))]) for x in rest]
            found = self.result("merge", "--csv", *states, "--minus", states[0]).split("\n")[1:]
            self.assertEqual([line for line in found if line], want, (seed, kinds))

    def test_what_cannot_be_taken_out_is_refused(self):
        for i, data in enumerate([b"k,v\na,1\na,1\n", b"k,v\na,1\na,2\n"]):
            for op in ASKED:
                self.result("group", "--by", "k", "--" + op, "v", "--save", self.path("%s%d" % (op, i)),
                            self.write("t.csv", data))
        for op in ["first", "last"]:
            self.refused(3, "first and last values do not go back", "merge", self.path(op + "0"), self.path(op + "1"), "--minus",
                         self.path(op + "1"))
        for op in ["mode", "distinct"]:
            self.refused(3, "values that are not there", "merge", self.path(op + "0"), "--minus", self.path(op + "1"))
        self.refused(3, "it does not go with the others", "merge", self.path("mode0"), self.path("first0"))
        words = self.path("words")
        self.result("group", "--by", "k", "--mode", "v", "--save", words, stdin=b"k,v\na,x\n")
        self.refused(3, "it does not go with the others", "merge", self.path("mode0"), words)

    def test_damaged_states_are_refused(self):
        path = self.path("s")
        self.result("group", "--by", "k", *(x for op in ASKED for x in ("--" + op, "v,w")), "--save", path,
                    stdin=b"k,v,w\na,1,x\nb,2,\n")
        with open(path, "rb") as f:
            good = f.read()
        for at in range(0, len(good), 7):
            self.refused(3, "", "merge", self.write("bad", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]))
