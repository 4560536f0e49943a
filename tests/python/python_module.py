"""The module as a whole: results, errors, contexts, watches, import."""

import gc
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from array import array

import numpy as np

import bitfold
import devices
from bitfold import _library


class Merges(unittest.TestCase):
    def test_objects_of_two_kinds_are_refused(self):
        class Own(bitfold.State):
            pass

        make = [
            lambda: bitfold.State("sum", "f64"), lambda: bitfold.States("sum", "f64", 2),
            lambda: bitfold.Histogram("f64", 3, (0, 4)), lambda: bitfold.Quantiles("f64", [0.5]),
            lambda: bitfold.Groups("f64"), lambda: bitfold.Table("f64"),
        ]  # fmt: skip
        for one in (each() for each in make):
            for other in (*(each() for each in make), Own("sum", "f64"), bitfold.Context(), 1):
                if isinstance(other, type(one)):
                    continue
                for name in ("merge", "retract"):
                    if hasattr(one, name):
                        with self.assertRaisesRegex(bitfold.StateError, " is no " + type(one).__name__):
                            getattr(one, name)(other)
        own = Own("sum", "f64").absorb(array("d", [2]))
        self.assertEqual(own.merge(make[0]().absorb(array("d", [3]))).result(), 5.0)
        self.assertEqual(make[0]().merge(own).result(), 5.0)


class Results(unittest.TestCase):
    def test_types(self):
        ints, floats = array("i", [3, -4]), array("f", [3.0, -4.0])
        self.assertIs(type(bitfold.sum(ints)), int)
        self.assertIs(type(bitfold.mean(ints)), float)
        self.assertIs(type(bitfold.sum(ints, out_dtype="f64")), float)
        self.assertIs(type(bitfold.min(ints)), int)
        self.assertIs(type(bitfold.min(floats)), float)
        self.assertIs(type(bitfold.argmin(floats)), int)
        self.assertIs(bitfold.max(np.array([False, True])), True)
        self.assertIs(bitfold.min(np.array([False, True])), False)
        self.assertEqual(bitfold.max(array("Q", [2**64 - 1])), 2**64 - 1)
        self.assertEqual(bitfold.min(array("q", [-(2**63)])), -(2**63))
        self.assertEqual(bitfold.max(np.array([65504], dtype=np.float16)), 65504.0)

    def test_results_of_no_dimensions_are_numbers(self):
        x, ints = np.array([5.0, 3, 9, 3]), np.array([5, 3, 9, 3])
        bf16 = np.array([0x3F80, 0x4000], "u2")
        found = {
            4.0: [
                bitfold.median(x), bitfold.median(ints, axis=0), bitfold.quantile(x, 0.5),
                bitfold.percentile(x, 50), bitfold.quantile(x.astype("f2"), 0.5),
            ],
            3.0: [bitfold.nth(x, 1), bitfold.nth(x.reshape(2, 2), 1, axis=None), bitfold.min(x, axis=0)],
            20: [bitfold.sum(ints, axis=0), bitfold.States("sum", "i64", 1).absorb(ints).result([])],
            2: [bitfold.searchsorted(np.sort(ints), ints[0]), bitfold.max(bf16, axis=0, dtype="bf16")],
            True: [bitfold.max(x > 4, axis=0), bitfold.nth(x > 4, 3)],
        }
        for expected, values in found.items():
            for value in values:
                self.assertIn(type(value), (bool, int, float))
                self.assertEqual(value, expected)
                self.assertEqual(isinstance(value, bool), expected is True)
        self.assertIs(type(bitfold.sum(ints, axis=0)), int)
        self.assertEqual(bitfold.median(x, keepdims=True).shape, (1,))

    def test_errors_carry_status_and_message(self):
        with self.assertRaises(bitfold.EmptyError) as caught:
            bitfold.min(array("d"))
        self.assertEqual(caught.exception.status, 6)
        self.assertEqual(str(caught.exception), caught.exception.message)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsInstance(caught.exception, bitfold.Error)
        for status, error in _library.ERRORS.items():
            with self.assertRaises(error) as caught:
                _library.check(status)
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.message)

    def test_an_unknown_keyword_names_what_was_called(self):
        x, keys, places = array("d", [1, 2]), array("q", [0, 1]), array("q", [0, 2])
        state, groups = bitfold.State("sum", "f64"), bitfold.Groups("i64", [("sum", "f64")]).absorb(keys, x)
        states = bitfold.States("sum", "f64", 1)
        calls = {
            "sum": [(x,), (x, 0)], "argmin": [(x,)], "describe": [(x,)], "dot": [(x, x), (x, x, 0)],
            "vecdot": [(x, x)], "segment_sum": [(x, places)], "index_add": [(2, keys, x)],
            "segment_dot": [(x, x, places)], "reduce_runs": [("sum", keys, x)], "sort": [(x,)],
            "quantile": [(x, 0.5)], "unique_counts": [(x,)], "histogram": [(x,)], "map": [("neg", x)],
        }  # fmt: skip
        given = [(getattr(bitfold, name), *each) for name, several in calls.items() for each in several]
        for function, *arguments in [*given, (state.result,), (states.result,), (groups.result, 0)]:
            for wrong in ("nans", "op", "views", "kind"):
                name = function.__name__
                if function in (bitfold.map, state.result, states.result) and wrong == "op":
                    continue  # its own
                with self.assertRaisesRegex(TypeError, rf"\b{name}\(\) got .*'{wrong}'", msg=(name, wrong)):
                    function(*arguments, **{wrong: 1})

    def test_public_names_alone_are_shown(self):
        self.assertEqual(sorted(dir(bitfold)), sorted([*bitfold.__all__, "__version__"]))

    def test_bad_options(self):
        x = array("d", [1, 2])
        for bad in ({"nan": "ignore"}, {"ddof": 2}, {"ddof": -1}):
            with self.assertRaises(bitfold.ArgumentError, msg=bad):
                bitfold.var(x, **bad)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(x, out_dtype="i32")
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.max(x, out_dtype="f32")
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.State("median", "f64")
        with self.assertRaisesRegex(bitfold.ShapeError, r"the shapes \[2\] and \[1\] differ"):
            bitfold.dot(x, array("d", [1]))
        with self.assertRaises(bitfold.DtypeError):
            bitfold.dot(x, array("f", [1, 2]))


