"""where= and initial= of reductions: the result is that of the chosen elements alone."""

import importlib.util
import itertools
import math
import unittest
from decimal import Decimal
from fractions import Fraction

import numpy as np

import bitfold
import cases
from oracle import round_to

CASES = cases.number(150)
OPS = ("sum", "prod", "mean", "var", "std", "norm", "sumsq", "min", "max")
WITH_INITIAL = ("sum", "prod", "min", "max")
KINDS = ("f8", "f4", "f2", "i8", "i4", "i1", "u8", "u2", "?")
TEN = [Decimal("1.10"), Decimal("2.20"), Decimal("4.40")]


def arrays(rng, kind, shape):
    """Returns an array of these extents, maybe with strides of its own, and a mask that broadcasts to it."""
    if kind[0] == "f":
        x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(kind)
        x[rng.random(shape) < 0.02] = rng.choice([np.nan, np.inf, -0.0])
    else:
        x = rng.integers(0, 2 if kind == "?" else 5, shape).astype(kind)
    if rng.random() < 0.3 and len(shape) > 1:
        x = np.asfortranarray(x)
    if rng.random() < 0.3:
        x = x[::-1]
    own = [n if rng.random() < 0.7 else 1 for n in shape][int(rng.integers(0, len(shape))) :]
    return x, rng.random(own) < rng.choice([0.1, 0.5, 0.9])


def fibres(x, axes):
    """Yields the places of the results along these axes, and what picks out the fibre of each."""
    kept = [range(n) if d not in axes else [slice(None)] for d, n in enumerate(x.shape)]
    for place in itertools.product(*kept):
        yield tuple(i if isinstance(i, int) else 0 for i in place), place


def same(a, b):
    return a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)


class OnGpu:
    """What an array on a GPU shows."""

    __cuda_array_interface__ = {"version": 3, "shape": (2,), "typestr": "<f8", "data": (4096, False), "stream": None}


