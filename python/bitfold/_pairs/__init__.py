"""Two columns (pair.h): covariances, correlations, lines, and averages with weights."""

from collections import namedtuple

from .._arrays import View, dtype_in
from .._axis import _checked_axes, reduce_axes_to, reduce_by
from .._exchange import KEEP
from .._keys import Memory
from .._library import Array, ArgumentError, ShapeError, refuse_unknown
from .._map import given_of
from ._matrix import corrcoef, cov, with_ddof

__all__ = [
    "covariance", "correlation", "linregress", "LinregressResult", "average", "cov", "corrcoef",
    *(f"{way}_{name}" for way in ("segment", "index") for name in ("covariance", "correlation")),
]  # fmt: skip


def _reduce(op, x, y, axis, keepdims, /, *, dtype=None, **options):
    from .. import _reduce_given

    return _reduce_given(op, given_of(op, [x, y], dtype), axis, keepdims, **options)


def covariance(x, y, axis=None, keepdims=False, **options):
    """Returns the exact covariance of two arrays of one shape, divided by n - ddof (1) and rounded once. No more than
    ddof pairs: nan.

    Along axis: an array of float64 with the other extents. A pair with a NaN or NULL is one, and is left out by
    nan="skip" or null="skip". One array of ints is converted to the dtype of another of floats.

    Errors: ShapeError (other shapes), DtypeError (no dtype holds both), RangeError (an int is no such float).

    >>> bitfold.covariance(numpy.array([1.0, 2, 3]), numpy.array([1.0, 5, 3]))
    1.0
    """
    return _reduce("cov", x, y, axis, keepdims, **with_ddof(options))


def correlation(x, y, axis=None, keepdims=False, **options):
    """Returns the correlation of two arrays of one shape (Pearson's), from the exact moments and rounded once: in
    [-1, 1], and 1 of equal arrays. No pairs, or one array is constant: nan.

    Along axis: as covariance.

    Errors: those of covariance.

    >>> bitfold.correlation([1, 2, 3], [1e20, 5e20, 3e20])
    0.5
    """
    return _reduce("corr", x, y, axis, keepdims, **options)


# ---- segments and slots ---------------------------------------------------------------------------


def segment_covariance(x, y, offsets, **options):
    """The covariance of each segment of x and y, which have one shape: m results for m + 1 offsets.

    Errors: those of segment_sum and covariance.

    >>> x, y = numpy.array([1.0, 1, 2]), numpy.array([4.0, 5, 8])
    >>> bitfold.segment_covariance(x, y, numpy.array([0, 1, 3]))
    array([nan, 1.5])
    """
    return reduce_by("segments", "cov", [x, y], offsets, None, **with_ddof(options))


def segment_correlation(x, y, offsets, **options):
    """The correlation of each segment of x and y, which have one shape: m results for m + 1 offsets.

    Errors: those of segment_sum and covariance.

    >>> x, y = numpy.array([1.0, 1, 2]), numpy.array([4.0, 5, 8])
    >>> bitfold.segment_correlation(x, y, numpy.array([0, 1, 3]))
    array([nan,  1.])
    """
    return reduce_by("segments", "corr", [x, y], offsets, None, **options)


def index_covariance(m, index, x, y, **options):
    """The covariance of the rows of x and y of each of m slots: an array of shape (m, *x.shape[1:]).

    Errors: those of index_add and covariance.

    >>> x, y = numpy.array([1.0, 1, 2]), numpy.array([4.0, 5, 8])
    >>> bitfold.index_covariance(2, numpy.array([1, 0, 0]), x, y)
    array([1.5, nan])
    """
    return reduce_by("index", "cov", [x, y], index, m, **with_ddof(options))


def index_correlation(m, index, x, y, **options):
    """The correlation of the rows of x and y of each of m slots: an array of shape (m, *x.shape[1:]).

    Errors: those of index_add and covariance.

    >>> x, y = numpy.array([1.0, 1, 2]), numpy.array([4.0, 5, 8])
    >>> bitfold.index_correlation(2, numpy.array([1, 0, 0]), x, y)
    array([ 1., nan])
    """
    return reduce_by("index", "corr", [x, y], index, m, **options)


