"""Reductions of many at once: each result equals, to the bit, what Python's fractions say of its
elements alone, on every instruction set, on 1 to 8 threads and on a GPU, in one call and from chunks.

BITFOLD_CASES: how many random cases (default 300; 10000 for a release).
BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
A failure prints the seed that alone repeats it.
"""

import array
import contextlib
import math
import struct
import sys
import types
import unittest
import unittest.mock
from fractions import Fraction

import numpy as np

import bitfold
import cases
import devices
import generate
from oracle import DTYPES, FLOATS, INTS, Case, as_f64, root_to, same

CASES = cases.number(300)
THREADS = (1, 2, 3, 8)
ON_DEVICE = ("sum", "mean", "var", "std", "sumsq", "norm", "min", "max")  # where their states can be
POSITIONS = ("argmin", "argmax")
OPS = (*ON_DEVICE, *POSITIONS, "prod", "dot")


class Problem:
    """One random case: arrays, what is reduced together, and options."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = DTYPES[seed % len(DTYPES)]
        shape = generate.shape_of(rng)
        n = math.prod(shape)
        if self.dtype in INTS and rng.random() < 0.5:
            self.x, self.y = (generate.ints_small(rng, self.dtype, n).reshape(shape) for _ in "xy")
        else:
            self.x, self.y = (generate.values(rng, self.dtype, n).reshape(shape) for _ in "xy")
        self.x, self.y = generate.placed_anyhow(rng, self.x), generate.placed_anyhow(rng, self.y)
        self.named = {"dtype": self.dtype} if self.dtype in ("bool", "bf16") else {}
        self.options = {}
        if self.dtype in FLOATS:
            policies = ["propagate", "skip", "error"]
            self.options["nan"] = str(rng.choice(policies, p=[0.5, 0.4, 0.1]))
        self.options["out_dtype"] = [None, "f64", "f32"][rng.choice(3, p=[0.5, 0.1, 0.4])]
        self.options["ddof"] = int(rng.integers(2))
        self.kind = str(rng.choice(["axes", "segments", "index", "runs"], p=[0.45, 0.2, 0.25, 0.1]))
        getattr(self, "make_" + self.kind)()

    def make_axes(self):
        ndim = self.x.ndim
        self.axes = tuple(int(d) for d in self.rng.permutation(ndim)[: self.rng.integers(0, ndim + 1)])
        self.given = tuple(d - ndim if self.rng.random() < 0.3 else d for d in self.axes)
        self.kept = [d for d in range(ndim) if d not in self.axes]
        self.keepdims = bool(self.rng.random() < 0.3)
        self.shape = tuple(self.x.shape[d] for d in self.kept)
        order = [*self.kept, *sorted(self.axes)]
        length = math.prod(self.x.shape[d] for d in self.axes)
        flat = (math.prod(self.shape), length)
        self.fibres = [
            each.transpose(order).reshape(flat) if each.size else np.empty(flat, each.dtype)
            for each in (self.x, self.y)
        ]  # fmt: skip
        self.rows = None

    def make_rows(self, slots, rows):
        """rows: of each slot, the rows that go there. A column of these is a fibre."""
        self.slots = slots
        self.shape = (slots, *self.x.shape[1:])
        width = math.prod(self.x.shape[1:])
        flat = [each.reshape(each.shape[0], width) for each in (self.x, self.y)]
        self.fibres = [[each[r, c] for r in rows for c in range(width)] for each in flat]
        self.rows = [r for r in rows for _ in range(width)]

    def make_segments(self):
        n = self.x.shape[0]
        m = int(self.rng.choice([0, 1, 2, 5, 30]))
        kind = np.int32 if self.rng.random() < 0.5 else np.int64
        self.places = np.sort(self.rng.integers(0, n + 1, m + 1)).astype(kind)
        self.make_rows(m, [np.arange(a, b) for a, b in zip(self.places, self.places[1:])])
        self.rows = [r - r[0] if len(r) else r for r in self.rows]

    def make_index(self):
        n = self.x.shape[0]
        m = int(self.rng.choice([1, 2, 5, 40]))
        kind = self.rng.choice([np.int32, np.int64, np.uint32, np.uint64])
        hot = self.rng.random() < 0.2
        self.places = (np.full(n, self.rng.integers(m)) if hot else self.rng.integers(0, m, n))
        self.places = self.places.astype(kind)
        self.make_rows(m, [np.flatnonzero(self.places == s) for s in range(m)])

    def make_runs(self):
        n = self.x.shape[0]
        kind = self.rng.choice([np.int8, np.int64, np.uint32, np.float32, np.float64])
        self.places = self.rng.integers(0, 3, n).astype(kind)
        if kind in (np.float32, np.float64):
            self.places[self.rng.random(n) < 0.2] = np.nan
            self.places[self.places == 0] *= -1.0
            self.places[self.rng.random(n) < 0.1] = 0.0
        same_key = lambda a, b: a == b or (a != a and b != b)
        keys = list(self.places)
        starts = [i for i in range(n) if i == 0 or not same_key(keys[i], keys[i - 1])]
        self.first = np.array(starts, np.int64)
        edges = [*starts, n]
        self.make_rows(len(starts), [np.arange(a, b) for a, b in zip(edges, edges[1:])])
        self.rows = [r - r[0] if len(r) else r for r in self.rows]

    def options_for(self, op):
        left_out = () if op in ("var", "std") else ("ddof",)
        if op in ("min", "max", "argmin", "argmax"):
            left_out += ("out_dtype",)
        return {k: v for k, v in self.options.items() if k not in left_out}

    def call(self, op, context, more):
        """The results in one call."""
        arrays = [devices.placed(x, context) for x in ((self.x, self.y) if op == "dot" else (self.x,))]
        more = dict(more, context=context, **self.named, **self.options_for(op))
        if self.kind == "axes":
            return getattr(bitfold, op)(*arrays, axis=self.given, keepdims=self.keepdims, **more)
        places = devices.placed(self.places, context)
        if self.kind == "segments":
            return getattr(bitfold, "segment_" + op)(*arrays, places, **more)
        if self.kind == "index":
            name = "index_add" if op == "sum" else "index_" + op
            return getattr(bitfold, name)(self.slots, places, *arrays, **more)
        first, *values = bitfold.reduce_runs(op, places, *arrays, **more)
        assert np.array_equal(first, self.first), (first, self.first)
        return values[0] if len(values) == 1 else tuple(values)

    def expected(self, op):
        """The exact value of each fibre, or the class of its error."""
        options, found = self.options_for(op), []
        for i, (a, b) in enumerate(zip(*self.fibres)):
            if op == "prod":
                value = product(a, self.dtype, options)
            else:
                value = Case(a, self.dtype, b).value(op, **options)
            if op.startswith("arg") and self.kind == "index" and isinstance(value, int):
                value = int(self.rows[i][value])
            found.append(value)
        return found


def product(x, dtype, options):
    """Exact, of integers; of floats, what bitfold says of these elements alone."""
    if dtype in FLOATS or options.get("out_dtype"):
        named = {"dtype": dtype} if dtype in ("bool", "bf16") else {}
        try:
            return bitfold.prod(np.ascontiguousarray(x), **named, **options)
        except bitfold.NanError:
            return bitfold.NanError
        except bitfold.RangeError:
            return bitfold.RangeError
    x = (x != 0).astype(int) if dtype == "bool" else x
    return math.prod(x.tolist())


def numbers(found, dtype, op):
    """The elements of an array of results as Python's numbers; in an array bf16 is held as bits."""
    if isinstance(found, float):
        return [found]
    found = np.ravel(found)
    return (as_f64(found, "bf16") if dtype == "bf16" and op in ("min", "max") else found).tolist()


