"""Groups, tables and dictionaries whose keys are strings, times or several columns, against Python's own dict and
sorted: of NumPy, lists, and pyarrow, Polars and pandas where they are installed.
Builds: release (full), asan (full)."""

import copy
import datetime
import io
import os
import pickle
import random
import struct
import threading
import unittest
import zlib

import numpy as np

import bitfold
from python_strings import HAS, WORDS, listed, made

CASES = int(os.environ.get("BITFOLD_CASES", 30))
FAR = ["\0", "a\0", "a\0b", "z" * 70000, "é", "e\u0301", "\U0010ffff", "\uffff"]


def order_of(key):
    """Where a key is in the order: strings by their bytes."""
    return [x.encode() if isinstance(x, str) else x for x in (key if isinstance(key, tuple) else (key,))]


def grouped(keys, values):
    """Returns the values of each key, in the keys' order; a None is left out."""
    found = {}
    for key, value in zip(keys, values):
        if key is not None and None not in (key if isinstance(key, tuple) else ()):
            found.setdefault(key, []).append(value)
    return dict(sorted(found.items(), key=lambda item: order_of(item[0])))


def arrays_of(r, values):
    yield "list", list(values)
    yield from made(r, values)


def tuples(columns):
    """Returns the rows of columns of keys."""
    return list(zip(*(listed(x) for x in columns)))


