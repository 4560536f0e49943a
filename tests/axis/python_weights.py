"""Means with weights: the exact sum of the products by the exact sum of the weights, rounded once."""

import importlib.util
import math
import unittest
from fractions import Fraction

import numpy as np

import bitfold
import cases
from oracle import round_to, same

CASES = cases.number(200)
KINDS = ("f8", "f4", "f2", "i8", "i4", "u8", "u1", "?")


def numbers(rng, kind, shape):
    if kind[0] == "f":
        spread = {"f8": 300, "f4": 37, "f2": 4}[kind]
        return (rng.standard_normal(shape) * 10.0 ** rng.integers(-spread, spread, shape)).astype(kind)
    bits = 8 * np.dtype(kind).itemsize if kind != "?" else 1
    return (rng.integers(0, 2**64, shape, "u8") >> np.uint64(64 - bits)).astype(kind)


def exact(x, w):
    """Returns the mean of numbers with these weights, rounded once; NaN: the weights sum to 0."""
    x, w = ([Fraction(each) for each in held.ravel().tolist()] for held in (x, w))
    total = sum(w)
    return math.nan if total == 0 else round_to(sum(a * b for a, b in zip(x, w)) / total)


class Weights(unittest.TestCase):
    def test_means_are_exact(self):
        for seed in cases.seeds(CASES):
            rng = np.random.default_rng(seed)
            kind = KINDS[seed % len(KINDS)]
            shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
            x, w = (np.where(rng.random(shape) < 0.2, 0, numbers(rng, kind, shape)).astype(kind) for _ in "xw")
            expected = exact(x, w)
            self.assertTrue(same(bitfold.mean(x, weights=w), expected), (seed, kind))
            self.assertTrue(same(bitfold.mean(x.T, weights=w.T), expected))
            mask = rng.random(shape) < 0.7
            self.assertTrue(same(bitfold.mean(x, weights=w, where=mask), exact(x[mask], w[mask])))

    def test_axes(self):
        rng = np.random.default_rng(1)
        x, w = rng.standard_normal((2, 3, 4)), rng.integers(1, 9, (2, 3, 4))
        for axis in (0, 1, -1, (0, 2), (2, 0), (0, 1, 2), None):
            for keepdims in (False, True):
                axes = range(3) if axis is None else [d % 3 for d in np.atleast_1d(axis)]
                found = bitfold.mean(x, axis, keepdims, weights=w)
                self.assertEqual(np.shape(found), np.mean(x, axis, keepdims=keepdims).shape)
                own = [w] if axis is None else [w, rng.integers(1, 9, [x.shape[d] for d in axes])]
                for weights in own:
                    order = np.argsort(axes)
                    wide = weights if weights.ndim == 3 and weights is w else weights.transpose(order).reshape(
                        [n if d in axes else 1 for d, n in enumerate(x.shape)]
                    )
                    wide = np.broadcast_to(wide, x.shape)
                    found = bitfold.mean(x, axis, keepdims, weights=weights)
                    whole = np.asarray(bitfold.mean(x, axis, True, weights=weights))
                    self.assertEqual(np.ravel(found).tolist(), whole.ravel().tolist())
                    for place in np.ndindex(*(1 if d in axes else n for d, n in enumerate(x.shape))):
                        fibre = tuple(slice(None) if d in axes else i for d, i in enumerate(place))
                        self.assertEqual(whole[place], exact(x[fibre], wide[fibre]))

    def test_as_numpy(self):
        x, w = np.array([[1.0, 2, 4], [8, 16, 32]]), [1, 2, 1]
        np.testing.assert_array_equal(bitfold.mean(x, 1, weights=w), np.average(x, 1, weights=w))
        self.assertEqual(bitfold.mean(x, weights=x), np.average(x, weights=x))
        self.assertEqual(bitfold.mean([1, 2, 4], weights=[0.5, 0.5, 1]), 2.75)
        out = np.zeros(2)
        self.assertIs(bitfold.mean(x, 1, weights=w, out=out), out)
        self.assertEqual(bitfold.mean(x, weights=None), bitfold.mean(x))
        for weights, axis in (([1, 2], None), ([1, 2], 1), ([[1, 2, 3]], None), (1, None), (np.ones((3, 2)), None)):
            self.assertRaises(bitfold.ShapeError, bitfold.mean, x, axis, weights=weights)
            self.assertRaises((ValueError, TypeError), np.average, x, axis, weights=weights)
        self.assertRaises(bitfold.ArgumentError, bitfold.mean, x, 2, weights=[1, 2])

    def test_limits(self):
        big, tiny = 1.7e308, 5e-324
        self.assertEqual(bitfold.mean([big, big], weights=[3.0, 2.0]), big)
        x, w = np.array([big, tiny]), np.array([tiny, big])
        self.assertEqual(bitfold.mean(x, weights=w), exact(x, w))
        self.assertEqual(bitfold.mean([big, -big], weights=[2.0, -1.5]), math.inf)
        self.assertEqual(bitfold.mean([-big, big], weights=[2.0, -1.5]), -math.inf)
        x, w = np.array([1e300, 1, -1e300]), np.array([1e300, 3, 1e300])
        self.assertEqual(bitfold.mean(x, weights=w), exact(x, w))
        wide = [2**100, -(2**90)]
        self.assertEqual(bitfold.mean(wide, weights=[3, 1], nan="skip"), bitfold.mean(wide, weights=[3, 1]))
        self.assertEqual(bitfold.mean(wide, weights=[3, 1]), round_to(Fraction(3 * 2**100 - 2**90, 4)))
        for x, weights in (([-0.0, -0.0], [1.0, 2.0]), ([1, -1], [1, 1]), ([1, -1], [-1, -1])):
            zero = bitfold.mean(x, weights=weights)
            self.assertEqual((zero, math.copysign(1, zero)), (0, 1))
        bits = np.array([0x3F80, 0x4000], "u2")  # 1 and 2 as bf16
        self.assertEqual(bitfold.mean(bits, weights=bits, dtype="bf16"), round_to(Fraction(5, 3)))

    def test_what_is_not_finite(self):
        inf, nan = math.inf, math.nan
        cases = [
            ([inf, 1], [1, 1]), ([inf, 1], [-3, 1]), ([inf, -inf], [1, 1]), ([1, 2], [inf, 1]), ([1, inf], [1, 0]),
            ([nan, 1], [1, 1]), ([1, 2], [nan, 1]),
        ]  # fmt: skip
        for x, w in cases:
            with np.errstate(all="ignore"):
                expected = np.average(x, weights=w)
            np.testing.assert_equal(bitfold.mean(x, weights=w), expected, str((x, w)))
        x, w = [[nan, 1.0, 3], [2, 4, nan]], [[1.0, 2, 2], [nan, 1, 5]]
        self.assertEqual(bitfold.mean(x, weights=w, nan="skip"), 2.4)
        self.assertEqual(bitfold.mean(x, 1, weights=w, nan="skip").tolist(), [2, 4])
        self.assertTrue(math.isnan(bitfold.mean([nan], weights=[1], nan="skip")))
        self.assertTrue(math.isnan(bitfold.mean([], weights=[])))
        self.assertRaises(bitfold.NanError, bitfold.mean, x, weights=w, nan="error")
        for weights in ([0, 0], [1, -1], [-0.0, 0.0]):
            self.assertTrue(math.isnan(bitfold.mean([1, 2], weights=weights)))

    def test_weights_of_infinite_elements_count(self):
        inf, x, w = math.inf, np.array([math.inf, 1, math.inf, 1, -math.inf]), np.array([2.0, 1, -3, 1, 1e300])
        expected = [inf, inf, -inf]
        self.assertEqual(bitfold.segment_mean(x, [0, 2, 4, 5], weights=w).tolist(), expected)
        self.assertEqual(bitfold.index_mean(3, np.array([0, 0, 1, 1, 2]), x, weights=w).tolist(), expected)
        self.assertEqual([bitfold.mean(x[a:b], weights=w[a:b]) for a, b in ((0, 2), (2, 4), (4, 5))], expected)
        many = bitfold.index_mean(1, np.zeros(300, "i8"), np.tile(x[2:4], 150), weights=np.tile(w[2:4], 150))
        self.assertEqual(many.tolist(), [inf])

    def test_dtypes(self):
        x = np.array([0.5, 1.5], "f4")
        for kind in ("i1", "i4", "u2", "f8", "f2", "?"):
            self.assertEqual(bitfold.mean(x, weights=np.array([1, 0], kind)), 0.5)
        for kind in ("i8", "u8"):
            self.assertEqual(bitfold.mean(x, weights=np.array([1, 3], kind)), 1.25)
            self.assertEqual(bitfold.mean(x, weights=np.array([2**62, 0], kind)), 0.5)
            for wide in (2**53 + 1, np.iinfo(kind).max):
                self.assertRaises(bitfold.RangeError, bitfold.mean, x, weights=np.array([1, wide], kind))
        self.assertRaises(bitfold.DtypeError, bitfold.mean, np.ones(2, "i8"), weights=np.ones(2, "u8"))
        self.assertEqual(bitfold.mean(np.array([1, 2]), weights=np.array([1, 3], "i2")), 1.75)
        self.assertEqual(bitfold.mean(x, weights=[1, 3]), 1.25)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_tensors(self):
        import torch

        x, mask = torch.tensor([[1.0, 2, 4], [8, 16, 32]]), [True, False, True]
        self.assertEqual(bitfold.mean(x, 1, weights=[1, 2, 1]).tolist(), [2.25, 18])
        self.assertEqual(bitfold.mean(x[0], weights=torch.tensor([1, 2, 1])), 2.25)
        self.assertIs(type(bitfold.mean(x, weights=x)), float)
        self.assertIs(type(bitfold.sum(x, 0, where=[[True], [False]])), torch.Tensor)
        out = torch.zeros(2, dtype=torch.float64)
        self.assertIs(bitfold.sum(x, 1, where=mask, initial=0.5, out=out), out)
        self.assertEqual(out.tolist(), [5.5, 40.5])

    def test_what_is_refused(self):
        for options in ({"initial": 1}, {"nan": "drop"}, {"ddof": 2}, {"out_dtype": "f16"}):
            self.assertRaises(bitfold.ArgumentError, bitfold.mean, [1, 2], weights=[1, 1], **options)
        for call in (bitfold.sum, bitfold.norm):
            self.assertRaises(TypeError, call, [1, 2], weights=[1, 1])

    def test_options(self):
        x, w = [1, 2, 4], [3, 1, 1]
        self.assertEqual(bitfold.mean(x, weights=w, out_dtype="f32"), np.float32(1.8))
        self.assertEqual(bitfold.mean(x, weights=w, scale=1), 0.18)
        self.assertEqual(bitfold.mean([x], 1, weights=[w], fits=True)[1].tolist(), [True])
        for ddof in (0, 1):
            whole = np.repeat(x, w)
            self.assertEqual(bitfold.var(x, weights=w, ddof=ddof), bitfold.var(whole, ddof=ddof))
            self.assertEqual(bitfold.std(x, weights=w, ddof=ddof), bitfold.std(whole, ddof=ddof))
            found = bitfold.var(x, weights=w, ddof=ddof, reliability=True)
            self.assertAlmostEqual(found, float(np.cov(x, aweights=w, ddof=ddof)), 14)
