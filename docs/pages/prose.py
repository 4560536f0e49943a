"""Turns comments of C and docstrings of Python, which are plain text, into reStructuredText."""

import re

# What stays as it is: `code`, and names of the library (bf_reduce, BF_E_NAN, state.h, **options).
CODE = re.compile(r"`([^`\n]+)`|(\bBF_\w+\([^()]+\))|(\b(?:bf|BF)_\w*\w\b(?:\(\))?|(?<![\w*])\*\w+)|(\*\*\w+)|(\b\w+\.h\b)")
SPECIAL = re.compile(r"([*`|\\]|_(?=\W|$))")


def inline(text, role):
    """Escapes text, and marks the names in it. role(name): its role in reStructuredText, or None."""
    out, at = [], 0
    for found in CODE.finditer(text):
        out.append(SPECIAL.sub(r"\\\1", text[at : found.start()]))
        name = next(group for group in found.groups() if group)
        known = role(name.rstrip("()"))
        link = f"{name} <{name}>" if known == "ref" else name
        out.append(f":{known}:`{link}`" if known else f"``{name}``")
        at = found.end()
        if text[at : at + 1] not in " .,:;)]'":
            out.append("\\ ")
    out.append(SPECIAL.sub(r"\\\1", text[at:]))
    return "".join(out)


def literal(lines):
    return ["::", "", *("    " + line for line in lines), ""]


def to_rst(lines, role=lambda name: None):
    """Returns lines of reStructuredText. Indented lines are shown as they are, "- " begins an item of
    a list, and ">>>" a session of Python, which ends with a blank line."""
    out, at = [], 0
    while at < len(lines):
        first = lines[at]
        kind = shape(first)
        end = at + 1
        while end < len(lines) and lines[end].strip() and follows(kind, lines[end]):
            end += 1
        block = lines[at:end]
        at = end
        if kind == "session":
            out += [*block, ""]
        elif kind == "literal":
            out += literal(block)
        elif kind == "item":
            text = " ".join(line.strip() for line in block)
            out += ["- " + inline(text[2:], role), ""]
        elif kind == "prose":
            out += [inline(" ".join(block), role), ""]
    return out


def shape(line):
    if not line.strip():
        return "blank"
    if line.startswith(">>>"):
        return "session"
    if line.startswith("- "):
        return "item"
    return "literal" if line.startswith("  ") else "prose"


def follows(kind, line):
    """Whether a line goes on with a block of this kind."""
    if kind == "session":
        return True
    if kind == "item":
        return shape(line) in ("literal", "prose")
    return shape(line) == kind
