"""Rolling windows: each has the exact value of its elements, by Python's fractions, on every instruction set and on 1 to 8
threads.

BITFOLD_CASES: how many random cases (default 300; 10000 for a release).
BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
A failure prints the seed that alone repeats it.
"""

import bisect
import datetime
import math
import unittest
from fractions import Fraction

import numpy as np

import bitfold
import cases
import devices
import generate
from command import SHORT
from oracle import DTYPES, FLOATS, HELD, as_f64, root_to, round_to

CASES = cases.number(60 if SHORT else 300)
THREADS = (1, 2, 3, 8)
KEYS = ("i64", "i8", "u64", "f64", "f32", "f16")
OPS = ("sum", "mean", "var", "std", "min", "max", "count", "median", "quantile")
METHODS = {  # how Hyndman and Fan's continuous ones place a quantile, and what the others choose
    "linear": (1, 1), "hazen": (Fraction(1, 2), Fraction(1, 2)), "weibull": (0, 0), "lower": math.floor,
    "higher": math.ceil, "nearest": round, "midpoint": lambda at: Fraction(math.floor(at) + math.ceil(at), 2),
}  # fmt: skip


def is_negative_zero(x):
    return isinstance(x, float) and x == 0 and math.copysign(1, x) < 0


def extreme(op, numbers):
    return (min if op == "min" else max)(numbers, key=lambda x: (x, math.copysign(1, x)))


def special_sum(numbers):
    """The infinity or NaN that numbers with infinities sum to."""
    infinities = {x for x in numbers if math.isinf(x)}
    return math.nan if len(infinities) > 1 else infinities.pop()


def variance(op, numbers, ddof, to):
    n = len(numbers)
    if n <= ddof or any(math.isinf(x) for x in numbers):
        return math.nan
    exact = [Fraction(x) for x in numbers]
    spread = n * sum(x * x for x in exact) - sum(exact) ** 2
    value = spread / (n * (n - ddof))
    return root_to(value, to) if op == "std" else round_to(value, to)


def quantile(case, numbers):
    """The quantile of some numbers, of a fraction in sixteenths: its place has no rounding errors, as floats or as
    fractions."""
    ordered = sorted(numbers, key=lambda x: (x, math.copysign(1, x)))
    n, how = len(ordered), METHODS[case.asked.get("method", "linear")]
    at = how(case.q * (n - 1)) if callable(how) else how[0] + case.q * (n + 1 - sum(how)) - 1
    at = min(max(Fraction(at), 0), n - 1)
    below, weight = math.floor(at), at % 1
    low, high = ordered[below], ordered[min(below + 1, n - 1)]
    if weight == 0 or (low == high and is_negative_zero(low) == is_negative_zero(high)):
        return low if case.dtype in FLOATS else round_to(Fraction(low), case.to)
    if math.isinf(low) or math.isinf(high):
        return math.nan if math.isinf(low) and math.isinf(high) else low if math.isinf(low) else high
    return round_to(Fraction(low) * (1 - weight) + Fraction(high) * weight, case.to)


def of_window(case, window):
    """The result of a window of Python's numbers."""
    numbers = [x for x in window if x == x]
    nans, op = len(window) - len(numbers), case.op
    if (len(window) if op == "count" else len(numbers)) < case.least:
        return math.nan
    if op == "count":
        return float(len(numbers))
    if nans and not case.skip:
        return math.nan
    if op in ("var", "std"):
        return variance(op, numbers, case.ddof, case.to)
    if not numbers:
        return 0.0 if op == "sum" else math.nan
    if op in ("median", "quantile"):
        return quantile(case, numbers)
    if op in ("min", "max"):
        found = extreme(op, numbers)
        return found if case.dtype in FLOATS else round_to(Fraction(found), case.to)
    if any(math.isinf(x) for x in numbers):
        return special_sum(numbers)
    if all(is_negative_zero(x) for x in numbers):
        return -0.0
    total = sum(Fraction(x) for x in numbers)
    return round_to(total if op == "sum" else total / len(numbers), case.to) if total else 0.0


