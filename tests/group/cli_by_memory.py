"""group --by and count --by of more than --memory holds, against Python's collections and fractions.
Builds: release, asan (full), tsan (full)."""
import collections
import os
import random
import resource
import signal
import subprocess
import time
from fractions import Fraction

from command import BITFOLD, SANITIZED, run
from memory import LIMIT, LIMITED, MIB, SHARE, MemoryTest

ROWS = 100_000 // SHARE
KEYS = ROWS // 2


def median(values):
    line = sorted(values)
    return float((Fraction(line[(len(line) - 1) // 2]) + Fraction(line[len(line) // 2])) / 2)


def show(value):
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


class Limited(MemoryTest):
    def table(self, *columns):
        """A file of columns, by their names."""
        rows = "".join(",".join(row) + "\n" for row in zip(*(fields for _, fields in columns)))
        return self.write("t.csv", (",".join(name for name, _ in columns) + "\n" + rows).encode())

    def check(self, found, want, note=None):
        """Names the first line that differs: unittest would compare all of them."""
        lines = found.split("\n")
        wrong = [i for i, (a, b) in enumerate(zip(lines, want)) if a != b]
        self.assertEqual((len(lines), wrong[:1]), (len(want), []),
                         (note, [(lines[i], want[i]) for i in wrong[:3]]))

    def test_groups_are_those_of_python(self):
        """Two keys, of which one may be NULL, and NULLs among the values; by key and by a result."""
        r = random.Random(1)
        names = ["name-%d" % (r.randrange(KEYS) * 7919 % 1_000_003) for _ in range(ROWS)]
        years = [r.choice(["", "7", "8"]) for _ in range(ROWS)]
        prices = [r.choice(["", "%.3f" % r.random(), "%e" % (r.uniform(-1, 1) * 10.0 ** r.randint(-30, 20))])
                  for _ in range(ROWS)]
        prices[0] = "0.5"
        groups = collections.defaultdict(list)
        for name, year, price in zip(names, years, prices):
            groups[name, year].append(price)
        lines = []
        for (name, year), of in groups.items():
            values = [float(p) for p in of if p]
            total = float(sum(map(Fraction, values))) if values else 0
            lines.append((name, year or "9", total, "\t".join(
                [name, year, show(total), show(median(values)) if values else "", str(len(of))])))
        everything = [float(p) for p in prices if p]
        last = "\t".join(["", "", show(float(sum(map(Fraction, everything)))), show(median(everything)), str(ROWS)])
        path = self.table(("name", names), ("year", years), ("price", prices))
        ask = ["group", "--by", "name,year", "--sum", "price=all", "--median", "price", "--count", "--total",
               "--null-policy", "skip", path]
        by_key = [line[3] for line in sorted(lines)]
        self.check(self.limited(*ask), by_key + [last])
        by_sum = [line[3] for line in sorted(lines, key=lambda line: (-line[2], line[:2]))]
        self.check(self.limited(*ask, "--sort", "-all"), by_sum + [last])
        down = sorted(lines, key=lambda line: "879".index(line[1]))
        down = [line[3] for line in sorted(down, key=lambda line: line[0], reverse=True)]
        self.check(self.limited(*ask, "--sort", "-key", "-n", 1000), down[:1000] + [last])

    def test_medians_of_integers_have_every_digit(self):
        """An integer beside f64, also where groups are sorted by them."""
        r = random.Random(3)
        keys = ["%05d" % r.randrange(KEYS // 2) + "k" for _ in range(ROWS // 2)]
        near = [2**53, -(2**53), 2**63 - 4, -(2**63), 0]
        values = [r.choice(near) + r.randrange(4) for _ in keys]
        groups = collections.defaultdict(list)
        for key, value in zip(keys, values):
            groups[key].append(value)

        def middle(of):
            line = sorted(of)
            a, b = line[(len(line) - 1) // 2], line[len(line) // 2]
            return a if a == b else median(of)

        want = sorted((middle(of), key) for key, of in groups.items())
        path = self.table(("k", keys), ("v", map(str, values)))
        ask = ["group", "--by", "k", "--median", "v=m", "--total", path, "--sort"]
        last = ["\t" + show(middle(values))]
        rising = ["%s\t%s" % (key, show(value)) for value, key in want]
        want.sort(key=lambda of: (-Fraction(of[0]), of[1]))
        falling = ["%s\t%s" % (key, show(value)) for value, key in want]
        for found in (self.limited, self.result):
            self.check(found(*ask, "m"), rising + last, found)
            self.check(found(*ask, "-m"), falling + last, found)

    def test_counts_are_those_of_a_counter(self):
        """Keys are words that lie apart, long ones, and numbers."""
        r = random.Random(2)
        for name, make in [("words", lambda: "%x" % r.getrandbits(20)), ("long", lambda: "%0300d." % r.randrange(KEYS) + "x"),
                           ("numbers", lambda: "%d" % r.randrange(-KEYS, KEYS))]:
            keys = [make() for _ in range(ROWS // 2 if name == "long" else ROWS)]
            counted = collections.Counter(keys)
            number = int if name == "numbers" else str
            want = sorted(counted.items(), key=lambda of: (-of[1], number(of[0])))
            found = self.limited("count", "--by", "k", self.table(("k", keys)))
            self.check(found, ["%s\t%d" % of for of in want], name)

    def test_few_groups_of_many_rows(self):
        """More values of one group than memory holds, beside groups of few."""
        r = random.Random(3)
        rows = 4 * ROWS
        keys = [r.choice("aaaab") if r.random() < 0.9 else "c%d" % r.randrange(1000) for _ in range(rows)]
        values = ["%d" % r.randint(-(2**40), 2**40) for _ in range(rows)]
        groups = collections.defaultdict(list)
        for key, value in zip(keys, values):
            groups[key].append(int(value))
        path = self.table(("k", keys), ("v", values))
        ask = ["group", "--by", "k", "--median", "v", "--quantile", "0:v", "--total", path]
        want = [(key, show(median(of)), show(float(min(of)))) for key, of in sorted(groups.items())]
        everything = list(map(int, values))
        want.append(("", show(median(everything)), show(float(min(everything)))))
        self.check(self.limited(*ask), ["\t".join(line) for line in want])

    def test_every_form_and_order(self):
        """Values that need more room for their sums, once memory is full; in every form."""
        r = random.Random(4)
        exponents = [0] * (ROWS // 2) + [280] * (ROWS - ROWS // 2)
        values = ["%e" % (r.uniform(-1, 1) * 10.0 ** (r.randint(-e, e))) for e in exponents]
        keys = ["%d.5" % r.randrange(KEYS) if r.random() < 0.99 else r.choice(["nan", "-0", "0", "inf"]) for _ in values]
        path = self.table(("k", keys), ("v", values), ("n", ["%d" % r.getrandbits(63) for _ in values]))
        sums = ["--sum", "v=s", "--var", "v", "--sum", "n=n", "--max", "v*n=m"]
        for more in (["--csv", "--total"], ["--markdown", "--sort", "-n"], ["--sort", "m"], ["--sort", "-count"],
                     ["--where", "v > 0", "--sort", "k", "--hex"]):
            self.same("group", "--by", "k", *sums, *more, path)
        self.same("count", "--by", "n", "-n", 7, path)

    def test_a_column_that_turns_out_to_be_another(self):
        """Late, when rows wait in files already; also of a pipe."""
        r = random.Random(5)
        keys = ["%d" % r.randrange(KEYS) for _ in range(ROWS)]
        values = ["%d" % r.randrange(100) for _ in range(ROWS)]
        for key, value in (("word", "1"), ("2.5", "0.5"), ("", "7")):
            path = self.table(("k", keys + [key, key]), ("v", values + [value, value]))
            ask = ["group", "--by", "k", "--sum", "v", "--count"]
            want = self.same(*ask, path)
            with open(path, "rb") as f:
                self.assertEqual(self.limited(*ask, stdin=f.read()), want)

    def test_failures_leave_nothing(self):
        """A directory is not there, a disk is full, an interrupt comes."""
        r = random.Random(6)
        path = self.table(("k", ["word-%d" % r.getrandbits(60) for _ in range(4 * ROWS)]))
        spill, out = self.path("spill"), self.path("out.tsv")
        os.mkdir(spill)
        command = ["count", "--by", "k", "-o", out, path, *LIMITED]
        self.refused(1, "cannot write or read a temporary file", *command, "--spill", self.path("nowhere"))
        full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB // 2, MIB // 2))
        error = self.refused(1, "cannot write a temporary file: File too large", *command, "--spill", spill,
                             preexec_fn=full)
        self.assertIn("hint: --spill DIR", error)
        for seconds in (0.05, 0.2):
            child = subprocess.Popen([BITFOLD, *command, "--spill", spill])
            time.sleep(seconds)
            child.send_signal(signal.SIGINT)
            if child.wait() == 0:
                os.unlink(out)
        self.assertEqual((os.listdir(spill), sorted(os.listdir(self.dir))), ([], ["spill", "t.csv"]))
