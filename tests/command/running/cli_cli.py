"""The command line: usage, exit codes, what goes where, and that nothing is left behind."""
import json
import os
import resource
import signal
import stat
import subprocess
import time

import numpy as np

from command import BITFOLD, CommandTest, run


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
                ("this command has no option: -c", "-c", "1"), ("this command has no option: --c-path", "--c-path", "1"),
                ("an operand is missing: -j", "-j"), ("this command has no option: -n", "-n", "3"),
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
        self.refused(2, "one file at most", "verify", name, name)

    def test_standard_input_is_read_once(self):
        """By whatever names it is given, as operands and options of every command."""
        name, out = self.write("x", b"1\n2\n"), ["-o", self.path("out.npy")]
        for line in ["sum --total - -", "sum - /dev/stdin", "max /dev/fd/0 /dev/stdin", "dot - -",
                     "describe - -", "prod -e a+b - -", "sum --index - --slots 3 -",
                     "mean --offsets /dev/fd/0 -", "hist --weights - -", "hist --edges - -",
                     "map add - -", "map -e a+b - -", "count - -", "group --sum - -", "join - -",
                     "join --on 1 - /dev/stdin", "median - -", "sort - -", "unique - -",
                     "top - -", "merge - -"]:
            more = out if line.startswith("map") else []
            self.refused(2, "standard input is given more than once", *line.split(), *more,
                         stdin=b"1\n2\n")
        self.assertEqual(self.result("group", name, "--sum", "-", "--max", "-", stdin=b"5\n7\n"),
                         "1\t5\t5\n2\t7\t7")
        with open(name, "rb") as f:  # a file has a beginning for each name
            self.assertEqual(self.result("sum", "-", "/dev/stdin", stdin=f), "3\t-\n3\t/dev/stdin")
        self.assertEqual(os.listdir(self.dir), ["x"])

    def test_a_slip_gets_a_guess(self):
        for guess, *arguments in [
                ("'bitfold sum'", "smu"), ("'bitfold describe'", "descirbe"),
                ("'bitfold count'", "help", "cuont"), ("'--column'", "sum", "--colmn", "2"),
                ("'--json'", "sum", "--jsno"), ("'--delimiter'", "sum", "--delimitter=;"),
                ("'--quick'", "bench", "--quik"), ("'--device'", "ladder", "--devise", "cpu"),
                ("'bitfold mean'", "avg"), ("'--mean'", "group", "--avg", "2"), ("'--std'", "group", "--stddev=2"),
                ("'sqrt'", "map", "sqr", "1", "-o", "-")]:
            self.assertIn("hint: did you mean %s?" % guess, self.refused(2, "unknown", *arguments))
        for arguments in [["frobnicate"], ["sum", "--frobnicate"], ["sum", "-x"], ["sum", "--ddf"],
                          ["bench", "--x"], ["sum", "--" + 100 * "json"], [100 * "sum"]]:
            self.assertNotIn("did you mean", self.refused(2, "unknown", *arguments))

    def test_no_option_loses_its_first_operand(self):
        name = self.write("x.csv", b"a,b\n1,2\n")
        for command, option, first, second in [
                ("sum", "--axis", "0", "1"), ("sum", "--offsets", name, "y"),
                ("sum", "--index", name, "y"), ("sum", "--slots", "1", "2"),
                ("min", "--empty", "1", "2"),
                ("sum", "--threads", "1", "2"), ("sum", "--format", "text", "auto"),
                ("sum", "--dtype", "f64", "i64"), ("sum", "--offset", "0", "1"),
                ("sum", "--count", "0", "1"), ("sum", "--delimiter", ",", ";"),
                ("sum", "--nan", "skip", "error"), ("sum", "--out-dtype", "f32", "f64"),
                ("prod", "--overflow", "wrap", "error"), ("var", "--ddof", "0", "1"),
                ("sum", "--device", "cpu", "auto"), ("sum", "--isa", "auto", "generic"),
                ("sum", "--save", self.path("s"), self.path("t")), ("map", "--to", "f32", "f64"),
                ("sum", "--output", self.path("s"), self.path("t")),
                ("sum", "--color", "never", "auto"), ("hist", "--bins", "3", "4"),
                ("hist", "--range", "0:1", "0:2"), ("hist", "--edges", "0,1", "0,2"),
                ("hist", "--weights", name, "y"), ("hist", "--title", "a", "b"),
                ("hist", "--memory", "1MiB", "2MiB"), ("count", "--sort", "key", "count"),
                ("count", "--top", "1", "2"), ("group", "--seed", "1", "2"),
                ("verify", "--against", "a", "b"), ("julia", "--size", "8x8", "9x9"),
                ("julia", "--c", "0,0", "0,1"), ("julia", "--iter", "1", "2"),
                ("julia", "--escape", "1", "2"), ("julia", "--center", "0,0", "0,1"),
                ("julia", "--scale", "1", "2"), ("julia", "--palette", "gray", "fire"),
                ("julia", "--frames", "1", "2"), ("julia", "--c-path", "0,0:1,1", "0,0:2,2"),
                ("bench", "--sizes", "1KiB", "2KiB"), ("bench", "--threads", "1", "2"),
                ("bench", "--isa", "auto", "generic"), ("bench", "--fail-above", "1", "2"),
                ("bench", "--device", "cpu", "cuda"), ("bench", "--compare", "a", "b"),
                ("ladder", "--size", "1", "2"), ("ladder", "--device", "cpu", "auto")]:
            self.refused(2, "%s is given twice: '%s' and '%s'" % (option, first, second), command,
                         option, first, option, second, name)
        self.refused(2, "--threads is given twice", "sum", "-j1", "-j2", name)
        self.refused(2, "--json and --tsv exclude each other", "sum", "--json", "--tsv", name)
        self.refused(2, "--tsv and --json exclude each other", "count", "--tsv", "--json", name)
        self.assertEqual(os.listdir(self.dir), ["x.csv"])
        self.assertEqual(self.result("sum", "--column", "b", "-j1", "-q", "--no-progress", "-q",
                                     "--column", "b", "--progress", "-j", "1", name), "2")
        self.assertEqual(self.result("group", "--column", "a", name, "--sum", "b", "--sum", "a"),
                         "1\t2\t1")

    def test_devices_that_are_not_there_are_exit_4(self):
        name = self.save("x.npy", np.ones(3))
        found = json.loads(self.result("devices", "--json"))
        count = len(found["gpus"])
        for device in ["cuda:%d" % count] + ([] if count else ["cuda", "cuda:all"]):
            message = "cannot use --device %s: %s" % (device, found["gpu_build"])
            self.assertIn("hint:", self.refused(4, message, "sum", "--device", device, name))
        if os.uname().machine != "x86_64":
            self.refused(4, "lacks --isa", "sum", "--isa", "avx2", name)
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
        self.assertEqual(self.result("sum", odd, odd), "\n".join(["2\t" + odd.replace("\n", "?").replace("\t", "?")] * 2))
        self.assertEqual(self.result("sum", "--tsv", odd), '2\t"%s"' % odd)
        self.assertEqual(self.result("sum", "--tsv", "--column", "a,b", "--header", self.write("t.csv", b"a,b\n1,2\n")),
                         "column\tvalue\tfile\na\t1\t{0}\nb\t2\t{0}".format(self.path("t.csv")))
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

    def test_a_dash_is_standard_output_or_refused(self):
        for command in (["sum"], ["sort"], ["count"], ["mean", "--axis", "0"]):
            self.assertEqual(self.result(*command, self.x, "-o", "-"), self.result(*command, self.x))
        self.refused(2, "standard output does not take this", "sum", self.x, "--save", "-")
        self.assertEqual(self.files(), ["x.npy"])

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

    def test_a_full_disk_is_named_wherever_it_is_noticed(self):
        keys = self.save("k.npy", np.zeros(300, "u1"))
        many = self.save("many.npy", np.arange(5000))
        for arguments in [["join", keys, keys], ["count", many], ["group", many, "--count"],
                          ["hist", "--tsv", "--bins", 2000, many], ["count", "--json", many],
                          ["completion", "bash"], ["map", "neg", many, "-o", "-"]]:
            with open("/dev/full", "wb") as full:
                self.refused(1, "standard output: cannot write: No space left on device",
                             *arguments, stdout=full)
            if arguments[0] not in ["completion", "map"]:
                self.refused(1, "/dev/full: cannot write: No space left on device", *arguments,
                             "-o", "/dev/full")
        self.refused(1, "/dev/full: cannot write: No space left on device", "map", "neg", many,
                     "-o", "/dev/full")
        self.refused(1, "/dev/full: cannot write: No space left on device", "sum", many, "--save",
                     "/dev/full", stdout=subprocess.DEVNULL)

    def test_long_names_are_written(self):
        names = [self.path("o" * 250), self.path("s" * 250)]
        self.result("sum", self.x, "-o", names[0], "--save", names[1])
        self.assertEqual([os.path.getsize(name) > 0 for name in names], [True, True])
        self.result("map", "neg", self.x, "-o", self.path("m" * 255))
        self.refused(1, "File name too long", "sum", self.x, "-o", self.path("n" * 256))
        self.refused(1, "File name too long", "sum", self.x, "-o", "d/" * 3000 + "x")

    def test_links_are_followed(self):
        os.mkdir(self.path("d"))
        os.symlink("d/target", self.path("dangling"))
        os.symlink("../dangling", self.path("d/chain"))
        os.symlink(self.path("absolute"), self.path("d/away"))
        for link, target in [("dangling", "d/target"), ("d/chain", "d/target"),
                             ("d/away", "absolute")]:
            self.result("sum", self.x, "-o", self.path(link))
            self.assertTrue(os.path.islink(self.path(link)))
            self.assertFalse(os.path.islink(self.path(target)))
            with open(self.path(target)) as f:
                self.assertEqual(f.read(), "3\n")
            os.unlink(self.path(target))
        os.symlink("loop", self.path("loop"))
        os.symlink("nowhere/x", self.path("lost"))
        for arguments in [["sum", self.x], ["map", "neg", self.x], ["count", self.x]]:
            self.refused(1, "loop: cannot write: Too many levels of symbolic links", *arguments,
                         "-o", self.path("loop"))
            self.refused(1, "lost: cannot write: No such file", *arguments, "-o", self.path("lost"))
        self.refused(1, "cannot write: No such file", "sum", self.x, "-o", "")
        self.assertEqual(self.files(), ["d", "dangling", "loop", "lost", "x.npy"])
        self.assertEqual(sorted(os.listdir(self.path("d"))), ["away", "chain"])

    def test_an_output_is_a_file_of_its_own(self):
        os.chdir(self.dir)
        os.mkdir("d")
        os.symlink("x.npy", "link")
        os.link("x.npy", "hard")
        os.symlink("new", "dangling")
        os.symlink(".", "d/up")
        self.save("k.npy", np.arange(3))
        self.result("sum", "--save", "s.bfs", self.x)
        before = {name: os.lstat(name).st_ino for name in self.files()}
        same = "%s: --save and -o are the same file"
        for first, second in [("new", "new"), ("new", "./new"), ("new", "d/../new"),
                              ("dangling", "new"), ("new", "dangling"), ("s.bfs", "./s.bfs"),
                              ("d/new", "d/up/new"), ("new", self.path("new"))]:
            for command in [["sum", "x.npy"], ["count", "x.npy"], ["describe", "x.npy"],
                            ["group", "k.npy", "--count"], ["hist", "--tsv", "x.npy"],
                            ["dot", "x.npy", "x.npy"], ["merge", "s.bfs"]]:
                if command[0] != "merge" or first != "s.bfs":
                    self.refused(2, same % second, *command, "-o", first, "--save", second)
        for name in ["x.npy", "./x.npy", "link", "hard", "d/up/../x.npy", self.x]:
            for option in ["-o", "--save"]:
                message = "%s would write to this input" % option
                for command in [["sum", "k.npy", "x.npy"], ["count", "x.npy"],
                                ["describe", "x.npy"], ["dot", "k.npy", "x.npy"],
                                ["hist", "--tsv", "k.npy", "--weights", "x.npy"],
                                ["hist", "--tsv", "k.npy", "--edges", "x.npy"],
                                ["group", "k.npy", "--sum", "x.npy"]]:
                    self.refused(2, "x.npy: " + message, *command, option, name)
                with open("x.npy", "rb") as f:
                    self.refused(2, "-: " + message, "sum", option, name, stdin=f)
            self.refused(2, "-o would write to this input", "join", "k.npy", "x.npy", "-o", name)
        self.refused(2, "s.bfs: --save would write", "merge", "s.bfs", "--save", "s.bfs")
        with open("k.npy", "ab") as f:
            self.refused(2, "k.npy: standard output would write", "sum", "k.npy", stdout=f)
            self.refused(2, "k.npy: standard output would write", "map", "neg", "k.npy", "-o", "-",
                         stdout=f)
            self.refused(2, "k.npy: --save and standard output are the same", "sum", "x.npy",
                         "--save", "k.npy", stdout=f)
        self.assertEqual({name: os.lstat(name).st_ino for name in self.files()}, before)
        self.result("map", "neg", "x.npy", "-o", "x.npy")
        self.assertEqual(self.result("sum", "x.npy", "-o", "/dev/null", "--save", "/dev/null"), "")

    def test_a_file_that_cannot_grow_leaves_nothing(self):
        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        if run("--version", preexec_fn=no_room).returncode != 0:
            self.skipTest("a sanitizer's runtime writes files of its own")
        for option in ["-o", "--save"]:
            self.refused(1, "out: cannot write: File too large", "sum", option, self.path("out"),
                         self.x, preexec_fn=no_room, stdout=subprocess.DEVNULL)
            self.assertEqual(self.files(), ["x.npy"])
        self.refused(1, "standard output: cannot write: File too large", "map", "--format", "raw",
                     "--dtype", "f64", "neg", "-", "-o", "-", stdin=bytes(800), preexec_fn=no_room)

    def test_a_fifo_is_written_in_place(self):
        os.mkfifo(self.path("fifo"))
        process = subprocess.Popen([BITFOLD, "sum", "-o", self.path("fifo"), self.x])
        with open(self.path("fifo")) as f:
            self.assertEqual(f.read(), "3\n")
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))

    def test_a_closed_output_is_reported(self):
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
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                       signal.SIGALRM, signal.SIGXCPU, signal.SIGUSR2, signal.SIGVTALRM,
                       signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGRTMIN + 3]:
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
