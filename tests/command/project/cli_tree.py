"""The tree of sources: every file is built, and a test that tries nothing does not pass.
Builds: release."""
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatch

from command import SANITIZED
from documents import ROOT

BUILD = os.path.dirname(os.path.realpath(shutil.which(os.environ.get("BITFOLD", "bitfold")) or ""))
SOURCES = (".c", ".cpp", ".cu", ".cu.in")
HEADERS = (".h", ".cuh")
# An include line, or the definition of a header that another file includes as TEMPLATE.
INCLUDE = r'^\s*#\s*(?:include|define TEMPLATE)\s*["<]([^">]+)[">]'
# Files that programs include, beside the folder of the file that does.
PLACES = ["", "include", "src", "cli", "bench/peers", "tests/support/fake_cuda"]
# Built by no target, but by these scripts, which name them.
BY_SCRIPTS = {"examples/*.cpp": "tests/command/project/cli_install.py",
              "python/native/*.c": "cmake/native.cmake",
              "tests/support/thread_sanitizer.c": "cmake/library.cmake",
              "tests/support/address_sanitizer.c": "cmake/library.cmake",
              "tests/support/patient_ranks.c": "cmake/tests.cmake",
              "bench/peers/text_from_chars.cpp": "bench/peers/text_peers.sh"}


def tree(endings):
    """The files of the tree with these endings, without those in folders of builds."""
    found = set()
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith(".") and f != "build" and
                      not os.path.exists(os.path.join(folder, f, "CMakeCache.txt"))]
        found.update(os.path.relpath(os.path.join(folder, name), ROOT)
                     for name in names if name.endswith(endings))
    return found


