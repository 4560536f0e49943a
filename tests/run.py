"""Runs the tests of one file. Exit codes: 0 they passed; 1 one failed, or there are none; 2 bad usage;
77 none of them could be tried here.

    python3 tests/run.py tests/map/cli_map.py
"""
import os
import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts the tests that ran to their end; of a class that is skipped no test ever starts."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main(path):
    cases = os.environ.get("BITFOLD_CASES", "1")
    if not cases.isdecimal() or int(cases) == 0:
        print("BITFOLD_CASES is %r: not a number of cases" % cases, file=sys.stderr)
        return 2
    folder, name = os.path.split(os.path.abspath(path))
    support = os.path.join(os.path.dirname(os.path.abspath(__file__)), "support/python")
    sys.path[:0] = [folder, support]
    try:
        tests = unittest.defaultTestLoader.loadTestsFromName(os.path.splitext(name)[0])
    except unittest.SkipTest as reason:
        print("skipped: %s" % reason)
        return 77
    result = unittest.TextTestRunner(resultclass=Result).run(tests)
    sys.stderr.flush()
    if not result.wasSuccessful():
        return 1
    if result.passed:
        return 0
    if not result.skipped:
        print("%s has no tests" % path, file=sys.stderr)
        return 1
    print("skipped: " + result.skipped[-1][1])
    return 77


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tests/run.py FILE")
    sys.exit(main(sys.argv[1]))
