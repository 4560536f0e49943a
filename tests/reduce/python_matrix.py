"""Every result equals the oracle to the bit, on every instruction set, thread count and split, and
on a GPU from its own memory (in one piece) and from the host's (in chunks).

BITFOLD_CASES: how many arrays (default 300; 10000 for a release).
BITFOLD_SEED: the first one's seed. BITFOLD_SECONDS: how long at most.
A failure prints the seed that alone repeats it.
"""

import unittest

import numpy as np

import bitfold
import cases
import devices
import generate
from oracle import DTYPES, FLOATS, OPS, Case, same

CASES = cases.number(300)
THREADS = (1, 2, 3, 8)


class Arrays:
    """One case's arrays: for the library as laid out, and flat for cutting into chunks."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = DTYPES[seed % len(DTYPES)]
        n = generate.size(rng, self.dtype)
        self.x = generate.laid_out(rng, generate.values(rng, self.dtype, n))
        y = generate.values(rng, self.dtype, self.x.size).reshape(self.x.shape)
        self.y = self.x if rng.random() < 0.1 else y
        self.flat = np.ascontiguousarray(self.x).reshape(-1)
        self.flat_y = np.ascontiguousarray(self.y).reshape(-1)
        self.named = {"dtype": self.dtype} if self.dtype in ("bool", "bf16") else {}
        self.options = self.pick_options()

    def pick_options(self):
        options = {}
        if self.dtype in FLOATS:
            options["nan"] = str(self.rng.choice(["propagate", "skip", "error"], p=[0.5, 0.4, 0.1]))
        options["out_dtype"] = [None, "f64", "f32"][self.rng.choice(3, p=[0.5, 0.1, 0.4])]
        options["ddof"] = int(self.rng.integers(2))
        return options

    def options_for(self, op):
        left_out = () if op in ("var", "std") else ("ddof",)
        if op.startswith(("min", "max", "arg")):
            left_out += ("out_dtype",)
        return {k: v for k, v in self.options.items() if k not in left_out}


def outcome(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except bitfold.Error as error:
        return type(error)


def in_one_piece(case, op, context):
    arrays = (case.x, case.y) if op == "dot" else (case.x,)
    arguments = [devices.placed(x, context) for x in arrays]
    function = getattr(bitfold, op)
    return outcome(
        function, *arguments, context=context, **case.named, **case.options_for(op)
    )  # fmt: skip


def absorb(state, case, begin, end):
    chunk = case.flat[begin:end]
    if case.rng.random() < 0.2:
        chunk = chunk.reshape(1, -1, 1)
    if state.info().op == "dot":
        return state.absorb(chunk, case.flat_y[begin:end].reshape(chunk.shape), **case.named)
    return state.absorb(chunk, **case.named)


def in_chunks(case, op, context):
    """Cuts at random, gives the chunks to a few states, merges those, and passes through save."""
    rng, n = case.rng, len(case.flat)
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 6)))
    edges = [0, *(int(c) for c in cuts), n]
    chunks = list(zip(edges, edges[1:]))
    if op.startswith("arg"):
        states = [
            absorb(bitfold.State(op, case.dtype, context).seek(b), case, b, e) for b, e in chunks
        ]
    else:
        states = [bitfold.State(op, case.dtype, context) for _ in range(rng.integers(1, 4))]
        for i in rng.permutation(len(chunks)):
            absorb(states[rng.integers(len(states))], case, *chunks[i])
        states = [states[i] for i in rng.permutation(len(states))]
    total = states[0]
    for state in states[1:]:
        total.merge(state)
    total = bitfold.State.load(total.save(), context)
    return outcome(total.result, **case.options_for(op)), total.save()


class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.contexts = devices.contexts(THREADS)

    def check(self, seed):
        case = Arrays(seed)
        exact = Case(case.x, case.dtype, case.y)
        for op in OPS:
            expected = exact.value(op, **case.options_for(op))
            saved = set()
            for context in self.contexts:
                found = in_one_piece(case, op, context)
                pieces, state = in_chunks(case, op, context)
                saved.add(state)
                for how, value in (("one piece", found), ("chunks", pieces)):
                    self.assertTrue(
                        same(value, expected),
                        f"BITFOLD_SEED={seed} BITFOLD_CASES=1: {op} {case.dtype} of {case.x.shape} "
                        f"{case.options_for(op)} {context} in {how}: {value!r}, not {expected!r}",
                    )
            self.assertEqual(len(saved), 1, f"seed {seed}: {op} {case.dtype}: saved states differ")

    def test_every_result_is_the_oracle_s(self):
        for seed in cases.seeds(CASES):
            self.check(seed)
