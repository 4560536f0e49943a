"""What the tests of documents share: their examples, a shell for them, and a compiler."""
import os
import re
import shutil
import subprocess

from ranks import ENVIRONMENT

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


def read(name):
    with open(os.path.join(ROOT, name)) as f:
        return f.read()


def fences(text, *languages):
    """The fenced blocks in these languages, in order: pairs of a language and a block."""
    return re.findall(r"^```(%s)\n(.*?)^```$" % "|".join(languages), text, re.M | re.S)


def session(block):
    """Pairs of a command and what it shows."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)


def shell(line, folder, **more):
    """Runs a line where `folder` is the working directory and the first place of programs."""
    path = folder + os.pathsep + os.environ["PATH"]
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120,
                          env={**os.environ, **ENVIRONMENT, "PATH": path}, **more)


def compile_program(test, text, name, language="c"):
    """Compiles a program in C, or in C++ ("cpp"), against the library in BITFOLD_LIBRARY into the
    test's directory."""
    library = os.environ.get("BITFOLD_LIBRARY")
    compiler, standard = {"c": ("cc", "c17"), "cpp": ("c++", "c++11")}[language]
    if not library or not shutil.which(compiler):
        test.skipTest("needs %s and BITFOLD_LIBRARY" % compiler)
    source = test.write(name + "." + language, text.encode())
    built = subprocess.run([compiler, "-std=" + standard, "-Wall", "-Wextra", "-Werror", source, library,
                            "-I", os.path.join(ROOT, "include"), "-o", test.path(name),
                            "-Wl,-rpath," + os.path.dirname(library)], stderr=subprocess.PIPE)
    if re.search(rb"(__|lib)(a|t|ub)san", built.stderr):
        test.skipTest("the library needs a sanitizer's runtime")
    test.assertEqual(built.stderr.decode(), "")
