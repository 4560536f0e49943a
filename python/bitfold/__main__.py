"""python -m bitfold: the command, as "bitfold" is."""

import os
import shutil
import sys
from importlib import metadata

from ._library import path_beside


def _find():
    """Returns the command's file: beside the library, where pip has put it, or of the system."""
    found = [path_beside("bitfold")]
    try:
        found += [str(each.locate()) for each in metadata.files("bitfold") or []]
    except metadata.PackageNotFoundError:
        pass
    runs = (each for each in found if os.path.basename(each) == "bitfold" and _is_program(each))
    return next(runs, None) or shutil.which("bitfold")


def _is_program(path):
    return os.path.dirname(path) != "" and os.path.isfile(path) and os.access(path, os.X_OK)


def main():
    command = _find()
    if not command:
        sys.exit("bitfold: the command is not installed")
    os.execv(command, ["bitfold", *sys.argv[1:]])


if __name__ == "__main__":
    main()
