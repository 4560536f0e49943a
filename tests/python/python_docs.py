"""The guide and the docstrings: every example gives what it shows."""
import array
import doctest
import importlib.util
import inspect
import os
import re
import sys
import tempfile
import unittest

import numpy

import bitfold
from documents import ROOT, fences, read

sys.path.insert(0, os.path.join(ROOT, "docs", "pages"))
from conf import listed


def has_gpu():
    try:
        bitfold.Context(device="cuda")
    except bitfold.DeviceError:
        return False
    return True


def lacks(session):
    """The first library, or the GPU, that a session needs and that is not here; or None."""
    if re.search('>>> .*(cupy|device="cuda)', session) and not has_gpu():
        return "a GPU"
    for line in re.findall(r"^>>> import (.*)", session, re.M):
        for name in re.split(r",\s*", line):
            if importlib.util.find_spec(name.split(".")[0].split(" ")[0]) is None:
                return name
    return None


X, INDEX = numpy.array([5.0, 3, 9, 3]), numpy.array([1, 0, 1, 1])
M, BIG = numpy.ones((2, 3)), numpy.full((1, 3), 2**63 - 1)
NAN = numpy.array([numpy.nan])

# Calls that fail, by the error that they raise.
REFUSED = {
    "RangeError": [
        ("sum", BIG, 1), ("sumsq", BIG, 1), ("prod", BIG[0]), ("dot", BIG, BIG, 1),
        ("segment_sum", BIG[0], numpy.array([0, 3])), ("index_prod", 1, numpy.array([0, 0, 0]), BIG[0]),
        ("reduce_runs", "sum", numpy.array([1, 1, 1]), BIG[0]), ("map", "add", BIG, BIG),
        ("cumulative_sum", BIG), ("cumulative_prod", BIG),
    ],
    "EmptyError": [
        ("min", X[:0]), ("argmax", M[:, :0], 1), ("segment_max", X, numpy.array([0, 0])),
        ("index_argmin", 3, INDEX, X), ("median", X[:0]), ("quantile", X[:0], 0.5), ("mode", X[:0]),
        ("segment_median", X, numpy.array([0, 0])), ("index_quantile", 3, INDEX, X, 0.5),
    ],
    "ShapeError": [
        ("dot", M, M[:1]), ("vecdot", M, M[:1]), ("segment_dot", X, X[:2], numpy.array([0, 4])),
        ("index_dot", 2, INDEX, X, X[:2]), ("index_add", 2, INDEX[:2], X), ("sort_rows", X.copy(), M.copy()),
        ("reduce_runs", "sum", INDEX, X[:2]), ("segment_sort", M, numpy.array([0, 2])), ("is_sorted", M),
        ("segment_argsort", M, numpy.array([0, 2])), ("segment_quantile", M, 0.5, numpy.array([0, 2])),
        ("index_median", 2, INDEX[:2], X), ("group_median", INDEX, X[:2]), ("group_quantile", M, M, 0.5),
        ("searchsorted", M, X), ("map", "add", X, M), ("histogram", X, 3, None, X[:2]),
    ],
    "DtypeError": [
        ("dot", X, INDEX), ("segment_var", X, X), ("index_mean", 2, X, X), ("searchsorted", X, INDEX),
        ("map", "add", INDEX, INDEX.astype("u8")), ("result_dtype", "add", "i64", "u64"),
        ("bincount", X), ("join", X, INDEX), ("cumulative_prod", X),
    ],
    "ArgumentError": [
        ("segment_min", X, numpy.array([0, 5])), ("index_max", 1, INDEX, X), ("sort", X, 1),
        ("argsort", X, 1), ("rank", X, 1), ("top", X, -1), ("quantile", X, 2), ("percentile", X, 101),
        ("segment_median", X, numpy.array([2, 1])), ("index_median", 1, INDEX, X),
        ("group_quantile", INDEX, X, 2), ("nth", X, 4), ("sort_rows", b"abc"), ("map", "div", INDEX, INDEX),
        ("map", "add", X), ("result_dtype", "add", "i64"), ("julia", 0, 1), ("palette_colors", "pink", b""),
        ("palette_colors", "fire", X), ("histogram", X, [3, 2]), ("bincount", -INDEX),
    ],
}  # fmt: skip


def documented(name):
    """What a docstring says of errors, with what it says is the same of others."""
    said = re.search(r"Errors: (.*?)\n\n", inspect.getdoc(getattr(bitfold, name)) + "\n\n", re.S)
    said = said.group(1) if said else ""
    for other in re.findall(r"those of (\w+)", said):
        said += documented(other)
    return said


def failures(session, name, names):
    """What a session shows that it should not. Runs it with these names, to which it adds its own."""
    test = doctest.DocTestParser().get_doctest(session, names, name, name, 0)
    said = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    return "".join(said)


def public():
    """Every public function, class and method: its name and its docstring."""
    yield "bitfold", bitfold.__doc__
    for name in bitfold.__all__:
        thing = getattr(bitfold, name)
        yield name, inspect.getdoc(thing)
        if inspect.isclass(thing):
            for method, each in vars(thing).items():
                if not method.startswith("_") and (callable(each) or isinstance(each, (property, classmethod))):
                    yield name + "." + method, inspect.getdoc(each)


class Docs(unittest.TestCase):
    def test_the_guides_sessions_show_what_they_say(self):
        names, ran, folder = {}, 0, tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        guide = read("docs/guide/python.md")
        os.chdir(folder.name)  # where sessions write
        for _, session in fences(guide, "pycon"):
            if not lacks(session):
                self.assertEqual(failures(session, "python.md", names), "")
                ran += 1
        self.assertGreater(ran, 10)

    def test_every_public_name_is_documented(self):
        self.assertEqual([name for name, doc in public() if not doc], [])

    def test_the_reference_has_every_public_name(self):
        shown = re.findall(r"auto(?:function|class|exception):: bitfold\.(\w+)", listed(read("docs/pages/python.rst")))
        self.assertEqual(sorted(shown), sorted(bitfold.__all__))

    def test_every_function_and_class_has_an_example_that_works(self):
        without, said = [], ""
        for name, doc in public():
            if ">>>" not in (doc or ""):
                without.append(name)
            elif not lacks(doc):
                names = {"bitfold": bitfold, "array": array.array, "numpy": numpy}
                said += failures(doc, name, names)
        self.assertEqual(said, "")
        tuples = ["Description", "HistogramInfo", "LinregressResult", "QuantilesInfo", "StateInfo"]
        exempt = [name for name in without if "." in name or name in tuples or name.endswith("Error")]
        self.assertEqual(sorted(set(without) - set(exempt)), [])

    def test_errors_are_those_that_the_docstrings_say(self):
        for error, calls in REFUSED.items():
            for name, *arguments in calls:
                with self.assertRaises(getattr(bitfold, error), msg=name) as caught:
                    getattr(bitfold, name)(*arguments)
                self.assertIn(error, documented(name), name)
                self.assertNotIn(str(caught.exception), ("invalid argument", "dtype not supported here"))
        for name in ("sort", "is_sorted", "unique", "unique_counts"):
            with self.assertRaises(bitfold.NanError):
                getattr(bitfold, name)(NAN, nan="error")
            self.assertIn("NanError", documented(name), name)
