"""The types of the module: the stub has what the module has, and mypy takes what is right alone."""
import ast
import copy
import importlib.util
import inspect
import os
import subprocess
import sys
import tempfile
import unittest
from array import array

import bitfold
from documents import ROOT

STUB = os.path.join(os.path.dirname(bitfold.__file__), "__init__.pyi")
P = inspect.Parameter

# What each option is if it is not given.
DEFAULTS = {
    "nan": "propagate", "out_dtype": None, "ddof": 0, "correction": None, "overflow": "error",
    "dtype": None, "context": None, "null": "error", "fits": False, "empty": None, "scale": 0,
    "where": True, "initial": None, "out": None, "weights": None, "check": "now",
    "bias": None, "reliability": False,
}  # fmt: skip

PAIRS = {"dot", "cov", "corr", "slope", "intercept", "r2", "wmean", "wvar", "wstd"}

# Lines that a type checker takes; after each "# type: ignore" one that it must not.
PROGRAM = '''
import array
from typing import Union
import bitfold

x = array.array("d", [1, 2, 3])
number: Union[int, float] = bitfold.sum(x)
mean: float = bitfold.mean(memoryview(x), nan="skip", null="skip")
position: int = bitfold.argmax(b"abc", context=bitfold.Context(threads=1))
bitfold.mean(x, axis=0, empty=1.0, fits=True)[0]
middle: float = bitfold.median(x)
state: bitfold.State = bitfold.State("sum", "f64").absorb(x) + bitfold.State("sum", "f64")
state += bitfold.State.load(state.save())
least: Union[int, float, None] = bitfold.describe(x).min
table: bitfold.Table = bitfold.Table("i64", "f64", duplicates="last").insert(array.array("q", [7]), x[:1])
bins = bitfold.Histogram.of(x, bins="auto").info().bins + 1
group: bitfold.Groups = bitfold.Groups("i64", [("sum", "f64")])
counts = bitfold.unique_counts(x).counts
names: bitfold.Groups = bitfold.Groups(["string", "f64"]).absorb((["a", "b", "b"], x))
prices = bitfold.Table("string", "f64").insert(["a", "b", "c"], x)["a"]
try:
    bitfold.sort(x, descending=True)
except bitfold.ShapeError as error:
    print(error.status + 1)

bitfold.sum([[1.0, 2], [3, 0.5]]) + bitfold.dot(range(3), (1, 2, 3))
bitfold.sum(x, where=[True], initial=0.5) + bitfold.mean(x, weights=[1, 2, 3])
line: float = bitfold.covariance(x, x) + bitfold.linregress(x, [1, 2, 4]).slope + bitfold.average(x, weights=x)
bitfold.cov(x, x)[0, 1] + bitfold.skew(x, bias=False) + bitfold.var(x, weights=x, reliability=True)
bitfold.sum(["a", "b"])  # type: ignore[arg-type]
bitfold.correlation(x)  # type: ignore[call-overload]
bitfold.mean(x, initial=1)  # type: ignore[call-overload]
bitfold.sum(x, nan="ignore")  # type: ignore[call-overload]
bitfold.sum(x, nans="skip")  # type: ignore[call-overload]
bitfold.sort(x, ascending=True)  # type: ignore[call-arg]
bitfold.rank(x, method="first")  # type: ignore[arg-type]
bitfold.State("median", "f64")  # type: ignore[arg-type]
state.merge(group)  # type: ignore[arg-type]
state + table  # type: ignore[operator]
wrong: str = bitfold.mean(x)  # type: ignore[assignment]
'''

# What stubtest need not compare: private modules, the library, what needs PyTorch or JAX, and how objects end.
ALLOWED = r"""bitfold\._.*
bitfold\.libbitfold
bitfold\.libbitfold-read
bitfold\.torch.*
bitfold\.jax.*
bitfold\..*\.__del__
"""


def parsed():
    with open(STUB) as f:
        return ast.parse(f.read())


