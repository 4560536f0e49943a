"""Rows of several columns: read once, whatever the threads; and dtypes that show late.
Builds: release, asan (full), tsan (full)."""
import json
import os
import random
import resource
import subprocess

import numpy as np

from command import BITFOLD, SHORT, THREADS_ALONE, CommandTest, run, least_memory

THREADS = [2, 8] if THREADS_ALONE else [1, 2, 8]


def table(r, n, kinds, delimiter=","):
    """Rows of random fields, as lists of their texts, and the text of all."""
    make = {"int": lambda: str(r.randrange(-1000, 1000)), "key": lambda: str(r.randrange(40)),
            "price": lambda: "%d.%02d" % (r.randrange(1000), r.randrange(100)),
            "word": lambda: r.choice(["Lagos", "", "São Paulo", "x" * 30]),
            "quoted": lambda: '"%s%s%s"' % (r.choice("ab"), delimiter, r.choice(["", '""'])),
            "digits": lambda: '"%d"' % r.randrange(1000)}
    rows = [[make[kind]() for kind in kinds] for _ in range(n)]
    return rows, "".join(delimiter.join(row) + "\n" for row in rows)


class RowsTest(CommandTest):
    def every_way(self, data, *arguments):
        """What a command says of a file x and of a pipe, on every number of threads: the same."""
        name = self.write("x", data)
        said = {self.result(*[name if a == "x" else a for a in arguments], "-j", j)
                for j in THREADS}
        for j in THREADS[::2]:
            said.add(self.result(*["-" if a == "x" else a for a in arguments], "-j", j, stdin=data))
        self.assertEqual(len(said), 1, arguments)
        return said.pop()


class Columns(RowsTest):
    def test_one_pass_gives_what_each_column_alone_gives(self):
        r = random.Random(1)
        names = ["id", "city", "price", "note", "count"]
        _, text = table(r, 20000, ["key", "word", "price", "quoted", "digits"])
        data = (",".join(names) + "\n" + text).encode()
        numbers = ["id", "price", "count"]
        for op in ["sum", "argmax"] if SHORT else ["sum", "var", "argmax", "prod"]:
            alone = [self.every_way(data, op, "--column", name, "x") for name in numbers]
            want = "\n".join("%s\t%s" % pair for pair in zip(numbers, alone))
            self.assertEqual(self.every_way(data, op, "--column", "price,id,count", "x"), want)
            numbered = ["1,3,5", "--offset", 1]
            want = "\n".join("%d\t%s" % (k, self.every_way(data, op, "--column", k, "--offset", 1,
                                                           "x")) for k in [1, 3, 5])
            self.assertEqual(self.every_way(data, op, "--column", *numbered, "x"), want)

    def test_describe_takes_a_list(self):
        r = random.Random(2)
        data = ("a,b,c\n" + table(r, 5000, ["int", "word", "price"])[1]).encode()
        alone = [self.every_way(data, "describe", "--column", name, "x") for name in "ac"]
        both = self.every_way(data, "describe", "--column", "c,a", "x").split("\n")
        self.assertEqual(both[0], "column\ta\tc")
        for line, a, c in zip(both[1:], alone[0].split("\n"), alone[1].split("\n")):
            self.assertEqual(line, a + "\t" + c.split("\t")[1])

    def test_lines_tell_columns_and_files(self):
        x, y = self.write("x", b"a,b\n1,2\n3,4\n"), self.write("y", b"a,b\n10,0.5\n")
        self.assertEqual(self.result("sum", "--column", "a,b", x, y, "--dtype", "f64", "--total"),
                         "a\t4\t%s\nb\t6\t%s\na\t10\t%s\nb\t0.5\t%s\na\t14\ttotal\nb\t6.5\ttotal"
                         % (x, x, y, y))
        self.assertEqual(self.result("sum", "--column", "a,b", "--tsv", x),
                         "a\t4\t%s\nb\t6\t%s" % (x, x))
        lines = self.result("sum", "--column", "a,b", "--json", x).split("\n")
        found = [json.loads(line) for line in lines]
        self.assertEqual([(o["column"], o["value"], o["dtype"]) for o in found],
                         [("a", 4, "i64"), ("b", 6, "i64")])
        self.assertNotIn("column", json.loads(self.result("sum", "--column", "a", "--json", x)))

    def test_thousands_of_names_are_found_as_fast_as_numbers(self):
        names = ["c%d" % i for i in range(40000)]
        some = random.Random(7).sample(range(40000), 8000)
        path = self.write("wide", ("%s\n%s\n" % (",".join(names), ",".join("7" * 40000))).encode())

        def seconds(columns):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            lines = self.result("sum", "-j1", "--header", "--column", ",".join(columns), path).split("\n")
            self.assertEqual(lines, ["c%d\t7" % i for i in sorted(some)])
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        by_number, by_name = seconds(str(i + 1) for i in some), seconds(names[i] for i in some)
        self.assertLess(by_name, 8 * by_number + 0.2)  # a search of all for each took 1.2 s

    def test_what_cannot_be_is_refused(self):
        x, y = self.write("x", b"a,b\n1,2\n"), self.write("y", b"a\n1\n")
        save = ["--save", self.path("s")]
        self.refused(2, "--save takes one column, not 2", "sum", "--column", "a,b", *save, x)
        self.assertFalse(os.path.exists(self.path("s")))
        done = run("sum", "--column", "1,2", "--offset", 1, "--total", x,
                   self.write("z", b"3,4\n5,oops\n"))
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"z:2: column 2: not a number: 'oops'", done.stderr)
        self.assertNotIn(b"total", done.stdout)
        self.refused(3, "no column is named 'b'", "sum", "--column", "a,b", y)

    def test_a_file_of_another_dtype_ends_the_total_alone(self):
        floats, whole = self.write("f", b"1.5\n"), self.write("w", b"1\n2\n")
        done = run("prod", "--total", floats, whole, floats)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.count(b"bitfold prod:"), 1, done.stderr)
        self.assertIn(b"w: cannot make a total of different dtypes", done.stderr)


