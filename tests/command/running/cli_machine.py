"""devices, verify --against, completion and bench --compare: what is about the machine.
Builds: release, asan (full)."""
import json
import os
import re
import shutil
import subprocess

import numpy as np

from command import BITFOLD, OPERATIONS, CommandTest, run


class Devices(CommandTest):
    def test_text_and_json_tell_the_same(self):
        text = self.result("devices")
        found = json.loads(self.result("devices", "--json"))
        self.assertEqual((found["schema"], found["command"], found["device"]),
                         (1, "devices", "cpu"))
        self.assertIn(found["model"], text)
        if found["gpus"]:
            for gpu in found["gpus"]:
                self.assertIn("%s: %s at %s" % (gpu["device"], gpu["name"], gpu["pci"]), text)
        else:
            self.assertIn("gpu       none: " + found["gpu_build"], text)
            self.assertIn("what would help: " + found["gpu_help"], text)
        self.assertEqual(found["gpu_build"] == "", found["gpus"] != [])
        self.assertGreater(found["memory"], found["memory_available"])
        self.assertGreaterEqual(found["seconds"], 0)
        for isa in found["isas"]:
            self.assertEqual(isa["available"], isa["why_not"] == "")
            self.assertRegex(text, r"(?m)\b%s +(%s)" % (
                isa["name"], isa["why_not"] or "available|chosen"))
        available = [isa["name"] for isa in found["isas"] if isa["available"]]
        self.assertEqual(found["isa"], available[-1])
        self.assertEqual(self.result("sum", "--isa", found["isa"],
                                     self.save("x.npy", np.ones(3))), "3")

    def test_cores_are_those_that_may_be_used(self):
        allowed = sorted(os.sched_getaffinity(0))
        found = json.loads(self.result("devices", "--json"))
        self.assertEqual(found["cores_allowed"], len(allowed))
        self.assertLessEqual(found["threads"], len(allowed))
        if len(allowed) < 2:
            self.skipTest("one core cannot be reduced")
        done = run("devices", "--json",
                   preexec_fn=lambda: os.sched_setaffinity(0, {allowed[-1]}))
        found = json.loads(done.stdout)
        self.assertEqual((found["threads"], found["limited_by"]), (1, "the affinity mask"))

    def test_it_takes_no_operand(self):
        self.refused(2, "no operand", "devices", "cpu")


class AllGpus(CommandTest):
    def setUp(self):
        super().setUp()
        if not json.loads(self.result("devices", "--json"))["gpus"]:
            self.skipTest("no GPU")

    def test_they_print_what_the_cpu_prints(self):
        rng = np.random.default_rng(5)
        x = self.save("x.npy", rng.normal(size=(3 << 20) + 7).astype("f4"))
        k = self.save("k.npy", rng.integers(0, 50000, (3 << 20) + 7))
        few = self.save("few.npy", np.arange(1000))
        commands = [[op, x] for op in ("sum", "prod", "argmax", "describe")]
        commands += [["dot", x, x], ["hist", "--bins", "9", "--range", "-9:9", x],
                     ["count", "-n", "9", k], ["group", k, "--sum", x], ["join", k, few]]
        for command in commands:
            cpu = self.result(*command, "--device", "cpu")
            self.assertEqual(self.result(*command, "--device", "cuda:all"), cpu, command)