def named(nodes):
    """The functions and classes among statements: lists of nodes by name; overloads share theirs. A name
    that is declared to be of a protocol has its calls."""
    found = {}
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            protocol = found.get(ast.unparse(node.annotation).split("[")[0])
            if protocol:
                found[node.target.id] = calls(protocol[0])
    return found


def calls(protocol):
    """What the objects of a protocol are called with."""
    found = named(copy.deepcopy(protocol.body))["__call__"]
    for each in found:
        del each.args.args[0]
    return found


def in_stub(node):
    """The parameters that a function of the stub has: triples of name, kind and default."""
    a = node.args
    given = a.posonlyargs + a.args
    defaults = [P.empty] * (len(given) - len(a.defaults)) + a.defaults
    found = [(each.arg, P.POSITIONAL_OR_KEYWORD, d) for each, d in zip(given, defaults)]
    found += [(a.vararg.arg, P.VAR_POSITIONAL, P.empty)] if a.vararg else []
    keywords = zip(a.kwonlyargs, a.kw_defaults)
    found += [(each.arg, P.KEYWORD_ONLY, P.empty if d is None else d) for each, d in keywords]
    found += [(a.kwarg.arg, P.VAR_KEYWORD, P.empty)] if a.kwarg else []
    return [(name, kind, value_of(default)) for name, kind, default in found]


def value_of(node):
    """A default as a value; Ellipsis stands for one that the stub does not name."""
    return node if node is P.empty else eval(ast.unparse(node))


def options_of(node, classes):
    """The keywords in the TypedDict of a function's **options."""
    found, names = [], [node.args.kwarg.annotation.slice.id]
    while names:
        each = classes[names.pop()][0]
        found += [line.target.id for line in each.body]
        names += [base.id for base in each.bases if base.id != "TypedDict"]
    return found


def members(classes, name):
    """The functions of a class in the stub, with those of its private bases."""
    node = classes[name][0]
    found = named(node.body)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("_"):
            found = {**members(classes, base.id), **found}
    return found


