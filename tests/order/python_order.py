"""Order: sorts, order statistics and what else depends on order equal a plain stable sort and exact
arithmetic, on every instruction set, on 1 to 8 threads and on a GPU.

BITFOLD_CASES: how many random cases (default 300; 10000 for a release).
BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
A failure prints the seed that alone repeats it.
"""

import copy
import math
import unittest
from ctypes import byref

import numpy as np

import bitfold
import cases
import devices
import generate
from bitfold._arrays import View
from bitfold._library import lib
from oracle import DTYPES, FLOATS, INTS, as_f64, round_to
from quantiles import CHOOSING, METHODS, between, median_place, place_of

CASES = cases.number(300)
THREADS = (1, 2, 3, 8)
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


# ---- the oracle -----------------------------------------------------------------------------------


def places(x, dtype):
    """The place of each element in the order, as a number."""
    if dtype == "bool":
        return (x != 0).astype(np.uint64)
    if dtype not in FLOATS:
        return x.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63) if dtype[0] == "i" else x.astype(np.uint64)
    bits = BITS[dtype]
    raw = x.view(f"u{bits // 8}").astype(np.uint64)
    sign, ones = np.uint64(1 << (bits - 1)), np.uint64((1 << bits) - 1)
    flipped = np.where(raw & sign, ~raw & ones, raw | sign)
    return np.where(np.isnan(as_f64(x, dtype)), ones, flipped)


def order_of(x, dtype, descending, skip):
    """The positions of the elements of a line, in order."""
    p = places(x, dtype)
    if descending:
        nan = np.isnan(as_f64(x, dtype)) if dtype in FLOATS else np.zeros(len(x), bool)
        p = np.where(nan & skip, np.uint64(0xFFFFFFFFFFFFFFFF), ~p)
        if dtype in FLOATS and BITS[dtype] < 64:  # ~ has more bits than the element
            p = np.where(nan & skip, p, p & np.uint64((1 << BITS[dtype]) - 1))
    return np.argsort(p, kind="stable")


def whole_of(x, dtype):
    return (x != 0).astype(np.uint8) if dtype == "bool" else x


def number(v, dtype):
    return float(as_f64(np.array([v]), dtype)[0]) if dtype in FLOATS else int(v)


def value(line, dtype, place, kind):
    """What is at a place of a sorted line without NaN, as results of a dtype of NumPy's hold it."""
    i, t = place
    to = "f64" if kind == np.dtype("f8") else dtype
    if t == 0:
        return line[i] if kind == held(dtype) else float(number(line[i], dtype))
    return between(number(line[i], dtype), number(line[i + 1], dtype), t, lambda exact: round_to(exact, to))


def key_of(x, dtype):
    """Elements as keys: -0 as 0, every NaN as the default one."""
    if dtype not in FLOATS:
        return whole_of(x, dtype)
    wide = as_f64(x, dtype)
    return np.where(np.isnan(wide), default_nan(dtype), np.where(wide == 0, np.zeros(1, x.dtype), x))


def rank(line, dtype, order, method):
    """The rank of each element of a line whose order is given."""
    keys = places(key_of(line, dtype), dtype)[order]
    first = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    ranks = np.zeros(len(line), "f8" if method == "average" else "i8")
    for number, (begin, end) in enumerate(zip(first, [*first[1:], len(keys)])):
        of = {"average": (begin + 1 + end) / 2, "min": begin + 1, "max": end, "dense": number + 1}
        ranks[order[begin:end]] = of[method] if method in of else np.arange(begin, end) + 1
    return ranks


# ---- cases ----------------------------------------------------------------------------------------


def shape_of(rng):
    """Mostly small ones; lines about the sizes where methods change, and many short lines."""
    u = rng.random()
    if u < 0.02:
        return [int(rng.integers(1 << 14, 1 << 20))]
    if u < 0.08:
        return [int(rng.integers(1, 3)), (1 << int(rng.integers(4, 18))) + int(rng.integers(-1, 2))]
    if u < 0.1:
        length = int(rng.integers(1, 50))
        return [int(rng.integers(1, 5000)), length] if rng.random() < 0.5 else [length, int(rng.integers(1, 5000))]
    return generate.shape_of(rng)


def lowest_bits(rng, dtype, n):
    """Values that differ in their last bits, about a few that are far apart."""
    far = generate.values(rng, dtype, 2)
    x = bits_of(far)[rng.integers(0, 2, n) if rng.random() < 0.5 else np.zeros(n, int)]
    return (x ^ rng.integers(0, 1 << int(rng.integers(1, 8)), n).astype(x.dtype)).view(far.dtype)


