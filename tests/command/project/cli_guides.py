"""The guides of the command and of C, and README: every example gives what it shows.
Builds: release, asan (full)."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command import BITFOLD, SANITIZED, CommandTest, run
from documents import ROOT, compile_program, fences, read, session, shell

PRELUDE = """#include <bitfold.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
"""


class Command(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ["bitfold", "bitfold-mpi"]:
            program = os.path.join(os.path.dirname(os.path.abspath(shutil.which(BITFOLD))), name)
            if os.path.exists(program):
                os.symlink(program, self.path(name))

    def can(self, line):
        if "--device cuda" in line:
            return run("sum", "--device", "cuda", stdin=b"1").returncode == 0
        if "--memory" in line: # a sanitizer takes some of it
            return not SANITIZED
        if line.startswith("mpirun"):
            return not SANITIZED and shutil.which("mpirun") and os.path.exists(self.path("bitfold-mpi"))
        return True

    def test_the_guides_sessions_give_what_they_show(self):
        ran = 0
        for _, block in fences(read("docs/guide/command.md"), "console"):
            for line, shown in session(block):
                if self.can(line):
                    done = shell(line, self.dir, stderr=subprocess.STDOUT)
                    self.assertEqual((done.returncode, done.stdout), (0, shown), line)
                    ran += 1
        self.assertGreater(ran, 30)

    def pasted(self, text):
        """Runs the lines of a session in one shell, as one who pastes them; returns how many there are."""
        lines = session(text)
        for line, shown in lines:
            done = shell(line, self.dir, stderr=subprocess.STDOUT)
            self.assertEqual((done.returncode, done.stdout), (0, shown), line)
        return len(lines)

    def test_the_first_screen_of_readme_can_be_pasted(self):
        """But for what builds the command, and says where it is."""
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        screen = read("README.md").split("\n## ")[0]
        lines = re.findall("^    (.*\n)", screen, re.M)
        self.assertEqual([line.split()[1] for line in lines[:2]], ["scripts/demo", "export"])
        self.assertGreater(self.pasted("".join(lines[2:])), 4)

    def test_the_recipes_give_what_they_show(self):
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        blocks = [block for _, block in fences(read("docs/guide/recipes.md"), "console")]
        limited = [block for block in blocks if not all(map(self.can, block.splitlines()))]
        self.assertGreater(sum(self.pasted(block) for block in blocks if block not in limited), 18)

    def test_what_readme_shows_of_its_data(self):
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        text = re.sub("^    ", "", read("README.md"), flags=re.M)
        ran = 0
        for line, shown in session(re.sub(r"\n\n+(?=[^$])[^$]*", "\n", text)):
            # At a terminal hist draws a plot; JSON has the time that the command took.
            of_data = "examples/data" in line or "observed.csv" in line
            if of_data and "hist" not in line and "--json" not in line:
                done = shell(line, self.dir, stderr=subprocess.STDOUT)
                at_a_terminal = done.stdout.replace("\t", "  ").rstrip()
                self.assertEqual((done.returncode, at_a_terminal),
                                 (0, shown.replace("\t", "  ").rstrip()), line)
                ran += 1
        self.assertGreater(ran, 6)


def examples(text, wanted="c"):
    """Pairs of code in C ("cpp": in C++) and what it prints: the text that follows it, or nothing."""
    found = []
    for language, block in fences(text, "c", "cpp", "text"):
        if language == "text":
            found[-1][2] = block
        else:
            found.append([language, block, ""])
    return [pair for language, *pair in found if language == wanted]


def program(parts):
    """A program that runs the part whose number it is given."""
    text = PRELUDE
    for i, part in enumerate(parts):
        text += "static void part_%d(bf_context *ctx) {\n(void)ctx;\n%s}\n" % (i, part)
    text += "int main(int count, char **words) {\nbf_context *ctx;\n"
    text += "if (count != 2 || bf_context_create(NULL, &ctx) != BF_OK) return 1;\n"
    text += "switch (atoi(words[1])) {\n"
    text += "".join("case %d: part_%d(ctx); break;\n" % (i, i) for i in range(len(parts)))
    return text + "}\nbf_context_destroy(ctx);\nreturn 0;\n}\n"


class C(CommandTest):
    def test_programs_print_what_they_say(self):
        for name in ["README.md", "docs/guide/c.md"]:
            (text, shown), = [e for e in examples(read(name)) if "int main" in e[0]]
            compile_program(self, text, "sum")
            done = shell("./sum", self.dir)
            said = re.search(r"printf\(.*/\* (.*) \*/", text)
            self.assertEqual((done.returncode, done.stdout),
                             (0, said.group(1) + "\n" if said else shown), name)

    def test_the_guides_program_in_cpp_prints_what_it_shows(self):
        (text, shown), = examples(read("docs/guide/c.md"), "cpp")
        compile_program(self, text, "sum", "cpp")
        done = shell("./sum", self.dir)
        self.assertEqual((done.returncode, done.stdout), (0, shown))

    def test_the_guides_parts_print_what_they_show(self):
        parts = [e for e in examples(read("docs/guide/c.md")) if "int main" not in e[0]]
        self.assertGreater(len(parts), 8)
        compile_program(self, program([code for code, _ in parts]), "parts")
        for i, (code, shown) in enumerate(parts):
            done = shell("./parts %d" % i, self.dir, stderr=subprocess.STDOUT)
            self.assertEqual((done.returncode, done.stdout), (0, shown), code)


class Reference(unittest.TestCase):
    def test_every_function_of_the_headers_has_a_place(self):
        sys.path.insert(0, os.path.join(ROOT, "docs/pages"))
        import headers
        pages, found = read("docs/pages/c.md"), 0
        for path in ["bitfold.h", *sorted(glob.glob("bitfold/*.h", root_dir=os.path.join(ROOT, "include")))]:
            text = read("include/" + path)
            self.assertIn("\nc/%s\n" % os.path.basename(path), pages)
            page = headers.page(os.path.basename(path), text, {})
            self.assertEqual(page.count("/*"), page.count("*/"), path)
            for name in re.findall(r"^ *(?:BF_API|static inline)\b[^;{]*?\b(bf_\w+)(?:##\w+)?\(", text, re.M):
                self.assertRegex(page, r"[ *]%s\w*\(" % name, path)
                found += 1
            for name in re.findall(r"^(?:typedef.*|\} ?)\b(bf_\w+);|^#define (BF_(?!API\b|X\b|\w+_CALLS\b|OPTIONS_OF\b|SET)\w+)", text, re.M):
                self.assertTrue("".join(name) in page, (path, name))
        self.assertGreater(found, 150)


SPHINX = os.environ.get("SPHINX", os.path.join(ROOT, "build/docs/venv/bin/sphinx-build"))


@unittest.skipUnless(shutil.which("mandoc") and shutil.which(SPHINX),
                     "needs mandoc and Sphinx: scripts/docs installs them")
class Pages(unittest.TestCase):
    def test_scripts_docs_builds_them_without_a_warning(self):
        if not os.environ.get("BITFOLD_LIBRARY") or SANITIZED:
            self.skipTest("needs BITFOLD_LIBRARY, without a sanitizer: Sphinx loads it")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([os.path.join(ROOT, "scripts/docs"), folder],
                                  env={**os.environ, "SPHINX": SPHINX}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout)
            html = os.path.join(folder, "html")
            with open(os.path.join(html, "c/reduce.h.html")) as f:
                self.assertIn('id="c.bf_reduce"', f.read())
            for name in glob.glob("**/*.html", root_dir=html, recursive=True):
                with open(os.path.join(html, name)) as f:
                    for link in re.findall(r'(?:href|src)="(?!https?:|mailto:)([^"#?]+)', f.read()):
                        place = os.path.join(html, os.path.dirname(name), link)
                        self.assertTrue(os.path.exists(place), (name, link))
