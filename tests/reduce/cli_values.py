"""Values against rational arithmetic; states saved and merged; verify."""
import collections
import json
import math
import os
import re
import signal
import subprocess
import time
import unittest
from fractions import Fraction

import numpy as np

from command import BITFOLD, DTYPES, OPERATIONS, SANITIZED, SHORT, CommandTest, exact, run



def samples(dtype, n, seed):
    """Numbers that are hard to add: any bits for integers, wide exponents for floats."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind != "f":
        bits = rng.integers(0, 256, n * kind.itemsize, dtype="u1")
        return (bits.view(kind) if dtype != "bool" else bits % 2 == 1)
    spread = {"f2": 10, "f4": 60, "f8": 400}[dtype]
    x = (rng.standard_normal(n) * np.exp2(rng.uniform(-spread, spread, n))).astype(kind)
    x[~np.isfinite(x)] = 1
    x[1::7] = -x[0:len(x[1::7])]
    return x


class Values(CommandTest):
    def check(self, op, x, text):
        want = exact(op, x.tolist())
        if isinstance(want, Fraction) and (x.dtype.kind == "f" or op in ["mean", "var"]):
            if op not in ["min", "max"]:
                want = float(want)
        if isinstance(want, float):
            self.assertEqual(float(text).hex(), want.hex(), (op, x.dtype))
        elif x.dtype.kind == "f" and op in ["min", "max"]:
            self.assertEqual(x.dtype.type(text), x.dtype.type(float(want)), (op, x.dtype))
        else:
            self.assertEqual(int(text), int(want), (op, x.dtype))

    def test_every_operation_of_every_dtype_is_exact(self):
        for turn, dtype in enumerate(DTYPES):
            x = samples(dtype, 1000, 5)
            name = self.save("x.npy", x)
            for op in OPERATIONS[turn % 2 :: 2] if SANITIZED else OPERATIONS:
                self.check(op, x, self.result(op, name))

    def test_dot_of_every_dtype_is_exact(self):
        for dtype in DTYPES:
            x, y = samples(dtype, 500, 6), samples(dtype, 500, 7)
            want = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist()))
            got = self.result("dot", self.save("x.npy", x), self.save("y.npy", y))
            if x.dtype.kind == "f":
                self.assertEqual(float(got).hex(), float(want).hex(), dtype)
            else:
                self.assertEqual(int(got), want, dtype)

    def test_cancellation_loses_nothing(self):
        self.assertEqual(self.result("sum", self.save("x.npy", np.array([1e20, 1, -1e20]))), "1")
        tenths = np.full(1_000_000, 0.1, "f4")
        self.assertEqual(float(self.result("sum", self.save("t.npy", tenths))),
                         math.fsum(tenths.tolist()))

    def test_text_is_the_shortest_and_hex_is_exact(self):
        for value in [0.1, 1e22, 1e-7, -0.0, 5e-324, 1.7976931348623157e308, 123456789.125]:
            name = self.save("x.npy", np.array([value]))
            text = self.result("sum", name)
            self.assertEqual(text, repr(value).removesuffix(".0"))
            self.assertEqual(float.fromhex(self.result("sum", "--hex", name)).hex(), value.hex())
        self.assertEqual(self.result("sum", "--out-dtype", "f32", self.save("y.npy", [0.1])), "0.1")

    def test_hex_leaves_integers_every_digit(self):
        big, name = 2**63 - 1, self.save("x.npy", np.array([2**63 - 1, 2**63 - 1, -3]))
        state = self.path("s")
        self.assertEqual(self.result("sum", "--hex", "--save", state, name), str(2 * big - 3))
        self.assertEqual(self.result("merge", "--hex", state), str(2 * big - 3))
        self.assertEqual(self.result("min", "--hex", name), "-3")
        self.assertEqual(self.result("argmin", "--hex", name), "2")
        self.assertEqual(self.result("dot", "--hex", name, name), str(2 * big**2 + 9))
        self.assertEqual(json.loads(self.result("sum", "--json", name))["hex"], str(2 * big - 3))
        self.assertEqual(self.result("count", "--hex", name), "%d\t2\n-3\t1" % big)
        self.assertEqual(self.result("group", "--hex", name, "--count", "--sum", name),
                         "-3\t1\t-3\n%d\t2\t%d" % (big, 2 * big))
        shown = self.result("describe", "--hex", name).splitlines()
        self.assertEqual([shown[i] for i in (0, 3, 4, 7)],
                         ["n\t3", "min\t-3", "argmin\t2", "sum\t%d" % (2 * big - 3)])
        self.assertTrue(shown[8].startswith("mean\t0x1."))
        rows = self.result("verify", "--json", "--against", state, name).splitlines()
        self.assertEqual({json.loads(row)["hex"] for row in rows[:-1]}, {str(2 * big - 3)})

    def test_rules_are_obeyed(self):
        name = self.save("x.npy", np.array([1, np.nan, 3, np.inf]))
        self.assertEqual(self.result("sum", name), "nan")
        self.assertEqual(self.result("sum", "--nan", "skip", name), "inf")
        self.assertEqual(self.result("argmax", name), "1")
        self.assertEqual(self.result("argmax", "--nan=skip", name), "3")
        self.refused(3, "NaN", "sum", "--nan", "error", name)
        self.assertEqual(self.result("var", "--ddof", 1, self.save("y.npy", [1.0, 2.0])), "0.5")

    def test_the_split_changes_nothing(self):
        x = samples("f8", 1_000_003, 8)
        name = self.save("x.npy", x)
        with open(name, "rb") as f:
            data = f.read()
        ways = collections.deque([["-j", 1], ["-j", 3], ["-j", 8], ["--isa", "generic"]])
        for op in OPERATIONS:
            first = self.result(op, name)
            ways.rotate()
            for more in list(ways)[:2] if SHORT else ways:
                self.assertEqual(self.result(op, *more, name), first, (op, more))
            self.assertEqual(self.result(op, stdin=data), first)


class States(CommandTest):
    def test_parts_merge_to_the_value_of_the_whole(self):
        x = samples("f8", 10_000, 9)
        name, cuts = self.save("x.npy", x), [0, 1, 4000, 4000, 10_000]
        parts = [self.path("part%d.bfs" % i) for i in range(4)]
        for op in OPERATIONS:
            for part, first, last in zip(parts, cuts, cuts[1:]):
                done = run(op, "--offset", first, "--count", last - first, "--save", part, name)
                if first < last:
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
            present = [part for part in parts if os.path.exists(part)]
            want = self.result(op, name)
            self.assertEqual(self.result("merge", *present), want, op)
            self.assertEqual(self.result("merge", *reversed(present)), want, op)
            both = self.path("both.bfs")
            self.result("merge", "--save", both, *present[1:])
            self.assertEqual(self.result("merge", present[0], both), want, op)
            for part in [*present, both]:
                os.unlink(part)

    def test_states_keep_the_options_of_their_result(self):
        """The squares of 2, 6 and 8 from their mean add up to 56 / 3."""
        x, y = self.write("x", b"2\n6\n8\n"), self.write("y", b"nan\n1\n2\n5\n")
        s, t, all = self.path("s"), self.path("t"), self.path("all")
        for options, values, override, other in [
            (["var", "--ddof", 1], "9.333333333333334", ["--ddof", 0], "6.222222222222222"),
            (["argmax", "--nan", "skip"], "2", [], "2"), (["mean", "--out-dtype", "f32"], "5.3333335", [], "5.3333335"),
            (["prod", "--overflow", "wrap"], "96", ["--overflow", "error"], "96")]:
            self.assertEqual(self.result(*options, "--save", s, x), values)
            self.assertEqual(self.result("merge", s, "--save", all), values)
            self.assertEqual(self.result("merge", all), values)
            self.assertEqual(self.result("merge", s, *override), other)
        self.assertEqual(self.result("argmax", "--nan", "skip", "--save", s, y), "3")
        self.assertEqual(self.result("merge", s), "3")
        self.assertEqual(self.result("merge", s, "--nan", "propagate"), "0")
        self.refused(3, "NaN", "merge", s, "--nan", "error")
        large = self.write("z", b"9223372036854775807\n" * 4)
        self.assertEqual(self.result("prod", "--overflow", "wrap", "--save", s, large), "1")
        self.assertEqual(self.result("merge", s), "1")
        self.refused(3, "does not fit its type", "merge", s, "--overflow", "error")
        for save, more in ((s, ["--ddof", 1]), (t, [])):
            self.result("std", *more, "--save", save, x)
        error = self.refused(3, "t: it was saved with another --ddof than", "merge", s, t)
        self.assertIn("hint: merge --ddof says which one holds\n", error)
        self.assertEqual(self.result("merge", s, t, "--ddof", 1), "2.7325202042558927")

    def test_states_of_before_load_with_the_defaults(self):
        """What has no other options is saved to the bytes that the library gives, without a trailer."""
        s = self.path("s")
        self.result("var", "--save", s, self.write("x", b"1\n"))
        with open(s, "rb") as f:
            data = f.read()
        self.assertNotIn(b"trailer", data)
        self.result("var", "--ddof", 1, "--save", s, self.write("x", b"1\n2\n"))
        with open(s, "rb") as f:
            data = f.read()
        end = data.index(b"trailer\0") - 24
        self.assertEqual(self.result("merge", "-", stdin=data), "0.5")
        self.assertEqual(self.result("merge", "-", stdin=data[:end]), "0.25")
        for i in range(end, len(data), 4 if SHORT else 1):
            self.refused(3, "", "merge", self.write("bad", data[:i] + bytes([data[i] ^ 1]) + data[i + 1:]))

    def test_states_of_every_dtype_and_of_dot(self):
        for dtype in DTYPES:
            x = samples(dtype, 100, 10)
            name, state = self.save("x.npy", x), self.path("s.bfs")
            want = self.result("dot", "--save", state, name, name)
            self.assertEqual(self.result("merge", state), want)
            want = self.result("var", "--ddof=1", "--save", state, name)
            self.assertEqual(self.result("merge", state), want)
            self.assertEqual(self.result("merge", "--ddof=0", state), self.result("var", name))

    def test_saved_states_are_the_same_bytes_whatever_the_split(self):
        name = self.save("x.npy", samples("f8", 500_000, 11))
        saved = set()
        for more in [["-j1"], ["-j4"], ["--isa=generic"]]:
            self.result("sum", "--save", self.path("s.bfs"), *more, name)
            with open(self.path("s.bfs"), "rb") as f:
                saved.add(f.read())
        self.assertEqual(len(saved), 1)

    def test_a_state_of_several_files_is_that_of_their_total(self):
        x = samples("i4", 1000, 12)
        names = [self.save("a.npy", x[:300]), self.save("b.npy", x[300:])]
        for op in ["sum", "argmin", "argmax"]:
            lines = self.result(op, "--total", "--save", self.path("s"), *names).splitlines()
            whole = self.result(op, self.save("x.npy", x))
            self.assertEqual(lines[2], whole + "\ttotal")
            self.assertEqual(lines[1], self.result(op, names[1]) + "\t" + names[1])
            self.assertEqual(self.result("merge", self.path("s")), whole)

    def saved(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_a_part_is_taken_out_again(self):
        x = samples("f8", 3000, 13)
        x[::5] = -0.0
        days = [self.save("%d.npy" % i, x[i * 1000:i * 1000 + 1000]) for i in range(3)]
        for op in ["sum", "mean", "var", "std", "norm", "sumsq", "dot"]:
            for i, day in enumerate(days):
                self.result(op, "--save", self.path("%d" % i), *[day] * (2 if op == "dot" else 1))
            self.result("merge", "--save", self.path("all"), *map(self.path, "012"))
            rest = self.result("merge", "--save", self.path("12"), self.path("1"), self.path("2"))
            found = self.result("merge", self.path("all"), "--minus", self.path("0"), "--save",
                                self.path("left"))
            self.assertEqual(found, rest, op)
            self.assertEqual(self.saved("left"), self.saved("12"), op)
            self.result("merge", "--minus", self.path("0"), self.path("all"), "--minus",
                        self.path("2"), "--save", self.path("left"))
            self.assertEqual(self.saved("left"), self.saved("1"), op)
            with open(self.path("0"), "rb") as f:
                found = self.result("merge", self.path("all"), "--minus", "-", stdin=f.read())
            self.assertEqual(found, rest, op)
        line = json.loads(self.result("merge", "--json", self.path("all"), "--minus",
                                      self.path("1")))
        self.assertEqual((line["n"], line["file"]), (2000, "total"))

    def test_what_cannot_be_taken_out_is_refused(self):
        x = np.arange(10.0)
        few, all = self.save("few.npy", x[:3]), self.save("all.npy", x)
        for op, name in [("sum", "few"), ("sum", "all"), ("max", "max"), ("mean", "mean")]:
            self.result(op, "--save", self.path(name), all if name != "few" else few)
        for minus, why in [("all", "more than"), ("mean", "states do not match"),
                           ("max", "states do not match"), ("none", "cannot open")]:
            self.refused(1 if minus == "none" else 3, why, "merge", self.path("few"), "--minus",
                         self.path(minus), "--save", self.path("left"))
            self.assertFalse(os.path.exists(self.path("left")))
        error = self.refused(3, "of max", "merge", self.path("max"), "--minus", self.path("max"))
        self.assertIn("hint: merge the states of the other parts", error)
        self.refused(2, "would write to this input", "merge", self.path("all"), "--minus",
                     self.path("few"), "--save", self.path("few"))
        self.refused(2, "--minus", "sum", "--minus", self.path("few"), few)

    def test_states_that_do_not_match_are_refused(self):
        x = np.arange(10)
        f8, i4 = self.save("f8.npy", x * 1.0), self.save("i4.npy", x.astype("i4"))
        states = {}
        for op, name in [("sum", f8), ("sum", i4), ("mean", f8), ("argmin", f8)]:
            states[op, name] = self.path("%s-%s.bfs" % (op, name[-6:-4]))
            self.result(op, "--save", states[op, name], name)
        first = states["sum", f8]
        self.refused(3, "of sum i32", "merge", first, states["sum", i4])
        self.refused(3, "of mean f64", "merge", first, states["mean", f8])
        self.result("argmin", "--offset", 5, "--save", self.path("late.bfs"), f8)
        error = self.refused(3, "the ranges of indices overlap", "merge", states["argmin", f8],
                             self.path("late.bfs"))
        self.assertNotIn("damaged", error)
        self.assertIn("hint: --offset and --count", error)

    def test_states_of_whole_files_follow_each_other(self):
        x = [samples("f8", n, n) for n in (300, 1, 200)]
        x[2][100] = 1e308
        names = [self.save("%d.npy" % i, part) for i, part in enumerate(x)]
        whole, states = self.save("x.npy", np.concatenate(x)), []
        for op in ["argmin", "argmax", "sum", "min"]:
            states = [self.path("%d-%s.bfs" % (i, op)) for i in range(3)]
            for name, state in zip(names, states):
                self.result(op, "--save", state, name)
            done = run("merge", *states)
            self.assertEqual(done.stdout.decode().strip(), self.result(op, whole))
            tells = {"argmin": 1, "argmax": 1, "sum": 0, "min": 0}[op]
            self.assertEqual(done.stderr.count(b"\n"), tells)
            self.assertEqual(run("merge", "-q", *states).stderr, b"")
        state = self.path("2-argmax.bfs")
        error = run("merge", *[self.path("%d-argmax.bfs" % i) for i in range(3)]).stderr.decode()
        self.assertEqual(error, "bitfold merge: %s: its element 100 is the maximum: element 401 of "
                                "all\n" % state)
        both, two = self.path("both.bfs"), [self.path("%d-argmin.bfs" % i) for i in (0, 2)]
        run("merge", "--save", both, *two)
        self.assertEqual(run("verify", "--against", both, names[0], names[2]).returncode, 0)
        self.assertEqual(run("verify", "--against", both, names[2], names[0]).returncode, 5)

    def test_products_of_whole_files_are_told_apart_from_damage(self):
        a, b = self.save("a.npy", np.array([1.5, 2])), self.save("b.npy", np.array([3.5]))
        for name in [a, b]:
            self.result("prod", "--save", name + ".bfs", name)
        error = self.refused(3, "b.npy.bfs: it begins at element 0", "merge", a + ".bfs", b + ".bfs")
        self.assertNotIn("damaged", error)
        self.assertIn("hint: 'bitfold prod --total --save FILE'", error)
        self.assertEqual(self.result("prod", "--total", a, b).splitlines()[2], "10.5\ttotal")

    def test_a_damaged_state_is_refused_wherever_it_is_damaged(self):
        name = self.path("s.bfs")
        self.result("argmin", "--save", name, self.save("x.npy", np.arange(10.0)))
        with open(name, "rb") as f:
            good = f.read()
        for i in range(0, len(good), 3):
            bad = good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1:]
            self.refused(3, "saved state is damaged", "merge", self.write("bad.bfs", bad))
        for bad in [b"", good[:-1], good + b"\0", bytes(100_000)]:
            self.refused(3, "saved state is damaged", "merge", stdin=bad)
        self.assertEqual(self.result("merge", stdin=good), "0")


class Verify(CommandTest):
    """Verifies small files; the test "verify" is the whole of it."""

    def test_this_machine_passes(self):
        name = self.save("x.npy", samples("i4", 1000, 12))
        done = run("verify", name)
        lines = done.stdout.decode().splitlines()
        self.assertEqual([line for line in lines if "FAIL" in line or "differs" in line], [])
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex("\n".join(lines[-2:]), r"(?m)^PASS: \d+ rows, 0 failures$")
        self.assertRegex("\n".join(lines[-2:]), r"(?m)^(CPU and GPU agree$|no GPU to compare with: .)")

    def test_a_file_passes(self):
        name = self.save("x.npy", np.asfortranarray(samples("f4", 600, 13).reshape(20, 30)))
        if not SANITIZED: # to a sanitizer they are the same
            self.assertIn("PASS", self.result("verify", name))
            self.assertRegex(self.result("verify", "-q", name), r"^PASS")
        rows = [json.loads(line) for line in self.result("verify", "--json", name).splitlines()]
        self.assertEqual(rows[-1]["result"], "PASS")
        self.assertEqual(rows[-1]["rows"], len(rows) - 1)
        for row in rows[:-1]:
            self.assertTrue(row["ok"] and len(set(row["bits"].values())) == 1, row)

    @unittest.skipIf(SANITIZED, "takes too long")
    def test_of_a_long_file_the_start_is_taken_unless_all_is_asked_for(self):
        x = np.zeros((1 << 20) + 5, "?")
        x[-1] = True
        name = self.save("x.npy", x)
        left_out = "takes the first 1048576 of 1048581 elements"
        for more, total, said in [([], "0", left_out), (["--full"], "1", None),
                                  (["--count", len(x)], "1", None)][:2 if SHORT else 3]:
            done = run("verify", "--json", *more, name)
            rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
            bits, = [row["bits"] for row in rows[:-1] if row["op"] == "sum"]
            self.assertEqual((set(bits.values()), rows[-1]["result"]), ({total}, "PASS"), more)
            self.assertEqual(done.stderr.decode(),
                             "bitfold verify: %s: %s; with --full, all\n" % (name, said) * bool(said))

    @unittest.skipIf(SANITIZED, "takes too long")
    def test_it_shows_its_progress(self):
        """A line each second: the command is stopped for longer, which takes no time of a core."""
        name = self.save("x.npy", np.arange(1 << (13 if SHORT else 19), dtype="f8"))
        child = subprocess.Popen([BITFOLD, "verify", "--progress", name], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        for pause, then in [(0.1, signal.SIGSTOP), (1.1, signal.SIGCONT)]:
            time.sleep(pause)
            child.send_signal(then)
        error = child.communicate(timeout=60)[1].decode()
        share = r"bitfold verify: %s: [\d.]+ [MG]B of [\d.]+ [MG]B \((\d+)%%\), [\d.]+ [MG]B/s, \d+ s left\n"
        self.assertRegex(error, "^(%s)+$" % share % re.escape(name))
        shares = [int(each) for each in re.findall(share % re.escape(name), error)]
        self.assertEqual(shares, sorted(shares))
        self.assertLessEqual(shares[-1], 100)
