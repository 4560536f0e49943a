"""What a column of text is, and what its numbers come to, by Python's integers, Decimal and Fraction:
an oracle that shares no code with bitfold. A field that is None is NULL."""
import math
import re
from decimal import Decimal
from fractions import Fraction

from command import root
from decimals import FRACTION_DIGITS, WIDE_DIGITS, parts, shortest
from quantiles import exact_at, median_place, place_of, value_at

# What the command does not do as it should yet: bins whose edges are beyond 2^53 refuse integers beyond 64
# bits (bins); prod is of plain integers of 64 bits (prod).
GAPS = {"bins", "prod"}

OTHER = re.compile(r"[+-]?(inf(inity)?|nan|0x.*)$", re.IGNORECASE)  # what only a double is
CODE = re.compile(r"[+-]?0[0-9]")


class Refused(Exception):
    """The data are refused, with exit code 3 and a message that holds this."""


def double(field):
    """The nearest double to a number that is written."""
    return float.fromhex(field) if "x" in field.lower() else float(field)


def rounded(x):
    """The nearest double to a Fraction."""
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def plain(units, scale):
    """units * 10^-scale with every digit, and without zeros at the end."""
    digits = str(abs(units)).rjust(scale + 1, "0")
    point = len(digits) - scale
    fraction = digits[point:].rstrip("0")
    return "-" * (units < 0) + digits[:point] + ("." + fraction if fraction else "")


def order_of(x):
    """In the order of values: -0 before 0, NaN last; integers are in order as they are."""
    if isinstance(x, int):
        return x
    return (1, 0, 0) if x != x else (0, x, math.copysign(1, x))


