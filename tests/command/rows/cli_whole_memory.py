"""sort --by, top --by, sample and shuffle of more rows than --memory holds, against Python's sorted.
Builds: release (full), asan (full), tsan (full)."""
import random

from memory import SHARE, MemoryTest

ROWS = 200_000 // SHARE
CITIES = ["Lagos", "Lima", "Oslo", "Rome", "a city of a very long name indeed, %s" % ("x" * 80)]


class Limited(MemoryTest):
    def setUp(self):
        super().setUp()
        r = random.Random(3)
        self.rows = [(r.randrange(-50, 50), r.choice(CITIES) + r.choice(["", "0", "00"]), i, "y" * r.randrange(90))
                     for i in range(ROWS)]
        self.texts = ['%d,"%s",%d,%s' % row for row in self.rows]
        self.table = self.write("t.csv", ("n,city,i,pad\n" + "\n".join(self.texts)).encode())

    def check(self, want, *arguments, **more):
        found = self.limited(*arguments, **more).split("\n")
        wrong = [i for i, (x, y) in enumerate(zip(found, want)) if x != y][:1]
        self.assertEqual((len(found), wrong), (len(want), []), [(found[i], want[i]) for i in wrong])

    def order(self, key):
        return ["n,city,i,pad"] + [self.texts[i] for i in sorted(range(ROWS), key=lambda i: key(self.rows[i]))]

    def test_in_parts(self):
        """One thread and two, from a file and a pipe."""
        by_city = self.order(lambda row: (row[1].encode(), -row[0]))
        self.check(by_city, "sort", "--by", "city,-n", self.table)
        self.check(by_city, "sort", "--by", "city,-n", self.table, threads=1)
        with open(self.table, "rb") as f:
            self.check(by_city, "sort", "--by", "city,-n", stdin=f.read())
        self.check(self.order(lambda row: -row[2]), "sort", "--by", "-i", self.table)
        self.check(self.order(lambda row: 0), "sort", "--by", "i", self.table)

    def test_first(self):
        """A few rows, and more than memory holds."""
        by_number = self.order(lambda row: -row[0])
        for most in [1, 100, ROWS // 2]:
            self.check(by_number[: most + 1], "top", "--by", "n", "-n", most, self.table)

    def test_drawn(self):
        drawn = self.same("sample", "-n", ROWS // 2, self.table).split("\n")[1:]
        self.assertEqual(drawn, sorted(drawn, key=lambda row: int(row.split(",")[-2])))
        shuffled = self.same("shuffle", self.table).split("\n")[1:]
        self.assertEqual(sorted(shuffled), sorted(self.texts))

    def test_columns(self):
        found = self.same("sort", "--by", "-n", "--take", "i,n", self.table).split("\n")
        self.assertEqual(found[1:], ["%d\t%d" % (row[2], row[0]) for row in sorted(self.rows, key=lambda row: -row[0])])

    def test_long_rows(self):
        """Rows of a megabyte."""
        rows = ["%d,%s" % (i * 7 % 40, chr(97 + i % 26) * (1 << 20)) for i in range(40)]
        path = self.write("long.csv", ("n,x\n" + "\n".join(rows)).encode())
        self.check(["n,x"] + sorted(rows, key=lambda row: int(row.split(",")[0])), "sort", "--by", "n", path, limit=160)
        self.check(["n,x"] + sorted(rows, key=lambda row: row.split(",")[1][0]), "sort", "--by", "x", path, limit=160)
