"""Numbers in text as docs/numerics.md has them: decimals, or doubles. The oracle is Python's Decimal
and Fraction."""
import decimal
from decimal import Decimal
from fractions import Fraction

FRACTION_DIGITS = 15  # a number with more of them is a double
DIGITS, WIDE_DIGITS = 18, 38  # the digits that a scale may have where 64 bits hold the numbers, or 128


def parts(text):
    """A number as digits * 10^exponent, without zeros at the end of a fraction."""
    _, digits, exponent = Decimal(text).as_tuple()
    digits = int("".join(map(str, digits)))
    while exponent < 0 and digits % 10 == 0 and digits > 0:
        digits, exponent = digits // 10, exponent + 1
    return digits, exponent if digits else 0


def scale_of(column):
    """The digits behind the point that all numbers of a column fit."""
    return max([0] + [-parts(text)[1] for text in column])


def numbers_of(column, wide=False):
    """The numbers that a column holds, and whether they are decimals; of 128 bits, if wide."""
    digits = WIDE_DIGITS if wide else DIGITS
    split = [parts(text) for text in column]
    scale = max([0] + [-exponent for _, exponent in split])
    doubles = scale > digits or any(e < 0 and d >= 10**FRACTION_DIGITS for d, e in split)
    numbers = [Fraction(text) for text in column]
    units = [x * 10**scale for x in numbers]
    signed = all(-2**63 <= x < 2**63 for x in units)
    unsigned = scale == 0 and all(0 <= x < 2**64 for x in units)
    held = all(abs(x) < 10**WIDE_DIGITS for x in units) if wide else signed or unsigned
    if doubles or not held:
        return [Fraction(float(text)) for text in column], False
    return numbers, True


def plain(x):
    """An exact decimal, without an exponent and without zeros at its end."""
    with decimal.localcontext() as context:
        context.prec = 200
        text = format(Decimal(x.numerator) / Decimal(x.denominator), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def shortest(x):
    """A double as the command shows it."""
    text = repr(float(x))
    return text[:-2] if text.endswith(".0") else text


def some_column(rng, sizes, wide=False):
    """A random column: of one scale or many, with odd forms, and with numbers that come late; wide:
    also of such as take more than 64 bits."""
    kind, n = rng.randrange(12 if wide else 8), rng.choice(sizes)
    places = rng.randrange(9)
    odd = ["1e3", "1.5e-3", "2E5", "0.000", "12.50", "+7.", ".5", "7.0", "1e-18", "00.10"]

    def text(i):
        if kind == 0:
            return str(rng.randrange(-10**6, 10**6))
        if kind == 1:
            return "%.*f" % (places, rng.uniform(-1000, 1000))
        if kind == 2:
            return "%.*f" % (rng.randrange(places + 1), rng.uniform(-1000, 1000))
        if kind == 3:  # the first rows show no fraction
            late = i > 1500 and rng.random() < 0.01
            return "%.*f" % (places, rng.uniform(-9, 9)) if late else str(rng.randrange(-999, 999))
        if kind == 4:
            return rng.choice(odd)
        if kind == 5:
            return str(rng.randrange(-2**63, 2**63))
        if kind == 6:
            return repr(rng.uniform(0, 1)) if rng.random() < 0.001 else "%.3f" % rng.uniform(0, 1)
        if kind == 7:
            return "%.*f" % (places, rng.uniform(-1, 1) * 10 ** rng.randrange(1, 8))
        if kind == 8:  # beyond 64 bits, sometimes beyond 38 digits
            digits = rng.choice([19, 20, 30, 38]) if rng.random() < 0.9999 else 39
            return str(rng.randrange(-10**digits, 10**digits))
        if kind == 9:  # such numbers, and fractions
            large = rng.random() < 0.5
            return str(rng.randrange(-10**31, 10**31)) if large else "%.*f" % (places, i / 7 % 100)
        late = i > 1500 and rng.random() < 0.01
        if kind == 10:  # the first rows fit 64 bits
            return str(rng.randrange(10**rng.choice([21, 36]))) if late else str(rng.randrange(10**9))
        # they fit as long as the scale is small
        return "0.%0*d" % (rng.choice([9, 12]), 7) if late else str(rng.randrange(-2**63, 2**63))

    return [text(i) for i in range(n)]
