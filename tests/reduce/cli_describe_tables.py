"""describe of tables with strings, times and NULLs, against Fraction, Counter and sorted.
Builds: release, asan (full)."""
import json
import os
import random
import subprocess
import time
from collections import Counter
from fractions import Fraction

from command import BITFOLD, CommandTest, exact, least_memory, run

CASES = int(os.environ.get("BITFOLD_CASES", "40"))
WORDS = ["red", "green", "blue", "", "a,b", 'say "x"', "two\nlines", "Zürich", "zz", "0x", "-", "n/a ?"]


def make_date(r):
    return "%04d-%02d-%02d" % (r.randrange(1900, 2100), r.randrange(1, 13), r.randrange(1, 29))


MAKERS = {"integer": lambda r: str(r.randrange(-50, 50)),
          "large": lambda r: str(r.randrange(2**62, 2**66)),
          "decimal": lambda r: "%d.%02d" % (r.randrange(-9, 99), r.randrange(100)),
          "few": lambda r: r.choice(WORDS[:3]),
          "quoted": lambda r: r.choice(WORDS),
          "many": lambda r: "id%d" % r.randrange(10**6),
          "late": lambda r: str(r.randrange(9)),
          "date": make_date}
STRINGS = {"few", "quoted", "many", "late"}


def quote(field):
    return '"%s"' % field.replace('"', '""') if not field or any(c in field for c in '",\n') else field


class Table:
    """Random columns; a field that is None is NULL."""

    def __init__(self, r, rows):
        self.kinds = [r.choice(sorted(MAKERS)) for _ in range(r.randrange(1, 7))]
        self.names = ["c%d" % k for k in range(len(self.kinds))]
        self.columns = [self.make(r, kind, rows) for kind in self.kinds]

    @staticmethod
    def make(r, kind, rows):
        null = r.choice([0, 0, 0.1, 0.9])
        fields = [None if r.random() < null else MAKERS[kind](r) for _ in range(rows)]
        if kind == "late" and rows:
            fields[-1] = "word"
        if kind == "quoted" and rows:
            fields[0] = "red"
        if kind not in STRINGS and rows:
            fields[0] = fields[0] or MAKERS[kind](r)
        return fields

    def rows(self):
        return list(zip(*self.columns))

    def csv(self):
        rows = [self.names, *self.rows()]
        last = ["pad" if i == 0 else "1" for i in range(len(rows))]
        return "".join(",".join([*("" if f is None else quote(f) for f in row), pad]) + "\n" for row, pad in zip(rows, last))

    def json(self):
        lines = []
        for row in self.rows():
            pairs = ["%s:%s" % (json.dumps(name), "null" if f is None else
                                f if kind not in STRINGS | {"date"} else json.dumps(f))
                     for name, kind, f in zip(self.names, self.kinds, row)]
            lines.append("{%s}\n" % ",".join(pairs))
        return "".join(lines)


