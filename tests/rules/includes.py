"""Tests which folder uses which, read from the include lines of the tree (docs/design.md)."""
import collections
import os
import re
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# Each floor with the floors below it.
BELOW = {"src/rules": [], "src/base": ["src/rules"], "src/seam": ["src/base", "src/rules"],
         "src/api": ["src/seam", "src/base", "src/rules"],
         "src/cpu": ["src/seam", "src/base", "src/rules"],
         "src/cuda": ["src/seam", "src/base", "src/rules"],
         "src/gpus": ["src/seam", "src/base", "src/rules"], "cli": []}
# The folders that all primitives of a floor share; one may include another of the same or a lower
# rank. Any other folder of a floor belongs to one primitive.
SHARED = {"src/rules": {"number": 0, "key": 1}, "src/base": {"": 0, "spill": 1}, "src/seam": {},
          "src/api": {"runtime": 0},
          "src/cpu": {"runtime": 0}, "src/cuda": {"runtime": 0},
          "src/gpus": {"runtime": 0},
          "cli": {name: rank for rank, name in enumerate(
              ["runtime", "text", "decode", "container", "memory", "input", "options", "sheet",
               "work", "expression", "columns", "plot"])}}
# Files that know every primitive of their floor.
TABLES = ("src/seam/backend.", "src/cpu/cpu.c", "src/cpu/isa/", "src/cuda/cuda.cu",
          "src/gpus/gpus.c", "cli/commands.c")
# Weights, groups and axes hold reductions: every primitive may use these headers.
REDUCE = ("src/rules/reduce/", "src/seam/reduce.h", "src/api/reduce/reduce.h",
          "src/cpu/reduce/reduce.h", "src/cuda/reduce/reduce.cuh",
          "src/cuda/reduce/sum_", "src/cuda/reduce/aggregate",
          "src/cuda/reduce/joint/", "cli/reduce/reduce.h")
# Communicators merge objects of other primitives: src/api/comm may see their insides.
MERGED = ("src/api/reduce/state.h", "src/api/axis/states.h", "src/api/histogram/histogram.h",
          "src/api/order/quantiles.h", "src/api/group/group.h")
# Order takes its lines as axes do, reduces them, and lists groups, also of tables, and whole rows. Groups of many keys are sorted.
# Many states of joint kinds are groups on a GPU.
# Windows have quantiles, by the ranks of their elements. Scans find their segments as axes do,
# and go on after their states.
# What merges saved reductions also merges groups of tables.
# The results of scans become a column of whole rows.
# Expressions are programs of map's operations, which states absorb as they are computed.
# Verify compares the works, and bench times them.
USES = {"order": ("src/seam/axis.h", "src/api/axis/axis.h", "src/seam/group.h",
                  "cli/group/by.h", "cli/rows/whole.h"),
        "group": ("src/cpu/order/sorting.h",),
        "axis": ("src/seam/group.h",),
        "scan": ("src/api/reduce/state.h", "src/seam/axis.h", "src/api/axis/axis.h", "src/api/axis/states.h", "src/rules/order/quantile.h",
                 "src/cpu/order/sorting.h", "cli/rows/written.h"),
        "reduce": ("cli/group/by.h",),
        "expression": ("src/rules/map/map.h", "src/api/map/map.h", "src/seam/map.h",
                       "src/cpu/map/map.h", "src/cuda/map/operation.cuh", "src/api/reduce/state.h",
                       "src/cpu/reduce/computed.h"),
        "verify": ("cli/works/works.h", "cli/works/data.h"),
        "bench": ("cli/works/works.h", "cli/works/measured.h", "cli/works/keys.h")}
# Folders beside the floors, with what they may include besides public headers.
CLIENTS = {"include": ("include/",), "ladder": ("ladder/",), "examples": (), "python": ("python/native/",),
           "view": ("view/", "cli/julia/", "cli/options/", "cli/runtime/", "cli/sheet/")}
