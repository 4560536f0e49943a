"""What a comment looks like: a sentence from its first word to its last, that names files which exist."""
import glob
import io
import os
import re
import tempfile
import tokenize
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# The folders whose comments are read.
TOPS = ("src", "include", "cli", "python", "tests", "examples", "ladder", "view", "bench", "docs")
ENDINGS = (".c", ".h", ".cpp", ".cu", ".cuh", ".cu.in", ".py", ".pyi")

# A comment of C or C++, with lines of // that follow it; or a literal, inside which there is none.
TOKEN = r"""//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
# A sentence does not begin so.
FRAGMENT = re.compile(r"(?:of|and|or|nor|which|whose|the same|those|that of|likewise|ditto)\b", re.I)
UNFINISHED = (",", ";", ":")
# The text of a message, in C.
MESSAGE = re.compile(r'\b(?:bf_fail|hint|(?:fail|refuse)\w*)\([^;"]*"((?:[^"\\]|\\.|"\s*")*)"')
# The name of a source or a document, by as much of its path as tells it. Capitals stand for what varies.
NAME = re.compile(r"(?<![\w./*<{$~-])([a-z][\w-]*(?:/[\w-]+)*\.(?:cu\.in|cuh?|cpp|[ch]|pyi?|md))(?![\w*/}-]|\.\w)")
# Headers of others.
FOREIGN = {"cblas.h", "cpuid.h", "cuda.h", "nccl.h"}


def sources(root, *tops):
    """The sources in these folders of a tree, as paths from its root."""
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            yield from (os.path.relpath(os.path.join(folder, name), root)
                        for name in sorted(names) if name.endswith(ENDINGS))


def c_comments(text):
    """Each comment with its line."""
    for match in re.finditer(TOKEN, text, re.S):
        if match.group()[0] == "/":
            comment = re.sub(r"(?m)^[ \t]*(?://+|/?\*+(?!/))|\*+/$", "", match.group())
            yield text.count("\n", 0, match.start()) + 1, comment


def python_comments(text):
    """Each comment and docstring with its line. Lines of # that follow a comment belong to it."""
    found, before, last = [], tokenize.NEWLINE, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, alone = token.start[0], not token.line[:token.start[1]].strip()
        if token.type == tokenize.COMMENT:
            if alone and last == line - 1:
                found[-1][1] += token.string.replace("#", "\n", 1)
            else:
                found.append([line, token.string.lstrip("#")])
            last = line
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT):
            found.append([line, token.string.strip("rR").strip("\"'")])
        if token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.DEDENT):
            before = token.type
    return found


def comments(root, *tops):
    """The comments of the sources in these folders: their paths, lines and text."""
    for path in sources(root, *tops):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
        find = python_comments if path.endswith((".py", ".pyi")) else c_comments
        yield from ((path, line, " ".join(comment.split())) for line, comment in find(text))


def fragments(found):
    """The comments that are no sentences."""
    return ["%s:%d: %s" % (path, line, comment) for path, line, comment in found
            if FRAGMENT.match(comment) or comment.endswith(UNFINISHED)]


def broken_messages(root, *tops):
    """The messages that are no sentences."""
    found = []
    for path in sources(root, *tops):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            found += ["%s: %s" % (path, message) for message in MESSAGE.findall(f.read())
                      if FRAGMENT.match(message) or message.endswith(UNFINISHED)]
    return found


def documents(root):
    """The documents that speak of sources: their paths and the names in backquotes, each with its line."""
    for path in ["CONTRIBUTING.md", *glob.glob("docs/**/*.md", root_dir=root, recursive=True)]:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for line, text in enumerate(f, 1):
                yield from ((path, line, name) for name in re.findall(r"`([^`\n ]*)`", text))


def missing(root, places):
    """The names of files in these texts that no file of the tree has."""
    ends = set(FOREIGN)
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name[0] != "." and (folder, name) != (root, "build")]
        parts = os.path.relpath(folder, root).split(os.sep)
        ends.update("/".join(parts[i:] + [name]) for i in range(len(parts) + 1) for name in names)
    return ["%s:%d: %s" % (path, line, name) for path, line, text in places
            for name in NAME.findall(text) if name not in ends and not re.search("[A-Z]", name)]


