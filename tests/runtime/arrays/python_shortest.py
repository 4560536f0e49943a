"""The table of powers of ten behind bf_value_format, and the proof that its 128 bits are enough."""

import importlib.util
import sys
import unittest
from fractions import Fraction
from pathlib import Path

sys.dont_write_bytecode = True
API = Path(__file__).resolve().parents[3] / "src" / "api" / "runtime"
spec = importlib.util.spec_from_file_location("powers_of_ten", API / "powers_of_ten.py")
powers_of_ten = importlib.util.module_from_spec(spec)
spec.loader.exec_module(powers_of_ten)

EXPONENTS = range(-1074, 972)  # the last bit of an f64 has these; those of the narrower formats are inside


def floor_log10(x):
    """For x > 0, with comparisons alone."""
    k = len(str(x.numerator)) - len(str(x.denominator))
    return k - (x < Fraction(10) ** k)


def floor_log2(x):
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k - (x < Fraction(2) ** k)


def least_distance(x, most):
    """How near m * x comes to a whole number, without being one, for m = 1 ... most. By Lagrange
    the nearest are at the denominators of x's continued fraction."""
    n, d = x.numerator, x.denominator
    before, now, least = (0, 1), (1, 0), Fraction(1)
    while d:
        part, (n, d) = n // d, (d, n % d)
        before, now = now, (part * now[0] + before[0], part * now[1] + before[1])
        if now[1] > most:
            break
        distance = abs(now[1] * x - now[0])
        least = min(least, distance) if distance else least
    return least


class Table(unittest.TestCase):
    def test_the_header_is_what_the_script_writes(self):
        self.assertEqual((API / "powers_of_ten.h").read_text(), powers_of_ten.header())

    def test_the_logarithms_are_floors(self):
        asked = set()
        for q in EXPONENTS:
            even, uneven = Fraction(2) ** q, Fraction(2) ** q * 3 / 4
            self.assertEqual((q * 1262611) >> 22, floor_log10(even))
            self.assertEqual((q * 1262611 - 524031) >> 22, floor_log10(uneven))
            asked |= {-floor_log10(even), -floor_log10(uneven)}
        self.assertEqual((min(asked), max(asked)), (powers_of_ten.LEAST, powers_of_ten.MOST))
        for k in range(powers_of_ten.LEAST, powers_of_ten.MOST + 1):
            self.assertEqual((k * 1741647) >> 19, floor_log2(Fraction(10) ** k))

    def test_128_bits_are_enough(self):
        """n * 10^-k * 2^q is below 2^60 for the shifted n of scale(), so that the table's error, of
        less than one unit, is less than 2^60 units of 2^-128; what is not whole is further from it.
        """
        for q in EXPONENTS:
            for width in (Fraction(2) ** q, Fraction(2) ** q * 3 / 4):
                k = floor_log10(width)
                factor = Fraction(2) ** q / Fraction(10) ** k
                shift = q + floor_log2(Fraction(10) ** -k) + 1
                self.assertTrue(1 <= shift and 1 <= factor < 2**shift)
                self.assertLessEqual((2**55 + 2) << shift, 2**60)
                # n is 2m, but for 4c - 1 below a power of two, c = 2^fraction
                self.assertGreater(least_distance(2 * factor, 2**54 + 1), Fraction(2) ** -66)
                for fraction in (7, 10, 23, 52):
                    rest = (2 ** (fraction + 2) - 1) * factor % 1
                    if rest:
                        self.assertGreater(min(rest, 1 - rest), Fraction(2) ** -66)
