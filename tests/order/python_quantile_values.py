"""Quantiles and medians are the exact value between two elements, rounded once: of the largest numbers, infinities,
zeros, subnormals, equal elements and the ends of integers, by every method, on every instruction set and a GPU.

BITFOLD_CASES: how many random calls (default 600; 20000 for a release).
BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
"""

import math
import unittest

import numpy as np

import bitfold
import cases
import devices
import generate
from oracle import DTYPES, FLOATS, HELD, as_f64, round_to, same
from quantiles import CHOOSING, METHODS, median_place, place_of, value_at

CASES = cases.number(600)


def hard_values(rng, dtype, n):
    """Elements of a few kinds, in one array; no NaN."""
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(np.uint8)
    if dtype not in FLOATS:
        info = np.iinfo(HELD[dtype])
        ends = [info.min, info.min + 1, info.max - 1, info.max, 0, info.max // 2, info.max // 2 + 1]
        near = ends + [int(e) for e in rng.integers(info.min, info.max, 6, dtype=HELD[dtype], endpoint=True)]
        return np.array([near[i] for i in rng.integers(0, len(near), n)], HELD[dtype])
    inf = generate.floats(dtype, *(np.array([x]) for x in (0, 2 ** generate.LAYOUTS[dtype][0] - 1, 0)))
    bits = inf.view(generate.UINT[dtype])[0]
    sign = generate.UINT[dtype](1 << sum(generate.LAYOUTS[dtype]))
    some = [0, 1, 2, bits - 1, bits - 2, bits // 2, bits // 2 + 1, *rng.integers(0, int(bits), 4).tolist()]
    some += [bits] * int(rng.integers(0, 3))  # infinities
    chosen = np.array([int(some[i]) for i in rng.integers(0, len(some), n)], generate.UINT[dtype])
    signs = rng.integers(0, 2, n).astype(generate.UINT[dtype]) if rng.random() < 0.8 else np.zeros(n, generate.UINT[dtype])
    return (chosen | signs * sign).view(HELD[dtype])


def numbers(x, dtype):
    """The elements in order, as Python's numbers."""
    if dtype in FLOATS:
        wide = [float(v) for v in as_f64(x, dtype)]
        return sorted(wide, key=lambda v: (v, math.copysign(1, v)))
    return sorted(int(v) for v in x)


def fractions_of(rng, n):
    """Some at whole places, half-way, by tiny weights, and anywhere."""
    i = int(rng.integers(0, n + 1))
    tiny = math.ldexp(rng.random(), -int(rng.integers(1, 1070)))
    choices = [0, 1, 0.5, 0.25, 0.75, i / n, i / max(n - 1, 1), (i + 0.5) / n, rng.random(), rng.random(), tiny, 1 - tiny]
    return [min(float(q), 1.0) for q in rng.choice(choices, rng.integers(1, 5))]


class Values(unittest.TestCase):
    contexts = devices.contexts((1,))

    def compare(self, found, want, dtype, to, what):
        """found: numbers, or an array of a dtype; want: Python's numbers."""
        self.assertEqual(self.dtype_of(found, dtype, to), to, what)
        values = [float(v) for v in as_f64(found, to)] if to in FLOATS else [int(v) for v in found]
        self.assertEqual(len(values), len(want), what)
        for got, v in zip(values, want):
            v = float(v) if to in FLOATS else v
            self.assertTrue(same(got, v) or got != got and v != v, f"{what}: {values}, not {want}")

    def dtype_of(self, found, dtype, to):
        held = {"bool": np.dtype(bool), "bf16": np.dtype(np.uint16)}
        return next((d for d in (to, dtype) if found.dtype == held.get(d, HELD[d])), found.dtype)

    def check(self, seed):
        rng = np.random.default_rng(seed)
        dtype = str(rng.choice(DTYPES))
        n = int(rng.choice([1, 2, 2, 3, 4, 5, 8, 13, int(rng.integers(1, 200))]))
        x = hard_values(rng, dtype, n)
        line, method, q = numbers(x, dtype), str(rng.choice(METHODS)), fractions_of(rng, n)
        options = {"dtype": dtype} if dtype in ("bool", "bf16") else {}
        places = [place_of(method, n, each) for each in q]
        whole = method in CHOOSING or all(t == 0 for _, t in places)
        want, middle = [value_at(line, p) for p in places], median_place(n)
        to = dtype if whole else "f64"
        median_to = dtype if dtype in FLOATS or middle[1] == 0 else "f64"
        median = value_at(line, middle, lambda exact: round_to(exact, median_to))
        for context in self.contexts:
            what = f"BITFOLD_SEED={seed} BITFOLD_CASES=1: {dtype} {line} {method} {q} on {context!r}"
            place = devices.placed(x, context)
            found = bitfold.quantile(place, q, method=method, context=context, **options)
            self.compare(np.asarray(found), want, dtype, to, what)
            two = devices.placed(np.concatenate([x, x]), context)
            ends = devices.placed(np.array([0, n, 2 * n]), context)
            by = "f64" if method not in CHOOSING else dtype
            found = bitfold.segment_quantile(two, q, ends, method=method, context=context, **options)
            self.compare(np.asarray(found)[:, 1], want, dtype, by, what + " segments")
            found = bitfold.median(devices.placed(x.reshape(-1, 1), context), 0, context=context, **options)
            self.compare(np.asarray(found), [median], dtype, median_to, what + " median")
            passes = bitfold.Quantiles(dtype, q, method=method, context=context)
            while not passes.done:
                passes.absorb(place, **options)
                passes.next()
            self.assertEqual(len(passes.result()), len(want), what + " passes")
            for got, v in zip(passes.result(), want):
                self.assertTrue(same(float(got), float(v)) or got != got, what + " passes")
                self.assertTrue(dtype in FLOATS or isinstance(v, float) or int(got) == v, what + " passes")

    def test_random_calls(self):
        for seed in cases.seeds(CASES):
            self.check(seed)

    def test_written_cases(self):
        top = 1.7e308
        for x, q, want in [
            ([-top, top], [0.25, 0.5, 0.75], [-8.5e307, 0.0, 8.5e307]),
            ([1.0, 2, math.inf, math.inf], [0.5, 0.75], [math.inf, math.inf]),
            ([-math.inf, 1.0], [0.5], [-math.inf]),
            ([-0.0, 0.0], [0.5], [0.0]),
        ]:
            self.assertEqual(bitfold.quantile(np.array(x), q).tolist(), want)
        self.assertTrue(math.isnan(bitfold.quantile(np.array([-math.inf, math.inf]), 0.5)))
        ends = np.array([-(2**63), 2**63 - 1])
        self.assertEqual(bitfold.quantile(ends, [0.5]).tolist(), [-0.5])
        self.assertEqual(bitfold.median(ends), -0.5)
        self.assertEqual(bitfold.quantile(ends, [0, 1]).tolist(), ends.tolist())
        self.assertEqual(bitfold.median(np.arange(3) + 10**18), 10**18 + 1)