def almost_all_nan(rng, dtype, n):
    x = generate.with_nans(rng, dtype, n)
    at = rng.integers(0, max(n, 1), 3)
    keep = np.isin(np.arange(n), at)
    return np.where(keep, x, default_nan(dtype))


def arranged(rng, x, dtype):
    """Elements in an arrangement that is hard to divide."""
    n, u = len(x), rng.random()
    if u >= 0.4 or not n:
        return x
    rising = x[np.argsort(places(x, dtype), kind="stable")]
    if u < 0.1:
        return x[rng.integers(0, min(n, 5), n)]  # few
    if u < 0.15:
        return rising
    if u < 0.2:
        return rising[::-1]
    if u < 0.25:  # an organ pipe
        return np.concatenate([rising[::2], rising[1::2][::-1]])
    if u < 0.3:  # a saw
        return np.concatenate([rising[i :: min(n, 7)] for i in range(min(n, 7))])
    if u < 0.35:  # a few are out of order
        rising[rng.integers(0, n, 3)] = x[:3] if n > 2 else x[0]
        return rising
    rest = x[rng.integers(0, n)]  # one value, and a few others
    return np.where(rng.random(n) < 0.02, x, rest)


class Problem:
    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = dtype = DTYPES[seed % len(DTYPES)]
        shape = shape_of(rng)
        n = math.prod(shape)
        if dtype in INTS and rng.random() < 0.4:
            x = generate.ints_small(rng, dtype, n)
        else:
            x = generate.values(rng, dtype, n)
        if dtype in FLOATS and rng.random() < 0.4:  # few have quantiles among data of any bits
            x = generate.normal(rng, dtype, n)
        if rng.random() < 0.1:
            x = lowest_bits(rng, dtype, n)
        if dtype in FLOATS and rng.random() < 0.04:
            x = almost_all_nan(rng, dtype, n)
        x = arranged(rng, x, dtype)
        self.x = generate.placed_anyhow(rng, np.ascontiguousarray(x).reshape(shape))
        self.named = {"dtype": dtype} if dtype in ("bool", "bf16") else {}
        self.descending = bool(rng.random() < 0.5)
        self.skip = bool(dtype in FLOATS and rng.random() < 0.4)
        self.nan = "skip" if self.skip else "propagate"
        self.axis = int(rng.integers(-self.x.ndim, self.x.ndim))

    def lines(self, axis):
        """The lines along an axis: (count, length)."""
        moved = np.moveaxis(self.x, axis, -1)
        return np.ascontiguousarray(moved).reshape(-1, self.x.shape[axis]) if moved.size else np.empty(
            (math.prod(moved.shape[:-1]), moved.shape[-1]), self.x.dtype)

    def back(self, lines, axis, dtype):
        """Lines of results as the array that bitfold gives."""
        shape = list(self.x.shape)
        length = len(lines[0]) if len(lines) else shape[axis]
        moved = [e for d, e in enumerate(shape) if d != axis % len(shape)]
        made = np.array([each for each in lines], dtype).reshape([*moved, length])
        return np.moveaxis(made, -1, axis)


def held(dtype):
    """NumPy's dtype for arrays of a dtype."""
    return np.dtype(bitfold._arrays.TYPESTR[dtype])


def bits_of(x):
    x = np.ascontiguousarray(x)
    return x.view(f"u{x.itemsize}") if x.size else x


def quantiles_are(p, method, length=0, q=()):
    """NumPy's dtype of quantiles; length: of every line, if it is known."""
    known = length > 0 and (not p.skip or p.dtype in INTS)
    whole = known and all(place_of(method, length, each)[1] == 0 for each in q)
    return held(p.dtype if method in CHOOSING or whole else "f64")


def medians_are(p, length=0):
    return held(p.dtype) if p.dtype in FLOATS or length % 2 else np.dtype("f8")


def results_of(q, p, method):
    """The results of a bitfold.Quantiles, to the bit."""
    kind, values = quantiles_are(p, method), (bitfold._library.Value * q.info().results)()
    q._context._call(lib.bf_quantiles_result, q._handle, values)
    kinds = [held(bitfold._arrays.NAMES[v.dtype]) for v in values]
    found = [np.frombuffer(bytes(v.as_), of)[0] for v, of in zip(values, kinds)]
    if kind == held(p.dtype):
        return np.array(found, kind)
    return np.array([number(v, p.dtype if of == held(p.dtype) else "f64") for v, of in zip(found, kinds)], kind)


