"""What powers, pairs and weights give, worked out with Python's integers and fractions: no code of bitfold's, but for the
class of its error."""

import math
from fractions import Fraction

import bitfold
from oracle import root_to, round_to

POWERS = ("skew", "kurtosis")
COMOMENTS = ("cov", "corr", "slope", "intercept", "r2")
WEIGHTED = ("wmean", "wvar", "wstd")
NAN, INF = math.nan, math.inf


def signed_root(square, negative, form):
    root = root_to(square, form)
    return -root if negative else root


class Numbers:
    """Exact numbers, as ints in units of 1 / unit."""

    def __init__(self, values):
        fractions = [Fraction(v) for v in values]
        self.unit = math.lcm(*(f.denominator for f in fractions))
        self.ints = [f.numerator * (self.unit // f.denominator) for f in fractions]
        self.sum, self.n = sum(self.ints), len(self.ints)

    def deviations(self):
        """n times what each differs by from the mean."""
        return [self.n * v - self.sum for v in self.ints]


def central(x, power):
    return Fraction(sum(d**power for d in x.deviations()), x.n ** (power + 1) * x.unit**power)


def of_powers(op, x, ddof, form):
    n = x.n
    if n < (ddof and (3 if op == "skew" else 4)) or n == 0 or (second := central(x, 2)) == 0:
        return NAN
    if op == "skew":
        third = central(x, 3)
        square = third**2 / second**3
        return signed_root(square * n * (n - 1) / (n - 2) ** 2 if ddof else square, third < 0, form)
    excess = central(x, 4) / second**2 - 3
    return round_to(Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6) if ddof else excess, form)


def of_pairs(op, x, y, ddof, form):
    n = x.n
    if n == 0:
        return NAN
    both = Fraction(sum(a * b for a, b in zip(x.deviations(), y.deviations())), n**2 * x.unit * y.unit)
    if op == "cov":
        return NAN if n <= ddof else round_to(both / (n - ddof), form)
    spread_x, spread_y = central(x, 2) * n, central(y, 2) * n
    if spread_x == 0 or (op in ("corr", "r2") and spread_y == 0):
        return NAN
    if op in ("corr", "r2"):
        square = both**2 / (spread_x * spread_y)
        return round_to(square, form) if op == "r2" else signed_root(square, both < 0, form)
    slope = both / spread_x
    return round_to(slope if op == "slope" else Fraction(y.sum, n * y.unit) - slope * Fraction(x.sum, n * x.unit), form)


def of_weights(op, x, w, ddof, reliability, form):
    if w.sum == 0:
        return NAN
    products, total = sum(a * b for a, b in zip(x.ints, w.ints)), Fraction(w.sum, w.unit)
    if op == "wmean":
        return round_to(Fraction(products, w.sum * x.unit), form)
    above = sum(b * (w.sum * a - products) ** 2 for a, b in zip(x.ints, w.ints))
    above = Fraction(above, w.sum**2 * x.unit**2 * w.unit)
    lost = Fraction(sum(b * b for b in w.ints), w.unit * w.sum) if reliability else 1
    below = total - ddof * lost
    if below * total <= 0 or (op == "wstd" and above / below < 0):
        return NAN
    return root_to(above / below, form) if op == "wstd" else round_to(above / below, form)


def of_weighted_pair(op, rows, nan="propagate", ddof=0, reliability=False, out_dtype=None):
    """The covariance or correlation of rows of x, y and their weight."""
    form = out_dtype or "f64"
    if any(v != v for row in rows for v in row):
        if nan != "skip":
            return NAN
        rows = [row for row in rows if all(v == v for v in row)]
    if any(math.isinf(v) for row in rows for v in row):
        return NAN
    x, y, w = (Numbers([row[i] for row in rows]) for i in range(3))
    dx, dy = ([w.sum * a - sum(b * c for b, c in zip(of.ints, w.ints)) for a in of.ints] for of in (x, y))
    xx, xy, yy = (sum(c * a * b for a, b, c in zip(p, q, w.ints)) for p, q in ((dx, dx), (dx, dy), (dy, dy)))
    if op == "corr":
        return NAN if xx * w.sum <= 0 or yy * w.sum <= 0 else signed_root(Fraction(xy**2, xx * yy), xy * w.sum < 0, form)
    lost = Fraction(sum(c * c for c in w.ints), w.unit * w.sum) if reliability and w.sum else 1
    below = Fraction(w.sum, w.unit) - ddof * lost
    if w.sum * below <= 0:
        return NAN
    return round_to(Fraction(xy, w.sum**2 * x.unit * y.unit * w.unit) / below, form)


def infinite(op, x, w):
    """A mean with infinite elements or weights; every other result is NaN."""
    total = sum((Fraction(b) for b in w if math.isfinite(b)), Fraction(0))
    signs = {math.copysign(1, a) * math.copysign(1, b) for a, b in zip(x, w) if math.isinf(a)}
    if op != "wmean" or total == 0 or any(map(math.isinf, w)) or len(signs) > 1:
        return NAN
    if any(math.isinf(a) and b == 0 for a, b in zip(x, w)):
        return NAN
    return signs.pop() * math.copysign(INF, total)


def expected(op, x, y, nan="propagate", ddof=0, reliability=False, out_dtype=None):
    """The answer for lists of numbers; y: None for powers."""
    rows = list(zip(x, x if y is None else y))
    if any(v != v for row in rows for v in row):
        if nan != "skip":
            return bitfold.NanError if nan == "error" else NAN
        rows = [row for row in rows if row[0] == row[0] and row[1] == row[1]]
    x, y = ([row[i] for row in rows] for i in (0, 1))
    if any(math.isinf(v) for row in rows for v in row if isinstance(v, float)):
        return infinite(op, x, y)
    x, y = Numbers(x), Numbers(y)
    form = out_dtype or "f64"
    if op in POWERS:
        return of_powers(op, x, ddof, form)
    return of_pairs(op, x, y, ddof, form) if op in COMOMENTS else of_weights(op, x, y, ddof, reliability, form)
