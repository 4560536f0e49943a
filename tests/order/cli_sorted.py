"""sort, argsort, unique and top of more numbers than --memory holds, against NumPy's stable sort of
keys that are made here; of files, pipes, text, columns and several files; and what goes wrong.
Builds: release, asan (full), tsan (full)."""
import json
import math
import os
import resource
import signal
import subprocess
import time

import numpy as np

from command import BITFOLD, DTYPES, RAW_NAMES, SHORT, THREADS_ALONE, run
from memory import MIB, SHARE, MemoryTest, least_memory

SMALL = least_memory()
SOME = 1 << (18 if SHORT else 19)  # numbers: more than memory sorts at once
KINDS = list(enumerate(DTYPES))
if SHORT:
    KINDS = KINDS[4 if THREADS_ALONE else 1::3]  # they have several widths


def numbers(dtype, n, seed):
    """Numbers with many ties; of floats, specials too, and NaNs of several bit patterns."""
    r, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "b":
        return r.random(n) < 0.5
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        x = r.integers(ends.min, ends.max, n, kind, endpoint=True)
        x[r.random(n) < 0.1] = x[:1]
        return x
    x = (r.normal(size=n) * 100).astype(kind)
    some = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1], kind)
    chosen = r.random(n) < 0.05
    x[chosen] = some[r.integers(0, len(some), chosen.sum())]
    bits = x.view("u%d" % kind.itemsize)
    bits[np.isnan(x)] |= r.integers(0, 50, np.isnan(x).sum()).astype(bits.dtype)
    return x


def order(x, descending=False, skip=False):
    """The indices that sort: -0 before 0, NaN last, ties by index."""
    with np.errstate(all="ignore"):
        if x.dtype.kind == "f":
            bits = x.view("i%d" % x.dtype.itemsize).astype("i8")
            keys = np.where(bits < 0, -(bits & (2 ** (8 * x.dtype.itemsize - 1) - 1)) - 1, bits)
            keys[np.isnan(x)] = np.iinfo("i8").max
        else:
            keys = x.astype("u8" if x.dtype == np.uint64 else "i8")
        if descending:
            keys = ~keys
    if descending and skip and x.dtype.kind == "f":
        keys[np.isnan(x)] = np.iinfo("i8").max
    found = np.argsort(keys, kind="stable")
    return found[~np.isnan(x[found])] if skip and x.dtype.kind == "f" else found


def lines(x):
    """Integers as the command shows them."""
    return "".join("%d\n" % v for v in x.tolist())


def read(name):
    with open(name, "rb") as f:
        return f.read()


class SortedTest(MemoryTest):
    def array(self, *arguments, stdin=None, limit=SMALL):
        """The array that a command writes within the limit."""
        out = self.path("out.npy")
        self.assertEqual(self.limited(*arguments, "-o", out, stdin=stdin, limit=limit), "")
        return np.load(out)

    def same_bits(self, found, want, what):
        self.assertEqual((found.dtype, found.shape), (want.dtype, want.shape), what)
        self.assertEqual(found.tobytes(), want.tobytes(), what)


