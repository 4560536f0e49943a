"""The man pages and the help: complete, well formed, and with examples that work.
Builds: release."""
import glob
import os
import re
import shutil
import subprocess
import unittest

import numpy as np

from command import BITFOLD, CommandTest, run
from documents import ROOT, compile_program, session, shell

PAGES = [os.path.join(ROOT, "docs/man", name)
         for name in ["bitfold.1", "libbitfold.3", "bitfold-view.1", "bitfold-mpi.1"]]


def page(number):
    with open(PAGES[number]) as f:
        return f.read()


def commands():
    """The commands that `bitfold help` lists."""
    return re.findall(r"^  ([a-z]+) ", run("help").stdout.decode(), re.M)


def literals(text):
    """The literal blocks of a section, as they are shown."""
    blocks = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed$", text, re.M | re.S)
    return [b.replace("\\-", "-").replace("\\e", "\\") for b in blocks]


class Examples(CommandTest):
    """Each is run by a shell where the files are that the man page speaks of."""

    def setUp(self):
        super().setUp()
        self.save("x.npy", np.array([1e20, 1, -1e20]))
        self.save("y.npy", np.array([1.0, 2, 3]))
        with open(self.path("table.csv"), "w") as f:
            f.write("name,height,weight\na,1.5,60\nb,1.75,72\n")
        os.symlink(os.path.abspath(shutil.which(BITFOLD)), self.path("bitfold"))

    def shell(self, line):
        done = shell(line, self.dir, stderr=subprocess.PIPE)
        if "--fail-above" not in line: # a machine that is busy with other tests fails this one
            self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        self.assertIn(done.returncode, [0, 5], line)
        return done.stdout

    def test_every_help_ends_with_examples_that_work(self):
        for command in commands():
            text = self.result("help", command)
            lines = text.split("\n\nexamples\n")[1].splitlines()
            self.assertEqual(lines, self.result(command, "--help=all").split("\n\nexamples\n")[1].splitlines())
            self.assertTrue(any("bitfold " + command in line for line in lines), command)
            self.assertIn(len(lines), [1, 2, 3, 4], command)
            for line in lines:
                self.assertEqual(line[:2], "  ")
                self.shell(line)

    def test_the_man_pages_examples_give_what_they_show(self):
        seen = set()
        for block in literals(page(0).split(".Sh EXAMPLES")[1]):
            for line, shown in session(block):
                found = self.shell(line)
                seen.update(re.findall(r"bitfold ([a-z]+)", line))
                if shown:
                    rows = r"PASS: \d+ rows" # as many as this machine has ways to compute
                    self.assertEqual(re.sub(rows, "PASS", found), re.sub(rows, "PASS", shown), line)
        self.assertEqual(set(commands()) - seen, set())

    def test_the_library_pages_program_works(self):
        program, = [b for b in literals(page(1)) if "int main" in b]
        compile_program(self, program, "sum")
        self.assertEqual(self.shell("./sum"), "1\n")


def documents():
    """The documents of the tree, and their text without examples. `build` may hold those of others."""
    for name in sorted(found for pattern in ["*.md", "bench/*.md", "[!b]*/**/*.md"]
                       for found in glob.glob(os.path.join(ROOT, pattern), recursive=True)):
        with open(name) as f:
            yield name, re.sub(r"^```.*?^```|`[^`\n]*`", "", f.read(), flags=re.M | re.S)


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        """As the documents lie in the tree; scripts/docs puts them elsewhere, and their links with them."""
        texts = dict(documents())
        self.assertGreater(len(texts), 20)
        dead = []
        for name, text in texts.items():
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                to, _, part = link.partition("#")
                to = os.path.normpath(os.path.join(os.path.dirname(name), to)) if to else name
                headings = re.findall(r"^#+ (.*)$", texts.get(to, ""), re.M)
                parts = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
                if ":" not in link and not (os.path.exists(to) and (not part or part in parts)):
                    dead.append("%s: %s" % (os.path.relpath(name, ROOT), link))
        self.assertEqual(dead, [])


SECTIONS = ["input", "text", "keys", "values", "running", "output"]
OPTION = r"^  .{3} (--[a-z0-9-]+)"


def options(text):
    return re.findall(OPTION, text, re.M)


def sections(text):
    """The sections of --help=all, and the options of each."""
    parts = re.split(r"\n\n([a-z]+)\n(?=  )", text)
    return {title: options(part) for title, part in zip(parts[1::2], parts[2::2]) if title != "examples"}


