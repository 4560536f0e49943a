"""Scans: every prefix has the exact value of its elements, by Python's fractions, on every instruction set, on 1 to 8
threads and on a GPU.

BITFOLD_CASES: how many random cases (default 300; 10000 for a release).
BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
A failure prints the seed that alone repeats it.
"""

import math
import unittest
from fractions import Fraction

import numpy as np

import bitfold
import cases
import devices
import generate
from command import SHORT
from oracle import DTYPES, FLOATS, HELD, as_f64, round_to

CASES = cases.number(60 if SHORT else 300)
THREADS = (1, 2, 3, 8)
OPS = ("sum", "sum", "sum", "prod", "min", "max")
RANGES = {"i64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1)}


class Refused(Exception):
    """The name of the error that a scan raises."""


def numbers_of(line, dtype):
    """A line's elements as Python's numbers: integers, or floats with their signs."""
    if dtype == "bool":
        return [int(x != 0) for x in line]
    return as_f64(line, dtype).tolist() if dtype in FLOATS else line.tolist()


# ---- the oracle: what the prefixes of a line make, as numbers --------------------------------------


def float_sums(line, to, skip):
    """After each element, and before the first."""
    total, least, zeros, specials = 0, 1074, True, set()
    found = [0.0]
    empty = True
    for x in line:
        if not (skip and math.isnan(x)):
            empty = False
            zeros &= x == 0 and math.copysign(1, x) < 0
            if math.isfinite(x):
                p, q = x.as_integer_ratio()
                total += p << (least - (q.bit_length() - 1))
            else:
                specials.add("nan" if math.isnan(x) else x)
        if "nan" in specials or len(specials) > 1:
            found.append(math.nan)
        elif specials:
            found.append(*specials)
        elif total == 0:
            found.append(-0.0 if zeros and not empty else 0.0)
        else:
            found.append(round_to(Fraction(total, 1 << least), to))
    return found


def integers(op, line, to, wraps):
    total, low, high = int(op == "prod"), *RANGES[to]
    found = [total]
    for x in line:
        total = total * x if op == "prod" else total + x
        if wraps:
            total = (total - low) % 2**64 + low
        found.append(total if low <= total <= high else Refused("RangeError"))
    return found


def extremes(op, line, empty, skip):
    """empty: the extreme of nothing."""
    best, nan, found = None, False, [empty]
    before = (lambda a, b: key(a) < key(b)) if op == "min" else (lambda a, b: key(a) > key(b))
    for x in line:
        if x != x:
            nan |= not skip
        elif best is None or before(x, best):
            best = x
        found.append(math.nan if nan else empty if best is None else best)
    return found


def key(x):
    return x, math.copysign(1, x)


class Case:
    """An array, a call of a scan, and what it gives."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng([seed, 77])
        self.seed, self.op = seed, str(rng.choice(OPS))
        self.dtype = dtype = str(rng.choice(DTYPES if self.op != "prod" else DTYPES[:-4]))
        shape = generate.shape_of(rng)
        n = math.prod(shape)
        x = generate.values(rng, dtype, n) if rng.random() < 0.8 else generate.ints_small(rng, "u8", n).astype(HELD[dtype])
        self.x = generate.placed_anyhow(rng, np.ascontiguousarray(x).reshape(shape))
        self.axis = int(rng.integers(-len(shape), len(shape)))
        self.options = {"axis": self.axis, "dtype": dtype}
        for name in ("exclusive", "reverse"):
            if rng.random() < 0.3:
                self.options[name] = True
        self.skip = rng.random() < 0.3 and dtype in FLOATS
        if self.skip:
            self.options["nan"] = "skip"
        self.to, self.empty = self._result(rng)
        self.cuts = self._segments(rng)

    def _segments(self, rng):
        """Where segments along the first axis begin; None: there are none."""
        rows = self.x.shape[0] if self.x.ndim else 0
        if self.axis % max(self.x.ndim, 1) != 0 or rows == 0 or rng.random() < 0.5:
            return None
        self.options["axis"] = 0
        cuts = np.sort(rng.integers(0, rows + 1, int(rng.integers(0, rows + 2))))
        if rng.random() < 0.5:
            cuts = np.concatenate([[0], cuts, [rows]]).astype(rng.choice(["i4", "i8"]))
            self.options["offsets"] = cuts
            return cuts
        cuts = np.unique(np.concatenate([[0], cuts[cuts < rows]]))
        keys = (np.arange(len(cuts)) % 3).astype(rng.choice(["u1", "f4", "i8"]))
        cuts = np.append(cuts, rows)
        self.options["by"] = np.repeat(keys, np.diff(cuts))
        return cuts

    def _result(self, rng):
        """The dtype of the results, and the extreme of nothing."""
        if self.op in ("min", "max"):
            empty = 1 if rng.random() < 0.7 else None
            self.options.update({} if empty is None else {"empty": empty})
            return self.dtype, Refused("EmptyError") if empty is None else empty
        if rng.random() < 0.5:
            self.options["overflow"] = "wrap"
        if self.dtype not in FLOATS:
            return "u64" if self.dtype[0] == "u" else "i64", None
        if rng.random() < 0.3:
            self.options["out_dtype"] = str(rng.choice(FLOATS))
        return self.options.get("out_dtype", self.dtype), None

    def of_line(self, line):
        """The results of one line, in its order."""
        if self.cuts is None:
            return self.of_segment(line)
        return [each for first, end in zip(self.cuts, self.cuts[1:]) for each in self.of_segment(line[first:end])]

    def of_segment(self, line):
        reverse, numbers = self.options.get("reverse"), numbers_of(line, self.dtype)
        numbers = numbers[::-1] if reverse else numbers
        if self.op in ("min", "max"):
            found = extremes(self.op, numbers, self.empty, self.skip)
        elif self.dtype in FLOATS:
            found = float_sums(numbers, self.to, self.skip)
        else:
            found = integers(self.op, numbers, self.to, self.options.get("overflow") == "wrap")
        found = found[:-1] if self.options.get("exclusive") else found[1:]
        return found[::-1] if reverse else found

    def expected(self):
        """An array as the results are held, or the name of an error."""
        lines = np.moveaxis(self.x, self.axis, -1)
        found = [self.of_line(line) for line in lines.reshape(-1, lines.shape[-1])] if self.x.size else []
        refused = {str(each) for line in found for each in line if isinstance(each, Refused)}
        if refused:
            return refused.pop()
        held = self.held([each for line in found for each in line])
        return np.moveaxis(held.reshape(lines.shape), -1, self.axis)

    def held(self, numbers):
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


class Scans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.contexts = devices.contexts(THREADS)

    def call(self, case, x, **options):
        function = getattr(bitfold, "cumulative_" + case.op)
        asked = {**case.options, **options}
        if case.op != "sum":
            asked.pop("out_dtype", None)
        if case.op == "prod":
            asked.pop("nan", None)
        return function(x, context=self.context, **asked)

    def check(self, case, expected):
        if isinstance(expected, str):
            with self.assertRaises(getattr(bitfold, expected)):
                self.call(case, case.x)
            return
        x = case.x if case.cuts is not None else devices.placed(case.x, self.context)
        found = np.asarray(self.call(case, x))
        self.assertEqual(found.shape, case.x.shape)
        np.testing.assert_array_equal(bits(found), bits(expected.astype(found.dtype, copy=False)))
        if self.context.device == "cpu" and case.to == case.dtype and case.to not in ("bool", "bf16"):
            own = np.array(case.x)
            self.call(case, own, out=own)
            np.testing.assert_array_equal(bits(own), bits(expected.astype(own.dtype, copy=False)))

    def check_chunks(self, case):
        """The first line in chunks, each after the state of those before it."""
        lines = np.moveaxis(case.x, case.axis, -1)
        if case.options.get("reverse") or not lines.size:
            return
        line = np.ascontiguousarray(lines.reshape(-1, lines.shape[-1])[0])
        numbers = case.of_segment(line)
        if any(isinstance(each, Refused) for each in numbers):
            return
        state = bitfold.State(case.op, case.dtype, context=self.context)
        chunks = np.split(line, np.sort(case.rng.integers(0, len(line) + 1, 3)))
        alone = {"axis": None, "offsets": None, "by": None, "after": state}
        found = np.concatenate([np.asarray(self.call(case, chunk, **alone)) for chunk in chunks])
        np.testing.assert_array_equal(bits(found), bits(case.held(numbers).astype(found.dtype, copy=False)))

    def test_random_cases(self):
        for seed in cases.seeds(CASES):
            case = Case(seed)
            expected = case.expected()
            for self.context in devices.some(self.contexts, 3, np.random.default_rng([seed, 1])):
                with self.subTest(seed=seed, op=case.op, dtype=case.dtype, options=case.options, context=self.context):
                    self.check(case, expected)
            with self.subTest(seed=seed, op=case.op, dtype=case.dtype, options=case.options, context=self.context):
                self.check_chunks(case)

    def test_long_lines(self):
        for seed in cases.seeds(max(CASES // 30, 4)):
            case = Case(seed)
            n = 40_000 if SHORT else 150_000
            case.x, case.axis = generate.values(case.rng, case.dtype, n), 0
            case.options = {k: v for k, v in case.options.items() if k not in ("offsets", "by")} | {"axis": 0}
            case.cuts = case._segments(case.rng)
            expected = case.expected()
            for self.context in devices.some(self.contexts, 2, np.random.default_rng([seed, 2])):
                with self.subTest(seed=seed, op=case.op, dtype=case.dtype, options=case.options, context=self.context):
                    self.check(case, expected)


class Forms(unittest.TestCase):
    def test_all_elements_are_one_line(self):
        x = np.arange(12.0).reshape(3, 4)
        for each in (x, x.T):
            np.testing.assert_array_equal(bitfold.cumulative_sum(each), np.cumsum(each))
        self.assertEqual(bitfold.cumulative_sum(7.0).tolist(), [7.0])

    def test_include_initial(self):
        x = np.arange(1, 13).reshape(3, 4)
        for axis in (0, 1, -1):
            for reverse in (False, True):
                y = bitfold.cumulative_prod(x, axis=axis, include_initial=True, reverse=reverse)
                turned = np.flip(x, axis) if reverse else x
                wanted = np.insert(np.cumprod(turned, axis), 0, 1, axis)
                np.testing.assert_array_equal(y, np.flip(wanted, axis) if reverse else wanted)
        self.assertEqual(bitfold.cumulative_sum(np.empty((2, 0)), axis=1, include_initial=True).tolist(), [[0], [0]])
        self.assertEqual(bitfold.cumulative_sum(np.ones(2, "f2"), include_initial=True).dtype, np.float16)

    def test_segments(self):
        x = np.array([[1.0, 2], [3, 4], [5, 6]])
        for each in (x, x.tolist()):
            y = bitfold.cumulative_sum(each, offsets=[0, 1, 1, 3], out_dtype="f4")
            self.assertEqual(np.asarray(y).tolist(), [[1, 2], [3, 4], [8, 10]])
        nan = math.nan
        self.assertEqual(bitfold.cumulative_max(x, by=[nan, nan, 0.0]).tolist(), [[1, 2], [3, 4], [5, 6]])
        times = np.array(["2020-01-02", "2020-01-01", "2020-01-03"], "M8[D]")
        self.assertEqual(bitfold.cumulative_min(times, by=times.astype("M8[M]")).tolist(), times[[0, 1, 1]].tolist())
        self.assertEqual(bitfold.cumulative_sum([], offsets=np.zeros(3, "i4")).tolist(), [])
        for wrong in ({"offsets": [0, 2]}, {"offsets": [1, 3]}, {"offsets": [0, 3], "by": [1, 1, 1]},
                      {"offsets": [0, 3], "axis": 1}, {"by": [1, 1, 1], "include_initial": True}):  # fmt: skip
            self.assertRaises(bitfold.ArgumentError, bitfold.cumulative_sum, x, **wrong)
        for keys in ([1, 1], [[1, 1, 1]], 1):
            self.assertRaises(bitfold.ShapeError, bitfold.cumulative_sum, x, by=keys)

    def test_chunks_go_on_after_a_state(self):
        state, x = bitfold.State("sum", "f8"), np.array([[1e300, 1], [-1e300, 2]])
        self.assertEqual(bitfold.cumulative_sum(x[0], after=state, exclusive=True).tolist(), [0, 1e300])
        self.assertEqual(bitfold.cumulative_sum(x[1], after=state, out_dtype="f4").tolist(), [1, 3])
        self.assertEqual((state.result(), state.info().count), (3, 4))
        self.assertEqual(bitfold.cumulative_sum(x, after=state).tolist(), [1e300, 1e300, 4, 6])
        for wrong in ({"axis": 1}, {"offsets": [0, 2]}, {"by": [1, 1]}, {"include_initial": True}, {"reverse": True}):
            self.assertRaises(bitfold.ArgumentError, bitfold.cumulative_sum, x, after=state, **wrong)
        self.assertRaises(bitfold.ShapeError, bitfold.cumulative_sum, x, after=state, axis=0)
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_sum, np.zeros(2, "f4"), after=state)
        self.assertRaises(bitfold.StateError, bitfold.cumulative_min, x, after=state)
        self.assertEqual((state.result(), state.info().count), (6, 8))

    def test_chunks_of_lines_go_on_after_states(self):
        rng = np.random.default_rng(5)
        x = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-200, 200, (40, 7))
        for axis in (0, 1):
            states = bitfold.States("sum", "f64", x.shape[1 - axis])
            parts = [bitfold.cumulative_sum(part, axis=axis, after=states) for part in np.array_split(x, 3, axis)]
            np.testing.assert_array_equal(np.concatenate(parts, axis), bitfold.cumulative_sum(x, axis=axis))
            np.testing.assert_array_equal(states.result(), bitfold.sum(x, axis=axis))
        states = bitfold.States("max", "f64", 14)
        bitfold.cumulative_max(x, by=np.arange(40) // 25, after=states)
        more = bitfold.cumulative_max(x, offsets=[0, 2, 40], after=states)
        np.testing.assert_array_equal(more[1], np.maximum(x[:25].max(0), x[:2].max(0)))
        np.testing.assert_array_equal(more[-1], np.maximum(x[25:].max(0), x[2:].max(0)))
        for wrong in ({"axis": 0, "reverse": True}, {"axis": 2}, {"axis": 1, "offsets": [0, 2, 40]}):
            self.assertRaises(bitfold.ArgumentError, bitfold.cumulative_max, x, after=states, **wrong)
        for wrong in ({"axis": 0}, {}, {"offsets": [0, 40]}):
            self.assertRaises(bitfold.ShapeError, bitfold.cumulative_max, x, after=states, **wrong)
        self.assertRaises(bitfold.StateError, bitfold.cumulative_sum, x, after=states)
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_max, x > 0, after=bitfold.States("max", "f64", 7), axis=0)

    def test_decimals_big_integers_and_times(self):
        from decimal import Decimal

        x = np.array([2**64, -1, 2**70], object)
        self.assertEqual(bitfold.cumulative_sum(x).tolist(), [2**64, 2**64 - 1, 2**64 - 1 + 2**70])
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_prod, x)
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_sum, x, include_initial=True)
        times = np.array(["2020-01-02", "2020-01-01", "2020-01-03"], "M8[D]")
        np.testing.assert_array_equal(bitfold.cumulative_max(times), np.maximum.accumulate(times))
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_sum, times)
        try:
            import pyarrow
        except ImportError:
            return
        column = pyarrow.array([Decimal("1.10"), Decimal("2.2")])
        self.assertEqual(bitfold.cumulative_sum(column).tolist(), [Decimal("1.1"), Decimal("3.3")])

    def test_what_is_refused(self):
        x = np.array([2**63 - 1, 1])
        self.assertRaises(bitfold.RangeError, bitfold.cumulative_sum, x)
        self.assertEqual(bitfold.cumulative_sum(x, exclusive=True).tolist(), [0, 2**63 - 1])
        self.assertEqual(bitfold.cumulative_sum(x, overflow="wrap").tolist(), [2**63 - 1, -(2**63)])
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_prod, x.astype("f8"))
        self.assertRaises(bitfold.DtypeError, bitfold.cumulative_sum, x, out_dtype="f64")
        self.assertRaises(bitfold.NanError, bitfold.cumulative_sum, np.array([1, math.nan]), nan="error")
        self.assertRaises(bitfold.ArgumentError, bitfold.cumulative_sum, x, axis=1)
        self.assertRaises(bitfold.ArgumentError, bitfold.cumulative_sum, x, overflow="saturate")
        self.assertRaises(bitfold.ArgumentError, bitfold.cumulative_sum, x, out=x[::-1])
        self.assertRaises(bitfold.EmptyError, bitfold.cumulative_min, x, exclusive=True)
