"""Hash tables: random scripts of calls against a dict, for all dtypes, policies and thread counts;
keys that are hard to hash; what is saved, and refused.
Builds: release (full), asan (full)."""

import ctypes
import math
import os
import pickle
import random
import time
import unittest

import numpy as np

import bitfold
import cases
from devices import gpus, placed

HELD = {"i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "f32": "f4", "f64": "f8", "pair": "u8"}
NAMES = list(HELD)
POLICIES = ["first", "last", "min", "max", "add", "keep"]
GPUS = gpus()
ONLY_GPU = os.environ.get("BITFOLD_DEVICE") == "cuda"
CPUS = [bitfold.Context(device="cpu", threads=n, isa="generic" if n == 1 else "auto")
        for n in (1, 2, 8)]
CONTEXTS = GPUS if ONLY_GPU else CPUS + GPUS
SCRIPTS = cases.number(150)


def random_bits(rng, name, n, spread):
    """n elements out of `spread` different ones (some of them special), of any bits."""
    shape = (n, 2) if name == "pair" else (n,)
    width = np.dtype(HELD[name]).itemsize
    pool = np.random.default_rng(spread).integers(0, 256, (spread * 2, width), dtype=np.uint8)
    pool = pool.view(HELD[name]).reshape(-1)
    if name[0] == "f":
        pool[:6] = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf][: min(6, len(pool))]
    elif len(pool) > 4:
        pool[:2] = 0
        pool.view(f"i{width}")[2:4] = -1
    if name == "pair":
        return pool.reshape(-1, 2)[rng.integers(0, spread, n)].reshape(shape)
    return pool[rng.integers(0, spread, n)]


def as_bits(x, name):
    """The array's elements as Python objects of their bits."""
    x = np.ascontiguousarray(x)
    if name == "pair":
        return [tuple(each) for each in x.view("u8").reshape(-1, 2).tolist()]
    return x.view(f"u{x.dtype.itemsize}").reshape(-1).tolist()


def key_of(bits, name):
    """The one key that these bits stand for."""
    if name[0] != "f":
        return bits
    width = 32 if name == "f32" else 64
    infinity, nan = (0x7F800000, 0x7FC00000) if width == 32 else (0x7FF << 52, 0x7FF8 << 48)
    if bits & (1 << width - 1) - 1 > infinity:
        return nan
    return 0 if bits == 1 << width - 1 else bits


def rank(bits, name):
    """What elements are ordered by."""
    width = 8 * np.dtype(HELD[name]).itemsize
    if name == "pair" or name[0] == "u" or bits >> width - 1 == 0:
        return bits
    return bits - (1 << width) if name[0] == "i" else -1 - (bits ^ 1 << width - 1)


class Oracle:
    """A dict of lists of values, as bits."""

    def __init__(self, key, value, policy):
        self.key, self.value, self.policy = key, value, policy
        self.entries = {}

    def canonical(self, value):
        if self.policy in ("min", "max") and self.value[0] == "f" and self.is_nan(value):
            return key_of(value, self.value)
        return value

    def is_nan(self, value):
        return self.value[0] == "f" and key_of(value, self.value) in (0x7FC00000, 0x7FF8 << 48)

    def insert(self, keys, values):
        for key, value in zip(as_bits(keys, self.key), values):
            key, value = key_of(key, self.key), self.canonical(value)
            if key not in self.entries:
                self.entries[key] = [value]
            elif self.policy == "keep":
                self.entries[key].append(value)
            else:
                self.entries[key] = [self.combined(self.entries[key][0], value)]

    def combined(self, a, b):
        if self.policy in ("min", "max"):
            for each in (a, b):
                if self.is_nan(each):
                    return each
            pick = min if self.policy == "min" else max
            return pick(a, b, key=lambda x: rank(x, self.value))
        if self.policy == "add":
            return (a + b) % (1 << 8 * np.dtype(HELD[self.value]).itemsize)
        return b if self.policy == "last" else a

    def get(self, key):
        return self.entries.get(key_of(key, self.key), [])

    def erase(self, keys):
        return sum(len(self.entries.pop(key_of(k, self.key), [])) for k in as_bits(keys, self.key))

    def size(self):
        return sum(map(len, self.entries.values()))

    def exported(self):
        keys = sorted(self.entries, key=lambda x: rank(x, self.key))
        return [(k, v) for k in keys for v in self.entries[k]]