def all_same(a, b):
    """Every one is the same as the other one."""
    if list(map(type, a)) != list(map(type, b)):
        return False
    if float in map(type, a):
        return struct.pack(f"{len(a)}d", *a) == struct.pack(f"{len(b)}d", *b)
    return a == b


def limits(dtype):
    return (0, 2**64) if dtype.startswith("u") else (-(2**63), 2**63)


def errors_of(expected, dtype):
    """The errors that fibres have on their own; one that needs more than 64 bits has RangeError."""
    low, high = limits(dtype)
    found = {each for each in expected if isinstance(each, type)}
    if any(isinstance(each, int) and not low <= each < high for each in expected):
        found.add(bitfold.RangeError)
    return found


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except bitfold.Error as error:
        return type(error)


class Random(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.contexts = devices.contexts(THREADS)

    def compare(self, found, expected, problem, op, what):
        """expected: a list of numbers, or a set of errors of which one must be raised."""
        if isinstance(expected, set):
            self.assertIn(found if isinstance(found, type) else "results", expected, what)
            return
        if isinstance(found, type):
            self.fail(f"{what}: {found}")
        shape = problem.shape
        if problem.kind == "axes" and problem.keepdims:
            shape = tuple(1 if d in problem.axes else e for d, e in enumerate(problem.x.shape))
        self.assertEqual(np.shape(found), shape, what)
        values = numbers(found, problem.dtype, op)
        if not all_same(values, expected):
            i = next(i for i, pair in enumerate(zip(values, expected)) if not same(*pair))
            self.fail(f"{what}: result {i} is {values[i]!r}, not {expected[i]!r}")

    def check_call(self, problem, op, expected, context, what):
        errors = errors_of(expected, problem.dtype)
        self.compare(outcome(problem.call, op, context, {}), errors or expected, problem, op, what)
        if errors == {bitfold.EmptyError}:
            substitute = problem.rng.choice([0, 1])
            as_float = op in ("min", "max") and problem.dtype in FLOATS
            filled = [bool(substitute) if problem.dtype == "bool" and op in ("min", "max") else
                      float(substitute) if as_float else int(substitute)
                      if each is bitfold.EmptyError else each for each in expected]
            filled = [f if e is bitfold.EmptyError else e for f, e in zip(filled, expected)]
            found = outcome(problem.call, op, context, {"empty": int(substitute)})
            self.compare(found, filled, problem, op, what + " with empty")
        if errors == {bitfold.RangeError} and bitfold.RangeError not in expected:
            low, high = limits(problem.dtype)
            wrapped = [(each - low) % 2**64 + low for each in expected]
            values, fits = problem.call(op, context, {"fits": True})
            self.compare(values, wrapped, problem, op, what + " with fits")
            self.assertEqual(np.ravel(fits).tolist(), [low <= e < high for e in expected], what)
            found = problem.call(op, context, {"overflow": "wrap"})
            self.compare(found, wrapped, problem, op, what + " wrapped")

    def seek(self, states, problem, axis, a):
        """A chunk from index a on begins here in each fibre, segment or slot."""
        if problem.kind == "index":
            return states.seek(a)
        if problem.kind == "axes":
            others = [problem.x.shape[d] for d in problem.axes if d != axis]
            return states.seek(a * math.prod(others))
        first, end = problem.places[:-1].astype(int), problem.places[1:].astype(int)
        begin = np.clip(a, first, end) - first
        return states.seek(np.repeat(begin, len(states) // max(1, len(begin))))

    def absorb_chunks(self, problem, op, context):
        """Cuts along an axis, gives the chunks to a few states, merges those, and passes through
        save."""
        rng = problem.rng
        on_device = op in ON_DEVICE
        placed = (lambda x: devices.placed(x, context)) if on_device else (lambda x: x)
        states = [
            bitfold.States(op, problem.dtype, math.prod(problem.shape), context) for _ in range(3)
        ]
        axis = 0
        if problem.kind == "axes" and problem.axes:  # chunks follow each other along the first one
            axis = problem.axes[0] if on_device else min(problem.axes)
        n = problem.x.shape[axis]
        cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 4))).tolist()
        if problem.kind == "axes" and not problem.axes:
            cuts = []
        edges = [0, *cuts, n]
        which = 0
        for a, b in zip(edges, edges[1:]):
            if op != "prod":  # where positions count, a state takes neighbours
                which = rng.integers(which if op in POSITIONS else 0, 3)
            state = states[which]
            at = (slice(None),) * axis + (slice(a, b),)
            chunk, named = placed(problem.x[at]), dict(problem.named)
            if op == "dot":
                named["y"] = placed(problem.y[at])
            if op in POSITIONS:
                self.seek(state, problem, axis, a)
            if problem.kind == "axes":
                state.absorb(chunk, problem.given, **named)
            elif problem.kind == "index":
                state.absorb_index(chunk, placed(problem.places[a:b]), **named)
            else:
                clipped = np.clip(problem.places, a, b) - problem.places.dtype.type(a)
                state.absorb_segments(chunk, placed(clipped), **named)
        total = bitfold.States.load(states[0].merge(states[1]).save(), context=context)
        total += states[2]
        return total

    def check_states(self, problem, op, expected, context, what):
        errors = errors_of(expected, problem.dtype)
        total = self.absorb_chunks(problem, op, context)
        options = problem.options_for(op)
        found = outcome(lambda: total.result(problem.shape, **options))
        keepdims, problem.keepdims = getattr(problem, "keepdims", False), False
        self.compare(found, errors or expected, problem, op, what + " in chunks")
        problem.keepdims = keepdims
        self.assertEqual(total.counts().tolist(), [len(each) for each in problem.fibres[0]], what)
        return total.save()

    def check(self, seed):
        problem = Problem(seed)
        for op in problem.rng.choice(OPS, 2, replace=False):
            op = str(op)
            if op == "dot" and problem.kind == "runs":
                continue
            expected, saved = problem.expected(op), set()
            for context in devices.some(self.contexts, 4, problem.rng):
                what = (f"BITFOLD_SEED={seed} BITFOLD_CASES=1: {op} of {problem.dtype} "
                        f"{problem.x.shape} by {problem.kind} {getattr(problem, 'given', '')} "
                        f"{problem.options_for(op)} {context}")  # fmt: skip
                self.check_call(problem, op, expected, context, what)
                if problem.kind != "runs":
                    saved.add(self.check_states(problem, op, expected, context, what))
            self.assertLess(len(saved), 2, f"seed {seed}: saved states differ")

    def test_every_result_is_that_of_its_elements(self):
        for seed in cases.seeds(CASES):
            self.check(seed)