# The one header of the ladder that the command includes, and where.
LADDER = {"cli/ladder/ladder.c": "ladder/ladder.h"}
# An include line, or the definition of a header that another file includes as TEMPLATE.
INCLUDE = r"^[ \t]*#[ \t]*(?:include\b|define TEMPLATE\b)[ \t]*(\S*)"
# System headers, by the start of their names, with the folders that may include them.
SYSTEM = {"pthread.h": ("src/base/", "src/cpu/", "src/api/comm/meeting.c", "cli/",
                        "ladder/", "view/", "examples/"),
          "immintrin.h": ("src/cpu/", "cli/bench/", "cli/container/", "cli/text/"),
          "emmintrin.h": ("src/base/", "src/cpu/", "cli/text/"),
          "arm_neon.h": ("src/cpu/",), "cuda": ("src/cuda/", "ladder/cuda/"),
          "bitfold/": ("src/", "cli/", "ladder/"), "cub/": (), "thrust/": ()}
ENDINGS = (".c", ".h", ".cpp", ".cu", ".cuh", ".cu.in")
MOST_FILES = 30


def sources(root, *tops, endings=ENDINGS):
    """The sources in these folders of a tree, as paths from its root."""
    for top in tops:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [f for f in folders if not f.startswith(".") and f != "build" and
                          not os.path.exists(os.path.join(folder, f, "CMakeCache.txt"))]
            for name in names:
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(folder, name), root)


def text(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def primitives(root):
    """The words that name a primitive: the folders of src's floors that nobody shares."""
    folders = {name for floor in ["src/rules", "src/api", "src/cpu", "src/cuda", "src/gpus"]
               for name in os.listdir(os.path.join(root, floor))
               if os.path.isdir(os.path.join(root, floor, name))}
    return folders - {"isa", "runtime", "number", "key"}


def place(path):
    """The floor of a file and its folder there, as in ("src/cpu", "table"). In src/seam a word is
    a file, and not a folder."""
    floor = next((floor for floor in BELOW if path.startswith(floor + "/")), path.split("/")[0])
    names = path[len(floor) + 1:].split("/")
    return floor, names[0].split(".")[0] if floor == "src/seam" or len(names) > 1 else ""


def may_include(path, other, words):
    """Whether a file of the tree may include another one; words are the primitives."""
    floor, folder = place(path)
    below, name = place(other)
    if floor in CLIENTS:
        return other.startswith(CLIENTS[floor])
    if below != floor and below not in BELOW[floor]:
        return LADDER.get(path) == other
    if path.startswith(TABLES):
        return True
    if other in USES.get(folder, ()):
        return True
    own = SHARED[floor].get(folder)
    if name in SHARED[below]:
        return below != floor or own is None or SHARED[below][name] <= own
    if below == "src/seam" and name not in words or other == "cli/command.h":
        return True
    if path.startswith("src/api/comm/") and other in MERGED:
        return True
    return own is None and (name == folder or other.startswith(REDUCE))


def find(root, path, header):
    """The file that a header in quotes names, or None if it is not named from the root."""
    tops = {"src": ["src"], "cli": ["cli", ""], "include": [os.path.dirname(path)]}
    for top in tops.get(path.split("/")[0], [""]):
        name = os.path.join(top, header)
        if name == os.path.normpath(name) and os.path.isfile(os.path.join(root, name)):
            return name
    return None


def wrong_includes(root):
    """The include lines that break the rule: {(file, header): why}."""
    words = primitives(root)
    wrong = {}
    for path in sources(root, "src", "cli", *CLIENTS):
        for line in re.findall(INCLUDE, text(root, path), re.M):
            if line == "TEMPLATE":
                continue
            header = line.strip('<>"')
            if line.startswith("<"):
                kinds = [kind for kind in SYSTEM if header.startswith(kind)]
                if kinds and not path.startswith(SYSTEM[kinds[0]]):
                    wrong[path, header] = "not for this folder"
            else:
                other = find(root, path, header)
                if other is None:
                    wrong[path, header] = "not written from the root of the tree"
                elif not may_include(path, other, words):
                    wrong[path, header] = "not for this folder"
    return wrong


def wrong_guards(root):
    """The include guards that are not their file's path: {(file, guard): the right one}."""
    wrong = {}
    for path in sources(root, "src", "cli", "tests", *CLIENTS):
        guard = re.search(r"^#ifndef (\w+)\n#define \1$", text(root, path), re.M)
        if guard and path.endswith((".h", ".cuh")):
            name = re.sub(r"^src/", "bf/", re.sub(r"^(?!src/)(include/)?", "bitfold/", path))
            name = re.sub(r"^bitfold/bitfold\b", "bitfold", name)
            right = re.sub(r"\W", "_", name).upper()
            if guard.group(1) != right:
                wrong[path, guard.group(1)] = right
    return wrong


def full_folders(root):
    """The folders with more than MOST_FILES sources of their own, and how many they have."""
    files = sources(root, ".", endings=(*ENDINGS, ".py"))
    count = collections.Counter(map(os.path.dirname, files))
    return {folder: n for folder, n in count.items() if n > MOST_FILES}


def assembly(root):
    """The files of src/cuda with instructions of a GPU."""
    files = sources(root, "src/cuda")
    return sorted(path for path in files if re.search(r"^[^*]*\basm\b", text(root, path), re.M))


def code(text):
    """A source without its comments, strings and lines of the preprocessor."""
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.M)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.S)


