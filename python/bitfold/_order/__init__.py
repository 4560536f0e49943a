"""Order (order.h): sorting, and what depends on the order of values."""

from ._different import mode, unique, unique_all, unique_counts, unique_inverse, unique_values
from ._sorted import argsort, is_sorted, rank, searchsorted, segment_argsort, segment_sort, sort, sort_rows, top
from ._statistics import (
    group_median, group_quantile, index_median, index_quantile, median, nth, percentile, quantile, segment_median,
    segment_quantile,
)  # fmt: skip

__all__ = [
    "sort", "argsort", "sort_rows", "segment_sort", "segment_argsort", "rank", "top", "median", "quantile", "percentile",
    "segment_median", "segment_quantile", "index_median", "index_quantile", "group_median", "group_quantile", "nth", "searchsorted", "is_sorted",
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "mode",
]  # fmt: skip