class Case:
    """An array, its windows, and what they give."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng([seed, 78])
        self.op, self.dtype = str(rng.choice(OPS)), str(rng.choice(DTYPES))
        shape = generate.shape_of(rng)
        n = math.prod(shape)
        x = generate.values(rng, self.dtype, n)
        self.x = generate.placed_anyhow(rng, np.ascontiguousarray(x).reshape(shape))
        self.axis = int(rng.integers(-len(shape), len(shape)))
        self.window = int(rng.choice([1, 2, 3, 5, 10, 50, 2**40]))
        self.least = int(rng.integers(0, min(self.window, 6) + 1)) if rng.random() < 0.7 else None
        self.step = int(rng.choice([1, 1, 1, 2, 7]))
        self.center, self.skip = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
        self.ddof = int(rng.integers(0, 2))
        self.options = {
            "min_count": self.least, "center": self.center, "step": self.step, "axis": self.axis,
            "nan": "skip" if self.skip else "propagate", "dtype": self.dtype,
        }  # fmt: skip
        self.least = self.window if self.least is None else self.least
        self.q, keeps = Fraction(1, 2), self.op in ("min", "max", "median") and self.dtype in FLOATS
        self.keys, self.span = [], None
        if rng.random() < 0.4:
            self._on_keys(shape[self.axis])
        self.asked = {"ddof": self.ddof} if self.op in ("var", "std") else {}
        if self.op == "quantile":
            self.q = Fraction(int(rng.integers(0, 17)), 16)
            self.asked = {"q": float(self.q), "method": str(rng.choice(list(METHODS)))}
            keeps = self.dtype in FLOATS and self.asked["method"] in ("lower", "higher", "nearest")
        self.to = self.dtype if keeps else "f64"
        if self.op in ("sum", "mean", "var", "std") and rng.random() < 0.4:
            self.to = self.asked["out_dtype"] = str(rng.choice(FLOATS))

    def _on_keys(self, n):
        """Windows of a span: of the distance of two keys, rounded, or a small one."""
        rng, dtype = self.rng, str(self.rng.choice(KEYS))
        keys = generate.values(rng, dtype, n)
        keys = np.sort(np.where(np.isfinite(keys), keys, 0))
        if rng.random() < 0.5:
            keys = np.sort(rng.integers(0, 1 + min(n, 100), n).astype(keys.dtype))
        self.keys = [Fraction(x) for x in keys.tolist()]
        low, high = sorted(self.keys[int(i)] for i in rng.integers(0, n, 2)) if n else (0, 0)
        span = high - low if rng.random() < 0.5 else int(rng.integers(1, 7))
        self.span = float(min(span, Fraction(1e308))) or 1.0 if dtype in FLOATS else int(span) or 1
        self.options.update(on=keys, span=self.span)
        if dtype == "i64" and self.span < 2**63 and keys.min(initial=0) > -(2**63):  # that is NaT
            self.options.update(on=keys.view("M8[us]"), span=np.timedelta64(self.span, "us"))
        self.window, self.least = None, self.least if self.options["min_count"] is not None else 1

    def call(self, context, x):
        return getattr(bitfold.rolling(x, self.window, context=context, **self.options), self.op)(**self.asked)

    def ends(self, n):
        """Yields where the windows of a line of n elements begin and end."""
        after = (self.window - 1) // 2 if self.center and self.window else 0
        half = Fraction(self.span or 0) / 2
        for at in range(0, n, self.step):
            if self.window:
                yield max(0, at + after - self.window + 1), at + after + 1
            elif self.center:
                yield self.beyond(self.keys[at] - half), self.beyond(self.keys[at] + half)
            else:
                yield self.beyond(self.keys[at] - Fraction(self.span)), self.beyond(self.keys[at])

    def beyond(self, key):
        return bisect.bisect_right(self.keys, key)

    def of_line(self, line):
        numbers = as_f64(line, self.dtype).tolist() if self.dtype in FLOATS else [int(x) for x in line.tolist()]
        if self.dtype == "bool":
            numbers = [int(x != 0) for x in numbers]
        return [of_window(self, numbers[first:end]) for first, end in self.ends(len(numbers))]

    def expected(self):
        lines = np.moveaxis(self.x, self.axis, -1)
        results = -(-lines.shape[-1] // self.step)
        found = [self.of_line(line) for line in lines.reshape(-1, lines.shape[-1])] if self.x.size else []
        held = self._held([each for line in found for each in line])
        return np.moveaxis(held.reshape(lines.shape[:-1] + (results,)), -1, self.axis)

    def _held(self, numbers):
        if self.to == "bf16":
            bits = np.array(numbers, np.float32).view(np.uint32)
            return np.where(np.isnan(numbers), 0x7FC0, bits >> 16).astype(np.uint16)
        return np.array(numbers, HELD[self.to])


def bits(x):
    """An array's bits, where all NaNs are the canonical one."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(math.nan), x)
    return x.view(f"u{x.dtype.itemsize}")


