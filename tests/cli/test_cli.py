"""The command line: usage, exit codes, what goes where, and that nothing is left behind."""
import json
import os
import resource
import signal
import stat
import subprocess
import time
import unittest

import numpy as np

from support import BITFOLD, CommandTest, run


class Usage(CommandTest):
    def test_help_and_version(self):
        self.assertRegex(self.result("--version"), r"^bitfold \d+\.\d+\.\d+$")
        self.assertIn("argmin", self.result("help"))
        self.assertEqual(self.result("help"), self.result("--help"))
        for command in ["sum", "var", "dot", "merge", "verify"]:
            text = self.result("help", command)
            self.assertTrue(text.startswith("bitfold " + command))
            self.assertEqual(text, self.result(command, "--help"))
        self.assertNotIn("--ddof", self.result("help", "sum"))

    def test_bad_usage_is_exit_2(self):
        name = self.save("x.npy", np.ones(3))
        self.assertEqual(run().returncode, 2)
        self.assertIn("hint:", self.refused(2, "unknown command: summ", "summ"))
        self.refused(2, "unknown command: summ", "help", "summ")
        for message, *arguments in [
                ("unknown option: --nope", "--nope"), ("unknown option: -x", "-x"),
                ("an operand is missing: --nan", "--nan"), ("no operand belongs", "--json=1"),
                ("'drop' is not propagate|skip|error", "--nan", "drop"),
                ("'csv' is not auto|npy|raw|text", "--format", "csv"),
                ("whole number", "-j", "0"), ("whole number", "-j", "1e3"),
                ("whole number", "-j", "1025"), ("whole number", "--offset", "-1"),
                ("whole number", "--count", "99999999999999999999"),
                ("is not a dtype", "--dtype", "f128"), ("has no option: --ddof", "--ddof", "1"),
                ("--format raw needs --dtype", "--format", "raw"),
                ("--dtype belongs to", "--format", "npy", "--dtype", "f64"),
                ("unknown instruction set", "--isa", "mmx"),
                ("unknown device", "--device", "tpu")]:
            self.refused(2, message, "sum", *arguments)
        for device in ["gpu", "cuda:x"]:
            said = self.refused(2, "unknown device: " + device, "sum", "--device", device, name)
            self.assertIn("hint: --device is auto, cpu, cuda, cuda:N", said)
        self.refused(2, "has no option: --out-dtype", "max", "--out-dtype", "f32", name)
        self.refused(2, "two files are needed", "dot", name)
        self.refused(2, "cannot be both", "dot", "-", "-")
        self.refused(2, "one file at most", "verify", name, name)

    def test_devices_that_are_not_there_are_exit_4(self):
        name = self.save("x.npy", np.ones(3))
        found = json.loads(self.result("devices", "--json"))
        count = len(found["gpus"])
        for device in ["cuda:%d" % count, "cuda:all"] + ([] if count else ["cuda"]):
            message = "cannot use --device %s: %s" % (device, found["gpu_build"])
            self.assertIn("hint:", self.refused(4, message, "sum", "--device", device, name))
        here = "neon" if os.uname().machine == "x86_64" else "avx512"
        self.refused(4, "lacks --isa", "sum", "--isa", here, name)
        for device in ["auto", "cpu"]:
            self.assertEqual(self.result("sum", "--device", device, name), "3")

    def test_no_file_at_a_terminal_is_a_mistake(self):
        controller, terminal = self.terminal()
        with os.fdopen(terminal, "rb") as stdin:
            self.refused(2, "standard input is a terminal", "sum", stdin=stdin)
        os.close(controller)

    def test_dashes(self):
        os.chdir(self.dir)
        np.save("-1.npy", np.ones(3))
        self.assertEqual(self.result("sum", "--", "-1.npy"), "3")
        with open("-1.npy", "rb") as f:
            self.assertEqual(self.result("sum", "-", stdin=f), "3")