class Contexts(unittest.TestCase):
    def test_options(self):
        context = bitfold.Context(device="cpu", isa="generic", threads=3)
        self.assertEqual((context.device, context.isa, context.threads), ("cpu", "generic", 3))
        self.assertIn("generic", bitfold.isas())
        self.assertEqual(bitfold.sum(array("d", [1, 2]), context=context), 3.0)
        self.assertEqual(context.reason, "")
        self.assertIn("host memory", bitfold.Context().reason)
        with self.assertRaises(bitfold.DeviceError):
            bitfold.Context(device="cuda:9999")
        for bad in ({"isa": "mmx"}, {"device": "cuda:x"}, {"threads": -1}, {"threads": 100_000}):
            with self.assertRaises(bitfold.ArgumentError):
                bitfold.Context(**bad)

    def test_the_instruction_sets_are_those_of_the_system(self):
        with open("/proc/cpuinfo") as f:
            flags = set(next((line for line in f if line.startswith("flags")), "").split())
        self.assertEqual("avx2" in bitfold.isas(), {"avx2", "fma", "f16c", "bmi2"} <= flags)

    def test_threads_may_share_a_context(self):
        context = bitfold.Context(threads=2)
        x = np.random.default_rng(1).normal(size=200_000)
        expected, wrong = math.fsum(x), []

        def work(given):
            for _ in range(20):
                if bitfold.sum(x, context=given) != expected:
                    wrong.append(given)

        workers = [threading.Thread(target=work, args=(c,)) for c in (context, context, None, None)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertFalse(wrong)

    def test_threads_may_merge_what_others_are_filling(self):
        shared = bitfold.Groups("i64", [("sum", "f64")])
        keys, values = np.arange(2000), np.ones(2000)
        failed = []

        def work():
            try:
                mine = bitfold.Groups("i64", [("sum", "f64")])
                for _ in range(20):
                    shared.absorb(keys, values)
                    mine.merge(shared)
            except bitfold.Error as error:
                failed.append(error)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failed, [])
        self.assertEqual(shared.rows, 3 * 20 * 2000)

    def test_a_forked_child_can_go_on(self):
        x = np.ones(1 << 18)
        bitfold.sum(x)
        child = os.fork()
        if child == 0:
            os._exit(0 if bitfold.sum(x) == 1 << 18 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_what_is_of_a_context_is_destroyed_before_it(self):
        """The garbage collector may take the context of a cycle first."""
        for device in ("cpu", *(gpu.device for gpu in devices.gpus())):
            context = bitfold.Context(device=device)
            objects = [
                context, bitfold.State("sum", "f64", context), bitfold.States("sum", "f64", 9, context),
                bitfold.Groups("i64", [("sum", "f64")], context=context),
                bitfold.Histogram("f64", 9, (0, 9), context=context),
                bitfold.Table("i64", context=context), bitfold.Quantiles("f64", context=context),
                *bitfold.Comm.local([context]),
            ]  # fmt: skip
            objects.append(objects)
            x, gone = np.arange(9.0), weakref.ref(context)
            objects[1].absorb(x), objects[2].absorb_index(x, np.arange(9))
            objects[3].absorb(np.arange(9), x)
            context = objects = None
            gc.collect()
            self.assertIsNone(gone())


class Import(unittest.TestCase):
    def run_python(self, code, **environment):
        environment = {**os.environ, **environment}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )

    def test_numpy_is_not_needed(self):
        code = (
            "import sys; sys.modules['numpy'] = None; import array, bitfold; "
            "print(bitfold.sum(array.array('d', [1e20, 1, -1e20])))"
        )
        self.assertEqual(self.run_python(code).stdout, "1.0\n")

    def test_no_module_is_loaded_that_takes_long(self):
        code = "import sys; old = {*sys.modules}; import bitfold; print(*{*sys.modules} - old)"
        slow = {
            "numpy", "re", "pathlib", "shutil", "subprocess", "tempfile", "ctypes.util", "decimal", "fractions",
            "datetime", "contextlib", "importlib.util",
        }  # fmt: skip
        self.assertFalse(slow & set(self.run_python(code).stdout.split()))

    def test_nothing_is_loaded_from_the_current_folder(self):
        folder, name = os.path.split(os.path.abspath(bitfold._library.library_path()))
        with tempfile.TemporaryDirectory(prefix="bitfold-") as current:
            with open(os.path.join(current, "_native.py"), "w") as f:
                f.write("print('loaded')")
            code = f"import os; os.chdir({current!r}); import bitfold; print(bitfold.sum(b'ab'))"
            found = self.run_python(code, BITFOLD_LIBRARY=name, LD_LIBRARY_PATH=folder)
        self.assertEqual((found.stdout, found.stderr), ("195\n", ""))

    def test_a_missing_library_is_an_import_error(self):
        found = self.run_python("import bitfold", BITFOLD_LIBRARY="/nonexistent.so")
        self.assertEqual(found.returncode, 1)
        self.assertRegex(found.stderr, "ImportError: .*BITFOLD_LIBRARY")


