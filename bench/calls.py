"""Times calls of the Python module on few elements, where a call itself takes the time: microseconds, beside
NumPy and, where it is installed, beside the same calls on tensors of PyTorch.

    PYTHONPATH=python BITFOLD_LIBRARY=build/release/libbitfold.so python3 bench/calls.py

Both take turns, batch by batch, and the median is shown."""

import importlib.util
import statistics
import time

import numpy as np

import bitfold

TURNS, BATCH = 41, 200


def cases(make):
    """Yields a name, a call of bitfold, and what NumPy calls the same; make: makes an array of NumPy's."""
    rng = np.random.default_rng(1)
    few, some, many = (rng.normal(size=n) for n in (10, 20, 1000))
    grid, offsets, index = rng.normal(size=(50, 20)), np.array([0, 5, 20]), np.arange(20) % 3
    x, y, z, m = make(few), make(some), make(many), make(grid)
    places, slots = make(offsets), make(index)
    yield "sum of 10", lambda: bitfold.sum(x), lambda: few.sum()
    yield "dot of 10", lambda: bitfold.dot(x, x), lambda: few.dot(few)
    yield "sum along axis 0 of 50 x 20", lambda: bitfold.sum(m, axis=0), lambda: grid.sum(axis=0)
    yield "sort of 20", lambda: bitfold.sort(y), lambda: np.sort(some)
    yield "argsort of 20", lambda: bitfold.argsort(y), lambda: some.argsort()
    yield "unique of 20", lambda: bitfold.unique(y), lambda: np.unique(some, return_counts=True)
    yield "histogram of 20", lambda: bitfold.histogram(y), lambda: np.histogram(some)
    yield "median of 20", lambda: bitfold.median(y), lambda: np.median(some)
    yield "median of 1000", lambda: bitfold.median(z), lambda: np.median(many)
    yield "quantile of 20", lambda: bitfold.quantile(y, 0.3), lambda: np.quantile(some, 0.3)
    yield "index_add of 20", lambda: bitfold.index_add(3, slots, y), lambda: np.bincount(index, some)
    yield "segment_sum of 20", lambda: bitfold.segment_sum(y, places), lambda: np.add.reduceat(some, offsets[:-1])
    yield "sum of 10, nan='skip'", lambda: bitfold.sum(x, nan="skip"), lambda: np.nansum(few)
    yield "sort of 20, descending", lambda: bitfold.sort(y, descending=True), lambda: np.sort(some)[::-1]


def microseconds(function):
    begin = time.perf_counter()
    for _ in range(BATCH):
        function()
    return (time.perf_counter() - begin) / BATCH * 1e6


def medians(*functions):
    turns = [[microseconds(function) for function in functions] for _ in range(TURNS)]
    return map(statistics.median, zip(*turns))


def main():
    makers = {"bitfold": np.asarray}
    if importlib.util.find_spec("torch") is not None:
        import torch

        makers["of tensors"] = torch.from_numpy
    print("| call | NumPy |", " | ".join(makers), "|")
    print("|---" * (2 + len(makers)) + "|")
    for rows in zip(*(cases(make) for make in makers.values())):
        calls = [call for _, call, _ in rows]
        shown = " | ".join(f"{each:.2f}" for each in medians(rows[0][2], *calls))
        print(f"| {rows[0][0]} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
