"""Random columns of text, of each kind that there is, in the forms that programs write; and tables of
them."""
import json
import math

from columns import Column


def _integer(r, digits):
    """Returns a decimal that has at most so many digits, of any size."""
    return r.randrange(-(10**digits) + 1, 10**digits) // 10 ** r.choice([0, 0, r.randrange(digits)])


def _signed(r, text):
    return text if text[0] in "+-" or r.random() < 0.9 else "+" + text


def _decimal(r, whole, places):
    """A fraction of at most 15 digits in all."""
    places = min(places, 15 - whole)
    units = r.randrange(10 ** (whole + places))
    sign = r.choice(["", "", "-"])
    if places == 0:
        return "%s%d" % (sign, units)
    text = str(units).rjust(places + 1, "0")
    return "%s%s.%s" % (sign, text[:-places], text[-places:])


def _exponent(r):
    digits = r.choice(["%d" % r.randrange(1000), "%d.%d" % (r.randrange(10), r.randrange(1000)), ".5", "7."])
    return r.choice(["", "-"]) + digits + r.choice("eE") + r.choice(["%d", "%+d"]) % r.randrange(-9, 12)


def _double(r):
    return repr(r.choice([r.random(), r.uniform(-1, 1) * 10.0 ** r.randint(-20, 25), r.gauss(0, 1)]))


def _same(r):
    """One of few numbers, in one of its forms."""
    units = r.randrange(-3, 12)
    return r.choice(["%d", "%d.0", "%d.000", "%de0"] + ["%d0e-1"] * (units != 0)) % units


def make_kinds(r):
    """For each kind there is what makes a field."""
    places, whole, digits = r.randrange(1, 9), r.randrange(1, 7), r.randrange(20, 39)
    few = [_same(r) for _ in range(4)] + [_decimal(r, 2, 2) for _ in range(4)] + ["-0", "0.0", "-0.00"]
    zeros = ["0", "-0", "-0.0", "0.0", "+0", "0e5", "-0e-3"]
    words = ["inf", "-inf", "nan", "Infinity", "0x1p-3", "-0x1.8p1", "0X10", "NaN", "+inf"]
    return {
        "i64": lambda: str(_integer(r, r.choice([2, 6, 18]))),
        "edges": lambda: str(r.choice([2**63, -(2**63), 2**64 - 2, 2**53]) + r.randrange(-1, 2)),
        "u64": lambda: str(r.randrange(2**63, 2**64) if r.random() < 0.3 else r.randrange(2**64)),
        "i128": lambda: str(_integer(r, digits)),
        "large": lambda: str(_integer(r, 40)) if r.random() < 0.1 else str(_integer(r, 38)),
        "fixed": lambda: _decimal(r, whole, places),
        "mixed": lambda: _decimal(r, r.randrange(1, 8), r.randrange(9)),
        "wide": lambda: str(_integer(r, 30)) if r.random() < 0.5 else _decimal(r, 2, 8),
        "deep": lambda: r.choice(["%de-%d" % (_integer(r, 3), r.randrange(10, 39)), _decimal(r, 1, 3)]),
        "exponents": lambda: _exponent(r),
        "zeros": lambda: str(_integer(r, 17)) + r.choice(["", ".0", ".00", "."]),
        "doubles": lambda: _double(r) if r.random() < 0.9 else str(_integer(r, 12)),
        "special": lambda: r.choice(words) if r.random() < 0.2 else _decimal(r, 2, 3),
        "special doubles": lambda: r.choice(words + ["-0.0", "0"]) if r.random() < 0.3 else _double(r),
        "codes": lambda: "%0*d" % (r.choice([3, 5]), r.randrange(300)),
        "code": lambda: "007.1" if r.random() < 0.02 else _decimal(r, 1, 1),
        "few": lambda: r.choice(few),
        "same": lambda: _same(r),
        "nothing": lambda: r.choice(zeros),
    }


EARLY = ["i64", "fixed", "few", "same", "zeros", "u64", "mixed"]


def some_column(r, n, nulls):
    """n fields of a random kind, of a few, or of one that another follows late; a share of NULLs."""
    kinds = make_kinds(r)
    names = r.sample(list(kinds), r.choice([1, 1, 1, 2, 3]))
    early, late = names, 0
    if n > 1500 and r.random() < 0.5:
        early, late = [r.choice(EARLY)], r.randrange(1000, n + 1)
    fields = [_signed(r, kinds[r.choice(names if i >= late else early)]()) for i in range(n)]
    return [None if r.random() < nulls else f for f in fields]


STYLES = {None: [], "comma": ["--decimal", ","], "thousands": ["--decimal", ",", "--thousands", "."],
          "blanks": []}  # the options for them


def dressed(r, style, field):
    """A field in another form."""
    if field is None or style is None or "x" in field.lower():
        return field
    if style == "blanks":
        return r.choice(["", "", " ", "  "]) + field + r.choice(["", "", " "])
    whole, point, fraction = field.partition(".")
    digits = whole.lstrip("+-")
    if style == "thousands" and len(digits) > 3 and digits.isdigit() and digits[0] != "0" and r.random() < 0.7:
        whole = whole[: len(whole) - len(digits)] + "{:,}".format(int(digits)).replace(",", ".")
    return whole + ("," if point else "") + fraction


class Table:
    """A table of random columns and the numbers of its rows, and how it is written."""

    def __init__(self, r, columns, n, style):
        self.r, self.n, self.style = r, n, style
        self.nulls = r.choice([0, 0, 0.02, 0.3])
        self.tokens = r.sample(["NA", "null", "-"], r.randrange(3)) if self.nulls else []
        self.names = list("xyz"[:columns])
        self.columns = {name: self.column_of(some_column(r, n, self.nulls)) for name in self.names}
        self.delimiter = r.choice([";"] if style else [",", ",", "\t", ";"])
        self.end = r.choice(["\n", "\n", "\r\n", "\r"])
        self.coding = r.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16"])
        self.quotes = r.choice([0, 0, 0.2]) if style != "blanks" else 0
        self.form = STYLES[style] + (["--null", ",".join(self.tokens)] if self.tokens else [])
        self.skip = ["--null-policy", "skip"] if self.nulls else []
        self.options = self.form + self.skip

    def column_of(self, fields):
        texts = [dressed(self.r, self.style, field) for field in fields]
        return Column(fields, texts)

    def quoted(self, field):
        if field is None:
            return self.r.choice([""] + self.tokens)
        return '"%s"' % field if self.r.random() < self.quotes else field

    def text(self, first=0, end=None, header=True):
        """Rows [first, end), each with its number in column i."""
        lines = [self.delimiter.join(self.names + ["i"])] if header else []
        columns = [self.columns[name].texts[first:end] for name in self.names]
        for i, row in enumerate(zip(*columns), first):
            lines.append(self.delimiter.join([self.quoted(f) for f in row] + [str(i)]))
        return (self.end.join(lines) + self.end).encode(self.coding)

    def json(self):
        """JSON lines; None: some number is none of JSON."""
        lines = []
        for i, row in enumerate(zip(*(self.columns[name].fields for name in self.names))):
            members = ['"%s":%s' % (name, "null" if f is None else f) for name, f in zip(self.names, row)]
            lines.append("{%s}\n" % ",".join(members + ['"i":%d' % i]))
        return "".join(lines).encode()

    def is_json(self):
        if self.style:
            return False
        try:
            for column in self.columns.values():
                for field in column.fields:
                    if field is not None and not math.isfinite(json.loads(field)):
                        return False
        except ValueError:
            return False
        return True