class Where(unittest.TestCase):
    def test_each_result_is_that_of_the_chosen_elements(self):
        for seed in cases.seeds(CASES):
            rng = np.random.default_rng(seed)
            kind, op = KINDS[seed % len(KINDS)], OPS[seed // len(KINDS) % len(OPS)]
            shape = tuple(rng.integers(1, 6, rng.integers(1, 5)))
            x, mask = arrays(rng, kind, shape)
            whole = np.broadcast_to(mask, shape)
            reduce, options = getattr(bitfold, op), {"nan": rng.choice(["propagate", "skip"])}
            initial = x.reshape(-1)[0].item() if op in WITH_INITIAL and rng.random() < 0.5 else None
            if initial is not None:
                options["initial"] = initial
            alone = lambda x, m: np.concatenate([np.array([] if initial is None else [initial], x.dtype), x[m]])
            empty = 1 if op in ("min", "max") else None
            axes = tuple(d for d in range(len(shape)) if rng.random() < 0.5)
            found = reduce(x, axes, keepdims=True, where=mask, empty=empty, **options)
            self.assertEqual(found.shape, tuple(1 if d in axes else n for d, n in enumerate(shape)))
            options.pop("initial", None)
            for place, fibre in fibres(x, axes):
                expected = reduce(alone(x[fibre], whole[fibre]), axis=0, empty=empty, **options)
                self.assertTrue(same(found[place], expected), (seed, op, kind, found[place], expected))
            given = {} if initial is None else {"initial": initial}
            chosen = alone(x, whole)
            if (chosen == chosen).any() or chosen.size and options["nan"] == "propagate":
                expected = reduce(chosen, **options)
                self.assertTrue(same(reduce(x, where=mask, **given, **options), expected), (seed, op, kind))

    def test_sums_are_exact(self):
        rng = np.random.default_rng(7)
        for _ in range(20):
            x = rng.standard_normal((6, 5)) * 10.0 ** rng.integers(-200, 200, (6, 5))
            mask = rng.random((6, 5)) < 0.6
            exact = [sum([Fraction(1e-300), *map(Fraction, x[mask[:, j], j])]) for j in range(5)]
            found = bitfold.sum(x, axis=0, where=mask, initial=1e-300)
            self.assertEqual(found.tolist(), [round_to(each) for each in exact])
            total = sum(exact, -4 * Fraction(1e-300))
            self.assertEqual(bitfold.sum(x, where=mask, initial=1e-300), round_to(total))
        self.assertEqual(bitfold.sum([1e20, 1, 1e20], where=[True, True, False], initial=-1e20), 1.0)

    def test_what_is_not_chosen_is_not_looked_at(self):
        x = np.array([[1.0, np.nan], [np.inf, 2.0]])
        self.assertEqual(bitfold.sum(x, where=np.eye(2, dtype=bool), nan="error"), 3)
        big = np.array([[2**63 - 1, 1], [2**63 - 1, 1]])
        self.assertEqual(bitfold.sum(big, axis=1, where=[[True, False], [False, True]]).tolist(), [2**63 - 1, 1])
        with self.assertRaises(bitfold.RangeError):
            bitfold.sum(big, axis=0, where=True, initial=1)
        self.assertEqual(bitfold.sum(big, where=True, initial=1), 2**64 + 1)

    def test_as_numpy(self):
        rng = np.random.default_rng(3)
        x = rng.integers(-9, 9, (2, 3, 4))
        masks = [True, False, [[True], [False], [True]], np.bool_(True)]
        masks += [rng.random((3, 4)) < 0.5, rng.random((2, 1, 1)) < 0.5]
        for mask in masks:
            for axis in (None, 0, -1, (0, 2), (), (1, 0, 2)):
                for keepdims in (False, True):
                    for op in WITH_INITIAL:
                        options = {"axis": axis, "keepdims": keepdims, "where": mask, "initial": 2}
                        expected = getattr(np, op)(x, **options)
                        np.testing.assert_array_equal(getattr(bitfold, op)(x, **options), expected)

    def test_no_elements(self):
        x = np.ones((2, 3))
        for op in ("min", "max"):
            reduce = getattr(bitfold, op)
            self.assertRaises(bitfold.EmptyError, reduce, x, where=False)
            self.assertRaises(bitfold.EmptyError, reduce, x, axis=0, where=[True, True, False])
            self.assertEqual(reduce(x, axis=0, where=False, empty=7).tolist(), [7, 7, 7])
            self.assertEqual(reduce(x, axis=0, where=False, initial=7).tolist(), [7, 7, 7])
            self.assertEqual((reduce(x, where=False, initial=7), reduce([], initial=7)), (7, 7))
        self.assertEqual((bitfold.sum(x, where=False), bitfold.prod(x, where=False)), (0, 1))
        self.assertTrue(math.isnan(bitfold.mean(x, where=False)))
        self.assertEqual(bitfold.sum(np.ones((0, 3)), axis=0, initial=2).tolist(), [2, 2, 2])
        self.assertEqual(bitfold.sum(np.ones((3, 0)), axis=0, where=True, initial=2).shape, (0,))

    def test_other_data(self):
        wide = np.array([[2**100, 1], [-(2**90), 5]], object)
        self.assertEqual(bitfold.sum(wide.T, where=[[True, True], [False, True]]), 2**100 - 2**90 + 5)
        self.assertEqual(bitfold.max(wide, where=[True, False], initial=2**101), 2**101)
        self.assertEqual(bitfold.sum(np.ones(2, "f4"), initial=np.float64(0.5)), 2.5)
        self.assertEqual(bitfold.max(np.ones((2, 2), "i2"), axis=0, initial=np.int64(3)).tolist(), [3, 3])
        bits = np.array([0x3F80, 0x4000], "u2")
        self.assertEqual(bitfold.sum(bits, dtype="bf16", where=[False, True], initial=0.5), 2.5)
        mask, initial = [True, False, True], Decimal("0.05")
        self.assertEqual(bitfold.sum([110, 220, 440], scale=2, where=mask, initial=initial), Decimal("5.55"))
        with self.assertRaisesRegex(bitfold.ArgumentError, "more than 2 digits"):
            bitfold.sum([110], scale=2, initial=Decimal("0.005"))
        days = np.array(["2026-01-03", "2025-12-31"], "M8[D]")
        self.assertEqual(bitfold.max(days, where=[False, True]), days[1])

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_nulls(self):
        import pyarrow as pa

        column = pa.array([1.0, None, 4.0, 8.0])
        mask = [True, True, False, True]
        self.assertEqual(bitfold.sum(column, null="skip", where=mask, initial=0.5), 9.5)
        self.assertEqual(bitfold.sum(column, null="skip", initial=0.5), 13.5)
        self.assertEqual(bitfold.max(column, axis=0, null="skip", where=mask[::-1]), 8)
        self.assertRaises(bitfold.ArgumentError, bitfold.sum, column, where=mask)
        mask, initial = [True, False, True], Decimal("0.01")
        self.assertEqual(bitfold.sum(pa.array(TEN), where=mask, initial=initial), Decimal("5.51"))

    def test_what_is_refused(self):
        x = np.ones((2, 3), "f4")
        wrong = [
            (bitfold.DtypeError, {"where": [1, 0, 1]}), (bitfold.DtypeError, {"where": None}),
            (bitfold.ShapeError, {"where": [True, False]}), (bitfold.ShapeError, {"where": np.ones((1, 2, 3), bool)}),
            (bitfold.RangeError, {"initial": 0.1}),
            (bitfold.ArgumentError, {"axis": 0, "initial": [1, 2, 3]}), (bitfold.ArgumentError, {"initial": np.ones(1)}),
            (bitfold.DtypeError, {"initial": "1"}),
            (bitfold.ArgumentError, {"axis": 2, "where": True, "initial": 1}),
            (bitfold.ArgumentError, {"axis": (0, -2), "initial": 1}),
        ]  # fmt: skip
        for error, options in wrong:
            self.assertRaises(error, bitfold.sum, x, **options)
        self.assertRaises(bitfold.RangeError, bitfold.max, np.ones(2, "i1"), initial=128)
        plain = [0.5, 1]
        for arguments, options in (
            ([OnGpu()], {"initial": 1}), ([OnGpu(), 0], {"where": [True, False]}), ([plain], {"where": OnGpu()}),
        ):  # fmt: skip
            with self.assertRaisesRegex(bitfold.ArgumentError, "the host's memory"):
                bitfold.sum(*arguments, **options)
        for given, weights in ((OnGpu(), plain), (plain, OnGpu())):
            with self.assertRaisesRegex(bitfold.ArgumentError, "the host's memory"):
                bitfold.mean(given, weights=weights, where=[True, False])
        for op in ("argmin", "argmax"):
            self.assertRaises(bitfold.ArgumentError, getattr(bitfold, op), x, where=x > 0)
        for op in ("mean", "var", "norm", "argmax"):
            self.assertRaises(bitfold.ArgumentError, getattr(bitfold, op), x, initial=1)
        for call in (bitfold.dot, bitfold.vecdot):
            for options in ({"where": x > 0}, {"initial": 1}):
                with self.assertRaisesRegex(TypeError, f"got an unexpected keyword argument '{[*options][0]}'"):
                    call(x, x, axis=0, **options)
