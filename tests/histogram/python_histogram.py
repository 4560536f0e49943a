"""Histograms have NumPy's edges to the bit, and by them every count, on every instruction set, thread
count and split, and on a GPU.

NumPy 2's edges are worked out here, operation by operation; with NumPy 2 its own are compared as
well, and so are its counts, but where they contradict its own edges (it corrects its guess of a bin
by one bin only).

BITFOLD_CASES: how many histograms (default 300; 5000 for a release).
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
from oracle import DTYPES, FLOATS, HELD, INTS, as_f64, round_to, same

CASES = cases.number(300)
THREADS = (1, 2, 3, 8)
NUMPY_2 = int(np.__version__.split(".")[0]) >= 2
BINS = (1, 2, 3, 4, 7, 10, 10, 16, 33, 50, 64, 100, 100, 127, 200, 255, 256, 257, 500, 1000, 1024)
MANY_BINS = (4096, 5000, 65535, 65536, 65537, 1_000_000)
EDGE_TYPES = {"f16": np.float16, "bf16": np.float32, "f32": np.float32}


# ---- what the answers are ------------------------------------------------------------------------


def as_numpy(x, dtype):
    """The elements as NumPy would count them: bf16 as the f32 that it is, bools as 0 and 1."""
    if dtype == "bf16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    return (x != 0).astype(np.uint8) if dtype == "bool" else x


def as_doubles(x, dtype):
    return as_f64(x, dtype) if dtype in FLOATS else as_numpy(x, dtype).astype(np.float64)


def linspace(first, last, bins, kind):
    """NumPy 2's linspace(first, last, bins + 1) of two numbers of a kind of float."""
    first, last, n = kind(first), kind(last), kind(bins)
    delta = last - first
    step = delta / n
    y = np.arange(0, bins + 1, dtype=kind)
    if step == 0:
        y /= n
        y *= delta
    else:
        y *= step
    y += first
    y[-1] = last
    return y


def even_edges(x, dtype, bins, range):
    """NumPy 2's edges of the finite elements x, as doubles; None: there are none."""
    kind = EDGE_TYPES.get(dtype, np.float64)
    if range is None and x.size:
        first, last, computed = kind(x.min()), kind(x.max()), kind
        if last == 0:  # +0 above -0, where NumPy takes either
            last = kind(-0.0 if np.signbit(x[x == 0]).all() else 0)
    else:
        first, last = (np.float64(end) for end in range or (0, 1))
        computed = np.float64
    with np.errstate(all="ignore"):
        if first == last:
            first, last = first - computed(0.5), last + computed(0.5)
        if not np.isfinite(last - first):
            computed = np.float64
        edges = linspace(first, last, bins, computed).astype(kind)
        if not np.isfinite(edges).all() or (edges[:-1] >= edges[1:]).any():
            return None
    return edges.astype(np.float64)


def places(values, edges):
    """The bin of each value, -1 below, n above, n + 1 for NaN."""
    n = len(edges) - 1
    at = np.searchsorted(edges, values, "right") - 1
    at[values == edges[-1]] = n - 1
    at[values > edges[-1]] = n
    at[np.isnan(values)] = n + 1
    return at


def sum_of(numbers):
    """The exact sum of floats or integers, rounded once."""
    special = [x for x in numbers if not math.isfinite(x)]
    if special:
        return float(sum(special))
    if numbers and all(x == 0 and math.copysign(1, x) < 0 for x in numbers):
        return -0.0
    return round_to(sum(map(Fraction, numbers), Fraction(0)))


def same_floats(a, b):
    return len(a) == len(b) and all(same(x, y) or (x != x and y != y) for x, y in zip(a, b))


# ---- cases ---------------------------------------------------------------------------------------


