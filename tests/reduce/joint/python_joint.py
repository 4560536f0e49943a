"""Powers, pairs and weights: results against exact fractions, in every way to compute them.

Each case draws a dtype, values, an operation, options and a way: whole, along axes, by segments, by index, by states
and groups that are split, saved and merged, and as a matrix. Every way has the bits of the definition, rounded once.

BITFOLD_CASES: how many random cases (default 600; 10000 for a release). BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
"""

import importlib.util
import math
import random
import statistics
import unittest

import numpy as np

import bitfold
import cases
import devices
from joint import COMOMENTS, INF, NAN, POWERS, WEIGHTED, expected, of_weighted_pair
from oracle import same

CASES = cases.number(600)
FLOATS = {"f64": ("f8", 1000), "f32": ("f4", 120), "f16": ("f2", 14), "bf16": ("u2", 120)}
INTS = {"bool": "?", **{f"{k}{8 * n}": f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8)}}
CONTEXTS = devices.contexts((1, 2))

# ---- what bitfold says ---------------------------------------------------------------------------


def placed(context, *arrays):
    """The arrays where the context computes; None stays None."""
    return [x if x is None else devices.placed(x, context) for x in arrays]


def call(op, x, y, axis=None, **options):
    if "where" not in options:  # where= goes with arrays of the host
        x, y = placed(options["context"], x, y)
    if op in POWERS:
        return getattr(bitfold, op)(x, axis, **options)
    if op == "cov":
        return bitfold.covariance(x, y, axis, **options)
    if op in WEIGHTED:
        return getattr(bitfold, {"wmean": "mean", "wvar": "var", "wstd": "std"}[op])(x, axis, weights=y, **options)
    if op == "corr":
        return bitfold.correlation(x, y, axis, **options)
    return getattr(bitfold.linregress(x, y, axis, **options), {"r2": "rsquared"}.get(op, op))


def call_segments(op, x, y, offsets, **options):
    x, y, offsets = placed(options["context"], x, y, offsets)
    if op in POWERS:
        return getattr(bitfold, f"segment_{op}")(x, offsets, **options)
    if op in WEIGHTED:
        name = {"wmean": "mean", "wvar": "var", "wstd": "std"}[op]
        return getattr(bitfold, f"segment_{name}")(x, offsets, weights=y, **options)
    return {"cov": bitfold.segment_covariance, "corr": bitfold.segment_correlation}[op](x, y, offsets, **options)


def call_index(op, m, index, x, y, **options):
    index, x, y = placed(options["context"], index, x, y)
    if op in POWERS:
        return getattr(bitfold, f"index_{op}")(m, index, x, **options)
    if op in WEIGHTED:
        name = {"wmean": "mean", "wvar": "var", "wstd": "std"}[op]
        return getattr(bitfold, f"index_{name}")(m, index, x, weights=y, **options)
    return {"cov": bitfold.index_covariance, "corr": bitfold.index_correlation}[op](m, index, x, y, **options)


# ---- cases ---------------------------------------------------------------------------------------


