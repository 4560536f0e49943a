"""The public headers: rules that hold for every function, whether it is tested by name.
Builds: release."""
import os
import re
import unittest

from documents import ROOT

HEADERS = os.path.join(ROOT, "include/bitfold")
OBJECTS = (r"\b(bf_context|bf_state|bf_histogram|bf_groups|bf_table|bf_comm|bf_quantiles|bf_expression|"
           r"bf_dictionary) \*(\w+)")
# Calls that leave the context alone: they make it, end it, or only look at an object.
FREE = {"bf_context_create", "bf_state_describe", "bf_state_save", "bf_histogram_describe",
        "bf_histogram_save", "bf_quantiles_describe", "bf_quantiles_save",
        "bf_groups_describe", "bf_state_words_info", "bf_state_get_words"}


def source(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


def declarations():
    """Name (of a list's functions with its "##") to declaration. Those over MPI are in tests/comm."""
    found = {}
    for header in set(os.listdir(HEADERS)) - {"mpi.h"}:
        text = source(os.path.join("include/bitfold", header)).replace("\\\n", "\n")
        for declaration in re.findall(r"^ *BF_API\s[^;{]*\(.*?\);", text, re.S | re.M):
            found[re.search(r"\b(bf_\w+(##\w+)?)\(", declaration).group(1)] = declaration
    return found


def uses(name, text):
    """Is the function named, the whole name, in the text of a test?"""
    return re.search(r"\b" + re.escape(name) + r"\b(?!##)", text) is not None


class Headers(unittest.TestCase):
    def test_there_are_many(self):
        self.assertGreater(len(declarations()), 120)
        self.assertIn("bf_reduce", declarations())

    def test_every_function_that_takes_a_pointer_is_given_null(self):
        listed = re.sub(r"^LONGER.*", "", source("tests/runtime/call_list.h"), flags=re.M)
        text = source("tests/runtime/unit_null.c") + listed
        for name, declaration in declarations().items():
            if "*" in declaration.split("(", 1)[1]:
                self.assertTrue(uses(name.replace("##name", "##X"), text), name)

    def test_every_call_on_a_context_is_tried_on_one_in_use(self):
        text = source("tests/runtime/call_list.h")
        for name, declaration in declarations().items():
            takes = re.search(OBJECTS, declaration.split("(", 1)[1])
            if takes and "bf_status" in declaration and name not in FREE:
                self.assertTrue(uses(name.replace("##name", "##X"), text), name)

    def test_a_call_that_is_given_an_object_has_a_status_or_only_looks(self):
        for name, declaration in declarations().items():
            if re.search(r"\bvoid\s+bf_", declaration) and re.search(OBJECTS, declaration):
                self.assertRegex(name, "_(destroy|free)$")
