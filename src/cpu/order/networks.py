#!/usr/bin/env python3
"""Writes networks.h: python3 networks.py > networks.h

Batcher's odd-even merge sort (K. E. Batcher, Sorting networks and their applications, 1968)."""

WIDTHS = (4, 8, 16)

HEADER = """\
/* Sorting networks; made by networks.py. NETWORK_n(EXCHANGE) sorts n values by EXCHANGE(a, b) for
 * places a < b, which puts the lesser value at a. */
#ifndef BF_CPU_ORDER_NETWORKS_H
#define BF_CPU_ORDER_NETWORKS_H

// clang-format off
{networks}
// clang-format on

#endif
"""


def network(n):
    """The exchanges, as pairs of places, in an order in which they may be made."""
    pairs = []
    run = 1
    while run < n:  # runs of this length are merged two by two
        step = run
        while step >= 1:
            for first in range(step % run, n - step, 2 * step):
                for a in range(first, min(first + step, n - step)):
                    if a // (2 * run) == (a + step) // (2 * run):
                        pairs.append((a, a + step))
            step //= 2
        run *= 2
    return pairs


def macro(n):
    exchanges = [f"EXCHANGE({a}, {b});" for a, b in network(n)]
    lines = [" ".join(exchanges[i:i + 4]) for i in range(0, len(exchanges), 4)]
    return " \\\n    ".join([f"#define NETWORK_{n}(EXCHANGE)"] + lines)


def header():
    return HEADER.format(networks="\n".join(macro(n) for n in WIDTHS))


if __name__ == "__main__":
    print(header(), end="")
