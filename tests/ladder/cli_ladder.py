"""ladder: that every rung is there and right; how fast it is, is not tested.
Builds: release, asan (full)."""
import functools
import json
import re

from command import SHORT, CommandTest, run

LADDERS = ["reduce", "scan", "add", "dot", "constant", "atomics", "histogram", "julia", "table"]
CPU = ["--quick", "--device", "cpu"]
FEWER = {"table": ["--size", "64Ki"]} if SHORT else {}


@functools.lru_cache
def has_gpu():
    return run("ladder", "atomics", "--quick", "--device", "cuda").returncode != 4


class Ladder(CommandTest):
    climbed = {}

    def rows(self, *arguments):
        """What the ladder prints; each is climbed once, for all tests."""
        if arguments not in self.climbed:
            lines = self.result("ladder", *arguments).splitlines()
            self.climbed[arguments] = [json.loads(line) for line in lines]
        return self.climbed[arguments]

    def test_alone_it_lists_the_ladders(self):
        listed = re.findall(r"(?m)^(\S+) ", self.result("ladder"))
        self.assertEqual(listed, LADDERS)

    def test_every_rung_passes_its_check(self):
        for ladder in LADDERS:
            rows = self.rows(ladder, "--json", *FEWER.get(ladder, []), *CPU)
            self.assertGreater(len(rows), 2)
            for row in rows:
                self.assertEqual((row["schema"], row["command"], row["ladder"], row["device"]),
                                 (1, "ladder", ladder, "cpu"))
                self.assertEqual(row["check"], "ok", row)
                self.assertGreaterEqual(row["seconds"], 0)
                self.assertTrue(row["rung"] and row["technique"] and row["work"], row)

    def test_the_last_rung_is_ours_and_correctly_rounded(self):
        for ladder in ["reduce", "add", "dot"]:
            ours = [r for r in self.rows(ladder, "--json", *CPU) if r["rung"] == "ours"]
            self.assertGreater(len(ours), 1)
            for row in ours:
                self.assertLessEqual(row.get("ulp", 0), 0.5000001, row)
                self.assertGreater(row["limit_gbps"], 0)
                self.assertAlmostEqual(row["share"], row["gbps"] / row["limit_gbps"], 2)

    def test_reduce_has_four_operations(self):
        rows = self.rows("reduce", "--json", *CPU)
        self.assertEqual({r["work"] for r in rows}, {"sum", "prod", "max", "min"})
        for work in ["sum", "prod", "max", "min"]:
            first, *_ = [r for r in rows if r["work"] == work]
            self.assertEqual(first["times"], 1)

    def test_tables_are_built_and_searched(self):
        rows = self.rows("table", "--json", *FEWER.get("table", []), *CPU)
        self.assertEqual({r["work"] for r in rows}, {"build", "find"})
        probes = {r["rung"]: r["probes"] for r in rows if "probes" in r}
        n = rows[0]["n"]
        self.assertAlmostEqual(probes.pop("1024 chains"), 1 + n / 1024 / 2, delta=n / 1024 / 50)
        self.assertEqual(set(probes), {"chains", "slots", "prefetch", "threads"})
        for average in probes.values():
            self.assertAlmostEqual(average, 1.5, delta=0.02)

    def test_a_table_has_no_more_keys_than_it_can_tell_apart(self):
        self.refused(1, "no more than 2Gi keys", "ladder", "table", "--json",
                     "--size=3Gi", *CPU)

    def test_sizes_around_a_step(self):
        for n in [1, 17, 4097] if SHORT else [1, 2, 15, 16, 17, 63, 64, 65, 129, 4097]:
            for ladder in LADDERS:
                rows = self.rows(ladder, "--json", "--size", n, *CPU)
                self.assertEqual({r["check"] for r in rows}, {"ok"}, (ladder, n))
                self.assertEqual({r["n"] for r in rows} - {1}, {n} - {1})

    def test_sizes_may_have_units(self):
        rows = self.rows("dot", "--json", "--size", "2Ki", *CPU)
        self.assertEqual({r["n"] for r in rows}, {2048})

    def test_the_table_names_every_rung(self):
        rows = self.rows("dot", "--json", *CPU)
        text = self.result("ladder", "dot", *CPU)
        for row in rows:
            self.assertRegex(text, r"(?m)^%s +%s .* ok" % (re.escape(row["rung"]),
                                                            re.escape(row["technique"])))

    def test_it_says_what_can_surprise(self):
        text = self.result("ladder", "reduce", *CPU)
        self.assertRegex(text, "measured, not a bound: .* above 100%")
        self.assertRegex(text, r"(?m)^ours +bf_reduce: exact; a product in 128 bits, not modulo 2\^32")

    def test_bad_usage(self):
        self.refused(2, "no such ladder: 'sum'", "ladder", "sum")
        self.refused(2, "one ladder at a time: 'dot'", "ladder", "add", "dot")
        self.refused(2, "unknown option: --fast", "ladder", "add", "--fast")
        self.refused(2, "an operand is missing: --size", "ladder", "add", "--size")
        self.refused(2, "unknown device: 'gpu'", "ladder", "add", "--device", "gpu")
        self.refused(2, "unknown device: 'cuda:x'", "ladder", "add", "--device", "cuda:x")
        for size in ["0", "-1", "x", "1k", "1.5", "100000000000000000000", "64Gi0", "65Gi"]:
            self.refused(2, "not a size: '%s'" % size, "ladder", "add", "--size=" + size)

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            self.refused(1, "standard output", "ladder", "dot", *CPU, stdout=full)


class WithoutGpu(CommandTest):
    def setUp(self):
        super().setUp()
        if has_gpu():
            self.skipTest("there is a GPU")

    def test_a_gpu_that_is_asked_for_must_be_there(self):
        for device in ["cuda", "cuda:0", "cuda:77"]:
            self.refused(4, "cannot use --device " + device, "ladder", "add", "--device", device)

    def test_auto_takes_the_cpu_and_says_why(self):
        done = run("ladder", "dot", "--quick", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"^bitfold ladder: no GPU, .*: .+\n$")
        self.assertEqual({json.loads(line)["device"] for line in done.stdout.splitlines()}, {"cpu"})


class WithGpu(CommandTest):
    def setUp(self):
        super().setUp()
        if not has_gpu():
            self.skipTest("needs a GPU")

    def test_every_rung_passes_its_check(self):
        for ladder in LADDERS:
            text = self.result("ladder", ladder, "--json", "--quick", "--device", "cuda")
            for row in map(json.loads, text.splitlines()):
                self.assertEqual((row["device"], row["check"]), ("cuda:0", "ok"), row)

    def test_sizes_around_a_vector(self):
        for n in [1, 5, 257, 2049, 1000003]:
            for ladder in ["reduce", "scan", "add", "dot"]:
                text = self.result("ladder", ladder, "--json", "--quick", "--device", "cuda",
                                   "--size", n)
                checks = {json.loads(line)["check"] for line in text.splitlines()}
                self.assertEqual(checks, {"ok"}, (ladder, n))

    def test_plain_increments_are_lost(self):
        text = self.result("ladder", "atomics", "--json", "--quick", "--device", "cuda")
        lost = {row["rung"]: row["lost"] for row in map(json.loads, text.splitlines())}
        self.assertGreater(lost.pop("plain"), 0)
        self.assertEqual(set(lost.values()), {0})
