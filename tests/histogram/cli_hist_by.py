"""hist --by: a histogram for each key, against Python's bisect and fsum.
Builds: release, asan (full)."""
import bisect
import collections
import json
import math
import os
import random

import numpy as np

from command import THREADS_ALONE, CommandTest, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 6
THREADS = [2, 5] if THREADS_ALONE else [1, 2, 5]
LIMIT = "%dM" % (least_memory() + 5)
KEYS = ["Oslo", "Lima", '"New, York"', "", '""', "\u00e9", "7", "07"]


def bin_of(edges, value):
    if value == edges[-1]:
        return len(edges) - 2
    return bisect.bisect_right(edges, value) - 1 if edges[0] <= value < edges[-1] else None


class HistBy(CommandTest):
    def make(self, r):
        rows = r.choice([1, 2, 7, 200, 2000])
        fields = [["1.5", "2", "-3.25", "100"], ["1", "2", "3", "170141183460469231731687303715884105727"],
                  ["%.3f" % r.gauss(0, 1) for _ in range(30)], ["nan", "0.5", "-inf", "1e300", "2"],
                  ["0.1234567890123456789", "0.5"]][r.randrange(5)]
        weights = r.choice([["1", "2.5", "-0.75", "0"], ["1e300", "-1e300", "1", "1e-20"], ["3", "9007199254740993"]])
        table = [(r.choice(KEYS), str(r.randrange(3)), r.choice(fields + [""]), r.choice(weights + [""])) for _ in range(rows)]
        return [(table[0][0], table[0][1], "1", "2")] + table[1:]

    def write_table(self, name, rows):
        return self.write(name, ("key,n,v,w\n" + "".join(",".join(row) + "\n" for row in rows)).encode())

    def want(self, rows, edges, keys, weighted, density):
        bins = collections.defaultdict(lambda: [[] for _ in edges[1:]])
        for *key, field, weight in rows:
            of = bins[tuple(None if x == "" else x.strip('"') for x in key[:keys])]
            place = bin_of(edges, float(field)) if field and (weight or not weighted) else None
            if place is not None:
                of[place].append(float(weight) if weighted else 1)
        order = sorted(bins, key=lambda key: [(x is None, (x or "").encode()) for x in key])
        return [[*key, lo, hi, x] for key in order
                for lo, hi, x in zip(edges, edges[1:], self.values(bins[key], edges, density))]

    def values(self, bins, edges, density):
        """Sums of a key's bins, rounded once; or shares in the sum of all, by the width."""
        sums = [math.fsum(x) for x in bins]
        if not density:
            return sums
        with np.errstate(all="ignore"):
            found = np.array(sums) / np.diff(edges) / math.fsum(x for of in bins for x in of)
        return found.tolist()

    def test_counts_are_those_of_python(self):
        for seed in range(CASES):
            r = random.Random(seed)
            rows, keys = self.make(r), r.randrange(1, 3)
            path = self.write_table("t.csv", rows)
            middle = r.randrange(1, len(rows) + 1)
            parts = [self.write_table("%d.csv" % i, part) for i, part in enumerate([rows[:middle], rows[middle:]])]
            bins = r.choice([[], ["--bins", "3"], ["--bins", "auto"], ["--range", "-1:2.5", "--bins", "5"],
                             ["--edges", "-1,0.5,1,2"], ["--range", "-1:2.5"]])
            ask = ["hist", "-q", "--column", "v", "--null-policy", "skip", *bins, "--json"]
            weighted, density = r.random() < 0.6, r.random() < 0.3
            full = [row for row in rows if row[3] or not weighted]
            edges = [float(x) for x in json.loads(self.result(*ask, self.write_table("full.csv", full)))["edges"]]
            by = ["--by", "key,n"[:None if keys == 2 else 3], "--text", "key"]
            by += ["--weights", "w"] * weighted + ["--density"] * density
            want = self.want(rows, edges, keys, weighted, density)
            for row in want:
                row[:keys] = row[:1] + [int(x) for x in row[1:keys]]
            for more in [["-j", r.choice(THREADS), path], ["--memory", LIMIT, path], parts]:
                found = [list(json.loads(line).values()) for line in self.result(*ask, *by, *more).split("\n")]
                self.assertEqual([row[:-1] for row in found], [row[:-1] for row in want], (seed, bins, more, by))
                np.testing.assert_equal([row[-1] for row in found], [row[-1] for row in want])
            array = self.path("a.npy")
            self.result(*ask[:-1], *by, "-o", array, path)
            found = np.load(array)
            self.assertEqual((found.dtype, found.shape[1]), ("f8" if weighted or density else "i8", len(edges) - 1))
            np.testing.assert_equal(found.ravel(), [float(row[-1]) for row in want])

    def test_expressions_conditions_pipes_and_forms(self):
        data = b"k,d,v\na,2026-01-02,1\nb,2026-02-01,2\na,2026-01-03,3\n"
        self.assertEqual(self.result("hist", "--by", "month(d)=m", "-e", "v*2", "--bins", 2, "--csv", stdin=data),
                         "m,lo,hi,count\n1,2,4,1\n1,4,6,1\n2,2,4,0\n2,4,6,1")
        self.assertEqual(self.result("hist", "--by", "k", "--column", "v", "--bins", 1, "--where", "v > 1", stdin=data),
                         "a\t2\t3\t1\nb\t2\t3\t1")
        self.assertEqual(self.result("hist", "--by", "k", "--column", "v", "--bins", 1, "--jsonl", stdin=b"k,v\n"), "")
        path = self.write("t.csv", data)
        shown = self.shown("hist", "--by", "k", "--column", "v", "--bins", 2, path)
        self.assertRegex(shown, r"a\S*\n\n1 . 2  1 .*\n2 . 3  1 .*\n\n\S*b\S*\n\n1 . 2  0\n")

    def test_what_it_does_not_show_is_told_or_refused(self):
        path = self.write("t.csv", b"k,v,d\na,nan,2026-01-01\nb,2,2026-01-02\nb,9,2026-01-02\n")
        ask = ["hist", "--by", "k", "--column", "v", "--range", "0:3", "--bins", 1]
        self.assertEqual(self.result(*ask, "-q", path), "a\t0\t3\t0\nb\t0\t3\t1")
        self.refused(3, "in no bin: 1 NaN, 1 above", *ask, "--strict", path)
        self.refused(2, "does not go with --by", *ask, "--save", self.path("s.bfs"), path)
        self.refused(3, "--weights: no column is named 'w'", *ask, "--weights", "w", path)
        self.refused(3, "times have no sum", *ask, "--weights", "d", path)
        self.refused(3, "--log: a bin's value is negative: -2", *ask, "-q", "--weights=-v", "--log", "-o", self.path("x.svg"), path)
        self.refused(2, "--by needs the values", "hist", "--by", "k", path)
        self.refused(2, "--edges and --range are numbers, and d has times", "hist", "--by", "k", "--edges", "1,2", "--column", "d", path)
        self.refused(3, "an empty field, not a number", "hist", "--by", "k", "--column", "v",
                     self.write("n.csv", b"k,v\na,1\nb,\n"))

    def test_figures_have_a_plot_for_each_key(self):
        rows = "".join("key %d,%d,%d\n" % (i % 26, i * i % 97, i) for i in range(1, 500))
        path = self.write("t.csv", ("k,v,n\n,3,1\n" + rows).encode())
        ask = ["hist", "-q", "--by", "k", "--column", "v", "--weights", "n", "--bins", "5"]
        tried = run(*ask, "-o", self.path("f.png"), "--where", "n == 1", path)
        if b"cannot draw figures" in tried.stderr:
            self.skipTest("needs cairo")
        for keys, columns, lines in [(1, 1, 1), (2, 2, 1), (5, 3, 2), (25, 5, 5)]:
            few = ["--where", "isnull(k) || n %% 26 < %d" % (keys - 1), path]
            for name, begin in [("f.png", b"\x89PNG"), ("f.pdf", b"%PDF"), ("f.svg", b"<?xml")]:
                self.result(*ask, "-o", self.path(name), *few)
                with open(self.path(name), "rb") as f:
                    figure = f.read()
                self.assertTrue(figure.startswith(begin))
                if name == "f.png":
                    width, height = (1800, 1200) if keys == 1 else (1200 * columns, 800 * lines)
                    self.assertEqual(figure[16:24], width.to_bytes(4, "big") + height.to_bytes(4, "big"))
        self.refused(3, "a figure shows 1 to 25 keys: there are 27", *ask, "-o", self.path("g.svg"), path)
        self.refused(3, "there are 0", *ask, "-o", self.path("g.svg"), "--where", "n < 0", path)
        self.assertFalse(os.path.exists(self.path("g.svg")))
