"""Gathers the sources of the pages in one folder, as they lie in the tree: the documents, and a page
for each public header and each man page.

    python3 docs/pages/collect.py FOLDER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import headers

ROOT = pathlib.Path(__file__).resolve().parents[2]


def place_of(path):
    """Where among the sources something of the tree is put."""
    folder, name = os.path.split(path)
    return {"docs/man": "man/" + name + ".rst", "docs/pages": name}.get(folder, path)


def relink(text, path):
    """A document whose links lead to where things are put, not to where they lie in the tree."""

    def moved(found):
        to, mark, part = found[1].partition("#")
        if not to or ":" in to:
            return found[0]
        to = place_of(os.path.normpath(os.path.join(os.path.dirname(path), to)))
        to = os.path.relpath(to, os.path.dirname(place_of(path)))
        return "](" + to + mark + part + ")"

    return re.sub(r"\]\(([^)\s]+)\)", moved, text)


def copy(to):
    """The documents, and what they show or link to."""
    for pattern in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**/*.md", "docs/pages/*.rst", "docs/*.png", "bench/README.md", "examples/*.py", "examples/*.c"):
        for file in ROOT.glob(pattern):
            path = str(file.relative_to(ROOT))
            place = to / place_of(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".md":
                place.write_text(relink(file.read_text(), path))
            else:
                shutil.copy(file, place)


def write_headers(to):
    texts = {file.name: file.read_text() for file in (ROOT / "include/bitfold").glob("*.h")}
    texts["bitfold.h"] = (ROOT / "include/bitfold.h").read_text()
    roles = {name: "ref" for name in texts}
    for text in texts.values():
        roles.update(headers.names(text))
    to.mkdir()
    for name, text in texts.items():
        (to / (name + ".rst")).write_text(headers.page(name, text, roles))


def link(found):
    """A link of a man page, if the page to which it leads is here; else its text."""
    here = (ROOT / "docs/man" / found[1]).exists()
    return found[0] if here else found[2]


def write_man_page(source, to):
    """A page with the man page's sections as its own, so that they are in its table of contents."""
    html = subprocess.run(
        ["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", source],
        stdout=subprocess.PIPE, check=True, text=True,
    ).stdout
    html = re.sub(r'<a class="(?:Xr|In)"[^>]*?href="([^"#]*?)(?:\.html)?">(.*?)</a>', link, html)
    name = source.stem + "(" + source.suffix[1:] + ")"
    out = [name, "=" * len(name), ""]
    parts = re.split(r'<h([12]) class="S[hs]" id="[^"]*"><a[^>]*>(.*?)</a></h[12]>', html, flags=re.S)
    for level, title, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        title = " ".join(re.sub(r"<[^>]*>", "", title).split())
        title = title.capitalize() if level == "1" else title
        body = re.sub(r"</?section[^>]*>|</div>\s*<table class=.foot.>.*", "", body, flags=re.S)
        out += [title, "-" * len(title) if level == "1" else "~" * len(title), ""]
        if body.strip():
            out += [".. raw:: html", "", *("   " + line for line in body.split("\n")), ""]
    to.write_text("\n".join(out))


def main(folder):
    to = pathlib.Path(folder)
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    copy(to)
    write_headers(to / "c")
    (to / "man").mkdir()
    for source in (ROOT / "docs/man").iterdir():
        write_man_page(source, to / "man" / (source.name + ".rst"))


if __name__ == "__main__":
    main(sys.argv[1])
