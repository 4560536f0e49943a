"""Fractions rounded to the formats of floats: no code of bitfold's."""

import math

FORMATS = {  # precision, least exponent, overflow
    "f64": (53, -1074, 1024), "f32": (24, -149, 128), "f16": (11, -24, 16), "bf16": (8, -133, 128),
}  # fmt: skip


def round_to(q, form="f64"):
    """A Fraction to the nearest number of a format, ties to even, as a float."""
    precision, least, overflow = FORMATS[form]
    if q == 0:
        return 0.0
    p, d = abs(q.numerator), q.denominator
    shift = max(p.bit_length() - d.bit_length() - precision, least)
    while True:
        scaled = (p << max(-shift, 0)), (d << max(shift, 0))
        mantissa, rest = divmod(*scaled)
        if mantissa >> precision == 0:
            break
        shift += 1
    half = 2 * rest - scaled[1]
    mantissa += half > 0 or (half == 0 and mantissa & 1)
    if mantissa.bit_length() + shift > overflow:
        result = math.inf
    else:
        result = math.ldexp(mantissa, shift)
    return -result if q < 0 else result