class DescribeTables(CommandTest):
    def describe(self, *arguments, **more):
        lines = [json.loads(line, parse_float=Fraction) for line in
                 self.result("describe", "--json", *arguments, **more).split("\n")]
        return {line["column"]: line for line in lines}

    def check_strings(self, got, values, case):
        count = Counter(values)
        mode = min(count, key=lambda w: (-count[w], w.encode())) if count else None
        ordered = sorted(values, key=str.encode)
        want = {"n": len(values), "distinct": len(count), "mode": mode, "mode_count": count[mode] if count else 0,
                "min": ordered[0] if values else None, "max": ordered[-1] if values else None,
                "sum": None, "mean": None, "std": None, "argmin": None, "dtype": "string"}
        self.assertEqual({key: got[key] for key in want}, want, case)

    def check_times(self, got, fields, case):
        values = [f for f in fields if f is not None]
        want = {"n": len(values), "min": min(values), "max": max(values), "argmin": fields.index(min(values)),
                "argmax": fields.index(max(values)), "sum": None, "mean": None, "std": None, "dtype": "time"}
        self.assertEqual({key: got[key] for key in want}, want, case)

    def check_numbers(self, got, fields, case):
        numbers = [None if f is None else Fraction(f) for f in fields]
        values = [x for x in numbers if x is not None]
        self.assertEqual([got["n"], got["nan"], got["inf"]], [len(values), 0, 0], case)
        self.assertEqual([Fraction(got["min"]), Fraction(got["max"])], [min(values), max(values)], case)
        self.assertEqual([got["argmin"], got["argmax"]],
                         [numbers.index(min(values)), numbers.index(max(values))], case)
        self.assertEqual(Fraction(got["sum"]), sum(values), case)
        for op in ["mean", "std"]:
            self.assertEqual(float(got[op]), float(exact(op, values)), (case, op))

    def check(self, got, table, keep, case):
        for name, kind, column in zip(table.names, table.kinds, table.columns):
            fields = [f for f, kept in zip(column, keep) if kept]
            values = [f for f in fields if f is not None]
            self.assertEqual(got[name]["null"], len(fields) - len(values), (case, name))
            if not any(column) or (not values and kind not in STRINGS):
                continue
            if kind in STRINGS:
                self.check_strings(got[name], values, (case, name))
            else:
                (self.check_times if kind == "date" else self.check_numbers)(got[name], fields, (case, name))

    def test_random_tables(self):
        for seed in range(CASES):
            r = random.Random(seed)
            table = Table(r, r.choice([1, 2, 5, 33, 300, 3000]))
            lines = r.random() < 0.3
            data = (table.json() if lines else table.csv()).encode()
            options = ["-j", r.choice([1, 3]), *["--format", "jsonl"] * lines]
            name = self.write("t.csv", data)
            keep = [True] * len(table.columns[0])
            case = (seed, options, table.kinds)
            for more, stdin in [([name], b""), (["-"], data)]:
                self.check(self.describe(*options, *more, stdin=stdin), table, keep, case)
            if table.kinds[0] == "integer":
                keep = [f is not None and int(f) > 0 for f in table.columns[0]]
                if any(keep):
                    self.check(self.describe("--where", "c0 > 0", *options, name), table, keep, case)

    def test_layouts_agree(self):
        data = b"a,b,c\n1,x,2020-01-01\n2,y,\n,x,2020-01-02\n"
        lines = [line.split("\t") for line in self.result("describe", stdin=data).split("\n")]
        self.assertEqual([line[0] for line in lines], ["column", "n", "nan", "inf", "min", "argmin", "max", "argmax",
                                                       "sum", "mean", "std", "null", "distinct", "mode", "mode_count"])
        self.assertEqual(lines[4], ["min", "1", "x", "2020-01-01"])
        self.assertEqual(lines[8], ["sum", "3", "-", "-"])
        self.assertEqual(lines[-4:], [["null", "1", "0", "1"], ["distinct", "-", "2", "-"], ["mode", "-", "x", "-"],
                                      ["mode_count", "-", "2", "-"]])
        table = [line.split("\t") for line in self.result("describe", "--tsv", stdin=data).split("\n")]
        self.assertEqual([list(column) for column in zip(*table)][2:], lines[1:])
        self.assertEqual(self.result("describe", "--csv", stdin=data).split("\n")[2], "-,b,3,,,x,,y,,,,,0,2,x,2")

    def test_quantiles_leave_strings_out(self):
        got = self.describe("--quantiles=50", stdin=b"a,b,c\n1,x,2020-01-01\n2,y,2020-01-03\n3,z,2020-01-09\n")
        self.assertEqual([got[name]["quantiles"] for name in "abc"], [[2], [None], ["2020-01-03"]])

    def test_what_is_too_wide_for_a_terminal_is_turned(self):
        name = self.write("t.csv", b"a,b\n1,x\n2,y\n")
        piped = [line.split("\t") for line in self.result("describe", name).split("\n")]
        wide = self.write("w.csv", (",".join("v%d" % i for i in range(50)) + "\n" + "1," * 49 + "1\n").encode())
        lines = [line.split("\t") for line in self.result("describe", wide).split("\n")]
        for path, columns, want in [(name, 200, piped), (wide, 2000, lines), (wide, 90, zip(*lines))]:
            shown = self.shown("describe", path, env={**os.environ, "COLUMNS": str(columns)})
            self.assertEqual([line.split() for line in shown.splitlines()], [list(line) for line in want])

    def test_a_number_without_rows_is_shown(self):
        got = self.describe("--where", "a > 5", stdin=b"a,b\n1,x\n2,y\n")
        self.assertEqual([got["a"]["n"], got["b"]["n"], got["b"]["mode"], got["b"]["mode_count"]], [0, 0, None, 0])

    def test_memory_is_refused_not_exceeded(self):
        text = "a\n" + "".join("some rather long word %d\n" % i for i in range(1_000_000))
        name = self.write("t.csv", text.encode())
        done = run("describe", "--memory", "%dM" % (least_memory() + 3), name)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"too small for so many different strings", done.stderr)

    def test_states_of_strings_merge_to_those_of_the_whole(self):
        r = random.Random(8)
        for rows in [1, 2, 7, 999, 20_000]:
            column = ["" if r.random() < 0.1 else "w%d" % r.randrange(rows) if r.random() < 0.5 else r.choice(WORDS[:3])
                      for _ in range(rows)]
            column[r.randrange(rows)] = "red"
            cuts = sorted(r.choices(range(rows + 1), k=r.randrange(3)))
            parts = [column[i:j] for i, j in zip([0, *cuts], [*cuts, rows])]
            parts = [part for part in parts if any(part)]
            states = [self.path("s%d" % i) for i in range(len(parts))]
            for state, part in zip(states, parts):
                lines = "".join("%s,1\n" % word for word in part)
                self.result("describe", "--column", "a", "--save", state, stdin=("a,b\n" + lines).encode())
            count = Counter(word for part in parts for word in part)
            nulls = count.pop("", 0)
            r.shuffle(states)
            got = json.loads(self.result("merge", "--json", "--save", self.path("all"), *states))
            self.check_strings(got, list(count.elements()), (rows, cuts))
            self.assertEqual(got["null"], nulls, (rows, cuts))
            self.assertEqual(self.result("merge", self.path("all")), self.result("merge", *states), (rows, cuts))

    def test_a_state_of_strings_goes_with_no_other_and_is_not_taken_out(self):
        words, numbers = self.path("words"), self.path("numbers")
        for column, state in [("a", numbers), ("b", words)]:
            self.result("describe", "--column", column, "--save", state, stdin=b"a,b\n1,x\n2,y\n")
        self.refused(3, "this is of strings", "merge", numbers, words)
        self.refused(3, "the least and the greatest string do not go back", "merge", words, "--minus", words)
        self.refused(2, "belong to counts", "merge", "-n", "1", words)
        with open(words, "rb") as f:
            data = f.read()
        for i in range(0, len(data), 7):
            for damaged in [data[:i], data[:i] + bytes([data[i] ^ 1]) + data[i + 1:]]:
                self.assertEqual(run("merge", self.write("damaged", damaged)).returncode, 3, i)

    def test_work_that_is_killed_goes_on_with_its_strings(self):
        line = "1,%s,2020-01-01\n"
        name = self.write("t.csv", ("a,b,c\n" + "".join(line % ("w%d" % (i % 999)) for i in range(400_000))).encode())
        work = self.path("work")
        arguments = ["describe", "-j", "1", "--checkpoint", work, "--checkpoint-interval", "0.0001", name]
        child = subprocess.Popen([BITFOLD, *arguments], stdout=subprocess.DEVNULL)
        while child.poll() is None and not os.path.exists(work):
            time.sleep(0.0005)
        child.kill()
        child.wait()
        went_on = os.path.exists(work)
        done = run(*arguments)
        self.assertEqual(done.stdout.decode(), self.result("describe", name) + "\n")
        self.assertEqual(b"goes on behind row" in done.stderr, went_on)

    def test_states_of_files_with_nulls_and_times_merge(self):
        first, second = b"5,2020-02-01\n,\n7,2020-01-01\n", b"9,2020-03-01\n,\n1,2020-02-03\n"
        for column in "ab":
            states = [self.path("s0"), self.path("s1")]
            for state, part in zip(states, [first, second]):
                self.result("describe", "--column", column, "--save", state, stdin=b"a,b\n" + part)
            want = self.result("describe", "--column", column, stdin=b"a,b\n" + first + second)
            self.assertEqual(self.result("merge", "-q", *states) + "\nnull\t2", want)
