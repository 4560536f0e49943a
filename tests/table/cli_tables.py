"""count, group and join: against sort and uniq, dicts and nested loops; every input and output."""
import json
import math
import os
import subprocess
import unittest
from collections import Counter
from fractions import Fraction

import numpy as np

from command import BITFOLD, DTYPES, RAW_NAMES, CommandTest, run


class TablesTest(CommandTest):
    def rows(self, *arguments, **more):
        text = self.result(*arguments, **more)
        return [line.split("\t") for line in text.split("\n")] if text else []

    def object(self, *arguments, **more):
        found = json.loads(self.result(*arguments, "--json", **more))
        self.assertEqual(found["schema"], 1)
        self.assertEqual(found["command"], arguments[0])
        self.assertGreaterEqual(found["seconds"], 0)
        self.assertEqual(found["device"], "cpu")
        return found


class Count(TablesTest):
    def test_text_agrees_with_sort_and_uniq(self):
        r = np.random.default_rng(1)
        few, wide = r.integers(-500, 500, 60000), r.integers(-2**63, 2**63 - 1, 5000)
        numbers = np.concatenate([few, wide])
        name = self.write("x.txt", "\n".join(map(str, numbers)).encode() + b"\n")
        lines = subprocess.run("sort -n %s | uniq -c" % name, shell=True, check=True,
                               stdout=subprocess.PIPE).stdout.decode().split("\n")[:-1]
        expected = [line.split()[::-1] for line in lines]
        self.assertEqual(self.rows("count", "--sort", "key", name), expected)
        by_count = sorted(expected, key=lambda row: -int(row[1]))
        self.assertEqual(self.rows("count", name), by_count)
        for threads in (1, 2, 8):
            self.assertEqual(self.rows("count", "-j", threads, "-n", 10, name), by_count[:10])

    def test_every_dtype_and_input(self):
        r = np.random.default_rng(2)
        for dtype in DTYPES:
            x = (r.normal(size=2000) * 20 + 60).clip(0, 120).astype(dtype)
            keys, counts = np.unique(x, return_counts=True)
            npy, raw = self.save("x.npy", x.reshape(20, 100)), self.write("x.raw", x.tobytes())
            rows = self.rows("count", "--sort", "key", npy)
            self.assertEqual([int(row[1]) for row in rows], counts.tolist())
            np.testing.assert_array_equal(np.array([float(row[0]) for row in rows]).astype(dtype),
                                          keys)
            how = ["--format", "raw", "--dtype", RAW_NAMES[dtype], "--sort", "key"]
            self.assertEqual(self.rows("count", *how, raw), rows)
            self.assertEqual(self.rows("count", *how, stdin=x.tobytes()), rows)
            swapped = self.save("y.npy", x.astype(np.dtype(dtype).newbyteorder(">")))
            self.assertEqual(self.rows("count", "--sort", "key", swapped), rows)

    def test_floats_are_shown_as_the_shortest_decimals(self):
        x = np.array([0.1, -0.0, 0.0, math.nan, -math.nan, math.inf, 1e22, 0.1])
        name = self.save("x.npy", x)
        expected = [["0", "2"], ["0.1", "2"], ["1e+22", "1"], ["inf", "1"], ["nan", "2"]]
        self.assertEqual(self.rows("count", "--sort", "key", name), expected)
        self.assertEqual(self.rows("count", "-n", 1, "--hex", name), [["0x0p+0", "2"]])
        half = self.save("h.npy", np.array([0.1], "f2"))
        self.assertEqual(self.rows("count", half), [["0.1", "1"]])

    def test_json_has_all(self):
        name = self.write("x.txt", b"3\n1\n3\n")
        found = self.object("count", name)
        self.assertEqual([found[k] for k in ("file", "dtype", "n", "groups", "keys", "counts")],
                         [name, "i64", 3, 2, [3, 1], [2, 1]])
        found = self.object("count", "-n", 1, name)
        self.assertEqual([found["groups"], found["keys"]], [2, [3]])

    def test_files_are_counted_together(self):
        a, b = self.write("a", b"1\n2\n"), self.write("b", b"2\n")
        self.assertEqual(self.rows("count", a, b), [["2", "2"], ["1", "1"]])
        c = self.write("c", b"2.5\n")
        self.assertEqual(self.rows("count", a, c), [["1", "1"], ["2", "1"], ["2.5", "1"]])
        d = self.write("d", b"nan\n")
        self.assertEqual(self.rows("count", a, d), [["1", "1"], ["2", "1"], ["nan", "1"]])
        narrow, wide = self.save("n.npy", np.array([1, 2], "i4")), self.save("w.npy", np.array([2, 3], "i8"))
        self.refused(3, "w.npy: cannot count different dtypes: this is i64, %s is i32" % narrow, "count", narrow, wide)
        positive = self.save("p.npy", np.array([2, 2**64 - 1], "u8"))
        want = [["2", "4"], ["1", "1"], ["2.5", "1"], ["3", "1"], [str(2**64 - 1), "1"]]
        for files in ((wide, a, c, positive, b), (c, b, positive, wide, a), (a, positive, b, c, wide)):
            for more in ([], ["--memory", "64M"]):
                self.assertEqual(self.rows("count", *more, *files), want, (files, more))

    def test_decimals_are_counted_whatever_their_digits(self):
        a, b, c = self.write("a", b"1\n2\n1.0\n"), self.write("b", b"1.50\n2.25\n1\n"), self.write("c", b"0.125\n1.5\n")
        want = [["1", "3"], ["1.5", "2"], ["0.125", "1"], ["2", "1"], ["2.25", "1"]]
        for files in ((a, b, c), (c, b, a), (b, c, a)):
            self.assertEqual(self.rows("count", *files), want)
        self.assertEqual(self.rows("count", "--memory", "64M", c, b, a), want)
        self.assertEqual(self.rows("count", "--memory", "64M", a, b, c), want)
        for name in (a, b):
            self.rows("count", name, "--save", name + ".bfs")
        merged = self.rows("merge", a + ".bfs", b + ".bfs", "--save", self.path("ab"))
        self.assertEqual(merged, [["1", "3"], ["1.5", "1"], ["2", "1"], ["2.25", "1"]])
        self.assertEqual(self.object("merge", self.path("ab"), "--minus", a + ".bfs")["keys"], [1, 1.5, 2.25])
        for i, (name, v) in enumerate([(a, b"10\n20\n30.5\n"), (b, b"1\n2.25\n0.125\n")]):
            self.rows("group", name, *sum(([op, self.write("v", v)] for op in ("--sum", "--max", "--mean")), []),
                      "--save", self.path("g%d" % i))
        want = [["1", "40.625", "30.5", "13.541666666666666"], ["1.5", "1", "1", "1"], ["2", "20", "20", "20"],
                ["2.25", "2.25", "2.25", "2.25"]]
        self.assertEqual(self.rows("merge", self.path("g0"), self.path("g1")), want)
        self.assertEqual(self.rows("merge", self.path("g1"), self.path("g0")), want)
        self.rows("group", a, "--sum", self.write("v", b"1\n2\n3.5\n"), "--dtype", "f64", "--save", self.path("f"))
        self.rows("group", a, "--sum", self.path("v"), "--save", self.path("d"))
        self.refused(3, "does not go with the others", "merge", self.path("f"), self.path("d"))

    def test_decimals_are_joined(self):
        a, b = self.write("a", b"1\n2.5\n9007199254740993\n"), self.write("b", b"2.50\n1e0\n9007199254740992\n0.25\n")
        for more in ([], ["--memory", "64M"]):
            self.assertEqual(self.rows("join", a, b, *more), [["0", "1"], ["1", "0"]])
            self.assertEqual(self.rows("join", b, a, *more), [["0", "1"], ["1", "0"]])
            for text, others, want in [(a, b"inf\n1\n2.5\n9007199254740992\n", [["0", "1"], ["1", "2"]]),
                                       (b, b"9223372036854775807\n1\n", [["1", "1"]]),
                                       (b, b"18446744073709551615\n0.25\n", [["3", "1"]]),
                                       (b, b"%s\n1\n" % (b"9" * 38), [["1", "1"]])]:
                self.assertEqual(self.rows("join", text, self.write("c", others), *more), want)
                self.assertEqual(self.rows("join", self.path("c"), text, *more), sorted([y, x] for x, y in want))
        self.refused(3, "zero before another digit", "join", a, self.write("z", b"01\n"))

    def test_codes_are_no_numbers(self):
        zips = self.write("z", b"07094\n7094\n")
        self.refused(3, "a key with a zero before another digit is text: '07094'", "count", zips)
        self.assertEqual(self.rows("count", "--number", "1", zips), [["7094", "2"]])
        self.assertEqual(self.rows("count", self.write("l", b"20000000000000000001\n3\n20000000000000000001\n")),
                         [["20000000000000000001", "2"], ["3", "1"]])
        self.assertEqual(self.rows("count", self.write("l", b"18446744073709551615\n9007199254740993\n")),
                         [["9007199254740993", "1"], ["18446744073709551615", "1"]])
        self.assertEqual(self.rows("count", self.write("l", b"1.5e+300\n2\n")), [["2", "1"], ["1.5e+300", "1"]])

    def test_columns_selections_and_nothing(self):
        name = self.write("t.csv", b"a,b\n1,5\n2,5\n3,6\n")
        self.assertEqual(self.rows("count", "--column", "b", name), [["5", "2"], ["6", "1"]])
        self.assertEqual(self.rows("count", "--column", "2", "--header", "--count", 1, name),
                         [["5", "1"]])
        self.assertEqual(self.rows("count", self.save("e.npy", np.zeros(0))), [])
        self.assertEqual(self.object("count", self.save("e.npy", np.zeros(0)))["keys"], [])

    def test_seed_changes_nothing(self):
        x = self.save("x.npy", np.arange(5000) % 777)
        self.assertEqual(self.rows("count", x), self.rows("count", "--seed", 12345, x))

    def test_output_file_and_errors(self):
        x = self.save("x.npy", np.arange(3))
        out = self.path("out.tsv")
        self.assertEqual(self.result("count", "-o", out, x), "")
        with open(out) as f:
            self.assertEqual(f.read(), "0\t1\n1\t1\n2\t1\n")
        self.refused(1, "No such file", "count", self.path("missing"))
        self.refused(2, "--sort", "count", "--sort", "size", x)
        self.refused(2, "--top", "count", "-n", "0", x)
        self.refused(3, "not a number", "count", self.write("t", b"1\nx\n"))
        with open("/dev/full", "wb") as full:
            self.refused(1, "cannot write", "count", x, stdout=full)

    def test_keys_that_are_new_are_copied_at_once(self):
        x = np.random.default_rng(5).integers(0, 1 << 30, (1 << 20) + 9, dtype=np.uint32)
        keys, counts = np.unique(x[7:-2], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:9]
        expected = [[str(keys[i]), str(counts[i])] for i in most]
        for dtype in ("<u4", ">u4"):
            name = self.save("x.npy", x.astype(dtype))
            part = ["--offset", 7, "--count", (1 << 20), "-n", 9]
            self.assertEqual(self.rows("count", *part, name), expected)

    @unittest.skipUnless(os.environ.get("BITFOLD_LARGE"), "BITFOLD_LARGE is not set")
    def test_a_million_lines_and_a_hundred_million_rows(self):
        r = np.random.default_rng(3)
        x = r.integers(0, 1000, 1000000)
        rows = self.rows("count", "--sort", "key", stdin="\n".join(map(str, x)).encode())
        keys, counts = np.unique(x, return_counts=True)
        self.assertEqual(rows, [[str(k), str(c)] for k, c in zip(keys, counts)])
        y = r.integers(0, 1 << 20, 100000000, dtype=np.uint32)
        name = self.write("y.raw", y.tobytes())
        rows = self.rows("count", "--format", "raw", "--dtype", "u32", "--sort", "key", name)
        counts = np.bincount(y, minlength=1 << 20)
        self.assertEqual([int(c) for _, c in rows], counts[counts > 0].tolist())


