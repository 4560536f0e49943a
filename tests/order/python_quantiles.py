"""Quantiles of data that are read again: those of all data in memory, whatever the parts."""

import copy
import pickle
import threading
import unittest

import numpy as np

import bitfold

Q = [0, 0.25, 0.999, 1]


def find(q, parts):
    while not q.done:
        for part in parts:
            q.absorb(part)
        q.next()
    return q.result()


class Quantiles(unittest.TestCase):
    def setUp(self):
        self.r = np.random.default_rng(1)

    def test_the_values_of_all_data(self):
        for dtype in ["f4", "f8", "f2", "i8", "u1", "?"]:
            x = (self.r.normal(size=30_001) * 1000).astype(dtype)
            parts = [x[::2], x[1::2][::-1].reshape(3, -1)]
            for method in ["linear", "lower"]:
                want = bitfold.quantile(x, Q, method=method).tolist()
                self.assertEqual(find(bitfold.Quantiles(x.dtype.name, Q, method=method), parts), want)
                self.assertEqual(find(bitfold.Quantiles(x.dtype.name, 0.25, method=method), parts), want[1])
            self.assertEqual(find(bitfold.Quantiles(x.dtype.name), parts), bitfold.median(x))

    def test_nan_and_nothing(self):
        x = np.array([np.nan, 1, 3])
        self.assertTrue(np.isnan(find(bitfold.Quantiles("f64"), [x])))
        self.assertEqual(find(bitfold.Quantiles("f64", nan="skip"), [x]), 2)
        self.assertEqual(find(bitfold.Quantiles("f64", [0.5], empty=-1), []), [-1])
        with self.assertRaises(bitfold.NanError):
            find(bitfold.Quantiles("f64", nan="error"), [x])
        with self.assertRaises(bitfold.EmptyError):
            find(bitfold.Quantiles("f64"), [])

    def test_what_is_refused(self):
        for q in [2, -0.1, [0.5] * 33, []]:
            with self.assertRaises(bitfold.ArgumentError):
                bitfold.Quantiles("f64", q)
        q = bitfold.Quantiles("f64")
        with self.assertRaises(bitfold.DtypeError):
            q.absorb(np.zeros(3, "f4"))
        with self.assertRaises(bitfold.StateError):
            q.result()
        find(q, [np.arange(5.0)])
        with self.assertRaises(bitfold.StateError):
            q.absorb(np.zeros(3))
        with self.assertRaises(bitfold.StateError):
            bitfold.Quantiles.load(b"nonsense")

    def test_parts_are_saved_and_merged(self):
        x = self.r.normal(size=20_001)
        whole = bitfold.Quantiles("f64", Q)
        while not whole.done:
            begun = whole.save()
            part = bitfold.Quantiles.load(begun).absorb(x[7000:])
            whole.absorb(x[:7000]).merge(bitfold.Quantiles.load(part.save()))
            self.assertEqual(whole.info().count, x.size)
            whole.next()
        self.assertEqual(whole.result(), bitfold.quantile(x, Q).tolist())
        self.assertEqual(whole.info()[:3] + whole.info()[4:], ("f64", "f64", 4, True, 0, x.size, 0, 0))

    def test_copies_know_whether_one_was_asked_for(self):
        for q in (0.5, [0.5], None):
            empty = bitfold.Quantiles("f64", q)
            for made in (pickle.loads(pickle.dumps(empty)), copy.copy(empty), empty + empty):
                found = find(made, [np.arange(5.0)])
                self.assertEqual(found, [2.0] if q == [0.5] else 2.0)

    def test_ranks(self):
        x = self.r.normal(size=20_001)
        contexts = [bitfold.Context(device="cpu", threads=1) for _ in range(3)]
        comms, found = bitfold.Comm.local(contexts), [None] * 3

        def run(rank):
            q = bitfold.Quantiles("f64", Q, context=contexts[rank])
            while not q.done:
                comms[rank].merge(q.absorb(x[rank::3]))
                q.next()
            found[rank] = q.result()

        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [bitfold.quantile(x, Q).tolist()] * 3)
