"""Reductions along axes, by segments and by index of text: numbers are what is written, decimals and
integers of up to 38 digits, of all columns with one scale. The oracle is Python's Fraction."""
import json
import os
import random
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest, exact, least_memory, run
from decimals import numbers_of, plain, scale_of, shortest, some_column

CASES = int(os.environ.get("BITFOLD_CASES", "100")) // 4
SIZES = [1, 2, 50, 700 if SHORT else 3000]
OPS = ["sum", "mean", "var", "std", "norm", "min", "max", "argmin", "argmax"]
ELEMENTS = ["sum", "min", "max"]  # are decimals, with every digit


def shown(op, values, decimals):
    found = exact(op, values)
    return plain(Fraction(found)) if op.startswith("arg") or (decimals and op in ELEMENTS) else shortest(found)


def some_matrix(rng):
    """Columns of one length, as texts; their numbers; and whether these are decimals."""
    columns = [some_column(rng, [rng.choice(SIZES)], rng.random() < 0.6) for _ in range(rng.choice([1, 2, 3, 5]))]
    n = min(map(len, columns))
    columns = [column[:n] for column in columns]
    numbers, decimals = numbers_of([text for column in columns for text in column], wide=True)
    return columns, [numbers[k * n:(k + 1) * n] for k in range(len(columns))], decimals


def text_of(columns):
    return "".join(",".join(row) + "\n" for row in zip(*columns)).encode()


class Matrices(CommandTest):
    def same(self, wanted, decimals, *arguments, **more):
        """Decimals are compared as text, and doubles by their values: -0 is 0."""
        got = self.result(*arguments, **more).split("\n")
        as_shown = str if decimals else float
        np.testing.assert_array_equal(list(map(as_shown, got)), list(map(as_shown, wanted)), str(arguments))

    def matrices(self):
        for seed in range(CASES):
            rng = random.Random(seed)
            yield (rng, *some_matrix(rng))

    def test_axes(self):
        for rng, columns, x, decimals in self.matrices():
            name = self.write("x.csv", text_of(columns))
            rows = [list(row) for row in zip(*x)]
            for op in rng.sample(OPS, 4):
                ways = {"0": x}
                if len(x) > 1:
                    ways.update({"1": rows, "0,1": [sum(rows, [])]})
                for axis, fibres in ways.items():
                    wanted = [shown(op, fibre, decimals) for fibre in fibres]
                    how = rng.choice([["-j1"], ["-j4"], ["--memory", "%dM" % least_memory()]])
                    self.same(wanted, decimals, op, "--axis", axis, *how, name)
                    self.same(wanted, decimals, op, "--axis", axis, stdin=text_of(columns))

    def test_segments_and_slots(self):
        for rng, columns, x, decimals in self.matrices():
            name, n, m = self.write("x.csv", text_of(columns)), len(x[0]), rng.choice([1, 3, 7])
            offsets = sorted(rng.randrange(n + 1) for _ in range(m + 1))
            index = [rng.randrange(m) for _ in range(n)]
            parts = self.write("offsets", "\n".join(map(str, offsets)).encode())
            slots = self.write("index", "\n".join(map(str, index)).encode())
            for op in rng.sample(OPS, 3):
                empty = ["--empty", "0"] if op in ("min", "max", "argmin", "argmax") else []
                none = {"mean": "nan", "var": "nan", "std": "nan"}.get(op, "0")
                of_segments, of_slots = [], []
                for begin, end in zip(offsets, offsets[1:]):
                    for column in x:
                        part = column[begin:end]
                        of_segments.append(shown(op, part, decimals) if part else none)
                for slot in range(m):
                    at = [i for i in range(n) if index[i] == slot]
                    for column in x:
                        value = shown(op, [column[i] for i in at], decimals) if at else none
                        of_slots.append(str(at[int(value)]) if op.startswith("arg") and at else value)
                self.same(of_segments, decimals, op, "--offsets", parts, *empty, name)
                self.same(of_slots, decimals, op, "--index", slots, "--slots", m, *empty, name)

    def test_dot(self):
        for rng, columns, x, decimals in self.matrices():
            y = [column[::-1] for column in columns]
            unit = Fraction(1, 10**scale_of(sum(columns, [])))
            products = [sum(a * b for a, b in zip(column, column[::-1])) for column in x]
            if decimals and max(map(abs, products)) >= 2**191 * unit**2:  # refused
                continue
            names = self.write("x.csv", text_of(columns)), self.write("y.csv", text_of(y))
            wanted = [plain(each) if decimals else shortest(each) for each in products]
            self.same(wanted, decimals, "dot", "--axis", "0", *names)

    def test_describe(self):
        for rng, columns, x, decimals in self.matrices():
            if not decimals:
                continue
            lines = self.result("describe", "--axis", "0", stdin=text_of(columns)).split("\n")[1:]
            for k, line in enumerate(lines):
                got = line.split("\t")
                ops = ["min", "argmin", "max", "argmax", "sum", "mean", "std"]
                wanted = [str(k) if len(x) > 1 else "-", str(len(x[k])), "0", "0"]
                self.assertEqual(got, wanted + [shown(op, x[k], True) for op in ops])


