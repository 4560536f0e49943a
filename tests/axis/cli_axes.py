"""--axis, --offsets and --index of the commands of values: the bits of each fibre alone, as lines, as
arrays and as JSON; text as a matrix; --memory; and what is refused.
Builds: release, asan (full)."""
import json
import os

import numpy as np

from command import DTYPES, OPERATIONS, SHORT, CommandTest, exact, header, least_memory, run

FLOATS = ["mean", "var", "std", "norm"]
SOME = slice(None, None, 4 if SHORT else 1)  # a process takes long to start then


def value(text, op, dtype):
    """The text of a result as a number of its dtype."""
    kind = np.dtype(dtype)
    if op.startswith("arg"):
        return int(text)
    if op in ["min", "max"]:
        return kind.type(float(text)) if kind.kind == "f" else int(text)
    return float(text) if kind.kind == "f" or op in FLOATS else int(text)


def wanted(op, numbers, dtype):
    """The exact value of finite numbers, rounded once to the dtype of the result."""
    kind, found = np.dtype(dtype), exact(op, numbers)
    if op.startswith("arg"):
        return found
    if op in ["min", "max"]:
        return kind.type(float(found)) if kind.kind == "f" else int(found)
    return float(found) if kind.kind == "f" or op in FLOATS else int(found)


def samples(dtype, shape, seed):
    """Small integers, and floats of wide exponents that cancel."""
    r, kind, n = np.random.default_rng(seed), np.dtype(dtype), int(np.prod(shape))
    if kind.kind != "f":
        return r.integers(0, 2 if kind.kind == "b" else 100, n).astype(kind).reshape(shape)
    spread = {"f2": 6, "f4": 60, "f8": 400}[kind.str[1:]]
    x = (r.normal(size=n) * np.exp2(r.uniform(-spread, spread, n))).astype(kind)
    x[1::5] = -x[0::5][:len(x[1::5])]
    return x.reshape(shape)


def fibres(x, axes):
    """The elements of each fibre, in C order, fibres in C order."""
    kept = [d for d in range(x.ndim) if d not in axes]
    return x.transpose(kept + sorted(axes)).reshape(
        [int(np.prod([x.shape[d] for d in part])) for part in (kept, axes)]).tolist()


class AxisTest(CommandTest):
    def lines(self, *arguments, **more):
        text = self.result(*arguments, **more)
        return text.split("\n") if text else []

    def check(self, op, dtype, groups, found):
        self.assertEqual(len(found), len(groups))
        for numbers, text in zip(groups, found):
            got, want = value(text, op, dtype), wanted(op, numbers, dtype)
            self.assertEqual(got, want, (op, dtype, numbers))


