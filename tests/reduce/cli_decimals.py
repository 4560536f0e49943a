"""Numbers in text are the numbers that are written: sums of decimals are exact, in files and pipes,
whatever the threads and the parts. The oracle is Python's Decimal and Fraction."""
import json
import os
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest, root, run
from decimals import numbers_of, plain, scale_of, shortest, some_column

CASES = int(os.environ.get("BITFOLD_CASES", "160")) // 4
SIZES = [1, 2, 5, 50, 3000, 3000 if SHORT else 20000]
VALUES = ["sum", "sumsq", "min", "max", "mean", "var", "std", "norm"]


def expected(op, column):
    x, decimals = numbers_of(column, wide=True)
    n, total, squares = len(x), sum(x), sum(each * each for each in x)
    variance = squares / n - (total / n) ** 2
    value = {"sum": total, "sumsq": squares, "min": min(x), "max": max(x), "mean": total / n,
             "var": variance, "std": root(variance), "norm": root(squares)}[op]
    exact = decimals and op in ("sum", "sumsq", "min", "max")
    unit = Fraction(1, 10 ** scale_of(column))
    if exact and op == "sumsq" and squares / unit**2 >= 2**191:
        return None  # no integer of 192 bits
    return plain(value) if exact else shortest(value)


class Decimals(CommandTest):
    def value(self, *arguments, **more):
        done = run(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode().strip()

    def test_random_columns(self):
        for seed in range(CASES):
            rng = random.Random(seed)
            column = some_column(rng, SIZES, wide=True)
            text = "\n".join(column).encode() + b"\n"
            name = self.write("x.txt", text)
            for op in rng.sample(VALUES, 2):
                want = expected(op, column)
                for threads in 1, 3:
                    for how in {}, {"stdin": text}:
                        arguments = op, f"-j{threads}", *([] if how else [name])
                        if want is None:
                            self.assertIn(b"192 bits", run(*arguments, **how).stderr)
                            continue
                        got = self.value(*arguments, **how)
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
            ("18446744073709551615\n-1", "sum", "18446744073709551614"),
            ("18446744073709551615\n-1", "min", "-1"), ("18446744073709551615\n-1e0", "min", "-1"),
            ("18446744073709551615\n-7.", "sum", "18446744073709551608"), ("9223372036854775808\n-1", "argmin", "1"),
            ("1234567890123456789012\n1", "sum", "1234567890123456789013"),
            ("9" * 38 + "\n1", "sum", "1" + 38 * "0"), ("9" * 38 + "\n-1", "max", "9" * 38),
            ("-" + "9" * 38 + "\n" + "9" * 38, "sum", "0"), ("9" * 39 + "\n1", "sum", "1e+39"),
            ("1e22\n1e-2", "sum", "1" + 22 * "0" + ".01"), ("1e36\n0.001", "sum", "1e+36"),
            ("1e-38", "sum", "0." + 37 * "0" + "1"), ("1e-39", "sum", "1e-39"),
            ("123456789012345678901234.5\n1", "max", "1.2345678901234569e+23"),
            ("123456789012345678901234.000\n0.5", "sum", "123456789012345678901234.5"),
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

    def test_states_of_all_integers_merge(self):
        pieces = [["5", "-7"], ["18446744073709551615"], ["1" + 26 * "0", "0.5"], ["2.25"]]
        for op in VALUES[:-1] + ["argmin", "argmax"]:
            names = []
            for i, piece in enumerate(pieces):
                names.append(self.path(f"{i}.bfs"))
                self.value(op, "--save", names[-1], stdin="\n".join(piece).encode())
            want = self.value(op, stdin="\n".join(sum(pieces, [])).encode())
            for order in names, names[::-1], names[2:] + names[:2]:
                if op.startswith("arg") and order != names:
                    continue
                done = run("merge", "--save", self.path("all.bfs"), *order)
                self.assertEqual((done.returncode, done.stdout.decode().strip()), (0, want))
        self.value("sum", "--save", self.path("a.bfs"), stdin=b"18446744073709551616\n0.5")
        self.value("sum", "--save", self.path("b.bfs"), stdin=b"3")
        all_of = self.path("all.bfs")
        self.value("merge", "--save", all_of, self.path("b.bfs"), self.path("a.bfs"))
        self.assertEqual(self.value("merge", all_of, "--minus", self.path("a.bfs")), "3")
        self.assertEqual(self.value("merge", all_of, "--minus", self.path("b.bfs")),
                         "18446744073709551616.5")

    def test_scales_that_64_bits_do_not_hold_together(self):
        names = [self.write("a", b"4.378\n"), self.write("b", b"-413e-21\n")]
        states = [self.path("a.bfs"), self.path("b.bfs")]
        for op, want in ("sum", "4.377999999999999999587"), ("max", "4.378"), ("argmin", "1"):
            for name, state in zip(names, states):
                self.value(op, "--save", state, name)
            self.assertEqual(self.value(op, "--total", *names).split()[-2:], [want, "total"])
            self.assertEqual(run("merge", *states).stdout.decode().strip(), want)
            if op == "sum":
                self.assertEqual(self.value("merge", *states[::-1]), want)

    def test_deep_scales_take_128_bits(self):
        """Also where 64 hold the numbers in that unit: an i64 has a scale of 18 at most."""
        i128, numbers = 34, 48  # bitfold/state.h: the op, the dtype, the scale
        for text in b"1e-24\n3e-24", b"0.5\n" * 3000 + b"1e-19":
            self.value("sum", "--save", self.path("s.bfs"), stdin=text)
            with open(self.path("s.bfs"), "rb") as f:
                self.assertEqual(f.read(numbers + 8)[numbers + 4], i128)

    def test_rows_without_a_value_have_places_in_states(self):
        pieces = ["x,y\n,1\n7,1\n5,1\n,1\n", "x,y\n,1\n,1\n", "x,y\n,1\n8,1\n9.5,1\n", "x,y\n3,1\n"]
        files = [self.write("%d.csv" % i, piece.encode()) for i, piece in enumerate(pieces)]
        states = [self.path("%d.bfs" % i) for i in range(4)]
        skip = ["--column", "x", "--null-policy", "skip"]
        for state, file in zip(states, files):
            self.value("describe", *skip, "--save", state, file)
        run("merge", "--save", self.path("some.bfs"), *states[:3])
        for parts in states, [self.path("some.bfs"), states[3]]:
            found = dict(map(str.split, run("merge", *parts).stdout.decode().splitlines()))
            self.assertEqual((found["argmin"], found["argmax"], found["n"]), ("9", "8", "5"))
        for state, file in zip(states[::2], files[::2]):
            self.value("argmax", *skip, "--save", state, file)
        done = run("merge", states[0], states[2])
        self.assertEqual(done.stdout, b"6\n")
        self.assertIn(b"its element 2 is the maximum", done.stderr)

    def test_verify_computes_states_again(self):
        state = self.path("s.bfs")
        for column in ["0.5", "0.25", "7"], ["18446744073709551615", "-1"], ["1e25", "0.125"]:
            name = self.write("x", "\n".join(column).encode())
            other = self.write("y", "\n".join(["7.0625", *column]).encode())
            for op in "sum", "argmax", "std":
                self.value(op, "--save", state, name)
                self.assertIn("PASS", self.value("verify", "--against", state, name))
                self.assertEqual(run("verify", "--against", state, other).returncode, 3)
        self.value("sum", "--save", state, self.write("x", b"0.5"))
        done = run("verify", "--against", state, self.write("y", b"3"))
        self.assertEqual(done.returncode, 5)

    def test_states_of_floats_and_decimals_do_not_merge(self):
        self.value("sum", "--save", self.path("a.bfs"), stdin=b"0.1")
        self.value("sum", "--save", self.path("b.bfs"), "--dtype", "f64", stdin=b"0.1")
        done = run("merge", self.path("a.bfs"), self.path("b.bfs"))
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"--dtype f64", done.stderr)

    def test_groups_of_floats_and_decimals_do_not_merge(self):
        keys = self.write("k", b"1\n2\n"), self.write("l", b"1.5\n2\n")
        values = self.write("v", b"0.25\n0.5\n"), self.write("w", b"0.5\ninf\n")
        for k, (key, value) in enumerate(zip(keys, values)):
            self.value("group", key, "--sum", value, "--save", self.path(f"{k}.bfs"))
        for order in [0, 1], [1, 0]:
            done = run("merge", *[self.path(f"{k}.bfs") for k in order])
            self.assertEqual(done.returncode, 3)
            self.assertIn(b"--dtype f64", done.stderr)

    def test_totals_of_files_with_other_scales(self):
        a, b = self.write("a", b"0.1\n0.2"), self.write("b", b"3\n4")
        c = self.write("c", b"0.0625\n")
        self.assertEqual(self.value("sum", "--total", a, b, c).split()[-2:], ["7.3625", "total"])
        self.assertEqual(self.value("max", "--total", c, b, a).split()[-2:], ["4", "total"])
        d, e = self.write("d", b"18446744073709551615"), self.write("e", b"1e30\n-0.5")
        array = self.save("i32.npy", np.array([-3, 4], np.int32))
        for order in (a, d, e, array), (array, e, d, a), (d, array, a, e):
            self.assertEqual(self.value("sum", "--total", *order).split()[-2:],
                             ["1000000000018446744073709551615.8", "total"])
            self.assertEqual(self.value("min", "--total", *order).split()[-2:], ["-3", "total"])
        self.assertEqual(self.value("argmax", "--total", a, d, b, e).split()[-2:], ["5", "total"])
        done = run("sum", "--total", d, self.save("f.npy", np.ones(3)))
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"cannot make a total of different dtypes: this is f64, ", done.stderr)

    def test_many_columns_of_a_pipe(self):
        """Rows of several chunks are gathered, but not across a change of units."""
        columns, rows = 4200, 250
        rng = random.Random(4)
        table = [["%d" % rng.randrange(-9, 9) for _ in range(columns)] for _ in range(rows)]
        for row in range(rows):
            table[row][7] = "%.*f" % (row // 30, rng.uniform(-9, 9))
            table[row][8] = str(rng.randrange(10 ** (1 + row // 9)))
            table[row][9] = str(2**62 + row) if row < 200 else "0.25"
        text = "\n".join(map(",".join, table)).encode()
        every = ",".join(map(str, range(1, columns + 1)))
        ways = [[self.write("x.csv", text)], []]
        for i, (op, exact) in enumerate([("sum", sum), ("max", max)]):
            want = [exact(Fraction(row[k]) for row in table) for k in range(6, 11)]
            for how in ways[i:i + 1] if SHORT else ways:
                got = self.value(op, "--column", every, *how,
                                 **({} if how else {"stdin": text})).split("\n")
                got = [Fraction(line.split("\t")[1]) for line in got[6:11]]
                self.assertEqual(got, want, (op, how))

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