class Against(CommandTest):
    def setUp(self):
        super().setUp()
        x = np.random.default_rng(1).normal(size=10007)
        self.x = self.save("x.npy", x)
        self.y = self.save("y.npy", x[::-1])
        self.state = self.path("s.bfs")

    def verify(self, *files):
        done = run("verify", "--json", "--against", self.state, *files)
        self.assertEqual(done.stderr, b"")
        *rows, last = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual(last["result"], "FAIL" if last["failures"] else "PASS")
        self.assertEqual(done.returncode, 5 if last["failures"] else 0)
        self.assertEqual(len(rows), last["rows"])
        for row in rows:
            self.assertEqual((row["command"], row["against"]), ("verify", self.state))
        return last["failures"], last["rows"]

    def test_every_operation_is_recomputed_to_the_same_bytes(self):
        for op in sorted({*OPERATIONS, "prod", "describe"}):
            self.result(op, "-j", "1", "--isa", "generic", "--save", self.state, self.x)
            failures, rows = self.verify(self.x)
            self.assertEqual(failures, 0, op)
            self.assertGreaterEqual(rows, 3)
        self.result("dot", "--save", self.state, self.x, self.y)
        self.assertEqual(self.verify(self.x, self.y)[0], 0)

    def test_parts_and_selections(self):
        self.result("argmax", "--save", self.state, "--offset", 5, "--count", 77, self.x)
        done = run("verify", "-q", "--against", self.state, "--offset", 5, "--count", 77, self.x)
        self.assertEqual(done.returncode, 0)
        self.result("argmin", "--total", "--save", self.state, self.x, self.y)
        self.assertEqual(self.verify(self.x, self.y)[0], 0)
        self.assertGreater(self.verify(self.y, self.x)[0], 0)
        for name, more in [("a", ["--count", 5000]), ("b", ["--offset", 5000])]:
            self.result("std", "--save", self.path(name), *more, self.x)
        self.result("merge", "--save", self.state, self.path("b"), self.path("a"))
        self.assertEqual(self.verify(self.x)[0], 0)

    def test_other_data_fail(self):
        self.result("sum", "--save", self.state, self.x)
        x = np.load(self.x)
        x[17] = np.nextafter(x[17], 9)
        failures, rows = self.verify(self.save("z.npy", x))
        self.assertEqual(failures, rows)
        text = run("verify", "--against", self.state, self.path("z.npy")).stdout.decode()
        self.assertRegex(text, r"(?m)^FAIL: \d+ rows")

    def test_a_damaged_state_is_refused(self):
        self.result("sum", "--save", self.state, self.x)
        with open(self.state, "r+b") as f:
            f.seek(40)
            byte = f.read(1)
            f.seek(40)
            f.write(bytes([byte[0] ^ 1]))
        self.refused(3, "s.bfs: saved state is damaged", "verify", "--against", self.state, self.x)
        self.refused(1, "cannot open", "verify", "--against", "none.bfs", self.x)

    def test_what_does_not_belong_together_is_refused(self):
        self.result("sum", "--save", self.state, self.x)
        self.refused(2, "a file", "verify", "--against", self.state)
        single = self.save("f.npy", np.ones(3, "f4"))
        self.refused(3, "this is f32", "verify", "--against", self.state, single)
        self.result("dot", "--save", self.state, self.x, self.x)
        self.refused(2, "two files", "verify", "--against", self.state, self.x)