class Numbers:
    """Numbers of one column, and the rows that they are in: integers in units of 10^-scale, or doubles,
    of which the scale is None. Results are texts."""

    def __init__(self, values, scale, rows=None):
        self.values, self.scale = values, scale
        self.rows = range(len(values)) if rows is None else rows
        self.nan = scale is None and any(x != x for x in values)
        self.at = None  # the values by their rows

    def take(self, rows):
        """Returns the values that are in these rows."""
        if self.at is None:
            self.at = dict(zip(self.rows, self.values))
        kept = [i for i in rows if i in self.at]
        return Numbers([self.at[i] for i in kept], self.scale, kept)

    def is_small(self):
        """Whether they are doubles, or 64 bits hold them."""
        signed = self.scale is None or all(-(2**63) <= x < 2**63 for x in self.values)
        unsigned = self.scale == 0 and all(0 <= x < 2**64 for x in self.values)
        return (signed or unsigned) and (self.scale or 0) <= 18

    def are_doubles(self):
        """Whether doubles hold the integers among them."""
        unit = 10 ** (self.scale or 0)
        return self.scale is None or all(x % unit or int(x / unit) == x // unit for x in self.values)

    def is_held(self):
        """Whether they are doubles, or 38 digits hold them."""
        return self.scale is None or all(abs(x) < 10**WIDE_DIGITS for x in self.values)

    def dtype(self):
        if self.scale is None:
            return "f64"
        if self.scale > 0:
            return "decimal"
        signed = all(-(2**63) <= x < 2**63 for x in self.values)
        return "i64" if signed else "u64" if self.is_small() else "i128"

    def without_nans(self):
        kept = [(x, i) for x, i in zip(self.values, self.rows) if x == x]
        return Numbers([x for x, _ in kept], self.scale, [i for _, i in kept])

    def show(self, x):
        return shortest(x) if self.scale is None else plain(x, self.scale)

    def fractions(self):
        """Fractions, or doubles."""
        unit = None if self.scale is None else 10**self.scale
        return self.values if unit is None else [Fraction(x, unit) for x in self.values]

    def value(self, op, ddof=0):
        """What `bitfold OP` shows."""
        if op in ("min", "max", "argmin", "argmax"):
            return self._extreme(op)
        special = {x for x in self.values if math.isinf(x)} if self.scale is None else set()
        none = op in ("var", "std") or (op in ("sum", "mean") and len(special) == 2)
        if self.nan or (special and none):
            return "nan"
        if special:
            return shortest(special.pop() if op in ("sum", "mean") else math.inf)
        return self._finite(op, ddof)

    def _extreme(self, op):
        if not self.values:
            raise Refused("no value")
        if self.nan:
            return str(next(i for x, i in zip(self.values, self.rows) if x != x)) if op[0] == "a" else "nan"
        x = (min if op.endswith("min") else max)(self.values, key=order_of)
        at = next(i for y, i in zip(self.values, self.rows) if order_of(y) == order_of(x))
        return str(at) if op[0] == "a" else self.show(x)

    def _units(self):
        """Integers, and what they are multiples of."""
        if self.scale is not None:
            return self.values, Fraction(1, 10**self.scale)
        split = [x.as_integer_ratio() for x in self.values]
        most = max((d for _, d in split), default=1)
        return [n * (most // d) for n, d in split], Fraction(1, most)

    def _finite(self, op, ddof):
        units, unit = self._units()
        n, total, squares = len(units), sum(units), sum(x * x for x in units)
        if op == "sum" and self.scale is not None:
            return plain(total, self.scale)
        if op == "sumsq" and self.scale is not None:
            if squares >= 2**191:
                raise Refused("192 bits")
            return plain(squares, 2 * self.scale)
        if op in ("sumsq", "norm"):
            x = squares * unit**2
            return shortest(rounded(x) if op == "sumsq" else root(x))
        if op in ("var", "std"):
            if n <= ddof:
                return "nan"
            x = Fraction(n * squares - total**2, n * (n - ddof)) * unit**2
            return shortest(rounded(x) if op == "var" else root(x))
        if op == "mean" and n == 0:
            return "nan"
        if n > 0 and self.scale is None and all(x == 0 and math.copysign(1, x) < 0 for x in self.values):
            return "-0"
        return shortest(rounded(total * unit / (n if op == "mean" else 1)))

    def ordered(self, descending=False):
        """Places among the values, in the order of these; ties are in that of the rows."""
        keys = [order_of(x) for x in self.values]
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)

    def unique(self):
        """Each different value, ascending, and how often it is there."""
        counts = {}
        for x in self.values:
            key = key_of(x)
            counts[key] = counts.get(key, 0) + 1
        found = [(math.nan if key == "nan" else key, count) for key, count in counts.items()]
        found.sort(key=lambda row: order_of(row[0]))
        return [(self.show(x), count) for x, count in found]

    def quantiles(self, places):
        """The values at places, as texts."""
        if not self.values:
            raise Refused("no value")
        if self.nan:
            return ["nan"] * len(places)
        line = sorted(self.values, key=order_of)
        if self.scale is None:
            return [shortest(value_at(line, place, rounded)) for place in places]
        found = []
        for i, t in places:
            near = [line[i], line[min(i + 1, len(line) - 1)]]
            x = exact_at([Fraction(v, 10**self.scale) for v in near], (0, t))
            found.append(shortest(x) if isinstance(x, float) else plain(near[0], self.scale))
        return found

    def median(self):
        return self.quantiles([median_place(len(self.values))])[0] if self.values else self.quantiles([])

    def places(self, method, percents):
        return [place_of(method, len(self.values), p / 100) for p in percents] if self.values else []


def together(all_of, lengths):
    """Several columns in turn, of so many rows each: exact if all are; None: some are, some are not."""
    scales = [x.scale for x in all_of]
    starts = [sum(lengths[:k]) for k in range(len(lengths))]
    rows = [start + i for x, start in zip(all_of, starts) for i in x.rows]
    if len({scale is None for scale in scales}) == 2:
        return None
    if None in scales:
        return Numbers([v for x in all_of for v in x.values], None, rows)
    values = [v * 10 ** (max(scales) - x.scale) for x in all_of for v in x.values]
    return Numbers(values, max(scales), rows)


def key_of(x):
    """Equal for what is one value: of doubles -0 and 0 are, and all NaNs."""
    return x if isinstance(x, int) else "nan" if x != x else x + 0.0


def hold(fields, rows, fraction):
    """The numbers in these fields, and what holds them exactly; else doubles. fraction: the most digits
    of one that is no double's own print."""
    split = [None if OTHER.match(f) else parts(f) for f in fields]
    if not any(s is None or (s[1] < 0 and s[0] >= 10**fraction) or s[1] > WIDE_DIGITS for s in split):
        scale = max([0] + [-exponent for _, exponent in split])
        signs = [-1 if f[0] == "-" else 1 for f in fields]
        if scale <= WIDE_DIGITS:
            units = [sign * d * 10 ** (scale + e) for sign, (d, e) in zip(signs, split)]
            if all(abs(x) < 10**WIDE_DIGITS for x in units):
                return Numbers(units, scale, rows)
    return Numbers([double(f) for f in fields], None, rows)


def is_no_key(field, exact):
    """Whether a field makes its column text when that is a key: a code, or what no key holds."""
    if OTHER.match(field):
        return False
    digits, exponent = parts(field)
    if CODE.match(field) or len(str(digits)) + max(exponent, 0) > WIDE_DIGITS:
        return True
    if exact:
        return False
    x = double(field)
    return x == 0 < digits if exponent < 0 else int(x) != int(Decimal(field))


class Column:
    """A column of fields: its numbers as values and as keys, and whether it is text as a key."""

    def __init__(self, fields, texts=None):
        """texts: the fields as they are in the file, if the numbers have another form there."""
        self.fields, self.texts = fields, texts or fields
        there = [f for f in fields if f is not None]
        rows = [i for i, f in enumerate(fields) if f is not None]
        self.numbers = hold(there, rows, FRACTION_DIGITS)
        self.key_numbers = self.numbers if "fractions" in GAPS else hold(there, rows, WIDE_DIGITS)
        self.is_text = any(is_no_key(f, self.key_numbers.scale is not None) for f in there)

    def doubles(self):
        """What --dtype f64 makes of it."""
        return Numbers([double(self.fields[i]) for i in self.numbers.rows], None, self.numbers.rows)


def grouped(columns):
    """Keys of several columns, as they are shown, and the rows of each, in the order of the keys."""
    groups = {}
    for i, key in enumerate(zip(*map(_group_keys, columns))):
        groups.setdefault(key, []).append(i)

    def order(key):
        return [(2,) if k is None else (0, k.encode()) if column.is_text
                else (1,) if k == "nan" else (0, k) for k, column in zip(key, columns)]

    def show(k, column):
        if k is None or column.is_text:
            return k or ""
        return column.key_numbers.show(math.nan if k == "nan" else k)

    return [([show(k, c) for k, c in zip(key, columns)], groups[key])
            for key in sorted(groups, key=order)]


def _group_keys(column):
    if column.is_text:
        return column.texts
    found = [None] * len(column.fields)
    for i, x in zip(column.key_numbers.rows, column.key_numbers.values):
        found[i] = key_of(x)
    return found


def joined_keys(a, b):
    """The keys of two columns that are compared: equal for equal ones, None for NULL."""
    if a.is_text or b.is_text:
        return [list(column.texts) for column in (a, b)]
    exact = None not in (a.key_numbers.scale, b.key_numbers.scale)
    return [_keys(column, exact) for column in (a, b)]


def _keys(column, exact):
    found = [None] * len(column.fields)
    for i, x in zip(column.key_numbers.rows, column.key_numbers.fractions()):
        if x != x:
            found[i] = "nan"
        elif exact or x in (math.inf, -math.inf) or x == int(x):
            found[i] = x
        else:
            found[i] = rounded(x)  # beside doubles a fraction is the nearest one
    return found