class Stub(unittest.TestCase):
    def setUp(self):
        self.top = named(parsed().body)

    def check(self, name, nodes, thing):
        """Compares what the stub says of a function, once or by overloads, with the function."""
        expected = [(p.name, p.kind, p.default) for p in inspect.signature(thing).parameters.values()]
        for node in nodes:
            found = in_stub(node)
            self.assertEqual(len(found), len(expected), (name, found, expected))
            for each, other in zip(found, expected):
                if each[2] is Ellipsis and other[2] is not P.empty:
                    each = (*each[:2], other[2])
                self.assertEqual(each, other, name)

    def test_it_is_there_and_marked(self):
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(STUB), "py.typed")))
        public = [name for name in self.top if not name.startswith("_")]
        self.assertEqual(sorted(public), sorted(bitfold.__all__))

    def test_operations_are_those_of_the_module(self):
        for name, expected in (("_Operation", set(bitfold.OPS) - PAIRS - {"describe"}), ("_PairOperation", PAIRS)):
            found, = [node.value for node in parsed().body if isinstance(node, ast.AnnAssign)
                      and node.target.id == name]  # fmt: skip
            self.assertEqual(sorted(ast.literal_eval(found.slice)), sorted(expected))

    def test_functions_have_the_signatures_of_the_module(self):
        for name in bitfold.__all__:
            thing = getattr(bitfold, name)
            self.assertEqual(inspect.isclass(thing), isinstance(self.top[name][0], ast.ClassDef), name)
            if not inspect.isclass(thing):
                self.check(name, self.top[name], thing)

    def test_classes_have_the_members_of_the_module(self):
        for name in bitfold.__all__:
            thing = getattr(bitfold, name)
            if not inspect.isclass(thing) or issubclass(thing, (tuple, Exception)):
                continue
            found = members(self.top, name)
            public = {each for each in dir(thing) if not each.startswith("_")}
            self.assertEqual({each for each in found if not each.startswith("_")}, public, name)
            for each in public | {"__init__"} & set(vars(thing)):  # nobody makes a Result
                member = inspect.getattr_static(thing, each)
                decorators = [d.id for d in found[each][0].decorator_list]
                self.assertEqual("property" in decorators, isinstance(member, property), (name, each))
                self.assertEqual("classmethod" in decorators, isinstance(member, classmethod), (name, each))
                if not isinstance(member, property):
                    function = getattr(member, "__func__", member)
                    self.check(name + "." + each, found[each], function)

    def test_tuples_have_the_fields_of_the_module(self):
        for name in ("Description", "StateInfo", "LinregressResult", "QuantilesInfo", "HistogramInfo"):
            fields = [line.target.id for line in self.top[name][0].body]
            self.assertEqual(tuple(fields), getattr(bitfold, name)._fields)

    def test_errors_have_the_bases_of_the_module(self):
        for name in bitfold.__all__:
            thing = getattr(bitfold, name)
            if inspect.isclass(thing) and issubclass(thing, bitfold.Error):
                bases = [base.id for base in self.top[name][0].bases]
                self.assertEqual(bases, [base.__name__ for base in thing.__bases__])

    def test_options_are_taken_by_the_functions(self):
        x, offsets, index = array("d", [1, 2]), array("q", [0, 2]), array("q", [0, 0])
        groups = bitfold.Groups("i64", [("sum", "f64")]).absorb(index, x)
        states = {
            "State.result": bitfold.State("sum", "f64").result,
            "States.result": bitfold.States("sum", "f64", 1).absorb(x).result,
            "Groups.result": lambda **options: groups.result(0, **options),
            "Groups.result_list": lambda **options: groups.result_list(0, **options),
        }
        functions = {name: getattr(bitfold, name) for name in bitfold.__all__}
        values = {"x": x, "y": x, "a": x, "b": x, "values": x, "offsets": offsets, "index": index, "m": 1,
                  "keys": index, "op": "sum"}  # fmt: skip
        checked = 0
        for name, thing in {**functions, **states}.items():
            owner, _, member = name.partition(".")
            nodes = members(self.top, owner)[member] if member else self.top[name]
            for node in nodes:
                if isinstance(node, ast.ClassDef) or node.args.kwarg is None:
                    continue
                if isinstance(node.args.kwarg.annotation, ast.Name):
                    continue  # any names at all, of arrays
                given = {p: values[p] for p, _, d in in_stub(node) if d is P.empty and p in values}
                given.update({"m": x} if name == "cov" else {})
                if node.args.kwarg.annotation.slice.id.startswith("_OfMany"):
                    given.update({"axis": 0} if "axis" in [p for p, *_ in in_stub(node)] else {})
                for option in options_of(node, self.top):
                    thing(**given, **{option: DEFAULTS[option]})
                    checked += 1
        self.assertGreater(checked, 300)


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class Checker(unittest.TestCase):
    def run_python(self, *arguments, cwd):
        path = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH"),) if p)
        environment = {**os.environ, "MYPYPATH": path}
        return subprocess.run(
            [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True
        )

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bitfold-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)
        return name

    def test_the_stub_is_that_of_the_module(self):
        config = os.path.join(ROOT, "pyproject.toml")
        done = self.run_python(
            "-m", "mypy.stubtest", "bitfold", "--mypy-config-file", config,
            "--allowlist", self.write("allowed", ALLOWED), "--ignore-unused-allowlist", cwd=self.dir,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_programs(self):
        program = self.write("program.py", PROGRAM)
        done = self.run_python(
            "-m", "mypy", "--strict", "--warn-unused-ignores", program, cwd=self.dir
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        expected = self.run_python(program, cwd=self.dir)
        self.assertIn("list", expected.stderr.splitlines()[-1])  # the first wrong line fails