class Prose(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.comments = list(comments(ROOT, *TOPS))

    def test_every_comment_is_a_sentence(self):
        self.assertGreater(len(self.comments), 10000)
        self.assertEqual(fragments(self.comments), [])

    def test_every_message_is_a_sentence(self):
        self.assertEqual(broken_messages(ROOT, "src", "cli", "view"), [])

    def test_every_file_that_is_named_is_there(self):
        self.assertEqual(missing(ROOT, self.comments), [])
        self.assertEqual(missing(ROOT, documents(ROOT)), [])


RIGHT = {
    "a.c": """/* The first line
 * and the last. */
int a; /* the count, of all */
char *text = "/* of no comment, */"; // Andorra counts.
char quote = '"'; /* A quote in quotes begins no literal. */
// These lines are one:
// the end counts.
// clang-format off
#define PATH "//,"
/* See src/b.cu.in, b.cu.in or P/unit_X.c; make x.o of <math.h> with cuda.h. */
""",
    "src/b.cu.in": "/** A template. */\n",
    "c.py": '''"""What this is:

one module.
"""
# See c.py.
x = """of no comment,"""
# These lines are one,
# and the end counts.
def f():
    "The docstring follows a comment."
    return "and"  # as before
x = f
''',
}
# Comments that are no sentences, each at the end of such a file.
WRONG = {
    "a.c": ["/* of a sum */", "/* Of a sum\n * of two. */", "// and more", "/* Or\n   less */", "/** Which it is. */",
            "/* The same for floats. */", "int c; /* those of c */", "/* Those: */", "/* The sums, */",
            "/* The\n * sums; */", "// The\n// sums:", "/**\n * Likewise.\n */", "a = b /* ditto */ + c;"],
    "c.py": ["# of a sum", "# The sum\n# of:", "x = 1  # the sum,", 'def g():\n    """Or not."""',
             'class C:\n    """A sum,\n    """', "def h():\n    'The same.'", "# And\n# more."],
}


class MadeUp(unittest.TestCase):
    """The test itself, on files that are right, and on each line that makes one wrong."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        os.mkdir(os.path.join(self.root, "src"))
        for path, text in RIGHT.items():
            self.write(path, text)

    def write(self, path, text):
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as f:
            f.write(text)

    def test_sentences_are_right(self):
        self.assertEqual(len(list(comments(self.root, "."))), 12)
        self.assertEqual(fragments(comments(self.root, ".")), [])
        self.assertEqual(missing(self.root, comments(self.root, ".")), [])

    def test_a_fragment_is_noticed(self):
        for path, wrong in WRONG.items():
            for comment in wrong:
                with self.subTest(comment=comment):
                    self.write(path, RIGHT[path] + comment + "\n")
                    self.assertEqual(len(fragments(comments(self.root, "."))), 1)
            self.write(path, RIGHT[path])

    def test_a_broken_message_is_noticed(self):
        for message in ['"of arrays"', '"these,"', 'EXIT_DATA, f(x), "these %s"\n   " and:", x', '"a \\"quote\\":"']:
            with self.subTest(message=message):
                self.write("a.c", "fail(%s);" % message)
                self.assertEqual(len(broken_messages(self.root, ".")), 1)
        self.write("a.c", 'fail(x, "offered, %s; so: it is", ","); hint("a, " "b"); puts("of it:");')
        self.assertEqual(broken_messages(self.root, "."), [])

    def test_a_file_that_is_not_there_is_noticed(self):
        self.write("a.c", "/* As in src/b.cu, b.cuh, c.py and src/c.py.\n * Not in c/b.h. */\n")
        names = [found.split()[-1] for found in missing(self.root, comments(self.root, "."))]
        self.assertEqual(names, ["src/b.cu", "b.cuh", "src/c.py", "c/b.h"])
