"""Arrays of times, of NumPy, pandas, Polars and Arrow, as the integers that they are in their unit."""

import functools

from ._exchange import KEEP
from ._library import ArgumentError, DtypeError

NAT = -(2**63)  # the integer of NaT
_NAMES = "timestamp", "date32", "date64", "duration", "Datetime", "Date", "Duration"  # Arrow's and Polars'
_OWN = "date", "time", "utc time"  # a Column's


class TimesError(DtypeError):
    """An array of times: a call that takes them takes their integers instead."""


def are_times(x):
    """Whether x is an array of dates, times or differences of times."""
    dtype = getattr(x, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind in ("m", "M"):
        return True
    if kind in ("b", "i", "u", "f", "c"):  # an object may be a date
        return False
    named = str(getattr(x, "type", "") if dtype is None else dtype)
    return named.partition("[")[0].partition("(")[0] in (*_NAMES, *_OWN)


def units_of(x, null=None):
    """Returns the integers of times, their scale, and whether they are in a zone: seconds, or thousandths, millionths
    or billionths of them. null: of KEEP, those that are NaT are NAT."""
    import numpy

    units, dtype = _take(x, null)
    unit, step = numpy.datetime_data(dtype)
    if dtype.kind != "M" or step != 1 or unit not in (*_COARSE, *_SCALES):
        raise TimesError(f"times of dtype {dtype} are no keys")
    times = units.view(dtype).astype("M8[s]") if unit in _COARSE else units
    given = getattr(x, "dtype", None)
    zone = getattr(given, "tz", None) or getattr(given, "time_zone", None) or getattr(getattr(x, "type", None), "tz", None)
    return times.view("i8"), _SCALES.get(unit, 0), zone is not None


def as_keys(x):
    """Returns the integers of times, of which NaT is one, and other arrays as they are."""
    return _take(x, KEEP)[0] if are_times(x) else x


_COARSE, _SCALES = ("D", "h", "m"), {"s": 0, "ms": 3, "us": 6, "ns": 9}


def of_units(units, scale, date):
    """Integers in units of 10^-scale seconds, as times of NumPy."""
    import numpy

    if date:
        return (numpy.asarray(units) // (86400 * 10**scale)).view("M8[D]")
    unit, finer = next((unit, finer) for unit, finer in _SCALES.items() if finer >= scale)
    return (numpy.asarray(units) * 10 ** (finer - scale)).view(f"M8[{unit}]")


def _array_of(x):
    """Returns x as an array of NumPy."""
    import numpy

    if getattr(getattr(x, "dtype", None), "tz", None) is not None:  # pandas: what is in a zone has no dtype of NumPy
        return x.to_numpy("M8[ns]")
    made = numpy.asarray(x)
    return made if made.dtype.kind in "mM" else x.to_numpy(zero_copy_only=False)


def _take(x, null):
    """Returns the integers of times, and their dtype. NaT stands for NULL, as null says of it."""
    import numpy

    times = _array_of(x)
    times = times.astype(times.dtype.newbyteorder("="), copy=False)
    missing = numpy.isnat(times)
    if null is KEEP:
        return times.view("i8"), times.dtype
    if missing.any() and null != "skip":
        raise ArgumentError(f"{missing.sum()} of {times.size} times are NaT: null='skip' leaves them out, where it goes")
    times = times[~missing] if missing.any() else times
    return times.view("i8"), times.dtype


def _back(units, dtype):
    """Integers as times."""
    import numpy

    return numpy.asarray(units, "i8").view(dtype)[()]


def elements(result, dtype):
    """Results that are elements, maybe before others."""
    if isinstance(result, tuple):
        values = _back(result[0], dtype), *result[1:]
        return type(result)(*values) if hasattr(result, "_fields") else values
    return _back(result, dtype)


def in_units_of(x, span):
    """Returns the integers of times, and a difference of times (NumPy's, pandas' or Python's) in their unit."""
    import numpy

    units, dtype = _take(x, None)
    given = getattr(span, "to_timedelta64", lambda: span)()
    if not hasattr(given, "days") and getattr(getattr(given, "dtype", None), "kind", None) != "m":
        raise ArgumentError(f"a span of times is a difference of times, such as numpy.timedelta64(7, 'D'), not {span!r}")
    given, unit = numpy.timedelta64(given), "m8[{1}{0}]".format(*numpy.datetime_data(dtype))
    here = given.astype(unit)
    if not here.astype(given.dtype) == given:  # NaT, too
        raise ArgumentError(f"a span of {span} is no whole number of the unit of the times, {dtype}")
    return units, int(here.view("i8"))


def indices(result, dtype):
    return result


def _refuse_out(out=None, **_):
    if out is not None:
        raise DtypeError("no out takes times")


def takes_times(finish):
    """Makes a function take arrays of times. finish: what its results become."""

    def decorate(function):
        @functools.wraps(function)
        def call(x, *arguments, **options):
            try:
                return function(x, *arguments, **options)
            except TimesError:
                _refuse_out(**options)
                units, dtype = _take(x, options.pop("null", None))
            return finish(function(units, *arguments, **options), dtype)

        return call

    return decorate


def median_of(quantile):
    """Makes a median of times: what is between two in the middle is cut off to their unit, as NumPy does."""

    def median(x, axis=None, keepdims=False, **options):
        units, dtype = _take(x, options.pop("null", None))
        least, greatest = (quantile(units, 0.5, axis, keepdims, method=m, **options) for m in ("lower", "higher"))
        least, greatest = _back(least, "i8"), _back(greatest, "i8")
        middle = (least >> 1) + (greatest >> 1) + (least & greatest & 1)
        towards_zero = (middle < 0) & ((least ^ greatest) & 1 != 0) if dtype.kind == "m" else 0
        return _back(middle + towards_zero, dtype)

    return median


def reduce_times(reduce, op, x, axis, keepdims, *, null="error", **options):
    """Reduces times: `reduce` does so with integers. Times have no sums."""
    if op not in ("min", "max", "argmin", "argmax"):
        raise TimesError(f"times have no {op}: they have min, max, argmin, argmax, median and histogram")
    _refuse_out(**options)
    units, dtype = _take(x, null)
    result = reduce(op, units, axis, keepdims, **options)
    return result if op.startswith("arg") else _back(result, dtype)


def histogram_of(histogram, a, bins, *arguments, null="error", **options):
    """Counts times in bins, whose edges are times, or a number of bins: each edge is the first time that is not
    before it, which counts the same."""
    import numpy

    units, dtype = _take(a, null)
    if are_times(bins):
        bins = _array_of(bins)
        common = numpy.promote_types(dtype, bins.dtype)
        (units, _), (bins, dtype) = (_take(x.astype(common), None) for x in (units.view(dtype), bins))
    counts, among = histogram(units, bins, *arguments, **options)
    return counts, _back(among if among.dtype.kind in "iu" else numpy.ceil(among).astype("i8"), dtype)