class Axes(AxisTest):
    def test_every_operation_of_every_dtype_and_order(self):
        for i, dtype in enumerate(DTYPES):
            x = samples(dtype, (3, 4, 5), i)
            names = [self.save("c.npy", x), self.save("f.npy", np.asfortranarray(x)),
                     self.save("s.npy", x.astype(x.dtype.newbyteorder()))]
            for k, op in enumerate(OPERATIONS):
                axes = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)][(i + k) % 7]
                text = ",".join(str(d - 3 * (k % 2)) for d in axes)
                for name in [names[(i + k) % 3]] if SHORT else names:
                    found = self.lines(op, "--axis", text, name)
                    self.check(op, dtype, fibres(x, list(axes)), found)
                if (i + k) % 4 == 0 or not SHORT:
                    with open(names[k % 3], "rb") as f:
                        self.assertEqual(self.lines(op, "--axis", text, stdin=f.read()), found)

    def test_a_fibre_has_the_bits_that_its_file_has_alone(self):
        x = samples("f8", (6, 7), 3)
        x[2, 3], x[4, 1], x[5] = np.nan, np.inf, -0.0
        name = self.save("x.npy", x)
        for op in (OPERATIONS + ["prod"])[SOME]:
            rows = [self.result(op, "--hex", self.save("r.npy", row)) for row in x]
            columns = [self.result(op, "--hex", self.save("r.npy", row)) for row in x.T.copy()]
            self.assertEqual(self.lines(op, "--hex", "--axis", 1, name), rows)
            self.assertEqual(self.lines(op, "--hex", "--axis", "-2", name), columns)
            self.assertEqual(self.lines(op, "--hex", "--axis", "1,0", name),
                             [self.result(op, "--hex", name)])
        a, b = self.save("a.npy", x), self.save("b.npy", x[::-1].copy())
        want = [self.result("dot", self.save("p.npy", p), self.save("q.npy", q))
                for p, q in zip(x, x[::-1])]
        self.assertEqual(self.lines("dot", "--axis", 1, a, b), want)
        self.assertEqual(self.lines("dot", "--axis", 1, a,
                                    self.save("f.npy", np.asfortranarray(x[::-1]))), want)

    def test_extents_of_0_and_1(self):
        for shape in [(0, 3), (3, 0), (1, 4), (4, 1), (1,), (0,), (1, 1, 1), (2, 0, 3)]:
            x = np.ones(shape)
            name = self.save("x.npy", x)
            for axis in range(x.ndim):
                want = [format(v, "g") for v in x.sum(axis).ravel()]
                self.assertEqual(self.lines("sum", "--axis", axis, name), want, (shape, axis))
                self.result("sum", "--axis", axis, "-o", self.path("o.npy"), name)
                np.testing.assert_array_equal(np.load(self.path("o.npy")), x.sum(axis))

    def test_lines_tell_files(self):
        x, y = self.save("x.npy", np.arange(6).reshape(2, 3)), self.save("y.npy", np.eye(2))
        self.assertEqual(self.lines("sum", "--axis", 1, x, y),
                         ["3\t" + x, "12\t" + x, "1\t" + y, "1\t" + y])
        self.assertEqual(self.lines("max", "--axis", 1, "--tsv", x), ["2\t" + x, "5\t" + x])
        done = run("sum", "--axis", 1, self.save("z.npy", np.ones(2)), x)
        self.assertEqual((done.returncode, done.stdout.decode()), (2, "3\t%s\n12\t%s\n" % (x, x)))


class Arrays(AxisTest):
    def test_an_array_has_the_values_of_the_lines(self):
        out = self.path("out.npy")
        for i, dtype in enumerate(DTYPES):
            x = samples(dtype, (4, 3, 2), i)
            name, kind = self.save("x.npy", x), np.dtype(dtype)
            for op in (OPERATIONS[i % 4:] if SHORT else OPERATIONS)[SOME]:
                self.assertEqual(self.result(op, "--axis", 1, "-o", out, name), "")
                found, lines = np.load(out), self.lines(op, "--axis", 1, name)
                self.assertEqual([value(t, op, dtype) for t in lines], found.ravel().tolist())
                want = kind if op in ["min", "max"] else "i8" if op.startswith("arg") else "f8" if (
                    op in FLOATS or kind.kind == "f") else "u8" if kind.kind == "u" else "i8"
                self.assertEqual((found.dtype, found.shape), (np.dtype(want), (4, 2)), (op, dtype))
        self.result("mean", "--axis", "0,1,2", "--out-dtype", "f32", "-o", out, name)
        self.assertEqual((np.load(out).shape, np.load(out).dtype), ((), np.dtype("f4")))

    def test_a_matrix_and_the_columns_of_a_text_are_the_columns_one_by_one(self):
        x = samples("f8", (200, 3), 5)
        matrix, out = self.save("matrix.npy", x), self.path("m.npy")
        table = self.write("t.csv", ("a,b,c\n" + "".join(
            ",".join(map(repr, row)) + "\n" for row in x.tolist())).encode())
        self.result("mean", "--axis", 0, matrix, "-o", out)
        want = [self.result("mean", "--column", c, table) for c in "abc"]
        self.assertEqual([repr(v).removesuffix(".0") for v in np.load(out).tolist()], want)
        self.assertEqual(self.lines("mean", "--column", "a,b,c", table),
                         ["%s\t%s" % pair for pair in zip("abc", want)])
        self.assertEqual(self.lines("mean", "--column", "a", "--column", "c", table),
                         ["a\t" + want[0], "c\t" + want[2]])
        self.assertEqual(self.lines("mean", "--axis", 0, table), want)
        self.assertEqual(self.lines("mean", "--axis", 0, "--column", "c,a", table),
                         [want[0], want[2]])

    def test_json(self):
        x = np.array([[1, np.inf], [3.5, -2]])
        name = self.save("x.npy", x)
        found = json.loads(self.result("max", "--axis", 0, "--json", name))
        self.assertEqual((found["command"], found["file"], found["dtype"], found["n"]),
                         ("max", name, "f64", 4))
        self.assertEqual((found["shape"], found["values"]), ([2], [3.5, "inf"]))
        self.assertEqual(found["schema"], 1)
        self.assertIn("device", found)
        self.assertIn("seconds", found)
        found = json.loads(self.result("max", "--axis", 1, "--json", "-o", self.path("o.npy"), name))
        self.assertEqual((found["shape"], found["n"]), ([2], 4))
        self.assertNotIn("values", found)


