"""Operators of PyTorch, torch.ops.bitfold, and use(), which sends a model's sums of floats to bitfold.

    >>> import torch, bitfold.torch
    >>> torch.ops.bitfold.sum(torch.tensor([1e20, 1, -1e20], dtype=torch.float64))
    tensor(1., dtype=torch.float64)

They give the same bits on CPUs and GPUs, whatever the threads, so they also work under
torch.use_deterministic_algorithms(True). torch.compile traces them. On a GPU they work on the current stream.
Reductions along dimensions, scans, sorts, medians, quantiles and histograms are enqueued, and torch.cuda.graph captures
them. Results of halves, but those of scans and sorts, wait, and so do sums of int64, running products and dot products of
integers, which may not fit, extremes with empty=, sorts and quantiles of many elements until they have read them (but in
no graph), and more than 16 quantiles.
average, covariance, correlation, skew and kurtosis of a GPU's tensors are copied to the CPU, unless they are of
whole tensors.

all_reduce() and allreduce_hook() add over ranks as torch.distributed.all_reduce and DistributedDataParallel do.

    sum, mean, norm (x, dim=None, keepdim=False, *, dtype=None)
    var, std        (x, dim=None, keepdim=False, *, correction=1, dtype=None); correction is 0 or 1
    min, max        (x, dim=None, keepdim=False, *, empty=None); empty: the extreme of no elements, which
                    otherwise raises bitfold.EmptyError
    skew, kurtosis  (x, dim=None, keepdim=False, *, bias=True, dtype=None); kurtosis is the excess
    dot             (a, b, dim=None, keepdim=False, *, dtype=None), of one shape and dtype, as all pairs
    average         (x, weights, dim=None, keepdim=False, *, dtype=None): the mean with weights
    covariance      (x, y, dim=None, keepdim=False, *, correction=1, dtype=None)
    correlation     (x, y, dim=None, keepdim=False, *, dtype=None): Pearson's
    index_add, index_mean, index_var, ... (m, index, values, *, ...), index_average (m, index, values,
                    weights, *, dtype=None), index_dot (m, index, a, b, *, dtype=None), ...: of the rows
                    of each of m slots; row i is in slot index[i]
    segment_sum, segment_mean, ... (x, offsets, *, ...), segment_average (x, weights, offsets, *,
                    dtype=None), ...: of the rows of each segment, x[offsets[s]:offsets[s + 1]]
    sort            (x, dim=-1, descending=False): x in order, and the position that each element came
                    from. Stable; -0 is before +0, and NaN is greater than all others
    argsort         (x, dim=-1, descending=False)
    cumsum          (x, dim, reverse=False, exclusive=False, *, dtype=None): the sum of the elements up to each
                    one, or from it on, or of those before it; rounded once to the dtype of x or to dtype; of
                    integers and bools int64
    cumprod         (x, dim, reverse=False, exclusive=False): the product, of integers and bools, as int64
    cummin, cummax  (x, dim, reverse=False): the values of torch.cummin and cummax; -0 is less than 0
    median          (x, dim=None, keepdim=False): of an even number the mean of the two in the middle
    quantile        (x, q, dim=None, keepdim=False, *, interpolation="linear"): q is a list, which is the
                    first dimension of the result, of float64; the interpolations are torch.quantile's
    histogram       (x, bins, low, high): how many elements each even bin has, as in numpy.histogram
    allreduce       (x, group=""): the sum over the ranks of a process group of torch.distributed, by its
                    name ("": the default one)

dim is None (all), a number or a list. Reductions are the exact value, rounded once to dtype: float64,
float32, or the half of x. Without dtype, results of float64 are float64, of other floats float32, sums of
integers and bools int64, where one that does not fit raises bitfold.RangeError; other reductions of them
are float64. Correlations, skew and kurtosis are not rounded to halves. A result that is one tensor can be written
to out=, which has its shape and dtype.

All but argsort, cumprod and histogram have gradients, first and second. Equal extremes share the gradient, as in
torch.amax, and of running ones the nearest has it, as in torch.cummax; at a norm or a deviation of 0 it is 0.
torch.vmap batches all but histogram; offsets are the same for the whole batch.
"""

import torch.distributed as _distributed

from . import _operators, _order, _scan
from ._use import use

__all__ = ["use"]
if _distributed.is_available():
    from ._ranks import all_reduce, allreduce_hook

    __all__ += ["all_reduce", "allreduce_hook"]
