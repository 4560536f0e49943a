"""Where results go: files of every ending, pipes that nobody reads, full disks, terminals."""
import json
import os
import signal
import subprocess
import unittest

import numpy as np

from command import BITFOLD, SANITIZED, SHORT, CommandTest, run

TEXT = [".txt", ".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".md"]
PICTURES = [".png", ".svg", ".pdf"]
OTHERS = [".parquet", ".arrow", ".xlsx", ".gz", ".dat"]


class Endings(CommandTest):
    def setUp(self):
        super().setUp()
        x, text = self.save("x.npy", np.arange(6.0).reshape(2, 3)), self.write("t.csv", b"k,v\n1,2\n3,4\n")
        self.result("sum", "--save", self.path("sum.bfs"), x)
        self.result("sum", "--axis", 0, "--save", self.path("sums.bfs"), x)
        self.result("hist", "--bins", 2, "--save", self.path("hist.bfs"), x)
        self.writers = {  # the command, and what it writes
            ("sum", x): TEXT,
            ("sum", "--axis", 0, x): TEXT + [".npy"],
            ("describe", x): TEXT,
            ("describe", "--axis", 0, x): TEXT,
            ("dot", x, x): TEXT,
            ("median", x): TEXT + [".npy"],
            ("quantile", "-p", "5,50", x): TEXT + [".npy"],
            ("sort", x): TEXT + [".npy"],
            ("argsort", x): TEXT + [".npy"],
            ("top", "-n", 2, x): TEXT + [".npy"],
            ("unique", x): TEXT + [".npy"],
            ("unique", "--by", "k", text): TEXT + [".npy"],
            ("hist", "--bins", 2, x): TEXT + [".npy"] + PICTURES,
            ("count", x): TEXT + [".npy"],
            ("group", x, "--sum", x): TEXT + [".npy"],
            ("group", "--by", "k", "--sum", "v", text): TEXT + [".npy"],
            ("join", x, x): TEXT,
            ("join", "--on", "k", text, text): TEXT,
            ("merge", self.path("sum.bfs")): TEXT,
            ("merge", self.path("sums.bfs")): TEXT + [".npy"],
            ("merge", self.path("hist.bfs")): TEXT + [".npy"] + PICTURES,
            ("map", "neg", x): [".npy"],
            ("julia", "--size", "4x4"): [".npy", ".png"],
        }

    def check_form(self, ending, path):
        with open(path, "rb") as f:
            data = f.read()
        if ending == ".npy":
            np.load(path)
        elif ending in [".json", ".jsonl", ".ndjson"]:
            for line in data.splitlines():
                json.loads(line)
        elif ending == ".md":
            self.assertEqual(data[:2], b"| ")
        else:
            magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}.get(ending, b"")
            self.assertEqual(data[:len(magic)], magic)
            self.assertNotEqual(data[:6], b"\x93NUMPY")

    def test_a_file_is_what_its_name_says_or_is_refused(self):
        for turn, (command, writes) in enumerate(self.writers.items()):
            refused = [ending for ending in [*TEXT, ".npy", *PICTURES, *OTHERS] if ending not in writes]
            tried = writes[turn % 2 :: 2] if SANITIZED else writes
            for ending in tried + refused[:: 4 if SHORT else 1]:
                out = self.path("out" + ending)
                if ending not in writes:
                    error = self.refused(2, "%s cannot write this as %s" % (command[0], ending),
                                         *command, "-o", out)
                    offered = error.split("it can as ")[1].split(";")[0].split()
                    if command[0] != "merge": # its state may be read later
                        self.assertEqual(offered, writes)
                    self.assertFalse(os.path.exists(out))
                    continue
                done = run(*command, "-o", out, env=self.drawing())
                if done.returncode == 4:
                    self.assertIn(b"hint", done.stderr) # no cairo, no zlib
                else:
                    self.assertEqual((done.returncode, done.stderr), (0, b""), (command, out))
                    self.check_form(ending, out)
                    os.remove(out)

    def test_case_does_not_matter_and_what_is_no_ending_says_nothing(self):
        x = self.path("x.npy")
        self.result("sort", x, "-o", self.path("A.NPY"))
        self.assertEqual(np.load(self.path("A.NPY")).tolist(), list(range(6)))
        for name in ["plain", "tmp.aB3dEf7Hij", "v1.2", ".hidden", "end."]:
            self.result("sort", x, "-o", self.path(name))
            with open(self.path(name)) as f:
                self.assertEqual(f.read(), "0\n1\n2\n3\n4\n5\n")
            self.result("map", "neg", x, "-o", self.path(name))
            self.assertEqual(np.load(self.path(name)).shape, (2, 3))

    def test_an_option_tells_the_form_whatever_the_name_is(self):
        x, out = self.path("x.npy"), self.path("out.parquet")
        for form, begins in [("csv", b"value,"), ("json", b"{"), ("markdown", b"| "), ("npy", b"\x93N"),
                             ("text", b"0\n"), ("tsv", b"0\t")]:
            self.result("sort", x, "--format-out", form, "-o", out)
            with open(out, "rb") as f:
                self.assertTrue(f.read().startswith(begins), form)
        self.result("sort", x, "--csv", "-o", out)
        with open(out, "rb") as f:
            self.assertTrue(f.read().startswith(b"value,"))
        self.result("map", "neg", x, "--format-out", "npy", "-o", out)
        self.assertEqual(np.load(out).shape, (2, 3))
        self.assertEqual(self.result("sum", x, "--format-out", "csv"), "value,file\n15,%s" % x)
        self.refused(2, "join cannot write this as .npy", "join", x, x, "--format-out",
                     "npy", "-o", out)
        self.refused(2, "exclude each other", "sort", x, "--format-out", "csv", "--json", "-o", out)
        self.refused(2, "needs -o FILE", "sort", x, "--format-out", "npy")
        self.refused(2, "cannot write --csv: the ending of the name says another form", "sort", x, "--csv", "-o", self.path("y.npy"))
        self.assertIn('"shape"', self.result("sort", x, "--json", "-o", self.path("y.npy")))


