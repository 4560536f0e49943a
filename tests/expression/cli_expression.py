"""-e: expressions of files and columns, whose values are reduced exactly."""
import json
import os
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from command import SANITIZED, CommandTest, run

SHARE = 4 if SANITIZED else 1  # the random cases are divided by this


def exact_sum(x):
    """The exact sum of floats, rounded once."""
    return float(sum(Fraction(float(v)) for v in x.ravel()))


CITIES = ["Lagos", "Paris", "", "it's", 'say "so"', "a, b", "two\nlines", "Z\u00fcrich", "zz", "007"]


def plain(x):
    """An exact decimal, without an exponent and without zeros at its end."""
    text = format(Context(prec=100).divide(Decimal(x.numerator), Decimal(x.denominator)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def quoted(text, rng):
    """A string of an expression, in one kind of quotes or the other."""
    quote = "'\""[rng.integers(2)]
    return quote + text.replace(quote, 2 * quote) + quote


def both(x, y):
    return False if x is False or y is False else None if x is None or y is None else True


def negated(x):
    return None if x is None else not x


def lifted(f):
    return lambda *x: None if None in x else f(*x)


class Grammar:
    """Random expressions, each as its text and as a function of a row."""

    def __init__(self, rng, literals=(("2.5", 2.5), ("3", 3))):
        self.rng = rng
        self.literals = [(text, lambda r, x=x: x) for text, x in literals]

    def one_of(self, *makers):
        return makers[self.rng.integers(len(makers))]()

    def number(self, depth):
        if depth == 0:
            return self.one_of(lambda: ("price", lambda r: r["price"]),
                               lambda: ("`n, items`", lambda r: r["n"]),
                               *[lambda x=x: x for x in self.literals])
        (a, f), (b, g), (c, h) = self.number(depth - 1), self.number(depth - 1), self.condition(depth - 1)
        op, of = [("+", lambda x, y: x + y), ("-", lambda x, y: x - y),
                  ("*", lambda x, y: x * y)][self.rng.integers(3)]
        return self.one_of(lambda: ("(%s %s %s)" % (a, op, b), lambda r: lifted(of)(f(r), g(r))),
                           lambda: ("(%s ? %s : %s)" % (c, a, b), lambda r: (f if h(r) else g)(r)),
                           lambda: ("abs(%s)" % a, lambda r: lifted(abs)(f(r))),
                           lambda: ("(%s)**0" % a, lambda r: lifted(lambda x: 1)(f(r))),
                           lambda: ("max(%s, 0)" % c, lambda r: lifted(int)(h(r))),
                           lambda: ("(price > 99 ? 1/0 : %s)" % b, g),
                           lambda: ("(`n, items` < 9 || isnull(price) || 1 ? %s : 1%%0)" % a, f))

    def bracketed(self, text):
        return self.one_of(lambda: text, lambda: "(%s)" % text)

    def comparison(self, depth):
        op, of = [("==", lambda x, y: x == y), ("!=", lambda x, y: x != y), ("<", lambda x, y: x < y),
                  ("<=", lambda x, y: x <= y), (">", lambda x, y: x > y),
                  (">=", lambda x, y: x >= y)][self.rng.integers(6)]
        (a, f), (b, g) = self.number(depth), self.number(depth)
        text = CITIES[self.rng.integers(len(CITIES))]
        name = ["city", "town"][self.rng.integers(2)]
        column, city, town = self.bracketed(name), self.bracketed("city"), self.bracketed("town")
        return self.one_of(lambda: ("%s %s %s" % (a, op, b), lambda r: lifted(of)(f(r), g(r))),
                           lambda: ("%s %s %s" % (column, op, self.bracketed(quoted(text, self.rng))),
                                    lambda r: lifted(of)(r[name], text.encode())),
                           lambda: ("%s %s %s" % (city, op, town),
                                    lambda r: lifted(of)(r["city"], r["town"])))

    def condition(self, depth):
        if depth == 0:
            return self.one_of(lambda: ("isnull(price)", lambda r: r["price"] is None),
                               lambda: ("isnull(city)", lambda r: r["city"] is None),
                               lambda: ("isnan(`n, items`)", lambda r: None if r["n"] is None else False),
                               lambda: ("isnan(price)", lambda r: None if r["price"] is None else False),
                               lambda: self.comparison(0))
        (a, f), (b, g) = self.condition(depth - 1), self.condition(depth - 1)
        return self.one_of(
            lambda: ("(%s) && (%s)" % (a, b), lambda r: both(f(r), g(r))),
            lambda: ("(%s || %s)" % (a, b), lambda r: negated(both(negated(f(r)), negated(g(r))))),
            lambda: ("!(%s)" % a, lambda r: negated(f(r))), lambda: self.comparison(depth - 1))


class Expression(CommandTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.a, self.b = rng.normal(size=(2, 70, 301))
        self.files = [self.save("a.npy", self.a), self.save("b.npy", self.b)]

    def value(self, command, expression, *arguments, **more):
        return self.result(command, "-e", expression, *arguments, **more).strip()

    def table(self, name, text):
        path = self.path(name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_operations_are_rounded_one_by_one_and_the_sum_once(self):
        a, b = self.a, self.b
        with np.errstate(all="ignore"):
            wanted = {"(a-b)**2": (a - b) * (a - b), "a*b": a * b, "a": a, "-a/b + 2": -a / b + 2,
                      "a % b": a % b, "floor(a*10) - ceil(b)": np.floor(a * 10) - np.ceil(b),
                      "a > b ? a : b": np.maximum(a, b), "sqrt(abs(a))": np.sqrt(np.abs(a)),
                      "1/3*a*b": 1 / 3 * a * b, "fma(a, 2, b)": a * 2 + b}
        for text, values in wanted.items():
            with self.subTest(text):
                self.assertEqual(float(self.value("sum", text, *self.files)), exact_sum(values))

    def test_every_value(self):
        product = self.a * self.b
        path = self.save("product.npy", product)
        for command in ["sum", "mean", "var", "std", "sumsq", "norm", "prod", "min", "max",
                        "argmin", "argmax", "describe"]:
            for more in [(), ("-j", "3"), ("--isa", "generic", "-j1")]:
                self.assertEqual(self.value(command, "a*b", *self.files, *more),
                                 self.result(command, path).strip(), command)

    def test_orders_and_pipes(self):
        fortran = self.save("f.npy", np.asfortranarray(self.a))
        for command in ["sum", "argmax"]:
            wanted = self.value(command, "a-b", *self.files)
            self.assertEqual(self.value(command, "a-b", fortran, self.files[1]), wanted)
            with open(self.files[0], "rb") as f:
                self.assertEqual(self.value(command, "a-b", "-", self.files[1], stdin=f.read()),
                                 wanted)
        both = self.save("g.npy", np.asfortranarray(self.b))
        self.assertEqual(self.value("argmax", "a-b", fortran, both),
                         str(int(np.argmax(self.a - self.b))))

    def test_dtypes(self):
        i = self.save("i.npy", np.arange(-50, 50, dtype=np.int8))
        f = self.save("h.npy", np.linspace(0, 1, 100, dtype=np.float32))
        self.assertEqual(self.value("sum", "a % 7", i), str(int(np.sum(np.arange(-50, 50) % 7))))
        self.assertEqual(self.value("sum", "a > 0 && a < 10", i), "9")
        single = np.load(f) * np.float32(1 / 3)
        self.assertEqual(self.value("sum", "a/3*1 > a*(1/3)", f),
                         str(int(np.sum(np.load(f) / np.float32(3) > single))))
        done = json.loads(self.result("max", "--json", "-e", "a + 1", i))
        self.assertEqual((done["dtype"], done["value"], done["expression"]), ("i8", 50, "a + 1"))

    def test_columns_by_name(self):
        t = self.table("t.csv", "city,unit price,count\nLagos,1.5,2\nParis,2.5,3\n\"A, B\",3,4\n")
        self.assertEqual(self.value("sum", "`unit price`*count", t), "22.5")
        self.assertEqual(self.value("sum", "count", t), "9")
        self.assertEqual(self.value("max", "count**2 - count", t), "12")
        with open(t, "rb") as f:
            self.assertEqual(self.value("sum", "count + count", stdin=f.read()), "18")
        a = self.table("a.csv", "a,c\n1,2\n3,4\n")
        self.assertEqual(self.value("sum", "a*2", a, "--header"), "8")
        self.assertEqual(self.value("sum", "a*b", a, a, "--column", "c"), "20")

    def test_numbers_whose_point_ends_them_are_no_names(self):
        table = self.table("t", "e5,fp3\n1,2\n3,4\n")
        a = np.array([1.0, 3.0])
        name = self.save("n.npy", a)
        for text, factor in [("1.e5", 1e5), ("0x1.fp3", 15.5), (".5", 0.5), ("2.", 2.0)]:
            self.assertEqual(float(self.value("sum", "a*" + text, name)), 4 * factor, text)
            self.assertEqual(float(self.value("sum", "%s * fp3 + e5" % text, table)), 6 * factor + 4)

    def random_table(self, rng, rows, **more):
        """Returns the rows, and the file that holds them."""
        def field(x):
            if x is None:
                return ""
            text = x.decode() if isinstance(x, bytes) else repr(x)
            return '"%s"' % text.replace('"', '""') if isinstance(x, bytes) else text

        table = []
        for _ in range(rows):
            none = rng.random(4) < 0.2
            row = {"price": float(rng.integers(-8, 8)) / 4, "n": int(rng.integers(-3, 4)),
                   "city": CITIES[rng.integers(len(CITIES))].encode(),
                   "town": CITIES[rng.integers(len(CITIES))].encode()}
            table.append({k: None if gone else x for (k, x), gone in zip(row.items(), none)})
        text = 'price,"n, items",city,town\n' + "".join(
            ",".join(field(x) for x in row.values()) + "\n" for row in table)
        return table, self.table("random.csv", text)

    def test_random_expressions_of_strings_and_nulls(self):
        rng = np.random.default_rng(5)
        grammar = Grammar(rng)
        for k in range(80 // SHARE):
            table, path = self.random_table(rng, int(rng.integers(1, 400)))
            text, value = [grammar.number, grammar.condition][k % 2](int(rng.integers(1, 4)))
            wanted = [value(row) for row in table]
            there = [x for x in wanted if x is not None]
            if "price" not in text and "city" not in text:
                continue  # if an expression has no names, the file is one column
            with self.subTest(text):
                threads = str(1 + k % 3)
                total = self.value("sum", text, path, "--null-policy", "skip", "-j", threads)
                self.assertEqual(float(total), float(sum(map(Fraction, there))))
                if there:
                    self.assertEqual(self.value("argmax", text, path, "--null-policy", "skip"),
                                     str(wanted.index(max(there))))
                    described = json.loads(self.value("describe", text, path, "--null-policy",
                                                      "skip", "--json"))
                    self.assertEqual((described["n"], described["argmax"]),
                                     (len(there), wanted.index(max(there))))
                self.value("map", text, path, "--null-policy", "skip", "-o", self.path("o.npy"))
                self.assertEqual(np.load(self.path("o.npy")).tolist(), there)
                if None in wanted:
                    fields = [x for row in table[:wanted.index(None)] for x in row.values()]
                    lines = sum(x.count(b"\n") for x in fields if isinstance(x, bytes))
                    why = ":%d: the result is NULL" % (2 + wanted.index(None) + lines)
                    self.refused(3, why, "sum", "-e", text, path)
                else:
                    self.assertEqual(self.value("sum", text, path), total)

    def decimal_table(self, rng, rows):
        """Returns the rows, and their text; digits behind the points may show late."""
        late, scales = rows * rng.integers(2) // 2, rng.integers(4, size=2)

        def number(i, scale):
            scale = 0 if i < late else int(scale)
            return Decimal(int(rng.integers(-9 * 10**scale, 9 * 10**scale + 1))).scaleb(-scale)

        table, lines = [], ['price,"n, items",city,town']
        for i in range(rows):
            fields = ["" if rng.random() < 0.1 else str(number(i, scale)) for scale in scales]
            city = CITIES[rng.integers(2)]
            lines.append(",".join(fields + [city, "Paris"]))
            price, n = [Fraction(x) if x else None for x in fields]
            table.append({"price": price, "n": n, "city": city.encode(), "town": b"Paris"})
        return table, "\n".join(lines) + "\n"

    def test_random_expressions_of_decimals(self):
        rng = np.random.default_rng(11)
        texts = ["0.1", "2.5", "3", "1.25e1", "0.125", "-0.30", "1e-3", "7e0"]
        grammar = Grammar(rng, [(text, Fraction(text)) for text in texts])
        for k in range(60 // SHARE):
            table, lines = self.decimal_table(rng, int(rng.choice([1, 7, 300, 3000])))
            path, skip = self.table("decimals.csv", lines), ("--null-policy", "skip")
            text, value = [grammar.number, grammar.condition][k % 3 == 2](int(rng.integers(1, 3)))
            there = [x for x in map(value, table) if x is not None]
            if "price" not in text and "city" not in text or not there:
                continue
            with self.subTest(text):
                total = plain(Fraction(sum(there)))
                self.assertEqual(self.value("sum", text, path, *skip, "-j", 1 + k % 3), total)
                self.assertEqual(self.value("sum", text, *skip, stdin=lines.encode()), total)
                self.assertEqual(self.value("max", text, path, *skip), plain(Fraction(max(there))))
                self.assertEqual(float(self.value("mean", text, path, *skip)),
                                 float(Fraction(sum(there), len(there))))
                self.value("map", text, path, *skip, "-o", self.path("o.npy"))
                self.assertEqual(np.load(self.path("o.npy")).tolist(), list(map(float, there)))
                if k % 3 < 2:
                    self.assertEqual(self.value("sort", text, path, *skip).split(),
                                     [plain(Fraction(x)) for x in sorted(there)])

    def test_decimals_are_what_is_written(self):
        a, b = self.table("a.txt", "0.1\n1.5\n"), self.table("b.txt", "0.2\n-3\n")
        late = self.table("late.txt", "1\n" * 50_000 + "0.25\n")
        x = self.save("x.npy", np.array([0.1, 1.5]))
        for wanted, text, *files in [
            ("-1.2", "a+b", a, b), ("0.3", "a+b == 0.3 ? a+b : 0", a, b), ("6.6", "1.1*3", a), ("-4.48", "a*b", a, b),
            ("1", "a == 0.1", a), ("0", "a == 0.15", a), ("150000.75", "a*3", late), ("1.6", "a", a),
            ("0.02", "(0.1 + 0.2 - 0.3) + a/10 > 0 ? 0.01 : 0", a), ("0.2", "a % 0.2 % 0.3", a),
            # Floats stay floats, and so do arrays, whose numbers are not written.
            ("0.30000000000000004", "b < 0.2 ? b*3 : a*0", a, x), ("0.30000000000000004", "a < 1 ? a*3 : 0", x),
            ("0.6000000000000001", "0.1+0.2", x),
        ]:
            self.assertEqual(self.value("sum", text, *files), wanted, text)
        self.assertEqual(self.value("prod", "a+b", a, b), repr(0.3 * -1.5))
        self.value("max", "a+b", a, b, "--save", self.path("s.bfs"))
        self.assertEqual(self.result("merge", self.path("s.bfs")).strip(), "0.3")
        done = json.loads(self.value("min", "a*b", a, b, "--json"))
        self.assertEqual((done["dtype"], done["text"]), ("decimal", "-4.5"))

    def test_results_beyond_64_bits_are_exact(self):
        rows = ["0.5", "3037000500.25", "-7", "12"]
        a = self.table("a.txt", "\n".join(rows) + "\n")
        values = [Fraction(x) for x in rows]
        for text, of in [("a**2", lambda x: x**2), ("a**3 - a", lambda x: x**3 - x), ("a + 1e18", lambda x: x + 10**18),
                         ("a*a - a", lambda x: x * x - x), ("a * 1e-20", lambda x: x / 10**20),
                         ("a * 20000000000000000001", lambda x: x * 20000000000000000001)]:
            results = [of(x) for x in values]
            for more in {}, {"stdin": open(a, "rb")}:
                files = [] if more else [a]
                self.assertEqual(self.value("max", text, *files, **more), plain(max(results)), text)
            self.assertEqual(self.value("sum", text, a), plain(sum(results)), text)
            self.assertEqual(self.value("argmin", text, a), str(results.index(min(results))), text)
            self.assertEqual(float(self.value("mean", text, a)), float(sum(results) / 4), text)
            self.value("map", text, a, "-o", self.path("o.npy"))
            self.assertEqual(np.load(self.path("o.npy")).tolist(), [float(x) for x in results], text)
        self.assertIn("hint: --dtype f64", self.refused(3, "beyond 38 digits", "sum", "-e", "a**2*1e20", a))
        self.refused(3, "40 digits behind the point, more than 38", "sum", "-e", "a**20", a)
        whole = self.table("w.txt", "1\n3037000500\n")
        self.assertEqual(self.value("sum", "a*a", whole), str(1 + 3037000500**2))
        self.refused(3, "character 2: the result does not fit i64", "sum", "-e", "a*a", "--dtype", "i64", whole)
        array = self.save("w.npy", np.array([1, 3037000500]))
        self.refused(3, "character 2: the result at index 1 does not fit i64", "sum", "-e", "a*a", array)
        self.assertEqual(self.value("sum", "a*b", array, whole), str(1 + 3037000500**2))

    def test_columns_beyond_64_bits_are_exact(self):
        long = [20000000000000000001, -12345678901234567890123456789012345678, 5]
        u, i = [2**64 - 1, 1, 7], [-1, 2, 3]
        t = self.table("t.csv", "x,u,i\n" + "".join("%d,%d,%d\n" % row for row in zip(long, u, i)))
        for text, results in [("x + 1", [x + 1 for x in long]), ("x == 20000000000000000001", [1, 0, 0]),
                              ("x % 1000", [x % 1000 for x in long]), ("u + i", [x + y for x, y in zip(u, i)]),
                              ("u < i", [0, 1, 0]), ("u * 0.5", [Fraction(x, 2) for x in u]),
                              ("abs(x) > 1e20 ? u : i", [-1, 1, 3]), ("-x - u", [-x - y for x, y in zip(long, u)])]:
            self.assertEqual(self.value("sum", text, t), plain(Fraction(sum(results))), text)
            self.assertEqual(self.value("max", text, t), plain(Fraction(max(results))), text)
        self.assertEqual(self.value("sum", "x / 4", t), repr(sum(Fraction(float(x) / 4) for x in long).__float__()))
        self.refused(3, "t.csv:3: x*10: character 2: the result is beyond 38 digits", "sum", "-e", "x*10", t)

    def test_comparisons_of_columns_never_fail(self):
        """Their one scale may need more than 38 digits."""
        t = self.table("t.csv", "x,y\n-93263979229859470,1e-37\n5,2e-37\n%d,-1e-38\n" % (1 - 10**38))
        for op, count in [("==", 0), ("!=", 3), ("<", 2), ("<=", 2), (">", 1), (">=", 1)]:
            self.assertEqual(self.value("sum", "(x %s y) * 1" % op, t), str(count), op)
        self.refused(3, "beyond 38 digits", "sum", "-e", "min(x, y)", t)
        self.refused(3, "beyond 38 digits", "sum", "-e", "x < 0 ? x : y", t)

    def test_what_overflows_late_goes_on(self):
        """The rows before stay what they were, in pipes, states, histograms and checkpoints."""
        rows = 200_000
        text = ("v\n" + "3\n" * rows + "%d\n" % (2**63 - 1) + "1\n" * rows).encode()
        path = self.path("t.csv")
        with open(path, "wb") as file:
            file.write(text)
        wanted = 4 * 3 * rows + 4 * (2**63 - 1) + 4 * rows
        for j in 1, 2, 8:
            self.assertEqual(self.value("sum", "v*4", path, "--header", "-j", j), str(wanted))
            self.assertEqual(self.value("sum", "v*4", "-", "--header", "-j", j, stdin=text), str(wanted))
        self.assertEqual(self.value("argmax", "v*4", "-", "--header", stdin=text), str(rows))
        self.value("sum", "v*4", path, "--header", "--save", self.path("s.bfs"))
        self.value("sum", "v", path, "--header", "--save", self.path("u.bfs"))
        self.assertEqual(self.result("merge", self.path("s.bfs"), self.path("u.bfs")).strip(), str(wanted * 5 // 4))
        self.value("map", "v*4", path, "--header", "-o", self.path("o.npy"))
        self.assertEqual(np.load(self.path("o.npy"))[rows - 1:rows + 2].tolist(), [12.0, 2.0**65, 4.0])
        counts = self.value("hist", "v*4", path, "--header", "--edges", "0,10,1e19,1e20").split()[2::3]
        self.assertEqual(counts, [str(rows), str(rows), "1"])

    def test_strings(self):
        t = self.table("t.csv", "id,city,price\n1,Lagos,12\n2,\"Paris, F\",3\n3,Lagos,7\n007,x,20\n")
        self.assertEqual(self.value("sum", "price > 10 && city == 'Lagos'", t), "1")
        self.assertEqual(self.value("sum", "id == '007'", t), "1")
        self.assertEqual(self.value("sum", "city == \"Lagos\" ? price : 0", t), "19")
        words = self.table("words", "a\nb\na\n")
        self.assertEqual(self.value("sum", "a == 'a'", words), "2")
        self.assertEqual(self.value("sum", "a == 'a'", words, "--column", "1"), "2")
        others = self.table("others", "a\nc\na\n")
        for text in "a == b", "max((a) == b, 0)", "isnull(a) ? 0 : (b) == (a)", "b == a && !isnull(b)":
            self.assertEqual(self.value("sum", text, words, others), "2", text)
            self.assertEqual(self.value("sum", text, words, others, "--column", "1"), "2", text)
        self.assertEqual(self.value("sum", "a == b", self.save("n.npy", np.arange(3)), self.table("n", "0\n5\n2\n")), "2")
        self.refused(3, "strings are compared with strings", "sum", "-e", "a == b", words, self.save("n.npy", np.arange(3)))
        self.assertEqual(self.value("sum", "max(city == id, 0) + (city == 'x' ? 1 : 0)", t), "1")
        self.refused(3, "character 7: strings are compared with strings", "sum", "-e", "price == city", t)
        self.refused(3, "not a number: 'Lagos'", "sum", "-e", "city", t)
        self.refused(2, "the string has no closing '", "sum", "-e", "city == 'a", t)

    def test_map_writes_what_numpy_computes(self):
        a, b = self.a, self.b
        out = self.path("out.npy")
        self.value("map", "sqrt(a*a + b*b) > 1 ? a : -b", *self.files, "-o", out)
        self.assertEqual(np.load(out).tobytes(), np.where(np.sqrt(a * a + b * b) > 1, a, -b).tobytes())
        fortran = self.save("f.npy", np.asfortranarray(a))
        self.value("map", "a * 2", fortran, "-o", out)
        self.assertTrue(np.load(out).flags.f_contiguous)
        np.testing.assert_array_equal(np.load(out), a * 2)
        self.value("map", "a - b", fortran, self.files[1], "-o", out)
        np.testing.assert_array_equal(np.load(out), a - b)
        part = self.path("part.npy")
        self.value("map", "a", self.files[0], "-o", part, "--offset", "3", "--count", "5")
        np.testing.assert_array_equal(np.load(part), a.ravel()[3:8])
        late = self.table("late.csv", "x\n" + "1\n" * 3000 + "0.5\n")
        with open(late, "rb") as f:
            self.value("map", "x * 2", "-", "-o", out, stdin=f.read())
        np.testing.assert_array_equal(np.load(out), [2.0] * 3000 + [1])
        i = self.save("i.npy", np.array([100, -100], "i1"))
        self.value("map", "a * 2", i, "-o", out, "--overflow", "saturate")
        np.testing.assert_array_equal(np.load(out), np.array([127, -128], "i1"))
        self.refused(3, "does not fit i8", "map", "-e", "a * 2", i, "-o", self.path("none.npy"))
        self.assertFalse(os.path.exists(self.path("none.npy")))
        self.refused(2, "no output given", "map", "-e", "a", i)
        self.refused(2, "no FILE given", "map", "-e", "a", "-o", out)
        self.refused(2, "-e does not go with --to", "map", "-e", "a", i, "-o", out, "--to", "f64")

    def test_hist_counts_results(self):
        a, b = self.a, self.b
        counts, edges = np.histogram(a * b, 7)
        for files in [self.files, [self.save("f.npy", np.asfortranarray(a)), self.files[1]]]:
            done = json.loads(self.value("hist", "a*b", *files, "--bins", "7", "--json"))
            self.assertEqual((done["counts"], done["edges"]), (counts.tolist(), edges.tolist()))
        t = self.table("t.csv", "x,y,c\n1,2,u\n3,,v\n5,4,u\n")
        with open(t, "rb") as f:
            text = f.read()
        for more in [(), ("--range", "0:20")]:
            done = json.loads(self.value("hist", "x*y", t, "--bins", "2", "--json", "--null-policy",
                                         "skip", *more))
            self.assertEqual(done["counts"], [1, 1])
            piped = self.value("hist", "c < 'v' ? x : isnull(y) ? 7 : y", "--bins", "1", "--json", *more,
                               stdin=text)
            self.assertEqual(json.loads(piped)["counts"], [3])
        self.refused(3, "t.csv:3: the result is NULL", "hist", "-e", "x*y", t, "--bins", "2")
        self.refused(2, "-e does not go with --weights", "hist", "-e", "a", self.files[0], "--weights",
                     self.files[1])

    def test_a_dtype_that_shows_late(self):
        rows = ["3"] * 5000 + ["0.5"]
        t = self.table("t.csv", "\n".join(["x,y"] + ["%s,1" % row for row in rows]) + "\n")
        self.assertEqual(self.value("sum", "x*y", t), "15000.5")
        with open(t, "rb") as f:
            self.assertEqual(self.value("sum", "x*y", stdin=f.read()), "15000.5")

    def test_saved_states_merge(self):
        halves = [self.save("%s%d.npy" % (name, k), x[35 * k: 35 * k + 35])
                  for k in range(2) for name, x in (("p", self.a), ("q", self.b))]
        saved = [self.path("%d.bfs" % k) for k in range(2)]
        for k in range(2):
            self.value("sum", "(a-b)**2", *halves[2 * k: 2 * k + 2], "--save", saved[k])
        self.assertEqual(self.result("merge", *saved).strip(),
                         self.value("sum", "(a-b)**2", *self.files))

    def test_a_wrong_text_is_shown_with_its_place(self):
        for text, why in {"a*(b": "character 5: ')' expected", "a + )": "a column, a number or '(' expected",
                          "a = b": "'=' is no operator: '==' is",
                          "(" * 100000: "nested too deeply"}.items():
            self.refused(2, why, "sum", "-e", text, *self.files)
        for text, shown in {"a + ) * 2": "hint: a +  <here> ) * 2", "a * (b": "hint: a * (b <here>",
                            "(" * 2000: "hint: ..." + "(" * 30 + " <here> " + "(" * 30 + "..."}.items():
            error = run("sum", "-e", text, *self.files).stderr.decode()
            self.assertEqual(error.splitlines()[1], shown)

    def test_names_that_mean_nothing(self):
        array, table = self.files[0], self.table("t.csv", "price,city,n\n2.5,Lagos,3\n4,Paris,\n")
        one = self.table("1.txt", "1\n2\n")
        for code, why, arguments, more in [
            (2, "-e names columns of text, and this is a .npy file", ["price", array], "hint: arrays are named a, b"),
            (2, "-e names columns of text", ["city == 'x'", array, "--dtype", "f64"], ""),
            (2, "--column does not go with -e 'price*n', which names columns", ["price*n", table, "--column", "n"], ""),
            (3, "t.csv: -e: no column is named 'nope'", ["price*nope", table], "hint: the columns are price, city, n"),
            (3, "t.csv: -e: no column is named 'nope'", ["a + nope", table], "hint: the columns are price, city, n"),
            (3, "1.txt: -e: no column is named 'nope'", ["a + nope", one], ""),
            (3, "-e: no array is named 'c'", ["a + c", array, array], "hint: the arrays are a to b"),
            (3, "t.csv:1: 3 fields in this row", ["a*2", table], "hint: with --header, names in -e are those of columns"),
            (3, "t.csv:2: column 2 (city): not a number: 'Lagos'", ["city", table], ""),
            (2, "-e: character 2: '.' is no operator: it stands between two parts of a name", ["x. y", table],
             "hint: x <here> . y"),
            (3, "t.csv: -e: no column is named 'x.y'", ["x.y", table], "hint: the columns are price, city, n"),
        ]:
            self.assertIn(more, self.refused(code, why, "sum", "-e", *arguments))
        for path in one, table, array: # what is wrong with the text itself comes before its names
            for text, why in [("a b", "character 3: an operator expected"), ("nope (", "no function has the name 'nope'"),
                              ("(", "character 2: a column, a number or '(' expected"),
                              ("", "character 1: a column"), ("1/0", "character 2: integer division by zero")]:
                for header in [], ["--header"]:
                    self.refused(2, "-e: " + ("character 1: " if "nope" in text else "") + why, "sum", "-e", text, path, *header)

    def test_data_that_do_not_fit_are_refused(self):
        i = self.save("i.npy", np.arange(100, dtype=np.int8))
        short = self.save("s.npy", np.zeros((70, 300)))
        self.refused(3, "character 2: the result at index 12 does not fit i8", "sum", "-e", "a*a", i)
        self.refused(3, "character 3: integer division by zero at index 0", "sum", "-e", "5 % a", i)
        self.assertEqual(self.value("sum", "a != 0 ? 5 % a : 0", i),
                         str(sum(5 % k for k in range(1, 100))))
        self.refused(3, "shapes do not match", "sum", "-e", "a+b", i, self.files[0])
        self.refused(3, "shapes do not match", "sum", "-e", "a+b", self.files[0], short)

    def test_refused_results_have_their_line_or_their_index(self):
        text = ("v,w\n" + "1,2\n" * 100_000 + "%d,0\n" % (10**38 - 1) + "1,\n").encode()
        path = self.path("t.csv")
        with open(path, "wb") as file:
            file.write(text)
        for what, expression in [("character 2: the result is beyond 38 digits", "v+v"),
                                 ("character 2: integer division by zero", "7%w")]:
            for command in (["sum"], ["max", "--null-policy", "skip"], ["map", "-o", self.path("o.npy")]):
                for j in (1, 2, 8):
                    arguments = [*command, "-j", j, "-e", expression]
                    self.refused(3, "t.csv:100002: %s: %s" % (expression, what), *arguments, path)
                    self.refused(3, "-:100002: %s: %s" % (expression, what), *arguments, "-", stdin=text)
        self.refused(3, "t.csv:100003: the result is NULL", "sum", "-e", "w", "--header", path)
        a = np.zeros(3_000_000, dtype=np.int64)
        a[2_900_001] = -1
        a = self.save("a.npy", a)
        for command in (["sum"], ["hist", "--bins", "2"], ["map", "-o", self.path("o.npy")]):
            self.refused(3, "a.npy: character 2: integer division by zero at index 2900001",
                         *command, "-e", "7%(a+1)", a)

    def test_options_that_do_not_go_with_it(self):
        one = self.files[0]
        self.refused(2, "-e does not go with --total", "sum", "-e", "a", one, "--total")
        self.refused(2, "-e does not go with --axis", "sum", "-e", "a", one, "--axis", "0")
        self.refused(2, "-e does not go with --quantiles", "describe", "-e", "a", one,
                     "--quantiles")
        self.refused(2, "standard input is given more than once", "sum", "-e", "a+b", "-", "-")
        self.refused(2, "-e names columns of text", "sum", "-e", "price", one)
        self.refused(2, "at most 26 files", "sum", "-e", "a", *[one] * 27)
        self.refused(2, "--column does not go with", "sum", "-e", "x", one, "--column", "1")

    def test_results_of_128_bits_become_doubles_again(self):
        rows = ["%d,%d" % (10**19 + i, i) if i % 3 else ",%d" % i for i in range(100_000)]
        text = "\n".join(["x,y", *rows, "0.1234567890123456,1\n"]).encode()
        self.assertEqual(self.result("max", "-e", "x-y", "--null-policy", "skip", stdin=text), "1e+19")