class Sort(SortedTest):
    def check(self, x, *, stdin=False, flags=((False, False), (True, False), (True, True))):
        name = self.save("x.npy", x)
        for descending, skip in flags:
            options = ["--descending"] * descending + ["--nan", "skip"] * skip
            source = {"stdin": read(name)} if stdin else {}
            files = [] if stdin else [name]
            want = order(x, descending, skip)
            self.same_bits(self.array("argsort", *options, *files, **source), want, options)
            self.same_bits(self.array("sort", *options, *files, **source), x[want], options)

    def test_every_dtype(self):
        for i, dtype in KINDS:
            n = SOME * min(4, 8 // np.dtype(dtype).itemsize) + i
            flags = [((False, False), (True, False), (False, True), (True, True))[i % 4]]
            self.check(numbers(dtype, n, i), stdin=i % 2 == 0, flags=flags)

    def test_what_is_in_order_already(self):
        x = np.sort(numbers("u4", (2 << 20) // SHARE, 1))
        self.check(x, flags=[(False, False), (True, False)])
        self.check(x[::-1].copy(), flags=[(False, False)])

    def test_equal_numbers(self):
        self.check(np.zeros((2 << 20) // SHARE, "f4"), flags=[(False, False), (True, False)])
        self.check(np.full((1 << 20) // SHARE, math.nan), flags=[(False, False), (False, True)])

    def test_few_of_them(self):
        for n in [0, 1, 2, 77]:
            self.check(numbers("f8", n, n))

    def test_text(self):
        x = np.random.default_rng(5).integers(-(1 << 40), 1 << 40, 400_000 // SHARE)
        text = lines(x).encode()
        name = self.write("x.txt", text)
        want = lines(np.sort(x)).rstrip("\n")
        self.assertEqual(self.limited("sort", name, limit=SMALL), want)
        self.assertEqual(self.limited("sort", stdin=text, limit=SMALL), want)
        late = text + b"0.5\n" # makes all floats
        found = self.limited("argsort", stdin=late, limit=SMALL).split("\n")
        self.assertEqual(list(map(int, found)), order(np.append(x, 0.5)).tolist())

    def test_raw_and_a_selection(self):
        x = numbers("i2", (5 << 20) // SHARE, 6)
        name = self.write("x.raw", x.tobytes())
        raw = ["--format", "raw", "--dtype", RAW_NAMES["i2"]]
        self.same_bits(self.array("sort", *raw, name), np.sort(x), "all")
        self.same_bits(self.array("argsort", *raw, "--offset", 1000, "--count", 3 << 18, name),
                       order(x[1000:1000 + (3 << 18)]), "a part")

    def test_the_order_of_fortran(self):
        x = np.asfortranarray(numbers("i4", (1 << 20) // SHARE, 7).reshape(-1, 64))
        self.same_bits(self.array("argsort", self.save("x.npy", x)), order(x.ravel()), "fortran")

    def test_columns(self):
        r = np.random.default_rng(8)
        a, b = r.integers(0, 1000, 200_000 // SHARE), r.integers(0, 1 << 50, 200_000 // SHARE) / 4
        name = self.write("t.csv", b"a,b\n" + b"".join(b"%d,%.2f\n" % row for row in zip(a, b)))
        for command, *more in [["sort"], ["argsort", "--descending"], ["unique", "--count"],
                               ["top", "-n", 50_000]]:
            self.same(command, *more, "--column", "a,b", name, limit=SMALL)

    def test_several_files_and_their_total(self):
        names = [self.save("%d.npy" % i, numbers("f4", n // SHARE, i))
                 for i, n in enumerate([1 << 19, 100, 1 << 19, 1 << 18])]
        for command, *more in [["sort"], ["argsort", "--descending"], ["sort", "--nan", "skip"],
                               ["unique", "--count"], ["top", "-n", 60_000],
                               ["top", "-n", 5, "--nan", "skip"]][::3 if THREADS_ALONE else 1]:
            self.same(command, *more, "--total", *names, limit=SMALL)

    def test_runs_of_runs(self):
        """More runs than are merged at once: small limits, many numbers."""
        x = numbers("u8", (8 << 20) // SHARE, 9)
        name = self.save("x.npy", x)
        self.same_bits(self.array("sort", name), np.sort(x), "runs")


class Unique(SortedTest):
    def test_every_dtype(self):
        for i, dtype in KINDS:
            x = numbers(dtype, (1 << 20) // SHARE + i, i)
            name, skip = self.save("x.npy", x), ["--nan", "skip"] * (i % 2)
            want = self.result("unique", "--count", *skip, name)
            self.assertEqual(self.limited("unique", "--count", *skip, name, limit=SMALL), want)
            found = self.array("unique", *skip, stdin=read(name))
            self.assertEqual(found.dtype, x.dtype)
            values = np.unique(x)
            if i % 2 and x.dtype.kind == "f":
                values = values[~np.isnan(values)]
            np.testing.assert_array_equal(found, values)

    def test_few_and_many(self):
        r = np.random.default_rng(3)
        for most in [1, 5, 1 << 18, 1 << 60]:
            x = r.integers(0, most, (1 << 20) // SHARE)
            values, counts = np.unique(x, return_counts=True)
            found = self.limited("unique", "--count", self.save("x.npy", x), limit=SMALL)
            self.assertEqual(found, "\n".join("%d\t%d" % row for row in zip(values, counts)))


class Top(SortedTest):
    def test_every_dtype(self):
        for i, dtype in KINDS:
            x = numbers(dtype, SOME + i, i + 20)
            name = self.save("x.npy", x)
            for k, least, skip in [(1, True, False), (1000, False, True), (50_000, i % 2 == 0, True)]:
                want = order(x, not least, skip)[:k]
                flags = ["--least"] * least + ["--nan", "skip"] * skip
                found = self.limited("top", "-n", k, *flags, "--tsv", stdin=read(name), limit=SMALL)
                self.assertEqual([int(line.split("\t")[1]) for line in found.split("\n")],
                                 want.tolist())
                self.same_bits(self.array("top", "-n", k, *flags, name), x[want], (dtype, k))

    def test_without_a_limit(self):
        """Numbers pass by, and the first ones stay: K times some chunks."""
        x = numbers("f8", (3 << 20) // SHARE, 30)
        name = self.save("x.npy", x)
        for k in [1, 7, 5000, 1 << 19, 1 << 62]:
            want = order(x, True)[:k]
            out = self.path("out.npy")
            self.result("top", "-n", k, name, "-o", out)
            self.same_bits(np.load(out), x[want], k)

    def test_a_late_float(self):
        text = lines(np.arange(300_000 // SHARE)).encode() + b"-0.5\n"
        self.assertEqual(self.limited("top", "-n", 2, "--least", stdin=text, limit=SMALL),
                         "-0.5\t%d\n0\t0" % (300_000 // SHARE))


class Forms(SortedTest):
    def objects(self, *arguments):
        found = [json.loads(x) for x in (self.result(*arguments, "--json"),
                                         self.limited(*arguments, "--json", limit=SMALL))]
        for each in found:
            each.pop("seconds")
        self.assertEqual(found[0], found[1], arguments)

    def test_json(self):
        name = self.save("x.npy", numbers("f8", 500_000 // SHARE, 2))
        for command in [["sort"], ["sort", "--nan", "skip"], ["argsort"], ["unique"],
                        ["unique", "--count"], ["top", "-n", 5], ["top", "-n", 70_000]]:
            self.objects(*command, name)
        self.objects("sort", name, "-o", self.path("out.npy"))

    def test_hex_and_files_of_text(self):
        name, out = self.save("x.npy", numbers("f4", 500_000 // SHARE, 3)), self.path("out.txt")
        self.assertEqual(self.limited("sort", "--hex", name, "-o", out, limit=SMALL), "")
        self.assertEqual(read(out).decode().rstrip("\n"), self.result("sort", "--hex", name))

    def test_instruction_sets_and_threads(self):
        x = numbers("f4", (2 << 20) // SHARE, 4)
        name = self.save("x.npy", x)
        for options in [["-j2", "--isa", "generic"], ["-j2", "--isa", "avx2"], ["-j1"]]:
            if run("sort", *options, stdin=b"1").returncode == 4:
                continue
            out = self.path("out.npy")
            self.result("sort", *options, "--memory", "%dM" % SMALL, name, "-o", out)
            self.same_bits(np.load(out), x[order(x)], options)


class Wrong(SortedTest):
    COMMANDS = [["sort"], ["argsort"], ["unique"], ["top", "-n", "90000"]]

    def test_what_is_left(self):
        """Nothing, and no result: of a directory that is not there, a full disk, a closed pipe."""
        spill, out = self.path("spill"), self.path("out.npy")
        os.mkdir(spill)
        name = self.save("x.npy", np.arange((4 << 20) // SHARE) * 12345)
        small = ["-j2", "--memory", "%dM" % SMALL]
        for command in self.COMMANDS[::3 if THREADS_ALONE else 1]:
            self.refused(1, "cannot make a temporary file in %s: No such file" % self.path("nowhere"),
                         *command, *small, "--spill", self.path("nowhere"), name)
            full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB))
            error = self.refused(1, "cannot write a temporary file in %s: File too large" % spill,
                                 *command, *small, "--spill", spill, "-o", out, name, preexec_fn=full)
            self.assertIn("hint: --spill DIR", error)
            self.refused(1, "cannot write: No space left", *command, *small, "--spill", spill, name,
                         stdout=open("/dev/full", "wb"))
        self.assertEqual((os.listdir(spill), sorted(os.listdir(self.dir))), ([], ["spill", "x.npy"]))

    def test_nan_and_data_that_are_refused(self):
        x = np.arange((1 << 20) // SHARE, dtype="f4")
        x[-1] = math.nan
        name, small = self.save("x.npy", x), ["-j2", "--memory", "%dM" % SMALL]
        for command in self.COMMANDS:
            self.refused(3, "NaN", *command, *small, "--nan", "error", name, "-o",
                         self.path("out.npy"))
            self.refused(3, "-:5", *command, *small, stdin=b"1\n2\n3\n4\nx\n")
        self.assertEqual(os.listdir(self.dir), ["x.npy"])

    def test_a_file_that_shrinks(self):
        name = self.path("x.raw")
        small = ["-j2", "--memory", "%dM" % SMALL]
        for command in [["sort"], ["top", "-n", "9"]]:
            with open(name, "wb") as f:
                f.truncate((256 << 20) // SHARE)
            child = subprocess.Popen([BITFOLD, *command, *small, "--format", "raw", "--dtype", "u8",
                                      name, "-o", self.path("out.npy")], stderr=subprocess.PIPE)
            time.sleep(0.02)
            os.truncate(name, 4096)
            error = child.communicate(timeout=60)[1]
            if child.returncode != 0: # it may have read all
                self.assertEqual(child.returncode, 1, error)
                self.assertIn(b"x.raw", error)

    def test_a_signal_leaves_nothing(self):
        name = self.save("x.npy", np.random.default_rng(1).integers(0, 1 << 60, (8 << 20) // SHARE))
        spill, out = self.path("spill"), self.path("out.npy")
        os.mkdir(spill)
        for wait in [0.02, 0.1, 0.3]:
            child = subprocess.Popen([BITFOLD, "sort", "-j2", "--memory", "%dM" % SMALL, "--spill",
                                      spill, name, "-o", out])
            time.sleep(wait)
            child.send_signal(signal.SIGINT)
            if child.wait(60) == 0: # it was faster
                os.remove(out)
            self.assertEqual((os.listdir(spill), sorted(os.listdir(self.dir))),
                             ([], ["spill", "x.npy"]))