class Completion(CommandTest):
    """Driven as each shell drives it."""

    def script(self, shell):
        return self.write("completion." + shell, self.result("completion", shell).encode())

    def commands(self):
        return re.findall(r"^  ([a-z]+) ", self.result("help"), re.M)

    def options(self, command):
        return re.findall(r"^  .{3} (--[a-z][a-z0-9-]*)", self.result(command, "--help=all"), re.M)

    def test_unknown_shells(self):
        self.refused(2, "no completion for 'csh'", "completion", "csh")
        self.refused(2, "one shell", "completion")

    def ask_bash(self, *words):
        code = ('source "$0"; complete -p bitfold >/dev/null || exit 9\n'
                'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bitfold\n'
                '[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", code, self.bash, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode().split()

    def ask_fish(self, *words):
        done = subprocess.run(["fish", "--no-config", "-c",
                               'source $argv[1]; complete -C "$argv[2]"', self.fish,
                               " ".join(words)], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "HOME": self.dir})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [line.split("\t")[0] for line in done.stdout.decode().splitlines()]

    def check(self, ask):
        self.assertEqual(set(self.commands()) - set(ask("bitfold", "")), set())
        self.assertEqual(sorted(ask("bitfold", "arg")), ["argmax", "argmin", "argsort"])
        for command in self.commands():
            self.assertEqual(set(self.options(command)) - set(ask("bitfold", command, "--")),
                             set(), command)
        self.assertEqual(set(ask("bitfold", "sum", "--nan", "")), {"propagate", "skip", "error"})
        self.assertIn("npy", ask("bitfold", "sum", "--format", ""))
        self.assertEqual(ask("bitfold", "sum", "--dtype", "bf"), ["bf16"])
        self.assertEqual(sorted(ask("bitfold", "completion", "")), ["bash", "fish", "zsh"])
        self.assertEqual(ask("bitfold", "help", "ver"), ["verify"])
        self.assertEqual(ask("bitfold", "map", "sq"), ["sqrt"])
        self.assertEqual(ask("bitfold", "sum", "--count", ""), [])

    def test_bash(self):
        if not shutil.which("bash"):
            self.skipTest("needs bash")
        self.bash = self.script("bash")
        self.check(self.ask_bash)
        self.assertEqual(self.ask_bash("bitfold", "sum", "--nan", "=", "s"), ["skip"])
        self.assertEqual(self.ask_bash("bitfold", "sum", ""), []) # readline's own: files

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("needs fish")
        self.fish = self.script("fish")
        self.check(self.ask_fish)
        self.save("data.npy", np.ones(1))
        self.assertEqual(self.ask_fish("bitfold", "sum", "da"), ["data.npy"])
        self.assertEqual(self.ask_fish("bitfold", "sum", "--save", "da"), ["data.npy"])

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("needs zsh")
        script = self.script("zsh")
        code = ('autoload -U compinit; compinit -D; source "$1"; print $_comps[bitfold]\n'
                # What _arguments and _describe are given shows what they would complete.
                '_arguments() { print -rl -- "$@" }; _describe() { print -rl -- ${(P)2} }\n'
                'words=(bitfold ""); CURRENT=2; _bitfold\n'
                'for c in ${=2}; do words=(bitfold $c --); CURRENT=3; print "= $c"; _bitfold; done')
        done = subprocess.run(["zsh", "-f", "-c", code, "zsh", script, " ".join(self.commands())],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "HOME": self.dir})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        first, *sections = done.stdout.decode().split("\n= ")
        self.assertEqual(first.splitlines()[0], "_bitfold")
        self.assertEqual([line.split(":")[0] for line in first.splitlines()[1:]], self.commands())
        for section in sections:
            command, *specs = section.splitlines()
            offered = {m for spec in specs for m in re.findall(r"^\([^)]*\)(--[a-z][a-z0-9-]*)", spec)}
            self.assertEqual(set(self.options(command)), offered, command)

    def test_the_scripts_are_sound(self):
        shells = list(filter(shutil.which, ["bash", "zsh", "fish"]))
        if not shells:
            self.skipTest("needs bash, zsh or fish")
        for shell in shells:
            done = subprocess.run([shell, "-n", self.script(shell)], stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, b""), shell)


class Compare(CommandTest):
    """bench is quick here: what it says, not how fast it is."""

    QUICK = ["bench", "--quick", "--sizes", "16KiB", "-j", "1"]

    def old(self, **changes):
        """An earlier run, with figures changed by a factor."""
        lines = self.result(*self.QUICK, "--json", "min").splitlines()
        rows = [json.loads(line) for line in lines]
        for row in rows:
            for key, factor in changes.items():
                row[key] *= factor
        text = "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        return self.write("old.json", b'{"date":"today"}\n' + text.encode() + b"\n")

    def compare(self, *arguments):
        return run(*self.QUICK, "--json", "--compare", *arguments, "min")

    def test_the_ratio_to_the_memorys_speed_is_compared(self):
        for factor, code in [(1 / 50, 0), (50, 5)]:
            done = self.compare(self.old(read_ratio=factor), "--fail-above", "60%")
            self.assertEqual(done.returncode, code, done.stderr)
            for line in done.stdout.decode().splitlines():
                row = json.loads(line)
                self.assertEqual(row["compared_by"], "read_ratio")
                self.assertEqual(row["change"] > 0, code == 0)
        self.assertRegex(done.stderr, rb"slower by more than 60%: \d")

    def test_without_a_limit_nothing_fails(self):
        self.assertEqual(self.compare(self.old(read_ratio=50)).returncode, 0)

    def test_a_point_that_is_new_is_not_compared(self):
        old = self.old(bytes=2)
        self.assertNotIn("change", json.loads(self.compare(old).stdout.splitlines()[0]))
        text = self.result(*self.QUICK, "--compare", old, "min")
        self.assertRegex(text, r"min +f64 .* new\n")

    def test_what_is_no_earlier_run_is_refused(self):
        self.refused(3, "no results", *self.QUICK, "--compare", self.write("x", b"\0\n{\n"), "min")
        self.refused(1, "cannot open", *self.QUICK, "--compare", self.path("none"), "min")
        self.refused(2, "--fail-above needs", *self.QUICK, "--fail-above", "5%", "min")
        for percent in ["-1", "5%%", "x", "101", "nan"]:
            self.refused(2, "not a percentage", *self.QUICK, "--compare", "x", "--fail-above",
                         percent)
