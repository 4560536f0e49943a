"""Random columns of text, of every kind that there is, against an oracle in Python: values, order, keys,
joins, states, bins and expressions, over threads, instruction sets, pieces of pipes, parts, ranks and
limits of memory. BITFOLD_CASES columns are tried; BITFOLD_SEED is the first seed."""
import json
import math
import os

from columns import GAPS, Column, Numbers, Refused, grouped, joined_keys, rounded, together
from command import SANITIZED, SHORT
from quantiles import METHODS
from random_columns import STYLES, Table
from ways import WaysTest, lines

CASES = int(os.environ.get("BITFOLD_CASES", "24" if SANITIZED else "60" if SHORT else "150"))
SEED = int(os.environ.get("BITFOLD_SEED", "1"))
VALUES = ["sum", "sumsq", "mean", "var", "std", "norm", "min", "max", "argmin", "argmax"]
AGGREGATES = ["sum", "mean", "var", "std", "min", "max", "median"]
HOWS = ["inner", "left", "semi", "anti"]


def is_wide(column):
    """Whether 64 bits do not hold its exact numbers."""
    return not column.numbers.is_small()


def is_wide_key(column):
    return not column.key_numbers.is_small()


class Columns(WaysTest):
    # ---- one table ----

    def ways(self, case):
        """The table as a file or a pipe, as arguments and what is piped."""
        r = self.r
        if self.json and r.random() < 0.5:
            text, name, form = self.json, "t.jsonl", ["--format", "jsonl"]
            options = case.skip
        else:
            text, name, form, options = self.table, "t.csv", [], case.options
        if r.random() < 0.5:
            return options + [self.write(name, text)], None
        return options + form, text

    def on_table(self, case, arguments, want):
        files, data = self.ways(case)
        self.check([*arguments, *files], want, data, ranks=data is None)

    def on_column(self, case, name, arguments, want):
        """On a column of the table by its name or number, or on one in a file of its own."""
        fields = case.columns[name].texts
        if None not in fields and case.style != "blanks" and self.r.random() < 0.3:
            text = case.end.join(map(case.quoted, fields)) + self.r.choice(["", case.end])
            self.texts = [text.encode(case.coding)]
            files, data = [self.write("c.txt", self.texts[0])], None
            if self.r.random() < 0.5:
                files, data = [], self.texts[0]
            self.check([*arguments, *case.form, *files], want, data)
            self.texts = [self.table]
        else:
            column = self.r.choice([["--column", name], ["--header", "--column", case.names.index(name) + 1]])
            self.on_table(case, [*arguments, *column], want)

    def numbers(self, column, nan):
        return column.numbers.without_nans() if nan else column.numbers

    def attempt(self, make):
        """What a command says, or why it refuses."""
        try:
            return make()
        except Refused as refused:
            return refused

    def test_tables(self):
        self.try_cases(self.try_table, SEED, CASES)

    def try_table(self):
        """Some commands on a random table; returns its columns."""
        r, seed = self.r, self.seed
        n = r.choice([1, 2, 5, 30, 30, 100, 300] + [2500] * (r.random() < 0.3)
                     + [20000] * (r.random() < 0.05))
        if seed % 64 == 0 and seed > 500:
            n = 100_000
        case = Table(r, r.choice([1, 2, 2, 3]), n, r.choice([*STYLES] + [None] * 9))
        self.table = case.text()
        self.json = case.json() if case.is_json() else None
        self.texts = [self.table]
        commands = [self.values, self.describe, self.sort, self.argsort, self.top, self.unique,
                    self.quantiles, self.count, self.group, self.unique_by, self.join, self.states,
                    self.totals, self.hist, self.expression, self.where, self.infer, self.prod]
        for command in r.sample(commands, 8):
            command(case)
        return len(case.names)

    def some(self, case, small=None):
        """A column; small: only of 64 bits, where that is a gap."""
        names = [name for name in case.names
                 if small not in GAPS or not is_wide(case.columns[name])]
        return self.r.choice(names) if names else None

    def values(self, case):
        op, nan = self.r.choice(VALUES), self.r.random() < 0.3
        names = sorted(self.r.sample(case.names, self.r.randrange(1, len(case.names) + 1)))
        as_doubles = self.r.random() < 0.1
        ddof = self.r.choice([0, 1]) if op in ("var", "std") else 0
        options = ["--nan", "skip"] * nan + ["--ddof", ddof] * ddof + ["--dtype", "f64"] * as_doubles

        def make():
            columns = [case.columns[name] for name in names]
            numbers = [column.doubles() if as_doubles else column.numbers for column in columns]
            found = [(x.without_nans() if nan else x).value(op, ddof) for x in numbers]
            return found[0] + "\n" if len(names) == 1 else lines(zip(names, found))

        if len(names) == 1:
            self.on_column(case, names[0], [op, *options], self.attempt(make))
        else:
            self.on_table(case, [op, "--column", ",".join(names), *options], self.attempt(make))

    def prod(self, case):
        name = self.r.choice(case.names)
        x = case.columns[name].numbers
        plain = all(f is None or f.lstrip("+-").isdigit() for f in case.columns[name].fields)
        if x.scale != 0 or case.nulls or ("prod" in GAPS and (is_wide(case.columns[name]) or not plain)):
            return
        product = math.prod(x.values)
        fits = -(2**127) <= product < 2 ** (128 if x.dtype() == "u64" else 127)
        self.on_column(case, name, ["prod"], "%d\n" % product if fits else Refused("not fit"))

    def describe(self, case):
        name = self.r.choice(case.names)
        column = case.columns[name]
        x, has = column.numbers, len(column.numbers.values) > 0
        extremes = ["min", "argmin", "max", "argmax"]
        rows = [("n", len(x.values)), ("nan", sum(v != v for v in x.values)),
                ("inf", sum(math.isinf(v) for v in x.values) if x.scale is None else 0)]
        rows += [(op, x.value(op) if has else "-") for op in extremes]
        rows += [(op, x.value(op)) for op in ("sum", "mean", "std")]
        rows += [("null", sum(f is None for f in column.fields))]
        self.on_column(case, name, ["describe"], lines(rows))

    def infer(self, case):
        rows = {name: case.columns[name].numbers.dtype() for name in case.names
                if not case.columns[name].is_text and ("infer" not in GAPS or not is_wide(case.columns[name]))}

        def want(code, out, errors, what):
            self.assertEqual(code, 0, what)
            found = dict(line.split("\t")[1:3] for line in out.splitlines())
            self.assertEqual({name: found.get(name) for name in rows}, rows, what)

        self.on_table(case, ["describe", "--infer", "--tsv"], want)

    def sort(self, case):
        name = self.some(case, "order")
        if name:
            nan, down = self.r.random() < 0.3, self.r.random() < 0.5
            x = self.numbers(case.columns[name], nan)
            want = lines([x.show(x.values[i])] for i in x.ordered(down))
            self.on_column(case, name, ["sort", *["--nan", "skip"] * nan, *["--descending"] * down],
                           want)

    def argsort(self, case):
        name = self.some(case, "order")
        if name and not case.nulls:
            x, down = case.columns[name].numbers, self.r.random() < 0.5
            want = lines([x.rows[i]] for i in x.ordered(down))
            self.on_column(case, name, ["argsort", *["--descending"] * down], want)

    def top(self, case):
        name = self.some(case, "order")
        if name:
            nan, least = self.r.random() < 0.3, self.r.random() < 0.5
            x, k = self.numbers(case.columns[name], nan), self.r.choice([1, 3, 100])
            want = lines((x.show(x.values[i]), x.rows[i]) for i in x.ordered(not least)[:k])
            self.on_column(case, name, ["top", "-n", k, *["--nan", "skip"] * nan,
                                        *["--least"] * least], want)

    def unique(self, case):
        name = self.some(case, "order")
        if name:
            counted = self.r.random() < 0.5
            rows = [row if counted else row[:1] for row in case.columns[name].numbers.unique()]
            self.on_column(case, name, ["unique", *["--count"] * counted], lines(rows))

    def quantiles(self, case):
        name = self.some(case, "order")
        if name:
            nan, method = self.r.random() < 0.3, self.r.choice(METHODS)
            x = self.numbers(case.columns[name], nan)
            percents = self.r.sample([0, 1, 10, 25, 33.3, 50, 75, 99.9, 100], 3)
            options = ["--nan", "skip"] * nan
            want = self.attempt(lambda: lines([v] for v in x.quantiles(x.places(method, percents))))
            self.on_column(case, name, ["quantile", "-p", ",".join(map(str, percents)), "--method",
                                        method, *options], want)
            self.on_column(case, name, ["median", *options], self.attempt(lambda: x.median() + "\n"))

    # ---- keys ----

    def key_names(self, case):
        names = [name for name in case.names if "keys" not in GAPS or not is_wide_key(case.columns[name])]
        if self.json:  # where text is of a type, numbers among others
            names = [name for name in names if not case.columns[name].is_text]
        return self.r.sample(names, self.r.randrange(1, len(names) + 1))[:2] if names else []

    def groups(self, case, names):
        return grouped([case.columns[name] for name in names])

    def count(self, case):
        names = self.key_names(case)
        if not names:
            return
        groups = [[*key, len(rows)] for key, rows in self.groups(case, names)]
        how = self.r.choice(["count", "key"])
        groups.sort(key=lambda row: -row[-1] if how == "count" else 0)
        top = self.r.choice([[], [], ["-n", 2]])
        options = ["count", "--by", ",".join(names), "--sort", how, *top]
        self.on_table(case, options, lines(groups[:2] if top else groups))

    def unique_by(self, case):
        names = self.key_names(case)
        if names:
            counted = self.r.random() < 0.5
            rows = [[*key, len(rows)] if counted else key for key, rows in self.groups(case, names)]
            self.on_table(case, ["unique", "--by", ",".join(names), *["--count"] * counted], lines(rows))

    def group(self, case, where=None, kept=None):
        """where: a condition, which the rows `kept` meet."""
        names = self.key_names(case)
        if not names:
            return
        asked = [(self.r.choice(AGGREGATES), self.r.choice(case.names)) for _ in case.names]
        if "groups" in GAPS:
            asked = [(op, name) for op, name in asked if not is_wide(case.columns[name])]
        asked.append(("count", None))
        rows = []
        for key, of in self.groups(case, names):
            of = of if kept is None else [i for i in of if i in kept]
            if of:
                rows.append([*key, *(self.aggregate(case, op, name, of) for op, name in asked)])
        options = [x for op, name in asked for x in (["--count"] if op == "count" else ["--" + op, name])]
        self.on_table(case, ["group", "--by", ",".join(names), *options,
                             *(["--where", where] if where else [])], lines(rows))

    def unless_beyond(self, want, beyond):
        """What judges an answer that may be beyond 38 digits, or is."""
        def judge(code, out, errors, what):
            if code == 3:
                self.assertIn("--dtype f64", errors, what)
            else:
                self.assertFalse(beyond, what)
                self.assertEqual((code, errors, out), (0, "", want), what)

        return judge

    def aggregate(self, case, op, name, of):
        if op == "count":
            return len(of)
        x = case.columns[name].numbers.take(of)
        if not x.values and op not in ("sum", "mean"):
            return ""
        return x.median() if op == "median" else x.value(op)

    def where(self, case):
        if len(case.names) < 2:
            return
        a, b = self.r.sample(case.names, 2)
        x, y = case.columns[a], case.columns[b]
        if not self.can_compute(x) or not self.can_compute(y):
            return
        op = self.r.choice(["<", ">", "<=", ">=", "==", "!="])
        kept = {i for i, u, v in self.pairs(x, y) if self.compare(op, u, v)}
        self.group(case, "%s %s %s" % (a, op, b), kept)

    def can_compute(self, column):
        small = all(abs(x) < 2**63 for x in column.numbers.values if x == x)
        return "expressions" not in GAPS or (small and not is_wide(column))

    def compare(self, op, u, v):
        return {"<": u < v, ">": u > v, "<=": u <= v, ">=": u >= v, "==": u == v, "!=": u != v}[op]

    def pairs(self, x, y):
        """Returns, for each row without a NULL, its number and both values: exact, or both doubles."""
        exact = None not in (x.numbers.scale, y.numbers.scale)
        values = []
        for column in x, y:
            numbers = column.numbers.fractions()
            values.append(dict(zip(column.numbers.rows, numbers if exact else map(rounded, numbers))))
        return [(i, u, values[1][i]) for i, u in values[0].items() if i in values[1]]

    def expression(self, case):
        a, b = self.r.choice(case.names), self.r.choice(case.names)
        x, y, op = case.columns[a], case.columns[b], self.r.choice("+-*")
        of = self.r.choice(["sum", "min", "max", "mean", "argmax"])
        if not self.can_compute(x) or not self.can_compute(y):
            return
        exact = None not in (x.numbers.scale, y.numbers.scale)
        pairs = self.pairs(x, y)
        results = [u + v if op == "+" else u - v if op == "-" else u * v for _, u, v in pairs]
        may = False
        if exact:
            scales = x.numbers.scale, y.numbers.scale
            scale = sum(scales) if op == "*" else max(scales)
            units = [int(z * 10**scale) for z in results]
            most = max(map(abs, units), default=0)
            least = min(p for p in range(scale + 1) if all(u % 10 ** (scale - p) == 0 for u in units))
            tight = most // 10 ** (scale - least)
            greatest = max([most] + [abs(v) * 10 ** (scale - c.numbers.scale) for c in (x, y) if op != "*"
                                     for v in c.numbers.values])
            if "expressions" in GAPS and (greatest >= 2**63 or scale > 18):
                return
            may = most >= 10**38 or scale > 38 or greatest >= 10**38  # also of a number beside a NULL
            z = Numbers(units, scale, [i for i, _, _ in pairs])
            beyond = least > 38 or tight >= 10**38
        else:
            z, beyond = Numbers(results, None, [i for i, _, _ in pairs]), False
        want = self.attempt(lambda: z.value(of) + "\n")
        self.on_table(case, [of, "-e", a + op + b], self.unless_beyond(want, beyond) if may else want)

    def join(self, case):
        """With a table of other columns, some of whose keys are those of this one."""
        r = self.r
        a = r.choice(case.names)
        other = Table(r, 1, r.choice([1, 5, 40]), case.style)
        shared = [f for f in case.columns[a].fields if f is not None]
        fields = [r.choice(shared) if shared and r.random() < 0.5 else f for f in other.columns["x"].fields]
        other.columns["x"] = other.column_of(fields if case.nulls else [f or "5" for f in fields])
        other.delimiter, other.end = case.delimiter, r.choice(["\n", "\r\n"])
        other.tokens = case.tokens
        x, y = case.columns[a], other.columns["x"]
        if "keys" in GAPS and (is_wide_key(x) or is_wide_key(y)):
            return
        how = r.choice(HOWS)
        keys, others = joined_keys(x, y)
        where = {}
        for j, key in enumerate(others):
            where.setdefault(key, []).append(j)
        rows = []
        for i, key in enumerate(keys):
            found = where.get(key, []) if key is not None else []
            if how == "inner" or (how == "left" and found):
                rows += [(i, j) for j in found]
            elif how == "left":
                rows.append((i, ""))
            elif bool(found) == (how == "semi"):
                rows.append((i,))
        first, second = self.write("x.csv", self.table), self.write("y.csv", other.text())
        self.texts = [self.table, other.text()]
        take = "a.i,b.i" if how in ("inner", "left") else "i"
        data = None
        if r.random() < 0.3:
            first, data = "-", self.table
        self.check(["join", first, second, "--on", "%s=x" % a, "--how", how, "--take", take, *case.form],
                   lines(rows), data)
        self.texts = [self.table]

    # ---- parts ----

    def parts(self, case, name):
        """The column in one to three files, and the numbers of each."""
        cuts = sorted(self.r.choices(range(case.n + 1), k=self.r.randrange(3)))
        bounds = list(zip([0] + cuts, cuts + [case.n]))
        parts, names = [], []
        for k, (first, end) in enumerate(bounds):
            parts.append(Column(case.columns[name].fields[first:end]))
            names.append(self.write("p%d.csv" % k, case.text(first, end)))
        self.texts = [case.text(first, end) for first, end in bounds]
        return parts, names

    def states(self, case):
        name, op = self.r.choice(case.names), self.r.choice(VALUES)
        parts, files = self.parts(case, name)
        states = []
        for k, (part, file) in enumerate(zip(parts, files)):
            states.append(self.path("%d.bfs" % k))
            want = self.attempt(lambda: part.numbers.value(op) + "\n")
            if isinstance(want, Refused):
                self.texts = [self.table]
                return
            self.check([op, "--column", name, "--save", states[-1], *case.options, file], want)
        whole = together([p.numbers for p in parts], [len(p.fields) for p in parts])
        if not op.startswith("arg"):
            self.r.shuffle(states)
        if whole is None:
            self.check(["merge", *states], Refused("--dtype f64"))
        elif whole.is_held():
            self.check(["merge", *states], self.attempt(lambda: whole.value(op) + "\n"))
        self.texts = [self.table]

    def totals(self, case):
        name, op = self.r.choice(case.names), self.r.choice(VALUES)
        parts, files = self.parts(case, name)
        try:
            rows = [(part.numbers.value(op), file) for part, file in zip(parts, files)]
            whole = together([p.numbers for p in parts], [len(p.fields) for p in parts])
            if whole is not None and whole.is_held():
                rows.append((whole.value(op), "total"))
                self.check([op, "--column", name, "--total", *case.options, *files], lines(rows))
        except Refused:
            pass
        self.texts = [self.table]

    # ---- bins ----

    def hist(self, case):
        name = self.some(case, "bins")
        if not name:
            return
        x = case.columns[name].numbers
        edges = sorted(set(self.r.choices([-(10**17), -1000, -1, 0, 1, 2, 5, 100, 2**53 + 1, 10**18], k=4)))
        if len(edges) < 2:
            return
        given = ",".join(map(str, edges))
        if x.scale is None:
            edges = list(map(float, edges))  # doubles compare with them
        values = x.fractions()
        nan = sum(v != v for v in values)
        counts = [sum(lo <= v < hi or (v == hi == edges[-1]) for v in values)
                  for lo, hi in zip(edges, edges[1:])]
        below, above = sum(v < edges[0] for v in values), sum(v > edges[-1] for v in values)

        def want(code, out, errors, what):
            self.assertEqual(code, 0, what)
            found = json.loads(out)
            self.assertEqual([found[k] for k in ("counts", "below", "above", "nan")],
                             [counts, below, above, nan], what)

        self.on_column(case, name, ["hist", "--json", "--edges=" + given], want)
