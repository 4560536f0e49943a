"""group --median and --quantile: against NumPy and fractions of each key's values."""

import json
import math
import os

import numpy as np

from command import CommandTest
from quantiles import median_place, place_of, value_at

METHODS = ("linear", "lower", "weibull", "inverted_cdf", "midpoint")


class GroupOrder(CommandTest):
    def rows(self, *arguments, **more):
        text = self.result(*arguments, **more)
        return [line.split("\t") for line in text.split("\n")] if text else []

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(7)
        self.k = rng.integers(-40, 40, 5001)
        self.v = rng.normal(size=5001) * 10.0 ** rng.integers(-20, 20, 5001)
        self.w = rng.integers(-(2**62), 2**62, 5001)
        self.keys = np.unique(self.k)

    def expected(self, x, percent, method="linear"):
        """A quantile of each key, or (percent None) the exact median, rounded once."""
        found = []
        for key in self.keys:
            line = np.sort(x[self.k == key]).tolist()
            n = len(line)
            found.append(value_at(line, median_place(n) if percent is None else place_of(method, n, percent / 100)))
        return found

    def check(self, rows, columns):
        self.assertEqual([int(row[0]) for row in rows], self.keys.tolist())
        for i, column in enumerate(columns):
            self.assertEqual([type(each)(row[i + 1]) for row, each in zip(rows, column, strict=True)], column)

    def test_they_are_those_of_each_key(self):
        k, v, w = (self.save(n + ".npy", x) for n, x in (("k", self.k), ("v", self.v), ("w", self.w)))
        counts = [int(np.sum(self.k == key)) for key in self.keys]
        for method in METHODS:
            for more in (["-j1"], ["-j3"], ["-j2", "--memory", "128M"]):
                rows = self.rows(
                    "group", *more, k, "--quantile", "25:" + v, "--median", w, "--count", "--quantile",
                    "99.5:" + v, "--median", v, "--quantile", "0:" + v, "--method", method,
                )  # fmt: skip
                self.check(rows, [
                    self.expected(self.v, 25, method), self.expected(self.w, None), counts,
                    self.expected(self.v, 99.5, method), self.expected(self.v, None), self.expected(self.v, 0, method),
                ])  # fmt: skip

    def test_text_and_pipes(self):
        lines = ["k,v,w"] + [f"{k},{v!r},{w}" for k, v, w in zip(self.k.tolist(), self.v.tolist(), self.w.tolist())]
        text = "\n".join(lines).encode() + b"\n"
        columns = [self.expected(self.v, None), self.expected(self.w, None)]
        asked = ["--column", "k", "--median", "v", "--median", ":w"]
        self.check(self.rows("group", self.write("t.csv", text), *asked), columns)
        self.check(self.rows("group", *asked, stdin=text), columns)
        # a column that is whole numbers until its last row: the rows are read again
        text = b"".join(b"%d,%d\n" % (i % 3, i) for i in range(300000)) + b"0,0.5\n"
        self.assertEqual(
            self.rows("group", "--column", "1", "--median", "2", "--sum", "2", "--quantile", "100:2", stdin=text),
            [["0", "149997", "14999850000.5", "299997"], ["1", "149999.5", "14999950000", "299998"],
             ["2", "150000.5", "15000050000", "299999"]],
        )  # fmt: skip

    def test_rules(self):
        k = self.save("k.npy", np.array([1, 1, 2, -0.0, 0.0, math.nan, -math.nan], "f4"))
        v = self.save("v.npy", np.array([math.nan, 1.1, math.nan, 3, 5, -0.0, 0.0]))
        asked = ["group", k, "--median", v, "--quantile", "100:" + v]
        same = [["nan", "0", "0"]]
        self.assertEqual(self.rows(*asked), [["0", "4", "5"], ["1", "nan", "nan"], ["2", "nan", "nan"]] + same)
        skipped = [["0", "4", "5"], ["1", "1.1", "1.1"], ["2", "nan", "nan"]] + same
        self.assertEqual(self.rows(*asked, "--nan", "skip"), skipped)
        for kind in ("f2", "f4"):
            self.save("v.npy", np.array([math.nan, 1, math.nan, 3, 5, -0.0, 0.0], kind))
            skipped[1] = ["1", "1", "1"]
            self.assertEqual(self.rows(*asked, "--nan", "skip"), skipped)
            self.assertEqual(self.rows(*asked, "--nan", "skip", "--method", "lower"), skipped)
        self.refused(3, "NaN", *asked, "--nan", "error")

    def test_json(self):
        k, v = self.write("k", b"1\n1\n2\n"), self.write("v", b"1\n2\n0.5\n")
        found = json.loads(self.result("group", k, "--json", "--median", v, "--count", "--quantile", "12.5:" + v))
        self.assertEqual(found["columns"], [
            {"op": "median", "of": v, "values": [1.5, 0.5]},
            {"op": "count", "of": None, "values": [2, 1]},
            {"op": "quantile", "of": v, "percent": 12.5, "values": [1.125, 0.5]},
        ])  # fmt: skip
        empty = json.loads(self.result("group", "-q", "--json", "--median", os.devnull, stdin=b""))
        self.assertEqual((empty["keys"], empty["columns"][0]["values"]), ([], []))

    def test_errors(self):
        k, v = self.write("k", b"1\n2\n"), self.write("v", b"1\n2\n")
        for operand in ("101:" + v, "-1:" + v, "5,950:" + v, "5", "5:", ":" + v, "nan:" + v, v):
            self.refused(2, "percents from 0 to 100", "group", k, "--quantile", operand)
        self.refused(2, "unknown method", "group", k, "--median", v, "--method", "best")
        self.refused(3, "fewer values", "group", k, "--median", self.write("short", b"1\n"))

    def test_saved_parts_are_merged_and_taken_out(self):
        """Floats and integers of 62 bits; by each method, which the state knows. JSON lists columns."""
        for method in METHODS:
            ask = lambda i: ["group", self.path("k%s.npy" % i), "--median", self.path("v%s.npy" % i), "--quantile",
                             "12.5:" + self.path("w%s.npy" % i), "--method", method]
            for i, part in [("", slice(None)), ("0", slice(0, 1801)), ("1", slice(1801, None))]:
                for name, x in [("k", self.k), ("v", self.v), ("w", self.w)]:
                    self.save("%s%s.npy" % (name, i), x[part])
            parts = [self.path("%d.bfs" % i) for i in range(2)]
            of = [self.result(*ask(i), "--save", parts[i]) for i in range(2)]
            whole = self.result(*ask(""))
            self.assertEqual(self.result("merge", *parts[::-1], "--save", self.path("all.bfs")), whole, method)
            self.assertEqual(self.result("merge", self.path("all.bfs")), whole, method)
            for i in range(2):
                self.assertEqual(self.result("merge", self.path("all.bfs"), "--minus", parts[1 - i]), of[i], (method, i))
            lists = [json.loads(self.result(*c, "--json")) for c in (["merge", self.path("all.bfs")], ask(""))]
            self.assertEqual([c["values"] for c in lists[0]["columns"]], [c["values"] for c in lists[1]["columns"]])
        self.result("group", self.path("k0.npy"), "--median", self.path("v0.npy"), "--save", self.path("other.bfs"))
        self.refused(3, "other keys, or other aggregates", "merge", parts[0], self.path("other.bfs"))