def text(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def cached(name):
    with open(os.path.join(BUILD, "CMakeCache.txt")) as f:
        value = re.search(r"^%s:\w+=(.*)$" % name, f.read(), re.M)
    return bool(value) and value.group(1) not in ("", "0", "OFF") and "NOTFOUND" not in value.group(1)


def left_out():
    """Patterns of the files that this build rightly leaves out, for want of what they need."""
    patterns = [] if platform.machine() == "x86_64" else ["src/cpu/isa/avx*.c"]
    if not cached("BITFOLD_CUDA") or not cached("CMAKE_CUDA_COMPILER"):
        patterns += ["src/cuda/*.cu", "src/cuda/*.cu.in", "ladder/cuda/*.cu", "tests/rules/compile.cu",
                     "tests/*/gpu_*.c"]
    if cached("BITFOLD_SHORT"):
        with open(os.path.join(BUILD, "CTestTestfile.cmake")) as f:
            long = re.findall(r"^add_test\(\W*unit\.(\w+).*too long for the short form", f.read(), re.M)
        patterns += ["tests/*/huge_*.c", *("tests/*/unit_%s.c" % name for name in long)]
    if not cached("CAIRO_FOUND"):
        patterns += ["cli/plot/figure/*.c"]
    if not cached("SDL2_FOUND"):
        patterns += ["view/main.c", "view/paint.c", "view/window.c"]
    if not cached("CMAKE_CXX_COMPILER"):
        patterns += ["tests/rules/compile.cpp"]
    if not all(map(cached, ["CMOCKA", "MPFR", "GMP"])):
        patterns += ["tests/*/unit_*.c", "tests/*/gpu_*.c", "tests/*/huge_*.c"]
    return patterns


def sources_of(path):
    """The sources in the tree that a compiled file is, or is made of in the folder of the build."""
    path = os.path.realpath(path)
    if os.path.basename(path) == "together.cu":
        return set().union(*map(sources_of, re.findall(INCLUDE, text(path), re.M)))
    template = os.path.relpath(path, BUILD) + ".in"
    made = os.path.exists(os.path.join(ROOT, template))
    return {template if made else os.path.relpath(path, ROOT)}


def unbuilt(sources, built):
    """Sources that neither this build compiles, nor anything that it leaves out."""
    patterns = left_out()
    peers = text("bench/peers/CMakeLists.txt")
    for name in sorted(sources - built):
        script = [s for pattern, s in BY_SCRIPTS.items() if fnmatch(name, pattern)]
        if script:
            known = os.path.dirname(name) in text(script[0])
        elif name.startswith("bench/peers/"):
            known = re.search(r"\b%s\b" % re.escape(os.path.basename(name)), peers)
        else:
            known = any(fnmatch(name, pattern) for pattern in patterns)
        if not known:
            yield name


def included(sources, headers):
    """The headers that sources include, directly or through others."""
    found, new = set(), set(sources)
    while new:
        name = new.pop()
        for inner in re.findall(INCLUDE, text(name), re.M):
            for place in [os.path.dirname(name), *PLACES]:
                path = os.path.normpath(os.path.join(place, inner))
                if path in headers and path not in found:
                    found.add(path)
                    new.add(path)
    return found


class Tree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        commands = os.path.join(BUILD, "compile_commands.json")
        if not os.path.exists(commands):
            raise unittest.SkipTest("needs compile_commands.json beside the command")
        with open(commands) as f:
            files = {each["file"] for each in json.load(f)}
        cls.built = set().union(*map(sources_of, files))

    @unittest.skipIf(SANITIZED, "a sanitizer's build leaves some programs out")
    def test_every_source_is_built(self):
        sources = tree(SOURCES)
        self.assertGreater(len(self.built & sources), 100)
        self.assertEqual(list(unbuilt(sources, self.built)), [])

    def test_a_source_that_is_not_built_is_noticed(self):
        for name in ["tests/reduce/new_check.c", "src/api/map/new.c", "bench/peers/new.c", "src/new.c"]:
            self.assertEqual(list(unbuilt(self.built | {name}, self.built)), [name])

    def test_every_header_is_included(self):
        headers = tree(HEADERS)
        self.assertGreater(len(headers), 100)
        self.assertEqual(sorted(headers - included(tree(SOURCES), headers)), [])


class Names(unittest.TestCase):
    """What depends on an operation or a dtype is made of the lists in types.h: few files name one, and
    a new one touches few (CONTRIBUTING.md). A change raises these ceilings on purpose."""

    MOST = {"sumsq": 8, "i16": 24, "bf16": 71}

    def test_few_files_name_an_operation_or_a_dtype(self):
        endings = (*SOURCES, *HEADERS, ".py", ".pyi", ".md", ".rst", ".cmake", ".1", ".3")
        measured = os.path.join("docs", "performance")
        paths = [path for path in tree(endings) if not path.startswith(measured)
                 and path.split(os.sep)[0] not in ("tests", "bench", "CHANGELOG.md")]
        self.assertGreater(len(paths), 1000)
        texts = [text(path) for path in paths]
        for name, most in self.MOST.items():
            word = re.compile(r"(?i)\b(bf_)?%s\b" % name)
            found = [path for path, each in zip(paths, texts) if word.search(each)]
            self.assertGreater(len(found), most // 2, name)
            self.assertLessEqual(len(found), most, "%s: %s" % (name, sorted(found)))


class Runner(unittest.TestCase):
    """tests/run.py, which runs this file too."""

    def run_tests(self, body, **environment):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "test_it.py")
            with open(path, "w") as f:
                f.write("import unittest\n" + body)
            return subprocess.run([sys.executable, os.path.join(ROOT, "tests/run.py"), path],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, **environment})

    def test_tests_that_try_nothing_do_not_pass(self):
        case = "class T(unittest.TestCase):\n    def test(self): %s\n"
        left_out = case % "self.skipTest('no such thing')"
        of_class = "@unittest.skip('no such thing')\n" + case % "pass"
        self.assertEqual(self.run_tests(case % "pass").returncode, 0)
        self.assertEqual(self.run_tests(left_out + "    def test_too(self): pass\n").returncode, 0)
        self.assertEqual(self.run_tests(case % "self.fail()").returncode, 1)
        self.assertEqual(self.run_tests("").returncode, 1)
        for body in [left_out, of_class]:
            done = self.run_tests(body)
            self.assertEqual((done.returncode, done.stdout), (77, b"skipped: no such thing\n"))

    def test_no_cases_are_refused(self):
        for cases in ["0", "00", "x", ""]:
            done = self.run_tests("class T(unittest.TestCase):\n    def test(self): pass\n",
                                  BITFOLD_CASES=cases)
            self.assertEqual(done.returncode, 2, cases)
