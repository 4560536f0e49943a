"""Small calls: bitfold._quick gives what the general way gives, or leaves the call to that."""

import gc
import threading
import unittest
import weakref
from array import array

import numpy as np

import bitfold

VALUES = ["sum", "prod", "mean", "var", "std", "norm", "sumsq", "min", "max", "argmin", "argmax"]
CODES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()


@unittest.skipUnless(hasattr(bitfold, "_quick"), "bitfold._quick is not built")
class Quick(unittest.TestCase):
    def setUp(self):
        self.context = bitfold.Context()  # a call that is given one goes the general way

    def check(self, name, *arguments):
        function = getattr(bitfold, name)

        def call(**options):
            try:
                value = function(*arguments, **options)
                return type(value), repr(value)
            except bitfold.Error as error:
                return type(error), str(error)

        self.assertEqual(call(), call(context=self.context), (name, arguments))

    def test_every_dtype_and_layout(self):
        rng = np.random.default_rng(1)
        for code in CODES:
            base = rng.integers(0, 200, (5, 12)).astype(code)
            for x in (base, base.T, base[::2, ::-3], base[:0], base[:, :1], base.reshape(1, 5, 12)):
                for name in VALUES:
                    self.check(name, x)
                self.check("dot", x, x)

    def test_large_integers(self):
        for value in (-(2**63), 2**63 - 1):
            for n in (1, 2, 3, 1000):
                x = np.full(n, value)
                for name in ("sum", "sumsq", "dot", "min"):
                    self.check(name, *([x, x] if name == "dot" else [x]))
        self.check("sum", np.full(5, 2**64 - 1, "u8"))

    def test_objects_that_are_not_for_it(self):
        x = np.arange(4.0)
        others = [
            np.ma.array(x, mask=[0, 1, 0, 0]), x.astype(">f8"), x.astype(complex), np.array(["a"]),
            np.zeros(2, "i4,f4"), x.astype("M8[D]"), np.array([None]), [1.0], "text", None, 3.0,
            memoryview(b"abc"), b"abc", bytearray(b"ab"), array("d", [1.5]), array("b", [-1]),
            np.lib.stride_tricks.as_strided(np.zeros(9, "u1")[1:].view("u1"), (2,), (3,)),
            np.zeros((1,) * 9), np.zeros(3, "f8,u1")["f0"], np.float64(1.5),
        ]  # fmt: skip
        for each in others:
            self.check("sum", each)
            self.check("dot", each, each)
            self.check("dot", x, each)

    def test_errors(self):
        self.check("min", np.ones(0))
        self.check("dot", np.ones(3), np.ones(4))
        self.check("dot", np.ones(3), np.ones(3, int))
        self.check("prod", np.full(100, 2**62))

    def test_the_buffer_is_given_back(self):
        data = bytearray(b"abc")
        self.assertEqual(bitfold.sum(data), 294)
        data.extend(b"d")  # refused while it is read
        x = np.ones(3)
        died = weakref.ref(x)
        bitfold.sum(x)
        del x
        self.assertIsNone(died())

    def test_threads(self):
        x, found = np.arange(1000.0), []

        def work():
            found.extend(bitfold.sum(x) for _ in range(200))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [499500.0] * 800)

    def test_a_context_does_not_keep_itself(self):
        gc.disable()
        try:
            context = bitfold.Context(threads=1)
            died = weakref.ref(context)
            del context
            self.assertIsNone(died())
        finally:
            gc.enable()


if __name__ == "__main__":
    unittest.main()