class Case:
    """Two columns of random numbers, an operation and its options."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.dtype = r.choice([*["f64"] * 8, *["f32"] * 3, "f16", "bf16", *INTS])
        self.op = r.choice(POWERS + COMOMENTS + WEIGHTED)
        self.n = r.choice([0, 1, 2, 3, 4, 5, 6, 10, 47, 48, 49, 100, 130]) if seed % 40 else r.choice([513, 1100, 9000])
        self.options = {"ddof": r.randrange(2), "out_dtype": r.choice([None, None, "f32"])}
        if self.op in WEIGHTED:
            self.options["reliability"] = r.random() < 0.5
        self.x, self.y = self.column(), self.column()
        if r.random() < 0.1:
            self.y = self.x.copy()
        if self.dtype in FLOATS and r.random() < 0.3:
            self.add_specials()
        if self.op in POWERS:
            self.y = None

    def column(self):
        return self.floats() if self.dtype in FLOATS else self.integers()

    def floats(self):
        r, n = self.r, self.n
        kind, spread = FLOATS[self.dtype]
        big = {"f64": 1e11, "f32": 1e5, "f16": 100, "bf16": 100}[self.dtype]
        ways = {
            "normal": lambda: r.gauss(0, 1), "shifted": lambda: big + r.random(),
            "few": lambda: r.choice([0.0, -0.0, 1.0, -1.0]), "digits": lambda: float(r.randint(0, 9)),
            "wide": lambda: math.ldexp(r.uniform(-1, 1), r.randint(-scale, scale)),
            "tiny": lambda: math.ldexp(r.uniform(-1, 1), {"f64": -1060, "f32": -140, "f16": -20, "bf16": -125}[self.dtype]),
        }  # fmt: skip
        scale = r.choice([spread // 8, spread * 3 // 10, spread])
        way, constant = r.choice([*ways, "constant"]), r.gauss(0, 3)
        values = [constant if way == "constant" else ways[way]() for _ in range(n)]
        if self.dtype == "bf16":
            return (np.array(values, "f4").view("u4") >> 16).astype("u2")
        limit = float(np.finfo(kind).max)
        return np.array([min(max(v, -limit), limit) for v in values], kind)

    def integers(self):
        kind = INTS[self.dtype]
        if kind == "?":
            return np.array([self.r.random() < 0.5 for _ in range(self.n)], kind)
        info, few = np.iinfo(kind), self.r.random() < 0.5
        least, most = (max(info.min, -9), min(info.max, 9)) if few else (int(info.min), int(info.max))
        return np.array([self.r.randint(least, most) for _ in range(self.n)], kind)

    def add_specials(self):
        """Puts NaNs or infinities in the columns."""
        self.options["nan"] = self.r.choice(["propagate", "skip", "skip", "error"])
        names = {"nan": (0x7FC0, NAN), "inf": (0x7F80, INF), "-inf": (0xFF80, -INF)}
        for _ in range(self.r.randrange(4) if self.n else 0):
            bits, value = names[self.r.choice(["nan", "nan", "nan", "inf", "-inf"])]
            column = self.x if self.op in POWERS or self.r.random() < 0.6 else self.y
            column[self.r.randrange(self.n)] = bits if self.dtype == "bf16" else value

    @property
    def given(self):
        """Options of the call."""
        given = {**self.options, "context": self.r.choice(CONTEXTS)}
        return {**given, "dtype": "bf16"} if self.dtype == "bf16" else given

    def some(self, at):
        """The columns' rows at these places; None stays None."""
        return self.x[at], None if self.y is None else self.y[at]

    def numbers(self, column):
        if column is None:
            return None
        if self.dtype == "bf16":
            column = (column.astype("u4") << 16).view("f4")
        return column.tolist() if self.dtype in FLOATS else [int(v) for v in column]

    def right(self, x, y):
        return expected(self.op, self.numbers(x), self.numbers(y), **self.options)