class Pipes(CommandTest):
    def commands(self):
        x, out = self.save("x.npy", np.arange(300_000)), self.save("k.npy", np.arange(300_000) % 7)
        return [["sum", x], ["sort", x], ["sort", "--memory", "64M", "-j2", x], ["group", x, "--count"],
                ["count", x], ["join", x, x], ["unique", x], ["top", "-n", 200_000, x], ["quantile", x],
                ["hist", x], ["describe", x], ["map", "neg", x, "-o", "-"], ["sum", "--axis", 0, x],
                ["julia", "--help"], ["help"], ["devices"], ["completion", "bash"], ["sort", "--json", x],
                ["bench", "--quick", "--sizes", "4KiB", "sum"]]

    def started(self, command, **more):
        return subprocess.Popen([BITFOLD, *map(str, command)], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, **more)

    def test_a_pipe_that_nobody_reads_ends_quietly(self):
        for command in self.commands():
            read_end, write_end = os.pipe()
            os.close(read_end)
            child = self.started(command, stdout=write_end)
            os.close(write_end)
            error = child.communicate(timeout=60)[1]
            self.assertEqual((child.returncode, error), (-signal.SIGPIPE, b""), command)

    def test_what_is_half_written_is_removed(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        x = self.save("x.npy", np.arange(3))
        child = self.started(["sum", "--save", self.path("s.bfs"), x], stdout=write_end)
        os.close(write_end)
        self.assertEqual(child.communicate(timeout=60)[1], b"")
        self.assertEqual(os.listdir(self.dir), ["x.npy"])

    def test_who_ignores_the_signal_is_told(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        ignore = lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        child = self.started(["sum", self.save("x.npy", np.arange(3))], stdout=write_end,
                             preexec_fn=ignore, restore_signals=False)
        os.close(write_end)
        self.assertIn(b"standard output: cannot write: Broken pipe", child.communicate(timeout=60)[1])
        self.assertEqual(child.returncode, 1)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        for command in self.commands():
            with open("/dev/full", "wb") as full:
                child = self.started(command, stdout=full)
                error = child.communicate(timeout=60)[1]
            self.assertEqual(child.returncode, 1, command)
            self.assertIn(b"cannot write: No space left on device", error, command)


class Nothing(CommandTest):
    NOTE = "standard input: empty input"

    def test_standard_input_that_nothing_named_and_holds_nothing_is_told(self):
        for command in [["sum"], ["sum", "--format", "raw", "--dtype", "f32"], ["hist"], ["sort"],
                        ["describe"], ["count"], ["unique"]]:
            want = "bitfold %s: %s\n" % (command[0], self.NOTE)
            done = run(*command, stdin=b"")
            self.assertEqual((done.returncode, done.stderr.decode()), (0, want), command)
            with open(os.devnull, "rb") as nothing, open(self.write("e", b""), "rb") as empty:
                for stream in [nothing, empty]:
                    child = subprocess.run([BITFOLD, *command], stdin=stream, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
                    self.assertEqual((child.returncode, child.stderr.decode()), (0, want), command)
            self.result(*command, "-q", stdin=b"")
            self.result(*command, "-", stdin=b"")
        self.result("sum", stdin=b"\n")
        self.result("hist", stdin=b"1\n2\n")
        self.refused(3, "the input is empty", "max", stdin=b"")


class Terminal(CommandTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        self.write("t.csv", b"a,total\n1,200000\n3,4.333333333333333\n")
        self.write("few", b"1\n2\n")
        self.write("much", b"123456789\n")

    def check(self, command, want, piped):
        self.assertEqual(self.shown(*command), want)
        self.assertEqual(self.result(*command), piped)

    def test_several_values_are_aligned(self):
        self.check(["sum", "few", "much", "--total"],
                   "    value  file\n        3  few\n123456789  much\n123456792  total\n",
                   "3\tfew\n123456789\tmuch\n123456792\ttotal")
        self.check(["sum", "--column", "a,total", "t.csv"],
                   "column               value\n" + "a" + "4".rjust(25) + "\n"
                   "total   200004.33333333334\n", "a\t4\ntotal\t200004.33333333334")
        self.check(["max", "--axis", 0, "much", "few"],
                   "    value  file\n123456789  much\n        2  few\n", "123456789\tmuch\n2\tfew")
        self.assertEqual(self.shown("sum", "few"), "3\n")
        self.assertEqual(self.shown("sum", "--tsv", "few", "much"), "3\tfew\n123456789\tmuch\n")

    def test_a_file_that_fails_keeps_no_value_back(self):
        here, there = self.terminal()
        child = subprocess.Popen([BITFOLD, "sum", "few", "none", "much"], stdout=there,
                                 stderr=subprocess.PIPE)
        self.assertIn(b"none: cannot open", child.communicate(timeout=60)[1])
        self.assertEqual(child.returncode, 1)
        self.assertEqual(os.read(here, 999), b"    value  file\r\n        3  few\r\n"
                                             b"123456789  much\r\n")
        os.close(there)
        os.close(here)

    def test_descriptions_are_aligned(self):
        names = "n nan inf min argmin max argmax sum mean std".split()
        for command in [["few", "much"], ["--column", "a,total", "t.csv"], ["few", "few"]]:
            piped = [line.split("\t") for line in self.result("describe", *command).split("\n")]
            lines = self.shown("describe", *command).splitlines()
            self.assertEqual([line.split() for line in lines][-10:], piped[-10:])
            self.assertEqual([line.split()[0] for line in lines][-11:], [*names, "null"])
            self.assertEqual(len({len(line) for line in lines}), 1)
        table = self.shown("describe", "--axis", 0, "--column", "total", "t.csv").splitlines()
        self.assertEqual(table[0].split(), ["index", *names])
        self.assertEqual(len(table[0]), len(table[1]))