def defined(text):
    """The names of CUDA code that a header defines."""
    names = set(re.findall(r"\b(?:struct|using|enum|namespace)\s+(bf_cuda_\w+)", text))
    names |= set(re.findall(r"\b(bf_cuda_\w+)\s*\([^;{}]*?\)\s*(?:const)?\s*[{;]", text))
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
        names |= set(re.findall(r"\bBF_CUDA_\w+", body))
    return names


def all_included(root, path):
    """A file and all that it includes, directly or not."""
    found, left = {path}, [path]
    while left:
        here = left.pop()
        for line in re.findall(INCLUDE, text(root, here), re.M):
            other = find(root, here, line.strip('"'))
            if other and other not in found:
                found.add(other)
                left.append(other)
    return found


def missing_includes(root):
    """The names that files of src/cuda use without a header that defines them: {(file, name): headers}. scripts/test
    compiles all files of a folder as one, and would not notice."""
    where = collections.defaultdict(set)
    for path in sources(root, "src/cuda", endings=(".cuh",)):
        for name in defined(code(text(root, path))):
            where[name].add(path)
    missing = {}
    for path in sources(root, "src/cuda", endings=(".cu", ".cu.in")):
        included = all_included(root, path)
        for name in set(re.findall(r"\b(?:bf_cuda|BF_CUDA)_\w+", code(text(root, path)))):
            if name in where and not where[name] & included:
                missing[path, name] = sorted(where[name])
    return missing


class Includes(unittest.TestCase):
    maxDiff = None

    def test_every_kernel_includes_what_it_uses(self):
        self.assertEqual(missing_includes(ROOT), {})

    def test_every_include_line_keeps_the_order(self):
        self.assertGreater(len(list(sources(ROOT, "src", "cli", *CLIENTS))), 300)
        self.assertEqual(wrong_includes(ROOT), {})

    def test_every_guard_is_the_path(self):
        self.assertEqual(wrong_guards(ROOT), {})

    def test_no_folder_is_too_full(self):
        self.assertEqual(full_folders(ROOT), {})

    def test_a_gpu_s_instructions_are_in_one_file(self):
        self.assertEqual(assembly(ROOT), ["src/cuda/runtime/ptx.cuh"])


