"""bench of pictures, tables and groups: what is measured, and that peers are asked for the same.
Builds: release, asan (full)."""
import json
import math
import os
import subprocess
import sys

from command import CommandTest
from documents import ROOT

QUICK = ["bench", "--quick", "-j", "1"]
DATA = {
    "julia": {"centred", "shifted"},
    "table": {"insert", "reserved", "find", "half", "miss"},
    "group": {"2^10", "2^16", "2^22", "2^22-list", "zipf"},
    "order": {"sort", "argsort", "median", "quantiles", "top-100"},
    "scan": {"cumsum", "cummax"},
    "rolling": {"mean", "std", "max", "median"},
}

# Answers as a peer does, and keeps the questions.
PEER = """
import sys
for line in sys.stdin:
    open(sys.argv[1], "a").write(line)
    print("slow", "-" if line.split()[0] == "table" else "0.5", flush=True)
"""


class Bench(CommandTest):
    def measure(self, *arguments):
        return [json.loads(line) for line in
                self.result(*QUICK, "--json", *arguments).splitlines()]

    def test_points_are_counted_in_items(self):
        for work, item in [("julia", "pixels"), ("table", "keys"), ("group", "rows"),
                           ("order", "elements"), ("scan", "elements"), ("rolling", "elements")]:
            rows = [json.loads(line) for line in self.result(
                "bench", "--quick", "--json", "-j", "1,2", "--sizes", "64KiB", work).splitlines()]
            self.assertEqual({row["work"] for row in rows}, {work})
            self.assertEqual({row["data"] for row in rows}, DATA[work])
            self.assertEqual({row["threads"] for row in rows}, {1, 2})
            for row in rows:
                self.assertEqual((row["item"], row["device"]), (item, "cpu"))
                self.assertGreater(row["seconds"], 0)
                self.assertAlmostEqual(row["per_second"] * row["seconds"] / row["n"], 1, 3)

    def test_every_instruction_set(self):
        listed = json.loads(self.result("devices", "--json").splitlines()[0])["isas"]
        sets = {isa["name"] for isa in listed if isa["available"]}
        rows = self.measure("--isa", "all", "--sizes", "64KiB", "max")
        self.assertEqual({row["isa"] for row in rows}, sets)

    def test_small_arrays(self):
        rows = self.measure_small("sum", "dot")
        self.assertEqual([(row["work"], row["n"]) for row in rows],
                         [(work, n) for work in ["sum", "dot"]
                          for n in [1, 64, 1024, 16384, 131072]])
        self.assertTrue(all(row["seconds"] > 0 for row in rows))
        head, *lines = self.result("bench", "--quick", "--small", "max").splitlines()[1:]
        self.assertEqual(head.split(), ["work", "isa", "1", "64", "1024", "16384", "131072"])
        self.assertEqual([len(line.split()) for line in lines], [7])
        self.refused(2, "--small has sizes of its own", "bench", "--small", "-j", "2")

    def measure_small(self, *arguments):
        return [json.loads(line) for line in
                self.result("bench", "--quick", "--small", "--json", *arguments).splitlines()]

    def test_sizes_are_those_of_the_data(self):
        for size in ["64KiB", "100KiB"]:
            for row in self.measure("--sizes", size, "julia", "table", "group"):
                most = int(size[:-3]) << 10
                self.assertLessEqual(row["bytes"], most)
                if row["work"] == "julia":
                    self.assertEqual(math.isqrt(row["n"]) ** 2, row["n"])
                if row["work"] == "table":
                    self.assertEqual(row["n"], 1 << 14)
                if row["work"] == "group":
                    each = {"u32": 4, "f32": 8, "f64": 12}[row["dtype"]]
                    self.assertEqual(row["n"], most // each)

    def test_peers_are_asked_for_the_same(self):
        peer, log = self.write("peer.py", PEER.encode()), self.path("log")
        rows = self.measure("--sizes", "16KiB", "--peer", f"{sys.executable} {peer} {log}",
                            "julia", "table", "group")
        with open(log) as f:
            asked = {tuple(line.split()[:5]) for line in f}
        for row in rows:
            self.assertIn((row["work"], row["dtype"], row["data"], str(row["n"]),
                           str(row["threads"])), asked)
            self.assertEqual(list(row["peers"]), [] if row["work"] == "table" else ["slow"])
            for peer in row["peers"].values():
                self.assertAlmostEqual(peer["per_second"] * 0.5 / row["n"], 1, 3)
                self.assertAlmostEqual(peer["ratio"] * row["seconds"] / 0.5, 1, 2)

    def test_the_table_has_a_head_for_each(self):
        text = self.result("bench", "--quick", "-j", "1", "--sizes", "16KiB", "julia", "min")
        self.assertRegex(text, r"(?m)^work +dtype +data +size +threads +GB/s +plain +read$")
        self.assertRegex(text, r"(?m)^work +dtype +data +pixels +threads +M/s$")
        self.assertRegex(text, r"(?m)^julia +f32 +centred +8100 +1 +[0-9.]+$")
        text = self.result("bench", "--quick", "-j", "1", "--sizes", "16KiB", "julia")
        self.assertNotIn("plain", text)

    def test_expressions_are_measured_beside_dot(self):
        rows = self.measure("--sizes", "48KiB", "expression")
        self.assertEqual({(row["dtype"], row["data"]) for row in rows},
                         {(dtype, text) for dtype in ["f32", "f64"] for text in
                          ["a*b", "(a-b)**2", "sqrt(a*a+b*b)", "c=(a-b)**2"]})
        for row in rows:
            vectors = 3 if row["data"].startswith("c=") else 2
            self.assertEqual(row["n"] * vectors * {"f32": 4, "f64": 8}[row["dtype"]], 48 << 10)
            for beside in ["plain", "read", "dot"]:
                self.assertAlmostEqual(
                    row[beside + "_ratio"] * row[beside + "_gbps"] / row["gbps"], 1, 2)
        text = self.result(*QUICK, "--sizes", "16KiB", "min", "expression")
        self.assertRegex(text, r"(?m)^work +dtype +data +size +threads +GB/s +plain +read +dot$")
        self.assertRegex(text, r"(?m)^min +f32 .* -$")
        self.assertRegex(text, r"(?m)^expression f64 +a\*b +16 KiB +1( +[0-9.]+){4}$")

    def test_earlier_results_are_found_again(self):
        old = self.result(*QUICK, "--json", "--sizes", "16KiB", "julia") + "\n"
        rows = self.measure("--sizes", "16KiB", "--compare", self.write("o", old.encode()),
                            "julia")
        self.assertEqual({row["compared_by"] for row in rows}, {"gbps"})


class Table(CommandTest):
    """bench/table.py on results that nobody measured."""

    def show(self, about, *rows):
        lines = [dict(about, date="today", commit="none")]
        for row in rows:
            lines.append({"bytes": 4 * row["n"], "seconds": 1.0, "gbps": 1.0, "peers": {}, **row})
        results = self.write("results", "".join(json.dumps(x) + "\n" for x in lines).encode())
        script = os.path.join(ROOT, "bench", "table.py")
        return subprocess.run([sys.executable, script, results], check=True,
                              stdout=subprocess.PIPE).stdout.decode()

    def test_goals_on_the_cpu(self):
        point = {"work": "table", "dtype": "u32", "data": "find", "n": 1 << 24, "item": "keys"}
        peers = {"boost": {"ratio": 2.0}, "absl": {"ratio": 1.4}}
        text = self.show({"cpu": "x", "threads": 2},
                         {**point, "threads": 1, "per_second": 1e8, "peers": peers},
                         {**point, "threads": 2, "per_second": 1.9e8})
        self.assertIn("| work | dtype | data | keys | threads | M/s | / boost | / absl |", text)
        self.assertIn("| table | u32 | find | 16777216 | 1 | 100.0 | 2.00 | 1.40 |", text)
        self.assertIn("Goals reached: 1 of 2\n- table u32 find 16777216 keys 1 threads beside "
                      "boost and absl: 1.40 of 1.5\n", text)

    def test_goals_on_a_gpu(self):
        point = {"work": "group", "n": 1 << 28, "item": "rows", "threads": 0, "gpu": "x",
                 "mode": "host"}
        text = self.show(
            {"gpu": "x", "driver": "1", "cuda": "1"},
            {**point, "dtype": "u32", "data": "2^20", "per_second": 2e11,
             "peers": {"cuco": {"ratio": 6.6, "per_second": 3e10}}},
            {**point, "dtype": "u32", "data": "zipf", "per_second": 0.9e11},
            {**point, "dtype": "f64", "data": "2^20", "per_second": 7e10})
        self.assertIn("Goals reached: 2 of 3\n- group u32 zipf 268435456 rows host beside 2^20: "
                      "0.45 of 0.5\n", text)