class Groups(unittest.TestCase):
    def check(self, groups, expected, message, rows_of=listed):
        keys, counts = groups.list()
        self.assertEqual(rows_of(keys), list(expected), message)
        self.assertEqual(counts.tolist(), [len(each) for each in expected.values()], message)
        sums = [sum(each) for each in expected.values()]
        self.assertEqual(groups.result(0).tolist(), sums, message)
        self.assertEqual(groups.result_list(0), sums, message)
        self.assertEqual((len(groups), groups.rows), (len(expected), sum(map(len, expected.values()))), message)

    def test_strings_of_every_kind(self):
        for case in range(CASES):
            r = random.Random(case)
            n = r.choice([0, 1, 2, 9, 200])
            values = [None if r.random() < 0.2 * (case % 2) else r.choice(WORDS) for _ in range(n)]
            numbers = [r.randrange(100) for _ in range(n)]
            x, expected = np.array(numbers, "i8"), grouped(values, numbers)
            for label, keys in arrays_of(r, values):
                message = f"case {case}, {label}"
                groups = bitfold.Groups("string", [("sum", "i64"), ("max", "i64")][: 1 if None in values else 2])
                if None in values:
                    with self.assertRaisesRegex(bitfold.ArgumentError, f"{values.count(None)} of {n} .*NULL"):
                        groups.absorb(keys, x)
                    groups.absorb(keys, x, null="skip")
                else:
                    groups.absorb(keys, x, x)
                    self.assertEqual(groups.result(1).tolist(), [max(each) for each in expected.values()], message)
                self.check(groups, expected, message)
                if isinstance(keys, np.ndarray) and n:
                    self.assertEqual(groups.list()[0].dtype.kind, keys.dtype.kind, message)

    def test_chunks_and_merges(self):
        for case in range(CASES):
            r = random.Random(case)
            words = WORDS + FAR
            total, rows = bitfold.Groups("string", [("sum", "i64")]), []
            for _ in range(r.randrange(1, 5)):
                part = [(r.choice(words), r.randrange(9)) for _ in range(r.choice([0, 1, 5, 60]))]
                keys, values = [k for k, _ in part], np.array([v for _, v in part], "i8")
                if r.randrange(2):
                    total.absorb(keys, values)
                else:
                    total += bitfold.Groups("string", [("sum", "i64")]).absorb(keys, values)
                rows += part
                if r.randrange(2):
                    self.check(total, grouped(*zip(*rows)) if rows else {}, f"case {case}")
            expected = grouped(*zip(*rows)) if rows else {}
            self.check(total, expected, f"case {case}")
            whole = bitfold.Groups("string", [("sum", "i64")]).absorb([k for k, _ in rows], np.array([v for _, v in rows], "i8"))
            self.assertEqual(whole.save(), total.save(), f"case {case}: other chunks, other bytes")
            for again in (bitfold.Groups.load(total.save()), pickle.loads(pickle.dumps(total)), copy.copy(total)):
                self.assertEqual((again.key, again == total), ("string", True))
                self.check(again, expected, f"case {case}, saved")
                self.check(again.absorb(["q"], np.array([1])), grouped(*zip(*rows, ("q", 1))), f"case {case}, saved and more")

    def test_retract(self):
        for case in range(CASES):
            r = random.Random(case)
            rows = [(r.choice(WORDS), r.randrange(9)) for _ in range(r.choice([1, 7, 80]))]
            cut = r.randrange(len(rows) + 1)
            make = lambda part: bitfold.Groups("string", [("sum", "i64")]).absorb([k for k, _ in part], np.array([v for _, v in part], "i8"))
            groups = make(rows)
            groups -= make(rows[:cut])
            self.check(groups, grouped(*zip(*rows[cut:])) if rows[cut:] else {}, f"case {case}")
            self.assertEqual(groups.save(), make(rows[cut:]).save(), f"case {case}")
        with self.assertRaises(bitfold.StateError):
            make([("a", 1)]).retract(make([("b", 1)]))

    def test_several_columns(self):
        days = [datetime.date(2026, 11, d) for d in range(1, 5)]
        for case in range(CASES):
            r = random.Random(case)
            n = r.choice([0, 1, 30])
            rows = [(r.choice(WORDS), r.randrange(3), r.choice(days), r.choice([0.5, -0.25])) for _ in range(n)]
            values = [r.randrange(9) for _ in rows]
            text = io.StringIO("day\n" + "".join(f"{row[2]}\n" for row in rows) if rows else "day\n2026-01-01\n")
            dates = bitfold.read_csv(text)["day"] if rows else bitfold.read_csv(text, where="day < '2000-01-01'")["day"]
            kinds = ["string", "u8", "date", "f32"]
            groups = bitfold.Groups(kinds, [("sum", "i64")])
            columns = (*([row[i] for row in rows] for i in range(4)),)
            given = [columns[0], np.array(columns[1], "u1"), dates, np.array(columns[3], "f4")]
            groups.absorb(given, np.array(values, "i8")).absorb(tuple(given), np.array(values, "i8"))
            expected = grouped(rows + rows, values + values)
            self.check(groups, expected, f"case {case}", tuples)
            again = bitfold.Groups.load(groups.save())
            self.assertEqual((again.key, again), (kinds, groups))
            self.check(again, expected, f"case {case}, saved", tuples)
            self.check(groups + again, grouped(rows * 4, values * 4), f"case {case}, merged", tuples)

    def test_null_in_one_of_several_columns(self):
        pa = HAS.get("pyarrow")
        if not pa:
            self.skipTest("pyarrow is not installed")
        groups = bitfold.Groups(["string", "i64"], [("sum", "f64")])
        keys = ["a", None, "a", "b"], pa.chunked_array([pa.array([1, 2]), pa.array([None, 3])])
        values = pa.array([1.0, 2.0, 4.0, None])
        groups.absorb(keys, values, null="skip")
        self.check(groups, {("a", 1): [1.0]}, "", tuples)
        with self.assertRaisesRegex(bitfold.ArgumentError, "2 of 4 "):
            groups.absorb(keys, np.ones(4))

    def test_keys_of_every_dtype_in_several_columns(self):
        held = {"bool": "?", "i8": "i1", "u16": "u2", "i32": "i4", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}
        for name, kind in held.items():
            x = np.array([1, 0, 1], kind)
            groups = bitfold.Groups([name, "string"], [("sum", "i64")]).absorb([x, ["q", "q", "q"]], np.array([1, 2, 4]))
            for each in (groups, bitfold.Groups.load(groups.save())):
                self.assertEqual(tuples(each.list()[0]), [(0, "q"), (1, "q")], name)
                self.assertEqual(each.result(0).tolist(), [2, 5], name)
        wide = bitfold.Groups(["i128", "bf16"]).absorb([np.array([2**100, 1], object), np.array([0x3F80, 0x3F80], "u2")])
        self.assertEqual(tuples(bitfold.Groups.load(wide.save()).list()[0]), [(1, 0x3F80), (2**100, 0x3F80)])

    def test_bytes_and_what_is_no_text(self):
        data = [b"\xff", b"a", b"\x80\x00", "a", b"\xff"]
        groups = bitfold.Groups("string").absorb(data)
        self.assertEqual(groups.list()[0].tolist(), [b"a", b"\x80\x00", b"\xff"])
        self.assertEqual(bitfold.Groups.load(groups.save()).list()[0].tolist(), [b"a", b"\x80\x00", b"\xff"])
        mixed = bitfold.Groups("string").absorb(data).absorb(np.array(["b"]))
        self.assertEqual(mixed.list()[0].tolist(), [b"a", b"b", b"\x80\x00", b"\xff"])
        with self.assertRaisesRegex(bitfold.ArgumentError, "no text"):
            bitfold.Groups("string").absorb(["a", "\udc80"])
        ends = bitfold.Groups("string").absorb(["a\0"]).absorb(np.array(["a"]))
        self.assertEqual(ends.list()[0].tolist(), ["a", "a\0"])

    def test_empty_and_all_null(self):
        for keys in self.none_of(0):
            groups = bitfold.Groups("string", [("sum", "i64")]).absorb(keys, np.zeros(0, "i8"))
            self.check(groups, {}, repr(keys))
            self.assertEqual(groups, bitfold.Groups("string", [("sum", "i64")]))
        for keys in self.none_of(3):
            groups = bitfold.Groups("string", [("sum", "i64")]).absorb(keys, np.zeros(3, "i8"), null="skip")
            self.check(groups, {}, repr(keys))
        groups = bitfold.Groups(["string", "time"], [("sum", "i64")])
        self.assertEqual([each.tolist() for each in groups.list()[0]], [[], []])
        self.assertEqual(bitfold.Groups.load(groups.save()).absorb([["a"], np.array(["2026-11-28"], "M8[ms]")], np.array([1])).rows, 1)

    @staticmethod
    def none_of(n):
        yield [None] * n
        yield np.array([None] * n, object)
        if pa := HAS.get("pyarrow"):
            yield pa.nulls(n)
            yield pa.nulls(n, pa.string())
        if pl := HAS.get("polars"):
            yield pl.Series([None] * n)
        if pd := HAS.get("pandas"):
            yield pd.Series([None] * n, dtype=object)
            yield pd.Series([pd.NA] * n, dtype=object)

    def test_clear_and_more(self):
        groups = bitfold.Groups("string", [("sum", "i64")]).absorb(["b", "a"], np.array([1, 2]))
        groups.clear()
        self.check(groups, {}, "cleared")
        self.check(groups.absorb(["c", "a"], np.array([1, 2])), {"a": [2], "c": [1]}, "cleared, and more")
        self.check(groups + groups, {"a": [2, 2], "c": [1, 1]}, "with itself")
        self.check(groups.merge(groups), {"a": [2, 2], "c": [1, 1]}, "into itself")
        self.check(groups.retract(groups), {}, "out of itself")

    def test_results_of_the_whole(self):
        x = np.array([1.5, 2, 4])
        groups = bitfold.Groups("string", [("sum", "f64")]).absorb(["b", "a", "b"], x)
        self.assertEqual(groups.shares(0), [2 / 7.5, 5.5 / 7.5])
        values, fits = groups.result(0, fits=True)
        self.assertEqual((values.tolist(), fits.tolist()), ([2.0, 5.5], [True, True]))
        for n in (1, 3):
            context = bitfold.Context(device="cpu", threads=n)
            other = bitfold.Groups("string", [("sum", "f64")], context=context).absorb(["b", "a", "b"], x)
            self.assertEqual(other, groups)
            self.assertEqual((other + groups).result(0).tolist(), [4.0, 11.0])

    def test_what_is_refused(self):
        make = lambda key: bitfold.Groups(key, [("sum", "f64")])
        one, a = np.array([1.0]), np.array(["a"])
        for error, words, call in [
            (bitfold.DtypeError, "f64, not of string", lambda: make("string").absorb(one, one)),
            (bitfold.DtypeError, "string, not of i64", lambda: make(["i64", "string"]).absorb([a, a], one)),
            (bitfold.DtypeError, "f64, string, not of i64", lambda: make(["i64", "string"]).absorb([one, a], one)),
            (bitfold.DtypeError, "'int'", lambda: make("string").absorb(["a", 1], np.ones(2))),
            (bitfold.DtypeError, "'pair'", lambda: make(["pair", "string"])),
            (bitfold.DtypeError, "'text'", lambda: make(["text"])),
            (bitfold.ShapeError, "2 columns", lambda: make(["i64", "string"]).absorb(a, one)),
            (bitfold.ShapeError, "2 columns", lambda: make(["i64", "string"]).absorb([a], one)),
            (bitfold.ShapeError, "different lengths", lambda: make(["string", "string"]).absorb([a, ["a", "b"]], one)),
            (bitfold.ShapeError, "one dimension", lambda: make("string").absorb(np.array([["a"]]), one)),
            (bitfold.ShapeError, "", lambda: make("string").absorb(["a", "b"], one)),
            (bitfold.ArgumentError, "0 columns", lambda: make([])),
            (bitfold.StateError, "i64", lambda: make("string").merge(make("i64"))),
            (bitfold.StateError, "string", lambda: make("i64").merge(make("string"))),
            (bitfold.StateError, "string", lambda: make("string").merge(make(["string", "i64"]))),
            (bitfold.StateError, "", lambda: make("string").merge(bitfold.Groups("string"))),
            (bitfold.DtypeError, "", lambda: bitfold.Groups("i64").absorb(["a"])),
            (bitfold.ArgumentError, "", lambda: make("string").absorb(["a"], one, null="x")),
        ]:
            with self.assertRaisesRegex(error, words):
                call()

    def test_units_of_times_must_be_those_before(self):
        groups = bitfold.Groups("time").absorb(np.array(["2026-11-28T09:30"], "M8[s]"))
        with self.assertRaises(bitfold.DtypeError):
            groups.absorb(np.array(["2026-11-28T09:30"], "M8[ms]"))
        with self.assertRaises(bitfold.StateError):
            groups.merge(bitfold.Groups("time").absorb(np.array(["2026-11-28T09:30"], "M8[ms]")))
        groups.merge(bitfold.Groups("time"))
        self.assertEqual(groups.list()[0].tolist(), [datetime.datetime(2026, 11, 28, 9, 30)])

    def test_threads_see_whole_groups(self):
        groups, failed = bitfold.Groups("string", [("sum", "i64")], context=bitfold.Context(device="cpu")), []

        def work(seed):
            r = random.Random(seed)
            try:
                for i in range(60):
                    groups.absorb([f"{seed} {r.randrange(9)}", "all"], np.array([1, 1]))
                    if i % 7 == 0:
                        keys, counts = groups.list()
                        assert listed(keys) == sorted(listed(keys)) and len(keys) == len(counts)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failed, [])
        keys, sums = groups.list()[0], groups.result(0).tolist()
        self.assertEqual((dict(zip(listed(keys), sums))["all"], sum(sums)), (240, 480))


