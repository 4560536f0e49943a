"""Contexts with a limit of memory and a directory to spill to, from Python: the same bits, within the
limit, and no file left behind by a process that is killed."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import bitfold

MIB = 1 << 20
ROWS = 1 << 19
LIMIT = 2 * MIB  # a column is twice that

# Works for ever within a limit that the system enforces: on private memory, beyond the arrays.
CHILD = """
import resource, sys, numpy as np, bitfold
x = np.random.default_rng(3).standard_normal({rows})
keys = np.random.default_rng(4).permutation({rows})
context = bitfold.Context(device="cpu", threads=1, memory={limit}, spill=sys.argv[1])
bitfold.sum(x, context=context)
out, index = np.empty_like(x), np.empty({rows}, "i8")
with open("/proc/self/status") as f:
    held = next(int(line.split()[1]) for line in f if line.startswith("VmData")) << 10
most = held + {limit} + 3 * out.nbytes + {slack}
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
while True:
    bitfold.sort(x, context=context)
    groups = bitfold.Groups("i64", [("sum", "f64")], context=context)
    groups.absorb(keys, x)
    len(groups)
    del groups
    print("turn", flush=True)
"""


class Spill(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.context = bitfold.Context(device="cpu", threads=2, memory=LIMIT, spill=self.folder)
        self.x = np.random.default_rng(1).standard_normal(ROWS)
        self.x[::1000] = np.nan

    def child(self):
        code = CHILD.format(rows=ROWS, limit=LIMIT, slack=4 * MIB)
        return subprocess.Popen([sys.executable, "-c", code, self.folder], stdout=subprocess.PIPE)

    def test_sorting(self):
        without = bitfold.Context(device="cpu", memory=LIMIT)
        with self.assertRaises(bitfold.OutOfMemoryError):
            bitfold.sort(self.x, context=without)
        np.testing.assert_array_equal(bitfold.sort(self.x, context=self.context), np.sort(self.x))
        np.testing.assert_array_equal(
            bitfold.argsort(self.x, context=self.context), np.argsort(self.x, kind="stable")
        )
        few = (self.x.view("i8") >> 45) % 100000
        values, counts = bitfold.unique(few, context=self.context)
        wanted = np.unique(few, return_counts=True)
        np.testing.assert_array_equal(values, wanted[0])
        np.testing.assert_array_equal(counts, wanted[1])

    def test_groups(self):
        keys = np.random.default_rng(2).permutation(ROWS)
        groups = bitfold.Groups("i64", [("sum", "f64")], context=self.context)
        groups.absorb(keys, self.x)
        groups.absorb(keys[: ROWS // 2], self.x[: ROWS // 2])
        found, counts = groups.list()
        np.testing.assert_array_equal(found, np.arange(ROWS))
        wanted = np.empty(ROWS)
        wanted[keys] = np.where(np.arange(ROWS) < ROWS // 2, 2 * self.x, self.x)
        np.testing.assert_array_equal(groups.result(0), wanted)
        self.assertEqual(int(np.asarray(counts).sum()), ROWS + ROWS // 2)

    def test_a_directory_that_is_not_there(self):
        context = bitfold.Context(device="cpu", memory=LIMIT, spill="/nonexistent")
        with self.assertRaisesRegex(bitfold.FileError, "/nonexistent"):
            bitfold.sort(self.x, context=context)

    def test_the_memory_of_the_process_keeps_to_the_limit(self):
        with self.child() as child:
            try:
                self.assertEqual(child.stdout.readline(), b"turn\n")
            finally:
                child.kill()

    def test_a_process_that_is_killed_leaves_no_file(self):
        chance = random.Random(7)
        for _ in range(4):
            with self.child() as child:
                child.stdout.readline()
                time.sleep(chance.random() * 0.5)
                child.send_signal(signal.SIGKILL)
            self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