class TooFew(unittest.TestCase):
    def test_a_nan_is_refused_among_too_few_elements_for_a_variance(self):
        places = np.arange(1001)
        rules = {"ddof": 1, "nan": "error"}
        for context in devices.contexts((1, 3)):
            for dtype in "f2", "f4", "f8":
                x = np.ones(1000, dtype)
                x[777] = np.nan
                x, offsets, index = (devices.placed(a, context) for a in (x, places, places[:1000]))
                for op in "var", "std":
                    for call, arrays in [
                        (getattr(bitfold, "segment_" + op), (x, offsets)),
                        (getattr(bitfold, "index_" + op), (1000, index, x)),
                        (bitfold.reduce_runs, (op, index, x)),
                    ]:
                        with self.assertRaises(bitfold.NanError):
                            call(*arrays, context=context, **rules)
                    rows = devices.placed(np.full((1000, 1), np.nan, dtype), context)
                    with self.assertRaises(bitfold.NanError):
                        getattr(bitfold, op)(rows, axis=1, context=context, **rules)


class Numpy(unittest.TestCase):
    def test_sums_of_integers_are_those_of_numpy(self):
        rng = np.random.default_rng(1)
        for kind in (np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32):
            x = rng.integers(0, 2 if kind is np.bool_ else np.iinfo(kind).max, (5, 1, 7, 3)).astype(kind)
            for axis in (0, -1, (0, 2), (1,), (3, 0, 1), None):
                for keepdims in (False, True):
                    found = bitfold.sum(x, axis=axis, keepdims=keepdims)
                    want = np.sum(x, axis=axis, keepdims=keepdims)
                    self.assertTrue(np.array_equal(found, want), (kind, axis))
                    self.assertEqual(np.shape(found), want.shape)

    def test_positions_are_those_of_numpy(self):
        x = np.random.default_rng(2).integers(0, 5, (6, 7, 8))
        for axis in (0, 1, -1):
            for op in ("argmin", "argmax", "min", "max"):
                want = getattr(np, op)(x, axis=axis)
                self.assertTrue(np.array_equal(getattr(bitfold, op)(x, axis), want))

    def test_slots_are_those_of_add_at(self):
        rng = np.random.default_rng(3)
        index, x = rng.integers(0, 9, 1000), rng.integers(-100, 100, (1000, 3))
        want = np.zeros((9, 3), int)
        np.add.at(want, index, x)
        self.assertTrue(np.array_equal(bitfold.index_add(9, index, x), want))


