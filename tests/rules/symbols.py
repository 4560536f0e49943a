"""Tests which floor calls which, read from the symbols of the built objects (docs/design.md). An
include line can hide in a declaration that somebody writes again; a symbol cannot."""
import os
import subprocess
import unittest

from includes import ROOT, SHARED

BUILT = os.path.join(os.path.dirname(os.environ["BITFOLD_LIBRARY"]), "CMakeFiles")
OBJECTS = os.path.join(BUILT, "bitfold_objects.dir", "src")
COMMAND = os.path.join(BUILT, "bitfold_cli.dir", "cli")
# Each floor with those that it may call. A backend is reached by its table alone.
BELOW = {"base": (), "cpu": ("base",), "cuda": ("base",), "gpus": ("base",), "api": ("base",)}
TABLES = "bf_backend_"


def symbols(names):
    """Returns, for each of these objects, the symbols that it defines for others, and those that it
    needs."""
    found = {name: (set(), set()) for name in names}
    for line in subprocess.run(["nm", "-A", "-P", *names], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        name, symbol, kind = line.split()[:3]
        if kind in "TDBRVWCU":
            found[name[:-1]][kind == "U"].add(symbol)
    return found


def objects(folder):
    """The objects of sources that still exist, in the tree or as the build makes them: {path from
    src/: path of the object}."""
    found = {}
    sources = [os.path.join(top, os.path.basename(folder)) for top in (ROOT, os.path.dirname(BUILT))]
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(top, name), folder)
            if name.endswith(".o") and any(os.path.exists(os.path.join(source, path[:-2]))
                                           for source in sources):
                found[path[:-2]] = os.path.join(top, name)
    return found


def calls(found):
    """The symbols of other floors that each file uses: {(user, symbol, where it is)}."""
    seen = symbols(found.values())
    home = {symbol: path for path, name in found.items() for symbol in seen[name][0]}
    used = {(path, symbol, home[symbol]) for path, name in found.items()
            for symbol in seen[name][1] if symbol in home}
    return {(path, symbol, at) for path, symbol, at in used if floor(at) != floor(path)}


def wrong_calls(found):
    """Lists the symbols that a floor of src must not use."""
    return {(path, symbol, at) for path, symbol, at in calls(found)
            if floor(at) not in BELOW[floor(path)] and not symbol.startswith(TABLES)}


def wrong_calls_of_command(found):
    """Lists the symbols that a shared folder of cli must not use; cli itself may be used by all."""
    ranks = SHARED["cli"]
    return {(path, symbol, at) for path, symbol, at in calls(found)
            if floor(path) in ranks and "/" in at and
            ranks.get(floor(at), len(ranks)) > ranks[floor(path)]}


def floor(path):
    return path.split("/")[0]


class Symbols(unittest.TestCase):
    maxDiff = None

    def test_nobody_calls_upwards(self):
        found = objects(OBJECTS)
        self.assertLessEqual({"base", "cpu", "gpus", "api"}, {floor(path) for path in found})
        self.assertEqual(wrong_calls(found), set())

    def test_an_upward_call_is_found(self):
        found = objects(OBJECTS)
        low = next(path for path in found if floor(path) == "api")
        moved = {("base" + path[3:] if path == low else path): name for path, name in found.items()}
        self.assertNotEqual(wrong_calls(moved), set())

    def test_shared_folders_of_the_command_keep_their_order(self):
        found = objects(COMMAND)
        self.assertLessEqual(set(SHARED["cli"]), {floor(path) for path in found})
        self.assertEqual(wrong_calls_of_command(found), set())
        moved = {"runtime" + path[4:] if path.startswith("work") else path: name
                 for path, name in found.items()}
        self.assertNotEqual(wrong_calls_of_command(moved), set())
