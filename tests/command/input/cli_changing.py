"""Files that are truncated, grown and rewritten while a command reads them.

Any answer will do, and any refusal that says why; a crash or a hang will not. Which file, command
and changes a run has depends on its number alone; there are a fourth of BITFOLD_CASES runs.
Builds: release, asan (full)."""
import os
import random
import shutil
import subprocess
import time

import numpy as np

from command import BITFOLD, OPERATIONS, CommandTest

RUNS = int(os.environ.get("BITFOLD_CASES", "160")) // 4
SECONDS = 120  # for a run that takes a hundredth of that

RAW, TEXT = "--format raw --dtype ", "--format text"
FORMATS = {"npy f8": "", "npy i8": "", "npy >f4": "", "npy ?": "", "npy fortran": "",
           "raw u1": RAW + "u8", "raw f8": RAW + "f64", "raw i8": RAW + "i64",
           "text whole": TEXT, "text float": TEXT, "text table": TEXT + " --column 2",
           "text quoted": TEXT + " --column a", "text long": TEXT + " --column 1"}

# x and y change, and so does the state `saved`.
COMMANDS = [op + " x" for op in OPERATIONS + ["prod", "describe", "count"]] + [
    "sum --offset 1000 --count 100000 x", "argmin --save out x", "dot x y",
    "count -n 3 --json x", "group x --sum y --mean y --count", "group x --min x --max y",
    "join --count 30000 x y", "map add x y -o out.npy", "map mul x x -o out.npy",
    "map div x 3 -o out.npy", "map cast x --to f32 -o out.npy",
    "hist --tsv x", "hist --bins 40 --range 0:1000 --strict --tsv x",
    "hist --bins 9 --weights y --tsv x",
    "merge saved saved", "verify --against saved x", "verify --against described x"]

# These read their input several times.
PASSES = ["median x", "quantile --memory 100M x", "describe --quantiles x", "median --total x"]


def text_of(kind, r):
    numbers = r.integers(0, 1000, 200_000)
    rows = {"whole": lambda: map(str, numbers),
            "float": lambda: ("%.6f" % (x / 7) for x in numbers),
            "table": lambda: ("%d, %d ,%g" % (i, x, x / 8) for i, x in enumerate(numbers)),
            "quoted": lambda: ('"%d";"b ""c"""' % x for x in numbers),
            "long": lambda: ("%d %s" % (x, "abc " * (60 * x)) for x in numbers[:100])}[kind]()
    part = ("\n".join(rows) + "\n").encode()
    return b'"a";b\n' * (kind == "quoted") + part * (24_000_000 // len(part))


def array_of(dtype, r):
    if dtype == "fortran":
        return np.asfortranarray(r.integers(0, 1000, (8000, 1000)))
    dtype = np.dtype(dtype)
    return r.integers(0, 1000, 64_000_000 // dtype.itemsize).astype(dtype)


class ChangingFile(CommandTest):
    def setUp(self):
        super().setUp()
        keys = np.random.default_rng(1).integers(0, 1 << 40, 300_000)
        self.result("count", "--save", self.path("saved.0"), self.save("keys.npy", keys))

    def original(self, form):
        """A file of this format, made once, that does not change."""
        name, (family, kind) = self.path(form), form.split()
        if os.path.exists(name):
            return name
        r = np.random.default_rng(2)
        with open(name, "wb") as f:
            if family == "text":
                f.write(text_of(kind, r))
            elif family == "raw":
                array_of(kind, r).tofile(f)
            else:
                np.save(f, array_of(kind, r))
        return name

    def arguments(self, r, form, command):
        """The command on copies of a file; the copies; its standard input."""
        words, options = command.split(), FORMATS[form].split()
        changing = [word for word in ["x", "y", "saved"] if word in words]
        for word in changing:
            original = self.path("saved.0") if word == "saved" else self.original(form)
            shutil.copyfile(original, self.path(word))
        if "described" in words:
            self.result("describe", "--save", self.path("described"), *options, self.path("x"))
        stdin = None
        if words[-1] == "x" and r.random() < 0.2:
            words[-1] = "-"
            stdin = open(self.path("x"), "rb")
        names = changing + ["described", "out", "out.npy"]
        words = [self.path(word) if word in names else word for word in words]
        if words[0] not in ("merge", "verify"):
            options.append("-j%d" % r.choice([1, 2]))
        return words + options * (words[0] != "merge"), changing, stdin

    def noise(self, r, command):
        """What is written over a file: without newlines, nothing but newlines, numbers, anything."""
        n = r.choice([5, 4096, 100_000, 1_000_000])
        kinds = [b"1", b"\n", b"\0", b'"', b" ", b"-3.5e1\n", b"1 , ", b"7\r\n"]
        random_bytes = command.startswith("join")  # equal keys would make far too many pairs
        return r.randbytes(n) if random_bytes or r.random() < 0.2 else r.choice(kinds) * n

    def change(self, r, name, how, noise):
        size = os.path.getsize(name)
        at = r.choice([0, 1, 100, 4096, r.randrange(size + 1), size // 8192 * 4096, max(size - 1, 0)])
        with open(name, "r+b") as f:
            if how in ("truncate", "replace"):
                f.truncate(at)
            f.seek(0 if how == "replace" else size if how == "grow" else at)
            if how != "truncate":
                f.write(noise)

    def run_while_changing(self, r, command, arguments, changing, stdin):
        hows = r.choice([["truncate", "grow", "rewrite", "replace"], ["rewrite"] * 4 + ["grow"]])
        noise = [self.noise(r, command) for _ in range(4)]
        process = subprocess.Popen([BITFOLD, *arguments], stdin=stdin or subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        began = time.monotonic()
        while process.poll() is None and time.monotonic() < began + 1:
            time.sleep(r.choice([0, 0.001, 0.003, 0.01, 0.03]) * r.random())
            self.change(r, self.path(r.choice(changing)), r.choice(hows), r.choice(noise))
        error = process.communicate(timeout=SECONDS)[1].decode(errors="replace")
        return process.returncode, error

    def check(self, command, code, error):
        # To `verify` data that are not those of the state are a failure.
        self.assertIn(code, [0, 1, 3] + [5] * command.startswith("verify"))
        lines = error.splitlines()
        self.assertIn(len(lines), [1, 2] if code in (1, 3) else [0, 1])
        for line, begin in zip(lines, ["bitfold %s: " % command.split()[0], "hint: "]):
            self.assertTrue(line.startswith(begin))

    def check_cases(self, commands, runs):
        for case in range(runs):
            r = random.Random(case)
            form, command = r.choice(list(FORMATS)), r.choice(commands)
            arguments, changing, stdin = self.arguments(r, form, command)
            code, error = self.run_while_changing(r, command, arguments, changing, stdin)
            with self.subTest(case=case, arguments=arguments, code=code, error=error[:1000]):
                self.check(command, code, error)
            if stdin:
                stdin.close()

    def test_is_read_or_refused(self):
        self.check_cases(COMMANDS, RUNS)

    def test_passes_are_read_or_refused(self):
        self.check_cases(PASSES, RUNS // 4)
