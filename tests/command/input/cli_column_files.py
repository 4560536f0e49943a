"""Random columns of numbers in files of their own, against an oracle in Python: several files and their
total, counts and groups of one by another, parts that are saved and merged, joins, dot products.
BITFOLD_CASES columns are tried; BITFOLD_SEED is the first seed."""
import math
import os
from fractions import Fraction

from columns import GAPS, Column, Numbers, Refused, grouped, joined_keys, rounded, together
from command import SANITIZED, SHORT
from decimals import shortest
from quantiles import METHODS
from random_columns import some_column
from ways import WaysTest, lines

CASES = int(os.environ.get("BITFOLD_CASES", "24" if SANITIZED else "60" if SHORT else "120"))
SEED = int(os.environ.get("BITFOLD_SEED", "1"))
SAVED = ["sum", "mean", "var", "std", "min", "max"]


class Files(WaysTest):
    def test_files(self):
        self.try_cases(self.try_files, SEED, CASES)

    def try_files(self):
        """Some commands on random files; returns how many there are."""
        commands = [self.totals, self.counts, self.merged_counts, self.groups, self.merged_groups,
                    self.join, self.dot]
        files = 0
        for command in self.r.sample(commands, 3):
            files += command()
        return files

    def columns(self, count, alike=False):
        """Random columns, of one length if alike, and their files."""
        n = self.r.choice([1, 2, 7, 40, 300])
        columns, names, self.texts = [], [], []
        for k in range(count):
            fields = some_column(self.r, n if alike else self.r.choice([n, 1, 30]), 0)
            if columns and self.r.random() < 0.5:  # with some of the same numbers
                fields = [self.r.choice(columns[0].fields) if self.r.random() < 0.5 else f for f in fields]
            columns.append(Column(fields))
            self.texts.append("\n".join(fields).encode() + b"\n")
            names.append(self.write("%d.txt" % k, self.texts[-1]))
        return columns, names

    def is_left_out(self, gap, numbers):
        """Whether 64 bits of one dtype do not hold all, where that is a gap."""
        unsigned = {x.dtype() == "u64" for x in numbers}
        return gap in GAPS and (len(unsigned) > 1 or not all(x.is_small() for x in numbers))

    def totals(self):
        columns, names = self.columns(self.r.choice([2, 3]))
        whole = together([c.numbers for c in columns], [len(c.fields) for c in columns])
        if whole is None or not whole.is_held():
            return 0
        if self.is_left_out("order", [whole, *(c.numbers for c in columns)]):
            return 0
        command = self.r.choice(["sort", "argsort", "unique", "top", "median", "quantile"])
        method, percents = self.r.choice(METHODS), [3, 50, 100]
        options = {"top": ["-n", 3], "quantile": ["-p", "3,50,100", "--method", method]}.get(command, [])

        def rows(x):
            order = x.ordered(command == "top")
            return {"sort": lambda: [[x.show(x.values[i])] for i in order],
                    "argsort": lambda: [[x.rows[i]] for i in order],
                    "unique": lambda: [[v] for v, _ in x.unique()],
                    "top": lambda: [[x.show(x.values[i]), x.rows[i]] for i in order[:3]],
                    "median": lambda: [[x.median()]],
                    "quantile": lambda: zip(percents, x.quantiles(x.places(method, percents)))}[command]()

        want = [[*row, name] for c, name in zip([*(c.numbers for c in columns), whole], [*names, "total"])
                for row in rows(c)]
        self.check([command, *options, "--total", *names], lines(want))
        return len(names)

    def counts(self):
        (column,), (name,) = self.columns(1)
        if self.is_left_out("keys", [column.key_numbers]) or column.is_text:
            return 0
        groups = [[*key, len(rows)] for key, rows in grouped([column])]
        self.check(["count", "--sort", "key", name], lines(groups))
        return 1

    def merged_counts(self):
        columns, names = self.columns(self.r.choice([2, 3]))
        whole = together([c.key_numbers for c in columns], [len(c.fields) for c in columns])
        all_of = [c.key_numbers for c in columns]
        exact = together([x for x in all_of if x.scale is not None] or all_of, [0] * len(columns))
        all_of += [exact] + ([whole] if whole else [])
        if any(c.is_text for c in columns) or not all(x.is_held() for x in all_of):
            return 0
        if self.is_left_out("keys", all_of):
            return 0
        states = [self.path("%d.bfs" % k) for k in range(len(names))]
        for column, name, state in zip(columns, names, states):
            groups = [[*key, len(rows)] for key, rows in grouped([column])]
            self.check(["count", "--sort", "key", name, "--save", state], lines(groups))
        self.r.shuffle(states)
        self.check(["merge", *states, "--sort", "key"],
                   Refused("--dtype f64") if whole is None else lines(whole.unique()))
        return len(names)

    def aggregated(self, asked, keys, values):
        return [[*key, *(len(rows) if op == "count" else values.take(rows).value(op)
                         for op in asked)] for key, rows in grouped([keys])]

    def options(self, asked, name):
        return [x for op in asked for x in (["--count"] if op == "count" else ["--" + op, name])]

    def groups(self):
        (keys, values), names = self.columns(2, alike=True)
        if keys.is_text or self.is_left_out("keys", [keys.key_numbers]) or \
                self.is_left_out("groups", [values.numbers]):
            return 0
        asked = self.r.choices(SAVED + ["count"], k=3)
        options = self.options(asked, names[1])
        self.check(["group", names[0], *options], lines(self.aggregated(asked, keys, values.numbers)))
        return 2

    def merged_groups(self):
        (keys, values), _ = self.columns(2, alike=True)
        asked = self.r.choices(SAVED + ["count"], k=3)
        cut = self.r.randrange(len(keys.fields) + 1)
        states, self.texts = [], []
        parts = [[Column(c.fields[part]) for c in (keys, values)]
                 for part in (slice(0, cut), slice(cut, None))]
        all_keys = [c.key_numbers for c in [keys] + [part[0] for part in parts]]
        all_values = [c.numbers for c in [values] + [part[1] for part in parts]]
        if keys.is_text or self.is_left_out("keys", all_keys) or self.is_left_out("groups", all_values):
            return 0
        for k, columns in enumerate(parts):
            texts = ["".join(f + "\n" for f in c.fields).encode() for c in columns]
            names = [self.write("%s%d.txt" % (name, k), text) for name, text in zip("kv", texts)]
            self.texts += texts
            options = self.options(asked, names[1])
            states.append(self.path("%d.bfs" % k))
            self.check(["group", names[0], *options, "--save", states[-1]],
                       lines(self.aggregated(asked, columns[0], columns[1].numbers)))
        kinds = [len({getattr(p[i], of).scale is None for p in parts}) for i, of in
                 ((0, "key_numbers"), (1, "numbers"))]
        if 2 in kinds:
            self.check(["merge", *states], Refused("--dtype f64"))
        elif all(together(of, [0, 0]).is_held() for of in (all_keys[1:], all_values[1:])):
            self.check(["merge", *states], lines(self.aggregated(asked, keys, values.numbers)))
        return 2

    def join(self):
        (a, b), names = self.columns(2)
        numbers = [c.key_numbers for c in (a, b)]
        whole = together(numbers, [len(c.fields) for c in (a, b)])
        if a.is_text or b.is_text or self.is_left_out("keys", numbers + ([whole] if whole else [])):
            return 0
        if whole is None and not all(x.are_doubles() for x in numbers):
            return 0  # one dtype has to hold both
        keys, others = joined_keys(a, b)
        rows = [(i, j) for i, x in enumerate(keys) for j, y in enumerate(others) if x == y]
        self.check(["join", *names], lines(rows))
        return 2

    def dot(self):
        (a, b), names = self.columns(2, alike=True)
        whole = together([a.numbers, b.numbers], [len(a.fields)] * 2)
        n = len(a.fields)
        if whole is None or whole.scale is None or not whole.is_held():
            x, y = a.doubles().values, b.doubles().values
            if not all(map(math.isfinite, x + y)):
                return 0
            products = [Fraction(u) * Fraction(v) for u, v in zip(x, y)]
            negative = all(u * v == 0 and math.copysign(1, u) != math.copysign(1, v) for u, v in zip(x, y))
            want = "-0" if negative else shortest(rounded(sum(products)))
        else:
            total = sum(u * v for u, v in zip(whole.values[:n], whole.values[n:]))
            want = Numbers([total], 2 * whole.scale).show(total)
            if abs(total) >= 2**191:
                return 0
        self.check(["dot", *names], want + "\n")
        return 2