class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.contexts = [each for each in devices.contexts(THREADS) if each.device == "cpu"]

    def test_random_cases(self):
        for seed in cases.seeds(CASES):
            case = Case(seed)
            expected = case.expected()
            for context in devices.some(self.contexts, 2, np.random.default_rng([seed, 1])):
                with self.subTest(seed=seed, op=case.op, dtype=case.dtype, options=case.options, context=context):
                    found = np.asarray(case.call(context, case.x))
                    self.assertEqual(found.shape, expected.shape)
                    np.testing.assert_array_equal(bits(found), bits(expected.astype(found.dtype, copy=False)))


    def test_two_numbers(self):
        """Their standard deviation is half their difference: often in the middle of two doubles, where no bit of
        what has left the window may be missing."""
        rng = np.random.default_rng(5)
        x = rng.choice([-1.0, 1.0], 4000) * rng.uniform(1, 2, 4000) * 2.0 ** rng.integers(-9, 1, 4000)
        apart = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x[1:], x[:-1])]
        keys = np.arange(4000)
        for context in self.contexts:
            for windows in bitfold.rolling(x, 2, context=context), bitfold.rolling(x, on=keys, span=2, context=context):
                self.assertEqual(windows.std(ddof=0)[1:].tolist(), [float(d / 2) for d in apart])
                self.assertEqual(windows.var(ddof=1)[1:].tolist(), [float(d * d / 2) for d in apart])


