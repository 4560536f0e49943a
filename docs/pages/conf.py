"""How Sphinx builds the pages: see scripts/docs."""

import inspect
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

import bitfold
from bitfold._reductions import REDUCTIONS, name_by_index
from prose import to_rst

project = "bitfold"
author = "the bitfold authors"
copyright = author
version = release = bitfold.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "bitfold " + version
html_static_path = ["style.css"]
html_css_files = ["style.css"]
highlight_language = "none"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # documents that begin with a smaller heading
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_mock_imports = ["torch", "jax", "numpy"]
python_maximum_signature_line_length = 90
c_maximum_signature_line_length = 90


def plain_docstring(app, what, name, thing, options, lines):
    """Docstrings are plain text."""
    lines[:] = to_rst(inspect.cleandoc("\n".join(lines)).split("\n"))


# The names of a reduction's functions: of an array, of each segment and of each slot.
EACH = {"array": "{}".format, "segment": "segment_{}".format, "slot": name_by_index}


def listed(text):
    """Replaces a line such as `.. each:: slot` by the functions of all reductions."""
    lines = lambda kind: "\n".join(f".. autofunction:: bitfold.{EACH[kind](op)}" for op in REDUCTIONS)
    return re.sub(r"^\.\. each:: (\w+)$", lambda found: lines(found[1]), text, flags=re.M)


def list_reductions(app, name, source):
    source[0] = listed(source[0])


def setup(app):
    app.connect("source-read", list_reductions)
    app.connect("autodoc-process-docstring", plain_docstring)