class Many(unittest.TestCase):
    """Results that are rounded together: values whose sums do not end within a double."""

    OPS = ("sum", "mean", "var", "std", "sumsq", "norm")

    def check(self, x, context):
        for axis, fibres in ((0, x.T.tolist()), (1, x.tolist())):
            found = {op: getattr(bitfold, op)(x, axis=axis, context=context) for op in self.OPS}
            for i, fibre in enumerate(fibres):
                terms = [Fraction(value) for value in fibre]
                total, squares = sum(terms), sum(value * value for value in terms)
                mean = total / len(terms)
                spread = squares / len(terms) - mean * mean
                want = {op: float(q) for op, q in (("sum", total), ("mean", mean), ("var", spread), ("sumsq", squares))}
                want["std"], want["norm"] = root_to(spread), root_to(squares)
                for op in self.OPS:
                    self.assertEqual(found[op][i].hex(), want[op].hex(), (context, x.dtype, x.shape, axis, op, i))

    def test_many_results_are_rounded_once(self):
        rng = np.random.default_rng(4)
        for name in bitfold.isas():
            context = bitfold.Context(device="cpu", isa=name, threads=1)
            for shape in ((67, 4), (67, 7), (67, 16), (5, 100)):
                for dtype in ("f2", "f4", "f8"):
                    x = rng.standard_normal(shape)
                    self.check(x.astype(dtype), context)
                    self.check((x + 1000).astype(dtype), context)