class Group(TablesTest):
    def test_groups_are_a_dict_s(self):
        r = np.random.default_rng(4)
        k, v, w = r.integers(-9, 9, 3000), r.normal(size=3000), r.integers(0, 2**62, 3000)
        v *= 10.0 ** r.integers(-30, 30, 3000)
        names = [self.save(n + ".npy", x) for n, x in (("k", k), ("v", v), ("w", w))]
        rows = self.rows("group", names[0], "--sum", names[1], "--mean", names[2], "--count",
                         "--min", names[1], "--max", names[2], "--sum", names[2])
        expected = []
        for key in range(-9, 9):
            a, b = [Fraction(x) for x in v[k == key]], [int(x) for x in w[k == key]]
            expected.append([key, float(sum(a)), float(Fraction(sum(b), len(b))), len(a),
                             float(min(a)), max(b), sum(b)])
        found = [[int(r[0]), float(r[1]), float(r[2]), int(r[3]), float(r[4]), int(r[5]),
                  int(r[6])] for r in rows]
        self.assertEqual(found, expected)
        self.assertEqual(rows[0][1], repr(expected[0][1]))

    def test_keys_are_copied_at_once_when_there_are_many(self):
        r = np.random.default_rng(6)
        k, v = r.permutation(300000) // 2, r.integers(-99, 99, 300000)
        names = [self.save("k.npy", k), self.save("v.npy", v.astype(">i8"))]
        expected = np.bincount(k, weights=v).astype(int).tolist()
        for threads in (1, 3):
            rows = self.rows("group", "-j", threads, names[0], "--sum", names[1])
            self.assertEqual([int(row[1]) for row in rows], expected)

    def test_columns_of_one_file_and_pipes(self):
        text = b"k,v,w\n2,0.1,1\n1,5,1\n2,0.2,1\n"
        name = self.write("t.csv", text)
        expected = [["1", "5", "1", "1"], ["2", "0.3", "2", "2"]]
        asked = ["--column", "k", "--sum", "v", "--sum", "w", "--count"]
        self.assertEqual(self.rows("group", name, *asked), expected)
        values = self.save("v.npy", np.array([0.1, 5, 0.2]))
        keys = b"2\n1\n2\n"
        expected[1][1] = "0.30000000000000004" # doubles are not the decimals
        self.assertEqual(self.rows("group", "--sum", values, "--count", stdin=keys),
                         [row[:2] + row[3:] for row in expected])
        self.assertEqual(self.rows("group", self.write("k", keys), "--max", "-",
                                   stdin=b"7\n8\n9\n"), [["1", "8"], ["2", "9"]])

    def test_json(self):
        k, v = self.write("k", b"1\n1\n2\n"), self.write("v", b"1\n2\n0.5\n")
        found = self.object("group", k, "--mean", v, "--count")
        self.assertEqual([found[x] for x in ("n", "groups", "keys")], [3, 2, [1, 2]])
        self.assertEqual(found["columns"], [{"op": "mean", "of": v, "values": [1.5, 0.5]},
                                            {"op": "count", "of": None, "values": [2, 1]}])

    def test_rules(self):
        k = self.save("k.npy", np.array([1, 1, 2], "i2"))
        v = self.save("v.npy", np.array([math.nan, 1.1, math.nan]))
        self.assertEqual(self.rows("group", k, "--sum", v, "--min", v),
                         [["1", "nan", "nan"], ["2", "nan", "nan"]])
        self.assertEqual(self.rows("group", k, "--sum", v, "--min", v, "--nan", "skip"),
                         [["1", "1.1", "1.1"], ["2", "0", "nan"]])
        self.assertEqual(self.rows("group", k, "--sum", v, "--nan", "skip", "--out-dtype", "f32"),
                         [["1", "1.1"], ["2", "0"]])
        self.refused(3, "NaN", "group", k, "--sum", v, "--nan", "error")

    def test_errors(self):
        k, v = self.write("k", b"1\n2\n"), self.write("v", b"1\n")
        self.refused(2, "nothing is asked for", "group", k)
        self.refused(3, "fewer values", "group", k, "--sum", v)
        self.refused(3, "more values", "group", v, "--sum", k)
        self.refused(2, "one file of keys", "group", k, v, "--count")
        self.refused(1, "no such file", "group", self.save("n.npy", np.arange(2)), "--sum", "nope")
        self.refused(2, "more than once", "group", "--sum", "-", stdin=b"1\n")


    def test_a_name_that_is_a_column_and_a_file_says_which(self):
        os.chdir(self.dir)
        self.write("t.csv", b"k,price,3\n1,2,4\n1,5,6\n")
        keys = ["group", "--column", "k", "t.csv"]
        self.assertEqual(self.rows(*keys, "--sum", "price", "--max", ":price"), [["1", "7", "5"]])
        os.mkdir("price")
        self.assertEqual(self.rows(*keys, "--sum", "price"), [["1", "7"]])
        os.rmdir("price")
        self.write("price", b"k\n100\n200\n")
        self.write("3", b"k\n100\n200\n")
        for name in ["price", "3"]:
            error = self.refused(2, "it is both a file and a column of t.csv", *keys, "--sum", name)
            self.assertIn("'./%s' means the file, ':%s' the column" % (name, name), error)
            self.assertEqual(self.rows(*keys, "--sum", "./" + name), [["1", "300"]])
        self.assertEqual(self.rows(*keys, "--sum", ":price"), [["1", "7"]])
        self.assertEqual(self.object(*keys, "--sum", ":price")["columns"][0]["of"], "price")
        self.write("other", b"k\n100\n200\n")
        self.assertEqual(self.rows(*keys, "--sum", "other"), [["1", "300"]])
        self.refused(1, "cannot open", *keys, "--sum", "./none")
        self.refused(3, "no column is named 'none'", *keys, "--sum", "none")
        self.refused(3, "no column is named 'price'", "group", "--sum", ":price", stdin=b"1\n")
        self.refused(1, "the keys are no text", "group", "--sum", ":price",
                     self.save("keys.npy", np.arange(3)))


