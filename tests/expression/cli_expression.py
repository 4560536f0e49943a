"""-e: expressions of files and columns, whose values are reduced exactly."""
import json
import unittest
from fractions import Fraction

import numpy as np

from command import CommandTest, run


def exact_sum(x):
    """The exact sum of floats, rounded once."""
    return float(sum(Fraction(float(v)) for v in x.ravel()))


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
        for text, why in {"a*(b": "character 5: ')' expected", "a + c": "no column has the name 'c'",
                          "a = b": "'=' is no operator: '==' is",
                          "(" * 100000: "nested too deeply"}.items():
            self.refused(2, why, "sum", "-e", text, *self.files)
        for text, shown in {"a + c * 2": "hint: a +  <here> c * 2", "a * (b": "hint: a * (b <here>",
                            "(" * 2000: "hint: ..." + "(" * 30 + " <here> " + "(" * 30 + "..."}.items():
            error = run("sum", "-e", text, *self.files).stderr.decode()
            self.assertEqual(error.splitlines()[1], shown)

    def test_data_that_do_not_fit_are_refused(self):
        i = self.save("i.npy", np.arange(100, dtype=np.int8))
        short = self.save("s.npy", np.zeros((70, 300)))
        self.refused(3, "character 2: the result at index 12 does not fit i8", "sum", "-e", "a*a", i)
        self.refused(3, "character 3: integer division by zero at index 0", "sum", "-e", "5 % a", i)
        self.assertEqual(self.value("sum", "a != 0 ? 5 % a : 0", i),
                         str(sum(5 % k for k in range(1, 100))))
        self.refused(3, "shapes do not match", "sum", "-e", "a+b", i, self.files[0])
        self.refused(3, "shapes do not match", "sum", "-e", "a+b", self.files[0], short)

    def test_options_that_do_not_go_with_it(self):
        one = self.files[0]
        self.refused(2, "-e does not go with --total", "sum", "-e", "a", one, "--total")
        self.refused(2, "-e does not go with --axis", "sum", "-e", "a", one, "--axis", "0")
        self.refused(2, "-e does not go with --quantiles", "describe", "-e", "a", one,
                     "--quantiles")
        self.refused(2, "standard input cannot be two files", "sum", "-e", "a+b", "-", "-")
        self.refused(2, "--column is for text", "sum", "-e", "price", one)
        self.refused(2, "at most 26 files", "sum", "-e", "a", *[one] * 27)
        self.refused(2, "--column does not go with", "sum", "-e", "x", one, "--column", "1")


if __name__ == "__main__":
    unittest.main()
