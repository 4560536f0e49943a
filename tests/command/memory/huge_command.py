"""The command on more than 2^31 elements: of sparse files, mapped and piped, and of text."""
import subprocess
import threading
from fractions import Fraction

import numpy as np

from command import BITFOLD, CommandTest, header, root

FAR = 1 << 31
N = FAR + 4099
MARKS = {100: 1, FAR + 5: 9, N - 1: 3}  # all else in the array is 0
BLOCK = 4096 * 2047  # bytes that a stream repeats: it divides no power of two
LIMIT = 1800  # seconds


def moments(counts):
    """What the command prints of numbers that are so often there."""
    n = sum(counts.values())
    total = sum(x * c for x, c in counts.items())
    squares = sum(x * x * c for x, c in counts.items())
    variance = Fraction(n * squares - total * total, n * n)
    return {"sum": str(total), "sumsq": str(squares), "mean": repr(total / n),
            "var": repr(float(variance)), "std": repr(root(variance)),
            "norm": repr(root(Fraction(squares))).removesuffix(".0"),
            "min": str(min(counts)), "max": str(max(counts))}


class Huge(CommandTest):
    def ask(self, *arguments, feed=None):
        """The output of a command that must succeed; feed writes its standard input."""
        child = subprocess.Popen([BITFOLD, *map(str, arguments)],
                                 stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if feed:
            thread = threading.Thread(target=feed, args=(child.stdin,))
            thread.start()
        out, error = child.stdout.read(), child.stderr.read()
        if feed:
            thread.join(LIMIT)
        self.assertEqual((child.wait(LIMIT), error), (0, b""), arguments)
        return out.decode().rstrip("\n")

    def sparse(self, name, start=b""):
        """A file of bytes after `start`, zeros but for the marks."""
        with open(self.path(name), "wb") as f:
            f.write(start)
            for at, mark in MARKS.items():
                f.seek(len(start) + at)
                f.write(bytes([mark]))
        return self.path(name)


class Files(Huge):
    """Mapped, of both formats, and piped; on one thread and on two."""

    RAW = ["--format", "raw", "--dtype", "u8"]

    def setUp(self):
        super().setUp()
        self.raw = self.sparse("x.raw")
        self.npy = self.sparse("x.npy", header("'|u1'", "(%d,)" % N))
        self.counts = {0: N - len(MARKS), **{mark: 1 for mark in MARKS.values()}}

    def inputs(self):
        def pipe(stdin):
            subprocess.run(["cat", self.raw], stdout=stdin, check=True)
            stdin.close()
        yield [*self.RAW, self.raw], None
        yield [self.npy], None
        yield self.RAW, pipe

    def test_values(self):
        wanted = {**moments(self.counts), "argmin": "0", "argmax": str(FAR + 5), "prod": "0"}
        for arguments, feed in self.inputs():
            for op in ["sum", "argmax", "prod", "norm"]:
                self.assertEqual(self.ask(op, *arguments, feed=feed), wanted[op], (op, arguments))
        for threads in ["1", "2"]:
            for op, value in wanted.items():
                self.assertEqual(self.ask(op, "-j", threads, self.npy), value, op)
        self.assertEqual(self.ask("dot", self.npy, self.npy), wanted["sumsq"])
        told = dict(line.split() for line in self.ask("describe", self.npy).splitlines())
        self.assertEqual(told.pop("n"), str(N))
        self.assertEqual((told.pop("nan"), told.pop("inf")), ("0", "0"))
        self.assertEqual(told, {name: wanted[name] for name in told})

    def test_a_part_far_out(self):
        for arguments in [[*self.RAW, self.raw], [self.npy]]:
            self.assertEqual(self.ask("sum", "--offset", FAR, "--count", 10, *arguments), "9")
            self.assertEqual(self.ask("sum", "--offset", N - 1, *arguments), "3")

    def test_counts_histograms_and_groups(self):
        counts = ["%d\t%d" % (k, self.counts[k]) for k in [0, 1, 3, 9]]
        bins = ["0\t1\t%d" % (N - 3), "1\t5\t2", "5\t10\t1"]
        for arguments, feed in self.inputs():
            self.assertEqual(self.ask("count", *arguments, feed=feed).splitlines(), counts)
            self.assertEqual(self.ask("hist", "--edges", "0,1,5,10", *arguments,
                                      feed=feed).splitlines(), bins)
        rows = self.ask("group", self.npy, "--sum", self.npy, "--count").splitlines()
        self.assertEqual(rows, ["%d\t%d\t%d" % (k, k * self.counts[k], self.counts[k])
                                for k in [0, 1, 3, 9]])

    def test_parts_that_are_saved(self):
        parts = [self.path("a"), self.path("b")]
        self.ask("sum", "--count", FAR + 3, "--save", parts[0], self.npy)
        self.ask("sum", "--offset", FAR + 3, "--save", parts[1], self.npy)
        self.assertEqual(self.ask("merge", *parts), "13")
        self.ask("argmax", "--save", parts[0], self.npy)
        self.assertEqual(self.ask("merge", parts[0]), str(FAR + 5))
        self.ask("count", "--save", parts[0], self.npy)
        merged = dict(line.split("\t") for line in self.ask("merge", *parts[:1]).splitlines())
        self.assertEqual(merged, {str(k): str(c) for k, c in self.counts.items()})

    def test_map(self):
        """2 GiB of disk."""
        out = self.path("out.npy")
        self.ask("map", "add", self.npy, 1, "-o", out)
        self.assertEqual(self.ask("sum", out), str(N + 13))
        self.assertEqual(self.ask("argmax", out), str(FAR + 5))
        found = np.load(out, mmap_mode="r")
        self.assertEqual((found.dtype, found.shape), (np.uint8, (N,)))
        self.assertEqual([found[at] for at in MARKS], [mark + 1 for mark in MARKS.values()])


class Streams(Huge):
    def test_bytes(self):
        block = np.random.default_rng(1).integers(0, 200, BLOCK, dtype=np.uint8)
        count, rest = divmod(N - 1, BLOCK)

        def feed(stdin):
            for _ in range(count):
                stdin.write(block)
            stdin.write(block[:rest])
            stdin.write(b"\xff")
            stdin.close()

        counts = count * np.bincount(block, minlength=256) + np.bincount(block[:rest], minlength=256)
        counts = {x: int(c) for x, c in enumerate(counts) if c} | {255: 1}
        wanted = {**moments(counts), "argmax": str(N - 1)}
        arguments = ["--format", "raw", "--dtype", "u8"]
        for op in ["sum", "var", "argmax"]:
            self.assertEqual(self.ask(op, *arguments, feed=feed), wanted[op], op)
        rows = self.ask("count", *arguments, "--sort", "key", feed=feed).splitlines()
        self.assertEqual(rows, ["%d\t%d" % pair for pair in counts.items()])

    def test_text(self):
        """2^31 + 1 lines."""
        lines = b"1\n" * (1 << 20)

        def feed(stdin):
            for _ in range(1 << 11):
                stdin.write(lines)
            stdin.write(b"5\n")
            stdin.close()

        self.assertEqual(self.ask("sum", feed=feed), str(FAR + 5))
        self.assertEqual(self.ask("argmax", feed=feed), str(FAR))
