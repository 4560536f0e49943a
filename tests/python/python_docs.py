"""The guide and the docstrings: every example gives what it shows."""
import array
import doctest
import importlib.util
import inspect
import re
import unittest

import numpy

import bitfold
from documents import fences, read


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
        names, ran = {}, 0
        for _, session in fences(read("docs/guide/python.md"), "pycon"):
            if not lacks(session):
                self.assertEqual(failures(session, "python.md", names), "")
                ran += 1
        self.assertGreater(ran, 10)

    def test_every_public_name_is_documented(self):
        self.assertEqual([name for name, doc in public() if not doc], [])

    def test_the_reference_has_every_public_name(self):
        shown = re.findall(r"auto(?:function|class|exception):: bitfold\.(\w+)", read("docs/pages/python.rst"))
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
        tuples = ["Description", "HistogramInfo", "QuantilesInfo", "StateInfo"]
        exempt = [name for name in without if "." in name or name in tuples or name.endswith("Error")]
        self.assertEqual(sorted(set(without) - set(exempt)), [])


if __name__ == "__main__":
    unittest.main()