class Ways(unittest.TestCase):
    def check(self, case, function, parts):
        """Compares the results that a function returns, as a list, with the parts of the columns that they are of."""
        right = [case.right(*part) for part in parts]
        what = f"BITFOLD_SEED={case.seed} BITFOLD_CASES=1: {case.way} {case.op} of {case.n} {case.dtype} {case.options}"
        if bitfold.NanError in right:
            with self.assertRaises(bitfold.NanError, msg=what):
                function()
            return
        results = list(function())
        self.assertEqual(len(results), len(right), what)
        for i, (found, wanted) in enumerate(zip(results, right)):
            self.assertTrue(same(float(found), wanted), f"{what}: {i}: {found!r}, not {wanted!r}")

    def test_every_way_is_exact(self):
        ways = ["whole", "axes", "segments", "index", "states", "many", "groups"]
        for seed in cases.seeds(CASES):
            case = Case(seed)
            case.seed, case.way = seed, case.r.choice(ways)
            getattr(self, case.way)(case)

    def whole(self, case):
        x, y, r = case.x, case.y, case.r
        if r.random() < 0.3:  # strided, backwards
            x, y = (each if each is None else np.repeat(each, 2)[::-2] for each in (x, y))
        self.check(case, lambda: [call(case.op, x, y, **case.given)], [(x, y)])
        if case.dtype != "bf16" and case.n:
            mask = np.array([r.random() < 0.7 for _ in range(case.n)])
            chosen = x[mask], None if y is None else y[mask]
            self.check(case, lambda: [call(case.op, x, y, where=mask, **case.given)], [chosen])

    def axes(self, case):
        rows = case.r.choice([1, 2, 3])
        columns = case.n // rows
        x, y = (each if each is None else each[: rows * columns].reshape(rows, columns) for each in (case.x, case.y))
        if case.r.random() < 0.5:
            axis = 1
        else:
            x, y, axis = x.T.copy(), y if y is None else y.T.copy(), 0
        parts = [(x[at], y if y is None else y[at]) for i in range(rows) for at in [(i,) if axis else (slice(None), i)]]
        self.check(case, lambda: call(case.op, x, y, axis, **case.given), parts)

    def segments(self, case):
        if case.op in ("slope", "intercept", "r2"):
            return self.many(case)
        cuts = sorted(case.r.randint(0, case.n) for _ in range(case.r.randrange(4)))
        offsets = [0, *cuts, case.n]
        parts = [case.some(slice(a, b)) for a, b in zip(offsets, offsets[1:])]
        offsets = np.array(offsets)
        self.check(case, lambda: call_segments(case.op, case.x, case.y, offsets, **case.given), parts)

    def index(self, case):
        if case.op in ("slope", "intercept", "r2"):
            return self.many(case)
        index = np.array([case.r.randrange(3) for _ in range(case.n)], "i8")
        parts = [case.some(index == i) for i in range(4)]
        self.check(case, lambda: call_index(case.op, 4, index, case.x, case.y, **case.given), parts)

    def states(self, case):
        """Parts of the columns in states that are saved and merged; maybe one is taken out again."""
        at = case.r.randint(0, case.n)
        pieces = case.some(slice(0, at)), case.some(slice(at, case.n))

        def results():
            parts = []
            for piece in pieces:
                context = case.r.choice(CONTEXTS)
                state = bitfold.State(case.op, case.dtype, context)
                parts.append(state.absorb(*(each for each in placed(context, *piece) if each is not None)))
            whole = bitfold.State.load(parts[0].save()).merge(parts[1])
            taken = bitfold.State.load(whole.save(), case.r.choice(CONTEXTS)).retract(parts[0])
            self.assertEqual(taken.save(), parts[1].save(), case.seed)
            words = bitfold.State(case.op, case.dtype).set_words(whole.words())
            self.assertEqual(words.save(), whole.save(), case.seed)
            return [whole.result(**case.options)]

        self.check(case, results, [(case.x, case.y)])

    def many(self, case):
        """States of three slots."""
        index = np.array([case.r.randrange(3) for _ in range(case.n)], "i8")
        at = case.r.randint(0, case.n)

        def results():
            parts = []
            for part in slice(0, at), slice(at, case.n):
                context = case.r.choice(CONTEXTS)
                states = bitfold.States(case.op, case.dtype, 3, context)
                x, y, to = placed(context, *case.some(part), index[part])
                parts.append(states.absorb_index(x, to, y=y))
            return bitfold.States.load(parts[0].merge(parts[1]).save()).result(**case.options)

        parts = [case.some(index == i) for i in range(3)]
        self.check(case, results, parts)

    def groups(self, case):
        """Groups of parts of the rows, saved and merged."""
        keys = np.array([case.r.randrange(3) for _ in range(case.n)], "u4")
        at = case.r.randint(0, case.n)

        def results():
            parts = []
            for part in slice(0, at), slice(at, case.n):
                context = case.r.choice(CONTEXTS)
                groups = bitfold.Groups("u32", [(case.op, case.dtype)], context=context)
                columns = placed(context, keys[part], *case.some(part))
                parts.append(groups.absorb(*(each for each in columns if each is not None)))
            whole = bitfold.Groups.load(parts[0].save(), case.r.choice(CONTEXTS)).merge(parts[1])
            return whole.result(0, **case.options)

        parts = [case.some(keys == i) for i in np.unique(keys)]
        self.check(case, results, parts)

    def test_other_results_of_a_state(self):
        x, y = np.array([1.0, 2, 4]), np.array([3.0, 5, 8])
        state = bitfold.State("corr", "f64").absorb(x, y)
        line = bitfold.linregress(x, y)
        self.assertEqual([state.result(op) for op in ("slope", "intercept", "corr", "r2")], list(line))
        self.assertEqual(state.result("cov", ddof=1), bitfold.covariance(x, y))
        self.assertRaises(bitfold.ArgumentError, state.result, "wmean")
        self.assertRaises(bitfold.ArgumentError, bitfold.State("corr", "f64").absorb, x)
        self.assertEqual(bitfold.State("skew", "f64").absorb(x).result("kurtosis"), bitfold.kurtosis(x))

    def test_other_results_of_states(self):
        x, y = np.array([[1.0, 2, 4], [7, 5, 5]]), np.array([[3.0, 5, 8], [1, 0, 2]])
        states = bitfold.States("corr", "f64", 2).absorb(x, 1, y=y)
        for op, wanted in zip(("slope", "intercept", "corr", "r2"), bitfold.linregress(x, y, 1)):
            self.assertEqual(states.result(op=op).tolist(), wanted.tolist())
        self.assertEqual(states.result(op="cov", ddof=1).tolist(), bitfold.covariance(x, y, 1).tolist())
        self.assertRaises(bitfold.ArgumentError, states.result, op="wmean")
        self.assertRaises(bitfold.ArgumentError, states.result, op="none")
        self.assertRaises(bitfold.ArgumentError, bitfold.States("min", "f64", 2).result, op="max")


    def test_long_lines(self):
        """Lines that states sum in one pass have the bits of short ones."""
        rng = np.random.default_rng(4)
        x, y = rng.standard_normal((3, 2, 5000)), rng.standard_normal((3, 2, 5000))
        x[1, 1, 7] = NAN
        for nan in ("propagate", "skip"):
            for axis, turned in ((2, (0, 1, 2)), (-1, (0, 1, 2)), ((0, 2), (1, 0, 2))):
                a, b = (each.transpose(turned).reshape(2 if axis == (0, 2) else 6, -1) for each in (x, y))
                wanted = [bitfold.linregress(*pair, nan=nan) for pair in zip(a, b)]
                found = bitfold.linregress(x, y, axis, nan=nan, out_dtype="f64")
                np.testing.assert_array_equal(np.array(found).reshape(4, -1), np.array(wanted).T)
                kept = bitfold.linregress(x, y, axis, True, nan=nan)
                self.assertEqual(kept.slope.shape, (1, 2, 1) if axis == (0, 2) else (3, 2, 1))
                np.testing.assert_array_equal(np.array(kept).reshape(4, -1), np.array(found).reshape(4, -1))
        chosen = bitfold.linregress(x, y, 2, where=x > 0, nan="skip")
        np.testing.assert_array_equal(chosen.slope[0, 0], bitfold.linregress(x[0, 0], y[0, 0], where=x[0, 0] > 0).slope)
        self.assertRaises(bitfold.ArgumentError, bitfold.linregress, x, y, 3)