RIGHT = {
    "src/rules/number/wide.h": "#include <bitfold/types.h>\n",
    "src/rules/key/rank.h": '#include "rules/number/wide.h"\n',
    "src/rules/reduce/sum.h": '#include "rules/number/wide.h"\n',
    "src/rules/table/entry.h": '#include "rules/key/rank.h"\n#include "rules/reduce/sum.h"\n',
    "src/seam/backend.h": '#include "seam/table.h"\n#include "seam/reduce.h"\n',
    "src/seam/table.h": '#include "rules/table/entry.h"\n',
    "src/seam/reduce.h": '#include "rules/reduce/sum.h"\n',
    "src/api/runtime/enter.h": '#include "seam/backend.h"\n',
    "src/api/table/table.c": '#include "api/runtime/enter.h"\n#include "seam/table.h"\n'
                             '#include <bitfold/table.h>\n#include <stdlib.h>\n',
    "src/base/pool.h": "#include <pthread.h>\n",
    "src/base/parallel.c": '#include "base/pool.h"\n#include "rules/number/wide.h"\n',
    "src/cpu/runtime/context.h": '#include "base/pool.h"\n#include "seam/backend.h"\n',
    "src/cpu/reduce/reduce.h": '#include "cpu/runtime/context.h"\n',
    "src/cpu/table/table.h": '  #  include   "cpu/reduce/reduce.h" /* weights */\n',
    "src/cpu/group/group.h": "", "src/cpu/group/band.h": "",
    "src/seam/axis.h": "", "src/cpu/axis/axis.h": "",
    "src/cpu/order/order.h": '#include "seam/axis.h"\n',
    "src/cpu/isa/avx2.c": '#include "cpu/table/table.h"\n#include "cpu/group/group.h"\n',
    "src/cuda/runtime/context.cuh": "#include <cuda_runtime.h>\n",
    "src/cuda/table/table.cuh": '#include "cuda/runtime/context.cuh"\n',
    "src/gpus/gpus.c": '#include "gpus/table/table.h"\n#include "gpus/runtime/context.h"\n',
    "src/gpus/runtime/context.h": '#include "seam/backend.h"\n',
    "src/gpus/table/table.h": '#include "gpus/runtime/context.h"\n#include "seam/table.h"\n',
    "include/bitfold.h": '#include "bitfold/table.h"\n',
    "include/bitfold/types.h": "", "include/bitfold/table.h": '#include "types.h"\n',
    "cli/command.h": "#include <bitfold.h>\n",
    "cli/options/options.h": '#include "command.h"\n#include "input/rows.h"\n',
    "cli/input/rows.h": '#include "runtime/report.h"\n', "cli/runtime/report.h": "",
    "cli/table/join.c": '#include "input/rows.h"\n#include "command.h"\n',
    "cli/group/output.h": "", "cli/ladder/ladder.c": '#include "ladder/ladder.h"\n',
    "ladder/ladder.h": "", "ladder/cpu/add.c": '#include "ladder/ladder.h"\n#include <bitfold.h>\n',
    "view/view.c": '#include "cli/options/options.h"\n#include <bitfold.h>\n',
}
# Lines that are wrong in these files of that tree.
WRONG = {
    "src/rules/number/wide.h": ['"rules/key/rank.h"', '"rules/reduce/sum.h"'],
    "src/rules/reduce/sum.h": ['"rules/table/entry.h"', '"seam/reduce.h"'],
    "src/seam/table.h": ['"api/runtime/enter.h"'],
    "src/seam/reduce.h": ['"seam/table.h"'],
    "src/api/runtime/enter.h": ['"seam/table.h"', '"rules/table/entry.h"'],
    "src/api/table/table.c": ['"cpu/runtime/context.h"', '"bitfold/table.h"', "<pthread.h>",
                              "<cuda_runtime.h>"],
    "src/base/parallel.c": ['"seam/backend.h"', '"rules/reduce/sum.h"', '"api/runtime/enter.h"'],
    "src/cpu/runtime/context.h": ['"cpu/reduce/reduce.h"', '"rules/reduce/sum.h"'],
    "src/cpu/table/table.h": ['"cpu/group/group.h"', '"cuda/table/table.cuh"', '"cli/command.h"',
                              '"cpu/table/no.h"', '"table.h"', '"../runtime/context.h"',
                              '"cpu/table/../table/table.h"', "TABLE_LOOPS"],
    "src/cpu/order/order.h": ['"seam/table.h"'],
    "src/cpu/group/group.h": ['"seam/axis.h"', '"cpu/group/../group/band.h"', '"cpu/isa/avx2.c"'],
    "src/cuda/table/table.cuh": ['"cpu/table/table.h"', "<cub/cub.cuh>"],
    "src/gpus/runtime/context.h": ['"gpus/table/table.h"', '"cuda/runtime/context.cuh"',
                                   '"cpu/runtime/context.h"', "<cuda_runtime.h>", "<pthread.h>"],
    "src/gpus/table/table.h": ['"cuda/table/table.cuh"', '"seam/reduce.c"'],
    "include/bitfold/table.h": ['"../../src/seam/table.h"'],
    "cli/table/join.c": ['"group/output.h"', '"seam/table.h"', '"src/seam/table.h"',
                         '"ladder/ladder.h"'],
    "cli/options/options.h": ['"group/output.h"'],
    "cli/runtime/report.h": ['"input/rows.h"'], "cli/input/rows.h": ['"options/options.h"'],
    "ladder/cpu/add.c": ['"cli/command.h"', '"src/cpu/table/table.h"'],
    "view/view.c": ['"cli/group/output.h"', "<bitfold/table.h>"],
}


