"""Times calls of the Python module on few elements, where a call itself takes the time: microseconds, beside
NumPy and, where it is installed, beside the same calls on tensors of PyTorch. With --cuda: calls on tensors
on a GPU, beside PyTorch's own, each as a whole, and the time after which it returns.

    PYTHONPATH=python BITFOLD_LIBRARY=build/release/libbitfold.so python3 bench/calls.py [--cuda]

Both take turns, batch by batch, and the median is shown."""

import importlib.util
import statistics
import sys
import time

import numpy as np

import bitfold

TURNS, BATCH = 41, 200


def cases(make):
    """Yields a name, a call of bitfold, and what NumPy calls the same; make: makes an array of NumPy's."""
    rng = np.random.default_rng(1)
    few, some, many = (rng.normal(size=n) for n in (10, 20, 1000))
    grid, offsets, index = rng.normal(size=(50, 20)), np.array([0, 5, 20]), np.arange(20) % 3
    one = bitfold.Context(threads=1)
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
    yield "sum of 10, context=", lambda: bitfold.sum(x, context=one), lambda: few.sum()
    yield "sort of 20, descending", lambda: bitfold.sort(y, descending=True), lambda: np.sort(some)[::-1]


def cases_on_gpu(torch):
    """Yields a name, a call of bitfold, and the same of PyTorch."""
    few, grid = torch.rand(1000, device="cuda"), torch.rand(1000, 100, device="cuda")
    many, long = torch.rand(1 << 26, device="cuda"), torch.rand(1 << 14, 1 << 14, device="cuda")
    rows, slots = many.reshape(-1, 8), torch.randint(0, 1 << 16, (1 << 23,), device="cuda")
    zeros = torch.zeros(1 << 16, 8, device="cuda")
    yield "sum of 1000 as a number", lambda: bitfold.sum(few), lambda: few.sum().item()
    yield "var of 1000 as a number", lambda: bitfold.var(few), lambda: few.var().item()
    yield "sum of 1000 along axis 0", lambda: bitfold.sum(few, axis=0, out_dtype="f32"), lambda: few.sum(0)
    yield "sum of 1000 x 100 along axis 0", lambda: bitfold.sum(grid, axis=0, out_dtype="f32"), lambda: grid.sum(0)
    yield "var of 1000 x 100 along axis 1", lambda: bitfold.var(grid, axis=1, out_dtype="f32"), lambda: grid.var(1)
    yield "torch.ops.bitfold.sum of it", lambda: torch.ops.bitfold.sum(grid, [0]), lambda: grid.sum(0)
    yield "sort of 1000", lambda: bitfold.sort(few), lambda: few.sort()
    yield "histogram of 1000", lambda: bitfold.histogram(few, 10, (0.0, 1.0)), lambda: few.histc(10, 0, 1)
    yield "sum of 2^28 as a number", lambda: bitfold.sum(long), lambda: long.sum().item()
    yield "sum of 2^28 along axis 0", lambda: bitfold.sum(long, axis=0, out_dtype="f32"), lambda: long.sum(0)
    yield "sum of 2^28 along axis 1", lambda: bitfold.sum(long, axis=1, out_dtype="f32"), lambda: long.sum(1)
    yield "index_add of 2^23 rows of 8", lambda: bitfold.index_add(
        1 << 16, slots, rows, out_dtype="f32"
    ), lambda: zeros.index_add(0, slots, rows)
    yield "histogram of 2^26", lambda: bitfold.histogram(many, 100, (0.0, 1.0)), lambda: many.histc(100, 0, 1)
    yield "sort of 2^26", lambda: bitfold.sort(many), lambda: many.sort()


def microseconds(function, batch=BATCH, end=lambda: None):
    """Returns how long a call takes; end() waits for what it leaves under way."""
    begin = time.perf_counter()
    for _ in range(batch):
        function()
    took = (time.perf_counter() - begin) / batch * 1e6
    end()
    return took


def medians(*functions, turns=TURNS, **options):
    """Returns the medians of functions that take turns."""
    found = [[microseconds(function, **options) for function in functions] for _ in range(turns)]
    return [statistics.median(each) for each in zip(*found)]


def main_on_gpu():
    import torch

    importlib.import_module("bitfold.torch")  # its operators

    def whole(call):
        call()
        torch.cuda.synchronize()

    print("| call | bitfold | PyTorch | returns after | PyTorch |")
    print("|---|---|---|---|---|")
    for name, *calls in cases_on_gpu(torch):
        for call in calls:
            whole(call)
        batch = 20 if "000" in name else 2
        shown = medians(*(lambda call=call: whole(call) for call in calls), batch=batch, turns=21)
        shown += medians(*calls, batch=batch, turns=21, end=torch.cuda.synchronize)
        print(f"| {name} |", " | ".join(f"{each:.1f}" for each in shown), "|", flush=True)


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
    main_on_gpu() if "--cuda" in sys.argv[1:] else main()
