"""What the functions of each reduction say of themselves: of one array, of segments and by index."""

from collections import namedtuple

from ._library import OPS, ArgumentError, lib

_EXACT, _ROUNDED, _ELEMENT, _INDEX = 1, 2, 3, 4  # bf_result_class

# gives: what it is. more: what else there is to say, whole. example: a session. segments, slots: what
# [4.0], [3.0, 4.0] and [3.0, 4.0], [4.0] become.
_Reduction = namedtuple("_Reduction", "gives more example segments slots")

REDUCTIONS = {
    "sum": _Reduction(
        "the exact sum", ": for integers an int of any size, for floats rounded once. Empty: 0.",
        """>>> bitfold.sum(numpy.array([1e20, 1, -1e20]))
        1.0
        >>> bitfold.sum(numpy.array([110, 220]), scale=2)  # of 1.10 and 2.20
        Decimal('3.3')
        >>> bitfold.sum(numpy.ones((2, 3)), axis=0)
        array([2., 2., 2.])""",
        "[4., 7.]", "[7., 4.]",
    ),
    "prod": _Reduction(
        "the product", ": for integers an exact int of up to 128 bits, beyond which it raises\n    RangeError; for floats along a fixed tree, with an error below 1 ulp. Empty: 1.",
        """>>> bitfold.prod(numpy.arange(1, 31))
        265252859812191058636308480000000""",
        "[ 4., 12.]", "[12.,  4.]",
    ),
    "mean": _Reduction(
        "the exact mean", ", rounded once. Empty: nan.",
        """>>> bitfold.mean(numpy.array([[1, 2], [3, 5]]), axis=1)
        array([1.5, 4. ])
        >>> bitfold.mean([1, 2, 4], weights=[3, 1, 1])
        1.8""",
        "[4. , 3.5]", "[3.5, 4. ]",
    ),
    "var": _Reduction(
        "the exact variance", ", rounded once; never negative. No more than ddof elements: nan.",
        """>>> bitfold.var(numpy.array([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]), ddof=1)
        30.0""",
        "[0.  , 0.25]", "[0.25, 0.  ]",
    ),
    "std": _Reduction(
        "the square root of the exact variance", ", rounded once. No more than ddof elements: nan.",
        """>>> bitfold.std(numpy.array([1.0, 3.0]))
        1.0""",
        "[0. , 0.5]", "[0.5, 0. ]",
    ),
    "skew": _Reduction(
        "the skewness",
        ", from the exact moments, rounded once: bias=False takes its bias out. Of equal elements, of none, and\n"
        "    without bias of fewer than 3: nan.",
        """>>> bitfold.skew(numpy.array([1.0, 2, 6]))
        0.5951700641394974""",
        "[nan,  0.]", "[ 0., nan]",
    ),
    "kurtosis": _Reduction(
        "the excess kurtosis (Fisher's)",
        ", from the exact moments, rounded once: bias=False takes its bias out. Of equal\n"
        "    elements, of none, and without bias of fewer than 4: nan.",
        """>>> bitfold.kurtosis(numpy.array([1.0, 2, 3, 4]))
        -1.36""",
        "[nan, -2.]", "[-2., nan]",
    ),
    "norm": _Reduction(
        "the square root of the exact sum of squares", ", rounded once. Empty: 0.",
        """>>> bitfold.norm(numpy.array([3e300, 4e300]))
        5e+300""",
        "[4., 5.]", "[5., 4.]",
    ),
    "sumsq": _Reduction(
        "the exact sum of squares", ": for integers an int, for floats rounded once. Empty: 0.",
        """>>> bitfold.sumsq(numpy.array([2**62, 1]))
        21267647932558653966460912964485513217""",
        "[16., 25.]", "[25., 16.]",
    ),
    "min": _Reduction(
        "the least element", "; -0 is less than 0.",
        """>>> bitfold.min(numpy.array([0.0, -0.0, numpy.nan]), nan="skip")
        -0.0""",
        "[4., 3.]", "[3., 4.]",
    ),
    "max": _Reduction(
        "the greatest element", "; -0 is less than 0.",
        """>>> bitfold.max(numpy.array([[1, 5], [3, 2]]), axis=0)
        array([3, 5])""",
        "[4., 4.]", "[4., 4.]",
    ),
    "argmin": _Reduction(
        "the index of the first minimum", ", or of the first NaN.",
        """>>> bitfold.argmin(numpy.array([[3, 1], [0, 2]]))
        2""",
        "[0, 0]", "[1, 0]",
    ),
    "argmax": _Reduction(
        "the index of the first maximum", ", or of the first NaN.",
        """>>> bitfold.argmax(numpy.array([[3, 1], [0, 2]]), axis=1)
        array([0, 1])""",
        "[0, 1]", "[2, 0]",
    ),
}  # fmt: skip

