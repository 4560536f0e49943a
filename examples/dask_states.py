"""Exact means in Dask, by trees of states: the same bits whatever the chunks and the partitions.

    python3 examples/dask_states.py

Of an array, dask.array.reduction merges the states of the chunks; of a data frame,
dask.dataframe.Aggregation those of each group of each partition.
"""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

import bitfold


def merged(states):
    """Returns the merged state of one state, or of lists of them within lists."""
    if isinstance(states, bitfold.State):
        return states
    total = bitfold.State("mean", "f64")
    for each in states:
        total += merged(each)
    return total


# Dask calls these with empty arrays too, to learn the kind of their results.


def state_of(part, axis, keepdims, computing_meta=False):
    return part if computing_meta else bitfold.State("mean", "f64").absorb(part)


def combined(states, axis, keepdims, computing_meta=False):
    return states if computing_meta else merged(states)


def mean_of(states, axis, keepdims, computing_meta=False):
    return states if computing_meta else np.float64(merged(states).result())


def mean(x, split_every=4):
    """Returns the exact mean of a Dask array of float64, rounded once."""
    return da.reduction(
        x, state_of, mean_of, combine=combined, concatenate=False, split_every=split_every,
        dtype="f8",
    )  # fmt: skip


exact_mean = dd.Aggregation(
    "exact_mean",
    chunk=lambda groups: groups.apply(lambda x: bitfold.State("mean", "f64").absorb(x.to_numpy())),
    agg=lambda groups: groups.apply(merged),
    finalize=lambda states: states.map(lambda state: state.result()).astype("f8"),
)

x = np.random.default_rng(1).standard_cauchy((1000, 301))
for chunks in (x.shape, (100, 301), (7, 50)):
    found = float(mean(da.from_array(x, chunks=chunks)).compute())
    assert found == bitfold.mean(x)
print("mean", found.hex())

frame = pd.DataFrame({"key": np.arange(x.size) % 3, "x": x.ravel()})
for partitions in (1, 5, 64):
    found = dd.from_pandas(frame, npartitions=partitions).groupby("key").x.agg(exact_mean).compute()
    for key, value in found.items():
        assert value == bitfold.mean(x.ravel()[key::3])
print("means by key", [value.hex() for value in found.sort_index()])