class Group(RowsTest):
    def test_columns_of_one_file_are_those_of_files_of_their_own(self):
        r = random.Random(3)
        rows, text = table(r, 40000, ["key", "word", "price", "int", "quoted"])
        data = ("id,city,price,n,note\n" + text).encode()
        for name, k in [("id", 0), ("price", 2), ("n", 3)]:
            self.write(name + ".txt", "".join(row[k] + "\n" for row in rows).encode())
        files = [self.path(name + ".txt") for name in ["price", "n"]]
        want = self.result("group", self.path("id.txt"), "--sum", files[0], "--mean", files[1],
                           "--count", "--max", files[0])
        found = self.every_way(data, "group", "--column", "id", "x", "--sum", "price", "--mean",
                               ":n", "--count", "--max", "3")
        self.assertEqual(found, want)

    def test_the_key_may_be_its_own_value(self):
        data = b"k\n3\n1\n3\n"
        self.assertEqual(self.every_way(data, "group", "--column", "k", "x", "--sum", "k"),
                         "1\t1\n3\t6")
        self.assertEqual(self.every_way(b"3\n1\n3\n", "group", "x", "--sum", ":1"), "1\t1\n3\t6")
        self.refused(3, "2 fields in the first row, and no --column says which", "group", "--sum",
                     ":1", stdin=b"1,2\n3,4\n")

    def test_a_file_of_values_beside_columns(self):
        data = b"k,v\n1,10\n2,20\n1,30\n"
        other = self.write("w.txt", b"k,z\n0.5,1\n1.5,1\n2.5,1\n")
        self.assertEqual(self.every_way(data, "group", "--column", "k", "x", "--sum", "v", "--max",
                                        other), "1\t40\t2.5\n2\t20\t1.5")
        for n, how in [(2, "fewer"), (4, "more")]:
            name = self.write("bad.txt", b"k\n" + b"1\n" * n)
            self.refused(3, "it holds %s values than there are keys" % how, "group", "--column",
                         "k", self.path("x"), "--sum", name)