class Saved(TablesTest):
    """What --save wrote of parts, merged, is what one pass over all shows."""

    def parts(self, command, x, *arguments):
        names = []
        for i, some in enumerate(np.array_split(x, 4)):
            names.append(self.path("%s%d.bfs" % (command, i)))
            self.result(command, "--save", names[-1], *arguments, self.save("p.npy", some))
        return names[::-1]

    def test_counts(self):
        x = np.random.default_rng(8).integers(-30, 30, 5000)
        x = np.append(x, np.arange(40000))  # states of many pages
        whole, parts = self.save("x.npy", x), self.parts("count", x)
        merged, saved = self.path("merged.bfs"), self.path("saved.bfs")
        self.assertEqual(self.rows("merge", "--save", merged, *parts),
                         self.rows("count", "--save", saved, whole))
        with open(merged, "rb") as a, open(saved, "rb") as b:
            self.assertEqual(a.read(), b.read())
        for more in (["-n", "3"], ["--sort", "key"]):
            self.assertEqual(self.rows("merge", merged, *more), self.rows("count", whole, *more))
        found = self.object("merge", merged)
        self.assertEqual([found[k] for k in ("n", "groups")], [len(x), len(set(x.tolist()))])

    def test_groups(self):
        r = np.random.default_rng(9)
        k, v = r.integers(0, 9, 900), r.normal(size=900) * 10.0 ** r.integers(-30, 30, 900)
        names = []
        for i in range(3):
            names.append(self.path("g%d.bfs" % i))
            self.rows("group", self.save("k.npy", k[i::3]), "--sum", self.save("v.npy", v[i::3]),
                      "--max", self.save("v.npy", v[i::3]), "--save", names[-1])
        k, v = self.save("k.npy", k), self.save("v.npy", v)
        self.assertEqual(self.rows("merge", *names), self.rows("group", k, "--sum", v, "--max", v))
        self.assertEqual([c["op"] for c in self.object("merge", *names)["columns"]], ["sum", "max"])
        self.refused(2, "--sort", "merge", "-n", "3", *names)

    def test_saved_groups_know_what_was_asked_for(self):
        """Columns in their order, rows by key, the options of the result; without them all columns."""
        k, v, s = self.write("k", b"7\n7\n8\n7\n6\n"), self.write("v", b"1\n2\n3\nnan\n6\n"), self.path("s")
        for asked in (["--count"], ["--count", "--count"], ["--sum", v], ["--count", "--sum", v, "--var", v, "--ddof", 1],
                      ["--max", v, "--count", "--mean", v, "--nan", "skip"], ["--mean", v, "--out-dtype", "f32"]):
            want = self.rows("group", k, *asked, "--save", s)
            self.assertEqual(self.rows("merge", s, "--save", self.path("t")), want, asked)
            self.assertEqual(self.rows("merge", self.path("t")), want, asked)
        self.assertEqual(want, [["6", "6"], ["7", "nan"], ["8", "3"]])
        self.assertEqual(self.rows("merge", s, "--nan", "skip"), [["6", "6"], ["7", "1.5"], ["8", "3"]])
        with open(s, "rb") as f:
            data = f.read()
        trailer = data.index(b"trailer\0") - 24  # behind the head of its form
        self.assertEqual(self.result("merge", "-", stdin=data[:trailer]), "6\t6\t1\n7\tnan\t3\n8\t3\t1")
        self.rows("count", k, "--save", s)
        self.assertEqual(self.rows("merge", s), self.rows("count", k))

    def test_verify_groups_again(self):
        rng = np.random.default_rng(8)
        keys = rng.integers(0, 50, 3000)
        values = rng.normal(size=3000) * 10.0 ** rng.integers(-9, 9, 3000)
        k, v = self.save("k.npy", keys), self.save("v.npy", values)
        text = self.write("k", "\n".join(map(str, keys)).encode())
        state, half = self.path("groups"), self.save("half.npy", keys[:1500])
        self.rows("group", "--save", state, "--seed", "7", k, "--sum", v, "--max", k, "--count")
        for name in [k, text]:
            found = run("verify", "--against", state, name, v, k)
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertIn(": group of 3000 elements of i64", found.stdout.decode())
        values[77] *= 1 + 2**-50
        other = self.save("o.npy", values)
        self.assertEqual(run("verify", "--against", state, k, other, k).returncode, 5)
        self.refused(2, "3 files, not 2", "verify", "--against", state, k, v)
        self.refused(3, "this is i64", "verify", "--against", state, k, k, v)
        self.refused(3, "there are 1500 keys", "verify", "--against", state, half, v, k)
        self.rows("count", "--save", state, k)
        rest = self.save("rest.npy", keys[1500:])
        for names in [[k], [half, rest], [rest, half]]:
            found = run("verify", "--against", state, *names)
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertIn(": count of 3000 elements of i64", found.stdout.decode())
        self.assertEqual(run("verify", "--against", state, half).returncode, 5)

    def test_what_does_not_match(self):
        x = self.save("x.npy", np.arange(9))
        value, counts, groups = (self.path(n) for n in ("value", "counts", "groups"))
        self.result("sum", "--save", value, x)
        self.rows("count", "--save", counts, x)
        self.rows("group", "--save", groups, x, "--sum", x)
        self.refused(3, "groups", "merge", value, counts)
        self.refused(3, "other aggregates", "merge", counts, groups)
        self.refused(2, "counts", "merge", "-n", "3", value)
        with open(counts, "r+b") as f:
            f.seek(40)
            f.write(b"!")
        self.refused(3, "checksum", "merge", counts)