class Forms(unittest.TestCase):
    def test_what_has_left_leaves_no_trace(self):
        x = np.array([4e-5, 9e4, 5e-5, 5e-5, 5e-5], "f4")
        self.assertEqual(bitfold.rolling(x, 2).mean(out_dtype="f32")[-1], np.float32(5e-5))
        self.assertEqual(bitfold.rolling(x, 2).var()[-1], 0)
        x = np.array([1.0, 1e300, -1e300, np.nan, np.inf, 0.25, 0.5])
        np.testing.assert_array_equal(bitfold.rolling(x, 2).sum()[-1:], [0.75])

    def test_expanding(self):
        x = np.array([3, 1, np.nan, 2, 1e300, -1e300])
        y = bitfold.expanding(x, nan="skip", min_count=2)
        np.testing.assert_array_equal(y.mean(), [np.nan, 2, 2, 2, 1e300 / 4, 1.2])
        np.testing.assert_array_equal(y.max(), [np.nan, 3, 3, 3, 1e300, 1e300])
        x = np.arange(12).reshape(3, 4) ** 3
        for axis in (0, 1, -1):
            for op in ("sum", "mean", "var", "std", "min", "max"):
                wanted = np.stack([getattr(np, op)(x.take(range(k + 1), axis), axis) for k in range(x.shape[axis])], axis)
                y = getattr(bitfold.expanding(x, axis=axis), op)()
                np.testing.assert_allclose(y, wanted, rtol=1e-12)
        self.assertRaises(bitfold.ArgumentError, bitfold.expanding, x, min_count=-1)

    def test_forms_of_arrays(self):
        self.assertEqual(bitfold.rolling([1, 2, 3, 5], 2).sum().tolist()[1:], [3, 5, 8])
        x = np.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(bitfold.rolling(x, 2).sum()[1:], x[:-1] + x[1:])
        np.testing.assert_array_equal(bitfold.rolling(x, 2, axis=-1).sum()[:, 1:], x[:, :-1] + x[:, 1:])
        self.assertEqual(bitfold.rolling(np.array([2**64, 2**64], object), 2).sum().tolist()[1], 2.0**65)
        self.assertEqual(bitfold.rolling(np.empty((0, 3)), 2, step=2).max().shape, (0, 3))

    def test_spans(self):
        x = np.arange(1.0, 9.0)
        key = np.array([0, 1, 1, 2, 3, 3, 5, 9])
        trailing, centered = [1, 6, 6, 10, 20, 20, 18, 8], [6, 10, 10, 20, 15, 15, 7, 8]
        week = datetime.timedelta(weeks=3), np.timedelta64(21, "D")
        forms = [(key, 3), (key.astype(object), 3), (key / 8, 0.375), (key.tolist(), 3)]
        forms += [((key * 7).astype("M8[D]"), span) for span in week] + [(key.astype("m8[W]"), span) for span in week]
        for on, span in forms:
            self.assertEqual(bitfold.rolling(x, on=on, span=span).sum().tolist(), trailing)
            self.assertEqual(bitfold.rolling(x, on=on, span=span, center=True).sum().tolist(), centered)
        both = bitfold.rolling(np.stack([x, x]), on=key, span=3, axis=1, step=2, min_count=3).max()
        np.testing.assert_array_equal(both, [[math.nan, 3, 6, 7]] * 2)
        self.assertEqual(bitfold.rolling(x[:0], on=key[:0], span=3).mean().tolist(), [])

    def test_spans_that_are_refused(self):
        x, key = np.arange(4.0), np.array([1, 2, 2, 4])
        days, hours = key.astype("M8[D]"), np.timedelta64(36, "h")
        bad = [{}, {"on": key}, {"span": 2}, {"on": key, "span": 2, "window": 2}, {"on": key, "span": -1}]
        bad += [{"on": days, "span": hours}, {"on": days, "span": 2}, {"on": days, "span": "2D"}]
        bad += [{"on": days, "span": np.timedelta64("NaT")}, {"on": key / 2, "span": 2**53 + 1}]
        for options in bad:
            self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, **options)
        for on, span in ((key[::-1], 2), (key, 0), (key / 2, math.inf), (key / 2, -1.0), (days[::-1], hours * 2)):
            self.assertRaises(bitfold.ArgumentError, bitfold.rolling(x, on=on, span=span).sum)
        self.assertRaises(bitfold.ShapeError, bitfold.rolling(x, on=key[1:], span=2).sum)
        self.assertRaises(bitfold.NanError, bitfold.rolling(x, on=np.array([1, 2, math.nan, 3]), span=2.0).sum)
        self.assertRaises(TypeError, bitfold.rolling, x, on=key, span=1.5)
        self.assertRaisesRegex(bitfold.ArgumentError, "at 3 is less", bitfold.rolling(x, on=key % 4, span=2).sum)

    def test_what_is_refused(self):
        x = np.array([1.0, math.nan])
        for bad in ({"window": 0}, {"window": 2, "min_count": 3}, {"window": 2, "min_count": -1}, {"window": 2, "step": 0}):
            self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, **bad)
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, 2, axis=1)
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling, x, 2, nan="drop")
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling, 7.0, 2)
        self.assertRaises(bitfold.NanError, bitfold.rolling(x, 2, nan="error").sum)
        self.assertRaises(bitfold.ArgumentError, bitfold.rolling(x, 2).var, ddof=2)
        self.assertRaises(bitfold.DtypeError, bitfold.rolling(x, 2).sum, out_dtype="i64")
        self.assertRaises(bitfold.DtypeError, bitfold.rolling, np.array(["2020-01-02"], "M8[D]"), 2)