class Text(AxisTest):
    """A table is a matrix of its rows and columns, of one dtype."""

    def test_axes_are_those_of_numpy(self):
        r = np.random.default_rng(1)
        x = r.integers(-1000, 1000, (30000, 3))
        name = self.write("t", "".join("%d %d %d\n" % tuple(row) for row in x).encode())
        for op in ["sum", "min", "argmax", "mean"]:
            for axis, want in [(0, getattr(x, op)(0)), (-1, getattr(x, op)(1))]:
                want = [repr(v).removesuffix(".0") for v in want.tolist()]
                self.assertEqual(self.lines(op, "--axis", axis, "-j", 3, name), want)
                with open(name, "rb") as f:
                    self.assertEqual(self.lines(op, "--axis", axis, stdin=f.read()), want)
            self.assertEqual(self.lines(op, "--axis", "0,1", name),
                             [repr(getattr(x, op)().item()).removesuffix(".0")])

    def test_a_dtype_that_shows_late(self):
        rows = [b"%d,%d\n" % (i, -i) for i in range(60000)]
        for last, dtype in [(b"1,0.5\n", "decimal"), (b"18446744073709551615,0\n", "i128"),
                            (b"7,8\n", "i64"), (b"1,inf\n", "f64")]:
            data = b"".join(rows) + last
            name = self.write("t", data)
            want = [self.result("sum", "--column", k, name) for k in (1, 2)]
            self.assertEqual(self.lines("sum", "--axis", 0, name), want)
            self.assertEqual(self.lines("sum", "--axis", 0, stdin=data), want)
            found = json.loads(self.result("sum", "--axis", 1, "--json", stdin=data))
            self.assertEqual((found["dtype"], found["shape"]), (dtype, [60001]))

    def test_one_column_has_one_dimension(self):
        name = self.write("t", b"1\n2\n3\n")
        self.assertEqual(self.lines("sum", "--axis", 0, name), ["6"])
        self.refused(2, "there is no axis 1: it has 1 dimension", "sum", "--axis", 1, name)
        self.refused(2, "there is no axis 2", "sum", "--axis", 2, self.write("u", b"1,2\n"))


