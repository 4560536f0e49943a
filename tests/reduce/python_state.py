"""States in Python: absorb, merge, retract, words, indices, saved bytes."""

import copy
import math
import pickle
import unittest
from array import array

import bitfold


class States(unittest.TestCase):
    def test_a_state_is_filled_saved_and_merged(self):
        first = bitfold.State("mean", "f64").absorb(array("d", [1, 2])).absorb(array("d"))
        second = bitfold.State.load(first.save()).absorb(array("d", [6, math.nan]))
        self.assertEqual(first.result(), 1.5)
        self.assertEqual(second.result(nan="skip"), 3.0)
        self.assertEqual(second.info(), ("mean", "f64", 4, 1, 0, 4, 0))
        first.merge(second)
        self.assertEqual(first.result(nan="skip", out_dtype="f32"), 2.4000000953674316)
        with self.assertRaises(bitfold.NanError):
            first.result(nan="error")

    def test_what_was_absorbed_is_taken_out_again(self):
        monday, tuesday = array("d", [1e20, -0.0, math.nan]), array("d", [-0.0, 3, math.inf])
        for op in ("sum", "mean", "var", "std", "sumsq", "norm", "dot"):
            fill = lambda x: (x, x) if op == "dot" else (x,)
            state = lambda *days: [s := bitfold.State(op, "f64"),
                                   [s.absorb(*fill(day)) for day in days]][0]
            both, first, second = state(monday, tuesday), state(monday), state(tuesday)
            same = both
            both -= first
            self.assertIs(both, same)
            self.assertEqual(both.save(), second.save())
            both += first
            self.assertEqual(both.retract(second).save(), first.save())
            with self.assertRaises(bitfold.StateError):
                both -= second
            self.assertEqual(both.save(), first.save())
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.State("max", "f64").retract(bitfold.State("max", "f64"))
        with self.assertRaises(TypeError):
            both -= 1

    def test_shards_are_one_array(self):
        x, y = array("d", range(10)), array("d", [0.1] * 10)
        cut = lambda a: [a[:3], a[3:3], a[3:]]
        for op in ("sum", "prod", "argmax", "describe"):
            whole = bitfold.State(op, "f64").absorb(x)
            shards = bitfold.State(op, "f64")
            self.assertIs(shards.absorb_shards(cut(x)), shards)
            self.assertEqual(shards.save(), whole.save())
        dot = bitfold.State("dot", "f64").absorb_shards(cut(x), cut(y))
        self.assertEqual(dot.save(), bitfold.State("dot", "f64").absorb(x, y).save())
        with self.assertRaises(bitfold.ShapeError):
            dot.absorb_shards([x], [])
        with self.assertRaises(bitfold.DtypeError):
            dot.absorb_shards([array("f", [1])], [array("f", [1])])

    def test_words_of_parts_add(self):
        parts = [array("d", [1e300, -0.0]), array("d", [-1e300, 5e-324]), array("d", [math.inf])]
        whole = bitfold.State("sum", "f64")
        words = []
        for x in parts:
            whole.absorb(x)
            words.append(list(bitfold.State("sum", "f64").absorb(x).words()))
        total = array("q", map(sum, zip(*words)))
        state = bitfold.State("sum", "f64").set_words(total, parts=3)
        self.assertEqual(state.save(), whole.save())
        self.assertEqual(state.set_words(whole.words()).save(), whole.save())
        bad = array("q", total)
        bad[1] = 5
        for wrong, parts in [(bad, 3), (total, 1)]:
            with self.assertRaises(bitfold.StateError):
                state.set_words(wrong, parts)
        for wrong, parts in [(total[1:], 3), (total, 0), (total, 1 << 40), (array("d", total), 3)]:
            with self.assertRaises(bitfold.ArgumentError):
                state.set_words(wrong, parts)
        self.assertEqual(state.save(), whole.save())

    def test_positions(self):
        state = bitfold.State("argmax", "i32").seek(10**12).absorb(array("i", [3, 9, 9]))
        self.assertEqual(state.result(), 10**12 + 1)
        self.assertEqual(state.info().next, 10**12 + 3)
        with self.assertRaises(bitfold.ArgumentError):
            state.seek(0)
        with self.assertRaises(bitfold.StateError):
            state.merge(state)

    def test_dtypes_of_chunks(self):
        state = bitfold.State("sum", "bf16").absorb(array("H", [0x3F80]))
        self.assertEqual(state.absorb(b"\x80\x3f", dtype="bf16").result(), 2.0)
        with self.assertRaises(bitfold.DtypeError):
            bitfold.State("sum", "f64").absorb(array("f", [1]))
        pairs = bitfold.State("dot", "f32").absorb(array("f", [1, 2]), array("f", [3, 4]))
        self.assertEqual(pairs.result(), 11.0)
        with self.assertRaises(bitfold.ArgumentError):
            pairs.absorb(array("f", [1]))

    def test_damaged_bytes_are_refused(self):
        saved = bitfold.State("sum", "f64").absorb(array("d", [1, 2])).save()
        self.assertEqual(bitfold.State.load(bytearray(saved)).result(), 3.0)
        for bad in (b"", saved[:-1], saved + b"\0", b"x" + saved[1:], pickle.dumps(1)):
            with self.assertRaises(bitfold.StateError):
                bitfold.State.load(bad)


class Kinds(unittest.TestCase):
    """Everything that merges: states, histograms, groups, quantiles, tables."""

    DAYS = array("d", [1e20, -0.0, 3]), array("d", [-1e20, 0.5])

    def kinds(self):
        yield lambda x: bitfold.State("sum", "f64").absorb(x)
        yield lambda x: bitfold.State("max", "f64").absorb(x)
        yield lambda x: bitfold.States("mean", "f64", 2).absorb_index(x, array("q", [1] * len(x)))
        yield lambda x: bitfold.Histogram("f64", 3, (0, 4)).absorb(x)
        yield lambda x: bitfold.Groups("i64", [("sum", "f64")]).absorb(array("q", range(len(x))), x)
        yield lambda x: bitfold.Quantiles("f64", [0.5]).absorb(x)
        yield lambda x: bitfold.Table("i64", "f64", duplicates="last").insert(array("q", range(len(x))), x)

    def test_two_make_a_third(self):
        for fill in self.kinds():
            first, second = (fill(day) for day in self.DAYS)
            before, both = first.save(), first + second
            self.assertEqual(first.save(), before)
            self.assertEqual(both.save(), first.merge(second).save())
            with self.assertRaises(TypeError):
                both + 1
            with self.assertRaises(TypeError):
                both += b""

    def test_equal_is_what_has_the_same_saved_form(self):
        for fill in self.kinds():
            first, second = (fill(day) for day in self.DAYS)
            self.assertTrue(first == fill(self.DAYS[0]))
            self.assertFalse(first == second)
            self.assertTrue(first != second)
            self.assertFalse(first == 1)
            with self.assertRaises(TypeError):
                hash(first)
        self.assertFalse(bitfold.State("sum", "f64") == bitfold.State("sum", "f32"))

    def test_copies_and_pickles_are_equal_and_apart(self):
        for fill in self.kinds():
            first, second = (fill(day) for day in self.DAYS)
            for made in (pickle.loads(pickle.dumps(first)), copy.copy(first), copy.deepcopy(first)):
                self.assertIs(type(made), type(first))
                self.assertEqual(made, first)
                made.merge(second)
                self.assertNotEqual(made, first)