class Join(TablesTest):
    def test_pairs_are_those_of_nested_loops(self):
        r = np.random.default_rng(5)
        a, b = r.integers(0, 30, 200), r.integers(0, 30, 150)
        expected = [[str(i), str(j)] for i in range(200) for j in range(150) if a[i] == b[j]]
        names = [self.save("a.npy", a), self.save("b.npy", b)]
        self.assertEqual(self.rows("join", *names), expected)
        out = self.path("out")
        self.result("join", *names, "-o", out)
        with open(out) as f:
            self.assertEqual([line.split() for line in f], expected)
        raw = ["--format", "raw", "--dtype", "i64"]
        self.assertEqual(self.rows("join", *raw, "-", self.write("b", b.tobytes()),
                                   stdin=a.tobytes()), expected)
        found = self.object("join", *names)
        self.assertEqual([[str(i), str(j)] for i, j in zip(found["a"], found["b"])], expected)

    def test_floats_and_text(self):
        a = self.write("a", b"1\nnan\n-0.0\n")
        b = self.write("b", b"0\nnan\n1\n1\n")
        self.assertEqual(self.rows("join", a, b), [["0", "2"], ["0", "3"], ["1", "1"], ["2", "0"]])
        whole = self.write("c", b"1\n7\n")
        self.assertEqual(self.rows("join", a, whole), [["0", "0"]])
        self.assertEqual(self.rows("join", whole, self.write("e", b"")), [])

    def test_errors(self):
        a, b = self.save("a.npy", np.zeros(3, "i4")), self.save("b.npy", np.zeros(3))
        self.refused(3, "cannot join different dtypes", "join", a, b)
        self.refused(2, "two files", "join", a)
        self.refused(2, "more than once", "join", "-", "-", stdin=b"")


class Devices(TablesTest):
    def test_a_gpu_gives_the_same(self):
        """Where there is none, that is what is said."""
        r = np.random.default_rng(7)
        k, v = self.save("k.npy", r.integers(-99, 99, 30000)), self.save("v.npy", r.normal(size=30000))
        some = self.save("some.npy", r.integers(-99, 99, 300))
        lines = [["count", k], ["count", "--sort", "key", v],
                 ["group", k, "--sum", v, "--max", v, "--min", v, "--count"], ["join", some, k]]
        gpu = run("count", "--device", "cuda", k).returncode != 4
        for line in lines:
            if not gpu:
                self.refused(4, "cuda", *line, "--device", "cuda")
                continue
            self.assertEqual(self.result(*line, "--device", "cuda"), self.result(*line))
            found = json.loads(self.result(*line, "--device", "cuda", "--json"))
            self.assertEqual(found["device"][:5], "cuda:")
