#!/usr/bin/env python3
"""NumPy as a peer of 'bitfold bench': WORK DTYPE DATA COUNT THREADS PASSES in, NAME SECONDS out."""
import ctypes
import sys
import time

import numpy as np

WORKS = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "min": np.min, "max": np.max,
    "argmin": np.argmin, "dot": np.dot, "add": lambda a, b, out: np.add(a, b, out=out),
    "describe": lambda x: (np.min(x), np.max(x), np.sum(x), np.std(x)),
}
def histogram(x):
    """Bins all 256 values of u8, and floats into 100 even bins from 0 to 1, as
    cli/works/histogram.c."""
    return np.bincount(x, minlength=256) if x.dtype == np.uint8 else np.histogram(x, 100, (0, 1))


WORKS["histogram"] = histogram
def axis(data):
    """The call that DATA names, as cli/works/axis.c."""
    op, way, length = data.split("-")
    length, fn = int(length), getattr(np, op)
    if way == "segments":
        return lambda x: np.add.reduceat(x, np.arange(0, len(x), length))
    return lambda x: fn(x.reshape(-1, length), axis=int(way[4:]))


WORKS["axis"] = None
WORKS["order"] = None
ORDER = {"sort": lambda x: np.sort(x), "argsort": lambda x: np.argsort(x, kind="stable"),
         "median": np.median, "quantiles": lambda x: np.quantile(x, [0.05, 0.25, 0.5, 0.75, 0.95]),
         "top-100": lambda x: np.sort(np.partition(x, len(x) - 100)[-100:])[::-1]}
WORKS["group"] = lambda keys: np.unique(keys, return_counts=True)
VECTORS = {"dot": 2, "add": 3}


def fill(dtype, data, count):
    """Draws from the distributions of cli/works/data.c, with NumPy's own generator."""
    rng = np.random.default_rng(1)
    if dtype == "u8":
        if data == "constant":
            return np.full(count, 7, np.uint8)
        chance = 1 / np.arange(1, 257) if data == "zipf" else np.ones(256)
        times = np.ceil(chance / chance.sum() * 65536).astype(int)
        table = np.repeat(np.arange(256, dtype=np.uint8), times)
        return table[rng.integers(0, len(table), count, dtype=np.uint32)]
    if dtype == "u32" and data == "uniform":
        return rng.integers(0, 2**32, count, dtype=np.uint32)
    if dtype == "u32": # the keys of groups, as cli/works/keys.c
        if data == "zipf":
            k = np.exp2(20 * rng.random(count)).astype(np.uint32)
        else:
            k = rng.integers(0, 1 << int(data[2:].split("-")[0]), count, dtype=np.uint32)
        return k * np.uint32(2654435769)
    if dtype == "i32":
        return rng.integers(-2**31, 2**31, count, dtype=np.int32)
    if dtype == "i64":
        return rng.integers(-2**47, 2**47, count, dtype=np.int64)
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    if data == "uniform":
        return rng.random(count, dtype=kind)
    if data == "normal":
        return rng.standard_normal(count, dtype=kind)
    x = rng.random(count) + 1
    np.ldexp(x, rng.integers(-100, 101, count, dtype=np.int32), out=x)
    return np.negative(x, where=rng.random(count) < 0.5, out=x).astype(kind, copy=False)


def blas_thread_setter():
    """NumPy's dot runs in its BLAS, whose threads only that library can set."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "blas" in line.rsplit("/", 1)[-1]}
    for path in paths:
        for name in ("openblas_set_num_threads", "openblas_set_num_threads64_",
                     "scipy_openblas_set_num_threads64_"):
            setter = getattr(ctypes.CDLL(path), name, None)
            if setter:
                return setter
    return lambda threads: None


def seconds_a_pass(fn, arrays, passes):
    if passes > 1:
        fn(*arrays)
    start = time.perf_counter()
    for _ in range(passes):
        fn(*arrays)
    return (time.perf_counter() - start) / passes


def main():
    set_threads = blas_thread_setter()
    wanted, x = None, None
    for line in sys.stdin:
        work, dtype, data, count, threads, passes = line.split()
        count = int(count)
        elements = VECTORS.get(work, 1) * count
        fn = WORKS.get(work)
        if work == "axis":
            fn, data = axis(data), "uniform" if dtype == "i32" else "normal"
        if work == "order": # as cli/works/order.c
            fn, data = ORDER[data], "normal" if dtype[0] == "f" else "uniform"
        if (work not in WORKS or (dtype[0] == "i" and data != "uniform")
                or (work == "group") != (dtype == "u32" and work != "order")):
            print("numpy -", flush=True)
            continue
        if (dtype, data, elements) != wanted:
            x = None
            wanted, x = (dtype, data, elements), fill(dtype, data, elements)
        arrays = [x[i:i + count] for i in range(0, elements, count)]
        set_threads(int(threads))
        print("numpy", f"{seconds_a_pass(fn, arrays, int(passes)):.9g}", flush=True)


if __name__ == "__main__":
    main()