class LateDtypes(RowsTest):
    """Columns that look like integers, until a row says otherwise."""

    N = 60000

    def data(self, last, column):
        """Rows of key and value; the last of one column is `last`."""
        rows = [["%d" % (i % 7), "%d" % (i % 1000)] for i in range(self.N)]
        rows[-1][column] = last
        return "".join(",".join(row) + "\n" for row in rows).encode()

    def test_of_keys_and_values(self):
        command = ["group", "--column", 1, "x", "--sum", ":2", "--min", ":2", "--count"]
        for last in ["0.5", "-0", "18446744073709551615", "-1", "nan", "1e300"]:
            for column in [0, 1]:
                found = self.every_way(self.data(last, column), *command)
                lines = dict(line.split("\t", 1) for line in found.split("\n"))
                key = {"-0": "0"}.get(last, last) if column == 0 else str((self.N - 1) % 7)
                key = {"1e300": "1e+300"}.get(key, key)
                self.assertIn(key, lines)
                self.assertEqual(sum(int(x.split("\t")[-1]) for x in lines.values()), self.N)
                if column == 1 and last not in ("nan", "1e300"):
                    want = sum(i % 1000 for i in range(self.N) if i % 7 == int(key))
                    want += float(last) - (self.N - 1) % 1000
                    self.assertEqual(float(lines[key].split("\t")[0]), want)

    def test_of_a_pipe_beyond_memory(self):
        least = "%dM" % least_memory()
        data = self.data("7", 1) * 16 + self.data("0.25", 1)
        want = self.result("group", "--column", 1, self.write("x", data), "--sum", ":2")
        for memory in [least, "96MiB", "1G"]:
            self.assertEqual(self.result("group", "-j2", "--column", 1, "--memory", memory,
                                         "--sum", ":2", stdin=data), want)
        numbers = b"".join(b"%d\n" % (i % 9) for i in range(30 * self.N)) + b"0.5\n"
        want = self.result("count", self.write("y", numbers))
        self.assertEqual(self.result("count", "-j2", "--memory", least, stdin=numbers), want)
        self.assertIn("0.5\t1", want)
        env = {"TMPDIR": self.path("nowhere")}
        self.refused(1, "nowhere: cannot write or read a temporary file: No such file", "count",
                     "-j2", "--memory", least, stdin=numbers, env=env)

    def test_with_a_pipe_of_values(self):
        """The keys begin anew, so the values, which are on a pipe, must too."""
        keys = b"".join(b"%d\n" % (i % 5) for i in range(self.N)) + b"0.5\n"
        values = np.arange(self.N + 1).astype("f8")
        name = self.write("keys", keys)
        want = self.result("group", name, "--sum", self.save("v.npy", values))
        with open(self.path("v.npy"), "rb") as f:
            self.assertEqual(self.result("group", name, "--sum", "-", "-j", 2, stdin=f.read()), want)

    def test_of_dot_join_and_map(self):
        n = 20000
        whole = b"".join(b"%d\n" % (i % 100) for i in range(n))
        late = whole[:-3] + b".5\n"
        x, y = self.write("x", late), self.write("y", whole)
        a, b = np.loadtxt(x), np.loadtxt(y)
        for pair, want in [((x, y), a @ b), ((y, x), a @ b), ((y, y), b @ b)]:
            self.assertEqual(float(self.result("dot", *pair)), want)
        for first in [late, whole]:
            self.assertEqual(float(self.result("dot", "-", y, stdin=first)),
                             a @ b if first == late else b @ b)
        self.assertEqual(self.result("join", "--count", 200, "-", y, stdin=whole),
                         self.result("join", "--count", 200, y, y))
        self.assertEqual(self.result("join", "--offset", n - 1, x, y), "")
        self.result("map", "add", "-", "1", "-o", self.path("o.npy"), stdin=late)
        np.testing.assert_array_equal(np.load(self.path("o.npy")), a + 1)

    def test_of_values_a_column_keeps_every_digit_it_can(self):
        big = str(2**63 - 1)
        for last, want in [("1", "18446744073709551615"), ("-1", "18446744073709551613"),
                           ("0.5", "18446744073709551614.5")]:
            text = [big, big] + ["0"] * 50000 + [last]
            found = self.every_way("\n".join(text).encode(), "sum", "x")
            self.assertEqual(found, want)


class Memory(RowsTest):
    def peak(self, *arguments, chunks):
        """The resident set, in MiB, of a command that reads a long pipe, but what it may keep of it."""
        with subprocess.Popen([BITFOLD, *map(str, arguments)], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as process:
            for chunk in chunks:
                process.stdin.write(chunk)
            with open("/proc/%d/status" % process.pid) as f:
                lines = dict(line.split(":", 1) for line in f)
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
        kept = sum(map(len, chunks)) >> 20 if arguments[0] == "count" else 0
        return int(lines["VmHWM"].split()[0]) / 1024 - kept

    def test_a_long_pipe_takes_little(self):
        times = 20 if SHORT else 100
        floats = [b"".join(b"%d.5\n" % (i % 100) for i in range(200000))] * times
        whole = [b"".join(b"%d\n" % (i % 100) for i in range(200000))] * times
        for command, chunks in [(["sum"], floats), (["sum"], whole), (["count"], floats),
                                (["hist", "--range", "0:100", "--bins", 5], floats)]:
            self.assertLess(self.peak(*command, "-j", 2, chunks=chunks), 64, command)
