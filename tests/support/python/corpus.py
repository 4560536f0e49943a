"""Writes the corpora of saved forms and checkpoints anew: `python3 tests/support/python/corpus.py`, with the
library and the module that tests/run.py is given. What a fuzzer found has a hash for a name, and is left."""
import os
import random
import struct

import numpy as np

from bitfold import Groups, Histogram, Quantiles, State, States, Table

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OPS = ["sum", "mean", "var", "norm", "sumsq", "dot", "prod", "min", "argmax", "describe"]
JOINT = {"skew": 1, "corr": 2, "wmean": 2}  # one of each kind, and how many arrays it takes
DTYPES = ["bool", "i8", "u16", "i32", "i64", "u64", "f16", "bf16", "f32", "f64"]
LARGE = 10000  # bytes that a fuzzer would not change in a reasonable time
SPECIAL = [0.0, -0.0, 1.5, -2.0, 1e300, 5e-324, np.inf, -np.inf, np.nan]


def kind(dtype):
    """The dtype in NumPy that holds the bits of this one."""
    return {"bool": "?", "bf16": "u2"}.get(dtype) or dtype[0] + str(int(dtype[1:]) // 8)


def numbers(dtype, n, seed=0):
    """n elements of any bits that the dtype has."""
    bits = np.random.default_rng(seed).integers(0, 256, 8 * n, "u1")
    return bits[:n] > 99 if dtype == "bool" else bits.view(kind(dtype))[:n]


def states():
    for op in OPS:
        for dtype in DTYPES:
            x = numbers(dtype, 5)
            pair = (x, x) if op == "dot" else (x,)
            yield "%s-%s" % (op, dtype), State(op, dtype).absorb(*pair, dtype=dtype)
        yield op + "-empty", State(op, "f64")
        special = np.array(SPECIAL)
        yield op + "-special", State(op, "f64").absorb(*[special] * (2 if op == "dot" else 1))
    for op, arrays in JOINT.items():
        for dtype in ["i64", "f16", "f32", "f64"]:
            yield "%s-%s" % (op, dtype), State(op, dtype).absorb(*[numbers(dtype, 5)] * arrays)
        yield op + "-special", State(op, "f64").absorb(*[np.array(SPECIAL)] * arrays)
    yield "sum-zeros", State("sum", "f32").absorb(np.full(4, -0.0, "f4"))
    yield "sum-decimals", State("sum", "i64", scale=3).absorb(numbers("i32", 3).astype("i8"))
    yield "prod-leaf", State("prod", "f64").absorb(np.linspace(0.5, 2, 13000))
    yield "prod-seeked", State("prod", "f64").seek(4096 * 5).absorb(np.linspace(0.5, 2, 4099))


def many_states():
    for op in OPS:
        for dtype in ["i64", "u64", "f16", "f32", "f64"]:
            x = numbers(dtype, 12).reshape(3, 4)
            s = States(op, dtype, 3)
            yield "%s-%s" % (op, dtype), s.absorb(x, 1, y=x) if op == "dot" else s.absorb(x, 1)
    for op, arrays in JOINT.items():
        x, index = np.linspace(0.5, 2, 9).astype("f4"), np.arange(9) % 2
        yield op, States(op, "f32", 2).absorb_index(x, index, y=x if arrays == 2 else None)
    offsets = np.array([0, 0, 3, 9000, 9001, 12000, 13000])
    yield "prod-leaves", States("prod", "f64", 6).absorb_segments(np.linspace(0.5, 2, 13000), offsets)
    yield "none", States("sum", "f64", 0)
    yield "empty", States("norm", "bf16", 3)


def groups():
    aggregates = [("sum", "f32"), ("var", "f64"), ("min", "f32"), ("max", "i64"), ("norm", "u16")]
    values = [numbers(dtype, 8, i) for i, (_, dtype) in enumerate(aggregates)]
    for key in ["bool", "i16", "i64", "u64", "f32", "f64"]:
        keys = np.arange(8).astype(kind(key))
        yield key, Groups(key).absorb(keys - np.array(3).astype(kind(key)) if key != "bool" else keys)
        yield key + "-aggregates", Groups(key, aggregates, seed=7).absorb(keys, *values)
    for op, arrays in JOINT.items():
        x = np.linspace(0.5, 2, 9)
        yield op, Groups("i64", [(op, "f64")]).absorb(np.arange(9) % 4, *[x] * arrays)
    yield "pair", Groups("pair", [("mean", "i64")]).absorb(np.arange(8, dtype="u8").reshape(4, 2), np.arange(4))
    yield "empty", Groups("f64", [("sum", "f64")])
    yield "zeros", Groups("bool", [("sum", "f64")]).absorb(np.array([True]), np.array([-0.0]))


def histograms():
    for dtype in DTYPES:
        yield dtype, Histogram(dtype, 4, (0, 1 if dtype == "bool" else 8)).absorb(numbers(dtype, 6), dtype=dtype)
        weights = np.arange(6).astype(kind(dtype))
        if dtype != "bf16":
            yield "weights-" + dtype, Histogram("f32", 4, (0, 8), dtype).absorb(np.arange(6, dtype="f4"), weights)
    yield "edges", Histogram("f64", [0.0, 0.1, 1.0, 1e300]).absorb(np.array(SPECIAL))
    yield "integers", Histogram("i64", [2**62, 2**62 + 1, 2**62 + 3]).absorb(np.array([2**62 + 2]))


def quantiles():
    for dtype in ["u8", "i64", "u64", "f32", "f64"]:
        x = numbers(dtype, 300)
        q = Quantiles(dtype, [0.25, 0.75], method="lower", nan="skip")
        yield "new-" + dtype, q
        yield "first-" + dtype, q.absorb(x)
        for turn in range(9):
            if q.next():
                break
            yield "ranges%d-%s" % (turn, dtype), q
            yield "places%d-%s" % (turn, dtype), q.absorb(x)
        yield "done-" + dtype, q
    yield "nothing", Quantiles("i32", empty=-1.0)
    yield "decimals", Quantiles("i64", scale=2)
    yield "nan", Quantiles("f32").absorb(np.array([np.nan], "f4"))


def tables():
    for key in ["i32", "u32", "i64", "u64", "f32", "f64"]:
        for value, duplicates in [(None, "first"), ("i64", "max"), ("f32", "keep")]:
            x = np.unique(numbers(key, 5))
            t = Table(key, value, duplicates)
            t.insert(x) if value is None else t.insert(x, np.arange(len(x)).astype(kind(value)))
            yield "%s-%s" % (key, value), t
    yield "empty", Table("u64")


def checkpoints():
    """The bytes behind a checkpoint's head: whether the walk goes on, inputs, the place in each, columns
    and what their kinds are, then things (cli/work/work.c)."""
    def pack(*parts):
        return b"".join(struct.pack("<q", p) if isinstance(p, int) else p for p in parts)
    things = [State("sum", "f64").absorb(np.arange(3.0)).save(), Groups("i64").absorb(np.arange(2)).save()]
    saved = [part for form in things for part in (len(form), form)]
    begin, place = (1, 1), (2, 0, 2, 0, -1, 1)
    yield "good", pack(*begin, *place, 8, 0, 2, *saved)
    yield "decimals", pack(*begin, *place, 9, 1, 2, *saved) + b"1"
    yield "swapped", pack(*begin, *place, 8, 0, 2, *saved[2:], *saved[:2])
    yield "long_string", pack(*begin, *place, 8, 0, 2, 2**62, *saved[1:])
    yield "short", pack(*begin, *place, 8, 0, 2, *saved)[:120]
    yield "end", pack(*begin, 5, 1, 0, 0, -1, 1, 4, 0, 0)
    yield "negative", pack(*begin, -1, 0, 0, 0, -1, 1, 7)
    yield "no_candidate", pack(*begin, *place, 8, 0, 0)
    yield "no_place", pack(*begin, 2, 9, 2, 0, -1, 1, 7, 0, 0)
    yield "used_too_many", pack(*begin, 2, 0, 99, 0, -1, 1, 7, 0, 0)
    yield "failed", pack(0)
    yield "empty", b""
    yield "form", things[0]


def write(folder, forms, damage):
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if len(name) != 40:
            os.unlink(os.path.join(folder, name))
    pick = random.Random(1)
    for name, form in forms:
        data = form if isinstance(form, bytes) else form.save()
        if len(data) > LARGE:
            continue
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        if damage:  # the fuzz target makes the checksum fit
            at = pick.randrange(0, len(data) - 8)
            data = data[:at] + bytes([data[at] ^ 1 << pick.randrange(8)]) + data[at + 1:]
            with open(os.path.join(folder, name + "-damaged"), "wb") as f:
                f.write(data)


for primitive, name, forms in [("reduce", "state", states), ("axis", "states", many_states),
                               ("group", "group", groups), ("histogram", "histogram", histograms),
                               ("order", "quantiles", quantiles), ("table", "table", tables),
                               ("command/running", "checkpoint", checkpoints)]:
    write(os.path.join(TESTS, primitive, "corpus", name), forms(), name != "checkpoint")
