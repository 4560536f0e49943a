"""group, count and unique with -o FILE.npy: structured arrays, as NumPy reads them, against Python's
collections, fractions and decimals.
Builds: release, asan (full)."""
import collections
import random
import statistics
from fractions import Fraction

import numpy as np

from memory import LIMITED, SHARE, MemoryTest

ROWS = 60_000 // SHARE


class Array(MemoryTest):
    def array(self, *arguments, **more):
        out = self.path("out.npy")
        self.assertEqual(self.result(*arguments, "-o", out, **more), "")
        return np.load(out)

    def refuse(self, code, message, *arguments):
        self.refused(code, message, *arguments, "-o", self.path("none.npy"))
        self.assertFalse(self.exists("none.npy"))

    def exists(self, name):
        try:
            open(self.path(name), "rb").close()
        except FileNotFoundError:
            return False
        return True

    def table(self, r):
        """Rows of a word, an integer, a decimal and a float."""
        return [("w%d" % r.randrange(300) * r.randrange(1, 4), r.randrange(-5, 5), r.randrange(-10**6, 10**6) / 100,
                 r.uniform(-1, 1) * 10.0 ** r.randrange(-30, 30)) for _ in range(ROWS)]

    def test_fields_are_what_python_finds(self):
        rows = self.table(random.Random(1))
        path = self.write("t.csv", ("word,n,cost,x\n" + "".join("%s,%d,%.2f,%.17e\n" % row for row in rows)).encode())
        groups = collections.defaultdict(list)
        for row in rows:
            groups[row[0], row[1]].append(row)
        want = []
        for (word, n), of in sorted(groups.items()):
            cost = sum(Fraction(row[2]).limit_denominator(100) for row in of)
            want.append((word.encode(), n, sum(row[1] for row in of), float(cost), float(sum(Fraction(row[3]) for row in of)),
                         float(statistics.median(Fraction(row[1]) for row in of)), max(row[3] for row in of), len(of)))
        ask = ["group", "--by", "word,n", "--sum", "n,cost,x", "--median", "n", "--max", "x", "--count", path]
        names = [("word", "S12"), ("n", "i8"), ("sum(n)", "i8"), ("sum(cost)", "f8"), ("sum(x)", "f8"), ("median(n)", "f8"),
                 ("max(x)", "f8"), ("count", "i8")]
        for more in ([], LIMITED):
            found = self.array(*ask, *more)
            self.assertEqual(found.dtype, np.dtype(names), more)
            self.assertEqual(found.tolist(), want, more)
            self.assertEqual(self.array(*ask, *more, "--sort", "-key", "-n", 9).tolist(), want[:-10:-1], more)

    def test_arrays_keep_their_dtypes(self):
        keys = np.array([3, 1, 3], "u1")
        k, v = self.save("k.npy", keys), self.save("v.npy", np.array([1.5, 2.5, 3.5], "f4"))
        found = self.array("group", k, "--sum", v, "--max", v, "--count")
        self.assertEqual(found.dtype.descr[0], ("key", "|u1"))
        self.assertEqual([d for _, d in found.dtype.descr[1:]], ["<f8", "<f4", "<i8"])
        self.assertEqual(found.tolist(), [(1, 2.5, 2.5, 1), (3, 5.0, 3.5, 2)])
        self.assertEqual(self.array("count", k).tolist(), [(3, 2), (1, 1)])
        for dtype in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
            keys = np.array([0, 1, 1], dtype)
            found = self.array("group", self.save("d.npy", keys), "--max", self.path("d.npy"))
            self.assertEqual([d[1] for d in found.dtype.descr], [keys.dtype.str] * 2)
            self.assertEqual(found.tolist(), [(0, 0), (1, 1)], dtype)

    def test_names_and_strings_of_any_kind(self):
        path = self.write("n.csv", 'a\'b,"c\\d",été\nx,"p, ""q""",1\n,y,2\n"",y,3\n'.encode())
        found = self.array("unique", "--by", "c\\d,été", path)
        self.assertEqual(found.dtype.names, ("c\\d", "été"))
        self.assertEqual(found.tolist(), [(b'p, "q"', 1), (b"y", 2), (b"y", 3)])
        self.assertEqual(self.array("count", "--by", "a'b", "--where", "été != 2", path).dtype.names, ("a'b", "count"))
        empty = self.array("count", "--by", "a'b", "--where", "été > 9", path)
        self.assertEqual((empty.shape, empty.dtype.names), ((0,), ("a'b", "count")))

    def test_no_value_of_floats_is_nan(self):
        path = self.write("m.csv", b"k,v\n1,\n2,7.5\n")
        found = self.array("group", "--by", "k", "--median", "v", "--null-policy", "skip", path)
        self.assertTrue(np.isnan(found["median(v)"][0]) and found["median(v)"][1] == 7.5)

    def test_what_has_no_form_is_refused(self):
        path = self.write("r.csv", b"k,s,n,big,c\n1,a,1,9223372036854775807,x\n,b,,1,x\n")
        for code, message, *arguments in [
                (2, "--total does not go with -o FILE.npy", "count", "--by", "k", "--total", path),
                (2, "--json does not go with -o FILE.npy", "count", "--by", "k", "--json", path),
                (3, "cannot write column k as .npy: a row is NULL", "count", "--by", "k", path),
                (3, "cannot write column max(n) as .npy: a row is NULL", "group", "--by", "s", "--max", "n", "--null-policy", "skip", path),
                (3, "cannot write column sum(big) as .npy: 64 bits do not hold a number of it", "group", "--by", "c", "--sum", "big", path),
                (2, "cannot write .npy: two columns are named 'count'", "group", "--by", "s", "--sum", "big=count", "--count", path),
                (3, "a string ends with a zero byte", "count", "--by", "z", self.write("z.jsonl", b'{"z":"a\\u0000"}\n'))]:
            self.refuse(code, message, *arguments)
        self.refuse(3, "the name of column 1 is not UTF-8", "count", "--by", "1", self.write("b.csv", b"\xff,b\nx,1\n"), "--header")