class Output(CommandTest):
    def setUp(self):
        super().setUp()
        self.a = self.save("a.npy", np.arange(4, dtype="f4"))
        self.b = self.save("b.npy", np.array([0.1], dtype="f4"))

    def test_lines(self):
        self.assertEqual(self.result("sum", self.a), "6")
        self.assertEqual(self.result("sum", "--tsv", self.a), "6\t" + self.a)
        self.assertEqual(self.result("max", "--total", self.a, self.b),
                         "3\t%s\n0.1\t%s\n3\ttotal" % (self.a, self.b))
        odd = self.save("new\nline\t.npy", np.ones(2))
        self.assertEqual(self.result("sum", "--tsv", odd).count("\n"), 0)
        self.assertEqual(len(run("sum", "none\n.npy").stderr.splitlines()), 1)

    def test_one_bad_file_does_not_hide_the_others(self):
        done = run("sum", "--total", self.a, "none.npy", self.b)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn(b"none.npy: cannot open", done.stderr)
        self.assertEqual(run("sum", "none.npy", "-", stdin=b"").returncode, 1)
        done = run("sum", "--total", self.a, self.save("c.npy", np.arange(3)))
        self.assertEqual(done.returncode, 3)
        self.assertNotIn(b"total\n", done.stdout)

    def objects(self, *arguments, **more):
        lines = self.result(*arguments, "--json", **more).splitlines()
        return [json.loads(line) for line in lines]

    def test_json(self):
        r, = self.objects("sum", self.b)
        self.assertEqual(list(r), ["schema", "command", "file", "dtype", "n", "value", "text",
                                   "hex", "nan", "inf", "device", "seconds"])
        x = float(np.float32(0.1))
        self.assertEqual((r["schema"], r["command"], r["file"], r["dtype"], r["n"], r["device"]),
                         (1, "sum", self.b, "f32", 1, "cpu"))
        self.assertEqual((r["value"], float(r["text"]), float.fromhex(r["hex"])), (x, x, x))
        self.assertGreaterEqual(r["seconds"], 0)
        self.assertEqual(self.objects("max", self.b)[0]["value"], x)
        self.assertNotIn("inf", self.objects("max", self.b)[0])
        self.assertEqual([r["file"] for r in self.objects("sum", "--total", self.a, self.b)],
                         [self.a, self.b, "total"])
        self.assertEqual(self.objects("dot", self.a, self.a)[0]["other"], self.a)

    def test_json_numbers_lose_nothing(self):
        for x, want in [([np.inf], "inf"), ([np.nan], "nan"), ([2**53], 2**53),
                        ([2**53, 1], str(2**53 + 1)), ([-2**53, -1], str(-2**53 - 1)),
                        ([-0.0], -0.0), ([1e300], 1e300)]:
            value = self.objects("sum", self.save("x.npy", np.array(x)))[0]["value"]
            self.assertEqual((type(value), str(value)), (type(want), str(want)))

    def test_json_counts(self):
        r, = self.objects("sum", self.save("x.npy", np.array([1, np.nan, np.inf, -np.inf])))
        self.assertEqual((r["n"], r["nan"], r["inf"]), (4, 1, 2))

    def test_any_file_name_survives_json(self):
        for name in [b"plain", b'quo"te\\', b"tab\tnew\nline\x01\x7f", "ü→𝄞".encode(), b"\xff\xc3",
                     b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"cut\xe2\x82"]:
            path = os.fsencode(self.dir) + b"/" + name
            with open(path, "wb") as f:
                np.save(f, np.ones(3))
            out = subprocess.run([BITFOLD, "sum", "--json", path], stdout=subprocess.PIPE).stdout
            found = json.loads(out.decode())["file"]
            self.assertEqual(found.encode("utf-8", "surrogateescape"), path)

    def test_numbers_do_not_depend_on_the_locale(self):
        for locale in ["de_DE.UTF-8", "C.UTF-8", "tr_TR.UTF-8"]:
            self.assertEqual(self.result("sum", self.b, env={"LC_ALL": locale}),
                             "0.10000000149011612")

    def test_results_alone_are_on_stdout(self):
        done = run("sum", "-v", "--stats", "--progress", self.a)
        self.assertEqual((done.returncode, done.stdout), (0, b"6\n"))
        self.assertRegex(done.stderr.decode(), r"f32, \.npy.*\n.*16 bytes in .* GB/s")
        self.assertNotIn(b"\033", done.stderr)
        done = run("sum", "--color=always", "none.npy")
        self.assertIn(b"\033[1mbitfold sum: \033[0mnone.npy", done.stderr)

    def test_colour_at_a_terminal_unless_no_color(self):
        for more, coloured in [({}, True), ({"NO_COLOR": "1"}, False)]:
            controller, terminal = self.terminal()
            environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | more
            subprocess.run([BITFOLD, "sum", "none.npy"], stderr=terminal, env=environment)
            self.assertEqual(b"\033[1m" in os.read(controller, 1000), coloured)
            os.close(terminal)
            os.close(controller)


