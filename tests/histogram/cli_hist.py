"""hist: NumPy's bins and counts, whatever the input is; every form of output; merge.
Builds: release, asan (full)."""
import json
import math
import os
import random
import re
import signal
import struct
import subprocess
import time
from decimal import Decimal

import numpy as np

from command import BITFOLD, CommandTest, DTYPES, RAW_NAMES, least_memory, run

SUNSPOTS = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "data", "sunspots")
UTF8 = {"LC_ALL": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1"}


class HistTest(CommandTest):
    def rows(self, *arguments, **more):
        """The lines of TSV, as numbers."""
        text = self.result("hist", *arguments, **more)
        return [[float(x) for x in line.split("\t")] for line in text.split("\n")]

    def check(self, rows, counts, edges):
        self.assertEqual([row[0] for row in rows] + [rows[-1][1]], list(edges))
        self.assertEqual([row[1] for row in rows[:-1]], [row[0] for row in rows[1:]])
        self.assertEqual([row[2] for row in rows], list(counts))

    def object(self, *arguments, command="hist", **more):
        found = json.loads(self.result(command, "--json", *arguments, **more))
        self.assertEqual([found.pop("schema"), found.pop("command")], [1, command])
        self.assertGreaterEqual(found.pop("seconds"), 0)
        found.pop("device")
        return found


class Counts(HistTest):
    def test_numbers_up_to_1000_are_clean_tsv(self):
        text = "\n".join(map(str, range(1, 1001))).encode()
        done = run("hist", stdin=text)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 11) # ceil(log2(1000)) + 1
        for line in lines:
            self.assertRegex(line, r"^[0-9.]+\t[0-9.]+\t[0-9]+$")
        self.check(self.rows(stdin=text), *np.histogram(np.arange(1, 1001), 11))

    def test_every_dtype_agrees_with_numpy(self):
        r = np.random.default_rng(1)
        for dtype in DTYPES:
            x = (r.normal(size=3000) * 30 + 100).clip(0, 250).astype(dtype)
            y = x.astype("u1") if dtype == "bool" else x
            name = self.save("x.npy", x.reshape(30, 100))
            raw = self.write("x.raw", x.tobytes())
            rows = self.rows("--bins", 9, name)
            if dtype in ["f2", "f4"]: # NumPy's edges differ between its versions 1 and 2
                edges = np.array([row[0] for row in rows] + [rows[-1][1]], dtype)
                self.assertEqual([edges[0], edges[-1]], [x.min(), x.max()])
                at = np.searchsorted(edges, np.sort(x), "right").clip(1, 9) - 1
                self.assertEqual([row[2] for row in rows], list(np.bincount(at, minlength=9)))
            else:
                self.check(rows, *np.histogram(y, 9))
            self.assertEqual(rows, self.rows("--bins", 9, "--format", "raw", "--dtype",
                                             RAW_NAMES[dtype], raw))
            swapped = self.save("s.npy", x.astype(np.dtype(dtype).newbyteorder(">")))
            self.assertEqual(rows, self.rows("--bins", 9, swapped))
            fortran = self.save("f.npy", np.asfortranarray(x.reshape(30, 100)))
            self.assertEqual(rows, self.rows("--bins", 9, fortran))
            if dtype not in ["f2", "f4"]:
                found = self.object("--bins", 7, "--range", "50:150", name)
                self.assertEqual(found["counts"], np.histogram(y, 7, (50, 150))[0].tolist())

    def test_a_range_may_be_negative_hexadecimal_or_one_point(self):
        x = np.random.default_rng(2).normal(size=1000) * 3
        name = self.save("x.npy", x)
        for text, ends in [("-20:-0x1p-2", (-20, -.25)), ("-1e1:10", (-10, 10)), ("2:2", (2, 2))]:
            found = self.object("--bins", 5, "--range", text, name)
            counts, edges = np.histogram(x, 5, ends)
            self.assertEqual([found["counts"], found["edges"]], [counts.tolist(), edges.tolist()])
            lo, hi = edges[0], edges[-1]
            self.assertEqual([found["below"], found["above"]], [(x < lo).sum(), (x > hi).sum()])

    @staticmethod
    def automatic(x, ends=None):
        """The number of bins by NumPy 2.4's rule."""
        x = x[np.isfinite(x)]
        if ends:
            x = x[(x >= ends[0]) & (x <= ends[1])]
        if x.size == 0:
            return 1
        lo, hi = ends or (float(x.min()), float(x.max()))
        lo, hi = (lo - 0.5, hi + 0.5) if lo == hi else (lo, hi)
        span = float(x.max()) - float(x.min())
        between = 2.0 * float(np.subtract(*np.percentile(x, [75, 25]))) * x.size**(-1 / 3)
        width = min(max(between, span / math.sqrt(x.size) / 2), span / (math.log2(x.size) + 1))
        if x.dtype.kind in "iu" and 0 < width < 1:
            width = 1
        return math.ceil((hi - lo) / width) if width else 1

    def test_automatic_bins_are_those_of_numpy(self):
        for seed in range(40):
            r = np.random.default_rng(seed)
            n = int(r.choice([1, 2, 3, 4, 5, 17, 100, 1024, 5000]))
            x = [r.normal(size=n), r.exponential(3, n), r.lognormal(0, 2, n), r.integers(-9, 20, n), np.ones(n),
                 r.integers(0, 255, n).astype("u1"), np.where(r.random(n) < .1, np.inf, np.round(r.normal(size=n), 1)),
                 r.integers(-2**40, 2**40, n)][seed % 8]
            name = self.save("x.npy", x)
            some = np.sort(x[np.isfinite(x)][[0, -1]]).tolist() if np.isfinite(x).any() else [0, 1]
            for ends in [None, some]:
                given = ["--range", "%r:%r" % tuple(ends)] if ends else []
                want = self.automatic(x, ends)
                self.assertEqual(self.object("-q", "--bins", "auto", *given, name)["bins"], want, (seed, ends))
                self.assertEqual(self.object("-q", *given, name)["bins"], min(want, 64), (seed, ends))
        self.assertEqual(self.object("-q", "--bins", "auto", self.save("x.npy", np.ones(0)))["bins"], 1)
        self.refused(3, "the rule asks for more than", "hist", "--bins", "auto", "--range", "0:1e12",
                     self.save("x.npy", np.arange(5) * 1.0))

    def test_automatic_bins_of_text_pipes_and_several_files(self):
        x = np.random.default_rng(1).exponential(3, 3000)
        lines = ["%r\n" % v for v in x.tolist()]
        whole = "".join(lines).encode()
        parts = [self.write("%d.txt" % i, "".join(lines[i::3]).encode()) for i in range(3)]
        want = self.automatic(x)
        for more in [dict(stdin=whole), dict()]:
            for j in [1, 3]:
                found = self.object("-j", j, "--bins", "auto", *([] if more else parts), **more)
                self.assertEqual([found["bins"], found["n"], sum(found["counts"])], [want, 3000, 3000])
        found = self.object("--bins", "auto", "-e", "a+0", self.save("x.npy", x))
        self.assertEqual(found["bins"], want)

    def test_narrow_ranges_have_few_bins(self):
        neighbours = self.save("x.npy", np.repeat([1.0, np.nextafter(1, 2)], 500))
        self.assertEqual(self.object(neighbours)["counts"], [1000])
        self.refused(3, "edges are equal", "hist", "--bins", 11, neighbours)

    def test_edges_of_f16_are_the_numbers_that_they_are(self):
        halves = np.arange(1 << 16, dtype="u2").view("f2")
        seen = set()
        spans = [(2.0**k, 2.0**(k + 1)) for k in range(-14, 15)] + [(0, 2.0**-14), (2.0**15, 65504)]
        for lo, hi in spans + [(-hi, -lo) for lo, hi in spans]:
            bins = np.unique(halves[(halves > lo) & (halves <= hi)]).size
            text = self.result("hist", "--dtype", "f16", "--bins", bins, "--range",
                               "%r:%r" % (float(lo), float(hi)), "--tsv", stdin=b"%r\n" % float(hi))
            edges = [line.split("\t")[:2] for line in text.split("\n")]
            shown = [low for low, _ in edges] + [edges[-1][1]]
            wanted = np.linspace(lo, hi, bins + 1).astype("f2")
            bits = [struct.pack("e", float(x)) for x in shown]
            self.assertEqual(bits, [x.tobytes() for x in wanted], (lo, hi))
            seen.update(bits)
        finite = {x.tobytes() for x in halves[np.isfinite(halves)]}
        self.assertEqual(finite - seen, {struct.pack("e", -0.0)})
        self.assertEqual(self.result("hist", "--dtype", "f16", "--bins", 2, "--range", "0:1",
                                     "--tsv", stdin=b"0\n1\n"), "0\t0.5\t1\n0.5\t1\t1")

    def test_half_of_the_range_of_f16_is_no_limit(self):
        name = self.save("x.npy", np.array([-30000, 0, 1, 35504], "f2"))
        self.assertEqual(self.object("--bins", 4, name)["counts"], [1, 2, 0, 1])
        for bins in [1, 3]:
            found = self.object("--bins", bins, "--density", name)
            edges = np.array(found["edges"])
            self.assertEqual(found["density"],
                             (np.array(found["counts"]) / np.diff(edges) / 4).tolist())
        wide = self.save("w.npy", np.array([-3e38, 0, 3e38], "f4"))
        self.assertEqual(self.object("--bins", 2, wide)["counts"], [1, 2])

    def test_edges_from_a_list_or_a_file(self):
        x = np.random.default_rng(3).normal(size=1000)
        name, edges = self.save("x.npy", x), [-1.5, -1, 0, .125, 2]
        counts = np.histogram(x, edges)[0].tolist()
        e8, e4 = self.save("e8.npy", np.array(edges)), self.save("e4.npy", np.array(edges, "f4"))
        text = self.write("edges.txt", "\n".join(map(str, edges)).encode())
        for operand in ["-1.5,-1,0,.125,2", e8, e4, text]:
            found = self.object("--edges", operand, name)
            self.assertEqual([found["counts"], found["edges"]], [counts, edges], operand)
        for bad in ["2,1", "1,1", "0,1,inf", self.write("one.txt", b"1\n")]:
            self.refused(2, "edges" if "txt" not in bad else "two numbers", "hist", "--edges", bad, name)
        self.refused(1, "cannot open", "hist", "--edges", "1,2,x", name)
        self.refused(2, "no --bins", "hist", "--edges", "1,2", "--bins", 3, name)

    def check_exactly(self, numbers, edges, *options, **more):
        """Edges as they were typed, and the counts of Decimals that are in each bin, below and above."""
        x, e = list(map(Decimal, numbers)), list(map(Decimal, edges))
        wanted = [sum(a <= y < b or y == b == e[-1] for y in x) for a, b in zip(e, e[1:])]
        done = run("hist", "--tsv", "--edges", ",".join(edges), *options, **more)
        lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
        self.assertEqual((done.returncode, [line[0] for line in lines] + [lines[-1][1]]), (0, edges), done.stderr)
        self.assertEqual([int(line[2]) for line in lines], wanted, edges)
        others = [(sum(y < e[0] for y in x), "below"), (sum(y > e[-1] for y in x), "above")]
        said = ", ".join("%d %s" % other for other in others if other[0])
        self.assertEqual(done.stderr.decode(), said and "bitfold hist: -: in no bin: %s\n" % said)

    def test_edges_part_the_decimals_that_are_written(self):
        """Different decimals of at most 15 digits are different doubles."""
        r = random.Random(5)
        for _ in range(60):
            scale, digits = r.randrange(16), r.choice([1, 2, 15])
            text = lambda: str(Decimal(r.randrange(-10**digits + 1, 10**digits)).scaleb(-scale).normalize() + 0)
            numbers = [x for x in (text() for _ in range(60)) if "E" not in x]
            edges = sorted(set(r.sample(numbers, min(len(numbers), 9))), key=Decimal)
            if len(edges) > 1 and not any(abs(Decimal(e)) < Decimal("1e-4") and Decimal(e) for e in edges):
                self.check_exactly(numbers, edges, stdin="\n".join(numbers).encode())

    def test_expressions_and_conditions_take_decimals_as_they_are(self):
        path = self.write("t.csv", b"a,b\n0.1,0.7\n0.1,0.2\n9007199254740993,0\n")
        edges = ["--edges", "0,0.3,0.8,1", "--tsv", "-q"]
        self.assertEqual(self.result("hist", "-e", "a+b", *edges, path), "0\t0.3\t0\n0.3\t0.8\t1\n0.8\t1\t1")
        for where, found in [("a*3 == 0.3", 1), ("a == 9007199254740993", 0), ("b*a == 0.07", 1), ("a*3 != 0.3", 0)]:
            for more in [], ["--memory", "%dM" % (least_memory() + 9)]:
                got = self.result("hist", "--column", "b", *edges[:1], "0.5,0.8", *edges[2:], "--where", where, *more, path)
                self.assertEqual(got, "0.5\t0.8\t%d" % found, where)
        self.assertEqual(self.result("hist", "--column", "b", "--bins", 1, "--where", "b*3 == 0.6", path), "-0.3\t0.7\t1")

    def test_expressions_of_times(self):
        path = self.write("t.csv", b"t,u\n2026-01-31T10:00,2026-02-01\n2026-03-01T12:30:00.25,2026-02-01\n2026-02-28,2026-02-01\n")
        ask = ["hist", "--tsv", "-q", path, "-e"]
        self.assertEqual(self.result(*ask, "month(t)", "--edges", "1,2,3,4"), "1\t2\t1\n2\t3\t1\n3\t4\t1")
        self.assertEqual(self.result(*ask, "(t - u) / 86400", "--edges", "0,20,28"), "0\t20\t0\n20\t28\t1")
        self.assertEqual(self.result(*ask, "date(t)", "--bins", 1), "2026-01-31\t2026-03-01\t3")
        self.assertEqual(self.result(*ask, "t + 0.125", "--bins", 1), "2026-01-31T10:00:00.125\t2026-03-01T12:30:00.375\t3")
        self.assertEqual(self.result(*ask, "t", "--range", "2026-02-01:2026-02-28T00:00:00.000000001", "--bins", 1),
                         "2026-02-01T00:00:00\t2026-02-28T00:00:00.000000001\t1")
        for kind, edges in [("date(t)", "1,2"), ("month(t)", "2026-01-01,2026-02-01")]:
            self.refused(2, "--edges and --range are", "hist", "-e", kind, "--edges", edges, path)

    def test_large_integers_beside_fractions(self):
        """Edges beyond 2^53 part the integers of a column still, if some of its numbers are no
        integers."""
        r = random.Random(6)
        near = 2**53 + 1
        for _ in range(30):
            numbers = [str(near + r.randrange(-9, 9)) for _ in range(40)]
            numbers += ["%d.%d" % (r.randrange(-9, 9), r.randrange(1, 9)) for _ in range(10)]
            numbers += ["0.5", str(near + 9)]
            edges = sorted(r.sample(range(near - 9, near + 9), 4)) + [near + 10]
            edges = [str(e) for e in [r.randrange(-3, 3)] + edges]
            self.check_exactly(numbers, edges, stdin="\n".join(r.sample(numbers, 52)).encode())
        self.check_exactly(["10", "10.5", "3.5", "-0.5", "%d" % near], ["-%d" % near, "3", "10"],
                           stdin=b"10\n10.5\n3.5\n-0.5\n%d\n" % near)

    def test_large_integers_that_turn_out_to_be_others(self):
        """What the first rows are guessed to be they need not be: files and pipes, and all of several."""
        first = [2**53 + i for i in range(5000)]
        edges = [str(e) for e in (2**53 - 1, 2**53 + 1, 2**53 + 2**12, 2**63, 2**64 - 1)]
        for last in ["9007199254740993.0", "0.5", "18446744073709551615"]:
            text = "".join("%d\n" % x for x in first).encode() + last.encode() + b"\n"
            for threads in (1, 3):
                self.check_exactly(first + [last], edges, "-j", threads, stdin=text)
            name = self.write("t.txt", text)
            found = self.object("--edges", ",".join(edges), name, name)
            once = self.object("--edges", ",".join(edges), stdin=text)
            self.assertEqual(found["counts"], [2 * n for n in once["counts"]])


    def test_integers_compare_with_integer_edges_as_integers(self):
        first, now = 1 << 53, 1_700_000_000_000_000_000
        cases = [(first + np.arange(4), [first + 1, first + 3]),
                 (now + np.arange(0, 900, 7), [now + 100 * i for i in range(6)])]
        for x, edges in cases:
            counts = np.histogram(x, edges)[0].tolist()
            listed = ",".join(map(str, edges))
            rows = "\n".join("%d\t%d\t%d" % row for row in zip(edges, edges[1:], counts))
            text = self.write("x.txt", "\n".join(map(str, x)).encode())
            file = self.save("edges.npy", np.array(edges))
            for operand in [listed, file, self.write("edges.txt", listed.replace(",", "\n").encode())]:
                for name in [text, self.save("x.npy", x), self.save("u.npy", x.astype("u8"))]:
                    self.assertEqual(self.result("hist", "-q", "--edges", operand, name), rows)
            out = self.path("out.npy")
            self.result("hist", "-q", "--edges", listed, "-o", out, text)
            self.assertEqual(np.load(out).tolist(), [list(r) for r in zip(edges, edges[1:], counts)])
            saved = self.path("h.bfs")
            found = self.object("-q", "--edges", listed, text, "--save", saved)
            self.assertIn("PASS", self.result("verify", "--against", saved, text))
            self.assertEqual([int(e) for e in found["edges"]], edges)
        self.assertEqual(self.object("-q", "--bins", 1, "--range", "%d:%d" % (first + 1, first + 3),
                                     self.save("x.npy", first + np.arange(4)))["counts"], [3])
        self.refused(2, "equal as doubles", "hist", "--edges", listed, self.save("x.npy", np.ones(1)))
        self.refused(3, "are not compared with i128", "hist", "--edges", listed, stdin=b"9007199254740995\n%d\n" % 10**20)

    def test_nan_infinity_and_what_is_outside_are_told_apart(self):
        name = self.save("x.npy", np.array([0, 1, 2, 3, 4, np.nan, np.inf, -np.inf, -np.inf]))
        found = self.object("--bins", 2, name)
        self.assertEqual(found, {"file": name, "dtype": "f64", "n": 9, "bins": 2,
                                 "edges": [0, 2, 4], "counts": [2, 3], "nan": 1, "below": 2,
                                 "above": 1})
        done = run("hist", "--bins", 2, name)
        self.assertEqual(done.stdout, b"0\t2\t2\n2\t4\t3\n")
        self.assertEqual(done.stderr.decode(),
                         "bitfold hist: %s: in no bin: 1 NaN, 2 below, 1 above\n" % name)
        self.assertEqual(run("hist", "-q", "--bins", 2, name).stderr, b"")
        self.refused(3, "in no bin: 1 NaN, 2 below, 1 above", "hist", "--strict", name)
        self.result("hist", "--strict", self.save("y.npy", np.arange(5)))

    def test_nothing_and_one_value(self):
        self.assertEqual(self.result("hist", "-q", stdin=b""), "0\t1\t0")
        self.assertEqual(self.result("hist", stdin=b"7\n7\n"), "6.5\t7.5\t2")
        self.assertEqual(self.result("hist", "--bins", 1, stdin=b"7\n"), "6.5\t7.5\t1")
        self.assertEqual(self.object("-q", "--density", stdin=b"")["density"], ["nan"])

    def test_weights_are_summed_exactly(self):
        r = np.random.default_rng(4)
        x, w = r.random(5000), r.normal(size=5000) * 10.0 ** r.integers(-20, 20, 5000)
        a, b = self.save("x.npy", x), self.save("w.npy", w)
        at = np.minimum((x * 4).astype(int), 3)
        want = [math.fsum(w[at == i]) for i in range(4)]
        options = ["--bins", 4, "--range", "0:1"]
        self.assertEqual([row[2] for row in self.rows(*options, "--weights", b, a)], want)
        with open(b, "rb") as f:
            self.assertEqual([row[2] for row in self.rows(*options, "--weights", "-", a,
                                                          stdin=f.read())], want)
        halves = [self.save("h%d.npy" % i, h) for i, h in enumerate(np.split(x, [1234]))]
        self.assertEqual([row[2] for row in self.rows(*options, "--weights", b, *halves)], want)
        text = self.write("w", "\n".join(map(repr, w.tolist())).encode())
        found = self.object(*options, "--weights", text, a)
        self.assertEqual(found["weights"], want)
        self.assertEqual(found["counts"], np.bincount(at).tolist())
        square = self.save("sq.npy", np.asfortranarray(x.reshape(50, 100)))
        self.assertEqual([row[2] for row in self.rows(*options, "--weights", b, square)], want)
        density = self.object(*options, "--weights", b, "--density", a)["density"]
        np.testing.assert_allclose(density, np.array(want) / .25 / math.fsum(want), rtol=1e-14)
        self.refused(3, "fewer weights", "hist", "--weights", self.save("s.npy", w[1:]), a)
        self.refused(3, "more weights", "hist", "--weights", b, self.save("s.npy", x[1:]))

    def test_density_is_numpys(self):
        x = np.random.default_rng(5).normal(size=1000)
        want = np.histogram(x, 10, (-2, 3), density=True)[0].tolist()
        name = self.save("x.npy", x)
        self.assertEqual(self.object("--bins", 10, "--range", "-2:3", "--density", name)["density"],
                         want)
        done = run("hist", "--bins", 10, "--range", "-2:3", "--density", name).stdout.decode()
        self.assertEqual([float(line.split("\t")[2]) for line in done.splitlines()], want)

    def test_several_files_are_one_histogram(self):
        parts = [np.arange(10.0), np.arange(5.0) * 4, np.array([30.0])]
        names = [self.save("%d.npy" % i, p) for i, p in enumerate(parts)]
        names[1] = self.write("t", b"0\n4\n8\n12\n16\n")
        self.check(self.rows("--bins", 6, *names), *np.histogram(np.concatenate(parts), 6))
        self.assertEqual(self.object(*names)["file"], "total")
        self.refused(3, "different dtypes", "hist", names[0], self.save("i.npy", np.arange(3)))
        self.refused(2, "more than once", "hist", "-", "-")

    def test_hexadecimal(self):
        self.assertEqual(self.result("hist", "--hex", "--bins", 2, "--range", "0:1", stdin=b".5"),
                         "0x0p+0\t0x1p-1\t0\n0x1p-1\t0x1p+0\t1")


