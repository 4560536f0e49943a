"""bench --device: what it says of a GPU, where there is one, and that it says why there is none."""
import json
import sys

from command import CommandTest, run

QUICK = ["bench", "--device", "cuda", "--quick"]

# Answers as a peer does, and keeps the questions.
PEER = """
import sys
for line in sys.stdin:
    open(sys.argv[1], "a").write(line)
    print("slow", "-" if line.split()[0] == "max" else "0.5", flush=True)
"""


class BenchGpu(CommandTest):
    def measure(self, *arguments):
        done = run(*QUICK, "--json", *arguments)
        if done.returncode == 4:
            self.skipTest("no GPU: " + done.stderr.decode().strip())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def test_without_a_gpu_it_says_why(self):
        done = run(*QUICK, "--sizes", "4KiB", "min")
        if done.returncode == 0:
            self.skipTest("there is a GPU")
        self.refused(4, "bitfold bench: ", *QUICK, "--sizes", "4KiB", "min")
        self.assertGreater(len(done.stderr), len("bitfold bench: \n"))

    def test_other_devices_are_refused(self):
        for name in ["auto", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:1000000000"]:
            self.refused(2, "not a device", "bench", "--device", name)

    def test_work_that_is_not_measured_there(self):
        self.refused(2, "'mul' is no operation", *QUICK, "mul")

    def test_each_point_says_how_it_was_measured(self):
        rows = self.measure("--sizes", "64KiB,1MiB", "sum")
        self.assertEqual({row["device"][:5] for row in rows}, {"cuda:"})
        self.assertEqual({row["mode"] for row in rows}, {"stream", "host"})
        self.assertEqual({row["data"] for row in rows}, {"uniform", "normal", "wide", "full"})
        for row in rows:
            self.assertEqual(row["cache"], "warm" if row["bytes"] < 1 << 20 else "cold")
            self.assertRegex(row["isa"], r"^sm_\d+$")
            self.assertGreater(row["seconds"], 0)
            self.assertTrue(row["gpu"] and row["driver"])

    def test_peers_are_asked_for_the_same(self):
        peer, log = self.write("peer.py", PEER.encode()), self.path("log")
        command = f"{sys.executable} {peer} {log}"
        rows = self.measure("--sizes", "4KiB,1MiB", "--peer", command, "max", "dot")
        for row in rows:
            self.assertEqual(list(row["peers"]), ["slow"] if row["work"] == "dot" else [])
        with open(log) as f:
            asked = {tuple(line.split()[:5] + line.split()[6:]) for line in f}
        for row in rows:
            known = (row["work"], row["dtype"], row["data"], str(row["n"]), "0", row["mode"])
            buffers = {int(question[6]) for question in asked if question[:6] == known}
            self.assertEqual(len(buffers), 1)
            self.assertEqual(buffers == {1}, row["cache"] == "warm")

    def test_pictures_are_counted_in_pixels(self):
        rows = self.measure("--sizes", "64KiB,1MiB", "julia")
        self.assertEqual({row["mode"] for row in rows}, {"stream"})
        self.assertEqual({row["data"] for row in rows}, {"centred", "shifted"})
        for row in rows:
            self.assertEqual(row["item"], "pixels")
            self.assertAlmostEqual(row["per_second"] * row["seconds"] / row["n"], 1, 3)

    def test_tables_and_groups_are_measured_or_left_out(self):
        for work, item in [("table", "keys"), ("group", "rows")]:
            done = run(*QUICK, "--json", "--sizes", "64KiB", work)
            if done.returncode == 4:
                self.skipTest("no GPU: " + done.stderr.decode().strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout or done.stderr, work)
            for line in done.stderr.decode().splitlines():
                self.assertRegex(line, rf"^bitfold bench: {work} .*: not on this device$")
            for line in done.stdout.decode().splitlines():
                row = json.loads(line)
                self.assertEqual((row["item"], row["mode"]), (item, "host"))
                self.assertAlmostEqual(row["per_second"] * row["seconds"] / row["n"], 1, 3)

    def test_expressions_are_measured_beside_dot(self):
        rows = self.measure("--sizes", "48KiB,1MiB", "expression")
        self.assertEqual({row["mode"] for row in rows}, {"host"})
        self.assertEqual({row["data"] for row in rows},
                         {"a*b", "(a-b)**2", "sqrt(a*a+b*b)", "c=(a-b)**2"})
        for row in rows:
            self.assertAlmostEqual(row["dot_ratio"] * row["dot_gbps"] / row["gbps"], 1, 2)

    def test_earlier_results_are_found_again(self):
        rows = self.measure("--sizes", "4KiB", "dot")
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        for row in self.measure("--sizes", "4KiB", "--compare", self.write("o", text.encode()),
                                "dot"):
            self.assertEqual(row["compared_by"], "gbps")