class Matrices(unittest.TestCase):
    def test_each_value_is_that_of_two_columns(self):
        for seed in cases.seeds(CASES // 10):
            case = Case(seed)
            r, n = case.r, case.n
            case.op, k = "cov", r.choice([1, 2, 3, 5])
            columns = [case.column() for _ in range(k)]
            if case.dtype in FLOATS and case.dtype != "bf16" and n and r.random() < 0.5:
                for _ in range(r.randrange(4)):
                    columns[r.randrange(k)][r.randrange(n)] = r.choice([NAN, NAN, INF])
            table, ddof = np.array(columns).reshape(k, n), r.randrange(2)
            options = {"nan": r.choice(["propagate", "skip"]), "out_dtype": r.choice([None, "f32"])}
            given = {**options, "context": r.choice(CONTEXTS), **({"dtype": "bf16"} if case.dtype == "bf16" else {})}
            calls = {"cov": lambda m, **o: bitfold.cov(m, ddof=ddof, **o), "corr": bitfold.corrcoef}
            for op, function in calls.items():
                found = np.array(function(table, **given)).reshape(k, k)
                other = np.array(function(table.T.copy(), rowvar=False, **given)).reshape(k, k)
                np.testing.assert_array_equal(found, other)
                for i in range(k):
                    for j in range(k):
                        wanted = expected(op, case.numbers(table[i]), case.numbers(table[j]), ddof=ddof, **options)
                        self.assertTrue(same(float(found[i, j]), wanted), (seed, op, i, j, found[i, j], wanted))

    def test_each_value_is_that_of_two_columns_with_weights(self):
        for seed in cases.seeds(CASES // 10):
            case = Case(seed)
            r, n = case.r, case.n
            case.op, k = "cov", r.choice([1, 2, 3])
            columns = [case.column() for _ in range(k + 1)]
            if case.dtype in FLOATS and r.random() < 0.7:
                columns[k] = np.abs(columns[k]) if case.dtype != "bf16" else columns[k] & 0x7FFF
            if case.dtype in FLOATS and case.dtype != "bf16" and n and r.random() < 0.5:
                for _ in range(r.randrange(4)):
                    columns[r.randrange(k + 1)][r.randrange(n)] = r.choice([NAN, NAN, INF])
            table, ddof, reliability = np.array(columns[:k]).reshape(k, n), r.randrange(2), r.random() < 0.5
            options = {"nan": r.choice(["propagate", "skip"]), "out_dtype": r.choice([None, "f32"])}
            given = {**options, "context": r.choice(CONTEXTS), **({"dtype": "bf16"} if case.dtype == "bf16" else {})}
            given["aweights" if reliability else "fweights"] = columns[k]
            calls = {"cov": lambda m, **o: bitfold.cov(m, ddof=ddof, **o), "corr": bitfold.corrcoef}
            lists = [case.numbers(x) for x in columns]
            for op, function in calls.items():
                found = np.array(function(table, **given)).reshape(k, k)
                for i in range(k):
                    for j in range(k):
                        rows = list(zip(lists[i], lists[j], lists[k]))
                        wanted = of_weighted_pair(op, rows, ddof=ddof, reliability=reliability, **options)
                        self.assertTrue(same(float(found[i, j]), wanted), (seed, op, i, j, found[i, j], wanted))

    def test_weights_of_many_blocks(self):
        """A row that counts often is a row that is repeated: of threads, of NaNs, of blocks without them."""
        rng = np.random.default_rng(3)
        table, often = rng.standard_normal((4, 50_000)) + 1e6, rng.integers(0, 4, 50_000)
        table[1, 33_000], often[33_000] = NAN, 2
        for context in CONTEXTS:
            for x in (table, table.astype("f4"), (table[[0, 2, 3]] * 1e12).astype("i8")):
                repeated = np.repeat(x, often, axis=1)
                for nan in ("propagate", "skip"):
                    for function in (bitfold.cov, bitfold.corrcoef):
                        found = function(x, fweights=often, nan=nan, context=context)
                        np.testing.assert_array_equal(found, function(repeated, nan=nan, context=context))

    def test_many_blocks(self):
        """More rows than a block has, NaNs in few of them, of several threads."""
        rng = np.random.default_rng(1)
        table = rng.standard_normal((5, 100_000)) + 1e6
        table[1, 70_000], table[3, 99_999] = NAN, NAN
        for context in CONTEXTS:
            for nan in ("propagate", "skip"):
                for function, one in ((bitfold.cov, bitfold.covariance), (bitfold.corrcoef, bitfold.correlation)):
                    found = function(table, nan=nan, context=context)
                    wanted = [[one(a, b, nan=nan) for a in table] for b in table]
                    np.testing.assert_array_equal(found, wanted)

    def test_as_numpy(self):
        rng = np.random.default_rng(2)
        m, y = rng.standard_normal((3, 50)), rng.standard_normal((2, 50))
        calls = [
            (m,), (m[0],), (m, y), (m, y[0]), (m[0], m[1]), (m.T, None, False), (m.T, y.T, False), (m[:1].T, y[:1], False),
            (m[0], y[:1], False), (m.tolist(), y.tolist()),
        ]  # fmt: skip
        for given in calls:
            for mine, numpys in ((bitfold.cov, np.cov), (bitfold.corrcoef, np.corrcoef)):
                wanted = numpys(*given)
                found = mine(*given)
                self.assertEqual(np.shape(found), wanted.shape)
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        for options in ({"ddof": 0}, {"bias": True}, {"bias": False}):
            np.testing.assert_allclose(bitfold.cov(m, **options), np.cov(m, **options), rtol=1e-9)
        often, much = rng.integers(0, 4, 50), rng.random(50)
        for options in ({}, {"ddof": 0}, {"rowvar": False}):
            table = m if options.get("rowvar", True) else m.T
            for weights in ({"fweights": often}, {"aweights": much}):
                np.testing.assert_allclose(bitfold.cov(table, **weights, **options), np.cov(table, **weights, **options))
        np.testing.assert_allclose(bitfold.cov(m, y, aweights=much), np.cov(m, y, aweights=much))
        lists = ([1, 2, 4], [3, 5, 4]), [0.5, 1, 2]
        np.testing.assert_allclose(bitfold.cov(*lists[0], aweights=lists[1]), np.cov(*lists[0], aweights=lists[1]))
        weighted = np.cov(m, fweights=often) / np.sqrt(np.outer(*[np.diag(np.cov(m, fweights=often))] * 2))
        np.testing.assert_allclose(bitfold.corrcoef(m, fweights=often), weighted)
        self.assertIs(type(bitfold.cov(m[0])), float)
        self.assertEqual(bitfold.cov(m, out_dtype="f32").dtype, np.float32)

    def test_what_is_refused(self):
        x = np.ones((2, 3))
        self.assertRaises(bitfold.ShapeError, bitfold.cov, np.ones((2, 2, 2)))
        self.assertRaises(bitfold.ShapeError, bitfold.cov, x, np.ones(4))
        self.assertRaises(bitfold.ArgumentError, bitfold.cov, np.ones((0, 3)))
        self.assertRaises(bitfold.ArgumentError, bitfold.cov, np.ones((1025, 2)))
        self.assertRaises(bitfold.ArgumentError, bitfold.cov, x, ddof=2)
        self.assertRaises(bitfold.NanError, bitfold.cov, [NAN, 1], nan="error")
        self.assertRaises(bitfold.ShapeError, bitfold.cov, x, aweights=[1, 1])
        self.assertRaises(bitfold.ShapeError, bitfold.cov, x, fweights=x)
        self.assertRaises(bitfold.ArgumentError, bitfold.cov, x, fweights=[1, 1, 1], aweights=[1, 1, 1])
        self.assertRaises(bitfold.NanError, bitfold.cov, x, aweights=[1, NAN, 1], nan="error")
        self.assertTrue(np.isnan(bitfold.cov(x, aweights=[0, 0, 0])).all())
        self.assertTrue(np.isnan(bitfold.cov(np.ones((2, 0)), aweights=np.ones(0))).all())
        self.assertTrue(np.isnan(bitfold.cov(np.ones((2, 0)))).all())
        small = bitfold.Context("cpu", memory=1 << 20)
        self.assertRaises(bitfold.OutOfMemoryError, bitfold.cov, np.ones((200, 4)), context=small)


class Calls(unittest.TestCase):
    def test_dtypes(self):
        x, y = np.array([1, 2, 4]), np.array([0.5, 2.5, 3])
        self.assertEqual(bitfold.covariance(x, y), bitfold.covariance(x.astype("f8"), y))
        self.assertEqual(bitfold.correlation(x.astype("i2"), y.astype("f4")), bitfold.correlation(x * 1.0, y))
        self.assertRaises(bitfold.RangeError, bitfold.covariance, np.array([2**53 + 1, 0, 1]), y)
        self.assertRaises(bitfold.ShapeError, bitfold.covariance, x, y[:2])
        self.assertRaises(TypeError, bitfold.covariance, x)
        self.assertRaises(TypeError, bitfold.linregress, np.ones((2, 3)), np.ones((2, 3)), 1, out=np.zeros(2))
        self.assertRaises(TypeError, bitfold.covariance, x, y, nans="skip")
        self.assertEqual(bitfold.covariance([2**70, 0], [0, 2**70]), -(2.0**139))
        self.assertEqual(bitfold.cov([[2**70, 0], [0, 2**70]])[0, 1], -(2.0**139))

    @unittest.skipUnless(hasattr(statistics, "covariance"), "needs Python 3.10")
    def test_as_statistics(self):
        x, y = [1.5, 2.25, 4, 5, 9], [2, 1, 7.5, 3, 4]
        self.assertAlmostEqual(bitfold.covariance(x, y), statistics.covariance(x, y), 12)
        self.assertAlmostEqual(bitfold.correlation(x, y), statistics.correlation(x, y), 12)
        line = statistics.linear_regression(x, y)
        self.assertAlmostEqual(bitfold.linregress(x, y).slope, line.slope, 12)
        self.assertAlmostEqual(bitfold.linregress(x, y).intercept, line.intercept, 12)

    def test_average(self):
        x, w = np.arange(6.0).reshape(2, 3), [1, 2, 5]
        for given in ({}, {"axis": 1}, {"axis": 1, "weights": w}, {"axis": 0, "weights": x + 1}, {"weights": x + 1}):
            for keepdims in (False, True):
                wanted = np.average(x, returned=True, keepdims=keepdims, **given)
                found = bitfold.average(x, returned=True, keepdims=keepdims, **given)
                for a, b in zip(found, wanted):
                    np.testing.assert_allclose(a, b, rtol=1e-15)
                    self.assertEqual(np.shape(a), np.shape(b))
                np.testing.assert_array_equal(bitfold.average(x, keepdims=keepdims, **given), found[0])
        out, mask = np.zeros(2), x > 1
        self.assertIs(bitfold.average(x, 1, w, out=out), out)
        self.assertEqual(bitfold.average(x, weights=x + 1, where=mask, returned=True)[1], (x + 1)[mask].sum())
        self.assertEqual(bitfold.average(x, where=mask, returned=True), (3.5, 4.0))
        self.assertRaises(bitfold.ArgumentError, bitfold.average, x, nan="skip", returned=True)

    def test_nulls(self):
        if not importlib.util.find_spec("pyarrow"):
            self.skipTest("pyarrow is not installed")
        import pyarrow

        x, y = pyarrow.array([1.0, None, 3, 7]), pyarrow.array([2.0, 5, None, 3])
        self.assertEqual(bitfold.covariance(x, y, null="skip"), bitfold.covariance([1, 7], [2, 3]))
        self.assertEqual(bitfold.mean(x, weights=y, null="skip"), 4.6)
        self.assertRaises(bitfold.ArgumentError, bitfold.covariance, x, y)

    def test_tensors(self):
        if not importlib.util.find_spec("torch"):
            self.skipTest("PyTorch is not installed")
        import torch

        x, y = torch.tensor([[1.0, 2, 4], [3, 5, 9]]), torch.tensor([[1.0, 0, 4], [3, 7, 9]])
        self.assertIs(type(bitfold.correlation(x, y, 1)), torch.Tensor)
        self.assertEqual(bitfold.covariance(x, y), bitfold.covariance(x.numpy(), y.numpy()))
        self.assertIs(type(bitfold.cov(x)), torch.Tensor)
        self.assertIs(type(bitfold.average(x, 1, y, returned=True)[1]), torch.Tensor)
        self.assertEqual(bitfold.skew(x), bitfold.skew(x.numpy()))

    def test_as_scipy(self):
        if not importlib.util.find_spec("scipy"):
            self.skipTest("SciPy is not installed")
        from scipy import stats

        x, y = np.random.default_rng(3).standard_normal((2, 100))
        for bias in (True, False):
            np.testing.assert_allclose(bitfold.skew(x, bias=bias), stats.skew(x, bias=bias), rtol=1e-9)
            np.testing.assert_allclose(bitfold.kurtosis(x, bias=bias), stats.kurtosis(x, bias=bias), rtol=1e-9)
        found, wanted = bitfold.linregress(x, y), stats.linregress(x, y)
        for name in ("slope", "intercept", "rvalue"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9)