class Inputs(HistTest):
    def test_pipes_are_spooled_to_memory_and_beyond(self):
        x = np.random.default_rng(6).normal(size=1_500_000)
        name, text = self.save("x.npy", x), "\n".join(map(repr, x[:100_000].tolist())).encode()
        want, part = self.rows("--bins", 20, name), self.rows("--bins", 20, "--count", 100_000, name)
        spool, least = self.path("spool"), "%dM" % least_memory()
        os.mkdir(spool)
        with open(name, "rb") as f:
            data = f.read()
        for memory in ["1GiB", least, "96MiB", "100%"]:
            for input, rows in [(data, want), (text, part)]:
                found = self.rows("--bins", 20, "-j2", "--memory", memory, stdin=input,
                                  env={"TMPDIR": spool})
                self.assertEqual(found, rows, memory)
        self.assertEqual(os.listdir(spool), [])
        self.refused(1, "temporary file", "hist", "-j2", "--memory", least, stdin=data,
                     env={"TMPDIR": self.path("nowhere")})
        found = self.rows("--bins", 20, "--range", "-1e9:1e9", "-j2", "--memory", least, stdin=data,
                          env={"TMPDIR": self.path("nowhere")})
        self.assertEqual(sum(row[2] for row in found), x.size) # no spool is needed

    def test_what_is_interrupted_leaves_nothing(self):
        spool, least = self.path("spool"), "%dM" % least_memory()
        os.mkdir(spool)
        child = subprocess.Popen([BITFOLD, "hist", "-j2", "--memory", least, "-o", self.path("x.tsv"),
                                  "--save", self.path("x.bfs")], stdin=subprocess.PIPE,
                                 env={**os.environ, "TMPDIR": spool})
        header = np.lib.format.header_data_from_array_1_0(np.zeros(1))
        np.lib.format.write_array_header_1_0(child.stdin, {**header, "shape": (10 ** 9,)})
        child.stdin.write(bytes(10_000_000))
        child.stdin.flush()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        child.wait(20)
        child.stdin.close()
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertEqual([os.listdir(spool), os.listdir(self.dir)], [[], ["spool"]])

    def test_text_is_the_same_on_any_number_of_threads(self):
        x = np.random.default_rng(7).normal(size=200_000)
        name = self.save("x.npy", x)
        lines = [repr(v) for v in x.tolist()]
        text = self.write("x", "\n".join(lines).encode())
        want = self.rows("--bins", 30, name)
        for threads in [1, 2, 5]:
            self.assertEqual(self.rows("--bins", 30, "-j", threads, text), want)
            with open(text, "rb") as f:
                self.assertEqual(self.rows("--bins", 30, "-j", threads, stdin=f.read()), want)
        some = ["--bins", 30, "--offset", 1000, "--count", 150_000]
        self.assertEqual(self.rows(*some, text), self.rows(*some, name))
        self.refused(3, "too short", "hist", "--count", 300_000, text)
        self.refused(3, "past the end", "hist", "--offset", 300_000, text)
        lines[190_000] = lines[150_000] = "1x"
        self.refused(3, ":150001: ", "hist", "-j", 3, self.write("y", "\n".join(lines).encode()))

    def test_columns(self):
        found = self.object("--column", "sunspots", "--bins", 10, SUNSPOTS + ".csv")
        self.assertEqual(found["column"], "sunspots")
        array = self.object("--bins", 10, SUNSPOTS + ".npy")
        self.assertEqual([found["edges"], found["counts"]], [array["edges"], array["counts"]])
        self.refused(2, "one column", "hist", "--column", "1,2", SUNSPOTS + ".csv")

    def test_a_stream_that_is_short_or_damaged(self):
        with open(self.save("x.npy", np.arange(1000.0)), "rb") as f:
            data = f.read()
        self.refused(3, "shorter", "hist", stdin=data[:-8])
        self.refused(3, "whole number", "hist", "--format", "raw", "--dtype", "f64", stdin=b"123")
        self.refused(1, "cannot open", "hist", self.path("none"))

    def test_the_instruction_set_and_the_device_change_nothing(self):
        name = self.save("x.npy", np.random.default_rng(8).normal(size=100_000).astype("f4"))
        want = self.rows("--bins", 50, name)
        for more in [["--isa", "generic"], ["--device", "cpu"], ["-j", 1], ["-j", 7]]:
            self.assertEqual(self.rows("--bins", 50, *more, name), want)

    def test_bad_options(self):
        for option, operand in [("--bins", "0"), ("--bins", "x"), ("--bins", "2147483649"),
                                ("--range", "1"), ("--range", "2:1"), ("--range", "0:inf"),
                                ("--range", "0:1x"), ("--memory", "0"), ("--memory", "5x")]:
            self.refused(2, "bad operand of " + option, "hist", option, operand, stdin=b"1")
        self.refused(2, "too wide", "hist", "--bins", 2, "--range", "-1e308:1.7e308", stdin=b"1")


