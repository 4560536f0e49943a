#!/usr/bin/env python3
"""Writes powers_of_ten.h: python3 powers_of_ten.py > powers_of_ten.h"""

from fractions import Fraction
from math import ceil

LEAST, MOST = -292, 324  # f64's exponents, -1074 to 971, need these

HEADER = """\
/* Powers of ten; made by powers_of_ten.py. */
#ifndef BF_API_RUNTIME_POWERS_OF_TEN_H
#define BF_API_RUNTIME_POWERS_OF_TEN_H

#include <stdint.h>

/* The 128 leading bits of a number, rounded up; the first is 1. */
typedef struct bf_power_of_ten {{
    uint64_t high, low;
}} bf_power_of_ten;

/* 10^{least} to 10^{most} */
enum {{ BF_LEAST_POWER = {least} }};
static const bf_power_of_ten bf_powers_of_ten[{count}] = {{
{rows},
}};

#endif
"""


def leading_bits(k):
    """10^k's 128 leading bits, rounded up."""
    power = Fraction(10) ** k
    log2 = power.numerator.bit_length() - power.denominator.bit_length()
    log2 -= power < Fraction(2) ** log2
    return ceil(power * Fraction(2) ** (127 - log2))


def header():
    halves = [divmod(leading_bits(k), 2**64) for k in range(LEAST, MOST + 1)]
    items = [f"{{0x{high:016x}, 0x{low:016x}}}" for high, low in halves]
    rows = ["    " + ", ".join(items[i : i + 2]) for i in range(0, len(items), 2)]
    return HEADER.format(least=LEAST, most=MOST, count=len(items), rows=",\n".join(rows))


if __name__ == "__main__":
    print(header(), end="")