class Tables(unittest.TestCase):
    def test_strings_of_every_kind(self):
        for case in range(CASES):
            r = random.Random(case)
            values = [r.choice(WORDS) for _ in range(r.choice([0, 1, 2, 9, 200]))]
            n, expected = np.arange(len(values)), {}
            for i, v in enumerate(values):
                expected[v] = expected.get(v, 0) + i
            order = sorted(expected, key=str.encode)
            for label, x in arrays_of(r, values):
                message = f"case {case}, {label}"
                table = bitfold.Table("string", "i64", duplicates="add").insert(x, n)
                keys, sums = table.export(x)
                self.assertEqual((listed(keys), sums.tolist()), (order, [expected[v] for v in order]), message)
                found, where = table.find(x)
                self.assertEqual((found.tolist(), all(where.tolist())), ([expected[v] for v in values], True), message)
                self.assertEqual(table.contains(["never", *WORDS]).tolist(), [False, *(w in expected for w in WORDS)], message)
                self.assertEqual(table.count(x).tolist(), [1] * len(values), message)
                self.assertEqual(table, bitfold.Table.load(table.save()), message)
                self.assertEqual(table.erase(x), len(order), message)
                self.assertEqual((len(table), table.export()[0].tolist()), (0, []), message)
                self.assertEqual(table, bitfold.Table("string", "i64", duplicates="add"), message)

    def test_every_way_with_duplicates(self):
        for case in range(CASES):
            r = random.Random(case)
            rows = [((r.choice(WORDS), r.randrange(3)), r.randrange(100)) for _ in range(r.choice([1, 8, 60]))]
            cut = r.randrange(len(rows) + 1)
            kept = grouped(*zip(*rows))
            for how, pick in [("first", lambda v: v[0]), ("last", lambda v: v[-1]), ("min", min), ("max", max), ("add", sum)]:
                table = self.table_of(rows[:cut], how)
                self.assertEqual(len(table.export()[1]), len(table))
                table.merge(self.table_of(rows[cut:], how))
                keys, values = table.export()
                self.assertEqual(tuples(keys), list(kept), (case, how))
                self.assertEqual(values.tolist(), [pick(kept[k]) for k in kept], (case, how))
                again = bitfold.Table.load(table.save())
                self.assertEqual((again.key, again.value, again.duplicates), (["string", "i64"], "i64", how))
                self.assertEqual((again, again.copy()), (table, table), (case, how))
            table = self.table_of(rows, "keep")
            keys, values = table.export()
            self.assertEqual(list(zip(tuples(keys), values.tolist())), [(k, v) for k in kept for v in kept[k]], case)
            wanted = [*list(kept)[:2], ("never", 1)]
            found, counts = table.find_all([[k for k, _ in wanted], np.array([n for _, n in wanted])])
            self.assertEqual(counts.tolist(), [len(kept.get(k, ())) for k in wanted], case)
            self.assertEqual(found.tolist(), [v for k in wanted for v in kept.get(k, ())], case)

    @staticmethod
    def table_of(rows, how):
        keys = [k for (k, _), _ in rows], np.array([n for (_, n), _ in rows], "i8")
        return bitfold.Table(["string", "i64"], "i64", how).insert(keys, np.array([v for _, v in rows], "i8"))

    def test_keys_one_by_one(self):
        table = bitfold.Table("string", "f64")
        table.add("b", 1.5)
        table.add(b"a", 2)
        self.assertEqual((table["b"], "a" in table, "q" in table, None in table, len(table)), (1.5, True, False, False, 2))
        with self.assertRaises(KeyError):
            table["q"]
        other = bitfold.Table("string", "f64").insert(["q", "b"], np.array([4.0, 8]))
        self.assertEqual([x.tolist() for x in (other + table).export()], [["a", "b", "q"], [2.0, 8.0, 4.0]])
        del table["b"]
        self.assertEqual(table.export()[0].tolist(), ["a"])
        with self.assertRaises(KeyError):
            del table["b"]
        pairs = bitfold.Table(["string", "u32", "f64"], "pair")
        pairs.add(("a", 3, 0.5), (1, 2))
        self.assertEqual((pairs["a", 3, 0.5], ("a", 3, -0.5) in pairs), ((1, 2), False))
        self.assertEqual([x.tolist() for x in pairs.export()[0]], [["a"], [3], [0.5]])
        self.assertEqual(bitfold.Table.load(pairs.save()).export()[1].tolist(), [[1, 2]])

    def test_sets(self):
        names = bitfold.Table("string").insert(["x", "y", "x"])
        self.assertEqual((len(names), names.export()[0].tolist(), names.export()[1], "y" in names), (2, ["x", "y"], None, True))
        self.assertEqual((names + bitfold.Table("string").insert(["a"])).export()[0].tolist(), ["a", "x", "y"])
        names.clear()
        self.assertEqual((names.export()[0].tolist(), "y" in names, len(names.insert(["y"]))), ([], False, 1))

    def test_what_is_refused(self):
        table = bitfold.Table("string", "f64").insert(["a"], np.array([1.0]))
        for error, call in [
            (bitfold.DtypeError, lambda: table.add(1, 1.0)), (bitfold.DtypeError, lambda: table.find(np.array([1]))),
            (bitfold.ArgumentError, lambda: table.add(None, 1.0)), (bitfold.ArgumentError, lambda: table.find([None, "a"])),
            (bitfold.ArgumentError, lambda: table.insert(["a", None], np.array([1.0, 2]))),
            (bitfold.DtypeError, lambda: bitfold.Table(["string", "i128"])), (bitfold.DtypeError, lambda: bitfold.Table("date")),
            (bitfold.StateError, lambda: table.merge(bitfold.Table("i64", "f64"))),
            (bitfold.StateError, lambda: bitfold.Table("i64", "f64").merge(table)),
            (bitfold.StateError, lambda: table.merge(bitfold.Table(["string", "i64"], "f64"))),
            (bitfold.ShapeError, lambda: "a" in bitfold.Table(["string", "i64"])),
            (bitfold.ShapeError, lambda: table.insert(["b", "c"], np.array([1.0]))),
        ]:
            with self.assertRaises(error):
                call()
        self.assertEqual([x.tolist() for x in table.export()], [["a"], [1.0]])