class Merging(HistTest):
    def test_parts_merge_to_the_whole(self):
        x = np.random.default_rng(9).normal(size=9000)
        w = np.random.default_rng(10).normal(size=9000)
        options = ["--bins", 12, "--range", "-2:2"]
        for weights in [False, True]:
            for i, name in enumerate("abc"):
                part = self.save(name + ".npy", x[i * 3000:i * 3000 + 3000])
                more = ["--weights", self.save("w.npy", w[i * 3000:i * 3000 + 3000])] * weights
                self.result("hist", "-q", *options, *more, "--save", self.path(name), part)
            more = ["--weights", self.save("w.npy", w)] * weights
            whole = self.object(*options, *more, "--density", self.save("x.npy", x))
            for order in ["abc", "cab"]:
                merged = self.object(*map(self.path, order), "--density", "--save",
                                     self.path("m"), command="merge")
                self.assertEqual({**merged, "file": 0}, {**whole, "file": 0})
            again = self.object(self.path("m"), "--density", command="merge")
            self.assertEqual({**again, "file": 0}, {**whole, "file": 0})
            with open(self.path("m"), "rb") as f:
                self.result("merge", "-q", "-", stdin=f.read())

    def test_a_part_is_taken_out_again(self):
        x = np.random.default_rng(15).normal(size=3000)
        x[::7] = -0.0
        options = ["-q", "--bins", 12, "--range", "-2:2"]
        for weights in [False, True]:
            for name, part in [("a", x[:900]), ("b", x[900:]), ("ab", x)]:
                file = self.save(name + ".npy", part)
                more = ["--weights", file] if weights else []
                self.result("hist", *options, *more, "--save", self.path(name), file)
            self.result("merge", "-q", self.path("ab"), "--minus", self.path("a"), "--save",
                        self.path("left"))
            with open(self.path("left"), "rb") as left, open(self.path("b"), "rb") as want:
                self.assertEqual(left.read(), want.read())
            self.refused(3, "more than", "merge", self.path("a"), "--minus", self.path("ab"))

    def test_verify_counts_again(self):
        x = np.random.default_rng(14).normal(size=3000)
        name, w = self.save("x.npy", x), self.save("w.npy", x[::-1])
        text = self.write("x", "\n".join(map(repr, x.tolist())).encode())
        for weights in [[], [w]]:
            more = ["--weights", w] if weights else []
            self.result("hist", *more, "--save", self.path("h"), name)
            for data in [name, text]:
                found = run("verify", "--against", self.path("h"), data, *weights)
                self.assertEqual(found.returncode, 0, found.stderr)
                self.assertIn(": hist of 3000 elements of f64", found.stdout.decode())
            self.assertEqual(run("verify", "--against", self.path("h"), w,
                                 *weights).returncode, 5 if weights else 0)
        self.refused(2, "weights", "verify", "--against", self.path("h"), name)

    def test_large_histograms_save_and_load(self):
        name = self.save("x.npy", np.arange(1000.0))
        options = ["--bins", 100_000, name]
        text = self.result("hist", *options, "--save", self.path("s"))
        self.assertEqual(self.result("merge", self.path("s")), text)

    def test_what_does_not_match_is_refused(self):
        name = self.save("x.npy", np.arange(10.0))
        for bins, file in [(3, "three"), (4, "four")]:
            self.result("hist", "--bins", bins, "--save", self.path(file), name)
        self.result("sum", "--save", self.path("sum"), name)
        error = self.refused(3, "do", "merge", self.path("three"), self.path("four"))
        self.assertIn("hint: ", error)
        self.refused(3, "histogram", "merge", self.path("three"), self.path("sum"))
        self.refused(3, "histogram", "merge", self.path("sum"), self.path("three"))
        self.refused(2, "histograms", "merge", "--log", self.path("sum"))
        with open(self.path("three"), "rb") as f:
            data = f.read()
        for damaged in [data[:-1], data + b"\0", data[:40] + b"\xff" + data[41:]]:
            self.refused(3, "damaged", "merge", self.write("bad", damaged))