class _OfLibrary:
    """NumPy's memory as an array of another library, of which nothing else is known."""

    device = contextlib.nullcontext("cuda:0")

    def __init__(self, x):
        self.x, self.dtype = x, x.dtype.name
        self.__cuda_array_interface__ = {**x.__array_interface__, "stream": None}


class Memory(unittest.TestCase):
    """Results are in the kind of memory that the arrays are in."""

    def pretend(self, name, dtypes):
        """Has a library make arrays: its calls are noted, and are NumPy's."""
        array, made = type("Array", (_OfLibrary,), {"__module__": name + ".inner"}), []

        def empty(shape, dtype, **more):
            made.append((tuple(shape), dtype, more))
            return array(np.empty(shape, dtypes.get(dtype, dtype)))

        library = types.SimpleNamespace(empty=empty, **{kind: kind for kind in dtypes})
        patch = unittest.mock.patch.dict(sys.modules, {name: library})
        patch.start()
        self.addCleanup(patch.stop)
        return array, made

    def test_of_pytorch(self):
        names = ("float64", "float32", "float16", "int64", "uint64", "int8", "uint8", "bool", "int16")
        tensor, made = self.pretend("torch", {name: name for name in (*names, "bfloat16")})
        x = np.arange(12).reshape(3, 4)
        found = bitfold.sum(tensor(x), axis=0)
        self.assertIsInstance(found, tensor)
        self.assertEqual(found.x.tolist(), x.sum(0).tolist())
        self.assertEqual(made, [((4,), "int64", {"device": tensor.device})])
        for kind in ("float64", "float32", "float16", "int8", "uint8", "bool"):
            found = bitfold.max(tensor(x.astype(kind)), axis=(0, 1), keepdims=True)
            self.assertEqual((found.x.dtype.name, found.x.shape), (kind, (1, 1)))
        found = bitfold.max(tensor(x.astype("int16")), axis=0, dtype="bf16")
        self.assertEqual(found.x.dtype, np.int16)
        places = tensor(np.array([0, 3]))
        self.assertEqual(bitfold.segment_sum(tensor(x.astype("u1")), places).x.dtype, np.uint64)

    def test_of_cupy(self):
        tensor, made = self.pretend("cupy", {})
        x = np.arange(12.0).reshape(3, 4)
        found, fits = bitfold.index_add(2, np.array([1, 1, 1]), tensor(x), fits=True)
        self.assertEqual((found.x.tolist(), fits.x.all()), ([[0.0] * 4, x.sum(0).tolist()], True))
        self.assertEqual([m[0] for m in made], [(2, 4), (2, 4)])
        s = bitfold.States("max", "f64", 4).absorb(tensor(x), 0)
        self.assertEqual(s.result(like=tensor(x)).x.tolist(), x[2].tolist())
        self.assertIsInstance(s.result(), np.ndarray)

    def test_without_numpy(self):
        with unittest.mock.patch("bitfold._arrays._numpy", lambda: None):
            found = bitfold.sum(array.array("d", [1, 2, 3]), axis=0, keepdims=True)
            self.assertEqual((found.tolist(), found.dtype, memoryview(found).shape), ([6.0], "f64", (1,)))
            found = bitfold.segment_sum(array.array("i", [5, 6]), array.array("q", [0, 0, 2]))
            self.assertEqual(found.tolist(), [0, 11])
            self.assertEqual(len(bitfold.segment_sum(array.array("i", [5]), array.array("q", [0]))), 0)
            self.assertEqual(bitfold.mean(memoryview(bytes(6)).cast("B", (2, 3)), 0).tolist(), [0.0] * 3)