# What the results along an axis are, and what whole reductions raise.
_ALONG = {
    _EXACT: (
        "an array with the other extents, of int64, uint64 or float64",
        "RangeError (along axis: a result does not fit int64 or uint64)",
    ),
    _ROUNDED: ("an array of float64 with the other extents", None),
    _ELEMENT: (
        "an array with the other extents and x's dtype", "EmptyError (no element to choose from)",
    ),
    _INDEX: (
        "an array of int64 with the other extents: positions within the fibre",
        "EmptyError (no element to choose from)",
    ),
}  # fmt: skip

# The reductions of one array that take weights, and those of the array and its weights.
WEIGHTED = {"mean": "wmean", "var": "wvar", "std": "wstd"}


def weighted_op(op):
    """The name of an operation with weights."""
    if op not in WEIGHTED:
        raise ArgumentError(f"{op} has no weights=: {', '.join(WEIGHTED)} have")
    return WEIGHTED[op]


def gives_index(op):
    """Whether the results of an operation are indices."""
    return lib.bf_reduction_result(OPS[op]) == _INDEX


def name_by_index(op):
    """The name of an operation's function by index."""
    return "index_add" if op == "sum" else f"index_{op}"


def _many_errors(op, part):
    """Names the results of segments or slots that may not exist for this reduction."""
    gives = lib.bf_reduction_result(OPS[op])
    if gives in (_ELEMENT, _INDEX):
        return f", EmptyError (an empty\n    {part}, and no empty=)."
    if gives == _EXACT:
        return ", RangeError (an\n    integer result that does not fit int64 or uint64)."
    return "."


def of_axes(op, function):
    """Makes `function` the reduction of one array, or along its axes."""
    r = REDUCTIONS[op]
    array, errors = _ALONG[lib.bf_reduction_result(OPS[op])]
    order = " It counts in C order." if gives_index(op) else ""
    raised = f"Errors: {errors}.\n\n    " if errors else ""
    function.__doc__ = f"""Returns {r.gives}{r.more}{order}

    Along axis: {array}.

    {raised}{r.example}
    """.replace("\n        ", "\n    ")
    return _named(function, op)


def of_segments(op, function):
    """Makes `function` the reduction of each segment."""
    r = REDUCTIONS[op]
    where = " within the segment" if gives_index(op) else ""
    function.__doc__ = f"""{_sentence(r.gives)}{where} of each segment: x[offsets[s]:offsets[s + 1]].

    x: its rows along the first axis are reduced, each further index in a column of its own. offsets:
    m + 1 of int32 or int64, not decreasing. Returns an array of shape (m, *x.shape[1:]); an empty
    segment is as an empty array.

    Errors: ArgumentError (offsets that decrease, or are outside x), DtypeError (offsets that are no
    int32 or int64){_many_errors(op, "segment")}

    >>> bitfold.segment_{op}(numpy.array([4.0, 3, 4]), numpy.array([0, 1, 3]))
    array({r.segments})
    """
    return _named(function, f"segment_{op}")


def of_index(op, function):
    """Makes `function` the reduction of each slot."""
    r, name = REDUCTIONS[op], name_by_index(op)
    where = " among all rows" if gives_index(op) else ""
    function.__doc__ = f"""{_sentence(r.gives)}{where} of the rows of each of m slots: values[i] goes to slot index[i].

    index: int32 or int64 from 0 to m - 1 for each index of the first axis of values, in any order.
    Returns an array of shape (m, *values.shape[1:]); an empty slot is as an empty array.

    Errors: ArgumentError (an index outside 0 to m - 1), ShapeError (not one index for each row),
    DtypeError (indices that are no int32 or int64){_many_errors(op, "slot")}

    >>> bitfold.{name}(2, numpy.array([1, 0, 0]), numpy.array([4.0, 3, 4]))
    array({r.slots})
    """
    return _named(function, name)


def _sentence(text):
    return text[0].upper() + text[1:]


def _named(function, name):
    """Gives a function its name, also where errors are traced to it."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name)
    return function
