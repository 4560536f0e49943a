"""Communicators in Python: threads as ranks, by the library and by carriers of callables."""

import fractions
import math
import random
import threading
import unittest

import numpy as np

import bitfold


class Meeting:
    """A carrier in Python for threads."""

    def __init__(self, ranks):
        self.barrier, self.held = threading.Barrier(ranks, timeout=60), [None] * ranks

    def carrier(self, rank):
        def swap(mine):
            self.held[rank] = mine
            self.barrier.wait()
            everything = list(self.held)
            self.barrier.wait()
            return everything

        def exchange(to, sizes, into, into_sizes):
            at, begins = 0, []
            for size in sizes:
                begins.append(at)
                at += size
            parts = [bytes(to[b:b + n]) for b, n in zip(begins, sizes)]
            mine = b"".join(parts[rank] for parts in swap(parts))
            assert len(mine) == sum(into_sizes)
            into[:] = mine

        def gather(mine, everything):
            everything[:] = b"".join(swap(bytes(mine)))

        def add(words):
            for i, x in enumerate(map(sum, zip(*swap(list(words))))):
                words[i] = (x + (1 << 63)) % (1 << 64) - (1 << 63)

        return exchange, gather, add


def on_ranks(ranks, work, functions=None):
    """Runs work(comm) on threads; functions: how many the carrier has, None: the library's own.
    Returns what each returns."""
    contexts = [bitfold.Context(device="cpu", threads=1) for _ in range(ranks)]
    found, meeting = [None] * ranks, Meeting(ranks)
    comms = bitfold.Comm.local(contexts) if functions is None else None

    def run(rank):
        try:
            comm = comms and comms[rank]
            if functions is not None:
                exchange, gather, add = meeting.carrier(rank)
                more = {"gather": gather, "add": add} if functions == 3 else {}
                comm = bitfold.Comm(exchange, rank, ranks, context=contexts[rank], **more)
            found[rank] = work(comm)
        except BaseException as error:
            found[rank] = error
            meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x in found:
        if isinstance(x, BaseException):
            raise x
    return found


class Comms(unittest.TestCase):
    def each(self, work, ranks=3):
        return [x for functions in (None, 1, 3) for x in on_ranks(ranks, work, functions)]

    def test_ranks_on_cpus_are_not_linked(self):
        def work(comm):
            comm.check()  # nothing is under way
            return comm.linked, comm.allreduce(np.array([comm.rank + 0.5])).tolist()

        self.assertEqual(self.each(work), [(False, [4.5])] * 9)
        self.assertFalse(bitfold.Comm().linked)

    def test_states_and_histograms_merge(self):
        x = np.random.default_rng(1).normal(size=999) * 2.0 ** np.arange(999)

        def work(comm):
            part = np.array_split(x, comm.ranks)[comm.rank]
            first = sum(map(len, np.array_split(x, comm.ranks)[:comm.rank]))
            states = [bitfold.State(op, "f64", comm._context) for op in ("sum", "min", "argmax")]
            states[2].seek(first)
            histogram = bitfold.Histogram("f64", 9, (-5, 5), context=comm._context).absorb(part)
            comm.merge(*(state.absorb(part) for state in states), histogram)
            return [state.result() for state in states], list(histogram.counts)

        for states, counts in self.each(work):
            self.assertEqual(states, [math.fsum(x), x.min(), x.argmax()])
            self.assertEqual(counts, list(np.histogram(x, 9, (-5, 5))[0]))

    def test_many_states_merge(self):
        x = np.random.default_rng(4).normal(size=(90, 7)) * 2.0 ** np.arange(90)[:, None]

        def work(comm):
            part = np.array_split(x, comm.ranks)[comm.rank]
            states = bitfold.States("sum", "f64", 7, comm._context).absorb(part, 0)
            comm.merge(states)
            return states.result().tolist(), states.counts().tolist()

        for found in self.each(work, 4):
            self.assertEqual(found, ([math.fsum(column) for column in x.T], [90] * 7))

    def test_groups_are_exchanged(self):
        keys = np.random.default_rng(2).integers(0, 50, 700)

        def work(comm):
            groups = bitfold.Groups("i64", context=comm._context)
            groups.absorb(np.array_split(keys, comm.ranks)[comm.rank])
            return dict(zip(*map(list, comm.exchange(groups).list())))

        for functions in (None, 1, 3):
            found = on_ranks(3, work, functions)
            together = {key: n for part in found for key, n in part.items()}
            self.assertEqual(sum(map(len, found)), len(together))
            self.assertEqual(together, dict(zip(*map(list, np.unique(keys, return_counts=True)))))

    def test_arrays_are_added_exactly(self):
        rng = random.Random(3)
        terms = [[rng.choice([-1, 1]) * rng.random() * 2.0 ** rng.randrange(-60, 60) for _ in range(600)]
                 for _ in range(6)]
        expected = [float(sum(map(fractions.Fraction, column))) for column in zip(*terms)]

        def work(comm):
            mine = np.array(terms[2 * comm.rank:2 * comm.rank + 2])
            out = np.empty(600 // comm.ranks)
            comm.reduce_scatter(mine, out)
            return comm.allreduce(mine, terms=True), comm.reduce(mine, terms=True, root=1), out, comm.rank

        for whole, reduced, part, rank in self.each(work):
            self.assertEqual(list(whole), expected)
            self.assertEqual(list(part), expected[200 * rank:200 * rank + 200])
            self.assertEqual(None if reduced is None else list(reduced), expected if rank == 1 else None)

    def test_bf16_and_in_place(self):
        def work(comm):
            one = np.array([0x3f80, 0x4000], np.uint16)  # 1 and 2
            comm.allreduce(one, out=one, dtype="bf16")
            integers = comm.allreduce(np.full((2, 3), 7, np.int8))
            return list(one), integers.tolist()

        for bits, integers in self.each(work):
            self.assertEqual(bits, [0x4040, 0x40c0])
            self.assertEqual(integers, [[21] * 3] * 2)

    def test_failures_are_those_of_all(self):
        def work(comm):
            with self.assertRaises(bitfold.RangeError):
                comm.allreduce(np.full(3, 100, np.int8))
            with self.assertRaises(bitfold.CommError):
                comm.allreduce(np.ones(3 + comm.rank))
            with self.assertRaises(bitfold.ArgumentError):
                comm.merge(3)
            return comm.allreduce(np.ones(1))[0]

        self.assertEqual(list(self.each(work)), [3.0] * 9)

    def test_an_exception_of_a_carrier_is_raised(self):
        def broken(*_):
            raise ZeroDivisionError("here")

        with self.assertRaisesRegex(ZeroDivisionError, "here"):
            bitfold.Comm(broken, 0, 2)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Comm(broken, 2, 2)

    def test_one_rank(self):
        comm = bitfold.Comm()
        self.assertEqual(list(comm.allreduce(np.array([[1.0], [2.0]]), terms=True)), [3.0])
        self.assertEqual(repr(comm), "Comm(rank=0, ranks=1)")