class Writing(CommandTest):
    def setUp(self):
        super().setUp()
        self.x = self.save("x.npy", np.ones(3))

    def files(self):
        return sorted(os.listdir(self.dir))

    def test_output_file(self):
        out = self.path("out")
        self.assertEqual(self.result("sum", "-o", out, self.x), "")
        with open(out) as f:
            self.assertEqual(f.read(), "3\n")
        os.chmod(out, 0o640)
        os.symlink("out", self.path("link"))
        self.assertEqual(self.result("max", "-o", self.path("link"), self.x), "")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(os.stat(out).st_mode & 0o777, 0o640)
        with open(out) as f:
            self.assertEqual(f.read(), "1\n")
        self.assertEqual(self.files(), ["link", "out", "x.npy"])

    def test_a_failure_leaves_no_file_and_the_old_one_untouched(self):
        old = self.write("out", b"old")
        self.refused(1, "No such file", "sum", "-o", old, "--save", self.path("s"), "none.npy")
        self.assertEqual(self.files(), ["out", "x.npy"])
        with open(old) as f:
            self.assertEqual(f.read(), "old")
        self.refused(1, "cannot write: No such", "sum", "-o", self.path("no/out"), self.x)
        self.refused(1, "cannot write: Is a dir", "sum", "--save", self.dir, self.x)
        self.assertEqual(self.files(), ["out", "x.npy"])

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "wb") as full:
            for arguments in [["sum", self.x], ["help"], ["--version"], ["verify", self.x],
                              ["sum", "--json", self.x, self.x]]:
                self.refused(1, "No space left on device", *arguments, stdout=full)

    def test_a_file_that_cannot_grow_leaves_nothing(self):
        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        if run("--version", preexec_fn=no_room).returncode != 0:
            self.skipTest("a sanitizer's runtime writes files of its own")
        for option in ["-o", "--save"]:
            self.refused(1, "out: cannot write: File too large", "sum", option, self.path("out"),
                         self.x, preexec_fn=no_room, stdout=subprocess.DEVNULL)
            self.assertEqual(self.files(), ["x.npy"])

    def test_a_fifo_is_written_in_place(self):
        os.mkfifo(self.path("fifo"))
        process = subprocess.Popen([BITFOLD, "sum", "-o", self.path("fifo"), self.x])
        with open(self.path("fifo")) as f:
            self.assertEqual(f.read(), "3\n")
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))

    def test_a_closed_pipe_is_reported(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "wb") as pipe:
            self.refused(1, "Broken pipe", "sum", self.x, stdout=pipe)
        closed = subprocess.run([BITFOLD, "sum", self.x], stderr=subprocess.PIPE,
                                preexec_fn=lambda: os.close(1))
        self.assertEqual(closed.returncode, 1)
        self.assertIn(b"standard output: cannot write", closed.stderr)

    def waiting(self, *arguments):
        """A command that has opened its output and waits for its input."""
        process = subprocess.Popen([BITFOLD, *arguments, "-o", self.path("out"), "--save",
                                    self.path("s"), "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(self.files()) < 3:
            time.sleep(0.001)
        return process

    def test_an_interrupt_leaves_nothing(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            process = self.waiting("sum")
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (-number, b""))
            self.assertEqual(self.files(), ["x.npy"])

    def test_progress_is_shown_after_a_second(self):
        process = self.waiting("sum", "--progress", "--format", "raw", "--dtype", "f64")
        self.assertRegex(process.stderr.readline(), rb"^bitfold sum: -: 0 B, 0 B/s\n")
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_sigusr1_asks_for_a_line_of_progress(self):
        process = self.waiting("sum", "--no-progress", "--format", "raw", "--dtype", "f64")
        process.stdin.write(bytes(1 << 21))
        process.stdin.flush()
        process.send_signal(signal.SIGUSR1)
        self.assertRegex(process.stderr.readline(), rb"^bitfold sum: -: [0-9.]+ .?B, .*/s\n")
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.files(), ["out", "s", "x.npy"])


class Memory(CommandTest):
    """A limit on the address space: sanitizers do not run under one."""

    def limited(self, *arguments, **more):
        shell = ["sh", "-c", 'ulimit -v 40000; exec "$0" "$@"', BITFOLD, *arguments]
        done = subprocess.run(shell, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        return done.returncode, done.stdout, done.stderr

    def setUp(self):
        super().setUp()
        if self.limited("--version")[0] != 0:
            self.skipTest("the command does not start in 40 MB")
        self.x = self.save("x.npy", np.asfortranarray(np.ones((3000, 3000))))

    def test_no_memory_is_an_error_and_no_crash(self):
        with open(self.x, "rb") as f:
            code, out, error = self.limited("argmin", "-j1", input=f.read())
        self.assertEqual((code, out), (1, b""))
        self.assertIn(b"out of memory: 72000000 bytes\nhint: ", error)

    def test_a_file_that_cannot_be_mapped_is_read(self):
        self.assertEqual(self.limited("sum", "-j1", self.x), (0, b"9000000\n", b""))


class Stack(CommandTest):
    """A stack of 128 KiB, of every thread: sanitizers, which take more, do not start either where
    memory is short."""

    def setUp(self):
        super().setUp()
        shell = ["sh", "-c", 'ulimit -v 40000; exec "$0" --version', BITFOLD]
        if subprocess.run(shell, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("the command does not start in 40 MB")
        x = np.random.default_rng(1).normal(size=200_000)
        x[::1000] = np.nan
        self.x, self.f16 = self.save("x.npy", x), self.save("h.npy", x.astype(np.float16))
        self.keys = self.save("k.npy", np.arange(200_000) % 5000)
        self.few = self.save("few.npy", np.arange(100))
        self.csv = self.write("t.csv", b"k,v\n" + b"".join(b"%d,%d.5\n" % (i % 99, i)
                                                          for i in range(20_000)))

    def test_it_is_enough_for_every_command(self):
        out = self.path("out.npy")
        for arguments in (
            *([op, file] for op in ("sum", "prod", "var", "norm", "argmin", "describe", "hist")
              for file in (self.x, self.f16, self.keys)),
            ["dot", self.f16, self.f16], ["count", self.keys], ["count", self.csv, "--column", "k"],
            ["group", self.keys, "--sum", self.x, "--max", self.f16, "--count"],
            ["group", self.csv, "--column", "k", "--mean", "v"],
            ["sum", self.csv, "--column", "v"], ["join", self.few, self.keys],
            ["map", "add", self.x, self.f16, "-o", out],
            ["map", "cast", self.keys, "--to", "f16", "-o", out],
            ["julia", "--size", "300x200", "-o", out],
        ):
            shell = ["sh", "-c", 'ulimit -s 128; exec "$0" "$@"', BITFOLD, *arguments]
            done = subprocess.run(shell, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, (arguments, done.stderr))


if __name__ == "__main__":
    unittest.main()