class MadeUp(unittest.TestCase):
    """The test itself, on a small tree that is right, and on each line that makes it wrong."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        for path, lines in RIGHT.items():
            self.write(path, lines)

    def write(self, path, lines):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(lines)

    def test_a_tree_in_order_is_right(self):
        self.assertEqual(wrong_includes(self.root), {})

    def test_a_wrong_line_is_noticed(self):
        for path, headers in WRONG.items():
            for header in headers:
                with self.subTest(path=path, header=header):
                    self.write(path, RIGHT[path] + "#include %s\n" % header)
                    self.assertEqual(list(wrong_includes(self.root)), [(path, header.strip('<>"'))])
            self.write(path, RIGHT[path])

    def test_a_wrong_guard_is_noticed(self):
        guards = {"src/cpu/table/table.h": "BF_CPU_TABLE_TABLE_H", "include/bitfold.h": "BITFOLD_H",
                  "src/cuda/table/table.cuh": "BF_CUDA_TABLE_TABLE_CUH",
                  "include/bitfold/table.h": "BITFOLD_TABLE_H",
                  "cli/command.h": "BITFOLD_CLI_COMMAND_H"}
        for path, guard in guards.items():
            self.write(path, "#ifndef %s\n#define %s\n#endif\n" % (guard, guard))
        self.assertEqual(wrong_guards(self.root), {})
        self.write("src/cpu/table/table.h", "/* Old. */\n#ifndef BF_TABLE_H\n#define BF_TABLE_H\n")
        self.assertEqual(wrong_guards(self.root),
                         {("src/cpu/table/table.h", "BF_TABLE_H"): "BF_CPU_TABLE_TABLE_H"})

    def test_a_missing_include_is_noticed(self):
        self.write("src/cuda/table/table.cuh", "struct bf_cuda_rows {};\nenum { BF_CUDA_ROWS };\n"
                   "static void bf_cuda_clear(int x) {\n}\n")
        use = "/* bf_cuda_no */ bf_cuda_rows x = {BF_CUDA_ROWS}; void f() { bf_cuda_clear(1); }\n"
        self.write("src/cuda/table/table.cu", '#include "cuda/table/table.cuh"\n' + use)
        self.assertEqual(missing_includes(self.root), {})
        self.write("src/cuda/table/table.cu", use)
        names = ("bf_cuda_rows", "BF_CUDA_ROWS", "bf_cuda_clear")
        self.assertEqual(missing_includes(self.root), {
            ("src/cuda/table/table.cu", name): ["src/cuda/table/table.cuh"] for name in names})

    def test_a_full_folder_is_noticed(self):
        for i in range(MOST_FILES - 1):
            self.write("src/cpu/table/%d.c" % i, "")
        self.assertEqual(full_folders(self.root), {})
        self.write("src/cpu/table/more.py", "")
        self.assertEqual(full_folders(self.root), {"src/cpu/table": MOST_FILES + 1})
