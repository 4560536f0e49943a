"""Threads and forks: what they share is whole, with a GIL and without one.
A fork's child may find locks of AddressSanitizer's memory held by threads that it lacks.
Builds: release."""

import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import unittest

import numpy as np

import bitfold

THREADS = 4
NO_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def together(work, n=THREADS):
    """Runs work(0), ..., work(n - 1) in threads that begin at once. Raises the first exception."""
    failed, barrier = [], threading.Barrier(n)

    def run(i):
        barrier.wait()
        try:
            work(i)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def run_python(*arguments):
    """Runs Python in a process of its own, without its warnings of forks."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def chunk(i):
    return np.random.default_rng(i).integers(0, 5000, 3000)


# How each kind of object is made, and takes a chunk.
KINDS = {
    "State": (lambda: bitfold.State("var", "i64"), lambda o, x: o.absorb(x)),
    "States": (lambda: bitfold.States("sum", "i64", 5000), lambda o, x: o.absorb_index(x, x)),
    "Histogram": (lambda: bitfold.Histogram("i64", 7, (0, 4000)), lambda o, x: o.absorb(x)),
    "Quantiles": (lambda: bitfold.Quantiles("i64", [0.5]), lambda o, x: o.absorb(x)),
    "Groups": (lambda: bitfold.Groups("i64", [("sum", "i64")]), lambda o, x: o.absorb(x, x)),
    "Table": (lambda: bitfold.Table("i64", "i64", "add"), lambda o, x: o.insert(x, x)),
}


class Threads(unittest.TestCase):
    def test_they_fill_one_object(self):
        for name, (make, fill) in KINDS.items():
            shared, expected = make(), make()
            for i in range(THREADS * 8):
                fill(expected, chunk(i))

            def work(thread):
                for i in range(8):
                    fill(shared, chunk(thread * 8 + i))

            together(work)
            self.assertEqual(shared, expected, name)

    def test_an_object_is_read_while_it_grows(self):
        for name, (make, fill) in KINDS.items():
            shared = make()

            def work(thread):
                for i in range(10):
                    if thread % 2:
                        fill(shared, chunk(thread * 10 + i))
                        continue
                    type(shared).load(shared.save())  # raises StateError if it is not whole
                    if name in ("Groups", "Table"):
                        self.assertGreaterEqual(len(shared), 0)
                    if name == "Groups":
                        keys, counts = shared.list()
                        self.assertEqual(len(keys), len(counts))
                    if name == "Table":
                        keys, values = shared.export()
                        self.assertEqual(keys.shape, values.shape)
                        shared.find_all(chunk(0))

            together(work)

    def test_each_has_its_own_context(self):
        x = np.random.default_rng(1).normal(size=50_000)
        y = x.reshape(100, 500)
        expected = bitfold.sum(x), bitfold.sort(x).tobytes(), bitfold.sum(y, axis=0).tobytes()
        contexts = set()

        def work(_):
            for _ in range(10):
                found = bitfold.sum(x), bitfold.sort(x).tobytes(), bitfold.sum(y, axis=0).tobytes()
                self.assertEqual(found, expected)
                self.assertEqual(bitfold.dot(x[:10], x[:10]), bitfold.sumsq(x[:10]))
            contexts.add(bitfold.State("sum", "f64")._context)

        together(work)
        self.assertEqual(len(contexts), THREADS)

    def test_an_object_outlives_the_thread_that_made_it(self):
        made = []
        together(lambda i: made.append(bitfold.State("sum", "i64").absorb(chunk(i))))
        total = bitfold.State("sum", "i64")
        for each in made:
            total.merge(each)
        self.assertEqual(total.result(), sum(int(chunk(i).sum()) for i in range(THREADS)))

    def test_the_module_does_not_need_a_gil(self):
        if not NO_GIL:
            self.skipTest("this Python has a GIL")
        code = "import sys, bitfold, numpy; print(sys._is_gil_enabled())"
        done = run_python("-c", code)
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))


def right():
    """Whether calls of several kinds give what they should."""
    x = np.arange(300_000.0)
    state = bitfold.State("sum", "f64").absorb(x)
    groups = bitfold.Groups("i64").absorb(np.arange(1000) % 7)
    return (
        bitfold.sum(x) == state.result() == 44999850000.0
        and bitfold.median(x[::-1]) == 149999.5
        and len(groups) == 7
        and bitfold.sum(x, axis=0, context=bitfold.Context(threads=3)) == 44999850000.0
    )


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class Forks(unittest.TestCase):
    def check_child(self):
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # a child that waits for a lock for ever ends so
            os._exit(0 if right() else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_a_child_computes(self):
        self.assertTrue(right())
        self.check_child()
        self.assertTrue(right())

    def test_a_child_computes_whatever_other_threads_were_in(self):
        if NO_GIL:
            self.skipTest("without a GIL, a child of Python 3.13 waits for dicts that threads had locked")
        done = threading.Event()

        def work():
            while not done.is_set():
                right()

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                self.check_child()
        finally:
            done.set()
            for thread in threads:
                thread.join()

    def test_parent_and_child_end_as_they_should(self):
        code = (
            "import array, bitfold, os, sys\n"
            "x = array.array('d', [1.0] * 300000)\n"
            "state = bitfold.State('sum', 'f64').absorb(x)\n"
            "child = os.fork()\n"
            "assert state.absorb(x).result() == bitfold.sum(x) * 2 == 600000\n"
            "if child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        done = run_python("-c", code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_child_has_a_lock_of_its_own(self):
        code = (
            "import array, bitfold, os, sys, threading\n"
            "from bitfold import _result\n"
            "result = bitfold.sort(array.array('d', [2, 1]))\n"
            "taken, done = threading.Event(), threading.Event()\n"
            "def hold():\n"
            "    with _result._lock:\n"
            "        taken.set()\n"
            "        done.wait()\n"
            "thread = threading.Thread(target=hold, daemon=True)\n"
            "thread.start()\n"
            "taken.wait()\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    result.__dlpack__()\n"
            "    os._exit(0)\n"
            "code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
            "done.set()\n"
            "sys.exit(code)\n"
        )
        done = run_python("-c", code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_processes_of_multiprocessing_send_states(self):
        code = (
            "import array, bitfold, multiprocessing, sys\n"
            "def part(i):\n"
            "    return bitfold.State('sum', 'f64').absorb(array.array('d', [1e20, i, -1e20]))\n"
            "if __name__ == '__main__':\n"
            "    bitfold.sum(b'abc')\n"
            "    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:\n"
            "        states = pool.map(part, range(5))\n"
            "    total = states[0]\n"
            "    for state in states[1:]: total += state\n"
            "    print(total.result())\n"
        )
        with tempfile.TemporaryDirectory(prefix="bitfold-") as folder:
            program = os.path.join(folder, "program.py")
            with open(program, "w") as f:
                f.write(code)
            for method in ("fork", "spawn"):
                done = run_python(program, method)
                self.assertEqual((done.stdout, done.stderr), ("10.0\n", ""))
