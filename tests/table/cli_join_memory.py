"""join --on of more than --memory holds, against loops over the rows in Python."""
import collections
import os
import random
import resource
import unittest

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

    def check(self, a, b, on="k", hows=("inner", "left", "outer", "semi", "anti"), **more):
        pa, pb = self.table("a.csv", "k,x", a), self.table("b.csv", "k,y", b)
        for how in hows:
            found = self.limited("join", pa, pb, "--on", on, "--how", how, **more).split("\n")
            want = self.expected(a, b, how)
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


if __name__ == "__main__":
    unittest.main()
