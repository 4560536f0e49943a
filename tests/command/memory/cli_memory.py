"""--memory and --spill: the same bits within a limit, of inputs several times as large.
Builds: release, asan (full), tsan (full)."""
import json
import os
import resource

import numpy as np

from command import SHORT, THREADS_ALONE, run
from memory import LEAST, LIMIT, LIMITED, MIB, SHARE, MemoryTest


class Arrays(MemoryTest):
    @classmethod
    def setUpClass(cls):
        cls.x = np.random.default_rng(1).normal(size=8 * MIB // SHARE) # 64 MiB

    def test_values_of_files_and_pipes(self):
        name = self.save("x.npy", self.x)
        for op in ["sum", "mean", "var", "argmax", "prod", "describe"][5 if THREADS_ALONE else 0:]:
            want = self.same(op, name)
        with open(name, "rb") as f:
            self.assertEqual(self.limited("describe", stdin=f.read()), want)
        self.same("dot", name, name)
        self.same("sum", "--offset", 12345, "--count", 7 * MIB // SHARE, name)

    def test_the_order_of_fortran(self):
        """Elements that follow each other lie far apart, so every page is read many times."""
        name = self.save("x.npy", np.asfortranarray(self.x[:6 * MIB // SHARE].reshape(-1, 8192)))
        want = self.same("argmin", name)
        with open(name, "rb") as f:
            self.assertEqual(self.limited("argmin", stdin=f.read()), want)

    def test_quantiles(self):
        """Sorts 64 MiB, and a pipe of as much, which is spilled."""
        whole = np.sort(self.x)  # the order of all kinds
        kinds = [np.copy, lambda x: (x * 1e6).astype("i8"), lambda x: np.repeat(x, 2).astype("f4")]
        for kind in kinds[:1] if SHORT else kinds:
            x, ordered = kind(self.x), kind(whole)
            name = self.save("x.npy", x)
            want = [ordered[int(np.ceil(p * (len(x) - 1)))] for p in [0, 0.5, 0.999, 1]]
            ask = ["quantile", "-p", "0,50,99.9,100", "--method", "higher"]
            found = self.limited(*ask, name)
            self.assertEqual([x.dtype.type(float(v)) for v in found.split()], want)
            with open(name, "rb") as f:
                self.assertEqual(self.limited(*ask, stdin=f.read()), found)
            middle = ordered[(len(x) - 1) // 2:len(x) // 2 + 1].astype("f8")
            self.assertEqual(x.dtype.type(float(self.limited("median", name))),
                             x.dtype.type(middle.mean()))

    def test_quantiles_of_text(self):
        x = np.random.default_rng(2).integers(-10**9, 10**9, 2 * MIB // SHARE)
        text = b"".join(b"%d,7\n" % v for v in x)
        ordered = np.sort(x)
        want = "%d\n%d" % (ordered[(len(x) - 1) // 4], ordered[(len(x) - 1) * 3 // 4])
        ask = ["quantile", "-p", "25,75", "--method", "lower", "--column", "1"]
        self.assertEqual(self.limited(*ask, self.write("x.csv", text)), want)
        self.assertEqual(self.limited(*ask, stdin=text), want)

    def test_histograms(self):
        name = self.save("x.npy", self.x)
        want = self.same("hist", "--bins", 30, name)
        with open(name, "rb") as f:
            self.assertEqual(self.limited("hist", "--bins", 30, stdin=f.read()), want)
        some = self.x[:6 * MIB // SHARE]
        self.same("hist", "--bins", 9, "--weights", self.save("w.npy", some),
                  self.save("b.npy", (some * 20).astype("i1")))

    def test_maps(self):
        name, out = self.save("x.npy", self.x[:6 * MIB // SHARE]), self.path("out.npy")
        self.limited("map", "add", name, name, "-o", out)
        self.assertEqual(self.result("sum", out), repr(2 * float(self.result("sum", name))))

    def test_text(self):
        text = b"".join(b"%d,%d\n" % (i, i % 7) for i in range(2_500_000 // SHARE)) # 24 MiB
        name = self.write("x.csv", text)
        want = self.same("sum", "--column", "1,2", name)
        self.assertEqual(self.limited("sum", "--column", "1,2", stdin=text).splitlines()[0][-20:],
                         want.splitlines()[0][-20:])

    def test_columns(self):
        n = 20_000
        rows = [",".join("%d" % (i * k) if i % 2 else "%r" % (i / k) for i in range(n)) for k in [3, 7]]
        name = self.write("x.csv", "\n".join(rows).encode())
        self.same("describe", name, limit=LIMIT + 160)
        self.refused(2, "--memory is too small: there is no room for the states of %d columns" % n,
                     "describe", *LIMITED, name)

    def test_many_values(self):
        x = self.x[:6 * MIB // SHARE].reshape(-1, 64)
        name, index = self.save("x.npy", x), self.save("i.npy", np.arange(len(x)) % 5)
        with open(name, "rb") as f:
            data = f.read()
        for how in [["--axis", 0], ["--index", index, "--slots", 5]]:
            for op in ["argmin", "describe", "prod"][::3 if THREADS_ALONE else 1]:
                want = self.same(op, *how, name)
                self.assertEqual(self.limited(op, *how, stdin=data), want)


class Tables(MemoryTest):
    N = 900_000 // SHARE

    @classmethod
    def setUpClass(cls):
        r = np.random.default_rng(2)
        cls.keys = r.integers(-(1 << 40), 1 << 40, cls.N)
        cls.keys[::3] = cls.keys[0] # a key that all parts hold
        cls.values = r.normal(size=cls.N) * 2.0 ** r.integers(-30, 30, cls.N)

    def test_counts(self):
        name = self.save("x.npy", self.keys)
        floats = self.save("f.npy", np.where(self.keys % 5 == 0, -0.0, self.keys / 8))
        small = self.save("s.npy", self.keys.astype("u2"))
        want = self.same("count", name)
        self.assertEqual(len(want.splitlines()), len(set(self.keys.tolist())))
        self.same("count", "--sort", "key", floats)
        if THREADS_ALONE:
            return
        self.same("count", "-n", 7, floats)
        self.same("count", small)
        self.same("count", name, self.save("y.npy", self.keys[::-1] + 1))
        self.same("count", "-n", 3, "--hex", floats, name.replace("x.npy", "f.npy"))

    def test_counts_of_pipes_of_text(self):
        text = b"".join(b"%d\n" % x for x in self.keys[:self.N * 7 // 9]) + b"0.5\n"
        want = self.same("count", self.write("x.txt", text)) # the last line makes all floats
        self.assertEqual(self.limited("count", stdin=text), want)

    def objects(self, *arguments):
        found = [json.loads(x) for x in (self.result(*arguments), self.limited(*arguments))]
        for each in found:
            each.pop("seconds")
        self.assertEqual(found[0], found[1], arguments)
        return found[0]

    def test_groups(self):
        keys, values = self.save("k.npy", self.keys), self.save("v.npy", self.values)
        group = ["group", keys, "--sum", values, "--count", "--max", values]
        self.same(*group)
        found = self.objects(*group, "--json")
        self.assertEqual(found["n"], self.N)
        self.objects("count", "--json", keys)
        self.objects("count", "--json", "-n", 9, "--sort", "key", keys)
        self.same("group", keys, "--sum", keys) # sums beyond 64 bits, in some parts only

    def test_rows_on_piles(self):
        """What memory cannot hold goes on piles by key: all rows on the last one, again and again;
        none of a new key from some row on; columns of every width; keys that need care."""
        r = np.random.default_rng(4)
        n = 200_000 // SHARE
        names = [self.save("v%d.npy" % i, r.integers(0, 2, n).astype(dtype))
                 for i, dtype in enumerate(["?", "i2", "f4", "u8"])]
        columns = ["--max", names[0], "--sum", names[1], "--mean", names[1], "--sum", names[2],
                   "--min", names[3], "--count"]
        floats = r.normal(size=n).astype("f4")
        floats[::5], floats[1::7] = np.nan, -0.0
        floats.view("u4")[::10] |= 0x80000001 # NaNs of other bits
        few = np.where(np.arange(n) < n // 3, np.arange(n) * 977, 977 * (np.arange(n) % 5))
        kinds = [np.arange(n) * 977, -np.arange(n), floats, floats.astype("f8"), few.astype("u4"),
                 floats.astype("f2"), r.permutation(n).astype("i4"), r.integers(0, n // 4, n)]
        for keys in kinds[::6 if THREADS_ALONE else 3 if SHORT else 1]:
            name = self.save("k.npy", keys)
            want = self.same("group", name, *columns)
            with open(name, "rb") as f:
                self.assertEqual(self.limited("group", "-", *columns, stdin=f.read()), want)
        for keys in [few, r.integers(0, n, n)][THREADS_ALONE:]: # with so many columns, few groups fill memory
            self.same("group", self.save("k.npy", keys), *4 * columns)

    def test_rows_of_text_on_piles(self):
        """The last row makes all keys floats, so what is on piles by then does not count."""
        text = b"k,v\n" + b"".join(b"%d,%d\n" % (k, k % 9) for k in self.keys[:400_000]) + b"0.5,2\n"
        group = ["group", "--column", "k", "--sum", "v", "--max", "v"]
        want = self.same(*group, self.write("x.csv", text))
        self.assertEqual(self.limited(*group, "-", stdin=text), want)

    def test_joins(self):
        r = np.random.default_rng(3)
        a = r.integers(0, 200_000 // SHARE, 600_000 // SHARE) / 4
        b = r.integers(0, 200_000 // SHARE, 400_000 // SHARE) / 4
        a[7], a[8], b[9], b[11] = np.nan, -np.nan, np.nan, -0.0
        names = self.save("a.npy", a), self.save("b.npy", b)
        self.same("join", *names)
        self.objects("join", "--json", *names)
        text = [self.write("a.txt", b"".join(b"%d\n" % x for x in range(0, self.N // 3, 3))),
                self.write("b.txt", b"".join(b"%d\n" % x for x in range(self.N * 2 // 9)) + b"0.5\n")]
        self.same("join", *text)
        many = self.save("m.npy", np.zeros(1200)), self.save("n.npy", np.zeros(1100))
        self.same("join", *many) # one key, and more pairs than memory holds

    def test_a_join_whose_keys_share_a_pile(self):
        """So many that the pile is parted again; one of them is frequent."""
        keys = np.arange(14_000_000, dtype=np.uint64)
        rank = keys ^ np.uint64(1 << 63)
        rank ^= rank >> np.uint64(32)
        rank *= np.uint64(0x9e3779b97f4a7c15)
        rank = (rank ^ rank >> np.uint64(29)) * np.uint64(0xbf58476d1ce4e5b9)
        keys = keys[rank >> np.uint64(58) == 5].astype(np.int64)
        self.assertGreater(len(keys), 200_000)
        r = np.random.default_rng(4)
        a, b = r.permutation(keys)[:180_000], r.permutation(keys)[:170_000]
        a[r.integers(0, len(a), 900)] = b[r.integers(0, len(b), 800)] = keys[0]
        self.same("join", self.save("a.npy", a), self.save("b.npy", b))

    def test_what_is_left(self):
        """Nothing, and no result: of a directory that is not there, a full disk, an interrupt."""
        spill, out = self.path("spill"), self.path("out")
        os.mkdir(spill)
        name = self.save("k.npy", np.arange(self.N) * 12345)
        commands = [["count", name], ["group", name, "--count"], ["join", name, name]]
        for command in commands[1:2] if THREADS_ALONE else commands:
            sorts = command[0] == "join"  # by the library, which has words of its own
            cannot = f"make a temporary file in {self.path('nowhere')}" if sorts else "write or read a temporary file"
            self.refused(1, f"cannot {cannot}: No such file", *command, *LIMITED, "--spill", self.path("nowhere"))
            full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MIB, 2 * MIB))
            where = f" in {spill}" if sorts else ""
            error = self.refused(1, f"cannot write a temporary file{where}: File too large", *command,
                                 *LIMITED, "--spill", spill, preexec_fn=full)
            if not sorts:
                self.assertIn("MiB written", error)
            self.assertIn("hint: --spill DIR", error)
            done = run(*command, *LIMITED, "--spill", spill, "-o", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(spill), [])
            os.remove(out)
        self.refused(1, "--save needs all groups at once", "count", *LIMITED, "--save",
                     self.path("s.bfs"), name)
        self.assertEqual(sorted(os.listdir(self.dir)), ["k.npy", "spill"])

    def test_where_files_are(self):
        """Beside the output, in TMPDIR or in /var/tmp: seen by a directory that is not there."""
        name = self.save("k.npy", self.keys)
        self.refused(1, self.path("nowhere"), "count", *LIMITED, name,
                     env={"TMPDIR": self.path("nowhere")})
        out = self.path("out")
        done = run("count", *LIMITED, name, "-o", out, env={"TMPDIR": self.path("nowhere")})
        self.assertEqual(done.returncode, 0, done.stderr)
        if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK):
            self.result("count", *LIMITED, name, env={"TMPDIR": "/dev/shm"})


class Limits(MemoryTest):
    def test_operands(self):
        for operand in ["0", "5x", "-1", "1KB", "101%", "0%", "", "G", "1.5G"]:
            self.refused(2, "bad operand of --memory", "sum", "--memory=" + operand, stdin=b"1")
        for operand in ["1G", "1GiB", "1048576K", "50%", "1073741824"]:
            self.assertEqual(self.result("sum", "-j1", "--memory", operand, stdin=b"1"), "1")

    def test_too_small(self):
        """However many threads are asked for: no more run than there is memory for."""
        for threads in [[], ["-j1"], ["-j2"], ["-j60"]]:
            error = self.refused(2, "--memory is too small", "sum", *threads, "--memory", "1M",
                                 stdin=b"1")
            least = int(error.split(" MiB")[0].split()[-1])
            self.assertLessEqual(least, LEAST)
            self.assertEqual(self.result("sum", *threads, "--memory", "%dM" % LEAST, stdin=b"1"), "1")

    def test_long_lines(self):
        text = b"1\n" + b" " * (10 * MIB) + b"2\n3\n"
        name = self.write("x", text)
        self.assertEqual(self.result("sum", name), "6")
        for stdin in [None, text]:
            self.refused(3, ":2: a line longer than --memory allows", "sum", *LIMITED,
                         *([] if stdin else [name]), stdin=stdin or b"")
        self.assertEqual(self.result("sum", "-j2", "--memory", "1G", name), "6")

    def test_what_cannot_be_done_says_so(self):
        values = self.save("x.npy", np.arange(4 * MIB))
        self.refused(1, "out of memory", "hist", "--bins", 10 ** 8, *LIMITED, values)
