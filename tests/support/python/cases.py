"""The random cases of a test: as many as BITFOLD_CASES says, the first of seed BITFOLD_SEED.

BITFOLD_SECONDS, if set, ends each test's cases early: none begins later. How many were tried is told.
"""

import os
import sys
import time

FIRST = int(os.environ.get("BITFOLD_SEED", "0"))
SECONDS = os.environ.get("BITFOLD_SECONDS")


def number(usual):
    """How many cases a test has; `usual` where nobody says it."""
    return int(os.environ.get("BITFOLD_CASES", usual))


def seeds(n):
    """The seeds of n cases, or of those for which there is time."""
    end, tried = time.monotonic() + float(SECONDS or "inf"), 0
    while tried < n and time.monotonic() < end:
        yield FIRST + tried
        tried += 1
    if SECONDS:
        print(f"{tried} cases from seed {FIRST} on", file=sys.stderr)
