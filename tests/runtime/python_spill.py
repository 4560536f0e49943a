"""Contexts with a limit of memory and a directory to spill to, from Python: the same bits, within the
limit, and no file left behind by a process that is killed.

BITFOLD_KILLS is the number of processes of each kind that are killed.
Builds: release."""
import hashlib
import os
import random
import resource
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
KILLS = int(os.environ.get("BITFOLD_KILLS", "3"))

X = np.random.default_rng(1).standard_normal(ROWS)
KEYS = np.random.default_rng(2).permutation(ROWS)
FEW = np.random.default_rng(3).integers(0, ROWS // 8, ROWS)  # some of them several times


def sum_groups(context):
    groups = bitfold.Groups("i64", [("sum", "f64")], context=context)
    groups.absorb(KEYS, X)
    return [*groups.list(), groups.result(0)]


# Work that takes several times the limit: makes arrays within a context.
WORKS = {
    "sort": lambda context: [bitfold.sort(X, context=context)],
    "groups": sum_groups,
    "join": lambda context: bitfold.join(KEYS, FEW, context=context),
    "medians": lambda context: bitfold.group_median(FEW, X, context=context),
}


def digest(arrays):
    made = hashlib.sha256()
    for array in arrays:
        made.update(np.ascontiguousarray(array))
    return made.hexdigest()


def work_for_ever(name, folder):
    """Works within a limit that the system enforces on private memory: that of the context, beside the
    arrays. Tells the digest of each turn."""
    context = bitfold.Context(device="cpu", threads=1, memory=LIMIT, spill=folder)
    bitfold.sum(X, context=context)
    with open("/proc/self/status") as f:
        held = next(int(line.split()[1]) for line in f if line.startswith("VmData")) << 10
    most = held + LIMIT + 3 * X.nbytes + 4 * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    while True:
        print(digest(WORKS[name](context)), flush=True)


class Spill(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.context = bitfold.Context(device="cpu", threads=2, memory=LIMIT, spill=self.folder)

    def child(self, name):
        command = [sys.executable, os.path.abspath(__file__), name, self.folder]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def test_the_bits_of_no_limit(self):
        """The works need a directory: without one they are refused."""
        without, free = bitfold.Context(device="cpu", memory=LIMIT), bitfold.Context(device="cpu")
        works = {
            **WORKS,
            "argsort": lambda context: [bitfold.argsort(X, context=context)],
            "unique": lambda context: bitfold.unique(FEW, context=context),
            "quantiles": lambda context: bitfold.group_quantile(FEW, X, [1, 0.3], context=context),
            "pairs": lambda context: bitfold.join(KEYS[:900] % 2, FEW[:1000] % 2, context=context),
        }
        for name, work in works.items():
            with self.subTest(name):
                self.assertEqual(digest(work(self.context)), digest(work(free)))
                self.assertRaises(bitfold.OutOfMemoryError, work, without)

    def test_a_directory_that_is_not_there(self):
        context = bitfold.Context(device="cpu", memory=LIMIT, spill="/nonexistent")
        for name, work in WORKS.items():
            with self.subTest(name), self.assertRaisesRegex(bitfold.FileError, "/nonexistent"):
                work(context)

    def test_a_process_keeps_to_the_limit_and_leaves_no_file_when_it_is_killed(self):
        """One that is left alone has the bits of no limit after that."""
        chance = random.Random(7)
        for name, work in WORKS.items():
            wanted = digest(work(bitfold.Context(device="cpu"))) + "\n"
            for kill in range(KILLS + 1):
                with self.subTest(name), self.child(name) as child:
                    try:
                        self.assertEqual(child.stdout.readline(), wanted)
                        if kill < KILLS:
                            time.sleep(chance.random() * 0.5)
                    finally:
                        child.send_signal(signal.SIGKILL)
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    work_for_ever(*sys.argv[1:])
