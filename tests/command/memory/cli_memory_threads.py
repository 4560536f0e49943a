"""--memory with any number of threads: whatever the limit is, from the least one on, a command keeps
to it, gives what it gives without one, and never fails where a smaller limit would do.
Builds: release, asan, tsan (full)."""
import random

import numpy as np

from command import SANITIZED, SHORT, THREADS_ALONE
from memory import LEAST, MemoryTest

THREADS = [2] if THREADS_ALONE else [2, 60] if SANITIZED else [1, 2, 8, 60]
STEPS = [0, 50] if THREADS_ALONE else [0, 60] if SHORT else [0, 5, 20, 50, 230]  # MiB beyond the least


class Threads(MemoryTest):
    chosen = random.Random(6)

    def all_limits(self, *command, steps=STEPS):
        """In the short form a command takes half of them, and other commands have others."""
        want = self.result(*command)
        each = [(threads, LEAST + step) for threads in THREADS for step in steps]
        for threads, limit in self.chosen.sample(each, (len(each) + 1) // 2) if SHORT else each:
            found = self.limited(*command, threads=threads, limit=limit)
            self.assertTrue(found == want, (command, threads, limit))

    def test_orders(self):
        """Sorts that fill memory, and those that do not."""
        x = np.random.default_rng(1).normal(size=1_000_000)
        self.all_limits("argsort", self.save("x.npy", x))
        x = x[:200_000 if SHORT else len(x)]
        name = self.save("x.npy", x)
        for command in [["sort"], ["top", "-n", 3], ["top", "-n", 30_000]]:
            self.all_limits(*command, name)
        keys = self.save("k.npy", np.random.default_rng(2).permutation(150_000) * 977)
        self.all_limits("unique", keys)
        self.all_limits("unique", "--count", keys)
        lines = self.save("l.npy", x[:100_000].reshape(50, -1))
        for command in [["argsort", "--axis", 1], ["median", "--axis", 0]]:
            self.all_limits(*command, lines)
        halves = self.save("h.npy", x.astype("f2"))
        for command in [["sort"], ["median"], ["hist", "--bins", 9]]:
            self.all_limits(*command, halves)

    def test_keys_that_just_fit(self):
        """From some limit on, groups stay in memory: then they are ordered and shown there, too."""
        keys = self.save("k.npy", np.random.default_rng(3).permutation(150_000) * 977)
        steps = [0, 30] if THREADS_ALONE else range(26, 31, 2) if SHORT else range(90)
        for command in [["count"], ["group", "--max", keys]]:
            self.all_limits(*command, keys, steps=steps)

    def test_states_of_many_results(self):
        """Threads have states of their own only where these fit."""
        n = 100_000 if SHORT else 1_000_000
        r = np.random.default_rng(5)
        name = self.save("x.npy", r.normal(size=n).astype("f4"))
        index = self.save("i.npy", r.integers(0, 15_000, n).astype("i4"))
        for op in ["sum", "std"]:
            self.all_limits(op, "--index", index, "--slots", 15_000, name)

    def test_long_lines(self):
        """A line may be as long, however many threads read: in files and pipes, quoted or not, where
        all are long, or some, or the first."""
        limit, length = LEAST + 60, 900_000 if SHORT else 1_200_000
        blank, quoted = "1," + " " * length + "2", '1,"' + "a\n" * (length // 2) + '"'
        short = "\n".join("%d,%d" % (i, i % 7) for i in range(60_000))
        for rows in [[short, blank, short] + 9 * [blank] + [short], 6 * [quoted] + [short, quoted],
                     [short] + 3 * [blank, short]]:
            text = ("a,b\n" + "\n".join(rows) + "\n").encode()
            name, ask = self.write("t.csv", text), ["sum", "--column", "a"]
            want = self.result(*ask, name)
            for threads in THREADS:
                self.assertEqual(self.limited(*ask, name, threads=threads, limit=limit), want)
                found = self.limited(*ask, stdin=text, threads=threads, limit=limit)
                self.assertEqual(found, want)
                long = self.write("long", b"1\n" + b" " * 8 * length + b"2\n")
                error = self.refused(3, ":2: a line longer than --memory allows", "sum", long,
                                     "-j%d" % threads, "--memory", "%dM" % limit)
                self.assertIn("hint: lines of up to", error)

    def test_medians_of_groups(self):
        """Tries a small table, long keys, and more rows than memory holds."""
        r = random.Random(4)
        rows = 60_000 if SHORT else 150_000
        tables = [["k,v"] + ["%d,%d" % (i % 50, i) for i in range(9000)],
                  ["k,v"] + ["%0300d.x,%d" % (r.randrange(3000), r.randrange(9**9)) for i in range(rows // 6)],
                  ["k,v"] + ["%s,%d" % (r.choice("aaab"), r.randrange(9**9)) for i in range(rows)]]
        for table in tables:
            name = self.write("t.csv", "\n".join(table).encode())
            self.all_limits("group", "--by", "k", "--median", "v", "--quantile", "9:v", "--total", name)