class Others(unittest.TestCase):
    def test_unique_and_join_of_several_columns(self):
        for case in range(CASES):
            r = random.Random(case)
            a, b = ([(r.choice(WORDS), r.randrange(3)) for _ in range(r.choice([0, 1, 7, 40]))] for _ in "ab")
            columns = lambda rows: ([k for k, _ in rows], np.array([n for _, n in rows], "i8"))
            kept = grouped(a, a)
            empty = not a or not b  # a list without strings says nothing
            if not empty:
                keys, counts = bitfold.unique(columns(a))
                self.assertEqual((tuples(keys), counts.tolist()), (list(kept), list(map(len, kept.values()))), case)
                expected = [(i, j) for i, x in enumerate(a) for j, y in enumerate(b) if x == y]
                i, j = bitfold.join(columns(a), columns(b))
                self.assertEqual(list(zip(i.tolist(), j.tolist())), expected, case)

    def test_dictionaries_find_and_merge(self):
        for case in range(CASES):
            r, expected = random.Random(case), {}
            words, others = bitfold.Dictionary(), []
            for _ in range(3):
                part = [r.choice([*WORDS, *FAR, None]) for _ in range(r.randrange(1, 20))] + ["a"]
                other = bitfold.Dictionary()
                other.encode(part)
                before = dict(expected)
                if case % 2:
                    self.assertEqual(words.find(part).tolist(), [before.get(k, -1) for k in part], case)
                for k in part:
                    expected.setdefault(k, len(expected))
                words.merge(other)
                self.assertEqual(words.keys().tolist(), list(expected), case)
                self.assertEqual(words.find(part).tolist(), [expected[k] for k in part], case)
            again = bitfold.Dictionary.load(words.save())
            self.assertEqual((again, again.keys().tolist()), (words, list(expected)), case)
            self.assertEqual(again.encode(["new", *part]).tolist(), [len(expected), *(expected[k] for k in part)], case)
        self.assertEqual(bitfold.Dictionary.load(bitfold.Dictionary().save()).keys(), ())
        other_kind = bitfold.Dictionary()
        other_kind.encode(np.array([1]))
        with self.assertRaises(bitfold.StateError):
            words.merge(other_kind)

    def test_damaged_bytes_are_refused(self):
        groups = bitfold.Groups(["string", "i64"], [("sum", "f64")]).absorb([["b", "a"], np.array([3, 4])], np.array([1.0, 2]))
        table = bitfold.Table("string", "i64").insert(["b", "a"], np.array([1, 2]))
        words = bitfold.Dictionary()
        words.encode(["b", None])
        for thing in (groups, table, words):
            kind, data = type(thing), thing.save()
            r = random.Random(0)
            for size in range(len(data)):
                self.assertRaises(bitfold.StateError, kind.load, data[:size])
            for at in range(len(data)):
                bad = bytearray(data)
                bad[at] ^= 1 << r.randrange(8)
                self.assertRaises(bitfold.StateError, kind.load, bytes(bad))
            self.assertRaises(bitfold.StateError, kind.load, data + b"\0")
            self.assertEqual(kind.load(data), thing)

    def test_bytes_with_a_right_checksum_are_checked(self):
        """A description and keys that no dictionary has, whose checksum fits."""
        words = bitfold.Dictionary()
        words.encode(["b", None, "a"])
        data = words.save()
        head = struct.Struct("<8sIIqQ")
        magic, _, columns, n, size = head.unpack_from(data)

        def load(columns, n, held):
            return bitfold.Dictionary.load(head.pack(magic, zlib.crc32(held), columns, n, len(held)) + held)

        r = random.Random(1)
        for _ in range(2000):
            held = bytearray(data[head.size :])
            for _ in range(r.randrange(1, 4)):
                held[r.randrange(len(held))] = r.choice([0, 1, 2, 3, 255, r.randrange(256)])
            try:
                found = load(columns, n, bytes(held))
            except bitfold.StateError:
                continue
            self.assertEqual(len(found.keys()), len(found))
        for columns, n, forms in [
            (1, 1, [(0, 0, 1)]), (1, 1, [(9, 2, 2)]), (1, 1, [(1, 9, 0)]), (1, 1, [(99, 0, 0)]), (1, 1, [(9, 0, 4)]), (1, -1, [(9, 0, 0)]),
            (2, 1, [(9, 0, 0)]), (65, 1, [(9, 0, 0)] * 65), (1, 2**62, [(9, 0, 0)]), (1, 2, [(9, 0, 0)]), (0, 3, []), (2**32 - 1, 0, []),
        ]:
            with self.assertRaises(bitfold.StateError, msg=(columns, n, forms)):
                load(columns, n, b"".join(struct.pack("<3i", *form) for form in forms) + bytes(33))

    def test_groups_of_numbers_that_no_key_has_are_refused(self):
        words = bitfold.Dictionary()
        words.encode(["b"])
        for numbers in ([0, 1], [-1]):
            groups = bitfold.Groups("i64").absorb(np.array(numbers))
            self.assertRaises(bitfold.StateError, bitfold.Groups.load, words.save() + groups.save())
            table = bitfold.Table("i64").insert(np.array(numbers))
            self.assertRaises(bitfold.StateError, bitfold.Table.load, words.save() + table.save())
        groups = bitfold.Groups("u64").absorb(np.array([0], "u8"))
        self.assertRaises(bitfold.StateError, bitfold.Groups.load, words.save() + groups.save())