def checked(test, table, oracle, queries):
    """Does the table say what the oracle says?"""
    key, value = oracle.key, oracle.value
    bits = as_bits(queries, key)
    test.assertEqual(len(table), oracle.size())
    expected = [oracle.get(k) for k in bits]
    test.assertEqual(np.asarray(table.contains(queries)).tolist(), [e != [] for e in expected])
    test.assertEqual(np.asarray(table.count(queries)).tolist(), [len(e) for e in expected])
    keys, values = table.export()
    listed = as_bits(keys, key)
    if value is None:
        test.assertIsNone(values)
        test.assertEqual(listed, [k for k, _ in oracle.exported()])
        return
    values = as_bits(values, value)
    test.assertEqual(list(zip(listed, values)), oracle.exported())
    got, found = table.find(queries)
    none = (0, 0) if value == "pair" else 0
    test.assertEqual(np.asarray(found).tolist(), [e != [] for e in expected])
    test.assertEqual(as_bits(got, value), [e[0] if e else none for e in expected])
    everything, _ = table.find_all(queries)
    test.assertEqual(as_bits(everything, value), [v for e in expected for v in e])


def allowed(policy, value):
    if policy == "add":
        return value in ("i32", "u32", "i64", "u64")
    return policy not in ("min", "max") or value not in (None, "pair")


def laid(rng, x, table):
    """Returns these elements, now and then in memory that is not contiguous, or is a GPU's."""
    x = strided(rng, x)
    return placed(x, table._context) if rng.integers(0, 2) and x.size else x


def strided(rng, x):
    kind = rng.integers(0, 4)
    if kind == 0 and len(x) > 0:
        wide = np.empty((len(x), 3) + x.shape[1:], x.dtype)
        wide[:, 1] = x
        return wide[:, 1]
    if kind == 1:
        return np.ascontiguousarray(x[::-1])[::-1]
    return x


class Scripts(unittest.TestCase):
    def script(self, seed):
        rng = np.random.default_rng(seed)
        pick = random.Random(seed)
        key, value = pick.choice(NAMES), pick.choice(NAMES + [None])
        policy = pick.choice([p for p in POLICIES if allowed(p, value)])
        context = pick.choice(CONTEXTS)
        spread = pick.choice([1, 3, 60, 1000, 30000])
        most = pick.choice([3, 100, 3000])
        table = bitfold.Table(
            key, value, policy, seed=pick.choice([0, 1, 2**64 - 1]), context=context,
            reserve=pick.choice([0, 0, 10, 5000]),
        )  # fmt: skip
        oracle = Oracle(key, value, policy)
        for _ in range(pick.choice([3, 12])):
            what = pick.choice("iiiiiees1cp" if policy != "keep" else "iiiiiees1p")
            n = int(rng.integers(0, most))
            keys = random_bits(rng, key, n, spread)
            if what == "i":
                values = None if value is None else random_bits(rng, value, n, 50)
                oracle.insert(keys, [None] * n if value is None else as_bits(values, value))
                args = [keys] if value is None else [keys, values]
                args = [laid(rng, x, table) for x in args]
                self.assertIs(table.insert(*args), table)
            elif what == "e":
                self.assertEqual(table.erase(laid(rng, keys, table)), oracle.erase(keys))
            elif what == "s":
                saved = table.save()
                table = bitfold.Table.load(saved, context=pick.choice(CONTEXTS))
                self.assertEqual(table.save(), saved)
            elif what == "p":
                table = table.copy(context=pick.choice(CONTEXTS))
            elif what == "c" and pick.random() < 0.3:
                table.clear()
                oracle.entries.clear()
            elif what == "1":
                self.one_by_one(table, oracle, keys[:20])
        queries = random_bits(rng, key, most, spread + 5)
        with self.subTest(seed=seed, key=key, value=value, policy=policy, spread=spread):
            checked(self, table, oracle, queries)

    def one_by_one(self, table, oracle, keys):
        if oracle.key[0] == "f":
            return  # a Python float has lost the bits
        for key, bits in zip(keys.tolist(), as_bits(keys, oracle.key)):
            self.assertEqual(key in table, oracle.get(bits) != [])
            if oracle.get(bits) and key % 2 if oracle.key != "pair" else oracle.get(bits):
                del table[key]
                del oracle.entries[bits]
            elif oracle.value is None:
                table.add(key)
                oracle.insert(self.one(keys, bits, oracle), [None])
            else:
                zero = (0, 0) if oracle.value == "pair" else 0
                table.add(key, zero)
                oracle.insert(self.one(keys, bits, oracle), [zero])
                if oracle.value[0] != "f":
                    value = table[key]
                    width = 8 * np.dtype(HELD[oracle.value]).itemsize
                    first = value if oracle.value == "pair" else value % (1 << width)
                    self.assertEqual(first, oracle.get(bits)[0])

    @staticmethod
    def one(keys, bits, oracle):
        width = keys.dtype.itemsize
        return np.array([bits], f"u{width}")

    def test_random_scripts_agree_with_a_dict(self):
        for seed in cases.seeds(SCRIPTS):
            self.script(seed)