# ---- lines ----------------------------------------------------------------------------------------

LinregressResult = namedtuple("LinregressResult", "slope intercept rvalue rsquared")
_OF_LINES = "slope", "intercept", "corr", "r2"


def linregress(x, y, axis=None, keepdims=False, *, dtype=None, **options):
    """Returns a LinregressResult: the slope and the intercept of the line through points (x, y) that fits y best
    (least squares), the correlation and its square, each rounded once from the exact sums. What is not defined is
    nan. There are no p-values and standard errors.

    Along axis: arrays, as of covariance.

    Errors: those of covariance.

    >>> bitfold.linregress([0, 1, 2, 3], [1, 3, 5, 7])
    LinregressResult(slope=2.0, intercept=1.0, rvalue=1.0, rsquared=1.0)
    """
    if {"out", "fits"} & options.keys():
        refuse_unknown({"out" if "out" in options else "fits": None})
    given = given_of("slope", [x, y], dtype)
    if axis is None and not keepdims:
        return LinregressResult(*_whole_line(given, **options))
    return LinregressResult(*reduce_axes_to(_OF_LINES, given, axis, keepdims, **options))


def _whole_line(given, /, *, null="error", context=None, scale=0, **options):
    """Returns what a line is in one pass."""
    from .. import State, _scale_of, _views_chosen

    views = _views_chosen("slope", given, null, options)
    state = State("slope", views[0].dtype, context, _scale_of(views, scale or None) or 0)
    state._absorb(views, None)
    return [state.result(op, **options) for op in _OF_LINES]


# ---- weights --------------------------------------------------------------------------------------


def _shape_of(view):
    return view.array.shape[: view.array.ndim]


def with_weights(x, weights, axis, dtype):
    """Returns x and its weights, which become of its shape and dtype, with the dtypes as which they are read."""
    (x, kind), (weights, other) = given_of("wmean", [x, weights], dtype)
    view, own = (View(each, held, KEEP, decimals=True) for each, held in ((x, kind), (weights, other)))
    shape = _shape_of(view)
    axes, _ = _checked_axes(axis, len(shape))
    if _shape_of(own) == shape or own.dtype == "i128":
        return [(x, kind), (weights, other)]
    axes = None if axis is None else [d % len(shape) for d in axes]
    return [(x, kind), (Memory(_along(own.array, shape, axes), own), dtype_in(own.dtype))]


def _along(weights, shape, axes):
    """Returns weights of the extents of this shape at these axes as an array of this shape."""
    own = weights.shape[: weights.ndim]
    if axes is None or own != [shape[d] for d in axes]:
        raise ShapeError(f"weights of shape {own}: they have that of x, {shape}, or its extents along axis")
    made = Array(weights.data, weights.dtype, len(shape))
    for d, extent in enumerate(shape):
        made.shape[d] = extent
        made.strides[d] = weights.strides[axes.index(d)] if d in axes else 0
    return made


def average(a, axis=None, weights=None, returned=False, *, keepdims=False, dtype=None, **options):
    """Returns the mean of an array, with weights if they are given: mean, by its name in NumPy. The weights have the
    shape of a, or its extents along axis. returned: a pair of it and the sums of the weights.

    Errors: those of mean.

    >>> bitfold.average([1, 2, 4], weights=[3, 1, 1], returned=True)
    (1.8, 5.0)
    """
    from .. import _reduce_given, mean

    if returned and "skip" in (options.get("nan"), options.get("null")):
        raise ArgumentError("returned=True goes without what skips elements: their weights would be in the sums")
    found = mean(a, axis, keepdims, weights=weights, dtype=dtype, **options)
    if not returned:
        return found
    if weights is None:
        one, view = View(1.0), View(a, dtype)
        summed = Memory(_along(one.array, _shape_of(view), []), one), None
    else:
        summed = with_weights(a, weights, axis, dtype)[1]
    chosen = {name: options[name] for name in ("where", "context") if name in options}
    return found, _reduce_given("sum", [summed], axis, keepdims, like=a, out_dtype="f64", **chosen)
