"""map: operands, orders, dtypes, pipes, policies, and what is left behind."""

import os
import resource
import signal
import subprocess
import time

import numpy as np

from command import BITFOLD, CommandTest, run


class Map(CommandTest):
    def map(self, *arguments, **more):
        """The array that `map ARGUMENTS` writes, and stays silent."""
        out = self.path("out.npy")
        self.assertEqual(self.result("map", "-o", out, *arguments, **more), "")
        return np.load(out)

    def same(self, x, expected):
        self.assertEqual(x.dtype, expected.dtype)
        self.assertEqual(x.shape, expected.shape)
        self.assertEqual(x.tobytes(), expected.tobytes())

    def test_operations(self):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(2, 30, 41)).astype(np.float32)
        a, b = self.save("a.npy", x), self.save("b.npy", y)
        for op, ufunc in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply),
                          ("div", np.divide), ("min", np.minimum), ("max", np.maximum),
                          ("lt", np.less), ("ge", np.greater_equal), ("ne", np.not_equal)):
            self.same(self.map(op, a, b), ufunc(x, y))
        self.same(self.map("neg", a), -x)
        self.same(self.map("sqrt", a), np.sqrt(np.where(x < 0, np.float32(np.nan), x)))
        self.same(self.map("cast", a, "--to", "f64"), x.astype(np.float64))
        self.same(self.map("fma", a, 2, 1), x * np.float32(2) + np.float32(1))

    def test_numbers(self):
        x = np.arange(-3, 4, dtype=np.int16)
        a = self.save("a.npy", x)
        self.same(self.map("add", a, 5), x + np.int16(5))
        self.same(self.map("add", a, "--", "-5"), x - np.int16(5))
        self.same(self.map("mul", a, "0x1p-1"), x * 0.5)
        self.same(self.map("sub", "1e1", a), 10.0 - x)
        self.same(self.map("max", a, "inf"), np.full(7, np.inf))
        self.same(self.map("add", 1, 2), np.array(3))
        self.same(self.map("div", 1, 4), np.array(0.25))
        self.refused(3, "the number 70000 does not fit i16", "map", "add", a, 70000, "-o", "x")
        self.refused(2, "beyond 64 bits", "map", "add", a, 2**64, "-o", "x")

    def test_a_number_may_be_the_name_of_a_file(self):
        self.save("7", np.array([1, 2]))
        os.rename(self.path("7.npy"), self.path("7"))
        done = run("map", "add", "./7", "7", "-o", "out.npy", cwd=self.dir)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(np.load(self.path("out.npy")).tolist(), [8, 9])

    def test_orders_and_bytes(self):
        x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
        c = self.save("c.npy", x)
        f = self.save("f.npy", np.asfortranarray(x))
        big = self.save("big.npy", np.asfortranarray(x).astype(">f8"))
        for a in (c, f, big):
            for b in (c, f, big):
                result = self.map("add", a, b)
                self.same(result, x + x)
                self.assertEqual(result.flags.f_contiguous, c not in (a, b))
        self.same(self.map("neg", f), -x)
        self.same(self.map("neg", f, "--offset", 5, "--count", 9), -x.reshape(-1)[5:14])

    def test_one_element_stands_for_all(self):
        x = np.arange(6, dtype=np.int32).reshape(2, 3)
        a = self.save("a.npy", x)
        for one in (np.array(7, np.int64), np.array([[7]], np.int64)):
            b = self.save("one.npy", one)
            self.same(self.map("add", a, b), x.astype(np.int64) + 7)
            self.same(self.map("sub", b, a), 7 - x.astype(np.int64))
        self.same(self.map("add", b, b), np.array([[14]]))

    def test_shapes_must_match(self):
        a, b = self.save("a.npy", np.zeros((2, 3))), self.save("b.npy", np.zeros((3, 2)))
        for other in (b, self.save("c.npy", np.zeros(6)), self.save("d.npy", np.zeros((2, 2)))):
            self.refused(3, "shapes do not match", "map", "add", a, other, "-o", self.path("out"))
        self.assertEqual(os.listdir(self.dir).count("out"), 0)

    def test_empty(self):
        x = np.zeros((0, 3), np.float32)
        self.same(self.map("add", self.save("a.npy", x), 1), x)

    def test_every_header_is_read_by_numpy(self):
        for dtype in ("bool i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8").split():
            for shape in ((), (1,), (5,), (2, 3), (1, 2, 3, 4, 5)):
                x = np.ones(shape, dtype)
                self.same(self.map("abs", self.save("a.npy", x)), x)

    def test_bf16(self):
        a = self.save("a.npy", np.array([1, 1.5, 257, 3.0], np.float32))
        out = self.map("cast", a, "--to", "bf16")
        self.assertEqual(out.dtype.str, "|V2")
        self.assertEqual(out.view(np.uint16).tolist(), [0x3F80, 0x3FC0, 0x4380, 0x4040])
        for more in [["map", "add", "o.npy", "o.npy"], ["sort", "o.npy"]]: # what is written is read
            more = [self.path(word) if word == "o.npy" else word for word in more]
            np.save(self.path("o.npy"), out)
            self.result(*more, "--dtype", "bf16", "-o", self.path("p.npy"))
            self.assertEqual(self.result("sum", "--dtype", "bf16", self.path("p.npy")),
                             "523" if more[0] == "map" else "261.5")
        raw = self.write("raw", out.tobytes())
        back = self.map("cast", raw, "--to", "f32", "--format", "raw", "--dtype", "bf16")
        self.assertEqual(back.tolist(), [1, 1.5, 256, 3])

    def test_pipes(self):
        x = np.arange(3_000_000, dtype=np.float32)
        a = self.save("a.npy", x)
        with open(a, "rb") as f:
            data = f.read()
        self.same(self.map("mul", "-", 2, stdin=data), x * 2)
        self.same(self.map("add", "-", a, stdin=data), x + x)
        raw = ("--format", "raw", "--dtype", "f32")
        self.same(self.map("neg", "-", *raw, stdin=x.tobytes()), -x)
        done = run("map", "neg", "-", "-o", "-", *raw, stdin=x.tobytes())
        self.assertEqual(done.stderr, b"")
        self.write("piped.npy", done.stdout)
        self.same(np.load(self.path("piped.npy")), -x)
        for n in (0, 1, 1 << 19, (1 << 19) + 1):
            self.same(self.map("neg", "-", *raw, stdin=x[:n].tobytes()), -x[:n])

    def test_pipes_of_another_length(self):
        x = np.arange(1000, dtype=np.float32)
        raw = ("--format", "raw", "--dtype", "f32", "-o", self.path("out"))
        a = self.write("a", x.tobytes())
        self.refused(3, "ends before", "map", "add", "-", a, *raw, stdin=x[1:].tobytes())
        self.refused(3, "goes on after", "map", "add", "-", a, *raw, stdin=x.tobytes() + b"1234")
        self.refused(3, "whole number", "map", "neg", "-", *raw, stdin=b"12345")
        self.assertEqual(os.listdir(self.dir), ["a"])

    def test_text(self):
        text = self.write("a.txt", b"1\n2\n3\n")
        self.same(self.map("mul", text, 2), np.array([2, 4, 6]))

    def test_in_place(self):
        x = np.arange(3_000_000, dtype=np.float64)
        a = self.save("a.npy", x)
        self.assertEqual(self.result("map", "add", a, a, "-o", a), "")
        self.same(np.load(a), x + x)
        before = os.listdir(self.dir)
        self.refused(3, "zero", "map", "div", self.save("i.npy", np.arange(9)), 0, "-o", a)
        self.same(np.load(a), x + x)
        self.assertEqual(sorted(os.listdir(self.dir)), sorted([*before, "i.npy"]))

    def test_overflow(self):
        x = np.zeros(2_000_000, np.int8)
        x[1_500_000] = 100
        a = self.save("a.npy", x)
        out = ("-o", self.path("out"))
        self.refused(3, "a.npy: the result at index 1500000 does not fit i8", "map", "add", a, 100,
                     *out)
        self.assertEqual(os.listdir(self.dir), ["a.npy"])
        with np.errstate(over="ignore"):
            self.same(self.map("add", a, 100, "--overflow", "wrap"), x + np.int8(100))
        near = np.minimum(x.astype(int) + 100, 127).astype(np.int8)
        self.same(self.map("add", a, 100, "--overflow", "saturate"), near)

    def test_refusals(self):
        a = self.save("a.npy", np.zeros(3))
        i, u = self.save("i.npy", np.zeros(3, "i8")), self.save("u.npy", np.zeros(3, "u8"))
        out = ("-o", self.path("out"))
        self.refused(2, "no operation", "map", *out)
        self.refused(2, "unknown operation: mod", "map", "mod", a, a, *out)
        self.refused(2, "add takes 2 operands, not 1", "map", "add", a, *out)
        self.refused(2, "no output", "map", "neg", a)
        self.refused(2, "cast needs --to", "map", "cast", a, *out)
        self.refused(2, "cast needs --to", "map", "neg", a, "--to", "f32", *out)
        self.refused(2, "standard input", "map", "add", "-", "-", *out)
        self.refused(2, "not for casts of floats", "map", "cast", a, "--to", "i8", "--overflow",
                     "wrap", *out)
        self.refused(3, "there is no add of i64, u64", "map", "add", i, u, *out)
        self.refused(1, "cannot open", "map", "neg", self.path("none.npy"), *out)
        self.refused(1, "cannot write", "map", "neg", a, "-o", self.path("no/such"))
        self.assertNotIn("out", os.listdir(self.dir))

    def test_a_full_disk_is_reported(self):
        a = self.save("a.npy", np.zeros(2_000_000))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        self.refused(1, "cannot write", "map", "neg", a, "-o", self.path("out"), preexec_fn=limit)
        self.assertEqual(os.listdir(self.dir), ["a.npy"])

    def test_an_interrupt_leaves_nothing(self):
        command = [BITFOLD, "map", "neg", "-", "-o", self.path("out"), "--format", "raw",
                   "--dtype", "f64"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(bytes(1 << 23))
        process.stdin.flush()
        for _ in range(100):
            if os.listdir(self.dir):
                break
            time.sleep(0.05)
        self.assertEqual(len(os.listdir(self.dir)), 1)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(os.listdir(self.dir), [])