class Files(HistTest):
    def test_tables_and_arrays(self):
        name = self.save("x.npy", np.arange(100.0))
        want = self.rows("--bins", 5, name)
        self.result("hist", "--bins", 5, "-o", self.path("h.npy"), name)
        self.assertEqual(np.load(self.path("h.npy")).tolist(), want)
        self.result("hist", "--bins", 5, "-o", self.path("h.TSV"), name)
        with open(self.path("h.TSV")) as f:
            self.assertEqual([list(map(float, line.split())) for line in f], want)
        self.result("hist", "--bins", 5, "-o", self.path("h.json"), name)
        with open(self.path("h.json")) as f:
            self.assertEqual(json.load(f)["counts"], [20] * 5)
        self.refused(2, "cannot write this as .xyz", "hist", "-o", self.path("h.xyz"), name)
        self.result("hist", "--bins", 5, "-o", self.path("h"), name)
        with open(self.path("h")) as f:
            self.assertEqual([list(map(float, line.split())) for line in f], want)
        self.refused(2, "ending", "hist", "--json", "-o", self.path("h.png"), name)
        self.result("hist", "--tsv", "-o", self.path("h"), name)
        self.assertFalse(os.path.exists(self.path("h.xyz")))

    def figure(self, name, *arguments):
        done = run("hist", *arguments, "-o", self.path(name), env=self.drawing())
        if done.returncode == 4:
            self.assertRegex(done.stderr.decode(), "cannot draw figures: .*cairo")
            self.assertFalse(os.path.exists(self.path(name)))
            self.skipTest("needs cairo")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_figures(self):
        x = self.save("x.npy", np.random.default_rng(11).normal(size=1000))
        png = self.figure("x.png", x)
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", png[16:24]), (1800, 1200))
        self.assertEqual(png[-8:-4], b"IEND")
        pdf = self.figure("x.pdf", x)
        self.assertEqual((pdf[:5], pdf.strip()[-5:]), (b"%PDF-", b"%%EOF"))
        svg = self.figure("x.svg", "--title", "a & b <c>", x).decode()
        self.assertRegex(svg, "^<\\?xml")
        self.assertIn("</svg>", svg)

    def test_figures_of_all_kinds_can_be_drawn(self):
        r = np.random.default_rng(12)
        w = self.save("w.npy", r.normal(size=500))
        cases = [(np.zeros(0), []), (np.ones(3), ["--log"]), (r.normal(size=500), ["--weights", w]),
                 (r.normal(size=500), ["--bins", 5000]), (1e9 + 1e-6 * r.random(500), []),
                 (r.random(500) * 1e-300, ["--density", "--log"]), (r.random(9) * 1.7e308, []),
                 (np.array([-1e308, 7e307]), []), (np.array([np.nan]), ["--title", "é" * 300]),
                 (np.arange(9.0), ["--title", "\udcff\x07 10^3"]),
                 (np.arange(5.0), ["--edges", "-8e307,0,1,9e307", "--density"]),
                 (np.array([5e-324, 5e-323]), ["--bins", 1])]
        for x, more in cases:
            self.figure("x.svg", *more, self.save("x.npy", x))
        for unit in "Dsn":
            for times in [[0], [0, 1], [0, 86399], r.integers(-10**9, 10**9, 500)]:
                x = np.array(times, "M8[%s]" % unit.replace("n", "ns"))
                self.figure("x.svg", self.save("x.npy", x))

    def test_a_figure_that_cannot_be_written_is_an_error(self):
        x = self.save("x.npy", np.arange(5.0))
        self.figure("x.png", x)
        self.refused(1, "cannot write", "hist", "-o", self.path("no/x.png"), x)


