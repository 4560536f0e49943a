"""20 GiB within --memory 512M or 256M, and a disk that is full in the midst of a spill, at any point."""
import gzip
import os
import random
import resource
import subprocess
import sys

import numpy as np

from command import BITFOLD, CommandTest, run
from memory import PEAK

MIB = 1 << 20
N = 20 * (1 << 30) // 4
RUNS = int(os.environ.get("BITFOLD_CASES", "160")) // 8
FAR = {7: 5, N // 2: -3, N - 1: 4} # all else in the array is 0


class Huge(CommandTest):
    def within(self, *arguments, limit=512):
        """The output of a command that keeps to so many MiB."""
        peak = self.path("peak")
        done = subprocess.run([sys.executable, "-S", "-c", PEAK, peak, BITFOLD,
                               *map(str, arguments), "--memory", "%dM" % limit], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=1800)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        with open(peak) as f:
            self.assertLess(int(f.read()), limit * 1024, arguments)
        return done.stdout.decode()

    def test_a_file_of_20_gib(self):
        name = self.path("x.npy")
        with open(name, "wb") as f: # sparse
            np.lib.format.write_array_header_1_0(
                f, {"descr": "<i4", "fortran_order": False, "shape": (N,)})
            start = f.tell()
            for at, value in FAR.items():
                f.seek(start + 4 * at)
                f.write(np.int32(value).tobytes())
        self.assertEqual(self.within("sum", name), "6\n")
        self.assertEqual(self.within("count", name), "0\t%d\n-3\t1\n4\t1\n5\t1\n" % (N - 3))
        self.assertEqual(self.within("hist", "--edges", "-4,0,1,6", name),
                         "-4\t0\t1\n0\t1\t%d\n1\t6\t2\n" % (N - 3))
        self.assertEqual(self.within("argmin", name), "%d\n" % (N // 2))

    def test_quantiles_of_20_gib(self):
        """Writes a permutation of 0 to N - 1, scaled to the f64 of that rank: sorted, the file
        would be these in turn."""
        name, n, part = self.path("x.npy"), N // 2, 1 << 22
        factor = 0x9E3779B1 # odd, and n is a power of 2 times 5: prime to it
        self.assertEqual(np.gcd(factor, n), 1)
        with open(name, "wb") as f:
            np.lib.format.write_array_header_1_0(
                f, {"descr": "<f8", "fortran_order": False, "shape": (n,)})
            for first in range(0, n, part):
                i = np.arange(first, min(first + part, n), dtype="u8")
                ranks = i * np.uint64(factor) % np.uint64(n)
                (np.sqrt(ranks.astype("f8")) - 1000).tofile(f)

        def element(rank):
            return float(np.sqrt(np.float64(rank)) - 1000)

        ask = ["quantile", "-p", "0,50,99.9,100", "--method", "lower", name]
        want = [element(rank) for rank in [0, (n - 1) // 2, int(0.999 * (n - 1)), n - 1]]
        self.assertEqual(list(map(float, self.within(*ask, limit=256).split())), want)
        want = (element(n // 2 - 1) + element(n // 2)) / 2
        self.assertEqual(float(self.within("median", name, limit=256)), want)

    def refused_within(self, what, *arguments, limit, stdin=None):
        """A command that is refused for what it reads, and keeps to so many MiB meanwhile."""
        peak = self.path("peak")
        done = subprocess.run([sys.executable, "-S", "-c", PEAK, peak, BITFOLD, *map(str, arguments)],
                              stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1800)
        self.assertEqual((done.returncode, done.stdout), (3, b""), arguments)
        self.assertIn(what, done.stderr.decode())
        with open(peak) as f:
            self.assertLess(int(f.read()), limit * 1024, arguments)

    def test_lines_of_4_gib(self):
        name, within = self.path("x"), ["--memory", "200M"]
        for start, block, line, what in [
                (b"1,1\n2,", b"x", 2, "a line of more than 256 MiB"),
                (b'1,1\n2,2\n4,"', b"x\n", 3, "a quoted field that does not end")]:
            with open(name, "wb") as f: # sparse behind what is read of it
                f.write(start)
                for _ in range(600):
                    f.write(block * (MIB // len(block)))
                f.truncate(4 << 30)
            for memory, limit, error in [([], 1200, what), (within, 200, "a line longer than --memory")]:
                ask = ["sum", "-j2", "--column", 1, *memory]
                self.refused_within("%s:%d: %s" % (name, line, error), *ask, name, limit=limit)
                with subprocess.Popen(["cat", name], stdout=subprocess.PIPE) as pipe:
                    self.refused_within("-:%d: %s" % (line, error), *ask, limit=limit, stdin=pipe.stdout)
                    pipe.stdout.close()

    def test_a_bomb_of_rows_takes_no_memory(self):
        name, times = self.path("x.gz"), 1000
        part = gzip.compress(b"3,x\n" * (MIB // 4))
        with open(name, "wb") as f: # members, one behind another
            for _ in range(times):
                f.write(part)
        self.assertLess(os.path.getsize(name), 4 * MIB)
        rows = times * (MIB // 4)
        self.assertEqual(self.within("sum", "-j2", "--column", 1, name, limit=100), "%d\n" % (3 * rows))
        self.assertEqual(self.within("median", "-j2", "--column", 1, name, limit=100), "3\n")
        self.assertEqual(self.within("count", "-j2", "--column", 1, name, limit=100), "3\t%d\n" % rows)

    def test_a_disk_that_is_full_at_any_point(self):
        spill = self.path("spill")
        os.mkdir(spill)
        name = self.save("x.npy", np.random.default_rng(1).integers(0, 1 << 40, 3_000_000))
        limited = ["-j2", "--memory", "48M", "--spill", spill]
        commands = [["count", name], ["group", name, "--sum", name], ["join", name, name],
                    ["group", name, "--count", "--json"]]
        r, full = random.Random(2), 0
        for i in range(RUNS):
            command = commands[i % len(commands)]
            most = r.randrange(1, 120 * MIB)
            done = run(*command, *limited, "-o", self.path("out"),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            self.assertIn(done.returncode, (0, 1), (command, most, done.stderr))
            self.assertLessEqual(done.stderr.count(b"\n"), 2)
            self.assertEqual(os.listdir(spill), [])
            self.assertEqual(os.path.exists(self.path("out")), done.returncode == 0)
            full += done.returncode
            if done.returncode == 0:
                os.remove(self.path("out"))
        self.assertGreater(full, 0)