def bulk(context, keys, values, policy="first", key="u32", value="u32", **options):
    table = bitfold.Table(key, value, policy, context=context, **options)
    return table.insert(keys, values)


class Bulk(unittest.TestCase):
    """Enough entries for parts, growth on the way, and threads."""

    N = 300_000

    def assert_first_wins(self, keys, key="u32"):
        values = np.arange(len(keys), dtype="u4")
        unique, first = np.unique(keys, return_index=True)
        for context in CONTEXTS:
            table = bulk(context, keys, values, key=key)
            got_keys, got_values = map(np.asarray, table.export())
            self.assertTrue(np.array_equal(got_keys, unique))
            self.assertTrue(np.array_equal(got_values, first.astype("u4")))
            found = np.asarray(table.find(keys)[0])
            self.assertTrue(np.array_equal(unique[np.searchsorted(unique, keys)], keys))
            self.assertTrue(np.array_equal(found, first[np.searchsorted(unique, keys)]))

    def test_hard_keys(self):
        rng = np.random.default_rng(1)
        n = self.N
        self.assert_first_wins(np.zeros(n, "u4"))
        self.assert_first_wins(np.full(n, 2**32 - 1, "u4"))
        self.assert_first_wins(np.arange(n, dtype="u4"))
        self.assert_first_wins(rng.permutation(n).astype("u4") + np.uint32(2**31))
        self.assert_first_wins(np.arange(2**16, dtype="u4"))
        for shift in (8, 12, 13):
            self.assert_first_wins((np.arange(n, dtype="u8") << shift).astype("u4"))
        for shift in (16, 32, 44):
            self.assert_first_wins(np.arange(n, dtype="u8") << np.uint64(shift), key="u64")
        self.assert_first_wins(rng.integers(0, 1000, n).astype("i4"), key="i32")
        self.assert_first_wins(rng.zipf(1.2, n).astype("u4"))
        self.assert_first_wins(rng.integers(-(2**62), 2**62, n), key="i64")
        self.assert_first_wins(rng.normal(size=n), key="f64")
        self.assert_first_wins(rng.normal(size=n).astype("f4"), key="f32")

    def test_the_key_that_marks_free_places(self):
        marks = [mix(each) for each in seeds_of(0)]
        words = np.random.default_rng(7).integers(0, 2**32, self.N, dtype="u8")
        words[::1000] = marks[0]
        self.assert_first_wins(words, key="u64")
        self.assert_first_wins(words.astype("u4"))
        for context in CONTEXTS:
            table = bitfold.Table("pair", "u32", "keep", context=context)
            pairs = np.stack([words, np.full(self.N, marks[1], "u8")], axis=1)
            table.insert(pairs, np.arange(self.N, dtype="u4"))
            kept = np.asarray(table.find_all(np.array([marks], "u8"))[0])
            self.assertTrue(np.array_equal(kept, np.nonzero(words == np.uint64(marks[0]))[0]))
            self.assertEqual(table.erase(np.array([marks], "u8")), len(kept))
            self.assertEqual(len(table), self.N - len(kept))

    def test_clusters_of_close_floats(self):
        close = np.nextafter(np.float32(1), np.float32(2)) - np.float32(1)
        self.assert_first_wins(np.float32(1) + close * np.arange(self.N, dtype="f4"), key="f32")

    def test_growth_from_batch_to_batch(self):
        rng = np.random.default_rng(2)
        keys = rng.integers(0, 2**21, 1_500_000).astype("u4")
        values = np.arange(len(keys), dtype="u8")
        tables = []
        for context in CONTEXTS:
            table = bitfold.Table("u32", "u64", "last", context=context)
            at = 0
            for size in (1, 10, 1000, 70_000, 200_000, 3, 100_000, 500_000, 5, 600_000):
                table.insert(keys[at : at + size], values[at : at + size])
                at += size
            tables.append(table)
        expected = dict(zip(keys[:at].tolist(), values[:at].tolist()))
        self.assertEqual(len(tables[0]), len(expected))
        got = [np.asarray(x).tolist() for x in tables[0].export()]
        self.assertEqual(list(zip(*got)), sorted(expected.items()))
        self.assertEqual(len({table.save() for table in tables}), 1)

    def test_policies_do_not_depend_on_threads(self):
        rng = np.random.default_rng(3)
        keys = rng.integers(0, 40_000, self.N).astype("i8")
        values = rng.normal(size=self.N)
        values[::1000] = np.nan
        for policy in ("first", "last", "min", "max", "keep"):
            saved = set()
            for context in CONTEXTS:
                table = bulk(context, keys, values, policy, "i64", "f64")
                half = bulk(context, keys[: self.N // 2], values[: self.N // 2], policy, "i64", "f64")
                half.insert(keys[self.N // 2 :], values[self.N // 2 :])
                saved |= {table.save(), half.save()}
            self.assertEqual(len(saved), 1, policy)

    def test_sums(self):
        rng = np.random.default_rng(4)
        keys = rng.integers(0, 5000, self.N).astype("u4")
        for context in CONTEXTS:
            table = bulk(context, keys, np.ones(self.N, "i8"), "add", value="i64")
            unique, counts = np.unique(keys, return_counts=True)
            got = [np.asarray(x) for x in table.export()]
            self.assertTrue(np.array_equal(got[0], unique) and np.array_equal(got[1], counts))
        wrapped = bulk(None, np.zeros(3, "u4"), np.full(3, 2**31, "u4"), "add")
        self.assertEqual(wrapped[0], 2**31)

    def test_a_copy_has_a_life_of_its_own(self):
        keys = np.arange(1000, dtype="u4")
        for a in CONTEXTS:
            for b in CONTEXTS:
                table = bulk(a, keys, keys, "keep").insert(keys[::-1], keys)
                saved = table.save()
                copy = table.copy(context=b)
                self.assertEqual(copy.save(), saved)
                self.assertEqual(copy.erase(keys[:10]), 20)
                self.assertEqual((len(copy), len(table), table.save()), (1980, 2000, saved))

    def test_a_multimap_keeps_the_order(self):
        rng = np.random.default_rng(5)
        values = np.arange(self.N, dtype="u4")
        for spread in (1, 100, 2**31):
            keys = rng.integers(0, spread, self.N).astype("u4")
            order = np.argsort(keys, kind="stable")
            for context in CONTEXTS:
                table = bulk(context, keys, values, "keep")
                got = [np.asarray(x) for x in table.export()]
                self.assertTrue(np.array_equal(got[0], keys[order]))
                self.assertTrue(np.array_equal(got[1], order.astype("u4")))

    def test_dead_values_of_a_multimap_go(self):
        table = bitfold.Table("u32", "u32", "keep")
        keys = np.arange(3000, dtype="u4") % 100
        for i in range(20):
            table.insert(keys, np.arange(3000, dtype="u4") + np.uint32(i))
            self.assertEqual(table.erase(np.arange(99, dtype="u4")), 99 * 30)
        values = np.asarray(table.find_all(np.array([99], "u4"))[0])
        expected = np.concatenate([np.arange(99, 3000, 100) + i for i in range(20)])
        self.assertTrue(np.array_equal(values, expected))

    def test_erasing_and_entering_again(self):
        rng = np.random.default_rng(6)
        table = bitfold.Table("u64", "u64", context=CONTEXTS[-1])
        there = {}
        for i in range(12):
            keys = rng.integers(0, 60_000, 40_000).astype("u8") << np.uint64(40)
            table.insert(keys, keys + np.uint64(i))
            for key in keys.tolist():
                there.setdefault(key, key + i)
            gone = rng.integers(0, 60_000, 30_000).astype("u8") << np.uint64(40)
            expected = sum(there.pop(key, None) is not None for key in gone.tolist())
            self.assertEqual(table.erase(gone), expected)
        got = [np.asarray(x).tolist() for x in table.export()]
        self.assertEqual(list(zip(*got)), sorted(there.items()))


M32 = 2**32 - 1
M64 = 2**64 - 1


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


def unshift(x, by):
    """The inverse of x ^ x >> by."""
    y = x
    for _ in range(64 // by + 1):
        y = x ^ y >> by
    return y


def seeds_of(seed):
    return mix(seed + 0x9E3779B97F4A7C15 & M64), mix(seed + 0x3C6EF372FE94F82A & M64)


def key_with_hash(h, seed):
    """The u64 key whose hash is h in a table with this seed (src/rules/key/hash.h, src/cpu/table/table.h)."""
    first, second = seeds_of(seed)
    x = unshift(h, 31) * pow(0x94D049BB133111EB, -1, 2**64) & M64
    x = (unshift(x, 27) ^ second) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & M64
    return unshift(x, 30) ^ first ^ mix(first)


def pair_with_the_same_hash(i, seed):
    first, second = seeds_of(seed)
    return i ^ mix(first), mix(i ^ second) ^ mix(second)


class Hostile(unittest.TestCase):
    """Keys that are chosen for one bucket, or one hash, by somebody who knows the seed."""

    def assert_quick(self, name, keys):
        start = time.monotonic()
        table = bitfold.Table(name, "u64", seed=7, context=CONTEXTS[0])
        numbers = np.arange(len(keys), dtype="u8")
        for part in np.array_split(numbers, 10):
            table.insert(keys[int(part[0]) : int(part[-1]) + 1], part)
        at_once = bitfold.Table(name, "u64", seed=7, context=CONTEXTS[-1]).insert(keys, numbers)
        self.assertTrue(np.array_equal(np.asarray(table.find(keys)[0]), numbers))
        self.assertEqual(table.save(), at_once.save())
        self.assertLess(time.monotonic() - start, 10)

    def test_words(self):
        keys = [key_with_hash(0x123456789 << 28 | i, 7) for i in range(100_000)]
        self.assert_quick("u64", np.array(keys, "u8"))

    def test_pairs(self):
        keys = [pair_with_the_same_hash(i, 7) for i in range(100_000)]
        self.assert_quick("pair", np.array(keys, "u8"))


class Saved(unittest.TestCase):
    def test_anything_else_is_refused(self):
        table = bitfold.Table("f32", "u64", "min").insert(
            np.array([3, np.nan, -1], "f4"), np.array([1, 2, 3], "u8")
        )
        saved = table.save()
        for at in range(len(saved)):
            damaged = bytearray(saved)
            damaged[at] ^= 1 << at % 8
            with self.assertRaises(bitfold.StateError):
                bitfold.Table.load(damaged)
            with self.assertRaises(bitfold.StateError):
                bitfold.Table.load(saved[:at])

    def test_the_same_entries_save_to_the_same_bytes(self):
        keys = np.random.default_rng(1).permutation(5000).astype("u4")
        grown = bitfold.Table("u32", "u32")
        for each in np.array_split(keys, 50):
            grown.insert(each, each)
        at_once = bitfold.Table("u32", "u32", reserve=10**6).insert(keys, keys)
        self.assertEqual(grown.save(), at_once.save())


class Merged(unittest.TestCase):
    def test_a_merged_table_is_that_of_all_entries_in_order(self):
        pick = np.random.default_rng(5)
        for policy in POLICIES:
            for key, value in (("u32", "i64"), ("pair", "u32"), ("f64", "f64")):
                if (policy, value) == ("add", "f64"):
                    continue
                kind = key, value, policy
                parts = []
                for n in (3000, 0, 2000):
                    shape = (n, 2) if key == "pair" else n
                    keys = pick.integers(0, 900, shape).astype(HELD[key])
                    values = pick.integers(0, 99, n).astype(HELD[value])
                    parts.append((keys, values))
                whole, merged = bitfold.Table(*kind), bitfold.Table(*kind)
                for keys, values in parts:
                    whole.insert(keys, values)
                    part = bitfold.Table(*kind).insert(keys, values)
                    before = part.save()
                    self.assertIs(merged.merge(pickle.loads(pickle.dumps(part))), merged)
                    self.assertEqual(part.save(), before)
                self.assertEqual(merged, whole, kind)
                self.assertEqual(pickle.loads(pickle.dumps(whole)).duplicates, policy)

    def test_sets(self):
        first, second = (bitfold.Table("i64").insert(np.arange(n)) for n in (5, 9))
        self.assertEqual(first + second, second)
        self.assertNotEqual(first, second)

    def test_other_kinds_are_refused(self):
        table = bitfold.Table("i64", "i64").insert(np.arange(3), np.arange(3))
        for other in (("i64", "i64", "last"), ("i64", "u64"), ("u64", "i64"), ("i64",)):
            with self.assertRaises(bitfold.StateError):
                table.merge(bitfold.Table(*other))
        self.assertEqual(len(table), 3)


class Errors(unittest.TestCase):
    def test_what_is_no_table(self):
        for arguments in (("i8",), ("bool",), ("u32", "f16"), ("u32", "f32", "add"),
                          ("u32", None, "min"), ("u32", "pair", "max")):
            with self.assertRaises(bitfold.DtypeError):
                bitfold.Table(*arguments)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Table("u32", duplicates="none")
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Table("u32", reserve=-1)
        with self.assertRaises(bitfold.OutOfMemoryError):
            bitfold.Table("u32", reserve=2**62)

    def test_arrays_that_do_not_fit(self):
        table = bitfold.Table("u32", "f64")
        keys, values = np.arange(6, dtype="u4"), np.arange(6.0)
        with self.assertRaises(bitfold.DtypeError):
            table.insert(keys.astype("u8"), values)
        with self.assertRaises(bitfold.DtypeError):
            table.insert(keys, values.astype("f4"))
        with self.assertRaises(bitfold.ShapeError):
            table.insert(keys, values[:5])
        with self.assertRaises(bitfold.ShapeError):
            table.insert(keys.reshape(2, 3), values)
        with self.assertRaises(bitfold.ArgumentError):
            table.insert(keys)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Table("u32").insert(keys, values)
        self.assertEqual(len(table), 0)
        with self.assertRaises(KeyError):
            table[3]

    def test_shapes(self):
        table = bitfold.Table("u32", "f64", context=CONTEXTS[0])
        keys, values = np.arange(6, dtype="u4").reshape(2, 3), np.arange(6.0).reshape(2, 3)
        table.insert(keys.T, values.T)
        got, found = table.find(keys)
        self.assertTrue(np.array_equal(np.asarray(got), values))
        self.assertTrue(np.asarray(found).all())
        self.assertTrue(math.isclose(table[5], 5))
