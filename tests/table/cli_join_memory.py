"""join --on of more than --memory holds, against loops over the rows in Python.
Builds: release (full), asan (full), tsan (full)."""
import collections
import os
import random
import resource

from memory import LIMITED, MIB, SHARE, MemoryTest

ROWS = 120_000 // SHARE


class Limited(MemoryTest):
    def table(self, name, header, rows):
        text = "".join(",".join(row) + "\n" for row in rows)
        return self.write(name, (header + "\n" + text).encode())

    def expected(self, a, b, how):
        """Lines of rows (key, field): each of A with those of B that have its key; rows of B alone last."""
        lists, met = collections.defaultdict(list), {key for key, _ in a}
        for key, field in b:
            if key:
                lists[key].append(field)
        lines = []
        for key, field in a:
            found = lists.get(key, []) if key else []
            if how in ("semi", "anti"):
                lines += ["%s\t%s" % (key, field)] * (bool(found) == (how == "semi"))
            else:
                lines += ["%s\t%s\t%s" % (key, field, y) for y in found or [""] * (how != "inner")]
        alone = ["%s\t\t%s" % (key, y) for key, y in b if not key or key not in met]
        return lines + alone * (how == "outer")

    def check(self, a, b, on="k", hows=("inner", "left", "outer", "semi", "anti"), shown=True, **more):
        """shown: with the keys."""
        pa, pb = self.table("a.csv", "k,x", a), self.table("b.csv", "k,y", b)
        for how in hows:
            take = [] if shown else ["--take", "x" if how in ("semi", "anti") else "x,y"]
            found = self.limited("join", pa, pb, "--on", on, "--how", how, *take, **more).split("\n")
            want = [line if shown else line.split("\t", 1)[1] for line in self.expected(a, b, how)]
            wrong = [i for i, (x, y) in enumerate(zip(found, want)) if x != y][:1]
            self.assertEqual((len(found), wrong), (len(want), []),
                             (how, [(found[i], want[i]) for i in wrong]))

    def test_many_keys(self):
        """Words and numbers, some of them NULL."""
        r = random.Random(1)
        for word in ("w-%d", "%d"):
            def rows(n, field):
                return [(word % r.randrange(ROWS) if r.random() < 0.98 else "", field % i) for i in range(n)]
            self.check(rows(ROWS, "x%d"), rows(ROWS * 2 // 3, "y%020d"))

    def test_few_keys(self):
        """Each has more rows on either side than are joined at once."""
        r = random.Random(2)
        a = [(r.choice(["", "Lagos", "Lima", "Oslo"]), "x%0200d" % i) for i in range(ROWS // 6)]
        b = [("Oslo", "y%0200d" % i) if i in (0, ROWS // 12) else ("Rome", "y%0200d" % i) for i in range(ROWS // 6)]
        self.check(a, b)

    def test_frequent_keys(self):
        """Piles of a frequent key are parted again, from other keys; a semi or an anti join takes its rows
        of B once."""
        r = random.Random(5)
        def rows(n, field):
            keys = [r.choice(["", "w%d" % r.randrange(n)]) if r.random() < 0.3 else "Oslo" for _ in range(n)]
            return [(key and key + "o" * 20_000, field % i) for i, key in enumerate(keys)]
        a, b = rows(240, "x%d"), rows(300, "y%d")
        self.check(a, b, shown=False)
        few = [row for row in b if not row[0].startswith("Oslo")]
        self.check(a, few + [("Rome" + "e" * 20_000, "y")] * 200 + b[:3], hows=["outer"], shown=False)
        wide = [("Oslo" if i % 3 else "%d" % (i % 13), "x%0400d" % i) for i in range(ROWS // 6)]
        same = [("Oslo" if i % 5 else "%d" % (i % 11), "y") for i in range(ROWS)]
        self.check(wide, same, hows=["semi", "anti"])
        numbers = lambda n, values, field: [(values[i % len(values)], field % i) for i in range(n)]
        self.check(numbers(ROWS // 6, ["1", "2", "3.5", ""], "x%0400d"), numbers(ROWS, ["1", "3", "3.5"], "y%d"),
                   hows=["semi", "anti"])

    def test_integers_beside_floats(self):
        """They are equal by value, and one side turns out to be of floats at its end."""
        r = random.Random(3)
        a = [("%d" % r.randrange(-ROWS, ROWS), "x%d" % i) for i in range(ROWS)]
        b = [("%d" % r.randrange(-ROWS, ROWS), "y%d" % i) for i in range(ROWS)] + [("0.5", "y")]
        self.check(a, b, hows=["inner", "anti"])
        word = [("word", "y")]
        self.check(a, b[:-1] + word, hows=["left"])

    def test_failures_leave_nothing(self):
        r = random.Random(4)
        rows = [("w%d" % r.randrange(ROWS), "%0100d" % i) for i in range(ROWS)]
        path, spill = self.table("t.csv", "k,x", rows), self.path("spill")
        os.mkdir(spill)
        command = ["join", path, path, "--on", "k", "-o", self.path("out.tsv"), *LIMITED, "--spill"]
        self.refused(1, "cannot write or read a temporary file", *command, self.path("nowhere"))
        full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB // 2, MIB // 2))
        self.refused(1, "cannot write a temporary file: File too large", *command, spill, preexec_fn=full)
        self.assertEqual((os.listdir(spill), sorted(os.listdir(self.dir))), ([], ["spill", "t.csv"]))
