"""The build backend that pip calls. It refuses: a wheel would lack libbitfold."""

REASON = """\
bitfold cannot be installed with pip yet: pip would not build libbitfold, which the module needs.
Use it where it is. In the root of bitfold's sources:
    cmake --preset release && cmake --build --preset release
    export PYTHONPATH=$PWD/python BITFOLD_LIBRARY=$PWD/build/release/libbitfold.so
"""


def build_wheel(*_, **__):
    raise SystemExit(REASON)


build_sdist = build_editable = build_wheel