class Watches(unittest.TestCase):
    """A context's watch. Every second element is copied piece by piece, with a tick after each."""

    X = np.arange(400000, dtype=np.float64)[::2]

    def test_tells_the_bytes(self):
        context, told = bitfold.Context(threads=1), []
        context.watch(told.append, every=0)
        bitfold.sum(self.X, context=context)
        self.assertEqual(told, sorted(told))
        self.assertEqual(told[-1], self.X.nbytes)
        context.watch(None)
        bitfold.sum(self.X, context=context)
        self.assertEqual(told[-1], self.X.nbytes)

    def test_cancels(self):
        context = bitfold.Context(threads=1)
        state = bitfold.State("prod", "f64", context=context).absorb(self.X[:1000])
        before = state.save()
        context.watch(lambda count: count > 0, every=0)
        with self.assertRaises(bitfold.CancelledError):
            state.absorb(self.X)
        self.assertEqual(state.save(), before)

    def test_cancels_calls_on_tables_and_groups(self):
        context, keys = bitfold.Context(threads=1), np.arange(300000)
        table = bitfold.Table("i64", "f64", context=context)
        groups = bitfold.Groups("i64", [("sum", "f64")], context=context)
        context.watch(lambda count: count > 0, every=0)
        with self.assertRaises(bitfold.CancelledError):
            table.insert(keys, keys.astype(float))
        context.watch(lambda count: count > 0, every=0)
        with self.assertRaises(bitfold.CancelledError):
            groups.absorb(keys, keys.astype(float))
        context.watch(None)
        self.assertEqual((len(table), len(groups)), (0, 0))

    def test_what_a_tick_raises_the_call_raises(self):
        def tick(count):
            bitfold.sum(self.X, context=context)

        def interrupt(count):
            raise KeyboardInterrupt

        context = bitfold.Context(threads=1)
        context.watch(tick, every=0)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(self.X, context=context)
        context.watch(interrupt, every=0)
        with self.assertRaises(KeyboardInterrupt):
            bitfold.max(self.X, context=context)
        context.watch(None)
        self.assertEqual(bitfold.max(self.X, context=context), self.X[-1])
