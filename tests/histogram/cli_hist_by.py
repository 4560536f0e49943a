"""hist --by: a histogram for each key, against Python's bisect.
Builds: release, asan (full)."""
import bisect
import collections
import json
import os
import random
import unittest

from command import THREADS_ALONE, CommandTest, least_memory

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
        table = [(r.choice(KEYS), str(r.randrange(3)), r.choice(fields + [""])) for _ in range(rows)]
        return [(table[0][0], table[0][1], "1")] + table[1:]

    def write_table(self, name, rows):
        return self.write(name, ("key,n,v\n" + "".join(",".join(row) + "\n" for row in rows)).encode())

    def want(self, rows, edges, keys):
        counts = collections.defaultdict(lambda: [0] * (len(edges) - 1))
        for *key, field in rows:
            of = counts[tuple(None if x == "" else x.strip('"') for x in key[:keys])]
            place = bin_of(edges, float(field)) if field else None
            if place is not None:
                of[place] += 1
        order = sorted(counts, key=lambda key: [(x is None, (x or "").encode()) for x in key])
        return [[*key, lo, hi, n] for key in order for lo, hi, n in zip(edges, edges[1:], counts[key])]

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
            edges = [float(x) for x in json.loads(self.result(*ask, path))["edges"]]
            by = ["--by", "key,n"[:None if keys == 2 else 3], "--text", "key"]
            want = self.want(rows, edges, keys)
            for row in want:
                row[:keys] = row[:1] + [int(x) for x in row[1:keys]]
            for more in [["-j", r.choice(THREADS), path], ["--memory", LIMIT, path], parts]:
                found = [list(json.loads(line).values()) for line in self.result(*ask, *by, *more).split("\n")]
                self.assertEqual(found, want, (seed, bins, more))

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
        for option in ["--density", "--save=s.bfs", "--weights=t.csv"]:
            self.refused(2, "does not go with --by", *ask, *option.split("="), path)
        self.refused(2, "-o of a figure or an array does not go with --by", *ask, "-o", self.path("x.npy"), path)
        self.refused(2, "--by needs the values", "hist", "--by", "k", path)
        self.refused(2, "--edges and --range are numbers, and d has times", "hist", "--by", "k", "--edges", "1,2", "--column", "d", path)
        self.refused(3, "an empty field, not a number", "hist", "--by", "k", "--column", "v",
                     self.write("n.csv", b"k,v\na,1\nb,\n"))


if __name__ == "__main__":
    unittest.main()