class Terminal(HistTest):
    def plot(self, *arguments, columns=60, env=UTF8):
        """The lines that a terminal shows."""
        shown = self.shown("hist", *arguments, env={**os.environ, "COLUMNS": str(columns), **env})
        return shown.split("\n")[:-1]

    def test_bars_are_as_long_as_they_should_be(self):
        name = self.write("x", b"0\n" * 16 + b"1\n" * 8 + b"2\n" + b"3\n" * 0 + b"4\n" * 4)
        lines = self.plot("--bins", 4, "--range", "0:4", "--title", "T", name, columns=30)
        room = 30 - len("0 – 1  16 ") # bars of eighths
        eighth = lambda n: "█" * (n // 8) + ["", *"▏▎▍▌▋▊▉"][n % 8]
        want = ["T", "", "0 – 1  16 " + eighth(8 * room), "1 – 2   8 " + eighth(4 * room),
                "2 – 3   1 " + eighth(round(room / 2)), "3 – 4   4 " + eighth(2 * room)]
        self.assertEqual(lines, want)
        ascii = self.plot("--bins", 4, "--range", "0:4", "--title", "", name, columns=30,
                          env={"LC_ALL": "C", "TERM": "xterm", "NO_COLOR": "1"})
        self.assertEqual(ascii, ["0 - 1  16 " + "#" * room, "1 - 2   8 " + "#" * (room // 2),
                                 "2 - 3   1 #", "3 - 4   4 " + "#" * (room // 4)])

    def test_lines_fit_the_terminal(self):
        x = np.random.default_rng(13).normal(size=5000)
        for scale in [1, 1e-9, 1e30]:
            name = self.save("x.npy", x * scale)
            for columns in [40, 61, 80, 200]:
                for more in [[], ["--log"], ["--density"], ["--bins", 1000]]:
                    lines = self.plot(*more, name, columns=columns)
                    self.assertLessEqual(max(map(len, lines)), columns, (scale, more))
                    self.assertLess(len(lines), 70)
                    if columns > 60 and more != ["--log"]:
                        self.assertEqual(max(map(len, lines)), columns)

    def test_color_and_blocks_follow_the_environment(self):
        plain = "\n".join(self.plot(SUNSPOTS + ".npy"))
        self.assertIn("█", plain)
        self.assertNotIn("\x1b", plain)
        for env in [{"LC_ALL": "C"}, {"TERM": "dumb"}, {"TERM": "linux"}]:
            self.assertTrue("\n".join(self.plot(SUNSPOTS + ".npy", env={**UTF8, **env})).isascii())
        self.assertIn("\x1b[36m", "\n".join(self.plot("--color", "always", SUNSPOTS + ".npy")))
        self.assertIn("\x1b[36m", "\n".join(self.plot(SUNSPOTS + ".npy",
                                                      env={**UTF8, "NO_COLOR": ""})))

    def test_the_title_says_what_bars_are(self):
        lines = self.plot("--density", "--log", SUNSPOTS + ".npy")
        self.assertEqual(lines[0], "sunspots.npy (n = 309): density, logarithmic")

    def test_sunspots(self):
        lines = self.plot("--bins", 10, SUNSPOTS + ".npy", columns=80)
        self.assertEqual(lines[0], "sunspots.npy (n = 309)")
        counts = np.histogram(np.load(SUNSPOTS + ".npy"), 10)[0]
        self.assertEqual([int(line.split()[3]) for line in lines[2:]], counts.tolist())
        self.assertTrue(lines[2].startswith("  0.00 –  19.02  89 ███"), lines[2])
        self.assertEqual(len(lines[2]), 80)

    def test_what_is_in_no_bin_is_told(self):
        name = self.save("x.npy", np.array([1, 2, np.nan, 50, -7]))
        self.assertEqual(self.plot("--range", "0:3", name)[-1],
                         "in no bin: 1 NaN, 1 below, 1 above")
        self.assertEqual(self.plot("--range", "0:3", "--bins", 130, name)[-1],
                         "3 bins a line; in no bin: 1 NaN, 1 below, 1 above")

    def test_negative_sums_go_to_the_left(self):
        name = self.save("x.npy", np.arange(3.0))
        weights = self.save("w.npy", np.array([2.0, -2, 1]))
        lines = self.plot("--bins", 3, "--weights", weights, "--title", "", name, columns=40,
                          env={"LC_ALL": "C", "TERM": "xterm", "NO_COLOR": "1"})
        bars = [re.search(r"\d ( *)(#+)$", line).span(2) for line in lines]
        self.assertEqual(bars[0][0], bars[1][1])
        self.assertEqual(bars[0][1] - bars[0][0], bars[1][1] - bars[1][0])
        self.assertEqual(bars[2][0], bars[0][0])
        done = run("hist", "--bins", 3, "--weights", weights, "--log", "-o", self.path("x.svg"), name)
        self.assertIn(done.returncode, [3, 4])
        self.assertFalse(os.path.exists(self.path("x.svg")))
