"""What quantiles are: NumPy's places, and the exact value there in Python's fractions, rounded once."""

import math
from fractions import Fraction

METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased",
)  # fmt: skip
CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def place_of(method, n, q):
    """Element i, or between i and the next by weight t, 0 < t < 1: each operation in f64, rounded once."""
    N, N1 = float(n), float(n - 1)

    def clamped(v):
        return 0 if v < 0 else n - 1 if v >= N1 else int(v)

    if method in ("lower", "higher", "nearest"):
        h = N1 * q
        return clamped({"lower": math.floor, "higher": math.ceil, "nearest": round}[method](h)), 0
    if method in ("inverted_cdf", "closest_observation"):
        h = N * q - 1
        if method == "closest_observation":
            h -= 0.5
        low = float(math.floor(h))
        stays = h == low and (method == "inverted_cdf" or low % 2 == 1)
        return clamped(low if stays else low + 1), 0
    if method == "linear":
        h = N1 * q
    elif method == "averaged_inverted_cdf":
        h = N * q - 1
    elif method == "midpoint":
        h = 0.5 * (float(math.floor(N1 * q)) + float(math.ceil(N1 * q)))
    else:
        a, b = {
            "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
            "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (0.375, 0.375),
        }[method]  # fmt: skip
        h = N * q + (a + q * (1 - a - b)) - 1
    if h < 0 or h >= N1:
        return clamped(h), 0
    i = math.floor(h)
    t = h - float(i)
    if method == "averaged_inverted_cdf":
        return (i, 0.5) if t == 0 else (i + 1, 0)
    if method == "midpoint":
        return i, 0 if t == 0 else 0.5
    return i, t


def median_place(n):
    return (n - 1) // 2, 0.5 if n % 2 == 0 else 0


def between(a, b, t, rounded=float):
    """a (1 - t) + b t for numbers a <= b and 0 < t < 1, rounded once: a float."""
    if a == -math.inf and b == math.inf:
        return math.nan
    if math.inf in (-a, b):
        return float(a if a == -math.inf else b)
    exact = Fraction(a) * (1 - Fraction(t)) + Fraction(b) * Fraction(t)
    if exact == 0:
        return a + b if a == 0 else 0.0  # -0 between zeros of that sign alone
    return rounded(exact)


def value_at(line, place, rounded=float):
    """The value at a place among numbers in order: one of them, or a float."""
    i, t = place
    return line[i] if t == 0 else between(line[i], line[i + 1], t, rounded)


def exact_at(line, place):
    """The value at a place among exact numbers in order: one of them, or a float between two."""
    i, t = place
    return line[i] if t == 0 or line[i] == line[i + 1] else between(line[i], line[i + 1], t)
