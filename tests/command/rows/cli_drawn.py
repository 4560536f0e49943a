"""sample and shuffle: whole rows at random, against the generator in Python.
Builds: release, asan (full), tsan (full)."""
import csv
import io
import math

from command import SHORT, CommandTest, run

MASK = (1 << 64) - 1
SEEDS = 40 if SHORT else 400


def split_mix(seed, i):
    """Output number i of SplitMix64."""
    x = seed + (i + 1) * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def shuffled(n, seed):
    own = split_mix(seed, 0)
    return sorted(range(n), key=lambda i: split_mix(own, i))


class Drawn(CommandTest):
    def lines(self, *arguments, stdin=b""):
        done = run(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode().split("\n")[:-1]

    def test_generator(self):
        """The vectors of docs/numerics.md."""
        self.assertEqual(split_mix(0, 0), 0xE220A8397B1DCDAF)
        self.assertEqual(split_mix(split_mix(0, 0), 0), 0xA706DD2F4D197E6F)

    def test_rows(self):
        for n in [1, 2, 7, 1000]:
            rows = ["r%d,%s" % (i, "x" * (i % 5)) for i in range(n)]
            text = "\n".join(["a,b"] + rows).encode()
            path = self.write("t.csv", text)
            for seed in [0, 1, 7, 2**63 - 1]:
                order = shuffled(n, seed)
                for k in [1, 3, n, n + 5]:
                    drawn = [rows[i] for i in sorted(order[:k])]
                    where = (path, "--seed", seed, "-n", k)
                    self.assertEqual(self.lines("sample", *where), ["a,b"] + drawn)
                    self.assertEqual(self.lines("shuffle", *where), ["a,b"] + [rows[i] for i in order[:k]])
                self.assertEqual(self.lines("shuffle", "--seed", seed, stdin=text), ["a,b"] + [rows[i] for i in order])
        self.assertEqual(self.lines("shuffle", path), self.lines("shuffle", "--seed", 0, path))

    def test_same_everywhere(self):
        """From a file, a pipe and several files, on any number of threads, in little memory."""
        n = 30_000 if SHORT else 200_000
        rows = ['%d,"row\n%d"' % (i * i % 997, i) for i in range(n)]
        head, text = "id,name\n", "\n".join(rows) + "\n"
        whole = self.write("whole.csv", (head + text).encode())
        cut = text.index("\n", len(text) // 3)
        while text[: cut + 1].count('"') % 2:
            cut = text.index("\n", cut + 1)
        parts = [self.write("a.csv", (head + text[: cut + 1]).encode()), self.write("b.csv", (head + text[cut + 1:]).encode())]
        for command in [("sample", "-n", n // 3), ("shuffle",), ("shuffle", "-n", 50)]:
            want = self.lines(*command, whole)
            for more in [[whole, "-j1"], [whole, "-j4"], parts, [whole, "--memory", "64M"]]:
                self.assertEqual(self.lines(*command, *more), want, (command, more))
            self.assertEqual(self.lines(*command, stdin=(head + text).encode()), want)
        self.assertEqual(self.lines("shuffle", whole)[:3], (head + rows[shuffled(n, 0)[0]]).split("\n"))

    def test_where(self):
        """The rows that meet a condition are drawn as if there were no others."""
        rows = ["%d,%d" % (i, i % 3) for i in range(300)]
        some = [row for row in rows if row.endswith(",1")]
        for command in ["sample", "shuffle"]:
            found = self.lines(command, "-n", 9, "--where", "b == 1", stdin="\n".join(["a,b"] + rows).encode())
            self.assertEqual(found, self.lines(command, "-n", 9, stdin="\n".join(["a,b"] + some).encode()))

    def test_forms(self):
        text = b'a,b\n1,"x"\n,y\n'
        self.assertEqual(self.lines("sample", "-n", 5, "--take", "b,a", stdin=text), ["b\ta", "x\t1", "y\t"])
        table = list(csv.reader(io.StringIO("\n".join(self.lines("shuffle", "--csv", stdin=text)))))
        self.assertEqual((table[0], sorted(table[1:])), (["a", "b"], [["", "y"], ["1", "x"]]))
        self.assertEqual(self.lines("sample", "-n", 2, "--format", "jsonl", "--seed", 3, stdin=b'{"b":1}\n{"b":["x"]}\n'),
                         ['{"b":1}', '{"b":["x"]}'])
        self.assertEqual(self.lines("sample", "-n", 2, stdin=b"5\n\n7\n"), ["5", "7"])
        for command in ["sample", "shuffle"]:
            self.assertEqual(run(command, "-n", 2, stdin=b"").stdout, b"")

    def test_every_row_is_as_likely(self):
        """Over many seeds, each row, and each pair of rows, is drawn as often as a binomial count allows."""
        n, k = 10, 4
        text = "\n".join(map(str, range(n))).encode()
        rows, pairs = [0] * n, {}
        for seed in range(SEEDS):
            drawn = [int(x) for x in self.lines("sample", "-n", k, "--seed", seed, stdin=text)]
            self.assertEqual(len(drawn), k)
            for i in drawn:
                rows[i] += 1
                for j in drawn:
                    pairs[i, j] = pairs.get((i, j), 0) + (i < j)
        for counts, p in [(rows, k / n), ([pairs.get((i, j), 0) for i in range(n) for j in range(i + 1, n)],
                                          k * (k - 1) / (n * (n - 1)))]:
            # Beyond these bounds lies a binomial count with a chance of 1e-9 (Hoeffding).
            bound = math.sqrt(SEEDS * math.log(2e9) / 2)
            for count in counts:
                self.assertLess(abs(count - SEEDS * p), bound)

    def test_refusals(self):
        self.assertEqual(run("sample", stdin=b"1\n").returncode, 2)
        for more in [["--seed", "-1"], ["--seed", "x"], ["-n", "0"], ["--by", "1"], ["--take", "z"]]:
            self.assertNotEqual(run("shuffle", *more, stdin=b"1\n").returncode, 0, more)