class Forms(CommandTest):
    MONEY = b"0.1,1\n0.2,2\n-0.3,3.25\n"

    def test_money(self):
        self.assertEqual(self.result("sum", "--axis", "0", stdin=b"0.1,1\n0.2,2\n-0.3,3\n"), "0\n6")

    def test_integers_beyond_64_bits(self):
        x = b"18446744073709551615,-1\n18446744073709551615,-7\n"
        self.assertEqual(self.result("sum", "--axis", "0", stdin=x), "36893488147419103230\n-8")
        self.assertEqual(self.result("max", "--axis", "1", stdin=x), "18446744073709551615\n18446744073709551615")

    def test_integers_whose_sums_are_beyond_64_bits(self):
        x = b"9223372036854775807,1\n1,2\n"
        self.assertEqual(self.result("sum", "--axis", "0", stdin=x), "9223372036854775808\n3")
        self.assertEqual(self.result("sumsq", "--axis", "1", self.write("x.csv", x)), "%d\n5" % ((2**63 - 1) ** 2 + 1))

    def test_a_scale_that_shows_late(self):
        rows = b"".join(b"%d,%d\n" % (i, 2**62 + i) for i in range(20000))
        wanted = [sum(range(20000)) + Fraction(1, 8), sum(2**62 + i for i in range(20000)) + 1]
        for arguments, stdin in ((["-"], {"stdin": rows + b"0.125,1\n"}), ([self.write("x.csv", rows + b"0.125,1\n")], {})):
            self.assertEqual(self.result("sum", "--axis", "0", *arguments, **stdin), "\n".join(map(plain, wanted)))

    def test_dtype_decides(self):
        self.assertEqual(self.result("sum", "--axis", "0", "--dtype", "f64", stdin=self.MONEY), "2.7755575615628914e-17\n6.25")

    def test_arrays(self):
        for op, dtype, wanted in (
            ("sum", "f8", [0, 6.25]), ("min", "f8", [-0.3, 1]), ("argmin", "i8", [2, 0]), ("mean", "f8", [0, 6.25 / 3]),
        ):  # fmt: skip
            self.result(op, "--axis", "0", "-o", self.path("y.npy"), stdin=self.MONEY)
            found = np.load(self.path("y.npy"))
            self.assertEqual((found.dtype, found.tolist()), (np.dtype(dtype), wanted))
        wide = b"18446744073709551615,-1\n-18446744073709551615,-7\n"
        self.result("sum", "--axis", "0", "-o", self.path("y.npy"), stdin=wide)
        self.assertEqual(np.load(self.path("y.npy")).tolist(), [0, -8])
        self.refused(3, "64 bits", "max", "--axis", "0", "-o", self.path("z.npy"), stdin=wide)
        self.assertFalse(os.path.exists(self.path("z.npy")))

    def test_empty_is_a_decimal(self):
        offsets = self.write("offsets", b"0\n1\n1\n3\n")
        found = self.result("max", "--offsets", offsets, "--empty", "0.5", stdin=self.MONEY)
        self.assertEqual(found, "0.1\n1\n0.5\n0.5\n0.2\n3.25")
        self.refused(3, "result 2", "max", "--offsets", offsets, stdin=self.MONEY)

    def test_json_and_sheets(self):
        told = json.loads(self.result("sum", "--axis", "0", "--json", stdin=self.MONEY))
        self.assertEqual((told["dtype"], told["values"]), ("decimal", [0, 6.25]))
        self.assertEqual(self.result("max", "--axis", "0", "--csv", stdin=self.MONEY), "value,file\n0.2,-\n3.25,-")

    def test_saved_states_are_of_f64_and_say_so(self):
        saved = run("sum", "--axis", "0", "--save", self.path("x.bfs"), stdin=self.MONEY)
        self.assertEqual(saved.returncode, 0)
        self.assertIn(b"taken as f64", saved.stderr)
        self.assertEqual(saved.stdout, b"2.7755575615628914e-17\n6.25\n")
        integers = run("sum", "--axis", "0", "--save", self.path("x.bfs"), stdin=b"1,2\n3,4\n")
        self.assertEqual((integers.stdout, integers.stderr), (b"4\n6\n", b""))

    def test_lengths_and_places_that_do_not_fit(self):
        x, y = self.write("x.csv", self.MONEY), self.write("y.csv", self.MONEY[:12])
        self.refused(3, "shape", "dot", "--axis", "0", x, y)
        self.refused(3, "shape", "dot", "--axis", "0", y, x)
        for index, slots in ((b"0\n1\n", 2), (b"0\n1\n2\n", 2), (b"0\n1\n1\n0\n", 2)):
            self.refused(3, "ind", "sum", "--index", self.write("index", index), "--slots", slots, x)
        self.refused(3, "offset 1 is 4", "sum", "--offsets", self.write("offsets", b"0\n4\n"), x)
