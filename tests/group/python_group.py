"""Groups against a dict of rows and bitfold's own reductions of them; exact sums against fractions;
joins against nested loops. Threads, chunks, merges and hostile keys change no bit.
Builds: release (full), asan (full)."""

import math
import random
import struct
import time
import unittest
from fractions import Fraction
from unittest import mock

import numpy as np

import bitfold
import cases
from bitfold import Result
from devices import chosen, gpus, placed

HELD = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
    "u32": "u4", "u64": "u8", "f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8", "pair": "u8",
}  # fmt: skip
DTYPES = [name for name in HELD if name != "pair"]
OPS = ["sum", "mean", "var", "std", "sumsq", "norm", "min", "max"]
CONTEXTS = [bitfold.Context(device="cpu", threads=n, isa="generic" if n == 1 else "auto")
            for n in (1, 2, 8)] + gpus()
SCRIPTS = cases.number(400)


def elements(rng, name, n, spread):
    """n elements, out of `spread` different ones, of any bits and with what is special."""
    width = np.dtype(HELD[name]).itemsize
    pool = rng.integers(0, 256, (spread * (2 if name == "pair" else 1), width), dtype=np.uint8)
    pool = pool.view(HELD[name]).reshape(-1).copy()  # bools of any byte
    if name == "pair":
        pool = pool.reshape(-1, 2)
        pool[: spread // 3, 0] = pool[0, 0]
        return pool[rng.integers(0, spread, n)]
    if HELD[name][0] == "f" and rng.integers(2):
        with np.errstate(all="ignore"):
            pool = (rng.normal(size=spread) * 10.0 ** rng.integers(-4, 4)).astype(HELD[name])
    with np.errstate(all="ignore"):
        x = pool[rng.integers(0, spread, n)]
        if HELD[name][0] == "f" and n and rng.integers(2):
            odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], HELD[name])
            at = rng.integers(0, n, max(1, n // 20))
            x[at] = odd[rng.integers(0, len(odd) if rng.integers(2) else 4, len(at))]
    return x


def key_and_rank(element, name):
    """The key that an element is, as Python has it, and what it is ordered by."""
    if name == "pair":
        return tuple(int(w) for w in element), tuple(int(w) for w in element)
    if name == "bool":
        return int(bool(element)), int(bool(element))
    value = widen(np.array([element]), name)[0] if name == "bf16" else element
    if name in ("f16", "bf16", "f32", "f64"):
        value = float(value)
        if math.isnan(value):
            return "nan", (1, 0.0)
        return value + 0.0, (0, value + 0.0)
    return int(value), int(value)


def widen(x, name):
    """bf16 bits as the floats that they are."""
    return (x.astype("u4") << 16).view("f4") if name == "bf16" else x


def bits(value):
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def result_dtype(op, dtype):
    """Returns the dtype that an aggregate has in an array."""
    if op in ("min", "max"):
        return dtype
    if op in ("sum", "sumsq") and dtype[0] in "bui" and dtype != "bf16":
        return "u64" if dtype[0] == "u" else "i64"
    return "f64"


def wrapped(value, dtype):
    """bits(value), of an integer modulo 2^64."""
    if dtype not in ("i64", "u64"):
        return bits(value)
    value %= 1 << 64
    return value - (1 << 64) if dtype == "i64" and value >> 63 else value


def as_list(keys, name):
    x = np.asarray(keys)
    if name == "pair":
        x = x.reshape(-1, 2)
    if name == "bf16" and x.dtype != np.dtype("u2"):
        x = x.view("u2")
    return [key_and_rank(each, name)[0] for each in x]


def rows_by_key(keys, name):
    """{key: row numbers}, by key ascending."""
    found = {}
    for i, each in enumerate(keys):
        key, rank = key_and_rank(each, name)
        found.setdefault((rank, key), []).append(i)
    in_order = sorted(found.items(), key=lambda entry: entry[0][0])
    return {key: np.array(rows) for (_, key), rows in in_order}


class GroupsTest(unittest.TestCase):
    def expect(self, keys, key, values, aggregates, **options):
        """What one call of the library says of each key's rows."""
        rows = rows_by_key(keys, key)
        results = []
        for x, (op, dtype) in zip(values, aggregates):
            each = []
            for at in rows.values():
                try:
                    reduce = getattr(bitfold, op)
                    each.append(reduce(np.ascontiguousarray(x[at]), dtype=dtype, **options))
                except bitfold.EmptyError:
                    each.append(math.nan)
            results.append([bits(v) for v in each])
        return list(rows), [len(at) for at in rows.values()], results

    def answer(self, groups, **options):
        keys, counts = groups.list()
        results = [self.result(groups, i, **options) for i in range(len(groups.aggregates))]
        return as_list(keys, groups.key), counts.tolist(), results

    def result(self, groups, which, **options):
        """An aggregate as a list, with which the arrays agree."""
        exact = groups.result_list(which, **options)
        dtype = result_dtype(*groups.aggregates[which])
        values, fits = groups.result(which, fits=True, **options)
        self.assertEqual((values.dtype, fits.dtype), (np.dtype(HELD[dtype]), np.dtype(bool)))
        misfits = [i for i, v in enumerate(exact) if wrapped(v, dtype) != bits(v)]
        self.assertEqual(np.flatnonzero(~fits).tolist(), misfits)
        found = [bits(v) for v in widen(values, dtype).tolist()]
        self.assertEqual(found, [wrapped(v, dtype) for v in exact])
        if misfits:
            alone = lambda: groups.result(which, **options)
            self.assertRaisesRegex(bitfold.RangeError, f" of group {misfits[0]} ", alone)
            options["overflow"] = "wrap"
        self.assertEqual(groups.result(which, **options).tobytes(), values.tobytes())
        return [bits(v) for v in exact]


class Scripts(GroupsTest):
    def test_groups_are_what_each_key_s_rows_reduce_to(self):
        """Random keys, values, chunks, merges and threads, of all dtypes and operations."""
        for script in cases.seeds(SCRIPTS):
            rng = np.random.default_rng(script)
            key = list(HELD)[script % len(HELD)]
            n = int(rng.choice([0, 1, 7, 300, 3000]))
            spread = int(rng.choice([1, 2, 30, 500]))
            aggregates = [
                (OPS[rng.integers(len(OPS))], DTYPES[rng.integers(len(DTYPES))])
                for _ in range(rng.integers(0, 5))
            ]
            keys = elements(rng, key, n, spread)
            values = [elements(rng, dtype, n, 100) for _, dtype in aggregates]
            seed = int(rng.integers(1 << 60))
            answers = []
            for context in chosen(CONTEXTS):
                parts = [
                    bitfold.Groups(key, aggregates, seed=seed + i, context=context)
                    for i in range(3)
                ]
                at = 0
                while at < n:
                    some = min(n - at, int(rng.choice([1, 50, 1100, 3000])))
                    to = parts[rng.integers(3)]
                    rows = [x[at : at + some] for x in (keys, *values)]
                    if rng.integers(2):  # on a GPU: in its memory
                        rows = [placed(x, context) for x in rows]
                    to.absorb(*rows)
                    at += some
                rng.shuffle(parts)
                total = parts[0].merge(parts[1]).merge(parts[2])
                self.assertEqual(total.rows, n)
                answers.append(total)
            with self.subTest(script=script, key=key, aggregates=aggregates, n=n):
                for nan in ("propagate", "skip"):
                    expected = self.expect(keys, key, values, aggregates, nan=nan)
                    for total in answers:
                        self.assertEqual(self.answer(total, nan=nan), expected)

    def test_ddof_and_output_dtype_are_those_of_reductions(self):
        rng = np.random.default_rng(7)
        keys, x = rng.integers(0, 20, 1000), rng.normal(size=1000)
        g = bitfold.Groups("i64", [("var", "f64"), ("sum", "f64")]).absorb(keys, x, x)
        for i, (op, options) in enumerate([("var", {"ddof": 1}), ("sum", {"out_dtype": "f32"})]):
            expected = [getattr(bitfold, op)(x[keys == k], **options) for k in range(20)]
            self.assertEqual(g.result(i, **options).tolist(), expected)

    def test_pairs_are_those_of_each_key_s_rows(self):
        rng = np.random.default_rng(8)
        keys, x, y, w = rng.integers(0, 20, 3000), *rng.normal(size=(2, 3000)), rng.random(3000)
        x[5], y[7] = math.nan, math.inf
        ops = ["corr", "slope", "intercept", "r2", "cov"]
        kinds = [("sum", "f64"), *((op, "f64") for op in ops), ("wmean", "f64"), ("kurtosis", "f64"), ("wvar", "f64")]
        given = [x, *[x, y] * 5, x, w, x, x, w]
        for context in CONTEXTS:
            g = bitfold.Groups("i64", kinds, context=context)
            for some in (slice(0, 1000), slice(1000, 3000)):
                g.absorb(keys[some], *(each[some] for each in given))
            g = bitfold.Groups("i64", kinds, context=context).merge(bitfold.Groups.load(g.save(), context))
            for nan in ("propagate", "skip"):
                rows = [keys == k for k in range(20)]
                lines = [bitfold.linregress(x[m], y[m], nan=nan) for m in rows]
                expected = [
                    [line.rvalue for line in lines], [line.slope for line in lines], [line.intercept for line in lines],
                    [line.rsquared for line in lines], [bitfold.covariance(x[m], y[m], nan=nan, ddof=0) for m in rows],
                    [bitfold.mean(x[m], weights=w[m], nan=nan) for m in rows],
                    [bitfold.kurtosis(x[m], nan=nan) for m in rows],
                    [bitfold.var(x[m], weights=w[m], nan=nan) for m in rows],
                ]  # fmt: skip
                for i, wanted in enumerate(expected, 1):
                    np.testing.assert_array_equal(g.result(i, nan=nan), wanted, str((context, kinds[i], nan)))
        self.assertRaises(bitfold.ArgumentError, bitfold.Groups("i64", [("corr", "f64")]).absorb, keys, x)

    def test_sums_are_exact(self):
        """Against fractions: terms of all magnitudes that cancel."""
        rng = random.Random(3)
        keys, x = [], []
        for k in range(40):
            some = [rng.uniform(-1, 1) * 2.0 ** rng.randint(-900, 900) for _ in range(50)]
            tiny = 2.0 ** -1000 * rng.random()
            for each in some + [-v for v in some] + [tiny]:
                keys.append(k)
                x.append(each)
        order = rng.sample(range(len(x)), len(x))
        keys, x = np.array(keys)[order], np.array(x)[order]
        for context in CONTEXTS:
            g = bitfold.Groups("i64", [("sum", "f64"), ("sumsq", "f64")], context=context)
            g.absorb(keys, x, x)
            for k, total in enumerate(g.result(0).tolist()):
                self.assertEqual(total, float(sum(Fraction(v) for v in x[keys == k])))
                self.assertEqual(total, math.fsum(x[keys == k]))

    def test_zeros_and_infinities_keep_their_signs(self):
        keys = np.array([1, 2, 2, 3, 3, 4, 4], "i4")
        x = np.array([-0.0, -0.0, -0.0, 0.0, -0.0, math.inf, -math.inf])
        g = bitfold.Groups("i32", [("sum", "f64"), ("sumsq", "f64"), ("max", "f64")])
        g.absorb(keys, x, x, x)
        expected = [
            (-0.0, -0.0, 0.0, math.nan), (0.0, 0.0, 0.0, math.inf), (-0.0, -0.0, 0.0, math.inf),
        ]  # fmt: skip
        for i, each in enumerate(expected):
            self.assertEqual([bits(v) for v in g.result(i).tolist()], [bits(v) for v in each])

    def test_nan_policies(self):
        keys = np.array([1, 1, 2], "i4")
        x = np.array([np.nan, 1.0, 2.0])
        g = bitfold.Groups("i32", [("sum", "f64"), ("min", "f64")]).absorb(keys, x, x)
        self.assertEqual([bits(v) for v in g.result(0).tolist()], ["nan", bits(2.0)])
        self.assertEqual(g.result(0, nan="skip").tolist(), [1.0, 2.0])
        self.assertEqual(g.result(1, nan="skip").tolist(), [1.0, 2.0])
        self.assertRaises(bitfold.NanError, g.result, 0, nan="error")


class Arrays(unittest.TestCase):
    """What results are, with NumPy and without."""

    def groups(self):
        keys, x = np.array([3, -1, 3], "i2"), np.array([0.5, 1.5, 2.5])
        aggregates = [("sum", "f64"), ("max", "f16"), ("sum", "u8"), ("min", "bool"), ("mean", "bf16")]
        each = x, x.astype("f2"), np.array([200, 1, 100], "u1"), x > 1, np.array([0x3F80] * 3, "u2")
        return bitfold.Groups("i16", aggregates).absorb(keys, *each)

    def test_they_are_numpy_s(self):
        g = self.groups()
        keys, counts = g.list()
        results = [g.result(i) for i in range(5)]
        for array in (keys, counts, *results):
            self.assertIs(type(array), np.ndarray)
        self.assertEqual([a.dtype.str for a in results], ["<f8", "<f2", "<u8", "|b1", "<f8"])
        self.assertEqual((keys.tolist(), counts.tolist()), ([-1, 3], [1, 2]))
        self.assertEqual([a.tolist() for a in results],
                         [[1.5, 3.0], [1.5, 2.5], [1, 300], [True, False], [1.0, 1.0]])  # fmt: skip
        self.assertEqual(results[0][1], 3.0)

    def test_without_numpy_they_are_results(self):
        pairs = np.array([[1, 2], [1, 1], [1, 2]], "u8")
        with mock.patch.object(bitfold._arrays, "_numpy", lambda: None):
            g = self.groups()
            keys, counts = g.list()
            results = [g.result(i) for i in range(5)]
            both = bitfold.Groups("pair").absorb(pairs).list()
            joined = bitfold.join(keys, keys)
            empty = bitfold.Groups("pair", [("sum", "i8")])
            none = *empty.list(), empty.result(0)
        for array in (keys, counts, *results, *both, *joined, *none):
            self.assertIsInstance(array, Result)
        names = ["i16", "i64", "f64", "f16", "u64", "bool", "f64"]
        self.assertEqual([a.dtype for a in (keys, counts, *results)], names)
        self.assertEqual((keys.tolist(), counts.tolist()), ([-1, 3], [1, 2]))
        self.assertEqual([a.tolist() for a in results],
                         [[1.5, 3.0], [1.5, 2.5], [1, 300], [True, False], [1.0, 1.0]])  # fmt: skip
        self.assertEqual((both[0].tolist(), both[1].tolist()), ([[1, 1], [1, 2]], [1, 2]))
        self.assertEqual([a.tolist() for a in joined], [[0, 1], [0, 1]])
        self.assertEqual([len(a) for a in none], [0, 0, 0])

    def test_sums_beyond_64_bits(self):
        keys, x = np.array([1, 1, 2, 3, 3], "i4"), np.array([2**62, 2**62, 5, -(2**63), -1])
        g = bitfold.Groups("i32", [("sum", "i64"), ("sumsq", "i64")]).absorb(keys, x, x)
        self.assertRaisesRegex(bitfold.RangeError, "the sum of group 0 does not fit i64", g.result, 0)
        values, fits = g.result(0, fits=True)
        self.assertEqual((values.tolist(), fits.tolist()), ([-(2**63), 5, 2**63 - 1], [False, True, False]))
        self.assertEqual(g.result(0, overflow="wrap").tolist(), values.tolist())
        self.assertEqual(g.result(0, out_dtype="f64").tolist(), [2.0**63, 5.0, -(2.0**63)])
        self.assertEqual(g.result_list(0), [2**63, 5, -(2**63) - 1])
        self.assertEqual(g.result_list(1), [2**125, 25, 2**126 + 1])
        self.assertRaises(bitfold.ArgumentError, g.result, 0, ddof=3)


class ManyGroups(GroupsTest):
    """More groups than fit a thread's cache: rows are sorted by hash first."""

    def check(self, keys, name, **options):
        for context in CONTEXTS:
            x = (np.arange(len(keys)) * 0.37).astype("f4")
            g = bitfold.Groups(name, [("sum", "f32"), ("max", "f32")], context=context, **options)
            half = len(keys) // 3
            g.absorb(keys[:half], x[:half], x[:half]).absorb(keys[half:], x[half:], x[half:])
            found, counts = g.list()
            expected, index, expected_counts = np.unique(
                keys, return_inverse=True, return_counts=True
            )
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(counts, expected_counts)
            sums = np.bincount(index, weights=x.astype("f8"))
            np.testing.assert_allclose(g.result(0), sums, rtol=1e-12)
            most = np.zeros(len(expected), "f4")
            np.maximum.at(most, index, x)
            np.testing.assert_array_equal(g.result(1), most)

    def test_random_keys(self):
        rng = np.random.default_rng(1)
        for name in ("u32", "i64"):
            self.check(rng.integers(0, 1 << 20, 900000).astype(HELD[name]), name)

    def test_hostile_keys(self):
        i = np.arange(400000, dtype="u8")
        for keys in (i * 0 + 5, i, i << 12, i << 40, (i & 255) << 56 | i, i * 0x9E3779B97F4A7C15):
            self.check(keys.astype("u8"), "u64")
        self.check(np.arange(1 << 16, dtype="u2").repeat(3), "u16")
        self.check(np.array([0, 2**32 - 1, 1] * 1000, "u4"), "u32")

    def test_keys_chosen_against_the_seed_take_no_longer(self):
        """Keys whose hashes under seed 0 are neighbours."""
        first, second = (mix((c) & (1 << 64) - 1) for c in (0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A))
        keys = unhash(np.arange(120000, dtype="u8") + (0xABCDEF << 40), first, second)
        for context in (CONTEXTS[0], CONTEXTS[-1]):
            groups = bitfold.Groups("u64", context=context)
            began = time.process_time()
            groups.absorb(keys)
            took = time.process_time() - began
            self.assertEqual(len(groups), len(keys))
            self.assertLess(took, 2)

    def test_small_chunks_into_many_groups(self):
        rng = np.random.default_rng(5)
        keys = rng.integers(0, 1 << 20, 900000).astype("u4")
        g = bitfold.Groups("u32", context=CONTEXTS[1])
        g.absorb(keys[:700000])
        for at in range(700000, 900000, 20000):
            g.absorb(keys[at : at + 20000])
        found, counts = g.list()
        expected = np.unique(keys, return_counts=True)
        np.testing.assert_array_equal(found, expected[0])
        np.testing.assert_array_equal(counts, expected[1])
        small = bitfold.Groups("u32", context=CONTEXTS[1]).absorb(keys[:1000])
        small.merge(g)
        self.assertEqual(len(small), len(g))
        other = bitfold.Groups("u32", seed=99, context=CONTEXTS[2]).absorb(keys)
        for into, more in ((bitfold.Groups("u32"), other), (other, g)):
            into.merge(more)
            np.testing.assert_array_equal(into.list()[0], expected[0])
        np.testing.assert_array_equal(other.list()[1], 2 * expected[1])
        g.merge(g)
        np.testing.assert_array_equal(g.list()[1], 2 * expected[1])
        g.clear()
        self.assertEqual((len(g), g.rows), (0, 0))
        g.absorb(keys[:10])
        self.assertEqual(len(g), len(set(keys[:10].tolist())))


def mix(x):
    mask = (1 << 64) - 1
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return x ^ x >> 31


def unshift(x, by):
    y = x
    for _ in range(64 // by):
        y = x ^ y >> np.uint64(by)
    return y


def unhash(h, first, second):
    """The keys of 8 bytes with these hashes."""
    inverse = lambda a: np.uint64(pow(a, -1, 1 << 64))
    x = unshift(h, 31) * inverse(0x94D049BB133111EB)
    x = (unshift(x, 27) ^ np.uint64(second)) * inverse(0xBF58476D1CE4E5B9)
    return unshift(x, 30) ^ np.uint64(first)


class Unique(unittest.TestCase):
    def test_unique_is_numpy_s(self):
        rng = np.random.default_rng(2)
        x = rng.integers(-50, 50, (30, 40)).astype("i2")
        for each in (x, x[::-1, ::3], x.T):
            found = bitfold.unique(each)
            expected = np.unique(each, return_counts=True)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


class Wide(unittest.TestCase):
    """Integers of 128 bits as keys and values, and decimals as keys of joins."""

    def setUp(self):
        try:
            self.groups = bitfold.Groups("i128", [("sum", "i128"), ("max", "i128")])
        except bitfold.DtypeError:
            self.skipTest("the library does not group i128")

    def test_keys_and_values(self):
        keys = np.array([2**100, -7, 2**100, 5], object)
        values = np.array([2**90, 1, 2**90, -(2**126)], object)
        self.groups.absorb(keys, values, values)
        found, counts = self.groups.list()
        self.assertEqual((found.dtype, found.tolist(), counts.tolist()), (np.dtype(object), [-7, 5, 2**100], [1, 1, 2]))
        self.assertEqual(self.groups.result(0).tolist(), [1, -(2**126), 2**91])
        self.assertEqual(self.groups.result(1).tolist(), [1, -(2**126), 2**90])
        self.assertEqual(self.groups.result_list(0), [1, -(2**126), 2**91])
        again = bitfold.Groups.load(self.groups.save())
        self.assertEqual((again.key, again.list()[0].tolist()), ("i128", found.tolist()))

    def test_join(self):
        a, b = np.array([2**100, -7, 2**100], object), np.array([5, 2**100], object)
        self.assertEqual([each.tolist() for each in bitfold.join(a, b)], [[0, 2], [1, 1]])


class Saved(GroupsTest):
    def test_equal_groups_are_equal_bytes_and_come_back(self):
        """Parts of a script saved by several contexts, loaded and merged in another order."""
        for script in cases.seeds((SCRIPTS + 1) // 2):
            rng = np.random.default_rng([9, script])
            key = list(HELD)[script % len(HELD)]
            n, spread = int(rng.choice([0, 1, 9, 500, 3000])), int(rng.choice([1, 3, 40, 900]))
            aggregates = [
                (OPS[rng.integers(len(OPS))], DTYPES[rng.integers(len(DTYPES))])
                for _ in range(rng.integers(0, 4))
            ]
            keys = elements(rng, key, n, spread)
            values = [elements(rng, dtype, n, 100) for _, dtype in aggregates]
            whole = bitfold.Groups(key, aggregates, seed=script, context=CONTEXTS[0])
            whole.absorb(keys, *values)
            saved, parts, at = whole.save(), [], 0
            while at < n:
                some = min(n - at, int(rng.choice([1, 40, 1100, 3000])))
                context = CONTEXTS[script % len(CONTEXTS)]
                part = bitfold.Groups(key, aggregates, seed=script, context=context)
                part.absorb(keys[at : at + some], *(x[at : at + some] for x in values))
                parts.append(part.save())
                at += some
            rng.shuffle(parts)
            with self.subTest(script=script, key=key, aggregates=aggregates, n=n):
                back = bitfold.Groups.load(saved, context=CONTEXTS[1])
                self.assertEqual((back.key, back.aggregates), (key, aggregates))
                self.assertEqual((back.rows, len(back)), (n, len(whole)))
                self.assertEqual(back.save(), saved)
                for nan in ("propagate", "skip"):
                    self.assertEqual(self.answer(back, nan=nan), self.answer(whole, nan=nan))
                total = bitfold.Groups(key, aggregates, seed=script, context=CONTEXTS[-1])
                for part in parts[:60]:
                    total.merge(bitfold.Groups.load(bytes(part), context=CONTEXTS[-1]))
                if len(parts) <= 60:
                    self.assertEqual(total.save(), saved)
                back.absorb(keys, *values).merge(whole)
                for part in (whole, whole):
                    total.merge(part)
                if len(parts) <= 60:
                    self.assertEqual(total.save(), back.save())

    def test_many_groups(self):
        rng = np.random.default_rng(6)
        keys = rng.integers(0, 1 << 20, 700000).astype("u4")
        x = rng.normal(size=len(keys)) * 10.0 ** rng.integers(-30, 30, len(keys))
        saved = set()
        for context in CONTEXTS:
            g = bitfold.Groups("u32", [("sum", "f64"), ("max", "f64")], context=context)
            g.absorb(keys, x, x)
            saved.add(g.save())
            saved.add(bitfold.Groups.load(g.save(), context=context).save())
        self.assertEqual(len(saved), 1)

    def test_damage_is_refused(self):
        g = bitfold.Groups("i16", [("sum", "f64"), ("min", "f32")])
        g.absorb(np.array([3, -1, 3], "i2"), np.array([1.5, -np.inf, 2]), np.zeros(3, "f4"))
        saved = g.save()
        for at in range(len(saved)):
            for bad in (saved[:at], saved[:at] + bytes([saved[at] ^ 1]) + saved[at + 1 :]):
                self.assertRaises(bitfold.StateError, bitfold.Groups.load, bad)
        self.assertRaises(bitfold.StateError, bitfold.Groups.load, saved + b"\0")


class Retracted(unittest.TestCase):
    def test_rows_are_taken_out_again(self):
        x, w = np.array([0.5, 1.5, 1.5]), np.array([-0.0, 1, 2], np.float32)
        made = lambda: bitfold.Groups("f64", [("sum", "f32")])
        both, rest = made().absorb(x, w), made().absorb(x[:2], w[:2])
        both -= made().absorb(x[2:], w[2:])
        self.assertEqual(both.save(), rest.save())
        both += made().absorb(x[2:], w[2:])
        self.assertEqual(both.save(), made().absorb(x, w).save())


class Refused(unittest.TestCase):
    def test_what_does_not_fit(self):
        g = bitfold.Groups("i32", [("sum", "f64")])
        x, k = np.zeros(3), np.zeros(3, "i4")
        self.assertRaises(bitfold.DtypeError, g.absorb, k.astype("i8"), x)
        self.assertRaises(bitfold.ShapeError, g.absorb, k, x[:2])
        self.assertRaises(bitfold.ArgumentError, g.absorb, k)
        self.assertRaises(bitfold.ArgumentError, bitfold.Groups, "i32", [("argmin", "f64")])
        self.assertRaises(bitfold.StateError, g.merge, bitfold.Groups("i32"))
        self.assertEqual((len(g), g.rows), (0, 0))
        self.assertRaises(bitfold.ArgumentError, g.result, 1)
        self.assertEqual((g.result(0).tolist(), g.result_list(0)), ([], []))


class Join(unittest.TestCase):
    def check(self, a, b, name):
        x, y = ([key_and_rank(each, name)[0] for each in side] for side in (a, b))
        expected = [(p, q) for p in range(len(x)) for q in range(len(y)) if x[p] == y[q]]
        for context in CONTEXTS[1:]:
            found = bitfold.join(placed(a, context), b, dtype=name, context=context)
            self.assertEqual(list(zip(*(each.tolist() for each in found))), expected)

    def test_pairs_are_those_of_nested_loops(self):
        for script, name in enumerate(HELD):
            for context in range(3):
                rng = np.random.default_rng([script, context])
                n, m = (int(rng.choice([0, 1, 90, 150])) for _ in range(2))
                both = elements(rng, name, n + m, 40)
                self.check(both[:n], both[n:], name)

    def test_large_joins_are_those_of_sorted_merging(self):
        rng = np.random.default_rng(4)
        a, b = rng.integers(0, 50000, 200000), rng.integers(0, 50000, 100000)
        order = np.argsort(b, kind="stable")
        first = np.searchsorted(b[order], a, "left")
        count = np.searchsorted(b[order], a, "right") - first
        expected_i = np.repeat(np.arange(len(a)), count)
        start = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        expected_k = order[np.arange(count.sum()) + start]
        for context in CONTEXTS:
            i, k = bitfold.join(a, b, context=context)
            np.testing.assert_array_equal(i, expected_i)
            np.testing.assert_array_equal(k, expected_k)

    def test_more_pairs_than_memory_is_an_error(self):
        x = np.zeros(1 << 23, "u4")  # 2^50 bytes: also where memory is promised freely
        self.assertRaises(bitfold.OutOfMemoryError, bitfold.join, x, x)

    def test_dtypes_must_agree(self):
        self.assertRaises(bitfold.DtypeError, bitfold.join, np.zeros(2), np.zeros(2, "i4"))