class Wrong(unittest.TestCase):
    """Bad input: an error that says what is wrong."""

    X = np.arange(24.0).reshape(4, 6)

    def refused(self, error, text, function, *arguments, **options):
        with self.assertRaisesRegex(error, text):
            function(*arguments, **options)

    def test_axes(self):
        for axis in (2, -3, (0, 0), (0, -2), (1, 5)):
            self.refused(bitfold.ArgumentError, "axis|axes", bitfold.sum, self.X, axis=axis)
        self.refused(TypeError, "", bitfold.sum, self.X, axis=0.5)

    def test_offsets(self):
        for offsets in ([0, 3, 2], [-1, 2], [0, 5], [2, 1]):
            self.refused(bitfold.ArgumentError, "offset", bitfold.segment_sum, self.X,
                         np.array(offsets))
        self.refused(bitfold.ShapeError, "", bitfold.segment_sum, self.X, np.zeros((2, 2), int))
        self.refused(bitfold.ShapeError, "", bitfold.segment_sum, self.X, np.zeros(0, int))
        self.refused(bitfold.DtypeError, "", bitfold.segment_sum, self.X, np.zeros(3))

    def test_index(self):
        for index, place in (([0, 1, 2, 3], 3), ([0, -1, 9, 0], 1), ([2**40, 0, 0, 0], 0)):
            self.refused(bitfold.ArgumentError, str(place), bitfold.index_add, 3, np.array(index),
                         self.X)
        self.refused(bitfold.ShapeError, "", bitfold.index_add, 3, np.array([0, 1]), self.X)
        self.refused(bitfold.DtypeError, "", bitfold.index_add, 3, np.zeros(4), self.X)
        self.refused(bitfold.Error, "", bitfold.index_add, -1, np.array([0, 1, 2, 3]), self.X)
        self.refused(bitfold.Error, "", bitfold.index_add, 2**40, np.array([0, 1, 2, 3]), self.X)

    def names(self, place, function, *arguments):
        self.refused(bitfold.ArgumentError, rf"\b{place}\b", function, *arguments)

    def test_the_first_wrong_place_is_named(self):
        n = 200_000
        x = np.zeros(n, "i1")
        for dtype in ("i4", "i8", "u4", "u8"):
            info = np.iinfo(dtype)
            for at in (0, 1, 65535, 65536, 131071, n - 1):
                for wrong in {7, info.max, info.min} - {0}:
                    index = np.arange(n).astype(dtype) % 7
                    index[[at, n - 1]] = wrong
                    self.names(at, bitfold.index_add, 7, index, x)
                for wrong in {n + 1, info.max, -1, info.min} if info.min < 0 else ():
                    offsets = np.arange(n + 1).astype(dtype)
                    offsets[at] = wrong
                    self.names(at, bitfold.segment_sum, x, offsets)

    def test_shapes_and_options(self):
        self.refused(bitfold.ShapeError, "", bitfold.dot, self.X, self.X[:3], axis=0)
        self.refused(bitfold.EmptyError, "", bitfold.min, np.zeros((0, 2)), axis=0)
        self.refused(bitfold.ArgumentError, "", bitfold.sum, self.X, axis=0, nan="no")
        self.refused(TypeError, "", bitfold.sum, self.X, axis=0, no=1)
        big = np.array([[2**62, 1]] * 4)
        self.refused(bitfold.RangeError, "0", bitfold.sum, big, axis=0)
        values, fits = bitfold.sum(big, axis=0, fits=True)
        self.assertEqual((values.tolist(), fits.tolist()), ([0, 4], [False, True]))

    def test_states_of_descriptions(self):
        x = np.array([[3, np.nan, 7], [-0.0, np.inf, np.nan], [-0.0, 5, np.nan]])
        first, second = bitfold.States("describe", "f64", 3), bitfold.States("describe", "f64", 3)
        found = first.absorb(x[:2], 0).append(second.absorb(x[2:], 0)).result(nan="skip")
        for i, column in enumerate(x.T):
            one = bitfold.describe(column.copy(), nan="skip")
            for name, values in found.items():
                np.testing.assert_equal(values[i], getattr(one, name), name)
        empty = bitfold.States("describe", "i32", 2).result((1, 2))
        self.assertEqual({k: v.tolist() for k, v in empty.items() if k in ("n", "max", "argmax")},
                         {"n": [[0, 0]], "max": [[0, 0]], "argmax": [[-1, -1]]})
        self.refused(bitfold.StateError, "overlap", first.merge, second)
        self.refused(bitfold.ArgumentError, "positions", second.absorb, [1.0, 2.0], 0, null="skip")

    def test_states(self):
        self.refused(bitfold.ArgumentError, "", bitfold.States, "sum", "f64", -1)
        s = bitfold.States("sum", "f64", 6)
        self.refused(bitfold.ShapeError, "", s.absorb, self.X, 1)
        self.refused(bitfold.DtypeError, "", s.absorb, self.X.astype("f4"), 0)
        self.refused(bitfold.StateError, "", s.merge, bitfold.States("mean", "f64", 6))
        self.refused(bitfold.StateError, "", bitfold.States.load, s.save()[:-1])
        self.assertEqual(s.absorb(self.X, 0).result().tolist(), self.X.sum(0).tolist())
        self.assertEqual(s.counts().tolist(), [4] * 6)
        self.refused(bitfold.ArgumentError, "no indices", s.seek, 1)
        s.clear()
        self.assertEqual((len(s), s.result((2, 3)).tolist()), (6, [[0.0] * 3] * 2))