class Segments(AxisTest):
    X = samples("f8", (50, 3), 8)

    def test_segments_and_columns(self):
        offsets = [0, 0, 7, 7, 30, 49]
        x = self.save("x.npy", self.X)
        want = [self.X[a:b, c].tolist() for a, b in zip(offsets, offsets[1:]) for c in range(3)]
        for i, kind in enumerate(["i4", "i8", "u1", "u8", "i2"]):
            name = self.save("o.npy", np.array(offsets, kind))
            found = self.lines("sum", "--offsets", name, x)
            self.check("sum", "f8", [w or [0.0] for w in want], found)
        text = self.write("o", "".join("%d\n" % o for o in offsets).encode())
        self.assertEqual(self.lines("sum", "--offsets", text, x), found)
        with open(name, "rb") as f:
            self.assertEqual(self.lines("sum", "--offsets", "-", x, stdin=f.read()), found)
        found = self.lines("argmin", "--empty", -1, "--offsets", name, x)
        self.assertEqual(found, [str(int(np.argmin(w))) if w else "-1" for w in want])
        found = self.lines("max", "--empty", "nan", "--offsets", name, x)
        self.assertEqual(found, [repr(max(w)).removesuffix(".0") if w else "nan" for w in want])
        self.refused(3, "no value", "min", "--offsets", name, x)
        found = self.lines("mean", "--offsets", name, x)
        self.assertEqual(found[:3], ["nan"] * 3)

    def test_slots_and_columns(self):
        index = np.random.default_rng(4).integers(0, 6, 50)
        index[index == 3] = 5
        x = self.save("x.npy", self.X)
        want = [self.X[index == s, c].tolist() for s in range(7) for c in range(3)]
        for kind in ["i4", "u4", "i8", "u8", "u1", "i2"]:
            name = self.save("i.npy", index.astype(kind))
            found = self.lines("sum", "--index", name, "--slots", 7, x)
            self.check("sum", "f8", [w or [0.0] for w in want], found)
        out = self.path("o.npy")
        self.result("sum", "--index", name, "--slots", 7, x, "-o", out)
        self.assertEqual(np.load(out).shape, (7, 3))
        table = self.write("t.csv", "".join("%r,%r,%r\n" % tuple(row) for row in self.X.tolist())
                           .encode())
        self.assertEqual(self.lines("sum", "--index", name, "--slots", 7, table), found)
        with open(table, "rb") as f:
            data = f.read()
        self.assertEqual(self.lines("sum", "--index", name, "--slots", 7, stdin=data), found)
        text = self.write("i", "".join("%d\n" % i for i in index).encode())
        self.assertEqual(self.lines("sum", "--index", text, "--slots", 7, x), found)


class Describe(AxisTest):
    def test_every_value_is_that_of_describe(self):
        x = samples("f4", (5, 40), 2)
        x[1, 3], x[2, 5], x[3, 7], x[4] = np.nan, np.inf, -np.inf, np.nan
        name = self.save("x.npy", x)
        for policy in ["propagate", "skip"]:
            head, *rows = [line.split("\t") for line in
                           self.lines("describe", "--nan", policy, "--axis", 1, name)]
            self.assertEqual(head[0], "index")
            for i, row in enumerate(rows):
                alone = dict(line.split("\t") for line in self.lines(
                    "describe", "--nan", policy, self.save("r.npy", x[i])))
                self.assertEqual(dict(zip(head, row)), {"index": str(i), **alone})
            found = json.loads(self.result("describe", "--nan", policy, "--axis", 1, "--json", name))
            self.assertEqual([found["n"], found["inf"]], [[40] * 5, [0, 0, 1, 1, 0]])
            self.assertEqual(found["nan"], [0, 1, 0, 0, 40])
            self.assertEqual(found["argmin"][4], None if policy == "skip" else 0)
        y = self.save("y.npy", np.arange(12).reshape(2, 3, 2))
        table = self.lines("describe", "--tsv", "--axis", 1, y)
        self.assertEqual(table[0].split("\t")[:2], ["file", "index"])
        self.assertEqual([line.split("\t")[1] for line in table[1:]], ["0,0", "0,1", "1,0", "1,1"])
        offsets = self.save("o.npy", np.array([0, 0, 2]))
        rows = [line.split("\t") for line in self.lines("describe", "--offsets", offsets, y)]
        self.assertEqual(rows[1][1:], ["0", "0", "0", "-", "-", "-", "-", "0", "nan", "nan"])
        self.assertEqual(rows[7][:3], ["1,0,0", "2", "0"])


