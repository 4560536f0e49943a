"""The Python sessions of the README."""

import doctest
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def sessions():
    """Returns the README's blocks of examples."""
    with open(os.path.join(ROOT, "README.md")) as f:
        return re.findall(r"(?m)^    >>> .*\n(?:    .*\n)*", f.read())


def gpu_memory():
    """Returns the PyTorch that has a GPU, or None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


class Readme(unittest.TestCase):
    def test_sessions(self):
        self.assertGreater(len(sessions()), 1)
        names = {"torch": gpu_memory()}
        runner, said = doctest.DocTestRunner(), []
        for session in sessions():
            if names["torch"] or "torch." not in session:
                test = doctest.DocTestParser().get_doctest(session, names, "README.md", None, 0)
                test.globs = names  # what one session defines, the next may use
                runner.run(test, out=said.append, clear_globs=False)
        self.assertGreater(runner.tries, 5)
        self.assertEqual(runner.failures, 0, "".join(said))