class Help(CommandTest):
    def test_no_line_is_wider_than_80_columns(self):
        shown = [("help",), ("--help",)]
        shown += [(command, how) for command in commands() for how in ["--help", "--help=all"]]
        for arguments in shown:
            self.assertEqual([line for line in self.result(*arguments).splitlines() if len(line) > 80], [])

    def test_the_usual_options_are_few_and_known(self):
        for command in commands():
            text, whole = self.result(command, "--help"), self.result(command, "--help=all")
            self.assertLessEqual(len(options(text)), 16, command)
            self.assertLess(text.count("\n"), 45, command)
            self.assertEqual(set(options(text)) - set(options(whole)), set(), command)
            self.assertEqual(len(options(text)), len(set(options(text))), command)

    def test_all_options_are_in_sections(self):
        for command in commands():
            text = self.result(command, "--help=all")
            found = sections(text)
            self.assertEqual([s for s in SECTIONS if s in found], list(found), command)
            self.assertEqual(sum(found.values(), []), options(text), command)
        self.refused(2, "bad operand of --help: 'some' is not all", "sum", "--help=some")

    def test_commands_are_grouped_as_in_the_man_page(self):
        groups = re.findall(r"^([a-z ]+)\n((?:  [a-z]+ .*\n)+)", self.result("help") + "\n", re.M)
        shown = [(title, re.findall(r"^  ([a-z]+) ", lines, re.M)) for title, lines in groups]
        text = page(0).split(".Sh COMMANDS")[1].split(".Ss ")[0]
        listed = re.findall(r"^\.It ([a-z ]+)\n((?:\.Cm .*\n)+)", text, re.M)
        self.assertEqual(shown, [(title, re.findall(r"[a-z]+", lines.replace(".Cm", ""))) for title, lines in listed])


class Pages(CommandTest):
    def test_every_command_has_a_section_and_no_other(self):
        text = page(0).split(".Sh COMMANDS")[1].split(".Sh OPTIONS")[0]
        self.assertEqual(re.findall(r"^\.Ss (.*)$", text, re.M), commands())

    def test_every_option_is_there_in_its_section(self):
        documented, found = set(), set()
        for part in page(0).split(".Sh OPTIONS")[1].split(".Sh ")[0].split(".Ss ")[1:]:
            title = part.split("\n")[0].lower()
            for line in re.findall(r"^\.It Fl (.*)$", part, re.M):
                documented.update((title, "-" + word) for word in re.findall(r"-[a-z][a-z0-9-]*", line))
        for command in commands():
            own = command in ["bench", "ladder"]
            for title, names in sections(self.result(command, "--help=all")).items():
                found.update(("options of " + command if own else title, name) for name in names
                             if not own or name != "--help")
        self.assertGreater(len(found), 50)
        self.assertEqual(found ^ documented, set())

    def test_every_function_is_there(self):
        names = set()
        for header in os.listdir(os.path.join(ROOT, "include/bitfold")):
            with open(os.path.join(ROOT, "include/bitfold", header)) as f:
                for declaration in re.findall(r"^(?:BF_API|static inline)[^;{]*", f.read(), re.M):
                    names.update(re.findall(r"\b(bf_\w+)\(", declaration))
        documented = set(re.findall(r"\.Fn (bf_\w+)", page(1)))
        self.assertGreater(len(names), 30)
        self.assertEqual(names - documented, set())
        simple = {name for name in documented - names if re.search(r"_(f|i)\d+$", name)}
        self.assertEqual(documented - names, simple)

    def test_every_status_is_there(self):
        with open(os.path.join(ROOT, "include/bitfold/types.h")) as f:
            found = re.search(r"define BF_STATUS_LIST\(X\)(.*?)\n\n", f.read(), re.S).group(1)
        statuses = {"BF_" + name for name in re.findall(r"X\((\w+), \d", found)}
        self.assertEqual(set(re.findall(r"\.It Dv (BF_\w+)", page(1))), statuses)

    def test_pages_are_well_formed(self):
        if shutil.which("mandoc"):
            check = ["mandoc", "-Tlint", "-Wstyle"]
        elif shutil.which("groff"):
            check = ["groff", "-mdoc", "-ww", "-z"]
        else:
            self.skipTest("needs mandoc or groff")
        done = subprocess.run([*check, *PAGES], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        elsewhere = re.compile("mandoc\\.db|referenced manual not found")
        ours = [line for line in done.stdout.decode().splitlines() if not elsewhere.search(line)]
        self.assertEqual(ours, [])

    def test_no_macro_is_shown_as_text(self):
        if not shutil.which("mandoc") and not shutil.which("groff"):
            self.skipTest("needs mandoc or groff")
        show = ["mandoc"] if shutil.which("mandoc") else ["groff", "-mdoc"]
        for name in PAGES:
            done = subprocess.run([*show, "-Tascii", name], stdout=subprocess.PIPE)
            text = re.sub(".\b", "", done.stdout.decode())
            self.assertIn("bitfold", text)
            self.assertEqual(re.findall(r"(?<![\w\"'*?/])\.[A-Z][a-z]\b.*", text), [], name)