class Memory(AxisTest):
    def test_a_limit_changes_no_bit(self):
        x, by_name = samples("f8", (100_000, 32), 3), False
        name, least = self.save("x.npy", x), "%dM" % least_memory()
        with open(name, "rb") as f:
            data = f.read()
        index = self.save("i.npy", np.random.default_rng(1).integers(0, 9, 100_000))
        offsets = self.save("o.npy", np.array([5, 25_000, 99_999]))
        for how in [["--axis", 0], ["--axis", 1], ["--axis", "0,1"], ["--index", index, "--slots", 9],
                    ["--offsets", offsets]]:
            few = how == ["--axis", 1]  # has a result for each row
            for op in ["sum", "max", "dot", "argmin", "prod", "describe"][: 3 if few else 6][SOME]:
                also = [name] if op == "dot" else []
                want = self.lines(op, *how, *also, name)
                limit = ["-j2", "--memory", "64M" if also else least]
                by_name = not by_name
                if by_name or not SHORT:
                    self.assertEqual(self.lines(op, *how, *limit, *also, name), want)
                if not by_name or not SHORT:
                    self.assertEqual(self.lines(op, *how, *limit, *also, "-", stdin=data), want)
        want = self.lines("argmin", "--axis", 1, name)
        self.assertEqual(self.lines("argmin", "--axis", 1, "-j2", "--memory", least, name), want)
        fortran = self.save("f.npy", np.asfortranarray(x))
        more = "%dM" % (2 * least_memory())
        self.assertEqual(self.lines("argmin", "--axis", 1, "-j2", "--memory", more, fortran), want)
        self.assertEqual(self.lines("argmin", "--axis", 0, "-j2", "--memory", more, fortran),
                         self.lines("argmin", "--axis", 0, name))
        for source in [name, "-"]:
            self.refused(2, "--memory is too small: this needs the array whole", "argmin", "--axis", 1,
                         "-j2", "--memory", least, "--save", self.path("s"), source, stdin=data)

    def test_slabs_and_texts_are_in_step(self):
        x = samples("f8", (5000, 3), 6)
        x[np.isnan(x)] = 1
        array, text = self.save("x.npy", x), self.write("t.csv", "\n".join(
            ",".join(map(repr, row)) for row in x.tolist()).encode())
        for how in [["--axis", 0], ["--axis", 1], ["--offsets", self.save("o.npy", np.array([1, 4097, 5000]))]]:
            want = self.lines("dot", *how, array, array)
            for pair in [(text, array), (array, text), (text, text)]:
                self.assertEqual(self.lines("dot", *how, *pair), want)
            self.assertEqual(self.lines("argmax", *how, text), self.lines("argmax", *how, array))
            self.assertEqual(self.lines("describe", *how, text), self.lines("describe", *how, array))
        self.refused(3, "shapes do not match", "dot", "--axis", 0, text, stdin=b"1,2,3\n", *["-"])

    def test_bad_places_are_found_in_slabs_too(self):
        x = self.save("x.npy", np.ones((300_000, 4)))
        limit = ["-j2", "--memory", "%dM" % least_memory()]
        index = np.zeros(300_000, int)
        index[299_999] = 3
        self.refused(3, "i.npy: index 299999 is 3, outside 0 to 2", "sum", *limit, "--index",
                     self.save("i.npy", index), "--slots", 3, x)
        self.refused(3, "o.npy: offset 1 is 300001: it decreases, or is outside 0 to 300000", "sum",
                     *limit, "--offsets", self.save("o.npy", np.array([0, 300_001])), x)
        for n, more in [(3, 2), (3, 4)]:
            text = b"1,2\n" * n
            self.refused(3, "there are %d indices, not" % more, "sum", "--index",
                         self.save("i.npy", np.zeros(more, int)), "--slots", 1, stdin=text)
        self.refused(3, "offset 1 is 9", "sum", "--offsets", self.save("o.npy", np.array([0, 9])),
                     stdin=b"1,2\n")