def nudged(rng, edges, dtype, n):
    """Elements on edges, and one step to either side of them."""
    on = rng.choice(edges, n)
    step = rng.integers(-1, 2, n)
    if dtype in INTS:
        info = np.iinfo(HELD[dtype])
        near = np.array([math.floor(e) + int(s) for e, s in zip(on, step)], dtype=object)
        return np.array([min(max(int(v), info.min), info.max) for v in near], dtype=HELD[dtype])
    with np.errstate(over="ignore"):
        if dtype == "bf16":
            bits = (on.astype(np.float32).view(np.uint32) >> 16).astype(np.int64)
            return np.clip(bits + step, 0, 0xFF7F).astype(np.uint16)
        x = on.astype(HELD[dtype])
        return np.where(step == 0, x, np.nextafter(x, np.copysign(np.inf, step).astype(x.dtype)))


def ordered_pair(a, b):
    return (a, b) if a <= b else (b, a)


def some_range(rng, values):
    """A range that has something to do with the finite values, or nothing."""
    finite = values[np.isfinite(values)]
    some = finite if finite.size else np.array([0.0, 1.0])
    a, b = (float(v) for v in rng.choice(some, 2))
    how = rng.integers(8)
    if how == 0:
        return (a, a)
    if how == 1:
        return (-1.0, 1.0)
    if how == 2:  # a few steps wide
        return (a, float(a + rng.integers(1, 2000) * np.spacing(abs(a))))
    if how == 3:
        return (float(rng.integers(0, 50)) * 5e-324, float(rng.integers(50, 5000)) * 5e-324)
    if how == 4:
        return (-1e308, float(rng.choice([0.0, 1e308, 5e307])))
    if how == 5:
        return ordered_pair(a, a + float(rng.normal()))
    return ordered_pair(a, b)


def some_edges(rng, values):
    n = int(rng.choice([1, 2, 5, 30, 300, 3000]))
    finite = values[np.isfinite(values)]
    how = rng.integers(4)
    if how == 0 and finite.size:
        edges = rng.choice(finite, n + 1)
    elif how == 1:
        edges = np.logspace(-20, 20, n + 1)
    elif how == 2:
        start = float(rng.choice(finite)) if finite.size else 0.0
        steps = start + rng.integers(0, 3 * n, n + 1) * np.spacing(abs(start))
        edges = np.append(steps, [start + 1.0])
    else:
        edges = rng.normal(size=n + 1).cumsum()
    edges = np.unique(edges[np.isfinite(edges)])
    return edges if len(edges) > 1 else np.array([0.0, 1.0])


