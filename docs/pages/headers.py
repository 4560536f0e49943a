"""Turns a public header into a page of reStructuredText: its comments, and what they describe."""

import re

from prose import inline, to_rst

NOISE = re.compile(
    r"^#ifdef __cplusplus\n[\s\S]*?^#endif\n|^#ifndef BITFOLD_\w+\n#define BITFOLD_\w+\n"
    r"|^#if [^\n]*\n#define [^\n]*\n#else\n#define [^\n]*\n#endif\n|^#endif\n"
    r"|^#include [^\n]*\n|^BF_\w+\(BF_\w+\)[^\n]*\n",
    re.M,
)
HEADING = re.compile(r"-{3,}\s*(.*?)\s*-{3,}$")
ROLES = {"function": "c:func", "struct": "c:struct", "enum": "c:enum", "type": "c:type",
         "macro": "c:macro"}


def uncomment(comment):
    """The lines of a comment, without what marks it as one."""
    body = comment.strip()[2:-2].rstrip()
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in body.split("\n")]
    lines[0] = lines[0].lstrip()
    return lines


def blocks(text):
    """Pairs of a comment, or "", and the code below it, in which no line is blank outside braces."""
    comment, code, depth = "", "", 0
    lines = iter(text.split("\n"))
    for line in lines:
        if not depth and (line.startswith("/*") or not line.strip()):
            if code.strip() or (comment and line.startswith("/*")):
                yield comment, code
                comment, code = "", ""
            elif comment:
                yield comment, ""
                comment = ""
        if not depth and line.startswith("/*"):
            comment = line
            while "*/" not in line:
                line = next(lines)
                comment += "\n" + line
            continue
        code += line + "\n"
        depth += line.count("{") - line.count("}")
    if comment or code.strip():
        yield comment, code


def items(code):
    """The declarations in a piece of code: their kind, name and text."""
    pattern = re.compile(
        r"(?P<macro>^#define (?P<m>\w+)(?:[^\n]*\\\n)*[^\n]*\n)"
        r"|(?P<opaque>^(?:typedef )?struct \w+ ?(?P<o>\w+)?;\n)"
        r"|(?P<bare>^enum \{.*?^\};\n)"
        r"|(?P<type>^typedef (?P<k>struct|enum) \w+ \{.*?^ *\} (?P<t>\w+);\n)"
        r"|(?P<inline>^static inline (?P<i>[^{]*?\)) \{.*?^\}\n)"
        r"|(?P<function>^BF_API\s(?P<f>[^;]*);[^\n]*\n)",
        re.M | re.S,
    )
    for found in pattern.finditer(code):
        if found["macro"]:
            kind = "family" if "BF_API" in found["macro"] else "macro"
            yield kind, found["m"], found["macro"]
        elif found["type"]:
            yield found["k"], found["t"], found["type"]
        elif found["bare"]:
            yield "type", "", found["bare"]
        elif found["opaque"]:
            yield "type", found["o"] or "", found["opaque"]
        else:
            signature = " ".join((found["i"] or found["f"]).split())
            yield "function", re.search(r"\b(bf_\w+)\(", signature)[1], signature


def lists(text):
    """The lists X(a, b, ...) of a header: name to rows."""
    found = re.findall(r"^#define (BF_\w+_LIST)\(X\)((?:.*\\\n)*.*\n)", text, re.M)
    return {name: re.findall(r"X\(([^()]*)\)", body) for name, body in found}


def expand(text, rows):
    """An enum with the rows of its list in the place of the macro that makes them."""
    made = re.search(r"#define BF_X\(([^)]*)\) (.*)\n( *)(\w+)\(BF_X\).*\n#undef BF_X\n", text)
    if not made:
        return text
    parameters, out = made[1].split(", "), ""
    for row in rows[made[4]]:
        line = made[2]
        for parameter, value in zip(parameters, row.split(", ")):
            line = re.sub(rf"(##)?\b{parameter}\b", value, line)
        out += "    " + line + "\n"
    tail = re.sub(r"^ +(?=\w)", "    ", text[made.end() :], flags=re.M)
    return text[: made.start()] + out + tail


def plain(kind, text, rows):
    """Code for a reader: without what compilers alone need."""
    if kind == "family":
        text = text.split("\n", 1)[1].replace("BF_API ", "").replace("##", "")
        text = re.sub(r",\s*\\\n\s*", ", ", text)
    text = re.sub(r" *\\$", "", text, flags=re.M)
    text = expand(text, rows)
    lines = text.rstrip().split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return [line[margin:] for line in lines]


def names(text):
    """The names that a header declares, with their roles in reStructuredText."""
    found = {}
    for _, code in blocks(strip(text)):
        for kind, name, _ in items(code):
            if kind in ROLES and name.startswith(("bf_", "BF_")):
                found[name] = ROLES[kind]
    return found


def strip(text):
    return re.sub(r"^/\*.*?\*/\n", "", NOISE.sub("", text), count=1, flags=re.S)


def indent(lines):
    return ["   " + line for line in lines]


def described(comment, code, role, rows):
    """A piece of code and its comment. Functions without a line between them share the comment."""
    found = list(items(code))
    text = to_rst(comment, role)
    out = []
    functions = [each for kind, _, each in found if kind == "function"]
    for kind, name, each in found:
        if kind == "function":
            if each == functions[0]:
                out += [".. c:function:: " + functions[0]]
                out += ["                 " + other for other in functions[1:]]
                out += ["", *indent(text), ""]
                text = []
            continue
        mine, text = (text, []) if not functions else ([], text)
        code_block = [".. code-block:: c", "", *indent(plain(kind, each, rows)), ""]
        if kind == "family":
            out += [*mine, *code_block]
        elif not name:
            out += [*mine, *code_block]
        else:
            arguments = re.match(r"#define \w+(\([^)]*\))?", each)
            title = name + (arguments[1] or "" if arguments else "")
            out += [f".. c:{kind}:: {title}", "", *indent(mine)]
            out += indent(code_block) if kind != "type" else [""]
    return [*out, *text]


def page(name, text, roles):
    """The page of a header."""

    def role(word):
        return roles.get(word)

    head = uncomment(re.match(r"/\*.*?\*/", text, re.S)[0])
    title = name if name == "bitfold.h" else f"bitfold/{name}"
    out = [f".. _{name}:", "", title, "=" * len(title), "", *to_rst(head, role)]
    for comment, code in blocks(strip(text)):
        lines = uncomment(comment) if comment else []
        heading = HEADING.match(lines[0]) if lines else None
        if heading:
            words = heading[1][0].upper() + heading[1][1:]
            out += [words, "-" * len(words), "", *to_rst(lines[1:], role)]
        else:
            out += described(lines, code, role, lists(text))
    return "\n".join(out) + "\n"