class States(AxisTest):
    """Parts that are saved and merged give what one pass gives."""

    def save_part(self, name, op, *how):
        return self.lines(op, *how, "--save", self.path(name))

    def test_parts_add_up(self):
        x = samples("f4", (500, 3), 4)
        parts = [self.save("p%d.npy" % i, part) for i, part in enumerate(np.split(x, [100, 350]))]
        index = np.random.default_rng(1).integers(0, 5, 500)
        places = [self.save("i%d.npy" % i, part) for i, part in enumerate(np.split(index, [100, 350]))]
        whole, all_places = self.save("x.npy", x), self.save("i.npy", index)
        saved = [self.path("s%d" % i) for i in range(3)]
        for op in ["sum", "mean", "var", "std", "sumsq", "norm", "min", "max"][SOME]:
            for how in ["--axis", "--index"]:
                for part, place, state in zip(parts, places, saved):
                    more = ["--axis", 0] if how == "--axis" else ["--index", place, "--slots", 5]
                    want = self.lines(op, *more, part)
                    self.assertEqual(self.lines(op, *more, part, "--save", state), want)
                more = ["--axis", 0] if how == "--axis" else ["--index", all_places, "--slots", 5]
                want = self.lines(op, *more, whole)
                self.assertEqual(self.lines("merge", *saved), want)
                self.lines("merge", *saved[::-1], "--save", self.path("all"))
                self.lines(op, *more, whole, "--save", self.path("one"))
                with open(self.path("all"), "rb") as f, open(self.path("one"), "rb") as g:
                    self.assertEqual(f.read(), g.read())
        self.result("merge", self.path("all"), "-o", self.path("o.npy"))
        self.assertEqual(np.load(self.path("o.npy")).shape, (15,))
        found = json.loads(self.result("merge", "--json", *saved))
        self.assertEqual((found["n"], found["shape"], len(found["values"])), (1500, [15], 15))

    def test_files_that_follow_each_other(self):
        x = samples("f4", (500, 3), 4)
        index = np.random.default_rng(1).integers(0, 5, 500)
        parts = [self.save("p%d.npy" % i, part) for i, part in enumerate(np.split(x, [100, 350]))]
        places = [self.save("i%d.npy" % i, part) for i, part in enumerate(np.split(index, [100, 350]))]
        whole, all_places = self.save("x.npy", x), self.save("i.npy", index)
        saved = [self.path("s%d" % i) for i in range(3)]
        described = lambda lines: [line.split("\t")[-10:] for line in lines[1:]]
        for op in ["argmin", "argmax", "describe"]:
            shown = described if op == "describe" else list
            for how in ["--axis", "--index"]:
                for part, place, state in zip(parts, places, saved):
                    more = ["--axis", 0] if how == "--axis" else ["--index", place, "--slots", 5]
                    self.lines(op, *more, part, "--save", state)
                more = ["--axis", 0] if how == "--axis" else ["--index", all_places, "--slots", 5]
                want = self.lines(op, *more, whole, "--save", self.path("one"))
                found = self.lines("merge", *saved, "--save", self.path("all"))
                self.assertEqual(shown(found), shown(want))
                with open(self.path("all"), "rb") as f, open(self.path("one"), "rb") as g:
                    self.assertEqual(f.read(), g.read())
        for part, state in zip(parts, saved):
            want = self.lines("dot", "--axis", 0, part, part, "--save", state)
        self.assertEqual(self.lines("merge", *saved), self.lines("dot", "--axis", 0, whole, whole))
        for part, state in zip(parts, saved):
            want = self.lines("prod", "--axis", 0, part, "--save", state)
            self.assertEqual(self.lines("merge", state), want)
        self.refused(3, "a product of floats depends on the index", "merge", *saved)

    def test_each_index_of_the_first_axis_has_its_own(self):
        x, text = self.save("x.npy", samples("i4", (7, 9), 5)), self.write("t", b"1,2\n3,4\n")
        for name, op in [(x, "sum"), (text, "max")]:
            want = self.lines(op, "--axis", 1, name)
            self.assertEqual(self.lines(op, "--axis", 1, "--save", self.path("s"), name), want)
            self.assertEqual(self.lines("merge", self.path("s")), want)

    def test_what_does_not_match_is_refused(self):
        x = self.save("x.npy", np.ones((2, 3)))
        a, b, c, one = (self.path(name) for name in ["a", "b", "c", "one"])
        self.lines("sum", "--axis", 0, "--save", a, x)
        self.lines("sum", "--axis", 1, "--save", b, x)
        self.lines("sum", "--save", one, x)
        self.refused(3, "states do not match: this is of 2 sum f64, ", "merge", a, b)
        self.refused(3, "states do not match: this is of a value, ", "merge", a, one)
        self.refused(3, "cannot take out a state of many values", "merge", a, "--minus", a)
        self.refused(3, "cannot compare many values", "verify", "--against", a, x)
        self.refused(2, "--save of many values takes one FILE", "sum", "--axis", 0, "--save", c, x, x)
        with open(a, "rb") as f:
            data = f.read()
        for bad in [data[:-1], data[:40], data[:60] + b"x" + data[61:]]:
            self.refused(3, "damaged", "merge", self.write("bad", bad))
        self.lines("min", "--index", self.save("i.npy", np.array([0, 2])), "--slots", 3, "--empty", 5,
                   "--save", c, x)
        self.assertEqual(self.lines("merge", c), ["1"] * 3 + ["5"] * 3 + ["1"] * 3)
        self.assertEqual(self.lines("merge", "--empty", 7, c), ["1"] * 3 + ["7"] * 3 + ["1"] * 3)
        self.refused(2, "--empty belongs to many values", "merge", "--empty", 7, one)


