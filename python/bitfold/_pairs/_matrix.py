"""Matrices of covariances and correlations."""

from .._arrays import NAMES, SIZES, Target, View
from .._library import OPS, ArgumentError, Array, ShapeError, byref, lib
from .._map import _default_context, given_of


def with_ddof(options):
    """Sets the ddof of 1 that covariances have in NumPy and in Python's statistics, unless the caller gives one."""
    if not {"correction", "bias"} & options.keys():
        options.setdefault("ddof", 1)
    return options


def cov(m, y=None, rowvar=True, *, fweights=None, aweights=None, dtype=None, context=None, **options):
    """Returns the matrix of the exact covariances of each two variables, each divided by n - ddof (1) and rounded
    once: that of numpy.cov. m: the variables are its rows, or its columns without rowvar; y: more of them. Of one
    variable it is its variance. Each has the bits of covariance; with nan="skip" a row counts for each two variables
    that both have it. All are read in one pass.

    fweights, aweights: how often each row counts, or for how much; for W, the sum of the weights, the divisors are
    W - ddof, or W - ddof * (sum of w^2) / W. A weight is any number, and of both there is one at most.

    Errors: ShapeError (more than two dimensions; variables or weights of several lengths), ArgumentError (none, or
    more than 1024; weights of both kinds), DtypeError, RangeError (as of covariance).

    >>> bitfold.cov(numpy.array([[1.0, 2, 3], [1, 5, 3]]))
    array([[1., 1.],
           [1., 4.]])
    >>> bitfold.cov(numpy.array([[1.0, 2, 3], [1, 5, 3]]), fweights=[1, 2, 1])  # as of 1, 2, 2, 3 and 1, 5, 5, 3
    array([[0.66666667, 0.66666667],
           [0.66666667, 3.66666667]])
    """
    if aweights is not None:
        options["reliability"] = True
    return _matrix("cov", m, y, rowvar, (fweights, aweights), dtype, context, with_ddof(options))


def corrcoef(x, y=None, rowvar=True, *, fweights=None, aweights=None, dtype=None, context=None, **options):
    """Returns the matrix of the correlations of each two variables, each rounded once from the exact moments: that of
    numpy.corrcoef, which has no weights. The arguments are those of cov. The diagonal is 1, and nan of a constant.

    Errors: those of cov.

    >>> bitfold.corrcoef(numpy.array([[1.0, 2, 3], [1, 5, 3]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    return _matrix("corr", x, y, rowvar, (fweights, aweights), dtype, context, options)


def _matrix(op, m, y, rowvar, weights, dtype, context, options):
    from .. import _options

    context = context or _default_context()
    tables, weights = [x for x in (m, y) if x is not None], [w for w in weights if w is not None]
    if len(weights) > 1:
        raise ArgumentError("fweights or aweights, not both: a row that counts often can be repeated")
    views = [View(x, kind) for x, kind in given_of(op, tables + weights, dtype)]
    own = [byref(view.array) for view in views[len(tables) :]]
    variables = _rows_of(views[0], rowvar)
    if y is not None:
        variables += _rows_of(views[1], rowvar or views[1].array.shape[0] == 1)
    rules, k = _options(**options), len(variables)
    target = Target(m, NAMES.get(rules._obj.out_dtype, "f64"), [k, k])
    call = lib.bf_cov_matrix_weighted if own else lib.bf_cov_matrix
    context._call(call, context._handle, OPS[op], (Array * k)(*variables), k, *own, rules, byref(target.array))
    return target.result() if k > 1 else float(target.made[0, 0])


def _rows_of(view, rowvar):
    """Returns the rows of a matrix, or its columns, as arrays; of one dimension it is one."""
    table = view.array
    if table.ndim == 1:
        return [table]
    if table.ndim != 2:
        raise ShapeError(f"variables in {table.ndim} dimensions, not in one or two")
    among, along = (0, 1) if rowvar else (1, 0)
    rows = []
    for i in range(table.shape[among]):
        row = Array((table.data or 0) + i * table.strides[among] * SIZES[view.dtype], table.dtype, 1)
        row.shape[0], row.strides[0] = table.shape[along], table.strides[along]
        rows.append(row)
    return rows
