"""The house's rule, read from the include lines: which folder may know which (docs/design.md)."""
import os
import re
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FLOORS = ["src/rules", "src/seam", "src/api", "src/cpu", "src/cuda", "cli"]
# What each floor may use of others. A primitive's file may use that primitive's folder there; "+" adds
# what every file of the floor may use.
BELOW = {
    "src/rules": [],
    "src/seam": ["src/rules/*"],
    "src/api": ["src/rules", "src/seam"],
    "src/cpu": ["src/rules", "src/seam"],
    "src/cuda": ["src/rules", "src/seam"],
    "cli": [],
}
# Folders that every file of their floor may include, and that include no primitive themselves.
RUNTIME = {
    "src/rules": ["number", "key"],
    "src/api": ["runtime"],
    "src/cpu": ["runtime"],
    "src/cuda": ["runtime"],
    "cli": ["runtime", "input", "plot"],
}
# Weights, groups and axes hold reductions: every primitive may use them, through one header a floor.
EXCEPTION = {"src/rules": "src/rules/reduce/", "src/api": "src/api/reduce/reduce.h",
             "src/cpu": "src/cpu/reduce/reduce.h", "src/cuda": "src/cuda/reduce/reduce.cuh"}
# The files that know all primitives of their floor.
KNOW_ALL = ["src/cpu/cpu.c", "src/cpu/isa/", "src/cuda/cuda.cu", "cli/main.c", "cli/verify/", "cli/bench/"]
# The command knows the library by its public headers alone; opponents stand alone.
ALONE = {"ladder": ["ladder"], "view": ["view", "cli"], "examples": ["examples"], "python": []}


def sources():
    for top in ["src", "cli", *ALONE]:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".cu", ".cuh", ".in")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)
