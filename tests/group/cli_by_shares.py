"""group --share: the sum of a group divided by that of all, against Python's fractions.
Builds: release, asan (full)."""
import collections
import os
import random
from fractions import Fraction

from command import CommandTest, least_memory

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // 6
LIMIT = "%dM" % (least_memory() + 5)


def shown(numerator, denominator):
    if denominator == 0:
        return "nan" if numerator == 0 else "inf" if numerator > 0 else "-inf"
    share = numerator / denominator
    try:
        text = repr(float(share))
    except OverflowError:
        return "inf" if share > 0 else "-inf"
    text = text[:-2] if text.endswith(".0") else text
    return "-0" if numerator == 0 and denominator < 0 else text


class Shares(CommandTest):
    def fields(self, r, doubles):
        if doubles:
            exponents = r.choice([0, 3, 30, 300])
            return lambda: repr(r.uniform(-1, 1) * 10.0 ** r.randint(-exponents, exponents))
        return r.choice([lambda: str(r.randrange(-9, 10)), lambda: "%.2f" % r.uniform(-5, 100),
                         lambda: str(r.randrange(10**37)), lambda: str(r.choice([-1, 1]) * 2**r.randrange(63))])

    def test_shares_are_exact_quotients_rounded_once(self):
        for seed in range(CASES * 4):
            r = random.Random(seed)
            doubles = r.random() < 0.5
            make, rows = self.fields(r, doubles), r.choice([1, 2, 5, 300])
            table = [(r.choice("abcde"), make()) for _ in range(rows)]
            if r.random() < 0.2:  # the sum of these is 0
                table += [(r.choice("abcde"), v[1:] if v[0] == "-" else "-" + v) for _, v in table]
            if doubles:  # a fraction of so many digits is that of a double
                table.append(("z", "0.12345678901234567"))
            exact = (lambda v: Fraction(float(v))) if doubles else Fraction
            sums = collections.defaultdict(Fraction)
            for key, value in table:
                sums[key] += exact(value)
            total = sum(sums.values())
            want = ["%s\t%s" % (key, shown(sums[key], total)) for key in sorted(sums)] + ["\t" + shown(total, total)]
            path = self.write("t.csv", ("k,v\n" + "".join("%s,%s\n" % row for row in table)).encode())
            for more in [[], ["--memory", LIMIT]]:
                found = self.result("group", "--by", "k", "--share", "v", "--total", *more, path).split("\n")
                self.assertEqual(found, want, (seed, more, table[:5]))

    def test_special_values_forms_and_orders(self):
        data = b"k,v\na,inf\nb,1\nc,nan\nc,2\n"
        self.assertEqual(self.result("group", "--by", "k", "--share", "v", "--where", "k != \"c\"", stdin=data), "a\tnan\nb\t0")
        self.assertEqual(self.result("group", "--by", "k", "--share", "v", stdin=data), "a\tnan\nb\tnan\nc\tnan")
        self.assertEqual(self.result("group", "--by", "k", "--share", "v=s", "--sort", "-s", "--json", "--null-policy", "skip",
                                     stdin=b"k,v\na,1\nb,3\nc,\n"), '{"k":"b","s":0.75}\n{"k":"a","s":0.25}\n{"k":"c","s":null}')
        self.assertEqual(self.result("group", "--share", "v", "--column", "k", "--out-dtype", "f32",
                                     stdin=b"k,v\n1,1\n2,2\n"), "1\t0.33333334\n2\t0.6666667")
        self.refused(3, "times have no", "group", "--by", "k", "--share", "d", stdin=b"k,d\na,2026-01-01\n")

    def test_shares_of_parts_that_are_merged(self):
        for i, data in enumerate([b"k,v\na,1\nb,0.5\n", b"k,v\na,2\nc,4.5\n"]):
            for by in [["--by", "k"], ["--by", "k", "--sum", "v", "--median", "v"]]:
                self.result("group", *by, "--share", "v", "--save", self.path("%d.%d" % (i, len(by))), self.write("t.csv", data))
        self.assertEqual(self.result("merge", self.path("0.2"), self.path("1.2")), "a\t0.375\nb\t0.0625\nc\t0.5625")
        self.assertEqual(self.result("merge", self.path("0.6"), self.path("1.6")),
                         "a\t3\t1.5\t0.375\nb\t0.5\t0.5\t0.0625\nc\t4.5\t4.5\t0.5625")
        self.result("group", "--share", "v", "--column", "k", "--save", self.path("s"), self.write("t.csv", b"k,v\n1,1\n2,3\n"))
        self.assertEqual(self.result("merge", self.path("s")), "1\t0.25\n2\t0.75")

    def test_groups_that_memory_does_not_hold(self):
        for seed in range(4):
            r = random.Random(seed)
            nulls = seed % 2
            rows = [(b"name-%d" % r.randrange(10**6), b"" if nulls and r.random() < 0.3 else b"%d.5" % r.randrange(-9, 99)) for _ in range(60000)]
            path = self.write("t.csv", b"k,v\n" + b"".join(b"%s,%s\n" % row for row in rows))
            ask = ["group", "--by", "k", "--share", "v,v*v=w", "--sum", "v", "--sort", r.choice(["key", "-share(v)", "w"]), *["--total"] * r.randrange(2),
                   *["--null-policy", "skip"] * nulls]
            want = self.result(*ask, path)
            limit = ["--memory", "%dM" % (least_memory() + 1)]
            self.assertEqual(self.result(*ask, *limit, path), want, (seed, ask))
            self.assertEqual(self.result(*ask, *limit, "--checkpoint", self.path("c"), path), want, (seed, ask))
