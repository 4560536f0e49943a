"""cumsum and its like, and rolling, under --memory: what they hold stays within it, or is refused.
Builds: release, asan (full)."""


import numpy as np

from command import run
from memory import LIMITED, SHARE, MemoryTest


class ScanMemory(MemoryTest):
    def refused_late(self, message, *arguments, stdin=None):
        """Refused when some results may have been written."""
        done = run(*arguments, *LIMITED, stdin=stdin or b"")
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr.decode())

    def test_what_is_held_is_within_the_limit(self):
        n = 4_000_000 // SHARE
        x = self.save("x.npy", np.random.default_rng(1).integers(0, 1000, n))
        table = self.write("t.csv", b"k,v\n" + b"".join(b"%d,%d\n" % (i % 1000, i % 77) for i in range(n // 4)))
        self.same("cumsum", x)
        self.same("rolling", "sum", "--window", 100_000, x)
        self.same("cumsum", "--column", "v", "--append", "s", table)
        self.same("cumsum", "--column", "v", "--by", "k", table)
        self.same("rolling", "mean", "--window", 50, "--column", "v", "--by", "k", "--append", "s", table)
        self.same("rolling", "mean", "--window", 50, "--column", "v", "--by", "k", "--append", "s", "--center", table)

    def test_rows_behind_one_whose_key_comes_no_more(self):
        """They wait for the end, or with a span for the first key that is beyond its window."""
        times = self.write("t.csv", b"t,k,v\n0,z,1\n" + b"".join(b"%d,a,1\n" % i for i in range(1, 2_000_000)))
        rolling = ["rolling", "sum", "--center", "--window", 50, "--by", "k", "--column", "v"]
        self.same(*rolling, "--on", "t", "--append", "s", times)
        self.refused(1, "--by: --memory does not hold what 2 keys", *rolling, *LIMITED, times)
        self.refused(1, "--memory does not hold", *rolling, "--append", "s", *LIMITED, times)

    def test_what_is_not_is_refused(self):
        keys = b"k,v\n" + b"".join(b"%d,1\n" % i for i in range(1_000_000))
        self.refused_late("--memory does not hold what", "cumsum", "--by", "k", "--column", "v", stdin=keys)
        lines = b"v\n" + b"1\n" * 20_000_000
        rolling = ["rolling", "sum", "--window", 10**8]
        self.refused_late("--memory does not hold what windows", *rolling, "--column", "v", stdin=lines)
        self.refused_late("--memory does not hold", *rolling, "--column", "v", "--append", "s", stdin=lines)
        x = self.save("x.npy", np.arange(2 * 10**7))
        self.refused(2, "--memory is too small", "cumsum", "--reverse", *LIMITED, x)