class Random(unittest.TestCase):
    contexts = devices.contexts(THREADS)

    def assert_bits(self, found, want, what):
        if hasattr(found, "__cuda_array_interface__"):
            raise AssertionError("a result of NumPy's input is NumPy's")
        want = np.asarray(want)
        if isinstance(found, float) and math.isnan(found):  # a number keeps no payload
            self.assertTrue(want.shape == () and np.isnan(as_f64(want, "bf16" if want.dtype == np.uint16 else "f32")), what)
            return
        found = self.as_array(found, want.dtype)
        self.assertEqual((found.shape, found.dtype), (want.shape, want.dtype), what)
        self.assertTrue(np.array_equal(bits_of(found), bits_of(want)), f"{what}: {found!r}, not {want!r}")

    def as_array(self, found, dtype):
        """A result as an array: one of no dimensions is a number."""
        if not isinstance(found, (bool, int, float)):
            return np.asarray(found)
        if isinstance(found, float) and dtype == np.uint16:  # bf16
            return np.array(np.float32(found).view(np.uint32) >> 16, dtype)
        return np.array(found, dtype)

    def put(self, x):
        return devices.placed(x, self.context)

    # ---- one function for each call: what it returns, and what it should

    def check_sort(self, p, what):
        lines = p.lines(p.axis)
        orders = [order_of(each, p.dtype, p.descending, p.skip) for each in lines]
        options = dict(descending=p.descending, nan=p.nan, context=self.context, **p.named)
        kind = held(p.dtype)
        values = [whole_of(each, p.dtype)[o] for each, o in zip(lines, orders)]
        self.assert_bits(
            bitfold.sort(self.put(p.x), p.axis, **options), p.back(values, p.axis, kind), what
        )
        self.assert_bits(
            bitfold.argsort(self.put(p.x), p.axis, **options), p.back(orders, p.axis, "<i8"), what
        )

    def check_top(self, p, what):
        lines = p.lines(p.axis)
        n = lines.shape[1]
        k = int(p.rng.choice([0, 1, n // 2, n, int(p.rng.integers(0, n + 1)), n + 1, 2**40]))
        orders = [order_of(each, p.dtype, p.descending, p.skip)[:k] for each in lines]
        values, index = bitfold.top(
            self.put(p.x), k, p.axis, largest=p.descending, nan=p.nan, context=self.context, **p.named
        )
        self.assertEqual(index.shape[p.axis], min(k, n), what)
        if not len(lines) or not min(k, n):
            self.assertEqual((values.size, index.size), (0, 0), what)
            return
        wanted = [whole_of(each, p.dtype)[o] for each, o in zip(lines, orders)]
        self.assert_bits(values, p.back(wanted, p.axis, held(p.dtype)), what)
        self.assert_bits(index, p.back(orders, p.axis, "<i8"), what)

    def numbers_of(self, line, p):
        """A line in order for statistics: None where its result is NaN, and False where there is none."""
        line = whole_of(line, p.dtype)
        nan = np.isnan(as_f64(line, p.dtype)) if p.dtype in FLOATS else np.zeros(len(line), bool)
        if nan.any() and not p.skip and len(line):
            return None
        line = line[~nan]
        if not len(line):
            return False
        return line[np.argsort(places(line, p.dtype), kind="stable")]

    def expect(self, lines, p, kind, statistic):
        """Statistics of each line as an array, or EmptyError."""
        results = []
        for line in lines:
            sorted_line = self.numbers_of(line, p)
            if sorted_line is False:
                return bitfold.EmptyError
            if sorted_line is None:
                results.append(np.array([np.nan]).astype(kind)[0] if p.dtype != "bf16" or kind == np.dtype("f8") else 0x7FC0)
                continue
            v = statistic(sorted_line)
            if kind == np.dtype("u2") and p.dtype == "bf16" and isinstance(v, float):
                v = int(np.array([v], np.float32).view(np.uint32)[0] >> 16)
            results.append(v)
        with np.errstate(all="ignore"):
            return np.array(results, kind)

    def compare(self, call, want, what):
        try:
            found = call()
        except bitfold.EmptyError:
            self.assertIs(want, bitfold.EmptyError, what)
            return
        self.assertIsNot(want, bitfold.EmptyError, what)
        self.assert_nan_bits(found, want, what)

    def assert_nan_bits(self, found, want, what):
        """As assert_bits; of f64 results a NaN that comes of infinities is the default NaN."""
        want = np.array(want)
        found = self.as_array(found, want.dtype)
        if want.dtype.kind == "f":
            with np.errstate(all="ignore"):
                want = np.where(np.isnan(want), np.array(np.nan, want.dtype), want).astype(want.dtype)
        self.assert_bits(found, want, what)

    def fibres(self, p):
        ndim = p.x.ndim
        axes = tuple(int(d) for d in p.rng.permutation(ndim)[: p.rng.integers(0, ndim + 1)])
        kept = [d for d in range(ndim) if d not in axes]
        shape = tuple(p.x.shape[d] for d in kept)
        length = math.prod(p.x.shape[d] for d in axes)
        flat = p.x.transpose([*kept, *sorted(axes)])
        flat = flat.reshape(math.prod(shape), length) if flat.size else np.empty((math.prod(shape), length), p.x.dtype)
        return axes, shape, flat

    def quantiles(self, p, line_lengths):
        """Some that are ranks, of every method's formula, or one ulp beside; and others."""
        n = int(p.rng.choice(line_lengths)) if line_lengths else 1
        i = int(p.rng.integers(0, n + 1))
        ranks = [i / max(n, 1), i / max(n - 1, 1), (i + 0.5) / max(n, 1), i / (n + 1), (i + 1 / 3) / (n + 1 / 3)]
        beside = [np.nextafter(r, to) for r in ranks for to in (0, 1)]
        choices = [0, 1, 0.5, 0.25, 0.75, 0.999, p.rng.random(), *ranks, *beside, 5e-324, 1 - 2**-53]
        return [min(float(q), 1.0) for q in p.rng.choice(choices, p.rng.integers(1, 5))]

    def check_statistics(self, p, what):
        axes, shape, lines = self.fibres(p)
        options = dict(nan=p.nan, context=self.context, **p.named)
        method = str(p.rng.choice(METHODS))
        q = self.quantiles(p, [lines.shape[1]])
        kind = medians_are(p, lines.shape[1])
        if not 0 < len(lines) < 6000 or len(shape) == 8:  # the oracle takes a line at a time
            return  # several quantiles have a dimension more
        want = self.expect(lines, p, kind, lambda line: value(line, p.dtype, median_place(len(line)), kind))
        if want is not bitfold.EmptyError:
            want = want.reshape(shape)
        self.compare(lambda: bitfold.median(self.put(p.x), axes, **options), want, what + f" median {axes}")
        self.check_quantiles(p, lines, shape, method, q, lambda: bitfold.quantile(self.put(p.x), q, axes, method=method, **options), what, lines.shape[1])
        if lines.shape[1]:
            n = int(p.rng.integers(lines.shape[1]))
            orders = [order_of(each, p.dtype, p.descending, p.skip)[n] for each in lines]
            want = np.array([whole_of(each, p.dtype)[o] for each, o in zip(lines, orders)], held(p.dtype))
            found = bitfold.nth(self.put(p.x), n, axes, descending=p.descending, **options)
            self.assert_bits(found, want.reshape(shape), what + f" nth {n} {axes}")

    def check_quantiles(self, p, lines, shape, method, q, call, what, length=0):
        kind = quantiles_are(p, method, length, q)
        rows = [
            self.expect(lines, p, kind, lambda line: value(line, p.dtype, place_of(method, len(line), each), kind)) for each in q
        ]
        want = bitfold.EmptyError if rows[0] is bitfold.EmptyError else np.array(rows, kind).reshape(len(q), *shape)
        self.compare(call, want, what + f" quantile {q} {method}")

    def one_line(self, p):
        return np.ascontiguousarray(p.x).reshape(-1)

    def check_segments(self, p, what):
        x = self.one_line(p)
        m = int(p.rng.choice([1, 2, 5, 30]))
        offsets = np.sort(p.rng.integers(0, len(x) + 1, m + 1)).astype(np.int32 if p.rng.random() < 0.5 else np.int64)
        lines = [x[a:b] for a, b in zip(offsets, offsets[1:])]
        calls = bitfold.segment_median, bitfold.segment_quantile
        self.check_by(p, lines, m, what + " segments", *calls, x, offsets)
        options = dict(descending=p.descending, nan=p.nan, context=self.context, **p.named)
        values, index = whole_of(x, p.dtype).copy(), np.zeros(len(x), np.int64)
        values[: offsets[0]], values[offsets[-1] :] = x[: offsets[0]], x[offsets[-1] :]
        index[: offsets[0]] = np.arange(offsets[0])
        index[offsets[-1] :] = np.arange(len(x) - offsets[-1])
        for a, b in zip(offsets, offsets[1:]):
            index[a:b] = order_of(x[a:b], p.dtype, p.descending, p.skip)
            values[a:b] = whole_of(x, p.dtype)[a:b][index[a:b]]
        found = bitfold.segment_sort(self.put(x), self.put(offsets), **options)
        self.assert_bits(found, values.view(held(p.dtype)), what + " segments")
        self.assert_bits(bitfold.segment_argsort(self.put(x), self.put(offsets), **options), index, what)

    def check_by(self, p, lines, m, what, median_of, quantile_of, x, places_of):
        options = dict(nan=p.nan, context=self.context, **p.named)
        method = str(p.rng.choice(METHODS))
        q = self.quantiles(p, [len(line) for line in lines])
        kind = medians_are(p)
        want = self.expect(lines, p, kind, lambda line: value(line, p.dtype, median_place(len(line)), kind))
        by_index = median_of is bitfold.index_median
        first = (m, self.put(places_of), self.put(x)) if by_index else (self.put(x), self.put(places_of))
        self.compare(lambda: median_of(*first, **options), want, what)
        first = (m, self.put(places_of), self.put(x), q) if by_index else (self.put(x), q, self.put(places_of))
        self.check_quantiles(p, lines, (m,), method, q, lambda: quantile_of(*first, method=method, **options), what)

    def check_index(self, p, what):
        x = self.one_line(p)
        m = int(p.rng.choice([1, 2, 5, 40]))
        kind = p.rng.choice([np.int32, np.int64, np.uint32, np.uint64])
        index = p.rng.integers(0, m, len(x)).astype(kind)
        lines = [x[index == s] for s in range(m)]
        calls = bitfold.index_median, bitfold.index_quantile
        self.check_by(p, lines, m, what + " index", *calls, x, index)

    def check_places(self, p, what):
        x = self.one_line(p)
        order = order_of(x, p.dtype, p.descending, False)
        line = x[order]
        options = dict(descending=p.descending, context=self.context, **p.named)
        self.assertIs(bitfold.is_sorted(self.put(line), **options), True, what)
        keys = places(x, p.dtype)
        if p.descending:
            keys = ~keys
        ordered = keys[order]
        wrong = bool(np.any(keys[1:] < keys[:-1]))
        self.assertIs(bitfold.is_sorted(self.put(x), **options), not wrong, what)
        wanted = x[p.rng.integers(0, len(x), 50)] if len(x) else x
        again = generate.values(p.rng, p.dtype, 20)
        for each in (wanted, again):
            key = places(each, p.dtype)
            key = ~key if p.descending else key
            for side in ("left", "right"):
                found = bitfold.searchsorted(self.put(line), self.put(each), side, **options)
                self.assert_bits(found, np.searchsorted(ordered, key, side), what + side)

    def check_rank(self, p, what):
        lines = p.lines(p.axis)
        method = str(p.rng.choice(["average", "min", "max", "dense", "ordinal"]))
        kind = np.dtype("f8") if method == "average" else np.dtype("i8")
        ranks = [rank(each, p.dtype, order_of(each, p.dtype, p.descending, p.skip), method) for each in lines]
        found = bitfold.rank(
            self.put(p.x), p.axis, method=method, descending=p.descending, nan=p.nan, context=self.context, **p.named
        )
        self.assert_bits(found, p.back(ranks, p.axis, kind), what + method)

    def check_groups(self, p, what):
        x, rng = self.one_line(p), p.rng
        kind = str(rng.choice([each for each in DTYPES if each != "bf16"]))
        pool = generate.values(rng, kind, int(rng.choice([1, 3, 50, max(len(x), 1)])))
        keys = pool[rng.integers(0, len(pool), len(x))]
        sorts = places(key_of(keys, kind), kind)
        listed = [keys[:0]] + [key_of(keys, kind)[sorts == each][:1] for each in np.unique(sorts)]
        listed = np.concatenate([key_of(each, kind) for each in listed]).astype(held(kind))
        lines = [x[sorts == each] for each in np.unique(sorts)]
        if len(lines) > 300:
            return
        placed = self.put(keys.astype(bool) if kind == "bool" else keys), self.put(x)
        method, q = str(rng.choice(METHODS)), self.quantiles(p, [len(line) for line in lines])
        options = dict(nan=p.nan, context=self.context, **p.named)

        def checked(found):
            self.assert_bits(found[0], listed, what + f" keys {kind}")
            return found[1]

        kind_of = medians_are(p)
        want = self.expect(lines, p, kind_of, lambda line: value(line, p.dtype, median_place(len(line)), kind_of))
        self.compare(lambda: checked(bitfold.group_median(*placed, **options)), want, what + f" groups {kind}")
        if lines:
            self.check_quantiles(
                p, lines, (len(lines),), method, q,
                lambda: checked(bitfold.group_quantile(*placed, q, method=method, **options)), what + f" groups {kind}",
            )

    def check_unique(self, p, what):
        x = self.one_line(p)
        keys = whole_of(x, p.dtype)
        if p.dtype in FLOATS:
            wide = as_f64(x, p.dtype)
            nan = np.isnan(wide)
            keys = np.where(wide == 0, np.zeros(1, x.dtype), x)
            keys = keys[~nan] if p.skip else np.where(nan, default_nan(p.dtype), keys)
        order = np.argsort(places(keys, p.dtype), kind="stable")
        line, counts = keys[order], []
        first = [i for i in range(len(line)) if i == 0 or bits_of(line[i : i + 1]) != bits_of(line[i - 1 : i])]
        counts = np.diff([*first, len(line)]).astype(np.int64)
        found = bitfold.unique(self.put(p.x), nan=p.nan, context=self.context, **p.named)
        self.assert_bits(found[0], line[first].astype(held(p.dtype)), what)
        self.assert_bits(found[1], counts, what)
        options = dict(nan=p.nan, context=self.context, **p.named)
        if not len(line):
            self.assertRaises(bitfold.EmptyError, bitfold.mode, self.put(p.x), **options)
            return
        value, count = bitfold.mode(self.put(p.x), **options)
        at = int(np.argmax(counts))
        self.assertEqual(count, counts[at], what)
        same = number(line[first][at], p.dtype)
        self.assertTrue(value == same or value != value and same != same, what)

    def check_rows(self, p, what):
        x = self.one_line(p)
        if p.dtype == "bf16":  # keys of rows have their own dtype in memory
            return
        order = order_of(x, p.dtype if p.dtype != "bool" else "u8", p.descending, p.skip)
        payloads = [p.rng.integers(0, 100, len(x)).astype(kind) for kind in ("u1", "i2", "f4", "i8")]
        payloads = [payloads[i] for i in p.rng.permutation(4)[: p.rng.integers(0, 5)]]
        keys, rows = x.copy(), [each.copy() for each in payloads]
        if self.context.device.startswith("cuda"):
            return
        bitfold.sort_rows(keys, *rows, descending=p.descending, nan=p.nan, context=self.context)
        self.assert_bits(keys, x[order], what)
        for found, given in zip(rows, payloads):
            self.assert_bits(found, given[order], what)

    def check_in_place(self, p, what):
        """Wherever the array lies: it is its own output, if its elements do not share memory."""
        if p.x.size and 0 in p.x.strides:
            return
        lines = p.lines(p.axis)
        wanted = [whole_of(each, p.dtype)[order_of(each, p.dtype, p.descending, p.skip)] for each in lines]
        view = View(p.x, p.named.get("dtype"))
        self.context._call(
            bitfold._order._calls.lib.bf_sort, self.context._handle, byref(view.array), p.axis,
            byref(bitfold._order._calls._options(p.descending, p.nan)), byref(view.array), None,
        )  # fmt: skip
        self.assert_bits(p.x.view(held(p.dtype)), p.back(wanted, p.axis, held(p.dtype)), what)

    def check_passes(self, p, what):
        """Quantiles of data that are read again: in chunks, of objects that are saved and merged."""
        line, q = self.one_line(p), self.quantiles(p, [p.x.size])
        method = str(p.rng.choice(METHODS))
        whole = bitfold.Quantiles(p.dtype, q, method=method, nan=p.nan, context=self.context)
        while not whole.done:
            cuts = [0, *sorted(int(i) for i in p.rng.integers(0, len(line) + 1, int(p.rng.integers(0, 4)))), len(line)]
            parts = [copy.copy(whole) for _ in range(2)]
            for k in p.rng.permutation(len(cuts) - 1):
                parts[k % 2].absorb(line[cuts[k] : cuts[k + 1]], **p.named)
            whole.merge(copy.copy(parts[1])).merge(parts[0]).next()
        self.check_quantiles(p, [line], (), method, q, lambda: results_of(whole, p, method), what)

    CHECKS = (check_sort, check_sort, check_in_place, check_top, check_statistics, check_statistics,
              check_segments, check_index, check_places, check_unique, check_rows, check_passes,
              check_rank, check_groups)  # fmt: skip

    def test_every_result_is_that_of_a_stable_sort(self):
        for seed in cases.seeds(CASES):
            check = self.CHECKS[np.random.default_rng(seed).integers(len(self.CHECKS))]
            for self.context in devices.some(self.contexts, 3, np.random.default_rng([seed, 1])):
                p = Problem(seed)
                what = (f"BITFOLD_SEED={seed} BITFOLD_CASES=1: {check.__name__} of {p.dtype} {p.x.shape} axis {p.axis} "
                        f"descending {p.descending} nan {p.nan} {self.context}")  # fmt: skip
                check(self, p, what)


def default_nan(dtype):
    bits = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8 << 48}[dtype]
    return np.array([bits], f"u{BITS[dtype] // 8}").view(held(dtype))[0]


class Errors(unittest.TestCase):
    def test_bad_input_is_refused(self):
        x = np.arange(6.0)
        cases = [
            (bitfold.ArgumentError, lambda: bitfold.sort(x, 1)),
            (bitfold.ArgumentError, lambda: bitfold.sort(x, nan="never")),
            (bitfold.ArgumentError, lambda: bitfold.top(x, -1)),
            (bitfold.ArgumentError, lambda: bitfold.quantile(x, 1.5)),
            (bitfold.ArgumentError, lambda: bitfold.quantile(x, float("nan"))),
            (bitfold.ArgumentError, lambda: bitfold.quantile(x, 0.5, method="best")),
            (bitfold.ArgumentError, lambda: bitfold.nth(x, 6)),
            (bitfold.ArgumentError, lambda: bitfold.segment_median(x, np.array([0, 7]))),
            (bitfold.ArgumentError, lambda: bitfold.segment_sort(x, np.array([3, 2]))),
            (bitfold.ArgumentError, lambda: bitfold.index_median(2, np.array([0, 1, 2, 0, 1, 1]), x)),
            (bitfold.ArgumentError, lambda: bitfold.index_median(2, np.array([0, 1, -1, 0, 1, 1]), x)),
            (bitfold.ShapeError, lambda: bitfold.index_median(2, np.array([0, 1]), x)),
            (bitfold.ArgumentError, lambda: bitfold.rank(x, 1)),
            (bitfold.ArgumentError, lambda: bitfold.rank(x, method="mean")),
            (bitfold.NanError, lambda: bitfold.rank(np.array([1, np.nan]), nan="error")),
            (bitfold.ArgumentError, lambda: bitfold.group_quantile(x, x, 2)),
            (bitfold.ShapeError, lambda: bitfold.group_median(x[:5], x)),
            (bitfold.ShapeError, lambda: bitfold.group_median(x.reshape(2, 3), x.reshape(2, 3))),
            (bitfold.EmptyError, lambda: bitfold.group_median([1, 2] * x[:2], x[:2] * np.nan, nan="skip")),
            (bitfold.NanError, lambda: bitfold.group_median(x, x * np.nan, nan="error")),
            (bitfold.DtypeError, lambda: bitfold.searchsorted(x, np.array([1]))),
            (bitfold.EmptyError, lambda: bitfold.median(x[:0])),
            (bitfold.EmptyError, lambda: bitfold.mode(x[:0])),
            (bitfold.NanError, lambda: bitfold.sort(np.array([1, np.nan]), nan="error")),
            (bitfold.NanError, lambda: bitfold.median(np.array([1, np.nan]), nan="error")),
            (bitfold.NanError, lambda: bitfold.unique(np.array([1, np.nan]), nan="error")),
        ]  # fmt: skip
        for error, call in cases:
            self.assertRaises(error, call)

    def test_the_index_that_is_wrong_is_named(self):
        with self.assertRaisesRegex(bitfold.ArgumentError, "index 2 is 9, outside 0 to 1"):
            bitfold.index_median(2, np.array([0, 1, 9, -1]), np.zeros(4))


class Numpy(unittest.TestCase):
    def same(self, found, want, what):
        self.assertEqual(np.shape(found), np.shape(want), what)
        self.assertTrue(np.array_equal(found, want, equal_nan=np.asarray(want).dtype.kind == "f"), what)

    def near(self, found, want, x, what=None):
        """NumPy rounds three times: the last bit of the greatest element, in its dtype, may differ."""
        want = np.asarray(want)
        least = np.spacing(np.abs(x[x == x]).max() if x.dtype.kind == "f" else np.float64(max(map(abs, x.ravel().tolist()))))
        self.assertEqual(np.shape(found), want.shape, what)
        self.assertTrue(np.all(np.abs(np.asarray(found, "f8") - want) <= float(least)), what)

    def test_random_arrays_are_ordered_as_in_numpy(self):
        """Where NumPy does not differ: no -0, no infinities, differences that do not overflow."""
        kinds = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
        for seed in cases.seeds(CASES // 3):
            rng = np.random.default_rng([seed, 2])
            kind, n = kinds[seed % 11], int(rng.choice([*generate.SIZES[1:], 5000, 1 << int(rng.integers(20))]))
            x = np.minimum(np.abs(rng.standard_normal(n) * rng.choice([1, 50])), 127).astype(kind)
            x = x if rng.random() < 0.5 else x[rng.integers(0, n, n)]
            what = f"BITFOLD_SEED={seed} BITFOLD_CASES=3: {kind} {n}"
            q = np.array([0, 1, 0.5, rng.integers(n) / max(n - 1, 1), rng.random()])
            for method in METHODS:
                if np.__version__ < "2":  # some have another arithmetic
                    continue
                self.near(bitfold.quantile(x, q, method=method), np.quantile(x, q, method=method), x, what + method)
            if kind[0] == "f":
                x[rng.random(n) < rng.choice([0, 0, 0.1, 0.99])] = np.nan
            self.same(bitfold.sort(x), np.sort(x), what)
            self.same(bitfold.argsort(x), np.argsort(x, kind="stable"), what)
            k = int(rng.integers(n))
            self.same(bitfold.nth(x, k), np.partition(x, k)[k], what)
            for found, want in zip(bitfold.unique(x), np.unique(x, return_counts=True)):
                self.same(found, want, what)
            self.same(bitfold.searchsorted(np.sort(x), x[:100]), np.searchsorted(np.sort(x), x[:100]), what)

    def test_percentiles_are_those_of_numpy(self):
        rng = np.random.default_rng(4)
        for kind in ("f4", "f8", "i4", "u1"):
            x = (rng.standard_normal((7, 101)) * 50).astype(kind)
            for method in METHODS:
                if method == "closest_observation" and np.__version__ < "2":  # another formula
                    continue
                for axis in (None, 0, 1):
                    want = np.percentile(x, [0, 10, 33.3, 50, 100], axis=axis, method=method)
                    found = bitfold.percentile(x, [0, 10, 33.3, 50, 100], axis=axis, method=method)
                    self.near(found, want, x, (kind, method, axis))

    def test_ranks_are_those_of_scipy(self):
        x = np.array([0.5, -0.0, np.inf, 0.0, 0.5, 0.5, -1])
        for method, want in (
            ("average", [5, 2.5, 7, 2.5, 5, 5, 1]), ("min", [4, 2, 7, 2, 4, 4, 1]), ("max", [6, 3, 7, 3, 6, 6, 1]),
            ("dense", [3, 2, 4, 2, 3, 3, 1]), ("ordinal", [4, 2, 7, 3, 5, 6, 1]),
        ):  # fmt: skip
            self.assertEqual(bitfold.rank(x, method=method).tolist(), want)

    def test_shapes_are_those_of_numpy(self):
        x = np.random.default_rng(5).standard_normal((3, 4, 5))
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                self.assertTrue(np.array_equal(bitfold.median(x, axis, keepdims), np.median(x, axis, keepdims=keepdims)))
                want = np.quantile(x, [0.1, 0.9], axis, keepdims=keepdims)
                self.near(bitfold.quantile(x, [0.1, 0.9], axis, keepdims), want, x)
                want = np.quantile(x, [0.1], axis, keepdims=keepdims)[0]
                self.near(bitfold.quantile(x, 0.1, axis, keepdims), want, x)
        self.assertTrue(np.array_equal(bitfold.sort(x, None), np.sort(x, None)))
        self.assertTrue(np.array_equal(bitfold.argsort(x.T, None), np.argsort(x.T, None)))