class Histogram:
    """One case: the array, the options and what the answer is."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = DTYPES[seed % len(DTYPES)]
        self.named = {"dtype": self.dtype} if self.dtype in ("bool", "bf16") else {}
        x = generate.values(rng, self.dtype, generate.size(rng, self.dtype))
        self.range, edges, self.bins = None, None, int(rng.choice(BINS))
        if rng.random() < 0.06:
            self.bins = int(rng.choice(MANY_BINS, p=[0.3, 0.3, 0.13, 0.13, 0.13, 0.01]))
        how = rng.random()
        if how < 0.4:
            self.range = some_range(rng, as_doubles(x, self.dtype))
        elif how < 0.6:
            edges = self.bins = some_edges(rng, as_doubles(x, self.dtype))
        if edges is None:
            edges = self.even_edges(x)
        x = self.with_elements_on_edges(x, edges)
        self.x = generate.laid_out(rng, x)
        self.flat = np.ascontiguousarray(self.x).reshape(-1)
        self.edges = edges if isinstance(self.bins, np.ndarray) else self.even_edges(self.flat)
        self.weights = None
        if rng.random() < 0.25 and self.flat.size <= 20_000:
            self.pick_weights()
        if self.edges is not None:
            self.work_out()

    def even_edges(self, x):
        values = as_numpy(x, self.dtype)
        return even_edges(values[np.isfinite(values)], self.dtype, self.bins, self.range)

    def with_elements_on_edges(self, x, edges):
        """Half of them are, but not where they would move an automatic range."""
        if edges is None or self.rng.random() < 0.4:
            return x
        on = nudged(self.rng, edges, self.dtype, len(x))
        values = as_doubles(on, self.dtype)
        inside = (values >= edges[0]) & (values <= edges[-1])
        keep = self.rng.random(len(x)) < 0.5
        return np.where(keep & (inside | (self.range is not None)), on, x)

    def pick_weights(self):
        dtype = str(self.rng.choice(["f64", "f64", "f32", "f16", "i8", "i64", "u64"]))
        weights = generate.values(self.rng, dtype, self.flat.size)
        self.flat_weights = weights
        self.weights = weights.reshape(self.x.shape)
        if self.rng.random() < 0.5:
            self.weights = np.asfortranarray(self.weights)

    def work_out(self):
        n = len(self.edges) - 1
        at = places(as_doubles(self.flat, self.dtype), self.edges)
        counts = np.bincount(at + 1, minlength=n + 3)
        self.counts = counts[1 : n + 1]
        self.others = tuple(int(v) for v in (counts[0], counts[n + 1], counts[n + 2]))
        self.sums = self.work_out_sums(at, n) if self.weights is not None else None

    def work_out_sums(self, at, n):
        groups = [[] for _ in range(n)]
        for place, weight in zip(at.tolist(), self.flat_weights.tolist()):
            if 0 <= place < n:
                groups[place].append(weight)
        return [sum_of(group) for group in groups]


def absorb(histogram, case, begin, end):
    weights = None if case.weights is None else case.flat_weights[begin:end]
    return histogram.absorb(case.flat[begin:end], weights, **case.named)


def in_one_piece(case, context):
    x = devices.placed(case.x, context)
    weights = None if case.weights is None else devices.placed(case.weights, context)
    return bitfold.Histogram.of(x, case.bins, case.range, weights, context=context, **case.named)


def in_chunks(case, context):
    """Cuts at random, gives the chunks to a few histograms, merges those, and passes through save."""
    rng, n = case.rng, len(case.flat)
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 5)))
    marks = [0, *(int(c) for c in cuts), n]
    kind = case.weights.dtype if case.weights is not None else None
    parts = [
        bitfold.Histogram(case.dtype, case.edges, None, kind, context)
        for _ in range(rng.integers(1, 4))
    ]
    for i in rng.permutation(len(marks) - 1):
        absorb(parts[rng.integers(len(parts))], case, marks[i], marks[i + 1])
    for part in parts[1:]:
        parts[0].merge(part)
    return bitfold.Histogram.load(parts[0].save(), context)


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.contexts = devices.contexts(THREADS)
        cls.refused = cls.compared = cls.contradictions = cls.failed = 0

    @classmethod
    def tearDownClass(cls):
        print(
            f"{cls.refused} histograms were impossible; numpy.histogram: "
            f"{cls.compared} compared, {cls.contradictions} of which contradict their own edges; "
            f"it failed on {cls.failed}"
        )

    def check(self, seed):
        case = Histogram(seed)
        what = (
            f"BITFOLD_SEED={seed} BITFOLD_CASES=1: {case.dtype} {case.x.shape}, bins "
            f"{case.bins if isinstance(case.bins, int) else len(case.bins) - 1}, {case.range}"
        )
        if case.edges is None:
            type(self).refused += 1
            for context in self.contexts:
                with self.assertRaises(bitfold.ArgumentError, msg=what):
                    in_one_piece(case, context)
            return
        self.compare_with_numpy(case, what)
        saved = set(), set()
        for context in self.contexts:
            for i, histogram in enumerate((in_one_piece(case, context), in_chunks(case, context))):
                self.check_counts(case, histogram, f"{what} {context}, {('whole', 'chunks')[i]}")
                saved[i].add(histogram.save())
        self.assertEqual([len(each) for each in saved], [1, 1], what)

    def check_counts(self, case, histogram, what):
        self.assertEqual(np.array(histogram.edges).tobytes(), case.edges.tobytes(), what)
        found = np.array(histogram.counts)
        wrong = np.flatnonzero(found != case.counts)
        self.assertEqual(wrong.tolist(), [], what)
        info = histogram.info()
        self.assertEqual((info.below, info.above, info.nan), case.others, what)
        self.assertEqual(info.count, case.flat.size, what)
        if case.sums is not None:
            self.assertTrue(same_floats(histogram.weights(), case.sums), what)

    def compare_with_numpy(self, case, what):
        """NumPy's own answer, where it has one."""
        x = as_numpy(case.flat, case.dtype)
        if not NUMPY_2 or not np.isfinite(x).all() or not x.size:
            return
        with np.errstate(all="ignore"):
            try:
                counts, edges = np.histogram(x, case.bins, case.range)
            except IndexError:  # its guess over- or underflowed
                type(self).failed += 1
                return
            except ValueError:  # the width of the range overflows in its dtype: docs/numerics.md
                ends = case.range or (x.min(), x.max())
                self.assertGreater(float(ends[1]) - float(ends[0]), np.finfo(x.dtype).max, what)
                return
        edges = edges.astype(np.float64)
        if edges[-1] == 0:
            edges[-1] = case.edges[-1]  # the sign of a zero
        self.assertEqual(edges.tobytes(), case.edges.tobytes(), what)
        type(self).compared += 1
        if (counts != case.counts).any():
            type(self).contradictions += 1
            self.assertFalse(isinstance(case.bins, np.ndarray), what)

    def test_edges_and_counts_are_numpy_s(self):
        for seed in cases.seeds(CASES):
            self.check(seed)


