"""cumsum, cumprod, cummin and cummax: files, columns and pipes, as lines and as arrays; what is refused."""

import json
import os
import subprocess
from fractions import Fraction
from itertools import accumulate

import numpy as np

from command import BITFOLD, SHORT, CommandTest, run
from rounding import round_to


class Scan(CommandTest):
    def array(self, *arguments, **more):
        """The array that a command writes, and stays silent."""
        out = self.path("out.npy")
        self.assertEqual(self.result(*arguments, "-o", out, **more), "")
        return np.load(out)

    def test_sums_are_exact(self):
        rng = np.random.default_rng(3)
        for dtype, form in (("f8", "f64"), ("f4", "f32"), ("f2", "f16")):
            x = (rng.normal(size=(50, 60)) * 10.0 ** rng.integers(-3, 3, (50, 60))).astype(dtype)
            exact = accumulate(map(Fraction, x.ravel().tolist()))
            wanted = np.array([round_to(each, form) for each in exact], dtype)
            for name, each in (("c.npy", x), ("fortran.npy", np.asfortranarray(x))):
                found = self.array("cumsum", self.save(name, each))
                self.assertEqual(found.dtype, x.dtype)
                np.testing.assert_array_equal(found, wanted)
            lines = self.result("cumsum", self.path("c.npy")).split()
            np.testing.assert_array_equal(np.array(lines, dtype), wanted)
            piped = self.array("cumsum", stdin=open(self.path("c.npy"), "rb").read())
            np.testing.assert_array_equal(piped, wanted)

    def test_integers_and_extremes(self):
        x = np.random.default_rng(4).integers(-100, 100, 5000).astype("i2")
        path = self.save("x.npy", x)
        np.testing.assert_array_equal(self.array("cumsum", path), np.cumsum(x, dtype="i8"))
        np.testing.assert_array_equal(self.array("cummin", path), np.minimum.accumulate(x))
        np.testing.assert_array_equal(self.array("cummax", path), np.maximum.accumulate(x))
        wrapped = np.cumprod(x[x != 0], dtype="i8")
        path = self.save("y.npy", x[x != 0])
        np.testing.assert_array_equal(self.array("cumprod", path, "--overflow", "wrap"), wrapped)

    def test_text_is_the_numbers_that_are_written(self):
        self.assertEqual(self.result("cumsum", stdin=b"0.1\n0.2\n-0.3\n"), "0.1\n0.3\n0")
        self.assertEqual(self.result("cumsum", stdin=b"1\n2\n0.5\n"), "1\n3\n3.5")
        self.assertEqual(self.result("cumsum", stdin=b"1\n2\ninf\n"), "1\n3\ninf")
        wide = b"99999999999999999999\n1\n"
        self.assertEqual(self.result("cumsum", stdin=wide), "99999999999999999999\n100000000000000000000")
        self.assertEqual(self.result("cumsum", "--dtype", "f64", "--hex", stdin=b"0.5\n1\n"), "0x1p-1\n0x1.8p+0")
        np.testing.assert_array_equal(self.array("cumsum", stdin=b"0.1\n0.2\n"), [0.1, 0.3])
        self.assertEqual(self.result("cumprod", stdin=b"2\n3\n"), "2\n6")
        done = run("cumsum")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        with open(self.path("t.csv"), "w") as f:
            f.write("name,height\na,1.5\nb,\nc,2\n")
        self.assertEqual(self.result("cumsum", "--column", "height", "--null-policy", "skip", self.path("t.csv")), "1.5\n3.5")

    def test_nans(self):
        self.assertEqual(self.result("cumsum", stdin=b"1\nnan\n2\n"), "1\nnan\nnan")
        self.assertEqual(self.result("cumsum", "--nan", "skip", stdin=b"1\nnan\n2\n"), "1\n1\n3")
        self.refused(3, "NaN", "cumsum", "--nan", "error", stdin=b"1\nnan\n2\n")
        self.refused(3, "no value", "cummin", "--nan", "skip", stdin=b"nan\n2\n")

    def test_axes_of_arrays(self):
        x = np.random.default_rng(8).integers(-99, 99, (5, 7, 4))
        for each in (x, np.asfortranarray(x)):
            path = self.save("x.npy", each)
            for axis in range(-3, 3):
                np.testing.assert_array_equal(self.array("cumsum", "--axis", axis, path), np.cumsum(x, axis))
                np.testing.assert_array_equal(self.array("cummax", "--axis", axis, path), np.maximum.accumulate(x, axis))
                back = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
                np.testing.assert_array_equal(self.array("cumsum", "--axis", axis, "--reverse", path), back)
                np.testing.assert_array_equal(self.array("cumsum", "--axis", axis, "--reverse", "--exclusive", path), back - x)
            np.testing.assert_array_equal(self.array("cumsum", "--reverse", path), np.cumsum(x.ravel()[::-1])[::-1])
        self.assertEqual(self.array("cumsum", "--axis", 1, self.save("x.npy", np.ones((3, 0, 2)))).shape, (3, 0, 2))
        self.assertEqual(self.result("cumsum", "--axis", 1, stdin=b"0.1,0.2\n1,2\n"), "0.1\n0.3\n1\n3")
        self.assertEqual(self.array("cumsum", "--axis", 0, stdin=b"0.1,0.2\n0.2,2\n").tolist(), [[0.1, 0.2], [0.3, 2.2]])
        piped = open(self.save("x.npy", x), "rb").read()
        np.testing.assert_array_equal(self.array("cumsum", "--axis", 2, stdin=piped), np.cumsum(x, 2))

    def test_json_tells_of_an_array(self):
        x, out = self.save("x.npy", np.ones((2, 3), "i4")), self.path("out.npy")
        wanted = {"schema": 1, "command": "cumsum", "file": x, "dtype": "i32", "n": 6, "shape": [6], "device": "cpu"}
        for options, shape in (([], [6]), (["--axis", 1], [2, 3])):
            found = json.loads(self.result("cumsum", *options, x, "-o", out, "--json"))
            self.assertLess(found.pop("seconds"), 60)
            self.assertEqual(found, {**wanted, "shape": shape})
        found = json.loads(self.result("cumsum", "--json", "-o", out, stdin=b"0.1\n0.2\n"))
        self.assertEqual((found["dtype"], found["shape"]), ("decimal", [2]))
        self.refused(2, "--json needs --append", "cumsum", "--json", x)
        self.refused(2, "--json needs --append", "cumsum", "--json", x, "-o", "-")

    def test_exclusive_and_reverse(self):
        lines = b"1\n2\n4\n"
        self.assertEqual(self.result("cumsum", "--exclusive", stdin=lines), "0\n1\n3")
        self.assertEqual(self.result("cumprod", "--exclusive", stdin=lines), "1\n1\n2")
        self.assertEqual(self.result("cumsum", "--reverse", stdin=lines), "7\n6\n4")
        self.assertEqual(self.result("cumsum", "--reverse", "--exclusive", stdin=lines), "6\n4\n0")
        self.assertEqual(self.result("cummin", "--exclusive", "--empty", 9, stdin=lines), "9\n1\n1")
        self.assertEqual(self.result("cummax", "--reverse", "--exclusive", "--empty", "0.5", stdin=b"0.1\n1.25\n"), "1.25\n0.5")
        wide = b"99999999999999999999\n1\n"
        self.assertEqual(self.result("cummin", "--exclusive", "--empty", "-7", stdin=wide), "-7\n99999999999999999999")
        self.assertEqual(self.result("cumsum", "--reverse", stdin=wide), "100000000000000000000\n1")
        x = np.arange(600_000)
        np.testing.assert_array_equal(self.array("cumsum", "--exclusive", self.save("x.npy", x)), np.cumsum(x) - x)
        done = run("cumsum", "--reverse")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.refused(3, "no value", "cummax", "--exclusive", stdin=lines)
        self.refused(2, "--empty", "cummin", "--exclusive", "--empty", "x", stdin=lines)
        self.refused(2, "no axis 3", "cumsum", "--axis", 3, self.save("y.npy", np.ones((2, 2))))
        self.refused(2, "one axis", "cumsum", "--axis", "0,1", self.path("y.npy"))
        self.refused(2, "--where does not go with --axis", "cumsum", "--axis", 0, "--where", "a > 1", stdin=lines)
        self.refused(2, "--append does not go with --reverse", "cumsum", "--reverse", "--append", "x", "--column", 1, stdin=lines)
        self.refused(2, "--offset does not go with --axis", "cumsum", "--axis", 0, "--offset", 1, self.path("y.npy"))
        self.refused(2, "--count does not go with --reverse", "cumsum", "--reverse", "--count", 1, self.path("y.npy"))
        self.refused(2, "skip does not go with --reverse", "cumsum", "--reverse", "--null-policy", "skip", stdin=lines)

    def test_every_instruction_set_and_thread_count_gives_the_same(self):
        x = np.random.default_rng(5).normal(size=100_000 if SHORT else 700_000)
        path, first = self.save("x.npy", x), None
        for isa in ("generic", "vector", "auto"):
            for threads in (1, 3):
                found = self.array("cumsum", "--isa", isa, "-j", threads, path).tobytes()
                first = first or found
                self.assertEqual(found, first)

    def test_a_pipe_shows_its_sums_as_it_grows(self):
        command = [BITFOLD, "cumsum", "--dtype", "i64"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdin.write("1\n2\n")
            process.stdin.close()
            self.assertEqual(process.stdout.read(), "1\n3\n")
        self.assertEqual(process.returncode, 0)

    def test_what_is_refused(self):
        x = self.save("x.npy", np.array([2**63 - 1, 1]))
        self.refused(3, "does not fit i64", "cumsum", x)
        self.refused(3, "does not fit i64", "cumsum", x, "-o", self.path("none.npy"))
        self.assertFalse(os.path.exists(self.path("none.npy")))
        self.refused(3, "these are f64", "cumprod", self.save("f.npy", np.ones(2)))
        self.refused(3, "these are decimal", "cumprod", stdin=b"1.5\n")
        self.refused(3, "128 bits", "cumsum", "-o", self.path("none.npy"), stdin=b"99999999999999999999\n")
        with open(x, "ab") as f:
            self.refused(2, "standard output would write to this input", "cumsum", x, stdout=f)
        self.refused(2, "one FILE", "cumsum", x, self.save("f.npy", np.ones(2)))
        self.refused(2, "saturate", "cumsum", "--overflow", "saturate", x)
        self.refused(3, "no --column", "cumsum", stdin=b"1,2\n3,4\n")
        self.assertNotEqual(run("cummin", "--overflow", "wrap", x).returncode, 0)