class Refused(AxisTest):
    """A clear error, and nothing written."""

    def setUp(self):
        super().setUp()
        self.x = self.save("x.npy", np.arange(24.0).reshape(4, 6))
        self.i = self.save("i.npy", np.array([0, 1, 2, 2]))
        self.out = self.path("out.npy")

    def nothing(self, code, message, *arguments, **more):
        self.refused(code, message, *arguments, "-o", self.out, **more)
        self.assertEqual([f for f in os.listdir(self.dir) if "out" in f or f.startswith(".")], [])

    def test_axes(self):
        for text, message in [("2", "there is no axis 2: it has 2 dimensions"),
                              ("-3", "there is no axis -3"), ("0,0", "axis 0 is given twice"),
                              ("1,-1", "axis 1 is given twice: it is also -1"), ("", "--axis: ''"),
                              ("x", "--axis: 'x'"), ("0,", "--axis: '0,'"), ("1.5", "'1.5' is no"),
                              ("8", "--axis: '8'"), ("0;1", "'0;1' is no"), ("--", "--axis: '--'"),
                              ("9" * 30, "is not axes")]:
            self.nothing(2, message, "sum", "--axis", text, self.x)
        self.nothing(3, "no dimensions", "sum", "--axis", 0, self.save("s.npy", np.float64(1)))
        self.nothing(3, "9 dimensions", "sum", "--axis", 0, self.save("d.npy", np.zeros((1,) * 9)))
        huge = self.write("h.npy", header("'<f8'", "(0, 4294967296, 4294967296)"))
        self.nothing(3, "overflows", "sum", "--axis", 0, huge)

    def test_offsets(self):
        for offsets, message in [([0, 3, 2], "offset 2 is 2"), ([-1, 4], "offset 0 is -1"),
                                 ([0, 5], "offset 1 is 5"), ([], "no offsets"),
                                 ([[0, 4]], "one dimension"), ([0.0, 4.0], "needs integers"),
                                 ([False, True], "needs integers")]:
            name = self.save("o.npy", np.array(offsets, None if offsets else int))
            self.nothing(3, message, "sum", "--offsets", name, self.x)
        self.nothing(3, "not a number", "sum", "--offsets", self.write("o", b"0\nx\n"), self.x)
        self.nothing(3, "", "sum", "--offsets", self.write("o", b"18446744073709551615\n"), self.x)
        self.nothing(1, "cannot open", "sum", "--offsets", self.path("none"), self.x)

    def test_index(self):
        for index, message in [([0, 1, 2, 3], "index 3 is 3, outside 0 to 2"),
                               ([0, -1, 7, 0], "index 1 is -1"), ([0, 1], "2"),
                               ([0.0] * 4, "needs integers"), ([[0] * 4], "one dimension")]:
            name = self.save("j.npy", np.array(index))
            self.nothing(3, message, "sum", "--index", name, "--slots", 3, self.x)
        self.nothing(2, "--slots", "sum", "--index", self.i, "--slots", 2**31 + 1, self.x)
        self.nothing(3, "no slots", "sum", "--index", self.i, "--slots", 0, self.x)

    def test_options(self):
        axis = ["--axis", 0]
        for message, *arguments in [
                ("--index needs --slots", "sum", "--index", self.i),
                ("--slots needs --index", "sum", "--slots", 3),
                ("exclude each other", "sum", *axis, "--index", self.i, "--slots", 3),
                ("exclude each other", "sum", *axis, "--offsets", self.i),
                ("--empty needs", "min", "--empty", 0), ("--empty is for", "sum", "--empty", 0, *axis),
                ("'x' is no f64", "min", "--empty", "x", *axis),
                ("is given twice", "sum", *axis, "--axis", 1),
                ("--total does not go", "sum", "--total", *axis),
                ("--offset does not go", "sum", "--offset", 1, *axis),
                ("--count does not go", "sum", "--count", 1, *axis),
                ("describe cannot write this as .npy", "describe", *axis)]:
            self.nothing(2, message, *arguments, self.x)
        self.nothing(2, "--checkpoint needs axis 0", "sum", "--axis", 1, "--checkpoint", self.path("c"),
                     self.save("3.npy", np.zeros((2, 3, 4))))
        self.nothing(2, "one array holds", "sum", *axis, self.x, self.x)
        self.nothing(2, "more than once", "sum", "--index", "-", "--slots", 3, "-", stdin=b"1\n")
        self.refused(2, "no option: --axis", "hist", *axis, self.x)
        self.refused(2, "-o would write", "sum", *axis, "-o", self.x, self.x)
        self.refused(2, "-o would write", "sum", "--offsets", self.i, "-o", self.i, self.x)

    def test_data(self):
        axis = ["--axis", 0]
        big = self.save("b.npy", np.full((3, 2), 2**62))
        self.nothing(3, "result 0 does not fit i64", "sum", *axis, big)
        self.nothing(3, "result 0 does not fit", "prod", *axis, big)
        self.assertEqual(self.lines("sum", *axis, "--out-dtype", "f64", big),
                         ["1.3835058055282164e+19"] * 2)
        self.assertEqual(self.lines("prod", *axis, "--overflow", "wrap", big), ["0", "0"])
        self.nothing(3, "no value", "max", *axis, self.save("e.npy", np.zeros((0, 3))))
        nan = self.save("n.npy", np.array([[1, np.nan]]))
        self.nothing(3, "NaN", "sum", *axis, "--nan", "error", nan)
        self.nothing(3, "no value", "min", *axis, "--nan", "skip", nan)
        self.assertEqual(self.lines("min", *axis, "--nan", "skip", "--empty", 7, nan), ["1", "7"])
        self.nothing(3, "shapes do not match", "dot", *axis, self.x, nan)
        self.nothing(3, "dtypes do not match", "dot", *axis, self.x, self.save("k.npy", np.ones((4, 6), int)))
        short = self.write("t.npy", open(self.x, "rb").read()[:-8])
        self.nothing(3, "shorter than its header", "sum", *axis, short)
        with open("/dev/full", "w") as full:
            self.refused(1, "No space left", "sum", *axis, self.x, stdout=full)