# ---- the module ----------------------------------------------------------------------------------


class Module(unittest.TestCase):
    def test_as_numpy_returns(self):
        rng = np.random.default_rng(1)
        x, w = rng.normal(size=5000), rng.integers(0, 9, 5000)
        for options in ({}, {"bins": 7}, {"range": (-1, 2)}, {"bins": [-1, 0, 0.5, 3]}):
            expected = np.histogram(x, **options)
            for found, wanted in zip(bitfold.histogram(x, **options), expected):
                self.assertTrue(np.array_equal(found, wanted), options)
            density = np.histogram(x, density=True, **options)[0]
            self.assertEqual(list(bitfold.histogram(x, density=True, **options)[0]), list(density))
            sums = np.histogram(x, weights=w, **options)[0]
            self.assertEqual(list(bitfold.histogram(x, weights=w, **options)[0]), list(sums))

    @unittest.skipUnless(NUMPY_2, "needs NumPy 2's edges")
    def test_the_density_of_floats_is_numpy_s(self):
        rng = np.random.default_rng(2)
        for kind in (np.float16, np.float32, np.float64, np.int16):
            x = (100 * rng.normal(size=1000)).astype(kind)
            found, edges = bitfold.histogram(x, 30, density=True)
            expected, _ = np.histogram(x, 30, density=True)
            self.assertEqual(list(found), expected.tolist(), kind)

    def test_the_density_of_nothing(self):
        density, edges = bitfold.histogram(np.zeros(0), 2, density=True)
        self.assertTrue(all(v != v for v in density))
        self.assertEqual(list(edges), [0, 0.5, 1])

    def test_sturges(self):
        for n in (0, 1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025):
            x = np.append(np.arange(n, dtype=np.float64), np.nan)
            expected = math.ceil(math.log2(n)) + 1 if n else 1
            for rule in ("auto", "sturges"):
                self.assertEqual(len(bitfold.histogram(x, rule)[0]), expected, n)
                self.assertEqual(len(bitfold.histogram(x, rule, (0, 1))[0]), expected, n)

    def test_sturges_gives_way_to_narrow_ranges(self):
        for steps in (1, 2, 3, 7):
            x = np.full(1000, 1.0)
            x[:7] += steps * np.finfo(float).eps
            counts, edges = bitfold.histogram(x, "auto")
            self.assertEqual((len(counts), sum(counts)), (steps, 1000))

    def test_integers_compare_with_integer_edges_as_integers(self):
        rng = np.random.default_rng(11)
        for i in range(60):
            dtype = ("i8", "u8")[i % 2]
            limits = np.iinfo(dtype)
            middle = int(rng.choice([2**53, 17 * 10**17, int(limits.max) - 999, int(limits.min) + 999]))
            gap = int(rng.choice([1, 3, 100]))
            edges = np.cumsum(rng.integers(1, gap + 1, rng.integers(2, 9))) - 400
            edges = [middle + int(x) for x in edges]
            x = np.array([e + int(d) for e in edges for d in rng.integers(-4, 5, 30)], dtype)
            given = np.array(edges, dtype) if i % 3 else edges
            counts, told = np.histogram(x, np.array(edges, dtype))
            for context in devices.contexts((1, 2)):
                found = bitfold.histogram(devices.placed(x, context), given, context=context)
                self.assertEqual([f.tolist() for f in found], [counts.tolist(), told.tolist()])
        x = np.arange(2**53, 2**53 + 4)
        self.assertEqual(bitfold.histogram(x, 1, (2**53 + 1, 2**53 + 3))[0].tolist(), [3])
        self.assertEqual(bitfold.histogram(x, [0, 5, 7])[1].dtype, np.float64)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.histogram(x.astype("f8"), [2**53, 2**53 + 1])

    def test_infinities_do_not_stretch_the_range(self):
        for dtype in (np.float16, np.float32, np.float64):
            x = np.array([3, -np.inf, 1, np.nan, np.inf, 2, np.inf], dtype)
            for context in devices.contexts((1,)):
                h = bitfold.Histogram.of(devices.placed(x, context), 2, context=context)
                self.assertEqual(list(h.edges), [1, 2, 3])
                self.assertEqual((list(h.counts), h.below, h.above, h.nan), ([1, 2], 1, 2, 1))
        self.assertEqual(list(bitfold.histogram(np.array([np.inf, np.nan]), 1)[1]), [0, 1])

    def test_what_is_refused(self):
        x = np.arange(10.0)
        for options in (
            {"bins": 0}, {"bins": -1}, {"bins": "fd"}, {"bins": [1]}, {"bins": [1, 1]},
            {"bins": [2, 1]}, {"bins": [0, math.nan]}, {"bins": [0, math.inf]}, {"range": (1, 0)},
            {"range": (0, math.inf)}, {"range": (math.nan, 1)}, {"range": (-1e308, 1e308)},
            {"range": (1, 1 + 1e-15)}, {"bins": 2**31 + 1},
        ):  # fmt: skip
            with self.assertRaises(bitfold.ArgumentError, msg=options):
                bitfold.histogram(x, **options)
        with self.assertRaises(bitfold.ShapeError):
            bitfold.histogram(x, weights=x[1:])
        h = bitfold.Histogram("f64", 4, (0, 1))
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Histogram("f64", 4)
        with self.assertRaises(bitfold.ArgumentError):
            h.absorb(x, x)
        with self.assertRaises(bitfold.ArgumentError):
            h.weights()
        with self.assertRaises(bitfold.DtypeError):
            h.absorb(x.astype("f4"))
        for other in (("f64", 5, (0, 1)), ("f64", 4, (0, 2)), ("f32", 4, (0, 1)),
                      ("f64", 4, (0, 1), "f64")):  # fmt: skip
            with self.assertRaises(bitfold.StateError):
                h.merge(bitfold.Histogram(*other))
        with self.assertRaises(bitfold.StateError):
            bitfold.Histogram.load(h.save()[:-1])

    def test_what_was_counted_is_taken_out_again(self):
        x, w = np.array([0.5, 1.5, 1.5]), np.array([-0.0, 1, 2], np.float32)
        made = lambda: bitfold.Histogram("f64", 2, (0, 2), weights="f32")
        both, rest = made().absorb(x, w), made().absorb(x[1:], w[1:])
        both -= made().absorb(x[:1], w[:1])
        self.assertEqual(both.save(), rest.save())

    def test_bincount(self):
        rng = np.random.default_rng(3)
        for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            x = rng.integers(0, 100, 3000).astype(dtype)
            for context in devices.contexts((1, 2)):
                found = bitfold.bincount(devices.placed(x, context), 5, context=context)
                self.assertEqual(list(found), np.bincount(x.astype("i8")).tolist())
            self.assertEqual(len(bitfold.bincount(x, 500)), 500)
        self.assertEqual(list(bitfold.bincount(np.zeros(0, "i4"), 3)), [0, 0, 0])
        self.assertEqual(list(bitfold.bincount(np.array([True, False, True]))), [1, 2])
        for bad in ([-1], [-1, 5]):
            with self.assertRaises(bitfold.ArgumentError):
                bitfold.bincount(np.array(bad))
        with self.assertRaises(bitfold.DtypeError):
            bitfold.bincount(np.array([1.0]))
