"""Numbers in text are the numbers that are written: sums of decimals are exact, in files and pipes,
whatever the threads and the parts. The oracle is Python's Decimal and Fraction."""
import json
import os
import random
import unittest
from decimal import Decimal
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest, root, run
from decimals import numbers_of, plain, shortest, some_column

CASES = int(os.environ.get("BITFOLD_CASES", "40"))
SIZES = [1, 2, 5, 50, 3000, 3000 if SHORT else 20000]
VALUES = ["sum", "sumsq", "min", "max", "mean", "var", "std", "norm"]


def expected(op, column):
    x, decimals = numbers_of(column)
    n, total, squares = len(x), sum(x), sum(each * each for each in x)
    variance = squares / n - (total / n) ** 2
    value = {"sum": total, "sumsq": squares, "min": min(x), "max": max(x), "mean": total / n,
             "var": variance, "std": root(variance), "norm": root(squares)}[op]
    exact = decimals and op in ("sum", "sumsq", "min", "max")
    return plain(value) if exact else shortest(value)


class Decimals(CommandTest):
    def value(self, *arguments, **more):
        done = run(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode().strip()

    def test_random_columns(self):
        for seed in range(CASES):
            rng = random.Random(seed)
            column = some_column(rng, SIZES)
            text = "\n".join(column).encode() + b"\n"
            name = self.write("x.txt", text)
            for op in rng.sample(VALUES, 2):
                want = expected(op, column)
                for threads in 1, 3:
                    for how in {}, {"stdin": text}:
                        got = self.value(op, f"-j{threads}", *([] if how else [name]), **how)
                        same = got == want or (op not in ("sum", "sumsq", "min", "max")
                                               and float(got) == float(want))
                        self.assertTrue(same or {got, want} == {"0", "-0"},
                                        (seed, op, threads, got, want, column[:5]))

    def test_cases(self):
        for text, op, want in [
            ("0.1\n0.2\n-0.3", "sum", "0"), ("1.1\n2.2", "sum", "3.3"), ("1.10\n1.1", "max", "1.1"),
            ("9007199254740993\n0.5", "sum", "9007199254740993.5"),
            ("9007199254740993\n0.5", "max", "9007199254740993"),
            ("0.5\n-9007199254740993", "min", "-9007199254740993"),
            ("0.1\n0.2", "mean", "0.15"), ("1e-18", "sum", "0.000000000000000001"),
            ("0.1\n0.3", "var", "0.01"), ("0.3\n0.4", "norm", "0.5"), ("-0.0", "sum", "0"),
            ("0.30000000000000004\n0.1", "sum", "0.4"), ("1e300\n1", "max", "1e+300"),
            ("1.5e3\n0.25", "sum", "1500.25"), ("0.5\ninf", "sum", "inf"),
            ("0.1\n0.2\nnan", "max", "nan"), ("0x1p-1\n0.1", "sum", "0.6"),
        ]:  # fmt: skip
            self.assertEqual(self.value(op, stdin=text.encode()), want, (text, op))

    def test_a_dtype_that_is_asked_for_decides(self):
        for dtype, kind in ("f64", np.float64), ("f32", np.float32):
            got = self.value("sum", "--dtype", dtype, stdin=b"0.1\n0.2\n-0.3")
            held = [Fraction(float(kind(x))) for x in ("0.1", "0.2", "-0.3")]
            self.assertEqual(float(got), float(sum(held)))

    def test_json_has_every_digit(self):
        done = json.loads(self.value("sum", "--json", stdin=b"9007199254740993\n0.25"),
                          parse_float=Decimal)
        self.assertEqual((done["dtype"], done["value"], done["text"]),
                         ("decimal", Decimal("9007199254740993.25"), "9007199254740993.25"))

    def test_columns_have_scales_of_their_own(self):
        table = b"a,b,c\n0.1,1,x\n0.25,2,y\n"
        got = self.value("sum", "--column", "a,b", stdin=table)
        self.assertEqual(got.split(), ["a", "0.35", "b", "3"])
        got = json.loads(self.value("describe", "--column", "a", "--json", stdin=table),
                         parse_float=str)
        self.assertEqual((got["dtype"], got["sum"], got["min"], got["max"]),
                         ("decimal", "0.35", "0.1", "0.25"))

    def test_states_merge_whatever_their_scales(self):
        for op in VALUES[:-1] + ["describe"]:
            pieces = [["1", "2", "-7"], ["0.5", "0.25"], ["1.001"]]
            names = []
            for i, piece in enumerate(pieces):
                self.value(op, "--save", self.path(f"{i}.bfs"), stdin="\n".join(piece).encode())
                names.append(self.path(f"{i}.bfs"))
            whole = self.value(op, stdin="\n".join(sum(pieces, [])).encode())
            for order in names, names[::-1], [names[1], names[0], names[2]]:
                merged = self.value("merge", *order) if op != "describe" else whole
                self.assertEqual(merged, whole, op)
        all_of = self.path("all.bfs")
        for i, text in enumerate([b"0.1\n0.2\n5", b"0.2"]):
            self.value("sum", "--save", self.path(f"{i}.bfs"), stdin=text)
        self.value("merge", self.path("0.bfs"), "--save", all_of)
        self.assertEqual(self.value("merge", all_of, "--minus", self.path("1.bfs")), "5.1")

    def test_states_of_floats_and_decimals_do_not_merge(self):
        self.value("sum", "--save", self.path("a.bfs"), stdin=b"0.1")
        self.value("sum", "--save", self.path("b.bfs"), "--dtype", "f64", stdin=b"0.1")
        done = run("merge", self.path("a.bfs"), self.path("b.bfs"))
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"--dtype f64", done.stderr)

    def test_totals_of_files_with_other_scales(self):
        a, b = self.write("a", b"0.1\n0.2"), self.write("b", b"3\n4")
        c = self.write("c", b"0.0625\n")
        self.assertEqual(self.value("sum", "--total", a, b, c).split()[-2:], ["7.3625", "total"])
        self.assertEqual(self.value("max", "--total", c, b, a).split()[-2:], ["4", "total"])

    def test_parts_and_selections(self):
        column = ["%d" % i for i in range(4000)] + ["0.125"] * 3
        name = self.write("x", "\n".join(column).encode())
        for first, count in (0, 10), (3990, 12), (4000, 3), (17, 3985):
            chosen = list(map(Fraction, column[first : first + count]))
            for how in [name], []:
                more = {} if how else {"stdin": "\n".join(column).encode()}
                got = self.value("sum", "--offset", first, "--count", count, *how, **more)
                self.assertEqual(Fraction(got), sum(chosen), (first, count, how))

    def test_dot(self):
        for seed in range(CASES // 4 + 1):
            rng = random.Random(seed)
            n = rng.choice([1, 10, 3000])
            a, b = (["%.*f" % (rng.randrange(k + 1), rng.uniform(-99, 99)) for _ in range(n)]
                    for k in (3, 5))
            b[-1] = "0.0000001"  # a scale that the first rows do not show
            x, y = (self.write(name, "\n".join(c).encode()) for name, c in (("a", a), ("b", b)))
            want = plain(sum(Fraction(p) * Fraction(q) for p, q in zip(a, b)))
            self.assertEqual(self.value("dot", x, y), want, seed)
            self.assertEqual(self.value("dot", y, "-", stdin="\n".join(a).encode()), want, seed)

    def test_nulls_count_nothing(self):
        table = b"a,b\n0.1,1\n,2\n0.2,3\n"
        self.assertEqual(self.value("sum", "--column", "a", "--null-policy", "skip", stdin=table),
                         "0.3")
        self.assertEqual(self.value("mean", "--column", "a", "--null-policy", "skip", stdin=table),
                         "0.15")

    def test_json_lines(self):
        lines = b'{"x":0.1}\n{"x":0.2}\n{"x":-0.3}\n'
        self.assertEqual(self.value("sum", "--format", "jsonl", "--column", "x", stdin=lines), "0")


if __name__ == "__main__":
    unittest.main()
